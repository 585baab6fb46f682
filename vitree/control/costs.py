"""The costs and limits that a user states, and the terms that they become."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from vitree.control.dynamics import Dynamics
from vitree.control.terms import Function, Term
from vitree.control.variables import Variables
from vitree.errors import InputError, UnknownNameError
from vitree.vehicles.checks import LARGEST, LEAST


@dataclass(frozen=True)
class EffortCost:
    """The cost weight * integral of sum_i weights_i (u_i - trim_i)^2.

    Parameters
    ----------
    weight : float [-]
    weights : mapping of str to float, optional
        By name of the input [1 / input^2]. An input without a weight has 1 / (largest bound)^2, or 1 without bounds.
    """

    weight: float = 1.0
    weights: Mapping[str, float] | None = None


@dataclass(frozen=True)
class TimeCost:
    """The cost ``weight`` * duration, weight [-]."""

    weight: float = 1.0


@dataclass(frozen=True)
class RunningCost:
    """The cost weight * integral of rate.

    Parameters
    ----------
    rate : callable (t, q, v, u) -> (..., n) array
        Takes t (..., n), q (..., n, nq), v (..., n, nv), u (..., n, nu): one entry for each interval, with q at its
        start. Returns the cost per second, in units of the cost. Without a gradient it must take complex numbers.
    gradient : callable, optional
        Takes the same. Returns the derivatives by t, q, v and u: (..., n), (..., n, nq), (..., n, nv), (..., n, nu).
    weight : float [-]
    """

    rate: Callable[..., np.ndarray]
    gradient: Callable[..., tuple[np.ndarray, ...]] | None = None
    weight: float = 1.0


@dataclass(frozen=True)
class PathConstraint:
    """The constraint lower <= function(t, q, v, u) <= upper at the start of each interval.

    Parameters
    ----------
    name : str
        For messages.
    function : callable (t, q, v, u) -> (..., n) array
        Takes the arguments of the rate of a :class:`RunningCost`, complex numbers included. Returns the limited quantity,
        in units of its own.
    lower, upper : float
        In units of the function's result.
    """

    name: str
    function: Callable[..., np.ndarray]
    lower: float = -np.inf
    upper: float = np.inf


def cost_terms(cost: Any, variables: Variables, vehicle: Dynamics) -> list[Term]:
    """Return the terms of one cost or of several."""
    terms = []
    rows = np.zeros((variables.steps, 1), dtype=int)
    for one in cost if isinstance(cost, Iterable) and not isinstance(cost, str) else [cost]:
        one = {"effort": EffortCost(), "time": TimeCost()}.get(one, one) if isinstance(one, str) else one
        if isinstance(one, TimeCost):
            terms.append(Term("time", partial(np.multiply, one.weight), [[variables.duration]], [[0]]))
        elif isinstance(one, EffortCost):
            index = np.concatenate((variables.intervals[:, :1], variables.u), axis=1)
            terms.append(Term("effort", _effort(one, variables, vehicle), index, rows))
        elif isinstance(one, RunningCost):
            rate, gradient = _running(one, variables)
            terms.append(Term("the running cost", rate, variables.intervals, rows, gradient))
        else:
            raise InputError(f'a cost is {one!r}; give "effort", "time", EffortCost, TimeCost or RunningCost')
    return terms


def at_intervals(function: Callable[..., np.ndarray], variables: Variables) -> Function:
    """Return a function of the variables of an interval, from one of t, q, v and u."""
    starts = np.arange(variables.steps) / variables.steps

    def of_interval(z):
        T, q, v, u = variables.split(z)
        values = np.asarray(function(T[..., 0] * starts, q, v, u))
        return values[..., None] if values.ndim == z.ndim - 1 else values

    return of_interval


def _effort(effort: EffortCost, variables: Variables, vehicle: Dynamics) -> Function:
    given = dict(effort.weights or {})
    unknown = [name for name in given if name not in vehicle.input_names]
    if unknown:
        raise UnknownNameError("input", unknown[0], vehicle.input_names)
    first = variables.u[0]
    largest = np.maximum(-variables.lower[first], variables.upper[first])
    weights = 1 / np.where((largest > LEAST) & (largest < LARGEST), largest, 1.0) ** 2
    weights = np.array([given.get(name, weight) for name, weight in zip(vehicle.input_names, weights, strict=True)])
    scale = effort.weight / variables.steps

    def value(z):
        T, off = z[..., 0], z[..., 1:] - vehicle.trim
        return scale * (T * (off * off @ weights))[..., None]

    return value


def _running(cost: RunningCost, variables: Variables) -> tuple[Function, Function | None]:
    """Return the cost as a function of the variables of an interval, and its gradient if the user gave one."""
    starts, rate = np.arange(variables.steps) / variables.steps, at_intervals(cost.rate, variables)
    given: Any = cost.gradient
    scale = cost.weight / variables.steps

    def value(z):
        return scale * z[..., :1] * rate(z)

    def gradient(z):
        T, q, v, u = variables.split(z)
        by_t, *by_rest = given(T[..., 0] * starts, q, v, u)
        by_T = rate(z) + T * (by_t * starts)[..., None]
        return scale * np.concatenate((by_T, *(T * part for part in by_rest)), axis=-1)[..., None, :]

    return value, None if given is None else gradient
