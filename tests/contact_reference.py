"""The slow, readable oracle of contact geometry: table C3, one pair one function.

Each function returns gap, unit normal n from b to a, and the nearest points of a and b in the world. Poses are (4, 4).
Nothing here is taken from the package but poses and Jacobians of a model.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import product

import numpy as np


@dataclass
class Touch:
    gap: float
    normal: np.ndarray
    a: np.ndarray
    b: np.ndarray


def moved(X, x):
    """A point of a body in the world."""
    return X[:3, :3] @ x + X[:3, 3]


def point_plane(c, radius, n, d):
    """gap = n.c - d - R; the points are c - R n, and its foot on the plane."""
    gap = n @ c - d - radius
    return Touch(gap, n, c - radius * n, c - radius * n - gap * n)


def sphere_sphere(ca, ra, cb, rb):
    """gap = |ca - cb| - Ra - Rb."""
    away = np.linalg.norm(ca - cb)
    n = (ca - cb) / away
    return Touch(away - ra - rb, n, ca - ra * n, cb + rb * n)


def capsule_capsule(a, ra, b, rb):
    """Axes a (2, 3) and b (2, 3): the closest of the inner solution and of the eight of the ends."""
    return sphere_sphere(*[part for x, r in zip(nearest(a, b), (ra, rb), strict=True) for part in (x, r)])


def nearest(a, b):
    """Closest points of two segments, by trying all that can be: within both, or at an end of one."""
    u, v, w = a[1] - a[0], b[1] - b[0], b[0] - a[0]
    tries = []
    A = np.array([[u @ u, -u @ v], [u @ v, -v @ v]])
    if np.linalg.matrix_rank(A, tol=1e-12 * np.abs(A).max()) == 2:
        s, t = np.linalg.solve(A, [u @ w, v @ w])
        if 0 <= s <= 1 and 0 <= t <= 1:
            return a[0] + s * u, b[0] + t * v
    for x in b:
        tries.append((a[0] + foot(x - a[0], u) * u, x))
    for x in a:
        tries.append((x, b[0] + foot(x - b[0], v) * v))
    return min(tries, key=lambda pair: np.linalg.norm(pair[0] - pair[1]))


def foot(w, u):
    """The place on a segment u nearest to w, both from its start."""
    return float(np.clip(w @ u / (u @ u), 0, 1)) if u.any() else 0.0


def sphere_box(c, radius, X, half):
    """y = clamp of c in the box's axes; a centre inside is nearest to a face."""
    local = X[:3, :3].T @ (c - X[:3, 3])
    y = np.array([min(max(x, -h), h) for x, h in zip(local, half, strict=True)])
    if np.array_equal(y, local):
        axis, sign = min(product(range(3), (-1, 1)), key=lambda k: half[k[0]] - k[1] * local[k[0]])
        n = sign * np.eye(3)[axis]
        y[axis] = sign * half[axis]
        away = n @ (local - y)
    else:
        away = np.linalg.norm(local - y)
        n = (local - y) / away
    n, y = X[:3, :3] @ n, moved(X, y)
    return Touch(away - radius, n, c - radius * n, y)


def capsule_box(a, radius, X, half):
    """The nearest ball of an axis a (2, 3): the distance is convex along it; its derivative is zero, by bisection."""
    low, high = 0.0, 1.0
    u = X[:3, :3].T @ (a[1] - a[0])
    for _ in range(200):
        s = 0.5 * (low + high)
        local = X[:3, :3].T @ (a[0] + s * (a[1] - a[0]) - X[:3, 3])
        out = local - np.clip(local, -np.asarray(half), half)
        if not out.any():
            k = int(np.argmax(np.abs(local) - half))
            out[k] = np.sign(local[k])
        low, high = (low, s) if u @ out > 0 else (s, high)
    s = 0.5 * (low + high)
    return sphere_box(a[0] + s * (a[1] - a[0]), radius, X, half)


def point_field(c, radius, height, slope):
    """gap = (z - H)/f - R, f = sqrt(1 + |dH|^2); n = (-dH, 1)/f."""
    n = np.array([*-np.asarray(slope), 1.0])
    f = np.linalg.norm(n)
    n = n / f
    gap = (c[2] - height) / f - radius
    return Touch(gap, n, c - radius * n, c - radius * n - gap * n)


def basis(n):
    """Rows n, t1, t2 = n x t1; t1 is the x axis, or the y axis where n is near x, without its part along n."""
    t = np.array([1.0, 0, 0]) if abs(n[0]) < 0.9 else np.array([0, 1.0, 0])
    t1 = t - n * (n @ t)
    t1 /= np.linalg.norm(t1)
    return np.array([n, t1, np.cross(n, t1)])


def point_jacobian(model, q, frame, x):
    """Jacobian (3, nv) of the velocity of the material point of a frame that is at x in the world."""
    J = model.frame_jacobian(frame, q)
    r = x - model.frame_pose(frame, q)[:3, 3]
    return J[3:] + np.cross(J[:3].T, r).T


def rows(model, q, touch, a, b=None):
    """J (3, nv): rows (n, t1, t2) of the relative velocity of the material points, a minus b (the ground if None)."""
    J = point_jacobian(model, q, a, touch.a)
    if b is not None:
        J = J - point_jacobian(model, q, b, touch.b)
    return basis(touch.normal) @ J
