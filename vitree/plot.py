"""Pictures of a comparison; axes in, axes out. Needs matplotlib (extra "plot")."""

from __future__ import annotations

import json
import os
from pathlib import Path

import numpy as np

from vitree.errors import InputError, MissingExtraError
from vitree.trajectory import no_nan, package_version, replacing

#: Okabe & Ito's colours without yellow and black (jfly.uni-koeln.de/color), and a dash pattern
#: for each, so that the lines are told apart in grey as well.
COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#56B4E9", "#E69F00")
DASHES = ("-", "--", "-.", ":", (0, (5, 1, 1, 1, 1, 1)), (0, (1, 2)), (0, (8, 3)))
MARKERS = "os^Dv<>"


def line_style(index: int) -> dict:
    """Return colour and dashes of the line of that index; 42 differ."""
    colour = COLOURS[index % len(COLOURS)]
    return {"color": colour, "linestyle": DASHES[index % len(DASHES)], "linewidth": 1.4}


def plot_energy(axes, result, dt: float | None = None):
    """Draw the energy error over time of every label at one time step (the smallest); log scale."""
    return _over_time(axes, result, dt, "energy", "energy error (J)")


def plot_error(axes, result, dt: float | None = None):
    """Draw the error against the reference over time at one time step (the smallest); log scale."""
    _over_time(axes, result, dt, "error", "error (rad, m)")
    if result.reference_error > 0:
        axes.axhline(result.reference_error, color="0.6", linewidth=0.8)
        axes.annotate(
            "reference's own", (1, result.reference_error), color="0.4", fontsize="x-small",
            xycoords=("axes fraction", "data"), xytext=(-2, 2), textcoords="offset points",
            ha="right",
        )  # fmt: skip
    return axes


def plot_order(axes, result):
    """Draw the largest error against the time step, both logarithmic, a line per label."""
    for index, label in enumerate(result.orders):
        rows = [row for row in result.table if row["label"] == label and row["error"] > 0]
        if not rows:
            continue
        rows.sort(key=lambda row: row["dt"])
        order = result.orders[label]
        text = f"{label}: order {order:.2f}" if order == order else label
        x, y = [row["dt"] for row in rows], [row["error"] for row in rows]
        axes.plot(x, y, marker=MARKERS[index % 7], markersize=4, label=text, **line_style(index))
    axes.set(xscale="log", yscale="log", xlabel="time step (s)", ylabel="largest error (rad, m)")
    axes.grid(True, alpha=0.3)
    if axes.lines:
        axes.legend(fontsize="small")
    return axes


def _over_time(axes, result, dt: float | None, field: str, ylabel: str):
    steps = sorted({key[1] for key in result.series})
    dt = min(steps, default=0.0) if dt is None else dt
    if steps and dt not in steps:
        raise InputError(f"dt = {dt} s was not run; choose from {', '.join(map(str, steps))}")
    for index, label in enumerate(result.orders):
        if (label, dt) in result.series:
            series = result.series[label, dt]
            height = np.abs(getattr(series, field))
            shown = np.isfinite(height) & (height > 0)  # a logarithm has no place for zero,
            shown[:1] = False  # nor for the rounding of the start
            if shown.any():
                axes.plot(series.t[shown], height[shown], label=label, **line_style(index))
    axes.set(yscale="log", xlabel="time (s)", ylabel=ylabel)
    axes.grid(True, alpha=0.3)
    if axes.lines:
        axes.legend(fontsize="small")
    return axes


def plot_comparison(result, path: str | os.PathLike | None = None):
    """Draw energy and error over time, and error against time step where there are several.

    Parameters
    ----------
    result : Comparison
    path : path, optional
        File to write (.png, .pdf, .svg ...); a PNG carries the settings as its metadata.

    Returns
    -------
    matplotlib.figure.Figure
        Made without pyplot: it needs no display and is freed with its last reference.

    Raises
    ------
    MissingExtraError
        If matplotlib is not installed.
    InputError
        If the file cannot be written, or its ending is of no known format.
    """
    try:
        from matplotlib.figure import Figure
    except ImportError:
        raise MissingExtraError("matplotlib", "plot", "plotting") from None
    steps = sorted({row["dt"] for row in result.table})
    with_error = result.reference is not None
    panels = 1 + with_error + (with_error and len(steps) > 1)
    figure = Figure(figsize=(8, 3 * panels), layout="constrained")
    axes = figure.subplots(panels, 1, squeeze=False)[:, 0]
    plot_energy(axes[0], result)
    if with_error:
        plot_error(axes[1], result)
    if panels == 3:
        plot_order(axes[2], result)
    finest = min((key[1] for key in result.series), default=min(steps, default=0.0))
    figure.suptitle(f"{result.model_name}, dt = {finest:g} s")
    failed = [f"{r['label']} (dt = {r['dt']:g} s)" for r in result.table if r["status"] != "ok"]
    if failed:
        figure.supxlabel("failed: " + ", ".join(failed), fontsize="small")
    if path is not None:
        kind = check_format(path)
        _save(figure, result, Path(path), kind)
    return figure


def check_format(path: str | os.PathLike) -> str:
    """Return the format that a file's ending names ("png" without one).

    Raises
    ------
    MissingExtraError
        If matplotlib is not installed.
    InputError
        If matplotlib cannot write that format.
    """
    try:
        from matplotlib.backend_bases import FigureCanvasBase
    except ImportError:
        raise MissingExtraError("matplotlib", "plot", "plotting") from None
    kind = Path(path).suffix.lower().lstrip(".") or "png"
    known = FigureCanvasBase.get_supported_filetypes()
    if kind not in known:
        raise InputError(f"{path} has the ending .{kind}; choose from {', '.join(sorted(known))}")
    return kind


def _save(figure, result, path: Path, kind: str) -> None:
    notes = None
    if kind == "png":
        notes = {
            "Title": f"vitree compare: {result.model_name}",
            "Software": f"vitree {package_version()}",
            "Description": json.dumps(no_nan(result.settings)),
        }
    with replacing(path) as stream:
        figure.savefig(stream, format=kind, dpi=150, metadata=notes)
