"""Derivatives of the steps of the variational integrators, in the lanes of the processor."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from vitree._core import scalar, wide
from vitree.errors import InputError, ModelError
from vitree.integrators.options import option
from vitree.integrators.variational import LinearTime, Midpoint
from vitree.mechanism.drives import Drive
from vitree.mechanism.loads import Attraction, Gravity, JointForce, JointSpring, NonlinearSpring, Spring, Wrench
from vitree.model.model import Model
from vitree.wording import Argument

core = scalar()
#: Loads whose force depends on the configuration and on inputs, not on velocities.
RESTING = (Attraction, Gravity, JointForce, JointSpring, NonlinearSpring, Spring, Wrench)
#: Share of the momentum by which a step's end may differ from what the forces that are known lead to.
UNEXPLAINED = 1e-6


@dataclass(frozen=True, eq=False)
class Slopes:
    """Derivatives of the momenta at the nodes of steps, by displacements of the joints there.

    Attributes
    ----------
    A : (n, 2 nv, 2 nv) array
        (d2, dp2) = A (d1, dp1).
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
    """

    A: np.ndarray
    F: np.ndarray
    drives: np.ndarray
    ends: np.ndarray
    by_inputs: np.ndarray
    diagonal: bool

    def by_torque(self) -> np.ndarray:
        """Return the derivatives of (d2, p2) by a torque, (n, 2 nv, nv)."""
        F1, F2 = self.F[..., 0, :, :], self.F[..., 1, :, :]
        nv = F1.shape[-1]
        if self.diagonal:
            found = self.A[:, :, nv:] * np.diagonal(F1, axis1=-2, axis2=-1)[..., None, :]
        else:
            found = self.A[:, :, nv:] @ F1
        found[:, nv:] += F2
        return found


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
    loaded = any(not isinstance(load, Drive) for load in integrator.model.loads)
    if loaded:
        found = node_slopes(integrator, q, q2, p, u)
        return Slopes(_map(found.K), *found[1:])
    found = _compiled(integrator, q, q2, p, u, True)
    n, nv = len(q), integrator.model.nv
    return Slopes(found.K.reshape(n, 2 * nv, 2 * nv), *found[1:])


class NodeSlopes(NamedTuple):
    """Derivatives of the momenta at both nodes of steps: dp1 = K[0] d1 + K[1] d2, dp2 = K[2] d1 + K[3] d2.

    K is (n, 4, nv, nv). The others are those of :class:`Slopes`.
    """

    K: np.ndarray
    F: np.ndarray
    drives: np.ndarray
    ends: np.ndarray
    by_inputs: np.ndarray
    diagonal: bool


def node_slopes(integrator: LinearTime | Midpoint, q: np.ndarray, q2: np.ndarray, p: np.ndarray,
                u: np.ndarray) -> NodeSlopes:  # fmt: skip
    """Return the derivatives of the momenta at the nodes of steps; arguments as of :func:`slopes`."""
    found = _compiled(integrator, q, q2, p, u, False)
    if any(not isinstance(load, Drive) for load in integrator.model.loads):
        _add_loads(integrator, q, q2, u, found.K, found.F, found.ends, found.by_inputs)
    return found


def _compiled(integrator: LinearTime | Midpoint, q: np.ndarray, q2: np.ndarray, p: np.ndarray, u: np.ndarray,
              mapped: bool) -> NodeSlopes:  # fmt: skip
    """Return the derivatives without loads other than drives; if ``mapped``, A stands for K."""
    model: Any = integrator.model
    kernels, n, nv = wide(), len(q), model.nv
    K, drives, ends = np.empty((n, 4 * nv * nv)), np.empty((n, 3 * nv)), np.empty((n, 2 * nv))
    if isinstance(integrator, LinearTime):
        rule = (integrator.dt, integrator.kinetic == "split", u.shape[1])
        kernels.batch_linear_time_slopes(model.core, rule, model.drive_list, q, q2, u, K, drives, ends, mapped)
        F = np.tile(0.5 * integrator.dt * np.eye(nv), (2, 1, 1))
    else:
        F = np.empty((n, 2 * nv * nv))
        rule = integrator.dt, integrator.settings.get("alpha", 0.5), u.shape[1]
        kernels.batch_midpoint_slopes(model.core, rule, model.drive_list, q, q2, u, p, K, drives, ends, F, mapped)
        F = F.reshape(n, 2, nv, nv)
    ends = np.ascontiguousarray(ends.reshape(n, 2, nv).transpose(1, 0, 2))
    by_inputs = np.zeros((2, n, nv, u.shape[1]))
    diagonal = isinstance(integrator, LinearTime) or model.nq == nv
    return NodeSlopes(K.reshape(n, 4, nv, nv), F, drives.reshape(n, 3, nv), ends, by_inputs, diagonal)


def _map(K: np.ndarray) -> np.ndarray:
    """Return A of K (n, 4, nv, nv), dp1 = K[0] d1 + K[1] d2, dp2 = K[2] d1 + K[3] d2, whatever K's entries are."""
    n, nv = len(K), K.shape[-1]
    right = np.concatenate([-K[:, 0], np.broadcast_to(np.eye(nv), (n, nv, nv))], axis=2)
    moved = np.linalg.solve(K[:, 1], right)
    kicked = K[:, 3] @ moved
    kicked[:, :, :nv] += K[:, 2]
    return np.concatenate([moved, kicked], axis=1)


def _add_loads(integrator: LinearTime | Midpoint, q: np.ndarray, q2: np.ndarray, u: np.ndarray, K: np.ndarray,
               F: np.ndarray, ends: np.ndarray, by_inputs: np.ndarray) -> None:  # fmt: skip
    """Add what loads do: linear-time has half of them at each node, midpoint all of them in the middle."""
    model, h = integrator.model, integrator.dt
    rest, units = np.zeros(model.nv), np.eye(u.shape[1])

    def at(q: np.ndarray, u: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        # the force, and its slopes by displacements and by inputs, in which it is linear
        force, by_q, _ = core.load_derivatives(model.core, model.load_list, q, rest, u)
        more = [core.load_derivatives(model.core, model.load_list, q, rest, u + unit)[0] - force for unit in units]
        return force, by_q, np.array(more).reshape(-1, model.nv).T

    for k in range(len(q)):
        if isinstance(integrator, LinearTime):
            for node, place, block, sense in ((0, q, 0, -1), (1, q2, 3, 1)):
                force, by_q, by_u = at(place[k], u[k])
                ends[node, k] += sense * 0.5 * h * force
                K[k, block] += sense * 0.5 * h * by_q
                by_inputs[node, k] = 0.5 * h * by_u
            continue
        alpha = integrator.settings.get("alpha", 0.5)
        force, by_q, by_u = at(model.integrate(q[k], alpha * model.difference(q[k], q2[k])), u[k])
        for node, sense in ((0, -1), (1, 1)):
            ends[node, k] += sense * F[k, node] @ force
            by_inputs[node, k] = F[k, node] @ by_u
            for other in (0, 1):
                # the middle is displaced by E d, and F is h E^T
                K[k, 2 * node + other] += sense * F[k, node] @ by_q @ F[k, other].T / h


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
    if isinstance(integrator, LinearTime) and integrator.springs == "averaged":
        raise InputError(option("springs", "averaged") + " is not linearized; take nodes, or midpoint")
    if isinstance(integrator, Midpoint) and integrator.settings.get("alpha", 0.5) == 1 and model.nq > model.nv:
        raise InputError(option("alpha", 1) + " is not linearized on ball and free joints; take a smaller one")
    parts = parts_without_slopes(model)
    if parts:
        raise ModelError(
            f'the steps of "{model.name}" are not linearized: it has {", ".join(parts)}; leave them out. Gravity, '
            "damping, friction, armature, drives, torque and loads that do not depend on velocities are linearized"
        )


def parts_without_slopes(model: Any) -> list[str]:
    """Return in words what a model has that is not linearized."""
    if type(model) is not Model:
        return [f"the form {type(model).__name__}, not Model"]
    found = sorted({type(load).__name__ for load in model.loads if not isinstance(load, (Drive, *RESTING))})
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
    if found.diagonal:
        torque = (found.ends[0] - p) / np.diagonal(F1, axis1=-2, axis2=-1)
    else:
        torque = np.linalg.solve(F1, (found.ends[0] - p)[..., None])[..., 0]
    ends = found.ends[1] + (F2 @ torque[..., None])[..., 0]
    size = np.abs(np.concatenate([p, p2, h * torque], axis=1)).max(axis=1, initial=1e-300)
    # at rest the momenta are rounding errors of terms that cancel, as large as the inverse of d2 by dp1
    nv = p.shape[1]
    size = np.maximum(size, 1e-8 / np.abs(np.diagonal(found.A[:, :nv, nv:], axis1=1, axis2=2)).min(axis=1))
    off = np.abs(ends - p2).max(axis=1, initial=0.0)
    worst = int(np.argmax(off / size))
    if not off[worst] <= UNEXPLAINED * size[worst]:
        raise InputError(
            f"step {worst + 1} does not end where the model's forces and a torque lead to (off by "
            f"{off[worst]:.2g} of {size[worst]:.2g}): other forces acted, or the states are not those of equal steps; "
            "linearize a run that records each step, without wrenches and pushes"
        )
