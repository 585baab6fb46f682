"""Dynamics of the bare mechanism: inverse and forward dynamics, mass matrix, energies, derivatives; its constraints."""

from __future__ import annotations

import functools
import math
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from vitree._core import scalar, wide
from vitree._core.types import ConstraintList
from vitree.errors import InputError, ModelError
from vitree.geometry.distances import FLAT
from vitree.mechanism.constraints import loses
from vitree.mechanism.flat import KIND_NV
from vitree.mechanism.loads import CONSERVATIVE, BallSpring, JointSpring, NonlinearSpring, Spring
from vitree.mechanism.regular import LEAST_ALONE, LEAST_AT, always_regular, why_singular_at
from vitree.model.broadcasting import (
    as_rows,
    doors,
    finite_result,
    in_coordinates,
    in_row,
    of_states,
    of_states_as,
    plain_number,
)
from vitree.model.candidates import Wheels, rims
from vitree.model.contacts import ContactMethods
from vitree.model.lower import lower_loads
from vitree.model.user_inputs import WrittenParts, written_parts

core = scalar()
#: Directions face the same way above this cosine; where all rows of a joint or weld hold, it is 1, 0 or -1.
FACES = 0.1


class LagrangianDerivatives(NamedTuple):
    """A Lagrangian [J] and its derivatives: by_q, by_v (nv,); by_qq, by_vq (first index v), by_vv (nv, nv)."""

    value: float
    by_q: np.ndarray
    by_v: np.ndarray
    by_qq: np.ndarray
    by_vq: np.ndarray
    by_vv: np.ndarray


class RneaDerivatives(NamedTuple):
    """Derivatives of inverse dynamics, (..., nv, nv); row i is of joint force i.

    Attributes
    ----------
    by_q : (..., nv, nv) array
        By displacements of the configuration, as ``integrate`` takes them [N or N m, per m or rad].
    by_v : (..., nv, nv) array
        By the velocity [N s/m, N s, or N m s].
    by_a : (..., nv, nv) array
        By the acceleration: the mass matrix [kg, kg m or kg m^2].
    """

    by_q: np.ndarray
    by_v: np.ndarray
    by_a: np.ndarray


class AbaDerivatives(NamedTuple):
    """Derivatives of forward dynamics, (..., nv, nv); row i is of acceleration i.

    Attributes
    ----------
    by_q : (..., nv, nv) array
        By displacements of the configuration, as ``integrate`` takes them [m/s^2 or rad/s^2, per m or rad].
    by_v : (..., nv, nv) array
        By the velocity [m/s^2 or rad/s^2, per m/s or rad/s].
    by_torque : (..., nv, nv) array
        By the joint forces: the inverse of the mass matrix [1/kg, 1/(kg m) or 1/(kg m^2)].
    """

    by_q: np.ndarray
    by_v: np.ndarray
    by_torque: np.ndarray


def _matrices(count: int, q: ArrayLike, nv: int) -> tuple[np.ndarray, np.ndarray]:
    """Return so many stacks of matrices (count, ..., nv, nv), and the same memory in rows."""
    lead = np.shape(q)[:-1]
    found = np.empty((count, *lead, nv, nv))
    return found, found.reshape(count, math.prod(lead), nv * nv)


def rnea_derivatives(model: DynamicsMethods, q: ArrayLike, v: ArrayLike, a: ArrayLike) -> RneaDerivatives:
    """Return the derivatives of ``model.rnea`` at states (..., nq), (..., nv) [m or rad, and their rates]."""
    found, rows = _matrices(3, q, model.nv)
    doors(q).batch_rnea_derivatives(model.core, model._gravity, as_rows(q), as_rows(v), as_rows(a), *rows)
    return RneaDerivatives(*found)


def inverse_mass_matrix(model: DynamicsMethods, q: ArrayLike) -> np.ndarray:
    """Return the inverse of the mass matrix (..., nv, nv) at q (..., nq) [1/kg, 1/(kg m) or 1/(kg m^2)]."""
    found, rows = _matrices(1, q, model.nv)
    doors(q).batch_inverse_mass_matrix(model.core, as_rows(q), *rows)
    result: np.ndarray = found[0]
    return result


# ---- of models some of whose joints follow others: by the mass matrix itself, (nv, nv)


def _dense_aba(model: DynamicsMethods, q: ArrayLike, v: ArrayLike, tau: ArrayLike) -> np.ndarray:
    """Return ``model.aba`` at states (..., nq), (..., nv) [m or rad, its rate, N or N m]."""
    model._require_invertible_mass_matrix(q)
    forces = np.asarray(tau) - model.rnea(q, v, np.zeros(np.shape(v)))
    return np.linalg.solve(model.crba(q), forces[..., None])[..., 0]


def _dense_inverse_mass_matrix(model: DynamicsMethods, q: ArrayLike) -> np.ndarray:
    """Return ``model.inverse_mass_matrix`` (..., nv, nv) at q (..., nq) [1/kg, 1/(kg m) or 1/(kg m^2)]."""
    model._require_invertible_mass_matrix(q)
    return np.linalg.inv(model.crba(q))


def _dense_aba_derivatives(model: DynamicsMethods, q: ArrayLike, v: ArrayLike, tau: ArrayLike) -> AbaDerivatives:
    """Return ``model.aba_derivatives`` at states (..., nq), (..., nv) [m or rad, its rate, N or N m]."""
    forces, inverse = model.rnea_derivatives(q, v, model.aba(q, v, tau)), model.inverse_mass_matrix(q)
    return AbaDerivatives(-inverse @ forces.by_q, -inverse @ forces.by_v, inverse)


def _dense_velocities(model: DynamicsMethods, q: np.ndarray, p: np.ndarray) -> np.ndarray:
    """Return ``model._velocities`` (n, nv) [m/s or rad/s] at rows q (n, nq) and momenta p (n, nv)."""
    return np.linalg.solve(model._mass_matrices(q), p[..., None])[..., 0]


# ---- the methods -------------------------------------------------------------------------------------------------


class DynamicsMethods(ContactMethods):
    """Dynamics without what acts on the mechanism beside gravity and joint forces, and energies."""

    @of_states
    @in_coordinates("force")
    def rnea(self, q: ArrayLike, v: ArrayLike, a: ArrayLike) -> np.ndarray:
        """Return the joint forces (..., nv) [N or N m] for an acceleration: tau = M(q) a + c(q, v) + g(q).

        M has the armature of the joints. Joint damping, friction and loads are left out, as :meth:`aba` leaves them
        out.

        References
        ----------
        Luh, Walker & Paul 1980; Featherstone 2008, ch. 5.
        """
        out = np.empty(np.shape(v))
        doors(q).batch_rnea(self.core, self._gravity, as_rows(q), as_rows(v), as_rows(a), as_rows(out))
        return out

    @of_states
    @in_coordinates("velocity", by=_dense_aba)
    def aba(self, q: ArrayLike, v: ArrayLike, tau: ArrayLike) -> np.ndarray:
        """Return the acceleration (..., nv) [m/s^2 or rad/s^2] under joint forces, the inverse of :meth:`rnea`.

        References
        ----------
        Featherstone 2008, ch. 7.
        """
        self._require_invertible_mass_matrix(q)
        return self._bare_accelerations(q, v, tau)

    def _bare_accelerations(self, q: ArrayLike, v: ArrayLike, tau: ArrayLike) -> np.ndarray:
        out = np.empty(np.shape(v))
        doors(q).batch_aba(self.core, self._gravity, as_rows(q), as_rows(v), as_rows(tau), as_rows(out))
        return out

    @of_states
    @in_coordinates("matrix")
    def crba(self, q: ArrayLike) -> np.ndarray:
        """Return the mass matrix, (..., nv, nv), symmetric [kg, kg m or kg m^2], with the armature on its diagonal.

        References
        ----------
        Featherstone 2008, ch. 6.
        """
        rows = as_rows(q)
        out = np.empty((*np.shape(q)[:-1], self.nv, self.nv))
        doors(q).batch_crba(self.core, rows, out.reshape(len(rows), self.nv**2))
        return out

    @of_states
    @in_coordinates("matrix", by=_dense_inverse_mass_matrix)
    def inverse_mass_matrix(self, q: ArrayLike) -> np.ndarray:
        """Return the inverse of the mass matrix, (..., nv, nv), symmetric [1/kg, 1/(kg m) or 1/(kg m^2)].

        Of a model with prescribed coordinates it is the inverse for the others, with zeros for those. The time grows
        with nv^2.

        References
        ----------
        Featherstone 2008, ch. 7; Carpentier 2018, "Analytical inverse of the joint space inertia matrix".
        """
        self._require_invertible_mass_matrix(q)
        return inverse_mass_matrix(self, q)

    @of_states_as(RneaDerivatives)
    @in_coordinates("matrix", "matrix", "matrix")
    def rnea_derivatives(self, q: ArrayLike, v: ArrayLike, a: ArrayLike) -> RneaDerivatives:
        """Return the derivatives of :meth:`rnea` by q, v and a, (..., nv, nv).

        Derivatives by q are by displacements dq, as :meth:`integrate` takes them: of ball and free joints in body axes.
        With ``d = model.rnea_derivatives(q, v, a)``, ``rnea(integrate(q, dq), v + dv, a + da)`` is
        ``rnea(q, v, a) + d.by_q @ dq + d.by_v @ dv + d.by_a @ da`` to first order. The time grows with nv times the
        depth of the tree.

        Returns
        -------
        RneaDerivatives
            ``by_q`` [N or N m, per m or rad], ``by_v`` [N s/m, N s, or N m s] and ``by_a``, the mass matrix
            [kg, kg m or kg m^2]. Row i is of joint force i.

        References
        ----------
        Carpentier & Mansard 2018, "Analytical derivatives of rigid body dynamics algorithms"; Singh, Russell & Wensing
        2022, "Efficient analytical derivatives of rigid-body dynamics using spatial vector algebra".
        """
        return rnea_derivatives(self, q, v, a)

    @of_states_as(AbaDerivatives)
    @in_coordinates("velocity by q", "velocity by q", "velocity by force", by=_dense_aba_derivatives)
    def aba_derivatives(self, q: ArrayLike, v: ArrayLike, tau: ArrayLike) -> AbaDerivatives:
        """Return the derivatives of :meth:`aba` by q, v and the joint forces, (..., nv, nv).

        Derivatives by q are by displacements, as in :meth:`rnea_derivatives`. Prescribed coordinates do not accelerate,
        so their rows are zero. The time grows with nv^2.

        Returns
        -------
        AbaDerivatives
            ``by_q`` [m/s^2 or rad/s^2, per m or rad], ``by_v`` [m/s^2 or rad/s^2, per m/s or rad/s] and
            ``by_torque``, the :meth:`inverse_mass_matrix` [1/kg, 1/(kg m) or 1/(kg m^2)]. Row i is of acceleration i.

        References
        ----------
        Carpentier & Mansard 2018, "Analytical derivatives of rigid body dynamics algorithms".
        """
        self._require_invertible_mass_matrix(q)
        found, rows = _matrices(3, q, self.nv)
        doors(q).batch_aba_derivatives(self.core, self._gravity, as_rows(q), as_rows(v), as_rows(tau), *rows)
        return AbaDerivatives(*found)

    @of_states
    def velocity_from_momentum(self, q: ArrayLike, p: ArrayLike) -> np.ndarray:
        """Return the velocity v = M(q)^-1 p, (..., nv) [m/s or rad/s]."""
        self._require_invertible_mass_matrix(q)
        return self._velocities(as_rows(q), as_rows(p)).reshape(np.shape(p))

    @of_states
    def kinetic_energy(self, q: ArrayLike, v: ArrayLike) -> Any:
        """Return the kinetic energy [J], that of the rotors (``armature``) with it; an array (...) of many states."""
        return plain_number(self._energies_at(q, v)[..., 0])

    @of_states
    def potential_energy(self, q: ArrayLike) -> Any:
        """Return the potential energy [J]: gravity's, zero with all mass at the world's origin, and that of springs.

        Springs are those of loads, and those of contacts with a ``stiffness`` k where they are pressed: k gap^2/2. It
        is an array (...) of many states.
        """
        return plain_number(self._energies_at(q, None)[..., 1])

    @of_states
    def momentum(self, q: ArrayLike, v: ArrayLike) -> np.ndarray:
        """Return the momentum (..., 6): angular about the world's origin [kg m^2/s], linear [kg m/s]; world axes.

        That of the bodies: rotors (``armature``) have no part in it.
        """
        return np.ascontiguousarray(self._energies_at(q, v)[..., 2:8])

    @of_states
    @in_coordinates("plain")
    def lagrangian(self, q: ArrayLike, v: ArrayLike) -> Any:
        """Return kinetic minus potential energy [J], without contacts, a number; an array (...) of many states."""
        energies = self._energies_at(q, v)
        value = energies[..., 0] - energies[..., 1]
        if self._has_contact_springs:
            value = value + core.contact_potentials(self.core, self.contact_list, as_rows(q)).reshape(value.shape)
        return plain_number(value)

    @finite_result
    @in_coordinates("plain", "force", "force", "matrix", "matrix", "matrix", checks="state")
    def lagrangian_derivatives(self, q: ArrayLike, v: ArrayLike) -> LagrangianDerivatives:
        """Return L = T - V [J], with the potentials of the loads, and its derivatives by q and v.

        Raises
        ------
        InputError
            If there are ball or free joints; take ``model.euler()``.

        References
        ----------
        Johnson & Murphey 2009, eqs. 2-10, 16-19.
        """
        q, v = self.validate_configuration(q), self._checked(v, self.nv, "v")
        if self.nq != self.nv or len(self.flat.kind) != self.nv:
            raise InputError(
                f'"{self.name}" has ball or free joints, by which L has no plain derivatives; take model.euler()'
            )
        value, by_q, by_v, by_qq, by_vq, by_vv = core.lagrangian_derivatives(self.core, q, v)
        if self.flat.loads:
            rows = lower_loads(self.index, tuple(x for x in self.flat.loads if isinstance(x, CONSERVATIVE)))
            given = q[None], self.zero_velocity()[None], np.empty((1, 0))
            forces, slopes, *_ = (x[0] for x in core.load_derivatives(self.core, rows, *given))
            by_q, by_qq = by_q + forces, by_qq + slopes
            value -= float(core.load_potentials(self.core, rows, q[None])[0])
        if self.written is not None and self.written.resting:
            value -= self.written.energy(q)
            by_q = by_q + self.written.rest(q)
            by_qq = by_qq + self.written.hessian(q)
        return LagrangianDerivatives(value, by_q, by_v, by_qq, by_vq, by_vv)

    def _energies_at(self, q: ArrayLike, v: ArrayLike | None) -> np.ndarray:
        lead = np.shape(q)[:-1]
        v = np.broadcast_to(self.zero_velocity(), (*lead, self.nv)) if v is None else v
        return self._energies(as_rows(q), as_rows(v)).reshape(*lead, 11)

    # ---- rows of states, in lanes -------------------------------------------------------------------

    @in_coordinates("plain")
    def _energies(self, q: np.ndarray, v: np.ndarray) -> np.ndarray:
        out = np.empty((len(q), 11))
        wide().batch_energy(self.core, q, v, out)
        if self.flat.loads:
            out[:, 1] += core.load_potentials(self.core, self.load_list, q)
            if self.written is not None and self.written.resting:
                out[:, 1] += [self.written.energy(row) for row in q]
        if self._has_contact_springs:
            out[:, 1] += core.contact_potentials(self.core, self.contact_list, q)
        return out

    @in_coordinates("force")
    def _momenta(self, q: np.ndarray, v: np.ndarray) -> np.ndarray:
        # inverse dynamics at rest, without gravity
        out, zero = np.empty((len(q), self.nv)), np.zeros((len(q), self.nv))
        wide().batch_rnea(self.core, np.zeros(3), q, zero, v, out)
        return out

    @in_coordinates("matrix")
    def _mass_matrices(self, q: np.ndarray) -> np.ndarray:
        """Return the mass matrices (n, nv, nv) [kg, kg m or kg m^2] at rows of configurations q (n, nq)."""
        M = np.empty((len(q), self.nv**2))
        wide().batch_crba(self.core, q, M)
        return M.reshape(-1, self.nv, self.nv)

    @in_coordinates("velocity", by=_dense_velocities)
    def _velocities(self, q: np.ndarray, p: np.ndarray) -> np.ndarray:
        out, zero = np.empty((len(q), self.nv)), np.zeros((len(q), self.nv))
        wide().batch_aba(self.core, np.zeros(3), q, zero, p, out)
        return out

    # ---- where the mass matrix has an inverse -------------------------------------------------------

    def require_invertible_mass_matrix(self, q: np.ndarray | None = None) -> None:
        """Raise a ModelError that names the joint if the mass matrix is singular, in every configuration or at q.

        Kinematics and :meth:`rnea` work all the same; accelerations do not exist.
        """
        why = self.singular
        if why is None and q is not None:
            why = self.singular_at(q)
        if why is not None:
            raise ModelError(why)

    @in_coordinates("plain")
    def _require_invertible_mass_matrix(self, q: ArrayLike) -> None:
        """Raise the error of ``require_invertible_mass_matrix`` for the first of a stack q (..., nq) that has one."""
        q = np.asarray(q)
        if q.ndim == 1:
            if self._calls is None or not self._calls.regular_now(self, q):
                self.require_invertible_mass_matrix(q)
            return
        self.require_invertible_mass_matrix()
        if self._regular:
            return
        shares = np.empty((q.size // max(self.nq, 1), 2, self.nv))
        wide().batch_pivots(self.core, as_rows(q), shares.reshape(len(shares), 2 * self.nv))
        regular = (shares > [[LEAST_AT], [LEAST_ALONE]]).all(axis=(1, 2))  # False of NaN
        if not regular.all():
            at = np.unravel_index(int(regular.argmin()), q.shape[:-1])
            with in_row(at):
                self.require_invertible_mass_matrix(q[at])

    def singular_at(self, q: np.ndarray) -> str | None:
        """Return why the mass matrix is singular at q (nq,) [m or rad], in words; None if it is regular."""
        full = self.full
        if full._regular:
            return None
        out = np.empty((1, 2 * full.nv))
        core.batch_pivots(full.core, self.expand(self._checked(q, self.nq, "q"))[None], out)
        return why_singular_at(full.flat, out.reshape(2, -1))

    @functools.cached_property
    def _regular(self) -> bool:
        return always_regular(self.flat)

    # ---- steppers that have accelerations ---------------------------------------------------------

    def _field(self, tau: np.ndarray | None = None, inputs: object = None) -> Any:
        """What has the accelerations under everything."""
        touching = {"contacts": self.contact_list} if self.contact_list.count else {}
        return core.ModelStepper(self.core, 1.0, tau, loads=self.load_list, constraints=self.constraint_list,
                                 drives=self.drive_list, user=self.written, nu=len(self.input_names),
                                 inputs=inputs, **touching)  # fmt: skip

    def _field_at_rest(self) -> Any:
        """What has the accelerations under gravity and those loads that have a potential."""
        kept = self._potentials()
        return core.ModelStepper(self.core, 1.0, loads=lower_loads(self.index, kept), user=self._written_of(kept, ()))

    @functools.cached_property
    def _fields(self) -> list[Any]:
        """Steppers that have the accelerations of states, and that nobody uses."""
        return []

    def _written_of(self, loads: tuple[object, ...], constraints: tuple[object, ...]) -> WrittenParts | None:
        """Those loads and constraints that are written in Python."""
        return written_parts(self, loads, constraints)

    # ---- constraints, and velocities that they allow ------------------------------------------------

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


# ---- wheels that roll without slip, at a state -----------------------------------------------------------------


#: How far a wheel that holds its distance may be from its plane where a run starts [m].
OFF = 1e-9
#: Speed of slip that is none where a run starts, as a share of the speeds.
SLIP = 1e-8


@in_coordinates("plain", "plain", "force")
def rows_of(model: DynamicsMethods, q: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return the wheels (m,), the directions (m, 3) and the rows (m, nv) that v must satisfy at q (nq,): rows v = 0."""
    found: Wheels = model.wheels
    poses = model._pose_rows(q[None])[0][found.body].reshape(-1, 3, 4)
    _, n, x, _ = rims(found, np.arange(len(found)), poses)
    which, ways, rows = [], [], []
    for k in range(len(found)):
        R = poses[k, :, :3]
        arm = R.T @ (x[k] - poses[k, :, 3])
        J = np.empty((1, 6 * model.nv))
        core.batch_jacobian(model.core, np.ascontiguousarray(q[None]), int(found.body[k]), arm, J)
        for way, held in zip(_ways(n[k], R @ found.axis[k]), found.holds[k], strict=True):
            if held:
                which.append(k)
                ways.append(way)
                rows.append(way @ J.reshape(6, model.nv)[3:])
    return np.array(which, int), np.array(ways).reshape(-1, 3), np.array(rows).reshape(-1, model.nv)


def _ways(n: np.ndarray, axle: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """The normal, the way of a wheel and its axle on the plane."""
    across = axle - (n @ axle) * n
    if np.linalg.norm(across) < FLAT:
        one = np.eye(3)[0 if abs(n[0]) < 0.9 else 1]
        along = one - (n @ one) * n
        along /= np.linalg.norm(along)
        return n, along, np.cross(n, along)
    across = across / np.linalg.norm(across)
    return n, np.cross(across, n), across


def without_slip(model: DynamicsMethods, q: np.ndarray, v: np.ndarray) -> np.ndarray:
    """Return the velocity (nv,) [m/s or rad/s] nearest to v, in kinetic energy, with which wheels do not slip."""
    *_, rows = rows_of(model, q)
    if model.constraints:
        rows = np.vstack([rows, model._constraint_rows(q[None])[1][0]])
    free = ~np.asarray(model.flat.kinematic, dtype=bool)
    M = model._mass_matrices(q[None])[0]
    Y = np.linalg.solve(M[np.ix_(free, free)], rows[:, free].T)
    out = np.array(v, dtype=float)
    for _ in range(2):
        out[free] -= Y @ (np.linalg.pinv(rows[:, free] @ Y, rcond=1e-12, hermitian=True) @ (rows @ out))
    return out


def require_rolling(model: DynamicsMethods, q: np.ndarray, v: np.ndarray | None) -> None:
    """Raise an InputError if a wheel that holds its distance is off its plane at q (nq,), or slips with v (nv,)."""
    found: Wheels = model.wheels
    if not len(found):
        return
    poses = model._pose_rows(q[None])[0][found.body].reshape(-1, 3, 4)
    gap, *_ = rims(found, np.arange(len(found)), poses)
    names = [each.frame for each in model.rolling]
    off = np.where(found.holds[:, 0], np.abs(gap), 0.0)
    if off.max() > OFF:
        k = int(off.argmax())
        raise InputError(
            f'"{names[k]}" is {gap[k]:.3g} m from the plane on which it rolls, at the start; set it on the plane '
            "(its rim is a wheel's nearest point), or leave normal=True out"
        )
    if v is None:
        return
    which, _, rows = rows_of(model, q)
    slip = np.abs(rows @ v)
    if slip.max(initial=0.0) > SLIP * max(float(np.abs(rows * v).max()), 1e-300):
        k = int(slip.argmax())
        raise InputError(
            f'"{names[which[k]]}" slips by {slip[k]:.3g} m/s at the start, and it rolls; start with '
            "model.project_velocity(q, v), the nearest velocity with which nothing slips"
        )


def refuse_rolling(model: DynamicsMethods, what: str) -> None:
    """Raise a ModelError if wheels roll that a function does not know."""
    if model.rolling:
        raise ModelError(f'{what} does not support wheels that roll without slip, which "{model.name}" has')


def refuse_unilateral(model: DynamicsMethods, what: str) -> None:
    """Raise a ModelError if a model has ropes or limits of ball joints that a function does not know."""
    if model.unilateral:
        names = ", ".join(each.name for each in model.unilateral[:3])
        raise ModelError(f'{what} does not support ropes and limits of ball joints, which "{model.name}" has ({names})')


def refuse_losses(model: DynamicsMethods, what: str) -> None:
    """Raise a ModelError if couplings of a model lose power, which a function does not know."""
    if lossy := [each.name for each in model.full.constraints if loses(each)]:
        raise ModelError(f'{what} does not know the efficiency of couplings, which "{model.name}" has '
                         f'({", ".join(lossy[:3])}); steps of linear-time, midpoint and implicit-euler do')  # fmt: skip


# ---- rates of springs, drives and friction ---------------------------------------------------------------------


_SPRINGS = (JointSpring, NonlinearSpring, Spring, BallSpring)


def spring_rate(model: DynamicsMethods, q: np.ndarray) -> float:
    """Return the largest frequency that one spring alone gives the mechanism at q (nq,) [rad/s]; zero without springs.

    Of a spring of stiffness k along a row J of displacements it is sqrt(k J M^-1 J^T).
    """
    springs = [load for load in model.loads if isinstance(load, _SPRINGS)]
    free = ~np.asarray(model.flat.kinematic, dtype=bool)
    if not springs or not free.any() or not np.isfinite(q).all():
        return 0.0
    inverse = np.linalg.pinv(model.crba(q)[np.ix_(free, free)])
    squares = [float(np.linalg.eigvals(inverse @ _stiffness(model, load, q)[np.ix_(free, free)]).real.max())
               for load in springs]  # fmt: skip
    return float(np.sqrt(max(0.0, *squares)))


def drive_rate(model: DynamicsMethods, q: np.ndarray) -> float:
    """Return the largest rate that drives and joint damping give the mechanism at q (nq,) [1/s]; zero without them.

    Of dampings D and gains K it is the larger of the largest eigenvalue of M^-1 D and the root of that of M^-1 K.
    """
    free = ~np.asarray(model.flat.kinematic, dtype=bool)
    if not (model.drives or np.any(model.damping)) or not free.any() or not np.isfinite(q).all():
        return 0.0
    gains = np.zeros((2, model.nv))
    gains[1] = model.damping
    for drive in model.drives:
        gains[:, model.joint(drive.joint).v_slice.start] += drive.kp, drive.kd
    inverse = np.linalg.pinv(model.crba(q)[np.ix_(free, free)])
    by_gain, by_damping = (float(np.linalg.eigvals(inverse * diagonal).real.max()) for diagonal in gains[:, free])
    return max(float(np.sqrt(max(by_gain, 0.0))), by_damping)


def friction_rates(model: DynamicsMethods, q: np.ndarray) -> np.ndarray:
    """Return the rates by which smooth friction slows joints that hardly move at q (nq,), (k,) [1/s].

    Friction f with the velocity e slows an inertia M at the rate f/(M e). Prescribed joints are left out.
    """
    free = ~np.asarray(model.flat.kinematic, dtype=bool)
    with np.errstate(over="ignore"):  # of friction that no double holds over so small a velocity: infinitely fast
        slope = (model.friction / np.asarray(model.flat.friction_velocity))[free]
    found: np.ndarray = slope * np.diag(np.linalg.inv(model.crba(q)[np.ix_(free, free)]))
    return found


def heaviest_load(model: DynamicsMethods) -> tuple[str, float, float] | None:
    """Return the joint that carries the most for the mass of its body: its name, that mass and what it carries [kg].

    Joints with armature and bodies without mass are left out; None where nothing is carried.
    """
    flat = model.full.flat
    carried = np.zeros(len(flat.mass))
    for body in range(len(carried) - 1, -1, -1):
        if flat.parent[body] >= 0:
            carried[flat.parent[body]] += carried[body] + flat.mass[body]
    share = np.divide(carried, flat.mass, out=np.zeros(len(carried)), where=flat.mass > 0)
    starts = {joint.v_slice.start: joint.name for joint in model.full.joints}
    sizes = KIND_NV[flat.kind]
    first = (np.cumsum(sizes) - sizes).tolist()
    share[[flat.armature[at] > 0 or at not in starts for at in first]] = 0.0
    k = int(share.argmax())
    return (starts[first[k]], float(flat.mass[k]), float(carried[k])) if share[k] > 0 else None


def _stiffness(
    model: DynamicsMethods, load: JointSpring | NonlinearSpring | Spring | BallSpring, q: np.ndarray
) -> np.ndarray:
    """The matrix (nv, nv) of a spring without what its present force adds; that of a table at its steepest."""
    if isinstance(load, Spring):
        rows = _jacobian(model, load.a, q) - _jacobian(model, load.b, q)
        d = _place(model, load.a, q) - _place(model, load.b, q)
        if load.length != 0 and d.any():
            rows = (d / np.linalg.norm(d))[None] @ rows
        found: np.ndarray = load.stiffness * rows.T @ rows
        return found
    out, iv = np.zeros((model.nv, model.nv)), model.joint(load.joint).v_slice.start
    if isinstance(load, BallSpring):
        out[iv : iv + 3, iv : iv + 3] = load.stiffness * np.eye(3)
    elif isinstance(load, JointSpring):
        out[iv, iv] = load.stiffness
    else:
        x = np.asarray(load.positions, dtype=float)
        force = [load.force(at) for at in x] if callable(load.force) else load.force
        out[iv, iv] = max(0.0, float((-np.diff(np.asarray(force, dtype=float)) / np.diff(x)).max(initial=0.0)))
    return out


def _jacobian(model: DynamicsMethods, frame: str, q: np.ndarray) -> np.ndarray:
    """Of a frame's origin, (3, nv)."""
    return np.zeros((3, model.nv)) if frame == "world" else model.frame_jacobian(frame, q)[3:]


def _place(model: DynamicsMethods, frame: str, q: np.ndarray) -> np.ndarray:
    """A frame's origin, (3,) [m]."""
    return np.zeros(3) if frame == "world" else model.frame_pose(frame, q)[:3, 3]
