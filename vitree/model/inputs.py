"""What drives a model: its inputs, its torque and its prescribed motion over time."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from vitree.arguments import Asked, as_numbers, axes_of, mapping
from vitree.errors import CallableError, InputError, UnknownNameError
from vitree.model.system import System

# ---- signals that drive a simulation: inputs of loads, and the motion of prescribed coordinates ------------


#: Inputs as people give them: numbers, a function (t, q, v), or numbers and functions of t by name.
Inputs = ArrayLike | Callable[..., ArrayLike] | Mapping[str, object] | None
#: A function of t that returns coordinate, rate and acceleration.
_MotionOf = Callable[[float], tuple[float, float, float]]


def resolve_inputs(model: System, inputs: object) -> np.ndarray | Callable[..., np.ndarray] | None:
    """Return inputs as steppers take them: None, (nu,), (steps, nu) or a callable (t, q, v) -> (nu,).

    Parameters
    ----------
    inputs : None, array (nu,) or (steps, nu), callable (t, q, v) -> (nu,), or mapping
        A mapping takes names to numbers, arrays (steps,) or callables of t; inputs that it leaves out are zero.

    Raises
    ------
    InputError, UnknownNameError
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
        raise InputError("inputs", inputs, "must be finite; they hold NaN or infinity")
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
