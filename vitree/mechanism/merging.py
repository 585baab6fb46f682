"""Bodies that are fixed together, as one rigid body."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from vitree.spatial.inertia import point_inertia


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
