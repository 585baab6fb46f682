"""Monitors: what is kept of every step of a run, recorded or not."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from vitree.errors import UnknownNameError
from vitree.integrators.base import Integrator, Records
from vitree.model import Model

#: What can be monitored: columns, and the meaning.
MONITORS = {
    "energy": (0, "kinetic plus potential energy at the step's end [J]"),
    "momentum": (6, "angular momentum about the world's origin and linear momentum"),
    "constraint": (0, "largest |h| of the constraints [m or rad]"),
    "residual": (0, "what the step left of its equations [units of p]"),
    "iterations": (0, "corrections that it took"),
    "contraction": (0, "ratio of the last two residuals; NaN where there was one"),
}


class Monitors:
    """Arrays (steps,) or (steps, columns) of what was asked for.

    Parameters
    ----------
    names : names of MONITORS, or one
    model : Model
    steps : int

    Raises
    ------
    UnknownNameError
    """

    def __init__(self, names: str | Iterable[str], model: Model, steps: int):
        self.names = (names,) if isinstance(names, str) else tuple(names)
        for name in self.names:
            if name not in MONITORS:
                raise UnknownNameError("monitor", name, MONITORS)
        self.model, self.done = model, 0
        self.t = np.empty(steps)
        self.arrays = {name: np.empty((steps, n) if (n := MONITORS[name][0]) else steps) for name in self.names}
        self.contraction = np.empty(0)

    def rows_for(self, records: Records, count: int) -> Records:
        """Room for ``count`` states, as ``records`` have them."""
        self.contraction = np.full(count, np.nan)
        return Records(*(np.empty((count, *x.shape[1:]), x.dtype) for x in (
            records.t, records.q, records.x, records.iterations, records.residual, records.multipliers)))  # fmt: skip

    def take(self, integrator: Integrator, every: Records, records: Records, done: int, stride: int) -> None:
        """Note the first ``every.rows`` states, after ``done`` steps, and hand on those to be recorded."""
        n, model = every.rows, self.model
        here = slice(self.done, self.done + n)
        if here.stop > len(self.t):
            self._grow(max(here.stop, 3 * len(self.t) // 2))
        self.t[here] = every.t[:n]
        simple = {"residual": every.residual, "iterations": every.iterations, "contraction": self.contraction}
        for name in self.names:
            if name in simple:
                self.arrays[name][here] = simple[name][:n]
        if n and {"energy", "momentum"} & set(self.names):
            v = integrator.velocities(every.t[:n], every.q[:n], every.x[:n])
            energies = model.energies(every.q[:n], v)
            for name, value in (("energy", energies[:, 0] + energies[:, 1]), ("momentum", energies[:, 2:8])):
                if name in self.names:
                    self.arrays[name][here] = value
        if n and "constraint" in self.names:
            self.arrays["constraint"][here] = np.abs(model.constraint_rows(every.q[:n])[0]).max(axis=1, initial=0.0)
        self.done += n
        kept = np.arange(stride - 1 - done % stride, n, stride)
        to = slice(records.rows, records.rows + len(kept))
        for name in ("t", "q", "x", "iterations", "residual", "multipliers"):
            getattr(records, name)[to] = getattr(every, name)[kept]
        records.rows += len(kept)

    def _grow(self, rows: int) -> None:
        """Make room for so many steps."""
        for name, array in (("", self.t), *self.arrays.items()):
            more = np.empty((rows, *array.shape[1:]))
            more[: len(array)] = array
            if name:
                self.arrays[name] = more
            else:
                self.t = more

    def kept(self) -> dict[str, np.ndarray]:
        """Return what was noted, with the times."""
        return {"t": self.t[: self.done], **{name: rows[: self.done] for name, rows in self.arrays.items()}}
