"""Runs of rigid vehicles that go on from a checkpoint: bit for bit as if they had not stopped."""

from __future__ import annotations

import numpy as np
import pytest

import vitree as vt
from vitree.vehicles import RigidVehicle

DT = 0.02
CHOICES = [
    ("lie", {"map": "exp"}), ("lie", {"map": "cayley"}), ("lie", {"map": "dual-cayley"}),
    ("lie", {"map": "trapezoidal"}), ("lie", {"map": "second-kind"}), ("lie", {"alpha": 0.0}), ("rk2", {}),
    ("rk4", {}), ("implicit-rk2", {}), ("lie-newmark", {}),
]  # fmt: skip


def torque(t, q, v):
    return 0.3 * np.cos(2 * t + np.arange(6)) - 0.1 * v


def jets(t, q, v):
    return [np.sin(3 * t) - 0.2 * v[0], q[1]]


DRIVES = {
    "free": {}, "torque": {"control": torque}, "inputs": {"control": vt.Control(inputs=jets)},
    "both": {"control": vt.Control(torque=torque, inputs=jets)},
    "constants": {"control": vt.Control(torque=np.linspace(-0.2, 0.3, 6), inputs=[0.3, -0.1])},
}  # fmt: skip


@pytest.fixture(scope="module")
def vehicle():
    """A body with drag, weight and two jets."""
    return RigidVehicle(np.diag([1.0, 1.5, 2.0]), np.diag([3.0, 3.0, 4.0]), mass=3.0, drag=0.1 * np.eye(6),
                        controls={"a": (0, 0, 0.2, 1, 0, 0), "b": (0.1, 0, 0, 0, 0, 1)})  # fmt: skip


@pytest.mark.parametrize("drive", DRIVES)
@pytest.mark.parametrize(("method", "chosen"), CHOICES, ids=lambda x: x if isinstance(x, str) else str(x))
def test_a_resumed_run_is_the_whole_one(vehicle, method, chosen, drive):
    """Resumed twice, with all memory that is not kept at NaN (conftest.py)."""
    v = np.array([0.3, -0.2, 0.5, 1.0, -0.7, 0.4])
    more = DRIVES[drive]
    whole = vt.simulate(vehicle, v0=v, duration=30 * DT, dt=DT, method=method, **chosen, **more)
    run = vt.simulate(vehicle, v0=v, duration=11 * DT, dt=DT, method=method, **chosen, **more)
    for steps, end in ((7, 18), (12, 30)):
        run = run.resume(steps * DT, **more)
        assert run.q[-1].tobytes() == whole.q[end].tobytes() and run.v[-1].tobytes() == whole.v[end].tobytes()
        assert run.iterations[1:].tobytes() == whole.iterations[end - steps + 1 : end + 1].tobytes()
        assert run.residual[1:].tobytes() == whole.residual[end - steps + 1 : end + 1].tobytes()
