"""Inertias of bodies, and of bodies that are fixed together."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

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


class Part(NamedTuple):
    """A body, and where its frame is in the core frame of what it moves with."""

    mass: float  # [kg]
    com: Sequence[float] | np.ndarray  # (3,) in the body's frame [m]
    inertia: np.ndarray  # (3, 3) about the COM, axes of the body's frame [kg m^2]
    R: np.ndarray  # (3, 3)
    p: np.ndarray  # (3,) [m]


def merge(groups: Sequence[Sequence[Part]]) -> list[tuple[float, np.ndarray, np.ndarray]]:
    """Return mass, COM and inertia about it, in the core frame, of each group of bodies fixed together."""
    parts = [[part for part in group if part.mass > 0 or np.any(part.inertia)] for group in groups]
    both = [part for group in parts for part in group]
    R = np.array([part.R for part in both]).reshape(-1, 3, 3)
    # one product for all: many small ones take longer
    turned = iter(R @ np.array([part.inertia for part in both]).reshape(-1, 3, 3) @ R.swapaxes(1, 2))
    merged = []
    for group in parts:
        masses = [part.mass for part in group]
        coms = [part.p + part.R.dot(part.com) for part in group]
        mass, com = float(sum(masses)), np.zeros(3)
        if mass > 0:
            com = coms[0] if len(group) == 1 else sum(map(np.multiply, masses, coms), np.zeros(3)) / sum(masses)
        inertia = np.zeros((3, 3))
        for m, c in zip(masses, coms, strict=True):
            inertia += next(turned) if len(group) == 1 else next(turned) + point_inertia(m, c - com)
        merged.append((mass, com, 0.5 * (inertia + inertia.T)))
    return merged
