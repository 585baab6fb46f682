"""Steppers of vehicles that are written in Python."""

from __future__ import annotations

import struct
from dataclasses import dataclass

import numpy as np

from vitree._core import _vehicles
from vitree.arguments import told
from vitree.errors import CallableError, ConvergenceError, InputError, VitreeError
from vitree.integrators.compiled import CALLBACK_FAILED
from vitree.lie import Map
from vitree.vehicles.rolling import STEP, NonholonomicVehicle, beyond_limit, slope

#: How a history begins: t, t0, the last step, and three counts.
_COUNTS = "<3d3q"
#: The least momentum that a residual is compared with.
TINY = 1e-300
#: A residual below this share of the momentum is rounding.
FLOOR = 1e-16
#: Step of the Jacobian's differences, as a share of the number that is varied.
JACOBIAN_STEP = 1e-6


#: Why a step of which the state blows up is none.
BLOWN_UP = f"{_vehicles.STATUS_TEXT[_vehicles.STATUS['not finite']]}; halve dt"


def bounded(x: np.ndarray) -> bool:
    """Whether no entry is NaN or has blown up."""
    return bool(np.abs(x).max(initial=0.0) <= _vehicles.LARGEST)


class WrittenStepper:
    """A state (t, q, x) of a vehicle and the means to advance it, in Python; x is the velocity v.

    ``inputs`` and ``torque`` are None, arrays, or callables (t, q, v); ``inputs`` may have a row a step. An integrator
    uses this stepper as it uses the compiled ones, and the contract is theirs (``_core/engine/stepper.pxi``). Only
    errors differ: a step that fails raises here, and returns a status there.

    1. ``step`` reads the clock, the state (q, x), the inputs u and the forces tau. It writes the state at t + h to
       (q2, x2), or it raises. It never writes (q, x).
    2. ``step`` sets ``iterations`` and ``error`` where it solves for something.
    3. ``step`` calls ``ask`` at least once where ``asks`` is set: the user's functions answer there.
    4. ``advance`` takes a whole step. An error leaves the state as it was.
    5. ``accept`` makes the trial state the state.
    6. ``begin`` forgets all that lies before the state that was just set.
    7. The next steps depend on ``history``, on the arguments, and on nothing else.
    """

    def __init__(self, model, h, inputs, torque):
        self.model, self.span, self.h = model, h, h
        self.rows = inputs if isinstance(inputs, np.ndarray) and inputs.ndim == 2 else None
        self.functions = {key: asked for key, asked in (("tau", torque), ("u", inputs)) if callable(asked)}
        self.asks = bool(self.functions)
        fixed = isinstance(inputs, np.ndarray) and inputs.ndim == 1
        self.u = inputs if fixed else np.zeros(len(model.input_names))
        self.tau = np.zeros(model.nv) if torque is None or callable(torque) else torque
        self.driven = [model.input_names.index(name) for name in model.driven.values()]
        self.s, self.n = len(model.shape_names), model.free
        self.exception = self.contraction_out = None
        self.limits = np.array([model.shape_limits.get(name, np.inf) for name in model.shape_names])

    # ---- methods of subclasses --------------------------------------------------------------

    def step(self) -> None:
        """Write the state at the end of the step from (q, x) to (q2, x2)."""
        raise NotImplementedError

    def begin(self):
        # the answers of the user's functions begin the prediction of the next step
        self.x_last = self.x.copy()
        for key in self.functions:
            setattr(self, key, np.zeros(len(getattr(self, key))))

    def advance(self):
        self.step()
        self.require_state()
        self.accept()

    def accept(self):
        self.q, self.x, self.x_last = self.q2, self.x2, self.x
        self.h_last = self.h

    # ---- a run ------------------------------------------------------------------------------------

    def set_state(self, t, q, x):
        self.t = self.t0 = t
        self.steps = self.total_iterations = self.most_iterations = 0
        self.h_last = 0.0
        self.q, self.x = q.copy(), x.copy()
        self.start_run()
        self.begin()

    def start_run(self):
        # equal steps until something else is said
        self.spans, self.begun = None, self.steps
        self.h, self.contraction = self.span, np.nan
        self.iterations, self.error = 0, 0.0

    def set_steps(self, spans, ends):
        self.spans, self.ends, self.begun = spans, ends, self.steps

    def begin_at(self, t0):
        self.t0, self.begun = t0, 0

    def state(self):
        return self.t, self.q.copy(), self.x.copy()

    def look(self, by_momentum):
        return self.state()

    def history(self):
        counts = self.steps, self.total_iterations, self.most_iterations
        kept = np.concatenate([getattr(self, key) for key in self._kept()])
        return struct.pack(_COUNTS, self.t, self.t0, self.h_last, *counts) + kept.tobytes()

    def set_history(self, kept):
        size, counts = struct.calcsize(_COUNTS), self._kept()
        if len(kept) != size + 8 * sum(counts.values()):
            raise ValueError(f"a history of {len(kept)} bytes; this stepper's has {size + 8 * sum(counts.values())}")
        *times, steps, total, most = struct.unpack(_COUNTS, kept[:size])
        if not (np.isfinite(times).all() and times[2] >= 0 and 0 <= most <= total < 2**53 and 0 <= steps < 2**53):
            raise ValueError("its times or counts are none")
        (self.t, self.t0, self.h_last), (self.steps, self.total_iterations, self.most_iterations) = (
            times, (steps, total, most)
        )
        parts = np.split(np.frombuffer(kept[size:]).copy(), np.cumsum(list(counts.values()))[:-1])
        for key, part in zip(counts, parts, strict=True):
            setattr(self, key, part)
        self.start_run()

    def _kept(self) -> dict[str, int]:
        """The arrays from which a run resumes, and their lengths."""
        nu, nv = len(self.model.input_names), self.model.nv
        asked = {key: size for key, size in (("u", nu), ("tau", nv)) if key in self.functions}
        return {"q": self.model.nq, "x": nv, "x_last": nv, **asked}

    def spoil(self):
        """Fill with NaN the numbers from which no run may resume: for tests."""
        self.q2, self.x2 = np.full(self.model.nq, np.nan), np.full(self.model.nv, np.nan)
        if self.rows is not None:
            self.u = np.full(len(self.model.input_names), np.nan)
        self.start_run()

    def watch(self, contraction):
        self.contraction_out = contraction

    def run(self, count, every, records, stride=1, in_parts=False):
        if self.rows is not None and self.steps - self.begun + count > len(self.rows):
            asked = self.steps - self.begun + count
            raise ValueError(f"the inputs end after {len(self.rows)} steps; {asked} are asked for")
        for _ in range(count):
            if status := self.take_step():
                return status
            self.close_step()
            if (self.steps - self.begun) % every == 0:
                self.row(records, records.rows)
                if self.contraction_out is not None:
                    self.contraction_out[records.rows] = self.contraction
                records.rows += 1
        return 0

    def take_step(self) -> int:
        # a whole step but for the clock
        self.open_step()
        try:
            self.advance()
        except np.linalg.LinAlgError:
            self.exception = self.failure("its equations are singular; halve dt")
            return CALLBACK_FAILED
        except (VitreeError, KeyboardInterrupt) as stop:
            self.exception = stop
            return CALLBACK_FAILED
        except Exception as error:
            self.exception = CallableError(
                f"a function of {self.model.name} raised {told(error)} in the step from t = {self.t:.9g} s", time=self.t
            )
            self.exception.__cause__ = error
            return CALLBACK_FAILED
        return 0

    # ---- a run that a person holds ----------------------------------------------------------------

    def go(self, count, torque, inputs):
        self.drive(inputs, torque)
        for _ in range(count):
            if status := self.take_step():
                return status
            self.close_step()
        return 0

    def drive(self, inputs, torque):
        if isinstance(inputs, np.ndarray) and inputs.ndim == 1:
            self.u = inputs.copy()
        if isinstance(torque, np.ndarray):
            self.tau = torque.copy()

    def command(self, torque, inputs):
        return False

    def count_from(self, steps):
        self.begun = steps

    def clear(self):
        # every array is made anew by `set_state`
        pass

    def row(self, records, row):
        records.t[row], records.q[row], records.x[row] = self.t, self.q, self.x
        records.iterations[row], records.residual[row] = self.iterations, self.error

    def open_step(self):
        # the inputs and the length of the step from the state
        at = self.steps - self.begun
        self.contraction = np.nan
        if self.rows is not None:
            self.u = self.rows[at]
        if self.spans is not None:
            self.h = float(self.spans[at])

    def close_step(self):
        # the clock moves on
        self.steps += 1
        self.t = self.t0 + self.steps * self.h if self.spans is None else float(self.ends[self.steps - self.begun])
        self.total_iterations += self.iterations
        self.most_iterations = max(self.most_iterations, self.iterations)

    def require_state(self):
        # the trial state is finite and within the limits
        if not (bounded(self.q2) and bounded(self.x2)):
            raise self.failure(BLOWN_UP)
        for name, value, limit in zip(self.model.shape_names, self.q2, self.limits, strict=False):
            if abs(value) > limit:
                raise self.failure(beyond_limit(name, limit))

    def failure(self, reason: str, residual: float = np.nan) -> ConvergenceError:
        """Return the error of the step from the state, with the reason why it cannot be taken."""
        return ConvergenceError(
            f"{self.model.name}: step {self.steps + 1} at t = {self.t:.9g} s, dt = {self.h:g} s: {reason}",
            time=self.t, residual=residual, iterations=self.iterations,
        )  # fmt: skip

    # ---- the vehicle ------------------------------------------------------------------------------

    def inputs_at(self, t: float) -> None:
        """Let u be the row of inputs of the step that a time lies in; steps are equal."""
        if self.rows is not None:
            k = int((t - self.t0) / self.span * (1 + 1e-12)) - self.begun
            self.u = self.rows[min(max(k, 0), len(self.rows) - 1)]

    def ask(self, t: float, q: np.ndarray, v: np.ndarray) -> None:
        """Let u and tau be the answers of the user's functions at a time and state."""
        if not (bounded(q) and bounded(v)):
            raise self.failure(BLOWN_UP)
        for key, function in self.functions.items():
            setattr(self, key, function(t, q.copy(), v.copy()).copy())

    def unknowns(self, q, v):
        """Return the numbers y that the differential equations are solved for: q and the free velocities."""
        return np.concatenate((q, self.model.reduced(q[: self.s], v[self.model.algebra])[: self.n]))

    def state_of(self, t, y):
        """Return the state (q, v) of the numbers y."""
        model, v = self.model, np.empty(self.model.nv)
        q = y[: model.nq].copy()
        if model.group == "SE3":
            q[-4:] /= np.linalg.norm(q[-4:])
        v[model.algebra] = model.basis(q[: self.s]) @ np.concatenate((y[model.nq :], self.u[self.driven]))
        return q, v

    def rate_at(self, t, y):
        """Return the rate of y under the inputs of a time."""
        self.inputs_at(t)
        return self.asked_rate(t, y)

    def asked_rate(self, t, y):
        """Return the rate of y under u and tau, after the user's functions have answered."""
        if self.asks:
            self.ask(t, *self.state_of(t, y))
        return self.rate(t, y)

    def rate(self, t: float, y: np.ndarray) -> np.ndarray:
        """Return the rate of y under u and tau.

        The continuous equations are V^T (d/dt(M w) - (dl/dr + f, ad_xi^T mu + F)) = 0, w = (u, xi) = V z.
        """
        model, s = self.model, self.s
        q, v = self.state_of(t, y)
        r, w, z = q[:s], v[model.algebra], np.concatenate((y[model.nq :], self.u[self.driven]))
        u, xi = w[:s], w[s:]
        V, M = model.basis(r), model.mass_matrix(r)
        free = V[:, : self.n]
        if self.driven and np.abs(free.T @ M @ V[:, self.n :]).max(initial=0.0) > 1e-12 * np.abs(M).max():
            raise InputError(
                f"{model.name}: the acceleration of driven coordinates ({', '.join(model.driven)}) moves the others, "
                f'but inputs give rates only; take the method "lie-implicit", or give the coordinates a force'
            )
        # how the momentum of the same z changes with r, along u
        momentum = lambda x: model.mass_matrix(r + x * u) @ model.basis(r + x * u) @ z  # noqa: E731
        change = slope(momentum, STEP / max(1.0, np.abs(u).max(initial=0.0)))
        force = np.concatenate((model.lagrangian_slope(r, u, xi), model.pose.group.ad(xi).T @ (M @ w)[s:]))
        force += self.forces(t, q, w) - change
        return np.concatenate((u, model.pose.rate(q[s:], xi), np.linalg.solve(free.T @ M @ free, free.T @ force)))

    def forces(self, t: float, q: np.ndarray, w: np.ndarray) -> np.ndarray:
        """Return the forces on (u, xi), those of the vehicle and tau."""
        model, s = self.model, self.s
        state = (t, q[:s], model.pose.matrix(q[s:]), w[:s], w[s:], self.u)
        return np.concatenate((model.shape_force(*state), model.body_force(*state))) + self.tau[model.algebra]


class RungeKuttaStepper(WrittenStepper):
    """Explicit Runge-Kutta methods on the reduced equations.

    The loop is that of the compiled steppers (``_core/vehicles/rolling.pxi``), which works on numbers in C; here each
    rate is a call of Python.
    """

    def __init__(self, model, h, inputs, torque, *, order):
        super().__init__(model, h, inputs, torque)
        self.order = order

    def step(self):
        h, t, y = self.h, self.t, self.unknowns(self.q, self.x)
        stage = lambda c, k: self.asked_rate(t + c * h, y + c * h * k)  # noqa: E731
        k1 = stage(0.0, 0.0)
        k2 = stage(0.5, k1)
        if self.order == 2:
            self.q2, self.x2 = self.state_of(t + h, y + h * k2)
            return
        k3 = stage(0.5, k2)
        k4 = stage(1.0, k3)
        self.q2, self.x2 = self.state_of(t + h, y + h / 6 * (k1 + 2 * (k2 + k3) + k4))


@dataclass(frozen=True)
class Scheme:
    """The implicit method: share of the force at a step's end, map, its exact tangent or 1 - ad/2, and the solution."""

    alpha: float
    map: Map
    exact: bool
    tolerance: float
    max_iterations: int


class ImplicitStepper(WrittenStepper):
    """Steps of eqs. 16 and 17."""

    def __init__(self, model, h, inputs, torque, *, scheme: Scheme):
        super().__init__(model, h, inputs, torque)
        self.alpha, self.map, self.exact = scheme.alpha, scheme.map, scheme.exact
        self.tolerance, self.most = scheme.tolerance, scheme.max_iterations
        self.angles = 1 if model.group == "SE2" else 3
        self.pushed = type(model).shape_force is not NonholonomicVehicle.shape_force
        self.blown = type(model).body_force is not NonholonomicVehicle.body_force

    def _ask_ahead(self):
        """Ask the user's functions once, at the quadrature point that the last step's mean acceleration predicts."""
        ahead, v = self.alpha * self.h, self.x
        if self.h_last:
            v = v + ahead * (v - self.x_last) / self.h_last
        self.ask(self.t + ahead, self.model.integrate(self.q, ahead * (self.x + v) / 2), v)

    def _tangent(self, x, mu):
        """dtau^-1(x)^T mu."""
        return self.map.dtau_inv_transposed(x, mu) if self.exact else mu - self.map.group.ad(x).T @ mu / 2

    def step(self):
        model, h, a, s = self.model, self.h, self.alpha, self.s
        if self.asks:
            self._ask_ahead()
        r, g = self.q[:s], model.pose.matrix(self.q[s:])
        rates, free = self.u[self.driven], model.basis(self.q[:s])[:, : self.n]
        P = free.T @ (model.mass_matrix(r) @ self.x[model.algebra])

        def velocity(z):
            # (u, xi): the shape moves by its rates; these and lam give the twist at the quadrature point
            z = np.concatenate((z, rates))
            return model.basis(r + a * h * (model.basis(r)[:s] @ z)) @ z

        def momentum(w, ahead):
            # at the step's start, or at its end if ahead
            u, xi, share = w[:s], w[s:], a * h if ahead else (a - 1) * h
            at = r + a * h * u
            p = model.mass_matrix(at) @ w
            p[s:] = self._tangent(-h * xi if ahead else h * xi, p[s:])
            p[:s] += share * model.lagrangian_slope(at, u, xi)
            p += share * self.tau[model.algebra]
            if self.pushed:
                middle = g @ self.map.tau(a * h * xi)
                p[:s] += share * model.shape_force(self.t + a * h, at, middle, u, xi, self.u)
            if self.blown:
                where = (self.t + h, r + h * u, g @ self.map.tau(h * xi)) if ahead else (self.t, r, g)
                p[s:] += share * model.body_force(*where, u, xi, self.u)
            return p

        residual = lambda z: free.T @ momentum(velocity(z), False) - P  # noqa: E731
        w = velocity(self._solve(residual, velocity, np.abs(P).max(initial=0.0)))
        end = self.q2 = np.concatenate((r + h * w[:s], model.pose.moved(self.q[s:], self.map.tau(h * w[s:]))))
        V, M = model.basis(end[:s]), model.mass_matrix(end[:s])
        free, driven = V[:, : self.n], V[:, self.n :] @ rates
        z = np.linalg.solve(free.T @ M @ free, free.T @ (momentum(w, True) - M @ driven)) if self.n else np.zeros(0)
        self.x2 = np.empty(model.nv)
        self.x2[model.algebra] = free @ z + driven

    def _solve(self, residual, velocity, size):
        """The free velocities at which the residual is smallest; a Jacobian is kept while it halves the residual."""
        z = self.model.reduced(self.q[: self.s], self.x[self.model.algebra])[: self.n]
        last, J, self.iterations = np.inf, None, 0
        while True:
            turn = self.h * np.linalg.norm(velocity(z)[self.s :][: self.angles])
            if not turn < 2 * self.map.reach:
                raise self.failure(
                    f"the body turns by {turn:.3g} rad in this step, beyond the reach of the map; halve dt"
                )
            f = residual(z)
            self.error = float(np.abs(f).max(initial=0.0))
            if J is None:
                # at rest the first residual is the size of the momentum
                size = max(size, self.error, TINY)
            elif last:
                self.contraction = self.error / last
            good = self.error <= self.tolerance * size
            if self.error <= FLOOR * size or (good and (self.error > last / 4 or self.iterations == self.most)):
                return z
            if self.iterations == self.most or not np.isfinite(self.error):
                raise self.failure(
                    f"the residual {self.error:.3g} stayed above the tolerance, {self.tolerance:.3g} of the momentum, "
                    f"after {self.iterations} iterations; halve dt, or raise max_iterations", self.error,
                )  # fmt: skip
            if J is None or self.error > last / 2:
                J = np.empty((self.n, self.n))
                for k in range(self.n):
                    d = np.zeros(self.n)
                    d[k] = JACOBIAN_STEP * max(1.0, abs(z[k]))
                    J[:, k] = (residual(z + d) - f) / d[k]
            z, last = z - np.linalg.solve(J, f), self.error
            self.iterations += 1
