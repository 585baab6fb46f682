"""The start of an optimisation: a straight way with fitting inputs, or another plan."""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp

from vitree.arguments import of_kind
from vitree.control.dynamics import Dynamics
from vitree.control.plan import Plan
from vitree.control.terms import Sum, Term
from vitree.control.variables import Variables
from vitree.errors import InputError


def straight(variables: Variables, vehicle: Dynamics, T: float, start, goal, momentum: Sum) -> np.ndarray:
    """Return all variables (n,) of a straight way of duration T from a start to a goal, each a pair (q, v).

    ``momentum`` is the balance of momentum as a function of the inputs. The inputs minimise its squares, near the trim.
    """
    (q0, v0), (qN, vN), N = start, goal, variables.steps
    x = variables.given
    x[variables.duration] = T
    s = np.linspace(0.0, 1.0, N + 1)
    x[variables.q] = q = vehicle.interpolate(q0, np.where(np.isfinite(qN), qN, q0), s * s * (3 - 2 * s))
    x[variables.v] = vehicle.velocities(q, T / N)
    x[variables.v_ends] = v0, np.where(np.isfinite(vN), vN, 0.0)
    x[variables.u] = vehicle.trim
    A, b = momentum.jacobian(x), momentum.value(x)
    H = (A.T @ A).tocsc()
    level = H.diagonal().mean()
    if not 1e-200 < level < 1e200:
        raise InputError(
            f"the duration is {T:g} s: steps of {T / N:g} s are too long or too short for floating point, or no input "
            "moves the vehicle; give another duration"
        )
    damped = H + 1e-6 * level * sp.eye_array(H.shape[0], format="csc")
    x[variables.u] -= sp.linalg.spsolve(damped, A.T @ b).reshape(variables.u.shape)
    return x


def of_inputs(terms: list[Term], rows: int, variables: Variables) -> Sum:
    """Return a sum of terms as a function of the inputs alone, all of them."""
    place = np.full(variables.size, -1)
    place[variables.u] = np.arange(variables.u.size).reshape(variables.u.shape)
    return Sum(terms, rows, place)


def resampled(variables: Variables, vehicle: Dynamics, plan: Plan) -> np.ndarray:
    """Return all variables (n,) of a plan, which may have another number of steps."""
    of_kind(plan, Plan, "guess", "a Plan")
    names = (plan.q_names, plan.v_names, plan.input_names)
    if names != (vehicle.q_names, vehicle.v_names, vehicle.input_names):
        raise InputError(f"the guess is of another vehicle: it has {names}")
    x, T, N = variables.given, plan.t[-1], variables.steps
    nodes, middles = np.linspace(0, T, N + 1), (np.arange(N) + 0.5) / N * T
    x[variables.duration] = T
    x[variables.q] = np.stack([np.interp(nodes, plan.t, column) for column in plan.q.T], axis=1)
    halves = (plan.t[1:] + plan.t[:-1]) / 2
    for index, values in ((variables.v, plan.v), (variables.u, plan.u)):
        x[index] = np.stack([np.interp(middles, halves, column) for column in values.T], axis=1)
    x[variables.v_ends] = plan.v_ends
    return x
