"""Loads: forces and potentials, powers, order, exact Newton directions, invariants."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from loaded_models import (
    PLACES,
    SINGLE,
    STENCIL,
    conservative_loads,
    constrained_tree,
    coordinate,
    distances,
    driving_loads,
    end_error,
    fitted,
    forces,
    gradient,
    one_coordinate_joints,
    random_tree,
    singles,
)

import vitree as vt
from vitree.mechanism.flat import KINDS

ALL = KINDS
KINDS = range(9)  # entries of conservative_loads


def loaded(seed, choose, **more):
    """A random model with some loads, the same without, and a state."""
    flat, q, v = random_tree(seed, **more)
    return vt.Model(replace(flat, loads=tuple(choose(flat)))), vt.Model(flat), q, v


# ---- forces and potentials ----------------------------------------------------------------------------


@pytest.mark.parametrize("k", KINDS)
@pytest.mark.parametrize("seed", range(3))
def test_forces_are_the_slopes_of_the_potential(seed, k):
    model, bare, q, v = loaded(seed, lambda flat: [conservative_loads(flat)[k]], kinds=ALL)
    slope = gradient(model, q, lambda at: model.potential_energy(at) - bare.potential_energy(at))
    Q = forces(model, q, v)
    # nothing is lost at a step of 2e-3 beside rounding, 1e-15 of the energies over the step
    size = max(1.0, abs(model.potential_energy(q)), np.abs(Q).max(), np.abs(model.rnea(q, v, v)).max())
    assert np.abs(Q + slope).max() < 2e-10 * size
    assert np.abs(slope).max() > 1e-3


@pytest.mark.parametrize("table", ["table", "function", "line"])
def test_a_nonlinear_spring_goes_straight_on_beyond_its_ends(table):
    """Its force is the spline within; beyond, the tangent at the end; and its potential the integral of both."""
    from scipy.interpolate import CubicSpline

    x = np.array([-0.8, -0.3, 0.1, 0.5, 0.9])
    y = np.sin(3 * x) - x if table != "line" else 1 - 2 * x
    tree = vt.Tree("slider", gravity=(0, 0, 0))
    tree.world.add(vt.tx("x"), vt.body("mass", 2.0))
    given = (lambda p: np.sin(3 * p) - p) if table == "function" else y
    tree.load(vt.NonlinearSpring("x", x[[0, -1]], y[[0, -1]]) if table == "line" else vt.NonlinearSpring("x", x, given))
    model, spline = tree.compile(), CubicSpline(x, y)
    for at in (-2.0, -0.81, -0.5, 0.0, 0.3, 0.89, 0.91, 3.0):
        end = min(max(at, x[0]), x[-1])
        expected = spline(end) + spline(end, 1) * (at - end)
        assert forces(model, np.array([at]), np.zeros(1))[0] == pytest.approx(float(expected), abs=1e-12)
        energies = np.array([model.potential_energy([at + k * 2e-3]) for k in PLACES])
        # each energy is rounded
        rounding = 4 * np.finfo(float).eps * np.abs(STENCIL) @ np.abs(energies) / 2e-3
        assert STENCIL @ energies / 2e-3 == pytest.approx(-float(expected), abs=rounding + 1e-12)


@pytest.mark.parametrize("axes", ["world", "local", "spatial"])
@pytest.mark.parametrize("named", [False, True], ids=["constants", "inputs"])
def test_the_power_of_a_wrench(axes, named):
    """Power is twist . wrench, in the axes and about the point that its name says."""
    numbers, names = np.array([0.3, -0.7, 0.4, 1.1, 0.6, -0.9]), ("nx", "ny", "nz", "fx", "fy", "fz")
    for seed in range(4):
        for frame in ("link3", "frame1", "frame2"):
            parts = names if named else tuple(numbers)
            model, _, q, v = loaded(seed, lambda flat: [vt.Wrench(frame, parts[:3], parts[3:], axes)], kinds=ALL)  # noqa: B023
            twist = model.frame_jacobian(frame, q, axes="local" if axes == "local" else "world") @ v
            if axes == "spatial":
                # of the point of the body that is at the world's origin
                twist[3:] -= np.cross(twist[:3], model.frame_pose(frame, q)[:3, 3])
            Q = forces(model, q, v, inputs=dict(zip(names, numbers, strict=True)) if named else None)
            rounding = 1e-13 * np.abs(v).sum() * np.abs(model.rnea(q, v, v)).max()
            assert Q @ v == pytest.approx(twist @ numbers, abs=rounding + 1e-12)


def test_wrenches_given_to_simulate_are_those_of_the_model():
    w = np.array([0.3, -0.7, 0.4, 1.1, 0.6, -0.9])
    for axes in ("world", "local", "spatial"):
        model, bare, q, v = loaded(3, lambda flat: [vt.Wrench("frame1", w[:3], w[3:], axes)], kinds=ALL)  # noqa: B023
        for method in ("midpoint", "linear-time", "rk4", "scipy-dop853"):
            runs = [vt.simulate(model, q, v, duration=0.02, dt=0.01, method=method),
                    vt.simulate(bare, q, v, duration=0.02, dt=0.01, method=method,
                                wrenches=[vt.ExternalWrench("frame1", w[3:], torque=w[:3], axes=axes)])]  # fmt: skip
            assert np.abs(runs[0].q - runs[1].q).max() < 1e-13


@pytest.mark.parametrize("force", [1.7, "drive"])
def test_a_joint_force_acts_on_its_coordinate_alone(force):
    for seed in range(3):
        model, _, q, v = loaded(seed, lambda flat: [vt.JointForce(singles(flat)[1], force)], kinds=ALL)
        Q = forces(model, q, v, inputs={"drive": 1.7} if force == "drive" else None)
        expected = np.zeros(model.nv)
        expected[model.joint(singles(model.flat)[1]).v_slice] = 1.7
        assert np.abs(Q - expected).max() < 1e-12 * np.abs(model.rnea(q, v, v)).max()


@pytest.mark.parametrize("seed", range(4))
def test_a_damper_takes_power_by_the_square_of_the_rate_of_distance(seed):
    model, _, q, v = loaded(seed, lambda flat: [vt.Damper("frame1", "link1", 1.3), vt.Damper("world", "link2", 0.6)],
                            kinds=ALL)  # fmt: skip

    def rate(a, b):
        d = distances(model, q, a, b)
        velocity = lambda name: 0.0 if name == "world" else model.frame_jacobian(name, q)[3:] @ v  # noqa: E731
        return d @ (velocity(a) - velocity(b)) / np.linalg.norm(d)

    lost = 1.3 * rate("frame1", "link1") ** 2 + 0.6 * rate("world", "link2") ** 2
    rounding = 1e-13 * np.abs(v).sum() * np.abs(model.rnea(q, v, v)).max()
    assert forces(model, q, v) @ v == pytest.approx(-lost, abs=rounding)
    assert lost > 1e-3
    # the same along a run: the energy lost is the integral of the power (Simpson, error by h^4)
    run = vt.simulate(model, q, v, duration=0.2, dt=0.002, method="scipy-dop853", rtol=1e-12, atol=1e-12)
    power = np.array([forces(model, s.q, s.v) @ s.v for s in run])
    simpson = 0.002 / 3 * (power[0] + 4 * power[1:-1:2].sum() + 2 * power[2:-1:2].sum() + power[-1])
    assert run.energy[-1] - run.energy[0] == pytest.approx(simpson, abs=1e-7 * max(1.0, np.abs(power).max()))


@pytest.mark.parametrize("base", ["fixed", "free"])
def test_gravity_on_all_links_is_that_of_the_tree(base):
    """The default midpoint has the tree's gravity on what floats at the nodes, and loads in the middle."""
    flat, q, v = random_tree(7, kinds=ALL, base=base)
    g = tuple(flat.gravity)
    apart = vt.Model(replace(flat, gravity=np.zeros(3), loads=(vt.Gravity(flat.link_names, g),)))
    whole = vt.Model(flat)
    assert apart.potential_energy(q) == pytest.approx(whole.potential_energy(q), rel=1e-13, abs=1e-12)
    a, b = (model.forward_dynamics(q, v).acceleration for model in (apart, whole))
    assert np.abs(a - b).max() < 1e-11 * np.abs(a).max()
    for method in ("midpoint", "linear-time", "rk4"):
        options = {} if method == "rk4" else {"tolerance": 1e-13}
        options |= {"kinetic": "midpoint"} if method == "midpoint" else {}
        runs = [vt.simulate(model, q, v, duration=0.1, dt=0.005, method=method, **options) for model in (apart, whole)]
        assert np.abs(runs[0].q - runs[1].q).max() < 1e-10


def test_two_attracted_bodies_keep_keplers_period():
    """On a circle omega^2 r^3 = G (m_a + m_b): after ten periods all is where it was."""
    tree = vt.Tree("binary", gravity=(0, 0, 0))
    for name, mass in (("sun", 3.0), ("planet", 1.0)):
        tree.world.add(vt.tx(f"{name}_x"), vt.ty(f"{name}_y"), vt.body(name, mass))
    tree.load(vt.Attraction("sun", "planet", constant=2.0))
    model, r = tree.compile(), 1.5
    omega = np.sqrt(2.0 * 4.0 / r**3)
    period = 2 * np.pi / omega
    q0 = np.array([-0.25 * r, 0.0, 0.75 * r, 0.0])
    v0 = omega * np.array([0.0, -0.25 * r, 0.0, 0.75 * r])
    assert model.potential_energy(q0) == pytest.approx(-2.0 * 3.0 / r, rel=1e-14)
    tight = vt.simulate(model, q0, v0, duration=10 * period, dt=period / 10, method="scipy-dop853",
                        rtol=1e-12, atol=1e-12)  # fmt: skip
    assert np.abs(tight.q[::10] - q0).max() < 1e-8
    for method in ("midpoint", "linear-time"):
        errors = []
        for n in (100, 200):
            run = vt.simulate(model, q0, v0, duration=10 * period, dt=period / n, method=method)
            radius = np.linalg.norm(run.q[:, :2] - run.q[:, 2:], axis=1)
            assert np.abs(radius / r - 1).max() < (2 * np.pi / n) ** 2
            errors.append(np.abs(run.q[-1] - q0).max())
        assert errors[0] / errors[1] == pytest.approx(4.0, rel=0.05)
        assert errors[1] < 10 * period * omega * r * (2 * np.pi / 200) ** 2


# ---- order --------------------------------------------------------------------------------------------

DURATION, PIECES = 0.4, 20


def signal(t):
    """Inputs over time: push, turn, drive."""
    return np.array([np.sin(5 * t), 1 - 2 * t, np.cos(3 * t) ** 2])


def inputs_of(kind, names, steps):
    """The inputs of a run of some steps, and those of the reference: of one run, or of each of its pieces."""
    order = [("push", "turn", "drive").index(name) for name in names]
    rng = np.random.default_rng(5)
    if kind == "constant":
        return np.array([0.7, -0.4, 1.2])[order], [np.array([0.7, -0.4, 1.2])[order]]
    if kind == "rows":
        rows = rng.normal(size=(PIECES, 3))[:, order]
        return np.repeat(rows, steps // PIECES, axis=0), list(rows)
    if kind == "callable":
        felt = lambda t, q, v: signal(t)[order] - 0.3 * v[0]  # noqa: E731
        return felt, [felt]
    if kind == "mapping of rows":
        rows = rng.normal(size=PIECES)
        return ({"turn": np.repeat(rows, steps // PIECES), "push": -0.8},
                [{"turn": row, "push": -0.8} for row in rows])  # fmt: skip
    named = {"push": lambda t: float(np.sin(5 * t)), "drive": 0.9}
    return named, [named]


@pytest.mark.parametrize("method", ["midpoint", "linear-time", "rk4"])
@pytest.mark.parametrize("kind", ["constant", "rows", "callable", "mapping", "mapping of rows"])
def test_order(kind, method):
    """Sprung, damped and driven, in every way that inputs are given."""
    model, _, q, v = loaded(12, lambda flat: [*conservative_loads(flat)[:7], *driving_loads(flat)],
                            kinds=(*SINGLE, "ball"), damping=True)  # fmt: skip
    # knots of the nonlinear springs, where the fourth derivative jumps, are left out
    _, pieces = inputs_of(kind, model.input_names, PIECES)
    at, t = (q, v), 0.0
    for piece in pieces:
        part = vt.simulate(model, *at, t0=t, duration=DURATION / len(pieces), dt=DURATION / len(pieces),
                           control=vt.Control(inputs=piece),
                           method="scipy-dop853", rtol=1e-12, atol=1e-12)  # fmt: skip
        at, t = (part.q[-1], part.v[-1]), t + DURATION / len(pieces)
    counts, errors = ((20, 40, 80) if method == "rk4" else (80, 160, 320)), []
    for n in counts:
        inputs, _ = inputs_of(kind, model.input_names, n)
        run = vt.simulate(model, q, v, duration=DURATION, dt=DURATION / n, method=method,
                          control=vt.Control(inputs=inputs))
        errors.append(end_error(model, part[-1], run[-1]))
    orders = fitted([DURATION / n for n in counts], errors)
    if method == "rk4":
        assert orders.min() > 3.5
    else:
        assert np.abs(orders - 2).max() < 0.1


@pytest.mark.parametrize("method", ["midpoint", "linear-time"])
@pytest.mark.parametrize("kind", ["constant", "rows", "callable", "mapping", "mapping of rows"])
def test_a_step_from_two_configurations_feels_its_inputs(kind, method):
    """The first step from (q0, q1) leads to q1, whatever drives it; with dampers if their velocity is solved for."""
    drop = () if method == "midpoint" else vt.Damper
    model, _, q, v = loaded(12, lambda flat: [
        x for x in (*conservative_loads(flat), *driving_loads(flat)) if not isinstance(x, drop)])  # fmt: skip
    inputs, _ = inputs_of(kind, model.input_names, PIECES)
    if kind == "callable":
        inputs = lambda t, q, v: signal(t)  # noqa: E731
    q1 = model.integrate(q, 0.01 * v)
    run = vt.simulate(model, q, q1=q1, duration=0.01, dt=0.01, method=method, control=vt.Control(inputs=inputs),
                      tolerance=1e-13)
    assert np.abs(run.q[-1] - q1).max() < 1e-10


def test_rows_of_inputs_are_held_over_their_steps():
    """On a mass alone: the change of momentum is the sum of the rows times the step."""
    tree = vt.Tree("mass", gravity=(0, 0, 0))
    tree.world.add(vt.tx("x"), vt.body("m", 2.0))
    tree.load(vt.JointForce("x", "push"))
    model, rows = tree.compile(), np.array([[1.0], [-3.0], [0.5], [7.0]])
    for method in vt.METHODS:
        if not method.startswith("scipy"):
            run = vt.simulate(model, duration=0.4, dt=0.1, method=method, control=vt.Control(inputs=rows))
            assert np.abs(run.p[:, 0] - np.concatenate(([0.0], 0.1 * np.cumsum(rows)))).max() < 1e-13, method


@pytest.mark.parametrize(
    ("inputs", "error", "text"),
    [
        ({"pushh": 1.0}, vt.UnknownNameError, 'did you mean "push"'),
        (np.zeros(2), vt.InputError, "push"),
        (np.zeros((3, 1)), vt.InputError, "3 rows"),
        ([np.nan], vt.InputError, "finite"),
        ("push", vt.InputError, "numbers"),
        (lambda t, q, v: np.zeros(2), ValueError, "shape"),
        (lambda t, q, v: np.array([np.nan]), ValueError, "NaN"),
    ],
)
def test_bad_inputs_are_named(inputs, error, text):
    tree = vt.Tree("mass")
    tree.world.add(vt.tx("x"), vt.body("m", 2.0))
    tree.load(vt.JointForce("x", "push"))
    with pytest.raises(error, match=text):
        vt.simulate(tree.compile(), duration=0.4, dt=0.1, method="midpoint", control=vt.Control(inputs=inputs))


@pytest.mark.parametrize(
    ("load", "error", "text"),
    [
        (vt.Spring("link1", "link99", 1.0), vt.UnknownNameError, "frame"),
        (vt.Spring("link5", "frame1", 1.0), vt.ModelError, "same body"),
        (vt.Spring("link1", "link2", 1.0, -0.1), vt.ModelError, "length"),
        (vt.Spring("link1", "link2", np.nan), vt.ModelError, "stiffness"),
        (vt.Damper("link1", "link2", "thick"), vt.ModelError, "coefficient"),
        (vt.Attraction("link1", "frame1"), vt.ModelError, "mass"),
        (vt.Gravity(("frame1",)), vt.UnknownNameError, "link"),
        (vt.Gravity(("link1",), (0, 0)), vt.ModelError, "acceleration"),
        (vt.Wrench("link1", axes="body"), vt.InputError, "axes"),
        (vt.Wrench("link1", (1, 2)), vt.ModelError, "three"),
        (vt.JointForce("joint99", 1.0), vt.UnknownNameError, "joint"),
        (vt.NonlinearSpring("joint0", (0, 1, 1), (1, 2, 3)), vt.ModelError, "increase"),
        (vt.NonlinearSpring("joint0", (0, 1), (1, 2, 3)), vt.ModelError, "equal length"),
        ("gravity", vt.ModelError, "a load is one of"),
    ],
)
def test_bad_loads_are_named(load, error, text):
    flat, _, _ = random_tree(0)
    with pytest.raises(error, match=text):
        vt.Model(replace(flat, loads=(load,)))


def test_a_joint_of_several_coordinates_takes_no_joint_loads():
    tree = vt.Tree("ball")
    tree.world.add(vt.ball("b"), vt.body("m", 1.0, inertia=(1, 1, 1)))
    tree.load(vt.JointSpring("b", 1.0))
    with pytest.raises(vt.ModelError, match='"b" has 3 coordinates'):
        tree.compile()


# ---- the equations of a step ----------------------------------------------------------------------------


def everything(seed, kinds=SINGLE, nbody=8, **more):
    """A random model with every load and every constraint, at rest on them and moving along them."""
    model, q, v = constrained_tree(seed, kinds=kinds, nbody=nbody, **more)
    model = vt.Model(replace(model.flat, loads=(*conservative_loads(model.flat), *driving_loads(model.flat))))
    assert np.abs(model.constraint_errors(q)).max() < 1e-13
    return model, q, model.project_velocity(q, v)


@pytest.mark.parametrize("kinds", [SINGLE, (*SINGLE, "ball")], ids=["single", "ball"])
@pytest.mark.parametrize("seed", range(6))
def test_the_residual_of_the_tree_is_the_recursive_one(seed, kinds):
    model, q, v = one_coordinate_joints(*everything(seed, kinds))
    inputs = dict(zip(("push", "turn", "drive"), (0.7, -0.5, 1.1), strict=True))
    ends = [vt.simulate(model, q, v, duration=0.002, dt=0.002, method="midpoint", residual=residual,
                        control=vt.Control(inputs=inputs),
                        tolerance=1e-13, solver=solver)[-1]
            for residual in ("recursive", "tree") for solver in ("recursive-newton", "auto")]  # fmt: skip
    for end in ends[1:]:
        assert np.abs(end.q - ends[0].q).max() < 1e-11
        assert np.abs(end.p - ends[0].p).max() < 1e-11 * max(1.0, np.abs(ends[0].p).max())


@pytest.mark.parametrize("kinds", [SINGLE, (*SINGLE, "ball")], ids=["single", "ball"])
def test_solvers_and_guesses_agree(kinds):
    model, q, v = everything(7, kinds)
    options = {"duration": 0.02, "dt": 0.001, "method": "midpoint", "tolerance": 1e-12,
               "control": vt.Control(inputs=lambda t, q, v: np.array([np.sin(9 * t), v[0], 1.0]))}  # fmt: skip
    first = vt.simulate(model, q, v, solver="recursive-newton", **options)
    assert first.iterations_max <= 6
    tree = [{"residual": "tree", "caching": False}] if model.nq == model.nv else []
    for more in ({"solver": "auto"}, {"solver": "modified-newton"}, {"guess": "current"}, {"guess": "euler"},
                 {"guess": "aba"},
                 {"guess": "extrapolate"}, *tree):  # fmt: skip
        run = vt.simulate(model, q, v, **more, **options)
        assert np.abs(run.q - first.q).max() < 1e-8, more
        assert np.nanmax(np.abs(run.multipliers - first.multipliers)) < 1e-5 * np.nanmax(np.abs(first.multipliers))


STRONG = {
    "spring": vt.Spring("link0", "link4", 300.0, 0.4),
    "spring without length": vt.Spring("frame1", "world", 300.0),
    "damper": vt.Damper("link0", "link4", 50.0),
    "damper to the world": vt.Damper("world", "frame1", 50.0),
    "attraction": vt.Attraction("frame1", "link1", 30.0, 30.0, constant=0.3),
    "world": vt.Wrench("frame1", (9, -7, 8), (90, -70, 80), axes="world"),
    "local": vt.Wrench("frame1", (9, -7, 8), (90, -70, 80), axes="local"),
    "spatial": vt.Wrench("frame1", (9, -7, 8), (90, -70, 80), axes="spatial"),
    "gravity": vt.Gravity(("link5", "link2"), (30.0, 40.0, -50.0)),
}


@pytest.mark.parametrize("stiffness", [3.0, 3e2, 3e3])
@pytest.mark.parametrize("ratio", [1, 10], ids=["even steps", "uneven steps"])
def test_answers_of_springs_that_are_kept_lead_to_the_same_steps(stiffness, ratio):
    """A factorisation may keep what springs answered before: corrections are then less exact, solutions are not."""
    tree = vt.Tree("chain")
    at = tree.world
    for k in range(8):
        joint = vt.ry(f"j{k}") if k % 2 else vt.rx(f"j{k}")
        at = at.add(joint, vt.tz(-0.2), vt.body(f"b{k}", 1.0, (1e-2,) * 3), vt.tz(-0.2))
    for k in range(8):
        tree.load(vt.Spring(f"b{k}", f"b{(k + 3) % 8}", stiffness, 0.5), vt.Damper(f"b{k}", f"b{(k + 2) % 8}", 0.3))
    model, q = tree.compile(), np.linspace(-0.4, 0.5, 8)
    dt = 2e-4 * np.where(np.arange(60) % 3, 1, ratio)
    kept, exact = (vt.simulate(model, q, dt=dt, method="midpoint", tolerance=1e-12, solver=solver)
                   for solver in ("auto", "recursive-newton"))  # fmt: skip
    assert np.abs(kept.q - exact.q).max() < 1e-8 * np.abs(exact.q).max()
    assert kept.iterations_total < 3 * exact.iterations_total


@pytest.mark.parametrize("residual", ["recursive", "tree"])
@pytest.mark.parametrize("load", STRONG.values(), ids=STRONG)
@pytest.mark.parametrize("seed", range(4, 8))
def test_newton_directions_have_every_load(seed, load, residual):
    """Of a fast motion from a poor guess: from a small residual one correction leads to rounding."""
    model, _, q, v = loaded(seed, lambda flat: [load])
    left = []
    for most in range(1, 12):
        try:
            vt.simulate(model, q, 3 * v, duration=0.05, dt=0.05, method="midpoint", residual=residual, guess="euler",
                        solver="recursive-newton", tolerance=1e-13, max_iterations=most)  # fmt: skip
            break
        except vt.ConvergenceError as failure:
            left.append(failure.residual)
    near = [k for k, e in enumerate(left) if e < 1e-4]
    # squares: 1e-4, 1e-8 of some scale, 1e-13
    assert len(left) < 11 and len(near) <= 2, left


def stiff(kinds):
    """A tree whose springs and dampers are stiff beside its step: h omega is near 3."""
    flat, q, v = random_tree(4, kinds=kinds, nbody=6)
    names, model = singles(flat), vt.Model(flat)
    far = lambda a, b: float(np.linalg.norm(distances(model, q, a, b)))  # noqa: E731
    x = coordinate(flat, q, names[1])
    loads = (
        vt.Spring("link1", "link5", 4e4, 0.99 * far("link1", "link5")),
        vt.Spring("world", "frame1", 2e4, 1.01 * far("world", "frame1")),
        vt.Damper("link0", "link4", 40.0),
        vt.JointSpring(names[0], 1e4, coordinate(flat, q, names[0]) + 0.02),
        vt.NonlinearSpring(names[1], x + np.linspace(-1.1, 1.3, 33), lambda y: -5e3 * np.sin(2 * (y - x))),
        vt.Wrench("frame1", (3.0, 1.0, 2.0), (50.0, 20.0, -70.0)),
        vt.Wrench("link4", (3.0, 1.0, 2.0), (50.0, 20.0, -70.0), axes="spatial"),
    )
    return vt.Model(replace(flat, loads=loads)), q, v


@pytest.mark.parametrize("residual", ["recursive", "tree"])
@pytest.mark.parametrize("kinds", [SINGLE, (*SINGLE, "ball")], ids=["single", "ball"])
def test_newton_directions_are_exact(residual, kinds):
    """Each correction squares the residual, on stiff springs too."""
    model, q, v = stiff(kinds)
    at, qe, ve = one_coordinate_joints(model, q, v)
    if residual == "tree":
        model, q, v = at, qe, ve
    # the fastest of the linearised motions
    slopes = gradient(at, qe, lambda x: forces(at, x, np.zeros(at.nv)), step=1e-4).T
    omega = np.sqrt(np.abs(np.linalg.eigvals(np.linalg.solve(at.crba(qe), slopes))).max())
    h = 3.0 / omega
    left = []
    for most in range(1, 9):
        try:
            vt.simulate(model, q, v, duration=h, dt=h, method="midpoint", residual=residual, solver="recursive-newton",
                        tolerance=1e-12, max_iterations=most)  # fmt: skip
            break
        except vt.ConvergenceError as failure:
            left.append(failure.residual)
    assert len(left) <= 5, left
    # once it is near, by much more than a wrong direction could
    falls = np.array(left[1:]) / left[:-1]
    assert falls[-1] < 1e-3, left


# ---- invariants -----------------------------------------------------------------------------------------


def test_the_midpoint_step_is_symplectic_under_conservative_loads():
    """The map (q, p) of one step preserves the canonical two-form: A^T J A = J."""
    model, _, q, v = loaded(51, conservative_loads, nbody=6)
    n, h, e = model.nv, 0.01, 1e-3
    p = model.generalized_momentum(q, v)

    def step(z):
        end = vt.simulate(model, z[:n], p0=z[n:], duration=h, dt=h, method="midpoint", tolerance=1e-14, guess="aba",
                          solver="recursive-newton")[-1]  # fmt: skip
        return np.concatenate((end.q, end.p))

    z = np.concatenate((q, p))
    A = np.array([STENCIL @ [step(z + k * e * d) for k in PLACES] / e for d in np.eye(2 * n)]).T
    J = np.block([[np.zeros((n, n)), np.eye(n)], [-np.eye(n), np.zeros((n, n))]])
    assert np.abs(A.T @ J @ A - J).max() < 1e-10 * np.abs(A).max() ** 2


@pytest.mark.parametrize("method", ["midpoint", "linear-time"])
def test_energy_stays_bounded_over_ten_thousand_steps(method):
    model, _, q, v = loaded(9, conservative_loads, speed=0.3)
    run = vt.simulate(model, q, v, duration=20.0, dt=0.002, method=method, record_every=10)
    error = run.energy - run.energy[0]
    assert np.abs(error).max() < 2e-2 * run.kinetic.max()
    blocks = error[1:].reshape(20, -1).mean(axis=1)
    assert abs(np.polyfit(np.linspace(0, 1, 20), blocks, 1)[0]) < 0.25 * np.ptp(error)


@pytest.mark.parametrize(("base", "kinds"), [("free", SINGLE), ("fixed", (*SINGLE, "ball"))])
def test_midpoint_agrees_with_linear_time(base, kinds):
    """Their difference falls by the square of the step."""
    model, _, q, v = loaded(15, lambda flat: [*conservative_loads(flat), *driving_loads(flat)], base=base, kinds=kinds)
    inputs, apart, counts = {"push": 0.6, "drive": lambda t: np.sin(4 * t)}, [], (40, 80, 160)
    for n in counts:
        ends = [vt.simulate(model, q, v, duration=0.2, dt=0.2 / n, method=method, control=vt.Control(inputs=inputs))[-1]
                for method in ("midpoint", "linear-time")]  # fmt: skip
        apart.append(end_error(model, *ends))
    assert np.abs(fitted([1 / n for n in counts], apart) - 2).max() < 0.1
    assert np.max(apart[-1]) < 1e-2
