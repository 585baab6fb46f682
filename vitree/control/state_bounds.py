"""Bounds on coordinates and velocities of shooting searches."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from vitree.arguments import as_numbers, mapping, shown
from vitree.control.bounded import BoundedValues, ImpulseSlopes, Linear, Motion
from vitree.control.momenta import Entries
from vitree.errors import InputError, UnknownNameError
from vitree.model.model import Model

#: Bounds by name: (least, greatest).
Bounds = Mapping[str, ArrayLike] | None
#: Bounds are no narrower than this where penalties begin: a violation by half their width matters, of one by one.
NARROW = 1e-3
#: [rad or m] Coordinates are changed by so much for second derivatives of velocities.
DIFFERENCE = 1e-5


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


class StateBounds(BoundedValues):
    """Bounds at all nodes of a motion but the first, which is given.

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
    """

    def __init__(self, model: Model, steps: int, bounds: Bounds, velocity_bounds: Bounds):
        of_q = bounds_by_name(bounds, model.q_names, "bounds", "coordinate")
        of_v = bounds_by_name(velocity_bounds, model.v_names, "velocity_bounds", "velocity")
        if of_v:
            require_velocities(model)
        self.model, self.q, self.v = model, np.array([*of_q], dtype=int), np.array([*of_v], dtype=int)
        self._entries = Entries(model)
        names = [f'"{model.q_names[k]}"' for k in of_q] + [f'the velocity of "{model.v_names[k]}"' for k in of_v]
        ends = np.tile(np.array([*of_q.values(), *of_v.values()]).reshape(-1, 2).T[:, None], (1, steps + 1, 1))
        width = 0.5 * (ends[1, 0] - ends[0, 0])
        ends[0, 0], ends[1, 0] = -np.inf, np.inf
        super().__init__(names, ends[0], ends[1], np.maximum(np.where(np.isfinite(width), width, 1.0), NARROW))

    def by_name(self) -> tuple[dict[str, tuple[float, float]], dict[str, tuple[float, float]]]:
        """Return the bounds of coordinates and of velocities by their names."""
        pairs, count = list(zip(self.low[-1].tolist(), self.high[-1].tolist(), strict=True)), len(self.q)
        names = self.model.q_names, self.model.v_names
        return (dict(zip([names[0][k] for k in self.q], pairs[:count], strict=True)),
                dict(zip([names[1][k] for k in self.v], pairs[count:], strict=True)))  # fmt: skip

    def values(self, motion: Motion) -> np.ndarray:
        """Return the values (steps + 1, b)."""
        return self._rows(motion.q, motion.p).values

    def linear(self, motion: Motion, slopes: ImpulseSlopes | None) -> Linear:
        """Return the values with their derivatives by the state."""
        values, by_state = self._rows(motion.q, motion.p, slopes=True)
        assert by_state is not None
        return Linear(values, by_state)

    @property
    def bends(self) -> bool:
        """Whether :meth:`bend` has something to add: velocities are curved, and joints have one coordinate."""
        return bool(self.penalties.any() and len(self.v) and self.model.nq == self.model.nv)

    def bend(self, q: np.ndarray, p: np.ndarray) -> np.ndarray:
        """Return what the second derivatives of velocities add to the matrices, (steps + 1, 2 nv, 2 nv).

        The sum of w v is w^T M^-1 p. Its gradient is that of :func:`velocity_slopes`, and linear in p.
        """
        model, nv, n = self.model, self.model.nv, len(q)
        w = np.zeros((n, nv))
        w[:, self.v] = self.term(self._rows(q, p).values).gradient[:, len(self.q) :]

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
