"""Options that several functions take do in each of them what they do in `simulate`, and every option has its test."""

from __future__ import annotations

import numpy as np
import pytest
from identified_runs import GUESS, swings
from options import gives, parameters

import vitree as vt

INERTIA = (0.1, 0.2, 0.15)


def arm():
    """Three links: a drive, an effort limit with an input, and a joint whose motion is prescribed."""
    tree = vt.Tree("arm")
    upper = tree.world.add(vt.ry("a"), vt.body("upper", 1.0, INERTIA, com=(0.1, 0, -0.2)))
    lower = upper.add(vt.tz(-0.5), vt.rx("b", effort=0.5), vt.body("lower", 0.5, INERTIA, com=(0, 0.1, -0.2)))
    lower.add(vt.tz(-0.4), vt.rz("c", kinematic=True), vt.body("tip", 0.3, INERTIA, com=(0.1, 0, 0)))
    tree.load(vt.JointForce("b", "push"))
    return tree.compile().with_drives({"a": (5.0, 0.1)})


def swing(t):
    return 0.1 * np.sin(4 * np.pi * t)


Q0 = [0.3, -0.2, 0.0]
SWING, TORQUE = {"c": swing}, [0.3, 2.0, 0.0]
BASE = {"duration": 0.2, "dt": 5e-3, "control": vt.Control(prescribed=SWING)}
WRENCHES = {
    "steady": vt.ExternalWrench("tip", (1.0, 2.0, 3.0), torque=(0.1, 0.2, 0.3)),
    "local": vt.ExternalWrench("tip", (1.0, 2.0, 3.0), torque=(0.1, 0.2, 0.3), axes="local"),
    "window": vt.ExternalWrench("tip", (1.0, 2.0, 3.0), start=0.05, end=0.1),
    "impulse": vt.Impulse("tip", (1.0, 0.0, 0.0), at=0.05),
}
#: A value of each option that changes motions, and what it goes with.
VALUES = {
    "v0": ([0.5, 0.3, 0.0], {}), "p0": ([0.5, 0.3, 0.1], {}), "t0": (0.25, {}),
    **{f"control.{name}": (vt.Control(**{"prescribed": SWING, **drives}),
                            {"control": vt.Control(**{"prescribed": SWING, **others})})
       for name, drives, others in (
           ("torque", {"torque": TORQUE}, {}),
           ("effort_limits", {"torque": TORQUE, "effort_limits": True}, {"torque": TORQUE}),
           ("inputs", {"inputs": {"push": 0.7}}, {}), ("targets", {"targets": [0.5]}, {}),
           ("prescribed", {"prescribed": {"c": lambda t: 2 * swing(t)}}, {}),
       )},
    **{f"wrenches.{name}": ([wrench], {}) for name, wrench in WRENCHES.items()}, "method": ("midpoint", {}),
    "dt": (1e-2, {}), "duration": (0.1, {}), "q0": ([0.1, 0.2, 0.0], {}),
}  # fmt: skip


def by_simulate(model, **given):
    return vt.simulate(model, **{"q0": Q0, **BASE, **given}).q[-1]


def by_rollout(model, **given):
    rows = {name: np.array([given.pop(name)]) for name in ("q0", "v0", "p0") if name in given}
    given = {"q0": np.array([Q0]), **BASE, **given, **rows}
    return vt.rollout(model, **given).data["q"][0, -1]


def by_simulation(model, **given):
    given = {"q0": Q0, **BASE, **given}
    sim = vt.Simulation(model, **{name: x for name, x in given.items() if name != "duration"})
    sim.step(round(given["duration"] / given["dt"]))
    return sim.q.copy()


def by_compare(model, **given):
    method = given.pop("method", "linear-time")
    found = vt.compare(model, [method], **{"q0": Q0, **BASE, **given})
    return next(iter(found.trajectories.values())).q[-1]


DOORS = {vt.rollout: by_rollout, vt.Simulation: by_simulation, vt.compare: by_compare}
#: Options of these alone, and where tests show what they do.
ALONE = {
    "parameters": "run/test_rollout_parameters.py", "instances": "run/test_rollout.py", "record": "run/test_rollout.py",
    "threads": "run/test_rollout.py", "progress": "run/test_rollout.py", "record_every": "run/test_rollout.py",
    "monitors": "run/test_monitors.py", "dense": "results/test_dense.py", "q1": "model/test_constraints.py",
    "accuracy": "run/test_autostep.py", "reference": "run/test_compare.py", "engines": "run/test_engines.py",
    "reference_tolerance": "run/test_compare.py", "repeats": "run/test_compare.py", "methods": "run/test_compare.py",
    "resume": "run/test_resume.py",
}  # fmt: skip


CASES = [(door, name) for door in DOORS for name in VALUES
         if name.partition(".")[0] in parameters(door) or name == "method"]  # fmt: skip


@pytest.mark.parametrize(("door", "name"), CASES, ids=lambda x: x if isinstance(x, str) else x.__name__)
def test_an_option_does_what_it_does_in_simulate(door, name):
    model, (value, beside) = arm(), VALUES[name]
    changed = {**beside, name.partition(".")[0]: value}
    with_it, without = by_simulate(model, **changed), by_simulate(model, **beside)
    assert np.abs(with_it - without).max() > 1e-6 or name == "dt"
    np.testing.assert_allclose(DOORS[door](model, **changed), with_it, rtol=0, atol=1e-9)


@pytest.mark.parametrize("door", DOORS, ids=lambda x: x.__name__)
def test_every_option_is_here(door):
    for name in parameters(door):
        if name not in VALUES and name not in ("control", "wrenches"):
            assert name in ALONE, f"{name} of {door.__name__} is new: say which tests show what it does"
            assert gives(ALONE[name], name) or name == "methods"


# ---- sensors --------------------------------------------------------------------------------------------------

#: A value of each option of sensors, and what it goes with.
READ = {"rate": (70.0, {}), "delay": (0.02, {}), "bias": (0.1, {}), "noise": (0.1, {}), "seed": (5, {"noise": 0.1}),
        "resolution": (0.01, {})}  # fmt: skip
SENSORS = {vt.Imu: {"frame": "tip"}, vt.ForceTorque: {"joint": "b"}, vt.ContactSensor: {"frame": "foot"},
           vt.Encoder: {"joints": ["b"]}}  # fmt: skip


def legged():
    tree = vt.Tree("leg")
    trunk = tree.world.add(vt.tz("slide"), vt.body("trunk", 5.0, INERTIA))
    foot = trunk.add(vt.ry("b", damping=1.0), vt.tz(-0.4), vt.body("foot", 1.0, INERTIA))
    foot.add(vt.tz(-0.05), vt.frame("tip"))
    tree.contact(vt.Contact("foot", points=[(0.0, 0.0, -0.05)]), vt.Ground(friction=0.5))
    model = tree.compile()
    return vt.simulate(model, vt.place_on_ground(model, [1.0, 0.4]), duration=0.1, dt=1e-3)


@pytest.mark.parametrize(("kind", "name"), [(kind, name) for kind in SENSORS for name in parameters(kind)],
                         ids=lambda x: x if isinstance(x, str) else x.__name__)  # fmt: skip
def test_every_option_of_sensors_changes_readings(kind, name):
    run = legged()
    own = SENSORS[kind]
    values = {**READ, "frame": ("trunk", {}), "joint": ("slide", {}), "joints": (["slide"], {})}

    def read(**given):
        try:
            found = kind(**given).read(run)
        except vt.VitreeError as error:
            return str(error)
        return repr({k: np.asarray(x).tolist() for k, x in vars(found).items() if isinstance(x, np.ndarray)})

    value, beside = values[name]
    for given in (own, {**own, **beside}):  # alone it is refused, if it goes with others
        assert read(**{**given, name: value}) != read(**given), name


# ---- identify() -----------------------------------------------------------------------------------------------

#: Another value of each option of `identify`; None: a file of tests shows what it does.
OF_IDENTIFY = {
    "parameters": {"damping": ["hinge1"]}, "runs": swings(4, duration=0.5, runs=1), "window": 0.25, "dt": 0.005,
    "method": "rk4", "noise": (1e-3, 1e-2), "bounds": {"mass": {"rod1": (0.9, 1.05)}}, "fit_starts": False,
    "confidence": 0.5, "tolerance": 0.05, "evaluations": 1, "threads": None, "progress": None,
}  # fmt: skip


def identified(**given):
    """Values, their intervals and warnings, or the error."""
    given = {"parameters": {"mass": ["rod1"]}, "runs": swings(3, duration=0.5, runs=1), **given}
    try:
        found = vt.identify(GUESS, **given)
    except vt.VitreeError as error:
        return str(error)
    return found.values, found.intervals, found.warnings


@pytest.mark.parametrize("name", parameters(vt.identify))
def test_every_option_of_identify_changes_what_is_found(name):
    value = OF_IDENTIFY[name]
    if value is None:
        assert gives("identification/test_identify.py", name)
        return
    assert not isinstance(plain := identified(), str) and identified(**{name: value}) != plain


@pytest.mark.parametrize("name", [name for name in parameters(vt.rollout) if name not in parameters(vt.identify)])
def test_what_is_of_rollouts_alone_is_refused_by_identify(name):
    with pytest.raises(vt.InputError, match=f"{name}=.* is not for identify") as failure:
        vt.identify(GUESS, {"mass": ["rod1"]}, swings(3, duration=0.5, runs=1), **{name: 1})
    assert failure.value.argument == name


def test_options_of_its_method_are_for_identify():
    assert identified(order=4) != identified() and "no option of the method" in identified(orders=4)


# ---- MJCF -----------------------------------------------------------------------------------------------------

#: A value of each option of `from_mujoco`.
OF_MJCF = {
    "gravity": (0, 0, -1.0), "name": "other", "friction": "dry", "contacts": False, "ground": vt.Ground(friction=0.3),
    "limits": "report", "limit_restitution": 0.5, "meshes": vt.Meshes(points=8),
}  # fmt: skip


def stone():
    """A hull of many points on a hinge with limits and dry friction, over a plane."""
    points = np.random.default_rng(0).normal(size=(100, 3))
    points *= 0.1 / np.linalg.norm(points, axis=1)[:, None]
    return f"""<mujoco model="stone"><asset><mesh name="hull" vertex="{' '.join(map(str, points.ravel()))}"/></asset>
        <worldbody><geom type="plane" size="1 1 1" pos="0 0 -0.5"/><body name="stone">
        <joint name="hinge" type="hinge" axis="0 1 0" pos="0 0 0.3" range="-20 20" limited="true" frictionloss="0.1"/>
        <geom type="mesh" mesh="hull" mass="1"/></body></worldbody></mujoco>"""


@pytest.mark.parametrize("name", parameters(vt.from_mujoco))
def test_every_option_of_from_mujoco_changes_the_model(name):
    pytest.importorskip("mujoco")
    if name == "packages":
        assert gives("mjcf/test_files.py", name)
        return
    one, other = vt.from_mujoco(stone()).model, vt.from_mujoco(stone(), **{name: OF_MJCF[name]}).model
    assert one.digest != other.digest if name != "name" else other.name == "other"
