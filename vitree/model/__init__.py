"""Systems that can be simulated, and the kinematics and dynamics of a mechanism."""

from vitree.model.dynamics import LagrangianDerivatives
from vitree.model.forces import Accelerations
from vitree.model.model import EulerModel, Model, ReducedEulerModel, ReducedModel

__all__ = [
    "Accelerations",
    "EulerModel",
    "LagrangianDerivatives",
    "Model",
    "ReducedEulerModel",
    "ReducedModel",
]
