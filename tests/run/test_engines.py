"""Rows of MuJoCo and Pinocchio in compare(): the same mechanism, by other programs."""

from __future__ import annotations

import json
import sys
from dataclasses import replace

import numpy as np
import pytest
from random_models import random_flat

import vitree as vt
from vitree.cli import main
from vitree.engines.mujoco import States, mujoco_model

pytest.importorskip("mujoco")
pytest.importorskip("pinocchio")
BOTH = ["mujoco", "pinocchio"]
ORDERS = {"mujoco euler": 1, "mujoco implicitfast": 1, "mujoco rk4": 4, "pinocchio semi-implicit-euler": 1,
          "pinocchio rk4": 4}  # fmt: skip


def arm() -> vt.Tree:
    """A hinge, a slide and a massless body between two hinges; with damping, armature and a spring."""
    tree = vt.Tree("arm", gravity=(1.0, 0.0, -9.0))
    at = tree.world.add(vt.ry("a", damping=0.3, armature=0.1), vt.tz(-0.5), vt.body("u", 1.0, (0.1, 0.1, 0.02)))
    at = at.add(vt.rx(0.4), vt.tz("d", damping=0.2), vt.body("m", 0.6, (0.02, 0.03, 0.02)))
    at.add(vt.universal("w"), vt.tz(-0.3), vt.body("l", 0.8, (0.05, 0.04, 0.02), com=(0.1, 0, 0)))
    tree.load(vt.JointSpring("d", 30.0, 0.1), vt.JointSpring("d", 10.0, -0.2))
    return tree


@pytest.mark.parametrize("restitution", [0.2, 0.5, 0.9])
def test_a_contact_that_rebounds_is_a_damped_spring_of_mujoco(restitution):
    """Of its half oscillation the speed comes back by exp(-pi z/sqrt(1 - z^2)), z the damping ratio."""
    tree = vt.Tree("ball")
    tree.world.add(vt.tz("z"), vt.body("ball", 1.0, (0.1, 0.1, 0.1)))
    tree.contact(vt.Ground(restitution=restitution), vt.Contact("ball", shapes=vt.Sphere(0.1)))
    made = mujoco_model(tree.compile(), 1e-3)
    ((stiffness, damping),) = {
        tuple(row) for row in made.geom_solref.tolist() + made.pair_solref.tolist() if row[0] < 0
    }
    assert damping < 0  # both: MuJoCo takes them as they are then
    ratio = -damping / (2 * np.sqrt(-stiffness))
    assert np.exp(-np.pi * ratio / np.sqrt(1 - ratio**2)) == pytest.approx(restitution, rel=1e-9)


def orders_of(found: vt.Comparison) -> dict[str, float]:
    assert all(row["status"] == "ok" for row in found.table), found
    return found.orders


def start_of(model, seed=0):
    rng = np.random.default_rng(seed)
    return model.integrate(model.neutral(), 0.5 * rng.standard_normal(model.nv)), 0.5 * rng.standard_normal(model.nv)


def random_model(seed, bodies):
    rng = np.random.default_rng(seed)
    kinds, base = ("revolute", "prismatic", "ball"), ("fixed", "free")[seed % 2]
    flat = random_flat(rng, bodies, kinds, base, massless=True, damping=True)
    damping = flat.damping.copy()
    damping[: 6 * (base == "free")] = 0.1  # MuJoCo's is in world axes: it has one for all directions
    return vt.Model(replace(flat, damping=damping))


def push(t, q, v):
    return np.array([np.sin(9 * t), -0.3 * v[1], 0.2 * np.cos(q[2]), 0.1])


CASES = {
    "plain": ({}, {}),
    "constant torque": ({}, {"control": [0.3, 0.1, -0.2, 0.1]}),
    "torque of time and state": ({}, {"control": push}),
    "friction": ({"friction": 0.4, "friction_velocity": 2.0}, {}),
    "drives": ({}, {"control": vt.Control(targets=[0.5, -0.3])}),
    "inputs": ({}, {"control": vt.Control(inputs={"motor": 0.7})}),
}


@pytest.mark.parametrize("case", CASES)
def test_engines_converge_to_our_reference(case):
    """The error against gauss falls as dt, and as dt^4 of rk4: the physics is the same."""
    more, given = CASES[case]
    tree = arm()
    if more:
        tree.frame("l").add(vt.rx("end", **more), vt.body("e", 0.3, (0.02, 0.02, 0.02), com=(0, 0.1, 0)))
    if case == "inputs":
        tree.load(vt.JointForce("a", "motor"), vt.JointForce("d", 0.2))
    model = tree.compile()
    if case == "drives":
        model = model.with_drives({"a": (20, 2), "d": (50, 1)})
    q, v = start_of(model)
    found = vt.compare(model, ["rk4"], q, v, duration=0.2, dt=[0.01, 0.005], engines=BOTH, **given)
    for label, order in orders_of(found).items():
        assert order == pytest.approx(ORDERS.get(label, 4), abs=0.35), label
    least = {row["label"]: row["error"] for row in found.table if row["dt"] == 0.005}
    # the same method in three programs: the same error
    assert least["mujoco rk4"] == pytest.approx(least["rk4"], rel=0.02)
    assert least["pinocchio rk4"] == pytest.approx(least["rk4"], rel=0.02)
    assert least["mujoco implicitfast"] < 0.1


@pytest.mark.parametrize("seed", range(4))
def test_every_kind_of_joint(seed):
    """The rk4 of both is of order 4, for balls and free joints as well."""
    model = random_model(seed, 4)
    q, v = start_of(model, seed)
    found = vt.compare(model, ["rk4"], q, v, duration=0.1, dt=[5e-3, 2.5e-3], engines=["mujoco:rk4", "pinocchio:rk4"])
    orders = orders_of(found)
    assert orders["pinocchio rk4"] > 3.6
    assert orders["mujoco rk4"] > 3.6


def test_a_screw_turns_in_pinocchio_and_not_in_mujoco():
    tree = vt.Tree("screw")
    tree.world.add(vt.helical("s", (0, 1, 1), pitch=0.2), vt.body("b", 1.0, (0.1, 0.2, 0.3), com=(0.1, 0, 0)))
    found = vt.compare(tree.compile(), ["rk4"], [0.1], [1.0], duration=0.1, dt=[0.01, 0.005], engines=BOTH)
    rows = {row["label"]: row for row in found.table}
    assert rows["pinocchio rk4"]["order"] == pytest.approx(4, abs=0.3)
    assert rows["mujoco rk4"]["status"] == "not simulated" and "helical" in rows["mujoco rk4"]["reason"]


def test_drives_are_cut_at_their_limits():
    model = arm().compile().with_drives({"a": {"kp": 300, "kd": 1, "effort_limit": 1.5, "gear": 2.0}})
    q, v = start_of(model)
    given = {"duration": 0.1, "dt": 1e-3, "control": vt.Control(targets=[2.0])}
    found = vt.compare(model, ["rk4"], q, v, engines=["mujoco:rk4", "pinocchio:rk4"], **given)
    for row in found.table:
        assert row["status"] == "ok" and row["error"] < 1e-7
    assert abs(model.drive_forces(q, v, inputs=[2.0])[0]) == 3.0


def test_momentum_is_that_of_the_methods():
    """In flight all programs have the momentum of the start; their rows say how far they depart."""
    tree = vt.Tree("flight", gravity=(0, 0, -9.81))
    base = tree.world.add(vt.free("base"), vt.body("b", 2.0, (0.1, 0.2, 0.15)))
    base.add(vt.tx(0.3), vt.ry("leg"), vt.body("l", 1.0, (0.1, 0.1, 0.01), com=(0, 0, -0.2)))
    model = tree.compile()
    q, v = start_of(model)
    found = vt.compare(model, ["linear-time"], q, v, duration=0.2, dt=1e-3, engines=BOTH)
    for row in found.table:
        assert row["momentum_error"] < (1e-12 if row["label"] == "linear-time" else 0.05), row["label"]
        assert row["us_per_step"] > 0
    assert found.reference is not None and "Pinocchio: its accelerations" in str(found)
    traj = found.trajectories["mujoco rk4", 1e-3]
    assert traj.method == "mujoco rk4" and len(traj) == 201 and traj.settings["engine"] == "mujoco"
    assert set(json.loads(found.to_json())["settings"]["engines"]) == set(ORDERS)


@pytest.mark.parametrize("seed", range(3))
def test_the_model_of_mujoco_has_our_numbers(seed):
    """Mass matrix and accelerations, for bodies without mass as well."""
    import mujoco

    model = random_model(seed, 6)
    theirs, way = mujoco_model(model, 1e-3), States(model)
    data, M = mujoco.MjData(theirs), np.zeros((model.nv, model.nv))
    for k in range(3):
        q, v = start_of(model, k)
        data.qpos[:], data.qvel[:] = way.to_mujoco(q, v)
        mujoco.mj_forward(theirs, data)
        for column, unit in zip(M, np.eye(model.nv), strict=True):
            mujoco.mj_mulM(theirs, data, column, unit)
        J = np.array([way.to_mujoco(q, e)[1] for e in np.eye(model.nv)]).T
        np.testing.assert_allclose(J.T @ M @ J, model.crba(q), rtol=0, atol=1e-12)


# ---- what they cannot do -----------------------------------------------------------------------------------


def _loop():
    tree = arm()
    tree.constrain(vt.PointConstraint("world", "l", (1, 0, 0)))
    return tree


def _dry():
    tree = arm()
    tree.frame("l").add(vt.rx("end", dry_friction=0.1), vt.body("e", 0.3, (0.02, 0.02, 0.02)))
    return tree


def _limited():
    tree = arm()
    tree.frame("l").add(vt.rx("end", effort=5.0), vt.body("e", 0.3, (0.02, 0.02, 0.02)))
    return tree


def _geared():
    tree = arm()
    tree.world.add(vt.tx(1), vt.ry("g"), vt.body("e", 0.3, (0.02, 0.02, 0.02)))
    tree.constrain(vt.gear("g", "a", 2.0))
    return tree


def _sprung():
    tree = arm()
    tree.load(vt.Spring("world", "l", 3.0))
    return tree


@pytest.mark.parametrize(("made", "given", "words"), [
    (_loop, {}, "constraint"), (_dry, {}, "dry friction"), (_sprung, {}, 'the spring "world" - "l"'),
    (lambda: _geared().compile().reduced(), {}, "joints that follow others"),
    (arm, {"wrenches": [vt.ExternalWrench("l", (1, 0, 0))]}, "the argument wrenches"),
    (arm, {"control": vt.Controller(lambda t, q, v: np.zeros(4), period=0.01)}, "controllers"),
    (_limited, {"control": vt.Control(effort_limits=True, torque=[0.1] * 5)}, "effort_limits"),
])  # fmt: skip
def test_what_no_engine_simulates_is_said(made, given, words):
    system = made()
    model = system.compile() if isinstance(system, vt.Tree) else system
    q = vt.satisfy_constraints(model, model.neutral()) if model.constraints else model.neutral()
    found = vt.compare(model, ["linear-time"], q, duration=0.02, dt=1e-2, reference=False, engines=BOTH, **given)
    rows = [row for row in found.table if row["label"] in ORDERS]
    assert len(rows) == 5 and {row["status"] for row in rows} == {"not simulated"}
    assert all(words in row["reason"] for row in rows)
    assert f"Not simulated by mujoco: {rows[0]['reason']}." in found.notes
    assert not any(note.startswith("Failed") for note in found.notes)
    assert "not simulated" in str(found) and found.table[0]["status"] == "ok"


def test_contacts_are_simulated_by_mujoco_only():
    tree = vt.Tree("ball")
    tree.world.add(vt.free("f"), vt.body("b", 1.0, (0.004,) * 3))
    tree.contact(vt.Ground(), vt.Contact("b", shapes=[vt.Sphere(0.1)]))
    model = tree.compile()
    found = vt.compare(model, ["linear-time"], [0, 0, 0.101, 0, 0, 0, 1], duration=0.5, dt=2e-3, reference=False,
                       engines=BOTH)  # fmt: skip
    rows = {row["label"]: row["status"] for row in found.table}
    assert rows["mujoco implicitfast"] == "ok" and rows["pinocchio rk4"] == "not simulated"
    ends = {key[0]: run.q[-1, 2] for key, run in found.trajectories.items()}
    assert ends["linear-time"] == pytest.approx(0.1, abs=1e-9)
    assert ends["mujoco implicitfast"] == pytest.approx(0.1, abs=2e-3)


CORNERS = np.array([(x, y, z) for x in (-0.1, 0.1) for y in (-0.1, 0.1) for z in (-0.1, 0.1)])
SHAPES = [vt.Sphere(0.1), vt.Capsule(0.1, 0.1), vt.Box((0.2, 0.3, 0.2)), vt.Cylinder(0.1, 0.2), vt.Cone(0.1, 0.2),
          vt.Ellipsoid((0.15, 0.12, 0.1)), vt.Hull(CORNERS * (1.0, 1.0, 0.5))]  # fmt: skip


@pytest.mark.parametrize("a", SHAPES, ids=lambda x: type(x).__name__)
@pytest.mark.parametrize("b", SHAPES, ids=lambda x: type(x).__name__)
def test_shapes_fall_on_each_other_and_on_the_ground_as_in_mujoco(a, b):
    tree = vt.Tree("pile")
    for name, height, shape in (("low", 0.2, a), ("high", 0.55, b)):
        tree.world.add(vt.tz(height), vt.tz(name), vt.body(name, 1.0, (0.01,) * 3))
        tree.contact(vt.Contact(name, shapes=[shape]))
    tree.contact(vt.Ground(0.02))
    found = vt.compare(tree.compile(), ["linear-time"], [0.0, 0.0], duration=0.4, dt=2e-3, reference=False,
                       engines=["mujoco"])  # fmt: skip
    ends = {key[0]: run.q[-1] for key, run in found.trajectories.items()}
    np.testing.assert_allclose(ends["mujoco implicitfast"], ends["linear-time"], atol=4e-3)
    assert (ends["linear-time"] < -0.02).all()


@pytest.mark.parametrize("seed", range(6))
def test_pairs_of_mujoco_are_those_of_vitree(seed):
    """Also where they overlap at neutral, and with pairs that are left out."""
    rng = np.random.default_rng(seed)
    tree = vt.Tree("many")
    at = tree.world
    for k in range(5):
        at = at if k % 2 else tree.world
        at = at.add(vt.tz(1.0 + 0.3 * k), vt.rx(f"j{k}"), vt.tz(0.2), vt.body(f"b{k}", 1.0, (0.01,) * 3))
        shapes = [replace(SHAPES[i], position=0.1 * rng.normal(size=3)) for i in rng.integers(len(SHAPES), size=2)]
        tree.contact(vt.Contact(f"b{k}", points=CORNERS[:2], radius=0.05 * (k % 3), shapes=shapes, friction=0.1 * k))
    tree.contact(vt.NoContact("b0", "b3"), vt.Contact("world", shapes=[SHAPES[seed]]), vt.Ground(
        planes=[((1, 0, 0), -9)]))  # fmt: skip
    model = tree.compile()
    made, gaps = mujoco_model(model, 1e-3), model.contact_gaps(model.neutral())
    names = ["world", *(f"b{k}" for k in range(5))]
    name = lambda geom: "ground" if made.geom_type[geom] == 0 else names[made.geom_bodyid[geom]]  # noqa: E731
    theirs = {frozenset(map(name, (one, other))) for one, other in zip(made.pair_geom1, made.pair_geom2, strict=True)}
    assert theirs == {frozenset(pair) for pair in zip(gaps.a, gaps.b, strict=True)}
    assert frozenset(("b0", "b3")) not in theirs and not (made.geom_contype | made.geom_conaffinity).any()
    # of pairs of bodies the larger friction
    for one, other, friction in zip(made.pair_geom1, made.pair_geom2, made.pair_friction, strict=True):
        of = [0.1 * int(x[1]) for x in (name(one), name(other)) if x[0] == "b"]
        assert friction[0] == pytest.approx(max([*of, *[0.8] * (name(one) == name(other) == "world")]))


def test_a_hilly_ground_is_not_simulated_by_mujoco():
    tree = vt.Tree("ball")
    tree.world.add(vt.tz("z"), vt.body("b", 1.0, (0.1,) * 3))
    tree.contact(vt.Ground(terrain=vt.HeightField(np.zeros((3, 3)))), vt.Contact("b", shapes=[vt.Sphere(0.1)]))
    with pytest.raises(NotImplementedError, match="height fields"):
        mujoco_model(tree.compile(), 1e-3)


def test_dry_friction_is_not_simulated():
    tree = vt.Tree("slider")
    tree.world.add(vt.tx("slide", dry_friction=1.0), vt.body("block", 1.0))
    found = vt.compare(tree.compile(), ["linear-time"], [0.0], [1.0], duration=0.1, dt=0.01, engines=BOTH)
    assert [row["status"] for row in found.table] == ["ok", *["not simulated"] * (len(found.table) - 1)]
    assert "dry friction" in str(found) and found.reference.method == "linear-time"


def held(kind, restitution=0.0):
    """What falls on a limit, or is caught by a rope, off its middle, or turns to a limit; and its start."""
    tree = vt.Tree(kind, gravity=(0.0, 0.0, -9.81))
    if kind == "limit":
        tree.limits = "enforce"
        tree.world.add(vt.tz("z", lower=0.0, limit_restitution=restitution), vt.body("b", 1.3))
        return tree, [0.5], [0.0]
    if kind == "hinge":
        tree.limits = "enforce"
        tree.world.add(vt.ry("a", lower=-0.4, upper=0.3, limit_restitution=restitution), vt.tx(0.3), vt.body("b", 1.3))
        return tree, [0.0], [0.0]
    if kind == "rope":
        tree.world.add(vt.tx("x"), vt.tz("z"), vt.ry("a"), vt.body("b", 1.0, (0.02, 0.02, 0.02)))
        points = [("world", (0.0, 0.0, 0.1)), ("b", (0.1, 0.0, 0.05))]
        tree.constrain(vt.Rope(points, 1.0, restitution=restitution))
        return tree, [0.2, -0.4, 0.0], [0.5, 0.0, 0.0]
    tree.world.add(vt.ball("joint"), vt.body("b", 1.0, (0.1, 0.1, 0.1), com=(0.0, 0.2, 0.1)))
    tree.constrain(vt.BallLimit("joint", angle=0.4, restitution=restitution))
    return tree, [0.0, 0.0, 0.0, 1.0], [0.0, 0.0, 0.5]


def beyond(kind, model, run):
    """How far a run is beyond its limit at its records [m or rad]."""
    if kind == "limit":
        return -run.q[:, 0]
    if kind == "hinge":
        return run.q[:, 0] - 0.3
    if kind == "ball":
        return 2.0 * np.arcsin(np.linalg.norm(run.q[:, :3], axis=1)) - 0.4
    ends = np.array([model.frame_pose("b", q) @ [0.1, 0.0, 0.05, 1.0] for q in run.q])
    return np.linalg.norm(ends[:, :3] - [0.0, 0.0, 0.1], axis=1) - 1.0


@pytest.mark.parametrize("kind", ["limit", "hinge", "rope", "ball"])
def test_limits_and_ropes_of_mujoco_are_soft_and_yield_less_at_shorter_steps(kind):
    """By at most the way of some steps, and where they carry a weight by less and less."""
    tree, q, v = held(kind)
    model, steps = tree.compile(), [4e-3, 1e-3, 2.5e-4]
    found = vt.compare(model, ["linear-time"], q, v, duration=0.6, dt=steps, engines=["mujoco:implicitfast"])
    assert all(row["status"] == "ok" for row in found.table), found
    ours, theirs = ([beyond(kind, model, found.trajectories[label, dt]) for dt in steps]
                    for label in ("linear-time", "mujoco implicitfast"))  # fmt: skip
    for dt, rigid, soft in zip(steps, ours, theirs, strict=True):
        assert -1e-9 < rigid.max() < 1e-9  # it has come to its limit
        assert 1e-7 < soft.max() < 5.0 * dt
    carried = [soft[-20:].mean() for soft in theirs]
    assert np.all(np.abs(carried[1:]) < 0.3 * np.abs(carried[:-1]))


def test_a_limit_of_mujoco_gives_back_a_share_of_the_speed():
    """By a damped spring whose half oscillation takes ten steps: near the share, and not exactly, at any step."""
    tree, q, v = held("limit", 0.6)
    found = vt.compare(tree.compile(), ["linear-time"], q, v, duration=0.7, dt=5e-4, engines=["mujoco:implicitfast"])
    tops = [run.q[run.t > 0.32, 0].max() for run in found.trajectories.values()]
    assert tops[0] == pytest.approx(0.5 * 0.6**2, rel=0.01)
    assert np.sqrt(tops[1] / 0.5) == pytest.approx(0.6, rel=0.12)


def test_limits_that_mujoco_has_not_are_named():
    def refused(tree):
        found = vt.compare(tree.compile(), ["linear-time"], duration=0.02, dt=1e-2, reference=False, engines=BOTH,
                           q0=q, v0=v)  # fmt: skip
        assert {row["status"] for row in found.table[1:]} == {"not simulated"}
        return found.table[1]["reason"]

    tree, q, v = held("limit")
    tree.velocity_limits = "enforce"
    assert refused(tree) == "velocity limits that are enforced"
    tree, q, v = held("ball")
    tree.constrain(vt.BallLimit("joint", swing=1.0))
    assert refused(tree) == 'the limit of ball joint "joint", of swing or twist'
    tree, q, v = held("rope")
    tree.constrain(vt.Rope(["world", "b"], 2.0, stiffness=1e3))
    assert refused(tree) == 'the rope "world" - "b", which is elastic or runs around pulleys'


def test_a_state_that_blows_up_is_a_failed_row():
    tree = vt.Tree("stiff")
    tree.world.add(vt.tx("x"), vt.body("b", 1e-3))
    tree.load(vt.JointSpring("x", 1e6))
    engines = ["mujoco:euler", "pinocchio"]
    found = vt.compare(tree.compile(), ["midpoint"], [0.1], duration=1.0, dt=0.01, engines=engines)
    assert [row["status"] for row in found.table] == ["ok", "failed", "failed", "failed"]
    assert "blows up" in str(found)


def test_a_step_that_is_chosen_is_theirs_too():
    model = arm().compile()
    found = vt.compare(model, ["linear-time"], *start_of(model), duration=0.1, dt="auto", engines=["mujoco:rk4"])
    ours, theirs = found.table
    assert theirs["dt"] == ours["dt"]


@pytest.mark.parametrize(("engines", "kind", "words"), [
    ("bullet", vt.UnknownNameError, 'no engine "bullet"; choose from mujoco, pinocchio'),
    (["mujoco:rk5"], vt.UnknownNameError, "rk4"), ([3], vt.InputError, "names of engines"),
    (3, vt.InputError, "engines"),
])  # fmt: skip
def test_wrong_engines(engines, kind, words):
    with pytest.raises(kind, match=words):
        vt.compare(arm().compile(), ["rk4"], np.zeros(4), duration=0.1, dt=0.01, engines=engines)


@pytest.mark.parametrize(("name", "module"), [("mujoco", "mujoco"), ("pinocchio", "pinocchio")])
def test_the_missing_package_is_named(monkeypatch, name, module):
    monkeypatch.setitem(sys.modules, module, None)
    with pytest.raises(vt.MissingExtraError, match=r"vitree\[engines\]"):
        vt.compare(arm().compile(), ["rk4"], np.zeros(4), duration=0.1, dt=0.01, engines=[name])


# ---- loops -------------------------------------------------------------------------------------------------


def loop(kind):
    """Two arms from the world whose ends are held together, or one whose end is held to the world."""
    tree = vt.Tree(kind)
    if kind == "gear":
        for name, mass in (("a", 1.0), ("b", 0.5)):
            tree.world.add(vt.ry(name), vt.tz(-0.5), vt.body(f"{name} bob", mass, (0.02, 0.02, 0.01)))
        tree.constrain(vt.gear("a", "b", -0.5, 0.1))
        return tree.compile(), ("a",)
    joints = {"planar": vt.ry, "point": vt.spherical, "hinge": vt.spherical}
    left = tree.world.add(vt.ry("l0"), vt.tx(0.5), vt.body("l", 1.0, (0.02, 0.03, 0.03)), vt.tx(0.5))
    right = tree.world.add(vt.tx(1.2), vt.ry("r0"), vt.tx(0.4), vt.body("r", 0.7, (0.01, 0.02, 0.02)), vt.tx(0.4))
    left = left.add(joints[kind]("l1"), vt.tx(0.3), vt.body("m", 0.4, (0.01, 0.01, 0.01)), vt.tx(0.3))
    left.add(vt.frame("one"))
    right.add(vt.frame("other"))
    tree.constrain({
        "planar": lambda: vt.point_constraint("one", "other", [(1, 0, 0), (0, 0, 1)]),
        "point": lambda: vt.point_constraint("one", "other"),
        "hinge": lambda: vt.joint_constraints("revolute", "one", "other", (0, 1, 0)),
    }[kind]())  # fmt: skip
    return tree.compile(), ("l0",)


@pytest.mark.parametrize("kind", ["planar", "point", "hinge", "gear"])
def test_loops_of_mujoco_are_soft_and_approach_ours(kind):
    model, hold = loop(kind)
    q = vt.satisfy_constraints(model, model.integrate(model.neutral(), np.full(model.nv, 0.4)), hold=hold)
    found = vt.compare(model, ["linear-time"], q, duration=0.4, dt=[2e-3, 5e-4], engines=["mujoco:implicitfast"])
    assert all(row["status"] == "ok" for row in found.table), found
    ours, theirs = found.table[1], found.table[2:]
    assert ours["constraint_error"] < 1e-12 < 1e-8 < theirs[1]["constraint_error"] < theirs[0]["constraint_error"]
    assert theirs[1]["error"] < 0.5 * theirs[0]["error"] < 0.1
    assert "contacts and constraints are soft" in str(found)


X = np.linspace(-2.0, 2.0, 9)
CAMS = {"cam": 0.1 + 0.3 * X - 0.2 * X**2 + 0.05 * X**3, "lobes": 0.1 * np.sin(3 * X)}


def follower(kind):
    """Two links whose end is tied to a peg by a rod, or by a string as long as a coordinate; or a cam."""
    tree = vt.Tree(kind)
    at = tree.world.add(vt.ry("a"), vt.tz(-0.5), vt.body("bob", 1.0, (0.02, 0.02, 0.01)))
    if kind in CAMS or kind == "wheel":
        tree.world.add(vt.tx("b"), vt.body("weight", 0.5))
        wheel = {"positions": (-np.pi, 0.0, np.pi), "profile": (0.1, 0.2, 0.1), "periodic": True}
        tree.constrain(vt.Cam("b", "a", **wheel) if kind == "wheel" else vt.Cam("b", "a", X, CAMS[kind]))
        return tree.compile(), ("a",)
    at.add(vt.ry("b"), vt.tz(-0.5), vt.body("low", 0.5, (0.02, 0.02, 0.01)), vt.frame("hook"))
    tree.world.add(vt.tx(0.7), vt.frame("peg"))
    if kind == "string":
        tree.world.add(vt.tx(2.0), vt.tz("let out"), vt.body("weight", 0.8))
    tree.constrain(vt.Distance("peg", "hook", "let out" if kind == "string" else 0.9))
    return tree.compile(), ("a", "b")[: 1 + (kind == "string")]


@pytest.mark.parametrize("kind", ["rod", "string", "cam"])
def test_distances_and_cams_of_mujoco_converge_to_ours(kind):
    """By tendons and polynomials; of the order of its method, 2 at most, since the stiffness goes with dt^-2."""
    model, hold = follower(kind)
    q = vt.satisfy_constraints(model, model.integrate(model.neutral(), np.full(model.nv, 0.4)), hold=hold)
    engines = ["mujoco:implicitfast", "mujoco:rk4"]
    found = vt.compare(model, ["linear-time"], q, duration=0.4, dt=[2e-3, 1e-3, 5e-4], engines=engines)
    assert found.orders["mujoco implicitfast"] == pytest.approx(1, abs=0.05)
    assert found.orders["mujoco rk4"] == pytest.approx(2, abs=0.05)
    least = [row for row in found.table if row["label"] == "mujoco rk4"][-1]
    assert least["error"] < 1e-5 and least["constraint_error"] < 1e-5


@pytest.mark.parametrize(("kind", "words"), [("lobes", "is off by 0"), ("wheel", "repeats")])
def test_profiles_that_are_no_polynomials_are_named(kind, words):
    model, _ = follower(kind)
    with pytest.raises(NotImplementedError, match=f'the constraint cam "b" by "a": MuJoCo has poly.* profile {words}'):
        mujoco_model(model, 1e-3)


def test_constraints_that_mujoco_has_not_are_named():
    tree = vt.Tree("rail")
    pin = tree.world.add(vt.ry("crank"), vt.tz(-0.3), vt.body("pin", 1.0))
    pin.add(vt.ry("rod"), vt.tz(-0.8), vt.body("end", 1.0))
    tree.constrain(vt.PointConstraint("world", "end", axis=(1, 0, 0), label="rail"))
    model = tree.compile()
    q = vt.satisfy_constraints(model, [0.5, -0.2], hold=["crank"])
    found = vt.compare(model, ["linear-time"], q, duration=0.1, dt=0.01, engines=BOTH)
    assert [row["status"] for row in found.table] == ["ok", *["not simulated"] * 5]
    assert "the constraint rail" in str(found) and "Not simulated by pinocchio: constraints" in str(found)


# ---- the command line --------------------------------------------------------------------------------------

MJCF = """<mujoco model="swing"><worldbody><geom type="plane" size="1 1 1" pos="0 0 -2"/><body>
  <joint name="hinge" axis="0 1 0"/><geom type="capsule" size="0.05 0.2" pos="0 0 -0.3"/></body></worldbody>
  <actuator><motor name="motor" joint="hinge"/></actuator></mujoco>"""


def run(capsys, *words):
    code = main([str(word) for word in words])
    return code, capsys.readouterr()


def test_the_command_line_reads_mjcf_and_compares(tmp_path, capsys, monkeypatch):
    monkeypatch.chdir(tmp_path)
    path = tmp_path / "swing.xml"
    path.write_text(MJCF)
    code, told = run(capsys, "compare", path, "-T", 0.1, "--dt", "0.01,0.005", "--engines", "mujoco:rk4, pinocchio",
                     "--json", "--repeats", 1, "--plot", "c.png")  # fmt: skip
    rows = json.loads(told.out)["table"]
    assert code == 0 and {row["label"] for row in rows} >= {"linear-time", "mujoco rk4", "pinocchio rk4"}
    assert all(row["status"] == "ok" for row in rows) and (tmp_path / "c.png").stat().st_size > 1000
    code, told = run(capsys, "info", path, "--json")
    assert code == 0 and json.loads(told.out)["name"] == "swing"
    code, told = run(capsys, "simulate", path, "-T", 0.1, "--input", "motor=0.2", "--gravity", "0,0,0")
    assert code == 0
    assert not vt.Trajectory.load("run.npz").potential.any()
    code, told = run(capsys, "convert", path, "swing.sexpr")
    assert code == 0 and vt.load_sexpr("swing.sexpr").joint_names == ("hinge",)


def test_runs_of_the_command_line_start_within_limits_that_hold(tmp_path, capsys, monkeypatch):
    """Of a knee that cannot be straight; a start by numbers stays, and the error names the option."""
    monkeypatch.chdir(tmp_path)
    path = tmp_path / "knee.xml"
    path.write_text(MJCF.replace('name="hinge"', 'name="hinge" range="-90 -10"'))
    assert run(capsys, "simulate", path, "-T", 0.1, "--limits", "enforce")[0] == 0
    first = vt.Trajectory.load("run.npz").q[0]
    assert first == pytest.approx(np.deg2rad(-10)) and vt.from_mujoco(path).start == pytest.approx(first)
    code, told = run(capsys, "simulate", path, "-T", 0.1, "--limits", "enforce", "--q0", "0")
    assert code and "beyond its limits" in told.err and "take --limits report" in told.err


def test_the_command_line_checks_mjcf(tmp_path, capsys):
    good, bad = tmp_path / "good.xml", tmp_path / "bad.xml"
    good.write_text(MJCF.replace("<worldbody>", '<option density="3"/><worldbody>'))
    bad.write_text("<!-- no --><mujoco><no/></mujoco>")
    code, told = run(capsys, "check", good)
    assert code == 0 and f"{good}: warning mjcf-fluid: " in told.out
    assert run(capsys, "check", good, "--strict")[0] == 1
    code, told = run(capsys, "check", bad)
    assert code == 2 and f"{bad}: error mjcf-model: " in told.out
    code, told = run(capsys, "info", good, "--base", "free", "--root", "x")
    assert code and "--base, --root: " in told.err and "is MJCF" in told.err
    code, told = run(capsys, "fix", good, "-o", tmp_path / "x.urdf")
    assert code and "<mujoco>" in told.err


def test_a_urdf_with_a_mujoco_element_stays_a_urdf(tmp_path, capsys):
    from vitree.mjcf.files import is_mjcf

    path = tmp_path / "robot.xml"
    path.write_text("""<?xml version="1.0"?><!-- <mujoco> --><robot name="r"><mujoco><compiler/></mujoco>
        <link name="a"/><link name="b">
        <inertial><mass value="1"/><inertia ixx="1" iyy="1" izz="1" ixy="0" ixz="0" iyz="0"/></inertial>
        </link><joint name="j" type="continuous"><parent link="a"/><child link="b"/></joint></robot>""")
    assert not is_mjcf(path)
    assert run(capsys, "info", path)[0] == 0
    with pytest.raises(vt.UrdfError, match="load_mjcf reads MJCF"):
        vt.load_urdf(MJCF)
