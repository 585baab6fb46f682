"""The parts of the pictures of ``vitree.plot``: styles of lines, the runs of a source, axes and scales."""

from __future__ import annotations

import textwrap
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from vitree.arguments import Keywords, real, several, shown, whole
from vitree.errors import InputError, MissingExtraError, UnknownNameError
from vitree.mechanism.unilateral import OF_JOINTS
from vitree.plot.files import note
from vitree.results.comparison import Compared
from vitree.results.recording import Recording
from vitree.results.series import ABSURD, Series, sensible, series_against
from vitree.results.units import about, labels_of, units_of
from vitree.wording import visible

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from matplotlib.ticker import Locator

#: Okabe & Ito's colours without yellow (jfly.uni-koeln.de/color), dark and light in turn. Dash patterns go with them,
#: so that lines differ in grey as well; the second round of colours has the next dashes, and so on.
COLOURS = ("#0072B2", "#E69F00", "#D55E00", "#56B4E9", "#009E73", "#000000", "#CC79A7")
DASHES = ("-", "--", "-.", ":", (0, (5, 1, 1, 1, 1, 1)), (0, (2, 4)), (0, (10, 3)))
MARKERS = "os^Dv<>"
#: The number of lines that differ without colour.
GREY = 14
#: A curve of more than twice as many points is drawn by the largest value of each of so many stretches.
STRETCHES = 400
#: Values along x, and along y.
Points = tuple[np.ndarray, np.ndarray]
#: A line's label, the label of the run it is of, times [s] and values.
Lines = Mapping[str, tuple[str, np.ndarray, np.ndarray]]
#: An axis of fewer decades, as a ratio, has small ticks within them.
DECADES = 1e13
#: The label of an axis of time.
TIME = "time [s]"
#: The number of coordinates that are drawn if none is named.
SHOWN = len(DASHES)
#: Forces of contacts that are BLOW times larger than most go beyond the picture.
BLOW = 3.0
#: Mean width of a letter, as a share of its size.
WIDE = 0.62
#: The letters in a line of a legend, and the height of a line [in].
LETTERS, LINE = 48, 0.175
#: A run that failed is drawn until its kinetic energy stays above BEYOND times that of the others. Without others, the
#: limit is BEYOND_ITSELF times the median of the run.
BEYOND, BEYOND_ITSELF = 10.0, 30.0


def line_style(index: int) -> Keywords:
    """Return colour, dashes and width of the line of an index; 49 differ, the first 14 without colour.

    Parameters
    ----------
    index : int

    Returns
    -------
    dict
        Keywords of matplotlib's ``plot``.

    Raises
    ------
    InputError
        If the index is no whole number.
    """
    number = whole(index)
    if number is None:
        raise InputError(f"index is {shown(index)}; it must be a whole number")
    turn, place = divmod(number, len(COLOURS))
    return {"color": COLOURS[place], "linestyle": DASHES[(place + turn) % len(DASHES)], "linewidth": 1.4}


def marker_style(index: int) -> Keywords:
    """Return the marker of the line of an index."""
    return {"marker": MARKERS[index % len(MARKERS)], "markersize": 5}


def round_style(index: int) -> Keywords:
    """Return the sparse hollow markers that lines have from the second round of colours on; none before."""
    turn = index // len(COLOURS)
    if not turn:
        return {}
    every = 0.05 + 0.02 * (index % len(COLOURS)), 0.15
    return {"marker": MARKERS[(turn - 1) % len(MARKERS)], "markersize": 4, "markerfacecolor": "white",
            "markevery": every}  # fmt: skip


# ---- runs -----------------------------------------------------------------------------------------


def step_of(found: Compared, dt: float | None) -> float:
    """Return the time step ``dt``, or the smallest of the runs that did not fail if it is None [s]."""
    steps = sorted({key[1] for key in found.trajectories})
    if not steps:
        raise InputError(f"the comparison of {found.model_name} has no run to draw")
    if dt is None:
        return min((key[1] for key in found.series), default=steps[0])
    if real(dt) not in steps:
        raise InputError(f"dt = {shown(dt)} s was not run; choose from {', '.join(map(str, steps))}")
    return real(dt)


@dataclass(frozen=True)
class Runs:
    """Trajectories to draw, by label; a failed one ends where it stops making sense.

    Attributes
    ----------
    source : Trajectory, mapping of label to Trajectory, or Comparison
    by_label : dict of str to Trajectory
    failed : dict of str to float
        The times of failure of the runs that failed [s].
    """

    source: Any
    by_label: dict[str, Recording]
    failed: dict[str, float]

    def __iter__(self) -> Iterator[tuple[str, Recording]]:
        return iter(self.by_label.items())

    def __len__(self) -> int:
        return len(self.by_label)

    @property
    def first(self) -> Recording:
        """The first run."""
        return next(iter(self.by_label.values()))

    @property
    def sound(self) -> list[Recording]:
        """The runs that did not fail; all runs, if all failed."""
        return [run for label, run in self if label not in self.failed] or list(self.by_label.values())


def runs_of(source: object, dt: float | None) -> Runs:
    """Return the trajectories of a source that have records."""
    failed: dict[str, float] = {}
    if isinstance(source, Compared):
        step = step_of(source, dt)
        runs = {label: run for (label, own), run in source.trajectories.items() if own == step}
        rows = [row for row in source.table if row["dt"] == step and row["status"] != "ok"]
        failed = {row["label"]: row["failed_at"] for row in rows}
    elif dt is not None:
        raise InputError("dt= chooses from a Comparison; leave it out with trajectories")
    elif isinstance(source, Recording):
        runs = {source.method: source}
    else:
        source = runs = labelled(source)
        if not runs or not all(isinstance(run, Recording) for run in runs.values()):
            raise InputError("give a Trajectory, several, a mapping of labels to trajectories, or a Comparison; of a "
                             "rollout, vitree.plot.fan draws all instances, and rollout[0] is the Trajectory of "
                             "one")  # fmt: skip
    runs = {str(label): run for label, run in runs.items() if len(run)}
    # The runs of a comparison approximate one motion, so that one can be judged by the others.
    alike = isinstance(source, Compared)
    others = [largest(run.kinetic) for label, run in runs.items() if label not in failed]
    counts = {label: sensible(run, ABSURD * min(others, default=0.0) * alike) for label, run in runs.items()}
    failed |= {label: float(run.t[counts[label]]) for label, run in runs.items()
               if counts[label] < len(run) and label not in failed}  # fmt: skip
    most = max((run.kinetic.max() for label, run in runs.items() if label not in failed), default=0.0)
    for label in failed.keys() & runs.keys():
        runs[label] = until(runs[label], counts[label], BEYOND * most * alike)
    runs = {label: run for label, run in runs.items() if len(run)}
    if not runs:
        raise InputError("the trajectory has no records to draw")
    return Runs(source, runs, failed)


def labelled(source: object) -> dict[Any, Any]:
    """Return several runs by their labels: those of a mapping, or method and time step of those in a list."""
    if isinstance(source, Mapping):
        return dict(source)
    if isinstance(source, list | tuple) and all(isinstance(run, Recording) for run in source):
        return dict(zip(labels_of(source), source, strict=True))
    return {}


def until(run: Recording, count: int, most: float) -> Recording:
    """Return the first ``count`` records without the last ones that have more kinetic energy than ``most``."""
    run = run[:count]
    if not count:
        return run
    calm = np.flatnonzero(run.kinetic <= (most or BEYOND_ITSELF * float(np.median(run.kinetic))))
    run = run[: calm.max(initial=0) + 1]
    kept = run.monitors.get("t", np.zeros(0)) <= run.t[-1]
    return replace(run, monitors={name: rows[kept] for name, rows in run.monitors.items()})


def comparisons_of(what: str, source: object, several: bool = False) -> dict[str, Compared]:
    """Return the comparisons of a source by their labels."""
    given: dict[str, object] = dict(source) if several and isinstance(source, Mapping) else {"": source}
    found = {label: part for label, part in given.items() if isinstance(part, Compared)}
    if not found or len(found) < len(given):
        kind = "a Comparison" + (", or a mapping of labels to comparisons" if several else "")
        raise InputError(f'"{what}" draws {kind}: vitree.compare() makes one of a model and methods')
    return found


def series_of(runs: Runs, dt: float | None) -> dict[str, Series]:
    """Return the errors over time of the runs of a comparison, by label; a failed run has them until it ends."""
    found, lines = runs.source, {}
    step = step_of(found, dt)
    # Without a reference the error of the energy is known only if the energy is conserved.
    known = not found.series or any(np.isfinite(series.energy).any() for series in found.series.values())
    for label, run in runs:
        series = found.series.get((label, step))
        if series is None:
            series = series_against(run.system, run, found.reference, known and found.reference is None)
        lines[label] = Series(*(values[series.t <= run.t[-1]] for values in series))
    return lines


def errors_of(found: Compared, label: str, against: str) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return a column of the table, the errors, and whether dt rules each; sorted by time step."""
    rows = [row for row in found.table if row["label"] == label and 0 < row["error"] < np.inf]
    rows = [row for row in rows if label not in runs_of(found, row["dt"]).failed]
    rows.sort(key=lambda row: row["dt"])
    x, errors = (np.array([row[key] for row in rows], dtype=float) for key in (against, "error"))
    at_floor = np.array([row["at_floor"] for row in rows], dtype=bool)
    return x, errors, ~(at_floor | (errors <= 3 * found.reference_error))


def of_steps(run: Recording, name: str) -> tuple[np.ndarray, np.ndarray]:
    """Return times and values of all steps if they were monitored, else of the steps that end at the records."""
    if name in run.monitors:
        return run.monitors["t"], run.monitors[name]
    return run.t[1:], getattr(run, name)[1:]


def names_of(run: Recording, of: str) -> tuple[str, ...]:
    """Return the names of the entries of q, v or p."""
    if not (isinstance(of, str) and of in ("q", "v", "p")):
        raise InputError(f'{shown(of)} must be "q", "v" or "p"')
    return run.q_names if of == "q" else run.v_names


def entry(run: Recording, of: str, name: str) -> np.ndarray:
    """Return one named entry of q, v or p over time."""
    names = names_of(run, of)
    if not isinstance(name, str) or name not in names:
        raise UnknownNameError("coordinate", name, names)
    found: np.ndarray = getattr(run, of)[:, names.index(name)]
    return found


def moving(run: Recording, names: Iterable[str], of: str, count: int) -> list[str]:
    """Return the ``count`` names whose entries move most, in their given order."""
    names = list(names)
    spans = [largest(x - x[0]) for x in (entry(run, of, name) for name in names)]
    most = np.argsort(-np.array(spans), kind="stable")[:count]
    return [names[k] for k in sorted(most)]


def contact_parts(run: Recording) -> dict[str, tuple[np.ndarray, np.ndarray]]:
    """Return normal and tangential forces (n,) [N] on each frame that may touch: sums of numbers, and of vectors."""
    log = run._contact_log()
    push = (log.impulse * log.normal).sum(axis=1) / log.dt
    across = log.force - push[:, None] * log.normal
    found = {}
    for name in log.touching:
        ours = np.array([name in (a, b) and b not in OF_JOINTS for a, b in log.names])[log.number]
        sign = np.array([float(a == name) - float(b == name) for a, b in log.names])[log.number][ours]
        sums = np.zeros((len(run), 4))
        np.add.at(sums, log.record[ours], np.column_stack([push[ours], sign[:, None] * across[ours]]))
        found[name] = sums[:, 0], np.linalg.norm(sums[:, 1:], axis=1)
    return found


def pushed(runs: Mapping[str, Mapping[str, tuple[np.ndarray, np.ndarray]]], names: str | Iterable[str] | None,
           count: int) -> tuple[list[str], int]:
    """Return frames to draw by the names, or the ``count`` of the largest impulse, and the number of all pushed."""
    most: dict[str, float] = {}
    for found in runs.values():
        for name, (push, _) in found.items():  # records of a run are spaced evenly
            most[name] = max(most.get(name, 0.0), float(np.nansum(push)) / max(len(push), 1))
    if names is not None:
        chosen = [names] if isinstance(names, str) else list(several(names, "names", "names of frames"))
        for name in chosen:
            if not isinstance(name, str) or name not in most:
                raise UnknownNameError("frame that may touch", name, most)
        return chosen, len(chosen)
    ranked = sorted((name for name, size in most.items() if size > 0), key=lambda name: -most[name])
    return [name for name in most if name in ranked[:count]], len(ranked)


def moving_mean(t: np.ndarray, y: np.ndarray, width: float) -> np.ndarray:
    """Return the mean of y (n,) over the records within ``width``/2 of each time t (n,) [s], in units of y."""
    total = np.concatenate(([0.0], np.cumsum(np.nan_to_num(y))))
    first = np.searchsorted(t, t - 0.5 * width - 1e-12)
    last = np.searchsorted(t, t + 0.5 * width + 1e-12, side="right")
    found: np.ndarray = (total[last] - total[first]) / np.maximum(last - first, 1)
    return found


def fate_of_energy(runs: Runs) -> str:
    """Return what becomes of the energy of all runs: "kept", "lost" (to damping), or "changed"; "" if it is not known.

    A run keeps its energy if nothing drives it and the system has only forces with a potential. It loses energy if
    nothing drives it and friction or dampers are the only other forces.
    """
    fates = set()
    for _, run in runs:
        known = about(run)
        if known is None:
            return ""
        driven = bool(run.settings.get("driven"))
        fates.add("changed" if driven else "kept" if known.get("conservative")
                  else "lost" if known.get("is_dissipative") else "changed")  # fmt: skip
    return fates.pop() if len(fates) == 1 else "changed"


def unit_label(run: Recording, of: str, names: Iterable[str]) -> str:
    """Return the units of named entries of q, v or p, each once."""
    every = dict(zip(names_of(run, of), units_of(run)[of], strict=True))
    return ", ".join(dict.fromkeys(every[name] for name in names)).replace("^2", "²")


def wrapped(text: str, inches: float, points: float) -> str:
    """Return a text as :func:`literal` does, in lines that are no wider than a width, in letters of a size [points]."""
    count = max(int(72.0 * inches / (WIDE * points)), 8)
    lines = [text] if len(text) <= count else textwrap.wrap(visible(text), count, break_on_hyphens=False)
    return "\n".join(map(literal, lines))


def literal(text: str) -> str:
    """Return a text that matplotlib shows as it is: dollars begin formulas, and legends leave out labels with a _."""
    text = visible(text).replace("$", r"\$")
    return f" {text}" if text.startswith("_") else text


# ---- axes and lines -------------------------------------------------------------------------------


def begin(axes: Axes | None) -> Axes:
    """Return the axes to draw into: the given ones, or those of a new figure."""
    if axes is None:
        return new_figure(figsize=(8, 4)).subplots()
    require_axes(axes)
    return axes


def require_axes(axes: object) -> None:
    """Raise an InputError if this is nothing to draw into."""
    if not (callable(getattr(axes, "plot", None)) and hasattr(axes, "figure")):
        raise InputError(f"axes is {shown(axes)}; it must be axes of matplotlib to draw into")


def panels(axes: Any, heights: tuple[float, float] = (1.0, 1.0)) -> tuple[Axes, Axes | None]:
    """Return two axes to draw into, one above the other, of a new figure if none are given; (axes, None) for one."""
    if axes is None:
        upper, lower = new_figure(figsize=(8, 5)).subplots(2, 1, sharex=True, height_ratios=heights)
        return upper, lower
    if isinstance(axes, list | tuple | np.ndarray):
        two = list(np.ravel(np.array(axes, dtype=object)))
        if len(two) != 2:
            raise InputError(f"axes are {len(two)}; this plot draws into one or into two")
        for each in two:
            require_axes(each)
        return two[0], two[1]
    return begin(axes), None


def new_figure(**options: Any) -> Figure:
    """Return a figure, made without pyplot, that a notebook shows."""
    try:
        from vitree.plot.figure import Figure
    except ImportError:
        raise MissingExtraError("matplotlib", "plot", "plotting") from None
    return Figure(layout="constrained", **options)


def finish(axes: Axes, what: str, source: Any, legend: bool = True, **labels: str) -> Axes:
    """Set labels, scales, ticks, grid and legend, and note the plot and its source on the figure."""
    axes.set(**labels)
    ticks(axes)
    axes.grid(True, alpha=0.3)
    if legend:
        legend_of(axes)
    note(axes.figure.figure, what, source)
    return axes


def legend_of(axes: Axes, right: Axes | None = None) -> None:
    """Give axes a legend, with the entries of those on the right, too, if two share a picture.

    The legend stands beside the lines if the figure makes room for it. A figure of ours becomes as high as it must be.
    """
    handles = [line for each in (axes, right) if each is not None for line in each.lines
               if not str(line.get_label()).startswith("_")]  # fmt: skip
    if not handles:
        return
    figure = axes.figure.figure
    looks: Keywords = {"fontsize": "small"}
    if figure.get_layout_engine() is not None:
        looks |= {"loc": "upper left", "bbox_to_anchor": (1.0 if right is None else 1.12, 1.0), "frameon": False}
    legend = axes.legend(handles=handles, **looks)
    lines = 0
    for text in legend.get_texts():
        text.set_text("\n".join(textwrap.wrap(text.get_text(), LETTERS, break_on_hyphens=False, drop_whitespace=False)))
        lines += 1 + text.get_text().count("\n")
    place = axes.get_subplotspec()
    if hasattr(figure, "_repr_png_") and place is not None:
        rows = place.get_gridspec()
        ratios = np.array(rows.get_height_ratios() or [1.0] * rows.nrows, dtype=float)
        share = float(ratios[place.rowspan.start] / ratios.sum())
        figure.set_figheight(max(figure.get_figheight(), 1.0 + LINE * (lines + 1) / share))


def ticks(axes: Axes) -> None:
    """Add small ticks between those with numbers, write numbers without an offset, and show a decade where one is log.

    Numbers such as 3.2, with a + 1e-15 in the corner of the picture, mislead.
    """
    from matplotlib.ticker import ScalarFormatter

    for axis, limits, give in (
        (axes.xaxis, axes.get_xlim, axes.set_xlim), (axes.yaxis, axes.get_ylim, axes.set_ylim)
    ):  # fmt: skip
        if axis.get_scale() == "log":
            low, high = limits()
            if 0 < low < high < 10 * low:
                middle = np.sqrt(low * high)
                give(middle / np.sqrt(11.0), middle * np.sqrt(11.0))
            low, high = limits()
            axis.set_minor_locator(_small(low, high))
            many = low > 0 and np.floor(np.log10(high)) > np.ceil(np.log10(low))  # decades, which have numbers
            axis.set_minor_formatter(_nothing if many else _two_or_five)
        else:
            formatter = axis.get_major_formatter()
            if isinstance(formatter, ScalarFormatter):
                formatter.set_useOffset(False)
                formatter.set_powerlimits((-3, 5))
            axis.set_minor_locator(_small())


def _small(low: float = 0.0, high: float = 0.0) -> Locator:
    """Where small ticks are, of a logarithmic axis if it has limits: at decades where there are many."""
    from matplotlib.ticker import AutoMinorLocator, LogLocator

    if not 0 < low < high:
        return AutoMinorLocator()
    # Where a decade has a number, Matplotlib leaves its small tick out.
    return LogLocator(subs=[float(k) for k in range(1, 10)] if high < DECADES * low else [1.0], numticks=999)


def _nothing(x: float, place: object = None) -> str:
    """The number at a small tick: none."""
    return ""


def _two_or_five(x: float, place: object = None) -> str:
    """The number at a small tick of a logarithmic axis: 2 and 5 times a power of ten have room for one."""
    power = int(np.floor(np.log10(x) + 1e-9))
    lead = round(x / 10.0**power)
    return rf"${lead}\times10^{{{power}}}$" if lead in (2, 5) else ""


def widen(axes: Axes, least: float) -> None:
    """Let the y axis span no less than ``least``, about its middle."""
    low, high = axes.get_ylim()
    if high - low < least:
        axes.set_ylim(0.5 * (low + high - least), 0.5 * (low + high + least))


def largest(values: np.ndarray) -> float:
    """Return the largest magnitude of the finite values."""
    return float(np.abs(values[np.isfinite(values)]).max(initial=0.0))


def rounding(terms: Iterable[np.ndarray]) -> float:
    """Return the rounding error of sums of such terms."""
    return float(np.finfo(float).eps) * max(map(largest, terms))


def envelope(t: np.ndarray, y: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return times and magnitudes; if there are many, the largest magnitude of each stretch of time."""
    y = np.abs(y)
    if len(y) <= 2 * STRETCHES:
        return t, y
    ends = np.linspace(0, len(y), STRETCHES + 1).astype(int)
    return t[ends[1:] - 1], np.fmax.reduceat(y, ends[:-1])


def draw(axes: Axes, index: int, runs: Runs, of: str, label: str, x: np.ndarray, y: np.ndarray) -> None:
    """Draw a line of the run ``of``, a point if it has one value, and mark the end of the line if the run failed."""
    alone = np.count_nonzero(np.isfinite(y)) == 1
    marks = {"marker": "o", "markersize": 4} if alone else round_style(index)
    axes.plot(x, y, label=literal(label), **line_style(index), **marks)
    if of in runs.failed:
        text = f"failed at t = {runs.failed[of]:g} s"
        text = "_" if any(line.get_label() == text for line in axes.lines) else text
        axes.plot(x[-1:], y[-1:], color=line_style(index)["color"], linestyle="", marker="x", markersize=8, label=text)


def over_time(
    what: str, runs: Runs, axes: Axes | None, lines: Lines, ylabel: str, *, first: int = 0, legend: bool = True,
    xlabel: str = TIME,
) -> Axes:  # fmt: skip
    """Draw lines over time as they are; ``first`` is the index of the first line's style."""
    axes = begin(axes)
    for index, (label, (of, t, y)) in enumerate(lines.items(), first):
        draw(axes, index, runs, of, label, t, y)
    if not any(len(t) for _, t, _ in lines.values()):
        say_in(axes, "no step")
    return finish(axes, what, runs.source, legend, xlabel=xlabel, ylabel=ylabel)


def errors_over_time(
    what: str, runs: Runs, axes: Axes | None, lines: Lines, ylabel: str, level: float, meaning: str = "rounding", *,
    first: int = 0, legend: bool = True, xlabel: str = TIME,
) -> Axes:  # fmt: skip
    """Draw magnitudes over time, logarithmic, and the level below which they say nothing if a curve comes near it."""
    axes = begin(axes)
    lowest, ends = np.inf, [(t[0], t[-1]) for _, t, _ in lines.values() if len(t)]
    for index, (label, (of, t, y)) in enumerate(lines.items(), first):
        t, y = envelope(t, y)
        shown = np.isfinite(y) & (y > 0)  # zero has no logarithm
        if shown.any():
            draw(axes, index, runs, of, label, t[shown], y[shown])
            lowest = min(lowest, y[shown].min())
    if lowest < 100 * level:
        mark(axes, level, meaning)
    if np.isinf(lowest) and not axes.lines:  # an empty picture would look like a mistake
        known = any(np.isfinite(y).any() for _, _, y in lines.values())
        say_in(axes, "all zero" if known else "not known" if ends else "no step")
        if ends and min(ends)[0] < max(t for _, t in ends):
            axes.set_xlim(min(ends)[0], max(t for _, t in ends))
    axes = finish(axes, what, runs.source, legend, xlabel=xlabel, ylabel=ylabel, yscale="log")
    if lowest < level / 100:
        axes.set_ylim(bottom=level / 100)
    return axes


def say_in(axes: Axes, text: str) -> None:
    """Write a text into the middle of axes that have nothing else."""
    axes.text(0.5, 0.5, text, color="0.4", transform=axes.transAxes, ha="center", va="center")


def mark(axes: Axes, level: float, meaning: str) -> None:
    """Draw a grey line at a level, with its meaning."""
    axes.axhline(level, color="0.6", linewidth=0.8)
    axes.annotate(
        meaning, (1, level), color="0.4", fontsize="x-small", xycoords=("axes fraction", "data"),
        xytext=(-2, 2), textcoords="offset points", ha="right",
    )  # fmt: skip


def marked(axes: Axes, index: int, label: str, line: Points, points: Points, sound: np.ndarray) -> None:
    """Draw a line and its points, hollow where they are not sound, with one entry in the legend."""
    style, marker = line_style(index), marker_style(index)
    axes.plot(*line, **style)
    x, y = points
    for some, fill in ((sound, style["color"]), (~sound, "white")):
        axes.plot(x[some], y[some], linestyle="", color=style["color"], markerfacecolor=fill, **marker)
    axes.plot([], [], label=literal(label), **style, **marker)
