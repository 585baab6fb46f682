"""Unilateral constraints beside contacts and limits of joints: ropes, and limits of ball joints."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from vitree.arguments import explain_calls, real, several, shown
from vitree.errors import ModelError
from vitree.geometry.numbers import within
from vitree.spatial.checks import finite, triple, unit_triple

#: The second names of what acts on coordinates, or along ropes, in records of contacts.
LIMIT, DRY_FRICTION = "limit", "dry friction"
VELOCITY_LIMIT, SWING_LIMIT, TWIST_LIMIT, ROPE = "velocity limit", "swing limit", "twist limit", "rope"
ANGLE_LIMIT, LOSS = "angle limit", "coupling loss"
#: What acts by a number, on a coordinate or along a rope, and not at a frame.
OF_JOINTS = (LIMIT, DRY_FRICTION, LOSS, VELOCITY_LIMIT, SWING_LIMIT, TWIST_LIMIT, ANGLE_LIMIT, ROPE)
#: A point of a rope: a frame, and where in its axes [m].
Eyelet = tuple[str, tuple[float, float, float]]


@explain_calls
@dataclass(frozen=True)
class Pulley:
    """A cylinder or a sphere around which a :class:`Rope` wraps on its way from a point to the next.

    The path is the shortest one on a side of it: straight, an arc or a helix, straight; and straight alone where it is
    free on that side. The rope slides along it without friction, and does not turn it. It has no ends along its axis.

    Parameters
    ----------
    frame : str
        That carries it; "world" is the world.
    radius : float [m]
        Positive.
    axis : (3,) array, or None [-]
        Of the cylinder in the frame's axes; normalised. None: a sphere.
    position : (3,) array [m]
        Of its middle in the frame's axes.
    turn : {1, -1}, optional
        The sense in which the rope runs around the axis, from its first point to its last: 1 with the right hand's
        fingers where the thumb is along the axis. It winds by less than a full turn: where that is exceeded, the path
        is another one, and the gap jumps.
    side : (3,) array, optional [m]
        In place of ``turn``: a point in the frame's axes, outside, on whose side the rope passes, as a ``sidesite`` of
        MuJoCo: the path does not cross the ray from the middle that points away from it. Without both the rope takes
        the shorter way.

    Raises
    ------
    ModelError
        If the frame is no text, a number is out of its range, ``side`` is inside, or ``turn`` is given beside it, or of
        a sphere.
    """

    frame: str
    radius: float
    axis: ArrayLike | None = (0.0, 0.0, 1.0)
    position: ArrayLike = (0.0, 0.0, 0.0)
    turn: int | None = None
    side: ArrayLike | None = None

    def __post_init__(self) -> None:
        if not isinstance(self.frame, str):
            raise ModelError(f"the frame of a Pulley is {shown(self.frame)}; it must be a name")
        if not 0 < real(self.radius) < math.inf:
            raise ModelError(f"the radius of the {self.name} is {shown(self.radius)}; it must be positive [m]")
        object.__setattr__(self, "radius", real(self.radius))
        if self.axis is not None:
            object.__setattr__(self, "axis", tuple(unit_triple(self.axis, f"axis of the {self.name}")))
        object.__setattr__(self, "position", tuple(triple(self.position, f"position of the {self.name}")))
        if self.turn is not None:
            if self.side is not None or self.axis is None:
                raise ModelError(f"the {self.name} has turn= beside side=, or without axis=; give one of turn and "
                                 "side, and of a sphere side alone")  # fmt: skip
            if real(self.turn) not in (1, -1):
                raise ModelError(f"the turn of the {self.name} is {shown(self.turn)}; it must be 1 or -1")
            object.__setattr__(self, "turn", int(real(self.turn)))
        if self.side is not None:
            object.__setattr__(self, "side", tuple(triple(self.side, f"side of the {self.name}")))
            if self.off_axis(self.side) < self.radius:
                raise ModelError(f"the side of the {self.name} is inside of it; give a point outside")

    @property
    def name(self) -> str:
        """The pulley as messages call it."""
        return f'pulley on "{self.frame}"'

    def off_axis(self, point: ArrayLike) -> float:
        """Distance of a ``point`` (3,) [m] of its frame from its axis, or from the center of a sphere [m].

        Raises
        ------
        ModelError
            If the point is not three finite numbers.
        """
        away = np.subtract(triple(point, f"point beside the {self.name}"), self.position)
        if self.axis is not None:
            away = away - np.dot(away, self.axis) * np.asarray(self.axis)
        return math.hypot(*away.tolist())


@explain_calls
@dataclass(frozen=True)
class Rope:
    """An inextensible massless rope through points of bodies: it pulls, and does not push.

    The length of the path, from each point to the next, is at most ``length`` at each node. The rope slides through its
    inner points, and around pulleys, without friction, so that the tension is the same all along. A rope that becomes
    taut acts as an impact, as closing contacts do.

    Parameters
    ----------
    points : sequence of str, (str, (3,) array), or Pulley
        At least two: names of frames, or pairs of a frame and a point in its axes [m]. "world" is the world. Both ends
        are tied, and the rope runs through the others in turn. A :class:`Pulley` stands between two points.
    length : float [m]
        Positive.
    restitution : float [-]
        Share of the speed of stretching with which the ends approach each other after the rope has become taut, from 0
        to 1.
    stiffness : float [N/m]
        Of the whole rope, as a spring that pulls where it is longer than ``length``; infinite for an inextensible one.
    damping : float [N s/m]
        Of a damper beside that spring.
    label : str, optional
        What messages and records call it.

    Notes
    -----
    Records of contacts (``Trajectory.contacts``) have a row for each step in which it pulls: ``a`` is its name, ``b``
    "rope"; the first entry of ``force`` is the tension [N], and ``gap`` the slack [m].

    Raises
    ------
    ModelError
        If there are fewer than two points, a pulley is not between two, a name is no text, or a number is out of its
        range.
    InputError
        If the points are no sequence.

    References
    ----------
    Todorov et al., the wrapping of MuJoCo (``engine_util_misc.c``), for pulleys with ``side`` or without both.
    """

    points: tuple[tuple[str, tuple[float, float, float]] | Pulley, ...]
    length: float
    restitution: float = 0.0
    stiffness: float = math.inf
    damping: float = 0.0
    label: str | None = None

    def __post_init__(self) -> None:
        given = several(self.points, "points of a rope", 'names of frames, or pairs such as ("hook", (0, 0, 0.1))')
        object.__setattr__(self, "points", tuple(map(_eyelet, given)))
        if len(self.points) < 2:
            raise ModelError(f"a rope has {len(self.points)} points; give two at least, which it ties")
        pulleys = [False, *(isinstance(each, Pulley) for each in self.points), False]
        for k, each in enumerate(self.points):
            if isinstance(each, Pulley) and (k in (0, len(self.points) - 1) or pulleys[k] or pulleys[k + 2]):
                raise ModelError(f"the {each.name} of a rope is not between two points; tie the ends to points, and "
                                 "give one between two pulleys, such as where the rope is straight")  # fmt: skip
        if not 0 < real(self.length) < math.inf:
            raise ModelError(f"the length of the {self.name} is {shown(self.length)}; it must be positive [m]")
        object.__setattr__(self, "length", real(self.length))
        for field, most in (("restitution", 1.0), ("damping", math.inf)):
            object.__setattr__(self, field, within(getattr(self, field), f"{field} of the {self.name}", 0.0, most))
        stiffness = within(self.stiffness, f"stiffness of the {self.name}", 0.0, math.inf, unbounded=True)
        if not stiffness:
            raise ModelError(f"the stiffness of the {self.name} is zero: it does nothing; omit it for a rigid one")
        object.__setattr__(self, "stiffness", stiffness)
        if self.damping and stiffness == math.inf:
            raise ModelError(f"the {self.name} has damping and no stiffness; give both or none")

    @property
    def name(self) -> str:
        """The rope as messages call it: its label, or its ends."""
        return self.label if self.label is not None else f'rope "{self.frames[0]}" - "{self.frames[-1]}"'

    @property
    def frames(self) -> tuple[str, ...]:
        """Of each point, the name of its frame."""
        return tuple(each.frame if isinstance(each, Pulley) else each[0] for each in self.points)

    @property
    def offsets(self) -> tuple[tuple[float, float, float], ...]:
        """Of each point, where it is in the axes of its frame [m], of pulleys their middle."""
        return tuple(each.position if isinstance(each, Pulley) else each[1]  # type: ignore[misc]
                     for each in self.points)  # fmt: skip


def _eyelet(given: object) -> Eyelet | Pulley:
    if isinstance(given, Pulley):
        return given
    if isinstance(given, str):
        return given, (0.0, 0.0, 0.0)
    if not (isinstance(given, Sequence) and len(given) == 2 and isinstance(given[0], str)):
        raise ModelError(f'a point of a rope is {shown(given)}; give a frame, a pair such as ("hook", (0, 0, 0.1)), or '
                         "a Pulley")  # fmt: skip
    return given[0], tuple(triple(given[1], f'point of a rope in "{given[0]}"'))  # type: ignore[return-value]


@explain_calls
@dataclass(frozen=True)
class BallLimit:
    """Limits of a ball joint: how far an axis may swing, how far the joint may turn about it, and how far in all.

    The rotation R of the joint is, in this order, a twist about ``axis`` and the least rotation that takes the axis to
    R axis, the swing. All limits hold at each node.

    Parameters
    ----------
    joint : str
        Name of a ball joint.
    swing : float [rad], optional
        Largest angle between the axis and R axis: half the angle of a cone. From 0 to pi.
    twist : (lower, upper), optional [rad]
        Of the angle of the twist, which lies between -pi and pi. It is not defined where the swing is pi.
    axis : (3,) array
        A direction in the joint's frame; normalised.
    angle : float, optional [rad]
        Largest angle of the rotation R about any axis, from 0 to pi, as MuJoCo limits ball joints.
    restitution : float [-]
        Share of the angular velocity with which the joint rebounds from a limit, from 0 to 1.

    Notes
    -----
    Records of contacts name the joint, and "swing limit", "twist limit" or "angle limit"; the first entry of ``force``
    is the torque [N m], of the twist about the axis, with its sign.

    Raises
    ------
    ModelError
        If a number is out of its range, the limits are inverted, or there are none.
    InputError
        If the twist is no pair.

    References
    ----------
    Dobrowolski 2015, "Swing-twist decomposition in Clifford algebra", arXiv:1506.05481.
    """

    joint: str
    swing: float | None = None
    twist: tuple[float, float] | None = None
    axis: ArrayLike = (0.0, 0.0, 1.0)
    angle: float | None = None
    restitution: float = 0.0

    def __post_init__(self) -> None:
        if not isinstance(self.joint, str) or not self.joint:
            raise ModelError(f"the joint of a BallLimit is {shown(self.joint)}; it must be a name")
        if self.swing is None and self.twist is None and self.angle is None:
            raise ModelError(f"the {self.name} limits nothing; give swing=, twist=(lower, upper) or angle=")
        for what in ("swing", "angle"):
            if getattr(self, what) is not None:
                most = finite(getattr(self, what), f"{what} of the {self.name}")
                if not 0.0 < most <= math.pi:
                    text = f"the {what} of the {self.name} is {most:g}; it must be above 0, and at most pi [rad]"
                    raise ModelError(text)
                object.__setattr__(self, what, most)
        if self.twist is not None:
            given = several(self.twist, f"twist of the {self.name}", "a pair (lower, upper) [rad]")
            if len(given) != 2:
                raise ModelError(f"the twist of the {self.name} has {len(given)} numbers; give (lower, upper)")
            low, high = (within(x, f"twist of the {self.name}", -math.pi, math.pi) for x in given)
            if low > high:
                raise ModelError(f"the twist of the {self.name} is inverted: {low:g} > {high:g}; swap them")
            object.__setattr__(self, "twist", (low, high))
        object.__setattr__(self, "axis", tuple(unit_triple(self.axis, f"axis of the {self.name}")))
        object.__setattr__(self, "restitution", within(self.restitution, f"restitution of the {self.name}", 0.0, 1.0))

    @property
    def name(self) -> str:
        """The limits as messages call them."""
        return f'limit of ball joint "{self.joint}"'


Unilateral = Rope | BallLimit
