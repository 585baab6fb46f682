"""What models that differ in numbers alone have in common: it is made once, and shared."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from vitree._core.types import ConstraintList
from vitree.mechanism.index import Index
from vitree.model.contacts import Candidates
from vitree.model.lower import lower_constraints, lower_facing


@dataclass(frozen=True)
class Structure:
    """Constraints and contacts as the core takes them.

    Attributes
    ----------
    constraint_list : ConstraintList
    facing : tuple
        As :func:`vitree.model.lower.lower_facing` has it.
    found : dict
        Under "candidates" what may touch, once it was asked for.
    texts : dict
        The content of fields of the arrays, once a digest was asked for.
    """

    constraint_list: ConstraintList
    facing: tuple[np.ndarray, ConstraintList, ConstraintList]
    found: dict[str, Candidates] = field(default_factory=dict)
    texts: dict[str, bytes] = field(default_factory=dict)


def structure_of(index: Index, constraints: tuple[Any, ...]) -> Structure:
    """Return the structure of a mechanism.

    Raises
    ------
    UnknownNameError
        If a constraint is on a frame or joint that is not known.
    ModelError
        If a constraint cannot be what it says.
    """
    return Structure(lower_constraints(index, constraints), lower_facing(index, constraints))
