"""Forces for a body: torques and contact forces by tasks in acceleration, as one quadratic program a step."""

from __future__ import annotations

import functools
import math
from collections.abc import Iterable
from dataclasses import KW_ONLY, dataclass

import numpy as np
from numpy.typing import ArrayLike

from vitree._core._tasks import FrameMotion
from vitree.arguments import axes_of, entries, explain_calls, of_kind, plain_scalar, real, several
from vitree.control.priorities import INFEASIBLE, NONE, OPTIMAL, daqp_module
from vitree.control.tasks import COM, ORIENTATION, POSE, POSITION, POSTURE, KinematicTask
from vitree.errors import InputError, ModelError
from vitree.mechanism.drives import Drive
from vitree.mechanism.flat import limits_of, smooth_sign
from vitree.model.dynamics import refuse_rolling
from vitree.model.model import Model
from vitree.se3 import log
from vitree.spatial.rotations import cross, hat

#: Kind of a row of DAQP that is an equation.
EQUATION = 5
#: Weight of all squares of accelerations.
REGULAR = 1e-6
#: Of proximal steps: convex programs of any weights end with them.
PROXIMAL = 1.0
#: Speed below which dry friction is compensated in part [m/s or rad/s].
CREEP = 1e-4
#: By how much the solver may exceed a limit of effort [N or N m].
WITHIN = 1e-9
#: Edges of the pyramid within a friction cone.
EDGES = np.array([(1.0, 0.0), (-1.0, 0.0), (0.0, 1.0), (0.0, -1.0)])


@explain_calls
@dataclass(frozen=True, eq=False)
class AccelerationTask:
    """A task and the law by which it accelerates towards its target, as a spring and a damper would.

    The acceleration is that of the target, less the stiffness times the error of the task, less the damping times the
    velocity relative to the target's: of a frame in world axes, the angular one first, of its origin; of the center of
    mass; or of the coordinates of a posture.

    Parameters
    ----------
    task : PoseTask, PositionTask, OrientationTask, CenterOfMassTask or PostureTask
        With its target and weights; frames seen from the world. Its priority and its gain do not count.
    stiffness : float [1/s^2]
    damping : float, optional [1/s]
        Critical if not given: 2 sqrt(stiffness).
    velocity, acceleration : (m,) array, optional [rad/s, m/s; rad/s^2, m/s^2]
        Of the target, with the m rows of the task; zero if not given.

    Raises
    ------
    InputError
        If an argument has a wrong value.
    """

    task: KinematicTask
    _: KW_ONLY
    stiffness: float = 100.0
    damping: float | None = None
    velocity: ArrayLike | None = None
    acceleration: ArrayLike | None = None

    def __post_init__(self) -> None:
        of_kind(self.task, KinematicTask, "task", "a task such as PoseTask(...)")
        if self.task.kind not in (POSE, POSITION, ORIENTATION, COM, POSTURE):
            raise InputError("task", self.task, "has no law of acceleration; take poses, positions, orientations, the "
                             "center of mass or a posture")  # fmt: skip
        if self.task._frames()[1] != "world":
            raise InputError("task", self.task, "is seen from another frame; accelerations are those in the world")
        stiffness = real(self.stiffness)
        damping = 2.0 * math.sqrt(max(stiffness, 0.0)) if self.damping is None else real(self.damping)
        for name, number in (("stiffness", stiffness), ("damping", damping)):
            if not 0 <= number < math.inf:
                raise InputError(name, getattr(self, name), "must be a finite number, zero or positive")
            object.__setattr__(self, name, number)


@explain_calls
@dataclass(frozen=True, eq=False)
class SupportContact:
    """Points of a frame that stay where they are, and push on what is below them.

    Parameters
    ----------
    frame : str
    points : (n, 3) array [m]
        In the frame, such as the corners of a sole.
    friction : float [-]
        The forces are within the pyramid of four edges on the friction cone.
    normal : (3,) array [-]
        Of the ground, of any length.
    damping : float [1/s]
        A velocity of the frame is brought to rest at this rate.
    force_limit : float [N]
        Of the normal force on each point.

    Raises
    ------
    InputError, ModelError
        If an argument has a wrong value.
    """

    frame: str
    points: ArrayLike
    _: KW_ONLY
    friction: float = 0.7
    normal: ArrayLike = (0.0, 0.0, 1.0)
    damping: float = 20.0
    force_limit: float = math.inf

    def __post_init__(self) -> None:
        of_kind(self.frame, str, "frame", "the name of a frame")
        count = len(np.asarray(self.points)) if axes_of(self.points) == 2 else 1
        points = entries(self.points, (count, 3) if axes_of(self.points) == 2 else (3,), "points")
        object.__setattr__(self, "points", points.reshape(count, 3).copy())
        for name, least in (("friction", 0.0), ("damping", 0.0), ("force_limit", 0.0)):
            number = real(getattr(self, name))
            if not (number >= least and (number < math.inf or name == "force_limit")):
                raise InputError(name, getattr(self, name), "must be a number, zero or positive")
            object.__setattr__(self, name, number)
        normal = entries(self.normal, (3,), "normal")
        size = float(np.linalg.norm(normal))
        if not size > 0:
            raise InputError("normal", self.normal, "is zero; it must be a direction")
        object.__setattr__(self, "normal", normal / size)

    @functools.cached_property
    def edges(self) -> np.ndarray:
        """The edges (4, 3) [-] of the pyramid, whose normal part is one; within the cone."""
        n = np.asarray(self.normal)
        across = cross(n, np.eye(3)[int(np.abs(n).argmin())])
        across /= np.linalg.norm(across)
        found: np.ndarray = n + self.friction * EDGES @ np.array([across, cross(n, across)])
        return found


@dataclass(frozen=True, eq=False, repr=False)
class BodyForces:
    """What :meth:`WholeBodyControl.solve` found.

    Attributes
    ----------
    torque : (nv,) array [N or N m]
        Of the joints; zero where nothing acts.
    acceleration : (nv,) array [m/s^2 or rad/s^2]
    forces : tuple of (n, 3) arrays [N]
        On the points of each contact, in world axes.
    slip : float [m/s^2 or rad/s^2]
        The largest acceleration of a contact other than what brings it to rest. If it is not small, no forces within
        the limits hold the body.
    """

    torque: np.ndarray
    acceleration: np.ndarray
    forces: tuple[np.ndarray, ...]
    slip: float

    def __repr__(self) -> str:
        return f"<BodyForces: largest torque {np.abs(self.torque).max(initial=0.0):.4g}, slip {self.slip:.2g}>"


@explain_calls
class WholeBodyControl:
    """Inverse dynamics of a body that stands: torques by tasks in acceleration, with contacts and limits of torque.

    Of accelerations a, joint torques and contact forces f with M a + h = torque + J_c^T f, those of the least sum of
    weighted squares over the tasks; frames of contacts come to rest, forces are within friction cones, and torques
    within limits. It is a callable (t, q, v) -> torque (nv,): the ``control=`` of a run.

    Parameters
    ----------
    model : Model
        Its own drives and contacts do not count. Viscous damping of joints does.
    tasks : sequence of AccelerationTask
    contacts : sequence of SupportContact
    effort_limits : bool
        Whether limits of joints' efforts hold.
    position_limits : bool
        Whether joints of one coordinate stay within their limits of position: the distance from a limit falls no
        faster than a critically damped spring would let it.
    limit_rate : float [1/s]
        The rate of that spring, the root of its stiffness.
    contact_weight : float [-]
        Of accelerations of contacts, beside the weights of tasks, where they cannot hold as equations: limits of torque
        or friction do not allow it, or contacts contradict each other. ``slip`` of the result tells what is left. Of
        joints that no torque within limits brakes before their limits of position, it is that of braking.
    force_weight : float [-]
        Of the squares of contact forces, in units of the weight over the number of points; it shares them out.
    joint_friction : bool
        Whether torques compensate the friction of the model's joints, ``friction`` and ``dry_friction``. Limits of
        efforts hold for the sum.
    period : float [s]
        For which a torque is applied. Friction is compensated in the direction of the velocity that the solution
        leads to, v + period a; in part where that is below 1e-4 m/s or rad/s and friction is dry, so that a
        joint that stands does so within 1e-4/(period stiffness) of its target. With 0 it is that of the velocity v,
        and dry friction of joints at rest is not compensated.

    Raises
    ------
    InputError, UnknownNameError
        If an argument has a wrong value, or a name is none of the model.
    ModelError
        If the model has loads other than gravity, constraints, wheels that roll, or prescribed joints.

    References
    ----------
    Del Prete, Mansard, Ramos, Stasse & Nori 2016, "Implementing torque control with high-ratio gear boxes and without
    joint-torque sensors", for the form (TSID).
    """

    def __init__(
        self, model: Model, tasks: Iterable[AccelerationTask], contacts: Iterable[SupportContact] = (), *,
        effort_limits: bool = True, position_limits: bool = True, limit_rate: float = 20.0,
        contact_weight: float = 30.0, force_weight: float = 1e-3, joint_friction: bool = True, period: float = 1e-3,
    ):  # fmt: skip
        self.model = of_kind(model, Model, "model", "a Model")
        self._require_plain()
        given = several(tasks, "tasks", "a sequence of AccelerationTask")
        self.tasks = tuple(of_kind(each, AccelerationTask, "tasks", "AccelerationTask(task, ...)") for each in given)
        given = several(contacts, "contacts", "a sequence of SupportContact")
        self.contacts = tuple(of_kind(each, SupportContact, "contacts", "SupportContact(frame, points)")
                              for each in given)  # fmt: skip
        if not self.tasks:
            raise InputError("tasks", tasks, "are none; give one at least, such as a posture")
        for name, value in (("effort_limits", effort_limits), ("position_limits", position_limits),
                            ("joint_friction", joint_friction)):  # fmt: skip
            if not isinstance(plain_scalar(value), bool):
                raise InputError(name, value, "must be True or False")
        self._contact_weight, self._force_weight = real(contact_weight), real(force_weight)
        self._limit_rate = real(limit_rate)
        for name, number in (("contact_weight", self._contact_weight), ("force_weight", self._force_weight),
                             ("limit_rate", self._limit_rate)):  # fmt: skip
            if not 0 < number < math.inf:
                raise InputError(name, number, "must be positive")
        self._period = real(period)
        if not 0 <= self._period < math.inf:
            raise InputError("period", period, "must be a finite time, zero or positive")
        flat = model.full.flat
        rubs = joint_friction and (flat.friction.any() or flat.dry_friction.any())
        self._rubs = (flat.friction, flat.friction_velocity, flat.dry_friction) if rubs else None
        limits = list(limits_of(model.joints, model.constraints)) if position_limits else []
        self._limited = np.array([row[1] for row in limits], int), np.array([row[2] for row in limits], int)
        self._ends = np.array([row[3] for row in limits]), np.array([row[4] for row in limits])
        self._prepare(bool(effort_limits))

    def __repr__(self) -> str:
        return f"<WholeBodyControl of {self.model.name!r}: {len(self.tasks)} tasks, {len(self.contacts)} contacts>"

    def __call__(self, t: float, q: np.ndarray, v: np.ndarray) -> np.ndarray:
        """Return the torque (nv,) [N or N m] at a state."""
        return self.solve(q, v).torque

    def solve(self, q: ArrayLike, v: ArrayLike) -> BodyForces:
        """Return torques, accelerations and contact forces at a state.

        Parameters
        ----------
        q : (nq,) array [m or rad]
        v : (nv,) array [m/s or rad/s]

        Raises
        ------
        InputError
            If a state is none, a task has no target, or the program is not solved.
        MissingExtraError
            If DAQP is not installed.
        """
        model, n = self.model, self.model.nv
        q, v = model.validate_configuration(q), entries(v, (n,), "v")
        G, followers = self._G, model._followers
        full = (q, v) if followers is None else (followers.expand(q), followers.expand_velocity(v))
        self._motion.evaluate(*full, self._X, self._J, self._twist, self._bias, self._com, self._Jcom)
        M, h = model.full.crba(full[0]), model.full.rnea(*full, self._zeros)
        if G is not None:  # the velocities of all joints are G v
            M, h = G.T @ M @ G, h @ G
        if self._damped is not None:
            h = h + self._damped * v
        self._fill_tasks(full[0], v)
        D = self._fill_contacts()
        rubbing = self._friction(v)
        a, strength = self._solution(q, v, M, h + rubbing)
        if self._rubs is not None:
            rubbing = self._friction(v + self._period * a)
            torque = M @ a + h + rubbing - D @ strength
            if ((torque < self._least - WITHIN) | (torque > self._most + WITHIN))[~self._passive].any():
                a, strength = self._solution(q, v, M, h + rubbing)
        torque = M @ a + h + rubbing - D @ strength
        torque[self._passive] = 0.0
        forces, at = [], 0
        for contact in self.contacts:
            count = len(contact.points)  # type: ignore[arg-type]
            forces.append(strength[at : at + 4 * count].reshape(count, 4) @ (self._unit * contact.edges))
            at += 4 * count
        slip = np.abs(self._contact_A @ a - self._contact_b).max(initial=0.0)
        return BodyForces(torque, a, tuple(forces), float(slip))

    # ---- how

    def _friction(self, v: np.ndarray) -> np.ndarray:
        """The torques (nv,) that compensate the friction of joints at velocities (nv,)."""
        if self._rubs is None:
            return np.zeros(len(v))
        (smooth, slow, dry), G = self._rubs, self._G
        v = v if G is None else G @ v
        found: np.ndarray = smooth * smooth_sign(v, slow) + dry * smooth_sign(v, CREEP)
        return found if G is None else found @ G

    def _solution(self, q: np.ndarray, v: np.ndarray, M: np.ndarray, h: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Accelerations and strengths of edges, once tasks and contacts are filled in."""
        n, m, D = self.model.nv, self._edges, self._D
        A, b, H, g, rows = self._A, self._b, self._H, self._g, self._rows
        H[:n, :n] = A.T @ A
        g[:n] = -(b @ A) - self._posture
        diagonal = np.arange(n)
        H[diagonal, diagonal] += self._posture_weight + REGULAR
        # M a - D f = torque - h: none on the base, within limits elsewhere; then frames of contacts come to rest
        rows[:n, :n], rows[:n, n:] = M, -D
        low, high, own = self._low, self._high, slice(n + m, n + m + n)
        low[own], high[own] = self._least - h, self._most - h
        low[n + m + n :] = high[n + m + n :] = self._contact_b
        self._fill_limits(q, v)
        np.clip(low, -NONE, NONE, out=low)
        np.clip(high, -NONE, NONE, out=high)
        x = self._solved(len(low))
        if x is None:  # contacts that contradict each other, or are more than limits allow, give way
            A, b = self._contact_weight * self._contact_A, self._contact_weight * self._contact_b
            H[:n, :n] += A.T @ A
            g[:n] -= b @ A
            x = self._solved(n + m + n)
        if x is None:  # joints that no torque brakes before their limits are braked as far as it goes
            self._weigh_braking()
            x = self._solved(n + m + n, feasible=True)
        if x is None:
            self._require_targets()
            raise InputError("DAQP has not solved the program of torques at this state; bring weights nearer together")
        return x[:n], x[n:]

    def _solved(self, bounds: int, feasible: bool = False) -> np.ndarray | None:
        """The solution with so many bounds, None if there is none; ``feasible``: there is one."""
        daqp, rows = daqp_module("whole-body control"), bounds - len(self._g)
        given = self._H, self._g, self._rows[:rows], self._high[:bounds], self._low[:bounds]
        # with proximal steps, if weights are far apart
        for more in ({"eps_prox": 0.0, "eq_reduction": 1}, {}, {"eps_prox": PROXIMAL}):
            x, _, flag, _ = daqp.solve(*given, self._kinds[:bounds].copy(), **more)
            if flag == OPTIMAL and np.isfinite(x).all():
                found: np.ndarray = x
                return found
            if flag == INFEASIBLE and not feasible:
                return None
        return None

    def _require_plain(self) -> None:
        model = self.model
        refuse_rolling(model, "WholeBodyControl")
        loads = [load for load in model.loads if not isinstance(load, Drive)]
        for what, there in (("constraints", model.constraints), ("loads", loads),
                            ("prescribed joints", model.prescribed_joint_names)):  # fmt: skip
            if there:
                raise ModelError(f'"{model.name}" has {what}, which WholeBodyControl does not know')

    def _prepare(self, limits: bool) -> None:
        model, n = self.model, self.model.nv
        full, names, places = model.full, list[str](), list[tuple[int, np.ndarray]]()
        for name in [*(each.task._frames()[0] for each in self.tasks), *(each.frame for each in self.contacts)]:
            body, E, p = full.index.place(name)
            names.append(name)
            places.append((body, np.concatenate([E.T.ravel(), p])))
        followers = model._followers
        own = np.arange(n, dtype=np.int32)
        lead = own if followers is None else followers.lead_v.astype(np.int32)
        factor = np.ones(n) if followers is None else np.array(followers.gain_v, float)
        self._motion = FrameMotion(full.core, places, lead, factor, n)
        k = len(places)
        self._X, self._J, self._twist = np.zeros((k, 3, 4)), np.zeros((k, 6, n)), np.zeros((k, 6))
        self._bias, self._com, self._Jcom = np.zeros((k, 6)), np.zeros((3, 3)), np.zeros((3, n))
        self._zeros = np.zeros(full.nv)
        self._G = None if followers is None else np.ascontiguousarray(followers.expand_velocity(np.eye(n)).T)
        self._damped = model.damping if model.damping.any() else None
        self._weights = [each.task._weights(model) for each in self.tasks]
        self._targets = [each.task._target_of(model) for each in self.tasks]
        self._extra = [self._moving_target(each, len(w)) for each, w in zip(self.tasks, self._weights, strict=True)]
        dense = sum(len(w) for each, w in zip(self.tasks, self._weights, strict=True) if each.task.kind != POSTURE)
        held = 6 * len(self.contacts)
        self._A, self._b = np.zeros((dense, n)), np.zeros(dense)
        self._posture, self._posture_weight = np.zeros(n), np.zeros(n)
        # forces are in shares of the weight
        points = sum(len(each.points) for each in self.contacts)  # type: ignore[misc, arg-type]
        self._unit = max(model.total_mass, 1e-9) * 9.81 / max(points, 1)
        self._levers = []
        for each in self.contacts:
            wrenches = np.zeros((len(each.points), 4, 6))  # type: ignore[arg-type]
            wrenches[:, :, 3:] = self._unit * each.edges
            turning = np.concatenate([hat(self._unit * edge) for edge in each.edges], axis=1)
            self._levers.append((np.asarray(each.points), turning, wrenches))
        m = self._edges = 4 * sum(len(each.points) for each in self.contacts)  # type: ignore[misc, arg-type]
        self._D = np.zeros((n, m))
        self._H, self._g, self._rows = np.zeros((n + m, n + m)), np.zeros(n + m), np.zeros((n + held, n + m))
        self._contact_A, self._contact_b = self._rows[n:, :n], np.zeros(held)
        at = np.arange(n, n + m)
        self._H[at, at] = self._force_weight
        effort, self._passive = np.full(n, np.inf), np.zeros(n, bool)
        for joint in model.joints:
            if joint.kind == "free" and joint.parent == "world":
                self._passive[joint.v_slice] = True
            elif limits:
                effort[joint.v_slice] = np.minimum(effort[joint.v_slice], joint.effort)
        effort[self._passive] = 0.0
        self._least, self._most = -effort, effort
        tops = [np.full(4 * len(each.points), each.force_limit / self._unit) for each in self.contacts]  # type: ignore[arg-type]
        self._low = np.concatenate([np.full(n, -np.inf), np.zeros(m), np.zeros(n + held)])
        self._high = np.concatenate([np.full(n, np.inf), *tops, np.zeros(n + held)])
        self._kinds = np.zeros(n + m + n + held, np.int32)
        self._kinds[n + m : n + m + n][self._passive] = EQUATION
        self._kinds[n + m + n :] = EQUATION

    def _moving_target(self, each: AccelerationTask, rows: int) -> tuple[np.ndarray, np.ndarray]:
        found = []
        for name in ("velocity", "acceleration"):
            given = getattr(each, name)
            found.append(np.zeros(rows) if given is None else entries(given, (rows,), name).copy())
        return found[0], found[1]

    def _fill_tasks(self, q: np.ndarray, v: np.ndarray) -> None:
        """The rows of the tasks, by the configuration of all joints and velocities (nv,)."""
        self._posture[:] = 0.0
        self._posture_weight[:] = 0.0
        at = 0
        for k, (each, w, target, (speed, ahead)) in enumerate(
            zip(self.tasks, self._weights, self._targets, self._extra, strict=True)
        ):
            kind = each.task.kind
            if kind == POSTURE:
                error = self.model.full.difference(target, q)
                if self.model._followers is not None:
                    error = self.model._followers.contract_velocity(error)
                wanted = ahead - each.stiffness * error - each.damping * (v - speed)
                self._posture_weight += w * w
                self._posture += w * w * wanted
                continue
            if kind == COM:
                J, rate, bias, error = self._Jcom, self._com[1], self._com[2], self._com[0] - target[9:]
            else:
                X, rows = self._X[k], slice(0 if kind != POSITION else 3, 6 if kind != ORIENTATION else 3)
                J, rate, bias = self._J[k, rows], self._twist[k, rows], self._bias[k, rows]
                error = X[:, 3] - target[9:]
                if kind != POSITION:
                    turn = _rotation_vector(target[:9].reshape(3, 3), X[:, :3])
                    error = turn if kind == ORIENTATION else np.concatenate([turn, error])
            end = at + len(w)
            wanted = ahead - each.stiffness * error - each.damping * (rate - speed) - bias
            np.multiply(J, w[:, None], out=self._A[at:end])
            self._b[at:end] = w * wanted
            at = end

    def _fill_limits(self, q: np.ndarray, v: np.ndarray) -> None:
        """Bounds of accelerations: d2x/dt2 + 2 r dx/dt + r^2 x >= 0 for the distance x from a limit."""
        at_q, at_v = self._limited
        if not len(at_q):
            return
        n, rate = self.model.nv, self._limit_rate
        self._low[:n], self._high[:n] = -NONE, NONE
        slowed, square = -2.0 * rate * v[at_v], rate * rate
        np.maximum.at(self._low, at_v, slowed + square * (self._ends[0] - q[at_q]))
        np.minimum.at(self._high, at_v, slowed + square * (self._ends[1] - q[at_q]))

    def _weigh_braking(self) -> None:
        """Replace the bounds of accelerations by squares for joints that have to be braked."""
        n = self.model.nv
        least, most = self._low[:n], self._high[:n]
        braking = np.where(least > 0.0, least, np.minimum(most, 0.0))
        late = np.flatnonzero(braking)
        weight = self._contact_weight**2
        self._H[late, late] += weight
        self._g[late] -= weight * braking[late]
        least[:], most[:] = -NONE, NONE

    def _fill_contacts(self) -> np.ndarray:
        at, first = 0, len(self.tasks)
        for k, contact in enumerate(self.contacts):
            J, R = self._J[first + k], self._X[first + k, :, :3]
            self._contact_A[6 * k : 6 * k + 6] = J
            self._contact_b[6 * k : 6 * k + 6] = -contact.damping * self._twist[first + k] - self._bias[first + k]
            # the wrench (torque, force) about the frame's origin of each edge on each point: arm x edge
            arms, turning, wrenches = self._levers[k]
            wrenches[:, :, :3] = (arms @ R.T @ turning).reshape(len(arms), 4, 3)
            end = at + 4 * len(arms)
            np.matmul(J.T, wrenches.reshape(-1, 6).T, out=self._D[:, at:end])
            at = end
        return self._D

    def _require_targets(self) -> None:
        for each in self.tasks:
            if not each.task.has_target:
                raise InputError(f"the {each.task.name} has no target; set task.target, or call task.hold(model, q)")


def _rotation_vector(target: np.ndarray, R: np.ndarray) -> np.ndarray:
    """The rotation vector (3,) [rad] from target axes to others, in world axes."""
    X = np.eye(4)
    X[:3, :3] = R @ target.T
    return log(X)[:3]
