"""Discrete optimal control: a vehicle's variational integrator as the constraints of a nonlinear program."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from vitree.arguments import as_numbers, mapping, of_kind, several, shown, whole
from vitree.control.cost_terms import at_intervals, cost_terms
from vitree.control.costs import EffortCost, PathConstraint, RunningCost, TimeCost
from vitree.control.equations import Equations, add_dynamics, add_obstacles
from vitree.control.guess import of_inputs, resampled, straight
from vitree.control.plan import Plan
from vitree.control.program import Program, quiet
from vitree.control.variables import Variables
from vitree.control.vehicles import dynamics_of
from vitree.errors import InputError, UnknownNameError

Cost = EffortCost | TimeCost | RunningCost
#: The longest duration of a plan [s].
LONGEST = 1e10


class ControlProblem(Program):
    """Take a vehicle from a start to a goal at least cost.

    The variables are the configurations q_k at all nodes, the velocities and inputs of all intervals, the velocities
    at both ends, and the duration. Given ones (start, goal, a fixed duration) are left out. Orientations in space are
    quaternions, which have no chart and no edges: the equations keep their length, and the goal is three equations.
    Dynamics and reconstruction are those of the vehicle's variational integrator (``vitree.control.dynamics``). The
    equations of a step depend on its own variables and on the next configuration only.

    The nonlinear program is to minimise ``objective(x)`` with ``constraint_bounds[0] <= constraints(x) <=
    constraint_bounds[1]`` and ``bounds[0] <= x <= bounds[1]``.

    Parameters
    ----------
    vehicle : Dynamics, or vehicle of ``vitree.vehicles``
        A vehicle is turned into a Dynamics by :func:`dynamics_of`.
    steps : int
        Intervals N.
    duration : float or (float, float)
        Fixed, or between two [s].
    start, goal : (nq,) array, or pair of (nq,) and (nv,) arrays
        Configuration [m or rad] and velocity [m/s or rad/s]; at rest unless given. NaN in the goal is free.
    cost : str, cost, or sequence of them
        "effort", "time", :class:`EffortCost`, :class:`TimeCost`, :class:`RunningCost`; the problem minimises their sum.
    bounds : mapping of str to (float, float)
        Least and greatest value of configurations (at nodes), velocities and inputs (of intervals), by name. A name
        that is not given keeps the vehicle's own bounds.
    obstacles : sequence of callables
        Signed distances; see ``vitree.control.obstacles``. The vehicle avoids them at the nodes only: add half of the
        distance of a step to ``radius``.
    radius : float [m]
        The vehicle is a ball of this radius about each of its ``points``.
    points : (P, 3) or (P, 2) array [m]
        In body axes; the origin unless given.
    limits : sequence of PathConstraint
        More constraints.
    guess : Plan, optional
        Where the search begins; it may have another number of steps. The default goes straight from start to goal.

    Attributes
    ----------
    x0 : (n,) array
        Variables of the guess, in units of the motion.
    bounds, constraint_bounds : (2, n) and (2, m) arrays
        In units of the motion and of the constraints.
    strict : (n,) bool array
        Whether the bounds of a variable must hold at all times, because there are no equations beyond them.

    Raises
    ------
    InputError
        For a wrong shape, an infeasible start or goal, a function that takes no complex numbers.
    UnknownNameError
        For a name that is not known.

    Notes
    -----
    Arguments of the methods are

    x : (n,) array
        The free variables, in units of the motion.
    multipliers : (m,) array
        One a constraint, in units of cost per constraint.

    References
    ----------
    Kobilarov, Crane & Desbrun 2009, section 6; Junge, Marsden & Ober-Bloebaum 2005 (DMOC).
    """

    @quiet
    def __init__(
        self,
        vehicle: Any,
        *,
        steps: int,
        duration: float | tuple[float, float],
        start: ArrayLike | tuple[ArrayLike, ArrayLike],
        goal: ArrayLike | tuple[ArrayLike, ArrayLike],
        cost: str | Cost | Sequence[str | Cost] = "effort",
        bounds: Mapping[str, tuple[float, float]] | None = None,
        obstacles: Sequence[Callable[[np.ndarray], np.ndarray]] = (),
        radius: float = 0.0,
        points: ArrayLike | None = None,
        limits: Sequence[PathConstraint] = (),
        guess: Plan | None = None,
    ):
        self.vehicle = vehicle = dynamics_of(vehicle)
        if (number := whole(steps)) is None or number < 2:
            raise InputError(f"steps is {shown(steps)}; it must be a whole number of at least 2")
        self.steps = N = number
        self._variables = variables = Variables(vehicle, N)
        try:
            durations = np.broadcast_to(as_numbers(duration), (2,))
        except (TypeError, ValueError):
            durations = np.full(2, np.nan)
        if not 0 < durations[0] <= durations[1] <= LONGEST:
            needed = f"a positive number up to {LONGEST:g} s, or (least, greatest)"
            raise InputError(f"the duration is {shown(duration)}; give {needed}")
        variables.bound(variables.duration, *durations)
        start_state = self._state(start, "the start", free=False)
        goal_state = self._state(goal, "the goal", free=True)
        self._bound(mapping(bounds, "bounds", "a mapping of names to (least, greatest)"), durations[1] / N)
        turn = self._give_ends(start_state, goal_state)

        equations = Equations(variables)
        of_momentum = add_dynamics(equations, vehicle)
        if turn is not None:
            equations.add("goal orientation", turn, variables.q[N:], (0.0, 0.0))
        add_obstacles(equations, vehicle, obstacles, radius, points, (start_state[0], goal_state[0]))
        for limit in several(limits, "limits", "a sequence of PathConstraint"):
            of_kind(limit, PathConstraint, "limits", "a sequence of PathConstraint")
            function = at_intervals(limit.function, variables)
            equations.add(f'limit "{limit.name}"', function, variables.intervals, (limit.lower, limit.upper))
        costs = cost_terms(cost, variables, vehicle)
        self._assemble(variables, equations, costs)
        terms = equations.terms

        if guess is None:
            momentum = of_inputs(terms[:of_momentum], equations.count, variables)
            x = straight(variables, vehicle, durations.mean(), start_state, goal_state, momentum)
        else:
            x = resampled(variables, vehicle, guess)
        self.x0 = self._clipped(x[self._free])
        # Check the functions near the guess, not at it: there they have kinks, and slopes that are zero by chance.
        aside = 0.05 * np.random.default_rng(0).standard_normal(len(self.x0))
        near = self._clipped(self.x0 + np.maximum(1.0, np.abs(self.x0)) * aside)
        for term in [*terms, *costs]:
            term.check(self._expand(near))

    # ---- solutions -----------------------------------------------------------------------------------

    @quiet
    def trajectory(self, x: ArrayLike) -> Plan:
        """Return the motion whose variables are ``x``."""
        full, vehicle = self._expand(x), self.vehicle
        at = self._variables
        t = np.linspace(0.0, 1.0, self.steps + 1) * full[at.duration]
        q, v, u, v_ends = (full[index] for index in (at.q, at.v, at.u, at.v_ends))
        return Plan(t, q, v, u, v_ends, vehicle.q_names, vehicle.v_names, vehicle.input_names)

    def _state(self, given, what: str, free: bool) -> tuple[np.ndarray, np.ndarray]:
        """Return configuration and velocity of a start or goal; at rest without a velocity."""
        vehicle = self.vehicle
        if isinstance(given, tuple) and len(given) == 2 and not isinstance(given[0], float | int):
            q, v = given
        else:
            q, v = given, np.zeros(len(vehicle.v_names))
        parts = []
        for value, names, part in ((q, vehicle.q_names, "configuration"), (v, vehicle.v_names, "velocity")):
            try:
                array = as_numbers(value).copy()
            except TypeError:
                array = np.zeros(0)
            if array.shape != (len(names),) or np.isinf(array).any():
                raise InputError(f"{what} has the {part} {shown(value)}; give ({', '.join(names)})")
            if not free and np.isnan(array).any():
                raise InputError(f"{what} has NaN in its {part}; only the goal may leave entries free")
            parts.append(array)
        return vehicle.check(parts[0], what), parts[1]

    def _bound(self, bounds: Mapping[str, tuple[float, float]], longest: float) -> None:
        """Set the bounds by name, the vehicle's and the user's; restrict velocities to the reach of a longest step."""
        vehicle, variables = self.vehicle, self._variables
        places = variables.by_name
        for name, pair in {**vehicle.bounds, **bounds}.items():
            if name not in places:
                raise UnknownNameError("coordinate, velocity or input", name, places)
            try:
                least, greatest = np.broadcast_to(as_numbers(pair), (2,))
            except (TypeError, ValueError):
                least = greatest = np.nan
            if not least <= greatest:
                raise InputError(f'the bounds of "{name}" are {shown(pair)}; give (least, greatest)')
            variables.bound(places[name], least, greatest)
        reach = vehicle.reach(longest)
        variables.strict[variables.duration] = bool(reach)
        for name, largest in reach.items():
            at = places[name]
            variables.restrict(at, largest)
            if not (variables.lower[at] <= variables.upper[at]).all():
                raise InputError(
                    f'the bounds of "{name}" are beyond {largest:.4g}, the most for steps of {longest:.4g} s: '
                    "take more steps"
                )

    def _give_ends(self, start, goal) -> Callable | None:
        """Give the variables at both ends their values; return the equations for the goal's orientation, if any."""
        variables, N = self._variables, self.steps
        (start_q, start_v), (goal_q, goal_v) = start, goal
        variables.require_within(variables.q[0], start_q, "the start")
        variables.require_within(variables.q[N], goal_q, "the goal")
        variables.give(variables.q[0], start_q)
        variables.give(variables.v_ends[0], start_v)
        known = np.isfinite(goal_v)
        variables.give(variables.v_ends[1][known], goal_v[known])
        met, turn = self.vehicle.meet(start_q, goal_q)
        variables.give(variables.q[N][met], goal_q[met])
        return turn
