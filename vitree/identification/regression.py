"""Where the search starts: parameters by regression of the joint forces, without simulations.

Configurations or velocities of the records are low-pass filtered and differentiated, and the regressor of these states
is fitted to the recorded forces, both filtered once more (Swevers, Verdonck & De Schutter 2007). The parameters are
physically possible where their coordinates are. Noise in accelerations makes regressions wrong in one direction, so
these are starts alone.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from scipy import optimize, signal

from vitree.identification.measured import Checked
from vitree.identification.parameters import LINEAR, Parameters
from vitree.identification.regressor import TorqueRegressor, free_directions, triangle_of
from vitree.model.model import Model

#: Frequencies above which records are filtered out [Hz]; which one is best depends on motion and noise.
CUTOFFS = (2.0, 4.0, 8.0, 16.0, 32.0)
#: Order of the filter, and records for each period of a cutoff that are kept.
ORDER, KEPT = 3, 8
#: Weight by which coordinates stay where they are, in shares of their scales and of the noise.
STAY = 1e-2


def regressions(what: Parameters, runs: tuple[Checked, ...]) -> Iterator[np.ndarray]:
    """Yield coordinates (p,) of parameters for several filters; nothing where forces are not linear in them."""
    model = what.model
    if hasattr(model, "native") or model.loads or model.full.written is not None or model.has_contact:
        return
    if any(one.kind not in LINEAR for one in what.each) or any(set(run.driving) - {"torque"} for run in runs):
        return
    if any(np.ptp(np.diff(run.at)) for run in runs):
        return
    if not any(np.any(run.driving.get("torque", 0.0)) for run in runs):  # no forces, and the best body has no mass
        return
    regressor = TorqueRegressor(model)
    for from_v in (False, True):
        if from_v and runs[0].v is None:
            continue
        for cutoff in CUTOFFS:
            parts = [part for run in runs if (part := _filtered(model, run, cutoff, from_v, regressor)) is not None]
            if parts:
                found = _fitted(what, np.concatenate([Y for Y, _ in parts]), np.concatenate([b for _, b in parts]))
                if found is not None:
                    yield found


def _filtered(
    model: Model, run: Checked, cutoff: float, from_v: bool, regressor: TorqueRegressor
) -> tuple[np.ndarray, np.ndarray] | None:
    """Return rows (n, k, p) of the regressor and joint forces (n, k), filtered; None if the run is too short for it."""
    h, count = float(run.t[1] - run.t[0]), len(run.t) - 1
    if cutoff > 0.4 / h or count * h < 4 / cutoff:
        return None
    every = max(1, int(1 / (KEPT * cutoff * h)))
    ends = int(0.5 / (cutoff * h))  # where filters have not settled
    filters = signal.butter(ORDER, cutoff, fs=1 / h, output="sos")
    # in the middle between records, where the force is the mean of what acted
    steps = model.difference(run.q[:-1], run.q[1:])
    q = model.integrate(run.q[:-1], 0.5 * steps)
    v = 0.5 * (run.v[1:] + run.v[:-1]) if from_v and run.v is not None else steps / h
    v = signal.sosfiltfilt(filters, v, axis=0)
    a = np.gradient(v, h, axis=0)
    tau = np.zeros((count, model.nv))
    if "torque" in run.driving:
        tau = np.add.reduceat(run.driving["torque"], run.at[:-1]) / np.diff(run.at)[:, None]
    tau = signal.sosfiltfilt(filters, tau, axis=0)
    q, v, a, tau = (x[::every] for x in (q, v, a, tau))
    Y = regressor(q, v, a)
    if model.constraints:
        Z = free_directions(model, q)
        Y, tau = Z.swapaxes(1, 2) @ Y, np.einsum("nvk,nv->nk", Z, tau)
    again = signal.butter(ORDER, cutoff, fs=1 / (h * every), output="sos")
    kept = slice(ends // every, len(q) - ends // every)
    return signal.sosfiltfilt(again, Y, axis=0)[kept], signal.sosfiltfilt(again, tau, axis=0)[kept]


def _fitted(what: Parameters, Y: np.ndarray, tau: np.ndarray) -> np.ndarray | None:
    """Return the coordinates (p,) whose parameters explain joint forces tau (n, k) = Y (n, k, standard) best."""
    n, k, p = Y.shape
    free = np.linalg.lstsq(Y.reshape(n * k, p), tau.ravel(), rcond=1e-8)[0]
    noise = np.maximum(np.sqrt(((tau - Y @ free) ** 2).mean(0)), 1e-6 * np.sqrt((tau**2).mean()) + 1e-12)
    rows = np.column_stack(((Y / noise[:, None]).reshape(n * k, p), (tau / noise).ravel()))
    triangle = triangle_of(rows)

    def residual(z: np.ndarray) -> np.ndarray:
        return np.concatenate((triangle @ np.append(what.standard(z), -1.0), STAY * (z - what.start) / what.scale))

    def slopes(z: np.ndarray) -> np.ndarray:
        return np.concatenate((triangle[:, :-1] @ what.standard_derivatives(z), np.diag(STAY / what.scale)))

    low, high = what.lower, what.upper
    inside = np.clip(what.start, low + 1e-9 * what.scale, np.maximum(high - 1e-9 * what.scale, low + 1e-9 * what.scale))
    found = optimize.least_squares(residual, inside, slopes, bounds=(low, high), x_scale=what.scale, max_nfev=50)
    return found.x if np.isfinite(found.x).all() else None
