"""Pictures of runs and comparisons; axes in, axes out. Needs matplotlib (extra "plot").

A function draws into the axes it is given, or into those of a new figure, made without pyplot: it needs no display
and is freed with its last reference. ``axes.figure`` is the figure, :func:`save` writes it to a file.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping

import numpy as np

from vitree.errors import InputError, UnknownNameError
from vitree.plot import parts
from vitree.plot.files import check_format, save, settings_of
from vitree.plot.parts import line_style
from vitree.results.comparison import Compared
from vitree.results.recording import Recording
from vitree.results.series import momentum_departure
from vitree.results.units import about, distinct

__all__ = ["PLOTS", "check_format", "comparison", "constraint", "coordinates", "energy", "energy_error", "error",
           "figure_of", "iterations", "line_style", "momentum", "order", "phase", "residual", "save", "settings_of",
           "work_precision"]  # fmt: skip


def energy(source, axes=None, *, dt: float | None = None):
    """Draw the energy over time: kinetic, potential and their sum of one run, the sum of several.

    Parameters
    ----------
    source : Trajectory, mapping of label to Trajectory, or Comparison
    axes : matplotlib Axes, optional
        Those of a new figure if not given.
    dt : float, optional
        Which time step of a Comparison [s]; the smallest if not given.

    Returns
    -------
    matplotlib Axes

    Raises
    ------
    MissingExtraError
        If matplotlib is not installed.
    InputError
        If there is nothing to draw.
    """
    runs = parts.runs_of(source, dt)
    lines = {label: (label, run.t, run.energy) for label, run in runs}
    if len(runs) == 1:
        ((label, run),) = runs
        lines = {name: (label, run.t, getattr(run, name)) for name in ("energy", "kinetic", "potential")}
    return parts.over_time("energy", runs, axes, lines, "energy (J)")


def energy_error(source, axes=None, *, dt: float | None = None):
    """Draw the departure of the energy from its start, abs(E - E0), over time; log scale.

    Of a Comparison it is the departure from the reference's energy where that changes. The rounding of the energy's
    terms is drawn where lines come near it.

    Arguments, result and errors as for :func:`energy`.
    """
    runs = parts.runs_of(source, dt)
    if isinstance(source, Compared):
        lines = {label: (label, x.t[1:], x.energy[1:]) for label, x in parts.series_of(runs, dt).items()}
    else:
        lines = {label: (label, run.t[1:], run.energy[1:] - run.energy[0]) for label, run in runs}
    level = parts.rounding(np.abs(run.kinetic) + np.abs(run.potential) for run in runs.sound)
    return parts.errors_over_time("energy_error", runs, axes, lines, "energy error (J)", level)


def error(source, axes=None, *, dt: float | None = None):
    """Draw the error against the reference over time, and the reference's own where lines come near it; log scale.

    Parameters
    ----------
    source : Comparison
    axes : matplotlib Axes, optional
        Those of a new figure if not given.
    dt : float, optional
        Which time step [s]; the smallest if not given.

    Returns
    -------
    matplotlib Axes

    Raises
    ------
    MissingExtraError
        If matplotlib is not installed.
    InputError
        If there is nothing to draw.
    """
    (found,) = parts.comparisons_of("error", source).values()
    runs = parts.runs_of(found, dt)
    lines = {label: (label, x.t[1:], x.error[1:]) for label, x in parts.series_of(runs, dt).items()}
    own = found.reference_error
    return parts.errors_over_time("error", runs, axes, lines, "error (rad, m)", own, "reference's own")


def momentum(source, axes=None, *, dt: float | None = None):
    """Draw the departure of the spatial momentum from its start over time, linear and angular; log scale.

    That is of systems that move freely: gravity's impulse is taken off the linear momentum, and of the angular momentum
    about the world's origin the part along gravity is drawn. Nothing of it is left but by errors of the method and what
    drives the run. Rounding is drawn where lines come near it.

    Other systems get momentum from the ground, loads or constraints. Of those, and of runs from files of older
    versions, which do not know, it is momentum itself, linear scale.

    Arguments, result and errors as for :func:`energy`.
    """
    runs = parts.runs_of(source, dt)
    systems = {label: about(run) or {} for label, run in runs}
    free = all(system.get("only_falls") for system in systems.values())
    lines: dict[str, tuple] = {}
    for label, run in runs:
        start = f"{label}, " if len(runs) > 1 else ""
        if free:
            angular, linear = momentum_departure(run, systems[label]["gravity"], systems[label]["total_mass"])
        else:
            angular, linear = (np.linalg.norm(half, axis=1) for half in np.hsplit(run.momentum, 2))
        lines[f"{start}angular (kg m²/s)"] = label, run.t, angular
        lines[f"{start}linear (kg m/s)"] = label, run.t, linear
    if free:
        level = parts.rounding(part for run in runs.sound for part in (run.momentum, run.p))
        return parts.errors_over_time("momentum", runs, axes, lines, "departure of momentum", level)
    axes = parts.over_time("momentum", runs, axes, lines, "momentum")
    why = "which the ground, loads or constraints change"
    if not all(systems.values()):
        why = "for it is not known whether the system moves freely"
    axes.set_title(f"momentum itself, {why}", fontsize="small")
    return axes


def constraint(source, axes=None, *, dt: float | None = None):
    """Draw how far constraints are off over time, abs(h): each of one run, the largest of several; log scale.

    Parameters
    ----------
    source : Trajectory, mapping of label to Trajectory, or Comparison
    axes : matplotlib Axes, optional
        Those of a new figure if not given.
    dt : float, optional
        Which time step of a Comparison [s]; the smallest if not given.

    Returns
    -------
    matplotlib Axes

    Raises
    ------
    MissingExtraError
        If matplotlib is not installed.
    InputError
        If there is nothing to draw, as without constraints.
    """
    runs = parts.runs_of(source, dt)
    held = {label: run for label, run in runs if run.constraint_names}
    if not held:
        raise InputError("there are no constraints to draw")
    lines = {label: (label, run.t, np.abs(run.constraint).max(axis=1)) for label, run in held.items()}
    if len(held) == 1:
        ((label, run),) = held.items()
        if len(run.constraint_names) <= parts.SHOWN:
            rows = ((label, run.t, h) for h in run.constraint.T)
            lines = dict(zip(distinct(run.constraint_names), rows, strict=True))
    level = parts.rounding(run.q for run in runs.sound)
    return parts.errors_over_time("constraint", runs, axes, lines, "constraint error (rad, m)", level)


def iterations(source, axes=None, *, dt: float | None = None):
    """Draw how many corrections steps took: those that ended at the records, or all if they were monitored.

    Arguments, result and errors as for :func:`energy`.
    """
    runs = parts.runs_of(source, dt)
    lines = {label: (label, *parts.envelope(*parts.of_steps(run, "iterations"))) for label, run in runs}
    axes = parts.over_time("iterations", runs, axes, lines, "corrections in a step (-)")
    for line in axes.lines:
        line.set_drawstyle("steps-pre")
    axes.yaxis.get_major_locator().set_params(integer=True)
    axes.set_ylim(bottom=-0.2)
    return axes


def residual(source, axes=None, *, dt: float | None = None):
    """Draw what steps left of their equations: those that ended at the records, or all if monitored; log scale.

    Arguments, result and errors as for :func:`energy`.
    """
    runs = parts.runs_of(source, dt)
    lines = {label: (label, *parts.of_steps(run, "residual")) for label, run in runs}
    level = parts.rounding(run.p for run in runs.sound)
    return parts.errors_over_time("residual", runs, axes, lines, "residual (kg m/s, kg m²/s)", level)


def coordinates(source, names: str | Iterable[str] | None = None, axes=None, *, of="q", dt: float | None = None):
    """Draw entries of the configuration, velocity or momentum over time.

    Parameters
    ----------
    source : Trajectory, mapping of label to Trajectory, or Comparison
    names : names of ``q_names`` (``v_names`` for v and p), or one, optional
        Those that move most if not given: seven, fewer of several runs.
    axes : matplotlib Axes, optional
        Those of a new figure if not given.
    of : {"q", "v", "p"}
    dt : float, optional
        Which time step of a Comparison [s]; the smallest if not given.

    Returns
    -------
    matplotlib Axes

    Raises
    ------
    MissingExtraError
        If matplotlib is not installed.
    UnknownNameError
        If a coordinate is not known.
    InputError
        If there is nothing to draw.
    """
    runs = parts.runs_of(source, dt)
    first = runs.first
    every = parts.names_of(first, of)
    named = [names] if isinstance(names, str) else names
    count = min(parts.SHOWN, max(parts.GREY // len(runs), 1))
    chosen = parts.moving(first, every, of, count) if named is None else list(named)
    lines = {
        (f"{name}, {label}" if len(runs) > 1 else name): (label, run.t, parts.entry(run, of, name))
        for name in chosen for label, run in runs
    }  # fmt: skip
    axes = parts.over_time("coordinates", runs, axes, lines, f"{of} ({parts.unit_label(first, of, chosen)})")
    if names is None and len(chosen) < len(every):
        axes.set_title(f"{len(chosen)} of {len(every)}, those that move most", fontsize="small")
    return axes


def phase(source, name: str | None = None, axes=None, *, against="v", dt: float | None = None):
    """Draw the phase portrait of one coordinate, its velocity or momentum against itself; a marker is at the start.

    Parameters
    ----------
    source : Trajectory, mapping of label to Trajectory, or Comparison
    name : str, optional
        A coordinate that has a velocity of its own, by its name; the one that moves most if not given.
    axes : matplotlib Axes, optional
        Those of a new figure if not given.
    against : {"v", "p"}
    dt : float, optional
        Which time step of a Comparison [s]; the smallest if not given.

    Returns
    -------
    matplotlib Axes

    Raises
    ------
    MissingExtraError
        If matplotlib is not installed.
    UnknownNameError
        If there is no such coordinate.
    InputError
        If there is nothing to draw.
    """
    runs = parts.runs_of(source, dt)
    first = runs.first
    known = [x for x in first.q_names if x in parts.names_of(first, against)]
    if not known:
        raise InputError(f"{first.model_name} has no joint with one coordinate, which phase portraits are of")
    if name is None:
        (name,) = parts.moving(first, known, "q", 1)
    if name not in known:
        raise UnknownNameError("coordinate with a velocity of its own", name, known)
    axes = parts.begin(axes)
    for index, (label, run) in enumerate(runs):
        x, y = parts.entry(run, "q", name), parts.entry(run, against, name)
        parts.draw(axes, index, runs, label, label, x, y)
        axes.plot(x[:1], y[:1], color=line_style(index)["color"], **parts.marker_style(index))
    labels = [f"{of}, {parts.literal(name)} ({parts.unit_label(first, of, [name])})" for of in ("q", against)]
    return parts.finish(axes, "phase", source, xlabel=labels[0], ylabel=labels[1])


def order(source, axes=None):
    """Draw the largest error against the time step, both logarithmic, with the fitted order of each label.

    Lines are fits. Hollow markers are of errors that are left out of them, too near the reference's own.

    Parameters
    ----------
    source : Comparison
        With several time steps.
    axes : matplotlib Axes, optional
        Those of a new figure if not given.

    Returns
    -------
    matplotlib Axes

    Raises
    ------
    MissingExtraError
        If matplotlib is not installed.
    InputError
        If there is nothing to draw.
    """
    (found,) = parts.comparisons_of("order", source).values()
    axes = parts.begin(axes)
    for index, (label, slope) in enumerate(found.orders.items()):
        dts, errors, fitted = parts.errors_of(found, label, "dt")
        if not len(dts):
            continue
        line: tuple = [], []
        if fitted.sum() > 1:
            label = f"{label}: order {slope:.2f}"
            at = dts[fitted]
            line = at, at**slope * np.exp(np.mean(np.log(errors[fitted] / at**slope)))
        parts.marked(axes, index, label, line, (dts, errors), fitted)
    return parts.finish(axes, "order", source, xscale="log", yscale="log", xlabel="time step (s)",
                  ylabel="largest error (rad, m)")  # fmt: skip


def work_precision(source, axes=None, *, per="second"):
    """Draw the largest error against the time to compute it, both logarithmic, a line per label.

    Hollow markers are of errors too near the reference's own to be told from it.

    Parameters
    ----------
    source : Comparison, or mapping of label to Comparison
        With several time steps.
    axes : matplotlib Axes, optional
        Those of a new figure if not given.
    per : {"second", "step"}
        Of the time to compute a second of the motion [s], or a step [us].

    Returns
    -------
    matplotlib Axes

    Raises
    ------
    MissingExtraError
        If matplotlib is not installed.
    InputError
        If there is nothing to draw.
    """
    if per not in ("second", "step"):
        raise InputError(f'per={per!r} must be "second" or "step"')
    sources, index = parts.comparisons_of("work_precision", source, several=True), 0
    axes = parts.begin(axes)
    for name, found in sources.items():
        for label in found.orders:
            dts, errors, sound = parts.errors_of(found, label, "dt")
            times = parts.errors_of(found, label, "us_per_step")[0] * (1e-6 / dts if per == "second" else 1.0)
            text = f"{name}, {label}" if len(sources) > 1 else label
            parts.marked(axes, index, text, (times, errors), (times, errors), sound)
            index += 1
    what = "a second of the motion (s)" if per == "second" else "a step (µs)"
    return parts.finish(axes, "work_precision", source, xscale="log", yscale="log", xlabel=f"time to compute {what}",
                  ylabel="largest error (rad, m)")  # fmt: skip


def comparison(source):
    """Draw energy and error over time, and error against time step where there are several.

    Parameters
    ----------
    source : Comparison

    Returns
    -------
    matplotlib Figure

    Raises
    ------
    MissingExtraError
        If matplotlib is not installed.
    InputError
        If there is nothing to draw.
    """
    (found,) = parts.comparisons_of("comparison", source).values()
    draw: list[Callable] = [energy_error]
    if found.reference is not None:
        draw += [error, order] if len({row["dt"] for row in found.table}) > 1 else [error]
    figure = parts.new_figure(figsize=(8, 3 * len(draw)))
    for panel, axes in zip(draw, figure.subplots(len(draw), 1, squeeze=False)[:, 0], strict=True):
        panel(found, axes)
    figure.suptitle(f"{parts.literal(found.model_name)}, dt = {parts.step_of(found, None):g} s")
    failed = [f"{r['label']} (dt = {r['dt']:g} s)" for r in found.table if r["status"] != "ok"]
    if failed:
        figure.supxlabel(parts.literal("failed: " + ", ".join(failed)), fontsize="small")
    return figure


#: The plots that :func:`figure_of` makes, by name.
PLOTS: dict[str, Callable] = {
    draw.__name__: draw
    for draw in (energy, energy_error, momentum, coordinates, phase, constraint, iterations, residual, error, order,
                 work_precision, comparison)
}  # fmt: skip


def figure_of(what: str, source, **options):
    """Return the figure of one plot, with a title.

    Parameters
    ----------
    what : str
        A name of ``PLOTS``.
    source : Trajectory, mapping of label to Trajectory, or Comparison
    **options
        Of the plot: ``dt``, ``names``, ``of``, ``name``, ``against``, ``per``.

    Returns
    -------
    matplotlib Figure

    Raises
    ------
    MissingExtraError
        If matplotlib is not installed.
    UnknownNameError
        If there is no such plot, or no such coordinate.
    InputError
        If there is nothing to draw.
    """
    if what not in PLOTS:
        raise UnknownNameError("plot", what, PLOTS)
    if what == "comparison":
        return comparison(source, **options)
    figure = PLOTS[what](source, **options).figure
    sources = source.values() if isinstance(source, Mapping) else [source]
    names = dict.fromkeys(part.model_name for part in sources)
    if isinstance(source, Recording):
        names[source.method] = None
    elif isinstance(source, Compared) and what not in ("order", "work_precision"):
        names[f"dt = {parts.step_of(source, options.get('dt')):g} s"] = None
    figure.suptitle(parts.literal(", ".join(names)))
    return figure
