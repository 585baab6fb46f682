"""The costs and path constraints of optimal control, as a user states them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import KW_ONLY, dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import ArrayLike

from vitree.arguments import axes_of, entries, real
from vitree.errors import InputError
from vitree.spatial.rotations import proper_rotation

# ---- sums over steps --------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class QuadraticCost:
    """The cost sum of x^T Q x + u^T R u over the steps, plus x^T Q_end x at the end.

    x = (d, p - goal_p) has the displacement d = ``model.difference(goal, q)`` from the goal, and the momenta. u are the
    controls of the actuators less ``goal_u``.

    Parameters
    ----------
    goal : (nq,) or (steps + 1, nq) array, optional [m or rad]
        The desired configuration, or one for each node. It may be left out where a :class:`FrameCost` says what the
        robot is to do; x is then measured from the start.
    R : (m, m) or (m,) array, in units of the cost over those of the controls
        Positive definite; a row is a diagonal.
    Q : (2 nv, 2 nv) or (2 nv,) array, in units of the cost over those of the state
        Positive semidefinite; may be zero.
    Q_end : (2 nv, 2 nv) or (2 nv,) array, in units as Q, optional
        Q if not given.
    goal_p : (nv,) or (steps + 1, nv) array, optional [kg m/s or kg m^2/s]
        The desired momenta; zero if not given.
    goal_u : (m,) or (steps, m) array, optional, in units of the controls
        The controls that cost nothing; zero if not given.

    References
    ----------
    Anderson & Moore 1990, "Optimal control: linear quadratic methods".
    """

    applies_to: ClassVar[str] = "optimize_motion and MotionProblem"

    goal: ArrayLike | None = None
    _: KW_ONLY
    R: ArrayLike
    Q: ArrayLike = 0.0
    Q_end: ArrayLike | None = None
    goal_p: ArrayLike | None = None
    goal_u: ArrayLike | None = None


@dataclass(frozen=True, eq=False)
class FrameCost:
    """The cost weight |x - point|^2 + turn_weight |r|^2 of the pose of a frame.

    x is the position of the frame's origin, and r the rotation vector from ``rotation`` to the frame's axes. The cost
    is summed over the starts of all steps; the weights ``..._end`` apply at the end of the motion.

    Parameters
    ----------
    frame : str
    point : (3,) or (steps + 1, 3) array, optional [m]
        The desired position of the frame's origin in the world: one for all nodes, or one for each.
    rotation : (3, 3) array, optional [-]
        The desired axes of the frame, as columns in world axes.
    weight, weight_end : float, in units of the cost over m^2
        Of the distance, in each step and at the end.
    turn_weight, turn_weight_end : float, in units of the cost over rad^2
        Of the turn.

    Raises
    ------
    InputError
        If a number is wrong, no weight is positive, or a weight has no target.
    ModelError
        If ``rotation`` is no rotation matrix.
    """

    applies_to: ClassVar[str] = "optimize_motion and MotionProblem"

    frame: str
    point: ArrayLike | None = None
    rotation: ArrayLike | None = None
    weight: float = 0.0
    weight_end: float = 0.0
    turn_weight: float = 0.0
    turn_weight_end: float = 0.0

    def __post_init__(self) -> None:
        weights = ("weight", "weight_end", "turn_weight", "turn_weight_end")
        for name in weights:
            value = real(getattr(self, name))
            if not 0 <= value < np.inf:
                raise InputError(name, getattr(self, name), "must be a number, zero or positive")
            object.__setattr__(self, name, value)
        if not any(getattr(self, name) for name in weights):
            raise InputError(f'the cost of the frame "{self.frame}" has no weight: give one of {", ".join(weights)}')
        for target, of in (("point", weights[:2]), ("rotation", weights[2:])):
            if getattr(self, target) is None and any(getattr(self, name) for name in of):
                raise InputError(f"the cost of the frame \"{self.frame}\" has {' or '.join(of)}: give {target}")
        if self.point is not None:
            shape = (len(np.asarray(self.point)), 3) if axes_of(self.point) == 2 else (3,)
            object.__setattr__(self, "point", entries(self.point, shape, "point").copy())
        if self.rotation is not None:
            object.__setattr__(self, "rotation", proper_rotation(self.rotation, f'the target of "{self.frame}"'))


# ---- integrals over time ----------------------------------------------------------------------------------


@dataclass(frozen=True)
class PostureCost:
    """The cost of deviations of a robot from desired configurations.

    It is the integral of weight . d^2 over time, taken at the start of each step, plus weight_end . d^2 at the last
    node, with the deviation d = ``model.difference(q_desired, q)``.

    Parameters
    ----------
    q : (nq,) or (N + 1, nq) array [m or rad]
        The desired configuration, or one for each node.
    weight : float or (nv,) array [1/(rad^2 s) or 1/(m^2 s)]
    weight_end : float or (nv,) array [1/rad^2 or 1/m^2]
    """

    applies_to: ClassVar[str] = "MotionProblem"

    q: ArrayLike
    weight: ArrayLike = 0.0
    weight_end: ArrayLike = 0.0


@dataclass(frozen=True)
class PositionCost:
    """The cost of the distance of a robot's frame from a desired position, weighted as in :class:`PostureCost`.

    Parameters
    ----------
    frame : str
    point : (3,) or (N + 1, 3) array [m]
        The desired position of the frame's origin in the world, or one for each node.
    weight : float or (3,) array [1/(m^2 s)]
        Along the world's axes.
    weight_end : float or (3,) array [1/m^2]
    """

    applies_to: ClassVar[str] = "MotionProblem"

    frame: str
    point: ArrayLike
    weight: ArrayLike = 0.0
    weight_end: ArrayLike = 0.0


@dataclass(frozen=True)
class MomentumCost:
    """The integral of weight . p^2 over the momenta of a robot, plus weight_end . p^2 at the last node.

    Parameters
    ----------
    weight : float or (nv,) array [s/(kg^2 m^2) or s/(kg^2 m^4)]
    weight_end : float or (nv,) array [s^2/(kg^2 m^2) or s^2/(kg^2 m^4)]
    """

    applies_to: ClassVar[str] = "MotionProblem"

    weight: ArrayLike = 0.0
    weight_end: ArrayLike = 0.0


@dataclass(frozen=True)
class VelocityCost:
    """The integral of weight . v^2, where v is the velocity of a step: for a robot, its displacement over dt.

    Parameters
    ----------
    weight : float or (nv,) array [s/rad^2 or s/m^2]
    """

    applies_to: ClassVar[str] = "ControlProblem and MotionProblem"

    weight: ArrayLike = 1.0


@dataclass(frozen=True)
class TorqueCost:
    """The integral of weight . u^2, where u are the forces of the actuators of a robot, or the inputs of a vehicle.

    Parameters
    ----------
    weight : float or (m,) array [1/(N^2 m^2 s) or 1/(N^2 s)]
    """

    applies_to: ClassVar[str] = "ControlProblem and MotionProblem"

    weight: ArrayLike = 1.0


@dataclass(frozen=True)
class TensionCost:
    """The integral of weight . T^2, where T are the tensions of strings, their impulses over dt.

    Parameters
    ----------
    weight : float or (s,) array [1/(N^2 s)]
    """

    applies_to: ClassVar[str] = "MotionProblem"

    weight: ArrayLike = 1.0


@dataclass(frozen=True)
class EffortCost:
    """The integral of weight * sum_i weights_i (u_i - trim_i)^2: the inputs as shares of their bounds.

    Parameters
    ----------
    weight : float [-]
    weights : mapping of str to float, optional
        By name of the input [1 / input^2]. An input without a weight has 1 / (largest bound)^2, or 1 without bounds.
    """

    applies_to: ClassVar[str] = "ControlProblem and MotionProblem"

    weight: float = 1.0
    weights: Mapping[str, float] | None = None


@dataclass(frozen=True)
class TimeCost:
    """The cost ``weight`` * duration, weight [1/s]."""

    applies_to: ClassVar[str] = "ControlProblem and MotionProblem"

    weight: float = 1.0


@dataclass(frozen=True)
class RunningCost:
    """The integral of a user-defined function along the motion of a vehicle, times ``weight``.

    Parameters
    ----------
    rate : callable (t, q, v, u) -> (..., n) array
        Takes t (..., n), q (..., n, nq), v (..., n, nv), u (..., n, nu): one entry for each interval, with q at its
        start. Returns the cost per second, in units of the cost. Without a gradient it must take complex numbers.
    gradient : callable, optional
        Takes the same. Returns the derivatives by t, q, v and u: (..., n), (..., n, nq), (..., n, nv), (..., n, nu).
    weight : float [-]
    """

    applies_to: ClassVar[str] = "ControlProblem"

    rate: Callable[..., np.ndarray]
    gradient: Callable[..., tuple[np.ndarray, ...]] | None = None
    weight: float = 1.0


@dataclass(frozen=True)
class PathConstraint:
    """The constraint lower <= function(t, q, v, u) <= upper at the start of each interval of a vehicle's motion.

    Parameters
    ----------
    name : str
        For messages.
    function : callable (t, q, v, u) -> (..., n) array
        Takes the arguments of the rate of a :class:`RunningCost`, complex numbers included. Returns the constrained
        quantity, in units of the bounds.
    lower, upper : float
        In units of the function's result.
    """

    name: str
    function: Callable[..., np.ndarray]
    lower: float = -np.inf
    upper: float = np.inf


#: Costs that may be given by a word.
NAMED: Mapping[str, EffortCost | TorqueCost | TimeCost] = {
    "effort": EffortCost(), "torque": TorqueCost(), "time": TimeCost(),
}  # fmt: skip
