"""System: the base of everything that can be simulated, such as a Model of a mechanism, or a vehicle."""

from __future__ import annotations

import functools
import inspect
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from typing import Any, TypeVar

import numpy as np
from numpy.typing import ArrayLike

from vitree._core import scalar
from vitree.arguments import as_numbers, entries
from vitree.errors import InputError
from vitree.mechanism.followers import Followers
from vitree.model.broadcasting import as_rows, finite_result, in_row, no_result, of_states, on_stacks

R = TypeVar("R")
plain = scalar().plain
#: Families of systems: the integrators of each by their names, the default first. Integrators add themselves.
METHODS_OF: dict[str, dict[str, type[Any]]] = {}
#: Methods that take rows of states: their arguments and whether a row of one has nq or nv entries.
OF_ROWS = ("_energies", "_momenta", "_velocities", "_mass_matrices", "_pose_rows", "_constraint_rows",
           "_constrained_velocities", "_constraint_errors", "_facing_cosines", "_facing_rows")  # fmt: skip
WIDTHS = {"q": "nq", "v": "nv", "p": "nv", "rates": "nv"}


class System(ABC):
    """The base of everything that ``simulate`` and ``compare`` can run.

    The contract, for those who write one:

    1. A state is (q, v): ``q`` (nq,) may hold quaternions and angles, ``v`` (nv,) is free; ``integrate`` and
       ``difference`` are the retraction and its inverse, and nobody adds to q.
    2. ``p = _momenta(q, v)`` and ``v = _velocities(q, p)`` are inverse to each other, row by row.
    3. ``_energies`` has, in each row, kinetic and potential energy [J], angular momentum about the world's origin
       and linear momentum in world axes, and the centre of mass [m].
    4. ``digest`` changes with everything the motion depends on.
    5. A system never changes.

    Notes
    -----
    Arguments of the methods are, if they do not say otherwise:

    q, q0, q1 : (nq,) array
        Configurations [m or rad]; orientations in space as quaternions (x, y, z, w).
    v : (nv,) array
        Velocity [m/s or rad/s].
    dq : (nv,) array
        Displacement, a velocity times a time [m or rad].
    p : (nv,) array
        Momentum [kg m/s or kg m^2/s].

    Methods raise an InputError for an argument of a wrong shape, or with an entry that is not finite. Those that take
    rows of states (n, nq), (n, nv) check the shapes alone, before the method of a subclass is called.
    """

    #: how joints follow others without coordinates of their own, if any do
    _followers: Followers | None = None
    #: what compiled code needs to answer methods in one call, if it can
    _calls: Any = None
    #: where quaternions (x, y, z, w) start in q
    _quaternions: np.ndarray = np.zeros(0, dtype=int)

    def __init_subclass__(cls, **more: object) -> None:
        super().__init_subclass__(**more)
        _check_rows(cls)

    # properties have the same shape, one for each fact
    # ---- what it is -------------------------------------------------------------------------------

    @property
    @abstractmethod
    def name(self) -> str:
        """Name of the system."""

    @property
    @abstractmethod
    def nq(self) -> int:
        """Number of entries of a configuration."""

    @property
    @abstractmethod
    def nv(self) -> int:
        """Number of entries of a velocity."""

    @property
    @abstractmethod
    def q_names(self) -> tuple[str, ...]:
        """A name for each entry of q."""

    @property
    @abstractmethod
    def v_names(self) -> tuple[str, ...]:
        """A name for each entry of v."""

    @property
    @abstractmethod
    def gravity(self) -> np.ndarray:
        """Gravity in world axes, (3,) [m/s^2], read-only."""

    @property
    @abstractmethod
    def total_mass(self) -> float:
        """Mass of everything that moves [kg]."""

    @property
    @abstractmethod
    def digest(self) -> str:
        """Hash of everything the dynamics depend on, a hexadecimal string."""

    @property
    @abstractmethod
    def methods(self) -> Mapping[str, type[Any]]:
        """The integrators it can be stepped by, the default first."""

    # of what only some have

    @property
    def input_names(self) -> tuple[str, ...]:
        """Names of the inputs that drive it over time, in their order."""
        return ()

    @property
    def joints(self) -> tuple[Any, ...]:
        """Its joints, with their limits."""
        return ()

    @property
    def joint_names(self) -> tuple[str, ...]:
        """Names of the joints."""
        return ()

    @property
    def prescribed_joint_names(self) -> tuple[str, ...]:
        """Names of the joints that are prescribed over time."""
        return ()

    @property
    def constraints(self) -> tuple[Any, ...]:
        """Its holonomic constraints, in the order of their multipliers."""
        return ()

    @property
    def loads(self) -> tuple[Any, ...]:
        """The loads that act beside gravity, damping and torque."""
        return ()

    @property
    def full(self) -> System:
        """The system that is stepped: itself, unless it is a reduced model."""
        return self

    @property
    def is_conservative(self) -> bool:
        """Whether its energy stays as it is while nothing drives it."""
        return False

    @property
    def is_dissipative(self) -> bool:
        """Whether damping, friction and resistance take its energy, and nothing else changes it, while undriven."""
        return False

    @property
    def is_free_floating(self) -> bool:
        """Whether nothing but gravity changes its spatial momentum while nothing drives it."""
        return False

    @property
    def degrees_of_freedom(self) -> int | None:
        """Number of its independent velocities; None with holonomic constraints, which may repeat each other."""
        return None if self.constraints else self.nv

    def require_invertible_mass_matrix(self, q: np.ndarray | None = None) -> None:  # noqa: B027 (most have accelerations)
        """Raise a ModelError if accelerations do not exist, anywhere or at q (nq,) [m or rad]."""

    # ---- states -----------------------------------------------------------------------------------

    @abstractmethod
    def neutral(self) -> np.ndarray:
        """Return a configuration to start from, (nq,) [m or rad]."""

    @property
    def start(self) -> np.ndarray:
        """The configuration (nq,) [m or rad] where runs start by default."""
        return self.neutral()

    @abstractmethod
    def validate_configuration(self, q: ArrayLike, name: str = "q") -> np.ndarray:
        """Return a checked copy of one configuration (nq,) [m or rad]; ``name`` is what errors call it."""

    def validate_velocity(self, v: ArrayLike, name: str = "v") -> np.ndarray:
        """Return a checked copy (nv,), units as given, of a velocity, momentum or force; errors call it ``name``."""
        return self._checked(v, self.nv, name).copy()

    def zero_velocity(self) -> np.ndarray:
        """Return a velocity of zeros, (nv,) [m/s or rad/s]."""
        return np.zeros(self.nv)

    def _checked(self, x: ArrayLike, size: int, name: str) -> np.ndarray:
        if isinstance(x, np.ndarray) and plain(x, size):
            return x
        return entries(x, (size,), name, f", as {self.name!r} has it (nq={self.nq}, nv={self.nv})")

    def _checked_stack(self, q: np.ndarray, name: str) -> np.ndarray:
        """Finite configurations (..., nq), each as ``validate_configuration`` has it."""
        found = np.empty_like(q)
        for at in np.ndindex(q.shape[:-1]):
            with in_row(at):
                found[at] = self.validate_configuration(q[at], name)
        return found

    def _rows(self, x: ArrayLike, size: int, name: str) -> np.ndarray:
        try:
            x = as_numbers(x)
        except TypeError as error:
            raise InputError(name, x, f"must be an array of rows of {size} numbers: it has {error}") from None
        if x.ndim != 2 or x.shape[1] != size:
            raise InputError(
                name, x,
                f"has shape {x.shape}; {self.name!r} needs (n, {size}), a row for each state (nq={self.nq}, "
                f"nv={self.nv})"
            )
        return x

    @abstractmethod
    def integrate(self, q: ArrayLike, dq: ArrayLike) -> np.ndarray:
        """Return the configuration (nq,) [m or rad] that a displacement in body axes leads to."""

    @abstractmethod
    def difference(self, q0: ArrayLike, q1: ArrayLike) -> np.ndarray:
        """Return the displacement (nv,) [m or rad] with ``integrate(q0, difference(q0, q1)) == q1``."""

    def frame_poses(self, q: ArrayLike) -> dict[str, np.ndarray]:
        """Return the pose in the world, (4, 4) [m], of each frame by name; a system without frames is not drawn."""
        return {}

    # ---- many states at once ----------------------------------------------------------------------

    @abstractmethod
    def _energies(self, q: np.ndarray, v: np.ndarray) -> np.ndarray:
        """Return energies, momentum and centre of mass of rows of states q (n, nq), v (n, nv).

        Returns
        -------
        (n, 11) array
            Kinetic and potential energy [J]; angular momentum about the world's origin [kg m^2/s] and linear momentum
            [kg m/s], world axes; centre of mass [m].
        """

    @abstractmethod
    def _momenta(self, q: np.ndarray, v: np.ndarray) -> np.ndarray:
        """Return the momenta (n, nv) [kg m/s or kg m^2/s] of rows of states q (n, nq), v (n, nv)."""

    @abstractmethod
    def _velocities(self, q: np.ndarray, p: np.ndarray) -> np.ndarray:
        """Return the velocities (n, nv) [m/s or rad/s] of rows of configurations q (n, nq) and momenta p (n, nv)."""

    @of_states
    def generalized_momentum(self, q: ArrayLike, v: ArrayLike) -> np.ndarray:
        """Return the momentum (..., nv) [kg m/s or kg m^2/s] of a velocity v (..., nv) at q (..., nq)."""
        return self._momenta(as_rows(q), as_rows(v)).reshape(np.shape(v))

    def _constraint_rows(self, q: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return h (n, m) [m or rad] and its slopes Dh (n, m, nv) of the holonomic constraints at rows q (n, nq)."""
        return np.zeros((len(q), 0)), np.zeros((len(q), 0, self.nv))

    def _facing_cosines(self, q: np.ndarray) -> np.ndarray:
        """Return a cosine for each holonomic constraint (n, m) at rows q (n, nq): 1 if it is closed the right way."""
        return np.ones((len(q), len(self.constraints)))

    def _constraint_errors(self, q: np.ndarray) -> np.ndarray:
        """Return how far the holonomic constraints are from holding at rows q (n, nq), (n, m) [m or rad]."""
        return self._constraint_rows(q)[0]

    @on_stacks
    @finite_result
    def constraint_errors(self, q: ArrayLike) -> np.ndarray:
        """Return how far the holonomic constraints are from holding at q (..., nq), (..., m) [m or rad].

        Where directions must face the same way and face opposite ways, it is 2 - abs(h) with the sign of h, and h the
        sine of the angle between them.
        """
        return self._constraint_errors(as_rows(q)).reshape(*np.shape(q)[:-1], len(self.constraints))

    @on_stacks
    @finite_result
    def constraint_jacobian(self, q: ArrayLike) -> np.ndarray:
        """Return the Jacobian of the holonomic constraints by v, (..., m, nv) [-, m/rad or rad/m], at q (..., nq)."""
        return self._constraint_rows(as_rows(q))[1].reshape(*np.shape(q)[:-1], len(self.constraints), self.nv)

    def _constrained_velocities(self, q: np.ndarray, p: np.ndarray, rates: np.ndarray | None = None) -> np.ndarray:
        """Return the velocities (n, nv) [m/s or rad/s] that the constraints allow, of rows q (n, nq) and p (n, nv).

        ``rates`` (n, nv): its entries of prescribed coordinates are those of the result.
        """
        return self._velocities(q, p)


def set_once(self: System, name: str, value: object) -> None:
    """Set an attribute of a system that never changes: its constructor gives each attribute one value."""
    if name in vars(self):
        raise AttributeError(f"{name} of {self.name!r} cannot be set: a system never changes; make another one")
    object.__setattr__(self, name, value)


def _taking_rows(method: Callable[..., R]) -> Callable[..., R]:
    """Return the method with its arguments as checked arrays of rows, as many of each."""
    signature = inspect.signature(method)
    widths = [(name, WIDTHS[name]) for name in list(signature.parameters)[1:]]
    called = method.__name__.removeprefix("_")

    @functools.wraps(method)
    def checked(self: System, *given: ArrayLike, **more: ArrayLike) -> R:
        if more or len(given) != len(widths):
            given = signature.bind(self, *given, **more).args[1:]
        rows: list[np.ndarray] = []
        for (name, width), x in zip(widths, given, strict=False):
            if x is None and name == "rates":
                continue
            rows.append(self._rows(x, getattr(self, width), name))
            if len(rows[-1]) != len(rows[0]):
                raise InputError(f"{called}() takes as many rows of each, not {len(rows[0])} rows of "
                                 f"{widths[0][0]}, {len(rows[-1])} rows of {name}")  # fmt: skip
        with np.errstate(all="ignore"):  # numbers too large for a double are infinite in the result
            try:
                return method(self, *rows)
            except np.linalg.LinAlgError:
                named_rows = {name: x for (name, _), x in zip(widths, rows, strict=False)}
                raise no_result(self, called, named_rows) from None

    return checked


def _check_rows(cls: type) -> None:
    """Let the methods of a class that take rows check them."""
    for name in OF_ROWS:
        if name in vars(cls):
            setattr(cls, name, _taking_rows(vars(cls)[name]))


_check_rows(System)


def freedom_of(system: System) -> str:
    """Return the degrees of freedom in words, or the number of velocities and of constraints on them."""
    count, held = system.degrees_of_freedom, len(system.constraints)
    if count is None:
        return f"{system.nv} velocities and {held} constraint{'s' * (held != 1)} on them"
    free = f"{count} degree{'s' * (count != 1)} of freedom"
    return free if count == system.nv else f"{system.nv} velocities, {free}"
