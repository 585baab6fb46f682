"""Vehicles on SE(3): the Lie-group integrator and its baselines against equations, claims and stored values."""

from __future__ import annotations

import inspect
import itertools
import json
import pickle
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
import reference_vehicles as ref
from places import DATA

import vitree as vt
from vitree import vehicles
from vitree._core import _vehicles, scalar
from vitree.integrators.base import Records
from vitree.lie import SE3
from vitree.vehicles import RigidVehicle, helicopter

STORED = json.loads((DATA / "vehicles.json").read_text())
MAPS = ("exp", "cayley", "dual-cayley", "trapezoidal", "second-kind")
BASELINES = {"rk2": 2, "rk4": 4, "implicit-rk2": 2, "lie-newmark": 2}
DRAG = np.diag([0.01, 0.01, 0.01, 0.1, 0.1, 0.2])
NONE = (0.0, 0.0, 0.0)
DT = 0.01


def spd(rng, n, scale=1.0):
    A = rng.normal(size=(n, n))
    return scale * (A @ A.T / n + np.eye(n))


def random_vehicle(rng, **more):
    """A body with full inertia matrices, drag, gravity and three thrusters."""
    controls = {name: rng.normal(size=6) for name in ("a", "b", "c")}
    return RigidVehicle(spd(rng, 3), spd(rng, 3, 3.0), mass=2.0, gravity=rng.normal(size=3), drag=spd(rng, 6, 0.3),
                        controls=controls, **more)  # fmt: skip


def random_start(vehicle, rng, speed=1.0):
    q = vehicle.integrate(vehicle.neutral(), rng.normal(size=6))
    return q, speed * rng.normal(size=6)


def free_body(stored=STORED["free"]):
    """The free body of the stored values with its start (q, v)."""
    inertia = stored["I"]
    vehicle = RigidVehicle(inertia[:3], inertia[3:], gravity=NONE)
    start = vehicle.integrate(vehicle.neutral(), ref.inner(np.array(stored["g0_exp"])))
    return vehicle, start, ref.inner(np.array(stored["xi0"]))


def flown(name):
    """The stored helicopter with its start and inputs."""
    stored = STORED[name]
    mass = stored["m"]
    vehicle = helicopter(mass=mass, inertia=stored["J"], rotor_height=stored["dt"], tail_length=stored["dr"],
                         drag=DRAG if name == "heli+drag" else 0.0)  # fmt: skip
    inputs = {
        "collective": lambda t: mass * 9.81 + 0.5 * np.sin(2 * t), "yaw": lambda t: 0.02 * np.cos(t),
        "pitch": lambda t: 0.02 * np.sin(t), "roll": lambda t: 0.015 * np.cos(2 * t),
    }  # fmt: skip
    return vehicle, vehicle.neutral(), ref.inner(np.array(stored["xi0"])), inputs


def error_at_end(vehicle, run, stored):
    return max(np.abs(vehicle.pose(run.q[-1]) - stored["g"]).max(), np.abs(ref.inner(run.v[-1]) - stored["xi"]).max())


def errors_of_flight(name, steps, **options):
    """Errors at the end of a stored flight by steps."""
    vehicle, q, v, inputs = flown(name)
    runs = [vt.simulate(vehicle, q, v, duration=2.0, dt=h, control=vt.Control(inputs=inputs), **options) for h in steps]
    return [error_at_end(vehicle, run, STORED[name]) for run in runs]


def orders(errors):
    return np.log2(np.array(errors[:-1]) / np.array(errors[1:]))


# ---- equations --------------------------------------------------------------------------------------


@pytest.mark.parametrize("alpha", [0.5, 0.0, 1.0, 0.3])
@pytest.mark.parametrize("name", MAPS)
def test_a_step_is_that_of_the_equations(name, alpha):
    """Full inertia, drag, gravity, inputs and a force in Python, by a large step; the oracle has matrices only."""
    rng = np.random.default_rng(len(name))
    wind = rng.normal(size=6)
    own = lambda t, g, xi, u: np.sin(t) * wind - 0.1 * xi * np.abs(xi) + u[0] * g[0, 3]  # noqa: E731
    vehicle = random_vehicle(rng, force=own)
    q, v = random_start(vehicle, rng)
    u, t0, h = rng.normal(size=3), 0.7, 0.2
    force = lambda t, g, xi: (ref.weight(vehicle, g) - vehicle.drag @ xi + u @ vehicle.columns  # noqa: E731
                              + own(t, g, xi, u))  # fmt: skip
    inertia = ref.inertia_of(vehicle)
    run = vt.simulate(vehicle, q, v, duration=h, dt=h, t0=t0, control=vt.Control(inputs=u), map=name, alpha=alpha,
                      tolerance=1e-14)
    end, mu = ref.lie_step(name, alpha, h, t0, ref.pose(q), inertia @ ref.inner(v), inertia, force)
    assert np.abs(vehicle.pose(run.q[-1]) - end).max() < 1e-12
    assert np.abs(ref.inner(run.p[-1]) - mu).max() < 1e-11


@pytest.mark.parametrize("name", MAPS)
def test_the_maps_are_those_of_the_group(name):
    """The oracle's products of matrices against the closed forms of vitree.lie."""
    group = SE3.maps[name]
    reach = 0.3 if name == "second-kind" else 1.0
    for x in reach * np.random.default_rng(13).normal(size=(10, 6)):
        assert np.abs(group.tau(x) - ref.tau(name, x)).max() < 1e-13
        assert np.abs(group.dtau_inv(x) - ref.tangent_inverse(name, x)).max() < 1e-13


def test_accelerations_and_wrenches_are_those_of_the_equations():
    rng = np.random.default_rng(1)
    vehicle = random_vehicle(rng, force=lambda t, g, xi, u: t * xi)
    q, v = random_start(vehicle, rng)
    u, torque, t = rng.normal(size=3), rng.normal(size=6), 0.4
    xi = ref.inner(v)
    wrench = ref.weight(vehicle, ref.pose(q)) - vehicle.drag @ xi + u @ vehicle.columns + t * xi
    assert np.abs(vehicle.wrench(t, q, v, u) - wrench).max() < 1e-13
    field = _vehicles.VehicleStepper(7, 6, 3, DT, inputs=u, torque=torque, method="rates", **vehicle.compiled)
    a, multipliers = field.acceleration_at(t, q, v)
    expected = ref.acceleration(ref.inertia_of(vehicle), xi, wrench + ref.inner(torque))
    assert np.abs(ref.inner(a) - expected).max() < 1e-12 and multipliers.shape == (0,)


def test_the_helicopters_controls_are_thrusts_at_their_places():
    rng = np.random.default_rng(2)
    vehicle = helicopter(gravity=NONE)
    for u in rng.normal(size=(5, 4)):
        expected = ref.helicopter_wrench(u, 0.2, 0.6)
        assert np.abs(vehicle.wrench(0.0, vehicle.neutral(), np.zeros(6), u) - expected).max() < 1e-14


def test_energies_and_momenta_are_those_of_the_model():
    """A body of isotropic mass is a free joint: the same energies, momenta and velocities."""
    rng = np.random.default_rng(3)
    J = spd(rng, 3)
    vehicle = RigidVehicle(J, 1.7)
    tree = vt.Tree("body")
    tree.world.add(vt.free("joint"), vt.body("body", 1.7, J))
    model = tree.compile()
    starts = [random_start(vehicle, rng) for _ in range(6)]
    q, v = (np.array(x) for x in zip(*starts, strict=True))
    assert np.abs(vehicle._energies(q, v) - model._energies(q, v)).max() < 1e-12
    p = vehicle._momenta(q, v)
    assert np.abs(p - model._momenta(q, v)).max() < 1e-13
    assert np.abs(vehicle._velocities(q, p) - v).max() < 1e-13
    # the exponential map is the linear-time scheme on a free joint
    runs = [vt.simulate(x, q[0], v[0], duration=2.0, dt=0.02, tolerance=1e-14, **more)
            for x, more in ((vehicle, {}), (model, {"kinetic": "screw"}))]
    assert np.abs(runs[0].q - runs[1].q).max() < 1e-11 and np.abs(runs[0].p - runs[1].p).max() < 1e-11


# ---- stored values and orders ---------------------------------------------------------------------------


@pytest.mark.parametrize("name", MAPS)
def test_the_free_body_is_reproduced_at_second_order(name):
    vehicle, q, v = free_body()
    steps = (0.02, 0.01, 0.005)
    runs = [vt.simulate(vehicle, q, v, duration=2.0, dt=h, map=name) for h in steps]
    errors = [error_at_end(vehicle, run, STORED["free"]) for run in runs]
    assert np.abs(orders(errors) - 2).max() < 0.05 and errors[-1] < 1e-4
    stored = {"exp": "exp/exact dlog", "cayley": "true cay/C_cay14", "dual-cayley": "paperB/C_dual"}
    if name in stored:
        pose_error = np.abs(vehicle.pose(runs[1].q[-1]) - STORED["free"]["g"]).max()
        assert abs(pose_error / STORED["free_err"][stored[name]] - 1) < 1e-3


@pytest.mark.parametrize("name", MAPS)
@pytest.mark.parametrize("flight", ["heli", "heli+drag"])
def test_the_helicopter_is_reproduced_at_second_order(flight, name):
    """Inputs over time are asked for at the middle of a step."""
    errors = errors_of_flight(flight, (0.004, 0.002, 0.001), map=name)
    assert np.abs(orders(errors) - 2).max() < 0.05 and errors[-1] < 5e-4


@pytest.mark.parametrize("alpha", [0, 1])
def test_a_force_at_one_end_is_of_first_order(alpha):
    errors = errors_of_flight("heli+drag", (0.001, 0.0005, 0.00025), alpha=alpha)
    assert np.abs(orders(errors) - 1).max() < 0.05


@pytest.mark.parametrize("method", BASELINES)
def test_the_baselines_have_their_orders(method):
    assert helicopter().methods[method].order == BASELINES[method]
    errors = errors_of_flight("heli+drag", (0.02, 0.01, 0.005), method=method)
    assert np.abs(orders(errors) - BASELINES[method]).max() < 0.05


@pytest.mark.parametrize("method", ["lie", *BASELINES])
def test_feedback_keeps_the_order(method):
    """Inputs and torque of the state, time and rates; the reference is the same callables under a tight solver."""
    rng = np.random.default_rng(4)
    vehicle = random_vehicle(rng)
    q, v = random_start(vehicle, rng, 0.5)
    drive = {
        "control": vt.Control(inputs=lambda t, q, v: np.array([np.sin(3 * t), q[0], -v[4]]), torque=lambda t, q,
                              v: -0.5 * v + 0.3 * np.cos(t)),
    }
    tight = vt.simulate(vehicle, q, v, duration=1.0, dt=1.0, method="scipy-dop853", rtol=1e-12, atol=1e-12, **drive)
    errors = [
        np.linalg.norm(vehicle.difference(tight.q[-1], vt.simulate(
            vehicle, q, v, duration=1.0, dt=h, method=method, **drive).q[-1])) for h in (0.01, 0.005, 0.0025)
    ]  # fmt: skip
    assert np.abs(orders(errors) - (4 if method == "rk4" else 2)).max() < 0.1


# ---- what is conserved -------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", MAPS)
def test_the_free_bodys_momentum_is_exact(name):
    vehicle, q, v = free_body()
    run = vt.simulate(vehicle, q, v, duration=500 * 0.05, dt=0.05, map=name)
    assert np.abs(run.momentum - run.momentum[0]).max() < 1e-11
    # a loose tolerance costs none of it: what is left over is carried
    loose = vt.simulate(vehicle, q, v, duration=500 * 0.05, dt=0.05, map=name, tolerance=1e-4)
    assert np.abs(loose.momentum - loose.momentum[0]).max() < 1e-11
    assert loose.iterations_total < run.iterations_total
    # which the baselines do not do
    plain = vt.simulate(vehicle, q, v, duration=500 * 0.05, dt=0.05, method="rk4")
    assert np.abs(plain.momentum - plain.momentum[0]).max() > 1e-5


def test_the_trapezoidal_map_keeps_energy_and_momentum():
    vehicle, q, v = free_body()
    run = vt.simulate(vehicle, q, v, duration=4000 * 0.02, dt=0.02, map="trapezoidal", tolerance=1e-14)
    assert np.abs(run.energy / run.energy[0] - 1).max() < 2e-13
    assert np.abs(run.momentum - run.momentum[0]).max() < 1e-11
    exp = vt.simulate(vehicle, q, v, duration=4000 * 0.02, dt=0.02)
    assert 1e-7 < np.abs(exp.energy / exp.energy[0] - 1).max() < 1e-4


def lie_stepper(vehicle, h, u=(), **options):
    return _vehicles.VehicleStepper(7, 6, len(vehicle.input_names), h, inputs=np.array(u, float), tolerance=1e-14,
                                    max_iterations=50, method="lie", **vehicle.compiled, **options)  # fmt: skip


def one_step(stepper, q, p, count=1):
    records = Records(np.empty(count), np.empty((count, 7)), np.empty((count, 6)), np.empty(count, np.intc),
                      np.empty(count), np.empty((count, 0)), rows=0)  # fmt: skip
    stepper.set_state(0.0, q, p)
    assert stepper.run(count, 1, records) == 0 and records.rows == count
    return stepper.state()[1:]


@pytest.mark.parametrize("name", MAPS)
def test_steps_are_undone_by_steps_backwards(name):
    """With drag, gravity and inputs, the step of 1 - alpha by -h undoes that of alpha by h: 1/2 is symmetric."""
    rng = np.random.default_rng(5)
    vehicle = random_vehicle(rng)
    q, v = random_start(vehicle, rng)
    p, u = vehicle.generalized_momentum(q, v), rng.normal(size=3)
    for alpha in (0.5, 0.2):
        there = one_step(lie_stepper(vehicle, 0.1, u, map=_vehicles.RIGID_MAPS[name], alpha=alpha), q, p, 5)
        back = one_step(lie_stepper(vehicle, -0.1, u, map=_vehicles.RIGID_MAPS[name], alpha=1 - alpha), *there, 5)
        assert np.abs(vehicle.difference(q, back[0])).max() < 1e-12
        assert np.abs(back[1] - p).max() < 1e-12


def wedge(p):
    """The symplectic form at a momentum p = (linear, angular), on body displacements and changes of p."""
    f, n, zero = ref.hat(p[:3]), ref.hat(p[3:]), np.zeros((3, 3))
    one = np.eye(6)
    return np.block([[-np.block([[zero, f], [f, n]]), one], [-one, np.zeros((6, 6))]])


@pytest.mark.parametrize("name", MAPS)
def test_the_variational_maps_are_symplectic(name):
    """Under gravity and constant body forces of the pose alone; the trapezoidal map is not, and says so."""
    rng = np.random.default_rng(6)
    vehicle = RigidVehicle(spd(rng, 3), spd(rng, 3, 3.0), mass=3.0)
    q, v = random_start(vehicle, rng)
    p = vehicle.generalized_momentum(q, v)
    stepper = lie_stepper(vehicle, 0.2, map=_vehicles.RIGID_MAPS[name])
    q2, p2 = one_step(stepper, q, p)
    e, columns = 1e-5, []
    for k in range(12):
        ends = []
        for s in (e, -e):
            d = s * np.eye(12)[k]
            ends.append(one_step(stepper, vehicle.integrate(q, d[:6]), p + d[6:]))
        (qa, pa), (qb, pb) = ends
        change = vehicle.difference(q2, qa) - vehicle.difference(q2, qb), pa - pb
        columns.append(np.concatenate(change) / (2 * e))
    A = np.column_stack(columns)
    defect = np.abs(A.T @ wedge(p2) @ A - wedge(p)).max()
    assert (defect < 1e-7) == (name != "trapezoidal"), defect


def test_large_steps_stay_bounded_where_others_blow_up():
    """Twenty free bodies, four minutes in steps of 1.2 s, about two radians each; a lost run says so."""
    rng = np.random.default_rng(7)
    worst, lost = 0.0, dict.fromkeys(("rk2", "rk4"), 0)
    for _ in range(20):
        vehicle = RigidVehicle(rng.uniform(1, 3, 3), rng.uniform(2, 6, 3), gravity=NONE)
        v = rng.normal(size=6)
        run = vt.simulate(vehicle, None, v, duration=240.0, dt=1.2, map="cayley")
        worst = max(worst, np.abs(run.energy / run.energy[0] - 1).max())
        assert np.abs(run.momentum - run.momentum[0]).max() < 1e-8
        for method in lost:
            try:
                vt.simulate(vehicle, None, v, duration=240.0, dt=1.2, method=method)
            except vt.ConvergenceError:
                lost[method] += 1
    assert worst < 1.5
    assert lost["rk2"] == 20 and lost["rk4"] >= 5, lost


def test_a_force_in_python_is_that_in_compiled_code():
    rng = np.random.default_rng(8)
    J, M, drag = spd(rng, 3), spd(rng, 3, 3.0), spd(rng, 6)
    compiled = RigidVehicle(J, M, mass=1.0, drag=drag)
    force, slope = lambda t, g, xi, u: -drag @ xi, lambda t, g, xi, u: -drag
    q, v = random_start(compiled, rng)
    kept = vt.simulate(compiled, q, v, duration=1.0, dt=DT)
    iterations = []
    for more in ({"force": force, "force_slope": slope}, {"force": force}):
        run = vt.simulate(RigidVehicle(J, M, mass=1.0, **more), q, v, duration=1.0, dt=DT)
        assert np.abs(run.q - kept.q).max() < 1e-11 and np.abs(run.p - kept.p).max() < 1e-10
        iterations.append(run.iterations_total)
    assert iterations[0] == kept.iterations_total < iterations[1]
    for method in BASELINES:
        runs = [vt.simulate(x, q, v, duration=0.2, dt=DT, method=method)
                for x in (compiled, RigidVehicle(J, M, mass=1.0, force=force, force_slope=slope))]  # fmt: skip
        assert np.abs(runs[0].q - runs[1].q).max() < 1e-11


# ---- with the rest of vitree ----------------------------------------------------------------------------------


def test_runs_are_saved_and_loaded(tmp_path):
    vehicle, q, v, inputs = flown("heli+drag")
    run = vt.simulate(vehicle, q, v, duration=0.5, dt=DT, control=vt.Control(inputs=inputs), record_every=5,
                      monitors=("energy", "contraction"))  # fmt: skip
    again = vt.Trajectory.load(run.save(tmp_path / "run.npz"))
    assert again.method == "lie" and again.q_names == vehicle.q_names and len(again) == 11
    for name in ("q", "v", "p", "momentum", "checkpoint"):
        assert np.array_equal(getattr(run, name), getattr(again, name))
    assert again.monitors["energy"].shape == (50,)
    assert np.array_equal(again.monitors["energy"][4::5], again.energy[1:])
    assert np.isfinite(again.monitors["contraction"]).any()


@pytest.mark.parametrize("method", ["lie", *BASELINES])
@pytest.mark.parametrize("kind", ["rows", "callables", "none"])
def test_runs_go_on_bit_for_bit(method, kind):
    vehicle, q, v, inputs = flown("heli+drag")
    rows = np.random.default_rng(9).normal(size=(60, 4)) * 0.05
    given = {"rows": (rows, rows[:40], rows[40:]), "callables": [inputs] * 3, "none": [None] * 3}[kind]
    whole, part = (
        vt.simulate(vehicle, q, v, duration=T, dt=DT, method=method, control=vt.Control(inputs=u))
        for T, u in zip((0.6, 0.4), given, strict=False)
    )
    rest = part.resume(0.2, control=vt.Control(inputs=given[2]))
    for name in ("t", "q", "v", "p", "iterations", "residual"):
        assert np.array_equal(getattr(rest, name)[1:], getattr(whole, name)[41:]), name
    with pytest.raises(vt.InputError, match="of another model"):
        part.resume(0.2, model=helicopter(mass=1.3))


def test_steps_may_differ():
    """Steps of random lengths: still second order, momentum still exact, inputs a row a step."""
    vehicle, q, v = free_body()
    rng = np.random.default_rng(10)
    errors = []
    for n in (100, 200):
        dt = rng.uniform(0.8, 1.2, n)
        run = vt.simulate(vehicle, q, v, dt=2.0 * dt / dt.sum())
        errors.append(error_at_end(vehicle, run, STORED["free"]))
        assert np.abs(run.momentum - run.momentum[0]).max() < 1e-12
    assert abs(orders(errors)[0] - 2) < 0.3
    heli, q, v, _ = flown("heli")
    dt = rng.uniform(0.005, 0.015, 30)
    push = np.zeros((30, 4))
    push[:, 0] = rng.normal(size=30)
    run = vt.simulate(heli, q, np.zeros(6), dt=dt, control=vt.Control(inputs=push))
    assert np.abs(run.momentum[-1, 5] - (dt @ push[:, 0] - 1.2 * 9.81 * dt.sum())) < 1e-12


def test_vehicles_are_compared():
    vehicle, q, v, inputs = flown("heli")
    found = vt.compare(vehicle, ["lie", ("lie", {"map": "cayley"}), *BASELINES], q, v, duration=0.5, dt=(0.01, 0.005),
                       control=vt.Control(inputs=inputs))  # fmt: skip
    assert all(row["status"] == "ok" for row in found.table)
    for label, order in found.orders.items():
        assert abs(order - BASELINES.get(label, 2)) < 0.25, (label, order)
    free = vt.compare(free_body()[0], ["lie"], *free_body()[1:], duration=0.5, dt=0.05)
    assert 0 < free.table[0]["energy_error"] < 1e-3
    with pytest.raises(vt.UnknownNameError, match="linear-time"):
        vt.compare(vehicle, ["linear-time"], q, v, duration=0.5, dt=0.01)


def test_a_vehicle_never_changes():
    a, b = helicopter(), helicopter()
    assert a == b and hash(a) == hash(b) and a != helicopter(mass=1.3) and a != helicopter(rotor_height=0.3)
    again = pickle.loads(pickle.dumps(a))
    assert again == a
    run, other = (vt.simulate(x, v0=[1, 0, 0, 0, 0, 1], duration=0.1, dt=DT) for x in (a, again))
    assert np.array_equal(run.q, other.q)
    one, two = (RigidVehicle(1.0, 1.0, force=f) for f in (lambda t, g, x, u: 0 * x, lambda t, g, x, u: 1 * x))
    assert one != two
    assert {shape.frame for shape in a.geometry} == {"body"} and a.frame_poses(a.neutral())["body"].shape == (4, 4)


@pytest.mark.parametrize("drag, force, kept, loses", [
    (0.0, None, True, False), (0.3, None, False, True), (0.0, lambda t, g, x, u: 0 * x, False, False),
    (0.3, lambda t, g, x, u: 0 * x, False, False)])  # fmt: skip
def test_a_vehicle_is_conservative_without_drag_and_force(drag, force, kept, loses):
    body = RigidVehicle(1.0, 1.0, drag=drag, force=force)
    assert (body.is_conservative, body.is_dissipative) == (kept, loses)


def test_threads_share_a_vehicle():
    vehicle, q, v, _ = flown("heli+drag")
    rng = np.random.default_rng(12)
    starts = [(q, v + rng.normal(size=6)) for _ in range(8)]
    control = vt.Control(inputs=[11.8, 0, 0, 0])
    fly = lambda start: vt.simulate(vehicle, *start, duration=2.0, dt=0.001, control=control).q  # noqa: E731
    with ThreadPoolExecutor(4) as pool:
        together = list(pool.map(fly, starts))
    assert all(np.array_equal(a, fly(start)) for a, start in zip(together, starts, strict=True))


def test_statuses_are_those_of_the_other_steppers():
    """What a status says is kept in one place."""
    texts = scalar().STATUS_TEXT
    assert _vehicles.STATUS["callback failed"] == scalar().STATUS["callback failed"]
    assert "tolerance" in texts[_vehicles.STATUS["not converged"]]
    assert "half a turn" in texts[_vehicles.STATUS["turned too far"]]
    assert "NaN" in texts[_vehicles.STATUS["not finite"]]


# ---- what is refused ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("arguments", "more", "what"),
    [
        (([[1, 0.1, 0], [0, 1, 0], [0, 0, 1]], 1.0), {}, r"rotational inertia of \"vehicle\" is not symmetric"),
        (((1, 2, -1), 1.0), {}, "rotational inertia .* eigenvalue -1; all must be positive$"),
        (((1, 2, 3), 0.0), {}, "translational inertia .* eigenvalue 0"),
        (((1, 2), 1.0), {}, r"must be an array of shape \(3,\)"),
        (((1, 2, np.nan), 1.0), {}, "finite"),
        (("heavy", 1.0), {}, "must be a number"),
        (((1, 2, 3), (1, 2, 3)), {}, "give mass="),
        (((1, 2, 3), 1.0), {"mass": -1}, "mass .* zero or more"),
        (((1, 2, 3), 1.0), {"drag": -1.0}, "drag .* positive or zero"),
        (((1, 2, 3), 1.0), {"gravity": 9.81}, "gravity"),
        (((1, 2, 3), 1.0), {"controls": {"jet": (1, 0, 0)}}, 'input "jet"'),
        (((1, 2, 3), 1.0), {"force": 3}, "callable"),
        (((1, 2, 3), 1.0), {"force_slope": lambda *x: 0}, "give force= as well"),
    ],
)  # fmt: skip
def test_bodies_that_cannot_be_are_refused(arguments, more, what):
    with pytest.raises(vt.ModelError, match=what):
        RigidVehicle(*arguments, **more)


@pytest.mark.parametrize(
    ("options", "what"),
    [
        ({"map": "log"}, "no map"), ({"alpha": 2}, "from 0 to 1"), ({"alpha": "half"}, "from 0 to 1"),
        ({"tolerance": 0.0}, "tolerance"), ({"max_iterations": 0}, "max_iterations"), ({"order": 4}, "option"),
        ({"method": "linear-time"}, "no method"), ({"dt": -1.0}, "dt"),
        ({"wrenches": [vt.ExternalWrench("body", (1, 1, 1))]}, "wrenches"),
        ({"control": vt.Control(prescribed={"x": [0.0]})}, "prescribe"), ({"q0": np.zeros(7)}, "quaternion"),
        ({"v0": np.zeros(7)}, "v0"),
        ({"control": vt.Control(inputs=[1.0])},
         r"inputs has shape \(1,\)"), ({"control": vt.Control(inputs={"jet": 1.0})}, "no input"),
        ({"q1": [0, 0, 0, 0, 0, 0, 1]}, "starts from q0 and v0"),
        ({"method": "rk4", "map": "exp"}, "option"),
    ],
)  # fmt: skip
def test_wrong_arguments_are_refused(options, what):
    with pytest.raises(vt.VitreeError, match=what):
        vt.simulate(helicopter(), **{"duration": 1.0, "dt": DT, **options})


def test_a_turn_beyond_the_maps_range_is_an_error():
    vehicle = RigidVehicle((1.0, 2.0, 3.0), 1.0, gravity=NONE)
    v = [0, 0, 0, 0.1, 0.1, 4.0]
    with pytest.raises(vt.ConvergenceError, match=r'half a turn .*map="cayley"') as caught:
        vt.simulate(vehicle, None, v, duration=3.0, dt=1.0)
    assert len(caught.value.trajectory) == 1 and caught.value.time == 0.0
    assert len(vt.simulate(vehicle, None, v, duration=3.0, dt=1.0, map="cayley")) == 4


def test_the_second_angle_of_coordinates_of_the_second_kind_is_short_of_a_right_one():
    """By half a step; any turn about the first and the last axis is none of its business."""
    vehicle = RigidVehicle((1.0, 1.0, 1.0), 1.0, gravity=NONE)
    for axis, rate in ((0, 6.0), (1, 3.0), (2, 6.0)):
        v = np.zeros(6)
        v[3 + axis] = rate
        run = vt.simulate(vehicle, None, v, duration=3.0, dt=1.0, map="second-kind")
        turned = ref.pose(run.q[-1])
        assert np.abs(turned[:3, :3] - ref.tau("exp", 3.0 * ref.inner(v))[:3, :3]).max() < 1e-12
    with pytest.raises(vt.ConvergenceError, match=r'second of three angles .* halve dt, or take map="exp"') as caught:
        vt.simulate(vehicle, None, [0, 0, 0, 0.1, 3.2, 0.1], duration=3.0, dt=1.0, map="second-kind")
    assert len(caught.value.trajectory) == 1 and caught.value.time == 0.0


@pytest.mark.parametrize("name", MAPS)
def test_newtons_method_has_the_slope_of_each_map(name):
    """Corrections square the residual: a wrong entry of the Jacobian would make them many more."""
    rng = np.random.default_rng(12)
    for _ in range(20):
        vehicle = random_vehicle(rng)
        q, v = random_start(vehicle, rng, 1.5)
        run = vt.simulate(vehicle, q, v, duration=0.3, dt=0.3, map=name, tolerance=1e-13)
        assert run.iterations_total <= (12 if name == "second-kind" else 6), run.iterations_total


def test_blow_up_and_no_convergence_are_errors():
    rng = np.random.default_rng(11)
    vehicle = RigidVehicle((1.0, 2.0, 3.0), (2.0, 3.0, 5.0), gravity=NONE)
    with pytest.raises(vt.ConvergenceError, match="infinite or NaN") as caught:
        vt.simulate(vehicle, None, 3 * rng.normal(size=6), duration=240.0, dt=1.0, method="rk2")
    assert np.isfinite(caught.value.trajectory.q).all() and "tolerance" not in str(caught.value)
    with pytest.raises(vt.ConvergenceError, match="after 1 iterations"):
        vt.simulate(vehicle, None, rng.normal(size=6), duration=1.0, dt=0.5, max_iterations=1)


@pytest.mark.parametrize("method", ["lie", "rk4", "implicit-rk2", "lie-newmark"])
def test_callables_that_fail_stop_the_run(method):
    def failing(t, *rest):
        if t > 0.05:
            raise RuntimeError("out of fuel")
        return np.zeros(4)

    with pytest.raises(vt.CallableError, match="RuntimeError: out of fuel"):
        vt.simulate(helicopter(), duration=0.2, dt=DT, method=method, control=vt.Control(inputs=failing))
    for bad, what in ((np.zeros(3), r"shape \(3,\)"), (np.full(6, np.nan), "NaN or infinity")):
        vehicle = RigidVehicle(1.0, 1.0, force=lambda t, g, xi, u, bad=bad: bad)
        with pytest.raises(ValueError, match=what):
            vt.simulate(vehicle, duration=0.1, dt=DT, method=method)
    sloped = RigidVehicle(1.0, 1.0, force=lambda t, g, xi, u: 0 * xi, force_slope=lambda t, g, xi, u: xi)
    if method != "rk4":
        with pytest.raises(ValueError, match=r"\(6, 6\)"):
            vt.simulate(sloped, duration=0.1, dt=DT, method=method)


#: The numbers of the vehicles that functions make.
NUMBERS = [(make, each.name) for make in (vehicles.boat, vehicles.car, helicopter, vehicles.snakeboard)
           for each in inspect.signature(make).parameters.values() if np.isrealobj(each.default) and each.default != ()
           and each.name not in ("name", "patches", "columns") and each.default is not None]  # fmt: skip


@pytest.mark.parametrize(("make", "name"), NUMBERS)
def test_numbers_of_a_vehicle_have_products(make, name):
    """Sizes whose products are no doubles ended in NumPy's warnings, or in an OverflowError."""
    given = np.array(inspect.signature(make).parameters[name].default, float)
    for size in (1e60, 1e160, -1e200, 1e308, -1e308):
        first = given.copy()
        first.flat[0] = size
        for value in (np.full_like(given, size), first):
            with pytest.raises(vt.ModelError, match=r"must be|is -?\d.* m: its sizes|eigenvalue|sinks"):
                make(**{name: value})
    if given.ndim == 0 and name != "max_steering":
        try:
            make(**{name: 0.0})
        except vt.ModelError:  # the number is one to divide by
            with pytest.raises(vt.ModelError, match="at least 1e-50"):
                make(**{name: 1e-200})


def large(vehicle):
    """States with one entry that is too large, and that entry."""
    for k in range(vehicle.nq + vehicle.nv):
        for size in (1e308, -1e308, 1e200):
            state = np.concatenate((vehicle.neutral(), np.zeros(vehicle.nv)))
            state[k] = size
            yield np.split(state, [vehicle.nq])


@pytest.mark.parametrize("make", [vehicles.boat, vehicles.car, helicopter, vehicles.snakeboard])
def test_states_too_large_are_told(make):
    """Each method returns finite numbers or an InputError, without a warning of NumPy."""
    vehicle = make()
    ways = [
        vehicle.integrate, vehicle.generalized_momentum, lambda q, v: vehicle.difference(q, -q),
        lambda q, v: [*vehicle.frame_poses(q).values()],
        lambda q, v: vt.simulate(vehicle, q, v, duration=DT, dt=DT).q,
    ]  # fmt: skip
    if isinstance(vehicle, RigidVehicle):
        ways += [lambda q, v: vehicle.wrench(0.1, q, v)]
    else:
        ways += [vehicle.project_velocity, lambda q, v: vehicle.velocity(q, v[: len(vehicle.shape_names)])]
    refused = set()
    for (q, v), way in itertools.product(large(vehicle), ways):
        try:
            assert np.isfinite(way(q, v)).all()
        except (vt.InputError, vt.ConvergenceError):
            refused.add(way)
    assert refused >= {*ways[2:3], *ways[4:]}
