"""Newton directions of steppers, against dense matrices of differences."""

from __future__ import annotations

import numpy as np
import reference
from loaded_models import (
    PLACES,
    STENCIL,
)

import vitree as vt
from vitree.mechanism.flat import KINDS

ALL = KINDS
H = 0.02
INPUTS = {"push": 0.7, "turn": -0.5, "drive": 1.1}


def stepper_of(model, alpha, **more):
    """Of the midpoint rule, of linear-time without alpha, or of the method with the name ``alpha``."""
    inputs = {name: x for name, x in INPUTS.items() if name in model.input_names}
    method, options = ("linear-time" if alpha is None else alpha, {})
    if isinstance(alpha, float):
        method, options = "midpoint", {"alpha": alpha}
    return vt.METHODS[method](model, H, inputs=inputs, **options, **more).stepper


def slopes(f, n, step=2e-3):
    """Derivatives (m, n) of f(e) at e = 0, to sixth order."""
    return np.array([np.tensordot(STENCIL, [f(k * e) for k in PLACES], 1) / step for e in step * np.eye(n)]).T


def check_direction(model, q, v, alpha, seed=0, solver="recursive-newton"):
    """The correction of increments and multipliers is that of the dense matrix of differences."""
    rng = np.random.default_rng(seed)
    step, y = stepper_of(model, alpha, solver=solver), H * (v + 3 * rng.normal(size=model.nv))
    p, lam = model.generalized_momentum(q, v), rng.normal(size=len(model.constraints))
    r, h, d, dlam = step.probe(0.0, q, p, y, lam)
    n, m = model.nv, len(h)
    K = np.zeros((n + m, n + m))
    K[:, :n] = slopes(lambda e: np.concatenate(step.probe(0.0, q, p, y + e, lam)[:2]), n)
    K[:n, n:] = model.constraint_jacobian(q).T
    # rows in units of their own
    size = np.abs(K).max(axis=1)
    exact = np.linalg.solve(K / size[:, None], -np.concatenate((r, h)) / size)
    found = np.concatenate((d, dlam))
    # the rounding of the differences, amplified by the condition of the matrix
    tolerance = max(1e-9, 1e-13 * np.linalg.cond(K / size[:, None]))
    for part in (slice(n), slice(n, n + m)):
        assert np.abs(found[part] - exact[part]).max(initial=0) <= tolerance * np.abs(exact[part]).max(initial=0)


def pairing(flat, p):
    """Omega(p): the two-form of (body displacement, momentum), [[-Pm(p), 1], [-1, 0]] of each joint."""
    n = len(p)
    out = np.block([[np.zeros((n, n)), np.eye(n)], [-np.eye(n), np.zeros((n, n))]])
    for i, r in enumerate(reference.v_slices(flat)):
        S = reference.joint_subspace(flat, i)
        if flat.kind[i] >= 3:
            out[r, r] = -S.T @ reference.Pm(S @ p[r]) @ S
    return out
