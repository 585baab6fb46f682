"""MJCF: models of MuJoCo, read through its own compiler."""

from vitree.mjcf.reader import MujocoRobot, from_mujoco, load_mjcf

__all__ = ["MujocoRobot", "from_mujoco", "load_mjcf"]
