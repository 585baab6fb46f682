"""Monitors: quantities that are kept for every step of a run, recorded or not."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np

from vitree.arguments import several
from vitree.errors import UnknownNameError
from vitree.integrators.base import COLUMNS, Integrator, Records
from vitree.model.system import System
from vitree.results.units import CERTIFICATE
from vitree.wording import Argument

#: Name of a quantity -> number of columns (0: a plain array; None: one for each drive) and meaning.
MONITORS = {
    "energy": (0, "kinetic plus potential energy at the step's end [J]"),
    "momentum": (6, "angular momentum about the world's origin and linear momentum"),
    "constraint": (0, "largest |h| of the constraints [m or rad]"),
    "residual": (0, "largest residual of the step's equations at its end [units of p]"),
    "iterations": (0, "corrections of the step"),
    "contraction": (0, "ratio of the last two residuals; NaN if there was only one"),
    "certificate": (len(CERTIFICATE), "largest turn of a joint [rad], and distance from the dynamics' prediction as a "
                                      "share of the most that is certified; NaN where it is not asked for"),
    "drive_forces": (None, "mean forces of the drives in the step, of `model.drives` [N or N m]; NaN with methods that "
                           "take forces at their stages: `model.drive_forces` gives those"),
}


#: Numbers that a stepper shows of each step before the forces of drives: the contraction, and the certificate's two.
WATCHED = 3


def monitors_of(names: str | Iterable[str]) -> tuple[str, ...]:
    """Return the monitors that are asked for.

    Raises
    ------
    InputError, UnknownNameError
        If one is none.
    """
    found = (names,) if isinstance(names, str) else several(names, "monitors", f"names, of {', '.join(MONITORS)}")
    for name in found:
        if not isinstance(name, str) or name not in MONITORS:
            raise UnknownNameError("monitor", name, MONITORS, about=Argument("monitors", name))
    return found


class Monitors:
    """Arrays (steps,) or (steps, columns) of the quantities asked for.

    Parameters
    ----------
    names : names of MONITORS, or one
    model : System
    steps : int

    Raises
    ------
    UnknownNameError
    """

    def __init__(self, names: str | Iterable[str], model: System, steps: int):
        self.names = monitors_of(names)
        self.model, self.done = model, 0
        self.arrays = {"t": np.empty(steps)}
        drives = len(getattr(model, "drives", ()))
        for name in self.names:
            columns = MONITORS[name][0]
            self.arrays[name] = np.empty(steps if columns == 0 else (steps, drives if columns is None else columns))
        self.watched = np.empty((0, WATCHED + drives))

    def rows_for(self, records: Records, count: int) -> Records:
        """Room for ``count`` states, as ``records`` have them."""
        self.watched = np.full((count, self.watched.shape[1]), np.nan)
        kept = {name: getattr(records, name) for name in COLUMNS}
        columns: dict[str, Any] = {name: np.empty((count, *x.shape[1:]), x.dtype) for name, x in kept.items()}
        return Records(**columns)

    def take(self, integrator: Integrator, every: Records, records: Records, stride: int) -> None:
        """Keep the first ``every.rows`` states, and copy each ``stride``-th to ``records``."""
        n, model = every.rows, self.model
        here = slice(self.done, self.done + n)
        if here.stop > len(self.arrays["t"]):
            self._grow(max(here.stop, 3 * len(self.arrays["t"]) // 2))
        simple = {name: getattr(every, name) for name in ("t", "residual", "iterations")}
        simple["contraction"], simple["certificate"] = self.watched[:, 0], self.watched[:, 1:WATCHED]
        simple["drive_forces"] = self.watched[:, WATCHED:]
        for name, rows in simple.items():
            if name in self.arrays:
                self.arrays[name][here] = rows[:n]
        if n and {"energy", "momentum"} & set(self.names):
            v = integrator.velocities(every.t[:n], every.q[:n], every.x[:n], every.contacts)
            energies = model.energies(every.q[:n], v)
            for name, value in (("energy", energies[:, 0] + energies[:, 1]), ("momentum", energies[:, 2:8])):
                if name in self.names:
                    self.arrays[name][here] = value
        if n and "constraint" in self.names:
            self.arrays["constraint"][here] = np.abs(model.constraint_errors(every.q[:n])).max(axis=1, initial=0.0)
        kept = np.arange(stride - 1 - self.done % stride, n, stride)
        self.done += n
        to = slice(records.rows, records.rows + len(kept))
        for name in COLUMNS:
            getattr(records, name)[to] = getattr(every, name)[kept]
        touched = every.contacts
        at = np.searchsorted(kept, touched[:, 0])
        there = (at < len(kept)) & (kept[np.minimum(at, len(kept) - 1)] == touched[:, 0]) if len(kept) else at < 0
        records.touched.append(np.column_stack([records.rows + at[there], touched[there, 1:]]))
        every.touched.clear()
        records.rows += len(kept)

    def _grow(self, rows: int) -> None:
        """Make room for so many steps."""
        for name, array in self.arrays.items():
            self.arrays[name] = np.empty((rows, *array.shape[1:]))
            self.arrays[name][: len(array)] = array

    def kept(self) -> dict[str, np.ndarray]:
        """Return the arrays of all steps so far, with the times."""
        return {name: rows[: self.done] for name, rows in self.arrays.items()}
