"""Constraints: derivatives, the closed chain and the scissor lift of Johnson & Murphey, bad input."""

from __future__ import annotations

import json
import pathlib
from dataclasses import replace

import numpy as np
import pytest
from random_models import random_flat, random_state

import vitree as vt
from vitree._core import WIDTHS, _cpu, lanes

REFERENCE = json.loads((pathlib.Path(__file__).parent / "data" / "closed_chain_and_scissor.json").read_text())
BOTH = [(1, 0, 0), (0, 0, 1)]


def closed_chain():
    """The device of the paper's Fig. 6 and Listing 1."""
    tree = vt.Tree("closed chain")
    arm = tree.world.add(vt.ry("J"))
    arm.add(vt.tz(-0.5), vt.body("I", 1.0))
    arm = arm.add(vt.tz(-1.0), vt.ry("H"))
    arm.add(vt.tz(-1.0), vt.body("G", 1.0))
    arm.add(vt.tz(-2.0), vt.frame("O2"))
    arm = tree.world.add(vt.tx(-1.5), vt.ry("K"))
    arm.add(vt.tz(-1.0), vt.body("L", 1.0))
    arm = arm.add(vt.tz(-2.0), vt.ry("M"))
    arm.add(vt.tz(-0.5), vt.body("N", 1.0))
    arm.add(vt.tz(-1.0), vt.frame("O"))
    arm = tree.world.add(vt.tx(1.5), vt.ry("A"))
    arm.add(vt.tz(-1.0), vt.body("B", 1.0))
    arm = arm.add(vt.tz(-2.0), vt.ry("C"))
    arm.add(vt.tz(-0.375), vt.body("D", 1.0))
    arm = arm.add(vt.tz(-0.75), vt.ry("E"))
    arm.add(vt.tz(-0.5), vt.body("F", 1.0))
    arm.add(vt.tz(-1.0), vt.frame("G2"))
    tree.constrain(vt.point_constraint("G", "G2", BOTH), vt.point_constraint("O", "O2", BOTH))
    return tree.compile()


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
        assert np.abs(model.constraint_rows(run.q)[0]).max() < 1e-11
    orders = np.polyfit(np.log(steps), np.log(errors), 1)[0]
    assert np.abs(orders - 2).max() < 0.05


def test_the_closed_chain_holds_for_two_minutes():
    model = closed_chain()
    run = vt.simulate(model, REFERENCE["closed_chain"]["q0"], duration=120.0, dt=0.01, method="midpoint")
    h, Dh = model.constraint_rows(run.q)
    assert np.abs(h).max() <= 1e-11
    assert np.abs(run.energy - run.energy[0]).max() < 1.0
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
        assert np.abs(model.constraint_rows(run.q)[0]).max() <= 1e-12
        if dt == 0.01:
            assert np.abs(theta - case["vi_theta"]).max() < 1e-6
    clear = np.abs(errors[1]) > 1e-4
    if clear.any():  # from pi/4 with inertia nearly all integer times are turning points
        assert np.abs(errors[0][clear] / errors[1][clear] - 4).max() < 0.15


def test_eight_segments_run():
    model, q0 = scissor(8, 1 / 12, 1.0)
    run = vt.simulate(model, q0, duration=10.0, dt=0.01, method="midpoint")
    assert len(run) == 1001 and np.abs(model.constraint_rows(run.q)[0]).max() < 1e-11


# ---- derivatives ------------------------------------------------------------------------------------


def constrained(seed):
    """A random tree of every joint kind with constraints of every kind between its frames."""
    rng = np.random.default_rng(seed)
    kinds = ("revolute", "prismatic", "helical", "ball", "free")
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
    _, Dh = model.constraint_rows(q[None])
    step = 1e-4
    for k in range(model.nv):
        d = np.zeros(model.nv)
        d[k] = step
        h = [model.constraint_rows(model.integrate(q, s * d)[None])[0][0] for s in (-2, -1, 1, 2)]
        slope = (h[0] - 8 * h[1] + 8 * h[2] - h[3]) / (12 * step)
        assert np.abs(slope - Dh[0, :, k]).max() < 1e-10 * max(1.0, np.abs(Dh).max())


@pytest.mark.parametrize("width", [w for w in WIDTHS[1:] if _cpu.runs(w)])
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
    assert np.abs(model.constraint_rows(q[None])[0]).max() <= 1e-12
    assert q[0] == q0[0] and q[4] == q0[4]
    with pytest.raises(vt.ConvergenceError, match="off by"):
        vt.satisfy_constraints(model, rough, hold=list(model.joint_names))


def test_project_velocity():
    model = closed_chain()
    q = np.array(REFERENCE["closed_chain"]["q0"])
    v = model.project_velocity(q, np.ones(7))
    _, Dh = model.constraint_rows(q[None])
    assert np.abs(Dh[0] @ v).max() < 1e-12
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


def test_methods_that_hold_no_constraints_refuse():
    model = closed_chain()
    for method, kind in vt.METHODS.items():
        if not kind.holds_constraints:
            with pytest.raises(vt.InputError, match="does not take constraints"):
                vt.simulate(model, REFERENCE["closed_chain"]["q0"], duration=0.1, dt=0.01, method=method)


def test_dependent_constraints_are_named():
    tree = vt.Tree("two arms")
    for side, x in (("a", 0.0), ("b", 1.0)):
        tree.world.add(vt.tx(x), vt.ry(f"{side}1"), vt.tz(-1.0), vt.body(f"{side}", 1.0), vt.ry(f"{side}2"),
                       vt.tz(-1.0), vt.body(f"{side}_tip", 1.0))  # fmt: skip
    x = (1, 0, 0)
    tree.constrain(vt.PointConstraint("a", "b", x, offset=-1.0), vt.PointConstraint("b", "a", x, offset=1.0))
    with pytest.raises(vt.InputError, match=r'depend on each other.*"a" - "b".*"b" - "a"'):
        vt.simulate(tree.compile(), duration=0.1, dt=0.01, method="midpoint")


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
