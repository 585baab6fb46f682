"""Optimal control of vehicles (DMOC) and of robots, and regulators of robots."""

from vitree.control.aims import MomentumCost, PositionCost, PostureCost, TensionCost, TorqueCost, VelocityCost
from vitree.control.costs import EffortCost, PathConstraint, RunningCost, TimeCost
from vitree.control.dynamics import CarDynamics, Dynamics, RigidDynamics
from vitree.control.frames import FrameCost
from vitree.control.ilqr import ilqr
from vitree.control.motion_plan import MotionPlan, PhaseInterval
from vitree.control.motions import ShootingSolution
from vitree.control.obstacles import BoxObstacle, CylinderObstacle, HalfSpaceObstacle, SphereObstacle
from vitree.control.phases import ContactPhase
from vitree.control.plan import Plan
from vitree.control.problem import ControlProblem
from vitree.control.projection import projection_newton
from vitree.control.regulator import Regulator, lqr, tvlqr
from vitree.control.solvers import TranscriptionSolution, solve
from vitree.control.transcription import MotionProblem
from vitree.control.vehicles import dynamics_of, replay

__all__ = [
    "BoxObstacle",
    "CarDynamics",
    "ContactPhase",
    "ControlProblem",
    "CylinderObstacle",
    "Dynamics",
    "EffortCost",
    "FrameCost",
    "HalfSpaceObstacle",
    "MomentumCost",
    "MotionPlan",
    "MotionProblem",
    "PathConstraint",
    "PhaseInterval",
    "Plan",
    "PositionCost",
    "PostureCost",
    "Regulator",
    "RigidDynamics",
    "RunningCost",
    "ShootingSolution",
    "SphereObstacle",
    "TensionCost",
    "TimeCost",
    "TorqueCost",
    "TranscriptionSolution",
    "VelocityCost",
    "dynamics_of",
    "ilqr",
    "lqr",
    "projection_newton",
    "replay",
    "solve",
    "tvlqr",
]
