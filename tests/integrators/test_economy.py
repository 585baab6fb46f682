"""What a step costs, in counts, and what its loose tolerance does not cost: momentum. Counts are deterministic."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from random_models import chain_flat
from walkers import walker

import vitree as vt
from vitree.integrators.base import Records


def undamped(name, **more):
    """A robot without the damping and friction of its file."""
    flat = vt.load_urdf(vt.find_robot(name), mimic="independent", **more).flat
    return vt.Model(replace(flat, damping=0 * flat.damping, friction=0 * flat.friction))


def floating_talos():
    return undamped("talos", base="free", gravity=(0, 0, 0))


def spherical_chain(n):
    """Links of 1.5 m, 1 kg and unit inertia on ball joints, the first one floating."""
    tree = vt.Tree("spherical chain", gravity=(0, 0, 0))
    at = tree.world
    for i in range(n):
        link = vt.body(f"link{i}", 1.0, inertia=(1, 1, 1), com=(0, 0, 0.75))
        at = at.add(vt.ball(f"joint{i}") if i else vt.free("base"), link).add(vt.tz(1.5))
    return tree.compile()


def counts(model, q, v, dt, steps, method="linear-time", **options):
    """Residuals, factorisations and solves of a step, on average."""
    integrator = vt.METHODS[method](model, dt, **options)
    integrator.start(0.0, q, model.generalized_momentum(q, v))
    records = Records(np.empty(2), np.empty((2, model.nq)), np.empty((2, model.nv)), np.zeros(2, dtype=np.intc),
                      np.zeros(2), np.empty((2, 0)))  # fmt: skip
    integrator.run(records, steps, steps, None)
    return np.array(integrator.stepper.counts) / steps


#: By robot: bounds of residuals, factorisations and solves of a step at joint speeds up to 1, 3 and 10.
BOUNDS = {
    "chain10": ((1.1, 0.13, 1.0), (1.2, 0.14, 1.1), (2.0, 0.35, 1.75)),
    "panda": ((1.8, 0.22, 1.6), (1.8, 0.26, 1.6), (2.15, 0.75, 1.5)),
    "talos": ((1.1, 0.13, 1.0), (1.6, 0.16, 1.5), (2.5, 0.85, 1.9)),
}


@pytest.mark.parametrize("method, each, most", [("linear-time", 4, 1.3), ("linear-time", 10, 0.85),
                                                ("linear-time", 20, 0.45), ("midpoint", 10, 1.15)])  # fmt: skip
def test_torques_that_are_held_for_some_steps(method, each, most):
    """As by a controller. Without the amended past linear-time takes 1.7, 1.5 and 1.1 corrections, and midpoint 2.1."""
    model, rng = vt.Model(chain_flat(10)), np.random.default_rng(0)
    rows = np.repeat(rng.normal(size=(400 // each, model.nv)), each, axis=0)
    q, v = 0.3 * rng.normal(size=model.nv), rng.uniform(-1, 1, model.nv)
    run = vt.simulate(model, q, v, duration=0.4, dt=1e-3, method=method, control=vt.Control(torque=rows))
    assert np.abs(np.diff(run.v, axis=0)[::each]).max() > 1e-3
    assert run.iterations[20:].mean() < most


@pytest.mark.parametrize("name", BOUNDS)
def test_counts_of_the_default(name):
    """One or two residuals a step at dt = 1e-3, and a factorisation in each eighth, where Newton needs one or two."""
    model = {"chain10": lambda: vt.Model(chain_flat(10)), "panda": lambda: undamped("panda"), "talos": floating_talos}
    model = model[name]()
    rng = np.random.default_rng(0)
    q = rng.uniform(-np.pi / 2, np.pi / 2, model.nv) if name == "chain10" else model.neutral()
    for speed, bounds in zip((1.0, 3.0, 10.0), BOUNDS[name], strict=True):
        v = np.random.default_rng(1).uniform(-speed, speed, model.nv)
        found = counts(model, q, v, 1e-3, 1000)
        assert (found <= bounds).all(), (speed, found)
        # Newton from the dynamics: a factorisation and a solve for each residual but the last
        newton = counts(model, q, v, 1e-3, 1000, solver="recursive-newton", guess="aba")
        assert newton[1] == newton[2] == pytest.approx(newton[0] - 1) and 1 <= newton[1] <= 2


@pytest.mark.parametrize("method", ["linear-time", "midpoint"])
def test_a_light_damped_joint_that_rings_is_extrapolated(method):
    """Solved for, a damping c takes p to p (M - h c/2)/(M + h c/2); by polynomials each step took a correction."""
    tree = vt.Tree("two disks", gravity=(0, 0, 0))
    tree.world.add(vt.rz("free"), vt.body("heavy", 1.0, inertia=(1, 1, 1)))
    tree.world.add(vt.rz("damped", damping=400.0), vt.body("light", 1.0, inertia=(1e-3, 1e-3, 1e-3)))
    run = vt.simulate(tree.compile(), v0=[1.0, 1.0], duration=0.4, dt=1e-3, method=method)
    assert run.v[:, 1] == pytest.approx((-199 / 201) ** np.arange(401), abs=1e-5)
    assert run.iterations[20:].mean() < 0.85


@pytest.mark.parametrize("method", ["linear-time", "midpoint"])
@pytest.mark.parametrize("dt", [1e-3, 2e-3, 5e-3])
@pytest.mark.parametrize("share", [1.0, 10.0])
def test_counts_with_friction(method, dt, share):
    """Talos comes to rest in its joints: light ones change their velocity's sign at each step, others stick."""
    model = vt.load_urdf(vt.find_robot("talos"), base="free")
    model = model.with_parameters(friction=share * model.flat.friction)
    v = np.random.default_rng(0).uniform(-1, 1, model.nv)
    found = counts(model, model.neutral(), v, dt, 300, method=method)
    assert (found <= (3.2, 0.8, 3.0)).all(), found


def test_operators_of_a_robot_that_sways_are_renewed():
    """On four feet, driven; while operators served as long as they sufficed, a step took 1.93 corrections."""
    model = walker("spheres", 4)
    joints = np.arange(model.nv - 6)
    q = model.integrate(model.neutral(), np.r_[np.zeros(6), 0.2 * (-1.0) ** joints])
    run = vt.Simulation(model, vt.place_on_ground(model, q), dt=2e-3, record_every=1)
    for k in range(1000):
        run.step(control=vt.Control(inputs=0.1 * np.sin(4e-3 * k + joints)))
    assert run.trajectory.iterations[50:].mean() < 1.75


def test_momentum_of_a_tumbling_robot_over_1e4_steps():
    """The tolerance is 1e-9 of the momentum; what is kept is far better, as no residual is lost."""
    model = floating_talos()
    v = np.random.default_rng(0).uniform(-2, 2, model.nv)
    run = vt.simulate(model, None, v, duration=10.0, dt=1e-3, record_every=10)
    scale = np.abs(run.momentum[0]).max()
    assert run.steps == 10_000 and run.settings["tolerance"] == 1e-9
    assert np.abs(run.momentum - run.momentum[0]).max() < 1e-11 * scale
    assert np.linalg.norm(run.v[-1] - run.v[0]) > 1.0  # it tumbled
    assert run.iterations_max <= 4


@pytest.mark.parametrize("solver", ["auto", "recursive-newton"])
def test_a_floating_chain_on_ball_joints_takes_three_iterations(solver):
    model = spherical_chain(100)
    rng = np.random.default_rng(0)
    q = model.integrate(model.neutral(), rng.uniform(-np.pi / 2, np.pi / 2, model.nv))
    v = rng.uniform(-1, 1, model.nv)
    run = vt.simulate(model, q, v, duration=1.0, dt=1e-3, record_every=100, solver=solver)
    assert run.steps == 1000 and run.iterations_max <= 3
    assert np.abs(run.momentum - run.momentum[0]).max() < 1e-10 * np.abs(run.momentum[0]).max()
