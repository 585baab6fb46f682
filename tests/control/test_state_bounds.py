"""Bounds on coordinates and velocities: derivatives of their terms, optima beside the transcription, wrong uses."""

from __future__ import annotations

import numpy as np
import pytest
from cart_poles import cart_pole
from closed_chains import four_bar
from cranes import crane, raising
from random_models import chain_flat, random_flat, random_state

import vitree as vt
from vitree.control import FrameCost, QuadraticCost, Search, optimize_motion
from vitree.control.bounded import Bounded, Motion, Quadratic
from vitree.control.state_bounds import StateBounds, velocity_slopes

SWING = {"duration": 2.0, "dt": 0.04, "actuators": ["slide"],
         "costs": QuadraticCost([0.0, 0.0], Q=np.r_[1, 1, 0.1, 0.1] * 4e-4, R=[4e-4], Q_end=[10, 10, 1, 1])}


def floating():
    return vt.Model(random_flat(np.random.default_rng(0), nbody=4, kinds=("free", "ball", "revolute", "prismatic")))


def moved(model, q, p, d):
    """A state displaced by d (2 nv,)."""
    return model.integrate(q, d[: model.nv]), p + d[model.nv :]


@pytest.mark.parametrize("make", [floating, lambda: vt.Model(chain_flat(4))])
def test_velocities_have_the_derivatives_of_differences(make):
    model, rng = make(), np.random.default_rng(1)
    q, p, n = random_state(model.flat, rng)[0], rng.normal(size=model.nv), 2 * model.nv
    v, by_q, by_p = (x[0] for x in velocity_slopes(model, q[None], p[None]))
    np.testing.assert_allclose(v, model.velocity_from_momentum(q, p), rtol=1e-12)
    sides = [[model.velocity_from_momentum(*moved(model, q, p, s * e)) for s in (1e-6, -1e-6)] for e in np.eye(n)]
    expected = np.array([(one - other) / 2e-6 for one, other in sides]).T
    np.testing.assert_allclose(np.hstack([by_q, by_p]), expected, atol=1e-7 * np.abs(expected).max())


def penalised(model, rng):
    """Bounds of all entries of q and all velocities, with multipliers, of three nodes that violate many of them."""
    q = np.array([random_state(model.flat, rng)[0] for _ in range(3)])
    p = rng.normal(size=(3, model.nv))
    pairs = lambda names: {name: tuple(np.sort(rng.normal(size=2))) for name in names}  # noqa: E731
    bounds = StateBounds(model, 2, pairs(model.q_names), pairs(model.v_names))
    bounds.begin(3.0)
    bounds.multipliers[:, 1:] = rng.uniform(0, 0.5, bounds.multipliers[:, 1:].shape)
    return bounds, q, p


def expand(bounds, q, p, gradients, matrices):
    """Add the term's derivatives."""
    bounds = Bounded([bounds])
    bounds.add(Motion(q, p, np.zeros((2, 0))), None, Quadratic(gradients, matrices, *np.zeros((3, 0))))


@pytest.mark.parametrize("make", [floating, lambda: vt.Model(chain_flat(4))])
def test_the_term_of_bounds_has_its_gradient(make):
    model, rng = make(), np.random.default_rng(2)
    bounds, q, p = penalised(model, rng)
    gradients, matrices = np.zeros((3, 2 * model.nv)), np.zeros((3, 2 * model.nv, 2 * model.nv))
    expand(bounds, q, p, gradients, matrices)
    d = rng.normal(size=(3, 2 * model.nv))
    sides = []
    for size in (1e-6, -1e-6):
        ends = [moved(model, q[k], p[k], size * d[k]) for k in range(3)]
        sides.append(bounds.penalise(Motion(*(np.array(x) for x in zip(*ends, strict=True)), np.zeros((2, 0)))))
    assert (sides[0] - sides[1]) / 2e-6 == pytest.approx(np.sum(gradients * d), rel=1e-6)
    assert not gradients[0].any() and not matrices[0].any(), "the start is given"
    np.testing.assert_allclose(matrices, matrices.swapaxes(1, 2), atol=1e-12 * np.abs(matrices).max())


def test_the_term_of_bounds_has_its_second_derivatives():
    model, rng = vt.Model(chain_flat(3)), np.random.default_rng(3)
    bounds, q, p = penalised(model, rng)

    def gradient(d):
        found, matrices = np.zeros((3, 6)), np.zeros((3, 6, 6))
        expand(bounds, q + d[:3], p + d[3:], found, matrices)
        return found, matrices

    whole = gradient(np.zeros(6))[1] + bounds.bend(q, p)
    for j, e in enumerate(1e-5 * np.eye(6)):
        expected = (gradient(e)[0] - gradient(-e)[0]) / 2e-5
        np.testing.assert_allclose(whole[:, :, j], expected, atol=1e-5 * np.abs(whole).max())


@pytest.mark.parametrize("method", ["linear-time", "midpoint"])
@pytest.mark.parametrize("search", ["ddp", "fddp", "projection"])
def test_a_pole_swings_up_between_the_ends_of_a_rail(search, method):
    model, between = cart_pole(), {"slide": (-0.3, 0.25)}
    found = optimize_motion(model, [0.0, np.pi], bounds=between, search=search, method=method, **SWING)
    assert found.success and found.violation <= 1e-6
    assert found.q[:, 0].min() >= -0.3 - 1e-6 and found.q[:, 0].max() <= 0.25 + 1e-6
    assert np.isclose(found.q[:, 0].min(), -0.3, atol=1e-5) or np.isclose(found.q[:, 0].max(), 0.25, atol=1e-5)
    np.testing.assert_allclose(found.trajectory.q, found.q, atol=1e-8)
    guess = found.q, found.p
    other = optimize_motion(model, [0.0, np.pi], bounds=between, search="transcription", method=method, states=guess,
                            control=found.torque, **SWING)  # fmt: skip
    assert other.success and other.violation < 1e-8
    # a bound that is passed by 1 um saves 2.3e-6 of the cost
    found = optimize_motion(model, [0.0, np.pi], bounds=between, search=search, method=method, tolerance=1e-9, **SWING)
    assert found.cost == pytest.approx(other.cost, rel=1e-6)


@pytest.mark.parametrize("bounded", [
    {0: (-0.9, 0.1), 1: (-9.0, 9.0)}, {3: (-3.0, 1.0)}, {0: (-0.9, 0.1), 2: (-1.52, -1.25)},
])  # fmt: skip
def test_an_arm_moves_within_its_joints_limits(bounded):
    model = vt.load_urdf(vt.find_robot("arm6"))
    start = np.array([0.0, 0.6, -1.5, 0.0, 0.7, 0.0])
    to = model.frame_pose("flange", start)[:3, 3] + [0.1, 0.2, -0.1]
    rest = QuadraticCost(Q=0.01, R=np.repeat([1e-4, 0.1], 3), Q_end=np.repeat([0.0, 1.0], 6))
    task = {"duration": 1.0, "dt": 0.02, "costs": [rest, FrameCost("flange", to, weight=1.0, weight_end=1e4)],
            "control": -model.passive_force(start)}  # fmt: skip
    free = optimize_motion(model, start, **task)
    names = model.q_names
    bounds = {names[k]: pair for k, pair in bounded.items()}
    assert free.q[:, 0].min() < -1.0 and free.q[:, 3].max() > 1.5
    found = optimize_motion(model, start, bounds=bounds, **task)
    assert found.success and found.violation <= 1e-6 and found.cost > free.cost
    other = optimize_motion(model, start, bounds=bounds, search="transcription", **{**task, "control": found.torque},
                            states=(found.q, found.p))  # fmt: skip
    assert other.success and found.cost == pytest.approx(other.cost, rel=1e-6)


def test_a_base_that_floats_has_bounds_on_its_height():
    """A body with a ball joint goes to a place, and turns, under a ceiling that its straight way would touch."""
    tree = vt.Tree("satellite", gravity=(0, 0, -2.0))
    mast = [vt.ball("arm"), vt.body("mast", 0.5, (0.1, 0.1, 0.05))]
    tree.world.add(vt.free("base"), vt.body("hull", 2.0, (0.3, 0.2, 0.4)), mast)
    model = tree.compile()
    goal = model.integrate(model.neutral(), np.r_[np.zeros(3), 0.3, 0.9, -0.4, 0.2, -0.3, 0.5])
    goal[:3] = 1.0, 0.2, 0.5
    cost = QuadraticCost(goal, R=1e-3, Q_end=np.r_[np.full(9, 500.0), np.full(9, 50.0)])
    task = {"duration": 1.0, "dt": 0.05, "costs": cost, "control": -model.passive_force(model.neutral())}
    high = optimize_motion(model, **task)
    most = {"base.z": (-1.0, 0.3), "base.x": (-1.0, 0.9)}
    found = optimize_motion(model, bounds=most, **task)
    assert high.q[:, 2].max() > 0.4 and found.success and found.violation <= 1e-6
    assert found.q[-1, 2] == pytest.approx(0.3, abs=1e-5)
    other = optimize_motion(model, bounds=most, search="transcription", states=(found.q, found.p),
                            **{**task, "control": found.torque})  # fmt: skip
    assert other.success and found.cost == pytest.approx(other.cost, rel=1e-5)


def test_bounds_that_nothing_violates_change_nothing():
    wide = {"bounds": {"slide": (-9, 9), "swing": (-np.inf, 9)}, "velocity_bounds": {"slide": (-99, np.inf)}}
    free, found = (optimize_motion(cart_pole(), [0.0, np.pi], **SWING, **more) for more in ({}, wide))
    assert found.success and found.violation == 0.0 and found.cost == pytest.approx(free.cost, rel=1e-6)


def test_a_closed_chain_within_bounds():
    model = four_bar()
    q0, goal = (vt.satisfy_constraints(model, [angle, 0.1, 0.3]) for angle in (0.5, 0.9))
    cost = QuadraticCost(goal, Q=0.1, R=[0.02], Q_end=np.r_[20.0, 20, 20, 1, 1, 1])
    task = {"duration": 0.6, "dt": 0.03, "actuators": ["crank"], "costs": cost, "bounds": {"crank": (0.0, 0.6)}}
    found, other = (optimize_motion(model, q0, search=search, **task) for search in ("ddp", "transcription"))
    assert found.success and found.violation <= 1e-6 and found.q[:, 0].max() > 0.599
    assert other.success and found.cost == pytest.approx(other.cost, rel=1e-6)


def test_a_load_on_a_crane_does_not_swing_far():
    """The place of the trolley is prescribed, and the control; the bounds are on the hinge of the load."""
    tree = vt.Tree("crane")
    trolley = tree.world.add(vt.tx("trolley", kinematic=True), vt.body("cart", 5.0))
    trolley.add(vt.ry("swing"), vt.tz(-1.0), vt.body("load", 2.0))
    cost = QuadraticCost([1.0, 0.0], goal_u=[1.0], Q=[0, 0, 1e-3, 0], R=[0.02], Q_end=[1e3, 1e3, 1, 1e3])
    task = {"duration": 2.0, "dt": 0.02, "costs": cost, "actuators": ["trolley"]}
    free = optimize_motion(tree.compile(), **task)
    found = optimize_motion(tree.compile(), bounds={"swing": (-0.12, 0.12)}, **task)
    assert np.abs(free.q[:, 1]).max() > 0.15 and found.success
    assert 0.1199 < np.abs(found.q[:, 1]).max() <= 0.12 + 1e-6
    run = vt.simulate(tree.compile(), p0=found.p[0], duration=2.0, dt=0.02,
                      control=vt.Control(prescribed=found.prescribed))  # fmt: skip
    np.testing.assert_allclose(run.q, found.q, atol=1e-9)


def test_an_arm_on_a_box_that_stands_within_bounds():
    model, q = crane()
    given = raising(q)
    costs = QuadraticCost(**{name: given.pop(name) for name in ("goal", "Q", "R", "Q_end")})
    found = optimize_motion(model, q, costs=costs, bounds={"shoulder": (-1.0, 0.5)}, **given)
    assert found.success and found.violation <= 1e-6 and found.q[:, 7].max() > 0.4999
    assert np.abs(found.trajectory.contacts.slip).max() < 1e-9
    with pytest.raises(vt.InputError, match="velocity_bounds are not supported with contacts"):
        optimize_motion(model, q, costs=costs, velocity_bounds={"shoulder": (-1.0, 0.5)}, **given)


def test_a_receding_horizon_within_bounds():
    """A cart brings its pole upright without leaving the rail; the multipliers move on with the horizon."""
    cost = QuadraticCost([0, 0], Q=0.02 * np.array([1, 1, 0.1, 0.1]), R=[2e-4], Q_end=[10, 10, 1, 1])
    search = Search(cart_pole(), duration=0.6, dt=0.02, actuators=["slide"], costs=cost,
                    bounds={"slide": (-0.1, 0.1)})  # fmt: skip
    sim, counts, free = vt.Simulation(cart_pole(), [0.0, 0.1], dt=0.02), [], []
    for k in range(40):
        plan = search.solve(sim.q, sim.v, shift=min(k, 1))
        counts.append(len(plan.costs) - 1)
        assert plan.success
        sim.step(control=vt.Control(torque=plan.torque[0]))
        free.append(sim.q[0])
    assert 0.0999 < np.abs(free).max() <= 0.1 + 1e-5
    assert abs(sim.q[1]) < 0.05
    assert np.mean(counts[5:]) < counts[0]


def test_what_is_violated_at_the_end_is_told():
    found = optimize_motion(cart_pole(), [0.0, np.pi], bounds={"slide": (-0.3, 0.25)}, max_iterations=10, **SWING)
    assert not found.success and found.violation > 1e-6
    assert f'"slide" at node' in found.message and f"{found.violation:.3g} out of its bounds" in found.message  # noqa: F541


@pytest.mark.parametrize(("wrong", "text"), [
    ({"bounds": {"slid": (0, 1)}}, "slide"), ({"bounds": {"slide": (1, 0)}}, "least, greatest"),
    ({"bounds": 3}, "bounds"), ({"bounds": {"slide": "x"}}, "least, greatest"), ({"bound_tolerance": 0.0}, "tolerance"),
    ({"velocity_bounds": {"swin": (0, 1)}}, "swing"), ({"velocity_bounds": {"slide": (np.nan, 1)}}, "least, greatest"),
])  # fmt: skip
@pytest.mark.parametrize("search", ["ddp", "transcription"])
def test_wrong_bounds(search, wrong, text):
    with pytest.raises(vt.VitreeError, match=text):
        optimize_motion(cart_pole(), search=search, **SWING, **wrong)


def test_models_whose_momenta_do_not_tell_velocities():
    tree = vt.Tree("moved")
    tree.world.add(vt.tx("x", kinematic=True), vt.ry("turn"), vt.tz(-1.0), vt.body("bob", 1.0))
    with pytest.raises(vt.InputError, match='velocity_bounds are not supported with prescribed coordinates'):
        optimize_motion(tree.compile(), duration=0.1, dt=0.01, costs=QuadraticCost([0, 0], R=1.0), actuators=["turn"],
                        velocity_bounds={"turn": (-1, 1)})  # fmt: skip
