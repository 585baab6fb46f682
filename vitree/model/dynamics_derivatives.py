"""Derivatives of inverse and forward dynamics by configuration, velocity, and acceleration or joint forces."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np

from vitree._core import scalar
from vitree.arguments import entries
from vitree.errors import ModelError
from vitree.mechanism.constraints import Coupling
from vitree.model.signals import resolve_inputs
from vitree.model.stacks import as_rows, doors, row_by_row
from vitree.model.written import Force, Mapped, Potential

core = scalar()
#: Derivatives that loads written in Python may give, by the class that has them by differences.
_OWN = {Potential: ("gradient", "hessian"), Force: ("by_q", "by_v")}


class RneaDerivatives(NamedTuple):
    """Derivatives of inverse dynamics, (..., nv, nv); row i is of joint force i.

    Attributes
    ----------
    by_q : (..., nv, nv) array
        By displacements of the configuration, as ``integrate`` takes them [N or N m, per m or rad].
    by_v : (..., nv, nv) array
        By the velocity [N s/m, N s, or N m s].
    by_a : (..., nv, nv) array
        By the acceleration: the mass matrix [kg, kg m or kg m^2].
    """

    by_q: np.ndarray
    by_v: np.ndarray
    by_a: np.ndarray


class AbaDerivatives(NamedTuple):
    """Derivatives of forward dynamics, (..., nv, nv); row i is of acceleration i.

    Attributes
    ----------
    by_q : (..., nv, nv) array
        By displacements of the configuration, as ``integrate`` takes them [m/s^2 or rad/s^2, per m or rad].
    by_v : (..., nv, nv) array
        By the velocity [m/s^2 or rad/s^2, per m/s or rad/s].
    by_torque : (..., nv, nv) array
        By the joint forces: the inverse of the mass matrix [1/kg, 1/(kg m) or 1/(kg m^2)].
    """

    by_q: np.ndarray
    by_v: np.ndarray
    by_torque: np.ndarray


#: Compiled calls on one state, whose answer is None where the functions below are needed.
_RNEA = core.Call("rnea_derivatives", RneaDerivatives)
_MASS = core.Call("inverse_mass_matrix")


def _matrices(count: int, q: np.ndarray, nv: int) -> tuple[np.ndarray, np.ndarray]:
    """Return so many stacks of matrices (count, ..., nv, nv), and the same memory in rows."""
    lead = q.shape[:-1]
    found = np.empty((count, *lead, nv, nv))
    return found, found.reshape(count, math.prod(lead), nv * nv)


def rnea_derivatives(model: Any, q: np.ndarray, v: np.ndarray, a: np.ndarray) -> RneaDerivatives:
    """Return the derivatives of ``model.rnea`` at states (..., nq), (..., nv) [m or rad, and their rates]."""
    found, rows = _matrices(3, q, model.nv)
    doors(q).batch_rnea_derivatives(model.core, model._gravity, as_rows(q), as_rows(v), as_rows(a), *rows)
    return RneaDerivatives(*found)


def aba_derivatives(model: Any, q: np.ndarray, v: np.ndarray, tau: np.ndarray) -> AbaDerivatives:
    """Return the derivatives of ``model.aba`` at states (..., nq), (..., nv) [m or rad, its rate, N or N m]."""
    found, rows = _matrices(3, q, model.nv)
    doors(q).batch_aba_derivatives(model.core, model._gravity, as_rows(q), as_rows(v), as_rows(tau), *rows)
    return AbaDerivatives(*found)


def inverse_mass_matrix(model: Any, q: np.ndarray) -> np.ndarray:
    """Return the inverse of the mass matrix (..., nv, nv) at q (..., nq) [1/kg, 1/(kg m) or 1/(kg m^2)]."""
    found, rows = _matrices(1, q, model.nv)
    doors(q).batch_inverse_mass_matrix(model.core, as_rows(q), *rows)
    return found[0]


def forward_dynamics_derivatives(
    model: Any, q: np.ndarray, v: np.ndarray, tau: np.ndarray | None, more: Mapping[str, Any]
) -> AbaDerivatives:
    """Return the derivatives of ``model.forward_dynamics`` at q (..., nq) [m or rad], v [its rate] and tau [N or N m].

    Raises
    ------
    ModelError
        If a load or a constraint of the model has no exact derivatives.
    """
    _require_slopes(model)
    if q.ndim > 1:
        tau = np.zeros(v.shape) if tau is None else tau
        one = lambda q, v, tau: forward_dynamics_derivatives(model, q, v, tau, more)  # noqa: E731
        return row_by_row(model, one, q=q, v=v, tau=tau)
    given = resolve_inputs(model, more.get("inputs"))
    nu = len(model.input_names)
    u = np.zeros(nu) if given is None else entries(given, (nu,), "inputs")
    # M a = Q(q, v) + tau + Dh^T multipliers - c(q, v): Q's slopes less those of inverse dynamics at a
    a = model.forward_dynamics(q, v, tau, contacts="none", **more).acceleration
    inverse = _RNEA.answer(model._calls, model, q, v, a) or rnea_derivatives(model, q, v, a)
    _, by_q, by_v = core.load_derivatives(model.core, model.load_list, q, v, u)
    of_joints = core.joint_slopes(model.core, model.drive_list, q, v, u)
    by_q += np.diag(of_joints[0]) - inverse.by_q
    by_v += np.diag(of_joints[1]) - inverse.by_v
    if model.written is not None:
        of_written = model.written.tangent(float(more["t"]), q, v, u)
        by_q += of_written[0]
        by_v += of_written[1]
    of_mass = _MASS.answer(model._calls, model, q)
    response = _constrained(model, q, inverse_mass_matrix(model, q) if of_mass is None else of_mass)
    return AbaDerivatives(response @ by_q, response @ by_v, response)


def _constrained(model: Any, q: np.ndarray, inverse: np.ndarray) -> np.ndarray:
    """Return the accelerations by joint forces (nv, nv) where couplings hold: M^-1 without what would break them."""
    if not model.constraints:
        return inverse
    _, Dh = model.constraint_rows(q[None])
    Y = Dh[0] @ inverse
    return inverse - Y.T @ np.linalg.solve(Y @ Dh[0].T, Y)


def _require_slopes(model: Any) -> None:
    """Raise a ModelError that names a load or a constraint without exact derivatives."""
    remedy = "take central differences of forward_dynamics"
    for x in model.constraints:
        if not isinstance(x, Coupling):
            raise ModelError(f"forward_dynamics_derivatives has no exact derivatives of the {x.name}; {remedy}")
    for x in model.loads:
        for kind, methods in _OWN.items():
            given = [getattr(type(x), name) is not getattr(kind, name) for name in methods if isinstance(x, kind)]
            if not all(given):
                missing = [name for name, own in zip(methods, given, strict=True) if not own]
                raise ModelError(
                    f"forward_dynamics_derivatives has no exact derivatives of {x.name}: its class does not give "
                    f"{' and '.join(missing)}; give them, or {remedy}"
                )
    if isinstance(model.written, Mapped):
        raise ModelError(
            f"forward_dynamics_derivatives has no exact derivatives of loads written in Python in Euler angles; take "
            f"those of the model before euler(), or {remedy}"
        )
