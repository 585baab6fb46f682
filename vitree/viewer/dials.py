"""Dials: numbers that set a configuration, one for each coordinate; roll, pitch and yaw stand for a quaternion."""

from __future__ import annotations

import contextlib
import warnings
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike
from scipy.spatial.transform import Rotation

from vitree.errors import VitreeError
from vitree.model.closures import satisfy_constraints
from vitree.model.model import Model
from vitree.model.placement import place_on_ground
from vitree.model.system import System
from vitree.wording import visible

TURNS = ("roll", "pitch", "yaw")


@dataclass(frozen=True)
class Dial:
    """One number: ``q[index]``, or the angle ``turn`` (0, 1, 2) of the quaternion that starts at ``index``."""

    name: str
    unit: str
    index: int
    low: float
    high: float
    turn: int | None = None
    joint: str = ""

    @property
    def label(self) -> str:
        """The name and the unit."""
        name = visible(self.name)
        return f"{name} [{self.unit}]" if self.unit else name


class Dials:
    """The dials of a system, and the configuration that they are turned to.

    Parameters
    ----------
    system : System
    extent : float
        Largest value of lengths without limits [m].
    q : (nq,) array, optional
        Configuration at the start. The default satisfies the constraints and is near the neutral one.
    """

    def __init__(self, system: System, extent: float, q: ArrayLike | None = None) -> None:
        self.system = system
        if q is None:
            q = _to_start_from(system)
        self.start = system.validate_configuration(q)
        self.q = self.start.copy()
        self.dials = list(self._dials(extent))

    def _dials(self, extent: float) -> Iterator[Dial]:
        low, high, angular = self._ranges(extent)
        quaternions = {int(k) for k in self.system._quaternions}
        inner = {k + i for k in quaternions for i in (1, 2, 3)}
        of_shape = dict.fromkeys(getattr(self.system, "shape_names", ()), "") | dict(
            getattr(self.system, "shape_units", {})
        )
        of = {k: joint.name for joint in self.system.joints for k in range(joint.q_slice.start, joint.q_slice.stop)}
        for k, name in enumerate(self.system.q_names):
            if k in quaternions:
                stem = name.rpartition(".")[0] or "body"
                for turn, word in enumerate(TURNS):
                    most = 1.57 if turn == 1 else 3.141
                    yield Dial(f"{stem}.{word}", "rad", k, -most, most, turn, of.get(k, ""))
            elif k not in inner:
                unit = of_shape.get(name, "rad" if angular[k] else "m")
                unit = "" if unit == "1" else unit
                yield Dial(name, unit, k, low[k], high[k], joint=of.get(k, ""))

    def _ranges(self, extent: float) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Return the lowest and the highest value of each entry of q, and whether it is an angle."""
        system = self.system
        if isinstance(system, Model):
            angular = system._angular()
        else:
            angular = np.array([name.rpartition(".")[2] not in ("x", "y", "z") for name in system.q_names])
        reach = np.where(angular, np.pi, rounded_up(max(extent, 0.1)))
        low, high = np.minimum(-reach, self.start), np.maximum(reach, self.start)
        for joint in system.joints:
            place, lower, upper = joint.q_slice, joint.lower, joint.upper
            if len(lower) == place.stop - place.start:
                low[place] = np.where(np.isfinite(lower), lower, low[place])
                high[place] = np.where(np.isfinite(upper), upper, high[place])
        # A start outside the limits widens the range. Below a slider few digits can be read.
        low, high = outward(np.minimum(low, self.start), np.maximum(high, self.start))
        for name, most in dict(getattr(system, "shape_limits", {})).items():  # a vehicle does not pass them
            k, most = system.q_names.index(name), np.trunc(1e4 * most) / 1e4
            low[k], high[k] = min(-most, self.start[k]), max(most, self.start[k])
        return low, high, angular

    def value(self, dial: Dial) -> float:
        """Return the value of a dial."""
        if dial.turn is None:
            return float(self.q[dial.index])
        return float(self._angles(dial.index)[dial.turn])

    def turn(self, dial: Dial, value: float) -> bool:
        """Turn one dial, and the joints that constraints bind to it; return False, and move none, if that fails."""
        q = self.q.copy()
        if dial.turn is None:
            q[dial.index] = value
        else:
            angles = self._angles(dial.index)
            angles[dial.turn] = value
            q[dial.index : dial.index + 4] = Rotation.from_euler("xyz", angles).as_quat()
        system = self.system
        try:
            if isinstance(system, Model) and system.constraints:
                joint = next(j.name for j in system.joints if j.q_slice.start <= dial.index < j.q_slice.stop)
                q = satisfy_constraints(system, q, hold=[joint])
            self.q = system.validate_configuration(q)
        except VitreeError:
            return False
        return True

    def reset(self, q: ArrayLike | None = None) -> None:
        """Set the configuration, or that of the start if none is given."""
        self.q = self.start.copy() if q is None else self.system.validate_configuration(q)

    def _angles(self, index: int) -> np.ndarray:
        with warnings.catch_warnings():  # at gimbal lock SciPy chooses one of the solutions, and warns
            warnings.simplefilter("ignore")
            found: np.ndarray = Rotation.from_quat(self.q[index : index + 4]).as_euler("xyz")
            return found


def outward(low: np.ndarray, high: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return ranges, and a little more where their ends would have more digits than a thousandth of the range has."""
    unit = 10.0 ** (np.floor(np.log10(np.maximum(high - low, 1e-9))) - 3)
    low, high = np.floor(low / unit + 1e-6) * unit, np.ceil(high / unit - 1e-6) * unit
    short = np.vectorize(lambda end: float(f"{end:.9g}") + 0.0, otypes=[float])  # and no -0
    return short(low), short(high)


def rounded_up(value: float) -> float:
    """Return the least number of two digits that is not below a positive one."""
    unit = 10.0 ** (np.floor(np.log10(value)) - 1)
    return float(f"{np.ceil(value / unit * (1 - 1e-12)) * unit:.2g}")


def _to_start_from(system: System) -> np.ndarray:
    """Return a configuration near the start that satisfies the constraints; what floats is set on the ground."""
    q = system.start
    if isinstance(system, Model) and system.ground is not None and any(joint.kind == "free" for joint in system.joints):
        with contextlib.suppress(VitreeError):
            q = place_on_ground(system, q)
    if not (isinstance(system, Model) and system.constraints):
        return q
    rng, free = np.random.default_rng(0), ~np.asarray(system.flat.kinematic, dtype=bool)
    for size in (0.0, 0.1, 0.3, 1.0):  # the neutral configuration may be singular
        try:
            return satisfy_constraints(system, system.integrate(q, size * rng.normal(size=system.nv) * free))
        except VitreeError:
            continue
    return q
