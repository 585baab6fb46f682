"""Motions to be optimised: a problem, what searches ask of it, and what they find."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

from vitree._core import scalar
from vitree.arguments import Asked, axes_of, entries, of_kind, real, whole
from vitree.control.controls import Controls
from vitree.control.frames import Distances
from vitree.control.regulator import Regulator, weights
from vitree.errors import ConvergenceError, InputError, ModelError
from vitree.integrators.composed_slopes import Rows, part_slopes
from vitree.integrators.curvature import QUICK, bends
from vitree.integrators.slopes import joint_maps
from vitree.model.model import Model
from vitree.run.arguments import count_steps
from vitree.run.linearized import integrator_of
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
class ShootingSolution:
    """The best motion that was found.

    Attributes
    ----------
    trajectory : Trajectory
        Its records, one for each step.
    torque : (steps, nv) array [N or N m]
        Acts over each step.
    inputs : (steps, nu) array, in units as the loads take them
        The inputs over each step.
    prescribed : mapping of str to (steps + 1,) array [m or rad]
        The prescribed coordinates at the ends of the steps, as :func:`vitree.simulate` takes them. Give it the momentum
        at the start as well, ``p0=plan.trajectory.p[0]``: it takes the rates there from a curve through the ends.
    gains : (steps, m, 2 nv) array, in units of the controls over those of the state
        Feedback along the motion: the controls are less by ``gains`` times the state's displacement. With bounds, no
        gain where a control is at its bound.
    regulator : Regulator or None
        The same as torque of a simulation; None where other controls than joint forces act.
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
    inputs: np.ndarray
    prescribed: dict[str, np.ndarray]
    gains: np.ndarray
    regulator: Regulator | None
    cost: float
    costs: list[float]
    success: bool
    message: str
    seconds: float

    def __repr__(self) -> str:
        state = "converged" if self.success else self.message
        return f"<vitree.control.ShootingSolution: cost {self.cost:.6g} after {len(self.costs) - 1} iterations, {state}>"


@dataclass(frozen=True, eq=False)
class Path:
    """A simulated motion: states (steps + 1, ...), controls (steps, nv + nu + k), and its cost.

    A row of controls has torque, inputs, and where prescribed coordinates are at the end of the step.
    """

    q: np.ndarray
    p: np.ndarray
    controls: np.ndarray
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
                 frames: Any, actuators: Any, limits: Any, method: Any, options: dict[str, Any], *, goal_p: Any = None,
                 goal_u: Any = None, prescribed: Any = None):  # fmt: skip
        of_kind(model, Model, "model", "a vitree Model")
        self.integrator = integrator_of(model, method, dt, {**options, "prescribed": prescribed})
        if model.touches:
            raise ModelError(
                f'searches for motions know no contacts, and "{model.name}" has some: leave them out, or plan with '
                "vitree.control.MotionProblem, which has phases in their place"
            )
        self.model, self.dt, self.method, self.options = model, real(dt), method, options
        self.steps = count_steps(duration, dt)
        self.controls = Controls(model, actuators, limits)
        self.acts = self.controls.acts
        #: whether second derivatives of steps are taken: controls must be momenta that do not depend on the state
        self.bends = (
            model.nv <= CURVED and (model.nq == model.nv or method == "linear-time")
            and self.controls.forces and model.written is None
        )  # fmt: skip
        self.frames = Distances(model, frames, self.steps)
        if goal is None and not self.frames.costs:
            raise InputError("there is nothing to go to: give " + named("goal") + ", or " + named("frames"))
        m, n = len(self.acts), 2 * model.nv
        self.Q, self.R = weights(Q, "Q", n), weights(R, "R", m, definite=True)
        self.Q_end = self.Q if Q_end is None else weights(Q_end, "Q_end", n)
        #: which velocities are turns
        self.turns = [k for joint in model.joints for k in _turns(joint)]
        begins = {**self.integrator.motion.prescribed, **self._begin(q0, v0)}
        held = Simulation(model, q0, v0, dt=dt, method=method, prescribed=begins, **options)
        self.start = held.q.copy(), held.p.copy()
        if goal is None:
            goal = self.start[0]
        if axes_of(goal) == 2:
            goal = np.array([model.validate_configuration(q, "goal") for q in goal])
        else:
            goal = model.validate_configuration(goal, "goal")
        self.goal = _rows(goal, self.steps + 1, model.nq, "goal")
        self.goal_p = _rows(goal_p, self.steps + 1, model.nv, "goal_p")
        self.goal_u = _rows(goal_u, self.steps, m, "goal_u")
        self.moved = np.zeros((2 * self.steps + 1, 3, len(model.kinematic_names)))
        if model.kinematic_names:
            self.integrator.motion.plan(self.start[0], self.dt * np.arange(self.steps + 1), self.dt)
            self.integrator.motion.start(self.start[0], np.zeros(model.nv))
            self.moved[:] = self.integrator.motion.rows(self.integrator.moments)
            self.integrator.stepper.set_motion(self.moved)

    def _begin(self, q0: Any, v0: Any) -> dict[str, Any]:
        """Return how the prescribed coordinates that are searched move at the start: at the rates of v0."""
        model, found = self.model, {}
        q = model.neutral() if q0 is None else model.validate_configuration(q0, "q0")
        v = np.zeros(model.nv) if v0 is None else entries(v0, (model.nv,), "v0")
        first = model.nv + len(model.input_names)
        for k in self.acts[self.acts >= first] - first:
            joint = model.joint(model.kinematic_names[k])
            place, rate = q[joint.q_slice][0], v[joint.v_slice][0]
            found[joint.name] = lambda t, place=place, rate=rate: (place + rate * t, rate, 0.0)
        return found

    def corrected(self, path: Path, share: float, gains: tuple[np.ndarray, np.ndarray],
                  nearby: tuple[np.ndarray, np.ndarray] | None = None) -> Path | None:  # fmt: skip
        """Return the motion with a share of a correction and feedback to a path, or states nearby; None if it fails."""
        try:
            found = self.follow(path.controls, (self.acts, share, *gains, *(nearby or (path.q, path.p))))
        except ConvergenceError:
            return None
        return found if np.isfinite(found.cost) else None

    def turn(self, q: np.ndarray) -> float:
        """Return the largest turn of a joint in a step [rad]."""
        return float(np.abs(self.model.difference(q[:-1], q[1:])[:, self.turns]).max(initial=0.0))

    def follow(self, controls: np.ndarray, correction: Any = None) -> Path:
        """Return the motion under controls (steps, ...), with a correction as the core takes it."""
        q, p = np.empty((self.steps + 1, self.model.nq)), np.empty((self.steps + 1, self.model.nv))
        used, integrator, within = controls.copy(), self.integrator, (self.controls.low, self.controls.high)
        integrator.renew()
        integrator.start(0.0, *self.start)
        status, _ = core.follow(integrator.stepper, correction, *within, used, q, p, self.moved)
        if status:
            raise integrator._stopped(status)
        return Path(q, p, used, self.cost(q, p, used))

    def prescribed(self, controls: np.ndarray) -> dict[str, np.ndarray]:
        """Return the prescribed coordinates (steps + 1,) by their names."""
        places = np.concatenate([self.moved[:1, 0], self.controls.split(controls)[2]])
        return dict(zip(self.model.kinematic_names, places.T, strict=True))

    def recorded(self, path: Path) -> Trajectory:
        """Return the records of a motion: its steps are taken once more."""
        given: dict[str, Any] = self.options
        if self.model.kinematic_names:
            given = {**given, "prescribed": self.prescribed(path.controls)}
        start, p0 = self.start
        held = Simulation(self.model, start, p0=p0, dt=self.dt, method=self.method, every=1, **given)
        for torque, inputs in zip(*self.controls.split(path.controls)[:2], strict=True):
            held.step(torque=torque, inputs=inputs if len(inputs) else None)
        return held.trajectory

    def searched(self, begin: Callable[[Path], Search], torque: Any, inputs: Any, max_iterations: Any, tolerance: Any,
                 progress: Any, began: float) -> ShootingSolution:  # fmt: skip
        """Return the best motion of a search that begins with the motion under a torque and inputs."""
        model, most, least = self.model, whole(max_iterations), real(tolerance)
        if most is None or most < 0:
            raise InputError(Argument("max_iterations", max_iterations) + " must be a whole number")
        if not least >= 0:
            raise InputError(Argument("tolerance", tolerance) + " must be a number, zero or positive")
        told = None if progress is None else Asked(progress, "progress", "(iteration, cost)", timed=False)
        search = begin(self.follow(self.controls.rows(torque, inputs, self.moved[2::2, 0])))
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
        path, turn, (gains, P) = search.path, self.turn(search.path.q), search.feedback()
        force, given, _ = self.controls.split(path.controls)
        regulator = None
        if self.controls.forces:
            regulator = Regulator(model, self.dt, 0.0, path.q[:-1], path.p[:-1], force, gains, P, self.acts)
        if not success and turn > FAR:
            message += f"; a joint turns by {turn:.1f} rad in a step: weigh its momentum or its force more, or halve dt"
        seconds, trajectory = time.perf_counter() - began, self.recorded(path)
        motion = trajectory, force, given, self.prescribed(path.controls), gains, regulator
        return ShootingSolution(*motion, path.cost, search.costs, success, message, seconds)

    def states(self, q: np.ndarray, p: np.ndarray) -> np.ndarray:
        """Return x (steps + 1, 2 nv) from the goal."""
        return np.concatenate([self.model.difference(self.goal, q), p - self.goal_p], axis=1)

    def effort(self, controls: np.ndarray) -> np.ndarray:
        """Return u (steps, m): the controls that are searched, from those of the goal."""
        return np.ascontiguousarray(controls[:, self.acts] - self.goal_u)

    def cost(self, q: np.ndarray, p: np.ndarray, controls: np.ndarray) -> float:
        """Return the cost of a motion."""
        x, u = self.states(q, p), self.effort(controls)
        running = np.einsum("ki,ij,kj", x[:-1], self.Q, x[:-1]) + np.einsum("ki,ij,kj", u, self.R, u)
        return float(running + x[-1] @ self.Q_end @ x[-1]) + self.frames.cost(q)

    def rows(self, path: Path) -> Rows:
        """Return the steps of a motion."""
        u = np.ascontiguousarray(self.controls.split(path.controls)[1])
        return Rows(path.q[:-1], path.q[1:], path.p[:-1], path.p[1:], u, self.dt * np.arange(self.steps))

    def curvature(self, path: Path, A: np.ndarray) -> np.ndarray:
        """Return the derivatives (steps, 2 nv, 2 nv, 2 nv) of A by the state; the first index is that of the state."""
        found = np.empty((self.steps, *A.shape[1:], A.shape[2]))
        for which, bent in bends([self.integrator], self.rows(path), ("state",), A, QUICK):
            found[:, which] = bent.swapaxes(0, 1)
        return found

    def expand(self, path: Path) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
        """Return A and B of the steps, the momenta (m, nv) [s] that forces are, and gradients and matrices of the cost.

        The momenta are those at the start of the first step; on joints of one coordinate all steps have the same. They
        are zero where other controls than forces act.
        """
        found = part_slopes([self.integrator], self.rows(path))
        impulses = np.zeros((len(self.acts), self.model.nv))
        if self.controls.forces:
            impulses[:] = found.F.reshape(-1, 2, self.model.nv, self.model.nv)[0, 0][:, self.acts].T
        steps = found.A, self.controls.slopes(found), impulses
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


def _rows(given: Any, count: int, size: int, name: str) -> np.ndarray:
    """Return rows (count, size) of these, or of one row; zero if not given."""
    if given is None:
        return np.zeros((count, size))
    if axes_of(given) == 2:
        return entries(given, (count, size), name)
    return np.tile(entries(given, (size,), name, f", or a row for each of {count}"), (count, 1))


def _turns(joint: Any) -> range:
    """Return the velocities of a joint that are turns."""
    at = range(joint.v_slice.start, joint.v_slice.stop)
    return {"prismatic": at[:0], "free": at[3:]}.get(joint.kind, at)
