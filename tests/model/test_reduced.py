"""Reduced models: everything follows from the full mechanism by the chain rule q' = G q + g."""

from __future__ import annotations

import pickle
from dataclasses import replace

import numpy as np
import pytest
import reference
from loaded_models import gradient
from reduced_models import SINGLE, coupled

import vitree as vt
from vitree.errors import ConvergenceError, InputError, ModelError
from vitree.tree.elements import tz


def close(a, b, tolerance=1e-11):
    scale = max(1.0, np.abs(np.asarray(b)).max(initial=0.0))
    np.testing.assert_allclose(a, b, rtol=0, atol=tolerance * scale)


@pytest.mark.parametrize("seed", range(6))
def test_coordinates_follow(seed):
    """Expanded coordinates satisfy the couplings, and velocities are the derivatives of coordinates."""
    model, q, v, G, _ = coupled(seed)
    full = model.full
    assert (model.nv, model.nq) == (full.nv - 3, full.nq - 3)
    h, Dh = full._constraint_rows(model.expand(q)[None])
    close(h, np.zeros((1, 3)), 1e-15)
    close(Dh[0] @ G, np.zeros((3, model.nv)), 1e-15)
    close(G @ v, model.expand_velocity(v), 1e-15)
    close(model.contract(model.expand(q)), q, 0)
    moved = model.integrate(q, v)
    close(model.expand(moved), full.integrate(model.expand(q), G @ v), 1e-14)
    close(model.difference(q, moved), v, 1e-13)
    names = [name for name in full.v_names if name in model.v_names]
    assert model.v_names == tuple(names)
    for joint in model.joints:
        if joint.kind in SINGLE and joint.mimic:
            leader, factor, offset = joint.mimic
            assert joint.q_slice == model.joint(leader).q_slice and not model.joint(leader).mimic
            own = model.expand(q)[full.joint(joint.name).q_slice]
            close(own, factor * q[joint.q_slice] + offset, 1e-15)


@pytest.mark.parametrize("seed", range(6))
def test_dynamics_are_the_chain_rules(seed):
    model, q, v, G, _ = coupled(seed, damping=True)
    full, flat = model.full, model.full.flat
    rng = np.random.default_rng(seed)
    a, tau = rng.normal(size=(2, model.nv))
    at, rate = model.expand(q), G @ v
    close(model.crba(q), G.T @ reference.crba(flat, at) @ G)
    close(model.rnea(q, v, a), G.T @ reference.rnea(flat, at, rate, G @ a))
    close(model.rnea(q, v, model.aba(q, v, tau)), tau, 1e-10)
    p = model.generalized_momentum(q, v)
    close(p, G.T @ reference.crba(flat, at) @ rate)
    close(model.velocity_from_momentum(q, p), v, 1e-10)
    close(model.kinetic_energy(q, v), reference.kinetic_energy(flat, at, rate))
    close(model.potential_energy(q), reference.potential_energy(flat, at))
    close(model.momentum(q, v), reference.momentum(flat, at, rate))
    close(model.center_of_mass(q), reference.center_of_mass(flat, at))
    close(model.frame_jacobian("link3", q), reference.frame_jacobian(flat, "link3", at) @ G)
    close(model.frame_pose("link3", q), reference.frame_pose(flat, "link3", at))
    close(model.passive_force(q), -gradient(model, q, model.potential_energy), 1e-8)
    # damping and friction of the followers are felt by their leaders
    free = model.forward_dynamics(q, v, tau).acceleration
    close(free, model.aba(q, v, tau - G.T @ reference.drag(flat, rate)), 1e-9)
    fast = G @ np.full(model.nv, 1e6)
    close(model.friction, G.T @ (flat.friction * np.sign(fast)), 1e-9)
    close(model.damping, np.diag(G.T @ np.diag(flat.damping) @ G), 1e-15)
    assert not model.constraints and full.constraints


def test_derivatives_by_coordinates():
    model, q, v, *_ = coupled(3, kinds=SINGLE, base="fixed")
    found = model.lagrangian_derivatives(q, v)
    assert np.ndim(found.value) == 0
    close(found.value, model.lagrangian(q, v))
    close(found.by_q, gradient(model, q, lambda at: model.lagrangian(at, v)), 1e-7)
    close(found.by_qq, gradient(model, q, lambda at: model.lagrangian_derivatives(at, v).by_q), 1e-7)
    close(found.by_vq, gradient(model, q, lambda at: model.lagrangian_derivatives(at, v).by_v).T, 1e-7)
    close(found.by_vv, model.crba(q))
    pose, first, second = model.pose_derivatives("link7", q)
    close(pose, model.frame_pose("link7", q))
    close(first, gradient(model, q, lambda at: model.frame_pose("link7", at)), 1e-7)
    close(second, gradient(model, q, lambda at: model.pose_derivatives("link7", at)[1]), 1e-7)
    twist = model.twist_derivatives("link7", q, v)
    close(twist.twist, model.frame_jacobian("link7", q, axes="local") @ v)
    close(twist.by_q, gradient(model, q, lambda at: model.twist_derivatives("link7", at, v).twist), 1e-7)
    by_qv = gradient(model, q, lambda at: model.twist_derivatives("link7", at, v).by_v)
    close(twist.by_vq, np.swapaxes(by_qv, 0, 1), 1e-7)


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("method, options", [
    ("linear-time", {"kinetic": "screw"}), ("linear-time", {"kinetic": "com"}),
    ("midpoint", {"kinetic": "midpoint"}), ("midpoint", {"solver": "newton", "kinetic": "midpoint"})])  # fmt: skip
def test_steps_are_those_of_the_reduced_action(seed, method, options):
    """D1 and D2 of the discrete action, along what the couplings allow, are minus and plus the momenta."""
    model, q, v, G, _ = coupled(seed, damping=True)
    flat, h = model.full.flat, 5e-3
    tau = np.random.default_rng(seed).normal(size=model.nv)
    run = vt.simulate(model, q, v, duration=h, dt=h, method=method, control=tau, tolerance=1e-13, **options)
    q1, q2 = (model.expand(x) for x in run.q)
    x = reference.difference(flat, q1, q2)
    force = np.zeros(model.full.nv)
    force[model._followers.own_v] = tau
    if method == "linear-time":
        residual = reference.linear_time_residual(flat, q1, np.zeros(model.full.nv), x, h, tau=force, **options)
        end = reference.linear_time_end(flat, q1, x, h, tau=force, **options)[1]
    else:
        D1, D2 = reference.midpoint_slots(flat, q1, x, h, tau=force)
        residual, end = -D1, D2
    scale = np.abs(run.p).max()
    close(G.T @ residual / scale, run.p[0] / scale, 1e-11)
    close(G.T @ end / scale, run.p[1] / scale, 1e-11)


def test_a_nut_that_follows_is_a_screw():
    """A slide that follows a turn by the pitch is a helical joint, in every method."""
    pitch, bodies = 0.12, dict(inertia=(0.1, 0.2, 0.3), com=(0.1, 0.0, 0.2))
    apart = vt.Tree("apart", gravity=(1.0, 0.0, -9.81))
    apart.world.add(vt.screw("turn", axis=(0, 0, 1)), vt.screw("slide", twist=((0, 0, 0), (0, 0, 1))), tz(0.3),
                    vt.body("nut", mass=2.0, **bodies), vt.rx("arm"), tz(-0.4), vt.body("load", mass=1.0))  # fmt: skip
    apart.constrain(vt.gear("slide", "turn", pitch))
    one = vt.Tree("one", gravity=(1.0, 0.0, -9.81))
    one.world.add(vt.screw("turn", axis=(0, 0, 1), pitch=pitch), tz(0.3), vt.body("nut", mass=2.0, **bodies),
                  vt.rx("arm"), tz(-0.4), vt.body("load", mass=1.0))  # fmt: skip
    reduced, helical = vt.Model(apart.flatten()).reduced(), one.compile()
    q, v, a = np.array([[0.3, -0.4], [2.0, 1.0], [0.5, -0.7]])
    assert reduced.v_names == helical.v_names
    close(reduced.crba(q), helical.crba(q), 1e-14)
    close(reduced.rnea(q, v, a), helical.rnea(q, v, a), 1e-14)
    # the linear-time rule averages a twist over each body, and the body is one and the same
    for method in ("linear-time", "midpoint", "rk4", "semi-implicit-euler"):
        runs = [vt.simulate(m, q, v, duration=0.5, dt=1e-2, method=method) for m in (reduced, helical)]
        close(runs[0].q, runs[1].q, 1e-8)
        close(runs[0].p, runs[1].p, 1e-8)


@pytest.mark.parametrize("method", ["linear-time", "midpoint"])
def test_runs_conserve_what_they_claim(method):
    model, q, v, *_ = coupled(5)
    run = vt.simulate(model, q, v, duration=2.0, dt=2e-3, method=method, record_every=10,
                      monitors=["energy", "momentum"])
    impulse = model.total_mass * np.outer(run.t, model.gravity)
    close(run.momentum[:, 3:] - run.momentum[0, 3:], impulse, 1e-11)
    assert np.abs(run.energy - run.energy[0]).max() < 2e-4 * np.abs(run.kinetic).max()
    assert run.q.shape == (101, model.nq) and run.p.shape == run.v.shape == (101, model.nv)
    assert run.constraint.shape == run.multipliers.shape == (101, 0) and run.constraint_names == ()
    assert run.monitors["momentum"].shape == (1000, 6)
    close(run.kinetic, [model.kinetic_energy(*x) for x in zip(run.q, run.v, strict=True)])
    close(run.p, model._momenta(run.q, run.v), 1e-9)


def test_starts_torques_and_ends_are_in_the_reduced_coordinates(tmp_path):
    model, q, v, *_ = coupled(2)
    common = dict(dt=1e-2, tolerance=1e-12)
    run = vt.simulate(model, q, v, duration=0.2, **common)
    p = model.generalized_momentum(q, v)
    close(vt.simulate(model, q, p0=p, duration=0.2, **common).q, run.q, 1e-9)
    close(vt.simulate(model, q, q1=run.q[1], duration=0.2, **common).q, run.q, 1e-9)
    half = vt.simulate(model, q, v, duration=0.1, **common)
    half.save(tmp_path / "half.npz")
    rest = vt.Trajectory.load(tmp_path / "half.npz").resume(0.1, model=model)
    assert np.array_equal(rest.q[-1], run.q[-1]) and np.array_equal(rest.p[-1], run.p[-1])
    seen = []

    def torque(t, q, v):
        seen.append((q.shape, v.shape))
        return -0.3 * v

    vt.simulate(model, q, v, duration=0.05, dt=1e-2, control=torque)
    assert set(seen) == {((model.nq,), (model.nv,))}
    table = vt.compare(model, ["linear-time", "rk4"], q0=q, v0=v, dt=[1e-2], duration=0.1)
    assert all(row["status"] == "ok" for row in table.table)
    for wrong in ({"v0": np.zeros(model.full.nv)}, {"control": np.zeros(3)}, {"q1": [0.0]}):
        with pytest.raises(InputError):
            vt.simulate(model, q, duration=0.1, dt=1e-2, **wrong)
    with pytest.raises(ConvergenceError) as caught:
        vt.simulate(model, q, 50 * v, duration=2.0, dt=0.2, max_iterations=4, max_halvings=0)
    assert caught.value.trajectory.q.shape[1] == model.nq


def test_other_constraints_stay():
    """Couplings that are reduced and couplings kept as constraints give the same motion."""
    model, q, *_ = coupled(4, kinds=SINGLE, base="fixed", shuffled=False)
    frame = model.frame_pose("link7", q)[:3, 3]
    pinned = vt.PointConstraint("link7", "world", (1.0, 0.0, 0.0), offset=float(frame[0]))
    full = vt.Model(replace(model.full.flat, constraints=(pinned, *model.full.constraints)))
    model = full.reduced()
    assert model.constraints == (pinned,)
    v = model.project_velocity(q, np.ones(model.nv))
    close(model.constraint_jacobian(q) @ v, [0.0], 1e-12)
    a, multipliers = model.forward_dynamics(q, v)
    all_a, all_multipliers = full.forward_dynamics(model.expand(q), model.expand_velocity(v))
    close(model.expand_velocity(a), all_a, 1e-9)
    close(multipliers, all_multipliers[:1], 1e-9)
    runs = [vt.simulate(m, *start, duration=0.2, dt=5e-3, tolerance=1e-12)
            for m, start in ((model, (q, v)), (full, (model.expand(q), model.expand_velocity(v))))]  # fmt: skip
    assert np.array_equal(runs[0].q, model.contract(runs[1].q))
    assert np.array_equal(runs[0].multipliers, runs[1].multipliers[:, :1], equal_nan=True)
    near = model.integrate(q, 1e-2 * np.ones(model.nv))
    close(model.constraint_errors(vt.satisfy_constraints(model, near)), [0.0], 1e-12)


def test_efforts_are_cut_by_the_leaders_limits():
    """A follower takes no torque of its own, so that its limit, here zero, does not matter."""
    tree = vt.Tree("two")
    tree.world.add(vt.ry("a", effort=0.5), tz(-1.0), vt.body("one", mass=1.0))
    tree.world.add(vt.ry("b", effort=0.0), tz(-1.0), vt.body("other", mass=1.0))
    tree.constrain(vt.gear("b", "a", -1.0))
    model = vt.Model(tree.flatten()).reduced()
    options = dict(duration=0.1, dt=1e-2)
    cut = vt.simulate(model, control=vt.Control(torque=[9.0], effort_limits=True), **options)
    assert cut.settings["effort_cut"] == {"a": 1.0}
    assert np.array_equal(cut.q, vt.simulate(model, control=[0.5], **options).q)


def test_at_rest():
    tree = vt.Tree("two")
    tree.world.add(vt.ry("a"), tz(-1.0), vt.body("one", mass=1.0))
    tree.world.add(vt.ry("b"), tz(-1.0), vt.body("other", mass=1.0))
    tree.constrain(vt.gear("b", "a", -1.0, 1.0))
    model = vt.Model(tree.flatten()).reduced()
    q = vt.minimize_potential_energy(model, [0.9])
    # cos a + cos(1 - a) is greatest half way
    close(q, [0.5], 1e-7)


def test_euler_angles():
    model, q, v, *_ = coupled(1)
    euler = model.euler()
    at, rate = euler.from_native(q, v)
    close(euler.kinetic_energy(at, rate), model.kinetic_energy(q, v))
    back, speed = euler.to_native(at, rate)
    close(model.difference(q, back), np.zeros(model.nv), 1e-13)
    close(speed, v, 1e-12)
    run = vt.simulate(euler, at, rate, duration=0.02, dt=1e-3, method="midpoint", residual="tree")
    assert run.q.shape[1] == euler.nq == euler.nv == model.nv


def test_the_model_is_a_value():
    model, q, *_ = coupled(0)
    copy = pickle.loads(pickle.dumps(model))
    assert copy == model and hash(copy) == hash(model) and model != model.full
    assert np.array_equal(copy.crba(q), model.crba(q))
    with pytest.raises(ModelError, match=r"model\.full\.flat"):
        vt.Model(model.flat)
    assert model.neutral().shape == (model.nq,) and "reduced" not in repr(model)
    drawn = model.random_configuration(np.random.default_rng(1))
    assert np.array_equal(model.validate_configuration(drawn), drawn)


def test_couplings_that_say_no_order_are_refused():
    tree = vt.Tree("three")
    at = tree.world
    for name in "abc":
        at = at.add(vt.rx(name), tz(-1.0), vt.body(f"link {name}", mass=1.0))

    def reduced(*rows):
        return vt.Model(replace(tree.flatten(), constraints=rows)).reduced()

    with pytest.raises(ModelError, match='"a" follows two joints, "b" and "c"'):
        reduced(vt.gear("a", "b", 1.0), vt.gear("a", "c", 1.0))
    with pytest.raises(ModelError, match="in a circle"):
        reduced(vt.gear("a", "b", 1.0), vt.gear("b", "c", 1.0), vt.gear("c", "a", 1.0))
    driven = replace(tree.flatten(), kinematic=np.array([True, False, False]))
    with pytest.raises(ModelError, match='"a" is prescribed and cannot follow "b"'):
        vt.Model(replace(driven, constraints=(vt.gear("a", "b", 1.0),))).reduced()
    leads = vt.Model(replace(driven, constraints=(vt.gear("b", "a", 2.0),))).reduced()
    close(leads.expand([0.1, 0.3]), [0.1, 0.2, 0.3], 0)
    with pytest.raises(ModelError, match="factor 0"):
        reduced(vt.Coupling({"a": 0.0, "b": 1.0}))
    with pytest.raises(InputError, match=r"model\.full"):
        vt.METHODS["rk4"](reduced(vt.gear("a", "b", 1.0)), 1e-3)
    still = reduced(vt.gear("a", "b", 0.0, 0.3))
    close(still.expand([0.1, 0.2]), [0.3, 0.1, 0.2], 0)


def test_rates_of_the_configuration_are_those_of_integrate():
    tree = vt.Tree("geared")
    trunk = tree.world.add(vt.free("base"), vt.body("trunk", 2.0, (0.1, 0.2, 0.3)))
    for name in ("a", "b"):
        trunk.add(vt.rx(name), vt.tz(-1), vt.body(f"{name} link", 1.0))
    tree.constrain(vt.gear("a", "b", 2.0))
    model, rng, e = tree.compile().reduced(), np.random.default_rng(1), 1e-6
    q, v = model.random_configuration(rng), rng.standard_normal(model.nv)
    difference = (model.integrate(q, e * v) - model.integrate(q, -e * v)) / (2 * e)
    assert np.abs(model.configuration_rate(q, v) - difference).max() < 1e-8
    assert model.reduced() is model


def test_forces_are_contracted_along_as_many_axes_as_asked_for():
    model, _, _, G, _ = coupled(3)
    f = np.random.default_rng(0).normal(size=(2, *(model.full.nv,) * 2))
    for axes, wanted in enumerate((f, f @ G, G.T @ f @ G)):
        np.testing.assert_allclose(model.contract_force(f, axes), wanted, atol=1e-12)
    np.testing.assert_array_equal(model.contract_force(f), model.contract_force(f, 1))
    for axes in (-1, 3, 4, 0.5, None):
        with pytest.raises(InputError, match=r"f has shape \(2, .* and axes is .*so many of its last axes"):
            model.contract_force(f, axes)


def geared(*pairs):
    tree = vt.Tree("row")
    for name in "abcd":
        tree.world.add(vt.rx(name), vt.body(f"body {name}", 1.0, (0.1, 0.1, 0.1)))
    tree.constrain(*(vt.gear(x, y, 2.0) for x, y in pairs))
    return tree.compile()


def test_a_chain_may_hold_all_couplings_and_no_circle():
    model = geared("ba", "cb", "dc").reduced()
    np.testing.assert_array_equal(model.expand([1.0]), [1.0, 2.0, 4.0, 8.0])
    for pairs, named in ((("ba", "ab"), '"b", "a", "b"'), (("db", "bc", "cb"), '"d", "b", "c", "b"'),
                         (("cb", "bc", "da"), '"c", "b", "c"')):  # fmt: skip
        with pytest.raises(ModelError, match=f"joints follow each other in a circle: {named}$"):
            geared(*pairs).reduced()
