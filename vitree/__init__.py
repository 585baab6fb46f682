"""vitree: structure-preserving integrators for articulated robots, from a URDF file to a trajectory."""

from typing import TYPE_CHECKING, Any

from vitree._core import width as cpu_width
from vitree.compare import Comparison, compare
from vitree.constraints import (
    AxisConstraint,
    Cam,
    Coupling,
    Distance,
    PointConstraint,
    gear,
    independent_constraints,
    joint_constraints,
    point_constraint,
    satisfy_constraints,
    screw_pair,
    weld,
)
from vitree.errors import (
    ConvergenceError,
    InputError,
    MissingExtraError,
    ModelError,
    UnknownNameError,
    UrdfError,
    VitreeError,
)
from vitree.findings import Finding, Report
from vitree.flat import Geometry, JointInfo
from vitree.integrators import METHODS, Integrator
from vitree.loads import (
    Attraction,
    Damper,
    Gravity,
    JointForce,
    JointSpring,
    NonlinearSpring,
    Spring,
    Wrench,
)
from vitree.model import EulerModel, Model
from vitree.pairs import (
    cylindrical,
    helical,
    planar,
    prismatic,
    revolute,
    spherical,
    universal,
)
from vitree.reduced import ReducedModel
from vitree.simulate import simulate
from vitree.trajectory import Trajectory
from vitree.tree import (
    Frame,
    Tree,
    ball,
    body,
    fixed,
    frame,
    free,
    rx,
    ry,
    rz,
    screw,
    tx,
    ty,
    tz,
)
from vitree.written import Constraint, Force, Potential, check_derivatives

if TYPE_CHECKING:  # what is imported when it is first used
    from vitree import control as control
    from vitree import lie as lie
    from vitree import vehicles as vehicles
    from vitree.equilibrium import minimize_potential_energy
    from vitree.robots import find_robot, list_robots
    from vitree.sexpr import load_sexpr, read_sexpr, write_sexpr
    from vitree.urdf import check_urdf, fix_urdf, load_urdf, read_urdf, write_urdf
    from vitree.viewer import view

__version__ = "0.1.0"

__all__ = [
    "METHODS",
    "Attraction",
    "AxisConstraint",
    "Cam",
    "Comparison",
    "Constraint",
    "ConvergenceError",
    "Coupling",
    "Damper",
    "Distance",
    "EulerModel",
    "Finding",
    "Force",
    "Frame",
    "Geometry",
    "Gravity",
    "InputError",
    "Integrator",
    "JointForce",
    "JointInfo",
    "JointSpring",
    "MissingExtraError",
    "Model",
    "ModelError",
    "NonlinearSpring",
    "PointConstraint",
    "Potential",
    "ReducedModel",
    "Report",
    "Spring",
    "Trajectory",
    "Tree",
    "UnknownNameError",
    "UrdfError",
    "VitreeError",
    "Wrench",
    "ball",
    "body",
    "check_derivatives",
    "check_urdf",
    "compare",
    "cpu_width",
    "cylindrical",
    "find_robot",
    "fix_urdf",
    "fixed",
    "frame",
    "free",
    "gear",
    "helical",
    "independent_constraints",
    "joint_constraints",
    "list_robots",
    "load_sexpr",
    "load_urdf",
    "minimize_potential_energy",
    "planar",
    "point_constraint",
    "prismatic",
    "read_sexpr",
    "read_urdf",
    "revolute",
    "rx",
    "ry",
    "rz",
    "satisfy_constraints",
    "screw",
    "screw_pair",
    "simulate",
    "spherical",
    "tx",
    "ty",
    "tz",
    "universal",
    "view",
    "weld",
    "write_sexpr",
    "write_urdf",
]

#: What is imported when it is first used: name -> module.
_LAZY = {
    "load_urdf": "vitree.urdf",
    "check_urdf": "vitree.urdf",
    "fix_urdf": "vitree.urdf",
    "write_urdf": "vitree.urdf",
    "read_urdf": "vitree.urdf",
    "load_sexpr": "vitree.sexpr",
    "read_sexpr": "vitree.sexpr",
    "write_sexpr": "vitree.sexpr",
    "minimize_potential_energy": "vitree.equilibrium",
    "find_robot": "vitree.robots",
    "list_robots": "vitree.robots",
    "view": "vitree.viewer",
}
#: Packages of their own, likewise.
_PARTS = ("control", "lie", "vehicles")


def __getattr__(name: str) -> Any:
    import importlib

    if name in _PARTS:
        return importlib.import_module(f"vitree.{name}")
    if name in _LAZY:
        value = getattr(importlib.import_module(_LAZY[name]), name)
        globals()[name] = value
        return value
    raise AttributeError(f"module 'vitree' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*globals(), *_LAZY, *_PARTS})
