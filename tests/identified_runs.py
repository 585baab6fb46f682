"""Runs of robots whose parameters are known, with noise, for tests of identification."""

from __future__ import annotations

import numpy as np

import vitree as vt

PENDULUM = vt.load_urdf(vt.find_robot("double_pendulum"))
#: What is fitted of the double pendulum.
ASKED = {"mass": ["rod1", "rod2"], "damping": ["hinge1", "hinge2"], "friction": ["hinge1", "hinge2"]}
TRUTH = {"mass rod1": 1.3, "mass rod2": 0.8, "damping hinge1": 0.05, "damping hinge2": 0.02,
         "friction hinge1": 0.1, "friction hinge2": 0.05}  # fmt: skip


def with_values(model, values):
    """The model with values by label."""
    given: dict = {}
    for label, value in values.items():
        kind, owner = label.split(" ")
        given.setdefault(kind, {})[owner] = value
    return model.with_parameters(**given)


PLANT = with_values(PENDULUM, TRUTH)
GUESS = with_values(PENDULUM, {"damping hinge1": 0.02, "damping hinge2": 0.01, "friction hinge1": 0.05,
                               "friction hinge2": 0.03})  # fmt: skip


def waves(rng, t, size, columns=2):
    """Sums of two waves, a row for each time."""
    return sum(
        size * np.sin(2 * np.pi * rng.uniform(0.4, 1.6, columns) * t[:, None] + rng.uniform(0, 6, columns))
        for _ in range(2)
    )


def swings(seed, duration=1.5, dt=0.01, runs=2, noise=(2e-3, 2e-2), finer=1):
    """Runs of the double pendulum under torque, measured with noise (of q, v; None: no v)."""
    rng = np.random.default_rng(seed)
    steps, found = round(duration / dt), []
    for _ in range(runs):
        tau = waves(rng, np.arange(steps) * dt, 2.0)
        run = vt.rollout(PLANT, rng.uniform(-1.5, 1.5, (1, 2)), duration=duration, dt=dt / finer, record_every=finer,
                         control=np.repeat(tau, finer, 0)[None])  # fmt: skip
        q = run.q[0] + noise[0] * rng.normal(size=run.q[0].shape)
        v = None if noise[1] is None else run.v[0] + noise[1] * rng.normal(size=run.v[0].shape)
        found.append(vt.Measurement(run.t, q, v, torque=tau))
    return found


def disturbed(seed, duration=1.5, dt=0.01, runs=8, size=0.1, decay=0.3, zeros=0.0):
    """Such runs under a further torque, of standard deviation size, that nobody measured.

    It is correlated over times of ``decay`` [s]. Encoders have another zero in each run, of deviation ``zeros``.
    """
    rng = np.random.default_rng(seed)
    steps, found, keep = round(duration / dt), [], np.exp(-dt / decay)
    for _ in range(runs):
        tau, unknown = waves(rng, np.arange(steps) * dt, 2.0), size * rng.normal(size=(steps, 2))
        for k in range(1, steps):
            unknown[k] = keep * unknown[k - 1] + np.sqrt(1 - keep**2) * unknown[k]
        run = vt.rollout(PLANT, rng.uniform(-1.5, 1.5, (1, 2)), duration=duration, dt=dt, control=(tau + unknown)[None])
        q = run.q[0] + zeros * rng.normal(size=2) + 2e-3 * rng.normal(size=run.q[0].shape)
        found.append(vt.Measurement(run.t, q, run.v[0] + 2e-2 * rng.normal(size=q.shape), torque=tau))
    return found
