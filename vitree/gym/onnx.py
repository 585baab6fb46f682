"""Policies in ONNX files. Needs onnxruntime (extra "onnx")."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from vitree.arguments import of_kind
from vitree.errors import InputError, MissingExtraError, UnknownNameError
from vitree.gym.observations import A_TASK, Commands, PolicyInterface
from vitree.gym.task import Task
from vitree.run.controller import Control

#: Types of numbers that observations may have, by ONNX's names.
DTYPES = {"tensor(float)": np.float32, "tensor(double)": np.float64}


class OnnxPolicy:
    """A policy of a task in an ONNX file, as learners export them: a network from observations to actions.

    A call ``policy(observations)`` returns the actions (n, k) of observations (n, m), as
    :meth:`vitree.gym.VectorEnv.step` takes them. ``policy.control()`` drives runs.

    The file's input must have the size of the task's observations, and its output that of actions. For discrete actions
    the output has a score for each choice, the largest of which is taken, or is the number of the choice. The first
    axis of input and output may be instances, of any number or one; files for one instance are called once for each.

    Parameters
    ----------
    path : path
    task : Task
        That the policy was trained for. Its observations must need no contacts, drive forces or accelerations, as for
        :class:`PolicyInterface`.
    input, output : str, optional
        Names in the file; needed where it has several.

    Attributes
    ----------
    interface : PolicyInterface
    metadata : dict of str to str
        What the exporter wrote in the file.

    Raises
    ------
    InputError, UnknownNameError
        If the file cannot be read, has no such input or output, or its sizes are not those of the task; the text has
        both. A call raises it if an observation has a wrong shape, or the policy returns NaN.
    MissingExtraError
        If onnxruntime is not installed.
    """

    def __init__(self, path: str | os.PathLike[str], task: Task, *, input: str | None = None,
                 output: str | None = None):  # fmt: skip
        try:
            import onnxruntime
        except ImportError as error:
            raise MissingExtraError("onnxruntime", "onnx", "vitree.gym.OnnxPolicy") from error
        self.path, self.task = os.fspath(path), of_kind(task, Task, "task", A_TASK)
        options = onnxruntime.SessionOptions()
        # networks of policies are small: threads cost more than they save
        options.intra_op_num_threads = options.inter_op_num_threads = 1
        options.log_severity_level = 3
        try:
            self._session: Any = onnxruntime.InferenceSession(
                self.path, options, providers=["CPUExecutionProvider"])  # fmt: skip
        except Exception as error:  # it has many kinds, and no common one
            raise InputError("path", path, f"cannot be read as an ONNX file: {error}") from None
        self.metadata: dict[str, str] = dict(self._session.get_modelmeta().custom_metadata_map)
        self._input = _chosen(self._session.get_inputs(), input, "input")
        self._output = _chosen(self._session.get_outputs(), output, "output")
        others = [one.name for one in self._session.get_inputs() if one.name != self._input.name]
        if others:
            raise InputError(
                "path", path,
                f"has further inputs, {', '.join(others)}; policies with a memory, which take their state as an "
                "input, are not supported. Export a policy of the observation alone"
            )
        if self._input.type not in DTYPES:
            raise InputError("path", path, f"takes {self._input.type}; observations are {' or '.join(DTYPES)}")
        self.interface = PolicyInterface(task, DTYPES[self._input.type])
        #: whether there is an axis of instances, and whether it may have any length
        self._rows, self._many = self._axes()
        self(np.zeros((1, self._size)))

    def _axes(self) -> tuple[bool, bool]:
        """Check the shape of the input; return whether it has an axis of instances, of any length."""
        shape = list(self._input.shape)
        sizes = self.interface.sizes
        self._size = sum(sizes.values())
        # what is no number is any length
        if len(shape) not in (1, 2) or (isinstance(shape[-1], int) and shape[-1] != self._size):
            told = ", ".join(f"{name} {size}" for name, size in sizes.items())
            raise InputError(
                "path", self.path,
                f'has an input "{self._input.name}" of shape {_shape(shape)}; an observation of the task has '
                f"{self._size} numbers ({told}), so it must be (n, {self._size}) or ({self._size},)"
            )
        if len(shape) == 2 and isinstance(shape[0], int) and shape[0] != 1:
            raise InputError(
                "path", self.path,
                f'has an input "{self._input.name}" for {shape[0]} instances; export it for one, or for any number'
            )
        return len(shape) == 2, len(shape) == 2 and not isinstance(shape[0], int)

    def __repr__(self) -> str:
        return f'<vitree.gym.OnnxPolicy "{os.path.basename(self.path)}" for {self.task.model.name!r}>'

    def __call__(self, observations: ArrayLike, *more: object) -> np.ndarray:
        """Return the actions (n, k), or choices (n,), of observations (n, m) [units as the task has them]."""
        if more:
            raise InputError(
                "policy", self, "is a function of observations alone; to drive a run give policy.control()"
            )
        rows = np.asarray(observations, dtype=self.interface.dtype)
        if rows.ndim != 2 or rows.shape[1] != self._size:
            raise InputError("observations", observations, f"have shape {rows.shape}; it must be (n, {self._size})")
        if not len(rows):
            return np.empty((0,) if self.task.choices is not None else (0, self.interface.action_size))
        parts = [rows] if self._many else [row[None] if self._rows else row for row in rows]
        found = np.concatenate([self._run(part, len(rows) if self._many else 1) for part in parts])
        if not np.isfinite(found).all():
            row = int(np.argwhere(~np.isfinite(found).all(axis=1))[0, 0])
            raise InputError(f'"{self.path}" returned NaN or infinity for observation {row}: {rows[row]}')
        if self.task.choices is None:
            return found
        chosen: np.ndarray = found[:, 0] if found.shape[1] == 1 else found.argmax(axis=1)
        return chosen.astype(int)

    def _run(self, given: np.ndarray, n: int) -> np.ndarray:
        """Return the output (n, k) for one input of the file; raise an InputError if it has another shape."""
        found = np.asarray(self._session.run([self._output.name], {self._input.name: given})[0])
        choices = self.task.choices
        sizes = [self.interface.action_size] if choices is None else [len(np.asarray(choices)), 1]
        # the axes of instances, and of a single choice, may be left out
        shapes: list[tuple[int, ...]] = [(n, k) for k in sizes]
        shapes += [(k,) for k in sizes if n == 1] + [(n,)] * (1 in sizes) + [()] * (n == 1 and 1 in sizes)
        if found.shape not in shapes:
            needed = " or ".join(map(str, shapes[: len(sizes)]))
            raise InputError(
                "path", self.path,
                f'has an output "{self._output.name}" of shape {found.shape} for {n} observations; actions of the task '
                f"are {needed}"
            )
        rows: np.ndarray = found.reshape(n, -1)
        return rows

    def control(self, command: Commands = None, *, delay: float = 0.0) -> Control:
        """Return what drives a run by the policy; see :meth:`PolicyInterface.control`."""
        return self.interface.control(self, command, delay=delay)


def _chosen(known: Sequence[Any], name: str | None, kind: str) -> Any:
    """Return an input or output of a file by its name, or the only one."""
    names = [one.name for one in known]
    if name is None:
        if kind == "output" and len(known) > 1:
            raise InputError(f"the file has several outputs, {', '.join(names)}; name the actions with {kind}=")
        return known[0]
    if name not in names:
        raise UnknownNameError(kind, name, names, argument=kind)
    return known[names.index(name)]


def _shape(shape: Sequence[object]) -> str:
    return f"({', '.join(str(size) if isinstance(size, int) else 'n' for size in shape)})"
