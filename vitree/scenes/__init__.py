"""Scenes by which people judge simulators, each with its metric: ``vitree bench scenes``."""

from vitree.scenes.base import SCENES as SCENES
from vitree.scenes.running import SceneTable as SceneTable
from vitree.scenes.running import scenes as scenes
