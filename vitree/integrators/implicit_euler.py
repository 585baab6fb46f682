"""Implicit Euler in configuration and momentum: of first order, damped, for stiff systems and for comparisons."""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar

from vitree.integrators.compiled import reusable
from vitree.integrators.variational import Variational

#: Options of compositions and of steps that adapt, which need a method that is self-adjoint.
_SELF_ADJOINT = ("order", "adapt", "rate", "density")


@reusable
class ImplicitEuler(Variational):
    """Backward Euler (BDF1) of Hamilton's equations, solved in O(n) on every joint kind.

    A step solves q2 = q1 (+) h v2 and p2 = p1 + h (dL/dq + f)(q2, v2), where p2 = dL/dv(q2, v2), with the impulses of
    constraints and contacts along their rows at node 1. Forces that depend on q or v, of springs, damping and drives,
    are taken at node 2. Steps may be far longer than the period of a stiff spring or the time constant of a drive:
    motion that they do not resolve dies out. So does the energy of vibrations that they do resolve, at a rate in
    proportion to h; where energy matters take "linear-time" or "midpoint". Functions of t, q and v for torque and
    inputs are called once a step, at its predicted middle, so that their own slopes are explicit. The momentum of trees
    on free joints is conserved to round-off.

    On ball and free joints a step goes along the exponential map, q2 = q1 exp(h v2), and the momentum of the joint is
    that of a variational step: p1 = dlog_xi^T dL/dv - h E^T F and p2 = dlog_{-xi}^T dL/dv with xi = h v2, the force F
    about the joint's origin, and E the rotation of exp(-xi).

    References
    ----------
    Hairer & Wanner 1996, "Solving ordinary differential equations II", section IV.3.
    """

    name = "implicit-euler"
    order = 1
    at_end = 0.0
    symplectic = False
    touches = True
    rolls = True
    adaptations = ()
    options: ClassVar[Mapping[str, str]] = {
        name: text for name, text in Variational.options.items() if name not in _SELF_ADJOINT
    }

    def _prepare(self) -> None:
        self.stepper = self._make("midpoint", **self._solver_options(), alpha=1.0, backward=True,
                                  behind=self.at_end)  # fmt: skip
