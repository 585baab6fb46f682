"""Integrators of vehicles: the variational ones, and others for comparison.

They are registered in :data:`vitree.model.system.METHODS_OF` under the families "rigid", "nonholonomic", and
"nonholonomic, in Python", which is that of vehicles without compiled equations.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, ClassVar

import numpy as np

from vitree._core import _vehicles
from vitree.arguments import Asked, Keywords, mapping, several
from vitree.errors import InputError
from vitree.integrators import scipy_ode
from vitree.integrators.base import Integrator, Records, Torque
from vitree.integrators.compiled import NOT_CONVERGED, CompiledIntegrator
from vitree.integrators.options import HALVE, SOLVE_LONGER, alpha_of, one_of, solving
from vitree.mechanism.pushes import ExternalWrench
from vitree.model.system import METHODS_OF, System
from vitree.vehicles.equations import Equations

MAPS = _vehicles.MAPS
BEYOND_LIMIT, STEERED_TOO_FAR, TURNED_TOO_FAR = (
    _vehicles.STATUS[name] for name in ("beyond limit", "steered too far", "turned too far")
)

_SOLVING = {
    "tolerance": "largest residual accepted, as a share of the momentum (default 1e-12)",
    "max_iterations": "most corrections of one step (default 30)",
}


class OfVehicle(Integrator):
    """Base class of the integrators of vehicles.

    Loads are part of the vehicle. The integrator accepts inputs and torque, (nv,) in the order of v, but no wrenches on
    frames. A torque on a driven shape coordinate must be zero.
    """

    def __init__(self, model: System, dt: float, *, torque: Torque = None, wrenches: Sequence[ExternalWrench] = (),
                 prescribed: Mapping[str, object] | None = None, **options: Any):  # fmt: skip
        if several(wrenches, "wrenches", "a sequence of wrenches"):
            raise InputError(
                "wrenches", wrenches,
                f'act on frames, and "{model.name}" has none; give control=, or make the vehicle with force='
            )
        if mapping(prescribed, "prescribed", "a mapping of names of joints to motions"):
            raise InputError(f'"{model.name}" has no coordinates to prescribe')
        super().__init__(model, dt, torque=_without_driven(model, torque), **options)

    def checked_torque(self, torque: np.ndarray) -> np.ndarray:
        found: np.ndarray = _without_driven(self.model, self.model.validate_velocity(torque, "torque"))
        return found

    def _stepper(self, method: str, **options: object) -> _vehicles.VehicleStepper:
        system = self.model
        own = "equations" in options or "equations" in system.compiled
        return _vehicles.VehicleStepper(
            system.nq, system.nv, len(system.input_names), self.dt, inputs=self.inputs, torque=self.torque,
            method=method, **{**system.compiled, **({} if own else {"equations": Equations(system)}), **options},
        )  # fmt: skip


def _without_driven(model: Any, torque: Torque) -> Any:
    """The torque, which must be zero on driven coordinates."""

    def checked(value: np.ndarray) -> np.ndarray:
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


class VehicleIntegrator(OfVehicle, CompiledIntegrator):
    """An integrator of a vehicle with compiled steps."""

    remedy: str = HALVE
    stepper: _vehicles.VehicleStepper

    def start(self, t: float, q: np.ndarray, x: np.ndarray) -> None:
        self.model.require_allowed(q, x)
        super().start(t, q, x)

    def _reason(self, status: int) -> str:
        model, beyond = self.model, self.stepper.beyond
        if status == STEERED_TOO_FAR:
            return f"{model.shape_names[1]} would move too far in this step"
        if status != BEYOND_LIMIT:
            return super()._reason(status)
        name = model.shape_names[beyond]
        return f"{name} would pass its limit {model.shape_limits[name]:.6g} in this step"

    def _remedy(self, status: int = NOT_CONVERGED, share: float = 1.0) -> str:
        return "steer less, or turn back earlier" if status == BEYOND_LIMIT else super()._remedy(status, share)

    def _solving(self) -> Keywords:
        """The checked options of a method that solves equations."""
        return solving(self.chosen, 1e-12)

    def _alpha(self) -> float:
        alpha = alpha_of(self.chosen)
        if alpha != 0.5:
            self.order = 1
        return alpha


class RigidLie(VehicleIntegrator):
    """The variational integrator on SE(3): exact momentum, bounded energy error, rotations on SO(3).

    With a map tau from twists to displacements and C the inverse of its right-trivialised tangent, a step solves

        C(h xi)^T I xi = mu_1 + (1 - alpha) h F(g_1, xi),    g_2 = g_1 tau(h xi),
        mu_2 = C(-h xi)^T I xi + alpha h F(g_2, xi).

    With alpha = 1/2 the method is symmetric and of second order; with 0 or 1 the force acts at one end of the step, and
    the method is of first order.

    References
    ----------
    Kobilarov, Crane & Desbrun 2009, eqs. 9-14, with the C of the Cayley map; Bou-Rabee & Marsden 2009. For
    ``map="second-kind"``, canonical coordinates of the second kind, Crouch & Grossman 1993: the map is not its own
    adjoint, with which it takes turns, since by itself the method is of first order.
    """

    name = "lie"
    uses_momentum = True
    order = 2
    symplectic = True
    conserves_momentum = True
    remedy = SOLVE_LONGER
    options: ClassVar[Mapping[str, str]] = {
        "map": "exp (default), cayley (of the 4x4 matrices), dual-cayley (of the adjoint, 6x6), or trapezoidal "
        "(dual-cayley with C = 1 - ad/2: a free body keeps its energy, too, but the method is not symplectic), or "
        "second-kind (a product of exponentials, and the same in the other order: half a step by each)",
        "alpha": "share of the force at a step's end (default 0.5)",
        **_SOLVING,
    }

    def _prepare(self) -> None:
        name = one_of("map", self.chosen.get("map", "exp"), _vehicles.RIGID_MAPS)
        self.symplectic = name != "trapezoidal"
        if name == "exp":
            less = ", whose solution turns by less than half a turn at any step"
            self.remedy = f'{HALVE}, or take map="cayley"{less}'
        elif name == "second-kind":
            self.remedy = f'{HALVE}, or take map="exp"'
        chosen = _vehicles.RIGID_MAPS[name]
        self.stepper = self._stepper("lie", map=chosen, alpha=self._alpha(), **self._solving())

    def _reason(self, status: int) -> str:
        if status == TURNED_TOO_FAR and self.chosen.get("map") == "second-kind":
            return "the second of three angles reaches a right angle within half a step, where this map is singular"
        return super()._reason(status)

    @property
    def settings(self) -> Keywords:
        return {"map": "exp", "alpha": 0.5, "tolerance": 1e-12, "max_iterations": 30, **self.chosen}


_ALPHA = {
    "alpha": "share of the force at a step's end, and the moment in the step at which the shape is taken (default 0.5)"
}


class Lie(VehicleIntegrator):
    """The explicit update, for vehicles that have one (Kobilarov et al. 2009, sections 5.2.1 and 5.2.2)."""

    name = "lie"
    order = 2
    options: ClassVar[Mapping[str, str]] = _ALPHA

    def _prepare(self) -> None:
        self.stepper = self._stepper("lie", alpha=self._alpha())


class LieImplicit(VehicleIntegrator):
    """The integrator of any nonholonomic vehicle, by implicit steps (Kobilarov et al. 2009, eqs. 16 and 17).

    The equations are functions in Python. With the map "exp" and the tangent "trapezoidal" it agrees with the
    explicit update of vehicles that have one.
    """

    name = "lie-implicit"
    order = 2
    remedy = SOLVE_LONGER
    options: ClassVar[Mapping[str, str]] = {
        **_ALPHA,
        "map": f"from twists to displacements: {', '.join(MAPS)} (default exp)",
        "tangent": '"exact" (default), or "trapezoidal": 1 - ad/2 in place of the inverse tangent of the map',
        **_SOLVING,
    }

    def _prepare(self) -> None:
        name = one_of("map", self.chosen.get("map", "exp"), MAPS)
        tangent = one_of("tangent", self.chosen.get("tangent", "exact"), ("exact", "trapezoidal"))
        model, alpha = self.model, self._alpha()
        self.equations = Equations(model, alpha, model.pose.group.maps[name], tangent == "exact")
        self.stepper = self._stepper("lie", equations=self.equations, alpha=alpha, **self._solving())

    def _reason(self, status: int) -> str:
        if status != TURNED_TOO_FAR:
            return super()._reason(status)
        return f"the body turns by {self.equations.turn:.3g} rad in this step, beyond the reach of the map"


class RungeKutta2(VehicleIntegrator):
    """The explicit midpoint rule: on position, quaternion and velocity, or on the reduced equations of a vehicle.

    Quaternions are normalised at each stage.
    """

    name = "rk2"
    order = 2

    def _prepare(self) -> None:
        self.stepper = self._stepper("runge-kutta", order=self.order)


class RungeKutta4(RungeKutta2):
    """The classical Runge-Kutta method on the same equations."""

    name = "rk4"
    order = 4


class ImplicitRungeKutta2(VehicleIntegrator):
    """Implicit midpoint for the velocity; explicit midpoint, by quaternions, for the pose.

    References
    ----------
    Kobilarov, Crane & Desbrun 2009, section 3.3.
    """

    name = "implicit-rk2"
    order = 2
    remedy = SOLVE_LONGER
    options = _SOLVING
    steps_by = "implicit-midpoint"

    def _prepare(self) -> None:
        self.stepper = self._stepper(self.steps_by, **self._solving())


class LieNewmark(ImplicitRungeKutta2):
    """Newmark's method: the pose explicitly by the exponential of h v + h^2 a/2, the velocity by the trapezoid.

    References
    ----------
    Krysl & Endres 2005, of rotations, here on SE(3) as in Kobilarov et al. 2009, section 3.3.
    """

    name = "lie-newmark"
    steps_by = "newmark"


class VehicleSciPy(OfVehicle, scipy_ode.SciPy):
    """A solver of SciPy on the differential equations of a vehicle, whose rates a compiled stepper computes."""

    field: _vehicles.VehicleStepper

    def _accelerations(self) -> _vehicles.VehicleStepper:
        return self._stepper("rates")

    def start(self, t: float, q: np.ndarray, x: np.ndarray) -> None:
        self.model.require_allowed(q, x)
        y = self.field.unknowns(q, x)
        super().start(t, y[: self.model.nq], y[self.model.nq :])

    def state(self) -> tuple[np.ndarray, np.ndarray]:
        return self.field.state_of(self.t, np.concatenate((self.q, self.v)))

    def _rate_of(self, t: float, y: np.ndarray) -> np.ndarray:
        return self.field.rate_at(t, np.ascontiguousarray(y))

    def _record(self, records: Records, state: Callable[[np.ndarray], np.ndarray], marks: np.ndarray) -> None:
        def states(times: np.ndarray) -> np.ndarray:
            rows = zip(times, np.ascontiguousarray(state(times).T), strict=True)
            return np.column_stack([np.concatenate(self.field.state_of(*row)) for row in rows])

        super()._record(records, states, marks)


def named(*kinds: type[Integrator]) -> dict[str, type[Integrator]]:
    """Return name -> class, with the solvers of SciPy last."""
    return {kind.name: kind for kind in (*kinds, *SCIPY)}


SCIPY: list[type[Integrator]] = [
    type(f"Vehicle{kind.__name__}", (VehicleSciPy, kind), {"__doc__": kind.__doc__}) for kind in scipy_ode.VARIANTS
]
METHODS_OF |= {
    "rigid": named(RigidLie, RungeKutta2, RungeKutta4, ImplicitRungeKutta2, LieNewmark),
    "nonholonomic": named(Lie, LieImplicit, RungeKutta2, RungeKutta4),
    "nonholonomic, in Python": named(LieImplicit, RungeKutta2, RungeKutta4),
}
