"""Steps of a model as functions of PyTorch, with gradients. Needs torch (extra "torch").

Gradients are vector-Jacobian products with the exact derivatives of the steps, swept back over a run step by step.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NoReturn

import numpy as np

from vitree.bridges.steps import Steps as Engine
from vitree.errors import InputError, MissingExtraError
from vitree.model.model import Model
from vitree.wording import a_kind

try:
    import torch
except ImportError as error:
    raise MissingExtraError("torch", "torch", "vitree.bridges.torch") from error

__all__ = ["Steps"]

#: Work on arrays: what it returns, and the function from gradients of that to gradients of the arguments.
Pull = Callable[..., tuple[np.ndarray, ...]]
Work = Callable[..., tuple[tuple[np.ndarray, ...], Pull]]


class Steps:
    """Steps of a model as functions of tensors.

    Tensors are of doubles, on the CPU. Their leading axes are instances, which are stepped together; leading axes
    broadcast. Second derivatives do not exist: to ask for them is an InputError.

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
        return self._mapped({"q": q, "v": v}, self._engine.momenta, self._engine.pull_momenta)

    def velocity(self, q: torch.Tensor, p: torch.Tensor) -> torch.Tensor:
        """Return the velocity v = M(q)^-1 p, (..., nv) [m/s or rad/s], for q (..., nq) and p (..., nv)."""
        return self._mapped({"q": q, "p": p}, self._engine.velocities, self._engine.pull_velocities)

    def difference(self, q0: torch.Tensor, q1: torch.Tensor) -> torch.Tensor:
        """Return the displacement (..., nv) [m or rad] from q0 (..., nq) to q1 (..., nq)."""
        return self._mapped({"q0": q0, "q1": q1}, self._engine.differences, self._engine.pull_differences)

    def integrate(self, q: torch.Tensor, d: torch.Tensor) -> torch.Tensor:
        """Return q (..., nq) displaced by d (..., nv), (..., nq) [m or rad]."""
        return self._mapped({"q": q, "d": d}, self._engine.displaced, self._engine.pull_displaced)

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

        def work(*arrays: np.ndarray) -> tuple[tuple[np.ndarray, ...], Pull]:
            course = engine.forward(*arrays)
            return (course.q, course.p), course.pullback

        found = _Function.apply(work, *rows)
        return found[0].reshape(*batch, count + 1, model.nq), found[1].reshape(*batch, count + 1, model.nv)

    def _mapped(
        self, given: dict[str, torch.Tensor], forward: Callable[..., np.ndarray], pull: Pull
    ) -> torch.Tensor:
        engine = self._engine
        shapes = {name: tuple(_tensor(name, x).shape) for name, x in given.items()}
        batch, _ = engine.sizes(shapes, one=True)

        def work(*arrays: np.ndarray) -> tuple[tuple[np.ndarray, ...], Pull]:
            engine.require_finite(dict(zip(given, arrays, strict=True)))
            return (forward(*arrays),), lambda bar: pull(*arrays, bar)

        (found,) = _Function.apply(work, *(_rows(x, batch, x.shape[-1:]) for x in given.values()))
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
    """Return a tensor (n, *shape) of all instances."""
    return x.broadcast_to((*batch, *shape)).reshape(int(np.prod(batch)), *shape)


class _Function(torch.autograd.Function):
    """Work on arrays as a node of the graph of gradients."""

    @staticmethod
    def forward(ctx: Any, work: Work, *tensors: torch.Tensor) -> tuple[torch.Tensor, ...]:
        arrays = [np.array(x.detach().numpy(), order="C") for x in tensors]
        found, ctx.pull = work(*arrays)
        ctx.given = tensors  # not saved: they may change in place, which changes no gradient
        return tuple(torch.from_numpy(np.array(x, order="C")) for x in found)

    @staticmethod
    def backward(ctx: Any, *bars: torch.Tensor) -> tuple[torch.Tensor | None, ...]:
        return None, *_Gradient.apply(ctx.pull, len(bars), *bars, *ctx.given)


class _Gradient(torch.autograd.Function):
    """The gradients of work as a node of the graph, which the graph of second derivatives leads to.

    It depends on the tensors that the work was given, too, so that a graph that asks for their second derivatives comes
    here where a gradient by the results is constant.
    """

    @staticmethod
    def forward(ctx: object, pull: Pull, count: int, *tensors: torch.Tensor) -> tuple[torch.Tensor, ...]:
        found = pull(*(np.ascontiguousarray(x.detach().numpy()) for x in tensors[:count]))
        return tuple(torch.from_numpy(np.ascontiguousarray(x)) for x in found)

    @staticmethod
    def backward(ctx: object, *_: object) -> NoReturn:
        raise InputError(
            "gradients of steps have no derivatives in PyTorch: the model's second ones are those of "
            "vitree.linearize(...).curvature; differentiate once, without create_graph=True"
        )
