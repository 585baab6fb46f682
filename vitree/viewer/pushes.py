"""Forces of contacts as arrows: what a picture of a run shows of the steps since the one before."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from vitree.results.units import about
from vitree.viewer.source import Run

#: An arrow of the weight is LENGTH times as long as the system is large; an arrow has at most MOST weights, and forces
#: of less than LEAST weights are not drawn.
LENGTH, MOST, LEAST = 1.0, 2.0, 0.02


@dataclass(frozen=True)
class Pushes:
    """Forces between what touches, a row for each picture and each pair.

    Attributes
    ----------
    t : (n,) array [s]
        When pictures are.
    point : (n, m, 3) array [m]
        The centre of pressure of a pair.
    force : (n, m, 3) array [N]
        On the first of the two: the mean over the records since the picture before.
    unit : float [N]
        A force whose arrow has ``LENGTH``: the weight; without gravity a large one of the run.
    """

    t: np.ndarray
    point: np.ndarray
    force: np.ndarray
    unit: float

    def arrows(self, t: float, extent: float) -> np.ndarray:
        """Return both ends (k, 2, 3) [m] of the arrows at a time, of a system of a size [m]."""
        k = int(np.clip(np.searchsorted(self.t, t, "right") - 1, 0, len(self.t) - 1))
        return arrows_of(self.point[k], self.force[k], self.unit, extent)


def arrows_of(point: np.ndarray, force: np.ndarray, unit: float, extent: float) -> np.ndarray:
    """Return both ends (k, 2, 3) [m] of the arrows of those of the forces (n, 3) [N] that are large enough.

    A force ``unit`` [N] has an arrow of ``LENGTH`` times the size ``extent`` [m] of the system.
    """
    size = np.linalg.norm(force, axis=1)
    shown = size > LEAST * unit
    start, force, size = point[shown], force[shown], size[shown]
    length = LENGTH * extent * np.minimum(size / unit, MOST) / size
    return np.stack([start, start + length[:, None] * force], axis=1)


def by_pairs(
    at: tuple[np.ndarray, np.ndarray], count: tuple[int, int], point: np.ndarray, normal: np.ndarray,
    force: np.ndarray,
) -> tuple[np.ndarray, np.ndarray]:  # fmt: skip
    """Return the centres of pressure [m] and the sums of forces [N], each (pictures, pairs, 3), of forces (n, 3).

    ``at`` has picture and pair of each force; the centres are weighed by the forces along the normals.
    """
    push = (force * normal).sum(axis=1)
    total, weighed, weight = np.zeros((*count, 3)), np.zeros((*count, 3)), np.zeros(count)
    np.add.at(total, at, force)
    np.add.at(weighed, at, push[:, None] * point)
    np.add.at(weight, at, push)
    return weighed / np.where(weight > 0, weight, 1.0)[:, :, None], total


def pushes_of(run: Run) -> Pushes | None:
    """Return the forces of contacts of a run; None if there are none, or nobody knows where they act."""
    traj, t = run.trajectory, run.film.t
    log = traj.contacts
    if log is None or not len(traj):
        return None
    rows = np.flatnonzero(np.isfinite(log.places).all(axis=1) & np.isfinite(log.force).all(axis=1))
    if not len(rows):
        return None
    pairs = sorted({log.names[k] for k in log.number[rows]})
    pair = np.array([pairs.index(both) if both in pairs else -1 for both in log.names])
    place = np.searchsorted(t, traj.t - 1e-12).clip(max=len(t) - 1)
    at = place[log.record[rows]], pair[log.number[rows]]
    point, force = by_pairs(at, (len(t), len(pairs)), log.point_a[rows], log.normal[rows], log.force[rows])
    records = np.maximum(np.bincount(place, minlength=len(t)), 1)
    force /= records[:, None, None]
    known = about(traj)
    unit = 0.0 if known is None else known["total_mass"] * float(np.linalg.norm(known["gravity"]))
    if not unit > 0:
        size = np.linalg.norm(force, axis=2)
        unit = float(np.percentile(size[size > 0], 95)) if (size > 0).any() else 1.0
    return Pushes(t, point, force, unit)
