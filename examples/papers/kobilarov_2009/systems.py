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
