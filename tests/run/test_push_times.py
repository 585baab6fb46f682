"""Times of pushes: within a run they act, on its edges as they say, and outside they are refused."""

from __future__ import annotations

import numpy as np
import pytest

import vitree as vt

ARM = vt.load_urdf(vt.find_robot("arm6"))
LINK = ARM.link_names[-1]
BLOW = (0.5, 0.2, -0.1)
METHODS = ["linear-time", "midpoint", "rk4"]


def blow(at):
    return vt.Impulse(LINK, BLOW, at=at)


def push(start, end):
    return vt.ExternalWrench(LINK, (5.0, 2.0, -1.0), start=start, end=end)


def run_of(pushes, t0=0.0, **more):
    return vt.simulate(ARM, t0=t0, duration=0.1, dt=0.01, wrenches=pushes, **more)


@pytest.mark.parametrize("t0", [0.0, -3.0, 0.7])
@pytest.mark.parametrize(
    ("acts", "text"),
    [
        (lambda t: blow(t - 1e-4), "acts at t = "), (lambda t: blow(t - 1e30), "acts at t = "),
        (lambda t: blow(t + 0.1001), "acts at t = "), (lambda t: blow(t + 1e30), "acts at t = "),
        (lambda t: push(t - 1, t - 0.5), "acts from"), (lambda t: push(t - 1, t), "acts from"),
        (lambda t: push(t + 0.1, t + 1), "acts from"), (lambda t: push(t + 5, t + 6), "acts from"),
    ],
)  # fmt: skip
@pytest.mark.parametrize("method", METHODS)
def test_pushes_outside_a_run_are_refused(acts, text, t0, method):
    with pytest.raises(vt.InputError, match=f'on "{LINK}" {text}.*begins at t = {t0:g} s and ends at {t0 + 0.1:g} s'):
        run_of([blow(t0 + 0.05), acts(t0)], t0, method=method)


@pytest.mark.parametrize("t0", [0.0, -3.0, 0.7])
@pytest.mark.parametrize("method", METHODS)
def test_pushes_on_the_edges_of_a_run_act_where_they_overlap(method, t0):
    rest = run_of([], t0, method=method)
    first = run_of([blow(t0)], t0, method=method)
    assert first.v[0].tobytes() == rest.v[0].tobytes() and np.abs(first.v[1] - rest.v[1]).max() > 1e-3
    last = run_of([blow(t0 + 0.1)], t0, method=method)
    assert last.q.tobytes() == rest.q.tobytes() and last.v.tobytes() == rest.v.tobytes()
    inside = run_of([push(t0, t0 + 0.1)], t0, method=method)
    for start, end in ((-1.0, 0.1), (0.0, 5.0), (-1e30, 1e30)):
        run = run_of([push(t0 + start, t0 + end)], t0, method=method)
        assert run.q.tobytes() == inside.q.tobytes()
    assert np.abs(inside.q[-1] - rest.q[-1]).max() > 1e-5


@pytest.mark.parametrize("method", METHODS)
def test_a_resumed_run_takes_the_pushes_of_the_run_before(method):
    pushes = [blow(0.03), blow(0.1), push(0.02, 0.05), push(0.08, 0.14)]
    whole = vt.simulate(ARM, duration=0.2, dt=0.01, method=method, wrenches=pushes)
    part = run_of(pushes, method=method)
    rest = part.resume(0.1, wrenches=pushes)
    assert rest.q.tobytes() == whole.q[10:].tobytes()
    with pytest.raises(vt.InputError, match=r"begins at t = 0 s and ends at 0\.2 s"):
        part.resume(0.1, wrenches=[blow(0.21)])
    with pytest.raises(vt.InputError, match="begins at t = 0 s"):
        part.resume(0.1, wrenches=[blow(-0.01)])


def test_a_simulation_refuses_pushes_of_the_past():
    for wrong in (blow(0.99), push(0.5, 1.0)):
        with pytest.raises(vt.InputError, match="the run begins at t = 1 s; give a time within it"):
            vt.Simulation(ARM, dt=0.01, t0=1.0, wrenches=[wrong])
    sim = vt.Simulation(ARM, dt=0.01, t0=1.0, wrenches=[blow(1.0), push(0.5, 1.04), blow(50.0)])
    sim.step(3)
    before = sim.q.tobytes()
    with pytest.raises(vt.InputError, match="the run begins at t = 2 s"):
        sim.reset(t0=2.0)
    assert sim.q.tobytes() == before and sim.t == pytest.approx(1.03)


def test_a_push_that_is_no_sequence_is_told_with_its_article():
    with pytest.raises(vt.InputError, match=r"\[vt.ExternalWrench\(frame, force, torque\)\]"):
        run_of(vt.Impulse(LINK, (0.123456789, 0.23456789, 0.3456789), at=0.0123456789, angular=(1.0, 2.0, 3.0)))
    with pytest.raises(vt.InputError, match=r"wrenches is 3; it must be a sequence of vt\.ExternalWrench"):
        vt.compare(ARM, ["rk4"], ARM.neutral(), duration=0.1, dt=0.01, wrenches=3)
    with pytest.raises(vt.InputError, match=r"wrenches is 3; it must be a sequence of vt\.ExternalWrench"):
        vt.simulate(ARM, duration=0.1, dt=0.01, wrenches=3)
    with pytest.raises(vt.InputError, match=r"\[vt.ExternalWrench\(frame, force, torque\)\]"):
        vt.simulate(ARM, duration=0.1, dt=0.01, wrenches={LINK: np.zeros(6)})


def test_a_state_saved_within_a_push_goes_on_under_it():
    """And one saved before it, after the push has ended, begins it anew."""
    model = vt.load_urdf(vt.find_robot("double_pendulum"))
    push = vt.ExternalWrench(model.link_names[-1], force=(20, 0, 0), start=0.1, end=0.35)
    sim = vt.Simulation(model, model.neutral() + 1.0, dt=0.01, wrenches=[push])
    before = sim.save()
    sim.step(20)
    within, q = sim.save(), sim.q.copy()
    sim.step(40)
    end = sim.q.copy()
    for saved, steps in ((within, 40), (before, 60), (within, 40)):
        sim.restore(saved)
        sim.step(steps)
        np.testing.assert_array_equal(sim.q, end)
    free = vt.simulate(model, q, sim.v, duration=0.4, dt=0.01).q[-1]
    assert np.abs(free - end).max() > 1e-2
