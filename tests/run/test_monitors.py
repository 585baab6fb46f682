"""Monitors: what is kept of every step is what a record of each step says."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from loaded_models import constrained_tree
from random_models import chain_flat

import vitree as vt
from vitree.integrators.compiled import CompiledIntegrator
from vitree.run.monitors import MONITORS

COMPILED = [name for name, kind in vt.METHODS.items() if issubclass(kind, CompiledIntegrator)]


def run_of(method, **more):
    model, q, v = constrained_tree(2, nbody=8, speed=0.5)
    if method == "gauss":  # knows no constraints
        model = vt.Model(replace(model.flat, constraints=()))
    return vt.simulate(model, q, v, duration=0.12, dt=0.002, method=method, **more)


@pytest.mark.parametrize("method", COMPILED)
def test_monitors_are_what_records_of_every_step_say(method):
    full = run_of(method)
    names = [name for name in MONITORS if name != "error" or vt.METHODS[method].estimates]
    run = run_of(method, record_every=7, monitors=names)
    assert list(run.monitors) == ["t", *names] and len(run) == 9
    expected = {
        "t": full.t, "energy": full.energy, "momentum": full.momentum, "residual": full.residual,
        "iterations": full.iterations, "constraint": np.abs(full.constraint).max(axis=1, initial=0.0),
    }  # fmt: skip
    for name, values in expected.items():
        assert np.array_equal(run.monitors[name], values[1:]), name
    assert run.monitors["contraction"].shape == (60,)
    # and the records are those of a run without monitors
    plain = run_of(method, record_every=7)
    for name in ("t", "q", "v", "p", "iterations", "residual"):
        assert getattr(run, name).tobytes() == getattr(plain, name).tobytes(), name
    assert run.multipliers[1:].tobytes() == plain.multipliers[1:].tobytes()
    assert np.array_equal(run.checkpoint, plain.checkpoint)
    assert plain.monitors == {}


@pytest.mark.parametrize("method", ["linear-time", "midpoint"])
def test_contraction_is_the_ratio_of_the_last_residuals(method):
    """With one correction a step it is the residual over that of the guess; with none, NaN."""
    model = vt.Model(chain_flat(5))
    run = vt.simulate(model, np.linspace(0.1, 0.9, 5), duration=1.0, dt=0.002, method=method, solver="modified-newton",
                      monitors=("iterations", "contraction"))  # fmt: skip
    corrections, contraction = run.monitors["iterations"], run.monitors["contraction"]
    assert np.array_equal(np.isnan(contraction), corrections == 0)
    assert (contraction[corrections > 0] > 0).all() and np.nanmedian(contraction) < 0.05


def test_one_name_will_do_and_others_are_refused():
    model = vt.Model(chain_flat(2))
    assert list(vt.simulate(model, duration=0.1, dt=0.01, monitors="energy").monitors) == ["t", "energy"]
    with pytest.raises(vt.UnknownNameError, match='did you mean "momentum"'):
        vt.simulate(model, duration=0.1, dt=0.01, monitors=["momentun"])
    with pytest.raises(vt.InputError, match=r"linear-time does not estimate its error\. Methods that do: gauss"):
        vt.simulate(model, duration=0.1, dt=0.01, monitors="error")
    with pytest.raises(vt.InputError, match="own steps"):
        vt.simulate(model, duration=0.1, dt=0.01, monitors="energy", method="scipy-rk45")


def test_a_run_that_fails_keeps_what_was_watched(tmp_path):
    model = vt.Model(chain_flat(3))

    def blow(t, q, v):
        return np.full(3, 0.1 if t < 0.3 else 1e9)

    with pytest.raises(vt.ConvergenceError) as failure:
        vt.simulate(model, np.full(3, 0.3), duration=1.0, dt=0.01, control=blow, record_every=4, max_halvings=0,
                    monitors=("energy", "iterations"))  # fmt: skip
    run = failure.value.trajectory
    assert len(run.monitors["energy"]) == run.steps == len(run.monitors["t"]) > 20
    assert len(run) == 1 + run.steps // 4
    again = vt.Trajectory.load(run.save(tmp_path / "run.npz"))
    for name, values in run.monitors.items():
        assert again.monitors[name].tobytes() == values.tobytes()
    assert run.monitors["energy"][3::4].tobytes() == run.energy[1:].tobytes()


@pytest.mark.parametrize("more", [{"order": 4}, {"max_halvings": 2}, {"dt": np.full(60, 0.002), "duration": None}])
def test_compositions_and_steps_of_any_size_are_watched(more):
    model, q, v = constrained_tree(2, nbody=8, speed=0.5)
    options = {"duration": 0.12, "dt": 0.002, **more}
    full = vt.simulate(model, q, v, **options)
    run = vt.simulate(model, q, v, record_every=60, monitors=("energy", "iterations", "constraint"), **options)
    assert run.monitors["energy"].tobytes() == full.energy[1:].tobytes()
    assert np.array_equal(run.monitors["iterations"], full.iterations[1:])


def test_steps_that_pushes_part_are_watched_whole():
    model = vt.load_urdf(vt.find_robot("double_pendulum"))
    push = vt.ExternalWrench(model.link_names[-1], force=(20, 0, 0), start=0.103, end=0.357)
    given = {"q0": model.neutral() + 1.0, "duration": 0.6, "dt": 0.01, "wrenches": [push]}
    full = vt.simulate(model, **given)
    run = vt.simulate(model, **given, record_every=7, monitors=("energy", "iterations"))
    assert len(full) == 61 and np.array_equal(run.monitors["energy"], full.energy[1:])
    assert np.array_equal(run.monitors["iterations"], full.iterations[1:])


@pytest.mark.parametrize("step", [0, 15])
@pytest.mark.parametrize("method", ["linear-time", "midpoint", "rk4"])
def test_contacts_of_steps_that_pushes_part_act_where_the_parts_begin(method, step):
    """A crate slides while a trace of a push begins and ends within a step."""
    tree = vt.Tree("crate")
    tree.world.add(vt.free("joint"), vt.body("crate", 2.0, (0.02, 0.02, 0.02)))
    tree.contact(vt.Contact("crate", shapes=[vt.Box((0.2, 0.2, 0.2))], friction=0.5), vt.Ground(friction=0.5))
    model = tree.compile()
    q, v = model.neutral(), [2.0, 0, 0, 0, 0, 0]
    q[2] = 0.1
    push = vt.ExternalWrench("crate", force=(1e-9, 0, 0), start=step / 100 + 0.003, end=step / 100 + 0.007)
    given = {"duration": 0.2, "dt": 0.01, "record_every": 5, "method": method}
    given["monitors"] = ("contact_work", "momentum_balance")
    plain, parted = (vt.simulate(model, q, v, **given, wrenches=pushes).monitors for pushes in ((), (push,)))
    assert np.abs(parted["momentum_balance"]).max() < 1e-11
    work, in_parts = plain["contact_work"], parted["contact_work"]
    here = slice(step, step + 2)
    np.testing.assert_allclose(np.delete(in_parts, here), np.delete(work, here), atol=1e-9)
    assert in_parts[step] < 1.3 * work[step] and in_parts[here].sum() == pytest.approx(work[here].sum(), rel=1e-9)


@pytest.mark.parametrize("steps", [60, 3000])
def test_a_watched_run_keeps_what_drove_it(steps):
    """A torque that is a function, in one piece and in several; and one that is constant at each record."""
    model = vt.Model(chain_flat(2))
    given = {"q0": [0.5, 0.2], "duration": 0.01 * steps, "dt": 0.01, "record_every": 7}
    moving = {"control": lambda t, q, v: np.array([np.sin(30 * t), np.cos(9 * t)])}
    plain, watched = (vt.simulate(model, **given, **moving, **more) for more in ({}, {"monitors": "energy"}))
    np.testing.assert_array_equal(watched.drive.torque, plain.drive.torque)
    assert np.ptp(plain.drive.torque, axis=0).min() > 1.0
    steady = vt.simulate(model, **given, control=[0.1, -0.2], monitors="energy")
    np.testing.assert_array_equal(steady.drive.torque, np.tile([0.1, -0.2], (len(steady), 1)))


def test_long_runs_are_watched_in_pieces():
    """More steps than are looked at in one go, by a stride that does not divide them."""
    model, q = vt.Model(chain_flat(1)), np.array([0.5])
    full = vt.simulate(model, q, duration=50.0, dt=0.01)
    run = vt.simulate(model, q, duration=50.0, dt=0.01, record_every=13, monitors="energy")
    assert run.monitors["energy"].tobytes() == full.energy[1:].tobytes()
    assert run.q.tobytes() == full.q[::13].tobytes()


@pytest.mark.parametrize("order", [2, 4])
@pytest.mark.parametrize("method", ["linear-time", "midpoint"])
def test_the_certificate_shows_how_far_joints_turn_and_how_near_the_prediction_they_end(method, order):
    model = vt.Model(chain_flat(4))
    q, dt = np.array([2.0, 1.0, 0.5, -0.5]), 0.05
    run = vt.simulate(model, q, duration=5.0, dt=dt, method=method, order=order, monitors="certificate", max_halvings=0)
    turn, distance = run.monitors["certificate"].T
    moved = np.abs(np.diff(run.q, axis=0)).max(axis=1)
    if order == 2:
        assert turn == pytest.approx(moved, abs=1e-12)
    assert (turn > 0.2 * moved).all() and (turn < moved + 0.2).all()
    asked = ~np.isnan(distance)
    assert np.array_equal(asked, turn >= 0.3) and asked.any() == (order == 2) and not asked.all()
    if order == 2:
        for k in np.flatnonzero(asked):
            hv, hha = dt * run.v[k], dt**2 * model.forward_dynamics(run.q[k], run.v[k])[0]
            off = np.abs(np.diff(run.q[k : k + 2], axis=0)[0] - hv - hha / 2).max()
            bound = max(np.abs(hv).max() ** 2, np.abs(hha).max())
            assert distance[k] == pytest.approx(off / min(0.5, 0.5 * bound), rel=1e-6) or (
                distance[k] == pytest.approx(off / min(0.5, bound), rel=1e-6))  # the second solve is asked for less


def test_methods_that_certify_nothing_show_nothing():
    run = run_of("rk4", monitors="certificate")
    assert np.isnan(run.monitors["certificate"]).all() and run.monitors["certificate"].shape == (60, 2)


def thrown(shape):
    """A body that falls on the ground, tumbles and slides: its model, configuration and velocity."""
    tree = vt.Tree("thrown")
    tree.world.add(vt.free("joint"), vt.body("thing", 1.0, (0.01, 0.02, 0.015)))
    tree.contact(vt.Contact("thing", shapes=[shape], friction=0.4, restitution=0.3), vt.Ground(friction=0.4))
    model = tree.compile()
    q = model.neutral()
    q[2], q[3:] = 0.3, [0.5, 0.5, -0.5, 0.5]
    return model, q, [1.0, 0.5, 0.0, 3.0, -2.0, 1.0]


@pytest.mark.parametrize("method", ["linear-time", "midpoint", "rk4"])
@pytest.mark.parametrize("shape", [vt.Box((0.2, 0.3, 0.1)), vt.Sphere(0.1), vt.Capsule(0.05, 0.2), vt.Disk(0.1)])
def test_monitors_of_contacts_go_on_where_a_run_is_resumed(shape, method):
    model, q, v = thrown(shape)
    given = {"dt": 2e-3, "method": method, "monitors": ("gap", "contact_work", "momentum_balance")}
    whole = vt.simulate(model, q, v, duration=0.8, **given)
    assert len(whole.contacts.number) > 50
    sparse = vt.simulate(model, q, v, duration=0.8, record_every=5, **given)
    second = vt.simulate(model, q, v, duration=0.8, record_every=2, **given).contacts
    kept = whole.contacts.record % 2 == 0
    np.testing.assert_array_equal(second.record, whole.contacts.record[kept] // 2)
    np.testing.assert_array_equal(second.point, whole.contacts.point[kept])
    for steps in (100, 237, 350, 390):
        if steps % 5 == 0:
            half = vt.simulate(model, q, v, duration=steps * 2e-3, record_every=5, **given)
            rest = half.resume((400 - steps) * 2e-3, monitors=given["monitors"], record_every=5)
            for name in ("point", "impulse", "normal"):
                found = getattr(rest.contacts, name)
                np.testing.assert_array_equal(found, getattr(sparse.contacts, name)[-len(found) :], name)
        first = vt.simulate(model, q, v, duration=steps * 2e-3, **given)
        rest = first.resume((400 - steps) * 2e-3, monitors=given["monitors"])
        for name, found in whole.monitors.items():
            np.testing.assert_array_equal(np.concatenate((first.monitors[name], rest.monitors[name])), found, name)


def test_a_resumed_run_knows_the_points_that_pushed_in_the_step_before_it():
    """They count for the mean gap of their patch at the first node, where friction acts, though they let go there."""
    model, q, v = thrown(vt.Box((0.2, 0.3, 0.1)))
    watched = ("contact_work", "momentum_balance")
    whole = vt.simulate(model, q, v, duration=0.8, dt=2e-3, monitors=watched)
    pushing = [set(whole.contacts.number[whole.contacts.record == k]) for k in range(401)]
    released = [k for k in range(1, 400) if pushing[k] - pushing[k + 1] and pushing[k + 1]]
    assert len(released) > 3
    for steps in released:
        first = vt.simulate(model, q, v, duration=steps * 2e-3, dt=2e-3)
        rest = first.resume(2e-3, monitors=watched)
        for name, found in rest.monitors.items():
            np.testing.assert_array_equal(found[0], whole.monitors[name][steps], name)


@pytest.mark.parametrize("kinetic", ["relative", "midpoint"])
def test_the_momentum_of_a_falling_tree_changes_by_the_moment_of_gravity(kinetic):
    """By the weight at the nodes or in the middle of the step, of a tree of 3.5 kg that swings as it falls."""
    tree = vt.Tree("falling")
    base = tree.world.add(vt.free("joint"), vt.body("base", 2.0, (0.1, 0.1, 0.1), com=(0.1, 0, 0)))
    base.add(vt.ry("hinge"), vt.tz(-0.4), vt.body("arm", 1.5, (0.02, 0.02, 0.02)))
    run = vt.simulate(tree.compile(), v0=[1, 0.5, 2, 0.3, -0.2, 0.4, 3], duration=0.5, dt=0.01, method="midpoint",
                      kinetic=kinetic, monitors="momentum_balance", tolerance=1e-14)  # fmt: skip
    assert np.abs(run.momentum[-1, :3] - run.momentum[0, :3]).max() > 1.0
    assert np.abs(run.monitors["momentum_balance"]).max() < 1e-13


@pytest.mark.parametrize("method", ["explicit-euler", "semi-implicit-euler", "rk4"])
def test_the_momentum_of_a_thrown_body_changes_by_the_moment_of_gravity(method):
    """Each method has gravity act where its own steps do: of a body that does not turn the balance is exact."""
    tree = vt.Tree("thrown")
    tree.world.add(vt.free("joint"), vt.body("thing", 2.0, (0.01, 0.02, 0.015)))
    run = vt.simulate(tree.compile(), [3.0, -2.0, 1.0, 1.0, 0.0, 0.0, 0.0], [1.0, 0.5, 2.0, 0.0, 0.0, 0.0],
                      duration=1.0, dt=0.02, method=method, monitors="momentum_balance")  # fmt: skip
    assert np.abs(run.momentum[-1, :3] - run.momentum[0, :3]).max() > 10.0
    assert np.abs(run.monitors["momentum_balance"]).max() < 1e-12
