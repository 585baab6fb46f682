"""Vehicles on Lie groups: their classes, and functions that make the common ones."""

from vitree.vehicles import methods as methods  # registers the integrators
from vitree.vehicles.base import Vehicle
from vitree.vehicles.boat import Boat, Water, Wave, Wind, boat
from vitree.vehicles.car import Car, car
from vitree.vehicles.helicopter import Helicopter, helicopter
from vitree.vehicles.rigid import RigidVehicle
from vitree.vehicles.rolling import NonholonomicVehicle
from vitree.vehicles.snakeboard import Snakeboard, snakeboard

__all__ = [
    "Boat", "Car", "Helicopter", "NonholonomicVehicle", "RigidVehicle", "Snakeboard", "Vehicle", "Water", "Wave",
    "Wind", "boat", "car", "helicopter", "snakeboard",
]  # fmt: skip
