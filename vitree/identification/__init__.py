"""Identification: parameters of a model from recorded runs, what runs can tell, and motions that tell most."""

from vitree.identification.base import BaseParameters, base_parameters
from vitree.identification.excitation import Excitation, design_excitation
from vitree.identification.identify import identify
from vitree.identification.measured import Measurement
from vitree.identification.result import Identification

__all__ = [
    "BaseParameters",
    "Excitation",
    "Identification",
    "Measurement",
    "base_parameters",
    "design_excitation",
    "identify",
]
