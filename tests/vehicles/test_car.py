"""The car: reference values, order, what the explicit update keeps, and that it is the general one."""

from __future__ import annotations

import json
import runpy

import nonholonomic_cases as cases
import numpy as np
import pytest
from places import DATA, EXAMPLES

import vitree as vt
from vitree import vehicles
from vitree.integrators.base import Records

REFERENCE = json.loads((DATA / "vehicles.json").read_text())["car"]

EXAMPLES = EXAMPLES / "vehicles"


def run(dt, duration=REFERENCE["T"], method="lie", case=None, **options):
    case = case or cases.car_case()
    given = {"control": vt.Control(inputs=case.inputs), **options}
    return vt.simulate(case.vehicle, case.q, case.v, duration=duration, dt=dt, method=method, **given)


def test_the_case_is_the_reference():
    car, start = cases.car_case().vehicle, REFERENCE["y0"]
    names = {"m": "mass", "K": "inertia", "I": "wheel_inertia", "l": "wheelbase", "rho": "wheel_radius"}
    assert all(getattr(car, name) == REFERENCE[key] for key, name in names.items())
    assert list(cases.car_case().q) == [start[0], start[1], start[2], *start[3:5]] and cases.car_case().v[0] == start[5]


@pytest.mark.parametrize(
    ("method", "options", "order", "steps"),
    [
        ("lie", {}, 2, (0.02, 0.01, 0.005)),
        ("lie", {"alpha": 0}, 1, (0.005, 0.0025, 0.00125)),
        ("lie", {"alpha": 1.0}, 1, (0.005, 0.0025, 0.00125)),
        ("lie-implicit", {}, 2, (0.1, 0.05, 0.025)),
        ("rk2", {}, 2, (0.02, 0.01, 0.005)),
        ("rk4", {}, 4, (0.04, 0.02, 0.01)),
    ],
    ids=str,
)
def test_reference_and_order(method, options, order, steps):
    errors = []
    for dt in steps:
        end = run(dt, method=method, **options)
        errors.append(np.abs(np.append(end.q[-1], end.v[-1, 0]) - REFERENCE["ref"]).max())
    assert np.polyfit(np.log(steps), np.log(errors), 1)[0] == pytest.approx(order, abs=0.05)
    if method == "lie" and order == 2:
        # half the error of the midpoint rule
        assert errors[1] == pytest.approx(1.54e-4, rel=0.01)


@pytest.mark.parametrize("alpha", [0, 0.3, 0.5, 1])
def test_the_explicit_update_is_the_general_one(alpha):
    case = cases.car_case(rolling_resistance=0.02)
    rows = np.column_stack([np.sin(np.arange(50)), 0.4 * np.cos(np.arange(50))])
    torque = np.array([0.1, 0, 0.3, -0.4, 5.0])
    given = {"case": case, "control": vt.Control(inputs=rows, torque=torque), "alpha": alpha}
    explicit = run(0.02, 1.0, **given)
    general = run(0.02, 1.0, "lie-implicit", map="exp", tangent="trapezoidal", **given)
    np.testing.assert_allclose(general.q, explicit.q, atol=1e-12)
    np.testing.assert_allclose(general.v, explicit.v, atol=1e-11)


@pytest.mark.parametrize("alpha", [0, 0.5, 1])
def test_each_step_obeys_the_constraints(alpha):
    case, log = cases.car_case(), vehicles.NonholonomicVehicle().pose.group.maps["exp"].log
    trajectory, pose = run(0.05, alpha=alpha), case.vehicle.pose
    for q0, q1 in zip(trajectory.q[:-1], trajectory.q[1:], strict=True):
        step, twist = q1[:2] - q0[:2], log(np.linalg.solve(pose.matrix(q0[2:]), pose.matrix(q1[2:])))
        slip = case.rows(q0[:2] + alpha * step) @ np.concatenate((step, twist))
        # round-off of psi and of the position, which grow to 110 rad and 9 m
        assert np.abs(slip).max() < 1e-14
    slips = [np.abs(case.rows(q[:2]) @ v).max() for q, v in zip(trajectory.q, trajectory.v, strict=True)]
    assert max(slips) < 1e-14


def test_a_car_left_alone_drives_round_a_circle():
    car = vehicles.car()
    sigma, speed, turns = 0.4, 10.0, 3
    radius = car.wheelbase / sigma
    q0 = [0, sigma, 0.3, 1.0, 2.0]
    v0 = car.velocity(q0, {"psi": speed / car.wheel_radius})
    period = 2 * np.pi * radius / speed
    run = vt.simulate(car, q0, v0, duration=turns * period, dt=period / 10)
    assert np.ptp(run.energy) < 1e-14 * run.energy[0] * 10
    centre = np.array([1.0, 2.0]) + radius * np.array([-np.sin(0.3), np.cos(0.3)])
    np.testing.assert_allclose(np.linalg.norm(run.q[:, 3:] - centre, axis=1), radius, rtol=1e-13)
    np.testing.assert_allclose(run.q[-1, 2:], [0.3 + 2 * np.pi * turns, 1.0, 2.0], atol=1e-12)


def test_energy_comes_back_with_the_steering():
    # steering back the way it came undoes each step's gain, to round-off, however long the step
    car = vehicles.car(inertia=20000.0)
    there = 3.0 * np.sin(np.arange(1, 6))
    rates = 0.2 * np.tile(np.concatenate((there, -there[::-1])), 200)
    v0 = car.velocity(car.neutral(), {"psi": 30.0})
    inputs = np.column_stack((np.zeros(len(rates)), rates))
    trajectory = vt.simulate(car, v0=v0, duration=0.2 * len(rates), dt=0.2, control=vt.Control(inputs=inputs))
    energy = trajectory.energy
    assert np.abs(energy[::10] / energy[0] - 1).max() < 1e-11
    assert np.ptp(energy) < 0.02 * energy[0]
    # the midpoint rule loses or gains with each turn of the wheel
    other = vt.simulate(car, v0=v0, duration=0.2 * len(rates), dt=0.2, control=vt.Control(inputs=inputs),
                        method="rk2").energy
    assert abs(other[-1] / energy[0] - 1) > 1e-6


def test_time_runs_back():
    case = cases.car_case()
    rows = np.column_stack((np.sin(np.arange(40)), 0.4 * np.cos(np.arange(40))))
    there = run(0.05, 2.0, control=vt.Control(inputs=rows))
    v1 = -there.v[-1]
    back = vt.simulate(case.vehicle, there.q[-1], v1, duration=2.0, dt=0.05,
                       control=vt.Control(inputs=rows[::-1] * [1, -1]))
    np.testing.assert_allclose(back.q[-1], case.q, atol=1e-12)
    assert back.v[-1, 0] == pytest.approx(-case.v[0], abs=1e-12)


def test_rolling_resistance_takes_the_energy():
    case = cases.car_case(rolling_resistance=0.05)
    assert not case.vehicle.is_conservative and cases.car_case().vehicle.is_conservative
    case.inputs = {"steering": lambda t: 0.3 * np.cos(t)}
    truth = run(0.02, 4.0, "scipy-dop853", case, rtol=1e-12, atol=1e-12)
    steps = (0.08, 0.04, 0.02)
    errors = [np.abs(run(dt, 4.0, case=case).q[-1] - truth.q[-1]).max() for dt in steps]
    assert np.polyfit(np.log(steps), np.log(errors), 1)[0] == pytest.approx(2, abs=0.05)
    assert (np.diff(run(0.02, 4.0, case=case).energy) < 0).all()


@pytest.mark.parametrize("method", ["lie", "lie-implicit", "rk2", "rk4"])
def test_feedback_keeps_the_order(method):
    # a driver who holds the heading and the speed: asked once a step, at its predicted middle
    case = cases.car_case()
    case.inputs = lambda t, q, v: [2 * (5.0 - v[0]), 1.5 * (0.4 * np.sin(t) - q[2]) - 0.5 * q[1]]
    truth = run(0.05, 2.0, "scipy-dop853", case, rtol=1e-11, atol=1e-11)
    steps = (0.04, 0.02, 0.01)
    errors = [np.abs(run(dt, 2.0, method, case).q[-1] - truth.q[-1]).max() for dt in steps]
    assert np.polyfit(np.log(steps), np.log(errors), 1)[0] == pytest.approx(4 if method == "rk4" else 2, abs=0.15)


def test_compare_and_trajectories(tmp_path):
    case = cases.car_case()
    table = vt.compare(case.vehicle, ["lie", "rk2", "rk4"], case.q, case.v, duration=2.0, dt=[0.1, 0.05],
                       control=vt.Control(inputs=case.inputs))  # fmt: skip
    assert table.orders["lie"] == pytest.approx(2, abs=0.1) and table.reference_error < 1e-9
    trajectory = run(0.05, monitors=("energy", "momentum"))
    trajectory.save(tmp_path / "car.npz")
    loaded = vt.Trajectory.load(tmp_path / "car.npz")
    assert np.array_equal(loaded.q, trajectory.q) and loaded.q_names == ("psi", "sigma", "theta", "x", "y")
    np.testing.assert_allclose(loaded.monitors["energy"], trajectory.energy[1:])
    np.testing.assert_allclose(trajectory.p[:, 3], 10.0 * trajectory.v[:, 3])
    np.testing.assert_allclose(trajectory.momentum[:, 3], 10.0 * trajectory.v[:, 3] * np.cos(trajectory.q[:, 2]))


@pytest.mark.parametrize("method", ["lie", "rk2", "rk4"])
def test_runs_resume_bit_for_bit(method):
    case = cases.car_case()
    case.inputs = lambda t, q, v: [np.sin(t) - 0.1 * v[0], -q[1]]
    whole, first = run(0.05, 2.0, method, case), run(0.05, 0.8, method, case)
    rest = first.resume(1.2, control=vt.Control(inputs=case.inputs))
    assert np.array_equal(rest.q[-1], whole.q[-1]) and np.array_equal(rest.v[-1], whole.v[-1])


def test_a_start_forgets_what_was_run():
    case = cases.car_case()
    integrator = case.vehicle.methods["lie"](case.vehicle, 0.05, inputs=lambda t, q, v: [1.0 - v[0], np.cos(t)])
    ends = []
    for _ in range(2):
        integrator.start(0.0, case.q, case.v)
        rows = np.empty(0), np.empty((0, 5)), np.empty((0, 5)), np.empty(0, np.intc), np.empty(0), np.empty((0, 0))
        integrator.stepper.run(5, 9, Records(*rows))
        ends.append(integrator.stepper.state()[1])
    assert np.array_equal(*ends)


def test_steps_that_differ():
    even = run(0.05, 2.0)
    case = cases.car_case()
    other = vt.simulate(case.vehicle, case.q, case.v, dt=np.tile([0.03, 0.07], 20),
                        control=vt.Control(inputs=case.inputs))
    assert np.abs(other.q[-1] - even.q[-1]).max() < 2e-3
    again = vt.simulate(case.vehicle, case.q, case.v, dt=np.full(40, 0.05), control=vt.Control(inputs=case.inputs))
    np.testing.assert_allclose(again.q, even.q, atol=1e-12)


def test_the_example_of_parking(capsys):
    runs = runpy.run_path(str(EXAMPLES / "parallel_parking.py"))["main"]()
    # the path is exact at any time step: two arcs of radius l/sigma, each as long as the torque makes it
    car, sigma, torque, half = vehicles.car(), 0.7, 500.0, 1.6
    inertia = 2.5 + 1200 * 0.3**2 + 2000 * (0.3 * sigma / 2.6) ** 2
    angle, radius = 0.3 * torque / inertia * half**2 * sigma / car.wheelbase, car.wheelbase / sigma
    for dt in (0.2, 0.1):
        end = runs[f"lie, dt = {dt} s"].q[-1]
        np.testing.assert_allclose(
            end[1:], [0, 0, -2 * radius * np.sin(angle), -2 * radius * (1 - np.cos(angle))], atol=1e-12
        )
    assert "aside" in capsys.readouterr().out


def test_wheels_point_along_their_way():
    car = vehicles.car()
    q = np.array([0.5, 0.4, 0.7, 1.0, -2.0])
    v, e = car.velocity(q, {"psi": 2.0, "sigma": 0.0}), 1e-6
    now, later = car.frame_poses(q), car.frame_poses(car.integrate(q, e * v))
    for name in ("rear_left", "rear_right"):
        rate = (later[name] - now[name])[:3, 3] / e
        assert now[name][:3, 1] @ rate == pytest.approx(0, abs=1e-5)
    # the middle of the front axle moves along the mean of the front wheels
    middle = sum((later[name] - now[name])[:3, 3] for name in ("front_left", "front_right")) / (2 * e)
    assert now["front_left"][:3, 1] @ middle == pytest.approx(0, abs=1e-5)
    # a front wheel at this steering rolls without slip
    spin = now["front_left"][:3, :3].T @ (later["front_left"] - now["front_left"])[:3, :3] / e
    assert 0.3 * spin[0, 2] == pytest.approx(np.linalg.norm(middle), rel=1e-4)


@pytest.mark.parametrize(
    ("parameters", "text"),
    [
        ({"mass": 0.0}, "mass"), ({"inertia": -1.0}, "inertia"), ({"wheelbase": np.nan}, "wheelbase"),
        ({"wheel_radius": "wide"}, "wheel radius"), ({"rolling_resistance": -0.1}, "rolling resistance"),
        ({"max_steering": 1.6}, "between 0 and pi/2"), ({"wheel_inertia": 0}, "wheel inertia"),
    ],
)  # fmt: skip
def test_bad_parameters(parameters, text):
    with pytest.raises(vt.ModelError, match=text):
        vehicles.car(**parameters)


@pytest.mark.parametrize(
    ("arguments", "error", "text"),
    [
        ({"v0": [1.0, 0, 0, 0, 0]}, vt.InputError, "breaks the constraints"),
        ({"q0": [0, 2.0, 0, 0, 0]}, vt.InputError, "sigma = 2, beyond its limit"),
        ({"control": vt.Control(inputs={"steering": 1.0})}, vt.ConvergenceError, "sigma would pass its limit"),
        ({"control": vt.Control(inputs={"steering": 1.0}), "method": "rk4"}, vt.ConvergenceError,
         "sigma would pass its limit"),
        ({"control": vt.Control(inputs={"steering": 1.0}), "method": "lie-implicit"}, vt.ConvergenceError,
         "sigma would pass its limit"),
        ({"control": [0, 1.0, 0, 0, 0]}, vt.InputError, "an input .steering. is the rate"),
        ({"control": lambda t, q, v: np.ones(5)}, vt.InputError, "an input .steering. is the rate"),
        ({"wrenches": [vt.ExternalWrench("body", np.zeros(3))]}, vt.InputError, "wrenches"),
        ({"control": vt.Control(inputs={"brake": 1.0})}, vt.UnknownNameError, "torque"),
        ({"control": vt.Control(inputs=np.zeros((3, 2)))}, vt.InputError, "3 rows"),
        ({"alpha": -0.1}, vt.InputError, "alpha"),
        ({"method": "midpoint"}, vt.UnknownNameError, "lie"),
        ({"map": "exp"}, vt.UnknownNameError, "alpha"),
        ({"dt": -0.1}, vt.InputError, "positive"),
    ],
)
def test_bad_input(arguments, error, text):
    with pytest.raises(error, match=text):
        vt.simulate(vehicles.car(), **{"duration": 1.0, "dt": 0.1, **arguments})


def test_a_failed_run_keeps_what_it_has():
    with pytest.raises(vt.ConvergenceError) as failure:
        vt.simulate(vehicles.car(max_steering=0.5), duration=2.0, dt=0.1, control=vt.Control(inputs={"steering": 1.0}))
    trajectory = failure.value.trajectory
    assert trajectory.q[-1, 1] == pytest.approx(0.5) and failure.value.time == pytest.approx(0.5)
    # a light car whose wheels are thrown over within one step
    with pytest.raises(vt.ConvergenceError, match="too far in this step"):
        vt.simulate(vehicles.car(mass=1.0, inertia=1e6, max_steering=1.5), [0, -10.0, 0, 0, 0], duration=1.0, dt=1.0,
                    control=vt.Control(inputs={"steering": 21.0}))  # fmt: skip
