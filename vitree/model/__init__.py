"""Models: what can be simulated, and a mechanism's kinematics and dynamics of one state at a time."""

from vitree.model.euler import EulerModel
from vitree.model.model import Accelerations, LagrangianDerivatives, Model
from vitree.model.reduced import ReducedEulerModel, ReducedModel

__all__ = [
    "Accelerations",
    "EulerModel",
    "LagrangianDerivatives",
    "Model",
    "ReducedEulerModel",
    "ReducedModel",
]
