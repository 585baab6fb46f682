"""Vehicles on Lie groups: what they are made of, and builders of the common ones."""

from vitree.vehicles.base import Vehicle
from vitree.vehicles.boat import Boat, boat
from vitree.vehicles.helicopter import Helicopter, helicopter
from vitree.vehicles.rigid import RigidVehicle

__all__ = ["Boat", "Helicopter", "RigidVehicle", "Vehicle", "boat", "helicopter"]
