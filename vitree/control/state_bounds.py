"""Bounds on coordinates and velocities of shooting searches, by an augmented Lagrangian.

A bound c(x) <= 0 of a node adds the term (max(0, lam + mu c)^2 - lam^2) / (2 mu) to the cost, with a multiplier lam and
a penalty mu. Each time that a search has minimised the sum, lam becomes max(0, lam + mu c), and mu grows where the
violation has not shrunk. At the end the multipliers carry the bounds, at a penalty that stays moderate.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from vitree.arguments import as_numbers, mapping, shown
from vitree.control.momenta import Entries
from vitree.errors import InputError, UnknownNameError
from vitree.model.model import Model

#: Bounds by name: (least, greatest).
Bounds = Mapping[str, ArrayLike] | None
#: At the first penalty the violation of a bound of one node by half the width between the bounds costs half so large a
#: share of the first motion's cost. The width is one where there is one bound, and counts as no less than NARROW.
SHARE, NARROW = 0.1, 1e-3
#: Costs count as no less than this.
TINY = 1e-12
#: [rad or m] Coordinates are changed by so much for second derivatives of velocities.
DIFFERENCE = 1e-5
#: By how much the violation must shrink for the penalty to stay, and by which factor it grows otherwise.
SHRINK, GROWTH = 0.25, 10.0


def pair_of(given: object) -> tuple[float, float]:
    """Return a least and a greatest number, from one number or two; NaN for anything else."""
    try:
        least, greatest = np.broadcast_to(as_numbers(given), (2,))
    except (TypeError, ValueError):
        return np.nan, np.nan
    return float(least), float(greatest)


def bounds_by_name(given: Bounds, names: Sequence[str], argument: str, kind: str) -> dict[int, tuple[float, float]]:
    """Return least and greatest values by the place of their name among others."""
    found = {}
    for name, pair in mapping(given, argument, f"a mapping of names of {kind} to (least, greatest)").items():
        if name not in names:
            raise UnknownNameError(kind, name, names, argument=argument)
        least, greatest = pair_of(pair)
        if not least <= greatest:
            raise InputError(f'the {argument} of "{name}" are {shown(pair)}; give (least, greatest)')
        found[list(names).index(name)] = least, greatest
    return found


def require_velocities(model: Model) -> None:
    """Raise an InputError where momenta of nodes do not tell velocities."""
    parts = {"contacts": model.has_contact, "constraints": model.constraints,
             "prescribed coordinates": model.prescribed_joint_names}  # fmt: skip
    found = [name for name, there in parts.items() if there]
    if found:
        raise InputError(
            f'velocity_bounds are not supported with {" and ".join(found)}, whose impulses are part of momenta, and '
            f'"{model.name}" has them; weigh momenta in the cost instead'
        )


def velocity_slopes(model: Model, q: np.ndarray, p: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return velocities v = M(q)^-1 p (n, nv), and their derivatives (n, nv, nv) by displacements of q and by p.

    M v = p gives dv = M^-1 (dp - d(M v) at constant v), and M v is the inverse dynamics of the acceleration v at rest,
    less that of no acceleration.
    """
    v, rest = model.velocity_from_momentum(q, p), np.zeros_like(p)
    by_q = model.rnea_derivatives(q, rest, v).by_q - model.rnea_derivatives(q, rest, rest).by_q
    inverse = model.inverse_mass_matrix(q)
    return v, -inverse @ by_q, inverse


class Rows(NamedTuple):
    """Values (steps + 1, b) of what is bounded, and the derivatives (steps + 1, b, 2 nv) by the state if asked for."""

    values: np.ndarray
    slopes: np.ndarray | None


class StateBounds:
    """Bounds at the nodes of a motion, their multipliers and penalties.

    Parameters
    ----------
    model : Model
    steps : int
    bounds : mapping of str to (float, float), optional [m or rad]
        Of entries of q.
    velocity_bounds : mapping of str to (float, float), optional [m/s or rad/s]

    Raises
    ------
    InputError, UnknownNameError
        If a name is not known, bounds exclude each other, or the momenta do not tell the velocities.

    References
    ----------
    Hestenes 1969, "Multiplier and gradient methods". Howell, Jackson & Manchester 2019, "ALTRO: a fast solver for
    constrained trajectory optimization", section III.
    """

    def __init__(self, model: Model, steps: int, bounds: Bounds, velocity_bounds: Bounds):
        of_q = bounds_by_name(bounds, model.q_names, "bounds", "coordinate")
        of_v = bounds_by_name(velocity_bounds, model.v_names, "velocity_bounds", "velocity")
        if of_v:
            require_velocities(model)
        self.model, self.q, self.v = model, np.array([*of_q], dtype=int), np.array([*of_v], dtype=int)
        self._entries = Entries(model)
        self.names = [f'"{model.q_names[k]}"' for k in of_q] + [f'the velocity of "{model.v_names[k]}"' for k in of_v]
        self.low, self.high = np.array([*of_q.values(), *of_v.values()]).reshape(-1, 2).T
        #: of the lower bounds, then of the upper ones; none at the start, which is given
        self.multipliers = np.zeros((2, steps + 1, len(self.names)))
        #: of each that is bounded; none before a search begins
        self.penalties, self._worst = np.zeros(len(self.names)), np.full(len(self.names), np.inf)

    def __bool__(self) -> bool:
        return bool(self.names)

    def by_name(self) -> tuple[dict[str, tuple[float, float]], dict[str, tuple[float, float]]]:
        """Return the bounds of coordinates and of velocities by their names."""
        pairs, count = list(zip(self.low.tolist(), self.high.tolist(), strict=True)), len(self.q)
        names = self.model.q_names, self.model.v_names
        return (dict(zip([names[0][k] for k in self.q], pairs[:count], strict=True)),
                dict(zip([names[1][k] for k in self.v], pairs[count:], strict=True)))  # fmt: skip

    def begin(self, cost: float) -> None:
        """Begin another search with the multipliers that are there; ``cost`` is that of its first motion."""
        width = 0.5 * (self.high - self.low)
        width = np.maximum(np.where(np.isfinite(width), width, 1.0), NARROW)
        first = SHARE * max(abs(cost), TINY) / width**2
        # those of the last search may be more than it takes
        self.penalties, self._worst[:] = np.maximum(first, self.penalties / GROWTH), np.inf

    def shift(self, steps: int) -> None:
        """Let the multipliers of later nodes be those of the start and those that follow."""
        last = self.multipliers.shape[1] - 1
        self.multipliers = self.multipliers[:, np.minimum(np.arange(last + 1) + steps, last)]
        self.multipliers[:, 0] = 0.0

    def penalise(self, q: np.ndarray, p: np.ndarray) -> float:
        """Return the term of a motion."""
        if not self.penalties.any():
            return 0.0
        found = self._pushes(self._rows(q, p).values) ** 2 - self.multipliers**2
        return float(np.sum(found / (2 * self.penalties)))

    def expand(self, q: np.ndarray, p: np.ndarray, gradients: np.ndarray, matrices: np.ndarray) -> None:
        """Add the term's gradients (steps + 1, n) and Gauss-Newton matrices (steps + 1, n, n) by the state."""
        if not self.penalties.any():
            return
        values, slopes = self._rows(q, p, slopes=True)
        assert slopes is not None
        lower, upper = self._pushes(values)
        n = slopes.shape[2]
        gradients[:, :n] += np.einsum("kb,kbi->ki", upper - lower, slopes)
        acts = self.penalties * ((lower > 0).astype(float) + (upper > 0))
        matrices[:, :n, :n] += slopes.swapaxes(1, 2) @ (acts[:, :, None] * slopes)

    @property
    def bends(self) -> bool:
        """Whether :meth:`bend` has something to add: velocities are curved, and joints have one coordinate."""
        return bool(self.penalties.any() and len(self.v) and self.model.nq == self.model.nv)

    def bend(self, q: np.ndarray, p: np.ndarray) -> np.ndarray:
        """Return what the second derivatives of velocities add to the matrices, (steps + 1, 2 nv, 2 nv).

        The sum of w v is w^T M^-1 p. Its gradient is that of :func:`velocity_slopes`, and linear in p.
        """
        model, nv, n = self.model, self.model.nv, len(q)
        lower, upper = self._pushes(self._rows(q, p).values)
        w = np.zeros((n, nv))
        w[:, self.v] = (upper - lower)[:, len(self.q) :]

        def gradient(q: np.ndarray) -> np.ndarray:
            _, by_q, by_p = velocity_slopes(model, q.reshape(-1, nv), np.tile(p, (2 * nv, 1)))
            both = np.concatenate([by_q, by_p], axis=2).reshape(2, nv, n, nv, 2 * nv)
            return np.asarray(np.einsum("ki,sjkic->sjkc", w, both))

        changes = DIFFERENCE * np.array([1.0, -1.0])[:, None, None, None] * np.eye(nv)[:, None]
        ahead, back = gradient(np.ascontiguousarray(q + changes))
        by_q = ((ahead - back) / (2 * DIFFERENCE)).swapaxes(0, 1)
        found = np.zeros((n, 2 * nv, 2 * nv))
        found[:, :nv, :nv] = 0.5 * (by_q[:, :, :nv] + by_q[:, :, :nv].swapaxes(1, 2))
        found[:, :nv, nv:] = by_q[:, :, nv:]
        found[:, nv:, :nv] = found[:, :nv, nv:].swapaxes(1, 2)
        return found

    def violation(self, q: np.ndarray, p: np.ndarray) -> tuple[float, str]:
        """Return the largest amount by which a bound is violated, and where."""
        off = self._excess(self._rows(q, p).values)[:, 1:].max(axis=0, initial=0.0)
        node, which = np.unravel_index(int(np.argmax(off)), off.shape)
        return max(float(off[node, which]), 0.0), f"{self.names[which]} at node {node + 1}"

    def update(self, q: np.ndarray, p: np.ndarray, grow: bool) -> float:
        """Take the multipliers from a motion that minimises the sum; return by how much they were wrong before.

        That is the largest violation, or the room to a bound whose multiplier is too large. With ``grow`` the penalties
        of violations that have not shrunk enough grow.
        """
        c = self._excess(self._rows(q, p).values)
        off = np.abs(np.maximum(c, -self.multipliers / self.penalties))[:, 1:].max(axis=(0, 1))
        self.multipliers = np.maximum(0.0, self.multipliers + self.penalties * c)
        self.multipliers[:, 0] = 0.0
        if grow:
            self.penalties[off > SHRINK * self._worst] *= GROWTH
        self._worst = off
        return float(off.max())

    def soften(self) -> None:
        """Lower the penalties of a sum that a search could not minimise; the multipliers stay."""
        self.penalties /= GROWTH

    def _excess(self, values: np.ndarray) -> np.ndarray:
        """Return by how much values are beyond their lower and upper bounds, (2, n, b); negative inside."""
        return np.stack([self.low - values, values - self.high])

    def _pushes(self, values: np.ndarray) -> np.ndarray:
        """Return max(0, lam + mu c) (2, n, b)."""
        found = np.asarray(np.maximum(0.0, self.multipliers + self.penalties * self._excess(values)))
        found[:, 0] = 0.0
        return found

    def _rows(self, q: np.ndarray, p: np.ndarray, slopes: bool = False) -> Rows:
        nv = self.model.nv
        if not slopes:
            v = self.model.velocity_from_momentum(q, p)[:, self.v] if len(self.v) else np.empty((len(q), 0))
            return Rows(np.concatenate([q[:, self.q], v], axis=1), None)
        found = np.zeros((len(q), len(self.names), 2 * nv))
        values = q[:, self.q]
        if self._entries.plain:
            found[:, range(len(self.q)), self.q] = 1.0
        elif len(self.q):
            # entries of a quaternion move along the sphere
            found[:, : len(self.q), :nv] = np.linalg.pinv(self._entries.displacements(q))[:, self.q]
        if len(self.v):
            v, by_q, by_p = velocity_slopes(self.model, q, p)
            values = np.concatenate([values, v[:, self.v]], axis=1)
            found[:, len(self.q) :, :nv], found[:, len(self.q) :, nv:] = by_q[:, self.v], by_p[:, self.v]
        return Rows(values, found)
