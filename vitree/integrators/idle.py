"""Integrators between runs: a model keeps some, so that a run need not make its own anew.

An integrator serves one run at a time: a run takes it away from the model, and a run that succeeded gives it back, as
it was made. A model is not kept alive by its idle integrators: they do not know it.
"""

from __future__ import annotations

import threading
from collections.abc import Mapping
from typing import Any

import numpy as np

from vitree.integrators.base import Integrator
from vitree.model.model import Model

#: Most integrators that a model keeps, and the most bytes of the memory of each.
MOST, BYTES = 4, 2**22

#: Types of the options that are told from others by type and repr.
_PLAIN = (str, int, float, bool)

_lock = threading.Lock()


class Place:
    """Where the integrator of a run comes from, and goes back to.

    Parameters
    ----------
    kind : type of Integrator
    model : System
    dt : float [s]
    options : mapping
        Those of the method.
    **drive :
        The other arguments of an Integrator.
    """

    def __init__(self, kind: type[Integrator], model: Any, dt: float, options: Mapping[str, Any], **drive: Any):
        self.model = model
        self.key = _key(kind, model, dt, options, drive)
        integrator = self._taken() if self.key is not None else None
        if integrator is None:
            integrator = kind(model, dt, **drive, **options)
        else:
            integrator.serve(model, drive["torque"], drive["inputs"])
        self.integrator: Integrator = integrator

    def _taken(self) -> Any:
        return vars(self.model)["_idle"].pop(self.key, None)

    def give_back(self) -> None:
        """Leave the integrator to the model's later runs; nothing of this run may ask it from here on."""
        integrator: Any = self.integrator
        if self.key is None or integrator.stepper.size > BYTES:
            return
        del self.integrator
        integrator.rest()
        with _lock:
            idle = vars(self.model)["_idle"]
            idle.pop(self.key, None)
            while len(idle) >= MOST:
                del idle[next(iter(idle))]
            idle[self.key] = integrator


def _key(kind: type, model: Any, dt: float, options: Mapping[str, Any], drive: Mapping[str, Any]) -> tuple | None:
    """What integrators that stand for each other have in common; None of those that are made for one run."""
    if not (getattr(kind, "reusable", None) is kind and isinstance(model, Model)):
        return None
    own = vars(model)
    if "_idle" not in own:  # functions written in Python know the model, and motions are of one run
        own["_idle"] = {} if model.written is None and not model.kinematic_names else None
    torque, inputs = drive["torque"], drive["inputs"]
    if own["_idle"] is None or drive["wrenches"] is not None or drive["prescribed"] is not None:
        return None
    if inputs is not None and type(inputs) is not np.ndarray and not callable(inputs):
        return None
    for value in options.values():
        if type(value) not in _PLAIN:
            return None
    chosen = tuple([(name, type(value), repr(value)) for name, value in options.items()]) if options else ()
    return kind, dt, _sort(torque), _sort(inputs), chosen


def _sort(drive: Any) -> int:
    """Nothing, a function, or an array of so many axes."""
    return -1 if drive is None else -2 if callable(drive) else drive.ndim if type(drive) is np.ndarray else 1
