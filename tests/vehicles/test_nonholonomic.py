"""Nonholonomic vehicles in general: equations with multipliers, the implicit integrator, bad input."""

from __future__ import annotations

import pickle
import struct

import nonholonomic_cases as cases
import numpy as np
import pytest

import vitree as vt
from vitree import vehicles
from vitree._core import _vehicles
from vitree.vehicles.equations import Equations

CASES = {
    "sleigh": cases.sleigh, "rotor": cases.rotor, "glider": lambda: cases.rotor(cases.Glider), "car": cases.car_case,
    "snakeboard": cases.snakeboard_case,
}  # fmt: skip


def fitted(steps, errors):
    return np.polyfit(np.log(steps), np.log(errors), 1)[0]


def run(case, dt, duration, method="lie-implicit", **options):
    return vt.simulate(
        case.vehicle, case.q, case.v, duration=duration, dt=dt, method=method, control=vt.Control(inputs=case.inputs),
        **options
    )


def distance(vehicle, a, b):
    return max(np.abs(vehicle.difference(a.q[-1], b.q[-1])).max(), np.abs(a.v[-1] - b.v[-1]).max())


@pytest.fixture
def rng():
    return np.random.default_rng(5)


@pytest.mark.parametrize("name", CASES)
def test_rates_are_those_with_multipliers(name, rng):
    case = CASES[name]()
    vehicle = case.vehicle
    torque, inputs = rng.standard_normal(vehicle.nv), rng.standard_normal(len(vehicle.input_names))
    torque[vehicle.driven_at] = 0
    compiled_or_written = vehicle.methods["rk4"](vehicle, 0.01, torque=torque, inputs=inputs).stepper
    written = _vehicles.VehicleStepper(vehicle.nq, vehicle.nv, len(inputs), 0.01, inputs=inputs, torque=torque,
                                       method="rates", equations=Equations(vehicle))  # fmt: skip
    for stepper in (compiled_or_written, written):
        stepper.begin_at(0.0)
        for _ in range(5):
            q, s, e = case.q.copy(), len(vehicle.shape_names), 1e-6
            q[:s] += 0.3 * rng.standard_normal(s)
            v = vehicle.velocity(q, rng.standard_normal(s), rng.standard_normal(vehicle.symmetries(q[:s]).shape[1]))
            q, v = stepper.state_of(0.0, stepper.unknowns(q, v))  # the inputs' rates
            wanted = cases.acceleration(
                case, 0.0, q, v[vehicle.algebra], inputs, torque[vehicle.algebra], np.zeros(len(vehicle.driven))
            )
            y = stepper.unknowns(q, v)
            dy = stepper.rate_at(0.0, y)
            ends = [stepper.state_of(0.0, y + d * dy)[1][vehicle.algebra] for d in (e, -e)]
            found = (ends[0] - ends[1]) / (2 * e)
            np.testing.assert_allclose(found, wanted, atol=2e-7 * max(1, np.abs(wanted).max()))
            np.testing.assert_allclose(dy[: vehicle.nq], vehicle.configuration_rate(q, v), atol=1e-12)


@pytest.mark.parametrize("name", ["sleigh", "glider"])
@pytest.mark.parametrize(
    ("options", "order"),
    [
        *(({"map": name}, 2) for name in ("exp", "cayley", "dual-cayley", "trapezoidal")),
        ({"tangent": "trapezoidal"}, 2),
        ({"alpha": 0}, 1),
        ({"alpha": 1.0}, 1),
    ],
    ids=str,
)
def test_order(name, options, order):
    case = CASES[name]()
    steps, errors = (0.02, 0.01, 0.005), []
    if order == 1:
        steps = (0.005, 0.0025, 0.00125)
    truth = run(case, 0.02, 0.2, "scipy-dop853", rtol=1e-11, atol=1e-11)
    for dt in steps:
        errors.append(distance(case.vehicle, run(case, dt, 0.2, **options), truth))
    assert fitted(steps, errors) == pytest.approx(order, abs=0.05)


@pytest.mark.parametrize("name", CASES)
@pytest.mark.parametrize("map_name", ["exp", "cayley", "dual-cayley"])
def test_each_step_obeys_the_constraints(name, map_name):
    case = CASES[name]()
    vehicle, s, dt, alpha = case.vehicle, len(case.vehicle.shape_names), 0.05, 0.3
    log = vehicle.pose.group.maps[map_name].log
    trajectory = run(case, dt, 10 * dt, map=map_name, alpha=alpha)
    for q0, q1 in zip(trajectory.q[:-1], trajectory.q[1:], strict=True):
        step = q1[:s] - q0[:s]
        g0, g1 = (vehicle.pose.matrix(q[s:]) for q in (q0, q1))
        twist = log(vehicle.pose.group.inverse(g0) @ g1)
        slip = case.rows(q0[:s] + alpha * step) @ np.concatenate((step, twist))
        assert np.abs(slip).max(initial=0) < 1e-14
    for q, v in zip(trajectory.q, trajectory.v, strict=True):
        assert np.abs(case.rows(q[:s]) @ v[vehicle.algebra]).max(initial=0) < 1e-14


@pytest.mark.parametrize("map_name", ["exp", "cayley", "dual-cayley", "trapezoidal"])
def test_momentum_of_a_body_without_constraints(map_name):
    case = cases.rotor(fall=0.0)
    trajectory = run(case, 0.1, 15.0, map=map_name)
    assert np.abs(trajectory.momentum - trajectory.momentum[0]).max() < 1e-11
    # the wheel is a symmetry as well
    assert np.ptp(trajectory.p[:, 0]) < 1e-12
    assert np.ptp(trajectory.energy) < 2e-2 * trajectory.energy[0]
    # 1 - ad/2 belongs to the dual Cayley map
    other = run(case, 0.1, 15.0, map=map_name, tangent="trapezoidal")
    drift = np.abs(other.momentum - other.momentum[0]).max()
    assert drift > 1e-4 if map_name in ("exp", "cayley") else drift < 1e-11


def test_a_body_may_turn_by_less_than_a_turn_in_a_step():
    case = cases.rotor(fall=0.0)
    case.v[:] *= 20.0  # by more than 2 rad
    energy = run(case, 0.1, 1.0).energy
    assert np.ptp(energy) < 0.2 * energy[0]
    case.v[:] *= 3.0
    with pytest.raises(vt.ConvergenceError, match=r"turns by \d\.\d+ rad in this step, beyond the reach"):
        run(case, 0.1, 0.5)


@pytest.mark.parametrize("name", ["sleigh", "glider"])
def test_a_step_back_undoes_a_step(name):
    # alpha = 1/2 is symmetric: with velocities turned round, time runs back
    case = CASES[name]()
    case.inputs = None
    forces = {name: getattr(vehicles.NonholonomicVehicle, name) for name in ("body_force", "shape_force")}
    case.vehicle = type("Forceless", (type(case.vehicle),), forces)(**case.parameters)
    there = run(case, 0.05, 1.0)
    back = vt.simulate(case.vehicle, there.q[-1], -there.v[-1], duration=1.0, dt=0.05, method="lie-implicit")
    assert np.abs(case.vehicle.difference(case.q, back.q[-1])).max() < 1e-11
    assert np.abs(back.v[-1] + case.v).max() < 1e-11
    assert np.ptp(there.energy) < 0.05 * abs(there.energy[0])


def test_driven_coordinates():
    # the bob's rate is given: its acceleration pushes the sleigh, which the impulse of the step has, and rates have not
    case = cases.sleigh(cases.DrivenSleigh)
    vehicle, pull = case.vehicle, case.inputs["pull"]
    case.v = vehicle.velocity(case.q, [pull(0.0)], [0.8, 1.1])

    def rate(t, y):
        w = y[4:].copy()
        driven = [(pull(t + 1e-5) - pull(t - 1e-5)) / 2e-5]
        dw = cases.acceleration(case, t, y[:4], w, np.array([0.0]), np.zeros(4), driven)
        return np.concatenate((w[:1], vehicle.pose.rate(y[1:4], w[1:]), dw))

    from scipy.integrate import solve_ivp

    start = np.concatenate((case.q, case.v))
    truth = solve_ivp(rate, (0, 1.0), start, method="DOP853", rtol=1e-10, atol=1e-10).y[:4, -1]
    steps = (0.04, 0.02, 0.01)
    errors = [np.abs(run(case, dt, 1.0).q[-1] - truth).max() for dt in steps]
    assert fitted(steps, errors) == pytest.approx(2, abs=0.05)
    with pytest.raises(vt.InputError, match="inputs give rates only"):
        run(case, 0.1, 1.0, "rk4")


class Kinematic(vehicles.NonholonomicVehicle):
    """A vehicle without inertia to move."""

    shape_names = ("roll", "turn")
    input_names = ("roll", "turn")
    driven = {"roll": "roll", "turn": "turn"}  # noqa: RUF012

    def connection(self, r):
        return np.array([[0, -1.0], [-0.1, 0], [0, 0]])

    def mass_matrix(self, r):
        return np.eye(5)


def test_a_vehicle_without_inertia_to_move_follows_its_connection():
    trajectory = vt.simulate(Kinematic(), duration=2.0, dt=0.1, control=vt.Control(inputs=[3.0, 0.5]))
    # a circle of radius 0.6
    np.testing.assert_allclose(trajectory.q[-1, 2:], [1.0, 0.6 * np.sin(1.0), 0.6 * (1 - np.cos(1.0))], atol=1e-13)


@pytest.mark.parametrize("method", ["rk2", "rk4", "lie-implicit"])
def test_runs_resume_where_a_rate_depends_on_the_rate_before(method):
    def rates(t, q, v):
        return np.array([3.0 - 0.5 * v[0], 0.5 + 0.1 * v[1]])

    whole, first = (vt.simulate(Kinematic(), duration=d, dt=0.1, control=vt.Control(inputs=rates),
                                method=method) for d in (1.0, 0.5))
    rest = first.resume(0.5, control=vt.Control(inputs=rates))
    np.testing.assert_array_equal(rest.q[-1], whole.q[-1])


def test_a_vehicle_without_a_shape():
    class Edge(vehicles.NonholonomicVehicle):
        # a sleigh whose centre of mass is ahead of its edge (Chaplygin): it turns until it glides straight ahead
        def symmetries(self, r):
            return np.array([[1.0, 0], [0, 1], [0, 0]])

        def mass_matrix(self, r):
            return np.array([[2.0, 0, 0.5], [0, 1, 0], [0.5, 0, 1]])

    edge = Edge()
    trajectory = vt.simulate(edge, v0=[1.5, -0.3, 0], duration=30.0, dt=0.1)
    omega, ahead = trajectory.v[:, 0], trajectory.v[:, 1]
    assert abs(omega[-1]) < 1e-6 and ahead[-1] == pytest.approx(np.sqrt(2 * trajectory.energy[0]), rel=5e-3)
    fine = vt.simulate(edge, v0=[1.5, -0.3, 0], duration=1.0, dt=0.05, method="rk4")
    coarse = vt.simulate(edge, v0=[1.5, -0.3, 0], duration=1.0, dt=0.05, method="lie-implicit")
    assert np.abs(fine.q[-1] - coarse.q[-1]).max() < 1e-3


def test_a_lagrangian_gives_the_mass_matrix(rng):
    sleigh = cases.sleigh().vehicle
    for r in rng.standard_normal((5, 1)):
        m, M, J = 0.5, 2.0, 0.7
        arm = m * r[0]
        wanted = np.array([[m, 0, m, 0], [0, J + arm * r[0], 0, arm], [m, 0, M + m, 0], [0, arm, 0, M + m]])
        np.testing.assert_allclose(sleigh.mass_matrix(r), wanted, atol=1e-13)
        assert sleigh.potential(r) == pytest.approx(3.0 * (r[0] - 0.3) ** 2)


@pytest.mark.parametrize("name", CASES)
def test_the_contract_of_systems(name, rng):
    case = CASES[name]()
    vehicle, q = case.vehicle, case.q
    dq = 0.3 * rng.standard_normal(vehicle.nv)
    np.testing.assert_allclose(vehicle.difference(q, vehicle.integrate(q, dq)), dq, atol=1e-13)
    p = vehicle._momenta(q[None], case.v[None])
    np.testing.assert_allclose(vehicle._velocities(q[None], p)[0], case.v, atol=1e-13)
    slow = vehicle.integrate(q, 1e-6 * case.v)
    np.testing.assert_allclose((slow - q) / 1e-6, vehicle.configuration_rate(q, case.v), atol=1e-5)
    assert len(vehicle.q_names) == vehicle.nq and len(vehicle.v_names) == vehicle.nv
    assert pickle.loads(pickle.dumps(vehicle)) == vehicle and vehicle.total_mass > 0
    assert set(vehicle.frame_poses(q)) >= {shape.frame for shape in vehicle.geometry}


def test_the_digest_changes_with_what_the_motion_depends_on():
    class Stiff(cases.Sleigh):
        def shape_force(self, t, r, g, u, xi, inputs):
            return inputs - 0.3 * u

    numbers = {"J": 0.7, "M": 2.0, "m": 0.5, "k": 6.0}
    others = [Stiff("a", **numbers), cases.DrivenSleigh("a", **numbers), cases.Sleigh("a", **{**numbers, "k": 7.0})]
    assert len({x.digest for x in (cases.Sleigh("a", **numbers), cases.Sleigh("b", **numbers), *others)}) == 4


def test_energies_of_a_known_motion():
    case = cases.rotor(fall=0.0)
    vehicle, q = case.vehicle, case.q
    row = vehicle._energies(q[None], case.v[None])[0]
    g, w = vehicle.pose.matrix(q[1:]), case.v[vehicle.algebra]
    mu = (vehicle.mass_matrix(q[:1]) @ w)[1:]
    # moved to the world's origin: Ad(g)^-T
    np.testing.assert_allclose(row[2:8], np.linalg.solve(vehicle.pose.group.Ad(g).T, mu), atol=1e-13)
    assert row[0] == pytest.approx(vehicle.lagrangian(q[:1], w[:1], w[1:])) and row[1] == 0


@pytest.mark.parametrize("method", ["lie-implicit", "rk4"])
def test_runs_resume_bit_for_bit(method):
    case = cases.sleigh()
    case.inputs = lambda t, q, v: np.array([np.sin(t) - v[0]])
    whole, first = run(case, 0.05, 1.0, method), run(case, 0.05, 0.4, method)
    rest = first.resume(0.6, control=vt.Control(inputs=case.inputs))
    assert np.array_equal(rest.q[-1], whole.q[-1]) and np.array_equal(rest.v[-1], whole.v[-1])


@pytest.mark.parametrize("method", ["lie-implicit", "rk4"])
def test_rows_of_inputs_and_steps_that_differ(method):
    case = cases.sleigh()
    case.inputs = np.linspace(0, 1, 20)[:, None]
    even = run(case, 0.05, 1.0, method)
    uneven = vt.simulate(case.vehicle, case.q, case.v, dt=np.full(20, 0.05), method=method,
                         control=vt.Control(inputs=case.inputs))
    np.testing.assert_allclose(uneven.q, even.q, atol=1e-13)
    every = run(case, 0.05, 1.0, method, record_every=5, monitors=("energy", "iterations", "contraction"))
    assert np.array_equal(every.q, even.q[::5]) and np.allclose(every.monitors["energy"], even.energy[1:])


def test_compare():
    case = cases.sleigh()
    methods = ["lie-implicit", "rk2", "rk4"]
    table = vt.compare(case.vehicle, methods, dt=[0.1, 0.05], duration=0.5, q0=case.q, v0=case.v,
                       control=vt.Control(inputs=case.inputs))
    errors = {(row["label"], row["dt"]): row["error"] for row in table.table}
    for method, order in (("lie-implicit", 2), ("rk2", 2), ("rk4", 4)):
        assert np.log2(errors[method, 0.1] / errors[method, 0.05]) == pytest.approx(order, abs=0.5)
        assert case.vehicle.methods[method].order == order


def _with(**members):
    return type("Bad", (cases.Sleigh,), members)("bad", J=0.7, M=2.0, m=0.5, k=6.0)


@pytest.mark.parametrize(
    ("members", "text"),
    [
        ({"group": "SO3"}, "SE2"),
        ({"connection": lambda self, r: np.zeros((3, 2))}, r"connection\(r\) has shape \(3, 2\)"),
        ({"symmetries": lambda self, r: np.zeros(3)}, r"symmetries\(r\) has shape \(3,\)"),
        ({"mass_matrix": lambda self, r: np.diag([0.0, 1, 1, 1])}, "not positive definite"),
        ({"mass_matrix": lambda self, r: np.triu(np.ones((4, 4)))}, "not symmetric"),
        ({"lagrangian": lambda self, r, u, xi: u[0] ** 4 + u @ u + xi @ xi}, "is not w mass_matrix"),
        ({"lagrangian": lambda self, r, u, xi: u[0] + u @ u + xi @ xi}, "is not w mass_matrix"),
        ({"driven": {"x": "pull"}}, "driven"),
        ({"driven": {"s": "push"}}, "push"),
        ({"shape_limits": {"x": 1.0}}, "shape_limits"),
        ({"shape_units": {"x": "m"}}, "shape_units"),
    ],
)
def test_what_does_not_fit_is_said(members, text):
    with pytest.raises(vt.ModelError, match=text):
        vt.simulate(_with(**members), duration=1.0, dt=0.1)


def test_what_is_missing_is_said():
    class Empty(vehicles.NonholonomicVehicle):
        shape_names = ("s",)

    with pytest.raises(vt.ModelError, match="neither a mass_matrix nor a lagrangian"):
        vt.simulate(Empty(), duration=1.0, dt=0.1)
    with pytest.raises(vt.ModelError, match="name of a method"):
        cases.Sleigh(potential=3.0)


@pytest.mark.parametrize(
    ("arguments", "error", "text"),
    [
        ({"v0": [0, 0, 0, 1.0]}, vt.InputError, "breaks the constraints"),
        ({"alpha": 1.5}, vt.InputError, "alpha"),
        ({"map": "log"}, vt.UnknownNameError, "exp"),
        ({"tangent": "dual"}, vt.UnknownNameError, "exact"),
        ({"tolerance": -1.0}, vt.InputError, "tolerance"),
        ({"max_iterations": 0}, vt.InputError, "max_iterations"),
        ({"method": "midpoint"}, vt.UnknownNameError, "lie-implicit"),
        ({"wrenches": [vt.ExternalWrench("body", np.zeros(3))]}, vt.InputError, "wrenches"),
        ({"control": vt.Control(inputs={"push": 1.0})}, vt.UnknownNameError, "pull"),
        ({"q0": np.full(4, np.nan)}, vt.InputError, "finite"),
        ({"dt": 20.0, "duration": 20.0, "v0": [0, 2.0, 0, 0]}, vt.ConvergenceError, "halve dt"),
    ],
)
def test_bad_input(arguments, error, text):
    with pytest.raises(error, match=text):
        vt.simulate(cases.sleigh().vehicle, **{"duration": 1.0, "dt": 0.1, **arguments})


def test_a_start_may_slip_by_rounding_only():
    case = cases.sleigh()
    aside = np.array([0, 0, 0, 1.0])  # across the knife edge
    for slip, allowed in ((1e-10, True), (1e-8, False)):
        for size in (1.0, 100.0):
            v = size * np.array([0.0, 0, 1.0, 0]) + slip * size * aside
            if allowed:
                case.vehicle.require_allowed(case.q, v)
                continue
            with pytest.raises(vt.InputError, match="breaks the constraints"):
                case.vehicle.require_allowed(case.q, v)


def test_an_exception_in_a_callable_leaves_what_was_run():
    def force(t, q, v):
        if t > 0.5:
            raise RuntimeError("enough")
        return np.zeros(1)

    with pytest.raises(vt.CallableError, match="RuntimeError: enough"):
        vt.simulate(cases.sleigh().vehicle, duration=1.0, dt=0.1, control=vt.Control(inputs=force))
    wide = vt.Control(inputs=lambda t, q, v: np.zeros(2))
    with pytest.raises(ValueError, match=r"must be \(1,\)"):
        vt.simulate(cases.sleigh().vehicle, duration=1.0, dt=0.1, control=wide)


def test_a_potential_may_be_larger_than_the_kinetic_energy():
    for level in (-1e4, 0.0, 1e4):
        vehicle = _with(lagrangian=lambda self, r, u, xi, level=level: u @ u + xi @ xi - level)
        vehicle.require_invertible_mass_matrix()
        assert vehicle.potential([0.2]) == pytest.approx(level)


@pytest.mark.parametrize("method", cases.sleigh().vehicle.methods)
def test_torque_acts_step_by_step_with_every_method_and_is_refused_where_inputs_drive(method):
    case = cases.sleigh()
    torque = np.zeros(case.vehicle.nv)
    torque[0] = 0.5
    whole = vt.simulate(case.vehicle, case.q, case.v, duration=0.05, dt=0.01, method=method, control=torque)
    sim = vt.Simulation(case.vehicle, case.q, case.v, dt=0.01, method=method)
    for _ in range(5):
        sim.step(control=torque)
    np.testing.assert_allclose(sim.v, whole.v[-1], rtol=1e-6)
    free = vt.simulate(case.vehicle, case.q, case.v, duration=0.05, dt=0.01, method=method)
    assert abs(free.v[-1, 0] - sim.v[0]) > 1e-3
    driven = cases.DrivenSleigh("driven", J=0.7, M=2.0, m=0.5, k=6.0)
    sim = vt.Simulation(driven, dt=0.01, method=method)
    with pytest.raises(vt.InputError, match='torque on s of "driven" does nothing'):
        sim.step(control=torque)


#: How a history begins: t, t0, the last step, steps, those where the state was set, corrections, most of one step, and
#: whether a step lies behind.
CLOCK = "<3d3q2i"


def test_histories_of_steppers_have_times_and_counts():
    """One that has not moved yet goes on as well; whatever is no time or count is refused."""
    case = cases.sleigh()
    method = case.vehicle.methods["lie-implicit"](case.vehicle, 0.01)
    method.start(0.0, case.q, case.v)
    stepper = method.stepper
    kept, size = stepper.history(), struct.calcsize(CLOCK)
    good = struct.unpack(CLOCK, kept[:size])
    assert good == (0.0, 0.0, 0.0, 0, 0, 0, 0, 1)
    for numbers in (good, (-1.0, -2.0, 0.5, 2**53 - 1, 2**53 - 1, 2**53 - 1, 2**30, 0)):
        stepper.set_history(struct.pack(CLOCK, *numbers) + kept[size:])
        assert struct.unpack(CLOCK, stepper.history()[:size]) == numbers
    for at, wrong in ((0, np.nan), (1, np.inf), (2, -1e-3), (3, -1), (3, 2**54), (4, -1), (4, 2**54), (5, 2**54),
                      (6, -1), (7, 2)):
        numbers = [0.5, 0.0, 0.1, 4, 0, 2, 1, 0]
        numbers[at] = wrong
        with pytest.raises(ValueError, match="is not from"):
            stepper.set_history(struct.pack(CLOCK, *numbers) + kept[size:])
    with pytest.raises(ValueError, match="bytes"):
        stepper.set_history(kept[:-8])
