"""Scenes without contact: a box that tumbles, a pendulum of many joints, humanoids that float and fly."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from vitree.mechanism.flat import Geometry
from vitree.mechanism.loads import JointSpring
from vitree.model.model import Model
from vitree.run.controller import Control
from vitree.run.simulate import simulate
from vitree.scenes.base import Motion, Stage, center, energy, largest, momentum, scene, share
from vitree.scenes.robots import robot
from vitree.tree.elements import Body, body, free, rx, ry, tx, ty
from vitree.tree.elements import ball as ball_joint
from vitree.tree.tree import Tree
from vitree.urdf.inertia import shapes_inertia

DOWN = np.array((0.0, 0.0, -9.81))


def _box(v: tuple[float, ...], w: tuple[float, ...], quick: bool) -> Stage:
    """A box of 0.1 m x 0.4 m x 0.9 m and 10 kg in flight for 10 s."""
    tree = Tree("box", gravity=DOWN)
    moments = np.array((0.80833333, 0.68333333, 0.14166667))
    tree.world.add(free("base"), body("box", 10.0, tuple(moments)))
    model = tree.compile()

    def measure(motion: Motion) -> dict[str, float]:
        t = motion.t[:, None]
        p = momentum(model, motion)
        about = p[:, :3] - np.cross(motion.q[:, :3], p[:, 3:])
        total = energy(model, motion).sum(axis=1)
        return {
            "position error [m]": largest(motion.q[:, :3] - (t * np.array(v) + t**2 * DOWN / 2)),
            "velocity error [m/s]": largest(p[:, 3:] / 10 - (np.array(v) + t * DOWN)),
            "angular momentum error [1]": share(about, np.linalg.norm(about[0])),
            "energy error [1]": share(total, total[0]),
        }

    return Stage(model=model, q=model.neutral(), v=np.array((*v, *w)), duration=0.5 if quick else 10.0, dt=1e-3,
                 measure=measure, every=10)  # fmt: skip


@scene("boxes-simple", "Peters & Hsu 2014", "a box thrown with a spin about one axis; closed form")
def boxes_simple(quick: bool) -> Stage:
    return _box((-0.9, 0.4, 0.1), (0.5, 0.0, 0.0), quick)


@scene("boxes-complex", "Peters & Hsu 2014", "a box tumbles about its intermediate axis in flight; closed form")
def boxes_complex(quick: bool) -> Stage:
    return _box((-2.0, 2.0, 8.0), (0.1, 5.0, 0.1), quick)


#: Rotations of shapes that lie along an axis.
ALONG = {"x": np.array([[0, 0, 1.0], [0, 1, 0], [-1, 0, 0]]), "y": np.array([[1.0, 0, 0], [0, 0, 1], [0, -1, 0]])}


def _solid(name: str, *shapes: tuple[str, tuple[float, ...], str, tuple[float, ...]]) -> Body:
    """A body of density 1000 kg/m^3, of shapes: kind, size, axis, middle. Masses of shapes that overlap add up."""
    made = [Geometry(name, kind, size, ALONG[axis], np.array(middle, dtype=float))
            for kind, size, axis, middle in shapes]  # fmt: skip
    found = shapes_inertia(made, density=1000.0)
    assert found is not None
    mass, com, inertia = found
    return body(name, mass, inertia, com=tuple(com))


@scene("pendulum", "MuJoCo's manual: energy conserving pendulum",
       "hinge, slide with a spring, ball joint, hinge; energy is conserved")  # fmt: skip
def manual_pendulum(quick: bool) -> Stage:
    tree = Tree("pendulum", gravity=DOWN)
    arm, hub = ("capsule", (0.02, 0.1), "x", (0.05, 0, 0)), ("cylinder", (0.02, 0.04), "y", (0, 0, 0))
    first = tree.world.add(ry("hinge"), _solid("arm", arm, hub))
    second = first.add(tx(0.1), tx("slide"), _solid("rod", ("capsule", (0.015, 0.2), "x", (0, 0, 0))))
    third = second.add(tx(0.1), ball_joint("ball"), _solid("box", ("box", (0.04, 0.04, 0.1), "y", (0, 0.05, 0))))
    third.add(ty(0.1), rx("last"), _solid("end", ("capsule", (0.02, 0.1), "y", (0, 0.05, 0))))
    tree.load(JointSpring("slide", 200.0))
    model = tree.compile()

    def measure(motion: Motion) -> dict[str, float]:
        found = energy(model, motion)
        return {"energy error, of the largest kinetic energy [1]": share(found.sum(axis=1), found[:, 0].max())}

    return Stage(model=model, q=model.neutral(), v=model.zero_velocity(), duration=1.0 if quick else 100.0, dt=2e-3,
                 measure=measure, every=10, peer={"integrator": "RK4"},
                 options={"order": 4}, limited="both with order 4; MuJoCo with RK4, as in its manual")  # fmt: skip


@scene("floating-humanoid", "Howell et al. 2022 (Dojo)",
       "no gravity; joint torques for 1 s, then none; momentum stays zero")  # fmt: skip
def floating_humanoid(quick: bool) -> Stage:
    whole = robot("human", base="free")
    damping = np.concatenate([np.zeros(6), np.full(whole.nv - 6, 0.5)])
    model = Model(replace(whole.full.flat, gravity=np.zeros(3), damping=damping))
    rng = np.random.default_rng(0)
    # torques that would turn each joint alone by 1 rad/s^2
    size = rng.uniform(-1, 1, model.nv) * np.diag(model.crba(model.neutral()))
    size[:6], rate = 0.0, rng.uniform(3, 8, model.nv)
    nothing = np.zeros(model.nv)

    def measure(motion: Motion) -> dict[str, float]:
        found = momentum(model, motion)
        com = center(model, motion)
        about = found[:, :3] - np.cross(com, found[:, 3:])
        return {
            "linear momentum, largest [N s]": largest(found[:, 3:]),
            "angular momentum, largest [N m s]": largest(about),
            "centre of mass moves [m]": largest(com - com[0]),
        }

    return Stage(model=model, q=model.neutral(), v=model.zero_velocity(), duration=1.5 if quick else 10.0, dt=1e-2,
                 measure=measure, torque=lambda t: size * np.sin(rate * t) if t < 1.0 else nothing)  # fmt: skip


@scene("g1-flight", "servos, 50 to 100 Hz control of humanoids",
       "servos with kp 100, kd 2 on 29 joints follow sines; angular momentum is conserved")  # fmt: skip
def g1_in_flight(quick: bool) -> Stage:
    driven = robot("g1", base="free").with_drives({"*": (100.0, 2.0)})
    model = Model(replace(driven.flat, gravity=np.zeros(3)))
    com, turn, dt = model.center_of_mass(model.neutral()), np.array((1.0, -2.0, 0.5)), 1e-2
    v = model.zero_velocity()
    v[:3], v[3:6] = -np.cross(turn, com), turn
    rng, count = np.random.default_rng(0), len(model.drives)
    size, rate, phase = rng.uniform([[0.1], [3.0], [0.0]], [[0.4], [8.0], [6.0]], (3, count))
    duration = 0.2 if quick else 0.8

    def rows(step: float) -> np.ndarray:
        t = (np.arange(round(duration / step)) + 0.5) * step
        found: np.ndarray = size * np.sin(rate * t[:, None] + phase)
        return found

    fine_dt = dt / (10 if quick else 100)
    fine = simulate(model, None, v, duration=duration, dt=fine_dt, control=Control(targets=rows(fine_dt)),
                    record_every=round(dt / fine_dt))

    def measure(motion: Motion) -> dict[str, float]:
        found = momentum(model, motion)
        about = found[:, :3] - np.cross(center(model, motion), found[:, 3:])
        off = np.array([model.difference(a, b)[6:] for a, b in zip(fine.q, motion.q, strict=True)])
        return {
            "angular momentum error [1]": share(about, np.linalg.norm(about[0])),
            f"joint error against dt = {fine_dt:g} s [rad]": largest(off),
        }

    return Stage(model=model, q=model.neutral(), v=v, duration=duration, dt=dt, measure=measure, targets=rows(dt))
