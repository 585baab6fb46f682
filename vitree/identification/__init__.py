"""Identification: parameters of a model from recorded runs."""

from vitree.identification.identify import identify
from vitree.identification.measured import Measurement
from vitree.identification.result import Identification

__all__ = ["Identification", "Measurement", "identify"]
