"""What a message tells people to do is done, and then the run goes on: a cause, the words, and the remedy."""

from __future__ import annotations

import numpy as np
import pytest

import vitree as vt

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


def two(upper, *more):
    tree = vt.Tree("two")
    tree.world.add(vt.tz(0.3), vt.free("joint"), vt.body("upper", 1.0, INERTIA))
    tree.contact(vt.Contact("upper", shapes=[upper]), vt.Contact("world", shapes=[vt.Box((0.4, 0.4, 0.2))]), *more)
    return tree.compile(), {"duration": 0.3, "dt": 1e-3}


BALL = '<body name="ball" pos="0 0 {z}">{joint}<geom type="sphere" size="0.1"/></body>'
PLANE = '<geom type="plane" size="1 1 1"/>'
ARM = '<joint name="{name}" axis="0 1 0" range="{low} {high}" limited="true"/>'


def of_mjcf(bodies, q=None, change=None, **options):
    """What runs a model of MuJoCo from zero, or what q(robot, model) returns; ``change`` is made to its tree."""

    def made():
        text = f'<mujoco><compiler angle="radian"/><worldbody>{bodies}</worldbody></mujoco>'
        robot = vt.from_mujoco(text, **options)
        if change is not None:
            change(robot.tree)
        model = robot.tree.compile()
        start = {} if q is None else {"q0": q(robot, model) if callable(q) else q}
        return model, {"duration": 0.05, "dt": 1e-3, **start}

    return made


#: Two fingers, both beyond their limits at the start, one by less than is mended.
FINGERS = "".join(
    f'<body name="{name}" pos="0 {y} 1">' + ARM.format(name=f"{name} joint", low=low, high=1.0)
    + '<geom type="sphere" size="0.01" pos="0 0 -0.1"/></body>' for name, y, low in (("a", 0, 1e-5), ("b", 1, 0.2))
)  # fmt: skip
#: An arm whose base is fixed, with its end in the ground; and two balls on rails that overlap.
REACHING = PLANE + '<body name="arm" pos="0 0 0.3">' + ARM.format(name="shoulder", low=-3, high=3) + (
    '<geom type="capsule" size="0.02" fromto="0 0 -0.1 0 0 -0.35"/></body>')  # fmt: skip
NEAR = PLANE + "".join(
    f'<body name="{name}" pos="{x} 0 1"><joint type="slide" axis="1 0 0"/><geom type="sphere" size="0.1"/></body>'
    for name, x in (("left", 0.0), ("right", 0.15))
)
FREE, STILL = (PLANE + BALL.format(z=z, joint=joint) for z, joint in ((0.05, "<freejoint/>"), (0.5, "")))
FLOATING = PLANE + BALL.format(z=0.5, joint="<freejoint/>")

#: Cause, words of the message, and remedies that it names.
TOLD = {
    "light chain": (burdened, "armature=", [lambda: burdened(0.01)]),
    "friction of gauss": (given(rubbing, method="gauss"), 'method="linear-time", which solves for friction',
                          [given(rubbing, method="linear-time"), given(lambda: rubbing(10.0), method="gauss")]),
    "stiff spring": (stiff, 'springs="averaged"', [given(stiff, springs="averaged"), given(stiff, dt=5e-4)]),
    "halved steps": (spun, "Use a smaller dt", [given(spun, dt=5e-3)]),
    "steps that fail": (given(spun, halvings=0), "halve dt", [given(spun, halvings=0, dt=5e-3)]),
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
    "effort_limits without torque": (given(lambda: hinge(effort=1.0), effort_limits=True), "leave it out",
                                     [lambda: hinge(effort=1.0)]),
    "effort_limits without limits": (given(hinge, effort_limits=True, torque=[1.0]), "give the joints effort=",
                                     [given(lambda: hinge(effort=1.0), effort_limits=True, torque=[1.0])]),
    "inverted limits": (lambda: hinge(lower=1.0, upper=-1.0), "swap them", [lambda: hinge(lower=-1.0, upper=1.0)]),
    "damping of a rigid contact": (lambda: ball(0.2, damping=5.0), "give both or none",
                                   [lambda: ball(0.2, damping=5.0, stiffness=1e4), lambda: ball(0.2)]),
    "contact without stiffness": (lambda: ball(0.2, stiffness=0.0), "leave it out for a rigid one",
                                  [lambda: ball(0.2)]),
    "MJCF in the ground": (of_mjcf(FREE), "vt.place_on_ground(model, q)",
                           [of_mjcf(FREE, lambda robot, model: vt.place_on_ground(model, robot.start))]),
    "MJCF with a fixed base in the ground": (
        of_mjcf(REACHING), "start in another posture, or give a ground of another height, ground=vt.Ground(height)",
        [of_mjcf(REACHING, [1.0]), of_mjcf(REACHING, ground=vt.Ground(-1.0))]),
    "MJCF that overlaps": (of_mjcf(NEAR), "move them apart, or leave the pair out by vt.NoContact", [
        of_mjcf(NEAR, [0.0, 0.1]), of_mjcf(NEAR, change=lambda tree: tree.contact(vt.NoContact("left", "right")))]),
    "MJCF beyond limits": (of_mjcf(FINGERS), '"b joint" is at 0 at the start, beyond its limits 0.2 to 1, and 1 more',
                           [of_mjcf(FINGERS, [1e-5, 0.2])]),
    "MJCF of which nothing moves": (of_mjcf(STILL), "<freejoint/> in MJCF",
                                    [of_mjcf(FLOATING, lambda robot, model: robot.start)]),
    "boxes on boxes": (lambda: two(vt.Box((0.1,) * 3)), "give one of each pair spheres or capsules",
                       [lambda: two(vt.Sphere(0.05)),
                        lambda: two(vt.Box((0.1,) * 3), vt.NoContact("upper", "world"), vt.Ground(-9.0))]),
    "gauss with dry friction": (given(lambda: hinge(dry_friction=1.0), method="gauss"), "linear-time",
                                [given(lambda: hinge(dry_friction=1.0), method="linear-time")]),
    "an argument that is not known": (given(hinge, method="rk4", tau=[1.0]), "torque",
                                     [given(hinge, method="rk4", torque=[1.0])]),
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
