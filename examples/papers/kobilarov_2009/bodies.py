"""The rigid bodies and cars of the paper's comparisons, drawn at random."""

import numpy as np

import vitree as vt


def body(rng: np.random.Generator) -> vt.vehicles.RigidVehicle:
    """A free body: principal moments from 1 to 3 kg m^2, masses that differ by axis from 1 to 3 kg."""
    return vt.vehicles.RigidVehicle(rng.uniform(1.0, 3.0, 3), rng.uniform(1.0, 3.0, 3), gravity=(0, 0, 0), mass=1.0)


def throw(rng: np.random.Generator, speed: float = 1.0) -> np.ndarray:
    """A velocity (linear, angular) in body axes, each entry normal with this deviation [m/s, rad/s]."""
    return speed * rng.standard_normal(6)


def distances(model, run, truth) -> tuple[float, float]:
    """Largest distance of the positions [m], and largest angle between the orientations [rad], at shared times."""
    k = np.searchsorted(truth.t, run.t - 1e-9)
    apart = np.array([model.difference(a, b) for a, b in zip(truth.q[k], run.q, strict=True)])
    place = np.linalg.norm(run.q[:, :3] - truth.q[k, :3], axis=1)
    return float(place.max()), float(np.linalg.norm(apart[:, 3:], axis=1).max())


def drive(rng: np.random.Generator, car):
    """A start (q, v) of a car, and a function of time: torque [N m] and rate of the steering [1/s], swinging."""
    torque, swing = rng.uniform(200.0, 800.0), rng.uniform(0.1, 0.5)
    fast, turn = rng.uniform(0.3, 1.5, 2)
    speed = rng.uniform(2.0, 8.0)
    q, v = car.neutral(), car.zero_velocity()
    v[[0, 3]] = speed / car.wheel_radius, speed
    return (q, v), lambda t: np.array([torque * np.cos(fast * t), swing * turn * np.cos(turn * t)])
