"""What rolls and does not slip: wheels, balls, skates and knife edges on a plane."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from vitree.arguments import shown
from vitree.errors import ModelError
from vitree.geometry.numbers import within
from vitree.mechanism.contacts import plane_of
from vitree.spatial.checks import triple, unit_triple


@dataclass(frozen=True)
class RollingConstraint:
    """A part of a mechanism that does not slip on a plane: a wheel, a ball, a skate or a knife edge.

    The point of the wheel that is nearest to the plane has no velocity along the directions that are held: a
    nonholonomic constraint. It holds both ways, with any force. For friction with a limit take a :class:`Contact` with
    a :class:`Disk` or a :class:`Sphere`.

    Parameters
    ----------
    frame : str
        Name of the frame that it is fixed to. A wheel that turns is fixed to the frame that turns.
    radius : float [m]
        Of the wheel; zero for a skate or a knife edge.
    axis : (3,) array or None
        Axle of the wheel in the frame, normalised; of a skate the direction across its edge. None: a ball.
    center : (3,) array [m]
        In the frame.
    along : bool, optional
        Whether it holds along the way of the wheel. Without it that is so for a wheel and a ball, and not for a skate.
    across : bool
        Whether it holds across, along the axle.
    normal : bool
        Whether it holds its distance from the plane: it neither leaves the plane nor falls through it. Without it
        something else must, such as joints that move along the plane only, or contacts.
    plane : (normal, height), optional
        The plane n . x = height [m]. Without it that of the tree's ground; without a ground z = 0.

    Raises
    ------
    ModelError
        If a number is out of its range, a direction is zero, nothing is held, or a ball has no radius.
    """

    frame: str
    radius: float = 0.0
    axis: tuple[float, float, float] | None = (0.0, 1.0, 0.0)
    center: tuple[float, float, float] = (0.0, 0.0, 0.0)
    along: bool | None = None
    across: bool = True
    normal: bool = False
    plane: tuple[Sequence[float], float] | None = None

    def __post_init__(self) -> None:
        if not isinstance(self.frame, str) or not self.frame:
            raise ModelError(f"the frame of what rolls is {shown(self.frame)}; it must be a name")
        radius = within(self.radius, f"radius of the {self.name}", 0.0, math.inf)
        object.__setattr__(self, "radius", radius)
        if self.axis is not None:
            object.__setattr__(self, "axis", tuple(unit_triple(self.axis, f"axis of the {self.name}")))
        elif not radius:
            raise ModelError(f"the {self.name} has no axis, which makes it a ball, and no radius; give one of both")
        object.__setattr__(self, "center", tuple(triple(self.center, f"center of the {self.name}")))
        if self.along is None:
            object.__setattr__(self, "along", radius > 0)
        for field in ("along", "across", "normal"):
            if not isinstance(held := getattr(self, field), bool):
                raise ModelError(f"{field} of the {self.name} is {shown(held)}; it must be True or False")
        if not (self.along or self.across or self.normal):
            raise ModelError(f"the {self.name} holds nothing; give along=True, across=True or normal=True")
        if self.plane is not None:
            object.__setattr__(self, "plane", plane_of(self.plane, f"the plane of the {self.name}"))

    @property
    def holds(self) -> tuple[bool, bool, bool]:
        """Whether it holds along the normal, along and across."""
        return self.normal, bool(self.along), self.across

    @property
    def name(self) -> str:
        """It, as messages call it."""
        return f'rolling of "{self.frame}"'
