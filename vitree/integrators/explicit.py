"""The baselines: explicit Euler, semi-implicit Euler, and Runge-Kutta-Munthe-Kaas of orders 4 and 8.

Constraints are kept by their accelerations (Johnson & Murphey 2009, eq. 36), so that h drifts with the
error of the method; ``Trajectory.constraint`` shows it. Contacts and limits kick the velocity where a step begins, so
that gaps hold where it ends.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar

import numpy as np

from vitree import _core
from vitree.integrators.compiled import NOT_CONVERGED, CompiledIntegrator, reusable
from vitree.integrators.options import EVENTS, events_of
from vitree.model.dynamics import drive_rate, friction_rates, spring_rate
from vitree.model.model import Model

#: How often a step with contacts that is not solved is halved.
HALVINGS = 4


class Explicit(CompiledIntegrator):
    """Base of the baselines: with contacts a step may be taken in halves."""

    touches = True
    options: ClassVar[Mapping[str, str]] = EVENTS

    def _make(self, kind: str, **options: object) -> _core.Stepper:
        return super()._make(kind, max_halvings=HALVINGS, max_impacts=events_of(self.chosen, self.model),
                             behind=self.at_end,
                             **options)  # fmt: skip

    def _remedy(self, status: int = NOT_CONVERGED, share: float = 1.0) -> str:
        way, share = solved_by(self.model, self.stepper.state()[1], self.dt)
        if share <= 1:
            return super()._remedy(status)
        return "give " + way + ", or " + super()._remedy(status, share)


def solved_by(model: Model, q: np.ndarray, dt: float) -> tuple[str, float]:
    """Return which method solves for what is stiff at q (nq,), in words, and how many times too long dt [s] is."""
    linear = 'method="linear-time"'
    springs = f'{linear} and springs="averaged", which solve for springs'
    rubs = float(friction_rates(model, q).max(initial=0.0)) if model.friction.any() else 0.0
    rate, way, time = max(
        (drive_rate(model, q), linear + ", which solves for drives and damping", "the shortest time in which they act"),
        (spring_rate(model, q), springs, "their 1/frequency"),
        (rubs, linear + ", which solves for friction", "the time in which it stops the joints"),
    )
    return way + f" (dt is {dt * rate:.2g} times {time})", dt * rate


@reusable
class ExplicitEuler(Explicit):
    """q and v move by the rates at the start of the step."""

    name = "explicit-euler"
    order = 1
    at_end = 1.0

    def _prepare(self) -> None:
        self.stepper = self._make("euler")


@reusable
class SemiImplicitEuler(Explicit):
    """v moves by the acceleration at the start, q by the new v; most game engines step so."""

    name = "semi-implicit-euler"
    order = 1
    at_end = 0.0

    def _prepare(self) -> None:
        self.stepper = self._make("euler", semi_implicit=True)


@reusable
class RungeKutta4(Explicit):
    """Classical Runge-Kutta of order 4, in exponential coordinates on ball and free joints; with contacts of order 2.

    References
    ----------
    Munthe-Kaas 1998, "Runge-Kutta methods on Lie groups".
    """

    name = "rk4"
    order = 4

    def _prepare(self) -> None:
        halves = np.array([[0, 0, 0, 0], [0.5, 0, 0, 0], [0, 0.5, 0, 0], [0, 0, 1, 0]])
        tableau = halves, np.array([1, 2, 2, 1]) / 6, np.array([0, 0.5, 0.5, 1])
        self.stepper = self._make("runge-kutta", tableau=tableau,
                                  moments=((0, 1, 1, 2), 2))  # fmt: skip


@reusable
class RungeKutta8(Explicit):
    """DOP853's method of order 8 with a fixed step, in exponential coordinates on ball and free joints.

    With contacts it is of order 2.

    References
    ----------
    Hairer, Norsett & Wanner 1993, "Solving ordinary differential equations I", section II.5; Munthe-Kaas 1998.
    """

    name = "rk8"
    order = 8

    def _prepare(self) -> None:
        from scipy.integrate import DOP853  # its coefficients

        self.moments = DOP853.C
        self.stepper = self._make("runge-kutta", tableau=(DOP853.A, DOP853.B, DOP853.C),
                                  moments=(range(len(DOP853.C)), len(DOP853.C)))  # fmt: skip
