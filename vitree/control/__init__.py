"""Optimal control of vehicles (DMOC) and of robots, and regulators of robots."""

from vitree.control.aims import Momentum, Place, Posture, Tension, Torque, Velocity
from vitree.control.costs import Effort, Limit, Running, Time
from vitree.control.dynamics import CarDynamics, Dynamics, RigidDynamics
from vitree.control.frames import Reach
from vitree.control.ilqr import ilqr
from vitree.control.motion_plan import MotionPlan, Stretch
from vitree.control.motions import Motion
from vitree.control.obstacles import Box, Cylinder, HalfSpace, Sphere
from vitree.control.phases import Phase
from vitree.control.plan import Plan
from vitree.control.problem import ControlProblem
from vitree.control.projection import projection_newton
from vitree.control.regulator import Regulator, lqr, tvlqr
from vitree.control.solvers import Solution, solve
from vitree.control.transcription import MotionProblem
from vitree.control.vehicles import dynamics_of, replay

__all__ = [
    "Box",
    "CarDynamics",
    "ControlProblem",
    "Cylinder",
    "Dynamics",
    "Effort",
    "HalfSpace",
    "Limit",
    "Momentum",
    "Motion",
    "MotionPlan",
    "MotionProblem",
    "Phase",
    "Place",
    "Plan",
    "Posture",
    "Reach",
    "Regulator",
    "RigidDynamics",
    "Running",
    "Solution",
    "Sphere",
    "Stretch",
    "Tension",
    "Time",
    "Torque",
    "Velocity",
    "dynamics_of",
    "ilqr",
    "lqr",
    "projection_newton",
    "replay",
    "solve",
    "tvlqr",
]
