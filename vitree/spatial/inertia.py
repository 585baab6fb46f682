"""Inertias of bodies."""

from __future__ import annotations

import numpy as np

from vitree.arguments import as_numbers
from vitree.errors import ModelError
from vitree.spatial.checks import finite
from vitree.wording import text_of


def body_mass(value: object, name: str) -> float:
    """Return the mass of a body [kg], checked to be finite and zero or more."""
    mass = finite(value, f'mass of "{name}"')
    if mass < 0:
        raise ModelError(f'the mass of "{name}" is {mass:g} kg; it must be zero or more')
    return mass


def inertia_tensor(value: object, name: str) -> np.ndarray:
    """Return an inertia (3, 3) about the COM, checked to be symmetric and physically possible."""
    if value is None:
        return np.zeros((3, 3))
    try:
        array = as_numbers(value).copy()
    except TypeError:
        array = np.full(1, np.nan)
    if array.shape == (3,):
        array = np.diag(array)
    elif array.shape == (6,):
        xx, xy, xz, yy, yz, zz = array
        array = np.array([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]])
    if array.shape != (3, 3) or not np.isfinite(array).all():
        raise ModelError(
            f'the inertia of "{name}" is {text_of(value, repr)}; give 3 principal moments, 6 numbers '
            f"(ixx, ixy, ixz, iyy, iyz, izz) or a (3, 3) array, all finite"
        )
    scale = max(np.abs(array).max(), 1e-300)
    if np.abs(array - array.T).max() > 1e-9 * scale:
        raise ModelError(f'the inertia of "{name}" is not symmetric')
    array = 0.5 * array + 0.5 * array.T
    if np.linalg.eigvalsh(array)[0] < -1e-9 * scale:
        raise ModelError(
            f'the inertia of "{name}" has a negative principal moment ({np.linalg.eigvalsh(array)[0]:.3g} kg m^2); '
            f"this is physically impossible: check signs and the point it is taken about (the COM)"
        )
    return array


def point_inertia(mass: float, offset: np.ndarray) -> np.ndarray:
    """Return the inertia (3, 3) of a point mass at ``offset`` (3,) about the origin: the parallel axis theorem."""
    found: np.ndarray = mass * (offset @ offset * np.eye(3) - np.outer(offset, offset))
    return found
