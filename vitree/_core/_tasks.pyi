import numpy as np

from vitree._core.types import CoreModel, ShapeList

class TaskRows:
    n: int
    rows: int
    levels: int
    whole: bool
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
    def equations(self, h: np.ndarray, Dh: np.ndarray) -> bool: ...
    def program(
        self, level: int, damping: float, G: np.ndarray, least: np.ndarray, H: np.ndarray, g: np.ndarray,
        rows: np.ndarray, low: np.ndarray, high: np.ndarray,
    ) -> tuple[int, int, int] | bool | None: ...  # fmt: skip
    def advance(self, level: int, z: np.ndarray, dq: np.ndarray) -> None: ...
    def descend(
        self, q: np.ndarray, iterations: int, tolerance: float, damping: float, stall: float
    ) -> tuple[int, int]: ...

class FrameMotion:
    n: int
    count: int
    def __init__(
        self, core: CoreModel, frames: list[tuple[int, np.ndarray]], lead: np.ndarray, factor: np.ndarray, n: int
    ) -> None: ...
    def evaluate(
        self, q: np.ndarray, v: np.ndarray, X: np.ndarray, J: np.ndarray, twist: np.ndarray, bias: np.ndarray,
        com: np.ndarray, Jcom: np.ndarray,
    ) -> None: ...  # fmt: skip
