"""Accelerations by the mass matrix itself, (nv, nv): of models some of whose joints follow others."""

from __future__ import annotations

from typing import Any

import numpy as np

from vitree.model.dynamics import AbaDerivatives


def aba(model: Any, q: np.ndarray, v: np.ndarray, tau: np.ndarray) -> np.ndarray:
    """Return ``model.aba`` at states (..., nq), (..., nv) [m or rad, its rate, N or N m]."""
    model._require_invertible_mass_matrix(q)
    return np.linalg.solve(model.crba(q), (tau - model.rnea(q, v, np.zeros(v.shape)))[..., None])[..., 0]


def inverse_mass_matrix(model: Any, q: np.ndarray) -> np.ndarray:
    """Return ``model.inverse_mass_matrix`` (..., nv, nv) at q (..., nq) [1/kg, 1/(kg m) or 1/(kg m^2)]."""
    model._require_invertible_mass_matrix(q)
    return np.linalg.inv(model.crba(q))


def aba_derivatives(model: Any, q: np.ndarray, v: np.ndarray, tau: np.ndarray) -> AbaDerivatives:
    """Return ``model.aba_derivatives`` at states (..., nq), (..., nv) [m or rad, its rate, N or N m]."""
    forces, inverse = model.rnea_derivatives(q, v, model.aba(q, v, tau)), model.inverse_mass_matrix(q)
    return AbaDerivatives(-inverse @ forces.by_q, -inverse @ forces.by_v, inverse)


def velocities(model: Any, q: np.ndarray, p: np.ndarray) -> np.ndarray:
    """Return ``model._velocities`` (n, nv) [m/s or rad/s] at rows q (n, nq) and momenta p (n, nv)."""
    return np.linalg.solve(model._mass_matrices(q), p[..., None])[..., 0]
