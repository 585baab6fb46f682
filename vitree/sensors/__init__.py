"""Sensors: what IMUs, force-torque sensors, contact sensors and encoders read of a trajectory, or of one state."""

from vitree.sensors.base import Sensor
from vitree.sensors.contact import ContactReadings, ContactSample, ContactSensor
from vitree.sensors.encoder import Encoder, EncoderReadings, EncoderSample
from vitree.sensors.force_torque import ForceTorque, ForceTorqueReadings, ForceTorqueSample
from vitree.sensors.imu import Imu, ImuReadings, ImuSample

__all__ = [
    "ContactReadings",
    "ContactSample",
    "ContactSensor",
    "Encoder",
    "EncoderReadings",
    "EncoderSample",
    "ForceTorque",
    "ForceTorqueReadings",
    "ForceTorqueSample",
    "Imu",
    "ImuReadings",
    "ImuSample",
    "Sensor",
]
