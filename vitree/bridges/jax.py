"""Steps of a model as functions of JAX, with gradients. Needs jax (extra "jax").

A function is a ``jax.pure_callback`` with a ``jax.custom_vjp``. It works under ``jit``, ``grad`` and ``vmap``.
Derivatives in forward mode and second derivatives are refused with an error. The backward pass takes the steps once
more, and sweeps back over them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import NoReturn

import numpy as np
from numpy.typing import ArrayLike

from vitree.bridges.steps import Shape
from vitree.bridges.steps import Steps as Engine
from vitree.errors import InputError, MissingExtraError, VitreeError
from vitree.model.model import Model

try:
    import jax
    import jax.numpy as jnp
except ImportError as error:
    raise MissingExtraError("jax", "jax", "vitree.bridges.jax") from error

__all__ = ["Steps"]


#: Work on rows of instances, and the same for JAX.
Work = Callable[..., tuple[np.ndarray, ...]]
Arrays = tuple[jax.Array, ...]
Function = Callable[..., Arrays]
#: The names of a function's arguments, and the function.
Named = tuple[tuple[str, str], Function]


class Steps:
    """Steps of a model as functions of arrays of JAX.

    JAX must work with doubles: ``jax.config.update("jax_enable_x64", True)``. Leading axes are instances, which are
    stepped together; leading axes broadcast.

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
        engine = self._engine
        nq, nv = model.nq, model.nv

        def run(*rows: np.ndarray) -> tuple[np.ndarray, ...]:
            course = engine.forward(*rows)
            return course.q, course.p

        def pull_run(*rows: np.ndarray) -> tuple[np.ndarray, ...]:
            return engine.forward(*rows[:4]).pullback(*rows[4:])

        def nodes(shapes: Sequence[Shape]) -> tuple[Shape, ...]:
            count = shapes[2][-2] + 1
            return (count, nq), (count, nv)

        def mapped(forward: Callable[..., np.ndarray], pull: Work, names: tuple[str, str], size: int = nv) -> Named:
            def work(*arrays: np.ndarray) -> tuple[np.ndarray, ...]:
                engine.require_finite(dict(zip(names, arrays, strict=True)))
                return (forward(*arrays),)

            return names, self._function(work, pull, (1, 1), lambda _: ((size,),))

        self._run = self._function(run, pull_run, (1, 1, 2, 2), nodes)
        self._momentum = mapped(engine.momenta, engine.pull_momenta, ("q", "v"))
        self._velocity = mapped(engine.velocities, engine.pull_velocities, ("q", "p"))
        self._difference = mapped(engine.differences, engine.pull_differences, ("q0", "q1"))
        self._displaced = mapped(engine.displaced, engine.pull_displaced, ("q", "d"), nq)

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
        return self._mapped(self._momentum, q, v)

    def velocity(self, q: jax.Array, p: jax.Array) -> jax.Array:
        """Return the velocity v = M(q)^-1 p, (..., nv) [m/s or rad/s], for q (..., nq) and p (..., nv)."""
        return self._mapped(self._velocity, q, p)

    def difference(self, q0: jax.Array, q1: jax.Array) -> jax.Array:
        """Return the displacement (..., nv) [m or rad] from q0 (..., nq) to q1 (..., nq)."""
        return self._mapped(self._difference, q0, q1)

    def integrate(self, q: jax.Array, d: jax.Array) -> jax.Array:
        """Return q (..., nq) displaced by d (..., nv), (..., nq) [m or rad]."""
        return self._mapped(self._displaced, q, d)

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
        Q, P = self._run(*rows)
        return Q, P

    def _mapped(self, named: Named, *arguments: jax.Array) -> jax.Array:
        (names, function), given = named, [_array(x) for x in arguments]
        batch, _ = self._engine.sizes({name: x.shape for name, x in zip(names, given, strict=True)}, one=True)
        (found,) = function(*(jnp.broadcast_to(x, (*batch, x.shape[-1])) for x in given))
        return found

    def _function(self, work: Work, pull: Work, axes: tuple[int, ...],
                  sizes: Callable[[Sequence[Shape]], tuple[Shape, ...]]) -> Function:  # fmt: skip
        """Return a function of JAX that works on rows of instances.

        ``axes`` are the numbers of last axes of the arguments that are not instances; ``sizes`` gives the shapes of the
        results without instances, of the arguments' shapes.
        """

        def on_rows(job: Work, last: tuple[int, ...]) -> Work:
            def called(*arguments: ArrayLike) -> tuple[np.ndarray, ...]:
                arrays = [np.array(x, dtype=float) for x in arguments]
                batch = arrays[0].shape[: -last[0]]
                count = int(np.prod(batch))
                rows = [x.reshape(count, *x.shape[x.ndim - k :]) for x, k in zip(arrays, last, strict=True)]
                try:
                    found = job(*rows)
                except VitreeError as error:
                    self.error = error
                    raise
                return tuple(np.array(x).reshape(*batch, *x.shape[1:]) for x in found)

            return called

        def shaped(shapes: Iterable[Shape]) -> tuple[jax.ShapeDtypeStruct, ...]:
            return tuple(jax.ShapeDtypeStruct(shape, np.float64) for shape in shapes)

        @jax.custom_vjp
        def function(*arguments: jax.Array) -> Arrays:
            batch = arguments[0].shape[:-1]
            results = shaped((*batch, *shape) for shape in sizes([x.shape for x in arguments]))
            found: Arrays = jax.pure_callback(on_rows(work, axes), results, *arguments, vmap_method="broadcast_all")
            return found

        def forward(*arguments: jax.Array) -> tuple[Arrays, Arrays]:
            return function(*arguments), arguments

        @jax.custom_vjp
        def gradient(arguments: Arrays, bars: Arrays) -> Arrays:
            of_results = tuple(x.ndim - arguments[0].ndim + 1 for x in bars)
            job = on_rows(pull, (*axes, *of_results))
            shapes = shaped(x.shape for x in arguments)
            found: Arrays = jax.pure_callback(job, shapes, *arguments, *bars, vmap_method="broadcast_all")
            return found

        def refuse(*_: Arrays) -> NoReturn:
            raise InputError(
                "gradients of steps have no derivatives in JAX: the model's second ones are those of "
                "vitree.linearize(...).curvature; differentiate once"
            )

        gradient.defvjp(refuse, refuse)
        function.defvjp(forward, gradient)
        made: Function = function
        return made


def _array(x: ArrayLike) -> jax.Array:
    """Return an array of doubles."""
    if not jax.config.jax_enable_x64:
        raise InputError(
            'vitree works with doubles, JAX does not yet: call jax.config.update("jax_enable_x64", True) at the start '
            "of the program"
        )
    return jnp.asarray(x, dtype=jnp.float64)
