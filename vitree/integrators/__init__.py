"""The integrators, by name."""

from __future__ import annotations

from vitree.integrators import explicit, scipy_ode, variational
from vitree.integrators.base import Integrator

#: name -> class; a new integrator is one file and one entry here.
METHODS: dict[str, type[Integrator]] = {
    kind.name: kind
    for kind in (
        variational.LinearTime,
        variational.Midpoint,
        explicit.ExplicitEuler,
        explicit.SemiImplicitEuler,
        explicit.RungeKutta4,
        explicit.RungeKutta8,
        *scipy_ode.VARIANTS,
    )
}

__all__ = ["METHODS", "Integrator"]
