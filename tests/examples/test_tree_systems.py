"""The mechanisms of Johnson & Murphey's papers: large ones converge as they come, forced ones at second order."""

from __future__ import annotations

import sys

import numpy as np
import pytest
from places import PAPERS as FOLDER

import vitree as vt

sys.path.insert(0, str(FOLDER / "johnson_murphey_2009"))
import mechanisms

RESIDUALS = ("recursive", "tree")


@pytest.mark.parametrize("residual", RESIDUALS)
@pytest.mark.parametrize("dt", [0.01, 0.001])
@pytest.mark.parametrize("links", [20, 40])
def test_planar_pendulums_of_many_links(links, dt, residual):
    """From aligned links at 45 degrees, with default settings; energy stays near what it was."""
    model, q0 = mechanisms.link_pendulum(links, inertia=0.0)
    run = vt.simulate(model, q0, duration=2.0, dt=dt, method="midpoint", residual=residual, record_every=10)
    # of the energy that the fall has turned into motion
    assert np.abs(run.energy - run.energy[0]).max() < (2e-2 if dt == 0.01 else 2e-4) * np.abs(run.kinetic).max()


@pytest.mark.parametrize("method", ["midpoint", "linear-time"])
@pytest.mark.parametrize("links", [50, 100])
def test_chains_of_alternate_axes(links, method):
    """Hinges about x and y in turn, from rest with the first at 45 degrees, dt = 0.01 s, default settings."""
    tree = vt.Tree(f"chain of {links}")
    at = tree.world
    for k in range(links):
        joint = (vt.rx if k % 2 else vt.ry)(f"joint{k}")
        at = at.add(joint, vt.body(f"link{k}", 1.0, inertia=(0.1, 0.1, 0.02), com=(0, 0, -0.5)), vt.tz(-1.0))
    model = tree.compile()
    run = vt.simulate(model, np.pi / 4 * np.eye(links)[0], duration=2.0, dt=0.01, method=method, record_every=5)
    assert np.abs(run.energy - run.energy[0]).max() < 3e-2 * run.kinetic.max()


@pytest.mark.parametrize("residual", RESIDUALS)
def test_a_scissor_lift_of_eight_segments_for_ten_seconds(residual):
    model, q0 = mechanisms.scissor(8)
    run = vt.simulate(model, q0, duration=10.0, dt=0.01, method="midpoint", residual=residual)
    assert np.abs(run.constraint).max() < 3e-12
    times = np.arange(1, 101) * 0.01
    error = mechanisms.scissor_angle(model, run.q[1:101]) - mechanisms.scissor_benchmark(8, times)
    assert np.abs(error).max() < 2e-2


def pendulum_order(damping=0.0, residual="recursive", **options) -> float:
    """Order of the midpoint integrator on a single pendulum over 2 s, against DOP853."""
    tree = vt.Tree("pendulum")
    tree.world.add(vt.ry("angle", damping=damping), vt.tz(-1.0), vt.body("bob", 1.0, inertia=(0.01,) * 3))
    model = tree.compile()
    exact = vt.simulate(model, [1.0], duration=2.0, dt=0.1, method="scipy-dop853", rtol=1e-12, atol=1e-13, **options)
    errors = []
    for dt in (0.02, 0.01, 0.005):
        run = vt.simulate(model, [1.0], duration=2.0, dt=dt, method="midpoint", record_every=round(0.1 / dt),
                          residual=residual, **options)  # fmt: skip
        errors.append(np.sqrt(np.mean((run.q - exact.q) ** 2) + np.mean((run.v - exact.v) ** 2)))
    return float(np.polyfit(np.log([0.02, 0.01, 0.005]), np.log(errors), 1)[0])


@pytest.mark.parametrize(
    "options",
    [
        {"damping": 0.8}, {"control": [3.0]}, {"control": [3.0], "damping": 0.8, "residual": "tree"},
        {"control": lambda t, q, v: np.array([2 * np.sin(3 * t) - 0.5 * v[0]])},
    ],
    ids=["damped", "driven", "both", "controlled"],
)  # fmt: skip
def test_a_damped_and_a_driven_pendulum_converge_at_second_order(options):
    assert abs(pendulum_order(**options) - 2.0) < 0.1
