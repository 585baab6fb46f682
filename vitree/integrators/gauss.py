"""The method gauss: variational steps of order 4 to 16 by Gauss collocation."""

from __future__ import annotations

import functools
from collections.abc import Mapping
from decimal import Decimal, localcontext
from typing import ClassVar, NamedTuple

import numpy as np

from vitree._core import stages
from vitree.arguments import Keywords, real
from vitree.errors import InputError
from vitree.integrators.compiled import NOT_CONVERGED, CompiledIntegrator, reusable
from vitree.integrators.options import require_no_constraints, solving, whole_from
from vitree.model.dynamics import friction_rates
from vitree.model.model import Model

#: Stages by order.
STAGES = {4: 2, 6: 3, 8: 4, 12: 6, 16: 8}
#: Tolerances that let the order show.
TOLERANCES = {4: 1e-9, 6: 1e-10, 8: 1e-10, 12: 1e-11, 16: 1e-12}
#: Of the stages, by their number: shares of h c and h^2 k by which dampers c and springs k are added to inertias. With
#: them the iteration contracts at any c and any k.
STIFF = {
    2: ((0.4667, 0.1556), (0.2339, 0.0168)),
    3: ((0.204892, 0.108841, 0.326049), (0.039661, 0.008220, 0.111594)),
    4: ((0.107493, 0.067153, 0.209615, 0.290550), (0.063834, 0.003783, 0.024665, 0.057280)),
    6: ((0.108548, 0.039610, 0.093943, 0.155739, 0.209027, 0.241858),
        (0.029746, 0.016096, 0.001526, 0.008707, 0.026349, 0.038832)),
    8: ((0.126427, 0.109513, 0.072858, 0.036459, 0.094816, 0.132356, 0.160772, 0.177530),
        (0.021702, 0.016562, 0.007954, 0.000732, 0.003703, 0.011265, 0.018116, 0.022712)),
}  # fmt: skip
#: Digits of the computation of the nodes.
DIGITS = 50


class Nodes(NamedTuple):
    """Gauss's nodes on a step of length 1, and integrals of Lagrange's polynomials on them.

    ``c`` (s,) nodes; ``b`` (s,) weights; ``m`` (s, s) a_ij/b_j, where a_ij is the integral of the j-th polynomial to
    c_i, and m_ij + m_ji = 1 to the last bit; ``d`` (s,) the integrals to 1/2. ``E`` (5, s, 2 s) extrapolates to 1 + c_i
    from values at c - 1 and c, by polynomials through the last (s + 1)/2, s, (5 s + 3)/4, (3 s + 1)/2 and 2 s of them.
    ``last`` (s,) are weights whose sum with values at the nodes is their last coefficient in Legendre's polynomials.
    """

    c: np.ndarray
    b: np.ndarray
    m: np.ndarray
    d: np.ndarray
    E: np.ndarray
    last: np.ndarray


@functools.cache
def gauss_nodes(s: int) -> Nodes:
    """Return the nodes of s stages, computed in 50 digits."""
    with localcontext() as context:
        context.prec = DIGITS + 10
        zero, one = Decimal(0), Decimal(1)
        # Legendre's polynomial on (0, 1) by its recursion, lowest power first:
        #     (k + 1) P_(k+1) = (2 k + 1)(2 x - 1) P_k - k P_(k-1)
        before, found = [one], [-one, Decimal(2)]
        for k in range(1, s):
            longer = [zero] * (k + 2)
            for power, value in enumerate(found):
                longer[power] -= (2 * k + 1) * value
                longer[power + 1] += 2 * (2 * k + 1) * value
            for power, value in enumerate(before):
                longer[power] -= k * value
            before, found = found, [value / (k + 1) for value in longer]
        slope = [power * value for power, value in enumerate(found)][1:]
        c = []
        for start in np.sort(np.polynomial.legendre.leggauss(s)[0]):
            x = (Decimal(float(start)) + 1) / 2
            for _ in range(5):  # Newton's steps double the digits
                x -= _value(found, x) / _value(slope, x)
            c.append(x)
        lagrange = [_lagrange(c, j) for j in range(s)]
        integral = [[zero, *(value / (power + 1) for power, value in enumerate(one_))] for one_ in lagrange]
        b = [_value(each, one) for each in integral]
        m = np.full((s, s), 0.5)
        for i in range(s):
            for j in range(i):
                m[i, j] = float(_value(integral[j], c[i]) / b[j])
                m[j, i] = 1.0 - m[i, j]
        d = [float(_value(each, one / 2)) for each in integral]
        past, E = [x - one for x in c] + c, np.zeros((5, s, 2 * s))
        for way, points in enumerate(((s + 1) // 2, s, (5 * s + 3) // 4, (3 * s + 1) // 2, 2 * s)):
            for j in range(2 * s - points, 2 * s):
                each = _lagrange(past[2 * s - points :], j - 2 * s + points)
                E[way, :, j] = [float(_value(each, one + x)) for x in c]
        last = [float((2 * s - 1) * weight * _value(before, x)) for weight, x in zip(b, c, strict=True)]
        nodes, weights = (np.array([float(x) for x in each]) for each in (c, b))
        return Nodes(nodes, weights, m, np.array(d), E, np.array(last))


def _value(polynomial: list[Decimal], x: Decimal) -> Decimal:
    """Return a polynomial's value; its coefficients stand lowest power first."""
    total = Decimal(0)
    for coefficient in reversed(polynomial):
        total = total * x + coefficient
    return total


def _lagrange(c: list[Decimal], j: int) -> list[Decimal]:
    """Return the coefficients of the polynomial that is 1 at the j-th node and 0 at the others, lowest power first."""
    made = [Decimal(1)]
    for k, node in enumerate(c):
        if k != j:
            scale = c[j] - node
            longer = [Decimal(0)] * (len(made) + 1)
            for power, value in enumerate(made):
                longer[power] -= node * value / scale
                longer[power + 1] += value / scale
            made = longer
    return made


@reusable
class Gauss(CompiledIntegrator):
    """Gauss collocation on Hamilton's equations: variational, of order 4, 6, 8, 12 or 16.

    A step solves for the velocities of 2, 3, 4, 6 or 8 stages at once, which are lanes of the processor's registers.
    The action of the step is that of the polynomials through the stages, by Gauss's quadrature. The step is symplectic,
    reversible, and keeps momentum to round-off at any ``tolerance``. Ball and free joints turn in a chart about the
    middle of the step, the square of Cayley's map.

    Loads, joint forces and inputs that are functions are taken at the stages (t, q, v), in every pass of the solver.
    Arrays of inputs and of a torque are held over a step. Friction keeps the order once dt times the acceleration is
    well below its velocity of smoothing. Holonomic constraints, contacts and limits are not for this method.

    References
    ----------
    Ober-Bloebaum & Saake 2015, "Construction and analysis of higher order Galerkin variational integrators".
    Hall & Leok 2015, "Spectral variational integrators". Bogfjellmo & Marthinsen 2016, "High-order symplectic
    partitioned Lie group methods". Van der Houwen & Sommeijer 1991, "Iterated Runge-Kutta methods on parallel
    computers". Walker & Ni 2011, "Anderson acceleration for fixed-point iterations".
    """

    name = "gauss"
    uses_momentum = True
    order = 8
    symplectic = True
    conserves_momentum = True
    estimates = True
    dense = True
    iterates = True
    options: ClassVar[Mapping[str, str]] = {
        "order": "4, 6, 8 (default), 12 or 16: steps of 2, 3, 4, 6 or 8 stages",
        "max_halvings": "how often a step that cannot be solved is halved (default 10)",
        "tolerance": "largest change of the velocities accepted in the last pass, as the root of a share of the "
        "kinetic energy about the centre of mass (default 1e-9 of order 4, to 1e-12 of order 16)",
        "max_iterations": "most passes of one step (default 40)",
    }

    def _prepare(self) -> None:
        require_no_constraints(self.model, self.name)
        self.order = self.chosen.get("order", 8)
        if real(self.order) not in STAGES:
            raise InputError("order", self.order, f"must be one of {', '.join(map(str, STAGES))}", choices=STAGES)
        self.order = int(real(self.order))
        count = STAGES[self.order]
        nodes = gauss_nodes(count)
        lanes, kernels = stages(count)
        self.moments = np.concatenate(([0.0], nodes.c))
        self.stepper = self._make(
            "gauss", nodes=nodes, stiff=STIFF[count], lanes=lanes, kernels=kernels,
            max_halvings=whole_from("max_halvings", self.chosen.get("max_halvings", 10), 0, 20), **self._solving(),
        )  # fmt: skip

    def _remedy(self, status: int = NOT_CONVERGED, share: float = 1.0) -> str:
        if isinstance(self.model, Model) and self.model.friction.any():
            share = self.dt * float(friction_rates(self.model, self.stepper.state()[1]).max(initial=0.0))
            if share > 1:
                return (
                    'give method="linear-time", which solves for friction, or raise friction_velocity= of the '
                    f"joints (dt is {share:.2g} times the time in which friction stops them), or "
                    f"{super()._remedy(status, share)}"
                )
        return super()._remedy(status)

    def _solving(self) -> Keywords:
        return solving({"max_iterations": 40, **self.chosen}, TOLERANCES[self.order])

    def keep_stages(self, steps: int) -> np.ndarray:
        """Return an array (steps, nv, stages) to which the steps from here on write the velocities of their stages."""
        rows = np.full((steps, self.model.nv, STAGES[self.order]), np.nan)
        self.stepper.keep_stages(rows)
        return rows

    @property
    def settings(self) -> Keywords:
        return {"order": self.order, **self._solving(), "max_halvings": 10, **self.chosen}
