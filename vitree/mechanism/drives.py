"""Drives: servos on joints, whose force a variational step solves for."""

from __future__ import annotations

import math
from dataclasses import dataclass

from vitree.arguments import explain_calls, real, shown
from vitree.errors import ModelError
from vitree.mechanism.loads import _OnJoint


@explain_calls
@dataclass(frozen=True)
class Drive(_OnJoint, word="drive"):
    """A servo on a joint of one coordinate: F = kp (target - q) + kd (target rate - rate of q).

    A variational step solves for the force. Where the target rests, its work in a step is minus the gain of the spring
    kp (q - target)^2/2, less dt kd times the square of the mean rate: a drive never gives energy, at any gains and any
    dt. Explicit methods take the force at their stages.

    Parameters
    ----------
    joint : str
        Its name.
    kp : float [N/m or N m/rad]
    kd : float [N s/m or N m s/rad]
    effort_limit : float [N or N m]
        The largest force; none by default.
    velocity_limit : float [m/s or rad/s]
        The speed at which nothing is left of the effort along the motion, as of a DC motor:
        effort_limit (1 - |rate|/velocity_limit). None by default. The joint can be faster.
    target : float or str [m or rad]
        The target, or the name of an input that is.
    target_rate : float or str [m/s or rad/s]
        The rate of the target, or the name of an input.
    gear : float [-]
        Turns of the motor to one of the joint, or radians to a metre. The limits are those of the motor: at the joint
        the effort is ``gear`` times as large, and the speed as small. Gains, target and force are those of the joint.
        The inertia of the rotor is the joint's armature, gear^2 times that at the motor.

    Raises
    ------
    ModelError
        If a gain is negative or not finite, or a limit or the gear is not positive.

    References
    ----------
    The spring's force is a discrete gradient (Gonzalez 1996, "Time integration and discrete Hamiltonian systems").
    """

    joint: str
    kp: float
    kd: float = 0.0
    effort_limit: float = math.inf
    velocity_limit: float = math.inf
    target: float | str = 0.0
    target_rate: float | str = 0.0
    gear: float = 1.0

    def __post_init__(self) -> None:
        for name in ("kp", "kd"):
            value = real(getattr(self, name))
            if not 0 <= value < math.inf:
                given = shown(getattr(self, name))
                raise ModelError(f"{name} of the {self.name} is {given}; a gain is a finite number, zero or more")
            object.__setattr__(self, name, value)
        for name in ("effort_limit", "velocity_limit", "gear"):
            value = real(getattr(self, name))
            if not value > 0 or (name == "gear" and value == math.inf):
                raise ModelError(f"{name} of the {self.name} is {shown(getattr(self, name))}; it must be positive")
            object.__setattr__(self, name, value)
        if self.velocity_limit < math.inf and self.effort_limit == math.inf:
            raise ModelError(f"the {self.name} has a velocity_limit and no effort_limit; give both")
        for name in ("target", "target_rate"):
            value = getattr(self, name)
            if not isinstance(value, str):
                if not math.isfinite(real(value)):
                    raise ModelError(f"{name} of the {self.name} is {shown(value)}; it must be a finite number, or the "
                                     "name of an input")  # fmt: skip
                object.__setattr__(self, name, real(value))

    @property
    def inputs(self) -> tuple[str, ...]:
        """Names of its inputs."""
        return tuple(x for x in (self.target, self.target_rate) if isinstance(x, str))
