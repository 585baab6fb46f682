"""Simulations that are held: steps, what acts in them, saving and going back; bit for bit what simulate() does."""

from __future__ import annotations

import gc
import pickle
from dataclasses import replace

import numpy as np
import pytest
from driven_runs import DT, PAIRS, name_of, start
from loaded_models import SINGLE, constrained_tree, random_tree, singles
from random_models import KINDS, chain_flat

import vitree as vt
from vitree import vehicles

FIELDS = ("t", "q", "v", "p", "energy", "momentum", "iterations", "residual", "constraint")
METHODS = ("linear-time", "midpoint", "semi-implicit-euler", "rk4", "scipy-rk45")


def alike(one, two, fields=FIELDS):
    """Two trajectories have the same bits."""
    for name in fields:
        assert getattr(one, name).tobytes() == getattr(two, name).tobytes(), name


def chain(n=3, **more):
    return vt.Model(chain_flat(n, **more))


@pytest.mark.parametrize(("name", "method", "chosen"), PAIRS, ids=name_of)
def test_steps_are_those_of_simulate(name, method, chosen):
    """One by one or many at once; after a restore, which goes back over steps of any kind, and after a reset."""
    model, q, v, more = start(name, SINGLE if "residual" in chosen else KINDS)
    whole = vt.simulate(model, q, v, duration=40 * DT, dt=DT, t0=0.3, method=method, **chosen, **more)
    sim = vt.Simulation(model, q, v, dt=DT, t0=0.3, method=method, record_every=1, **chosen, **more)
    fields = (*FIELDS, "multipliers") if sim._integrator.uses_momentum else FIELDS
    for count in (1, 1, 3, 5):
        sim.step(count)
    saved = pickle.loads(pickle.dumps(sim.save()))
    seen = sim.q.tobytes(), sim.v.tobytes(), sim.p.tobytes(), sim.energy
    sim.step(30)
    alike(whole, sim.trajectory, fields)
    sim.restore(saved)
    assert seen == (sim.q.tobytes(), sim.v.tobytes(), sim.p.tobytes(), sim.energy)
    assert sim.t == whole.t[10]
    sim.step(30)
    assert sim.q.tobytes() == whole.q[-1].tobytes() and sim.p.tobytes() == whole.p[-1].tobytes()
    sim.reset()
    sim.step(40)
    alike(whole, sim.trajectory, fields)


@pytest.mark.parametrize("chosen", [{"adapt": "density", "rate": 2.0}, {"order": 4}, {"max_halvings": 3}])
def test_steps_that_choose_their_length_go_back_too(chosen):
    model = chain()
    sim = vt.Simulation(model, np.full(3, 0.8), dt=0.02, record_every=1, **chosen)
    sim.step(10)
    saved = sim.save()
    sim.step(10)
    last = sim.t, sim.q.tobytes(), sim.p.tobytes()
    sim.restore(saved)
    sim.step()
    sim.step(9)
    assert last == (sim.t, sim.q.tobytes(), sim.p.tobytes())
    other = vt.Simulation(model, np.full(3, 0.1), dt=0.02, **chosen)
    other.restore(saved)
    other.step(10)
    assert last == (other.t, other.q.tobytes(), other.p.tobytes())


@pytest.mark.parametrize("method", METHODS)
def test_a_torque_acts_until_another_is_given(method):
    """Given to a step, written to the array, and held; the run is that of resumed parts."""
    model = chain()
    q, first, second = np.full(3, 0.3), np.array([0.3, -0.2, 0.1]), np.array([-0.5, 0.4, 0.2])
    sim = vt.Simulation(model, q, dt=0.01, method=method)
    sim.step(10, control=first)
    middle = sim.q.copy(), sim.p.copy() if sim._integrator.uses_momentum else sim.v.copy()
    sim.torque[:] = second
    sim.step(5)
    sim.step(5)
    assert sim.torque.tobytes() == second.tobytes()
    one = vt.simulate(model, q, duration=0.1, dt=0.01, method=method, control=first)
    tolerance = 1e-12 if method.startswith("scipy") else 0.0
    np.testing.assert_allclose(middle[0], one.q[-1], rtol=0, atol=1e-7 if tolerance else 0)
    if len(one.checkpoint):
        two = one.resume(0.1, control=second)
        assert two.q[-1].tobytes() == sim.q.tobytes() and two.v[-1].tobytes() == sim.v.tobytes()
    sim.reset()
    assert not sim.torque.any() and sim.t == 0.0


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("reduced", [False, True])
def test_the_arrays_stay_where_they_are(method, reduced):
    model = vt.load_urdf(vt.find_robot("panda"), mimic="reduced" if reduced else "independent")
    sim = vt.Simulation(model, dt=1e-3, method=method)
    names = ("q", "v", "p", "torque", "inputs")
    arrays = {name: getattr(sim, name) for name in names}
    tau = np.full(model.nv, 0.1)
    for call in (lambda: sim.step(control=tau), lambda: sim.step(7), lambda: sim.reset(v0=tau), lambda: sim.step(2)):
        call()
        for name, array in arrays.items():
            assert getattr(sim, name) is array
    for name in ("q", "v", "p"):
        with pytest.raises(ValueError, match="read-only"):
            arrays[name][0] = 1.0
    whole = vt.simulate(model, None, tau, duration=2e-3, dt=1e-3, method=method)
    for name in ("q", "v", "p"):
        np.testing.assert_allclose(getattr(sim, name), getattr(whole, name)[-1], rtol=1e-12, atol=1e-15)
    q = arrays["q"].copy()
    sim = None
    gc.collect()
    assert np.array_equal(arrays["q"], q)  # the memory lives as long as its views


@pytest.mark.parametrize("method", METHODS)
def test_reduced_models_and_their_torque(method):
    model = vt.load_urdf(vt.find_robot("panda"))
    rng = np.random.default_rng(3)
    v, tau = rng.uniform(-0.5, 0.5, (2, model.nv))
    whole = vt.simulate(model, None, v, duration=0.02, dt=1e-3, method=method, control=tau)
    for given in ({"control": tau}, {}):
        sim = vt.Simulation(model, None, v, dt=1e-3, method=method, record_every=4, **given)
        if not given:
            sim.torque[:] = tau
        sim.step(20)
        traj = sim.trajectory
        assert traj.system is model and len(traj) == 6
        tolerance = {"rtol": 1e-6, "atol": 1e-8} if method.startswith("scipy") else {"rtol": 0, "atol": 0}
        for name in ("q", "v", "p"):
            np.testing.assert_allclose(getattr(traj, name), getattr(whole, name)[::4], **tolerance)


@pytest.mark.parametrize("vehicle", [vehicles.boat, vehicles.car, vehicles.helicopter, vehicles.snakeboard])
def test_vehicles(vehicle):
    system = vehicle()
    u = np.linspace(0.02, 0.05, len(system.input_names))
    for method in system.methods:
        whole = vt.simulate(system, duration=0.2, dt=0.01, method=method, control=vt.Control(inputs=u))
        sim = vt.Simulation(system, dt=0.01, method=method)
        sim.step(10, control=vt.Control(inputs=u))
        saved = sim.save()
        sim.step(10)
        tolerance = 1e-6 if method.startswith("scipy") else 1e-14
        np.testing.assert_allclose(sim.q, whole.q[-1], rtol=tolerance, atol=tolerance)
        np.testing.assert_allclose(sim.v, whole.v[-1], rtol=tolerance, atol=tolerance)
        last = sim.q.tobytes()
        sim.restore(saved)
        sim.step(10)
        assert sim.q.tobytes() == last


def test_a_method_of_python_is_held_too():
    class Slow(vt.Integrator):
        name = "slow"
        order = 1

        def step(self, t, q, v):
            a = self.acceleration(t, q, v)
            return self.model.integrate(q, self.dt * v), v + self.dt * a

    model = chain()
    vt.METHODS["slow"] = Slow
    try:
        whole = vt.simulate(model, np.full(3, 0.4), duration=0.2, dt=0.01, method="slow", control=np.ones(3))
        sim = vt.Simulation(model, np.full(3, 0.4), dt=0.01, method="slow", record_every=1, control=np.ones(3))
        sim.step(12)
        saved = sim.save()
        sim.step(8)
        alike(whole, sim.trajectory)
        sim.restore(saved)
        sim.step(8)
        assert sim.q.tobytes() == whole.q[-1].tobytes()
    finally:
        del vt.METHODS["slow"]


def test_records_and_going_on():
    model = chain()
    sim = vt.Simulation(model, np.full(3, 0.3), dt=0.01)
    with pytest.raises(vt.InputError, match="nothing was recorded"):
        sim.trajectory  # noqa: B018
    sim.record()
    sim.step(10)
    sim.record()
    sim.step(5)
    assert len(sim.trajectory) == 2 and not len(sim.trajectory.checkpoint)
    sim.record()
    first = sim.trajectory
    assert list(first.t) == [0.0, 0.1, 0.15] and first.steps == 15
    whole = vt.simulate(model, np.full(3, 0.3), duration=0.3, dt=0.01)
    on = first.resume(0.15)
    again = vt.Simulation(model, resume=first, record_every=1)
    again.step(15)
    assert on.q.tobytes() == whole.q[15:].tobytes() == again.trajectory.q.tobytes()


def test_multipliers_of_records_under_changing_torque():
    """Those of an explicit method are the forces that hold at the record."""
    model, q, v = constrained_tree(2, nbody=8, speed=0.5)
    tau = np.linspace(-1, 1, model.nv)
    sim = vt.Simulation(model, q, v, dt=1e-3, method="rk4", record_every=1)
    sim.step(control=tau)
    sim.step(control=-tau)
    found = sim.trajectory.multipliers
    for k, acting in ((0, 0 * tau), (1, tau), (2, -tau)):
        t, q, v = sim.trajectory.t[k], sim.trajectory.q[k], sim.trajectory.v[k]
        run = vt.simulate(model, q, v, duration=1e-3, dt=1e-3, t0=t, method="rk4", control=acting)
        np.testing.assert_allclose(found[k], run.multipliers[0], rtol=1e-7, atol=1e-9)


# ---- controllers -----------------------------------------------------------------------------------------


def pd(t, q, v):
    return -3.0 * (q[:3] - 0.1 * np.sin(3 * t)) - 0.4 * v


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize(("period", "delay"), [(1, 0), (4, 0), (4, 1), (3, 7)])
def test_a_controller_is_a_loop_with_a_clock(method, period, delay):
    """Asked every so many steps; each answer acts later, and is held."""
    model, dt, first = chain(), 0.01, np.array([0.1, 0.0, -0.1])
    q0, v0 = np.full(3, 0.3), np.array([0.2, -0.1, 0.4])
    controller = vt.Controller(pd, period=period * dt, delay=delay * dt, initial=first)
    run = vt.simulate(model, q0, v0, duration=0.4, dt=dt, method=method, control=controller)
    sim = vt.Simulation(model, q0, v0, dt=dt, method=method)
    sim.torque[:] = first
    answers, states = {}, []
    for k in range(40):
        if k % period == 0:
            answers[k + delay] = pd(sim.t, sim.q, sim.v)
        sim.step(control=answers.get(k))
        states.append(sim.q.copy())
    tolerance = 1e-7 if method.startswith("scipy") else 0.0
    np.testing.assert_allclose(run.q[1:], states, rtol=0, atol=tolerance)
    held = vt.Simulation(model, q0, v0, dt=dt, method=method, control=controller)
    held.step(7)
    saved = held.save()
    held.step(33)
    np.testing.assert_allclose(held.q, states[-1], rtol=0, atol=tolerance)
    last = held.q.tobytes()
    held.restore(saved)
    held.step(33)
    assert held.q.tobytes() == last
    held.reset()
    held.step(40)
    np.testing.assert_allclose(held.q, states[-1], rtol=0, atol=tolerance)


def test_a_controller_goes_on_with_its_run(tmp_path):
    """A run that stops between two questions, with an answer on its way."""
    model, dt = chain(), 0.01
    controller = vt.Controller(pd, period=5 * dt, delay=7 * dt)
    whole = vt.simulate(model, np.full(3, 0.3), duration=0.4, dt=dt, control=controller)
    part = vt.simulate(model, np.full(3, 0.3), duration=0.13, dt=dt, control=controller)
    part = vt.Trajectory.load(part.save(tmp_path / "part.npz"))
    rest = part.resume(0.27, control=controller, model=model)
    assert rest.q.tobytes() == whole.q[13:].tobytes()


def test_a_controller_sees_what_it_observes():
    model, seen = chain(), []

    def policy(t, observation):
        seen.append((t, observation))
        return np.zeros(3)

    controller = vt.Controller(policy, period=0.1, observe=lambda t, q, v: {"hip": q[0], "t": t})
    vt.simulate(model, np.full(3, 0.3), duration=0.3, dt=0.01, control=controller)
    assert [t for t, _ in seen] == [0.0, 0.1, 0.2] == [x["t"] for _, x in seen]


@pytest.mark.parametrize("method", ["linear-time", "rk4"])
def test_a_controller_of_a_reduced_model_and_of_inputs(method):
    model = vt.load_urdf(vt.find_robot("panda"))

    def zero(t, q, v):
        assert q.shape == (model.nq,) and v.shape == (model.nv,)
        return -0.2 * v

    v0 = np.full(model.nv, 0.3)
    controller = vt.Controller(zero, period=2e-3, initial=np.full(model.nv, 0.1))
    run = vt.simulate(model, None, v0, duration=0.02, dt=1e-3, method=method, control=controller)
    sim = vt.Simulation(model, None, v0, dt=1e-3, method=method, control=controller)
    sim.step(20)
    assert sim.q.tobytes() == run.q[-1].tobytes()
    flat = chain_flat(3)
    driven = vt.Model(replace(flat, loads=(vt.JointForce(singles(flat)[0], "push"),)))
    pushed = vt.Controller(lambda t, q, v: np.array([0.3 + t]), period=0.05)
    run = vt.simulate(driven, duration=0.2, dt=0.01, method=method, control=vt.Control(inputs=pushed))
    rows = np.repeat(0.3 + 0.05 * np.arange(4), 5)[:, None]
    np.testing.assert_allclose(
        run.q, vt.simulate(driven, duration=0.2, dt=0.01, method=method, control=vt.Control(inputs=rows)).q, rtol=0,
        atol=1e-15
    )


def test_effort_limits_cut_what_a_controller_and_a_step_give():
    model = vt.load_urdf(vt.find_robot("arm6"))
    limit = float(np.ravel(model.joints[0].effort)[0])
    big = np.zeros(model.nv)
    big[0] = 3 * limit
    cut = big / 3
    want = vt.simulate(model, duration=0.02, dt=1e-3, control=cut).q[-1]
    controller = vt.Controller(lambda t, q, v: big, period=0.01)
    run = vt.simulate(model, duration=0.02, dt=1e-3, control=vt.Control(torque=controller, effort_limits=True))
    np.testing.assert_array_equal(run.q[-1], want)
    assert run.settings["effort_cut"] == {model.v_names[0]: 1.0}
    sim = vt.Simulation(model, dt=1e-3, control=vt.Control(torque=big, effort_limits=True))
    sim.step(20)
    np.testing.assert_array_equal(sim.q, want)
    sim.reset()
    sim.step(20, control=big)
    np.testing.assert_array_equal(sim.q, want)


# ---- pushes -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("at", [0.1, 0.1034])
def test_a_blow_changes_the_momentum_exactly(method, at):
    """A floating tree without gravity: the momentum of the whole changes by the impulse and by its moment."""
    flat, q, v = random_tree(4, nbody=6, kinds=KINDS, base="free")
    model = vt.Model(replace(flat, gravity=np.zeros(3)))
    blow = vt.Impulse("link3", (1.0, -2.0, 0.5), at=at, angular=(0.1, 0.2, -0.3))
    options = {"rtol": 1e-12, "atol": 1e-12} if method.startswith("scipy") else {}
    dt = 1e-3 if method == "rk4" else 0.01
    tolerance = {"linear-time": 1e-12, "midpoint": 1e-12, "rk4": 1e-8, "scipy-rk45": 1e-8}.get(method)
    before = vt.simulate(model, q, v, duration=0.2, dt=dt, method=method, **options)
    after = vt.simulate(model, q, v, duration=0.2, dt=dt, method=method, wrenches=[blow], **options)
    k = int(np.floor(at / dt * (1 + 1e-9)))
    np.testing.assert_allclose(after.q[: k + 1], before.q[: k + 1], rtol=0, atol=1e-10 if options else 0)
    if tolerance is None:
        return
    change = after.momentum[-1] - before.momentum[-1]
    np.testing.assert_allclose(change[3:], blow.impulse, rtol=0, atol=tolerance * 10)
    r = vt.simulate(model, q, v, duration=at, dt=at / 200, method="rk8")
    origin = model.frame_pose("link3", r.q[-1])[:3, 3]
    moment = np.cross(origin, blow.impulse) + blow.angular
    np.testing.assert_allclose(change[:3], moment, rtol=0, atol=1e-8 if method in ("rk4", "scipy-rk45") else 2e-3)
    if at == 0.1 and method in ("linear-time", "midpoint"):
        origin = model.frame_pose("link3", before.q[k])[:3, 3]
        moment = np.cross(origin, blow.impulse) + blow.angular
        np.testing.assert_allclose(change[:3], moment, rtol=0, atol=1e-11)


@pytest.mark.parametrize("kind", ["blow", "push"])
@pytest.mark.parametrize("method", ["linear-time", "midpoint", "rk4"])
def test_pushes_keep_the_order(kind, method):
    """At times within steps, on constrained robots too, against a reference of small tolerance."""
    orders = {"linear-time": 2, "midpoint": 2, "rk4": 4}
    for model, q, v in ((chain(4), np.full(4, 0.4), np.zeros(4)), constrained_tree(2, nbody=8, speed=0.5)):
        frame = model.link_names[-1]
        pushes = [vt.Impulse(frame, (0.2, 0.1, -0.1), at=0.0333, axes="local")]
        if kind == "push":
            pushes = [vt.ExternalWrench(frame, (1.0, -0.5, 0.4), start=0.0312, end=0.1503, torque=(0.1, 0.0, 0.2))]
        exact = vt.simulate(model, q, v, duration=0.24, dt=0.002, method="rk8", wrenches=pushes)
        errors = []
        for dt in (0.012, 0.006, 0.003):
            run = vt.simulate(model, q, v, duration=0.24, dt=dt, method=method, wrenches=pushes)
            errors.append(np.abs(model.difference(exact.q[-1], run.q[-1])).max())
        fitted = np.log2(errors[0] / errors[-1]) / 2
        assert abs(fitted - orders[method]) < (0.3 if method == "rk4" else 0.2), errors


def test_a_push_is_a_wrench_while_it_lasts():
    model, dt = chain(), 0.01
    wrench = {"torque": (0.1, 0.2, 0.0), "force": (0.5, 0.0, 1.0)}
    frame = model.link_names[-1]
    push = vt.ExternalWrench(frame, wrench["force"], start=0.1, end=0.2, torque=wrench["torque"])
    for method in METHODS:
        run = vt.simulate(model, np.full(3, 0.3), duration=0.3, dt=dt, method=method, wrenches=[push])
        one = vt.simulate(model, np.full(3, 0.3), duration=0.1, dt=dt, method=method)
        x = {"p0": one.p[-1]} if method in ("linear-time", "midpoint") else {"v0": one.v[-1]}
        two = vt.simulate(model, one.q[-1], duration=0.1, dt=dt, t0=0.1, method=method, **x,
                          wrenches=[vt.ExternalWrench(frame, **wrench)])  # fmt: skip
        np.testing.assert_allclose(run.q[20], two.q[-1], rtol=0, atol=1e-7)


def test_a_blow_by_hand_and_going_back_over_pushes():
    model = chain()
    first, last = model.link_names[0], model.link_names[-1]
    pushes = [vt.Impulse(last, (0.3, 0, 0), at=0.05), vt.ExternalWrench(first, (1, 2, 3), start=0.02, end=0.083)]
    sim = vt.Simulation(model, np.full(3, 0.3), dt=0.01, wrenches=pushes)
    plain = vt.Simulation(model, np.full(3, 0.3), dt=0.01, wrenches=pushes[1:])
    states = []
    for k in range(10):
        saved = sim.save()
        sim.step()
        states.append((sim.q.tobytes(), sim.p.tobytes()))
        sim.restore(saved)
        sim.step()
        assert states[-1] == (sim.q.tobytes(), sim.p.tobytes())
        if k == 5:
            plain.push(model.link_names[-1], (0.3, 0, 0))
        plain.step()
        assert states[-1] == (plain.q.tobytes(), plain.p.tobytes())
    sim.reset()
    sim.step(10)
    assert states[-1] == (sim.q.tobytes(), sim.p.tobytes())
    assert sim.t == 10 * 0.01 and sim.steps == 10


# ---- what is wrong --------------------------------------------------------------------------------------------

MODEL = chain()
LINK = MODEL.link_names[-1]


@pytest.mark.parametrize(
    ("given", "text"),
    [
        ({"dt": None}, "dt=None must be a positive number"),
        ({"dt": -1e-3}, "dt"),
        ({"record_every": -1}, "record_every=-1"),
        ({"method": "midpont"}, 'did you mean "midpoint"'),
        ({"stp": 3}, "option of the method linear-time"),
        ({"wrenches": [3]}, "vt.ExternalWrench and vt.Impulse"),
        ({"wrenches": [vt.Impulse("lnk2", (1, 0, 0), at=0.0)]}, "lnk2"),
        ({"wrenches": [vt.ExternalWrench(LINK, (1, 0, 0), start=0.001, end=0.0121)], "method": "own"}, "whole steps"),
        ({"control": vt.Controller(pd, period=0.0123)}, "0.01 s \\(1 steps\\) or 0.02 s"),
        ({"control": vt.Controller(pd, period=0.01, delay=0.004)}, "delay=0.004"),
        ({"control": vt.Controller(pd, period=0.01, initial=(1, 2))}, "initial"),
        ({"control": vt.Controller(pd, period=0.01, joints=("elbow",))}, 'the joint "elbow" where'),
        ({"control": vt.Controller(pd, period=0.01), "adapt": "density", "rate": 1.0}, "equal length"),
        ({"control": vt.Controller(lambda t, q, v: np.full(3, np.nan), period=0.01)}, "NaN"),
        ({"control": vt.Controller(lambda t, q, v: 1 / 0, period=0.01)}, "ZeroDivisionError"),
        ({"control": vt.Controller(lambda t, q, v: v[:2], period=0.01)}, "shape"),
    ],
)
def test_a_wrong_simulation_is_refused(given, text):
    class Own(vt.Integrator):
        name, order = "own", 1

        def step(self, t, q, v):
            return q + self.dt * v, v

    vt.METHODS["own"] = Own
    try:
        with pytest.raises(vt.VitreeError, match=text):
            vt.Simulation(MODEL, **{"dt": 0.01, **given}).step(5)
    finally:
        del vt.METHODS["own"]


@pytest.mark.parametrize(
    ("given", "text"),
    [
        ({"steps": 0}, "steps=0"), ({"steps": 1.5}, "steps=1.5"), ({"steps": True}, "steps"),
        ({"control": np.zeros(2)}, "torque has shape"), ({"control": [np.nan, 0, 0]}, "torque"),
        ({"control": np.array([0, np.inf, 0])}, "torque"), ({"control": vt.Control(inputs=[1.0])}, "inputs"),
        ({"control": vt.Control(inputs={"psh": 1.0})}, "psh"),
    ],
)  # fmt: skip
def test_a_wrong_step_changes_nothing(given, text):
    sim = vt.Simulation(MODEL, np.full(3, 0.3), dt=0.01)
    sim.step(3, control=np.ones(3))
    before = sim.t, sim.q.tobytes(), sim.torque.tobytes()
    with pytest.raises(vt.VitreeError, match=text):
        sim.step(**given)
    assert before == (sim.t, sim.q.tobytes(), sim.torque.tobytes())


def test_what_is_written_to_the_torque_is_looked_at():
    sim = vt.Simulation(MODEL, dt=0.01)
    sim.torque[1] = np.nan
    with pytest.raises(vt.InputError, match="torque that act"):
        sim.step()
    assert sim.t == 0.0
    sim.torque[:] = 0.0
    sim.step()


def test_a_failed_step_leaves_the_state_before_it():
    sim = vt.Simulation(MODEL, np.full(3, 0.3), dt=0.01, record_every=1, max_halvings=0)
    sim.step(5)
    before = sim.t, sim.q.tobytes(), sim.p.tobytes()
    with pytest.raises(vt.ConvergenceError) as failure:
        sim.step(control=np.full(3, 1e9))
    assert before == (sim.t, sim.q.tobytes(), sim.p.tobytes()) and len(failure.value.trajectory) == 6
    sim.step(control=np.zeros(3))

    def controller(t, q, v):
        if t > 0.035:
            raise RuntimeError("no more")
        return -v

    sim = vt.Simulation(MODEL, np.full(3, 0.3), dt=0.01, record_every=1, control=vt.Controller(controller, period=0.02))
    with pytest.raises(vt.CallableError, match=r"t = 0\.04 s raised RuntimeError: no more") as failure:
        sim.step(20)
    assert sim.steps == 4 and len(failure.value.trajectory) == 5 and failure.value.time == pytest.approx(0.04)


def test_what_was_given_as_rows_ends():
    flat = chain_flat(3)
    model = vt.Model(replace(flat, loads=(vt.JointForce(singles(flat)[0], "push"),)))
    rows = np.linspace(0, 1, 10)[:, None]
    sim = vt.Simulation(model, dt=0.01, control=vt.Control(inputs=rows))
    sim.step(4)
    with pytest.raises(vt.InputError, match="end after 10"):
        sim.step(7)
    with pytest.raises(vt.InputError, match="rows of them"):
        sim.step(control=vt.Control(inputs=[1.0]))
    sim.step(6)
    assert sim.q.tobytes() == vt.simulate(model, duration=0.1, dt=0.01, control=vt.Control(inputs=rows)).q[-1].tobytes()
    sim = vt.Simulation(model, dt=0.01)
    sim.step(control=vt.Control(inputs={"push": 2.0}))
    assert sim.inputs.tolist() == [2.0]


def test_a_state_of_another_simulation_is_refused():
    saved = vt.Simulation(MODEL, dt=0.01).save()
    for other, text in (
        (vt.Simulation(chain(4), dt=0.01), "another model"), (vt.Simulation(MODEL, dt=0.02), "dt 0.01"),
        (vt.Simulation(MODEL, dt=0.01, method="midpoint"), "method"),
        (vt.Simulation(MODEL, dt=0.01, order=4), "options"),
    ):  # fmt: skip
        with pytest.raises(vt.InputError, match=text):
            other.restore(saved)
    with pytest.raises(vt.InputError, match="what save"):
        vt.Simulation(MODEL, dt=0.01).restore("saved")
    damaged = replace(saved, kept=(0, saved.kept[1][:-8]))
    with pytest.raises(vt.InputError, match="damaged"):
        vt.Simulation(MODEL, dt=0.01).restore(damaged)


@pytest.mark.parametrize(
    ("make", "text"),
    [
        (lambda: vt.Impulse("a", (1, 2), at=0.0), "shape"), (lambda: vt.Impulse("a", (1, 2, np.nan), at=0.0), "finite"),
        (lambda: vt.Impulse("a", (1, 2, 3), at=np.inf), "finite time"),
        (lambda: vt.Impulse("a", (1, 2, 3), at=0.0, axes="body"), "choose from world, local"),
        (lambda: vt.ExternalWrench("a", (1, 2, 3), start=1.0, end=1.0), "later end"),
        (lambda: vt.Controller(3, period=1), "callable"),
        (lambda: vt.Controller(pd, period=0), "period"), (lambda: vt.Controller(pd, period=1, delay=-1), "delay"),
    ],
)  # fmt: skip
def test_wrong_pushes_and_controllers(make, text):
    with pytest.raises(vt.InputError, match=text):
        make()
