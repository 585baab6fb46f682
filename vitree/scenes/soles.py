"""Scenes of robots that stand on the meshes of their soles, with all other meshes in contact as well."""

from __future__ import annotations

from dataclasses import replace
from fnmatch import fnmatch

import numpy as np

from vitree.mechanism.contacts import Ground
from vitree.model.model import Model
from vitree.model.placement import place_on_ground
from vitree.model.static_equilibrium import static_equilibrium
from vitree.scenes.base import Motion, SkippedError, Stage, depth, largest, scene
from vitree.scenes.robots import robot

#: Robot -> a posture by patterns of joints [rad], and whether joints get a small inertia because bodies lack theirs.
POSTURES: dict[str, tuple[dict[str, float], bool]] = {
    "talos": ({"leg_*_3_joint": -0.411354, "leg_*_4_joint": 0.859395, "leg_*_5_joint": -0.448041,
               "arm_left_1_joint": 0.25847, "arm_right_1_joint": -0.25847, "arm_left_2_joint": 0.173046,
               "arm_right_2_joint": -0.173046, "arm_*_4_joint": -0.525366}, False),
    "romeo": ({"?HipPitch": -0.3, "?KneePitch": 0.6, "?AnklePitch": -0.3, "?ShoulderPitch": 1.3}, True),
    "icub": ({}, True),
    "g1": ({"*_hip_pitch_joint": -0.312, "*_knee_joint": 0.669, "*_ankle_pitch_joint": -0.363}, False),
}  # fmt: skip
#: How far from the ground corners of a sole may be that carry the robot: soles of meshes are seldom flat [m].
NEAR = 2e-3


def stands(name: str) -> tuple[Model, np.ndarray, np.ndarray]:
    """Return a robot on its meshes, without friction in its joints; its configuration; and targets of its drives.

    Raises a SkippedError if the robot is not installed.
    """
    posture, light = POSTURES[name]
    whole = robot(name, base="free", ground=Ground(friction=0.8), armature={"*": 1e-3} if light else None)
    bare = np.zeros(whole.full.nv)
    model = Model(replace(whole.full.flat, damping=bare, friction=bare)).with_drives({"*": (3000.0, 100.0)})
    q = model.neutral()
    for joint in model.joints:
        for pattern, angle in posture.items():
            if fnmatch(joint.name, pattern):
                q[joint.q_slice] = angle
    q = place_on_ground(model, q)
    found = static_equilibrium(model, q, tolerance=NEAR)
    if not found.possible:
        raise SkippedError(f"{name} does not stand: {found.why}")
    return model, q, np.array([found.targets[drive.joint] for drive in model.drives])


def _soles(name: str, quick: bool) -> Stage:
    model, q, targets = stands(name)
    duration, dt = (0.2 if quick else 60.0), 2e-3

    def measure(motion: Motion) -> dict[str, float]:
        late = motion.q[motion.t >= duration / 2]
        return {"creep in the second half [m or rad]": largest(late - late[0]), "penetration [m]": depth(model, motion)}

    return Stage(model=model, q=q, v=model.zero_velocity(), duration=duration, dt=dt, measure=measure,
                 targets=np.tile(targets, (round(duration / dt), 1)), every=1 if quick else 50)  # fmt: skip


@scene("talos-soles", "robots", "Talos stands on the meshes of its soles for a minute; it does not creep")
def talos_soles(quick: bool) -> Stage:
    return _soles("talos", quick)


@scene("romeo-soles", "robots", "Romeo stands on the meshes of its soles for a minute; it does not creep")
def romeo_soles(quick: bool) -> Stage:
    return _soles("romeo", quick)


@scene("icub-soles", "robots", "iCub stands on the meshes of its soles for a minute; it does not creep")
def icub_soles(quick: bool) -> Stage:
    return _soles("icub", quick)
