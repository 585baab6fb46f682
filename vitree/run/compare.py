"""compare(): several methods and time steps from one state, in one table."""

from __future__ import annotations

import contextlib
import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from vitree.errors import ConvergenceError, InputError, UnknownNameError
from vitree.integrators.base import Torque
from vitree.model.model import Model
from vitree.model.system import System, freedom_of
from vitree.results.comparison import COLUMNS
from vitree.results.plain import plain
from vitree.results.series import NAN, Series, distance, momentum_departure, series_against, shared
from vitree.run.comparison import Comparison
from vitree.run.simulate import count_steps, simulate
from vitree.run.trajectory import Trajectory

#: Steps run before the clock counts.
WARM_UP = 10
#: No reference is held to be better than this [rad, m].
ROUNDING = 2e-14

#: Arguments of ``simulate`` that are the same for all methods.
_COMMON = ("dt", "duration", "every", "method", "progress", "torque", "wrenches", "wrench_axes", "inputs",
           "prescribed", "effort_limits")  # fmt: skip
_MEASURES = tuple(column[0] for column in COLUMNS[2:])


def compare(
    model: System,
    methods: Sequence | Mapping,
    q0: ArrayLike,
    v0: ArrayLike | None = None,
    *,
    duration: float,
    dt: float | Sequence[float],
    reference: str | Trajectory | bool | None = None,
    reference_tolerance: float = 1e-11,
    torque: Torque = None,
    effort_limits: bool = False,
    wrenches: Mapping[str, ArrayLike] | None = None,
    wrench_axes: str = "world",
    inputs: ArrayLike | Callable[..., ArrayLike] | Mapping[str, Any] | None = None,
    prescribed: Mapping[str, Any] | None = None,
    every: int = 1,
    repeats: int = 1,
    progress: Callable[[int, int, str], Any] | None = None,
) -> Comparison:
    """Run several methods at several time steps from one state and compare them.

    A run that fails (no convergence, or values beyond all bounds) gets a row that says so, and
    the others go on.

    Parameters
    ----------
    model : Model, or another System
    methods : sequence or dict
        Names of ``vt.METHODS`` or pairs (name, options of ``simulate``); a dict gives labels:
        ``{"coarse": ("linear-time", {"tolerance": 1e-6})}``.
    q0 : (nq,) array [m or rad]
    v0 : (nv,) array, optional [m/s or rad/s]
        Zero if not given.
    duration : float
        Simulated time [s].
    dt : float or sequence of float
        Time steps [s], each a whole fraction of ``duration``.
    reference : str, Trajectory, False or None
        What the error is measured against: a SciPy method by its name in ``vt.METHODS``
        (None: "scipy-dop853"; choose "scipy-radau" for a stiff robot), a trajectory (compared at
        the times it shares with a run), or False for no error column.
    reference_tolerance : float
        Relative [-] and absolute tolerance of the reference.
    torque : (nv,) array or callable, optional [N or N m]
        As for ``simulate``; taken as internal to the robot (no thrust on a free base) unless it
        shows otherwise at the start.
    effort_limits, wrenches, wrench_axes, inputs, prescribed : optional
        As for ``simulate``; arrays over steps fit one time step only.
    every : int
        Record each n-th step; all errors are largest values over the recorded times.
    repeats : int
        Runs per row; the time per step is the smallest.
    progress : callable, optional
        Called as progress(done_steps, total_steps, what).

    Raises
    ------
    InputError
        For a bad state, or a time step that does not divide the duration.
    UnknownNameError
        For an unknown method.
    KeyboardInterrupt
        With the rows that were finished as its attribute ``comparison``.
    """
    q0 = model.validate_configuration(q0, name="q0")
    v0 = None if v0 is None else np.array(v0, dtype=float)
    jobs = _jobs(methods, model.methods)
    dts = [float(x) for x in np.atleast_1d(np.asarray(dt, dtype=float))]
    if not dts or len(set(dts)) < len(dts):
        raise InputError(f"dt = {dt} must be one time step or several that differ")
    if every != int(every) or every < 1:
        raise InputError(f"every = {every} must be a whole number of steps, 1 or more")
    for step in dts:
        if count_steps(duration, step) < every:
            raise InputError(f"every = {every} is more than the steps of dt = {step:g} s; lower it")
    if repeats != int(repeats) or repeats < 1:
        raise InputError(f"repeats = {repeats} must be a whole number, 1 or more")
    source = "scipy-dop853" if reference is None or reference is True else reference
    if isinstance(source, str):
        _check_method(source, model.methods)

    loads = {"torque": torque, "wrenches": wrenches, "wrench_axes": wrench_axes, "inputs": inputs,
             "prescribed": prescribed, "effort_limits": effort_limits}  # fmt: skip
    run = _Runner(model, q0, v0, duration, every, loads, progress)
    truth = _Reference(source, reference_tolerance, dts)
    truth.check(run)
    run.stages = len(jobs) * len(dts) * repeats + truth.stages
    coupled = wrenches or model.loads or model.constraints or prescribed
    if isinstance(model, Model):
        at_start = q0, model.zero_velocity() if v0 is None else v0
        symmetric = not coupled and _momentum_is_known(model, torque, *at_start)
    else:
        symmetric = model.only_falls and torque is None and inputs is None
    conservative = model.conservative and torque is None and not wrenches and not prescribed and inputs is None
    rows: list[dict[str, Any]] = []
    trajectories: dict[tuple[str, float], Trajectory] = {}
    series: dict[tuple[str, float], Series] = {}

    def finish() -> Comparison:
        for row in rows:
            key = row["label"], row["dt"]
            if row["status"] == "ok":
                traj = trajectories[key]
                series[key] = series_against(model, traj, truth.of(row["dt"]), conservative)
                row |= _measure(model, traj, series[key], symmetric)
        calmest = min((float(trajectories[k].kinetic.max()) for k in series), default=NAN)
        reference_run = truth.of(min(dts))
        scale = calmest if reference_run is None else float(reference_run.kinetic.max())
        for row in rows:
            row["energy_error_relative"] = row["energy_error"] / scale if scale > 0 else NAN
        _fit_orders(rows, truth.error)
        settings = {
            "methods": {label: {"method": name, **more} for label, (name, more) in jobs.items()},
            "duration": duration,
            "dt": dts,
            "every": every,
            "repeats": repeats,
            "torque": torque,
            "effort_limits": effort_limits,
            "reference": source if isinstance(source, str | bool) else "given trajectory",
            "reference_tolerance": reference_tolerance,
            "q0": q0,
            "v0": v0,
        }
        return Comparison(
            model_name=model.name,
            table=rows,
            trajectories=trajectories,
            reference=reference_run,
            reference_error=truth.error,
            series=series,
            notes=(
                *_notes(model, duration, scale, conservative, symmetric, bool(truth.runs)),
                *truth.notes,
                *_stiff_friction(model, q0, max(dts)),
                *dict.fromkeys(f"Failed: {row['reason']}." for row in rows if row["reason"]),
                *(
                    f"{label}, dt = {step:g} s: {run.settings['halved']} of {run.steps} steps could not be solved and "
                    "were retried in halves; such errors are of smaller steps."
                    for (label, step), run in trajectories.items() if run.settings.get("halved")
                ),
            ),
            settings=plain(settings),
        )

    try:
        for label, (name, options) in jobs.items():  # a wrong option shows before the long runs
            for step in dts:
                count = min(WARM_UP, count_steps(duration, step))
                with contextlib.suppress(ConvergenceError):
                    run(name, label, step, count, every=1, shown=False, **options)
        for label, (name, options) in jobs.items():
            for step in dts:
                row, traj = _row(run, (label, step), name, options, repeats)
                if traj is not None:
                    trajectories[label, step] = traj
                rows.append(row)
        truth.compute(run)  # last, since it takes longest: an interrupt then leaves what the methods found
    except KeyboardInterrupt as interrupt:
        interrupt.comparison = finish()  # type: ignore[attr-defined]
        raise
    return finish()


class _Runner:
    """Calls ``simulate`` with what all runs share, and counts them for the progress report."""

    def __init__(self, model, q0, v0, duration, every, loads, progress):
        self.every, self.loads = every, loads
        self.model, self.q0, self.v0, self.duration = model, q0, v0, duration
        self.progress = progress
        self.stage = self.stages = 0

    def __call__(self, method, what, dt, steps=None, every=None, shown=True, **options):
        """Run one method for a number of steps (all of the duration) and return its trajectory."""
        report = None
        if shown:
            self.stage += 1
            text = f"[{self.stage}/{self.stages}] {what}, dt = {dt:g} s"
            if self.progress is not None:
                report = lambda done, total: self.progress(done, total, text)  # noqa: E731
        return simulate(
            self.model, self.q0, self.v0, duration=steps * dt if steps else self.duration, dt=dt,
            method=method, every=every or self.every, progress=report, **self.loads, **options,
        )  # fmt: skip


class _Reference:
    """Tight solutions at the recorded times of every time step, and an estimate of their error."""

    def __init__(self, source, tolerance: float, dts: list[float]):
        self.source, self.tolerance = source, tolerance
        self.error = NAN
        self.notes: tuple[str, ...] = ()
        # a step that divides another has the other's times among its own
        self.base = {step: min(x for x in dts if _divides(x, step)) for step in dts}
        self.runs: dict[float, Trajectory] = {}

    def of(self, dt: float) -> Trajectory | None:
        return self.runs.get(self.base[dt])

    @property
    def stages(self) -> int:
        """Runs that it takes."""
        return 2 * len(set(self.base.values())) if isinstance(self.source, str) else 0

    def check(self, run: _Runner) -> None:
        """Raise an InputError if a trajectory that was given does not fit."""
        if isinstance(self.source, Trajectory):
            if self.source.q_names != run.model.q_names:
                raise InputError(
                    f"the reference is a trajectory of {self.source.model_name!r} with other "
                    f"coordinates; give one of {run.model.name!r}"
                )
            if self.source.t[-1] < run.duration * (1 - 1e-9):
                raise InputError(
                    f"the reference ends at {self.source.t[-1]:g} s, before duration = "
                    f"{run.duration:g} s; give a longer one"
                )
            self.runs = dict.fromkeys(set(self.base.values()), self.source)
            self.notes = ("Error: against the trajectory that was given.",)

    def compute(self, run: _Runner) -> None:
        """Run the reference, twice at different tolerances."""
        if not isinstance(self.source, str):
            return
        bases = sorted(set(self.base.values()))
        errors = []
        try:
            for dt in bases:
                # a largest step of its own for each, lest both take the same steps and agree by chance
                loose, tight = (
                    run(
                        self.source, f"reference {self.source}", dt, rtol=tolerance, atol=tolerance,
                        max_step=run.duration / least,
                    ) for tolerance, least in ((10 * self.tolerance, 40), (self.tolerance, 80))
                )  # fmt: skip
                if any(_sound_records(x) < len(x) for x in (loose, tight)):
                    self.notes = (f"Error: none, the reference {self.source} is not finite.",)
                    self.runs.clear()
                    return
                errors.append(float(distance(run.model, *shared(tight, loose)).max()))
                self.runs[dt] = tight
        except ConvergenceError as error:
            self.notes = (f"Error: none, the reference {self.source} failed: {error}",)
            self.runs.clear()
            return
        except KeyboardInterrupt:
            self.notes = (f"Error: none, the reference {self.source} was interrupted.",)
            self.runs.clear()
            raise
        self.error = max(*errors, ROUNDING)
        self.notes = (
            f"Error: largest norm of the difference to {self.source}, rtol = atol = "
            f"{self.tolerance:g}, whose own error is about {self.error:.1e} (what a run at ten times that differs by).",
        )


def _jobs(methods, known: Mapping) -> dict[str, tuple[str, dict]]:
    """Label -> (method, options) of names, pairs or a dict of them."""
    if isinstance(methods, str):
        methods = [methods]
    named = isinstance(methods, Mapping)
    jobs: dict[str, tuple[str, dict]] = {}
    for item in methods.items() if named else [(None, method) for method in methods]:
        label, method = item
        try:
            name, options = (method, {}) if isinstance(method, str) else method
            options = dict(options)
        except (TypeError, ValueError):
            raise InputError(
                f"methods has the entry {method!r}; give a name or a pair (name, options)"
            ) from None
        _check_method(name, known)
        for key in _COMMON:
            if key in options:
                raise InputError(f'{key} is the same for all methods; take it out of "{name}"')
        if options.get("adapt") is not None:
            raise InputError(f'compare has equal steps, by which it compares; take adapt= out of "{name}"')
        if label is None:
            extra = ", ".join(f"{key}={value}" for key, value in options.items())
            label = f"{name} ({extra})" if extra else name
        if label in jobs:
            raise InputError(f'methods has "{label}" twice; give a dict with a label for each')
        jobs[str(label)] = (name, options)
    if not jobs:
        raise InputError("methods is empty; give at least one name of model.methods")
    return jobs


def _check_method(name, known: Mapping) -> None:
    if not isinstance(name, str) or name not in known:
        raise UnknownNameError("method", name, known)


def _divides(small: float, large: float) -> bool:
    ratio = large / small
    return ratio > 0.5 and abs(ratio - round(ratio)) <= 1e-9 * ratio


def _sound_records(traj: Trajectory) -> int:
    """Return how many records come before the first that is not finite."""
    values = np.column_stack([traj.q, traj.v, traj.kinetic, traj.potential])
    bad = np.flatnonzero(~np.isfinite(values).all(axis=1))
    return int(bad[0]) if len(bad) else len(traj)


def _row(run: _Runner, key, name: str, options: dict, repeats: int):
    """Run one method at one time step: its row without errors, and its sound records."""
    label, dt = key
    steps = count_steps(run.duration, dt)
    row = {"label": label, "method": name, "dt": dt, "steps": steps}
    row |= {"status": "ok", "failed_at": None, "reason": None} | dict.fromkeys(_MEASURES, NAN)
    try:
        runs = [run(name, label, dt, **options) for _ in range(repeats)]
    except ConvergenceError as error:
        row["status"], row["failed_at"] = f"failed at t = {error.time:g} s", float(error.time)
        row["reason"] = str(error)
        traj = error.trajectory
        return row, None if traj is None else traj[: _sound_records(traj)]
    traj = runs[0]
    sound = _sound_records(traj)
    if sound < len(traj):
        row["status"], row["failed_at"] = f"failed at t = {traj.t[sound]:g} s", float(traj.t[sound])
        row["reason"] = "the state or its energy is not finite"
        return row, traj[:sound]
    if traj.iterations_total or "tolerance" in run.model.methods[name].options:  # others solve nothing
        row["iterations_mean"] = traj.iterations_total / max(traj.steps, 1)
        row["iterations_max"] = traj.iterations_max
    row["us_per_step"] = min(1e6 * x.seconds / max(x.steps, 1) for x in runs)
    return row, traj


def _measure(model, traj: Trajectory, errors: Series, symmetric: bool) -> dict[str, float]:
    """Return the largest errors of one run and the drift of its energy."""
    with np.errstate(over="ignore", invalid="ignore"):
        t = errors.t - errors.t.mean()
        slope = t @ (errors.energy - errors.energy.mean()) / (t @ t) if len(t) > 1 else NAN
        found = {
            "energy_error": float(np.abs(errors.energy).max()),
            "energy_drift": float(slope),
            "error": float(errors.error.max()),
        }
        if model.constraints:
            found["constraint_error"] = float(np.abs(traj.constraint).max())
        if symmetric:
            angular, linear = momentum_departure(traj, model.gravity, model.total_mass)
            found["momentum_error"] = float(linear.max())
            found["angular_momentum_error"] = float(angular.max())
    return found


def _momentum_is_known(model, torque, q0, v0) -> bool:
    """Say whether every root moves freely in space with no force on it but gravity."""
    force = np.zeros(model.nv) if torque is None else torque(0.0, q0, v0) if callable(torque) else torque
    return model.only_falls and not model.expand_velocity(np.asarray(force) != 0)[model._free_roots()].any()


def _fit_orders(rows: list[dict], resolution: float) -> None:
    """Fit error = C dt^order per label, where the error is well above the reference's own."""
    floor = 3 * resolution if resolution > 0 else 0.0
    for label in {row["label"] for row in rows}:
        own = [row for row in rows if row["label"] == label]
        points = [(row["dt"], row["error"]) for row in own if floor < row["error"] < math.inf]
        if len(points) >= 2:
            x, y = np.log(points).T
            order = float(np.polyfit(x, y, 1)[0])
            for row in own:
                row["order"] = order


def _notes(model, duration, scale, conservative, symmetric, measured) -> list[str]:
    notes = [f"{model.name}: {freedom_of(model)}, {duration:g} s."]
    against = "its start" if conservative else "that of the reference (damping, friction or loads change it)"
    text = (
        f"Energy: largest difference from {against}; relative to the largest kinetic energy, "
        f"{scale:.4g} J; drift: least-squares slope."
    )
    if not conservative and not measured:
        text = "Energy: none, since loads change the energy and there is no reference to compare."
    notes.append(text)
    if symmetric:
        part = "along gravity" if model.gravity.any() else "all"
        notes.append(
            f"Momentum: largest departure from its start plus gravity's impulse; angular: about "
            f"the world's origin, {part} (kg m^2/s)."
        )
    return notes


def _stiff_friction(model, q0, dt: float) -> list[str]:
    """A note if friction is too stiff for the steps of methods that do not solve for it."""
    if not isinstance(model, Model) or not model.friction.any():
        return []
    # friction f slows an inertia M, near rest, at the rate f/(M e); explicit methods need steps below about 2 of it
    free = ~np.asarray(model.flat.kinematic, dtype=bool)
    slope = (model.friction / model.flat.friction_velocity)[free]
    rate = slope * np.diag(np.linalg.inv(model.crba(q0)[np.ix_(free, free)]))
    stiff = int((dt * rate > 2.0).sum())
    if not stiff:
        return []
    return [
        f"Friction of {stiff} joint{'s' * (stiff != 1)} is stiff at dt = {dt:g} s (up to {dt * rate.max():.2g} M e/f): "
        "methods that do not solve for it lose accuracy and order, and the others some; without friction, or with a "
        "larger friction_velocity, they have theirs."
    ]
