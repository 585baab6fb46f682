"""Tasks of a humanoid that follows a skeleton of a motion capture file: the G1, and the skeleton of `bvh.py`."""

import itertools
import tempfile
from pathlib import Path

import bvh
import numpy as np

import vitree as vt
from vitree.control import OrientationTask, PoseTask, PositionTask, PostureTask, Tasks

#: Axes of the file (left, up, forward) in those of the robot (forward, left, up), and metres of its unit.
AXES, UNIT = np.array([[0.0, 0.0, 1.0], [1.0, 0.0, 0.0], [0.0, 1.0, 0.0]]), 0.01
SIDES = ("left", "right")
SEEN = ("Hips", "Chest", *(f"{side}{part}" for side in ("Left", "Right")
                           for part in ("UpLeg", "Leg", "Foot", "Arm", "ForeArm", "Hand")))  # fmt: skip
POSTURE = {"hip_pitch_joint": -0.3, "knee_joint": 0.6, "ankle_pitch_joint": -0.3, "left_shoulder_roll_joint": 0.15,
           "right_shoulder_roll_joint": -0.15, "elbow_joint": 0.9}  # fmt: skip


def walk() -> bvh.Motion:
    """Return the walk of `bvh.py`, by way of a file."""
    with tempfile.TemporaryDirectory() as folder:
        bvh.write_walk(Path(folder) / "walk.bvh")
        return bvh.read(Path(folder) / "walk.bvh")


class Retargeting:
    """The tasks, and their targets by the frames of a motion.

    Positions are scaled by the length of the legs, and hands are placed against the shoulders by the length of the
    arms. Feet have the first priority, pelvis, trunk and hands the second, a posture the third.
    """

    def __init__(self, robot: vt.Model, motion: bvh.Motion):
        self.robot, self.motion = robot, motion
        self.frames = np.array([self.seen(row) for row in motion.rows])
        q = robot.neutral()
        for joint in robot.joints:
            for name, angle in POSTURE.items():
                if joint.name.endswith(name):
                    q[joint.q_slice] = angle
        place = {name: X[:3, 3] for name, X in robot.frame_poses(q).items()}
        own = [self.length(place, *(f"left_{x}_link" for x in names)) for names in (
            ("hip_roll", "knee", "ankle_roll"), ("shoulder_roll", "elbow", "wrist_yaw"))]  # fmt: skip
        first = dict(zip(SEEN, self.frames[0, :, :3, 3], strict=True))
        theirs = [self.length(first, *names) for names in (
            ("LeftUpLeg", "LeftLeg", "LeftFoot"), ("LeftArm", "LeftForeArm", "LeftHand"))]  # fmt: skip
        self.scale, self.arm = own[0] / theirs[0], own[1] / theirs[1]
        torso = robot.frame_pose("torso_link", q)
        self.shoulder = {side: torso[:3, :3].T @ (place[f"{side}_shoulder_roll_link"] - torso[:3, 3]) for side in SIDES}
        self.height = place["pelvis"] - 0.5 * sum(place[f"{side}_hip_roll_link"] for side in SIDES)
        self.feet = {side: PoseTask(f"{side}_ankle_roll_link") for side in SIDES}
        self.pelvis, self.trunk = PoseTask("pelvis", priority=2), OrientationTask("torso_link", priority=2)
        self.hands = {side: PositionTask(f"{side}_wrist_yaw_link", relative_to="torso_link", weight=0.5, priority=2)
                      for side in SIDES}  # fmt: skip
        rest = PostureTask(q, priority=3, gain=0.1)
        self.tasks = Tasks(robot, [*self.feet.values(), self.pelvis, *self.hands.values(), self.trunk, rest],
                           acceleration_limit=300.0)  # fmt: skip
        self.aim(0.0)
        q[:3] = self.pelvis.target[:3, 3]
        self.start = self.tasks.solve(q, attempts=1).q

    @staticmethod
    def length(place: dict[str, np.ndarray], *names: str) -> float:
        """The length of a limb by the places of its joints [m]."""
        return float(sum(np.linalg.norm(place[a] - place[b]) for a, b in itertools.pairwise(names)))

    def seen(self, row: np.ndarray) -> np.ndarray:
        """The poses (n, 4, 4) of the skeleton's joints in the robot's axes [m]."""
        poses = self.motion.poses(row)
        found = np.array([poses[name] for name in SEEN])
        found[:, :3, :3], found[:, :3, 3] = AXES @ found[:, :3, :3] @ AXES.T, UNIT * found[:, :3, 3] @ AXES.T
        return found

    def aim(self, t: float) -> None:
        """Set the targets to the skeleton's poses at a time [s], between two frames."""
        k = min(int(t / self.motion.dt), len(self.frames) - 2)
        s = t / self.motion.dt - k
        between = (1.0 - s) * self.frames[k] + s * self.frames[k + 1]
        U, _, V = np.linalg.svd(between[:, :3, :3])
        between[:, :3, :3] = U @ V
        at = dict(zip(SEEN, between, strict=True))
        for side in SIDES:
            word = side.title()
            self.feet[side].target = self.scaled(at[f"{word}Foot"])
            way = at["Chest"][:3, :3].T @ (at[f"{word}Hand"] - at[f"{word}Arm"])[:3, 3]
            self.hands[side].target = self.shoulder[side] + self.arm * way
        X = self.scaled(0.5 * (at["LeftUpLeg"] + at["RightUpLeg"]))
        X[:3, :3], X[:3, 3] = at["Hips"][:3, :3], X[:3, 3] + self.height
        self.pelvis.target, self.trunk.target = X, at["Chest"][:3, :3]

    def off(self, t: float, q: np.ndarray) -> list[float]:
        """How far feet, pelvis and hands are from their targets at a time [m]."""
        self.aim(t)
        return [float(np.linalg.norm(e[-3:])) for e in self.tasks.errors(q)[:5]]

    def scaled(self, X: np.ndarray) -> np.ndarray:
        """A pose with its position scaled."""
        return np.vstack([np.column_stack([X[:3, :3], self.scale * X[:3, 3]]), [0, 0, 0, 1]])
