"""Methods of a model return finite numbers, or an error says by which argument or which frames there are none."""

from __future__ import annotations

import inspect

import numpy as np
import pytest
from closed_chains import finger
from loaded_models import random_tree
from state_methods import STACKED

import vitree as vt
from vitree.model.broadcasting import coincident

PENDULUM = vt.load_urdf(vt.find_robot("double_pendulum"))
TREE, _, _ = random_tree(5, nbody=5, base="free")

MODELS = {
    "pendulum": PENDULUM, "tree": vt.Model(TREE), "euler": vt.Model(TREE).euler(),
    "reduced": finger().reduced(), "full": finger(),
}  # fmt: skip
#: Methods of a state, and their arguments.
METHODS = {name: words for name, words in STACKED.items() if not name.startswith("_")} | {
    "centroidal_momentum_derivatives": "qvv",
    "pose_derivatives": "fq", "position_derivatives": "fq", "twist_derivatives": "fqv", "lagrangian_derivatives": "qv",
    "project_velocity": "qv", "joint_reactions": "qvv", "drive_forces": "qv", "forward_dynamics_derivatives": "qvv",
    "inverse_dynamics": "qvv", "contact_forces": "qv", "constraint_errors": "q", "constraint_jacobian": "q",
}  # fmt: skip
#: Those that take no state, or check nothing.
OTHERS = {
    "joint", "require_invertible_mass_matrix", "neutral", "random_configuration", "validate_configuration",
    "validate_velocity", "zero_velocity", "configuration_rate", "singular_at", "expand", "expand_velocity", "reduced",
    "euler", "with_drives", "with_parameters", "contact_gaps",
}  # fmt: skip


def numbers(result):
    """All numbers of a result."""
    if isinstance(result, dict):
        result = tuple(result.values())
    if hasattr(result, "__dataclass_fields__"):
        result = tuple(vars(result).values())
    parts = result if isinstance(result, tuple) else (result,)
    return np.concatenate([np.ravel(np.asarray(part, float)) for part in parts])


def arguments(model, words, at, v):
    frame = model.frame_names[-1]
    return [{"q": at, "v": v, "r": model.neutral(), "f": frame}[word] for word in words]


def test_every_method_is_here():
    public = {name for name, x in inspect.getmembers(vt.Model, inspect.isfunction) if not name.startswith("_")}
    assert public == {*METHODS, *OTHERS}


@pytest.mark.parametrize("size", [1e100, 1e160, -1e200, 1e308])
@pytest.mark.parametrize("name", METHODS)
@pytest.mark.parametrize("kind", MODELS)
def test_no_method_returns_nan(kind, name, size):
    model = MODELS[kind]
    plain = [k for k in range(model.nq) if not any(i <= k < i + 4 for i in model._quaternions)]
    far = model.neutral()
    far[plain] = size
    fast = np.full(model.nv, size)
    for at, v in ((far, model.zero_velocity()), (model.neutral(), fast), (far, fast)):
        try:
            result = getattr(model, name)(*arguments(model, METHODS[name], at, v))
        except vt.VitreeError as error:
            known = ("violates the constraint", "has ball or free joints", "no coordinates to differ", "singular")
            assert any(words in str(error) for words in known) or (
                f"{abs(size):g}" in str(error) and error.argument is not None)  # fmt: skip
        else:
            assert np.isfinite(numbers(result)).all()


def test_the_largest_argument_is_named():
    q, v = np.array([0.1, 0.2]), np.array([0.0, 1e200])
    with pytest.raises(vt.InputError, match=r"^v\[1\] is 1e\+200: rnea is then too large for a double") as failure:
        PENDULUM.rnea(q, v, a=np.ones(2))
    assert failure.value.argument == "v"


# ---- frames that coincide ----------------------------------------------------------------------------------


def pair(part, constrain=False):
    tree = vt.Tree("pair")
    tree.world.add(vt.tx("x"), vt.body("a", 1.0))
    tree.world.add(vt.tx("y"), vt.body("b", 1.0))
    (tree.constrain if constrain else tree.load)(part)
    return tree.compile()


OF_STATES = {"joint_reactions", "inverse_dynamics", "contact_forces"}
PARTS = {
    "spring": (vt.Spring("a", "b", 10.0, 0.5), {"passive_force", "lagrangian_derivatives", "forward_dynamics",
                                               "forward_dynamics_derivatives", *OF_STATES}),
    "spring of no length": (vt.Spring("a", "b", 10.0), set()),
    "damper": (vt.Damper("a", "b", 10.0), {"forward_dynamics", "forward_dynamics_derivatives", *OF_STATES}),
    "attraction": (vt.Attraction("a", "b"), {"passive_force", "potential_energy", "lagrangian",
                                             "lagrangian_derivatives", "forward_dynamics",
                                             "forward_dynamics_derivatives", *OF_STATES}),
    "distance": (vt.Distance("a", "b", 1.0), {"constraint_jacobian", "project_velocity", "forward_dynamics",
                                              *OF_STATES}),
}  # fmt: skip


@pytest.mark.parametrize("name", METHODS)
@pytest.mark.parametrize("kind", PARTS)
def test_frames_that_coincide_are_named_where_a_direction_is_needed(kind, name):
    part, fails = PARTS[kind]
    model = pair(part, kind == "distance")
    given = arguments(model, METHODS[name], np.zeros(2), np.ones(2))
    if kind == "distance" and name == "forward_dynamics_derivatives":
        with pytest.raises(vt.ModelError, match="has no exact derivatives of the distance"):
            getattr(model, name)(*given)
    elif name in fails:
        with pytest.raises(vt.InputError, match='has no direction: its frames "a" and "b" coincide'):
            getattr(model, name)(*given)
    else:
        assert np.isfinite(numbers(getattr(model, name)(*given))).all()
    assert not coincident(model, np.array([0.0, 1e-9]))


def test_the_energy_of_a_spring_whose_ends_meet_is_that_of_its_length():
    assert pair(PARTS["spring"][0]).potential_energy([0.0, 0.0]) == 10.0 * 0.5**2 / 2


@pytest.mark.parametrize("method", list(vt.METHODS))
@pytest.mark.parametrize("kind", ["spring", "damper", "attraction"])
def test_runs_from_frames_that_coincide_say_so(kind, method):
    with pytest.raises(vt.ConvergenceError, match='frames "a" and "b" coincide') as failure:
        vt.simulate(pair(PARTS[kind][0]), duration=0.1, dt=0.01, method=method)
    assert failure.value.time == 0.0


@pytest.mark.parametrize("method", list(vt.METHODS))
@pytest.mark.parametrize(("which", "size"), [
    ("q0", 1e100), ("q0", -1e200), ("q0", 1e308), ("v0", 1e100), ("v0", -1e200), ("v0", 1e308), ("control", 1e308),
    ("control", -1e308)])  # fmt: skip
def test_runs_of_the_largest_numbers_end(which, size, method):
    """SciPy's rk45 and dop853 never returned."""
    start = {"q0": [0.1, 0.2], "v0": [0.0, 0.0], which: [size, size]}
    try:
        run = vt.simulate(PENDULUM, **start, duration=0.1, dt=0.01, method=method)
    except (vt.InputError, vt.ConvergenceError):
        return
    assert np.isfinite(run.q).all() and np.isfinite(run.v).all() and np.isfinite(run.energy).all()


# ---- reduced models ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", [*METHODS, "configuration_rate", "expand", "neutral", "random_configuration"])
def test_methods_of_a_reduced_model_are_those_of_the_full_one(name):
    """Results that have no coordinates are those of the full model; the others have the reduced model's shape."""
    model, rng = MODELS["reduced"], np.random.default_rng(1)
    q, v = model.random_configuration(rng), rng.standard_normal(model.nv)
    words = METHODS.get(name, {"configuration_rate": "qv", "expand": "q"}.get(name, ""))
    found = getattr(model, name)(*arguments(model, words, q, v))
    assert np.isfinite(numbers(found)).all()
    if name in ("body_poses", "center_of_mass", "lagrangian", "kinetic_energy", "potential_energy", "momentum"):
        full = arguments(model.full, words, model.expand(q), model.expand_velocity(v))
        assert np.allclose(numbers(found), numbers(getattr(model.full, name)(*full)), rtol=1e-13, atol=1e-13)
    assert model.reduced() is model


@pytest.mark.parametrize("length", [0.0, 1e-200, 1e200])
@pytest.mark.parametrize("lead", [(), (3,), (2, 1)])
def test_quaternions_without_a_direction_are_no_euler_angles(length, lead):
    euler = MODELS["euler"]
    q = np.broadcast_to(euler.native.neutral(), (*lead, euler.native.nq)).copy()
    v = np.zeros((*lead, euler.native.nv))
    assert np.isfinite(euler.from_native(2 * q, v)[0]).all()
    q[(*(-1 for _ in lead), slice(3, 7))] *= length
    with pytest.raises(vt.InputError, match=r"^q\[..., 3:7\] is no quaternion .* its length is"):
        euler.from_native(q, v)


@pytest.mark.parametrize("lead", [(), (3,)])
def test_euler_angles_too_large_are_named(lead):
    euler = MODELS["euler"]
    q = np.broadcast_to(euler.native.random_configuration(np.random.default_rng(1)), (*lead, euler.native.nq))
    v = np.full((*lead, euler.native.nv), 1.7e308)
    with pytest.raises(vt.InputError, match=r"^v\[.*0\] is 1.7e\+308: from_native is then too large"):
        euler.from_native(q, v)


@pytest.mark.parametrize("value", [np.inf, -np.inf, np.nan])
def test_rows_that_have_no_pseudo_inverse_are_named(value):
    """NumPy's LinAlgError came out of rows that are not finite; rows of NaN are the other answer."""
    tree = vt.Tree("loop")
    at = tree.world
    for k in range(4):
        at = at.add(vt.rx(f"j{k}", kinematic=k == 1), vt.tz(-1.0), vt.body(f"b{k}", 1.0, (0.1, 0.1, 0.1)))
    tree.constrain(vt.weld("world", "b3"))
    model, told = tree.compile(), 0
    q, p = np.array([[0.3, 0.2, 0.1, 0.5], [0.1, 0.2, 0.3, 0.7]]), np.zeros((2, 4))
    assert np.isfinite(model._constrained_velocities(q, p)).all()
    for k in range(4):
        wrong = q.copy()
        wrong[1, k] = value
        try:
            assert np.isnan(model._constrained_velocities(wrong, p)[1]).any()
        except vt.InputError as error:
            assert str(error) == f"q[1, {k}] is {value}: all entries must be finite"
            told += 1
    assert told


def test_rows_of_a_singular_model_are_told():
    tree = vt.Tree("points on an axis")
    tree.world.add(vt.rx("a", kinematic=True), vt.body("one", 1.0), vt.rx("b"), vt.body("two", 1.0))
    model = vt.Model(tree.flatten())
    with pytest.raises(vt.ModelError, match="the mass matrix is singular there"):
        model._constrained_velocities(np.zeros((2, 2)), np.zeros((2, 2)))


@pytest.mark.parametrize("size", [1e3, 1e200, 1e308])
def test_velocities_that_break_constraints_are_refused_at_any_size(size):
    model = finger()
    q = vt.satisfy_constraints(model, model.neutral())
    v = size * (model.constraint_jacobian(q)[0] > 0)
    with pytest.raises(vt.InputError, match=r"^v0 does not satisfy .* its rate is"):
        vt.simulate(model, q, v, duration=0.01, dt=0.01)


@pytest.mark.parametrize("method", ["linear-time", "midpoint"])
@pytest.mark.parametrize("size", [1e60, 1e154, -1e308])
@pytest.mark.parametrize("name", ["pendulum", "euler", "reduced"])
def test_ends_of_a_step_that_are_too_far_are_refused(name, size, method):
    model = MODELS[name]
    q0 = model.neutral()
    q1 = q0.copy()
    q1[0] = size
    with pytest.raises(vt.InputError, match=r"^q1 is too far from q0 for a step of 0.01 s|constraint|too large"):
        vt.simulate(model, q0, q1=q1, duration=0.02, dt=0.01, method=method, control=lambda t, q, v: 0 * v)


@pytest.mark.parametrize("sign", [1, -1])
def test_forces_too_large_to_contract_are_infinite(sign):
    model = MODELS["reduced"]
    found = model.contract_force(sign * np.full(model.full.nv, 1.7e308))
    assert np.isinf(found).any() and not np.isnan(found).any()
