"""Derivatives of the steps of a run: what a small change of a state, a torque or inputs makes of the next state."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any, NamedTuple, cast

import numpy as np
from numpy.typing import ArrayLike

from vitree._core import scalar
from vitree.arguments import Keywords, numbers_of, of_kind, require_finite, several
from vitree.errors import InputError, UnknownNameError
from vitree.integrators import METHODS
from vitree.integrators.composed_slopes import (
    Blocks,
    Part,
    Rows,
    chained,
    halved_parts,
    part_factored,
    part_slopes,
    retraced,
)
from vitree.integrators.contact_slopes import SLIDING, Touched
from vitree.integrators.curvature import BLOCKS, curvature, require_curvature
from vitree.integrators.slopes import (
    NodeSlopes,
    Slopes,
    groups_of,
    is_plain,
    kicks_of,
    push,
    require_explained,
    require_slopes,
    sweep,
)  # fmt: skip
from vitree.mechanism.unilateral import DRY_FRICTION, OF_JOINTS
from vitree.model.changes import require_one_model
from vitree.model.contacts import count_of
from vitree.model.model import Model
from vitree.model.system import System
from vitree.model.user_inputs import resolve_inputs
from vitree.results.contacts import ContactLog
from vitree.results.recording import Recording
from vitree.run.controller import parts_of, with_targets
from vitree.run.step_differences import StepDifferences, has_differences

#: Steps whose derivatives are in memory at one time, in sweeps.
CHUNK = 256
#: Share of the largest impulse of a step up to which contacts count as not loaded.
TRACE = 1e-9
#: Most numbers of the derivatives of steps that are worked out at once: a moment's work, then signals are looked at.
NUMBERS = 2**18


class Derivatives(NamedTuple):
    """Derivatives of what a step leads to, (..., r) numbers, in units of these over those of the columns.

    A (..., r, 2 nv) is by the state, by_torque (..., r, nv), by_inputs (..., r, nu), by_prescribed (..., r, k).
    """

    A: np.ndarray
    by_torque: np.ndarray
    by_inputs: np.ndarray
    by_prescribed: np.ndarray


class Course(NamedTuple):
    """What steps are derived from once more: the method, its options, and the substeps.

    ``pieces`` (n,) says in how many equal pieces each step was taken, and ``first`` (n + 1,) where its substeps begin.
    """

    method: str
    options: Keywords
    rows: Rows
    pieces: np.ndarray
    first: np.ndarray

    def of_step(self, k: int) -> Course:
        """Return that of one step."""
        begin, end = self.first[k : k + 2]
        return self._replace(rows=self.rows.of(slice(begin, end)), pieces=self.pieces[k : k + 1],
                             first=np.array([0, end - begin]))  # fmt: skip

    def curvature(self, model: Model, dt: float, by: Sequence[str], costates: np.ndarray) -> np.ndarray:
        """Return the second derivatives (..., n, N, N) of costates (..., n, 2 nv) of the ends of n steps."""
        integrator = integrator_of(model, self.method, dt, self.options, composed=True)
        found = [
            curvature(halved_parts(integrator, int(self.pieces[begin])), self.rows.of(slice(*self.first[[begin, end]])),
                      by, costates[..., begin:end, :])
            for begin, end in chunks_of(self.first, CHUNK)
        ]  # fmt: skip
        return np.concatenate(found, axis=-3)


def chunks_of(first: np.ndarray, most: int) -> list[tuple[int, int]]:
    """Return where chunks of steps begin and end, each of steps with one number of substeps.

    ``first`` (n + 1,) says where the substeps of the steps begin. A chunk has at most so many of them, or one step.
    """
    counts = np.diff(first)
    bounds = [0, *(np.flatnonzero(np.diff(counts)) + 1).tolist(), len(counts)]
    found = []
    for begin, end in pairwise(bounds):
        size = max(1, most // int(counts[begin])) if end > begin else 1
        found += [(k, min(k + size, end)) for k in range(begin, end, size)]
    return found


@dataclass(frozen=True, eq=False)
class Linearization:
    """The derivatives of one step, or of each step of a run.

    A step leads from the state (q1, p1) to (q2, p2). To first order ::

        (d2, dp2) = A (d1, dp1) + by_torque dtau + by_inputs du

    Here d1 and d2 are displacements of the joints: the state (q (+) d, p + dp) is ``model.integrate(q, d)``, p + dp. On
    joints of one coordinate d is the change of the coordinate. Leading axes are none for one step, and (steps,) for a
    run.

    Attributes
    ----------
    model : Model
    dt : float [s]
    q : (..., nq) array [m or rad]
        The configurations at the starts of the steps.
    p : (..., nv) array [kg m/s or kg m^2/s]
        The momenta there.
    q_end : (..., nq) array [m or rad]
        The configurations at the ends.
    p_end : (..., nv) array [kg m/s or kg m^2/s]
    A : (..., 2 nv, 2 nv) array
        By the state, in units of the rows over those of the columns. It is symplectic where nothing dissipates;
        :meth:`form` is its form.
    by_torque : (..., 2 nv, nv) array [rad/(N m) or m/N, and s]
        By a torque that acts over the step.
    by_inputs : (..., 2 nv, nu) array, in units of the rows over those of the inputs
        By the inputs of ``model.input_names``: those of loads, and targets of drives.
    by_prescribed : (..., 2 nv, k) array, in units of the rows over m or rad
        By the coordinates of ``model.prescribed_joint_names`` at the ends. Those at the starts are part of the state.
        Within a step of order 4, 6 or 8 a change of them is linear in time.
    impulses : Derivatives
        Those of the constraints' impulses at the start [N s or N m s], m rows. An impulse acts on the joints with
        Dh(q)^T impulse. A run records it over dt, as a multiplier; its first one over dt/2. At order 4, 6 and 8 the
        impulse is that of the first substep, and dt the length of that.

    References
    ----------
    Johnson & Murphey 2009, section V; the derivatives are those of the momenta p1 = -D1 Ld - f-, p2 = D2 Ld + f+.
    """

    model: Model
    dt: float
    q: np.ndarray
    p: np.ndarray
    q_end: np.ndarray
    p_end: np.ndarray
    A: np.ndarray
    by_torque: np.ndarray
    by_inputs: np.ndarray
    by_prescribed: np.ndarray
    impulses: Derivatives
    _course: Course | None = field(default=None, repr=False)

    def __repr__(self) -> str:
        steps = "a step" if self.A.ndim == 2 else f"{len(self.A)} steps"
        return f'<vitree.Linearization of {steps} of "{self.model.name}", dt = {self.dt:g} s>'

    def __getitem__(self, k: int) -> Linearization:
        """Return the derivatives of one step of a run."""
        if self.A.ndim == 2 or not isinstance(k, int | np.integer) or not -len(self.A) <= k < len(self.A):
            held = "one step" if self.A.ndim == 2 else f"steps 0 to {len(self.A) - 1}"
            raise InputError(f"step {k!r} of {held}: give the number of a step of a run")
        names = ("q", "p", "q_end", "p_end", "A", "by_torque", "by_inputs", "by_prescribed")
        impulses = Derivatives(*(x[k] for x in self.impulses))
        one = None if self._course is None else self._course.of_step(k % len(self.A))
        rows = (getattr(self, name)[k] for name in names)
        return Linearization(self.model, self.dt, *rows, impulses, one)  # type: ignore

    def in_velocities(self) -> Derivatives:
        """Return the same for the states (d, v): (d2, dv2) = A (d1, dv1) + by_torque dtau + by_inputs du.

        The velocities are those of the momenta, p = M(q) v.
        """
        nv = self.model.nv
        start, end = (momenta_by_states(self.model, *at) for at in ((self.q, self.p), (self.q_end, self.p_end)))
        found = []
        for block in (self.A @ start, self.by_torque, self.by_inputs, self.by_prescribed):
            moved = np.linalg.solve(end[..., nv:, nv:], block[..., nv:, :] - end[..., nv:, :nv] @ block[..., :nv, :])
            found.append(np.concatenate([block[..., :nv, :], moved], axis=-2))
        return Derivatives(*found)

    def curvature(self, costate: ArrayLike, by: str | Sequence[str] = "state") -> np.ndarray:
        """Return the second derivatives of costate . (y, dp2), symmetric.

        y is the displacement from the end to where a changed step ends: ``model.difference(q_end, q2)``. So both
        displacements are logarithms: the changed start is ``model.integrate(q, d1)``, and the changed end
        ``model.integrate(q_end, y)``. On joints of one coordinate y is the change of the coordinate.

        They are central differences of order 6 of exact first derivatives, with about nine digits.

        Parameters
        ----------
        costate : (..., 2 nv) array, in units of a number over those of (y, dp2)
            One for each step: (2 nv,) of one step, (steps, 2 nv) of a run. More leading axes are those of the result.
        by : str or sequence of str
            What to derive by: "state", "torque", "inputs", "prescribed". Rows and columns stand in this order. The
            default is the state, (d1, dp1).

        Returns
        -------
        (..., N, N) array
            In units of the number over those of what it is derived by; N = 2 nv for the state.

        Raises
        ------
        InputError, UnknownNameError
            If an argument is wrong.
        ModelError
            If the model has contacts, or loads or constraints in Python.

        References
        ----------
        Johnson, Schultz & Murphey 2015, "Structured linearization of discrete mechanical systems for analysis and
        optimal control". In trep they are ``fdxdx``, ``fdxdu`` and ``fdudu``.
        """
        n, model = 2 * self.model.nv, self.model
        if self._course is None:
            raise InputError("the derivatives are not those of vitree.linearize or of a run, and have no second ones")
        require_curvature(model)
        names = (by,) if isinstance(by, str) else several(by, "by", f"names, of {', '.join(BLOCKS)}")
        for name in names:
            if name not in BLOCKS:
                raise UnknownNameError("block of derivatives", name, BLOCKS, argument="by")
        if not names or len(set(names)) < len(names):
            raise InputError("by", by, "must have each name once, at least one")
        array, shape = numbers_of(costate, "costate"), (*self.A.shape[:-2], n)
        if array.shape[array.ndim - len(shape) :] != shape:
            needed = f"(..., {', '.join(map(str, shape))}), 2 nv numbers for each step"
            raise InputError("costate", costate, f"has shape {array.shape}; it must be {needed}")
        require_finite(array, "costate", costate)
        rows = array.reshape(*array.shape[: array.ndim - len(shape)], -1, n)
        found = self._course.curvature(model, self.dt, names, rows)
        symmetric: np.ndarray = 0.5 * (found + found.swapaxes(-1, -2))
        return symmetric.reshape(*array.shape[:-1], *found.shape[-2:])

    def form(self, end: bool = False) -> np.ndarray:
        """Return the symplectic form Omega (..., 2 nv, 2 nv) [1, and kg m^2/s] in these coordinates.

        ``A.T @ form(end=True) @ A == form()`` where nothing dissipates. On joints of one coordinate it is
        [[0, 1], [-1, 0]]. For ball and free joints its first block contains the momentum.

        Parameters
        ----------
        end : bool
            Whether it is the one at the ends of the steps, not at the starts.
        """
        p = self.p_end if end else self.p
        nv = p.shape[-1]
        found = np.zeros((*p.shape[:-1], 2 * nv, 2 * nv))
        at = np.arange(nv)
        found[..., at, nv + at], found[..., nv + at, at] = 1.0, -1.0
        for own, _ in groups_of(self.model):
            turn, linear = own[:3], own[3:]
            found[..., turn[:, None], turn] = -_hat(p[..., turn])
            if len(linear):
                found[..., turn[:, None], linear] = found[..., linear[:, None], turn] = -_hat(p[..., linear])
        return found


def momenta_by_states(model: Model, q: np.ndarray, p: np.ndarray) -> np.ndarray:
    """Return the derivatives (..., 2 nv, 2 nv) of (d, p) by (d, v), p = M(q) v."""
    nv = model.nv
    found = np.zeros((*p.shape[:-1], 2 * nv, 2 * nv))
    found[..., range(nv), range(nv)] = 1.0
    found[..., nv:, :nv], found[..., nv:, nv:] = momentum_slopes(model, q, model.velocity_from_momentum(q, p))
    return found


def momentum_slopes(model: Model, q: np.ndarray, v: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the derivatives (..., nv, nv) of M(q) v by displacements, and by v."""
    rest = np.zeros_like(v)
    # M v is the force that gives the acceleration v at rest, without gravity
    slopes, weight = model.rnea_derivatives(q, rest, v), model.rnea_derivatives(q, rest, rest)
    return slopes.by_q - weight.by_q, slopes.by_a


def _hat(w: np.ndarray) -> np.ndarray:
    """Matrices of cross products, (..., 3, 3)."""
    found = np.zeros((*w.shape, 3))
    for i, j, k in ((0, 1, 2), (1, 2, 0), (2, 0, 1)):
        found[..., i, j], found[..., j, i] = -w[..., k], w[..., k]
    return found


def integrator_of(model: System, method: object, dt: float, options: Keywords, composed: bool = False) -> Part:
    """Return an integrator whose steps have derivatives; ``composed``: it may be a composition."""
    if not hasattr(of_kind(model, System, "model", "a vitree Model"), "flat"):
        raise InputError(f"{model.name!r} is a {type(model).__name__}; only steps of a Model have derivatives")
    kind = METHODS.get(method) if isinstance(method, str) else None
    if kind is None or not hasattr(kind, "reusable"):
        raise InputError(
            "method", method,
            "has no derivatives of its steps; take linear-time or midpoint"
            + (", or vitree.linearize and run.linearize, which take differences" if has_differences(method) else "")
        )
    found = cast("Part", kind(model, dt, **options))
    require_slopes(found, composed)
    return found


def linearize_run(run: Recording, control: object = None) -> Linearization:
    """Return the derivatives of each step of a run; see :meth:`vitree.Trajectory.linearize`."""
    if isinstance(run.system, Model) and has_differences(run.method):
        return _by_differences(run, control)
    steps = StepsOf(run, control)
    most = CHUNK if steps.first[-1] > len(steps) else max(1, NUMBERS // (2 * steps.model.nv) ** 2)
    whole: list[np.ndarray] = []
    for begin, end in steps.chunks(most):
        part = [x for found in steps.blocks(begin, end) for x in found]
        whole = whole or [np.empty((len(steps), *x.shape[1:])) for x in part]
        for rows, x in zip(whole, part, strict=True):
            rows[begin:end] = x
    blocks, pushes = Blocks(*whole[: len(Blocks._fields)]), Derivatives(*whole[len(Blocks._fields) :])
    ends, course = steps.ends, Course(run.method, steps.options, steps.rows, steps.pieces, steps.first)
    return Linearization(steps.model, run.dt, ends.q, ends.p, ends.q2, ends.p2, *blocks, pushes, course)


def _by_differences(run: Recording, control: object) -> Linearization:
    """Return the derivatives of each step of a run by a method in Python."""
    model, steps = cast("Model", run.system), require_each_step(run)
    found = StepDifferences(run, control, _inputs_of(model, control, steps))
    A, by_torque, by_inputs = (np.array(rows) for rows in zip(*(found.blocks(k) for k in range(steps)), strict=True))
    none = np.zeros((steps, 2 * model.nv, 0))
    impulses = Derivatives(*(np.zeros((steps, 0, x.shape[2])) for x in (A, by_torque, by_inputs, none)))
    ends = run.q[:-1], run.p[:-1], run.q[1:], run.p[1:]
    return Linearization(model, run.dt, *ends, A, by_torque, by_inputs, none, impulses)


def require_each_step(run: Recording) -> int:
    """Return the number of steps; raise an InputError if they are not equal, or not all recorded."""
    if run.settings.get("record_every", 1) != 1 or run.settings.get("dt_range") or len(run) != run.steps + 1:
        raise InputError("linearize takes a run of equal steps that records each of them; simulate with record_every=1")
    if len(run) < 2:
        raise InputError("the run has no steps; resume it before it is linearized")
    return len(run) - 1


class StepsOf:
    """The steps of a run that have derivatives, in substeps: those of a step one after the other.

    Attributes
    ----------
    ends : Rows
        The steps.
    rows : Rows
        The substeps: the steps where a step has one alone.
    pieces : (n,) array of int
        In how many equal pieces each step was taken; 1 but for steps that were taken in halves.
    first : (n + 1,) array of int
        Where the substeps of each step begin.
    options : dict
        Those of the method that its derivatives depend on.
    """

    def __init__(self, run: Recording, control: object):
        if run.system is None:
            raise InputError("the run is from a file, which does not keep the model; linearize the run itself")
        require_one_model(run.settings, run.t)
        # those of a rollout have the options alone
        settings = run.settings | run.settings.get("options", {})
        chosen = {name: settings.get(name) for name in ("order", "kinetic", "alpha", "adapt", "springs")}
        self.options = {k: v for k, v in chosen.items() if v is not None}
        self.integrator = integrator_of(run.system, run.method, run.dt, self.options, composed=True)
        self.model: Model = self.integrator.model
        u = _inputs_of(self.model, control, require_each_step(run))
        rows = run.q[:-1], run.q[1:], run.p[:-1], run.p[1:], u, run.t[:-1]
        self.ends = Rows(*(np.ascontiguousarray(x) for x in rows))
        log = run.contacts
        self.touched = [] if log is None else touched_in(log, self.model, run.dt, len(run) - 1)
        self.tolerance = float(settings.get("tolerance", self.integrator.settings["tolerance"]))
        self._parts: dict[int, list[Part]] = {}
        #: what the step after a node adds to the costate of the node before, through its slips
        self._carried = np.zeros(self.model.nv)
        nq, nv, inner = self.model.nq, self.model.nv, run.halves
        inner = np.empty((0, 1 + nq + 2 * nv)) if inner is None else inner
        self.pieces, nodes = pieces_of(self.ends, inner[:, 0], inner[:, 1 : 1 + nq], inner[:, 1 + nq + nv :])
        composed = len(self.parts_of(1))
        self.first = np.concatenate([[0], np.cumsum(self.pieces * composed)])
        self.rows = self._traced(nodes, composed > 1)
        for k in np.flatnonzero(self.pieces[: len(self.touched)] > 1).tolist():
            if self.touched[k] is not None:
                raise InputError(
                    f"step {k + 1}, at t = {self.ends.t[k]:.9g} s, was taken in {self.pieces[k]} parts while contacts "
                    "pushed: its derivatives are not known. Use a smaller dt"
                )

    def __len__(self) -> int:
        return len(self.ends.q)

    def chunks(self, most: int) -> list[tuple[int, int]]:
        """Return chunks of steps with one number of substeps each, and at most so many of them."""
        return chunks_of(self.first, most)

    def parts_of(self, pieces: int) -> list[Part]:
        """Return integrators of order 2 for the substeps of a step taken in so many pieces; ``dt`` may be negative."""
        if pieces not in self._parts:
            self._parts[pieces] = halved_parts(self.integrator, pieces, self.tolerance)
        return self._parts[pieces]

    def parts(self, begin: int) -> list[Part]:
        """Return those of a step."""
        return self.parts_of(int(self.pieces[begin]))

    def _traced(self, nodes: Rows, composed: bool) -> Rows:
        """Return the substeps of the pieces of steps."""
        if not composed:
            return nodes
        goal, begins = 10 * self.tolerance, np.concatenate([[0], np.cumsum(self.pieces)])
        found = []
        for begin, end in chunks_of(begins, len(nodes.q)):
            pieces = int(self.pieces[begin])
            parts = self.parts_of(pieces)[: len(self.parts_of(1))]
            found.append(retraced(parts, nodes.of(slice(*begins[[begin, end]])), goal, begin, pieces))
        return Rows(*(np.concatenate(x) for x in zip(*found, strict=True)))

    def _within(self, begin: int, end: int) -> slice:
        return slice(*self.first[[begin, end]])

    def slopes(self, begin: int, end: int) -> Slopes:
        """Return the derivatives of the substeps of steps begin to end."""
        rows = self.rows.of(self._within(begin, end))
        touched, before = self.touched[begin:end] if self.pieces[begin] == 1 else [], None
        if begin and touched:
            before = self.ends.q[begin - 1], self.ends.q2[begin - 1], self.touched[begin - 1]
        found = part_slopes(self.parts(begin), rows, touched, before)
        self._require_explained(found, rows, begin)
        return found

    def blocks(self, begin: int, end: int) -> tuple[Blocks, Derivatives]:
        """Return the derivatives of steps begin to end, and of the constraints' impulses at their starts."""
        found, nv = self.slopes(begin, end), self.model.nv
        stages = len(self.parts(begin))
        first = slice(None, None, stages)
        # lam is what p1 gives away
        L = -found.multipliers[first]
        F = found.F if found.F.ndim == 3 else found.F[first]
        kicks = kicks_of(self.model, found)[0, first]
        impulses = Derivatives(L, L[:, :, nv:] @ F[..., 0, :, :], L[:, :, nv:] @ kicks,
                               -found.prescribed[first, 2 * nv :])  # fmt: skip
        return chained(self.model, found, stages), impulses

    def sweep(self, begin: int, end: int, g: np.ndarray, costates: np.ndarray) -> Slopes | NodeSlopes:
        """Fill the costates of the nodes of steps begin to end, from that at the end of the last, and return slopes.

        The steps are the last ones, or those before steps that were swept.
        Each is A^T times the next one, and its row of ``g``. Both are (substeps + 1, 2 nv), and so are the slopes.
        """
        first, last = self.first[[begin, end]]
        if not is_plain(self.integrator):
            found, nv = self.slopes(begin, end), self.model.nv
            for k in range(last - 1, first - 1, -1):
                np.dot(costates[k + 1], found.A[k - first], out=costates[k])
                costates[k] += g[k]
                by_slips = np.zeros(2 * nv) if found.memory is None else costates[k + 1] @ found.memory[k - first]
                costates[k, :nv] += self._carried + by_slips[nv:]
                self._carried = by_slips[:nv]
            return found
        blocks = self._factored(begin, end)
        sweep(self.model, blocks.K, g[first:last], costates[first : last + 1])
        return blocks

    def push(self, begin: int, end: int, torque: np.ndarray, inputs: np.ndarray, prescribed: np.ndarray,
             motions: np.ndarray) -> None:  # fmt: skip
        """Fill the motions (d, dp) of the nodes of steps begin to end from the first, (substeps + 1, 2 nv).

        ``torque`` (steps, nv), ``inputs`` (steps, nu) and ``prescribed`` (steps, k) are the changes of these.
        """
        plain, (first, last), stages = is_plain(self.integrator), self.first[[begin, end]], len(self.parts(begin))
        found: Slopes | NodeSlopes = self._factored(begin, end) if plain else self.slopes(begin, end)
        torque, inputs, prescribed = (x[begin:end].repeat(stages, axis=0) for x in (torque, inputs, prescribed))
        kicks = (found.F @ torque[:, None, :, None])[..., 0].swapaxes(0, 1)
        kicks = kicks + (kicks_of(self.model, found) @ inputs[:, :, None])[..., 0]
        if not isinstance(found, Slopes):
            push(self.model, found.K, np.concatenate([*kicks], axis=1), motions[first : last + 1])
            return
        ends = found.by_kicks(kicks[..., None])[..., 0]
        ends += (found.prescribed[:, : ends.shape[1]] @ prescribed[:, :, None])[..., 0]
        for k in range(first, last):
            np.dot(found.A[k - first], motions[k], out=motions[k + 1])
            motions[k + 1] += ends[k - first]
            if found.memory is not None and k:
                nv = self.model.nv
                motions[k + 1] += found.memory[k - first] @ np.concatenate([motions[k - 1, :nv], motions[k, :nv]])

    def _factored(self, begin: int, end: int) -> NodeSlopes:
        rows = self.rows.of(self._within(begin, end))
        blocks = part_factored(self.parts(begin), rows)
        self._require_explained(blocks, rows, begin)
        return blocks

    def _require_explained(self, found: Slopes | NodeSlopes, rows: Rows, begin: int) -> None:
        # substeps that were taken again are known to end where they do
        pieces = int(self.pieces[begin])
        if len(self.parts_of(1)) == 1:
            require_explained(self.model, self.parts(begin)[0].dt, found, rows.p, rows.p2, begin, pieces)


def pieces_of(ends: Rows, t: np.ndarray, q: np.ndarray, p: np.ndarray) -> tuple[np.ndarray, Rows]:
    """Return in how many pieces each step was taken (n,), and the pieces: steps, but for those in halves.

    States (m, ...) between halves are q and p at the times t.
    """
    pieces = np.ones(len(ends.q), int)
    if not len(t):
        return pieces, ends
    of = np.searchsorted(ends.t, t, side="right") - 1
    np.add.at(pieces, of, 1)
    # the states at the starts of pieces, and at their ends
    found = Rows(
        np.insert(ends.q, of + 1, q, axis=0), np.insert(ends.q2, of, q, axis=0), np.insert(ends.p, of + 1, p, axis=0),
        np.insert(ends.p2, of, p, axis=0), ends.u.repeat(pieces, axis=0), np.insert(ends.t, of + 1, t),
    )  # fmt: skip
    return pieces, Rows(*(np.ascontiguousarray(x) for x in found))


def touched_in(log: ContactLog, model: Model, h: float, steps: int) -> list[Touched | None]:
    """Return the contacts that pushed in each of so many steps of the length h [s], of which a log has all."""
    facets = None if log.nodes is None else log.nodes.facets
    count = model.contact_list.count
    rubs = np.array([name == DRY_FRICTION for _, name in log.names], dtype=bool)
    # a limit's impulse has the sign of its coordinate
    stops = np.array([name in OF_JOINTS and name != DRY_FRICTION for _, name in log.names], dtype=bool)
    impulses = np.where(stops[log.number][:, None], np.abs(log.impulse), log.impulse)
    lengths, turned = model.contact_list.lengths, np.zeros((len(log), 3))
    if lengths.any():
        # of friction of turning, rotations in the measure of their rows
        along = (log.angular_slip * log.normal).sum(axis=1, keepdims=True) * log.normal
        spin, roll = lengths[log.number].T[..., None]
        some = lengths[log.number].any(axis=1, keepdims=True)
        turned = np.where(some, spin * along + roll * (log.angular_slip - along), 0.0)
    size = np.sqrt((log.slip**2).sum(axis=1) + (turned**2).sum(axis=1))
    slides = size > SLIDING
    size[~slides] = np.inf
    ahead, around = log.slip / size[:, None], turned / size[:, None]
    # of dry friction: which way, and the length of the step
    rubs = rubs[log.number]
    ahead[rubs] = 0.0
    ahead[rubs, 0], ahead[rubs, 1] = np.where(slides, np.sign(log.slip[:, 0]), 0.0)[rubs], h
    # of each step those of the step before it
    ways, turns = np.zeros((steps + 1, count, 3)), np.zeros((steps + 1, count, 3))
    ways[log.record, log.number], turns[log.record, log.number] = ahead, around
    torques, numbers = np.ascontiguousarray(log.angular_impulse), log.number
    # of redundant points some carry a trace of the load, which does not change with the state
    size_of = np.linalg.norm(impulses, axis=1)
    size_of[log.number >= count_of(model.contact_candidates)] = np.nan
    bounds = np.searchsorted(log.record, np.arange(1, steps + 2)).tolist()
    known = np.zeros((len(log), 1 + scalar().FACET_COLUMNS))
    known[:, 0] = log.number
    if facets is not None:
        known[:, 1:] = facets
    before = known[:0]
    found: list[Touched | None] = []
    for k, (begin, end) in enumerate(pairwise(bounds)):
        at = slice(begin, end)
        loaded = begin + np.flatnonzero(~(size_of[at] <= TRACE * np.fmax.reduce(size_of[at], initial=0.0)))
        own = None if facets is None else np.ascontiguousarray(facets[loaded])
        members = tuple(numbers[loaded].tolist())
        found.append(Touched(members, impulses[loaded], ways[k], before, own, torques[loaded], turns[k])
                     if members else None)  # fmt: skip
        before = known[at]
    return found


def _inputs_of(model: Model, control: object, steps: int) -> np.ndarray:
    """Return the inputs (steps, nu) that acted; they matter where drives have limits, and to other loads."""
    parts = parts_of(control)
    inputs, targets = parts["inputs"], parts["targets"]
    size = len(model.input_names)
    limited = any(min(drive.effort_limit, drive.velocity_limit) < np.inf for drive in model.drives)
    if inputs is None and targets is None:
        if control is None and size and (limited or len(model.drives) < len(model.loads)):
            raise InputError(
                "the derivatives of loads and of drives with limits depend on the inputs: give the control= of the "
                "run, as to simulate"
            )
        return np.zeros((steps, size))
    return input_rows(model, inputs, targets, steps)


def input_rows(model: Model, inputs: Any, targets: Any, steps: int) -> np.ndarray:
    """Return inputs in numbers, with targets of drives among them, as rows (steps, nu)."""
    size = len(model.input_names)
    found = np.zeros((steps, size))
    given = resolve_inputs(model, inputs if targets is None else with_targets(model, targets, inputs))
    if callable(given):
        raise InputError("inputs and targets of linearized steps must be numbers, or rows (steps, n)")
    if given is None:
        return found
    rows = np.asarray(given, dtype=float)
    if rows.shape not in ((size,), found.shape):
        raise InputError(
            f"inputs and targets are rows of shape {rows.shape}; they must be ({size},) all the time, or "
            f"{found.shape} with a row for each step"
        )
    found[:] = rows
    return found
