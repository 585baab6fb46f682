"""Linear-quadratic regulators on the discrete mechanics: about an equilibrium, and along a run."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from vitree.arguments import entries, numbers_of, of_kind, several
from vitree.errors import InputError, UnknownNameError
from vitree.model.finite import guarded
from vitree.model.model import Model
from vitree.run.controller import Controller
from vitree.run.linearized import Linearization
from vitree.wording import Argument, named

#: How far a step may lead from an equilibrium, as a share of the step's terms.
AT_REST = 1e-7
#: Share of the largest singular value below which a mode cannot be controlled.
UNCONTROLLED = 1e-9
#: Share of the largest singular value below which a state stays where it is.
NEUTRAL = 1e-7


@dataclass(frozen=True, eq=False)
class Regulator:
    """Feedback of the state of a step: torque = reference - K (d, p - p_reference), d from the reference's q to q.

    It is a callable (t, q, v) -> (nv,) [N or N m]. :meth:`controller` makes a :class:`vitree.Controller` of it, which
    is asked once a step: what the gains are computed for.

    Attributes
    ----------
    model : Model
    dt, t0 : float [s]
    q : (steps, nq) or (1, nq) array [m or rad]
        The reference; one row is an equilibrium.
    p : (steps, nv) or (1, nv) array [kg m/s or kg m^2/s]
    torque : (steps, nv) or (1, nv) array [N or N m]
    K : (steps, m, 2 nv) or (1, m, 2 nv) array [N m/rad or N/m, and 1/s]
        Gains of the m joint forces that act.
    P : (steps + 1, 2 nv, 2 nv) or (1, 2 nv, 2 nv) array, in units of the cost over those of the state
        The cost to go is x^T P x.
    acts : (m,) array of int
        The velocities on which forces act.

    References
    ----------
    Anderson & Moore 1990, "Optimal control: linear quadratic methods".
    """

    model: Model
    dt: float
    t0: float
    q: np.ndarray
    p: np.ndarray
    torque: np.ndarray
    K: np.ndarray
    P: np.ndarray
    acts: np.ndarray

    def __call__(self, t: float, q: np.ndarray, v: np.ndarray) -> np.ndarray:
        """Return the torque (nv,) [N or N m] at a time and state; behind the last step the last gains go on."""
        k = min(max(int(np.floor((t - self.t0) / self.dt * (1 + 1e-12) + 1e-9)), 0), len(self.K) - 1)
        off = self.model.difference(self.q[k], q), self.model.momentum_from_velocity(q, v) - self.p[k]
        found = self.torque[k].copy()
        found[self.acts] -= self.K[k] @ np.concatenate(off)
        return found

    def controller(self) -> Controller:
        """Return a controller that asks for the torque at the start of each step."""
        return Controller(self, self.dt)


@guarded
def lqr(
    at: Linearization, Q: Any, R: Any, *, actuators: Sequence[str] | None = None, torque: Any = None,
    leave_neutral: bool = False,
) -> Regulator:  # fmt: skip
    """Return the regulator that holds an equilibrium at least cost, the sum over steps of x^T Q x + u^T R u.

    Parameters
    ----------
    at : Linearization
        Of one step from the equilibrium: ``vt.linearize(model, q, dt=dt, torque=torque)``.
    Q : (2 nv, 2 nv) or (2 nv,) array, in units of the cost over those of the state
        Weights of the state's deviation x = (d, dp): of displacements, then of momenta. A row is a diagonal.
    R : (m, m) or (m,) array, in units of the cost over those of the forces
        Weights of the joint forces u.
    actuators : sequence of str, optional
        The names among ``model.v_names`` on which forces act; all if not given.
    torque : (nv,) array, optional [N or N m]
        What holds the equilibrium: the torque that ``at`` was linearized with.
    leave_neutral : bool
        Whether to leave alone what stays where it is displaced and no force moves, such as the place of a foot that
        sticks to the ground. It is an error otherwise.

    Returns
    -------
    Regulator

    Raises
    ------
    InputError, UnknownNameError
        If the state is no equilibrium, an argument has a wrong shape, or the forces cannot bring the state back. The
        text names what they cannot move.

    References
    ----------
    Anderson & Moore 1990, "Optimal control: linear quadratic methods".
    """
    from scipy.linalg import solve_discrete_are

    if of_kind(at, Linearization, "at", "a Linearization of a step").A.ndim != 2:
        raise InputError(named("at", at) + " is of a run; take tvlqr, or linearize one step")
    model, nv = at.model, at.model.nv
    _require_rest(at)
    acts = actuated(model, actuators)
    Q, R = weights(Q, "Q", 2 * nv), weights(R, "R", len(acts), definite=True)
    A, B = at.A, at.by_torque[:, acts]
    kept = _without_neutral(A, B) if leave_neutral else np.eye(2 * nv)
    # what is neutral has no part in the state that the regulator sees
    A, Q = A @ kept, kept.T @ Q @ kept
    _require_control(model, A, B)
    try:
        P = solve_discrete_are(A, B, Q, R)
    except np.linalg.LinAlgError as error:
        raise InputError(
            f"the Riccati equation has no stabilising solution ({error}); weigh more of the state in Q"
        ) from None
    K = np.linalg.solve(R + B.T @ P @ B, B.T @ P @ A)
    K = K @ kept
    largest = np.abs(np.linalg.eigvals(A - B @ K)).max()
    if not largest < 1:
        raise InputError(
            f"the regulator does not bring the state back: an eigenvalue of the closed loop is {largest:.9g}; weigh "
            "all of the state in Q"
        )
    given = np.zeros(nv) if torque is None else entries(torque, (nv,), "torque")
    return Regulator(model, at.dt, 0.0, at.q[None], at.p[None], given[None], K[None], P[None], acts)


@guarded
def tvlqr(along: Linearization, Q: Any, R: Any, Q_end: Any = None, *, actuators: Sequence[str] | None = None,
          torque: Any = None, t0: float = 0.0) -> Regulator:  # fmt: skip
    """Return the regulator along a run, at least cost: the sum over steps of x^T Q x + u^T R u, and x^T Q_end x.

    Parameters
    ----------
    along : Linearization
        Of a run: ``run.linearize()``.
    Q, R :
        As of :func:`lqr`; or (steps, ...) with a matrix for each step.
    Q_end : (2 nv, 2 nv) or (2 nv,) array, in units as Q, optional
        Weights at the end; the last Q if not given.
    actuators :
        As of :func:`lqr`.
    torque : (steps, nv) or (nv,) array, optional [N or N m]
        The torque of the run.
    t0 : float [s]
        The time at which the run begins.

    Returns
    -------
    Regulator

    Raises
    ------
    InputError, UnknownNameError
        If an argument has a wrong shape, or is not what it must be.

    References
    ----------
    Anderson & Moore 1990, "Optimal control: linear quadratic methods".
    """
    if of_kind(along, Linearization, "along", "a Linearization of a run").A.ndim != 3:
        raise InputError(named("along", along) + " is of one step; take lqr, or linearize a run")
    model, steps, nv = along.model, len(along.A), along.model.nv
    acts = actuated(model, actuators)
    Qs, Rs = _weights_over(Q, "Q", 2 * nv, steps), _weights_over(R, "R", len(acts), steps, definite=True)
    P = np.empty((steps + 1, 2 * nv, 2 * nv))
    P[-1] = Qs[-1] if Q_end is None else weights(Q_end, "Q_end", 2 * nv)
    K = np.empty((steps, len(acts), 2 * nv))
    for k in range(steps - 1, -1, -1):
        A, B = along.A[k], along.by_torque[k][:, acts]
        K[k] = np.linalg.solve(Rs[k] + B.T @ P[k + 1] @ B, B.T @ P[k + 1] @ A)
        closed = A - B @ K[k]
        # x^T P x as the sum of squares that it is: symmetric, and never negative
        P[k] = Qs[k] + K[k].T @ Rs[k] @ K[k] + closed.T @ P[k + 1] @ closed
        P[k] = 0.5 * (P[k] + P[k].T)
    if torque is None:
        given = np.zeros((steps, nv))
    else:
        shape = (nv,) if np.ndim(torque) == 1 else (steps, nv)
        given = np.broadcast_to(entries(torque, shape, "torque"), (steps, nv))
    return Regulator(model, along.dt, float(t0), along.q, along.p, given, K, P, acts)


def actuated(model: Model, actuators: Sequence[str] | None) -> np.ndarray:
    """Return the velocities on which forces act, by their names; all if none are given."""
    names = model.v_names if actuators is None else several(actuators, "actuators", "names of velocities")
    for name in names:
        if name not in model.v_names:
            raise UnknownNameError("velocity", name, model.v_names, about=Argument("actuators", actuators))
    if not names:
        raise InputError(named("actuators", actuators) + " names no velocity; give one at least")
    return np.array([model.v_names.index(name) for name in dict.fromkeys(names)])


def weights(given: Any, name: str, size: int, definite: bool = False) -> np.ndarray:
    """A symmetric matrix from itself or its diagonal, with no negative eigenvalue."""
    array = numbers_of(given, name)
    if array.ndim == 0:
        array = np.full(size, float(array))
    array = entries(array, (size,) if array.ndim == 1 else (size, size), name)
    found = np.diag(array) if array.ndim == 1 else array
    if np.abs(found - found.T).max(initial=0.0) > 1e-12 * np.abs(found).max(initial=0.0):
        raise InputError(f"{name} is not symmetric")
    least = np.linalg.eigvalsh(found).min(initial=0.0 if not definite else np.inf)
    if least < -1e-12 * np.abs(found).max(initial=0.0) or (definite and least <= 0):
        kind = "definite" if definite else "semidefinite"
        raise InputError(f"{name} must be positive {kind}; its least eigenvalue is {least:.3g}")
    return found


def _weights_over(given: Any, name: str, size: int, steps: int, definite: bool = False) -> Any:
    """Such a matrix for each step."""
    array = numbers_of(given, name)
    if array.ndim == 3:
        if len(array) != steps:
            raise InputError(f"{name} has {len(array)} matrices for {steps} steps")
        return [weights(each, f"{name}[{k}]", size, definite) for k, each in enumerate(array)]
    return [weights(array, name, size, definite)] * steps


def _require_rest(at: Linearization) -> None:
    """Raise an InputError if a step leads away from its start."""
    moved = np.abs(at.model.difference(at.q, at.q_end)).max(initial=0.0)
    pushed = np.abs(at.p_end - at.p).max(initial=0.0)
    size = at.dt * max(float(np.abs(at.model.static_force(at.q)).max(initial=0.0)), 1e-12)
    if moved > AT_REST or pushed > max(AT_REST, AT_REST * size):
        raise InputError(
            f"the state is no equilibrium: a step moves a joint by {moved:.2g} rad or m and changes a momentum by "
            f"{pushed:.2g}; linearize at rest with the torque that holds it, -model.static_force(q)"
        )


def _without_neutral(A: np.ndarray, B: np.ndarray) -> np.ndarray:
    """Return the projection along the states V = A V, with W^T A = W^T and W^T B = 0, to W^T x = 0."""
    from scipy.linalg import null_space

    n = len(A)
    # states in units of a momentum's effect
    size = np.concatenate([np.ones(n // 2), np.full(n // 2, 1 / max(np.abs(A[: n // 2, n // 2 :]).max(), 1e-300))])
    scaled, forces = A * size / size[:, None], B / size[:, None]
    unmoved = np.concatenate([scaled - np.eye(n), forces / max(np.abs(forces).max(), 1e-300)], axis=1)
    W, V = null_space(unmoved.T, rcond=NEUTRAL), null_space(scaled - np.eye(n), rcond=NEUTRAL)
    if np.linalg.matrix_rank(W.T @ V, NEUTRAL) < W.shape[1]:
        raise InputError("what no force moves goes on instead of staying where it is displaced; add actuators")
    found = np.eye(n) - V @ np.linalg.pinv(W.T @ V) @ W.T
    return found * size[:, None] / size


def _require_control(model: Model, A: np.ndarray, B: np.ndarray) -> None:
    """Raise an InputError that names what does not come back by itself and cannot be moved by the forces."""
    from scipy.linalg import eig

    values, left = eig(A, left=True, right=False)
    size = max(np.abs(B).max(), np.finfo(float).tiny)
    for value, mode in zip(values, left.T, strict=True):
        if abs(value) >= 1 - 1e-12 and np.abs(mode.conj() @ B).max() <= UNCONTROLLED * size * np.abs(mode).max():
            names = [*model.v_names, *(f"momentum of {name}" for name in model.v_names)]
            worst = names[int(np.abs(mode).argmax())]
            raise InputError(
                f'the forces cannot bring the state back: a mode in which "{worst}" has the largest part does not '
                f"decay by itself (eigenvalue {abs(value):.6g}), and no actuator moves it; give another actuator, or "
                "leave_neutral=True if it may stay where it is displaced"
            )
