"""The momenta at both nodes of steps as functions of the configurations there: the discrete Legendre transforms."""

from __future__ import annotations

import copy
from typing import Any

import numpy as np

from vitree.control.charts import Entries
from vitree.integrators.slopes import NodeSlopes, node_slopes
from vitree.integrators.variational import LinearTime

#: Shares of a step by which it is changed for derivatives by its length, and the weights of the differences.
_SHARES, _WEIGHTS = 1e-3 * np.array([1.0, -1.0, 2.0, -2.0]), np.array([8.0, -8.0, -1.0, 1.0]) / 12e-3


class Momenta:
    """p1 = -D1 Ld - f- and p2 = D2 Ld + f+ of steps, and their exact slopes.

    Rows of variables are (q1, q2, torque) of n steps: entries of two configurations, and the forces on the actuators;
    then the length of the step if that is free.

    Parameters
    ----------
    integrator : LinearTime or Midpoint
    entries : Entries
    acts : (m,) int array
        The velocities on which forces act.
    free : bool
        Whether the length of the step stands among the variables.
    """

    def __init__(self, integrator: Any, entries: Entries, acts: np.ndarray, free: bool):
        self._integrator, self._entries, self._acts, self._free = integrator, entries, acts, free
        # the slopes of midpoint's maps on ball and free joints take the momentum at the start
        self._twice = not isinstance(integrator, LinearTime) and len(entries.quaternions) > 0
        self._last: tuple[np.ndarray, Any] | None = None

    def value(self, z: np.ndarray) -> np.ndarray:
        """Return p1 and p2, (..., n, 2 nv)."""
        return self._both(z)[0]

    def slopes(self, z: np.ndarray) -> np.ndarray:
        """Return their derivatives by the variables, (..., n, 2 nv, width)."""
        return self._both(z)[1]

    def _both(self, z: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        # solvers ask for values and slopes at the same place
        if self._last is None or not np.array_equal(self._last[0], z):
            rows = z.reshape(-1, z.shape[-1])
            if np.isfinite(rows).all():
                value, slopes = self._of_rows(rows)
            else:
                value = np.full((len(rows), 2 * self._entries.model.nv), np.nan)
                slopes = np.full((*value.shape, z.shape[-1]), np.nan)
            shape = (*z.shape[:-1], value.shape[-1])
            self._last = z.copy(), (value.reshape(shape), slopes.reshape(*shape, z.shape[-1]))
        return self._last[1]

    def _of_rows(self, z: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        nq = self._entries.model.nq
        q1, q2, torque = z[:, :nq], z[:, nq : 2 * nq], z[:, 2 * nq : 2 * nq + len(self._acts)]
        lengths = z[:, -1] if self._free else np.full(len(z), self._integrator.dt)
        value, slopes = (
            np.empty((len(z), 2 * self._entries.model.nv)),
            np.empty((len(z), 2 * self._entries.model.nv, z.shape[1])),
        )
        # the compiled steps have one length a call
        for dt in np.unique(lengths):
            at = lengths == dt
            value[at], slopes[at] = self._of_length(q1[at], q2[at], torque[at], float(dt))
        return value, slopes

    def _of_length(self, q1: np.ndarray, q2: np.ndarray, torque: np.ndarray, dt: float):
        entries, nv, acts = self._entries, self._entries.model.nv, self._acts
        unit1, unit2 = entries.unit(q1), entries.unit(q2)
        found = self._found(unit1, unit2, torque, dt)
        value = self._with_torque(found, torque)
        E1, E2 = entries.displacements(q1), entries.displacements(q2)
        K = found.K
        by_torque = np.broadcast_to(found.F, (len(q1), 2, nv, nv))[..., acts]
        upper = [K[:, 0] @ E1, K[:, 1] @ E2, -by_torque[:, 0]]
        lower = [K[:, 2] @ E1, K[:, 3] @ E2, by_torque[:, 1]]
        if self._free:
            by_length = sum(
                weight / dt * self._with_torque(self._found(unit1, unit2, torque, dt * (1 + share)), torque)
                for weight, share in zip(_WEIGHTS, _SHARES, strict=True)
            )
            upper.append(by_length[:, :nv, None])
            lower.append(by_length[:, nv:, None])
        return value, np.concatenate([np.concatenate(upper, axis=2), np.concatenate(lower, axis=2)], axis=1)

    def _with_torque(self, found: NodeSlopes, torque: np.ndarray) -> np.ndarray:
        n, nv = found.ends.shape[1:]
        pushed = (np.broadcast_to(found.F, (n, 2, nv, nv))[..., self._acts] @ torque[:, None, :, None])[..., 0]
        return np.concatenate([found.ends[0] - pushed[:, 0], found.ends[1] + pushed[:, 1]], axis=1)

    def _found(self, q1: np.ndarray, q2: np.ndarray, torque: np.ndarray, dt: float) -> NodeSlopes:
        integrator, nv = self._integrator, self._entries.model.nv
        if dt != integrator.dt:
            integrator = copy.copy(integrator)
            integrator.dt = dt
        rest, none = np.zeros((len(q1), nv)), np.zeros((len(q1), 0))
        found = node_slopes(integrator, q1, q2, rest, none)
        if self._twice:
            p = self._with_torque(found, torque)[:, :nv]
            found = node_slopes(integrator, q1, q2, np.ascontiguousarray(p), none)
        return found
