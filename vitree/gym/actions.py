"""What an action of a task does: torques of joints, or targets of drives, and the space of actions."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import gymnasium
import numpy as np
from numpy.typing import ArrayLike

from vitree.arguments import entries, numbers_of, several
from vitree.errors import InputError, UnknownNameError
from vitree.gym.layout import Layout, columns_at, fitting

if TYPE_CHECKING:
    from vitree.gym.task import Task

#: What an action is: torque of the actuators, targets of the drives, or inputs of the model.
ACTIONS = ("torque", "targets", "inputs")
#: Scale [rad or m] and bound of actions that are targets, where none is given.
SCALE, BOUND = 0.5, 1.0


class Actions:
    """The way from actions to what drives the instances.

    Parameters
    ----------
    task : Task
    layout : Layout

    Attributes
    ----------
    kind : {"torque", "targets", "inputs"}
    size : int
        Numbers of an action, k.
    space : gymnasium.Space
        Of one action.
    """

    def __init__(self, task: Task, layout: Layout, dtype: Any):
        if task.action not in ACTIONS:
            raise UnknownNameError("action", task.action, ACTIONS, argument="action")
        self.kind, self._model = task.action, task.model
        #: places among torques or targets, which are offset + scale action cut to low and high, (k,) arrays
        {"targets": self._targets, "torque": self._torques, "inputs": self._inputs}[self.kind](task, layout)
        self.size = len(self._places)
        self._columns = columns_at(self._places)
        self._choices: np.ndarray | None = None
        if task.choices is not None:
            self._choices = numbers_of(task.choices, "choices").astype(float)
            if self._choices.ndim != 2 or self._choices.shape[1] != self.size or not len(self._choices):
                raise InputError("choices", task.choices, f"must have a row for each action, (n, {self.size})")
            self.space: gymnasium.Space[Any] = gymnasium.spaces.Discrete(len(self._choices))
        else:
            self.space = gymnasium.spaces.Box(self._least.astype(dtype), self._most.astype(dtype), dtype=dtype)

    def _targets(self, task: Task, layout: Layout) -> None:
        model: Any = self._model
        drives = {drive.joint: k for k, drive in enumerate(getattr(model, "drives", ()))}
        if not drives:
            raise InputError(f'"{model.name}" has no drives to give targets to; see Model.with_drives')
        named = task.actuators
        chosen = [*drives] if named is None else several(named, "actuators", "names of joints with drives")
        for name in chosen:
            if name not in drives:
                raise UnknownNameError("drive", name, drives, argument="actuators")
        #: targets of the drives that no action moves
        self._rest = np.array([layout.pose[model.joint(name).q_slice.start] for name in drives])
        self._places = np.array([drives[name] for name in chosen], dtype=int)
        joints = {joint.name: joint for joint in model.joints if joint.lower}
        self._low = np.array([joints[name].lower[0] if name in joints else -np.inf for name in chosen])
        self._high = np.array([joints[name].upper[0] if name in joints else np.inf for name in chosen])
        self._offset = self._rest[self._places]
        self._scale = _scale(task.action_scale, SCALE, chosen)
        self._least, self._most = _limits(BOUND if task.limit is None else task.limit, len(chosen))

    def _inputs(self, task: Task, layout: Layout) -> None:
        every = list(self._model.input_names)
        if not every:
            raise InputError(f'"{self._model.name}" has no inputs, such as the actuators of MJCF files are')
        named = task.actuators
        chosen = every if named is None else several(named, "actuators", "names of input_names")
        for name in chosen:
            if name not in every:
                raise UnknownNameError("input", name, every, argument="actuators")
        self._rest = np.zeros(len(every))
        self._places = np.array([every.index(name) for name in chosen], dtype=int)
        self._offset, self._scale = np.zeros(len(chosen)), _scale(task.action_scale, 1.0, chosen)
        self._low, self._high = np.full(len(chosen), -np.inf), np.full(len(chosen), np.inf)
        self._least, self._most = _limits(BOUND if task.limit is None else task.limit, len(chosen))

    def _torques(self, task: Task, layout: Layout) -> None:
        model: Any = self._model
        efforts = np.full(model.nv, np.inf)
        single = np.zeros(model.nv, bool)
        for joint in model.joints:
            single[joint.v_slice] = joint.v_slice.stop - joint.v_slice.start == 1
            if joint.effort:
                efforts[joint.v_slice] = joint.effort
        every = list(model.v_names)
        chosen = [every[k] for k in np.flatnonzero(single)] if task.actuators is None else several(
            task.actuators, "actuators", "names of v_names")  # fmt: skip
        for name in chosen:
            if name not in every:
                raise UnknownNameError("coordinate", name, every, argument="actuators")
        self._rest = np.zeros(model.nv)
        self._places = np.array([every.index(name) for name in chosen], dtype=int)
        self._offset, self._scale = np.zeros(len(chosen)), _scale(task.action_scale, 1.0, chosen)
        most = np.where(efforts[self._places] > 0, efforts[self._places], np.inf)
        self._low, self._high = -most, most
        bound = most / self._scale if task.limit is None else task.limit
        self._least, self._most = _limits(bound, len(chosen))

    def taken(self, actions: ArrayLike, count: int) -> np.ndarray:
        """Return checked actions (count, k) within their bounds, or those of a choice."""
        given = numbers_of(actions, "actions")
        if self._choices is not None:
            most = len(self._choices) - 1
            if given.shape != (count,) or not ((given >= 0) & (given <= most) & (given % 1 == 0)).all():
                raise InputError(f"actions must be ({count},) of whole numbers from 0 to {most}")
            found: np.ndarray = self._choices[given.astype(int)]
            return found
        if given.shape != (count, self.size):
            raise InputError(f"actions have shape {given.shape}; it must be ({count}, {self.size})")
        if not np.isfinite(given).all():
            raise InputError("actions must be finite; they contain NaN or infinity")
        cut: np.ndarray = np.clip(given.astype(float), self._least, self._most)
        return cut

    def driving(self, actions: np.ndarray) -> np.ndarray:
        """Return what actions (n, k) let drive: torques (n, nv), targets (n, drives), or inputs (n, nu)."""
        found = np.empty((len(actions), len(self._rest)))
        found[:] = self._rest
        moved = self._scale * actions
        moved += self._offset
        found[:, self._columns] = np.clip(moved, self._low, self._high, out=moved)
        return found


def _scale(given: Any, usual: float, names: Sequence[str]) -> np.ndarray:
    if isinstance(given, Mapping):
        found = np.full(len(names), np.nan)
        for pattern, value in given.items():
            for name in fitting(pattern, names, "actuator", "action_scale"):
                k = list(names).index(name)
                found[k] = float(entries(value, (), f'action_scale["{pattern}"]')) if np.isnan(found[k]) else found[k]
        found[np.isnan(found)] = usual
    else:
        try:
            found = np.broadcast_to(np.asarray(usual if given is None else given, dtype=float), (len(names),)).copy()
        except (TypeError, ValueError):
            raise InputError("action_scale", given, f"must be a number, ({len(names)},), or a mapping") from None
    if not ((found > 0) & np.isfinite(found)).all():
        raise InputError("action_scale", given, "must be positive and finite")
    return found


def _limits(limit: ArrayLike, count: int) -> tuple[np.ndarray, np.ndarray]:
    try:
        found = np.broadcast_to(np.asarray(limit, dtype=float), (count,)).copy()
    except (TypeError, ValueError):
        raise InputError(f"limit has shape {np.shape(limit)}; it must be a number or ({count},)") from None
    if not (found > 0).all():
        raise InputError("limit must be positive")
    return -found, found
