"""Steps of a model as functions of JAX, with gradients. Needs jax (extra "jax").

A function is a primitive of JAX that calls vitree through a ``jax.pure_callback``. Its rules for ``jit``, ``vmap``,
forward and reverse mode are at the end of this module. The backward pass takes the steps once more, and sweeps back
over them.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from vitree.bridges.smooth import OPERATIONS, Smooth
from vitree.bridges.steps import Steps as Engine
from vitree.errors import InputError, MissingExtraError, VitreeError
from vitree.model.model import Model

try:
    import jax
    import jax.numpy as jnp
    from jax.extend.core import Primitive
    from jax.interpreters import ad, batching, mlir
except ImportError as error:
    raise MissingExtraError("jax", "jax", "vitree.bridges.jax") from error

__all__ = ["Steps"]


Arrays = tuple[jax.Array, ...]


class Steps:
    """Steps of a model as functions of arrays of JAX.

    JAX must work with doubles: ``jax.config.update("jax_enable_x64", True)``. Leading axes are instances, which are
    stepped together; leading axes broadcast. Derivatives are available in reverse and in forward mode, and second ones,
    which are differences of the exact first ones. To ask for third derivatives is an InputError, and for second ones of
    models with contacts a ModelError.

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

    Attributes
    ----------
    error : VitreeError or None
        The last error of a call. JAX raises a JaxRuntimeError, which has the text alone.

    Raises
    ------
    InputError, ModelError
        If these steps have no derivatives; the text says why. Methods raise an InputError for wrong shapes, and where
        JAX does not work with doubles. For NaN, and where a step cannot be solved, JAX raises its JaxRuntimeError.
    MissingExtraError
        If jax is not installed, by the import of this module.
    """

    def __init__(self, model: Model, *, dt: float, method: str = "linear-time", **options: object):
        self._engine = Engine(model, dt, method, options)
        self.error: VitreeError | None = None

    def __repr__(self) -> str:
        return f"<jax: {self._engine!r}>"

    def step(self, q: jax.Array, p: jax.Array, torque: jax.Array | None = None,
             inputs: jax.Array | None = None) -> tuple[jax.Array, jax.Array]:  # fmt: skip
        """Take one step.

        Parameters
        ----------
        q : (..., nq) array [m or rad]
        p : (..., nv) array [kg m/s or kg m^2/s]
        torque : (..., nv) array, optional [N or N m]
            Acts over the step.
        inputs : (..., nu) array, optional [units as the loads take them]
            Of ``model.input_names``: those of loads, and targets of drives; zero if not given.

        Returns
        -------
        q2 : (..., nq) array [m or rad]
        p2 : (..., nv) array [kg m/s or kg m^2/s]
        """
        Q, P = self._taken(q, p, torque, inputs, None, True)
        return Q[..., -1, :], P[..., -1, :]

    def run(self, q: jax.Array, p: jax.Array, torque: jax.Array | None = None, inputs: jax.Array | None = None, *,
            steps: int | None = None) -> tuple[jax.Array, jax.Array]:  # fmt: skip
        """Take several steps.

        Parameters
        ----------
        q : (..., nq) array [m or rad]
        p : (..., nv) array [kg m/s or kg m^2/s]
        torque : (..., steps, nv) array, optional [N or N m]
            A row for each step.
        inputs : (..., steps, nu) array, optional [units as the loads take them]
            Zero if not given.
        steps : int, optional
            If neither ``torque`` nor ``inputs`` says it.

        Returns
        -------
        Q : (..., steps + 1, nq) array [m or rad]
            The configurations at the nodes, the start with them.
        P : (..., steps + 1, nv) array [kg m/s or kg m^2/s]
        """
        return self._taken(q, p, torque, inputs, steps, False)

    def momentum(self, q: jax.Array, v: jax.Array) -> jax.Array:
        """Return the momentum p = M(q) v, (..., nv) [kg m/s or kg m^2/s], for q (..., nq) and v (..., nv)."""
        return self._mapped("momentum", q, v)

    def velocity(self, q: jax.Array, p: jax.Array) -> jax.Array:
        """Return the velocity v = M(q)^-1 p, (..., nv) [m/s or rad/s], for q (..., nq) and p (..., nv)."""
        return self._mapped("velocity", q, p)

    def difference(self, q0: jax.Array, q1: jax.Array) -> jax.Array:
        """Return the displacement (..., nv) [m or rad] from q0 (..., nq) to q1 (..., nq)."""
        return self._mapped("difference", q0, q1)

    def integrate(self, q: jax.Array, d: jax.Array) -> jax.Array:
        """Return q (..., nq) displaced by d (..., nv), (..., nq) [m or rad]."""
        return self._mapped("integrate", q, d)

    def _taken(self, q: jax.Array, p: jax.Array, torque: jax.Array | None, inputs: jax.Array | None, steps: int | None,
               one: bool) -> tuple[jax.Array, jax.Array]:  # fmt: skip
        engine = self._engine
        given = [None if x is None else _array(x) for x in (q, p, torque, inputs)]
        names = ("q", "p", "torque", "inputs")
        shapes = {name: None if x is None else x.shape for name, x in zip(names, given, strict=True)}
        batch, count = engine.sizes(shapes, steps, one)
        rows = [jnp.broadcast_to(x, (*batch, x.shape[-1])) for x in map(_array, (q, p))]
        for x, size in zip(given[2:], (engine.model.nv, engine.nu), strict=True):
            shape = (*batch, count, size)
            x = jnp.zeros(shape) if x is None else x[..., None, :] if one else x
            rows.append(jnp.broadcast_to(x, shape))
        Q, P = self._value("run", rows)
        return Q, P

    def _mapped(self, name: str, *arguments: jax.Array) -> jax.Array:
        names, given = self._engine.functions[name].names, [_array(x) for x in arguments]
        batch, _ = self._engine.sizes({name: x.shape for name, x in zip(names, given, strict=True)}, one=True)
        (found,) = self._value(name, [jnp.broadcast_to(x, (*batch, x.shape[-1])) for x in given])
        return found

    def _value(self, name: str, arguments: Sequence[jax.Array]) -> Arrays:
        return _bind(self, self._engine.functions[name], "value", arguments)

    def _evaluated(self, smooth: Smooth, name: str, *arguments: ArrayLike) -> tuple[np.ndarray, ...]:
        """Return the results of an operation on arrays with any leading axes, and keep an error."""
        arrays = [np.array(x, dtype=float) for x in arguments]
        batch = arrays[0].shape[: arrays[0].ndim - smooth.axes[0]]
        rows = [x.reshape(int(np.prod(batch)), *x.shape[len(batch) :]) for x in arrays]
        try:
            found = smooth.evaluate(name, rows)
        except VitreeError as error:
            self.error = error
            raise
        return tuple(np.array(x).reshape(*batch, *x.shape[1:]) for x in found)


# ---- operations as a primitive of JAX: its derivatives are other operations, see vitree.bridges.smooth -----------


_operation = Primitive("vitree")
_operation.multiple_results = True


def _bind(steps: Steps, smooth: Smooth, name: str, arguments: Sequence[Any]) -> Arrays:
    return tuple(_operation.bind(*arguments, steps=steps, smooth=smooth, name=name))


def _called(*arguments: jax.Array, steps: Steps, smooth: Smooth, name: str) -> Arrays:
    """Call vitree, where JAX evaluates the primitive."""
    shapes = smooth.result_shapes(name, [x.shape for x in arguments])
    found: Arrays = jax.pure_callback(
        partial(steps._evaluated, smooth, name), tuple(jax.ShapeDtypeStruct(x, np.float64) for x in shapes), *arguments
    )
    return found


def _typed(*arguments: Any, steps: Steps, smooth: Smooth, name: str) -> list[Any]:
    """Return types of the results, where JAX traces the primitive."""
    return [arguments[0].update(shape=x) for x in smooth.result_shapes(name, [x.shape for x in arguments])]


def _batched(arguments: Sequence[Any], axes: Sequence[Any], **at: Any) -> tuple[Arrays, list[int]]:
    """Add a leading axis: those are instances."""
    size = next(x.shape[k] for x, k in zip(arguments, axes, strict=True) if k is not None)
    rows = [jnp.broadcast_to(x, (size, *x.shape)) if k is None else jnp.moveaxis(x, k, 0)
            for x, k in zip(arguments, axes, strict=True)]  # fmt: skip
    found = _bind(arguments=rows, **at)
    return found, [0] * len(found)


def _pushed(arguments: Sequence[Any], tangents: Sequence[Any], **at: Any) -> tuple[Arrays, list[Any]]:
    """Differentiate in forward mode."""
    smooth, name = at["smooth"], at["name"]
    operation = OPERATIONS[name]
    groups, changes = (smooth.split(operation.groups, x) for x in (arguments, tangents))
    found: list[Any] = []
    for k, change in enumerate(changes):
        if all(isinstance(x, ad.Zero) for x in change):
            continue
        w = [ad.instantiate_zeros(x) for x in change]
        whole = [*groups, w] if k == 0 else [*groups[:k], w, *groups[k + 1 :]]
        part = _bind(**at | {"name": smooth.require_along(name) if k == 0 else name}, arguments=_joined(whole))
        found = list(part) if not found else [a + b for a, b in zip(found, part, strict=True)]
    return _bind(arguments=arguments, **at), found


def _transposed(bars: Sequence[Any], *arguments: Any, **at: Any) -> list[Any]:
    """Go back through an operation that is linear in a group of its arguments."""
    smooth, operation = at["smooth"], OPERATIONS[at["name"]]
    groups = smooth.split(operation.groups, arguments)
    unknown = [any(ad.is_undefined_primal(x) for x in group) for group in groups]
    k = unknown.index(True)
    name, order = operation.transposes[k - 1]
    whole = [*groups, [ad.instantiate_zeros(x) for x in bars]]
    back = _bind(**at | {"name": name}, arguments=_joined(whole[j] for j in order))
    found: list[Any] = []
    for j, group in enumerate(groups):
        found += [None] * len(group) if j != k else [
            y if ad.is_undefined_primal(x) else None for x, y in zip(group, back, strict=True)]  # fmt: skip
    return found


def _joined(groups: Iterable[Sequence[Any]]) -> list[Any]:
    return [x for group in groups for x in group]


_operation.def_impl(_called)
_operation.def_abstract_eval(_typed)
ad.primitive_jvps[_operation] = _pushed
ad.primitive_transposes[_operation] = _transposed
batching.primitive_batchers[_operation] = _batched
mlir.register_lowering(_operation, mlir.lower_fun(_called, multiple_results=True))


def _array(x: ArrayLike) -> jax.Array:
    """Return an array of doubles."""
    if not jax.config.jax_enable_x64:
        raise InputError(
            'vitree works with doubles, JAX does not yet: call jax.config.update("jax_enable_x64", True) at the start '
            "of the program"
        )
    return jnp.asarray(x, dtype=jnp.float64)
