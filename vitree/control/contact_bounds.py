"""Bounds on what the ground gives to frames that phases hold, and on where these frames are."""

from __future__ import annotations

import numpy as np

from vitree.control.bounded import BoundedValues, ImpulseSlopes, Linear, Motion, Term
from vitree.control.contact_steps import ContactSteps, HeldFrame
from vitree.control.contacts import swing

#: [m] and [rad]: violations of places and of tilts that matter.
NEAR, TILT = 0.01, 0.05


class FrameImpulses:
    """What the ground gives a held frame in each step, (steps, 6) in world axes, and its derivatives."""

    def __init__(self, steps: ContactSteps, name: str):
        self.steps, self.name, self.frame = steps, name, steps.frames[name]
        #: [N s] a step's weight
        self.weight = steps.model.total_mass * float(np.linalg.norm(steps.model.gravity)) * steps.dt or 1.0
        self._last: tuple[np.ndarray, np.ndarray] | None = None

    def wrenches(self, motion: Motion) -> np.ndarray:
        """Return the wrenches (steps, 6); the motion's impulses must not change afterwards."""
        if self._last is None or self._last[0] is not motion.impulses:
            own = self.steps.columns_of(self.name, motion.impulses)
            self._last = motion.impulses, self.frame.wrenches(motion.q, own)
        return self._last[1]

    def slopes(self, motion: Motion, given: ImpulseSlopes | None) -> tuple[np.ndarray, np.ndarray]:
        """Return the derivatives of wrenches by states (steps, 6, 2 nv) and by controls (steps, 6, m)."""
        assert given is not None
        own = self.steps.columns_of(self.name, motion.impulses)
        by_q, by_impulse = self.frame.wrench_slopes(motion.q, own)
        by_state, by_control = (by_impulse @ self.steps.columns_of(self.name, x) for x in given)
        by_state[:, :, : by_q.shape[2]] += by_q
        return by_state, by_control


def onto_cone(s: np.ndarray) -> np.ndarray:
    """Return the nearest points (n, k) of the cone |s_1..| <= s_0 to points s (n, k)."""
    size = np.linalg.norm(s[:, 1:], axis=1)
    half = 0.5 * (s[:, 0] + size)
    edge = np.column_stack([half, (half / np.maximum(size, 1e-300))[:, None] * s[:, 1:]])
    return np.where((size <= s[:, 0])[:, None], s, np.where((size <= -s[:, 0])[:, None], 0.0, edge))


def onto_cone_slopes(s: np.ndarray) -> np.ndarray:
    """Return the derivatives (n, k, k) of :func:`onto_cone`."""
    n, k = s.shape
    size = np.linalg.norm(s[:, 1:], axis=1)
    t = s[:, 1:] / np.maximum(size, 1e-300)[:, None]
    share = (s[:, 0] / np.maximum(size, 1e-300))[:, None, None]
    edge = np.empty((n, k, k))
    edge[:, 0, 0], edge[:, 0, 1:], edge[:, 1:, 0] = 0.5, 0.5 * t, 0.5 * t
    edge[:, 1:, 1:] = 0.5 * ((1 + share) * np.eye(k - 1) - share * t[:, :, None] * t[:, None])
    inside, opposite = (size <= x * s[:, 0] for x in (1, -1))
    edge[inside], edge[~inside & opposite] = np.eye(k), 0.0
    return edge


class FrictionCone(BoundedValues):
    """The impulses of each step on a held frame are in the cone of friction: |tangential| <= friction normal.

    The term of a cone K that holds g, with a multiplier lam in the same (self-dual) cone and a penalty mu, is
    (|P(lam - mu g)|^2 - |lam|^2) / (2 mu), P the projection onto K; it is smooth at the apex as well.

    References
    ----------
    Jackson et al. 2021, "ALTRO-C: a fast solver for conic model-predictive control".
    """

    row = "step"

    def __init__(self, impulses: FrameImpulses):
        self.impulses, steps = impulses, impulses.steps
        along = impulses.frame.along
        #: g of the force
        self.rows = np.array([[0.0, 0.0, steps.friction], *(e for e in along if e[2] == 0.0)])
        self.held = steps.held(impulses.name)
        there = [f'the friction of "{impulses.name}"'] if along[:, 2].any() else []
        ends = np.zeros((2, steps.steps, len(there)))
        super().__init__(there, *ends, np.full(len(there), impulses.weight))
        self.multipliers = np.zeros((1, steps.steps, len(self.rows)))

    def values(self, motion: Motion) -> np.ndarray:
        """Return g (steps, k)."""
        return np.asarray(self.impulses.wrenches(motion)[:, :3] @ self.rows.T)

    def _shifted(self, values: np.ndarray) -> np.ndarray:
        return np.where(self.held[:, None], self.multipliers[0] - self.penalties[0] * values, 0.0)

    @property
    def bounded(self) -> np.ndarray:
        """Where there are multipliers."""
        return self.held[None, :, None]

    def costs(self, values: np.ndarray) -> np.ndarray:
        """Return the terms (steps,) of values, of which the multipliers' part is left out."""
        return np.asarray(np.sum(onto_cone(self._shifted(values)) ** 2, axis=1) / (2 * self.penalties[0]))

    def term(self, values: np.ndarray) -> Term:
        """Return the gradient and the generalised second derivative of the terms by the values."""
        s = self._shifted(values)
        return Term(-onto_cone(s), np.where(self.held[:, None, None], self.penalties[0] * onto_cone_slopes(s), 0.0))

    def linear(self, motion: Motion, slopes: ImpulseSlopes | None) -> Linear:
        """Return the values with their derivatives by states and controls."""
        return Linear(self.values(motion), *(self.rows @ x[:, :3] for x in self.impulses.slopes(motion, slopes)))

    def violation(self, motion: Motion) -> tuple[float, str]:
        """Return the largest amount by which the tangential impulse is too large, or the normal one negative."""
        g = self.values(motion)
        off = np.where(self.held, np.linalg.norm(g[:, 1:], axis=1) - g[:, 0], 0.0)
        at = int(np.argmax(off))
        return max(float(off[at]), 0.0), f"{self.names[0]} at step {at}"

    def _pushes(self, values: np.ndarray) -> np.ndarray:
        """Return P(lam - mu g) (1, steps, k)."""
        return onto_cone(self._shifted(values))[None]


class SoleBounds(BoundedValues):
    """Impulses of each step on a fixed frame with a sole of known size are those that its corners can give.

    The center of pressure is in the sole, and the moment about the normal is one of friction at its corners.

    References
    ----------
    Caron, Pham & Nakamura 2015, "Stability of surface contacts for humanoid robots: closed-form formulae of the contact
    wrench cone for rectangular support areas".
    """

    row = "step"

    def __init__(self, impulses: FrameImpulses):
        self.impulses, steps = impulses, impulses.steps
        size = steps.soles[impulses.name]
        self.rows = _sole_rows(*size.tolist(), steps.friction)
        low = np.where(steps.fixed(impulses.name)[:, None], np.zeros(len(self.rows)), -np.inf)
        names = [f'the moment of "{impulses.name}"'] * len(self.rows)
        super().__init__(names, low, np.full_like(low, np.inf), np.full(len(names), impulses.weight * size.min()))

    def values(self, motion: Motion) -> np.ndarray:
        """Return the values (steps, b), from wrenches in the frame's axes."""
        wrench = self.impulses.wrenches(motion)
        R = self.impulses.frame.poses(motion.q)[: len(wrench), :3, :3]
        turned = [(x[:, None] @ R)[:, 0] for x in (wrench[:, :3], wrench[:, 3:])]
        return np.asarray(np.concatenate(turned, axis=1) @ self.rows.T)

    def linear(self, motion: Motion, slopes: ImpulseSlopes | None) -> Linear:
        """Return the values with their derivatives by states and controls."""
        frame, wrench, nv = self.impulses.frame, self.impulses.wrenches(motion), self.impulses.steps.model.nv
        n = len(wrench)
        R, turn = frame.poses(motion.q)[:n, :3, :3], frame.jacobians(motion.q)[:n, :3].swapaxes(1, 2)
        # R^T x changes by R^T (x cross t), of a rotation t
        by = [np.cross(x[:, None], turn) @ R for x in (wrench[:, :3], wrench[:, 3:])]
        turned = np.concatenate([self.rows[:, part] @ R.swapaxes(1, 2) for part in (slice(0, 3), slice(3, 6))], axis=2)
        Gx, Gu = (turned @ x for x in self.impulses.slopes(motion, slopes))
        Gx[:, :, :nv] += self.rows @ np.concatenate(by, axis=2).swapaxes(1, 2)
        return Linear(self.values(motion), Gx, Gu)


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
        nodes, low, high, names, scale = steps.steps + 1, [], [], [], []

        def add(name: str) -> tuple[np.ndarray, np.ndarray]:
            low.append(np.full(nodes, -np.inf))
            high.append(np.full(nodes, np.inf))
            names.append(name)
            return low[-1], high[-1]

        for name, frame in steps.frames.items():
            held, stances = np.zeros(nodes, dtype=bool), [one for one in steps.stances if one.frame == name]
            for stance in stances:
                held[stance.first : stance.last + 1] = True
            for e in frame.along:
                axis = int(np.flatnonzero(e)[0])
                lower, upper = add(f'the {"xyz"[axis]} of "{name}"')
                scale.append(NEAR)
                for stance in stances:
                    place = stance.place
                    at = place[axis] if place is not None else steps.ground if axis == 2 else None
                    if stance.first and at is not None:
                        lower[stance.first] = upper[stance.first] = at
                if axis == 2:
                    for k in np.flatnonzero(~held)[1 if not held[0] else 0 :].tolist():
                        lower[k] = steps.ground + steps.clearance * swing(held, k)
                self.frames.append((frame, axis))
            begins = [one.first for k, one in enumerate(steps.intervals) if name in one.fixed and one.first and not (
                k and name in steps.intervals[k - 1].fixed)]  # fmt: skip
            if begins:
                for axis in (0, 1):
                    lower, upper = add(f'the tilt of "{name}" along {"xy"[axis]}')
                    lower[begins] = upper[begins] = 0.0
                    scale.append(TILT)
                    self.frames.append((frame, 3 + axis))
        used = [k for k in range(len(names)) if np.isfinite([low[k], high[k]]).any()]
        self.frames = [self.frames[k] for k in used]
        low, high = (np.array([x[k] for k in used]).reshape(len(used), nodes).T for x in (low, high))
        super().__init__([names[k] for k in used], low, high, np.array([scale[k] for k in used]))

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
        return Linear(self.values(motion), by_state)
