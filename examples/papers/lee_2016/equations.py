"""The equations of one step of Lee et al. 2016, in NumPy, for a solve that begins at any configuration.

The compiled solvers begin at the guesses of section 3.3. Figure 4 begins at q = 0, as no simulation would, and the
authors' program solves one step again and again.
"""

from __future__ import annotations

import chains
import numpy as np

from vitree.lie import SE3

MAP = SE3.maps["exp"]


class Equations:
    """Equations f(q_next) = 0 of a step of length h from q, their exact direction ``newton``, and RIQN's."""

    def residual(self, guess) -> np.ndarray:
        """f(q_next), (nv,) [kg m^2/s]."""
        raise NotImplementedError

    def newton(self, guess) -> np.ndarray:
        """The exact direction: the solution of (df/dq_next) d = -f."""
        raise NotImplementedError

    def riqn(self, guess) -> np.ndarray:
        """The impulse-based direction, -h M(q)^-1 f (section 3.2)."""
        return -self.h * np.linalg.solve(self.model.crba(self.q), self.residual(guess))

    def solve(self, direction: str, guess, tolerance: float, most: int) -> list[float]:
        """Norms of f after 0, 1, 2, ... corrections, until one is below the tolerance; ``end`` is the solution."""
        guess, errors = np.array(guess, float), []
        for _ in range(most + 1):
            errors.append(float(np.linalg.norm(self.residual(guess))))
            if not errors[-1] > tolerance:
                break
            guess = guess + getattr(self, direction)(guess)
        self.end = guess
        return errors


class MidpointStep(Equations):
    """The scalable variational integrator's step (SVI; Johnson & Murphey 2009, eq. 16 and alpha = 1/2).

    As in the authors' program the momentum at q is that of a step which arrives there with the velocity v.
    """

    def __init__(self, model, q, v, h: float):
        self.model, self.q, self.h = model, q, h
        before = model.lagrangian_derivatives(q - 0.5 * h * v, v)
        self.p = 0.5 * h * before.by_q + before.by_v

    def middle(self, guess):
        """Derivatives of the Lagrangian at the middle of the step."""
        return self.model.lagrangian_derivatives(0.5 * (self.q + guess), (guess - self.q) / self.h)

    def residual(self, guess) -> np.ndarray:
        L = self.middle(guess)
        return L.by_v - 0.5 * self.h * L.by_q - self.p

    def newton(self, guess) -> np.ndarray:
        L = self.middle(guess)
        D = L.by_vv / self.h + 0.5 * (L.by_vq - L.by_vq.T) - 0.25 * self.h * L.by_qq
        return -np.linalg.solve(D, self.residual(guess))


class Step(Equations):
    """The step of a chain from (q, v): its equations f(q_next) = 0 and two directions.

    Each link moves by dT = T(q)^-1 T(q_next) = exp(h V), and has the momentum mu = dlog_{hV}^T G V at the step's start:

        f = sum of J(q)^T mu  -  (h/2) dL/dq  -  M(q) v.
    """

    def __init__(self, model, q, v, h: float):
        self.model, self.q, self.h = model, q, h
        self.p = model.crba(q) @ v
        self.rest = -self.p + 0.5 * h * model.rnea(q, np.zeros_like(q), np.zeros_like(q))
        self.names = [name for name in model.frame_names if name.startswith("link")]
        self.G = len(self.names) * [inertia()]
        self.inverse = np.linalg.inv(SE3.check(self.poses(q)))
        self.J = self.jacobians(q)

    def poses(self, q):
        """Poses of the links, (n, 4, 4)."""
        found = self.model.frame_poses(q)
        return np.array([found[name] for name in self.names])

    def jacobians(self, q):
        """Of the links' twists in their own axes, (n, 6, nv)."""
        return np.array([self.model.frame_jacobian(name, q, axes="local") for name in self.names])

    def displacements(self, guess):
        """The twists h V of the links, (n, 6); rotations beyond half a turn come back from the other side."""
        return MAP.log(self.inverse @ self.poses(guess))

    def residual(self, guess) -> np.ndarray:
        x = self.displacements(guess)
        return self.rest + sum(J.T @ MAP.dtau_inv_transposed(y, G @ y / self.h)
                               for J, G, y in zip(self.J, self.G, x, strict=True))  # fmt: skip

    def newton(self, guess) -> np.ndarray:
        x, there = self.displacements(guess), self.jacobians(guess)
        D = sum(
            J.T @ (MAP.dtau_inv_slope(y, G @ y / self.h) + MAP.dtau_inv(y).T @ G / self.h) @ MAP.dtau_inv(-y) @ K
            for J, K, G, y in zip(self.J, there, self.G, x, strict=True)
        )
        return -np.linalg.solve(D, self.residual(guess))


def inertia(mass: float = 1.0, about: float = 1.0, height: float = chains.LENGTH / 2) -> np.ndarray:
    """G of a link of the chain about its joint, torque before force: the centre of mass is above it."""
    hat = height * np.array([[0.0, -1, 0], [1, 0, 0], [0, 0, 0]])
    return np.block([[about * np.eye(3) - mass * hat @ hat, mass * hat], [-mass * hat, mass * np.eye(3)]])
