"""Residuals of windows against what was measured, and their least squares over parameters and starts at once.

The weighted residuals of all windows are r(z, s), with z the coordinates of the parameters and s the states where
windows start. Their derivatives are A by z and B by s, which is a block of each window. A step of Levenberg's and
Marquardt's method eliminates the starts window by window and leaves a problem in z alone, P r + P A dz, where
P = 1 - B B^+ (multiple shooting with condensing, Bock 1983). An evaluation is a few rollouts. Each window, and each
perturbed start of it, is an instance.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from scipy import optimize

from vitree.arguments import Keywords
from vitree.errors import ConvergenceError, ModelError, VitreeError
from vitree.identification.measured import Windows
from vitree.identification.parameters import Parameters
from vitree.identification.regressor import triangle_of
from vitree.identification.starts import Starts, displacements
from vitree.model.model import Model
from vitree.run.controller import Control
from vitree.run.rollout import rollout

#: Perturbations of starts, and of parameters in shares of their scales.
STEP = 1e-5
#: Directions of parameters whose singular value is a smaller share of the largest one cannot be told, and stay:
#: slopes are not exact.
RANK = 1e-5
#: A parameter does nothing if a change by its scale does less than this share of what the largest does. Damping takes
#: what does less than the share WEAK as if it did as much: its slope may be that of a square, near zero.
UNSEEN, WEAK = 1e-6, 1e-2
#: Most that coordinates of possible inertias move in a step, in scales.
LEAP = 1.0
#: Damping of the first step, and the least.
FIRST, LEAST = 1e-3, 1e-8
#: Where the residuals are not smooth, a search ends when so many trials lower them by less than this share.
PATIENCE, KINKS = 12, 1e-3


@dataclass
class Point:
    """Parameters and starts, with residuals r (n, m) and slopes: B (n, m, k) by starts, A (n, m, d) @ ways (d, p) by z.

    Rows of ``ways`` are how changes of parameters show at all.
    """

    z: np.ndarray
    model: Model
    q: np.ndarray
    v: np.ndarray
    r: np.ndarray
    B: np.ndarray | None = None
    A: np.ndarray | None = None
    ways: np.ndarray | None = None

    @property
    def cost(self) -> float:
        """The sum of squares."""
        return float((self.r**2).sum())


@dataclass
class Fit:
    """Residuals of windows as functions of parameters.

    Attributes
    ----------
    parameters : Parameters
    windows : Windows
    sigma : dict of "q" and "v" to (nv,) array
        Standard deviations of the noise, units as of q and v.
    starts : Starts
    fit_starts : bool
    more : dict
        Method, options and threads of the rollouts.
    """

    parameters: Parameters
    windows: Windows
    sigma: dict[str, np.ndarray]
    starts: Starts
    fit_starts: bool
    more: Keywords
    rollouts: int = 0
    instances: int = 0
    evaluations: int = 0
    damping: float = FIRST
    #: The share of the sum of squares that the linearised problem still promised where the search ended.
    left: float = 0.0

    # ---- rollouts -------------------------------------------------------------------------------------

    def residuals(self, model: Model, q: np.ndarray, v: np.ndarray, halves: int = 1) -> np.ndarray:
        """Return the residuals (n, m, rows) of starts q (n, m, nq), v (n, m, nv); NaN where a run fails."""
        w, (n, m) = self.windows, q.shape[:2]
        groups = [slice(0, n)] if model.full.written is None else [slice(k, k + 1) for k in range(n)]
        out = np.empty((n, m, self.rows))
        for group in groups:  # what is written in Python may ask for the time, which a rollout has one of
            size = len(range(n)[group])
            driving: Keywords = {name: np.repeat(np.repeat(rows[group], m, axis=0), halves, axis=1)
                       for name, rows in w.driving.items()}  # fmt: skip
            run = rollout(
                model, q[group].reshape(size * m, -1), v[group].reshape(size * m, -1), duration=w.steps * w.dt,
                dt=w.dt / halves, record_every=w.every * halves, t0=float(w.t[group][0]),
                control=Control(**driving), **self.more,
            )  # fmt: skip
            self.rollouts, self.instances = self.rollouts + 1, self.instances + size * m
            at = np.repeat(w.row[group], m, axis=0)[:, :, None]
            found = {"q": np.take_along_axis(run.q, at, 1), "v": np.take_along_axis(run.v, at, 1)}
            parts = [displacements(model, np.repeat(w.q[group], m, axis=0), found["q"]) / self.sigma["q"]]
            if w.v is not None:
                parts.append((found["v"] - np.repeat(w.v[group], m, axis=0)) / self.sigma["v"])
            r = np.concatenate(parts, axis=2)
            r[~np.repeat(w.there[group], m, axis=0)] = 0.0
            if not self.fit_starts:  # they are what was measured
                r[:, 0] = 0.0
            out[group] = r.reshape(size, m, self.rows)
        return out

    @property
    def columns(self) -> int:
        """Numbers of a record."""
        return self.parameters.model.nv * (1 if self.windows.v is None else 2)

    @property
    def rows(self) -> int:
        """Numbers of a window."""
        return self.windows.there.shape[1] * self.columns

    @property
    def count(self) -> int:
        """Numbers that were measured and count."""
        there = int(self.windows.there.sum()) - (0 if self.fit_starts else len(self.windows))
        return there * self.columns

    @property
    def freedom(self) -> int:
        """Numbers that were measured, less those that are fitted."""
        return self.count - (sum(self.starts.counts) if self.fit_starts else 0) - len(self.parameters)

    def with_slopes(self, model: Model, q: np.ndarray, v: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return residuals (n, rows) and their slopes (n, rows, 2 k) by changes of the starts."""
        if not self.fit_starts:
            return self.residuals(model, q[:, None], v[:, None])[:, 0], np.zeros((len(q), self.rows, 0))
        k = 2 * self.starts.directions(q).shape[2]
        moves = STEP * np.concatenate((np.zeros((1, k)), np.eye(k), -np.eye(k)))
        r = self.residuals(model, *self.starts.moved(q, v, moves[None]))
        slopes = (r[:, 1 : 1 + k] - r[:, 1 + k :]) / (2 * STEP)
        return r[:, 0], slopes.swapaxes(1, 2)

    # ---- the search -----------------------------------------------------------------------------------

    def at(self, z: np.ndarray, q: np.ndarray, v: np.ndarray) -> Point | None:
        """Return the residuals of parameters z (p,) and starts q (n, nq), v (n, nv); None if a window fails."""
        try:
            model = self.parameters.model_with(z)
        except ModelError:
            return None
        r = self.residuals(model, q[:, None], v[:, None])[:, 0]
        return Point(z.copy(), model, q, v, r) if np.isfinite(r).all() else None

    def linearised(self, at: Point) -> bool:
        """Enter the slopes of a point; return whether there are such."""
        if at.A is None or at.B is None:
            at.A, at.ways = self.by_parameters(at)
            at.r, at.B = self.with_slopes(at.model, at.q, at.v)
        return bool(np.isfinite(at.B).all())

    def search(
        self, at: Point, tolerance: float, evaluations: int, told: Callable[[int, int], object] | None = None
    ) -> tuple[Point, bool]:
        """Return the point of least squares, from another point, and whether the search ended within the evaluations
        of this fit.

        It ends where the linearised problem promises to lower the sum of squares by less than a share ``tolerance``, or
        a step did so by less. Residuals that are not smooth, as those of joints that stick, do not come to this: there
        it ends when PATIENCE trials, half of which fell short of what was promised, lowered them by less than KINKS.
        """
        gains = deque[tuple[float, bool]](maxlen=PATIENCE)
        while True:
            if not self.linearised(at):
                raise self.failure()
            while True:
                move, starts, promised = self.step(at, self.damping)
                while np.abs((move / self.parameters.scale)[self.parameters.curved]).max(initial=0.0) > LEAP:
                    self.damping *= 4.0
                    move, starts, promised = self.step(at, self.damping)
                rough = len(gains) == PATIENCE and sum(short for _, short in gains) >= PATIENCE // 2
                if promised <= tolerance * at.cost or (rough and sum(gain for gain, _ in gains) < KINKS * at.cost):
                    self.left = self.step(at, LEAST)[2] / at.cost if rough or self.damping > FIRST else 0.0
                    return at, True
                if self.evaluations >= evaluations:
                    return at, False
                self.evaluations += 1
                if told is not None:
                    told(self.evaluations, evaluations)
                trial = self.tried(at, move, starts)
                gained = -np.inf if trial is None else at.cost - trial.cost
                gains.append((max(gained, 0.0), gained < 0.5 * promised))
                if gained < 0.5 * promised:  # the problem curves more than its linearisation tells
                    self.damping = max(4.0 * self.damping, FIRST)
                elif gained > 0.75 * promised:
                    self.damping = max(0.1 * self.damping, LEAST)
                if trial is not None and gained > 1e-4 * promised:
                    ended, self.left = gained <= tolerance * at.cost, 0.0
                    at = trial
                    if ended:
                        return at, True
                    break

    def tried(self, at: Point, move: np.ndarray, starts: np.ndarray) -> Point | None:
        """Return the point that a step leads to; None if it fails."""
        try:
            q, v = at.q, at.v
            if self.fit_starts:
                q, v = (x[:, 0] for x in self.starts.moved(q, v, starts[:, None]))
            return self.at(self.parameters.moved(at.z, move), q, v)
        except VitreeError:  # a start beyond what constraints allow
            return None

    def step(self, at: Point, damping: float) -> tuple[np.ndarray, np.ndarray, float]:
        """Return a step of parameters (p,) and starts (n, k), and by how much it would lower the sum of squares."""
        assert at.A is not None and at.B is not None and at.ways is not None
        (_, rows, d), k = at.A.shape, at.B.shape[2]
        size = np.linalg.norm(at.B, axis=1)
        size = np.maximum(size, 1e-8 * size.max(axis=1, initial=0.0)[:, None] + 1e-300)
        held = np.sqrt(damping) * size[:, None, :] * np.eye(k)
        Q, R = np.linalg.qr(np.concatenate((at.B, held), axis=1))
        both = np.concatenate((at.A, at.r[:, :, None]), axis=2)
        inner = Q[:, :rows].swapaxes(1, 2) @ both
        # P [A, r] of all windows as a triangle: with damped starts P has further rows, which Q has below
        left = np.concatenate((both - Q[:, :rows] @ inner, -Q[:, rows:] @ inner), axis=1).reshape(-1, d + 1)
        triangle = triangle_of(left)
        move = self._parameters(at, triangle[:, :d] @ at.ways, triangle[:, d], damping)
        change = at.ways @ move
        starts = -np.linalg.solve(R, inner[:, :, d:] + inner[:, :, :d] @ change[:, None])[:, :, 0]
        after = at.r + at.A @ change + (at.B @ starts[:, :, None])[:, :, 0]
        return move, starts, at.cost - float((after**2).sum())

    def _parameters(self, at: Point, J: np.ndarray, r: np.ndarray, damping: float) -> np.ndarray:
        """Return the step (p,) of least squares of r + J dz within the bounds."""
        what = self.parameters
        seen, size = self.seen(J)
        U, singular, V = self.spectrum(J)
        p, count = len(V), len(singular)
        rows, aims = V.copy(), np.zeros(p)  # what is not told is held
        rows[:count] *= singular[:, None]
        aims[:count] = -(U.T @ r)
        units = np.where(seen, 1.0 / size, what.scale)  # in which columns have one length
        effect = what.scale / units
        strength = np.maximum(1.0, WEAK * effect[seen].max(initial=0.0) / effect)
        rows = np.concatenate((rows, np.sqrt(damping) * np.diag(strength)))
        aims = np.concatenate((aims, np.zeros(p)))
        low, high = (what.lower - at.z) / units, (what.upper - at.z) / units
        move = np.linalg.lstsq(rows, aims, rcond=None)[0]
        if (move < low).any() or (move > high).any():
            high = np.maximum(high, low + 1e-12)
            move = optimize.lsq_linear(rows, aims, (low, high), method="bvls").x
        found: np.ndarray = np.clip(at.z + units * move, what.lower, what.upper) - at.z
        return found

    def seen(self, J: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return which parameters do something (p,), and the norms (p,) of their columns of J, 1 of the others."""
        size = np.linalg.norm(J, axis=0)
        effect = size * self.parameters.scale
        seen = effect > UNSEEN * effect.max(initial=0.0)
        return seen, np.where(seen, size, 1.0)

    def spectrum(self, J: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Return U (m, k), singular values (k,) and V (p, p) of J in columns of one length; V[k:] are not shown."""
        seen, size = self.seen(J)
        U, singular, V = np.linalg.svd(np.where(seen, J / size, 0.0))
        count = int((singular > RANK * singular.max(initial=0.0)).sum())
        return U[:, :count], singular[:count], V

    def failure(self) -> ConvergenceError:
        """The error of windows in which simulations fail."""
        return ConvergenceError(
            "simulations of the windows fail with the values of the model; give a shorter window=, a shorter dt=, "
            "or better values: start from model.with_parameters(...)",
            time=float(self.windows.t[0]), residual=np.nan, iterations=self.evaluations,
        )  # fmt: skip

    def projected(self, at: Point) -> np.ndarray:
        """Return a triangle of P A (m, p): what changes in the residuals where the starts are kept the best."""
        self.linearised(at)
        assert at.A is not None and at.ways is not None
        found: np.ndarray = triangle_of(self.projection(at, at.A).reshape(-1, at.A.shape[2])) @ at.ways
        return found

    def by_window(self, at: Point, half: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return P A (n, rows, k) by parameters half u, and its products (n, k) with the residuals of each window."""
        assert at.A is not None and at.ways is not None
        J = self.projection(at, at.A @ (at.ways @ half))
        return J, np.einsum("nrk,nr->nk", J, at.r)

    def gradient(self, at: Point, x: np.ndarray) -> np.ndarray:
        """Return (P A)^T x (p,) of changes x (n, rows) of the residuals."""
        assert at.A is not None and at.ways is not None
        left = self.projection(at, x[:, :, None])[:, :, 0]
        found: np.ndarray = at.ways.T @ np.einsum("nrd,nr->d", at.A, left)
        return found

    def projection(self, at: Point, x: np.ndarray) -> np.ndarray:
        """Return x (n, rows, k) without what starts make up for."""
        if not self.fit_starts or at.B is None:
            return x
        Q, R = np.linalg.qr(at.B)
        Q *= (np.abs(np.einsum("nii->ni", R)) > 0)[:, None]  # a start that may move less has columns of zeros
        found: np.ndarray = x - Q @ (Q.swapaxes(1, 2) @ x)
        return found

    def by_parameters(self, at: Point) -> tuple[np.ndarray, np.ndarray]:
        """Return slopes (n, rows, d) and ways (d, p), whose product is by parameters, at the starts as they are.

        Differences are taken along the directions that may show at all; others are exactly zero.
        """
        what, ways = self.parameters, self.parameters.directions(at.z)
        q, v = at.q[:, None], at.v[:, None]
        slopes = np.empty((*at.r.shape, len(ways)))
        for k, way in enumerate(ways):
            sides = []
            for sign in (STEP, -STEP):
                try:
                    r = self.residuals(what.model_with(at.z + sign * what.scale * way), q, v)[:, 0]
                except ModelError:  # beyond a bound
                    r = np.full_like(at.r, np.nan)
                sides.append((r, sign) if np.isfinite(r).all() else (at.r, 0.0))
            (up, high), (down, low) = sides
            if not high > low:
                name = what.labels[int(np.argmax(np.abs(way)))]
                raise ConvergenceError(
                    f"no run succeeds beside {name} = {what.values(at.z)[what.labels.index(name)]:g}; give a shorter "
                    "window=",
                    time=float(self.windows.t[0]), residual=np.nan, iterations=self.evaluations,
                )  # fmt: skip
            slopes[:, :, k] = (up - down) / (high - low)
        return slopes, ways / what.scale

    def by_record(self, r: np.ndarray) -> np.ndarray:
        """Return residuals (n, rows) as (n, K, columns)."""
        return r.reshape(len(r), -1, self.columns)
