"""MJCF: models of MuJoCo, read through its own compiler."""

from vitree.mjcf.reader import Keyframe, MujocoRobot, check_mjcf, from_mujoco, load_mjcf

__all__ = ["Keyframe", "MujocoRobot", "check_mjcf", "from_mujoco", "load_mjcf"]
