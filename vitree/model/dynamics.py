"""Dynamics of the bare mechanism: inverse and forward dynamics, the mass matrix, energies, and derivatives."""

from __future__ import annotations

import functools
import math
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from vitree._core import scalar, wide
from vitree.errors import InputError, ModelError
from vitree.mechanism.loads import CONSERVATIVE
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
from vitree.model.contacts import ContactMethods
from vitree.model.lower import lower_loads
from vitree.model.user_loads import WrittenParts, written_parts

core = scalar()


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


def aba_derivatives(model: DynamicsMethods, q: ArrayLike, v: ArrayLike, tau: ArrayLike) -> AbaDerivatives:
    """Return the derivatives of ``model.aba`` at states (..., nq), (..., nv) [m or rad, its rate, N or N m]."""
    found, rows = _matrices(3, q, model.nv)
    doors(q).batch_aba_derivatives(model.core, model._gravity, as_rows(q), as_rows(v), as_rows(tau), *rows)
    return AbaDerivatives(*found)


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
        return aba_derivatives(self, q, v, tau)

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
    def center_of_mass(self, q: ArrayLike) -> np.ndarray:
        """Return the centre of mass of everything that moves, in the world, (..., 3) [m]."""
        return np.ascontiguousarray(self._energies_at(q, None)[..., 8:])

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
            forces, slopes, _ = core.load_derivatives(self.core, rows, q, self.zero_velocity(), np.empty(0))
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
