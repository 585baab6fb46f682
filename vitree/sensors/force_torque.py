"""Force-torque sensors in joints and at frames."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import ClassVar, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from vitree.arguments import all_finite, of_kind
from vitree.errors import InputError, UnknownNameError
from vitree.integrators.base import Torque
from vitree.model.broadcasting import no_result
from vitree.model.forces import JointFrames, Place, transmitted
from vitree.model.kinematics import carried, subtree_momentum
from vitree.model.model import Model
from vitree.model.system import System
from vitree.model.variants import Cut
from vitree.results.recording import Recording
from vitree.sensors.acting import Acting, Acts, acting_now
from vitree.sensors.base import PairSensor, quiet, require_finite
from vitree.sensors.course import Course, model_of, require_model


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
    impulse : (m, 6) array [N m s, N s]
        What the parent gave to all that is beyond, (angular about the world's origin, linear), in world axes, from the
        reading before to this one; zero in the first row. With the impulses of contacts in these steps and that of the
        weight it is the change of the momentum, as ``trajectory.p`` has it, before contacts act at a node. (Springs and
        constraints of the bodies beyond count with it; bias and noise do not.) NaN where steps are not recorded, or a
        reading is between records.
    warnings : tuple of str
        What was odd, in sentences.
    units : dict
        The unit of each array by its name.
    """

    t: np.ndarray
    taken: np.ndarray
    torque: np.ndarray
    force: np.ndarray
    impulse: np.ndarray
    warnings: tuple[str, ...] = ()
    units: ClassVar[dict[str, str]] = {
        "t": "s", "taken": "s", "torque": "N m", "force": "N", "impulse": "N m s and N s",
    }  # fmt: skip


@dataclass(frozen=True)
class ForceTorque(PairSensor):
    """A force-torque sensor in a joint or at a frame: the wrench that the parent puts on what is beyond it.

    Parameters
    ----------
    joint : str
        Name of a joint, also of a fixed one, or of a frame or link: beyond a frame is all that is attached to it, as
        wrists and ankles have their sensors. A base that is fixed to the world can have one, too.
    frame : str, optional
        A frame of the body beyond, in whose axes and about whose origin the wrench is; the joint's own, as
        :meth:`vitree.Model.joint_reactions` has it, or that frame, if not given.
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
        inputs: ArrayLike | Callable[..., ArrayLike] | Mapping[str, object] | None = None,
        prescribed: Mapping[str, object] | None = None,
    ) -> ForceTorqueReadings:
        """Return what the sensor reads of a trajectory.

        Under the loads of the model, what drove the run, and the forces of contacts, with the accelerations of an
        accelerometer; those of a base that floats are such that nothing holds it. The arguments are as of
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
        place = self._place(known)
        course = Course(trajectory, known)
        taken, warnings = self._taken(course)
        acting, rows = Acting(course, trajectory, torque, inputs, prescribed), np.empty((len(taken), 6))

        def wrench(acting: Acting, acts: Acts, q: np.ndarray, v: np.ndarray) -> np.ndarray:
            q, (v, a) = known.expand(q), acts.motion or (known.expand_velocity(v), None)
            a = None if a is None else _balanced(known.full, acts, q, v, a)
            found: np.ndarray = _wrenches(known.full, place, acts, q, v, a)[0]
            return found

        for k, t in enumerate(taken.tolist()):
            rows[k] = self._between(acting, t, wrench)
        rows += self._added(len(taken), 6)
        require_finite(rows)
        impulse = _impulses(acting, place, taken)
        return ForceTorqueReadings(
            taken + self.delay, taken, rows[:, :3].copy(), rows[:, 3:].copy(), impulse, warnings
        )

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
        place = self._place(known)
        at, moving, acts = acting_now(known, t, q, v, torque, inputs, prescribed)
        a = None if a is None else known.expand_velocity(known.validate_velocity(a, "a"))
        wrench = _wrenches(known.full, place, acts, at, moving, a)[0]
        if not all_finite(wrench):
            raise no_result(known.full, "sample", {"q": at, "v": moving, "a": a})
        return ForceTorqueSample(wrench[:3], wrench[3:])

    def _place(self, model: Model) -> Place:
        """Where the wrench is transmitted, and its axes and point."""
        found, asked = model.full._resolved, (ForceTorque, self.joint, self.frame)
        if asked not in found:
            found[asked] = self._found_place(model.full)
        result: Place = found[asked]
        return result

    def _found_place(self, full: Model) -> Place:
        joints = full._joint_frames
        if self.joint in joints.names:
            k = joints.names.index(self.joint)
            cut = Cut(full, int(joints.body[k]), joints.turn[k], joints.position[k], None, None)
        elif self.joint in full.frame_names:
            cut = full._cut(self.joint)
        else:
            raise UnknownNameError("joint or frame", self.joint, [*joints.names, *full.frame_names])
        if self.frame is None:
            return Place(cut, cut.body, cut.E, cut.p)
        row, flat = full._frame(self.frame), cut.model.flat
        if flat.frame_body[row] != cut.body:
            there = [name for name, at in zip(flat.frame_names, flat.frame_body, strict=True) if at == cut.body]
            beyond = "behind the joint" if cut.iq is None else "beyond the frame"
            raise InputError(
                "frame", self.frame,
                f'is "{self.frame}", which does not move with the body {beyond} "{self.joint}"; frames that do are '
                + ", ".join(f'"{name}"' for name in there),
                choices=there
            )
        return Place(cut, cut.body, flat.frame_E[row], flat.frame_p[row])


def _wrenches(full: Model, place: Place | JointFrames, acts: Acts, q: np.ndarray, v: np.ndarray,
              a: np.ndarray | None = None) -> np.ndarray:  # fmt: skip
    return transmitted(full, q, v, a, None, acts.contacts, place, tau=acts.torque, t=acts.t, inputs=acts.inputs,
                       locked=acts.prescribed, pushes=acts.pushes, slow=acts.slow)  # fmt: skip


def _balanced(full: Model, acts: Acts, q: np.ndarray, v: np.ndarray, a: np.ndarray) -> np.ndarray:
    """Return accelerations (nv,) with those of free roots for which nothing but the loads acts on them."""
    a, frames = a.copy(), full._joint_frames
    roots = [k for k, joint in enumerate(full.joints) if joint.kind == "free" and full.flat.parent[frames.body[k]] < 0]
    if roots:
        M = full.crba(q)
        wrenches = _wrenches(full, frames, acts, q, v, a)
        for k in roots:
            at, turn = full.joints[k].v_slice, frames.turn[k]
            torque, force = (turn @ part for part in (wrenches[k, :3], wrenches[k, 3:]))
            torque = torque + np.cross(frames.position[k], force)
            a[at] -= np.linalg.solve(M[at, at], np.concatenate([force, torque]))
    return a


def _impulses(acting: Acting, place: Place, taken: np.ndarray) -> np.ndarray:
    """Impulses (m, 6) through a place between readings: changes of momentum less weight and contacts."""
    course, cut, full = acting.course, place.cut, acting.full
    q = acting.model.expand(course.q)
    p = acting.run.p if full is acting.model else full._momenta(q, full._velocities(q, full._momenta(
        q, acting.model.expand_velocity(course.v))))  # fmt: skip
    v = full._constrained_velocities(np.ascontiguousarray(q), np.ascontiguousarray(p))
    beyond = carried(cut.model.flat.parent, int(place.body[0]))
    states = [cut.states(a, b) for a, b in zip(q, v, strict=True)]
    found = [subtree_momentum(cut.model, a, b, beyond) for a, b in states]
    momentum, moment = (np.array(x) for x in zip(*found, strict=True))
    mass = float(cut.model.flat.mass[beyond].sum())
    h, g = np.diff(course.t)[:, None], full.gravity
    weight = np.hstack([0.5 * h * np.cross(moment[1:] + moment[:-1], g), mass * h * g])
    given = np.diff(momentum, axis=0) - weight - acting.impulses_on(cut.model, beyond)
    total = np.vstack([np.zeros(6), np.cumsum(given, axis=0)])
    places = [course.place(t) for t in taken.tolist()]
    at = np.array([total[k] if not share else np.full(6, np.nan) for k, share in places])
    return np.vstack([np.zeros(6), np.diff(at, axis=0)])
