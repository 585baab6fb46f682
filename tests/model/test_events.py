"""Impacts located in time, and small restitutions: what they claim of order, depth, energy, balances and runs."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from touching_models import GROUNDS, crawler, thrown

import vitree as vt
from vitree.model import lower

METHODS = ("linear-time", "midpoint", "rk4")
G = 9.81


def exactly(method):
    return {} if method == "rk4" else {"tolerance": 1e-12}


def ball(**surface):
    tree = vt.Tree("ball")
    tree.world.add(vt.free("base"), vt.body("ball", 1.0, (0.004,) * 3))
    tree.contact(vt.Contact("ball", shapes=vt.Sphere(0.1)), vt.Ground(**surface))
    model = tree.compile()
    q = model.neutral()
    q[2] = 1.1
    return model, q


def height(e: float, t: float) -> float:
    """Of a ball that falls by 1 m at t = 0 and bounces."""
    fall, v = np.sqrt(2 / G), e * np.sqrt(2 * G)
    if t < fall:
        return 1 - G / 2 * t * t
    while t > fall + 2 * v / G:
        fall, v = fall + 2 * v / G, e * v
    return v * (t - fall) - G / 2 * (t - fall) ** 2


# ---- order --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("method", [*METHODS, "rk8"])
@pytest.mark.parametrize("e", [1.0, 0.8, 0.3])
def test_a_ball_bounces_as_it_must(method, e):
    """At nodes of any grid, to round-off, and it is never in the ground."""
    model, q = ball(restitution=e, friction=0.0)
    duration = {1.0: 2.0, 0.8: 2.0, 0.3: 0.6}[e]
    for dt in (1e-2, 4e-3, 1e-3):
        run = vt.simulate(model, q, duration=duration, dt=dt, method=method, max_impacts=1, monitors="gap",
                          **({} if method == "rk8" else exactly(method)))  # fmt: skip
        exact = [height(e, t) for t in run.t]
        assert np.abs(run.q[:, 2] - 0.1 - exact).max() < 1e-12
        assert run.monitors["gap"].min() > -1e-12 and not run.settings["halved"]


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize(("friction", "least"), [(0.0, 1.95), (5.0, 1.8)])
def test_a_rod_that_lands_is_of_second_order(method, friction, least):
    """Without restitution, on a tip that slides or sticks; not located the landing is of first order."""
    tree = vt.Tree("rod")
    tree.world.add(vt.tx("x"), vt.tz("z"), vt.ry("a"), vt.body("rod", 1.0, (1 / 12,) * 3))
    tree.contact(vt.Contact("rod", points=[(0, 0, -0.5)]), vt.Ground(friction=friction))
    model, ends = tree.compile(), {}
    for events in (0, 1):
        ends[events] = [
            vt.simulate(model, [0, 0.75, 0.4], [0.3, -0.5, 0.6], duration=0.48, dt=dt, method=method,
                        max_impacts=events,
                        **exactly(method)).q[-1] for dt in (8e-3, 4e-3, 2e-3, 1e-3, 6.25e-5)
        ]  # fmt: skip
    errors, plain = (np.array([np.abs(q - ends[1][-1]).max() for q in ends[k][:-1]]) for k in (1, 0))
    assert np.log2(errors[0] / errors[-1]) / 3 > least
    assert (plain > 10 * errors).all()


@pytest.mark.parametrize(("method", "band"), [("linear-time", 2.5e-4), ("midpoint", 6e-5), ("rk4", 1e-8)])
def test_elastic_stops(method, band, monkeypatch):
    """A double pendulum between stops keeps its band of energy, and is never beyond them."""
    rows = lower.limit_rows
    monkeypatch.setattr(lower, "limit_rows", lambda flat: [row | {"restitution": 1.0} for row in rows(flat)])
    tree = vt.Tree("pendulum")
    tree.world.add(vt.ry("a"), vt.tz(-1.0), vt.body("one", 1.0),
                   vt.ry("b", lower=-0.3, upper=0.3), vt.tz(-1.0), vt.body("two", 1.0))  # fmt: skip
    tree.limits = "enforce"
    run = vt.simulate(tree.compile(), [1.5, 0.0], duration=10.0, dt=2e-3, method=method, max_impacts=2,
                      **exactly(method))
    assert np.ptp(run.energy) < band and len(run.contacts) >= 14
    assert np.abs(run.q[:, 1]).max() < 0.3 + 1e-12


# ---- what stays ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("e", [0.0, 0.3, 1.0])
@pytest.mark.parametrize(("ground", "limits"), [("plane", False), ("corner", True), ("ice", False)])
def test_a_robot_is_thrown(ground, limits, e, method):
    """Nothing is in the ground, energy changes by the work of contacts, and momentum by their impulses."""
    model = crawler(replace(GROUNDS[ground], restitution=e), limits)
    for seed in (1, 2):
        run = vt.simulate(model, *thrown(model, seed), duration=0.4, dt=1e-3, method=method, max_impacts=20,
                          monitors=("gap", "contact_work", "momentum_balance"))  # fmt: skip
        seen = run.monitors
        assert seen["gap"].min() > -2e-12
        assert seen["contact_work"].max() < 1e-5 * run.energy[0]
        assert abs(seen["contact_work"].sum() - (run.energy[-1] - run.energy[0])) < 2e-3
        size = np.abs(run.momentum).max()
        # rk4 takes the spin of free bodies to its own order
        assert np.abs(seen["momentum_balance"]).max() < (1e-8 if method == "rk4" else 1e-12) * size


def test_balances_of_few_records():
    """Monitors see each part of a step, whatever is recorded, and however long a run is."""
    model, q = ball(restitution=0.9, friction=0.4)
    v, runs = [1.0, 0.5, 0, 3.0, 2.0, 1.0], []
    for every in (1, 50):
        runs.append(vt.simulate(model, q, v, duration=3.0, dt=2e-3, record_every=every, max_impacts=3,
                                monitors=("momentum_balance", "contact_work")))  # fmt: skip
        assert np.abs(runs[-1].monitors["momentum_balance"]).max() < 1e-12
        lost = runs[-1].energy[-1] - runs[-1].energy[0]
        assert abs(runs[-1].monitors["contact_work"].sum() - lost) < 1e-9
    for name in ("momentum_balance", "contact_work"):
        np.testing.assert_array_equal(runs[0].monitors[name], runs[1].monitors[name])
    assert runs[0][::50].contacts.rows.tobytes() == runs[1].contacts.rows.tobytes()


@pytest.mark.parametrize("method", METHODS)
def test_runs_resume_bit_for_bit(method):
    model = crawler(replace(GROUNDS["corner"], restitution=0.4), True)
    q, v = thrown(model, 3)
    whole = vt.simulate(model, q, v, duration=0.5, dt=1e-3, method=method, max_impacts=2)
    for steps in (150, 301, 390):
        part = vt.simulate(model, q, v, duration=steps * 1e-3, dt=1e-3, method=method, max_impacts=2)
        rest = part.resume((500 - steps) * 1e-3)
        assert rest.q.tobytes() == whole.q[steps:].tobytes() and rest[1:].v.tobytes() == whole[steps + 1 :].v.tobytes()
        assert rest[1:].contacts.rows.tobytes() == whole[steps + 1 :].contacts.rows.tobytes()


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("max_impacts", [0, 2])
def test_nothing_of_a_step_depends_on_scratch(method, max_impacts):
    model = crawler(replace(GROUNDS["plane"], restitution=0.3))
    q, v = thrown(model, 2)
    ends = []
    for spoils in (False, True):
        integrator = vt.METHODS[method](model, 1e-3, max_impacts=max_impacts)
        integrator.start(0.0, q, v if method == "rk4" else model.generalized_momentum(q, v))
        for _ in range(300):
            if spoils:
                integrator.stepper.spoil()
            integrator.advance(1)
        ends.append(np.concatenate(integrator.state()))
    assert ends[0].tobytes() == ends[1].tobytes()


def test_impacts_beyond_the_number_are_those_of_the_step():
    """Three balls strike the ground in one step: one impact is located, the others act at the step's end."""
    tree = vt.Tree("balls")
    for k in range(3):
        tree.world.add(vt.free(f"f{k}"), vt.body(f"b{k}", 1.0, (0.004,) * 3))
        tree.contact(vt.Contact(f"b{k}", shapes=vt.Sphere(0.1)))
    tree.contact(vt.Ground(restitution=1.0, friction=0.0))
    model = tree.compile()
    q, v = model.neutral(), model.zero_velocity()
    q[::7], q[2::7], v[2::6] = (0, 1, 2), (0.102, 0.104, 0.106), -1.0
    low = [vt.simulate(model, q, v, duration=0.01, dt=0.01, max_impacts=n,
                       monitors="gap").monitors["gap"] for n in range(4)]
    assert np.abs(low[0] + 0.0085) < 1e-4 and low[1] < -4e-3 and low[2] < -3e-3 and low[3] > 0


# ---- small restitutions -------------------------------------------------------------------------------------


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("e", [0.1, 0.3, 0.45])
def test_boxes_come_to_rest_on_the_ground(method, e):
    for seed, dt in enumerate((1e-3, 5e-3, 5e-3, 5e-3)):
        rng = np.random.default_rng(seed)
        tree = vt.Tree("box")
        tree.world.add(vt.free("base"), vt.body("box", 2.0, (0.022, 0.033, 0.042)))
        points = [(s * 0.2, r * 0.15, -0.1) for s in (-1, 1) for r in (-1, 1)]
        tree.contact(vt.Contact("box", points=points), vt.Ground(friction=0.5, restitution=e))
        model = tree.compile()
        q = model.integrate(model.neutral(), np.r_[0, 0, 0.3, 0.5 * rng.normal(size=3)])
        q = vt.place_on_ground(model, q)
        q[2] += 0.1
        v = np.r_[0.3 * rng.normal(size=3), 2 * rng.normal(size=3)]
        run = vt.simulate(model, q, v, duration=3.0, dt=dt, method=method, monitors=("gap", "contact_work"))
        assert run.monitors["gap"].min() > -1e-9 and np.abs(run.v[-1]).max() < 1e-6
        # the potential energy that they do not lose in the step that stops them is theirs
        lost = run.energy[-1] - run.energy[0]
        assert abs(run.monitors["contact_work"].sum() - lost) < 0.02 * abs(lost)


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("e", [0.2, 0.45, 0.5, 0.8])
def test_rebounds_are_of_first_order(method, e):
    model, q = ball(restitution=e, friction=0.0)
    tops = []
    for dt in (4e-3, 2e-3, 1e-3, 5e-4):
        run = vt.simulate(model, q, duration=round(0.5 + e * np.sqrt(2 / G), 1), dt=dt, method=method)
        after = int(np.argmin(run.q[:, 2])) + 2
        tops.append(abs(run.q[after:, 2].max() - 0.1 - e * e))
    assert (np.array(tops) < 10 * e * np.array((4e-3, 2e-3, 1e-3, 5e-4))).all()


def test_a_stopped_contact_gives_its_blow_from_the_speed_that_it_had():
    """A ball stops at the gap zero, then rebounds; impulses of both add up to (1 + e) times its momentum."""
    model, q = ball(restitution=0.4, friction=0.0)
    run = vt.simulate(model, q, duration=0.5, dt=1e-3, monitors=("gap", "momentum_balance"))
    assert len(run.contacts) == 2 and run.monitors["gap"].min() > -1e-13
    at = int(run.contacts.rows[0, 0])
    assert run.contacts.impulse[:, 2].sum() == pytest.approx(1.4 * -run.p[at - 1, 2], rel=5e-3)
    assert np.abs(run.monitors["momentum_balance"]).max() < 1e-13


@pytest.mark.parametrize("method", ["linear-time", "rk4"])
def test_a_stop_and_its_rebound_give_no_energy(method):
    """A robot is thrown: what a rebound gives back is less than the stop before it took, dt long or short."""
    rebounds = 0
    for ground, limits in (("plane", False), ("corner", True)):
        model = crawler(replace(GROUNDS[ground], restitution=0.49), limits)
        for dt in (1e-3, 4e-3):
            run = vt.simulate(model, *thrown(model, 1), duration=0.4, dt=dt, method=method, monitors="contact_work")
            work = run.monitors["contact_work"]
            given = np.flatnonzero(work[1:] > 1e-3) + 1
            rebounds += len(given)
            assert (work[given] + work[given - 1] < 0).all()
    assert rebounds > 4


# ---- refusals -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("wrong", [-1, 1.5, "two", 1001, None, np.nan])
@pytest.mark.parametrize("method", METHODS)
def test_events_is_a_whole_number(method, wrong):
    with pytest.raises(vt.InputError, match=r"max_impacts.*whole number from 0 to 1000"):
        vt.simulate(*ball(), duration=0.01, dt=1e-3, method=method, max_impacts=wrong)


@pytest.mark.parametrize("method", ["gauss", "scipy-dop853"])
def test_methods_without_contacts_have_no_events(method):
    model = vt.load_urdf(vt.find_robot("arm6"))
    with pytest.raises(vt.UnknownNameError, match="max_impacts"):
        vt.simulate(model, duration=0.01, dt=1e-3, method=method, max_impacts=1)


def test_prescribed_coordinates_need_steps_that_are_known():
    tree = vt.Tree("press")
    tree.world.add(vt.tx("slide", kinematic=True), vt.tz("fall"), vt.body("plate", 1.0, (0.1, 0.1, 0.1)))
    tree.contact(vt.Contact("plate", points=[(0, 0, 0)]), vt.Ground(friction=0.5))
    given = {"duration": 0.1, "dt": 1e-2, "control": vt.Control(prescribed={"slide": lambda t: 0.1 * t})}
    with pytest.raises(vt.InputError,
                       match=r"max_impacts=2 does not know its steps in advance, but prescribed coordinates"):
        vt.simulate(tree.compile(), [0.0, 0.1], max_impacts=2, **given)
    vt.simulate(tree.compile(), [0.0, 0.1], **given)
