"""One state, one velocity: whoever is told the velocity of a state in contact is told that of its record."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
from touching_models import GROUNDS, crawler, thrown

import vitree as vt

VARIATIONAL = ("linear-time", "midpoint")
EXPLICIT = ("semi-implicit-euler", "explicit-euler", "rk4", "rk8")
METHODS = VARIATIONAL + EXPLICIT
STEPS = (1e-3, 1e-2)
G = 9.81


def crate(friction=0.5, normal=(0.0, 0.0, 1.0)):
    tree = vt.Tree("crate")
    tree.world.add(vt.free("base"), vt.body("crate", 2.0, (0.03, 0.04, 0.05)))
    corners = [(x, y, -0.1) for x in (-0.2, 0.2) for y in (-0.15, 0.15)]
    tree.contact(vt.Contact("crate", points=corners), vt.Ground(friction=friction, normal=normal))
    model = tree.compile()
    q = model.neutral()
    q[4] = np.sin(0.5 * np.arctan2(normal[0], normal[2]))
    q[6] = np.sqrt(1 - q[4] ** 2)
    return model, vt.place_on_ground(model, q), np.zeros(6)


def sloping():
    """A crate that stands on a slope by friction."""
    return crate(normal=(0.3, 0.0, 1.0))


def sliding():
    model, q, v = crate()
    v[:2] = 1.5, 0.4
    return model, q, v


def stopped():
    """A rod that rests at the limit of its joint."""
    tree = vt.Tree("rod")
    tree.world.add(vt.ry("hinge", lower=-0.4, upper=0.9), vt.tx(0.3), vt.body("rod", 1.0, (0.01,) * 3))
    tree.limits = "enforce"
    return tree.compile(), np.array([0.9]), np.zeros(1)


def rubbing():
    """A block that stands on an incline by the dry friction of its joint."""
    tree = vt.Tree("block")
    tree.world.add(vt.ry(0.3), vt.tx("slide", dry_friction=8.0), vt.body("block", 2.0))
    return tree.compile(), np.zeros(1), np.zeros(1)


def rolling():
    """A disk that stands on a slope, held by a spring: it rolls to and fro."""
    tree = vt.Tree("disk")
    tree.world.add(vt.tx("x"), vt.tz("z"), vt.ry("turn"), vt.body("disk", 1.3, (0.026, 0.05, 0.026)))
    tree.roll(vt.RollingConstraint("disk", radius=0.3, normal=True))
    tree.load(vt.JointSpring("x", 5.0, rest=0.2))
    return tree.compile(), np.array([0.0, 0.3, 0.0]), np.zeros(3)


def thrown_crawler():
    model = crawler(GROUNDS["plane"], True)
    return model, *thrown(model, 3, lift=0.02)


CASES = {"standing": crate, "sloping": sloping, "sliding": sliding, "stop": stopped, "dry friction": rubbing,
         "rolling": rolling, "crawler": thrown_crawler}  # fmt: skip

RESTING = ("standing", "sloping", "stop", "dry friction")


def serves(case, method):
    return method in VARIATIONAL or case not in ("dry friction", "rolling")


PAIRS = [(case, method) for case in CASES for method in METHODS if serves(case, method)]


@pytest.mark.parametrize("dt", STEPS)
@pytest.mark.parametrize(("case", "method"), PAIRS)
def test_what_is_held_has_the_velocities_of_the_records(case, method, dt):
    """sim.v, sim.p, sim.energy and what a controller is given, to the last bit; to ask changes no step."""
    model, q, v = CASES[case]()
    count = 60 if dt > 5e-3 else 250 if case == "crawler" else 120
    run = vt.simulate(model, q, v, duration=count * dt, dt=dt, method=method, monitors="energy")
    assert len(run.contacts) > 20
    sim = vt.Simulation(model, q, v, dt=dt, method=method)
    asked = []
    loop = vt.Controller(lambda t, q, v: asked.append(v) or np.zeros(model.nv), dt)
    vt.simulate(model, q, v, duration=count * dt, dt=dt, method=method, control=loop)
    for k in range(count):
        assert sim.v.tobytes() == run.v[k].tobytes()
        assert sim.p.tobytes() == run.p[k].tobytes()
        assert sim.energy == run.energy[k]
        assert asked[k].tobytes() == run.v[k].tobytes()
        sim.step()
    np.testing.assert_array_equal(run.monitors["energy"], run.energy[1:])
    if case in RESTING:
        skip = 1 if method in EXPLICIT else 0  # the first step of a start is that of its method
        assert np.abs(run.v[skip + 1 :]).max() < 1e-9


@pytest.mark.parametrize("dt", STEPS)
@pytest.mark.parametrize(("case", "method"), [pair for pair in PAIRS if pair[0] in RESTING])
def test_what_is_asked_in_a_step_is_told_that_it_rests(case, method, dt):
    """Functions as torque=, and targets; from the first step on where no pass knows less of the contacts."""
    model, q, v = CASES[case]()
    seen = []
    run = vt.simulate(model, q, v, duration=50 * dt, dt=dt, method=method,
                      control=lambda t, q, v: seen.append((t, np.abs(v).max())) or np.zeros(model.nv))  # fmt: skip
    t, speed = np.array(seen).T
    first = 0.0 if method in VARIATIONAL else 2.5 * dt
    still = G * dt**2 if method in ("rk4", "rk8") else 1e-9  # their stages leave the stop by as little as that
    assert speed[t >= first].max() < still
    assert np.abs(run.q - run.q[0]).max() < 2 * G * dt**2
    seen.clear()
    joints = [joint.name for joint in model.joints if joint.v_slice.stop - joint.v_slice.start == 1]
    if joints:
        driven = model.with_drives({joints[0]: (1e-3, 0.0)})
        vt.simulate(driven, q, v, duration=50 * dt, dt=dt, method=method,
                    control=vt.Control(targets=lambda t, q, v: seen.append((t, np.abs(v).max())) or [0.0]))  # fmt: skip
        t, speed = np.array(seen).T
        assert speed[t >= first].max() < still


@pytest.mark.parametrize("method", EXPLICIT)
def test_stages_of_explicit_methods_begin_with_the_velocity_of_the_record(method):
    """The last pass of each step is that of its equations; at its start it is told the record's velocity."""
    model, q, v = sliding()
    last = {}
    dt = 2e-3
    run = vt.simulate(model, q, v, duration=0.1, dt=dt, method=method,
                      control=lambda t, q, v: last.__setitem__(round(t / dt, 6), v.copy()) or np.zeros(6))  # fmt: skip
    for k in range(2, len(run) - 1):
        if float(k) in last and method in EXPLICIT[:2]:
            assert last[float(k)].tobytes() == run.v[k].tobytes()
        elif float(k) in last:  # that of the stage at a step's end may be asked last
            assert np.abs(last[float(k)] - run.v[k]).max() < 1e-9
    assert len(last) > 40


@pytest.mark.parametrize("method", VARIATIONAL)
def test_what_is_expected_in_the_middle_is_of_second_order(method):
    """A crate slides, under a drag by a function; it errs with the square of the step."""

    def ends(dt):
        model, q, v = sliding()
        run = vt.simulate(model, q, v, duration=0.16, dt=dt, method=method,
                          control=lambda t, q, v: np.concatenate([-6.0 * v[:3], np.zeros(3)]))  # fmt: skip
        return run.q[-1, :2]

    found = [ends(dt) for dt in (8e-3, 4e-3, 2e-3, 1e-3)]
    off = [np.abs(a - b).max() for a, b in pairwise(found)]
    assert off[0] / off[1] > 3.5 and off[1] / off[2] > 3.5


def test_loads_that_depend_on_velocities_are_of_second_order_in_contact():
    """linear-time takes them in the expected middle: a damper between a crate that slides and a place far away."""

    def ends(dt):
        tree = vt.Tree("crate")
        tree.world.add(vt.free("base"), vt.body("crate", 2.0, (0.03, 0.04, 0.05)))
        corners = [(x, y, -0.1) for x in (-0.2, 0.2) for y in (-0.15, 0.15)]
        tree.contact(vt.Contact("crate", points=corners), vt.Ground(friction=0.5))
        tree.world.add(vt.tx(-30.0), vt.frame("post"))
        tree.load(vt.Damper("post", "crate", 6.0))
        model = tree.compile()
        q, v = vt.place_on_ground(model, model.neutral()), [1.5, 0.4, 0, 0, 0, 0]
        run = vt.simulate(model, q, v, duration=0.16, dt=dt)
        return run.q[-1, :2]

    found = [ends(dt) for dt in (8e-3, 4e-3, 2e-3, 1e-3)]
    off = [np.abs(a - b).max() for a, b in pairwise(found)]
    assert off[0] / off[1] > 3.5 and off[1] / off[2] > 3.5


@pytest.mark.parametrize("method", VARIATIONAL)
def test_after_a_landing_nothing_seems_to_move(method):
    """What has come to rest is told to rest, in the step after it too."""
    model, q, v = crate()
    q[2] += 0.05
    seen = []
    run = vt.simulate(model, q, v, duration=0.2, dt=2e-3, method=method,
                      control=lambda t, q, v: seen.append((t, v[2])) or np.zeros(6))  # fmt: skip
    t, rate = np.array(seen).T
    down = run.t[np.flatnonzero(np.abs(run.v[:, 2]) < 1e-9)[1]]
    assert 0.09 < down < 0.12
    assert np.abs(rate[t > down]).max() < 1e-9 and rate.min() < -0.9


@pytest.mark.parametrize(("case", "method"), PAIRS)
def test_policies_of_rollouts_and_environments_are_told_the_same(case, method):
    """And what a rollout records is what simulate() does."""
    model, q, v = CASES[case]()
    dt, count = 2e-3, 40
    whole = vt.simulate(model, q, v, duration=count * dt, dt=dt, method=method)
    seen = []
    names = ("q", "v", "p", "energy")
    found = vt.rollout(model, q[None], v[None], duration=count * dt, dt=dt, method=method, record=names,
                       control=lambda t, Q, V: seen.append(V[0].copy()) or np.zeros((1, model.nv)))  # fmt: skip
    np.testing.assert_array_equal(seen, whole.v[:-1])
    for name in names:
        np.testing.assert_array_equal(found.data[name][0], getattr(whole, name))
    with pytest.raises(vt.InputError, match=r'velocities in contact do not follow from p: give record=\("q", "v"'):
        vt.rollout(model, q[None], v[None], duration=count * dt, dt=dt, method=method, record=("q", "p"))[0]
    gym = pytest.importorskip("gymnasium")
    assert gym
    from vitree.gym import VectorEnv

    env = VectorEnv(model, 2, dt=dt, method=method, dtype=np.float64, reward=lambda Q, V, A: np.zeros(2),
                    start=lambda rng, n: (np.tile(q, (n, 1)), np.tile(v, (n, 1))))  # fmt: skip
    seen, _ = env.reset(seed=0)
    for k in range(count):
        np.testing.assert_array_equal(seen[1], np.concatenate([whole.q[k], whole.v[k]]))
        seen, *_ = env.step(np.zeros(env.action_space.shape))
    env.close()


@pytest.mark.parametrize(("case", "method"), [pair for pair in PAIRS if pair[1] != "rk8"])
def test_runs_that_go_on_begin_with_the_last_velocity(case, method, tmp_path):
    """Resumed, from a file too, and restored; their steps have the bits of a run that did not stop."""
    model, q, v = CASES[case]()
    dt = 2e-3

    def torque(t, q, v):
        return -0.1 * v

    whole = vt.simulate(model, q, v, duration=80 * dt, dt=dt, method=method, control=torque)
    part = vt.simulate(model, q, v, duration=35 * dt, dt=dt, method=method, control=torque)
    for before in (part, vt.Trajectory.load(part.save(tmp_path / "part.npz"))):
        rest = before.resume(45 * dt, control=torque, model=model)
        np.testing.assert_array_equal(rest.v, whole.v[35:])
        np.testing.assert_array_equal(rest.energy, whole.energy[35:])
        sim = vt.Simulation(model, resume=before, control=torque, record_every=1)
        np.testing.assert_array_equal(sim.v, whole.v[35])
        sim.step(45)
        np.testing.assert_array_equal(sim.trajectory.v, whole.v[35:])
    sim = vt.Simulation(model, q, v, dt=dt, method=method, control=torque)
    sim.step(35)
    kept = sim.save()
    sim.step(20)
    sim.restore(kept)
    np.testing.assert_array_equal(sim.v, whole.v[35])
    sim.record()
    np.testing.assert_array_equal(sim.trajectory.v, whole.v[35:36])
    sim.step(45)
    np.testing.assert_array_equal(sim.q, whole.q[-1])


@pytest.mark.parametrize("method", METHODS)
def test_a_blow_adds_to_the_velocity_that_was_told(method):
    model, q, v = crate(friction=0.0)
    sim = vt.Simulation(model, q, v, dt=5e-3, method=method)
    sim.step(3)
    sim.push("crate", (3.0, 0, 4.0))
    np.testing.assert_allclose(sim.v[:3], (1.5, 0, 2.0 - G * 5e-3 * vt.METHODS[method].at_end), atol=1e-9)
    told = sim.v.copy()
    sim.record()
    np.testing.assert_array_equal(sim.trajectory.v[0], told)


def test_a_failed_step_leaves_the_velocity_as_it_was():
    """What contacts gave in parts of a step that failed is forgotten."""
    model, q, v = crate()
    calls = []

    def torque(t, q, v):
        calls.append(t)
        if t > 0.02:
            raise RuntimeError("stop")
        return np.zeros(6)

    sim = vt.Simulation(model, q, v, dt=1e-2, control=torque)
    sim.step(2)
    told = sim.v.copy(), sim.q.copy()
    with pytest.raises(vt.CallableError):
        sim.step()
    np.testing.assert_array_equal(sim.v, told[0])
    np.testing.assert_array_equal(sim.q, told[1])


def test_a_reduced_model_is_told_the_same():
    tree = vt.Tree("walker")
    trunk = tree.world.add(vt.tz("slide"), vt.body("trunk", 2.0, (0.03, 0.04, 0.05)))
    for side, x in (("left", 0.2), ("right", -0.2)):
        trunk.add(vt.tx(x), vt.ry(side), vt.tz(-0.3), vt.body(f"{side}_foot", 1.0, (0.01, 0.01, 0.01)))
        tree.contact(vt.Contact(f"{side}_foot", points=[(0.05, 0, 0), (-0.05, 0.02, 0)]))
    tree.contact(vt.Ground(friction=0.7))
    tree.constrain(vt.Coupling({"left": 1.0, "right": -1.0}))
    model = tree.compile().reduced()
    q = vt.place_on_ground(model, np.array([0.0, 0.2]))
    for method in METHODS:
        run = vt.simulate(model, q, duration=0.1, dt=2e-3, method=method)
        assert len(run.contacts) > 50
        sim = vt.Simulation(model, q, dt=2e-3, method=method)
        for k in range(50):
            np.testing.assert_allclose(sim.v, run.v[k], rtol=0, atol=1e-13)
            np.testing.assert_allclose(sim.p, run.p[k], rtol=0, atol=1e-13)
            sim.step()


def test_prescribed_motion_in_contact():
    """A table that moves as prescribed, under a leg that stands on the ground."""
    tree = vt.Tree("leg")
    trunk = tree.world.add(vt.tz("slide"), vt.body("trunk", 5.0, (0.1, 0.1, 0.1)))
    trunk.add(vt.ry("swing", kinematic=True), vt.tx(0.1), vt.body("arm", 0.5, (0.01,) * 3))
    tree.contact(vt.Contact("trunk", points=[(0.0, 0.0, -0.1)]), vt.Ground(friction=0.9))
    model = tree.compile()
    q = vt.place_on_ground(model, model.neutral())
    for method in ("linear-time", "midpoint", "rk4"):
        given = {"dt": 2e-3, "method": method,
                 "control": vt.Control(prescribed={"swing": lambda t: 0.3 * np.sin(5 * t)})}
        run = vt.simulate(model, q, duration=0.1, **given)
        sim = vt.Simulation(model, q, **given)
        for k in range(50):
            np.testing.assert_array_equal(sim.v, run.v[k])
            sim.step()
