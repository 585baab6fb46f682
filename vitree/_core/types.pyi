from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from vitree.geometry.terrain import HeightField
from vitree.mechanism.flat import Flat
from vitree.mechanism.plans import Plan
from vitree.mechanism.spans import Spans

class CoreModel:
    def __init__(
        self, flat: Flat, iq: np.ndarray, iv: np.ndarray, nq: int, nv: int, trees: Sequence[Any] = ()
    ) -> None: ...

class LoadList:
    def __init__(self, loads: Sequence[Mapping[str, Any]] = ()) -> None: ...

class DriveList:
    count: int
    def __init__(self, drives: Sequence[Mapping[str, Any]] = ()) -> None: ...

class ConstraintList:
    def ends(self) -> list[tuple[int, int, int, int, int]]: ...
    def __init__(
        self, constraints: Sequence[Mapping[str, Any]] = (), plans: Sequence[Plan] | None = None, bodies: int = 0
    ) -> None: ...

class ShapeList:
    count: int
    def __init__(self, shapes: Sequence[Mapping[str, Any]] = ()) -> None: ...

class ContactList:
    count: int
    patches: int
    ports: int
    pairs: int
    plain: int
    elastic: bool
    rolls: bool
    turns: bool
    @property
    def lengths(self) -> np.ndarray: ...
    def __init__(
        self,
        contacts: Sequence[Mapping[str, Any]] = (),
        field: HeightField | None = None,
        spans: Spans | None = None,
        shapes: ShapeList | None = None,
        facing: ArrayLike = (),
        surfaces: ArrayLike = (),
        at: int = -1,
    ) -> None: ...
