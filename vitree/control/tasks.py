"""Tasks of a robot's frames and coordinates, for inverse kinematics: what is to be where, and how much it counts."""

from __future__ import annotations

import weakref
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike

from vitree.arguments import as_numbers, axes_of, entries, explain_calls, mapping, of_kind, real, whole
from vitree.errors import InputError, ModelError
from vitree.model.model import Model
from vitree.spatial.rotations import proper_rotation

if TYPE_CHECKING:
    from typing import Self

#: Kinds of tasks of ``_core/tasks/rows.pxi``.
POSE, POSITION, ORIENTATION, LOOK, COM, POSTURE, COUPLING, DAMPING = range(8)
#: Largest deviation of the last row of a pose from (0, 0, 0, 1).
LAST_ROW = 1e-9


class KinematicTask:
    """What all tasks have: a weight, a priority, a gain. The base of the tasks below, which is not made itself.

    A task has an error e(q) that is zero at its target, and a Jacobian J by displacements of the coordinates. A step dq
    makes the sum over the tasks of a priority of |w (J dq + gain e)|^2 least.

    Parameters
    ----------
    weight : float or (m,) array, in units of one over the error's
        One number, or one for each of the m rows of the error. Rows of weight zero do not count.
    priority : int
        Tasks of a lower number come first: a task of priority 2 moves only what leaves the least squares of priority 1
        unchanged. Those of priority 0 hold as equations: contacts that stay where they are, for instance.
    gain : float
        Share of the error that a step of :meth:`vitree.control.Tasks.velocity` removes, above 0 and at most 1.

    Raises
    ------
    InputError
        If an argument has a wrong value.
    """

    kind: ClassVar[int]
    #: Whether the task counts for ``reached`` of a solution.
    goal: ClassVar[bool] = True
    rows: ClassVar[int] = 3

    def __init__(self, weight: ArrayLike, priority: int, gain: float):
        if type(self) is KinematicTask:
            raise InputError("a KinematicTask is not made itself; take PoseTask, CenterOfMassTask, ...")
        level = whole(priority)
        if level is None or level < 0:
            raise InputError("priority", priority, "must be an integer, zero or positive")
        share = real(gain)
        if not 0 < share <= 1:
            raise InputError("gain", gain, "must be above 0 and at most 1")
        self.priority = level
        self._gain = np.array([share])
        self._given_weight = _weight(weight, self.rows)
        self._target = np.full(12, np.nan)
        self._base: str | None = None

    @property
    def gain(self) -> float:
        """The share of the error that a step removes."""
        return float(self._gain[0])

    @property
    def has_target(self) -> bool:
        """Whether a target was given."""
        return not np.isnan(self._target).any()

    @property
    def name(self) -> str:
        """The task as messages call it."""
        return type(self).__name__

    def __repr__(self) -> str:
        return f"<{self.name}, priority {self.priority}>"

    # ---- what Tasks asks

    def _weights(self, model: Model) -> np.ndarray:
        """Return the weights of the rows."""
        return np.broadcast_to(self._given_weight, (self.rows,)).astype(float)

    def _target_of(self, model: Model) -> np.ndarray:
        """Return the numbers of the target as the core takes them, an array that later targets are written into."""
        return self._target

    def _frames(self) -> tuple[str, str]:
        """Return the frame and its base; "world" where there is none."""
        return "world", "world"

    axis: np.ndarray = np.zeros(3)


def _weight(weight: ArrayLike, rows: int) -> np.ndarray:
    shape = () if axes_of(weight) < 1 else (rows,) if rows else (len(as_numbers(weight)),)
    found = entries(weight, shape, "weight").copy()
    if (found < 0).any():
        raise InputError("weight", weight, "must be zero or positive")
    return found


class _FrameTask(KinematicTask):
    """A task of a frame, seen from another one.

    ``target`` is written in place, so that a loop may set it at each step.
    """

    def __init__(self, frame: str, weight: ArrayLike, priority: int, gain: float, relative_to: str):
        super().__init__(weight, priority, gain)
        self.frame = _frame_name(frame, "frame")
        self.relative_to = _frame_name(relative_to, "relative_to")

    @property
    def name(self) -> str:
        """The task as messages call it."""
        seen = "" if self.relative_to == "world" else f' seen from "{self.relative_to}"'
        return f'{type(self).__name__} of "{self.frame}"{seen}'

    def _frames(self) -> tuple[str, str]:
        """Return the frame and its base."""
        return self.frame, self.relative_to

    def hold(self, model: Model, q: ArrayLike) -> Self:
        """Set the target to where the frame is at a configuration, and return the task.

        Parameters
        ----------
        model : Model
        q : (nq,) array [m or rad]

        Raises
        ------
        InputError, UnknownNameError
            If q is no configuration, or the model has no such frame.
        """
        of_kind(model, Model, "model", "a Model")
        frame, base = (np.eye(4) if name == "world" and "world" not in model.frame_names else model.frame_pose(name, q)
                       for name in self._frames())  # fmt: skip
        X = np.linalg.solve(base, frame)
        self._target[:9], self._target[9:] = X[:3, :3].ravel(), X[:3, 3]
        return self


def _frame_name(name: str, argument: str) -> str:
    return of_kind(name, str, argument, "the name of a frame")


@explain_calls
class PoseTask(_FrameTask):
    """A frame is to have a pose.

    The error has six rows: the rotation vector from the target's axes to the frame's [rad], in the target's axes; and
    the position less the target's [m], in the axes of ``relative_to``.

    Parameters
    ----------
    frame : str
    target : (4, 4) array, optional [m]
        The desired pose in ``relative_to``. It may be set later, by ``task.target = X`` or :meth:`hold`.
    position_weight, orientation_weight : float or (3,) array [1/m, 1/rad]
        One number, or one for each axis.
    priority, gain
        See :class:`KinematicTask`.
    relative_to : str
        The frame in which the pose is seen.

    Raises
    ------
    InputError
        If an argument has a wrong value.
    ModelError
        If the target's rotation is none.
    """

    kind, rows = POSE, 6

    def __init__(
        self, frame: str, target: ArrayLike | None = None, *, position_weight: ArrayLike = 1.0,
        orientation_weight: ArrayLike = 1.0, priority: int = 1, gain: float = 1.0, relative_to: str = "world",
    ):  # fmt: skip
        both = [np.broadcast_to(_named_weight(w, name), (3,)) for w, name in (
            (orientation_weight, "orientation_weight"), (position_weight, "position_weight"))]  # fmt: skip
        super().__init__(frame, np.concatenate(both), priority, gain, relative_to)
        if target is not None:
            self.target = target

    @property
    def target(self) -> np.ndarray:
        """The desired pose (4, 4) [m], a copy; NaN where there is none yet."""
        X = np.eye(4)
        X[:3, :3], X[:3, 3] = self._target[:9].reshape(3, 3), self._target[9:]
        return X

    @target.setter
    def target(self, X: ArrayLike) -> None:
        given = entries(X, (4, 4), "target")
        if not np.abs(given[3] - (0.0, 0.0, 0.0, 1.0)).max() <= LAST_ROW:
            raise InputError("target", X, f"is no pose: its last row is {given[3].tolist()}, not (0, 0, 0, 1)")
        R = _rotation(given[:3, :3], self.name)
        self._target[:9], self._target[9:] = R.ravel(), given[:3, 3]


def _named_weight(weight: ArrayLike, name: str) -> np.ndarray:
    found = entries(weight, () if axes_of(weight) < 1 else (3,), name)
    if (found < 0).any():
        raise InputError(name, weight, "must be zero or positive")
    return found


def _rotation(R: np.ndarray, name: str) -> np.ndarray:
    # what is a rotation to rounding errors is taken as it is
    if np.abs(R.T @ R - np.eye(3)).max() < 1e-12 and np.linalg.det(R) > 0:
        return R
    return proper_rotation(R, f"the target of the {name}")


class _AtPoint(KinematicTask):
    """Base of tasks whose target is a point."""

    def _aim(self, target: ArrayLike | None) -> None:
        self._target[:9] = np.eye(3).ravel()
        if target is not None:
            self.target = target

    @property
    def target(self) -> np.ndarray:
        """The desired point (3,) [m], a copy; NaN where there is none yet."""
        return self._target[9:].copy()

    @target.setter
    def target(self, point: ArrayLike) -> None:
        self._target[9:] = entries(point, (3,), "target")


@explain_calls
class PositionTask(_AtPoint, _FrameTask):
    """The origin of a frame is to be at a point. The error is p - p_T [m], in the axes of ``relative_to``.

    Parameters
    ----------
    frame : str
    target : (3,) array, optional [m]
        It may be set later, by ``task.target = p`` or :meth:`hold`.
    weight : float or (3,) array [1/m]
    priority, gain, relative_to
        See :class:`PoseTask`.

    Raises
    ------
    InputError
        If an argument has a wrong value.
    """

    kind = POSITION

    def __init__(
        self, frame: str, target: ArrayLike | None = None, *, weight: ArrayLike = 1.0, priority: int = 1,
        gain: float = 1.0, relative_to: str = "world",
    ):  # fmt: skip
        super().__init__(frame, weight, priority, gain, relative_to)
        self._aim(target)


@explain_calls
class OrientationTask(_FrameTask):
    """A frame is to have an orientation. The error is log(R_T^T R) [rad], in the target's axes.

    Parameters
    ----------
    frame : str
    target : (3, 3) array, optional [-]
        The desired axes of the frame, as columns in ``relative_to``. It may be set later, by ``task.target = R`` or
        :meth:`hold`.
    weight : float or (3,) array [1/rad]
    priority, gain, relative_to
        See :class:`PoseTask`.

    Raises
    ------
    InputError
        If an argument has a wrong value.
    ModelError
        If the target is no rotation.
    """

    kind = ORIENTATION

    def __init__(
        self, frame: str, target: ArrayLike | None = None, *, weight: ArrayLike = 1.0, priority: int = 1,
        gain: float = 1.0, relative_to: str = "world",
    ):  # fmt: skip
        super().__init__(frame, weight, priority, gain, relative_to)
        self._target[9:] = 0.0
        if target is not None:
            self.target = target

    @property
    def target(self) -> np.ndarray:
        """The desired rotation (3, 3), a copy; NaN where there is none yet."""
        return self._target[:9].reshape(3, 3).copy()

    @target.setter
    def target(self, R: ArrayLike) -> None:
        self._target[:9] = _rotation(entries(R, (3, 3), "target"), self.name).ravel()


@explain_calls
class LookAtTask(_AtPoint, _FrameTask):
    """An axis of a frame is to point at a point. The error is d/|d| - a, with d from the frame's origin to the point.

    Both are in the frame's axes; the error is 2 sin(angle/2) long, and zero only where the axis points at the target.

    Parameters
    ----------
    frame : str
    target : (3,) array, optional [m]
        The point, in ``relative_to``. It may be set later, by ``task.target = p``.
    axis : (3,) array
        The direction in the frame, of any length.
    weight : float or (3,) array [-]
    priority, gain, relative_to
        See :class:`PoseTask`.

    Raises
    ------
    InputError
        If an argument has a wrong value.
    """

    kind = LOOK

    def __init__(
        self, frame: str, target: ArrayLike | None = None, *, axis: ArrayLike = (1.0, 0.0, 0.0),
        weight: ArrayLike = 1.0, priority: int = 1, gain: float = 1.0, relative_to: str = "world",
    ):  # fmt: skip
        super().__init__(frame, weight, priority, gain, relative_to)
        direction = entries(axis, (3,), "axis")
        size = np.linalg.norm(direction)
        if not size > 0:
            raise InputError("axis", axis, "is zero; it must be a direction")
        self.axis = direction / size
        self._aim(target)

    def hold(self, model: Model, q: ArrayLike) -> Self:
        """Set the target to the point that is 1 m along the axis at a configuration, and return the task.

        Parameters
        ----------
        model : Model
        q : (nq,) array [m or rad]

        Raises
        ------
        InputError, UnknownNameError
            If q is no configuration, or the model has no such frame.
        """
        super().hold(model, q)
        X = self._target
        X[9:] += X[:9].reshape(3, 3) @ self.axis
        X[:9] = np.eye(3).ravel()
        return self


@explain_calls
class CenterOfMassTask(_AtPoint, KinematicTask):
    """The center of mass is to be at a point of the world. The error is c - c_T [m].

    Parameters
    ----------
    target : (3,) array, optional [m]
        It may be set later, by ``task.target = c`` or :meth:`hold`.
    weight : float or (3,) array [1/m]
        Weights (1, 1, 0) leave the height free.
    priority, gain
        See :class:`KinematicTask`.

    Raises
    ------
    InputError
        If an argument has a wrong value.
    """

    kind = COM

    def __init__(
        self, target: ArrayLike | None = None, *, weight: ArrayLike = 1.0, priority: int = 1, gain: float = 1.0
    ):
        super().__init__(weight, priority, gain)
        self._aim(target)

    def hold(self, model: Model, q: ArrayLike) -> Self:
        """Set the target to the center of mass at a configuration, and return the task.

        Parameters
        ----------
        model : Model
        q : (nq,) array [m or rad]

        Raises
        ------
        InputError, ModelError
            If q is no configuration, or the model has no mass.
        """
        self._target[9:] = of_kind(model, Model, "model", "a Model").center_of_mass(q)
        return self

    def _target_of(self, model: Model) -> np.ndarray:
        """Return the numbers of the target."""
        if not model.total_mass:
            raise ModelError(f'the {self.name}: "{model.name}" has no mass, and so no center of mass')
        return self._target


@explain_calls
class PostureTask(KinematicTask):
    """The coordinates are to be those of a posture. The error is the displacement from it, difference(q_T, q).

    Parameters
    ----------
    target : (nq,) array, optional [m or rad]
        It may be set later, by ``task.target = q``.
    weight : float or (nv,) array [1/m or 1/rad]
        One number is that of all coordinates but those of a free joint at the world.
    priority, gain
        See :class:`KinematicTask`.

    Raises
    ------
    InputError
        If an argument has a wrong value.
    """

    kind, goal, rows = POSTURE, False, 0

    def __init__(
        self, target: ArrayLike | None = None, *, weight: ArrayLike = 1.0, priority: int = 1, gain: float = 1.0
    ):
        super().__init__(weight, priority, gain)
        self._models: list[tuple[Model, weakref.ref[np.ndarray]]] = []
        self._posture: np.ndarray | None = None
        if target is not None:
            self.target = target

    @property
    def target(self) -> np.ndarray:
        """The posture (nq,) [m or rad], a copy; an empty array where there is none yet."""
        return np.zeros(0) if self._posture is None else self._posture.copy()

    @target.setter
    def target(self, q: ArrayLike) -> None:
        posture = entries(q, (len(as_numbers(q)) if axes_of(q) == 1 else 0,), "target").copy()
        # all or none
        there = [(model, numbers) for model, at in self._models if (numbers := at()) is not None]
        made = [model.expand(model.validate_configuration(posture, "target")) for model, _ in there]
        for (_, numbers), new in zip(there, made, strict=True):
            numbers[:] = new
        self._posture = posture

    @property
    def has_target(self) -> bool:
        """Whether a target was given."""
        return self._posture is not None

    def _weights(self, model: Model) -> np.ndarray:
        """Return the weights of the coordinates."""
        return _of_coordinates(self._given_weight, model, base=False)

    def _target_of(self, model: Model) -> np.ndarray:
        """Return the numbers of the target, for all joints."""
        numbers = np.full(model.full.nq, np.nan)
        if self._posture is not None:
            numbers[:] = model.expand(model.validate_configuration(self._posture, "target"))
        self._models = [each for each in self._models if each[1]() is not None] + [(model, weakref.ref(numbers))]
        return numbers


def _of_coordinates(weight: np.ndarray, model: Model, base: bool) -> np.ndarray:
    """Weights (nv,); one number is that of all, with or without those of a free joint at the world."""
    if weight.ndim:
        return entries(weight, (model.nv,), "weight", " (nv)").copy()
    found = np.full(model.nv, float(weight))
    for joint in model.joints:
        if not base and joint.kind == "free" and joint.parent == "world":
            found[joint.v_slice] = 0.0
    return found


@explain_calls
class CouplingTask(KinematicTask):
    """A weighted sum of joint coordinates is to have a value. The error is the sum of factor q, less the value.

    Parameters
    ----------
    factors : mapping of joint to float
        Names of joints of one coordinate, and their factors [1/m or 1/rad, or what makes one unit of them].
    value : float, in units of the sum
        It may be set later, by ``task.value = x``.
    weight : float, in units of one over the sum's
    priority, gain
        See :class:`KinematicTask`.

    Raises
    ------
    InputError
        If an argument has a wrong value.
    """

    kind, rows = COUPLING, 1

    def __init__(
        self, factors: Mapping[str, float], value: float = 0.0, *, weight: float = 1.0, priority: int = 1,
        gain: float = 1.0,
    ):  # fmt: skip
        super().__init__(weight, priority, gain)
        self.factors = {}
        for name, factor in mapping(factors, "factors", "names of joints and their factors").items():
            if not np.isfinite(real(factor)):
                raise InputError("factors", factors, f'["{name}"] is {factor!r}; it must be a finite number')
            self.factors[name] = real(factor)
        if not any(self.factors.values()):
            raise InputError("factors", factors, "has no factor but zero; give one joint at least")
        self._numbers: list[weakref.ref[np.ndarray]] = []
        self.value = value

    @property
    def value(self) -> float:
        """The desired value of the sum [m or rad]."""
        return self._value

    @value.setter
    def value(self, value: float) -> None:
        number = real(value)
        if not np.isfinite(number):
            raise InputError("value", value, "must be a finite number")
        self._value = number
        for each in self._numbers:
            if (numbers := each()) is not None:
                numbers[0] = number

    @property
    def has_target(self) -> bool:
        """Whether a target was given, as always."""
        return True

    def _target_of(self, model: Model) -> np.ndarray:
        """Return the value, the factors of the configuration of all joints, and those of the coordinates."""
        full = model.full
        numbers = np.zeros(1 + full.nq + model.nv)
        numbers[0] = self._value
        rates = np.zeros(full.nv)
        for name, factor in self.factors.items():
            at = full.index.one_coordinate(name, self.name)
            numbers[1 + at["iq"]] += factor
            rates[at["iv"]] += factor
        numbers[1 + full.nq :] = rates if model._followers is None else model._followers.contract_force(rates)
        self._numbers = [each for each in self._numbers if each() is not None] + [weakref.ref(numbers)]
        return numbers


@explain_calls
class DampingTask(KinematicTask):
    """The coordinates are to move little: the error is zero, and the Jacobian the identity.

    Parameters
    ----------
    weight : float or (nv,) array [1/m or 1/rad]
        One number is that of all coordinates.
    priority : int
        See :class:`KinematicTask`.

    Raises
    ------
    InputError
        If an argument has a wrong value.
    """

    kind, goal, rows = DAMPING, False, 0

    def __init__(self, weight: ArrayLike = 1e-3, *, priority: int = 1):
        super().__init__(weight, priority, 1.0)
        if not self.priority:
            raise InputError("priority", priority, "must be 1 or more: damping is no equation")
        self._target[:] = 0.0

    def _weights(self, model: Model) -> np.ndarray:
        """Return the weights of the coordinates."""
        return _of_coordinates(self._given_weight, model, base=True)


def numbers_of_task(task: KinematicTask, model: Model) -> tuple[Any, ...]:
    """Return a task as the core takes it: kind, priority, goal, bodies, numbers, target, weights, gain, columns."""
    full = model.full
    (body, E, p), (base, base_E, base_p) = (full.index.place(name) for name in task._frames())
    if task.kind <= LOOK and task._frames()[0] == task._frames()[1]:
        raise InputError(f"the {task.name} is of a frame seen from itself, which never moves")
    numbers = np.concatenate([E.T.ravel(), p, base_E.T.ravel(), base_p, task.axis])
    return (
        task.kind, task.priority, int(task.goal), body, base, numbers, task._target_of(model), task._weights(model),
        task._gain, columns_of(task, model, body, base),
    )  # fmt: skip


def columns_of(task: KinematicTask, model: Model, body: int, base: int) -> list[int]:
    """Return the coordinates that move a task."""
    if task.kind > LOOK:
        return list(range(model.nv))
    full, moves = model.full, set[int]()
    starts = [*full.index.iv.tolist(), full.nv]
    while body != base:
        moves.update(range(starts[max(body, base)], starts[max(body, base) + 1]))
        upper = int(full.flat.parent[max(body, base)])
        body, base = (upper, base) if body > base else (body, upper)
    lead = range(full.nv) if model._followers is None else model._followers.lead_v.tolist()
    return sorted({lead[k] for k in moves})
