"""Steps of a model as functions of PyTorch, with gradients. Needs torch (extra "torch").

Products with the exact derivatives of the steps are swept over a run, backwards for gradients and forwards for
tangents. All transforms of ``torch.func`` apply.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from vitree.bridges.smooth import OPERATIONS, LastPoint
from vitree.bridges.steps import Steps as Engine
from vitree.errors import InputError, MissingExtraError
from vitree.model.model import Model
from vitree.wording import a_kind

try:
    import torch
except ImportError as error:
    raise MissingExtraError("torch", "torch", "vitree.bridges.torch") from error

__all__ = ["Steps"]


class Steps:
    """Steps of a model as functions of tensors.

    Tensors are of doubles, on the CPU. Their leading axes are instances, which are stepped together; leading axes
    broadcast. Derivatives are available in reverse and in forward mode, and second ones, which are differences of the
    exact first ones. To ask for third derivatives is an InputError, and for second ones of models with contacts a
    ModelError.

    Quaternions in q may have any length but zero: each function is one of the quaternions divided by their lengths. Its
    gradients by q are those by all nq entries. What it returns has quaternions of length one.

    Parameters
    ----------
    model : Model
        As :func:`vitree.linearize` takes it.
    dt : float [s]
    method : {"linear-time", "midpoint"}
    **options
        Of the method. The tolerance is 1e-12 if not given.

    Raises
    ------
    InputError, ModelError
        If these steps have no derivatives; the text says why. Methods raise an InputError for tensors of other types
        and shapes, and for NaN, and a ConvergenceError where a step cannot be solved.
    MissingExtraError
        If torch is not installed, by the import of this module.
    """

    def __init__(self, model: Model, *, dt: float, method: str = "linear-time", **options: object):
        self._engine = Engine(model, dt, method, options)

    def __repr__(self) -> str:
        return f"<torch: {self._engine!r}>"

    def step(self, q: torch.Tensor, p: torch.Tensor, torque: torch.Tensor | None = None,
             inputs: torch.Tensor | None = None) -> tuple[torch.Tensor, torch.Tensor]:  # fmt: skip
        """Take one step.

        Parameters
        ----------
        q : (..., nq) tensor [m or rad]
        p : (..., nv) tensor [kg m/s or kg m^2/s]
        torque : (..., nv) tensor, optional [N or N m]
            Acts over the step.
        inputs : (..., nu) tensor, optional [units as the loads take them]
            Of ``model.input_names``: those of loads, and targets of drives; zero if not given.

        Returns
        -------
        q2 : (..., nq) tensor [m or rad]
        p2 : (..., nv) tensor [kg m/s or kg m^2/s]
        """
        q2, p2 = self._run(q, p, torque, inputs, None, True)
        return q2[..., -1, :], p2[..., -1, :]

    def run(self, q: torch.Tensor, p: torch.Tensor, torque: torch.Tensor | None = None,
            inputs: torch.Tensor | None = None, *, steps: int | None = None,
            ) -> tuple[torch.Tensor, torch.Tensor]:  # fmt: skip
        """Take several steps.

        Parameters
        ----------
        q : (..., nq) tensor [m or rad]
        p : (..., nv) tensor [kg m/s or kg m^2/s]
        torque : (..., steps, nv) tensor, optional [N or N m]
            A row for each step.
        inputs : (..., steps, nu) tensor, optional [units as the loads take them]
            Zero if not given.
        steps : int, optional
            If neither ``torque`` nor ``inputs`` says it.

        Returns
        -------
        Q : (..., steps + 1, nq) tensor [m or rad]
            The configurations at the nodes, the start with them.
        P : (..., steps + 1, nv) tensor [kg m/s or kg m^2/s]
        """
        return self._run(q, p, torque, inputs, steps, False)

    def momentum(self, q: torch.Tensor, v: torch.Tensor) -> torch.Tensor:
        """Return the momentum p = M(q) v, (..., nv) [kg m/s or kg m^2/s], for q (..., nq) and v (..., nv)."""
        return self._mapped("momentum", q, v)

    def velocity(self, q: torch.Tensor, p: torch.Tensor) -> torch.Tensor:
        """Return the velocity v = M(q)^-1 p, (..., nv) [m/s or rad/s], for q (..., nq) and p (..., nv)."""
        return self._mapped("velocity", q, p)

    def difference(self, q0: torch.Tensor, q1: torch.Tensor) -> torch.Tensor:
        """Return the displacement (..., nv) [m or rad] from q0 (..., nq) to q1 (..., nq)."""
        return self._mapped("difference", q0, q1)

    def integrate(self, q: torch.Tensor, d: torch.Tensor) -> torch.Tensor:
        """Return q (..., nq) displaced by d (..., nv), (..., nq) [m or rad]."""
        return self._mapped("integrate", q, d)

    def _run(self, q: torch.Tensor, p: torch.Tensor, torque: torch.Tensor | None, inputs: torch.Tensor | None,
             steps: int | None, one: bool) -> tuple[torch.Tensor, torch.Tensor]:  # fmt: skip
        engine, given = self._engine, {"q": q, "p": p, "torque": torque, "inputs": inputs}
        shapes = {name: None if x is None else tuple(_tensor(name, x).shape) for name, x in given.items()}
        batch, count = engine.sizes(shapes, steps, one)
        model = engine.model
        rows = [_rows(q, batch, (model.nq,)), _rows(p, batch, (model.nv,))]
        for x, size in ((torque, model.nv), (inputs, engine.nu)):
            if x is None:
                rows.append(torch.zeros((rows[0].shape[0], count, size), dtype=torch.float64))
            else:
                rows.append(_rows(x[..., None, :] if one else x, batch, (count, size)))
        found = _Function.apply(LastPoint(engine.functions["run"]), "value", *rows)
        return found[0].reshape(*batch, count + 1, model.nq), found[1].reshape(*batch, count + 1, model.nv)

    def _mapped(self, name: str, *given: torch.Tensor) -> torch.Tensor:
        function = self._engine.functions[name]
        shapes = {name: tuple(_tensor(name, x).shape) for name, x in zip(function.names, given, strict=True)}
        batch, _ = self._engine.sizes(shapes, one=True)
        (found,) = _Function.apply(LastPoint(function), "value", *(_rows(x, batch, x.shape[-1:]) for x in given))
        return found.reshape(*batch, found.shape[-1])


def _tensor(name: str, x: object) -> torch.Tensor:
    """Return what is a tensor of doubles on the CPU."""
    if not isinstance(x, torch.Tensor):
        raise InputError(f"{name} is {a_kind(x)}; it must be a tensor of doubles: torch.tensor(x, dtype=torch.float64)")
    if x.dtype != torch.float64:
        raise InputError(f"{name} has dtype {x.dtype}; vitree works with doubles: give {name}.double()")
    if x.device.type != "cpu":
        raise InputError(f"{name} is on the device {x.device}; vitree works on the CPU: give {name}.cpu()")
    return x


def _rows(x: torch.Tensor, batch: tuple[int, ...], shape: tuple[int, ...]) -> torch.Tensor:
    """Return a copy (n, *shape) of a tensor for all instances, which stays if the tensor is changed in place."""
    return x.broadcast_to((*batch, *shape)).reshape(int(np.prod(batch)), *shape).clone()


class _Function(torch.autograd.Function):
    """An operation on rows, whose derivatives are other ones: see :mod:`vitree.bridges.smooth`."""

    @staticmethod
    def forward(last: LastPoint, name: str, *tensors: torch.Tensor) -> tuple[torch.Tensor, ...]:
        found = last.evaluate(name, [np.ascontiguousarray(x.detach().numpy()) for x in tensors])
        return tuple(torch.from_numpy(np.array(x, order="C")) for x in found)

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Any, ...], output: object) -> None:
        ctx.last, ctx.name, *tensors = inputs
        ctx.save_for_backward(*tensors)
        ctx.save_for_forward(*tensors)

    @staticmethod
    def backward(ctx: Any, *bars: torch.Tensor) -> tuple[torch.Tensor | None, ...]:
        operation, smooth = OPERATIONS[ctx.name], ctx.last.smooth
        groups = smooth.split(operation.groups, ctx.saved_tensors)
        needed = smooth.split(operation.groups, ctx.needs_input_grad[2:])
        found: list[torch.Tensor | None] = []
        for k, (group, asked) in enumerate(zip(groups, needed, strict=True)):
            if not any(asked):
                found += [None] * len(group)
            elif k:
                name, order = operation.transposes[k - 1]
                found += _apply(ctx.last, name, [*groups, bars], order)
            else:
                # of the derivative along a direction of x, the transpose
                name, order = OPERATIONS[smooth.require_along(ctx.name)].transposes[-1]
                found += _apply(ctx.last, name, [*groups, (), bars], order)
        return None, None, *found

    @staticmethod
    def jvp(ctx: Any, *tangents: torch.Tensor | None) -> tuple[torch.Tensor, ...]:
        operation, smooth = OPERATIONS[ctx.name], ctx.last.smooth
        groups = smooth.split(operation.groups, ctx.saved_tensors)
        changes = smooth.split(operation.groups, tangents[2:])
        parts = []
        for k, (group, change) in enumerate(zip(groups, changes, strict=True)):
            if all(x is None for x in change):
                continue
            w = [torch.zeros_like(a) if x is None else x for a, x in zip(group, change, strict=True)]
            if k:
                parts.append(_Function.apply(ctx.last, ctx.name, *_joined([*groups[:k], w, *groups[k + 1 :]])))
            else:
                parts.append(_Function.apply(ctx.last, smooth.require_along(ctx.name), *_joined([*groups, w])))
        return tuple(torch.stack(x).sum(dim=0) if len(x) > 1 else x[0] for x in zip(*parts, strict=True))

    @staticmethod
    def vmap(info: Any, in_dims: tuple[int | None, ...], last: LastPoint, name: str,
             *tensors: torch.Tensor) -> tuple[tuple[torch.Tensor, ...], tuple[int, ...]]:  # fmt: skip
        count, rows = info.batch_size, []
        for x, dim in zip(tensors, in_dims[2:], strict=True):
            x = x.expand(count, *x.shape) if dim is None else x.movedim(dim, 0)
            rows.append(x.reshape(count * x.shape[1], *x.shape[2:]))
        found = _Function.apply(last, name, *rows)
        each = rows[0].shape[0] // count
        return tuple(y.reshape(count, each, *y.shape[1:]) for y in found), (0,) * len(found)


def _apply(last: LastPoint, name: str, groups: Sequence[Sequence[torch.Tensor]],
           order: Sequence[int]) -> tuple[torch.Tensor, ...]:  # fmt: skip
    """Return the results of an operation on groups of arguments in an order."""
    found: tuple[torch.Tensor, ...] = _Function.apply(last, name, *_joined([groups[k] for k in order]))
    return found


def _joined(groups: Sequence[Sequence[torch.Tensor]]) -> list[torch.Tensor]:
    return [x for group in groups for x in group]
