"""Derivatives of the steps of the variational integrators, in the lanes of the processor."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from vitree._core import scalar, wide
from vitree.errors import InputError, ModelError
from vitree.integrators.base import Integrator
from vitree.integrators.contact_slopes import Held, Touched, held_by, solve_held
from vitree.integrators.variational import KINETIC, LinearTime, Midpoint, Variational
from vitree.lie import SE3, SO3, Map
from vitree.mechanism.drives import Drive
from vitree.mechanism.flat import BALL, FREE
from vitree.mechanism.loads import BallSpring, Damper
from vitree.model.dynamics import refuse_losses
from vitree.model.model import Model
from vitree.model.user_inputs import Force, differences

core = scalar()
#: Loads whose force depends on velocities. It is part of the midpoint method's equations; the linear-time method
#: predicts it from past steps.
MOVING = (Damper, Force)
#: What the core returns for K: K, A, or K with its second block factored.
BLOCKS, MAPPED, FACTORED = 0, 1, 2
#: Share of the momentum by which a step's end may differ from what the forces that are known lead to; with contacts,
#: which are solved for less closely.
UNEXPLAINED, UNEXPLAINED_BY_CONTACT = 1e-6, 1e-5
#: Differences of the gradient of a constraint in Python [m or rad]; places and weights (over 60) of order 6.
APART, STENCIL = 1e-3, ((1, 45), (2, -9), (3, 1))


class UnexplainedError(InputError):
    """A step does not end where the forces that are known lead to."""


class Anchored(NamedTuple):
    """The constraints from the number ``first`` on hold what they measure at the start of each step.

    ``multipliers`` (n, m) are the impulses lam of all constraints, p1 = .. + Dh(q1)^T lam.
    """

    first: int
    multipliers: np.ndarray


@dataclass(frozen=True, eq=False)
class Slopes:
    """Derivatives of the momenta at the nodes of steps, by displacements of the joints there.

    Attributes
    ----------
    A : (n, 2 nv, 2 nv) array
        (d2, dp2) = A (d1, dp1). Prescribed coordinates stay at the end.
    F : (2, nv, nv) or (n, 2, nv, nv) array [s]
        What a torque adds to -p1 and to p2.
    drives : (n, 3, nv) array
        Minus the slopes of the drives' forces by position [N/m or N m/rad] and by velocity; 1 within their limits.
    ends : (2, n, nv) array [kg m/s or kg m^2/s]
        The momenta at both nodes without drives and torque.
    by_inputs : (2, n, nv, nu) array
        What the inputs of loads add to -p1 and to p2.
    diagonal : bool
        Whether F is: a torque adds to the momentum of its own joint alone, and to no other entry of it.
    multipliers : (n, m, 2 nv) array
        What (d1, dp1) changes of the constraints' impulses lam, p1 = .. + Dh(q1)^T lam.
    prescribed : (n, 2 nv + m, k) array
        What displacements of prescribed coordinates at the end change of d2, p2 and lam.
    light : (n, nv) array
        How far a momentum at node 1 moves its coordinate, about.
    memory : (n, 2 nv, 2 nv) array or None
        The derivatives of (d2, p2) by the displacements of the configuration before that at node 1 and of that at
        node 1, through the direction of the slip between them, which friction opposes by half; A treats this as given.
        None where nothing slides.
    """

    A: np.ndarray
    F: np.ndarray
    drives: np.ndarray
    ends: np.ndarray
    by_inputs: np.ndarray
    diagonal: bool
    multipliers: np.ndarray
    prescribed: np.ndarray
    light: np.ndarray
    memory: np.ndarray | None = None

    def by_kicks(self, kicks: np.ndarray) -> np.ndarray:
        """Return the derivatives of (d2, p2), (n, 2 nv, k), by what adds ``kicks`` (2, n, nv, k) to -p1 and to p2."""
        nv = kicks.shape[2]
        found: np.ndarray = self.A[:, :, nv:] @ kicks[0]
        found[:, nv:] += kicks[1]
        return found

    def by_torque(self) -> np.ndarray:
        """Return the derivatives of (d2, p2) by a torque, (n, 2 nv, nv)."""
        F1, F2 = self.F[..., 0, :, :], self.F[..., 1, :, :]
        nv = F1.shape[-1]
        found: np.ndarray
        if self.diagonal:
            found = self.A[:, :, nv:] * np.diagonal(F1, axis1=-2, axis2=-1)[..., None, :]
        else:
            found = self.A[:, :, nv:] @ F1
        found[:, nv:] += F2
        return found


def slopes(integrator: LinearTime | Midpoint, q: np.ndarray, q2: np.ndarray, p: np.ndarray, u: np.ndarray,
           p2: np.ndarray | None = None, t: np.ndarray | None = None, touched: Sequence[Touched | None] = (),
           before: tuple[np.ndarray, np.ndarray, Touched | None] | None = None,
           anchored: Anchored | None = None) -> Slopes:  # fmt: skip
    """Return the derivatives of steps, which follow each other where contacts push.

    Parameters
    ----------
    integrator : LinearTime or Midpoint
    q, q2 : (n, nq) array
        Configurations at the start and at the end of the steps.
    p : (n, nv) array
        Momenta at the start.
    u : (n, nu) array
        Inputs, among them the targets of drives.
    p2 : (n, nv) array, optional
        Momenta at the end; needed where there are constraints, whose impulses they tell.
    t : (n,) array, optional [s]
        Times of the starts, for loads in Python; zero if not given.
    touched : sequence of Touched or None, optional
        The contacts that pushed in each step; none if not given.
    before : (q, q2, touched), optional
        The step before the first.
    anchored : Anchored, optional
        Constraints that hold what they measure at the start of each step; none if not given.
    """
    model: Model = integrator.model
    n, nv = len(q), model.nv
    if _has_tree_map(integrator, anchored):
        return _by_tree_map(integrator, q, q2, p, u, np.zeros(n) if t is None else t, anchored)
    if not is_plain(integrator):
        helds = held_by(integrator.stepper, model, integrator.dt, q, q2, touched)
        found = node_slopes(integrator, q, q2, p, u, p2, t, helds, None if anchored is None else anchored.multipliers)
        first: list[Held] = []
        if before is not None and any(held.leads and 0 in held.steps for held in helds):
            first = held_by(integrator.stepper, model, integrator.dt, before[0][None], before[1][None], [before[2]])
        mapped = found.mapped
        if mapped is not None:
            # K[0] has less by the contacts
            for held in helds:
                by_start, by_momenta = mapped[held.at, :nv, :nv], mapped[held.at, :nv, nv:]
                mapped[held.at, :nv, :nv] = by_start + by_momenta @ held.turn
        A, multipliers, prescribed, memory = _map(model, integrator.dt, found.K, q, q2, helds, first, mapped,
                                                 -1 if anchored is None else anchored.first)  # fmt: skip
        return Slopes(A, *found[1:6], multipliers, prescribed, _light(found.K), memory)
    found = _compiled(integrator, q, q2, p, u, MAPPED)
    A = found.K.reshape(n, 2 * nv, 2 * nv)
    light = np.abs(np.diagonal(A[:, :nv, nv:], axis1=1, axis2=2))
    return Slopes(A, *found[1:6], np.zeros((n, 0, 2 * nv)), np.zeros((n, 2 * nv, 0)), light)


def _has_tree_map(integrator: LinearTime | Midpoint, anchored: Anchored | None) -> bool:
    """Return whether :func:`_by_tree_map` knows the derivatives of steps that are not plain."""
    model: Model = integrator.model
    loaded = _loaded(model)
    if not (model.constraints or loaded) or model.has_contact or model.prescribed_joint_names:
        return False
    if isinstance(integrator, Midpoint) and (integrator.relative or loaded):
        return False
    return anchored is not None or not model.constraints


def _by_tree_map(integrator: LinearTime | Midpoint, q: np.ndarray, q2: np.ndarray, p: np.ndarray, u: np.ndarray,
                 t: np.ndarray, anchored: Anchored | None) -> Slopes:  # fmt: skip
    """Return the derivatives of steps with loads at the nodes and constraints of known impulses lam.

    Along the trees alone (d2, dp2) = A (d1, dp1). What else acts at the start makes it A (d1, dp1 - C d1 - Dh(q1)^T
    dlam), and what loads do at the end adds to dp2. The impulses follow from Dh(q2) d2 = 0, or Dh(q1) d1 of constraints
    that hold what they measure at the start.
    """
    model: Model = integrator.model
    n, nv = len(q), model.nv
    if anchored is not None:
        rows, rows2, lam = model._constraint_rows(q)[1], model._constraint_rows(q2)[1], anchored.multipliers
        kick = (lam[:, None] @ rows)[:, 0]
        p = p - kick
    found = _compiled(integrator, q, q2, p, u, MAPPED)
    A = found.K.reshape(n, 2 * nv, 2 * nv)
    pushes = A[:, :, nv:]
    light = np.abs(np.diagonal(pushes[:, :nv], axis1=1, axis2=2))
    at_start, at_end = _node_loads(integrator, q, q2, u, t, found) if _loaded(model) else (0.0, None)
    if anchored is not None:
        found.ends[0] += kick
        at_start = at_start + constraint_slopes(model, q, lam)
    # of forces that turn with their bodies nothing is added
    if np.any(at_start):
        A[:, :, :nv] -= pushes @ at_start
    multipliers = np.zeros((n, 0, 2 * nv))
    if anchored is not None:
        pushed = pushes @ rows.swapaxes(1, 2)
        lack = rows2 @ A[:, :nv]
        lack[:, anchored.first :, :nv] -= rows[:, anchored.first :]
        multipliers = _impulses(rows2 @ pushed[:, :nv], lack)
        A -= pushed @ multipliers
    if at_end is not None and np.any(at_end):
        A[:, nv:] += at_end @ A[:, :nv]
    return Slopes(A, *found[1:6], multipliers, np.zeros((n, 2 * nv + multipliers.shape[1], 0)), light)


def _light(K: np.ndarray) -> np.ndarray:
    """Return how far a momentum at node 1 moves its coordinate, about; infinite of coordinates that carry nothing."""
    weight = np.abs(np.diagonal(K[:, 1], axis1=1, axis2=2))
    found: np.ndarray = np.divide(1.0, weight, out=np.full(weight.shape, np.inf), where=weight > 0)
    return found


class NodeSlopes(NamedTuple):
    """Derivatives of the momenta at both nodes of steps: dp1 = K[0] d1 + K[1] d2, dp2 = K[2] d1 + K[3] d2.

    K is (n, 4, nv, nv). ``mapped`` (n, 2 nv, 2 nv) is A as K makes it along the trees, before contacts and constraints;
    None where it was not made. The others are those of :class:`Slopes`.
    """

    K: np.ndarray
    F: np.ndarray
    drives: np.ndarray
    ends: np.ndarray
    by_inputs: np.ndarray
    diagonal: bool
    mapped: np.ndarray | None = None


def node_slopes(integrator: LinearTime | Midpoint, q: np.ndarray, q2: np.ndarray, p: np.ndarray, u: np.ndarray,
                p2: np.ndarray | None = None, t: np.ndarray | None = None,
                helds: Sequence[Held] = (), known: np.ndarray | None = None) -> NodeSlopes:  # fmt: skip
    """Return the derivatives of the momenta at the nodes of steps; arguments as of :func:`slopes`.

    With ``p2`` the constraints' impulses are part of p1, and so are those of the contacts ``helds``.
    ``known`` (n, m) are these impulses lam; found from p1 and p2 if not given.
    """
    model: Model = integrator.model
    times = np.zeros(len(q)) if t is None else t

    along_trees = bool(helds) and not _coupled(integrator)

    def at(p: np.ndarray) -> NodeSlopes:
        found = _compiled(integrator, q, q2, p, u, BLOCKS, along_trees)
        if _loaded(model):
            _add_loads(integrator, q, q2, u, times, found)
        return found

    if helds:
        given, p = p, p.copy()
        p2 = None if p2 is None else p2.copy()
        for held in helds:
            p[held.at] += held.kick
            if p2 is not None:
                p2[held.at] -= held.late
    found = at(p)
    if model.constraints and p2 is not None:
        rows, lam = model._constraint_rows(q)[1].swapaxes(1, 2), known
        if lam is None:
            # the torque that p2 tells, and of what is left at node 1 the part of the constraints
            torque = np.linalg.solve(found.F[..., 1, :, :], (p2 - found.ends[1])[:, :, None])
            left = (p - found.ends[0])[:, :, None] + found.F[..., 0, :, :] @ torque
            free = ~np.asarray(model.flat.kinematic, dtype=bool)
            lam = (np.linalg.pinv(rows[:, free], rcond=1e-12) @ left[:, free])[:, :, 0]
        kick = (rows @ lam[:, :, None])[:, :, 0]
        if not found.diagonal:
            # these derivatives depend on the force on the joints, which p1 without the impulses tells
            found = at(p - kick)
        found.ends[0] += kick
        found.K[:, 0] += constraint_slopes(model, q, lam)
    if helds:
        found.ends[0] -= p - given
        for held in helds:
            found.K[held.at, 0] -= held.turn
            found.ends[1][held.at] += held.late
            if held.late_by is not None:
                found.K[held.at, 2:] += held.late_by
    return found


def is_plain(integrator: LinearTime | Midpoint) -> bool:
    """Return whether momenta depend on each other along paths to the root alone, and all coordinates are free."""
    return not (_coupled(integrator) or integrator.model.has_contact)


def _coupled(integrator: LinearTime | Midpoint) -> bool:
    """Return whether momenta depend on each other by more than paths to the root and contacts, or are prescribed."""
    model: Model = integrator.model
    if isinstance(integrator, Midpoint) and integrator.relative:
        # the centre of mass couples all joints of a tree
        return True
    return bool(model.constraints or model.prescribed_joint_names or _loaded(model))


def second_derivatives(integrator: LinearTime | Midpoint, q: np.ndarray, q2: np.ndarray,
                       u: np.ndarray) -> np.ndarray:  # fmt: skip
    """Return the K (n, 4, nv, nv) of :class:`NodeSlopes` of a plain model, of steps on joints of one coordinate."""
    return _compiled(integrator, q, q2, np.zeros_like(q), u, BLOCKS).K


def factored(integrator: LinearTime | Midpoint, q: np.ndarray, q2: np.ndarray, p: np.ndarray,
             u: np.ndarray) -> NodeSlopes:  # fmt: skip
    """Return the derivatives of the momenta of a plain model with K[1] factored, for :func:`sweep`."""
    return _compiled(integrator, q, q2, p, u, FACTORED)


def sweep(model: Model, K: np.ndarray, g: np.ndarray, costates: np.ndarray) -> None:
    """Fill rows of ``costates`` (n + 1, 2 nv) from the last: each is A^T times the next one, and its row of g.

    K is that of :func:`factored`. g is (n, 2 nv).
    """
    core.sweep_costates(model.core, K.reshape(len(K), -1), g, costates)


def push(model: Model, K: np.ndarray, kicks: np.ndarray, motions: np.ndarray) -> None:
    """Fill rows of ``motions`` (n + 1, 2 nv) from the first: each is A times the one before it, and what kicks add.

    K is that of :func:`factored`. kicks (n, 2 nv) are added to -p1 and to p2.
    """
    core.push_motions(model.core, K.reshape(len(K), -1), kicks, motions)


def _loaded(model: Model) -> bool:
    return any(not isinstance(load, Drive) for load in model.loads)


def constraint_slopes(model: Model, q: np.ndarray, lam: np.ndarray) -> np.ndarray:
    """Return the derivatives (n, nv, nv) of the constraints' forces Dh^T lam by displacements of the joints.

    Parameters
    ----------
    q : (n, nq) array
    lam : (n, m) array
    """
    n, nv = len(q), model.nv
    out = np.empty((n, nv * nv))
    wide().batch_constraint_slopes(model.core, model.constraint_list, q, np.ascontiguousarray(lam), out)
    found = out.reshape(n, nv, nv)
    for k, row in model.written.constraints if model.written is not None else ():
        # of one written in Python by differences of order 6 of its gradient
        for i in range(n):
            for j, unit in enumerate(np.eye(nv)):
                found[i, :, j] += lam[i, k] * central(lambda x: row(model.integrate(q[i], x * unit))[1], APART)  # noqa: B023
    return found


def central(f: Callable[[float], np.ndarray], step: float) -> np.ndarray:
    """Return the derivative of f at zero by a central difference of order 6, up to three steps away."""
    changes = [weight * (f(place * step) - f(-place * step)) for place, weight in STENCIL]
    found: np.ndarray = np.sum(changes, axis=0) / (60 * step)
    return found


def _compiled(integrator: LinearTime | Midpoint, q: np.ndarray, q2: np.ndarray, p: np.ndarray, u: np.ndarray,
              form: int, with_map: bool = False) -> NodeSlopes:  # fmt: skip
    """Return the derivatives without loads other than drives; ``with_map``: with ``mapped``."""
    model: Model = integrator.model
    kernels, n, nv = wide(), len(q), model.nv
    K, drives, ends = np.empty((n, 4 * nv * nv)), np.empty((n, 3 * nv)), np.empty((n, 2 * nv))
    A = np.empty((n, 4 * nv * nv)) if with_map else None
    if isinstance(integrator, LinearTime):
        rule = (integrator.dt, KINETIC[integrator.kinetic], u.shape[1])
        kernels.batch_linear_time_slopes(model.core, rule, model.drive_list, q, q2, u, K, drives, ends, form, A)
        half = 0.5 * integrator.dt * np.eye(nv)
        F = np.array((half, half))
    else:
        F = np.empty((n, 2 * nv * nv))
        middle = integrator.dt, integrator.settings.get("alpha", 0.5), u.shape[1], integrator.relative
        kernels.batch_midpoint_slopes(model.core, middle, model.drive_list, q, q2, u, p, K, drives, ends, F, form, A)
        F = F.reshape(n, 2, nv, nv)
    ends = np.ascontiguousarray(ends.reshape(n, 2, nv).transpose(1, 0, 2))
    by_inputs = np.zeros((2, n, nv, u.shape[1]))
    diagonal = isinstance(integrator, LinearTime) or model.nq == nv
    mapped = None if A is None else A.reshape(n, 2 * nv, 2 * nv)
    return NodeSlopes(K.reshape(n, 4, nv, nv), F, drives.reshape(n, 3, nv), ends, by_inputs, diagonal, mapped)


def _map(model: Model, h: float, K: np.ndarray, q: np.ndarray, q2: np.ndarray,
         helds: Sequence[Held], first: Sequence[Held], mapped: np.ndarray | None, anchored: int
         ) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray | None]:  # fmt: skip
    """Return A, multipliers, prescribed and memory of :class:`Slopes`, from K of :class:`NodeSlopes`, whatever it has.

    The equations are K12 d2 + Dh(q1)^T dlam = dp1 - K11 d1 in free coordinates, and Dh(q2) d2 = 0, or Dh(q1) d1 of
    constraints that are ``anchored``, from that number on. ``helds`` are those of contacts, and ``first`` those of the
    step before. ``mapped`` (n, 2 nv, 2 nv) is A without them, where it is known, and becomes A.
    """
    n, nv, m = len(K), K.shape[-1], len(model.constraints)
    locked = np.asarray(model.flat.kinematic, dtype=bool)
    free = np.flatnonzero(~locked) if locked.any() else slice(0, nv)
    if mapped is None:
        moved, lam, d2 = _without_contacts(model, K, q, q2, np.flatnonzero(~locked), anchored)
    else:
        lam, d2 = np.zeros((n, 0, 2 * nv)), mapped[:, :nv]
        moved = d2
    one, two = (model._constraint_rows(x)[1] for x in (q, q2)) if m and helds else (lam, lam)
    memory = np.zeros((n, 2 * nv, 2 * nv)) if any(held.leads for held in helds) else None
    at = {int(k): (held, row) for held in helds for row, k in enumerate(held.steps)} if memory is not None else {}
    if first:
        at[-1] = first[0], 0
    for held in helds:
        which = held.at
        more = np.zeros((len(held.steps), m + held.push.shape[1], 2 * nv if held.leads else 0))
        for row, k in enumerate(held.steps.tolist() if held.leads else ()):
            if (by_last := held.by_before(row, at.get(k - 1))) is not None:
                more[row, m:] = by_last
        if m:
            held = held.with_constraints(one[which], two[which], m if anchored < 0 else anchored)
        rest = np.where(locked[:, None], d2[which], 0.0) if locked.any() else None
        pushed, pushes, kept = solve_held(moved[which], h, held, rest, free, more)
        if rest is None:
            d2[which] = pushed
        else:
            rest[:, free] = pushed
            d2[which] = rest
        lam[which] = pushes[:, :m]
        if memory is not None and held.leads:
            by_last = np.zeros((len(held.steps), 2 * nv, 2 * nv))
            by_last[:, free], by_last[:, nv:] = kept, K[which, 3][:, :, free] @ kept
            memory[which] = by_last
    A = np.empty((n, 2 * nv, 2 * nv)) if mapped is None else mapped
    if mapped is None:
        A[:, :nv] = d2[:, :, : 2 * nv]
    np.matmul(K[:, 3], d2[:, :, : 2 * nv], out=A[:, nv:])
    A[:, nv:, :nv] += K[:, 2]
    by_end = d2[:, :, 2 * nv :]
    prescribed = np.concatenate([by_end, K[:, 3] @ by_end, lam[:, :, 2 * nv :]], axis=1)
    return A, lam[:, :, : 2 * nv], prescribed, memory


def _without_contacts(model: Model, K: np.ndarray, q: np.ndarray, q2: np.ndarray, free: np.ndarray,
                      anchored: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:  # fmt: skip
    """Return K12^-1 of the right sides, and the impulses and d2 that constraints lead to, for :func:`_map`."""
    n, nv, m = len(K), K.shape[-1], len(model.constraints)
    locked = np.asarray(model.flat.kinematic, dtype=bool)
    # columns: d1, dp1, displacements of prescribed coordinates
    d2 = np.zeros((n, nv, 2 * nv + int(locked.sum())))
    d2[:, locked, 2 * nv :] = np.eye(d2.shape[2] - 2 * nv)
    right = np.empty((n, len(free), d2.shape[2]))
    right[:, :, :nv], right[:, :, nv : 2 * nv] = -K[:, 0, free], np.eye(nv)[free]
    right[:, :, 2 * nv :] = -K[:, 1, free][:, :, locked]
    inner = K[:, 1][:, free[:, None], free] if locked.any() else K[:, 1]
    if m:
        one, two = (model._constraint_rows(x)[1] for x in (q, q2))
        both = np.linalg.solve(inner, np.concatenate([right, one[:, :, free].swapaxes(1, 2)], axis=2))
        moved, pushed = both[:, :, :-m], both[:, :, -m:]
        lack = two[:, :, free] @ moved + two @ d2
        if anchored >= 0:
            lack[:, anchored:, :nv] -= one[:, anchored:]
        lam = _impulses(two[:, :, free] @ pushed, lack)
        d2[:, free] = moved - pushed @ lam
    else:
        lam = np.zeros((n, 0, right.shape[2]))
        d2[:, free] = moved = np.linalg.solve(inner, right)
    return moved, lam, d2


def _impulses(S: np.ndarray, right: np.ndarray) -> np.ndarray:
    """Return S^-1 right, (n, m, k), of constraints that do not depend on each other."""
    try:
        found = np.linalg.solve(S, right)
    except np.linalg.LinAlgError:
        found = np.full_like(right, np.nan)
    off = np.abs(S @ found - right).max(axis=(1, 2), initial=0.0)
    bad = np.flatnonzero(~(off <= 1e-6 * np.abs(right).max(axis=(1, 2), initial=1e-300)))
    if bad.size:
        raise InputError(
            f"the constraints depend on each other in step {bad[0] + 1}, so that its derivatives are not defined; "
            "leave out those that others imply"
        )
    return found


def _add_loads(integrator: LinearTime | Midpoint, q: np.ndarray, q2: np.ndarray, u: np.ndarray, t: np.ndarray,
               found: NodeSlopes) -> None:  # fmt: skip
    """Add what loads do: linear-time has half of them at each node, midpoint all of them in the middle."""
    model, h = integrator.model, integrator.dt
    K, F, ends, by_inputs = found.K, found.F, found.ends, found.by_inputs
    if isinstance(integrator, LinearTime):
        at_start, at_end = _node_loads(integrator, q, q2, u, t, found)
        K[:, 0] += at_start
        K[:, 3] += at_end
        return
    alpha = integrator.settings.get("alpha", 0.5)
    y = model.difference(q, q2)
    rates = -joint_maps(model, y), joint_maps(model, -y)
    force, by_q, by_v, by_u = _forces(model, t + alpha * h, model.integrate(q, alpha * y), y / h, u)
    for node, sense in ((0, -1), (1, 1)):
        ends[node] += sense * (F[:, node] @ force[:, :, None])[:, :, 0]
        by_inputs[node] = F[:, node] @ by_u
        for other in (0, 1):
            # the middle is displaced by E d, and F is h E^T; the rate changes by X d/h
            moved = (by_q @ F[:, other].swapaxes(1, 2) + by_v @ rates[other]) / h
            K[:, 2 * node + other] += sense * F[:, node] @ moved


def _node_loads(integrator: LinearTime | Midpoint, q: np.ndarray, q2: np.ndarray, u: np.ndarray, t: np.ndarray,
                found: NodeSlopes) -> tuple[np.ndarray, np.ndarray]:  # fmt: skip
    """Return what half of the loads at both nodes adds to dp1 / d1 and to dp2 / d2, and add it to the momenta there."""
    model, half, n = integrator.model, 0.5 * integrator.dt, len(q)
    rest = np.zeros((2 * n, model.nv))
    force, by_q, _, by_u = _forces(model, np.tile(t, 2), np.concatenate([q, q2]), rest, np.concatenate([u, u]))
    found.ends[0] -= half * force[:n]
    found.ends[1] += half * force[n:]
    found.by_inputs[:] = half * by_u.reshape(found.by_inputs.shape)
    return -half * by_q[:n], half * by_q[n:]


def joint_maps(model: Model, y: np.ndarray) -> np.ndarray:
    """Return dlog_y (n, nv, nv) of the joints' motions y (n, nv); ones on joints of one coordinate."""
    found: np.ndarray = core.joint_maps(model.core, np.ascontiguousarray(y))
    return found


def joint_times(model: Model, y: np.ndarray, x: np.ndarray, name: str = "dtau_inv") -> np.ndarray:
    """Return dlog_y x (n, nv), or with "dtau" dexp_y x, of the joints' motions y (n, nv)."""
    found = x.copy()
    for at, group in groups_of(model):
        found[:, at] = (getattr(group, name)(y[:, at]) @ x[:, at, None])[:, :, 0]
    return found


def groups_of(model: Model) -> list[tuple[np.ndarray, Map]]:
    """Return the coordinates of each ball and free joint, as (angular, linear), and the maps of its group."""
    found = []
    for kind, iv in zip(model.flat.kind, model.index.iv, strict=True):
        if kind == BALL:
            found.append((np.arange(iv, iv + 3), SO3.maps["exp"]))
        elif kind == FREE:
            found.append((np.array([3, 4, 5, 0, 1, 2]) + iv, SE3.maps["exp"]))
    return found


def _forces(model: Model, t: np.ndarray, q: np.ndarray, v: np.ndarray, u: np.ndarray) -> tuple[np.ndarray, ...]:
    """Return the forces (n, nv) of loads that are no drives, and their derivatives by displacements, rates and inputs.

    Those of the core are linear in inputs.
    """
    q, v, u = (np.ascontiguousarray(x) for x in (q, v, u))
    force, by_q, by_v, by_u = core.load_derivatives(model.core, model.load_list, q, v, u)
    own = model.written
    # which are not linear in these
    bent = any(isinstance(load, BallSpring) and load.inputs for load in model.loads)
    for k in range(len(q) if bent or own is not None else 0):
        at, when, rate, given = q[k], t[k], v[k], u[k]
        if bent:
            by_u[k] = differences(lambda x: core.load_derivatives(
                model.core, model.load_list, at[None], rate[None], x[None])[0][0], given, len(given)).T  # noqa: B023
        if own is not None:
            slopes = own.tangent(when, at, rate, given)
            force[k] += own.rest(at) + own.move(when, at, rate, given)
            by_q[k] += slopes[0]
            by_v[k] += slopes[1]
            if len(given):
                by_u[k] += differences(lambda x: own.move(when, at, rate, x), given, len(given)).T  # noqa: B023
    return force, by_q, by_v, by_u


def kicks_of(model: Model, found: Slopes | NodeSlopes) -> np.ndarray:
    """Return what inputs add to -p1 and to p2, (2, n, nv, nu): those of loads, and targets of drives."""
    kicks = found.by_inputs.copy()
    total: dict[tuple[int, int], float] = {}
    for drive in model.drives:
        at = model.joint(drive.joint).v_slice.start
        for name, gain in ((drive.target, drive.kp), (drive.target_rate, drive.kd)):
            if isinstance(name, str):
                pair = at, model.input_names.index(name)
                total[pair] = total.get(pair, 0.0) + gain
    if not total:
        return kicks
    where, column = np.array([*total]).T
    slope = np.array([*total.values()]) * found.drives[:, 2, where]
    if found.diagonal:
        force = np.diagonal(found.F, axis1=-2, axis2=-1)[..., where]
        kicks[:, :, where, column] += slope * (force[:, None] if force.ndim == 2 else force.swapaxes(0, 1))
    else:
        for k in range(len(where)):
            kicks[..., column[k]] += (slope[:, k, None, None] * found.F[..., where[k]]).swapaxes(0, 1)
    return kicks


def require_slopes(integrator: Integrator, composed: bool = False) -> None:
    """Raise the error that says why steps have no derivatives here; ``composed``: compositions have some.

    Raises an InputError if the method is another, or an option is not served, and a ModelError if the model has parts
    whose derivatives are not there.
    """
    model, name = integrator.model, integrator.name
    if not isinstance(integrator, LinearTime | Midpoint):
        raise InputError("method", name, "has no derivatives of its steps; take linear-time or midpoint")
    if integrator.order > 2 and not composed:
        raise InputError("order", integrator.order, "is not linearized here; take order=2")
    if integrator.adaptive:
        raise InputError("adapt", integrator.chosen["adapt"], "is not linearized; take equal steps")
    if isinstance(integrator, LinearTime) and integrator.springs == "averaged":
        raise InputError("springs", "averaged", "is not linearized; take nodes, or midpoint")
    if isinstance(integrator, Midpoint) and integrator.settings.get("alpha", 0.5) == 1 and model.nq > model.nv:
        raise InputError("alpha", 1, "is not linearized on ball and free joints; take a smaller one")
    if isinstance(integrator, Midpoint) and integrator.settings.get("alpha", 0.5) == 0 and model.constraints:
        raise InputError("alpha", 0, "is not linearized with constraints; take a larger one")
    refuse_losses(model, "linearize")
    parts = parts_without_slopes(integrator)
    if parts:
        raise ModelError(
            f'the steps of "{model.name}" are not linearized: it has {", ".join(parts)}; leave them out. Gravity, '
            "damping, friction, armature, drives, torque, constraints, prescribed coordinates and loads are "
            "linearized; loads that depend on velocities by the midpoint method alone"
        )


def parts_without_slopes(integrator: Variational) -> list[str]:
    """Return in words what a model has that is not linearized."""
    model = integrator.model
    if type(model) is not Model:
        return [f"the form {type(model).__name__}, not Model"]
    moving = MOVING if isinstance(integrator, LinearTime) else ()
    found = sorted({f"a load of class {type(load).__name__}" for load in model.loads if isinstance(load, moving)})
    return found + ["contacts that rebound"] * bool(model.has_contact and integrator.stepper.elastic)


def require_explained(model: Model, h: float, found: Slopes | NodeSlopes, p: np.ndarray, p2: np.ndarray,
                      begin: int = 0, parts: int = 1) -> None:  # fmt: skip
    """Raise an InputError if a force acted in the steps that is not known here: their ends tell.

    The momenta at the starts give the torque. With it the steps must end at ``p2``. The first one is number ``begin``.
    Each step has so many ``parts`` of the length h [s].
    """
    F1, F2 = found.F[..., 0, :, :], found.F[..., 1, :, :]
    give = found.ends[0] - p
    torque = give / np.diagonal(F1, axis1=-2, axis2=-1)
    # F couples the coordinates of one joint
    for at, _ in () if found.diagonal else groups_of(model):
        torque[:, at] = np.linalg.solve(F1[:, at[:, None], at], give[:, at, None])[:, :, 0]
    ends = found.ends[1] + (F2 @ torque[..., None])[..., 0]
    size = np.abs(np.concatenate([p, p2, h * torque], axis=1)).max(axis=1, initial=1e-300)
    # at rest the momenta are rounding errors of terms that cancel, as large as the inverse of d2 by dp1
    light = found.light if isinstance(found, Slopes) else _light(found.K)
    size = np.maximum(size, 1e-8 / light.min(axis=1))
    free = ~np.asarray(model.flat.kinematic, dtype=bool)
    off = np.abs(ends - p2)[:, free].max(axis=1, initial=0.0)
    worst = int(np.argmax(off / size))
    if not off[worst] <= (UNEXPLAINED_BY_CONTACT if model.has_contact else UNEXPLAINED) * size[worst]:
        struck = "an impact was located within it, " if model.has_contact else ""
        located = ", and without max_impacts" if model.has_contact else ""
        raise UnexplainedError(
            f"step {begin + worst // parts + 1} does not end where the model's forces and a torque lead to (off by "
            f"{off[worst]:.2g} of {size[worst]:.2g}): {struck}other forces acted, it was taken in halves that the run "
            "does not tell, or the states are not those of equal steps; "
            f"linearize a run that records each step, without wrenches and pushes{located}"
        )
