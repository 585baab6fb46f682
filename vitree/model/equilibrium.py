"""Configurations at rest: minima of the potential energy under the constraints."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
from numpy.typing import ArrayLike

from vitree.errors import ConvergenceError
from vitree.model.closure import held_coordinates, satisfy_constraints
from vitree.model.model import Model
from vitree.model.written import by_displacement


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
    ConvergenceError
        If no such configuration was found.
    UnknownNameError
        If a joint to hold is not known.
    ModelError
        If the mass matrix is singular.
    """
    from scipy.optimize import minimize

    model.require_regular()
    q = satisfy_constraints(model, q, hold)
    free = ~held_coordinates(model, hold)

    def slope(at: np.ndarray) -> np.ndarray:
        """Derivatives of the potential by body displacements."""
        return -model.static_force(at)

    scale = max(float(np.abs(slope(q)[free]).max(initial=0.0)), 1e-12)

    def unbalanced(at: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Forces that the constraints do not carry, the multipliers of those they do, and Dh."""
        Dh, force = model.constraint_rows(at[None])[1][0][:, free], slope(at)[free]
        multipliers = np.linalg.lstsq(Dh.T, force, rcond=None)[0]
        return force - Dh.T @ multipliers, multipliers, Dh

    def moved(at: np.ndarray, x: np.ndarray) -> np.ndarray:
        step = np.zeros(model.nv)
        step[free] = x
        return model.integrate(at, step)

    def descended(start: np.ndarray, bounds) -> np.ndarray:
        """A configuration of less potential, by SLSQP on displacements from a start."""
        found = minimize(
            lambda x: model.potential_energy(moved(start, x)) / scale, np.zeros(free.sum()), method="SLSQP",
            jac=lambda x: slope(moved(start, x))[free] / scale, options={"maxiter": 500, "ftol": 1e-12},
            constraints={"type": "eq", "fun": lambda x: model.constraint_rows(moved(start, x)[None])[0][0],
                         "jac": lambda x: model.constraint_rows(moved(start, x)[None])[1][0][:, free]}, bounds=bounds,
        )  # fmt: skip
        return satisfy_constraints(model, moved(start, found.x), hold)

    if model.nq == model.nv:
        q = descended(q, None)
    else:
        # slopes are by body displacements, which on ball and free joints add up only while they are small
        for _ in range(30):
            before, q = q, descended(q, [(-0.2, 0.2)] * int(free.sum()))
            if np.abs(model.difference(before, q)).max() < 1e-3:
                break
    for _ in range(20):
        # Newton's method on the balance of forces, with its derivatives by differences
        rest, multipliers, Dh = unbalanced(q)
        scale = max(scale, float(np.abs(slope(q)[free]).max(initial=0.0)))
        if np.abs(rest).max(initial=0.0) <= tolerance * scale:
            return q
        H = by_displacement(
            model, q, lambda at: slope(at) - model.constraint_rows(at[None])[1][0].T @ multipliers  # noqa: B023
        )[free][:, free]
        m = len(multipliers)
        system = np.block([[H.T, Dh.T], [Dh, np.zeros((m, m))]])
        x = np.linalg.lstsq(system, np.concatenate((-rest, np.zeros(m))), rcond=1e-12)[0][: len(rest)]
        q = satisfy_constraints(model, moved(q, x * min(1.0, 0.5 / max(np.abs(x).max(), 1e-300))), hold)
    raise ConvergenceError(
        f'no rest near q: "{model.v_names[int(np.flatnonzero(free)[np.abs(rest).argmax()])]}" still feels '
        f"{np.abs(rest).max():.3g} N or N m; the potential may have no minimum there; start elsewhere, or hold joints",
        time=np.nan, residual=float(np.abs(rest).max()), iterations=20,
    )  # fmt: skip
