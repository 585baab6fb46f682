"""States in which windows may start: on the constraints of the model, with closed contacts that stay closed."""

from __future__ import annotations

import numpy as np

from vitree._core import scalar
from vitree.identification.measured import Windows
from vitree.identification.regressor import allowed, free_directions
from vitree.model.broadcasting import in_coordinates
from vitree.model.closures import satisfy_constraints
from vitree.model.configurations import gap_rates, gaps_of, rebounds
from vitree.model.model import Model

core = scalar()
#: A rigid contact is closed at the start of a window if its measured gap is smaller [m].
CLOSED = 3e-3
#: Corrections by which gaps are closed, and the gap at which they are [m].
CORRECTIONS, SHUT = 20, 1e-11


class Starts:
    """The states in which the windows of a fit may start.

    Parameters
    ----------
    model : Model
    q : (n, nq) array [m or rad]
        Where windows start as measured; contacts that are closed there stay so.
    """

    def __init__(self, model: Model, q: np.ndarray):
        self.model, self.closed = model, [np.zeros(0, dtype=int)] * len(q)
        if model.has_contact:
            rigid = np.isfinite(rebounds(model, q[0], np.zeros(model.nv), 0.0))
            self.closed = [np.flatnonzero(rigid & (gaps_of(model, row)[0] < CLOSED)) for row in q]
        self._touches = any(len(each) for each in self.closed)
        #: How many numbers of each start are fitted.
        self.counts = [2 * int(np.any(Z, axis=0).sum()) for Z in self.directions(q)]

    def directions(self, q: np.ndarray) -> np.ndarray:
        """Return the velocities Z (n, nv, k) that starts q (n, nq) may have: orthonormal columns, or zeros."""
        if not self._touches:
            return free_directions(self.model, q)
        found = [allowed(self._rows(row, which)[1]) for row, which in zip(q, self.closed, strict=True)]
        out = np.zeros((len(q), self.model.nv, max(Z.shape[1] for Z in found)))
        for k, Z in enumerate(found):
            out[k, :, : Z.shape[1]] = Z
        return out

    def at(self, q: np.ndarray, v: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return the states (n, nq), (n, nv) in which windows may start beside q, v; n is a multiple of the windows."""
        if not (self._touches or self.model.constraints):
            return q, v
        rows, closed = [], np.repeat(np.arange(len(self.closed)), len(q) // len(self.closed))
        for place, rate, which in zip(q, v, closed, strict=True):
            rows.append(self._state(place, rate, self.closed[which]))
        return np.array([place for place, _ in rows]), np.array([rate for _, rate in rows])

    def moved(self, q: np.ndarray, v: np.ndarray, moves: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return starts (n, m, nq), (n, m, nv) that changes (n or 1, m, 2 k) along the directions at q, v lead to."""
        Z = self.directions(q).swapaxes(1, 2)
        (n, k, nv), m = Z.shape, moves.shape[1]
        places = displaced(self.model, np.repeat(q, m, axis=0), (moves[:, :, :k] @ Z).reshape(n * m, nv))
        rates = (v[:, None] + moves[:, :, k:] @ Z).reshape(n * m, nv)
        places, rates = self.at(places, rates)
        return places.reshape(n, m, -1), rates.reshape(n, m, -1)

    def _rows(self, q: np.ndarray, closed: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Errors of constraints and gaps of closed contacts at q (nq,), and their derivatives by displacements."""
        h, Dh = (x[0] for x in self.model._constraint_rows(q[None]))
        if not len(closed):
            return h, Dh
        return np.append(h, gaps_of(self.model, q)[0][closed]), np.vstack((Dh, gap_rates(self.model, q, closed)))

    def _state(self, q: np.ndarray, v: np.ndarray, closed: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        if not len(closed):
            q = satisfy_constraints(self.model, q)
        else:
            for _ in range(CORRECTIONS):
                h, slopes = self._rows(q, closed)
                if np.abs(h).max() < SHUT:
                    break
                q = self.model.integrate(q, -np.linalg.pinv(slopes, 1e-8) @ h)
        Z = allowed(self._rows(q, closed)[1])
        return q, Z @ (Z.T @ v)


@in_coordinates("configuration")
def displaced(model: Model, q: np.ndarray, dq: np.ndarray) -> np.ndarray:
    """Return the configurations (n, nq) that displacements dq (n, nv) lead to."""
    out = np.empty(q.shape)
    core.batch_integrate(model.core, np.ascontiguousarray(q), np.ascontiguousarray(dq), out)
    return out


@in_coordinates("velocity")
def displacements(model: Model, q0: np.ndarray, q1: np.ndarray) -> np.ndarray:
    """Return the displacements (n, K, nv) from q0 to q1 (n, K, nq)."""
    a, b = (np.ascontiguousarray(x.reshape(-1, model.nq)) for x in (q0, q1))
    out = np.empty((len(a), model.nv))
    core.batch_difference(model.core, a, b, out)
    return out.reshape(*q0.shape[:2], model.nv)


def first_velocities(model: Model, windows: Windows) -> np.ndarray:
    """Return velocities (n, nv) at the starts of windows: as measured, or of a parabola through the first records."""
    if windows.v is not None:
        return windows.v[:, 0]
    K = min(8, windows.least)
    first = np.repeat(windows.q[:, :1], K, axis=1)
    d = displacements(model, first, windows.q[:, :K])
    v = np.empty((len(windows), model.nv))
    for k in range(len(windows)):
        powers = windows.seconds[k, :K, None] ** np.arange(min(3, K))
        v[k] = np.linalg.lstsq(powers, d[k], rcond=None)[0][1]
    return v
