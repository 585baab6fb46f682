"""A trajectory tells what was odd about its run, and so do its files and the command."""

from __future__ import annotations

import dataclasses
import json

import numpy as np
import pytest

import vitree as vt
from vitree.cli import main


def spun():
    model = vt.load_urdf(vt.find_robot("double_pendulum"))
    return model, model.neutral() + 1.0, [12.0, -24.0]


@pytest.mark.parametrize("method", ["linear-time", "midpoint"])
def test_steps_in_halves_are_told_with_their_times(method, tmp_path):
    model, q, v = spun()
    run = vt.simulate(model, q, v, duration=3.0, dt=0.05, method=method)
    (told,) = run.warnings
    assert told.startswith(f"{run.settings['halved']} of 60 steps") and "in halves" in told
    first = float(told.partition("the first at t = ")[2].split()[0])
    assert first in run.t and first < 3.0
    # up to there the run is the same without halves, which ends there
    with pytest.raises(vt.ConvergenceError) as stop:
        vt.simulate(model, q, v, duration=3.0, dt=0.05, method=method, halvings=0)
    assert stop.value.time == first and stop.value.trajectory.warnings == ()
    assert vt.Trajectory.load(run.save(tmp_path / "run.npz")).warnings == run.warnings
    # a run that goes on still knows
    rest = vt.simulate(model, duration=0.05, resume=run)
    assert len(rest.warnings) == 1 and f"the first at t = {first:.9g} s" in rest.warnings[0]


def test_chains_of_balls_that_midpoint_halves_are_told():
    """Each step of 100 thrown links took 70 iterations and more; linear-time solves them whole."""
    tree = vt.Tree("thrown")
    at = tree.world
    for k in range(100):
        link = vt.body(f"link{k}", 1.0, com=(0, 0, -0.5), inertia=(1 / 12, 1 / 12, 1e-3))
        at = at.add(vt.ball(f"j{k}") if k else vt.free("root"), link, vt.tz(-1.0))
    model, rng = tree.compile(), np.random.default_rng(0)
    q, v = model.integrate(model.neutral(), 0.3 * rng.normal(size=model.nv)), 0.3 * rng.normal(size=model.nv)
    run = vt.simulate(model, q, v, duration=0.005, dt=0.001, method="midpoint")
    assert [text.partition(" could")[0] for text in run.warnings] == ["5 of 5 steps"]
    assert vt.simulate(model, q, v, duration=0.005, dt=0.001).warnings == ()


def test_a_sound_run_has_no_warnings():
    model, q, _ = spun()
    for method in ("linear-time", "midpoint", "rk4"):
        assert vt.simulate(model, q, duration=1.0, dt=0.01, method=method).warnings == ()
    assert vt.simulate(model, duration=0.1, dt=0.01).warnings == ()  # at rest


def stiff():
    """A mass on a spring of 440 rad/s: at 5 ms linear-time, which takes springs at the nodes, is not stable."""
    tree = vt.Tree("stiff")
    tree.world.add(vt.tx("x"), vt.body("mass", 1.0))
    tree.load(vt.JointSpring("x", 440.0**2, 0.0))
    return tree.compile()


def test_energy_that_explodes_is_told():
    """A spring of h omega = 2.2 took 242 J to 719,459 J without a word."""
    model = stiff()
    run = vt.simulate(model, [0.05], duration=0.1, dt=0.005)
    assert np.ptp(run.energy) > 1e4 and "The energy changes by up to" in run.warnings[-1]
    assert vt.simulate(model, [0.05], duration=0.1, dt=0.005, method="midpoint").warnings == ()
    assert vt.simulate(model, [0.05], duration=0.1, dt=0.001).warnings == ()
    # a torque may change the energy, and so may damping
    driven = vt.simulate(model, duration=0.1, dt=0.001, torque=[1e4])
    damped = vt.Model(dataclasses.replace(model.flat, damping=np.array([300.0])))
    assert driven.warnings == () and vt.simulate(damped, [0.05], duration=0.5, dt=0.001).warnings == ()


def test_the_command_tells(tmp_path, capsys):
    out = tmp_path / "run.npz"
    arguments = ["simulate", "double_pendulum", "--q0", "1,1", "--v0", "12,-24", "--duration", "3", "--dt", "0.05",
                 "-o", str(out)]  # fmt: skip
    assert main(arguments) == 0
    told = capsys.readouterr()
    assert "warning: " in told.err and "steps could not be solved whole" in told.err
    assert main([*arguments, "--json"]) == 0
    assert "in halves" in json.loads(capsys.readouterr().out)["warnings"][0]
