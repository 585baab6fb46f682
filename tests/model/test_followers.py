"""Every public name of a model is right where joints follow others: q' = G q + g, v' = G v, f = G^T f'."""

from __future__ import annotations

import functools
import inspect
import re
from dataclasses import replace

import numpy as np
import pytest
from reduced_models import SINGLE, coupled

import vitree as vt
from vitree.model.broadcasting import ARGUMENTS, RESULTS
from vitree.model.dynamics import friction_rates
from vitree.model.system import OF_ROWS

# ---- every public name, and methods of rows of states --------------------------------------------------------

#: Names that ask others of the model, and so follow the chain rule as these do.
COMPOSED = {
    "body_poses": "_pose_rows", "frame_pose": "_pose_rows", "frame_poses": "_pose_rows", "contact_gaps": "_pose_rows",
    "kinetic_energy": "_energies", "potential_energy": "_energies",
    "momentum": "_energies",
    "centroidal_momentum_derivatives": "_centroidal_derivatives",
    "generalized_momentum": "_momenta", "velocity_from_momentum": "_velocities",
    "constraint_errors": "_constraint_errors", "_constraint_errors": "_constraint_rows, _facing_cosines",
    "constraint_jacobian": "_constraint_rows", "_constrained_velocities": "_mass_matrices, _constraint_rows",
    "project_velocity": "_constrained_velocities, _mass_matrices", "require_invertible_mass_matrix": "singular_at",
    "singular_at": "the pivots of full", "validate_configuration": "quaternions, which do not follow",
    "validate_velocity": "nv", "zero_velocity": "nv", "neutral": "nq, quaternions",
    "expand": "the map itself", "expand_velocity": "the map itself",
}  # fmt: skip
#: What a mechanism is: no function of a state.
CONSTANT = set("""
    armature constraints contacts damping degrees_of_freedom digest drives dry_friction euler frame_names friction full
    geometry gravity ground has_contact has_rolling_or_dry_friction input_names is_conservative is_dissipative
    is_free_floating joint joint_names joints limit_restitution limits link_names loads methods name nbody nq nv q_names
    reduced report rolling start total_mass unilateral v_names velocity_limits with_drives
    with_parameters
""".split())


def declared(name):
    """What the results of a name of Model are, as its decorator says; None without one."""
    found = inspect.getattr_static(vt.Model, name)
    inner = getattr(found, "func", getattr(found, "fget", found))
    return getattr(inner, "results", None)


PUBLIC = {name for name in dir(vt.Model) if not name.startswith("_")} | set(OF_ROWS)
PUBLIC = {name for name in PUBLIC if not inspect.isclass(inspect.getattr_static(vt.Model, name))}
MAPPED = {name for name in PUBLIC if declared(name) is not None}
STATES = {name for name in MAPPED if callable(inspect.getattr_static(vt.Model, name))}


@pytest.mark.parametrize("name", sorted(PUBLIC))
def test_every_name_is_mapped_or_composed_or_constant(name):
    """A new public name of Model: give it ``in_coordinates``, or say here why it needs none."""
    assert [name in kind for kind in (MAPPED, COMPOSED, CONSTANT)].count(True) == 1


def test_no_other_names_are_listed():
    assert {*MAPPED, *COMPOSED, *CONSTANT} == PUBLIC
    assert {*STATES, *COMPOSED} == {*EXPECTED, *BY_MASS, *OF_NO_STATE}


def test_every_kind_of_a_result_is_needed():
    assert {kind for name in MAPPED for kind in declared(name)} == set(RESULTS)


@pytest.mark.parametrize("name", sorted(STATES))
def test_every_argument_is_mapped_or_has_no_coordinates(name):
    """Momenta are no map: p' of all joints is not a function of p alone."""
    plain = {"name", "axes", "t", "inputs", "prescribed", "contacts", "rng"} | ({"p"} if name in BY_MASS else set())
    assert set(inspect.signature(getattr(vt.Model, name)).parameters) - {"self"} <= {*ARGUMENTS, *plain}


def test_a_reduced_model_has_what_its_construction_needs():
    """Numbers of states are not among it: they come by the decorators of Model."""
    own = {name for name in vars(vt.ReducedModel) if name in PUBLIC}
    assert own == {"full", "digest"}


# ---- the numbers ---------------------------------------------------------------------------------------------


class Chain:
    """A reduced model and the matrices of its followers: G, g, a right inverse of G^T, and which constraints stay."""

    def __init__(self, model):
        self.model, self.full = model, model.full
        self.g = model.expand(np.zeros(model.nq))
        self.G = np.array([model.expand_velocity(e) for e in np.eye(model.nv)]).T
        self.E = self.G @ np.linalg.inv(self.G.T @ self.G)
        self.kept = [k for k, c in enumerate(self.full.constraints) if not isinstance(c, vt.Coupling)]

    def states(self, lead=(), seed=0):
        """Arguments of methods by their names, in the coordinates of the model, and in those of all joints."""
        rng, model = np.random.default_rng(seed), self.model
        stacked = functools.partial(np.broadcast_to, shape=(*lead, model.nq))
        q, r = (stacked(on_ground(model, model.random_configuration(rng))).copy() for _ in range(2))
        v, tau, p = rng.normal(size=(3, *lead, model.nv))
        a = model.forward_dynamics(q, v, tau).acceleration  # which inverse dynamics has a force for
        frame, m = model.frame_names[-1], rng.normal(size=len(self.kept))
        own = dict(q=q, q0=q, q1=r, v=v, dq=v, a=a, rates=v, tau=tau, torque=tau, p=p, multipliers=m, name=frame)
        all_m = np.zeros(len(self.full.constraints))
        all_m[self.kept] = m
        of_all = dict(own, **{name: model.expand(own[name]) for name in ("q", "q0", "q1")}, multipliers=all_m)
        of_all |= {name: own[name] @ self.G.T for name in ("v", "dq", "a", "rates")}
        return own, of_all | {name: own[name] @ self.E.T for name in ("tau", "torque", "p")}


def on_ground(model, q):
    """The configuration with contacts closed, and their springs pressed, if there are any."""
    if not model.contacts:
        return q
    q = vt.place_on_ground(model, q)
    q[2] -= 0.01 * model._has_contact_springs
    return q


def same(chain, found, x):
    return found, x


def position(chain, found, x):
    return chain.model.expand(found), x


def rate_of_position(chain, found, x):
    return chain.model.expand(found) - chain.g, x


def rate(chain, found, x):
    return found @ chain.G.T, x


def force(chain, found, x):
    return found, x @ chain.G


def matrix(chain, found, x):
    return found, chain.G.T @ x @ chain.G


def force_rows(chain, found, x):
    return found, chain.G.T @ x


def first(chain, found, x):
    return found, np.einsum("ia,i...->a...", chain.G, x)


def second(chain, found, x):
    return found, np.einsum("ia,jb,ij...->ab...", chain.G, chain.G, x)


def rows(chain, found, x):
    return found, x[..., chain.kept]


def slopes_of_rows(chain, found, x):
    return found, x[..., chain.kept, :] @ chain.G


def rate_by_state(chain, found, x):
    return chain.G @ found, x @ chain.G


def rate_by_force(chain, found, x):
    return chain.G @ found @ chain.G.T, x


#: What the parts of results are, told again, by the matrix G alone.
EXPECTED = {
    "integrate": position, "validate_configuration": position, "configuration_rate": rate_of_position,
    "difference": rate, "project_velocity": rate, "_constrained_velocities": rate, "forward_dynamics": (rate, rows),
    "_pose_rows": same, "body_poses": same, "frame_pose": same, "frame_poses": same, "frame_velocity": same,
    "frame_acceleration": same, "frame_jacobian": force, "center_of_mass": same, "contact_gaps": same,
    "pose_derivatives": (same, first, second), "position_derivatives": (same, first, second),
    "twist_derivatives": (same, first, first, second, second),
    "_energies": same, "kinetic_energy": same, "potential_energy": same, "momentum": same, "lagrangian": same,
    "lagrangian_derivatives": (same, force, force, matrix, matrix, matrix),
    "rnea": force, "passive_force": force, "inverse_dynamics": force, "_momenta": force, "generalized_momentum": force,
    "crba": matrix, "_mass_matrices": matrix, "rnea_derivatives": (matrix, matrix, matrix),
    "forward_dynamics_derivatives": (rate_by_state, rate_by_state, rate_by_force),
    "_constraint_rows": (rows, slopes_of_rows), "_constraint_errors": rows, "constraint_errors": rows,
    "constraint_jacobian": slopes_of_rows, "_facing_cosines": rows,
    "_facing_rows": (same, force), "contact_forces": same, "drive_forces": same, "joint_reactions": same,
    "singular_at": same, "require_invertible_mass_matrix": same,
    "frame_jacobian_rate": force, "center_of_mass_velocity": same, "center_of_mass_acceleration": same,
    "center_of_mass_jacobian": force, "centroidal_momentum": same, "centroidal_momentum_rate": same,
    "centroidal_momentum_matrix": force, "centroidal_momentum_matrix_rate": force, "centroidal_inertia": same,
    "centroidal_momentum_derivatives": (force,) * 4,
    "coriolis_matrix": matrix, "joint_torque_regressor": force_rows, "body_regressor": same,
    "kinetic_energy_regressor": same, "potential_energy_regressor": same,
}  # fmt: skip


def mass_matrix(chain, of_all):
    return chain.G.T @ chain.full.crba(of_all["q"]) @ chain.G


def accelerations(chain, own, of_all):
    bias = chain.full.rnea(of_all["q"], of_all["v"], 0 * of_all["v"]) @ chain.G
    return np.linalg.solve(mass_matrix(chain, of_all), (own["tau"] - bias)[..., None])[..., 0]


def slopes(chain, own, of_all):
    a = accelerations(chain, own, of_all) @ chain.G.T
    forces = chain.full.rnea_derivatives(of_all["q"], of_all["v"], a)
    inverse = np.linalg.inv(mass_matrix(chain, of_all))
    return *(-inverse @ chain.G.T @ x @ chain.G for x in forces[:2]), inverse


def speeds(chain, own, of_all):
    return np.linalg.solve(mass_matrix(chain, of_all), own["p"][..., None])[..., 0]


#: Results that are no map of those of ``full``, whose couplings the bare mechanism does not have.
BY_MASS = {
    "aba": accelerations, "aba_derivatives": slopes, "_velocities": speeds, "velocity_from_momentum": speeds,
    "inverse_mass_matrix": lambda chain, own, of_all: np.linalg.inv(mass_matrix(chain, of_all)),
}  # fmt: skip
#: Names that take no state.
OF_NO_STATE = {"random_configuration", "neutral", "zero_velocity", "validate_velocity", "expand", "expand_velocity"}


def constrained():
    model, *_ = coupled(4, kinds=SINGLE, base="fixed", shuffled=False)
    pin = vt.PointConstraint("link7", "world", (1.0, 0.0, 0.0))
    first, *others = model.full.constraints
    return vt.Model(replace(model.full.flat, constraints=(pin, first, vt.Distance("link5", "world", 1.0), *others)))


def welded():
    model, *_ = coupled(6, shuffled=False)
    return vt.Model(replace(model.full.flat, constraints=(*vt.weld("link7", "world"), *model.full.constraints)))


class Bowl(vt.Potential):
    content = ("bowl",)

    def energy(self, model, q):
        return float(q[1]) ** 2


def driven():
    tree = vt.Tree("driven")
    one = tree.world.add(vt.rx("a", kinematic=True), vt.tz(-1.0), vt.body("one", 1.0))
    two = one.add(vt.rx("b", lower=-1.0, upper=1.0, velocity=2.0), vt.tz(-1.0), vt.body("two", 1.0), vt.tx("c"))
    three = two.add(vt.body("three", 1.0, (0.1, 0.2, 0.3)), vt.ry("d", damping=0.3), vt.tx(0.5), vt.body("four", 0.5))
    three.add(vt.ball("s"), vt.tz(-0.3), vt.body("five", 0.3, (0.1, 0.2, 0.3)))
    tree.constrain(vt.gear("b", "a", 0.5, 0.1), vt.gear("d", "c", -2.0, 0.3))
    tree.load(vt.Spring("one", "three", 3.0, 0.2), vt.Drive("c", 5.0, 0.3), Bowl())
    return tree.compile()


def legged(*contacts):
    tree = vt.Tree("legged")
    trunk = tree.world.add(vt.free("base"), vt.body("trunk", 2.0, (0.1, 0.2, 0.3)))
    for name, x in (("left", -0.3), ("right", 0.3)):
        trunk.add(vt.tx(x), vt.rx(name), vt.tz(-0.3), vt.body(name, 0.5, (0.1, 0.1, 0.1)))
    tree.constrain(vt.gear("right", "left", -1.5, 0.2))
    tree.contact(vt.Ground(friction=0.5), *contacts)
    return tree


def standing(**more):
    return legged(*(vt.Contact(name, shapes=vt.Sphere(0.1), **more) for name in ("left", "right"))).compile()


def rolling():
    tree = legged()
    tree.roll(vt.RollingConstraint("left", radius=0.1), vt.RollingConstraint("right", radius=0.2))
    return tree.compile()


MODELS = {
    "gears": coupled(1, damping=True)[0], "one by one": coupled(3, kinds=SINGLE, base="fixed", damping=True)[0],
    "constrained": constrained().reduced(), "welded": welded().reduced(), "driven": driven().reduced(),
    "standing": standing().reduced(), "standing on springs": standing(stiffness=1e3).reduced(),
    "rolling": rolling().reduced(), "in Euler angles": coupled(1)[0].euler(),
}  # fmt: skip
CHAINS = {name: Chain(model) for name, model in MODELS.items()}
#: Methods of one state without checks.
UNCHECKED = {"configuration_rate"}


def outcome(model, name, given):
    """The result of a method for those of its arguments that are given, or the class of its error."""
    method = getattr(model, name)
    try:
        return method(**{word: given[word] for word in inspect.signature(method).parameters if word in given})
    except vt.VitreeError as error:
        return type(error)


def parts(result):
    if isinstance(result, dict):
        assert all(isinstance(key, str) for key in result)
        return list(result.values())
    if hasattr(result, "__dataclass_fields__"):
        return list(vars(result).values())
    return list(result) if isinstance(result, tuple) else [result]


def close(found, expected):
    if expected is None or isinstance(expected, tuple | str | type):
        assert found == expected
        return
    scale = max(1.0, np.abs(np.asarray(expected)).max(initial=0.0))
    np.testing.assert_allclose(found, expected, rtol=0, atol=1e-8 * scale)


@pytest.mark.parametrize("lead", [(), (2, 3)])
@pytest.mark.parametrize("name", EXPECTED)
@pytest.mark.parametrize("kind", MODELS)
def test_results_follow_by_the_chain_rule(kind, name, lead):
    chain = CHAINS[kind]
    own, of_all = chain.states((4,) if name in OF_ROWS else () if name in UNCHECKED else lead, seed=len(name))
    found, x = outcome(chain.model, name, own), outcome(chain.full, name, of_all)
    if isinstance(x, type):
        assert found is x
        return
    maps, found, x = EXPECTED[name], parts(found), parts(x)
    maps = maps if isinstance(maps, tuple) else (maps,) * len(x)
    for contract, one, other in zip(maps, found, x, strict=True):
        if isinstance(other, tuple | str) or other is None:
            assert one == other and contract is same
        else:
            close(*contract(chain, one, other))


@pytest.mark.parametrize("lead", [(), (2, 3)])
@pytest.mark.parametrize("name", BY_MASS)
@pytest.mark.parametrize("kind", MODELS)
def test_accelerations_are_those_of_the_mass_matrix(kind, name, lead):
    chain = CHAINS[kind]
    own, of_all = chain.states((4,) if name in OF_ROWS else lead)
    for one, other in zip(parts(getattr(chain.model, name)(**{
            word: own[word] for word in inspect.signature(getattr(chain.model, name)).parameters})),
            parts(BY_MASS[name](chain, own, of_all)), strict=True):  # fmt: skip
        close(one, other)


@pytest.mark.parametrize("kind", MODELS)
def test_torques_of_reactions_act_on_leaders(kind):
    """A follower takes no torque of its own; what its gear takes from the leader acts in the joints as well."""
    chain = CHAINS[kind]
    own, of_all = chain.states()
    torque = np.zeros(chain.full.nv)
    torque[[chain.full.v_names.index(name) for name in chain.model.v_names]] = own["torque"]
    try:
        expected = chain.full.joint_reactions(of_all["q"], of_all["v"], torque=torque)
    except vt.VitreeError as error:
        with pytest.raises(type(error)):
            chain.model.joint_reactions(own["q"], own["v"], torque=own["torque"])
    else:
        found = chain.model.joint_reactions(own["q"], own["v"], torque=own["torque"])
        assert list(found) == list(expected)
        for one, other in zip(found.values(), expected.values(), strict=True):
            close(one, other)


@pytest.mark.parametrize("kind", MODELS)
def test_states_of_no_arguments(kind):
    chain = CHAINS[kind]
    model, full = chain.model, chain.full
    rngs = np.random.default_rng(1), np.random.default_rng(1)
    own = [full.q_names.index(name) for name in model.q_names]
    np.testing.assert_array_equal(model.random_configuration(rngs[0]), full.random_configuration(rngs[1])[own])
    np.testing.assert_array_equal(model.neutral(), full.neutral()[own])
    assert model.zero_velocity().shape == model.validate_velocity(np.ones(model.nv)).shape == (model.nv,)


# ---- constants -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", MODELS)
def test_constants_have_the_sizes_that_they_promise(kind):
    model, promised = MODELS[kind], 0
    for name in {*CONSTANT, *MAPPED} - STATES:
        text = (inspect.getdoc(inspect.getattr_static(vt.Model, name)) or "").partition("\n")[0]
        for size in re.findall(r"\((nq|nv),\)", text):
            promised += 1
            assert getattr(model, name).shape == (getattr(model, size),), name
    assert promised > 4
    assert len(model.q_names) == model.nq and len(model.v_names) == model.nv


@pytest.mark.parametrize("kind", MODELS)
def test_resistance_is_that_of_all_joints(kind):
    """By the power that it takes: of dampers v^T D v, of friction the sum of f abs(v), of rotors v^T A v / 2."""
    chain = CHAINS[kind]
    v = np.eye(chain.model.nv)
    moving = v @ chain.G.T
    for name in ("damping", "armature"):
        close(v**2 @ getattr(chain.model, name), moving**2 @ getattr(chain.full, name))
    for name in ("friction", "dry_friction"):
        close(np.abs(v) @ getattr(chain.model, name), np.abs(moving) @ getattr(chain.full, name))


@pytest.mark.parametrize("kind", MODELS)
def test_limits_are_of_the_coordinates_of_all_joints(kind):
    """They are in coordinates of ``full``, where a follower has limits of its own."""
    model = MODELS[kind]
    full = model.full
    for limits, names in ((model.limited_coordinates, full.q_names), (model.limited_velocities, full.v_names)):
        if limits is not None:
            assert limits.names == tuple(names[k] for k in limits.place)
    assert (model.limited_coordinates is not None) == (model.limited_velocities is not None) == (kind == "driven")


def test_joints_that_follow_have_the_place_of_their_leader():
    model = MODELS["driven"]
    place = {joint.name: (joint.q_slice, joint.v_slice) for joint in model.joints}
    assert place["b"] == place["a"] and place["d"] == place["c"]
    assert model.joint("b").mimic == ("a", 0.5, 0.1) and model.joint("d").mimic == ("c", -2.0, 0.3)
    assert model.prescribed_joint_names == ("a",) and model.constraints == ()


def test_friction_has_the_velocity_of_its_own_joint():
    """Rates f/(M e) took the velocities e of the first joints, which may follow."""
    tree = vt.Tree("two")
    for name in "ab":
        tree.world.add(vt.rx(name, friction=0.3), vt.tz(-1.0), vt.body(name, 1.0))
    tree.constrain(vt.gear("a", "b", 2.0))
    flat = replace(tree.flatten(), friction_velocity=np.array([1e-3, 0.1]))
    model = vt.Model(flat).reduced()
    friction, inertia = 0.3 + 2.0 * 0.3, 1.0 + 2.0**2 * 1.0
    close(friction_rates(model, np.zeros(1)), [friction / (inertia * 0.1)])


def test_errors_name_the_entries_that_were_given():
    """Not those of all joints, which a caller does not know."""
    model = MODELS["one by one"]
    v = np.zeros(model.nv)
    v[2] = 1e200
    with pytest.raises(vt.InputError, match=r"^v\[2\] is 1e\+200: rnea is then too large for a double"):
        model.rnea(model.neutral(), v, 0 * v)
