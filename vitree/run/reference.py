"""The runs of a comparison: a runner for all of them, and the reference that they are measured against."""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from typing import Any

import numpy as np

from vitree.arguments import real
from vitree.errors import ConvergenceError, InputError
from vitree.model.system import System
from vitree.results.series import NAN, distance, shared
from vitree.run.arguments import RunArguments
from vitree.run.simulate import run as simulate
from vitree.run.trajectory import Trajectory, sound_records
from vitree.wording import Argument, named

#: No reference is held to be better than this [rad, m].
ROUNDING = 2e-14


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

    def __init__(self, model: System, shared: RunArguments, progress: Callable[[int, int, str], Any] | None):
        self.model, self.shared, self.progress = model, shared, progress
        self.q0: np.ndarray = np.asarray(shared.q0)
        self.duration = (np.nan if shared.duration is None else real(shared.duration)) or np.nan
        self.stage = self.stages = 0

    def __call__(self, method: str, what: str, dt: float, **options: Any) -> Trajectory:
        """Run a method with a time step and its own ``options``; the progress report calls the run ``what``."""
        self.stage += 1
        text = f"[{self.stage}/{self.stages}] {what}, dt = {dt:g} s"
        report = None
        if self.progress is not None:
            report = lambda done, total: self.progress(done, total, text)  # noqa: E731
        return simulate(self.model, self.shared.but(method=method, dt=dt, progress=report, **options))

    def warm_up(self, method: str, dt: float, steps: int, **options: Any) -> None:
        """Run the first ``steps``, so that a wrong option shows and the clock is fair; a step may fail."""
        with contextlib.suppress(ConvergenceError):
            simulate(self.model, self.shared.but(method=method, dt=dt, duration=steps * dt, every=1, **options))


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

    Attributes
    ----------
    error : float
        The estimate [m and rad]; NaN without one.
    notes : tuple of str
    runs : dict of float to Trajectory
        Solutions by the smallest time steps; :meth:`of` finds the one for a step.
    """

    def __init__(self, source, tolerance: float, dts: list[float]):
        if not 0 < real(tolerance) < 1:
            raise InputError(Argument("reference_tolerance", tolerance) + " must be a number between 0 and 1")
        self.source, self.tolerance = source, real(tolerance)
        self.error = NAN
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
                    "the " + named("reference", self.source) + f" is a trajectory of {self.source.model_name!r} with "
                    f"other coordinates; give one of {run.model.name!r}"
                )
            if not len(self.source):
                raise InputError("the " + named("reference", self.source) + " is a trajectory without records")
            if self.source.t[-1] < run.duration * (1 - 1e-9):
                raise InputError(
                    "the " + named("reference", self.source) + f" ends at {self.source.t[-1]:g} s, before "
                    + Argument("duration", run.duration) + " s; give a longer one"
                )
            self.runs = dict.fromkeys(set(self.base.values()), self.source)
            self.notes = ("Error: against the trajectory that was given.",)

    def compute(self, run: Runner) -> None:
        """Run the reference, twice at different tolerances."""
        if not isinstance(self.source, str):
            return
        bases = sorted(set(self.base.values()))
        errors = []
        try:
            for dt in bases:
                # with one largest step both might take the same steps and agree by chance
                loose, tight = (
                    run(
                        self.source, f"reference {self.source}", dt, rtol=tolerance, atol=tolerance,
                        max_step=run.duration / least,
                    ) for tolerance, least in ((10 * self.tolerance, 40), (self.tolerance, 80))
                )  # fmt: skip
                if any(sound_records(x) < len(x) for x in (loose, tight)):
                    self.notes = (f"Error: none, the reference {self.source} is not finite.",)
                    self.runs.clear()
                    return
                errors.append(float(distance(run.model, *shared(tight, loose)).max()))
                self.runs[dt] = tight
        except ConvergenceError as error:
            self.notes = (f"Error: none, the reference {self.source} failed: " + error.args[0],)
            self.runs.clear()
            return
        except KeyboardInterrupt:
            self.notes = (f"Error: none, the reference {self.source} was interrupted.",)
            self.runs.clear()
            raise
        self.error = max(*errors, ROUNDING)
        self.notes = (
            f"Error: largest norm of the difference to {self.source}, rtol = atol = {self.tolerance:g}. "
            f"The reference itself is off by about {self.error:.1e}: that is how much it changes with ten times the "
            "tolerance.",
        )


def _divides(small: float, large: float) -> bool:
    """Whether a time step is a whole fraction of another, or the same."""
    ratio = large / small
    return abs(ratio - round(ratio)) <= 1e-9 * ratio
