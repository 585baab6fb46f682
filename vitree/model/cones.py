"""Least squares under linear equations, linear inequalities and circular cones, by SciPy's non-negative least squares."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

#: Directions around a cone where planes touch it at first; planes follow where a solution is outside by more than SHARP.
DIRECTIONS, SHARP, MOST = 8, 1e-13, 80
#: What is outside of a cone or plane by no more than this is taken, in the units of x.
TAKEN = 1e-11
#: Singular values below this share of the largest are zero.
RANK = 1e-11


@dataclass(frozen=True, eq=False)
class Problem:
    """min |M x - d| for U x = b, G x <= h and |A_k x| <= c_k x + e_k; sizes of x are about one.

    Attributes
    ----------
    M, d : (r, n), (r,) arrays
        M has full column rank.
    U, b : (s, n), (s,) arrays
    G, h : (g, n), (g,) arrays
    A, c, e : (k, 2, n), (k, n), (k,) arrays
    """

    M: np.ndarray
    d: np.ndarray
    U: np.ndarray
    b: np.ndarray
    G: np.ndarray
    h: np.ndarray
    A: np.ndarray
    c: np.ndarray
    e: np.ndarray

    def solve(self) -> np.ndarray | None:
        """Return x (n,); None if there is none.

        Cones are met to ``SHARP``: planes are added that touch a cone where the last solution left it. Each solution
        of the planes alone is the point of a polyhedron that is nearest to zero, in coordinates where |M x - d| is a
        distance.

        References
        ----------
        Lawson & Hanson 1974, "Solving least squares problems", chapter 23: problem LDP.
        """
        x0, B = self._apart()
        if np.abs(self.U @ x0 - self.b).max(initial=0.0) > TAKEN:
            return None
        turn = 2 * np.pi * np.arange(DIRECTIONS) / DIRECTIONS
        round_ = np.column_stack([np.cos(turn), np.sin(turn)])
        count = len(self.e)
        G, h = self.G, self.h
        which, way = np.repeat(np.arange(count), DIRECTIONS), np.tile(round_, (count, 1))
        for _ in range(MOST):
            G = np.concatenate([G, np.einsum("ki,kin->kn", way, self.A[which]) - self.c[which]])
            h = np.concatenate([h, self.e[which]])
            y = _nearest(-G @ B, G @ x0 - h)
            if y is None:
                return None
            x = x0 + B @ y
            if (G @ x - h).max(initial=0.0) > TAKEN:
                return None
            across = self.A @ x
            size = np.linalg.norm(across, axis=1)
            which = np.flatnonzero(size - self.c @ x - self.e > SHARP)
            if not len(which):
                return x
            way = across[which] / size[which, None]
        return x if (size - self.c @ x - self.e).max() < TAKEN else None

    def _apart(self) -> tuple[np.ndarray, np.ndarray]:
        """The best x (n,) of the equations alone, and B (n, m): x + B y of any y meets them, at the distance |y|."""
        left, size, right = np.linalg.svd(self.U)
        rank = int((size > RANK * size.max(initial=0.0)).sum())
        x = right[:rank].T @ ((left.T[:rank] @ self.b) / size[:rank])
        N = right[rank:].T
        Q, R = np.linalg.qr(self.M @ N)
        B = np.linalg.solve(R.T, N.T).T
        return x + B @ (Q.T @ (self.d - self.M @ x)), B


def _nearest(C: np.ndarray, e: np.ndarray) -> np.ndarray | None:
    """The y (m,) nearest to zero with C y >= e; None if there is none."""
    from scipy.optimize import nnls

    size = np.linalg.norm(C, axis=1)
    still = size < RANK
    if (e[still] > TAKEN).any():
        return None
    C, e = C[~still] / size[~still, None], e[~still] / size[~still]
    y = np.zeros(C.shape[1])
    if e.max(initial=0.0) <= 0.0:
        return y
    E, f = np.vstack([C.T, e]), np.append(y, 1.0)
    u, _ = nnls(E, f, maxiter=100 * len(e))
    left = E @ u - f
    if -left[-1] < RANK:
        return None
    return -left[:-1] / left[-1]
