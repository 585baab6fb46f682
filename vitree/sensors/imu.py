"""Inertial measurement units."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import ClassVar, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from vitree._core import scalar
from vitree.arguments import of_kind
from vitree.errors import InputError
from vitree.integrators.base import Torque
from vitree.model.broadcasting import no_result
from vitree.model.model import Model
from vitree.model.system import System
from vitree.results.recording import Recording
from vitree.sensors.acting import Acting, Acts, acting_now
from vitree.sensors.base import PairSensor, quiet, require_finite
from vitree.sensors.course import EXP, Course, model_of, require_model
from vitree.wording import visible

core = scalar()


class ImuSample(NamedTuple):
    """What an IMU reads of one state: ``gyro`` (3,) [rad/s] and ``accelerometer`` (3,) [m/s^2], in its own axes."""

    gyro: np.ndarray
    accelerometer: np.ndarray


@dataclass(frozen=True, eq=False)
class ImuReadings:
    """What an IMU reads of a trajectory, in its own axes.

    Increments are from the reading before to this one, and zero in the first row. With R the pose's rotation, u the
    velocity and x the position of the frame, g gravity and h the time between the two (Forster et al. 2017):
    R2 = R1 exp(delta_angle), u2 = u1 + g h + R1 delta_velocity, x2 = x1 + u1 h + g h^2/2 + R1 delta_position. Added up
    from the first pose they give the poses and velocities of the trajectory to round-off.

    Attributes
    ----------
    t : (m,) array [s]
        When a reading is there.
    taken : (m,) array [s]
        When its state was: t - delay.
    gyro : (m, 3) array [rad/s]
        Angular velocity.
    accelerometer : (m, 3) array [m/s^2]
        Specific force: the acceleration of the frame's origin less gravity.
    delta_angle : (m, 3) array [rad]
        Rotation vector, the shorter way.
    delta_velocity : (m, 3) array [m/s]
    delta_position : (m, 3) array [m]
        Both in the axes of the reading before.
    warnings : tuple of str
        What was odd, in sentences.
    units : dict
        The unit of each array by its name.
    """

    t: np.ndarray
    taken: np.ndarray
    gyro: np.ndarray
    accelerometer: np.ndarray
    delta_angle: np.ndarray
    delta_velocity: np.ndarray
    delta_position: np.ndarray
    warnings: tuple[str, ...] = ()
    units: ClassVar[dict[str, str]] = {
        "t": "s", "taken": "s", "gyro": "rad/s", "accelerometer": "m/s^2", "delta_angle": "rad",
        "delta_velocity": "m/s", "delta_position": "m",
    }  # fmt: skip


@dataclass(frozen=True)
class Imu(PairSensor):
    """An inertial measurement unit that is fixed to a frame: a gyroscope and an accelerometer.

    Parameters
    ----------
    frame : str
        Name of the frame, whose origin and axes are those of the unit.
    rate : float, optional [1/s]
        Readings a second; one at each record of a trajectory if not given.
    delay : float [s]
        The reading at t is of the state at t - delay.
    bias : float, (2,) or (6,) array [rad/s and m/s^2]
        What is added: one number, one for the gyroscope and one for the accelerometer, or three of each.
    noise : float, (2,) or (6,) array [rad/s and m/s^2]
        Standard deviation of each reading, likewise. Of a density of noise it is the density times the root of the
        rate. Increments have the bias and noise of the reading at their end, times the time between the two.
    seed : int, optional
        Of NumPy's generator of the noise: readings repeat bit for bit. 0 if not given; only with noise.

    Raises
    ------
    InputError
        If an argument is wrong.
    """

    frame: str

    def __post_init__(self) -> None:
        of_kind(self.frame, str, "frame", "the name of a frame")
        super().__post_init__()

    @property
    def _words(self) -> str:
        return "of the gyroscope and of the accelerometer"

    @quiet
    def read(
        self,
        trajectory: Recording,
        model: System | None = None,
        *,
        torque: Torque = None,
        inputs: ArrayLike | Callable[..., ArrayLike] | Mapping[str, object] | None = None,
        prescribed: Mapping[str, object] | None = None,
    ) -> ImuReadings:
        """Return what the unit reads of a trajectory.

        Gyroscope and increments follow from the records alone. The accelerometer needs accelerations: those under the
        loads of the model, what drove the run, as ``trajectory.drive`` has it, and the forces of contacts, by
        :meth:`vitree.Model.forward_dynamics`. Where contacts can act and every step is recorded, accelerations between
        two steps are second differences of the records, so that a record with an impact has the whole impact over dt,
        however stiff the drives are. Between records a reading of a model with contacts is interpolated.

        Parameters
        ----------
        trajectory : Trajectory
        model : Model, optional
            That of a trajectory from a file.
        torque : None, (nv,) array or callable (t, q, v) -> (nv,) array
            Joint forces [N or N m] in place of those that the run kept.
        inputs : None, array (nu,) or (steps, nu), callable (t, q, v) -> (nu,), or mapping, optional
            Inputs in place of those that the run kept, units as the loads take them; a mapping has numbers or callables
            of t by name.
        prescribed : mapping of joint name to callable, optional
            Motion in place of that of the run, callables of t as ``simulate`` takes them. Of a joint that is not named
            the acceleration is the difference of the recorded rates.

        Returns
        -------
        ImuReadings

        Raises
        ------
        UnknownNameError
            If there is no such frame, input or joint.
        InputError
            If the frame is fixed to the world, the trajectory has no system or no records, or an argument is wrong;
            and if a ball or free joint turns so much between two records that nothing is known between them.
        ModelError
            If accelerations do not exist, because a joint moves no mass.
        ConvergenceError
            If the constraints depend on each other at a state.
        """
        known = model_of(trajectory, model)
        self._require_moving(known)
        course = Course(trajectory, known)
        taken, warnings = self._taken(course)
        acting, g, n = Acting(course, trajectory, torque, inputs, prescribed), known.gravity, len(taken)
        R, x, u = np.empty((n, 3, 3)), np.empty((n, 3)), np.empty((n, 3))
        rates, spin = np.empty((n, 6)), np.empty(n)
        for k, t in enumerate(taken.tolist()):
            q, v = course.at(t)
            pose, speed = known.frame_pose(self.frame, q), known.frame_velocity(self.frame, q, v)
            R[k], x[k], u[k], spin[k] = pose[:3, :3], pose[:3, 3], speed[3:], np.linalg.norm(speed[:3])
            rates[k, :3] = pose[:3, :3].T @ speed[:3]
            rates[k, 3:] = self._between(acting, t, self._force_at)
        h = np.diff(taken)[:, None]
        back = np.swapaxes(R[:-1], 1, 2)
        increments = np.zeros((3, n, 3))
        increments[0, 1:] = EXP.log(back @ R[1:])
        shares = (np.diff(u, axis=0) - g * h, np.diff(x, axis=0) - u[:-1] * h - g * h * h / 2)
        for delta, share in zip(increments[1:], shares, strict=True):
            delta[1:] = (back @ share[:, :, None])[:, :, 0]
        added = self._added(n, 6)
        rates += added
        increments[0, 1:] += added[1:, :3] * h
        increments[1, 1:] += added[1:, 3:] * h
        increments[2, 1:] += added[1:, 3:] * h * h / 2
        require_finite(rates, increments, spin)
        warnings += self._turned(course, taken, spin)
        angle, velocity, position = increments
        gyro, accelerometer = rates[:, :3].copy(), rates[:, 3:].copy()
        return ImuReadings(taken + self.delay, taken, gyro, accelerometer, angle, velocity, position, warnings)

    def sample(
        self,
        model: System,
        t: float,
        q: ArrayLike,
        v: ArrayLike,
        a: ArrayLike | None = None,
        *,
        torque: ArrayLike | None = None,
        inputs: ArrayLike | Mapping[str, float] | None = None,
        prescribed: Mapping[str, float] | None = None,
    ) -> ImuSample:
        """Return what the unit reads of one state, without delay, bias and noise.

        Parameters
        ----------
        model : Model
        t : float
            Time, for forces written in Python [s].
        q : (nq,) array [m or rad]
        v : (nv,) array [m/s or rad/s]
        a : (nv,) array, optional [m/s^2 or rad/s^2]
            Acceleration; that of ``model.forward_dynamics`` under torque, inputs and prescribed if not given, with the
            forces of closed contacts.
        torque : (nv,) array, optional [N or N m]
        inputs : (nu,) array or mapping of names to numbers, optional
            Values of ``model.input_names``, units as the loads take them.
        prescribed : mapping of joint name to float, optional
            Accelerations of prescribed coordinates [m/s^2 or rad/s^2].

        Raises
        ------
        UnknownNameError
            If there is no such frame, input or prescribed joint.
        InputError
            If the frame is fixed to the world, or an argument is wrong.
        ModelError
            If accelerations do not exist, because a joint moves no mass.
        ConvergenceError
            If the constraints depend on each other at q.
        """
        known = require_model(model)
        self._require_moving(known)
        at, moving, acts = acting_now(known, t, q, v, torque, inputs, prescribed)
        a = None if a is None else known.expand_velocity(known.validate_velocity(a, "a"))
        return ImuSample(*self._motion(known.full, acts, at, moving, a))

    def _motion(self, full: Model, acts: Acts, q: np.ndarray, v: np.ndarray, a: np.ndarray | None = None) -> np.ndarray:
        """Angular velocity, and the acceleration of the frame's origin less gravity, in the frame's axes (2, 3)."""
        a = acts.solved(full, q, v).acceleration if a is None else a
        row, flat = full._frame(self.frame), full.flat
        place = int(flat.frame_body[row]), flat.frame_E[row], flat.frame_p[row]
        found = core.frame_motion(full.core, q, v, a, *place)
        if not core.plain(found.reshape(-1), 6):
            raise no_result(full, "sample", {"q": q, "v": v, "a": a})
        return found

    def _force_at(self, acting: Acting, acts: Acts, q: np.ndarray, v: np.ndarray) -> np.ndarray:
        v, a = acts.motion or (acting.model.expand_velocity(v), None)
        found: np.ndarray = self._motion(acting.full, acts, acting.model.expand(q), v, a)[1]
        return found

    def _require_moving(self, model: Model) -> None:
        if model.flat.frame_body[model._frame(self.frame)] < 0:
            raise InputError(
                "frame", self.frame,
                f'is "{self.frame}", which is fixed to the world and never moves; give a frame of a body that moves'
            )

    def _turned(self, course: Course, taken: np.ndarray, spin: np.ndarray) -> tuple[str, ...]:
        """A sentence if the frame makes half a turn or more between two readings, by its speeds (n,) at them."""
        others = np.setdiff1d(course.t[(course.t > taken[0]) & (course.t < taken[-1])], taken)
        speeds = [np.linalg.norm(course.model.frame_velocity(self.frame, *course.at(t))[:3]) for t in others.tolist()]
        t, speed = np.concatenate((taken, others)), np.concatenate((spin, np.array(speeds, dtype=float)))
        order = np.argsort(t)
        t, speed = t[order], speed[order]
        angle = np.concatenate(([0.0], np.cumsum(np.diff(t) * (speed[1:] + speed[:-1]) / 2)))
        turned = np.diff(np.interp(taken, t, angle))
        wide = np.flatnonzero(turned >= np.pi)
        if not len(wide):
            return ()
        k = int(wide[0])
        return (visible(
            f'the frame "{self.frame}" turns by half a turn or more between {len(wide)} pairs of readings, first by '
            f"about {turned[k]:.3g} rad between t = {taken[k]:.9g} s and {taken[k + 1]:.9g} s: delta_angle is the "
            "shorter way to the same rotation there; read more often"
        ),)  # fmt: skip
