"""The measured tosses of a cube, and where each starts.

500 real tosses of a plastic cube onto a flat board, tracked by cameras at 148 Hz: S. Pfrommer, M. Halm and M. Posa,
"ContactNets: learning discontinuous contact dynamics with smooth, implicit representations", CoRL 2020
(github.com/DAIRLab/contact-nets, BSD-3-Clause, see LICENSE-cube-tosses). ``cube_tosses.npz`` holds poses of every
second frame.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np
from scipy.spatial.transform import Rotation

#: Half width [m], mass [kg], and inertia about each axis [kg m^2], as the authors give them.
HALF, MASS, INERTIA = 0.0524, 0.37, 0.00081
GRAVITY = 9.81
#: The corners of the cube, in its own axes (8, 3) [m].
CORNERS = HALF * np.stack(np.meshgrid(*3 * [(-1.0, 1.0)], indexing="ij"), axis=-1).reshape(8, 3)
#: Time between two frames of the file [s].
FRAME = 2 / 148
#: How high the lowest corner is, at least, in frames that are taken as flight [m].
CLEAR = 0.004


@dataclass
class Tosses:
    """Poses by toss and frame, and starts fitted to the flights before the first touch.

    Attributes
    ----------
    position, rotation : (n, frames, 3) [m], (n, frames, 3, 3)
        NaN after a record's end. The lift is already added to z.
    start : (n, 12) array
        Position [m], rotation vector [rad], velocity [m/s] and angular velocity [rad/s] at the first frame, world axes.
    spread : (n, 12) array
        Standard deviations of ``start``, from the scatter of the frames about the fit.
    flight : (n,) array of int
        How many frames were fitted.
    """

    position: np.ndarray
    rotation: np.ndarray
    start: np.ndarray
    spread: np.ndarray
    flight: np.ndarray

    def __len__(self) -> int:
        return len(self.start)

    def __getitem__(self, which) -> Tosses:
        return Tosses(*(getattr(self, name)[which] for name in self.__dataclass_fields__))

    @property
    def times(self) -> np.ndarray:
        """Times of the frames [s]."""
        return FRAME * np.arange(self.position.shape[1])

    def corners(self) -> np.ndarray:
        """Places of the corners (n, frames, 8, 3) [m]."""
        return corners(self.position, self.rotation)


def corners(position, rotation) -> np.ndarray:
    """Places of the corners of cubes [m]."""
    return position[..., None, :] + CORNERS @ np.swapaxes(rotation, -1, -2)


def load(file: Path, most: int = 60, least: int = 4) -> Tosses:
    """Read tosses, up to ``most`` frames of each, of those with ``least`` frames of flight.

    Some records are copies of others, moved and turned about the vertical; they have the same heights. The first of
    them is taken. The cameras see the cube at rest about a millimetre low. All positions are lifted by what the median
    needs.
    """
    with np.load(file) as data:
        lengths, every = data["lengths"], int(data["every"])
        if every != 2:
            raise ValueError(f"{file}: frames are {every} apart; this script reads every second one")
        where = np.split(np.arange(lengths.sum()), np.cumsum(lengths)[:-1])
        position, quaternion = data["position"].astype(float), data["quaternion_xyzw"].astype(float)
    position[:, 2] += HALF - np.median([position[rows[-3:], 2].mean() for rows in where])
    rotation = Rotation.from_quat(quaternion).as_matrix()
    shape = len(where), most
    found = Tosses(np.full((*shape, 3), np.nan), np.full((*shape, 3, 3), np.nan), *np.zeros((2, len(where), 12)),
                   np.zeros(len(where), int))  # fmt: skip
    known: set[tuple[float, ...]] = set()
    for k, rows in enumerate(where):
        rows = rows[:most]
        found.position[k, : len(rows)], found.rotation[k, : len(rows)] = position[rows], rotation[rows]
        heights = tuple(np.round(position[rows[:20], 2], 5))
        copied = heights in known
        known.add(heights)
        low = corners(position[rows], rotation[rows])[..., 2].min(axis=-1)
        found.flight[k] = flight = 0 if copied else np.argmax(low < CLEAR)
        if flight >= least:
            found.start[k], found.spread[k] = fitted(position[rows[:flight]], rotation[rows[:flight]])
    return found[found.flight >= least]


@dataclass
class Pairs:
    """Tosses that start alike, up to a move and turn on the board and a symmetry of the cube.

    ``one`` and ``other`` are (n,) indices of tosses, ``symmetry`` (n, 3, 3) the turn of the one's axes by which they
    start alike, ``board`` (tosses, 3, 3) the turn of each toss about the vertical that makes it start along x, and
    ``centre`` (tosses, 3) where it starts, at the height of the board.
    """

    one: np.ndarray
    other: np.ndarray
    symmetry: np.ndarray
    board: np.ndarray
    centre: np.ndarray

    def apart(self, position, rotation) -> np.ndarray:
        """Mean distance of the corners of the two of each pair, by frame [m]."""
        ends = []
        for which, turn in ((self.one, self.symmetry), (self.other, np.eye(3))):
            board = self.board[which][:, None]
            moved = (board @ (position[which] - self.centre[which][:, None])[..., None])[..., 0]
            ends.append(corners(moved, board @ rotation[which] @ (turn[:, None] if turn.ndim == 3 else turn)))
        return np.linalg.norm(ends[0] - ends[1], axis=-1).mean(axis=-1)


def alike(real: Tosses, count: int, ahead: float = 0.15) -> Pairs:
    """The pairs whose starts are nearest: by how far corners would be apart some time [s] ahead, in free flight."""
    yaw = np.arctan2(real.start[:, 7], real.start[:, 6])
    board = Rotation.from_rotvec(-yaw[:, None] * (0, 0, 1))
    turned = (board * Rotation.from_rotvec(real.start[:, 3:6])).as_matrix()
    group = Rotation.create_group("O").as_matrix()
    cosines = np.array([np.einsum("iab,jab->ij", turned @ each, turned) for each in group])
    which, angle = cosines.argmax(axis=0), np.arccos(np.clip((cosines.max(axis=0) - 1) / 2, -1, 1))
    arm, moving, turning = np.sqrt(3) * HALF, board.apply(real.start[:, 6:9]), board.apply(real.start[:, 9:])
    gaps = [real.start[:, None, 2] - real.start[None, :, 2], arm * angle]
    gaps += [ahead * by * np.linalg.norm(x[:, None] - x[None], axis=-1) for x, by in ((moving, 1.0), (turning, arm))]
    one, other = np.triu_indices(len(real), 1)
    first = np.argsort(np.linalg.norm(gaps, axis=0)[one, other])[:count]
    one, other = one[first], other[first]
    return Pairs(one, other, group[which[one, other]], board.as_matrix(), real.start[:, :3] * (1, 1, 0))


def fitted(position, rotation) -> tuple[np.ndarray, np.ndarray]:
    """The start of a free flight by least squares, and its standard deviations (12,) each.

    In flight the centre falls along a parabola, and a body with one inertia about all axes turns at a constant rate
    about a fixed axis.
    """
    times = FRAME * np.arange(len(position))
    line = np.stack((np.ones_like(times), times), axis=1)
    scatter = np.linalg.pinv(line.T @ line).diagonal()
    fallen = position + 0.5 * GRAVITY * np.outer(times**2, (0, 0, 1))
    place, *_ = np.linalg.lstsq(line, fallen, rcond=None)
    first, rate = Rotation.from_matrix(rotation[0]), np.zeros(3)
    measured = Rotation.from_matrix(rotation)
    rate = (measured[-1] * first.inv()).as_rotvec() / times[-1]
    for _ in range(5):
        left = (measured * (Rotation.from_rotvec(np.outer(times, rate)) * first).inv()).as_rotvec()
        turn, *_ = np.linalg.lstsq(line, left, rcond=None)
        first, rate = Rotation.from_rotvec(turn[0]) * first, rate + turn[1]
    start = np.concatenate((place[0], first.as_rotvec(), place[1], rate))
    free = max(len(times) - 2, 1)
    noise = np.stack([np.sqrt((each**2).sum(axis=0) / free) for each in (fallen - line @ place, left)])
    return start, (np.sqrt(scatter)[:, None, None] * noise).reshape(12)
