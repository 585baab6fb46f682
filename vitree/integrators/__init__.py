"""The integrators, by name."""

from __future__ import annotations

from vitree.integrators import explicit, gauss, implicit_euler, scipy_ode, trapezoid, variational
from vitree.integrators.base import Integrator
from vitree.integrators.registered import Methods
from vitree.model.system import METHODS_OF

_KINDS: tuple[type[Integrator], ...] = (
    variational.LinearTime,
    variational.Midpoint,
    gauss.Gauss,
    trapezoid.Trapezoid,
    explicit.ExplicitEuler,
    explicit.SemiImplicitEuler,
    implicit_euler.ImplicitEuler,
    explicit.RungeKutta4,
    explicit.RungeKutta8,
    *scipy_ode.VARIANTS,
)
#: name -> class; a new integrator is one file and one entry above.
METHODS: dict[str, type[Integrator]] = Methods({kind.name: kind for kind in _KINDS})
METHODS_OF["mechanism"] = METHODS

__all__ = ["METHODS", "Integrator"]
