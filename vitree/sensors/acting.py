"""What acted on the model of a trajectory at its records: the drive that the run kept, and the impulses of contacts."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from vitree.arguments import Asked, JsonObject
from vitree.errors import InputError
from vitree.integrators.base import Torque
from vitree.mechanism.contacts import GROUND
from vitree.mechanism.pushes import ExternalWrench, Impulse
from vitree.mechanism.unilateral import OF_JOINTS, ROPE
from vitree.model.contacts import ContactForces, ContactMethods, late_pushes
from vitree.model.forces import FrameWrench, StateForces, prescribed_accelerations, rope_forces, state_forces
from vitree.model.model import Model
from vitree.model.user_inputs import Inputs, Motion, resolve_inputs
from vitree.results.driven import at_records
from vitree.results.recording import Recording
from vitree.sensors.course import Course

#: What drives joints or inputs: nothing, an array, rows of records, or a function of (t, q, v).
Signal = np.ndarray | Callable[[float, np.ndarray, np.ndarray], np.ndarray] | None

#: Steps of one length differ by no more than this share.
EVEN = 1e-6
#: Changes of the displacement from step to step that are rounding errors, as a share of the coordinates [m or rad].
ROUNDING = 16 * np.finfo(float).eps


class Acts(NamedTuple):
    """What acts at one time, in the coordinates of the model with one for each joint.

    Attributes
    ----------
    torque : (nv,) array or None [N or N m]
    t : float [s]
    inputs : (nu,) array or None
    prescribed : (nv,) array or None
        Accelerations of prescribed coordinates [m/s^2 or rad/s^2].
    contacts : ContactForces or bool
        The forces of contacts where a step found them, else whether those of closed contacts are to be found.
    pushes : list of FrameWrench
    slow : float [m/s or rad/s]
        What slips no faster sticks, where the forces are to be found and it is more than what they have for states.
    motion : tuple of arrays (nv,), (nv,), or None
        Velocity and acceleration [m/s or rad/s, and per second] where the records before and after give them.
    """

    torque: np.ndarray | None
    t: float
    inputs: Inputs
    prescribed: np.ndarray | None
    contacts: ContactForces | bool
    pushes: list[FrameWrench]
    slow: float = 0.0
    motion: tuple[np.ndarray, np.ndarray] | None = None

    def solved(self, model: Model, q: np.ndarray, v: np.ndarray) -> StateForces:
        """Return the accelerations of a state of the model with a coordinate for each joint."""
        return state_forces(model, q, v, self.torque, self.t, self.inputs, self.prescribed, self.contacts, self.pushes,
                            self.slow)  # fmt: skip


def acting_now(
    model: Model, t: float, q: ArrayLike, v: ArrayLike, torque: ArrayLike | None, inputs: Inputs,
    prescribed: Mapping[str, float] | None,
) -> tuple[np.ndarray, np.ndarray, Acts]:  # fmt: skip
    """Return q and v of one state, and what acts at it (Acts), in the coordinates of the model with one for each joint.

    The arguments are as of :meth:`vitree.Imu.sample`. Raises an InputError or UnknownNameError if one is wrong.
    """
    q, v = model.validate_configuration(q), model._checked(v, model.nv, "v")
    acting = None if torque is None else model._embed(model._checked(torque, model.nv, "torque"))
    if model._followers is not None:
        q, v = model.expand(q), model.expand_velocity(v)
    return q, v, Acts(acting, t, inputs, prescribed_accelerations(model.full, prescribed), True, [])


class Acting:
    """What acted on the model of a trajectory beside its loads: what the run kept, or what is given instead.

    At a record between two steps contacts have the impulses that the step found there, over the time from the middle of
    the step before to that of the step after. Velocity and acceleration are the central differences of the records
    there: in a step with an impact the forces of drives and dampers are neither those of the velocity before it nor
    those of the velocity after it. At the ends of a run, and where not every step is recorded, the forces of closed
    contacts are found from the state. Raises an InputError or UnknownNameError if one is wrong.

    Parameters
    ----------
    course : Course
    trajectory : Trajectory
    torque, inputs, prescribed
        As ``simulate`` takes them, in place of what the run kept.
    """

    def __init__(self, course: Course, trajectory: Recording, torque: Torque, inputs: Inputs,
                 prescribed: Mapping[str, object] | None):  # fmt: skip
        self.course, self.model, self.run = course, course.model, trajectory
        self.full: Model = course.model.full
        self.dt = float(trajectory.settings.get("dt", np.inf))
        drive = trajectory.drive
        self.torque = self._of_torque(torque)
        if torque is None and drive is not None:
            self.torque = drive.torque
        self.inputs = drive.inputs if inputs is None and drive is not None else self._of_inputs(inputs)
        self.accelerations = None if drive is None or prescribed is not None else drive.accelerations
        if self.accelerations is None:
            self.accelerations = self._follow(prescribed)
        self.wrenches = [_push(told) for told in trajectory.settings.get("wrenches") or ()]
        self._by_record: tuple[np.ndarray, np.ndarray] | None = None

    # ---- what is given in place of what was kept ------------------------------------------------------------

    def _of_torque(self, torque: Torque) -> Signal:
        model = self.model
        if callable(torque):
            asked = Asked(torque, "torque", "(t, q, v)", (model.nv,))
            return lambda t, q, v: model._embed(asked(t, q, v))
        return None if torque is None else model._embed(model.validate_velocity(torque, "torque"))

    def _of_inputs(self, inputs: Inputs) -> Signal:
        found = resolve_inputs(self.model, inputs)
        if not (isinstance(found, np.ndarray) and found.ndim == 2):
            return found
        t = self.course.t
        if len(found) < len(t) - 1 or (np.diff(t) > 1.5 * self.dt).any():
            raise InputError(
                "inputs", inputs,
                f"has {len(found)} rows, one for each step, and the trajectory {len(t)} records, which are not of "
                "each step; leave it out: a run keeps what drove it"
            )
        return at_records(t, np.column_stack([np.arange(1, len(t)), found[: len(t) - 1]]), self.dt)

    def _follow(self, prescribed: Mapping[str, object] | None) -> np.ndarray | None:
        """Accelerations (n, nv) of the prescribed coordinates at the records."""
        full, course = self.full, self.course
        if not full.prescribed_joint_names:
            if prescribed is not None:
                Motion(full, prescribed)  # which says that there are none
            return None
        motion = Motion(full, prescribed)
        for name, given in motion.prescribed.items():
            if not callable(given):
                raise InputError(
                    f'the motion of "{name}" is no callable of t, and records do not tell steps apart; give a callable'
                )
        t = course.t if len(course.t) > 1 else course.t[0] + np.array([0.0, 1e-3])
        motion.plan(self.model.expand(course.q[0]), t, float(np.diff(t).min()))
        return motion.accelerations(course.t, self.model.expand_velocity(course.v))

    # ---- at a time -------------------------------------------------------------------------------------------

    @property
    def touches(self) -> bool:
        """Whether contacts can act: between records nothing is known of their forces then."""
        return bool(self.full.has_contact)

    def at_record(self, k: int) -> Acts:
        """Return what acted at a record."""
        t, q, v = self.course.t, self.course.q[k], self.course.v[k]
        before, after = (t[max(k - 1, 0)], t[min(k + 1, len(t) - 1)])
        window = (0.5 * (before + t[k]), 0.5 * (t[k] + after))
        acts = self._acts(float(t[k]), q, v, k, 0.0, self._contacts(k), window)
        return acts._replace(motion=self._motion(k)) if isinstance(acts.contacts, ContactForces) else acts

    def _motion(self, k: int) -> tuple[np.ndarray, np.ndarray] | None:
        """Velocity and acceleration by central differences about a record between two steps of one length."""
        before, after = np.diff(self.course.t[k - 1 : k + 2])
        if abs(after - before) > EVEN * after:
            return None
        q = np.array(self.model.expand(self.course.q[k - 1 : k + 2]))
        back, ahead = self.full.difference(q[[1, 1]], q[[0, 2]])
        change = back + ahead
        change[np.abs(change) < ROUNDING * max(1.0, np.abs(q[1]).max())] = 0.0
        return (ahead - back) / (2 * after), change / after**2

    def at(self, t: float, q: np.ndarray, v: np.ndarray) -> Acts:
        """Return what acted at a time and state of a model that nothing touches."""
        k, share = self.course.place(t)
        return self.at_record(k) if not share else self._acts(t, q, v, k, share, True, (t, t))

    def _acts(self, t: float, q: np.ndarray, v: np.ndarray, k: int, share: float, contacts: ContactForces | bool,
              window: tuple[float, float]) -> Acts:  # fmt: skip
        torque, inputs = (self._value(x, t, q, v, k, share) for x in (self.torque, self.inputs))
        moved = None if self.accelerations is None else self._value(self.accelerations, t, q, v, k, share)
        # velocities at nodes tell slip from sticking to what a body gains in a step
        slow = self.dt * float(np.linalg.norm(self.full.gravity)) if np.isfinite(self.dt) else 0.0
        return Acts(torque, t, inputs, moved, contacts, self._pushed(self.model.expand(q), window), slow)

    @staticmethod
    def _value(x: Signal, t: float, q: np.ndarray, v: np.ndarray, k: int, share: float) -> np.ndarray | None:
        if callable(x):
            return x(t, q.copy(), v.copy())
        if x is None or x.ndim == 1:
            return x
        return np.array(x[k] if not share else (1 - share) * x[k] + share * x[k + 1])

    # ---- contacts and pushes ---------------------------------------------------------------------------------

    def _contacts(self, k: int) -> ContactForces | bool:
        """The forces of contacts at a record between two steps; True: those of closed contacts are to be found."""
        log, t = self.run.contacts, self.course.t
        # springs of contacts have the forces of their states
        if log is None or self.full._has_contact_springs or not 0 < k < len(t) - 1:
            return True
        if max(t[k + 1] - t[k], t[k] - t[k - 1]) > 1.5 * self._longest:
            return True
        if self._by_record is None:
            order = np.argsort(log.record, kind="stable")
            self._by_record = order, log.record[order]
        order, record = self._by_record
        some = order[np.searchsorted(record, k + 1) : np.searchsorted(record, k + 1, side="right")]
        pairs = [log.names[number] for number in log.number[some]]
        a, b = zip(*pairs, strict=True) if pairs else ((), ())
        force = log.impulse[some] / (0.5 * (t[k + 1] - t[k - 1]))
        point, gap = log.point[some], log.gap[some]
        if any(np.isnan(x[0]) for x, other in zip(point, b, strict=True) if other not in OF_JOINTS):
            return True
        torque = log.angular_impulse[some] / (0.5 * (t[k + 1] - t[k - 1]))
        return ContactForces(tuple(a), tuple(b), force, point, log.normal[some], log.slip[some], gap, torque,
                             log.angular_slip[some])  # fmt: skip

    def impulses_on(self, model: ContactMethods, bodies: np.ndarray) -> np.ndarray:
        """Return what contacts gave to some bodies in the step to each record but the first, (n - 1, 6) [N m s, N s].

        About the world's origin, in world axes; NaN where contacts can act and steps are not recorded.

        Parameters
        ----------
        model : Model
            That of the bodies, with the frames of the run's.
        bodies : (nbody,) mask
        """
        log, t = self.run.contacts, self.course.t
        out = np.zeros((len(t) - 1, 6))
        if log is None:
            return out
        # what acts by a number has the name of a joint or a rope
        frames = {name for pair in log.names if pair[1] not in OF_JOINTS for name in pair}
        on = {name: name != GROUND and on_bodies(model, name, bodies) for name in frames}
        pairs = [log.names[k] for k in log.number]
        sign = np.array([float(on[a]) - float(on[b]) if b not in OF_JOINTS else 0.0 for a, b in pairs])
        some = np.flatnonzero(sign)
        f = sign[some, None] * log.impulse[some]
        turn = np.cross(log.point[some], f) + sign[some, None] * log.angular_impulse[some]
        np.add.at(out, log.record[some] - 1, np.hstack([turn, f]))
        if self.full._has_contact_springs:
            # what springs give where the steps end acts there
            record, q = log.record[some], self.model.expand(self.course.q)
            gaps = log.places[some, 6], log.gap[some]
            own = None if log.nodes is None or log.nodes.facets is None else log.nodes.facets[some]
            late, places = late_pushes(self.full, log.number[some], np.diff(t)[record - 1], gaps, record, q, own)
            moved = np.cross(places[:, :3] - log.point[some], sign[some, None] * late)
            np.add.at(out[:, :3], record - 1, np.where(late.any(axis=1, keepdims=True), moved, 0.0))
        if (pulls := [k for k, (_, b) in enumerate(pairs) if b == ROPE]):
            poses = self.full._pose_rows(np.ascontiguousarray(self.model.expand(self.course.q)))
            for k in pulls:  # where the steps begin
                step = log.record[k] - 1
                for frame, at, pull in rope_forces(self.full, poses[step], pairs[k][0], float(log.impulse[k, 0])):
                    if on_bodies(model, frame, bodies):
                        out[step] += np.hstack([np.cross(at, pull), pull])
        out[np.diff(t) > 1.5 * self._longest] = np.nan
        return out

    @property
    def _longest(self) -> float:
        """The longest step [s]; infinite where steps choose their own length."""
        steps = self.run.settings.get("dt_range")
        if self.run.settings.get("record_every", 1) != 1:
            return 0.0
        return float(steps[1]) if steps is not None else self.dt

    def _pushed(self, q: np.ndarray, window: tuple[float, float]) -> list[FrameWrench]:
        """Wrenches on frames, their means over a window of time."""
        found: list[FrameWrench] = []
        for push in self.wrenches:
            if isinstance(push, ExternalWrench):
                wrench, share = np.array([*push.torque, *push.force]), _overlap(push, window)
            else:
                wrench, length = np.array([*push.angular, *push.impulse]), window[1] - window[0]
                share = 1.0 / length if window[0] <= push.at < window[1] else 0.0
            if share:
                found.append((push.frame, share * self._in_world(q, push.frame, wrench, push.axes)))
        return found

    def _in_world(self, q: np.ndarray, frame: str, wrench: np.ndarray, axes: str) -> np.ndarray:
        X = self.full.frame_pose(frame, q)
        if axes == "local":
            return np.concatenate([X[:3, :3] @ wrench[:3], X[:3, :3] @ wrench[3:]])
        if axes == "spatial":
            return np.concatenate([wrench[:3] - np.cross(X[:3, 3], wrench[3:]), wrench[3:]])
        return wrench


def on_bodies(model: ContactMethods, frame: str, bodies: np.ndarray) -> bool:
    """Return whether a frame is on one of some bodies (nbody,)."""
    body = model.index.place(frame)[0]
    return body >= 0 and bool(bodies[body])


def _overlap(push: ExternalWrench, window: tuple[float, float]) -> float:
    """The fraction of a window of time in which a wrench acts; of a moment whether it does."""
    first, last = push.window
    if window[0] == window[1]:
        return float(first <= window[0] < last)
    return max(min(last, window[1]) - max(first, window[0]), 0.0) / (window[1] - window[0])


def _push(told: JsonObject) -> Impulse | ExternalWrench:
    kind: Callable[..., Impulse | ExternalWrench] = {"Impulse": Impulse, "ExternalWrench": ExternalWrench}[told["kind"]]
    return kind(**{name: value for name, value in told.items() if name != "kind"})
