"""Whole inertias of links: possible, found from far away, in loops and on feet; and the steps of the search."""

from __future__ import annotations

import numpy as np
import pytest
from closed_chains import closed_chain
from identified_runs import PENDULUM, PLANT, swings, waves

import vitree as vt
from vitree.identification.fit import Fit
from vitree.identification.measured import Windows, checked_runs
from vitree.identification.parameters import Parameters
from vitree.identification.regression import regressions
from vitree.identification.starts import Starts, first_velocities
from vitree.spatial.pseudo_inertia import inertial_parameters, pseudo_inertia

JOINTS = ["hinge1", "hinge2"]
ASKED = {"inertial": ["rod1", "rod2"], "damping": JOINTS, "friction": JOINTS}
#: Far from the plant, and a body that is nothing like a rod.
FAR = PENDULUM.with_parameters(mass={"rod1": 4.0, "rod2": 3.0}, inertia={"rod2": np.diag([0.3, 0.4, 0.5])},
                               damping=[0.5, 0.5], friction=[0.5, 0.5])  # fmt: skip


def are_possible(model):
    flat = model.flat
    return all(np.linalg.eigvalsh(pseudo_inertia(inertial_parameters(mass, np.array(com), np.array(inertia))))[0] > 0
               for mass, com, inertia in zip(flat.link_mass, flat.link_com, flat.link_inertia, strict=True)
               if mass > 0)  # fmt: skip


def errors_of_base(found, plant):
    truth = vt.base_parameters(plant).values(plant)
    return np.array([(value - truth[name]) / found.base.standard_errors[name]
                     for name, value in found.base.values.items()])  # fmt: skip


def test_runs_without_noise_give_the_base_parameters_back():
    """Bodies of the same base parameters move alike up to the error of the step, which is of second order."""
    found = vt.identify(FAR, ASKED, swings(0, noise=(0.0, 0.0), finer=4), window=0.5, dt=2.5e-3)
    truth = vt.base_parameters(PLANT).values(PLANT)
    assert len(found.base.values) == 10
    for name, value in found.base.values.items():
        assert value == pytest.approx(truth[name], abs=3e-5), name
    assert are_possible(found.model)
    # nobody can tell a mass of these by itself
    assert np.isinf([found.standard_errors[name] for name in ("mass rod1", "mass rod2", "inertia rod1.yy")]).all()
    assert np.isfinite([*found.base.standard_errors.values()]).all()
    assert len(found.unidentifiable) == 20 - 6
    (text,) = (text for text in found.warnings if "combinations of the parameters" in text)
    assert text.startswith("the runs do not tell 14 combinations")
    table = str(found)
    assert "base parameter" in table and "rod1.m*cz - rod2.m" in table
    assert repr(found.base) == "<vitree estimates of 10 numbers>"
    assert 1 < found.condition < 1e4
    assert found.base.units["rod2.m*cz"] == "kg m"


@pytest.fixture(scope="module")
def found():
    return vt.identify(FAR, ASKED, swings(3), window=0.5)


def test_base_parameters_are_within_their_intervals(found):
    z = errors_of_base(found, PLANT)
    assert np.abs(z).max() < 3.5 and np.sqrt((z**2).mean()) < 1.7
    assert found.rms == pytest.approx(1.0, abs=0.03)
    assert are_possible(found.model)
    for name, (low, high) in found.base.intervals.items():
        assert high - low == pytest.approx(2 * 1.96 * found.base.standard_errors[name], rel=0.01)


def test_values_that_are_fitted_are_those_of_the_model(found):
    k = found.model.link_names.index("rod2")
    flat = found.model.flat
    assert found.values["mass rod2"] == pytest.approx(flat.link_mass[k], rel=1e-12)
    for axis, at in enumerate("xyz"):
        assert found.values[f"com rod2.{at}"] == pytest.approx(flat.link_com[k][axis], rel=1e-12)
    for entry, at in {"xx": (0, 0), "yy": (1, 1), "zz": (2, 2), "xy": (0, 1), "xz": (0, 2), "yz": (1, 2)}.items():
        assert found.values[f"inertia rod2.{entry}"] == pytest.approx(flat.link_inertia[k][at], rel=1e-9, abs=1e-15)
    given = found.model
    assert found.base.values == pytest.approx({name: vt.base_parameters(given).values(given)[name]
                                               for name in found.base.values}, rel=1e-9, abs=1e-12)  # fmt: skip


def test_the_search_starts_from_a_regression(found):
    """The model's own numbers are off by 300 %."""
    runs = swings(3)
    start = Parameters(FAR, ASKED, None, 0.5)
    truth = vt.base_parameters(PLANT).values(PLANT)
    candidates = [*regressions(start, checked_runs(FAR, runs, None)[0])]
    assert len(candidates) >= 4
    base = np.array([start.base_values(z) for z in candidates])
    names = start.base.names
    near = [abs(base[:, names.index(name)] / truth[name] - 1).min() for name in ("rod1.m*cz - rod2.m", "rod2.m*cz")]
    assert max(near) < 0.05
    assert found.initial["friction hinge1"] != pytest.approx(0.5)
    far = {name: abs(found.initial[name] - found.values[name]) for name in ("friction hinge1", "damping hinge1")}
    assert max(far.values()) < 0.1
    assert found.evaluations < 25
    without = [vt.Measurement(run.t, run.q, run.v) for run in runs]
    assert not [*regressions(start, checked_runs(FAR, without, None)[0])]  # without forces, no mass is as good


def test_an_arm_tells_the_payload_that_it_can_tell():
    """Six axes: the flange's whole inertia from encoders and torques."""
    arm = vt.load_urdf(vt.find_robot("arm6")).with_parameters(armature=[2.0, 2.0, 1.5, 0.5, 0.3, 0.2])
    load = np.array([[0.02, 1e-3, 0], [1e-3, 0.03, 2e-3], [0, 2e-3, 0.025]])
    plant = arm.with_parameters(mass={"flange": 2.6}, com={"flange": [0.03, -0.02, 0.08]}, inertia={"flange": load})
    rng, runs = np.random.default_rng(0), []
    M = np.diag(arm.crba(np.full(6, 0.5)))
    for _ in range(2):
        goal, taus = waves(rng, np.arange(200) * 0.01, 0.6, 6), []
        sim = vt.Simulation(plant, goal[0], dt=0.01, record_every=1)
        for row in goal:
            hold = arm.rnea(sim.q, np.zeros(6), np.zeros(6))
            taus.append(hold + 60 * M * (row - sim.q) - 8 * M * sim.v)
            sim.step(control=taus[-1])
        run = sim.trajectory
        runs.append(vt.Measurement(run.t, run.q + 2e-4 * rng.normal(size=run.q.shape), torque=np.array(taus)))
    found = vt.identify(arm, {"inertial": "flange"}, runs, window=0.5, noise=(2e-4,))
    truth = {"mass flange": 2.6, "com flange.x": 0.03, "com flange.y": -0.02, "com flange.z": 0.08}
    z = [(found.values[name] - value) / found.standard_errors[name] for name, value in truth.items()]
    assert np.abs(z).max() < 3.5
    assert np.abs(errors_of_base(found, plant)).max() < 4
    assert found.rms == pytest.approx(1.0, abs=0.05) and are_possible(found.model)
    assert not found.unidentifiable  # all else of the arm is known


# ---- loops and feet -------------------------------------------------------------------------------------------


def looped(rng, plant):
    q0 = vt.satisfy_constraints(plant, plant.start)
    tau = np.zeros((100, 7))
    tau[:, [0, 4]] = waves(rng, np.arange(100) * 0.01, 6.0)
    run = vt.rollout(plant, q0[None], duration=1.0, dt=0.01, control=tau[None])
    q, v = run.q[0] + 1e-3 * rng.normal(size=run.q[0].shape), run.v[0] + 1e-2 * rng.normal(size=run.v[0].shape)
    return vt.Measurement(run.t, q, v, torque=tau)


def test_loops_stay_closed_at_the_starts_of_windows():
    inertia, rng = np.diag([0.1, 0.2, 0.15]), np.random.default_rng(0)
    model = closed_chain().with_parameters(inertia={"G": inertia})
    plant = model.with_parameters(mass={"G": 1.4}, inertia={"G": inertia + np.diag([0, 0.1, 0.1])},
                                  damping={"J": 0.3, "A": 0.2})  # fmt: skip
    run, start = looped(rng, plant), model.with_parameters(damping={"J": 0.1, "A": 0.1})
    found = vt.identify(start, {"inertial": "G", "damping": ["J", "A"]}, run, window=0.5, noise=(1e-3, 1e-2))
    assert found.rms == pytest.approx(1.0, abs=0.03)
    assert np.abs(errors_of_base(found, plant)).max() < 4
    _, q, v = found.starts
    h, Dh = model._constraint_rows(q)
    assert np.abs(h).max() < 1e-9 and np.abs(np.einsum("nmv,nv->nm", Dh, v)).max() < 1e-9
    assert found.freedom == 101 * 14 - 2 * 2 * 3 - 12


def leg():
    """A trunk in a plane on a leg of two links, with a round foot."""
    tree = vt.Tree("leg")
    trunk = tree.world.add(vt.tx("x"), vt.tz("z"), vt.body("trunk", 3.0, (0.05, 0.05, 0.05)))
    thigh = trunk.add(vt.ry("hip"), vt.body("thigh", 0.5, (0.003, 0.003, 0.001), com=(0, 0, -0.15)))
    shank = thigh.add(vt.tz(-0.3), vt.ry("knee"), vt.body("shank", 0.3, (0.002, 0.002, 0.001), com=(0, 0, -0.15)))
    shank.add(vt.tz(-0.3), vt.body("foot", 0.1, (1e-4, 1e-4, 1e-4)))
    tree.contact(vt.Ground(friction=1.0), vt.Contact("foot", shapes=[vt.Sphere(0.02)]))
    return tree.compile()


def stood(rng, plant):
    q0 = np.array([0.0, 0.6 * np.cos(0.6) + 0.02, 0.6, -1.2])
    goal, taus = q0[2:] + 0.15 * waves(rng, np.arange(120) * 0.005, 1.0), []
    sim = vt.Simulation(plant, q0, dt=0.005, record_every=1)
    for row in goal:
        tau = np.append([0.0, 0.0], 60 * (row - sim.q[2:]) - 3 * sim.v[2:])
        tau[3] += 3.6 * 9.81 * 0.3 * np.sin(0.6)
        taus.append(tau)
        sim.step(control=tau)
    run = sim.trajectory
    q, v = run.q + 3e-4 * rng.normal(size=run.q.shape), run.v + 1e-2 * rng.normal(size=run.v.shape)
    return vt.Measurement(run.t, q, v, torque=np.array(taus))


def test_feet_stay_on_the_ground_at_the_starts_of_windows():
    model, rng = leg(), np.random.default_rng(0)
    plant = model.with_parameters(mass={"trunk": 3.6, "thigh": 0.6}, damping={"knee": 0.1})
    found = vt.identify(model, {"mass": ["trunk", "thigh"], "damping": "knee"}, [stood(rng, plant)], window=0.2,
                        noise=(3e-4, 1e-2))  # fmt: skip
    truth = {"mass trunk": 3.6, "mass thigh": 0.6, "damping knee": 0.1}
    z = [(found.values[name] - value) / found.standard_errors[name] for name, value in truth.items()]
    assert np.abs(z).max() < 3.5 and found.rms == pytest.approx(1.0, abs=0.05)
    gaps = [model.contact_gaps(q).gap.min() for q in found.starts[1]]
    assert np.abs(gaps).max() < 1e-9
    assert found.freedom == 121 * 8 - len(gaps) * 2 * 3 - 3


def test_models_that_cannot_be_fitted_are_told():
    run = swings(0, duration=0.5, runs=1)
    for asked, text in (({"inertial": "rod1", "mass": "rod1"}, 'inertial of "rod1" and its mass'),
                        ({"com": "rod1.z", "inertial": "rod1"}, 'inertial of "rod1" and its com')):  # fmt: skip
        with pytest.raises(vt.InputError, match=text):
            vt.identify(PENDULUM, asked, run)
    with pytest.raises(vt.InputError, match="every inertia that is tried is physically possible"):
        vt.identify(PENDULUM, {"inertial": "rod1"}, run, bounds={"inertial": {"rod1": (1, 2)}})
    with pytest.raises(vt.UnknownNameError, match="rod3"):
        vt.identify(PENDULUM, {"inertial": "rod3"}, run)
    with pytest.raises(vt.ModelError, match='the mass of "base" is 0 kg'):
        vt.identify(PENDULUM, {"inertial": "base"}, run)
    tree = vt.Tree("limited")
    tree.world.add(vt.ry("hinge", lower=-1.0, upper=1.0), vt.tz(-1.0), vt.body("rod", 1.0))
    tree.limits = "enforce"
    with pytest.raises(vt.InputError, match='give limits="report"'):
        vt.identify(tree.compile(), {"mass": "rod"}, vt.Measurement(np.arange(9) * 0.1, np.zeros((9, 1))))


# ---- the search -----------------------------------------------------------------------------------------------


def fits(asked=ASKED):
    runs, dt = checked_runs(FAR, swings(3), None)
    windows = Windows(runs, 0.5, dt)
    what = Parameters(PLANT.with_parameters(mass={"rod1": 1.4}), asked, None, 0.5)
    sigma = {"q": np.full(2, 2e-3), "v": np.full(2, 2e-2)}
    starts = Starts(what.model, windows.q[:, 0])
    return Fit(what, windows, sigma, starts, True, {"method": None, "threads": 1})


def test_a_step_is_that_of_all_unknowns_at_once():
    """The starts eliminated, against one dense problem with the same damping."""
    fit = fits({"mass": ["rod1", "rod2"], "damping": JOINTS})
    at = fit.at(fit.parameters.start, fit.windows.q[:, 0], first_velocities(fit.parameters.model, fit.windows))
    fit.linearised(at)
    for damping in (1e-8, 1e-2, 10.0):
        move, starts, promised = fit.step(at, damping)
        A, (n, rows, k), p = at.A @ at.ways, at.B.shape, 4
        J = np.zeros((n * rows, p + n * k))
        J[:, :p] = A.reshape(-1, p)
        for i in range(n):
            J[i * rows : (i + 1) * rows, p + i * k : p + (i + 1) * k] = at.B[i]
        size = np.linalg.norm(J, axis=0)
        # parameters are damped by their columns where starts make up for what they can
        left = fit.projection(at, A).reshape(-1, p)
        if damping < 1e-6:
            size[:p] = np.linalg.norm(left, axis=0)
            full = np.concatenate((J, np.sqrt(damping) * np.diag(size)))
            x = np.linalg.lstsq(full, -np.append(at.r.ravel(), np.zeros(len(size))), rcond=None)[0]
            np.testing.assert_allclose(move, x[:p], rtol=1e-4, atol=1e-7)
            np.testing.assert_allclose(starts.ravel(), x[p:], rtol=1e-3, atol=1e-6)
        after = at.r.ravel() + J @ np.append(move, starts)
        assert promised == pytest.approx(at.cost - after @ after, rel=1e-9)
        assert promised > 0
        # the best starts for the step of the parameters, with their damping
        gradient = J[:, p:].T @ after + damping * size[p:] ** 2 * starts.ravel()
        np.testing.assert_allclose(gradient, 0.0, atol=1e-6 * np.abs(J[:, p:].T @ at.r.ravel()).max())


def test_a_search_without_a_step_that_helps_says_so(monkeypatch):
    monkeypatch.setattr(Fit, "tried", lambda *given: None)
    found = vt.identify(FAR, ASKED, swings(3), window=0.5)
    assert any(text.startswith("no step lowered the residuals by the") for text in found.warnings)


def test_slopes_are_those_of_differences_of_all_coordinates():
    """Ways in which nothing shows are left out of the differences; slopes are those of each coordinate by itself."""
    fit = fits()
    what = fit.parameters
    z = what.start + 0.05 * np.random.default_rng(0).normal(size=len(what)) * what.curved
    at = fit.at(z, fit.windows.q[:, 0], fit.windows.v[:, 0])
    fit.linearised(at)
    assert at.ways.shape == (10, 24)
    whole, step = at.A @ at.ways, 1e-5
    for k in (0, 1, 3, 5, 12, 17, 19, 20, 23):
        move = step * what.scale[k] * np.eye(24)[k]
        sides = [fit.at(z + sign * move, at.q, at.v).r for sign in (1.0, -1.0)]
        expected = (sides[0] - sides[1]) / (2 * step * what.scale[k])
        np.testing.assert_allclose(whole[:, :, k], expected, atol=2e-4 * np.abs(whole).max())


def test_a_step_keeps_base_parameters_where_they_were_promised():
    what = fits().parameters
    rng = np.random.default_rng(0)
    for scale in (0.05, 0.2):
        move = scale * what.scale * rng.normal(size=len(what))
        promised = what.base_values(what.start) + what.base_derivatives(what.start) @ move
        moved = what.moved(what.start, move)
        straight = np.abs(what.base_values(what.start + move) - promised).max()
        assert np.abs(what.base_values(moved) - promised).max() < 1e-6 * straight


def test_derivatives_of_values_and_base_parameters_are_those_of_differences():
    asked = {"inertial": "rod1", "mass": "rod2", "com": "rod2", "inertia": "rod2"}
    asked |= {"damping": JOINTS, "armature": JOINTS, "dry_friction": JOINTS}
    what = Parameters(PLANT.with_parameters(armature=[0.1, 0.2], dry_friction=[0.3, 0.4]), asked, None, 0.5)
    z = what.start + 0.01 * what.scale * np.random.default_rng(1).uniform(0, 1, len(what))
    for function, slopes in ((what.values, what.derivatives(z)), (what.base_values, what.base_derivatives(z))):
        found = np.column_stack([(function(z + h) - function(z - h)) / (2 * h.max())
                                 for h in 1e-6 * np.diag(what.scale)])  # fmt: skip
        np.testing.assert_allclose(slopes, found, rtol=1e-6, atol=1e-7 * np.abs(found).max())
    model = what.model_with(z)
    values = vt.base_parameters(model).values(model)
    assert [*values.values()] == pytest.approx(what.base_values(z), rel=1e-9, abs=1e-12)


# ---- records ----------------------------------------------------------------------------------------------------


def test_runs_whose_times_jitter_are_resampled():
    (run,) = swings(0, duration=1.0, runs=1, noise=(0.0, 0.0), finer=2)
    rng = np.random.default_rng(0)
    t = np.sort(np.concatenate(([0.0, 1.0], rng.uniform(0, 1, 400))))
    fine = vt.simulate(PLANT, run.q[0], duration=1.0, dt=1e-3, control=vt.Control(
        torque=lambda now, q, v: run.torque[min(int(now / 0.01 + 1e-9), 99)]))  # fmt: skip
    q, v = (np.array([np.interp(t, fine.t, column) for column in rows.T]).T for rows in (fine.q, fine.v))
    torque = run.torque[np.minimum((t[:-1] / 0.01).astype(int), 99)]
    jittered = vt.Measurement(t, q, v, torque=torque)
    with pytest.raises(vt.InputError, match=r"run.resampled\(model, dt\)"):
        vt.identify(PENDULUM, {"mass": "rod1"}, jittered)
    even = jittered.resampled(PENDULUM, 0.01)
    assert even.t == pytest.approx(np.arange(101) * 0.01)
    np.testing.assert_allclose(even.q, fine.q[::10], atol=1e-3)
    np.testing.assert_allclose(even.v, fine.v[::10], atol=2e-2)
    # the impulse of the torque stays
    np.testing.assert_allclose(even.torque.sum(axis=0) * 0.01, (torque * np.diff(t)[:, None]).sum(axis=0), rtol=1e-12)
    found = vt.identify(PLANT.with_parameters(mass={"rod1": 1.0}), {"mass": "rod1"}, even, window=0.5)
    assert found.values["mass rod1"] == pytest.approx(1.3, rel=0.01)


def test_orientations_are_resampled_along_geodesics():
    tree = vt.Tree("top")
    tree.world.add(vt.ball("pivot"), vt.body("top", 1.0, (0.10, 0.2, 0.25)))
    model = tree.compile()
    q = np.array([model.integrate(model.neutral(), np.array([0.0, 0.4 * k, 0.0])) for k in range(5)])
    even = vt.Measurement(np.arange(5) * 1.0, q, torque=[0.1, 0.2, 0.3]).resampled(model, 0.25)
    expected = [model.integrate(model.neutral(), np.array([0.0, 0.1 * k, 0.0])) for k in range(17)]
    np.testing.assert_allclose(even.q, expected, atol=1e-12)
    assert even.v is None and even.torque == pytest.approx(np.tile([0.1, 0.2, 0.3], (16, 1)))
    wrong = (({"dt": 0.0}, "dt"), ({"dt": 1e-14}, "give a longer dt"), ({"dt": 3.0}, "at most half"),
             ({"model": 3}, "model"))  # fmt: skip
    for change, text in wrong:
        given = {"model": model, "dt": 0.25} | change
        with pytest.raises(vt.InputError, match=text):
            vt.Measurement(np.arange(5) * 1.0, q).resampled(**given)
    with pytest.raises(vt.InputError, match="torque has shape"):
        vt.Measurement(np.arange(5) * 1.0, q, torque=np.zeros((9, 3))).resampled(model, 0.25)
