"""Second derivatives of steps: against second differences over every joint kind, by hand, and what has none."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from linearised_models import ALL, IDS, METHODS, carried_model, loaded_model, plain_model, rubbing_model
from loaded_models import constrained_tree, driving_loads, random_tree
from random_models import chain_flat, random_flat, random_state
from searches import shooting_problem
from step_differences import one_step

import vitree as vt
from vitree import _core
from vitree.integrators import slopes
from vitree.integrators.curvature import CLOSE, QUICK, has_action
from vitree.mechanism.flat import KINDS
from vitree.run import linearization as linearized

#: Places and weights (over 180) of the second difference of order 6; its middle has the weight -490.
STENCIL = ((1, 270), (2, -27), (3, 2))


def second(model, end, costate, way, size=2e-3):
    """The second difference of costate . (y, dp2) along a way."""
    q2, p2 = end(np.zeros(len(way)))

    def number(share):
        q, p = end(share * way)
        return costate @ np.concatenate([model.difference(q2, q), p - p2])

    return sum(w * (number(k * size) + number(-k * size)) for k, w in STENCIL) / (180 * size**2)


def compare(model, found, end, rng, by, scale, tolerance, size=4e-3):
    """Compare second derivatives with differences along random ways, whose entries are as large as ``scale`` says."""
    # rounding errors of ends, over the square of the size
    rounding = 5e-14 / size**2
    costate = rng.normal(size=2 * model.nv)
    H = found.curvature(costate, by)
    assert np.array_equal(H, H.T)
    for _ in range(5):
        way = scale * rng.normal(size=len(H))
        expected = second(model, end, costate, way, size)
        allowed = tolerance * np.abs(way) @ np.abs(H) @ np.abs(way) + rounding
        assert way @ H @ way == pytest.approx(expected, rel=0, abs=allowed)
    raw = found._course.curvature(model, found.dt, by, costate[None])[0]
    loose = 2e-8 if found._course.options.get("order", 2) > 2 else 1e-8
    np.testing.assert_allclose(raw, raw.T, rtol=0, atol=loose * max(1.0, np.abs(H).max()))


def sizes(model, torque=10.0, state=0.5, inputs=1.0):
    """What changes a step about as much."""
    return np.repeat([state, torque, inputs], [2 * model.nv, model.nv, len(model.input_names)])


#: All kinds with each method, without and with friction; one kind with some methods, in turns without and with it.
STEPS = [
    pytest.param(make, kinds, *ways[k], id=f"{make.__name__}-{kinds[0] if len(kinds) == 1 else 'all'}-{IDS[k]}")
    for n, (kinds, ways) in enumerate([(KINDS, ALL), *(((kind,), METHODS) for kind in KINDS)])
    for k in range(len(ways))
    for friction, make in enumerate((plain_model, rubbing_model))
    if kinds == KINDS or (n + k + friction) % 2 == 0
]


@pytest.mark.parametrize(("make", "kinds", "method", "options"), STEPS)
def test_against_second_differences_of_steps(make, kinds, method, options):
    model, rng = make(7, kinds), np.random.default_rng(1)
    # smooth enough for the differences of steps
    model = vt.Model(replace(model.flat, friction_velocity=np.full(model.nv, 0.5)))
    q, v = random_state(model.flat, rng, 1.0)
    torque, inputs = rng.normal(size=model.nv), rng.normal(size=len(model.input_names))
    found = vt.linearize(model, q, v, dt=0.03, method=method,
                         control=vt.Control(torque=torque, inputs=inputs if inputs.size else None),
                         tolerance=1e-14, **options)  # fmt: skip
    end = one_step(model, q, v, 0.03, torque, inputs, method, options)
    # steps that are no midpoint's bend much
    size = 5e-4 if "alpha" in options else 4e-3
    compare(model, found, end, rng, ["state", "torque", "inputs"], sizes(model), 1e-8, size)


@pytest.mark.parametrize(("method", "options"), ALL, ids=IDS)
@pytest.mark.parametrize("kinds", [("revolute",), ("helical",), KINDS], ids=["revolute", "helical", "all"])
def test_where_friction_turns_round_at_once(kinds, method, options):
    model, rng = rubbing_model(7, kinds), np.random.default_rng(1)
    q, v = random_state(model.flat, rng, 1.0)
    inputs, costate = rng.normal(size=len(model.input_names)), rng.normal(size=2 * model.nv)
    found = vt.linearize(model, q, v, dt=0.03, method=method, control=vt.Control(inputs=inputs), tolerance=1e-14,
                         **options)
    raw = found._course.curvature(model, found.dt, ("state", "torque"), costate[None])[0]
    np.testing.assert_allclose(raw, raw.T, rtol=0, atol=1e-8 * max(1.0, np.abs(raw).max()))


@pytest.mark.parametrize(("method", "options"), ALL, ids=IDS)
def test_with_loads(method, options):
    (model, q, v), rng = loaded_model(4, "free"), np.random.default_rng(1)
    torque, inputs = rng.normal(size=model.nv), rng.normal(size=len(model.input_names))
    found = vt.linearize(model, q, v, dt=0.01, method=method, control=vt.Control(torque=torque, inputs=inputs),
                         tolerance=1e-14, **options)
    end = one_step(model, q, v, 0.01, torque, inputs, method, options)
    compare(model, found, end, rng, ["state", "torque", "inputs"], sizes(model), 2e-8)


def test_loads_that_depend_on_velocities():
    flat, q, v = random_tree(4, nbody=6, base="free", damping=True)
    model, rng = vt.Model(replace(flat, loads=driving_loads(flat))), np.random.default_rng(1)
    torque, inputs = rng.normal(size=model.nv), rng.normal(size=len(model.input_names))
    found = vt.linearize(model, q, v, dt=0.01, method="midpoint", control=vt.Control(torque=torque, inputs=inputs),
                         tolerance=1e-14)
    end = one_step(model, q, v, 0.01, torque, inputs, "midpoint", {})
    compare(model, found, end, rng, ["state", "torque", "inputs"], sizes(model), 2e-8)


@pytest.mark.parametrize(("method", "options"), ALL, ids=IDS)
def test_with_constraints(method, options):
    model, q, v = constrained_tree(3, nbody=8, base="free", speed=0.5, damping=True)
    rng = np.random.default_rng(1)
    torque = rng.normal(size=model.nv)
    found = vt.linearize(model, q, v, dt=0.01, method=method, control=torque, tolerance=1e-14, **options)
    end = one_step(model, q, v, 0.01, torque, None, method, options)
    # momenta along constraints have large rounding errors
    compare(model, found, end, rng, ["state", "torque"], sizes(model, 2.0, 0.1), 5e-8)


@pytest.mark.parametrize(("method", "options"), ALL, ids=IDS)
def test_with_prescribed_coordinates(method, options):
    model, rng = carried_model(), np.random.default_rng(2)
    q = model.integrate(model.neutral(), np.full(model.nv, 0.1))
    q = vt.satisfy_constraints(model, q, hold=["drive", "turn", "idle"])
    v, torque = model.project_velocity(q, rng.normal(size=model.nv)), rng.normal(size=model.nv)
    at = [model.joint(name).q_slice.start for name in model.prescribed_joint_names]
    goal = q[at] + [0.01, -0.02, 0.03]
    motion = {name: [q[i], to] for name, i, to in zip(model.prescribed_joint_names, at, goal, strict=True)}
    found = vt.linearize(model, q, p0=model.generalized_momentum(q, v), dt=0.01, method=method,
                         control=vt.Control(torque=torque, prescribed=motion), tolerance=1e-14, **options)  # fmt: skip
    end = one_step(model, q, v, 0.01, torque, None, method, options, goal)
    scale = np.concatenate([sizes(model), np.full(3, 0.1)])
    # no force acts on a prescribed coordinate
    locked = np.array([model.joint(name).v_slice.start for name in model.prescribed_joint_names])
    scale[model.nv + locked] = scale[2 * model.nv + locked] = 0.0
    compare(model, found, end, rng, ["state", "torque", "prescribed"], scale, 1e-7)


@pytest.mark.parametrize("order", [2, 4])
def test_a_pendulum_by_hand(order):
    """q2 = q + (h/I) (p - (h/2) V'(q)), p2 = p - (h/2) (V'(q) + V'(q2)); of order 4 by the chain of its substeps."""
    tree = vt.Tree("pendulum")
    tree.world.add(vt.rx("hinge"), vt.body("bob", 1.5, (0.3, 0.3, 0.3), com=(0.0, 0.0, -0.7)))
    model, q, p, h = tree.compile(), 0.4, 0.8, 0.05
    inertia, weight = 0.3 + 1.5 * 0.7**2, 1.5 * 9.81 * 0.7
    costate = np.array([0.7, -1.3])
    # a number with its derivatives: value, gradient (2,), second derivatives (2, 2)
    state = [(q, np.array([1.0, 0.0]), np.zeros((2, 2))), (p, np.array([0.0, 1.0]), np.zeros((2, 2)))]

    def plus(a, x, b, y):
        return tuple(a * one + b * other for one, other in zip(x, y, strict=True))

    def slope(x):
        value, first, bent = x
        sine, cosine = weight * np.sin(value), weight * np.cos(value)
        return sine, cosine * first, cosine * bent - sine * np.outer(first, first)

    share = 1 / (4 - 4 ** (1 / 3))
    for part in (1.0,) if order == 2 else (share, share, 1 - 4 * share, share, share):
        half = plus(1.0, state[1], -0.5 * part * h, slope(state[0]))
        ahead = plus(1.0, state[0], part * h / inertia, half)
        state = [ahead, plus(1.0, half, -0.5 * part * h, slope(ahead))]
    found = vt.linearize(model, [q], p0=[p], dt=h, order=order, tolerance=1e-14)
    np.testing.assert_allclose([found.q_end[0], found.p_end[0]], [state[0][0], state[1][0]], rtol=1e-11)
    np.testing.assert_allclose(found.A, [state[0][1], state[1][1]], rtol=0, atol=1e-11)
    expected = costate[0] * state[0][2] + costate[1] * state[1][2]
    np.testing.assert_allclose(found.curvature(costate), expected, rtol=0, atol=1e-9 * np.abs(expected).max())


@pytest.mark.parametrize("method", ["linear-time", "midpoint"])
def test_sliders_have_none(method):
    model = plain_model(3, ("prismatic",))
    found = vt.linearize(model, np.full(5, 0.3), np.ones(5), dt=0.1, method=method, tolerance=1e-14)
    np.testing.assert_allclose(found.curvature(np.ones(10), ["state", "torque"]), 0.0, atol=1e-10)


@pytest.mark.parametrize(("method", "options"), ALL[:1] + ALL[3:4] + ALL[5:6], ids=IDS[:1] + IDS[3:4] + IDS[5:6])
def test_runs_have_those_of_their_steps(method, options, monkeypatch):
    # two chunks
    monkeypatch.setattr(linearized, "CHUNK", 20 if options else 4)
    model, rng = rubbing_model(3, KINDS), np.random.default_rng(0)
    q, v = random_state(model.flat, rng, 0.5)
    inputs, torque = rng.normal(size=(6, len(model.input_names))), rng.normal(size=model.nv)
    given = {"dt": 0.01, "method": method, "tolerance": 1e-13, **options}
    run = vt.simulate(model, q, v, duration=0.06, control=vt.Control(torque=torque, inputs=inputs), **given)
    found = run.linearize(control=vt.Control(inputs=inputs))
    costates, by = rng.normal(size=(2, 3, 6, 2 * model.nv)), ("state", "inputs")
    both = found.curvature(costates, by)
    n = 2 * model.nv + inputs.shape[1]
    assert both.shape == (2, 3, 6, n, n)
    scale = np.abs(both).max()
    for k in (0, 3, 5):
        np.testing.assert_allclose(both[1, 2, k], found[k].curvature(costates[1, 2, k], by), rtol=0, atol=1e-9 * scale)
        one = vt.linearize(model, run.q[k], p0=run.p[k], control=vt.Control(torque=torque, inputs=inputs[k]),
                           **given)  # fmt: skip
        np.testing.assert_allclose(both[:, :, k], one.curvature(costates[:, :, k], by), rtol=0, atol=1e-8 * scale)
    # blocks stand as they are asked for
    order = np.r_[2 * model.nv : n, : 2 * model.nv]
    other = found.curvature(costates[0, 0], ["inputs", "state"])
    np.testing.assert_allclose(other, both[0, 0][:, order][:, :, order], rtol=0, atol=1e-9 * scale)
    alone = found.curvature(costates[0, 0], "inputs")
    np.testing.assert_allclose(alone, other[:, : n - 2 * model.nv, : n - 2 * model.nv], rtol=0, atol=1e-9 * scale)
    assert np.array_equal(found[-1].curvature(costates[0, 0, 5]), found[5].curvature(costates[0, 0, 5]))


@pytest.mark.parametrize("method", ["linear-time", "midpoint"])
def test_searches_for_motions_have_the_same(method):
    model = vt.Model(random_flat(np.random.default_rng(0), nbody=3, kinds=("free", "ball", "revolute")))
    rng = np.random.default_rng(3)
    nv, (q, _) = model.nv, random_state(model.flat, rng)
    problem = shooting_problem(model, q, 0.5 * rng.normal(size=nv), duration=0.06, dt=0.02, goal=q, Q=1.0, R=1.0,
                               method=method, tolerance=1e-13)  # fmt: skip
    path = problem.follow(0.3 * rng.normal(size=(3, nv)))
    costates = rng.normal(size=(3, 2 * nv))
    found = problem.simulated(path.controls).linearize().curvature(costates)
    # differences ahead are enough for a direction; central ones tell that nothing is left out
    for differences, off in ((QUICK, 2e-5), (CLOSE, 1e-9)):
        expected = problem.curvature(path, problem.expand(path)[0], np.insert(costates, 0, 0.0, axis=0), differences)
        np.testing.assert_allclose(found, expected, rtol=0, atol=off * np.abs(expected).max())


@pytest.mark.parametrize("method", ["linear-time", "midpoint"])
@pytest.mark.parametrize("seed", range(4))
def test_an_action_has_them_along_its_costates(method, seed):
    """Of joints of one coordinate with dampers: the third derivatives of the action are symmetric."""
    rng = np.random.default_rng(seed)
    flat = random_flat(rng, nbody=6, kinds=("revolute", "revolute", "prismatic"))
    flat = replace(flat, damping=rng.uniform(0, 0.3, len(flat.damping)))
    model = vt.Model(flat)
    q, v = random_state(flat, rng)
    task = {"duration": 0.1, "dt": 0.02, "goal": q, "Q": 1.0, "R": 1.0, "method": method}
    options = {"kinetic": "midpoint"} if method == "midpoint" else {}
    problem = shooting_problem(model, q, v, tolerance=1e-13, **task, **options)
    path = problem.follow(rng.normal(size=(5, model.nv)))
    given = path, problem.expand(path)[0], rng.normal(size=(6, 2 * model.nv))
    assert problem.acting
    found, problem.acting = problem.curvature(*given), False
    expected = problem.curvature(*given, CLOSE)
    np.testing.assert_allclose(found, expected, rtol=0, atol=5e-8 * np.abs(expected).max())


def test_forces_that_have_no_action_have_no_such_curvature():
    """Dry friction and drives depend on the motion in other ways, and balls turn."""
    flat = random_flat(np.random.default_rng(0), nbody=3, kinds=("revolute",))
    rough = replace(flat, friction=np.full(3, 0.1), friction_velocity=np.full(3, 0.1))
    ball = random_flat(np.random.default_rng(0), nbody=3, kinds=("revolute", "ball"))
    for acts, model in ((True, vt.Model(flat)), (False, vt.Model(rough)), (False, vt.Model(ball)),
                        (False, vt.Model(flat).with_drives({"*": (1.0, 0.1)}))):  # fmt: skip
        assert has_action(linearized.integrator_of(model, "linear-time", 0.01, {})) is acts


@pytest.mark.parametrize("method", ["linear-time", "midpoint"])
def test_bits_do_not_depend_on_the_number_of_lanes(method, monkeypatch):
    model = rubbing_model(5, KINDS)
    q, v = random_state(model.flat, np.random.default_rng(0), 0.5)
    step, costate = vt.linearize(model, q, v, dt=0.01, method=method), np.ones(2 * model.nv)
    found = []
    for width in _core.widths():
        monkeypatch.setattr(slopes, "wide", lambda width=width: _core.lanes(width))
        found.append(step.curvature(costate, ["state", "torque"]))
    assert all(np.array_equal(found[0], other) for other in found[1:])


class Own(vt.Potential):
    """A spring whose slope is found by differences."""

    def energy(self, model, q):
        return 0.5 * q[0] ** 2


def test_wrong_uses_are_told():
    model = vt.Model(chain_flat(2))
    run = vt.simulate(model, [0.3, 0.2], duration=0.05, dt=0.01)
    found = run.linearize()
    for given, error, text in (
        ((np.ones(4),), vt.InputError, r"\(\.\.\., 5, 4\)"), ((np.ones((4, 4)),), vt.InputError, "costate"),
        ((np.full((5, 4), np.nan),), vt.InputError, "costate"), ((np.ones((5, 4)), "q"), vt.UnknownNameError, "torque"),
        ((np.ones((5, 4)), []), vt.InputError, "by"), ((np.ones((5, 4)), ["state"] * 2), vt.InputError, "once"),
        ((np.ones((5, 4)), 3), vt.InputError, "by"), (("x",), vt.InputError, "costate"),
    ):  # fmt: skip
        with pytest.raises(error, match=text):
            found.curvature(*given)
    assert found.curvature(np.ones((5, 4)), "inputs").shape == (5, 0, 0)
    own = vt.Model(replace(model.flat, loads=(Own(),)))
    with pytest.raises(vt.ModelError, match="written in Python"):
        vt.linearize(own, [0.3, 0.2], dt=0.01).curvature(np.ones(4))
    flat = chain_flat(2)
    bound = tuple(replace(joint, lower=(-1.0,), upper=(1.0,)) for joint in flat.joints)
    stopped = vt.Model(replace(flat, joints=bound, limits="enforce"))
    with pytest.raises(vt.ModelError, match="limits"):
        vt.linearize(stopped, [0.3, 0.2], dt=0.01).curvature(np.ones(4))
