"""The trapezoidal variational integrator in generalized coordinates, in Python."""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar

import numpy as np

from vitree import lie
from vitree.arguments import all_finite
from vitree.errors import ConvergenceError
from vitree.integrators.base import Integrator
from vitree.integrators.options import HALVE, LONGER, require_no_constraints, solving
from vitree.model.broadcasting import coincident

#: A pass that leaves more than this share of the residual is followed by a Jacobian by differences.
SLOW = 0.2
#: Displacement of such a difference, as a share of the step's own and of a unit.
NEAR = 1e-7
#: The groups of joints of several coordinates, with the rows of a velocity in the order (angular, linear) of twists.
_GROUPS = {"ball": (lie.SO3, [0, 1, 2]), "free": (lie.SE3, [3, 4, 5, 0, 1, 2])}


class Trapezoid(Integrator):
    """The trapezoid rule for the action in generalized coordinates: Stoermer-Verlet where the mass matrix is constant.

    The discrete Lagrangian is L_d(q1, q2) = h/2 (L(q1, y/h) + L(q2, y/h)), where y = q2 - q1, on ball and free joints
    the increment of the exponential map, and all forces act half at each node, with the velocity y/h. So the momenta
    of a step are, with D_q L the derivative by displacements and F the forces that are not of L,

        p1 = dlog_y^T P - h/2 (D_q L(q1, y/h) + F1),    P = 1/2 (M(q1) + M(q2)) y/h,
        p2 = dlog_{-y}^T P + h/2 (D_q L(q2, y/h) + F2),

    and D_q L = C(q, v)^T v - g(q) - ad_v^T M v by the Coriolis matrix C. The first equation is solved for y, to
    ``tolerance`` times the largest momentum, with the Jacobian M/h, or one by differences where this is slow.

    It is in Python and makes O(n^2) operations, for comparisons with other discrete Lagrangians; ``linear-time`` is a
    trapezoid in the motion of the bodies, compiled. Constraints, contacts and limits are not for this method.

    References
    ----------
    Marsden & West 2001, "Discrete mechanics and variational integrators", section 2.6. Johnson & Murphey 2009, Fig. 3.
    Echeandia & Wensing 2021, for C.
    """

    name = "trapezoid"
    uses_momentum = True
    order = 2
    symplectic = True
    conserves_momentum = True
    self_adjoint = True
    options: ClassVar[Mapping[str, str]] = {
        "order": "2 (default), 4, 6 or 8: steps composed of 5, 9 or 17 substeps",
        "tolerance": "largest residual accepted, as a share of the momentum (default 1e-12)",
        "max_iterations": "most corrections of one step (default 30)",
    }

    def _prepare(self) -> None:
        model = self.model
        require_no_constraints(model, self.name)
        self._solving = solving(self.chosen, 1e-12)
        self._turning = [(joint.v_slice, *_GROUPS[joint.kind]) for joint in model.joints if joint.kind in _GROUPS]
        self._free = np.ones(model.nv, dtype=bool)
        self._free[self.motion.iv] = False
        #: rows of inputs are held over a step: its end has those of its start
        self._held = isinstance(self.inputs, np.ndarray) and self.inputs.ndim == 2
        loaded = model.loads or model.drives or model.written is not None or model.damping.any() or model.friction.any()
        self._driven_by_loads = bool(loaded or self.torque is not None or self.wrenches or self.pushes)

    @property
    def settings(self) -> dict[str, object]:
        """The options, with their defaults."""
        return {"order": 2, **self._solving, **self.chosen}

    def step(self, t: float, q: np.ndarray, x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return the state, q (nq,) [m or rad] and p (nv,) [kg m/s or kg m^2/s], at t + ``dt`` from that at t.

        Raises
        ------
        ConvergenceError
            If the equations are not solved in ``max_iterations`` corrections.
        """
        model, h, free = self.model, self.dt, self._free
        M = model.crba(q)
        y = h * model._constrained_velocities(q[None], x[None], self._rates(np.array([t]), x[None]))[0]
        if self.motion.names:
            end = q.copy()
            end[self.motion.iq] = self.motion.at(t + h)[0]
            y[self.motion.iv] = model.difference(q, end)[self.motion.iv]
        r, before = self._residual(t, q, x, y), np.inf
        scale = max(float(np.abs(each).max(initial=0.0)) for each in (x, M @ y / h, r))  # momenta and an impulse
        J, exact = M[np.ix_(free, free)] / h, False
        for k in range(int(self._solving["max_iterations"]) + 1):
            size = float(np.abs(r[free]).max(initial=0.0))
            # rounding may end the solution before the tolerance does
            if size <= self._solving["tolerance"] * scale and (size == 0.0 or size > 0.5 * before or k > 3):
                self.iterations, self.residual = k, size
                return self._end(t, q, y)
            if not np.isfinite(size):
                break
            if size > SLOW * before and (not exact or size > before):
                J, exact = self._jacobian(t, q, x, y, r), True
            y[free] -= np.linalg.solve(J, r[free])
            before, r = size, self._residual(t, q, x, y)
        tolerance = self._solving["tolerance"]
        numbers = f"residual {size:.3g} after {k} iterations, tolerance {tolerance:.3g} of the momentum"
        raise self._failure(t, f"the equations are not solved ({numbers})", HALVE + LONGER, size, k)

    def _failure(self, t: float, why: str, remedy: str, residual: float = np.nan, passes: int = 0) -> ConvergenceError:
        text = f"{self.name}: step {self.steps + 1} at t = {t:.9g} s, dt = {self.dt:g} s: {why}; {remedy}"
        return ConvergenceError(text, time=t, residual=residual, iterations=passes)

    def _residual(self, t: float, q: np.ndarray, p: np.ndarray, y: np.ndarray) -> np.ndarray:
        """Return what is left of the equation at the start of a step (nv,) [kg m/s or kg m^2/s]."""
        own, mean = self._means(q, self.model.integrate(q, y), y)
        found: np.ndarray = self._pulled(y, mean) - 0.5 * self.dt * self._force(t, q, y / self.dt, own) - p
        return found

    def _jacobian(self, t: float, q: np.ndarray, p: np.ndarray, y: np.ndarray, r: np.ndarray) -> np.ndarray:
        """Return the derivative of the residual by the free entries of y, by differences."""
        size = NEAR * max(1.0, float(np.abs(y).max()))
        columns = []
        for k in np.flatnonzero(self._free):
            near = y.copy()
            near[k] += size
            columns.append((self._residual(t, q, p, near) - r)[self._free] / size)
        return np.array(columns).T

    def _end(self, t: float, q1: np.ndarray, y: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return q2 and p2 of a step from q1 by the increment y."""
        h, q2 = self.dt, self.model.integrate(q1, y)
        _, mean = self._means(q1, q2, y)
        # dlog_{-y} = dlog_y + ad_y
        p2 = self._pulled(y, mean) + self._turned(y, mean)
        return q2, p2 + 0.5 * h * self._force(t if self._held else t + h, q2, y / h, self._momentum(q2, y / h))

    def _momentum(self, q: np.ndarray, v: np.ndarray) -> np.ndarray:
        found: np.ndarray = self.model.generalized_momentum(q, v)
        return found

    def _means(self, q1: np.ndarray, q2: np.ndarray, y: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return M(q1) y/h, and its mean with M(q2) y/h."""
        own = self._momentum(q1, y / self.dt)
        return own, 0.5 * (own + self._momentum(q2, y / self.dt))

    def _pulled(self, y: np.ndarray, mean: np.ndarray) -> np.ndarray:
        """Return dlog_y^T of a momentum."""
        found = mean.copy()
        for at, group, order in self._turning:
            found[at][order] = group.maps["exp"].dtau_inv_transposed(y[at][order], mean[at][order])
        return found

    def _turned(self, v: np.ndarray, momentum: np.ndarray) -> np.ndarray:
        """Return ad_v^T of a momentum, which is zero on joints of one coordinate."""
        found = np.zeros_like(v)
        for at, group, order in self._turning:
            w, n = v[at][order], momentum[at][order]
            found[at][order[:3]] = _cross(n[:3], w[:3])
            if group is lie.SE3:
                found[at][order[:3]] += _cross(n[3:], w[3:])
                found[at][order[3:]] = _cross(n[3:], w[:3])
        return found

    def _force(self, t: float, q: np.ndarray, v: np.ndarray, own: np.ndarray) -> np.ndarray:
        """Return the derivative of L by q and all other forces (nv,) [N or N m]; ``own`` is M(q) v."""
        model, still = self.model, np.zeros(self.model.nv)
        C = model.coriolis_matrix(q, v)
        found: np.ndarray = C.T @ v - model.rnea(q, still, still) - self._turned(v, own)
        if self._driven_by_loads or self.commanded:
            a = self.acceleration(t, q, v)
            if not all_finite(a):
                met = coincident(model, q)
                raise self._failure(t, met[0] if met else "the accelerations are infinite or NaN", HALVE)
            found = found + model.rnea(q, v, a)
        return found


def _cross(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """Return a x b of two (3,) arrays; NumPy's own takes ten times as long."""
    return np.array([a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]])
