"""Armature, the inertia of rotors: kernels, Pinocchio and MuJoCo, regular mass matrices, where it is given and kept."""

from __future__ import annotations

import copy
import pickle
from dataclasses import replace

import numpy as np
import pytest
import reference
from loaded_models import one_coordinate_joints, random_tree, singles
from random_models import chain_flat, random_flat, random_state, with_rotors
from reference_cases import pinocchio_model

import vitree as vt
from vitree._core import scalar
from vitree.errors import ModelError
from vitree.lie import pose_from_matrix
from vitree.mechanism.flat import KINDS
from vitree.tree.pairs import euler
from vitree.tree.sexpr import read_sexpr, write_sexpr

COMPILED = [name for name in vt.METHODS if not name.startswith("scipy")]


def rotors(seed, base="fixed", nbody=8, kinds=KINDS, **more):
    """A random tree with armature over two decades, and a state of it."""
    flat, q, v = random_tree(seed, nbody=nbody, kinds=kinds, base=base, **more)
    return with_rotors(flat, seed), q, v


# ---- kernels ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("base", ["fixed", "free"])
@pytest.mark.parametrize("seed", range(8))
def test_the_mass_matrix_has_it_on_its_diagonal_and_the_rest_follows(seed, base):
    """Against the same tree without, to the rounding of the sums."""
    flat, q, v = rotors(seed, base)
    bare, model = vt.Model(replace(flat, armature=None)), vt.Model(flat)
    rng = np.random.default_rng(seed)
    a, tau, extra = *rng.normal(size=(2, model.nv)), np.diag(flat.armature)
    M = model.crba(q)
    assert np.abs(M - bare.crba(q) - extra).max() <= 1e-15 * np.abs(M).max()
    force = model.rnea(q, v, a)
    assert np.abs(force - bare.rnea(q, v, a) - extra @ a).max() <= 1e-15 * np.abs(force).max()
    assert np.abs(model.rnea(q, v, model.aba(q, v, tau)) - tau).max() < 1e-11 * np.abs(force).max()
    assert model.kinetic_energy(q, v) == pytest.approx(v @ M @ v / 2, rel=1e-13)
    assert np.abs(model.generalized_momentum(q, v) - M @ v).max() < 1e-13 * np.abs(M @ v).max()
    assert np.abs(model.velocity_from_momentum(q, M @ v) - v).max() < 1e-10 * np.abs(v).max()
    assert np.array_equal(model.momentum(q, v), bare.momentum(q, v))
    assert np.array_equal(model.center_of_mass(q), bare.center_of_mass(q))
    assert model.potential_energy(q) == bare.potential_energy(q)


@pytest.mark.parametrize("base", ["fixed", "free"])
@pytest.mark.parametrize("seed", range(6))
def test_pinocchio_has_the_same(seed, base):
    pin = pytest.importorskip("pinocchio")
    flat, q, v = rotors(seed, base, branching=0.0)
    model, peer = vt.Model(flat), pinocchio_model(flat)
    assert peer.armature.any()
    data, rng = peer.createData(), np.random.default_rng(seed)
    a, tau = rng.normal(size=(2, model.nv))
    for mine, theirs in (
        (model.rnea(q, v, a), pin.rnea(peer, data, q, v, a)),
        (model.aba(q, v, tau), pin.aba(peer, data, q, v, tau)),
        (np.triu(model.crba(q)), np.triu(pin.crba(peer, data, q))),
    ):
        assert np.abs(mine - theirs).max() < 1e-12 * max(np.abs(theirs).max(), np.linalg.cond(model.crba(q)))
    momentum = pin.computeCentroidalMomentum(peer, data, q, v)
    com = pin.centerOfMass(peer, data, q, v)
    theirs = np.concatenate((momentum.angular + np.cross(com, momentum.linear), momentum.linear))
    assert np.abs(model.momentum(q, v) - theirs).max() < 1e-12 * np.abs(theirs).max()
    assert model.kinetic_energy(q, v) == pytest.approx(pin.computeKineticEnergy(peer, data, q, v), rel=1e-12)


def mujoco_model(flat):
    """The tree of hinges, slides and balls in MuJoCo, joints and bodies by the numbers of the bodies."""
    mujoco = pytest.importorskip("mujoco")
    spec = mujoco.MjSpec()
    spec.option.gravity = flat.gravity
    spec.compiler.degree = False
    spec.option.disableflags = int(mujoco.mjtDisableBit.mjDSBL_CONTACT)
    at = {-1: spec.worldbody}
    iv = reference.v_slices(flat)
    for i, kind in enumerate(flat.kind):
        g = np.eye(4)
        g[:3, :3] = flat.E[i]
        x, y, z, w = pose_from_matrix(g)[3:]
        body = at[i] = at[int(flat.parent[i])].add_body(name=f"body{i}", pos=flat.p[i], quat=[w, x, y, z])
        kinds = mujoco.mjtJoint
        body.add_joint(type=(kinds.mjJNT_HINGE, kinds.mjJNT_SLIDE, None, kinds.mjJNT_BALL)[kind], axis=[0, 0, 1],
                       armature=float(flat.armature[iv[i]][0]))  # fmt: skip
        J = flat.inertia[i]
        body.mass, body.ipos, body.explicitinertial = flat.mass[i], flat.com[i], True
        body.fullinertia = [J[0, 0], J[1, 1], J[2, 2], J[0, 1], J[0, 2], J[1, 2]]
    return mujoco, spec.compile()


@pytest.mark.parametrize("seed", range(5))
def test_mujoco_has_the_same(seed):
    """Mass matrix, inverse dynamics and kinetic energy of trees of hinges, slides and balls."""
    flat, q, v = rotors(seed, nbody=6, kinds=("revolute", "prismatic", "ball"), branching=0.0)
    mujoco, peer = mujoco_model(flat)
    data, model = mujoco.MjData(peer), vt.Model(flat)
    for i, kind in enumerate(flat.kind):
        part = q[reference.q_slices(flat)[i]]
        at = peer.jnt_qposadr[i]
        data.qpos[at : at + len(part)] = part[[3, 0, 1, 2]] if kind == 3 else part
    data.qvel[:] = v
    a = np.random.default_rng(seed).normal(size=model.nv)
    mujoco.mj_forward(peer, data)
    M = np.empty((model.nv, model.nv))
    mujoco.mj_fullM(peer, data, M)
    assert np.abs(M - model.crba(q)).max() < 1e-12 * np.abs(M).max()
    data.qacc[:] = a
    mujoco.mj_inverse(peer, data)
    force = model.rnea(q, v, a)
    assert np.abs(data.qfrc_inverse - force).max() < 1e-12 * np.abs(force).max()
    assert 0.5 * v @ M @ v == pytest.approx(model.kinetic_energy(q, v), rel=1e-12)


def test_a_batch_has_the_same():
    flat, q, _ = rotors(3, "free")
    model, n = vt.Model(flat), 9
    rng = np.random.default_rng(0)
    Q = np.array([model.integrate(q, rng.normal(size=model.nv)) for _ in range(n)])
    V = rng.normal(size=(n, model.nv))
    P = model._momenta(Q, V)
    assert np.abs(model._velocities(Q, P) - V).max() < 1e-9
    for one, speeds, p, row in zip(Q, V, P, model._energies(Q, V), strict=True):
        assert np.abs(model.crba(one) @ speeds - p).max() < 1e-12 * np.abs(p).max()
        assert row[0] == model.kinetic_energy(one, speeds)


# ---- what is regular -----------------------------------------------------------------------------------------


def test_a_joint_that_moves_no_mass_is_regular_with_a_rotor():
    """A motor with nothing on its shaft turns as the rotor does."""
    tree = vt.Tree("bare shaft")
    arm = tree.world.add(vt.ry("arm"), vt.tx(1.0), vt.body("mass", 2.0))
    arm.add(vt.rz("shaft", armature=0.5, damping=0.2))
    model = tree.compile()
    assert model.singular is None
    assert model.singular_at(model.neutral()) is None
    a = model.aba(np.zeros(2), np.zeros(2), np.array([0.0, 3.0]))
    assert a[1] == pytest.approx(6.0, rel=1e-14)
    for method in COMPILED:
        run = vt.simulate(model, v0=[0.0, 1.0], duration=1.0, dt=1e-3, method=method)
        near = 1e-3 if "euler" in method else 1e-7
        assert run.v[-1, 1] == pytest.approx(np.exp(-0.4), rel=near), method
    without = vt.Tree("no rotor")
    without.world.add(vt.ry("arm"), vt.tx(1.0), vt.body("mass", 2.0)).add(vt.rz("shaft"))
    with pytest.raises(ModelError, match='"shaft" moves no mass'):
        without.compile()


def test_two_hinges_on_one_line_are_regular_with_a_rotor():
    def hinges(**more):
        tree = vt.Tree("one line")
        tree.world.add(vt.rz("a", **more), vt.tz(0.5), vt.rz("b"), vt.tx(1.0), vt.body("mass", 1.0))
        return tree.compile()

    with pytest.raises(ModelError, match="two collinear hinges"):
        hinges()
    model = hinges(armature=1e-3)
    assert model.singular is None and model.singular_at(model.neutral()) is None
    tau = np.array([0.3, -0.2])
    assert np.abs(model.rnea([0.1, 0.2], [1, 2], model.aba([0.1, 0.2], [1, 2], tau)) - tau).max() < 1e-12


@pytest.mark.parametrize("seed", range(20))
def test_the_check_of_a_configuration_sees_rotors(seed):
    """Pivots of trees with massless bodies: a rotor on them makes a configuration regular that is not without."""
    rng = np.random.default_rng(seed)
    flat = random_flat(rng, nbody=7, massless=True)
    q, _ = random_state(flat, rng)
    model = vt.Model(with_rotors(flat, seed))
    out = np.empty((1, 2 * model.nv))
    scalar().batch_pivots(model.core, q[None], out)
    # the pivots of the mass matrix, leaves first, are those of its Cholesky factors from the end
    M = model.crba(q)[::-1, ::-1]
    felt = np.diag(np.linalg.cholesky(M))[::-1] ** 2
    single = np.array([joint.v_slice.start for joint in model.joints if joint.name in singles(flat)])
    assert (out[0, single] <= 1 + 1e-12).all() and (out[0, single] > 0).all()
    assert (felt[single] >= model.armature[single] * (1 - 1e-12)).all()


# ---- where it is given and kept -----------------------------------------------------------------------------


def test_every_element_takes_it():
    tree = vt.Tree("all")
    frame = tree.world
    made = [vt.rx("a", armature=0.1), vt.tz("b", armature=0.2), vt.screw("c", (1, 1, 0), pitch=0.1, armature=0.3),
            vt.revolute("d", armature=0.4), vt.prismatic("e", armature=0.5), vt.helical("f", armature=0.6)]  # fmt: skip
    for k, element in enumerate(made):
        frame = frame.add(element, vt.tx(0.3), vt.body(f"l{k}", 1.0, (1, 1, 1)))
    for name, pair in (("g", vt.cylindrical), ("h", vt.universal), ("i", vt.planar), ("j", euler)):
        frame = frame.add(*pair(name, armature=0.7), vt.body(name + "l", 1.0, (1, 1, 1)))
    frame.add(vt.ball("k"), vt.body("last", 1.0, (1, 1, 1)))
    model = tree.compile()
    assert model.armature.tolist() == [0.1, 0.2, 0.3, 0.4, 0.5, 0.6] + [0.7] * 13 + [0.0] * 3
    text = write_sexpr(tree)
    assert "(armature 0.3)" in text
    again = read_sexpr(text)
    assert write_sexpr(again) == text and again.compile() == model


@pytest.mark.parametrize("wrong", [-0.1, np.nan, np.inf, "heavy", (0.1, 0.2), None])
def test_what_is_no_armature_is_refused(wrong):
    tree = vt.Tree("wrong")
    tree.world.add(vt.rz("a", armature=wrong), vt.body("l", 1.0, (1, 1, 1)))
    with pytest.raises(ModelError, match='armature of "a"'):
        tree.compile()


@pytest.mark.parametrize("kind", [vt.ball, vt.free])
def test_joints_of_several_coordinates_have_none(kind):
    tree = vt.Tree("several")
    tree.world.add(kind("a", armature=0.1), vt.body("l", 1.0, (1, 1, 1)))
    with pytest.raises(ModelError, match='"a" has armature, but only joints of one coordinate can'):
        tree.compile()
    flat = random_flat(np.random.default_rng(0), nbody=2, kinds=(kind.__name__,))
    with pytest.raises(ModelError, match="ball and free joints have no armature"):
        replace(flat, armature=np.full(flat.damping.size, 0.1))


@pytest.mark.parametrize("wrong", [[-1.0], [np.nan], [np.inf], [1.0, 2.0], "heavy"])
def test_wrong_arrays_are_refused(wrong):
    with pytest.raises(ModelError, match="armature"):
        replace(chain_flat(1), armature=wrong)


def test_digests_pickles_and_copies():
    flat, q, _ = rotors(9)
    model, bare = vt.Model(flat), vt.Model(replace(flat, armature=None))
    assert model != bare and model.digest != bare.digest
    assert bare.digest == vt.Model(replace(flat, armature=np.zeros(bare.nv))).digest
    for again in (pickle.loads(pickle.dumps(model)), copy.deepcopy(model), model.euler().native):
        assert again == model and np.array_equal(again.crba(q), model.crba(q))
    assert np.array_equal(bare.armature, np.zeros(bare.nv)) and not bare.flat.armature.flags.writeable


@pytest.mark.parametrize("base", ["fixed", "free"])
def test_euler_angles_keep_it(base):
    flat, q, v = rotors(8, base, nbody=6)
    model = vt.Model(flat)
    at, qe, ve = one_coordinate_joints(model, q, v)
    assert at.armature.sum() == pytest.approx(model.armature.sum(), rel=1e-15)
    assert at.kinetic_energy(qe, ve) == pytest.approx(model.kinetic_energy(q, v), rel=1e-11)
