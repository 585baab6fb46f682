"""Scenes of smooth solids: at the threshold of sliding, a rolling cone, a coin, an egg that rises, a celt."""

from __future__ import annotations

import math

import numpy as np
from scipy.special import ellipk

from vitree.geometry.shapes import Box, Cone, Cylinder, Ellipsoid, Shape
from vitree.mechanism.contacts import Contact, Ground
from vitree.model.model import Model
from vitree.run.simulate import simulate
from vitree.scenes.base import G, Motion, Stage, box_inertia, depth, energy, largest, scene, share
from vitree.spatial.rotations import rotate
from vitree.tree.elements import body, free
from vitree.tree.tree import Tree

UP = np.array((0.0, 0.0, 1.0))
Triple = tuple[float, float, float]


def ellipsoid_inertia(mass: float, semi_axes: Triple) -> Triple:
    """Return the moments [kg m^2] of a solid ellipsoid."""
    a, b, c = (x * x for x in semi_axes)
    return mass / 5 * (b + c), mass / 5 * (a + c), mass / 5 * (a + b)


def cylinder_inertia(mass: float, radius: float, length: float) -> Triple:
    """Return the moments [kg m^2] of a solid cylinder along z; with no length, of a disk."""
    across = mass * (radius**2 / 4 + length**2 / 12)
    return across, across, mass * radius**2 / 2


def cone_inertia(mass: float, radius: float, length: float) -> Triple:
    """Return the moments [kg m^2] of a solid cone along z about its centre, a quarter of its length above the base."""
    across = mass * (3 / 20 * radius**2 + 3 / 80 * length**2)
    return across, across, 3 / 10 * mass * radius**2


def solid(shape: Shape, moments: Triple | np.ndarray, friction: float, gravity: Triple = (0, 0, -G),
          mass: float = 1.0) -> Model:  # fmt: skip
    """Return a free body on the ground. ``moments`` are three, or a matrix."""
    tree = Tree("solid", gravity=gravity)
    tree.world.add(free("joint"), body("body", mass, moments))
    tree.contact(Contact("body", shapes=(shape,)), Ground(friction=friction))
    return tree.compile()


def axes(motion: Motion, axis: np.ndarray = UP) -> np.ndarray:
    """Return the directions (n, 3) in the world of an axis of the first body."""
    return np.array([rotate(q[3:7], axis) for q in motion.q])


def spins(motion: Motion) -> np.ndarray:
    """Return the angular velocities (n, 3) [rad/s] in world axes of the first body."""
    return np.array([rotate(q[3:7], v[3:6]) for q, v in zip(motion.q, motion.v, strict=True)])


def about_y(angle: float) -> np.ndarray:
    """Return the quaternion of a turn about y [rad]."""
    return np.array((0.0, math.sin(angle / 2), 0.0, math.cos(angle / 2)))


def to_body(turn: np.ndarray, x: object) -> np.ndarray:
    """Return a vector of the world in the axes of a body of this orientation."""
    return rotate(turn * (-1, -1, -1, 1), np.asarray(x, dtype=float))


@scene("incline", "textbooks",
       "box, cylinder, cone: at 1 - 1e-6 of the angle of sliding they rest, at 1 + 1e-6 they slide")  # fmt: skip
def incline(quick: bool) -> Stage:
    friction, mass, excess, high, wide = 0.4, 1.0, 1e-6, 0.1, 0.2
    solids: tuple[tuple[Shape, Triple, float], ...] = (
        (Box((wide, wide, high)), box_inertia(mass, (wide, wide, high)), high / 2),
        (Cylinder(wide / 2, high), cylinder_inertia(mass, wide / 2, high), high / 2),
        (Cone(wide / 2, high, position=(0, 0, high / 4)), cone_inertia(mass, wide / 2, high), high / 4),
    )
    angle = math.atan(friction)
    tree, q = Tree("incline", gravity=(G * math.sin(angle), 0, -G * math.cos(angle))), list[float]()
    tree.contact(Ground(friction=friction))
    for row, sign in enumerate((1, -1)):
        for k, (shape, moments, center) in enumerate(solids):
            name = f"{type(shape).__name__} {row}"
            tree.world.add(free(f"joint of {name}"), body(name, mass, moments))
            # tan(angle) is 1 - or + 1e-6 of the friction
            tree.contact(Contact(name, shapes=(shape,), friction=friction / (1 - sign * excess)))
            q += [float(row), float(k), center, 0, 0, 0, 1]
    model = tree.compile()

    def measure(motion: Motion) -> dict[str, float]:
        moved = (motion.q - motion.q[0]).reshape(len(motion.t), 2, 3, 7)
        faster = G * (math.sin(angle) - friction / (1 + excess) * math.cos(angle))
        moved[:, 1, :, 0] -= faster * motion.t[:, None] ** 2 / 2
        return {
            "motion of what rests [m or 1]": largest(moved[:, 0]),
            "error of what slides [m or 1]": largest(moved[:, 1]),
            "penetration [m]": depth(model, motion),
        }

    return Stage(model=model, q=np.array(q), v=model.zero_velocity(), duration=0.1 if quick else 1.0, dt=1e-3,
                 measure=measure, every=1 if quick else 10)  # fmt: skip


@scene("rolling-cone", "Landau & Lifshitz 1976, section 32",
       "a cone lies on an incline and rolls about its apex, to and fro; period in closed form")  # fmt: skip
def rolling_cone(quick: bool) -> Stage:
    radius, length, tilt, start = 0.1, 0.3, 0.1, 0.5
    half = math.atan2(radius, length)
    model = solid(Cone(radius, length, position=(0, 0, length / 4)), cone_inertia(1.0, radius, length), 0.8,
                  (G * math.sin(tilt), 0, -G * math.cos(tilt)))  # fmt: skip
    # lies along +x with its apex at the origin, then turned about the apex
    turn = about_y(math.atan2(-math.cos(half), -math.sin(half)))
    turned, q = np.array((0, 0, math.sin(start / 2), math.cos(start / 2))), model.neutral()
    v, w = turn[:3], turn[3]
    q[3:7] = *(turned[3] * v + w * turned[:3] + np.cross(turned[:3], v)), turned[3] * w - turned[:3] @ v
    to_apex = 0.75 * length
    q[:3] = -to_apex * rotate(q[3:7], UP)
    # a pendulum of the azimuth: 3/20 m h^2 (1 + 5 cos^2) a'' = -3/4 m g h sin(tilt) cos sin a, half the opening in cos
    rate = 5 * G * math.sin(tilt) * math.cos(half) / (length * (1 + 5 * math.cos(half) ** 2))
    period = 4 * float(ellipk(math.sin(start / 2) ** 2)) / math.sqrt(rate)
    steps, turns = 20 * round(period / 2e-2), (1 if quick else 10)
    every = 1 if quick else 10

    def measure(motion: Motion) -> dict[str, float]:
        azimuth = np.arctan2(motion.q[:, 1], motion.q[:, 0])
        # of the records at whole periods, and at their halves
        quarters = np.interp(np.arange(0.0, turns, 0.5) * period, motion.t, azimuth)
        off = quarters - start * np.where(np.arange(2 * turns) % 2, -1, 1)
        apex = motion.q[:, :3] + to_apex * axes(motion)
        total = energy(model, motion).sum(axis=1)
        return {
            "angle after half and whole periods, error [rad]": largest(off),
            "apex moves [m]": largest(apex),
            "energy error [J]": largest(total - total[0]),
            "penetration [m]": depth(model, motion),
        }

    return Stage(model=model, q=q, v=model.zero_velocity(), duration=turns * period, dt=period / steps,
                 measure=measure, every=every)  # fmt: skip


def steady_coin(radius: float, thick: float, tilt: float) -> tuple[np.ndarray, float]:
    """Return the angular velocity [rad/s] in the world, and the rate of precession, of a coin whose centre stays.

    It rolls, so that it turns about the line from its centre to the lowest point of its rim, which is toward +x. The
    angular momentum L of that turn precesses with the coin: rate x L is the torque of the weight on that point. Without
    thickness the rate is sqrt(4 g / (r sin(tilt))).
    """
    axis = np.array((math.sin(tilt), 0.0, math.cos(tilt)))
    lowest = np.array((radius * math.cos(tilt), 0.0, -radius * math.sin(tilt))) - thick / 2 * axis
    along, moments = lowest / np.linalg.norm(lowest), cylinder_inertia(1.0, radius, thick)
    # along = rate z + spin axis
    rate = float(along[2] - along[0] / math.tan(tilt))
    momentum = moments[0] * along + (moments[2] - moments[0]) * (along @ axis) * axis
    speed = math.sqrt(np.cross(lowest, G * UP)[1] / (rate * momentum[0]))
    return speed * along, speed * rate


@scene("coin", "Euler's disk",
       "a coin rolls about its centre, which stays; rate of precession in closed form")  # fmt: skip
def coin(quick: bool) -> Stage:
    radius, thick, tilt = 0.04, 0.002, 0.3
    model = solid(Cylinder(radius, thick), cylinder_inertia(1.0, radius, thick), 0.8)
    q, v = model.neutral(), model.zero_velocity()
    q[2], q[3:7] = radius * math.sin(tilt) + thick / 2 * math.cos(tilt), about_y(tilt)
    turn, rate = steady_coin(radius, thick, tilt)
    v[3:] = to_body(q[3:7], turn)
    period, turns = 2 * math.pi / abs(rate), 2 if quick else 100
    dt = period / 400

    def measure(motion: Motion) -> dict[str, float]:
        axis, total = axes(motion), energy(model, motion).sum(axis=1)
        angle = np.unwrap(np.arctan2(axis[:, 1], axis[:, 0]))
        return {
            "error of the tilt [rad]": largest(np.arccos(axis[:, 2]) - tilt),
            "error of the rate of precession [1]": abs(abs(angle[-1] - angle[0]) / (2 * math.pi * turns) - 1),
            "energy error [1]": share(total, total[0]),
            "centre moves [m]": largest(motion.q[:, :3] - q[:3]),
            "penetration [m]": depth(model, motion),
        }

    return Stage(model=model, q=q, v=v, duration=turns * period, dt=dt, measure=measure, every=1 if quick else 10)


@scene("spinning-egg", "Moffatt & Shimomura 2002",
       "an egg that spins on its side rises by friction; Jellett's integral is nearly conserved")  # fmt: skip
def spinning_egg(quick: bool) -> Stage:
    mass, wide, long, lean, spin = 0.06, 0.02, 0.03, 0.05, 200.0
    moments, semi_axes = ellipsoid_inertia(mass, (wide, wide, long)), np.array((wide, wide, long))
    model = solid(Ellipsoid((wide, wide, long)), moments, 0.1, mass=mass)
    tilt, q, v = math.pi / 2 - lean, model.neutral(), model.zero_velocity()
    q[2], q[3:7] = math.hypot(wide * math.sin(tilt), long * math.cos(tilt)), about_y(tilt)
    v[3:] = to_body(q[3:7], spin * UP)
    duration, dt, fine_dt = (0.1 if quick else 6.0), 2e-4, 2.5e-5
    checked = min(duration, 0.5)
    fine = simulate(model, q, v, duration=checked, dt=fine_dt, record_every=round(dt / fine_dt) * 5)

    def to_ground(turn: np.ndarray) -> np.ndarray:
        down = to_body(turn, -UP)
        return rotate(turn, semi_axes**2 * down / np.linalg.norm(semi_axes * down))

    def measure(motion: Motion) -> dict[str, float]:
        axis = axes(motion)
        spun = np.array([rotate(p[3:7], moments * w[3:]) for p, w in zip(motion.q, motion.v, strict=True)])
        jellett = -(spun * [to_ground(p[3:7]) for p in motion.q]).sum(axis=1)
        total = energy(model, motion).sum(axis=1)
        near = motion.q[: len(fine.q)]
        off = [rotate(a[3:7], UP) - rotate(b[3:7], UP) for a, b in zip(near, fine.q, strict=True)]
        return {
            "Jellett's integral, which is adiabatic, changes [1]": share(jellett, abs(jellett[0])),
            "energy gained, at most [1]": max(0.0, float(np.diff(total).max() / total[0])),
            f"error of the axis in {checked:g} s against dt = {fine_dt:g} s [1]": largest(np.array(off)),
            "angle of the axis from upright at the end [rad]": float(np.arccos(min(1.0, abs(axis[-1, 2])))),
            "penetration [m]": depth(model, motion),
        }

    return Stage(model=model, q=q, v=v, duration=duration, dt=dt, measure=measure, every=5)


@scene("celt", "Walker 1896; Bondi 1986",
       "an ellipsoid with skewed inertia spins the wrong way, rattles, and reverses; energy is conserved")  # fmt: skip
def celt(quick: bool) -> Stage:
    skew, spin = 0.05, -5.0
    turn = np.array(((math.cos(skew), -math.sin(skew), 0), (math.sin(skew), math.cos(skew), 0), (0, 0, 1)))
    model = solid(Ellipsoid((0.1, 0.02, 0.02)), turn @ np.diag((3e-4, 2e-3, 2.1e-3)) @ turn.T, 3.0)
    q, v = model.neutral(), model.zero_velocity()
    q[2], v[3:] = 0.02, (0.01, 0.01, spin)
    duration, dt = (0.2 if quick else 15.0), 5e-4

    def measure(motion: Motion) -> dict[str, float]:
        total = energy(model, motion).sum(axis=1)
        return {
            "energy error, of the kinetic energy [1]": share(total, 0.5 * 2.1e-3 * spin**2),
            f"spin at the end (start: {spin:g}) [rad/s]": float(spins(motion)[-1, 2]),
            "penetration [m]": depth(model, motion),
        }

    return Stage(model=model, q=q, v=v, duration=duration, dt=dt, measure=measure, every=1 if quick else 20)
