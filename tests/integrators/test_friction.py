"""Coulomb friction of joints, made smooth: the force, its slope, what it takes out, and that all methods agree."""

from __future__ import annotations

from dataclasses import replace

import kernel_checks as kernels
import numpy as np
import pytest
import reference
from directions import check_direction
from loaded_models import (
    SINGLE,
    conservative_loads,
    constrained_tree,
    driving_loads,
    end_error,
    fitted,
    gradient,
    one_coordinate_joints,
    random_tree,
)
from random_models import chain_flat, random_flat, random_state
from robot_texts import TWO_LINKS as TWO

import vitree as vt
from vitree import cli
from vitree.integrators.variational import INEXACT, SOLVERS
from vitree.mechanism.flat import KIND_NV, KINDS
from vitree.tree.sexpr import read_sexpr, write_sexpr

ALL = KINDS
VARIATIONAL = ("midpoint", "linear-time")
COMPILED = [name for name in vt.METHODS if not name.startswith("scipy")]
G = 9.81


def rubbing(flat, seed=0, size=1.0, speed=0.5):
    """The flat tree with friction up to ``size`` on all joints of one coordinate."""
    rng = np.random.default_rng(seed)
    nv = KIND_NV[flat.kind]
    single = np.repeat(nv == 1, nv)
    return replace(flat, friction=np.where(single, rng.uniform(0.1, 1, nv.sum()) * size, 0.0),
                   friction_velocity=speed * rng.uniform(0.5, 2, nv.sum()))  # fmt: skip


def block(friction, speed=0.01, slope=0.3, mass=2.0):
    """A block on an incline; its coordinate grows downhill."""
    tree = vt.Tree("block")
    tree.world.add(vt.ry(slope), vt.tx("slide", friction=friction, friction_velocity=speed), vt.body("block", mass))
    return tree.compile()


def pendulum(n=1, friction=0.3, speed=0.05, inertia=0.01, mass=0.5):
    tree = vt.Tree("pendulum")
    at = tree.world
    for k in range(n):
        at = at.add(vt.rx(f"joint{k}", friction=friction, friction_velocity=speed), vt.tz(-0.4),
                    vt.body(f"bob{k}", mass, (inertia,) * 3))  # fmt: skip
    return tree.compile()


# ---- the force and its slope ------------------------------------------------------------------------------


def test_force_is_between_the_bounds_and_against_the_motion():
    """From far below the friction velocity to far above it."""
    model = block(3.0, speed=0.02)
    v = np.concatenate((-np.logspace(-9, 9, 60), np.logspace(-9, 9, 60)))
    free = model.aba(np.zeros(1), np.zeros(1), np.zeros(1))[0]
    force = 2.0 * np.array([model.forward_dynamics([0.0], [x]).acceleration[0] - free for x in v])
    assert (np.abs(force) <= 3.0 * (1 + 1e-14)).all()
    assert np.abs(force + 3.0 * v / np.hypot(v, 0.02)).max() < 1e-14 * 6
    moving = np.abs(v) > 1e-6
    assert (force * v)[moving].max() < 0


def test_slope_is_that_of_the_force():
    flat = rubbing(random_flat(np.random.default_rng(1), nbody=8, kinds=ALL, damping=True))
    v = np.random.default_rng(2).normal(size=len(flat.damping))
    e = 1e-6
    slope = (reference.drag(flat, v + e) - reference.drag(flat, v - e)) / (2 * e)
    assert np.abs(reference.drag_slope(flat, v) - slope).max() < 1e-8
    assert (reference.drag_slope(flat, v) >= flat.damping).all()


@pytest.mark.parametrize("seed", range(3))
def test_accelerations_are_the_oracles(seed):
    flat = rubbing(random_flat(np.random.default_rng(seed), nbody=8, kinds=ALL, damping=True))
    q, v = random_state(flat, np.random.default_rng(9))
    exact = np.asarray(reference.acceleration(flat, q, v), float)
    assert np.abs(vt.Model(flat).forward_dynamics(q, v).acceleration - exact).max() < 1e-10 * np.abs(exact).max()


# ---- the kernels ------------------------------------------------------------------------------------------

TREES = [rubbing(flat, size=20.0) for flat in kernels.ALL]


@pytest.mark.parametrize("speed", [1.0, 3.0])
@pytest.mark.parametrize("flat", TREES, ids=lambda f: "-".join(map(str, f.kind)))
def test_kernels_against_the_oracle(flat, speed):
    """Residual, exact direction and end of a step of both discretisations."""
    kernels.check_linear_time(flat, speed)
    for alpha in (0.3, 0.5):
        kernels.check_midpoint(flat, speed, alpha)


@pytest.mark.parametrize("width", [w for w in kernels.BUILT if w > 1])
@pytest.mark.parametrize("kernel", ["batch_linear_time", "batch_midpoint"])
def test_every_width_gives_the_same_bits(kernel, width):
    kernels.check_widths(kernel, width, TREES)


@kernels.of_builds
@pytest.mark.parametrize("stepper", ["euler", "runge-kutta", "linear-time", "midpoint"])
def test_all_builds_of_one_lane_give_the_same_bits(stepper):
    kernels.check_builds(stepper, lambda *args, **more: rubbing(random_flat(*args, **more)))


@pytest.mark.parametrize("solver", ["recursive-newton", "newton"])
@pytest.mark.parametrize("alpha", [0.3, 0.5, None])
def test_newton_directions(alpha, solver):
    """With loads and constraints of every kind."""
    model, q, v = constrained_tree(3, nbody=9, kinds=ALL, base="free")
    flat = replace(model.flat, loads=(*conservative_loads(model.flat), *driving_loads(model.flat)))
    check_direction(vt.Model(rubbing(flat, size=100.0, speed=5.0)), q, v, alpha, solver=solver)


# ---- what all methods do ----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("method", "more"),
    [*((name, {}) for name in COMPILED if vt.METHODS[name].order <= 4), ("midpoint", {"residual": "tree"}),
     ("midpoint", {"order": 4}), ("linear-time", {"order": 4}), ("linear-time", {"adapt": "density", "rate": 50.0})],
)  # fmt: skip
def test_order(method, more):
    """Where velocities do not pass zero, and where they do slowly enough; with loads and inputs."""
    flat, q, v = random_tree(6, nbody=5, speed=1.5, damping=True)
    model = vt.Model(rubbing(replace(flat, loads=driving_loads(flat)), size=2.0))
    driven = {"control": vt.Control(inputs={"push": np.cos})}
    order = more.get("order", vt.METHODS[method].order)
    counts = np.array([16, 32, 64] if order == 4 else [40, 80, 160])
    errors = []
    for k in counts:
        run = vt.simulate(model, q, v, duration=0.3, dt=0.3 / k, method=method, **more, **driven)
        exact = vt.simulate(model, q, v, duration=run.t[-1], dt=run.t[-1], method="scipy-dop853", rtol=1e-12,
                            atol=1e-12, **driven)  # fmt: skip
        errors.append(end_error(model, exact[-1], run[-1]))
    assert np.abs(fitted(1.0 / counts, errors) - order).max() < 0.25, errors


def test_all_methods_agree_on_a_pendulum_that_comes_to_rest():
    """Turning points pass through the sharp part of the friction."""
    model = pendulum(friction=1.2, speed=0.05)
    exact = vt.simulate(model, [1.5], duration=2.0, dt=2.0, method="scipy-radau", rtol=1e-11, atol=1e-12)[-1]
    assert abs(exact.v[0]) < 0.05
    for method in vt.METHODS:
        order = vt.METHODS[method].order
        run = vt.simulate(model, [1.5], duration=2.0, dt=2e-5 if order == 1 else 1e-3, method=method)
        assert np.abs(end_error(model, exact, run[-1])).max() < (1e-3 if order == 1 else 1e-4), method


@pytest.mark.parametrize("method", VARIATIONAL)
def test_a_block_below_the_threshold_creeps_as_documented(method):
    pull = 2.0 * G * np.sin(0.3)
    for friction in (1.05 * pull, 3 * pull):
        run = vt.simulate(block(friction), duration=2.0, dt=1e-3, method=method)
        speed = (run.q[-1, 0] - run.q[1000, 0]) / (run.t[-1] - run.t[1000])
        assert speed == pytest.approx(0.01 * pull / np.sqrt(friction**2 - pull**2), rel=1e-5)


@pytest.mark.parametrize("method", [*VARIATIONAL, "rk4"])
def test_a_block_above_the_threshold_slides_as_coulomb_has_it(method):
    friction = 0.6 * 2.0 * G * np.sin(0.3)
    run = vt.simulate(block(friction, speed=1e-3), duration=1.0, dt=1e-4, method=method)
    acceleration = (run.v[-1, 0] - run.v[5000, 0]) / (run.t[-1] - run.t[5000])
    assert acceleration == pytest.approx(G * np.sin(0.3) - friction / 2.0, rel=1e-5)


@pytest.mark.parametrize("method", VARIATIONAL)
@pytest.mark.parametrize("speed", [1e-3, 0.3])
def test_each_step_takes_out_the_work_of_friction(speed, method):
    """Of sliding blocks, whose mass matrix is constant: to the last digits, however stiff."""
    tree = vt.Tree("blocks", gravity=(0, 0, 0))
    at = tree.world
    for k, make in enumerate((vt.tx, vt.ty, vt.tz, vt.tx)):
        at = at.add(make(f"slide{k}", friction=2.0 + k, friction_velocity=speed), vt.body(f"block{k}", 0.1 + k))
    model, h = tree.compile(), 0.01
    run = vt.simulate(model, v0=[3.0, -1.0, 0.5, -4.0], duration=3.0, dt=h, method=method, tolerance=1e-13)
    v = np.diff(run.q, axis=0) / h
    work = -h * (model.friction * v**2 / np.hypot(v, speed)).sum(axis=1)
    assert (work <= 0).all() and work.sum() < -0.9 * run.energy[0]
    assert np.abs(np.diff(run.energy) - work).max() < 1e-12 * run.energy[0]
    assert (np.diff(run.energy) <= 1e-15 * run.energy[0]).all()


@pytest.mark.parametrize("method", VARIATIONAL)
def test_energy_falls_by_the_work_of_friction(method):
    """Of a tumbling tree, up to the discretisation's error, which falls with the square of the step."""
    flat, q, v = random_tree(4, nbody=6, speed=1.0)
    model, left = vt.Model(rubbing(flat, size=3.0, speed=0.05)), []
    for h in (2e-3, 1e-3):
        run = vt.simulate(model, q, v, duration=1.0, dt=h, method=method)
        rate = np.diff(run.q, axis=0) / h
        work = h * (model.friction * rate**2 / np.hypot(rate, model.flat.friction_velocity)).sum(axis=1)
        assert run.energy[-1] < run.energy[0] - 0.5 * work.sum() < run.energy[0]
        left.append(np.abs(run.energy[1:] + np.cumsum(work) - run.energy[0]).max())
    assert left[1] < 0.3 * left[0] and left[1] < 1e-2 * work.sum()


def test_momentum_of_a_free_robot_is_kept():
    """Friction of its joints is internal."""
    flat = random_flat(np.random.default_rng(5), nbody=8, base="free", gravity=(0, 0, 0), kinds=(*SINGLE, "ball"))
    model = vt.Model(rubbing(flat, size=5.0, speed=0.02))
    q, v = random_state(flat, np.random.default_rng(6), speed=0.5)
    for method in VARIATIONAL:
        run = vt.simulate(model, q, v, duration=2.0, dt=0.002, method=method)
        assert np.abs(run.momentum - run.momentum[0]).max() < 1e-11 * np.abs(run.momentum[0]).max()
        assert run.kinetic[-1] < 0.9 * run.kinetic[0]


def test_it_does_not_act_at_rest():
    flat, q, _ = random_tree(3)
    stuck, loose = vt.Model(rubbing(flat, size=1e3)), vt.Model(flat)
    zero = np.zeros(loose.nv)
    assert np.array_equal(stuck.forward_dynamics(q, zero).acceleration, loose.forward_dynamics(q, zero).acceleration)
    slope = gradient(stuck, q, lambda at: stuck._energies(at[None], zero[None])[0, 1])
    assert np.abs(slope - loose.rnea(q, zero, zero)).max() < 1e-8


# ---- solvers ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("residual", ["recursive", "tree"])
@pytest.mark.parametrize("method", VARIATIONAL)
def test_every_solver_reaches_the_same_step(method, residual):
    if method == "linear-time" and residual == "tree":
        pytest.skip("of the midpoint rule")
    flat, q, v = random_tree(7, damping=True)
    model, more = vt.Model(rubbing(flat)), {"residual": residual} if method == "midpoint" else {}
    options = {"duration": 0.016, "dt": 0.002, "method": method, "tolerance": 1e-12, "max_iterations": 60}
    exact = vt.simulate(model, q, v, solver="recursive-newton", **options)
    for solver in SOLVERS:
        run = vt.simulate(model, q, v, solver=solver, **options, **more)
        assert np.abs(run.q - exact.q).max() < 1e-10, solver
        assert np.abs(run.p - exact.p).max() < 1e-9 * np.abs(exact.p).max(), solver


@pytest.mark.parametrize("solver", ["auto", "recursive-newton", "newton"])
@pytest.mark.parametrize("method", VARIATIONAL)
@pytest.mark.parametrize("n", [1, 3])
def test_light_links_with_hard_friction_are_solved(n, method, solver):
    """A step's friction stops them many times over: plain Newton cycles between both directions of sliding."""
    for inertia in (1e-2, 1e-3, 1e-4):
        model = pendulum(n, friction=1.0, speed=0.01, inertia=inertia, mass=0.01)
        run = vt.simulate(model, np.ones(n), np.full(n, 30.0), duration=0.5, dt=1e-3, method=method, solver=solver)
        assert run.settings["halved"] == 0 and run.iterations_max <= 30 and run.iterations_total < 6 * run.steps
        assert run.kinetic[-1] < 0.5 * run.kinetic[0]


def test_the_tree_is_solved_as_well():
    """By the dense matrix of its derivatives."""
    model = pendulum(3, friction=1.0, speed=0.01, inertia=1e-3, mass=0.01)
    tree, recursive = (
        vt.simulate(model, np.ones(3), np.full(3, 30.0), duration=0.2, dt=1e-3, method="midpoint", residual=residual,
                    solver="newton", tolerance=1e-11) for residual in ("tree", "recursive"))  # fmt: skip
    assert np.abs(tree.q - recursive.q).max() < 1e-8
    assert abs(tree.iterations_total - recursive.iterations_total) <= 0.01 * recursive.iterations_total


@pytest.mark.parametrize("solver", INEXACT)
def test_a_solver_that_cannot_follow_says_which_can(solver):
    model = pendulum(3, friction=1.0, speed=0.01, inertia=1e-3, mass=0.01)
    with pytest.raises(vt.ConvergenceError, match='solver="auto"'):
        vt.simulate(model, np.ones(3), np.full(3, 30.0), duration=0.5, dt=1e-3, solver=solver)


@pytest.mark.parametrize("order", [4, 6])
def test_compositions_go_back_through_friction(order):
    """A negative substep gives back what it took: as short a rest is reached, and no step is lost."""
    model = pendulum(friction=1.0, speed=0.05)
    exact = vt.simulate(model, [1.0], [20.0], duration=0.3, dt=0.3, method="scipy-radau", rtol=1e-11, atol=1e-12)[-1]
    for method in VARIATIONAL:
        run = vt.simulate(model, [1.0], [20.0], duration=0.3, dt=2e-3, method=method, order=order)
        assert np.abs(model.difference(exact.q, run.q[-1])).max() < 1e-5


# ---- with all that a model can have -----------------------------------------------------------------------


@pytest.mark.parametrize("method", VARIATIONAL)
def test_constraints(method):
    model, q, v = constrained_tree(2, nbody=8, speed=0.5)
    model = vt.Model(rubbing(model.flat, size=3.0, speed=0.05))
    exact = vt.simulate(model, q, v, duration=0.2, dt=0.2, method="scipy-dop853", rtol=1e-11, atol=1e-11)[-1]
    steps, errors = np.array([4e-3, 2e-3, 1e-3]), []
    for h in steps:
        run = vt.simulate(model, q, v, duration=0.2, dt=h, method=method)
        assert np.abs(run.constraint).max() < 1e-11
        errors.append(end_error(model, exact, run[-1])[0])
    assert abs(fitted(steps, errors) - 2) < 0.25


@pytest.mark.parametrize("method", VARIATIONAL)
def test_prescribed_motion(method):
    """Friction of a prescribed joint takes nothing from the others; that of the others acts."""
    def cart(rub):
        tree = vt.Tree("cart")
        on = tree.world.add(vt.tx("x", kinematic=True, friction=rub), vt.body("cart", 3.0))
        on.add(vt.ry("swing", friction=0.2, friction_velocity=0.2), vt.tz(-0.7), vt.body("bob", 1.0))
        return tree.compile()

    place = {"x": lambda t: 0.4 * np.sin(3 * t)}
    exact = vt.simulate(cart(0.0), [0.0, 1.0], duration=1.0, dt=1.0, method="scipy-dop853",
                        control=vt.Control(prescribed=place))[-1]
    one, other = (vt.simulate(cart(rub), [0.0, 1.0], duration=1.0, dt=1e-3, method=method,
                              control=vt.Control(prescribed=place))
                  for rub in (0.0, 7.0))  # fmt: skip
    assert np.abs(exact.q - one.q[-1]).max() < 1e-5 and np.abs(one.q - other.q).max() < 1e-8


@pytest.mark.parametrize("more", [{}, {"order": 4}, {"adapt": "density", "rate": 3.0}], ids=str)
@pytest.mark.parametrize("method", VARIATIONAL)
def test_a_run_goes_on_bit_for_bit(method, more):
    flat, q, v = random_tree(5, nbody=5, kinds=(*SINGLE, "ball"), damping=True)
    model = vt.Model(rubbing(flat, size=5.0, speed=0.02))
    whole = vt.simulate(model, q, v, duration=0.4, dt=0.005, method=method, **more)
    first = vt.simulate(model, q, v, duration=0.2, dt=0.005, method=method, **more)
    rest = first.resume(float(whole.t[-1] - first.t[-1]))
    assert rest.q[1:].tobytes() == whole.q[len(first.q) : len(first.q) + len(rest.q) - 1].tobytes()
    with pytest.raises(vt.InputError, match="another model"):
        first.resume(0.1, model=vt.Model(replace(model.flat, friction=2 * model.friction)))


def test_euler_angles_keep_it():
    flat, q, v = random_tree(8, nbody=6, kinds=(*SINGLE, "ball"), base="free")
    native = vt.Model(rubbing(flat))
    euler, at, rate = one_coordinate_joints(native, q, v)
    assert euler.friction.sum() == native.friction.sum() and euler.friction.shape == (euler.nv,)
    one = native.forward_dynamics(q, v).acceleration
    other = euler.to_native(*(np.array(x) for x in (at, rate)))[1]
    assert np.abs(other - v).max() < 1e-10
    # joints of one coordinate accelerate alike in both
    single = {joint.name: joint.v_slice.start for joint in native.joints if joint.kind in SINGLE}
    found = euler.forward_dynamics(at, rate).acceleration
    for name, k in single.items():
        assert found[euler.joint(name).v_slice.start] == pytest.approx(one[k], rel=1e-8, abs=1e-8)


def test_adaptive_steps_by_the_action_refuse_it():
    model = vt.Model(replace(chain_flat(2), friction=np.array([0.0, 0.1])))
    with pytest.raises(vt.InputError, match="has friction"):
        vt.simulate(model, duration=0.1, dt=0.01, method="midpoint", adapt="sundman", rate=1.0, inertia=1.0)


# ---- where it comes from ----------------------------------------------------------------------------------


def test_models_say_what_they_have():
    model = pendulum(2, friction=0.3)
    assert np.array_equal(model.friction, [0.3, 0.3]) and np.array_equal(model.damping, [0, 0])
    assert model.digest != pendulum(2, friction=0.2).digest != pendulum(2, friction=0.2, speed=0.1).digest
    bare = chain_flat(3)
    assert not bare.friction.any() and np.array_equal(bare.friction_velocity, [0.01] * 3)
    planar = vt.Tree()
    planar.world.add(vt.planar("table", (0, 0, 1), friction=0.7), vt.body("plate", 1.0, (1, 1, 1)))
    assert np.array_equal(planar.compile().friction, [0.7] * 3)


def test_the_command_line_shows_it_and_leaves_it_out(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "two.urdf").write_text(TWO.replace('damping="0.25"', 'friction="2"'))
    assert cli.main(["info", "two.urdf"]) == 0 and "friction 2" in capsys.readouterr().out
    for option, least, most in (((), 1e-3, np.inf), (("--no-damping",), 0.0, 1e-6)):
        assert cli.main(["simulate", "two.urdf", "--duration", "0.1", "--dt", "0.001", *option]) == 0
        assert least <= np.ptp(vt.Trajectory.load("run.npz").energy) < most


def test_files_have_it():
    file = TWO.replace('<dynamics damping="0.25"/>', '<dynamics damping="0.25" friction="0.5"/>')
    model = vt.load_urdf(file)
    assert np.array_equal(model.friction, [0.5, 0]) and "friction" not in str(model.report)
    text = '(system (rx "a" (friction 0.2) (friction-velocity 0.03) (tz -1 (mass 1))))'
    for tree in (read_sexpr(text), read_sexpr(write_sexpr(read_sexpr(text)))):
        flat = tree.flatten()
        assert np.array_equal(flat.friction, [0.2]) and np.array_equal(flat.friction_velocity, [0.03])


@pytest.mark.parametrize(
    ("joint", "text"),
    [
        (lambda: vt.rx("a", friction=-1.0), 'the friction of "a"'),
        (lambda: vt.rx("a", friction=np.nan), 'the friction of "a"'),
        (lambda: vt.rx("a", friction=np.inf), "finite and not below 0"),
        (lambda: vt.rx("a", friction=[1.0, 2.0]), 'the friction of "a"'),
        (lambda: vt.rx("a", friction=1.0, friction_velocity=0.0), 'the friction_velocity of "a" is 0.0'),
        (lambda: vt.rx("a", friction=1.0, friction_velocity=-0.1), 'the friction_velocity of "a" is -0.1'),
        (lambda: vt.rx("a", friction=1.0, friction_velocity=np.nan), "friction_velocity"),
        (lambda: vt.ball("a", friction=1.0), "only joints of one coordinate can"),
        (lambda: vt.free("a", friction=(0, 0, 0, 0, 0, 1)), "only joints of one coordinate can"),
    ],
)
def test_bad_values(joint, text):
    tree = vt.Tree()
    tree.world.add(joint(), vt.body("b", 1.0, (1, 1, 1)))
    with pytest.raises(vt.ModelError, match=text):
        tree.compile()


def test_arrays_by_hand_are_checked():
    flat = random_tree(1, kinds=(*SINGLE, "ball"))[0]
    with pytest.raises(ValueError, match="ball and free joints have no friction"):
        vt.Model(replace(flat, friction=np.ones_like(flat.damping)))


def test_bad_values_in_a_file():
    with pytest.raises(vt.UrdfError, match='the friction of joint "shoulder" is -1'):
        vt.load_urdf(TWO.replace('<dynamics damping="0.25"/>', '<dynamics friction="-1"/>'))


def test_compare_holds_the_energy_against_the_reference():
    """With friction energy is not conserved."""
    found = vt.compare(pendulum(), ["midpoint"], [1.0], duration=0.5, dt=1e-3)
    run = next(iter(found.trajectories.values()))
    assert found.table[0]["energy_error"] < 1e-3 * (run.energy[0] - run.energy[-1])


@pytest.mark.parametrize("order", [2, 4])
@pytest.mark.parametrize("stopped", [{"damping": 0.1}, {"friction": 0.1}, {}], ids=str)
def test_failed_compositions_with_friction_name_order_two(order, stopped):
    """Back in time, friction of slope c leaves M - |h| c/2 of M."""
    tree = vt.Tree("joint", gravity=(0.0, 0.0, 0.0))
    tree.world.add(vt.ry("joint", **stopped), vt.body("wheel", 1.0, inertia=(1, 1e-2, 1)))
    with pytest.raises(vt.ConvergenceError) as failure:
        vt.simulate(tree.compile(), duration=1.0, dt=0.01, order=order, max_halvings=0, control=[1e4])
    assert ("order=2" in str(failure.value)) == (order == 4 and bool(stopped))


@pytest.mark.parametrize("method", ["linear-time", "midpoint"])
@pytest.mark.parametrize("share", [1e-12, 0.1, 1.0, 10.0])
def test_the_way_to_the_solution_does_not_matter(method, share):
    """Guesses, and operators of other steps, change what a step costs; not where it ends."""
    model = vt.load_urdf(vt.find_robot("talos"), base="free")
    model = model.with_parameters(friction=share * model.flat.friction)
    v = np.random.default_rng(0).uniform(-1, 1, model.nv)
    runs = [vt.simulate(model, None, v, duration=0.3, dt=1e-3, method=method, record_every=10, **options)
            for options in ({}, {"solver": "recursive-newton", "guess": "current", "tolerance": 1e-12})]  # fmt: skip
    assert runs[0].q == pytest.approx(runs[1].q, abs=1e-7)
    assert runs[0].p == pytest.approx(runs[1].p, abs=1e-7 * np.abs(runs[1].p).max())
