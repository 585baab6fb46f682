"""Direct transcription: a motion of N steps as a nonlinear program, with the integrator's equations as constraints.

All nodes are unknown at once. The equations of a step look at its two nodes only, so that Jacobians and Hessians are
banded. Vehicles (``vitree.control.vehicles``) and robots (``vitree.control.robots``) are the two kinds of motion.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from vitree.arguments import as_numbers, entries, real, several, shown, whole
from vitree.control.costs import NAMED, EffortCost, TimeCost, TorqueCost, VelocityCost
from vitree.control.program import Block, Equations, Function, Linear, Motion, Program, Term, Variables
from vitree.control.state_bounds import bounds_by_name, pair_of
from vitree.errors import InputError, UnknownNameError
from vitree.vehicles.checks import LARGEST, LEAST
from vitree.wording import quoted

#: The longest duration of a motion [s].
LONGEST = 1e10


class Horizon(NamedTuple):
    """The number of steps of a motion, and its least and greatest duration [s]; ``dt`` is the step if it is fixed."""

    steps: int
    least: float
    greatest: float
    dt: float | None

    @classmethod
    def of(cls, steps: object, dt: object, duration: object) -> Horizon:
        """Return the horizon of arguments: either ``dt`` or ``duration``, a number or (least, greatest)."""
        if (number := whole(steps)) is None or number < 2:
            raise InputError("steps", steps, f"is {shown(steps)}; it must be a whole number of at least 2")
        if (dt is None) == (duration is None):
            raise InputError(f"dt is {shown(dt)} and duration is {shown(duration)}; give one of them")
        name, given, share = ("dt", dt, number) if duration is None else ("duration", duration, 1)
        least, greatest = pair_of(given)
        if not 0 < least <= greatest <= LONGEST / share:
            needed = f"a positive number up to {LONGEST / share:g} s, or (least, greatest)"
            raise InputError(name, given, f"is {shown(given)}; it must be {needed}")
        fixed = (least if name == "dt" else least / number) if least == greatest else None
        return cls(number, share * least, share * greatest, fixed)

    @property
    def middle(self) -> float:
        """The duration from which a search begins [s]."""
        return 0.5 * (self.least + self.greatest)

    def step(self, T: float) -> float:
        """Return the step [s] of a motion of duration T [s]."""
        return T / self.steps if self.dt is None else self.dt


#: A function of variables (..., n, size) and their desired values (n, size).
Deviation = Callable[[np.ndarray, np.ndarray], np.ndarray]


def same(x: np.ndarray, desired: np.ndarray) -> np.ndarray:
    """Return the deviation of variables from desired values."""
    return np.asarray(x - desired)


def same_slopes(x: np.ndarray, desired: np.ndarray) -> np.ndarray:
    """Return its derivatives, which are ones."""
    return np.broadcast_to(np.eye(x.shape[-1]), (*x.shape, x.shape[-1]))


class TranscriptionProblem(Program[Motion]):
    """A motion of N steps as a nonlinear program; made by :class:`ControlProblem` and :class:`MotionProblem`.

    The variables are those of all nodes and the duration T = N h. Given ones (the start, the goal, a fixed duration)
    are left out. The program is to minimise ``objective(x)`` with ``constraint_bounds[0] <= constraints(x) <=
    constraint_bounds[1]`` and ``bounds[0] <= x <= bounds[1]``. Solve it with :func:`solve`.

    Attributes
    ----------
    steps : int
        Steps N.
    x0 : (n,) array
        Variables of the guess, in units of the motion.
    bounds, constraint_bounds : (2, n) and (2, m) arrays
        In units of the motion and of the constraints.
    strict : (n,) bool array
        Whether the bounds of a variable must hold at all times, because there are no equations beyond them.

    Notes
    -----
    A subclass is one kind of motion. It sets ``_names`` (of configurations, velocities and inputs), ``_trim`` and
    ``_plan``, calls this constructor, and implements ``trajectory`` and the methods below, which the constructor calls
    in their order; at the end either ``_copy``, or ``_straight`` or ``_unit`` and then ``_complete``.
    """

    #: the costs that apply
    _takes: tuple[type, ...] = (EffortCost, TorqueCost, VelocityCost, TimeCost)
    _names: tuple[Sequence[str], Sequence[str], Sequence[str]]
    _trim: np.ndarray
    _plan: type[Motion]

    def __init__(self, horizon: Horizon, *, start: object, goal: object, cost: object,
                 bounds: Mapping[str, ArrayLike], guess: object):  # fmt: skip
        if type(self) is TranscriptionProblem:
            raise InputError("TranscriptionProblem is abstract: use ControlProblem or MotionProblem")
        self.steps, self._horizon = horizon.steps, horizon
        self._start, self._goal = self._state(start, "the start"), self._state(goal, "the goal")
        self._variables = at = Variables(self.steps, self._blocks())
        at.bound(at.T, horizon.least, horizon.greatest)
        self._bound_variables(bounds)
        self._give_ends()
        equations = Equations(at)
        self._add_equations(equations)
        alone = isinstance(cost, str) or not isinstance(cost, Iterable)
        costs = (cost,) if alone else several(cost, "cost", "a cost, or a sequence of costs")
        self._assemble(at, equations, [term for one in costs for term in self._cost_terms(one)])
        x = at.given
        x[at.T] = horizon.middle
        if isinstance(guess, self._plan):
            self._copy(x, guess)
        else:
            shape = (self.steps + 1, len(self._names[0]))
            x[at.q] = self._straight() if guess is None else self._unit(entries(guess, shape, "guess"))
            self._complete(x)
        self.x0 = self._clipped(x[self._free])

    # ---- kinds of motion ----------------------------------------------------------------------------------------

    def _checked(self, q: np.ndarray, v: np.ndarray, what: str) -> tuple[np.ndarray, np.ndarray]:
        """Return configuration (nq,) and velocity (nv,) of a start or goal as they can be given; NaN is free."""
        raise NotImplementedError

    def _blocks(self) -> list[Block]:
        """Return the blocks of variables."""
        raise NotImplementedError

    def _bound_variables(self, bounds: Mapping[str, ArrayLike]) -> None:
        """Set the bounds of variables, the user's and others."""
        raise NotImplementedError

    def _give_ends(self) -> None:
        """Give the variables at both ends their values."""
        raise NotImplementedError

    def _add_equations(self, equations: Equations) -> None:
        """Add all constraints."""
        raise NotImplementedError

    def _own_cost(self, cost: object) -> list[Term]:
        """Return the terms of a cost of this kind of motion."""
        raise NotImplementedError

    def _straight(self) -> np.ndarray:
        """Return the configurations (N + 1, nq) of a guess, from the start to the goal."""
        raise NotImplementedError

    def _unit(self, q: np.ndarray) -> np.ndarray:
        """Return configurations (N + 1, nq) that are given, with quaternions of unit length."""
        raise NotImplementedError

    def _complete(self, x: np.ndarray) -> None:
        """Set all other variables of a guess, whose configurations are known."""
        raise NotImplementedError

    def _copy(self, x: np.ndarray, plan: Motion) -> None:
        """Set all variables of a guess from a plan."""
        raise NotImplementedError

    # ---- states and bounds --------------------------------------------------------------------------------------

    def _state(self, given: object, what: str) -> tuple[np.ndarray, np.ndarray]:
        """Return configuration and velocity of a start or goal, NaN where it is free; at rest without a velocity."""
        q_names, v_names, _ = self._names
        q: object
        v: object
        q, v = given, np.zeros(len(v_names))
        if given is None:
            q, v = np.full(len(q_names), np.nan), None
        elif isinstance(given, tuple) and len(given) == 2 and not isinstance(given[0], float | int):
            q, v = given
        v = np.full(len(v_names), np.nan) if v is None else v
        parts = []
        for value, names, part in ((q, q_names, "configuration"), (v, v_names, "velocity")):
            try:
                array = as_numbers(value).copy()
            except TypeError:
                array = np.zeros(0)
            if array.shape != (len(names),) or np.isinf(array).any():
                raise InputError(f"{what} has the {part} {shown(value)}; give ({', '.join(names)})")
            parts.append(array)
        return self._checked(parts[0], parts[1], what)

    def _bound(self, bounds: Mapping[str, ArrayLike], blocks: Sequence[tuple[str, Sequence[str]]], kind: str) -> None:
        """Set bounds by names, which the columns of blocks have."""
        at = self._variables
        places = {name: at[block][:, i] for block, names in blocks for i, name in enumerate(names)}
        names = list(places)
        for k, pair in bounds_by_name(bounds, names, "bounds", kind).items():
            at.bound(places[names[k]], *pair)

    def _require_within(self, k: int, q: np.ndarray, what: str) -> None:
        """Raise an InputError if a configuration (nq,) is outside the bounds of node k."""
        at = self._variables
        for i, name, value in zip(at.q[k], self._names[0], q, strict=True):
            if value < at.lower[i] or value > at.upper[i]:
                raise InputError(
                    f"{what} has {name} = {value:g}, outside its bounds {at.lower[i]:g} and {at.upper[i]:g}; "
                    "move it inside, or widen the bounds"
                )

    # ---- costs --------------------------------------------------------------------------------------------------

    def _cost_terms(self, cost: object) -> list[Term]:
        """Return the terms of a cost."""
        at, names = self._variables, self._names[2]
        cost = NAMED.get(cost, cost) if isinstance(cost, str) else cost
        if not isinstance(cost, self._takes):
            takes = ", ".join(kind.__name__ for kind in self._takes)
            text = f"is {shown(cost)}; give one of {', '.join(map(quoted, NAMED))}, {takes}"
            if hasattr(cost, "applies_to"):
                text = f"is a {type(cost).__name__}, which applies to {cost.applies_to}; this problem takes {takes}"
            raise InputError("cost", cost, text)
        if isinstance(cost, TimeCost):
            return [Linear("the time", [[at.T]], [[0]], weights_of(cost.weight, 1, "the weight of the time"))]
        if isinstance(cost, TorqueCost):
            weights = weights_of(cost.weight, len(names), "the weight of the torque")
            return self._squares("the torque", at.u, weights)
        if not isinstance(cost, EffortCost):
            return self._own_cost(cost)
        given = dict(cost.weights or {})
        unknown = [name for name in given if name not in names]
        if unknown:
            raise UnknownNameError("input", unknown[0], names)
        largest = np.maximum(-at.lower[at.u[0]], at.upper[at.u[0]])
        shares = 1 / np.where((largest > LEAST) & (largest < LARGEST), largest, 1.0) ** 2
        weights = np.array([given.get(name, share) for name, share in zip(names, shares, strict=True)])
        scale, trim = cost.weight / self.steps, self._trim

        def value(z: np.ndarray) -> np.ndarray:
            off = z[..., 1:] - trim
            return np.asarray(scale * (z[..., 0] * (off * off @ weights))[..., None])

        return self._summed("the effort", at.timed(at.u), value)

    def _squares(self, name: str, index: np.ndarray, weights: np.ndarray, power: int = 1, value: Deviation = same,
                 slopes: Deviation = same_slopes, desired: np.ndarray | None = None) -> list[Term]:  # fmt: skip
        """Return the sum over rows x of variables of h^power weights . y^2, with y = value(x, desired), as terms.

        The integral over steps has the power 1 of deviations and -1 of displacements, a cost at a node the power 0.
        """
        if not weights.any():
            return []
        N, goal = self.steps, np.zeros(index.shape) if desired is None else desired

        def parts(z: np.ndarray) -> tuple[np.ndarray | float, np.ndarray]:
            return (z[..., :1] / N, z[..., 1:]) if power else (1.0, z)

        def function(z: np.ndarray) -> np.ndarray:
            h, x = parts(z)
            return np.asarray(h**power * (value(x, goal) ** 2 @ weights)[..., None])

        def gradient(z: np.ndarray) -> np.ndarray:
            h, x = parts(z)
            y = value(x, goal)
            by_x = 2.0 * h**power * ((weights * y)[..., None, :] @ slopes(x, goal))[..., 0, :]
            by_T = [power * h ** (power - 1) * (y**2 @ weights)[..., None] / N] if power else []
            return np.concatenate([*by_T, by_x], axis=-1)[..., None, :]

        return self._summed(name, self._variables.timed(index) if power else index, function, gradient)

    def _summed(self, name: str, index: np.ndarray, function: Function, gradient: Function | None = None) -> list[Term]:
        """Return the sum of a function over the rows of an index, as the terms of a cost."""
        return [Term(name, function, index, np.zeros((len(index), 1), dtype=int), gradient)]


def weights_of(given: ArrayLike, size: int, name: str) -> np.ndarray:
    """Return weights as an array (size,), none negative."""
    found = np.full(size, real(given)) if np.ndim(given) == 0 else entries(given, (size,), name)
    if not (np.isfinite(found).all() and (found >= 0).all()):
        raise InputError(f"{name} is {shown(given)}; weights must be zero or positive")
    return found
