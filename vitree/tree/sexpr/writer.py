"""From a tree to text."""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from dataclasses import fields
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from vitree.arguments import of_kind
from vitree.errors import ModelError
from vitree.geometry.meshes import TriangleMesh
from vitree.geometry.shapes import Box, Capsule, Cone, ConvexPart, Cylinder, Disk, Ellipsoid, Hull, Shape, Sphere
from vitree.mechanism import constraints
from vitree.mechanism.constraints import Constraint
from vitree.mechanism.contacts import LIMITS as OF_JOINTS
from vitree.mechanism.contacts import Contact, Ground, NoContact, RollingConstraint
from vitree.mechanism.drives import Drive
from vitree.mechanism.loads import Load
from vitree.mechanism.unilateral import BallLimit, Pulley, Rope
from vitree.model.user_inputs import Written
from vitree.spatial.rotations import rotation_about
from vitree.tree.attach import carrier_of, frames_by_name
from vitree.tree.elements import Coordinate, Fixed
from vitree.tree.frames import Frame
from vitree.tree.sexpr.vocabulary import COMPONENTS, LIMITS, PRIMITIVES, SIZES, TRANSFORMS, field_of, slots
from vitree.tree.tree import Tree

#: Levels that are still indented when written.
DEEPEST = 40
#: The numbers of each solid, beside its place.
_SIZES: dict[type[Shape], Callable[..., tuple[object, ...]]] = {
    Box: lambda x: (x.size,), Sphere: lambda x: (x.radius,), Capsule: lambda x: (x.radius, x.length),
    Cylinder: lambda x: (x.radius, x.length, x.rim_points), Disk: lambda x: (x.radius, x.axis),
    Cone: lambda x: (x.radius, x.length), Ellipsoid: lambda x: (x.semi_axes,),
    Hull: lambda x: (np.ravel(x.vertices), x.lost), ConvexPart: lambda x: (np.ravel(x.vertices), x.lost),
    TriangleMesh: lambda x: (np.ravel(x.vertices), np.ravel(x.faces)),
}  # fmt: skip


def _written(value: Any) -> str:
    """A number, text, symbol or list in the notation."""
    if isinstance(value, str):
        if '"' in value:
            raise ModelError(f"the name {value!r} cannot be written as an s-expression: it holds a quotation mark")
        return f'"{value}"'
    if value is None:
        return "own"
    if isinstance(value, tuple | list | np.ndarray):
        return "(" + " ".join(_written(x) for x in value) + ")"
    return repr(float(value)).removesuffix(".0")


def _same(a: ArrayLike, b: ArrayLike) -> bool:
    """Say whether arrays are equal, the signs of zeros included."""
    return np.array(a, dtype=float).tobytes() == np.array(b, dtype=float).tobytes()


def _constant(element: Fixed) -> str:
    """A constant transform: a primitive if one has the same bits, else all its numbers."""
    R, position = element.rotation, np.array(element.position, dtype=float)
    if R is None:
        for head, x in zip(("tx", "ty", "tz"), position, strict=True):
            if _same(PRIMITIVES[head](float(x)).position, position):
                return f"{head} {_written(x)}"
        return f"fixed {_written(position)}"
    R = np.asarray(R, dtype=float)
    if not position.any():
        for axis, head in enumerate(("rx", "ry", "rz")):
            angle = math.atan2(R[axis - 1, axis - 2], R[axis - 2, axis - 2])
            for x in (float(f"{angle:.15g}"), angle):
                if _same(rotation_about(np.eye(3)[axis], x), R):
                    return f"{head} {_written(x)}"
    return f"fixed {_written(position)}" + ("" if _same(R, np.eye(3)) else f" {_written(R.ravel())}")


def _joint(at: Frame, element: Coordinate) -> tuple[str, Frame]:
    """The text of a joint that begins with a coordinate, and the last of its frames."""
    elements = [element]
    while element.joint is not None and not at.bodies and len(at.children) == 1:
        child = at.children[0]
        if not isinstance(child.element, Coordinate) or child.element.joint != element.joint:
            break
        elements.append(child.element)
        at = child
    kinematic = {bool(e.kinematic) for e in elements}
    name = element.joint or element.name
    text = f"(K {_written(name)})" if kinematic == {True} else _written(name)
    if element.joint is not None:
        # a lower pair about the axis of the last coordinate, if that has these coordinates
        kind, axis = str(element.joint_kind), [] if element.joint_kind == "universal" else [elements[-1].axis]
        made = TRANSFORMS[kind][0](name, *axis) if kind in TRANSFORMS else []
        one, other = (np.array([e.twist for e in each], float) for each in (made, elements))
        names = [e.name for e in made] == [e.name for e in elements]
        if not names or len(kinematic) > 1 or not np.allclose(one, other, rtol=0, atol=1e-12):
            raise ModelError(
                f'the joint "{name}" ({kind}) cannot be written as an s-expression: its coordinates are not those of '
                f"a {kind} pair"
            )
        text = " ".join([kind, text, *map(_written, axis)])
    elif element.twist is None:
        text = f"{element.kind} {text}"
    else:
        plain = [head for head, make in PRIMITIVES.items() if _same(make("x").twist, element.twist)]
        twist = f"twist {text} {_written(element.twist[:3])} {_written(element.twist[3:])}"
        text = f"{plain[0]} {text}" if plain else twist
    for option, default in LIMITS.items():
        values = np.concatenate([np.broadcast_to(getattr(e, field_of(option)), SIZES.get(e.kind, 1)) for e in elements])
        if (values != default).any():
            text += f" ({option} {' '.join(map(_written, values[:1] if (values == values[0]).all() else values))})"
    if element.mimic is not None:
        text += f" (mimic {' '.join(map(_written, element.mimic))})"
    return text, at


def _component(item: Constraint | Load | Drive | Written) -> str:
    """The text of a constraint or load."""
    label = getattr(item, "label", None)
    if label is not None and not isinstance(item, (constraints.PointConstraint, constraints.Distance)):
        raise ModelError(f'the label "{label}" cannot be written as an s-expression: leave it out')
    if isinstance(item, constraints.Coupling):
        parts = [x for pair in item.factors.items() for x in pair]
        both = item.efficiency if isinstance(item.efficiency, tuple) else (item.efficiency,)
        own = [item.value, *(both if min(both) < 1 else ())]
        return f"(coupling {' '.join(map(_written, [*parts, *own]))})"
    heads = {make: head for head, (make, _) in COMPONENTS.items() if isinstance(make, type)}
    if isinstance(item, Written) or type(item) not in heads:
        why = "it is written in Python" if isinstance(item, Written) else "its kind is not known"
        raise ModelError(f"the {getattr(item, 'name', repr(item))} cannot be written as an s-expression: {why}")
    head = heads[type(item)]
    words = [head]
    for field, slot in zip(fields(type(item)), slots(COMPONENTS[head][1]), strict=False):
        value = getattr(item, field.name)
        if value is None and slot.optional and "own" not in slot.shown:
            break
        if isinstance(value, bool):
            words += [field.name] if value else []
        elif isinstance(value, str) and f"'{value}" in " ".join(slot.words).replace("|", " ").split():
            words.append(value)
        else:
            words.append(_written(value))
    return f"({' '.join(words)})"


def _touching(item: Ground | Contact | NoContact) -> str:
    """The text of a ground, a contact or a pair that does not touch."""
    if isinstance(item, NoContact):
        return f"(no-contact {_written(item.a)} {_written(item.b)}{'' if item.bodies else ' frames'})"
    friction, *turning = item.friction if isinstance(item.friction, tuple) else (item.friction,)
    numbers = " ".join(_written(x) for x in (friction, item.restitution, item.stiffness, item.damping))
    kinds = zip(("torsional", "rolling"), turning, strict=bool(turning))
    turned = [f"({kind}-friction {_written(x)})" for kind, x in kinds if x]
    turned += [f"(softness {_written(item.softness)})"] * bool(item.softness)
    if isinstance(item, Ground):
        planes = tuple(x for normal, height in item.planes for x in (*normal, height))
        words = ["ground", numbers, _written(item.height), _written(item.normal)]
        words += [*[_written(planes)] * bool(planes), *turned]
        if (field := item.terrain) is not None:
            parts = (*field.shape, field.heights.ravel(), field.spacing, field.origin)
            words.append(f"(terrain {' '.join(map(_written, parts))})")
        return f"({' '.join(words)})"
    words = ["contact", _written(item.frame), numbers]
    if item.points is not None:
        words += [_written(item.radius), _written(np.ravel(item.points))]
    words += turned
    for shape in item.shapes:
        own = (*_SIZES[type(shape)](shape), shape.position, np.ravel(shape.rotation))
        head = re.sub("(?<=[a-z])(?=[A-Z])", "-", type(shape).__name__).lower()
        words.append(f"({head} {' '.join(map(_written, own))})")
    return f"({' '.join(words)})"


def _rolling(item: RollingConstraint) -> str:
    """The text of what rolls."""
    held = [float(bool(x)) for x in (item.along, item.across, item.normal)]
    words: list[object] = [item.frame, item.radius, item.axis or (0.0, 0.0, 0.0), item.center, *held]
    if item.plane is not None:
        words.append((*item.plane[0], item.plane[1]))
    return f"(rolling {' '.join(map(_written, words))})"


def _unilateral(item: Rope | BallLimit) -> str:
    """The text of a rope, or of limits of a ball joint."""
    if isinstance(item, Rope):
        words: list[object] = [item.frames, tuple(np.ravel(item.offsets)), item.length, item.restitution,
                               item.stiffness, item.damping, *[item.label] * (item.label is not None)]  # fmt: skip
        text = " ".join(map(_written, words))
        for k, each in enumerate(item.points):
            if isinstance(each, Pulley):
                parts = [k, each.radius, each.axis or (0.0, 0.0, 0.0), each.turn or 0, *[each.side] * bool(each.side)]
                text += f" (pulley {' '.join(map(_written, parts))})"
        return f"(rope {text})"
    swing, twist = math.inf if item.swing is None else item.swing, item.twist or (-math.inf, math.inf)
    angle = math.inf if item.angle is None else item.angle
    words = [item.joint, swing, twist, item.axis, angle, item.restitution]
    return f"(ball-limit {' '.join(map(_written, words))})"


def _require_whole(tree: Tree) -> None:
    """Raise a ModelError if contacts are of parts of the world, one of which stands still: a text has one part."""
    named = frames_by_name(tree) if tree.parts else {}
    places = [named.get(each.frame, tree.world) for each in tree.contacts if isinstance(each, Contact)]
    if len({at.part for at in places}) > 1 and any(carrier_of(at) is None for at in places):
        raise ModelError(f'"{tree.name}" has parts that were attached to the world, which an s-expression does not '
                         "tell apart; write each of them by itself")  # fmt: skip


def write_sexpr(tree: Tree) -> str:
    """Return the s-expression of a ``tree``; reading it gives the same flat arrays to the last digit.

    Notes are not kept, nor shapes that are for viewers only. A joint of several coordinates may differ in its last
    digits where its axis is not along x, y or z.

    Raises
    ------
    ModelError
        If the notation has no words for a part of the tree: a load or constraint written in Python, a name with a
        quotation mark, parts attached to the world whose shapes touch what stands still.
    InputError
        If it is no Tree.
    """
    of_kind(tree, Tree, "tree", "a Tree")
    _require_whole(tree)
    lines = [f"(mechanical-system (name {_written(tree.name)}) (gravity {' '.join(map(_written, tree.gravity))})"]

    # frames still to be written, and None where a frame that is done closes its parenthesis
    stack: list[tuple[Frame | None, int]] = [(child, 1) for child in reversed(tree.world.children)]
    while stack:
        at, depth = stack.pop()
        if at is None:
            lines[-1] += ")"
            continue
        if isinstance(at.element, Coordinate):
            text, at = _joint(at, at.element)
        else:
            text = _constant(at.element) + ("" if at.element.name is None else f" (name {_written(at.element.name)})")
        for own in (each for each in at.bodies if not each.scenery):
            inertia = np.zeros((3, 3)) if own.inertia is None else np.asarray(own.inertia)
            parts = own.name, own.mass, own.com, inertia[np.triu_indices(3)]
            text += f" (body {' '.join(map(_written, parts))})"
        lines.append(f"{'  ' * min(depth, DEEPEST)}({text}")
        stack += [(None, depth), *((child, depth + 1) for child in reversed(at.children))]
    lines += [f"  {_component(item)}" for item in (*tree.constraints, *tree.loads)]
    lines += [f"  {_touching(item)}" for item in (tree.ground, *tree.contacts) if item is not None]
    lines += [f"  {_rolling(item)}" for item in tree.rolling]
    lines += [f"  {_unilateral(item)}" for item in tree.unilateral]
    lines += [f"  (start {_written(joint)} {_written(np.atleast_1d(x))})" for joint, x in tree.start.items()]
    if tree.limits != OF_JOINTS[0]:
        lines.append(f"  (limits {tree.limits})")
    if tree.velocity_limits != OF_JOINTS[0]:
        lines.append(f"  (velocity-limits {tree.velocity_limits})")
    return "\n".join(lines) + ")\n"
