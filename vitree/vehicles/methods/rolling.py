"""Integrators of nonholonomic vehicles: the variational ones, implicit and explicit, and others for comparison.

The state is (q, v), where the constraints allow v. A variational step begins and ends with momenta

    P = V(r)^T dl/d(u, xi),

where V(r) is a basis of the allowed velocities. Each end of a step has its share of the forces (half kicks for alpha =
1/2). So a step maps a state to a state, and the method is of second order from the first step on.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

import numpy as np

from vitree._core import _vehicles
from vitree.arguments import Asked
from vitree.errors import ConvergenceError, InputError
from vitree.integrators import scipy_ode
from vitree.integrators.options import HALVE, alpha_of, one_of
from vitree.vehicles.methods.rigid import MAPS, ImplicitRungeKutta2, VehicleIntegrator, VehicleSciPy, named
from vitree.vehicles.methods.written import ImplicitStepper, RungeKuttaStepper, Scheme
from vitree.vehicles.rolling import beyond_limit

BEYOND_LIMIT, STEERED_TOO_FAR = (_vehicles.STATUS[name] for name in ("beyond limit", "steered too far"))

_ALPHA = {
    "alpha": "share of the force at a step's end, and the moment in the step at which the shape is taken (default 0.5)"
}


class Nonholonomic(VehicleIntegrator):
    """Base of these methods; ``torque`` is a force on the shape and a wrench on the body, in the order of v."""

    model: Any
    remedy = HALVE

    def __init__(self, model, dt, *, torque=None, **options):
        super().__init__(model, dt, torque=_without_driven(model, torque), **options)

    def start(self, t, q, x):
        self.model.require_allowed(q, x)
        super().start(t, q, x)

    def checked_torque(self, torque):
        return _without_driven(self.model, self.model.validate_velocity(torque, "torque"))

    def _alpha(self) -> float:
        alpha = alpha_of(self.chosen)
        if alpha != 0.5:
            self.order = 1
        return alpha

    def _failure(self, status):
        if status not in (BEYOND_LIMIT, STEERED_TOO_FAR):
            return super()._failure(status)
        stepper, name = self.stepper, self.model.shape_names[1]
        reason = f"{name} would move too far in this step; " + self.remedy
        if status == BEYOND_LIMIT:
            reason = beyond_limit(name, self.model.shape_limits[name])
        return ConvergenceError(
            f"{self.name}: step {stepper.steps + 1} at t = {stepper.t:.9g} s, dt = {stepper.h:g} s: " + reason,
            time=stepper.t, residual=np.nan, iterations=0,
        )  # fmt: skip


def _without_driven(model, torque):
    """The torque, which must be zero on driven coordinates."""

    def checked(value):
        if value[model.driven_at].any():
            raise InputError(
                f'torque on {", ".join(model.driven)} of "{model.name}" does nothing: an input '
                f"({', '.join(model.driven.values())}) is the rate; make the torque zero there"
            )
        return value

    if torque is None or not model.driven:
        return torque
    if not callable(torque):
        return checked(model.validate_velocity(torque, "torque"))
    asked = Asked(torque, "torque", "(t, q, v)", (model.nv,))
    return lambda t, q, v: checked(asked(t, q, v))


class Lie(Nonholonomic):
    """The explicit update, for vehicles that have one (Kobilarov et al. 2009, sections 5.2.1 and 5.2.2)."""

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
            self.model, self.dt, self.inputs, self.torque,
            scheme=Scheme(self._alpha(), self.model.pose.group.maps[name], tangent == "exact", **self._solving()),
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


class NonholonomicSciPy(VehicleSciPy):
    """A solver of SciPy for nonholonomic vehicles, on the unknowns of a stepper's equations."""

    def __init__(self, model, dt, *, torque=None, **options):
        super().__init__(model, dt, torque=_without_driven(model, torque), **options)

    def _accelerations(self):
        return RungeKutta4(self.model, self.dt, torque=self.torque, inputs=self.inputs).stepper

    def start(self, t, q, x):
        self.model.require_allowed(q, x)
        y = self.field.unknowns(q, x)
        super().start(t, y[: self.model.nq], y[self.model.nq :])

    def state(self):
        y = self.field.state_of(self.t, np.concatenate((self.q, self.v)))
        return tuple(np.array(part) for part in y)

    def checked_torque(self, torque):
        return _without_driven(self.model, self.model.validate_velocity(torque, "torque"))

    def _rate_of(self, t, y):
        return self.field.rate_at(t, np.ascontiguousarray(y))

    def _record(self, records, state, marks):
        def states(times):
            rows = zip(times, np.ascontiguousarray(state(times).T), strict=True)
            return np.column_stack([np.concatenate(self.field.state_of(*row)) for row in rows])

        super()._record(records, states, marks)


class NonholonomicSciPyRK45(NonholonomicSciPy, scipy_ode.SciPyRK45):
    """solve_ivp(method='RK45') on the unknowns of a vehicle's equations."""


class NonholonomicSciPyDOP853(NonholonomicSciPy, scipy_ode.SciPyDOP853):
    """solve_ivp(method='DOP853') on the unknowns of a vehicle's equations."""


class NonholonomicSciPyRadau(NonholonomicSciPy, scipy_ode.SciPyRadau):
    """solve_ivp(method='Radau') on the unknowns of a vehicle's equations."""


class NonholonomicSciPyBDF(NonholonomicSciPy, scipy_ode.SciPyBDF):
    """solve_ivp(method='BDF') on the unknowns of a vehicle's equations."""


class NonholonomicSciPyLSODA(NonholonomicSciPy, scipy_ode.SciPyLSODA):
    """solve_ivp(method='LSODA') on the unknowns of a vehicle's equations."""


#: Methods of vehicles written in Python, the default first, and of those that have a compiled stepper.
WRITTEN_METHODS = named(
    LieImplicit, RungeKutta2, RungeKutta4,
    NonholonomicSciPyRK45, NonholonomicSciPyDOP853, NonholonomicSciPyRadau,
    NonholonomicSciPyBDF, NonholonomicSciPyLSODA,
)  # fmt: skip
EXPLICIT_METHODS = named(Lie, *WRITTEN_METHODS.values())
