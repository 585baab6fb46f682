"""Domain randomisation by name, commands that are drawn, and grids of points whose heights are scanned."""

from __future__ import annotations

import zlib
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from vitree.arguments import explain_calls, mapping, numbers_of, real
from vitree.errors import InputError, UnknownNameError
from vitree.gym.layout import Layout, fitting, ranges_of
from vitree.gym.state import FIELDS
from vitree.mechanism.contacts import Ground
from vitree.model.contacts import least_gaps
from vitree.model.frictions import friction_by_frames
from vitree.model.model import Model

#: Most steps in which a robot is raised out of the ground.
RAISES = 8
#: A range (low, high), or one number.
Range = ArrayLike
#: Ranges by names or patterns of names.
Ranges = Mapping[str, Range]


def _ranges(given: object, name: str) -> dict[str, tuple[float, float]]:
    found = mapping(given, name, "a mapping of names or patterns to ranges (low, high)")
    return {str(key): ranges_of(value, f'{name}["{key}"]') for key, value in found.items()}


def _positive(pair: tuple[float, float], name: str) -> tuple[float, float]:
    if not 0 < pair[0] <= pair[1] < np.inf:
        raise InputError(name, pair, "must be positive and finite")
    return pair


@explain_calls
@dataclass(frozen=True)
class Command:
    """Commands of a robot, such as velocities to follow, drawn uniformly.

    Parameters
    ----------
    ranges : mapping of name to (low, high)
        One entry of ``State.command`` each [units as the task has them].
    interval : float or (low, high), optional [s]
        Time after which another command is drawn, within a range; once an episode if not given.
    zero : float
        Share of commands that are zero, from 0 to 1.

    Raises
    ------
    InputError
        If a number is out of its range.
    """

    ranges: Ranges
    interval: Range | None = None
    zero: float = 0.0

    def __post_init__(self) -> None:
        object.__setattr__(self, "ranges", _ranges(self.ranges, "ranges"))
        if self.interval is not None:
            object.__setattr__(self, "interval", _positive(ranges_of(self.interval, "interval"), "interval"))
        if not 0 <= real(self.zero) <= 1:
            raise InputError("zero", self.zero, "must be a share from 0 to 1")

    def sample(self, rng: np.random.Generator, count: int) -> np.ndarray:
        """Return ``count`` commands, (count, c) [units as the ranges], drawn by a generator ``rng``."""
        pairs: Any = np.array([*self.ranges.values()], dtype=float).reshape(-1, 2)
        found: np.ndarray = rng.uniform(pairs[:, 0], pairs[:, 1], (count, len(pairs)))
        found[rng.random(count) < self.zero] = 0.0
        return found


@explain_calls
@dataclass(frozen=True)
class Pushes:
    """Impulses on the base at random times, in a random horizontal direction.

    Parameters
    ----------
    impulse : float or (low, high) [N s]
        Their size.
    interval : float or (low, high) [s]
        Time between two of them.

    Raises
    ------
    InputError
        If a number is out of its range.
    """

    impulse: Range
    interval: Range

    def __post_init__(self) -> None:
        for name in ("impulse", "interval"):
            object.__setattr__(self, name, _positive(ranges_of(getattr(self, name), name), name))

    def sample(self, rng: np.random.Generator, count: int) -> np.ndarray:
        """Return ``count`` impulses (count, 3) [N s], drawn by a generator ``rng``."""
        size, angle = rng.uniform(*_pair(self.impulse), count), rng.uniform(0, 2 * np.pi, count)
        return np.stack([size * np.cos(angle), size * np.sin(angle), np.zeros(count)], axis=1)


@explain_calls
@dataclass(frozen=True)
class HeightScan:
    """A grid of points about the base, in its heading, under which the ground is scanned.

    Parameters
    ----------
    x, y : (k,) arrays [m]
        Forward and to the left of the base; all pairs of them are points, x slowest.

    Raises
    ------
    InputError
        If they are no numbers.
    """

    x: ArrayLike
    y: ArrayLike

    def __post_init__(self) -> None:
        for name in ("x", "y"):
            value = np.atleast_1d(numbers_of(getattr(self, name), name).astype(float))
            if value.ndim != 1 or not np.isfinite(value).all():
                raise InputError(name, getattr(self, name), "must be a list of finite numbers")
            object.__setattr__(self, name, tuple(value.tolist()))

    def heights(self, ground: Ground, position: np.ndarray, heading: np.ndarray) -> np.ndarray:
        """Return how far bases are above the ground under the points, (n, k) [m].

        Parameters
        ----------
        ground : Ground
        position : (n, 3) array [m]
        heading : (n,) array [rad]
        """
        x, y = (each.ravel() for each in np.meshgrid(np.array(self.x), np.array(self.y), indexing="ij"))
        c, s = np.cos(heading)[:, None], np.sin(heading)[:, None]
        at = np.stack([position[:, :1] + c * x - s * y, position[:, 1:2] + s * x + c * y], axis=-1)
        return np.asarray(position[:, 2:3] - ground_heights(ground, at.reshape(-1, 2)).reshape(at.shape[:2]))


def ground_heights(ground: Ground, at: np.ndarray) -> np.ndarray:
    """Return the height (n,) [m] of a ground at places (n, 2) [m]: that of its highest part there."""
    found = np.full(len(at), -np.inf)
    if ground.terrain is not None:
        found = np.maximum(found, ground.terrain.heights_and_slopes(at)[:, 0])
    for nx, ny, nz, d in ground.half_spaces:
        if nz > 0:
            found = np.maximum(found, (d - at @ np.array([nx, ny])) / nz)
    return found


@explain_calls
@dataclass(frozen=True)
class Randomization:
    """What is drawn anew for each episode, uniformly within ranges; what is not named stays as it is.

    Each entry draws from a stream of its own that the seed of ``reset`` begins: another entry changes none of its
    numbers.

    Parameters
    ----------
    mass : mapping of link to (low, high)
        Factors of masses, and of inertias with them, by names or patterns of links.
    friction : float or (low, high), optional
        Coefficient of sliding friction of the ground and of all contacts, without unit. They have no torsional and
        rolling friction then.
    gains : mapping of joint to (low, high)
        Factors of the gains kp, and others of kd, by names or patterns of driven joints.
    positions, velocities : mapping of coordinate to (low, high)
        What is added to the start, by names or patterns of ``q_names`` and ``v_names`` of joints of one coordinate
        [m or rad, m/s or rad/s]; velocities may be those of a free base as well. A free base is raised where parts of
        the robot would be in the ground.
    pushes : Pushes, optional
    latency : float or (low, high) [s]
        Time from an action to its effect, in whole steps of the integrator; until then the action before acts.
    noise : mapping of quantity to number
        Half the width of uniform noise of observations, by their names in ``observe``, before they are scaled [units as
        the quantities have them].

    Raises
    ------
    InputError, UnknownNameError
        If a range is wrong, or a quantity of the noise is not known.
    """

    mass: Ranges = field(default_factory=dict)
    friction: Range | None = None
    gains: Ranges = field(default_factory=dict)
    positions: Ranges = field(default_factory=dict)
    velocities: Ranges = field(default_factory=dict)
    pushes: Pushes | None = None
    latency: Range = 0.0
    noise: Mapping[str, float] = field(default_factory=dict)

    def __post_init__(self) -> None:
        for name in ("mass", "gains", "positions", "velocities"):
            object.__setattr__(self, name, _ranges(getattr(self, name), name))
        for name in ("mass", "gains"):
            for key, pair in getattr(self, name).items():
                _positive(pair, f'{name}["{key}"]')
        for name in ("friction", "latency"):
            value = getattr(self, name)
            if value is not None:
                pair = ranges_of(value, name)
                if not 0 <= pair[0] <= pair[1] < np.inf:
                    raise InputError(name, value, "must be zero or more, and finite")
                object.__setattr__(self, name, pair)
        if self.pushes is not None and not isinstance(self.pushes, Pushes):
            raise InputError("pushes", self.pushes, "must be Pushes(impulse, interval)")
        noise = mapping(self.noise, "noise", "a mapping of quantities to numbers")
        for name, width in noise.items():
            if name not in FIELDS:
                raise UnknownNameError("quantity", name, FIELDS, argument="noise")
            if not 0 <= real(width) < np.inf:
                raise InputError(f'noise["{name}"]', width, "must be zero or more, and finite")
        object.__setattr__(self, "noise", {name: float(width) for name, width in noise.items()})


class Streams:
    """Generators by name, all begun by one seed: what one draws does not depend on the others."""

    def __init__(self, seed: int = 0):
        self.begin(seed)

    def begin(self, seed: int) -> None:
        """Begin anew with a seed."""
        self._seed = int(seed)
        self._known: dict[str, np.random.Generator] = {}

    def __getitem__(self, name: str) -> np.random.Generator:
        if name not in self._known:
            self._known[name] = np.random.default_rng([zlib.crc32(name.encode()), self._seed])
        return self._known[name]


class Drawn:
    """What a :class:`Randomization` means for a model: models, starts and latencies that are drawn.

    Raises the errors of names that the model does not have.
    """

    def __init__(self, model: Any, layout: Layout, of: Randomization, dt: float):
        self.model, self.of, self.streams = model, of, Streams()
        self._base, self._touches = layout.base, bool(layout.signs.size)
        #: whether episodes have models of their own
        self.models = bool(of.mass or of.friction is not None or of.gains)
        if self.models and type(model) is not Model:
            raise InputError(f'randomization of "{model.name}": mass, friction and gains are of a plain vt.Model')
        flat = getattr(model, "flat", None)
        links = [] if flat is None else [n for n, m in zip(flat.link_names, flat.link_mass, strict=True) if m > 0]
        drives = {drive.joint: drive for drive in getattr(model, "drives", ())}
        self._mass = _by_name(of.mass, links, "link with mass", "mass")
        self._gains = _by_name(of.gains, drives, "driven joint", "gains")
        self._drives = drives
        q_names = np.array(model.q_names)[layout.joints_q].tolist()
        self._q = _by_name(of.positions, q_names, "coordinate", "positions")
        self._v = _by_name(of.velocities, model.v_names, "velocity", "velocities")
        if of.friction is not None:
            friction_by_frames(model.flat, 0.5)  # that something may touch
        if of.pushes is not None:
            layout.require_base("pushes")
        low, high = _pair(of.latency)
        #: latencies are drawn from these numbers of steps
        self.latency = round(low / dt), round(high / dt)

    def systems(self, count: int) -> list[Model]:
        """Return models of ``count`` episodes."""
        numbers = {
            "mass": self._drawn(self._mass, count, "mass"), "kp": self._drawn(self._gains, count, "kp"),
            "kd": self._drawn(self._gains, count, "kd"),
        }  # fmt: skip
        friction = None
        if self.of.friction is not None:
            friction = self.streams["friction"].uniform(*_pair(self.of.friction), count)
        return [self._system({key: rows[k] for key, rows in numbers.items()}, None if friction is None else friction[k])
                for k in range(count)]  # fmt: skip

    def _system(self, numbers: dict[str, np.ndarray], friction: float | None) -> Model:
        model, flat, more = self.model, self.model.flat, dict[str, Any]()
        if self._mass:
            place = {name: k for k, name in enumerate(flat.link_names)}
            factors = dict(zip(self._mass, numbers["mass"].tolist(), strict=True))
            more["mass"] = {name: x * flat.link_mass[place[name]] for name, x in factors.items()}
            more["inertia"] = {name: x * np.asarray(flat.link_inertia[place[name]]) for name, x in factors.items()}
        if self._gains:
            more["gains"] = {
                name: (a * self._drives[name].kp, b * self._drives[name].kd)
                for name, a, b in zip(self._gains, numbers["kp"].tolist(), numbers["kd"].tolist(), strict=True)
            }
        if friction is not None:
            more["contact_friction"] = float(friction)
        return model.with_parameters(**more)  # type: ignore[no-any-return]

    def _drawn(self, ranges: dict[str, tuple[float, float]], count: int, stream: str) -> np.ndarray:
        pairs = np.array([*ranges.values()], dtype=float).reshape(-1, 2)
        found: np.ndarray = self.streams[stream].uniform(pairs[:, 0], pairs[:, 1], (count, len(pairs)))
        return found

    def add_to_starts(self, q: np.ndarray, v: np.ndarray) -> None:
        """Add to starts (n, nq) and (n, nv) what is drawn for them."""
        for array, ranges, names, stream in ((q, self._q, self.model.q_names, "positions"),
                                             (v, self._v, self.model.v_names, "velocities")):  # fmt: skip
            if ranges:
                at = [list(names).index(name) for name in ranges]
                array[:, at] += self._drawn(ranges, len(array), stream)
        if self._q and self._base is not None and self._touches:
            self._raise(q, self._base[0] + 2)

    def _raise(self, q: np.ndarray, z: int) -> None:
        """Raise bases until nothing is in the ground: at once on a plane, and by some more steps on a slope."""
        below = np.arange(len(q))
        for _ in range(RAISES):
            least = least_gaps(self.model.full, np.ascontiguousarray(self.model.expand(q[below])))
            below, least = below[least < 0], least[least < 0]
            if not len(below):
                return
            q[below, z] -= least * (1 + 1e-12)

    def waits(self, interval: Range, stream: str, count: int) -> np.ndarray:
        """Return times (count,) [s] of an interval."""
        return self.streams[stream].uniform(*_pair(interval), count)

    def latencies(self, count: int) -> np.ndarray:
        """Return latencies (count,) in steps."""
        low, high = self.latency
        if not high:
            return np.zeros(count, int)
        return self.streams["latency"].integers(low, high, count, endpoint=True)


def _by_name(ranges: Any, names: Any, kind: str, argument: str) -> dict[str, tuple[float, float]]:
    """Return ranges by names, of ranges by patterns; of several that fit a name the first counts."""
    found: dict[str, tuple[float, float]] = {}
    for pattern, pair in ranges.items():
        for name in fitting(pattern, names, kind, argument):
            found.setdefault(name, pair)
    return found


def _pair(value: Any) -> tuple[float, float]:
    """Return a range that was checked before."""
    return float(value[0]), float(value[1])


def with_ranges(command: Command, values: Mapping[str, float]) -> Command:
    """Return a command with fixed values of some names; raise an UnknownNameError if one is not known."""
    given = mapping(values, "command", "a mapping of names to numbers")
    for name in given:
        if name not in command.ranges:
            raise UnknownNameError("command", name, command.ranges, argument="command")
    return replace(command, ranges={**command.ranges, **given}, zero=0.0)
