"""Residuals of windows against what was measured, with the windows' starts eliminated.

The weighted residuals of all windows are r(theta, s), with s the states where windows start. Their derivatives are A
by theta and B by s. The least squares over s are solved for each theta, window by window. What is left is a function of
theta alone, r(theta, s(theta)), with the slope P A, where P = 1 - B B^+: variable projection (Golub & Pereyra 1973,
with the slope of Kaufman 1975). An evaluation is a few rollouts. Each window, and each perturbed start of it, is an
instance.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from vitree._core import scalar
from vitree.arguments import Keywords
from vitree.errors import ConvergenceError, ModelError
from vitree.identification.measured import Windows
from vitree.identification.parameters import Parameters
from vitree.model.broadcasting import in_coordinates
from vitree.model.model import Model
from vitree.run.controller import Control
from vitree.run.rollout import rollout

core = scalar()
#: Perturbations of starts, and of parameters in shares of their scales.
STEP = 1e-5
#: Most corrections of starts for one theta.
MOST = 40
#: Starts are found when a correction would change the sum of squares by less than this share.
DONE = 1e-9


@dataclass
class Settled:
    """Starts that are best for one theta: residuals r (n, m), their slopes B (n, m, k) by the starts."""

    values: np.ndarray
    model: Model
    q: np.ndarray
    v: np.ndarray
    r: np.ndarray
    B: np.ndarray
    A: np.ndarray | None = None  # (n, m, p)

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
    fit_starts : bool
    more : dict
        Method, options and threads of the rollouts.
    """

    parameters: Parameters
    windows: Windows
    sigma: dict[str, np.ndarray]
    fit_starts: bool
    more: Keywords
    rollouts: int = 0
    instances: int = 0
    best: Settled | None = field(default=None)
    last: Settled | None = field(default=None)

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
            parts = [_difference(model, np.repeat(w.q[group], m, axis=0), found["q"]) / self.sigma["q"]]
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
        starts = 2 * self.parameters.model.nv * len(self.windows) if self.fit_starts else 0
        return self.count - starts - len(self.parameters)

    def with_slopes(self, model: Model, q: np.ndarray, v: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return residuals (n, rows) and their slopes (n, rows, 2 nv) by displacements and velocities of starts."""
        n, nv = v.shape
        if not self.fit_starts:
            return self.residuals(model, q[:, None], v[:, None])[:, 0], np.zeros((n, self.rows, 0))
        moves = STEP * np.concatenate((np.zeros((1, 2 * nv)), np.eye(2 * nv), -np.eye(2 * nv)))
        m = len(moves)
        moved = moved_by(model, np.repeat(q, m, axis=0), np.repeat(v, m, axis=0), np.tile(moves, (n, 1)))
        r = self.residuals(model, moved[0].reshape(n, m, -1), moved[1].reshape(n, m, -1))
        slopes = (r[:, 1 : 1 + 2 * nv] - r[:, 1 + 2 * nv :]) / (2 * STEP)
        return r[:, 0], slopes.swapaxes(1, 2)

    # ---- starts ---------------------------------------------------------------------------------------

    def settle(self, values: np.ndarray, q: np.ndarray, v: np.ndarray) -> Settled | None:
        """Return the best starts for parameters (p,), from starts q (n, nq), v (n, nv); None if a window fails.

        Levenberg's and Marquardt's method, with a damping of each window's own.
        """
        try:
            model = self.parameters.model_with(values)
        except ModelError:
            return None
        r, B = self.with_slopes(model, q, v)
        if not (np.isfinite(r).all() and np.isfinite(B).all()):
            return None
        damping = np.full(len(q), 1e-9)
        for _ in range(MOST if self.fit_starts else 0):
            H, g = B.swapaxes(1, 2) @ B, (B.swapaxes(1, 2) @ r[:, :, None])[:, :, 0]
            diagonal = np.einsum("nii->ni", H)
            H = H + damping[:, None, None] * np.eye(B.shape[2]) * diagonal[:, :, None]
            move = -_solved(H, g)
            cost = (r**2).sum(1)
            active = (-(move * g).sum(1) > DONE * cost + 1e-20) & (damping < 1e6)
            if not active.any():
                break
            q2, v2 = moved_by(model, q, v, np.where(active[:, None], move, 0.0))
            r2, B2 = self.with_slopes(model, q2, v2)
            fine = np.isfinite(r2).all(1) & np.isfinite(B2).all((1, 2))
            better = active & fine & ((r2**2).sum(1) < cost)
            q, v, r = (np.where(better[:, None], a, b) for a, b in ((q2, q), (v2, v), (r2, r)))
            B = np.where(better[:, None, None], B2, B)
            damping = np.where(better, damping / 10, np.where(active, np.maximum(damping, 1e-5) * 30, damping))
        return Settled(values.copy(), model, q, v, r, B)

    # ---- what SciPy asks ------------------------------------------------------------------------------

    def function(self, values: np.ndarray) -> np.ndarray:
        """Return the residuals of parameters (p,) with their best starts; infinite where there are none."""
        best = self.best
        assert best is not None
        if np.array_equal(values, best.values):
            return best.r.ravel()
        found = None
        if best.A is not None and self.fit_starts:  # starts as the slopes tell
            change = best.A @ (values - best.values)
            moves = -(np.linalg.pinv(best.B) @ change[:, :, None])[:, :, 0]
            found = self.settle(values, *moved_by(best.model, best.q, best.v, moves))
        found = found or self.settle(values, best.q, best.v)
        if found is None:
            return np.full(best.r.size, np.inf)
        self.last = found
        if found.cost < best.cost:
            self.best = found
        return found.r.ravel()

    def slopes(self, values: np.ndarray) -> np.ndarray:
        """Return the slopes (rows, p) of :meth:`function`."""
        for at in (self.best, self.last):
            if at is not None and np.array_equal(at.values, values):
                return self.projected(at).reshape(-1, len(values))
        self.function(values)
        return self.slopes(values)

    def projected(self, at: Settled) -> np.ndarray:
        """Return P A (n, rows, p): what changes in the residuals where the starts are kept the best."""
        if at.A is None:
            at.A = self.by_parameters(at)
        return self.projection(at, at.A)

    def projection(self, at: Settled, x: np.ndarray) -> np.ndarray:
        """Return x (n, rows, k) without what starts make up for."""
        if not self.fit_starts:
            return x
        Q, _ = np.linalg.qr(at.B)
        found: np.ndarray = x - Q @ (Q.swapaxes(1, 2) @ x)
        return found

    def by_parameters(self, at: Settled) -> np.ndarray:
        """Return the slopes (n, rows, p) of the residuals by parameters, at the starts as they are."""
        given = self.parameters
        A = np.empty((*at.r.shape, len(given)))
        q, v = at.q[:, None], at.v[:, None]
        for k, scale in enumerate(given.scale):
            sides = []
            for sign in (1.0, -1.0):
                values = at.values.copy()
                values[k] += sign * STEP * scale
                try:
                    r = self.residuals(given.model_with(values), q, v)[:, 0]
                except ModelError:  # beyond a bound
                    r = np.full_like(at.r, np.nan)
                sides.append((r, values[k]) if np.isfinite(r).all() else (at.r, at.values[k]))
            (up, high), (down, low) = sides
            if not high > low:
                raise ConvergenceError(
                    f"no run succeeds beside {given.labels[k]} = {at.values[k]:g}; give a shorter window=",
                    time=float(self.windows.t[0]), residual=np.nan, iterations=0,
                )  # fmt: skip
            A[:, :, k] = (up - down) / (high - low)
        return A

    def by_record(self, r: np.ndarray) -> np.ndarray:
        """Return residuals (n, rows) as (n, K, columns)."""
        return r.reshape(len(r), -1, self.columns)


def _solved(H: np.ndarray, g: np.ndarray) -> np.ndarray:
    found: np.ndarray = (np.linalg.pinv(H, hermitian=True) @ g[:, :, None])[:, :, 0]
    return found


def moved_by(model: Model, q: np.ndarray, v: np.ndarray, moves: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return states (n, nq), (n, nv) that displacements and changes of velocities (n, 2 nv) lead to."""
    return _moved(model, q, moves[:, : model.nv]), v + moves[:, model.nv :]


@in_coordinates("configuration")
def _moved(model: Model, q: np.ndarray, dq: np.ndarray) -> np.ndarray:
    """Return the configurations (n, nq) that displacements (n, nv) lead to."""
    out = np.empty(q.shape)
    core.batch_integrate(model.core, np.ascontiguousarray(q), np.ascontiguousarray(dq), out)
    return out


@in_coordinates("velocity")
def _difference(model: Model, q0: np.ndarray, q1: np.ndarray) -> np.ndarray:
    """Return the displacements (n, K, nv) from q0 to q1 (n, K, nq)."""
    a, b = (np.ascontiguousarray(x.reshape(-1, model.nq)) for x in (q0, q1))
    out = np.empty((len(a), model.nv))
    core.batch_difference(model.core, a, b, out)
    return out.reshape(*q0.shape[:2], model.nv)


def first_velocities(model: Model, windows: Windows) -> np.ndarray:
    """Return velocities (n, nv) at the starts of windows: as measured, or of a parabola through the first records."""
    if windows.v is not None:
        return windows.v[:, 0]
    K = min(8, windows.least)
    first = np.repeat(windows.q[:, :1], K, axis=1)
    d = _difference(model, first, windows.q[:, :K])
    v = np.empty((len(windows), model.nv))
    for k in range(len(windows)):
        powers = windows.seconds[k, :K, None] ** np.arange(min(3, K))
        v[k] = np.linalg.lstsq(powers, d[k], rcond=None)[0][1]
    return v
