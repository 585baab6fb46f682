"""The forms of the kinetic energy of linear-time, and the norms of the residual."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest
from random_models import chain_flat, random_flat, random_state

import vitree as vt

SPEEDS = (0.0, 1.0, 5.0, 20.0, 100.0)


def free_talos(**more):
    """Without friction and damping."""
    model = vt.load_urdf(vt.find_robot("talos"), base="free", **more)
    return vt.Model(dataclasses.replace(model.flat, friction=None, damping=np.zeros(model.nv)))


def joint_errors(model, q, v, dt, **chosen):
    """Largest error of what is not the base's translation after a second, by the speed of the whole."""
    exact = vt.simulate(model, q, v, duration=1.0, dt=dt / 10, method="rk8").q[-1]
    found = []
    for speed in SPEEDS:
        moving = v.copy()
        moving[:3] += speed * np.array([0.6, -0.64, 0.48])
        run = vt.simulate(model, q, moving, duration=1.0, dt=dt, **chosen)
        found.append(np.abs(model.difference(run.q[-1], exact)[3:]).max())
    return np.array(found)


def tumbling(seed, nbody=6):
    """A floating tree with all kinds of joints, at its neutral orientation, and a velocity of its joints."""
    flat = random_flat(np.random.default_rng(seed), nbody=nbody, base="free", gravity=(0, 0, 0),
                       kinds=("revolute", "prismatic", "helical", "ball"))  # fmt: skip
    model = vt.Model(flat)
    v = random_state(flat, np.random.default_rng(seed + 1), speed=1.0)[1]
    v[:3] = 0.0
    return model, model.neutral(), v


#: The forms of a method: that which does not see how fast the whole moves, and the one of the papers.
FORMS = {"linear-time": ("com", "screw"), "midpoint": ("relative", "midpoint")}


@pytest.mark.parametrize("method", FORMS)
@pytest.mark.parametrize("seed", range(4))
def test_a_robot_moves_in_a_train_as_on_the_platform(seed, method):
    model, q, v = tumbling(seed)
    found = joint_errors(model, q, v, 2e-3, method=method)
    assert np.abs(found / found[0] - 1).max() < 0.01, found
    paper = {"kinetic": FORMS[method][1], "norm": "energy", "tolerance": 1e-11}
    assert joint_errors(model, q, v, 2e-3, method=method, **paper)[-1] > 10 * found[-1]


@pytest.mark.parametrize(("method", "most"), [("linear-time", 1e-4), ("midpoint", 2e-4)])
def test_talos_in_a_train(method, most):
    model = free_talos(gravity=(0, 0, 0))
    v = np.random.default_rng(4).uniform(-2, 2, model.nv)
    v[:3] = 0.0
    found = joint_errors(model, model.neutral(), v, 2e-3, method=method)
    assert np.abs(found / found[0] - 1).max() < 0.01 and found[0] < most, found


@pytest.mark.parametrize("method", FORMS)
def test_free_fall(method):
    """Talos drops for two seconds while its joints move; the joints know nothing of the fall."""
    v = np.random.default_rng(4).uniform(-0.7, 0.7, free_talos().nv)
    v[:3] = 0.0
    found = {}
    for gravity in ((0.0, 0.0, 0.0), (0.0, 0.0, -9.81)):
        model = free_talos(gravity=gravity)
        exact = vt.simulate(model, model.neutral(), v, duration=2.0, dt=1e-3, method="rk8").q[-1]
        for kinetic in FORMS[method]:
            run = vt.simulate(model, model.neutral(), v, duration=2.0, dt=1e-3, method=method, kinetic=kinetic)
            found[kinetic, gravity[2]] = np.abs(model.difference(run.q[-1], exact)).max()
    moving, paper = FORMS[method]
    assert abs(found[moving, -9.81] / found[moving, 0.0] - 1) < 0.03, found
    assert found[moving, -9.81] < 1e-5 and found[paper, -9.81] > 100 * found[moving, -9.81], found


@pytest.mark.parametrize("seed", [3, 4])
def test_gravity_as_a_load_is_that_of_the_model(seed):
    """With kinetic="relative" to second order alone: the load acts in the middle, the model's gravity at the nodes."""
    model, q, v = tumbling(seed)
    g, links = (0.3, -0.2, -9.81), tuple(model.link_names)
    by_model = vt.Model(dataclasses.replace(model.flat, gravity=np.array(g)))
    by_load = vt.Model(dataclasses.replace(model.flat, loads=(vt.Gravity(links, g),)))

    def apart(dt, **chosen):
        ends = [vt.simulate(each, q, v, duration=0.5, dt=dt, **chosen).q[-1] for each in (by_model, by_load)]
        return np.abs(model.difference(*ends)).max()

    for method, more in (("linear-time", {}), ("gauss", {}), ("rk4", {}), ("midpoint", {"kinetic": "midpoint"})):
        assert apart(0.01, method=method, **more) < 1e-11, method
    found = [apart(dt, method="midpoint", kinetic="relative") for dt in (0.01, 0.005, 0.0025)]
    assert found[0] > 1e-4 and np.abs(np.log2(found[:-1] / np.array(found[1:])) - 2).max() < 0.1, found


@pytest.mark.parametrize("seed", range(3))
def test_midpoint_keeps_momentum_and_energy_of_what_floats(seed):
    model, q, v = tumbling(10 + seed)
    v[:3] = [30.0, -20.0, 10.0]
    run = vt.simulate(model, q, v, duration=4.0, dt=2e-3, method="midpoint")
    assert run.settings["kinetic"] == "relative"
    mass = model.total_mass
    arms = 1 + np.abs([model.center_of_mass(x) for x in (run.q[0], run.q[-1])]).max()
    assert np.abs(run.momentum - run.momentum[0]).max() < 1e-12 * arms * np.abs(run.momentum).max()
    own = run.energy - np.sum(run.momentum[:, 3:] ** 2, axis=1) / (2 * mass)
    assert np.abs(own - own[0]).max() < 1e-3 * own[0]


def test_midpoint_goes_back_as_it_came():
    model, q, v = tumbling(3)
    model = vt.Model(dataclasses.replace(model.flat, gravity=np.array([0.0, 0.0, -9.81])))
    v[:3] = [5.0, 0.0, 20.0]
    there = vt.simulate(model, q, v, duration=0.5, dt=2e-3, method="midpoint", tolerance=1e-13)
    back = vt.simulate(model, there.q[-1], -there.v[-1], duration=0.5, dt=2e-3, method="midpoint", tolerance=1e-13)
    assert np.abs(model.difference(back.q[-1], q)).max() < 1e-9


@pytest.mark.parametrize("more", ["nothing", "springs", "damped rail", "driven rail", "prescribed rail", "newton"])
def test_midpoint_has_order_two_in_every_way_that_it_is_solved(more):
    """Centres of mass are eliminated with the joints, or as rows of their own where more acts on the translation."""
    tree = vt.Tree("crane")
    held = {"damping": 2.0} if more == "damped rail" else {"kinematic": True} if more == "prescribed rail" else {}
    cart = tree.world.add(vt.tx("rail", **held), vt.ty("bridge"), vt.body("cart", 1.0))
    cart.add(vt.ball("swivel"), vt.tz(-0.5), vt.body("load", 0.5, inertia=(0.01, 0.02, 0.03)))
    if more == "springs":
        tree.load(vt.Spring("load", "world", 20.0, 0.3), vt.Damper("load", "world", 1.0))
    if more == "driven rail":
        tree.load(vt.Drive("rail", kp=30.0, kd=3.0, target=0.2))
    model = tree.compile()
    v = np.zeros(model.nv)
    v[2:] = [1.0, 2.0, -1.0]
    v[0] = 0.0 if more == "prescribed rail" else 3.0
    given = {"v0": v, "duration": 0.5}
    if more == "prescribed rail":
        given["control"] = vt.Control(prescribed={"rail": lambda t: np.sin(3 * t)})
        given["v0"] = np.array([3.0, *v[1:]])
    exact = vt.simulate(model, dt=1e-3, method="rk8", **given)
    errors = []
    for dt in (0.02, 0.01):
        run = vt.simulate(model, dt=dt, method="midpoint", solver="newton" if more == "newton" else "auto", **given)
        errors.append(np.abs(model.difference(run.q[-1], exact.q[-1])).max())
    assert 1.8 < np.log2(errors[0] / errors[1]) < 2.2, errors


@pytest.mark.parametrize("loops", [1, 8])
def test_loops_within_a_robot_float_with_it(loops):
    """Four-bars on a floating base; eight are eliminated in the order of a plan."""
    tree = vt.Tree("loops", gravity=(0.0, 0.0, 0.0))
    base = tree.world.add(vt.free("base joint"), vt.body("base", 2.0, inertia=(0.1, 0.2, 0.3)))
    for k in range(loops):
        at, link = base.add(vt.tz(0.3 * k)), {"com": (0, 0, 0.1), "inertia": (1e-3, 1e-3, 1e-3)}
        near = at.add(vt.tx(0.2), vt.ry(f"a{k}"), vt.body(f"near {k}", 0.3, **link))
        far = at.add(vt.tx(-0.2), vt.ry(f"b{k}"), vt.body(f"far {k}", 0.3, **link))
        top = far.add(vt.tz(0.3), vt.ry(f"c{k}"), vt.body(f"top {k}", 0.2, **link))
        near.add(vt.tz(0.3), vt.frame(f"p{k}"))
        top.add(vt.tx(0.4), vt.frame(f"q{k}"))
        tree.constrain(*(vt.PointConstraint(f"p{k}", f"q{k}", a, axes="local") for a in ((1, 0, 0), (0, 0, 1))))
    model = tree.compile()
    assert not any(x.tied for x in model._floating)
    v = np.zeros(model.nv)
    v[3:6] = [0.5, -1.0, 0.7]
    for k in range(loops):
        for name, rate in (("a", 1.5), ("b", 1.5), ("c", -1.5)):
            v[model.joint(f"{name}{k}").v_slice] = rate
    exact = vt.simulate(model, v0=v, duration=0.5, dt=2.5e-4, method="midpoint", tolerance=1e-12).q[-1]
    errors = []
    for speed in (0.0, 20.0, 100.0):
        moving = v.copy()
        moving[:3] = speed * np.array([0.6, -0.64, 0.48])
        run = vt.simulate(model, v0=moving, duration=0.5, dt=2e-3, method="midpoint", tolerance=1e-12)
        errors.append(np.abs(model.difference(run.q[-1], exact)[3:]).max())
    assert np.abs(np.array(errors) / errors[0] - 1).max() < 0.01, errors


def test_trees_that_are_tied_take_the_papers_form():
    tree = vt.Tree("tied", gravity=(0.0, 0.0, 0.0))
    for name in ("a", "b"):
        tree.world.add(vt.free(name), vt.body(f"body {name}", 1.0, inertia=(1, 1, 1)))
    assert vt.METHODS["midpoint"](tree.compile(), 0.01).settings["kinetic"] == "relative"
    tree.constrain(vt.Distance("body a", "world", 1.0))
    model = tree.compile()
    assert [x.tied for x in model._floating] == [True, False]
    tree.constrain(vt.PointConstraint("body a", "body b", (1, 0, 0)))
    assert vt.METHODS["midpoint"](tree.compile(), 0.01).settings["kinetic"] == "midpoint"


def test_the_form_of_midpoint_is_named():
    model = with_root(vt.free("base joint"))
    method = vt.METHODS["midpoint"]
    assert method(model, 0.01).settings["kinetic"] == "relative" and method(model, 0.01).settings["norm"] == "energy"
    assert method(with_root(vt.rz("turn")), 0.01).settings["kinetic"] == "midpoint"
    rails = with_root(vt.tx("x"), vt.ty("y"), vt.tz("z"))
    assert method(rails, 0.01, residual="tree").settings["kinetic"] == "midpoint"
    with pytest.raises(vt.InputError, match="tree"):
        method(rails, 0.01, residual="tree", kinetic="relative")


def test_a_cart_may_move_fast():
    """The first sliding joint counts as a base, along its direction."""
    tree = vt.Tree("cart", gravity=(0.0, 0.0, 0.0))
    cart = tree.world.add(vt.tx("rail"), vt.body("cart", 1.0))
    cart.add(vt.ry("pole"), vt.tz(1.0), vt.body("ball", 0.5)).add(vt.ry("second"), vt.tz(0.5), vt.body("end", 0.2))
    model = tree.compile()
    errors = []
    exact = vt.simulate(model, v0=np.array([0.0, 2.0, -3.0]), duration=1.0, dt=1e-4, method="rk8").q[-1]
    for speed in SPEEDS:
        run = vt.simulate(model, v0=np.array([speed, 2.0, -3.0]), duration=1.0, dt=2e-3)
        assert run.settings["kinetic"] == "com"
        errors.append(np.abs(run.q[-1] - exact)[1:].max())
    assert np.abs(np.array(errors) / errors[0] - 1).max() < 0.01


def with_root(*elements):
    tree = vt.Tree("root")
    at = tree.world
    for element in elements:
        at = at.add(element)
    at = at.add(vt.body("base", 2.0, inertia=(0.1, 0.2, 0.3)))
    at.add(vt.tz(0.3), vt.rx("arm"), vt.tz(0.2), vt.body("hand", 0.5))
    return tree.compile()


@pytest.mark.parametrize(("elements", "directions"), [
    ([vt.free("base joint")], 3), ([vt.tx("x"), vt.ty("y"), vt.tz("z"), vt.ball("turn")], 3), ([vt.tx("x")], 1),
    ([vt.tx("x"), vt.rz("turn")], 1), ([vt.ty("x"), vt.tz("y"), vt.rx("turn")], 2), ([vt.rz("turn")], 0),
    ([vt.rz("turn"), vt.tx("x")], 0), ([vt.tx("x", damping=1.0)], 1), ([vt.ty("x", kinematic=True)], 1)],
    ids=["free", "six", "cart", "turning cart", "planar", "hinge", "hinge first", "damped", "prescribed"])  # fmt: skip
def test_the_default_goes_by_the_base(elements, directions):
    model = with_root(*elements)
    assert sum(np.linalg.matrix_rank(tree.directions) for tree in model._floating) == directions
    method = vt.METHODS["linear-time"](model, 0.01)
    assert method.settings["kinetic"] == ("com" if directions else "screw")
    assert method.settings["norm"] == ("energy" if directions else "momentum")


def with_more(more):
    """A robot that floats, with a trace of something else in the scene."""
    tree = vt.Tree("scene", gravity=(0.0, 0.0, 0.0))
    base = tree.world.add(vt.free("base joint"), vt.body("base", 2.0, inertia=(0.1, 0.2, 0.3)))
    knee = {"damping": TRACE} if more == "damping" else {"friction": TRACE} if more == "friction" else {}
    arm = base.add(vt.tz(0.3), vt.rx("arm", **knee), vt.tz(0.2), vt.body("hand", 0.5, inertia=(0.01, 0.01, 0.01)))
    arm.add(vt.ty(0.2), vt.rz("tip"), vt.tx(0.1), vt.body("nail", 0.2, inertia=(1e-3, 1e-3, 1e-3)))
    if more == "door":
        tree.world.add(vt.tx(9.0), vt.rz("hinge"), vt.tx(0.5), vt.body("door", TRACE))
    if more == "damped door":
        tree.world.add(vt.tx(9.0), vt.rz("hinge", damping=TRACE), vt.tx(0.5), vt.body("door", TRACE))
    if more == "prescribed":
        tree.world.add(vt.tx(9.0), vt.rz("hinge", kinematic=True), vt.tx(0.5), vt.body("door", TRACE))
    if more == "floating":
        tree.world.add(vt.tx(9.0), vt.free("other"), vt.body("ball", TRACE, inertia=(TRACE,) * 3))
    if more == "rail":
        tree.world.add(vt.tx(9.0), vt.tx("rail", damping=TRACE), vt.body("cart", TRACE))
    if more == "leaf":
        arm.add(vt.ry("leaf joint"), vt.tx(0.1), vt.body("leaf", TRACE, inertia=(TRACE,) * 3))
    if more == "damper":
        tree.load(vt.Damper("nail", "world", TRACE))
    if more == "spring":
        tree.load(vt.Spring("nail", "world", TRACE, 0.1))
    if more == "wrench":
        tree.load(vt.Wrench("nail", force=(TRACE, 0.0, 0.0)))
    if more == "joint spring":
        tree.load(vt.JointSpring("tip", TRACE))
    if more == "drive":
        tree.load(vt.Drive("tip", kp=TRACE, kd=TRACE))
    if more == "ground":
        tree.contact(vt.Ground(height=-1e3), vt.Contact("nail", radius=0.01))
    return tree.compile()


TRACE = 1e-12
TRACES = ["door", "damped door", "prescribed", "floating", "rail", "leaf", "damping", "friction", "damper", "spring",
          "wrench", "joint spring", "drive", "ground"]  # fmt: skip


@pytest.mark.parametrize("method", ["linear-time", "midpoint"])
@pytest.mark.parametrize("more", TRACES)
def test_a_trace_of_something_else_changes_nothing(more, method):
    runs = []
    for with_it in (None, more):
        model = with_more(with_it)
        v = np.zeros(model.nv)
        at = [model.joint(name).v_slice for name in ("base joint", "arm", "tip")]
        v[at[0]], v[at[1]], v[at[2]] = [30.0, -40.0, 5.0, 0.5, -1.0, 2.0], 3.0, -4.0
        run = vt.simulate(model, v0=v, duration=0.3, dt=2e-3, method=method, tolerance=1e-13)
        own = np.concatenate([run.q[-1][model.joint(name).q_slice] for name in ("base joint", "arm", "tip")])
        runs.append((own, [str(x) for x in run.warnings]))
    assert np.abs(runs[0][0] - runs[1][0]).max() < 1e-10
    assert runs[0][1] == runs[1][1]


def test_each_tree_has_the_form_that_it_has_alone():
    tree = vt.Tree("two")
    tree.world.add(vt.free("a"), vt.body("one", 1.0, inertia=(1, 1, 1)))
    tree.world.add(vt.rx("b"), vt.tz(1.0), vt.body("two", 1.0))
    model = tree.compile()
    assert [x.root for x in model._floating] == [0]
    assert vt.METHODS["linear-time"](model, 0.01).settings["kinetic"] == "auto"
    tree = vt.Tree("two that float")
    for name in ("a", "b"):
        tree.world.add(vt.free(name), vt.body(f"body {name}", 1.0, inertia=(1, 1, 1)))
    assert [x.root for x in tree.compile()._floating] == [0, 1]


@pytest.mark.parametrize("chosen", [{"kinetic": "twist"}, {"kinetic": None}, {"norm": "l2"}, {"norm": 2}])
def test_other_words_are_refused(chosen):
    with pytest.raises(vt.UnknownNameError, match=r"screw|momentum"):
        vt.simulate(vt.Model(chain_flat(2)), duration=0.1, dt=0.01, **chosen)
    with pytest.raises(vt.UnknownNameError, match="relative"):
        vt.simulate(vt.Model(chain_flat(2)), duration=0.1, dt=0.01, method="midpoint", kinetic="com")


@pytest.mark.parametrize("scheme", [{"kinetic": "screw"}, {"kinetic": "com"}, {"method": "midpoint"}], ids=str)
@pytest.mark.parametrize("order", [2, 4])
def test_light_joints_are_not_starved(scheme, order):
    """A finger of a gram on a body of a ton that moves fast: the norm of the energy means the finger, too."""
    tree = vt.Tree("heavy and light", gravity=(0.0, 0.0, 0.0))
    base = tree.world.add(vt.free("base joint"), vt.body("base", 1000.0, inertia=(100, 100, 100)))
    finger = base.add(vt.ry("knuckle"), vt.tz(0.02), vt.body("finger", 1e-3, inertia=(1e-7, 1e-7, 1e-7)))
    finger.add(vt.tz(0.02), vt.ry("tip"), vt.tz(0.01), vt.body("nail", 5e-4, inertia=(1e-8, 1e-8, 1e-8)))
    model = tree.compile()
    v = np.array([20.0, -10.0, 5.0, 0.0, 0.0, 0.0, 3.0, -5.0])
    given = {"v0": v, "duration": 0.5, "dt": 2e-3, "order": order, **scheme}
    exact = vt.simulate(model, norm="energy", tolerance=1e-13, **given).q[-1]
    off = {norm: np.abs(vt.simulate(model, norm=norm, tolerance=1e-8, **given).q[-1] - exact)[-2:].max()
           for norm in ("momentum", "energy")}  # fmt: skip
    assert off["energy"] < 1e-5 and off["momentum"] > 30 * off["energy"], off


@pytest.mark.parametrize("kinetic", ["screw", "com"])
def test_a_run_goes_on_bit_for_bit(kinetic):
    model, q, v = tumbling(7)
    given = {"dt": 2e-3, "kinetic": kinetic, "norm": "energy"}
    whole = vt.simulate(model, q, v, duration=0.4, **given)
    rest = vt.simulate(model, q, v, duration=0.2, **given).resume(0.2)
    assert rest.settings["kinetic"] == kinetic and rest.q[-1].tobytes() == whole.q[-1].tobytes()


def test_a_body_that_only_drifts_needs_no_iteration():
    """Nothing moves in its own frame: the goal is the rounding of its momentum."""
    model = with_root(vt.free("base joint"))
    model = vt.Model(dataclasses.replace(model.flat, gravity=np.zeros(3)))
    v = np.zeros(model.nv)
    v[:3] = 100.0
    run = vt.simulate(model, v0=v, duration=1.0, dt=1e-2)
    assert run.iterations.max() <= 2 and np.abs(run.v[-1] - v).max() < 1e-10
    assert np.abs(run.momentum - run.momentum[0]).max() < 1e-10


@pytest.mark.parametrize(("method", "more"), [
    ("linear-time", {"kinetic": "com"}), ("linear-time", {"kinetic": "com", "order": 4}),
    ("midpoint", {"kinetic": "relative"}), ("gauss", {"order": 4}),
])  # fmt: skip
@pytest.mark.parametrize("seed", range(3))
def test_trains_and_lifts_are_equivalent_to_round_off(seed, method, more):
    """Not to the order of the method: the discrete motions themselves are the same, at any step."""
    model, q, v = tumbling(seed)
    up = 9.81 * np.array([0.6, -0.64, 0.48])
    lift, moving = vt.Model(dataclasses.replace(model.flat, gravity=up)), v.copy()
    moving[:3] += 2 * up
    how = {"duration": 0.3, "dt": 3e-3, "method": method, "tolerance": 1e-13, **more}
    how |= {} if method == "gauss" else {"norm": "energy"}
    rest = vt.simulate(model, q, v, **how)
    for run in (vt.simulate(model, q, moving, **how), vt.simulate(lift, q, v, **how)):
        apart = [model.difference(a, b)[3:] for a, b in zip(rest.q, run.q, strict=True)]
        assert np.abs(apart).max() < 1e-11 * max(1.0, np.abs(rest.q).max())
    # the centre of mass is on its parabola
    t, C = run.t[:, None], np.array([model.center_of_mass(each) for each in run.q])
    assert np.abs(C - C[0] - t * model.center_of_mass_velocity(q, v) - 0.5 * t**2 * up).max() < 1e-12


@pytest.mark.parametrize(("method", "spring"), [("linear-time", True), ("linear-time", False), ("midpoint", False)])
def test_contacts_with_friction_are_equivalent_in_trains_and_lifts(method, spring):
    """A block slides and turns on a plate, both floating, on as many points as determine the impulses."""

    def scene(gravity):
        tree = vt.Tree("plate and block", gravity=tuple(gravity))
        tree.world.add(vt.free("a"), vt.body("plate", 3.0, (0.1, 0.12, 0.2)))
        tree.world.add(vt.free("b"), vt.body("block", 1.0, (5e-3, 6e-3, 7e-3)))
        if spring:
            tree.load(vt.Spring("plate", "block", 80.0, 0.05))
        feet = [vt.Sphere(0.01, position=at) for at in ((0.1, 0, -0.05), (-0.05, 0.08, -0.05), (-0.05, -0.09, -0.05))]
        tree.contact(vt.Contact("plate", shapes=vt.Box((2, 2, 0.1)), friction=0.4),
                     vt.Contact("block", shapes=feet, friction=0.4))  # fmt: skip
        return tree.compile()

    def seen(run):
        plate, block = (np.array([run.system.frame_pose(name, q) for q in run.q]) for name in ("plate", "block"))
        return np.concatenate([plate[:, :3, :3], block[:, :3, :3], (block - plate)[:, :3, 3:]], axis=2)

    up = 9.81 * np.array([0.6, -0.64, 0.48])
    model, lift = scene((0, 0, 0)), scene(up)
    q, v = model.neutral(), np.zeros(model.nv)
    q[9], v[3:6], v[6:9], v[11] = 0.11, (0.3, -0.2, 0.1), (0.5, 0.3, 0.0 if spring else -0.3), 2.0
    moving = v + np.tile(np.append(2 * up, np.zeros(3)), 2)
    how = {"duration": 0.4, "dt": 2e-3, "method": method, "tolerance": 1e-13}
    rest = vt.simulate(model, q, v, **how)
    slides = np.hypot(*rest.contacts.slip[:, :2].T) > 1e-3
    assert slides.sum() > 20
    for run in (vt.simulate(model, q, moving, **how), vt.simulate(lift, q, v, **how)):
        assert np.abs(seen(run) - seen(rest)).max() < 2e-11


def test_springs_between_trees_are_equivalent_but_with_midpoint():
    """Whose relative position in the middle of a step depends on the frame, to second order."""

    def scene(gravity):
        tree = vt.Tree("plate and block", gravity=tuple(gravity))
        tree.world.add(vt.free("a"), vt.body("plate", 3.0, (0.1, 0.12, 0.2)))
        tree.world.add(vt.free("b"), vt.body("block", 1.0, (5e-3, 6e-3, 7e-3)))
        tree.load(vt.Spring("plate", "block", 80.0, 0.05))
        return tree.compile()

    def seen(run):
        plate, block = (np.array([run.system.frame_pose(name, q) for q in run.q]) for name in ("plate", "block"))
        return np.concatenate([plate[:, :3, :3], block[:, :3, :3], (block - plate)[:, :3, 3:]], axis=2)

    def changes(dt, **how):
        """Of what is seen, from rest to a train and to a lift."""
        how |= {"duration": 0.4, "dt": dt, "tolerance": 1e-13}
        rest = seen(vt.simulate(model, q, v, **how))
        runs = vt.simulate(model, q, moving, **how), vt.simulate(lift, q, v, **how)
        return np.array([np.abs(seen(run) - rest).max() for run in runs])

    up = 9.81 * np.array([0.6, -0.64, 0.48])
    model, lift = scene((0, 0, 0)), scene(up)
    q, v = model.neutral(), np.zeros(model.nv)
    q[9], v[3:6], v[6:9], v[11] = 0.11, (0.3, -0.2, 0.1), (0.5, 0.3, 0.0), 2.0
    moving = v + np.tile(np.append(2 * up, np.zeros(3)), 2)
    for method in ("linear-time", "gauss"):
        assert changes(4e-3, method=method).max() < 1e-12
    coarse, fine = changes(4e-3, method="midpoint"), changes(2e-3, method="midpoint")
    assert coarse / fine == pytest.approx([4.0, 4.0], rel=0.02) and 1e-4 < fine[0] < 2e-3
