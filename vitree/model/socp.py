"""Least squares under linear equations, linear inequalities and circular cones, by an interior-point method."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

#: Singular values below this share of the largest are zero; equations hold to HELD, in the units of x.
RANK, HELD = 1e-11, 1e-10
#: There is a solution where inequalities hold up to TAKEN. Where they can hold with more than ROOM to spare, the best
#: is looked for; else there is hardly a choice.
TAKEN, ROOM = 1e-10, 1e-7
#: Weight of |x|^2 where the room is looked for, which is to choose where nothing else does.
SLIGHT = 1e-12
#: Mean product of an inequality's slack and its multiplier where the iteration ends; share of the way to the boundary
#: that a step goes; iterations.
GAP, WAY, MOST = 1e-13, 0.99, 80


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
        """Return x (n,); None if there is none."""
        excess, x = self.excess()
        if excess > TAKEN:
            return None
        if excess > -ROOM or not len(self.rows[1]) or not self.ways[1].shape[1]:
            return x if len(self.rows[1]) else self._at(self._best())
        x0, N = self.ways
        F, H, h = self.M @ N, self.rows[0] @ N, self.rows[1] - self.rows[0] @ x0
        return self._at(_least(F, F.T @ (self.M @ x0 - self.d), H, h, len(self.G)))

    def excess(self) -> tuple[float, np.ndarray]:
        """Return by how much inequalities and cones must be widened for a solution, and x (n,); negative: the room.

        It is infinite if the equations have no solution, and at least -1.
        """
        x0, N = self.ways
        if np.abs(self.U @ x0 - self.b).max(initial=0.0) > HELD:
            return np.inf, x0
        rows, most = self.rows
        if not len(most):
            return -1.0, x0
        # unknowns (z, t), x = x0 + N z: least t, with t >= -1 and slacks widened by t
        wide = np.zeros(len(most))
        wide[: len(self.G)], wide[len(self.G) :: 3] = -1.0, -1.0
        H = np.column_stack([rows @ N, wide])
        last = np.append(np.zeros(N.shape[1]), -1.0)
        H = np.insert(H, len(self.G), last, axis=0)
        h = np.insert(most - rows @ x0, len(self.G), 1.0)
        z = _least(np.sqrt(SLIGHT) * np.eye(N.shape[1] + 1), -last, H, h, len(self.G) + 1)
        return float(z[-1]), self._at(z[:-1])

    @cached_property
    def ways(self) -> tuple[np.ndarray, np.ndarray]:
        """The least x (n,) that satisfies the equations, and orthonormal directions (n, m) along which they stay so."""
        left, size, right = np.linalg.svd(self.U)
        rank = int((size > RANK * size.max(initial=0.0)).sum())
        return right[:rank].T @ ((left.T[:rank] @ self.b) / size[:rank]), right[rank:].T

    @cached_property
    def rows(self) -> tuple[np.ndarray, np.ndarray]:
        """Rows (g + 3 k, n) and h of h - rows x in the cones: inequalities, then (c x + e, A x) of each cone."""
        n = self.G.shape[1]
        cones = np.concatenate([-self.c[:, None], -self.A], axis=1).reshape(3 * len(self.c), n)
        most = np.column_stack([self.e, np.zeros((len(self.e), 2))]).ravel()
        return np.concatenate([self.G, cones]), np.concatenate([self.h, most])

    def _at(self, z: np.ndarray) -> np.ndarray:
        found: np.ndarray = self.ways[0] + self.ways[1] @ z
        return found

    def _best(self) -> np.ndarray:
        """The best of the equations alone."""
        x0, N = self.ways
        found: np.ndarray = np.linalg.lstsq(self.M @ N, self.d - self.M @ x0, rcond=None)[0]
        return found

    def but(self, **changed: np.ndarray) -> Problem:
        """Return the problem with other arrays."""
        return replace(self, **changed)


# ---- the iteration -----------------------------------------------------------------------------------------
#
# Slacks s and multipliers z are rows of numbers: ``flat`` of inequalities, then three of each circular cone
# (s0, s1, s2) with s0 >= |(s1, s2)|. The product of the cones' algebra: s . z = (s^T z, s0 z1 + z0 s1).


def _least(F: np.ndarray, g: np.ndarray, H: np.ndarray, h: np.ndarray, flat: int) -> np.ndarray:
    """The x of least |F x|^2/2 + g x with h - H x in the cones, where there is one inside of all.

    References
    ----------
    Nesterov & Todd 1998, "Primal-dual interior-point methods for self-scaled cones"; Mehrotra 1992, "On the
    implementation of a primal-dual interior point method"; Vandenberghe 2010, "The CVXOPT linear and quadratic cone
    program solvers", for the scaling.
    """
    one = np.ones(len(h))
    one[flat + 1 :: 3] = one[flat + 2 :: 3] = 0.0
    count = flat + (len(h) - flat) // 3
    R = _factor(F, H)
    x = _solved(R, H.T @ h - g)
    s = _inside(h - H @ x, one, flat)
    z = _inside(H @ x - h, one, flat)
    for _ in range(MOST):
        gap = s @ z / count
        rx, rz = F.T @ (F @ x) + g + H.T @ z, H @ x + s - h
        if gap < GAP and np.abs(rz).max(initial=0.0) < HELD:
            break
        W = _Scaling(s, z, flat)
        HW = W.back(H)
        R = _factor(F, HW)
        size = W.on(z)

        right, share = -_product(size, size, flat), 1.0  # of the scaled products, and of the residuals
        for last in (False, True):
            u = share * W.back(rz) + _quotient(size, right, flat)
            dx = _solved(R, -share * rx - HW.T @ u)
            ds, dz = -share * rz - H @ dx, W.back(HW @ dx + u)
            if not last:  # Mehrotra's: what the first leaves over, toward the middle of the cones
                center = (1.0 - min(1.0, _reach(s, ds, flat), _reach(z, dz, flat))) ** 3
                right = right + center * gap * one - _product(W.back(ds), W.on(dz), flat)
                share = 1.0 - center
        way = min(1.0, WAY * _reach(s, ds, flat), WAY * _reach(z, dz, flat))
        if not (way > 1e-10 and np.isfinite(dx).all()):
            break
        x, s, z = x + way * dx, s + way * ds, z + way * dz
        if min(_room(s, flat), _room(z, flat)) <= 0:  # rounding
            break
    return x


class _Scaling:
    """The symmetric W with W z = W^-1 s, of slacks s and multipliers z inside the cones."""

    def __init__(self, s: np.ndarray, z: np.ndarray, flat: int):
        self.flat = flat
        self.w = np.sqrt(s[:flat] / z[:flat])
        a, b = s[flat:].reshape(-1, 3), z[flat:].reshape(-1, 3)
        sa, sb = np.sqrt(_determinant(a)), np.sqrt(_determinant(b))
        a, b = a / sa[:, None], b / sb[:, None]
        mean = np.sqrt(0.5 * (1.0 + (a * b).sum(axis=1)))
        w = (a + b * (1.0, -1.0, -1.0)) / (2.0 * mean[:, None])
        core = np.eye(2) + w[:, 1:, None] * w[:, None, 1:] / (1.0 + w[:, :1, None])
        self.blocks, self.inverses = (
            scale[:, None, None] * np.concatenate([
                np.concatenate([w[:, :1, None], sign * w[:, None, 1:]], axis=2),
                np.concatenate([sign * w[:, 1:, None], core], axis=2)], axis=1)
            for scale, sign in ((np.sqrt(sa / sb), 1.0), (np.sqrt(sb / sa), -1.0))
        )  # fmt: skip

    def on(self, x: np.ndarray) -> np.ndarray:
        """W x, of a vector or of columns."""
        return self._times(self.w, self.blocks, x)

    def back(self, x: np.ndarray) -> np.ndarray:
        """W^-1 x."""
        return self._times(1.0 / self.w, self.inverses, x)

    def _times(self, w: np.ndarray, blocks: np.ndarray, x: np.ndarray) -> np.ndarray:
        columns = x.reshape(len(x), -1)
        cones = columns[self.flat :].reshape(-1, 3, columns.shape[1])
        return np.concatenate([w[:, None] * columns[: self.flat],
                               (blocks @ cones).reshape(-1, columns.shape[1])]).reshape(x.shape)  # fmt: skip


def _factor(*rows: np.ndarray) -> np.ndarray:
    """The triangle R with R^T R the sum of the products of rows."""
    R: np.ndarray = np.linalg.qr(np.concatenate(rows), mode="r")  # type: ignore[assignment]
    return R


def _solved(R: np.ndarray, right: np.ndarray) -> np.ndarray:
    """The solution of R^T R x = right."""
    from scipy.linalg import solve_triangular

    half = solve_triangular(R, right, trans="T", check_finite=False)
    found: np.ndarray = solve_triangular(R, half, check_finite=False)
    return found


def _determinant(s: np.ndarray) -> np.ndarray:
    """s0^2 - s1^2 - s2^2 of rows, as a product, which keeps digits near the boundary."""
    across = np.hypot(s[:, 1], s[:, 2])
    found: np.ndarray = (s[:, 0] - across) * (s[:, 0] + across)
    return found


def _room(s: np.ndarray, flat: int) -> float:
    """How far a point is inside the cones."""
    cones = s[flat:].reshape(-1, 3)
    inner = (cones[:, 0] - np.hypot(cones[:, 1], cones[:, 2])).min(initial=np.inf)
    return float(min(s[:flat].min(initial=np.inf), inner))


def _inside(s: np.ndarray, one: np.ndarray, flat: int) -> np.ndarray:
    room = _room(s, flat)
    return s if room > 1e-8 else s + (1.0 - room) * one


def _product(a: np.ndarray, b: np.ndarray, flat: int) -> np.ndarray:
    u, v = a[flat:].reshape(-1, 3), b[flat:].reshape(-1, 3)
    cones = np.column_stack([(u * v).sum(axis=1), u[:, :1] * v[:, 1:] + v[:, :1] * u[:, 1:]])
    return np.concatenate([a[:flat] * b[:flat], cones.ravel()])


def _quotient(a: np.ndarray, c: np.ndarray, flat: int) -> np.ndarray:
    """The b with a . b = c."""
    u, w = a[flat:].reshape(-1, 3), c[flat:].reshape(-1, 3)
    first = (u[:, 0] * w[:, 0] - (u[:, 1:] * w[:, 1:]).sum(axis=1)) / _determinant(u)
    others = (w[:, 1:] - first[:, None] * u[:, 1:]) / u[:, :1]
    return np.concatenate([c[:flat] / a[:flat], np.column_stack([first, others]).ravel()])


def _reach(s: np.ndarray, ds: np.ndarray, flat: int) -> float:
    """How many times ds goes into the way from s to the boundary."""
    u, du = s[flat:].reshape(-1, 3), ds[flat:].reshape(-1, 3)
    flats, moves = np.append(s[:flat], u[:, 0]), np.append(ds[:flat], du[:, 0])  # also of cones, for ways to their tips
    down = moves < 0
    reach = float((-flats[down] / moves[down]).min(initial=np.inf))
    a, c = du[:, 0] ** 2 - (du[:, 1:] ** 2).sum(axis=1), _determinant(u)
    b = u[:, 0] * du[:, 0] - (u[:, 1:] * du[:, 1:]).sum(axis=1)
    # the least positive root of a x^2 + 2 b x + c, in the form without cancellation
    inner = b * b - a * c
    below = np.sqrt(np.maximum(inner, 0.0)) - b
    meets = (below > 0) & (inner > -1e-12 * b * b)
    return min(reach, float((c[meets] / below[meets]).min(initial=np.inf)))
