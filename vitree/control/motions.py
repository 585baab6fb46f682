"""Motions to be optimised: a problem, what searches ask of it, and what they find."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

from vitree._core import scalar
from vitree.arguments import Asked, entries, numbers_of, of_kind, real, whole
from vitree.control.frames import Distances
from vitree.control.regulator import Regulator, actuated, weights
from vitree.errors import ConvergenceError, InputError, ModelError
from vitree.integrators.base import Records
from vitree.integrators.composed_slopes import Rows
from vitree.integrators.curvature import QUICK, bends
from vitree.integrators.slopes import Slopes, joint_maps, slopes
from vitree.model.model import Model
from vitree.run.arguments import Schedule, count_steps
from vitree.run.linearized import integrator_of
from vitree.run.outcome import Outcome
from vitree.run.simulation import Simulation
from vitree.run.trajectory import Trajectory
from vitree.wording import Argument, named

core = scalar()
#: Most velocities for which second derivatives of steps are taken.
CURVED = 12
#: Shares of a correction that are tried.
SHARES = 2.0 ** -np.arange(11)
#: Of the decrease that the expansion promises, what a step must keep.
ARMIJO = 1e-4
#: [rad] Where a joint turns farther in a step, its derivatives say little.
FAR = 1.5


@dataclass(frozen=True, eq=False)
class Motion:
    """The best motion that was found.

    Attributes
    ----------
    trajectory : Trajectory
        Its records, one for each step.
    torque : (steps, nv) array [N or N m]
        Acts over each step.
    regulator : Regulator
        Feedback that brings the robot back to the motion; with bounds, no gain where a force is at its bound.
    cost : float
        In units as the weights say.
    costs : list of float, in units as ``cost``
        After each iteration; the first is that of the guess.
    success : bool
        Whether the costs converged.
    message : str
        Why the iteration ended.
    seconds : float [s]
    """

    trajectory: Trajectory
    torque: np.ndarray
    regulator: Regulator
    cost: float
    costs: list[float]
    success: bool
    message: str
    seconds: float

    def __repr__(self) -> str:
        state = "converged" if self.success else self.message
        return f"<vitree.control.Motion: cost {self.cost:.6g} after {len(self.costs) - 1} iterations, {state}>"


@dataclass(frozen=True, eq=False)
class Path:
    """A simulated motion: states (steps + 1, ...), torque (steps, nv), and its cost."""

    q: np.ndarray
    p: np.ndarray
    torque: np.ndarray
    cost: float


class Search(Protocol):
    """An iteration that improves a motion."""

    path: Path
    costs: list[float]

    def iterate(self, tolerance: float) -> tuple[bool, str] | None:
        """Improve the motion; return whether it is found and why the iteration ended, or None."""

    def feedback(self) -> tuple[np.ndarray, np.ndarray]:
        """Return the gains (steps, m, 2 nv) of the regulator along the motion, and the matrices of the cost to go."""


class MotionSearch:
    """The checked arguments, and what the iteration asks of them."""

    def __init__(self, model: Any, q0: Any, v0: Any, duration: Any, dt: Any, goal: Any, Q: Any, R: Any, Q_end: Any,
                 frames: Any, actuators: Any, limits: Any, method: Any, options: dict[str, Any]):  # fmt: skip
        of_kind(model, Model, "model", "a vitree Model")
        self.integrator = integrator_of(model, method, dt, options)
        if model.constraints or model.kinematic_names or model.touches:
            raise ModelError(
                "searches for motions know no constraints, contacts or prescribed coordinates, and "
                f'"{model.name}" has some'
            )
        self.model, self.dt, self.method, self.options = model, real(dt), method, options
        self.steps = count_steps(duration, dt)
        #: whether second derivatives of steps are taken: forces must be momenta that do not depend on the state
        self.bends = model.nv <= CURVED and (model.nq == model.nv or method == "linear-time")
        self.frames = Distances(model, frames, self.steps)
        if goal is None and not self.frames.costs:
            raise InputError("there is nothing to go to: give " + named("goal") + ", or " + named("frames"))
        self.acts = actuated(model, actuators).astype(np.intc)
        m, n = len(self.acts), 2 * model.nv
        self.Q, self.R = weights(Q, "Q", n), weights(R, "R", m, definite=True)
        self.Q_end = self.Q if Q_end is None else weights(Q_end, "Q_end", n)
        self.limits = None
        if limits is not None:
            array = numbers_of(limits, "limits")
            self.limits = np.full(m, float(array)) if array.ndim == 0 else entries(array, (m,), "limits")
            if not (self.limits > 0).all():
                raise InputError(named("limits", limits) + " must be positive")
        #: which velocities are turns
        self.turns = [k for joint in model.joints for k in _turns(joint)]
        #: the largest force on each velocity
        self.most = np.full(model.nv, np.inf)
        if self.limits is not None:
            self.most[self.acts] = self.limits
        held = Simulation(model, q0, v0, dt=dt, method=method, **options)
        self.start = held.q.copy(), held.p.copy()
        self.goal = self.start[0] if goal is None else model.validate_configuration(goal, "goal")
        if model.input_names:
            raise InputError(
                f"the robot has inputs ({', '.join(model.input_names)}), of drives or other loads; ilqr finds torques: "
                "leave these out"
            )

    def corrected(self, path: Path, share: float, gains: tuple[np.ndarray, np.ndarray],
                  nearby: tuple[np.ndarray, np.ndarray] | None = None) -> Path | None:  # fmt: skip
        """Return the motion with a share of a correction and feedback to a path, or states nearby; None if it fails."""
        try:
            found = self.follow(path.torque, (self.acts, share, *gains, *(nearby or (path.q, path.p))))
        except ConvergenceError:
            return None
        return found if np.isfinite(found.cost) else None

    def turn(self, q: np.ndarray) -> float:
        """Return the largest turn of a joint in a step [rad]."""
        return float(np.abs(self.model.difference(q[:-1], q[1:])[:, self.turns]).max(initial=0.0))

    def follow(self, torque: np.ndarray, correction: Any = None, told: Any = ()) -> Path:
        """Return the motion under a torque; a correction, and what is told of steps, are as the core takes them."""
        q, p = np.empty((self.steps + 1, self.model.nq)), np.empty((self.steps + 1, self.model.nv))
        used, integrator = torque.copy(), self.integrator
        integrator.renew()
        integrator.start(0.0, *self.start)
        status, _ = core.follow(integrator.stepper, correction, self.most, used, q, p, *told)
        if status:
            raise integrator._stopped(status)
        return Path(q, p, used, self.cost(q, p, used))

    def recorded(self, path: Path) -> Trajectory:
        """Return the records of a motion: its steps are taken once more."""
        records = Records.room(self.steps + 1, self.model.nq, self.model.nv, 0)
        found = self.follow(path.torque, None, (records.iterations, records.residual))
        records.t[:], records.q, records.x = self.dt * np.arange(self.steps + 1), found.q, found.p
        schedule = Schedule(self.dt, self.steps * self.dt, self.steps, None, False)
        return Outcome(self.integrator, records, schedule, 1, {}, None, False, False).trajectory()

    def searched(self, begin: Callable[[Path], Search], torque: Any, max_iterations: Any, tolerance: Any, progress: Any,
                 began: float) -> Motion:  # fmt: skip
        """Return the best motion of a search that begins with the motion under a torque."""
        model, most, least = self.model, whole(max_iterations), real(tolerance)
        if most is None or most < 0:
            raise InputError(Argument("max_iterations", max_iterations) + " must be a whole number")
        if not least >= 0:
            raise InputError(Argument("tolerance", tolerance) + " must be a number, zero or positive")
        told = None if progress is None else Asked(progress, "progress", "(iteration, cost)", timed=False)
        shape = (model.nv,) if torque is not None and np.ndim(torque) == 1 else (self.steps, model.nv)
        given = np.zeros(shape) if torque is None else entries(torque, shape, "torque")
        search = begin(self.follow(np.array(np.broadcast_to(given, (self.steps, model.nv)))))
        success, message = False, f"the largest number of iterations, {most}, was reached"
        try:
            for iteration in range(most):
                ended = search.iterate(least)
                if told is not None:
                    told(iteration + 1, search.costs[-1])
                if ended is not None:
                    success, message = ended
                    break
        except KeyboardInterrupt:
            message = "the iteration was interrupted by the keyboard"
        path, turn = search.path, self.turn(search.path.q)
        regulator = Regulator(model, self.dt, 0.0, path.q[:-1], path.p[:-1], path.torque, *search.feedback(), self.acts)
        if not success and turn > FAR:
            message += f"; a joint turns by {turn:.1f} rad in a step: weigh its momentum or its force more, or halve dt"
        seconds, trajectory = time.perf_counter() - began, self.recorded(path)
        return Motion(trajectory, path.torque, regulator, path.cost, search.costs, success, message, seconds)

    def states(self, q: np.ndarray, p: np.ndarray) -> np.ndarray:
        """Return x (steps + 1, 2 nv) from the goal."""
        return np.concatenate([self.model.difference(np.broadcast_to(self.goal, q.shape), q), p], axis=1)

    def cost(self, q: np.ndarray, p: np.ndarray, torque: np.ndarray) -> float:
        """Return the cost of a motion."""
        x, u = self.states(q, p), torque[:, self.acts]
        running = np.einsum("ki,ij,kj", x[:-1], self.Q, x[:-1]) + np.einsum("ki,ij,kj", u, self.R, u)
        return float(running + x[-1] @ self.Q_end @ x[-1]) + self.frames.cost(q)

    def slopes(self, q: np.ndarray, q2: np.ndarray, p: np.ndarray) -> Slopes:
        """Return the derivatives of the steps from q to q2."""
        return slopes(self.integrator, q, q2, p, np.zeros((self.steps, 0)), t=self.dt * np.arange(self.steps))

    def curvature(self, path: Path, A: np.ndarray) -> np.ndarray:
        """Return the derivatives (steps, 2 nv, 2 nv, 2 nv) of A by the state; the first index is that of the state."""
        rows = Rows(path.q[:-1], path.q[1:], path.p[:-1], path.p[1:], np.zeros((self.steps, 0)),
                    self.dt * np.arange(self.steps))  # fmt: skip
        found = np.empty((self.steps, *A.shape[1:], A.shape[2]))
        for which, bent in bends([self.integrator], rows, ("state",), A, QUICK):
            found[:, which] = bent.swapaxes(0, 1)
        return found

    def expand(self, path: Path) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
        """Return A and B of the steps, the momenta (m, nv) [s] that forces are, and gradients and matrices of the cost.

        The momenta are those at the start of the first step; on joints of one coordinate all steps have the same.
        """
        found = self.slopes(path.q[:-1], path.q[1:], path.p[:-1])
        impulses = found.F.reshape(-1, 2, self.model.nv, self.model.nv)[0, 0][:, self.acts].T
        steps = found.A, np.ascontiguousarray(found.by_torque()[:, :, self.acts]), np.ascontiguousarray(impulses)
        x = self.states(path.q, path.p)
        weighed = np.concatenate([x[:-1] @ self.Q, x[-1:] @ self.Q_end])
        matrices = np.broadcast_to(self.Q, (self.steps + 1, *self.Q.shape)).copy()
        matrices[-1] = self.Q_end
        E = chart(self.model, x[:, : self.model.nv])
        if E is not None:
            weighed, matrices = np.einsum("kij,ki->kj", E, weighed), E.swapaxes(1, 2) @ matrices @ E
        gradients, matrices = 2 * weighed, 2 * matrices
        self.frames.expand(path.q, gradients, matrices)
        return *steps, gradients, matrices


def chart(model: Model, d: np.ndarray) -> np.ndarray | None:
    """Return the derivatives (n, 2 nv, 2 nv) of x = (d, p) by displacements of q and by p; None if they are ones."""
    if model.nq == model.nv:
        return None
    nv = model.nv
    found = np.zeros((len(d), 2 * nv, 2 * nv))
    found[:, range(2 * nv), range(2 * nv)] = 1.0
    found[:, :nv, :nv] = joint_maps(model, -d)
    return found


def _turns(joint: Any) -> range:
    """Return the velocities of a joint that are turns."""
    at = range(joint.v_slice.start, joint.v_slice.stop)
    return {"prismatic": at[:0], "free": at[3:]}.get(joint.kind, at)
