"""What acts at a state: accelerations with closed contacts, their inverse, the forces, and short steps beside them."""

from __future__ import annotations

import numpy as np
import pytest
from touching_models import GROUNDS, crawler, standing, thrown

import vitree as vt

G = 9.81


def crate(mu=0.5, **more):
    tree = vt.Tree("crate")
    tree.world.add(vt.free("base"), vt.body("crate", 2.0, (0.02, 0.02, 0.02)))
    tree.contact(vt.Ground(friction=mu), vt.Contact("crate", shapes=vt.Box((0.2, 0.2, 0.2)), **more))
    model = tree.compile()
    q = model.neutral()
    q[2] = 0.1
    return model, q


def stop():
    """An arm that lies at its upper limit, and one that hangs."""
    tree = vt.Tree("arms")
    tree.limits = "enforce"
    for name in ("low", "free"):
        tree.world.add(vt.ry(name, lower=-1.0, upper=0.5), vt.tx(1.0), vt.body(f"{name} arm", 1.0, (0.01, 0.01, 0.01)))
    return tree.compile()


def wheeled():
    """A cart of 2 kg on a wheel of 1 kg, 0.005 kg m^2 and 0.1 m that rolls without slip: it moves as 3.5 kg."""
    tree = vt.Tree("cart")
    axle = tree.world.add(vt.tx("x"), vt.tz(0.1), vt.body("cart", 2.0))
    axle.add(vt.ry("spin"), vt.body("wheel", 1.0, (0.005, 0.005, 0.005)))
    tree.roll(vt.RollingConstraint("wheel", 0.1, axis=(0.0, 1.0, 0.0)))
    tree.contact(vt.Ground())
    return tree.compile()


# ---- written down by hand --------------------------------------------------------------------------------------


def test_a_crate_stands_slides_and_is_pushed():
    model, q = crate()
    still, moving = np.zeros(6), np.array([1.0, 0, 0, 0, 0, 0])
    assert np.abs(model.forward_dynamics(q, still).acceleration).max() < 1e-12
    np.testing.assert_allclose(model.forward_dynamics(q, moving).acceleration, [-0.5 * G, 0, 0, 0, 0, 0], atol=1e-10)
    pushed = model.forward_dynamics(q, still, np.array([12.0, 0, 0, 0, 0, 0])).acceleration
    np.testing.assert_allclose(pushed[:3], [(12.0 - 0.5 * 2 * G) / 2, 0, 0], atol=1e-10)
    held = model.forward_dynamics(q, still, np.array([9.0, 0, 0, 0, 0, 0])).acceleration
    assert np.abs(held).max() < 1e-12
    found = model.contact_forces(q, still, np.array([9.0, 0, 0, 0, 0, 0]))
    np.testing.assert_allclose(found.wrench("crate", about=q[:3])[3:], [-9.0, 0, 2 * G], atol=1e-10)
    assert set(found.b) == {"ground"} and (found.gap == 0).all()
    lifted = model.forward_dynamics(q, np.array([0, 0, 0.5, 0, 0, 0])).acceleration
    np.testing.assert_allclose(lifted, [0, 0, -G, 0, 0, 0], atol=1e-12)
    bare = model.forward_dynamics(q, still, contacts="none").acceleration
    np.testing.assert_array_equal(bare, [0, 0, -G, 0, 0, 0])


def test_limits_hold_and_let_go():
    model = stop()
    a = model.forward_dynamics(np.array([0.5, 0.2]), np.zeros(2)).acceleration
    assert abs(a[0]) < 1e-12
    np.testing.assert_allclose(a[1], G * np.cos(0.2) / 1.01, rtol=1e-12)
    found = model.contact_forces(np.array([0.5, 0.2]), np.zeros(2))
    assert found.a == ("low",) and found.b == ("limit",)
    np.testing.assert_allclose(found.force[0, 0], -G * np.cos(0.5), rtol=1e-12)
    back = model.forward_dynamics(np.array([0.5, 0.2]), np.zeros(2), np.array([-20.0, 0.0])).acceleration
    np.testing.assert_allclose(back[0], (G * np.cos(0.5) - 20.0) / 1.01, rtol=1e-12)


def test_a_wheel_rolls():
    model = wheeled()
    a = model.forward_dynamics(np.zeros(2), np.zeros(2), np.array([0.0, 0.7])).acceleration
    # 0.7 N m on 0.1 m: 7 N on 3 kg and 0.5 kg of the wheel's inertia
    np.testing.assert_allclose(a, [2.0, 20.0], atol=1e-10)


def test_a_block_on_an_incline_stands_by_dry_friction():
    tree = vt.Tree("incline")
    tree.world.add(vt.fixed(rpy=(0, 0.3, 0)), vt.tx("slide", dry_friction=8.0), vt.body("block", 2.0, (0.1, 0.1, 0.1)))
    model = tree.compile()
    a = model.forward_dynamics(np.zeros(1), np.zeros(1)).acceleration
    assert abs(a[0]) < 1e-12
    read = vt.Imu("block").sample(model, 0.0, np.zeros(1), np.zeros(1)).accelerometer
    np.testing.assert_allclose(read, [-G * np.sin(0.3), 0.0, G * np.cos(0.3)], atol=1e-9)
    moving = model.forward_dynamics(np.zeros(1), np.ones(1)).acceleration
    np.testing.assert_allclose(moving, [G * np.sin(0.3) - 4.0], atol=1e-10)


def test_a_spring_of_a_contact_pushes_by_its_depth():
    model, q = crate(stiffness=1e4, damping=20.0)
    for depth, speed in ((1e-3, 0.0), (2e-3, -0.05), (1e-4, 1.0)):
        at, v = q.copy(), np.array([0, 0, speed, 0, 0, 0])
        at[2] -= depth
        force = 4 * max(0.0, 1e4 * depth - 20.0 * speed)
        np.testing.assert_allclose(model.forward_dynamics(at, v).acceleration[2], force / 2 - G, rtol=1e-9)
    at[2] = q[2] - 1e-3
    slid = model.forward_dynamics(at, np.array([0.3, 0, 0, 0, 0, 0])).acceleration
    np.testing.assert_allclose(slid[0], -0.5 * 4 * 10.0 / 2, rtol=1e-7)


# ---- beside short steps ----------------------------------------------------------------------------------------


def states(seed, ground="plane", limits=True):
    """States of a run of a crawler that falls, lands, slides and lies."""
    model = crawler(GROUNDS[ground], limits=limits)
    q, v = thrown(model, seed)
    run = vt.simulate(model, q, v, duration=1.2, dt=2e-3)
    rng = np.random.default_rng(seed)
    return model, [(run.q[k], run.v[k]) for k in rng.choice(len(run), 6, replace=False)], rng


@pytest.mark.parametrize("ground", ["plane", "slope", "hills"])
@pytest.mark.parametrize("seed", range(3))
def test_inverse_dynamics_undoes_forward_dynamics(seed, ground):
    model, found, rng = states(seed, ground)
    closed = 0
    for q, v in found:
        tau = rng.normal(size=model.nv)
        a = model.forward_dynamics(q, v, tau).acceleration
        closed += len(model.contact_forces(q, v, tau).a)
        size = np.abs(a).max() + 1
        # the joint forces may be others, but give the same acceleration; and are none if none act
        again = model.forward_dynamics(q, v, model.inverse_dynamics(q, v, a)).acceleration
        np.testing.assert_allclose(again, a, atol=1e-9 * size)
        rest = model.inverse_dynamics(q, v, model.forward_dynamics(q, v).acceleration)
        assert np.abs(rest).max() < 1e-9 * size
        free = model.forward_dynamics(q, v, tau, contacts="none").acceleration
        np.testing.assert_allclose(model.inverse_dynamics(q, v, free, contacts="none"), tau, atol=1e-9 * size)
    assert closed


@pytest.mark.parametrize("seed", range(3))
def test_a_short_step_has_the_acceleration(seed):
    """Where contacts stay as they are in the step, its change of velocity over dt is the acceleration, to order dt."""
    model, found, rng = states(seed)
    some = 0
    for q, v in found:
        tau = rng.normal(size=model.nv)
        slip = np.linalg.norm(model.contact_forces(q, v, tau).slip, axis=1)
        if ((slip > 1e-4) & (slip < 0.1)).any():
            continue  # friction of slow slip turns within such a step
        off = []
        for h in (4e-5, 2e-5):
            # the first steps take up what the velocity at the start lacks
            run = vt.simulate(model, q, v, dt=h, duration=6 * h, control=tau)
            if len({frozenset(run.contacts.of(k).number.tolist()) for k in (3, 4, 5, 6)}) > 1:
                break
            a = model.forward_dynamics(run.q[4], run.v[4], tau).acceleration
            off.append(np.abs((run.v[5] - run.v[3]) / (2 * h) - a).max())
        if len(off) == 2 and len(run.contacts):
            some += 1
            assert off[1] < max(0.7 * off[0], 1e-5 * (1 + np.abs(a).max())), off
            assert off[1] < 1e-2 * (1 + np.abs(a).max())
    assert some


@pytest.mark.parametrize("name", ["human", "g1"])
def test_contacts_carry_a_humanoid(name):
    model, q = standing(name)
    targets = {f"{drive.joint} target": float(q[model.joint(drive.joint).q_slice.start]) for drive in model.drives}
    run = vt.simulate(model, q, duration=0.5, dt=2e-3, control=vt.Control(inputs=targets))
    q, v = run.q[-1], run.v[-1]
    forces = model.contact_forces(q, v, inputs=targets)
    a = model.forward_dynamics(q, v, inputs=targets).acceleration
    # the momentum of the whole changes by weight and contacts
    free = model.forward_dynamics(q, v, inputs=targets, contacts="none").acceleration
    M = model.crba(q)
    np.testing.assert_allclose((M @ (a - free))[:3], forces.wrench()[3:] @ model.frame_pose(
        model.joints[0].child, q)[:3, :3], atol=1e-8 * model.total_mass * G)  # fmt: skip
    # and the free joint of its base transmits nothing
    base = model.joints[0].name
    np.testing.assert_allclose(model.joint_reactions(q, v, inputs=targets)[base], 0, atol=1e-8 * model.total_mass * G)


# ---- what is refused -------------------------------------------------------------------------------------------


def test_what_cannot_be_is_refused():
    model, q = crate()
    with pytest.raises(vt.InputError, match='choose "closed"'):
        model.forward_dynamics(q, np.zeros(6), contacts="some")
    with pytest.raises(vt.InputError, match='moves "crate" into the ground'):
        model.inverse_dynamics(q, np.zeros(6), np.array([0, 0, -1.0, 0, 0, 0]))
    down = model.inverse_dynamics(q, np.zeros(6), np.array([0, 0, -1.0, 0, 0, 0]), contacts="none")
    np.testing.assert_allclose(down, [0, 0, 2 * (G - 1), 0, 0, 0], atol=1e-12)
    up = model.inverse_dynamics(q, np.zeros(6), np.array([0, 0, 1.0, 0, 0, 0]))
    np.testing.assert_allclose(up, [0, 0, 2 * (G + 1), 0, 0, 0], atol=1e-9)


def test_an_acceleration_must_satisfy_constraints():
    tree = vt.Tree("pair")
    for name in "ab":
        tree.world.add(vt.rx(name), vt.tz(-0.5), vt.body(f"arm {name}", 1.0, (0.1, 0.1, 0.1)))
    tree.constrain(vt.gear("a", "b", 2.0))
    model, q, v = tree.compile(), np.array([0.4, 0.2]), np.zeros(2)
    rows = model.constraint_jacobian(q)[0]
    good = np.array([rows[1], -rows[0]])
    tau = model.inverse_dynamics(q, v, good)
    np.testing.assert_allclose(model.forward_dynamics(q, v, tau).acceleration, good, atol=1e-12)
    with pytest.raises(vt.InputError, match="violates the constraint"):
        model.inverse_dynamics(q, v, good + rows)


def test_accelerations_of_constraints_at_rest_are_taken():
    """Rounding errors of what stands still violate nothing."""
    tree = vt.Tree("pair")
    for name in "ab":
        tree.world.add(vt.rx(name, dry_friction=50.0), vt.tz(-0.5), vt.body(f"arm {name}", 1.0, (0.1, 0.1, 0.1)))
    tree.constrain(vt.gear("a", "b", 1.7))
    model, v = tree.compile(), np.zeros(2)
    for angle in np.random.default_rng(0).uniform(-1, 1, 10):
        q = np.array([1.7 * angle, angle])
        a = model.forward_dynamics(q, v).acceleration
        assert np.abs(a).max() < 1e-12
        assert np.abs(model.inverse_dynamics(q, v, a)).max() < 1e-12
    with pytest.raises(vt.InputError, match="violates the constraint"):
        model.inverse_dynamics(q, v, np.array([1e-9, 0.0]))
