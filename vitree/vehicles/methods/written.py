"""Steppers of vehicles that are written in Python."""

from __future__ import annotations

import struct

import numpy as np

from vitree.errors import ConvergenceError, InputError
from vitree.integrators.compiled import CALLBACK_FAILED
from vitree.vehicles.rolling import STEP, NonholonomicVehicle, slope

#: How a history begins: t, t0, the last step, and three counts.
_COUNTS = "<3d3q"
#: A momentum that is none, beside those that are: the least that a residual is compared with.
TINY = 1e-300
#: Share of the momentum below which rounding rules.
FLOOR = 1e-16
#: Step of the Jacobian's differences, for the size of what is varied.
JACOBIAN_STEP = 1e-6


class WrittenStepper:
    """A stepper of a vehicle written in Python; to an integrator it is what the compiled ones are."""

    def __init__(self, model, h, inputs, torque):
        self.model, self.span, self.h = model, h, h
        self.rows = inputs if isinstance(inputs, np.ndarray) and inputs.ndim == 2 else None
        self.asked = {"inputs": inputs if callable(inputs) else None, "torque": torque if callable(torque) else None}
        self.asks = any(x is not None for x in self.asked.values())
        fixed = isinstance(inputs, np.ndarray) and inputs.ndim == 1
        self.u = inputs if fixed else np.zeros(len(model.input_names))
        self.tau = np.zeros(model.nv) if torque is None or callable(torque) else torque
        self.driven = [model.input_names.index(name) for name in model.driven.values()]
        self.s, self.n = len(model.shape_names), model.free
        self.spans = self.exception = self.contraction_out = None
        self.limits = np.array([model.shape_limits.get(name, np.inf) for name in model.shape_names])

    # ---- what integrators ask for -----------------------------------------------------------------

    def set_state(self, t, q, x):
        self.t = self.t0 = t
        self.q, self.v, self.v_last = q.copy(), x.copy(), x.copy()
        self.steps = self.begun = self.total_iterations = self.most_iterations = self.iterations = 0
        self.h_last = self.error = 0.0
        self.h, self.spans = self.span, None

    def state(self):
        return self.t, self.q.copy(), self.v.copy()

    def set_steps(self, spans, ends):
        self.spans, self.ends, self.begun = spans, ends, self.steps

    def begin_at(self, t0):
        self.t0, self.begun = t0, 0

    def watch(self, contraction):
        self.contraction_out = contraction

    def history(self):
        counts = self.steps, self.total_iterations, self.most_iterations
        state = np.concatenate((self.q, self.v, self.v_last))
        return struct.pack(_COUNTS, self.t, self.t0, self.h_last, *counts) + state.tobytes()

    def set_history(self, kept):
        size, nq, nv = struct.calcsize(_COUNTS), self.model.nq, self.model.nv
        if len(kept) != size + 8 * (nq + 2 * nv):
            raise ValueError(f"a history of {len(kept)} bytes; this stepper's has {size + 8 * (nq + 2 * nv)}")
        self.t, self.t0, self.h_last, *counts = struct.unpack(_COUNTS, kept[:size])
        self.steps, self.total_iterations, self.most_iterations = counts
        self.q, self.v, self.v_last = np.split(np.frombuffer(kept[size:]).copy(), (nq, nq + nv))
        self.h, self.spans, self.begun, self.iterations, self.error = self.span, None, self.steps, 0, 0.0

    def run(self, count, every, first, t, q, x, iterations, error, multipliers, stride=1):
        row, begin = first, self.steps - self.begun
        if self.rows is not None and begin + count > len(self.rows):
            raise ValueError(f"the inputs end after {len(self.rows)} steps; {begin + count} are asked for")
        for at in range(begin, begin + count):
            if self.rows is not None:
                self.u = self.rows[at]
            if self.spans is not None:
                self.h = float(self.spans[at])
            self.contraction = np.nan
            try:
                q2, v2 = self.step()
                self._check(q2, v2)
            except np.linalg.LinAlgError:
                self.exception = self.failure("its equations are singular; halve dt")
                return CALLBACK_FAILED, row - first
            except BaseException as error_of_callable:
                self.exception = error_of_callable
                return CALLBACK_FAILED, row - first
            self.q, self.v, self.v_last, self.h_last = q2, v2, self.v, self.h
            self.steps += 1
            self.t = self.t0 + self.steps * self.h if self.spans is None else float(self.ends[at + 1])
            self.total_iterations += self.iterations
            self.most_iterations = max(self.most_iterations, self.iterations)
            if (at + 1) % every == 0:
                t[row], q[row], x[row] = self.t, self.q, self.v
                iterations[row], error[row] = self.iterations, self.error
                if self.contraction_out is not None:
                    self.contraction_out[row] = self.contraction
                row += 1
        return 0, row - first

    def step(self) -> tuple[np.ndarray, np.ndarray]:
        """Return the state (q, v) at the end of the step from the state."""
        raise NotImplementedError

    def _check(self, q, v):
        if not (np.isfinite(q).all() and np.isfinite(v).all()):
            raise self.failure("the state became infinite or NaN; halve dt")
        for name, value, limit in zip(self.model.shape_names, q, self.limits, strict=False):
            if abs(value) > limit:
                raise self.failure(f"{name} would pass its limit {limit:.6g}; steer less, or turn back earlier")

    def failure(self, what: str, residual: float = np.nan) -> ConvergenceError:
        """Return the error that the step from the state cannot be taken."""
        return ConvergenceError(
            f"{self.model.name}: step {self.steps + 1} at t = {self.t:.9g} s, dt = {self.h:g} s: {what}",
            time=self.t, residual=residual, iterations=self.iterations,
        )  # fmt: skip

    # ---- the vehicle ------------------------------------------------------------------------------

    def ask(self, t: float, q: np.ndarray, v: np.ndarray) -> None:
        """Let u and tau be the callables' answers at a time and state."""
        for name, size, keep in (("inputs", len(self.u), "u"), ("torque", self.model.nv, "tau")):
            function = self.asked[name]
            if function is not None:
                value = np.asarray(function(t, q.copy(), v.copy()), dtype=float)
                if value.shape != (size,) or not np.isfinite(value).all():
                    raise ValueError(f"{name}(t, q, v) at t = {t:.9g} s returned {value}; it must be ({size},) numbers")
                setattr(self, keep, value)

    def opened(self, q, v):
        """Return the state as numbers to integrate, y = (q, free velocities)."""
        return np.concatenate((q, self.model.reduced(q[: self.s], v[self.model.algebra])[: self.n]))

    def closed(self, t, y):
        """Return (q, v) of y."""
        model, v = self.model, np.empty(self.model.nv)
        q = y[: model.nq].copy()
        if model.group == "SE3":
            q[-4:] /= np.linalg.norm(q[-4:])
        v[model.algebra] = model.basis(q[: self.s]) @ np.concatenate((y[model.nq :], self.u[self.driven]))
        return q, v

    def rate_at(self, t, y):
        """Return the rate of y at a time, the callables asked."""
        if self.rows is not None:
            k = int((t - self.t0) / self.span * (1 + 1e-12)) - self.begun
            self.u = self.rows[min(max(k, 0), len(self.rows) - 1)]
        if self.asks:
            self.ask(t, *self.closed(t, y))
        return self.rate(t, y)

    def rate(self, t: float, y: np.ndarray) -> np.ndarray:
        """Return the rate of y under u and tau.

        The continuous equations are V^T (d/dt(M w) - (dl/dr + f, ad_xi^T mu + F)) = 0, w = (u, xi) = V z.
        """
        model, s = self.model, self.s
        q, v = self.closed(t, y)
        r, w, z = q[:s], v[model.algebra], np.concatenate((y[model.nq :], self.u[self.driven]))
        u, xi = w[:s], w[s:]
        V, M = model.basis(r), model.mass_matrix(r)
        free = V[:, : self.n]
        if self.driven and np.abs(free.T @ M @ V[:, self.n :]).max() > 1e-12 * np.abs(M).max():
            raise InputError(
                f"{model.name}: the acceleration of driven coordinates ({', '.join(model.driven)}) moves the others, "
                f'and inputs have rates only; take the method "lie-implicit", or give the coordinates a force'
            )
        # how the momentum of the same z changes with r, along u
        momentum = lambda x: model.mass_matrix(r + x * u) @ model.basis(r + x * u) @ z  # noqa: E731
        bent = slope(momentum, STEP / max(1.0, np.abs(u).max(initial=0.0)))
        force = np.concatenate((model.lagrangian_slope(r, u, xi), model.pose.group.ad(xi).T @ (M @ w)[s:]))
        force += self.forces(t, q, w) - bent
        return np.concatenate((u, model.pose.rate(q[s:], xi), np.linalg.solve(free.T @ M @ free, free.T @ force)))

    def forces(self, t: float, q: np.ndarray, w: np.ndarray) -> np.ndarray:
        """Return the forces on (u, xi), those of the vehicle and tau."""
        model, s = self.model, self.s
        state = (t, q[:s], model.pose.matrix(q[s:]), w[:s], w[s:], self.u)
        return np.concatenate((model.shape_force(*state), model.body_force(*state))) + self.tau[model.algebra]


class RungeKuttaStepper(WrittenStepper):
    """Explicit Runge-Kutta methods on the reduced equations."""

    def __init__(self, model, h, inputs, torque, *, order):
        super().__init__(model, h, inputs, torque)
        self.order = order

    def step(self):
        h, t, y = self.h, self.t, self.opened(self.q, self.v)
        stage = lambda c, k: self._answer(t + c * h, y + c * h * k)  # noqa: E731
        k1 = stage(0.0, 0.0)
        k2 = stage(0.5, k1)
        if self.order == 2:
            return self.closed(t + h, y + h * k2)
        k3 = stage(0.5, k2)
        k4 = stage(1.0, k3)
        return self.closed(t + h, y + h / 6 * (k1 + 2 * (k2 + k3) + k4))

    def _answer(self, t, y):
        if self.asks:
            self.ask(t, *self.closed(t, y))
        return self.rate(t, y)


class ImplicitStepper(WrittenStepper):
    """One step of eqs. 16 and 17: gives the state at its end."""

    def __init__(self, model, h, inputs, torque, *, alpha, step_map, exact, tolerance, max_iterations):
        super().__init__(model, h, inputs, torque)
        self.alpha, self.map, self.exact, self.tolerance = alpha, step_map, exact, tolerance
        self.most = max_iterations
        self.angles = 1 if model.group == "SE2" else 3
        self.pushed = type(model).shape_force is not NonholonomicVehicle.shape_force
        self.blown = type(model).body_force is not NonholonomicVehicle.body_force

    def _ask_ahead(self):
        """Ask the callables once, at the quadrature point as the last step's mean acceleration predicts it."""
        ahead, v = self.alpha * self.h, self.v
        if self.h_last:
            v = v + ahead * (v - self.v_last) / self.h_last
        self.ask(self.t + ahead, self.model.integrate(self.q, ahead * (self.v + v) / 2), v)

    def _tangent(self, x, mu):
        """dtau^-1(x)^T mu."""
        return self.map.dtau_inv_transposed(x, mu) if self.exact else mu - self.map.group.ad(x).T @ mu / 2

    def step(self):
        model, h, a, s = self.model, self.h, self.alpha, self.s
        if self.asks:
            self._ask_ahead()
        r, g = self.q[:s], model.pose.matrix(self.q[s:])
        rates, free = self.u[self.driven], model.basis(self.q[:s])[:, : self.n]
        P = free.T @ (model.mass_matrix(r) @ self.v[model.algebra])

        def velocity(z):
            # (u, xi): the shape moves by its rates, the twist is what they and lam make at the quadrature point
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
        end = np.concatenate((r + h * w[:s], model.pose.moved(self.q[s:], self.map.tau(h * w[s:]))))
        v = np.empty(model.nv)
        V, M = model.basis(end[:s]), model.mass_matrix(end[:s])
        free, driven = V[:, : self.n], V[:, self.n :] @ rates
        z = np.linalg.solve(free.T @ M @ free, free.T @ (momentum(w, True) - M @ driven)) if self.n else np.zeros(0)
        v[model.algebra] = free @ z + driven
        return end, v

    def _solve(self, residual, velocity, size):
        """The free velocities where the residual is at its floor; a Jacobian serves while it halves the residual."""
        z = self.model.reduced(self.q[: self.s], self.v[self.model.algebra])[: self.n]
        last, J, self.iterations = np.inf, None, 0
        while True:
            turn = self.h * np.linalg.norm(velocity(z)[self.s :][: self.angles])
            if not turn < 2 * self.map.reach:
                raise self.failure(f"the body turns by {turn:.3g} rad within it, beyond what the map reaches; halve dt")
            f = residual(z)
            self.error = float(np.abs(f).max(initial=0.0))
            if J is None:
                # from rest the momentum is what the first residual lacks
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
