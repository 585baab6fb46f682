"""Inverse kinematics by tasks beside Pink (Pinocchio) and mink (MuJoCo), in the same run.

    python benchmarks/task_kinematics.py [--smoke]

Needs pin-pink, mink and qpsolvers beside the extra `control`. All solve their programs by DAQP.

    python benchmarks/task_kinematics.py --torques [--smoke]

Only torques, beside TSID (package `tsid`) where it is installed.

Poses: UR5 and Panda are to bring the last link to 50 poses of random postures within the limits, from near the middle
of these; 1e-6 m and rad count as reached. Pink and mink step with gain 1 and the Levenberg-Marquardt damping 0.01
until they are there, within limits of position, and start up to 20 times, at random from the second time on, as vitree
does. Times are of a pose, the mean over poses of the least of three.

Velocities: one call for an arm with the pose of a link and a posture; and one for a G1 that stands, with the poses of
two feet, the positions of eight links, the center of mass, and a posture. "at limits" has a step so short that limits
of velocity are active. "feet fixed" has the poses of the feet as equations, which mink and Pink have as `constraints`.
Frames are taken, and targets were set before; what changes with q is in the call.

Torques: a call of WholeBodyControl for a G1 or a Talos that stands on the eight corners of its soles, with the center
of mass, the orientation of the trunk, the pose of a hand, and a posture. TSID has the same tasks, weights, gains,
contacts and limits of effort; its solver is `SolverHQuadProgFast`. A call of TSID is
`computeProblemData`, `solve` and `getActuatorForces`.
"""

from __future__ import annotations

import argparse
import sys
import time
import warnings
from pathlib import Path

import numpy as np
import peers

import vitree as vt
from vitree.control import (
    AccelerationTask,
    CenterOfMassTask,
    OrientationTask,
    PoseTask,
    PositionTask,
    PostureTask,
    SupportContact,
    Tasks,
    WholeBodyControl,
)

sys.path.insert(0, str(Path(__file__).parent.parent / "tests"))
from touching_models import STANDING, standing

FEET = ("left_ankle_roll_link", "right_ankle_roll_link")
LINKS = ("left_wrist_yaw_link", "right_wrist_yaw_link", "left_elbow_link", "right_elbow_link", "left_knee_link",
         "right_knee_link", "torso_link", "pelvis")  # fmt: skip
NEAR, ATTEMPTS, ITERATIONS, DAMPED = 1e-6, 20, 100, 1e-2


def in_turn(calls: dict, repeats: int, count: int) -> dict[str, float]:
    """Least microseconds of each call, the calls taking turns."""
    least = dict.fromkeys(calls, np.inf)
    for _ in range(repeats):
        for name, call in calls.items():
            start = time.perf_counter()
            for _ in range(count):
                call()
            least[name] = min(least[name], (time.perf_counter() - start) / count)
    return {name: 1e6 * x for name, x in least.items()}


class Pink:
    """Pink on the same robot."""

    def __init__(self, text: str, free: bool, model: vt.Model):
        import pink
        import pinocchio as pin

        self.pink, self.pin = pink, pin
        self.robot = peers.pinocchio_model(text, free)
        self.data = self.robot.createData()
        self.model, self.way = model, peers.pinocchio_coordinates(model, self.robot, free)
        self.limits = [pink.limits.ConfigurationLimit(self.robot)]

    def at(self, q: np.ndarray):
        return self.pink.Configuration(self.robot, self.data, self.way.theirs(q, np.zeros(self.model.nv))[0])

    def frame(self, name: str, X: np.ndarray, position: float, turn: float):
        task = self.pink.tasks.FrameTask(name, position, turn, lm_damping=DAMPED)
        task.set_target(self.pin.SE3(X))
        return task

    def com(self, target: np.ndarray):
        task = self.pink.tasks.ComTask(1.0)
        task.set_target(target)
        return task

    def posture(self, q: np.ndarray, cost: float):
        task = self.pink.tasks.PostureTask(cost)
        task.set_target(self.way.theirs(q, np.zeros(self.model.nv))[0])
        return task

    def velocity(self, at, tasks, dt, fixed=()):
        # limits of position and velocity by default
        return self.pink.solve_ik(at, tasks, dt, solver="daqp", constraints=list(fixed), safety_break=False)

    def call(self, q, tasks, dt, fixed=()):
        theirs = self.way.theirs(q, np.zeros(self.model.nv))[0]

        def run():
            at = self.pink.Configuration(self.robot, self.data, theirs, copy_data=False)
            return self.velocity(at, tasks, dt, fixed)

        return run

    def solve(self, task, q, draw):
        for _ in range(ATTEMPTS):
            at = self.at(q)
            for _ in range(ITERATIONS):
                if np.abs(task.compute_error(at)).max() < NEAR:
                    return True
                v = self.pink.solve_ik(at, [task], 1.0, solver="daqp", limits=self.limits, safety_break=False)
                at.integrate_inplace(v, 1.0)
            q = draw()
        return False


class Mink:
    """mink on the same robot."""

    def __init__(self, text: str, free: bool, model: vt.Model):
        import mink

        self.mink = mink
        self.robot = peers.mujoco_model(text, free)
        for joint in model.joints:  # the limits that the model of the peers leaves out
            if joint.kind in ("revolute", "prismatic") and np.isfinite(joint.lower[0]):
                self.robot.joint(joint.name).range = (joint.lower[0], joint.upper[0])
                self.robot.jnt_limited[self.robot.joint(joint.name).id] = 1
        self.model, self.way = model, peers.mujoco_coordinates(model, self.robot, free)
        self.positions = mink.ConfigurationLimit(self.robot)
        speeds = {joint.name: joint.velocity[0] for joint in model.joints if joint.kind == "revolute"}
        self.limits = [self.positions, mink.VelocityLimit(self.robot, speeds)]

    def theirs(self, q):
        return self.way.theirs(q, np.zeros(self.model.nv))[0]

    def frame(self, name, X, position, turn):
        task = self.mink.FrameTask(name, "body", position, turn, lm_damping=DAMPED)
        task.set_target(self.mink.SE3.from_matrix(X))
        return task

    def com(self, target):
        task = self.mink.ComTask(1.0)
        task.set_target(target)
        return task

    def posture(self, q, cost):
        task = self.mink.PostureTask(self.robot, cost)
        task.set_target(self.theirs(q))
        return task

    def call(self, q, tasks, dt, fixed=()):
        at, theirs = self.mink.Configuration(self.robot), self.theirs(q)

        def run():
            at.update(theirs)
            return self.mink.solve_ik(at, tasks, dt, "daqp", limits=self.limits, constraints=list(fixed))

        return run

    def solve(self, task, q, draw):
        at = self.mink.Configuration(self.robot)
        for _ in range(ATTEMPTS):
            at.update(self.theirs(q))
            for _ in range(ITERATIONS):
                if np.abs(task.compute_error(at)).max() < NEAR:
                    return True
                v = self.mink.solve_ik(at, [task], 1.0, "daqp", limits=[self.positions])
                at.integrate_inplace(v, 1.0)
            q = draw()
        return False


def poses(robot: str, frame: str, count: int) -> None:
    """Print the times of poses, and how many are solved."""
    text = peers.without_damping(vt.find_robot(robot).read_text()).replace('type="prismatic"', 'type="fixed"')
    model = vt.load_urdf(text)
    rng = np.random.default_rng(0)
    targets = [model.frame_pose(frame, model.random_configuration(rng)) for _ in range(count)]
    start = np.array([0.5 * (joint.lower[0] + joint.upper[0]) for joint in model.joints])
    start += 0.3 * (-1.0) ** np.arange(model.nv)  # straight arms are singular
    task = PoseTask(frame)
    tasks = Tasks(model, [task])
    draws = np.random.default_rng(1)

    def ours(X):
        task.target = X
        return tasks.solve(start).reached

    solvers = {"vitree": ours}
    for made, name in ((Pink, "Pink"), (Mink, "mink")):
        peer = made(text, False, model)

        def theirs(X, peer=peer):
            return peer.solve(peer.frame(frame, X, 1.0, 1.0), start, lambda: model.random_configuration(draws))

        solvers[name] = theirs
    seconds, reached = np.full((3, len(solvers), count), np.inf), np.zeros((len(solvers), count), bool)
    for k, X in enumerate(targets):
        for turn in range(3):
            for i, solve in enumerate(solvers.values()):
                begin = time.perf_counter()
                reached[i, k] = solve(X)
                seconds[turn, i, k] = time.perf_counter() - begin
    for name, times, found in zip(solvers, 1e3 * seconds.min(axis=0), reached, strict=True):
        print(f"| {robot} | {name} | {found.sum()} of {count} | {times.mean():.3f} | {times.max():.2f} |")


def velocities(repeats: int, count: int) -> None:
    """Print the times of one velocity."""
    text = peers.without_damping(vt.find_robot("ur5").read_text())
    model = vt.load_urdf(text)
    q, X = np.array([0.3, -1.0, 1.2, -0.5, 0.7, 0.2]), np.eye(4)
    X[:3, 3] = 0.4, 0.2, 0.5
    ours = Tasks(model, [PoseTask("wrist_3_link", X), PostureTask(q, weight=0.1)])
    calls = {"vitree": lambda: ours.velocity(q, 0.01)}
    for made, name in ((Pink, "Pink"), (Mink, "mink")):
        peer = made(text, False, model)
        calls[name] = peer.call(q, [peer.frame("wrist_3_link", X, 1.0, 1.0), peer.posture(q, 0.1)], 1.0)
    print_row("UR5, pose and posture", in_turn(calls, repeats, count))

    text = peers.without_damping(vt.find_robot("g1").read_text())
    model, (_, q) = vt.load_urdf(text, base="free"), standing("g1")
    rng = np.random.default_rng(0)
    targets = {name: model.frame_pose(name, q) for name in (*FEET, *LINKS)}
    for name in LINKS:
        targets[name][:3, 3] += 0.02 * rng.standard_normal(3)
    com = model.center_of_mass(q)
    peers_of = {name: made(text, True, model) for made, name in ((Pink, "Pink"), (Mink, "mink"))}
    for title, priority, dt in (("G1, 12 tasks", 1, 0.01), ("G1, 12 tasks at limits", 1, 5e-4),
                                ("G1, 12 tasks, feet fixed", 0, 0.01),
                                ("G1, 12 tasks at limits, feet fixed", 0, 5e-4)):  # fmt: skip
        tasks = Tasks(model, [
            *(PoseTask(name, targets[name], priority=priority) for name in FEET),
            *(PositionTask(name, targets[name][:3, 3], weight=0.5) for name in LINKS),
            CenterOfMassTask(com), PostureTask(q, weight=0.1)])  # fmt: skip
        calls = {"vitree": lambda tasks=tasks, dt=dt: tasks.velocity(q, dt)}
        for name, peer in peers_of.items():
            feet = [peer.frame(each, targets[each], 1.0, 1.0) for each in FEET]
            rest = [*(peer.frame(each, targets[each], 0.5, 0.0) for each in LINKS), peer.com(com), peer.posture(q, 0.1)]
            calls[name] = peer.call(q, rest if priority == 0 else [*feet, *rest], dt, feet if priority == 0 else ())
        print_row(title, in_turn(calls, repeats, count))


class Tsid:
    """TSID on the same robot: the tasks of `forces`."""

    def __init__(self, model: vt.Model, name: str, trunk: str, hand: str, q: np.ndarray):
        import pinocchio as pin
        import tsid

        text = peers.without_damping(vt.find_robot(name).read_text())
        robot = peers.pinocchio_model(text, True)
        self.way = peers.pinocchio_coordinates(model, robot, True)
        self.robot = tsid.RobotWrapper(robot, tsid.FLOATING_BASE_SYSTEM, False)
        self.program = tsid.InverseDynamicsFormulationAccForce("tsid", self.robot, False)
        at = self.way.theirs(q, np.zeros(model.nv))[0]
        self.program.computeProblemData(0.0, at, np.zeros(robot.nv))
        data, gain = self.program.data(), 100.0
        frames, corners, _ = STANDING[name]
        self.parts = []

        def keep(part, count, target, mask=None):
            part.setKp(gain * np.ones(count))
            part.setKd(2.0 * np.sqrt(gain) * np.ones(count))
            if mask is not None:
                part.setMask(mask)
            if target is not None:
                sample = tsid.TrajectorySample(len(target))
                sample.value(target)
                part.setReference(sample)
            self.parts.append(part)
            return part

        for frame in frames:
            up, points = np.array([0.0, 0.0, 1.0]), np.array(corners).T
            contact = tsid.Contact6d(frame, self.robot, frame, points, up, 0.7, 0.0, 1e4)
            contact.setReference(self.robot.framePosition(data, robot.getFrameId(frame)))
            self.program.addRigidContact(keep(contact, 6, None), 1e-5)
        com = keep(tsid.TaskComEquality("com", self.robot), 3, self.robot.com(data))
        self.program.addMotionTask(com, 1.0, 1, 0.0)
        for frame, mask in ((trunk, np.array([0.0, 0, 0, 1, 1, 1])), (hand, np.ones(6))):
            X = self.robot.framePosition(data, robot.getFrameId(frame))
            task = tsid.TaskSE3Equality(frame, self.robot, frame)
            task.useLocalFrame(False)
            keep(task, 6, None, mask)
            sample = tsid.TrajectorySample(12, 6)
            sample.value(tsid.SE3ToVector(X))
            task.setReference(sample)
            self.program.addMotionTask(task, 1.0, 1, 0.0)
        posture = keep(tsid.TaskJointPosture("posture", self.robot), robot.nv - 6, at[7:])
        self.program.addMotionTask(posture, 0.01, 1, 0.0)
        bounds = tsid.TaskActuationBounds("bounds", self.robot)
        most = robot.effortLimit[6:]
        bounds.setBounds(-most, most)
        self.program.addActuationTask(bounds, 1.0, 0, 0.0)
        self.parts.append(bounds)
        self.solver = tsid.SolverHQuadProgFast("solver")
        self.solver.resize(self.program.nVar, self.program.nEq, self.program.nIn)
        self.pin = pin

    def call(self, q: np.ndarray, v: np.ndarray):
        at, speed = self.way.theirs(q, v)

        def run():
            found = self.solver.solve(self.program.computeProblemData(0.0, at, speed))
            return self.program.getActuatorForces(found), self.program.getAccelerations(found)

        return run


def forces(repeats: int, count: int) -> None:
    """Print the time of torques of humanoids that stand and move."""
    print("\n| microseconds a call, torques | vitree | TSID | share | difference of accelerations |")
    print("|---|---|---|---|---|")
    for name, trunk, hand in (("g1", "torso_link", "left_wrist_yaw_link"),
                              ("talos", "torso_2_link", "gripper_left_base_link")):  # fmt: skip
        frames, corners, _ = STANDING[name]
        model, q = standing(name)
        v = 0.05 * np.random.default_rng(0).standard_normal(model.nv)
        tasks = [CenterOfMassTask(model.center_of_mass(q)), OrientationTask(trunk).hold(model, q),
                 PoseTask(hand).hold(model, q), PostureTask(q, weight=0.1)]  # fmt: skip
        soles = [SupportContact(frame, corners, damping=20.0) for frame in frames]
        body = WholeBodyControl(model, map(AccelerationTask, tasks), soles, position_limits=False)
        kinds = {"vitree": lambda body=body, q=q, v=v: body.solve(q, v)}
        try:
            peer = Tsid(model, name, trunk, hand, q)
        except ImportError:
            spent = in_turn(kinds, repeats, count)
            print(f"| {name}, 4 tasks, 8 points | {spent['vitree']:.0f} | not installed | | |")
            continue
        theirs = kinds["TSID"] = peer.call(q, v)
        spent = in_turn(kinds, repeats, count)
        own = peer.way.theirs(q, body.solve(q, v).acceleration)[1]
        off = np.abs(theirs()[1] - own).max() / np.abs(own).max()
        share = spent["vitree"] / spent["TSID"]
        print(f"| {name}, 4 tasks, 8 points | {spent['vitree']:.0f} | {spent['TSID']:.0f} | {share:.2f} | {off:.2g} |")


def print_row(title: str, times: dict[str, float]) -> None:
    own = times["vitree"]
    parts = [f"{own:.1f}", *(f"{times[name]:.0f} ({own / times[name]:.3f})" for name in ("Pink", "mink"))]
    print(f"| {title} | {' | '.join(parts)} |")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--smoke", action="store_true", help="only see that it runs")
    parser.add_argument("--torques", action="store_true", help="only torques of humanoids")
    given = parser.parse_args()
    smoke = given.smoke
    warnings.simplefilter("ignore")
    print(peers.machine())
    if given.torques:
        forces(2 if smoke else 100, 3)
        raise SystemExit
    print("\n| poses | | reached | ms, mean | ms, most |\n|---|---|---|---|---|")
    for name, frame in (("ur5", "wrist_3_link"), ("panda", "panda_link7")):
        poses(name, frame, 2 if smoke else 50)
    print("\n| microseconds a velocity | vitree | Pink (share) | mink (share) |\n|---|---|---|---|")
    velocities(2 if smoke else 15, 3 if smoke else 100)
    forces(2 if smoke else 100, 3)
