"""Loads and constraints that are written in Python."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from typing import Any, Protocol

import numpy as np
from numpy.typing import ArrayLike

from vitree.arguments import Asked, as_numbers, entries, generator, shown
from vitree.errors import InputError
from vitree.mechanism.flat import Flat
from vitree.mechanism.index import Index

# ---- mechanism: the part of a model that functions of a model use ------------------------------------------


class Mechanism(Protocol):
    """What a load or constraint written in Python may ask of the model that it is given, in parts.

    :class:`vitree.Model` says what each is, and has more.
    """

    flat: Flat
    index: Index

    @property
    def nv(self) -> int: ...
    @property
    def v_names(self) -> tuple[str, ...]: ...
    @property
    def input_names(self) -> tuple[str, ...]: ...
    def random_configuration(self, rng: np.random.Generator | None = None) -> np.ndarray: ...
    def validate_configuration(self, q: ArrayLike, name: str = "q") -> np.ndarray: ...
    def validate_velocity(self, v: ArrayLike, name: str = "v") -> np.ndarray: ...
    def integrate(self, q: ArrayLike, dq: ArrayLike) -> np.ndarray: ...
    def body_poses(self, q: ArrayLike) -> np.ndarray: ...
    def _pose_rows(self, q: np.ndarray) -> np.ndarray: ...
    def frame_pose(self, name: str, q: ArrayLike) -> np.ndarray: ...
    def frame_jacobian(self, name: str, q: ArrayLike, axes: str = "world") -> np.ndarray: ...


# ---- loads and constraints written in Python: potentials, forces, constraints, and a check of their derivatives


#: Step of the central differences where a derivative is not given.
STEP = 6e-6


class Written(ABC):  # noqa: B024
    """Base of loads and constraints written in Python. ``model`` is the one that the tree was compiled to."""

    @property
    def name(self) -> str:
        """Name for messages."""
        return type(self).__name__

    @property
    def content(self) -> str:
        """Class and attributes as a text, for the model's digest."""
        values = {k: x.tolist() if isinstance(x, np.ndarray) else x for k, x in vars(self).items()}
        return f"{type(self).__module__}.{type(self).__qualname__} {sorted(values.items())!r}"


# The notes of Potential and Constraint are the same, since the reference shows each class alone.


class Potential(Written):
    """A potential energy V(q) of your own; give ``energy``, and the derivatives if you can.

    Notes
    -----
    Methods are given

    model : Model
        The one that the tree was compiled to.
    q : (nq,) array
        Configuration [m or rad].
    """

    @abstractmethod
    def energy(self, model: Any, q: np.ndarray) -> float:
        """Return V [J]."""

    def gradient(self, model: Any, q: np.ndarray) -> np.ndarray:
        """Return dV/dq by body displacements, (nv,) [N or N m]."""
        return by_displacement(model, q, lambda at: self.energy(model, at))

    def hessian(self, model: Any, q: np.ndarray) -> np.ndarray:
        """Return the derivative of the gradient by displacements, (nv, nv) [N or N m, per m or rad]."""
        return by_displacement(model, q, lambda at: self.gradient(model, at)).T


class Force(Written):
    """A generalised force of your own; give ``force``, and the derivatives if you can.

    Notes
    -----
    Methods are given

    model : Model
        The one that the tree was compiled to.
    t : float
        Time [s].
    q : (nq,) array
        Configuration [m or rad].
    v : (nv,) array
        Velocity [m/s or rad/s].
    u : (nu,) array
        Values of ``model.input_names``, units as you take them.
    """

    @abstractmethod
    def force(self, model: Any, t: float, q: np.ndarray, v: np.ndarray, u: np.ndarray) -> np.ndarray:
        """Return the force on the joints, (nv,) [N or N m]; its power is force @ v."""

    def by_q(self, model: Any, t: float, q: np.ndarray, v: np.ndarray, u: np.ndarray) -> np.ndarray:
        """Return d force / dq by body displacements, (nv, nv) [N or N m, per m or rad]: row i is of force i."""
        return by_displacement(model, q, lambda at: self.force(model, t, at, v, u)).T

    def by_v(self, model: Any, t: float, q: np.ndarray, v: np.ndarray, u: np.ndarray) -> np.ndarray:
        """Return d force / dv, (nv, nv) [N s/m or N m s/rad]."""
        return differences(lambda at: self.force(model, t, q, at, u), v, model.nv).T


class Constraint(Written):
    """A holonomic constraint value(q) = 0 of your own; give ``value``, and the gradient if you can.

    Notes
    -----
    Methods are given

    model : Model
        The one that the tree was compiled to.
    q : (nq,) array
        Configuration [m or rad].
    """

    @abstractmethod
    def value(self, model: Any, q: np.ndarray) -> float:
        """Return h, how far the constraint is off [m, rad or -]."""

    def gradient(self, model: Any, q: np.ndarray) -> np.ndarray:
        """Return dh/dq by body displacements, (nv,), in units of h per m or rad."""
        return by_displacement(model, q, lambda at: self.value(model, at))


def answer(part: Written, method: str, shape: tuple[int, ...], *arguments: object) -> np.ndarray:
    """Return the answer of a method of a load or constraint of the user's, checked to have a shape.

    Raises a CallableError if the method raises, or returns other things; the text names class and method.
    """
    timed = isinstance(part, Force)
    asked = Asked(lambda *rest: getattr(part, method)(arguments[0], *rest), f"{method} of {part.name}", "", shape,
                  timed=timed)  # fmt: skip
    found: np.ndarray = asked(*arguments[1:])
    return found


def by_displacement(model: Mechanism, q: np.ndarray, f: Callable[[np.ndarray], ArrayLike]) -> np.ndarray:
    """Return the derivatives of f(q) by the body displacements of q, (nv, ...), by central differences."""
    return differences(f, q, model.nv, model.integrate)


def differences(
    f: Callable[[np.ndarray], ArrayLike], x: np.ndarray, n: int, moved: Callable[..., np.ndarray] = np.add
) -> np.ndarray:
    """Return (f(x + h e) - f(x - h e))/2h for the n unit displacements e, (n, ...); ``moved`` adds a displacement."""
    ends = [as_numbers(f(moved(x, s * e))) for e in STEP * np.eye(n) for s in (1, -1)]
    found: np.ndarray = (np.array(ends[::2]) - np.array(ends[1::2])) / (2 * STEP)
    return found


def check_derivatives(
    written: Written,
    model: Mechanism,
    q: ArrayLike | None = None,
    v: ArrayLike | None = None,
    u: ArrayLike | None = None,
    t: float = 0.0,
    rng: np.random.Generator | None = None,
) -> None:
    """Compare the derivatives that a load or constraint of your own gives with differences.

    Parameters
    ----------
    written : Potential, Force or Constraint
    model : Model
    q : (nq,) array, optional [m or rad]
        Where; at random if not given.
    v : (nv,) array, optional [m/s or rad/s]
        Likewise.
    u : (nu,) array, optional
        Inputs, units as the force takes them; zero if not given.
    t : float
        Time [s].
    rng : numpy.random.Generator, optional
        Generator that draws q and v.

    Raises
    ------
    InputError
        If one is off by more than 1e-5; the text names the derivative, its worst entry, and both values.
    """
    rng = np.random.default_rng(0) if rng is None else generator(rng)
    if not hasattr(model, "random_configuration"):
        raise InputError("model", model, f"is {shown(model)}; it must be a Model")
    t = float(entries(t, (), "t"))
    q = model.random_configuration(rng) if q is None else model.validate_configuration(q)
    v = rng.standard_normal(model.nv) if v is None else model.validate_velocity(v)
    u = np.zeros(len(model.input_names)) if u is None else entries(u, (len(model.input_names),), "u")
    pairs: list[tuple[str, Callable[[], ArrayLike], Callable[[], ArrayLike]]]
    if isinstance(written, Potential):
        pairs = [
            ("gradient", lambda: written.gradient(model, q), lambda: Potential.gradient(written, model, q)),
            ("hessian", lambda: written.hessian(model, q), lambda: Potential.hessian(written, model, q)),
        ]
    elif isinstance(written, Force):
        pairs = [
            ("by_q", lambda: written.by_q(model, t, q, v, u), lambda: Force.by_q(written, model, t, q, v, u)),
            ("by_v", lambda: written.by_v(model, t, q, v, u), lambda: Force.by_v(written, model, t, q, v, u)),
        ]
    elif isinstance(written, Constraint):
        pairs = [("gradient", lambda: written.gradient(model, q), lambda: Constraint.gradient(written, model, q))]
    else:
        raise InputError(f"give a Potential, Force or Constraint to check, not {written!r}")
    for what, given, differences in pairs:
        a, b = (Asked(f, f"{what} of {written.name}", "", timed=False)() for f in (given, differences))
        a, b = as_numbers(a), as_numbers(b)
        if a.shape != b.shape:
            raise InputError(f"{what} of {written.name} has shape {a.shape}; it must be {b.shape}")
        wrong = ~(np.abs(a - b) <= 1e-5 * max(1.0, np.abs(b).max(initial=0.0)))
        if wrong.any():
            at = tuple(int(k) for k in np.unravel_index(np.where(wrong, np.abs(a - b), 0.0).argmax(), a.shape))
            names = ", ".join(model.v_names[k] for k in at)
            raise InputError(
                f"{what} of {written.name}: entry {list(at)} ({names}) is {a[at]:.9g}, but differences give {b[at]:.9g}"
            )


#: A constraint and its gradient at q.
_Row = Callable[[np.ndarray], tuple[float, np.ndarray]]


class WrittenParts:
    """Loads and constraints written in Python, as the steppers ask them."""

    def __init__(self, model: Mechanism, loads: tuple[object, ...], constraints: tuple[object, ...]):
        self.model = model
        self.potentials = [x for x in loads if isinstance(x, Potential)]
        self.forces = [x for x in loads if isinstance(x, Force)]
        self.resting, self.moving = bool(self.potentials), bool(self.forces)
        own = [(k, c) for k, c in enumerate(constraints) if isinstance(c, Constraint)]
        self.constraints: list[tuple[int, _Row]] = [(k, self._rows_of(c)) for k, c in own]
        #: steps of differences along v; wider where the gradient is one by differences itself
        self.steps = {k: 1e-5 if type(c).gradient is not Constraint.gradient else 3e-4 for k, c in own}

    def _rows_of(self, constraint: Constraint) -> _Row:
        def row(q: np.ndarray) -> tuple[float, np.ndarray]:
            value = answer(constraint, "value", (), self.model, q)
            return float(value), answer(constraint, "gradient", (self.model.nv,), self.model, q)

        return row

    def _sum(self, shape: tuple[int, ...], parts: Sequence[Written], method: str, *state: object) -> np.ndarray:
        """Sum of the results of a method over several parts, each checked."""
        total = np.zeros(shape)
        for part in parts:
            total += answer(part, method, shape, self.model, *state)
        return total

    def rest(self, q: np.ndarray) -> np.ndarray:
        """Forces of the potentials, (nv,)."""
        return -self._sum((self.model.nv,), self.potentials, "gradient", q)

    def move(self, t: float, q: np.ndarray, v: np.ndarray, u: np.ndarray) -> np.ndarray:
        """Sum of the forces, (nv,)."""
        return self._sum((self.model.nv,), self.forces, "force", t, q, v, u)

    def energy(self, q: np.ndarray) -> float:
        """Sum of the potentials [J]."""
        return float(self._sum((), self.potentials, "energy", q))

    def hessian(self, q: np.ndarray) -> np.ndarray:
        """Derivatives of the potentials' forces by q, (nv, nv)."""
        return -self._sum((self.model.nv, self.model.nv), self.potentials, "hessian", q)

    def tangent(self, t: float, q: np.ndarray, v: np.ndarray, u: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Derivatives of all forces by q and by v, (nv, nv) each."""
        square = (self.model.nv, self.model.nv)
        by_q = self.hessian(q) + self._sum(square, self.forces, "by_q", t, q, v, u)
        return by_q, self._sum(square, self.forces, "by_v", t, q, v, u)

    def constraint_accelerations(self, q: np.ndarray, v: np.ndarray) -> list[tuple[int, float]]:
        """D2h(v, v) of each constraint, by differences of its gradient along v."""
        out = []
        for k, row in self.constraints:
            e = self.steps[k] / max(float(np.abs(v).max(initial=0.0)), 1e-300)
            ahead, behind = (row(self._moved(q, s * e * v))[1] for s in (1, -1))
            out.append((k, float((ahead - behind) @ v) / (2 * e)))
        return out

    def _moved(self, q: np.ndarray, step: np.ndarray) -> np.ndarray:
        return self.model.integrate(q, step)


def written_parts(model: Mechanism, loads: tuple[object, ...], constraints: tuple[object, ...]) -> WrittenParts | None:
    """Return the parts written in Python, or None if there are none."""
    if any(isinstance(x, Written) for x in (*loads, *constraints)):
        return WrittenParts(model, loads, constraints)
    return None


class Expanded(Protocol):
    """A model in Euler angles, and the one that it was made of."""

    @property
    def native(self) -> Mechanism: ...
    @property
    def nv(self) -> int: ...
    def to_native(self, q: ArrayLike, v: ArrayLike) -> tuple[np.ndarray, np.ndarray]: ...


class Mapped(WrittenParts):
    """The same for a model in Euler angles: asked in the native model's coordinates."""

    def __init__(self, euler: Expanded, loads: tuple[object, ...], constraints: tuple[object, ...]):
        super().__init__(euler.native, loads, constraints)
        self.euler = euler
        self.constraints = [(k, self._mapped_row(row)) for k, row in self.constraints]

    def _mapped_row(self, row: _Row) -> _Row:
        def mapped(q: np.ndarray) -> tuple[float, np.ndarray]:
            at, B = self._native(q)
            value, gradient = row(at)
            return value, np.ascontiguousarray(B.T @ gradient)

        return mapped

    def _native(self, qe: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """The native configuration, and the matrix of native velocities by expanded ones."""
        n = self.euler.nv
        q, v = self.euler.to_native(np.broadcast_to(qe, (n, len(qe))), np.eye(n))
        return np.ascontiguousarray(q[0]), v.T

    def rest(self, q: np.ndarray) -> np.ndarray:
        at, B = self._native(q)
        found: np.ndarray = B.T @ super().rest(at)
        return found

    def move(self, t: float, q: np.ndarray, v: np.ndarray, u: np.ndarray) -> np.ndarray:
        at, B = self._native(q)
        found: np.ndarray = B.T @ super().move(t, at, B @ v, u)
        return found

    def energy(self, q: np.ndarray) -> float:
        return super().energy(self._native(q)[0])

    def hessian(self, q: np.ndarray) -> np.ndarray:
        return np.ascontiguousarray(differences(self.rest, q, len(q)).T)

    def tangent(self, t: float, q: np.ndarray, v: np.ndarray, u: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        def total(at: np.ndarray, rate: np.ndarray) -> np.ndarray:
            found: np.ndarray = self.rest(at) + self.move(t, at, rate, u)
            return found

        by_q = differences(lambda at: total(at, v), q, len(q)).T
        by_v = differences(lambda rate: total(q, rate), v, len(v)).T
        return np.ascontiguousarray(by_q), np.ascontiguousarray(by_v)

    def _moved(self, q: np.ndarray, step: np.ndarray) -> np.ndarray:
        found: np.ndarray = q + step
        return found
