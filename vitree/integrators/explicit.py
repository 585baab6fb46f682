"""The baselines: explicit Euler, semi-implicit Euler, and Runge-Kutta-Munthe-Kaas of order 4.

Constraints are kept by their accelerations (Johnson & Murphey 2009, eq. 36), so that h drifts with the
error of the method; ``Trajectory.constraint`` shows it.
"""

from __future__ import annotations

from vitree.integrators.base import CompiledIntegrator


class ExplicitEuler(CompiledIntegrator):
    """q and v move by the rates at the start of the step."""

    name = "explicit-euler"
    order = 1

    def _prepare(self):
        self.stepper = self._make("EulerStepper", self.model, self.torque)


class SemiImplicitEuler(CompiledIntegrator):
    """v moves by the acceleration at the start, q by the new v; what most game engines do."""

    name = "semi-implicit-euler"
    order = 1

    def _prepare(self):
        self.stepper = self._make("EulerStepper", self.model, self.torque, semi_implicit=True)


class RungeKutta4(CompiledIntegrator):
    """Classical Runge-Kutta of order 4, in exponential coordinates on ball and free joints.

    References
    ----------
    Munthe-Kaas 1998, "Runge-Kutta methods on Lie groups".
    """

    name = "rk4"
    order = 4

    def _prepare(self):
        self.stepper = self._make("RungeKuttaStepper", self.model, self.torque)
