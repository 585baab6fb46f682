"""Holonomic constraints between named frames and coordinates."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import ArrayLike

from vitree.arguments import as_numbers, real, shown, whole
from vitree.errors import ModelError
from vitree.mechanism.tables import tabulated
from vitree.spatial.checks import direction, finite
from vitree.spatial.rotations import turn_z_to


class _Named:
    """A constraint; ``words`` are its name in messages where it has no label, with fields in braces."""

    words: ClassVar[str]

    def __init_subclass__(cls, words: str) -> None:
        cls.words = words

    @property
    def name(self) -> str:
        """The constraint as messages and plots call it: its label, or its kind and what it joins."""
        own = vars(self)
        if own["label"] is not None:
            return str(own["label"])
        shown = {key: _direction(value) for key, value in own.items() if key.startswith("axis")}
        return self.words.format(**{**own, **shown})


def _direction(axis: Iterable[float]) -> str:
    """Return a direction in few characters: x, -y, or its entries."""
    entries = [float(x) for x in axis]
    sizes = [abs(x) for x in entries]
    if sorted(sizes) == [0.0, 0.0, max(sizes)] and max(sizes) > 0:
        k = sizes.index(max(sizes))
        return ("-" if entries[k] < 0 else "") + "xyz"[k]
    return "along (" + ", ".join(f"{x:.3g}" for x in entries) + ")"


def _labelled(label: str | None, *directions: Iterable[float]) -> str | None:
    """Return the label of one of several constraints that have a label together."""
    return None if label is None else f"{label} " + "-".join(map(_direction, directions))


@dataclass(frozen=True)
class PointConstraint(_Named, words='point "{a}" - "{b}" {axis}'):
    """The origins of two frames keep an equal coordinate along an axis: axis . (a - b) = offset.

    Parameters
    ----------
    a, b : str
        Names of frames; "world" is the origin of the world.
    axis : (3,) array
        Direction; normalised.
    axes : {"world", "local"}
        The axis is fixed in the world, or turns with frame a. With "local" frame b moves in a plane of a (point on
        plane).
    offset : float [m]
    label : str, optional
        What messages and plots call it.

    References
    ----------
    Johnson & Murphey 2009, section IV-D.
    """

    a: str
    b: str
    axis: tuple[float, float, float]
    axes: str = "world"
    offset: float = 0.0
    label: str | None = None


@dataclass(frozen=True)
class Distance(_Named, words='distance "{a}" - "{b}"'):
    """The origins of two frames keep a distance (a massless rigid rod).

    All directions satisfy it: it has no wrong side. It pulls and pushes; of one that does both in a run, and so is no
    string, ``Trajectory.warnings`` says when and how much.

    Parameters
    ----------
    a, b : str
        Names of frames; "world" is the origin of the world.
    length : float [m] or str
        Positive; or the joint whose coordinate is the length, as of a string that is let out.
    label : str, optional
        What messages and plots call it.

    References
    ----------
    Johnson & Murphey 2009, section IV-D.
    """

    a: str
    b: str
    length: float | str
    label: str | None = None


@dataclass(frozen=True)
class Coupling:
    """Two one-coordinate joints move in proportion: sum of factor q = value (gears, screws, mimics).

    Parameters
    ----------
    factors : mapping of two joint names to floats
    value : float
        Value of the sum, in units of factor times q.
    label : str, optional
        What messages and plots call it.
    efficiency : float, or pair of floats [-]
        From 0 to 1: the share of the power that goes through it which arrives; as a pair, from the first joint to the
        second, and from the second to the first. The rest is lost by friction in it, in proportion to what it
        transmits, which also holds within these bounds where it is at rest. Zero in one direction is self-locking: no
        load of that side moves the other. Steps of "linear-time", "midpoint" and "implicit-euler" know it.

    Raises
    ------
    ModelError
        If the efficiency is out of its range, or zero in both directions.

    References
    ----------
    Pelchen, Schweiger & Otter 2002, "Modeling and simulating the efficiency of gearboxes and of planetary gearboxes".
    """

    factors: Mapping[str, float]
    value: float = 0.0
    label: str | None = None
    efficiency: float | tuple[float, float] = 1.0

    def __post_init__(self) -> None:
        pair = isinstance(self.efficiency, tuple | list)
        both = self.efficiency if pair else (self.efficiency,)
        given = tuple(real(x) for x in both)  # type: ignore[union-attr]
        if not (len(given) == 1 + pair and all(0 <= x <= 1 for x in given) and any(given)):
            raise ModelError(f"the efficiency of the {self.name} is {shown(self.efficiency)}; it must be from 0 to 1, "
                             "or a pair of such numbers, and above 0 in one direction")  # fmt: skip
        object.__setattr__(self, "efficiency", given if pair else given[0])

    @property
    def efficiencies(self) -> tuple[float, float]:
        """The efficiency of power from the first joint to the second, and of power from the second to the first [-]."""
        return self.efficiency if isinstance(self.efficiency, tuple) else (self.efficiency, self.efficiency)

    @property
    def name(self) -> str:
        """The constraint as messages and plots call it: its label, or its kind and what it joins."""
        if self.label is not None:
            return self.label
        return "coupling " + " and ".join(f'"{joint}"' for joint in self.factors)


def loses(constraint: object) -> bool:
    """Return whether a constraint is a coupling that loses power."""
    return isinstance(constraint, Coupling) and min(constraint.efficiencies) < 1


def followers_of(constraints: Iterable[object]) -> set[str]:
    """Return the names of joints that follow others: the first joint of each :class:`Coupling`."""
    return {next(iter(each.factors)) for each in constraints if isinstance(each, Coupling)}


@dataclass(frozen=True)
class AxisConstraint(_Named, words='axis "{a}" {axis_a} - "{b}" {axis_b}'):
    """A direction of frame a and one of frame b keep their angle: axis_a . axis_b = cosine.

    Parameters
    ----------
    a, b : str
        Names of frames.
    axis_a, axis_b : (3,) arrays
        Directions in the frames' own axes; normalised.
    cosine : float [-]
        0 for a right angle.
    facing : (3,) array, optional
        A direction of either frame, in its own axes. The angle alone is kept also after a half turn of b; with
        ``facing`` the two directions must point the same way (less than 84 degrees apart), as they do in the
        constraints that :func:`weld` and :func:`joint_constraints` return.
    label : str, optional
        What messages and plots call it.
    """

    a: str
    b: str
    axis_a: tuple[float, float, float]
    axis_b: tuple[float, float, float]
    cosine: float = 0.0
    facing: tuple[float, float, float] | None = None
    label: str | None = None


@dataclass(frozen=True)
class Cam(_Named, words='cam "{follower}" by "{driver}"'):
    """One joint follows another by a profile: q_follower = profile(q_driver), a higher pair.

    Parameters
    ----------
    follower, driver : str
        Names of one-coordinate joints.
    positions : (n,) array
        Of the driver [m or rad], increasing.
    profile : (n,) array or callable
        Of the follower [m or rad]: a table, or a function that is tabulated at ``positions``. The follower is on the
        cubic spline through the table.
    periodic : bool
        Whether the profile repeats.
    label : str, optional
        What messages and plots call it.

    Raises
    ------
    ModelError
        If the table is not of numbers.
    CallableError
        If the callable raises, or returns no finite number.

    References
    ----------
    Johnson & Murphey 2008, section on higher pairs.
    """

    follower: str
    driver: str
    positions: tuple[float, ...]
    profile: tuple[float, ...]
    periodic: bool = False
    label: str | None = None

    def __post_init__(self) -> None:
        for name, values in zip(("positions", "profile"), tabulated(self.positions, self.profile), strict=True):
            object.__setattr__(self, name, values)


def _require_names(*joints: str) -> None:
    """Raise a ModelError if the names of joints are no texts."""
    for joint in joints:
        if not isinstance(joint, str):
            raise ModelError(f"a joint is named {shown(joint)}; its name must be a text")


def gear(
    a: str, b: str, ratio: float, value: float = 0.0, label: str | None = None,
    efficiency: float | tuple[float, float] = 1.0,
) -> Coupling:  # fmt: skip
    """Return the constraint of a gear between two joints: q_a = ratio q_b + value.

    Parameters
    ----------
    a, b : str
        Names of one-coordinate joints.
    ratio : float [-]
        Negative where they turn against each other.
    value : float [m or rad]
    label : str, optional
        What messages and plots call it.
    efficiency : float, or pair of floats [-]
        As of a :class:`Coupling`.

    Raises
    ------
    ModelError
        If the ratio is not a finite number, or the efficiency out of its range.
    """
    _require_names(a, b)
    return Coupling({a: 1.0, b: -finite(ratio, f'ratio of the gear "{a}" - "{b}"')}, value, label, efficiency)


def screw_pair(
    slide: str, turn: str, pitch: float, value: float = 0.0, label: str | None = None,
    efficiency: float | tuple[float, float] = 1.0,
) -> Coupling:  # fmt: skip
    """Return the constraint of a nut on a screw: q_slide = pitch q_turn + value.

    Parameters
    ----------
    slide, turn : str
        Names of one-coordinate joints.
    pitch : float [m/rad]
    value : float [m]
    label : str, optional
        What messages and plots call it.
    efficiency : float, or pair of floats [-]
        As of a :class:`Coupling`.

    Raises
    ------
    ModelError
        If the pitch is not a finite number, or the efficiency out of its range.
    """
    _require_names(slide, turn)
    factor = -finite(pitch, f'pitch of the screw pair "{slide}" - "{turn}"')
    return Coupling({slide: 1.0, turn: factor}, value, label, efficiency)


def weld(a: str, b: str, label: str | None = None) -> list[PointConstraint | AxisConstraint]:
    """Return the six constraints that hold the frame ``b`` at the place and rotation of the frame ``a``.

    They hold nowhere else: a frame b that is turned by 120 or 180 degrees against a is an error of
    :func:`satisfy_constraints` and of runs. Behind a ``label`` messages and plots say which of the six it is.
    """
    x, y, z = (1.0, 0.0, 0.0), (0.0, 1.0, 0.0), (0.0, 0.0, 1.0)
    turns = [AxisConstraint(a, b, u, w, facing=u, label=_labelled(label, u, w)) for u, w in ((x, y), (y, z), (z, x))]
    return [*point_constraint(a, b, label=label), *turns]


def point_constraint(
    a: str, b: str, directions: int | Iterable[ArrayLike] = 3, axes: str = "world", label: str | None = None
) -> list[PointConstraint]:
    """Return the constraints that hold the origin of frame b at that of frame a, along 1, 2 or 3 directions.

    Parameters
    ----------
    a, b : str
        Names of frames; "world" is the origin of the world.
    directions : int or sequence of (3,) arrays
        3 for all directions, or a list of directions.
    axes : {"world", "local"}
        As of :class:`PointConstraint`.
    label : str, optional
        What messages and plots call the constraints; the direction of each stands behind it.

    Raises
    ------
    ModelError
        If the directions are not one to three vectors.
    """
    try:
        rows = np.eye(3) if whole(directions) == 3 else np.atleast_2d(as_numbers(directions))
    except TypeError:
        rows = np.zeros(0)
    if rows.shape not in ((1, 3), (2, 3), (3, 3)):
        needed = "3, or up to three such as [(1, 0, 0), (0, 0, 1)]"
        raise ModelError(f"directions must be {needed}, not {shown(directions)}")
    along = [(float(x), float(y), float(z)) for x, y, z in rows]
    return [PointConstraint(a, b, axis, axes, label=_labelled(label, axis)) for axis in along]


def joint_constraints(
    kind: str, a: str, b: str, axis: ArrayLike = (0.0, 0.0, 1.0), label: str | None = None
) -> list[PointConstraint | AxisConstraint]:
    """Return the constraints that let frame b move in frame a like a joint does; they close a loop.

    The axis of b points along that of a, not against it; of a fixed or prismatic joint no axis of b is turned.

    Parameters
    ----------
    kind : {"fixed", "revolute", "prismatic", "cylindrical", "universal", "spherical", "planar", "free"}
        6, 5, 5, 4, 4, 3, 3 and no constraints. For a helical joint add a :class:`vitree.HelicalConstraint` to the
        cylindrical ones.
    a, b : str
        Names of frames. They coincide where the coordinates of such a joint would be zero.
    axis : (3,) array
        Direction of the joint, in both frames; of a planar one its normal. A universal joint turns about the x of
        ``a`` and then the y of ``b``, the axes that the shortest rotation of z to this direction makes of theirs, as
        :func:`vitree.universal` does.
    label : str, optional
        What messages and plots call the constraints; what each holds stands behind it.

    Raises
    ------
    ModelError
        If the kind is not known, or the axis not a direction.
    """
    R = turn_z_to(direction(axis, f'axis between "{a}" and "{b}"'))
    # + 0.0: no -0.0 in names
    x, y, z = ((float(e[0]) + 0.0, float(e[1]) + 0.0, float(e[2]) + 0.0) for e in R.T)
    across = [PointConstraint(a, b, u, "local", label=_labelled(label, u)) for u in (x, y)]
    along = [PointConstraint(a, b, z, "local", label=_labelled(label, z))]
    tilt = [AxisConstraint(a, b, u, z, facing=z, label=_labelled(label, u, z)) for u in (x, y)]
    spin = [AxisConstraint(a, b, x, y, facing=x, label=_labelled(label, x, y))]
    kinds: dict[str, list[PointConstraint | AxisConstraint]] = {
        "fixed": [*across, *along, *tilt, *spin],
        "revolute": [*across, *along, *tilt],
        "prismatic": [*across, *tilt, *spin],
        "cylindrical": [*across, *tilt],
        "universal": [*across, *along, AxisConstraint(a, b, x, y, label=_labelled(label, x, y))],
        "spherical": [*across, *along],
        "planar": [*along, *tilt],
        "free": [],
    }
    if not isinstance(kind, str) or kind not in kinds:
        helical = kind == "helical"
        raise ModelError(
            f'kind="{kind}" is not known; choose from ' + ", ".join(f'"{name}"' for name in kinds)
            + ('. A helical joint is "cylindrical" with a vitree.HelicalConstraint, which has its pitch' * helical)
        )  # fmt: skip
    return kinds[kind]


Constraint = PointConstraint | Distance | Coupling | AxisConstraint | Cam
