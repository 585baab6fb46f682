"""What a message tells people to do is done, and then the run goes on: a cause, the words, and the remedy."""

from __future__ import annotations

import re

import numpy as np
import pytest
from mjcf_texts import mjcf

import vitree as vt
from vitree.model.configurations import within_limits

INERTIA = (0.1, 0.1, 0.1)


def burdened(armature=0.0):
    """A chain of light links that carries a heavy body."""
    tree = vt.Tree("chain")
    at = tree.world
    for k in range(8):
        at = at.add(vt.ry(f"j{k}", armature=armature), vt.tz(-0.1), vt.body(f"l{k}", 1e-3, (1e-6,) * 3))
    at.add(vt.body("load", 100.0, INERTIA))
    model = tree.compile()
    return model, {"q0": np.full(model.nq, 0.02), "duration": 0.2, "dt": 1e-3}


def rubbing(friction_velocity=1e-6):
    tree = vt.Tree("rubbing")
    at = tree.world
    for k in range(3):
        joint = vt.ry(f"a{k}", friction=50.0, friction_velocity=friction_velocity)
        at = at.add(joint, vt.tz(-0.1), vt.body(f"b{k}", 1.0, (0.01,) * 3))
    return tree.compile(), {"q0": [1.0] * 3, "v0": [1.0] * 3, "duration": 0.05, "dt": 1e-3}


def stiff():
    tree = vt.Tree("stiff")
    tree.world.add(vt.tx("x"), vt.body("mass", 1.0))
    tree.load(vt.JointSpring("x", 440.0**2, 0.0))
    return tree.compile(), {"q0": [0.05], "duration": 0.1, "dt": 5e-3}


def spun():
    model = vt.load_urdf(vt.find_robot("double_pendulum"))
    return model, {"q0": model.neutral() + 1.0, "v0": [12.0, -24.0], "duration": 3.0, "dt": 0.05}


def ball(height, shapes=None, ground=True, **more):
    tree = vt.Tree("ball")
    tree.world.add(vt.free("joint"), vt.body("ball", 1.0, INERTIA))
    tree.contact(vt.Contact("ball", shapes=shapes or [vt.Sphere(0.1)], **more))
    if ground:
        tree.contact(vt.Ground())
    model = tree.compile()
    q = model.neutral()
    q[2] = height
    return model, {"q0": q, "duration": 0.05, "dt": 1e-3}


def hinge(limits="report", **keywords):
    tree = vt.Tree("hinge")
    tree.world.add(vt.ry("joint", **keywords), vt.tz(-0.5), vt.body("arm", 1.0, INERTIA))
    tree.limits = limits
    return tree.compile(), {"duration": 0.1, "dt": 1e-3}


def placed():
    model, given = ball(0.05)
    return model, {**given, "q0": vt.place_on_ground(model, given["q0"])}


def given(made, **more):
    return lambda: (made()[0], {**made()[1], **more})


def two(**lower):
    tree = vt.Tree("two")
    tree.world.add(vt.tz(0.3), vt.free("joint"), vt.body("upper", 1.0, INERTIA))
    tree.contact(vt.Contact("upper"), vt.Contact("world", **lower))
    return tree.compile(), {"duration": 0.3, "dt": 1e-3}


ARM = '<inertial pos="0 0 -0.2" mass="0.1" diaginertia="1e-4 1e-4 1e-4"/>'
FLOOR, TIP = '<geom type="plane" size="1 1 1"/>', '<geom type="sphere" size="0.05" pos="0 0 -0.2"/>'


def read(text, q0=None, load=None, out=None, **more):
    """The model of an MJCF text with options ``load``, where it is drawn; ``out`` is a pair that does not touch."""
    robot = vt.from_mujoco(text, **load or {})
    if out is not None:
        robot.tree.contact(vt.NoContact(*out))
    model = robot.model
    q = robot.start if q0 is None else np.array(q0, dtype=float)
    return model, {"q0": q, "v0": np.zeros(model.nv), "duration": 0.05, "dt": 1e-3, **more}


def swung(joint, around="", **given):
    """A hinge with a light arm, in MJCF."""
    body = f'<body name="arm" pos="0 0 0.1"><joint name="hinge" axis="0 1 0" {joint}/>{ARM}{TIP}</body>'
    return read(mjcf(around + body), **given)


def servos(kv=50.0, **given):
    """Two hinges within limits that a stiff drive each holds, in MJCF."""
    joint = '<joint name="{}" axis="0 1 0" range="0 60" limited="true"/>'
    drive = '<position joint="{}" kp="2e4" kv="{}"/>'
    body = f"<body>{joint.format('a')}{ARM}<body>{joint.format('b')}{ARM}</body></body>"
    text = mjcf(body, f"<actuator>{drive.format('a', kv)}{drive.format('b', kv)}</actuator>")
    return read(text, **{"q0": [0.3, 0.3], "v0": [-1.0, 0.0], **given})


def tied(more=0.0, **given):
    """Two hinges of which the first turns by as much as the second, or more by an angle, in MJCF."""
    body = "".join(f'<body pos="{x} 0 0"><joint name="{name}" axis="0 1 0" range="-60 60" limited="true"/>{ARM}</body>'
                   for x, name in enumerate("ab"))  # fmt: skip
    equal = f'<joint joint1="a" joint2="b" polycoef="{more} 1 0 0 0"/>'
    return read(mjcf(body, f"<equality>{equal}</equality>"), **given)


def held(model, given):
    """The arguments of a run from within limits, where constraints hold and the first joint has stayed."""
    q0 = vt.satisfy_constraints(model, within_limits(model, given["q0"]), hold=["a"])
    return model, {**given, "q0": q0}


def settled(model, given, *, q=True, v=True):
    """The arguments of a run with a start that constraints allow."""
    q0 = vt.satisfy_constraints(model, given["q0"]) if q else given["q0"]
    return model, {**given, "q0": q0, "v0": model.project_velocity(q0, given["v0"]) if v else given["v0"]}


def feasible(model, given):
    """The arguments of a run from a feasible start."""
    found = vt.feasible_start(model, given["q0"])
    return found.model, {**given, "q0": found.q}


def bent(clip=False):
    """A hinge whose zero is beyond its limit, in MJCF, from zero or within limits."""
    model, given = swung('range="10 60" limited="true"', q0=[0.0])
    return model, {**given, "q0": within_limits(model, given["q0"]) if clip else given["q0"]}


def fingers(*q0):
    """Two hinges beyond their limits at zero, one by less than is brought together, in MJCF."""
    joint = '<joint name="{0}" axis="0 1 0" range="{1} 60" limited="true"/>'
    return read(mjcf("".join(f'<body pos="0 {y} 0">{joint.format(name, low)}{ARM}</body>'
                             for name, y, low in (("a", 0, 1e-3), ("b", 1, 10)))), q0=q0)  # fmt: skip


def lone(joint):
    """A ball on a floor, in MJCF."""
    return read(mjcf(f'{FLOOR}<body pos="0 0 1">{joint}{ARM}{TIP}</body>'))


def pressed(**given):
    """Two arms whose tips overlap, high above the ground, in MJCF."""
    floor = '<geom type="plane" size="1 1 1" pos="0 0 -1"/>'
    arm = '<body name="{}" pos="{} 0 0"><joint axis="0 1 0"/>' + ARM + TIP + "</body>"
    return read(mjcf(floor + arm.format("left", 0) + arm.format("right", 0.08)), **given)


#: Cause, words of the message, and remedies that it names.
TOLD = {
    "light chain": (burdened, "armature=", [lambda: burdened(0.01)]),
    "friction of gauss": (given(rubbing, method="gauss"), 'method="linear-time", which solves for friction',
                          [given(rubbing, method="linear-time"), given(lambda: rubbing(10.0), method="gauss")]),
    "stiff spring": (stiff, 'springs="averaged"', [given(stiff, springs="averaged"), given(stiff, dt=5e-4)]),
    "halved steps": (spun, "Use a smaller dt", [given(spun, dt=5e-3)]),
    "steps that fail": (given(spun, max_halvings=0), "halve dt", [given(spun, max_halvings=0, dt=5e-3)]),
    "start in the ground": (lambda: ball(0.05), "vt.place_on_ground(model, q)", [placed]),
    "contact of nothing": (lambda: ball(1.0, ground=False), "add vt.Ground()", [lambda: ball(1.0)]),
    "start beyond a limit": (given(lambda: hinge("enforce", upper=0.2), q0=[0.5]), "start within them",
                             [given(lambda: hinge("enforce", upper=0.2), q0=[0.1])]),
    "limit passed": (given(lambda: hinge(upper=0.2), v0=[5.0]), 'limits="enforce"',
                     [given(lambda: hinge("enforce", upper=0.2), v0=[5.0]),
                      given(lambda: hinge("ignore", upper=0.2), v0=[5.0])]),
    "velocity limit passed": (given(lambda: hinge(velocity=1.0), v0=[5.0]), 'limits="ignore"',
                              [given(lambda: hinge("ignore", velocity=1.0), v0=[5.0])]),
    "friction_velocity alone": (lambda: hinge(friction_velocity=0.1), "give friction=, too",
                                [lambda: hinge(friction_velocity=0.1, friction=1.0), hinge]),
    "restitution without limits": (lambda: hinge(limit_restitution=0.1), "give lower= or upper=, too",
                                   [lambda: hinge(limit_restitution=0.1, lower=-1.0)]),
    "effort_limits without torque": (given(lambda: hinge(effort=1.0), control=vt.Control(effort_limits=True)),
                                     "leave it out",
                                     [lambda: hinge(effort=1.0)]),
    "effort_limits without limits": (given(hinge, control=vt.Control(effort_limits=True, torque=[1.0])),
                                     "give the joints effort=",
                                     [given(lambda: hinge(effort=1.0),
                                            control=vt.Control(effort_limits=True, torque=[1.0]))]),
    "inverted limits": (lambda: hinge(lower=1.0, upper=-1.0), "swap them", [lambda: hinge(lower=-1.0, upper=1.0)]),
    "damping of a rigid contact": (lambda: ball(0.2, damping=5.0), "give both or none",
                                   [lambda: ball(0.2, damping=5.0, stiffness=1e4), lambda: ball(0.2)]),
    "contact without stiffness": (lambda: ball(0.2, stiffness=0.0), "omit it for a rigid one",
                                  [lambda: ball(0.2)]),
    "points on points": (two, "Add vt.Ground(), or give the contacts of one body a radius= or shapes=",
                         [lambda: two(radius=0.05), lambda: two(shapes=vt.Box((0.4, 0.4, 0.2)))]),
    "gauss with dry friction": (given(lambda: hinge(dry_friction=1.0), method="gauss"), "linear-time",
                                [given(lambda: hinge(dry_friction=1.0), method="linear-time")]),
    "an option that is not known": (given(hinge, method="rk4", tau=[1.0]), "control",
                                    [given(hinge, method="rk4", control=[1.0])]),
    "damping of rk4": (lambda: swung('damping="30"', v0=[1.0], method="rk4", duration=0.1),
                       'method="linear-time", which solves for drives and damping',
                       [lambda: swung('damping="30"', v0=[1.0], duration=0.1)]),
    "halves of rk4": (given(servos, method="rk4"), 'method="linear-time", which solves for drives', [servos]),
    "fixed above the ground": (lambda: swung("", around=FLOOR), "lower the ground, to vt.Ground(-0.151)",
                               [lambda: swung("", around=FLOOR, load={"ground": vt.Ground(-0.151)}),
                                lambda: swung("", around=FLOOR, q0=[np.pi])]),
    "turned too far": (lambda: swung("", v0=[4000.0], max_halvings=0), "halve dt",
                       [lambda: swung("", v0=[4000.0], max_halvings=0, dt=2.5e-4)]),
    "equal angles": (lambda: tied(q0=[0.1, 0.0]), "take model and q of vitree.feasible_start(model, q0)",
                     [lambda: feasible(*tied(q0=[0.1, 0.0])), lambda: settled(*tied(q0=[0.1, 0.0]))]),
    "equal rates": (lambda: tied(v0=np.array([1.0, 0.0])), "model.project_velocity(q0, v0)",
                    [lambda: settled(*tied(v0=np.array([1.0, 0.0])), q=False)]),
    "limits of MJCF at zero": (bent, "start within them, or take", [lambda: bent(clip=True),
                               lambda: swung('range="10 60"', load={"limits": "ignore"})]),
    "several beyond limits": (lambda: fingers(0, 0), '"b" is at 0 at the start, beyond its limits 0.174533 to 1.0472, '
                              "and 1 more", [lambda: fingers(2e-5, 0.174533)]),
    "nothing that moves": (lambda: lone(""), "<freejoint/> in MJCF", [lambda: lone("<freejoint/>")]),
    "tied beyond a limit": (lambda: tied(0.1, q0=[1.1, 1.0]), 'vt.satisfy_constraints(model, q, hold=["a"])',
                            [lambda: held(*tied(0.1, q0=[1.1, 1.0]))]),
    "gauss with limits": (given(servos, method="gauss"), 'take limits="report"',
                          [lambda: servos(load={"limits": "report"}, dt=1e-4, method="gauss")]),
    "arms that overlap": (pressed, "leave the pair out by vt.NoContact", [lambda: pressed(out=("left", "right"))]),
    "limits that are reported": (lambda: swung('range="-5 5" limited="true"', v0=[8.0], load={"limits": "report"}),
                                 'limits="enforce"', [lambda: swung('range="-5 5" limited="true"', v0=[8.0])]),
}  # fmt: skip


def outcome(made):
    """The error or warnings of a run, and whether it has neither."""
    try:
        model, arguments = made()
        run = vt.simulate(model, **arguments)
    except vt.VitreeError as error:
        return str(error), False
    return "\n".join(run.warnings), not run.warnings


@pytest.mark.parametrize("cause", TOLD)
def test_a_remedy_is_one(cause):
    made, words, remedies = TOLD[cause]
    told, well = outcome(made)
    assert words in told and not well, told
    for remedy in remedies:
        told, well = outcome(remedy)
        assert well, told


def turning(*loads, **joint):
    """A point of 2 kg on a rail that turns: 0.5 kg m^2 where the point is half a metre out."""
    tree = vt.Tree("rail")
    tree.world.add(vt.ry("turn", **joint), vt.tx("slide"), vt.body("point", 2.0))
    for load in loads:
        tree.load(load)
    return tree.compile()


#: A method, what is stiff, the words, and the rate of what acts [1/s].
RATES = {
    "gauss": (lambda: turning(friction=30.0, friction_velocity=1e-3), "the time in which friction stops them", 60e3),
    "linear-time": (lambda: turning(vt.JointSpring("turn", 0.5 * 440.0**2, 0.0)), "their 1/frequency", 440.0),
    "explicit-euler": (lambda: turning(vt.Drive("turn", 0.5 * 500.0**2, 0.0)), "the shortest time in which they act",
                       500.0),
    "semi-implicit-euler": (lambda: turning(damping=0.5 * 700.0), "the shortest time in which they act", 700.0),
    "rk8": (lambda: turning(vt.JointSpring("turn", 0.5 * 440.0**2, 0.0)), "their 1/frequency", 440.0),
    "rk4": (lambda: turning(vt.Drive("turn", 1.0, 0.5 * 700.0)), "the shortest time in which they act", 700.0),
}  # fmt: skip


@pytest.mark.parametrize("method", RATES)
def test_remedies_tell_how_many_times_too_long_a_step_is(method):
    made, words, rate = RATES[method]
    for dt, told in ((3.0 / rate, True), (1.01 / rate, True), (0.99 / rate, False)):
        integrator = vt.METHODS[method](made(), dt)
        integrator.start(0.0, np.array([0.1, 0.5]), np.zeros(2))
        assert (f"dt is {dt * rate:.2g} times {words}" in integrator._remedy()) == told, integrator._remedy()
        assert (words in integrator._remedy()) == told


def test_explicit_methods_name_what_is_the_fastest():
    model = turning(vt.JointSpring("turn", 0.5 * 440.0**2, 0.0), friction=30.0, friction_velocity=1e-3)
    integrator = vt.METHODS["rk4"](model, 3 / 60e3)
    integrator.start(0.0, np.array([0.1, 0.5]), np.zeros(2))
    assert integrator._remedy() == (
        'give method="linear-time", which solves for friction (dt is 3 times the time in which it stops the joints), '
        "or halve dt 2 times"
    )


@pytest.mark.parametrize("damping", [30.0, 100.0, 300.0])
def test_steps_halved_as_often_as_told_are_sound(damping):
    text, _ = outcome(lambda: swung(f'damping="{damping}"', v0=[1.0], method="rk4", duration=0.4))
    often = int(re.search(r"halve dt (\d+) times$", text)[1])
    told, well = outcome(lambda: swung(f'damping="{damping}"', v0=[1.0], method="rk4", dt=1e-3 / 2**often))
    assert well, told


def test_iterations_are_named_only_where_they_were_too_few():
    """More of them, or a looser tolerance, do not help a trial of the solver that turns a body too far."""
    told, _ = outcome(lambda: swung("", v0=[4000.0], max_halvings=0))
    assert told.endswith("; halve dt") and "half a turn" in told
    told, _ = outcome(given(spun, max_halvings=0, dt=5e-3, max_iterations=1))
    assert told.endswith("; halve dt, or give max_iterations= or a looser tolerance=")
    assert outcome(given(spun, max_halvings=0, dt=5e-3, max_iterations=30))[1]


@pytest.mark.parametrize("method", ["rk4", "semi-implicit-euler"])
def test_options_that_a_method_does_not_have_are_not_named(method):
    """Explicit methods solve contacts and limits, but have no tolerance."""
    told, _ = outcome(lambda: servos(kv=5e4, method=method))
    assert "and its limit is not solved" in told and "tolerance" not in told, told
    assert outcome(lambda: servos(kv=5e4))[1]
