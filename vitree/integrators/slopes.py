"""Derivatives of the steps of the variational integrators, in the lanes of the processor."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from vitree._core import wide
from vitree.errors import InputError, ModelError
from vitree.integrators.options import option
from vitree.integrators.variational import LinearTime, Midpoint
from vitree.mechanism.drives import Drive
from vitree.model.model import Model
from vitree.wording import Argument

#: Share of the momentum by which a step's end may differ from what the forces that are known lead to.
UNEXPLAINED = 1e-6


@dataclass(frozen=True, eq=False)
class Slopes:
    """Derivatives of the momenta at the nodes of steps, by displacements of the joints there.

    Attributes
    ----------
    K : (n, 4, nv, nv) array
        dp1 = K[0] d1 + K[1] d2 - F[0] dtau, dp2 = K[2] d1 + K[3] d2 + F[1] dtau.
    F : (2, nv, nv) or (n, 2, nv, nv) array [s]
        What a torque adds.
    drives : (n, 3, nv) array
        Minus the slopes of the drives' forces by position [N/m or N m/rad] and by velocity; 1 within their limits.
    ends : (2, n, nv) array [kg m/s or kg m^2/s]
        The momenta at both nodes without drives and torque.
    """

    K: np.ndarray
    F: np.ndarray
    drives: np.ndarray
    ends: np.ndarray

    def map(self, model: Model) -> np.ndarray:
        """Return A of (d2, dp2) = A (d1, dp1), (n, 2 nv, 2 nv)."""
        n, nv = len(self.K), model.nv
        out = np.empty((n, 4 * nv * nv))
        wide().batch_linear_map(model.core, self.K.reshape(n, -1), out)
        return out.reshape(n, 2 * nv, 2 * nv)


def slopes(integrator: LinearTime | Midpoint, q: np.ndarray, q2: np.ndarray, p: np.ndarray, u: np.ndarray) -> Slopes:
    """Return the derivatives of steps.

    Parameters
    ----------
    integrator : LinearTime or Midpoint
    q, q2 : (n, nq) array
        Configurations at the start and at the end of the steps.
    p : (n, nv) array
        Momenta at the start.
    u : (n, nu) array
        Inputs, among them the targets of drives.
    """
    model: Any = integrator.model
    kernels, n, nv = wide(), len(q), model.nv
    K, drives, ends = np.empty((n, 4 * nv * nv)), np.empty((n, 3 * nv)), np.empty((n, 2 * nv))
    if isinstance(integrator, LinearTime):
        rule = (integrator.dt, integrator.kinetic == "split")
        kernels.batch_linear_time_slopes(model.core, rule, model.drive_list, q, q2, u, K, drives, ends)
        F = np.tile(0.5 * integrator.dt * np.eye(nv), (2, 1, 1))
    else:
        F = np.empty((n, 2 * nv * nv))
        rule = integrator.dt, integrator.settings.get("alpha", 0.5)
        kernels.batch_midpoint_slopes(model.core, rule, model.drive_list, q, q2, u, p, K, drives, ends, F)
        F = F.reshape(n, 2, nv, nv)
    return Slopes(K.reshape(n, 4, nv, nv), F, drives.reshape(n, 3, nv), ends.reshape(n, 2, nv).transpose(1, 0, 2))


def require_slopes(integrator: Any) -> None:
    """Raise the error that says why steps have no derivatives here.

    Raises
    ------
    InputError
        If the method is another, or an option is not served.
    ModelError
        If the model has parts whose derivatives are not there.
    """
    model, name = integrator.model, integrator.name
    if not isinstance(integrator, LinearTime | Midpoint):
        raise InputError(Argument("method", name) + " has no derivatives of its steps; take linear-time or midpoint")
    if integrator.order > 2:
        raise InputError(option("order", integrator.order) + " is not linearized; take " + option("order", 2))
    if integrator.adaptive:
        raise InputError(option("adapt", integrator.chosen["adapt"]) + " is not linearized; take equal steps")
    if isinstance(integrator, Midpoint) and integrator.settings.get("alpha", 0.5) == 1 and model.nq > model.nv:
        raise InputError(option("alpha", 1) + " is not linearized on ball and free joints; take a smaller one")
    parts = parts_without_slopes(model)
    if parts:
        raise ModelError(
            f'the steps of "{model.name}" are not linearized: it has {", ".join(parts)}; leave them out. Gravity, '
            "damping, friction, armature, drives and torque are linearized"
        )


def parts_without_slopes(model: Any) -> list[str]:
    """Return in words what a model has that is not linearized."""
    if type(model) is not Model:
        return [f"the form {type(model).__name__}, not Model"]
    found = sorted({type(load).__name__ for load in model.loads if not isinstance(load, Drive)})
    more = {
        "constraints": model.constraints, "contacts or limits that stop joints": model.touches,
        "rolling wheels": model.flat.rolling, "dry friction": model.dry_friction.any(),
        "prescribed coordinates": model.kinematic_names,
    }  # fmt: skip
    return found + [name for name, there in more.items() if there]


def require_explained(model: Any, h: float, found: Slopes, p: np.ndarray, p2: np.ndarray) -> None:
    """Raise an InputError if a force acted in the steps that is not known here: their ends tell.

    The momenta at the starts give the torque. With it the steps must end at ``p2``.
    """
    F1, F2 = found.F[..., 0, :, :], found.F[..., 1, :, :]
    torque = np.linalg.solve(np.broadcast_to(F1, (len(p), *F1.shape[-2:])), (found.ends[0] - p)[..., None])
    ends = found.ends[1] + (F2 @ torque)[..., 0]
    size = np.abs(np.concatenate([p, p2, h * torque[..., 0]], axis=1)).max(axis=1, initial=1e-300)
    off = np.abs(ends - p2).max(axis=1, initial=0.0)
    worst = int(np.argmax(off / size))
    if not off[worst] <= UNEXPLAINED * size[worst]:
        raise InputError(
            f"step {worst + 1} does not end where gravity, damping, friction, drives and a torque lead to (off by "
            f"{off[worst]:.2g} of {size[worst]:.2g}): other forces acted, or the states are not those of equal steps; "
            "linearize a run that records each step, without wrenches and pushes"
        )
