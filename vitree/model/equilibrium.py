"""Configurations at rest: minima of the potential energy under the constraints."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
from numpy.typing import ArrayLike

from vitree.arguments import of_kind, real
from vitree.errors import ConvergenceError, InputError
from vitree.mechanism.flat import KIND_NV
from vitree.model.closure import held_coordinates, satisfy_constraints
from vitree.model.finite import guarded
from vitree.model.model import Model
from vitree.model.written import by_displacement


# parameters as of satisfy_constraints, said again since the reference shows each function alone
@guarded
def minimize_potential_energy(
    model: Model, q: ArrayLike, hold: Iterable[str] = (), tolerance: float = 1e-8
) -> np.ndarray:
    """Return the configuration near q where the potential energy is least and the constraints hold.

    There the mechanism can stand still under gravity and those loads that have a potential.

    Parameters
    ----------
    model : Model
    q : (nq,) array [m or rad]
        Where to start; it need not satisfy the constraints.
    hold : names of joints
        Their coordinates stay as they are, and so do those that are prescribed.
    tolerance : float
        Largest force left on a joint, as a share of the largest that gravity and loads put on one.

    Returns
    -------
    (nq,) array [m or rad]

    Raises
    ------
    InputError
        If q is no configuration.
    ConvergenceError
        If no such configuration was found.
    UnknownNameError
        If a joint to hold is not known.
    ModelError
        If the mass matrix is singular.
    """
    of_kind(model, Model, "model", "a Model")
    if not 0 < real(tolerance) < np.inf:
        raise InputError("tolerance", tolerance, "must be a positive number")
    tolerance = real(tolerance)
    model.require_regular()
    q = satisfy_constraints(model, q, hold)
    rest = _Rest(model, hold)
    scale = max(float(np.abs(rest.slope(q)[rest.free]).max(initial=0.0)), 1e-12)
    q = rest.descended(q, scale)
    for _ in range(20):
        # Newton's method on the balance of forces, with its derivatives by differences
        left, multipliers, Dh = rest.unbalanced(q)
        scale = max(scale, float(np.abs(rest.slope(q)[rest.free]).max(initial=0.0)))
        if np.abs(left).max(initial=0.0) <= tolerance * scale:
            return q
        m = len(multipliers)
        system = np.block([[rest.curvature(q, multipliers).T, Dh.T], [Dh, np.zeros((m, m))]])
        x = np.linalg.lstsq(system, np.concatenate((-left, np.zeros(m))), rcond=1e-12)[0][: len(left)]
        q = rest.moved(q, x * min(1.0, 0.5 / max(np.abs(x).max(), 1e-300)))
        q = satisfy_constraints(model, q, hold)
    raise ConvergenceError(
        f'no rest near q: "{model.v_names[int(np.flatnonzero(rest.free)[np.abs(left).argmax()])]}" still feels '
        f"{np.abs(left).max():.3g} N or N m; the potential may have no minimum there; start elsewhere, or hold joints",
        time=np.nan, residual=float(np.abs(left).max()), iterations=20,
    )  # fmt: skip


class _Rest:
    """The forces of a model at rest, on the joints that are free to move."""

    def __init__(self, model: Model, hold: Iterable[str]):
        self.model, self.hold = model, tuple(hold)
        self.free = ~held_coordinates(model, self.hold)

    def slope(self, at: np.ndarray) -> np.ndarray:
        """Derivatives of the potential by body displacements."""
        return -self.model.passive_force(at)

    def constraints(self, at: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """h, and Dh by the free coordinates."""
        h, Dh = self.model.constraint_rows(at[None])
        return h[0], Dh[0][:, self.free]

    def unbalanced(self, at: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Forces that the constraints do not carry, the multipliers of those they do, and Dh."""
        Dh, force = self.constraints(at)[1], self.slope(at)[self.free]
        multipliers = np.linalg.lstsq(Dh.T, force, rcond=None)[0]
        return force - Dh.T @ multipliers, multipliers, Dh

    def curvature(self, at: np.ndarray, multipliers: np.ndarray) -> np.ndarray:
        """Derivatives of the unbalanced forces, the multipliers held."""
        model, free = self.model, self.free
        left = lambda q: self.slope(q) - model.constraint_rows(q[None])[1][0].T @ multipliers  # noqa: E731
        return by_displacement(model, at, left)[free][:, free]

    def moved(self, at: np.ndarray, x: np.ndarray) -> np.ndarray:
        """The configuration that a displacement of the free coordinates leads to."""
        step = np.zeros(self.model.nv)
        step[self.free] = x
        return self.model.integrate(at, step)

    def descended(self, q: np.ndarray, scale: float) -> np.ndarray:
        """A configuration of less potential that satisfies the constraints, near a local minimum."""
        if (KIND_NV[self.model.flat.kind] == 1).all():
            return self._descended(q, scale, None)
        # slopes are by body displacements, which of several coordinates of a joint add up only while they are small
        for _ in range(30):
            before, q = q, self._descended(q, scale, [(-0.2, 0.2)] * int(self.free.sum()))
            if np.abs(self.model.difference(before, q)).max() < 1e-3:
                break
        return q

    def _descended(self, start: np.ndarray, scale: float, bounds: list | None) -> np.ndarray:
        """The same by one call of SLSQP, on displacements from a start."""
        from scipy.optimize import minimize

        at = lambda x: self.moved(start, x)  # noqa: E731
        found = minimize(
            lambda x: self.model.potential_energy(at(x)) / scale, np.zeros(self.free.sum()), method="SLSQP",
            jac=lambda x: self.slope(at(x))[self.free] / scale, options={"maxiter": 500, "ftol": 1e-12},
            constraints={"type": "eq", "fun": lambda x: self.constraints(at(x))[0],
                         "jac": lambda x: self.constraints(at(x))[1]}, bounds=bounds,
        )  # fmt: skip
        return satisfy_constraints(self.model, at(found.x), self.hold)
