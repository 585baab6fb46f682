"""Configurations of a model: what is one, the neutral and random ones, and how displacements change them."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from vitree.arguments import generator
from vitree.errors import InputError
from vitree.mechanism.flat import BALL, FREE, HELICAL, REVOLUTE
from vitree.model.broadcasting import as_rows, doors, in_coordinates, in_one_call, in_row, of_states
from vitree.model.facts import ModelFacts
from vitree.spatial.rotations import quaternion_rate, rotate

#: A quaternion may be this far from unit length; it is then normalised, never silently kept.
QUATERNION_TOLERANCE = 1e-6
#: Within this of unit length it is taken as it is.
QUATERNION_EXACT = 4e-16


class ConfigurationMethods(ModelFacts):
    """Methods of configurations."""

    def neutral(self) -> np.ndarray:
        """Return the configuration of all zeros and unit quaternions, (nq,) [m or rad]."""
        q = np.zeros(self.nq)
        q[self._quaternions + 3] = 1.0
        return q

    @in_coordinates("configuration")
    def _angular(self) -> np.ndarray:
        """Which entries of q are angles, (nq,) bool."""
        found = np.zeros(self.nq, dtype=bool)
        found[self._iq] = np.isin(self.flat.kind, (REVOLUTE, HELICAL))
        return found

    @in_coordinates("configuration")
    def random_configuration(self, rng: np.random.Generator | None = None) -> np.ndarray:
        """Return a configuration (nq,) [m or rad] drawn by ``rng`` (a new generator if None).

        Coordinates with limits are uniform within them, angles without in [-pi, pi], lengths
        without in [-1, 1] m, orientations uniform on SO(3).
        """
        rng, angular = generator(rng), self._angular()
        low, high = np.where(angular, -np.pi, -1.0), np.where(angular, np.pi, 1.0)
        for joint in self.flat.joints:
            if len(joint.lower) == joint.q_slice.stop - joint.q_slice.start:
                lower, upper = np.array(joint.lower, float), np.array(joint.upper, float)
                finite = np.isfinite(lower) & np.isfinite(upper)
                low[joint.q_slice] = np.where(finite, lower, low[joint.q_slice])
                high[joint.q_slice] = np.where(finite, upper, high[joint.q_slice])
        q = rng.uniform(low, high)
        for i in self._quaternions:
            x = rng.standard_normal(4)
            q[i : i + 4] = x / np.linalg.norm(x)
        return q

    @in_one_call
    def validate_configuration(self, q: ArrayLike, name: str = "q") -> np.ndarray:
        """Return a checked copy of one configuration (nq,) [m or rad]; ``name`` is what errors call it.

        Quaternions within 1e-6 of unit length are normalised.

        Raises
        ------
        InputError
            For a wrong shape, NaN or infinity, or a quaternion that is not normalised.
        """
        q = self._checked(q, self.nq, name).copy()
        for i in self._quaternions:
            with np.errstate(over="ignore"):  # infinite is not one either
                norm = np.linalg.norm(q[i : i + 4])
            if abs(norm - 1.0) > QUATERNION_TOLERANCE:
                raise InputError(
                    name, q,
                    f"[{i}:{i + 4}] is a quaternion (x, y, z, w) of length {norm:.6g}; divide it by its length"
                )
            if abs(norm - 1.0) > QUATERNION_EXACT:
                q[i : i + 4] /= norm
        return q

    def _checked_stack(self, q: np.ndarray, name: str) -> np.ndarray:
        if type(self).validate_configuration is not ConfigurationMethods.validate_configuration:
            return super()._checked_stack(q, name)
        found = q
        for i in self._quaternions:
            x = q[..., i : i + 4]
            with np.errstate(over="ignore"):  # infinite is not one either
                length = np.sqrt((x[..., None, :] @ x[..., None])[..., 0, 0])  # the bits of np.linalg.norm
            off = np.abs(length - 1.0)
            if not (off <= QUATERNION_TOLERANCE).all():
                at = np.unravel_index(int((off <= QUATERNION_TOLERANCE).argmin()), off.shape)
                with in_row(at):
                    self.validate_configuration(q[at], name)
            turned = off > QUATERNION_EXACT
            if turned.any():
                found = q.copy() if found is q else found
                found[turned, i : i + 4] = x[turned] / length[turned][:, None]
        return found

    @of_states
    @in_coordinates("configuration")
    def integrate(self, q: ArrayLike, dq: ArrayLike) -> np.ndarray:
        """Return the configuration (..., nq) [m or rad] that a displacement in body axes leads to.

        On ball and free joints that is by the exponential map.
        """
        out = np.empty(np.shape(q))
        doors(q).batch_integrate(self.core, as_rows(q), as_rows(dq), as_rows(out))
        return out

    @of_states
    @in_coordinates("velocity")
    def difference(self, q0: ArrayLike, q1: ArrayLike) -> np.ndarray:
        """Return the displacement (..., nv) [m or rad] with ``integrate(q0, difference(q0, q1)) == q1``.

        Rotations are taken by the shorter way.
        """
        out = np.empty((*np.shape(q0)[:-1], self.nv))
        doors(q0).batch_difference(self.core, as_rows(q0), as_rows(q1), as_rows(out))
        return out

    @in_coordinates("configuration")
    def configuration_rate(self, q: np.ndarray, v: np.ndarray) -> np.ndarray:
        """Return dq/dt (nq,) [m/s or rad/s] for ordinary solvers, unchecked."""
        rate = np.empty(self.nq)
        for kind, iq, iv in zip(self.flat.kind, self._iq, self._iv, strict=True):
            if kind == BALL:
                rate[iq : iq + 4] = quaternion_rate(q[iq : iq + 4], v[iv : iv + 3])
            elif kind == FREE:
                turn = q[iq + 3 : iq + 7]
                rate[iq : iq + 3] = rotate(turn, v[iv : iv + 3])
                rate[iq + 3 : iq + 7] = quaternion_rate(turn, v[iv + 3 : iv + 6])
            else:
                rate[iq] = v[iv]
        return rate
