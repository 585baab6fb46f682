"""What a motion of a robot is to be near, and the costs that this becomes."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import partial
from typing import Any

import numpy as np

from vitree.arguments import entries as numbers
from vitree.arguments import real, shown
from vitree.control.charts import Entries
from vitree.control.costs import (
    EffortCost,
    MomentumCost,
    PositionCost,
    PostureCost,
    RunningCost,
    TensionCost,
    TimeCost,
    TorqueCost,
    VelocityCost,
)
from vitree.control.dynamics import Dynamics
from vitree.control.points import Point
from vitree.control.terms import Function, Linear, Term
from vitree.control.variables import Variables
from vitree.errors import InputError, UnknownNameError
from vitree.vehicles.checks import LARGEST, LEAST

#: The costs of a motion; that of time is the one of vehicles.
AIMS = PostureCost, MomentumCost, VelocityCost, TorqueCost, TensionCost, PositionCost, TimeCost


def aim_terms(aims: tuple[Any, ...], variables: Any, entries: Entries) -> list[Term]:
    """Return the terms of costs."""
    model, N = entries.model, variables.steps
    found: list[Term] = []

    def add(name: str, aim: Any, size: int, index: np.ndarray, value: Callable, slopes: Callable, wanted: Any = None):
        """Add the squares of a quantity at nodes or steps, whose wanted values have a row for each."""
        for part in ("weight", "weight_end"):
            weight = _weights(getattr(aim, part, 0.0), size, f"the {part} of {name}")
            if not weight.any():
                continue
            # a quantity of nodes counts at the starts of steps, and at the last node
            chosen = slice(N, None) if part == "weight_end" else slice(0, N)
            rows = index[chosen]
            goal = None if wanted is None else wanted[chosen]
            timed = part == "weight"
            if timed:
                rows = np.concatenate([np.full((len(rows), 1), variables.dt), rows], axis=1)
            function, gradient = _squares(weight, value, slopes, goal, timed)
            found.append(Term(name, function, rows, np.zeros((len(rows), 1), dtype=int), gradient))

    for aim in aims:
        if isinstance(aim, PostureCost):
            wanted = _wanted(aim.q, N, model.nq, "the wanted posture")
            wanted = np.array([model.validate_configuration(q, "q") for q in wanted])

            def off(q, goal):
                return model.difference(np.broadcast_to(goal, q.shape), entries.unit(q))

            def off_slopes(q, goal):
                return entries.by_entries(entries.difference_slopes(off(q, goal)), q)

            add("the posture", aim, model.nv, variables.q, off, off_slopes, wanted)
        elif isinstance(aim, MomentumCost):
            add("the momentum", aim, model.nv, variables.p, _same, _same_slopes)
        elif isinstance(aim, TorqueCost):
            add("the torque", aim, variables.u.shape[1], variables.u, _same, _same_slopes)
        elif isinstance(aim, PositionCost):
            point = Point(entries, aim.frame)
            wanted = _wanted(aim.point, N, 3, f'the place of "{aim.frame}"')

            def away(q, goal, point=point):
                return point.place(q) - goal

            def away_slopes(q, goal, point=point):
                return point.place_slopes(q)

            add(f'the place of "{aim.frame}"', aim, 3, variables.q, away, away_slopes, wanted)
        elif isinstance(aim, TimeCost):
            weight = _weights(aim.weight, 1, "the weight of the time")
            found.append(Linear("the time", [[variables.dt]], [[0]], N * weight))
        elif isinstance(aim, VelocityCost | TensionCost):
            of_speed = isinstance(aim, VelocityCost)
            name, own = ("the velocity", variables.q[:-1]) if of_speed else ("the tension", variables.tensions[:N])
            weight = _weights(aim.weight, model.nv if of_speed else own.shape[1], f"the weight of {name}")
            index = [np.full((N, 1), variables.dt), own, *([variables.q[1:]] if of_speed else [])]
            function, gradient = _speeds(weight, entries) if of_speed else (_rates(weight), None)
            found.append(Term(name, function, np.concatenate(index, axis=1), np.zeros((N, 1), dtype=int), gradient))
        else:
            known = ", ".join(kind.__name__ for kind in AIMS)
            raise InputError(f"a cost is {shown(aim)}; give one of {known}")
    return found


def _same(x, goal):
    return x


def _same_slopes(x, goal):
    return np.broadcast_to(np.eye(x.shape[-1]), (*x.shape, x.shape[-1]))


def _squares(weight: np.ndarray, value: Callable, slopes: Callable, goal: Any, timed: bool):
    """Return h w . y^2 and its slopes as functions of (h, x), or those of x without the time."""

    def function(z):
        h, x = (z[..., :1], z[..., 1:]) if timed else (1.0, z)
        return h * (value(x, goal) ** 2 @ weight)[..., None]

    def gradient(z):
        h, x = (z[..., :1], z[..., 1:]) if timed else (1.0, z)
        y = value(x, goal)
        by_x = 2.0 * h * ((weight * y)[..., None, :] @ slopes(x, goal))[..., 0, :]
        parts = [(y**2 @ weight)[..., None], by_x] if timed else [by_x]
        return np.concatenate(parts, axis=-1)[..., None, :]

    return function, gradient


def _rates(weight: np.ndarray):
    """Return w . x^2 / h as a function of (h, x)."""
    return lambda z: (z[..., 1:] ** 2 @ weight / z[..., 0])[..., None]


def _speeds(weight: np.ndarray, entries: Entries):
    """Return w . d^2 / h and its slopes as functions of (h, q1, q2)."""
    nq = entries.model.nq

    def parts(z):
        q1, q2 = z[..., 1 : 1 + nq], z[..., 1 + nq :]
        return z[..., 0], q1, q2, entries.model.difference(entries.unit(q1), entries.unit(q2))

    def function(z):
        h, _, _, d = parts(z)
        return (d**2 @ weight / h)[..., None]

    def gradient(z):
        h, q1, q2, d = parts(z)
        force = 2.0 * weight * d / h[..., None]
        by_1 = -(force[..., None, :] @ entries.by_entries(entries.difference_slopes(-d), q1))[..., 0, :]
        by_2 = (force[..., None, :] @ entries.by_entries(entries.difference_slopes(d), q2))[..., 0, :]
        by_h = -(d**2 @ weight) / h**2
        return np.concatenate([by_h[..., None], by_1, by_2], axis=-1)[..., None, :]

    return function, gradient


def _weights(given: Any, size: int, name: str) -> np.ndarray:
    """Return weights as an array (size,), none negative."""
    found = np.full(size, real(given)) if np.ndim(given) == 0 else numbers(given, (size,), name)
    if not (np.isfinite(found).all() and (found >= 0).all()):
        raise InputError(f"{name} is {shown(given)}; weights must be zero or positive")
    return found


def _wanted(given: Any, steps: int, size: int, name: str) -> np.ndarray:
    """Return wanted values (steps + 1, size), from these or from one row."""
    if np.ndim(given) == 2:
        return numbers(given, (steps + 1, size), name, ", a row for each node")
    return np.tile(numbers(given, (size,), name), (steps + 1, 1))


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
