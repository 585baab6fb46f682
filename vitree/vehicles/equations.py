"""Equations of nonholonomic vehicles in Python, which the compiled stepper calls (``_core/vehicles/python.pxi``).

An implicit variational step begins and ends with momenta

    P = V(r)^T dl/d(u, xi),

where V(r) is a basis of the allowed velocities. The impulse of the forces is divided between the ends of a step (in
halves for alpha = 1/2). A step therefore maps a state (q, v) to a state, and the method is of second order from the
first step on.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from vitree.errors import InputError
from vitree.lie import Map
from vitree.vehicles.rolling import STEP, NonholonomicVehicle, slope


class Equations:
    """The differential equations of a vehicle, and those of its implicit steps (Kobilarov et al. 2009, eqs. 16, 17).

    Each stepper has its own object, which stores the current step.

    Parameters
    ----------
    model : NonholonomicVehicle
    alpha : float
        Fraction of the force at the end of a step, and of the step at which the shape is evaluated.
    map : Map, optional
        From twists to displacements; "exp" if not given.
    exact : bool
        Whether its tangent is exact, or 1 - ad/2.
    """

    def __init__(self, model: NonholonomicVehicle, alpha: float = 0.5, map: Map | None = None, exact: bool = True):
        self.model, self.alpha, self.exact = model, alpha, exact
        self.map = map or model.pose.group.maps["exp"]
        self.s, self.n = len(model.shape_names), model.free
        self.driven = [model.input_names.index(name) for name in model.driven.values()]
        self.angles = 1 if model.group == "SE2" else 3
        kind = type(model)
        self.shape_forced = kind.shape_force is not NonholonomicVehicle.shape_force
        self.body_forced = kind.body_force is not NonholonomicVehicle.body_force
        self.turn = 0.0  # [rad] of the last trial of a step

    # ---- differential equations: y has q and the free velocities -----------------------------------

    def unknowns(self, q: np.ndarray, v: np.ndarray) -> np.ndarray:
        """Return y of a state."""
        return np.concatenate((q, self.model.reduced(q[: self.s], v[self.model.algebra])[: self.n]))

    def state(self, y: np.ndarray, inputs: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return the state (q, v) of y under inputs."""
        model, v = self.model, np.empty(self.model.nv)
        q = y[: model.nq].copy()
        if model.group == "SE3":
            q[-4:] /= np.linalg.norm(q[-4:])
        v[model.algebra] = model.basis(q[: self.s]) @ np.concatenate((y[model.nq :], inputs[self.driven]))
        return q, v

    def rate(self, t: float, y: np.ndarray, inputs: np.ndarray, torque: np.ndarray) -> np.ndarray:
        """Return dy/dt: V^T (d/dt(M w) - (dl/dr + f, ad_xi^T mu + F)) = 0, w = (u, xi) = V z."""
        model, s = self.model, self.s
        q, v = self.state(y, inputs)
        r, w, z = q[:s], v[model.algebra], np.concatenate((y[model.nq :], inputs[self.driven]))
        u, xi = w[:s], w[s:]
        V, M = model.basis(r), model.mass_matrix(r)
        free = V[:, : self.n]
        if self.driven and np.abs(free.T @ M @ V[:, self.n :]).max(initial=0.0) > 1e-12 * np.abs(M).max():
            raise InputError(
                f"{model.name}: the acceleration of driven coordinates ({', '.join(model.driven)}) moves the others, "
                f'but inputs give rates only; take the method "lie-implicit", or give the coordinates a force'
            )
        # how the momentum of the same z changes with r, along u
        momentum: Callable[[float], np.ndarray] = lambda x: model.mass_matrix(r + x * u) @ model.basis(r + x * u) @ z  # noqa: E731
        change = slope(momentum, STEP / max(1.0, np.abs(u).max(initial=0.0)))
        state = (t, r, model.pose.matrix(q[s:]), u, xi, inputs)
        force = np.concatenate((model.shape_force(*state), model.body_force(*state))) + torque[model.algebra]
        force += np.concatenate((model.lagrangian_slope(r, u, xi), model.pose.group.ad(xi).T @ (M @ w)[s:])) - change
        return np.concatenate((u, model.pose.rate(q[s:], xi), np.linalg.solve(free.T @ M @ free, free.T @ force)))

    # ---- an implicit step: z has the free velocities at the quadrature point ------------------------

    def ahead(
        self, span: float, q: np.ndarray, v: np.ndarray, v_last: np.ndarray, h_last: float
    ) -> tuple[np.ndarray, np.ndarray]:
        """Return the state after a span [s] that the mean acceleration of the last step predicts."""
        later = v + span * (v - v_last) / h_last if h_last else v
        return self.model.integrate(q, span * (v + later) / 2), later

    def begin(
        self, t: float, h: float, q: np.ndarray, v: np.ndarray, inputs: np.ndarray, torque: np.ndarray
    ) -> tuple[np.ndarray, float]:
        """Begin a step; return a guess of z, and the magnitude of the momentum."""
        model, self.t, self.h, self.q, self.inputs = self.model, t, h, q, inputs
        self.r, self.g, self.torque = q[: self.s], model.pose.matrix(q[self.s :]), torque[model.algebra]
        self.rates, self.V = inputs[self.driven], model.basis(self.r)
        self.P = self.V[:, : self.n].T @ (model.mass_matrix(self.r) @ v[model.algebra])
        return model.reduced(self.r, v[model.algebra])[: self.n], float(np.abs(self.P).max(initial=0.0))

    def velocity(self, z: np.ndarray) -> np.ndarray:
        """Return (u, xi): the shape moves by its rates, which with lam give the twist at the quadrature point."""
        z = np.concatenate((z, self.rates))
        found: np.ndarray = self.model.basis(self.r + self.alpha * self.h * (self.V[: self.s] @ z)) @ z
        return found

    def residual(self, z: np.ndarray) -> np.ndarray | None:
        """Return the residual of the momentum at the start, or None if the rotation exceeds the range of the map."""
        w = self.velocity(z)
        self.turn = self.h * float(np.linalg.norm(w[self.s :][: self.angles]))
        if not self.turn < 2 * self.map.reach:
            return None
        found: np.ndarray = self.V[:, : self.n].T @ self._momentum(w, False) - self.P
        return found

    def end(self, z: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return the state (q, v) at the step's end."""
        model, s, h, w = self.model, self.s, self.h, self.velocity(z)
        q = np.concatenate((self.r + h * w[:s], model.pose.moved(self.q[s:], self.map.tau(h * w[s:]))))
        V, M, v = model.basis(q[:s]), model.mass_matrix(q[:s]), np.empty(model.nv)
        free, driven = V[:, : self.n], V[:, self.n :] @ self.rates
        v[model.algebra] = driven
        if self.n:
            z = np.linalg.solve(free.T @ M @ free, free.T @ (self._momentum(w, True) - M @ driven))
            v[model.algebra] += free @ z
        return q, v

    def _momentum(self, w: np.ndarray, end: bool) -> np.ndarray:
        """The momentum at the step's start, or at its end, with the part of the forces there."""
        model, s, h, a = self.model, self.s, self.h, self.alpha
        u, xi, share = w[:s], w[s:], a * h if end else (a - 1) * h
        at = self.r + a * h * u
        p = model.mass_matrix(at) @ w
        x = -h * xi if end else h * xi
        p[s:] = self.map.dtau_inv_transposed(x, p[s:]) if self.exact else p[s:] - self.map.group.ad(x).T @ p[s:] / 2
        force = self.torque.copy()
        force[:s] += model.lagrangian_slope(at, u, xi)
        if self.shape_forced:
            middle = self.g @ self.map.tau(a * h * xi)
            force[:s] += model.shape_force(self.t + a * h, at, middle, u, xi, self.inputs)
        if self.body_forced:
            here: tuple[float, np.ndarray, np.ndarray]
            here = (self.t + h, self.r + h * u, self.g @ self.map.tau(h * xi)) if end else (self.t, self.r, self.g)
            force[s:] += model.body_force(*here, u, xi, self.inputs)
        total: np.ndarray = p + share * force
        return total
