"""Integrators between runs: a model keeps some, so that a run need not make its own anew.

An integrator serves one run at a time: a run takes it away from the model, and a run that succeeded gives it back, as
it was made. A model is not kept alive by its idle integrators: they do not know it.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Iterable, Mapping, Sequence
from typing import Protocol

import numpy as np

from vitree.arguments import Keywords
from vitree.integrators.base import Integrator, Torque
from vitree.integrators.compiled import CompiledIntegrator
from vitree.mechanism.pushes import ExternalWrench
from vitree.model.model import Model
from vitree.model.system import System

#: Most integrators that a model keeps, one for each thread of a rollout, and the most bytes of the memory of each.
MOST, BYTES = max(4, os.cpu_count() or 1), 2**22

#: Types of the options that are told from others by type and repr.
_PLAIN = (str, int, float, bool)

_lock = threading.Lock()


class Given(Protocol):
    """Arguments of an Integrator beside those of its method; and pushes, the wrenches that begin or end."""

    @property
    def wrenches(self) -> Iterable[object]: ...
    @property
    def pushes(self) -> Sequence[object]: ...
    @property
    def inputs(self) -> object: ...
    @property
    def prescribed(self) -> Mapping[str, object] | None: ...


class Place:
    """Where the integrator of a run comes from, and goes back to.

    Parameters
    ----------
    kind : type of Integrator
    model : System
    dt : float [s]
    options : mapping
        Those of the method.
    torque : None, array or callable
    given : Given
    read : bool
        Whether all that a run leaves is read before the integrator is given back, also what contacts did.
    """

    def __init__(self, kind: type[Integrator], model: System, dt: float, options: Keywords, torque: Torque,
                 given: Given, read: bool = False):  # fmt: skip
        self.model = model
        self.integrator: Integrator
        reusable = _reusable(kind, model, options, given)
        #: whether nothing but the states and the model is to be asked when the run is over
        self.plain = reusable and not getattr(model, "has_contact", False)
        self.key = _key(kind, dt, options, torque, given) if self.plain or (reusable and read) else None
        integrator: CompiledIntegrator | None = None
        if self.key is not None:
            with _lock:
                integrator = vars(model)["_idle"].pop(self.key, None)
        if integrator is None:
            self.integrator = kind(model, dt, torque=torque, inputs=given.inputs, prescribed=given.prescribed,
                                   **wrenches_of(given), **options)  # fmt: skip
        else:
            integrator.serve(model, torque, given.inputs)
            self.integrator = integrator

    def give_back(self) -> None:
        """Leave the integrator to the model's later runs; nothing of this run may ask it from here on."""
        integrator = self.integrator
        if self.key is None or not isinstance(integrator, CompiledIntegrator) or integrator.stepper.size > BYTES:
            return
        del self.integrator
        integrator.rest()
        with _lock:
            idle = vars(self.model)["_idle"]
            idle.pop(self.key, None)
            while len(idle) >= MOST:
                del idle[next(iter(idle))]
            idle[self.key] = integrator


def _key(kind: type, dt: float, options: Keywords, torque: object, given: Given) -> tuple[object, ...] | None:
    """What integrators that stand for each other have in common; None of those that are made for one run."""
    inputs = given.inputs
    if given.wrenches or not (inputs is None or type(inputs) is np.ndarray or callable(inputs)):
        return None
    if not options:
        return kind, dt, _sort(torque), _sort(inputs)
    for value in options.values():
        if type(value) not in _PLAIN:
            return None
    return kind, dt, _sort(torque), _sort(inputs), *[(name, type(x), repr(x)) for name, x in options.items()]


def _reusable(kind: type, model: System, options: Mapping[str, object], given: Given) -> bool:
    """Whether an integrator of a run may serve another one, once what the run leaves has been read."""
    if getattr(kind, "reusable", None) is not kind or given.prescribed is not None or given.pushes:
        return False
    own = vars(model)
    if "_idle" not in own:
        own["_idle"] = {} if _fits(model) else None
    return own["_idle"] is not None and "adapt" not in options  # the state of the step density outlasts the run


def wrenches_of(given: Given) -> dict[str, Sequence[ExternalWrench]]:
    """The external wrenches of a run, as an integrator takes them; nothing without one, for those that know of none."""
    found = [each for each in given.wrenches if isinstance(each, ExternalWrench)]
    return {"wrenches": found} if found else {}


def _fits(model: System) -> bool:
    """Whether integrators can do without their system: functions written in Python ask it, motions are of one run."""
    return isinstance(model, Model) and model.written is None and not model.prescribed_joint_names


def _sort(drive: object) -> int:
    """Nothing, a function, or an array of so many axes."""
    return -1 if drive is None else -2 if callable(drive) else drive.ndim if type(drive) is np.ndarray else 1
