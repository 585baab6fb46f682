"""Compliant contacts whose force sets in smoothly: their law, exact energy, and derivatives across touch."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.integrate import quad
from step_differences import through_run

import vitree as vt

G = 9.81
METHODS = ["linear-time", "midpoint", "rk4"]


def ball(gravity=G, **surface):
    tree = vt.Tree("ball", gravity=(0, 0, -gravity))
    tree.world.add(vt.free("base"), vt.body("ball", 1.0, (0.01, 0.01, 0.01)))
    tree.contact(vt.Ground(**surface), vt.Contact("ball", shapes=vt.Sphere(0.05)))
    model = tree.compile()
    q = model.neutral()
    q[2] = 0.45
    return model, q


def depth(gap, w):
    """The depth of a compliant contact, in which its force is linear."""
    if abs(gap) < w:
        return (w - gap) ** 2 / (4 * w)
    return max(0.0, -gap)


@pytest.mark.parametrize("w", [1e-4, 3e-3, 0.02])
def test_the_force_is_the_slope_of_the_potential(w):
    model, q = ball(stiffness=2e3, softness=w)
    rest = np.zeros(6)
    for gap in np.array([-3.0, -1.0, -0.7, 0.0, 0.4, 1.0, 2.5]) * w:
        q[2] = 0.05 + gap
        points = sorted({p for p in (-w, w) if gap < p < 3 * w})
        potential = quad(lambda x: 2e3 * depth(x, w), gap, 3 * w, points=points or None, epsabs=1e-16)[0]
        assert model.potential_energy(q) - G * q[2] == pytest.approx(potential, rel=1e-12, abs=1e-15)
        force = model.contact_forces(q, rest).force[:, 2].sum()
        assert force == pytest.approx(2e3 * depth(gap, w), rel=1e-12, abs=1e-15)
        acceleration = model.forward_dynamics(q, rest)[0][2]
        assert acceleration == pytest.approx(2e3 * depth(gap, w) - G, rel=1e-12)


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("stiffness", [1e3, 1e5, 1e8])
@pytest.mark.parametrize("w", [1e-5, 1e-3, 0.03])
def test_a_ball_keeps_its_energy(method, stiffness, w):
    """Also where one step passes the whole of what is soft."""
    model, q = ball(stiffness=stiffness, softness=w)
    run = vt.simulate(model, q, duration=2.0, dt=1e-3, method=method)
    assert len(run.contacts) and abs(run.q[300:, 2].max() - 0.45) < 2e-6
    assert np.abs(run.energy - run.energy[0]).max() < 1e-9 * run.energy[0]


def test_order_two_while_pressed():
    model, q = ball(stiffness=3e3, softness=0.02)
    q[2] = 0.06

    def end(dt):
        run = vt.simulate(model, q, duration=0.04, dt=dt)
        assert len(run.contacts) == len(run) - 1
        return np.concatenate([run.q[-1], run.v[-1]])

    fine = end(1.25e-4)
    errors = [np.abs(end(dt) - fine).max() for dt in (4e-3, 2e-3, 1e-3)]
    assert (np.log2(np.divide(errors[:-1], errors[1:])) > 1.85).all(), errors


@pytest.mark.parametrize("damping", [1.0, 30.0, 1e3])
@pytest.mark.parametrize("w", [1e-3, 0.05])
def test_dampers_never_give_energy(w, damping):
    for dt in (1e-3, 1e-2):
        model, q = ball(gravity=0.0, stiffness=1e4, damping=damping, softness=w)
        run = vt.simulate(model, q, [0, 0, -3.0, 0, 0, 0], duration=1.0, dt=dt)
        assert np.diff(run.energy).max() < 1e-12 * run.energy[0]
        assert (run.contacts.impulse[:, 2] > 0).all() and run.energy[-1] < run.energy[0]


SHAPES = {
    "sphere": vt.Sphere(0.1), "capsule": vt.Capsule(0.1, 0.3), "box": vt.Box((0.2, 0.3, 0.25)),
    "cylinder": vt.Cylinder(0.1, 0.3), "cone": vt.Cone(0.12, 0.3), "ellipsoid": vt.Ellipsoid((0.1, 0.15, 0.2)),
}  # fmt: skip


def two(a, b, w, friction=0.0):
    tree = vt.Tree("two", gravity=(0, 0, 0))
    for name, shape in (("a", a), ("b", b)):
        tree.world.add(vt.free(f"{name}_base"), vt.body(name, 1.0 + (name == "b"), (0.02, 0.03, 0.04)))
        tree.contact(vt.Contact(name, shapes=shape, stiffness=1e5, softness=w, friction=friction))
    model = tree.compile()
    q = model.neutral()
    q[0], q[7] = -0.5, 0.5
    q = model.integrate(q, np.concatenate([[0, 0.02, 0.01, 0.3, 0.2, -0.4], [0, 0, 0, -0.2, 0.5, 0.1]]))
    v = np.concatenate([[2.0, 0, 0, 0.2, 0, 0.1], [-1.0, 0, 0, 0, 0.1, 0]])
    for name, k in (("a", 0), ("b", 6)):
        v[k : k + 3] = model.frame_pose(name, q)[:3, :3].T @ v[k : k + 3]
    return model, q, v


@pytest.mark.parametrize("b", SHAPES)
@pytest.mark.parametrize("a", SHAPES)
@pytest.mark.parametrize("w", [0.0, 0.002])
def test_pairs_bounce_off_with_all_their_energy(a, b, w):
    """The potential is that of the places of contact at each node, and is conserved to order two."""
    model, q, v = two(SHAPES[a], SHAPES[b], w)
    bands = []
    for dt in (5e-4 if w else 1e-3, 2.5e-4):
        run = vt.simulate(model, q, v, duration=0.6, dt=dt)
        assert (run.contacts.gap < 0.1).all() and (run.contacts.impulse != 0.0).any(axis=1).all()
        assert len(run.contacts) and (w == 0.0 or run.contacts.gap[0] > 0.0)  # it acts before the shapes touch
        assert np.abs(run.momentum - run.momentum[0]).max() < 1e-9
        bands.append(np.abs(run.energy - run.energy[0]).max() / run.energy[0])
    if w == 0.0:
        # a sixteenth, but where features change at an edge, whose error depends on where in a step this happens
        assert bands[1] < 1e-3 and bands[1] < 0.35 * bands[0] + 1e-9, bands
    # places of faces come and go within the softness, each with the energy of its spring
    assert max(bands) < 0.02, bands


def thrown(shape, stiffness, w, normal):
    """A shape that falls on a plane, turning."""
    along = np.array(normal) / np.linalg.norm(normal)
    tree = vt.Tree("thrown", gravity=-2 * along)
    tree.world.add(vt.free("base"), vt.body("body", 1.0, (0.02, 0.03, 0.04)))
    tree.contact(
        vt.Ground(normal=normal, stiffness=stiffness, softness=w, friction=0), vt.Contact("body", shapes=shape)
    )
    model = tree.compile()
    q = vt.place_on_ground(model, model.integrate(model.neutral(), [0, 0, 0, 0.3, 0.5, -0.4]))
    q[:3] += 0.05 * along
    return model, q, np.array([0, 0, 0, 0.3, 0.2, -0.4])


@pytest.mark.parametrize("shape", [*SHAPES, "disk"])
@pytest.mark.parametrize("normal", [(0.0, 0.0, 1.0), (0.3, -0.2, 1.0)])
@pytest.mark.parametrize("w", [0.0, 0.002])
def test_shapes_bounce_off_planes_with_all_their_energy(shape, normal, w):
    model, q, v = thrown((SHAPES | {"disk": vt.Disk(0.15)})[shape], 1e5, w, normal)
    bands = []
    for dt in (5e-4, 2.5e-4):
        run = vt.simulate(model, q, v, duration=1.0, dt=dt)
        assert run.contacts.gap.min() < -2e-4 and not run.warnings
        bands.append(np.abs(run.energy - run.energy[0]).max() / abs(run.energy[0]))
    if w == 0.0:
        assert bands[1] < 0.3 * bands[0] + 1e-10, bands
    assert max(bands) < 2e-4, bands


def test_energy_of_places_that_come_and_go_is_told():
    """A cylinder that sinks by a quarter of its length lands on one place of its rim and leaves from more."""
    told = []
    for stiffness in (100.0, 1e5):
        model, q, v = thrown(SHAPES["cylinder"], stiffness, 0.0, (0.0, 0.0, 1.0))
        run = vt.simulate(model, q, v, duration=2.0, dt=5e-4)
        growth = (run.energy - run.energy[0]).max()
        told.append([text for text in run.warnings if "compliant shapes overlap" in text])
        assert bool(told[-1]) == (growth > 0.01 * (run.energy - model.potential_energy(run.q)).max())
        if told[-1]:
            assert f"grows by {growth:.3g} J" in told[-1][0] and f"{-run.contacts.gap.min():.2g} m" in told[-1][0]
    assert told[0] and not told[1]


@pytest.mark.parametrize("method", ["linear-time", "midpoint"])
@pytest.mark.parametrize(("friction", "damping", "w", "steps"), [
    (0.0, 0.0, 0.02, 40), (0.0, 20.0, 0.02, 10), (0.6, 0.0, 0.02, 40), (0.3, 20.0, 2e-3, 1), (0.3, 0.0, 5e-4, 1),
])  # fmt: skip
def test_derivatives_are_those_of_differences(method, friction, damping, w, steps):
    tree = vt.Tree("box", gravity=(0, 0, -G))
    tree.world.add(vt.free("base"), vt.body("box", 1.0, (0.01, 0.02, 0.03)))
    ground = vt.Ground(friction=friction, stiffness=5e3, damping=damping, softness=w)
    tree.contact(ground, vt.Contact("box", shapes=vt.Box((0.4, 0.3, 0.2))))
    model = tree.compile()
    q = model.neutral()
    q[2] = 0.1
    q = model.integrate(q, np.array([0, 0, 0, 5e-4, 3e-4, 0.1]))
    v = np.array([0.5, 0.15, -0.02, 0.01, 0.02, 0.1]) * ([0, 0, 1, 1, 1, 0] if friction == 0.6 else 1)
    run = vt.simulate(model, q, v, duration=steps * 1e-3, dt=1e-3, method=method)
    assert len(run.contacts) >= 2 * steps
    whole, found = through_run(model, run)
    np.testing.assert_allclose(whole, found, rtol=0, atol=1e-8 * np.abs(found).max())


def test_derivatives_change_over_the_softness():
    """Those of a step: within what a ball moves in it where the force begins at touch, else over twice the softness."""
    h, k, speed = 1e-3, 1e4, 0.1
    steepest = {}
    for w in (0.0, 0.01):
        model, q = ball(stiffness=k, softness=w)
        gaps, found = np.linspace(-0.015, 0.015, 601), []
        for gap in gaps:
            q[2] = 0.05 + gap
            found.append(vt.simulate(model, q, [0, 0, -speed, 0, 0, 0], duration=h, dt=h).linearize().A[0][8, 2])
        assert max(found) == 0.0 and min(found) == pytest.approx(-h * k, rel=0.02)
        steepest[w] = np.abs(np.gradient(found, gaps)).max()
        # what is w away has a slope already
        assert (found[np.abs(gaps - 0.005).argmin()] < -0.2 * h * k) == (w > 0.0)
    assert steepest[0.01] == pytest.approx(h * k / 0.02, rel=0.05)
    assert steepest[0.0] > 20 * steepest[0.01]


def test_without_softness_nothing_changes_and_little_of_it_changes_little():
    runs = [vt.simulate(*ball(stiffness=1e4, damping=5.0, **more), duration=1.0, dt=1e-3)
            for more in ({}, {"softness": 0.0}, {"softness": 1e-7}, {"softness": 1e-5})]  # fmt: skip
    assert (runs[0].q == runs[1].q).all() and (runs[0].p == runs[1].p).all()
    away = [np.abs(run.q - runs[0].q).max() for run in runs[2:]]
    assert 0 < away[0] < 1e-6 and away[0] < 0.1 * away[1] < 1e-4


def test_the_softer_of_two_decides():
    tree = vt.Tree("two", gravity=(0, 0, 0))
    for name, more in (("a", {"stiffness": 1e3, "softness": 0.01}), ("b", {"stiffness": 1e4, "softness": 0.03})):
        tree.world.add(vt.tx(name), vt.body(name, 1.0, (0.01, 0.01, 0.01)))
        tree.contact(vt.Contact(name, shapes=vt.Sphere(0.1), **more))
    model = tree.compile()
    force = np.abs(model.contact_forces([0.0, 0.195], [0.0, 0.0]).force).max()
    assert force == pytest.approx(1e3 * depth(-0.005, 0.01), rel=1e-9)
    assert not len(model.contact_forces([0.0, 0.215], [0.0, 0.0]).force)


@pytest.mark.parametrize("given", [{"softness": 0.01}, {"softness": 0.01, "stiffness": np.inf}])
@pytest.mark.parametrize("of", [vt.Ground, lambda **k: vt.Contact("foot", **k)])
def test_softness_goes_with_a_stiffness(of, given):
    with pytest.raises(vt.ModelError, match="has softness and no stiffness"):
        of(**given)


@pytest.mark.parametrize("value", [-1e-3, np.nan, np.inf, "soft"])
def test_wrong_softness(value):
    with pytest.raises(vt.ModelError, match="softness of the"):
        vt.Ground(stiffness=1e3, softness=value)


def test_softness_is_written_and_read():
    tree = vt.Tree("ball")
    tree.world.add(vt.free("base"), vt.body("ball", 1.0, (0.01, 0.01, 0.01)))
    ground = vt.Ground(friction=(0.5, 0.01, 0.0), stiffness=1e3, softness=0.002)
    tree.contact(ground, vt.Contact("ball", shapes=vt.Sphere(0.05), stiffness=100.0, softness=0.01))
    again = vt.read_sexpr(vt.write_sexpr(tree)).compile()
    assert again.ground == ground and again.contacts[0].softness == 0.01
