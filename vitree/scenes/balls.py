"""Scenes of balls: rolling, bouncing, a row of five, a top that stands up."""

from __future__ import annotations

import math

import numpy as np

from vitree.geometry.shapes import Box, Sphere
from vitree.mechanism.contacts import Contact, Ground
from vitree.model.model import Model
from vitree.run.simulate import simulate
from vitree.scenes.base import (
    G,
    Motion,
    Stage,
    ball_inertia,
    box_inertia,
    depth,
    energy,
    free_velocity,
    largest,
    scene,
    share,
)
from vitree.spatial.rotations import rotate
from vitree.tree.elements import body, free
from vitree.tree.tree import Tree


def balls(
    count: int, radius: float, mass: float, gravity: float = G, ground: Ground | None = None, **surface: float
) -> Model:
    """Return free balls that touch each other, and a ground if there is one."""
    tree = Tree("balls", gravity=(0, 0, -gravity))
    for k in range(count):
        tree.world.add(free(f"base{k}"), body(f"ball{k}", mass, ball_inertia(mass, radius)))
        tree.contact(Contact(f"ball{k}", shapes=(Sphere(radius),), **surface))
    if ground is not None:
        tree.contact(ground)
    return tree.compile()


def _grid(n: int, gap: float) -> np.ndarray:
    """Places (n * n, 2) of a square grid about the origin."""
    line = gap * (np.arange(n) - (n - 1) / 2)
    return np.array([(x, y) for x in line for y in line])


@scene("rolling", "SimBenchmark",
       "25 balls of 1 kg roll on a box of 10 kg that 150 N push along a diagonal; closed form")  # fmt: skip
def rolling(quick: bool) -> Stage:
    side = 3 if quick else 5
    M, m, n, radius, edge, height = 10.0, 1.0, side**2, 0.5, 20.0, 1.0
    below, above = 0.4, 0.8
    # 150 N for 25 balls, and as far above what slides for fewer
    F = 150.0 - below * (25 - n) * m * G
    tree = Tree("rolling", gravity=(0, 0, -G))
    size = (edge, edge, height)
    tree.world.add(free("slab"), body("box", M, box_inertia(M, size)))
    tree.contact(Ground(friction=below), Contact("box", shapes=(Box(size),), friction=below))
    q = [0.0, 0.0, height / 2, 0, 0, 0, 1]
    for k, (x, y) in enumerate(_grid(side, 2.0)):
        tree.world.add(free(f"base{k}"), body(f"ball{k}", m, ball_inertia(m, radius)))
        tree.contact(Contact(f"ball{k}", shapes=(Sphere(radius),), friction=above))
        q += [x, y, height + radius, 0, 0, 0, 1]
    model, along = tree.compile(), np.array((1.0, 1.0, 0.0)) / math.sqrt(2)
    # the box slides, the balls roll on it without slip: contact points of a ball accelerate by 3.5 f/m
    slides = below * (M + n * m) * G
    f = (F - slides) / M / (3.5 / m + n / M)
    a_box, a_ball = (F - slides - n * f) / M, f / m

    def measure(motion: Motion) -> dict[str, float]:
        t = motion.t[:, None]
        off = [free_velocity(motion, k + 1) - a_ball * t * along for k in range(n)]
        moved = motion.q[:, 7:].reshape(len(t), n, 7)[..., :3] - motion.q[0, 7:].reshape(n, 7)[:, :3]
        return {
            "position error of the balls [m]": largest(moved - (a_ball * t**2 / 2 * along)[:, None]),
            "position error of the box [m]": largest(motion.q[:, :2] - (a_box * t**2 / 2 * along)[:, :2]),
            "velocity error of the balls [m/s]": largest(np.array(off)),
            "velocity error of the box [m/s]": largest(free_velocity(motion, 0) - a_box * t * along),
            "penetration [m]": depth(model, motion),
        }

    return Stage(model=model, q=np.array(q), v=model.zero_velocity(), duration=0.1 if quick else 4.0, dt=1e-3,
                 measure=measure, every=10, wrenches={"box": (0, 0, 0, *(F * along))})  # fmt: skip


@scene("bouncing", "SimBenchmark", "49 elastic balls bounce from 5 m for 20 s; energy is conserved")
def bouncing(quick: bool) -> Stage:
    n, mass, radius, height, dt = (3 if quick else 7), 10.0, 0.1, 5.0, 1e-2
    model = balls(n * n, radius, mass, ground=Ground(friction=0.0, restitution=1.0), friction=0.0, restitution=1.0)
    q = np.concatenate([[x, y, height, 0, 0, 0, 1] for x, y in _grid(n, 2 * radius + 0.2)])

    def measure(motion: Motion) -> dict[str, float]:
        # a spring that stands for an impact holds energy: records in flight count, and the height above the ground
        flies = motion.q[:, 2::7].min(axis=1) > radius
        total = energy(model, motion).sum(axis=1)[flies]
        return {
            "energy error [1]": share(total, n * n * mass * G * (height - radius)),
            "penetration, one step at most [m]": depth(model, motion),
        }

    return Stage(model=model, q=q, v=model.zero_velocity(), duration=2.0 if quick else 20.0, dt=dt, measure=measure,
                 every=1 if quick else 5)  # fmt: skip


@scene("bouncing-ball", "textbooks", "a ball with restitution 0.8 bounces from 1 m; heights in closed form")
def bouncing_ball(quick: bool) -> Stage:
    radius, drop, e, count = 0.1, 1.0, 0.8, 5
    model = balls(1, radius, 1.0, ground=Ground(friction=0.0, restitution=e), friction=0.0, restitution=e)
    q = model.neutral()
    q[2] = radius + drop
    fall = math.sqrt(2 * drop / G)
    ends = fall * (1 + 2 * np.cumsum([0.0, *(e**k for k in range(1, count + 1))]))
    apexes = drop * e ** (2 * np.arange(1, count + 1))

    def measure(motion: Motion) -> dict[str, float]:
        h = motion.q[:, 2] - radius
        flights = np.flatnonzero((h[1:-1] >= h[:-2]) & (h[1:-1] > h[2:])) + 1
        found = h[flights][:count]
        off = largest(found - apexes) if len(found) == count else math.nan
        return {"error of the heights of five bounces [m]": off, "at rest at the end, height [m]": float(h[-1])}

    rest = fall * (1 + 2 * e / (1 - e))
    return Stage(model=model, q=q, v=model.zero_velocity(), duration=float(np.ceil(ends[-1] if quick else rest + 1.0)),
                 dt=1e-3, measure=measure)  # fmt: skip


@scene("cradle", "textbooks", "Newton's cradle: two of five equal elastic balls arrive, two leave")
def cradle(quick: bool) -> Stage:
    model = balls(5, 0.1, 1.0, gravity=0.0, friction=0.0, restitution=1.0)
    q, v = model.neutral(), model.zero_velocity()
    q[::7] = -0.25, -0.05, 0.2, 0.4, 0.6
    v[0] = v[6] = 1.0

    def measure(motion: Motion) -> dict[str, float]:
        after = motion.v[-1, ::6]
        return {
            "velocity error [m/s]": largest(after - [0, 0, 0, 1, 1]),
            "momentum error [1]": abs(after.sum() / 2 - 1),
            "energy error [1]": abs((after**2).sum() / 2 - 1),
        }

    return Stage(model=model, q=q, v=v, duration=0.6, dt=1e-2, measure=measure)


@scene("tippe-top", "Or 1994; MuJoCo's tutorial",
       "a spinning tippe top inverts; Jellett's integral is conserved")  # fmt: skip
def tippe_top(quick: bool) -> Stage:
    # a ball whose centre of mass is 0.2 R below its middle
    mass, R, low = 0.02, 0.02, 0.004
    moments = np.array((0.41, 0.41, 0.4)) * mass * R**2
    tree = Tree("tippe top", gravity=(0, 0, -G))
    tree.world.add(free("base"), body("top", mass, tuple(moments)))
    tree.contact(Contact("top", shapes=(Sphere(R, position=(0, 0, low)),)), Ground(friction=0.3))
    model = tree.compile()
    q, v = model.neutral(), model.zero_velocity()
    lean = 0.1
    q[3], q[6] = math.sin(lean / 2), math.cos(lean / 2)
    q[2] = R - low * math.cos(lean)
    v[3:] = 0.0, 150.0 * math.sin(lean), 150.0 * math.cos(lean)
    duration, dt, fine_dt = (0.1 if quick else 1.0), 2e-4, 2.5e-5
    fine = simulate(model, q, v, duration=duration, dt=fine_dt, record_every=round(dt / fine_dt) * 5)

    def leans(turns: np.ndarray) -> np.ndarray:
        return np.array([rotate(turn[3:7], np.array((0, 0, 1.0))) for turn in turns])

    def measure(motion: Motion) -> dict[str, float]:
        axis = leans(motion.q)
        spin = np.array([rotate(turn[3:7], moments * w[3:]) for turn, w in zip(motion.q, motion.v, strict=True)])
        # L . (vector from the centre of mass to the point of contact), which friction does not change
        jellett = (spin * (low * axis - R * np.array((0, 0, 1.0)))).sum(axis=1)
        total = energy(model, motion).sum(axis=1)
        return {
            "Jellett's integral, error [1]": share(jellett, abs(jellett[0])),
            "energy gained, at most [1]": max(0.0, float(np.diff(total).max() / total[0])),
            f"error of the axis against dt = {fine_dt:g} s [1]": largest(axis - leans(fine.q)),
            "angle of the axis at the end [rad]": float(np.arccos(np.clip(axis[-1, 2], -1, 1))),
            "penetration [m]": depth(model, motion),
        }

    return Stage(model=model, q=q, v=v, duration=duration, dt=dt, measure=measure, every=5)
