"""Sensors: what an IMU, a force-torque sensor or an encoder reads of a trajectory, or of one state."""

from vitree.sensors.base import Sensor
from vitree.sensors.encoder import Encoder, EncoderReadings, EncoderSample
from vitree.sensors.force_torque import ForceTorque, ForceTorqueReadings, ForceTorqueSample
from vitree.sensors.imu import Imu, ImuReadings, ImuSample

__all__ = [
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
