"""Ropes that only pull: exact lengths, tensions of closed forms, impulses, and derivatives."""

from __future__ import annotations

import numpy as np
import pytest
from step_differences import compared

import vitree as vt

G = 9.81
METHODS = ("linear-time", "midpoint", "implicit-euler", "semi-implicit-euler", "rk4")


def bob(*more: object, mass: float = 2.0) -> vt.Tree:
    tree = vt.Tree("bob", gravity=(0, 0, -G))
    tree.world.add(vt.tx("x"), vt.tz("z"), vt.body("bob", mass))
    tree.constrain(*more)
    return tree


def atwood(m1: float, m2: float, length: float = 3.0, **options: object) -> vt.Model:
    """Two weights on slides of their own, and a rope over a fixed pulley."""
    tree = vt.Tree("atwood", gravity=(0, 0, -G))
    for name, x, mass in (("left", -0.2, m1), ("right", 0.2, m2)):
        tree.world.add(vt.tx(x), vt.tz(name), vt.body(f"{name} weight", mass))
        tree.world.add(vt.fixed(f"{name} pulley", (x, 0, 0)))
    tree.constrain(vt.Rope(["left weight", "left pulley", "right pulley", "right weight"], length + 0.4, **options))
    return tree.compile()


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("dt", [1e-2, 4e-3])
def test_length_at_nodes(method: str, dt: float) -> None:
    """A swinging bob flies, is caught and swings: the rope is never longer than it is."""
    model = bob(vt.Rope(["world", "bob"], 1.0)).compile()
    run = vt.simulate(model, [0.6, 0.3], v0=[0.4, 1.0], duration=2.0, dt=dt, method=method)
    length = np.linalg.norm(run.q, axis=1)
    assert length.max() < 1 + 1e-11
    assert length.min() < 0.8 and (np.abs(length[-10:] - 1) < 1e-11).any()
    assert (run.contacts.force[:, 0] > 0).all()


RODS = [("linear-time", 1e-11), ("midpoint", 1e-8), ("implicit-euler", 1e-8)]


@pytest.mark.parametrize(("method", "tolerance"), RODS)
def test_taut_rope_is_a_rod(method: str, tolerance: float) -> None:
    """As long as it pulls, a rope is a Distance constraint."""
    q0 = np.array([np.sin(1.0), -np.cos(1.0)])
    runs = [vt.simulate(bob(each).compile(), q0, duration=1.0, dt=5e-3, method=method)
            for each in (vt.Rope(["world", "bob"], 1.0), vt.Distance("world", "bob", 1.0))]  # fmt: skip
    assert np.abs(runs[0].q - runs[1].q).max() < tolerance
    assert np.abs(runs[0].v - runs[1].v).max() < 10 * tolerance


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize(("m1", "m2"), [(1.0, 3.0), (2.5, 0.5), (1.0, 1.0)])
def test_atwood(method: str, m1: float, m2: float) -> None:
    """Weights of two trees: a = g (m2 - m1)/(m1 + m2), T = 2 g m1 m2/(m1 + m2)."""
    dt, t = 1e-2, 0.5
    run = vt.simulate(atwood(m1, m2), [-1.5, -1.5], duration=t, dt=dt, method=method)
    a = G * (m2 - m1) / (m1 + m2)
    assert run.contacts.force[1:, 0] == pytest.approx(2 * G * m1 * m2 / (m1 + m2), rel=1e-9)
    assert np.abs(run.q.sum(axis=1) + 3.0).max() < 1e-12
    way = 0.5 * a * t**2 if "euler" not in method else None  # the Euler methods are of order 1
    if way is not None:
        assert run.q[-1] == pytest.approx([-1.5 + way, -1.5 - way], abs=1e-10)
    assert run.v[-1] == pytest.approx([a * t, -a * t], abs=1e-9)


def test_block_and_tackle() -> None:
    """Two parts of a rope carry a pulley that moves: T = m g/2 holds it, and its free end moves twice as far."""
    tree = vt.Tree("tackle", gravity=(0, 0, -G))
    tree.world.add(vt.tz("load"), vt.body("block", 8.0))
    tree.world.add(vt.fixed("eye", (0.1, 0, 0)))
    tree.world.add(vt.tx(0.3), vt.tz("end"), vt.body("counterweight", 4.0))
    tree.world.add(vt.fixed("pulley", (0.3, 0, 0)))
    tree.constrain(vt.Rope(["world", ("block", (0, 0, 0)), "world", "pulley", "counterweight"], 5.3, label="hoist"))
    model = tree.compile()
    run = vt.simulate(model, [-1.5, -2.0], duration=0.5, dt=1e-2)
    assert np.abs(run.q - [-1.5, -2.0]).max() < 1e-12
    assert run.contacts.force[1:, 0] == pytest.approx(4.0 * G, rel=1e-10)
    assert set(run.contacts.a) == {"hoist"} and set(run.contacts.b) == {"rope"}
    run = vt.simulate(model, [-1.5, -2.0], v0=[0.3, -0.6], duration=0.5, dt=1e-2)
    assert np.abs(2 * run.q[:, 0] + run.q[:, 1] + 5.0).max() < 1e-12
    assert run.v[-1] == pytest.approx([0.3, -0.6], abs=1e-10)


@pytest.mark.parametrize("restitution", [0.0, 0.3, 0.7, 1.0])
def test_impact(restitution: float) -> None:
    """A bob that flies freely loses (1 + e) of its speed along the rope when it becomes taut, and none across."""
    model = bob(vt.Rope(["world", "bob"], 1.0, restitution=restitution)).compile()
    v0 = np.array([2.0, 0.3])
    run = vt.simulate(model, [0.0, 0.0], v0=v0, duration=0.6, dt=1e-3, method="linear-time")
    k = int(run.contacts.record[0])
    x, v = run.q[k], run.v[min(k + 2, len(run) - 1)]
    t = run.t[k]
    n = x / np.linalg.norm(x)
    across = np.array([-n[1], n[0]])
    before = v0 - [0, G * t]
    assert np.linalg.norm(run.q, axis=1).max() < 1 + (1e-11 if restitution < 0.5 else 3e-3)
    assert n @ v == pytest.approx(-restitution * (n @ before), abs=4e-2)
    assert across @ v == pytest.approx(across @ before, abs=4e-2)


def free_pair(length: float = 0.8, **options: object) -> vt.Tree:
    """Two free bodies without gravity, tied by a rope at points beside their centres of mass."""
    tree = vt.Tree("pair", gravity=(0, 0, 0))
    for name, mass in (("a", 1.3), ("b", 0.7)):
        tree.world.add(vt.free(f"free {name}"), vt.body(name, mass, (0.02, 0.03, 0.04)))
    tree.constrain(vt.Rope([("a", (0.1, 0.05, 0)), ("b", (0, -0.1, 0.07))], length, **options))
    return tree


@pytest.mark.parametrize("method", ["linear-time", "midpoint"])
def test_momentum_of_free_bodies(method: str) -> None:
    """Free bodies that a rope ties keep momentum and angular momentum, and gain no energy."""
    model = free_pair().compile()
    rng = np.random.default_rng(3)
    q0 = model.neutral()
    q0[7] = 0.5
    v0 = rng.normal(size=model.nv)
    run = vt.simulate(model, q0, v0=v0, duration=1.5, dt=5e-3, method=method)
    assert np.abs(run.momentum - run.momentum[0]).max() < 1e-11
    assert len(run.contacts) > 5
    gaps = [model_gap(model, q) for q in run.q]
    assert min(gaps) > -1e-11
    assert np.diff(run.energy).max() < 3e-3 * run.energy[0]


def model_gap(model: vt.Model, q: np.ndarray) -> float:
    from vitree.model.contacts import unilateral_gaps

    return float(unilateral_gaps(model.full, q)[1].min())


@pytest.mark.parametrize("method", ["linear-time", "midpoint"])
def test_rope_through_a_chain(method: str) -> None:
    """A rope through several links of an arm with a ball joint: length exact, and tension along its derivative."""
    tree = vt.Tree("arm", gravity=(0, 0, -G))
    upper = tree.world.add(vt.ball("shoulder"), vt.tz(-0.5), vt.body("upper", 1.0, (0.02, 0.02, 0.01)))
    lower = upper.add(vt.ry("elbow"), vt.tz(-0.5), vt.body("lower", 1.0, (0.02, 0.02, 0.01)))
    lower.add(vt.rx("wrist"), vt.tz(-0.3), vt.body("hand", 0.3, (2e-3, 2e-3, 2e-3)))
    points = [("world", (0.6, 0.1, 0.2)), ("upper", (0.1, 0, 0.1)), "lower", ("hand", (0, 0.1, 0))]
    tree.constrain(vt.Rope(points, 1.72))
    model = tree.compile()
    run = vt.simulate(model, v0=[0.3, -2.0, 0.5, 1.0, -1.0], duration=1.5, dt=4e-3, method=method)
    assert min(model_gap(model, q) for q in run.q) > -1e-11
    assert len(run.contacts) > 20
    assert np.diff(run.energy).max() < 1e-2


def test_rows_are_derivatives() -> None:
    """Rows of ropes are the derivatives of the slack, by central differences."""
    from vitree.model.contacts import unilateral_gaps

    model = free_pair().compile()
    rng = np.random.default_rng(1)
    q = model.integrate(model.neutral(), rng.normal(size=model.nv))
    _, _, rows = unilateral_gaps(model, q)
    e = 1e-6
    for k, unit in enumerate(np.eye(model.nv)):
        up, down = (model_gap(model, model.integrate(q, s * e * unit)) for s in (1, -1))
        assert rows[0, k] == pytest.approx((up - down) / (2 * e), abs=1e-8)


def test_elastic_rope() -> None:
    """With a stiffness it is a spring that only pulls: the static stretch is m g/k."""
    model = bob(vt.Rope(["world", "bob"], 1.0, stiffness=500.0)).compile()
    rest = 1.0 + 2.0 * G / 500.0
    run = vt.simulate(model, [0.0, -rest], duration=1.0, dt=5e-3)
    assert np.abs(run.q - [0.0, -rest]).max() < 1e-10
    run = vt.simulate(model, [0.0, -0.9], duration=2.0, dt=1e-3)
    assert np.ptp(run.energy) < 1e-4 * np.abs(run.energy).max() + 2e-3
    slow = vt.simulate(bob(vt.Rope(["world", "bob"], 1.0, stiffness=500.0, damping=20.0)).compile(), [0.0, -0.9],
                       duration=8.0, dt=5e-3)  # fmt: skip
    assert slow.q[-1] == pytest.approx([0.0, -rest], abs=1e-6)
    assert slow.energy[-1] < slow.energy[0]


def test_forces_of_a_state() -> None:
    """forward_dynamics has the tension of a taut rope, and none of a slack one; inverse dynamics gives it back."""
    model = atwood(1.0, 3.0)
    a = model.forward_dynamics([-1.5, -1.5], [0.0, 0.0])
    assert a.acceleration == pytest.approx([G / 2, -G / 2], rel=1e-10)
    assert model.forward_dynamics([-1.0, -1.0], [0.0, 0.0]).acceleration == pytest.approx([-G, -G])
    found = model.contact_forces([-1.5, -1.5], [0.0, 0.0])
    assert found.b == ("rope",) and found.force[0, 0] == pytest.approx(1.5 * G, rel=1e-10)


def test_ropes_between_the_same_frames_have_forces_of_their_own() -> None:
    """Without a label they have one name; forces that are given by names balance all the same."""
    tree = vt.Tree("swing", gravity=(0, 0, -G))
    tree.world.add(vt.free("base"), vt.body("seat", 1.0, (0.02, 0.03, 0.04)))
    for side in (-1.0, 1.0):
        ends = np.array((0.3 * side, 0.1, 1.0)), np.array((0.2 * side, 0.0, 0.0))
        points = [("world", tuple(ends[0])), ("seat", tuple(ends[1]))]
        tree.constrain(vt.Rope(points, float(np.linalg.norm(ends[0] - ends[1]))))
    model = tree.compile()
    q, v = model.neutral(), model.zero_velocity()
    forces = model.contact_forces(q, v)
    assert len(set(forces.a)) == 2 and (forces.force[:, 0] > 1.0).all()
    a = model.forward_dynamics(q, v).acceleration
    found = model.joint_reactions(q, v, a, contacts=forces)
    expected = model.joint_reactions(q, v, a)
    np.testing.assert_allclose(found["base"], expected["base"], atol=1e-12)


def test_reactions_know_ropes() -> None:
    """A rope that carries an arm's load relieves its hinge; of a pair of bodies both have its pull."""
    tree = vt.Tree("boom", gravity=(0, 0, -G))
    tree.world.add(vt.ry("hinge"), vt.fixed("arm", (0.5, 0, 0)), vt.body("load", 1.0, (0.02, 0.03, 0.04)))
    tree.constrain(vt.Rope([("world", (0.5, 0, 1.0)), "load"], 1.0, label="its string"))
    model = tree.compile()
    q, v = model.neutral(), model.zero_velocity()
    forces = model.contact_forces(q, v)
    for contacts in ("closed", forces):
        np.testing.assert_allclose(model.joint_reactions(q, v, contacts=contacts)["hinge"], 0.0, atol=1e-12)
    run = vt.simulate(model, q, v, duration=0.01, dt=1e-3)
    for place in ("hinge", "arm"):
        read = vt.ForceTorque(place).read(run)
        np.testing.assert_allclose(read.force, 0.0, atol=1e-8)
        np.testing.assert_allclose(read.impulse[2:], 0.0, atol=1e-10)


def test_forces_of_free_bodies() -> None:
    """The tension at a state is what keeps the second derivative of the slack from being negative."""
    model = free_pair().compile()
    rng = np.random.default_rng(5)
    q = model.neutral()
    q[7] = 0.5
    v = rng.normal(size=model.nv)
    from vitree.model.contacts import unilateral_gaps

    _, gap, rows = unilateral_gaps(model, q)
    tight = free_pair(0.8 - float(gap[0])).compile()
    v -= rows[0] * (rows[0] @ v) / (rows[0] @ rows[0])
    a = tight.forward_dynamics(q, v).acceleration
    e = 1e-4
    here = [model_gap(tight, tight.integrate(q, s * e * v + 0.5 * (s * e) ** 2 * a)) for s in (-1, 0, 1)]
    tension = tight.contact_forces(q, v).force
    second = (here[0] - 2 * here[1] + here[2]) / e**2
    assert tension[0, 0] > 0 and abs(second) < 1e-5


@pytest.mark.parametrize("method", ["linear-time", "midpoint"])
@pytest.mark.parametrize("stiffness", [np.inf, 3e3])
def test_derivatives_of_steps(method: str, stiffness: float) -> None:
    """Derivatives of steps in which ropes are taut, against central differences."""
    model = atwood(1.0, 3.0, stiffness=stiffness)
    found, expected, run = compared(model, np.array([-1.5, -1.5]), np.array([0.2, -0.2]), 0.01, method, 3, 1e-4)
    assert (run.contacts.record == 4).any()
    np.testing.assert_allclose(found, expected, rtol=0, atol=1e-6 * np.abs(expected).max())


@pytest.mark.parametrize("method", ["linear-time", "midpoint"])
@pytest.mark.parametrize("stiffness", [np.inf, 3e3])
def test_derivatives_of_free_bodies(method: str, stiffness: float) -> None:
    """The same of free bodies with a swinging rope, whose direction turns."""
    model = free_pair(stiffness=stiffness).compile()
    q, v = model.neutral(), np.random.default_rng(3).normal(size=model.nv)
    q[7] = 0.5
    run = vt.simulate(model, q, v, duration=2.0, dt=5e-3, method=method)
    taut = set(run.contacts.record.tolist())
    k = next(k for k in sorted(taut) if {k + 1, k + 2, k + 3} <= taut)
    found, expected, _ = compared(model, q, v, 5e-3, method, k + 1, 1e-5)
    np.testing.assert_allclose(found, expected, rtol=0, atol=1e-6 * np.abs(expected).max())


def test_wrong_ropes() -> None:
    """Errors name the thing and the remedy."""
    with pytest.raises(vt.ModelError, match="two at least"):
        vt.Rope(["world"], 1.0)
    with pytest.raises(vt.ModelError, match="positive"):
        vt.Rope(["world", "bob"], 0.0)
    with pytest.raises(vt.ModelError, match="damping and no stiffness"):
        vt.Rope(["world", "bob"], 1.0, damping=1.0)
    with pytest.raises(vt.ModelError, match="does nothing"):
        bob(vt.Rope(["world", ("world", (1, 0, 0))], 1.0)).compile()
    with pytest.raises(vt.UnknownNameError, match="bop"):
        bob(vt.Rope(["world", "bop"], 1.0)).compile()
    model = bob(vt.Rope(["world", "bob"], 1.0)).compile()
    with pytest.raises(vt.InputError, match=r"rope .* passed by 1"):
        vt.simulate(model, [2.0, 0.0], duration=0.1, dt=0.01)
    start = vt.feasible_start(model, [1.005, 0.0])
    assert np.linalg.norm(start.q) == pytest.approx(1.0, abs=1e-9)


def test_ropes_in_joined_trees_and_texts() -> None:
    """Names follow prefixes, and s-expressions keep ropes."""
    tree = vt.Tree("two", gravity=(0, 0, -G))
    one = bob(vt.Rope(["world", ("bob", (0, 0, 0.1))], 1.0, restitution=0.2, label="string"))
    tree.attach(one, at=vt.fixed(xyz=(1, 0, 0)), prefix="one_")
    tree.attach(one, prefix="two_")
    model = tree.compile()
    assert [each.name for each in model.unilateral] == ["one_string", "two_string"]
    run = vt.simulate(model, duration=1.0, dt=1e-2)
    assert set(run.contacts.a) == {"one_string", "two_string"}
    assert min(model_gap(model, q) for q in run.q) > -1e-11
    assert vt.read_sexpr(vt.write_sexpr(one)).unilateral == one.unilateral


def test_functions_without_ropes_refuse_them() -> None:
    """What does not know ropes says so, and does not leave them out."""
    from vitree.control import MotionProblem

    model = bob(vt.Rope(["world", "bob"], 1.0)).compile()
    with pytest.raises(vt.ModelError, match="static_equilibrium does not support ropes"):
        vt.static_equilibrium(model, [0.0, -1.0])
    with pytest.raises(vt.ModelError, match="minimize_potential_energy does not support ropes"):
        vt.minimize_potential_energy(model, [0.0, -1.0])
    with pytest.raises(vt.VitreeError, match="ropes"):
        MotionProblem(model, steps=4, dt=0.1)
    with pytest.raises(vt.ModelError, match="gauss does not support"):
        vt.simulate(model, [0.0, -1.0], duration=0.1, dt=0.01, method="gauss")


@pytest.mark.parametrize("method", ["linear-time", "midpoint", "rk4"])
def test_runs_go_on_to_the_bit(method: str) -> None:
    """Runs that are resumed, Simulations and single steps are one run."""
    model = bob(vt.Rope(["world", "bob"], 1.0)).compile()
    q, v = [0.6, 0.3], [0.4, 1.0]
    whole = vt.simulate(model, q, v, duration=1.0, dt=5e-3, method=method)
    half = vt.simulate(model, q, v, duration=0.5, dt=5e-3, method=method)
    assert np.array_equal(half.resume(duration=0.5).q[-1], whole.q[-1])
    sim = vt.Simulation(model, q, v, dt=5e-3, method=method)
    sim.step(200)
    assert np.array_equal(sim.q, whole.q[-1])
    assert sim.contacts.b == ("rope",) and sim.contacts.force[0, 0] == whole.contacts.force[-1, 0]


def test_rollouts() -> None:
    """Many instances have the bits of runs alone."""
    model = atwood(1.0, 3.0)
    starts = np.array([[-1.5, -1.5], [-1.0, -1.2], [-1.4, -1.3]])
    runs = vt.rollout(model, starts, duration=0.5, dt=5e-3)
    for k, q in enumerate(starts):
        assert np.array_equal(runs.q[k, -1], vt.simulate(model, q, duration=0.5, dt=5e-3).q[-1])


def test_contact_work_is_the_loss_of_energy() -> None:
    """The work of the tension in an inelastic impact is the energy that is lost there."""
    model = bob(vt.Rope(["world", "bob"], 1.0)).compile()
    run = vt.simulate(model, [0.0, 0.0], v0=[2.0, 0.3], duration=0.6, dt=1e-3, monitors=["contact_work"])
    lost = run.energy[0] - run.energy[-1]
    assert lost > 1.0 and run.monitors["contact_work"].sum() == pytest.approx(-lost, abs=1e-3 * lost)


def test_located_impacts_are_of_second_order() -> None:
    """With max_impacts= the instant at which a rope becomes taut is searched, and the run is of order 2."""
    model = bob(vt.Rope(["world", "bob"], 1.0)).compile()
    ends = {dt: vt.simulate(model, [0.6, 0.3], [0.4, 1.0], duration=1.0, dt=dt, max_impacts=20).q[-1]
            for dt in (2e-4, 5e-3, 1e-2)}  # fmt: skip
    coarse, fine = (np.abs(ends[dt] - ends[2e-4]).max() for dt in (1e-2, 5e-3))
    assert np.log2(coarse / fine) > 1.8


@pytest.mark.parametrize("method", ["linear-time", "midpoint", "implicit-euler", "rk4"])
def test_a_hook_that_is_prescribed(method: str) -> None:
    """A bob on a hook that moves as prescribed, and one behind a joint that follows another."""
    tree = vt.Tree("trolley", gravity=(0, 0, -G))
    tree.world.add(vt.tx("trolley", kinematic=True), vt.frame("hook"))
    tree.world.add(vt.tx("x"), vt.tz("z"), vt.body("bob", 1.0))
    tree.constrain(vt.Rope(["hook", "bob"], 1.0))
    motion = {"trolley": lambda t: (0.5 * t * t, t, 1.0)}
    run = vt.simulate(tree.compile(), [0, 0, -1.0], duration=1.0, dt=5e-3, method=method,
                      control=vt.Control(prescribed=motion))  # fmt: skip
    assert np.hypot(run.q[:, 0] - run.q[:, 1], run.q[:, 2]).max() < 1 + 1e-11 and len(run.contacts) == 200


def test_reduced_models() -> None:
    """With a coordinate less for a follower a rope acts as on the model with all of them."""
    tree = vt.Tree("geared", gravity=(0, 0, -G))
    tree.world.add(vt.tz("a"), vt.body("A", 1.0))
    tree.world.add(vt.tx(1.0), vt.tz("b"), vt.body("B", 2.0))
    tree.constrain(vt.gear("b", "a", 0.5), vt.Rope(["world", "A"], 1.0))
    full = tree.compile()
    one = vt.simulate(full, [-0.5, -0.25], duration=1.0, dt=5e-3)
    other = vt.simulate(full.reduced(), [-0.5], duration=1.0, dt=5e-3)
    assert np.array_equal(one.q[:, 0], other.q[:, 0]) and other.q.min() > -1 - 1e-11
    assert set(other.contacts.b) == {"rope"}
