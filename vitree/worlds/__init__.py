"""Worlds: things from several files, and of shapes, in one model."""

from vitree.worlds.scene import read_scene
from vitree.worlds.world import Thing, World

__all__ = ["Thing", "World", "read_scene"]
