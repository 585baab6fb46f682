"""An integrator whose steps conserve energy, momentum and the symplectic form, since it solves for their lengths.

Kane, Marsden & Ortiz 1999, "Symplectic-energy-momentum preserving variational integrators", J. Math. Phys. 40, 3353.
The discrete Lagrangian is that of the midpoint rule, L_d(q1, q2, h) = h L((q1 + q2)/2, (q2 - q1)/h). Beside the
discrete Euler-Lagrange equations a step satisfies the equation of the energy, E_d = -dL_d/dh, and so finds h with q2:

    p1 + D1 L_d(q1, q2, h) = 0,    E_d(q1, q2, h) = E,    p2 = D2 L_d(q1, q2, h).

The first step has the length dt, and E is its discrete energy. For T = m v^2/2 the energies E_d and H(q1, p1) differ by
(h^2/8) (V'^2/m + V'' v^2) to lowest order. Where this changes its sign, as on the way of a pendulum over the top, there
is no positive h. This is a limitation of the method, which the paper reports, and raises a ConvergenceError.
"""

import time

import numpy as np

import vitree as vt

#: Largest ratio of two successive steps, iterations for a step length, and rounding errors of an energy.
MOST, PASSES, ROUNDING = 4.0, 40, 4 * np.finfo(float).eps


def discrete_energy(model, q1, q2, h) -> float:
    """Return E_d [J] of a step of h [s] from q1 to q2, both (nq,)."""
    v = (np.asarray(q2) - q1) / h
    d = model.lagrangian_derivatives(0.5 * (np.asarray(q1) + q2), v)
    return float(d.by_v @ v - d.value)


class EnergyMomentum(vt.Integrator):
    """The midpoint rule with steps whose lengths conserve the discrete energy; for conservative trees.

    Joints have one coordinate each; ``model.euler()`` has ball and free joints as such.
    """

    name = "energy-momentum"
    order = 2
    uses_momentum = True
    symplectic = True
    conserves_momentum = True
    adaptive = True

    @classmethod
    def adapts(cls, options):
        return True

    def _prepare(self):
        model = self.model
        driven = self.torque is not None or self.wrenches or self.pushes or self.motion.names or model.input_names
        if driven or model.constraints or not model.is_conservative:
            raise vt.InputError(
                f'the method {self.name} conserves energy: "{model.name}" may have no damping, constraints, prescribed '
                'coordinates, torque, inputs or wrenches; use method="midpoint"'
            )
        model.lagrangian_derivatives(model.neutral(), model.zero_velocity())  # an error names ball and free joints

    def command(self, torque, inputs):
        raise vt.InputError(f'the method {self.name} conserves energy, so nothing may drive it; use method="midpoint"')

    def start(self, t, q, x):
        self._t0, self._time, self._steps, self._state = t, t, 0, (q.copy(), x.copy())
        self._level, self._h = None, self.dt  # the energy is that of the first step
        self._y = self.dt * self.model.velocity_from_momentum(q, x)

    def strike(self, x):
        super().strike(x)
        self._level, self._h, (q, p) = None, self.dt, self._state
        self._y = self.dt * self.model.velocity_from_momentum(q, p)

    @property
    def t(self):
        return self._time

    def keep(self):
        return (self._t0, self._time, self._steps, self._level, self._h, self._y.copy(), *self.state())

    def go_back(self, kept):
        self._t0, self._time, self._steps, self._level, self._h, y, q, p = kept
        self._y, self._state = y.copy(), (q.copy(), p.copy())

    def advance(self, steps):
        for _ in range(steps):
            q, p = self._state
            y, h, d = self._step_of(q, p)
            self._state = q + y, 0.5 * h * d.by_q + d.by_v
            self._y, self._h, self._time, self._steps = y, h, self._time + h, self._steps + 1

    def run(self, records, steps, every, progress, monitors=None):
        if monitors:
            raise vt.InputError("monitors", monitors, f"are for compiled methods; record every step of {self.name}")
        first, began = self._time, time.perf_counter()
        while self._time < steps - 1e-9 * self.dt or self._steps % every:  # of steps that adapt it is the end [s]
            self.advance(1)
            if self._steps % every == 0:
                records.grow(records.rows + 1)
                k = records.rows
                records.t[k], (records.q[k], records.x[k]) = self._time, self._state
                records.rows += 1
                if progress is not None:
                    progress(min(round((self._time - first) / self.dt), round((steps - first) / self.dt)),
                             round((steps - first) / self.dt))  # fmt: skip
        records.seconds += time.perf_counter() - began

    def _step_of(self, q, p):
        """Return q2 - q1, h, and the derivatives of L in the middle of the step from (q, p)."""
        y, h = self._y, self._h
        for _ in range(PASSES):
            y, d, J = self._increment(q, p, y, h)
            v = y / h
            energy = d.by_v @ v - d.value
            if self._level is None:
                self._level = float(energy)
            miss = energy - self._level
            # the slope of the energy by h, with the change of y by h
            along = np.linalg.solve(J, d.by_vq.T @ v / 2 - d.by_q / 2 - d.by_vv @ v / h)
            turn = v @ d.by_vv
            slope = (turn / h + v @ d.by_vq / 2 - d.by_q / 2) @ along - turn @ v / h
            change = -miss / slope if slope else np.inf
            size = abs(d.by_v @ v) + abs(d.value) + abs(self._level)
            if abs(miss) <= ROUNDING * size or abs(change) <= ROUNDING * h:
                return y, h, d
            following = float(np.clip(h + change, h / 2, 2 * h))
            if not self._h / MOST < following < self._h * MOST:
                break
            y, h = y * (following / h), following
        raise vt.ConvergenceError(
            f"{self.name}: step {self._steps + 1} at t = {self._time:.9g} s: no positive step length near "
            f"{self._h:.3g} s conserves the discrete energy. The equation of the energy has no such solution where its "
            'error changes sign, which a smaller dt does not mend; use method="midpoint"',
            time=self._time, residual=abs(float(miss)), iterations=PASSES,
        )  # fmt: skip

    def _increment(self, q, p, y, h):
        """Solve p + D1 L_d = 0 for y at a given h; return it, the derivatives of L, and the Jacobian."""
        last = np.inf
        for _ in range(PASSES):
            d = self.model.lagrangian_derivatives(q + 0.5 * y, y / h)
            J = 0.25 * h * d.by_qq + 0.5 * (d.by_vq.T - d.by_vq) - d.by_vv / h
            change = -np.linalg.solve(J, p + 0.5 * h * d.by_q - d.by_v)
            size = float(np.abs(change).max())
            if size <= ROUNDING * np.abs(y).max() or (size >= last and size < 1e-11):
                return y, d, J
            y, last = y + change, size
        raise vt.ConvergenceError(
            f"{self.name}: step {self._steps + 1} at t = {self._time:.9g} s: the configuration at its end is not found "
            f"in {PASSES} iterations; halve dt", time=self._time, residual=size, iterations=PASSES,
        )  # fmt: skip
