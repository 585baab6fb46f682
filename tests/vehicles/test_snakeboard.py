"""The snakeboard: reference values, order, its momentum, and that the explicit update is the general one."""

from __future__ import annotations

import json
import runpy

import nonholonomic_cases as cases
import numpy as np
import pytest
from places import DATA, EXAMPLES

import vitree as vt
from vitree import vehicles

REFERENCE = json.loads((DATA / "vehicles.json").read_text())["snake"]

EXAMPLES = EXAMPLES / "vehicles"


def run(dt, duration=REFERENCE["T"], method="lie", case=None, **options):
    case = case or cases.snakeboard_case()
    given = {"control": vt.Control(inputs=case.inputs), **options}
    return vt.simulate(case.vehicle, case.q, case.v, duration=duration, dt=dt, method=method, **given)


def pushed():
    """A state that moves in every way."""
    case = cases.snakeboard_case()
    case.q = np.array([0.3, -0.4, 0.7, 1.0, -2.0])
    case.v = case.vehicle.velocity(case.q, [2.0, 0.5], [0.6])
    return case


def test_the_case_is_the_reference():
    board = vehicles.snakeboard()
    names = {"m": "mass", "l": "half_length", "I": "rotor_inertia", "J": "wheel_inertia"}
    assert all(getattr(board, name) == REFERENCE[key] for key, name in names.items())
    np.testing.assert_allclose(cases.snakeboard_case().v[:2], REFERENCE["u0"], rtol=1e-15)


@pytest.mark.parametrize(
    ("method", "options", "order", "steps"),
    [
        ("lie", {}, 2, (0.02, 0.01, 0.005)),
        ("lie", {"alpha": 0}, 1, (0.0025, 0.00125, 0.000625)),
        ("lie", {"alpha": 1.0}, 1, (0.0025, 0.00125, 0.000625)),
        ("lie-implicit", {}, 2, (0.1, 0.05, 0.025)),
        ("rk2", {}, 2, (0.02, 0.01, 0.005)),
        ("rk4", {}, 4, (0.04, 0.02, 0.01)),
    ],
    ids=str,
)
def test_reference_and_order(method, options, order, steps):
    errors, speeds = [], []
    for dt in steps:
        end = run(dt, method=method, **options)
        errors.append(np.abs(end.q[-1] - REFERENCE["ref"]).max())
        # the rates of psi, phi and theta, and of x and y in the world
        turn = end.q[-1, 2]
        world = [*end.v[-1, :3], end.v[-1, 3] * np.cos(turn), end.v[-1, 3] * np.sin(turn)]
        speeds.append(np.abs(np.array(world) - REFERENCE["refv"]).max())
    assert np.polyfit(np.log(steps), np.log(errors), 1)[0] == pytest.approx(order, abs=0.05)
    assert np.polyfit(np.log(steps), np.log(speeds), 1)[0] == pytest.approx(order, abs=0.1)


def test_the_rider_gains_momentum_with_each_gait():
    board, trajectory = vehicles.snakeboard(), run(0.01, 30.0)
    momentum = board.symmetry_momentum(trajectory.q, trajectory.v)[:, 0]
    np.testing.assert_allclose(momentum[600::600], REFERENCE["p1_h0.01"], rtol=1e-11)
    # the paper's p1 = 4 m l^2 cos^2(phi) lam + I sin(2 phi) psi'
    phi, lam = trajectory.q[:, 1], -trajectory.v[:, 3] / (2 * 0.2 * np.cos(trajectory.q[:, 1]) ** 2)
    p1 = 4 * 6.0 * 0.04 * np.cos(phi) ** 2 * lam + 0.016 * np.sin(2 * phi) * trajectory.v[:, 0]
    np.testing.assert_allclose(momentum, p1, atol=1e-13)


@pytest.mark.parametrize("method", ["lie", "lie-implicit"])
def test_momentum_stays_while_the_wheels_rest(method):
    board = vehicles.snakeboard()
    q0 = [0.2, 0.6, 0.4, 1.0, -1.0]
    v0 = board.velocity(q0, {"psi": 3.0}, [0.8])
    inputs = {"rotor": lambda t: 0.2 * np.sin(3 * t)}
    trajectory = vt.simulate(board, q0, v0, duration=20.0, dt=0.1, control=vt.Control(inputs=inputs), method=method)
    assert np.ptp(trajectory.q[:, 1]) == 0.0
    momentum = board.symmetry_momentum(trajectory.q, trajectory.v)
    assert np.ptp(momentum) < 1e-13
    # round the point where the axles meet, at l/tan(phi) from the middle; its angular momentum is P with e of unit turn
    radius = 0.2 / np.tan(0.6)
    centre = np.array([1.0, -1.0]) - radius * np.array([-np.sin(0.4), np.cos(0.4)])
    np.testing.assert_allclose(np.linalg.norm(trajectory.q[:, 3:] - centre, axis=1), radius, rtol=1e-12)
    _, _, turning, along_x, along_y, _ = trajectory.momentum.T
    about = turning - centre[0] * along_y + centre[1] * along_x
    np.testing.assert_allclose(about, momentum[:, 0] / np.sin(1.2), rtol=1e-12)


@pytest.mark.parametrize("alpha", [0, 0.3, 0.5, 1])
def test_the_explicit_update_is_the_general_one(alpha):
    case = pushed()
    rows = 0.05 * np.column_stack((np.sin(np.arange(50)), 0.1 * np.cos(np.arange(50))))
    given = {"case": case, "control": vt.Control(inputs=rows, torque=[0.01, -0.002, 0.03, -0.04, 0.5]), "alpha": alpha}
    explicit = run(0.02, 1.0, **given)
    general = run(0.02, 1.0, "lie-implicit", map="exp", tangent="trapezoidal", **given)
    np.testing.assert_allclose(general.q, explicit.q, atol=1e-12)
    np.testing.assert_allclose(general.v, explicit.v, atol=1e-11)


@pytest.mark.parametrize("alpha", [0, 0.5, 1])
def test_each_step_obeys_the_constraints(alpha):
    case, trajectory = cases.snakeboard_case(), run(0.05, alpha=alpha)
    pose = case.vehicle.pose
    log = pose.group.maps["exp"].log
    for q0, q1 in zip(trajectory.q[:-1], trajectory.q[1:], strict=True):
        step, twist = q1[:2] - q0[:2], log(np.linalg.solve(pose.matrix(q0[2:]), pose.matrix(q1[2:])))
        assert np.abs(case.rows(q0[:2] + alpha * step) @ np.concatenate((step, twist))).max() < 1e-14
    slips = [np.abs(case.rows(q[:2]) @ v).max() for q, v in zip(trajectory.q, trajectory.v, strict=True)]
    assert max(slips) < 1e-14


def test_energy_comes_back_with_the_steering():
    # wheels that turn out and back the same way leave rotor and board with the energy they had, however long the step
    board, n, dt = vehicles.snakeboard(), 10, 0.1
    out = 0.01 * np.sin(2 * np.pi * (np.arange(n) + 0.5) / n)
    rows = np.zeros((200 * n, 2))
    rows[:, 1] = np.tile(np.concatenate((out, out[::-1])), 100)
    v0 = board.velocity(board.neutral(), {"psi": 2.0}, [0.5])
    trajectory = vt.simulate(board, v0=v0, duration=dt * len(rows), dt=dt, control=vt.Control(inputs=rows))
    assert np.ptp(trajectory.q[:, 1]) > 0.3
    energy = trajectory.energy[:: 2 * n]
    assert np.ptp(energy) < 1e-11 * energy[0]
    assert np.ptp(trajectory.energy) > 1e-3 * energy[0]


def test_time_runs_back():
    case = pushed()
    rows = 0.05 * np.column_stack((np.sin(np.arange(20)), 0.1 * np.cos(np.arange(20))))
    there = run(0.05, 1.0, case=case, control=vt.Control(inputs=rows))
    back = vt.simulate(case.vehicle, there.q[-1], -there.v[-1], duration=1.0, dt=0.05,
                       control=vt.Control(inputs=rows[::-1]))
    np.testing.assert_allclose(back.q[-1], case.q, atol=1e-11)
    np.testing.assert_allclose(back.v[-1], -case.v, atol=1e-11)


@pytest.mark.parametrize("method", ["lie", "rk4"])
def test_runs_resume_bit_for_bit(method):
    case = cases.snakeboard_case()
    case.inputs = lambda t, q, v: [0.1 * np.sin(t) - 0.01 * v[0], -0.01 * q[1]]
    whole, first = run(0.05, 2.0, method, case), run(0.05, 0.8, method, case)
    rest = first.resume(1.2, control=vt.Control(inputs=case.inputs))
    assert np.array_equal(rest.q[-1], whole.q[-1]) and np.array_equal(rest.v[-1], whole.v[-1])


def test_the_example_of_gaits(capsys):
    runs = runpy.run_path(str(EXAMPLES / "snakeboard_gaits.py"))["main"]()
    ends = {name: run.q[-1, 2:] for name, run in runs.items()}
    assert ends["drive"][1] < -2 and abs(ends["turn"][0]) > 2 and np.abs(ends["turn"][1:]).max() < 0.05
    assert abs(ends["park"][2]) > 0.1 and abs(ends["park"][0]) < 0.01 and abs(ends["park"][1]) < 0.01
    assert "momentum" in capsys.readouterr().out


def test_compare():
    case = cases.snakeboard_case()
    table = vt.compare(case.vehicle, ["lie", "rk2", "rk4"], case.q, case.v, duration=2.0, dt=[0.1, 0.05],
                       control=vt.Control(inputs=case.inputs))  # fmt: skip
    assert table.orders["lie"] == pytest.approx(2, abs=0.1) and table.reference_error < 1e-9


@pytest.mark.parametrize(
    ("parameters", "text"),
    [
        ({"mass": 0.0}, "mass"), ({"half_length": -0.2}, "half length"), ({"rotor_inertia": 0.3}, "less than that of"),
        ({"wheel_inertia": np.inf}, "wheel inertia"), ({"max_steering": 2.0}, "between 0 and pi/2"),
    ],
)  # fmt: skip
def test_bad_parameters(parameters, text):
    with pytest.raises(vt.ModelError, match=text):
        vehicles.snakeboard(**parameters)


@pytest.mark.parametrize(
    ("arguments", "error", "text"),
    [
        ({"v0": [0, 0, 1.0, 0, 0]}, vt.InputError, "breaks the constraints"),
        ({"q0": [0, 1.5, 0, 0, 0]}, vt.InputError, "phi = 1.5, beyond its limit"),
        ({"control": vt.Control(inputs={"steering": 0.01})}, vt.ConvergenceError, "phi would pass its limit 1.4"),
        ({"control": vt.Control(inputs={"hip": 1.0})}, vt.UnknownNameError, "rotor"),
        ({"tolerance": 1e-9}, vt.UnknownNameError, "alpha"),
    ],
)
def test_bad_input(arguments, error, text):
    with pytest.raises(error, match=text):
        vt.simulate(vehicles.snakeboard(), **{"duration": 1.0, "dt": 0.1, **arguments})
