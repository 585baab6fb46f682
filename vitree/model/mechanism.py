"""Mechanism: the part of a model that functions of a model use."""

from __future__ import annotations

from typing import Any, Protocol

import numpy as np

from vitree.mechanism.flat import Flat
from vitree.mechanism.index import Index


class Mechanism(Protocol):
    """What a load or constraint written in Python may ask of the model that it is given, in parts.

    :class:`vitree.Model` says what each is, and has more.
    """

    flat: Flat
    index: Index

    @property
    def nv(self) -> int: ...
    @property
    def v_names(self) -> tuple[str, ...]: ...
    @property
    def input_names(self) -> tuple[str, ...]: ...
    def random_configuration(self, rng: np.random.Generator | None = None) -> np.ndarray: ...
    def validate_configuration(self, q: Any, name: str = "q") -> np.ndarray: ...
    def validate_velocity(self, v: Any, name: str = "v") -> np.ndarray: ...
    def integrate(self, q: Any, dq: Any) -> np.ndarray: ...
    def body_poses(self, q: Any) -> np.ndarray: ...
    def frame_jacobian(self, name: str, q: Any, axes: str = "world") -> np.ndarray: ...
