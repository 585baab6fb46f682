"""Random trees with loads and constraints of every kind, and what tests ask of them."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from random_models import random_flat, random_state

import vitree as vt

SINGLE = ("revolute", "prismatic", "helical")
#: Weights of the sixth-order difference quotient at -3, -2, -1, 1, 2, 3 steps, over 60 steps.
STENCIL = np.array([-1, 9, -45, 45, -9, 1]) / 60
PLACES = (-3, -2, -1, 1, 2, 3)


def random_tree(seed, nbody=6, kinds=SINGLE, base="fixed", speed=0.7, **more):
    """A flat tree and a state (q, v) of it; at least three joints have one coordinate, and one is a ball if balls
    are the only others."""
    rng = np.random.default_rng(seed)
    while True:
        flat = random_flat(rng, nbody=nbody, kinds=kinds, base=base, **more)
        missing = tuple(kinds) == (*SINGLE, "ball") and len(singles(flat)) == len(flat.joints)
        if len(singles(flat)) >= 3 and not missing:
            return flat, *random_state(flat, rng, speed=speed)


def singles(flat):
    """Names of the joints of one coordinate."""
    return [joint.name for joint in flat.joints if joint.kind in SINGLE]


def coordinate(flat, q, joint):
    """The coordinate of a joint of that name."""
    return float(q[next(j for j in flat.joints if j.name == joint).q_slice.start])


def conservative_loads(flat):
    """Loads of every kind that have a potential."""
    last, names = len(flat.kind) - 1, singles(flat)
    return (
        vt.Spring("link1", f"link{last}", 6.0),
        vt.Spring("world", "frame1", 9.0, 0.8),
        vt.Spring("link0", "link3", 5.0, 1.1),
        vt.Attraction("link0", f"link{last}", 2.0, 3.0, constant=0.4),
        vt.Attraction("world", "link2", mass_a=5.0, constant=0.3),
        vt.Gravity(("link2", "link3"), (1.0, -2.0, 0.5)),
        vt.JointSpring(names[0], 4.0, 0.3),
        vt.NonlinearSpring(names[1], np.linspace(-2.3, 2.1, 9), lambda x: -3 * x - x**3),
        vt.NonlinearSpring(names[2], (-0.7, -0.2, 0.1, 0.45), (2.0, 0.5, -0.3, -2.0)),
    )


def driving_loads(flat):
    """Loads of every kind that feed energy in or take it out, with the inputs "push", "turn" and "drive"."""
    last, names = len(flat.kind) - 1, singles(flat)
    return (
        vt.Damper("link1", f"link{last}", 0.7),
        vt.Damper("frame1", "world", 0.4),
        vt.Wrench("frame1", (0.3, "turn", -0.2), ("push", 0.5, 1.0), axes="world"),
        vt.Wrench("link2", (0.1, 0.4, "turn"), (1.0, "push", 0.3), axes="local"),
        vt.Wrench("link3", ("turn", 0.2, -0.5), (0.2, 0.6, "push"), axes="spatial"),
        vt.JointForce(names[0], 0.8),
        vt.JointForce(names[2], "drive"),
    )


def distances(model, q, a, b):
    """Vector between the origins of two frames."""
    place = lambda name: np.zeros(3) if name == "world" else model.frame_pose(name, q)[:3, 3]  # noqa: E731
    return place(a) - place(b)


def every_constraint(flat, q, rng):
    """Constraints of every kind that hold at q."""
    bare = vt.Model(replace(flat, loads=(), constraints=()))
    last, names = len(flat.kind) - 1, singles(flat)
    axis = rng.normal(size=3)
    axis /= np.linalg.norm(axis)
    u, w = rng.normal(size=(2, 3))
    at = lambda joint: coordinate(flat, q, joint)  # noqa: E731
    turn = lambda name: np.eye(3) if name == "world" else bare.frame_pose(name, q)[:3, :3]  # noqa: E731
    first, local, tip = "link1", f"link{last - 1}", f"link{last}"
    between = distances(bare, q, local, "link0")
    span = np.linspace(at(names[1]) - 1.5, at(names[1]) + 1.7, 12)
    cam = vt.Cam(names[2], names[1], span, np.sin(1.3 * span))
    cosine = float((turn(first) @ u / np.linalg.norm(u)) @ (turn(tip) @ w / np.linalg.norm(w)))
    along = float(axis @ distances(bare, q, tip, "world"))
    across = float((turn(local) @ axis) @ between)
    # the cam's table is moved so that it holds at q
    off = vt.Model(replace(flat, constraints=(cam,))).constraint_errors(q)[0]
    return (
        vt.PointConstraint(tip, "world", tuple(axis), offset=along),
        vt.PointConstraint(local, "link0", tuple(axis), axes="local", offset=across),
        vt.Distance(first, tip, float(np.linalg.norm(distances(bare, q, first, tip)))),
        vt.AxisConstraint(first, tip, tuple(u), tuple(w), cosine),
        vt.gear(names[0], names[1], -1.4, at(names[0]) + 1.4 * at(names[1])),
        vt.Cam(names[2], names[1], span, np.array(cam.profile) + off),
    )


def constrained_tree(seed, **more):
    """A random model with every constraint, no two of them alike, and a state (q, v) that they allow."""
    for k in range(100):
        flat, q, v = random_tree(1000 * seed + k, **more)
        model = vt.Model(replace(flat, constraints=every_constraint(flat, q, np.random.default_rng(seed))))
        rows = model.constraint_jacobian(q)
        size = np.linalg.norm(rows, axis=1)
        if size.all() and np.linalg.cond(rows / size[:, None]) < 30:
            return model, q, model.project_velocity(q, v)
    raise AssertionError("no such tree was drawn")


def one_coordinate_joints(model, q, v):
    """The model in Euler angles and its state: what residual="tree" takes."""
    at = model.euler()
    return at, *at.from_native(q, v)


def forces(model, q, v, **more):
    """The generalised force of all loads, from the accelerations that they cause: Q = M a + bias."""
    return model.rnea(q, v, model.forward_dynamics(q, v, **more).acceleration)


def gradient(model, q, f, step=2e-3):
    """Derivatives of f(q) by body displacements, (nv, ...), to sixth order in the step."""
    rows = []
    for e in step * np.eye(model.nv):
        values = [np.asarray(f(model.integrate(q, k * e))) for k in PLACES]
        rows.append(np.tensordot(STENCIL, values, 1) / step)
    return np.array(rows)


def fitted(steps, errors):
    """Order of errors that fall with the step."""
    return np.polyfit(np.log(steps), np.log(errors), 1)[0]


def end_error(model, exact, end):
    """How far two ends of trajectories are apart, in q and in v."""
    return np.array([np.linalg.norm(model.difference(exact.q, end.q)), np.linalg.norm(end.v - exact.v)])
