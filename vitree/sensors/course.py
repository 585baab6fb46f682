"""The states of a trajectory at any time."""

from __future__ import annotations

import numpy as np

from vitree.arguments import of_kind
from vitree.errors import InputError
from vitree.lie import SO3
from vitree.model.changes import require_one_model
from vitree.model.model import Model
from vitree.model.system import System
from vitree.results.dense import Nodes, hermite
from vitree.results.recording import Recording

EXP = SO3.maps["exp"]
#: A time is that of a record if it is off by this share of the time between records, or by rounding.
SAME = 1e-9


def model_of(trajectory: Recording, model: System | None) -> Model:
    """Return the model that a trajectory is of, or the one given for it.

    Raises an InputError if there is no model or a different one, or the times of the records are invalid.
    """
    of_kind(trajectory, Recording, "trajectory", "the Trajectory of a run")
    if model is None:
        model = trajectory.system
        if model is None:
            raise InputError("the trajectory has no system, which files do not keep; give it by model=")
    else:
        model = require_model(model)
        digest = trajectory.settings.get("model_digest")
        if isinstance(digest, str) and digest != model.digest:
            raise InputError(
                f'the trajectory is of another model than "{model.name}": of "{trajectory.model_name}"; give that one '
                "by model="
            )
    model = require_model(model)
    require_one_model(trajectory.settings, trajectory.t)
    if not len(trajectory):
        raise InputError("the trajectory has no records; a sensor needs one at least")
    if trajectory.q.shape[1] != model.nq or trajectory.v.shape[1] != model.nv:
        raise InputError(
            f"the trajectory has {trajectory.q.shape[1]} coordinates and {trajectory.v.shape[1]} velocities, "
            f'"{model.name}" has nq={model.nq} and nv={model.nv}; give the model that was simulated by model='
        )
    t = trajectory.t
    if bad := np.flatnonzero(~(np.isfinite(trajectory.q).all(axis=1) & np.isfinite(trajectory.v).all(axis=1))).tolist():
        raise InputError(f"the record {bad[0]} of the trajectory has NaN or infinity in q or v; give those before it")
    if not np.isfinite(t).all() or not (np.diff(t) > 0).all():
        raise InputError("the times of the trajectory's records must be finite and increase; give the records in order")
    return model


def require_model(model: System | None) -> Model:
    """Return a mechanism's model, or raise an InputError: vehicles have no frames and joints that sensors need."""
    return of_kind(model, Model, "model", "a Model, the system of a mechanism; vehicles have no sensors")


class Course:
    """The states of a trajectory at any of its times.

    Records are taken as they are. Between two of them coordinates are cubic (Hermite) in time, by the configurations
    and velocities of both: of a ball or free joint the rotation vector from the one to the other, and the position. The
    error of q is of the fourth power of the time between records. The states between the parts of steps that were taken
    in halves count as records for this.

    Parameters
    ----------
    trajectory : Trajectory
    model : Model
    """

    def __init__(self, trajectory: Recording, model: Model):
        self.model, self.t, self.q, self.v = model, trajectory.t, trajectory.q, trajectory.v
        #: the records, and the states between halves of steps
        self.nodes: Recording | Nodes = trajectory
        if trajectory.halves is not None and len(trajectory.halves):
            if not np.isfinite(trajectory.halves).all():
                raise InputError("trajectory.halves has NaN or infinity; all entries must be finite")
            self.nodes = Nodes.of(trajectory, trajectory.halves)
            if not (np.diff(self.nodes.t) > 0).all():
                raise InputError("the times of trajectory.halves must increase and lie between those of the records")
        #: of ball and free joints, the places in v of angular velocities
        self.turns: list[tuple[str, list[int]]] = []
        #: of free joints, the places of positions in q, of velocities in v, and of quaternions in q
        self.moving: list[tuple[list[int], list[int], int]] = []
        plain: dict[int, int] = {}
        for joint in model.joints:
            q, v = ([*range(x.start, x.stop)] for x in (joint.q_slice, joint.v_slice))
            if joint.kind == "ball":
                self.turns.append((joint.name, v))
            elif joint.kind == "free":
                self.turns.append((joint.name, v[3:]))
                self.moving.append((q[:3], v[:3], q[3]))
            else:
                plain |= zip(q, v, strict=True)
        self._last: tuple[int, list[tuple[list[int], np.ndarray, np.ndarray]]] = -1, []
        self.plain_q, self.plain_v = np.array([*plain], dtype=int), np.array([*plain.values()], dtype=int)

    def place(self, t: float) -> tuple[int, float]:
        """Return the record before a time, and the share of the way to the next; 0 at a record."""
        return _place(self.t, t)

    def at(self, t: float) -> tuple[np.ndarray, np.ndarray]:
        """Return q (nq,) and v (nv,) at a time.

        Raises
        ------
        InputError
            If a joint makes half a turn or more between the records: nobody knows by which way.
        """
        known = self.nodes
        k, s = _place(known.t, t)
        if not s:
            return known.q[k], known.v[k]
        h = float(known.t[k + 1] - known.t[k])
        q0, q1, v0, v1 = known.q[k], known.q[k + 1], known.v[k], known.v[k + 1]
        i, j = self.plain_q, self.plain_v
        q, v, step = np.empty_like(q0), np.empty_like(v0), np.zeros_like(v0)
        q_plain, v[j] = hermite(s, h, q0[i], q1[i], v0[j], v1[j])
        for w, turned, end in self._turns(k):
            x, slope = hermite(s, h, np.zeros(3), turned, v0[w], end)
            step[w], v[w] = x, EXP.dtau(-x) @ slope
        q[:] = self.model.integrate(q0, step)
        q[i] = q_plain
        for place, u, turn in self.moving:
            R0, R1, R = (_rotation(x[turn : turn + 4]) for x in (q0, q1, q))
            q[place], slope = hermite(s, h, q0[place], q1[place], R0 @ v0[u], R1 @ v1[u])
            v[u] = R.T @ slope
        return q, v

    def _turns(self, k: int) -> list[tuple[list[int], np.ndarray, np.ndarray]]:
        """Of each ball and free joint, its places in v, and the rotation vector to the next node with its rate there.

        That of the interval that was asked for last is kept.
        """
        known = self.nodes
        if self._last[0] != k and self.turns:
            difference, found = self.model.difference(known.q[k], known.q[k + 1]), []
            for name, w in self.turns:
                sizes = np.linalg.norm(known.v[k : k + 2, w], axis=1)
                if (known.t[k + 1] - known.t[k]) * sizes.sum() >= 2 * np.pi:
                    raise InputError(
                        f'the joint "{name}" makes half a turn or more between the records at t = {known.t[k]:.9g} s '
                        f"and {known.t[k + 1]:.9g} s, so that nothing is known between them; record more steps, by a "
                        "smaller every, or read at the records, without rate"
                    )
                found.append((w, difference[w], EXP.dtau_inv(-difference[w]) @ known.v[k + 1, w]))
            self._last = k, found
        return self._last[1]


def _place(times: np.ndarray, t: float) -> tuple[int, float]:
    """Return the place in times (n,) before or at a time, and the share of the way to the next; 0 at one of them."""
    if len(times) == 1:
        return 0, 0.0
    k = int(np.clip(np.searchsorted(times, t, side="right") - 1, 0, len(times) - 2))
    h = times[k + 1] - times[k]
    slack = SAME * h + 4 * np.finfo(float).eps * abs(t)
    for at in (k, k + 1):
        if abs(t - times[at]) <= slack:
            return at, 0.0
    return k, float((t - times[k]) / h)


def _rotation(turn: np.ndarray) -> np.ndarray:
    """The matrix of a unit quaternion."""
    x, y, z, w = turn.tolist()
    return np.array([[1 - 2 * (y * y + z * z), 2 * (x * y - w * z), 2 * (x * z + w * y)],
                     [2 * (x * y + w * z), 1 - 2 * (x * x + z * z), 2 * (y * z - w * x)],
                     [2 * (x * z - w * y), 2 * (y * z + w * x), 1 - 2 * (x * x + y * y)]])  # fmt: skip
