"""Springs that linear-time takes at means of its nodes and solves for: ``springs="averaged"``."""

from __future__ import annotations

import pathlib
import sys
from dataclasses import replace

import numpy as np
import pytest
import reference as ref
from loaded_models import (
    SINGLE,
    conservative_loads,
    constrained_tree,
    distances,
    driving_loads,
    fitted,
    forces,
    gradient,
    random_tree,
    singles,
)
from random_models import chain_flat

import vitree as vt
from vitree.model.dynamics import spring_rate

sys.path.append(str(pathlib.Path(__file__).parents[2] / "examples" / "papers" / "johnson_murphey_2009"))
import mechanisms

EVERY = (*SINGLE, "ball", "free")
AVERAGED = {"method": "linear-time", "springs": "averaged"}


class Bowl(vt.Potential):
    """Smooth in every coordinate, and alike for a quaternion and its negative."""

    def weights(self, q):
        return np.arange(1, len(q) + 1) / len(q)

    def energy(self, model, q):
        return 0.7 * np.sum(np.cos(q * self.weights(q)))

    def gradient(self, model, q):
        slope, out = -0.7 * self.weights(q) * np.sin(q * self.weights(q)), np.empty(model.nv)
        for joint in model.joints:
            x, by = q[joint.q_slice], slope[joint.q_slice]
            if len(x) < 4:
                out[joint.v_slice] = by
                continue
            # a turn w of the body changes its quaternion by that times (w, 0)/2
            turn = [ref.quaternion_product(x[-4:], np.append(e, 0.0)) @ by[-4:] / 2 for e in np.eye(3)]
            out[joint.v_slice] = [*(ref.quaternion_matrix(x[3:]).T @ by[:3] if len(x) == 7 else ()), *turn]
        return out


class Well(vt.Potential):
    """Of the distance between two links, which all motions of the whole leave."""

    def energy(self, model, q):
        d = distances(model, q, "link1", "link4")
        return 3.0 * float(d @ d) ** 1.5


def joint_spring(flat, q, stiffness, strain=0.1):
    return tuple(
        vt.JointSpring(joint.name, stiffness, float(q[joint.q_slice.start]) + strain)
        for joint in flat.joints if joint.name in singles(flat)
    )  # fmt: skip


def sprung(seed, kinds=EVERY, base="fixed", nbody=6, written=(), **more):
    """A random tree with loads of every kind that has a potential, and a state of it."""
    flat, q, v = random_tree(seed, nbody=nbody, kinds=kinds, base=base, **more)
    return vt.Model(replace(flat, loads=(*conservative_loads(flat), *written))), q, v


@pytest.mark.parametrize("kinetic", ["screw", "com"])
@pytest.mark.parametrize(("seed", "kinds", "base"), [(1, SINGLE, "fixed"), (2, EVERY, "fixed"), (3, EVERY, "free")])
def test_a_step_solves_the_equations_of_the_reference(seed, kinds, base, kinetic):
    """p1 = -D1 Ld and p2 = D2 Ld, with loads of every kind."""
    flat, q, v = random_tree(seed, nbody=4, kinds=kinds, base=base)
    loads = (vt.Spring("link1", "link3", 20.0), vt.Spring("world", "frame1", 30.0, 0.8), Bowl(),
             vt.Attraction("link0", "link3", 2.0, 3.0, constant=0.4), *joint_spring(flat, q, 50.0))  # fmt: skip
    flat = replace(flat, loads=loads)
    model, h = vt.Model(flat), 0.05
    p = model.generalized_momentum(q, v)
    end = vt.simulate(model, q, p0=p, duration=h, dt=h, kinetic=kinetic, tolerance=1e-13, **AVERAGED)[-1]
    D1, D2 = ref.averaged_slots(flat, q, end.q, h, kinetic)
    assert np.abs(p + D1).max() < 1e-11 * np.abs(p).max()
    assert np.abs(end.p - D2).max() < 1e-11 * np.abs(p).max()


@pytest.mark.parametrize("chosen", [{}, {"kinetic": "com"}, {"order": 4}], ids=str)
@pytest.mark.parametrize("written", [(), (Bowl(),)], ids=["loads", "written"])
def test_the_step_is_symplectic(chosen, written):
    """The map (q, p) of one step preserves the canonical two-form: A^T J A = J."""
    model, q, v = sprung(5, SINGLE, nbody=4, written=written)
    n, h, p = model.nv, 0.02, model.generalized_momentum(q, v)

    def step(z):
        given = {"duration": h, "dt": h, "tolerance": 1e-14, "guess": "aba", **AVERAGED, **chosen}
        end = vt.simulate(model, z[:n], p0=z[n:], **given)[-1]
        return np.concatenate((end.q, end.p))

    z, columns = np.concatenate((q, p)), []
    for k in range(2 * n):
        d = np.zeros(2 * n)
        d[k] = 2e-3 * max(1.0, abs(z[k]))
        f = [step(z + s * d) for s in (-3, -2, -1, 1, 2, 3)]
        columns.append((-f[0] + 9 * f[1] - 45 * f[2] + 45 * f[3] - 9 * f[4] + f[5]) / (60 * d[k]))
    A = np.array(columns).T
    J = np.block([[np.zeros((n, n)), np.eye(n)], [-np.eye(n), np.zeros((n, n))]])
    assert np.abs(A.T @ J @ A - J).max() < 1e-8 * np.abs(A).max() ** 2


@pytest.mark.parametrize("chosen", [
    {"solver": "recursive-newton"}, {"solver": "newton"}, {"kinetic": "com"}, {"kinetic": "screw"},
], ids=str)  # fmt: skip
@pytest.mark.parametrize(("kinds", "base"), [(SINGLE, "fixed"), (EVERY, "fixed"), (EVERY, "free")])
@pytest.mark.parametrize("written", [(), (Bowl(), Well())], ids=["loads", "written"])
def test_directions_are_exact(chosen, kinds, base, written):
    """The residual's change along the solver's correction is minus the residual."""
    model, q, v = sprung(7, kinds, base, written=written)
    rng = np.random.default_rng(1)
    stepper = vt.METHODS["linear-time"](model, 0.05, springs="averaged", **chosen).stepper
    p, y = model.generalized_momentum(q, v), 0.05 * v + 0.1 * rng.standard_normal(model.nv)
    r, _, d, _ = stepper.probe(0.0, q, p, y, np.zeros(0))
    e = (3e-5 if not written else 3e-4) / np.abs(d).max()
    ahead, behind = (stepper.probe(0.0, q, p, y + s * e * d, np.zeros(0))[0] for s in (1, -1))
    size = np.abs(r).max()
    np.testing.assert_allclose((ahead - behind) / (2 * e), -r, rtol=0, atol=(1e-8 if not written else 3e-5) * size)


@pytest.mark.parametrize(("kinds", "base"), [(SINGLE, "fixed"), (EVERY, "fixed"), (EVERY, "free")])
@pytest.mark.parametrize(("chosen", "order"), [({}, 2), ({"kinetic": "com"}, 2), ({"order": 4}, 4)], ids=str)
def test_the_order(kinds, base, chosen, order):
    model, q, v = sprung(4, kinds, base)
    exact = vt.simulate(model, q, v, duration=0.2, dt=2e-4, method="rk8")[-1]
    steps = np.array([0.01, 0.005, 0.0025])
    ends = [vt.simulate(model, q, v, duration=0.2, dt=dt, tolerance=1e-13, **AVERAGED, **chosen)[-1] for dt in steps]
    errors = [np.linalg.norm(model.difference(exact.q, end.q)) for end in ends]
    assert abs(fitted(steps, errors) - order) < 0.1, errors


def test_the_order_with_potentials_in_python():
    model, q, v = sprung(4, EVERY, "free", nbody=5, written=(Bowl(),))
    exact = vt.simulate(model, q, v, duration=0.1, dt=1e-3, method="rk8")[-1]
    steps = np.array([0.01, 0.005, 0.0025])
    ends = [vt.simulate(model, q, v, duration=0.1, dt=dt, tolerance=1e-12, **AVERAGED)[-1] for dt in steps]
    errors = [np.linalg.norm(model.difference(exact.q, end.q)) for end in ends]
    assert abs(fitted(steps, errors) - 2) < 0.1, errors


@pytest.mark.parametrize("written", [(), (Well(),)], ids=["loads", "written"])
@pytest.mark.parametrize("chosen", [{}, {"kinetic": "screw"}, {"order": 4}, {"solver": "newton"}], ids=str)
def test_momentum_is_kept(chosen, written):
    """Springs within a floating tree: momentum stays to round-off, at a loose tolerance."""
    flat, q, v = random_tree(6, nbody=6, kinds=EVERY, base="free")
    loads = (vt.Spring("link1", "link4", 600.0), vt.Spring("link0", "link3", 500.0, 1.1), *joint_spring(flat, q, 100.0),
             vt.Attraction("link0", "link5", 2.0, 3.0, constant=0.4), *written)  # fmt: skip
    model = vt.Model(replace(flat, gravity=np.zeros(3), damping=0 * flat.damping, loads=loads))
    given = {"duration": 0.1 if written else 1.0, "dt": 0.01, "tolerance": 1e-6}
    run = vt.simulate(model, q, v, **given, **AVERAGED, **chosen)
    # the gradient of Well is one by differences: what it lacks of the symmetry adds up
    np.testing.assert_allclose(run.momentum, np.broadcast_to(run.momentum[0], run.momentum.shape), rtol=0,
                               atol=1e-6 if written else 1e-10)  # fmt: skip


@pytest.mark.parametrize(("kinds", "base"), [(SINGLE, "fixed"), (EVERY, "free")])
@pytest.mark.parametrize("chosen", [{}, {"order": 4}], ids=str)
def test_runs_go_back(kinds, base, chosen):
    model, q, v = sprung(8, kinds, base, written=(Bowl(),))
    given = {"duration": 0.2, "dt": 0.01, "tolerance": 1e-13, **AVERAGED, **chosen}
    there = vt.simulate(model, q, v, **given)[-1]
    back = vt.simulate(model, there.q, p0=-there.p, **given)[-1]
    assert np.abs(model.difference(q, back.q)).max() < 1e-9 and np.abs(back.v + v).max() < 1e-8


# ---- stiffness -----------------------------------------------------------------------------------------------


def stiff_tree(seed, share, dt, kinds, base):
    """Springs of dt omega = share and below, without force where a slow motion starts."""
    rng = np.random.default_rng(seed)
    flat, q, v = random_tree(seed, nbody=5, kinds=kinds, base=base, speed=0.3)
    flat = replace(flat, gravity=np.zeros(3), damping=0 * flat.damping)
    model = vt.Model(flat)
    most = (share / dt) ** 2 / np.diag(np.linalg.inv(model.crba(q)))
    loads = []
    for name in singles(flat):
        joint = model.joint(name)
        stiffness = float(most[joint.v_slice][0] * 10 ** rng.uniform(-6, 0))
        loads.append(vt.JointSpring(name, stiffness, float(q[joint.q_slice][0])))
    for a, b in (("link1", "link4"), ("link0", "link2")):
        length = float(np.linalg.norm(distances(model, q, a, b)))
        loads.append(vt.Spring(a, b, float(np.median(most)), length))
    return vt.Model(replace(flat, loads=tuple(loads))), q, v


@pytest.mark.parametrize("share", [3.0, 30.0, 1e3])
@pytest.mark.parametrize(("kinds", "base"), [(SINGLE, "fixed"), (EVERY, "fixed"), (EVERY, "free")])
@pytest.mark.parametrize("seed", range(1, 5))
def test_stiff_springs_stay(share, kinds, base, seed):
    """Far beyond dt omega = 2 every step is solved whole, and no energy grows."""
    model, q, v = stiff_tree(seed, share, 0.01, kinds, base)
    run = vt.simulate(model, q, v, duration=10.0, dt=0.01, **AVERAGED)
    assert run.settings["halved"] == 0
    assert np.abs(run.energy - run.energy[0]).max() < 0.2 * run.kinetic.max()


def test_a_turn_strains_no_spring():
    """Two bodies on a stiff spring of a length turn about each other: it keeps its length, which a chord would not."""
    tree = vt.Tree("dumbbell", gravity=(0, 0, 0))
    for name, side in (("one", 0.5), ("two", -0.5)):
        tree.world.add(vt.tx(side), vt.free(f"float {name}"), vt.body(name, 1.0, inertia=(0.1, 0.1, 0.1)))
    tree.load(vt.Spring("one", "two", 1e8, 1.0))
    model = tree.compile()
    v = np.zeros(12)
    v[1], v[7] = 1.0, -1.0
    run = vt.simulate(model, v0=v, duration=5.0, dt=0.01, **AVERAGED)
    apart = np.linalg.norm(run.q[:, :3] - run.q[:, 7:10] + [1.0, 0, 0], axis=1)
    assert np.abs(apart - 1.0).max() < 1e-4
    assert np.abs(run.energy - run.energy[0]).max() < 1e-2 * run.energy[0]


@pytest.mark.parametrize(("length", "share", "stays"), [(0.1, 1.9, True), (0.1, 2.1, False), (0.0, 100.0, True)])
def test_tension_from_side_to_side(length, share, stays):
    """A mass on a tense spring: h sqrt(F/(m l)) must be below two, but for springs of length zero."""
    h = 0.01
    tree = vt.Tree("tendon", gravity=(0, 0, 0))
    tree.world.add(vt.tx(1.0), vt.ty("y"), vt.body("mass", 1.0))
    tree.load(vt.Spring("world", "mass", (share / h) ** 2 / (1 - length), length))
    run = vt.simulate(tree.compile(), [0.01], duration=3.0, dt=h, **AVERAGED)
    assert (np.abs(run.q).max() < 0.0101) == stays


@pytest.mark.parametrize("share", [1.9, 2.1, 100.0])
def test_one_spring_is_the_implicit_midpoint(share):
    """(q2 - q1)/h = (v1 + v2)/2, (v2 - v1)/h = -omega^2 (q1 + q2)/2, whose energy stays."""
    h = 0.01
    tree = vt.Tree("spring")
    tree.world.add(vt.tx("x"), vt.body("mass", 1.0))
    tree.load(vt.JointSpring("x", (share / h) ** 2, 0.2))
    model = tree.compile()
    run = vt.simulate(model, [0.5], [1.0], duration=1.0, dt=h, **AVERAGED)
    q, v = run.q[:, 0], run.v[:, 0]
    np.testing.assert_allclose(np.diff(q) / h, (v[1:] + v[:-1]) / 2, rtol=0, atol=1e-10 * np.abs(v).max())
    np.testing.assert_allclose(run.energy, run.energy[0], rtol=1e-9)
    table = vt.NonlinearSpring("x", (-1.0, 1.0), (1.2 * (share / h) ** 2, -0.8 * (share / h) ** 2))
    other = vt.simulate(vt.Model(replace(model.flat, loads=(table,))), [0.5], [1.0], duration=1.0, dt=h, **AVERAGED)
    np.testing.assert_allclose(other.q, run.q, rtol=0, atol=1e-8)
    try:
        grown = np.abs(vt.simulate(model, [0.5], [1.0], duration=5.0, dt=h).q).max()
    except vt.ConvergenceError:
        grown = np.inf
    assert (grown > 10.0) == (share > 2.0)


# ---- with everything else --------------------------------------------------------------------------------------


@pytest.mark.parametrize("solver", ["recursive-newton", "newton", "modified-newton", "broyden", "riqn"])
@pytest.mark.parametrize("written", [(), (Bowl(),)], ids=["loads", "written"])
def test_solvers_agree(solver, written):
    model, q, v = sprung(9, EVERY, "free", written=written)
    given = {"duration": 0.1, "dt": 0.005, "tolerance": 1e-12, **AVERAGED}
    exact, run = vt.simulate(model, q, v, **given), vt.simulate(model, q, v, **given, solver=solver)
    assert np.abs(model.difference(exact.q[-1], run.q[-1])).max() < 1e-9


@pytest.mark.parametrize("written", [(), (Bowl(),)], ids=["loads", "written"])
@pytest.mark.parametrize("order", [2, 4])
def test_constraints_hold(written, order):
    model, q, v = constrained_tree(2, nbody=8, speed=0.5)
    flat = replace(model.flat, loads=(*conservative_loads(model.flat), *joint_spring(model.flat, q, 50.0), *written))
    model = vt.Model(flat)
    exact = vt.simulate(model, q, v, duration=0.1, dt=5e-4, method="rk8")
    run = vt.simulate(model, q, v, duration=0.1, dt=0.005, order=order, **AVERAGED)
    assert np.abs(run.constraint).max() < 1e-10
    assert np.abs(model.difference(exact.q[-1], run.q[-1])).max() < (2e-3 if order == 2 else 1e-5)


def test_a_scissor_with_stiff_springs():
    """Islands that are solved by their plans, with springs on their joints."""
    model, q = mechanisms.scissor(40, 0.9)
    assert model.nv > 40
    springs = joint_spring(model.flat, q, 30.0)
    model = vt.Model(replace(model.flat, loads=springs))
    run = vt.simulate(model, q, duration=0.2, dt=2e-3, tolerance=1e-11, **AVERAGED)
    dense = vt.simulate(model, q, duration=0.2, dt=2e-3, tolerance=1e-11, solver="newton", **AVERAGED)
    assert np.abs(run.constraint).max() < 1e-11 and np.abs(run.q - dense.q).max() < 1e-8


def test_gears_and_prescribed_coordinates():
    flat = chain_flat(6)
    names = singles(flat)
    gears = (vt.gear(names[1], names[2], -1.4, 0.0),)
    kinematic = np.zeros(6, bool)
    kinematic[4] = True
    springs = (vt.JointSpring(names[2], 1e5), vt.Spring("link1", "link3", 1e5, 1.5), vt.JointSpring(names[5], 30.0))
    model = vt.Model(replace(flat, constraints=gears, kinematic=kinematic, loads=springs))
    moves = {names[4]: lambda t: 0.2 * np.sin(4 * t)}
    end = {}
    for dt in (2e-3, 1e-3):
        run = vt.simulate(model, duration=0.5, dt=dt, control=vt.Control(prescribed=moves), tolerance=1e-12, **AVERAGED)
        assert np.abs(run.constraint).max() < 1e-10
        np.testing.assert_allclose(run.q[:, 4], 0.2 * np.sin(4 * run.t), rtol=0, atol=1e-12)
        end[dt] = run.q[-1]
    exact = vt.simulate(model, duration=0.5, dt=5e-4, control=vt.Control(prescribed=moves), method="rk8").q[-1]
    ratio = np.abs(end[2e-3] - exact).max() / np.abs(end[1e-3] - exact).max()
    assert 3.5 < ratio < 4.5


def test_drives_dampers_friction_and_inputs():
    """Order 2 with all else that acts, some of it on the same joints."""
    flat, q, v = random_tree(3, nbody=6, kinds=SINGLE, damping=True)
    drives = tuple(vt.Drive(name, 40.0, 2.0) for name in singles(flat)[:2])
    loads = (*conservative_loads(flat), *driving_loads(flat), *drives)
    model = vt.Model(replace(flat, loads=loads))
    inputs = {"push": lambda t: np.sin(5 * t), "turn": np.cos}
    exact = vt.simulate(model, q, v, duration=0.2, dt=5e-4, method="rk8", control=vt.Control(inputs=inputs))[-1]
    steps = np.array([0.01, 0.005, 0.0025])
    ends = [vt.simulate(model, q, v, duration=0.2, dt=dt, control=vt.Control(inputs=inputs),
                        **AVERAGED)[-1] for dt in steps]
    errors = [np.linalg.norm(model.difference(exact.q, end.q)) for end in ends]
    assert abs(fitted(steps, errors) - 2) < 0.15, errors


def test_models_in_euler_angles():
    """Potentials in Python are asked in the native coordinates; both models move alike, to the step's square."""
    model, q, v = sprung(4, (*SINGLE, "ball"), nbody=5, written=(Bowl(),))
    at = model.euler()
    ends = []
    for h in (2e-3, 1e-3):
        one, other = (vt.simulate(m, *s, duration=0.1, dt=h, **AVERAGED)[-1]
                      for m, s in ((model, (q, v)), (at, at.from_native(q, v))))  # fmt: skip
        ends.append(np.abs(model.difference(one.q, at.to_native(other.q, other.v)[0])).max())
    assert ends[1] < 1e-4 and 3.5 < ends[0] / ends[1] < 4.5


def test_steps_that_choose_their_length():
    model, q, v = sprung(4, SINGLE)
    given = {"dt": 0.02, "adapt": "density", "rate": 2.0, "tolerance": 1e-12, **AVERAGED}
    run = vt.simulate(model, q, v, duration=1.0, **given)
    assert np.abs(run.energy - run.energy[0]).max() < 1e-3 * run.kinetic.max()


def test_nodes_is_the_default():
    model, q, v = sprung(2)
    plain = vt.simulate(model, q, v, duration=0.2, dt=0.01)
    named = vt.simulate(model, q, v, duration=0.2, dt=0.01, springs="nodes")
    assert plain.q.tobytes() == named.q.tobytes() and plain.settings["springs"] == "nodes"
    bare = vt.Model(replace(model.flat, loads=()))
    one, two = (vt.simulate(bare, q, v, duration=0.2, dt=0.01, springs=kind) for kind in ("nodes", "averaged"))
    assert one.q.tobytes() == two.q.tobytes()


def test_two_configurations_are_a_start():
    model, q, v = sprung(4, EVERY, "free", written=(Bowl(),))
    q1 = model.integrate(q, 0.01 * v)
    run = vt.simulate(model, q, q1=q1, duration=0.01, dt=0.01, tolerance=1e-13, **AVERAGED)
    assert np.abs(model.difference(q1, run.q[-1])).max() < 1e-10


@pytest.mark.parametrize("written", [(), (Bowl(),)], ids=["loads", "written"])
@pytest.mark.parametrize("order", [2, 4])
def test_runs_are_held_and_resumed_bit_for_bit(written, order, tmp_path):
    model, q, v = sprung(3, EVERY, "free", written=written)
    given = {"dt": 0.01, "order": order, **AVERAGED}
    whole = vt.simulate(model, q, v, duration=0.2, **given)
    part = vt.Trajectory.load(vt.simulate(model, q, v, duration=0.1, **given).save(tmp_path / "run.npz"))
    rest = part.resume(0.1, model=model)
    assert rest.settings["springs"] == "averaged" and rest.q.tobytes() == whole.q[10:].tobytes()
    sim = vt.Simulation(model, q, v, **given)
    sim.step(5)
    kept = sim.save()
    sim.step(15)
    assert sim.q.tobytes() == whole.q[-1].tobytes()
    sim.restore(kept)
    sim.step(15)
    assert sim.q.tobytes() == whole.q[-1].tobytes() and sim.p.tobytes() == whole.p[-1].tobytes()


class Fails(vt.Potential):
    """Raises where a coordinate is beyond a bound."""

    def energy(self, model, q):
        if q[0] > 0.5:
            raise RuntimeError("out of the table")
        return 0.0

    def gradient(self, model, q):
        return np.full(1, self.energy(model, q))


def test_a_potential_that_raises_ends_the_run():
    tree = vt.Tree("slide", gravity=(0, 0, 0))
    tree.world.add(vt.tx("x"), vt.body("mass", 1.0))
    tree.load(Fails())
    with pytest.raises(vt.CallableError, match="out of the table") as caught:
        vt.simulate(tree.compile(), [0.0], [1.0], duration=1.0, dt=0.01, **AVERAGED)
    assert caught.value.time == pytest.approx(0.5, abs=0.02)


def test_a_wrong_choice_is_refused():
    with pytest.raises(vt.UnknownNameError, match="averaged"):
        vt.simulate(vt.Model(chain_flat(2)), duration=0.1, dt=0.01, springs="average")
    with pytest.raises(vt.UnknownNameError, match="springs"):
        vt.simulate(vt.Model(chain_flat(2)), duration=0.1, dt=0.01, method="midpoint", springs="averaged")


# ---- what says that springs are stiff ------------------------------------------------------------------------


@pytest.mark.parametrize("seed", range(1, 6))
def test_the_rate_of_springs(seed):
    """One spring of each kind alone: the largest frequency of small motions about a state without its force."""
    flat, q, _ = random_tree(seed, nbody=5, kinds=EVERY)
    bare, name = vt.Model(flat), singles(flat)[1]
    here = float(q[bare.joint(name).q_slice][0])
    length = float(np.linalg.norm(distances(bare, q, "link1", "link4")))
    table = vt.NonlinearSpring(name, (here - 1, here, here + 1), (40.0, 0.0, -40.0))
    for load in (vt.JointSpring(name, 40.0, here), table, vt.Spring("link1", "link4", 70.0, length)):
        model = vt.Model(replace(flat, loads=(load,)))
        K = -gradient(model, q, lambda at, model=model: forces(model, at, model.zero_velocity()))
        exact = np.sqrt(np.linalg.eigvals(np.linalg.solve(model.crba(q), K.T)).real.max())
        assert spring_rate(model, q) == pytest.approx(exact, rel=1e-5)
    assert spring_rate(bare, q) == 0.0


def stiff_slide(share, h=0.01):
    tree = vt.Tree("spring")
    tree.world.add(vt.tx("x"), vt.body("mass", 1.0))
    tree.load(vt.JointSpring("x", (share / h) ** 2))
    return tree.compile()


def test_stiff_springs_are_told():
    given = {"duration": 0.3, "dt": 0.01}
    run = vt.simulate(stiff_slide(2.1), [0.5], **given)
    assert any('springs="averaged"' in text for text in run.warnings)
    assert not any("averaged" in text for text in vt.simulate(stiff_slide(0.5), [0.5], **given).warnings)
    flat = chain_flat(3)
    model = vt.Model(replace(flat, loads=(vt.JointSpring(singles(flat)[1], 1e9),)))
    with pytest.raises(vt.ConvergenceError, match='springs="averaged"'):
        vt.simulate(model, [0.1, 0.1, 0.1], **given, max_halvings=0)
    with pytest.raises(vt.ConvergenceError) as caught:
        vt.simulate(vt.Model(flat), [0.1, 0.1, 0.1], [0, 0, 500.0], **given, max_halvings=0)
    assert "averaged" not in str(caught.value)
    found = str(vt.compare(stiff_slide(1.5), ["linear-time", "midpoint"], q0=[0.5], dt=0.01, duration=0.1))
    assert "dt is 1.5 times its 1/frequency" in found
    found = str(vt.compare(stiff_slide(0.5), ["linear-time", "midpoint"], q0=[0.5], dt=0.01, duration=0.1))
    assert "1/frequency" not in found
