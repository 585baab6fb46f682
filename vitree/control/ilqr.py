"""Trajectory optimisation by differential dynamic programming on the discrete mechanics, with bounds on the forces.

The cost to go is expanded to second order about a motion, from its end to its start. Far from the optimum the dynamics
are taken as linear (iterative LQR), near it their second derivatives count as well (DDP), so that the iteration ends
as Newton's does.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, cast

import numpy as np

from vitree._core import scalar
from vitree.arguments import Asked, entries, real, whole
from vitree.control.frames import Distances, Reach
from vitree.control.regulator import Regulator, actuated, weights
from vitree.errors import ConvergenceError, InputError
from vitree.integrators.base import Records
from vitree.integrators.slopes import Slopes, slopes
from vitree.lie import SE3, SO3
from vitree.model.model import Model
from vitree.run.arguments import Schedule, count_steps
from vitree.run.linearized import integrator_of
from vitree.run.outcome import Outcome
from vitree.run.simulation import Simulation
from vitree.run.trajectory import Trajectory
from vitree.wording import Argument, named

core = scalar()
#: Shares of a correction that are tried.
SHARES = 2.0 ** -np.arange(11)
#: Of the decrease that the expansion promises, what a step must keep.
ARMIJO = 1e-4
#: Most velocities for which second derivatives of steps are taken, and the size of the differences [m or rad].
CURVED, DIFFERENCE = 12, 1e-4
#: Share of the cost that iterations of linear dynamics gain while they are the better ones.
SLOW = 0.01
#: [rad] Where a joint turns farther in a step, its derivatives say little.
FAR = 1.5
#: Regularisation, in units of R: the least that is not zero, the most, and the factor by which it begins to change.
LEAST, MOST, FACTOR = 1e-6, 1e10, 2.0


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


def ilqr(
    model: Model, q0: Any = None, v0: Any = None, *, duration: float, dt: float, goal: Any = None, Q: Any = 0.0, R: Any,
    Q_end: Any = None, frames: Sequence[Reach] | None = None, torque: Any = None,
    actuators: Sequence[str] | None = None, limits: Any = None,
    method: str = "linear-time", max_iterations: int = 200, tolerance: float = 1e-7,
    progress: Callable[[int, float], Any] | None = None, **options: Any,
) -> Motion:  # fmt: skip
    """Find torques that take a robot to a goal at least cost.

    The cost is the sum over steps of x^T Q x + u^T R u, and x^T Q_end x at the end. Here u are the joint forces on the
    actuators, and x = (d, p): the displacement from the goal to the configuration, ``model.difference(goal, q)``, and
    the momentum. Costs of ``frames`` are added. The derivatives are the exact ones of the steps, see
    :func:`vitree.linearize`.

    Parameters
    ----------
    model : Model
        As :func:`vitree.linearize` takes it.
    q0 : (nq,) array, optional [m or rad]
        The configuration at the start; neutral if not given.
    v0 : (nv,) array, optional [m/s or rad/s]
        The velocity there; zero if not given.
    duration, dt : float [s]
        Of the motion, and of a step.
    goal : (nq,) array, optional [m or rad]
        The configuration to go to. It may be left out where ``frames`` are given: it is the start then.
    Q : (2 nv, 2 nv) or (2 nv,) array, in units of the cost over those of the state
        A row is a diagonal. May be zero.
    R : (m, m) or (m,) array, in units of the cost over those of the forces
    Q_end : (2 nv, 2 nv) or (2 nv,) array, in units as Q, optional
        Q if not given.
    frames : sequence of Reach, optional
        Costs of where frames of the robot are.
    torque : (steps, nv) or (nv,) array, optional [N or N m]
        The first guess; zero if not given. Entries of joints without actuators act as they are.
    actuators : sequence of str, optional
        The names among ``model.v_names`` on which forces act; all if not given.
    limits : float or (m,) array, optional [N or N m]
        The largest force of each actuator.
    method : {"linear-time", "midpoint"}
    max_iterations : int
    tolerance : float
        The iteration ends where the cost falls by less than this share of it.
    progress : callable (iteration, cost), optional
        Called after each iteration.
    **options
        Of the method.

    Returns
    -------
    Motion
        The best motion, even where the iteration did not converge, or was interrupted by the keyboard: ``message``
        says why it ended.

    Raises
    ------
    InputError, UnknownNameError
        If an argument is wrong.
    ModelError
        If the model has a part that is not linearized.
    ConvergenceError
        If the first guess cannot be simulated.

    References
    ----------
    Li & Todorov 2004, "Iterative linear quadratic regulator design for nonlinear biological movement systems". Tassa,
    Mansard & Todorov 2014, "Control-limited differential dynamic programming" (bounds, regularisation).
    """
    began = time.perf_counter()
    problem = _Problem(model, q0, v0, duration, dt, goal, Q, R, Q_end, frames, actuators, limits, method, options)
    most, least = whole(max_iterations), real(tolerance)
    if most is None or most < 0:
        raise InputError(Argument("max_iterations", max_iterations) + " must be a whole number")
    if not least >= 0:
        raise InputError(Argument("tolerance", tolerance) + " must be a number, zero or positive")
    told = None if progress is None else Asked(progress, "progress", "(iteration, cost)", timed=False)
    shape = (model.nv,) if torque is not None and np.ndim(torque) == 1 else (problem.steps, model.nv)
    given = np.zeros(shape) if torque is None else entries(torque, shape, "torque")
    search = _Search(problem, problem.follow(np.array(np.broadcast_to(given, (problem.steps, model.nv)))))
    message = f"the largest number of iterations, {most}, was reached"
    success = False
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
    return search.motion(success, message, time.perf_counter() - began)


@dataclass(frozen=True, eq=False)
class _Path:
    """A simulated motion: states (steps + 1, ...), torque (steps, nv), and its cost."""

    q: np.ndarray
    p: np.ndarray
    torque: np.ndarray
    cost: float


class _Problem:
    """The checked arguments, and what the iteration asks of them."""

    def __init__(self, model: Any, q0: Any, v0: Any, duration: Any, dt: Any, goal: Any, Q: Any, R: Any, Q_end: Any,
                 frames: Any, actuators: Any, limits: Any, method: Any, options: dict[str, Any]):  # fmt: skip
        self.integrator = integrator_of(model, method, dt, options)
        self.model, self.dt, self.method, self.options = model, float(dt), method, options
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
            array = np.asarray(limits, dtype=float)
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

    def corrected(self, path: _Path, share: float, gains: tuple[np.ndarray, np.ndarray]) -> _Path | None:
        """Return the motion with a share of a correction and feedback to a path; None if it fails."""
        try:
            found = self.follow(path.torque, (self.acts, share, *gains, path.q, path.p))
        except ConvergenceError:
            return None
        return found if np.isfinite(found.cost) else None

    def turn(self, q: np.ndarray) -> float:
        """Return the largest turn of a joint in a step [rad]."""
        return float(np.abs(self.model.difference(q[:-1], q[1:])[:, self.turns]).max(initial=0.0))

    def follow(self, torque: np.ndarray, correction: Any = None, told: Any = ()) -> _Path:
        """Return the motion under a torque; a correction, and what is told of steps, are as the core takes them."""
        q, p = np.empty((self.steps + 1, self.model.nq)), np.empty((self.steps + 1, self.model.nv))
        used, integrator = torque.copy(), self.integrator
        integrator.renew()
        integrator.start(0.0, *self.start)
        status, _ = core.follow(integrator.stepper, correction, self.most, used, q, p, *told)
        if status:
            raise integrator._stopped(status)
        return _Path(q, p, used, self.cost(q, p, used))

    def recorded(self, path: _Path) -> Trajectory:
        """Return the records of a motion: its steps are taken once more."""
        records = Records.room(self.steps + 1, self.model.nq, self.model.nv, 0)
        found = self.follow(path.torque, None, (records.iterations, records.residual))
        records.t[:], records.q, records.x = self.dt * np.arange(self.steps + 1), found.q, found.p
        schedule = Schedule(self.dt, self.steps * self.dt, self.steps, None, False)
        return Outcome(self.integrator, records, schedule, 1, {}, None, False, False).trajectory()

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
        return slopes(self.integrator, q, q2, p, np.zeros((self.steps, 0)))

    def curvature(self, path: _Path, A: np.ndarray) -> np.ndarray:
        """Return the derivatives (steps, 2 nv, 2 nv, 2 nv) of A by the state; the first index is that of the state."""
        model, nv, n = self.model, self.model.nv, 2 * self.model.nv
        q, q2, p = path.q[:-1], path.q[1:], path.p[:-1]
        found = np.empty((self.steps, n, n, n))
        turned = brackets(model)
        for j in range(n):
            # any two configurations are the ends of a step: to first order those of the step from a state nearby
            d1, d2, dp = np.zeros_like(p), A[:, :nv, j], np.zeros_like(p)
            (d1 if j < nv else dp)[:, j % nv] = 1.0
            size = DIFFERENCE / np.maximum(np.abs(d1).max(axis=1), np.abs(d2).max(axis=1))[:, None]
            sides = []
            for far in (size, -size):
                ends = (q + far * d1, q2 + far * d2) if turned is None else (
                    model.integrate(q, far * d1), model.integrate(q2, far * d2)
                )  # fmt: skip
                sides.append(self.slopes(*ends, p + far * dp).A)
            found[:, j] = (sides[0] - sides[1]) / (2 * size[:, :, None])
            if turned is not None:
                # displacements there are seen from the path: log(exp(d) exp(x)) = d + x + [d, x]/2
                found[:, j, :nv] += 0.5 * np.tensordot(d2, turned, (1, 0)) @ A[:, :nv]
                if j < nv:
                    found[:, j, :, :nv] -= 0.5 * A[:, :, :nv] @ turned[j]
        return found

    def expand(self, path: _Path) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
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
    for joint in model.joints:
        at = np.arange(nv)[joint.v_slice]
        if len(at) == 3:
            found[:, at[:, None], at] = SO3.maps["exp"].dtau_inv(-d[:, at])
        elif len(at) == 6:
            # of twists (angular, linear)
            at = np.concatenate([at[3:], at[:3]])
            found[:, at[:, None], at] = SE3.maps["exp"].dtau_inv(-d[:, at])
    return found


def _turns(joint: Any) -> range:
    """Return the velocities of a joint that are turns."""
    at = range(joint.v_slice.start, joint.v_slice.stop)
    return {"prismatic": at[:0], "free": at[3:]}.get(joint.kind, at)


def brackets(model: Model) -> np.ndarray | None:
    """Return the matrices (nv, nv, nv) of the brackets with unit displacements; None if they vanish."""
    if model.nq == model.nv:
        return None
    found = np.zeros((model.nv, model.nv, model.nv))
    for joint in model.joints:
        at = np.arange(model.nv)[joint.v_slice]
        if len(at) == 3:
            found[np.ix_(at, at, at)] = SO3.ad(np.eye(3))
        elif len(at) == 6:
            # of twists (angular, linear)
            at = np.concatenate([at[3:], at[:3]])
            found[np.ix_(at, at, at)] = SE3.ad(np.eye(6))
    return found


class _Search:
    """The iteration: passes back and forth over the motion."""

    def __init__(self, problem: _Problem, path: _Path):
        self.problem, self.path, self.costs = problem, path, [path.cost]
        self.regularisation, self.factor = 0.0, 1.0
        self.gains: tuple[np.ndarray, np.ndarray] | None = None
        self.P: np.ndarray | None = None
        self.expansion = problem.expand(path)
        self.curved = False
        #: derivatives of A at the path, where they were asked for
        self.bent: np.ndarray | None = None

    def iterate(self, tolerance: float) -> tuple[bool, str] | None:
        """Improve the motion; return whether it is the last time and why, or None."""
        problem = self.problem
        if self.curved and self.bent is None:
            self.bent = problem.curvature(self.path, self.expansion[0])
        promised = self._back(self.bent) if self.curved else None
        promised = self._back() if promised is None else promised
        while promised is None:
            if not self._regularise():
                return False, "no regularisation makes the expansion of the cost convex"
            promised = self._back()
        linear, square = promised
        if -(linear + square) <= tolerance * abs(self.path.cost):
            return True, "the cost cannot fall by more than the tolerance"
        gains = cast(tuple, self.gains)
        for share in SHARES:
            found = problem.corrected(self.path, float(share), gains)
            gain = -(share * linear + share**2 * square)
            if found is None or not self.path.cost - found.cost >= ARMIJO * gain:
                continue
            self.curved = problem.bends and self.path.cost - found.cost < SLOW * abs(self.path.cost)
            self.path, self.bent, self.expansion = found, None, problem.expand(found)
            self.costs.append(found.cost)
            self.factor = min(1 / FACTOR, self.factor / FACTOR)
            self.regularisation *= self.factor
            if self.regularisation < LEAST:
                self.regularisation = 0.0
            return None
        self.costs.append(self.path.cost)
        if not self._regularise():
            return False, "no correction lowers the cost any more"
        return None

    def _regularise(self) -> bool:
        self.factor = max(FACTOR, self.factor * FACTOR)
        self.regularisation = max(LEAST, self.regularisation * self.factor)
        return self.regularisation <= MOST

    def _back(self, curvature: np.ndarray | None = None) -> tuple[float, float] | None:
        """Find corrections and gains from the end to the start; return what they promise, None if they are none."""
        problem = self.problem
        A, B, impulses, gradients, matrices = self.expansion
        steps, m, n = B.shape[0], B.shape[2], B.shape[1]
        k, K, P = np.empty((steps, m)), np.empty((steps, m, n)), np.empty((steps + 1, n, n))
        u, R, bounds = np.ascontiguousarray(self.path.torque[:, problem.acts]), 2 * problem.R, None
        if problem.limits is not None:
            bounds = -problem.limits - u, problem.limits - u
        promised = core.riccati_pass(
            A, B, gradients, matrices, u @ R, R, self.regularisation, curvature, impulses, bounds, k, K, P
        )
        if promised is not None:
            self.gains, self.P = (k, K), P
        return promised

    def motion(self, success: bool, message: str, seconds: float) -> Motion:
        """Return the best motion."""
        problem, path = self.problem, self.path
        if self.gains is None:
            self._back()
        m, n = len(problem.acts), 2 * problem.model.nv
        K = -self.gains[1] if self.gains is not None else np.zeros((problem.steps, m, n))
        P = self.P if self.P is not None else np.zeros((problem.steps + 1, n, n))
        states = path.q[:-1], path.p[:-1]
        regulator = Regulator(problem.model, problem.dt, 0.0, *states, path.torque, K, P, problem.acts)
        turn = problem.turn(path.q)
        if not success and turn > FAR:
            message += f"; a joint turns by {turn:.1f} rad in a step: weigh its momentum or its force more, or halve dt"
        trajectory = problem.recorded(path)
        return Motion(trajectory, path.torque, regulator, path.cost, self.costs, success, message, seconds)
