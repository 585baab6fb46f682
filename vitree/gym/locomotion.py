"""Legged robots that follow velocities, a quadruped (Go2) and a humanoid (G1), with what public stacks observe."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from vitree.errors import UnknownNameError
from vitree.geometry.shapes import Box, Sphere
from vitree.gym.layout import Layout
from vitree.gym.randomization import Command, Randomization
from vitree.gym.state import State
from vitree.gym.task import Task, Term
from vitree.gym.terms import below, squared, tilted, touching, tracked
from vitree.mechanism.contacts import Contact, Ground
from vitree.model.model import Model
from vitree.model.placement import place_on_ground
from vitree.urdf.reader import read_urdf
from vitree.urdf.robots import find_robot

#: What the policies of legged_gym, Isaac Lab and MuJoCo Playground see, and the scales of it.
OBSERVED: dict[str, Any] = {
    "base_angular_velocity": 0.25, "projected_gravity": 1.0, "command": (2.0, 2.0, 0.25), "joint_positions": 1.0,
    "joint_velocities": 0.05, "last_action": 1.0,
}  # fmt: skip
#: Noise of these by the same stacks [rad/s, -, rad, rad/s].
NOISE = {"base_angular_velocity": 0.2, "projected_gravity": 0.05, "joint_positions": 0.01, "joint_velocities": 1.5}
#: Step [s], steps of an action, and the longest episode [s].
STEP, SKIP, LONGEST = 0.005, 4, 20.0
#: Width of the tracking of velocities [m/s or rad/s], and the least command that is followed [m/s or rad/s].
WIDTH, MOVING = 0.5, 0.1


@dataclass(frozen=True)
class Legged:
    """A legged robot as tasks take it.

    Attributes
    ----------
    robot : str
        Its name for :func:`vitree.find_robot`.
    feet : pair of tuples of str
        Frames of the feet that stand at the same time in a gait: diagonal pairs of a trot, or one foot each of a walk.
    contacts : tuple of Contact
    pose : dict of pattern to number [rad]
    drives : dict of pattern to fields of :class:`vitree.Drive`
    height : float [m]
        Base below which a robot has fallen.
    air : float [s]
        How long a foot shall be in the air.
    scale : float [rad]
        Of actions.
    """

    robot: str
    feet: tuple[tuple[str, ...], tuple[str, ...]]
    contacts: tuple[Contact, ...]
    pose: Mapping[str, float]
    drives: Mapping[str, Mapping[str, float]]
    height: float
    air: float
    scale: float

    def model(self, ground: Ground) -> Model:
        """Return the robot on a ground; raise an UnknownNameError if its file is not installed."""
        tree = read_urdf(find_robot(self.robot), base="free")
        tree.contact(ground, list(self.contacts))
        return tree.compile().with_drives({name: dict(fields) for name, fields in self.drives.items()})


_CORNERS = [(x, y, -0.03) for x in (-0.05, 0.12) for y in (-0.025, 0.025)]

#: Unitree's Go2: spheres as feet, the box of its trunk.
GO2 = Legged(
    robot="go2", feet=(("FL_foot", "RR_foot"), ("FR_foot", "RL_foot")),
    contacts=(*(Contact(f"{end}{side}_foot", shapes=(Sphere(0.022),)) for end in "FR" for side in "LR"),
              Contact("base", shapes=(Box((0.376, 0.094, 0.114)),))),
    pose={"*_hip_joint": 0.0, "F*_thigh_joint": 0.8, "R*_thigh_joint": 0.8, "*_calf_joint": -1.5},
    drives={"*": {"kp": 40.0, "kd": 1.0}}, height=0.18, air=0.25, scale=0.5,
)  # fmt: skip

#: Unitree's G1 with 29 joints: four points under each foot.
G1 = Legged(
    robot="g1", feet=(("left_ankle_roll_link",), ("right_ankle_roll_link",)),
    contacts=tuple(Contact(f"{side}_ankle_roll_link", points=_CORNERS, radius=0.005) for side in ("left", "right")),
    pose={"*_hip_pitch_joint": -0.2, "*_knee_joint": 0.42, "*_ankle_pitch_joint": -0.23, "*_elbow_joint": 0.87,
          "*_shoulder_pitch_joint": 0.35, "left_shoulder_roll_joint": 0.18, "right_shoulder_roll_joint": -0.18},
    drives={"*_hip_*": {"kp": 100.0, "kd": 2.0}, "*_knee_*": {"kp": 150.0, "kd": 4.0},
            "*_ankle_*": {"kp": 40.0, "kd": 2.0}, "waist_*": {"kp": 100.0, "kd": 3.0},
            "*_wrist_*": {"kp": 10.0, "kd": 0.5}, "*": {"kp": 40.0, "kd": 1.0}}, height=0.5, air=0.4, scale=0.5,
)  # fmt: skip


def go2_velocity(**changes: Any) -> Task:
    """Return the task of a Go2 that follows velocities forward, sideways and about the vertical.

    An action is 12 numbers from -1 to 1, which move the targets of the drives from the pose by up to 0.5 rad. An
    observation is the angular velocity of the base, gravity in its axes, the command, positions of the joints relative
    to the pose, their velocities, and the last action. Episodes end where the trunk touches the ground, tilts, or is
    low.

    Parameters
    ----------
    **changes
        Arguments of the :class:`Task` that are others, and ``ground``, a :class:`vitree.Ground`, ``weights``, a mapping
        of a term of the reward to its weight, and ``noise``, False for observations without noise.

    Raises
    ------
    InputError, UnknownNameError
        If one of them is wrong, or the robot is not installed (extra "robots").

    References
    ----------
    Rudin, Hoeller, Reist and Hutter 2022, "Learning to walk in minutes using massively parallel deep reinforcement
    learning".
    """
    ends = {"contact": touching("base"), "tilt": tilted(1.0), "height": below(GO2.height)}
    return _velocity(GO2, ends, {"x": (-1.0, 1.0), "y": (-0.5, 0.5), "yaw": (-1.0, 1.0)}, changes)


def g1_velocity(**changes: Any) -> Task:
    """Return the task of a G1 that follows velocities forward, sideways and about the vertical.

    It is that of :func:`go2_velocity` with 29 joints, and a robot that falls where its pelvis is low or tilts.

    Parameters
    ----------
    **changes
        As of :func:`go2_velocity`.

    Raises
    ------
    InputError, UnknownNameError
        If one of them is wrong, or the robot is not installed (extra "robots").
    """
    ends = {"tilt": tilted(0.8), "height": below(G1.height)}
    return _velocity(G1, ends, {"x": (-0.5, 1.0), "y": (-0.3, 0.3), "yaw": (-0.5, 0.5)}, changes)


def _velocity(of: Legged, ends: Mapping[str, Any], ranges: Mapping[str, Any], changes: dict[str, Any]) -> Task:
    """Return the task of following velocities of a robot."""
    ground = changes.pop("ground", Ground(friction=0.8))
    weights = changes.pop("weights", {})
    noise = NOISE if changes.pop("noise", True) else {}
    model = of.model(ground)
    q0 = _standing(of, model)
    drawn = Randomization(
        noise=noise, positions={"*_joint": (-0.1, 0.1)}, velocities={"root_joint.*": (-0.2, 0.2)},
    )  # fmt: skip
    task = Task(
        model=model, dt=STEP, frame_skip=SKIP, duration=LONGEST, action="targets",
        action_scale=of.scale, pose=q0, observe=OBSERVED, randomization=drawn, terminated=dict(ends),
        command=Command(ranges, interval=(5.0, 10.0), zero=0.05),
        reward=_rewards(of, weights, changes.get("dt", STEP) * changes.get("frame_skip", SKIP)),
    )  # fmt: skip
    return replace(task, **changes)


def _standing(of: Legged, model: Model) -> np.ndarray:
    q = model.neutral()
    layout = Layout(model, of.pose)
    q[layout.joints_q] = layout.pose[layout.joints_q]
    return place_on_ground(model, q)


def _rewards(of: Legged, weights: Mapping[str, float], dt: float) -> dict[str, Term]:
    """Return the terms of the reward by name, with weights per second for actions of the time dt [s]."""
    terms: dict[str, Term] = {
        "linear velocity": (2.0, tracked(lambda s: s.base_linear_velocity[:, :2], lambda s: s.command[:, :2], WIDTH)),
        "yaw rate": (1.0, tracked(lambda s: s.base_angular_velocity[:, 2], lambda s: s.command[:, 2], WIDTH)),
        "vertical velocity": (-2.0, squared(lambda s: s.base_linear_velocity[:, 2])),
        "roll and pitch rate": (-0.03, squared(lambda s: s.base_angular_velocity[:, :2])),
        "orientation": (-2.5, squared(lambda s: s.projected_gravity[:, :2])),
        "effort": (-1e-4, squared(lambda s: s.drive_forces)),
        "acceleration": (-2.5e-7, squared(lambda s: s.joint_accelerations)),
        "action rate": (-0.01, squared(lambda s: s.last_action - s.previous_action)),
        "pose": (-0.1, squared(lambda s: s.joint_positions)),
        "gait": (0.6, lambda s: _gait(s, of)),
        "air time": (1.0, lambda s: _air(s, of) / dt),
    }
    unknown = {*weights} - {*terms}
    if unknown:
        raise UnknownNameError("term of the reward", min(unknown), terms, argument="weights")
    return {name: (dt * weights.get(name, weight), function) for name, (weight, function) in terms.items()}  # type: ignore[misc]


def _air(state: State, of: Legged) -> np.ndarray:
    """How much longer feet were in the air than they shall, where they touch down to move, (n,) [s]."""
    feet = state.columns(*of.feet[0], *of.feet[1])
    longer = np.minimum(state.last_air_time[:, feet], of.air) - 0.4 * of.air
    found: np.ndarray = (longer * state.first_contact[:, feet]).sum(axis=1) * _moves(state)
    return found


def _gait(state: State, of: Legged) -> np.ndarray:
    """Whether the feet of one pair stand and those of the other are in the air, where the robot is to move, (n,)."""
    one, other = (state.contacts[:, state.columns(*pair)] for pair in of.feet)
    found = (one.all(axis=1) & ~other.any(axis=1)) | (other.all(axis=1) & ~one.any(axis=1))
    return (found * _moves(state)).astype(float)


def _moves(state: State) -> np.ndarray:
    found: np.ndarray = np.linalg.norm(state.command, axis=1) > MOVING
    return found
