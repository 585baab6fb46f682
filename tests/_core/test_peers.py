"""Real robots against Pinocchio: kinematics and dynamics at random states."""

from __future__ import annotations

from dataclasses import replace
from xml.etree import ElementTree

import numpy as np
import pinocchio as pin
import pytest

import vitree as vt
from vitree.errors import ModelError
from vitree.urdf.robots import example_robots, find_robot

#: name, whether its base floats
ROBOTS = [
    ("talos_full_v2", True), ("g1_29dof", True), ("anymal_c", True), ("panda", False), ("ur5", False),
    ("allegro_right_hand", False), ("bolt", True), ("simple_humanoid", True), ("human_description/human", True),
]  # fmt: skip
STATES = 20


class Peer:
    """The same file in Pinocchio, and the maps between the two orders of coordinates."""

    def __init__(self, path, floating):
        args = (str(path), pin.JointModelFreeFlyer()) if floating else (str(path),)
        self.model = pin.buildModelFromUrdf(*args)
        # joint damping is a load here, and not part of aba; Pinocchio 4 has it in there
        for vector in (self.model.damping, self.model.friction, self.model.armature):
            vector[:] = 0
        self.data = self.model.createData()
        self.own = vt.load_urdf(path, base="free" if floating else "fixed", mimic="independent")
        self.order = np.zeros(self.own.nv, dtype=int)
        for name, joint in zip(self.model.names[1:], self.model.joints[1:], strict=True):
            self.order[joint.idx_v : joint.idx_v + joint.nv] = np.r_[self.own.joint(name).v_slice]

    def q(self, q):
        """Pinocchio's configuration: continuous joints as (cos, sin)."""
        out = np.empty(self.model.nq)
        for name, joint in zip(self.model.names[1:], self.model.joints[1:], strict=True):
            part = q[self.own.joint(name).q_slice]
            out[joint.idx_q : joint.idx_q + joint.nq] = (
                (np.cos(part[0]), np.sin(part[0])) if joint.nq == 2 else part
            )
        return out


def close(a, b, tolerance=1e-10):
    assert np.abs(a - b).max() <= tolerance * np.abs(b).max()


@pytest.mark.parametrize(("name", "floating"), ROBOTS, ids=[name for name, _ in ROBOTS])
def test_agrees_with_pinocchio(name, floating):
    peer = Peer(find_robot(name), floating)
    own, model, data, order = peer.own, peer.model, peer.data, peer.order
    assert own.nv == model.nv
    assert own.total_mass == pytest.approx(pin.computeTotalMass(model), rel=1e-13)
    rng = np.random.default_rng(0)
    bodies = ((k, f) for k, f in enumerate(model.frames) if f.type == pin.FrameType.BODY)
    links = [(k, f.name) for k, f in bodies if f.name != "universe"]
    assert {n for _, n in links} <= set(own.link_names)
    for state in range(STATES):
        q = own.random_configuration(rng)
        v, a, tau = rng.normal(size=(3, own.nv))
        pq, pv = peer.q(q), v[order]
        close(own.rnea(q, v, a)[order], pin.rnea(model, data, pq, pv, a[order]))
        close(own.aba(q, v, tau)[order], pin.aba(model, data, pq, pv, tau[order]))
        M = pin.crba(model, data, pq)
        close(own.crba(q)[np.ix_(order, order)], np.triu(M) + np.triu(M, 1).T)
        assert own.kinetic_energy(q, v) == pytest.approx(pin.computeKineticEnergy(model, data, pq, pv), rel=1e-10)
        potential = pin.computePotentialEnergy(model, data, pq)
        assert own.potential_energy(q) == pytest.approx(potential, rel=1e-10, abs=1e-9)
        com = pin.centerOfMass(model, data, pq, pv)
        assert np.abs(own.center_of_mass(q) - com).max() < 1e-10
        # Pinocchio's centroidal momentum is about the COM, linear rows first
        h = pin.computeCentroidalMomentum(model, data, pq, pv)
        expected = np.concatenate((h.angular + np.cross(com, h.linear), h.linear))
        close(own.momentum(q, v), expected)
        pin.computeJointJacobians(model, data, pq)
        pin.updateFramePlacements(model, data)
        poses = own.frame_poses(q)
        for k, link in links:
            assert np.abs(poses[link] - data.oMf[k].homogeneous).max() < 1e-10
        for k, link in links[state % 3 :: 3]:
            for axes, frame in (("world", pin.LOCAL_WORLD_ALIGNED), ("local", pin.LOCAL)):
                J = pin.getFrameJacobian(model, data, k, frame)
                mine = own.frame_jacobian(link, q, axes=axes)[:, order]
                assert np.abs(np.vstack((mine[3:], mine[:3])) - J).max() < 1e-10
    # retraction
    q0, q1 = own.random_configuration(rng), own.random_configuration(rng)
    dq = rng.normal(size=own.nv)
    close(peer.q(own.integrate(q0, dq)), pin.integrate(model, peer.q(q0), dq[order]))
    if not any(joint.nq == 2 for joint in model.joints):  # there it is taken modulo a turn
        close(own.difference(q0, q1)[order], pin.difference(model, peer.q(q0), peer.q(q1)))


#: The file without a robot name, the one with a joint to a link that is not there, and those without a joint.
UNNAMED, LOOSE = "ur_description/ur3", "falcon_description/falcon"
STILL = "hector_description/quadrotor_base", "iris_description/iris_simple", "bluevolta_description/bluevolta"


def followers(path, own):
    """Joint -> (the joint that it follows in the end, factor, offset), from the XML."""
    direct = {}
    for joint in ElementTree.parse(path).iter("joint"):
        mimic = joint.find("mimic")
        if mimic is not None and {joint.get("name"), mimic.get("joint")} <= set(own.joint_names):
            numbers = float(mimic.get("multiplier", 1)), float(mimic.get("offset", 0))
            direct[joint.get("name")] = mimic.get("joint"), *numbers
    ends = {}
    for name in direct:
        leader, factor, offset = direct[name]
        while leader in direct:
            leader, more, shift = direct[leader]
            factor, offset = factor * more, offset + factor * shift
        ends[name] = leader, factor, offset
    return ends


@pytest.mark.parametrize("floating", [False, True], ids=["fixed", "free"])
@pytest.mark.parametrize("name", [name for name in example_robots() if name not in (UNNAMED, LOOSE)])
def test_every_example_robot_agrees_with_pinocchio(name, floating):
    """Inverse dynamics, mass matrix and forward dynamics; those of followers by the chain rule."""
    if name in STILL and not floating:
        pytest.skip("nothing moves")
    path = example_robots()[name]
    peer = Peer(path, floating)
    every, model, data, order = peer.own, peer.model, peer.data, peer.order
    assert every.nv == model.nv
    own, follows = vt.load_urdf(path, base="free" if floating else "fixed"), followers(path, every)
    assert own.nv == every.nv - len(follows)
    # coordinates and velocities of all joints: at = G q + g
    G = np.zeros((every.nv, own.nv))
    for joint in every.joints:
        leader, factor, _ = follows.get(joint.name, (joint.name, 1.0, 0.0))
        G[joint.v_slice, own.joint(leader).v_slice] = factor * np.eye(joint.v_slice.stop - joint.v_slice.start)
    # a link "world" stays where it is, and the base floats below its weld; in Pinocchio the link floats
    weld = pin.SE3.Identity()
    if floating and "world" in own.flat.link_parent[1:2]:
        weld = pin.SE3(own.frame_pose(own.link_names[1], own.neutral()))
        G[:6, :6] = weld.action
    rng = np.random.default_rng(0)
    for _ in range(3):
        q, (v, a, tau) = own.random_configuration(rng), rng.normal(size=(3, own.nv))
        at = np.empty(every.nq)
        for joint in every.joints:
            leader, factor, offset = follows.get(joint.name, (joint.name, 1.0, 0.0))
            at[joint.q_slice] = factor * q[own.joint(leader).q_slice] + offset
        pq, pv, pa = peer.q(at), (G @ v)[order], (G @ a)[order]
        if floating:
            pq[:7] = pin.SE3ToXYZQUAT(pin.XYZQUATToSE3(pq[:7]) * weld.inverse())
        close(own.rnea(q, v, a), G[order].T @ pin.rnea(model, data, pq, pv, pa))
        M = pin.crba(model, data, pq)
        M = G[order].T @ (np.triu(M) + np.triu(M, 1).T) @ G[order]
        close(own.crba(q), M)
        if own.singular:
            with pytest.raises(ModelError, match="moves no mass"):
                own.aba(q, v, tau)
            continue
        bias = G[order].T @ pin.rnea(model, data, pq, pv, 0 * pa)
        expected, doubt = np.linalg.solve(M, tau - bias), 0.0
        if not follows and weld.isIdentity():
            local, world = (pin.aba(model, data, pq, pv, tau[order], c)
                            for c in (pin.Convention.LOCAL, pin.Convention.WORLD))  # fmt: skip
            expected[order] = local
            doubt = np.abs(world - local).max() / np.abs(local).max()
        # of iCub, whose mass matrix has a condition number of up to 1e11, Pinocchio's own two ways differ by more
        close(own.aba(q, v, tau), expected, max(1e-10, doubt))


def test_euler_base_is_the_same_robot():
    """base="euler" and base="free" have equal energies, momenta and links at states that correspond."""
    path = find_robot("talos")
    free, euler = vt.load_urdf(path, base="free"), vt.load_urdf(path, base="euler")
    expanded, rng = free.euler(), np.random.default_rng(1)
    for _ in range(5):
        q, v = free.random_configuration(rng), rng.normal(size=free.nv)
        qe, ve = expanded.from_native(q, v)
        for model in (euler, expanded):
            assert model.kinetic_energy(qe, ve) == pytest.approx(free.kinetic_energy(q, v), rel=1e-12)
            close(model.momentum(qe, ve), free.momentum(q, v), 1e-12)
            for link in free.link_names[::7]:
                assert np.abs(model.frame_pose(link, qe) - free.frame_pose(link, q)).max() < 1e-12


def test_recursive_newton_on_talos_needs_at_most_two_iterations():
    """From the ABA predictor and from extrapolation, at dt = 1e-3, at walking and at falling speed."""
    model = vt.load_urdf(find_robot("talos_full_v2"), base="free")
    model = vt.Model(replace(model.full.flat, friction=0 * model.full.friction)).reduced()
    rng = np.random.default_rng(2)
    for speed in (0.1, 1.0):
        v = speed * rng.normal(size=model.nv)
        for guess in ("aba", "extrapolate"):
            run = vt.simulate(model, model.neutral(), v, duration=0.3, dt=1e-3, solver="recursive-newton", guess=guess)
            assert run.iterations_max <= 2
