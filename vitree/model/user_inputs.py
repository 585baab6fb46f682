"""What users give a model: loads and constraints written in Python, inputs, joint forces and motions over time."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Protocol, Self

import numpy as np
from numpy.typing import ArrayLike

from vitree.arguments import Asked, as_numbers, axes_of, entries, generator, mapping, shown
from vitree.errors import CallableError, InputError, ModelError, UnknownNameError
from vitree.mechanism.flat import Flat
from vitree.mechanism.index import Index
from vitree.model.system import System

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

    def renamed(self, rename: Callable[[str], str]) -> Self:
        """Return this for a tree to which its own is attached, where ``rename`` maps names of frames and joints.

        Raises
        ------
        ModelError
            Unless a subclass has this method: what is written in Python may use names, and places in q, that are others
            in the joined tree.
        """
        raise ModelError(f"{self.name} is written in Python and has no renamed(self, rename), which returns it with "
                         "the names of the joined tree; give it one, or add it to the joined tree")  # fmt: skip


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

# ---- signals that drive a simulation: inputs of loads, and the motion of prescribed coordinates ------------


#: Inputs as people give them: numbers, a function (t, q, v), or numbers and functions of t by name.
Inputs = ArrayLike | Callable[..., ArrayLike] | Mapping[str, object] | None
#: A function of t that returns coordinate, rate and acceleration.
_MotionOf = Callable[[float], tuple[float, float, float]]


def resolve_inputs(model: System, inputs: object) -> np.ndarray | Callable[..., np.ndarray] | None:
    """Return inputs as steppers take them: None, (nu,), (steps, nu) or a callable (t, q, v) -> (nu,).

    They are given so, or by names: numbers, arrays (steps,) or callables of t; inputs that are left out are zero.
    Raises an InputError or UnknownNameError if they are others.
    """
    names = model.input_names
    if inputs is None:
        return None
    if callable(inputs):
        return Asked(inputs, "inputs", "(t, q, v)", (len(names),))
    if isinstance(inputs, Mapping):
        for name in inputs:
            if name not in names:
                raise UnknownNameError("input", name, names, argument="inputs")
        given: list[Any] = [_signal(inputs.get(name, 0.0), name) for name in names]
        if any(callable(x) for x in given):
            if any(np.ndim(x) for x in given if not callable(x)):
                raise InputError("inputs", inputs, "mixes callables with arrays over time; give one kind of them")
            return lambda t, q, v: np.array([x(t) if callable(x) else x for x in given], dtype=float)
        try:
            inputs = np.column_stack(np.broadcast_arrays(*given)) if any(np.ndim(x) for x in given) else given
        except ValueError as error:
            raise InputError("inputs", inputs, f"has arrays of different lengths: {error}") from None
    try:
        array = as_numbers(inputs).copy()
    except TypeError as error:
        raise InputError("inputs", inputs, f"must be numbers; it has {error}") from None
    if array.ndim not in (1, 2) or array.shape[-1] != len(names):
        listed = f" ({', '.join(names)})" if names else ""
        raise InputError(
            "inputs", inputs,
            f"has shape {array.shape}; it must be ({len(names)},) or (steps, {len(names)}) for {len(names)} "
            f"inputs{listed}"
        )
    if not np.isfinite(array).all():
        raise InputError("inputs", inputs, "must be finite; they contain NaN or infinity")
    return array


def _signal(signal: object, name: str) -> np.ndarray | Asked:
    """One input of a mapping: numbers, or a callable of t."""
    what = f'inputs["{name}"]'
    if callable(signal):
        return Asked(signal, what, "(t)", ())
    try:
        return as_numbers(signal)
    except TypeError as error:
        raise InputError(f"{what} must be numbers or a callable of t; it has {error}") from None


class LimitedTorque:
    """Joint forces, each cut to the effort limit of its joint.

    Raises an InputError if there is torque on a joint whose effort limit is not positive; a callable then raises when
    it is asked.

    Parameters
    ----------
    model : System
        Its ``joints`` have the limits, inf where there is none.
    torque : (nv,) or (steps, nv) array, or callable (t, q, v) -> (nv,) array
        Joint forces [N or N m].

    Attributes
    ----------
    torque : array or callable
        The same within the limits.
    asked : int
        Number of calls so far; one for constant joint forces, or the number of rows.
    cut : (nv,) array
        Number of calls in which each entry was cut.
    """

    def __init__(self, model: System, torque: ArrayLike | Callable[..., ArrayLike]):
        self.limits = np.full(model.nv, np.inf)
        for joint in model.joints:
            if joint.effort:
                self.limits[joint.v_slice] = joint.effort
        self.names = model.v_names
        self.asked, self.cut = 0, np.zeros(model.nv, dtype=int)
        if callable(torque):
            self._given = Asked(torque, "torque", "(t, q, v)", (model.nv,))
            self.torque: np.ndarray | Callable[..., np.ndarray] = self._ask
        elif axes_of(torque) >= 2:
            self.torque = np.array([self._within(row) for row in as_numbers(torque)])
        else:
            self.torque = self._within(model.validate_velocity(torque, "torque"))

    def _within(self, torque: np.ndarray, error: type[InputError] = InputError) -> np.ndarray:
        idle = np.flatnonzero((self.limits <= 0) & (torque != 0))
        if len(idle):
            names = ", ".join(f'"{self.names[k]}"' for k in idle[:10])
            names += f" and {len(idle) - 10} more" * (len(idle) > 10)
            raise error(
                "with effort_limits=True there is torque on joints whose effort limit is not positive: "
                f"{names}. Give these joints a limit where they are made (effort=, or <limit effort>), inf for "
                "none, or leave effort_limits out"
            )
        self.asked += 1
        self.cut += np.abs(torque) > self.limits
        found: np.ndarray = np.clip(torque, -self.limits, self.limits)
        return found

    def cut_to(self, torque: np.ndarray) -> np.ndarray:
        """Return joint forces (nv,) [N or N m] within the limits.

        Raises an InputError if there is torque on a joint whose effort limit is not positive.
        """
        return self._within(torque)

    def _ask(self, t: float, q: np.ndarray, v: np.ndarray) -> np.ndarray:
        return self._within(self._given(t, q, v), CallableError)

    def shares(self) -> dict[str, float]:
        """Return the fraction of calls in which an entry was cut, by its name, for the entries that were."""
        return {name: float(cut / self.asked) for name, cut in zip(self.names, self.cut, strict=True) if cut}


class Motion:
    """The motion of a model's prescribed coordinates.

    Parameters
    ----------
    model : System
    prescribed : mapping of joint name to array or callable
        An array has the coordinate at each step's ends, (steps + 1,) or more. A callable takes t [s] and returns the
        coordinate, or (coordinate, rate, acceleration); missing rates are taken by differences.
        Coordinates that are not named rest where they start.

    Raises
    ------
    UnknownNameError, InputError
    """

    def __init__(self, model: Any, prescribed: Mapping[str, object] | None):
        self.names = model.prescribed_joint_names
        self.iq = np.array([model.joint(name).q_slice.start for name in self.names], dtype=int)
        self.iv = np.array([model.joint(name).v_slice.start for name in self.names], dtype=int)
        self.prescribed = mapping(prescribed, "prescribed", "a mapping of names of joints to motions")
        for name in self.prescribed:
            if name not in self.names:
                model.joint(name)
                raise InputError(
                    f'"{name}" is not prescribed in "{model.name}"; make it so where it is built, as in '
                    f'tx("{name}", kinematic=True)'
                )
        self.functions: list[_MotionOf] = []

    @property
    def rows_given(self) -> int | None:
        """How many rows the shortest array has; None if there are callables alone."""
        counts = [len(x) for name in self.names if (x := self.prescribed.get(name)) is not None and not callable(x)
                  and np.ndim(x) == 1]  # fmt: skip
        return min(counts) if counts else None

    def plan(self, q0: np.ndarray, ends: np.ndarray, dt: float) -> None:
        """Fix the times at which steps begin and end, (steps + 1,), and where unnamed coordinates rest.

        ``dt`` [s] is the step, if all are equal but for rounding errors.
        """
        self.ends = ends
        self.shortest = float(np.diff(ends).min())
        if abs(self.shortest - dt) <= 1e-6 * dt:
            self.shortest = dt
        self.functions = [self._function(name, q0[iq]) for name, iq in zip(self.names, self.iq, strict=True)]

    def _function(self, name: str, rest: float) -> _MotionOf:
        motion = self.prescribed.get(name)
        if motion is None:
            return lambda t: (rest, 0.0, 0.0)
        if callable(motion):
            asked = Asked(motion, f'the motion of "{name}"', "(t)", (), (3,),
                          needs="return q or (q, rate, acceleration)")  # fmt: skip
            return lambda t: _with_rates(asked, t, min(1e-3, max(self.shortest, 2e-4)))
        try:
            nodes = as_numbers(motion)
        except TypeError as error:
            raise InputError(f'the motion of "{name}" must be numbers, or a callable of t; it has {error}') from None
        steps = len(self.ends) - 1
        if nodes.ndim != 1 or len(nodes) < steps + 1 or not np.isfinite(nodes).all():
            raise InputError(
                f'the motion of "{name}" must be {steps + 1} finite numbers, one at each end of {steps} '
                f"steps (or more); it has shape {nodes.shape}"
            )
        nodes = nodes[: steps + 1]
        from scipy.interpolate import make_interp_spline

        spline = make_interp_spline(self.ends, nodes, k=min(5, (len(nodes) - 2) | 1))
        rate = spline.derivative(1)
        # a few steps are straight lines
        acceleration: Callable[[float], float] = spline.derivative(2) if spline.k > 1 else lambda t: 0.0

        def sampled(t: float) -> tuple[float, float, float]:
            k = int(np.abs(self.ends - t).argmin())
            q = nodes[k] if abs(self.ends[k] - t) < 1e-9 * max(self.shortest, abs(t)) else float(spline(t))
            return q, float(rate(t)), float(acceleration(t))

        return sampled

    def at(self, t: float) -> np.ndarray:
        """Return (3, n) of coordinates, rates and accelerations at a time."""
        return np.array([f(t) for f in self.functions], dtype=float).reshape(-1, 3).T

    def accelerations(self, t: np.ndarray, v: np.ndarray) -> np.ndarray:
        """Return accelerations (n, nv) at times of records: of callables theirs, else the slopes of recorded rates.

        ``v`` (n, nv) are the velocities there; entries that are not prescribed are zero.
        """
        out = np.zeros_like(v)
        for name, k, function in zip(self.names, self.iv, self.functions, strict=True):
            if callable(self.prescribed.get(name)):
                out[:, k] = [function(x)[2] for x in t]
            elif len(t) > 1:
                out[:, k] = np.gradient(v[:, k], t, edge_order=2 if len(t) > 2 else 1)
        return out

    def rows(self, within: Sequence[float] | np.ndarray) -> np.ndarray:
        """Return (len(within) steps + 1, 3, n): the motion at these shares of each step, and at the end."""
        times = np.append((self.ends[:-1, None] + np.diff(self.ends)[:, None] * within).ravel(), self.ends[-1])
        return np.ascontiguousarray([self.at(t) for t in times]).reshape(len(times), 3, len(self.names))

    def start(self, q0: np.ndarray, v0: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return (q0, v0) with the prescribed rates; check that q0 is where the motion starts.

        Raises
        ------
        InputError
        """
        q, v, _ = self.at(self.ends[0])
        v0 = v0.copy()
        for k, name in enumerate(self.names):
            if abs(q0[self.iq[k]] - q[k]) > 1e-9 * max(1.0, abs(q[k])):
                given, starts = q0[self.iq[k]], q[k]
                raise InputError("q0", q0, f'has "{name}" at {given:.9g}, but its motion starts at {starts:.9g}')
            if v0[self.iv[k]] != 0.0 and abs(v0[self.iv[k]] - v[k]) > 1e-6 * max(1.0, abs(v[k])):
                raise InputError(
                    "v0", v0,
                    f'gives "{name}" the rate {v0[self.iv[k]]:.6g}, but it moves as prescribed, by {v[k]:.6g}; leave '
                    "it zero"
                )
        v0[self.iv] = v
        return q0, v0


def _with_rates(motion: Asked, t: float, e: float) -> tuple[float, float, float]:
    """Return coordinate, rate and acceleration of a callable; without rates, by fourth-order differences."""
    value = motion(t)
    if value.ndim:
        return float(value[0]), float(value[1]), float(value[2])
    near = Asked(motion.function, motion.name, motion.takes, ())
    q = [float(value) if k == 0 else float(near(t + k * e)) for k in (-2, -1, 0, 1, 2)]
    rate = (q[0] - 8 * q[1] + 8 * q[3] - q[4]) / (12 * e)
    acceleration = (-q[0] + 16 * q[1] - 30 * q[2] + 16 * q[3] - q[4]) / (12 * e * e)
    if not np.isfinite((rate, acceleration)).all():
        raise motion.error(f"moves at the rate {rate} with the acceleration {acceleration}; both must be finite", (t,))
    return q[2], rate, acceleration
