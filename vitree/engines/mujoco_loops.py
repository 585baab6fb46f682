"""Holonomic constraints in MuJoCo, by its equalities, which are soft: connect, weld, joint and tendon."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np

from vitree.engines.mujoco_contacts import quaternion
from vitree.mechanism.constraints import AxisConstraint, Cam, Constraint, Coupling, Distance, PointConstraint
from vitree.mechanism.tables import pieces
from vitree.model.model import Model

if TYPE_CHECKING:
    from mujoco import MjModel, MjsBody, MjSpec

#: Places along the axis of a hinge that two connects hold [m].
ARM = 0.1
#: Configurations at which a direction is tried, and the largest distance along one in which nothing moves [m].
TRIALS, STILL = 8, 1e-9
#: The degree of the polynomial of a joint equality, and by how much of its range a profile may differ from one.
DEGREE, ALIKE = 4, 1e-9


def site_on(spec: MjSpec, bodies: list[MjsBody], model: Model, frame: str, along: np.ndarray) -> str:
    """Add a site at a point (3,) [m] of a frame, with its axes; return the name."""
    number, E, p = model.index.place(frame)
    body = bodies[number] if number >= 0 else spec.worldbody
    name = f"site{len(spec.sites)}"
    body.add_site(name=name, pos=p + E @ along, quat=quaternion(E))
    return name


def add_equalities(
    spec: MjSpec, bodies: list[MjsBody], site: Callable[[str, np.ndarray], str], model: Model, dt: float
) -> None:
    """Add an equality for each group of constraints between two frames, and for each coupling, as stiff as dt allows.

    Of two frames whose origins coincide along two directions, those of the third are equal anyhow in a planar
    mechanism. A hinge is two connects at places of its axis.

    Raises
    ------
    NotImplementedError
        If MuJoCo has nothing like a constraint.
    """
    import mujoco

    looks = {"solref": [2 * dt, 1.0]}
    kinds, objects = mujoco.mjtEq, mujoco.mjtObj
    entry = {int(model.index.iv[i]): i for i in range(len(bodies))}
    groups: dict[tuple[str, str], list[Constraint]] = {}

    def joint(name: str) -> str:
        return f"joint{entry[model.joint(name).v_slice.start]}"

    def add_joint(one: str, other: str, polynomial: np.ndarray) -> None:
        data = np.zeros(mujoco.mjNEQDATA)
        data[: len(polynomial)] = polynomial
        spec.add_equality(type=kinds.mjEQ_JOINT, objtype=objects.mjOBJ_JOINT, name1=joint(one), name2=joint(other),
                          data=data, **looks)  # fmt: skip

    for k, each in enumerate(model.constraints):
        if isinstance(each, Coupling):
            (first, factor), (second, other) = each.factors.items()
            add_joint(first, second, np.array([each.value / factor, -other / factor]))
        elif isinstance(each, Cam):
            add_joint(each.follower, each.driver, _polynomial(each))
        elif isinstance(each, Distance):
            rod, lengths = spec.add_tendon(name=f"rod{k}"), {}
            for frame in (each.a, each.b):
                rod.wrap_site(site(frame, np.zeros(3)))
            if isinstance(each.length, str):  # a tendon whose length is the coordinate
                spec.add_tendon(name=f"length{k}").wrap_joint(joint(each.length), 1.0)
                lengths["name2"] = f"length{k}"
            spec.add_equality(name=f"distance{k}", type=kinds.mjEQ_TENDON, objtype=objects.mjOBJ_TENDON,
                              name1=f"rod{k}", **lengths, **looks)  # fmt: skip
        elif isinstance(each, PointConstraint | AxisConstraint) and not getattr(each, "offset", 0.0):
            groups.setdefault((each.a, each.b), []).append(each)
        else:
            what = "an offset" if isinstance(each, PointConstraint) else "a function in Python"
            raise NotImplementedError(f"the constraint {each.name}, which has {what}")

    for (a, b), group in groups.items():
        points = [each for each in group if isinstance(each, PointConstraint)]
        turns = [each for each in group if isinstance(each, AxisConstraint)]
        origin = np.zeros(3)
        places: list[tuple[np.ndarray, np.ndarray]] = [(origin, origin)]
        kind = kinds.mjEQ_WELD if len(turns) == 3 else kinds.mjEQ_CONNECT
        axis = _hinge(turns)
        if not _coincide(model, a, b, points) or (turns and axis is None and len(turns) != 3):
            raise NotImplementedError(f"the constraint {group[0].name}: no equality of MuJoCo lets two frames move so")
        if axis is not None:
            places.append((ARM * axis[0], ARM * axis[1]))
        for here, there in places:
            spec.add_equality(type=kind, objtype=objects.mjOBJ_SITE, name1=site(a, here), name2=site(b, there), **looks)


def set_lengths(made: MjModel, model: Model) -> None:
    """Set the lengths of distances: equalities of MuJoCo count them from those at its reference configuration."""
    for k, each in enumerate(model.constraints):
        if isinstance(each, Distance):
            polynomial, start = made.eq(f"distance{k}").data, made.tendon_length0[made.tendon(f"rod{k}").id]
            if isinstance(each.length, str):
                polynomial[:2] = made.tendon_length0[made.tendon(f"length{k}").id] - start, 1.0
            else:
                polynomial[0] = each.length - start


def _polynomial(cam: Cam) -> np.ndarray:
    """Return the polynomial (5,) of a cam's profile, from the constant on.

    Raises a NotImplementedError if there is none.
    """
    at, c, _, period = pieces(cam.positions, cam.profile, cam.name, cam.periodic)
    apart = np.linspace(0.0, 1.0, DEGREE + 1) * np.diff(at)[:, None]
    x, y = (at[:-1, None] + apart).ravel(), (c[:, None] * apart[..., None] ** np.arange(4)).sum(axis=2).ravel()
    found = np.polynomial.Polynomial.fit(x, y, DEGREE)
    off = float(np.abs(found(x) - y).max())
    if period or off > ALIKE * float(np.ptp(y)):
        how = "repeats" if period else f"is off by {off:.2g} from the nearest one"
        raise NotImplementedError(f"the constraint {cam.name}: MuJoCo has polynomials of degree {DEGREE}, and its "
                                  f"profile {how}")  # fmt: skip
    return found.convert().coef


def _hinge(turns: list[AxisConstraint]) -> tuple[np.ndarray, np.ndarray] | None:
    """Return the axis of a hinge in both frames, if two constraints hold it at right angles to two directions."""
    if len(turns) != 2 or any(each.cosine or each.facing is None for each in turns):
        return None
    axis, along = np.cross(turns[0].axis_a, turns[1].axis_a), np.asarray(turns[0].axis_b, dtype=float)
    facing = np.asarray(turns[0].facing, dtype=float)
    if turns[0].axis_b != turns[1].axis_b or not axis.any() or not axis @ facing or not along @ facing:
        return None
    one, other = (x * np.sign(x @ facing) / np.linalg.norm(x) for x in (axis, along))
    return one, other


def _coincide(model: Model, a: str, b: str, points: list[PointConstraint]) -> bool:
    """Whether origins of two frames coincide: along three directions, or two and in the third nothing moves."""
    axes = np.array([each.axis for each in points], dtype=float).reshape(-1, 3)
    rank = int(np.linalg.matrix_rank(axes)) if len(axes) else 0
    if rank != 2 or any(each.axes != "world" for each in points):
        return rank == 3
    across = np.linalg.svd(axes)[2][-1]
    rng = np.random.default_rng(0)
    for _ in range(TRIALS):
        q = model.integrate(model.neutral(), rng.standard_normal(model.nv))
        one, other = (model.frame_pose(frame, q)[:3, 3] if frame != "world" else np.zeros(3) for frame in (a, b))
        if abs(across @ (one - other)) > STILL:
            return False
    return True
