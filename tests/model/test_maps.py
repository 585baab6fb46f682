"""Maps of the whole body: identities, differences along motions, other parameters, and Pinocchio."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pinocchio as pin
import pytest
from closed_chains import finger
from loaded_models import random_tree
from random_models import random_flat, random_inertia, with_rotors

import vitree as vt
from vitree._core import _cpu, _maps, built
from vitree.mechanism.flat import KINDS

STEP = 1e-3
#: Weights of the sixth-order difference quotient at -3 ... 3 steps.
STENCIL = np.array([-1, 9, -45, 0, 45, -9, 1]) / 60


def flat(seed, **more):
    return random_flat(np.random.default_rng(seed), **{"nbody": 7, **more})


def prescribed(seed):
    made = flat(seed, base="free")
    held = np.zeros(len(made.damping), bool)
    held[[joint.v_slice.start for joint in made.joints if len(joint.lower) == 1][:2]] = True
    return vt.Model(replace(made, kinematic=held))


MODELS = {
    **{kind: vt.Model(flat(k, kinds=(kind,), nbody=5)) for k, kind in enumerate(KINDS)},
    "all kinds": vt.Model(flat(10, nbody=9)), "floating": vt.Model(flat(11, base="free", nbody=9)),
    "several roots": vt.Model(flat(12, branching=1.0)), "massless": vt.Model(flat(13, massless=True)),
    "rotors": vt.Model(with_rotors(flat(14, base="free"), 14)), "prescribed": prescribed(15),
    "euler": vt.Model(flat(16, base="free", nbody=5)).euler(), "loop": finger(), "reduced": finger().reduced(),
    "without depth first": vt.Model(random_tree(3, nbody=9, kinds=KINDS)[0]),
}  # fmt: skip
EACH = pytest.mark.parametrize("model", MODELS.values(), ids=MODELS)


def state(model, seed=0):
    rng = np.random.default_rng(seed)
    return model.random_configuration(rng), *rng.normal(size=(2, model.nv))


def rate(model, f, q, v, a=None):
    """The derivative of f(q, v) over time at v and a."""
    a = np.zeros(model.nv) if a is None else a
    values = [f(model.integrate(q, t * v + t * t / 2 * a), v + t * a) for t in STEP * np.arange(-3, 4)]
    return np.tensordot(STENCIL, np.array(values), 1) / STEP


def close(found, expected, tolerance=1e-12):
    assert np.shape(found) == np.shape(expected)
    scale = max(1.0, np.abs(expected).max(initial=0.0))
    assert np.abs(found - expected).max(initial=0.0) <= tolerance * scale


def pseudo_inertia(row):
    """The pseudo-inertia (4, 4) of ten parameters: the second moments, the first ones, and the mass."""
    m, h, (xx, xy, xz, yy, yz, zz) = row[0], row[1:4], row[4:]
    I = np.array([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]])  # noqa: E741
    return np.block([[np.trace(I) / 2 * np.eye(3) - I, h[:, None]], [h[None], np.array([[m]])]])


# ---- center of mass and momentum ----------------------------------------------------------------------------


@EACH
def test_the_center_of_mass_moves_by_its_jacobian(model):
    q, v, a = state(model)
    velocity, J = model.center_of_mass_velocity(q, v), model.center_of_mass_jacobian(q)
    close(J @ v, velocity)
    close(rate(model, lambda q, v: model.center_of_mass(q), q, v), velocity, 1e-9)
    acceleration = model.center_of_mass_acceleration(q, v, a)
    close(rate(model, model.center_of_mass_velocity, q, v, a), acceleration, 1e-9)
    close(model.center_of_mass_acceleration(q, v) + J @ a, acceleration)
    dJ = model.centroidal_momentum_matrix_rate(q, v)[3:] / model.total_mass
    close(rate(model, lambda q, v: model.center_of_mass_jacobian(q), q, v), dJ, 1e-9)


@EACH
def test_the_momentum_about_the_center_of_mass(model):
    q, v, a = state(model, 1)
    h, A = model.centroidal_momentum(q, v), model.centroidal_momentum_matrix(q)
    close(A @ v, h)
    about_origin = model.momentum(q, v)
    close(h[:3], about_origin[:3] - np.cross(model.center_of_mass(q), about_origin[3:]))
    close(h[3:], about_origin[3:])
    dA = model.centroidal_momentum_matrix_rate(q, v)
    close(rate(model, lambda q, v: model.centroidal_momentum_matrix(q), q, v), dA, 1e-8)
    dh = model.centroidal_momentum_rate(q, v, a)
    close(A @ a + dA @ v, dh)
    close(dA @ v, model.centroidal_momentum_rate(q, v))
    close(rate(model, model.centroidal_momentum, q, v, a), dh, 1e-8)


@EACH
def test_the_inertia_about_the_center_of_mass(model):
    q, _, _ = state(model, 2)
    flat, c, expected = model.full.flat, model.center_of_mass(q), np.zeros((3, 3))
    for X, mass, com, inertia in zip(model.body_poses(q), flat.mass, flat.com, flat.inertia, strict=True):
        r = X[:3, :3] @ com + X[:3, 3] - c
        expected += X[:3, :3] @ inertia @ X[:3, :3].T + mass * (r @ r * np.eye(3) - np.outer(r, r))
    close(model.centroidal_inertia(q), expected)


@EACH
def test_the_derivatives_of_the_momentum_and_of_its_rate(model):
    q, v, a = state(model, 17)
    found = model.centroidal_momentum_derivatives(q, v, a)

    def along(f):
        return np.array([rate(model, lambda q, _: f(q, 0.0 * v), q, e) for e in np.eye(model.nv)]).T

    def by_velocity(e):
        values = [model.centroidal_momentum_rate(q, v + t * e, a) for t in STEP * np.arange(-3, 4)]
        return np.tensordot(STENCIL, np.array(values), 1) / STEP

    close(found.momentum_by_q, along(lambda q, _: model.centroidal_momentum(q, v)), 1e-8)
    close(found.rate_by_q, along(lambda q, _: model.centroidal_momentum_rate(q, v, a)), 1e-8)
    close(found.rate_by_v, np.array([by_velocity(e) for e in np.eye(model.nv)]).T, 1e-8)
    close(found.rate_by_a, model.centroidal_momentum_matrix(q))
    # of coordinates that do not accelerate, and on a stack
    at_rest = model.centroidal_momentum_derivatives(q, v)
    stack = model.centroidal_momentum_derivatives(np.array([q, q]), v, np.array([a, 0 * a]))
    for one, other, rows in zip(found, at_rest, stack, strict=True):
        close(rows, np.array([one, other]))


def test_a_floating_body_that_turns_as_a_whole():
    """With all joints but the base at rest, the angular momentum is the inertia times the angular velocity."""
    model = MODELS["floating"]
    q, v, _ = state(model, 3)
    v[6:] = 0.0
    w = model.frame_velocity("link0", q, v)[:3]
    close(model.centroidal_momentum(q, v)[:3], model.centroidal_inertia(q) @ w)


@pytest.mark.parametrize("name", ["floating", "euler"])
def test_far_from_the_origin_no_digits_are_lost(name):
    """Nothing but the place of the center of mass depends on where the robot is."""
    model = MODELS[name]
    q, v, a = state(model, 4)
    far = q.copy()
    far[:3] += 2.0**20  # the place itself is rounded to 1e-10 m
    for method, given in {"centroidal_momentum": (v,), "centroidal_momentum_matrix": (), "coriolis_matrix": (v,),
                          "centroidal_momentum_matrix_rate": (v,), "joint_torque_regressor": (v, a),
                          "centroidal_momentum_rate": (v, a), "centroidal_inertia": (),
                          "center_of_mass_jacobian": (), "_centroidal_derivatives": (v, a)}.items():  # fmt: skip
        close(getattr(model, method)(far, *given), getattr(model, method)(q, *given), 1e-8)


# ---- the Coriolis matrix ------------------------------------------------------------------------------------


@EACH
def test_the_coriolis_matrix_has_the_forces_and_a_skew_symmetric_rate(model):
    q, v, _ = state(model, 5)
    C, zero = model.coriolis_matrix(q, v), np.zeros(model.nv)
    close(C @ v, model.rnea(q, v, zero) - model.rnea(q, zero, zero))
    skew = rate(model, lambda q, v: model.crba(q), q, v) - 2 * C
    assert np.abs(skew + skew.T).max() < 1e-8 * max(1.0, np.abs(C).max())


@pytest.mark.parametrize("name", ["revolute", "prismatic", "helical", "euler", "loop", "reduced"])
def test_it_is_that_of_the_christoffel_symbols(name):
    model = MODELS[name]
    q, v, _ = state(model, 6)
    # dM[k] = dM/dq_k
    dM = np.array([rate(model, lambda q, v: model.crba(q), q, e) for e in np.eye(model.nv)])
    symbols = (dM.transpose(1, 2, 0) + dM.transpose(1, 0, 2) - dM) / 2  # [i, j, k]
    close(model.coriolis_matrix(q, v), symbols @ v, 1e-8)


# ---- regressors ---------------------------------------------------------------------------------------------


@EACH
def test_forces_and_energies_are_linear_in_the_parameters(model):
    q, v, a = state(model, 7)
    pi, zero, rotors = model.inertial_parameters, np.zeros(model.nv), model.armature
    assert pi.shape == (model.nbody, 10)
    pi = pi.ravel()
    Y = model.joint_torque_regressor(q, v, a)
    close(Y @ pi + rotors * a, model.rnea(q, v, a))
    close(model.kinetic_energy_regressor(q, v) @ pi + rotors @ v**2 / 2, model.kinetic_energy(q, v))
    close(model.joint_torque_regressor(q) @ pi, model.rnea(q, zero, zero))
    close(model.joint_torque_regressor(q, v) @ pi, model.rnea(q, v, zero))
    close(model.potential_energy_regressor(q) @ pi, model.potential_energy(q))


@pytest.mark.parametrize("name", ["all kinds", "floating", "several roots", "prescribed"])
def test_other_bodies_have_the_same_regressors(name):
    model, rng = MODELS[name], np.random.default_rng(8)
    q, v, a = state(model, 8)
    mass, com = rng.uniform(0.5, 2.0, model.nbody), rng.normal(size=(model.nbody, 3))
    other = model.with_parameters(mass=mass, com=com, inertia=[random_inertia(rng, m) for m in mass])
    pi = other.inertial_parameters.ravel()
    close(model.joint_torque_regressor(q, v, a) @ pi, other.rnea(q, v, a))
    close(model.kinetic_energy_regressor(q, v) @ pi, other.kinetic_energy(q, v))
    close(model.potential_energy_regressor(q) @ pi, other.potential_energy(q))


@pytest.mark.parametrize("name", ["all kinds", "floating", "several roots"])
def test_the_wrenches_of_all_bodies_are_the_joint_forces(name):
    model = MODELS[name]
    q, v, a = state(model, 9)
    tau, without = np.zeros(model.nv), np.zeros(model.nv)
    for link, pi in zip(model.body_links, model.inertial_parameters, strict=True):
        J = model.frame_jacobian(link, q, axes="local")
        tau += J.T @ model.body_regressor(link, q, v, a) @ pi
        without += J.T @ model.body_regressor(link, q) @ pi
    close(tau, model.rnea(q, v, a))
    close(without, model.rnea(q, 0 * v, 0 * v))


def test_a_load_on_a_frame_of_the_world_has_its_weight():
    model = MODELS["all kinds"]
    q, v, a = state(model)
    frame = next(name for name, body in zip(model.frame_names, model.flat.frame_body, strict=True) if body < 0)
    R = model.frame_pose(frame, q)[:3, :3]
    wrench = model.body_regressor(frame, q, v, a) @ [2.0, 0.4, 0.2, -0.6, *np.zeros(6)]
    force = -2.0 * R.T @ model.gravity
    close(wrench, np.concatenate([np.cross([0.2, 0.1, -0.3], force), force]))
    assert not model.frame_jacobian_rate(frame, q, v, "local").any()


@pytest.mark.parametrize("name", ["talos", "g1_29dof", "panda", "arm6"])
def test_the_parameters_of_a_body_are_those_of_its_links(name):
    """By pseudo-inertias, which a change of frame carries as X P X^T."""
    model = vt.load_urdf(vt.find_robot(name), base="free")
    poses, full, flat = model.frame_poses(model.neutral()), model.full, model.full.flat
    parts = {link: np.zeros((4, 4)) for link in model.body_links}
    for link, mass, com, inertia in zip(flat.link_names, flat.link_mass, flat.link_com, flat.link_inertia, strict=True):
        body = int(flat.frame_body[full.index.frame(link)])
        if body < 0 or not mass:
            continue
        I = np.array(inertia) + mass * (np.dot(com, com) * np.eye(3) - np.outer(com, com))  # noqa: E741
        on = model.body_links[body]
        X = np.linalg.inv(poses[on]) @ poses[link]
        parts[on] += X @ pseudo_inertia(np.array([mass, *np.multiply(mass, com), *I[np.triu_indices(3)]])) @ X.T
    for link, row in zip(model.body_links, model.inertial_parameters, strict=True):
        close(pseudo_inertia(row), parts[link])
    children = {joint.child for joint in model.full.joints}
    assert set(model.body_links) == children
    with pytest.raises(ValueError, match="read-only"):
        model.inertial_parameters[0, 0] = 1.0


# ---- what cannot be computed --------------------------------------------------------------------------------


def test_errors_say_what_is_wrong():
    tree = vt.Tree("light")
    tree.world.add(vt.rx("hinge", armature=1e-3), vt.tz(-1.0), vt.frame("end"))
    model = tree.compile()
    for name in ("center_of_mass_velocity", "center_of_mass_jacobian", "centroidal_momentum_matrix"):
        given = ([0.1], [0.2]) if "velocity" in name else ([0.1],)
        with pytest.raises(vt.ModelError, match="has no mass, and so no center of mass"):
            getattr(model, name)(*given)
    for method in (model.frame_jacobian_rate, model.body_regressor):
        with pytest.raises(vt.UnknownNameError, match='did you mean "end"'):
            method("ends", [0.0], [0.0])
    with pytest.raises(vt.InputError, match=r'choose "world", "local" or "spatial"'):
        model.frame_jacobian_rate("end", [0.0], [0.0], "body")
    arm = vt.load_urdf(vt.find_robot("arm6"))
    with pytest.raises(vt.InputError, match="too large for a double"):
        arm.coriolis_matrix(np.zeros(6), np.full(6, 1e308))
    with pytest.raises(vt.InputError, match=r"q\[1, 2\] is nan"):
        arm.centroidal_momentum_matrix([[0.0] * 6, [0.0, 0.0, np.nan, 0.0, 0.0, 0.0]])


# ---- both builds, and Pinocchio -----------------------------------------------------------------------------


@pytest.mark.skipif(not (built("_maps_avx2") and _cpu.runs(4)), reason="one build of the maps")
@pytest.mark.parametrize("name", ["floating", "all kinds", "revolute"])
def test_both_builds_have_the_same_bits(name):
    from vitree._core import _maps_avx2

    model = MODELS[name]
    q, v, a = state(model, 10)
    given = {"n": model.frame_names[-1], "x": "local", "q": q}
    for method, letters in {
        "centroidal_momentum_matrix_rate": "qv", "coriolis_matrix": "qv", "frame_acceleration": "nqvax",
        "_centroidal_derivatives": "qva", "centroidal_momentum_matrix": "q", "center_of_mass": "q",
        "joint_torque_regressor": "qva", "body_regressor": "nqva", "center_of_mass_jacobian": "q",
        "kinetic_energy_regressor": "qv", "potential_energy_regressor": "q",
    }.items():  # fmt: skip
        found = []
        for module in (_maps, _maps_avx2):
            places = model.flat.frame_body, model.flat.frame_E, model.flat.frame_p
            tables = module.MapTables(model.core, model._frames, places, model._parameter_places)
            arguments = [{"v": v, "a": a, **given}[letter] for letter in letters]
            found.append(module.MapCall(method).answer(tables, model, *arguments))
        assert found[0].tobytes() == found[1].tobytes(), method


@pytest.mark.parametrize(("name", "base"), [("talos_full_v2", "free"), ("g1_29dof", "free"), ("ur5", "fixed")])
def test_pinocchio_has_the_same(name, base):
    path = vt.find_robot(name)
    theirs = pin.buildModelFromUrdf(str(path), *([pin.JointModelFreeFlyer()] if base == "free" else []))
    theirs.armature[:] = 0
    data, model = theirs.createData(), vt.load_urdf(path, base=base, mimic="independent")
    order = np.concatenate([np.r_[model.joint(name).v_slice] for name in list(theirs.names)[1:]])
    rows = [3, 4, 5, 0, 1, 2]  # they have linear rows first
    links = [next(joint.child for joint in model.joints if joint.name == name) for name in list(theirs.names)[1:]]
    bodies = [model.body_links.index(link) for link in links]
    # they have the entries of an inertia in the order xx, xy, yy, xz, yz, zz
    columns = np.concatenate([10 * k + np.array([0, 1, 2, 3, 4, 5, 7, 6, 8, 9]) for k in bodies])
    q, v, a = state(model, 11)
    pq = np.concatenate([q[model.joint(name).q_slice] for name in list(theirs.names)[1:]])
    pv, pa = v[order], a[order]

    pin.centerOfMass(theirs, data, pq, pv, pa)
    close(model.center_of_mass_velocity(q, v), data.vcom[0])
    close(model.center_of_mass_acceleration(q, v, a), data.acom[0])
    close(model.center_of_mass_jacobian(q)[:, order], pin.jacobianCenterOfMass(theirs, data, pq))
    close(model.centroidal_momentum(q, v)[rows], pin.computeCentroidalMomentum(theirs, data, pq, pv).vector)
    rate = pin.computeCentroidalMomentumTimeVariation(theirs, data, pq, pv, pa)
    close(model.centroidal_momentum_rate(q, v, a)[rows], rate.vector)
    close(model.centroidal_momentum_matrix(q)[np.ix_(rows, order)], pin.ccrba(theirs, data, pq, pv))
    close(model.centroidal_inertia(q), data.Ig.inertia)
    close(model.centroidal_momentum_matrix_rate(q, v)[np.ix_(rows, order)], pin.dccrba(theirs, data, pq, pv))
    derivatives = pin.computeCentroidalDynamicsDerivatives(theirs, data, pq, pv, pa)
    for found, expected in zip(model.centroidal_momentum_derivatives(q, v, a), derivatives, strict=True):
        close(found[np.ix_(rows, order)], expected)
    close(model.coriolis_matrix(q, v)[np.ix_(order, order)], pin.computeCoriolisMatrix(theirs, data, pq, pv))
    Y = model.joint_torque_regressor(q, v, a)
    close(Y[np.ix_(order, columns)], pin.computeJointTorqueRegressor(theirs, data, pq, pv, pa))
    kinetic = pin.computeKineticEnergyRegressor(theirs, data, pq, pv)
    close(model.kinetic_energy_regressor(q, v)[columns], kinetic)
    close(model.potential_energy_regressor(q)[columns], pin.computePotentialEnergyRegressor(theirs, data, pq))
    parameters = np.concatenate([inertia.toDynamicParameters() for inertia in list(theirs.inertias)[1:]])
    close(model.inertial_parameters.ravel()[columns], parameters)
    pin.forwardKinematics(theirs, data, pq, pv, pa)
    found = model.body_regressor(links[-1], q, v, a)[rows][:, [0, 1, 2, 3, 4, 5, 7, 6, 8, 9]]
    close(found, pin.jointBodyRegressor(theirs, data, theirs.njoints - 1))
