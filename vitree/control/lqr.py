"""Linear-quadratic regulators on the discrete mechanics: about an equilibrium, and along a run."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from vitree.arguments import axes_of, entries, explain_calls, numbers_of, of_kind, several
from vitree.errors import InputError, UnknownNameError
from vitree.model.broadcasting import guarded
from vitree.model.model import Model
from vitree.run.controller import Control, Controller, joints_of, parts_of
from vitree.run.linearization import Linearization, input_rows
from vitree.run.linearize import AT_REST

#: Share of the largest singular value below which a mode cannot be controlled.
UNCONTROLLED = 1e-9
#: Share of the effect of forces below which they do not reach a direction.
UNREACHED = 1e-7
#: How far from the unit circle an eigenvalue of a state that neither decays nor grows may be.
ON_CIRCLE = 1e-6
#: Steps after which what is left alone must not have grown, and the most that it may be then.
LATER, GROWN = 1024, 10.0


@dataclass(frozen=True, eq=False, repr=False)
class Regulator:
    """Feedback of the state of a step: controls = reference - K (d, p - p_reference), d from the reference's q to q.

    It is a callable (t, q, v) -> (nv,) [N or N m] of joint forces. :meth:`controller` returns what drives a run, which
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
        Gains of the m joint forces and inputs that act.
    P : (steps + 1, 2 nv, 2 nv) or (1, 2 nv, 2 nv) array, in units of the cost over those of the state
        The cost to go is x^T P x.
    acts : (m,) array of int
        The velocities on which forces act; of inputs nv and their number.
    inputs : (steps, nu) or (1, nu) array, in units as the loads take them
        The reference of the inputs.

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
    inputs: np.ndarray

    def __call__(self, t: float, q: np.ndarray, v: np.ndarray) -> np.ndarray:
        """Return the torque (nv,) [N or N m] at a time and state; behind the last step the last gains go on."""
        return self._controls(t, q, v)[: self.model.nv]

    def inputs_at(self, t: float, q: np.ndarray, v: np.ndarray) -> np.ndarray:
        """Return the inputs at a time and state.

        Parameters
        ----------
        t : float [s]
        q : (nq,) array [m or rad]
        v : (nv,) array [m/s or rad/s]

        Returns
        -------
        (nu,) array, in units as the loads take them
        """
        return self._controls(t, q, v)[self.model.nv :]

    def _controls(self, t: float, q: np.ndarray, v: np.ndarray) -> np.ndarray:
        k = min(max(int(np.floor((t - self.t0) / self.dt * (1 + 1e-12) + 1e-9)), 0), len(self.K) - 1)
        off = self.model.difference(self.q[k], q), self.model.generalized_momentum(q, v) - self.p[k]
        found = np.concatenate([self.torque[k], self.inputs[k]])
        found[self.acts] -= self.K[k] @ np.concatenate(off)
        return found

    def __repr__(self) -> str:
        reference = "an equilibrium" if len(self.K) == 1 else f"{len(self.K)} steps"
        return (
            f"<vitree.control.Regulator of {self.model.name!r} about {reference}: {len(self.acts)} "
            f"{'joint forces' if (self.acts < self.model.nv).all() else 'joint forces and inputs'}, dt = {self.dt:g} s>"
        )

    def controller(self) -> Controller | Control:
        """Return the ``control=`` of a run, asked at the start of each step: of a model with inputs, of both."""
        torque, inputs = (
            Controller(function, self.dt, joints=joints_of(self.model)) for function in (self, self.inputs_at)
        )
        return torque if not self.inputs.shape[1] else Control(torque=torque, inputs=inputs)


@explain_calls
@guarded
def lqr(
    at: Linearization, Q: ArrayLike, R: ArrayLike, *, actuators: Sequence[str] | None = None,
    control: Control | ArrayLike | None = None, leave_neutral: bool = False,
) -> Regulator:  # fmt: skip
    """Return the regulator that holds an equilibrium at least cost, the sum over steps of x^T Q x + u^T R u.

    Parameters
    ----------
    at : Linearization
        Of one step from the equilibrium: ``vt.linearize(model, q, dt=dt, control=torque)``.
    Q : (2 nv, 2 nv) or (2 nv,) array, in units of the cost over those of the state
        Weights of the state's deviation x = (d, dp): of displacements, then of momenta. A row is a diagonal.
    R : (m, m) or (m,) array, in units of the cost over those of the controls
        Weights of the joint forces and inputs u.
    actuators : sequence of str, optional
        What acts: names of ``model.v_names`` for joint forces, and of ``model.input_names`` for inputs of loads and
        targets of drives; all joint forces if not given.
    control : (nv,) array, or Control, optional
        What holds the equilibrium, as ``at`` was linearized with: joint forces [N or N m], or a
        :class:`vitree.Control` with numbers for torque, inputs and targets.
    leave_neutral : bool
        Whether to leave alone what neither decays nor grows and no force moves, such as the place of a foot that sticks
        to the ground: directions whose eigenvalues are on the unit circle, and whose left vectors W have W^T B = 0. All
        else is brought back to where it belongs beside them. It is an error otherwise.

    Returns
    -------
    Regulator

    Raises
    ------
    InputError, UnknownNameError
        If the state is no equilibrium, an argument has a wrong shape, Q is zero, or the forces cannot bring the state
        back. The text names what they cannot move.

    References
    ----------
    Anderson & Moore 1990, "Optimal control: linear quadratic methods".
    """
    from scipy.linalg import solve_discrete_are

    if of_kind(at, Linearization, "at", "a Linearization of a step: vt.linearize(model, q, dt=)").A.ndim != 2:
        raise InputError("at", at, "is of a run; take tvlqr, or linearize one step")
    model, nv = at.model, at.model.nv
    _require_rest(at)
    acts = actuated(model, actuators, True)
    Q, R = weights(Q, "Q", 2 * nv), weights(R, "R", len(acts), definite=True)
    if not Q.any():
        raise InputError("Q", 0, "weighs nothing, so that no deviation costs anything; weigh the state")
    A, B = at.A, np.concatenate([at.by_torque, at.by_inputs], axis=-1)[:, acts]
    split = _left_alone(model, at.q, A, B) if leave_neutral else Split(np.eye(2 * nv), np.eye(2 * nv))
    # the deviation x as the regulator sees it is y = seen x, and moves as x = basis y does
    own, forces, cost = split.seen @ A @ split.basis, split.seen @ B, split.basis.T @ Q @ split.basis
    _require_control(model, own, forces, split)
    try:
        P = solve_discrete_are(own, forces, cost, R)
    except np.linalg.LinAlgError as error:
        raise InputError(
            f"the Riccati equation has no stabilising solution ({error}); weigh more of the state in Q"
        ) from None
    K = np.linalg.solve(R + forces.T @ P @ forces, forces.T @ P @ own) @ split.seen
    _require_decay(A - B @ K, split.alone)
    P = split.seen.T @ P @ split.seen
    return Regulator(model, at.dt, 0.0, at.q[None], at.p[None], K=K[None], P=P[None], acts=acts,
                     **_reference(model, control, 1))  # fmt: skip


@explain_calls
@guarded
def tvlqr(along: Linearization, Q: ArrayLike, R: ArrayLike, Q_end: ArrayLike | None = None, *,
          actuators: Sequence[str] | None = None, control: Control | ArrayLike | None = None,
          t0: float = 0.0) -> Regulator:  # fmt: skip
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
    control : (steps, nv) or (nv,) array, or Control, optional
        That of the run, in numbers: joint forces [N or N m], or a :class:`vitree.Control`.
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
        raise InputError("along", along, "is of one step; take lqr, or linearize a run")
    model, steps, nv = along.model, len(along.A), along.model.nv
    acts = actuated(model, actuators, True)
    by_controls = np.concatenate([along.by_torque, along.by_inputs], axis=-1)[..., acts]
    Qs, Rs = _weights_over(Q, "Q", 2 * nv, steps), _weights_over(R, "R", len(acts), steps, definite=True)
    P = np.empty((steps + 1, 2 * nv, 2 * nv))
    P[-1] = Qs[-1] if Q_end is None else weights(Q_end, "Q_end", 2 * nv)
    K = np.empty((steps, len(acts), 2 * nv))
    for k in range(steps - 1, -1, -1):
        A, B = along.A[k], by_controls[k]
        K[k] = np.linalg.solve(Rs[k] + B.T @ P[k + 1] @ B, B.T @ P[k + 1] @ A)
        closed = A - B @ K[k]
        # x^T P x as the sum of squares that it is: symmetric, and never negative
        P[k] = Qs[k] + K[k].T @ Rs[k] @ K[k] + closed.T @ P[k + 1] @ closed
        P[k] = 0.5 * (P[k] + P[k].T)
    return Regulator(model, along.dt, float(t0), along.q, along.p, K=K, P=P, acts=acts,
                     **_reference(model, control, steps))  # fmt: skip


def _reference(model: Model, control: object, steps: int) -> dict[str, np.ndarray]:
    """Return the rows of torque (steps, nv) and of inputs and targets (steps, nu) of a control in numbers."""
    parts = parts_of(control)
    torque, inputs, targets = parts["torque"], parts["inputs"], parts["targets"]
    for name, given in (("torque", torque), ("inputs", inputs), ("targets", targets)):
        if callable(given) or isinstance(given, Controller):
            raise InputError(name, given, "must be numbers; a regulator has a reference for each step")
    rows = input_rows(model, inputs, targets, steps)
    return {
        "torque": rows_of(np.zeros(model.nv) if torque is None else torque, steps, model.nv, "torque"),
        "inputs": entries(rows, rows.shape, "inputs"),
    }


def actuated(model: Model, actuators: Sequence[str] | None, inputs: bool = False) -> np.ndarray:
    """Return the velocities on which forces act, by their names; all if none are given.

    With ``inputs`` there may be names of these as well, which are nv and their number.
    """
    known = [*model.v_names, *(model.input_names if inputs else ())]
    what = "names of velocities or inputs" if inputs else "names of velocities"
    names = model.v_names if actuators is None else several(actuators, "actuators", what)
    prescribed = [name for name, held in zip(model.v_names, model.flat.kinematic, strict=True) if held]
    for name in names:
        if not isinstance(name, str) or name not in known:
            raise UnknownNameError("velocity or input" if inputs else "velocity", name, known, argument="actuators")
        if actuators is not None and name in prescribed:
            raise InputError(
                "actuators", actuators, f"names {name!r}, which is prescribed: no force moves it. A joint that is not "
                "prescribed may have a drive (`with_drives`), whose target a regulator can move"
            )
    if not names:
        raise InputError("actuators", actuators, "names no velocity; give one at least")
    return np.array([known.index(name) for name in dict.fromkeys(names)])


def limits_of(limits: ArrayLike, m: int) -> tuple[np.ndarray, np.ndarray]:
    """Return the least and largest values (m,) from a number, (m,) numbers, or (m, 2) pairs; they may be infinite."""
    array = numbers_of(limits, "limits")
    if array.shape not in ((), (m,), (m, 2)):
        raise InputError("limits", limits, f"has shape {array.shape}; it must be a number, ({m},) or ({m}, 2)")
    if array.ndim == 2:
        if not (array[:, 0] < array[:, 1]).all():
            raise InputError("limits", limits, "must have pairs of a smaller and a larger number")
        return array[:, 0], array[:, 1]
    if not (array > 0).all():
        raise InputError("limits", limits, "must be positive")
    return -array, array


def rows_of(given: ArrayLike, count: int, size: int, name: str) -> np.ndarray:
    """Return rows (count, size), from these or from one row."""
    if axes_of(given) == 2:
        return entries(given, (count, size), name)
    return np.tile(entries(given, (size,), name, f", or a row for each of {count}"), (count, 1))


def weights(given: ArrayLike, name: str, size: int, definite: bool = False) -> np.ndarray:
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


def _weights_over(given: ArrayLike, name: str, size: int, steps: int, definite: bool = False) -> list[np.ndarray]:
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
    size = at.dt * max(float(np.abs(at.model.passive_force(at.q)).max(initial=0.0)), 1e-12)
    if moved > AT_REST or pushed > max(AT_REST, AT_REST * size):
        raise InputError(
            f"the state is no equilibrium: a step moves a joint by {moved:.2g} rad or m and changes a momentum by "
            f"{pushed:.2g}; linearize at rest with the torque that holds it, -model.passive_force(q)"
        )


class Split(NamedTuple):
    """A state x in directions that are left alone, and the others y = seen x, of which x = basis y + ... consists."""

    seen: np.ndarray
    basis: np.ndarray

    @property
    def alone(self) -> int:
        """How many directions are left alone."""
        return int(self.seen.shape[1]) - len(self.seen)


def _left_alone(model: Model, q: np.ndarray, A: np.ndarray, B: np.ndarray) -> Split:
    """Return the states without those that neither decay nor grow and that no force moves, W^T A = T W^T, W^T B = 0.

    Displacements and momenta are compared by the inertia: those that mean the same kinetic energy have the same size.
    """
    from scipy.linalg import schur

    n = len(A)
    size = _by_energy(model, q, A)
    A = size @ np.linalg.solve(size.T, A.T).T
    B = size @ B
    B = B / np.maximum(np.linalg.norm(B, axis=0), 1e-300)
    T, Z, count = schur(A.T, sort=lambda x, y: abs(np.hypot(x, y) - 1) < ON_CIRCLE)
    # what the forces reach of the directions on the circle, at once or by the steps that follow
    on_circle, reached = T[:count, :count].T, [Z[:, :count].T @ B]
    for _ in range(count - 1):
        reached.append(on_circle @ reached[-1])
    U, singular, _ = np.linalg.svd(np.concatenate(reached, axis=1)) if count else (np.zeros((0, 0)), np.zeros(0), None)
    rank = int((singular > UNREACHED).sum())
    W = Z[:, :count] @ U[:, rank:]
    others = np.linalg.svd(W)[0][:, W.shape[1] :] if W.shape[1] else np.eye(n)
    alone = W.T @ A @ W
    if W.shape[1] and not np.abs(np.linalg.matrix_power(alone, LATER)).max() < GROWN:
        raise InputError("a part of the state that no force reaches does not stay where it is displaced; add actuators")
    # where the others are at rest beside what is left alone: (others Y + W) z, with A_o Y - Y T = -A_ow
    Y = _beside(others.T @ A @ others, others.T @ A @ W, alone)
    return Split((others.T - Y @ W.T) @ size, np.linalg.solve(size, others))


def _by_energy(model: Model, q: np.ndarray, A: np.ndarray) -> np.ndarray:
    """Return the matrix that turns (d, dp) into numbers that compare: (s L^T d, L^-1 dp), M = L L^T."""
    nv = len(A) // 2
    L = np.linalg.cholesky(model.crba(q))
    moved = L.T @ A[:nv, nv:] @ L
    share = 1 / max(float(np.abs(np.linalg.eigvals(moved)).max()), 1e-300)
    found = np.zeros((2 * nv, 2 * nv))
    found[:nv, :nv], found[nv:, nv:] = share * L.T, np.linalg.inv(L)
    return found


def _beside(own: np.ndarray, coupling: np.ndarray, alone: np.ndarray) -> np.ndarray:
    """Return Y of own Y - Y alone = -coupling, the least one where it is not unique."""
    from scipy.linalg import schur

    R, Z = schur(alone, output="complex")
    right, found = -coupling @ Z, np.zeros(coupling.shape, complex)
    for j in range(len(R)):
        wanted = right[:, j] + found[:, :j] @ R[:j, j]
        found[:, j] = np.linalg.lstsq(own - R[j, j] * np.eye(len(own)), wanted, rcond=UNREACHED)[0]
    return np.real(found @ Z.conj().T)


def _require_decay(closed: np.ndarray, alone: int) -> None:
    """Raise an InputError if the closed loop keeps or grows more than what is left alone."""
    sizes = np.sort(np.abs(np.linalg.eigvals(closed)))[::-1]
    worst = sizes[0] if sizes[0] > 1 + 10 * ON_CIRCLE or alone == len(sizes) else sizes[alone]
    if not worst < 1 and not (alone == len(sizes) and worst <= 1 + 10 * ON_CIRCLE):
        raise InputError(
            f"the regulator does not bring the state back: an eigenvalue of the closed loop is {worst:.9g}; weigh "
            "all of the state in Q"
        )


def _require_control(model: Model, A: np.ndarray, B: np.ndarray, split: Split) -> None:
    """Raise an InputError that names what does not come back by itself and cannot be moved by the forces."""
    from scipy.linalg import eig

    values, left = eig(A, left=True, right=False)
    size = max(np.abs(B).max(), np.finfo(float).tiny)
    for value, mode in zip(values, left.T, strict=True):
        if abs(value) >= 1 - 1e-12 and np.abs(mode.conj() @ B).max() <= UNCONTROLLED * size * np.abs(mode).max():
            names = [*model.v_names, *(f"momentum of {name}" for name in model.v_names)]
            worst = names[int(np.abs(mode.conj() @ split.seen).argmax())]
            raise InputError(
                f'the forces cannot bring the state back: a mode in which "{worst}" has the largest part does not '
                f"decay by itself (eigenvalue {abs(value):.6g}), and no actuator moves it; give another actuator, or "
                "leave_neutral=True if it may stay where it is displaced"
            )
