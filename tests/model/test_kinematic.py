"""Prescribed coordinates: order, exactness, wires that carry them, and bad input."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from loaded_models import (
    SINGLE,
    conservative_loads,
    coordinate,
    driving_loads,
    end_error,
    fitted,
    one_coordinate_joints,
    random_tree,
    singles,
)

import vitree as vt
from vitree.mechanism.flat import KINDS

OMEGA, REACH = 3.0, 0.4


def cart():
    """A cart that moves as prescribed, with two pendulums on it."""
    tree = vt.Tree("cart")
    on = tree.world.add(vt.tx("x", kinematic=True), vt.body("cart", 3.0))
    arm = on.add(vt.ry("upper", damping=0.1), vt.tz(-0.7), vt.body("weight", 1.0, inertia=(0.02,) * 3))
    arm.add(vt.ry("lower"), vt.tz(-0.5), vt.body("bob", 0.5, inertia=(0.01,) * 3))
    return tree.compile()


def place(t):
    """Where the cart is."""
    return REACH * np.sin(OMEGA * t)


def place_and_rates(t):
    """Where it is, and its rate and acceleration."""
    return place(t), REACH * OMEGA * np.cos(OMEGA * t), -OMEGA * OMEGA * place(t)


def motion(kind, dt, steps, t0=0.0):
    """The motion of the cart as it can be given."""
    return {"rates": place_and_rates, "callable": place, "array": place(t0 + dt * np.arange(steps + 1))}[kind]


Q0, V0 = np.array([0.0, 0.6, -0.3]), np.array([0.0, 0.4, 1.0])


@pytest.fixture(scope="module")
def exact():
    return vt.simulate(cart(), Q0, V0, duration=1.0, dt=0.5, method="scipy-dop853", rtol=1e-12, atol=1e-12,
                       control=vt.Control(prescribed={"x": place_and_rates}))  # fmt: skip


def test_the_reference_is_a_pendulum_in_a_shaken_frame():
    """The cart's frame is one where the tree's gravity is g - a(t): the same by a torque on a cart at rest."""
    model = cart()
    tree = vt.Tree("pendulum")
    arm = tree.world.add(vt.ry("upper", damping=0.1), vt.tz(-0.7), vt.body("weight", 1.0, inertia=(0.02,) * 3))
    arm.add(vt.ry("lower"), vt.tz(-0.5), vt.body("bob", 0.5, inertia=(0.01,) * 3))
    still = tree.compile()

    def torque(t, q, v):
        pull = np.array([1.0, 0.0, 0.0]) * -place_and_rates(t)[2]
        return sum(still.frame_jacobian(name, q)[3:].T @ (m * pull) for name, m in (("weight", 1.0), ("bob", 0.5)))

    run = vt.simulate(model, Q0, V0, duration=1.0, dt=0.5, method="scipy-dop853", rtol=1e-11, atol=1e-11,
                      control=vt.Control(prescribed={"x": place_and_rates}))  # fmt: skip
    other = vt.simulate(still, Q0[1:], V0[1:], duration=1.0, dt=0.5, method="scipy-dop853", rtol=1e-11, atol=1e-11,
                        control=torque)  # fmt: skip
    assert np.abs(run.q[:, 1:] - other.q).max() < 1e-8
    assert np.abs(run.v[:, 1:] - other.v).max() < 1e-8


@pytest.mark.parametrize("residual", ["recursive", "tree"])
@pytest.mark.parametrize("kind", ["rates", "callable", "array"])
def test_midpoint_is_of_second_order_under_prescribed_motion(exact, kind, residual):
    steps, errors = np.array([0.01, 0.005, 0.0025]), []
    for dt in steps:
        run = vt.simulate(cart(), Q0, V0, duration=1.0, dt=dt, method="midpoint", residual=residual,
                          control=vt.Control(prescribed={"x": motion(kind, dt, round(1 / dt))}))  # fmt: skip
        errors.append(end_error(cart(), exact[-1], run[-1]))
    assert np.abs(fitted(steps, errors) - 2).max() < 0.1


@pytest.mark.parametrize("kind", ["rates", "callable", "array"])
def test_rk4_is_of_fourth_order_under_prescribed_motion(exact, kind):
    steps, errors = np.array([0.04, 0.02, 0.01]), []
    for dt in steps:
        run = vt.simulate(cart(), Q0, V0, duration=1.0, dt=dt, method="rk4",
                          control=vt.Control(prescribed={"x": motion(kind, dt, round(1 / dt))}))  # fmt: skip
        errors.append(end_error(cart(), exact[-1], run[-1]))
    assert fitted(steps, errors).min() > 3.5


@pytest.mark.parametrize("method", vt.METHODS)
@pytest.mark.parametrize("kind", ["rates", "callable", "array"])
def test_the_motion_is_held_to_the_last_bit(kind, method):
    dt, steps, t0 = 0.01, 40, 0.9
    given = motion(kind, dt, steps, t0)
    run = vt.simulate(cart(), np.array([place(t0), 0.6, -0.3]), V0, t0=t0, duration=0.4, dt=dt, method=method,
                      control=vt.Control(prescribed={"x": given}))  # fmt: skip
    expected = given if kind == "array" else np.array([place(t) for t in run.t])
    assert np.array_equal(run.q[:, 0], expected)
    # rates: to the differences of a callable, or of the quintic spline through the nodes
    rates = REACH * OMEGA * np.cos(OMEGA * run.t)
    assert np.abs(run.v[:, 0] - rates).max() < (1e-14 if kind == "rates" else 1e-8)


@pytest.mark.parametrize("residual", ["recursive", "tree"])
def test_an_array_of_any_sizes_is_held_to_the_last_bit(residual):
    """Jumps from large to small: an increment added to where it was would round."""
    rng = np.random.default_rng(0)
    jumps = np.append(0.0, rng.normal(size=60) * 10.0 ** rng.uniform(-7, -1, 60))
    run = vt.simulate(cart(), duration=6.0, dt=0.1, method="midpoint", residual=residual,
                      control=vt.Control(prescribed={"x": jumps}))
    assert np.array_equal(run.q[:, 0], jumps)


@pytest.mark.parametrize("steps", range(1, 9))
def test_an_array_for_few_steps(steps):
    """Any number of steps: those between records are as of a polynomial that the nodes determine."""
    model, dt = cart(), 0.01
    nodes = place(dt * np.arange(steps + 1))
    run = vt.simulate(model, [0.0, 0.3, 0.2], duration=steps * dt, dt=dt, method="midpoint",
                      control=vt.Control(prescribed={"x": nodes}))
    assert np.array_equal(run.q[:, 0], nodes)


def test_coordinates_that_are_not_named_rest():
    tree = vt.Tree("two")
    on = tree.world.add(vt.tx("x", kinematic=True), vt.ty("y", kinematic=True), vt.rz("turn", kinematic=True))
    on.add(vt.rx("swing"), vt.tz(-1.0), vt.body("bob", 1.0))
    model = tree.compile()
    q0 = np.array([0.0, 0.7, -0.2, 0.5])
    for method in ("midpoint", "rk4", "scipy-dop853"):
        run = vt.simulate(model, q0, duration=0.5, dt=0.01, method=method,
                          control=vt.Control(prescribed={"x": lambda t: t * t}))
        assert (run.q[:, 1] == 0.7).all() and (run.q[:, 2] == -0.2).all()
        assert (run.v[:, 1:3] == 0.0).all()
        run = vt.simulate(model, q0, duration=0.5, dt=0.01, method=method)
        assert (run.q[:, :3] == q0[:3]).all()


def test_what_rests_is_as_if_it_were_fixed():
    """To rounding by the paper's midpoint; by the default, which takes it as what floats, to second order."""
    tree = vt.Tree("fixed")
    arm = tree.world.add(vt.ry("upper", damping=0.1), vt.tz(-0.7), vt.body("weight", 1.0, inertia=(0.02,) * 3))
    arm.add(vt.ry("lower"), vt.tz(-0.5), vt.body("bob", 0.5, inertia=(0.01,) * 3))
    options = {"duration": 0.5, "method": "midpoint", "tolerance": 1e-13}
    fixed = vt.simulate(tree.compile(), Q0[1:], V0[1:], dt=0.01, **options)
    run = vt.simulate(cart(), Q0, V0, dt=0.01, kinetic="midpoint", **options)
    assert np.abs(run.q[:, 1:] - fixed.q).max() < 1e-10
    assert np.abs(run.v[:, 1:] - fixed.v).max() < 1e-9
    apart = []
    for dt in (0.01, 0.005, 0.0025):
        runs = [vt.simulate(*each, dt=dt, **options) for each in ((tree.compile(), Q0[1:], V0[1:]), (cart(), Q0, V0))]
        apart.append(np.abs(runs[1].q[-1, 1:] - runs[0].q[-1]).max())
    assert np.log2(np.divide(apart[:-1], apart[1:])) == pytest.approx(2.0, abs=0.1)


@pytest.mark.parametrize("residual", ["recursive", "tree"])
@pytest.mark.parametrize("kinds", [SINGLE, KINDS], ids=["single", "all"])
@pytest.mark.parametrize("seed", range(2))
def test_order_on_random_trees(seed, kinds, residual):
    """Some coordinates of a loaded tree are prescribed, those of joints inside it too."""
    flat, q, v = random_tree(seed + 20, kinds=kinds)
    flat = replace(flat, loads=(*conservative_loads(flat)[:7], *driving_loads(flat)))
    model = vt.Model(flat)
    held = singles(flat)[1:3]
    kinematic = np.zeros(model.nv, bool)
    for name in held:
        kinematic[model.joint(name).v_slice] = True
    model = vt.Model(replace(flat, kinematic=kinematic))
    start = {name: coordinate(flat, q, name) for name in held}
    moves = {name: lambda t, x=x, k=k: x + 0.2 * np.sin((4 + k) * t) for k, (name, x) in enumerate(start.items())}
    v[kinematic] = 0.0
    if residual == "tree":
        model, q, v = one_coordinate_joints(model, q, v)
    options = {"duration": 0.2, "control": vt.Control(prescribed=moves, inputs={"push": 0.5, "drive": -1.0})}
    exact = vt.simulate(model, q, v, dt=0.2, method="scipy-dop853", rtol=1e-11, atol=1e-11, **options)
    steps, errors = np.array([0.005, 0.0025, 0.00125]), []
    for dt in steps:
        run = vt.simulate(model, q, v, dt=dt, method="midpoint", residual=residual, **options)
        errors.append(end_error(model, exact[-1], run[-1]))
    assert np.abs(fitted(steps, errors) - 2).max() < 0.15


# ---- wires ------------------------------------------------------------------------------------------------


def hoist(axes=("x", "z"), extra=()):
    """A weight on a wire from a winch without mass; the winch moves and the wire is let out as prescribed."""
    tree = vt.Tree("hoist")
    tree.world.add(vt.tx("winch_x", kinematic=True), vt.tz("winch_z", kinematic=True), vt.frame("winch"))
    tree.world.add(vt.ty("wire", kinematic=True), vt.frame("drum"))
    tree.world.add(*(getattr(vt, f"t{a}")(a) for a in axes), vt.body("weight", 2.0), *extra)
    tree.constrain(vt.Distance("winch", "weight", "wire"))
    return tree.compile()


def test_a_massless_chain_that_carries_a_wire():
    """The weight follows the equations of a pendulum whose pivot moves and whose length changes."""
    model = hoist()

    def x(t):
        return 0.3 * np.sin(2 * t), 0.6 * np.cos(2 * t), -1.2 * np.sin(2 * t)

    def length(t):
        return 1.0 + 0.2 * t, 0.2, 0.0

    angle0 = 0.4
    q0 = np.array([0.0, 0.0, 1.0, np.sin(angle0), -np.cos(angle0)])
    assert list(model.joint_names) == ["winch_x", "winch_z", "wire", "x", "z"]

    def field(t, y):
        # l a'' + 2 l' a' = -g sin a - x'' cos a
        (r, dr, _), (_, _, ddx) = length(t), x(t)
        return [y[1], (-9.81 * np.sin(y[0]) - ddx * np.cos(y[0]) - 2 * dr * y[1]) / r]

    from scipy.integrate import solve_ivp

    # at rest but for what the winch and the wire make it do: the velocity nearest to zero that they allow
    v = np.array([0.6, 0.0, 0.2, 0.0, 0.0])
    v = model.project_velocity(q0, v)
    rate0 = (v[3:] - [0.6, 0.0]) @ [np.cos(angle0), np.sin(angle0)]
    angle = solve_ivp(field, (0, 1), [angle0, rate0], rtol=1e-11, atol=1e-12, method="DOP853").y[0, -1]
    end = np.array([x(1)[0] + 1.2 * np.sin(angle), -1.2 * np.cos(angle)])
    steps, errors = np.array([0.01, 0.005, 0.0025]), []
    for dt in steps:
        run = vt.simulate(model, q0, duration=1.0, dt=dt, method="midpoint",
                          control=vt.Control(prescribed={"winch_x": x, "wire": length}))  # fmt: skip
        errors.append(np.abs(run.q[-1, 3:] - end).max())
        assert np.abs(run.constraint).max() < 1e-11
    assert abs(fitted(steps, errors) - 2) < 0.1
    for method, tolerance in (("rk4", 1e-6), ("scipy-dop853", 1e-6)):
        run = vt.simulate(model, q0, duration=1.0, dt=0.005, method=method,
                          control=vt.Control(prescribed={"winch_x": x, "wire": length}))
        assert np.abs(run.q[-1, 3:] - end).max() < tolerance


@pytest.mark.parametrize("residual", ["recursive", "tree"])
@pytest.mark.parametrize("solver", ["auto", "recursive-newton", "modified-newton"])
def test_a_wire_that_is_let_out_at_a_steady_rate_has_its_length(solver, residual):
    """In space, for twenty seconds: |a - b| is the coordinate of the wire."""
    model = hoist(("x", "y", "z"))
    q0 = np.array([0.0, 0.0, 1.0, 0.6, 0.0, -0.8])
    run = vt.simulate(model, q0, np.array([0, 0, 0, 0.06, 0.5, -0.08]), duration=20.0, dt=0.01,
                      method="midpoint", solver=solver, residual=residual,
                      control=vt.Control(prescribed={"wire": lambda t: 1.0 + 0.1 * t}))  # fmt: skip
    winch = np.column_stack((run.q[:, 0], np.zeros(len(run)), run.q[:, 1]))
    apart = np.linalg.norm(run.q[:, 3:] - winch, axis=1)
    assert np.abs(apart - (1.0 + 0.1 * run.t)).max() < 1e-11
    assert run.q[-1, 2] == 3.0 and np.ptp(run.q[:, 4]) > 0.1


def test_the_tension_of_a_wire_wound_steadily():
    """A weight straight below a winch that winds evenly: the tension is its weight, as if it hung."""
    model = hoist()
    q0 = np.array([0.0, 0.0, 2.0, 0.0, -2.0])
    run = vt.simulate(model, q0, duration=0.5, dt=0.01, method="midpoint",
                      control=vt.Control(prescribed={"wire": lambda t: (2 - t, -1.0, 0.0)}))  # fmt: skip
    assert np.abs(run.multipliers[1:, 0] + 2.0 * 9.81).max() < 1e-8
    # and with an acceleration of the wire, that much more
    a = model.forward_dynamics(q0, np.zeros(5), prescribed={"wire": -3.0})
    assert a.multipliers[0] == pytest.approx(-2.0 * (9.81 + 3.0), rel=1e-12)
    assert a.acceleration[4] == pytest.approx(3.0, rel=1e-12) and a.acceleration[2] == -3.0


def test_starts_from_momenta_and_from_two_configurations():
    """Both lead where v0 leads; q1 to second order."""
    model = hoist(("x", "y", "z"))
    q0 = np.array([0.0, 0.0, 1.0, 0.6, 0.0, -0.8])
    v0 = np.array([0, 0, 0, 0.06, 0.5, -0.08])
    options = {"duration": 0.4, "method": "midpoint",
               "control": vt.Control(prescribed={"wire": lambda t: (1.0 + 0.1 * t, 0.1, 0.0)}),
               "tolerance": 1e-13}  # fmt: skip
    run = vt.simulate(model, q0, v0, dt=0.01, **options)
    assert np.abs(run.v[0] - v0 - [0, 0, 0.1, 0, 0, 0]).max() < 1e-12
    again = vt.simulate(model, q0, p0=run.p[0], dt=0.01, **options)
    assert np.abs(again.q - run.q).max() < 1e-10
    again = vt.simulate(model, q0, q1=run.q[1], dt=0.01, **options)
    assert np.abs(again.q - run.q).max() < 1e-9


# ---- bad input ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("change", "error", "text"),
    [
        ({"control": vt.Control(prescribed={"X": place})}, vt.UnknownNameError, "joint"),
        ({"control": vt.Control(prescribed={"upper": place})}, vt.InputError, "not prescribed.*kinematic=True"),
        ({"control": vt.Control(prescribed={"x": np.zeros(10)})}, vt.InputError, r"11 finite numbers.*\(10,\)"),
        ({"control": vt.Control(prescribed={"x": np.append(np.zeros(10), np.nan)})}, vt.InputError, "finite"),
        ({"control": vt.Control(prescribed={"x": lambda t: np.nan})}, vt.InputError, '"x".*finite'),
        ({"control": vt.Control(prescribed={"x": lambda t: (t, 1.0)})}, vt.InputError, "return q or"),
        ({"control": vt.Control(prescribed={"x": lambda t: t + 0.1})}, vt.InputError,
         r'q0 has "x" at 0, but its motion starts at 0\.1'),
        ({"v0": np.array([0.5, 0, 0])}, vt.InputError, 'v0 gives "x" the rate 0.5.*leave it zero'),
    ],
)
def test_bad_motions_are_named(change, error, text):
    arguments = {"control": vt.Control(prescribed={"x": place}), "method": "midpoint", **change}
    with pytest.raises(error, match=text):
        vt.simulate(cart(), duration=0.1, dt=0.01, **arguments)


def test_nothing_is_prescribed_where_nothing_is_kinematic():
    tree = vt.Tree("plain")
    tree.world.add(vt.tx("x"), vt.body("m", 1.0))
    with pytest.raises(vt.InputError, match="not prescribed"):
        vt.simulate(tree.compile(), duration=0.1, dt=0.01, control=vt.Control(prescribed={"x": place}))


@pytest.mark.parametrize("joint", [vt.ball, vt.free])
def test_joints_of_several_coordinates_are_not_prescribed(joint):
    with pytest.raises(vt.ModelError, match=r"kinematic|prescribed"):
        joint("b", kinematic=True)


def test_errors_in_a_motion_come_through():
    def broken(t):
        if t > 0.05:
            raise ZeroDivisionError("mine")
        return 0.0

    for method in ("midpoint", "rk4", "scipy-dop853"):
        with pytest.raises(vt.CallableError, match=r'the motion of "x"\(t\) at t = .* raised ZeroDivisionError: mine'):
            vt.simulate(cart(), duration=0.1, dt=0.01, method=method, control=vt.Control(prescribed={"x": broken}))


@pytest.mark.parametrize("method", ["linear-time", "midpoint"])
@pytest.mark.parametrize("motion", [lambda t: t**2, lambda t: t**3, lambda t: t**6, lambda t: 1 - np.cos(t)])
def test_motion_that_starts_from_rest_without_a_jerk(method, motion):
    """Nothing moves and nothing pushes at the start, so that only what is prescribed says how large momenta are."""
    tree = vt.Tree("trolley")
    tree.world.add(vt.tx("trolley", kinematic=True)).add(vt.ry("hang"), vt.tz(-1.0), vt.body("bob", mass=1.0))
    model = tree.compile()
    q, finer = (
        vt.simulate(model, duration=1.0, dt=dt, method=method, control=vt.Control(prescribed={"trolley": motion})).q[-1]
        for dt in (0.01, 0.005)
    )
    assert abs(q[0] - motion(1.0)) < 1e-14 and 0 < abs(q - finer).max() < 1e-3


@pytest.mark.parametrize("method", ["linear-time", "midpoint"])
def test_a_weight_at_rest_follows_a_string_without_mass(method):
    tree = vt.Tree("string", gravity=(0, 0, 0))
    tree.world.add(vt.tz("string", kinematic=True))
    tree.world.add(vt.tx("x"), vt.tz("z"), vt.body("weight", mass=5.0))
    tree.constrain(vt.Distance("world", "weight", length="string"))
    model = tree.compile()
    run = vt.simulate(model, [1.0, 0.6, -0.8], duration=1.0, dt=0.01, method=method,
                      control=vt.Control(prescribed={"string": lambda t: 1.0 - 0.5 * t**3}))  # fmt: skip
    assert np.abs(run.constraint).max() < 1e-9
    np.testing.assert_allclose(run.q[-1], [0.5, 0.3, -0.4], atol=1e-9)


@pytest.mark.parametrize("method", ["linear-time", "midpoint"])
@pytest.mark.parametrize("order", [2, 4])
def test_momentum_may_decay_below_the_smallest_numbers(method, order):
    tree = vt.Tree("slider", gravity=(0, 0, 0))
    tree.world.add(vt.tx("x", damping=210.0), vt.body("bob", mass=1.0))
    run = vt.simulate(tree.compile(), [0.0], [1.0], duration=20.0, dt=0.01, method=method, order=order)
    assert abs(run.p[-1, 0]) < 1e-300 and run.q[-1, 0] == pytest.approx(1 / 210, rel=1e-2)
