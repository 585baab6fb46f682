"""Optimal control of vehicles (DMOC) and of robots; regulators, inverse kinematics and torques by tasks of robots."""

from vitree.control.contacts import ContactPhase, PhaseInterval
from vitree.control.costs import (
    EffortCost,
    FrameCost,
    MomentumCost,
    PathConstraint,
    PositionCost,
    PostureCost,
    QuadraticCost,
    RunningCost,
    TensionCost,
    TimeCost,
    TorqueCost,
    VelocityCost,
)
from vitree.control.dynamics import CarDynamics, Dynamics, RigidDynamics, dynamics_of
from vitree.control.lqr import Regulator, lqr, tvlqr
from vitree.control.projection import ProjectionNewton
from vitree.control.robots import MotionPlan, MotionProblem
from vitree.control.search import MotionSolution, Search, optimize_motion
from vitree.control.solvers import TranscriptionSolution, solve
from vitree.control.task_kinematics import DistanceLimit, IkSolution, Tasks, solve_ik
from vitree.control.tasks import (
    CenterOfMassTask,
    CouplingTask,
    DampingTask,
    KinematicTask,
    LookAtTask,
    OrientationTask,
    PoseTask,
    PositionTask,
    PostureTask,
)
from vitree.control.transcribed import Transcription
from vitree.control.transcription import TranscriptionProblem
from vitree.control.vehicles import (
    BoxObstacle,
    ControlProblem,
    CylinderObstacle,
    HalfSpaceObstacle,
    Plan,
    SphereObstacle,
    replay,
)
from vitree.control.whole_body import AccelerationTask, BodyForces, SupportContact, WholeBodyControl

__all__ = [
    "AccelerationTask",
    "BodyForces",
    "BoxObstacle",
    "CarDynamics",
    "CenterOfMassTask",
    "ContactPhase",
    "ControlProblem",
    "CouplingTask",
    "CylinderObstacle",
    "DampingTask",
    "DistanceLimit",
    "Dynamics",
    "EffortCost",
    "FrameCost",
    "HalfSpaceObstacle",
    "IkSolution",
    "KinematicTask",
    "LookAtTask",
    "MomentumCost",
    "MotionPlan",
    "MotionProblem",
    "MotionSolution",
    "OrientationTask",
    "PathConstraint",
    "PhaseInterval",
    "Plan",
    "PoseTask",
    "PositionCost",
    "PositionTask",
    "PostureCost",
    "PostureTask",
    "ProjectionNewton",
    "QuadraticCost",
    "Regulator",
    "RigidDynamics",
    "RunningCost",
    "Search",
    "SphereObstacle",
    "SupportContact",
    "Tasks",
    "TensionCost",
    "TimeCost",
    "TorqueCost",
    "Transcription",
    "TranscriptionProblem",
    "TranscriptionSolution",
    "VelocityCost",
    "WholeBodyControl",
    "dynamics_of",
    "lqr",
    "optimize_motion",
    "replay",
    "solve",
    "solve_ik",
    "tvlqr",
]
