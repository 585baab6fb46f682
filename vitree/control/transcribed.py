"""The problem of a shooting search as a sparse program: its states are unknowns of a general solver."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from importlib.util import find_spec

import numpy as np

from vitree.control.contacts import PhaseInterval
from vitree.control.costs import QuadraticCost
from vitree.control.robots import MotionPlan, MotionProblem
from vitree.control.shooting_problem import Iterate, ShootingProblem
from vitree.control.solvers import solve
from vitree.errors import ConvergenceError, InputError


@dataclass(frozen=True, eq=False)
class Transcription:
    """The options of the search "transcription" of :func:`optimize_motion`.

    Parameters
    ----------
    solver : {"ipopt", "scipy"}, optional
        As of :func:`solve`; IPOPT if ipyopt is installed, otherwise SciPy's, unless given.
    options : mapping, optional
        Further options of the solver.
    """

    solver: str | None = None
    options: Mapping[str, object] = field(default_factory=dict)


def require_forces(problem: ShootingProblem) -> None:
    """Raise an InputError if a sparse program does not take the model or its controls."""
    model = problem.model
    if problem.phases is not None:
        raise InputError(
            'search="transcription" takes no phases; take search="ddp" or "fddp", or plan with MotionProblem, which '
            "has phases of its own"
        )
    if model.has_contact:
        raise InputError(
            f'"{model.name}" has contacts, which search="transcription" does not take: plan phases of contact with '
            'MotionProblem, or take search="ddp"'
        )
    if not problem.controls.forces or model.input_names or model.prescribed_joint_names or model.drives:
        raise InputError(
            'search="transcription" takes joint forces alone as controls, and no inputs, drives or prescribed '
            'coordinates; take search="ddp"'
        )


def transcribed(problem: ShootingProblem, first: Iterate, how: Transcription, most: int, tolerance: float,
                told: Callable[[int, float], object]) -> tuple[Iterate, list[float], bool, str]:  # fmt: skip
    """Return the motion that a solver finds from a first one, its iterations' costs, and whether and why it ended."""
    model, controls = problem.model, problem.controls
    names = [model.v_names[k] for k in problem.acts]
    torque, _, _ = controls.split(first.controls)
    idle = np.ones(model.nv, dtype=bool)
    idle[problem.acts] = False
    if torque[:, idle].any():
        raise InputError('search="transcription" takes no torque on joints that are not actuators')
    cost = QuadraticCost(problem.goal, Q=problem.Q, R=problem.R, Q_end=problem.Q_end, goal_p=problem.goal_p,
                         goal_u=problem.goal_u)  # fmt: skip
    q, p = problem.start
    limits = np.column_stack([controls.low, controls.high])[problem.acts] if controls.bounded else None
    steps, of_q, of_v = problem.steps, *problem.of_states.by_name()
    guess = MotionPlan(model, problem.dt, problem.dt * np.arange(steps + 1), first.q, first.p, torque, {}, {}, {},
                       np.zeros((steps + 1, len(model.constraints))), (PhaseInterval(0, steps, ()),))  # fmt: skip
    program = MotionProblem(
        model, steps=steps, dt=problem.dt, start=(q, model.velocity_from_momentum(q, p)),
        cost=[cost, *problem.frames.costs], bounds=of_q, velocity_bounds=of_v, limits=limits, actuators=names,
        guess=guess, method=problem.method, **problem.options,
    )  # fmt: skip
    costs = [first.cost]

    def iteration(count: int, cost: float, violation: float) -> None:
        if count:
            costs.append(cost)
            told(count, cost)

    solver = how.solver or ("ipopt" if find_spec("ipyopt") else "scipy")
    found = solve(program, solver, tolerance=tolerance, max_iterations=most, progress=iteration, **how.options)
    plan, rows = found.trajectory, first.controls.copy()
    controls.split(rows)[0][:] = plan.torque
    at = problem.at(plan.q, plan.p, rows)
    if not (found.success or model.constraints):
        # equations that do not hold are gaps
        try:
            at = problem.between(plan.q, plan.p, rows)
        except ConvergenceError:
            pass
    return at, costs, found.success, found.message
