"""From a tree of frames to flat arrays. Constant transforms are merged, and so are bodies fixed together."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from vitree.arguments import as_numbers
from vitree.errors import ModelError
from vitree.mechanism.contacts import Contact
from vitree.mechanism.flat import (
    HELICAL,
    KIND_NQ,
    KIND_NV,
    KINDS,
    PRISMATIC,
    REVOLUTE,
    Flat,
    JointInfo,
    Row,
    columns_of,
)
from vitree.spatial.inertia import Part, merge
from vitree.spatial.rotations import turn_z_to
from vitree.tree.elements import Body, Coordinate
from vitree.tree.frames import Frame

#: Least friction_velocity [m/s or rad/s]: with less, friction is a jump, and no step can be solved.
SLOWEST = 1e-9


@dataclass
class _Place:
    """The place of a frame: the moving body that it belongs to (-1: world), and its pose in that core frame."""

    body: int
    R: np.ndarray
    p: np.ndarray
    number: int = -1  # of its transform, in the order of the walk
    part: int = 0  # of the world


def _core_frame(element: Coordinate) -> tuple[int, float, np.ndarray, np.ndarray]:
    """Kind, pitch, and the core frame's rotation and origin in the frame before the joint."""
    if element.twist is None:
        return KINDS.index(element.kind), 0.0, np.eye(3), np.zeros(3)
    w, v = element.twist[:3], element.twist[3:]
    if not any(w):
        return PRISMATIC, 0.0, turn_z_to(v), np.zeros(3)
    if not any(v):
        return REVOLUTE, 0.0, turn_z_to(w), np.zeros(3)
    pitch, origin = float(np.dot(w, v)), np.cross(w, v)
    pitch = 0.0 if abs(pitch) < 1e-15 else pitch
    return (HELICAL if pitch else REVOLUTE), pitch, turn_z_to(w), origin


def flatten(name: str, gravity: np.ndarray, world: Frame, **more: Any) -> Flat:
    """Return the flat arrays of frames.

    Raises a ModelError if nothing moves.

    Parameters
    ----------
    name : str
        Of the mechanism.
    gravity : (3,) array [m/s^2]
    world : Frame
        The root of all frames.
    **more
        Other fields of :class:`vitree.mechanism.flat.Flat`: constraints, loads, contacts, ground, rolling, limits,
        report.
    """
    rows: list[Row] = []
    attached: list[list[Part]] = []
    coordinates: list[tuple[Coordinate, Frame]] = []
    places: dict[int, _Place] = {}
    frames: dict[str, _Place] = {}
    joint_frames: dict[str, _Place] = {}
    links: list[tuple[str, str | None, Body, _Place]] = []
    geometry = []
    above: list[int] = []
    body_at: list[int] = []
    for number, (_, at) in enumerate(world.walk()):  # small products by dot(), which takes half the time of @
        before = places[id(at.parent)] if at.parent is not None else _Place(-1, np.eye(3), np.zeros(3))
        above.append(before.number)
        element = at.element
        if isinstance(element, Coordinate):
            kind, pitch, F, origin = _core_frame(element)
            nv = int(KIND_NV[kind])
            damping = _spread(element.damping, nv, element, "damping", low=0.0)
            friction, slow = _friction(element, nv)
            armature = _one_each(element, nv, "armature", "put the rotor on joints of one coordinate")
            E, p = before.R.dot(F), before.p + before.R.dot(origin)
            kinematic = (bool(element.kinematic),) * nv
            dry = _one_each(element, nv, "dry_friction", "give damping=")
            bounce = _bounce(element, nv)
            rows.append(Row(kind, before.body, E, p, pitch, damping, friction, slow, armature, dry, bounce, kinematic))
            attached.append([])
            body_at.append(number)
            coordinates.append((element, at))
            here = _Place(len(rows) - 1, F.T, (-F.T).dot(origin), number, at.part)
            joint_frames[element.name] = here
            if element.joint is not None:
                joint_frames[element.joint] = here
        else:
            R = before.R if element.rotation is None else before.R.dot(element.rotation)
            here = _Place(before.body, R, before.p + before.R.dot(element.position), number, at.part)
            if element.name is not None:
                frames[element.name] = here
        places[id(at)] = here
        for body in at.bodies:
            if body.scenery:
                frames[body.name] = here
            else:
                links.append((body.name, _link_above(at.parent), body, here))
            geometry += [x if x.frame == body.name else replace(x, frame=body.name) for x in body.geometry]
            if here.body >= 0:
                attached[here.body].append(Part(body.mass, body.com, _inertia(body), here.R, here.p))
    if not rows:
        raise ModelError(f'nothing in "{name}" moves; add a joint, such as vt.rz("hinge"), or let it float: '
                         'vt.free("base") in a tree, base="free" of load_urdf, <freejoint/> in MJCF')  # fmt: skip
    for row, merged in zip(rows, merge(attached), strict=True):
        row.mass, row.com, row.inertia = merged
    named = {name: place for name, _, _, place in links}
    for others in (joint_frames, frames):
        named |= {name: place for name, place in others.items() if name not in named}
    touching = dict.fromkeys(each.frame for each in more.get("contacts", ()) if isinstance(each, Contact))
    parts = ((frame, named[frame].part) for frame in touching if frame in named)
    return Flat(
        name=name,
        gravity=gravity.copy(),
        **columns_of(rows),
        frame_names=tuple(named),
        frame_body=np.array([place.body for place in named.values()], np.int32),
        frame_E=np.array([place.R for place in named.values()]).reshape(-1, 3, 3),
        frame_p=np.array([place.p for place in named.values()]).reshape(-1, 3),
        link_names=tuple(name for name, *_ in links),
        link_parent=tuple(above for _, above, *_ in links),
        link_mass=tuple(body.mass for _, _, body, _ in links),
        link_com=tuple(tuple(map(float, body.com)) for _, _, body, _ in links),
        link_inertia=tuple(_inertia(body) for _, _, body, _ in links),
        above=tuple(above),
        frame_at=tuple(place.number for place in named.values()),
        body_at=tuple(body_at),
        joints=_joints(coordinates, [row.kind for row in rows]),
        geometry=tuple(geometry),
        parts=tuple((frame, part) for frame, part in parts if part),
        **more,
    )


def _inertia(body: Body) -> np.ndarray:
    return np.zeros((3, 3)) if body.inertia is None else body.inertia


def _link_above(at: Frame | None) -> str | None:
    while at is not None:
        if at.bodies:
            return at.bodies[-1].name
        at = at.parent
    return None


def _link_below(at: Frame) -> str | None:
    """Name of the first link fixed to a frame."""
    stack = [at]
    while stack:
        here = stack.pop()
        if here.bodies:
            return here.bodies[0].name
        stack += [child for child in reversed(here.children) if not isinstance(child.element, Coordinate)]
    return None


def _spread(value: object, count: int, element: Coordinate, what: str, low: float = -np.inf) -> tuple[float, ...]:
    """A value for each coordinate of a joint: one number for all, or one each; finite where ``low`` is zero."""
    if count == 1 and type(value) is float and (0 <= value < np.inf or (low < 0 and value == value)):
        return (value,)
    least = f", finite and not below {low:g}" if np.isfinite(low) else ""
    try:
        numbers = as_numbers(value)
        given = tuple((np.full(count, numbers) if numbers.ndim == 0 else np.ravel(numbers)).tolist())
    except TypeError:
        given = ()
    if len(given) != count or any(x != x or x < low or (least and x == np.inf) for x in given):
        raise ModelError(f'the {what} of "{element.name}" is {value!r}; it must be {count} number(s){least}')
    return given


def _one_each(element: Coordinate, count: int, what: str, remedy: str) -> tuple[float, ...]:
    """A value for each coordinate of a joint, zero or more, and zero of a joint that has several."""
    values = _spread(getattr(element, what), count, element, what, low=0.0)
    if count > 1 and any(values):
        raise ModelError(
            f'"{element.name}" has {what.replace("_", " ")}, but only joints of one coordinate can; {remedy}, or make '
            f"it of tx, ty, tz, rz, ry, rx"
        )
    return values


def _bounce(element: Coordinate, count: int) -> tuple[float, ...]:
    """Restitution of the limits of each coordinate of a joint."""
    values = _one_each(element, count, "limit_restitution", "leave it out")
    if any(values) and max(values) > 1:
        given = repr(element.limit_restitution)
        raise ModelError(f'the limit_restitution of "{element.name}" is {given}; it must be from 0 to 1')
    if any(values) and np.isinf(as_numbers(element.lower)).all() and np.isinf(as_numbers(element.upper)).all():
        raise ModelError(f'"{element.name}" has limit_restitution and no limits; give lower= or upper=, too')
    return values


def _friction(element: Coordinate, count: int) -> tuple[tuple[float, ...], tuple[float, ...]]:
    """Friction of each coordinate of a joint, and the velocity below which it is linear."""
    friction = _one_each(element, count, "friction", "give damping=")
    velocity = _spread(element.friction_velocity, count, element, "friction_velocity")
    if any(not SLOWEST <= e < np.inf for e in velocity):
        raise ModelError(
            f'the friction_velocity of "{element.name}" is {element.friction_velocity!r}; it must be a speed of at '
            f"least {SLOWEST:g} [m/s or rad/s], such as 0.01"
        )
    return friction, velocity


def _joints(coordinates: Sequence[tuple[Coordinate, Frame]], kind: Sequence[int]) -> tuple[JointInfo, ...]:
    """One entry for each named joint; coordinates of one joint follow each other."""
    joints: list[JointInfo] = []
    q = v = 0
    for (element, at), code in zip(coordinates, kind, strict=True):
        nq, nv = int(KIND_NQ[code]), int(KIND_NV[code])
        limits = {
            what: _spread(getattr(element, what), nv, element, what)
            for what in ("lower", "upper", "velocity", "effort")
        }
        if nq != nv and (np.isfinite(limits["lower"]).any() or np.isfinite(limits["upper"]).any()):
            raise ModelError(
                f'"{element.name}" is a {KINDS[code]} joint, whose coordinates have no lower= and upper=; leave them '
                "out, or make it of tx, ty, tz, rz, ry, rx"
            )
        if any(x < 0 for x in limits["velocity"]):
            raise ModelError(f'the velocity of "{element.name}" is {element.velocity!r}; a limit is zero or more')
        if any(low > high for low, high in zip(limits["lower"], limits["upper"], strict=True)):
            lower, upper = limits["lower"], limits["upper"]
            raise ModelError(f'the limits of "{element.name}" are inverted: {lower} > {upper}; swap them')
        if element.joint is not None and joints and joints[-1].name == element.joint:
            last = joints[-1]
            joints[-1] = replace(
                last,
                child=_link_below(at) or element.joint,
                q_slice=slice(last.q_slice.start, q + nq),
                v_slice=slice(last.v_slice.start, v + nv),
                axis=None,
                **{what: getattr(last, what) + limits[what] for what in limits},
            )
        else:
            joints.append(
                JointInfo(
                    name=element.joint or element.name,
                    kind=element.joint_kind or KINDS[code],
                    parent=_link_above(at.parent) or "world",
                    child=_link_below(at) or element.joint or element.name,
                    q_slice=slice(q, q + nq),
                    v_slice=slice(v, v + nv),
                    axis=element.axis,
                    mimic=element.mimic,
                    **limits,
                )
            )
        q, v = q + nq, v + nv
    return tuple(joints)
