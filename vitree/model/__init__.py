"""Systems that can be simulated, and the kinematics and dynamics of a mechanism."""

from vitree.model.model import Accelerations, LagrangianDerivatives, Model
from vitree.model.reduced import EulerModel, ReducedEulerModel, ReducedModel

__all__ = [
    "Accelerations",
    "EulerModel",
    "LagrangianDerivatives",
    "Model",
    "ReducedEulerModel",
    "ReducedModel",
]
