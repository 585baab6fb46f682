"""Rollout: the records of many instances of a model."""

from __future__ import annotations

import operator
import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from vitree.errors import InputError, VitreeError
from vitree.model.system import System
from vitree.run.trajectory import Trajectory

#: What can be recorded: name -> columns of the energies of a System; None: it is none of these.
QUANTITIES: dict[str, slice | int | None] = {
    "q": None, "v": None, "p": None, "kinetic": 0, "potential": 1, "energy": None, "momentum": slice(2, 8),
    "center_of_mass": slice(8, 11),
}  # fmt: skip


def with_row(model: Any, parameters: Mapping[str, Any], k: int) -> Any:
    """Return a model with the parameters of an instance, which are row ``k`` of arrays (n, ...)."""
    return model.with_parameters(**_row(parameters, k)) if parameters else model


def _row(value: Any, k: int) -> Any:
    return {name: _row(each, k) for name, each in value.items()} if isinstance(value, Mapping) else value[k]


@dataclass(frozen=True, eq=False, repr=False)
class Rollout:
    """The recorded states of n instances of a model.

    ``rollout[k]`` is the :class:`Trajectory` of an instance; ``len`` is the number of instances.

    Attributes
    ----------
    system : System
    method : str
    t : (rows,) array [s]
    data : mapping of str to array
        What was recorded, by name: (n, rows, ...), units as in :class:`Trajectory`, center_of_mass in [m]. Rows that an
        instance did not reach are NaN. ``rollout.q`` is ``rollout.data["q"]``, and so on.
    rows : (n,) array of int
        How many rows each instance has.
    steps : (n,) array of int
        How many steps each instance has taken.
    failed : dict of int to VitreeError
        By instance: why it stopped before the end.
    in_lanes : (n,) array of bool
        Whether the instance ran in lanes, beside others, from its start to its end.
    width : int
        Lanes of a block; 1 if no instance ran in lanes.
    threads : int
    seconds : float [s]
        For all of it.
    settings : dict
        Step, method and options, in types that JSON knows.
    solved : tuple of arrays
        Iterations [-] and residual (n, rows) [units of p] of the steps to the rows; iterations (n,) [-] of all steps,
        and the most of one.
    parameters : mapping
        Of the instances' models, by name: arrays (n, ...), or mappings of them [units as
        :meth:`vitree.Model.with_parameters` has them].
    """

    system: System
    method: str
    t: np.ndarray
    data: Mapping[str, np.ndarray]
    rows: np.ndarray
    steps: np.ndarray
    failed: dict[int, VitreeError]
    in_lanes: np.ndarray
    width: int
    threads: int
    seconds: float
    settings: dict[str, Any]
    parameters: Mapping[str, Any]
    solved: tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]

    def __getattr__(self, name: str) -> Any:
        if name in QUANTITIES and "data" in vars(self):
            if name in self.data:
                return self.data[name]
            had = ", ".join(self.data)
            raise AttributeError(f'the rollout has no "{name}": its record has {had}', name=name, obj=self)
        raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}", name=name, obj=self)

    def system_of(self, k: int) -> Any:
        """Return the model of the instance ``k``, with its parameters.

        Raises
        ------
        ModelError
            If they are none of a model.
        """
        return with_row(self.system, self.parameters, k)

    def __len__(self) -> int:
        return len(self.rows)

    def __iter__(self) -> Iterator[Trajectory]:
        return (self[k] for k in range(len(self)))

    def __getitem__(self, index: Any) -> Trajectory:
        """Return the trajectory of an instance, as far as it came.

        Raises
        ------
        IndexError
            If there is no such instance.
        InputError
            If q, or both v and p, were not recorded, or the instance has no row.
        """
        k = operator.index(index)
        k += len(self) if k < 0 else 0
        if not 0 <= k < len(self):
            raise IndexError(f"there are {len(self)} instances, from 0 to {len(self) - 1}; {index} is none of them")
        count = int(self.rows[k])
        if "q" not in self.data or not {"v", "p"} & self.data.keys():
            raise InputError('a trajectory needs q, and v or p: give record=("q", "v")')
        if not count:
            raise InputError(f"instance {k} has no record: {self.failed[k]}")
        system = self.system_of(k)
        if "v" not in self.data and getattr(system, "touches", False):
            text = "velocities in contact do not follow from p: give record="
            raise InputError(text + '("q", "v", "p")')
        q = self.data["q"][k, :count]
        known = {name: self.data[name][k, :count] for name in ("v", "p") if name in self.data}
        v = known["v"] if "v" in known else system.constrained_velocities(q, known["p"])
        p = known["p"] if "p" in known else system.momenta(q, v)
        energies = system.energies(np.ascontiguousarray(q), np.ascontiguousarray(v))
        iterations, residual, total, most = self.solved
        return Trajectory(
            model_name=system.name, joint_names=system.joint_names, q_names=system.q_names,
            v_names=system.v_names, method=self.method, settings=self.settings, t=self.t[:count], q=q, v=v, p=p,
            kinetic=energies[:, 0], potential=energies[:, 1], momentum=energies[:, 2:8],
            iterations=iterations[k, :count], residual=residual[k, :count], iterations_total=int(total[k]),
            iterations_max=int(most[k]), steps=int(self.steps[k]), seconds=self.seconds / max(len(self), 1),
            constraint_names=tuple(c.name for c in system.constraints),
            constraint=system.constraint_errors(q), system=system,
        )  # fmt: skip

    def raise_failed(self) -> None:
        """Raise the error of the first instance that failed; nothing if none did.

        Raises
        ------
        VitreeError
            If an instance failed; its notes say which.
        """
        for k in sorted(self.failed):
            error = self.failed[k]
            error.add_note(f"instance {k} of {len(self)}; {len(self.failed)} failed")
            raise error

    def save(self, path: str | os.PathLike) -> Any:
        """Write what was recorded to the .npz file ``path``, at once or not at all, and return where it is.

        It has t [s], the quantities by name, rows, steps, and ``failed`` (m,) and ``reasons`` (m,) of instances that
        failed. ``numpy.load`` reads it.

        Raises
        ------
        InputError
            If the file cannot be written.
        """
        from vitree.results import files

        failed = sorted(self.failed)
        return files.write_arrays(path, {
            "t": self.t, **self.data, "rows": self.rows, "steps": self.steps, "failed": np.array(failed, dtype=int),
            "reasons": np.array([str(self.failed[k]) for k in failed], dtype=str), "method": np.array(self.method),
            "model": np.array(self.system.name),
        })  # fmt: skip

    def __repr__(self) -> str:
        told = f", {len(self.failed)} failed" if self.failed else ""
        lanes = f", {int(self.in_lanes.sum())} in lanes of {self.width}" if self.in_lanes.any() else ""
        return (
            f"<vitree.Rollout of {len(self)} x {self.system.name!r} by {self.method}: {len(self.t)} rows to "
            f"t = {self.t[-1]:g} s{lanes}{told}>"
        )
