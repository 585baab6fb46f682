"""Steps that differ, and steps that are retried in halves."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from loaded_models import SINGLE, constrained_tree, driving_loads, end_error, fitted, random_tree
from random_models import chain_flat, random_flat, random_state

import vitree as vt
from vitree.integrators.compiled import CompiledIntegrator

COMPILED = [name for name, kind in vt.METHODS.items() if issubclass(kind, CompiledIntegrator)]
VARIATIONAL = ("midpoint", "linear-time")


def random_steps(n, duration, seed=0):
    """n steps that differ by up to a factor of three and make up the duration."""
    spans = np.random.default_rng(seed).uniform(0.5, 1.5, n)
    return spans * (duration / spans.sum())


def refined(spans, k):
    """Each step in k equal ones."""
    return np.repeat(spans / k, k)


# ---- steps that differ ------------------------------------------------------------------------------------


@pytest.mark.parametrize("order", [2, 4])
def test_momentum_is_kept_to_round_off(order):
    flat = random_flat(np.random.default_rng(5), nbody=8, base="free", gravity=(0, 0, 0), kinds=(*SINGLE, "ball"))
    model = vt.Model(flat)
    q, v = random_state(flat, np.random.default_rng(6), speed=0.5)
    run = vt.simulate(model, q, v, dt=random_steps(1000, 5.0), order=order)
    assert np.abs(run.momentum - run.momentum[0]).max() < 1e-11 * np.abs(run.momentum[0]).max()
    assert run.t[-1] == pytest.approx(5.0, rel=1e-12) and run.settings["dt_range"][0] < 0.004


@pytest.mark.parametrize("method", [name for name in COMPILED if vt.METHODS[name].order <= 4])
def test_order_under_refinement_of_random_steps(method):
    """With a torque of time and state, loads, and inputs by name."""
    flat, q, v = random_tree(6, nbody=5, speed=0.5, damping=True)
    model = vt.Model(replace(flat, loads=driving_loads(flat)))
    more = {"control": vt.Control(torque=lambda t, q, v: np.sin(3 * t + q) - 0.5 * v, inputs={"push": np.cos})}
    exact = vt.simulate(model, q, v, duration=0.3, dt=0.3, method="scipy-dop853", rtol=1e-12, atol=1e-12, **more)
    order, spans, errors = vt.METHODS[method].order, random_steps(12, 0.3), []
    counts = np.array([1, 2, 4] if order == 4 else [8, 16, 32])
    for k in counts:
        run = vt.simulate(model, q, v, dt=refined(spans, k), method=method, **more)
        errors.append(end_error(model, exact[-1], run[-1]))
    assert np.abs(fitted(1.0 / counts, errors) - order).max() < 0.2


@pytest.mark.parametrize("method", COMPILED)
def test_equal_steps_give_the_bits_of_one_step(method):
    """Where nothing depends on time: the times themselves are sums, and differ in the last bit."""
    model, q, v = constrained_tree(2, nbody=8, speed=0.5)
    if method == "gauss":  # knows no constraints
        model = vt.Model(replace(model.flat, constraints=()))
    one = vt.simulate(model, q, v, duration=0.1, dt=0.005, method=method)
    run = vt.simulate(model, q, v, dt=np.full(20, 0.005), duration=0.1, method=method)
    for name in ("q", "v", "p", "iterations", "residual"):
        assert getattr(one, name).tobytes() == getattr(run, name).tobytes(), name
    assert np.abs(one.t - run.t).max() < 1e-15


@pytest.mark.parametrize("method", COMPILED)
def test_each_step_is_one_by_itself(method):
    """A run of steps that differ is a chain of runs of one step each."""
    model = vt.Model(chain_flat(4, damping=0.2))
    q, v = np.linspace(0.1, 0.9, 4), np.linspace(-1, 1, 4)
    by_momentum = vt.METHODS[method].uses_momentum
    more = {"tolerance": 1e-13} if by_momentum else {}
    spans = random_steps(10, 0.1)
    run = vt.simulate(model, q, v, dt=spans, method=method, **more)
    state = {"p0": run.p[0]} if by_momentum else {"v0": v}
    for k, h in enumerate(spans):
        end = vt.simulate(model, q, duration=h, dt=h, method=method, **state, **more)[-1]
        q, state = end.q, {"p0": end.p} if by_momentum else {"v0": end.v}
        assert np.abs(q - run.q[k + 1]).max() < 1e-12


@pytest.mark.parametrize("method", COMPILED)
def test_rows_of_inputs_are_those_of_the_steps(method):
    """A row for each step, held over it: the impulse of a free mass is the sum of h u."""
    tree = vt.Tree("mass")
    tree.world.add(vt.tx("x"), vt.body("mass", 2.0))
    tree.load(vt.JointForce("x", "push"))
    spans, push = random_steps(30, 1.0), np.random.default_rng(1).normal(size=30)
    run = vt.simulate(tree.compile(), dt=spans, method=method, control=vt.Control(inputs={"push": push}))
    assert np.abs(run.p[1:, 0] - np.cumsum(spans * push)).max() < 1e-13


@pytest.mark.parametrize("method", COMPILED)
def test_prescribed_arrays_are_at_the_ends_of_the_steps(method):
    tree = vt.Tree("cart")
    on = tree.world.add(vt.tx("x", kinematic=True), vt.body("cart", 3.0))
    on.add(vt.ry("swing"), vt.tz(-0.7), vt.body("bob", 1.0))
    model, spans = tree.compile(), random_steps(50, 1.0)
    ends = np.concatenate(([0.0], np.cumsum(spans)))
    run = vt.simulate(model, dt=spans, method=method, control=vt.Control(prescribed={"x": 0.4 * np.sin(3 * ends)}))
    other = vt.simulate(model, dt=spans, method=method,
                        control=vt.Control(prescribed={"x": lambda t: 0.4 * np.sin(3 * t)}))
    assert np.array_equal(run.q[:, 0], 0.4 * np.sin(3 * ends))
    assert np.abs(run.q - other.q).max() < 1e-5 and np.ptp(run.q[:, 1]) > 0.1


@pytest.mark.parametrize(
    ("dt", "duration", "text"),
    [
        ([0.01, np.nan], None, "positive"), ([0.01, 0.0], None, "positive"), ([0.01, -0.01], None, "positive"),
        ([[0.01, 0.02]], None, "array"), ([], None, "array"), (["fast"], None, "positive"),
        ([[0.01], [0.01, 0.02]], None, "array"), (np.array([[0.01]]), 0.1, "array"),
        (np.ma.array([0.01, 0.02]), 0.03, "array"),
        ([0.01, 0.02], 0.04, "is not 0.03 s, the sum"), ([0.01, np.inf], None, "positive"),
    ],
)  # fmt: skip
def test_bad_steps_are_errors(dt, duration, text):
    with pytest.raises(vt.InputError, match=text):
        vt.simulate(vt.Model(chain_flat(2)), dt=dt, duration=duration)


def test_rows_that_do_not_fit_the_steps_are_errors():
    tree = vt.Tree("mass")
    tree.world.add(vt.tx("x", kinematic=True), vt.body("cart", 1.0), vt.ty("y"), vt.body("mass", 2.0))
    tree.load(vt.JointForce("y", "push"))
    model = tree.compile()
    with pytest.raises(vt.InputError, match="2 rows; 3 steps"):
        vt.simulate(model, dt=[0.1, 0.2, 0.3], control=vt.Control(inputs=np.zeros((2, 1))))
    with pytest.raises(vt.InputError, match="4 finite numbers"):
        vt.simulate(model, dt=[0.1, 0.2, 0.3], control=vt.Control(prescribed={"x": np.zeros(3)}))
    with pytest.raises(vt.InputError, match="own steps"):
        vt.simulate(model, dt=[0.1, 0.2], method="scipy-rk45")


# ---- failed steps in halves ---------------------------------------------------------------------------------

#: Speeds by order at which a link turns by half a turn or more in the longest substep of 0.01 s, but not in half of it.
FAST = {2: np.array([400.0]), 4: np.array([600.0])}


def spinner():
    """A link that turns."""
    return vt.Model(chain_flat(1))


@pytest.mark.parametrize("order", [2, 4])
def test_a_failed_step_is_the_run_of_its_halves(order):
    """With max_halvings=0 it fails; else it is what steps of a half give, by hand."""
    model = spinner()
    more = {"v0": FAST[order], "tolerance": 1e-13, "order": order}
    with pytest.raises(vt.ConvergenceError, match="half a turn"):
        vt.simulate(model, duration=0.1, dt=0.01, max_halvings=0, **more)
    run = vt.simulate(model, duration=0.1, dt=0.01, **more)
    hand = vt.simulate(model, duration=0.1, dt=0.005, max_halvings=0, **more)
    assert run.settings["halved"] == 10 and hand.settings["halved"] == 0 and run.steps == 10
    assert np.abs(run.q - hand.q[::2]).max() < 1e-12 * np.abs(run.q).max()
    assert np.abs(run.p - hand.p[::2]).max() < 1e-12 * np.abs(run.p).max()


def by_hand(model, q, p, rows, **options):
    """Configurations after each step of 0.01 s, taken in as few equal parts as it can be solved in."""
    for row in rows:
        for parts in 2 ** np.arange(9):
            try:
                end = vt.simulate(model, q, p0=p, duration=0.01, dt=0.01 / parts, control=vt.Control(inputs=row),
                                  **options)[-1]
                break
            except vt.ConvergenceError:
                continue
        q, p = end.q, end.p
        yield q


def test_only_the_steps_that_fail_are_halved():
    """A link spun up and down: by a half turn a step for some steps."""
    flat = chain_flat(1)
    model = vt.Model(replace(flat, loads=(vt.JointForce("joint0", "push"),)))
    rows = np.repeat([[600.0], [-600.0]], 15, axis=0)
    options = {"tolerance": 1e-13, "solver": "recursive-newton"}
    v = np.array([300.0])
    run = vt.simulate(model, v0=v, duration=0.3, dt=0.01, control=vt.Control(inputs=rows), max_halvings=1, **options)
    assert 5 < run.settings["halved"] < 30
    hand = np.array(list(by_hand(model, run.q[0], run.p[0], rows, **options)))
    assert np.abs(run.q[1:] - hand).max() < 1e-12 * np.abs(run.q).max()


@pytest.mark.parametrize("method", VARIATIONAL)
def test_constraints_hold_in_halved_steps(method):
    """Steps of which one correction alone is allowed; the multipliers are those where each step starts."""
    model, q, v = constrained_tree(2, nbody=8, speed=0.5)
    options = {"method": method, "solver": "recursive-newton", "guess": "aba", "max_iterations": 1, "tolerance": 1e-11}
    run = vt.simulate(model, q, v, duration=0.05, dt=0.01, max_halvings=12, **options)
    assert run.settings["halved"] == 5 and np.abs(run.constraint).max() < 1e-11
    hand = list(by_hand(model, run.q[0], run.p[0], [None] * 5, **options))
    assert np.abs(run.q[1:] - hand).max() < 1e-9
    expected = np.array([model.forward_dynamics(s.q, s.v).multipliers for s in run])
    assert np.abs(run.multipliers[1:] - expected[:-1]).max() < 0.02 * np.abs(expected).max()


def test_all_halvings_failing_leaves_the_state():
    model = spinner()
    with pytest.raises(vt.ConvergenceError, match="step 1 at t = 0 s") as failure:
        vt.simulate(model, v0=np.array([5000.0]), duration=0.1, dt=0.01, max_halvings=2)
    run = failure.value.trajectory
    assert len(run) == 1 and run.settings["halved"] == 0 and run.steps == 0
    model = vt.Model(chain_flat(3))

    def blow(t, q, v):
        return np.full(3, 0.1 if t < 0.055 else 1e12)

    for order in (2, 4):
        with pytest.raises(vt.ConvergenceError) as failure:
            vt.simulate(model, np.full(3, 0.3), duration=0.2, dt=0.01, control=blow, max_halvings=2, order=order)
        run = failure.value.trajectory
        calm = vt.simulate(model, np.full(3, 0.3), duration=0.05, dt=0.01, control=np.full(3, 0.1), order=order)
        assert len(run) >= 6 and np.abs(run.q[:6] - calm.q).max() < 1e-9
        assert failure.value.time == pytest.approx(run.t[-1])


@pytest.mark.parametrize("order", [2, 4])
def test_errors_of_callables_in_halves_come_through(order):
    """Whichever call it is that fails."""
    calls = [0, 10**9]

    def torque(t, q, v):
        calls[0] += 1
        if calls[0] > calls[1]:
            raise ZeroDivisionError("mine")
        return np.zeros(1)

    options = {"duration": 0.02, "dt": 0.01, "order": order, "control": torque, "v0": FAST[order]}
    run = vt.simulate(spinner(), **options)
    assert run.settings["halved"] == 2
    count = calls[0]
    for k in range(0, count, max(count // 25, 1)):
        calls[:] = [0, k]
        with pytest.raises(vt.CallableError, match="ZeroDivisionError: mine"):
            vt.simulate(spinner(), **options)


def test_prescribed_motion_is_not_halved():
    """It is known at the ends of the steps only."""
    tree = vt.Tree("cart")
    cart = tree.world.add(vt.tx("x", kinematic=True), vt.body("cart", 1.0))
    cart.add(vt.ry("swing"), vt.body("bob", 1.0, inertia=(1, 1, 1)))
    with pytest.raises(vt.ConvergenceError, match="half a turn"):
        vt.simulate(tree.compile(), v0=np.array([0.0, 400.0]), duration=0.1, dt=0.01)


@pytest.mark.parametrize("method", ["linear-time", "midpoint", "rk4"])
def test_inertia_without_mass_is_inertia(method):
    """A flywheel whose mass is left out turns as it is pushed."""
    tree = vt.Tree("flywheel")
    tree.world.add(vt.rz("axle"), vt.body("wheel", 0.0, (0.01, 0.01, 0.02)))
    run = vt.simulate(tree.compile(), [0.3], [1.0], duration=1.0, dt=0.01, method=method, control=[0.04])
    np.testing.assert_allclose([run.q[-1, 0], run.v[-1, 0]], [0.3 + 1.0 + 0.5 * 2.0, 1.0 + 2.0], rtol=1e-9)
