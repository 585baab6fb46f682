"""Robots stand on the meshes of their soles, all of their other shapes in contact as well, and do not creep."""

from __future__ import annotations

import numpy as np
import pytest

import vitree as vt
from vitree.scenes.base import SkippedError
from vitree.scenes.soles import stands


@pytest.mark.parametrize(("name", "method", "settled"), [
    ("romeo", "linear-time", 8.0), ("icub", "linear-time", 8.0), ("g1", "midpoint", 8.0),
    ("talos", "linear-time", 30.0),
])  # fmt: skip
def test_robots_do_not_creep(name, method, settled):
    """After their drives have come to rest nothing moves by 1e-9 m or rad within 4 s."""
    try:
        model, q, targets = stands(name)
    except SkippedError as error:
        pytest.skip(str(error))
    run = vt.simulate(model, q, duration=settled + 4.0, dt=2e-3, method=method, record_every=10,
                      control=vt.Control(targets=targets))  # fmt: skip
    late = run.q[run.t >= settled]
    assert np.abs(late - late[0]).max() < 1e-9 and model.contact_gaps(run.q[-1]).gap.min() > -1e-12
    assert np.abs(run.q[-1, :3] - q[:3]).max() < 0.02 and "inexact_contacts" not in run.settings
