from collections.abc import Mapping
from typing import Any

import numpy as np

from vitree._core.types import CoreModel

class MapTables:
    def __init__(
        self, core: CoreModel, frames: Mapping[str, int], places: tuple[np.ndarray, np.ndarray, np.ndarray],
        own: tuple[np.ndarray, np.ndarray],
    ) -> None: ...  # fmt: skip

class MapCall:
    count: int
    def __init__(self, name: str) -> None: ...
    def answer(
        self, tables: MapTables | None, model: Any, a: object = None, b: object = None, c: object = None,
        d: object = None, e: object = None,
    ) -> np.ndarray | None: ...  # fmt: skip
    def rows(
        self, tables: MapTables, frame: str | None, axes: str | None, q: np.ndarray, v: np.ndarray | None,
        a: np.ndarray | None, out: np.ndarray,
    ) -> None: ...  # fmt: skip
