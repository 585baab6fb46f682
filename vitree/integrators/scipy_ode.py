"""SciPy's solve_ivp methods on (q, v), as baselines and as tight references."""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from vitree import _core
from vitree._core import scalar
from vitree.arguments import Keywords, all_finite, entries, real, told
from vitree.errors import ConvergenceError, InputError, VitreeError
from vitree.integrators.base import (
    LARGEST,
    Integrator,
    Kept,
    Monitors,
    Records,
    damaged,
    part_of,
    progress_of,
    steps_of,
)
from vitree.model.broadcasting import coincident
from vitree.model.model import Model

if TYPE_CHECKING:
    from scipy.integrate import OdeSolver

#: Most steps of a solver within one dt: the motion is then faster than can be followed.
MOST_TRIES = 1_000_000
#: Steps after which a solver must have come on by this share of a dt.
SOME_TRIES, LEAST_ADVANCE = 1_000, 1e-6


class SciPy(Integrator):
    """An adaptive solver of SciPy; ``dt`` only says where results are wanted.

    Quaternions are integrated as numbers and normalised wherever they are used.
    """

    scipy_method: str
    t: float = 0.0
    options: ClassVar[Mapping[str, str]] = {
        "rtol": "relative tolerance of the solver (default 1e-8)",
        "atol": "absolute tolerance of the solver (default 1e-10)",
        "max_step": "largest step [s] (default: none)",
    }

    def _prepare(self) -> None:
        self.rtol, self.atol = self.chosen.get("rtol", 1e-8), self.chosen.get("atol", 1e-10)
        self.max_step = self.chosen.get("max_step", np.inf)
        for name, value in (("rtol", self.rtol), ("atol", self.atol), ("max_step", self.max_step)):
            number = real(value)
            if not (number > 0 and (number < np.inf or name == "max_step")):
                raise InputError(name, value, "must be a positive number")
        self.rtol, self.atol, self.max_step = map(real, (self.rtol, self.atol, self.max_step))
        self.field = self._accelerations()
        self.quaternions = self.model._quaternions

    def _accelerations(self) -> _core.Field:
        """The compiled object that knows the accelerations."""
        return super()._field()

    @property
    def settings(self) -> Keywords:
        return {"rtol": 1e-8, "atol": 1e-10, **self.chosen}

    def _field(self) -> _core.Field:
        return self.field

    def start(self, t: float, q: np.ndarray, x: np.ndarray) -> None:
        self.t = self._t0 = float(t)
        self.q, self.v = q.copy(), x.copy()
        self.field.begin_at(self.t)
        self.recorded = self.behind = 0

    def state(self) -> tuple[np.ndarray, np.ndarray]:
        return self.q.copy(), self.v.copy()

    def advance(self, steps: int) -> None:
        model, steps = self.model, steps_of(steps)
        self.behind = self.recorded
        self.run(Records.room(2, model.nq, model.nv, len(model.constraints)), steps, steps, None)
        self.t = self._t0 + self.recorded * self.dt

    def advance_part(self, h: float, last: bool) -> None:
        dt, done, t = self.dt, self.recorded, self.t
        self.dt = h = part_of(h, dt)
        try:
            self.advance(1)
        finally:
            self.dt, self.recorded = dt, done
        self.recorded += last
        self.t = self._t0 + self.recorded * dt if last else t + h

    def strike(self, x: np.ndarray) -> None:
        self.v = entries(x, self.v.shape, "x").copy()

    def keep(self) -> tuple[object, ...]:
        return self._t0, self.t, self.recorded, self.q.copy(), self.v.copy()

    def go_back(self, kept: Kept) -> None:
        try:
            t0, t, recorded, q, v = kept
        except (TypeError, ValueError) as error:
            raise damaged(error) from None
        q, v = entries(q, self.q.shape, "q").copy(), entries(v, self.v.shape, "v").copy()
        self._t0, self.t = float(entries(t0, (), "t0")), float(entries(t, (), "t"))
        self.recorded, self.q, self.v = steps_of(recorded, least=0), q, v
        self.field.begin_at(self._t0)

    @property
    def steps(self) -> int:
        """Multiples of dt up to the last record; the solver's own steps are others."""
        return self.recorded

    def _normalised(self, q: np.ndarray) -> np.ndarray:
        q = np.ascontiguousarray(q, dtype=float).copy()
        for i in self.quaternions:
            q[..., i : i + 4] /= np.linalg.norm(q[..., i : i + 4], axis=-1, keepdims=True)
        return q

    def _rate(self, t: float, y: np.ndarray) -> np.ndarray:
        """The rate of the unknowns, which is finite: a solver that meets NaN may never return."""
        if not (np.isfinite(t) and np.abs(y).max(initial=0.0) <= LARGEST):
            raise self._stopped(t, scalar().STATUS_TEXT[scalar().STATUS["not finite"]])
        rate = self._rate_of(t, y)
        if not all_finite(rate):
            met = coincident(self.model, self._normalised(y[: self.model.nq])) if isinstance(self.model, Model) else []
            raise self._stopped(t, met[0] if met else "the accelerations are infinite or NaN")
        return rate

    def _stopped(self, t: float, why: str) -> ConvergenceError:
        """Return the error of a run that cannot go on."""
        return ConvergenceError(
            f"{self.name}: stopped at t = {t:.9g} s: {why}. Look at the loads and the torque, or give a smaller "
            "max_step=",
            time=float(t), residual=np.nan, iterations=0,
        )  # fmt: skip

    def _stepped_by(self, solver: OdeSolver) -> str | None:
        """Let SciPy's solver take a step; return its message."""
        try:
            found: str | None = solver.step()
            return found
        except VitreeError:
            raise
        except ValueError as error:  # of SciPy's linear algebra, where numbers overflow
            raise self._stopped(solver.t, f"SciPy's solver raised {told(error)}") from error

    def _rate_of(self, t: float, y: np.ndarray) -> np.ndarray:
        q, v = self._normalised(y[: self.model.nq]), y[self.model.nq :].copy()
        prescribed = None
        if self.motion.names:
            where, rate, acceleration = self.motion.at(t)
            prescribed = np.zeros(self.model.nv)
            q[self.motion.iq], v[self.motion.iv], prescribed[self.motion.iv] = where, rate, acceleration
        return np.concatenate(
            (self.model.configuration_rate(q, v), self.field.acceleration_at(t, q, v, prescribed)[0])
        )  # fmt: skip

    def run(self, records: Records, steps: int | float, every: int, progress: Callable[[int, int], object] | None,
            monitors: Monitors | None = None) -> None:  # fmt: skip
        from scipy import integrate  # slow to import, and seldom needed

        if monitors:
            raise InputError("monitors", monitors, f"are not for the method {self.name}, which chooses its own steps")
        last = int(steps) // every * every
        if last == 0:
            return
        reported, progress = time.perf_counter(), progress_of(progress)
        with np.errstate(all="ignore"), warnings.catch_warnings():
            warnings.filterwarnings("ignore", "lsoda")  # an error says the same
            solver = getattr(integrate, self.scipy_method)(
                self._rate, self.t, np.concatenate((self.q, self.v)), self.t + last * self.dt,
                rtol=self.rtol, atol=self.atol, max_step=self.max_step,
            )  # fmt: skip
            done, tries, mark = 0, 0, self.t
            while done < last:
                began = time.perf_counter()
                message = self._stepped_by(solver)
                records.seconds += time.perf_counter() - began
                if solver.status == "failed" or not np.isfinite(solver.y).all():
                    raise ConvergenceError(
                        f"{self.name}: stopped at t = {solver.t:.9g} s: "
                        f"{message or 'the state became infinite or NaN.'} Loosen rtol= or atol=",
                        time=float(solver.t), residual=np.nan, iterations=0,
                    )  # fmt: skip
                reached = last if solver.status == "finished" else self._reached(solver.t, every)
                tries = 0 if reached > done else tries + 1
                stuck = tries % SOME_TRIES == SOME_TRIES - 1 and solver.t - mark < LEAST_ADVANCE * every * self.dt
                if stuck or tries == MOST_TRIES * every:
                    raise self._stopped(solver.t, f"the solver took {tries} steps within {every * self.dt:g} s")
                if tries % SOME_TRIES == 0:
                    mark = solver.t
                if reached > done:
                    marks = np.arange(done + every, reached + 1, every)
                    self._record(records, solver.dense_output(), marks)
                    done = reached
                if progress is not None and time.perf_counter() - reported > 0.1:
                    progress(done, int(steps))
                    reported = time.perf_counter()
        self.t += last * self.dt
        self.q, self.v = self._normalised(solver.y[: self.model.nq]), solver.y[self.model.nq :].copy()
        if progress is not None:
            progress(int(steps), int(steps))

    def _reached(self, t: float, every: int) -> int:
        """Number of steps at the last record that lies at or before a time."""
        return int((t - self.t) / self.dt * (1 + 1e-12)) // every * every

    def _record(self, records: Records, state: Callable[[np.ndarray], np.ndarray], marks: np.ndarray) -> None:
        """Write the states of a dense output at some numbers of steps."""
        t = self.t + marks * self.dt
        y = state(t).T
        rows = slice(records.rows, records.rows + len(marks))
        records.t[rows] = t
        records.q[rows] = self._normalised(y[:, : self.model.nq])
        records.x[rows] = y[:, self.model.nq :]
        if self.motion.names:
            moved = np.array([self.motion.at(x) for x in t])
            records.q[rows, self.motion.iq], records.x[rows, self.motion.iv] = moved[:, 0], moved[:, 1]
        records.iterations[rows], records.residual[rows] = 0, 0.0
        records.rows += len(marks)
        self.recorded = self.behind + int(marks[-1])


class SciPyRK45(SciPy):
    """solve_ivp(method='RK45') on (q, v)."""

    name, scipy_method, order = "scipy-rk45", "RK45", 5


class SciPyDOP853(SciPy):
    """solve_ivp(method='DOP853') on (q, v)."""

    name, scipy_method, order = "scipy-dop853", "DOP853", 8


class SciPyRadau(SciPy):
    """solve_ivp(method='Radau') on (q, v)."""

    name, scipy_method, order = "scipy-radau", "Radau", 5


class SciPyBDF(SciPy):
    """solve_ivp(method='BDF') on (q, v)."""

    name, scipy_method, order = "scipy-bdf", "BDF", 5


class SciPyLSODA(SciPy):
    """solve_ivp(method='LSODA') on (q, v)."""

    name, scipy_method, order = "scipy-lsoda", "LSODA", 12


VARIANTS: list[type[SciPy]] = [SciPyRK45, SciPyDOP853, SciPyRadau, SciPyBDF, SciPyLSODA]
