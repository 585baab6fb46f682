"""Holonomic constraints of a model: how far they are from holding, and velocities that they allow."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from vitree._core import scalar, wide
from vitree._core.types import ConstraintList
from vitree.model.broadcasting import finite_result, in_coordinates
from vitree.model.dynamics import DynamicsMethods
from vitree.model.rolling import without_slip

core = scalar()
#: Directions face the same way above this cosine; where all rows of a joint or weld hold, it is 1, 0 or -1.
FACES = 0.1


class ConstraintMethods(DynamicsMethods):
    """Constraints, and velocities that they allow."""

    @in_coordinates("rows", "rows by q")
    def _constraint_rows(self, q: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return h (n, m) [m or rad] and Dh (n, m, nv) of the constraints at rows of configurations q (n, nq)."""
        n = len(q)
        h, Dh = self._rows_of(self.constraint_list, len(self.constraints), q)
        for k, row in self.written.constraints if self.written is not None else ():
            for i in range(n):
                h[i, k], Dh[i, k] = row(q[i])
        return h, Dh

    def _rows_of(self, rows: ConstraintList, m: int, q: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        n = len(q)
        h, Dh = np.zeros((n, m)), np.zeros((n, m, self.nv))
        if m:
            wide().batch_constraints(self.core, rows, q, h, Dh.reshape(n, m * self.nv))
        return h, Dh

    @in_coordinates("rows")
    def _facing_cosines(self, q: np.ndarray) -> np.ndarray:
        """Return the cosines (n, m) between the directions that constraints say face the same way; 1 where none do."""
        out = np.ones((len(q), len(self.constraints)))
        has = self._facing >= 0
        if has.any():
            out[:, has] = self._rows_of(self._cosines, int(self._facing.max()) + 1, q)[0][:, self._facing[has]]
        return out

    @in_coordinates("plain", "force")
    def _facing_rows(self, q: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return the differences (n, 3 k) of the directions that face the same way, and their slopes (n, 3 k, nv)."""
        return self._rows_of(self._differences, 3 * (int(self._facing.max(initial=-1)) + 1), q)

    def _constraint_errors(self, q: np.ndarray) -> np.ndarray:
        # the sine of an angle beyond 90 degrees falls again
        h, _ = self._constraint_rows(q)
        return np.where(self._facing_cosines(q) > FACES, h, np.copysign(2.0, h) - h)

    @finite_result
    def project_velocity(self, q: ArrayLike, v: ArrayLike) -> np.ndarray:
        """Return the velocity (nv,) [m/s or rad/s] nearest to v, in kinetic energy, that the constraints allow.

        Rates of prescribed coordinates stay as they are in v. Wheels that roll (:class:`RollingConstraint`) do not slip
        with it.
        """
        q, v = self.validate_configuration(q), self._checked(v, self.nv, "v")
        self.require_invertible_mass_matrix(q)
        if self.rolling:
            return without_slip(self, q, v)
        found: np.ndarray = self._constrained_velocities(q[None], self._momenta(q[None], v[None]), v[None])[0]
        return found

    def _constrained_velocities(self, q: np.ndarray, p: np.ndarray, rates: np.ndarray | None = None) -> np.ndarray:
        """Return v = M^-1 (p + Dh^T nu), with Dh v = 0, for rows q (n, nq), p (n, nv): (n, nv) [m/s or rad/s].

        ``rates`` (n, nv): its entries of prescribed coordinates are those of v.
        """
        locked = np.asarray(self.flat.kinematic, dtype=bool)
        if not self.constraints and not locked.any():
            return self._velocities(q, p)
        if self._followers is None and self.written is None and not locked.any():
            field = core.ModelStepper(self.core, 1.0, constraints=self.constraint_list)
            q, p = np.ascontiguousarray(q), np.ascontiguousarray(p)
            v = np.empty_like(p)
            if np.isfinite(core.velocities_of(field, q, p, v)):
                return v
        M, free = self._mass_matrices(q), ~locked
        v = np.zeros_like(p) if rates is None else np.where(locked, rates, 0.0)
        inner = M[:, free][:, :, free]
        rest = p[:, free] - (M[:, free][:, :, locked] @ v[:, locked, None])[:, :, 0]
        v[:, free] = np.linalg.solve(inner, rest[:, :, None])[:, :, 0]
        if self.constraints:
            _, Dh = self._constraint_rows(q)
            Y = np.linalg.solve(inner, np.swapaxes(Dh[:, :, free], 1, 2))
            # by the pseudo-inverse: where constraints depend on each other any multipliers do
            nu = np.linalg.pinv(Dh[:, :, free] @ Y, rcond=1e-13, hermitian=True) @ (Dh @ v[:, :, None])
            v[:, free] -= (Y @ nu)[:, :, 0]
        return v
