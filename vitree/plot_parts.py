"""What the pictures of ``vitree.plot`` are made of: styles of lines, what is drawn of a source, axes and scales."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np

from vitree.compare import Comparison
from vitree.errors import InputError, MissingExtraError, UnknownNameError
from vitree.export import units_of
from vitree.plot_files import note
from vitree.trajectory import Trajectory

#: Okabe & Ito's colours without yellow and purple (jfly.uni-koeln.de/color), dark and light in turn, and a dash
#: pattern for each, so that the lines are told apart in grey as well.
COLOURS = ("#0072B2", "#E69F00", "#009E73", "#000000", "#D55E00", "#56B4E9")
DASHES = ("-", "--", "-.", ":", (0, (5, 1, 1, 1, 1, 1)), (0, (2, 4)), (0, (10, 3)))
MARKERS = "os^Dv<>"
#: So many lines are told apart without colour.
GREY = 14
#: Of more errors than twice this, the largest of each of so many stretches is drawn.
STRETCHES = 400
#: So many coordinates are drawn if none is named.
SHOWN = len(DASHES)


def line_style(index: int) -> dict[str, Any]:
    """Return colour, dashes and width of the line of that index; 42 differ, the first 14 without colour.

    Parameters
    ----------
    index : int

    Returns
    -------
    dict
        Keywords of matplotlib's ``plot``.
    """
    colour = COLOURS[index % len(COLOURS)]
    return {"color": colour, "linestyle": DASHES[index % len(DASHES)], "linewidth": 1.4}


def marker_style(index: int) -> dict[str, Any]:
    """Return the marker of the line of that index."""
    return {"marker": MARKERS[index % len(MARKERS)], "markersize": 5}


# ---- what is drawn --------------------------------------------------------------------------------


def step_of(found: Comparison, dt: float | None) -> float:
    """Return the time step that was asked for, or the smallest of the runs that did not fail [s]."""
    steps = sorted({key[1] for key in found.trajectories})
    if not steps:
        raise InputError(f"the comparison of {found.model_name} has no run to draw")
    if dt is None:
        return min((key[1] for key in found.series), default=steps[0])
    if dt not in steps:
        raise InputError(f"dt = {dt} s was not run; choose from {', '.join(map(str, steps))}")
    return dt


def runs_of(source: Any, dt: float | None) -> dict[str, Trajectory]:
    """Return the trajectories of a source by their labels; those without records are left out."""
    if isinstance(source, Comparison):
        step = step_of(source, dt)
        runs = {label: run for (label, own), run in source.trajectories.items() if own == step}
    elif dt is not None:
        raise InputError("dt= chooses from a Comparison; leave it out with trajectories")
    elif isinstance(source, Trajectory):
        runs = {source.method: source}
    else:
        runs = dict(source) if isinstance(source, Mapping) else {}
        if not runs or not all(isinstance(run, Trajectory) for run in runs.values()):
            raise InputError("give a Trajectory, a mapping of labels to trajectories, or a Comparison")
    runs = {str(label): run for label, run in runs.items() if len(run)}
    if not runs:
        raise InputError("the trajectory has no records to draw")
    return runs


def comparisons_of(what: str, source: Any, several: bool = False) -> dict[str, Comparison]:
    """Return the comparisons of a source by their labels."""
    found = dict(source) if several and isinstance(source, Mapping) else {"": source}
    if not found or not all(isinstance(part, Comparison) for part in found.values()):
        kind = "a Comparison" + (", or a mapping of labels to comparisons" if several else "")
        raise InputError(f'"{what}" is drawn of {kind}: vitree.compare() makes one of a model and methods')
    return found


def series_of(found: Comparison, dt: float | None) -> dict[str, Any]:
    """Return the errors over time of the runs that did not fail, by label."""
    step = step_of(found, dt)
    return {label: found.series[label, step] for label in found.orders if (label, step) in found.series}


def errors_of(found: Comparison, label: str, against: str) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return a column of the table and the errors, by time step, and which errors the reference resolves."""
    rows = [row for row in found.table if row["label"] == label and 0 < row["error"] < np.inf]
    rows.sort(key=lambda row: row["dt"])
    x, errors = (np.array([row[key] for row in rows], dtype=float) for key in (against, "error"))
    return x, errors, ~(errors <= 3 * found.reference_error)


def of_steps(run: Trajectory, name: str) -> tuple[np.ndarray, np.ndarray]:
    """Return times and values of all steps if they were monitored, else of those that ended at the records."""
    if name in run.monitors:
        return run.monitors["t"], run.monitors[name]
    return run.t[1:], getattr(run, name)[1:]


def names_of(run: Trajectory, of: str) -> tuple[str, ...]:
    """Return the names of the entries of q, v or p."""
    if of not in ("q", "v", "p"):
        raise InputError(f'{of!r} must be "q", "v" or "p"')
    return run.q_names if of == "q" else run.v_names


def entry(run: Trajectory, of: str, name: str) -> np.ndarray:
    """Return one named entry of q, v or p over time."""
    names = names_of(run, of)
    if name not in names:
        raise UnknownNameError("coordinate", name, names)
    return getattr(run, of)[:, names.index(name)]


def moving(run: Trajectory, names: Iterable[str], of: str, count: int) -> list[str]:
    """Return so many of the names, those whose entries move most, in the order they have."""
    names = list(names)
    spans = [largest(x - x[0]) for x in (entry(run, of, name) for name in names)]
    most = np.argsort(-np.array(spans), kind="stable")[:count]
    return [names[k] for k in sorted(most)]


def unit_label(run: Trajectory, of: str, names: Iterable[str]) -> str:
    """Return the units of named entries of q, v or p, each once."""
    every = dict(zip(names_of(run, of), units_of(run)[of], strict=True))
    return ", ".join(dict.fromkeys(every[name] for name in names)).replace("^2", "²")


def literal(text: str) -> str:
    """Return what matplotlib shows as the text: to it dollars begin formulas, and no legend has what begins with _."""
    text = text.replace("$", r"\$")
    return f" {text}" if text.startswith("_") else text


# ---- axes and lines -------------------------------------------------------------------------------


def begin(axes):
    """Return the axes to draw into, those of a new figure if there are none."""
    if axes is not None:
        return axes
    try:
        from matplotlib.figure import Figure
    except ImportError:
        raise MissingExtraError("matplotlib", "plot", "plotting") from None
    return Figure(figsize=(8, 4), layout="constrained").subplots()


def finish(axes, what: str, source: Any, **labels):
    """Set labels, scales, grid and legend, and note what was drawn."""
    axes.set(**labels)
    axes.grid(True, alpha=0.3)
    figure = axes.figure.figure
    if any(not line.get_label().startswith("_") for line in axes.lines):
        # beside the lines, not over them, if the figure makes room
        beside = {"loc": "upper left", "bbox_to_anchor": (1.0, 1.0), "frameon": False}
        axes.legend(fontsize="small", **(beside if figure.get_layout_engine() is not None else {}))
    note(figure, what, source)
    return axes


def largest(values: np.ndarray) -> float:
    """Return the largest magnitude of those that are finite."""
    return float(np.abs(values[np.isfinite(values)]).max(initial=0.0))


def rounding(terms: Iterable[np.ndarray]) -> float:
    """Return the rounding of sums of such terms."""
    return float(np.finfo(float).eps) * max(map(largest, terms))


def envelope(t: np.ndarray, y: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return times and magnitudes; of many, the largest of each stretch of time."""
    y = np.abs(y)
    if len(y) <= 2 * STRETCHES:
        return t, y
    ends = np.linspace(0, len(y), STRETCHES + 1).astype(int)
    return t[ends[1:] - 1], np.fmax.reduceat(y, ends[:-1])


def over_time(what: str, source, axes, lines: Mapping[str, tuple[np.ndarray, np.ndarray]], ylabel: str):
    """Draw lines over time as they are."""
    axes = begin(axes)
    for index, (label, (t, y)) in enumerate(lines.items()):
        axes.plot(t, y, label=literal(label), **line_style(index))
    return finish(axes, what, source, xlabel="time (s)", ylabel=ylabel)


def errors_over_time(what: str, source, axes, lines: Mapping, ylabel: str, level: float, meaning: str = "rounding"):
    """Draw magnitudes over time, logarithmic, and the level below which they say nothing, if they come near it."""
    axes = begin(axes)
    lowest = np.inf
    for index, (label, (t, y)) in enumerate(lines.items()):
        t, y = envelope(t, y)
        shown = np.isfinite(y) & (y > 0)  # a logarithm has no place for zero
        if shown.any():
            axes.plot(t[shown], y[shown], label=literal(label), **line_style(index))
            lowest = min(lowest, y[shown].min())
    if lowest < 100 * level:
        axes.axhline(level, color="0.6", linewidth=0.8)
        axes.annotate(
            meaning, (1, level), color="0.4", fontsize="x-small", xycoords=("axes fraction", "data"),
            xytext=(-2, 2), textcoords="offset points", ha="right",
        )  # fmt: skip
    axes = finish(axes, what, source, xlabel="time (s)", ylabel=ylabel, yscale="log")
    if lowest < level / 100:
        axes.set_ylim(bottom=level / 100)
    return axes


def marked(axes, index: int, label: str, line: tuple, points: tuple, sound: np.ndarray) -> None:
    """Draw a line and the points it is of, hollow where they are not sound, with one entry in the legend."""
    style, marker = line_style(index), marker_style(index)
    axes.plot(*line, **style)
    x, y = points
    for some, fill in ((sound, style["color"]), (~sound, "white")):
        axes.plot(x[some], y[some], linestyle="", color=style["color"], markerfacecolor=fill, **marker)
    axes.plot([], [], label=literal(label), **style, **marker)
