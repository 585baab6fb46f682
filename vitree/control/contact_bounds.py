"""Bounds on what the ground gives to frames that phases hold, and on where these frames are."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

import numpy as np

from vitree.control.bounded import BoundedValues, ImpulseSlopes, Linear, Motion, Term
from vitree.control.contact_steps import ContactSteps, HeldFrame
from vitree.control.contacts import swings

#: [m] and [rad]: violations of places and of tilts that matter.
NEAR, TILT = 0.01, 0.05


def _sizes(x: np.ndarray) -> np.ndarray:
    """Return the lengths (n,) of vectors (n, k)."""
    return np.asarray(np.abs(x[:, 0]) if x.shape[1] == 1 else np.sqrt(np.einsum("ni,ni->n", x, x)))


def onto_cone(s: np.ndarray) -> np.ndarray:
    """Return the nearest points (n, k) of the cone |s_1..| <= s_0 to points s (n, k)."""
    size = _sizes(s[:, 1:])
    half = 0.5 * (s[:, 0] + size)
    found: np.ndarray = (half / np.maximum(size, 1e-300))[:, None] * s
    found[:, 0] = half
    inside = size <= s[:, 0]
    found[inside], found[~inside & (size <= -s[:, 0])] = s[inside], 0.0
    return found


def onto_cone_slopes(s: np.ndarray) -> np.ndarray:
    """Return the derivatives (n, k, k) of :func:`onto_cone`."""
    n, k = s.shape
    size = _sizes(s[:, 1:])
    inside, opposite = size <= s[:, 0], size <= -s[:, 0]
    found = np.zeros((n, k, k))
    found[inside] = np.eye(k)
    edge = np.flatnonzero(~inside & ~opposite)
    t, share = s[edge, 1:] / size[edge, None], (s[edge, 0] / size[edge])[:, None, None]
    bent = np.empty((len(edge), k, k))
    bent[:, 0, 0], bent[:, 0, 1:], bent[:, 1:, 0] = 0.5, 0.5 * t, 0.5 * t
    bent[:, 1:, 1:] = 0.5 * ((1 + share) * np.eye(k - 1) - share * t[:, :, None] * t[:, None])
    found[edge] = bent
    return found


class FrictionCone(BoundedValues):
    """The impulses of each step on held frames are in the cone of friction: |tangential| <= friction normal.

    The term of a cone K that holds g, with a multiplier lam in the same (self-dual) cone and a penalty mu, is
    (|P(lam - mu g)|^2 - |lam|^2) / (2 mu), P the projection onto K; it is smooth at the apex as well.

    Parameters
    ----------
    steps : ContactSteps
    names : sequence of str
        Frames that move along the normal and along the same number of tangents; values are g of one after the other.

    References
    ----------
    Jackson et al. 2021, "ALTRO-C: a fast solver for conic model-predictive control".
    """

    row = "step"
    #: the projection moves the normal entry by half of what the others are too long
    spread = 2.0

    def __init__(self, steps: ContactSteps, names: Sequence[str]):
        self.frames, self.size = list(names), len(steps.frames[names[0]].along)
        #: g of all frames is this matrix times the impulses of the constraints, stretch by stretch
        self.maps: list[tuple[slice, np.ndarray]] = []
        for one in steps.stretches:
            rows = np.zeros((len(names), self.size, one.rows))
            for k, name in enumerate(names):
                if name in one.columns:
                    along, at = steps.frames[name].along, one.columns[name].start
                    g = np.array([[0.0, 0.0, steps.friction], *(e for e in along if e[2] == 0.0)])
                    rows[k, :, at : at + len(along)] = g @ along.T
            self.maps.append((slice(one.first, one.last), rows.reshape(len(names) * self.size, one.rows)))
        #: (steps, frames)
        self.held = np.array([steps.held(name) for name in names]).T
        ends = np.zeros((steps.steps, len(names)))
        labels = [f'the friction of "{name}"' for name in names]
        super().__init__(labels, ends, ends, np.full(len(names), steps.weight))
        self.multipliers = np.zeros((1, steps.steps, len(names) * self.size))

    @property
    def bounded(self) -> np.ndarray:
        """Where there are multipliers."""
        return np.repeat(self.held, self.size, axis=1)[None]

    def take(self, other: BoundedValues) -> None:
        """Take multipliers and penalties from those of other phases, by the names of frames."""
        for k, name in enumerate(self.frames):
            if isinstance(other, FrictionCone) and name in other.frames and self.size == other.size:
                own, its = (slice(x * self.size, (x + 1) * self.size) for x in (k, other.frames.index(name)))
                self.multipliers[:, :, own] = other.multipliers[:, :, its]
                self.penalties[k] = other.penalties[other.frames.index(name)]
        self.multipliers *= self.bounded

    def _mapped(self, rows: np.ndarray) -> np.ndarray:
        """Return g, or its derivatives, of rows (steps, c, ...) of impulses, or of theirs."""
        found = np.zeros((len(rows), len(self.frames) * self.size, *rows.shape[2:]))
        for at, matrix in self.maps:
            part = rows[at, : matrix.shape[1]]
            found[at] = matrix @ part if rows.ndim == 3 else part @ matrix.T
        return found

    def values(self, motion: Motion) -> np.ndarray:
        """Return g (steps, frames k)."""
        return self._mapped(motion.impulses)

    def linear(self, motion: Motion, slopes: ImpulseSlopes | None) -> Linear:
        """Return the values with their derivatives by states and controls."""
        assert slopes is not None
        return Linear(self.values_of(motion), *map(self._mapped, slopes))

    def _shifted(self, values: np.ndarray) -> np.ndarray:
        """Return lam - mu g (steps frames, k), zero of frames that are free."""
        found = self.multipliers[0] - self.steep * values
        return np.where(self.bounded[0], found, 0.0).reshape(-1, self.size)

    def _pushes(self, values: np.ndarray) -> np.ndarray:
        """Return P(lam - mu g) (1, steps, frames k)."""
        return onto_cone(self._shifted(values)).reshape(1, len(values), -1)

    def costs(self, values: np.ndarray) -> np.ndarray:
        """Return the terms (steps,) of values, of which the multipliers' part is left out."""
        return np.asarray(self._pushes(values)[0] ** 2 @ (0.5 / self.steep))

    def term(self, values: np.ndarray) -> Term:
        """Return the gradient and the generalised second derivative of the terms by the values."""
        count, k = len(self.frames), self.size
        s = self._shifted(values)
        bent = onto_cone_slopes(s).reshape(-1, count, k, k) * (self.penalties * self.held)[:, :, None, None]
        matrix = np.zeros((len(values), count, k, count, k))
        matrix[:, range(count), :, range(count)] = bent.swapaxes(0, 1)
        return Term(-onto_cone(s).reshape(len(values), -1), matrix.reshape(len(values), count * k, count * k))

    def violation(self, motion: Motion) -> tuple[float, str]:
        """Return the largest amount by which a tangential impulse is too large, or a normal one negative."""
        g = self.values_of(motion).reshape(-1, self.size)
        off = np.where(self.held.ravel(), _sizes(g[:, 1:]) - g[:, 0], 0.0)
        at, frame = divmod(int(np.argmax(off)), len(self.frames))
        return max(float(off.max()), 0.0), f"{self.names[frame]} at step {at}"


class SoleBounds(BoundedValues):
    """Impulses of each step on a fixed frame with a sole of known size are those that its corners can give.

    The center of pressure is in the sole, and the moment about the normal is one of friction at its corners.

    References
    ----------
    Caron, Pham & Nakamura 2015, "Stability of surface contacts for humanoid robots: closed-form formulae of the contact
    wrench cone for rectangular support areas".
    """

    row = "step"

    def __init__(self, steps: ContactSteps, name: str):
        self.steps, self.name, self.frame, size = steps, name, steps.frames[name], steps.soles[name]
        self.rows = _sole_rows(float(size[0]), float(size[1]), steps.friction)
        low = np.where(steps.fixed(name)[:, None], np.zeros(len(self.rows)), -np.inf)
        names = [f'the moment of "{name}"'] * len(self.rows)
        super().__init__(names, low, np.full_like(low, np.inf), np.full(len(names), steps.weight * size.min()))

    def _wrenches(self, motion: Motion) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Return the impulses of the rows (steps, r), the wrenches (steps, 6), and the rotations (steps, 3, 3)."""
        own = self.steps.columns_of(self.name, motion.impulses)
        return own, self.frame.wrenches(motion.q, own), self.frame.poses(motion.q)[: len(own), :3, :3]

    def values(self, motion: Motion) -> np.ndarray:
        """Return the values (steps, b), from wrenches in the frame's axes."""
        _, wrench, R = self._wrenches(motion)
        turned = [(x[:, None] @ R)[:, 0] for x in (wrench[:, :3], wrench[:, 3:])]
        return np.asarray(np.concatenate(turned, axis=1) @ self.rows.T)

    def linear(self, motion: Motion, slopes: ImpulseSlopes | None) -> Linear:
        """Return the values with their derivatives by states and controls."""
        assert slopes is not None
        (own, wrench, R), frame, nv = self._wrenches(motion), self.frame, self.steps.model.nv
        by_q, by_impulse = frame.wrench_slopes(motion.q, own)
        turned = np.concatenate([self.rows[:, part] @ R.swapaxes(1, 2) for part in (slice(0, 3), slice(3, 6))], axis=2)
        Gx, Gu = (turned @ by_impulse @ self.steps.columns_of(self.name, x) for x in slopes)
        # R^T x changes by R^T (x cross t), of a rotation t
        turn = frame.jacobians(motion.q)[: len(own), :3].swapaxes(1, 2)
        by = [np.cross(x[:, None], turn) @ R for x in (wrench[:, :3], wrench[:, 3:])]
        Gx[:, :, :nv] += turned @ by_q + self.rows @ np.concatenate(by, axis=2).swapaxes(1, 2)
        return Linear(self.values_of(motion), Gx, Gu)


def _sole_rows(length: float, width: float, mu: float) -> np.ndarray:
    """Return rows C (12, 6) of C w >= 0: the wrenches w, in the axes of a sole, that its corners can bear.

    Caron, Pham & Nakamura 2015, section IV, without the bounds on the tangential force.
    """
    signs = np.array([1.0, -1.0])
    rows = [row for s in signs for row in ([0, 0, width, s, 0, 0], [0, 0, length, 0, s, 0])]
    # mu (length + width) fz + t (tz + mu (a tx + b ty)) >= a width fx + b length fy, for the signs t, a, b
    most = mu * (length + width)
    rows += [[-a * width, -b * length, most, t * mu * a, t * mu * b, t] for t in signs for a in signs for b in signs]
    return np.array(rows)


def _ends(steps: ContactSteps, name: str, axis: int) -> np.ndarray:
    """Return the bounds (2, steps + 1) of a frame along an axis, as of :class:`PlaceBounds`."""
    found = np.tile([[-np.inf], [np.inf]], steps.steps + 1)
    if axis > 2:
        for before, one in pairwise(steps.intervals):
            if name in one.fixed and name not in before.fixed:
                found[:, one.first] = 0.0
        return found
    held = np.zeros(steps.steps + 1, dtype=bool)
    for stance in steps.stances:
        if stance.frame != name:
            continue
        held[stance.first : stance.last + 1] = True
        if stance.first and (stance.place is not None or axis == 2):
            found[:, stance.first] = steps.ground if stance.place is None else stance.place[axis]
    if axis == 2:
        free = ~held
        free[0] = False
        found[0, free] = steps.ground + steps.clearance * swings(held)[free]
    return found


class PlaceBounds(BoundedValues):
    """Heights, places and tilts of the frames that phases hold, where a phase begins and while they are free.

    Where a frame begins to be held it is at its place, or else at the height of the ground, and a fixed one is parallel
    to the ground. While it is free it is not below the ground, and in the middle of that time it is as high as the
    clearance.
    """

    by_column = True

    def __init__(self, steps: ContactSteps):
        #: of each column the frame, and its axis: 0 to 2 of the place, 3 and 4 of the tilt
        self.frames: list[tuple[HeldFrame, int]] = []
        names, scale, ends = list[str](), list[float](), list[np.ndarray]()
        for name, frame in steps.frames.items():
            for axis in (*np.flatnonzero(frame.along.any(axis=0)).tolist(), 3, 4):
                pair = _ends(steps, name, axis)
                if np.isfinite(pair).any():
                    self.frames.append((frame, axis))
                    names.append(f'the {("x", "y", "z", "tilt along x", "tilt along y")[axis]} of "{name}"')
                    scale.append(NEAR if axis < 3 else TILT)
                    ends.append(pair)
        low, high = np.array(ends).reshape(-1, 2, steps.steps + 1).transpose(1, 2, 0)
        super().__init__(names, low, high, np.array(scale))

    def values(self, motion: Motion) -> np.ndarray:
        """Return the values (steps + 1, b) [m], and for tilts [1] the horizontal entries of a frame's z axis."""
        found = np.empty((len(motion.q), len(self.names)))
        for k, (frame, axis) in enumerate(self.frames):
            poses = frame.poses(motion.q)
            found[:, k] = poses[:, axis, 3] if axis < 3 else poses[:, axis - 3, 2]
        return found

    def linear(self, motion: Motion, slopes: ImpulseSlopes | None) -> Linear:
        """Return the values with their derivatives by the state."""
        nv = self.frames[0][0].model.nv
        by_state = np.empty((len(motion.q), len(self.names), nv))
        for k, (frame, axis) in enumerate(self.frames):
            J = frame.jacobians(motion.q)
            if axis < 3:
                by_state[:, k] = J[:, 3 + axis]
            else:
                # t cross z, of a rotation t
                z = frame.poses(motion.q)[:, None, :3, 2]
                by_state[:, k] = np.cross(J[:, :3].swapaxes(1, 2), z)[:, :, axis - 3]
        return Linear(self.values_of(motion), by_state)
