"""Sets of comparisons: from many starts with medians and bands, and work against precision on several robots."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from vitree.arguments import JsonObject, Keywords, as_numbers, mapping, numbers_of
from vitree.errors import InputError
from vitree.model.system import System
from vitree.results.comparison import BAND, ComparedFromStarts, summed_up
from vitree.results.plain import plain
from vitree.results.series import NAN
from vitree.results.work_precision import WorkPrecisionTable
from vitree.run.arguments import require_system
from vitree.run.compare import Comparison, Job, Plotted, compare, jobs_of, time_steps

if TYPE_CHECKING:
    from matplotlib.figure import Figure

#: Runs of each row of a work-precision set, of which the shortest counts.
REPEATS = 3
#: What begins the note of a comparison whose reference is not known to the end.
_UNKNOWN = ("The motion is chaotic", "Small differences grow")
_MODELS = "a model, or a mapping of labels to models"
#: What begins the notes that a work-precision set has of a comparison.
_OF_ERRORS = ("Medians", "The reference", "Error:", *_UNKNOWN, "From", "Failed", "No errors", "MuJoCo", "Pinocchio")


@dataclass(frozen=True, eq=False, kw_only=True, repr=False)
class EnsembleComparison(Plotted, ComparedFromStarts):
    """The result of :func:`compare_ensemble`: ``print`` it, ``.plot()`` it, ``.save()`` it, or read ``.table``.

    Attributes
    ----------
    model_name : str
    table : list of dict
        One row per method and time step: ``label``, ``method``, ``dt`` [s], ``steps``, ``starts``, ``failed`` (how many
        of these failed), ``status``. Of each measure of :class:`Comparison` the median over the starts that did not
        fail, with the 10th and the 90th percentile as ``..._low`` and ``..._high``. ``valid_to_end`` is how many runs
        are valid to the end; their valid time is a lower bound.
    comparisons : tuple of Comparison
        One per start.
    notes : tuple of str
    settings : dict
    """

    comparisons: tuple[Comparison, ...]

    def _draw(self) -> Figure:
        from vitree.plot import ensemble

        return ensemble(self)


def compare_ensemble(
    model: System,
    methods: Sequence[str | Job] | Mapping[str, str | Job],
    q0: ArrayLike,
    v0: ArrayLike | None = None,
    *,
    duration: float,
    dt: float | Sequence[float],
    **more: Any,
) -> EnsembleComparison:
    """Compare methods from many starts, with medians and bands: of chaotic motions one start says little.

    Parameters
    ----------
    model : Model, or another System
    methods : sequence or dict
        As for :func:`compare`.
    q0 : (n, nq) or (nq,) array [m or rad]
    v0 : (n, nv) or (nv,) array, optional [m/s or rad/s]
        Zero if not given. One of q0 and v0 has a row for each start, or both.
    duration, dt : float, or several time steps [s]
    **more
        Other arguments of :func:`compare`.

    Returns
    -------
    EnsembleComparison

    Raises
    ------
    InputError
        If there are no rows, or their numbers differ; others as of :func:`compare`.
    """
    require_system(model)
    dt = _numbers(dt, duration)
    starts = _starts(model, q0, v0)
    if len(starts) < 2:
        raise InputError(
            f"q0 and v0 are {len(starts)} start{'s' * (len(starts) != 1)}; give q0 of shape (n, {model.nq}) or v0 of "
            f"shape (n, {model.nv}) with 2 rows or more, or call compare()"
        )
    found = tuple(compare(model, methods, q, v, duration=duration, dt=dt, **more) for q, v in starts)
    rows: dict[tuple[str, float], list[JsonObject]] = {}
    for each in found:
        for row in each.table:
            rows.setdefault((row["label"], row["dt"]), []).append(row)
    n = len(found)
    common = [note for note in found[0].notes if all(note in each.notes for each in found)]
    unknown = sum(any(note.startswith(_UNKNOWN) for note in each.notes) for each in found)
    off = [each.reference_error for each in found if each.reference_error == each.reference_error]
    notes = [
        f"Medians over {n} starts; in brackets the {100 * BAND[0]:g}th and the {100 * BAND[1]:g}th percentile.",
        *([f"The references are off by {max(off):.1e} rad, m at most."] if off else []),
        *([f"From {unknown} of {n} starts the reference is not known to the end: errors are those until then."]
          if unknown else []),
        *common,
    ]  # fmt: skip
    settings = found[0].settings | {"q0": plain(np.array([q for q, _ in starts])),
                                    "v0": None if v0 is None else plain(np.array([v for _, v in starts]))}  # fmt: skip
    return EnsembleComparison(model_name=model.name, table=[summed_up(each) for each in rows.values()],
                              comparisons=found, notes=tuple(notes), settings=settings)  # fmt: skip


def _numbers(dt: object, duration: float) -> list[float]:
    """Return time steps [s], of which none is to be chosen: each start would have its own."""
    steps, auto = time_steps(dt, duration, 1)
    if auto:
        raise InputError("dt", dt, "chooses a time step for each start, in compare() alone; give numbers")
    return steps


def _starts(model: System, q0: ArrayLike, v0: ArrayLike | None) -> list[tuple[np.ndarray, np.ndarray | None]]:
    """Return the starts, one for each row."""
    q = np.atleast_2d(numbers_of(q0, "q0"))
    v = None if v0 is None else np.atleast_2d(numbers_of(v0, "v0"))
    for name, rows, size in (("q0", q, model.nq), ("v0", v, model.nv)):
        if rows is not None and (rows.ndim != 2 or rows.shape[1] != size or not len(rows)):
            raise InputError(f"{name} has shape {np.shape(rows)}; {model.name!r} needs (n, {size}) or ({size},)")
    if v is None:
        return [(each, None) for each in q]
    if len(q) != len(v) and 1 not in (len(q), len(v)):
        raise InputError(f"q0 has {len(q)} rows and v0 {len(v)}; give as many of both, or one of one")
    n = max(len(q), len(v))
    return list(zip(np.broadcast_to(q, (n, model.nq)), np.broadcast_to(v, (n, model.nv)), strict=True))


# ---- work against precision ------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False, kw_only=True, repr=False)
class WorkPrecision(Plotted, WorkPrecisionTable):
    """The result of :func:`work_precision`: ``print`` it, ``.plot()`` it, ``.save()`` it, or read ``.table``.

    Attributes
    ----------
    table : list of dict
        One row per robot, method and time step or tolerance: ``robot``, ``method`` (the label), ``dt`` [s], NaN of
        methods that choose their steps, ``tolerance``, NaN if it was not varied, ``error`` with ``error_low`` and
        ``error_high`` [rad and m], ``at_floor``, ``seconds`` to compute the run [s], ``per_second`` the same for a
        second of the motion, ``us_per_step``, ``starts``, ``failed``, ``status``. Of several starts numbers are
        medians, and low and high the 10th and the 90th percentile.
    comparisons : dict of str to Comparison or EnsembleComparison
        One per robot.
    notes : tuple of str
    settings : dict
    """

    comparisons: Mapping[str, Comparison | EnsembleComparison]

    def _draw(self) -> Figure:
        from vitree.plot import work_precision

        return work_precision(self).figure.figure


def work_precision(
    models: System | Mapping[str, System],
    methods: Sequence[str | Job] | Mapping[str, str | Job],
    q0: ArrayLike | Mapping[str, ArrayLike] | None = None,
    v0: ArrayLike | Mapping[str, ArrayLike] | None = None,
    *,
    duration: float,
    dt: float | Sequence[float],
    tolerance: Sequence[float] | None = None,
    **more: Any,
) -> WorkPrecision:
    """Run methods over time steps and tolerances, on one robot or several; return errors and times.

    Methods of fixed steps run once for each time step. SciPy's methods choose their steps: they run once for each
    tolerance, which is rtol and atol, and are recorded at the smallest dt. With a single dt, other methods that have an
    option ``tolerance`` run once for each of these, too.

    Parameters
    ----------
    models : Model or other System, or mapping of labels to them
    methods : sequence or dict
        As for :func:`compare`.
    q0 : (nq,) or (n, nq) array, optional [m or rad]
        The default start of the model if not given. Several rows, here or in v0, are several starts. Of several models
        a mapping of their labels to arrays.
    v0 : (nv,) or (n, nv) array, optional [m/s or rad/s]
        Zero if not given; otherwise as q0.
    duration : float [s]
    dt : float or several
        Time steps, each a whole fraction of the duration [s].
    tolerance : sequence of floats, optional
    **more
        Other arguments of :func:`compare`; ``repeats`` is 3 if not given.

    Returns
    -------
    WorkPrecision

    Raises
    ------
    InputError
        If there is no model, or a label of q0 or v0 is none of a model; others as of :func:`compare`.

    References
    ----------
    Hairer & Wanner 1996, "Solving ordinary differential equations II", section IV.10: diagrams of work and precision.
    """
    robots = {models.name: models} if isinstance(models, System) else mapping(models, "models", _MODELS)
    if not robots:
        raise InputError("models", models, "is empty; give at least one model")
    steps = _numbers(dt, duration)
    levels = [] if tolerance is None else np.atleast_1d(as_numbers(tolerance)).tolist()
    if not all(0 < x < 1 for x in levels) or len(set(levels)) < len(levels):
        raise InputError("tolerance", tolerance, "must be numbers between 0 and 1 that differ")
    found: dict[str, Comparison | EnsembleComparison] = {}
    rows: list[JsonObject] = []
    for label, model in robots.items():
        require_system(model)
        q = _of_robot(q0, label, robots, "q0")
        q, v = model.start if q is None else q, _of_robot(v0, label, robots, "v0")
        jobs, given = _levels(methods, model, steps, levels)
        call = {"duration": duration, "dt": steps, "repeats": REPEATS, **more}
        several = np.ndim(q) > 1 or np.ndim(v) > 1
        found[label] = compare_ensemble(model, jobs, q, v, **call) if several else compare(model, jobs, q, v, **call)
        rows += [_work_row(label, row, given, float(duration)) for row in found[label].table]
    notes = dict.fromkeys(
        f"{label}: {note}" if len(found) > 1 else note
        for label, each in found.items() for note in each.notes if note.startswith(_OF_ERRORS)
    )  # fmt: skip
    settings = {"robots": {label: each.settings for label, each in found.items()}, "dt": steps, "tolerance": levels,
                "duration": duration}  # fmt: skip
    return WorkPrecision(table=rows, comparisons=found, notes=tuple(notes), settings=plain(settings))


def _of_robot(given: object, label: str, robots: Mapping[str, System], name: str) -> Any:
    """Return what is given for a robot."""
    if given is None or not isinstance(given, Mapping):
        if given is not None and len(robots) > 1:
            raise InputError(f"{name} must be a mapping of labels to arrays for several models: {', '.join(robots)}")
        return given
    for each in given:
        if each not in robots:
            raise InputError(f'{name} has "{each}", which is no label of models; choose from {", ".join(robots)}')
    return given.get(label)


def _levels(
    methods: Any, model: System, steps: list[float], levels: list[float]
) -> tuple[dict[str, Job], dict[str, tuple[str, float, bool]]]:
    """Return jobs, one for each tolerance of a method, and by their labels method, tolerance and if it chooses dt."""
    jobs: dict[str, Job] = {}
    given: dict[str, tuple[str, float, bool]] = {}
    for label, (name, options) in jobs_of(methods, model.methods).items():
        adapts = name.startswith("scipy-")
        own: Keywords = {"dt": min(steps)} if adapts else {}
        varied = adapts or (len(steps) == 1 and "tolerance" in model.methods[name].options)
        if not (varied and levels):
            jobs[label], given[label] = (name, own | options), (label, NAN, adapts)
            continue
        for level in levels:
            made = {"rtol": level, "atol": level} if adapts else {"tolerance": level}
            each = f"{label}, tolerance={level:g}"
            jobs[each], given[each] = (name, own | options | made), (label, level, adapts)
    return jobs, given


def _work_row(robot: str, row: JsonObject, given: Mapping[str, tuple[str, float, bool]], duration: float) -> JsonObject:
    """Return the row of a work-precision set of that of a comparison."""
    method, level, adapts = given.get(row["label"], (row["label"], NAN, False))
    seconds = 1e-6 * row["us_per_step"] * row["steps"]
    return {
        "robot": robot, "method": method, "dt": NAN if adapts else row["dt"], "tolerance": level,
        "error": row["error"], "error_low": row.get("error_low", row["error"]),
        "error_high": row.get("error_high", row["error"]), "at_floor": bool(row["at_floor"]), "seconds": seconds,
        "per_second": seconds / duration, "us_per_step": NAN if adapts else row["us_per_step"],
        "starts": row.get("starts", 1), "failed": row.get("failed", int(row["status"] != "ok")),
        "status": row["status"],
    }  # fmt: skip
