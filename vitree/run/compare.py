"""compare(): several methods on one motion, with their errors and times."""

from __future__ import annotations

import math
import os
from abc import abstractmethod
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from vitree.arguments import Asked, JsonObject, Keywords, as_numbers, explain_calls_with, several, shown, whole
from vitree.errors import ConvergenceError, InputError, UnknownNameError, VitreeError
from vitree.integrators.base import Integrator, Torque
from vitree.mechanism.pushes import ExternalWrench, Impulse
from vitree.model.model import Model
from vitree.model.system import System
from vitree.results.comparison import COLUMNS, Compared
from vitree.results.contact_errors import contact_errors
from vitree.results.orders import CLAIMED, Order, order_of, order_of_scattered, pair_orders
from vitree.results.plain import plain
from vitree.results.series import ABSURD, NAN, Series, momentum_departure, sensible, series_against
from vitree.results.tables import Tabled
from vitree.run.arguments import (
    ARGUMENTS,
    NAMES,
    RunArguments,
    checked_wrenches,
    count_steps,
    hints_of_others,
    require_system,
    rows_over_steps,
)
from vitree.run.compare_notes import (
    contact_order_notes,
    energy_note,
    engine_notes,
    failure_notes,
    floor_notes,
    friction_notes,
    momentum_note,
    spring_notes,
    system_note,
    warning_notes,
)
from vitree.run.controller import Control, Controller, parts_of
from vitree.run.reference import ENGINES, SHARP, WITHOUT, Reference, Runner, engine_jobs, error_of, usual_references
from vitree.run.simulate import ACCURACY, AUTO, NoStep, chosen
from vitree.run.simulate import run as simulate
from vitree.run.trajectory import Trajectory, sound_records
from vitree.wording import quoted, text_of

if TYPE_CHECKING:
    from matplotlib.figure import Figure

# ---- comparison: the table and pictures of a comparison of methods -----------------------------------------


class Plotted(Tabled):
    """A table with a picture, alone and on its page."""

    @abstractmethod
    def _draw(self) -> Figure:
        """Return the picture."""

    def plot(self, path: str | os.PathLike[str] | None = None) -> Figure:
        """Draw the result; return the matplotlib figure, saved to ``path``.

        Of a comparison the figure has energy and error over time, and the error against several time steps. From many
        starts it has the medians and bands of energy error and error over time, and of a work-precision set the error
        against computing time.

        Raises
        ------
        MissingExtraError
            If matplotlib is not installed (extra "plot").
        InputError
            If the file cannot be written, or there is no run to draw.
        """
        from vitree.plot import save

        figure = self._draw()
        if path is not None:
            save(figure, path)
        return figure

    def _figures(self) -> list[str]:
        from vitree.plot.files import svg_of

        return [svg_of(self._draw())]


class Comparison(Plotted, Compared):
    """The result of :func:`compare`: ``print`` it, ``.plot()`` it, ``.save()`` it, or read ``.table``.

    Attributes
    ----------
    model_name : str
    table : list of dict
        One row per method and time step, plain types, NaN where a number does not apply:

        - ``label``, ``method``, ``dt`` [s], ``steps``;
        - ``status``: "ok", or "failed at t = ..."; ``failed_at`` [s] and ``reason``, else None;
        - ``energy_error``: largest abs(E - E0) at a recorded time [J]. E0 is the energy at the start; if damping,
          friction, a torque or other loads change the energy, it is the reference's energy at that time;
        - ``energy_error_relative``: the same over the largest kinetic energy of the reference
          (without one: of the calmest run);
        - ``energy_drift``: least-squares slope of that difference over time [J/s];
        - ``momentum_error``: largest departure of the linear momentum from its start plus
          gravity's impulse [kg m/s]; NaN unless every root moves freely, and with loads or constraints;
        - ``angular_momentum_error``: likewise of the angular momentum about the world's origin
          (with gravity: its component along gravity, the one that is conserved) [kg m^2/s];
        - ``constraint_error``: largest abs(h) of the constraints [m or rad], NaN without any;
        - ``error``: largest norm of ``model.difference`` to the reference, while the reference is known [rad and m];
        - ``at_floor``: whether something else than dt rules this error: the error of the reference, or ``floor``, by
          how much a tolerance 1000 times tighter and the rounding of the steps change the run [rad and m]; NaN where
          the error falls as the method's order has it, and it was not asked for;
        - ``valid_time``: the first recorded time with an error above 0.1 rad or m [s]; with ``valid_to_end`` there is
          none, and it is the last time at which the reference is known;
        - ``order``: slope of log error over log dt at the smallest time steps above the floor, the same for all rows of
          a label. Two neighbouring pairs of time steps must agree within 5 %, or one pair within 15 % with the order of
          the method. Else it is NaN, and ``order_status`` is "floor", "not yet asymptotic" or "one pair". In contact it
          is that of the root mean square of the errors at the end over 16 runs with up to 30 % more steps, with its
          standard error as ``order_error``, and NaN and "scattered" if that is above 0.2;
        - of models with contacts, limits or dry friction: ``penetration``, the deepest at a recorded time [m];
          ``slip``, the largest velocity of contacts that have stuck in the reference for 0.05 s [m/s];
          ``cone_violation``, by how much friction exceeds mu N, as a share of the largest normal force [-];
          ``energy_gained``, the largest rise of the energy above what it was before, if nothing drives the run [J];
          ``impulse_error``, the largest error of the impulse that contacts have given to a robot with a free base up to
          a time, as a share of its largest [-]; ``first_touch``, the first recorded time with a closed gap [s];
        - ``iterations_mean``, ``iterations_max`` per step, NaN for methods that solve no equations; ``us_per_step``
          [microseconds].
    trajectories : dict
        (label, dt) to Trajectory; a failed run has the records before the failure.
    reference : Trajectory or None
        At the smallest time step.
    reference_error : float [m and rad]
        The reference's estimate of its own error, at least 5e-14: the largest difference to a run with two or four
        times the step, or ten times the tolerance. Smaller errors in the table are not resolved.
    series : dict
        (label, dt) to a :class:`Series`, the errors over time.
    notes : tuple of str
        Sentences that explain the numbers.
    settings : dict
        Settings of the comparison, in types that JSON knows.
    """

    trajectories: dict[tuple[str, float], Trajectory]
    reference: Trajectory | None

    def _draw(self) -> Figure:
        from vitree.plot import comparison

        return comparison(self)

    def _figures(self) -> list[str]:
        return super()._figures() if self.series else []


# ---- compare(): several methods and time steps from one state, in one table --------------------------------


#: Steps run before the clock counts.
WARM_UP = 10
#: Arguments of ``simulate`` that are the same for all methods.
_SAME = (NAMES | ARGUMENTS) - {"p0", "q1", "t0", "monitors", "resume", "options"}
#: The status of an engine that cannot simulate a part.
LEFT_OUT = "not simulated"
_MEASURES = tuple(column[0] for column in COLUMNS[2:])
#: A run is valid until its error exceeds this [rad, m].
VALID = 0.1
#: A kinetic energy of a smaller share of the energy is rest.
ROUNDING_OF_ENERGY = 1e-12
#: An error is at a method's floor below this many times what a tighter tolerance and rounding change.
FLOOR_SHARE = 10.0
#: In contact, runs about each time step whose errors give an order, and by which share they have more steps.
SAMPLES, MORE = 16, 0.3
#: The share of its tolerance that a method is given to find its floor, and the least that one takes.
TIGHTER, LEAST = 1e-3, 1e-14
#: A method and its options.
Job = tuple[str, Keywords]
#: Remedies of names that are no arguments of :func:`compare`.
_HINTS = {
    **hints_of_others(),
    **dict.fromkeys(("order", "solver", "guess", "tolerance", "tol", "rtol", "atol", "kinetic", "springs"),
                    'options are given with the method: methods=[("linear-time", {"order": 4})]'),
    "method": "methods= is a list of methods",
}  # fmt: skip


@explain_calls_with(_HINTS)
def compare(
    model: System,
    methods: Sequence[str | Job] | Mapping[str, str | Job],
    q0: ArrayLike,
    v0: ArrayLike | None = None,
    *,
    duration: float,
    dt: float | str | Sequence[float | str],
    accuracy: float | None = None,
    reference: str | Trajectory | bool | None = None,
    reference_tolerance: float = 1e-11,
    control: Control | Controller | Torque = None,
    wrenches: Iterable[ExternalWrench | Impulse] = (),
    record_every: int = 1,
    repeats: int = 1,
    engines: Sequence[str] = (),
    progress: Callable[[int, int, str], object] | None = None,
) -> Comparison:
    """Run several methods at several time steps from one state and compare them.

    A run that fails (no convergence, or values beyond all bounds) gets a row that says so, and
    the others go on.

    Parameters
    ----------
    model : Model, or another System
    methods : sequence or dict
        Names of ``vt.METHODS`` or pairs (name, options of ``simulate``); a dict gives labels:
        ``{"coarse": ("linear-time", {"tolerance": 1e-6})}``. The option ``dt``, one or several, is for this method in
        place of the argument.
    q0 : (nq,) array [m or rad]
    v0 : (nv,) array, optional [m/s or rad/s]
        Zero if not given.
    duration : float
        Simulated time [s].
    dt : float, "auto" or a sequence of them
        Time steps [s], each a whole fraction of ``duration``; "auto" among them is one for each method, as of
        :func:`vitree.simulate`.
    accuracy : float
        Of "auto" [rad and m], as of :func:`vitree.simulate`.
    reference : str, Trajectory, False or None
        What the error is measured against: "gauss", of order 16, "linear-time", of order 8, a SciPy method by its name
        in ``vt.METHODS``, a trajectory (compared at the times it shares with a run), or False for no error column.
        None: the first of these that can solve. Gauss cannot solve with constraints or controllers. With contacts,
        limits that hold, wheels that roll or dry friction it is linear-time of order 2 at small steps, with impacts
        located in time. Arrays over steps leave a SciPy method, and none in contact.
    reference_tolerance : float
        Relative [-] and absolute tolerance of a SciPy method. The steps of others become shorter until the error is
        below it, or below a thousandth of the smallest error in the table (in contact a hundredth), or falls no more.
    control : optional
        As for ``simulate``; arrays over steps fit one time step only. Torque is taken as internal to the robot (no
        thrust on a free base) unless it shows otherwise at the start.
    wrenches : sequence of ExternalWrench and Impulse
        As for ``simulate``.
    record_every : int
        Record each n-th step; all errors are largest values over the recorded times.
    repeats : int
        Runs per row; the time per step is the smallest.
    engines : sequence of str
        Other programs that run the same: "mujoco" by its integrators euler, implicitfast and rk4, "pinocchio" by
        semi-implicit Euler and RK4 of its accelerations, or one of them as "mujoco:rk4". Each is a row as the methods
        are. They take mechanisms with gravity, damping, friction, joint springs, drives, torque and constant inputs,
        and MuJoCo contacts, limits, ropes and constraints, too. What an engine cannot simulate is named in its row and
        in the notes.
    progress : callable, optional
        Called as progress(done_steps, total_steps, what).

    Raises
    ------
    InputError
        For a bad state, or a time step that does not divide the duration.
    UnknownNameError
        For an unknown method or engine.
    MissingExtraError
        If an engine is not installed (extra "engines").
    KeyboardInterrupt
        With the rows that were finished as its attribute ``comparison``.
    """
    given = locals() | parts_of(control)  # before any other name is bound
    require_system(model)
    q0 = model.validate_configuration(q0, name="q0")
    v0 = None if v0 is None else model.validate_velocity(v0, "v0")
    jobs, (asked, auto) = jobs_of(methods, model.methods), time_steps(dt, duration, record_every)
    others = engine_jobs(engines)
    if accuracy is not None and not auto:
        raise InputError("accuracy", accuracy, f'requires dt="{AUTO}"; leave it out')
    if (whole(repeats) or 0) < 1:
        raise InputError("repeats", repeats, "must be a whole number, 1 or more")
    shared = RunArguments(**{name: given[name] for name in given.keys() & NAMES - {"dt", "accuracy", "progress"}})
    shared = shared.but(wrenches=checked_wrenches(model, given["wrenches"]))
    source: str | Trajectory | bool = False if reference is None else reference
    spare: list[str] = []
    if reference is None or reference is True:
        source, *spare = usual_references(model, shared) or (False,)
    elif isinstance(source, str):
        _check_method(source, solving(model), "reference")
    run = Runner(model, shared.but(q0=q0, v0=v0), progress)
    steps = {label: _own_steps(options, asked, duration, record_every) for label, (_, options) in jobs.items()}
    jobs = {label: (name, {k: x for k, x in options.items() if k != "dt"}) for label, (name, options) in jobs.items()}
    without: dict[str, NoStep] = {}
    for label, (name, options) in jobs.items() if auto else ():
        try:
            own = chosen(model, run.shared.but(method=name, dt=AUTO, accuracy=accuracy, **options), simulate).dt
        except NoStep as error:
            without[label] = error
            continue
        _require_records(duration, own, record_every)
        steps[label] += [own] if own not in asked else []
    if not any(steps.values()):
        raise next(iter(without.values()))
    for label, (engine, method) in others.items():
        jobs[label] = (label, {"engine": engine, "method": method})
        steps[label] = sorted({x for own in steps.values() for x in own}, reverse=True)
    every = {x for own in steps.values() for x in own}
    dts = asked if every == set(asked) else sorted(every, reverse=True)
    truth = Reference(source, reference_tolerance, dts, spare)
    if source is False and reference is not False:
        truth.notes = (WITHOUT.format(rows_over_steps(shared)),)
    truth.check(run)
    table = _Table(run, truth, jobs, steps, int(repeats), without)
    told = {"auto": {"accuracy": ACCURACY if accuracy is None else accuracy}} if auto else {}
    settings = {
        "methods": {label: {"method": name, **more} for label, (name, more) in jobs.items() if label not in others},
        **({"engines": list(others)} if others else {}),
        "duration": duration, "dt": dts, **told, "record_every": record_every, "repeats": repeats,
        "torque": given["torque"], "effort_limits": given["effort_limits"],
        "reference": source if isinstance(source, str | bool) else "given trajectory",
        "reference_tolerance": reference_tolerance, "q0": q0, "v0": v0,
    }  # fmt: skip
    try:
        table.fill()
    except KeyboardInterrupt as interrupt:
        interrupt.comparison = table.comparison(plain(settings))  # type: ignore[attr-defined]
        raise
    return table.comparison(plain(settings))


class _Table:
    """The runs of a comparison, with a row of numbers for each.

    Parameters
    ----------
    run : Runner
    truth : Reference
    jobs : dict
        Label to (method, options).
    steps : dict of list of float
        Time steps [s] by label.
    repeats : int
        Runs a row.
    without : dict
        Label to why no step was found.
    """

    def __init__(self, run: Runner, truth: Reference, jobs: Mapping[str, Job], steps: Mapping[str, list[float]],
                 repeats: int, without: Mapping[str, NoStep]):  # fmt: skip
        self.run, self.truth, self.jobs, self.steps, self.repeats = run, truth, jobs, steps, repeats
        self.dts = [x for own in steps.values() for x in own]
        self.rows: list[JsonObject] = []
        for label, error in without.items():
            self.rows.append(_blank(label, jobs[label][0], NAN, 0) | {
                "status": "no step", "reason": str(error.args[0]),
            })  # fmt: skip
        self.trajectories: dict[tuple[str, float], Trajectory] = {}
        self.floors: dict[tuple[str, float], float] = {}
        self.scattered: dict[str, Order] = {}
        run.stages = len(self.dts) * repeats + truth.stages

    def fill(self) -> None:
        """Run everything."""
        each = [(label, name, options, dt) for label, (name, options) in self.jobs.items() for dt in self.steps[label]]
        for _, name, options, dt in each:  # a wrong option shows before the long runs
            if "engine" in options:
                continue
            steps = min(WARM_UP, count_steps(self.run.duration, dt))
            self.run.warm_up(name, dt, steps, **options)
        for label, name, options, dt in each:
            row, traj = _row(self.run, (label, dt), name, options, self.repeats)
            if traj is not None:
                self.trajectories[label, dt] = traj
            self.rows.append(row)
        sound = {(row["label"], row["dt"]) for row in self.rows if row["status"] == "ok"}
        compared = [(dt, traj) for (label, dt), traj in self.trajectories.items() if (label, dt) in sound]
        # last, since it takes longest: an interrupt then leaves the methods' rows
        self.truth.compute(self.run, compared)
        if self.run.touches:
            self._find_orders_in_contact()
        else:
            self._find_floors()

    def _find_orders_in_contact(self) -> None:
        """Find the order of each method from its errors at the end, over runs with steps of many lengths.

        Where in a step an impact falls changes its error by as much as the length of the step does: the errors at a few
        time steps have no order.
        """
        if not self.truth.runs or self.truth.known_until <= self.run.duration:
            return
        for label, (name, options) in self.jobs.items():
            steps = [dt for dt in self.steps[label] if (label, dt) in self.trajectories]
            if len(steps) < 2 or len(steps) < len(self.steps[label]):
                continue
            self.run.stages += SAMPLES * len(steps)
            found = [self._errors_about(label, dt, name, options) for dt in steps]
            if all(len(errors) for _, errors in found):
                typical, errors = zip(*found, strict=True)
                self.scattered[label] = order_of_scattered(typical, errors, 3 * self.truth.error)

    def _errors_about(self, label: str, dt: float, name: str, options: Keywords) -> tuple[float, np.ndarray]:
        """Return the typical time step [s] and the errors at the end of runs about dt; no errors if a run fails."""
        run, truth = self.run, self.truth.of(dt)
        least = count_steps(run.duration, dt)
        rng, errors = np.random.default_rng(0), []
        shares = (np.arange(SAMPLES) + rng.random(SAMPLES)) / SAMPLES
        counts = np.maximum(least + np.arange(SAMPLES), np.round(least * (1.0 + MORE * shares)).astype(int)).tolist()
        for count in counts:
            try:
                other = run(name, f"{label}, order", run.duration / count, record_every=count, **options)
            except (ArithmeticError, VitreeError):
                return dt, np.zeros(0)
            assert truth is not None
            errors.append(float(np.linalg.norm(run.model.difference(truth.q[-1], other.q[-1]))))
        return run.duration / float(np.exp(np.mean(np.log(counts)))), np.array(errors)

    def _find_floors(self) -> None:
        """Estimate the floors of methods whose errors do not fall as their order has it."""
        for label, (name, options) in self.jobs.items():
            if len(self.steps[label]) < 2:
                continue
            errors = {dt: self._error(label, dt) for dt in sorted(self.steps[label], reverse=True)}
            errors = {dt: error for dt, error in errors.items() if error > 3 * self.truth.error}
            claimed, dts = self._claimed(label), list(errors)
            pairs = pair_orders(np.array(dts), np.array(list(errors.values())))
            least = (1.0 - CLAIMED) * (claimed or float(pairs.max(initial=0.0)))
            for dt in {each for k, order in enumerate(pairs) if order < least for each in dts[k : k + 2]}:
                self.floors[label, dt] = self._floor(label, dt, name, options)

    def _error(self, label: str, dt: float) -> float:
        """The largest error of a run; NaN without one."""
        traj, truth = self.trajectories.get((label, dt)), self.truth.of(dt)
        if traj is None or truth is None:
            return NAN
        return error_of(self.run.model, traj, truth, self.truth.known_until)

    def _floor(self, label: str, dt: float, name: str, options: Keywords) -> float:
        """How much a tighter tolerance and the rounding of steps change a run [rad, m]; NaN if that fails."""
        run, traj = self.run, self.trajectories[label, dt]
        model, steps = run.model, max(traj.steps, 1)
        away = np.random.default_rng(0).standard_normal(model.nv)
        size = np.finfo(float).eps * math.sqrt(steps) * max(1.0, float(np.abs(run.q0).max(initial=0.0)))
        q0 = model.integrate(run.q0, size * away / max(float(np.linalg.norm(away)), 1.0))
        more = dict(options)
        tolerance = None if "engine" in options else traj.settings.get("tolerance")
        if tolerance is not None:
            more["tolerance"] = max(TIGHTER * tolerance, LEAST)
        run.stages += 1
        try:
            other = run(name, f"{label}, floor", dt, q0=q0, **more)
        except (ArithmeticError, VitreeError):
            return NAN
        return error_of(model, other, traj, self.truth.known_until)

    def _claimed(self, label: str) -> float | None:
        """The order that a method has where motions are smooth; None in contact, and of methods that adapt."""
        name, options = self.jobs[label]
        if self.run.touches or name.startswith("scipy-"):
            return None
        if "engine" in options:
            return float(ENGINES[options["engine"]].METHODS[options["method"]])
        return float(options.get("order", self.run.model.methods[name].order))

    def comparison(self, settings: JsonObject) -> Comparison:
        """Return the rows there are, with their errors."""
        model, truth, rows = self.run.model, self.truth, self.rows
        conservative, free = _energy_is_known(self.run), _momentum_is_known(self.run)
        reference = truth.of(min(self.dts))
        scale = self._scale(reference)
        self._drop_diverged(scale)
        series: dict[tuple[str, float], Series] = {}
        for row in rows:
            key = row["label"], row["dt"]
            if row["status"] == "ok":
                traj, exact = self.trajectories[key], truth.of(row["dt"])
                series[key] = series_against(model, traj, exact, conservative, truth.known_until, self.run.touches)
                row |= _measure(model, traj, series[key], free)
                row |= self._in_contact(traj, exact)
                row["floor"] = self.floors.get(key, NAN)
                row["at_floor"] = bool(row["error"] <= 3 * truth.error or row["error"] <= FLOOR_SHARE * row["floor"])
        largest = (float(np.abs(self.trajectories[key].energy).max()) for key in series)
        rest = ROUNDING_OF_ENERGY * max(largest, default=0.0)
        for row in rows:
            row["energy_error_relative"] = row["energy_error"] / scale if scale > rest else NAN
        for label in self.jobs:
            own = [row for row in rows if row["label"] == label]
            if self.run.touches:
                _give_order(own, self.scattered.get(label, Order(NAN)))
            else:
                _fit_order(own, self._claimed(label), truth.known_until)
        return Comparison(
            model_name=model.name, table=rows, trajectories=self.trajectories, reference=reference,
            reference_error=truth.error, series=series, settings=settings,
            notes=(
                system_note(model, self.run.duration),
                energy_note(conservative, bool(truth.runs), scale),
                *([momentum_note(model)] if free else []),
                *truth.notes,
                *floor_notes(rows),
                *contact_order_notes(self.scattered.values()),
                *friction_notes(model, self.run.q0, max(self.dts)),
                *spring_notes(model, self.run.q0, max(self.dts)),
                *failure_notes(row["reason"] for row in rows if row["status"] != LEFT_OUT),
                *engine_notes([row for row in rows if "engine" in self.jobs[row["label"]][1]]),
                *warning_notes(self.trajectories),
            ),
        )  # fmt: skip


    def _scale(self, reference: Trajectory | None) -> float:
        """The largest kinetic energy of the reference, or of the calmest run without one [J]."""
        if reference is not None:
            return float(reference.kinetic.max())
        sound = [self.trajectories[row["label"], row["dt"]] for row in self.rows if row["status"] == "ok"]
        return min((float(traj.kinetic.max()) for traj in sound), default=NAN)

    def _drop_diverged(self, scale: float) -> None:
        """Let runs fail whose kinetic energy is beyond all bounds."""
        for row in self.rows:
            if row["status"] != "ok":
                continue
            key = row["label"], row["dt"]
            traj = self.trajectories[key]
            if (count := sensible(traj, ABSURD * scale)) < len(traj):
                self.trajectories[key] = traj[:count]
                row |= _blank(row["label"], row["method"], row["dt"], row["steps"]) | {
                    "status": f"failed at t = {traj.t[count]:g} s", "failed_at": float(traj.t[count]),
                    "reason": f"{row['label']}: the state diverges, for dt = {row['dt']:g} s is too long for it",
                }  # fmt: skip

    def _in_contact(self, traj: Trajectory, exact: Trajectory | None) -> dict[str, float]:
        """Return the errors of contacts of a run."""
        model, given = self.run.model, self.run.shared
        if not (isinstance(model, Model) and self.run.touches):
            return {}
        full = model.full
        assert isinstance(full, Model)
        passive = full._is_passive and not full._has_contact_springs and not _is_driven(given)
        floats = _momentum_is_known(self.run, contacts=True)
        return contact_errors(model, traj, exact, self.truth.known_until, passive, floats)


def time_steps(dt: object, duration: float, every: int) -> tuple[list[float], bool]:
    """Return the time steps [s], checked, and whether one is to be chosen, too."""
    numbers, auto = dt, isinstance(dt, str) and dt == AUTO
    if isinstance(dt, list | tuple):
        numbers = [x for x in dt if not (isinstance(x, str) and x == AUTO)]
        auto = len(numbers) == len(dt) - 1
    try:
        dts = [] if auto and (numbers is dt or not numbers) else np.atleast_1d(as_numbers(numbers)).tolist()
    except TypeError:
        dts, auto = [], False
    if not (dts or auto) or np.ndim(dts) > 1 or len(set(dts)) < len(dts):
        raise InputError("dt", dt, 'must be one time step or several that differ; one may be "auto"')
    if (whole(every) or 0) < 1:
        raise InputError("record_every", every, "must be a whole number of steps, 1 or more")
    for step in dts:
        _require_records(duration, step, every)
    return dts, auto


def _own_steps(options: Keywords, asked: list[float], duration: float, every: int) -> list[float]:
    """Return the time steps of a method [s]: its own, or those asked of all."""
    if "dt" not in options:
        return list(asked)
    steps, auto = time_steps(options["dt"], duration, every)
    if auto:
        raise InputError("dt", options["dt"], "of one method must be numbers; dt=\"auto\" is an argument of compare()")
    return steps


def _require_records(duration: float, step: float, every: int) -> None:
    """Raise an InputError if a run has fewer steps than are between records."""
    if count_steps(duration, step) < every:
        raise InputError("record_every", every, f"is more than the steps of dt={quoted(step)} s; lower it")


def jobs_of(methods: object, known: Mapping[str, type[Integrator]]) -> dict[str, Job]:
    """Return label -> (method, options) of names, of pairs (name, options), or of a dict of them."""
    if isinstance(methods, str):
        methods = [methods]
    jobs: dict[str, Job] = {}
    if isinstance(methods, Mapping):
        items = list(methods.items())
    else:
        items = [(None, x) for x in several(methods, "methods", "names, pairs (name, options), or a dict of them")]
    for label, method in items:
        try:
            name, options = (method, {}) if isinstance(method, str) else method
            options = dict(options)
            if not all(isinstance(key, str) for key in options):
                raise TypeError("names of options are texts")
        except Exception:  # whatever the entry's own methods raise
            raise InputError(
                "methods", methods, f"has the entry {shown(method)}; give a name or a pair (name, options)"
            ) from None
        _check_method(name, known, "methods")
        for key in sorted(options.keys() & _SAME - {"dt"}):
            raise InputError(key, options[key], f'is the same for all methods; take it out of "{name}"')
        if known[name].adapts(options):
            what = f'adapt= for "{name}"' if "adapt" in options else f'"{name}"'
            raise InputError(f"compare runs every method with the same equal steps; leave out {what}")
        if label is None:
            extra = ", ".join(f"{key}={text_of(value)}" for key, value in options.items())
            label = f"{name} ({extra})" if extra else name
        if label in jobs:
            raise InputError("methods", methods, f'has "{label}" twice; give a dict with a label for each')
        jobs[str(label)] = (name, options)
    if not jobs:
        raise InputError("methods", methods, "is empty; give at least one name of model.methods")
    return jobs


def _check_method(name: object, known: Collection[str], argument: str) -> None:
    if not isinstance(name, str) or name not in known:
        raise UnknownNameError("method", name, known, argument=argument)


def solving(model: System) -> list[str]:
    """Return the methods that can be a reference."""
    return [name for name in model.methods if name in SHARP or name.startswith("scipy-")]


def _blank(label: str, name: str, dt: float, steps: int) -> JsonObject:
    """A row without numbers."""
    row = {"label": label, "method": name, "dt": dt, "steps": steps}
    told = {"order_status": "", "order_error": NAN, "floor": NAN, "at_floor": False, "valid_to_end": True}
    return row | {"status": "ok", "failed_at": None, "reason": None} | dict.fromkeys(_MEASURES, NAN) | told


def _row(
    run: Runner, key: tuple[str, float], name: str, options: Keywords, repeats: int
) -> tuple[JsonObject, Trajectory | None]:
    """Run one method at one time step: its row without errors, and its sound records."""
    label, dt = key
    steps = count_steps(run.duration, dt)
    row = _blank(label, name, dt, steps)
    try:
        runs = [run(name, label, dt, **options) for _ in range(repeats)]
    except NotImplementedError as error:
        return row | {"status": LEFT_OUT, "reason": str(error)}, None
    except ArithmeticError as error:
        return row | {"status": "failed", "failed_at": None, "reason": f"{label}: {error}"}, None
    except ConvergenceError as error:
        row["status"], row["failed_at"] = f"failed at t = {error.time:g} s", float(error.time)
        row["reason"] = error.args[0]
        traj = error.trajectory
        return row, None if traj is None else traj[: sound_records(traj)]
    traj = runs[0]
    sound = sound_records(traj)
    if sound < len(traj):
        row["status"], row["failed_at"] = f"failed at t = {traj.t[sound]:g} s", float(traj.t[sound])
        row["reason"] = "the state or its energy is not finite"
        return row, traj[:sound]
    solves = "engine" not in options and "tolerance" in run.model.methods[name].options
    if traj.iterations_total or solves:  # others solve nothing
        row["iterations_mean"] = traj.iterations_total / max(traj.steps, 1)
        row["iterations_max"] = traj.iterations_max
    row["us_per_step"] = min(1e6 * x.seconds / max(x.steps, 1) for x in runs)
    return row, traj


def _measure(model: System, traj: Trajectory, errors: Series, symmetric: bool) -> dict[str, Any]:
    """Return the largest errors of one run, until when it is valid, and the drift of its energy."""
    with np.errstate(over="ignore", invalid="ignore"):
        known = np.isfinite(errors.energy)
        t, energy = errors.t[known], errors.energy[known]
        found: dict[str, Any] = {"error": float(np.max(errors.error, where=np.isfinite(errors.error), initial=-1.0))}
        if found["error"] < 0:
            found["error"] = NAN
        else:
            late = errors.error > VALID
            last = np.flatnonzero(np.isfinite(errors.error))[-1]
            found["valid_to_end"] = not late.any()
            found["valid_time"] = float(errors.t[late.argmax() if late.any() else last])
        if len(t) > 1:
            found["energy_error"] = float(np.abs(energy).max())
            t = t - t.mean()
            found["energy_drift"] = float(t @ (energy - energy.mean()) / (t @ t))
        if model.constraints:
            found["constraint_error"] = float(np.abs(traj.constraint).max(initial=0.0))
        if symmetric:
            angular, linear = momentum_departure(traj, model.gravity, model.total_mass)
            found["momentum_error"] = float(linear.max())
            found["angular_momentum_error"] = float(angular.max())
    return found


def _is_driven(given: RunArguments) -> bool:
    """Say whether something drives a run, beside what is of the model."""
    forces = any(each is not None for each in (given.torque, given.inputs, given.targets))
    return bool(forces or given.wrenches or given.prescribed)


def _energy_is_known(run: Runner) -> bool:
    """Say whether the energy is constant in exact arithmetic."""
    return run.model.is_conservative and not _is_driven(run.shared)


def _momentum_is_known(run: Runner, contacts: bool = False) -> bool:
    """Say whether every root moves freely in space with no force on it but gravity, and of ``contacts``."""
    model, given = run.model, run.shared
    if not isinstance(model, Model):
        return model.is_free_floating and given.torque is None and given.inputs is None and not contacts
    if not (model._floats if contacts else model.is_free_floating) or given.wrenches or given.prescribed:
        return False
    v0 = model.zero_velocity() if given.v0 is None else given.v0
    force = np.zeros(model.nv) if given.torque is None else given.torque
    if callable(force):
        force = Asked(force, "torque", "(t, q, v)", (model.nv,))(0.0, run.q0, v0)
    pushes = model.expand_velocity(np.atleast_2d(as_numbers(force)) != 0)  # of each step, if it has rows over steps
    return not pushes[:, model._free_roots()].any()


def _fit_order(rows: list[JsonObject], claimed: float | None, until: float) -> None:
    """Give the rows of a label their order, or why there is none.

    Where small differences grow until the reference is not known, errors of more than VALID say nothing of an order.
    """
    sound = [row for row in rows if row["status"] == "ok" and 0 < row["error"] < math.inf]
    sound = [row for row in sound if until == math.inf or row["error"] <= VALID]
    adapts = any(row["method"].startswith("scipy-") for row in rows)
    found = Order(NAN)
    if not adapts and len(rows) > 1 and any(row["error"] == row["error"] for row in rows):
        dts, errors, at_floor = ([row[key] for row in sound] for key in ("dt", "error", "at_floor"))
        found = order_of(dts, errors, at_floor, claimed)
    _give_order(rows, found)


def _give_order(rows: list[JsonObject], found: Order) -> None:
    """Give the rows of a label their order."""
    for row in rows:
        row["order"], row["order_status"], row["order_error"] = found
