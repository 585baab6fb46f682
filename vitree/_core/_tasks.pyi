import numpy as np

from vitree._core.types import CoreModel, ShapeList

class TaskRows:
    n: int
    rows: int
    levels: int
    lower: memoryview
    upper: memoryview
    def __init__(
        self, core: CoreModel, tasks: list[tuple[object, ...]], lead: np.ndarray, factor: np.ndarray,
        place: np.ndarray, limits: list[tuple[int, float, float, float, float]], more: int,
    ) -> None: ...  # fmt: skip
    def evaluate(self, q: np.ndarray, e: np.ndarray, J: np.ndarray | None = None) -> None: ...
    def gaps(
        self, q: np.ndarray, shapes: ShapeList, pairs: np.ndarray, within: float, gap: np.ndarray,
        which: np.ndarray, J: np.ndarray,
    ) -> int: ...  # fmt: skip
    def step(
        self, q: np.ndarray, dt: float, before: np.ndarray | None, damping: float, h: np.ndarray, Dh: np.ndarray,
        dq: np.ndarray,
    ) -> int: ...  # fmt: skip
    def descend(self, q: np.ndarray, iterations: int, tolerance: float, damping: float) -> tuple[int, int]: ...
