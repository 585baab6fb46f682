"""The teaching set's dynamics, computed the tutorial's way, are the core's to round-off."""

from __future__ import annotations

import importlib
import re
import sys

import numpy as np
import pytest
from places import EXAMPLES
from random_models import random_flat

import vitree as vt

FOLDER = EXAMPLES / "teaching"
SCRIPTS = sorted(FOLDER.glob("section*.py"))
sys.path.insert(0, str(FOLDER))

import beside  # noqa: E402
import links  # noqa: E402
import rotations  # noqa: E402
import section5_articulated as section5  # noqa: E402
import section6_conversions as section6  # noqa: E402
import section7_inverse_dynamics as section7  # noqa: E402

REPRESENTATIONS = list(rotations.ROTATIONS)


@pytest.mark.parametrize("script", SCRIPTS, ids=lambda path: path.stem)
def test_each_section_finds_the_cores_numbers(script, capsys):
    found = importlib.import_module(script.stem).main()
    assert len(found) >= 4 and max(found.values()) < 1e-12, found
    printed = capsys.readouterr()
    assert printed.out.count("e-") >= len(found) // 2 and not printed.err


def test_the_errata_are_errata(capsys):
    found = importlib.import_module("errata").main()
    assert len(found) == 6 and min(found.values()) > 1e-2, found


@pytest.mark.parametrize("rotation", REPRESENTATIONS)
@pytest.mark.parametrize("base", ["fixed", "free"])
@pytest.mark.parametrize("section", [section5, section6, section7], ids=lambda module: module.__name__)
def test_random_trees(section, base, rotation):
    """Of every kind of joint, free ones inside the tree among them, bodies without mass too."""
    for seed in range(8):
        rng = np.random.default_rng([seed, len(rotation)])
        model = vt.Model(random_flat(rng, nbody=int(rng.integers(2, 9)), base=base, massless=seed % 2 == 1))
        tree = links.links_of(model, rotation)
        found = section.compared(tree, model, *beside.random_state(tree, rng))
        assert max(found.values()) < 1e-11, found


@pytest.mark.parametrize("rotation", REPRESENTATIONS)
def test_both_forms_of_the_coriolis_term(rotation):
    """Eq. 17, by slopes of the mass matrix, and eq. 59, by J' and omega; and C is quadratic in q'."""
    rng = np.random.default_rng(17)
    tree = links.links_of(vt.Model(random_flat(rng, nbody=5, base="free")), rotation)
    x, dx, _ = beside.random_state(tree, rng)
    slopes = np.array([rotations.rate(lambda at: section5.mass_matrix(tree, at), x, e) for e in np.eye(len(x))])
    first = np.einsum("jik,j,k->i", slopes, dx, dx) - np.einsum("jik,i,k->j", slopes, dx, dx) / 2
    second = section5.coriolis(tree, x, dx)
    assert beside.apart(first, second) < 1e-12
    assert beside.apart(section5.coriolis(tree, x, -3 * dx), 9 * second) < 1e-13


@pytest.mark.parametrize("rotation", REPRESENTATIONS)
def test_rotations(rotation):
    """R is a rotation, J its angular velocity, and the core's integrate moves by it."""
    size, turn = rotations.ROTATIONS[rotation]
    rng = np.random.default_rng(5)
    for scale in (1e-12, 1e-6, 9e-6, 1.1e-5, 1e-3, 1.0, 3.0):
        x, dx = scale * rng.standard_normal((2, size))
        R, J = turn(x)
        assert np.abs(R @ R.T - np.eye(3)).max() < 1e-14 and np.linalg.det(R) == pytest.approx(1)
        omega = rotations.vee(rotations.rate(lambda at: turn(at)[0], x, dx) @ R.T)
        assert np.abs(J @ dx - omega).max() < 1e-9 * np.abs(omega).max()
    assert np.array_equal(turn(np.eye(4)[3][-size:] * (size == 4))[0], np.eye(3))


def test_where_rotations_are_singular():
    """As the README has it: ranks of J."""
    J = rotations.exponential(2 * np.pi * np.array([0.6, 0.0, 0.8]))[1], rotations.euler([0.3, np.pi / 2, 0.2])[1]
    assert [np.linalg.matrix_rank(each, tol=1e-9) for each in J] == [1, 2]


def test_quaternions_of_rotations():
    """Also of half turns, where the scalar part vanishes."""
    rng = np.random.default_rng(6)
    for q in (*rng.standard_normal((20, 4)), *np.eye(4), [1, 1, 0, 0], [0.6, 0, 0.8, 1e-9]):
        q = np.array(q, float) / np.linalg.norm(q)
        found = beside.as_quaternion(rotations.quaternion(q)[0])
        assert min(np.abs(found - q).max(), np.abs(found + q).max()) < 1e-15


def test_a_joint_torque_moves_as_the_cartesian_torques_do():
    """Eq. 68: in the core, torques tau-hat in the joints and +- tau-hat on the links accelerate alike."""
    model, rng = beside.systems()["figure 1"], np.random.default_rng(7)
    tree = links.links_of(model)
    x, dx, _ = beside.random_state(tree, rng)
    q, B = beside.to_core(tree, x)
    D, R, J_hat = section6.joint_wise(tree, x)
    tau_hat = rng.standard_normal(3 * len(tree))
    on_links = ((R.T @ D).T @ tau_hat).reshape(-1, 3)
    names = [model.frame_names[list(model.flat.frame_body).index(k)] for k in range(len(tree))]
    rows = [model.frame_jacobian(name, q)[:3].T @ torque for name, torque in zip(names, on_links, strict=True)]
    in_joints = np.linalg.solve(B.T, J_hat.T @ tau_hat)
    v = B @ dx
    assert np.allclose(model.aba(q, v, in_joints), model.aba(q, v, np.sum(rows, axis=0)), rtol=1e-11, atol=1e-11)


def test_the_readme_names_all_scripts_and_what_they_are_compared_with():
    text = (FOLDER / "README.md").read_text()
    listed = re.findall(r"^\| `(\w+\.py)`", text, re.M)
    assert listed == [*(path.name for path in SCRIPTS), "errata.py"]
    for name in ("frame_jacobian", "crba", "rnea", "kinetic_energy", "momentum"):
        assert name in text and hasattr(vt.Model, name)
    for path in FOLDER.glob("*.py"):
        assert f"`{path.name}`" in text
