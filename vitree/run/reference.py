"""References of comparisons: an accurate run, or another engine."""

from __future__ import annotations

import contextlib
import math
from collections.abc import Callable, Sequence
from types import ModuleType
from typing import Any

import numpy as np

from vitree.arguments import JsonObject, Keywords, axes_of, real, several
from vitree.engines import mujoco, pinocchio
from vitree.engines.acting import Motion, acting_on
from vitree.errors import ConvergenceError, InputError, UnknownNameError
from vitree.model.model import Model
from vitree.model.system import System
from vitree.results.series import NAN, distance, shared
from vitree.run.arguments import RunArguments, count_steps, rows_over_steps
from vitree.run.controller import Controller, with_targets
from vitree.run.simulate import run as simulate
from vitree.run.trajectory import Trajectory, sound_records
from vitree.wording import quoted

# ---- other engines in a comparison: which there are, what they cannot simulate, and their runs as trajectories


#: Engines by their names.
ENGINES: dict[str, ModuleType] = {"mujoco": mujoco, "pinocchio": pinocchio}
#: Between the name of an engine and its method, in labels.
OF = " "


def engine_jobs(engines: object) -> dict[str, tuple[str, str]]:
    """Return label -> (engine, method) of names of engines, each with all its methods, or of "engine:method".

    Raises an InputError or UnknownNameError if the names are no sequence, or one is not known, and a MissingExtraError
    if an engine is not installed.
    """
    jobs: dict[str, tuple[str, str]] = {}
    given = [engines] if isinstance(engines, str) else several(engines, "engines", 'names, such as ["mujoco"]')
    for each in given:
        if not isinstance(each, str):
            raise InputError("engines", engines, "must be names of engines, such as mujoco or mujoco:rk4")
        name, _, method = each.partition(":")
        if name not in ENGINES:
            raise UnknownNameError("engine", name, ENGINES, argument="engines")
        ENGINES[name].require()
        methods = ENGINES[name].METHODS
        if method and method not in methods:
            raise UnknownNameError(f"method of {name}", method, methods, argument="engines")
        jobs |= {name + OF + one: (name, one) for one in ([method] if method else methods)}
    return jobs


def cannot(system: System, given: RunArguments) -> str | None:
    """Return what no engine simulates of a run; None if there is nothing."""
    if not isinstance(system, Model):
        return "vehicles"
    if system.full is not system:
        return "joints that follow others without a coordinate of their own"
    for name in ("wrenches", "prescribed", "effort_limits"):
        if getattr(given, name):
            return f"the argument {name}"
    if any(isinstance(x, Controller) for x in (given.torque, given.inputs, given.targets)):
        return "controllers"
    if not callable(given.torque) and axes_of(given.torque) > 1:
        return "torque by rows over steps"
    lacks = {"prescribed coordinates": system.flat.kinematic.any(),
             "dry friction, losses of couplings and wheels that roll": system.has_rolling_or_dry_friction}  # fmt: skip
    return next((text for text, has in lacks.items() if has), None)


def run_engine(engine: str, method: str, system: System, given: RunArguments, dt: float, label: str,
               report: Callable[[int, int], object] | None = None) -> Trajectory:  # fmt: skip
    """Return a run of an engine.

    Raises a NotImplementedError if the engine cannot simulate a part of it; the text is the part, and an
    ArithmeticError if the state blows up.

    Parameters
    ----------
    engine, method : str
    system : System
    given : RunArguments
    dt : float [s]
    label : str
        The method of the trajectory.
    report : callable, optional
        Called as report(done, steps).
    """
    part = cannot(system, given)
    if part is not None or not isinstance(system, Model):
        raise NotImplementedError(part)
    inputs = given.inputs if given.targets is None else with_targets(system, given.targets, given.inputs)
    acting = acting_on(system, given.torque, inputs)
    q = np.asarray(given.q0, dtype=float)
    v = system.zero_velocity() if given.v0 is None else np.asarray(given.v0, dtype=float)
    steps = count_steps(float(given.duration or 0.0), dt)
    motion = ENGINES[engine].run(system, method, q, v, dt, steps, given.record_every, acting, report)
    settings = {"dt": dt, "steps": steps, "engine": engine, "record_every": given.record_every}
    return _trajectory(system, motion, label, settings)


def _trajectory(model: Model, motion: Motion, label: str, settings: JsonObject) -> Trajectory:
    """Return the motion of an engine as a trajectory; energies and momenta are those of the model."""
    n = len(motion.t)
    with np.errstate(all="ignore"):
        energies = model._energies(motion.q, motion.v)
        momenta = model._momenta(motion.q, motion.v)
    held = tuple(each.name for each in model.constraints)
    return Trajectory(
        constraint_names=held, constraint=model._constraint_errors(motion.q) if held else np.zeros((n, 0)),
        model_name=model.name, joint_names=model.joint_names, q_names=model.q_names, v_names=model.v_names,
        method=label, settings=settings, t=motion.t, q=motion.q, v=motion.v, p=momenta, kinetic=energies[:, 0],
        potential=energies[:, 1], momentum=energies[:, 2:8], iterations=np.zeros(n, int), residual=np.zeros(n),
        iterations_total=0, iterations_max=0, steps=settings["steps"], seconds=motion.seconds, system=model,
        contacts=motion.contacts,
    )  # fmt: skip


# ---- the runs of a comparison: a runner for all of them, and the reference that they are measured against


#: No reference is held to be better than this [rad, m].
ROUNDING = 5e-14
#: Methods of references: for smooth motions, for loops and contacts, and for what neither can solve.
GAUSS, VARIATIONAL, SCIPY = "gauss", "linear-time", "scipy-dop853"
#: What a comparison says of runs that no method can solve with shorter steps.
WITHOUT = "No errors: with contacts, a reference takes shorter steps, and {} has a row for each step."
#: Options of the methods that take ever shorter steps, and those of the second in contact: impacts are located in time.
SHARP: dict[str, Keywords] = {GAUSS: {"order": 16, "tolerance": 1e-13, "monitors": ("error",)},
                              VARIATIONAL: {"order": 8, "tolerance": 1e-13}}  # fmt: skip
TOUCHING: Keywords = {"max_impacts": 20}
#: A reference is known up to the time at which two solutions of it differ by more [rad, m].
KNOWN = 1e-3
#: The largest error of a reference as a share of the smallest that is compared with it, of smooth motions and in
#: contact, and the most parts of a step.
NEGLIGIBLE, NEGLIGIBLE_TOUCHING, FINEST = 1e-3, 1e-2, 64
#: What ends one method of a reference that was not asked for, and begins the next.
UNSOLVED = (ConvergenceError, InputError, NotImplementedError)


def usual_references(model: System, given: RunArguments) -> tuple[str, ...]:
    """Return the methods of the reference if none is given: the first, and those that solve where it fails.

    Gauss and linear-time take other steps than the runs that are compared with them: nothing may be given by rows over
    steps. SciPy's methods know no impulses in steps: of contact, limits, wheels that roll or dry friction. A controller
    acts at times that gauss steps over.
    """
    full = model.full
    if not isinstance(full, Model):
        return (SCIPY,)
    by_rows = rows_over_steps(given) is not None
    if full.has_contact:
        return () if by_rows else (VARIATIONAL,)
    if by_rows or (is_held(given) and not full.constraints):
        return (SCIPY,)
    smooth = GAUSS in full.methods and not full.constraints
    return (GAUSS if smooth else VARIATIONAL, SCIPY)


def is_held(given: RunArguments) -> bool:
    """Return whether a controller holds its answers between sampling times."""
    return any(isinstance(x, Controller) for x in (given.torque, given.inputs, given.targets))


class Runner:
    """Runs that share most arguments, counted for the progress report.

    Parameters
    ----------
    model : System
    shared : RunArguments
        Start, duration and loads of every run.
    progress : callable or None
        Called as progress(done_steps, total_steps, what).

    Attributes
    ----------
    q0 : (nq,) array [m or rad]
    duration : float [s]
    stages : int
        How many runs there will be.
    touches : bool
        Whether impulses act in steps: of contact, limits, wheels that roll, dry friction.
    """

    def __init__(self, model: System, shared: RunArguments, progress: Callable[[int, int, str], object] | None):
        self.model, self.shared, self.progress = model, shared, progress
        self.q0: np.ndarray = np.asarray(shared.q0)
        self.duration = (np.nan if shared.duration is None else real(shared.duration)) or np.nan
        self.stage = self.stages = 0
        self.touches = isinstance(model.full, Model) and model.full.has_contact

    def __call__(self, method: str, what: str, dt: float, /, **options: Any) -> Trajectory:
        """Run a method with a time step and its own ``options``; the progress report calls the run ``what``."""
        self.stage += 1
        text = f"[{self.stage}/{self.stages}] {what}, dt = {dt:g} s"
        report = None
        if self.progress is not None:
            report = lambda done, total: self.progress(done, total, text)  # noqa: E731
        if "engine" in options:
            every = options.get("record_every", self.shared.record_every)
            given = self.shared.but(q0=options.get("q0", self.q0), record_every=every)
            return run_engine(options["engine"], options["method"], self.model, given, dt, method, report)
        return simulate(self.model, self.shared.but(method=method, dt=dt, progress=report, **options))

    def warm_up(self, method: str, dt: float, steps: int, **options: object) -> None:
        """Run the first ``steps``, so that a wrong option shows and the clock is fair; a step may fail."""
        with contextlib.suppress(ConvergenceError):
            steady = tuple(each for each in self.shared.wrenches if each.steady)  # others act later
            given = self.shared.but(method=method, dt=dt, duration=steps * dt, record_every=1, **options)
            simulate(self.model, given.but(wrenches=steady))


class Reference:
    """Tight solutions at the recorded times of every time step, and an estimate of their error.

    Parameters
    ----------
    source : str, Trajectory or False
        The method that solves, the solution itself, or none.
    tolerance : float
        Relative [-] and absolute tolerance of the method.
    dts : list of float
        Time steps of the runs that are compared with it [s].
    others : sequence of str
        Methods that solve if this one, which is a default, does not.

    Attributes
    ----------
    error : float
        The estimate [m and rad]; NaN without one.
    known_until : float
        The time up to which the reference is known [s]; infinite if it is known to the end.
    notes : tuple of str
    runs : dict of float to Trajectory
        Solutions by the smallest time steps; :meth:`of` finds the one for a step.
    """

    def __init__(self, source: str | Trajectory | bool, tolerance: float, dts: list[float], others: Sequence[str] = ()):
        if not 0 < real(tolerance) < 1:
            raise InputError("reference_tolerance", tolerance, "must be a number between 0 and 1")
        self.source, self.others = source, tuple(others)
        self.tolerance = real(tolerance)
        self.error, self.known_until = NAN, math.inf
        self.notes: tuple[str, ...] = ()
        # a step that divides another has the other's times among its own
        self.base = {step: min(x for x in dts if _divides(x, step)) for step in dts}
        self.runs: dict[float, Trajectory] = {}

    def of(self, dt: float) -> Trajectory | None:
        """Return the solution with the times of a step ``dt``, or None if there is none."""
        return self.runs.get(self.base[dt])

    @property
    def stages(self) -> int:
        """Number of runs that the reference takes."""
        return 2 * len(set(self.base.values())) if isinstance(self.source, str) else 0

    def check(self, run: Runner) -> None:
        """Raise an InputError if a trajectory that was given does not fit."""
        if isinstance(self.source, Trajectory):
            if self.source.q_names != run.model.q_names:
                raise InputError(
                    f"the reference is a trajectory of {self.source.model_name!r} with other coordinates; give one of "
                    f"{run.model.name!r}"
                )
            if not len(self.source):
                raise InputError("the reference is a trajectory without records")
            if self.source.t[-1] < run.duration * (1 - 1e-9):
                raise InputError(
                    f"the reference ends at {self.source.t[-1]:g} s, before duration={quoted(run.duration)} s; give a "
                    "longer one"
                )
            self.runs = dict.fromkeys(set(self.base.values()), self.source)
            self.notes = ("Error: against the trajectory that was given.",)

    def compute(self, run: Runner, compared: Sequence[tuple[float, Trajectory]] = ()) -> None:
        """Run the reference, twice or more; ``compared`` are time steps and the runs that it is for."""
        if not isinstance(self.source, str):
            return
        try:
            errors = self._errors(run, compared)
        except UNSOLVED as error:
            self.runs.clear()
            if self.others:
                self.source, *rest = self.others
                self.others = tuple(rest)
                self.known_until = math.inf
                self.compute(run, compared)
                return
            if not isinstance(error, ConvergenceError):
                raise
            self.notes = (f"Error: none, the reference {self.source} failed: " + error.args[0],)
            return
        except KeyboardInterrupt:
            self.notes = (f"Error: none, the reference {self.source} was interrupted.",)
            self.runs.clear()
            raise
        if not errors:
            self.runs.clear()
            self.notes = (f"Error: none, the reference {self.source} is not finite.",)
            return
        self.error = max(ROUNDING, *errors)
        self.notes = (*self._how(run), *self._until_when(run))

    def _errors(self, run: Runner, compared: Sequence[tuple[float, Trajectory]]) -> list[float]:
        """Solve for the times of each step; return the errors, none of them if a solution is not finite."""
        solve = self._by_shorter_steps if self.source in SHARP else self._by_tolerances
        if run.touches:
            solve = self._in_contact
        errors = []
        for dt in sorted(set(self.base.values())):
            found, error = solve(run, dt, [x for step, x in compared if self.base[step] == dt])
            if found is None:
                return []
            errors.append(error)
            self.runs[dt] = found
        return errors

    def _how(self, run: Runner) -> list[str]:
        """Say what the error is measured against, and how large that of the reference is."""
        about = f"The reference itself is off by about {self.error:.1e}: that is "
        finest = max(float(x.settings["dt"]) for x in self.runs.values())
        if self.source == GAUSS:
            what = f"gauss of order {SHARP[GAUSS]['order']}, dt = {finest:.3g} s"
            how = "how much it changes with longer steps, or what it estimates itself."
        elif self.source == VARIATIONAL and run.touches:
            what = f"{VARIATIONAL} with rigid contacts, dt = {finest:.3g} s"
            how = "how much it changes with steps two and five times as long."
        elif self.source == VARIATIONAL:
            what = f"{VARIATIONAL} of order {SHARP[VARIATIONAL]['order']}, dt = {finest:.3g} s"
            how = "how much it changes with longer steps."
        else:
            what = f"{self.source}, rtol = atol = {self.tolerance:g}"
            how = "how much it changes with ten times the tolerance."
        return [f"Error: largest norm of the difference to {what}. {about}{how}"]

    def _until_when(self, run: Runner) -> list[str]:
        """Say from when the reference is not known."""
        if self.known_until == math.inf:
            return []
        why = "Small differences grow in contact" if run.touches else "The motion is chaotic"
        return [
            f"{why}: the reference is known to {KNOWN:g} rad, m until t = {self.known_until:.3g} s. Errors and orders "
            "are those until then; later ones would say nothing about a method."
        ]

    def _by_tolerances(self, run: Runner, dt: float, _: list[Trajectory]) -> tuple[Trajectory | None, float]:
        """Return a solution and its error, by two tolerances."""
        # with one largest step both might take the same steps and agree by chance
        loose, tight = (
            run(
                str(self.source), f"reference {self.source}", dt, rtol=tolerance, atol=tolerance,
                max_step=run.duration / least,
            ) for tolerance, least in ((10 * self.tolerance, 40), (self.tolerance, 80))
        )  # fmt: skip
        if any(sound_records(x) < len(x) for x in (loose, tight)):
            return None, NAN
        tight_there, loose_there = shared(tight, loose)
        apart = distance(run.model, tight_there, loose_there)
        self.known_until = min(self.known_until, _first_time(tight_there.t, apart > KNOWN))
        return tight, _largest(tight_there.t, apart, self.known_until)

    def _by_shorter_steps(self, run: Runner, dt: float, compared: list[Trajectory]) -> tuple[Trajectory | None, float]:
        """Return a solution and its error: steps become shorter until the error is negligible, or falls no more."""
        model, method, every = run.model, str(self.source), run.shared.record_every
        parts = every if is_held(run.shared) else 1  # controllers act at the steps of the runs
        span = dt * every  # of a record, which has as many steps as parts
        before: Trajectory | None = None
        best, error, known = before, math.inf, 0.0
        while True:
            try:
                now = run(method, f"reference {method}", span / parts, record_every=parts, **SHARP[method])
            except ConvergenceError:  # the steps are too long
                if parts >= FINEST * every:
                    raise
                parts, run.stages = 4 * parts, run.stages + 1
                continue
            if sound_records(now) < len(now):
                return None, NAN
            own = 0.0
            if "error" in now.monitors:
                way = max(float(np.linalg.norm(model.difference(now.q[0], q))) for q in now.q)
                own = way * float(now.monitors["error"].max(initial=0.0))
            if before is not None:
                apart = distance(model, now, before)
                known = max(known, _first_time(now.t, apart > KNOWN))  # two solutions may agree by chance
                changed = _largest(now.t, apart, known)
                goal = max(self.tolerance, NEGLIGIBLE * _least_error(model, compared, now, known))
                falls = max(changed, own) < 0.5 * error
                if falls or best is None:
                    best, error = now, max(changed, own)
                if error <= goal or (not falls and own <= changed) or parts >= FINEST * every:
                    self.known_until = min(self.known_until, known)
                    return best, max(error, ROUNDING)
                run.stages += 1
            # not by two where steps may be taken in halves: two solutions would take the same
            faster = 3 if method == VARIATIONAL else 2 if own <= 0.1 * self.tolerance else 4
            before, parts = now, parts * faster

    def _in_contact(self, run: Runner, dt: float, compared: list[Trajectory]) -> tuple[Trajectory | None, float]:
        """Return a solution and its error, the larger of the last two changes, as for :meth:`_by_shorter_steps`.

        Impulses act at nodes. The numbers of steps have no common factors: nodes of steps half as long may miss what
        happens between them by just as much.
        """
        model, method, every = run.model, str(self.source), run.shared.record_every
        parts, known, changes = 1, math.inf, [math.inf]
        before = self._touching(run, method, dt, every)
        while sound_records(before) == len(before):
            parts = 2 * parts + 1
            now = self._touching(run, method, dt / parts, parts * every)
            if sound_records(now) < len(now):
                break
            apart = distance(model, now, before)
            known = _first_time(now.t, apart > KNOWN)
            changes.append(_largest(now.t, apart, known))
            error = max(changes[-2:])
            goal = max(self.tolerance, NEGLIGIBLE_TOUCHING * _least_error(model, compared, now, known))
            if error <= goal or 2 * parts >= FINEST:
                self.known_until = min(self.known_until, known)
                return now, max(error if error < math.inf else changes[-1], ROUNDING)
            before, run.stages = now, run.stages + 1
        return None, NAN

    def _touching(self, run: Runner, method: str, dt: float, every: int) -> Trajectory:
        """Run a reference with some steps between records, with impacts located in time where that can be."""
        with contextlib.suppress(*UNSOLVED):
            return run(method, f"reference {method}", dt, record_every=every, **TOUCHING)
        return run(method, f"reference {method}", dt, record_every=every)


def _first_time(t: np.ndarray, late: np.ndarray) -> float:
    """The first time of those that are late; infinite if none is."""
    return float(t[late.argmax()]) if late.any() else math.inf


def _largest(t: np.ndarray, apart: np.ndarray, until: float) -> float:
    """The largest difference before a time."""
    return float(apart[t < until].max(initial=0.0))


def _least_error(model: System, compared: Sequence[Trajectory], truth: Trajectory, until: float) -> float:
    """The smallest of the largest errors of runs; zero without runs."""
    return min((error_of(model, x, truth, until) for x in compared), default=0.0)


def error_of(model: System, one: Trajectory, truth: Trajectory, until: float) -> float:
    """Return the largest distance of a run from the truth before a time [s], [rad, m]."""
    here, there = shared(one, truth)
    return _largest(here.t, distance(model, here, there), until)


def _divides(small: float, large: float) -> bool:
    """Whether a time step is a whole fraction of another, or the same."""
    ratio = large / small
    return abs(ratio - round(ratio)) <= 1e-9 * ratio
