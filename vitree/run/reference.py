"""References of comparisons: an accurate run, or another engine."""

from __future__ import annotations

import contextlib
import math
from collections.abc import Callable, Sequence
from types import ModuleType
from typing import Any

import numpy as np

from vitree.arguments import JsonObject, axes_of, real, several
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
    lacks = {"constraints": system.constraints, "prescribed coordinates": system.flat.kinematic.any(),
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
    return Trajectory(
        model_name=model.name, joint_names=model.joint_names, q_names=model.q_names, v_names=model.v_names,
        method=label, settings=settings, t=motion.t, q=motion.q, v=motion.v, p=momenta, kinetic=energies[:, 0],
        potential=energies[:, 1], momentum=energies[:, 2:8], iterations=np.zeros(n, int), residual=np.zeros(n),
        iterations_total=0, iterations_max=0, steps=settings["steps"], seconds=motion.seconds, system=model,
    )  # fmt: skip


# ---- the runs of a comparison: a runner for all of them, and the reference that they are measured against


#: No reference is held to be better than this [rad, m].
ROUNDING = 5e-14
#: The method that solves where it can, and the one that solves where it cannot.
GAUSS, SCIPY = "gauss", "scipy-dop853"
#: What a comparison says of a model that neither of them can solve.
WITHOUT = "No errors: no reference method supports contacts, enforced limits, rolling wheels or dry friction."
#: What gauss takes for a reference.
SHARP = {"order": 16, "tolerance": 1e-13}
#: A reference is known up to the time at which two solutions of it differ by more [rad, m].
KNOWN = 1e-3
#: The largest error of a reference as a share of the smallest that is compared with it, and the most parts of a step.
NEGLIGIBLE, FINEST = 1e-3, 64


def usual_reference(model: System, given: RunArguments) -> str | bool:
    """Return the method of the reference, if none is given: gauss where it can solve, else one of SciPy's.

    It is False where neither can: impulses act in steps, of contact, limits, wheels or dry friction.
    Gauss takes shorter steps than the runs that are compared with it. So nothing may be given by rows over steps.
    """
    full = model.full
    if isinstance(full, Model) and full.has_contact:
        return False
    if not isinstance(full, Model) or GAUSS not in full.methods or full.constraints:
        return SCIPY
    held = any(isinstance(x, Controller) for x in (given.torque, given.inputs, given.targets))
    return SCIPY if held or rows_over_steps(given) is not None else GAUSS


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
    """

    def __init__(self, model: System, shared: RunArguments, progress: Callable[[int, int, str], object] | None):
        self.model, self.shared, self.progress = model, shared, progress
        self.q0: np.ndarray = np.asarray(shared.q0)
        self.duration = (np.nan if shared.duration is None else real(shared.duration)) or np.nan
        self.stage = self.stages = 0

    def __call__(self, method: str, what: str, dt: float, /, **options: Any) -> Trajectory:
        """Run a method with a time step and its own ``options``; the progress report calls the run ``what``."""
        self.stage += 1
        text = f"[{self.stage}/{self.stages}] {what}, dt = {dt:g} s"
        report = None
        if self.progress is not None:
            report = lambda done, total: self.progress(done, total, text)  # noqa: E731
        if "engine" in options:
            return run_engine(options["engine"], options["method"], self.model, self.shared, dt, method, report)
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
    chosen : bool
        Whether this method is a default. One of SciPy's then solves where it fails.

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

    def __init__(self, source: str | Trajectory | bool, tolerance: float, dts: list[float], chosen: bool = False):
        if not 0 < real(tolerance) < 1:
            raise InputError("reference_tolerance", tolerance, "must be a number between 0 and 1")
        self.source = source
        self.tolerance, self.chosen = real(tolerance), chosen
        self.error, self.known_until = NAN, math.inf
        self.notes: tuple[str, ...] = (WITHOUT,) if chosen and source is False else ()
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
        solve = self._by_gauss if self.source == GAUSS else self._by_scipy
        errors = []
        try:
            for dt in sorted(set(self.base.values())):
                found, error = solve(run, dt, [x for step, x in compared if self.base[step] == dt])
                if found is None:
                    self.notes = (f"Error: none, the reference {self.source} is not finite.",)
                    self.runs.clear()
                    return
                errors.append(error)
                self.runs[dt] = found
        except ConvergenceError as error:
            if self.chosen and self.source == GAUSS:
                self.source, self.known_until = SCIPY, math.inf
                self.runs.clear()
                self.compute(run, compared)
                return
            self.notes = (f"Error: none, the reference {self.source} failed: " + error.args[0],)
            self.runs.clear()
            return
        except KeyboardInterrupt:
            self.notes = (f"Error: none, the reference {self.source} was interrupted.",)
            self.runs.clear()
            raise
        self.error = max(*errors, ROUNDING)
        about = f"The reference itself is off by about {self.error:.1e}: that is "
        if self.source == GAUSS:
            finest = max(float(x.settings["dt"]) for x in self.runs.values())
            self.notes = (
                f"Error: largest norm of the difference to gauss of order {SHARP['order']}, dt = {finest:.3g} s. "
                f"{about}"
                "how much it changes with longer steps, or what it estimates itself.",
            )
        else:
            self.notes = (
                f"Error: largest norm of the difference to {self.source}, rtol = atol = {self.tolerance:g}. {about}"
                "how much it changes with ten times the tolerance.",
            )
        if self.known_until < math.inf:
            self.notes += (
                f"The motion is chaotic: the reference is known to {KNOWN:g} rad, m until t = "
                f"{self.known_until:.3g} s, and errors at later times say nothing about a method. Compare over a "
                "shorter duration.",
            )

    def _by_scipy(self, run: Runner, dt: float, _: list[Trajectory]) -> tuple[Trajectory | None, float]:
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
        return tight, float(apart.max())

    def _by_gauss(self, run: Runner, dt: float, compared: list[Trajectory]) -> tuple[Trajectory | None, float]:
        """Return a solution and its error: steps become shorter until the error is negligible, or falls no more."""
        model, every, parts = run.model, run.shared.record_every, 1
        span = dt * every  # of a record, which has as many steps as parts
        before: Trajectory | None = None
        best, error, known = before, math.inf, 0.0
        while True:
            try:
                now = run(GAUSS, f"reference {GAUSS}", span / parts, record_every=parts, monitors=("error",), **SHARP)
            except ConvergenceError:  # the steps are too long
                if parts >= FINEST * every:
                    raise
                parts, run.stages = 4 * parts, run.stages + 1
                continue
            if sound_records(now) < len(now):
                return None, NAN
            way = max(float(np.linalg.norm(model.difference(now.q[0], q))) for q in now.q)
            own = way * float(now.monitors["error"].max(initial=0.0))
            if before is not None:
                apart = distance(model, now, before)
                changed, known = float(apart.max()), max(known, _first_time(now.t, apart > KNOWN))
                goal = max(self.tolerance, NEGLIGIBLE * min((_error_of(model, x, now) for x in compared), default=0.0))
                falls = max(changed, own) < 0.5 * error
                if falls or best is None:
                    best, error = now, max(changed, own)
                if error <= goal or (not falls and own <= changed) or parts >= FINEST * every:
                    self.known_until = min(self.known_until, known)
                    return best, max(error, ROUNDING)
                run.stages += 1
            before, parts = now, parts * (2 if own <= 0.1 * self.tolerance else 4)


def _first_time(t: np.ndarray, late: np.ndarray) -> float:
    """The first time of those that are late; infinite if none is."""
    return float(t[late.argmax()]) if late.any() else math.inf


def _error_of(model: System, one: Trajectory, truth: Trajectory) -> float:
    """The largest distance of a run from the truth."""
    return float(distance(model, *shared(one, truth)).max(initial=0.0))


def _divides(small: float, large: float) -> bool:
    """Whether a time step is a whole fraction of another, or the same."""
    ratio = large / small
    return abs(ratio - round(ratio)) <= 1e-9 * ratio
