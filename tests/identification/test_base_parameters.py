"""The regressor and the base parameters: forces are linear in them, and what is in none of them does nothing."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from closed_chains import closed_chain, finger, four_bar
from random_models import random_flat, random_state
from scipy.linalg import null_space

import vitree as vt
from vitree.identification.base import of_rows, random_states, rows_of
from vitree.identification.regressor import (
    OF_LINK,
    TorqueRegressor,
    free_directions,
    standard_names,
    standard_parameters,
    standard_units,
)
from vitree.mechanism.flat import KIND_NV, KINDS
from vitree.spatial.pseudo_inertia import mass_com_inertia


def trees():
    for seed in range(6):
        rng = np.random.default_rng(seed)
        flat = random_flat(rng, nbody=4, kinds=KINDS, base=("fixed", "free")[seed % 2], damping=True)
        single = np.repeat(KIND_NV[flat.kind] == 1, KIND_NV[flat.kind])
        armature, friction = (np.where(single, rng.uniform(0.1, 1.0, len(single)), 0.0) for _ in range(2))
        yield pytest.param(vt.Model(replace(flat, armature=armature, friction=friction)), id=f"tree{seed}")


def forces(model, q, v, a):
    """rnea with damping and friction, (n, nv)."""
    wide = model.expand_velocity(v)
    rubbing = wide / np.sqrt(wide**2 + model.full.flat.friction_velocity**2)
    lost = model.full.damping * wide + model.full.friction * rubbing
    return model.rnea(q, v, a) + (model.contract_force(lost) if model.full is not model else lost)


def states(model, n, seed=0):
    rng = np.random.default_rng(seed)
    if model.full is model:
        pairs = [random_state(model.flat, rng) for _ in range(n)]
        q, v = (np.array(rows) for rows in zip(*pairs, strict=True))
    else:
        q, v = rng.normal(size=(2, n, model.nv))
    return q, v, rng.normal(size=v.shape)


def welded():
    """Two links on one body, the second turned and beside the first, and one that is fixed to the world."""
    tree = vt.Tree("welded")
    tree.world.add(vt.tx(1.0), vt.body("post", 3.0, (0.1, 0.1, 0.1)))
    first = vt.body("arm", 1.0, (0.1, 0.2, 0.25), com=(0.1, 0, 0.2))
    arm = tree.world.add(vt.rx(0.3), vt.rz("turn"), vt.ty(0.2), first)
    arm.add(vt.tz(0.5), vt.ry(0.7), vt.rx(-0.4), vt.body("tool", 0.5, (0.02, 0.03, 0.04), com=(0, 0.1, 0.1)))
    arm.add(vt.tx(0.4), vt.ry("swing"), vt.body("bob", 0.7, (0.01, 0.02, 0.02), com=(0, 0, -0.3)))
    return tree.compile()


GEARS = finger().reduced().with_parameters(damping=[0.1, 0.2, 0.3], friction=[0.3, 0.2, 0.1], armature=[1.0, 2.0, 3.0])
MODELS = [*trees(), pytest.param(welded(), id="welded"), pytest.param(GEARS, id="gears")]


@pytest.mark.parametrize("model", MODELS)
def test_forces_are_the_regressor_times_the_standard_parameters(model):
    q, v, a = states(model, 5)
    Y = TorqueRegressor(model)(q, v, a)
    expected = forces(model, q, v, a)
    assert Y.shape == (5, model.nv, len(standard_names(model))) == (5, model.nv, len(standard_units(model)))
    np.testing.assert_allclose(Y @ standard_parameters(model), expected, rtol=0, atol=1e-10 * np.abs(expected).max())


def test_pinocchio_has_the_same_regressor():
    pin = pytest.importorskip("pinocchio")
    model = vt.load_urdf(vt.find_robot("arm6"))
    other = pin.buildModelFromUrdf(str(vt.find_robot("arm6")))
    data, (q, v, a) = other.createData(), states(model, 4)
    Y = TorqueRegressor(model)(q, v, a)
    first = len(OF_LINK) * (model.link_names.index(other.names[1].removesuffix("_joint")))
    for k in range(4):
        theirs = pin.computeJointTorqueRegressor(other, data, q[k], v[k], a[k])
        order = np.arange(theirs.shape[1]).reshape(-1, 10)[:, [0, 1, 2, 3, 4, 5, 7, 6, 8, 9]].ravel()
        np.testing.assert_allclose(Y[k, :, first : first + 60], theirs[:, order], atol=1e-9)


def test_derivatives_of_a_weighted_regressor_are_those_of_differences():
    rng = np.random.default_rng(0)
    flat = random_flat(rng, nbody=4, kinds=("revolute", "prismatic", "helical"))
    model = vt.Model(flat)
    regressor, (q, v, a) = TorqueRegressor(model), states(model, 3)
    weights = rng.normal(size=(3, model.nv, len(regressor.names)))
    slopes, step = regressor.gradient(q, v, a, weights), 1e-6
    for which, slope in enumerate(slopes):
        for k in range(model.nv):
            sides = []
            for sign in (step, -step):
                at = [q.copy(), v.copy(), a.copy()]
                at[which][:, k] += sign
                sides.append((weights * regressor(*at)).sum(axis=(1, 2)))
            np.testing.assert_allclose((sides[0] - sides[1]) / (2 * step), slope[:, k], rtol=1e-5,
                                       atol=1e-6 * np.abs(slope).max())  # fmt: skip


# ---- base parameters ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("model", MODELS)
def test_base_parameters_give_the_forces_and_no_fewer_do(model):
    base = vt.base_parameters(model)
    regressor = TorqueRegressor(model)
    q, v, a = states(model, 5 + 2 * len(base) // model.nv, seed=9)
    rows = rows_of(model, regressor, q, v, a)
    W = rows[:, base.columns]
    expected = forces(model, q, v, a).ravel()
    values = np.array([*base.values(model).values()])
    np.testing.assert_allclose(W @ values, expected, rtol=0, atol=1e-8 * np.abs(expected).max())
    singular = np.linalg.svd(rows / np.maximum(np.linalg.norm(rows, axis=0), 1e-6), compute_uv=False)
    assert len(base) == (singular > 1e-7 * singular[0]).sum()
    assert np.linalg.svd(W / np.linalg.norm(W, axis=0), compute_uv=False)[-1] > 1e-6


@pytest.mark.parametrize("seed", range(3))
def test_parameters_that_keep_the_base_parameters_keep_the_forces(seed):
    """Other masses, COM and inertias, which differ along the null space; rnea knows nothing of it."""
    rng = np.random.default_rng(seed)
    model = vt.Model(random_flat(rng, nbody=4, kinds=("revolute", "prismatic", "helical")))
    base, links = vt.base_parameters(model), len(OF_LINK) * len(model.link_names)
    hidden = null_space(base.matrix[:, :links])
    move = hidden @ rng.normal(size=hidden.shape[1])
    move *= 0.01 / np.abs(move).max()
    changed = (standard_parameters(model)[:links] + move).reshape(-1, 10)
    mass, com, inertia = zip(*map(mass_com_inertia, changed), strict=True)
    other = model.with_parameters(mass=mass, com=com, inertia=inertia)
    assert np.abs(standard_parameters(other) - standard_parameters(model)).max() == pytest.approx(0.01)
    q, v, a = states(model, 4)
    np.testing.assert_allclose(other.rnea(q, v, a), model.rnea(q, v, a), atol=1e-9)


def test_names_of_a_planar_arm():
    """The textbook's: a link's mass counts to the link that carries it, with its arm and the square of it."""
    base = vt.base_parameters(vt.load_urdf(vt.find_robot("double_pendulum")))
    assert base.names[:6] == ("rod1.m*cx", "rod1.m*cz - rod2.m", "rod1.Iyy + rod2.m + hinge1.armature", "rod2.m*cx",
                              "rod2.m*cz", "rod2.Iyy")  # fmt: skip
    assert base.units[:3] == ("kg m", "kg m", "kg m^2")
    assert {"base.m", "rod1.m", "rod2.Ixx", "rod2.m*cy"} <= set(base.unidentifiable)
    assert "rod2.m" not in base.unidentifiable
    assert base.condition < 10
    text = str(base)
    assert "rod1.m*cz - rod2.m" in text and "not identifiable: base.m" in text
    assert repr(base) == "<vitree.BaseParameters: 11 of 36 standard parameters>"


def test_an_arm_of_six_axes_has_36_inertial_base_parameters():
    """40 with armatures that inertias about other axes do not take in; the first two are in the links'."""
    base = vt.base_parameters(vt.load_urdf(vt.find_robot("arm6")))
    kinds = [name.split()[0].rpartition(".")[2] for name in base.names]
    assert sum(kind not in ("damping", "friction", "armature") for kind in kinds) == 36
    assert kinds.count("damping") == kinds.count("friction") == 6 and kinds.count("armature") == 4


@pytest.mark.parametrize("model", [closed_chain(), four_bar()], ids=["chain", "four bars"])
def test_loops_are_closed_by_forces_that_are_not_known(model):
    """Inverse dynamics that the loop's forces cannot change are a function of the base parameters."""
    base, rng = vt.base_parameters(model), np.random.default_rng(5)
    q, v, a = random_states(model, 10, rng)
    np.testing.assert_allclose(model._constraint_rows(q)[0], 0.0, atol=1e-9)
    Z = free_directions(model, q)
    np.testing.assert_allclose(model._constraint_rows(q)[1] @ Z, 0.0, atol=1e-9)
    rates = np.array([model.project_velocity(*state) for state in zip(q, v, strict=True)])
    np.testing.assert_allclose(rates, v, atol=1e-8)
    for place, rate, acceleration in zip(q, v, a, strict=True):  # an acceleration that the constraints allow
        model.inverse_dynamics(place, rate, acceleration)
    expected = np.einsum("nvk,nv->nk", Z, model.rnea(q, v, a)).ravel()
    W = rows_of(model, TorqueRegressor(model), q, v, a)[:, base.columns]
    values = np.array([*base.values(model).values()])
    np.testing.assert_allclose(W @ values, expected, atol=1e-7 * np.abs(expected).max())
    free = vt.base_parameters(vt.Model(replace(model.flat, constraints=())))
    assert len(base) < len(free)


def test_a_column_that_is_nothing_or_twice_another_is_no_base_parameter():
    model = vt.load_urdf(vt.find_robot("pendulum"))
    names, rng = standard_names(model), np.random.default_rng(0)
    rows = np.zeros((20, len(names)))
    link = names.index(f"{model.link_names[-1]}.m*cx")
    rows[:, link], rows[:, link + 1] = rng.normal(size=(2, 20))
    rows[:, link + 2] = 2 * rows[:, link] - 3 * rows[:, link + 1]
    base = of_rows(model, rows)
    assert len(base) == 2 and len(base.unidentifiable) == len(names) - 3
    assert base.matrix[:, link + 2] == pytest.approx([2.0, -3.0])


def test_wrong_arguments_are_told():
    tree = vt.Tree("top")
    tree.world.add(vt.ball("pivot"), vt.body("top", 1.0, (0.10, 0.2, 0.25)))
    model = tree.compile()
    with pytest.raises(vt.InputError, match="has Euler angles"):
        vt.base_parameters(model.euler())
    with pytest.raises(vt.InputError, match="model"):
        vt.base_parameters(3)
    for seed in (-1, 0.5, None, np.array(0.0)):
        with pytest.raises(vt.InputError, match="seed"):
            vt.base_parameters(model, seed)
    base = vt.base_parameters(model)
    with pytest.raises(vt.InputError, match="other links or joints"):
        base.values(closed_chain())
