"""The problem of a shooting search: its arguments checked, motions under controls, and expansions of their cost."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import ArrayLike

from vitree._core import scalar, wide
from vitree.arguments import Keywords, as_numbers, axes_of, entries, mapping, of_kind, real, several
from vitree.control.bounded import Bounded, BoundedValues, ImpulseSlopes, Motion, Piece, Quadratic, moved
from vitree.control.contact_bounds import FrictionCone, PlaceBounds, SoleBounds
from vitree.control.contact_steps import ContactSteps, ContactWrenches, Stretch
from vitree.control.contacts import ContactPhase
from vitree.control.costs import FrameCost, QuadraticCost
from vitree.control.frame_costs import FrameCosts
from vitree.control.lqr import limits_of, rows_of, weights
from vitree.control.state_bounds import Bounds, StateBounds
from vitree.errors import ConvergenceError, InputError, UnknownNameError
from vitree.integrators import curvature as second
from vitree.integrators.composed_slopes import Blocks, Rows, chained, halved_parts, part_slopes
from vitree.integrators.contact_slopes import Touched
from vitree.integrators.curvature import QUICK, Differences, bends, columns_of
from vitree.integrators.slopes import Anchored, Slopes, joint_maps, kicks_of
from vitree.mechanism.flat import JointInfo
from vitree.model.changes import with_fields
from vitree.model.contacts import Nodes, places_of, split_rows
from vitree.model.model import Model
from vitree.model.user_inputs import resolve_inputs
from vitree.results.contacts import ContactLog
from vitree.run.arguments import count_steps
from vitree.run.controller import Control
from vitree.run.joined import joined
from vitree.run.linearization import chunks_of, integrator_of, pieces_of, touched_in
from vitree.run.simulation import Simulation
from vitree.run.trajectory import Trajectory
from vitree.vehicles.base import Vehicle

core = scalar()
#: Most velocities for which second derivatives of steps are differences along each of them.
CURVED = 12
#: Step lengths of a line search.
SHARES = 2.0 ** -np.arange(11)
#: Armijo's condition: the share of the expected decrease that a step must achieve.
ARMIJO = 1e-4


@dataclass(frozen=True, eq=False)
class Iterate:
    """A simulated motion: states (steps + 1, ...), controls (steps, nv + nu + k), states x from the goal, and its cost.

    A row of controls has torque, inputs, and the prescribed coordinates at the end of the step. ``touched`` has the
    contacts that pushed in each step, and is empty without contacts. ``penalty`` is what bounds on states and contact
    forces add to the cost. ``impulses`` (steps, c) are those of the constraints, in phases of contact. In multiple
    shooting step k ends at row k of ``ends``, (steps, nq) and (steps, nv), at the displacement of row k of ``gaps``
    (steps, 2 nv) from the next node; None where there are no gaps. ``inner`` (m, 1 + nq + nv) are the times, q and p
    between the halves of steps that were taken in halves. ``quick`` steps were found by the derivatives of others, with
    other digits than a simulation has.
    """

    q: np.ndarray
    p: np.ndarray
    controls: np.ndarray
    x: np.ndarray
    cost: float
    penalty: float
    touched: list[Touched | None]
    impulses: np.ndarray
    ends: tuple[np.ndarray, np.ndarray] | None = None
    gaps: np.ndarray | None = None
    inner: np.ndarray | None = None
    quick: bool = False

    @property
    def motion(self) -> Motion:
        """What bounds are on."""
        return Motion(self.q, self.p, self.impulses)


class Expansion(NamedTuple):
    """Derivatives A (steps, n, n) and B (steps, n, m) of the steps, and the quadratic model of the cost.

    States (q, p) have n = 2 nv; where contacts slide they have the configuration before as well, n = 3 nv.

    ``impulses`` (m, nv) [s] are the momenta of unit forces at the start of the first step; on joints of one coordinate
    all steps have the same. They are zero where other controls than forces act. ``slopes``, ``crossed`` and ``curved``
    are those of :class:`Quadratic`, and ``pieces`` the terms of bounds that are part of all.
    """

    A: np.ndarray
    B: np.ndarray
    impulses: np.ndarray
    gradients: np.ndarray
    matrices: np.ndarray
    slopes: np.ndarray
    crossed: np.ndarray
    curved: np.ndarray
    pieces: Sequence[Piece] = ()

    def changes(self, x: np.ndarray, u: np.ndarray) -> list[np.ndarray]:
        """Return how the values that have bounds change by states x (steps + 1, n) and controls u (steps, m)."""
        return [piece.given.change(x, u) for piece in self.pieces]

    def along(self, changes: Sequence[np.ndarray]) -> Expansion:
        """Return the expansion with the pieces of the bounds' terms at values that change so much."""
        cost = Quadratic(*(part.copy() for part in self[3:8]))
        return self._replace(pieces=moved(self.pieces, changes, cost), **cost._asdict())

    def change(self, x: np.ndarray, u: np.ndarray, gu: np.ndarray, R: np.ndarray,
               changes: Sequence[np.ndarray] | None = None) -> tuple[float, float]:  # fmt: skip
        """Return the linear and the quadratic change of the cost by states x (steps + 1, n) and controls (steps, m).

        gu (steps, m) and R (m, m) are the slope and the matrix of the controls' own cost. ``changes`` are those of
        :meth:`changes`, if they are known.
        """
        linear = np.vdot(self.gradients, x) + np.vdot(gu, u)
        square = np.vdot(x, (self.matrices @ x[:, :, None])[:, :, 0]) + np.vdot(u @ R, u)
        if len(self.slopes):
            linear += np.vdot(self.slopes, u)
            square += np.vdot(u, 2 * (self.crossed @ x[:-1, :, None])[:, :, 0] + (self.curved @ u[:, :, None])[:, :, 0])
        by = self.changes(x, u) if changes is None else changes
        return self.corrected(float(linear), float(0.5 * square), by)[:2]

    def corrected(self, linear: float, square: float, changes: Sequence[np.ndarray]) -> tuple[float, float, float]:
        """Return a linear and a quadratic change, of which the terms of bounds have their pieces, with these terms.

        The third number is by how much these differ from their pieces at values that change so much.
        """
        missed = 0.0
        for piece, by in zip(self.pieces, changes, strict=True):
            first, whole, off = piece.change(by)
            linear, square, missed = linear + first, square + whole - first, missed + abs(off)
        return linear, square, missed


class Pass(NamedTuple):
    """A backward pass: the linear and quadratic change of the cost that it expects (None if not convex), and gains."""

    expected: tuple[float, float] | None
    k: np.ndarray
    K: np.ndarray
    P: np.ndarray


class Iteration(Protocol):
    """An iteration that improves a motion; ``costs`` has the cost of the motion after each iteration."""

    costs: list[float]

    @property
    def at(self) -> Iterate:
        """The motion so far."""

    def improve(self, tolerance: float) -> tuple[bool, str] | None:
        """Improve the motion; return whether the iteration has converged and why it ended, or None."""

    def renew(self, at: Iterate) -> None:
        """Go on from a motion whose cost has changed."""

    def feedback(self) -> tuple[np.ndarray, np.ndarray]:
        """Return the gains (steps, m, 2 nv) of the regulator along the motion, and the matrices of the cost to go."""


class Controls:
    """Rows (nv + nu + k,), one for each step: torque, inputs, and the prescribed coordinates at the step's end.

    Attributes
    ----------
    acts : (m,) array of int
        The entries of the actuators, which the search optimises.
    low, high : (nv + nu + k,) array
        Bounds of the entries.
    bounded : bool
        Whether one of them is finite.
    forces : bool
        Whether all actuators are joint forces.
    """

    def __init__(self, model: Model, actuators: Sequence[str] | None, limits: ArrayLike | None):
        self.model, nv, nu = model, model.nv, len(model.input_names)
        places = {name: nv + nu + k for k, name in enumerate(model.prescribed_joint_names)}
        forces = {name: k for k, name in enumerate(model.v_names) if name not in places}
        inputs = {name: nv + k for k, name in enumerate(model.input_names)}
        known = forces | inputs | places
        names = list(forces) if actuators is None else several(actuators, "actuators", "names of velocities or inputs")
        for name in names:
            if not isinstance(name, str) or name not in known:
                kind = "velocity, input or prescribed coordinate"
                raise UnknownNameError(kind, name, list(known), argument="actuators")
            if name in inputs and (name in forces or name in places):
                text = f'names "{name}", which is a joint and an input; give the input another name'
                raise InputError("actuators", actuators, text)
        if not names:
            raise InputError("actuators", actuators, "names nothing that acts; give one name at least")
        self.acts = np.array([known[name] for name in dict.fromkeys(names)], dtype=np.intc)
        self.forces = bool((self.acts < nv).all())
        self.size = nv + nu + len(places)
        sizes = {"torque": nv, "inputs": nu, "prescribed": len(places)}
        firsts = dict(zip(sizes, (0, nv, nv + nu), strict=True))
        #: the kinds that act, and where the actuators are among the entries of these
        self.kinds = tuple(x for x in sizes if ((self.acts >= firsts[x]) & (self.acts < firsts[x] + sizes[x])).any())
        among = np.concatenate([firsts[x] + np.arange(sizes[x]) for x in self.kinds])
        self.columns = np.searchsorted(among, self.acts)
        self.low, self.high = np.full(self.size, -np.inf), np.full(self.size, np.inf)
        if limits is not None:
            self.low[self.acts], self.high[self.acts] = limits_of(limits, len(self.acts))
        self.bounded = bool(np.isfinite([self.low, self.high]).any())

    def rows(self, torque: ArrayLike | None, inputs: object, prescribed: np.ndarray) -> np.ndarray:
        """Return rows from a torque (nv,) or (steps, nv), inputs likewise, and prescribed coordinates (steps, k)."""
        model, steps = self.model, len(prescribed)
        found = np.zeros((steps, self.size))
        forces, acting, places = self.split(found)
        places[:] = prescribed
        if torque is not None:
            shape = (model.nv,) if axes_of(torque) == 1 else (steps, model.nv)
            forces[:] = entries(torque, shape, "control")
        given = resolve_inputs(model, inputs)
        if callable(given):
            raise InputError("inputs", inputs, "must be numbers, or rows (steps, n), in a first guess")
        if given is not None:
            if given.ndim == 2 and len(given) != steps:
                raise InputError("inputs", inputs, f"has {len(given)} rows; {steps} steps need one each")
            acting[:] = given
        return found

    def split(self, rows: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Return torque, inputs and prescribed coordinates."""
        nv, nu = self.model.nv, len(self.model.input_names)
        return rows[:, :nv], rows[:, nv : nv + nu], rows[:, nv + nu :]

    def slopes(self, found: Slopes) -> np.ndarray:
        """Return the derivatives (steps, 2 nv, m) of steps by the actuators."""
        if not (self.kinds == ("torque",) and found.diagonal):
            return np.ascontiguousarray(columns_of(self.model, found, self.kinds)[:, :, self.columns])
        # a torque is a momentum of its joint alone
        nv, at = self.model.nv, self.columns
        share = found.F[..., at, at]
        rows = np.take(found.A, nv + at, axis=2)
        rows *= share[..., :1, :]
        rows[:, nv + at, range(len(at))] += share[..., 1, :]
        return rows

    def impulse_slopes(self, found: Slopes) -> np.ndarray:
        """Return the derivatives (steps, c, m) of the constraints' impulses by the actuators, none prescribed."""
        kicks = np.broadcast_to(found.F[..., 0, :, :], (len(found.A), self.model.nv, self.model.nv))
        if not self.forces:
            kicks = np.concatenate([kicks, kicks_of(self.model, found)[0]], axis=2)
        return np.asarray(-found.multipliers[:, :, self.model.nv :] @ kicks[:, :, self.acts])


class ShootingProblem:
    """What the searches of :func:`optimize_motion` ask: motions under controls, their costs and derivatives."""

    def __init__(self, model: Model, q0: ArrayLike | None, v0: ArrayLike | None, duration: float | None, dt: float,
                 costs: object, *, prescribed: object = None, actuators: Sequence[str] | None = None,
                 limits: ArrayLike | None = None, bounds: Bounds = None, velocity_bounds: Bounds = None,
                 method: str = "linear-time", options: Keywords | None = None,
                 phases: Sequence[ContactPhase] | None = None, friction: float = 1.0, ground: float = 0.0,
                 clearance: float = 0.0):  # fmt: skip
        if isinstance(model, Vehicle):
            raise InputError(
                f'optimize_motion and Search take models of robots, and "{model.name}" is a vehicle; plan its motion '
                "with vt.control.ControlProblem"
            )
        of_kind(model, Model, "model", "a vitree Model")
        self.options = dict(options or {})
        if phases is not None:
            require_phases(model, velocity_bounds)
            if isinstance(method, str) and method == "midpoint":
                kinetic = self.options.setdefault("kinetic", "midpoint")
                if not (isinstance(kinetic, str) and kinetic == "midpoint"):
                    raise InputError("kinetic", kinetic, 'must be "midpoint" with phases')
            model = with_fields(model, contacts=(), ground=None)
        if model.has_contact or phases is not None:
            # steps in contact that were taken in parts have no derivatives
            self.options = {"max_halvings": 0, **self.options}
        self.integrator = integrator_of(model, method, dt, {**self.options, "prescribed": prescribed})
        self.model, self.dt, self.method = model, real(dt), method
        self.phases: ContactSteps | None = None
        if phases is not None:
            q, whole = model.neutral() if q0 is None else model.validate_configuration(q0, "q0"), self.options
            self.phases = ContactSteps(model, phases, q, self.dt, (friction, ground, clearance),
                                       lambda held: integrator_of(held, method, self.dt, whole))  # fmt: skip
            self.phases.require_start(q)
        #: the configurations of the motion whose derivatives were asked for last, and these
        self._known: tuple[np.ndarray, Expansion, ImpulseSlopes | None] | None = None
        self.steps = steps_of(duration, self.dt, self.phases)
        free = [Stretch(0, self.steps, self.integrator)]
        #: steps of one model each, the whole motion without phases
        self.stretches = free if self.phases is None else self.phases.stretches
        self.controls = Controls(model, actuators, limits)
        self.acts = self.controls.acts
        #: whether second derivatives of steps are those of an action, which are quick
        self.acting = self.phases is None and second.has_action(self.integrator)
        #: whether they are taken: controls must be momenta that do not depend on the state
        self.bends = (
            (self.acting or (model.nv <= CURVED and (model.nq == model.nv or method == "linear-time")))
            and self.controls.forces and model.written is None and not model.has_contact and self.phases is None
        )  # fmt: skip
        quadratic, frames = _kinds(costs)
        self.frames = FrameCosts(model, frames, self.steps)
        if quadratic.goal is None and not frames:
            raise InputError("the cost has no goal: give goal of QuadraticCost, or a FrameCost")
        m, n = len(self.acts), 2 * model.nv
        self.Q, self.R = weights(quadratic.Q, "Q", n), weights(quadratic.R, "R", m, definite=True)
        self.Q_end = self.Q if quadratic.Q_end is None else weights(quadratic.Q_end, "Q_end", n)
        #: of coordinates and velocities, and all
        self.of_states = StateBounds(model, self.steps, bounds, velocity_bounds)
        self.bounds = Bounded([self.of_states, *(bounds_of(self.phases) if self.phases is not None else ())])
        #: which velocities are angular
        self.turns = [k for joint in model.joints for k in _turns(joint)]
        begins = {**self.integrator.motion.prescribed, **self._begin(q0, v0)}
        self.held = Simulation(model, q0, v0, dt=dt, method=method, control=Control(prescribed=begins), **self.options)
        self.start = self.held.q.copy(), self.held.p.copy()
        self.goal = self._goal(quadratic.goal)
        self.at_start = quadratic.goal is None
        goal_p = np.zeros(model.nv) if quadratic.goal_p is None else quadratic.goal_p
        goal_u = np.zeros(m) if quadratic.goal_u is None else quadratic.goal_u
        self.goal_p = rows_of(goal_p, self.steps + 1, model.nv, "goal_p")
        self.goal_u = rows_of(goal_u, self.steps, m, "goal_u")
        #: prescribed coordinates, their rates and accelerations, at nodes and midpoints
        self.moved = np.zeros((2 * self.steps + 1, 3, len(model.prescribed_joint_names)))
        if model.prescribed_joint_names:
            self.integrator.motion.plan(self.start[0], self.dt * np.arange(self.steps + 1), self.dt)
            self.integrator.motion.start(self.start[0], np.zeros(model.nv))
            self.moved[:] = self.integrator.motion.rows(self.integrator.moments)
            self.integrator.stepper.set_motion(self.moved)

    def begin(self, q0: ArrayLike | None, v0: ArrayLike | None) -> None:
        """Take another start, of a model without prescribed coordinates."""
        model = self.model
        q = model.neutral() if q0 is None else q0
        v = np.zeros(model.nv) if v0 is None else v0
        if model.has_contact or model.constraints:
            self.held.reset(q, v)
            self.start = self.held.q.copy(), self.held.p.copy()
        else:
            q, v = model.validate_configuration(q, "q0"), entries(v, (model.nv,), "v0")
            self.start = q, model.generalized_momentum(q, v)
        if self.at_start:
            self.goal = self._goal(None)

    def set_phases(self, phases: Sequence[ContactPhase]) -> None:
        """Replace the phases of contact by others of as many steps; multipliers of bounds stay, row by row."""
        if self.phases is None:
            raise InputError("phases need a Search that was made with phases")
        found = self.phases.again(phases, self.start[0])
        if found.steps != self.steps:
            raise InputError("phases", phases, f"have {found.steps} steps; those of this Search have {self.steps}")
        found.require_start(self.start[0])
        before, self.phases, self.stretches = self.bounds, found, found.stretches
        self.bounds = Bounded([self.of_states, *bounds_of(found)])
        self.bounds.take(before)

    def set_goal(self, goal: ArrayLike) -> None:
        """Replace the configurations of the goal."""
        self.goal, self.at_start = self._goal(goal), False

    def _goal(self, goal: ArrayLike | None) -> np.ndarray:
        """Return the configurations (steps + 1, nq) of the goal; where the motion begins if there is none."""
        model, given = self.model, self.start[0] if goal is None else goal
        if axes_of(given) == 2:
            rows = np.array([model.validate_configuration(q, "goal") for q in as_numbers(given)])
        else:
            rows = model.validate_configuration(given, "goal")
        return rows_of(rows, self.steps + 1, model.nq, "goal")

    def _begin(self, q0: ArrayLike | None, v0: ArrayLike | None) -> Keywords:
        """Return how prescribed coordinates that are actuators move at the start: at the rates of v0."""
        model, found = self.model, {}
        q = model.neutral() if q0 is None else model.validate_configuration(q0, "q0")
        v = np.zeros(model.nv) if v0 is None else entries(v0, (model.nv,), "v0")
        first = model.nv + len(model.input_names)
        for k in self.acts[self.acts >= first] - first:
            joint = model.joint(model.prescribed_joint_names[k])
            place, rate = q[joint.q_slice][0], v[joint.v_slice][0]
            found[joint.name] = lambda t, place=place, rate=rate: (place + rate * t, rate, 0.0)
        return found

    # ---- motions ----------------------------------------------------------------------------------------------

    def first(self, control: object) -> Iterate:
        """Return the motion under a first guess of the controls."""
        return self.follow(self.first_rows(control))

    def first_rows(self, control: object) -> np.ndarray:
        """Return the controls (steps, ...) of a first guess."""
        torque, inputs, _ = guess_parts(control)
        law = torque if callable(torque) else None
        rows = self.controls.rows(None if law else torque, inputs, self.moved[2::2, 0])
        if law is not None:
            self.simulated(rows, law)
        return rows

    def guessed(self, states: ArrayLike | tuple[ArrayLike, ArrayLike]) -> tuple[np.ndarray, np.ndarray]:
        """Return configurations (steps + 1, nq) and momenta (steps + 1, nv) of a first guess of the states."""
        model, n = self.model, self.steps + 1
        q, p = states if isinstance(states, tuple) and len(states) == 2 else (states, None)
        q = entries(q, (n, model.nq), "states", ", a row for each node, or a pair of configurations and momenta")
        q = np.array([model.validate_configuration(row, "states") for row in q])
        if p is not None:
            return q, entries(p, (n, model.nv), "the momenta of states", ", a row for each node")
        v = model.difference(q[:-1], q[1:]) / self.dt
        # the mean of the velocities on both sides of a node
        v = 0.5 * (np.concatenate([v[:1], v]) + np.concatenate([v, v[-1:]]))
        return q, model.generalized_momentum(q, v)

    def require_gaps(self) -> None:
        """Raise an InputError if steps of the model cannot be taken from any states."""
        parts = {"contacts": self.model.has_contact, "prescribed coordinates": self.model.prescribed_joint_names}
        found = [name for name, there in parts.items() if there]
        if found:
            raise InputError(
                f'search="fddp" does not take models with {" or ".join(found)}, and "{self.model.name}" has them; take '
                'search="ddp"'
            )

    def between(self, q: np.ndarray, p: np.ndarray, controls: np.ndarray) -> Iterate:
        """Return the motion of multiple shooting whose nodes are given, (steps + 1, nq) and (steps + 1, nv)."""
        model = self.model
        q, p, used = q.copy(), p.copy(), np.clip(controls, self.controls.low, self.controls.high)
        q[0], p[0] = self.start
        ends = np.empty((self.steps, model.nq)), np.empty((self.steps, model.nv))
        impulses = self._no_impulses()
        for one in self.stretches:
            steps, nodes = slice(one.first, one.last), slice(one.first, one.last + 1)
            parts = None, ends[0][steps], ends[1][steps]
            self._take(one, one.first, used[steps], q[nodes], p[nodes], impulses, parts=parts)
        gaps = np.concatenate([model.difference(q[1:], ends[0]), ends[1] - p[1:]], axis=1)
        return self._iterate(q, p, used, [], impulses, ends, gaps)

    def _no_impulses(self) -> np.ndarray:
        """Return zeros for the impulses of constraints, of none without phases."""
        return np.zeros((self.steps, 0 if self.phases is None else self.phases.rows))

    def _take(self, one: Stretch, first: int, used: np.ndarray, q: np.ndarray, p: np.ndarray, impulses: np.ndarray,
              correction: tuple[object, ...] | None = None, moved: np.ndarray | None = None,
              parts: tuple[np.ndarray | None, ...] | None = None) -> None:  # fmt: skip
        """Take steps of a stretch from the step ``first`` on, one for each row of controls.

        The first rows of q and p have the state; the others are written. The other arguments are those of the core.
        """
        integrator, count = one.integrator, len(used)
        integrator.renew()
        integrator.start(self.dt * first, q[0], p[0])
        integrator.keep_logs()
        pushes = np.empty((count, one.rows)) if one.rows and self.phases is not None else None
        within = self.controls.low, self.controls.high
        status, _ = core.follow(integrator.stepper, correction, *within, used, q, p, moved, parts, one.anchored, pushes)
        if status:
            raise integrator._stopped(status)
        if pushes is not None:
            impulses[first : first + count, : one.rows] = pushes

    def at(self, q: np.ndarray, p: np.ndarray, controls: np.ndarray) -> Iterate:
        """Return a motion that is known, of a model without contacts."""
        return self._iterate(q, p, controls, [], self._no_impulses())

    def again(self, at: Iterate) -> Iterate:
        """Return a motion with its cost for the multipliers that bounds have now."""
        return self._iterate(at.q, at.p, at.controls, at.touched, at.impulses, at.ends, at.gaps, at.inner, at.quick)

    def _iterate(self, q: np.ndarray, p: np.ndarray, controls: np.ndarray, touched: list[Touched | None],
                 impulses: np.ndarray, ends: tuple[np.ndarray, np.ndarray] | None = None,
                 gaps: np.ndarray | None = None, inner: np.ndarray | None = None,
                 quick: bool = False) -> Iterate:  # fmt: skip
        x, penalty = self.states(q, p), self.bounds.penalise(Motion(q, p, impulses))
        cost = self.cost(q, x, controls) + penalty
        return Iterate(q, p, controls, x, cost, penalty, touched, impulses, ends, gaps, inner, quick)

    def follow(self, controls: np.ndarray, correction: tuple[Any, ...] | None = None,
               gaps: np.ndarray | None = None) -> Iterate:  # fmt: skip
        """Return the motion under controls (steps, ...), with a correction as the core takes it.

        With ``gaps`` (steps, 2 nv) the node after a step is the step's end displaced by minus the gap.
        """
        q, p = np.empty((self.steps + 1, self.model.nq)), np.empty((self.steps + 1, self.model.nv))
        used, impulses = controls.copy(), self._no_impulses()
        q[0], p[0] = self.start
        ends = None if gaps is None else (np.empty_like(q[1:]), np.empty_like(p[1:]))
        for one in self.stretches:
            steps, nodes = slice(one.first, one.last), slice(one.first, one.last + 1)
            parts = None if gaps is None or ends is None else (gaps[steps], ends[0][steps], ends[1][steps])
            own = correction
            if correction is not None and len(self.stretches) > 1:
                acts, share, k, K, near_q, near_p = correction
                own = acts, share, k[steps], K[steps], near_q[nodes], near_p[nodes]
            moved = self.moved[2 * one.first : 2 * one.last + 1]
            self._take(one, one.first, used[steps], q[nodes], p[nodes], impulses, own, moved, parts)
        inner = self.integrator.inner_states if self.integrator.halved else None
        quick = correction is not None and len(correction) > 6
        return self._iterate(q, p, used, self._touched(q), impulses, ends, gaps, inner, quick)

    def _touched(self, q: np.ndarray) -> list[Touched | None]:
        """Return the contacts of the motion just taken, which has nodes q."""
        model = self.model
        if not model.has_contact:
            return []
        rows = self.integrator.stepper.take_contacts()
        record, number = rows[:, 0].astype(int), rows[:, 1].astype(int)
        rows, facets = split_rows(rows)
        nodes = Nodes(q, record - 1, np.column_stack([record, number]), facets)
        log = ContactLog(rows, model._contact_names, partial(places_of, model, number, nodes), self.dt, nodes)
        return touched_in(log, model, self.dt, self.steps)

    def corrected(self, at: Iterate, share: float, gains: tuple[np.ndarray, np.ndarray],
                  nearby: tuple[np.ndarray, np.ndarray] | None = None, *,
                  quick: bool = False) -> Iterate | None:  # fmt: skip
        """Return the motion with a share of a correction, and feedback to it or to states nearby; None if it fails.

        The same share of the gaps is closed. ``quick``: by the derivatives of the steps of ``at``, if they are known.
        """
        gaps = None if at.gaps is None or share == 1 else (1 - share) * at.gaps
        maps: tuple[np.ndarray, ...] = ()
        if quick and self.acting and at.gaps is None and self._known is not None and self._known[0] is at.q:
            maps = self._known[1][:2]
        try:
            found = self.follow(at.controls, (self.acts, share, *gains, *(nearby or (at.q, at.p)), *maps), gaps)
        except ConvergenceError:
            return None
        return found if np.isfinite(found.cost) else None

    def as_simulated(self, at: Iterate, gains: np.ndarray) -> Iterate:
        """Return a motion with the digits of a simulation, by feedback u = -gains x (steps, m, 2 nv) to it."""
        return self.corrected(at, 1.0, (np.zeros(gains.shape[:2]), -gains)) or at

    def prescribed(self, controls: np.ndarray) -> dict[str, np.ndarray]:
        """Return the prescribed coordinates (steps + 1,) by their names."""
        places = np.concatenate([self.moved[:1, 0], self.controls.split(controls)[2]])
        return dict(zip(self.model.prescribed_joint_names, places.T, strict=True))

    def simulated(self, controls: np.ndarray, law: Callable[..., ArrayLike] | None = None) -> Trajectory:
        """Return a simulation under controls (steps, ...); a law (t, q, v) -> torque writes the torques into them."""
        return self.simulation(controls, law)()

    def simulation(self, controls: np.ndarray,
                   law: Callable[..., ArrayLike] | None = None) -> Callable[[], Trajectory]:  # fmt: skip
        """Return a function that simulates the motion, whatever starts and controls the problem gets until then."""
        moved = self.prescribed(controls) if self.model.prescribed_joint_names else None
        (q, p), stretches, phases = self.start, self.stretches, self.phases

        def simulate() -> Trajectory:
            at, parts = (q, p), list[Trajectory]()
            for one in stretches:
                model = self.model if phases is None else phases.model_at(one, at[0])
                held = Simulation(model, at[0], p0=at[1], t0=self.dt * one.first, dt=self.dt, method=self.method,
                                  control=Control(prescribed=moved), record_every=1, **self.options)  # fmt: skip
                steps = slice(one.first, one.last)
                for k, (torque, inputs) in enumerate(zip(*self.controls.split(controls[steps])[:2], strict=True)):
                    if law is not None:
                        now = law(self.dt * (one.first + k), held.q.copy(), held.v.copy())
                        torque[:] = entries(now, (self.model.nv,), "control")
                    held.step(control=Control(torque=torque, inputs=inputs if len(inputs) else None))
                at = held.q.copy(), held.p.copy()
                # a node between two stretches has the record of the first of them
                parts.append(held.trajectory[1:] if parts else held.trajectory)
            return joined(parts)

        return simulate

    def wrenches(self, at: Iterate) -> Callable[[], ContactWrenches] | None:
        """Return a function that computes what the ground gives the frames of the phases; None without phases."""
        return None if self.phases is None else partial(self.phases.wrenches_of, at.motion)

    def turn(self, q: np.ndarray) -> float:
        """Return the largest rotation of a joint in a step [rad]."""
        plain = self.model.nq == self.model.nv
        d = np.diff(q, axis=0) if plain else self.model.difference(q[:-1], q[1:])
        return float(np.abs(d[:, self.turns]).max(initial=0.0))

    # ---- costs and derivatives --------------------------------------------------------------------------------

    def states(self, q: np.ndarray, p: np.ndarray) -> np.ndarray:
        """Return x (steps + 1, 2 nv) from the goal."""
        nv = self.model.nv
        x = np.empty((len(q), 2 * nv))
        if self.model.nq == nv:
            np.subtract(q, self.goal, out=x[:, :nv])
        elif type(self.model) is Model:
            # both are configurations, which need no checks
            d = np.empty((len(q), nv))
            wide().batch_difference(self.model.core, self.goal, q, d)
            x[:, :nv] = d
        else:
            x[:, :nv] = self.model.difference(self.goal, q)
        np.subtract(p, self.goal_p, out=x[:, nv:])
        return x

    def effort(self, controls: np.ndarray) -> np.ndarray:
        """Return u (steps, m): the controls of the actuators, from those of the goal."""
        return np.ascontiguousarray(controls[:, self.acts] - self.goal_u)

    def cost(self, q: np.ndarray, x: np.ndarray, controls: np.ndarray) -> float:
        """Return the cost of a motion with states x from the goal."""
        u, end = self.effort(controls), x[-1]
        running = np.vdot(x[:-1] @ self.Q, x[:-1]) + np.vdot(u @ self.R, u)
        found = float(running + end @ self.Q_end @ end)
        return found + self.frames.cost(q) if self.frames.costs else found

    def rows(self, at: Iterate) -> Rows:
        """Return the steps of a motion."""
        u = np.ascontiguousarray(self.controls.split(at.controls)[1])
        q, p = at.ends or (at.q[1:], at.p[1:])
        return Rows(at.q[:-1], q, at.p[:-1], p, u, self.dt * np.arange(self.steps))

    def curvature(self, at: Iterate, A: np.ndarray, costates: np.ndarray,
                  differences: Differences = QUICK) -> np.ndarray:  # fmt: skip
        """Return the second derivatives (steps, 2 nv, 2 nv) of steps by the state, times the costates at their ends."""
        ends, rows = costates[1:], self.rows(at)
        if self.acting:
            found = second.curvature_by_action(self.integrator, rows, A, ends, second.ON_BOTH_SIDES, 0)
        else:
            found = np.empty_like(A)
            for which, bent in bends([self.integrator], rows, ("state",), A, differences):
                np.matmul(ends[:, None, None], bent, out=found[:, which, None])
            found = 0.5 * (found + found.swapaxes(1, 2))
        for steps, _ in self._in_halves(at):
            # of steps that were taken in halves they are left out
            found[steps] = 0.0
        return found

    def bent(self, at: Iterate, expansion: Expansion) -> Expansion:
        """Return the expansion with the second derivatives of the frames' positions, and of bounded velocities."""
        if not (self.frames.costs or self.of_states.bends):
            return expansion
        matrices, nv = expansion.matrices.copy(), self.model.nv
        if self.frames.costs:
            self.frames.bend(at.q, matrices)
        if self.of_states.bends:
            matrices[:, : 2 * nv, : 2 * nv] += self.of_states.bend(at.q, at.p)
        return expansion._replace(matrices=matrices)

    def expand(self, at: Iterate) -> Expansion:
        """Return the derivatives of the steps and of the cost at a motion."""
        if self._known is None or self._known[0] is not at.q:
            self._known = at.q, *self._without_bounds(at)
        # the same motion with other multipliers has the same derivatives
        _, found, pushes = self._known
        if not self.bounds:
            return found
        steps, n, m = found.B.shape
        count = 0 if pushes is None else steps
        cost = Quadratic(found.gradients.copy(), found.matrices.copy(), np.zeros((count, m)), np.zeros((count, m, n)),
                         np.zeros((count, m, m)))  # fmt: skip
        pieces = self.bounds.add(at.motion, pushes, cost)
        # without contacts few bounds change along a correction
        return found._replace(**cost._asdict(), pieces=pieces if self.phases is not None else ())

    def _without_bounds(self, at: Iterate) -> tuple[Expansion, ImpulseSlopes | None]:
        """Return the derivatives without the terms of bounds, and those of impulses of contacts, in phases of these."""
        parts, m, n = self.slopes(at), len(self.acts), 2 * self.model.nv
        found, impulses = parts[0], np.zeros((m, self.model.nv))
        if self.controls.forces:
            impulses[:] = found.F[(0,) * (found.F.ndim - 2)].T[self.acts]
        A, B = (x[0] if len(x) == 1 else np.concatenate(x) for x in (
            [part.A for part in parts], [self.controls.slopes(part) for part in parts]))  # fmt: skip
        for steps, blocks in self._in_halves(at):
            A[steps], B[steps] = blocks.A, np.concatenate(blocks[1:], axis=2)[:, :, self.acts]
        x = at.x
        gradients, matrices = np.empty_like(x), np.empty((len(x), *self.Q.shape))
        E = joint_maps(self.model, -x[:, : self.model.nv]) if self.model.nq != self.model.nv else None
        core.quadratic_terms(x, self.Q, self.Q_end, E, gradients, matrices)
        if self.frames.costs:
            self.frames.expand(at.q, gradients, matrices)
        if at.gaps is not None and self.model.nq != self.model.nv:
            # the end of a step is displaced in its own axes, and the next node in those of the node
            nv, gaps = self.model.nv, at.gaps[:, : self.model.nv]
            turn = np.linalg.solve(joint_maps(self.model, gaps), joint_maps(self.model, -gaps))
            A, B = A.copy(), B.copy()
            for rows in (A, B):
                rows[:, :nv] = turn @ rows[:, :nv]
        if found.memory is not None:
            # the configuration before is part of the state
            nv = self.model.nv
            A, B, gradients = (self.widened(x, 1) for x in (A, B, gradients))
            A, matrices = self.widened(A, 2), self.widened(self.widened(matrices, 1), 2)
            A[:, : 2 * nv, 2 * nv :], A[:, 2 * nv :, :nv] = found.memory[:, :, :nv], np.eye(nv)
            A[:, : 2 * nv, :nv] += found.memory[:, :, nv:]
        pushes = self.impulse_slopes(parts) if at.impulses.shape[1] else None
        none = np.zeros((0, m)), np.zeros((0, m, n)), np.zeros((0, m, m))
        return Expansion(A, B, impulses, gradients, matrices, *none), pushes

    def slopes(self, at: Iterate) -> list[Slopes]:
        """Return the derivatives of the steps of each stretch."""
        rows, found = self.rows(at), list[Slopes]()
        for one in self.stretches:
            steps = slice(one.first, one.last)
            known = Anchored(one.anchored, -at.impulses[steps, : one.rows]) if at.impulses.shape[1] else None
            found.append(part_slopes([one.integrator], rows.of(steps) if len(self.stretches) > 1 else rows, at.touched,
                                     anchored=known))  # fmt: skip
        return found

    def _in_halves(self, at: Iterate) -> Iterator[tuple[slice, Blocks]]:
        """Yield the derivatives of those steps that were taken in halves: which, and these."""
        if at.inner is None:
            return
        nq = self.model.nq
        pieces, rows = pieces_of(self.rows(at), at.inner[:, 0], at.inner[:, 1 : 1 + nq], at.inner[:, 1 + nq :])
        first = np.concatenate([[0], np.cumsum(pieces)])
        for begin, end in chunks_of(first, len(rows.q)):
            if (count := int(pieces[begin])) > 1:
                found = part_slopes(halved_parts(self.integrator, count), rows.of(slice(first[begin], first[end])))
                yield slice(begin, end), chained(self.model, found, count)

    def impulse_slopes(self, parts: Sequence[Slopes]) -> ImpulseSlopes:
        """Return the derivatives of impulses of constraints, of those of the steps of each stretch."""
        count = max(one.rows for one in self.stretches)
        found = ImpulseSlopes(*(np.zeros((self.steps, count, k)) for k in (2 * self.model.nv, len(self.acts))))
        for one, part in zip(self.stretches, parts, strict=True):
            if one.rows:
                found.by_state[one.first : one.last, : one.rows] = -part.multipliers
                found.by_control[one.first : one.last, : one.rows] = self.controls.impulse_slopes(part)
        return found

    def widened(self, x: np.ndarray, axis: int) -> np.ndarray:
        """Return an array with zeros for the configuration before a node, behind the states of an axis."""
        shape = list(x.shape)
        shape[axis] = self.model.nv
        return np.concatenate([x, np.zeros(shape)], axis=axis)

    def costates(self, model: Expansion, K: np.ndarray, gu: np.ndarray) -> np.ndarray:
        """Return the slopes (steps + 1, n) of the cost by states which controls follow by K, with slopes gu."""
        found = np.empty_like(model.gradients)
        slopes = gu + model.slopes if len(model.slopes) else gu
        core.costates_of(model.A, model.B, K, model.gradients, slopes, found)
        return found

    def riccati(self, model: Expansion, gu: np.ndarray, R: np.ndarray, *, regularisation: float = 0.0,
                curvature: np.ndarray | None = None, bounds: tuple[np.ndarray, ...] | None = None,
                gaps: np.ndarray | None = None) -> Pass:  # fmt: skip
        """Return the backward pass over a quadratic model, with the slopes gu and the matrix R of the controls."""
        A, B, impulses, gx, W, slopes, *mixed, _ = model
        steps, n, m = B.shape
        more = None
        if len(slopes):
            gu, more = gu + slopes, tuple(mixed)
        k, K, P = np.empty((steps, m)), np.empty((steps, m, n)), np.empty((steps + 1, n, n))
        expected = core.riccati_pass(A, B, gx, W, gu, R, regularisation, curvature, impulses, bounds, k, K, P, gaps,
                                     more)  # fmt: skip
        return Pass(expected, k, K, P)


def line_search(at: Iterate, move: Callable[[float], Iterate | None],
                gain: Callable[[float], float]) -> tuple[Iterate | None, float]:  # fmt: skip
    """Return the motion of the longest step that meets Armijo's condition for the decrease, or None, and its share."""
    for share in SHARES.tolist():
        found = move(share)
        if found is not None and at.cost - found.cost >= ARMIJO * gain(share):
            return found, share
    return None, 0.0


def guess_parts(control: object) -> tuple[Any, object, object]:
    """Return the torque, the inputs and the prescribed coordinates of a first guess."""
    if not isinstance(control, Mapping):
        return control, None, None
    known = ("torque", "inputs", "prescribed")
    for name in control:
        if name not in known:
            raise UnknownNameError("kind of control", name, known, argument="control")
    torque, inputs, prescribed = (control.get(name) for name in known)
    return torque, inputs, prescribed


def require_phases(model: Model, velocity_bounds: Bounds) -> None:
    """Raise an InputError if phases of contact do not go with a model, or with bounds on velocities."""
    if model.prescribed_joint_names:
        raise InputError(
            f'phases do not go with prescribed coordinates, and "{model.name}" has them: drive these joints instead'
        )
    if mapping(velocity_bounds, "velocity_bounds", "a mapping of names of velocities to (least, greatest)"):
        raise InputError("velocity_bounds", velocity_bounds, "are not supported with phases; weigh momenta in the cost")


def steps_of(duration: float | None, dt: float, phases: ContactSteps | None) -> int:
    """Return the number of steps, which phases and a duration give alike."""
    if phases is None:
        if duration is None:
            raise InputError("give the duration of the motion, or phases, which have their own steps")
        return count_steps(duration, dt)
    if duration is not None and count_steps(duration, dt) != phases.steps:
        raise InputError("duration", duration, f"is not that of the {phases.steps} steps of the phases; leave it out")
    return phases.steps


def bounds_of(phases: ContactSteps) -> list[BoundedValues]:
    """Return the bounds on the impulses and on the places of the frames that phases hold."""
    held = [name for name in phases.frames if phases.held(name).any() and phases.frames[name].along[:, 2].any()]
    sizes = {len(phases.frames[name].along) for name in held}
    groups = [[name for name in held if len(phases.frames[name].along) == k] for k in sorted(sizes)]
    soles = [SoleBounds(phases, name) for name in held if name in phases.soles]
    return [*(FrictionCone(phases, names) for names in groups), *soles, PlaceBounds(phases)]


def _kinds(costs: object) -> tuple[QuadraticCost, list[FrameCost]]:
    """Return the one quadratic cost, and the costs of frames."""
    needed = "a QuadraticCost, or a sequence of one QuadraticCost and any number of FrameCost"
    given = (costs,) if isinstance(costs, QuadraticCost) else several(costs, "costs", needed)
    frames = [each for each in given if isinstance(each, FrameCost)]
    others = [of_kind(each, QuadraticCost, "costs", needed) for each in given if not isinstance(each, FrameCost)]
    if len(others) != 1:
        raise InputError("costs", costs, f"has {len(others)} QuadraticCost; give {needed}")
    return others[0], frames


def _turns(joint: JointInfo) -> range:
    """Return the velocities of a joint that are angular."""
    at = range(joint.v_slice.start, joint.v_slice.stop)
    return {"prismatic": at[:0], "free": at[3:]}.get(joint.kind, at)
