"""Drives: servos that a step solves for."""

from __future__ import annotations

import pickle
from dataclasses import replace

import numpy as np
import pytest
from loaded_models import SINGLE, constrained_tree, coordinate, random_tree, singles
from random_models import chain_flat

import vitree as vt

METHODS = ("linear-time", "midpoint")


def turning(inertia=0.5, **drive):
    """A body on a hinge through its centre of mass, without gravity."""
    tree = vt.Tree("rotor", gravity=(0, 0, 0))
    tree.world.add(vt.rx("hinge"), vt.body("rotor", 1.0, (inertia, inertia, inertia)))
    tree.load(vt.Drive("hinge", **drive))
    return tree.compile()


def driven_tree(seed, base="fixed", gravity=False, nbody=5, **limits):
    """A random tree with a drive on each joint of one coordinate, and a state of it."""
    rng = np.random.default_rng(seed)
    flat, q, v = random_tree(seed, nbody=nbody, kinds=SINGLE, base=base)
    names = singles(flat)
    kp, kd = 10 ** rng.uniform(-2, 4, len(names)), 10 ** rng.uniform(-3, 3, len(names))
    drives = tuple(vt.Drive(name, a, b, **limits) for name, a, b in zip(names, kp, kd, strict=True))
    if not gravity:
        flat = replace(flat, gravity=np.zeros(3))
    return vt.Model(replace(flat, loads=drives)), q, v, drives


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize(("dt", "kp", "kd"), [(1e-3, 2.0, 0.1), (0.1, 40.0, 3.0), (0.1, 1e4, 1e-3), (0.02, 1e-2, 1e3)])
def test_the_work_of_a_drive_is_what_its_spring_and_damper_take(method, dt, kp, kd):
    """One joint: p2 - p1 is the drive's impulse, h F v = -(gain of the spring) - h kd v^2 to round-off."""
    run = vt.simulate(turning(kp=kp, kd=kd), [0.3], [0.6], duration=20 * dt, dt=dt, method=method)
    force, rate = np.diff(run.p[:, 0]) / dt, np.diff(run.q[:, 0]) / dt
    spring = 0.5 * kp * run.q[:, 0] ** 2
    work = dt * force * rate
    np.testing.assert_allclose(work, -np.diff(spring) - dt * kd * rate**2, rtol=0, atol=1e-9 * spring[0])
    assert (np.diff(run.energy + spring) <= 1e-12 * (1 + spring[0])).all()


def stiff_case(seed, base, kinds, nbody=6):
    """A random tree, a state, dt in 1e-4..0.1 s, drives with gains over six decades.

    Targets rest where no spring alone would turn its joint by more than 0.3 rad in a step.
    """
    rng = np.random.default_rng(seed)
    dt = 10 ** rng.uniform(-4, -1)
    flat, q, v = random_tree(seed, nbody=nbody, kinds=kinds, base=base)
    drives = []
    for name in singles(flat):
        kp, kd = 10 ** rng.uniform(-2, 4), 10 ** rng.uniform(-3, 3)
        stretch = 0.3 * rng.uniform(-1, 1) * min(1.0, 1 / (dt * np.sqrt(kp)))
        drives.append(vt.Drive(name, kp, kd, target=coordinate(flat, q, name) + stretch))
    return vt.Model(replace(flat, gravity=np.zeros(3), loads=tuple(drives))), q, v, dt


def of_drives(run):
    """Gains kp and kd, stretches (n, ndrive), and where the velocities are."""
    model = run.system
    joints = [model.joint(drive.joint) for drive in model.drives]
    at, iv = ([getattr(joint, kind).start for joint in joints] for kind in ("q_slice", "v_slice"))
    kp, kd = (np.array([getattr(drive, name) for drive in model.drives]) for name in ("kp", "kd"))
    return kp, kd, run.q[:, at] - [drive.target for drive in model.drives], iv


TREES = [(base, kinds) for base in ("fixed", "free") for kinds in (SINGLE, (*SINGLE, "ball"))]


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize(("base", "kinds"), TREES)
def test_the_work_of_drives_on_trees(method, base, kinds):
    """h F v = -(gain of the spring) - h kd v^2 for each drive in each step, to round-off, and no step is halved.

    F is what the step's momentum lacks without drives, p1 + (h/2) F = momentum_between(q1, q2), and the monitor.
    """
    for seed in range(10):
        model, q, v, dt = stiff_case(seed, base, kinds)
        run = vt.simulate(model, q, v, duration=60 * dt, dt=dt, method=method, tolerance=1e-12, max_halvings=0,
                          monitors=("drive_forces",))  # fmt: skip
        bare = vt.METHODS[method](vt.Model(replace(model.flat, loads=())), dt).stepper
        lack = [bare.momentum_between(run.t[k], run.q[k], run.q[k + 1]) - run.p[k] for k in range(run.steps)]
        kp, kd, stretch, iv = of_drives(run)
        rate, spring = np.diff(stretch, axis=0) / dt, 0.5 * kp * stretch**2
        taken = -np.diff(spring, axis=0) - dt * kd * rate**2
        whole = run.kinetic.max() + spring.sum(axis=1).max()
        # what a step lacks is known to the step's tolerance
        for force, off in ((2 * np.array(lack)[:, iv] / dt, 2e-11), (run.monitors["drive_forces"], 1e-13)):
            np.testing.assert_allclose(dt * force * rate, taken, rtol=0, atol=off * whole)


def gain_of_energy(run):
    """The most that energy and springs rise above their start, as a share of the largest kinetic energy."""
    kp, _, stretch, _ = of_drives(run)
    total = run.energy + (0.5 * kp * stretch**2).sum(axis=1)
    return (total.max() - total[0]) / run.kinetic.max()


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize(("base", "kinds"), TREES)
def test_drives_never_give_energy(method, base, kinds):
    """Gains over six decades and dt over three: the energy stays below its start and the integrator's own band."""
    for seed in range(100, 106):
        model, q, v, dt = stiff_case(seed, base, kinds)
        run = vt.simulate(model, q, v, duration=300 * dt, dt=dt, method=method)
        assert gain_of_energy(run) < 0.02, seed


@pytest.mark.slow
@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize(("base", "kinds"), TREES)
def test_drives_never_give_energy_in_ten_thousand_steps(method, base, kinds):
    for seed in range(200, 203):
        model, q, v, dt = stiff_case(seed, base, kinds)
        run = vt.simulate(model, q, v, duration=1e4 * dt, dt=dt, method=method)
        assert gain_of_energy(run) < 0.02, seed


@pytest.mark.parametrize(("method", "chosen", "order"), [
    ("linear-time", {}, 2), ("linear-time", {"solver": "newton"}, 2), ("linear-time", {"kinetic": "com"}, 2),
    ("linear-time", {"order": 4}, 4), ("midpoint", {}, 2), ("midpoint", {"solver": "newton"}, 2),
    ("midpoint", {"residual": "tree"}, 2), ("midpoint", {"order": 4}, 4), ("rk4", {}, 4),
])  # fmt: skip
def test_the_order_with_moving_targets(method, chosen, order):
    flat, q, v = random_tree(4, nbody=5, kinds=SINGLE)
    names = singles(flat)
    drives = tuple(vt.Drive(name, 40.0, 3.0, target=f"{name} t", target_rate=f"{name} r") for name in names)
    model = vt.Model(replace(flat, loads=drives))
    inputs = {}
    for k, name in enumerate(names):
        inputs[f"{name} t"] = lambda t, k=k: 0.3 * np.sin(4 * t + k)
        inputs[f"{name} r"] = lambda t, k=k: 1.2 * np.cos(4 * t + k)
    exact = vt.simulate(model, q, v, duration=0.4, dt=1e-3, method="rk8", control=vt.Control(inputs=inputs))
    errors = []
    for dt in (0.02, 0.01, 0.005):
        run = vt.simulate(model, q, v, duration=0.4, dt=dt, method=method, control=vt.Control(inputs=inputs), **chosen)
        errors.append(np.abs(run.q[-1] - exact.q[-1]).max())
    assert abs(np.log2(errors[0] / errors[-1]) / 2 - order) < (0.1 if order == 2 else 0.35), errors


@pytest.mark.parametrize("chosen", [
    {"solver": "recursive-newton"}, {"solver": "newton"}, {"kinetic": "com"}, {"residual": "tree"},
    {"residual": "tree", "solver": "newton"}, {"alpha": 0.3},
])  # fmt: skip
@pytest.mark.parametrize("limits", [{}, {"effort_limit": 2.0}, {"effort_limit": 5.0, "velocity_limit": 3.0}])
def test_directions_are_exact(chosen, limits):
    """The residual at the solver's correction of a small change is the residual there, to the change's square."""
    method = "linear-time" if "kinetic" in chosen else "midpoint"
    if "solver" in chosen and "residual" not in chosen:
        method = "linear-time"
    model, q, v, _ = driven_tree(3, gravity=True, **limits)
    rng = np.random.default_rng(1)
    stepper = vt.METHODS[method](model, 0.01, **chosen).stepper
    p = model.generalized_momentum(q, v)
    y = 0.01 * v + 1e-3 * rng.standard_normal(model.nv)
    r, _, d, _ = stepper.probe(0.0, q, p, y, np.zeros(0))
    e = 1e-6
    ahead, behind = (stepper.probe(0.0, q, p, y + s * e * d, np.zeros(0))[0] for s in (1, -1))
    np.testing.assert_allclose((ahead - behind) / (2 * e), -r, rtol=0, atol=1e-6 * np.abs(r).max())


@pytest.mark.parametrize("method", [*METHODS, "rk4", "semi-implicit-euler"])
def test_a_drive_at_its_limit_is_a_constant_force(method):
    model = turning(kp=1e4, kd=10.0, effort_limit=2.0, target=100.0)
    run = vt.simulate(model, duration=0.5, dt=1e-3, method=method)
    np.testing.assert_allclose(run.v[:, 0], 2.0 / 0.5 * run.t, rtol=0, atol=1e-11)


@pytest.mark.parametrize("method", [*METHODS, "rk4"])
def test_a_motor_comes_to_its_speed_as_its_line_says(method):
    """I w' = T0 (1 - w/w0): w = w0 (1 - exp(-t T0/(I w0)))."""
    model = turning(kp=1e4, effort_limit=2.0, velocity_limit=3.0, target=1e3)
    rate = 2.0 / (0.5 * 3.0)
    errors = []
    for dt in (0.05, 0.025):
        run = vt.simulate(model, duration=1.0, dt=dt, method=method)
        errors.append(np.abs(run.v[:, 0] - 3.0 * (1 - np.exp(-rate * run.t))).max())
    assert errors[1] < 1e-3 and 3.3 < errors[0] / errors[1] < (5 if method != "rk4" else 40)
    braking = vt.simulate(model, [0.0], [5.0], duration=0.2, dt=0.01, method=method)
    assert (np.diff(braking.v[:, 0]) <= 1e-12).all() or braking.v[-1, 0] == pytest.approx(5.0)


def geared_arm(ratio, rotor, apart, **drive):
    """Two links, the first driven by a motor at the wall: its rotor as a body with a gear, or as armature."""
    tree = vt.Tree("geared arm")
    shoulder = vt.rx("shoulder", armature=0.0 if apart else ratio**2 * rotor)
    link = tree.world.add(shoulder, vt.body("upper", 1.3, (0.02, 0.03, 0.01), com=(0, 0.1, -0.2)))
    link.add(vt.tz(-0.5), vt.ry("elbow"), vt.body("lower", 0.7, (0.01, 0.02, 0.03), com=(0.05, 0, -0.2)))
    if apart:
        tree.world.add(vt.tx(-0.3), vt.rx("motor"), vt.body("rotor", 0.1, (rotor, rotor, rotor)))
        tree.constrain(vt.gear("motor", "shoulder", ratio))
    tree.load(vt.Drive("shoulder", target="goal", **drive), vt.Drive("elbow", 3.0, 0.2, target=0.4))
    return tree.compile()


@pytest.mark.parametrize("method", [*METHODS, "rk4"])
@pytest.mark.parametrize("limits", [{}, {"effort_limit": 2.0}, {"effort_limit": 2.0, "velocity_limit": 2.5}])
def test_a_rotor_behind_a_gear_is_armature(method, limits):
    """The step of both is the same map: they differ by what the solver leaves."""
    ratio, rotor, inputs = -60.0, 3e-5, {"goal": lambda t: 0.6 * np.sin(5 * t)}
    two, one = (geared_arm(ratio, rotor, apart, kp=90.0, kd=4.0, **limits) for apart in (True, False))
    given = {"duration": 1.0, "dt": 0.005, "method": method, "control": vt.Control(inputs=inputs)}
    if method != "rk4":
        given["tolerance"] = 1e-12
    both, alone = vt.simulate(two, **given), vt.simulate(one, **given)
    at = [two.joint(name).q_slice.start for name in ("shoulder", "elbow")]
    np.testing.assert_allclose(both.q[:, at], alone.q, rtol=0, atol=1e-8)
    np.testing.assert_allclose(both.q[:, two.joint("motor").q_slice.start], ratio * alone.q[:, 0], rtol=0, atol=1e-8)
    np.testing.assert_allclose(both.energy, alone.energy, rtol=0, atol=1e-7)
    bare = vt.simulate(geared_arm(ratio, 0.0, False, kp=90.0, kd=4.0, **limits), **given)
    assert np.abs(bare.q - alone.q).max() > 1e-2


@pytest.mark.parametrize("method", [*METHODS, "rk4"])
def test_a_gear_turns_the_limits_of_a_motor_into_those_of_the_joint(method):
    goal = {"kp": 1e4, "target": 1e3}
    motor, joint = (turning(**goal, **more) for more in (
        {"effort_limit": 0.04, "velocity_limit": 150.0, "gear": 50.0},
        {"effort_limit": 0.04 * 50.0, "velocity_limit": 150.0 / 50.0}))  # fmt: skip
    runs = [vt.simulate(model, duration=1.0, dt=0.01, method=method) for model in (motor, joint)]
    assert runs[0].q.tobytes() == runs[1].q.tobytes() and 2.0 < runs[0].v[-1, 0] < 3.0


@pytest.mark.parametrize("method", METHODS)
def test_stiff_drives_at_their_limits_are_solved(method):
    """Targets that jump, gains far beyond what dt resolves, small efforts: Newton's iteration never cycles."""
    rng = np.random.default_rng(5)
    for seed in range(6):
        model, q, v, drives = driven_tree(seed, effort_limit=0.5)
        model = vt.Model(replace(model.flat, loads=tuple(
            replace(d, kp=1e5, kd=1e3, target=f"t{k}") for k, d in enumerate(drives))))  # fmt: skip
        rows = np.repeat(rng.uniform(-1, 1, (20, len(drives))), 10, axis=0)
        run = vt.simulate(model, q, v, duration=2.0, dt=0.01, method=method, control=vt.Control(inputs=rows), order=2)
        assert np.isfinite(run.q).all()


@pytest.mark.parametrize("method", ["rk4", "rk8", "semi-implicit-euler"])
@pytest.mark.parametrize("limits", [{"effort_limit": 1.5}, {"effort_limit": 1.5, "velocity_limit": 1.2}])
def test_explicit_methods_have_the_limits(method, limits):
    flat, q, v = random_tree(7, nbody=4, kinds=SINGLE)
    drives = tuple(vt.Drive(name, 30.0, 1.0, target=0.4, **limits) for name in singles(flat))
    model = vt.Model(replace(flat, loads=drives))
    exact = vt.simulate(model, q, v, duration=0.5, dt=1e-4)
    run = vt.simulate(model, q, v, duration=0.5, dt=1e-3 if method != "semi-implicit-euler" else 2e-5, method=method)
    assert np.abs(model.difference(exact.q[-1], run.q[-1])).max() < 2e-4
    free = vt.simulate(vt.Model(replace(flat, loads=tuple(vt.Drive(d.joint, 30.0, 1.0, target=0.4) for d in drives))),
                       q, v, duration=0.5, dt=1e-3, method="rk4")  # fmt: skip
    assert np.abs(model.difference(free.q[-1], run.q[-1])).max() > 1e-2


@pytest.mark.parametrize("method", [*METHODS, "rk4"])
def test_forces_of_drives_of_a_run_and_of_a_state(method):
    """The monitor has the mean over the substeps; where forces change slowly, that is the force in the middle."""
    model, q, v, drives = driven_tree(2, gravity=True, effort_limit=7.0)
    goal = {"goal": lambda t: 0.3 * np.sin(2 * t)}
    model = vt.Model(replace(model.flat, loads=(*(replace(d, kp=5.0, kd=0.3) for d in drives[1:]),
                                                vt.Drive(drives[0].joint, 20.0, 0.5, target="goal"))))  # fmt: skip
    ways = ({"order": 2}, {"order": 4}, {"max_halvings": 2}) if method != "rk4" else ({},)
    for more in ways:
        given = {"duration": 0.2, "dt": 0.002, "method": method, "control": vt.Control(inputs=goal), **more}
        run = vt.simulate(model, q, v, monitors="drive_forces", **given)
        force = run.monitors["drive_forces"]
        if method == "rk4":
            assert np.isnan(force).all()
            continue
        rows = zip(run.t, run.q, run.v, strict=True)
        at = np.array([model.drive_forces(*state, inputs=[goal["goal"](t)]) for t, *state in rows])
        # a drive that comes to its limit within a step has a kink there
        smooth = (np.abs(at[1:]) == 7.0) == (np.abs(at[:-1]) == 7.0)
        off = np.abs(force - (at[1:] + at[:-1]) / 2)
        assert off[smooth].max() < 1e-4 and off.max() < 1e-2 and smooth.mean() > 0.98
        assert vt.simulate(model, q, v, **given).q.tobytes() == run.q.tobytes()
    assert np.abs(force).max() > 1 or method == "rk4"


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("dt", [1e-2, 1e-3])
def test_motors_of_a_whole_robot_are_solved(method, dt):
    """Torque-speed lines on all joints, far beyond both limits: corrections past their corners are shortened."""
    flat = vt.load_urdf(vt.find_robot("human"), base="free").full.flat
    model = vt.Model(replace(flat, damping=0 * flat.damping)).with_drives(
        {"*": {"kp": 1000, "kd": 10, "effort_limit": 30, "velocity_limit": 2.0}})  # fmt: skip
    q = model.neutral()
    q[7:] = 0.3 * np.cos(np.arange(len(q) - 7))
    run = vt.simulate(model, q, duration=50 * dt, dt=dt, method=method)
    assert not run.settings.get("halved")
    forces = np.array([model.drive_forces(a, b) for a, b in zip(run.q, run.v, strict=True)])
    assert (np.abs(forces) <= 30).all()


@pytest.mark.parametrize("method", METHODS)
def test_a_motor_comes_to_rest_at_its_target(method):
    """The momentum goes to zero, and so does the tolerance; what rounding leaves of the drive's force does not."""
    model = turning(inertia=0.01, kp=4000.0, kd=34.0, effort_limit=30.0, velocity_limit=1.0, target=0.3)
    run = vt.simulate(model, None, [3.0], duration=2.0, dt=0.01, method=method)
    assert abs(run.q[-1, 0] - 0.3) < 1e-9


def test_accelerations_have_the_drives():
    model, q, v, drives = driven_tree(2, gravity=True, effort_limit=7.0)
    tau = np.zeros(model.nv)
    for drive in drives:
        joint = model.joint(drive.joint)
        force = -drive.kp * q[joint.q_slice] - drive.kd * v[joint.v_slice]
        tau[joint.v_slice] = np.clip(force, -7.0, 7.0)
    np.testing.assert_allclose(model.forward_dynamics(q, v).acceleration, model.aba(q, v, tau - model.damping * v),
                               rtol=1e-10, atol=1e-10)  # fmt: skip


@pytest.mark.parametrize("dt", [0.01, 0.05])
@pytest.mark.parametrize("method", METHODS)
def test_momentum_is_kept_by_drives_within(method, dt):
    """A floating tree without gravity: its momentum stays to round-off at a large step."""
    flat, q, v = random_tree(6, nbody=6, kinds=SINGLE, base="free")
    flat = replace(flat, gravity=np.zeros(3), damping=0 * flat.damping,
                   loads=tuple(vt.Drive(name, 200.0, 5.0, target=0.3) for name in singles(flat)))  # fmt: skip
    run = vt.simulate(vt.Model(flat), q, v, duration=1.0, dt=dt, method=method)
    np.testing.assert_allclose(run.momentum, np.broadcast_to(run.momentum[0], run.momentum.shape), rtol=0, atol=1e-10)


@pytest.mark.parametrize("method", METHODS)
def test_drives_with_loops_friction_and_compositions(method):
    model, q, v = constrained_tree(2, nbody=8, speed=0.5)
    names = singles(model.flat)
    flat = replace(model.flat, loads=tuple(vt.Drive(name, 50.0, 2.0) for name in names))
    friction = np.array([0.1 if any(j.name in names and j.v_slice.start == k for j in flat.joints) else 0.0
                         for k in range(model.nv)])  # fmt: skip
    for more, order in (({}, 2), ({"friction": friction}, 2), ({}, 4)):
        run = vt.simulate(vt.Model(replace(flat, **more)), q, v, duration=0.2, dt=0.005, method=method, order=order)
        assert np.abs(run.constraint).max() < 1e-10
        exact = vt.simulate(vt.Model(replace(flat, **more)), q, v, duration=0.2, dt=5e-4, method="rk8")
        assert np.abs(model.difference(exact.q[-1], run.q[-1])).max() < (2e-3 if order == 2 else 1e-5)


# ---- whole robots ------------------------------------------------------------------------------------------


def test_drives_by_patterns():
    model = vt.load_urdf(vt.find_robot("arm6"))
    names = [joint.name for joint in model.joints]
    driven = model.with_drives({names[2]: (200, 5), "*": {"kp": 100, "kd": 2, "effort_limit": 9.0}})
    assert [d.joint for d in driven.drives] == names and driven.drives[2] == vt.Drive(
        names[2], 200.0, 5.0, target=f"{names[2]} target"
    )
    assert driven.drives[0].effort_limit == 9.0 and driven.input_names == tuple(f"{name} target" for name in names)
    goal = np.linspace(-0.3, 0.3, 6)
    run = vt.simulate(driven, duration=1.0, dt=5e-3, control=vt.Control(targets=goal))
    named = vt.Control(targets=dict(zip(names, goal, strict=True)))
    by_name = vt.simulate(driven, duration=1.0, dt=5e-3, control=named)
    by_input = vt.simulate(driven, duration=1.0, dt=5e-3, control=vt.Control(inputs=goal))
    assert run.q.tobytes() == by_name.q.tobytes() == by_input.q.tobytes()
    sim = vt.Simulation(driven, dt=5e-3)
    sim.step(control=vt.Control(targets=goal))
    sim.step(199)
    assert sim.q.tobytes() == run.q[-1].tobytes()
    sim.step(control=vt.Control(targets={names[1]: 0.5}))
    assert sim.inputs[1] == 0.5 and sim.inputs[0] == goal[0]
    limited = model.with_drives({"*": (100, 2)}, effort_limits=True)
    efforts = [float(np.ravel(j.effort)[0]) for j in model.joints]
    assert [d.effort_limit for d in limited.drives] == efforts
    geared = model.with_drives({"*": {"kp": 100, "gear": 20.0}}, effort_limits=True)
    np.testing.assert_allclose([d.effort_limit * d.gear for d in geared.drives], efforts, rtol=1e-15)


def test_drives_of_reduced_and_euler_models():
    reduced = vt.load_urdf(vt.find_robot("panda")).with_drives({"*": (100, 2)})
    assert isinstance(reduced, vt.ReducedModel) and len(reduced.drives) == reduced.nv
    goal = np.full(reduced.nv, 0.02)
    sim = vt.Simulation(reduced, dt=2e-3, control=vt.Control(targets=goal))
    sim.step(500)
    run = vt.simulate(reduced, duration=1.0, dt=2e-3, control=vt.Control(targets=goal))
    assert sim.q.tobytes() == run.q[-1].tobytes()
    floating = vt.load_urdf(vt.find_robot("arm6"), base="free").euler().with_drives({"*": (50, 1)})
    assert isinstance(floating, vt.EulerModel)


@pytest.mark.parametrize("method", [*METHODS, "rk4"])
def test_drives_of_leaders_and_followers(method):
    """The motion is that of the model whose followers are constraints, with a drive on the leader or on a follower."""
    full = vt.load_urdf(vt.find_robot("panda"), mimic="constraints")
    follower = next(joint.name for joint in full.joints if joint.mimic)
    leader = full.joint(follower).mimic[0]
    arm = full.joints[1].name
    drives = (vt.Drive(arm, 60.0, 3.0, target=0.2), vt.Drive(leader, 300.0, 5.0, target=0.02, effort_limit=3.0),
              vt.Drive(follower, 100.0, 2.0, target=0.03))  # fmt: skip
    driven = vt.Model(replace(full.flat, loads=drives))
    given = {"duration": 0.3, "dt": 2e-3, "method": method}
    if method != "rk4":
        given["tolerance"] = 1e-12
    whole, part = vt.simulate(driven, **given), vt.simulate(driven.reduced(), **given)
    np.testing.assert_allclose(part.system.expand(part.q[-1]), whole.q[-1], rtol=0, atol=1e-8)
    np.testing.assert_allclose(driven.reduced().drive_forces(part.q[-1], part.v[-1]),
                               driven.drive_forces(whole.q[-1], whole.v[-1]), rtol=0, atol=1e-6)  # fmt: skip


@pytest.mark.parametrize("method", METHODS)
def test_drives_of_a_model_in_angles(method):
    """The base moves as x, y, z and angles: the same robot, other coordinates."""
    flat, q, v = random_tree(6, nbody=5, kinds=SINGLE, base="free")
    flat = replace(flat, loads=tuple(vt.Drive(name, 50.0, 1.0, target=0.3) for name in singles(flat)))
    native, angles = vt.Model(flat), vt.Model(flat).euler()
    given = {"duration": 0.3, "dt": 1e-3, "method": method}
    one, other = vt.simulate(native, q, v, **given), vt.simulate(angles, *angles.from_native(q, v), **given)
    q, v = angles.to_native(other.q[-1], other.v[-1])
    assert np.abs(native.difference(one.q[-1], q)).max() < 1e-4
    np.testing.assert_allclose(angles.drive_forces(other.q[-1], other.v[-1]), native.drive_forces(q, v), rtol=1e-9)


def test_drives_in_pickles_and_resumed_runs(tmp_path):
    flat = chain_flat(3)
    names = singles(flat)
    drives = (vt.Drive(names[0], 40.0, 2.0, 5.0, target="goal"), vt.Drive(names[1], 10.0, target=0.3))
    model = vt.Model(replace(flat, loads=drives))
    assert pickle.loads(pickle.dumps(model)) == model
    inputs = {"goal": lambda t: np.sin(3 * t)}
    for method in METHODS:
        whole = vt.simulate(model, duration=0.4, dt=0.01, method=method, control=vt.Control(inputs=inputs))
        part = vt.simulate(model, duration=0.15, dt=0.01, method=method, control=vt.Control(inputs=inputs))
        part = vt.Trajectory.load(part.save(tmp_path / "run.npz"))
        rest = part.resume(0.25, model=model, control=vt.Control(inputs=inputs))
        assert rest.q.tobytes() == whole.q[15:].tobytes()


def test_a_tree_with_drives_is_written_and_read():
    tree = vt.Tree("driven")
    tree.world.add(vt.rx("a"), vt.tz(-1.0), vt.body("one", 1.0))
    for name in "bc":
        tree.world.add(vt.rx(name), vt.tz(-1.0), vt.body(f"of {name}", 1.0))
    tree.load(vt.Drive("a", 40.0, 2.0, 5.0, 9.0, "goal"), vt.Drive("b", 1.0), vt.Drive("c", 1.0, 0, 5, 6, "b", 0, 30.0))
    again = vt.read_sexpr(vt.write_sexpr(tree))
    assert again.compile() == tree.compile() and again.loads == tree.loads


# ---- what is wrong -------------------------------------------------------------------------------------------

ARM = vt.load_urdf(vt.find_robot("arm6"))
FIRST = ARM.joints[0].name


@pytest.mark.parametrize(
    ("make", "text"),
    [
        (lambda: vt.Drive("a", -1.0), "kp of the drive"), (lambda: vt.Drive("a", 1.0, np.nan), "kd of the drive"),
        (lambda: vt.Drive("a", 1.0, 1.0, effort_limit=0.0), "effort_limit"),
        (lambda: vt.Drive("a", 1.0, velocity_limit=3.0), "give both"),
        (lambda: vt.Drive("a", 1.0, target=np.inf), "target of the drive"),
        (lambda: ARM.with_drives({"*_kne_*": (1, 2)}), "no driven joint"),
        (lambda: ARM.with_drives({FIRST: (1, 2, 3)}), "finite numbers .kp, kd."),
        (lambda: ARM.with_drives({FIRST: (1, np.nan)}), "finite numbers .kp, kd."),
        (lambda: ARM.with_drives({FIRST: {"kd": 2}}), "a mapping with kp"),
        (lambda: ARM.with_drives({FIRST: (-1, 2)}), f'kp of the drive on joint "{FIRST}" is -1'),
        (lambda: ARM.with_drives({FIRST[:-1]: (1, 2)}), f'did you mean "{FIRST}"'),
        (lambda: vt.Drive("a", 1.0, gear=0), "gear of the drive"),
        (lambda: vt.Drive("a", 1.0, gear=np.inf), "gear of the drive"),
        (lambda: ARM.with_drives({"*": (1, 2)}).drive_forces(ARM.neutral(), ARM.zero_velocity(), inputs=[1.0]),
         "inputs has shape"),
        (lambda: vt.Simulation(ARM.with_drives({"*": (1, 2)}), dt=0.01).step(control=vt.Control(targets=[1.0])),
         "targets has shape"),
        (lambda: ARM.with_drives({FIRST: {"kp": 1, "gain": 2}}), "gain"),
        (lambda: ARM.with_drives({FIRST: (1, 2)}).with_drives({FIRST: (1, 2)}), "has a drive already"),
        (lambda: ARM.with_drives(3), "gains"),
        (lambda: vt.load_urdf(vt.find_robot("arm6"), base="free").with_drives({"root": (1, 2)}), "root"),
        (lambda: vt.simulate(ARM, duration=0.1, dt=0.01, control=vt.Control(targets=[1.0])), "none with an input"),
        (lambda: vt.simulate(ARM.with_drives({"*": (1, 2)}), duration=0.1, dt=0.01, control=vt.Control(targets=[1.0])),
         "shape"),
        (lambda: vt.simulate(ARM.with_drives({"*": (1, 2)}), duration=0.1, dt=0.01,
                             control=vt.Control(targets={"jont": 1.0})), "jont"),
        (lambda: vt.simulate(ARM.with_drives({"*": (1, 2)}), duration=0.1, dt=0.01,
                             control=vt.Control(targets=np.full(6, np.nan))),
         "finite"),
    ],
)  # fmt: skip
def test_wrong_drives_are_refused(make, text):
    with pytest.raises(vt.VitreeError, match=text):
        make()


@pytest.mark.parametrize("ground", [None, vt.Ground(friction=0.8)])
def test_explicit_methods_name_the_one_that_solves_for_drives(ground):
    """A human figure whose drives damp its feet in 20 us, beside a step of 1 ms."""
    model = vt.load_urdf(vt.find_robot("human"), base="free", ground=ground).with_drives({"*": (500, 60)})
    q = model.neutral() if ground is None else vt.place_on_ground(model, model.neutral())
    with pytest.raises(vt.ConvergenceError, match="which solves for drives"):
        vt.simulate(model, q, 0.1 * np.ones(model.nv), dt=1e-3, duration=0.1, method="semi-implicit-euler")
    vt.simulate(model, q, dt=1e-3, duration=0.02)


def test_a_drive_on_a_ball_or_a_prescribed_joint_is_refused():
    tree = vt.Tree("balls")
    tree.world.add(vt.ball("hip"), vt.body("leg", 1.0, (0.1, 0.1, 0.1)))
    tree.load(vt.Drive("hip", 1.0))
    with pytest.raises(vt.ModelError, match="3 coordinates, not one"):
        tree.compile()
    tree = vt.Tree("crank")
    tree.world.add(vt.rx("crank", kinematic=True), vt.body("arm", 1.0, (0.1, 0.1, 0.1)))
    tree.load(vt.Drive("crank", 1.0))
    with pytest.raises(vt.ModelError, match="moves as prescribed"):
        tree.compile()
