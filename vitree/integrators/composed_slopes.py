"""Steps of compositions, substep by substep: the states between substeps, and the derivatives of a whole step.

A method of order 2 has one substep a step, which is the step.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple, TypeVar

import numpy as np

from vitree.arguments import Keywords
from vitree.errors import InputError
from vitree.integrators.base import Records
from vitree.integrators.composition import SHARES
from vitree.integrators.contact_slopes import Touched
from vitree.integrators.slopes import UNEXPLAINED, Anchored, NodeSlopes, Slopes, factored, kicks_of, slopes
from vitree.integrators.variational import LinearTime, Midpoint
from vitree.model.model import Model
from vitree.model.user_inputs import Motion

#: The largest tolerance of substeps that are taken again, and how often a torque is corrected to that end.
TOLERANCE, CORRECTIONS = 1e-12, 8
#: Steps that are taken again at one time.
CHUNK = 256
#: The integrator of a substep.
Part = LinearTime | Midpoint
T = TypeVar("T")


class Rows(NamedTuple):
    """Substeps, those of a step one after the other, (n, ...).

    q and q2 (n, nq) are the configurations at their starts and ends, p and p2 (n, nv) the momenta there, u (n, nu) the
    inputs, t (n,) [s] the times of the starts.
    """

    q: np.ndarray
    q2: np.ndarray
    p: np.ndarray
    p2: np.ndarray
    u: np.ndarray
    t: np.ndarray

    def of(self, which: slice | np.ndarray) -> Rows:
        """Return some of them."""
        return Rows(*(np.ascontiguousarray(x[which]) for x in self))


class Blocks(NamedTuple):
    """Derivatives of (d2, p2) of whole steps: A (n, 2 nv, 2 nv), by torque, by inputs, by prescribed coordinates."""

    A: np.ndarray
    by_torque: np.ndarray
    by_inputs: np.ndarray
    by_prescribed: np.ndarray


def parts_of(integrator: Part, tolerance: float = TOLERANCE) -> list[Part]:
    """Return an integrator of order 2 for each substep of a step; its ``dt`` [s] may be negative."""
    if integrator.order == 2:
        return [integrator]
    model: Model = integrator.model
    given: Keywords = {"kinetic": integrator.kinetic}
    inputs = np.zeros(len(model.input_names)) if model.input_names else None
    base = type(integrator)(model, integrator.dt, torque=np.zeros(model.nv), inputs=inputs,
                            tolerance=min(tolerance, TOLERANCE), guess="aba", max_halvings=0, **given)  # fmt: skip
    found = []
    for share in SHARES[integrator.order]:
        part = copy.copy(base)
        part.dt = share * integrator.dt
        found.append(part)
    return found


def halved_parts(integrator: Part, pieces: int, tolerance: float = TOLERANCE) -> list[Part]:
    """Return an integrator of order 2 for each substep of a step that was taken in so many equal pieces."""
    if pieces == 1:
        return parts_of(integrator, tolerance)
    one = copy.copy(integrator)
    one.dt = integrator.dt / pieces
    return parts_of(one, tolerance) * pieces


def bounds_of(parts: Sequence[Part]) -> np.ndarray:
    """Return where substeps begin and end, (stages + 1,), as shares of the step."""
    ends = np.cumsum([part.dt for part in parts])
    return np.concatenate(([0.0], ends[:-1] / ends[-1], [1.0]))


# ---- the states between substeps --------------------------------------------------------------------


def retraced(parts: Sequence[Part], steps: Rows, goal: float, number: int = 0, pieces: int = 1) -> Rows:
    """Return the substeps of steps whose ends are known.

    A torque that is constant over a step may have acted; the momentum at the end tells it. With it the step must end
    where it did. Raises an InputError if a substep cannot be taken again, or the steps do not end where they did.

    Parameters
    ----------
    parts : sequence
        As :func:`parts_of` returns them.
    steps : Rows
        The whole steps, one after the other.
    goal : float
        Share of the momentum by which ends may differ without another correction of the torque.
    number, pieces : int
        That of the first step in its run, and how many of ``steps`` are pieces of one that was taken in halves.
    """
    found = [
        _retraced(parts, steps.of(slice(begin, begin + CHUNK)), motion, goal, Numbers(number, begin, pieces))
        for begin, motion in zip(range(0, len(steps.q), CHUNK), _motions(parts, steps), strict=True)
    ]
    return Rows(*(np.concatenate(x) for x in zip(*found, strict=True)))


class Numbers(NamedTuple):
    """The numbers of steps in their run, by those of their pieces in a chunk."""

    first: int
    begin: int
    pieces: int

    def of(self, k: int) -> int:
        """Return that of a piece."""
        return self.first + (self.begin + k) // self.pieces


def _motions(parts: Sequence[Part], steps: Rows) -> list[np.ndarray | None]:
    """Return the motion of prescribed coordinates for each chunk, as steppers take it; None without any."""
    model, count, bounds = parts[0].model, len(steps.q), bounds_of(parts)
    chunks = range(0, count, CHUNK)
    if not model.prescribed_joint_names:
        return [None] * len(chunks)
    dt = sum(part.dt for part in parts)
    q, t = np.concatenate([steps.q, steps.q2[-1:]]), np.append(steps.t, steps.t[-1] + dt)
    # between records they move as simulate() lets arrays move
    motion = Motion(model, {name: q[:, model.joint(name).q_slice.start] for name in model.prescribed_joint_names})
    motion.plan(q[0], t, dt)
    rows = motion.rows(np.column_stack((bounds[:-1], 0.5 * (bounds[:-1] + bounds[1:]))).ravel())
    each = 2 * len(parts)
    return [rows[each * begin : each * min(begin + CHUNK, count) + 1] for begin in chunks]


def _retraced(parts: Sequence[Part], steps: Rows, motion: np.ndarray | None, goal: float,
              number: Numbers) -> Rows:  # fmt: skip
    model, stages, n = parts[0].model, len(parts), len(steps.q)
    h = sum(part.dt for part in parts)
    free = np.flatnonzero(~np.asarray(model.flat.kinematic, dtype=bool))
    torque, before = np.zeros((n, model.nv)), np.full(n, np.inf)
    mass = model.crba(steps.q2)
    # at rest the momenta are rounding errors of terms that cancel
    least = 1e-8 * np.diagonal(mass, axis1=1, axis2=2).max(axis=1, initial=0.0) / h
    least = np.maximum(least, np.abs(np.concatenate([steps.p, steps.p2], axis=1)).max(axis=1, initial=1e-300))
    rows = _taken(parts, steps, torque, motion, np.arange(n), number)
    for correction in range(CORRECTIONS + 1):
        off = steps.p2 - rows.p2[stages - 1 :: stages]
        away = model.difference(rows.q2[stages - 1 :: stages], steps.q2)
        # as momenta: those that lead so far in a step
        moved = (mass @ away[:, :, None])[:, :, 0] / h
        size = np.maximum(least, h * np.abs(torque).max(axis=1, initial=0.0))
        far = np.abs(np.concatenate([off, moved], axis=1)[:, np.concatenate([free, model.nv + free])])
        share = far.max(axis=1, initial=0.0) / size
        bad = np.flatnonzero((share > goal) & (share < 0.5 * before))
        if not bad.size or correction == CORRECTIONS:
            break
        before[bad] = share[bad]
        at = (stages * bad[:, None] + np.arange(stages)).ravel()
        by_torque = chained(model, part_slopes(parts, rows.of(at)), stages).by_torque[:, model.nv :]
        missing = np.linalg.pinv(by_torque[:, free[:, None], free]) @ off[bad][:, free, None]
        torque[np.ix_(bad, free)] += missing[:, :, 0]
        again = _taken(parts, steps, torque, motion, bad, number)
        for whole, some in zip(rows, again, strict=True):
            whole[at] = some
    worst = int(np.argmax(share))
    if not share[worst] <= UNEXPLAINED:
        raise InputError(
            f"step {number.of(worst) + 1} does not end where the model's forces and a constant torque lead to (off by "
            f"{share[worst]:.2g} of the momentum): other forces acted, a torque, inputs or a prescribed motion "
            "changed within the step, it was taken in halves that the run does not tell, or the states are not those "
            "of equal steps. Compositions are linearized where the torque is an array, a Controller or given to each "
            "step, and prescribed motions are arrays; else take order=2"
        )
    return rows


def _taken(parts: Sequence[Part], steps: Rows, torque: np.ndarray, motion: np.ndarray | None, which: np.ndarray,
           number: Numbers) -> Rows:  # fmt: skip
    """Return the substeps of some steps under a torque (n, nv), taken anew from the steps' starts."""
    model, stages, bounds = parts[0].model, len(parts), bounds_of(parts)
    spans = np.array([part.dt for part in parts])
    stepper = parts[0].stepper
    found = Rows(*(np.empty((len(which), stages, *x.shape[1:])) for x in steps))
    records = Records.room(stages + 1, model.nq, model.nv, len(model.constraints))
    for at, k in enumerate(which):
        ends = steps.t[k] + bounds * spans.sum()
        stepper.set_state(float(steps.t[k]), steps.q[k], steps.p[k])
        stepper.set_steps(spans, ends)
        known = stepper.command(torque[k], steps.u[k] if steps.u.shape[1] else None)
        if motion is not None:
            stepper.set_motion(motion[2 * stages * k : 2 * stages * (k + 1) + 1])
        records.rows = 1
        status = stepper.run(stages, 1, records) if known else None
        if status != 0:
            why = parts[0]._reason(status) if status is not None else "no finite torque leads to its end"
            raise InputError(
                f"substep {records.rows} of step {number.of(int(k)) + 1} cannot be taken again from its record "
                f"({why}): forces that are not known acted, or the step was taken in halves that the run does not "
                "tell; halve dt, or take order=2"
            )
        records.q[0], records.x[0] = steps.q[k], steps.p[k]
        found.q[at], found.q2[at], found.p[at], found.p2[at] = (
            records.q[:-1], records.q[1:], records.x[:-1], records.x[1:]
        )  # fmt: skip
        found.u[at], found.t[at] = steps.u[k], ends[:-1]
    return Rows(*(x.reshape(len(which) * stages, *x.shape[2:]) for x in found))


# ---- derivatives ------------------------------------------------------------------------------------


def part_slopes(parts: Sequence[Part], rows: Rows, touched: Sequence[Touched | None] = (),
                before: tuple[np.ndarray, np.ndarray, Touched | None] | None = None,
                anchored: Anchored | None = None) -> Slopes:  # fmt: skip
    """Return the derivatives of substeps; ``touched`` are the contacts that pushed in steps of order 2.

    ``before`` is the step before these, and ``anchored`` as of :func:`vitree.integrators.slopes.slopes`.

    Within a step prescribed coordinates move on in proportion to time: a substep brings a displacement of theirs
    towards that at the step's end. ``prescribed`` is by the displacement there.
    """
    found = _each(parts, rows, lambda part, x: slopes(part, x.q, x.q2, x.p, x.u, x.p2, x.t, touched, before, anchored))
    if len(parts) == 1:
        return found[0]
    model, bounds = parts[0].model, bounds_of(parts)
    nv, locked = model.nv, np.flatnonzero(model.flat.kinematic)
    for one, begin, end in zip(found, bounds[:-1], bounds[1:], strict=True):
        left = (1 - end) / (1 - begin)
        one.A[:, :, locked] += left * one.prescribed[:, : 2 * nv]
        one.multipliers[:, :, locked] += left * one.prescribed[:, 2 * nv :]
        one.prescribed[...] *= end - left * begin
    return Slopes(*_woven(found))


def part_factored(parts: Sequence[Part], rows: Rows) -> NodeSlopes:
    """Return the derivatives of the momenta of a plain model in substeps, with K[1] factored."""
    found = _each(parts, rows, lambda part, x: factored(part, x.q, x.q2, x.p, x.u))
    return found[0] if len(parts) == 1 else NodeSlopes(*_woven(found))


def _each(parts: Sequence[Part], rows: Rows,
          ask: Callable[[Part, Rows], T]) -> list[T]:  # fmt: skip
    """Return what a function of a substep's integrator and of all such substeps returns, for each substep."""
    return [ask(part, rows.of(slice(j, None, len(parts)))) for j, part in enumerate(parts)]


def _woven(found: Sequence[Slopes | NodeSlopes]) -> list[Any]:
    """Return the fields of both kinds of slopes, those of the substeps of a step one after the other."""
    names = getattr(found[0], "_fields", None) or tuple(vars(found[0]))
    n = found[0].drives.shape[0]
    woven = []
    for name in names:
        arrays = [getattr(one, name) for one in found]
        if name == "diagonal" or arrays[0] is None:
            woven.append(arrays[0])
            continue
        if name == "F" and arrays[0].ndim == 3:
            arrays = [np.broadcast_to(x, (n, *x.shape)) for x in arrays]
        axis = 1 if name in ("ends", "by_inputs") else 0
        both = np.stack(arrays, axis=axis + 1)
        woven.append(both.reshape(*both.shape[:axis], n * len(found), *both.shape[axis + 2 :]))
    return woven


def chained(model: Model, found: Slopes, stages: int) -> Blocks:
    """Return the derivatives of whole steps, of those of their substeps.

    A torque and inputs act in all substeps; what they do in one goes on through those that follow.
    """
    nv = model.nv
    rows = found.A, found.by_torque(), found.by_kicks(kicks_of(model, found)), found.prescribed[:, : 2 * nv]
    A, *kicks = (x.reshape(len(x) // stages, stages, *x.shape[1:]) for x in rows)
    whole, moved = A[:, 0], [x[:, 0] for x in kicks]
    for j in range(1, stages):
        whole = A[:, j] @ whole
        moved = [A[:, j] @ x + kick[:, j] for x, kick in zip(moved, kicks, strict=True)]
    return Blocks(whole, *moved)
