"""What drives a motion that is searched: joint forces, inputs, and prescribed coordinates."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from vitree.arguments import axes_of, entries, numbers_of, several
from vitree.errors import InputError, UnknownNameError
from vitree.integrators.curvature import columns_of
from vitree.integrators.slopes import Slopes
from vitree.model.inputs import resolve_inputs
from vitree.model.model import Model


class Controls:
    """Rows (nv + nu + k,), one for each step: torque, inputs, and the prescribed coordinates at the step's end.

    Attributes
    ----------
    acts : (m,) array of int
        The entries that are searched.
    low, high : (nv + nu + k,) array
        Between which entries stay.
    bounded : bool
        Whether one of them is finite.
    forces : bool
        Whether all that is searched are joint forces.
    """

    def __init__(self, model: Model, actuators: Sequence[str] | None, limits: Any):
        self.model, nv, nu = model, model.nv, len(model.input_names)
        places = {name: nv + nu + k for k, name in enumerate(model.kinematic_names)}
        forces = {name: k for k, name in enumerate(model.v_names) if name not in places}
        inputs = {name: nv + k for k, name in enumerate(model.input_names)}
        known = forces | inputs | places
        names = list(forces) if actuators is None else several(actuators, "actuators", "names of velocities or inputs")
        for name in names:
            if name not in known:
                kind = "velocity, input or prescribed coordinate"
                raise UnknownNameError(kind, name, list(known), argument="actuators")
            if name in inputs and (name in forces or name in places):
                text = f'names "{name}", which is a joint and an input; give the input another name'
                raise InputError("actuators", actuators, text)
        if not names:
            raise InputError("actuators", actuators, "names nothing that acts; give one name at least")
        self.acts = np.array([known[name] for name in dict.fromkeys(names)], dtype=np.intc)
        self.forces = bool((self.acts < nv).all())
        self.size = nv + nu + len(places)
        self.low, self.high = np.full(self.size, -np.inf), np.full(self.size, np.inf)
        if limits is not None:
            self.low[self.acts], self.high[self.acts] = _bounds(limits, len(self.acts))
        self.bounded = bool(np.isfinite([self.low, self.high]).any())

    def rows(self, torque: Any, inputs: Any, prescribed: np.ndarray) -> np.ndarray:
        """Return rows from a torque (nv,) or (steps, nv), inputs likewise, and prescribed coordinates (steps, k)."""
        model, steps = self.model, len(prescribed)
        found = np.zeros((steps, self.size))
        forces, acting, places = self.split(found)
        places[:] = prescribed
        if torque is not None:
            shape = (model.nv,) if axes_of(torque) == 1 else (steps, model.nv)
            forces[:] = entries(torque, shape, "torque")
        given = resolve_inputs(model, inputs)
        if callable(given):
            raise InputError("inputs", inputs, "must be numbers, or rows (steps, n): they are a first guess")
        if given is not None:
            if given.ndim == 2 and len(given) != steps:
                raise InputError("inputs", inputs, f"has {len(given)} rows; {steps} steps need one each")
            acting[:] = given
        return found

    def split(self, rows: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Return torque, inputs and prescribed coordinates."""
        nv, nu = self.model.nv, len(self.model.input_names)
        return rows[:, :nv], rows[:, nv : nv + nu], rows[:, nv + nu :]

    def slopes(self, found: Slopes) -> np.ndarray:
        """Return the derivatives (steps, 2 nv, m) of steps by what is searched."""
        by = ("torque",) if self.forces else ("torque", "inputs", "prescribed")
        return np.ascontiguousarray(columns_of(self.model, found, by)[:, :, self.acts])


def _bounds(limits: Any, m: int) -> tuple[np.ndarray, np.ndarray]:
    """Return the least and largest values (m,) from a number, (m,) numbers, or (m, 2) pairs; they may be infinite."""
    array = numbers_of(limits, "limits")
    if array.shape not in ((), (m,), (m, 2)):
        raise InputError("limits", limits, f"has shape {array.shape}; it must be a number, ({m},) or ({m}, 2)")
    if array.ndim == 2:
        if not (array[:, 0] < array[:, 1]).all():
            raise InputError("limits", limits, "must have pairs of a smaller and a larger number")
        return array[:, 0], array[:, 1]
    if not (array > 0).all():
        raise InputError("limits", limits, "must be positive")
    return -array, array
