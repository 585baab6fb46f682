"""Wrenches that joints transmit: each link is in balance, and along its motion a joint transmits its force."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
import reference
from loaded_models import (
    conservative_loads,
    constrained_tree,
    coordinate,
    driving_loads,
    every_constraint,
    random_tree,
    singles,
)
from random_models import random_flat, random_state
from reference_cases import pinocchio_model
from scipy.interpolate import CubicSpline

import vitree as vt

ALL = ("revolute", "prismatic", "helical", "ball", "free")
INPUTS = {"push": 0.7, "turn": -0.4, "drive": 1.3}


# ---- the forces on each link, written down by hand ----------------------------------------------------------


class Links:
    """The links of a random tree, whose frames are the core frames, and the wrenches on them about their origins."""

    def __init__(self, model, q, v, a):
        self.model, self.q, self.v, self.a, self.flat = model, q, v, a, model.flat
        self.X = model.body_poses(q)
        self.on = np.zeros((model.nbody, 6))  # (torque, force), world axes, about the origin of the link
        self.in_joint = np.zeros(model.nv)

    def at(self, name):
        """Body, origin, axes and velocity of a frame."""
        if name == "world":
            return -1, np.zeros(3), np.eye(3), np.zeros(3)
        pose = self.model.frame_pose(name, self.q)
        body = int(self.flat.frame_body[self.flat.frame_names.index(name)])
        return body, pose[:3, 3], pose[:3, :3], self.model.frame_jacobian(name, self.q)[3:] @ self.v

    def push(self, body, point, force, torque=(0.0, 0.0, 0.0)):
        if body >= 0:
            self.on[body, :3] += np.cross(point - self.X[body, :3, 3], force) + torque
            self.on[body, 3:] += force

    def between(self, a, b, force):
        (i, x, *_), (k, y, *_) = self.at(a), self.at(b)
        self.push(i, x, force)
        self.push(k, y, -force)

    def rate_of_momentum(self):
        """Newton's and Euler's laws for each link, about its origin."""
        rows = []
        for i, X in enumerate(self.X):
            R = X[:3, :3]
            velocity = self.model.frame_velocity(f"link{i}", self.q, self.v)
            acceleration = self.model.frame_acceleration(f"link{i}", self.q, self.v, self.a)
            w, b, arm = velocity[:3], acceleration[:3], R @ self.flat.com[i]
            force = self.flat.mass[i] * (acceleration[3:] + np.cross(b, arm) + np.cross(w, np.cross(w, arm)))
            J = R @ self.flat.inertia[i] @ R.T
            rows.append(np.concatenate((J @ b + np.cross(w, J @ w) + np.cross(arm, force), force)))
        return np.array(rows)

    def gravity(self):
        for i, X in enumerate(self.X):
            self.push(i, X[:3, 3] + X[:3, :3] @ self.flat.com[i], self.flat.mass[i] * self.flat.gravity)

    def load(self, load, inputs):
        number = lambda x: inputs[x] if isinstance(x, str) else x  # noqa: E731
        if isinstance(load, vt.Wrench):
            body, x, R, _ = self.at(load.frame)
            n, f = (np.array([number(part) for part in parts]) for parts in (load.torque, load.force))
            if load.axes == "local":
                n, f = R @ n, R @ f
            self.push(body, np.zeros(3) if load.axes == "spatial" else x, f, n)
        elif isinstance(load, vt.Gravity):
            for link in load.links:
                body, x, R, _ = self.at(link)
                k = self.flat.link_names.index(link)
                self.push(body, x + R @ self.flat.link_com[k], self.flat.link_mass[k] * np.array(load.acceleration))
        elif isinstance(load, vt.Spring | vt.Damper | vt.Attraction):
            (*_, x, _, u), (*_, y, _, w) = self.at(load.a), self.at(load.b)
            d, rate = x - y, u - w
            length = np.linalg.norm(d)
            if isinstance(load, vt.Spring):
                force = -load.stiffness * (length - load.length) * d / length
            elif isinstance(load, vt.Damper):
                force = -load.coefficient * (d @ rate) / length * d / length
            else:
                mass = dict(zip(self.flat.link_names, self.flat.link_mass, strict=True))
                ends = (load.a, load.mass_a), (load.b, load.mass_b)
                one, two = (mass[name] if m is None else m for name, m in ends)
                force = -load.constant * one * two * d / length**3
            self.between(load.a, load.b, force)
        else:
            at, place = coordinate(self.flat, self.q, load.joint), self.model.joint(load.joint).v_slice
            if isinstance(load, vt.JointForce):
                self.in_joint[place] += number(load.force)
            elif isinstance(load, vt.JointSpring):
                self.in_joint[place] -= load.stiffness * (at - load.rest)
            else:
                spline = CubicSpline(load.positions, load.force)
                end = min(max(at, load.positions[0]), load.positions[-1])
                self.in_joint[place] += spline(end) + spline(end, 1) * (at - end)

    def hold(self, constraint, size):
        place = lambda name: self.model.joint(name).v_slice  # noqa: E731
        if isinstance(constraint, vt.Coupling):
            for name, factor in constraint.factors.items():
                self.in_joint[place(name)] += size * factor
        elif isinstance(constraint, vt.Cam):
            slope = CubicSpline(constraint.positions, constraint.profile)(
                coordinate(self.flat, self.q, constraint.driver), 1)  # fmt: skip
            self.in_joint[place(constraint.follower)] += size
            self.in_joint[place(constraint.driver)] -= size * slope
        else:
            (i, x, R, _), (k, y, S, _) = self.at(constraint.a), self.at(constraint.b)
            if isinstance(constraint, vt.AxisConstraint):
                one, two = (u / np.linalg.norm(u) for u in (constraint.axis_a, constraint.axis_b))
                couple = size * np.cross(R @ one, S @ two)
                self.push(i, x, np.zeros(3), couple)
                self.push(k, y, np.zeros(3), -couple)
            elif isinstance(constraint, vt.Distance):
                d = (x - y) / np.linalg.norm(x - y)
                self.between(constraint.a, constraint.b, size * d)
                if isinstance(constraint.length, str):
                    self.in_joint[place(constraint.length)] -= size
            else:
                axis = np.array(constraint.axis) / np.linalg.norm(constraint.axis)
                d = R @ axis if constraint.axes == "local" else axis
                # a plane that turns with a is pushed where b is
                self.push(i, y if constraint.axes == "local" else x, size * d)
                self.push(k, y, -size * d)

    def left_over(self, reactions):
        """The sum of the wrenches on each link, less the rate of its momentum; and the size of the largest."""
        total = self.on - self.rate_of_momentum()
        largest = max(1.0, np.abs(self.on).max(), np.abs(total).max())
        for i, X in enumerate(self.X):
            R, wrench = X[:3, :3], reactions[f"joint{i}"]
            largest = max(largest, np.abs(wrench).max())
            n, f = R @ wrench[:3], R @ wrench[3:]
            self_and_parent = [(i, 1.0), (int(self.flat.parent[i]), -1.0)]
            for k, sign in self_and_parent:
                if k >= 0:
                    total[k] += sign * np.concatenate((n + np.cross(X[:3, 3] - self.X[k, :3, 3], f), f))
        return total, largest

    def projected(self, reactions):
        """The wrenches along the motions of the joints, (nv,)."""
        found = np.zeros(self.model.nv)
        for i, joint in enumerate(self.flat.joints):
            found[joint.v_slice] = reference.joint_subspace(self.flat, i).T @ reactions[joint.name]
        return found


def check(model, q, v, tau, a, multipliers, reactions, inputs=INPUTS):
    """The free-body check on each link, to 1e-10 of the largest wrench."""
    links = Links(model, q, v, a)
    links.gravity()
    for load in model.loads:
        links.load(load, inputs)
    for constraint, size in zip(model.constraints, multipliers, strict=True):
        links.hold(constraint, size)
    rest, largest = links.left_over(reactions)
    assert np.abs(rest).max() < 1e-10 * largest
    friction = model.friction * v / np.sqrt(v**2 + np.asarray(model.flat.friction_velocity) ** 2)
    free = ~np.asarray(model.flat.kinematic)
    # the rotors take their part of the joints' forces
    expected = tau - model.damping * v - friction + links.in_joint - model.armature * a
    assert np.abs((links.projected(reactions) - expected)[free]).max() < 1e-10 * largest
    return links


def rubbed(flat, rng):
    """The tree with damping on all coordinates, and friction and armature on those that can have them."""
    friction, armature = np.zeros((2, len(flat.damping)))
    for joint in flat.joints:
        if joint.name in singles(flat):
            friction[joint.v_slice], armature[joint.v_slice] = rng.uniform(0.1, 0.6, 2)
    return replace(flat, damping=rng.uniform(0.1, 1.0, len(friction)), friction=friction, armature=armature)


@pytest.mark.parametrize("base", ["fixed", "free"])
@pytest.mark.parametrize("seed", range(5))
def test_links_are_in_balance_under_loads_of_every_kind(seed, base):
    rng = np.random.default_rng(seed)
    flat, q, v = random_tree(seed, nbody=7, kinds=ALL, base=base)
    flat = rubbed(flat, rng)
    driving = driving_loads(flat)[:: 1 if seed % 2 else -1]  # the input of a joint comes first, or last
    model = vt.Model(replace(flat, loads=(*driving, *conservative_loads(flat))))
    tau = rng.standard_normal(model.nv)
    a, multipliers = model.forward_dynamics(q, v, tau, inputs=INPUTS)
    found = model.joint_reactions(q, v, torque=tau, inputs=INPUTS)
    assert list(found) == list(model.joint_names) and all(x.shape == (6,) for x in found.values())
    check(model, q, v, tau, a, multipliers, found)
    # the same from inverse dynamics, and by another way of giving the inputs
    values = np.array([INPUTS[name] for name in model.input_names])
    again = model.joint_reactions(q, v, a, inputs=values)
    for name, wrench in found.items():
        assert np.array_equal(wrench, again[name])


@pytest.mark.parametrize("kinds", [("revolute", "prismatic", "helical"), ("revolute", "helical", "ball")])
@pytest.mark.parametrize("seed", range(4))
def test_links_are_in_balance_under_constraints_of_every_kind(seed, kinds):
    model, q, v = constrained_tree(seed, nbody=8, kinds=kinds, base=("fixed", "free")[seed % 2])
    rng = np.random.default_rng(seed)
    flat = rubbed(model.flat, rng)
    model = vt.Model(replace(flat, loads=(*driving_loads(flat), *conservative_loads(flat))))
    tau = rng.standard_normal(model.nv)
    a, multipliers = model.forward_dynamics(q, v, tau, inputs=INPUTS)
    assert len(multipliers) == len(every_constraint(flat, q, rng)) and np.abs(multipliers).min() > 0
    found = model.joint_reactions(q, v, torque=tau, inputs=INPUTS)
    check(model, q, v, tau, a, multipliers, found)
    given = model.joint_reactions(q, v, a, inputs=INPUTS, multipliers=multipliers)
    known = model.joint_reactions(q, v, a, torque=tau, inputs=INPUTS)
    for name, wrench in found.items():
        assert np.array_equal(wrench, given[name]) and np.array_equal(wrench, known[name])
    # without their multipliers the links are not in balance
    none = model.joint_reactions(q, v, a, inputs=INPUTS, multipliers=np.zeros(len(multipliers)))
    assert max(np.abs(none[name] - found[name]).max() for name in found) > 1e-3


def test_a_string_that_is_let_out_pulls_at_its_winch():
    """A distance whose length is a coordinate: the bodies feel the string, the winch its joint force."""
    flat, q, v = random_tree(2, nbody=6)
    names = singles(flat)
    slot = flat.joints[[j.name for j in flat.joints].index(names[-1])].q_slice
    bare = vt.Model(replace(flat, constraints=(vt.Distance("world", "link1", names[-1]),)))
    q[slot] = np.linalg.norm(bare.frame_pose("link1", q)[:3, 3])
    assert abs(bare.constraint_errors(q)[0]) < 1e-12
    v = bare.project_velocity(q, v)
    a, multipliers = bare.forward_dynamics(q, v)
    links = check(bare, q, v, np.zeros(bare.nv), a, multipliers, bare.joint_reactions(q, v))
    assert abs(links.in_joint).max() > 1e-3


@pytest.mark.parametrize("seed", range(3))
def test_links_are_in_balance_where_joints_are_prescribed(seed):
    flat, q, v = random_tree(seed, nbody=7, kinds=ALL)
    held = np.zeros(len(flat.damping), bool)
    moved = singles(flat)[:2]
    rates = dict(zip(moved, (1.5, -2.5), strict=True))
    for joint in flat.joints:
        held[joint.v_slice] = joint.name in moved
    model = vt.Model(replace(flat, kinematic=held, loads=driving_loads(flat)))
    a, multipliers = model.forward_dynamics(q, v, inputs=INPUTS, prescribed=rates)
    found = model.joint_reactions(q, v, inputs=INPUTS, prescribed=rates)
    links = check(model, q, v, np.zeros(model.nv), a, multipliers, found)
    # along a prescribed joint the wrench has the force that moves it
    driver = links.projected(found) - links.in_joint
    assert np.abs(driver[held]).min() > 1e-6
    other = model.joint_reactions(q, v, inputs=INPUTS)
    assert max(np.abs(other[name] - found[name]).max() for name in found) > 1e-3


def test_massless_bodies_pass_wrenches_on():
    """A universal joint of two hinges with a massless cross: both transmit one wrench."""
    for seed in range(4):
        rng = np.random.default_rng(seed)
        flat = random_flat(rng, nbody=6, massless=True)
        model, (q, v) = vt.Model(flat), random_state(flat, rng)
        a, multipliers = model.forward_dynamics(q, v)
        found = model.joint_reactions(q, v)
        check(model, q, v, np.zeros(model.nv), a, multipliers, found, {})
        assert (flat.mass == 0).any()


def test_pinocchio_has_the_same():
    pin = pytest.importorskip("pinocchio")
    for seed in range(8):
        rng = np.random.default_rng(seed)
        flat = random_flat(rng, nbody=8, base=("fixed", "free")[seed % 2])
        model, theirs = vt.Model(flat), pinocchio_model(flat)
        (q, v), data = random_state(flat, rng), theirs.createData()
        a = rng.standard_normal(model.nv)
        pin.rnea(theirs, data, q, v, a)
        found = model.joint_reactions(q, v, a)
        for name, wrench in found.items():
            expected = data.f[theirs.getJointId(name)].vector[[3, 4, 5, 0, 1, 2]]
            assert np.abs(wrench - expected).max() < 1e-11 * max(1.0, np.abs(expected).max())


# ---- trees as people build them -------------------------------------------------------------------------------


def test_a_hanging_rod():
    """A rod at rest: the hinge carries its weight, in the axes of the joint that has turned with it."""
    tree = vt.Tree("rod")
    tree.world.add(vt.tz(2.0), vt.rx("hinge"), vt.tz(-0.5), vt.body("rod", 3.0, (0.1, 0.1, 0.01)))
    model = tree.compile()
    for angle in (0.0, 0.7, -2.0):
        weight = 3.0 * 9.81
        held = model.joint_reactions([angle], [0.0], torque=[weight * 0.5 * np.sin(angle)])["hinge"]
        up = [0.0, np.sin(angle) * weight, np.cos(angle) * weight]
        assert held == pytest.approx([weight * 0.5 * np.sin(angle), 0, 0, *up], abs=1e-12)
    falling = model.joint_reactions([np.pi / 2], [0.0])["hinge"]
    assert abs(falling[0]) < 1e-12
    # the ends of a rod that falls sideways: m g I / (I + m c^2) of the weight is left at the hinge
    assert np.hypot(*falling[4:]) == pytest.approx(3.0 * 9.81 * 0.1 / (0.1 + 3.0 * 0.25))


@pytest.mark.parametrize("joint", [
    lambda: vt.screw("j", (0, 0.6, 0.8), point=(0.3, -0.2, 0.1), pitch=0.2), lambda: vt.screw("j", (1, 2, 2)),
    lambda: vt.prismatic("j", (1, 1, 0)), lambda: vt.ball("j"), lambda: vt.free("j"), lambda: vt.planar("j", (0, 1, 1)),
    lambda: vt.universal("j"), lambda: vt.cylindrical("j", (1, 0, 1)),
])  # fmt: skip
def test_wrenches_are_in_the_axes_of_the_joints_frame(joint):
    """The frame with the joint's name: a body that is welded there by a wrench of that reading is in balance."""
    made = joint()
    parts = made if isinstance(made, list) else [made]
    tree = vt.Tree("t")
    tree.world.add(vt.tx(0.4), vt.ry(0.3), *parts, vt.ty(0.2), vt.rz(0.7), vt.body("b", 2.0, (0.2, 0.3, 0.4)))
    model = tree.compile()
    rng = np.random.default_rng(0)
    q, v = model.random_configuration(rng), rng.standard_normal(model.nv)
    a = rng.standard_normal(model.nv)
    # the same body, free in space, moved by nothing but the joint's wrench at the joint's frame
    alone = vt.Tree("alone")
    at = alone.world.add(vt.free("f"), vt.frame("hold"))
    pose, body = model.frame_pose("j", q), model.frame_pose("b", q)
    offset = np.linalg.inv(pose) @ body
    at.add(vt.fixed("x", xyz=offset[:3, 3], rotation=offset[:3, :3]), vt.body("b", 2.0, (0.2, 0.3, 0.4)))
    wrench = model.joint_reactions(q, v, a)["j"]
    alone.load(vt.Wrench("hold", tuple(wrench[:3]), tuple(wrench[3:]), axes="local"))
    single = alone.compile()
    free_q = vt.lie.pose_from_matrix(pose)
    local = model.frame_velocity("j", q, v, "local")
    found = single.forward_dynamics(free_q, local[[3, 4, 5, 0, 1, 2]]).acceleration
    expected = model.frame_acceleration("j", q, v, a, "local")[[3, 4, 5, 0, 1, 2]]
    assert found == pytest.approx(expected, abs=1e-12)


def test_a_link_may_have_the_joints_name():
    tree = vt.Tree("same")
    tree.world.add(vt.rz(0.4), vt.rx("a"), vt.tz(-1.0), vt.body("a", 2.0, (0.1, 0.1, 0.1)))
    other = vt.Tree("other")
    other.world.add(vt.rz(0.4), vt.rx("a"), vt.tz(-1.0), vt.body("b", 2.0, (0.1, 0.1, 0.1)))
    wrenches = [t.compile().joint_reactions([0.3], [2.0])["a"] for t in (tree, other)]
    assert wrenches[0] == pytest.approx(wrenches[1], abs=1e-13)


def test_loads_in_python_act_in_the_joints():
    class ExternalWrench(vt.Force):
        def force(self, model, t, q, v, u):
            return np.array([0.3 + t, -0.2])

    class Hill(vt.Potential):
        def energy(self, model, q):
            return float(np.cos(q).sum())

    class Line(vt.Constraint):
        def value(self, model, q):
            return float(q[0] - q[1])

    for more in ((), (Line(),)):
        tree = vt.Tree("two")
        tree.world.add(vt.rx("a"), vt.tz(-1.0), vt.body("one", 1.0, (0.1, 0.1, 0.1)),
                       vt.rx("b"), vt.tz(-0.5), vt.body("two", 2.0, (0.2, 0.1, 0.1)))  # fmt: skip
        tree.load(ExternalWrench(), Hill())
        tree.constrain(*more)
        model, q, v = tree.compile(), np.array([0.4, 0.4]), np.array([0.7, 0.7])
        found = model.joint_reactions(q, v, t=0.5)
        expected = np.array([0.8, -0.2]) + np.sin(q)
        if more:
            expected += model.forward_dynamics(q, v, t=0.5).multipliers[0] * np.array([1.0, -1.0])
        assert [found["a"][0], found["b"][0]] == pytest.approx(expected, abs=1e-8)


def test_reduced_models_and_euler_angles_have_the_same():
    rng = np.random.default_rng(5)
    while True:
        flat, q, v = random_tree(int(rng.integers(1000)), nbody=7, kinds=ALL, base="free")
        if len(singles(flat)) > 3:
            break
    names = singles(flat)
    rows = (vt.gear(names[0], names[1], 1.4), vt.PointConstraint(flat.link_names[-1], "world", (0, 0, 1)))
    for constraints in (rows[:1], rows):
        full = vt.Model(replace(flat, constraints=constraints, loads=driving_loads(flat)))
        model = full.reduced()
        q, v, tau = model.contract(full.neutral()), rng.standard_normal(model.nv), rng.standard_normal(model.nv)
        q = model.integrate(q, 0.3 * rng.standard_normal(model.nv))
        if len(constraints) > 1:
            v = model.project_velocity(q, v)
        push = np.zeros(full.nv)
        push[model._followers.own_v] = tau
        found = model.joint_reactions(q, v, torque=tau, inputs=INPUTS)
        expected = full.joint_reactions(model.expand(q), model.expand_velocity(v), torque=push, inputs=INPUTS)
        a, multipliers = model.forward_dynamics(q, v, tau, inputs=INPUTS)
        given = model.joint_reactions(q, v, a, inputs=INPUTS, multipliers=multipliers)
        for name, wrench in expected.items():
            assert np.array_equal(found[name], wrench)
            assert np.abs(given[name] - wrench).max() < 1e-9 * max(1.0, np.abs(wrench).max())
    # in Euler angles the joints that are not expanded transmit the same
    full = vt.Model(replace(flat, loads=driving_loads(flat)))
    euler = full.euler()
    q, v = random_state(flat, rng, speed=0.5)
    at, rate = euler.from_native(q, v)
    one, two = full.joint_reactions(q, v, inputs=INPUTS), euler.joint_reactions(at, rate, inputs=INPUTS)
    for name in singles(flat):
        assert np.abs(one[name] - two[name]).max() < 1e-9 * max(1.0, np.abs(one[name]).max()), name


def test_bad_input_is_named():
    tree = vt.Tree("arm")
    tree.world.add(vt.rx("shoulder"), vt.tz(-1.0), vt.body("upper", 1.0))
    tree.load(vt.JointForce("shoulder", "drive"))
    for model in (tree.compile(), tree.compile().reduced()):
        for more, word in (({"torque": [1.0, 2.0]}, "^torque"), ({"inputs": {"drve": 1.0}}, 'did you mean "drive"'),
                           ({"inputs": [[1.0]]}, "^inputs"), ({"inputs": [np.nan]}, "inputs"), ({"a": ["x"]}, "^a"),
                           ({"multipliers": [1.0]}, "^multipliers"), ({"prescribed": {"shoulder": 1.0}}, "prescribed"),
                           ({"inputs": lambda t, q, v: [1.0]}, "^inputs"),
                           ({"inputs": {"drive": lambda t: 1.0}}, "^inputs")):  # fmt: skip
            with pytest.raises(vt.VitreeError, match=word):
                model.joint_reactions([0.0], [0.0], **more)
        with pytest.raises(vt.InputError, match="too large"):
            model.joint_reactions([0.0], [1e200])
