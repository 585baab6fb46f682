"""Cross products as matrices, derivatives to round-off, and the tutorial's three representations of rotations.

The module needs NumPy only. All functions take complex numbers, because derivatives are taken by complex steps.
"""

import numpy as np


def cross(a):
    """[a], the matrix of the cross product: [a] b = a x b (eq. 20)."""
    return np.array([[0 * a[0], -a[2], a[1]], [a[2], 0 * a[0], -a[0]], [-a[1], a[0], 0 * a[0]]])


def vee(A):
    """The a of A = [a]."""
    return np.array([A[2, 1] - A[1, 2], A[0, 2] - A[2, 0], A[1, 0] - A[0, 1]]) / 2


def rate(f, x, dx):
    """Derivative of f along dx, to round-off: the imaginary part of f(x + i e dx) over a tiny e."""
    return np.imag(f(x + 1e-100j * dx)) / 1e-100


# ---- rotations: R and the J of omega = J q', both in the frame that the rotation starts from ------------


def exponential(q):
    """The exponential map (eqs. 53 to 56)."""
    a, b, c = 1.0, 1 / 2, 1 / 6
    if abs(q @ q) > 1e-10:
        angle = np.sqrt(q @ q)
        a, b = np.sin(angle) / angle, 2 * np.sin(angle / 2) ** 2 / angle**2
        c = (angle - np.sin(angle)) / angle**3
    Q = cross(q)
    return np.eye(3) + a * Q + b * Q @ Q, np.eye(3) + b * Q + c * Q @ Q


def about(axis, angle):
    """A rotation about a coordinate axis."""
    return exponential(angle * np.eye(3)[axis])[0]


def euler(q):
    """Three Euler rotations, about x, then y, then z (eq. 52)."""
    Rx, Ry, Rz = (about(k, q[k]) for k in range(3))
    return Rx @ Ry @ Rz, np.column_stack((np.eye(3)[0], Rx[:, 1], (Rx @ Ry)[:, 2]))


def quaternion(q):
    """A quaternion (x, y, z, w) of any length: omega = 2 Im(q' q*) / |q|^2."""
    u, w, n = q[:3], q[3], q @ q
    R = np.eye(3) + 2 / n * (w * cross(u) + cross(u) @ cross(u))
    return R, 2 / n * np.column_stack((w * np.eye(3) + cross(u), -u))


ROTATIONS = {"exponential": (3, exponential), "euler": (3, euler), "quaternion": (4, quaternion)}
