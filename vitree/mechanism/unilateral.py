"""Unilateral constraints beside contacts and limits of joints: ropes, and limits of ball joints."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from numpy.typing import ArrayLike

from vitree.arguments import explain_calls, real, several, shown
from vitree.errors import ModelError
from vitree.geometry.numbers import within
from vitree.spatial.checks import finite, triple, unit_triple

#: The second names of what acts on coordinates, or along ropes, in records of contacts.
LIMIT, DRY_FRICTION = "limit", "dry friction"
VELOCITY_LIMIT, SWING_LIMIT, TWIST_LIMIT, ROPE = "velocity limit", "swing limit", "twist limit", "rope"
ANGLE_LIMIT = "angle limit"
#: A point of a rope: a frame, and where in its axes [m].
Eyelet = tuple[str, tuple[float, float, float]]


@explain_calls
@dataclass(frozen=True)
class Rope:
    """An inextensible massless rope through points of bodies: it pulls, and does not push.

    The length of the path, the sum of the distances from each point to the next, is at most ``length`` at each node.
    The rope slides through its inner points without friction, as over massless pulleys of radius zero, so that the
    tension is the same all along. A rope that becomes taut acts as an impact, as closing contacts do.

    Parameters
    ----------
    points : sequence of str or (str, (3,) array)
        At least two: names of frames, or pairs of a frame and a point in its axes [m]. "world" is the world. Both ends
        are tied, and the rope runs through the others in turn.
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
        If there are fewer than two points, a name is no text, or a number is out of its range.
    InputError
        If the points are no sequence.
    """

    points: tuple[tuple[str, tuple[float, float, float]], ...]
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
        return self.label if self.label is not None else f'rope "{self.points[0][0]}" - "{self.points[-1][0]}"'


def _eyelet(given: object) -> Eyelet:
    if isinstance(given, str):
        return given, (0.0, 0.0, 0.0)
    if not (isinstance(given, Sequence) and len(given) == 2 and isinstance(given[0], str)):
        raise ModelError(f'a point of a rope is {shown(given)}; give a frame, or a pair such as ("hook", (0, 0, 0.1))')
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
