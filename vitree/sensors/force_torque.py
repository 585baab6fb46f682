"""Force-torque sensors in joints."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from vitree.arguments import of_kind
from vitree.errors import InputError
from vitree.integrators.base import Torque
from vitree.model.model import Model
from vitree.model.system import System
from vitree.results.recording import Recording
from vitree.sensors.base import PairSensor, quiet, require_finite
from vitree.sensors.course import Acting, Course, model_of, require_model
from vitree.spatial.rotations import cross
from vitree.wording import named


class ForceTorqueSample(NamedTuple):
    """What a force-torque sensor reads of one state: ``torque`` (3,) [N m] and ``force`` (3,) [N]."""

    torque: np.ndarray
    force: np.ndarray


@dataclass(frozen=True, eq=False)
class ForceTorqueReadings:
    """What a force-torque sensor reads of a trajectory.

    Attributes
    ----------
    t : (m,) array [s]
        When a reading is there.
    taken : (m,) array [s]
        When its state was: t - delay.
    torque : (m, 3) array [N m]
    force : (m, 3) array [N]
        Of the parent on the body, in the axes of the frame of the sensor, the torque about its origin.
    warnings : tuple of str
        What was odd, in sentences.
    units : dict
        The unit of each array by its name.
    """

    t: np.ndarray
    taken: np.ndarray
    torque: np.ndarray
    force: np.ndarray
    warnings: tuple[str, ...] = ()
    units: ClassVar[dict[str, str]] = {"t": "s", "taken": "s", "torque": "N m", "force": "N"}


@dataclass(frozen=True)
class ForceTorque(PairSensor):
    """A force-torque sensor in a joint: the wrench that the parent puts on the body behind the joint.

    Parameters
    ----------
    joint : str
        Name of the joint.
    frame : str, optional
        A frame of the body behind the joint, in whose axes and about whose origin the wrench is; the joint's own if
        not given, as :meth:`vitree.Model.joint_reactions` has it.
    rate : float, optional [1/s]
        Readings a second; one at each record of a trajectory if not given.
    delay : float [s]
        The reading at t is of the state at t - delay.
    bias : float, (2,) or (6,) array [N m and N]
        What is added: one number, one for the torque and one for the force, or three of each.
    noise : float, (2,) or (6,) array [N m and N]
        Standard deviation of each reading, likewise.
    seed : int
        Of NumPy's generator of the noise: readings repeat bit for bit.

    Raises
    ------
    InputError
        If an argument is wrong.
    """

    joint: str
    frame: str | None = None

    def __post_init__(self) -> None:
        of_kind(self.joint, str, "joint", "the name of a joint")
        of_kind(self.frame, (str, type(None)), "frame", "the name of a frame, or None")
        super().__post_init__()

    @property
    def _words(self) -> str:
        return "of the torque and of the force"

    @quiet
    def read(
        self,
        trajectory: Recording,
        model: System | None = None,
        *,
        torque: Torque = None,
        inputs: ArrayLike | Callable[..., ArrayLike] | Mapping[str, Any] | None = None,
        prescribed: Mapping[str, Any] | None = None,
    ) -> ForceTorqueReadings:
        """Return what the sensor reads of a trajectory, under the loads of the model and what is given here.

        A trajectory does not keep what ``simulate`` was given: give it once more. The arguments are as of
        :meth:`vitree.Imu.read`.

        Raises
        ------
        UnknownNameError
            If there is no such joint, frame or input.
        InputError
            If the trajectory has no system or no records, the frame is not of the body behind the joint, or an
            argument is wrong; and if a ball or free joint turns so much between two records that nothing is known
            between them.
        ModelError
            If accelerations do not exist, because a joint moves no mass.
        ConvergenceError
            If the constraints depend on each other at a state.
        """
        known = model_of(trajectory, model)
        self._require_there(known)
        course = Course(trajectory, known)
        taken, warnings = self._taken(course)
        acting, rows = Acting(course, torque, inputs, prescribed), np.empty((len(taken), 6))
        for k, t in enumerate(taken.tolist()):
            q, v = course.at(t)
            rows[k] = np.concatenate(self.sample(known, q=q, v=v, **acting.at(t, q, v)))
        rows += self._added(len(taken), 6)
        require_finite(rows)
        return ForceTorqueReadings(taken + self.delay, taken, rows[:, :3].copy(), rows[:, 3:].copy(), warnings)

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
    ) -> ForceTorqueSample:
        """Return what the sensor reads of one state, without delay, bias and noise.

        The arguments are as of :meth:`vitree.Imu.sample`.

        Raises
        ------
        UnknownNameError
            If there is no such joint, frame, input or prescribed joint.
        InputError
            If the frame is not of the body behind the joint, or an argument is wrong.
        ModelError
            If accelerations do not exist, because a joint moves no mass.
        ConvergenceError
            If the constraints depend on each other at q.
        """
        known = require_model(model)
        row = self._require_there(known)
        wrench = known.joint_reactions(q, v, a, torque=torque, t=t, inputs=inputs, prescribed=prescribed)[self.joint]
        if row is None:
            return ForceTorqueSample(wrench[:3], wrench[3:])
        # by the core frame of the body, in which both frames have their places
        apart, k = known.full._apart, known.joint_names.index(self.joint)
        E, p = known.flat.frame_E[row], known.flat.frame_p[row]
        force = apart.turn[k] @ wrench[3:]
        moment = apart.turn[k] @ wrench[:3] + cross(apart.position[k] - p, force)
        return ForceTorqueSample(E.T @ moment, E.T @ force)

    def _require_there(self, model: Model) -> int | None:
        """The row of the frame in the model's arrays; None for the joint's own."""
        model.joint(self.joint)
        if self.frame is None:
            return None
        row, body = model._frame(self.frame), model.full._apart.body[model.joint_names.index(self.joint)]
        if model.flat.frame_body[row] != body:
            there = [name for name, at in zip(model.frame_names, model.flat.frame_body, strict=True) if at == body]
            raise InputError(
                named("frame", self.frame) + f' is "{self.frame}", which does not move with the body behind the joint '
                f'"{self.joint}"; frames that do are ' + ", ".join(f'"{name}"' for name in there),
                choices=there,
            )
        return row
