"""Motions from files: splines through rows, their derivatives, units, and what they drive."""

from __future__ import annotations

import numpy as np
import pytest

import vitree as vt

H = 1e-5


def hand():
    """A ball that floats, with an arm of a hinge and a slide on it."""
    tree = vt.Tree("hand", gravity=(0, 0, 0))
    tree.world.add(vt.free("base"), vt.body("base", 1.0, (0.1, 0.2, 0.3)), vt.ry("turn"), vt.tx(0.3),
                   vt.body("arm", 0.5, (0.01, 0.01, 0.01)), vt.tx("reach"), vt.body("tip", 0.2, (0.01, 0.01, 0.01)))
    return tree.compile()


def wave(model, n=30):
    """Times and configurations of a smooth motion."""
    t = np.linspace(0.5, 2.5, n)
    v = np.array([np.sin((1 + 0.3 * k) * t) for k in range(model.nv)]).T
    return t, np.array([model.integrate(model.start, each) for each in v])


@pytest.mark.parametrize("degree", [3, 5])
def test_derivatives_are_those_of_the_motion(degree):
    """Of all kinds of joints: v by differences of q on the manifold, a by differences of v; rows are met."""
    model = hand()
    t, q = wave(model)
    motion = vt.ReferenceMotion(model, t, q, degree=degree)
    np.testing.assert_allclose(motion.q(t), q, rtol=0, atol=1e-12)
    at = np.linspace(0.51, 2.49, 17)
    for x in at:
        v = model.difference(motion.q(x - H), motion.q(x + H)) / (2 * H)
        np.testing.assert_allclose(motion.v(x), v, rtol=0, atol=1e-8)
        np.testing.assert_allclose(motion.a(x), (motion.v(x + H) - motion.v(x - H)) / (2 * H), rtol=0, atol=1e-5)
    assert motion.q(at).shape == (17, model.nq) and motion.v(at[:, None]).shape == (17, 1, model.nv)
    assert motion.q(1.0).shape == (model.nq,) and motion.duration == 2.0
    force = model.rnea(motion.q(at), motion.v(at), motion.a(at))
    np.testing.assert_allclose(force[3], model.rnea(motion.q(at[3]), motion.v(at[3]), motion.a(at[3])), atol=1e-12)


def test_splines_converge_with_the_fourth_power_of_the_distance_of_rows():
    model = vt.load_urdf(vt.find_robot("arm6"))
    errors = []
    for n in (20, 40):
        t = np.linspace(0, 2, n)
        motion = vt.ReferenceMotion(model, t, np.sin(t)[:, None] * np.ones(6))
        x = np.linspace(0.3, 1.7, 101)
        errors.append(np.abs(motion.q(x)[:, 0] - np.sin(x)).max())
    assert 12 < errors[0] / errors[1] < 22


def test_units_names_and_separators(tmp_path):
    model = hand()
    rows = "0,10,5,x\n100,20,6,y\n250,30,8,z\n".replace(",x", "").replace(",y", "").replace(",z", "")
    path = tmp_path / "motion.csv"
    path.write_text("# recorded\ntime [ms],turn [deg],reach\n" + rows)
    one = vt.read_motion(path, model, units="mm")
    np.testing.assert_allclose(one.t, [0, 0.1, 0.25], atol=1e-15)
    np.testing.assert_allclose(one.q(one.t)[:, 7:], np.c_[np.radians([10, 20, 30]), [0.005, 0.006, 0.008]], atol=1e-15)
    assert one.names == ("turn", "reach") or one.names == ["turn", "reach"]
    np.testing.assert_allclose(one.q(0.1)[:7], model.start[:7])
    path.write_text("stamp; joint 1; reach; note\n" + rows.replace(",", ";").replace("\n", ";7\n"))
    two = vt.read_motion(path, model, units={"joint*": "deg", "reach": "mm", "stamp": "ms"},
                         columns={"joint 1": "turn", "stamp": "time"}, ignore="note")  # fmt: skip
    np.testing.assert_allclose(two.rows, one.rows, atol=1e-15)
    assert two.skipped == ("note",)
    path.write_text("turn (deg) reach\n" + "\n".join(line.split(",", 1)[1].replace(",", " ") for line in rows.split()))
    three = vt.read_motion(path, model, units="mm", rate=10.0)
    np.testing.assert_allclose(three.rows, one.rows, atol=1e-15)
    np.testing.assert_allclose(three.t, [0, 0.1, 0.2])


def test_runs_are_read_as_they_are_written(tmp_path):
    """All joints, the rotation of a base too; q exactly."""
    model = hand()
    run = vt.simulate(model, None, 0.5 * np.ones(model.nv), duration=0.5, dt=0.01)
    motion = vt.read_motion(run.to_csv(tmp_path / "run.csv"), model)
    np.testing.assert_allclose(motion.q(run.t), run.q, rtol=0, atol=1e-12)
    np.testing.assert_allclose(motion.v(run.t[10:-10]), run.v[10:-10], rtol=0, atol=1e-3)
    assert "v.turn" in motion.skipped and "kinetic" in motion.skipped


def test_a_motion_drives_targets_and_prescribed_joints():
    arm = vt.load_urdf(vt.find_robot("arm6"))
    t = np.linspace(0, 1, 30)
    goal = 0.3 * np.sin(2 * t)[:, None] * np.ones(6)
    driven = arm.with_drives({"*": (40000, 4000)}, target_rates=True)
    motion = vt.ReferenceMotion(driven, t, goal)
    control = vt.Control(targets=motion.targets(), inputs=motion.target_rates())
    run = vt.simulate(driven, motion.q(0), motion.v(0), duration=0.9, dt=2e-3, control=control)
    assert np.abs(run.q - motion.q(run.t)).max() < 0.004
    tree = vt.Tree("trolley")
    tree.world.add(vt.tx("trolley", kinematic=True), vt.ry("swing"), vt.tz(-1.0), vt.body("load", 5.0))
    model = tree.compile()
    moved = vt.ReferenceMotion(model, t, np.c_[t**3, 0 * t], ["trolley"])
    run = vt.simulate(model, moved.q(0), duration=0.9, dt=0.01, control=vt.Control(prescribed=moved.prescribed()))
    np.testing.assert_allclose(run.q[:, 0], run.t**3, rtol=0, atol=1e-12)
    np.testing.assert_allclose(run.v[:, 0], 3 * run.t**2, rtol=0, atol=1e-12)
    np.testing.assert_allclose(moved.prescribed()["trolley"](0.5), (0.125, 0.75, 3.0), atol=1e-12)
    for call, text in ((moved.targets, "drive with a target"), (motion.prescribed, "prescribed motion"),
                       (moved.target_rates, "rate of its target")):
        with pytest.raises(vt.InputError, match=text):
            call()


def test_it_holds_at_the_ends_if_asked():
    model = vt.load_urdf(vt.find_robot("arm6"))
    t, q = np.array([0.0, 1.0, 2.0]), np.arange(3.0)[:, None] * np.ones(6)
    motion = vt.ReferenceMotion(model, t, q, beyond="hold", degree=1)
    np.testing.assert_allclose(motion.q([-1, 0.5, 9])[:, 0], [0, 0.5, 2])
    np.testing.assert_allclose(motion.v([-1, 0.5, 9])[:, 0], [0, 1, 0])
    assert not motion.a(0.5).any()
    with pytest.raises(vt.InputError, match=r"t = 2\.1 s is beyond the motion, which lasts from 0 s to 2 s"):
        vt.ReferenceMotion(model, t, q).q(2.1)
    assert "3 rows" in repr(motion)


GOOD = "t,turn,reach\n0,0.1,0.2\n1,0.2,0.3\n"


@pytest.mark.parametrize(("text", "more", "error", "message"), [
    (GOOD.replace("turn", "trun"), {}, vt.UnknownNameError, 'did you mean "turn".*columns=.*ignore='),
    (GOOD.replace("0.3", "O.3"), {}, vt.InputError, r'line 3: "O\.3" in the column "reach" is no finite number'),
    (GOOD.replace("1,0.2,0.3", "1,0.2"), {}, vt.InputError, "line 3: 2 entries for 3 columns"),
    (GOOD.replace("1,0.2", "0,0.2"), {}, vt.InputError, "line 3: t = 0 s is not behind 0 s; times must increase"),
    (GOOD.replace("t,", "when,"), {"ignore": "when"}, vt.InputError, "no column of times.*rate="),
    (GOOD.replace("0.2,0.3", "90,0.3"), {}, vt.InputError, 'look like degrees; give units="deg"'),
    (GOOD, {"units": "degrees"}, vt.UnknownNameError, 'no unit "degrees"; did you mean "deg"'),
    (GOOD, {"units": ("deg", "rad")}, vt.InputError, "two of rad, deg"),
    (GOOD.replace("turn", "turn [mm]"), {}, vt.InputError, 'has angles, and the unit "mm"; choose from rad, deg'),
    (GOOD.replace("reach", "turn"), {}, vt.InputError, "are both of"),
    (GOOD.replace("reach", "base.qx"), {}, vt.InputError, r"base\.qy, base\.qz, base\.qw are missing"),
    (GOOD, {"columns": {"trn": "turn"}}, vt.UnknownNameError, 'did you mean "turn"'),
    (GOOD, {"degree": 2}, vt.InputError, "choose from 1, 3, 5"),
    (GOOD, {"beyond": "loop"}, vt.InputError, '"error", "hold"'),
    (GOOD, {"ignore": "*e*", "columns": {"turn": "time"}}, vt.UnknownNameError, "no joint or coordinate"),
    ("t,turn\n0,1\n", {}, vt.InputError, "has 1 rows"),
    (GOOD, {"rate": -1, "ignore": "t"}, vt.InputError, "positive number of rows"),
])  # fmt: skip
def test_errors_name_the_line_and_the_choices(tmp_path, text, more, error, message):
    path = tmp_path / "motion.csv"
    path.write_text(text)
    with pytest.raises(error, match=message):
        vt.read_motion(path, hand(), **more)


def test_files_that_cannot_be_read(tmp_path):
    with pytest.raises(vt.InputError, match="cannot be read"):
        vt.read_motion(tmp_path / "none.csv", hand())
    (tmp_path / "x.csv").write_bytes(b"t,turn\n0,\xff\n1,2\n")
    with pytest.raises(vt.InputError, match="no text in UTF-8"):
        vt.read_motion(tmp_path / "x.csv", hand())
