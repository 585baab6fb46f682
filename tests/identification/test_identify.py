"""identify(): values, intervals that are true, what cannot be told, and wrong arguments."""

from __future__ import annotations

import pickle
from dataclasses import replace

import numpy as np
import pytest
from closed_chains import finger
from identified_runs import ASKED, GUESS, PENDULUM, PLANT, TRUTH, disturbed, swings, waves
from scipy import optimize

import vitree as vt
from vitree.identification.measured import Windows, checked_runs


def errors_of(found, truth):
    """Errors of the values in standard errors."""
    return np.array([(found.values[name] - true) / found.standard_errors[name] for name, true in truth.items()])


# ---- values ------------------------------------------------------------------------------------------------


def test_runs_without_noise_give_the_numbers_back():
    found = vt.identify(GUESS, ASKED, swings(0, noise=(0.0, 0.0)), window=0.5)
    assert found.values == pytest.approx(TRUTH, rel=1e-5)
    assert found.model.flat.mass == pytest.approx(PLANT.flat.mass, rel=1e-5)
    assert found.model.friction == pytest.approx(PLANT.friction, rel=1e-4)
    assert GUESS.flat.mass[0] == 1.0  # it stayed as it was


@pytest.mark.parametrize(("noise", "window"), [((2e-3, 2e-2), None), ((2e-3, None), 0.75)], ids=["q and v", "q alone"])
def test_the_double_pendulum_is_found_within_the_intervals(noise, window):
    found = vt.identify(GUESS, ASKED, swings(3, noise=noise), window=window)
    assert np.abs(errors_of(found, TRUTH)).max() < 3
    assert found.noise["q"] == pytest.approx([2e-3, 2e-3], rel=0.15)  # estimated
    assert ("v" in found.noise) == (noise[1] is not None)
    assert found.rms == pytest.approx(1.0, abs=0.02)
    assert not found.unidentifiable
    table = str(found)
    assert all(name in table for name in TRUTH)
    for name, (low, high) in found.intervals.items():
        assert high - low == pytest.approx(2 * 1.96 * found.standard_errors[name], rel=0.01)
    assert np.diag(found.correlation) == pytest.approx(np.ones(6))
    assert found.covariance[0, 0] == pytest.approx(found.standard_errors["mass rod1"] ** 2)


def test_values_and_errors_are_those_of_all_unknowns_at_once():
    """The starts eliminated: against SciPy with starts and parameters as one vector, simulated one by one."""
    model = vt.load_urdf(vt.find_robot("pendulum"))
    joint, link = model.joint_names[0], model.link_names[-1]
    plant = model.with_parameters(mass={link: 1.4}, damping={joint: 0.2})
    rng, sigma = np.random.default_rng(0), 0.01
    tau = waves(rng, np.arange(60) * 0.02, 3.0, 1)
    run = vt.rollout(plant, np.array([[0.4]]), duration=1.2, dt=0.02, control=tau[None])
    q = run.q[0] + sigma * rng.normal(size=(61, 1))
    asked = {"mass": link, "damping": joint}
    found = vt.identify(model, asked, vt.Measurement(run.t, q, torque=tau), window=0.6, noise=(sigma,), tolerance=1e-12)
    edges = [0, 30, 61]  # np.linspace(0, 61, 3), rounded

    def residual(x):
        its = model.with_parameters(mass={link: x[0]}, damping={joint: x[1]})
        parts = []
        for k in range(2):
            a, b = edges[k], edges[k + 1]
            one = vt.rollout(its, x[None, 2 + 2 * k, None], x[None, 3 + 2 * k, None], duration=0.02 * (b - 1 - a),
                             dt=0.02, control=tau[None, a : b - 1])  # fmt: skip
            parts.append((one.q[0] - q[a:b]).ravel() / sigma)
        return np.concatenate(parts)

    whole = optimize.least_squares(residual, [1.0, 0.1, 0.4, 0.0, q[30, 0], run.v[0, 30, 0]], "3-point", xtol=1e-12,
                                   ftol=1e-12, gtol=1e-12)  # fmt: skip
    freedom = 61 - 6
    assert found.freedom == freedom
    assert found.rms**2 == pytest.approx(2 * whole.cost / freedom, rel=1e-6)
    assert [*found.values.values()] == pytest.approx(whole.x[:2], rel=1e-4)
    covariance = np.linalg.inv(whole.jac.T @ whole.jac) * 2 * whole.cost / freedom
    assert found.covariance == pytest.approx(covariance[:2, :2], rel=1e-2)
    assert found.starts[2][1, 0] == pytest.approx(whole.x[5], rel=1e-3)


def test_the_shift_of_half_the_step_is_what_half_the_step_finds():
    runs = swings(1, dt=0.02, noise=(1e-4, 1e-3), finer=8)
    more = {"window": 0.5, "noise": (1e-4, 1e-3), "tolerance": 1e-12}
    asked, start = {"mass": ["rod1", "rod2"]}, PLANT.with_parameters(mass={"rod1": 1.2})
    coarse = vt.identify(start, asked, runs, **more)
    fine = vt.identify(start, asked, runs, dt=0.01, **more)
    for name, shift in coarse.shifts.items():
        assert fine.values[name] - coarse.values[name] == pytest.approx(shift, rel=0.1)
    assert any("the step is too long for" in text for text in coarse.warnings)
    wrong = vt.identify(GUESS, asked, runs, **more)  # its friction is not that of the runs
    assert any("the weighted rms" in text for text in wrong.warnings)


def test_gains_of_drives_and_com_are_found():
    plant = PLANT.with_drives({"*": (30.0, 2.0)}).with_parameters(com={"rod2": [0.02, 0.0, -0.55]})
    start = PLANT.with_drives({"*": (20.0, 1.0)})
    rng = np.random.default_rng(0)
    goal = waves(rng, np.arange(100) * 0.01, 0.6)
    run = vt.rollout(plant, np.zeros((1, 2)), duration=1.0, dt=0.01, control=vt.Control(targets=goal[None]))
    q = run.q[0] + 5e-4 * rng.normal(size=run.q[0].shape)
    asked = {"gains": ["hinge1", "hinge2.kp"], "com": ["rod2.x", "rod2.z"]}
    start = start.with_parameters(gains={"hinge2": (20.0, 2.0)})
    found = vt.identify(start, asked, vt.Measurement(run.t, q, targets=goal), window=0.5, noise=(5e-4,))
    truth = {"gains hinge1.kp": 30.0, "gains hinge1.kd": 2.0, "gains hinge2.kp": 30.0, "com rod2.x": 0.02,
             "com rod2.z": -0.55}  # fmt: skip
    assert [*found.values] == [*truth]
    assert np.abs(errors_of(found, truth)).max() < 3
    assert found.units["gains hinge1.kp"] == "N m/rad"
    assert found.units["com rod2.x"] == "m"


def test_a_body_that_turns_freely_is_found():
    """Noise of orientations is in the tangent of quaternions; a torque-free body tells ratios of its inertia alone."""
    tree = vt.Tree("top", gravity=(0, 0, 0))
    tree.world.add(vt.ball("pivot"), vt.body("top", 1.0, (0.10, 0.2, 0.25)))
    plant = tree.compile()
    rng = np.random.default_rng(1)
    tau = waves(rng, np.arange(120) * 0.01, 1.0, 3)
    run = vt.rollout(plant, v0=np.array([[3.0, 1.0, 2.0]]), duration=1.2, dt=0.01, control=tau[None])
    q = np.array([plant.integrate(row, 1e-3 * rng.normal(size=3)) for row in run.q[0]])
    start = plant.with_parameters(inertia={"top": np.diag([0.15, 0.22, 0.2])})
    names = {"inertia": ["top.xx", "top.yy", "top.zz"]}
    found = vt.identify(start, names, vt.Measurement(run.t, q, torque=tau), window=0.4, noise=(1e-3,))
    truth = {"inertia top.xx": 0.1, "inertia top.yy": 0.2, "inertia top.zz": 0.25}
    assert np.abs(errors_of(found, truth)).max() < 3
    free = vt.rollout(plant, v0=np.array([[3.0, 1.0, 2.0]]), duration=1.2, dt=0.01)
    found = vt.identify(start, names, free[0], window=0.4)
    (direction,) = found.unidentifiable
    assert [*direction] == [*truth]
    ratio = np.array([*direction.values()]) * [0.15, 0.22, 0.22]  # shares of sizes; ratios of the values stay
    values = np.array([*found.values.values()])
    assert values[:2] / values[2] == pytest.approx([0.4, 0.8], rel=1e-4)
    assert len(ratio) == 3


def test_what_is_written_in_python_has_the_time_of_the_run():
    class ExternalWrench(vt.Force):
        def force(self, model, t, q, v, u):
            return np.array([3.0 * np.sin(4.0 * t)])

    tree = vt.Tree("pushed")
    tree.world.add(vt.tx("slide", damping=0.7), vt.body("cart", 2.0))
    tree.load(ExternalWrench())
    plant = tree.compile()
    run = vt.simulate(plant, [0.1], duration=1.0, dt=0.02, t0=0.5)
    start = plant.with_parameters(mass={"cart": 1.5}, damping={"slide": 0.5})
    found = vt.identify(start, {"mass": "cart", "damping": "slide"}, run, window=0.25)
    assert found.windows == 4
    assert found.values == pytest.approx({"mass cart": 2.0, "damping slide": 0.7}, rel=1e-5)
    assert found.units["damping slide"] == "N s/m"


def test_gears_go_by_the_reduced_model():
    plant = finger().reduced()
    names = {"mass": [plant.link_names[0]], "damping": [plant.joint_names[0]]}
    plant = plant.with_parameters(damping={plant.joint_names[0]: 0.3})
    run = vt.simulate(plant, v0=0.5 + np.arange(plant.nv), duration=0.6, dt=0.01)
    start = plant.with_parameters(mass={plant.link_names[0]: 1.3}, damping={plant.joint_names[0]: 0.2})
    found = vt.identify(start, names, run, window=0.3)
    assert found.model.digest.startswith("reduced")
    assert found.model.full.flat.mass == pytest.approx(plant.full.flat.mass, rel=1e-4)
    assert found.model.full.damping == pytest.approx(plant.full.damping, rel=1e-4)


# ---- what cannot be told -------------------------------------------------------------------------------------


def test_what_runs_do_not_tell_is_named():
    """Without torque masses, inertias and damping are told up to a factor, and what does not move not at all."""
    free = [vt.Measurement(run.t, run.q, run.v) for run in (
        vt.simulate(PENDULUM, [1.0, -0.5], duration=1.0, dt=0.01), vt.simulate(PENDULUM, [0.5, 1.5], duration=1.0,
                                                                              dt=0.01))]  # fmt: skip
    rng = np.random.default_rng(0)
    free = [replace(run, q=run.q + 1e-3 * rng.normal(size=run.q.shape)) for run in free]
    asked = {"mass": ["base", "rod1", "rod2"], "inertia": ["rod1.yy", "rod2.yy"]}
    found = vt.identify(PENDULUM.with_parameters(mass={"rod1": 1.1, "base": 2.0}), asked, free, window=0.5)
    lost = {name for name, s in found.standard_errors.items() if np.isinf(s)}
    assert lost == {"mass base", "mass rod1", "mass rod2", "inertia rod1.yy", "inertia rod2.yy"}
    assert {"mass base": 1.0} in found.unidentifiable
    (scale,) = (x for x in found.unidentifiable if "mass base" not in x)
    assert [*scale] == ["mass rod1", "mass rod2", "inertia rod1.yy", "inertia rod2.yy"]
    assert min(scale.values()) > 0
    assert found.values["mass rod1"] / found.values["mass rod2"] == pytest.approx(1.0, abs=0.05)
    assert found.values["mass base"] == pytest.approx(2.0)
    assert "leaves no trace" in str(found)
    assert "inf" in str(found)
    known = vt.identify(PENDULUM.with_parameters(mass={"rod1": 1.1}), {"mass": ["rod1", "rod2"]}, free, window=0.5)
    assert not known.unidentifiable
    assert np.isfinite([*known.standard_errors.values()]).all()


def test_bounds_hold_and_are_told():
    runs = swings(0, duration=1.0)
    found = vt.identify(GUESS, {"mass": ["rod1"]}, runs, window=0.5, bounds={"mass": {"rod1": (0.5, 1.2)}})
    assert 1.19 < found.values["mass rod1"] <= 1.2
    assert any("bound" in text and "mass rod1" in text for text in found.warnings)
    with pytest.raises(vt.InputError, match="not fitted"):
        vt.identify(GUESS, {"mass": ["rod1"]}, runs, bounds={"mass": {"rod2": (0.5, 1.2)}})
    with pytest.raises(vt.InputError, match="within its bounds"):
        vt.identify(GUESS, {"mass": ["rod1"]}, runs, bounds={"mass": {"rod1": (1.1, 1.2)}})


# ---- intervals ------------------------------------------------------------------------------------------------


@pytest.mark.slow
def test_intervals_of_95_percent_have_the_truth_95_times_in_a_hundred():
    """24 data sets; Binomial(24, 0.95) is at least 19 with probability 0.99, for each of the six parameters."""
    inside, errors = [], []
    for seed in range(24):
        found = vt.identify(GUESS, ASKED, swings(100 + seed, duration=1.0), window=0.5)
        inside.append([found.intervals[name][0] <= true <= found.intervals[name][1] for name, true in TRUTH.items()])
        errors.append(errors_of(found, TRUTH))
    inside, errors = np.array(inside), np.array(errors)
    assert (inside.sum(0) >= 19).all(), inside.sum(0)
    assert 0.91 < inside.mean() < 0.99
    assert 0.75 < errors.std() < 1.25  # neither too narrow nor too wide
    assert np.abs(errors.mean(0)).max() < 3 / np.sqrt(24)  # no bias


def test_the_jackknife_is_that_of_fits_without_a_window_or_run():
    """To first order in the moves: of runs with little noise they are small."""
    runs = swings(5, runs=5, noise=(1e-4, 1e-3), duration=0.6)
    found = vt.identify(GUESS, ASKED, runs, window=0.6, noise=(1e-4, 1e-3))
    whole = found.clustered("runs")
    parts = [vt.identify(GUESS, ASKED, [*runs[:k], *runs[k + 1 :]], window=0.6, noise=(1e-4, 1e-3)) for k in range(5)]
    values = np.array([[*part.values.values()] for part in parts])
    away = values - values.mean(0)
    expected = 0.8 * away.T @ away
    np.testing.assert_allclose(whole.covariance, expected, rtol=0.02, atol=1e-3 * np.abs(expected).max())
    assert whole.values == found.values and found.clustered("records").intervals == found.intervals
    low, high = whole.intervals["mass rod1"]
    assert high - low == pytest.approx(2 * 2.776445 * whole.standard_errors["mass rod1"])  # Student's t of 4
    # runs of one window are windows
    windows = whole.clustered("windows")
    np.testing.assert_allclose(windows.covariance, whole.covariance, rtol=1e-12)


def test_what_one_run_alone_tells_has_no_error():
    still = vt.Measurement(np.arange(41) * 0.01, np.zeros((41, 2)), np.zeros((41, 2)))
    (moved,) = swings(1, runs=1, duration=0.5)
    other = vt.identify(GUESS, {"damping": ["hinge1"]}, [still, still, moved], window=0.5)
    found = other.clustered("runs")
    assert found.standard_errors["damping hinge1"] == np.inf and not found.unidentifiable
    assert np.isfinite(other.standard_errors["damping hinge1"])


def test_correlated_residuals_are_told():
    found = vt.identify(GUESS, ASKED, disturbed(0, runs=3), window=0.5)
    assert any("correlated" in text and '.clustered("windows")' in text for text in found.warnings)
    assert not any("correlated" in text for text in vt.identify(GUESS, ASKED, swings(0), window=0.5).warnings)
    for clusters in ("windows", "runs"):
        other = found.clustered(clusters)
        assert other.clusters == clusters and not any("correlated" in text for text in other.warnings)


@pytest.mark.slow
def test_intervals_hold_where_the_model_is_wrong():
    """Torques that nobody measured are correlated over 0.3 s, and the zeros of encoders differ from run to run."""
    inside, errors = {name: [] for name in ("records", "windows", "runs")}, {}
    for seed in range(10):
        runs = disturbed(seed, zeros=0.01 * (seed % 2))
        found = vt.identify(GUESS, ASKED, runs, window=0.5, tolerance=0.01)
        for name, rows in inside.items():
            other = found.clustered(name)
            rows.append([other.intervals[key][0] <= true <= other.intervals[key][1] for key, true in TRUTH.items()])
            errors.setdefault(name, []).append(errors_of(other, TRUTH))
    assert np.mean(inside["records"]) < 0.4  # the independent noise of each record is the least of it
    for name in ("windows", "runs"):
        assert np.mean(inside[name]) > 0.9 and (np.mean(inside[name], axis=0) >= 0.8).all()
        assert 0.7 < np.std(errors[name]) < 1.3


@pytest.mark.slow
def test_payload_friction_and_damping_of_the_arm_are_found():
    """Six axes under the torque of a tracking law, of which only q is measured."""
    arm = vt.load_urdf(vt.find_robot("arm6")).with_parameters(armature=[2.0, 2.0, 1.5, 0.5, 0.3, 0.2])
    M = np.diag(arm.crba(np.full(6, 0.5)))
    plant = arm.with_parameters(mass={"flange": 2.6}, friction=0.8 * M, damping=M)
    rng = np.random.default_rng(0)
    runs = []
    for _ in range(2):
        goal, taus = waves(rng, np.arange(300) * 0.005, 0.5, 6), []
        sim = vt.Simulation(plant, goal[0], dt=0.005, record_every=1)
        for row in goal:
            hold = arm.rnea(sim.q, np.zeros(6), np.zeros(6))
            taus.append(hold + 150 * M * (row - sim.q) - 15 * M * sim.v)
            sim.step(control=taus[-1])
        run = sim.trajectory
        at = slice(None, None, 2)
        runs.append(vt.Measurement(run.t[at], run.q[at] + 5e-4 * rng.normal(size=(151, 6)), torque=np.array(taus)))
    joints = [*arm.joint_names]
    asked = {"mass": ["flange"], "friction": joints, "damping": joints}
    start = arm.with_parameters(friction=0.4 * M, damping=0.5 * M)
    found = vt.identify(start, asked, runs, window=0.5, dt=0.005, noise=(5e-4,))
    truth = dict(zip(found.values, [2.6, *(0.8 * M), *M], strict=True))
    z = errors_of(found, truth)
    assert np.abs(z).max() < 3.3, z
    assert (np.abs(z) < 2).sum() >= 10
    assert found.rms == pytest.approx(1.0, abs=0.05)
    assert found.standard_errors["mass flange"] < 0.01
    assert not found.unidentifiable


# ---- runs -----------------------------------------------------------------------------------------------------


def test_each_record_is_in_one_window_and_torque_goes_with_it():
    t = np.array([0.0, 0.02, 0.04, 0.08, 0.10, 0.14, 0.16])
    q = np.arange(14.0).reshape(7, 2) * 0.1
    rows = np.arange(16.0).reshape(8, 2)
    runs, dt = checked_runs(PENDULUM, [vt.Measurement(t, q, torque=rows), vt.Measurement(t + 5, q)], None)
    assert dt == pytest.approx(0.02)
    windows = Windows(runs, 0.06, dt)
    assert windows.there.sum() == 14
    assert np.array_equal(windows.q[windows.there], np.concatenate((q, q)))
    assert windows.t[0] == 0.0
    for k in range(len(windows)):
        start = round((windows.t[k] % 5) / 0.02)
        expected = rows[start : start + windows.steps] if windows.t[k] < 5 else np.zeros((0, 2))
        assert np.array_equal(windows.driving["torque"][k, : len(expected)], expected)
        times = windows.t[k] + windows.row[k] * windows.every * dt
        assert np.allclose(times[windows.there[k]], np.concatenate((t, t + 5))[
            np.concatenate(([0], np.cumsum(windows.there.sum(1))))[k] :][: windows.there[k].sum()])  # fmt: skip


def test_a_trajectory_is_a_run_and_threads_do_not_matter():
    run = vt.simulate(PLANT, [0.6, -0.4], duration=1.0, dt=0.01)
    one, two = (vt.identify(GUESS, ASKED, run, window=0.5, threads=n) for n in (1, 2))
    assert one.values == two.values
    assert one.values == pytest.approx(TRUTH, rel=1e-4)
    assert one.rollouts > 0
    exact = vt.identify(GUESS, ASKED, run, window=0.5, fit_starts=False)
    assert exact.values == pytest.approx(TRUTH, rel=1e-4)


@pytest.mark.parametrize(("change", "error", "text"), [
    ({"parameters": {"masses": ["rod1"]}}, vt.UnknownNameError, 'did you mean "mass"'),
    ({"parameters": {"mass": ["rod3"]}}, vt.UnknownNameError, 'no link "rod3"'),
    ({"parameters": {"com": ["rod1.w"]}}, vt.UnknownNameError, "rod1"),
    ({"parameters": {"damping": ["hinge3"]}}, vt.UnknownNameError, "hinge3"),
    ({"parameters": {"gains": ["hinge1"]}}, vt.UnknownNameError, "driven joint"),
    ({"parameters": {"gravity": ["w"]}}, vt.UnknownNameError, "gravity"),
    ({"parameters": {}}, vt.InputError, "names nothing"),
    ({"parameters": 3}, vt.InputError, "parameters"),
    ({"runs": []}, vt.InputError, "runs is empty"),
    ({"runs": [3]}, vt.InputError, r"runs\[0\]"),
    ({"dt": 0.007}, vt.InputError, "whole numbers of steps"),
    ({"dt": -1.0}, vt.InputError, "dt"),
    ({"window": 0.0}, vt.InputError, "window"),
    ({"window": 0.01, "parameters": {"mass": ["rod1"]}}, vt.InputError, "starts cannot be fitted"),
    ({"noise": (0.1,)}, vt.InputError, "noise"),
    ({"noise": (0.1, -1.0)}, vt.InputError, "noise"),
    ({"confidence": 95}, vt.InputError, "confidence"),
    *(({"evaluations": x}, vt.InputError, "evaluations=.* whole number") for x in (0, -3, 2.5, None, "many", True)),
    ({"fit_starts": 1}, vt.InputError, "fit_starts"),
    ({"method": "rk5"}, vt.VitreeError, "rk5"),
    ({"model": 3}, vt.InputError, "model"),
    ({"bounds": {"mass": {"rod1": (2, 1)}}}, vt.InputError, "the lower below the upper"),
    ({"bounds": {"mass": {"rod1": (1, 2, 3)}}}, vt.InputError, "the lower below the upper"),
    ({"bounds": {"mass": {"rod2": (1, 2)}}}, vt.InputError, 'mass of "rod2", which is not fitted'),
    ({"bounds": {"mass": {"rod1": (5, 6)}}}, vt.InputError, "must be within its bounds 5 and 6"),
])  # fmt: skip
def test_wrong_arguments_are_told(change, error, text):
    given = {"model": GUESS, "parameters": {"mass": ["rod1"]}, "runs": swings(0, duration=0.5, runs=1)} | change
    with pytest.raises(error, match=text):
        vt.identify(**given)


@pytest.mark.parametrize(("clusters", "text"), [
    ("rows", 'clusters="rows" is not known; choose from "records", "windows", "runs"'),
    (["runs"], "clusters.* is not known"), ("runs", 'has 1 of these, .* more runs, or take "windows"'),
    ("windows", "has 1 of these, .* a shorter window="),
])  # fmt: skip
def test_clusters_that_are_not_there_are_told(clusters, text):
    found = vt.identify(GUESS, {"mass": ["rod1"]}, swings(0, duration=0.5, runs=1), window=0.5)
    with pytest.raises(vt.InputError, match=text):
        found.clustered(clusters)
    copy = pickle.loads(pickle.dumps(found))
    assert copy.values == found.values and str(copy) == str(found)
    with pytest.raises(vt.InputError, match="copy without its runs"):
        copy.clustered(clusters)


@pytest.mark.parametrize("drive", [
    {"control": [1.0, 0.5]}, {"wrenches": [vt.ExternalWrench("rod2", (1.0, 0, 0))]},
    {"wrenches": [vt.Impulse("rod2", (5.0, 0, 0), at=0.1)]},
])  # fmt: skip
def test_trajectories_that_were_driven_are_refused(drive):
    """The mass of a pushed run came out as 3.5e6 kg."""
    given = {"q0": [0.6, -0.4], "duration": 0.3, "dt": 0.01, **drive}
    runs = [vt.simulate(PLANT, **given), vt.rollout(PLANT, **{**given, "q0": [given["q0"]]})[0]]
    for run in runs:
        with pytest.raises(vt.InputError, match=r"runs\[0\] is a Trajectory that something drove"):
            vt.identify(GUESS, {"mass": ["rod1"]}, run)
    if "control" in drive:
        run = vt.Measurement(runs[0].t, runs[0].q, runs[0].v, torque=drive["control"])
        found = vt.identify(PLANT.with_parameters(mass={"rod1": 1.0}), {"mass": ["rod1"]}, run, window=0.3)
        assert found.values["mass rod1"] == pytest.approx(1.3, rel=1e-5)


def test_progress_counts_evaluations():
    calls = []
    (run,) = swings(0, duration=0.5, runs=1)
    found = vt.identify(GUESS, {"mass": ["rod1"]}, run, evaluations=50, progress=lambda *x: calls.append(x))
    assert calls == [(k, 50) for k in range(1, found.evaluations + 1)]


@pytest.mark.parametrize(("change", "text"), [
    ({"t": np.zeros(51)}, "times"), ({"q": np.zeros((51, 3))}, r"runs\[0\].q has shape"),
    ({"v": np.full((51, 2), np.nan)}, r"runs\[0\].v must be finite"), ({"torque": np.zeros((7, 2))}, "a row from each"),
    ({"torque": np.full((50, 2), np.inf)}, "finite"), ({"targets": np.zeros((50, 2))}, "targets"),
    ({"q": None}, r"runs\[0\].q is missing"), ({"t": np.arange(51.0)[:, None]}, r"runs\[0\].t must be at least 3"),
    ({"t": np.arange(2.0)}, r"runs\[0\].t must be at least 3"),
])  # fmt: skip
def test_wrong_runs_are_told(change, text):
    (run,) = swings(0, duration=0.5, runs=1)
    with pytest.raises(vt.InputError, match=text):
        vt.identify(GUESS, {"mass": ["rod1"]}, replace(run, **change))


def test_velocities_are_of_all_runs_or_of_none():
    runs = swings(0, duration=0.5)
    with pytest.raises(vt.InputError, match="some runs have v and some have none"):
        vt.identify(GUESS, {"mass": ["rod1"]}, [runs[0], replace(runs[1], v=None)])


def test_a_search_that_does_not_end_says_so():
    with pytest.raises(vt.ConvergenceError, match="did not end within 1 sets"):
        vt.identify(GUESS, ASKED, swings(0, duration=0.5), window=0.25, evaluations=1)


@pytest.mark.parametrize(("window", "time"), [(None, 1.5), (0.25, 0.25), (9.0, 1.5)])
def test_sizes_of_parameters_are_of_the_time_in_a_window(window, time, monkeypatch):
    """What is zero gets a size by how far it moves the model in a window, or in the longest run."""
    import importlib

    module = importlib.import_module("vitree.identification.identify")

    class Found(Exception):
        pass

    def parameters(model, asked, bounds, seconds):
        raise Found(seconds)

    monkeypatch.setattr(module, "Parameters", parameters)
    with pytest.raises(Found) as told:
        vt.identify(GUESS, {"mass": ["rod1"]}, swings(0, duration=1.5), window=window)
    assert told.value.args[0] == pytest.approx(time)
