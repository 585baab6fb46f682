"""Phases of contact in shooting searches: derivatives, impacts, optima beside the transcription, forces, errors."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.optimize import brentq

import vitree as vt
from vitree.control import ContactPhase, FrameCost, MotionProblem, QuadraticCost, Search, optimize_motion, solve
from vitree.control.bounded import Bounded
from vitree.control.contact_bounds import onto_cone, onto_cone_slopes
from vitree.control.shooting_problem import ShootingProblem

METHODS = ["linear-time", "midpoint"]
#: Finite differences of order 4: the size of their steps, places and weights (over 12).
STEP, PLACES = 1e-3, ((1, 8.0), (2, -1.0))


def biped(planar, ankles=False, touching=(), geared=False):
    """A trunk on two legs with knees, on points, or on soles below ankles; in a plane or in space, with geared arms."""
    tree = vt.Tree("biped")
    base = [vt.tx("x"), vt.tz("z"), vt.ry("lean")] if planar else [vt.free("base")]
    trunk = tree.world.add(*base, vt.body("trunk", 12.0, (0.5, 0.4, 0.1), com=(0.01, 0, 0.2)))
    for side, y in (("left", 0.1), ("right", -0.1)):
        hip = [] if planar else [vt.ty(y), vt.rz(f"{side} turn"), vt.rx(f"{side} spread")]
        thigh = vt.body(f"{side} thigh", 3.0, (0.05, 0.04, 0.01), com=(0, 0, -0.15))
        thigh = trunk.add(*hip, vt.ry(f"{side} hip"), thigh)
        knee = thigh.add(vt.tz(-0.4), vt.ry(f"{side} knee"))
        shank = knee.add(vt.body(f"{side} shank", 2.0, (0.03, 0.02, 0.01), com=(0, 0, -0.15)), vt.tz(-0.4))
        if ankles:
            sole = vt.body(f"{side} sole", 1.0, (0.03, 0.03, 0.02), com=(0.02, 0, -0.03))
            shank = shank.add(vt.ry(f"{side} ankle"), vt.rx(f"{side} roll"), sole, vt.tz(-0.06))
        shank.add(vt.frame(f"{side} foot"))
    if geared:
        for name, x in (("arm", 0.1), ("weight", -0.1)):
            trunk.add(vt.tx(x), vt.ry(name), vt.body(f"the {name}", 1.0, (0.02, 0.02, 0.01), com=(0, 0, -0.2)))
        tree.constrain(vt.gear("arm", "weight", -2.0))
    if touching:
        tree.contact(vt.Ground(friction=1.0), [vt.Contact(f"{side} foot") for side in touching])
    return tree.compile()


def standing(model, left=(-0.3, 0.5), right=(0.1, 0.25)):
    """A configuration with both feet on the ground."""
    q = model.neutral()
    at = {name: k for k, name in enumerate(model.q_names)}
    (q[at["left hip"]], q[at["left knee"]]), (q[at["right hip"]], q[at["right knee"]]) = left, right
    for side in ("left", "right"):
        if f"{side} ankle" in at:
            q[at[f"{side} ankle"]] = -q[at[f"{side} hip"]] - q[at[f"{side} knee"]]

    def apart(angle):
        moved = q.copy()
        moved[at["left knee"]] = angle
        if "left ankle" in at:
            moved[at["left ankle"]] = -moved[at["left hip"]] - angle
        return moved

    heights = [lambda x, side=side: model.frame_pose(f"{side} foot", x)[2, 3] for side in ("left", "right")]
    q = apart(brentq(lambda angle: heights[0](apart(angle)) - heights[1](apart(angle)), 0.3, 1.2))
    q[at["z"] if "z" in at else at["base.z"]] -= heights[0](q)
    return q


def task(model, q0, steps=(3, 6, 3), side="left", ahead=0.08, forward=0.1, dt=0.02, **more):
    """A step: on both feet, on one, and on both again."""
    goal, nv = q0.copy(), model.nv
    goal[0] += ahead
    acts = [name for name in model.v_names if name.startswith(("left", "right"))]
    both, foot = ["left foot", "right foot"], [f"{side} foot"]
    weights = np.r_[np.full(nv, 0.1), np.full(nv, 1e-4)]
    cost = QuadraticCost(goal, Q=weights, R=1e-4, Q_end=np.r_[np.full(nv, 10.0), np.full(nv, 0.01)])
    phases = [ContactPhase(steps[0], both), ContactPhase(steps[1], foot), ContactPhase(steps[2], both)]
    return {"dt": dt, "costs": cost, "actuators": acts, "phases": phases, "friction": 0.6, "clearance": 0.02} | more


def problem_of(model, q0, v0=None, **given):
    """The problem, whose motions are solved for to rounding errors."""
    given = {name: x for name, x in given.items() if name not in ("tolerance", "control")}
    dt, costs = given.pop("dt"), given.pop("costs")
    return ShootingProblem(model, q0, v0, None, dt, costs, options={"tolerance": 1e-13}, **given)


def differences(function, size):
    """The derivatives of a function by ``size`` arguments, as columns."""
    columns = []
    for e in np.eye(size):
        rows = [w * (function(s * STEP * e) - function(-s * STEP * e)) for s, w in PLACES]
        columns.append(sum(rows) / (12 * STEP))
    return np.array(columns).T


CASES = {
    "planar": lambda: (biped(True), {}), "geared": lambda: (biped(True, geared=True), {}),
    "points": lambda: (biped(False), {}),
    "soles": lambda: (biped(False, ankles=True), {"phases": [
        ContactPhase(2, ["left foot", "right foot"], {"left foot": (0.1, 0.05), "right foot": None}),
        ContactPhase(2, ["left foot"], {"left foot": (0.1, 0.05)}),
        ContactPhase(2, ["left foot", "right foot"], {"left foot": (0.1, 0.05), "right foot": None})]}),
}  # fmt: skip


def moving(case, method, rng):
    """A problem, and a motion from a start whose feet move: all of its phases begin with impacts."""
    model, more = CASES[case]()
    q0 = standing(model)
    given = task(model, q0, steps=(2, 2, 2), method=method, **more)
    problem = problem_of(model, q0, model.project_velocity(q0, 0.3 * rng.normal(size=model.nv)), **given)
    controls = np.zeros((problem.steps, problem.controls.size))
    controls[:, problem.acts] = 5 * rng.normal(size=(problem.steps, len(problem.acts)))
    return model, problem, problem.follow(controls)


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("case", CASES)
def test_steps_and_impacts_have_the_derivatives_of_differences(case, method):
    """Of all steps of all phases, by states and controls: ends, momenta, and impulses of the contacts."""
    model, problem, at = moving(case, method, np.random.default_rng(0))
    nv, m = model.nv, len(problem.acts)
    expansion = problem.expand(at)
    slopes = problem.impulse_slopes(problem.slopes(at))
    for one in problem.stretches:
        for k in range(one.first, one.last):
            q, p, impulses = np.empty((2, model.nq)), np.empty((2, nv)), np.zeros((problem.steps, problem.phases.rows))

            def after(d, k=k, one=one, q=q, p=p, impulses=impulses):
                q[0], p[0] = model.integrate(at.q[k], d[:nv]), at.p[k] + d[nv : 2 * nv]
                used = at.controls[k : k + 1].copy()
                used[:, problem.acts] += d[2 * nv :]
                problem._take(one, k, used, q, p, impulses)
                return np.concatenate([model.difference(at.q[k + 1], q[1]), p[1], impulses[k]])

            expected = differences(after, 2 * nv + m)
            found = np.block([[expansion.A[k], expansion.B[k]], [slopes.by_state[k], slopes.by_control[k]]])
            for part in (slice(0, nv), slice(nv, 2 * nv), slice(2 * nv, None)):
                for by in (slice(0, nv), slice(nv, 2 * nv), slice(2 * nv, None)):
                    size = np.abs(expected[part, by]).max()
                    np.testing.assert_allclose(found[part, by], expected[part, by], atol=1e-8 * size, rtol=0)


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("case", CASES)
def test_what_is_held_stays_where_it_is_and_momenta_balance(case, method):
    model, problem, at = moving(case, method, np.random.default_rng(1))
    wrenches = problem.phases.wrenches(at.q, at.impulses)
    for one, phase in zip(problem.stretches, problem.phases.intervals, strict=True):
        for name in phase.held:
            poses = model.frame_pose(name, at.q[one.first : one.last + 1])
            rows = slice(0, 4) if name in phase.fixed else slice(3, 4)
            np.testing.assert_allclose(poses[:, :3, rows], np.tile(poses[:1, :3, rows], (len(poses), 1, 1)), atol=1e-10)
    # forces within the robot cancel: its momentum changes by gravity and by what the ground gives
    total = sum(wrenches.values())
    v = model.velocity_from_momentum(at.q, at.p)
    linear = np.array([model.momentum(x, y) for x, y in zip(at.q, v, strict=True)])[:, 3:]
    expected = total[:, :3] + model.total_mass * model.gravity * problem.dt
    moves = [0, 2] if model.nq == model.nv else [0, 1, 2]
    if model.nq == model.nv:
        # of prismatic bases the momentum is that of the discrete mechanics, exactly
        np.testing.assert_allclose(np.diff(at.p[:, :2], axis=0), expected[:, moves], atol=1e-9)
    else:
        start = np.array([model.frame_pose("trunk", q)[:3, :3] @ p[:3] for q, p in zip(at.q, at.p, strict=True)])
        np.testing.assert_allclose(np.diff(start, axis=0), expected, atol=1e-8)
    assert np.abs(linear).max() > 1.0


@pytest.mark.parametrize("case", CASES)
def test_an_impact_stops_what_is_held_and_changes_no_step(case):
    """The impact is a projection of the momentum, and part of the impulses of the step after it."""
    model, problem, at = moving(case, "linear-time", np.random.default_rng(2))
    impacts = problem.phases.impacts(at.q, at.p)
    first, last = problem.stretches[0], problem.stretches[-1]
    assert np.abs(impacts[first.first]).max() > 0.1 and np.abs(impacts[last.first]).max() > 0.1
    assert not impacts[first.first + 1].any()
    for one in (first, last):
        k, held = one.first, one.integrator.model
        before = at.p[k]
        if one is last:
            # the contacts of the phase before have taken their own velocities away
            rows = problem.stretches[-2].integrator.model._constraint_rows(at.q[k : k + 1])[1][0]
            inverse = model.inverse_mass_matrix(at.q[k])
            before = before - rows.T @ np.linalg.solve(rows @ inverse @ rows.T, rows @ inverse @ before)
        rows = held._constraint_rows(at.q[k : k + 1])[1][0]
        after = before + rows.T @ impacts[k, : one.rows]
        assert np.abs(rows @ model.velocity_from_momentum(at.q[k], before)).max() > 0.05
        np.testing.assert_allclose(rows @ model.velocity_from_momentum(at.q[k], after), 0, atol=1e-10)
        # an inelastic impact loses energy
        energy = [0.5 * p @ model.velocity_from_momentum(at.q[k], p) for p in (before, after)]
        assert energy[1] < energy[0]
        q, p, impulses = np.empty((2, model.nq)), np.empty((2, model.nv)), np.zeros_like(at.impulses)
        q[0], p[0] = at.q[k], at.p[k] + rows.T @ impacts[k, : one.rows]
        problem._take(one, k, at.controls[k : k + 1].copy(), q, p, impulses)
        np.testing.assert_allclose(q[1], at.q[k + 1], atol=1e-10)
        np.testing.assert_allclose(p[1], at.p[k + 1], atol=1e-9)
        np.testing.assert_allclose(impulses[k] + impacts[k], at.impulses[k], atol=1e-9)


def test_the_projection_onto_a_cone():
    rng = np.random.default_rng(3)
    for k in (2, 3):
        s = rng.normal(size=(60, k))
        found = onto_cone(s)
        assert (np.linalg.norm(found[:, 1:], axis=1) <= found[:, 0] + 1e-12).all()
        # Moreau: what is left is in the polar cone, and perpendicular to the projection
        left = found - s
        assert (np.linalg.norm(left[:, 1:], axis=1) <= left[:, 0] + 1e-12).all()
        np.testing.assert_allclose(np.sum(left * found, axis=1), 0, atol=1e-12)
        sides = [(onto_cone(s + 1e-6 * e) - onto_cone(s - 1e-6 * e)) / 2e-6 for e in np.eye(k)]
        np.testing.assert_allclose(onto_cone_slopes(s), np.array(sides).transpose(1, 2, 0), atol=1e-7)


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("case", CASES)
def test_the_cost_has_the_gradient_of_differences(case, method):
    """With multipliers of all bounds: the slope by controls, carried back along the motion."""
    rng = np.random.default_rng(4)
    _, problem, at = moving(case, method, rng)
    problem.bounds.begin(1.0)
    for part in problem.bounds.parts:
        known = rng.uniform(0, 0.5, part.multipliers.shape) / part.scale.max()
        part.multipliers[:] = known * part.bounded
    at = problem.again(at)
    assert at.penalty
    expansion = problem.expand(at)
    costate, slope = expansion.gradients[-1], np.empty_like(expansion.slopes)
    for k in reversed(range(problem.steps)):
        slope[k] = 2 * (problem.effort(at.controls) @ problem.R)[k] + expansion.slopes[k] + expansion.B[k].T @ costate
        costate = expansion.gradients[k] + expansion.A[k].T @ costate
    for _ in range(3):
        d = rng.normal(size=slope.shape)

        def cost(size, d=d):
            controls = at.controls.copy()
            controls[:, problem.acts] += size * d
            return problem.follow(controls).cost

        expected = (cost(1e-5) - cost(-1e-5)) / 2e-5
        assert np.vdot(slope, d) == pytest.approx(expected, rel=1e-6)


def held_torque(model, q0, problem):
    """Torques that hold a robot on what is held at the start."""
    one = problem.stretches[0].integrator.model
    rows = one._constraint_rows(q0[None])[1][0]
    unit = np.zeros((model.nv, len(problem.acts)))
    unit[problem.acts, range(len(problem.acts))] = 1.0
    found = np.linalg.lstsq(np.hstack([unit, rows.T]), -model.passive_force(q0), rcond=None)[0]
    return unit @ found[: len(problem.acts)]


@pytest.mark.parametrize(("case", "method", "search"), [
    ("planar", "linear-time", "ddp"), ("planar", "midpoint", "fddp"), ("planar", "linear-time", "fddp"),
    ("points", "linear-time", "fddp"),
])  # fmt: skip
def test_the_optimum_is_that_of_the_transcription(case, method, search):
    model = biped(case == "planar")
    q0 = standing(model)
    given = task(model, q0, method=method, tolerance=1e-9)
    same = {"kinetic": "midpoint"} if method == "midpoint" else {}
    torque = held_torque(model, q0, problem_of(model, q0, **given))
    states = np.tile(q0, (13, 1)) if search == "fddp" else None
    found = optimize_motion(model, q0, control=torque, states=states, search=search, max_iterations=400, **given)
    assert found.success and found.violation <= 1e-6 and found.gap == 0.0
    program = MotionProblem(
        model, dt=given["dt"], phases=given["phases"], start=(q0, np.zeros(model.nv)), cost=given["costs"],
        actuators=given["actuators"], friction=0.6, clearance=0.02, guess=found.q, method=method, **same,
    )  # fmt: skip
    other = solve(program, tolerance=1e-8)
    assert other.success
    assert found.cost == pytest.approx(other.cost, rel=1e-5)
    np.testing.assert_allclose(found.q, other.trajectory.q, atol=1e-3)
    for name, impulses in other.trajectory.impulses.items():
        np.testing.assert_allclose(found.impulses[name][:, :3], impulses[:-1], atol=0.02)
    # bounds are met, and some of them hold something back
    pushes = np.array([x for x in found.impulses.values()])
    assert (np.linalg.norm(pushes[:, :, :2], axis=2) <= 0.6 * pushes[:, :, 2] + 1e-6).all()
    free = optimize_motion(model, q0, control=torque, **(given | {"friction": 100.0, "clearance": 0.0}))
    assert free.cost < found.cost * (1 - 1e-4)


def test_a_plan_is_what_constrained_models_and_contacts_do():
    """The same torques move constrained models, one a phase, and a robot whose feet touch the ground, alike."""
    model = biped(True)
    q0 = standing(model)
    # the foot lands a little above the ground, and touches it in the step after, as in the plan
    given = task(model, q0, steps=(4, 8, 4), ground=1e-6)
    torque = held_torque(model, q0, problem_of(model, q0, **given))
    plan = optimize_motion(model, q0, control=torque, **given)
    assert plan.success
    replay = plan.trajectory
    np.testing.assert_allclose(replay.q, plan.q, atol=1e-10)
    np.testing.assert_allclose(replay.t, 0.02 * np.arange(17), atol=1e-12)
    held = [error for name in ("left", "right") for error in
            [replay.constraint[:, k] for k, each in enumerate(replay.constraint_names) if name in each]]  # fmt: skip
    assert np.nanmax(np.abs(held)) < 1e-9
    rough = biped(True, touching=["left", "right"])
    run = vt.simulate(rough, q0, duration=0.32, dt=0.02, control=vt.Control(torque=plan.torque))
    assert np.abs(run.q - plan.q).max() < 1e-4
    # the planner leaves the contacts of a model out
    again = optimize_motion(rough, q0, control=torque, **given)
    np.testing.assert_array_equal(again.q, plan.q)


def test_forces_are_those_of_the_ground():
    """At rest they carry the weight; impacts are where feet land, and nowhere else."""
    model = biped(True)
    q0 = standing(model)
    given = task(model, q0, ahead=0.0, clearance=0.0, steps=(5, 1, 1))
    given["phases"] = [ContactPhase(5, ["left foot", "right foot"])]
    torque = held_torque(model, q0, problem_of(model, q0, **given))
    # momenta of nodes lack the impulses there, and are not zero at rest
    given["costs"] = QuadraticCost(q0, Q=np.repeat([1.0, 0.0], model.nv), R=1e-4, goal_u=torque[3:])
    rest = optimize_motion(model, q0, control=torque, **given)
    assert rest.success and rest.cost < 1e-9
    total = sum(rest.contact_forces.values())
    np.testing.assert_allclose(total[:, 2], model.total_mass * 9.81, rtol=1e-6)
    assert not any(np.abs(x).max() > 1e-9 for x in rest.impacts.values())
    assert [phase.held for phase in rest.phases] == [("left foot", "right foot")]
    given = task(model, q0)
    plan = optimize_motion(model, q0, control=torque, **given)
    impacts = plan.impacts["right foot"]
    assert impacts[9, 2] > 0.1 and not np.delete(impacts, 9, axis=0).any()
    assert not plan.contact_forces["right foot"][3:9].any()


def test_soles_stay_flat_and_bear_what_they_can():
    model = biped(False, ankles=True)
    q0 = standing(model)
    sole = {"left foot": (0.08, 0.04), "right foot": (0.08, 0.04)}
    one = {"left foot": sole["left foot"]}
    phases = [ContactPhase(3, list(sole), sole), ContactPhase(6, list(one), one), ContactPhase(4, list(sole), sole)]
    given = task(model, q0, phases=phases, ahead=0.05)
    torque = held_torque(model, q0, problem_of(model, q0, **given))
    states = np.tile(q0, (14, 1))
    plan = optimize_motion(model, q0, control=torque, states=states, search="fddp", max_iterations=300, **given)
    assert plan.success and plan.violation <= 1e-6
    assert np.abs(plan.trajectory.q - plan.q).max() < 1e-9
    for name, first, last in (("left foot", 0, 13), ("right foot", 9, 13)):
        poses = model.frame_pose(name, plan.q[first : last + 1])
        np.testing.assert_allclose(poses, np.tile(poses[:1], (len(poses), 1, 1)), atol=1e-9)
        np.testing.assert_allclose(poses[:, :3, 2], np.tile([0, 0, 1], (len(poses), 1)), atol=2e-6)
        np.testing.assert_allclose(poses[:, 2, 3], 0, atol=2e-6)
    corners = [np.array([x, y, 0.0]) for x in (-0.08, 0.08) for y in (-0.04, 0.04)]
    for name, wrenches in plan.impulses.items():
        for k, wrench in enumerate(wrenches):
            if not wrench.any():
                continue
            R = model.frame_pose(name, plan.q[k])[:3, :3]
            assert _bearable(R.T @ wrench[:3], R.T @ wrench[3:], corners, 0.6), (name, k)


def _bearable(force, moment, corners, friction):
    """Whether forces at the corners within pyramids of friction sum up to a wrench."""
    from scipy.optimize import linprog

    edges = [np.array([x * friction, y * friction, 1.0]) for x in (-1, 1) for y in (-1, 1)]
    columns = np.array([np.concatenate([e, np.cross(c, e)]) for c in corners for e in edges]).T
    slack = np.hstack([columns, np.eye(6), -np.eye(6)])
    found = linprog(np.r_[np.zeros(columns.shape[1]), np.ones(12)], A_eq=slack, b_eq=np.r_[force, moment])
    return found.fun < 1e-5


def test_a_search_goes_on_from_its_last_phases():
    model = biped(True)
    q0 = standing(model)
    given = task(model, q0)
    torque = held_torque(model, q0, problem_of(model, q0, **given))
    search = Search(model, search="fddp", **given)
    first = search.solve(q0, control=torque, states=np.tile(q0, (13, 1)))
    again = search.solve(q0)
    assert first.success and again.success and len(again.costs) < len(first.costs)
    assert again.cost == pytest.approx(first.cost, rel=1e-5)
    # later the first phase is shorter, and the last one longer
    later = [ContactPhase(n, phase.held) for n, phase in zip((1, 6, 5), given["phases"], strict=True)]
    start = first.q[2], model.velocity_from_momentum(first.q[2], first.p[2])
    moved = search.solve(*start, shift=2, phases=later)
    other = optimize_motion(model, *start, control=moved.torque, **(given | {"phases": later}))
    assert moved.success and other.success and moved.cost == pytest.approx(other.cost, rel=1e-5)
    assert [phase.last for phase in moved.phases] == [1, 7, 12]


def test_bounds_frames_and_limits_go_with_phases():
    model = biped(True)
    q0 = standing(model)
    given = task(model, q0, tolerance=1e-9)
    torque = held_torque(model, q0, problem_of(model, q0, **given))
    reach = FrameCost("trunk", [0.1, 0.0, 0.78], weight=1.0, weight_end=50.0)
    more = {"costs": [given["costs"], reach], "limits": 60.0, "bounds": {"lean": (-0.02, 0.02)}}
    found = optimize_motion(model, q0, control=torque, max_iterations=400, **(given | more))
    assert found.success and found.violation < 1e-6 and np.abs(found.torque).max() <= 60.0
    assert np.abs(found.q[:, 2]).max() <= 0.02 + 1e-6
    program = MotionProblem(
        model, dt=given["dt"], phases=given["phases"], start=(q0, np.zeros(model.nv)), cost=more["costs"],
        actuators=given["actuators"], friction=0.6, clearance=0.02, guess=found.q, limits=60.0, bounds=more["bounds"],
    )  # fmt: skip
    assert found.cost == pytest.approx(solve(program, tolerance=1e-8).cost, rel=1e-5)


def test_a_foot_lands_at_its_place():
    model = biped(True)
    q0 = standing(model)
    there = [*model.frame_pose("right foot", q0)[:3, 3]]
    there[0] += 0.15
    given = task(model, q0)
    torque = held_torque(model, q0, problem_of(model, q0, **given))
    given["phases"] = [*given["phases"][:2], ContactPhase(3, {"left foot": None, "right foot": there})]
    found = optimize_motion(model, q0, control=torque, **given)
    assert found.success
    np.testing.assert_allclose(model.frame_pose("right foot", found.q[9:])[:, :3, 3], np.tile(there, (4, 1)), atol=1e-6)


@pytest.mark.parametrize(("wrong", "text"), [
    ({"search": "projection"}, 'search="ddp" or "fddp"'), ({"search": "transcription"}, 'search="ddp" or "fddp"'),
    ({"duration": 0.5}, "12 steps"), ({"velocity_bounds": {"x": (-1, 1)}}, "not supported with phases"),
    ({"friction": -1.0}, "friction"), ({"ground": np.nan}, "ground"), ({"clearance": "high"}, "clearance"),
    ({"phases": [ContactPhase(3, ["left hand"])]}, "left hand"), ({"phases": []}, "phases"),
    ({"phases": [ContactPhase(3, ["left foot"], ["right foot"])]}, "right foot"),
    ({"phases": [ContactPhase(3, ["left foot"], {"left foot": (0.1, -0.1)})]}, "two positive"),
    ({"phases": [ContactPhase(3, ["left foot", "left shank", "left toe"])]}, "others imply"),
    ({"phases": [ContactPhase(3, {"left foot": [5.0, 0.0, 0.0]})]}, "off the place"),
    ({"method": "midpoint", "kinetic": "relative"}, "kinetic"),
    ({"phases": [ContactPhase(3, ["post"])]}, "does not move"),
    ({"phases": [ContactPhase(0, ["left foot"])]}, "steps"), ({"phases": ["left foot"]}, "ContactPhase"),
])  # fmt: skip
def test_wrong_phases(wrong, text):
    tree = vt.Tree("leg")
    shank = tree.world.add(vt.tx("x"), vt.tz("z"), vt.ry("lean"), vt.body("left shank", 1.0, (0.1, 0.1, 0.1)))
    shank.add(vt.tz(-0.4), vt.frame("left foot"), vt.tx(0.1), vt.frame("left toe"))
    shank.add(vt.tz(-0.3), vt.tx(0.1), vt.frame("right foot"))
    tree.world.add(vt.tx(1.0), vt.frame("post"))
    model = tree.compile()
    given = {"dt": 0.02, "costs": QuadraticCost(R=1.0), "phases": [ContactPhase(12, ["left foot"])], **wrong}
    with pytest.raises(vt.VitreeError, match=text):
        optimize_motion(model, **given)


def test_models_and_problems_without_phases():
    with pytest.raises(vt.InputError, match="duration"):
        optimize_motion(biped(True), dt=0.02, costs=QuadraticCost(R=1.0))
    tree = vt.Tree("lift")
    tree.world.add(vt.tz("lift", kinematic=True), vt.body("cage", 1.0), vt.rx("arm"), vt.body("hand", 1.0, (1, 1, 1)))
    with pytest.raises(vt.InputError, match="prescribed"):
        optimize_motion(tree.compile(), dt=0.02, costs=QuadraticCost(R=1.0), phases=[ContactPhase(3, ["hand"])])
    model = biped(True)
    q0 = standing(model)
    with pytest.raises(vt.InputError, match="optimize_motion alone"):
        MotionProblem(model, dt=0.02, start=q0, phases=[ContactPhase(3, ["left foot"], ["left foot"])])
    free = optimize_motion(model, q0, duration=0.1, dt=0.02, costs=QuadraticCost(q0, R=1.0))
    assert free.impulses == free.contact_forces == {} and free.phases == ()
    assert not Bounded([])


@pytest.mark.parametrize("method", METHODS)
def test_a_jump_has_the_optimum_of_the_transcription(method):
    """Between phases of contact nothing but gravity acts: the momentum of the whole is that of the fall."""
    tree = vt.Tree("hopper")
    base = [vt.tx("x"), vt.tz("z"), vt.ry("lean")]
    trunk = tree.world.add(*base, vt.body("trunk", 5.0, (0.2, 0.3, 0.1), com=(0, 0, 0.1)))
    link = {"inertia": (0.02, 0.02, 0.005), "com": (0, 0, -0.15)}
    knee = trunk.add(vt.ry("hip"), vt.body("thigh", 1.0, **link), vt.tz(-0.3))
    knee.add(vt.ry("knee"), vt.body("shank", 0.5, **link), vt.tz(-0.3), vt.frame("foot"))
    model, dt = tree.compile(), 0.02
    start = np.array([0.0, 0.6 * np.cos(0.6), 0.0, -0.6, 1.2])
    goal, weights = start + np.array([0.1, 0, 0, 0, 0]), np.repeat([10.0, 0.1, 0.01], [3, 2, 5])
    cost = QuadraticCost(goal, Q=0.002 * weights, R=1e-5, Q_end=100 * weights)
    phases = [ContactPhase(10, ["foot"]), ContactPhase(12), ContactPhase(10, ["foot"])]
    task = {"dt": dt, "phases": phases, "actuators": ["hip", "knee"], "friction": 0.6, "clearance": 0.03,
            "method": method}  # fmt: skip
    plan = optimize_motion(model, start, costs=cost, search="fddp", states=np.linspace(start, goal, 33), tolerance=1e-9,
                           **task)  # fmt: skip
    assert plan.success and plan.violation < 1e-6 and not plan.impulses["foot"][10:22].any()
    fall = np.diff(plan.p[10:23, :2], axis=0)
    np.testing.assert_allclose(fall, np.tile([0, -6.5 * 9.81 * dt], (12, 1)), atol=1e-9)
    same = {"kinetic": "midpoint"} if method == "midpoint" else {}
    other = solve(MotionProblem(model, start=(start, np.zeros(5)), cost=cost, guess=plan.q, **task, **same),
                  tolerance=1e-8)  # fmt: skip
    assert other.success and plan.cost == pytest.approx(other.cost, rel=1e-5)


@pytest.mark.parametrize(("friction", "clearance", "ahead", "aside"), [
    (0.888, 0.0839, 0.00262, 0.00046), (0.726, 0.0855, 0.00336, -0.00099), (0.692, 0.0823, 0.00377, -0.00028),
])  # fmt: skip
def test_a_quadruped_trots_on_grounds_of_any_friction(friction, clearance, ahead, aside):
    """Feet that slide, push and swing at their bounds: no pieces of the cones may come again and again."""
    model = vt.load_urdf(vt.find_robot("go2"), base="free")
    feet = ["FL_foot", "FR_foot", "RL_foot", "RR_foot"]
    start = model.neutral()
    start[7:] = (0.0, 0.8539, -1.7078) * 4
    start[2] = -model.frame_pose(feet[0], start)[2, 3]
    way = [model.integrate(start, np.r_[ahead * k, aside * k, np.zeros(16)]) for k in range(101)]
    phases = [(10, feet), (30, feet[1:3]), (20, feet), (30, feet[::3]), (10, feet)]
    weights = [np.r_[x * np.ones(6), y * np.ones(12), z * np.ones(18)] for x, y, z in ((10, 1, 0.01), (1000, 10, 1))]
    cost = QuadraticCost(way, Q=0.01 * weights[0], R=1e-5, Q_end=weights[1])
    plan = optimize_motion(model, start, dt=0.01, costs=cost, actuators=model.v_names[6:], friction=friction,
                           phases=[ContactPhase(*x) for x in phases], clearance=clearance, search="fddp", states=way,
                           tolerance=1e-6)  # fmt: skip
    assert plan.success and plan.violation <= 1e-6 and len(plan.costs) < 40
    for name in feet:
        push = plan.impulses[name]
        assert (np.hypot(*push.T[:2]) <= friction * push[:, 2] + 2e-6).all()
