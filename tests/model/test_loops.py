"""Loops close at the right assembly, or an error says that they do not."""

from __future__ import annotations

import re
from dataclasses import replace

import numpy as np
import pytest

import vitree as vt
from vitree.integrators.base import Integrator
from vitree.spatial.rotations import rotation_about, turn_z_to

AXIS = (0.3, -0.5, 0.8)
X, Y, Z = np.eye(3)
#: Kinds of closing constraints, and the directions of the two frames that each holds together.
KINDS = {
    "weld": (X, Y, Z), "fixed": (X, Y, Z), "prismatic": (X, Y, Z), "revolute": (AXIS,), "cylindrical": (AXIS,),
    "planar": (AXIS,), "spherical": (), "universal": (),
}  # fmt: skip


def closing(kind, a="a", b="b"):
    return vt.weld(a, b) if kind == "weld" else vt.joint_constraints(kind, a, b, AXIS)


def floating(kind):
    """A body in space, held to a place in the world."""
    tree = vt.Tree("floating")
    tree.world.add(vt.fixed("a", (0.1, 0.2, 0.3), (0.4, 0.5, 0.6)))
    tree.world.add(vt.free("f"), vt.body("b", 1.0, (0.2, 0.3, 0.4)))
    tree.constrain(closing(kind))
    return tree.compile()


def arm(kind):
    """A chain of seven hinges from the world to a place that it reaches."""
    rng = np.random.default_rng(3)
    tree, elements = vt.Tree("arm"), []
    for k in range(7):
        elements += [(vt.rx, vt.ry, vt.rz)[k % 3](f"j{k}"), vt.body(f"l{k}", 1.0, (0.1, 0.1, 0.1)),
                     vt.fixed(None, (0.1, 0.0, 0.3), (0.2, 0.1, 0.0))]  # fmt: skip
    tree.world.add(*elements, vt.frame("b"))
    pose = tree.compile().frame_pose("b", rng.uniform(-1, 1, 7))
    tree.world.add(vt.fixed("a", pose[:3, 3], rotation=pose[:3, :3]))
    tree.constrain(closing(kind))
    return tree.compile()


def two_bodies(kind):
    """A body on a hinge and one in space, with the frames off their origins."""
    tree = vt.Tree("two bodies")
    for side, joint in (("a", vt.ry("hinge")), ("b", vt.free("free"))):
        body = tree.world.add(joint, vt.body(f"body {side}", 1.0, (0.2, 0.3, 0.4), (0.1, 0, 0)))
        body.add(vt.fixed(side, (0.4, 0.1, -0.2), (0.3, 0.2, -1.0)))
    tree.constrain(closing(kind))
    return tree.compile()


def misfit(model, kind, q):
    """The largest distance between directions that the kind holds together, and between origins where it holds them."""
    a, b = model.frame_pose("a", q), model.frame_pose("b", q)
    off = [np.linalg.norm(a[:3, :3] @ u - b[:3, :3] @ u) for u in KINDS[kind]]
    if kind == "universal":
        x, y, _ = turn_z_to(np.array(AXIS) / np.linalg.norm(AXIS)).T
        off.append(abs((a[:3, :3] @ x) @ (b[:3, :3] @ y)))
    if kind in ("weld", "fixed", "revolute", "spherical", "universal"):
        off.append(np.linalg.norm(a[:3, 3] - b[:3, 3]))
    return max(off)


def tried(model, kind, starts, seed=0):
    """How many random starts end at the right assembly; all others raise."""
    rng, right = np.random.default_rng(seed), 0
    for _ in range(starts):
        try:
            q = vt.satisfy_constraints(model, model.random_configuration(rng))
        except vt.ConvergenceError as error:
            assert re.search(r'"a".*"b".* is (off by|closed the wrong way round, turned by \d+ degrees)', str(error))
            assert error.residual > 1e-12
        else:
            assert misfit(model, kind, q) < 1e-10
            right += 1
    return right


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("mechanism", [floating, arm, two_bodies])
def test_any_start_ends_at_the_right_assembly_or_raises(mechanism, kind):
    assert tried(mechanism(kind), kind, 12) >= (8 if mechanism is arm else 12)


@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("mechanism", [floating, arm, two_bodies])
def test_hundreds_of_starts_end_at_the_right_assembly_or_raise(mechanism, kind):
    """An arm has to find one of a few poses, and takes ten times as long: forty starts, and half of them."""
    starts, right = (40, 20) if mechanism is arm else (300, 297)
    assert tried(mechanism(kind), kind, starts, seed=1) >= right


@pytest.mark.parametrize("degrees", [89, 91, 120, 179, 180])
@pytest.mark.parametrize("kind", ["weld", "fixed", "revolute", "prismatic", "planar"])
def test_from_any_turn_to_none(kind, degrees):
    model = floating(kind)
    right = vt.satisfy_constraints(model, model.neutral())
    for axis in (X, (0, 0.6, 0.8), (1, 1, 1)):
        turn = np.zeros(6)
        turn[3:] = np.radians(degrees) * np.asarray(axis) / np.linalg.norm(axis)
        q = vt.satisfy_constraints(model, model.integrate(right, turn))
        assert misfit(model, kind, q) < 1e-10


def flipped(model, axis=(1, 0, 0), degrees=180):
    """The configuration turned against the right one."""
    turn = np.zeros(model.nv)
    turn[-3:] = np.radians(degrees) * np.asarray(axis) / np.linalg.norm(axis)
    return model.integrate(vt.satisfy_constraints(model, model.neutral()), turn)


@pytest.mark.parametrize("axis, degrees", [(X, 180), (Y, 180), (Z, 180), ((1, 1, 1), 120), ((1, -1, -1), 120)])
def test_a_weld_that_holds_turned_is_refused(axis, degrees):
    """Its equations vanish after three half turns and four of 120 degrees."""
    model = floating("weld")
    q = flipped(model, axis, degrees)
    assert np.abs(model._constraint_rows(q[None])[0]).max() < 1e-12
    assert np.abs(model.constraint_errors(q)).max() > 1.9
    says = r'axis "a" .*"b".*the wrong way round, turned by \d+ degrees.*"a" and of "b".*satisfy_constraints'
    with pytest.raises(vt.InputError, match=says):
        vt.simulate(model, q, duration=0.1, dt=0.01)
    with pytest.raises(vt.InputError, match=says):
        vt.independent_constraints(model, q)
    with pytest.raises(vt.ConvergenceError, match=r"wrong way round, turned by \d+ degrees.*hold fewer joints"):
        vt.satisfy_constraints(model, q, hold=["f"])


@pytest.mark.parametrize("every", [1, 2, 10])
def test_a_run_that_arrives_at_a_turned_assembly_says_when(every, monkeypatch):
    model = floating("revolute")
    across = np.cross(AXIS, X)
    start = vt.satisfy_constraints(model, model.neutral())

    class Jumps(Integrator):
        name, order = "jumps", 1

        def step(self, t, q, x):
            turn = np.zeros(6)
            R = model.frame_pose("b", q)[:3, :3].T @ model.frame_pose("a", q)[:3, :3]
            turn[3:] = np.pi * R @ across / np.linalg.norm(across) * (0.595 < t < 0.605)
            return model.integrate(q, turn), x

    monkeypatch.setitem(vt.METHODS, "jumps", Jumps)
    says = rf'jumps: at t = {0.61 if every == 1 else 0.62 if every == 2 else 0.7:g} s the axis .*180 degrees'
    with pytest.raises(vt.ConvergenceError, match=says) as error:
        vt.simulate(model, start, duration=1.0, dt=0.01, method="jumps", record_every=every)
    part = error.value.trajectory
    assert part.t[-1] == error.value.time and part.t[-1] < 0.615 and np.abs(part.constraint).max() < 1e-10


def test_monitors_and_records_show_a_turned_assembly():
    model = floating("weld")
    rows = np.array([flipped(model, Z, degrees) for degrees in (0, 60, 89, 95, 150, 180)])
    errors = np.abs(model.constraint_errors(rows)).max(axis=1)
    assert errors[0] < 1e-12 and (np.diff(errors) > -1e-12).all() and errors[1] < 1 and (errors[2:] > 1.99).all()


def test_loops_of_files_and_texts_keep_their_side():
    tree = vt.load_sexpr("""
      (mechanical-system (gravity 0 0 -9.81)
        (free "f" (name "b") (body "c" 1 (0 0 0) (1 0 0 1 0 1)))
        (tx 0.2 (name "a"))
        (weld "a" "b"))""")
    assert tried(tree, "weld", 10) == 10
    plain = vt.Tree("plain")
    plain.world.add(vt.fixed("a", (0.1, 0.2, 0.3)))
    plain.world.add(vt.free("f"), vt.body("b", 1.0, (0.2, 0.3, 0.4)))
    plain.constrain(closing("revolute"), vt.AxisConstraint("a", "b", (1, 0, 0), (0, 1, 0), 0.2))
    text = vt.write_sexpr(plain)
    again = vt.read_sexpr(text)
    assert again.constraints == plain.constraints and text.count("axis-constraint") == 3
    assert again.compile().digest == plain.compile().digest


def test_the_side_is_part_of_the_model():
    model = floating("weld")
    loose = replace(model.flat, constraints=tuple(
        replace(c, facing=None) if isinstance(c, vt.AxisConstraint) else c for c in model.constraints))  # fmt: skip
    assert vt.Model(loose) != model
    # without it both sides are meant
    q = flipped(model)
    assert np.abs(vt.Model(loose).constraint_errors(q)).max() < 1e-12


def test_a_plane_loop_that_is_closed_turned_everywhere():
    """Its hinge has only the equations of the plane left, which cannot tell."""
    tree = vt.Tree("plane")
    tree.world.add(vt.ry("a1"), vt.tz(-1), vt.body("p", 1.0), vt.ry("a2"), vt.tz(-1), vt.body("q", 1.0), vt.frame("b"))
    tree.world.add(vt.fixed("a", (0.5, 0, -1), rotation=rotation_about(X, np.pi)))
    tree.constrain(vt.joint_constraints("revolute", "a", "b", Y))
    with pytest.raises(vt.ModelError, match=r'in every configuration axis .*"a".*"b" .*turned by 180 degrees'):
        vt.independent_constraints(tree.compile())
    file = """<robot name='r'><link name='g'/><link name='p'>{0}</link><link name='q'>{0}</link>
      <joint name='j1' type='revolute'><parent link='g'/><child link='p'/><axis xyz='0 1 0'/>{1}</joint>
      <joint name='j2' type='revolute'><parent link='p'/><child link='q'/><origin xyz='0 0 -1'/><axis xyz='0 1 0'/>{1}
      </joint>
      <joint name='j3' type='revolute'><parent link='g'/><child link='q'/><origin xyz='.5 0 -1' rpy='{2} 0 0'/>
        <axis xyz='0 1 0'/>{1}</joint></robot>"""
    parts = [
        "<inertial><origin xyz='0 0 -.5'/><mass value='1'/><inertia ixx='1' ixy='0' ixz='0' iyy='1' iyz='0' izz='1'/>"
        "</inertial>", "<limit lower='-9' upper='9' velocity='9' effort='9'/>",
    ]  # fmt: skip
    assert len(vt.load_urdf(file.format(*parts, 0.0), loops="constraints").constraints) == 2
    with pytest.raises(vt.UrdfError, match=r'in every configuration axis .*"j3".*turned by 180 degrees'):
        vt.load_urdf(file.format(*parts, np.pi), loops="constraints")


@pytest.mark.parametrize("most", [0, -1, 2.5, None, "3"])
def test_corrections_are_a_whole_number(most):
    model = floating("weld")
    with pytest.raises(vt.InputError, match="max_iterations"):
        vt.satisfy_constraints(model, model.neutral(), max_iterations=most)


@pytest.mark.parametrize("most", [np.int32(100), np.int64(100)])
def test_numpy_integers_are_whole_numbers(most):
    model = floating("weld")
    assert misfit(model, "weld", vt.satisfy_constraints(model, model.neutral(), max_iterations=most)) < 1e-10


@pytest.mark.parametrize("most", [1, 3])
def test_no_descent_takes_more_corrections_than_asked_for(most, monkeypatch):
    from vitree.model import closures

    taken, descended = [], closures._descended

    def counted(model, q, free, tolerance, most, rows):
        calls = []
        end = descended(model, q, free, tolerance, most, lambda q: calls.append(0) or rows(q))
        taken.append(len(calls))
        return end

    monkeypatch.setattr(closures, "_descended", counted)
    model = floating("weld")
    with pytest.raises(vt.ConvergenceError) as told:
        vt.satisfy_constraints(model, model.neutral(), tolerance=1e-300, max_iterations=most)
    assert max(taken) == most == told.value.iterations and len(taken) > 1
