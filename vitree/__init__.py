"""vitree: structure-preserving integrators for articulated robots, from a URDF file to a trajectory."""

from typing import TYPE_CHECKING

from vitree._core import width as cpu_width
from vitree.errors import (
    CallableError,
    ConvergenceError,
    InputError,
    MissingExtraError,
    ModelError,
    SdfError,
    UnknownNameError,
    UrdfError,
    VitreeError,
)
from vitree.findings import Finding, Report
from vitree.geometry.meshes import Meshes, TriangleMesh
from vitree.geometry.parts import convex_parts, parts_deviation
from vitree.geometry.shapes import Box, Capsule, Cone, Cylinder, Disk, Ellipsoid, Hull, Sphere
from vitree.geometry.terrain import HeightField
from vitree.integrators import METHODS, Integrator
from vitree.mechanism.constraints import (
    AxisConstraint,
    Cam,
    Coupling,
    Distance,
    PointConstraint,
    gear,
    joint_constraints,
    point_constraint,
    screw_pair,
    weld,
)
from vitree.mechanism.contacts import Contact, Ground, NoContact, RollingConstraint
from vitree.mechanism.drives import Drive
from vitree.mechanism.flat import Geometry, JointInfo
from vitree.mechanism.loads import (
    Attraction,
    BallSpring,
    Damper,
    Gravity,
    JointForce,
    JointSpring,
    NonlinearSpring,
    Spring,
    Wrench,
)
from vitree.mechanism.pushes import ExternalWrench, Impulse
from vitree.mechanism.unilateral import BallLimit, Pulley, Rope
from vitree.model.changes import Change
from vitree.model.closures import independent_constraints, satisfy_constraints
from vitree.model.helical import HelicalConstraint
from vitree.model.model import EulerModel, Model, ReducedModel
from vitree.model.placement import place_on_ground
from vitree.model.starts import FeasibleStart, feasible_start
from vitree.model.static_equilibrium import StaticEquilibrium, static_equilibrium
from vitree.model.user_inputs import Constraint, Force, Potential, check_derivatives
from vitree.results.sweep import Sweep
from vitree.run.bodies import BodyState
from vitree.run.compare import Comparison, compare
from vitree.run.compare_sets import EnsembleComparison, WorkPrecision, compare_ensemble, work_precision
from vitree.run.controller import Control, Controller
from vitree.run.gradient import Gradient, Perturbation
from vitree.run.instances import Rollout
from vitree.run.linearization import Linearization
from vitree.run.linearize import linearize
from vitree.run.reference_motion import ReferenceMotion, read_motion
from vitree.run.rollout import rollout
from vitree.run.simulate import simulate
from vitree.run.simulation import VIEWS, SavedState, Simulation
from vitree.run.sweep import sweep
from vitree.run.trajectory import Trajectory
from vitree.tree.elements import ball, body, fixed, frame, free, rx, ry, rz, screw, tx, ty, tz
from vitree.tree.frames import Frame
from vitree.tree.pairs import cylindrical, helical, planar, prismatic, revolute, spherical, universal
from vitree.tree.tree import Tree
from vitree.version import __version__ as __version__

if TYPE_CHECKING:  # what is imported when it is first used
    from vitree import control as control
    from vitree import lie as lie
    from vitree import vehicles as vehicles
    from vitree.identification import BaseParameters, Excitation, Identification, Measurement
    from vitree.identification.base import base_parameters
    from vitree.identification.excitation import design_excitation
    from vitree.identification.identify import identify
    from vitree.mjcf import MujocoRobot, check_mjcf, from_mujoco, load_mjcf
    from vitree.model.configurations import minimize_potential_energy
    from vitree.sdf import check_sdf, load_sdf, read_sdf
    from vitree.sensors import ContactSensor, Encoder, ForceTorque, Imu
    from vitree.tree import pairs as pairs
    from vitree.tree.sexpr import load_sexpr, read_sexpr, write_sexpr
    from vitree.urdf import check_urdf, fix_urdf, load_urdf, read_urdf, write_urdf
    from vitree.urdf.robots import find_robot, list_robots
    from vitree.urdf.srdf import reference_configurations
    from vitree.viewer import video, view
    from vitree.worlds import World, read_scene

__all__ = [
    "METHODS",
    "Attraction",
    "AxisConstraint",
    "BallLimit",
    "BallSpring",
    "BaseParameters",
    "BodyState",
    "Box",
    "CallableError",
    "Cam",
    "Capsule",
    "Change",
    "Comparison",
    "Cone",
    "Constraint",
    "Contact",
    "ContactSensor",
    "Control",
    "Controller",
    "ConvergenceError",
    "Coupling",
    "Cylinder",
    "Damper",
    "Disk",
    "Distance",
    "Drive",
    "Ellipsoid",
    "Encoder",
    "EnsembleComparison",
    "EulerModel",
    "Excitation",
    "ExternalWrench",
    "FeasibleStart",
    "Finding",
    "Force",
    "ForceTorque",
    "Frame",
    "Geometry",
    "Gradient",
    "Gravity",
    "Ground",
    "HeightField",
    "HelicalConstraint",
    "Hull",
    "Identification",
    "Impulse",
    "Imu",
    "InputError",
    "Integrator",
    "JointForce",
    "JointInfo",
    "JointSpring",
    "Linearization",
    "Measurement",
    "Meshes",
    "MissingExtraError",
    "Model",
    "ModelError",
    "MujocoRobot",
    "NoContact",
    "NonlinearSpring",
    "Perturbation",
    "PointConstraint",
    "Potential",
    "Pulley",
    "ReducedModel",
    "ReferenceMotion",
    "Report",
    "RollingConstraint",
    "Rollout",
    "Rope",
    "SavedState",
    "SdfError",
    "Simulation",
    "Sphere",
    "Spring",
    "StaticEquilibrium",
    "Sweep",
    "Trajectory",
    "Tree",
    "TriangleMesh",
    "UnknownNameError",
    "UrdfError",
    "VitreeError",
    "WorkPrecision",
    "World",
    "Wrench",
    "ball",
    "base_parameters",
    "body",
    "check_derivatives",
    "check_mjcf",
    "check_sdf",
    "check_urdf",
    "compare",
    "compare_ensemble",
    "convex_parts",
    "cpu_width",
    "cylindrical",
    "design_excitation",
    "feasible_start",
    "find_robot",
    "fix_urdf",
    "fixed",
    "frame",
    "free",
    "from_mujoco",
    "gear",
    "helical",
    "identify",
    "independent_constraints",
    "joint_constraints",
    "linearize",
    "list_robots",
    "load_mjcf",
    "load_sdf",
    "load_sexpr",
    "load_urdf",
    "minimize_potential_energy",
    "parts_deviation",
    "place_on_ground",
    "planar",
    "point_constraint",
    "prismatic",
    "read_motion",
    "read_scene",
    "read_sdf",
    "read_sexpr",
    "read_urdf",
    "reference_configurations",
    "revolute",
    "rollout",
    "rx",
    "ry",
    "rz",
    "satisfy_constraints",
    "screw",
    "screw_pair",
    "simulate",
    "spherical",
    "static_equilibrium",
    "sweep",
    "tx",
    "ty",
    "tz",
    "universal",
    "video",
    "view",
    "weld",
    "work_precision",
    "write_sexpr",
    "write_urdf",
]

#: What is imported when it is first used: name -> module.
_LAZY = {
    "BaseParameters": "vitree.identification",
    "Excitation": "vitree.identification",
    "Identification": "vitree.identification",
    "Measurement": "vitree.identification",
    "base_parameters": "vitree.identification",
    "design_excitation": "vitree.identification",
    "identify": "vitree.identification",
    "load_urdf": "vitree.urdf",
    "MujocoRobot": "vitree.mjcf",
    "check_mjcf": "vitree.mjcf",
    "from_mujoco": "vitree.mjcf",
    "load_mjcf": "vitree.mjcf",
    "check_sdf": "vitree.sdf",
    "load_sdf": "vitree.sdf",
    "read_sdf": "vitree.sdf",
    "check_urdf": "vitree.urdf",
    "fix_urdf": "vitree.urdf",
    "write_urdf": "vitree.urdf",
    "read_urdf": "vitree.urdf",
    "load_sexpr": "vitree.tree.sexpr",
    "read_sexpr": "vitree.tree.sexpr",
    "write_sexpr": "vitree.tree.sexpr",
    "minimize_potential_energy": "vitree.model.configurations",
    "Encoder": "vitree.sensors",
    "ContactSensor": "vitree.sensors",
    "ForceTorque": "vitree.sensors",
    "Imu": "vitree.sensors",
    "find_robot": "vitree.urdf.robots",
    "list_robots": "vitree.urdf.robots",
    "reference_configurations": "vitree.urdf.srdf",
    "video": "vitree.viewer",
    "view": "vitree.viewer",
    "World": "vitree.worlds",
    "read_scene": "vitree.worlds",
}
#: Modules, likewise.
_PARTS = {"control": "vitree.control", "lie": "vitree.lie", "pairs": "vitree.tree.pairs", "vehicles": "vitree.vehicles"}


def _play(sim: Simulation, **options: object) -> object:
    from vitree.viewer.live import play

    return play(sim, **options)  # type: ignore[arg-type]


VIEWS["live"] = _play
del VIEWS


def __getattr__(name: str) -> object:
    import importlib

    if name in _PARTS:
        return importlib.import_module(_PARTS[name])
    if name in _LAZY:
        value = getattr(importlib.import_module(_LAZY[name]), name)
        globals()[name] = value
        return value
    raise AttributeError(f"module 'vitree' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*__all__, *_PARTS, "__version__"})
