"""Contacts in steps of the explicit methods: what is theirs alone, beside the tests that they share with the others."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from touching_models import GROUNDS, crawler, thrown

import vitree as vt

REFERENCE = json.loads((Path(__file__).parents[1] / "data" / "contact.json").read_text())
EULER = ("semi-implicit-euler", "explicit-euler")
METHODS = (*EULER, "rk4", "rk8")


def ball(count=1, radius=0.1, gravity=9.81, ground=True, **surface):
    """Balls of 1 kg that touch the ground and each other."""
    tree = vt.Tree("balls", gravity=(0, 0, -gravity))
    for k in range(count):
        tree.world.add(vt.free(f"base{k}"), vt.body(f"ball{k}", 1.0, (0.4 * radius**2,) * 3))
        tree.contact(vt.Contact(f"ball{k}", shapes=vt.Sphere(radius), **({} if ground else surface)))
    if ground:
        tree.contact(vt.Ground(**surface))
    return tree.compile()


def point(gravity=(0, 0, -9.81), force=0.0, **surface):
    """A point of 2 kg on three sliding joints."""
    tree = vt.Tree("point", gravity=gravity)
    tree.world.add(vt.tx("x"), vt.ty("y"), vt.tz("z"), vt.body("point", 2.0))
    tree.load(vt.JointForce("x", force))
    tree.contact(vt.Contact("point"), vt.Ground(**surface))
    return tree.compile()


def order_of(errors):
    return np.log2(np.array(errors[:-1]) / errors[1:])


# ---- sliding ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("method", EULER)
def test_sliding_by_eulers_methods_is_of_first_order(method):
    errors = []
    for dt in (4e-3, 2e-3, 1e-3):
        run = vt.simulate(point(force=1.0, friction=0.3), None, [-0.8, 1.5, 0.0], duration=0.4, dt=dt, method=method)
        errors.append(np.abs(run.q[-1, :2] - REFERENCE["curved_slide"]["xyvxvy"][:2]).max())
    assert np.abs(order_of(errors) - 1).max() < 0.05


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("excess", [-1e-3, -1e-6, 1e-6, 1e-3, 0.2])
def test_the_threshold_of_a_slope_is_sharp(method, excess):
    angle, dt = np.arctan(0.5 * (1 + excess)), 1e-3
    model = point(gravity=tuple(9.81 * np.array((np.sin(angle), 0, -np.cos(angle)))), friction=0.5)
    run = vt.simulate(model, duration=1.0, dt=dt, method=method)
    exact = max(0.0, 0.5 * 9.81 * (np.sin(angle) - 0.5 * np.cos(angle)))
    # Euler's methods are ahead or behind by a step
    assert abs(run.q[-1, 0] - exact) < (1.01 * dt * exact if method in EULER else 1e-9) + 1e-12
    assert np.abs(run.q[:, 2]).max() < 1e-12


@pytest.mark.parametrize("method", METHODS)
def test_the_momentum_of_a_point_is_balanced(method):
    """What moves straight keeps its momentum by all methods: contacts and gravity are all that changes it."""
    model = point(friction=0.3, restitution=0.6)
    run = vt.simulate(model, [0.2, 0.1, 0.3], [1.0, -2.0, 0.5], duration=1.5, dt=1e-3, method=method,
                      monitors=("momentum_balance", "gap"))  # fmt: skip
    assert len(run.contacts) > 100
    assert np.abs(run.monitors["momentum_balance"]).max() < 1e-12


@pytest.mark.parametrize("method", METHODS)
def test_velocities_of_what_slides_lie_in_the_ground(method):
    """run.v has what contacts owe where a step ends, friction with it; states keep it for the next step."""
    run = vt.simulate(point(friction=0.3), None, [2.0, 0.0, 0.0], duration=0.3, dt=1e-3, method=method)
    # of explicit Euler the first impulse is none: it moves by the velocity before its forces act
    assert np.abs(run.v[2:, 2]).max() < 1e-12
    exact = 2.0 - 0.3 * 9.81 * run.t
    np.testing.assert_allclose(run.v[2:, 0], exact[2:], rtol=0, atol=1e-9 if method not in EULER else 4e-3)
    assert (np.diff(run.energy[1:]) < 0).all()


# ---- impacts ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("method", ["rk4", "rk8"])
def test_bounces_keep_the_energy(method):
    model = ball(restitution=1.0, friction=0.0)
    q = model.neutral()
    q[2] = 1.1
    run = vt.simulate(model, q, duration=90.0, dt=0.01, method=method)
    assert np.ptp(run.q[:, 2]) > 0.9
    assert np.abs(run.energy / run.energy[0] - 1).max() < 1e-11


@pytest.mark.parametrize("method", METHODS)
def test_bounces_end(method):
    """A rebound shorter than a few steps is none."""
    model = ball(restitution=0.7, friction=0.3)
    q = model.neutral()
    q[2] = 0.6
    run = vt.simulate(model, q, duration=3.0, dt=2e-3, method=method)
    assert len(np.flatnonzero(np.diff(np.sign(run.v[:, 2])) > 0)) >= 5
    # down where it is: an impact at a finite step leaves a depth, which is held
    assert -0.02 < run.q[-1, 2] - 0.1 < 1e-9
    assert np.abs(run.v[-1]).max() < 1e-9 and np.ptp(run.q[-100:, 2]) < 1e-12


@pytest.mark.parametrize("method", METHODS)
def test_newtons_cradle(method):
    model = ball(5, gravity=0.0, ground=False, friction=0.0, restitution=1.0)
    q, v = model.neutral(), model.zero_velocity()
    q[::7] = -0.25, -0.05, 0.2, 0.4, 0.6
    v[0] = v[6] = 1.0
    run = vt.simulate(model, q, v, duration=0.6, dt=0.01, method=method)
    np.testing.assert_allclose(run.v[-1, ::6], REFERENCE["cradle"]["exact"], rtol=0, atol=1e-12)


@pytest.mark.parametrize("method", METHODS)
def test_impacts_never_give_energy(method):
    """Boxes thrown at the ground, any friction and restitution: the blow of the first node takes energy."""
    rng = np.random.default_rng(3)
    for k in range(60):
        a, b, c = size = rng.uniform(0.05, 1.0, 3)
        tree = vt.Tree("box", gravity=(0, 0, 0))
        tree.world.add(vt.free("base"), vt.body("box", 2.0, (b * b + c * c, a * a + c * c, a * a + b * b)))
        tree.contact(vt.Contact("box", points=[(s * a / 2, r * b / 2, -c / 2) for s in (-1, 1) for r in (-1, 1)]))
        friction, restitution = float(rng.choice([0.0, 0.3, 1.0, 5.0])), float(rng.uniform(0.1, 1.0))
        tree.contact(vt.Ground(friction=friction, restitution=restitution))
        model = tree.compile()
        turn = rng.choice([0.0, 1.0]) * rng.standard_normal(3)
        q = vt.place_on_ground(model, model.integrate(model.neutral(), np.concatenate([np.zeros(3), turn])))
        v = rng.standard_normal(6)
        run = vt.simulate(model, q, v, duration=1e-9, dt=1e-9, method=method)
        assert run.kinetic[-1] <= run.kinetic[0] * (1 + 1e-6), (k, size)


# ---- loads, pushes, robots ----------------------------------------------------------------------------------


@pytest.mark.parametrize("method", METHODS)
def test_a_compliant_ground(method):
    model = ball(friction=0.5, stiffness=1e4, damping=50.0)
    q = model.neutral()
    q[2] = 0.12
    for dt in (1e-3, 1e-2):
        run = vt.simulate(model, q, duration=5.0, dt=dt, method=method)
        assert abs(run.q[-1, 2] - 0.1 + 9.81 / 1e4) < 1e-6


@pytest.mark.parametrize("method", METHODS)
def test_contacts_go_on_behind_a_blow(method):
    """A point that stands is struck, in the middle of a step as well, and slides as far as friction lets it."""
    for at in (0.1, 0.1005):
        blow = vt.Impulse("point", (3.0, 0.0, 0.0), at=at)
        run = vt.simulate(point(friction=0.4), duration=0.6, dt=1e-3, method=method, wrenches=[blow])
        assert run.q[-1, 0] == pytest.approx(1.5**2 / (2 * 0.4 * 9.81), rel=5e-3)
        assert np.abs(run.q[:, 2]).max() < 1e-12 and np.abs(run.v[-1]).max() < 1e-12


@pytest.mark.parametrize("method", ["semi-implicit-euler", "rk4"])
def test_the_figure_stands_by_a_torque_function(method):
    """Torques of springs and dampers about a stance: what moves comes to rest, and carries its weight."""
    model = vt.load_urdf(vt.find_robot("human"), base="free", ground=vt.Ground(friction=0.8))
    q = model.neutral()
    for side in ("left", "right"):
        for joint, angle in (("hip", -0.3), ("knee", 0.6), ("ankle", -0.3)):
            q[model.joint(f"{side}_{joint}_flexion").q_slice] = angle
    q, dt = vt.place_on_ground(model, q), 1e-3
    hold = vt.static_equilibrium(model, q).torques
    # as stiff as a step of the free joint allows
    light = 1 / np.diag(np.linalg.inv(model.crba(q)))
    kp, kd = np.minimum(1500.0, light * (0.5 / dt) ** 2), np.minimum(20.0, light * 0.4 / dt)
    kp[:6] = kd[:6] = 0.0

    def torque(t, now, v):
        return hold - kp * model.difference(q, now) - kd * v

    v = model.zero_velocity()
    v[6:] = 0.02 * np.random.default_rng(0).standard_normal(model.nv - 6)
    run = vt.simulate(model, q, v, duration=1.0, dt=dt, method=method, control=torque, record_every=50, monitors="gap")
    assert np.abs(model.difference(q, run.q[-1])).max() < 0.01
    assert run.monitors["gap"].min() > -1e-12
    assert run.contact_wrench()[-1, 5] == pytest.approx(9.81 * model.total_mass, rel=1e-2)


def test_steps_in_halves_are_told():
    """Steps that are too long for a landing are taken in halves, kicks and all; the run says so and keeps its times."""
    found = 0
    for ground, seed, dt in (("hills", 0, 0.06), ("hills", 4, 0.06), ("plane", 0, 0.06), ("plane", 9, 0.06)):
        model = crawler(GROUNDS[ground])
        run = vt.simulate(model, *thrown(model, seed), duration=0.6, dt=dt, method="semi-implicit-euler",
                          monitors="gap")  # fmt: skip
        told = run.settings.get("inexact_contacts", (0, 0.0))[1]
        assert told < 1e-6 and run.monitors["gap"].min() > (-1e-3 if ground == "hills" else -1e-9 - dt * told)
        assert np.abs(np.diff(run.t) - dt).max() < 1e-12
        if run.settings["halved"]:
            found += 1
            assert "were taken in halves" in run.warnings[0]
    assert found


@pytest.mark.parametrize(("method", "order"), [
    *((name, None) for name in ("linear-time", "midpoint", "implicit-euler", "explicit-euler")),
    ("semi-implicit-euler", 1), ("rk4", 2), ("rk8", 2),
])  # fmt: skip
def test_where_a_leg_on_a_damped_drive_rests(method, order):
    """The drive is shorter by m g/kp. Stages see the impulse of the step as a velocity, an error of the order given."""
    tree = vt.Tree("leg")
    trunk = tree.world.add(vt.tz("base"), vt.body("trunk", 10.0, (1, 1, 1)))
    trunk.add(vt.tz("knee"), vt.body("foot", 1.0, (1, 1, 1)))
    tree.contact(vt.Contact("foot", shapes=vt.Sphere(0.05)), vt.Ground(friction=1.0))
    model = tree.compile().with_drives({"knee": (1000.0, 50.0)})
    short = 10.0 * 9.81 / 1000.0
    q, control = np.array([0.5 - short, short - 0.45]), vt.Control(targets=[-0.45])
    off = np.array([np.abs(vt.simulate(model, q, duration=0.5, dt=dt, method=method, control=control).q - q).max()
                    for dt in (4e-3, 2e-3, 1e-3)])  # fmt: skip
    if order is None:
        assert off.max() < 1e-12
    else:
        assert (np.abs(order_of(off) - order) < 0.1).all()
