"""Loads: potentials, forces and inputs that act on a mechanism beside its gravity, damping and torque.

The loads of this module run in compiled code. For your own, subclass :class:`vitree.Potential` or
:class:`vitree.Force`.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from vitree.arguments import explain_calls, real, several, shown
from vitree.errors import ModelError
from vitree.mechanism.tables import tabulated

#: Newton's constant [m^3/(kg s^2)], CODATA 2018.
GRAVITATIONAL_CONSTANT = 6.67430e-11


class _Between:
    """A load between two frames, a and b."""

    a: str
    b: str

    @property
    def name(self) -> str:
        """The load as messages call it."""
        return f'{type(self).__name__.lower()} "{self.a}" - "{self.b}"'


class _OnJoint:
    """A load on a joint."""

    joint: str
    word: ClassVar[str]

    def __init_subclass__(cls, word: str) -> None:
        cls.word = word

    @property
    def name(self) -> str:
        """The load as messages call it."""
        return f'{self.word} on joint "{self.joint}"'


@dataclass(frozen=True)
class Spring(_Between):
    """A linear spring between the origins of two frames, V = k (|a - b| - length)^2 / 2.

    Parameters
    ----------
    a, b : str
        Names of frames; "world" is the origin of the world.
    stiffness : float [N/m]
    length : float [m]
        The length at which the spring is at rest.

    References
    ----------
    Johnson & Murphey 2009, section IV-C.2.
    """

    a: str
    b: str
    stiffness: float
    length: float = 0.0


@dataclass(frozen=True)
class Damper(_Between):
    """A linear damper between the origins of two frames: it resists a change of their distance.

    Parameters
    ----------
    a, b : str
        Names of frames.
    coefficient : float [N s/m]
    """

    a: str
    b: str
    coefficient: float


@dataclass(frozen=True)
class Attraction(_Between):
    """Newtonian gravity between masses at the origins of two frames, V = -G m_a m_b / |a - b|.

    Parameters
    ----------
    a, b : str
        Names of frames.
    mass_a, mass_b : float [kg], optional
        By default the masses of the links with these names.
    constant : float [m^3/(kg s^2)]
    """

    a: str
    b: str
    mass_a: float | None = None
    mass_b: float | None = None
    constant: float = GRAVITATIONAL_CONSTANT


@dataclass(frozen=True)
class Gravity:
    """Uniform gravity on some links, in addition to that of the whole tree.

    Parameters
    ----------
    links : sequence of str
    acceleration : (3,) array [m/s^2]
        In world axes.

    Raises
    ------
    InputError
        If the links are no sequence.
    """

    links: tuple[str, ...]
    acceleration: tuple[float, float, float] = (0.0, 0.0, -9.81)

    def __post_init__(self) -> None:
        object.__setattr__(self, "links", several(self.links, "links", "names of links"))

    @property
    def name(self) -> str:
        """The load as messages call it."""
        return "gravity on " + ", ".join(f'"{link}"' for link in self.links)


@dataclass(frozen=True)
class Wrench:
    """A torque and a force on a frame; each component a number or the name of an input.

    Parameters
    ----------
    frame : str
        Its name.
    torque : 3 of float [N m] or str
    force : 3 of float [N] or str
    axes : {"world", "local", "spatial"}
        "world": world axes, about the frame's origin (a hybrid wrench); "local": the frame's axes and
        origin (a body wrench); "spatial": world axes, about the world's origin.

    Raises
    ------
    InputError
        If the torque or the force is no sequence.
    """

    frame: str
    torque: Sequence[float | str] | np.ndarray = (0.0, 0.0, 0.0)
    force: Sequence[float | str] | np.ndarray = (0.0, 0.0, 0.0)
    axes: str = "world"

    def __post_init__(self) -> None:
        for field in ("torque", "force"):
            object.__setattr__(self, field, several(getattr(self, field), field, "three numbers or names of inputs"))

    @property
    def name(self) -> str:
        """The load as messages call it."""
        return f'wrench on "{self.frame}"'


@dataclass(frozen=True)
class JointForce(_OnJoint, word="force"):
    """A force or torque on a one-coordinate joint.

    Parameters
    ----------
    joint : str
    force : float [N or N m] or str
        A number, or the name of an input.
    """

    joint: str
    force: float | str


@dataclass(frozen=True)
class JointSpring(_OnJoint, word="spring"):
    """A linear spring on a one-coordinate joint, V = k (q - rest)^2 / 2 (torsional on a hinge).

    Parameters
    ----------
    joint : str
    stiffness : float [N/m or N m/rad]
    rest : float [m or rad]
    """

    joint: str
    stiffness: float
    rest: float = 0.0


@dataclass(frozen=True)
class NonlinearSpring(_OnJoint, word="nonlinear spring"):
    """A conservative force on a one-coordinate joint, by a table or a function of its coordinate.

    Parameters
    ----------
    joint : str
    positions : (n,) array [m or rad]
        Increasing. The force is the cubic spline through the table, and goes straight on beyond the ends.
    force : (n,) array or callable [N or N m]
        Force on the joint; that of a spring has a negative slope. A callable is tabulated at ``positions``.

    Raises
    ------
    ModelError
        If the table is not of numbers.
    CallableError
        If the callable raises, or returns no finite number.
    """

    joint: str
    positions: tuple[float, ...]
    force: tuple[float, ...]

    def __post_init__(self) -> None:
        for field, values in zip(("positions", "force"), tabulated(self.positions, self.force), strict=True):
            object.__setattr__(self, field, values)


@explain_calls
@dataclass(frozen=True)
class BallSpring(_OnJoint, word="ball spring"):
    """A torsional spring on a ball joint, V = k |log(R0^T R)|^2 / 2, and a servo where its reference is an input.

    The torque is -k log(R0^T R), about the axis and by the angle of the rotation from the reference R0 to that of the
    joint, R. At an angle of pi its direction jumps. Damping of the joint (``vt.ball(damping=)``) is that of a servo.
    With a limit M the torque is shortened to M, in the same direction, and V goes on with the slope M from there on.

    Parameters
    ----------
    joint : str
        Name of a ball joint.
    stiffness : float [N m/rad]
        Zero or more.
    reference : (4,) array, or three names of inputs
        The rotation R0 as a quaternion (x, y, z, w), normalised; or the inputs that are its rotation vector [rad].
    effort_limit : float [N m]
        The largest size of the torque, without that of the joint's damping; infinite by default.

    Raises
    ------
    ModelError
        If the stiffness is negative, the limit not positive, or the reference neither a quaternion nor three names.
    InputError
        If the reference is no sequence.

    References
    ----------
    Bullo & Murray 1995, "Proportional derivative (PD) control on the Euclidean group".
    """

    joint: str
    stiffness: float
    reference: tuple[float | str, ...] = (0.0, 0.0, 0.0, 1.0)
    effort_limit: float = np.inf

    def __post_init__(self) -> None:
        if not real(self.effort_limit) > 0:
            raise ModelError(f"the effort_limit of the {self.name} is {shown(self.effort_limit)}; it must be positive "
                             "[N m]")  # fmt: skip
        object.__setattr__(self, "effort_limit", real(self.effort_limit))
        if not 0 <= real(self.stiffness) < np.inf:
            raise ModelError(f"the stiffness of the {self.name} is {shown(self.stiffness)}; it is zero or more")
        object.__setattr__(self, "stiffness", real(self.stiffness))
        given = several(self.reference, f"reference of the {self.name}", "a quaternion, or three names of inputs")
        if len(given) == 3 and all(isinstance(x, str) for x in given):
            object.__setattr__(self, "reference", tuple(given))
            return
        numbers = np.array([real(x) for x in given])
        if len(given) != 4 or not 0 < np.linalg.norm(numbers) < np.inf:
            raise ModelError(f"the reference of the {self.name} is {shown(self.reference)}; give a quaternion "
                             "(x, y, z, w), or the names of three inputs")  # fmt: skip
        size = np.linalg.norm(numbers)
        numbers = numbers if abs(size - 1) < 1e-15 else numbers / size
        object.__setattr__(self, "reference", tuple(numbers.tolist()))

    @property
    def inputs(self) -> tuple[str, ...]:
        """Names of its inputs."""
        return tuple(x for x in self.reference if isinstance(x, str))


Load = Spring | Damper | Attraction | Gravity | Wrench | JointForce | JointSpring | NonlinearSpring | BallSpring
#: Loads that have a potential energy.
CONSERVATIVE = (Spring, Attraction, Gravity, JointSpring, NonlinearSpring, BallSpring)


def input_names(loads: Iterable[object]) -> tuple[str, ...]:
    """Return the names of the inputs that loads take, in the order of their first use."""
    names: dict[str, None] = {}
    for load in loads:
        parts: Iterable[object] = getattr(load, "inputs", ())
        if isinstance(load, Wrench):
            parts = (*load.torque, *load.force)
        elif isinstance(load, JointForce):
            parts = (load.force,)
        names |= dict.fromkeys(part for part in parts if isinstance(part, str))
    return tuple(names)
