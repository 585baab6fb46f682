"""Models of MuJoCo as people have them: loops with a link too many, welds to mocap bodies, grippers that overlap."""

from __future__ import annotations

import numpy as np
import pytest

import vitree as vt
from vitree.errors import InputError

pytest.importorskip("mujoco")


def linkage(tilt: float = 0.0, end: str = "0.6 0 -0.8") -> str:
    """A plate on three parallel rods, two of which are welded to bearings of it: one equation too many in its plane."""
    rod = f'<geom type="capsule" fromto="0 0 0 {end}" size="0.02" mass="0.2"/>'
    rods = "".join(f'<body name="rod{k}" pos="{k} 0 0"><joint name="r{k}" axis="0 1 0"/>{rod}</body>' for k in (1, 2))
    bearings = "".join(f'<body name="bearing{k}" pos="{k} 0 0" euler="0 {tilt} 0"><joint name="b{k}" axis="0 1 0"/>'
                       '<geom size="0.02" mass="0.01"/></body>' for k in (1, 2))  # fmt: skip
    return f"""<mujoco><default><geom contype="0" conaffinity="0"/></default><worldbody>
      <body name="crank"><joint name="c" axis="0 1 0"/>{rod}
      <body name="plate" pos="{end}"><joint name="p" axis="0 1 0"/>
        <geom type="box" size="1 0.02 0.02" pos="1 0 0" mass="1"/>{bearings}</body></body>{rods}</worldbody>
      <equality><weld body1="rod1" body2="bearing1"/><weld body1="rod2" body2="bearing2"/></equality></mujoco>"""


@pytest.mark.parametrize(("tilt", "end"), [(0.0, "0 0 -1"), (30.0, "0 0 -1"), (0.0, "0.6 0 -0.8"), (70.0, "1 0 -1")])
def test_a_rod_too_many_is_left_out_and_stays_where_it_is(tilt, end):
    """What is left out around the start is told, and the loops of all rods stay closed in a run."""
    robot = vt.from_mujoco(linkage(tilt, end))
    assert len(robot.model.constraints) == 5
    told = next(found.text for found in robot.report if found.id == "mjcf-loops")
    assert told == ("7 of 12 equations of equalities are redundant and omitted, some of them around the start only, "
                    "where a run must start")  # fmt: skip
    run = vt.simulate(robot.model, robot.start, duration=0.3, dt=1e-3, record_every=30)
    assert np.abs(run.q[-1] - run.q[0]).max() > 0.1 or end == "0 0 -1"
    for q in run.q:
        for k in (0, 1):
            a, b = (robot.model.frame_pose(f"equality{k} {word}", q) for word in "ab")
            assert np.abs(a - b).max() < 1e-8
    # the motion is that of a plate that does not turn: the rods as one pendulum
    assert np.abs(run.q[:, 0] + run.q[:, 1]).max() < 1e-9 and np.abs(run.q[:, 0] - run.q[:, 5]).max() < 1e-9


def test_rows_that_span_others_are_chosen_far_from_dependent():
    robot = vt.from_mujoco(linkage())
    model = robot.model
    rows = model.constraint_jacobian(robot.start)
    assert np.linalg.matrix_rank(rows, tol=1e-6) == len(rows) == 5
    again = vt.independent_constraints(model, robot.start)
    assert [each.name for each in again] == [each.name for each in model.constraints]


def test_the_error_of_a_start_off_the_loops_names_what_helps():
    robot = vt.from_mujoco(linkage())
    bent = robot.start + np.array([0.3, 0, 0, 0, 0, 0])
    with pytest.raises(InputError, match=r"take model and q of vitree.feasible_start\(model, q0\)"):
        vt.simulate(robot.model, bent, duration=0.01, dt=1e-3)
    found = vt.feasible_start(robot.model, bent)
    vt.simulate(found.model, found.q, duration=0.01, dt=1e-3)
    plain = vt.from_mujoco(linkage(), limits="report", contacts=False)
    with pytest.raises(InputError, match=r"take q0 = vitree.satisfy_constraints\(model, q0\)"):
        vt.simulate(plain.model, bent, duration=0.01, dt=1e-3)


def parallelogram(off: float) -> str:
    """A plate on three parallel rods, of which one is longer by ``off`` [m], as in a file that rounds."""
    ends = {0: 1.0, 1: 1.0 + off, 2: 1.0}
    rod = '<geom type="capsule" fromto="0 0 0 0.6 0 -0.8" size="0.02" mass="0.2"/>'
    rods = "".join(f'<body name="rod{k}" pos="{k} 0 0"><joint name="r{k}" axis="0 1 0"/>{rod}'
                   f'<site name="end{k}" pos="{0.6 * x} 0 {-0.8 * x}"/></body>'
                   for k, x in ends.items() if k)  # fmt: skip
    return f"""<mujoco><default><geom contype="0" conaffinity="0"/></default><worldbody>
      <body name="crank"><joint name="c" axis="0 1 0"/>{rod}
      <body name="plate" pos="0.6 0 -0.8"><joint name="p" axis="0 1 0"/>
        <geom type="box" size="1 0.02 0.02" pos="1 0 0" mass="1"/>
        <site name="pin1" pos="1 0 0"/><site name="pin2" pos="2 0 0"/></body></body>{rods}</worldbody>
      <equality><connect site1="pin1" site2="end1"/><connect site1="pin2" site2="end2"/></equality></mujoco>"""


@pytest.mark.parametrize("off", [0.0, 2e-7, 5e-6])
def test_a_rod_too_many_of_rounded_length_is_left_out(off):
    """The mechanism moves, and the pin that is left out stays as far open as the numbers of the file are rounded."""
    robot = vt.from_mujoco(parallelogram(off))
    model = robot.model
    assert len(model.constraints) == 3 and np.linalg.matrix_rank(model.constraint_jacobian(robot.start), tol=1e-6) == 3
    run = vt.simulate(model, robot.start, duration=0.3, dt=1e-3, record_every=30)
    assert np.abs(run.q[-1] - run.q[0]).max() > 0.1
    for q in run.q:
        gaps = [np.abs((model.frame_pose(f"pin{k}", q) - model.frame_pose(f"end{k}", q))[:3, 3]).max() for k in (1, 2)]
        assert max(gaps) < 10 * off + 1e-8


def test_rods_whose_lengths_differ_by_more_hold_their_plate():
    """Such a plate cannot move: nothing of it is left out, and the start is as open as the file has it."""
    model = vt.from_mujoco(parallelogram(1e-3)).model
    assert len(model.constraints) == 4
    with pytest.raises(InputError, match=r"does not satisfy the point .* off by 0\.0008"):
        vt.independent_constraints(model, model.start, 1e-4)
    with pytest.raises(InputError, match=r"tolerance=0\.0 must be a positive number"):
        vt.independent_constraints(model, model.start, tolerance=0.0)


def test_limits_of_tendons_over_joints_are_left_out_and_told():
    """Also where the joints are more than the sites, whose numbers they are not."""
    text = """<mujoco><worldbody><body><joint name="a" axis="0 1 0"/><geom size="0.1" pos="0 0 1"/>
      <body pos="0 0 1"><joint name="b" axis="0 1 0"/><geom size="0.1" pos="0 0 1"/></body></body></worldbody>
      <tendon><fixed name="both" limited="true" range="0 1"><joint joint="a" coef="1"/>
        <joint joint="b" coef="1"/></fixed></tendon></mujoco>"""
    assert [str(told.text) for told in vt.from_mujoco(text).left_out.of("warning")] == ['the tendon "both": limits']


MOCAP = """<mujoco><worldbody><body name="target" mocap="true" pos="0 0 2"/>
  <body name="arm"><joint name="j" axis="0 1 0"/><geom type="capsule" fromto="0 0 0 1 0 0" size="0.05"/>
    <site name="tip" pos="1 0 0"/></body><site name="there" pos="0 0 3"/></worldbody>
  <equality><weld name="drag" body1="target" body2="arm"/></equality></mujoco>"""


def test_a_weld_to_a_mocap_body_is_left_out_and_told():
    """A program moves such a body; at its first place the arm could not be welded to it."""
    robot = vt.from_mujoco(MOCAP)
    assert not robot.model.constraints
    assert 'the equality "drag": it is of a mocap body' in str(robot.left_out)
    assert vt.simulate(robot.model, robot.start, duration=0.1, dt=1e-3).q[-1, 0] > 0.05
    held = vt.from_mujoco(MOCAP.replace(' mocap="true" pos="0 0 2"', ""))
    assert len(held.model.constraints) == 1 and held.left_out.of("warning") == ()


def gripper(limits: str = 'range="0 0.04"', kind: str = "slide", hand: str = "") -> str:
    finger = '<geom type="box" size="0.01 0.01 0.03" pos="0 0 0.02"/>'
    joint = f'type="{kind}" axis="1 0 0" {limits}'
    return f"""<mujoco><option gravity="0 0 0"/><worldbody>
      <body name="hand">{hand}<geom type="box" size="0.08 0.02 0.02"/>
      <body name="left" pos="0.03 0 0"><joint name="l" {joint}/>{finger}</body>
      <body name="right" pos="-0.03 0 0"><joint name="r" {joint}/>{finger}</body></body></worldbody></mujoco>"""


@pytest.mark.parametrize("kind", ["slide", "hinge"])
def test_fingers_that_overlap_their_hand_do_not_touch_it(kind):
    """Also if they slide: a slide with limits is part of a mechanism, and one without may be the base of a thing."""
    hand = "<freejoint/>"
    for text in (gripper(kind=kind), gripper(kind=kind, hand=hand)):
        robot = vt.from_mujoco(text)
        vt.simulate(robot.model, robot.start, v0=0.1 * np.ones(robot.model.nv), duration=0.02, dt=1e-3)
        if hand not in text:
            assert '"left" - "hand"' in (told := str(robot.model.report)) and '"right" - "hand"' in told
    if kind == "slide":
        loose = vt.from_mujoco(gripper(limits=""))
        with pytest.raises(InputError, match=r"at the start; move them apart, as vt.feasible_start\(model, q\) does"):
            vt.simulate(loose.model, loose.start, duration=0.01, dt=1e-3)


def test_fingers_of_one_hand_that_overlap_at_neutral_do_not_touch():
    """Both are fixed to the world by joints of their own, so that their bases are two, which a coupling joins."""
    equal = '<equality><joint joint1="l" joint2="r"/></equality></mujoco>'
    text = gripper().replace("</mujoco>", equal)
    text = text.replace('pos="-0.03 0 0"', 'pos="0.02 0 0.1"').replace('pos="0.03 0 0"', 'pos="0.03 0 0.1"')
    robot = vt.from_mujoco(text)
    assert '"left" - "right"' in str(robot.model.report)
    apart = vt.from_mujoco(text.replace(equal, "</mujoco>"))
    with pytest.raises(InputError, match=r'"(left|right)" and "(left|right)" overlap'):
        vt.simulate(apart.model, apart.start, duration=0.01, dt=1e-3)
    vt.simulate(robot.model, robot.start, duration=0.02, dt=1e-3)
    box = '<freejoint/><geom type="box" size="0.01 0.01 0.03"/>'
    floats = vt.from_mujoco(f"""<mujoco><worldbody><body name="left">{box}</body>
      <body name="right" pos="0.01 0 0">{box}</body></worldbody></mujoco>""")
    with pytest.raises(InputError, match=r'"(left|right)" and "(left|right)" overlap'):
        vt.simulate(floats.model, floats.start, duration=0.01, dt=1e-3)
    found = vt.feasible_start(floats.model, floats.start)
    vt.simulate(found.model, found.q, duration=0.02, dt=1e-3)
