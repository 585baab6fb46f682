"""Loads, constraints and contacts as arrays for the core, and what models of other numbers share."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from vitree._core.types import ConstraintList, ContactList, DriveList, LoadList
from vitree.arguments import real, shown
from vitree.errors import InputError, ModelError, UnknownNameError
from vitree.mechanism.constraints import AxisConstraint, Cam, Coupling, Distance, PointConstraint, loses
from vitree.mechanism.contacts import Contact
from vitree.mechanism.drives import Drive
from vitree.mechanism.flat import BALL, KINDS, Flat, limits_of
from vitree.mechanism.index import Index
from vitree.mechanism.loads import (
    Attraction,
    BallSpring,
    Damper,
    Gravity,
    JointForce,
    JointSpring,
    Load,
    NonlinearSpring,
    Spring,
    Wrench,
    input_names,
)
from vitree.mechanism.plans import Plan, Tie, bodies_of, plan_of
from vitree.mechanism.spans import (
    AT_ANGLE,
    AT_LENGTH,
    AT_LIMIT,
    AT_SPEED,
    AT_SWING,
    AT_TWIST,
    MOST_FACETS,
    ON_BOX,
    ON_FIELD,
    ON_PLANE,
    ROLLS,
    RUBS,
    SEGMENTS,
    Spans,
    spans_of,
)
from vitree.mechanism.tables import pieces
from vitree.mechanism.unilateral import (
    ANGLE_LIMIT,
    DRY_FRICTION,
    LIMIT,
    LOSS,
    ROPE,
    SWING_LIMIT,
    TWIST_LIMIT,
    VELOCITY_LIMIT,
    BallLimit,
    Pulley,
    Rope,
)
from vitree.memory import require_memory
from vitree.model.candidates import BALL_BOX, Candidates, Wheels, resurfaced
from vitree.model.user_inputs import Constraint as WrittenConstraint
from vitree.model.user_inputs import Force, Potential
from vitree.spatial.checks import direction, finite, vector

# ---- loads and constraints as rows of numbers, as the compiled core takes them -----------------------------


#: What the core takes of a load, constraint or contact: numbers by name.
CoreRow = dict[str, Any]
#: A point of a rope as the core takes it: body, place, radius of a pulley, axis, point beside, way around it.
Eyelet = tuple[int, tuple[float, ...], float, tuple[float, ...], tuple[float, ...], int]
#: Ways around pulleys of ``_core/types.pxd`` beside 1 and -1.
_SHORTER, _BY_POINT = 0, 2
#: Codes of loads of ``_core/types.pxd``.
_WRENCH, _UNIFORM, _SPRING, _DAMPER, _ATTRACTION, _JOINT_FORCE, _JOINT_SPRING, _JOINT_TABLE, _BALL_SPRING = range(9)
_AXES = {"world": 0, "local": 1, "spatial": 2}
#: Codes of constraints of ``_core/types.pxd``.
_POINTS, _DISTANCE, _COUPLING, _ANGLE, _PROFILE, _USER = range(6)
_KINDS = ", ".join(kind.__name__ for kind in Load.__args__)


def lower_loads(index: Index, loads: tuple[object, ...], more: tuple[CoreRow, ...] = ()) -> LoadList:
    """Return loads as the core takes them, those written in Python left out; ``more`` follow as they are.

    Raises an UnknownNameError if a frame, link or joint is not known, and a ModelError if a load cannot be what it
    says.
    """
    inputs = {name: k for k, name in enumerate(input_names(loads))}
    rows: list[CoreRow] = []
    for load in loads:
        if not isinstance(load, Potential | Force | Drive):
            rows += _rows(index, load, inputs)
    return LoadList([*rows, *more])


def of_links(loads: tuple[object, ...]) -> bool:
    """Return whether the rows of loads have masses or COM of links in them."""
    return any(isinstance(load, Gravity | Attraction) for load in loads)


def lower_drives(index: Index, loads: tuple[object, ...]) -> DriveList:
    """Return the drives among loads as the core takes them.

    Raises an UnknownNameError if a joint is not known, and a ModelError if a drive is on a joint of several
    coordinates, on one that moves as prescribed, or on one that has a drive.
    """
    inputs = {name: k for k, name in enumerate(input_names(loads))}
    rows: list[CoreRow] = []
    driven: dict[str, Drive] = {}
    for load in loads:
        if not isinstance(load, Drive):
            continue
        if load.joint in driven:
            both = " and ".join(f"(kp {drive.kp:g}, kd {drive.kd:g})" for drive in (driven[load.joint], load))
            raise ModelError(f'the joint "{load.joint}" has two drives, {both}; give it one')
        driven[load.joint] = load
        where = index.one_coordinate(load.joint, load.name)
        if index.flat.kinematic[where["iv"]]:
            raise ModelError(f'the {load.name} does nothing: "{load.joint}" moves as prescribed')
        effort, speed = load.effort_limit * load.gear, load.velocity_limit / load.gear
        row = {"kp": load.kp, "kd": load.kd, "effort": effort, "speed": speed, **where}
        for name, constant, value in (("target", "goal", load.target), ("rate", "goal_rate", load.target_rate)):
            row |= {name: inputs[value]} if isinstance(value, str) else {constant: value}
        rows.append(row)
    return DriveList(sorted(rows, key=lambda row: row["iv"]))


def _rows(index: Index, load: object, inputs: Mapping[str, int]) -> list[CoreRow]:
    if isinstance(load, Spring | Damper | Attraction):
        return [_pair(index, load)]
    if isinstance(load, Gravity):
        g = vector(load.acceleration, f"acceleration of {load.name}")
        rows = []
        for link, mass, com in _links(index, load):
            rows.append({"kind": _UNIFORM, "wrench": (0, 0, 0, *(mass * g)), **_place(index, link, "a", com)})
        return [row for row in rows if row["body_a"] >= 0]
    if isinstance(load, Wrench):
        return lower_wrench(index, load, inputs)
    if isinstance(load, BallSpring):
        return [_ball_spring(index, load, inputs)]
    if isinstance(load, JointForce | JointSpring | NonlinearSpring):
        where = index.one_coordinate(load.joint, load.name)
        if isinstance(load, JointForce):
            if isinstance(load.force, str):
                return [{"kind": _JOINT_FORCE, "factor": 1.0, "input": inputs[load.force], **where}]
            number = finite(load.force, f"value of the {load.name}")
            return [{"kind": _JOINT_FORCE, "factor": number, "input": -1, **where}]
        if isinstance(load, NonlinearSpring):
            return [{"kind": _JOINT_TABLE, "table": pieces(load.positions, load.force, load.name), **where}]
        k, rest = finite(load.stiffness, f"stiffness of the {load.name}"), finite(load.rest, f"rest of the {load.name}")
        return [{"kind": _JOINT_SPRING, "factor": k, "rest": rest, **where}]
    raise ModelError(f"a load is one of {_KINDS}, or a Potential or Force of your own, not {shown(load)}")


def _ball_spring(index: Index, load: BallSpring, inputs: Mapping[str, int]) -> CoreRow:
    named = {joint.name: joint for joint in index.flat.joints}
    if load.joint not in named:
        raise UnknownNameError("joint", load.joint, named)
    joint = named[load.joint]
    if joint.kind != KINDS[BALL]:
        raise ModelError(f'the {load.name}: "{load.joint}" is a {joint.kind} joint; take a JointSpring')
    row = {"kind": _BALL_SPRING, "factor": load.stiffness, "iq": joint.q_slice.start, "iv": joint.v_slice.start,
           "rest": load.effort_limit}  # fmt: skip
    if not load.inputs:
        return row | {"wrench": (*load.reference, 0.0, 0.0)}
    given = [inputs[name] for name in load.inputs]
    return row | {"input": given[0], "inputs": given}


def lower_wrench(index: Index, load: Wrench, inputs: Mapping[str, int]) -> list[CoreRow]:
    """Return a wrench as the core takes it: a row of the constants, and one an input; none if nothing moves."""
    if not isinstance(load.axes, str) or load.axes not in _AXES:
        raise InputError(f'{load.name}: axes="{load.axes}" is not known; choose from {", ".join(_AXES)}')
    parts = (*load.torque, *load.force)
    if len(load.torque) != 3 or len(load.force) != 3:
        raise ModelError(f"the {load.name} takes three torques and three forces, not {shown(parts)}")
    body, R, point = index.place(load.frame)
    columns = np.kron(np.eye(2), R if load.axes == "local" else np.eye(3))
    numbers = [0.0 if isinstance(part, str) else finite(part, f"value of the {load.name}") for part in parts]
    common = {"kind": _WRENCH, "body_a": body, "point_a": point, "axes": _AXES[load.axes]}
    rows = [{"wrench": columns @ numbers, **common}] if np.any(numbers) else []
    rows += [{"wrench": columns[:, k], "input": inputs[part], **common}
             for k, part in enumerate(parts) if isinstance(part, str)]  # fmt: skip
    return rows if body >= 0 else []


def _place(index: Index, name: str, end: str, shift: ArrayLike = (0.0, 0.0, 0.0)) -> CoreRow:
    body, R, point = index.place(name)
    return {f"body_{end}": body, f"point_{end}": point + R @ np.array(shift, dtype=float)}


def _links(index: Index, load: Gravity) -> list[tuple[str, float, np.ndarray]]:
    links = {name: (mass, com) for name, mass, com in zip(
        index.flat.link_names, index.flat.link_mass, index.flat.link_com, strict=True)}  # fmt: skip
    for name in load.links:
        if not isinstance(name, str) or name not in links:
            raise UnknownNameError("link", name, links)
    return [(name, *links[name]) for name in load.links]


def _pair(index: Index, load: Spring | Damper | Attraction) -> CoreRow:
    row = {**_place(index, load.a, "a"), **_place(index, load.b, "b")}
    if row["body_a"] == row["body_b"]:
        raise ModelError(f"{load.name}: both frames are fixed to the same body, so that it does nothing")
    if isinstance(load, Spring):
        rest = finite(load.length, f"length of the {load.name}")
        if rest < 0:
            raise ModelError(f"the length of the {load.name} is {rest:g}; it must be zero or more [m]")
        return {"kind": _SPRING, "factor": finite(load.stiffness, f"stiffness of the {load.name}"), "rest": rest, **row}
    if isinstance(load, Damper):
        return {"kind": _DAMPER, "factor": finite(load.coefficient, f"coefficient of the {load.name}"), **row}
    factor = finite(load.constant, f"constant of the {load.name}")
    masses = dict(zip(index.flat.link_names, index.flat.link_mass, strict=True))
    for frame, mass in ((load.a, load.mass_a), (load.b, load.mass_b)):
        if mass is None and frame not in masses:
            raise ModelError(f'{load.name}: "{frame}" is no link; give its mass (mass_a=, mass_b=)')
        factor *= masses[frame] if mass is None else finite(mass, f"mass of the {load.name}")
    return {"kind": _ATTRACTION, "factor": factor, **row}


Constraint = PointConstraint | Distance | Coupling | AxisConstraint | Cam | WrittenConstraint


def lower_constraints(
    index: Index, constraints: tuple[object, ...], plan: Callable[..., Plan] = plan_of
) -> ConstraintList:
    """Return constraints as the core takes them, with the plans of how they are solved for.

    ``plan`` makes them, as :func:`vitree.mechanism.plans.plan_of` does. Raises an UnknownNameError if a frame or joint
    is not known, and a ModelError if a constraint cannot be what it says.
    """
    rows = [_constraint(index, c) for c in constraints]
    if not rows:
        return ConstraintList()
    bodies, ties = bodies_of(index.flat, index.iv), [Tie.of(row) for row in rows]
    return ConstraintList(rows, [plan(bodies, ties, whole) for whole in (False, True)], len(bodies.parent))


def lower_facing(index: Index, constraints: tuple[object, ...]) -> tuple[np.ndarray, ConstraintList, ConstraintList]:
    """Return the directions that must point the same way in two frames, as rows of numbers.

    Returns
    -------
    which : (m,) int array
        Of each constraint its pair of directions, or -1.
    cosines : ConstraintList
        The cosine of the angle of each pair.
    differences : ConstraintList
        Three rows a pair: the direction of b less that of a, in the axes of a. All three vanish on the right side only,
        other than the constraints' own rows.
    """
    pairs: dict[tuple[str, str, tuple[float, ...]], int] = {}
    which = np.full(len(constraints), -1)
    cosines: list[CoreRow] = []
    differences: list[CoreRow] = []
    for k, c in enumerate(constraints):
        if not isinstance(c, AxisConstraint) or c.facing is None:
            continue
        along = direction(c.facing, f"facing of {c.name}")
        pair = c.a, c.b, tuple(along)
        if pair not in pairs:
            pairs[pair] = len(pairs)
            row = _constraint(index, AxisConstraint(c.a, c.b, c.facing, c.facing))
            R = index.place(c.a)[1]
            cosines.append(row)
            differences += [row | {"direction": R @ axis, "value": axis @ along} for axis in np.eye(3)]
        which[k] = pairs[pair]
    return which, ConstraintList(cosines), ConstraintList(differences)


def _coordinate(index: Index, joint: str, what: str) -> tuple[int, int]:
    where = index.one_coordinate(joint, what)
    return where["iq"], where["iv"]


def _constraint(index: Index, constraint: object) -> CoreRow:
    name = constraint.name if isinstance(constraint, Constraint) else ""
    if isinstance(constraint, WrittenConstraint):
        return {"kind": _USER}
    if isinstance(constraint, Coupling):
        if len(constraint.factors) != 2:
            raise ModelError(f"a {name} takes two joints, not {len(constraint.factors)}")
        (a, factor_a), (b, factor_b) = constraint.factors.items()
        return {
            "kind": _COUPLING, "a": _coordinate(index, a, name), "b": _coordinate(index, b, name),
            "factor_a": finite(factor_a, f"factor of {name}"), "factor_b": finite(factor_b, f"factor of {name}"),
            "value": finite(constraint.value, f"value of {name}"),
        }  # fmt: skip
    if isinstance(constraint, Cam):
        if constraint.follower == constraint.driver:
            raise ModelError(f"the {name}: a joint cannot follow itself")
        return {
            "kind": _PROFILE, "a": _coordinate(index, constraint.follower, name),
            "b": _coordinate(index, constraint.driver, name),
            "table": pieces(constraint.positions, constraint.profile, f"the {name}", constraint.periodic),
        }  # fmt: skip
    if not isinstance(constraint, PointConstraint | Distance | AxisConstraint):
        raise ModelError(
            f"a constraint is a PointConstraint, Distance, Coupling, AxisConstraint, Cam, or a Constraint of your own, "
            f"not {shown(constraint)}"
        )
    body_a, R, point_a = index.place(constraint.a)
    body_b, Rb, point_b = index.place(constraint.b)
    row = {"body_a": body_a, "body_b": body_b, "point_a": point_a, "point_b": point_b}
    if body_a == body_b:
        raise ModelError(f"{name}: both frames are fixed to the same body, so that it says nothing")
    if isinstance(constraint, Distance):
        if isinstance(constraint.length, str):
            return {"kind": _DISTANCE, "a": _coordinate(index, constraint.length, name), "factor_a": 1.0, **row}
        if not 0 < real(constraint.length) < np.inf:
            raise ModelError(f"{name}: the length is {shown(constraint.length)}; it must be positive [m]")
        return {"kind": _DISTANCE, "value": real(constraint.length), **row}
    if isinstance(constraint, AxisConstraint):
        one, other = (direction(x, f"axis of {name}") for x in (constraint.axis_a, constraint.axis_b))
        if not -1.0 < real(constraint.cosine) < 1.0:
            raise ModelError(f"{name}: the cosine is {shown(constraint.cosine)}; it must lie between -1 and 1")
        return {"kind": _ANGLE, "direction": R @ one, "other": Rb @ other, "value": real(constraint.cosine), **row}
    if constraint.axes not in ("world", "local"):
        raise ModelError(f'{name}: axes="{constraint.axes}" is not known; choose "world" or "local"')
    axis = direction(constraint.axis, f"axis of the {name}")
    local = constraint.axes == "local"
    return {"kind": _POINTS, "local": int(local), "direction": R @ axis if local else axis,
            "value": finite(constraint.offset, f"offset of the {name}"), **row}  # fmt: skip


#: Memory of a pair of convex shapes that is far away, and of one that is near [bytes], measured. All are near where
#: contacts bounce.
FAR_PAIR, PAIR = 300, 26_000
#: What to do against many of them.
OF_PAIRS = "take triangle meshes of fewer triangles, convex parts of larger error=, or leave pairs out by vt.NoContact"


def lower_contacts(
    flat: Flat, found: Candidates, wheels: Wheels, spans: Spans | None = None
) -> tuple[ContactList, Spans]:
    """Return what acts by impulses as the core takes it, and its spans, which may be known.

    It is points on planes, points on a terrain, pairs, wheels that roll, enforced limits, ropes and limits of
    ball joints, dry friction of joints.
    """
    rows: list[CoreRow] = []
    count = int(found.patch.max(initial=-1)) + 1
    grounds: list[CoreRow] = [{"kind": ON_PLANE, "normal": plane[:3], "offset": plane[3]} for plane in found.planes]
    if found.terrain is not None:
        grounds.append({"kind": ON_FIELD})
    for k, ground in enumerate(grounds):
        for body, point, radius, patch, numbers in zip(
            found.body, found.point, found.radius, found.patch, found.numbers, strict=True
        ):
            flat_ground = patch >= 0 and ground["kind"] == ON_PLANE
            rows.append({
                **ground, **_surface(numbers), "body_a": body, "point_a": point, "radius_a": radius,
                "patch": patch + k * count if flat_ground else -1,
            })  # fmt: skip
    for kind, (one, other), numbers in zip(found.pair_kind, found.pair, found.pair_numbers, strict=True):
        row = {**_surface(numbers), "body_a": found.rod_body[one], "radius_a": found.rod_radius[one],
               "point_a": found.rod_ends[one, 0], "end_a": found.rod_ends[one, 1]}  # fmt: skip
        if kind == BALL_BOX:
            row |= {"kind": ON_BOX, "body_b": found.box_body[other], "point_b": found.box_p[other],
                    "axes_b": found.box_E[other].T.ravel(), "half_b": found.box_half[other]}  # fmt: skip
        else:
            row |= {"kind": SEGMENTS, "body_b": found.rod_body[other], "radius_b": found.rod_radius[other],
                    "point_b": found.rod_ends[other, 0], "end_b": found.rod_ends[other, 1]}  # fmt: skip
        rows.append(row)
    before = len(rows)
    bounces = any((numbers[:, 1] > 0).any() for numbers in (found.numbers, found.pair_numbers, found.facing_numbers))
    require_memory(f"contacts of {len(found.facing)} pairs of convex shapes",
                   (PAIR if bounces else FAR_PAIR) * len(found.facing), OF_PAIRS)  # fmt: skip
    rows += rolling_rows(wheels) + number_rows(flat)
    if spans is None:
        spans = spans_of(rows, found.solids, found.facing, before, found.facing_numbers[:, -1])
    surfaces = _surfaces(found.facing_numbers)
    return ContactList(rows, found.terrain, spans, found.shapes, found.facing, surfaces, before), spans


def contact_names(flat: Flat, found: Candidates) -> list[tuple[str, str]]:
    """Return the names of the two that touch, in the order of :func:`lower_contacts`.

    They are frames, or "ground"; of coordinates the joint and "limit", "velocity limit" or "dry friction"; of ball
    joints the joint and "swing limit" or "twist limit"; of ropes their name and "rope".
    """
    frame = [each.frame if isinstance(each, Contact) else "" for each in flat.contacts]
    names = [(frame[k], "ground") for _ in range(found.grounds) for k in found.source]
    for kind, (one, other) in zip(found.pair_kind, found.pair, strict=True):
        source = found.box_source if kind == BALL_BOX else found.rod_source
        names.append((frame[found.rod_source[one]], frame[source[other]]))
    for one, other in found.facing.tolist():
        below = int(found.solid_source[other])
        names += [(frame[found.solid_source[one]], frame[below] if below >= 0 else "ground")] * MOST_FACETS
    names += [(each.frame, "ground") for each in flat.rolling]
    at = {joint.v_slice.start + k: joint.name for joint in flat.joints
          for k in range(joint.v_slice.stop - joint.v_slice.start)}  # fmt: skip
    return names + [(row["of"] if "of" in row else at[row["iv"]], row.get("what", _NAMES[row["kind"]]))
                    for row in number_rows(flat)]  # fmt: skip


#: What the second name of each kind is whose impulse is a number.
_NAMES = {AT_LIMIT: LIMIT, AT_SPEED: VELOCITY_LIMIT, AT_SWING: SWING_LIMIT, AT_TWIST: TWIST_LIMIT, AT_LENGTH: ROPE,
          AT_ANGLE: ANGLE_LIMIT, RUBS: DRY_FRICTION}  # fmt: skip


def number_rows(flat: Flat) -> list[CoreRow]:
    """Return what has a number for an impulse, as the core takes it, behind all other contacts."""
    return limit_rows(flat) + velocity_rows(flat) + unilateral_rows(flat) + friction_rows(flat) + loss_rows(flat)


def _surface(numbers: np.ndarray) -> CoreRow:
    friction, restitution, stiffness, damping, spin, roll, softness = numbers.tolist()
    surface: CoreRow = {"dim": 3 if friction else 1, "friction": friction, "restitution": restitution,
                        "stiffness": stiffness, "damping": damping, "softness": softness}  # fmt: skip
    if spin or roll:
        surface |= {"dim": 3 + bool(spin) + 2 * bool(roll), "spin": spin / friction, "roll": roll / friction}
    return surface


def _surfaces(numbers: np.ndarray) -> np.ndarray:
    """The same of pairs (n, 7), with spin and roll over the friction."""
    result = np.array(numbers, float)
    turning = result[:, 4:6].any(axis=1)
    result[turning, 4:6] /= result[turning, :1]
    return result


def limit_rows(flat: Flat) -> list[CoreRow]:
    """Return the enforced limits of joints."""
    rows = []
    for joint, iq, iv, *bounds in limits_of(flat.joints, flat.constraints) if flat.limits == "enforce" else ():
        if not flat.kinematic[joint.v_slice].any():
            rows += [{"kind": AT_LIMIT, "dim": 1, "iq": iq, "iv": iv, "sign": sign, "bound": bound,
                      "restitution": float(flat.limit_restitution[iv])}
                     for sign, bound in zip((1.0, -1.0), bounds, strict=True) if np.isfinite(bound)]  # fmt: skip
    return rows


def velocity_rows(flat: Flat) -> list[CoreRow]:
    """Return the enforced limits of velocity of coordinates."""
    rows: list[CoreRow] = []
    # a limit of zero in a robot file means that none was given
    unset = any(finding.id == "limit-zero" for finding in flat.report)
    for joint in flat.joints if flat.velocity_limits == "enforce" else ():
        q, v = joint.q_slice, joint.v_slice
        if q.stop - q.start != v.stop - v.start or flat.kinematic[v].any():
            continue
        rows += [{"kind": AT_SPEED, "dim": 1, "iq": q.start + k, "iv": v.start + k, "sign": sign, "bound": bound}
                 for k, bound in enumerate(joint.velocity) if np.isfinite(bound) and not (unset and bound == 0.0)
                 for sign in (1.0, -1.0)]  # fmt: skip
    return rows


def unilateral_rows(flat: Flat) -> list[CoreRow]:
    """Return ropes and limits of ball joints as the core takes them.

    Raises an UnknownNameError if a frame or joint is not known, and a ModelError if a rope moves nothing, or a limit of
    a ball joint is of another kind of joint.
    """
    index = Index(flat) if flat.unilateral else None
    rows: list[CoreRow] = []
    same: Counter[str] = Counter()
    for each in flat.unilateral:
        assert index is not None
        if not isinstance(each, Rope):
            rows += _ball_limits(index, each)
            continue
        same[each.name] += 1
        # of several without a label between the same frames, forces are told apart by the name
        rows.append(_rope(index, each, f" ({same[each.name]})" if same[each.name] > 1 else ""))
    return rows


def _rope(index: Index, rope: Rope, more: str) -> CoreRow:
    eyelets = []
    for each, frame, offset in zip(rope.points, rope.frames, rope.offsets, strict=True):
        body, R, point = index.place(frame)
        radius, way, axis, side = 0.0, _SHORTER, np.zeros(3), np.zeros(3)
        if isinstance(each, Pulley):
            radius, way = each.radius, way_around(each)
            axis = axis if each.axis is None else R @ np.array(each.axis)
            side = side if each.side is None else point + R @ np.array(each.side)
        eyelets.append((body, tuple(point + R @ np.array(offset)), radius, tuple(axis), tuple(side), way))
    if len({body for body, *_ in eyelets}) == 1:
        raise ModelError(f"the {rope.name} has all its points on one body, so that it does nothing")
    for k, each in enumerate(rope.points):
        if isinstance(each, Pulley):
            _require_outside(rope, each, eyelets[k], (eyelets[k - 1], eyelets[k + 1]))
    first = next(body for body, *_ in eyelets if body >= 0)
    return {"kind": AT_LENGTH, "dim": 1, "bound": rope.length, "eyelets": eyelets, "iv": int(index.iv[first]),
            "restitution": rope.restitution, "stiffness": rope.stiffness, "damping": rope.damping,
            "of": rope.name + more}  # fmt: skip


def way_around(pulley: Pulley) -> int:
    """Return which way a rope runs around a pulley, as the core has it."""
    return pulley.turn or (_SHORTER if pulley.side is None else _BY_POINT)


def _require_outside(rope: Rope, pulley: Pulley, at: Eyelet, others: tuple[Eyelet, Eyelet]) -> None:
    """Raise a ModelError if a point beside a pulley, on the same body, is inside of it."""
    for body, point, *_ in others:
        away = np.subtract(point, at[1])
        away -= np.dot(away, at[3]) * np.array(at[3])
        if body == at[0] and np.linalg.norm(away) < (1 - 1e-9) * pulley.radius:
            raise ModelError(f"the {rope.name} has a point inside of the {pulley.name}, {np.linalg.norm(away):.3g} m "
                             f"from its axis; its radius is {pulley.radius:g} m")  # fmt: skip


def _ball_limits(index: Index, limit: BallLimit) -> list[CoreRow]:
    named = {joint.name: joint for joint in index.flat.joints}
    if limit.joint not in named:
        raise UnknownNameError("joint", limit.joint, named)
    joint = named[limit.joint]
    if joint.kind != KINDS[BALL]:
        raise ModelError(f'the {limit.name}: "{limit.joint}" is a {joint.kind} joint; give lower= and upper= of its '
                         "coordinates")  # fmt: skip
    common = {"dim": 1, "iq": joint.q_slice.start, "iv": joint.v_slice.start, "axis_a": limit.axis,
              "restitution": limit.restitution}  # fmt: skip
    rows: list[CoreRow] = []
    if limit.swing is not None and limit.swing < np.pi:
        rows.append({"kind": AT_SWING, "bound": limit.swing, **common})
    if limit.angle is not None and limit.angle < np.pi:
        rows.append({"kind": AT_ANGLE, "bound": limit.angle, **common})
    if limit.twist is not None:
        rows += [{"kind": AT_TWIST, "sign": sign, "bound": bound, **common}
                 for sign, bound in zip((1.0, -1.0), limit.twist, strict=True) if abs(bound) < np.pi]  # fmt: skip
    return rows


def rolling_rows(found: Wheels) -> list[CoreRow]:
    """Return what rolls as the core takes it."""
    return [
        {"kind": ROLLS, "dim": int(found.holds[k].sum()), "holds": found.holds[k].astype(int),
         "body_a": found.body[k], "point_a": found.center[k], "radius_a": found.radius[k], "axis_a": found.axis[k],
         "normal": found.plane[k, :3], "offset": found.plane[k, 3]}
        for k in range(len(found))
    ]  # fmt: skip


def friction_rows(flat: Flat) -> list[CoreRow]:
    """Return the dry friction of joints as the core takes it."""
    starts = Index(flat)
    places = dict(zip(starts.iv.tolist(), starts.iq.tolist(), strict=True))
    return [{"kind": RUBS, "dim": 1, "iq": places[iv], "iv": iv, "friction": flat.dry_friction[iv]}
            for iv in np.flatnonzero((flat.dry_friction > 0) & ~flat.kinematic).tolist()]  # fmt: skip


#: The share of a load by which the friction of a self-locking coupling is above what holds it: else tolerances decide.
LOCKED = 1e-6


def loss_rows(flat: Flat) -> list[CoreRow]:
    """Return the friction in couplings that lose power as the core takes it: on one of the joints of each."""
    index, rows = Index(flat), list[CoreRow]()
    for k, each in enumerate(flat.constraints):
        if not (isinstance(each, Coupling) and loses(each)):
            continue
        # on a joint from which power arrives at the other; if that is prescribed, at the other
        sides = [(*side, *way) for side, way in zip(each.factors.items(), (each.efficiencies, each.efficiencies[::-1]),
                                                    strict=True)]  # fmt: skip
        for name, factor, there, back in sides:
            iq, iv = _coordinate(index, name, each.name)
            if there and factor and not flat.kinematic[iv]:
                rows.append({"kind": RUBS, "dim": 1, "iq": iq, "iv": iv, "mesh": k, "factor": float(factor),
                             "efficiency": there, "returns": back or -LOCKED, "what": LOSS})  # fmt: skip
                break
        else:
            if not all(flat.kinematic[_coordinate(index, name, each.name)[1]] for name in each.factors):
                raise ModelError(f"the {each.name} locks power from a joint that is not prescribed to one that is; "
                                 "give it an efficiency in both directions")  # fmt: skip
    return rows


# ---- what models that differ in numbers alone have in common: it is made once, and shared ------------------


@dataclass(frozen=True)
class Structure:
    """Constraints and contacts as the core takes them.

    Attributes
    ----------
    constraint_list : ConstraintList
    facing : tuple
        As :func:`vitree.model.lower.lower_facing` has it.
    found : dict
        Under "candidates" what may touch, once it was asked for.
    texts : dict
        The content of fields of the arrays, once a digest was asked for.
    """

    constraint_list: ConstraintList
    facing: tuple[np.ndarray, ConstraintList, ConstraintList]
    found: dict[str, Candidates] = field(default_factory=dict)
    texts: dict[str, bytes] = field(default_factory=dict)


def with_surfaces(structure: Structure, found: Candidates, flat: Flat) -> Structure:
    """Return the structure of a mechanism that differs in the friction of its contacts."""
    return Structure(structure.constraint_list, structure.facing, {"candidates": resurfaced(found, flat)})


def structure_of(index: Index, constraints: tuple[object, ...]) -> Structure:
    """Return the structure of a mechanism.

    Raises an UnknownNameError if a constraint is on a frame or joint that is not known, and a ModelError if a
    constraint cannot be what it says.
    """
    return Structure(lower_constraints(index, constraints), lower_facing(index, constraints))
