"""Forward and inverse dynamics under everything that a model has, forces of contacts, and reactions in joints."""

from __future__ import annotations

import functools
from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from vitree._core import scalar
from vitree.arguments import all_finite, entries
from vitree.errors import ModelError
from vitree.mechanism.constraints import Coupling
from vitree.model import state_forces as at_state
from vitree.model.broadcasting import (
    finite_result,
    in_coordinates,
    in_one_call_as,
    no_result,
    of_states,
    on_stacks,
    row_by_row,
)
from vitree.model.constraints import ConstraintMethods
from vitree.model.dynamics import AbaDerivatives, RneaDerivatives, inverse_mass_matrix, rnea_derivatives
from vitree.model.inputs import resolve_inputs
from vitree.model.user_loads import Force, Mapped, Potential

core = scalar()
#: Derivatives that loads written in Python may give, by the class that has them by differences.
_OWN = {Potential: ("gradient", "hessian"), Force: ("by_q", "by_v")}
#: Compiled calls on one state, whose answer is None where the functions are needed.
_RNEA = core.Call("rnea_derivatives", RneaDerivatives)
_MASS = core.Call("inverse_mass_matrix")


class Accelerations(NamedTuple):
    """Accelerations (..., nv) [m/s^2 or rad/s^2] and multipliers (..., m) [N or N m] of the constraints."""

    acceleration: np.ndarray
    multipliers: np.ndarray


def forward_dynamics_derivatives(
    model: ForceMethods, q: ArrayLike, v: ArrayLike, tau: ArrayLike | None, more: Mapping[str, Any]
) -> AbaDerivatives:
    """Return the derivatives of ``model.forward_dynamics`` at q (..., nq) [m or rad], v [its rate] and tau [N or N m].

    Raises
    ------
    ModelError
        If a load or a constraint of the model has no exact derivatives.
    """
    _require_slopes(model)
    q, v = np.asarray(q), np.asarray(v)
    if q.ndim > 1:
        tau = np.zeros(v.shape) if tau is None else tau
        one = lambda q, v, tau: forward_dynamics_derivatives(model, q, v, tau, more)  # noqa: E731
        return row_by_row(model, one, q=q, v=v, tau=tau)
    given = resolve_inputs(model, more.get("inputs"))
    nu = len(model.input_names)
    u = np.zeros(nu) if given is None else entries(given, (nu,), "inputs")
    # M a = Q(q, v) + tau + Dh^T multipliers - c(q, v): Q's slopes less those of inverse dynamics at a
    a = model.forward_dynamics(q, v, tau, contacts="none", **more).acceleration
    inverse = _RNEA.answer(model._calls, model, q, v, a) or rnea_derivatives(model, q, v, a)
    _, by_q, by_v = core.load_derivatives(model.core, model.load_list, q, v, u)
    of_joints = core.joint_slopes(model.core, model.drive_list, q, v, u)
    by_q += np.diag(of_joints[0]) - inverse.by_q
    by_v += np.diag(of_joints[1]) - inverse.by_v
    if model.written is not None:
        of_written = model.written.tangent(float(more["t"]), q, v, u)
        by_q += of_written[0]
        by_v += of_written[1]
    of_mass = _MASS.answer(model._calls, model, q)
    response = _constrained(model, q, inverse_mass_matrix(model, q) if of_mass is None else of_mass)
    return AbaDerivatives(response @ by_q, response @ by_v, response)


def _constrained(model: ForceMethods, q: np.ndarray, inverse: np.ndarray) -> np.ndarray:
    """Return the accelerations by joint forces (nv, nv) where couplings hold: M^-1 without what would break them."""
    if not model.constraints:
        return inverse
    _, Dh = model._constraint_rows(q[None])
    Y = Dh[0] @ inverse
    found: np.ndarray = inverse - Y.T @ np.linalg.solve(Y @ Dh[0].T, Y)
    return found


def _require_slopes(model: ForceMethods) -> None:
    """Raise a ModelError that names a load or a constraint without exact derivatives."""
    remedy = "take central differences of forward_dynamics"
    for x in model.constraints:
        if not isinstance(x, Coupling):
            raise ModelError(f"forward_dynamics_derivatives has no exact derivatives of the {x.name}; {remedy}")
    for x in model.loads:
        for kind, methods in _OWN.items():
            given = [getattr(type(x), name) is not getattr(kind, name) for name in methods if isinstance(x, kind)]
            if not all(given):
                missing = [name for name, own in zip(methods, given, strict=True) if not own]
                raise ModelError(
                    f"forward_dynamics_derivatives has no exact derivatives of {x.name}: its class does not give "
                    f"{' and '.join(missing)}; give them, or {remedy}"
                )
    if isinstance(model.written, Mapped):
        raise ModelError(
            f"forward_dynamics_derivatives has no exact derivatives of loads written in Python in Euler angles; take "
            f"those of the model before euler(), or {remedy}"
        )


# ---- the methods -------------------------------------------------------------------------------------------------


class ForceMethods(ConstraintMethods):
    """Accelerations and forces under everything that the model has."""

    @in_one_call_as(Accelerations)
    @on_stacks
    @in_coordinates("velocity", "rows")
    def forward_dynamics(
        self,
        q: ArrayLike,
        v: ArrayLike,
        tau: ArrayLike | None = None,
        *,
        t: float = 0.0,
        inputs: ArrayLike | Mapping[str, float] | None = None,
        prescribed: Mapping[str, float] | None = None,
        contacts: str = "closed",
    ) -> Accelerations:
        """Return the acceleration under everything the model has, and the multipliers of its constraints.

        Gravity, damping, friction, loads, constraints, prescribed coordinates, and contacts that are closed; for use
        with any ODE solver. (:meth:`aba` is the bare mechanism.) M a = forces + Dh^T multipliers + J^T f, with d2h/dt2
        = 0. The forces f of closed contacts, reached limits, wheels and dry friction do not let gaps close, friction
        opposes slip, and what sticks stays within its friction cone. A contact is closed if its gap is below 1e-8 m and
        it does not open; it has no impact here, however fast it closes. What slips by 1e-4 m/s or less sticks. Many
        states are taken row by row if the model has loads, friction, constraints, prescribed coordinates or contacts.

        Parameters
        ----------
        tau : (..., nv) array, optional
            Joint forces [N or N m].
        t : float
            Time, for forces written in Python [s].
        inputs : (nu,) array or mapping of names to numbers, optional
            Values of ``input_names``, units as the loads take them; zero if not given.
        prescribed : mapping of joint name to float, optional
            Accelerations of prescribed coordinates [m/s^2 or rad/s^2]; zero if not given.
        contacts : {"closed", "none"}
            Whether closed contacts, reached limits, wheels and dry friction act.

        Raises
        ------
        UnknownNameError
            If an input, or a prescribed joint, is not known.
        ConvergenceError
            If the constraints depend on each other at q, or no forces of contacts satisfy the laws of friction.

        References
        ----------
        Johnson & Murphey 2009, eqs. 28, 29 and 36; Brogliato 2016, "Nonsmooth mechanics", section 5.5.
        """
        q, v, tau = np.asarray(q), np.asarray(v), None if tau is None else np.asarray(tau)
        if q.ndim > 1:
            more = {"t": t, "inputs": inputs, "prescribed": prescribed}
            kept = {key: x for key, x in more.items() if x is not None}
            return self._many_accelerations(q, v, tau, {**kept, "contacts": contacts})
        closed = at_state.require_contacts_word(contacts)
        locked = at_state.prescribed_accelerations(self, prescribed)
        found = at_state.state_forces(self, q, v, tau, t, inputs, locked, closed)
        return Accelerations(found.acceleration, found.multipliers)

    def _many_accelerations(
        self, q: np.ndarray, v: np.ndarray, tau: np.ndarray | None, more: dict[str, Any]
    ) -> Accelerations:
        flat = self.flat
        bare = not (flat.loads or flat.constraints or flat.friction.any() or flat.kinematic.any() or self.has_contact)
        if bare and more == {"t": 0.0, "contacts": "closed"}:
            self._require_invertible_mass_matrix(q)
            with np.errstate(all="ignore"):
                a = self._bare_accelerations(q, v, (0.0 if tau is None else tau) - flat.damping * v)
            if all_finite(a):
                return Accelerations(a, np.zeros((*v.shape[:-1], 0)))
        states = {"q": q, "v": v} if tau is None else {"q": q, "v": v, "tau": tau}
        return row_by_row(self, functools.partial(self.forward_dynamics, **more), **states)

    @on_stacks
    @finite_result
    @in_coordinates("velocity by q", "velocity by q", "velocity by force")
    def forward_dynamics_derivatives(
        self,
        q: ArrayLike,
        v: ArrayLike,
        tau: ArrayLike | None = None,
        *,
        t: float = 0.0,
        inputs: ArrayLike | Mapping[str, float] | None = None,
        prescribed: Mapping[str, float] | None = None,
    ) -> AbaDerivatives:
        """Return the derivatives of the acceleration of :meth:`forward_dynamics` by q, v and tau, (..., nv, nv).

        The slopes of damping, friction, drives and loads are exact, and couplings hold. Contacts are left out. A drive
        at its effort limit has the slope of the limit. Derivatives by q are by displacements, as in
        :meth:`rnea_derivatives`. Many states are taken row by row.

        Parameters
        ----------
        tau : (..., nv) array, optional
            Joint forces [N or N m].
        t : float
            Time, for forces written in Python [s].
        inputs : (nu,) array or mapping of names to numbers, optional
            Values of ``input_names``, units as the loads take them; zero if not given.
        prescribed : mapping of joint name to float, optional
            Accelerations of prescribed coordinates [m/s^2 or rad/s^2]; zero if not given.

        Returns
        -------
        AbaDerivatives
            Units as of :meth:`aba_derivatives`. Rows of prescribed coordinates are zero.

        Raises
        ------
        ModelError
            If the model has a constraint that is no :class:`vitree.Coupling`, or a load written in Python that does not
            give its derivatives: ``gradient`` and ``hessian`` of a ``Potential``, ``by_q`` and ``by_v`` of a ``Force``.

        References
        ----------
        Carpentier & Mansard 2018, "Analytical derivatives of rigid body dynamics algorithms".
        """
        more = {"t": t, "inputs": inputs, "prescribed": prescribed}
        return forward_dynamics_derivatives(self, q, v, tau, more)

    @finite_result
    @in_coordinates("force", checks="state")
    def inverse_dynamics(
        self,
        q: ArrayLike,
        v: ArrayLike,
        a: ArrayLike,
        *,
        t: float = 0.0,
        inputs: ArrayLike | Mapping[str, float] | None = None,
        contacts: str = "closed",
    ) -> np.ndarray:
        """Return the joint forces (nv,) [N or N m] with which :meth:`forward_dynamics` gives an acceleration.

        Under everything the model has: gravity, damping, friction, loads, constraints, closed contacts. (:meth:`rnea`
        is the bare mechanism.) Where constraints and contacts leave a choice, the joint forces are the least ones in
        the metric of M^-1: zero if the mechanism accelerates so by itself. On a base that no motor drives, what is left
        says how far contacts are from giving the acceleration. Entries of prescribed coordinates are zero.

        Parameters
        ----------
        a : (nv,) array [m/s^2 or rad/s^2]
        t : float
            Time, for forces written in Python [s].
        inputs : (nu,) array or mapping of names to numbers, optional
            Values of ``input_names``, units as the loads take them; zero if not given.
        contacts : {"closed", "none"}
            Whether closed contacts, reached limits, wheels and dry friction act.

        Raises
        ------
        UnknownNameError
            If an input is not known.
        InputError
            If the acceleration violates a constraint, or closes a gap below zero.
        ConvergenceError
            If the constraints depend on each other at q.
        """
        q, v = self._q_and_v(q, v)
        closed = at_state.require_contacts_word(contacts)
        return at_state.inverse_dynamics(self, q, v, self._checked(a, self.nv, "a"), t, inputs, closed)

    @in_coordinates("plain", checks="state")
    def contact_forces(
        self,
        q: ArrayLike,
        v: ArrayLike,
        tau: ArrayLike | None = None,
        *,
        t: float = 0.0,
        inputs: ArrayLike | Mapping[str, float] | None = None,
        prescribed: Mapping[str, float] | None = None,
    ) -> at_state.ContactForces:
        """Return the forces of the closed contacts of a state, as :meth:`forward_dynamics` finds them.

        The arguments are as of :meth:`forward_dynamics`. Where more points push than a body needs, the forces are
        one of many ways to push it; their sum, ``wrench(...)`` of the result, is the only one.

        Raises
        ------
        UnknownNameError, ConvergenceError
            As :meth:`forward_dynamics`.
        """
        q, v = self._q_and_v(q, v)
        tau = None if tau is None else self._checked(tau, self.nv, "tau")
        locked = at_state.prescribed_accelerations(self, prescribed)
        found = at_state.state_forces(self, q, v, tau, t, inputs, locked, True)
        return at_state.contact_forces(self, found.rows)

    @in_coordinates("plain", checks="state")
    def joint_reactions(
        self,
        q: ArrayLike,
        v: ArrayLike,
        a: ArrayLike | None = None,
        *,
        torque: ArrayLike | None = None,
        t: float = 0.0,
        inputs: ArrayLike | Mapping[str, float] | None = None,
        prescribed: Mapping[str, float] | None = None,
        multipliers: ArrayLike | None = None,
        contacts: str | at_state.ContactForces = "closed",
    ) -> dict[str, np.ndarray]:
        """Return the wrench that each joint transmits, by the joint's name: (torque, force), (6,) [N m, N].

        It is the wrench that the parent puts on the body behind the joint, as a force-torque sensor in the joint
        reads it, in the axes of the joint's frame and about the origin of this frame. The joint's frame has the name of
        the joint and moves with the body. (Where a link has that name, it is at the joint's axis, or at the joint of
        several coordinates, and has the axes of the frame before the joint, moved by the joint.) Of a joint of several
        primitives, such as a planar one, it is the frame behind the last.

        Gravity, loads, constraints and contacts between bodies act on the bodies. Torque, damping, friction, springs
        and forces of joints, couplings, cams, and loads and constraints written in Python act in the joints: along its
        motion the wrench is the sum of these forces, less armature times acceleration: the rotor takes that part.

        Parameters
        ----------
        a : (nv,) array, optional
            Acceleration [m/s^2 or rad/s^2]; that of :meth:`forward_dynamics` if not given.
        torque : (nv,) array, optional
            Joint forces [N or N m]. With an acceleration they matter for the multipliers only.
        t : float
            Time, for forces written in Python [s].
        inputs : (nu,) array or mapping of names to numbers, optional
            Values of ``input_names``, units as the loads take them; zero if not given.
        prescribed : mapping of joint name to float, optional
            Accelerations of prescribed coordinates [m/s^2 or rad/s^2]; zero if not given.
        multipliers : (m,) array, optional
            Of the constraints [N or N m]; those of :meth:`forward_dynamics` if not given.
        contacts : {"closed", "none"} or ContactForces
            What contacts put on the bodies: what :meth:`forward_dynamics` finds, nothing, or these forces.

        Raises
        ------
        UnknownNameError
            If an input, or a prescribed joint, is not known.
        ConvergenceError
            If the constraints depend on each other at q, or no forces of contacts satisfy the laws of friction.

        References
        ----------
        Featherstone 2008, section 5.3.
        """
        q, v = self._q_and_v(q, v)
        a = None if a is None else self._checked(a, self.nv, "a")
        torque = None if torque is None else self._checked(torque, self.nv, "torque")
        if multipliers is not None:
            multipliers = entries(multipliers, (len(self.constraints),), "multipliers")
        frames = self._joint_frames
        acting = contacts if isinstance(contacts, at_state.ContactForces) else at_state.require_contacts_word(contacts)
        locked = at_state.prescribed_accelerations(self, prescribed)
        rows = at_state.transmitted(self, q, v, a, multipliers, acting, frames,
                                  tau=torque, t=t, inputs=inputs, locked=locked)  # fmt: skip
        if not core.plain(rows.reshape(-1), rows.size):
            given = {"q": q, "v": v, "a": a, "torque": torque, "multipliers": multipliers}
            raise no_result(self, "joint_reactions", given)
        return dict(zip(frames.names, rows, strict=True))

    @in_coordinates("plain", checks="state")
    def drive_forces(
        self, q: ArrayLike, v: ArrayLike, *, inputs: ArrayLike | Mapping[str, float] | None = None
    ) -> np.ndarray:
        """Return the forces of ``drives`` at a state, within their limits [N or N m].

        Those of a step, which a variational method solves for, are the monitor "drive_forces".

        Parameters
        ----------
        inputs : (nu,) array or mapping of names to numbers, optional
            Values of ``input_names``, the targets [m or rad] among them; zero if not given.

        Raises
        ------
        UnknownNameError
            If an input is not known.
        """
        q, v = self.validate_configuration(q), self._checked(v, self.nv, "v")
        found: np.ndarray = self._field(None, resolve_inputs(self, inputs)).drive_forces_at(0.0, q, v)
        return found

    @of_states
    @in_coordinates("force")
    def passive_force(self, q: ArrayLike) -> np.ndarray:
        """Return the joint forces (..., nv) [N or N m] of gravity and of those loads that have a potential: its -dV/dq.

        Many states are taken row by row.
        """
        if np.ndim(q) > 1:
            return row_by_row(self, self.passive_force, q=q)
        field = self._field_at_rest()
        found: np.ndarray = np.dot(self.crba(q), field.acceleration_at(0.0, q, self.zero_velocity())[0])
        return found

    @functools.cached_property
    def _joint_frames(self) -> at_state.JointFrames:
        return at_state.JointFrames(self)

    def _q_and_v(self, q: ArrayLike, v: ArrayLike) -> tuple[np.ndarray, np.ndarray]:
        return self.validate_configuration(q), self._checked(v, self.nv, "v")
