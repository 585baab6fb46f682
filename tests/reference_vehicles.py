"""Slow, readable oracle of the vehicles on SE(3): groups by matrices, equations solved by SciPy.

Twists are (angular, linear), wrenches (torque, force), in body axes; a pose (4, 4) maps body to world. Nothing here
has a closed form that could share a slip with the kernels: the Cayley maps and their tangents are products of
matrices, the exponential's tangent is a matrix exponential.

Sources: Kobilarov, Crane & Desbrun 2009, sections 3 and 4; Iserles et al. 2000 (tangents).
"""

from __future__ import annotations

import numpy as np
from reference import hat, quaternion_matrix
from scipy.linalg import block_diag, expm
from scipy.optimize import root


def twist_matrix(x):
    """The 4x4 matrix of a twist."""
    X = np.zeros((4, 4))
    X[:3, :3], X[:3, 3] = hat(x[:3]), x[3:]
    return X


def axial(A):
    """w of hat(w)."""
    return np.array([A[2, 1], A[0, 2], A[1, 0]])


def twist_of(X):
    """The twist of a 4x4 matrix."""
    return np.append(axial(X), X[:3, 3])


def ad(x):
    """The 6x6 matrix of the bracket with a twist."""
    zero = np.zeros((3, 3))
    return np.block([[hat(x[:3]), zero], [hat(x[3:]), hat(x[:3])]])


def Ad(g):
    """The 6x6 matrix that moves twists along a displacement."""
    R, p = g[:3, :3], g[:3, 3]
    return np.block([[R, np.zeros((3, 3))], [hat(p) @ R, R]])


def cayley(X):
    """(1 - X/2)^-1 (1 + X/2)."""
    one = np.eye(len(X))
    return np.linalg.solve(one - X / 2, one + X / 2)


def tau(name, x):
    """The displacement (4, 4) of a twist by a map."""
    if name == "exp":
        return expm(twist_matrix(x))
    if name == "cayley":
        return cayley(twist_matrix(x))
    if name in PRODUCTS:
        return np.linalg.multi_dot([expm(twist_matrix(x[k] * np.eye(6)[k])) for k in PRODUCTS[name]])
    # that whose adjoint is the Cayley transform of ad
    A = cayley(ad(x))
    g = np.eye(4)
    g[:3, :3] = A[:3, :3]
    g[:3, 3] = axial(A[3:, :3] @ A[:3, :3].T)
    return g


#: Products of exponentials of single coordinates, by the order of these: a map and its adjoint.
PRODUCTS = {"second-kind": range(6), "second-kind, backwards": range(5, -1, -1)}


def tangent_inverse(name, x):
    """C (6, 6), the inverse of a map's right-trivialised tangent."""
    one = np.eye(6)
    if name == "exp":
        # dexp = sum ad^n/(n+1)!
        return np.linalg.inv(expm(np.block([[ad(x), one], [np.zeros((6, 12))]]))[:6, 6:])
    if name == "trapezoidal":
        return one - ad(x) / 2
    if name == "cayley":
        X, four = twist_matrix(x) / 2, np.eye(4)
        return np.column_stack([twist_of((four - X) @ twist_matrix(e) @ (four + X)) for e in one])
    if name in PRODUCTS:
        columns, before = np.empty((6, 6)), one
        for k in PRODUCTS[name]:
            # each coordinate turns about its own axis, as those before it have moved it
            columns[:, k] = before[:, k]
            before = before @ Ad(expm(twist_matrix(x[k] * one[k])))
        return np.linalg.inv(columns)
    A = ad(x) / 2
    products = [(one - A) @ ad(e) @ (one + A) for e in one]
    return np.column_stack([np.append(axial(P[:3, :3]), axial(P[3:, :3])) for P in products])


def pose(q):
    """The pose (4, 4) of a configuration (position, quaternion)."""
    g = np.eye(4)
    g[:3, :3], g[:3, 3] = quaternion_matrix(q[3:]), q[:3]
    return g


def inner(x):
    """(angular, linear) of (linear, angular), and back."""
    return np.concatenate((x[3:], x[:3]))


def lie_step(name, alpha, h, t, g, mu, inertia, force):
    """The step (g, mu) -> (g, mu) of eqs. 9-10 with the force at both ends; force(t, g, xi)."""
    if name == "second-kind":
        g, mu = substep(name, alpha, h / 2, t, g, mu, inertia, force)
        return substep("second-kind, backwards", alpha, h / 2, t + h / 2, g, mu, inertia, force)
    return substep(name, alpha, h, t, g, mu, inertia, force)


def substep(name, alpha, h, t, g, mu, inertia, force):
    """The same by one map."""
    residual = lambda xi: (tangent_inverse(name, h * xi).T @ inertia @ xi - mu  # noqa: E731
                           - (1 - alpha) * h * force(t, g, xi))  # fmt: skip
    xi = root(residual, np.linalg.solve(inertia, mu), tol=1e-14).x
    assert np.abs(residual(xi)).max() < 1e-11 * np.abs(mu).max()
    end = g @ tau(name, h * xi)
    moved = Ad(tau(name, h * xi)).T @ tangent_inverse(name, h * xi).T @ inertia @ xi
    return end, moved + alpha * h * force(t + h, end, xi)


def acceleration(inertia, xi, wrench):
    """The rate of xi (eq. 8)."""
    return np.linalg.solve(inertia, ad(xi).T @ inertia @ xi + wrench)


def inertia_of(vehicle):
    """The 6x6 inertia of a rigid vehicle."""
    return block_diag(vehicle.rotational, vehicle.translational)


def weight(vehicle, g):
    """The wrench of gravity."""
    return np.append(np.zeros(3), g[:3, :3].T @ (vehicle.mass * vehicle.gravity))


def helicopter_wrench(u, top, tail):
    """Thrust of a tilted rotor at (0, 0, top), and of a tail rotor towards -y at (-tail, 0, 0)."""
    collective, yaw, pitch, roll = u
    thrust = collective * np.array([np.sin(pitch) * np.cos(roll), -np.sin(roll), np.cos(pitch) * np.cos(roll)])
    side = np.array([0.0, -yaw, 0.0])
    return np.append(hat([0.0, 0.0, top]) @ thrust + hat([-tail, 0.0, 0.0]) @ side, thrust + side)


def boat_wrench(x, t, g, xi):
    """Weight, lift, resistance and wind of a boat (eq. 15), x being the parts it was compiled from."""
    R, p = g[:3, :3], g[:3, 3]

    def phase(at):
        return x["wave_vector"] @ at[:2] - x["omega"] * t + x["phase"]

    def water(at):
        k = np.linalg.norm(x["wave_vector"])
        decay = x["wave"] * x["omega"] * np.exp(k * min(at[2], x["wave"] * np.sin(phase(at))))
        return x["current"] + decay * np.array([*(x["wave_vector"] / k * np.sin(phase(at))), -np.cos(phase(at))])

    def push(r, f):
        return np.append(hat(r) @ f, f)

    total, length = np.zeros(6), x["top"] - x["bottom"]
    for a, b, area in x["pillars"]:
        # by slices
        z = x["bottom"] + length * (np.arange(20000) + 0.5) / 20000
        r = np.column_stack((np.full_like(z, a), np.full_like(z, b), z))
        at = p + r @ R.T
        level = x["wave"] * np.sin(at[:, :2] @ x["wave_vector"] - x["omega"] * t + x["phase"])
        wet = r[at[:, 2] < level]
        lift = x["lift"] * area * length / len(z)
        total += push(wet.sum(axis=0), R.T @ [0.0, 0.0, lift])
        total[3:] += (len(wet) - 1) * R.T @ [0.0, 0.0, lift]
    for row in x["patches"]:
        r, normal, share, height = row[:3], row[3:6], row[6], row[7]
        at = p + R @ r
        share *= np.clip(0.5 + (x["wave"] * np.sin(phase(at)) - at[2]) / height, 0.0, 1.0)
        speed = xi[3:] + hat(xi[:3]) @ r - R.T @ water(at)
        total += push(r, share * (-x["resistance"] @ speed - x["pressure"] * normal))
    speed = xi[3:] + hat(xi[:3]) @ x["sail"] - R.T @ x["wind"]
    return total + push(x["sail"], -x["windage"] * speed)
