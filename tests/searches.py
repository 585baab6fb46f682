"""Shooting searches whose costs and first guess stand among their other arguments, so that a test can change one."""

from __future__ import annotations

from typing import Any

import numpy as np

import vitree as vt
from vitree.control import MotionSolution, ProjectionNewton, QuadraticCost, optimize_motion
from vitree.control.shooting_problem import ShootingProblem, guess_parts

COST = "goal", "Q", "R", "Q_end", "goal_p", "goal_u"
CONTROL = "torque", "inputs", "prescribed"
#: A cart that keeps its pole upright.
UPRIGHT = {
    "duration": 0.6, "dt": 0.02, "actuators": ["slide"],
    "costs": QuadraticCost([0.0, 0.0], Q=0.02 * np.array([1, 1, 0.1, 0.1]), R=[2e-4], Q_end=[10, 10, 1, 1]),
}  # fmt: skip


def sorted_out(task: dict[str, Any]) -> dict[str, Any]:
    """The arguments of optimize_motion, of these."""
    rest = {name: value for name, value in task.items() if name not in (*COST, *CONTROL, "frames")}
    quadratic = QuadraticCost(**{name: task[name] for name in COST if name in task})
    control = {name: task[name] for name in CONTROL if name in task} or None
    return {"costs": [quadratic, *task.get("frames", ())], "control": control, **rest}


def ddp(model: vt.Model, q0=None, v0=None, **task) -> MotionSolution:
    return optimize_motion(model, q0, v0, **sorted_out(task))


def projection(model: vt.Model, q0=None, v0=None, **task) -> MotionSolution:
    given = {name: task.pop(name) for name in ("direction", "feedback") if name in task}
    search = ProjectionNewton(**given) if given else "projection"
    return optimize_motion(model, q0, v0, search=search, **sorted_out(task))


def shooting_problem(model: vt.Model, q0=None, v0=None, **task) -> ShootingProblem:
    given = sorted_out(task)
    keywords = {name: given.pop(name) for name in ("actuators", "limits", "method") if name in given}
    duration, dt, costs, control = (given.pop(name) for name in ("duration", "dt", "costs", "control"))
    prescribed = guess_parts(control)[2]
    return ShootingProblem(model, q0, v0, duration, dt, costs, prescribed=prescribed, options=given, **keywords)
