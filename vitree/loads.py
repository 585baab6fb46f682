"""Loads: potentials, forces and inputs that act on a mechanism beside its gravity, damping and torque.

Those of this module run in compiled code. For others subclass :class:`vitree.Potential` or
:class:`vitree.Force`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from vitree._core.types import LoadList
from vitree.errors import InputError, ModelError, UnknownNameError
from vitree.tables import pieces, tabulated
from vitree.tree import finite, vector
from vitree.written import Force, Potential

if TYPE_CHECKING:
    from vitree.model import Model

#: Codes of ``_core/types.pxd``.
_WRENCH, _UNIFORM, _SPRING, _DAMPER, _ATTRACTION, _JOINT_FORCE, _JOINT_SPRING, _JOINT_TABLE = range(8)
_AXES = {"world": 0, "local": 1, "spatial": 2}
#: Newton's constant [m^3/(kg s^2)], CODATA 2018.
GRAVITATIONAL_CONSTANT = 6.67430e-11


class _Between:
    """A load between two frames, a and b."""

    a: str
    b: str

    @property
    def name(self) -> str:
        """What to call it in messages."""
        return f'{type(self).__name__.lower()} "{self.a}" - "{self.b}"'


class _OnJoint:
    """A load on a joint."""

    joint: str
    word: ClassVar[str]

    def __init_subclass__(cls, word: str) -> None:
        cls.word = word

    @property
    def name(self) -> str:
        """What to call it in messages."""
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
        At which it pulls nothing.

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
    """A linear damper between the origins of two frames: it resists the rate of their distance.

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
        Those of the links of these names if not given.
    constant : float [m^3/(kg s^2)]
    """

    a: str
    b: str
    mass_a: float | None = None
    mass_b: float | None = None
    constant: float = GRAVITATIONAL_CONSTANT


@dataclass(frozen=True)
class Gravity:
    """Uniform gravity on some links only, beside that of the whole tree.

    Parameters
    ----------
    links : sequence of str
    acceleration : (3,) array [m/s^2]
        In world axes.
    """

    links: tuple[str, ...]
    acceleration: tuple[float, float, float] = (0.0, 0.0, -9.81)

    @property
    def name(self) -> str:
        """What to call it in messages."""
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
    """

    frame: str
    torque: tuple = (0.0, 0.0, 0.0)
    force: tuple = (0.0, 0.0, 0.0)
    axes: str = "world"

    @property
    def name(self) -> str:
        """What to call it in messages."""
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
    force: Any


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
    """A conservative force on a one-coordinate joint by a table or a function of its coordinate.

    Parameters
    ----------
    joint : str
    positions : (n,) array [m or rad]
        Increasing; the cubic spline through the table is used, straight on beyond its ends.
    force : (n,) array or callable [N or N m]
        On the joint, so a spring has negative slope. A callable is tabulated at ``positions``.
    """

    joint: str
    positions: tuple
    force: Any

    def __post_init__(self) -> None:
        for field, values in zip(("positions", "force"), tabulated(self.positions, self.force), strict=True):
            object.__setattr__(self, field, values)


Load = Spring | Damper | Attraction | Gravity | Wrench | JointForce | JointSpring | NonlinearSpring
#: Those that have a potential energy.
CONSERVATIVE = (Spring, Attraction, Gravity, JointSpring, NonlinearSpring)
_KINDS = ", ".join(kind.__name__ for kind in Load.__args__)


def input_names(loads: tuple) -> tuple[str, ...]:
    """Return the names of the inputs that loads take, in the order of their first use."""
    names: dict[str, None] = {}
    for load in loads:
        parts = (*load.torque, *load.force) if isinstance(load, Wrench) else ()
        if isinstance(load, JointForce):
            parts = (load.force,)
        names |= dict.fromkeys(part for part in parts if isinstance(part, str))
    return tuple(names)


def compiled(model: Model, loads: tuple, more: tuple = ()) -> LoadList:
    """Return loads as the core takes them, those written in Python left out; ``more`` follow as they are.

    Raises
    ------
    UnknownNameError
        If a frame, link or joint is not known.
    ModelError
        If a load cannot be what it says.
    """
    inputs = {name: k for k, name in enumerate(input_names(loads))}
    rows: list[dict] = []
    for load in loads:
        if not isinstance(load, Potential | Force):
            rows += _rows(model, load, inputs)
    return LoadList([*rows, *more])


def _rows(model: Model, load, inputs: Mapping[str, int]) -> list[dict]:
    if isinstance(load, Spring | Damper | Attraction):
        return [_pair(model, load)]
    if isinstance(load, Gravity):
        g = vector(load.acceleration, f"acceleration of {load.name}")
        rows = []
        for link, mass, com in _links(model, load):
            rows.append({"kind": _UNIFORM, "wrench": (0, 0, 0, *(mass * g)), **_place(model, load, link, "a", com)})
        return [row for row in rows if row["body_a"] >= 0]
    if isinstance(load, Wrench):
        return wrench_rows(model, load, inputs)
    if isinstance(load, JointForce | JointSpring | NonlinearSpring):
        where = one_coordinate(model, load.joint, load.name)
        if isinstance(load, JointForce):
            named = isinstance(load.force, str)
            number = 1.0 if named else finite(load.force, f"value of the {load.name}")
            return [{"kind": _JOINT_FORCE, "factor": number, "input": inputs[load.force] if named else -1, **where}]
        if isinstance(load, NonlinearSpring):
            return [{"kind": _JOINT_TABLE, "table": pieces(load.positions, load.force, load.name), **where}]
        k, rest = finite(load.stiffness, f"stiffness of the {load.name}"), finite(load.rest, f"rest of the {load.name}")
        return [{"kind": _JOINT_SPRING, "factor": k, "rest": rest, **where}]
    raise ModelError(f"a load is one of {_KINDS}, or a Potential or Force of your own, not {load!r}")


def wrench_rows(model: Model, load: Wrench, inputs: Mapping[str, int]) -> list[dict]:
    """Return a wrench as the core takes it: a row of the constants, and one an input; none if nothing moves."""
    if load.axes not in _AXES:
        raise InputError(f'{load.name}: axes="{load.axes}" is not known; choose from {", ".join(_AXES)}')
    parts = (*load.torque, *load.force)
    if len(load.torque) != 3 or len(load.force) != 3:
        raise ModelError(f"the {load.name} takes three torques and three forces, not {parts}")
    body, R, point = place(model, load.frame)
    columns = np.kron(np.eye(2), R if load.axes == "local" else np.eye(3))
    numbers = [0.0 if isinstance(part, str) else finite(part, f"value of the {load.name}") for part in parts]
    common = {"kind": _WRENCH, "body_a": body, "point_a": point, "axes": _AXES[load.axes]}
    rows = [{"wrench": columns @ numbers, **common}] if np.any(numbers) else []
    rows += [{"wrench": columns[:, k], "input": inputs[part], **common}
             for k, part in enumerate(parts) if isinstance(part, str)]  # fmt: skip
    return rows if body >= 0 else []


def place(model: Model, name: str) -> tuple[int, np.ndarray, np.ndarray]:
    """Return the body (-1: world) that a frame is fixed to, and its rotation and position in the core frame.

    Raises
    ------
    UnknownNameError
        If there is no such frame.
    """
    if name == "world" and "world" not in model._frames:
        return -1, np.eye(3), np.zeros(3)
    if name not in model._frames:
        raise UnknownNameError("frame", name, ["world", *model.frame_names])
    k = model._frames[name]
    return int(model.flat.frame_body[k]), model.flat.frame_E[k], model.flat.frame_p[k]


def one_coordinate(model: Model, name: str, what: str) -> dict[str, int]:
    """Return where the coordinate of a joint is.

    Raises
    ------
    UnknownNameError
        If there is no such joint.
    ModelError
        If it has several coordinates.
    """
    joint = model.joint(name)
    if joint.v_slice.stop - joint.v_slice.start != 1:
        raise ModelError(f'the {what}: "{name}" has {joint.v_slice.stop - joint.v_slice.start} coordinates, not one')
    return {"iq": joint.q_slice.start, "iv": joint.v_slice.start}


def _place(model: Model, load, name: str, end: str, shift=(0.0, 0.0, 0.0)) -> dict:
    body, R, point = place(model, name)
    return {f"body_{end}": body, f"point_{end}": point + R @ np.array(shift, dtype=float)}


def _links(model: Model, load) -> list[tuple[str, float, np.ndarray]]:
    links = {name: (mass, com) for name, mass, com in zip(
        model.flat.link_names, model.flat.link_mass, model.flat.link_com, strict=True)}  # fmt: skip
    for name in load.links:
        if name not in links:
            raise UnknownNameError("link", name, links)
    return [(name, *links[name]) for name in load.links]


def _pair(model: Model, load) -> dict:
    row = {**_place(model, load, load.a, "a"), **_place(model, load, load.b, "b")}
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
    masses = dict(zip(model.flat.link_names, model.flat.link_mass, strict=True))
    for frame, mass in ((load.a, load.mass_a), (load.b, load.mass_b)):
        if mass is None and frame not in masses:
            raise ModelError(f'{load.name}: "{frame}" is no link; give its mass (mass_a=, mass_b=)')
        factor *= masses[frame] if mass is None else finite(mass, f"mass of the {load.name}")
    return {"kind": _ATTRACTION, "factor": factor, **row}
