"""What the bridges ask of vitree: steps of many instances, and gradients swept back over them.

All that they use of derivatives of steps is here.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from typing import NamedTuple

import numpy as np

from vitree.arguments import Keywords, whole
from vitree.bridges.coordinates import Coordinates
from vitree.bridges.smooth import Arrays, Point, Shape, Smooth
from vitree.errors import InputError, ModelError
from vitree.integrators.curvature import CLOSE, require_curvature, sizes
from vitree.integrators.slopes import UnexplainedError, kicks_of, require_explained, slopes
from vitree.model.model import Model
from vitree.run.arguments import Schedule
from vitree.run.controller import Control
from vitree.run.linearization import integrator_of, momentum_slopes
from vitree.run.rollout import rollout
from vitree.run.simulation import Simulation
from vitree.run.trajectory import Trajectory

#: How closely steps are solved if nothing else is asked for: the derivatives are those of solved steps.
TOLERANCE = 1e-12
#: Most numbers of the derivatives by states that are held at once, unless one step of all instances has more.
ENTRIES = 2**22


class Steps:
    """Steps of a model, forward and backward.

    Parameters
    ----------
    model : Model
    dt : float [s]
    method : str
    options : dict
        Of the method.

    Raises
    ------
    InputError, ModelError
        If these steps have no derivatives.
    """

    def __init__(self, model: Model, dt: float, method: str, options: Keywords):
        self._integrator = integrator_of(model, method, dt, options)
        self.model, self.method = model, method
        self.dt: float = Schedule.one(dt, False).dt
        self.options = {"tolerance": TOLERANCE, **options}
        self.nu = len(model.input_names)
        self.coordinates = Coordinates(model)
        self._turn = threading.Lock()
        if model.prescribed_joint_names:
            raise ModelError(f'"{model.name}" has prescribed coordinates, which the bridges do not support')
        more = (model.constraints, model.has_contact, model.written)
        #: whether states and inputs determine the derivatives of steps, so that any steps are linearised together;
        #: if not, each run is linearised by itself
        self.together = not any(more)
        #: the functions that bridges hand out: "run", "momentum", "velocity", "difference", "integrate"
        self.functions = self._functions()
        self._held = Simulation(model, dt=dt, method=method, **self.options) if self.together else None

    def __repr__(self) -> str:
        return f'<steps of "{self.model.name}" by {self.method}, dt = {self.dt:g} s>'

    # ---- arguments -------------------------------------------------------------------------------------

    def sizes(self, shapes: Mapping[str, Shape | None], steps: object = None, one: bool = False) -> tuple[Shape, int]:
        """Return the leading axes that arguments of these shapes have together, and the number of steps.

        Raises an InputError if shapes do not fit; the text says which.

        Parameters
        ----------
        shapes : mapping
            Of arguments, by name; None for what is not given.
        steps : int, optional
            None if rows say it.
        one : bool
            Whether torque and inputs are those of one step, and have no axis of steps.
        """
        model, leading, rows = self.model, [], {}
        wanted = dict.fromkeys(("q", "q0", "q1"), model.nq) | dict.fromkeys(("p", "v", "d", "torque"), model.nv)
        wanted["inputs"] = self.nu
        given = {name: shape for name, shape in shapes.items() if shape is not None}
        for name, shape in given.items():
            size = wanted[name]
            driven = name in ("torque", "inputs") and not one
            if len(shape) < 1 + driven or shape[-1] != size:
                needed = f"(..., steps, {size})" if driven else f"(..., {size})"
                raise InputError(f"{name} has shape {shape}; it must be {needed}, as {model.name!r} has it")
            leading.append(shape[: -1 - driven])
            if driven:
                rows[name] = shape[-2]
        try:
            batch = np.broadcast_shapes(*leading)
        except ValueError:
            told = ", ".join(f"{name} {shape}" for name, shape in given.items())
            raise InputError(f"the leading axes of {told} do not go together") from None
        if one:
            return batch, 1
        asked = whole(steps)
        if steps is not None and (asked is None or asked < 1):
            raise InputError("steps", steps, "must be a positive whole number")
        counts = {*rows.values()} | ({asked} if asked is not None else set())
        if len(counts) != 1:
            raise InputError(
                "give steps, or torque or inputs with a row for each step" if not counts else
                f"torque, inputs and steps= name different numbers of steps: {', '.join(map(str, sorted(counts)))}"
            )  # fmt: skip
        count = counts.pop()
        if count < 1:
            raise InputError("torque and inputs must have a row for each step, and one at least")
        return batch, count

    def require_finite(self, given: dict[str, np.ndarray]) -> None:
        """Raise an InputError that names the argument, and the row of it, if a number is not finite."""
        for name, x in given.items():
            if not np.isfinite(x).all():
                place = tuple(int(k) for k in np.argwhere(~np.isfinite(x))[0])
                raise InputError(f"{name} has an entry {x[place]} in row {place[0]}; all entries must be finite")

    # ---- there and back --------------------------------------------------------------------------------

    def forward(self, q: np.ndarray, p: np.ndarray, torque: np.ndarray, inputs: np.ndarray) -> Course:
        """Take steps.

        Raises an InputError if a number is not finite, and a ConvergenceError if a step cannot be solved.

        Parameters
        ----------
        q, p : (n, nq) and (n, nv) arrays [m or rad, kg m/s or kg m^2/s]
            Starts; quaternions of any length.
        torque, inputs : (n, steps, nv) and (n, steps, nu) arrays [N or N m, units as the loads take them]
        """
        self.require_finite({"q": q, "p": p, "torque": torque, "inputs": inputs})
        start = self.coordinates.normalized(q)
        if not self.together:
            runs = [self.run(start[k], p[k], torque[k], inputs[k]) for k in range(len(q))]
            return Course(self, q, np.array([x.q for x in runs]), np.array([x.p for x in runs]), torque, inputs, runs)
        if len(q) == 1:
            found = self._alone(start[0], p[0], torque[0], inputs[0])
            return Course(self, q, found.q[None], found.p[None], torque, inputs)
        steps = torque.shape[1]
        control = Control(torque=torque, inputs=inputs if self.nu else None)
        many = rollout(self.model, start, p0=p, duration=steps * self.dt, dt=self.dt, method=self.method,
                       control=control, record=("q", "p"), **self.options)  # fmt: skip
        many.raise_failed()
        return Course(self, q, many.q, many.p, torque, inputs)

    def _alone(self, q: np.ndarray, p: np.ndarray, torque: np.ndarray, inputs: np.ndarray) -> States:
        """Return the states at the nodes of the steps of one instance."""
        with self._turn:
            found = States(np.empty((len(torque) + 1, len(q))), np.empty((len(torque) + 1, len(p))))
            assert self._held is not None
            self._held.reset(q, p0=p)
            for k in range(len(torque) + 1):
                if k:
                    self._held.step(control=Control(torque=torque[k - 1], inputs=inputs[k - 1] if self.nu else None))
                found.q[k], found.p[k] = self._held.q, self._held.p
            return found

    def run(self, q: np.ndarray, p: np.ndarray, torque: np.ndarray, inputs: np.ndarray) -> Trajectory:
        """Return the run of one instance, with all that is recorded of it."""
        held = Simulation(self.model, q, p0=p, dt=self.dt, method=self.method, record_every=1, **self.options)
        for k in range(len(torque)):
            held.step(control=Control(torque=torque[k], inputs=inputs[k] if self.nu else None))
        return held.trajectory

    def derivatives(self, q: np.ndarray, q2: np.ndarray, p: np.ndarray, p2: np.ndarray, u: np.ndarray) -> Derivatives:
        """Return those of steps (rows, 2 nv, ...) of any instances, from their states and inputs (rows, ...)."""
        q, q2, p, u = (np.ascontiguousarray(x) for x in (q, q2, p, u))
        found = slopes(self._integrator, q, q2, p, u)
        require_explained(self.model, self.dt, found, p, p2)
        return Derivatives(found.A, found.by_torque(), found.by_kicks(kicks_of(self.model, found)))

    # ---- functions with derivatives --------------------------------------------------------------------

    def _functions(self) -> dict[str, Smooth]:
        """Return the functions that bridges hand out, by their names there."""
        nq, nv = self.model.nq, self.model.nv

        def at(*rows: np.ndarray) -> Point:
            course = self.forward(*rows)
            return Point((course.q, course.p), lambda t: course.pushforward(*t), lambda b: course.pullback(*b))

        def nodes(shapes: Sequence[Shape]) -> tuple[Shape, ...]:
            count = shapes[2][-2] + 1
            return (count, nq), (count, nv)

        run = Smooth(("q", "p", "torque", "inputs"), at, (1, 1, 2, 2), nodes, self._sizes, self._require_second)
        return {
            "run": run,
            "momentum": self._map(("q", "v"), self.momenta, self._momenta_by),
            "velocity": self._map(("q", "p"), self.velocities, self._velocities_by),
            "difference": self._map(("q0", "q1"), self.differences, self._differences_by),
            "integrate": self._map(("q", "d"), self.displaced, self._displaced_by, nq),
        }

    def _map(self, names: tuple[str, str], value: Callable[[np.ndarray, np.ndarray], np.ndarray],
             by: Callable[[np.ndarray, np.ndarray, np.ndarray], tuple[np.ndarray, np.ndarray]],
             size: int | None = None) -> Smooth:  # fmt: skip
        """Return a function of two arrays (n, ...) from its value and its derivatives (n, size, ...)."""

        def at(a: np.ndarray, b: np.ndarray) -> Point:
            self.require_finite(dict(zip(names, (a, b), strict=True)))
            y = value(a, b)
            J = cache(lambda: by(a, b, y))

            def push(t: Arrays) -> Arrays:
                by_a, by_b = (one.swapaxes(1, 2) for one in J())
                return (_times(t[0], by_a) + _times(t[1], by_b),)

            def pull(bars: Arrays) -> Arrays:
                return tuple(_times(bars[0], one) for one in J())

            return Point((y,), push, pull)

        def sizes_of(x: Arrays, point: Point, w: Arrays) -> np.ndarray:
            # momenta and velocities are linear in their second argument
            bent = [self._reach(x[0], w[0])]
            if names[1] == "q1":
                bent.append(self._reach(x[1], w[1]))
            elif names[1] == "d":
                bent.append(np.abs(w[1]).max(axis=1, initial=0.0))
            return _inverse(np.max(bent, axis=0) / CLOSE.apart)

        return Smooth(names, at, (1, 1), lambda _: ((size or self.model.nv,),), sizes_of, lambda: None)

    def _sizes(self, x: Arrays, point: Point, w: Arrays) -> np.ndarray:
        """Return how far differences go along directions (q, p, torque, inputs) of runs, (n,)."""
        dQ = point.push(w)[0]
        n, count = dQ.shape[:2]
        Q = np.broadcast_to(point.value[0], dQ.shape)
        d = self.coordinates.displaced_by(Q.reshape(n * count, -1), dQ.reshape(n * count, -1)).reshape(n, count, -1)
        q, q2, d1, d2 = (y[:, at].reshape(n * (count - 1), -1)
                         for y in (Q, d) for at in (slice(0, -1), slice(1, None)))  # fmt: skip
        each = sizes(self.model, q, q2, d1[:, None], d2[:, None], self.dt, CLOSE.apart).reshape(n, count - 1)
        found: np.ndarray = np.minimum(each.min(axis=1), _inverse(self._reach(x[0], w[0]) / CLOSE.apart))
        return found

    def _require_second(self) -> None:
        require_curvature(self.model)

    def _reach(self, q: np.ndarray, w: np.ndarray) -> np.ndarray:
        """Return the largest entries (n,) of changes of coordinates, relative to the lengths of quaternions."""
        far = np.abs(w)
        for at, _ in self.coordinates.turns:
            far[:, at : at + 4] /= np.linalg.norm(q[:, at : at + 4], axis=1, keepdims=True)
        found: np.ndarray = far.max(axis=1, initial=0.0)
        return found

    def differences(self, q0: np.ndarray, q1: np.ndarray) -> np.ndarray:
        """Return the displacements (n, nv) from q0 to q1, of quaternions of any length."""
        return self.model.difference(*map(self.coordinates.normalized, (q0, q1)))

    def _differences_by(self, q0: np.ndarray, q1: np.ndarray, d: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        by_q0, by_q1 = self.coordinates.of_differences(d)
        return by_q0 @ self.coordinates.displacements(q0), by_q1 @ self.coordinates.displacements(q1)

    def displaced(self, q: np.ndarray, d: np.ndarray) -> np.ndarray:
        """Return q (n, nq) displaced by d (n, nv), of quaternions of any length."""
        return self.model.integrate(self.coordinates.normalized(q), d)

    def _displaced_by(self, q: np.ndarray, d: np.ndarray, found: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        E = self.coordinates.by_displacements(found)
        by_q, by_d = self.coordinates.of_displaced(d)
        return E @ by_q @ self.coordinates.displacements(q), E @ by_d

    def momenta(self, q: np.ndarray, v: np.ndarray) -> np.ndarray:
        """Return p = M(q) v (n, nv), of quaternions of any length."""
        return self.model.generalized_momentum(self.coordinates.normalized(q), v)

    def _momenta_by(self, q: np.ndarray, v: np.ndarray, p: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        by_q, M = momentum_slopes(self.model, self.coordinates.normalized(q), v)
        return by_q @ self.coordinates.displacements(q), M

    def velocities(self, q: np.ndarray, p: np.ndarray) -> np.ndarray:
        """Return v = M(q)^-1 p (n, nv), of quaternions of any length."""
        return self.model.velocity_from_momentum(self.coordinates.normalized(q), p)

    def _velocities_by(self, q: np.ndarray, p: np.ndarray, v: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        by_q, M = self._momenta_by(q, v, p)
        inverse = np.linalg.inv(M)
        return -inverse @ by_q, inverse


def _inverse(x: np.ndarray) -> np.ndarray:
    """Return 1 / x (n,), and 1 where x is zero."""
    found: np.ndarray = np.divide(1.0, x, out=np.ones_like(x), where=x > 0)
    return found


def _times(x: np.ndarray, M: np.ndarray) -> np.ndarray:
    """Return the products of rows (n, i) with matrices (n, i, j), or with one for all of them."""
    found: np.ndarray = x @ M[0] if len(M) == 1 else (x[:, None] @ M)[:, 0]
    return found


class Derivatives(NamedTuple):
    """Derivatives of steps by states, torque and inputs, (..., 2 nv, columns)."""

    A: np.ndarray
    by_torque: np.ndarray
    by_inputs: np.ndarray


class States(NamedTuple):
    """States at the nodes of steps, (steps + 1, nq) and (steps + 1, nv)."""

    q: np.ndarray
    p: np.ndarray


@dataclass(frozen=True, eq=False)
class Course:
    """Steps that were taken.

    Attributes
    ----------
    steps : Steps
    start : (n, nq) array [m or rad]
        As it was given, with quaternions of any length.
    q, p : (n, steps + 1, nq) and (n, steps + 1, nv) arrays [m or rad, kg m/s or kg m^2/s]
        The states at the nodes.
    torque : (n, steps, nv) array [N or N m]
    inputs : (n, steps, nu) array [units as the loads take them]
    runs : list of Trajectory
        Of the instances, where the steps are not linearised together.
    """

    steps: Steps
    start: np.ndarray
    q: np.ndarray
    p: np.ndarray
    torque: np.ndarray
    inputs: np.ndarray
    runs: list[Trajectory] = field(default_factory=list)

    def pullback(self, q_bar: np.ndarray, p_bar: np.ndarray) -> tuple[np.ndarray, ...]:
        """Return the gradients by the start q, p and by torque and inputs.

        Parameters
        ----------
        q_bar, p_bar : (n, steps + 1, nq) and (n, steps + 1, nv) arrays
            The gradients by the states at the nodes, as if these did not depend on each other. Of one instance there
            may be many rows.
        """
        n, count, nv = len(q_bar), self.p.shape[1], self.steps.model.nv
        if self.runs:
            return self._swept_back(self._by_states(q_bar, p_bar, slice(0, count)))
        by_steps = np.empty((n, count - 1, nv + self.steps.nu))
        # by the states (d, p) of the last node, then of each earlier one
        x = self._by_states(q_bar, p_bar, slice(count - 1, count))[:, 0]
        end = count - 1 if n else 0
        while end > 0:
            first = max(0, end - max(1, ENTRIES // (len(self.q) * 4 * nv**2)))
            whole = np.concatenate(self.derivatives(first, end), axis=-1)
            if self.runs:  # a step was taken in halves
                return self.pullback(q_bar, p_bar)
            own = self._by_states(q_bar, p_bar, slice(first, end))
            for k in range(end - first - 1, -1, -1):
                before = _times(x, whole[:, k])
                by_steps[:, first + k] = before[:, 2 * nv :]
                x = before[:, : 2 * nv] + own[:, k]
            end = first
        by_q = _times(x[:, :nv], self.steps.coordinates.displacements(self.start))
        return by_q, x[:, nv:].copy(), by_steps[..., :nv].copy(), by_steps[..., nv:].copy()

    def pushforward(self, q_dot: np.ndarray, p_dot: np.ndarray, torque_dot: np.ndarray,
                    inputs_dot: np.ndarray) -> tuple[np.ndarray, np.ndarray]:  # fmt: skip
        """Return the changes (n, steps + 1, nq) and (n, steps + 1, nv) of the states at the nodes, to first order.

        Parameters
        ----------
        q_dot, p_dot, torque_dot, inputs_dot : arrays
            Changes of the starts, and of torque and inputs, in the shapes of these. Of one instance there may be many
            rows.
        """
        n, count, nv = len(q_dot), self.p.shape[1], self.steps.model.nv
        x = np.empty((n, count, 2 * nv))
        x[:, 0] = np.concatenate([self.steps.coordinates.displaced_by(self.start, q_dot), p_dot], axis=1)
        pushed = np.concatenate([torque_dot, inputs_dot], axis=2)
        first = 0 if n and not self.runs else count - 1
        while first < count - 1:
            end = min(count - 1, first + max(1, ENTRIES // (len(self.q) * 4 * nv**2)))
            whole = np.concatenate(self.derivatives(first, end), axis=-1).swapaxes(-1, -2)
            if self.runs:  # a step was taken in halves
                break
            for k in range(first, end):
                x[:, k + 1] = _times(np.concatenate([x[:, k], pushed[:, k]], axis=1), whole[:, k - first])
            first = end
        for k, (run, control) in enumerate(self._runs_of(n)):
            given = x[k, 0, :nv], x[k, 0, nv:]
            found = run.variation(*given, dtorque=torque_dot[k], dinputs=inputs_dot[k], control=control)
            x[k] = np.concatenate(found, axis=1)
        d = x[..., :nv].copy()
        if self.steps.coordinates.turns:
            E = self.steps.coordinates.by_displacements(self.q.reshape(-1, self.q.shape[2]))
            d = (E.reshape(*self.q.shape, nv) @ d[..., None])[..., 0]
        return d, x[..., nv:].copy()

    def _runs_of(self, n: int) -> list[tuple[Trajectory, Control | None]]:
        """Return the run of each of n rows, and what drove it but for torques; none if there are no runs."""
        each = [(run, Control(inputs=u) if self.steps.nu else None)
                for run, u in zip(self.runs, self.inputs, strict=False)]  # fmt: skip
        return each * n if len(each) == 1 else each

    def _swept_back(self, by_states: np.ndarray) -> tuple[np.ndarray, ...]:
        """Return the gradients of the runs, from those (n, steps + 1, 2 nv) by the states at the nodes."""
        nv = self.steps.model.nv
        each = [run.gradient(own[:, :nv], own[:, nv:], control=control)
                for (run, control), own in zip(self._runs_of(len(by_states)), by_states, strict=True)]  # fmt: skip
        by_q0, by_p0, by_torque, by_inputs = (
            np.array([getattr(x, name) for x in each]) for name in ("by_q0", "by_p0", "by_torque", "by_inputs")
        )
        return _times(by_q0, self.steps.coordinates.displacements(self.start)), by_p0, by_torque, by_inputs

    def _by_states(self, q_bar: np.ndarray, p_bar: np.ndarray, nodes: slice) -> np.ndarray:
        """Return gradients (n, nodes, 2 nv) by displacements and momenta at some nodes."""
        by_q, q = q_bar[:, nodes], self.q[:, nodes]
        if self.steps.coordinates.turns:
            count = q.shape[0] * q.shape[1]
            E = self.steps.coordinates.by_displacements(q.reshape(count, q.shape[2]))
            by_q = (by_q[:, :, None] @ E.reshape(*q.shape, p_bar.shape[2]))[:, :, 0]
        return np.concatenate([by_q, p_bar[:, nodes]], axis=2)

    def derivatives(self, first: int, end: int) -> Derivatives:
        """Return those of the steps from node ``first`` to ``end``, (n, steps, 2 nv, ...)."""
        n, span, later = len(self.q), slice(first, end), slice(first + 1, end + 1)
        if not self.runs:
            rows = (self.q[:, span], self.q[:, later], self.p[:, span], self.p[:, later], self.inputs[:, span])
            try:
                found = self.steps.derivatives(*(x.reshape(n * (end - first), x.shape[2]) for x in rows))
                return Derivatives(*(x.reshape(n, end - first, *x.shape[1:]) for x in found))
            except UnexplainedError:  # a step was taken in halves, and records know them
                start = self.steps.coordinates.normalized(self.start)
                starts = (start, self.p[:, 0], self.torque, self.inputs)
                self.runs.extend(self.steps.run(*one) for one in zip(*starts, strict=True))
        each = [run.linearize(control) for run, control in self._runs_of(len(self.runs))]
        return Derivatives(*(np.array([getattr(x, name)[span] for x in each]) for name in Derivatives._fields))
