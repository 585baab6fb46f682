"""Lower pairs as compositions of primitives (Johnson & Murphey 2009, section III-A)."""

from __future__ import annotations

from typing import Unpack

from numpy.typing import ArrayLike

from vitree.spatial.checks import direction
from vitree.spatial.rotations import turn_z_to
from vitree.tree.elements import (
    Coordinate,
    Element,
    Fixed,
    Limits,
    ball,
    not_kinematic,
    part_of,
    rx,
    ry,
    rz,
    screw,
    tx,
    ty,
    tz,
)

__all__ = ["cylindrical", "euler", "helical", "planar", "prismatic", "revolute", "spherical", "universal"]


def revolute(name: str, axis: ArrayLike = (0.0, 0.0, 1.0), **limits: Unpack[Limits]) -> Coordinate:
    """A hinge about an axis through the frame's origin [rad]; see :func:`vitree.screw`."""
    return screw(name, axis, **limits)


def prismatic(name: str, axis: ArrayLike = (1.0, 0.0, 0.0), **limits: Unpack[Limits]) -> Coordinate:
    """A slide along an axis [m]; see :func:`vitree.screw`."""
    return screw(name, twist=((0.0, 0.0, 0.0), direction(axis, f'axis of "{name}"')), **limits)


def helical(name: str, axis: ArrayLike = (0.0, 0.0, 1.0), pitch: float = 1.0, **limits: Unpack[Limits]) -> Coordinate:
    """A screw: turns by q [rad] while it advances by pitch q; see :func:`vitree.screw`."""
    return screw(name, axis, pitch=pitch, **limits)


def spherical(name: str, **limits: Unpack[Limits]) -> Coordinate:
    """A ball joint under its name as a lower pair; see :func:`vitree.ball`."""
    return ball(name, **limits)


def cylindrical(name: str, axis: ArrayLike = (0.0, 0.0, 1.0), **limits: Unpack[Limits]) -> list[Element]:
    """Slides along and turns about one axis: coordinates ``name_d`` [m] and ``name_theta`` [rad].

    Arguments are as for :func:`vitree.screw`, but such a joint cannot be prescribed; both coordinates have the same
    limits.
    """
    not_kinematic(name, limits)
    return _joint(
        name, "cylindrical", prismatic(f"{name}_d", axis, **limits), revolute(f"{name}_theta", axis, **limits)
    )


def universal(name: str, **limits: Unpack[Limits]) -> list[Element]:
    """Turns about x, then about y: ``name_x``, ``name_y`` [rad].

    Arguments are as for :func:`vitree.screw`, but such a joint cannot be prescribed; both coordinates have the same
    limits.
    """
    not_kinematic(name, limits)
    return _joint(name, "universal", rx(f"{name}_x", **limits), ry(f"{name}_y", **limits))


def planar(name: str, normal: ArrayLike = (0.0, 0.0, 1.0), **limits: Unpack[Limits]) -> list[Element]:
    """Moves in the plane of a normal: ``name_x``, ``name_y`` [m], ``name_theta`` [rad].

    The axes x and y are those of the frame, after the shortest rotation that takes z to ``normal`` (3,). Other
    arguments are as for :func:`vitree.screw`, but such a joint cannot be prescribed; all coordinates have the same
    limits.
    """
    not_kinematic(name, limits)
    x, y, z = turn_z_to(direction(normal, f'normal of "{name}"')).T
    return _joint(
        name,
        "planar",
        prismatic(f"{name}_x", x, **limits),
        prismatic(f"{name}_y", y, **limits),
        revolute(f"{name}_theta", z, **limits),
    )


def euler(name: str, **limits: Unpack[Limits]) -> list[Element]:
    """Moves freely by six joints, tx ty tz rz ry rx: ``name_tx`` ... ``name_rx``.

    Singular where the pitch (``name_ry``) is +-90 degrees; :func:`vitree.free` is not.
    """
    parts = ((tx, "tx"), (ty, "ty"), (tz, "tz"), (rz, "rz"), (ry, "ry"), (rx, "rx"))
    return [make(f"{name}_{suffix}", **limits) for make, suffix in parts]


def _joint(name: str, kind: str, *elements: Coordinate | Fixed) -> list[Element]:
    return [part_of(each, name, kind) for each in elements if isinstance(each, Coordinate)]
