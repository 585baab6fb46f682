"""Every option changes the motion, warns or is refused: signatures are listed, and a new option fails until it is in.

Where a motion is not what an option changes, the table names the test file that shows what it does.
"""

from __future__ import annotations

import inspect

import numpy as np
import pytest
from options import gives, parameters
from places import TESTS

import vitree as vt
from vitree.integrators import METHODS
from vitree.tree import elements

INERTIA = (0.1, 0.2, 0.15)


def outcome(tree, v=0.4, more=None, **given):
    """What a run comes to: its last state, and what is told; or the error."""
    try:
        model = tree() if callable(tree) else tree
        model = model.compile() if isinstance(model, vt.Tree) else model
        start = np.full(model.nv, v)
        start[[name in model.prescribed_joint_names for name in model.v_names]] = 0.0
        run = vt.simulate(model, v0=start, **{"duration": 0.3, "dt": 5e-3, **given}, **(more or {}))
    except vt.VitreeError as error:
        return "refused", str(error)
    return run.q[-1].tolist(), run.v[-1].tolist(), run.iterations_total, run.warnings, str(model.report)


def apart(one, other):
    """Whether two outcomes differ, and the first is a run."""
    assert one[0] != "refused", one
    return one != other


# ---- joints --------------------------------------------------------------------------------------------------

JOINTS = {"tx": vt.tx, "ty": vt.ty, "tz": vt.tz, "rx": vt.rx, "ry": vt.ry, "rz": vt.rz, "screw": vt.screw,
          "revolute": vt.revolute, "prismatic": vt.prismatic, "helical": vt.helical, "ball": vt.ball, "free": vt.free,
          "spherical": vt.spherical, "cylindrical": vt.cylindrical, "universal": vt.universal,
          "planar": vt.planar}  # fmt: skip
#: A value of each keyword of joints, and the keywords that it goes with.
KEYWORDS = {
    "damping": (0.5, {}), "friction": (0.5, {}), "friction_velocity": (0.5, {"friction": 0.5}),
    "dry_friction": (0.5, {}), "armature": (0.5, {}), "lower": (-0.05, {}), "upper": (0.05, {}),
    "limit_restitution": (0.5, {"upper": 0.05}), "velocity": (0.01, {}), "effort": (0.01, {}), "kinematic": (True, {}),
}  # fmt: skip


def jointed(make, **keywords):
    tree = vt.Tree("jointed", gravity=(0.1, 0.2, -0.3))
    more = {"axis": (0, 0, 1)} if make is vt.screw else {}
    tree.world.add(make("joint", **more, **keywords), vt.body("body", 1.0, INERTIA, com=(0.1, 0.2, 0.3)))
    tree.world.add(vt.ry("other", effort=5.0), vt.body("beside", 1.0, INERTIA))
    tree.limits = "enforce"
    return tree


def test_every_keyword_of_joints_is_here():
    assert {*KEYWORDS} == {*elements._LIMITS}
    named = [name for name in vars(vt) if getattr(getattr(vt, name), "__annotations__", {}).get("limits") == "Any"]
    assert {*named} <= {*JOINTS}


@pytest.mark.parametrize("keyword", KEYWORDS)
@pytest.mark.parametrize("joint", JOINTS)
def test_keywords_of_joints(joint, keyword):
    value, beside = KEYWORDS[keyword]
    for v in (0.4, -0.4):  # a lower limit is met on the way down
        more = {}
        if keyword == "effort":
            nv = jointed(JOINTS[joint]).compile().nv
            more = {"control": vt.Control(torque=np.full(nv, 1.0), effort_limits=True)}
        plain = outcome(lambda: jointed(JOINTS[joint], **beside), v, more)
        if beside and plain[0] == "refused":
            plain = outcome(lambda: jointed(JOINTS[joint]), v, more)
        if apart(plain, outcome(lambda: jointed(JOINTS[joint], **beside, **{keyword: value}), v, more)):
            return
    raise AssertionError(f"{keyword}={value} of {joint} does nothing")


# ---- loads, constraints, contacts, drives, pushes ------------------------------------------------------------

TURN = ((0.0, -1.0, 0.0), (1.0, 0.0, 0.0), (0.0, 0.0, 1.0))
POSITIONS, FORCES = (-2.0, 0.0, 1.0, 2.0), (1.0, 0.0, -2.0, -3.0)


def chained(add=()):
    """Two links that hang from the world, a cart and a ball."""
    tree = vt.Tree("chained", gravity=(0.5, 0.0, -9.81))
    upper = tree.world.add(vt.ry("one", effort=5.0), vt.tz(-0.4), vt.body("upper", 1.0, INERTIA))
    upper.add(vt.ry("two"), vt.tx(0.3), vt.body("lower", 0.5, INERTIA))
    tree.world.add(vt.tx("slide"), vt.body("cart", 2.0))
    for each in add if isinstance(add, list | tuple) else [add]:
        (tree.constrain if type(each).__module__.endswith("constraints") else tree.load)(each)
    return tree


def thrown(*add):
    """A ball, a box and others on the ground."""
    tree = vt.Tree("thrown")
    tree.world.add(vt.tz(0.05), vt.free("base"), vt.body("thing", 1.0, INERTIA))
    tree.contact(*add)
    return tree


#: Class: arguments that a run has, and another value of each, by which it differs; None: what texts call it.
MADE = {
    vt.Attraction: (dict(a="upper", b="cart", mass_a=1.0, mass_b=2.0, constant=1.0),
                    dict(a="lower", b="upper", mass_a=2.0, mass_b=5.0, constant=3.0)),
    vt.Spring: (dict(a="upper", b="cart", stiffness=20.0, length=0.1),
                dict(a="lower", b="upper", stiffness=30.0, length=0.3)),
    vt.Damper: (dict(a="upper", b="cart", coefficient=2.0), dict(a="lower", b="upper", coefficient=3.0)),
    vt.Gravity: (dict(links=("upper",), acceleration=(1.0, 0.0, 2.0)),
                 dict(links=("lower",), acceleration=(2.0, 0.0, 0.0))),
    vt.JointForce: (dict(joint="one", force=1.0), dict(joint="two", force=2.0)),
    vt.JointSpring: (dict(joint="one", stiffness=5.0, rest=0.1), dict(joint="two", stiffness=7.0, rest=0.3)),
    vt.NonlinearSpring: (dict(joint="one", positions=POSITIONS, force=FORCES),
                         dict(joint="two", positions=(-3.0, 0.0, 1.0, 2.0), force=(2.0, 0.0, -2.0, -3.0))),
    vt.Wrench: (dict(frame="upper", torque=(0.0, 1.0, 0.0), force=(1.0, 0.0, 1.0), axes="local"),
                dict(frame="lower", torque=(0.0, 2.0, 0.0), force=(2.0, 0.0, 1.0), axes="world")),
    vt.Drive: (dict(joint="one", kp=40.0, kd=1.0, effort_limit=8.0, velocity_limit=20.0, target=0.5, target_rate=0.1,
                    gear=2.0),
               dict(joint="two", kp=50.0, kd=2.0, effort_limit=0.5, velocity_limit=1.0, target=-0.5, target_rate=1.0,
                    gear=3.0)),
}  # fmt: skip
CONSTRAINED = {
    vt.Coupling: (dict(factors={"one": 1.0, "two": 1.0}, value=0.0, label=None, efficiency=1.0),
                  dict(factors={"one": 1.0, "two": -1.0}, value=0.2, label="a gear", efficiency=0.5)),
    vt.Cam: (dict(follower="slide", driver="one", positions=(-4.0, 0.0, 4.0), profile=(-1.0, 0.0, 1.0), periodic=False,
                  label=None),
             dict(follower="two", driver="two", positions=(-5.0, 0.0, 4.0), profile=(-1.0, 0.0, 2.0), periodic=True,
                  label="a cam")),
    vt.Distance: (dict(a="lower", b="cart", length=0.5, label=None),
                  dict(a="upper", b="world", length=0.6, label="a rod")),
    vt.PointConstraint: (dict(a="lower", b="world", axis=(0.0, 0.0, 1.0), axes="world", offset=-0.4, label=None),
                         dict(a="upper", b="cart", axis=(1.0, 0.0, 0.0), axes="upper", offset=-0.3, label="a slot")),
    vt.AxisConstraint: (dict(a="lower", b="world", axis_a=(0.0, 0.0, 1.0), axis_b=(0.6, 0.0, 0.8), cosine=0.5,
                             facing=None, label=None),
                        dict(a="upper", b="upper", axis_a=(1.0, 0.0, 0.0), axis_b=(1.0, 0.0, 0.0), cosine=0.7,
                             facing=(1.0, 0.0, 0.0), label="an axis")),
}  # fmt: skip
SHAPED = {
    vt.Sphere: (dict(radius=0.1), dict(radius=0.2)), vt.Capsule: (dict(radius=0.1, length=0.2), dict(radius=0.2,
                                                                                                    length=0.1)),
    vt.Box: (dict(size=(0.2, 0.3, 0.1)), dict(size=(0.3, 0.3, 0.15))),
    vt.Cylinder: (dict(radius=0.1, length=0.2, rim_points=8), dict(radius=0.2, length=0.3, rim_points=5)),
    vt.Cone: (dict(radius=0.1, length=0.2), dict(radius=0.2, length=0.3)),
    vt.Ellipsoid: (dict(semi_axes=(0.1, 0.2, 0.15)), dict(semi_axes=(0.1, 0.2, 0.25))),
    vt.Disk: (dict(radius=0.2, axis=(0.0, 1.0, 0.0)), dict(radius=0.3, axis=(1.0, 0.0, 0.0))),
    vt.Hull: (dict(vertices=((0.1, 0, 0), (0, 0.1, 0), (0, 0, 0.1), (-0.1, -0.1, -0.1)), most=64, thinned=0.0),
              dict(vertices=((0.2, 0, 0), (0, 0.2, 0), (0, 0, 0.1), (-0.1, -0.1, -0.1)))),
}  # fmt: skip
TOUCHING = {
    vt.Contact: (dict(frame="thing", points=((0.0, 0.0, 0.0),), radius=0.1, shapes=(), friction=0.3, restitution=0.2,
                      stiffness=2e3, damping=5.0, softness=0.01),
                 dict(frame="world", points=((0.1, 0.0, 0.0),), radius=0.2, shapes=(vt.Sphere(0.3),), friction=0.9,
                      restitution=0.7, stiffness=9e3, damping=50.0, softness=0.04)),
    vt.Ground: (dict(height=0.0, normal=(0.0, 0.0, 1.0), friction=0.3, restitution=0.2, stiffness=2e3, damping=5.0,
                     planes=(), terrain=None, softness=0.01),
                dict(height=-0.05, normal=(0.3, 0.0, 1.0), friction=0.9, restitution=0.7, stiffness=9e3, damping=50.0,
                     planes=(((-1.0, 0.0, 0.0), -0.05),), terrain=vt.HeightField(np.full((3, 3), -0.1), 5.0),
                     softness=0.04)),
}  # fmt: skip
PUSHED = {
    vt.Impulse: (dict(frame="upper", impulse=(1.0, 0.0, 0.0), at=0.1, angular=(0.0, 0.5, 0.0), axes="local"),
                 dict(frame="lower", impulse=(2.0, 0.0, 0.0), at=0.2, angular=(0.0, 0.9, 0.0), axes="world")),
    vt.ExternalWrench: (
        dict(frame="upper", force=(1.0, 0.0, 0.0), start=0.1, end=0.2, torque=(0.0, 0.5, 0.0), axes="local"),
        dict(frame="lower", force=(2.0, 0.0, 0.0), start=0.05, end=0.25, torque=(0.0, 0.9, 0.0), axes="world"),
    ),
}  # fmt: skip
#: Options whose effect another file of tests shows.
SHOWN = {
    (vt.RollingConstraint, None): "model/test_rolling.py", (vt.NoContact, None): "model/test_unmet.py",
    (vt.HeightField, None): "geometry/test_terrain.py", (vt.Controller, None): "run/test_simulation.py",
    (vt.Rope, None): "run/test_ropes.py", (vt.Pulley, None): "run/test_pulleys.py",
    (vt.BallLimit, None): "run/test_ball_limits.py",
    (vt.BallSpring, None): "run/test_ball_springs.py",
    (vt.Hull, "most"): "geometry/test_hull.py", (vt.Hull, "thinned"): "geometry/test_hull.py",
}  # fmt: skip


def cases(*tables):
    return [pytest.param(make, name, id=f"{make.__name__}-{name}") for table in tables for make in table
            for name in inspect.signature(make).parameters if (make, name) not in SHOWN]  # fmt: skip


def with_one(table, make, name):
    given, other = table[make]
    assert name in other, f"{name} of {make.__name__} is new: say by what a run differs that has it"
    return make(**given), lambda: make(**{**given, name: other[name]})


@pytest.mark.parametrize(("make", "name"), cases(MADE))
def test_options_of_loads(make, name):
    load, other = with_one(MADE, make, name)
    assert apart(outcome(chained(load)), outcome(lambda: chained(other())))


def closed(each):
    """Outcome of a run with a constraint that starts where it holds."""
    def run():
        model = chained(each() if callable(each) else each).compile()
        q = vt.satisfy_constraints(model, model.neutral() + 0.1)
        found = vt.simulate(model, q, duration=0.2, dt=5e-3)
        return found.q[-1].tolist(), model.constraints[0].name

    try:
        return run()
    except vt.VitreeError as error:
        return "refused", str(error)


@pytest.mark.parametrize(("make", "name"), cases(CONSTRAINED))
def test_options_of_constraints(make, name):
    constraint, other = with_one(CONSTRAINED, make, name)
    if (make, name) == (vt.AxisConstraint, "facing"):
        assert gives("model/test_loops.py", name)  # which of two assemblies is closed
        return
    assert apart(closed(constraint), closed(other))


@pytest.mark.parametrize(("make", "name"), cases(SHAPED))
def test_options_of_shapes(make, name):
    given, other = SHAPED[make]
    other = {"position": (0.05, 0.0, 0.02), "rotation": TURN, **other}
    if make is vt.Sphere and name == "rotation":
        return  # a sphere is the same however it is turned
    if make in (vt.Box, vt.Capsule, vt.Cylinder, vt.Disk) and name == "rotation":
        other["rotation"] = ((0.8, 0.0, 0.6), (0.0, 1.0, 0.0), (-0.6, 0.0, 0.8))
        if make is vt.Disk:
            other["rotation"] = ((1.0, 0.0, 0.0), (0.0, 0.8, -0.6), (0.0, 0.6, 0.8))
    if make is vt.Cone and name == "rotation":
        other["rotation"] = ((0.8, 0.0, 0.6), (0.0, 1.0, 0.0), (-0.6, 0.0, 0.8))
    # cylinders meet planes as they are: points on their rims are for hills
    ground = vt.Ground(terrain=vt.HeightField(np.full((3, 3), -0.35), 5.0, (-5.0, -5.0, 0.0))) if (
        name == "rim_points") else vt.Ground(-0.35)  # fmt: skip
    shapes = make(**given), make(**{**given, name: other[name]})
    found = [outcome(thrown(ground, vt.Contact("thing", shapes=[shape])), duration=0.5) for shape in shapes]
    assert apart(*found)


@pytest.mark.parametrize(("make", "name"), cases(TOUCHING))
def test_options_of_contacts(make, name):
    one, other = with_one(TOUCHING, make, name)
    beside = vt.Contact("thing", [(0.0, 0.0, 0.0)], 0.04) if make is vt.Ground else vt.Ground(-0.1)

    def plain(each):
        return thrown(each() if callable(each) else each, beside)

    if name == "restitution":  # of a rigid contact
        compliance = "stiffness", "damping", "softness"
        given = {key: value for key, value in TOUCHING[make][0].items() if key not in compliance}
        one, other = (make(**{**given, name: value}) for value in (0.2, 0.7))
    assert apart(outcome(plain(one), duration=0.4), outcome(lambda: plain(other), duration=0.4))


@pytest.mark.parametrize(("make", "name"), cases(PUSHED))
def test_options_of_pushes(make, name):
    push, other = with_one(PUSHED, make, name)
    model = chained().compile()
    assert apart(outcome(model, more={"wrenches": [push]}), outcome(model, more={"wrenches": [other()]}))


# ---- methods -------------------------------------------------------------------------------------------------

#: A value of each option of methods, and what it goes with; "" where settings alone tell it.
OPTIONS = {
    "solver": ("newton", {"solver": "riqn"}), "guess": ("current", {}), "order": (4, {}), "max_halvings": (0, {}),
    "max_impacts": (4, {}), "tolerance": (1e-3, {}), "norm": ("energy", {"tolerance": 1e-5}), "max_iterations": (1, {}),
    "adapt": ("density", {}), "rate": (2.0, {"adapt": "density", "rate": 1.0}),
    "density": (3.0, {"adapt": "density", "rate": 1.0}), "kinetic": ("com", {}),
    "springs": ("averaged", {}), "alpha": (0.7, {}), "residual": ("tree", {}), "caching": (False, {}),
    "inertia": (2.0, {"adapt": "sundman", "rate": 1.0, "inertia": 1.0}),
    "energy": (500.0, {"adapt": "sundman", "rate": 1.0, "inertia": 1.0}), "rtol": (1e-3, {}),
    "atol": (1e-2, {"rtol": 1e-4}), "max_step": (1e-4, {}),
}  # fmt: skip
#: Options that change neither the motion nor the count of passes of ordinary steps, and where they are tested.
OF_STEPS = {"max_halvings": "run/test_oddities.py", "caching": "integrators/test_rotors.py",
            "norm": "integrators/test_kinetic.py", "max_impacts": "model/test_events.py"}  # fmt: skip


def test_every_option_of_methods_is_here():
    assert {name for method in METHODS.values() for name in method.options} == {*OPTIONS}


@pytest.mark.parametrize(("method", "name"), [(method, name) for method in METHODS for name in METHODS[method].options])
def test_options_of_methods(method, name):
    value, beside = OPTIONS[name]
    if name in OF_STEPS:
        assert gives(OF_STEPS[name], name)
        return
    beside = {key: x for key, x in beside.items() if key in METHODS[method].options}
    if name == "order" and method == "gauss":
        value = 6
    tree = chained(vt.Spring("lower", "world", 20.0, 0.1))
    base = {"method": method, "dt": 0.02, **beside}
    if name in ("kinetic",):
        tree = jointed(vt.free)
        if outcome(tree, 1.0, **base) == outcome(tree, 1.0, **{**base, name: value}):
            value = "screw"  # split is the default of what moves freely
    assert apart(outcome(tree, 1.0, **base), outcome(tree, 1.0, **{**base, name: value}))


# ---- readers and runs ----------------------------------------------------------------------------------------

#: Where tests show what options of readers and of runs do.
READ = {
    "base": "urdf/test_urdf.py", "gravity": "model/test_gravity.py", "name": "urdf/test_urdf_writer.py",
    "mimic": "model/test_joint_limits.py", "loops": "urdf/test_urdf_constraints.py", "root": "urdf/test_urdf_faults.py",
    "inertia": "urdf/test_urdf_inertia.py", "density": "urdf/test_urdf_inertia.py",
    "friction": "urdf/test_urdf.py", "armature": "urdf/test_armature_of_files.py",
    "ground": "urdf/test_collision.py", "limits": "model/test_joint_limits.py",
    "limit_restitution": "model/test_elastic_limits.py", "meshes": "urdf/test_collision.py",
    "packages": "urdf/test_xacro.py", "xacro": "urdf/test_xacro.py", "trust": "urdf/test_xacro.py",
    "max_bytes": "urdf/test_urdf_faults.py", "velocity_limits": "model/test_joint_limits.py",
}  # fmt: skip
RUNS = {
    "p0": "run/test_doors.py", "t0": "run/test_doors.py", "control": "run/test_doors.py",
    "wrenches": "run/test_doors.py", "record_every": "run/test_oddities.py",
    "dense": "results/test_dense.py", "progress": "run/test_callers.py", "monitors": "run/test_monitors.py",
    "resume": "run/test_resume.py", "duration": "run/test_doors.py", "dt": "run/test_doors.py",
    "method": "run/test_monitors.py", "q0": "run/test_doors.py", "v0": "integrators/test_integrators.py",
}  # fmt: skip


@pytest.mark.parametrize(("function", "table"), [(vt.load_urdf, READ), (vt.simulate, RUNS), (vt.Simulation, RUNS)])
def test_options_of_readers_and_runs_have_their_tests(function, table):
    for name in parameters(function):
        assert name in table, f"{name} of {function.__name__} is new: say which tests show what it does"
        assert gives(table[name], name), f"{table[name]} has no {name}"


def test_every_part_is_here():
    """All that Tree.load, constrain, contact and pushes take has its table."""
    here = {*MADE, *CONSTRAINED, *SHAPED, *TOUCHING, *PUSHED, *(make for make, _ in SHOWN)}
    modules = ("loads", "constraints", "contacts", "unilateral", "drives", "pushes", "shapes")
    parts = {each for name, each in vars(vt).items() if inspect.isclass(each)
             and each.__module__.rpartition(".")[2] in modules}  # fmt: skip
    assert parts <= here, parts - here
    for (make, name), file in SHOWN.items():
        assert gives(file, name) if name else f"vt.{make.__name__}(" in (TESTS / file).read_text(), file
