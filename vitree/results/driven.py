"""What drove a run: joint forces, inputs and prescribed accelerations at its records."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from vitree.arguments import numbers_of
from vitree.errors import InputError
from vitree.results.plain import read_only

#: The parts, each an array with a row for each record, or None: nothing.
PARTS = ("torque", "inputs", "accelerations")

Part = np.ndarray | Callable[[], np.ndarray] | None


class Driven:
    """What drove a run, at its records.

    In a run whose torque or inputs change, the value at a record is the mean of those of the steps before and after it.
    At the first and the last record, and where steps between records are not recorded, it is that of the one step next
    to it; a function is extrapolated there. With methods that ask functions at several stages of a step, it is the
    function's value at the record.

    Parameters
    ----------
    count : int
        Of records.
    torque : (nv,) or (count, nv) array, function that returns it, or None
        Joint forces of the model with a coordinate for each joint [N or N m].
    inputs : (nu,) or (count, nu) array, function that returns it, or None
        Units as the loads take them.
    accelerations : (count, nv) array, function that returns it, or None
        Of prescribed coordinates, zero elsewhere [m/s^2 or rad/s^2].
    """

    def __init__(self, count: int, torque: Part = None, inputs: Part = None, accelerations: Part = None):
        self.count = count
        self._parts: dict[str, Part] = {"torque": torque, "inputs": inputs, "accelerations": accelerations}

    def _part(self, name: str) -> np.ndarray | None:
        given = self._parts[name]
        if given is None:
            return None
        if callable(given):
            given = given()
        rows = numbers_of(given, f"the {name} of a run")
        rows = np.broadcast_to(rows, (self.count, rows.shape[-1])) if rows.ndim == 1 else rows
        if rows.ndim != 2 or len(rows) != self.count:
            raise InputError(f"the {name} of a run has shape {rows.shape}; it must have a row for each record")
        self._parts[name] = rows = read_only(rows)
        return rows

    @property
    def torque(self) -> np.ndarray | None:
        """Joint forces (n, nv) [N or N m]; None without any."""
        return self._part("torque")

    @property
    def inputs(self) -> np.ndarray | None:
        """Inputs (n, nu); None without any."""
        return self._part("inputs")

    @property
    def accelerations(self) -> np.ndarray | None:
        """Accelerations (n, nv) of prescribed coordinates [m/s^2 or rad/s^2]; None without any."""
        return self._part("accelerations")

    def arrays(self) -> dict[str, np.ndarray]:
        """Return the parts that there are, by their names."""
        return {name: rows for name in PARTS if (rows := self._part(name)) is not None}

    def taken(self, index: np.ndarray) -> Driven:
        """Return what drove the run at some of its records."""
        def part(name: str) -> Part:
            return None if self._parts[name] is None else lambda: np.asarray(self._part(name))[index]

        return Driven(len(index), **{name: part(name) for name in PARTS})

    def __getstate__(self) -> dict[str, object]:
        return {"count": self.count, "_parts": {**dict.fromkeys(PARTS), **self.arrays()}}


def at_records(t: np.ndarray, rows: np.ndarray, dt: float, smooth: bool = False) -> np.ndarray:
    """Return the values (n, m) at records from those of the steps that led to them.

    Parameters
    ----------
    t : (n,) array [s]
    rows : (k, 1 + m) array
        A record, and the values of the step that led to it; the first record has none.
    dt : float [s]
        The longest step.
    smooth : bool
        Whether the values are those of a smooth function in the middle of steps, and are extrapolated to the ends.
    """
    n, m = len(t), rows.shape[1] - 1
    led = np.full((n, m), np.nan)
    led[rows[:, 0].astype(int)] = rows[:, 1:]
    out = led.copy()
    known = np.asarray(np.isfinite(led).all(axis=1))
    near = np.zeros(n, dtype=bool)
    near[:-1] = (np.diff(t) <= 1.5 * dt) & known[1:]
    follows = np.roll(led, -1, axis=0)
    both = near & known
    out[both] = 0.5 * (led[both] + follows[both])
    out[near & ~known] = follows[near & ~known]
    if smooth and n > 2 and both[1:-1].all():
        out[0], out[-1] = 1.5 * led[1] - 0.5 * led[2], 1.5 * led[-1] - 0.5 * led[-2]
    return np.nan_to_num(out) if m else np.zeros((n, 0))
