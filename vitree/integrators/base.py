"""What every integrator is: a model, a step, a state, and steps taken in compiled code."""

from __future__ import annotations

import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from vitree._core import scalar
from vitree.errors import ConvergenceError, InputError, UnknownNameError
from vitree.model import Model

Torque = None | np.ndarray | Callable[[float, np.ndarray, np.ndarray], np.ndarray]

#: Status of the compiled steppers that stands for an exception in a user's callable.
CALLBACK_FAILED = 4
#: Seconds of stepping between two looks at the progress callable and at Ctrl-C.
CHUNK_SECONDS = 0.05


@dataclass
class Records:
    """Rows written while stepping; ``x`` is p of a variational integrator, v of the others."""

    t: np.ndarray
    q: np.ndarray
    x: np.ndarray
    iterations: np.ndarray
    residual: np.ndarray
    rows: int = 1
    seconds: float = 0.0

    def trimmed(self) -> Records:
        """Return only the rows written."""
        n = self.rows
        return Records(self.t[:n], self.q[:n], self.x[:n], self.iterations[:n], self.residual[:n], n, self.seconds)


class Integrator(ABC):
    """Base of the integrators.

    The contract, for those who write one:

    1. The state is (t, q, x): x is the momentum p if ``uses_momentum``, else the velocity v.
    2. ``run`` advances by whole steps of ``dt`` and leaves the state at the last step that
       succeeded; a step that fails raises and changes nothing.
    3. A failure is a :class:`ConvergenceError` that says when, how far the solve came, and what to try.
    4. Equal states, loads and options give equal bits.
    5. ``order``, ``symplectic`` and ``conserves_momentum`` are claims, and are tested.
    6. Loads (torque, wrenches, damping) act so that ``order`` still holds.

    Parameters
    ----------
    model : Model
    dt : float
        Step [s].
    torque : None, (nv,) array or callable (t, q, v) -> (nv,) array
        Joint forces [N or N m].
    wrenches : mapping of frame name to (6,) array, optional
        Constant (torque, force) at the frame's origin [N m, N].
    wrench_axes : {"world", "local"}
        Whether those keep their direction in the world or turn with the frame.
    """

    name: ClassVar[str]
    uses_momentum: ClassVar[bool] = False
    order: ClassVar[int]
    symplectic: ClassVar[bool] = False
    conserves_momentum: ClassVar[bool] = False
    #: whether it holds a model's constraints; one that does not refuses the model
    holds_constraints: ClassVar[bool] = False
    #: options of the method: name -> what may be given
    options: ClassVar[Mapping[str, str]] = {}

    def __init__(self, model: Model, dt: float, *, torque: Torque = None,
                 wrenches: Mapping[str, Any] | None = None, wrench_axes: str = "world", **options):  # fmt: skip
        if not (isinstance(dt, int | float | np.floating | np.integer) and np.isfinite(dt) and dt > 0):
            raise InputError(f"dt={dt!r} must be a positive number of seconds, such as 1e-3")
        unknown = set(options) - set(self.options)
        if unknown:
            raise UnknownNameError(f"option of the method {self.name}", sorted(unknown)[0], self.options)
        if model.constraints and not self.holds_constraints:
            raise InputError(
                f'the method {self.name} does not hold constraints, and "{model.name}" has {len(model.constraints)}; '
                f'take "midpoint"'
            )
        #: the model that is stepped; another than ``model`` where that is expanded
        self.running = self.model = model
        self.dt = float(dt)
        self.notes: list[str] = []
        if torque is not None and not callable(torque):
            torque = model.validate_velocity(torque, "torque")
        self.wrenches = (wrenches or {}, wrench_axes)
        self.loads = wrench_loads(model, *self.wrenches)
        self.torque = torque
        self.chosen = options
        self._prepare()

    @abstractmethod
    def _prepare(self) -> None:
        """Check the options and make what stepping needs."""

    @property
    def settings(self) -> dict[str, Any]:
        """What was chosen, for the record."""
        return dict(self.chosen)

    @abstractmethod
    def start(self, t: float, q: np.ndarray, x: np.ndarray) -> None:
        """Set the state, forgetting all history."""

    @abstractmethod
    def run(self, records: Records, steps: int, every: int, progress: Callable[[int, int], Any] | None) -> None:
        """Advance by ``steps``, filling ``records``; raise if a step fails."""

    def start_between(self, t: float, q0: np.ndarray, q1: np.ndarray) -> np.ndarray:
        """Return the x at (t, q0) from which one step leads to q1."""
        raise InputError(
            f'the method {self.name} starts from q0 and v0; two configurations (q1=) are a start for '
            f'the variational methods "linear-time" and "midpoint"'
        )

    @property
    @abstractmethod
    def steps(self) -> int:
        """Steps taken so far."""

    @property
    def total_iterations(self) -> int:
        """Corrections of all steps so far."""
        return 0

    @property
    def most_iterations(self) -> int:
        """Most corrections that one step took."""
        return 0


class CompiledIntegrator(Integrator):
    """An integrator whose steps are taken by a stepper of the compiled core."""

    stepper: Any
    #: what to try when a step fails
    remedy: ClassVar[str] = "halve dt"

    def _make(self, kind: str, model: Model, torque: Torque, **options) -> Any:
        return getattr(scalar(), kind)(model.core, self.dt, torque, self.loads, **options)

    def start(self, t, q, x):
        self.stepper.set_state(float(t), q, x)

    def run(self, records, steps, every, progress):
        done, chunk = 0, 16
        while done < steps:
            count = min(chunk, steps - done)
            began = time.perf_counter()
            status, rows = self.stepper.run(
                count, every, records.rows, records.t, records.q, records.x, records.iterations, records.residual
            )
            took = time.perf_counter() - began
            records.seconds += took
            records.rows += rows
            if status == CALLBACK_FAILED:
                raise self.stepper.exception
            if status:
                raise self._failure(status)
            done += count
            chunk = int(np.clip(CHUNK_SECONDS / max(took / count, 1e-9), 1, 2 * chunk))
            if progress is not None:
                progress(done, steps)

    def _failure(self, status: int) -> ConvergenceError:
        stepper = self.stepper
        tolerance = getattr(stepper, "tolerance", None)
        numbers = (
            f" (residual {stepper.error:.3g} after {stepper.iterations} iterations, "
            f"tolerance {tolerance:.3g} of the momentum)" if tolerance is not None else ""
        )  # fmt: skip
        return ConvergenceError(
            f"{self.name}: step {stepper.steps + 1} at t = {stepper.t:.9g} s, dt = {self.dt:g} s: "
            f"{scalar().STATUS_TEXT[status]}{numbers}; {self.remedy}",
            time=stepper.t, residual=stepper.error, iterations=stepper.iterations,
        )  # fmt: skip

    @property
    def steps(self):
        return self.stepper.steps

    @property
    def total_iterations(self):
        return self.stepper.total_iterations

    @property
    def most_iterations(self):
        return self.stepper.most_iterations


def wrench_loads(model: Model, wrenches: Mapping[str, Any], axes: str) -> list[tuple]:
    """Turn wrenches on named frames into the compiled core's loads on bodies."""
    if axes not in ("world", "local"):
        raise InputError(f'wrench_axes="{axes}" is not known; choose "world" or "local"')
    loads = []
    for name, wrench in wrenches.items():
        if name not in model._frames:
            raise UnknownNameError("frame", name, model.frame_names)
        k = model._frames[name]
        wrench = np.asarray(wrench, dtype=float)
        if wrench.shape != (6,) or not np.isfinite(wrench).all():
            raise InputError(f'the wrench on "{name}" must be six finite numbers (torque, force), not {wrench}')
        body = int(model.flat.frame_body[k])
        if body < 0:
            continue
        couple, force = wrench[:3], wrench[3:]
        if axes == "local":
            E = model.flat.frame_E[k]
            couple, force = E @ couple, E @ force
        loads.append((body, axes == "local", model.flat.frame_p[k], couple, force))
    return loads
