"""Film: the poses of a drawing's bodies over time."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from vitree.errors import InputError
from vitree.results.drawing import Drawing
from vitree.results.plain import read_only


@dataclass(frozen=True, eq=False)
class Film:
    """The poses of a drawing's bodies over time.

    Attributes
    ----------
    drawing : Drawing
    t : (n,) array [s]
    poses : (n, nbody, 7) array of float32
        Position [m] and quaternion (x, y, z, w) of each body in the world.
    origin : str, optional
        The file that the film is from; the paths of meshes in it may be a stranger's.

    Raises
    ------
    InputError
        If an array has another shape.
    """

    drawing: Drawing
    t: np.ndarray
    poses: np.ndarray
    origin: str | None = None

    def __post_init__(self) -> None:
        for name, shape in (("t", (len(self.t),)), ("poses", (len(self.t), len(self.drawing.bodies), 7))):
            array = np.asarray(getattr(self, name), dtype=np.float32 if name == "poses" else float)
            if array.shape != shape:
                raise InputError(f"film.{name} has shape {array.shape}; it must be {shape}")
            object.__setattr__(self, name, read_only(array))
        if not len(self.t) or not (np.diff(self.t, prepend=self.t[0]) >= 0).all():
            raise InputError("film.t must be one or more times in ascending order")
        if not np.isfinite(self.poses).all():
            raise InputError("film.poses has numbers that are not finite")

    def between(self, t: np.ndarray) -> Film:
        """Return the part of the film from the first to the last of times ``t`` (n,) [s]."""
        low, high = float(np.min(t)), float(np.max(t))
        inside = (self.t > low) & (self.t < high)
        times = np.unique([low, *self.t[inside], high])
        return Film(self.drawing, times, np.array([self.at(time) for time in times]), self.origin)

    def at(self, t: float) -> np.ndarray:
        """Return the poses (nbody, 7) at the time ``t`` [s], between those kept; beyond them the nearest."""
        k = int(np.clip(np.searchsorted(self.t, t, side="right") - 1, 0, len(self.t) - 1))
        after = min(k + 1, len(self.t) - 1)
        span = self.t[after] - self.t[k]
        share = float(np.clip((t - self.t[k]) / span, 0.0, 1.0)) if span > 0 else 0.0
        low, high = self.poses[k].astype(float), self.poses[after].astype(float)
        # Quaternions are mixed the shorter way round, which is near the great circle for neighbouring pictures.
        high[:, 3:] *= np.where((low[:, 3:] * high[:, 3:]).sum(axis=1) < 0, -1.0, 1.0)[:, None]
        mixed: np.ndarray = (1 - share) * low + share * high
        mixed[:, 3:] /= np.linalg.norm(mixed[:, 3:], axis=1, keepdims=True)
        return mixed
