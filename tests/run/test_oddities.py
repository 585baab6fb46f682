"""A trajectory tells what was odd about its run, and so do its files and the command."""

from __future__ import annotations

import dataclasses
import json
import pickle

import numpy as np
import pytest
from closed_chains import REFERENCE, closed_chain
from random_models import chain_flat, pendulum_flat, random_flat, random_state

import vitree as vt
from vitree.cli import main
from vitree.results.series import drift_beyond_band
from vitree.run.outcome import Drivers, most_work
from vitree.run.trajectory import growth_warnings, leap_warnings


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
        vt.simulate(model, q, v, duration=3.0, dt=0.05, method=method, max_halvings=0)
    assert stop.value.time == first and stop.value.trajectory.warnings == ()
    assert vt.Trajectory.load(run.save(tmp_path / "run.npz")).warnings == run.warnings
    # a run that goes on still knows
    rest = run.resume(0.05)
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
    driven = vt.simulate(model, duration=0.1, dt=0.001, control=[1e4])
    damped = vt.Model(dataclasses.replace(model.flat, damping=np.array([300.0])))
    assert driven.warnings == () and vt.simulate(damped, [0.05], duration=0.5, dt=0.001).warnings == ()


def stiffly_damped(**more):
    """A chain whose damping is too stiff for explicit steps of 50 ms."""
    return vt.Model(chain_flat(3, damping=400.0, **more))


@pytest.mark.parametrize("method", ["rk4", "rk8", "explicit-euler"])
@pytest.mark.parametrize("driven", ["damping", "torque", "callable", "feedback", "drives", "inputs", "wrench"])
def test_runs_that_blow_up_are_told_whatever_acts(method, driven):
    """Energies of 1e85 were returned without a word as soon as anything damped or drove."""
    model, more = stiffly_damped(), {}
    if driven == "torque":
        more["control"] = [5.0, -3.0, 1.0]
    elif driven == "callable":
        more["control"] = lambda t, q, v: np.sin(t) * np.ones(3)
    elif driven == "feedback":
        model, more["control"] = vt.Model(chain_flat(3)), lambda t, q, v: -400.0 * v
    elif driven in ("drives", "inputs"):
        model = model.with_drives({"*": (30.0, 1.0)})
        more = {"control": vt.Control(targets=np.full(3, 0.5))} if driven == "inputs" else more
    elif driven == "wrench":
        more["wrenches"] = [vt.ExternalWrench(model.link_names[-1], (1.0, 0, 0))]
    steps = 1
    run = vt.simulate(model, np.full(3, 0.3), duration=0.05, dt=0.05, method=method, **more)
    while steps < 60 and np.abs(run.energy).max() < 1e30:
        steps += 1
        run = vt.simulate(model, np.full(3, 0.3), duration=0.05 * steps, dt=0.05, method=method, **more)
    assert np.abs(run.energy).max() >= 1e30
    assert any("too long" in told for told in run.warnings)
    sound = vt.simulate(model, np.full(3, 0.3), duration=0.2, dt=5e-4, method=method, **more)
    assert sound.warnings == ()


@pytest.mark.parametrize("strikes", [True, False])
def test_energy_that_grows_in_the_first_step_is_told(strikes):
    energies = np.array([[1.0, 0.0], [30.0, 0.0], [30.0, 0.0]])
    assert growth_warnings(energies, np.zeros(3), strikes)[0].startswith("The energy grows by 29 J")
    assert growth_warnings(energies, np.array([0.0, 29.0, 29.0]), strikes) == []


def test_growth_of_rounding_errors_of_what_rests_at_the_height_zero_is_not_told():
    """A picometre of a weight of 10 N is 1e-11 J."""
    for growth, told in ((1e-19, 0), (1e-10, 1)):
        energies = np.array([[0.0, 0.0], [growth, 0.0], [growth, 0.0]])
        assert len(growth_warnings(energies, np.zeros(3), False, 10.0)) == told


def test_growth_within_rounding_of_a_large_potential_is_not_told():
    """At a height of 1e8 J a change of 0.01 J is rounding, and of 1 J is none."""
    for growth, told in ((0.01, 0), (1.0, 1)):
        energies = np.array([[1e-3, 1e8], [1e-3, 1e8 + growth], [1e-3, 1e8 + growth]])
        assert len(growth_warnings(energies, np.zeros(3), False)) == told


BEYOND_THE_BAND = "beyond the band of"
LONG = {"duration": 1200.0, "method": "midpoint"}


@pytest.mark.parametrize("steps, stairs, change", [
    ({"dt": 0.01}, True, 0.0), ({"dt": 0.01}, True, 0.002), ({"dt": 0.005}, False, 0.002),
    ({"dt": 0.01, "order": 4}, False, 0.0)])  # fmt: skip
def test_energy_that_goes_in_stairs_is_told(steps, stairs, change):
    """Johnson & Murphey 2009, Fig. 8, for ten times as long.

    Over eight starts the energy goes up or down by 6 to 19 % of the largest kinetic energy at dt = 0.01 s, by 2.4 % at
    most with order 4, and it stays in its band at half the step.
    """
    model = closed_chain()
    q0 = vt.satisfy_constraints(model, np.array(REFERENCE["closed_chain"]["q0"]) + change)
    run = vt.simulate(model, q0, **LONG, **steps)
    assert len(run.warnings) == stairs
    if stairs:
        (told,) = run.warnings
        words = told.split()
        assert words[2] in ("climbs", "sinks") and BEYOND_THE_BAND in told and "dt, or order=4." in told
        assert 0.8 < float(words[4]) < np.ptp(run.energy) and float(words[words.index("band") + 2]) < 0.5
        # few oscillations are not judged
        assert vt.simulate(model, q0, **{**LONG, "duration": 50.0}, **steps).warnings == ()


@pytest.mark.parametrize("method", ["midpoint", "linear-time", "rk4", "explicit-euler"])
def test_an_instance_of_a_rollout_says_of_its_energy_what_a_run_says(method):
    """Stairs at 0.01 s, nothing at 0.005 s, and an energy that explodes."""
    model, q0 = closed_chain(), np.array(REFERENCE["closed_chain"]["q0"])
    for dt in (0.01, 0.005):
        how = {"duration": 600.0 if method == "midpoint" else 60.0, "dt": dt, "method": method, "record_every": 10}
        try:
            alone = vt.simulate(model, q0, **how).warnings
        except vt.VitreeError:
            continue
        found = vt.rollout(model, np.tile(q0, (2, 1)), **how)
        assert found[1].warnings == alone and bool(alone) >= (method == "midpoint" and dt == 0.01)
    driven = vt.rollout(model, np.tile(q0, (2, 1)), control=np.full(model.nv, 0.5), duration=60.0, dt=0.01)
    assert not any("nothing drives" in told for told in driven[0].warnings)


def test_an_instance_of_a_rollout_says_which_steps_were_taken_in_halves():
    tree = vt.Tree("chain")
    at = tree.world
    for k in range(5):
        at = at.add(vt.rx(f"j{k}"), vt.tz(-0.5), vt.body(f"b{k}", 1.0, (0.02, 0.02, 0.01)), vt.tz(-0.5))
    model, how = tree.compile(), {"duration": 8.0, "dt": 0.02, "method": "linear-time"}
    found = vt.rollout(model, [[0.4] * 5, [0.1] * 5], **how)
    for k, q0 in enumerate(([0.4] * 5, [0.1] * 5)):
        assert found[k].warnings == vt.simulate(model, q0, **how).warnings
    assert "taken in halves" in found[0].warnings[0] and set(found.step_warnings) == {0} and found[1].warnings == ()


@pytest.mark.parametrize("damping, torque", [(1e-6, 0.0), (0.0, 1e-3)])
def test_stairs_up_are_told_of_driven_and_damped_runs(damping, torque):
    """A torque explains its work, and damping that energy falls: nothing explains that it climbs."""
    model = closed_chain()
    model = vt.Model(dataclasses.replace(model.flat, damping=np.full(model.nv, damping)))
    control = np.full(model.nv, torque) if torque else None
    for dt in (0.01, 0.005):
        run = vt.simulate(model, REFERENCE["closed_chain"]["q0"], dt=dt, control=control, **LONG)
        told = "".join(run.warnings)
        assert told.startswith("The energy less the work done on the system climbs by") == (dt == 0.01), (dt, told)
        assert bool(told) == (dt == 0.01)


def shaken(t, q, v):
    return np.r_[0.5 * np.sin(3 * t), np.zeros(len(v) - 1)]


def test_stairs_under_a_torque_that_is_a_function_are_told():
    """By the work of the torques that steps have asked for: at 0.01 s stairs are told of half of the starts."""
    model = closed_chain()
    rng = np.random.default_rng(0)
    for dt in (0.01, 0.005):
        told = []
        for _ in range(8):
            q0 = np.array(REFERENCE["closed_chain"]["q0"]) + rng.normal(scale=1e-3, size=model.nq)
            run = vt.simulate(model, vt.satisfy_constraints(model, q0), dt=dt, control=shaken, duration=300.0)
            assert dt == 0.01 or run.warnings == ()
            told += [words for words in run.warnings if words.startswith("The energy less the work done on the system")]
        assert bool(told) == (dt == 0.01), (dt, told)


@pytest.mark.parametrize("method", ["linear-time", "midpoint"])
def test_the_work_of_functions_explains_the_energy_to_order_two(method, monkeypatch):
    """Of torques on joints of every kind, and of inputs."""
    found = []
    monkeypatch.setattr("vitree.run.outcome.SLACK", 0.0)
    monkeypatch.setattr("vitree.run.outcome.most_work", lambda *given: found.append(most_work(*given)) or found[-1])
    rng = np.random.default_rng(3)
    flat = random_flat(rng, 4, kinds=("revolute", "ball", "prismatic"), base="free")
    flat = dataclasses.replace(flat, loads=(vt.JointForce(flat.joints[-1].name, "push"),))
    model, (q, v) = vt.Model(flat), random_state(flat, rng, 1.0)
    gains = rng.uniform(1.0, 2.0, model.nv)
    given = {"torque": lambda t, q, v: gains * (np.cos(4 * t) - 0.3 * v), "inputs": lambda t, q, v: [np.sin(5 * t)]}
    left = []
    for dt in (4e-3, 2e-3, 1e-3):
        run = vt.simulate(model, q, v, dt=dt, method=method, duration=1.0, control=vt.Control(**given))
        assert run.warnings == ()
        unexplained = run.energy - found[-1]
        left.append(np.abs(unexplained - unexplained[0]).max())
    assert np.ptp(run.energy) > 1e3 * left[-1]
    assert left[0] / left[1] > 3 and left[1] / left[2] > 3, left


@pytest.mark.parametrize("seed", range(8))
def test_what_regulators_give_and_take_is_not_told(seed):
    """Of functions that hold robots by springs and dampers, for many of their periods."""
    rng = np.random.default_rng(seed)
    flat = [chain_flat(4), random_flat(rng, 4, kinds=("revolute", "prismatic"))][seed % 2]
    model, (q, v) = vt.Model(flat), random_state(flat, rng, 2.0)
    kp, kd = rng.uniform(5.0, 20.0, model.nv), rng.uniform(0.0, 0.5, model.nv)

    def held(t, q, v):
        return kp * (0.3 * np.sin(2 * t) - q) - kd * v

    method = ("linear-time", "midpoint")[seed // 2 % 2]
    for dt in (5e-3, 1e-3):
        run = vt.simulate(model, q, v, dt=dt, duration=30.0, method=method, control=held)
        assert not [told for told in run.warnings if BEYOND_THE_BAND in told or "grows" in told], run.warnings


@pytest.mark.parametrize("seed", range(40))
def test_flat_bands_are_not_told(seed):
    """Of random mechanisms, short and long, at steps that the motion allows."""
    rng = np.random.default_rng(seed)
    flat = [
        lambda: random_flat(rng, int(rng.integers(1, 5)), kinds=("revolute", "ball")),
        lambda: random_flat(rng, int(rng.integers(1, 5)), kinds=("revolute", "ball"), base="free", gravity=(0, 0, 0)),
        lambda: chain_flat(int(rng.integers(1, 6))), lambda: pendulum_flat(int(rng.integers(1, 4)), inertia=0.1),
    ][seed % 4]()  # fmt: skip
    model, (q, v) = vt.Model(flat), random_state(flat, rng, 2.0)
    for steps in (100, 1000, 20000):
        method = ("linear-time", "midpoint")[seed // 4 % 2]
        run = vt.simulate(model, q, v, duration=2e-3 * steps, dt=2e-3, method=method)
        assert not [told for told in run.warnings if BEYOND_THE_BAND in told], (steps, run.warnings)


def test_bands_of_energies():
    """Of given energies: what oscillates, beats and wanders within its band; what leaves it."""
    t = np.linspace(0.0, 1.0, 20001)

    def told(energy, kinetic=None, **more):
        kinetic = 1.0 + np.cos(2 * np.pi * 300 * t[: len(energy)]) if kinetic is None else kinetic
        return drift_beyond_band(kinetic, energy, **more)

    wave = 0.1 * np.sin(2 * np.pi * 300 * t)
    assert told(wave) is None and told(wave * (1.0 + np.cos(2 * np.pi * t))) is None  # beats swing through a level
    assert told(wave + 0.1 * t) is None  # less than the band
    climb = told(wave + t)
    assert 0.6 < climb.size < 1.0 - climb.band and 0.15 < climb.band < 0.3
    assert told(wave + (t > 0.5)).size == pytest.approx(1.0 - climb.band, abs=0.1)
    assert told(wave - t).size == pytest.approx(-climb.size, rel=1e-2)
    assert told(wave - t, climbs_only=True) is None and told(wave + t, climbs_only=True).size == climb.size
    # what falls may not come back up
    assert told(wave - t + 2.0 * (t > 0.8), climbs_only=True).size > 1.0
    # few oscillations do not tell a climb from a part of one
    assert told((wave + t)[:4000]) is None and told(t, np.cos(30 * t)) is None


def test_the_most_work_of_forces_and_torques():
    """A force and a torque along a rail give F times the way; a torque on a ball joint no more than |v|.|tau|."""
    tree = vt.Tree("cart")
    tree.world.add(vt.tx("x"), vt.body("cart", 2.0, (0.1,) * 3), vt.ball("b"), vt.body("top", 1.0, (0.1, 0.2, 0.3)))
    tree.load(vt.JointForce("x", 3.0))
    model, t = tree.compile(), np.array([0.0, 0.1, 0.4])
    q, v = np.tile(model.neutral(), (3, 1)), np.array([[0, 1, 2, 3], [0, 0, -1, 2], [1, 2, 0, 0.0]])
    q[:, 0] = 0.0, 0.2, 0.1
    drivers = Drivers(np.array([4.0, 1.0, 2.0, -3.0]), None, False, None)
    along, turning = 7.0 * np.array([0.2, -0.1]), np.array([(14 + 8) * 0.1, (8 + 2) * 0.3])
    expected = np.append(0.0, np.cumsum(along + turning))
    np.testing.assert_allclose(most_work(model, drivers, t, q, v, 1), expected, rtol=1e-13)


def test_the_work_of_what_does_not_follow_from_records_is_not_known():
    model, t = vt.Model(chain_flat(2)), np.array([0.0, 0.1])
    q, v, idle = np.zeros((2, 2)), np.zeros((2, 2)), Drivers(None, None, False, None)
    assert most_work(model, idle, t, q, v, 1) is not None
    pushed = vt.Model(dataclasses.replace(model.flat, loads=(vt.Wrench(model.link_names[-1], force=(1, 0, 0)),)))
    for known, drivers in ((pushed, idle), (model, idle._replace(others=True)),
                           (model, idle._replace(torque=lambda t, q, v: 0 * v))):  # fmt: skip
        assert most_work(known, drivers, t, q, v, 1) is None


def test_the_work_of_what_acts_explains_the_energy():
    """Of drives with limits and targets that jump, constant torques and forces, and damping."""
    model = vt.Model(chain_flat(3, damping=0.5)).with_drives({"*": (300.0, 5.0)})
    rows = np.where(np.arange(400)[:, None] % 100 < 50, 1.0, -1.0) * np.ones(3)
    for method in ("linear-time", "midpoint", "rk4", "gauss"):
        pumped = lambda t, q, v: 30 * np.sign(v + 0.1)  # noqa: E731
        for more in ({"control": vt.Control(targets=rows)}, {"control": [40.0, -20.0, 5.0]}, {"control": pumped}):
            run = vt.simulate(model, np.full(3, 0.3), duration=2.0, dt=5e-3, method=method, **more)
            assert run.warnings == (), (method, more)


def test_the_command_tells(tmp_path, capsys):
    out = tmp_path / "run.npz"
    arguments = ["simulate", "double_pendulum", "--q0", "1,1", "--v0", "12,-24", "--duration", "3", "--dt", "0.05",
                 "-o", str(out)]  # fmt: skip
    assert main(arguments) == 0
    told = capsys.readouterr()
    assert "warning: " in told.err and "steps could not be solved at their full length" in told.err
    assert main([*arguments, "--json"]) == 0
    assert "in halves" in json.loads(capsys.readouterr().out)["warnings"][0]


# ---- limits of joints --------------------------------------------------------------------------------------


def bounded(limits="report", **more):
    """A cart on a rail with stops at 0.3 m, and a hinge with one at 0.2 rad."""
    tree = vt.Tree("bounded")
    cart = tree.world.add(vt.tx("rail", lower=-0.3, upper=0.3), vt.body("cart", 1.0, (0.1,) * 3))
    arm = cart.add(vt.ry("hinge", upper=0.2), vt.tz(-0.5), vt.body("arm", 1.0, (0.1,) * 3))
    arm.add(vt.ry("free"), vt.tz(-0.5), vt.body("hand", 1.0, (0.1,) * 3))
    tree.limits = limits
    return tree.compile()


@pytest.mark.parametrize("method", ["linear-time", "midpoint", "rk4", "semi-implicit-euler", "scipy-dop853"])
@pytest.mark.parametrize("every", [1, 7])
def test_limits_that_a_run_passes_are_told(method, every, tmp_path):
    model = bounded()
    run = vt.simulate(model, v0=[2.0, 0.0, 0.0], duration=0.42, dt=2e-3, method=method, record_every=every)
    (told,) = run.warnings
    most, first = run.q[:, 0].max() - 0.3, run.t[np.flatnonzero(run.q[:, 0] > 0.3 + 1e-9)[0]]
    assert f'"rail" exceeds 0.3 m by {most:.3g} m, first at t = {first:.6g} s' in told
    high = run.q[:, 1].max() - 0.2
    assert ('"hinge"' in told) == (high > 0) and '"free"' not in told and 'limits="enforce"' in told
    assert ", 1 warning: .warnings>" in repr(run)
    assert vt.Trajectory.load(run.save(tmp_path / "run.npz")).warnings == run.warnings
    assert vt.simulate(bounded("ignore"), v0=[2.0, 0.0, 0.0], duration=0.42, dt=2e-3, method=method).warnings == ()
    assert vt.simulate(model, v0=[2.0, 0.0, 0.0], duration=0.042, dt=2e-3, method=method).warnings == ()


def test_enforced_limits_hold_and_are_not_told():
    run = vt.simulate(bounded("enforce"), v0=[2.0, 0.0, 0.0], duration=0.6, dt=2e-3)
    assert run.q[:, 0].max() <= 0.3 + 1e-11 and run.q[:, 1].max() <= 0.2 + 1e-11 and run.warnings == ()
    assert "warning" not in repr(run)


@pytest.mark.parametrize(
    "at, told", [(0.3, ""), (0.3 + 1e-12, ""), (-0.31, "exceeds -0.3 m by 0.01 m, from the start")]
)
def test_a_start_beyond_a_limit_is_told(at, told):
    run = vt.simulate(bounded(), [at, 0.0, 0.0], duration=0.01, dt=1e-3)
    assert told in "".join(run.warnings) and bool(run.warnings) == bool(told)


def test_the_joints_farthest_beyond_their_range_are_named_first():
    """A finger of 4 cm that slides by metres comes before a joint that turns by more radians."""
    model = vt.load_urdf(vt.find_robot("panda"))
    run = vt.simulate(model, duration=2.0, dt=1e-3, control=np.append(np.zeros(model.nv - 1), 2.0))
    told, speeds = run.warnings
    assert speeds.startswith("4 joints exceed their velocity limits") or "velocity limit" in speeds
    assert told.split(": ")[1].startswith('"panda_finger_joint1" exceeds 0.04 m by')
    assert "finger_joint2" not in told and "; and 1 more. " in told and told.startswith("7 joints exceed their limits")
    full = vt.simulate(model.full, duration=2.0, dt=1e-3, control=np.append(np.zeros(model.nv - 1), [2.0, 0.0]))
    assert full.warnings == run.warnings


def test_a_held_run_and_pairs_of_several_coordinates():
    tree = vt.Tree("table")
    tree.world.add(vt.cylindrical("slide", (0, 0, 1)), vt.body("cup", 1.0, (0.1,) * 3))
    model = tree.compile()
    joints = tuple(dataclasses.replace(joint, lower=(-0.1, -0.2), upper=(0.1, 0.2)) for joint in model.joints)
    model = vt.Model(dataclasses.replace(model.flat, joints=joints))
    sim = vt.Simulation(model, v0=[1.0, 1.0], dt=1e-2, record_every=1)
    sim.step(50)
    (told,) = sim.trajectory.warnings
    assert told.startswith("2 joints exceed their limits") and "0.1" in told and "-0.1" in told


def test_a_comparison_tells_limits_once():
    model = bounded()
    found = vt.compare(model, ["linear-time", "rk4"], np.zeros(3), [2.0, 0, 0], duration=0.4, dt=[2e-3, 4e-3],
                       reference=False)  # fmt: skip
    (note,) = (note for note in found.notes if "limit" in note)
    first = found.trajectories["linear-time", 2e-3].warnings[0]
    assert note == f"In linear-time, dt = 0.002 s and 3 more runs: {first}"
    found = vt.compare(bounded("ignore"), ["rk4"], np.zeros(3), [2.0, 0, 0], duration=0.4, dt=2e-3, reference=False)
    assert not [note for note in found.notes if "limit" in note]


def test_the_command_tells_limits(tmp_path, capsys, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert main(["simulate", "arm6", "--duration", "0.5", "--v0", ",".join(["8"] * 6), "--notes"]) == 0
    assert "vitree: warning: " in (err := capsys.readouterr().err) and "exceed their limits" in err
    assert "read or build the robot with --limits enforce" in err
    for word in ("ignore", "enforce"):
        assert main(["simulate", "arm6", "--duration", "0.5", "--v0", ",".join(["8"] * 6), "--limits", word]) == 0
        err = capsys.readouterr().err
        assert "exceed their limits" not in err and ("exceed their velocity limits" in err) == (word == "enforce")


@pytest.mark.parametrize("second, told", [(2.0, True), (2e4, False)])
def test_speeds_are_absurd_against_the_faster_of_the_first_two_records(second, told):
    """A blow at the start, from rest, is no sign of long steps."""
    assert bool(leap_warnings(1.0, np.array([[0.0], [second], [3e4]]))) == told


# ---- distances that are used as strings --------------------------------------------------------------------

#: Rates [m/s] at the bottom with which a ball on a string of 1 m comes to the height of the hinge, and over the top.
LEVEL, OVER = np.sqrt(2 * 9.81), np.sqrt(5 * 9.81)
METHODS = [("linear-time", {}), ("midpoint", {}), ("midpoint", {"order": 4}), ("rk4", {}), ("scipy-dop853", {})]


def hung(length=1.0):
    """A ball of 2 kg on a string from the world's origin, in a plane; the string may be let out."""
    tree = vt.Tree("hung")
    tree.world.add(vt.tx("x"), vt.tz("z"), vt.body("ball", 2.0))
    if isinstance(length, str):
        tree.world.add(vt.tz(length, kinematic=True))
    tree.constrain(vt.Distance("world", "ball", length, label="string"))
    return tree


def swung(rate, **more):
    """Arguments of a run that starts at the bottom with a rate [m/s]."""
    return {"q0": [0.0, -1.0], "v0": [rate, 0.0], "duration": 2.0, "dt": 0.01, **more}


@pytest.mark.parametrize("method, options", METHODS)
def test_a_distance_that_pulls_and_pushes_is_told(method, options, tmp_path):
    model, options = hung().compile(), {"method": method, **options}
    run = vt.simulate(model, **swung(1.2 * LEVEL), **options)
    tension = 2.0 * ((run.v**2).sum(axis=1) - 9.81 * run.q[:, 1])
    pushes, force = run.multipliers[:, 0] > 0, np.nanmax(run.multipliers)
    first = run.t[pushes.argmax()]
    assert first == pytest.approx(run.t[(tension < 0).argmax()], abs=0.0101)
    assert force == pytest.approx(-tension.min(), rel=0.02)
    (told,) = run.warnings
    assert told.startswith(f"The string is in tension and in compression: it pushes with up to {force:.3g} N, first in "
                           f"the record at t = {first:.6g} s. A vt.Distance is a rigid rod")  # fmt: skip
    assert vt.Trajectory.load(run.save(tmp_path / "run.npz")).warnings == run.warnings


@pytest.mark.parametrize("method, options", METHODS)
def test_a_distance_that_only_pulls_is_not_told(method, options):
    model, options = hung().compile(), {"method": method, **options}
    for rate in (0.0, 0.9 * LEVEL, 1.05 * OVER):
        run = vt.simulate(model, **swung(rate), **options)
        assert np.nanmax(run.multipliers) < 0 and run.warnings == ()
    # at rest at the height of the hinge, which it comes back to: without a force there
    run = vt.simulate(model, [1.0, 0.0], duration=3.0, dt=0.01, **options)
    assert np.nanmax(run.multipliers) > -0.1 and run.warnings == ()


@pytest.mark.parametrize("gravity, sign", [(-9.81, 1.0), (9.81, -1.0)])
def test_a_strut_and_a_tie_are_not_told(gravity, sign):
    tree = vt.Tree("beam", gravity=(0, 0, gravity))
    tree.world.add(vt.ry("hinge"), vt.tx(1.0), vt.body("beam", 3.0))
    tree.world.add(vt.tz(-1.0), vt.frame("foot"))
    tree.constrain(vt.Distance("foot", "beam", np.sqrt(2.0)))
    run = vt.simulate(tree.compile(), duration=0.2, dt=0.01)
    assert np.sign(run.multipliers[1:, 0]).tolist() == [sign] * 20 and run.warnings == ()


@pytest.mark.parametrize("method", ["linear-time", "midpoint"])
def test_a_force_of_rounding_has_no_sign(method):
    """Two bodies that spin about their centres: the distance between these has nothing to hold."""
    tree = vt.Tree("spinning", gravity=(0, 0, 0))
    for name in ("a", "b"):
        tree.world.add(vt.free(f"{name}_free"), vt.body(name, 1.3, (0.1, 0.2, 0.3)))
    tree.constrain(vt.Distance("a", "b", 0.7))
    model, rng = tree.compile(), np.random.default_rng(1)
    q0 = vt.satisfy_constraints(model, model.integrate(model.neutral(), rng.normal(size=12)))
    for size in (1.0, 1e3):
        v0 = size * np.tile([0, 0, 0, 0.1, 0.2, 0.3], 2)
        run = vt.simulate(model, q0, v0, duration=1.0, dt=1e-3, method=method)
        assert np.nanmin(run.multipliers) < 0 < np.nanmax(run.multipliers) < 1e-6 * size and run.warnings == ()


def test_each_distance_is_told_once_and_points_are_not():
    tree = vt.Tree("two strings")
    tree.world.add(vt.tx("x1"), vt.tz("z1"), vt.body("one", 1.0))
    tree.world.add(vt.tx("x2"), vt.tz("z2"), vt.body("two", 1.0))
    tree.constrain(vt.Distance("world", "one", 1.0), vt.Distance("one", "two", 1.0))
    run = vt.simulate(tree.compile(), [0, -1, 0, -2], [4.0, 0, 9.0, 0], duration=2.0, dt=5e-3)
    names = [text.partition(" is ")[0] for text in run.warnings]
    assert names == ['The distance "world" - "one"', 'The distance "one" - "two"']
    points = vt.simulate(closed_chain(), REFERENCE["closed_chain"]["q0"], duration=1.0, dt=0.01)
    assert (np.nanmin(points.multipliers, axis=0) < 0).any() and (np.nanmax(points.multipliers, axis=0) > 0).any()
    assert points.warnings == ()


def test_strings_of_simulations_and_of_lengths_that_change():
    sim = vt.Simulation(hung().compile(), [0.0, -1.0], [1.2 * LEVEL, 0.0], dt=0.01)
    for _ in range(100):
        sim.step(2)
        sim.record()
    tree = hung("length")
    drawn = vt.simulate(tree.compile(), [0.0, -1.0, 1.0], [1.2 * LEVEL, 0.0, 0.0], duration=1.0, dt=0.01,
                        control=vt.Control(prescribed={"length": lambda t: 1.0 + 0.1 * t**2}))  # fmt: skip
    for run in (sim.trajectory, drawn):
        assert [text.partition(" in compression")[0] for text in run.warnings] == ["The string is in tension and"]


def test_pickles_without_their_system_still_tell():
    """A class inside a function cannot be pickled."""

    class Nothing(vt.Force):
        def force(self, model, t, q, v, u):
            return np.zeros(model.nv)

    tree = hung()
    tree.load(Nothing())
    run = vt.simulate(tree.compile(), **swung(1.2 * LEVEL))
    again = pickle.loads(pickle.dumps(run))
    assert run.system is not None and again.system is None and len(again.warnings) == 1
    assert again.warnings == run.warnings
