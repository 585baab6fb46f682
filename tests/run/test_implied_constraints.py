"""Constraints that others imply are left out of runs, with a warning; singular configurations are errors."""

from __future__ import annotations

import numpy as np
import pytest

import vitree as vt

METHODS = ("linear-time", "midpoint", "implicit-euler", "rk4")


def four_bar(*closures: object, tilt: tuple[float, float, float] = (0, 0, 0)) -> vt.Model:
    """A planar four-bar linkage of hinges about y of a frame, closed by constraints."""
    tree = vt.Tree("four-bar", gravity=(0, 0, -9.81))
    base = tree.world.add(vt.fixed("base", (0, 0, 0), tilt))
    crank = base.add(vt.ry("crank"), vt.tz(0.3), vt.body("crank body", 0.5, (1e-3, 1e-3, 1e-3)))
    crank.add(vt.ry("coupler"), vt.tx(0.8), vt.body("coupler body", 0.7, (1e-3, 4e-3, 1e-3)), vt.frame("end"))
    rocker = base.add(vt.tx(0.9), vt.ry("rocker"), vt.tz(0.5), vt.body("rocker body", 0.5, (1e-3, 2e-3, 1e-3)))
    rocker.add(vt.frame("tip"))
    tree.constrain(*closures)
    return tree.compile()


LEAN = vt.point_constraint("end", "tip", [(1, 0, 0), (0, 0, 1)])
CLOSURES = {
    "three directions": [vt.point_constraint("end", "tip")],
    "twice": [LEAN, vt.point_constraint("tip", "end", [(1, 0, 0), (0, 0, 1)])],
    "twice in three, and in other directions": [
        vt.point_constraint("end", "tip"), vt.point_constraint("end", "tip", [(1, 0, 1), (1, 0, -1)])
    ],
    "a hinge": [vt.joint_constraints("revolute", "end", "tip", (0, 1, 0))],
}  # fmt: skip


def closed(model: vt.Model) -> np.ndarray:
    return vt.satisfy_constraints(model, [0.3, -0.2, 0.2], hold=["crank"])


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("closure", CLOSURES)
def test_redundant_loops_move_as_lean_ones(method: str, closure: str) -> None:
    """Redundant closures move as the two equations that suffice do, and all of them hold."""
    lean, full = four_bar(LEAN), four_bar(*CLOSURES[closure])
    q = closed(lean)
    v = lean.project_velocity(q, [3.0, 0.0, 0.0])
    a = vt.simulate(lean, q, v, duration=0.5, dt=2e-3, method=method)
    b = vt.simulate(full, q, v, duration=0.5, dt=2e-3, method=method)
    assert len(b.system.constraints) == 2 and any("left out" in text for text in b.warnings)
    # rk4 keeps the constraints by accelerations alone
    assert np.abs(a.q - b.q).max() < (1e-7 if method == "rk4" else 1e-9)
    assert np.abs(full.constraint_errors(b.q)).max() < (1e-7 if method == "rk4" else 1e-11)
    assert not a.warnings or not any("left out" in text for text in a.warnings)


def test_forces_are_those_of_the_lean_loop() -> None:
    """The sum of what the constraints do to the joints, Dh^T lam, is unique; multipliers are those of the kept rows."""
    lean, full = four_bar(LEAN), four_bar(*CLOSURES["twice"])
    q = closed(lean)
    a, b = (vt.simulate(model, q, duration=0.2, dt=2e-3) for model in (lean, full))
    assert a.multipliers.shape == b.multipliers.shape
    one, other = a.multipliers[1:-1], b.multipliers[1:-1]
    assert np.abs(one).max() > 1.0 and np.abs(one - other).max() < 1e-6 * np.abs(one).max()


def test_simulations_too() -> None:
    """A Simulation takes such a model as well, and its steps are those of the run."""
    full = four_bar(*CLOSURES["three directions"])
    q = closed(four_bar(LEAN))
    run = vt.simulate(full, q, duration=0.1, dt=2e-3)
    sim = vt.Simulation(full, q, dt=2e-3)
    sim.step(50)
    assert np.array_equal(sim.q, run.q[-1])


def test_resumed_runs() -> None:
    """A run without implied constraints goes on with the model that it has."""
    full = four_bar(*CLOSURES["three directions"])
    q = closed(four_bar(LEAN))
    whole = vt.simulate(full, q, duration=0.2, dt=2e-3)
    half = vt.simulate(full, q, duration=0.1, dt=2e-3)
    assert np.array_equal(half.resume(duration=0.1).q[-1], whole.q[-1])


def test_two_equal_gears() -> None:
    """Couplings of which one repeats another."""
    tree = vt.Tree("gears")
    for name in ("a", "b"):
        tree.world.add(vt.rz(name), vt.body(f"{name} wheel", 1.0, (0.01, 0.01, 0.02)))
    tree.constrain(vt.gear("a", "b", 2.0), vt.gear("b", "a", 0.5), vt.gear("a", "b", 2.0))
    model = tree.compile()
    run = vt.simulate(model, v0=[2.0, 1.0], duration=0.5, dt=0.01)
    assert np.abs(run.q[-1] - [1.0, 0.5]).max() < 1e-10


def parallelogram():
    """A plane loop of two cranks and a coupler of equal lengths."""
    tree = vt.Tree("parallelogram")
    crank = tree.world.add(vt.ry("crank"), vt.tz(0.3), vt.body("one", 0.5, (1e-3, 1e-3, 1e-3)))
    crank.add(vt.ry("coupler"), vt.tx(0.8), vt.body("two", 0.7, (1e-3, 4e-3, 1e-3)), vt.frame("end"))
    tree.world.add(vt.tx(0.8), vt.ry("rocker"), vt.tz(0.3), vt.body("three", 0.5, (1e-3, 2e-3, 1e-3)), vt.frame("tip"))
    tree.constrain(LEAN)
    return tree.compile()


def test_singular_configurations_are_errors() -> None:
    """A flat parallelogram has rows that depend on each other there alone."""
    model = parallelogram()
    flat = [np.pi / 2, -np.pi / 2, np.pi / 2]
    assert np.abs(model.constraint_errors(flat)).max() < 1e-12
    with pytest.raises(vt.VitreeError, match="depend on each other"):
        vt.simulate(model, flat, duration=0.1, dt=0.01)


@pytest.mark.parametrize("method", ["linear-time", "midpoint", "rk4"])
def test_weld_and_contact_in_one_direction(method: str) -> None:
    """A box that is welded to a post on the ground stands there: contacts have nothing to push."""
    tree = vt.Tree("post", gravity=(0, 0, -9.81))
    tree.world.add(vt.free("base"), vt.body("box", 1.0, (0.01, 0.01, 0.01)))
    tree.contact(vt.Ground(), vt.Contact("box", shapes=vt.Box((0.2, 0.2, 0.2))))
    tree.world.add(vt.fixed("post", (0, 0, 0.1)))
    tree.constrain(vt.weld("post", "box"), vt.weld("post", "box"))
    model = tree.compile()
    q = model.neutral()
    q[2] = 0.1
    run = vt.simulate(model, q, duration=0.1, dt=0.01, method=method)
    assert np.abs(run.q - q).max() < 1e-12


# ---- several instances, and states alone ------------------------------------------------------------------------

TILTED = (0.3, 0.7, -0.4)
TORQUES = np.array([[0.1, 0, 0], [0, 0.2, 0]])


@pytest.mark.parametrize("control", [None, TORQUES, lambda t, Q, V: TORQUES])
@pytest.mark.parametrize("closure", CLOSURES)
def test_rollouts_have_the_bits_of_single_runs_and_tell_what_was_left_out(closure: str, control: object) -> None:
    """Instances are without the same constraints as runs, whatever drives them."""
    lean, full = four_bar(LEAN), four_bar(*CLOSURES[closure])
    q = closed(lean)
    v = lean.project_velocity(q, [3.0, 0.0, 0.0])
    many = vt.rollout(full, np.array([q, q]), np.array([v, 0 * v]), duration=0.1, dt=2e-3, control=control)
    for k, one in enumerate((v, 0 * v)):
        run = vt.simulate(full, q, one, duration=0.1, dt=2e-3, control=None if control is None else TORQUES[k])
        assert np.array_equal(many.q[k], run.q)
        assert {c.name for c in full.constraints} - set(many.left_out[k]) == {c.name for c in run.system.constraints}
        assert many[k].warnings[0] == run.warnings[0] and "left out" in run.warnings[0]
    assert vt.rollout(lean, q, instances=2, duration=0.1, dt=2e-3).left_out == {}


@pytest.mark.parametrize("tilt", [(0, 0, 0), TILTED])
@pytest.mark.parametrize("closure", CLOSURES)
def test_states_of_redundant_loops(closure: str, tilt: tuple[float, float, float]) -> None:
    """Accelerations are those of the lean loop; multipliers have all rows, and their sum is the constraints' force."""
    lean, full = four_bar(LEAN, tilt=tilt), four_bar(*CLOSURES[closure], tilt=tilt)
    q = closed(lean)
    v = lean.project_velocity(q, [3.0, 0.0, 0.0])
    a, lam = full.forward_dynamics(q, v)
    expected, of_lean = lean.forward_dynamics(q, v)
    size = np.abs(expected).max()
    assert np.abs(a - expected).max() < 1e-13 * size and lam.shape == (len(full.constraints),)
    forces = [model._constraint_rows(q[None])[1][0].T @ x for model, x in ((full, lam), (lean, of_lean))]
    assert np.abs(forces[0] - forces[1]).max() < 1e-12 * np.abs(forces[1]).max()
    # of what the loop allows the joint forces are the same; they are balanced with the multipliers
    more = expected + lean.project_velocity(q, [1.0, 2.0, 3.0])
    tau = full.inverse_dynamics(q, v, more)
    assert np.abs(tau - lean.inverse_dynamics(q, v, more)).max() < 1e-13 * size
    assert np.abs(full.forward_dynamics(q, v, tau)[0] - more).max() < 1e-12 * size
    with pytest.raises(vt.InputError, match="violates the constraint"):
        full.inverse_dynamics(q, v, expected + np.array([1.0, 0.0, 0.0]))
    # reactions in the plane, which do not depend on how the rest is shared
    for name, wrench in full.joint_reactions(q, v).items():
        assert abs(wrench[1]) < 1e-13 and np.abs(wrench[[3, 5]] - lean.joint_reactions(q, v)[name][[3, 5]]).max() < (
            1e-11 if closure == "twice" or not any(tilt) else np.inf
        )


@pytest.mark.parametrize("closure", CLOSURES)
def test_static_equilibrium_of_a_redundant_loop(closure: str) -> None:
    """Torques are those of the lean loop, and with the multipliers they balance the weight."""
    lean, full = four_bar(LEAN), four_bar(*CLOSURES[closure])
    q = closed(lean)
    one, other = vt.static_equilibrium(lean, q, motors=["crank"]), vt.static_equilibrium(full, q, motors=["crank"])
    assert one.possible and other.possible and other.multipliers.shape == (len(full.constraints),)
    assert np.abs(one.torques - other.torques).max() < 1e-9 * np.abs(one.torques).max()
    rows = full._constraint_rows(q[None])[1][0]
    assert np.abs(other.torques + full.passive_force(q) + rows.T @ other.multipliers).max() < 1e-9
    assert np.abs(full.forward_dynamics(q, 0 * q, other.torques)[0]).max() < 1e-8


def test_a_linearized_step_of_a_redundant_loop() -> None:
    """Derivatives of steps are those of the lean loop."""
    lean, full = four_bar(LEAN), four_bar(*CLOSURES["three directions"])
    q = closed(lean)
    assert np.array_equal(vt.linearize(full, q, dt=2e-3).A, vt.linearize(lean, q, dt=2e-3).A)


def test_a_welded_pair_on_the_ground_is_carried_by_it() -> None:
    """Contacts and constraints that others imply together."""
    tree = vt.Tree("pair", gravity=(0, 0, -9.81))
    tree.world.add(vt.free("base"), vt.body("box", 1.0, (0.01, 0.01, 0.01)))
    tree.world.add(vt.free("other"), vt.body("ball", 2.0, (0.01, 0.01, 0.01)))
    tree.contact(vt.Ground(), vt.Contact("box", shapes=vt.Box((0.2, 0.2, 0.2))))
    tree.constrain(vt.weld("ball", "box"), vt.weld("ball", "box"))
    model = tree.compile()
    q = model.neutral()
    q[[2, 9]] = 0.1
    at_rest = np.zeros(12)
    assert np.abs(model.forward_dynamics(q, at_rest)[0]).max() < 1e-12
    assert np.abs(model.contact_forces(q, at_rest).force.sum(axis=0) - [0, 0, 29.43]).max() < 1e-12
    assert np.abs(model.inverse_dynamics(q, at_rest, at_rest)).max() < 1e-12
    assert vt.static_equilibrium(model, q).possible


def test_states_at_singular_configurations_are_errors() -> None:
    """Where rows depend on each other at one place alone, or the loop is open, no constraint is left out."""
    model = parallelogram()
    flat = [np.pi / 2, -np.pi / 2, np.pi / 2]
    for call in (lambda: model.forward_dynamics(flat, np.zeros(3)), lambda: vt.static_equilibrium(model, flat),
                 lambda: model.joint_reactions(flat, np.zeros(3))):  # fmt: skip
        with pytest.raises(vt.VitreeError, match="depend on each other"):
            call()
    loose = four_bar(*CLOSURES["twice"])
    with pytest.raises(vt.ConvergenceError, match="independent_constraints"):
        loose.forward_dynamics([0.1, 0.2, 0.3], np.zeros(3))
