"""Poses of vehicles, in the plane and in space: coordinates, and the elements of the group."""

from __future__ import annotations

import numpy as np

from vitree.errors import InputError
from vitree.lie import SE2, SE3, matrix_from_pose, pose_from_matrix
from vitree.spatial.rotations import quaternion_rate


class Plane:
    """Poses (theta, x, y), theta not wrapped; twists (omega, vx, vy) in body axes."""

    group = SE2
    nq, dim = 3, 3
    q_names, v_names = ("theta", "x", "y"), ("omega", "vx", "vy")
    #: indices in v, (linear, angular), of the entries of the algebra, (angular, linear)
    order = np.arange(3)
    neutral = np.zeros(3)

    @staticmethod
    def validate(c: np.ndarray, name: str) -> np.ndarray:
        return c

    @staticmethod
    def matrix(c: np.ndarray | list[float]) -> np.ndarray:
        co, s = np.cos(c[0]), np.sin(c[0])
        return np.array([[co, -s, c[1]], [s, co, c[2]], [0.0, 0.0, 1.0]])

    @staticmethod
    def moved(c: np.ndarray, g: np.ndarray) -> np.ndarray:
        """The pose after a motion g in body axes."""
        x = Plane.matrix(c)[:2] @ g[:, 2]
        return np.array([c[0] + np.arctan2(g[1, 0], g[0, 0]), *x])

    @staticmethod
    def integrate(c: np.ndarray, dx: np.ndarray) -> list[float]:
        # along the mean heading: `difference` is then the inverse at any angle
        (heading, *at), (turn, *along) = c.tolist(), dx.tolist()
        co, s = np.cos(heading + turn / 2), np.sin(heading + turn / 2)
        x = np.array([[co, -s, at[0]], [s, co, at[1]]]) @ np.array([*along, 1.0])
        return [heading + turn, *x.tolist()]

    @staticmethod
    def difference(c0: np.ndarray, c1: np.ndarray) -> list[float]:
        first, last = float(c0[0]), float(c1[0])
        co, s = np.cos((first + last) / 2), np.sin((first + last) / 2)
        return [last - first, *((c1[1:] - c0[1:]) @ np.array([[co, -s], [s, co]])).tolist()]

    @staticmethod
    def rate(c: np.ndarray, xi: np.ndarray) -> np.ndarray:
        return np.array([xi[0], *(Plane.matrix(c)[:2, :2] @ xi[1:])])

    @staticmethod
    def place(c: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Rotations (n, 3, 3) and positions (n, 3) of rows of poses."""
        R, x = np.zeros((len(c), 3, 3)), np.zeros((len(c), 3))
        R[:, 0, 0] = R[:, 1, 1] = np.cos(c[:, 0])
        R[:, 1, 0] = np.sin(c[:, 0])
        R[:, 0, 1], R[:, 2, 2], x[:, :2] = -R[:, 1, 0], 1.0, c[:, 1:]
        return R, x

    @staticmethod
    def wrench(mu: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Angular and linear momentum (n, 3) in body axes of rows (n, 3)."""
        zero = np.zeros(len(mu))
        return np.column_stack((zero, zero, mu[:, 0])), np.column_stack((mu[:, 1:], zero))


class Space:
    """Poses (position, quaternion x, y, z, w); twists (linear, angular) in body axes, as of a ``free`` joint."""

    group = SE3
    nq, dim = 7, 6
    q_names = ("x", "y", "z", "qx", "qy", "qz", "qw")
    v_names = ("vx", "vy", "vz", "wx", "wy", "wz")
    order = np.array([3, 4, 5, 0, 1, 2])
    neutral = np.array([0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 1.0])
    matrix = staticmethod(matrix_from_pose)

    @staticmethod
    def validate(c: np.ndarray, name: str) -> np.ndarray:
        with np.errstate(over="ignore"):  # infinity is not a unit norm either
            length = np.linalg.norm(c[3:])
        if abs(length - 1) > 1e-6:
            raise InputError(f"{name} has a quaternion (x, y, z, w) of length {length:.9g}; it must be 1: normalise it")
        return np.concatenate((c[:3], c[3:] / length))

    @staticmethod
    def moved(c: np.ndarray, g: np.ndarray) -> np.ndarray:
        return pose_from_matrix(matrix_from_pose(c) @ g)

    @staticmethod
    def integrate(c: np.ndarray, dx: np.ndarray) -> np.ndarray:
        return Space.moved(c, SE3.maps["exp"].tau(dx))

    @staticmethod
    def difference(c0: np.ndarray, c1: np.ndarray) -> np.ndarray:
        return SE3.maps["exp"].log(SE3.inverse(matrix_from_pose(c0)) @ matrix_from_pose(c1))

    @staticmethod
    def rate(c: np.ndarray, xi: np.ndarray) -> np.ndarray:
        turn = matrix_from_pose([0.0, 0.0, 0.0, *(c[3:] / np.linalg.norm(c[3:]))])[:3, :3]
        return np.concatenate((turn @ xi[3:], quaternion_rate(c[3:], xi[:3])))

    @staticmethod
    def place(c: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        g = matrix_from_pose(c)
        return g[:, :3, :3], g[:, :3, 3]

    @staticmethod
    def wrench(mu: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        return mu[:, :3], mu[:, 3:]
