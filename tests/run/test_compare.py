"""compare(): the numbers are what they are said to be, and a failing method does not stop it."""

from __future__ import annotations

import dataclasses
import importlib
import json
import math

import numpy as np
import pytest
from random_models import chain_flat, random_flat, random_state

import vitree as vt
from vitree.errors import ConvergenceError, InputError, UnknownNameError
from vitree.model.model import Model
from vitree.run.compare import compare
from vitree.run.simulate import simulate
from vitree.tree.elements import body, rx, rz, tz
from vitree.tree.tree import Tree

# the modules, which vitree hides behind functions of the same names
reference_module = importlib.import_module("vitree.run.reference")
METHODS = ["linear-time", "midpoint", "semi-implicit-euler", "rk4"]
Q0 = np.array([2.1, 0.4])


def double_pendulum(**changes) -> Model:
    return Model(dataclasses.replace(chain_flat(2), **changes))


def floating(gravity=(0.0, 0.0, -9.81), **options):
    rng = np.random.default_rng(11)
    flat = random_flat(rng, 5, base="free", kinds=("revolute", "prismatic"), **options)
    flat = dataclasses.replace(flat, gravity=np.array(gravity))
    return Model(flat), *random_state(flat, rng)


@pytest.fixture(scope="module")
def result():
    return compare(double_pendulum(), METHODS, Q0, duration=0.4, dt=[1e-2, 5e-3])


def row_of(result, label, dt=None):
    rows = [row for row in result.table if row["label"] == label and dt in (None, row["dt"])]
    assert len(rows) == 1
    return rows[0]


def test_one_row_per_method_and_step(result):
    keys = [(row["label"], row["dt"]) for row in result.table]
    assert keys == [(name, dt) for name in METHODS for dt in (1e-2, 5e-3)]
    assert set(result.trajectories) == set(result.series) == set(keys)
    assert all(row["status"] == "ok" and row["failed_at"] is None for row in result.table)


def test_fitted_orders_are_the_methods_orders(result):
    for label, order in zip(METHODS, (2, 2, 1, 4), strict=True):
        assert abs(result.orders[label] - order) < 0.1, label


def test_energy_columns_are_those_of_the_trajectory(result):
    for row in result.table:
        traj = result.trajectories[row["label"], row["dt"]]
        change = traj.energy - traj.energy[0]
        assert row["energy_error"] == np.abs(change).max()
        slope = np.polyfit(traj.t, change, 1)[0]
        assert row["energy_drift"] == pytest.approx(slope, rel=1e-6, abs=1e-13)
        scale = row["energy_error"] / row["energy_error_relative"]
        assert scale == pytest.approx(result.reference.kinetic.max(), rel=1e-12)


def test_error_is_the_largest_difference_to_the_reference(result):
    model = double_pendulum()
    assert np.allclose(result.reference.t, 5e-3 * np.arange(81), rtol=1e-12)
    for row in result.table:
        traj = result.trajectories[row["label"], row["dt"]]
        every = 2 if row["dt"] == 1e-2 else 1
        pairs = zip(result.reference.q[::every], traj.q, strict=True)
        assert row["error"] == max(np.linalg.norm(model.difference(a, b)) for a, b in pairs)


@pytest.mark.parametrize("tolerance", [1e-4, 1e-6, 1e-9, 1e-11])
@pytest.mark.parametrize("duration, dt", [(0.4, 2e-3), (4.0, 2e-2)])
@pytest.mark.parametrize("reference", [None, "scipy-dop853"])
def test_the_reference_is_as_good_as_it_says(duration, dt, tolerance, reference):
    model, q0 = Model(chain_flat(3)), np.array([2.1, 0.4, -0.3])
    found = compare(model, ["rk4"], q0, duration=duration, dt=dt, reference_tolerance=tolerance, reference=reference)
    truth = simulate(model, q0, duration=duration, dt=dt / 50, record_every=50, method="rk8")
    pairs = zip(found.reference.q, truth.q, strict=True)
    actual = max(np.linalg.norm(model.difference(a, b)) for a, b in pairs)
    assert 1e-15 < actual <= 2 * found.reference_error
    assert tolerance > 1e-10 or found.reference_error < 1e-7


def test_references_of_two_methods_agree():
    found = [
        compare(double_pendulum(), ["rk4"], Q0, duration=0.4, dt=5e-3, reference=name).reference
        for name in ("scipy-dop853", "scipy-radau", "gauss")
    ]
    assert np.abs(found[0].q - found[1].q).max() < 1e-8
    assert np.abs(found[0].q - found[2].q).max() < 1e-11


def test_iterations_and_times(result):
    for row in result.table:
        traj = result.trajectories[row["label"], row["dt"]]
        assert row["us_per_step"] == 1e6 * traj.seconds / traj.steps > 0
        if row["method"] in ("semi-implicit-euler", "rk4"):  # which solve nothing
            assert np.isnan(row["iterations_mean"]) and np.isnan(row["iterations_max"])
            continue
        assert row["iterations_mean"] == traj.iterations_total / traj.steps
        assert row["iterations_max"] == traj.iterations.max() >= row["iterations_mean"] > 0


def test_the_smallest_of_repeated_times_counts(monkeypatch):
    seconds = iter([0.5, 0.3, 0.2, 0.4])  # the first is the warm-up
    plain = reference_module.simulate

    def timed(model, given):
        return dataclasses.replace(plain(model, given), seconds=next(seconds))

    monkeypatch.setattr(reference_module, "simulate", timed)
    found = compare(
        double_pendulum(), ["rk4"], Q0, duration=0.1, dt=1e-2, reference=False, repeats=3
    )
    assert found.table[0]["us_per_step"] == pytest.approx(0.2e6 / 10)


def test_momentum_of_a_free_robot():
    model, q, v = floating()
    found = compare(model, ["linear-time", "explicit-euler"], q, v, duration=0.3, dt=2e-3)
    scale = np.abs(found.reference.momentum).max()
    kept, lost = found.table
    assert kept["momentum_error"] < 1e-12 * scale
    assert kept["angular_momentum_error"] < 1e-12 * scale
    assert lost["momentum_error"] > 1e-6 * scale
    assert lost["angular_momentum_error"] > 1e-6 * scale


@pytest.mark.parametrize("held", ["fixed", "wrench", "spring"])
def test_momentum_has_no_error_where_something_holds_or_pushes(held):
    model = vt.load_urdf(vt.find_robot("human"), base="fixed" if held == "fixed" else "free")
    if held == "spring":
        model = vt.Model(dataclasses.replace(model.flat, loads=(vt.Spring("world", model.link_names[-1], 3.0),)))
    more = {"wrenches": [vt.ExternalWrench(model.link_names[-1], (1.0, 0, 0))]} if held == "wrench" else {}
    found = compare(model, ["linear-time"], model.neutral(), duration=0.02, dt=0.01, reference=False, **more)
    assert np.isnan(found.table[0]["momentum_error"])


def test_without_gravity_all_momentum_is_kept():
    model, q, v = floating(gravity=(0.0, 0.0, 0.0))
    found = compare(model, ["linear-time"], q, v, duration=0.3, dt=2e-3)
    change = found.trajectories["linear-time", 2e-3].momentum
    change = change - change[0]
    row = found.table[0]
    assert row["angular_momentum_error"] == np.linalg.norm(change[:, :3], axis=1).max()
    assert row["angular_momentum_error"] < 1e-12 * np.abs(found.reference.momentum).max()


def test_momentum_of_a_base_of_six_primitives():
    native, q, v = floating()
    model = native.euler()
    q, v = model.from_native(q, v)
    found = compare(model, ["midpoint", "explicit-euler"], q, v, duration=0.1, dt=1e-3)
    scale = np.abs(found.reference.momentum).max()
    assert found.table[0]["momentum_error"] < 1e-11 * scale < 1e-6 * scale
    assert found.table[1]["momentum_error"] > 1e-6 * scale


def test_internal_torque_keeps_momentum_and_thrust_does_not():
    model, q, v = floating()
    inside = np.zeros(model.nv)
    inside[6:] = 0.3
    kept = compare(model, ["linear-time"], q, v, duration=0.1, dt=2e-3, control=inside)
    assert kept.table[0]["momentum_error"] < 1e-11
    for thrust in (np.ones(model.nv), lambda t, q, v: np.ones(model.nv)):
        found = compare(model, ["rk4"], q, v, duration=0.01, dt=2e-3, control=thrust)
        assert math.isnan(found.table[0]["momentum_error"])


def test_steps_in_halves_are_told():
    tree = Tree("arm", gravity=(0, 0, 0))
    tree.world.add(rz("a"), body("arm", 1.0, inertia=(1, 1, 1)))
    model = tree.compile()
    found = compare(model, ["linear-time", "rk4"], [0.0], [400.0], duration=0.1, dt=0.01)
    assert "linear-time, dt = 0.01 s: 10 of 10 steps" in str(found) and "rk4, dt" not in str(found)


def test_every_warning_of_the_runs_is_told_once():
    model, q, v = double_pendulum(), np.ones(2), [24.0, -48.0]
    ways = {"one": "linear-time", "other": ("linear-time", {"tolerance": 1e-9}), "midpoint": "midpoint",
            "coarse": "explicit-euler", "short": ("midpoint", {"max_halvings": 1})}  # fmt: skip
    found = compare(model, ways, q, v, duration=1.0, dt=[0.05, 0.025], reference=False)
    assert any("failed" in row["status"] for row in found.table)
    lines, told = found.notes, [run.warnings for run in found.trajectories.values()]
    assert len(set(lines)) == len(lines) and {len(texts) for texts in told} >= {0, 1}
    assert any(line.startswith("one, dt = 0.025 s; other, dt = 0.025 s") for line in lines)
    for (label, dt), run in found.trajectories.items():
        for text in run.warnings:
            name = f"{label}, dt = {dt:g} s"
            assert any(name in line and text.startswith(line.partition(" s: ")[2]) for line in lines)
            assert sum(text.endswith(line) for line in lines) == 1
    assert found.to_json().count("Use a smaller dt") == 1


def test_a_fixed_robot_has_no_momentum_error(result):
    assert all(math.isnan(row["momentum_error"]) for row in result.table)
    assert " - " in str(result) and "angular" not in str(result)


def test_with_damping_energy_is_held_against_the_reference():
    model = double_pendulum(damping=np.array([3.0, 3.0]))
    found = compare(model, ["rk4", "linear-time"], Q0, duration=0.4, dt=2e-3)
    traj = found.trajectories["rk4", 2e-3]
    assert traj.energy[0] - traj.energy[-1] > 1e-2  # it does lose energy
    assert row_of(found, "rk4")["energy_error"] < 1e-7
    assert row_of(found, "linear-time")["energy_error"] < 1e-2
    alone = compare(model, ["rk4"], Q0, duration=0.4, dt=2e-3, reference=False)
    assert math.isnan(alone.table[0]["energy_error"])


def test_a_method_that_fails_gets_a_row_and_the_others_go_on():
    model = double_pendulum(damping=np.array([1e6, 1e6]))
    found = compare(
        model, ["explicit-euler", "linear-time"], Q0, duration=0.4, dt=1e-2, reference="scipy-radau"
    )
    failed, fine = found.table
    assert failed["status"].startswith("failed at t = ") and 0 < failed["failed_at"] < 0.4
    assert failed["reason"] and math.isnan(failed["error"])
    assert fine["status"] == "ok" and fine["error"] < 1e-3
    partial = found.trajectories["explicit-euler", 1e-2]
    assert np.isfinite(partial.q).all() and 0 < len(partial) < 41
    assert failed["status"] in str(found) and "nan" not in str(found)
    found.plot()


def test_a_run_that_is_not_finite_is_a_failure(monkeypatch):
    plain = reference_module.simulate

    def broken(model, given):
        traj = plain(model, given)
        if given.method == "rk4":
            traj = dataclasses.replace(traj, q=np.where(np.arange(len(traj))[:, None] < 7, traj.q, np.nan))
        return traj

    monkeypatch.setattr(reference_module, "simulate", broken)
    found = compare(double_pendulum(), ["rk4", "midpoint"], Q0, duration=0.1, dt=1e-2)
    assert found.table[0]["failed_at"] == pytest.approx(0.07)
    assert len(found.trajectories["rk4", 1e-2]) == 7
    assert found.table[1]["status"] == "ok"


def test_a_failing_reference_leaves_the_error_out(monkeypatch):
    plain = reference_module.simulate

    def broken(model, given):
        if given.method in ("gauss", "scipy-dop853"):
            raise ConvergenceError("too stiff", time=0.0, residual=0.0, iterations=0)
        return plain(model, given)

    monkeypatch.setattr(reference_module, "simulate", broken)
    found = compare(double_pendulum(), ["rk4"], Q0, duration=0.1, dt=1e-2)
    assert found.reference is None and math.isnan(found.table[0]["error"])
    assert found.table[0]["energy_error"] < 1e-5 and "too stiff" in str(found)


def test_references_of_other_kinds():
    model = double_pendulum()
    given = simulate(model, Q0, duration=0.2, dt=1e-3, method="rk4")
    found = compare(model, ["rk4", "midpoint"], Q0, duration=0.2, dt=2e-3, reference=given)
    own = compare(model, ["midpoint"], Q0, duration=0.2, dt=2e-3)
    assert row_of(found, "midpoint")["error"] == pytest.approx(own.table[0]["error"], rel=1e-4)
    with pytest.raises(InputError, match=r"ends at 0\.2 s"):
        compare(model, ["rk4"], Q0, duration=0.4, dt=2e-3, reference=given)
    with pytest.raises(InputError, match="chain2"):
        compare(Model(chain_flat(3)), ["rk4"], np.zeros(3), duration=0.1, dt=2e-3, reference=given)


def test_steps_that_do_not_divide_each_other_and_sparse_records():
    found = compare(double_pendulum(), ["midpoint"], Q0, duration=0.3, dt=[3e-3, 2e-3], record_every=5)
    assert abs(found.orders["midpoint"] - 2) < 0.1
    for (_, dt), series in found.series.items():
        assert np.allclose(series.t, np.arange(0.0, 0.3 + 1e-9, 5 * dt))


def test_labels_and_options():
    jobs = ["linear-time", ("linear-time", {"solver": "riqn"})]
    found = compare(double_pendulum(), jobs, Q0, duration=0.1, dt=1e-3)
    assert [row["label"] for row in found.table] == ["linear-time", "linear-time (solver=riqn)"]
    named = {"one": ("linear-time", {"solver": "riqn"}), "two": "rk4"}
    found = compare(double_pendulum(), named, Q0, duration=0.1, dt=1e-3)
    assert [(row["label"], row["method"]) for row in found.table] == [
        ("one", "linear-time"), ("two", "rk4"),
    ]  # fmt: skip
    assert found.trajectories["one", 1e-3].settings["solver"] == "riqn"


@pytest.mark.parametrize(
    "change, error, words",
    [
        ({"methods": ["rk44"]}, UnknownNameError, "rk4"),
        ({"methods": []}, InputError, "empty"),
        ({"methods": ["rk4", "rk4"]}, InputError, "twice"),
        ({"methods": [("rk4", 3)]}, InputError, "pair"),
        ({"methods": [("rk4", {"record_every": 2})]}, InputError, "same for all"),
        ({"methods": [("linear-time", {"solver": "newtown"})]}, UnknownNameError, "newton"),
        ({"dt": 3e-3}, InputError, "0.102"),
        ({"dt": 0.0}, InputError, "dt"),
        ({"dt": float("nan")}, InputError, "dt"),
        ({"dt": []}, InputError, "dt"),
        ({"dt": [1e-2, 1e-2]}, InputError, "differ"),
        ({"duration": -1.0}, InputError, "duration"),
        ({"repeats": 0}, InputError, "repeats"),
        ({"record_every": 0}, InputError, "every"),
        ({"record_every": "2"}, InputError, "every"),
        ({"record_every": 11}, InputError, "every"),
        ({"reference": "dop853"}, UnknownNameError, "scipy-dop853"),
        ({"q0": [0.0, float("nan")]}, InputError, "q0"),
        ({"q0": [0.0]}, InputError, "q0"),
        ({"v0": [0.0]}, InputError, "v0"),
        ({"v0": [0.0, float("inf")]}, InputError, "v0"),
    ],
)
def test_bad_input_is_named(change, error, words):
    arguments = {"methods": ["rk4"], "q0": Q0, "duration": 0.1, "dt": 1e-2} | change
    methods, q0 = arguments.pop("methods"), arguments.pop("q0")
    with pytest.raises(error, match=words):
        compare(double_pendulum(), methods, q0, **arguments)


def test_progress_counts_every_run_to_its_end():
    calls = []
    compare(
        double_pendulum(), ["rk4", "midpoint"], Q0, duration=0.1, dt=[1e-2, 5e-3],
        progress=lambda done, total, what: calls.append((done, total, what)),
    )  # fmt: skip
    assert all(0 <= done <= total for done, total, _ in calls)
    ends = [what for done, total, what in calls if done == total]
    assert [what.split("]")[0] for what in ends] == [f"[{k}/6" for k in range(1, 7)]
    assert "midpoint, dt = 0.005 s" in ends[3] and "reference gauss, dt = 0.0025 s" in ends[-1]


def test_ctrl_c_hands_over_the_finished_rows():
    def stop(done, total, what):
        if "midpoint" in what:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt) as caught:
        compare(double_pendulum(), METHODS, Q0, duration=0.1, dt=1e-2, progress=stop)
    partial = caught.value.comparison
    assert [row["label"] for row in partial.table] == ["linear-time"]
    assert partial.table[0]["energy_error"] < 1e-1 and np.isnan(partial.table[0]["error"]) and str(partial)


def test_ctrl_c_in_the_reference_leaves_every_row():
    def stop(done, total, what):
        if "reference" in what:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt) as caught:
        compare(double_pendulum(), METHODS, Q0, duration=0.1, dt=1e-2, progress=stop)
    partial = caught.value.comparison
    assert len(partial.table) == len(METHODS) and partial.reference is None
    assert all(row["energy_error"] >= 0 and np.isnan(row["error"]) for row in partial.table)
    assert any("interrupted" in note for note in partial.notes)


def test_stiff_friction_is_said():
    def model(friction):
        tree = Tree("arm")
        tree.world.add(rx("hinge", friction=friction), tz(-1.0), body("bob", mass=1.0))
        return tree.compile()

    def notes(friction, dt):
        found = compare(model(friction), ["midpoint"], [0.5], duration=0.1, dt=dt, reference=False)
        return [note for note in found.notes if "stiff" in note]

    # M = 1 kg m^2, e = 0.01 rad/s: the rate f/(M e) is 500 per second, stiff beyond 4 ms
    assert notes(5.0, 5e-3) and "1 joint is" in notes(5.0, 5e-3)[0] and "2.5" in notes(5.0, 5e-3)[0]
    assert not notes(5.0, 2e-3) and not notes(0.0, 5e-3)


def test_text_is_a_table_of_fixed_width(result):
    lines = str(result).splitlines()
    rule = next(k for k, line in enumerate(lines) if set(line) == {"-"})
    rows = lines[rule + 1 : rule + 9]
    assert {len(line) for line in rows} == {len(lines[0]), len(lines[rule])}
    assert [line.split()[0] for line in rows] == [row["label"] for row in result.table]
    assert {"J", "J/s", "us/step"} <= set(lines[1].split())
    assert "gauss of order 16" in str(result) and "nan" not in str(result)


def test_json_is_strict_and_complete(result):
    def refuse(word):
        raise AssertionError(f"{word} is not JSON")

    content = json.loads(result.to_json(), parse_constant=refuse)
    assert content["settings"]["dt"] == [1e-2, 5e-3] and content["settings"]["q0"] == list(Q0)
    assert len(content["table"]) == 8
    for read, row in zip(content["table"], result.table, strict=True):
        for key, value in row.items():
            assert type(value) in (str, int, float, bool, type(None)), key
            assert read[key] == (None if value != value else value)
