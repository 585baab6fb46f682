"""Encoders of joints."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from vitree.arguments import several
from vitree.errors import InputError
from vitree.mechanism.flat import PRISMATIC
from vitree.model.model import Model
from vitree.model.system import System
from vitree.results.recording import Recording
from vitree.sensors.base import Sensor, numbers_of_errors, quiet, require_finite
from vitree.sensors.course import Course, model_of, require_model

#: Counts beyond this are no whole numbers in floating point.
MOST_COUNTS = 2.0**53


class EncoderSample(NamedTuple):
    """What encoders read of one state: ``position`` (n,) [m or rad] and ``velocity`` (n,) [m/s or rad/s]."""

    position: np.ndarray
    velocity: np.ndarray


@dataclass(frozen=True, eq=False)
class EncoderReadings:
    """What encoders read of a trajectory.

    Attributes
    ----------
    names : tuple of str
        The n coordinates.
    t : (m,) array [s]
        When a reading is there.
    taken : (m,) array [s]
        When its state was: t - delay.
    position : (m, n) array [m or rad]
    velocity : (m, n) array [m/s or rad/s]
        The difference of positions from the reading before, over the time between the two; NaN in the first row.
    counts : (m, n) array of int, or None
        The positions in units of the resolution, if there is one.
    warnings : tuple of str
        What was odd, in sentences.
    units : dict
        The unit of each array by its name; of position and velocity a tuple, one of each coordinate.
    """

    names: tuple[str, ...]
    t: np.ndarray
    taken: np.ndarray
    position: np.ndarray
    velocity: np.ndarray
    counts: np.ndarray | None
    units: dict[str, str | tuple[str, ...]]
    warnings: tuple[str, ...] = ()


@dataclass(frozen=True)
class Encoder(Sensor):
    """Encoders of joints, all of one clock.

    Parameters
    ----------
    joints : sequence of str, optional
        Names of joints; all but ball and free ones if not given. Those that follow others in a reduced model have their
        own position.
    resolution : float or (n,) array, optional [m or rad]
        Step of the position, as 2 pi / 4096 of a twelve-bit encoder: positions are rounded to it.
    rate : float, optional [1/s]
        Readings a second; one at each record of a trajectory if not given.
    delay : float [s]
        The reading at t is of the state at t - delay.
    bias : float or (n,) array [m or rad]
        What is added to the positions.
    noise : float or (n,) array [m or rad]
        Standard deviation of each position, before it is rounded.
    seed : int, optional
        Of NumPy's generator of the noise: readings repeat bit for bit. 0 if not given; only with noise.

    Raises
    ------
    InputError
        If an argument is wrong.
    """

    joints: Sequence[str] | None = None
    resolution: ArrayLike | None = None

    def __post_init__(self) -> None:
        if self.joints is not None:
            names = several(self.joints, "joints", "a sequence of names of joints, or None")
            if not all(isinstance(name, str) for name in names):
                raise InputError("joints", self.joints, "must be names of joints")
            object.__setattr__(self, "joints", names)
        if self.resolution is not None:
            steps = numbers_of_errors("resolution", self.resolution)
            if not np.min(steps, initial=1.0) > 0:
                raise InputError("resolution", self.resolution, "must be positive [m or rad], or None")
            object.__setattr__(self, "resolution", steps)
        super().__post_init__()

    @quiet
    def read(self, trajectory: Recording, model: System | None = None) -> EncoderReadings:
        """Return what the encoders read of a ``trajectory``; ``model`` is that of one from a file.

        Raises
        ------
        UnknownNameError
            If there is no such joint.
        InputError
            If the trajectory has no system or no records, a joint is a ball or free one, or numbers do not fit the
            coordinates; and if a ball or free joint turns so much between two records that nothing is known between
            them.
        """
        known = model_of(trajectory, model)
        places, _ = self._places(known)
        course = Course(trajectory, known)
        taken, warnings = self._taken(course)
        exact = known.expand(np.array([course.at(t)[0] for t in taken.tolist()]))[:, places]
        position = exact + self._added(len(taken), len(places))
        counts = None
        if self.resolution is not None:
            steps = np.asarray(self.resolution)
            rounded = np.rint(position / steps)
            if not np.abs(rounded).max(initial=0.0) < MOST_COUNTS:
                raise InputError(
                    "resolution", self.resolution,
                    "is too small: counts of the positions are too large for whole numbers; give a larger one"
                )
            counts, position = rounded.astype(np.int64), rounded * steps
        velocity = np.full_like(position, np.nan)
        velocity[1:] = np.diff(position, axis=0) / np.diff(taken)[:, None]
        require_finite(position, velocity[1:])
        kinds = np.asarray(known.full.flat.kind)[np.searchsorted(known.full._iq, places)]
        units: dict[str, str | tuple[str, ...]] = {"t": "s", "taken": "s"}
        units["position"] = tuple("m" if kind == PRISMATIC else "rad" for kind in kinds)
        units["velocity"] = tuple(f"{unit}/s" for unit in units["position"])
        names = tuple(known.full.q_names[k] for k in places)
        return EncoderReadings(names, taken + self.delay, taken, position, velocity, counts, units, warnings)

    def sample(
        self, model: System, t: float, q: ArrayLike, v: ArrayLike, a: ArrayLike | None = None
    ) -> EncoderSample:
        """Return the exact positions and velocities of one state, without delay, bias, noise and rounding.

        Parameters
        ----------
        model : Model
        t : float
            Not used [s].
        q : (nq,) array [m or rad]
        v : (nv,) array [m/s or rad/s]
        a : (nv,) array, optional [m/s^2 or rad/s^2]
            Not used.

        Raises
        ------
        UnknownNameError
            If there is no such joint.
        InputError
            If a joint is a ball or free one, numbers do not fit the coordinates, or q or v is wrong.
        """
        known = require_model(model)
        places, rates = self._places(known)
        q, v = known.validate_configuration(q), known.validate_velocity(v)
        return EncoderSample(known.expand(q)[places], known.expand_velocity(v)[rates])

    def _places(self, model: Model) -> tuple[np.ndarray, np.ndarray]:
        """The places of the coordinates in q and v of the full model."""
        full, several_of = model.full, ("ball", "free")
        if self.joints is None:
            chosen = [joint for joint in full.joints if joint.kind not in several_of]
        else:
            chosen = [full.joint(name) for name in self.joints]
        for joint in chosen:
            if joint.kind in several_of:
                raise InputError(
                    "joints", self.joints,
                    f'has "{joint.name}", a {joint.kind} joint, whose rotation is no coordinate that an encoder has; '
                    "leave it out"
                )
        if not chosen:
            raise InputError("joints", self.joints, f'has no joint of "{model.name}" with an encoder')
        q, v = (np.concatenate([np.arange(getattr(joint, name).start, getattr(joint, name).stop) for joint in chosen])
                for name in ("q_slice", "v_slice"))  # fmt: skip
        for name in ("bias", "noise", "resolution"):
            size = np.size(getattr(self, name))
            if isinstance(getattr(self, name), tuple) and size != len(q):
                raise InputError(
                    name, getattr(self, name),
                    f"has {size} numbers; it must be one, or {len(q)} for "
                    + ", ".join(f'"{full.q_names[k]}"' for k in q[:8].tolist())
                    + (", ..." * (len(q) > 8))
                )
        return q, v
