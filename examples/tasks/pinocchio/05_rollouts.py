"""A thousand arms swing from random starts for a second, on all cores."""

import os
from pathlib import Path

import numpy as np
import pinocchio as pin

model = pin.buildModelFromUrdf(str(Path(__file__).parents[3] / "urdf" / "arm6.urdf"))
dt, threads = 1e-3, os.cpu_count()


def run(q):
    """The configurations (n, nq) after 1000 steps of semi-implicit Euler."""
    pool = pin.ModelPool(model, threads)
    q, v, a = np.asfortranarray(q.T), np.zeros((model.nv, len(q)), order="F"), np.zeros((model.nv, len(q)), order="F")
    torque = np.zeros_like(v)
    for _ in range(1000):
        pin.abaInParallel(threads, pool, q, v, torque, a)
        v += dt * a
        q += dt * v  # these joints are hinges
    return q.T


starts = np.random.default_rng(0).uniform(-1.0, 1.0, (1000, model.nq))  # rad
same = np.array_equal(run(starts)[7], run(starts[7:8])[0])
print(f"1000 runs of 1000 steps; run 7 has the bits of a run alone: {same}")
