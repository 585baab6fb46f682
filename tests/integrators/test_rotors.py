"""Armature in the variational methods: equations, solvers, order, invariants; against a rotor that is a body."""

from __future__ import annotations

from dataclasses import replace

import kernel_checks as kernels
import numpy as np
import pytest
import reference
from directions import check_direction, slopes
from loaded_models import SINGLE, conservative_loads, constrained_tree, driving_loads, end_error, fitted, random_tree
from planned import by_fronts, densely, planned
from random_models import chain_flat, random_flat, random_state, with_rotors

import vitree as vt
from vitree._core import scalar
from vitree.integrators.variational import SOLVERS
from vitree.mechanism.flat import KINDS

ALL = KINDS
VARIATIONAL = ("midpoint", "linear-time")
INPUTS = {"push": 0.7, "turn": -0.5, "drive": 1.1}


def rotors(seed, base="fixed", nbody=8, kinds=KINDS, **more):
    """A random tree with armature over two decades, and a state of it."""
    flat, q, v = random_tree(seed, nbody=nbody, kinds=kinds, base=base, **more)
    return with_rotors(flat, seed), q, v


# ---- steps ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kinetic", ["screw", "com"])
@pytest.mark.parametrize("seed", range(4))
def test_linear_time_is_the_oracles(seed, kinetic):
    """Residual, direction and end, against derivatives of the action."""
    flat, *_ = rotors(seed, "free" if seed % 2 else "fixed", nbody=6, damping=True)
    kernels.check_linear_time(flat, 4.0, kinetic)
    q, _, dq, _ = kernels.case(flat, 1.0)
    action = lambda a, b: reference.linear_time_action(flat, a, b, kernels.H, kinetic)  # noqa: E731
    D1, D2 = reference.slot_derivatives_by_differences(action, flat, q, reference.integrate(flat, q, dq))
    one, two = reference.linear_time_slots(flat, q, dq, kernels.H, kinetic)
    assert np.abs(one - D1).max() < 1e-9 * np.abs(D1).max() and np.abs(two - D2).max() < 1e-9 * np.abs(D2).max()


@pytest.mark.parametrize("alpha", [0.3, 0.5])
@pytest.mark.parametrize("seed", range(4))
def test_midpoint_is_the_oracles(seed, alpha):
    flat, *_ = rotors(seed, "free" if seed % 2 else "fixed", nbody=6, damping=True)
    kernels.check_midpoint(flat, 1.0, alpha)
    q, _, dq, _ = kernels.case(flat, 1.0)
    bare = replace(flat, damping=0 * flat.damping)
    action = lambda a, b: reference.midpoint_action(bare, a, b, kernels.H, alpha)  # noqa: E731
    D1, D2 = reference.slot_derivatives_by_differences(action, bare, q, reference.integrate(bare, q, dq))
    one, two = reference.midpoint_slots(bare, q, dq, kernels.H, alpha)
    assert np.abs(one - D1).max() < 1e-9 * np.abs(D1).max() and np.abs(two - D2).max() < 1e-9 * np.abs(D2).max()


@pytest.mark.parametrize("caching", [True, False])
def test_derivatives_of_the_lagrangian(caching):
    flat, q, v = rotors(2, kinds=SINGLE)
    model, bare = vt.Model(flat), vt.Model(replace(flat, armature=None))
    found, without = (scalar().lagrangian_derivatives(m.core, q, v, caching=caching) for m in (model, bare))
    rotor = flat.armature * v
    for k, more in enumerate((rotor @ v / 2, 0.0, rotor, 0.0, 0.0, np.diag(flat.armature))):
        assert np.abs(found[k] - without[k] - more).max() <= 1e-15 * np.abs(found[k]).max(), k


@pytest.mark.parametrize("solver", ["recursive-newton", "newton"])
@pytest.mark.parametrize("alpha", [0.3, 0.5, None])
@pytest.mark.parametrize("base", ["fixed", "free"])
def test_newton_directions_under_all_loads(base, alpha, solver):
    flat, q, v = rotors(5, base, nbody=7, damping=True)
    flat = replace(flat, loads=(*conservative_loads(flat), *driving_loads(flat)))
    check_direction(vt.Model(flat), q, v, alpha, solver=solver)


@pytest.mark.parametrize("alpha", [0.5, None])
@pytest.mark.parametrize("base", ["fixed", "free"])
def test_newton_directions_with_constraints(base, alpha):
    model, q, v = constrained_tree(3, nbody=9, kinds=ALL, base=base)
    model = vt.Model(with_rotors(model.flat, 1))
    check_direction(model, q, v, alpha)


@pytest.mark.parametrize("alpha", [0.5, None])
@pytest.mark.parametrize("seed", [3, 5])
def test_newton_directions_by_plans(seed, alpha):
    """Islands that are solved for joint by joint, and dense: the same corrections and the same accelerations."""
    model, q, v = constrained_tree(seed, nbody=9, kinds=ALL)
    model = vt.Model(with_rotors(model.flat, 1))
    found = []
    for plan in (by_fronts, densely):
        model, made = planned(model, plan)
        assert any(made.fronts) == (plan is by_fronts)
        check_direction(model, q, v, alpha)
        a = model.forward_dynamics(q, v)
        run = vt.simulate(model, q, 0.3 * v, duration=0.05, dt=1e-3, tolerance=1e-12,
                          method="linear-time" if alpha is None else "midpoint")  # fmt: skip
        found.append((a.acceleration, a.multipliers, run.q[-1], run.p[-1]))
    for one, two in zip(*found, strict=True):
        assert np.abs(one - two).max() < 1e-9 * max(1.0, np.abs(two).max())
    Dh = model.constraint_jacobian(q)
    free = model.crba(q) @ found[0][0] + model.rnea(q, v, np.zeros(model.nv)) - Dh.T @ found[0][1]
    assert np.abs(free).max() < 1e-9 * np.abs(model.crba(q)).max()


SOLVED = [(method, solver) for method in VARIATIONAL for solver in SOLVERS]


@pytest.mark.parametrize(("method", "solver"), SOLVED, ids="-".join)
def test_every_solver_finds_the_same_motion(method, solver):
    flat, q, v = rotors(2, nbody=7, kinds=(*SINGLE, "ball"), damping=True)
    model = vt.Model(flat)
    exact = vt.simulate(model, q, v, duration=0.1, dt=2e-3, method=method, tolerance=1e-13, solver="newton")
    run = vt.simulate(model, q, v, duration=0.1, dt=2e-3, method=method, tolerance=1e-12, solver=solver,
                      max_iterations=200)  # fmt: skip
    assert np.abs(model.difference(run.q[-1], exact.q[-1])).max() < 1e-9
    assert np.abs(run.p[-1] - exact.p[-1]).max() < 1e-9 * np.abs(exact.p).max()


def test_the_trees_residual_finds_the_same_motion():
    flat, q, v = rotors(6, nbody=6, kinds=SINGLE, damping=True)
    model = vt.Model(replace(flat, loads=conservative_loads(flat)))
    runs = [
        vt.simulate(model, q, v, duration=0.1, dt=2e-3, method="midpoint", tolerance=1e-13, **how)
        for how in ({"kinetic": "midpoint"}, {"residual": "tree"}, {"residual": "tree", "caching": False},
                    {"residual": "tree", "solver": "recursive-newton"},
                    {"residual": "tree", "solver": "riqn", "max_iterations": 300})
    ]  # fmt: skip
    for run in runs[1:]:
        assert np.abs(run.q[-1] - runs[0].q[-1]).max() < 1e-10


@pytest.mark.parametrize("kinetic", ["screw", "com", None])
@pytest.mark.parametrize("base", ["fixed", "free"])
def test_order_two(base, kinetic):
    """Against DOP853, with all loads, of both methods; the explicit methods find the same motion."""
    flat, q, v = rotors(3, base, nbody=6, kinds=(*SINGLE, "ball"), damping=True)
    model = vt.Model(replace(flat, loads=(*conservative_loads(flat), *driving_loads(flat))))
    more = {"control": vt.Control(inputs=INPUTS)}
    exact = vt.simulate(model, q, v, duration=0.2, dt=0.2, method="scipy-dop853", rtol=1e-12, atol=1e-12, **more)
    method = {"method": "midpoint"} if kinetic is None else {"method": "linear-time", "kinetic": kinetic}
    counts = (40, 80, 160)
    errors = [end_error(model, exact[-1], vt.simulate(model, q, v, duration=0.2, dt=0.2 / n, **method, **more)[-1])
              for n in counts]  # fmt: skip
    assert np.abs(fitted([1 / n for n in counts], errors) - 2).max() < 0.1
    end = vt.simulate(model, q, v, duration=0.2, dt=1e-3, method="rk8", **more)[-1]
    assert end_error(model, exact[-1], end).max() < 1e-9


@pytest.mark.parametrize("order", [4, 6])
@pytest.mark.parametrize("method", VARIATIONAL)
def test_compositions(method, order):
    flat, q, v = rotors(4, "free", nbody=5, kinds=SINGLE)
    model = vt.Model(flat)
    exact = vt.simulate(model, q, v, duration=0.4, dt=0.4, method="scipy-dop853", rtol=1e-12, atol=1e-12)
    counts = (6, 10, 16) if order == 6 else (10, 16, 26)
    errors = [end_error(model, exact[-1], vt.simulate(model, q, v, duration=0.4, dt=0.4 / n, method=method,
              order=order, tolerance=1e-13)[-1]) for n in counts]  # fmt: skip
    assert (fitted([1 / n for n in counts], errors) > order - 0.5).all()


@pytest.mark.parametrize("how", [{"method": "midpoint"}, {"method": "midpoint", "alpha": 0.3},
                                 {"method": "linear-time", "kinetic": "screw"},
                                 {"method": "linear-time", "kinetic": "com"}],
                         ids=["midpoint", "alpha", "screw", "com"])  # fmt: skip
def test_steps_are_symplectic(how):
    """Of a chain of hinges and slides: A^T Omega A = Omega."""
    flat, q, v = rotors(1, nbody=4, kinds=SINGLE)
    model, n, e = vt.Model(flat), flat.damping.size, 1e-3
    p = model.generalized_momentum(q, v)

    def end(d):
        run = vt.simulate(model, q + d[:n], p0=p + d[n:], duration=0.02, dt=0.02, tolerance=1e-14, guess="aba",
                          solver="recursive-newton", **how)[-1]  # fmt: skip
        return np.concatenate((run.q, run.p))

    A, zero, one = slopes(end, 2 * n, e), np.zeros((n, n)), np.eye(n)
    omega = np.block([[zero, one], [-one, zero]])
    assert np.abs(A.T @ omega @ A - omega).max() < 1e-9 * np.abs(A).max() ** 2


@pytest.mark.parametrize("method", VARIATIONAL)
def test_energy_stays_bounded_and_momentum_to_rounding(method):
    """Of a floating tree without gravity: the spatial momentum of the bodies, to which rotors add nothing."""
    flat = with_rotors(random_flat(np.random.default_rng(5), nbody=6, base="free", gravity=(0, 0, 0),
                                   kinds=("revolute", "helical", "prismatic", "ball")), 5)  # fmt: skip
    q, v = random_state(flat, np.random.default_rng(6), speed=0.3)
    model = vt.Model(flat)
    assert model.is_free_floating
    run = vt.simulate(model, q, v, duration=20.0, dt=4e-3, method=method, record_every=5)
    assert np.abs(run.momentum - run.momentum[0]).max() < 1e-11 * np.abs(run.momentum[0]).max()
    error = run.energy - run.energy[0]
    assert np.abs(error).max() < 2e-3 * run.kinetic.max()
    blocks = error[1:].reshape(20, -1).mean(axis=1)
    assert abs(np.polyfit(np.linspace(0, 1, 20), blocks, 1)[0]) < max(0.3 * np.ptp(error), 1e-9)


def test_a_rotor_at_the_root_takes_part_of_the_momentum():
    """What the world turns is no part of the spatial momentum, and it is said that the momentum need not stay."""
    tree = vt.Tree("wheel", gravity=(0.0, 0.0, 0.0))
    tree.world.add(vt.tx("x", armature=1.0), vt.ty("y"), vt.tz("z"), vt.ball("turn"), vt.body("base", 1.0, (1, 1, 1)))
    assert not tree.compile().is_free_floating


def test_a_cart_with_a_motor_may_move_fast():
    """Errors do not grow with the speed of the whole: the rail's rotor has the same form of the kinetic energy."""
    tree = vt.Tree("cart", gravity=(0.0, 0.0, 0.0))
    cart = tree.world.add(vt.tx("rail", armature=3.0), vt.body("cart", 1.0))
    cart.add(vt.ry("pole", armature=0.2), vt.tz(1.0), vt.body("ball", 0.5)).add(
        vt.ry("second"), vt.tz(0.5), vt.body("end", 0.2))  # fmt: skip
    model, errors = tree.compile(), []
    exact = vt.simulate(model, v0=[0.0, 2.0, -3.0], duration=1.0, dt=1e-4, method="rk8")
    for speed in (0.0, 1.0, 20.0, 100.0):
        run = vt.simulate(model, v0=[speed, 2.0, -3.0], duration=1.0, dt=2e-3)
        assert run.settings["kinetic"] == "com"
        errors.append(np.abs(run.q[-1] - exact.q[-1])[1:].max())
    assert np.abs(np.array(errors) / errors[0] - 1).max() < 0.01, errors


@pytest.mark.parametrize("adapt", ["density", "sundman"])
def test_adaptive_steps(adapt):
    """Energy stays, and the motion is that of small steps."""
    flat = with_rotors(chain_flat(3), 2, decades=1.0)
    model, q = vt.Model(flat), np.array([1.0, 0.5, -0.3])
    exact = vt.simulate(model, q, duration=1.2, dt=1e-4, method="rk8")
    more = {"inertia": 1.0} if adapt == "sundman" else {}
    errors = []
    for dt in (4e-3, 2e-3):
        run = vt.simulate(model, q, duration=1.0, dt=dt, method="midpoint", adapt=adapt, rate=3.0, **more)
        at = np.array([np.interp(run.t[-1], exact.t, column) for column in exact.q.T])
        errors.append(np.abs(run.q[-1] - at).max())
        assert np.abs(run.energy - run.energy[0]).max() < 1e-3
    assert 3.0 < errors[0] / errors[1] < 5.0


@pytest.mark.parametrize("method", VARIATIONAL)
def test_the_rotor_of_a_prescribed_joint_changes_nothing_else(method):
    flat, q, v = rotors(7, nbody=5, kinds=SINGLE)
    held = np.arange(flat.damping.size) == 1
    size = np.where(held, 5.0, flat.armature)
    v = np.where(held, 0.0, v)
    runs = []
    for armature in (flat.armature * ~held, size):
        model = vt.Model(replace(flat, kinematic=held, armature=armature))
        name = model.prescribed_joint_names[0]
        moved = {name: lambda t: q[1] + 0.15 * t**2}
        runs.append(vt.simulate(model, q, v, duration=0.3, dt=1e-3, method=method, control=vt.Control(prescribed=moved),
                                tolerance=1e-13))
    assert np.abs(runs[0].q - runs[1].q).max() < 1e-12


# ---- gears: a rotor that is a body -------------------------------------------------------------------------


def driven(rotor, ratio, geared):
    """An arm on a hinge with a motor at its shoulder: as armature, or as a body that a gear turns."""
    tree = vt.Tree("driven")
    tree.world.add(vt.ry("shoulder", armature=0.0 if geared else rotor * ratio**2), vt.tx(0.4),
                   vt.body("upper", 2.0, (0.02, 0.03, 0.04))).add(
        vt.tx(0.3), vt.ry("elbow"), vt.tx(0.2), vt.body("fore", 1.0, (0.01, 0.01, 0.02)))  # fmt: skip
    if geared:
        tree.world.add(vt.tz(1.0), vt.ry("motor"), vt.body("rotor", 0.0, (rotor, rotor, rotor)))
        tree.constrain(vt.gear("motor", "shoulder", ratio))
    return tree.compile()


@pytest.mark.parametrize("method", [*VARIATIONAL, "rk4", "semi-implicit-euler"])
def test_a_geared_body_moves_the_same(method):
    """The two-mass model, as a constraint and reduced."""
    rotor, ratio = 1.3e-3, 17.0
    one, two = driven(rotor, ratio, False), driven(rotor, ratio, True)
    v = np.array([0.7, -0.4])
    more = {"tolerance": 1e-13} if method in VARIATIONAL else {}
    a = vt.simulate(one, [0.3, 0.2], v, duration=1.0, dt=1e-3, method=method, **more)
    b = vt.simulate(two, [0.3, 0.2, 0.3 * ratio], [*v, ratio * v[0]], duration=1.0, dt=1e-3, method=method, **more)
    c = vt.simulate(two.reduced(), [0.3, 0.2], v, duration=1.0, dt=1e-3, method=method, **more)
    for other in (b, c):
        assert np.abs(a.q[-1] - other.q[-1, :2]).max() < 1e-10
        assert np.abs(a.energy - other.energy).max() < 1e-9
    tau = np.array([0.3, 0.1])
    assert np.abs(one.crba([0.3, 0.2]) - two.reduced().crba([0.3, 0.2])).max() < 1e-13
    found = two.reduced().forward_dynamics([0.3, 0.2], v, tau).acceleration
    assert np.abs(one.forward_dynamics([0.3, 0.2], v, tau).acceleration - found).max() < 1e-11
