"""The instances of a rollout: where they start, and what drives each."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from vitree.arguments import whole
from vitree.errors import InputError
from vitree.integrators import Integrator
from vitree.model.signals import resolve_inputs
from vitree.model.system import System
from vitree.run.arguments import RunArguments, Schedule
from vitree.run.rollouts import with_row
from vitree.run.targets import Targets, with_targets


@dataclass
class Instances:
    """The instances: their starts, and what drives them.

    Attributes
    ----------
    model : System
    q0, v0, p0 : array or None
        Of shape (k,), the same for all, or (n, k).
    driving : dict of str to array, mapping or callable
        torque, inputs and targets, where they are given.
    parameters : dict
    given : RunArguments
        The arguments that all instances have in common.
    kind : type of Integrator
    schedule : Schedule
    """

    model: System
    q0: np.ndarray | None
    v0: np.ndarray | None
    p0: np.ndarray | None
    driving: dict[str, Any]
    parameters: dict[str, Any]
    given: RunArguments
    kind: type[Integrator]
    schedule: Schedule
    count: int = 0

    def count_instances(self, asked: Any) -> None:
        """Find the number of instances.

        Raises
        ------
        InputError
            If two arguments have different numbers of instances, or none says it.
        """
        found: dict[str, int] = {}
        for name in ("q0", "v0", "p0"):
            array = getattr(self, name)
            if array is not None and array.ndim == 2:
                found[name] = len(array)
        for name, value in self.driving.items():
            size = {} if callable(value) else value if isinstance(value, dict) else {"": value}
            for key, array in size.items():
                if array.ndim > (0 if key else 1):
                    found[f'{name}["{key}"]' if key else name] = len(array)
        found.update(_leaves(self.parameters, "parameters"))
        if asked is not None:
            count = whole(asked)
            if count is None or not 0 <= count < 2**53:
                raise InputError("instances", asked, "must be a whole number")
            found["instances"] = count
        if not found:
            raise InputError("nothing says how many instances there are: give q0 of shape (n, nq), or instances=n")
        if len({*found.values()}) > 1:
            listed = ", ".join(f"{name}: {count}" for name, count in found.items())
            raise InputError(f"the arguments have different numbers of instances ({listed}); give each the same")
        self.count = next(iter(found.values()))

    def start(self, k: int) -> dict[str, Any]:
        """Return q0, v0 and p0 of an instance, by name."""
        given = {"q0": self.q0, "v0": self.v0, "p0": self.p0}
        return {name: array if array is None or array.ndim == 1 else array[k] for name, array in given.items()}

    def driven_by(self, name: str, k: int) -> Any:
        """Return torque, inputs or targets of an instance as simulate() takes them; a torque may have rows."""
        value = self.driving.get(name)
        if isinstance(value, dict):
            return {key: column if not column.ndim else column[k] for key, column in value.items()}
        return value if value is None or callable(value) or value.ndim == 1 else value[k]

    def require_signals(self) -> None:
        """Raise the errors of inputs and targets that no instance can have."""
        inputs, targets = (None if callable(self.driving.get(name)) else self.driven_by(name, 0)
                           for name in ("inputs", "targets"))  # fmt: skip
        resolve_inputs(self.model, inputs if targets is None else with_targets(self.model, targets, inputs))

    def system(self, k: int) -> Any:
        """Return the model of an instance.

        Raises
        ------
        VitreeError
            If its parameters are none of a model.
        """
        return with_row(self.model, self.parameters, k)

    @property
    def by_rows(self) -> bool:
        """Whether anything that drives the instances has a row for each step."""
        given = self.driving.values()
        columns = [column for value in given if isinstance(value, dict) for column in value.values()]
        return any(column.ndim == 2 for column in columns) or any(getattr(value, "ndim", 0) == 3 for value in given)

    @property
    def torque_rows(self) -> bool:
        """Whether a torque has a row for each step."""
        torque = self.driving.get("torque")
        return isinstance(torque, np.ndarray) and torque.ndim == 3


def inputs_of(model: Any, given: dict[str, Any]) -> np.ndarray | None:
    """Return all inputs of instances, (nu,), (n, nu) or (n, steps, nu); None without inputs and targets.

    Parameters
    ----------
    model : System
    given : dict of str to array or mapping
        Of "inputs" and "targets", as :class:`Instances` has them; others are left out.
    """
    names = model.input_names
    parts: list[tuple[Any, np.ndarray]] = []
    for name, joints in (("inputs", None), ("targets", given.get("targets"))):
        value = given.get(name)
        if value is None:
            continue
        plan = None if joints is None else Targets(model, joints)
        if isinstance(value, dict):
            where = names.index if plan is None else plan.at.__getitem__
            parts += [([where(key)], column[..., None]) for key, column in value.items()]
        else:
            parts.append((np.arange(len(names)) if plan is None else plan.where, value))
    if not parts:
        return None
    axes = max(value.ndim for _, value in parts)
    parts = [(at, value.reshape(*value.shape[:-1], *[1] * (axes - value.ndim), value.shape[-1])) for at, value in parts]
    lead = np.broadcast_shapes(*(value.shape[:-1] for _, value in parts))
    found = np.zeros((*lead, len(names)))
    for at, value in parts:
        found[..., at] = value
    return found


def _leaves(value: Any, name: str) -> dict[str, int]:
    if not isinstance(value, dict):
        return {name: len(value)}
    return {key: size for part, each in value.items() for key, size in _leaves(each, f'{name}["{part}"]').items()}
