"""Universal and helical joints that close loops: derivatives, the motion that they leave, drift over long runs."""

from __future__ import annotations

import numpy as np
import pytest
from random_models import random_flat, random_state
from step_differences import slope

import vitree as vt

PITCH = 0.03


def on_a_screw(closed, pitch=PITCH, axis=(0.2, -0.3, 0.9)):
    """A body that falls along a thread: on a helical joint of the tree, or free in space and held by constraints."""
    tree = vt.Tree("screw", gravity=(1.0, 2.0, -9.0))
    place = tree.world.add(vt.fixed("a", (0.1, 0.2, 0.3), (0.4, 0.5, 0.6)))
    body = vt.body("b", 1.2, (0.02, 0.03, 0.04), com=(0.01, 0.0, 0.02))
    if not closed:
        place.add(vt.helical("s", axis, pitch), body)
        return tree.compile()
    tree.world.add(vt.free("f"), body)
    tree.constrain(vt.joint_constraints("cylindrical", "a", "b", axis), vt.HelicalConstraint("a", "b", pitch, axis))
    return tree.compile()


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("ends", [("frame1", "link1"), ("link2", "world"), ("world", "frame1")])
def test_the_gradient_of_a_screw_is_that_of_differences(seed, ends):
    """Wherever the frames are, also far from the thread; and the bend of it, by accelerations."""
    flat = random_flat(np.random.default_rng(seed), 5, kinds=("revolute", "ball", "prismatic", "free"))
    model, screw = vt.Model(flat), vt.HelicalConstraint(*ends, 0.4, (0.3, -0.5, 0.8))
    q, _ = random_state(flat, np.random.default_rng(seed + 1))
    vt.check_derivatives(screw, model, q)
    expected = [slope(lambda x, unit=unit: screw.value(model, model.integrate(q, x * unit)), 1e-3)
                for unit in np.eye(model.nv)]  # fmt: skip
    np.testing.assert_allclose(screw.gradient(model, q), expected, atol=1e-10)


@pytest.mark.parametrize("pitch", [PITCH, -0.2])
@pytest.mark.parametrize("method", ["linear-time", "midpoint"])
def test_a_free_body_on_a_screw_moves_as_on_a_helical_joint(pitch, method):
    """It falls for many turns, and both converge with order 2."""
    joint, held = on_a_screw(False, pitch), on_a_screw(True, pitch)
    exact = vt.simulate(joint, duration=2.0, dt=2.0, method="scipy-dop853", rtol=1e-12, atol=1e-12)[-1]
    pose = joint.frame_pose("b", exact.q)
    assert abs(exact.q[0]) > 2.5 * np.pi  # more than a turn
    errors = []
    for dt in (4e-3, 2e-3):
        q0 = vt.lie.pose_from_matrix(held.frame_pose("a", held.neutral()))
        run = vt.simulate(held, q0, duration=2.0, dt=dt, method=method)
        assert np.abs(run.constraint).max() < 1e-10
        errors.append(np.abs(held.frame_pose("b", run.q[-1]) - pose).max())
    assert errors[1] < 1e-3 and np.log2(errors[0] / errors[1]) == pytest.approx(2, abs=0.1)


def test_a_screw_does_not_drift():
    """Over 10,000 steps and hundreds of turns, from a thrown start."""
    model = on_a_screw(True)
    q = vt.satisfy_constraints(model, model.neutral())
    v = model.project_velocity(q, np.array([0, 0, 0, 1.0, 2.0, 20.0]))
    run = vt.simulate(model, q, v, duration=20.0, dt=2e-3)
    turns = np.abs(run.v[:, 3:] @ np.array((0.2, -0.3, 0.9)) / np.linalg.norm((0.2, -0.3, 0.9))).mean() * 20 / 6.28
    assert run.steps == 10_000 and turns > 50
    assert np.abs(run.constraint).max() < 1e-9
    assert np.abs(run.energy - run.energy[0]).max() < 5e-3 * run.kinetic.max() and run.warnings == ()


def cardan(beta):
    """Two shafts whose axes make an angle beta, joined by a universal joint."""
    tree = vt.Tree("cardan", gravity=(0, 0, 0))
    tree.world.add(vt.rz("driving"), vt.body("one", 1.0, (0.1, 0.1, 0.1)), vt.frame("a"))
    tilted = tree.world.add(vt.fixed(None, (0.0, 0.0, 0.0), (beta, 0.0, 0.0)))
    tilted.add(vt.rz("driven"), vt.body("two", 1.0, (0.1, 0.1, 0.2)), vt.frame("b"))
    tree.constrain(vt.joint_constraints("universal", "a", "b"))
    tree.constraints[:] = vt.independent_constraints(tree.compile(), tree.compile().neutral())
    return tree.compile()


@pytest.mark.parametrize("beta", [0.3, 1.0])
def test_a_universal_joint_has_the_ratio_of_cardan(beta):
    """tan(driven) = tan(driving) cos(beta) or its inverse, by which axis leads; rates vary twice a turn."""
    model = cardan(beta)
    assert len(model.constraints) == 1
    v = model.project_velocity(model.neutral(), [6.0, 6.0])
    run = vt.simulate(model, model.neutral(), v, duration=20.0, dt=2e-3)
    driving, driven = run.q.T
    assert run.steps == 10_000 and driving[-1] > 100 and np.abs(run.constraint).max() < 1e-12
    # the x of the driving shaft is at right angles to the y of the driven one
    assert np.abs(np.sin(driven) * np.cos(driving) - np.cos(driven) * np.sin(driving) * np.cos(beta)).max() < 1e-11
    ratio = run.v[:, 1] / run.v[:, 0]
    assert ratio.min() == pytest.approx(np.cos(beta), rel=2e-3)
    assert ratio.max() == pytest.approx(1 / np.cos(beta), rel=2e-3)
    assert np.ptp(run.energy) < 1e-2 * run.kinetic.max()


def test_a_universal_closure_leaves_the_motion_of_a_universal_joint():
    """A body in space held by it, against one on the joint of the tree."""
    runs = []
    for closed in (False, True):
        tree = vt.Tree("universal")
        body = vt.body("b", 1.0, (0.1, 0.2, 0.3), com=(0.1, 0.2, -0.5))
        tree.world.add(vt.frame("a"))
        if closed:
            tree.world.add(vt.free("f"), body)
            tree.constrain(vt.joint_constraints("universal", "a", "b"))
        else:
            tree.world.add(vt.universal("u"), body)
        model = tree.compile()
        assert model.nv - len(model.constraints) == 2
        runs.append(vt.simulate(model, duration=1.0, dt=5e-4, v0=None))
    poses = [run.system.frame_pose("b", run.q[-1]) for run in runs]
    assert np.abs(poses[0] - poses[1]).max() < 1e-5 and np.abs(poses[0] - np.eye(4)).max() > 0.1


def test_a_joined_tree_renames_a_screw_and_files_of_models_tell_them_apart():
    model = on_a_screw(True)
    assert model.digest != on_a_screw(True, 2 * PITCH).digest and model.digest == on_a_screw(True).digest
    screw = model.constraints[-1]
    renamed = screw.renamed(lambda name: f"left/{name}")
    assert (renamed.a, renamed.b, renamed.pitch) == ("left/a", "left/b", PITCH) and renamed.axis == screw.axis
    assert vt.HelicalConstraint("world", "b", 1.0).renamed(str.upper).a == "world"
    assert screw.name == 'helical "a" - "b"' and vt.HelicalConstraint("a", "b", 1.0, label="nut").name == "nut"


@pytest.mark.parametrize(("arguments", "text"), [
    (("a", "b", 0.0), "pitch between \"a\" and \"b\" is zero; take joint_constraints"),
    (("a", "b", np.nan), "must be finite"), (("a", "b", 1.0, (0, 0, 0)), "axis between .* is zero"),
])  # fmt: skip
def test_wrong_screws_are_named(arguments, text):
    with pytest.raises(vt.ModelError, match=text):
        vt.HelicalConstraint(*arguments)
    with pytest.raises(vt.ModelError, match=r'"helical" is not known.*"cylindrical" with a vitree.HelicalConstraint'):
        vt.joint_constraints("helical", "a", "b")
