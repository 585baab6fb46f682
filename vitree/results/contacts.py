"""Contacts of a recorded run: who touched whom in the step that led to each record, and how."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from vitree.arguments import numbers_of, several
from vitree.errors import InputError
from vitree.results.plain import read_only

#: Columns of the contacts as steppers have them: record, number, impulse, slip velocity, gap.
WIDTH = 9


@dataclass(frozen=True, eq=False)
class ContactLog:
    """The contacts that pushed in the steps that led to the records of a run, one row each, in the order of time.

    Parameters
    ----------
    rows : (n, 9) array
        Record, number of the contact, impulse, slip velocity and gap.
    names : sequence of (str, str)
        The two that each number stands for; "ground" and limits of joints by name.

    Attributes
    ----------
    record : (n,) int array
        The index of the state to which the step led.
    number : (n,) int array
        Points and pairs as ``model.contact_gaps`` counts them, then limits of joints.
    impulse : (n, 3) array [N s]
        On the first of the two, in world axes, at the step's start: the momentum jumped by it there. Of a limit the
        first entry, with the sign of the push [N s or N m s].
    slip : (n, 3) array [m/s]
        Mean velocity of the first against the second across the normal.
    gap : (n,) array [m]
        Where the step ended.

    Raises
    ------
    InputError
        If the rows have another shape, or numbers without names.

    Notes
    -----
    Points of one body on one plane slide as one: their friction acts at the mean of the points. Where more points push
    than a body needs, impulses are one of many ways to push it; their sum is the only one.
    """

    rows: np.ndarray
    names: tuple[tuple[str, str], ...]

    def __post_init__(self) -> None:
        rows = numbers_of(self.rows, "rows of contacts")
        names = tuple((str(a), str(b)) for a, b in several(self.names, "names of contacts", "pairs of names"))
        if rows.ndim != 2 or rows.shape[1] != WIDTH:
            raise InputError(f"rows of contacts have shape {rows.shape}; it must be (n, {WIDTH})")
        if len(rows) and not (0 <= rows[:, 1].min() and rows[:, 1].max() < len(names)):
            raise InputError(f"contacts have numbers up to {rows[:, 1].max():g} and {len(names)} names")
        object.__setattr__(self, "rows", read_only(rows))
        object.__setattr__(self, "names", names)

    def __len__(self) -> int:
        return len(self.rows)

    def __setstate__(self, state: dict[str, Any]) -> None:
        vars(self).update(state, rows=read_only(state["rows"]))

    @property
    def record(self) -> np.ndarray:
        """Index of the state that the step led to, (n,)."""
        return self.rows[:, 0].astype(int)

    @property
    def number(self) -> np.ndarray:
        """Which contact, (n,)."""
        return self.rows[:, 1].astype(int)

    @property
    def impulse(self) -> np.ndarray:
        """Impulses (n, 3) [N s]."""
        return self.rows[:, 2:5]

    @property
    def slip(self) -> np.ndarray:
        """Slip velocities (n, 3) [m/s]."""
        return self.rows[:, 5:8]

    @property
    def gap(self) -> np.ndarray:
        """Gaps (n,) [m]."""
        return self.rows[:, 8]

    def of(self, record: int) -> ContactLog:
        """Return the contacts of the step that led to a ``record``."""
        return ContactLog(self.rows[self.rows[:, 0] == record], self.names)

    def total(self, count: int, *names: str) -> np.ndarray:
        """Return the impulses (count, 3) [N s] of the steps to each of ``count`` records, summed over contacts.

        ``names`` choose first bodies; all count without them. Limits of joints do not count.
        """
        chosen = np.array([(not names or a in names) and b != "limit" for a, b in self.names], dtype=bool)
        rows = self.rows[chosen[self.number]] if len(self.names) else self.rows
        out = np.zeros((count, 3))
        np.add.at(out, rows[:, 0].astype(int), rows[:, 2:5])
        return out

    def taken(self, kept: np.ndarray) -> ContactLog:
        """Return the contacts of the records ``kept`` (m,), which are counted anew."""
        order = np.argsort(kept, kind="stable")
        at = np.searchsorted(kept[order], self.rows[:, 0])
        there = (at < len(kept)) & (kept[order][np.minimum(at, max(len(kept) - 1, 0))] == self.rows[:, 0]) if len(
            kept) else np.zeros(len(self.rows), dtype=bool)  # fmt: skip
        rows = self.rows[there].copy()
        rows[:, 0] = order[at[there]]
        return ContactLog(rows[np.argsort(rows[:, 0], kind="stable")], self.names)
