"""In which step a time lies, and how far in it, in runs of any length."""

import numpy as np
import pytest

import vitree as vt
from vitree.run.runner import NEAR, _place

STEPS = [0, 1, 7, 1000, 10**6, 123_456_789, 10**9]


@pytest.mark.parametrize("t0", [0.0, -3.7, 1e3])
@pytest.mark.parametrize("dt", [1e-4, 1e-3, 1 / 3, 0.7])
@pytest.mark.parametrize("step", STEPS)
def test_a_time_at_a_node_is_there_in_spite_of_rounding(step, dt, t0):
    t = t0 + step * dt
    for near in (t, np.nextafter(t, np.inf), np.nextafter(t, -np.inf)):
        if abs(near - t) <= 0.1 * NEAR * dt * max(step, 1):
            assert _place(float(near), t0, dt) == (step, 0.0)


@pytest.mark.parametrize("share", [1e-4, 0.25, 0.5, 0.75, 0.9999])
@pytest.mark.parametrize("step", [0, 1, 7, 1000, 10_000])
def test_a_time_within_a_step_is_not_moved(step, share):
    dt, t0 = 1e-3, 0.5
    found, rest = _place(t0 + (step + share) * dt, t0, dt)
    assert found == step and rest == pytest.approx(share * dt, abs=1e-12)


@pytest.mark.parametrize("step", [10**6, 10**8])
def test_what_is_near_grows_with_the_length_of_the_run_and_no_more(step):
    # a time has a rounding error in proportion to itself
    dt = 1.0
    assert _place(step * (1 + 0.5 * NEAR), 0.0, dt) == (step, 0.0)
    assert _place(step * (1 - 0.5 * NEAR), 0.0, dt) == (step, 0.0)
    above, below = _place(step * (1 + 2 * NEAR), 0.0, dt), _place(step * (1 - 2 * NEAR), 0.0, dt)
    assert above[0] == step and above[1] == pytest.approx(2 * NEAR * step, rel=1e-3)
    assert below[0] == step - 1 and below[1] == pytest.approx(1 - 2 * NEAR * step, rel=1e-3)


def test_near_is_of_a_step_at_the_start():
    assert _place(0.5 * NEAR, 0.0, 1.0) == (0, 0.0) and _place(-0.5 * NEAR, 0.0, 1.0) == (0, 0.0)
    assert _place(2 * NEAR, 0.0, 1.0) == (0, 2 * NEAR)
    assert _place(-2 * NEAR, 0.0, 1.0)[0] == -1


def test_times_beyond_all_steps():
    assert _place(1e30, 0.0, 1e-3) == (2**53, 0.0) and _place(-1e30, 0.0, 1e-3) == (-1, 0.0)


def test_a_push_late_in_a_run_acts_in_its_steps():
    """A run that resumes late, pushed from one node to another: only the steps between are not those at rest."""
    model = vt.load_urdf(vt.find_robot("pendulum"))
    t0, dt = 1e6, 1e-3
    more = {"start": t0 + 3 * dt, "end": t0 + 5 * dt}
    push = vt.ExternalWrench(model.link_names[-1], force=(5.0, 5.0, 0), torque=(1.0, 1.0, 1.0), **more)
    run = vt.simulate(model, duration=0.01, dt=dt, t0=t0, wrenches=[push])
    moved = np.abs(np.diff(run.energy)) > 1e-12
    assert not moved[:3].any() and moved[3:5].all() and not moved[5:].any()
