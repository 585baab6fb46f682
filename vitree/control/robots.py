"""Robots: motions by direct transcription of the discrete Euler-Lagrange equations, with phases of contact."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from types import MappingProxyType

import numpy as np
from numpy.typing import ArrayLike

from vitree.arguments import entries, mapping, of_kind, real, several, shown
from vitree.control.contacts import (
    ON_PLACE,
    ContactInterval,
    ContactPhase,
    PhaseInterval,
    Point,
    String,
    stances_of,
    stretches_of,
    swings,
)
from vitree.control.costs import (
    EffortCost,
    FrameCost,
    MomentumCost,
    PositionCost,
    PostureCost,
    QuadraticCost,
    TensionCost,
    TimeCost,
    TorqueCost,
    VelocityCost,
)
from vitree.control.frame_costs import frame_weights, pose_error_slopes, pose_errors
from vitree.control.lqr import actuated, limits_of, rows_of, weights
from vitree.control.momenta import Entries, Momenta
from vitree.control.program import Block, Equations, Linear, Term, quiet
from vitree.control.state_bounds import Bounds, bounds_by_name, require_velocities, velocity_slopes
from vitree.control.transcription import (
    Deviation,
    Horizon,
    TranscriptionProblem,
    same,
    same_slopes,
    weights_of,
)
from vitree.errors import InputError, UnknownNameError
from vitree.integrators.slopes import constraint_slopes
from vitree.model.model import Model
from vitree.run.controller import Controller, joints_of
from vitree.run.linearization import integrator_of

Cost = (
    EffortCost | TorqueCost | VelocityCost | TimeCost | PostureCost | PositionCost | MomentumCost | TensionCost
    | QuadraticCost | FrameCost
)  # fmt: skip
#: Configuration and velocity of a start or goal: the first alone, or both; None is free.
State = ArrayLike | tuple[ArrayLike, ArrayLike | None] | None


@dataclass(frozen=True, eq=False)
class MotionPlan:
    """A motion of a robot with its forces.

    Attributes
    ----------
    model : Model
    dt : float [s]
    t : (N + 1,) array [s]
    q : (N + 1, nq) array [m or rad]
        Configurations at the nodes.
    p : (N + 1, nv) array [kg m/s or kg m^2/s]
        Momenta there, those of the steps that end there: impulses of the node come after them.
    torque : (N, nv) array [N or N m]
        Acts over each step.
    impulses : dict of str to (N + 1, 3) array [N s]
        Of each frame that is held: what the ground gives it at each node, in world axes. Zero while it is free. The
        last one is what it takes to come to the velocity of the goal.
    tensions : dict of str to (N + 1,) array [N s]
        Of each string: the impulse at each node with which it pulls.
    lengths : dict of str to (N + 1,) array [m]
        Of each string, at the nodes.
    multipliers : (N + 1, m) array [N s or N m s]
        Of the model's constraints: they act on the joints with the impulse Dh(q)^T multipliers at each node.
    phases : tuple of PhaseInterval
    """

    model: Model
    dt: float
    t: np.ndarray
    q: np.ndarray
    p: np.ndarray
    torque: np.ndarray
    impulses: Mapping[str, np.ndarray]
    tensions: Mapping[str, np.ndarray]
    lengths: Mapping[str, np.ndarray]
    multipliers: np.ndarray
    phases: tuple[PhaseInterval, ...]

    def __repr__(self) -> str:
        return f'<vitree.control.MotionPlan of "{self.model.name}", {len(self.torque)} steps of {self.dt:g} s>'

    def controller(self) -> Controller:
        """Return a controller that repeats the forces of the plan, a row for each step, and none behind them."""
        rows = np.vstack([self.torque, np.zeros(self.model.nv)])

        def force(t: float, q: np.ndarray, v: np.ndarray) -> np.ndarray:
            k = int(np.floor(t / self.dt * (1 + 1e-12) + 1e-9))
            return np.asarray(rows[min(max(k, 0), len(rows) - 1)])

        return Controller(force, self.dt, joints=joints_of(self.model))

    @property
    def v(self) -> np.ndarray:
        """The velocities (N + 1, nv) [m/s or rad/s] of the momenta."""
        return np.asarray(self.model.velocity_from_momentum(self.q, self.p))


def _turned(value: Deviation, L: np.ndarray, z: np.ndarray, goal: np.ndarray) -> np.ndarray:
    return np.asarray(value(z, goal) @ L)


def _turned_slopes(slopes: Deviation, L: np.ndarray, z: np.ndarray, goal: np.ndarray) -> np.ndarray:
    return np.asarray(L.T @ slopes(z, goal))


class MotionProblem(TranscriptionProblem[MotionPlan]):
    """Find a motion of a robot at least cost, with all nodes as unknowns at once.

    The variables are the configurations q_k and momenta p_k at all nodes, the forces u_k on the actuators over all
    steps, the impulses of points that are held, of strings and of the model's constraints, places that are free, and
    the duration. The constraints are the discrete Euler-Lagrange equations::

        p_k + sum of J(q_k)^T impulses = -D1 Ld(q_k, q_k+1) - f-(q_k, q_k+1, u_k)
        p_k+1 = D2 Ld(q_k, q_k+1) + f+(q_k, q_k+1, u_k)

    Solve it with :func:`solve`. A simulation with the forces of the plan repeats the plan.

    Parameters
    ----------
    model : Model
        As :func:`vitree.linearize` takes it, without inputs, drives and prescribed coordinates.
    steps : int, optional
        Steps N; not given with phases, which have them.
    dt, duration : float or (float, float) [s]
        The step, or the duration of all steps: give one of them, as a number or as (least, greatest).
    start : (nq,) array, or pair of (nq,) and (nv,) arrays, optional [m or rad, m/s or rad/s]
        Configuration and velocity, at rest unless given. NaN is free in a configuration; None is a free velocity. All
        is free if it is not given.
    goal : as start, optional
        Of the last node.
    cost : str, cost, or sequence of them
        "torque", "effort", "time", :class:`TorqueCost`, :class:`EffortCost`, :class:`TimeCost`, :class:`VelocityCost`,
        :class:`PostureCost`, :class:`PositionCost`, :class:`MomentumCost`, :class:`TensionCost`,
        :class:`QuadraticCost`, :class:`FrameCost`; the problem minimises their sum.
    bounds : mapping of str to (float, float) [m or rad]
        Least and greatest value of coordinates, by their names.
    velocity_bounds : mapping of str to (float, float) [m/s or rad/s]
        Least and greatest velocity M(q)^-1 p at all nodes but the first, by names of ``model.v_names``; of models
        without constraints.
    limits : float, (m,) or (m, 2) array, optional [N or N m]
        The largest absolute force of each actuator, or its smallest and largest force.
    actuators : sequence of str, optional
        The names among ``model.v_names`` on which forces act; all if not given, none if it is empty.
    phases : sequence of ContactPhase, optional
        Which points stand on the ground, and when.
    friction : float [-]
        Of the ground. The tangential impulse of a held point is at most friction times the normal one.
    ground : float [m]
        The height of the ground. What is held in some phase is not below the ground in the others.
    clearance : float [m]
        In the middle of the nodes at which it is free, such a point is at least this high. The bound falls to zero at
        both ends as a parabola.
    strings : mapping of str to (3,) array [m]
        Frames that hang on strings, and the hooks of these in the world. A string pulls, and has any length.
    periodic : mapping of str to str or (str, float)
        Coordinates at the last node that are as others at the first, plus a number; so are their momenta. NaN as the
        number asks for the momentum alone. Joints of one coordinate.
    guess : MotionPlan or (N + 1, nq) array, optional [m or rad]
        Where the search begins. The default goes straight from start to goal.
    method : str
        "linear-time" or "midpoint".
    **options
        Further options of the method, as of :func:`vitree.simulate`.

    Raises
    ------
    InputError
        For a wrong shape, bounds that exclude each other, a start or goal outside them or off its place.
    UnknownNameError
        For a name that is not known.
    ModelError
        If the model has parts whose derivatives are not there.

    Notes
    -----
    A phase's points get impulses at its nodes, the last one excepted. A point that becomes held is stopped at the first
    node of the phase: the impact is inelastic, as a contact without restitution. Places, not velocities, are held, so
    points do not slide. If the robot stands or hangs at its goal, an impulse brings it to its velocity there.

    References
    ----------
    Junge, Marsden & Ober-Bloebaum 2005 (DMOC); Posa, Cantu & Tedrake 2014 (contact implicit, here with given phases).
    """

    ipopt = MappingProxyType({"mu_strategy": "adaptive"})
    _takes = (*TranscriptionProblem._takes, PostureCost, PositionCost, MomentumCost, TensionCost, QuadraticCost,
              FrameCost)  # fmt: skip
    _plan = MotionPlan

    @quiet
    def __init__(
        self,
        model: Model,
        *,
        steps: int | None = None,
        dt: float | tuple[float, float] | None = None,
        duration: float | tuple[float, float] | None = None,
        start: State = None,
        goal: State = None,
        cost: str | Cost | Sequence[str | Cost] = "torque",
        bounds: Bounds = None,
        velocity_bounds: Bounds = None,
        limits: ArrayLike | None = None,
        actuators: Sequence[str] | None = None,
        phases: Sequence[ContactPhase] = (),
        friction: float = 1.0,
        ground: float = 0.0,
        clearance: float = 0.0,
        strings: Mapping[str, ArrayLike] | None = None,
        periodic: Mapping[str, str | tuple[str, float]] | None = None,
        guess: MotionPlan | ArrayLike | None = None,
        method: str = "linear-time",
        **options: object,
    ):
        self.model = of_kind(model, Model, "model", "a Model")
        phases = several(phases, "phases", "a sequence of ContactPhase")
        if phases and steps is not None:
            raise InputError("steps", steps, "must not be given with phases, which have their own steps")
        stretches = stretches_of(phases)
        if any(stretch.fixed for stretch in stretches):
            raise InputError("phases", phases, "hold rotations of frames (fixed), which optimize_motion alone takes")
        horizon = Horizon.of(stretches[-1].last if stretches else steps, dt, duration)
        N = horizon.steps
        self.phases = stretches or (PhaseInterval(0, N, ()),)
        integrator = integrator_of(model, method, horizon.step(horizon.middle), options)
        more = {
            "inputs": model.input_names, "drives": model.drives, "prescribed coordinates": model.prescribed_joint_names,
            "ropes or limits of ball joints": model.unilateral,
        }  # fmt: skip
        found = [name for name, there in more.items() if there]
        if found:
            raise InputError(
                f'"{model.name}" has {" and ".join(found)}; a MotionProblem finds forces, and holds points by phases '
                "and strings: leave these out"
            )
        self._ground, self._friction, self._clearance = real(ground), real(friction), real(clearance)
        for name, given, value in (("ground", ground, self._ground), ("friction", friction, self._friction),
                                   ("clearance", clearance, self._clearance)):  # fmt: skip
            if not np.isfinite(value) or (value < 0 and name != "ground"):
                raise InputError(name, given, "must be a number" + (", zero or more" * (name != "ground")))
        none = isinstance(actuators, list | tuple) and not actuators
        self._acts = acts = np.zeros(0, dtype=int) if none else actuated(model, actuators)
        self._names, self._trim = (model.q_names, model.v_names, [model.v_names[k] for k in acts]), np.zeros(len(acts))
        self._limits, self._periodic = limits, periodic
        self._rates = bounds_by_name(velocity_bounds, model.v_names, "velocity_bounds", "velocity")
        if self._rates:
            if phases or strings:
                raise InputError("velocity_bounds", velocity_bounds, "are not supported with phases or strings")
            require_velocities(model)
        self._entries = Entries(model)
        self._strings = {
            name: String(self._entries, name, entries(hook, (3,), f'the hook of "{name}"'))
            for name, hook in mapping(strings, "strings", "a mapping of frames to hooks").items()
        }
        self._stances = stances_of(phases, stretches)
        self._points = {stance.frame: Point(self._entries, stance.frame) for stance in self._stances}
        self._free_T = horizon.dt is None
        self._momenta = Momenta(integrator, self._entries, acts, N if self._free_T else 0)
        super().__init__(horizon, start=start, goal=goal, cost=cost, guess=guess,
                         bounds=mapping(bounds, "bounds", "a mapping of coordinates to (least, greatest)"))  # fmt: skip
        if not (np.isfinite(self.constraints(self.x0)).all() and np.isfinite(self.objective(self.x0))):
            raise InputError("the guess makes a cost or an equation infinite or NaN; a point may be at its hook")

    @quiet
    def trajectory(self, x: ArrayLike) -> MotionPlan:
        """Return the motion whose variables are ``x``."""
        full, at, N = self._expand(x), self._variables, self.steps
        dt, q = self._horizon.step(float(full[at.T])), self._entries.unit(full[at.q])
        torque = np.zeros((N, self.model.nv))
        torque[:, self._acts] = full[at.u]
        impulses = {name: np.zeros((N + 1, 3)) for name in self._points}
        for stance, nodes, index in self._impulses():
            impulses[stance.frame][nodes, self._points[stance.frame].moves] = full[index]
        tensions = {name: np.zeros(N + 1) for name in self._strings}
        for tension, index in zip(tensions.values(), at["tensions"].T, strict=True):
            tension[: self._kicked] = full[index]
        lengths = {name: string.length(q) for name, string in self._strings.items()}
        multipliers = np.zeros((N + 1, at["multipliers"].shape[1]))
        multipliers[: self._kicked] = full[at["multipliers"]]
        return MotionPlan(self.model, dt, dt * np.arange(N + 1), q, full[at["p"]], torque, impulses, tensions, lengths,
                          multipliers, self.phases)  # fmt: skip

    # ---- states and bounds --------------------------------------------------------------------------------------

    def _checked(self, q: np.ndarray, v: np.ndarray, what: str) -> tuple[np.ndarray, np.ndarray]:
        known, own = np.isfinite(q), self._entries
        for i in np.unique(own.joint[own.turning]):
            turn = own.turning & (own.joint == i)
            if known[turn].any() != known[turn].all():
                raise InputError(f"{what} has NaN in a part of a quaternion; give all of it, or NaN for all")
        filled = self.model.validate_configuration(np.where(known, q, self.model.neutral()), "q")
        if np.isnan(v).any() and not np.isnan(v).all():
            raise InputError(f"{what} has NaN in its velocity; give all of it, or the velocity None")
        if np.nan_to_num(v).any() and not known.all():
            raise InputError(
                f"{what} has a velocity, and NaN in its configuration; give all of it, or the velocity None"
            )
        return np.where(known, filled, np.nan), v

    def _momentum(self, q: np.ndarray, v: np.ndarray) -> np.ndarray | None:
        """Return the momentum (nv,) of a start or goal; None if it is free."""
        if np.isnan(v).any():
            return None
        return self.model.generalized_momentum(np.where(np.isfinite(q), q, self.model.neutral()), v)

    def _blocks(self) -> list[Block]:
        (q, v, u), N, model = self._names, self.steps, self.model
        # a robot that stands or hangs at the goal is brought to its velocity there by an impulse
        tied = bool(self._strings or model.constraints) or any(stance.last == N for stance in self._stances)
        self._pushed = tied and not np.isnan(self._goal[1]).any()
        #: nodes at which impulses may act: those where steps begin and, if it is pushed, the last one
        self._kicked = kicked = N + self._pushed
        blocks = [Block("q", q, 0, N + 1), Block("p", [f"the momentum of {name}" for name in v], 0, N + 1)]
        places = []
        for stance in self._stances:
            count = int(self._points[stance.frame].moves.sum())
            last = kicked if stance.last == N else stance.last
            names = [f'the impulse on "{stance.frame}"'] * count
            blocks.append(Block(stance.impulses, names, stance.first, last - stance.first))
            # places that the search chooses, along the axes in which the point moves; of others none
            names = [f'the place of "{stance.frame}"'] * (count if stance.place is None else 0)
            places.append(Block(stance.position, names, N + 1, 1, ""))
        strings = [f'the tension of the string of "{name}"' for name in self._strings]
        multipliers = [f"the multiplier of constraint {k}" for k in range(len(model.constraints))]
        return [*blocks, Block("tensions", strings, 0, kicked), Block("multipliers", multipliers, 0, kicked),
                Block("u", [f"the force on {name}" for name in u], 0, N), *places]  # fmt: skip

    def _impulses(self) -> list[tuple[ContactInterval, slice, np.ndarray]]:
        """Return the stances, the nodes at which they get impulses, and the variables of these."""
        found = [(stance, self._variables[stance.impulses]) for stance in self._stances]
        return [(stance, slice(stance.first, stance.first + len(index)), index) for stance, index in found]

    def _bound_variables(self, bounds: Mapping[str, ArrayLike]) -> None:
        at = self._variables
        at.strict[at.T] = self._free_T
        self._bound(bounds, [("q", self._names[0])], "coordinate")
        if self._limits is not None:
            at.bound(at.u, *limits_of(self._limits, len(self._acts)))
        at.bound(at["tensions"], 0.0, np.inf)

    def _give_ends(self) -> None:
        at, N = self._variables, self.steps
        for k, (q, v), what in ((0, self._start, "the start"), (N, self._goal, "the goal")):
            self._require_within(k, q, what)
            known = np.isfinite(q)
            at.give(at.q[k, known], q[known])
            momentum = self._momentum(q, v)
            if momentum is not None and not (k and self._pushed):
                at.give(at["p"][k], momentum)

    def _is_given(self, k: int) -> bool:
        return not self._variables.free[self._variables.q[k]].any()

    def _not_given(self, first: int, last: int) -> np.ndarray:
        """Return the nodes from one to another whose configurations are not given."""
        return np.array([k for k in range(first, last + 1) if not self._is_given(k)], dtype=int)

    # ---- equations ----------------------------------------------------------------------------------------------

    def _add_equations(self, equations: Equations) -> None:
        self._add_steps(equations)
        lengths = [self._variables.q[:, start : start + 4] for start in self._entries.quaternions]
        for index in lengths:
            index = index[self._variables.free[index].any(axis=1)]
            if len(index):
                name = "length of a quaternion"
                equations.add(name, lambda z: (z * z).sum(-1, keepdims=True) - 1.0, index)
        for stance, nodes, index in self._impulses():
            self._add_impulses(equations, self._points[stance.frame], np.arange(nodes.start, nodes.stop), index)
            self._add_place(equations, stance)
        self._add_swings(equations)
        self._add_strings(equations)
        self._add_constraints(equations)
        self._add_periodic(equations)
        self._add_rates(equations)

    def _add_steps(self, equations: Equations) -> None:
        """Add the discrete Euler-Lagrange equations; an impulse at the goal brings the momentum to that of the goal."""
        at, momenta, N, nv = self._variables, self._momenta, self.steps, self.model.nv
        self._before = equations.rows("momentum at the start of a step", (N, nv))
        after = equations.rows("momentum at the end of a step", (N, nv))
        index = [at.q[:-1], at.q[1:], at.u] + [np.full((N, 1), at.T)] * self._free_T
        self._of_step = np.concatenate(index, axis=1)
        equations.terms.append(
            Term(
                "the step",
                lambda z: -momenta.value(z),
                self._of_step,
                np.concatenate([self._before, after], axis=1),
                lambda z: -momenta.slopes(z),
                lambda z, weights: momenta.adjoint(z, -weights),
            )
        )
        if self._pushed:
            goal = np.array([self._momentum(*self._goal)] * 2)
            last = equations.rows("momentum at the goal", (1, nv), goal, N)
            self._before = np.concatenate([self._before, last])
        for p, to in ((at["p"][: self._kicked], self._before), (at["p"][1:], after)):
            equations.terms.append(Linear("momentum", p.reshape(-1, 1), to.reshape(-1, 1), [1.0]))

    def _add_place(self, equations: Equations, stance: ContactInterval) -> None:
        """Hold a point at its place."""
        at, point = self._variables, self._points[stance.frame]
        moves, place, name = point.moves, at[stance.position][0], f'place of "{stance.frame}"'
        fixed = self._where(stance, point)[moves]
        nodes = self._not_given(stance.first, stance.last)
        if not len(nodes):
            return
        rows = equations.add(name, lambda q: point.place(q)[..., moves] - fixed, at.q[nodes], first=int(nodes[0]),
                             gradient=lambda q: point.place_slopes(q)[..., moves, :])  # fmt: skip
        if (free := at.free[place]).any():
            own = np.tile(place[free], (len(nodes), 1)).reshape(-1, 1)
            equations.terms.append(Linear(name, own, rows[:, free].reshape(-1, 1), [-1.0]))

    def _where(self, stance: ContactInterval, point: Point) -> np.ndarray:
        """Return the place (3,) of a held point, zero where it is free; check it where configurations are given."""
        at, moves, place = self._variables, point.moves, self._variables[stance.position][0]
        still = point.place(self._entries.unit(self.model.neutral()))
        ends = [k for k in (0, self.steps) if stance.first <= k <= stance.last and self._is_given(k)]
        found = [point.place(at.lower[at.q[k]]) for k in ends]
        wanted = stance.place
        if wanted is None:
            wanted = np.array([*(found[0][:2] if found else (0.0, 0.0)), self._ground])
            if not found:
                wanted = np.where(moves, wanted, still)
                # the height is that of the ground, the rest is free
                level = place[np.flatnonzero(moves) == 2]
                at.give(level, 0.0)
            else:
                at.give(place, 0.0)
        else:
            if np.abs((wanted - still)[~moves]).max(initial=0.0) > ON_PLACE:
                raise InputError(f'"{stance.frame}" cannot be held at {shown(wanted)}: it does not move along all axes')
        for k, there in zip(ends, found, strict=True):
            off = np.abs(there - wanted)[moves].max(initial=0.0)
            if off > ON_PLACE:
                what = "the start" if k == 0 else "the goal"
                raise InputError(
                    f'{what} has "{stance.frame}" at {shown(there)}, {off:.3g} m off the place where it is held, '
                    f"{shown(wanted)}; change one of them"
                )
        return wanted

    def _add_impulses(self, equations: Equations, point: Point, nodes: np.ndarray, index: np.ndarray) -> None:
        """Add the joint forces of the impulses on a held point, and the cone of friction."""
        at, nq, moves = self._variables, self.model.nq, point.moves
        if not len(nodes):
            return

        def force(z: np.ndarray) -> np.ndarray:
            found = np.zeros((*z.shape[:-1], 3))
            found[..., moves] = z[..., nq:]
            return found

        def value(z: np.ndarray) -> np.ndarray:
            return point.joint_force(z[..., :nq], force(z))

        def slopes(z: np.ndarray) -> np.ndarray:
            by_q, by_force = point.joint_force_slopes(z[..., :nq], force(z))
            return np.concatenate([by_q, by_force[..., moves]], axis=-1)

        both = np.concatenate([at.q[nodes], index], axis=1)
        equations.terms.append(Term(f'impulses of "{point.frame}"', value, both, self._before[nodes], slopes))
        if not moves[2]:
            return
        at.bound(index[:, -1], 0.0, np.inf)
        name, mu, first = f'friction of "{point.frame}"', self._friction, int(nodes[0])
        if moves[:2].sum() == 1:
            for sign in (1.0, -1.0):
                cone = equations.rows(name, (len(nodes), 1), (0.0, np.inf), first)
                equations.terms.append(Linear(name, index, cone, [sign, mu]))
        elif moves[:2].all():
            weight = np.array([-1.0, -1.0, mu * mu])
            equations.add(name, lambda z: (z * z * weight).sum(-1, keepdims=True), index, (0.0, np.inf), first)

    def _add_swings(self, equations: Equations) -> None:
        """Keep points that are held at some time above the ground at all others."""
        for frame, point in self._points.items():
            if not point.moves[2]:
                continue
            held = np.zeros(self.steps + 1, dtype=bool)
            for stance in self._stances:
                if stance.frame == frame:
                    held[stance.first : stance.last + 1] = True
            nodes = np.array([k for k in self._not_given(0, self.steps) if not held[k]], dtype=int)
            if not len(nodes):
                continue
            low = (self._ground + self._clearance * swings(held)[nodes])[:, None]

            def value(q: np.ndarray, point: Point = point, low: np.ndarray = low) -> np.ndarray:
                return np.asarray(point.place(q)[..., 2:] - low)

            def slopes(q: np.ndarray, point: Point = point) -> np.ndarray:
                return point.place_slopes(q)[..., 2:, :]

            index, name = self._variables.q[nodes], f'height of "{frame}"'
            equations.add(name, value, index, (0.0, np.inf), int(nodes[0]), slopes)

    def _add_strings(self, equations: Equations) -> None:
        """Add the joint forces of strings."""
        at, nq = self._variables, self.model.nq
        for k, (name, string) in enumerate(self._strings.items()):

            def value(z: np.ndarray, string: String = string) -> np.ndarray:
                return string.pull(z[..., :nq], z[..., nq:])

            def slopes(z: np.ndarray, string: String = string) -> np.ndarray:
                return np.concatenate(string.pull_slopes(z[..., :nq], z[..., nq:]), axis=-1)

            index = np.concatenate([at.q[: self._kicked], at["tensions"][:, k : k + 1]], axis=1)
            equations.terms.append(Term(f'the string of "{name}"', value, index, self._before, slopes))

    def _add_constraints(self, equations: Equations) -> None:
        """Add the model's own constraints h(q) = 0 and their impulses, the joint forces Dh^T multipliers."""
        at, model, own, nq = self._variables, self.model, self._entries, self.model.nq
        m = len(model.constraints)
        if not m:
            return

        def rows_of(q: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
            h, Dh = model._constraint_rows(own.unit(q.reshape(-1, nq)))
            return h.reshape(*q.shape[:-1], m), Dh.reshape(*q.shape[:-1], m, model.nv)

        def impulse(z: np.ndarray) -> np.ndarray:
            return np.asarray((z[..., None, nq:] @ rows_of(z[..., :nq])[1])[..., 0, :])

        def impulse_slopes(z: np.ndarray) -> np.ndarray:
            q, lam = z[..., :nq].reshape(-1, nq), z[..., nq:].reshape(-1, m)
            by_q = constraint_slopes(model, own.unit(q), lam).reshape(*z.shape[:-1], model.nv, model.nv)
            by_lam = np.swapaxes(rows_of(z[..., :nq])[1], -1, -2)
            return np.concatenate([own.by_entries(by_q, z[..., :nq]), by_lam], axis=-1)

        index = np.concatenate([at.q[: self._kicked], at["multipliers"]], axis=1)
        equations.terms.append(Term("impulses of constraints", impulse, index, self._before, impulse_slopes))
        for k, what in ((0, "the start"), (self.steps, "the goal")):
            off = np.abs(rows_of(at.lower[at.q[k]])[0]).max() if self._is_given(k) else 0.0
            if off > ON_PLACE:
                raise InputError(f"{what} is off the model's constraints by {off:.3g}; take vt.satisfy_constraints")
        nodes = self._not_given(0, self.steps)
        equations.add("constraints", lambda q: rows_of(q)[0], at.q[nodes], first=int(nodes[0]),
                      gradient=lambda q: own.by_entries(rows_of(q)[1], q))  # fmt: skip

    def _add_rates(self, equations: Equations) -> None:
        """Keep velocities between their bounds at all nodes but the first."""
        at, model, own, nq = self._variables, self.model, self._entries, self.model.nq
        if not self._rates:
            return
        which = list(self._rates)

        def value(z: np.ndarray) -> np.ndarray:
            rows = z.reshape(-1, z.shape[-1])
            v = model.velocity_from_momentum(own.unit(rows[:, :nq]), np.ascontiguousarray(rows[:, nq:]))
            return v[:, which].reshape(*z.shape[:-1], -1)

        def slopes(z: np.ndarray) -> np.ndarray:
            rows = z.reshape(-1, z.shape[-1])
            _, by_q, by_p = velocity_slopes(model, own.unit(rows[:, :nq]), np.ascontiguousarray(rows[:, nq:]))
            by = np.concatenate([own.by_entries(by_q[:, which], rows[:, :nq]), by_p[:, which]], axis=-1)
            return by.reshape(*z.shape[:-1], *by.shape[1:])

        index, N = np.concatenate([at.q[1:], at["p"][1:]], axis=1), self.steps
        rows = equations.rows("velocity", (N, len(which)), np.tile(np.array([*self._rates.values()]).T, N), 1)
        equations.terms.append(Term("velocity", value, index, rows, slopes))

    def _add_periodic(self, equations: Equations) -> None:
        """Add the equality of coordinates and momenta at both ends."""
        at, model = self._variables, self.model
        for last, first in mapping(self._periodic, "periodic", "a mapping of coordinates to coordinates").items():
            other, shift = first if isinstance(first, tuple) and len(first) == 2 else (first, 0.0)
            places = []
            for name in (last, other):
                if name not in model.v_names:
                    raise UnknownNameError("coordinate of one number", name, model.v_names)
                j = model.v_names.index(name)
                if name not in model.q_names:
                    raise InputError(f'"{name}" is part of a ball or free joint, which periodic does not take')
                places.append((model.q_names.index(name), j))
            (i, j), (i0, j0) = places
            pairs = [(at["p"][-1, j], at["p"][0, j0], 0.0, f"periodic momentum of {last}")]
            move = real(shift)
            if not np.isnan(move):
                pairs.append((at.q[-1, i], at.q[0, i0], move, f"periodic {last}"))
            for end, begin, by, name in pairs:
                if at.free[[end, begin]].any():
                    rows = equations.rows(name, (1, 1), (by, by))
                    equations.terms.append(Linear(name, [[end, begin]], rows, [1.0, -1.0]))

    # ---- costs --------------------------------------------------------------------------------------------------

    def _own_cost(self, cost: object) -> list[Term]:
        at, own, model, N = self._variables, self._entries, self.model, self.steps
        if isinstance(cost, TensionCost):
            weight = weights_of(cost.weight, len(self._strings), "the weight of the tension")
            return self._squares("the tension", at["tensions"][:N], weight, -1)
        if isinstance(cost, VelocityCost):

            def moved(z: np.ndarray, _: np.ndarray) -> np.ndarray:
                return np.asarray(model.difference(own.unit(z[..., : model.nq]), own.unit(z[..., model.nq :])))

            def moved_slopes(z: np.ndarray, _: np.ndarray) -> np.ndarray:
                d, q1, q2 = moved(z, _), z[..., : model.nq], z[..., model.nq :]
                ends = -own.by_entries(own.difference_slopes(-d), q1), own.by_entries(own.difference_slopes(d), q2)
                return np.concatenate(ends, axis=-1)

            weight = weights_of(cost.weight, model.nv, "the weight of the velocity")
            index = np.concatenate([at.q[:-1], at.q[1:]], axis=1)
            return self._squares("the velocity", index, weight, -1, moved, moved_slopes)
        if isinstance(cost, PositionCost):
            point, name = Point(own, cost.frame), f'the place of "{cost.frame}"'
            desired = rows_of(cost.point, N + 1, 3, name)
            return self._at_nodes(name, cost, 3, at.q, lambda q, goal: point.place(q) - goal,
                                  lambda q, goal: point.place_slopes(q), desired)  # fmt: skip
        if isinstance(cost, FrameCost):
            return self._frame_cost(cost)
        if isinstance(cost, QuadraticCost):
            return self._quadratic_cost(cost)
        if isinstance(cost, MomentumCost):
            return self._at_nodes("the momentum", cost, model.nv, at["p"])
        assert isinstance(cost, PostureCost)
        desired = rows_of(cost.q, N + 1, model.nq, "the desired posture")
        desired = np.array([model.validate_configuration(q, "q") for q in desired])

        def off(q: np.ndarray, goal: np.ndarray) -> np.ndarray:
            return np.asarray(model.difference(np.broadcast_to(goal, q.shape), own.unit(q)))

        def off_slopes(q: np.ndarray, goal: np.ndarray) -> np.ndarray:
            return own.by_entries(own.difference_slopes(off(q, goal)), q)

        return self._at_nodes("the posture", cost, model.nv, at.q, off, off_slopes, desired)

    def _frame_cost(self, cost: FrameCost) -> list[Term]:
        own, model, N = self._entries, self.model, self.steps
        point = np.zeros((N + 1, 3))
        if cost.point is not None:
            point = rows_of(cost.point, N + 1, 3, f'the point of "{cost.frame}"')

        def errors(q: np.ndarray, goal: np.ndarray) -> np.ndarray:
            return pose_errors(cost, model.frame_pose(cost.frame, own.unit(q)), goal)

        def slopes(q: np.ndarray, goal: np.ndarray) -> np.ndarray:
            unit = own.unit(q)
            poses, J = model.frame_pose(cost.frame, unit), model.frame_jacobian(cost.frame, unit)
            return own.by_entries(pose_error_slopes(cost, pose_errors(cost, poses, goal), poses, J), q)

        name, found = f'the pose of "{cost.frame}"', []
        for weight, nodes in zip(frame_weights(cost), (slice(0, N), slice(N, None)), strict=True):
            found += self._squares(name, self._variables.q[nodes], weight, 0, errors, slopes, point[nodes])
        return found

    def _quadratic_cost(self, cost: QuadraticCost) -> list[Term]:
        """Return the terms x^T Q x and u^T R u as the squares of L^T x and of L^T u, with Q or R = L L^T."""
        at, own, model, N = self._variables, self._entries, self.model, self.steps
        nq, nv, m = model.nq, model.nv, len(self._acts)
        if cost.goal is None and np.isnan(self._start[0]).any():
            raise InputError("the quadratic cost has no goal, and the start is free; give one of them")
        goal = rows_of(self._start[0] if cost.goal is None else cost.goal, N + 1, nq, "goal")
        goal = np.array([model.validate_configuration(q, "goal") for q in goal])
        goal_p = rows_of(np.zeros(nv) if cost.goal_p is None else cost.goal_p, N + 1, nv, "goal_p")
        goal_u = rows_of(np.zeros(m) if cost.goal_u is None else cost.goal_u, N, m, "goal_u")
        index, desired = np.concatenate([at.q, at["p"]], axis=1), np.concatenate([goal, goal_p], axis=1)

        def off(z: np.ndarray, to: np.ndarray) -> np.ndarray:
            q = own.unit(z[..., :nq])
            d = model.difference(np.broadcast_to(to[..., :nq], q.shape), q)
            return np.concatenate([d, z[..., nq:] - to[..., nq:]], axis=-1)

        def off_slopes(z: np.ndarray, to: np.ndarray) -> np.ndarray:
            found = np.zeros((*z.shape[:-1], 2 * nv, nq + nv))
            found[..., :nv, :nq] = own.by_entries(own.difference_slopes(off(z, to)[..., :nv]), z[..., :nq])
            found[..., nv:, nq:] = np.eye(nv)
            return found

        Q = weights(cost.Q, "Q", 2 * nv)
        Q_end = Q if cost.Q_end is None else weights(cost.Q_end, "Q_end", 2 * nv)
        R = weights(cost.R, "R", m, definite=True)
        parts = [("the state", Q, index[:N], off, off_slopes, desired[:N]),
                 ("the last state", Q_end, index[N:], off, off_slopes, desired[N:]),
                 ("the controls", R, at.u, same, same_slopes, goal_u)]  # fmt: skip
        found = []
        for name, matrix, at_rows, value, slopes, to in parts:
            values, vectors = np.linalg.eigh(matrix)
            L = vectors * np.sqrt(np.maximum(values, 0.0))
            unit = np.full(len(L), float(bool(matrix.any())))
            found += self._squares(name, at_rows, unit, 0, partial(_turned, value, L),
                                   partial(_turned_slopes, slopes, L), to)  # fmt: skip
        return found

    def _at_nodes(self, name: str, cost: PostureCost | PositionCost | MomentumCost, size: int, index: np.ndarray,
                  value: Deviation = same, slopes: Deviation = same_slopes,
                  desired: np.ndarray | None = None) -> list[Term]:  # fmt: skip
        """Return the squares of a deviation: over time as it is at the starts of steps, and at the last node."""
        found, N = [], self.steps
        for part, power, nodes in (("weight", 1, slice(0, N)), ("weight_end", 0, slice(N, None))):
            weight = weights_of(getattr(cost, part), size, f"the {part} of {name}")
            goal = None if desired is None else desired[nodes]
            found += self._squares(name, index[nodes], weight, power, value, slopes, goal)
        return found

    # ---- guesses ------------------------------------------------------------------------------------------------

    def _straight(self) -> np.ndarray:
        first, last, model = self._start[0], self._goal[0], self.model
        first = np.where(np.isnan(first), np.where(np.isnan(last), model.neutral(), last), first)
        last = np.where(np.isnan(last), first, last)
        way, shares = model.difference(first, last), np.linspace(0.0, 1.0, self.steps + 1)
        return self._unit(model.integrate(np.tile(first, (self.steps + 1, 1)), shares[:, None] * way))

    def _unit(self, q: np.ndarray) -> np.ndarray:
        return self._entries.unit(q)

    def _complete(self, x: np.ndarray) -> None:
        """Let what is held, and strings, bear the weight; take momenta from the configurations, and places."""
        at, model, N = self._variables, self.model, self.steps
        weight = model.total_mass * float(np.linalg.norm(model.gravity)) * self._horizon.step(x[at.T])
        bearing = np.full(N + 1, float(len(self._strings)))
        for _, nodes, _ in self._impulses():
            bearing[nodes] += 1
        share = weight / np.maximum(bearing, 1.0)
        for stance, nodes, index in self._impulses():
            if self._points[stance.frame].moves[2]:
                x[index[:, -1]] = share[nodes]
        x[at["tensions"]] = share[: self._kicked, None]
        ends = self._momenta.value(x[self._of_step])
        x[at["p"]] = np.concatenate([ends[:, : model.nv], ends[-1:, model.nv :]])
        self._set_places(x)

    def _copy(self, x: np.ndarray, plan: MotionPlan) -> None:
        at, model, N = self._variables, self.model, self.steps
        if plan.q.shape != (N + 1, model.nq) or plan.torque.shape[1] != model.nv:
            raise InputError(
                f"the guess has {len(plan.q) - 1} steps of {plan.q.shape[1]} coordinates; give {N} of {model.nq}"
            )
        x[at.T], x[at.q], x[at["p"]], x[at.u] = N * plan.dt, plan.q, plan.p, plan.torque[:, self._acts]
        for stance, nodes, index in self._impulses():
            known = plan.impulses.get(stance.frame, np.zeros((N + 1, 3)))
            x[index] = known[nodes, self._points[stance.frame].moves]
        if plan.multipliers.shape[1] == at["multipliers"].shape[1]:
            x[at["multipliers"]] = plan.multipliers[: self._kicked]
        for k, name in enumerate(self._strings):
            x[at["tensions"][:, k]] = plan.tensions.get(name, np.zeros(N + 1))[: self._kicked]
        self._set_places(x)

    def _set_places(self, x: np.ndarray) -> None:
        """Set places that are free to those of the points at the first node that holds them."""
        at = self._variables
        for stance in self._stances:
            if len(place := at[stance.position][0]):
                point = self._points[stance.frame]
                x[place] = point.place(x[at.q[stance.first]])[point.moves]
