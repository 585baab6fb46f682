"""Convex hulls of points, thinned to few of them, and how much the thinning costs."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

if TYPE_CHECKING:
    from scipy.spatial import ConvexHull

#: Share of a cloud's size below which its thickness is rounding.
FLAT = 1e-9
#: Points of hulls, if not said otherwise.
HULL_POINTS = 64
#: Points that are outside by this share of the farthest one are taken in the same round.
NEARLY = 0.9
#: Odd numbers that mix the bits of three others.
_ODD = np.array([0x9E3779B97F4A7C15, 0xBF58476D1CE4E5B9, 0x94D049BB133111EB], dtype=np.uint64)


class Thinned(NamedTuple):
    """Points (n, 3) [m] that are corners of a convex hull, and the largest distance [m] from it to one left out.

    The distance is the largest by which a direction's extreme point moves inwards.
    """

    points: np.ndarray
    lost: float


def hull_points(points: np.ndarray, most: int = HULL_POINTS) -> Thinned:
    """Return at most so many corners of the convex hull of points.

    Some that are far apart come first, and those that are farthest out along the cloud's main axes; then, one by one,
    the corner that is farthest outside of the hull of those that are taken. Points in a plane, on a line or at one
    place have a hull as well.

    Parameters
    ----------
    points : (n, 3) array [m]
        At least one.
    most : int
        At least four.

    Returns
    -------
    Thinned
        The points are some of those given, in their order.
    """
    points = _once(np.asarray(points, dtype=float))
    x = points - points[0]
    _, sizes, axes = np.linalg.svd(x, full_matrices=False)
    span = int((sizes > FLAT * sizes[0]).sum())
    if span < 2:
        x = x @ axes[0]
        ends = [x.argmin(), x.argmax()] if span else [0]
        return Thinned(_sorted(points[ends])[0], 0.0)
    if span == 2:
        x = x @ axes[:2].T
    corners = _hull(x).vertices
    points, order = _sorted(points[corners])
    if len(points) <= most:
        return Thinned(points, 0.0)
    kept, lost = _spread(np.ascontiguousarray(x[corners][order].T), most)
    return Thinned(points[kept], lost)


def _once(points: np.ndarray) -> np.ndarray:
    """Points (n, 3) without those that are repeated; by a rare chance a few are still there twice."""
    # equal points have equal words of some bits of their numbers, with their places in the lower bits
    low = np.uint64(len(points).bit_length())
    bits = (np.ascontiguousarray(points) + 0.0).view(np.uint64)  # of zeros, one sign
    mixed = np.zeros(len(points), dtype=np.uint64)
    for column, odd in zip(bits.T, _ODD, strict=True):
        mixed = (mixed ^ column) * odd
        mixed ^= mixed >> np.uint64(29)
    words = np.sort(mixed >> low << low | np.arange(len(points), dtype=np.uint64))
    points = points[(words & ((np.uint64(1) << low) - np.uint64(1))).astype(np.intp)]
    new = np.ones(len(points), dtype=bool)
    new[1:] = (points[1:] != points[:-1]).any(axis=1)
    return points[new]


def _sorted(points: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Points in the order of their first numbers, then of the others, and their places before."""
    order = np.lexsort(points.T[::-1])
    return points[order], order


def _hull(x: np.ndarray, incremental: bool = False) -> ConvexHull:
    from scipy.spatial import ConvexHull

    return ConvexHull(x, incremental=incremental)


def _spread(x: np.ndarray, most: int) -> tuple[np.ndarray, float]:
    """The places, in order, of points (d, n) that span nearly the hull of all, and the largest distance from it."""
    first = [int(x[0].argmin())]
    away = x - x[:, first]
    for _ in x:  # a simplex: the point farthest from the span of those that are taken
        size = _dot(away, away)
        first.append(int(size.argmax()))
        axis = away[:, first[-1]] / np.sqrt(size[first[-1]])
        away = away - _dot(axis, away) * axis[:, None]
    kept = list(dict.fromkeys(first + [int(k) for axis in x for k in (axis.argmin(), axis.argmax())]))[:most]
    hull = _hull(x[:, kept].T, incremental=True)
    planes = hull.equations.T
    by, outside = _farthest(x, planes)
    while len(kept) < most:
        outside[kept] = -np.inf
        chosen = _chosen(x, planes, by, outside, most - len(kept))
        kept += chosen
        hull.add_points(x[:, chosen].T)
        # planes that stay are the same bit by bit; a point whose plane is gone looks at all, others at the new ones
        before, planes = planes, hull.equations.T
        same = np.logical_and.reduce([old[:, None] == now for old, now in zip(before, planes, strict=True)])
        new, gone = np.flatnonzero(~same.any(axis=0)), np.flatnonzero(~same.any(axis=1)[by])
        by = same.argmax(axis=1)[by]
        if len(new):
            at, over = _farthest(x, planes[:, new])
            by, outside = np.where(over > outside, new[at], by), np.maximum(over, outside)
        by[gone], outside[gone] = _farthest(x[:, gone], planes)
    facets = x[:, kept].T[hull.simplices]
    hull.close()
    outside[kept] = -np.inf
    return np.sort(kept), _lost(x, facets, planes, by, outside)


def _chosen(x: np.ndarray, planes: np.ndarray, by: np.ndarray, outside: np.ndarray, most: int) -> list[int]:
    """The point (d, n) that is farthest outside, and others nearly as far that are beyond other planes (d + 1, m)."""
    chosen = [int(outside.argmax())]
    least, left = NEARLY * outside[chosen[0]], outside
    while len(chosen) < most:
        at = x[:, chosen[-1]]
        left = np.where((_dot(planes[:-1], at) + planes[-1] > 0)[by], -np.inf, left)
        k = int(left.argmax())
        if not left[k] >= least or left[k] <= 0:
            break
        chosen.append(k)
    return chosen


def _dot(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """Sum over the first axis, in its order: a library's products have other last digits on other processors."""
    found: np.ndarray = a[0] * b[0]
    for more, other in zip(a[1:], b[1:], strict=True):
        found = found + more * other
    return found


def _farthest(x: np.ndarray, planes: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Of each point (d, n) the plane (d + 1, m) that it is farthest beyond, and how far; negative below all."""
    over = _dot(planes[:-1, :, None], x[:, None]) + planes[-1][:, None]
    by = over.argmax(axis=0)
    return by, over[by, np.arange(over.shape[1])]


def _lost(x: np.ndarray, facets: np.ndarray, planes: np.ndarray, by: np.ndarray, outside: np.ndarray) -> float:
    """The largest distance of points (d, n) from a convex hull.

    Facets are (m, d, d), with planes (d + 1, m); each point has the plane that it is farthest beyond, and how far.
    """
    beyond = np.flatnonzero(outside > 0)
    if not len(beyond):
        return 0.0
    normals, by, least = planes[:-1].T, by[beyond], outside[beyond]
    # a point is at least as far away as that plane, and at most as that facet: few can be the farthest
    most = np.maximum(facet_distances(x[:, beyond].T, facets[by], normals[by], least), least)
    few = beyond[most >= least.max()]
    over = _dot(planes[:-1, :, None], x[:, None, few]) + planes[-1][:, None]
    # the nearest facet is one of those that are seen
    at, seen = np.nonzero(over.T > 0)
    away = facet_distances(x[:, few[at]].T, facets[seen], normals[seen], over[seen, at])
    return float(np.minimum.reduceat(away, np.flatnonzero(np.diff(at, prepend=-1))).max())


def facet_distances(x: np.ndarray, facets: np.ndarray, normals: np.ndarray, over: np.ndarray) -> np.ndarray:
    """Return distances (n,) of points (n, d) from one facet (n, d, d) each: triangles in space, or edges in the plane.

    ``over`` (n,) are those from the planes of the facets, on the side of the points.
    """
    count = facets.shape[1]
    least, inside = np.full(len(x), np.inf), np.full(len(x), count == 3)
    for k in range(count):
        a, edge = facets[:, k], facets[:, (k + 1) % count] - facets[:, k]
        share = np.clip(((x - a) * edge).sum(-1) / (edge * edge).sum(-1), 0.0, 1.0)
        least = np.minimum(least, np.linalg.norm(x - a - share[:, None] * edge, axis=-1))
        if count == 3:  # the foot of the perpendicular is on the same side of all edges as the third corner
            across = np.cross(edge, normals)
            third = ((facets[:, (k + 2) % 3] - a) * across).sum(-1)
            inside &= ((x - a) * across).sum(-1) * np.sign(third) >= 0
    return np.where(inside, over, least)
