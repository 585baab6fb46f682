"""Integrators of vehicles on SE(3): the variational one, and others for comparison."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

from vitree._core import _vehicles
from vitree.arguments import mapping
from vitree.errors import InputError
from vitree.integrators import scipy_ode
from vitree.integrators.base import Integrator
from vitree.integrators.compiled import CompiledIntegrator
from vitree.integrators.options import HALVE, SOLVE_LONGER, alpha_of, one_of, solving

MAPS: dict[str, int] = _vehicles.MAPS

_SOLVING = {
    "tolerance": "largest residual accepted, as a share of the momentum (default 1e-12)",
    "max_iterations": "most corrections of one step (default 30)",
}


class VehicleIntegrator(CompiledIntegrator):
    """An integrator of a vehicle whose steps are taken in compiled code.

    Loads are those of the vehicle. The integrator takes inputs and torque, (nv,) in the order of v, but no wrenches on
    frames.
    """

    remedy: str = SOLVE_LONGER

    def __init__(self, model, dt, *, wrenches=None, prescribed=None, **options):
        _refuse(model, wrenches, prescribed)
        super().__init__(model, dt, **options)

    def _make(self, kind: str, **options) -> Any:
        system: Any = self.model
        return _vehicles.VehicleStepper(system.nq, system.nv, len(system.input_names), self.dt, inputs=self.inputs,
                                        torque=self.torque, method=kind, **system.compiled, **options)  # fmt: skip

    def _solving(self) -> dict[str, Any]:
        """The checked options of a method that solves equations."""
        return solving(self.chosen, 1e-12)


class Lie(VehicleIntegrator):
    """The variational integrator on SE(3): momentum is exact, energy bounded, rotations stay rotations.

    With a map tau from twists to displacements and C the inverse of its right-trivialised tangent, a step solves

        C(h xi)^T I xi = mu_1 + (1 - alpha) h F(g_1, xi),    g_2 = g_1 tau(h xi),
        mu_2 = C(-h xi)^T I xi + alpha h F(g_2, xi).

    With alpha = 1/2 the method is symmetric and of second order; with 0 or 1 the force acts at one end of the step, and
    the method is of first order.

    References
    ----------
    Kobilarov, Crane & Desbrun 2009, eqs. 9-14, with the Cayley map's own C; Bou-Rabee & Marsden 2009.
    """

    name = "lie"
    uses_momentum = True
    order = 2
    symplectic = True
    conserves_momentum = True
    options: ClassVar[Mapping[str, str]] = {
        "map": "exp (default), cayley (of the 4x4 matrices), dual-cayley (of the adjoint, 6x6), or trapezoidal "
        "(dual-cayley with C = 1 - ad/2: a free body keeps its energy, too, but the method is not symplectic)",
        "alpha": "share of the force at a step's end (default 0.5)",
        **_SOLVING,
    }

    def _prepare(self):
        name, alpha = one_of("map", self.chosen.get("map", "exp"), MAPS), alpha_of(self.chosen)
        if alpha != 0.5:
            self.order = 1
        self.symplectic = name != "trapezoidal"
        if name == "exp":
            less = ", whose solution turns by less than half a turn at any step"
            self.remedy = f'{HALVE}, or take map="cayley"{less}'
        self.stepper = self._make("lie", map=MAPS[name], alpha=alpha,
                                  **self._solving())  # fmt: skip

    @property
    def settings(self):
        return {"map": "exp", "alpha": 0.5, "tolerance": 1e-12, "max_iterations": 30, **self.chosen}


class RungeKutta2(VehicleIntegrator):
    """The explicit midpoint rule on position, quaternion and velocity, the quaternion normalised after each stage."""

    name = "rk2"
    order = 2
    remedy = HALVE
    tableau: ClassVar[tuple] = ((0.0, 0.5), (0.0, 1.0))

    def _prepare(self):
        c, b = self.tableau
        self.stepper = self._make("runge-kutta", c=c, b=b)


class RungeKutta4(RungeKutta2):
    """Classical Runge-Kutta of order 4, the quaternion normalised after each stage and step."""

    name = "rk4"
    order = 4
    tableau = ((0.0, 0.5, 0.5, 1.0), (1 / 6, 1 / 3, 1 / 3, 1 / 6))


class ImplicitRungeKutta2(VehicleIntegrator):
    """Implicit midpoint for the velocity; explicit midpoint, by quaternions, for the pose.

    References
    ----------
    Kobilarov, Crane & Desbrun 2009, section 3.3.
    """

    name = "implicit-rk2"
    order = 2
    options = _SOLVING

    def _prepare(self):
        self.stepper = self._make("implicit-midpoint", **self._solving())


class LieNewmark(VehicleIntegrator):
    """Newmark's method: the pose explicitly by the exponential of h v + h^2 a/2, the velocity by the trapezoid.

    References
    ----------
    Krysl & Endres 2005, of rotations, here on SE(3) as in Kobilarov et al. 2009, section 3.3.
    """

    name = "lie-newmark"
    order = 2
    options = _SOLVING

    def _prepare(self):
        self.stepper = self._make("newmark", **self._solving())


class VehicleSciPy(scipy_ode.SciPy):
    """A solver of SciPy on (q, v) of a vehicle; a compiled stepper knows the accelerations."""

    def __init__(self, model, dt, *, wrenches=None, prescribed=None, **options):
        _refuse(model, wrenches, prescribed)
        super().__init__(model, dt, **options)

    def _accelerations(self):
        return VehicleIntegrator._make(self, "rigid")  # type: ignore[arg-type]


class VehicleSciPyRK45(VehicleSciPy, scipy_ode.SciPyRK45):
    """solve_ivp(method='RK45') on (q, v)."""


class VehicleSciPyDOP853(VehicleSciPy, scipy_ode.SciPyDOP853):
    """solve_ivp(method='DOP853') on (q, v)."""


class VehicleSciPyRadau(VehicleSciPy, scipy_ode.SciPyRadau):
    """solve_ivp(method='Radau') on (q, v)."""


class VehicleSciPyBDF(VehicleSciPy, scipy_ode.SciPyBDF):
    """solve_ivp(method='BDF') on (q, v)."""


class VehicleSciPyLSODA(VehicleSciPy, scipy_ode.SciPyLSODA):
    """solve_ivp(method='LSODA') on (q, v)."""


def named(*kinds: type[Integrator]) -> dict[str, type[Integrator]]:
    """Return name -> class."""
    return {kind.name: kind for kind in kinds}


def _refuse(model, wrenches, prescribed) -> None:
    if mapping(wrenches, "wrenches", "a mapping of names of frames to six numbers each"):
        raise InputError(f'"{model.name}" takes no wrenches; give inputs= or torque=, or make the vehicle with force=')
    if mapping(prescribed, "prescribed", "a mapping of names of joints to motions"):
        raise InputError(f'"{model.name}" has no coordinates to prescribe')


#: Methods of vehicles that are one rigid body: name -> class, the default first.
RIGID_METHODS = named(
    Lie, RungeKutta2, RungeKutta4, ImplicitRungeKutta2, LieNewmark,
    VehicleSciPyRK45, VehicleSciPyDOP853, VehicleSciPyRadau, VehicleSciPyBDF, VehicleSciPyLSODA,
)  # fmt: skip
