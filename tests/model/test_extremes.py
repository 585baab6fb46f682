"""Numbers beyond what doubles can compute with end in errors of ours, and not in those of NumPy."""

import numpy as np
import pytest

import vitree as vt

pytestmark = pytest.mark.filterwarnings("ignore::scipy.linalg.LinAlgWarning")

OPERATIONS = {
    "dynamics": lambda m: m.forward_dynamics(m.neutral(), np.ones(m.nv), np.zeros(m.nv)),
    "closure": lambda m: vt.satisfy_constraints(m, m.neutral()),
    "independent": lambda m: vt.independent_constraints(m),
    "equilibrium": lambda m: vt.minimize_potential_energy(m, m.neutral()),
    "stance": lambda m: vt.static_equilibrium(m, m.neutral()),
    "linearize": lambda m: vt.linearize(m, m.neutral(), dt=1e-3),
    "regulator": lambda m: vt.control.lqr(vt.linearize(m, m.neutral(), dt=1e-2), np.eye(2 * m.nv), np.eye(m.nv)),
    "simulate": lambda m: vt.simulate(m, duration=0.01, dt=1e-3),
    "rollout": lambda m: vt.rollout(m, instances=2, duration=0.01, dt=1e-3),
    "compare": lambda m: vt.compare(m, ["linear-time", "rk4"], m.neutral(), duration=0.01, dt=1e-3),
    "reduced": lambda m: m.reduced(),
}


def pendulum(length=1.0, mass=1.0, gravity=9.81, factor=None, distance=None, stiffness=None, **joint):
    tree = vt.Tree("pendulum", gravity=(0, 0, -gravity))
    upper = tree.world.add(vt.rx("a", **joint), vt.tz(-length), vt.body("upper", mass, (0.1, 0.1, 0.1)))
    upper.add(vt.ry("b"), vt.tz(-1.0), vt.body("lower", 1.0, (0.1, 0.1, 0.1)))
    if factor is not None:
        tree.constrain(vt.Coupling({"a": 1.0, "b": factor}))
    if distance is not None:
        tree.constrain(vt.Distance("world", "lower", distance))
    if stiffness is not None:
        tree.load(vt.Spring("world", "lower", stiffness, 1.0))
    return tree.compile()


def meeting():
    """Two slides that cross: the ends of the distance between them meet in the neutral configuration."""
    tree = vt.Tree("meeting")
    tree.world.add(vt.tx("x"), vt.body("a", 1.0, (0.1, 0.1, 0.1)))
    tree.world.add(vt.ty("y"), vt.body("b", 1.0, (0.1, 0.1, 0.1)))
    tree.constrain(vt.Distance("a", "b", 1.0))
    return tree.compile()


@pytest.mark.parametrize("operation", OPERATIONS)
@pytest.mark.parametrize("number", [1e-320, 1e-160, 1e100, 1e154, 1e200, 1e308])
@pytest.mark.parametrize("what", ["length", "mass", "gravity", "factor", "distance", "stiffness", "friction"])
def test_extreme_numbers(what, number, operation):
    try:
        OPERATIONS[operation](pendulum(**{what: number}))
    except vt.VitreeError:
        pass


@pytest.mark.parametrize("operation", OPERATIONS)
def test_the_ends_of_a_distance_meet(operation):
    try:
        OPERATIONS[operation](meeting())
    except vt.VitreeError:
        pass


def test_a_distance_without_direction_is_named():
    with pytest.raises(vt.InputError, match='its frames "a" and "b" coincide; move them apart') as told:
        vt.satisfy_constraints(meeting(), np.zeros(2))
    assert isinstance(told.value.__cause__, np.linalg.LinAlgError)


def test_a_huge_gear_is_named():
    with pytest.raises(vt.ModelError, match='the joint "a" follows with the factor -1e\\+200'):
        pendulum(factor=1e200).reduced()


@pytest.mark.parametrize("text", ["(" * 100_000, "x" * 10**6, "a b " * 10**5, "<" * 10**5])
@pytest.mark.parametrize("load", [vt.load_urdf, vt.load_mjcf, vt.load_sexpr, vt.check_urdf, vt.check_mjcf])
def test_a_long_text_that_is_no_file(load, text):
    if "mjcf" in load.__name__:
        pytest.importorskip("mujoco")
    try:
        assert load(text).of("error")  # a report
    except vt.VitreeError:
        pass
