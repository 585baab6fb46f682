"""Direct transcription of a robot's motion: the discrete Euler-Lagrange equations as the constraints of a program.

All forces are unknown at once, and so are the configurations. The equations of a step look at its two nodes only, so
that Jacobians and Hessians are banded.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from vitree.arguments import as_numbers, entries, mapping, of_kind, real, several, shown
from vitree.control.charts import Entries
from vitree.control.cost_terms import AIMS, aim_terms
from vitree.control.costs import TorqueCost
from vitree.control.equations import Equations
from vitree.control.lqr import actuated
from vitree.control.momenta import Momenta
from vitree.control.motion_plan import MotionPlan
from vitree.control.motion_variables import MotionVariables
from vitree.control.phases import ON_PLACE, ContactInterval, ContactPhase, stances_of, stretches_of, swing
from vitree.control.points import Point, String
from vitree.control.program import Program, quiet
from vitree.control.terms import Linear, Term
from vitree.errors import InputError, UnknownNameError
from vitree.integrators.slopes import constraint_slopes
from vitree.model.model import Model
from vitree.run.linearization import integrator_of


class MotionProblem(Program):
    """Find a motion of a robot at least cost, with all nodes as unknowns at once.

    The variables are the configurations q_k and momenta p_k at all nodes, the forces u_k on the actuators over all
    steps, the impulses of points that are held, of strings and of the model's constraints, places that are free, and
    the step dt if it is free.
    Given ones are left out. The equations are those of the discrete mechanics::

        p_k + sum of J(q_k)^T impulses = -D1 Ld(q_k, q_k+1) - f-(q_k, q_k+1, u_k)
        p_k+1 = D2 Ld(q_k, q_k+1) + f+(q_k, q_k+1, u_k)

    Solve it with :func:`solve`. A simulation with the forces of the plan repeats the plan.

    Parameters
    ----------
    model : Model
        As :func:`vitree.linearize` takes it, without inputs, drives and prescribed coordinates.
    steps : int, optional
        Steps N; not given with phases, which have them.
    dt : float or (float, float) [s]
        Fixed, or between two.
    start : (nq,) array, or pair of (nq,) and (nv,) arrays, optional [m or rad, m/s or rad/s]
        Configuration and velocity, at rest unless given. NaN is free in a configuration; None is a free velocity. All
        is free if it is not given.
    goal : as start, optional
        Of the last node.
    cost : PostureCost, MomentumCost, VelocityCost, TorqueCost, TensionCost, PositionCost, TimeCost, or sequence of them
        The problem minimises their sum. The default is the square of the forces.
    bounds : mapping of str to (float, float) [m or rad]
        Least and greatest value of coordinates, by their names.
    limits : float or (m,) array, optional [N or N m]
        Largest forces of the actuators.
    actuators : sequence of str, optional
        The names among ``model.v_names`` on which forces act; all if not given, none if it is empty.
    phases : sequence of ContactPhase, optional
        What stands on the ground when.
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

    Attributes
    ----------
    x0 : (n,) array
        Variables of the guess, in units of the motion.
    bounds, constraint_bounds : (2, n) and (2, m) arrays
        In units of the motion and of the constraints.
    strict : (n,) bool array
        Whether the bounds of a variable must hold at all times.

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
    points do not slide. The velocity of a goal is the one that an impulse of what stands or hangs there leads to.

    References
    ----------
    Junge, Marsden & Ober-Bloebaum 2005 (DMOC); Posa, Cantu & Tedrake 2014 (contact implicit, here with given phases).
    """

    ipopt = MappingProxyType({"mu_strategy": "adaptive"})

    @quiet
    def __init__(
        self,
        model: Model,
        *,
        dt: float | tuple[float, float],
        steps: int | None = None,
        start: Any = None,
        goal: Any = None,
        cost: Any = None,
        bounds: Mapping[str, tuple[float, float]] | None = None,
        limits: Any = None,
        actuators: Sequence[str] | None = None,
        phases: Sequence[ContactPhase] = (),
        friction: float = 1.0,
        ground: float = 0.0,
        clearance: float = 0.0,
        strings: Mapping[str, ArrayLike] | None = None,
        periodic: Mapping[str, Any] | None = None,
        guess: Any = None,
        method: str = "linear-time",
        **options: Any,
    ):
        of_kind(model, Model, "model", "a Model")
        least, greatest = _lengths(dt)
        integrator = integrator_of(model, method, 0.5 * (least + greatest), options)
        more = {
            "inputs": model.input_names, "drives": model.drives, "prescribed coordinates": model.prescribed_joint_names,
        }  # fmt: skip
        found = [name for name, there in more.items() if there]
        if found:
            raise InputError(
                f'"{model.name}" has {" and ".join(found)}; a MotionProblem finds forces, and holds points by phases '
                "and strings: leave these out"
            )
        self.model = model
        self._entries = Entries(model)
        self._ground, self._friction = real(ground), real(friction)
        height = real(clearance)
        for name, value in (("ground", self._ground), ("friction", self._friction), ("clearance", height)):
            if not np.isfinite(value) or (value < 0 and name != "ground"):
                raise InputError(name, value, "must be a number" + (", zero or more" * (name != "ground")))
        self.phases, self.steps = stretches_of(phases, steps)
        stances = stances_of(phases, self.phases)
        none = isinstance(actuators, list | tuple) and not actuators
        acts = np.zeros(0, dtype=int) if none else actuated(model, actuators)
        self._strings = {
            name: String(self._entries, name, entries(hook, (3,), f'the hook of "{name}"'))
            for name, hook in mapping(strings, "strings", "a mapping of frames to hooks").items()
        }
        self._points = {stance.frame: Point(self._entries, stance.frame) for stance in stances}
        self._moves = {name: point.movable() for name, point in self._points.items()}
        moves = [self._moves[stance.frame] for stance in stances]
        ends = self._state(start, "the start"), self._state(goal, "the goal")
        # what stands or hangs at the goal comes to its velocity there by an impulse
        tied = bool(self._strings or model.constraints) or any(stance.last == self.steps for stance in stances)
        pushed = tied and ends[1][1] is not None
        variables = MotionVariables(model, self.steps, acts, stances, moves, len(self._strings), pushed)
        self._v = variables
        variables.bound(variables.dt, least, greatest)
        self._free_dt = variables.strict[variables.dt] = least < greatest
        self._bound(bounds, limits)
        self._given_ends = [q for q, _ in ends]
        self._give(0, *ends[0], "the start")
        self._give(self.steps, ends[1][0], None if pushed else ends[1][1], "the goal")

        equations = Equations(variables)
        self._add_steps(equations, Momenta(integrator, self._entries, acts, self._free_dt), ends[1][1])
        self._add_lengths(equations)
        self._add_stances(equations)
        self._add_swings(equations, height)
        self._add_strings(equations)
        self._add_constraints(equations)
        self._add_periodic(equations, periodic)
        cost = TorqueCost() if cost is None else cost
        aims = (cost,) if isinstance(cost, AIMS) else several(cost, "cost", "costs")
        self._assemble(variables, equations, aim_terms(aims, variables, self._entries))
        self.x0 = self._clipped(self._guess(guess)[self._free])
        if not (np.isfinite(self.constraints(self.x0)).all() and np.isfinite(self.objective(self.x0))):
            raise InputError("the guess makes a cost or an equation infinite or NaN; a point may be at its hook")

    # ---- solutions -----------------------------------------------------------------------------------

    @quiet
    def trajectory(self, x: ArrayLike) -> MotionPlan:
        """Return the motion whose variables are ``x``."""
        full, at, N = self._expand(x), self._v, self.steps
        dt, q = float(full[at.dt]), self._entries.unit(full[at.q])
        torque = np.zeros((N, self.model.nv))
        torque[:, at.acts] = full[at.u]
        impulses = {name: np.zeros((N + 1, 3)) for name in self._points}
        for stance, index in zip(at.stances, at.impulses, strict=True):
            impulses[stance.frame][stance.first : stance.first + len(index), self._moves[stance.frame]] = full[index]
        tensions = {name: np.zeros(N + 1) for name in self._strings}
        for tension, index in zip(tensions.values(), at.tensions.T, strict=True):
            tension[: at.kicked] = full[index]
        lengths = {name: string.length(q) for name, string in self._strings.items()}
        multipliers = np.zeros((N + 1, at.multipliers.shape[1]))
        multipliers[: at.kicked] = full[at.multipliers]
        return MotionPlan(self.model, dt, dt * np.arange(N + 1), q, full[at.p], torque, impulses, tensions, lengths,
                          multipliers, self.phases)  # fmt: skip

    # ---- equations ----------------------------------------------------------------------------------

    def _add_steps(self, equations: Equations, momenta: Momenta, goal: np.ndarray | None) -> None:
        """Add the discrete Euler-Lagrange equations; where an impulse acts at the goal, it leads to that momentum."""
        at, N, nv = self._v, self.steps, self.model.nv
        self._momenta = momenta
        self._before = equations.rows("momentum at the start of a step", (N, nv))
        after = equations.rows("momentum at the end of a step", (N, nv))
        index = [at.q[:-1], at.q[1:], at.u] + [np.full((N, 1), at.dt)] * self._free_dt
        self._of_step = np.concatenate(index, axis=1)
        rows = np.concatenate([self._before, after], axis=1)
        equations.terms.append(
            Term(
                "the step",
                lambda z: -momenta.value(z),
                self._of_step,
                rows,
                lambda z: -momenta.slopes(z),
                lambda z, weights: momenta.adjoint(z, -weights),
            )
        )
        if at.kicked > N:
            last = equations.rows("momentum at the goal", (1, nv), (goal, goal), N)
            self._before = np.concatenate([self._before, last])
        for p, to in ((at.p[: at.kicked], self._before), (at.p[1:], after)):
            equations.terms.append(Linear("momentum", p.reshape(-1, 1), to.reshape(-1, 1), [1.0]))

    def _add_lengths(self, equations: Equations) -> None:
        """Add the unit length of quaternions that are not given."""
        for start in self._entries.quaternions:
            index = self._v.q[:, start : start + 4]
            index = index[self._v.free[index].any(axis=1)]
            if len(index):
                rows = equations.rows("length of a quaternion", (len(index), 1))
                equations.terms.append(Term("length", lambda z: (z * z).sum(-1, keepdims=True) - 1.0, index, rows))

    def _add_stances(self, equations: Equations) -> None:
        """Add impulses of held points, the places where they stand, and friction."""
        at, nq = self._v, self.model.nq
        for stance, index, place in zip(at.stances, at.impulses, at.places, strict=True):
            point, moves = self._points[stance.frame], self._moves[stance.frame]
            self._add_impulses(equations, point, moves, stance.first + np.arange(len(index)), index)
            wanted = self._where(stance, point, moves, place)
            nodes = np.array([k for k in range(stance.first, stance.last + 1) if not self._is_given(k)], dtype=int)
            if not len(nodes):
                continue
            free = at.free[place] if len(place) else np.zeros(0, dtype=bool)
            name = f'place of "{stance.frame}"'
            rows = equations.rows(name, (len(nodes), int(moves.sum())), first=int(nodes[0]))
            fixed = wanted[moves]

            def value(z, point=point, moves=moves, fixed=fixed):
                return point.place(z[..., :nq])[..., moves] - fixed

            def slopes(z, point=point, moves=moves):
                return point.place_slopes(z[..., :nq])[..., moves, :]

            equations.terms.append(Term(name, value, at.q[nodes], rows, slopes))
            if free.any():
                own = np.tile(place[free], (len(nodes), 1)).reshape(-1, 1)
                equations.terms.append(Linear(name, own, rows[:, free].reshape(-1, 1), [-1.0]))

    def _where(self, stance: ContactInterval, point: Point, moves: np.ndarray, place: np.ndarray) -> np.ndarray:
        """Return the place (3,) of a held point, zero where it is free; check it where configurations are given."""
        ends = [k for k in (0, self.steps) if stance.first <= k <= stance.last and self._is_given(k)]
        found = [point.place(self._v.lower[self._v.q[k]]) for k in ends]
        wanted = stance.place
        if wanted is None:
            wanted = np.array([*(found[0][:2] if found else (0.0, 0.0)), self._ground])
            if not found:
                still = point.place(self._entries.unit(self.model.neutral()))
                wanted = np.where(moves, wanted, still)
                # the height is that of the ground, the rest is free
                level = place[np.flatnonzero(moves) == 2]
                self._v.give(level, 0.0)
            else:
                self._v.give(place, 0.0)
        else:
            still = point.place(self._entries.unit(self.model.neutral()))
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

    def _add_impulses(self, equations: Equations, point: Point, moves: np.ndarray, nodes: np.ndarray, index) -> None:
        """Add the joint forces of the impulses on a held point, and the cone of friction."""
        at, nq = self._v, self.model.nq
        if not len(nodes):
            return

        def force(z):
            found = np.zeros((*z.shape[:-1], 3))
            found[..., moves] = z[..., nq:]
            return found

        def value(z):
            return point.joint_force(z[..., :nq], force(z))

        def slopes(z):
            by_q, by_force = point.joint_force_slopes(z[..., :nq], force(z))
            return np.concatenate([by_q, by_force[..., moves]], axis=-1)

        rows = self._before[nodes]
        both = np.concatenate([at.q[nodes], index], axis=1)
        equations.terms.append(Term(f'impulses of "{point.frame}"', value, both, rows, slopes))
        if not moves[2]:
            return
        at.bound(index[:, -1], 0.0, np.inf)
        name, mu = f'friction of "{point.frame}"', self._friction
        if moves[:2].sum() == 1:
            for sign in (1.0, -1.0):
                cone = equations.rows(name, (len(nodes), 1), (0.0, np.inf), int(nodes[0]))
                equations.terms.append(Linear(name, index, cone, [sign, mu]))
        elif moves[:2].all():
            cone = equations.rows(name, (len(nodes), 1), (0.0, np.inf), int(nodes[0]))
            weight = np.array([-1.0, -1.0, mu * mu])
            equations.terms.append(Term(name, lambda z: (z * z * weight).sum(-1, keepdims=True), index, cone))

    def _add_swings(self, equations: Equations, clearance: float) -> None:
        """Keep points that are held at some time above the ground at all others."""
        for frame, point in self._points.items():
            if not self._moves[frame][2]:
                continue
            held = np.zeros(self.steps + 1, dtype=bool)
            for stance in self._v.stances:
                if stance.frame == frame:
                    held[stance.first : stance.last + 1] = True
            nodes = np.array([k for k in np.flatnonzero(~held).tolist() if not self._is_given(k)], dtype=int)
            if not len(nodes):
                continue
            low = np.array([self._ground + clearance * swing(held, k) for k in nodes.tolist()])[:, None]
            name = f'height of "{frame}"'
            rows = equations.rows(name, (len(nodes), 1), (0.0, np.inf), int(nodes[0]))

            def value(z, point=point, low=low):
                return point.place(z)[..., 2:] - low

            def slopes(z, point=point):
                return point.place_slopes(z)[..., 2:, :]

            equations.terms.append(Term(name, value, self._v.q[nodes], rows, slopes))

    def _add_strings(self, equations: Equations) -> None:
        """Add the joint forces of strings."""
        at, nq = self._v, self.model.nq
        at.bound(at.tensions, 0.0, np.inf)
        for k, (name, string) in enumerate(self._strings.items()):

            def value(z, string=string):
                return string.pull(z[..., :nq], z[..., nq:])

            def slopes(z, string=string):
                return np.concatenate(string.pull_slopes(z[..., :nq], z[..., nq:]), axis=-1)

            index = np.concatenate([at.q[: at.kicked], at.tensions[:, k : k + 1]], axis=1)
            equations.terms.append(Term(f'the string of "{name}"', value, index, self._before, slopes))

    def _add_constraints(self, equations: Equations) -> None:
        """Add the model's own constraints h(q) = 0 and their impulses, the joint forces Dh^T multipliers."""
        at, model, own, nq = self._v, self.model, self._entries, self.model.nq
        m = len(model.constraints)
        if not m:
            return

        def rows_of(q):
            h, Dh = model._constraint_rows(own.unit(q.reshape(-1, nq)))
            return h.reshape(*q.shape[:-1], m), Dh.reshape(*q.shape[:-1], m, model.nv)

        def impulse(z):
            return (z[..., None, nq:] @ rows_of(z[..., :nq])[1])[..., 0, :]

        def impulse_slopes(z):
            q, lam = z[..., :nq].reshape(-1, nq), z[..., nq:].reshape(-1, m)
            by_q = constraint_slopes(model, own.unit(q), lam).reshape(*z.shape[:-1], model.nv, model.nv)
            by_lam = np.swapaxes(rows_of(z[..., :nq])[1], -1, -2)
            return np.concatenate([own.by_entries(by_q, z[..., :nq]), by_lam], axis=-1)

        index = np.concatenate([at.q[: at.kicked], at.multipliers], axis=1)
        equations.terms.append(Term("impulses of constraints", impulse, index, self._before, impulse_slopes))
        for k in (0, self.steps):
            off = np.abs(rows_of(at.lower[at.q[k]])[0]).max() if self._is_given(k) else 0.0
            if off > ON_PLACE:
                what = "the start" if k == 0 else "the goal"
                raise InputError(f"{what} is off the model's constraints by {off:.3g}; take vt.satisfy_constraints")
        nodes = np.array([k for k in range(self.steps + 1) if not self._is_given(k)], dtype=int)
        rows = equations.rows("constraints", (len(nodes), m), first=int(nodes[0]))

        def slopes(q):
            return own.by_entries(rows_of(q)[1], q)

        equations.terms.append(Term("constraints", lambda q: rows_of(q)[0], at.q[nodes], rows, slopes))

    def _add_periodic(self, equations: Equations, periodic: Any) -> None:
        """Add the equality of coordinates and momenta at both ends."""
        at, model = self._v, self.model
        for last, first in mapping(periodic, "periodic", "a mapping of coordinates to coordinates").items():
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
            pairs = [(at.p[-1, j], at.p[0, j0], 0.0, f"periodic momentum of {last}")]
            move = real(shift)
            if not np.isnan(move):
                pairs.append((at.q[-1, i], at.q[0, i0], move, f"periodic {last}"))
            for end, begin, by, name in pairs:
                if at.free[[end, begin]].any():
                    rows = equations.rows(name, (1, 1), (by, by))
                    equations.terms.append(Linear(name, [[end, begin]], rows, [1.0, -1.0]))

    # ---- variables ----------------------------------------------------------------------------------

    def _is_given(self, k: int) -> bool:
        return not self._v.free[self._v.q[k]].any()

    def _bound(self, bounds: Any, limits: Any) -> None:
        """Set the bounds of coordinates and forces."""
        at, model = self._v, self.model
        for name, pair in mapping(bounds, "bounds", "a mapping of coordinates to (least, greatest)").items():
            if name not in model.q_names:
                raise UnknownNameError("coordinate", name, model.q_names)
            try:
                least, greatest = np.broadcast_to(as_numbers(pair), (2,))
            except (TypeError, ValueError):
                least = greatest = np.nan
            if not least <= greatest:
                raise InputError(f'the bounds of "{name}" are {shown(pair)}; give (least, greatest)')
            at.bound(at.q[:, model.q_names.index(name)], least, greatest)
        if limits is not None:
            m = len(at.acts)
            most = np.full(m, real(limits)) if np.ndim(limits) == 0 else entries(limits, (m,), "limits")
            if not (most > 0).all():
                raise InputError("limits", limits, "must be positive")
            at.bound(at.u, -most, most)

    def _state(self, state: Any, what: str) -> tuple[np.ndarray, np.ndarray | None]:
        """Return the configuration of a start or goal, NaN where it is free, and the momentum, None if it is free."""
        model = self.model
        if state is None:
            return np.full(model.nq, np.nan), None
        pair = isinstance(state, tuple) and len(state) == 2 and not isinstance(state[0], float | int)
        q, v = state if pair else (state, np.zeros(model.nv))
        try:
            wanted = as_numbers(q).copy()
        except TypeError:
            wanted = np.zeros(0)
        if wanted.shape != (model.nq,) or np.isinf(wanted).any():
            raise InputError(f"{what} has the configuration {shown(q)}; give ({', '.join(model.q_names)})")
        known = np.isfinite(wanted)
        turning, joint = self._entries.turning, self._entries.joint
        for i in np.unique(joint[turning]):
            own = turning & (joint == i)
            if known[own].any() != known[own].all():
                raise InputError(f"{what} has NaN in a part of a quaternion; give all of it, or NaN for all")
        q = model.validate_configuration(np.where(known, wanted, model.neutral()), "q")
        wanted = np.where(known, q, np.nan)
        if v is None:
            return wanted, None
        v = entries(v, (model.nv,), f"the velocity of {what}")
        if v.any() and not known.all():
            raise InputError(
                f"{what} has a velocity, and NaN in its configuration; give all of it, or the velocity None"
            )
        return wanted, model.generalized_momentum(q, v)

    def _give(self, k: int, wanted: np.ndarray, momentum: np.ndarray | None, what: str) -> None:
        """Give the variables at a node their values, as far as these are known."""
        at, known = self._v, np.isfinite(wanted)
        for i in np.flatnonzero(known):
            low, high = at.lower[at.q[k, i]], at.upper[at.q[k, i]]
            if not low <= wanted[i] <= high:
                raise InputError(
                    f"{what} has {self.model.q_names[i]} = {wanted[i]:g}, outside its bounds {low:g} and {high:g}; "
                    "move it inside, or widen the bounds"
                )
        at.give(at.q[k, known], wanted[known])
        if momentum is not None:
            at.give(at.p[k], momentum)

    def _guess(self, guess: Any) -> np.ndarray:
        """Return all variables of a guess."""
        at, model, N = self._v, self.model, self.steps
        x = at.given.copy()
        x[at.dt] = 0.5 * (at.lower[at.dt] + at.upper[at.dt])
        if isinstance(guess, MotionPlan):
            if guess.q.shape != (N + 1, model.nq) or guess.torque.shape[1] != model.nv:
                raise InputError(
                    f"the guess has {len(guess.q) - 1} steps of {guess.q.shape[1]} coordinates; give {N} of {model.nq}"
                )
            x[at.dt] = guess.dt
            x[at.q], x[at.p], x[at.u] = guess.q, guess.p, guess.torque[:, at.acts]
            for stance, index in zip(at.stances, at.impulses, strict=True):
                known = guess.impulses.get(stance.frame, np.zeros((N + 1, 3)))
                x[index] = known[stance.first : stance.first + len(index), self._moves[stance.frame]]
            if guess.multipliers.shape[1] == at.multipliers.shape[1]:
                x[at.multipliers] = guess.multipliers[: at.kicked]
            for k, name in enumerate(self._strings):
                x[at.tensions[:, k]] = guess.tensions.get(name, np.zeros(N + 1))[: at.kicked]
        else:
            x[at.q] = self._straight() if guess is None else entries(guess, (N + 1, model.nq), "guess")
            x[at.q] = self._entries.unit(x[at.q])
            self._weigh(x)
            ends = self._momenta.value(x[self._of_step])
            x[at.p] = np.concatenate([ends[:, : model.nv], ends[-1:, model.nv :]])
        for stance, place in zip(at.stances, at.places, strict=True):
            if len(place):
                moves = self._moves[stance.frame]
                x[place] = self._points[stance.frame].place(x[at.q[stance.first]])[moves]
        return x

    def _straight(self) -> np.ndarray:
        """Return configurations from the start to the goal, as far as these are known."""
        model = self.model
        first, last = self._given_ends
        first = np.where(np.isnan(first), np.where(np.isnan(last), model.neutral(), last), first)
        last = np.where(np.isnan(last), first, last)
        way, shares = model.difference(first, last), np.linspace(0.0, 1.0, self.steps + 1)
        return model.integrate(np.tile(first, (self.steps + 1, 1)), shares[:, None] * way)

    def _weigh(self, x: np.ndarray) -> None:
        """Let what is held, and strings, bear the weight in the guess."""
        at, model, N = self._v, self.model, self.steps
        weight = model.total_mass * float(np.linalg.norm(model.gravity)) * x[at.dt]
        bearing = np.full(N + 1, float(len(self._strings)))
        for stance, index in zip(at.stances, at.impulses, strict=True):
            bearing[stance.first : stance.first + len(index)] += 1
        share = weight / np.maximum(bearing, 1.0)
        for stance, index in zip(at.stances, at.impulses, strict=True):
            if self._moves[stance.frame][2]:
                x[index[:, -1]] = share[stance.first : stance.first + len(index)]
        x[at.tensions] = share[: at.kicked, None]


def _lengths(dt: Any) -> tuple[float, float]:
    try:
        least, greatest = np.broadcast_to(as_numbers(dt), (2,))
    except (TypeError, ValueError):
        least = greatest = np.nan
    if not 0 < least <= greatest < np.inf:
        raise InputError("dt", dt, "must be a positive number of seconds, or (least, greatest)")
    return float(least), float(greatest)
