"""Integrators of nonholonomic vehicles: the variational ones, general and explicit, and others to compare with.

The state is (q, v), v as the constraints allow it. A variational step begins and ends with the momenta of its node,

    P = V(r)^T dl/d(u, xi),

V(r) being a basis of what the constraints allow, so that each end of a step has its share of the forces (half kicks for
alpha = 1/2): a map from state to state, of second order from the first step on.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

import numpy as np

from vitree._core import _vehicles
from vitree.errors import ConvergenceError, InputError
from vitree.integrators.base import Integrator
from vitree.integrators.options import HALVE, alpha_of, one_of
from vitree.integrators.scipy_ode import VARIANTS
from vitree.vehicles.methods.rigid import MAPS, ImplicitRungeKutta2, VehicleIntegrator, named, of_vehicles
from vitree.vehicles.methods.written import ImplicitStepper, RungeKuttaStepper

BEYOND_LIMIT, STEERED_TOO_FAR = (_vehicles.STATUS[name] for name in ("beyond limit", "steered too far"))

_ALPHA = {"alpha": "share of the force at a step's end, and where in it the shape is taken (default 0.5)"}


class Nonholonomic(VehicleIntegrator):
    """What they have in common; ``torque`` is a force on the shape and a wrench on the body, in the order of v."""

    model: Any
    remedy = HALVE

    def __init__(self, model, dt, *, torque=None, **options):
        super().__init__(model, dt, torque=_spared(model, torque), **options)

    def start(self, t, q, x):
        self.model.require_allowed(q, x)
        super().start(t, q, x)

    def _alpha(self) -> float:
        alpha = alpha_of(self.chosen)
        if alpha != 0.5:
            self.order = 1
        return alpha

    def _failure(self, status):
        if status not in (BEYOND_LIMIT, STEERED_TOO_FAR):
            return super()._failure(status)
        stepper, name = self.stepper, self.model.shape_names[1]
        what = f"{name} would move too far within it; " + self.remedy
        if status == BEYOND_LIMIT:
            what = f"{name} would pass its limit {self.model.shape_limits[name]:.6g}; steer less, or turn back earlier"
        return ConvergenceError(
            f"{self.name}: step {stepper.steps + 1} at t = {stepper.t:.9g} s, dt = {stepper.h:g} s: " + what,
            time=stepper.t, residual=np.nan, iterations=0,
        )  # fmt: skip


def _spared(model, torque):
    """The torque, checked to leave driven coordinates alone."""

    def checked(value):
        value = np.asarray(value, dtype=float)
        if value.shape == (model.nv,) and value[model.driven_at].any():
            raise InputError(
                f'torque on {", ".join(model.driven)} of "{model.name}" does nothing, as its rate is an input '
                f"({', '.join(model.driven.values())}); leave its entry zero"
            )
        return value

    if torque is None or not model.driven:
        return torque
    return (lambda t, q, v: checked(torque(t, q, v))) if callable(torque) else checked(torque)


class Lie(Nonholonomic):
    """The explicit update of a vehicle that has one (Kobilarov et al. 2009, sections 5.2.1 and 5.2.2)."""

    name = "lie"
    order = 2
    options: ClassVar[Mapping[str, str]] = _ALPHA

    def _prepare(self):
        self.stepper = self._make(self.model.compiled_stepper, alpha=self._alpha())


class LieImplicit(Nonholonomic):
    """The integrator of any nonholonomic vehicle, implicit and in Python (Kobilarov et al. 2009, eqs. 16 and 17).

    With the map "exp" and the tangent "trapezoidal" it is the explicit update of those that have one.
    """

    name = "lie-implicit"
    order = 2
    options: ClassVar[Mapping[str, str]] = {
        **_ALPHA,
        "map": f"from twists to displacements: {', '.join(MAPS)} (default exp)",
        "tangent": '"exact" (default), or "trapezoidal": 1 - ad/2 in place of the inverse tangent of the map',
        **ImplicitRungeKutta2.options,
    }

    def _prepare(self):
        name = one_of("map", self.chosen.get("map", "exp"), MAPS)
        tangent = one_of("tangent", self.chosen.get("tangent", "exact"), ("exact", "trapezoidal"))
        self.stepper = ImplicitStepper(
            self.model, self.dt, self.inputs, self.torque, alpha=self._alpha(),
            step_map=self.model.pose.group.maps[name],
            exact=tangent == "exact", **self._solving(),
        )  # fmt: skip


class RungeKutta2(Nonholonomic):
    """The explicit midpoint rule on the reduced equations."""

    name = "rk2"
    order = 2

    def _prepare(self):
        if self.model.compiled_stepper:
            self.stepper = self._make(self.model.compiled_stepper, order=self.order)
        else:
            self.stepper = RungeKuttaStepper(self.model, self.dt, self.inputs, self.torque, order=self.order)


class RungeKutta4(RungeKutta2):
    """The classical Runge-Kutta method on the reduced equations, quaternions normalised at each stage."""

    name = "rk4"
    order = 4


def _solver(kind: type[Integrator]) -> type[Integrator]:
    """Return a SciPy method for nonholonomic vehicles, on the numbers that a stepper has of their states."""

    class Solver(of_vehicles(kind, "")):  # type: ignore[misc]
        __doc__ = kind.__doc__

        def __init__(self, model, dt, *, torque=None, **options):
            super().__init__(model, dt, torque=_spared(model, torque), **options)

        def _accelerations(self):
            return RungeKutta4(self.model, self.dt, torque=self.torque, inputs=self.inputs).stepper

        def start(self, t, q, x):
            self.model.require_allowed(q, x)
            y = self.field.opened(q, x)
            super().start(t, y[: self.model.nq], y[self.model.nq :])

        def _rate(self, t, y):
            return self.field.rate_at(t, np.ascontiguousarray(y))

        def _record(self, records, state, marks):
            def states(times):
                rows = zip(times, np.ascontiguousarray(state(times).T), strict=True)
                return np.column_stack([np.concatenate(self.field.closed(*row)) for row in rows])

            super()._record(records, states, marks)

    Solver.__name__ = Solver.__qualname__ = f"Nonholonomic{kind.__name__}"
    return Solver


#: Methods of vehicles written in Python, the default first, and of those that have a compiled stepper.
WRITTEN_METHODS = named(LieImplicit, RungeKutta2, RungeKutta4, *map(_solver, VARIANTS))
EXPLICIT_METHODS = named(Lie, *WRITTEN_METHODS.values())
