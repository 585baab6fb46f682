"""Pictures of runs and comparisons; axes in, axes out. Needs matplotlib (extra "plot").

Each function draws into the axes that it is given, or into those of a new figure. Figures are made without pyplot: they
need no display, and are freed with their last reference. ``axes.figure`` is the figure; :func:`save` writes it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any

import numpy as np

from vitree.arguments import Keywords, real, several, shown
from vitree.errors import InputError, UnknownNameError
from vitree.plot import parts
from vitree.plot.fan import fan
from vitree.plot.files import check_format, save, settings_of
from vitree.plot.parts import Runs, line_style
from vitree.results.comparison import BAND, Compared, ComparedFromStarts
from vitree.results.recording import Recording
from vitree.results.series import momentum_departure
from vitree.results.units import about, distinct, labels_of
from vitree.results.work_precision import WorkPrecisionTable

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

__all__ = ["PLOTS", "center_of_pressure", "check_format", "comparison", "constraint", "contact_forces",
           "coordinates", "energy", "energy_error", "ensemble", "error", "fan", "figure_of", "gap", "iterations",
           "line_style", "momentum", "order", "phase", "residual", "save", "settings_of", "work_precision"]  # fmt: skip

#: Numbers of a run that are too large to draw are left to the axes.
_quiet = np.errstate(all="ignore")


@_quiet
def energy(source: object, axes: Axes | None = None, *, dt: float | None = None) -> Axes:
    """Draw the energy over time, and its change since the start on separate axes below.

    Of one run the upper axes show kinetic energy, potential energy and their sum. The potential energy is counted from
    its least value in the run, and the title says which that is. Of several runs the upper axes show the energies as
    they are.

    The other plots refer to the arguments, the result and the errors of this one.

    Parameters
    ----------
    source : Trajectory, list of trajectories, mapping of label to Trajectory, or Comparison
        The trajectories of a list are called by method and time step.
    axes : matplotlib Axes, or two of them, optional
        The axes to draw into; those of a new figure if not given. One has the energy alone.
    dt : float, optional
        A time step of a Comparison [s]; the smallest if not given.

    Returns
    -------
    matplotlib Axes
        The upper axes.

    Raises
    ------
    MissingExtraError
        If matplotlib is not installed.
    InputError
        If there is nothing to draw.
    """
    runs = parts.runs_of(source, dt)
    upper, lower = parts.panels(axes, heights=(3, 2))
    lines = {label: (label, run.t, run.energy) for label, run in runs}
    title = ""
    if len(runs) == 1:
        ((label, run),) = runs
        base = float(run.potential[np.isfinite(run.potential)].min(initial=np.inf))
        base = base if np.isfinite(base) else 0.0
        values = {"energy": run.energy - base, "kinetic": run.kinetic, "potential": run.potential - base}
        lines = {name: (label, run.t, value) for name, value in values.items()}
        title = f"energy and potential are counted from the least potential, {base:.6g} J" if base else ""
    xlabel = parts.TIME if lower is None else ""
    parts.over_time("energy", runs, upper, lines, "energy [J]", xlabel=xlabel)
    upper.set_title(title, fontsize="small")
    parts.widen(upper, 0.1 * max(parts.largest(run.kinetic) for run in runs.sound))
    if lower is not None:
        _change(runs, lower)
    return upper


def _change(runs: Runs, axes: Axes) -> None:
    """Draw the change of the energy since the start; where it is rounding, show how large that is."""
    lines = {label: (label, run.t, run.energy - run.energy[0]) for label, run in runs}
    parts.over_time("energy", runs, axes, lines, "change of energy [J]", legend=False)
    level = parts.rounding(np.abs(run.kinetic) + np.abs(run.potential) for run in runs.sound)
    if max(parts.largest(change) for _, _, change in lines.values()) < 20 * level:
        axes.set_ylim(-30 * level, 30 * level)
        axes.axhspan(-level, level, color="0.85", linewidth=0)
        parts.mark(axes, level, "rounding")


#: What the change of the energy is called, by what becomes of the energy.
_CHANGES = {"": "energy error [J]", "kept": "energy error [J]", "lost": "dissipated energy [J]",
            "changed": "change of energy [J]"}  # fmt: skip
_WHY = {"lost": "damping and friction take this energy: it is no error",
        "changed": "forces change the energy: this is no error"}  # fmt: skip


@_quiet
def energy_error(source: object, axes: Axes | None = None, *, dt: float | None = None) -> Axes:
    """Draw the departure of the energy from its start, abs(E - E0), over time; log scale.

    Where damping or friction takes energy, the departure is called dissipated energy. Where other forces change the
    energy, it is called the change of energy. The title says so, too. For a Comparison with a reference it is the
    difference to the energy of the reference, if the energy of the reference changes; without a reference a Comparison
    is drawn as its runs are. A grey line marks the rounding of
    the energy's terms, if a curve comes near it.

    Arguments, result and errors as for :func:`energy`, but that axes are one.
    """
    runs = parts.runs_of(source, dt)
    fate, lines = "", {}
    if isinstance(source, Compared):
        lines = {label: (label, x.t[1:], x.energy[1:]) for label, x in parts.series_of(runs, dt).items()}
    if not any(np.isfinite(values).any() for _, _, values in lines.values()):  # not of a Comparison that knows errors
        fate = parts.fate_of_energy(runs)
        lines = {label: (label, run.t[1:], run.energy[1:] - run.energy[0]) for label, run in runs}
    level = parts.rounding(np.abs(run.kinetic) + np.abs(run.potential) for run in runs.sound)
    axes = parts.errors_over_time("energy_error", runs, axes, lines, _CHANGES[fate], level)
    axes.set_title(_WHY.get(fate, ""), fontsize="small")
    return axes


@_quiet
def error(source: object, axes: Axes | None = None, *, dt: float | None = None) -> Axes:
    """Draw the error against the reference over time; log scale.

    A grey line marks the error of the reference itself, if a curve comes near it. ``source`` is a Comparison; other
    arguments, result and errors as for :func:`energy`.
    """
    (found,) = parts.comparisons_of("error", source).values()
    runs = parts.runs_of(found, dt)
    lines = {label: (label, x.t[1:], x.error[1:]) for label, x in parts.series_of(runs, dt).items()}
    own = found.reference_error
    return parts.errors_over_time("error", runs, axes, lines, "error [rad, m]", own, "reference's own")


@_quiet
def momentum(source: object, axes: Axes | None = None, *, dt: float | None = None) -> Axes:
    """Draw the departure of the spatial momentum from its start over time, angular and linear; log scale.

    The angular momentum has the upper axes, the linear momentum the lower ones. Of one pair of axes the angular
    momentum has the scale on the left, the linear momentum that on the right.

    The departure is drawn for systems that move freely. Gravity's impulse is subtracted from the linear momentum. Of
    the angular momentum about the world's origin the component along gravity is drawn. Unless something drives the
    run, both would be zero in exact arithmetic: the curves are the errors of the method. A grey line marks rounding, if
    a curve comes near it.

    The ground, loads or constraints change the momentum of other systems. For these the momentum itself is drawn,
    linear scale; so it is for runs of which it is not known whether the system moves freely.

    Arguments, result and errors as for :func:`energy`.
    """
    runs = parts.runs_of(source, dt)
    systems = {label: about(run) or {} for label, run in runs}
    free = all(system.get("is_free_floating") for system in systems.values())
    upper, below = parts.panels(axes)
    single = below is None
    lower = upper.twinx() if below is None else below
    lines: dict[str, dict[str, tuple[str, np.ndarray, np.ndarray]]] = {"angular": {}, "linear": {}}
    for label, run in runs:
        if free:
            both = momentum_departure(run, systems[label]["gravity"], systems[label]["total_mass"])
        else:
            both = tuple(np.linalg.norm(half, axis=1) for half in np.hsplit(run.momentum, 2))
        for what, values in zip(lines, both, strict=True):
            name = (f"{label}, {what}" if len(runs) > 1 else what) if single else label
            lines[what][name] = label, run.t, values
    level = parts.rounding(part for run in runs.sound for part in (run.momentum, run.p))
    for what, panel, unit in (("angular", upper, "kg m²/s"), ("linear", lower, "kg m/s")):
        looks: Keywords = {"xlabel": parts.TIME if single or panel is lower else "", "legend": panel is upper}
        looks["first"] = len(runs) * (single and panel is lower)
        if free:
            ylabel = f"departure of\n{what} momentum [{unit}]"
            parts.errors_over_time("momentum", runs, panel, lines[what], ylabel, level, **looks)
        else:
            parts.over_time("momentum", runs, panel, lines[what], f"{what} momentum\n[{unit}]", **looks)
    if single:
        lower.grid(False)
        parts.legend_of(upper, lower)
    if not free:
        why = "the ground, loads or constraints change it"
        if not all(systems.values()):
            why = "it is not known whether the system moves freely"
        upper.set_title(f"momentum itself: {why}", fontsize="small")
    return upper


@_quiet
def constraint(source: object, axes: Axes | None = None, *, dt: float | None = None) -> Axes:
    """Draw the errors of the constraints over time, abs(h): each one of one run, the largest of several; log scale.

    Arguments, result and errors as for :func:`energy`; a run without constraints is an InputError.
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
    return parts.errors_over_time("constraint", runs, axes, lines, "constraint error [rad, m]", level)


@_quiet
def iterations(source: object, axes: Axes | None = None, *, dt: float | None = None) -> Axes:
    """Draw the corrections of each step: of all steps if they were monitored, else of those that end at the records.

    Arguments, result and errors as for :func:`energy`.
    """
    runs = parts.runs_of(source, dt)
    lines = {label: (label, *parts.envelope(*parts.of_steps(run, "iterations"))) for label, run in runs}
    axes = parts.over_time("iterations", runs, axes, lines, "corrections in a step [-]")
    for line in axes.lines:
        line.set_drawstyle("steps-pre")
    axes.locator_params(axis="y", integer=True)
    axes.set_ylim(bottom=-0.2, top=max(axes.get_ylim()[1], 1.0))
    return axes


@_quiet
def residual(source: object, axes: Axes | None = None, *, dt: float | None = None) -> Axes:
    """Draw the residual of each step's equations; log scale.

    All steps are drawn if they were monitored, else those that end at the records.

    Arguments, result and errors as for :func:`energy`.
    """
    runs = parts.runs_of(source, dt)
    lines = {label: (label, *parts.of_steps(run, "residual")) for label, run in runs}
    level = parts.rounding(run.p for run in runs.sound)
    return parts.errors_over_time("residual", runs, axes, lines, "residual [kg m/s, kg m²/s]", level)


@_quiet
def coordinates(
    source: object, names: str | Iterable[str] | None = None, axes: Axes | None = None, *, of: str = "q",
    dt: float | None = None,
) -> Axes:  # fmt: skip
    """Draw entries of the configuration, velocity or momentum over time.

    Other arguments, result and errors as for :func:`energy`.

    Parameters
    ----------
    names : names of ``q_names`` (``v_names`` for v and p), or one, optional
        The entries that move most if not given: seven of one run, fewer of several.
    of : {"q", "v", "p"}

    Raises
    ------
    UnknownNameError
        If a coordinate is not known.
    """
    runs = parts.runs_of(source, dt)
    first = runs.first
    every = parts.names_of(first, of)
    named = [names] if isinstance(names, str) else names
    count = min(parts.SHOWN, max(parts.GREY // len(runs), 1))
    given = () if named is None else several(named, "names", "names of coordinates")
    chosen = parts.moving(first, every, of, count) if named is None else list(given)
    lines = {
        (f"{name}, {label}" if len(runs) > 1 else name): (label, run.t, parts.entry(run, of, name))
        for name in chosen for label, run in runs
    }  # fmt: skip
    axes = parts.over_time("coordinates", runs, axes, lines, f"{of} [{parts.unit_label(first, of, chosen)}]")
    if names is None and len(chosen) < len(every):
        axes.set_title(f"{len(chosen)} of {len(every)}, those that move most", fontsize="small")
    return axes


@_quiet
def phase(
    source: object, name: str | None = None, axes: Axes | None = None, *, against: str = "v", dt: float | None = None
) -> Axes:
    """Draw the phase portrait of one coordinate: its velocity or momentum against itself. A marker is at the start.

    Other arguments, result and errors as for :func:`energy`.

    Parameters
    ----------
    name : str, optional
        Name of a coordinate whose velocity has the same name; the one that moves most if not given.
    against : {"v", "p"}

    Raises
    ------
    UnknownNameError
        If there is no such coordinate.
    """
    runs = parts.runs_of(source, dt)
    first = runs.first
    known = [x for x in first.q_names if x in parts.names_of(first, against)]
    if not known:
        raise InputError(f"{first.model_name} has no joint with one coordinate, and a phase portrait needs one")
    if name is None:
        (name,) = parts.moving(first, known, "q", 1)
    if not isinstance(name, str) or name not in known:
        raise UnknownNameError("coordinate with a velocity of its own", name, known)
    axes = parts.begin(axes)
    for index, (label, run) in enumerate(runs):
        x, y = parts.entry(run, "q", name), parts.entry(run, against, name)
        parts.draw(axes, index, runs, label, label, x, y)
        axes.plot(x[:1], y[:1], color=line_style(index)["color"], **parts.marker_style(index))
    size = axes.figure.figure.get_size_inches()
    labels = [parts.wrapped(f"{of}, {name} [{parts.unit_label(first, of, [name])}]", 0.75 * inches, 10.0)
              for of, inches in zip(("q", against), size, strict=True)]  # fmt: skip
    return parts.finish(axes, "phase", source, xlabel=labels[0], ylabel=labels[1])


@_quiet
def contact_forces(
    source: object, names: str | Iterable[str] | None = None, axes: Axes | None = None, *, dt: float | None = None,
    mean: float | None = None,
) -> Axes:  # fmt: skip
    """Draw the forces of contacts on frames over time: the sum of their normal parts, and the size of the tangential.

    Impulses that are many times larger than most forces exceed the axes; the title states how large they are. Other
    arguments, result and errors as for :func:`energy`; a run in which nothing may touch is an InputError.

    Parameters
    ----------
    names : names of frames that may touch, or one, optional
        Those with the largest normal impulse over the run if not given: seven of one run, fewer of several.
    mean : float, optional [s]
        Draw moving means over windows of this length, in which impacts of a few steps do not hide what carries.

    Raises
    ------
    UnknownNameError
        If there is no such frame, or it may not touch.
    InputError
        If the window is not positive.
    """
    if mean is not None and not 0.0 < real(mean) < np.inf:
        raise InputError("mean", mean, "must be a positive time [s]")
    runs = parts.runs_of(source, dt)
    touching = {label: parts.contact_parts(run) for label, run in runs}
    chosen, every = parts.pushed(touching, names, max(parts.SHOWN // len(runs), 1))
    lines: dict[str, tuple[str, np.ndarray, np.ndarray]] = {}
    for name in chosen:
        for label, run in runs:
            t = run.t[1:] - run.settings.get("dt", 0.0)
            for what, values in zip(("normal", "tangential"), touching[label].get(name, ()), strict=False):
                drawn = values[1:] if mean is None else parts.moving_mean(t, values[1:], real(mean))
                lines[f"{name}, {what}" + (f", {label}" if len(runs) > 1 else "")] = label, t, drawn
    axes = parts.over_time("contact_forces", runs, axes, lines, "force of contacts [N]")
    told = [f"{len(chosen)} of {every}, those with the largest impulse"] if len(chosen) < every else []
    told += [] if mean is None else [f"means over {real(mean):g} s"]
    forces = np.concatenate([np.zeros(1), *(y[y > 0] for _, _, y in lines.values())])
    usual = 1.3 * float(np.percentile(forces, 98))
    if forces.max() > parts.BLOW * usual > 0:
        axes.set_ylim(-0.03 * usual, usual)
        told.append(f"impulsive forces up to {forces.max():.2g} N")
    axes.set_title("; ".join(told), fontsize="small")
    return axes


@_quiet
def gap(source: object, axes: Axes | None = None, *, dt: float | None = None) -> Axes:
    """Draw the least gap of all that may touch over time; below zero is penetration.

    The runs have the monitor "gap". Arguments, result and errors as for :func:`energy`.
    """
    runs = parts.runs_of(source, dt)
    for label, run in runs:
        if not np.isfinite(run.monitors.get("gap", np.nan)).any():
            text = f'the run "{label}" has no gaps to draw; simulate a model with contacts, and '
            raise InputError(f'{text}monitors="gap"')
    lines = {label: (label, run.monitors["t"], run.monitors["gap"]) for label, run in runs}
    axes = parts.over_time("gap", runs, axes, lines, "least gap [m]")
    axes.axhline(0.0, color="0.6", linewidth=0.8)
    axes.set_title(f"deepest: {min(np.nanmin(y) for _, _, y in lines.values()):.2g} m", fontsize="small")
    return axes


@_quiet
def center_of_pressure(
    source: object, names: str | Iterable[str] | None = None, axes: Axes | None = None, *, dt: float | None = None
) -> Axes:
    """Draw the path of the centre of pressure as seen from above, of all on the ground, or of frames by ``names``.

    A marker is where it is first. Other arguments, result and errors as for :func:`contact_forces`.
    """
    runs = parts.runs_of(source, dt)
    given = [names] if isinstance(names, str) else () if names is None else several(names, "names", "names of frames")
    axes = parts.begin(axes)
    index = 0
    for label, run in runs:
        for name in given or (None,):
            path = run.center_of_pressure(*(() if name is None else (name,)))[1:, :2]
            text = ", ".join([*(() if name is None else (name,)), *((label,) if name is None or len(runs) > 1 else ())])
            first = path[np.isfinite(path[:, 0])][:1]
            parts.draw(axes, index, runs, label, text, *path.T)
            axes.plot(*first.T, color=line_style(index)["color"], linestyle="", **parts.marker_style(index))
            index += 1
    axes.set_aspect("equal", adjustable="datalim")
    return parts.finish(axes, "center_of_pressure", source, xlabel="x [m]", ylabel="y [m]")


@_quiet
def order(source: object, axes: Axes | None = None) -> Axes:
    """Draw the largest error against the time step, both logarithmic, with the fitted order of each label.

    Lines are fits. A hollow marker shows an error that is too near the reference's own to be fitted. ``source`` is a
    Comparison with several time steps; ``axes``, result and errors as for :func:`energy`.
    """
    (found,) = parts.comparisons_of("order", source).values()
    axes = parts.begin(axes)
    for index, (label, slope) in enumerate(found.orders.items()):
        dts, errors, fitted = parts.errors_of(found, label, "dt")
        if not len(dts):
            continue
        line = np.zeros(0), np.zeros(0)
        if fitted.sum() > 1:
            label = f"{label}: order {slope:.2f}"
            at = dts[fitted]
            line = at, at**slope * np.exp(np.mean(np.log(errors[fitted] / at**slope)))
        parts.marked(axes, index, label, line, (dts, errors), fitted)
    return parts.finish(axes, "order", source, xscale="log", yscale="log", xlabel="time step [s]",
                  ylabel="largest error [rad, m]")  # fmt: skip


@_quiet
def work_precision(source: object, axes: Axes | None = None, *, per: str = "second") -> Axes:
    """Draw the largest error against the time to compute it, both logarithmic, a line per label.

    A hollow marker shows an error that is too near the reference's own to be told from it. Other arguments, result
    and errors as for :func:`energy`.

    Parameters
    ----------
    source : WorkPrecision, Comparison, or mapping of label to Comparison
        With several time steps.
    per : {"second", "step"}
        Whether the time is that of a second of the motion [s], or of a step [us].
    """
    if not isinstance(per, str) or per not in ("second", "step"):
        raise InputError(f'per={shown(per)} must be "second" or "step"')
    if isinstance(source, WorkPrecisionTable):
        return _work_lines(source, parts.begin(axes), per)
    sources, index = parts.comparisons_of("work_precision", source, several=True), 0
    axes = parts.begin(axes)
    for name, found in sources.items():
        for label in found.orders:
            dts, errors, sound = parts.errors_of(found, label, "dt")
            times = parts.errors_of(found, label, "us_per_step")[0] * (1e-6 / dts if per == "second" else 1.0)
            text = f"{name}, {label}" if len(sources) > 1 else label
            parts.marked(axes, index, text, (times, errors), (times, errors), sound)
            index += 1
    return _finish_work(axes, source, per)


def _finish_work(axes: Axes, source: object, per: str) -> Axes:
    what = "a second of the motion [s]" if per == "second" else "a step [µs]"
    return parts.finish(axes, "work_precision", source, xscale="log", yscale="log", xlabel=f"time to compute {what}",
                  ylabel="largest error [rad, m]")  # fmt: skip


def _work_lines(source: WorkPrecisionTable, axes: Axes, per: str) -> Axes:
    """Draw a line per robot and method, with bars from the 10th to the 90th percentile of several starts."""
    key = "per_second" if per == "second" else "us_per_step"
    for index, ((robot, method), rows) in enumerate(source.lines().items()):
        rows = [row for row in rows if row["error"] > 0 and row[key] == row[key]]
        times, low, errors, high = (np.array([row[name] for row in rows], dtype=float)
                                    for name in (key, "error_low", "error", "error_high"))  # fmt: skip
        text = f"{robot}, {method}" if len(source.comparisons) > 1 else method
        sound = ~np.array([row["at_floor"] for row in rows], dtype=bool)
        parts.marked(axes, index, text, (times, errors), (times, errors), sound)
        if (high > low).any():
            axes.vlines(times, low, high, color=line_style(index)["color"], linewidth=0.8)
    return _finish_work(axes, source, per)


@_quiet
def ensemble(source: object) -> Figure:
    """Return a figure of the energy error and the error over time from many starts: medians and bands.

    Bands are from the 10th to the 90th percentile of the starts; of each method the smallest time step is drawn.
    ``source`` is an EnsembleComparison; errors as for :func:`energy`.
    """
    if not isinstance(source, ComparedFromStarts):
        raise InputError('"ensemble" draws an EnsembleComparison: vitree.compare_ensemble() makes one')
    axes = parts.new_figure(figsize=(8, 6)).subplots(2, 1, sharex=True)
    labels = dict.fromkeys(row["label"] for row in source.table)
    for name, panel, ylabel in (("energy", axes[0], "energy error [J]"), ("error", axes[1], "error [rad, m]")):
        for index, label in enumerate(labels):
            found = []
            for each in source.comparisons:
                dts = [dt for run, dt in each.series if run == label]
                found += [each.series[label, min(dts)]] if dts else []
            if not found:
                continue
            shortest = min(found, key=lambda series: len(series.t))
            rows = np.abs(np.array([getattr(series, name)[1 : len(shortest.t)] for series in found]))
            known = np.isfinite(rows).any(axis=0)
            if not known.any():
                continue
            t = shortest.t[1:][known]
            low, middle, high = (np.nanquantile(rows[:, known], share, axis=0) for share in (BAND[0], 0.5, BAND[1]))
            style = line_style(index)
            panel.plot(t, np.where(middle > 0, middle, np.nan), label=parts.literal(label), **style)
            panel.fill_between(t, low, high, color=style["color"], alpha=0.2, linewidth=0)
        last = panel is axes[1]
        parts.finish(panel, "ensemble", source, legend=not last, ylabel=ylabel, yscale="log",
                     xlabel=parts.TIME if last else "")  # fmt: skip
    axes[0].set_title(f"medians and bands of {len(source.comparisons)} starts", fontsize="small")
    figure: Figure = axes[0].figure
    return figure


@_quiet
def comparison(source: object) -> Figure:
    """Return a figure of energy and error over time, and of error against time step if there are several.

    ``source`` is a Comparison; errors as for :func:`energy`.
    """
    (found,) = parts.comparisons_of("comparison", source).values()
    draw: list[Callable[..., Axes]] = [energy_error]
    if found.reference is not None:
        draw += [error, order] if len({row["dt"] for row in found.table}) > 1 else [error]
    figure = parts.new_figure(figsize=(8, 3 * len(draw)))
    for panel, axes in zip(draw, figure.subplots(len(draw), 1, squeeze=False)[:, 0], strict=True):
        panel(found, axes)
    _title(figure, f"{found.model_name}, dt = {parts.step_of(found, None):g} s")
    failed = [f"{r['label']} (dt = {r['dt']:g} s)" for r in found.table if r["status"] != "ok"]
    if failed:
        text = parts.wrapped("failed: " + ", ".join(failed), figure.get_figwidth(), 8.0)
        figure.supxlabel(text, fontsize="small")
    return figure


#: The plots that :func:`figure_of` makes, by name.
PLOTS: dict[str, Callable[..., Any]] = {
    draw.__name__: draw
    for draw in (energy, energy_error, momentum, coordinates, phase, constraint, iterations, residual, contact_forces,
                 gap, center_of_pressure, error, order, work_precision, comparison)
}  # fmt: skip


def figure_of(what: str, source: object, **options: Any) -> Figure:
    """Return the matplotlib Figure of one plot, with a title; errors as for :func:`energy`.

    Parameters
    ----------
    what : str
        A name of ``PLOTS``.
    source : Trajectory, mapping of label to Trajectory, or Comparison
    **options
        Options of the plot: ``dt``, ``names``, ``of``, ``name``, ``against``, ``per``.

    Raises
    ------
    UnknownNameError
        If there is no such plot, or no such coordinate.
    """
    if not isinstance(what, str) or what not in PLOTS:
        raise UnknownNameError("plot", what, PLOTS)
    if what == "comparison":
        return comparison(source, **options)
    figure: Figure = PLOTS[what](source, **options).figure
    sources = [source] if isinstance(source, Recording | Compared) else list(parts.labelled(source).values())
    names = dict.fromkeys(part.model_name for part in sources)
    if isinstance(source, Recording):
        names[labels_of([source])[0]] = None
    elif isinstance(source, Compared) and what not in ("order", "work_precision"):
        names[f"dt = {parts.step_of(source, options.get('dt')):g} s"] = None
    _title(figure, ", ".join(names))
    return figure


def _title(figure: Figure, text: str) -> None:
    """Give a figure a title, in as many lines as its width asks for."""
    figure.suptitle(parts.wrapped(text, figure.get_figwidth(), 12.0))
