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
    points = np.unique(np.asarray(points, dtype=float), axis=0)
    middle = points.mean(axis=0)
    _, sizes, axes = np.linalg.svd(points - middle, full_matrices=False)
    x = (points - middle) @ axes[sizes > FLAT * max(sizes[0], 1e-300)].T if sizes[0] else np.zeros((len(points), 0))
    if x.shape[1] < 2:
        ends = np.unique([x.argmin(), x.argmax()]) if x.shape[1] else np.zeros(1, dtype=int)
        return Thinned(points[ends], 0.0)
    corners = np.sort(_hull(x).vertices)
    points, x = points[corners], x[corners]
    if len(points) <= most:
        return Thinned(points, 0.0)
    kept = _spread(x, most)
    hull = _hull(x[kept])
    return Thinned(points[kept], float(_distances(x, x[kept][hull.simplices], hull.equations).max()))


def _hull(x: np.ndarray, incremental: bool = False) -> ConvexHull:
    from scipy.spatial import ConvexHull

    return ConvexHull(x, incremental=incremental)


def _spread(x: np.ndarray, most: int) -> np.ndarray:
    """The places of points that span nearly the hull of all, in order."""
    first = [int(x[:, 0].argmin())]
    while len(first) <= x.shape[1]:  # a simplex: the point farthest from the span of those that are taken
        away = x - x[first[0]]
        basis = np.linalg.qr((x[first[1:]] - x[first[0]]).T)[0] if first[1:] else np.zeros((x.shape[1], 0))
        first.append(int(np.linalg.norm(away - away @ basis @ basis.T, axis=1).argmax()))
    kept = list(dict.fromkeys(first + [int(k) for axis in x.T for k in (axis.argmin(), axis.argmax())]))[:most]
    hull = _hull(x[kept], incremental=True)
    while len(kept) < most:
        outside = (x @ hull.equations[:, :-1].T + hull.equations[:, -1]).max(axis=1)
        outside[kept] = -np.inf
        kept.append(int(outside.argmax()))
        hull.add_points(x[kept[-1:]])
    hull.close()
    return np.sort(kept)


def _distances(x: np.ndarray, facets: np.ndarray, equations: np.ndarray) -> np.ndarray:
    """Distances (n,) of points from a convex hull of facets (m, d, d) with planes (m, d + 1); zero inside of it."""
    over = x @ equations[:, :-1].T + equations[:, -1]
    outside = over.max(axis=1) > 0
    found = np.zeros(len(x))
    if outside.any():
        # the nearest facet is one of those that are seen
        at, seen = np.nonzero((over > 0) & outside[:, None])
        away = _nearest(x[at], facets[seen], equations[seen, :-1], over[at, seen])
        found[outside] = np.minimum.reduceat(away, np.flatnonzero(np.diff(at, prepend=-1)))
    return found


def _nearest(x: np.ndarray, facets: np.ndarray, normals: np.ndarray, over: np.ndarray) -> np.ndarray:
    """Distances (n,) of points from one facet each, below them: triangles in space, or edges in the plane."""
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
