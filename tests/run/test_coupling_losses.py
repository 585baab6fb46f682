"""Couplings that lose power: accelerations in both directions, rest by their friction, and what refuses them."""

from __future__ import annotations

import numpy as np
import pytest

import vitree as vt

G = 9.81
METHODS = ("linear-time", "midpoint", "implicit-euler")
MOTOR, WHEEL, RATIO = 0.01, 0.5, 5.0


def drive(efficiency: float, ratio: float = RATIO, load: float = 0.0, **options: object) -> vt.Model:
    """A motor whose gear turns a wheel, which has a weight at an arm of 0.3 m if a load [kg] is given."""
    tree = vt.Tree("drive", gravity=(0, 0, -G))
    tree.world.add(vt.ry("motor"), vt.body("rotor", 1.0, (MOTOR,) * 3))
    wheel = tree.world.add(vt.ry("arm"), vt.body("wheel", 2.0, (WHEEL,) * 3))
    if load:
        wheel.add(vt.tx(0.3), vt.body("weight", load))
    tree.constrain(vt.gear("motor", "arm", ratio, efficiency=efficiency, **options))
    return tree.compile()


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("efficiency", [1.0, 0.9, 0.7, 0.5, 0.45, 0.2])
@pytest.mark.parametrize("sign", [1, -1])
def test_power_that_arrives_is_the_share_of_what_is_given(method: str, efficiency: float, sign: int) -> None:
    """A motor with the torque T accelerates as I a = T - L/e, L = J a/n^2 of the wheel; driven, with e L of its own."""
    t, torque = 0.2, 2.0 * sign
    run = vt.simulate(drive(efficiency), duration=t, dt=0.01, method=method, control=np.array([torque, 0.0]))
    a = torque / (MOTOR + WHEEL / RATIO**2 / efficiency)
    for k, share in ((0, 1.0), (1, 1 / RATIO)):
        assert run.v[:, k] == pytest.approx(share * a * run.t, rel=1e-9)
    run = vt.simulate(drive(efficiency), duration=t, dt=0.01, method=method, control=np.array([0.0, torque]))
    a = torque / (WHEEL + MOTOR * RATIO**2 / efficiency)
    assert run.v[:, 1] == pytest.approx(a * run.t, rel=1e-9)
    assert np.abs(run.constraint).max() < 1e-12


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("ratio", [-40.0, 40.0])
def test_a_worm_gear_holds_a_weight_to_the_bit_and_a_good_gear_does_not(method: str, ratio: float) -> None:
    """With no power back, no load moves the motor, which has no other friction; the motor moves the load."""
    model = drive((0.4, 0.0), ratio, load=3.0)
    run = vt.simulate(model, duration=2.0, dt=5e-3, method=method)
    assert np.abs(run.q).max() < 1e-15 and np.abs(run.v).max() < 1e-11
    run = vt.simulate(drive((0.4, 0.05), ratio, load=3.0), duration=2.0, dt=5e-3, method=method)
    assert abs(run.q[-1, 1]) > 1e-3
    torque = np.sign(-ratio) * 1.02 * 3.0 * G * 0.3 / abs(ratio) / 0.4
    assert vt.simulate(model, duration=1.0, dt=5e-3, method=method, control=np.array([torque, 0.0])).q[-1, 1] < -1e-3
    assert np.abs(vt.simulate(model, duration=1.0, dt=5e-3, method=method,
                              control=np.array([0.95 * torque, 0.0])).q).max() < 1e-15  # fmt: skip
    # the other way round
    tree = vt.Tree("worm", gravity=(0, 0, -G))
    tree.world.add(vt.ry("motor"), vt.body("rotor", 1.0, (MOTOR,) * 3))
    tree.world.add(vt.ry("arm"), vt.tx(0.3), vt.body("weight", 3.0))
    tree.constrain(vt.gear("arm", "motor", 1 / ratio, efficiency=(0.0, 0.4)))
    assert np.abs(vt.simulate(tree.compile(), duration=1.0, dt=5e-3, method=method).q).max() < 1e-15


@pytest.mark.parametrize("pitch", [0.001, 0.01, -0.1])
@pytest.mark.parametrize("efficiency", [0.4, 0.9])
def test_a_self_locking_screw_holds_a_weight(pitch: float, efficiency: float) -> None:
    tree = vt.Tree("jack", gravity=(0, 0, -G))
    tree.world.add(vt.ry("motor"), vt.body("rotor", 1.0, (MOTOR,) * 3))
    tree.world.add(vt.tz("lift"), vt.body("weight", 5.0))
    tree.constrain(vt.screw_pair("lift", "motor", pitch, efficiency=(0.0, efficiency)))
    run = vt.simulate(tree.compile(), duration=2.0, dt=0.01)
    assert np.abs(run.q).max() < 1e-15 and np.abs(run.v).max() < 1e-12


@pytest.mark.parametrize("efficiency", [0.8, 0.4])
def test_a_motor_holds_within_the_bounds_of_its_gear(efficiency: float) -> None:
    """At rest any torque from e L to L/e at the motor holds; beyond it moves either way."""
    torque = 3.0 * G * 0.3 / RATIO  # of the weight, at the motor
    model = drive(efficiency, load=3.0)
    for share, moves in ((1 / efficiency - 0.01, 0), (1 / efficiency + 0.01, -1), (efficiency + 0.01, 0),
                         (efficiency - 0.01, 1)):  # fmt: skip
        run = vt.simulate(model, duration=0.5, dt=5e-3, control=np.array([-share * torque, 0.0]))
        if moves:
            assert np.sign(run.q[-1, 1]) == moves and abs(run.q[-1, 1]) > 1e-6
        else:
            assert np.abs(run.q).max() < 1e-15


@pytest.mark.parametrize("method", ["linear-time", "midpoint"])
def test_the_energy_that_is_lost_is_the_share_of_the_work(method: str) -> None:
    """Of a motor that lifts a weight slowly, at a prescribed speed, the share e of its work is in the weight."""
    efficiency = 0.6
    tree = vt.Tree("winch", gravity=(0, 0, -G))
    tree.world.add(vt.ry("motor"), vt.body("rotor", 1.0, (MOTOR,) * 3))
    tree.world.add(vt.tz("lift"), vt.body("weight", 5.0))
    tree.constrain(vt.screw_pair("lift", "motor", 0.1, efficiency=efficiency))
    model = tree.compile()
    force = 5.0 * G
    torque = force * 0.1 / efficiency  # balances the weight upwards
    run = vt.simulate(model, v0=[1.0, 0.1], duration=1.0, dt=0.01, method=method, control=np.array([torque, 0.0]))
    assert run.v == pytest.approx(np.tile([1.0, 0.1], (len(run), 1)), abs=1e-9)
    work, gained = torque * np.diff(run.q[:, 0]), np.diff(run.energy)
    assert gained == pytest.approx(efficiency * work, rel=1e-8)
    losses = run.contacts
    assert set(losses.a) == {"lift"} and set(losses.b) == {"coupling loss"}
    assert losses.force[1:, 0] == pytest.approx(-(1 / efficiency - 1) * force * np.ones(len(losses) - 1), rel=1e-8)


@pytest.mark.parametrize("method", ["linear-time", "midpoint"])
def test_order_two_where_the_direction_of_power_changes(method: str) -> None:
    """A weight swings with the motor behind its gear: power goes to and fro."""
    model, ends = drive(0.8, 3.0, load=1.0), []
    for dt in (2e-2, 1e-2, 5e-3, 6.25e-4):
        run = vt.simulate(model, v0=[1.5, 0.5], duration=0.6, dt=dt, method=method)
        assert np.diff(run.energy).max() < 1e-3
        ends.append(run.q[-1])
    errors = [np.abs(end - ends[-1]).max() for end in ends[:-1]]
    assert errors[2] < 0.35 * errors[1] < 0.35**2 * errors[0] * 1.2


def test_a_train_of_gears() -> None:
    """Three gears in a row, and two on one motor: the shares multiply, and add."""
    tree = vt.Tree("train", gravity=(0, 0, 0))
    inertias, ratios, shares = [0.01, 0.02, 0.05, 0.4], [2.0, 3.0, 1.5], [0.9, 0.8, 0.7]
    for k, x in enumerate(inertias):
        tree.world.add(vt.rz(f"j{k}"), vt.body(f"b{k}", 1.0, (x,) * 3))
    for k, (ratio, share) in enumerate(zip(ratios, shares, strict=True)):
        tree.constrain(vt.gear(f"j{k}", f"j{k + 1}", ratio, efficiency=share))
    reflected = inertias[3]
    for inertia, ratio, share in zip(inertias[2::-1], ratios[::-1], shares[::-1], strict=True):
        reflected = inertia + reflected / ratio**2 / share
    run = vt.simulate(tree.compile(), duration=0.2, dt=0.01, control=np.array([1.0, 0, 0, 0]))
    assert run.v[-1, 0] == pytest.approx(0.2 / reflected, rel=1e-8)
    tree = vt.Tree("both", gravity=(0, 0, 0))
    for name, x in (("motor", 0.01), ("a", 0.3), ("b", 0.2)):
        tree.world.add(vt.rz(name), vt.body(f"{name} body", 1.0, (x,) * 3))
    tree.constrain(vt.gear("a", "motor", 0.2, efficiency=0.8), vt.gear("b", "motor", -0.5, efficiency=0.3))
    run = vt.simulate(tree.compile(), duration=0.2, dt=0.01, control=np.array([1.0, 0, 0]))
    assert run.v[-1, 0] == pytest.approx(0.2 / (0.01 + 0.3 * 0.04 / 0.8 + 0.2 * 0.25 / 0.3), rel=1e-8)


def test_with_contacts_and_dry_friction() -> None:
    """A geared arm falls on the ground and rests there; with dry friction of its own, and without, energy falls."""
    for dry in (0.0, 0.2):
        tree = vt.Tree("arm", gravity=(0, 0, -G))
        tree.world.add(vt.ry("motor"), vt.body("rotor", 1.0, (MOTOR,) * 3))
        tree.world.add(vt.tz(0.5), vt.ry("arm", dry_friction=dry), vt.tx(1.0), vt.body("tip", 1.0, (0.01,) * 3))
        tree.constrain(vt.gear("motor", "arm", 5.0, efficiency=0.8))
        tree.contact(vt.Ground(), vt.Contact("tip", shapes=vt.Sphere(0.1)))
        model = tree.compile()
        run = vt.simulate(model, duration=3.0, dt=5e-3)
        assert np.diff(run.energy).max() < 1e-6
        assert model.contact_gaps(run.q[-1]).gap.min() > -1e-9 and np.abs(run.v[-1]).max() < 1e-6
        assert np.abs(run.constraint).max() < 1e-10


@pytest.mark.parametrize("method", METHODS)
def test_runs_go_on_to_the_bit(method: str) -> None:
    model = drive(0.7, 3.0, load=1.0)
    whole = vt.simulate(model, v0=[1.5, 0.5], duration=1.0, dt=5e-3, method=method)
    half = vt.simulate(model, v0=[1.5, 0.5], duration=0.5, dt=5e-3, method=method)
    assert np.array_equal(half.resume(duration=0.5).q[-1], whole.q[-1])
    sim = vt.Simulation(model, None, [1.5, 0.5], dt=5e-3, method=method)
    sim.step(200)
    assert np.array_equal(sim.q, whole.q[-1])
    many = vt.rollout(model, v0=np.array([[1.5, 0.5]] * 2), duration=1.0, dt=5e-3, method=method)
    assert np.array_equal(many.q[1, -1], whole.q[-1])


def test_without_a_loss_nothing_changes_and_reduction_keeps_what_loses() -> None:
    one, other = drive(1.0, load=1.0), drive(0.8, load=1.0)
    assert not one.has_contact and other.has_contact and not other.is_conservative
    assert one.reduced().nq == 1 and other.reduced().nq == 2


def test_what_does_not_know_losses_refuses_them() -> None:
    model = drive(0.8, load=1.0)
    q, v = np.zeros(2), np.zeros(2)
    for call in (lambda: model.forward_dynamics(q, v), lambda: model.inverse_dynamics(q, v, v),
                 lambda: model.joint_reactions(q, v, v, multipliers=[0.0]), lambda: vt.static_equilibrium(model, q),
                 lambda: vt.linearize(model, q, dt=0.01)):  # fmt: skip
        with pytest.raises(vt.ModelError, match="does not know the efficiency of couplings"):
            call()
    for method in ("rk4", "semi-implicit-euler", "gauss", "scipy-rk45"):
        with pytest.raises(vt.ModelError, match=f"the method {method} does not support"):
            vt.simulate(model, duration=0.1, dt=0.01, method=method)
    with pytest.raises(vt.InputError, match="order"):
        vt.simulate(model, duration=0.1, dt=0.01, order=4)
    twice = vt.Tree("twice")
    for name in "ab":
        twice.world.add(vt.rz(name), vt.body(f"{name} body", 1.0, (0.1,) * 3))
    twice.constrain(vt.gear("a", "b", 2.0), vt.gear("a", "b", 2.0, efficiency=0.5))
    with pytest.raises(vt.InputError, match="depend on each other"):
        vt.simulate(twice.compile(), duration=0.1, dt=0.01)


def test_efficiencies_are_checked_and_kept_in_texts() -> None:
    for wrong in (0.0, -0.1, 1.1, np.nan, (0.5,), (0.0, 0.0), (0.5, 1.2), (0.5, 0.5, 0.5)):
        with pytest.raises(vt.ModelError, match="above 0 in one direction"):
            vt.gear("a", "b", 2.0, efficiency=wrong)
    tree = vt.Tree("t")
    for name in "ab":
        tree.world.add(vt.rz(name), vt.body(f"{name} body", 1.0, (0.1,) * 3))
    tree.constrain(vt.gear("a", "b", 2.0, 0.3, efficiency=0.7), vt.gear("b", "a", 2.0, efficiency=(0.5, 0)))
    assert vt.read_sexpr(vt.write_sexpr(tree)).constraints == tree.constraints
    with pytest.raises(vt.ModelError, match="constraints"):
        vt.write_urdf(tree.compile())
    two = vt.Tree("two")
    two.attach(tree, prefix="x_")
    assert two.constraints[0].efficiency == 0.7
