"""Constraints: derivatives, the closed chain and the scissor lift of Johnson & Murphey, bad input."""

from __future__ import annotations

import pickle
from dataclasses import replace

import numpy as np
import pytest
from closed_chains import BOTH, REFERENCE, closed_chain
from loaded_models import (
    PLACES,
    SINGLE,
    STENCIL,
    conservative_loads,
    constrained_tree,
    coordinate,
    driving_loads,
    end_error,
    fitted,
    gradient,
    one_coordinate_joints,
    random_tree,
    singles,
)
from random_models import random_flat, random_state

import vitree as vt
from vitree._core import lanes, widths
from vitree.mechanism.flat import KINDS
from vitree.model.closures import dependent


def scissor(segments, inertia, angle):
    """A lift of crossed unit links that hangs from a pivot and a slider, and its start at rest."""
    tree = vt.Tree(f"scissor lift of {segments} segments")
    slider = tree.world.add(vt.tx("x"), vt.body("slider", 1.0))
    q, absolute = {"x": np.cos(angle)}, {}
    for side, at in (("a", tree.world), ("b", slider)):
        for k in range(1, segments + 1):
            at = at.add(vt.ry(f"{side}{k}"))
            at.add(vt.tx(0.5), vt.body(f"{side}_link{k}", 1.0, inertia=(0, inertia, 0)))
            at = at.add(vt.tx(1.0))
            absolute[k] = angle if (side == "a") == bool(k % 2) else np.pi - angle
            q[f"{side}{k}"] = absolute[k] - (absolute[k - 1] if k > 1 else 0.0)
    for k in range(1, segments + 1):
        tree.constrain(vt.point_constraint(f"a_link{k}", f"b_link{k}", BOTH))
    model = tree.compile()
    return model, np.array([q[name] for name in model.joint_names])


def test_the_closed_chain_is_the_papers_to_second_order():
    case, model = REFERENCE["closed_chain"], closed_chain()
    assert list(model.joint_names) == case["order"]
    steps, errors = [0.01, 0.005, 0.0025, 0.00125], []
    for dt in steps:
        run = vt.simulate(model, case["q0"], duration=2.0, dt=dt, method="midpoint", tolerance=1e-11)
        errors.append([np.abs(run.at(t).q - q).max() for t, q in zip(case["ref_t"], case["ref_q"], strict=True)])
        # the same scheme in an independent prototype made the same errors
        assert np.allclose(errors[-1], case[f"err_h{dt:g}"], rtol=1e-4)
        assert np.abs(model.constraint_errors(run.q)).max() < 1e-11
    orders = np.polyfit(np.log(steps), np.log(errors), 1)[0]
    assert np.abs(orders - 2).max() < 0.05


def test_the_closed_chain_holds_for_two_minutes():
    model = closed_chain()
    run = vt.simulate(model, REFERENCE["closed_chain"]["q0"], duration=120.0, dt=0.01, method="midpoint")
    h, Dh = model._constraint_rows(run.q)
    assert np.abs(h).max() <= 1e-11
    # chaotic: the energy at the nodes peaks for a step or two where a link whips past, how high depends on round-off
    assert np.quantile(np.abs(run.energy - run.energy[0]), 0.999) < 1.0
    assert np.abs(np.einsum("nij,nj->ni", Dh, run.v)).max() < 1e-8


@pytest.mark.parametrize("inertia", [0.0, 1 / 12])
@pytest.mark.parametrize("angle", [np.pi / 4, 1.0, 1.2])
def test_the_scissor_lift_follows_its_one_degree_of_freedom(inertia, angle):
    """It passes the collinear configuration, where the constraints lose rank, on the right branch."""
    case = REFERENCE[f"scissor I={inertia:.6f} th0={angle:.6f}"]
    model, q0 = scissor(5, inertia, angle)
    errors = []
    for dt in (0.01, 0.005):
        run = vt.simulate(model, q0, duration=10.0, dt=dt, method="midpoint", tolerance=1e-11)
        theta = run.q[:, model.joint("a1").q_slice][:, 0][:: round(1 / dt)]
        errors.append(theta - case["theta"])
        assert np.abs(model.constraint_errors(run.q)).max() <= 1e-12
        if dt == 0.01:
            assert np.abs(theta - case["vi_theta"]).max() < 1e-6
    clear = np.abs(errors[1]) > 1e-4
    if clear.any():  # from pi/4 with inertia nearly all integer times are turning points
        assert np.abs(errors[0][clear] / errors[1][clear] - 4).max() < 0.15


def test_eight_segments_run():
    model, q0 = scissor(8, 1 / 12, 1.0)
    run = vt.simulate(model, q0, duration=10.0, dt=0.01, method="midpoint")
    assert len(run) == 1001 and np.abs(model.constraint_errors(run.q)).max() < 1e-11


# ---- derivatives ------------------------------------------------------------------------------------


def constrained(seed):
    """A random tree of every joint kind with constraints of every kind between its frames."""
    rng = np.random.default_rng(seed)
    kinds = KINDS
    flat = random_flat(rng, nbody=8, kinds=(*kinds, "revolute", "revolute"), base="fixed")
    single = [joint.name for joint in flat.joints if joint.kind in kinds[:3]]
    axis = tuple(rng.normal(size=3))
    constraints = (
        vt.PointConstraint("link5", "link2", axis),
        vt.PointConstraint("link7", "world", axis),
        vt.PointConstraint("link6", "link1", axis, axes="local", offset=0.3),
        vt.Distance("link4", "link7", 1.1),
        vt.Distance("world", "link6", 0.4),
        *([vt.Coupling({single[0]: 2.0, single[1]: -0.5}, 0.1)] if len(single) > 1 else []),
    )
    model = vt.Model(replace(flat, constraints=constraints))
    return model, random_state(flat, rng)[0]


@pytest.mark.parametrize("seed", range(5))
def test_derivatives_are_those_of_differences(seed):
    model, q = constrained(seed)
    Dh = model.constraint_jacobian(q)
    step = 1e-4
    for k in range(model.nv):
        d = np.zeros(model.nv)
        d[k] = step
        h = [model.constraint_errors(model.integrate(q, s * d)) for s in (-2, -1, 1, 2)]
        slope = (h[0] - 8 * h[1] + 8 * h[2] - h[3]) / (12 * step)
        assert np.abs(slope - Dh[:, k]).max() < 1e-10 * max(1.0, np.abs(Dh).max())


@pytest.mark.parametrize("width", widths()[1:])
def test_every_width_gives_the_same_bits(width):
    model, q = constrained(3)
    rng = np.random.default_rng(0)
    rows = np.array([model.integrate(q, rng.normal(size=model.nv)) for _ in range(11)])
    m, out = len(model.constraints), []
    for w in (1, width):
        h, Dh = np.empty((11, m)), np.empty((11, m * model.nv))
        lanes(w).batch_constraints(model.core, model.constraint_list, rows, h, Dh)
        out.append(h.tobytes() + Dh.tobytes())
    assert out[0] == out[1]


def test_the_step_is_symplectic_on_the_constrained_manifold():
    """Tangent vectors keep their pairing: (A d)^T J (A e) = d^T J e for d, e along the manifold."""
    model = closed_chain()
    n, dt = model.nv, 0.01
    start = vt.simulate(model, REFERENCE["closed_chain"]["q0"], duration=0.3, dt=dt, method="midpoint", tolerance=1e-13)
    base, p0 = start.q[-1], start.p[-1]
    free = ["J", "A", "K"]

    def step(z):
        """Chart of the manifold: three coordinates, the rest from the constraints; and any momentum."""
        guess = base.copy()
        guess[[model.joint(name).q_slice.start for name in free]] += z[:3]
        q = vt.satisfy_constraints(model, guess, hold=free, tolerance=4e-15)
        end = vt.simulate(model, q, p0=p0 + z[3:], duration=dt, dt=dt, method="midpoint", tolerance=1e-14, guess="aba")
        return np.concatenate((q, p0 + z[3:])), np.concatenate((end.q[-1], end.p[-1]))

    e = 2e-4
    before, after = [], []
    for k in range(3 + n):
        d = np.zeros(3 + n)
        d[k] = e
        f = [step(s * d) for s in (-3, -2, -1, 1, 2, 3)]
        for rows, side in ((before, 0), (after, 1)):
            rows.append(np.array([-1, 9, -45, 45, -9, 1]) @ [x[side] for x in f] / (60 * e))
    J = np.block([[np.zeros((n, n)), np.eye(n)], [-np.eye(n), np.zeros((n, n))]])
    start_form, end_form = (np.array(rows) @ J @ np.array(rows).T for rows in (before, after))
    assert np.abs(end_form - start_form).max() < 1e-8 * np.abs(start_form).max()


# ---- starts and bad input -----------------------------------------------------------------------------


def test_satisfy_constraints_projects_and_holds():
    model = closed_chain()
    q0 = np.array(REFERENCE["closed_chain"]["q0"])
    rough = q0 + np.array([0.0, 0.05, -0.04, 0.03, 0.0, 0.05, -0.05])
    q = vt.satisfy_constraints(model, rough, hold=["J", "A"])
    assert np.abs(model.constraint_errors(q)).max() <= 1e-12
    assert q[0] == q0[0] and q[4] == q0[4]
    with pytest.raises(vt.ConvergenceError, match="off by"):
        vt.satisfy_constraints(model, rough, hold=list(model.joint_names))


@pytest.mark.parametrize("start", [(1.37793268, -1.94606628), (1.72258984, -1.56378334), (-1.44681244, -1.54994572)])
def test_the_configuration_found_is_near_also_near_a_singular_one(start):
    """Full steps of Gauss and Newton go round several times from these starts."""
    four_bar = vt.load_sexpr("""
      (mechanical-system (gravity 0 0 -9.81)
        (ry "crank" (tz -0.3 (name "pin") (mass 1)))
        (tx 0.8 (ry "rocker" (tz -0.9 (name "tip") (mass 2))))
        (distance "pin" "tip" 1.0))""")
    q = vt.satisfy_constraints(four_bar, start)
    assert np.abs(four_bar.constraint_errors(q)).max() <= 1e-12
    assert np.abs(q - start).max() < np.pi


def test_project_velocity():
    model = closed_chain()
    q = np.array(REFERENCE["closed_chain"]["q0"])
    v = model.project_velocity(q, np.ones(7))
    assert np.abs(model.constraint_jacobian(q) @ v).max() < 1e-12
    assert np.allclose(model.project_velocity(q, v), v, atol=1e-12)
    run = vt.simulate(model, q, v, duration=0.1, dt=0.005, method="midpoint")
    assert np.allclose(run.v[0], v, atol=1e-10)


def test_inconsistent_starts_are_refused():
    model = closed_chain()
    q = np.array(REFERENCE["closed_chain"]["q0"])
    with pytest.raises(vt.InputError, match=r'"G" - "G2".*satisfy_constraints'):
        vt.simulate(model, q + 0.01, duration=0.1, dt=0.01, method="midpoint")
    with pytest.raises(vt.InputError, match="project_velocity"):
        vt.simulate(model, q, np.ones(7), duration=0.1, dt=0.01, method="midpoint")


def test_implied_constraints_are_left_out():
    tree = vt.Tree("two arms")
    for side, x in (("a", 0.0), ("b", 1.0)):
        tree.world.add(vt.tx(x), vt.ry(f"{side}1"), vt.tz(-1.0), vt.body(f"{side}", 1.0), vt.ry(f"{side}2"),
                       vt.tz(-1.0), vt.body(f"{side}_tip", 1.0))  # fmt: skip
    x = (1, 0, 0)
    tree.constrain(vt.PointConstraint("a", "b", x, offset=-1.0), vt.PointConstraint("b", "a", x, offset=1.0))
    run = vt.simulate(tree.compile(), duration=0.1, dt=0.01, method="midpoint")
    assert 'left out, for others imply them: point "b" - "a" x' in run.warnings[0]


@pytest.mark.parametrize(
    ("constraint", "error", "text"),
    [
        (vt.PointConstraint("G", "G9", (1, 0, 0)), vt.UnknownNameError, 'did you mean "G"'),
        (vt.PointConstraint("G", "O2", (1, 0, 0)), vt.ModelError, "same body"),
        (vt.PointConstraint("G", "O", (0, 0, 0)), vt.ModelError, "axis"),
        (vt.PointConstraint("G", "O", (1, 0, 0), axes="body"), vt.ModelError, "axes"),
        (vt.Distance("G", "O", -1.0), vt.ModelError, "positive"),
        (vt.Coupling({"J": 1.0}), vt.ModelError, "two joints"),
        (vt.Coupling({"J": 1.0, "X": 1.0}), vt.UnknownNameError, "joint"),
        ("G = O", vt.ModelError, "PointConstraint"),
    ],
)
def test_bad_constraints_are_named(constraint, error, text):
    flat = closed_chain().flat
    with pytest.raises(error, match=text):
        vt.Model(replace(flat, constraints=(constraint,)))


# ---- every kind, and what else runs them --------------------------------------------------------------------

ALL_KINDS = KINDS


def cam_shapes(flat, q):
    """Cams by a table, by one that repeats, and by a function, that hold nowhere in particular."""
    driver, follower = singles(flat)[:2]
    x = coordinate(flat, q, driver)
    around = np.linspace(0, 2 * np.pi, 25)
    return [
        vt.Cam(follower, driver, (x - 0.7, x - 0.2, x + 0.3, x + 0.9), (0.4, -0.3, 0.8, 0.1)),
        vt.Cam(follower, driver, around, 0.3 * np.cos(around) + 0.1 * np.sin(3 * around), periodic=True),
        vt.Cam(follower, driver, np.linspace(x - 2, x + 2, 30), lambda t: np.sin(2 * t)),
        vt.Cam(follower, driver, (x - 1.5, x - 1.0, x - 0.3), (0.4, -0.3, 0.8)),  # beyond its end
    ]


def one_of_each(flat, q):
    """Constraints of every kind by name; they need not hold."""
    last, (a, b, c) = len(flat.kind) - 1, singles(flat)[:3]
    u, w = (0.3, -0.8, 0.5), (0.9, 0.2, -0.4)
    table, periodic, function, beyond = cam_shapes(flat, q)
    return {
        "points": [vt.PointConstraint("frame1", "link1", u, offset=0.2)],
        "points, local": [vt.PointConstraint("frame1", "link1", u, axes="local"),
                          vt.PointConstraint("link2", "world", u, axes="local")],
        "distance": [vt.Distance("frame1", "link1", 0.7), vt.Distance("world", "link3", 0.7)],
        "distance by joint": [vt.Distance("frame1", "link0", a), vt.Distance(f"link{last}", "world", b)],
        "axes": [vt.AxisConstraint("link1", "frame1", u, w, 0.2), vt.AxisConstraint("world", "link3", u, w)],
        "gear": [vt.gear(a, b, -1.5, 0.2)],
        "screw pair": [vt.screw_pair(b, c, 0.07)],
        "weld": vt.weld("frame1", "link1"),
        "cam by a table": [table],
        "cam that repeats": [periodic],
        "cam by a function": [function],
        "cam beyond its end": [beyond],
    }  # fmt: skip


KIND_NAMES = list(one_of_each(*random_tree(0)[:2]))


@pytest.mark.parametrize("name", KIND_NAMES)
@pytest.mark.parametrize("seed", range(4))
def test_rows_are_differences_of_every_kind(seed, name):
    flat, q, _ = random_tree(seed, kinds=ALL_KINDS)
    model = vt.Model(replace(flat, constraints=tuple(one_of_each(flat, q)[name])))
    h, Dh = (x[0] for x in model._constraint_rows(q[None]))
    slope = gradient(model, q, lambda at: model._constraint_rows(at[None])[0][0], step=1e-3).T
    # a step of 1e-3 leaves 1e-18 of the seventh derivative, and rounding 1e-15 of h over it
    assert np.abs(slope - Dh).max() < 3e-12 * max(1.0, np.abs(h).max(), np.abs(Dh).max()) * 10
    assert np.abs(Dh).max(axis=1).min() > 1e-3 or name == "axes"


@pytest.mark.parametrize("name", KIND_NAMES)
@pytest.mark.parametrize("seed", range(4))
def test_second_derivatives_of_every_kind(seed, name):
    """Accelerations keep the constraints: D2h(v, v) + Dh a = 0, D2h by differences of Dh along v."""
    flat, q, v = random_tree(seed, kinds=ALL_KINDS)
    full = one_of_each(flat, q)[name]
    for one in [[x] for x in full] if name != "weld" else [full]:
        model = vt.Model(replace(flat, constraints=tuple(one)))
        Dh = model.constraint_jacobian(q)
        if dependent(Dh):
            continue
        rates = [model.constraint_jacobian(model.integrate(q, k * 1e-3 * v)) @ v for k in PLACES]
        bend = STENCIL @ rates / 1e-3
        a = model.forward_dynamics(q, v).acceleration
        scale = max(1.0, np.abs(Dh).max() * np.abs(a).max(), np.abs(bend).max())
        assert np.abs(bend + Dh @ a).max() < 1e-10 * scale
        # of forces by the constraint alone: M (a - a_free) = Dh^T lam
        result = model.forward_dynamics(q, v)
        free = vt.Model(flat).forward_dynamics(q, v).acceleration
        push = model.crba(q) @ (result.acceleration - free)
        assert np.abs(push - Dh.T @ result.multipliers).max() < 1e-9 * max(1.0, np.abs(push).max())


def test_a_weld_makes_one_rigid_body():
    """A body on its own free joint, welded to a swinging arm, moves as if it were part of it."""
    shape = {"mass": 1.3, "inertia": (0.03, 0.05, 0.02), "com": (0.1, -0.05, 0.2)}

    def arm(tree):
        return tree.world.add(vt.ry("upper"), vt.tz(-0.6), vt.body("one", 1.0, inertia=(0.02, 0.03, 0.01)),
                              vt.rx("lower"), vt.tz(-0.4), vt.body("two", 0.8, inertia=(0.01, 0.02, 0.03)))  # fmt: skip

    at = vt.fixed("place", (0.1, 0.2, -0.3), (0.4, -0.2, 0.9))
    rigid = vt.Tree("rigid")
    arm(rigid).add(at, vt.body("three", **shape))
    rigid = rigid.compile()
    loop = vt.Tree("welded")
    arm(loop).add(at)
    loop.world.add(vt.tx("x"), vt.ty("y"), vt.tz("z"), vt.rz("a"), vt.ry("b"), vt.rx("c"), vt.body("three", **shape))
    loop.constrain(vt.weld("place", "three"))
    model = loop.compile()
    swing, rate = np.array([0.7, -0.5]), np.array([0.5, 1.0])
    pose = rigid.frame_pose("three", swing)
    b = -np.arcsin(pose[2, 0])
    q0 = np.concatenate((swing, pose[:3, 3], [np.arctan2(pose[1, 0], pose[0, 0]), b,
                                              np.arctan2(pose[2, 1], pose[2, 2])]))  # fmt: skip
    assert list(model.joint_names) == ["upper", "lower", "x", "y", "z", "a", "b", "c"]
    assert np.abs(model.constraint_errors(q0)).max() < 1e-13
    # the welded body's rates from the rigid one's twist
    twist = rigid.frame_jacobian("three", swing) @ rate
    v0 = np.concatenate((rate, np.linalg.solve(model.frame_jacobian("three", q0)[:, 2:], twist)))
    assert np.abs(model.project_velocity(q0, v0) - v0).max() < 1e-12
    a, b = rigid.forward_dynamics(swing, rate).acceleration, model.forward_dynamics(q0, v0).acceleration
    assert np.abs(b[:2] - a).max() < 1e-10 * np.abs(a).max()
    # for h -> 0 the runs are one
    exact = vt.simulate(rigid, swing, rate, duration=0.5, dt=0.5, method="scipy-dop853", rtol=1e-12, atol=1e-12)
    steps, errors = [0.01, 0.005, 0.0025], []
    for dt in steps:
        run = vt.simulate(model, q0, v0, duration=0.5, dt=dt, method="midpoint", tolerance=1e-12)
        assert np.abs(run.constraint).max() < 1e-11
        errors.append(np.abs(run.q[-1, :2] - exact.q[-1]).max())
    assert abs(fitted(steps, errors) - 2) < 0.1
    apart = vt.simulate(model, q0, v0, duration=0.5, dt=0.0025, method="rk4").q[-1, :2] - exact.q[-1]
    assert np.abs(apart).max() < 1e-8


@pytest.mark.parametrize("residual", ["recursive", "tree"])
@pytest.mark.parametrize("kinds", [SINGLE, (*SINGLE, "ball")], ids=["single", "ball"])
def test_every_kind_runs_at_second_order(kinds, residual):
    """Constraints of every kind at once: midpoint, rk4 and DOP853 agree as h -> 0, and the constraints hold."""
    model, q, v = constrained_tree(2, kinds=kinds, nbody=8, speed=0.3)
    if residual == "tree":
        model, q, v = one_coordinate_joints(model, q, v)
    exact = vt.simulate(model, q, v, duration=0.1, dt=0.1, method="scipy-dop853", rtol=1e-11, atol=1e-11)
    steps, errors = np.array([0.005, 0.0025, 0.00125]), []
    for dt in steps:
        run = vt.simulate(model, q, v, duration=0.1, dt=dt, method="midpoint", residual=residual, tolerance=1e-12)
        assert np.abs(run.constraint).max() < 1e-11
        errors.append(end_error(model, exact[-1], run[-1]))
    assert np.abs(fitted(steps, errors) - 2).max() < 0.2
    errors = []
    for dt in (steps := np.array([0.02, 0.01, 0.005])):
        run = vt.simulate(model, q, v, duration=0.1, dt=dt, method="rk4")
        errors.append(end_error(model, exact[-1], run[-1]))
    assert fitted(steps, errors).min() > 3.5


def test_multipliers_converge_to_those_of_the_accelerations():
    model, q, v = constrained_tree(3, nbody=8, speed=0.3)
    steps, errors = np.array([0.004, 0.002, 0.001]), []
    for dt in steps:
        run = vt.simulate(model, q, v, duration=0.08, dt=dt, method="midpoint", tolerance=1e-12)
        expected = np.array([model.forward_dynamics(s.q, s.v).multipliers for s in run])
        errors.append(np.abs(run.multipliers - expected)[1:].max())
    assert np.isnan(run.multipliers[0]).all()
    assert fitted(steps, errors) >= 0.9
    assert errors[-1] < 0.1 * np.abs(expected).max()
    for method in ("rk4", "scipy-dop853"):
        run = vt.simulate(model, q, v, duration=0.08, dt=0.004, method=method)
        expected = np.array([model.forward_dynamics(s.q, s.v).multipliers for s in run])
        assert np.abs(run.multipliers - expected).max() < 1e-10 * np.abs(expected).max()


def rod_pendulum():
    """A point mass in a plane, on a massless rod of 1.5 m."""
    tree = vt.Tree("pendulum")
    tree.world.add(vt.tx("x"), vt.tz("z"), vt.body("bob", 2.0))
    tree.constrain(vt.Distance("bob", "world", 1.5))
    return tree.compile()


def test_the_multiplier_of_a_pendulum_is_its_tension():
    """m (v^2 / l + g cos a), the rod pulling inwards: exactly of accelerations, to first order of midpoint."""
    model, angle, rate = rod_pendulum(), 0.8, 1.3
    q0 = 1.5 * np.array([np.sin(angle), -np.cos(angle)])
    v0 = 1.5 * rate * np.array([np.cos(angle), np.sin(angle)])
    tension = 2.0 * (1.5 * rate**2 + 9.81 * np.cos(angle))
    assert model.forward_dynamics(q0, v0).multipliers[0] == pytest.approx(-tension, rel=1e-13)
    steps, errors = np.array([0.02, 0.01, 0.005]), []
    for dt in steps:
        run = vt.simulate(model, q0, v0, duration=1.0, dt=dt, method="midpoint", tolerance=1e-12)
        height = -run.q[:, 1] / 1.5
        tension = 2.0 * ((run.v**2).sum(axis=1) / 1.5 + 9.81 * height)
        errors.append(np.abs(run.multipliers[1:, 0] + tension[1:]).max())
    assert fitted(steps, errors) >= 0.9
    assert errors[-1] < 0.05 * tension.max()


def test_constrained_starts_from_momenta_and_from_two_configurations():
    """From p0 = M v0 the run is that from v0; from q1 where the exact motion is after a step, second order of it."""
    model, q, v = constrained_tree(4, nbody=8, speed=0.3)
    options = {"duration": 0.1, "method": "midpoint", "tolerance": 1e-13}
    run = vt.simulate(model, q, v, dt=0.005, **options)
    again = vt.simulate(model, q, p0=model.generalized_momentum(q, v), dt=0.005, **options)
    assert np.abs(again.q - run.q).max() < 1e-11
    again = vt.simulate(model, q, q1=run.q[1], dt=0.005, **options)
    assert np.abs(again.q[1] - run.q[1]).max() < 1e-10
    assert np.abs(again.q - run.q).max() < 1e-8
    # momentum along the constraints' normals changes nothing
    Dh = model.constraint_jacobian(q)
    pushed = model.generalized_momentum(q, v) + Dh.T @ np.linspace(-1, 1, len(Dh))
    again = vt.simulate(model, q, p0=pushed, dt=0.005, **options)
    assert np.abs(again.q - run.q).max() < 1e-10
    exact = vt.simulate(model, q, v, duration=0.1, dt=0.1, method="scipy-dop853", rtol=1e-12, atol=1e-12)
    steps, errors = np.array([0.005, 0.0025, 0.00125]), []
    for dt in steps:
        first = vt.simulate(model, q, v, duration=dt, dt=dt, method="scipy-dop853", rtol=1e-12, atol=1e-12).q[-1]
        end = vt.simulate(model, q, q1=vt.satisfy_constraints(model, first), dt=dt, **options)[-1]
        errors.append(np.abs(model.difference(exact.q[-1], end.q)).max())
    assert abs(fitted(steps, errors) - 2) < 0.2


class Plane(vt.Constraint):
    """A constraint of one's own, to be pickled: a frame stays in a plane."""

    def __init__(self, frame, normal):
        self.frame, self.normal = frame, np.array(normal, float)

    def value(self, model, q):
        return self.normal @ model.frame_pose(self.frame, q)[:3, 3]


class Well(vt.Potential):
    """A potential of one's own, to be pickled."""

    def __init__(self, depth):
        self.depth = depth

    def energy(self, model, q):
        return self.depth * float(q[0] ** 2)


def test_models_with_loads_and_constraints_are_pickled():
    """The copy is equal, of the same digest, and runs to the same bits; another load, another digest."""
    model, q, v = constrained_tree(5, nbody=8)
    loads = (*conservative_loads(model.flat), *driving_loads(model.flat))
    for more in ((), (Well(2.0),)):
        whole = vt.Model(replace(model.flat, loads=(*loads, *more)))
        copy = pickle.loads(pickle.dumps(whole))
        assert copy == whole and copy.digest == whole.digest and hash(copy) == hash(whole)
        runs = [vt.simulate(m, q, v, duration=0.02, dt=0.01, method="midpoint") for m in (whole, copy)]
        assert runs[0].q.tobytes() == runs[1].q.tobytes()
        expanded = pickle.loads(pickle.dumps(whole.euler()))
        assert expanded == whole.euler()
    own = replace(model.flat, loads=loads, constraints=(Plane("link1", (0, 0, 1)),))
    assert pickle.loads(pickle.dumps(vt.Model(own))) == vt.Model(own)
    seen = {vt.Model(flat).digest for flat in (
        model.flat, replace(model.flat, loads=loads), replace(model.flat, loads=loads[:-1]), own,
        replace(own, constraints=(Plane("link1", (0, 1, 0)),)), replace(model.flat, loads=(Well(1.0),)),
        replace(model.flat, loads=(Well(2.0),)), replace(model.flat, constraints=model.constraints[1:]),
        replace(model.flat, kinematic=np.eye(model.nv, dtype=bool)[0], constraints=()),
        replace(model.flat, constraints=()),
    )}  # fmt: skip
    assert len(seen) == 10


@pytest.mark.parametrize(
    ("constraint", "error", "text"),
    [
        (vt.AxisConstraint("G", "O", (0, 0, 0), (1, 0, 0)), vt.ModelError, "axis"),
        (vt.AxisConstraint("G", "O", (0, 1, 0), (1, 0, 0), 1.0), vt.ModelError, "cosine"),
        (vt.AxisConstraint("G", "O2", (0, 1, 0), (1, 0, 0)), vt.ModelError, "same body"),
        (vt.Distance("G", "O", "X"), vt.UnknownNameError, "joint"),
        (vt.Cam("J", "J", (0, 1), (0, 1)), vt.ModelError, "itself"),
        (vt.Cam("J", "H", (0, 1), (0, 1, 2)), vt.ModelError, "equal length"),
        (vt.Cam("J", "H", (0, 1, 2), (0, 1, 2), periodic=True), vt.ModelError, "periodic"),
        (vt.Cam("J", "H", (1, 0), (0, 1)), vt.ModelError, "increase"),
    ],
)
def test_bad_constraints_of_the_other_kinds_are_named(constraint, error, text):
    with pytest.raises(error, match=text):
        vt.Model(replace(closed_chain().flat, constraints=(constraint,)))


def test_a_periodic_cam_repeats_for_ever():
    tree = vt.Tree("cam")
    tree.world.add(vt.rz("wheel"), vt.body("disc", 1.0, inertia=(1, 1, 1)))
    tree.world.add(vt.tx("valve"), vt.body("stem", 1.0))
    around = np.linspace(0, 2 * np.pi, 25)
    tree.constrain(vt.Cam("valve", "wheel", around, 0.1 * np.cos(around), periodic=True))
    model = tree.compile()
    for turns in (-30, -1, 1, 11, 1000):
        near, far = (model._constraint_rows(np.array([[0.7 + 2 * np.pi * k, 0.0]])) for k in (0, turns))
        assert all(np.allclose(a, b, rtol=0, atol=1e-12) for a, b in zip(near, far, strict=True))
