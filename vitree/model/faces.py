"""Where faces and lines of convex shapes lie on each other: the corners of what they have in common."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from vitree.geometry.solids import ELLIPSOID, HALF_SPACE, circle_across
from vitree.mechanism.flat import Flat
from vitree.model.candidates import Candidates, ContactGaps, gap_numbers, gaps_of

#: How far points of a shape are above its lowest plane where they still lie on it, as a share of its size.
LIES = 1e-6
#: Points of a rim that lies on a face.
RIM = 32


def gaps_of_faces(flat: Flat, found: Candidates, poses: np.ndarray, near: float) -> tuple[ContactGaps, np.ndarray]:
    """Return the gaps of candidates, and the ``numbers`` (n, 7) of each.

    They are those of :func:`gaps_of`; but of convex shapes that are within ``near`` [m] and touch with a face or a
    line there is one for each corner of what the two have in common. Poses (nbody, 3, 4) [m] are those of the core
    frames.
    """
    gaps, numbers = gaps_of(flat, found, poses), gap_numbers(found)
    below = np.flatnonzero(found.on_ground)
    others = np.flatnonzero(~found.on_ground)
    row = np.empty(len(found.facing), int)  # of each pair
    row[below] = len(found.body) * found.grounds + np.arange(len(below))
    row[others] = len(gaps.gap) - len(others) + np.arange(len(others))
    kept = np.ones(len(gaps.gap), bool)
    rows: list[int] = []
    on_a, on_b = [np.zeros((0, 3))], [np.zeros((0, 3))]
    for k, r in enumerate(row.tolist()):
        if gaps.gap[r] > near:
            continue
        (i, j), n = found.facing[k], gaps.normal[r]
        corners = _in_common(found.solids[i], found.solids[j], poses, n)
        if len(corners) > 1:
            kept[r] = False
            rows += [r] * len(corners)
            corners -= found.solids[i].get("radius", 0.0) * n
            on_a.append(corners)
            on_b.append(corners - gaps.gap[r] * n)
    order = np.concatenate([np.flatnonzero(kept), rows]).astype(int)
    places = [np.concatenate([x[kept], *of]) for x, of in ((gaps.point_a, on_a), (gaps.point_b, on_b))]
    a, b = (tuple(names[r] for r in order) for names in (gaps.a, gaps.b))
    return ContactGaps(a, b, gaps.gap[order], gaps.normal[order], *places), numbers[order]


def _in_common(a: Mapping[str, Any], b: Mapping[str, Any], poses: np.ndarray, n: np.ndarray) -> np.ndarray:
    """Corners (k, 3) [m] of what is lowest of a, without its radius, and above b; one or none where no faces are."""
    lowest = _outermost(a, poses, -n)
    if b["kind"] == HALF_SPACE:
        return lowest
    highest = _outermost(b, poses, n)
    if min(len(lowest), len(highest)) < 2:
        return np.zeros((0, 3))
    across = np.array([*circle_across(n, 4)[:2]])
    at = lowest[0]
    flat = [_around((x - at) @ across.T) for x in (lowest, highest)]
    flat.sort(key=len)
    if len(flat[1]) == 2 and not _parallel(*flat):
        return np.zeros((0, 3))
    found: np.ndarray = at + _clipped(*flat) @ across
    return found


def _outermost(solid: Mapping[str, Any], poses: np.ndarray, d: np.ndarray) -> np.ndarray:
    """Points (k, 3) [m] in the world that are outermost along a unit vector d, to within ``LIES`` of the size."""
    if solid["kind"] == ELLIPSOID:
        return np.zeros((0, 3))
    R, o = (poses[solid["body"], :, :3], poses[solid["body"], :, 3]) if solid["body"] >= 0 else (np.eye(3), np.zeros(3))
    own = R.T @ d
    points = [*solid.get("x", ())]
    if "rim" in solid:
        flat = np.linalg.norm(np.cross(solid["axis"], own)) * solid["rim"] < LIES * solid["reach"]
        lowest = own - (own @ solid["axis"]) * solid["axis"]
        levers = circle_across(solid["axis"], RIM) if flat else [lowest / np.linalg.norm(lowest)]
        points += [center + solid["rim"] * lever for center in solid["center"] for lever in levers]
    x = np.array(points)
    height = x @ own
    found: np.ndarray = x[height >= height.max() - LIES * solid["reach"]] @ R.T + o
    return found


def _around(x: np.ndarray) -> np.ndarray:
    """Corners of the convex hull of points (n, 2) in their order; of points on a line its ends."""
    from scipy.spatial import ConvexHull

    middle = x.mean(axis=0)
    _, size, axes = np.linalg.svd(x - middle, full_matrices=False)
    if len(size) < 2 or size[1] <= LIES * size[0]:
        along = (x - middle) @ axes[0]
        found: np.ndarray = x[[along.argmin(), along.argmax()]]
        return found
    corners: np.ndarray = x[ConvexHull(x).vertices]
    return corners


def _parallel(a: np.ndarray, b: np.ndarray) -> bool:
    """Whether two segments (2, 2) are on one line."""
    u, v, w = a[1] - a[0], b[1] - b[0], b[0] - a[0]
    size = float(np.linalg.norm(u)) * max(float(np.linalg.norm(v)), float(np.linalg.norm(w)))
    return max(abs(float(u[0] * x[1] - u[1] * x[0])) for x in (v, w)) <= LIES * size


def _clipped(x: np.ndarray, by: np.ndarray) -> np.ndarray:
    """What of a segment or a polygon x (n, 2) is within a polygon (m, 2), counter-clockwise, or on a segment (2, 2)."""
    if len(by) == 2:
        edges = [(by[0], by[1] - by[0]), (by[1], by[0] - by[1])]
        inward = [along for _, along in edges]
    else:
        edges = [(by[k], by[(k + 1) % len(by)] - by[k]) for k in range(len(by))]
        inward = [np.array((-along[1], along[0])) for _, along in edges]
    for (start, _), normal in zip(edges, inward, strict=True):
        depth = (x - start) @ (normal / np.linalg.norm(normal))
        kept, last = [], len(x) - (len(x) == 2)
        for k in range(len(x)):
            if depth[k] >= 0:
                kept.append(x[k])
            other = (k + 1) % len(x)
            if k < last and depth[k] * depth[other] < 0:
                kept.append(x[k] + depth[k] / (depth[k] - depth[other]) * (x[other] - x[k]))
        if not kept:
            return np.zeros((0, 2))
        x = np.array(kept)
    return x
