"""Integrators of vehicles, by the families of :data:`vitree.model.system.METHODS_OF`."""

from vitree.model.system import METHODS_OF
from vitree.vehicles.methods.rigid import RIGID_METHODS
from vitree.vehicles.methods.rolling import EXPLICIT_METHODS, WRITTEN_METHODS

METHODS_OF |= {"rigid": RIGID_METHODS, "rolling": EXPLICIT_METHODS, "rolling, written in Python": WRITTEN_METHODS}
