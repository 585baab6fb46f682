"""Inertial parameters of a body, its pseudo-inertia, and coordinates in which every body is physically possible.

The ten parameters are (m, m c_x, m c_y, m c_z, Ixx, Ixy, Ixz, Iyy, Iyz, Izz), the inertia about the origin of the
frame. The pseudo-inertia is the second moment of the mass in homogeneous coordinates,

    J = [[S, h], [h^T, m]],  S = tr(I)/2 1 - I,  h = m c,

and the body is possible, with a density that is nowhere negative, if and only if J is positive definite (Wensing, Kim &
Slotine 2018). The coordinates (alpha, d1, d2, d3, s12, s23, s13, t1, t2, t3) are those of J = U U^T with an upper
triangular U, whose diagonal is exponential (Rucker & Wensing 2022, "Smooth parameterization of rigid-body inertia",
eq. 11): every ten real numbers are a body.
"""

from __future__ import annotations

import numpy as np

from vitree.errors import ModelError
from vitree.spatial.inertia import point_inertia

#: Least second moment of the mass about the COM in any direction, as a share of the largest one: a plate, a rod or a
#: point is the limit of the coordinates, which they do not reach.
THINNEST = 1e-4
#: Where Ixx, Ixy, Ixz, Iyy, Iyz, Izz are in the inertia.
ENTRIES = ((0, 0), (0, 1), (0, 2), (1, 1), (1, 2), (2, 2))
#: Where s12, s23, s13 are in the triangle.
SHEARS = ((0, 1), (1, 2), (0, 2))


def inertial_parameters(mass: float, com: np.ndarray, inertia: np.ndarray) -> np.ndarray:
    """Return the ten parameters of a mass [kg], a COM (3,) [m] and an inertia about it (3, 3) [kg m^2]."""
    about = inertia + point_inertia(mass, np.asarray(com))
    return np.array([mass, *(mass * np.asarray(com)), *(about[at] for at in ENTRIES)])


def mass_com_inertia(parameters: np.ndarray) -> tuple[float, np.ndarray, np.ndarray]:
    """Return mass [kg], COM (3,) [m] and the inertia about it (3, 3) [kg m^2] of ten parameters."""
    mass = float(parameters[0])
    com = parameters[1:4] / mass
    return mass, com, _inertia(parameters) - point_inertia(mass, com)


def pseudo_inertia(parameters: np.ndarray) -> np.ndarray:
    """Return the pseudo-inertia (4, 4) [kg m^2, kg m, kg] of ten parameters."""
    J, inertia = np.empty((4, 4)), _inertia(parameters)
    J[:3, :3] = 0.5 * np.trace(inertia) * np.eye(3) - inertia
    J[3, :3] = J[:3, 3] = parameters[1:4]
    J[3, 3] = parameters[0]
    return J


def of_pseudo_inertia(J: np.ndarray) -> np.ndarray:
    """Return the ten parameters of a pseudo-inertia (4, 4); linear, for derivatives of pseudo-inertias as well."""
    S = J[:3, :3]
    inertia = np.trace(S) * np.eye(3) - S
    return np.array([J[3, 3], *J[:3, 3], *(inertia[at] for at in ENTRIES)])


def log_cholesky(parameters: np.ndarray, name: str) -> np.ndarray:
    """Return the log-Cholesky coordinates (10,) of the body ``name`` with ten parameters.

    Raises a ModelError if the body has no mass, or no body has such parameters. A body that is thinner than
    ``THINNEST`` is taken as one of that thickness.
    """
    mass, com, inertia = parameters[0], parameters[1:4], None
    if not mass > 0:
        raise ModelError(
            f'the mass of "{name}" is {mass:g} kg; a body whose inertia is identified must start with a positive mass: '
            "give one by model.with_parameters(mass=, inertia=)"
        )
    inertia = _inertia(parameters) - point_inertia(mass, com / mass)
    sizes, axes = np.linalg.eigh(0.5 * np.trace(inertia) * np.eye(3) - inertia)
    if sizes[0] < -1e-6 * abs(sizes[2]):
        raise ModelError(
            f'the principal moments of "{name}" violate the triangle inequality: the largest one exceeds the sum of '
            "the others, which no body has; give another inertia by model.with_parameters(inertia=)"
        )
    if not sizes[2] > 0:
        raise ModelError(
            f'"{name}" is a point mass; a body whose inertia is identified must start with an inertia: give one by '
            "model.with_parameters(inertia=)"
        )
    second = (axes * np.maximum(sizes, THINNEST * sizes[2])) @ axes.T / mass
    # J = U U^T with an upper U is the factorisation of J with rows and columns in reverse order
    U = np.linalg.cholesky(second[::-1, ::-1])[::-1, ::-1]
    return np.array([0.5 * np.log(mass), *np.log(np.diag(U)), *(U[at] for at in SHEARS), *(com / mass)])


def of_log_cholesky(coordinates: np.ndarray) -> np.ndarray:
    """Return the ten parameters of log-Cholesky coordinates (10,)."""
    U = _triangle(coordinates)
    return of_pseudo_inertia(U @ U.T)


def log_cholesky_derivatives(coordinates: np.ndarray) -> np.ndarray:
    """Return the derivatives (10, 10) of the ten parameters by log-Cholesky coordinates (10,)."""
    U, scale = _triangle(coordinates), float(np.exp(coordinates[0]))
    out = np.empty((10, 10))
    for k in range(10):
        dU = np.zeros((4, 4))
        if k == 0:
            dU = U
        elif k < 4:
            dU[k - 1, k - 1] = U[k - 1, k - 1]
        elif k < 7:
            dU[SHEARS[k - 4]] = scale
        else:
            dU[k - 7, 3] = scale
        half = dU @ U.T
        out[:, k] = of_pseudo_inertia(half + half.T)
    return out


def mass_com_inertia_derivatives(parameters: np.ndarray) -> np.ndarray:
    """Return the derivatives (10, 10) of (m, c, Ixx, Ixy, Ixz, Iyy, Iyz, Izz about the COM) by the ten parameters."""
    mass, com = float(parameters[0]), parameters[1:4] / parameters[0]
    out = np.eye(10)
    out[1:4, 0] = -com / mass
    out[1:4, 1:4] /= mass
    for row, at in enumerate(ENTRIES, start=4):  # less m (c.c 1 - c c^T) = (h.h 1 - h h^T)/m
        out[row, 0] = point_inertia(1.0, com)[at]
        for axis, unit in enumerate(np.eye(3)):
            out[row, 1 + axis] = -(2 * com[axis] * np.eye(3) - np.outer(unit, com) - np.outer(com, unit))[at]
    return out


def _inertia(parameters: np.ndarray) -> np.ndarray:
    """The inertia (3, 3) about the origin of the frame."""
    out = np.empty((3, 3))
    for (row, column), value in zip(ENTRIES, parameters[4:], strict=True):
        out[row, column] = out[column, row] = value
    return out


def _triangle(coordinates: np.ndarray) -> np.ndarray:
    U = np.zeros((4, 4))
    U[[0, 1, 2, 3], [0, 1, 2, 3]] = [*np.exp(coordinates[1:4]), 1.0]
    for at, value in zip(SHEARS, coordinates[4:7], strict=True):
        U[at] = value
    U[:3, 3] = coordinates[7:]
    found: np.ndarray = np.exp(coordinates[0]) * U
    return found
