"""The records of a run in parts, between which its model changed, as those of one run."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from vitree.arguments import JsonObject, Keywords
from vitree.model.contacts import WIDTH
from vitree.results.contacts import ContactLog
from vitree.results.driven import PARTS, Driven
from vitree.results.recording import shapes
from vitree.run.trajectory import Trajectory


def joined(parts: Sequence[Trajectory]) -> Trajectory:
    """Return the records of all parts, with the settings, the system and the checkpoint of the last.

    Constraints are those of all parts by their names, the last part's first; of records at which one was not there its
    error and multiplier are NaN.
    """
    last = parts[-1]
    if len(parts) == 1:
        return last
    names = tuple(dict.fromkeys(name for part in reversed(parts) for name in part.constraint_names))
    arrays: Keywords = {name: np.concatenate([getattr(part, name) for part in parts])
              for name in shapes() if name not in ("constraint", "multipliers")}  # fmt: skip
    for name in ("constraint", "multipliers"):
        arrays[name] = np.concatenate([_in_columns(getattr(part, name), part.constraint_names, names)
                                       for part in parts])  # fmt: skip
    halves = [part.halves for part in parts if part.halves is not None]
    return replace(
        last, **arrays, constraint_names=names, halves=np.concatenate(halves) if halves else None,
        seconds=sum(part.seconds for part in parts), contacts=_contacts(parts), drive=_drive(parts),
        settings=last.settings | _settings(parts), film=None, stages=None, monitors={},
    )  # fmt: skip


def _in_columns(rows: np.ndarray, own: Sequence[str], names: Sequence[str]) -> np.ndarray:
    """Rows of numbers by names as those of other names, NaN where there are none."""
    out = np.full((len(rows), len(names)), np.nan)
    out[:, [names.index(name) for name in own]] = rows
    return out


def _settings(parts: Sequence[Trajectory]) -> JsonObject:
    """What is of all parts: steps in halves, and warnings."""
    told = [text for part in parts for text in part.settings.get("warnings", ())]
    found: JsonObject = {"halved": sum(part.settings.get("halved", 0) for part in parts),
                         "warnings": list(dict.fromkeys(told))}  # fmt: skip
    if any(part.settings.get("driven") for part in parts):
        found["driven"] = True
    acted = dict.fromkeys(name for part in parts for name in part.settings.get("control", ()))
    if acted:
        found["control"] = list(acted)
    return found


def _contacts(parts: Sequence[Trajectory]) -> ContactLog | None:
    """The contacts of all parts, by the names of all."""
    logs = [part.contacts for part in parts]
    if all(log is None for log in logs):
        return None
    names = list(dict.fromkeys(name for log in logs if log is not None for name in log.names))
    # names need not be different: a frame may have several contacts
    if len({log.names for log in logs if log is not None}) == 1:
        names = next(list(log.names) for log in logs if log is not None)
    rows, places, lengths, first = [], [], [], 0
    width = max(log.rows.shape[1] for log in logs if log is not None)
    at: dict[tuple[tuple[str, str], ...], list[int]] = {}
    for part, log in zip(parts, logs, strict=True):
        if log is not None and len(log):
            if log.names not in at:
                same = list(log.names) == names
                at[log.names] = list(range(len(names))) if same else [names.index(name) for name in log.names]
            own = np.zeros((len(log), width))
            own[:, : log.rows.shape[1]] = log.rows
            own[:, 0] += first
            own[:, 1] = np.array(at[log.names])[log.number]
            rows.append(own)
            places.append(log.places)
            lengths.append(np.broadcast_to(log.dt, (len(log),)))
        first += len(part)
    if not rows:
        return ContactLog(np.zeros((0, WIDTH)), tuple(names))
    return ContactLog(np.concatenate(rows), tuple(names), np.concatenate(places), np.concatenate(lengths))


def _drive(parts: Sequence[Trajectory]) -> Driven | None:
    """What drove all parts; zeros where nothing did."""
    if any(part.drive is None for part in parts):
        return None
    found = {}
    for name in PARTS:
        rows = [(part, getattr(part.drive, name)) for part in parts]
        width = next((each.shape[1] for _, each in rows if each is not None), None)
        if width is not None:
            found[name] = np.concatenate([np.zeros((len(part), width)) if each is None else each
                                          for part, each in rows])  # fmt: skip
    return Driven(sum(len(part) for part in parts), **found)
