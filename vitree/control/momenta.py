"""The discrete mechanics of a robot by the entries of its configurations: momenta of steps, and their exact slopes.

Orientations are quaternions. All functions of a configuration take the quaternion at unit length, so that they are the
same along its length, and a separate equation keeps the length. Quaternions have no edge, as angles and charts have.
"""

from __future__ import annotations

import copy

import numpy as np

from vitree.integrators.slopes import NodeSlopes, node_slopes
from vitree.integrators.variational import LinearTime, Midpoint
from vitree.lie import SE3, SO3
from vitree.mechanism.flat import BALL, FREE, KIND_NQ, KIND_NV
from vitree.model.model import Model
from vitree.spatial.rotations import hat

#: Shares of a step by which it is changed for derivatives by its length, and the weights of the differences.
_SHARES, _WEIGHTS = 1e-3 * np.array([1.0, -1.0, 2.0, -2.0]), np.array([8.0, -8.0, -1.0, 1.0]) / 12e-3
#: Rows of which the slopes are in memory at once.
_ROWS = 4096


class Entries:
    """The entries of a model's configurations, in stacks (..., nq)."""

    def __init__(self, model: Model):
        self.model = model
        kinds = np.asarray(model.flat.kind)
        self.quaternions = np.asarray(model.index.quaternions, dtype=int)
        several = np.flatnonzero(KIND_NV[kinds] > 1)
        self._joints = [(kinds[i], int(model.index.iq[i]), int(model.index.iv[i])) for i in several]
        plain = np.flatnonzero(KIND_NV[kinds] == 1)
        self._plain = np.asarray(model.index.iv)[plain], np.asarray(model.index.iq)[plain]
        #: whether all joints have one coordinate, so that changes of entries are displacements
        self.plain = not len(several)
        #: the number of the body that each velocity moves
        self.body = np.repeat(np.arange(len(kinds)), KIND_NV[kinds])
        #: the joint of each entry of q, and whether it is part of an orientation
        self.joint = np.repeat(np.arange(len(kinds)), KIND_NQ[kinds])
        self.turning = np.zeros(model.nq, dtype=bool)
        self.turning[(self.quaternions[:, None] + np.arange(4)).ravel()] = True

    def unit(self, q: np.ndarray) -> np.ndarray:
        """Return the configurations with quaternions of unit length."""
        if self.plain:
            return np.ascontiguousarray(q)
        found = np.array(q)
        for at in self.quaternions:
            found[..., at : at + 4] /= np.linalg.norm(found[..., at : at + 4], axis=-1, keepdims=True)
        return found

    def displacements(self, q: np.ndarray) -> np.ndarray:
        """Return the displacements (..., nv, nq) that small changes of the entries are: d = E dq.

        Of a quaternion (v, s) the turn in the body's axes is 2 vec(conj(q) dq) / |q|^2, of a place R^T dx.
        """
        found = np.zeros((*q.shape[:-1], self.model.nv, self.model.nq))
        found[..., self._plain[0], self._plain[1]] = 1.0
        for kind, iq, iv in self._joints:
            turn = iq + 3 * (kind == FREE)
            v, s = q[..., turn : turn + 3], q[..., turn + 3, None, None]
            length = (q[..., turn : turn + 4] ** 2).sum(axis=-1)[..., None, None]
            spin = iv + 3 * (kind == FREE)
            found[..., spin : spin + 3, turn : turn + 3] = 2.0 * (s * np.eye(3) - hat(v)) / length
            found[..., spin : spin + 3, turn + 3] = -2.0 * v / length[..., 0]
            if kind == FREE:
                R = np.eye(3) + 2.0 * (s * hat(v) + hat(v) @ hat(v)) / length
                found[..., iv : iv + 3, iq : iq + 3] = np.swapaxes(R, -1, -2)
        return found

    def by_entries(self, slopes: np.ndarray, q: np.ndarray) -> np.ndarray:
        """Return slopes by the entries (..., m, nq), from those by displacements (..., m, nv)."""
        return slopes if self.plain else slopes @ self.displacements(q)

    def difference_slopes(self, d: np.ndarray) -> np.ndarray:
        """Return the derivatives (..., nv, nv) of d = difference(q1, q2) by a displacement of q2.

        That by a displacement of q1 is minus the one of -d.
        """
        found = np.zeros((*d.shape, d.shape[-1]))
        at = np.arange(d.shape[-1])
        found[..., at, at] = 1.0
        for kind, _, iv in self._joints:
            own = np.arange(iv, iv + (3 if kind == BALL else 6))
            # twists are (angular, linear)
            group, order = (SO3, own) if kind == BALL else (SE3, np.concatenate([own[3:], own[:3]]))
            found[..., order[:, None], order] = group.maps["exp"].dtau_inv(-d[..., order])
        return found


class Momenta:
    """p1 = -D1 Ld - f- and p2 = D2 Ld + f+ of steps, and their exact slopes.

    Rows of variables are (q1, q2, torque) of n steps: entries of two configurations, and the forces on the actuators;
    then the duration T of the motion if that is free.

    Parameters
    ----------
    integrator : LinearTime or Midpoint
    entries : Entries
    acts : (m,) int array
        The velocities on which forces act.
    free : int
        The number of steps N if T is among the variables, with steps of T / N; else 0, with steps of the integrator's.
    """

    def __init__(self, integrator: LinearTime | Midpoint, entries: Entries, acts: np.ndarray, free: int):
        self._integrator, self._entries, self._acts, self._free = integrator, entries, acts, free
        # the slopes of midpoint's maps on ball and free joints take the momentum at the start
        self._twice = not isinstance(integrator, LinearTime) and len(entries.quaternions) > 0
        self._last: tuple[np.ndarray, tuple[np.ndarray, np.ndarray]] | None = None

    def value(self, z: np.ndarray) -> np.ndarray:
        """Return p1 and p2, (..., n, 2 nv)."""
        return self._both(z)[0]

    def slopes(self, z: np.ndarray) -> np.ndarray:
        """Return their derivatives by the variables, (..., n, 2 nv, width)."""
        return self._both(z)[1]

    def adjoint(self, z: np.ndarray, weights: np.ndarray) -> np.ndarray:
        """Return the derivatives (..., n, width) of the sum of weights (n, 2 nv) times p1 and p2."""
        weighed = np.broadcast_to(weights, (*z.shape[:-1], weights.shape[-1])).reshape(-1, 1, weights.shape[-1])
        rows, steps = z.reshape(-1, z.shape[-1]), self._steps(z)
        parts = [slice(k, k + _ROWS) for k in range(0, len(rows), _ROWS)]
        found = [self._of_rows(rows[part], steps[part], weighed[part])[1] for part in parts]
        return np.concatenate(found).reshape(z.shape)

    def _steps(self, z: np.ndarray) -> np.ndarray:
        """Return the number of the step of each row."""
        return np.broadcast_to(np.arange(z.shape[-2]), z.shape[:-1]).ravel()

    def _both(self, z: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        # solvers ask for values and slopes at the same place
        if self._last is None or not np.array_equal(self._last[0], z):
            value, slopes = self._of_rows(z.reshape(-1, z.shape[-1]), self._steps(z), None)
            shape = (*z.shape[:-1], value.shape[-1])
            self._last = z.copy(), (value.reshape(shape), slopes.reshape(*shape, z.shape[-1]))
        return self._last[1]

    def _of_rows(self, z: np.ndarray, steps: np.ndarray, weights: np.ndarray | None) -> tuple[np.ndarray, np.ndarray]:
        """Return values (n, 2 nv), and slopes (n, 2 nv, width); (n, 1, width) of sums with weights (n, 1, 2 nv)."""
        nq, m, size = self._entries.model.nq, len(self._acts), 2 * self._entries.model.nv
        lengths = z[:, -1] / self._free if self._free else np.full(len(z), self._integrator.dt)
        rows = 1 if weights is not None else size
        value, slopes = np.full((len(z), size), np.nan), np.full((len(z), rows, z.shape[1]), np.nan)
        sound = np.isfinite(z).all(axis=1)
        # the compiled steps have one length a call
        for dt in np.unique(lengths[sound]):
            at = sound if (lengths == dt).all() else sound & (lengths == dt)
            own = z[at]
            parts = own[:, :nq], own[:, nq : 2 * nq], own[:, 2 * nq : 2 * nq + m], steps[at]
            value[at], slopes[at] = self._of_length(*parts, float(dt), None if weights is None else weights[at])
        return value, slopes

    def _of_length(self, q1: np.ndarray, q2: np.ndarray, torque: np.ndarray, steps: np.ndarray, dt: float,
                   weights: np.ndarray | None) -> tuple[np.ndarray, np.ndarray]:  # fmt: skip
        entries, nv = self._entries, self._entries.model.nv
        unit1, unit2 = entries.unit(q1), entries.unit(q2)
        found = self._found(unit1, unit2, torque, steps, dt)
        value = self._with_torque(found, torque)
        by_torque = np.broadcast_to(found.F, (len(q1), 2, nv, nv))[..., self._acts]
        K = found.K
        by_length = []
        if self._free:
            by_length = [self._by_length(unit1, unit2, torque, steps, dt)[:, :, None] / self._free]
        if weights is None:
            by_1, by_2 = np.concatenate([K[:, 0], K[:, 2]], axis=1), np.concatenate([K[:, 1], K[:, 3]], axis=1)
            by_u = np.concatenate([-by_torque[:, 0], by_torque[:, 1]], axis=1)
        else:
            w1, w2 = weights[..., :nv], weights[..., nv:]
            by_1, by_2 = w1 @ K[:, 0] + w2 @ K[:, 2], w1 @ K[:, 1] + w2 @ K[:, 3]
            by_u = w2 @ by_torque[:, 1] - w1 @ by_torque[:, 0]
            by_length = [weights @ part for part in by_length]
        parts = [entries.by_entries(by_1, q1), entries.by_entries(by_2, q2), by_u, *by_length]
        return value, np.concatenate(parts, axis=2)

    def _by_length(
        self, q1: np.ndarray, q2: np.ndarray, torque: np.ndarray, steps: np.ndarray, dt: float
    ) -> np.ndarray:
        """Return the derivatives (n, 2 nv) by the length of the step."""
        found = np.zeros((len(q1), 2 * self._entries.model.nv))
        for weight, share in zip(_WEIGHTS, _SHARES, strict=True):
            longer = self._found(q1, q2, torque, steps, dt * (1 + share))
            found += weight / dt * self._with_torque(longer, torque)
        return found

    def _with_torque(self, found: NodeSlopes, torque: np.ndarray) -> np.ndarray:
        n, nv = found.ends.shape[1:]
        pushed = (np.broadcast_to(found.F, (n, 2, nv, nv))[..., self._acts] @ torque[:, None, :, None])[..., 0]
        return np.concatenate([found.ends[0] - pushed[:, 0], found.ends[1] + pushed[:, 1]], axis=1)

    def _found(self, q1: np.ndarray, q2: np.ndarray, torque: np.ndarray, steps: np.ndarray, dt: float) -> NodeSlopes:
        integrator, nv = self._integrator, self._entries.model.nv
        if dt != integrator.dt:
            integrator = copy.copy(integrator)
            integrator.dt = dt
        rest, none = np.zeros((len(q1), nv)), np.zeros((len(q1), 0))
        found = node_slopes(integrator, q1, q2, rest, none, t=dt * steps)
        if self._twice:
            p = self._with_torque(found, torque)[:, :nv]
            found = node_slopes(integrator, q1, q2, np.ascontiguousarray(p), none, t=dt * steps)
        return found
