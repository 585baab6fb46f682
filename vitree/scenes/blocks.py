"""Scenes of blocks and rods: sliding, spinning, a mass ratio, rocking, Painleve's rod."""

from __future__ import annotations

import math
from collections.abc import Callable

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
    largest,
    scene,
)
from vitree.tree.elements import body, free, ry, tx, tz
from vitree.tree.tree import Tree


def residuals(motion: Motion, friction: float, dt: float) -> dict[str, float]:
    """Return how far contacts on the ground are from the laws of Signorini and Coulomb, as Le Lidec et al. 2023 ask.

    Of the impulse lam [N s] and the velocity w [m/s] of each contact at the end of each recorded step: |lam_n w_n|;
    the largest dissipation, lam_t . w_t + mu lam_n |w_t|; and how far w is from the dual cone, max(0, -w_n), with the
    correction of De Saxce.
    """
    log = motion.log
    if log is None or not len(log):
        return {}
    normal, slip, w = log.impulse[:, 2], log.slip, log.gap / dt
    tangent = log.impulse[:, :2]
    lost = (tangent * slip[:, :2]).sum(axis=1) + friction * normal * np.linalg.norm(slip[:, :2], axis=1)
    return {
        "Signorini residual [J]": largest(normal * w),
        "maximum dissipation residual [J]": largest(lost),
        "dual residual [m/s]": float(np.maximum(0.0, -w).max()),
        "friction beyond the cone [N s]": float(
            np.maximum(0.0, np.linalg.norm(tangent, axis=1) - friction * normal).max()),
    }  # fmt: skip


def _cube(friction: float, v: tuple[float, ...], duration: float,
          exact: Callable[[Model, Motion], dict[str, float]], quick: bool, limited: str = "") -> Stage:  # fmt: skip
    """A cube of 0.2 m and 1 kg on the ground."""
    edge = 0.2
    tree = Tree("cube", gravity=(0, 0, -G))
    tree.world.add(free("base"), body("cube", 1.0, box_inertia(1.0, (edge,) * 3)))
    tree.contact(Contact("cube", shapes=(Box((edge,) * 3),)), Ground(friction=friction))
    model = tree.compile()
    q = model.neutral()
    q[2] = edge / 2

    def measure(motion: Motion) -> dict[str, float]:
        return exact(model, motion) | residuals(motion, friction, 1e-3) | {"penetration [m]": depth(model, motion)}

    return Stage(model=model, q=q, v=np.array(v), duration=0.2 * duration if quick else duration, dt=1e-3,
                 measure=measure, limited=limited)  # fmt: skip


@scene("sliding-cube", "ContactBench",
       "a cube slides at 1 m/s and stops; closed form, and residuals of the contact laws")  # fmt: skip
def sliding_cube(quick: bool) -> Stage:
    mu, speed = 0.4, 1.0

    def exact(model: Model, motion: Motion) -> dict[str, float]:
        t = np.minimum(motion.t, speed / (mu * G))
        return {
            "position error [m]": largest(motion.q[:, 0] - (speed * t - mu * G * t**2 / 2)),
            "drift across [m]": largest(motion.q[:, 1]),
        }

    return _cube(mu, (speed, 0, 0, 0, 0, 0), 0.5, exact, quick)


@scene("spinning-cube", "ContactBench", "a cube slides and spins; residuals of the contact laws")
def spinning_cube(quick: bool) -> Stage:
    def exact(model: Model, motion: Motion) -> dict[str, float]:
        total = energy(model, motion).sum(axis=1)
        return {"energy gained, at most [J]": max(0.0, float(np.diff(total).max()))}

    return _cube(0.4, (1.0, 0.3, 0, 0, 0, 6.0), 0.5, exact, quick,
                 "the four corners form one patch, with friction at their mean")  # fmt: skip


@scene("mass-ratio", "ContactBench", "1000 kg rest on 1 g; nothing moves, and the ground carries the weight of both")
def mass_ratio(quick: bool) -> Stage:
    heavy, light, radius, size = 1e3, 1e-3, 0.1, (0.3, 0.3, 0.1)
    tree = Tree("heavy on light", gravity=(0, 0, -G))
    tree.world.add(free("slab"), body("box", light, box_inertia(light, size)))
    tree.world.add(free("top"), body("ball", heavy, ball_inertia(heavy, radius)))
    tree.contact(Ground(friction=0.8), Contact("box", shapes=(Box(size),)), Contact("ball", shapes=(Sphere(radius),)))
    model = tree.compile()
    q = model.neutral()
    q[2], q[9] = size[2] / 2, size[2] + radius
    dt = 1e-3

    def measure(motion: Motion) -> dict[str, float]:
        carried = motion.impulse[len(motion.t) // 2 :, 2] / dt
        return {
            "motion [m]": largest(motion.q[:, [0, 1, 2, 7, 8, 9]] - q[[0, 1, 2, 7, 8, 9]]),
            "penetration [m]": depth(model, motion),
            "error of the weight carried [1]": largest(carried / ((heavy + light) * G) - 1),
        }

    return Stage(model=model, q=q, v=model.zero_velocity(), duration=0.03 if quick else 2.0, dt=dt, measure=measure,
                 limited="a ball on a box; with two cubes a residual remains at this ratio")  # fmt: skip


@scene("rocking-block", "Housner 1963",
       "a tilted block falls back on its base; ratio of angular rates after and before the impact")  # fmt: skip
def rocking_block(quick: bool) -> Stage:
    size, mass = (0.2, 0.3, 0.8), 10.0
    lean, arm = math.atan(size[0] / size[2]), math.hypot(size[0], size[2]) / 2
    tree = Tree("block", gravity=(0, 0, -G))
    tree.world.add(free("base"), body("block", mass, box_inertia(mass, size)))
    tree.contact(Contact("block", shapes=(Box(size),)), Ground(friction=2.0))
    model = tree.compile()
    tilt = 0.4 * lean
    q = model.neutral()
    # about the edge at +x, which stays where it is
    q[4], q[6] = math.sin(tilt / 2), math.cos(tilt / 2)
    q[0], q[2] = size[0] / 2 - arm * math.sin(lean - tilt), arm * math.cos(lean - tilt)
    housner = 1 - 1.5 * math.sin(lean) ** 2

    def measure(motion: Motion) -> dict[str, float]:
        total = energy(model, motion).sum(axis=1) - mass * G * size[2] / 2
        y = 2 * np.arctan2(motion.q[:, 4], motion.q[:, 6])
        over = np.flatnonzero(y < -0.02 * lean)  # it rocks on the other edge
        ratio = math.sqrt(max(0.0, total[over[0]]) / total[0]) if len(over) else math.nan
        return {
            f"ratio of rates (Housner: {housner:.4f}) [1]": ratio,
            "error of the ratio [1]": abs(ratio / housner - 1),
            "penetration [m]": depth(model, motion),
        }

    return Stage(model=model, q=q, v=model.zero_velocity(), duration=0.6, dt=1e-3 if quick else 2e-4,
                 measure=measure)  # fmt: skip


@scene("painleve-rod", "Painleve 1895; Genot & Brogliato 1999",
       "a rod slides so fast that no finite contact force exists: an impact without collision")  # fmt: skip
def painleve(quick: bool) -> Stage:
    tree = Tree("rod", gravity=(0, 0, -G))
    tree.world.add(tx("x"), tz("z"), ry("a"), body("rod", 1.0, (1 / 12, 1 / 12, 1e-6)))
    tree.contact(Contact("rod", points=((0, 0, -0.5), (0, 0, 0.5))), Ground(friction=2.0))
    model = tree.compile()
    q, v = np.array((0.0, 0.5 * math.cos(0.55), 0.55)), np.array((-3.0, 0.0, 0.0))
    fine_dt = 1e-4 if quick else 2e-5
    fine = simulate(model, q, v, duration=0.3, dt=fine_dt, record_every=round(1e-3 / fine_dt))

    def measure(motion: Motion) -> dict[str, float]:
        return {
            f"error at the end against dt = {fine_dt:g} s [m or rad]": largest(motion.q[-1] - fine.q[-1]),
            "penetration [m]": depth(model, motion),
        }

    return Stage(model=model, q=q, v=v, duration=0.3, dt=1e-3, measure=measure)
