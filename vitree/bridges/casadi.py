"""A step of a model as an external function of CasADi, with its Jacobian. Needs casadi (extra "casadi")."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from vitree.bridges.steps import Course
from vitree.bridges.steps import Steps as Engine
from vitree.errors import MissingExtraError, VitreeError
from vitree.model.model import Model

try:
    import casadi
except ImportError as error:
    raise MissingExtraError("casadi", "casadi", "vitree.bridges.casadi") from error

__all__ = ["Step"]


class Step(casadi.Callback):
    """A step as a function of CasADi: (q, p, torque, inputs) -> (q2, p2).

    The argument ``inputs`` exists only if ``model.input_names`` has entries. Arguments are columns, and are called by
    place or by name. The function has its exact Jacobian, and no second derivatives: a solver must approximate the
    Hessian. The object must live as long as functions that use it.

    Quaternions in q may have any length but zero: it is a function of the quaternions divided by their lengths. The
    Jacobian by q is that by all nq entries. q2 has quaternions of length one.

    Parameters
    ----------
    model : Model
        As :func:`vitree.linearize` takes it.
    dt : float [s]
    method : {"linear-time", "midpoint"}
    name : str
        Of the function, as CasADi has names.
    **options
        Of the method. The tolerance is 1e-12 if not given.

    Attributes
    ----------
    error : VitreeError or None
        The last error of a call. CasADi raises a RuntimeError, which has the text alone.

    Raises
    ------
    InputError, ModelError
        If these steps have no derivatives; the text says why. For NaN, and where a step cannot be solved, CasADi raises
        its RuntimeError.
    MissingExtraError
        If casadi is not installed, by the import of this module.
    """

    def __init__(self, model: Model, *, dt: float, method: str = "linear-time", name: str = "step", **options: object):
        super().__init__()
        self._engine = Engine(model, dt, method, options)
        self.error: VitreeError | None = None
        sizes = {"q": model.nq, "p": model.nv, "torque": model.nv, "inputs": self._engine.nu}
        if not sizes["inputs"]:
            del sizes["inputs"]
        self._sizes = sizes, {"q2": model.nq, "p2": model.nv}
        #: functions of CasADi do not keep their Jacobians alive
        self._jacobians: list[_Jacobian] = []
        self.construct(name, {})

    def get_n_in(self) -> int:
        """Return the number of arguments, as CasADi asks."""
        return len(self._sizes[0])

    def get_n_out(self) -> int:
        """Return the number of results, as CasADi asks."""
        return len(self._sizes[1])

    def get_name_in(self, i: int) -> str:
        """Return the name of the argument ``i``, as CasADi asks."""
        return list(self._sizes[0])[i]

    def get_name_out(self, i: int) -> str:
        """Return the name of the result ``i``, as CasADi asks."""
        return list(self._sizes[1])[i]

    def get_sparsity_in(self, i: int) -> casadi.Sparsity:
        """Return the size of the argument ``i``, as CasADi asks."""
        return casadi.Sparsity.dense(list(self._sizes[0].values())[i], 1)

    def get_sparsity_out(self, i: int) -> casadi.Sparsity:
        """Return the size of the result ``i``, as CasADi asks."""
        return casadi.Sparsity.dense(list(self._sizes[1].values())[i], 1)

    def eval(self, arguments: Sequence[casadi.DM]) -> list[np.ndarray]:
        """Return q2 (nq,) [m or rad] and p2 (nv,) [kg m/s or kg m^2/s] for ``arguments``, as CasADi asks.

        Raise an InputError or ConvergenceError.
        """
        course = self._course(arguments)
        return [course.q[0, 1], course.p[0, 1]]

    def has_jacobian(self) -> bool:
        """Return that there is a Jacobian, as CasADi asks."""
        return True

    def get_jacobian(self, name: str, inames: Sequence[str], onames: Sequence[str],
                     opts: Mapping[str, object]) -> casadi.Callback:  # fmt: skip
        """Return the function of the Jacobian, as CasADi asks by ``name``, ``inames``, ``onames`` and ``opts``."""
        found = _Jacobian(self, name, list(inames), list(onames), opts)
        self._jacobians.append(found)
        return found

    def _course(self, arguments: Sequence[casadi.DM]) -> Course:
        """Return the step from columns of CasADi."""
        q, p, torque, *more = (np.array(x, dtype=float).reshape(1, -1) for x in arguments[: len(self._sizes[0])])
        inputs = more[0] if more else np.zeros((1, 0))
        try:
            return self._engine.forward(q, p, torque[:, None], inputs[:, None])
        except VitreeError as error:
            self.error = error
            raise

    def _blocks(self, arguments: Sequence[casadi.DM]) -> list[np.ndarray]:
        """Return the derivatives of each result by each argument."""
        course, nv = self._course(arguments), self._engine.model.nv
        step, coordinates = course.derivatives(0, 1), self._engine.coordinates
        E, P = coordinates.by_displacements(course.q[:, 1])[0], coordinates.displacements(course.start)[0]
        A, by_torque, by_inputs = (x[0, 0] for x in step)
        columns = [A[:, :nv] @ P, A[:, nv:], by_torque, by_inputs]
        columns = columns[: len(self._sizes[0])]
        return [E @ block[:nv] for block in columns] + [block[nv:] for block in columns]


class _Jacobian(casadi.Callback):
    """The Jacobian of a step, in blocks; its arguments are those of the step, and what it returned."""

    def __init__(self, step: Step, name: str, inames: list[str], onames: list[str], options: Mapping[str, Any]):
        super().__init__()
        self._step, self._names = step, (inames, onames)
        self.construct(name, options)

    def get_n_in(self) -> int:
        return len(self._names[0])

    def get_n_out(self) -> int:
        return len(self._names[1])

    def get_name_in(self, i: int) -> str:
        return self._names[0][i]

    def get_name_out(self, i: int) -> str:
        return self._names[1][i]

    def get_sparsity_in(self, i: int) -> casadi.Sparsity:
        given = self._step.n_in()
        return self._step.sparsity_in(i) if i < given else self._step.sparsity_out(i - given)

    def get_sparsity_out(self, i: int) -> casadi.Sparsity:
        row, column = divmod(i, self._step.n_in())
        return casadi.Sparsity.dense(self._step.size1_out(row), self._step.size1_in(column))

    def eval(self, arguments: Sequence[casadi.DM]) -> list[np.ndarray]:
        return self._step._blocks(arguments)
