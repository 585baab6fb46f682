"""Nonholonomic systems to test with, and the equations with multipliers as the oracle."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from vitree.vehicles import NonholonomicVehicle, car, snakeboard


class Sleigh(NonholonomicVehicle):
    """A knife edge that carries a bob on a spring along its axis, in a wind and with drag; given by its Lagrangian."""

    shape_names = ("s",)
    input_names = ("pull",)

    def symmetries(self, r):
        return np.array([[1.0, 0], [0, 1], [0, 0]])

    def lagrangian(self, r, u, xi):
        omega, vx, vy = xi
        bob = (vx + u[0]) ** 2 + (vy + omega * r[0]) ** 2
        return (self.J * omega**2 + self.M * (vx**2 + vy**2) + self.m * bob - self.k * (r[0] - 0.3) ** 2) / 2

    def shape_force(self, t, r, g, u, xi, inputs):
        return inputs - 0.2 * u

    def body_force(self, t, r, g, u, xi, inputs):
        wind = g[:2, :2].T @ [0.4, 0.7]
        return np.array([0.3 * np.cos(t) - 0.1 * xi[0], *(wind - 0.3 * xi[1:])])


class Rotor(NonholonomicVehicle):
    """A body in space with a wheel about its z axis; it falls, unless there is no gravity."""

    group = "SE3"
    shape_names = ("wheel",)

    def symmetries(self, r):
        return np.eye(6)

    def mass_matrix(self, r):
        M = np.diag([self.I, 1.1, 1.7, 2.3, 4.0, 4.0, 4.0])
        M[0, 3] = M[3, 0] = self.I
        return M

    def body_force(self, t, r, g, u, xi, inputs):
        return np.concatenate((np.zeros(3), g[:3, :3].T @ [0, 0, -4.0 * self.fall]))


class Glider(Rotor):
    """The same with a keel: no velocity along y."""

    def symmetries(self, r):
        return np.delete(np.eye(6), 4, axis=1)


class DrivenSleigh(Sleigh):
    """The bob's rate is an input, its acceleration moves the sleigh."""

    driven = {"s": "pull"}  # noqa: RUF012


@dataclass
class Case:
    """A vehicle, the rows W(r) of its constraints on (u, xi), and a state."""

    vehicle: NonholonomicVehicle
    rows: object
    q: np.ndarray
    v: np.ndarray
    inputs: object = None
    parameters: dict = field(default_factory=dict)


def sleigh(kind=Sleigh) -> Case:
    parameters = {"J": 0.7, "M": 2.0, "m": 0.5, "k": 6.0}
    vehicle = kind("sleigh", **parameters)
    q = np.array([0.1, 0.4, -0.3, 0.2])
    return Case(vehicle, lambda r: np.array([[0, 0, 0, 1.0]]), q, vehicle.velocity(q, [0.3], [0.8, 1.1]),
                {"pull": lambda t: 0.5 * np.sin(2 * t)}, parameters)  # fmt: skip


def rotor(kind=Rotor, fall=1.0) -> Case:
    parameters = {"I": 0.4, "fall": fall}
    vehicle = kind("rotor", **parameters)
    q = np.array([0.2, 0.5, -0.4, 1.0, 0.1, -0.2, 0.3, 0.0])
    q[-1] = np.sqrt(1 - q[4:7] @ q[4:7])
    glide = np.array([0.6, -0.9, 0.5, 0.7, 0.3, -0.4])[: vehicle.symmetries(q[:1]).shape[1]]
    rows = np.zeros((0, 7)) if kind is Rotor else np.eye(7)[5:6]
    return Case(vehicle, lambda r: rows, q, vehicle.velocity(q, [2.0], glide), None, parameters)


def car_case(**parameters) -> Case:
    vehicle = car(mass=10.0, inertia=1.5, wheel_inertia=0.05, wheelbase=0.8, wheel_radius=0.1, **parameters)
    q = np.array([0, 0.1, 0.2, 0, 0])

    def rows(r):
        return np.array([[-0.1 * r[1] / 0.8, 0, 1, 0, 0], [-0.1, 0, 0, 1, 0], [0, 0, 0, 0, 1]])

    inputs = {"torque": lambda t: 1 + 0.5 * np.sin(t), "steering": lambda t: 0.6 * np.cos(1.5 * t)}
    return Case(vehicle, rows, q, vehicle.velocity(q, {"psi": 2.0, "sigma": 0.6}), inputs)


def snakeboard_case() -> Case:
    vehicle, turn = snakeboard(), np.pi

    def rows(r):
        # the printed one-forms at theta = 0
        s, c, l = np.sin(r[1]), np.cos(r[1]), 0.2  # noqa: E741
        return np.array([[0, 0, -l * c, -s, c], [0, 0, l * c, s, c]])

    def torque(inertia, swing):
        return lambda t: -inertia * swing * turn**2 * np.sin(turn * t)

    q = np.zeros(5)
    inputs = {"rotor": torque(0.016, 0.8), "steering": torque(2 * 0.0013, 0.5)}
    return Case(vehicle, rows, q, vehicle.velocity(q, {"psi": 0.8 * turn, "phi": 0.5 * turn}), inputs)


def acceleration(case: Case, t, q, w, inputs, torque, driven=()) -> np.ndarray:
    """The rate of w = (u, xi): Euler-Poincare equations with the constraints' forces W^T lam, W w = 0.

    ``driven`` are accelerations of driven shape coordinates, which have forces of their own.
    """
    vehicle, s, e = case.vehicle, len(case.vehicle.shape_names), 1e-5
    r, u, xi = q[:s], w[:s], w[s:]
    M = vehicle.mass_matrix(r)
    mu = (M @ w)[s:]
    bent = (vehicle.mass_matrix(r + e * u) - vehicle.mass_matrix(r - e * u)) @ w / (2 * e)
    slope = [(vehicle.lagrangian(r + d, u, xi) - vehicle.lagrangian(r - d, u, xi)) / (2 * e) for d in e * np.eye(s)]
    state = (t, r, vehicle.pose.matrix(q[s:]), u, xi, inputs)
    force = np.concatenate((slope + vehicle.shape_force(*state), vehicle.body_force(*state))) + torque - bent
    if vehicle.group == "SE2":
        force[s:] += [xi[2] * mu[1] - xi[1] * mu[2], xi[0] * mu[2], -xi[0] * mu[1]]
    else:
        force[s : s + 3] += np.cross(mu[:3], xi[:3]) + np.cross(mu[3:], xi[3:])
        force[s + 3 :] += np.cross(mu[3:], xi[:3])
    # what is driven has its rate's rate for a constraint
    held = np.eye(len(w))[vehicle.driven_at]
    W = np.vstack((case.rows(r), held))
    along = np.concatenate(((case.rows(r + e * u) - case.rows(r - e * u)) @ w / (2 * e), -np.asarray(driven)))
    m = len(W)
    K = np.block([[M, -W.T], [W, np.zeros((m, m))]])
    return np.linalg.lstsq(K, np.concatenate((force, -along)), rcond=None)[0][: len(w)]
