"""Contact (touch) sensors: what contacts put on a frame."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import ClassVar, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from vitree._core import scalar
from vitree.arguments import of_kind
from vitree.errors import UnknownNameError
from vitree.integrators.base import Torque
from vitree.model.contacts import ContactForces
from vitree.model.model import Model
from vitree.model.system import System
from vitree.results.contacts import signs_of, touching
from vitree.results.recording import Recording
from vitree.sensors.acting import Acting, Acts, acting_now
from vitree.sensors.base import PairSensor, quiet, require_finite
from vitree.sensors.course import Course, model_of, require_model

core = scalar()


class ContactSample(NamedTuple):
    """What a contact sensor reads of one state: ``torque`` (3,) [N m], ``force`` (3,) [N], ``normal_force`` [N]."""

    torque: np.ndarray
    force: np.ndarray
    normal_force: float


@dataclass(frozen=True, eq=False)
class ContactReadings:
    """What a contact sensor reads of a trajectory.

    Attributes
    ----------
    t : (m,) array [s]
        When a reading is there.
    taken : (m,) array [s]
        When its state was: t - delay.
    torque : (m, 3) array [N m]
    force : (m, 3) array [N]
        Of all contacts on the frame, in its axes, the torque about its origin.
    normal_force : (m,) array [N]
        The sum of the normal forces, as MuJoCo's touch sensor has it; without bias and noise.
    warnings : tuple of str
        What was odd, in sentences.
    units : dict
        The unit of each array by its name.
    """

    t: np.ndarray
    taken: np.ndarray
    torque: np.ndarray
    force: np.ndarray
    normal_force: np.ndarray
    warnings: tuple[str, ...] = ()
    units: ClassVar[dict[str, str]] = {"t": "s", "taken": "s", "torque": "N m", "force": "N", "normal_force": "N"}


@dataclass(frozen=True)
class ContactSensor(PairSensor):
    """A contact (touch) sensor: the wrench of all contacts on a frame that may touch.

    Parameters
    ----------
    frame : str
        Name of a frame that has contacts.
    rate : float, optional [1/s]
        Readings a second; one at each record of a trajectory if not given.
    delay : float [s]
        The reading at t is of the state at t - delay.
    bias : float, (2,) or (6,) array [N m and N]
        What is added: one number, one for the torque and one for the force, or three of each.
    noise : float, (2,) or (6,) array [N m and N]
        Standard deviation of each reading, likewise.
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
        return "of the torque and of the force"

    @quiet
    def read(
        self,
        trajectory: Recording,
        model: System | None = None,
        *,
        torque: Torque = None,
        inputs: ArrayLike | Callable[..., ArrayLike] | Mapping[str, object] | None = None,
        prescribed: Mapping[str, object] | None = None,
    ) -> ContactReadings:
        """Return what the sensor reads of a trajectory.

        At a record between two steps the forces are the impulses that the step found there, over dt. Else, and between
        records, they are as of :meth:`vitree.Imu.read`, and so are the arguments.

        Raises
        ------
        UnknownNameError
            If no contact is on such a frame, or there is no such input.
        InputError
            If the trajectory has no system or no records, or an argument is wrong.
        ConvergenceError
            If the forces of closed contacts cannot be found at a state.
        """
        known = model_of(trajectory, model)
        self._signs(known.full)
        course = Course(trajectory, known)
        taken, warnings = self._taken(course)
        acting, rows = Acting(course, trajectory, torque, inputs, prescribed), np.empty((len(taken), 7))

        def read(acting: Acting, acts: Acts, q: np.ndarray, v: np.ndarray) -> np.ndarray:
            q, v = known.expand(q), known.expand_velocity(v)
            if isinstance(acts.contacts, ContactForces):
                return self._of(known.full, q, acts.contacts)
            return self._found(known.full, acts, q, v)

        for k, t in enumerate(taken.tolist()):
            rows[k] = self._between(acting, t, read)
        rows[:, :6] += self._added(len(taken), 6)
        require_finite(rows)
        torque, force, normal = rows[:, :3].copy(), rows[:, 3:6].copy(), rows[:, 6].copy()
        return ContactReadings(taken + self.delay, taken, torque, force, normal, warnings)

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
    ) -> ContactSample:
        """Return what the sensor reads of one state, without delay, bias and noise.

        Forces are those of :meth:`vitree.Model.contact_forces`; the arguments are as of :meth:`vitree.Imu.sample`, and
        an acceleration is not used.

        Raises
        ------
        UnknownNameError
            If no contact is on such a frame, or there is no such input or prescribed joint.
        InputError
            If an argument is wrong.
        ConvergenceError
            If the forces of closed contacts cannot be found.
        """
        known = require_model(model)
        self._signs(known.full)
        at, moving, acts = acting_now(known, t, q, v, torque, inputs, prescribed)
        found = self._found(known.full, acts, at, moving)
        return ContactSample(found[:3], found[3:6], float(found[6]))

    def _found(self, full: Model, acts: Acts, q: np.ndarray, v: np.ndarray) -> np.ndarray:
        """Torque, force and normal force (7,) on the frame, of the closed contacts of a state."""
        rows = acts.solved(full, q, v).rows
        return core.contacts_on(rows, self._signs(full), full.frame_pose(self.frame, q))

    def _of(self, full: Model, q: np.ndarray, forces: ContactForces) -> np.ndarray:
        """Torque, force and normal force (7,) on the frame."""
        X = full.frame_pose(self.frame, q)
        wrench = forces.wrench(self.frame, about=X[:3, 3]).reshape(2, 3) @ X[:3, :3]
        pairs = zip(forces.a, forces.b, strict=True)
        on = np.array([(a == self.frame) != (b == self.frame) for a, b in pairs], dtype=bool)
        normal = np.einsum("ni,ni->", forces.force[on], forces.normal[on])
        return np.array([*wrench.ravel(), normal])

    def _signs(self, full: Model) -> np.ndarray:
        """How each contact counts: 1 if the frame is its first, -1 its second, else 0."""
        found, asked = full._resolved, (ContactSensor, self.frame)
        if asked not in found:
            found[asked] = self._found_signs(full)
        result: np.ndarray = found[asked]
        return result

    def _found_signs(self, full: Model) -> np.ndarray:
        pairs = full._contact_names if full.has_contact else ()
        able = touching(pairs)
        if self.frame not in able:
            raise UnknownNameError("frame with contacts", self.frame, able)
        return signs_of(pairs, (self.frame,))
