"""Forces and accelerations of a state under everything that a model has: of closed contacts, and in joints."""

from __future__ import annotations

import functools
import math
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from vitree._core import scalar
from vitree.arguments import all_finite, entries, mapping, shown
from vitree.errors import ConvergenceError, InputError, ModelError, UnknownNameError
from vitree.mechanism.constraints import Coupling, loses
from vitree.mechanism.contacts import GROUND
from vitree.mechanism.flat import JointInfo
from vitree.mechanism.index import Index
from vitree.mechanism.unilateral import ANGLE_LIMIT, ROPE, SWING_LIMIT, TWIST_LIMIT, Rope
from vitree.model.broadcasting import (
    finite_result,
    in_coordinates,
    in_one_call_as,
    no_result,
    of_states,
    on_stacks,
    row_by_row,
)
from vitree.model.candidates import named_side
from vitree.model.closures import without_implied
from vitree.model.contacts import ContactForces, contact_forces, rows_of_numbers
from vitree.model.dynamics import (
    AbaDerivatives,
    DynamicsMethods,
    RneaDerivatives,
    inverse_mass_matrix,
    refuse_losses,
    rnea_derivatives,
)
from vitree.model.maps import MapMethods
from vitree.model.user_inputs import Force, Inputs, Mapped, Potential, resolve_inputs
from vitree.model.variants import Cut
from vitree.spatial.rotations import cross, turn_z_to

core = scalar()
#: What is too large for a double is infinite, and refused where it is a result.
quiet = np.errstate(all="ignore")
#: How contacts take part in the accelerations of a state.
CONTACTS = ("closed", "none")
#: An acceleration satisfies constraints up to this share of itself.
SATISFIED = 1e-6


class Accelerations(NamedTuple):
    """Accelerations (..., nv) [m/s^2 or rad/s^2] and multipliers (..., m) [N or N m] of the constraints."""

    acceleration: np.ndarray
    multipliers: np.ndarray


#: A wrench on a frame: its name, and (torque, force) (6,) about the frame's origin in world axes [N m, N].
FrameWrench = tuple[str, np.ndarray]


class StateForces(NamedTuple):
    """What a solve for the accelerations of a state found.

    Attributes
    ----------
    acceleration : (nv,) array [m/s^2 or rad/s^2]
    multipliers : (m,) array [N or N m]
        Of constraints.
    rows : (n, 15) array
        Closed contacts: 0, number, force, slip velocity, gap, as steppers have them, then where the force acts and the
        normal. None where contacts are given.
    wrenches : (nbody, 6) array [N m, N]
        What contacts and pushes put on bodies, (torque, force) about the bodies' origins in world axes; (0, 6):
        nothing.
    """

    acceleration: np.ndarray
    multipliers: np.ndarray
    rows: np.ndarray
    wrenches: np.ndarray


def lean_at(model: DynamicsMethods, q: np.ndarray) -> Any:
    """Return a model without the constraints that others imply at q (nq,); None where that does not help."""
    try:
        return without_implied(model, q) if model.constraints else None
    except InputError:  # q does not satisfy them
        return None


def of_all(model: DynamicsMethods, lean: DynamicsMethods, multipliers: np.ndarray) -> np.ndarray:
    """Return the multipliers (m,) of all constraints: zero of those that ``lean``, of :func:`lean_at`, is without."""
    kept = {id(each): k for k, each in enumerate(lean.constraints)}
    out = np.zeros(len(model.constraints))
    for k, each in enumerate(model.constraints):
        if id(each) in kept:
            out[k] = multipliers[kept[id(each)]]
    return out


def take_field(model: DynamicsMethods, tau: np.ndarray | None, inputs: np.ndarray | None) -> Any:
    """Return a stepper that has the accelerations under everything, which nobody else has.

    Who is done with it appends it to ``model._fields``.
    """
    idle = model._fields
    try:
        field = idle.pop()
    except IndexError:
        field = model._field()
    field.drive(np.zeros(len(model.input_names)) if inputs is None else inputs, model._nothing if tau is None else tau)
    return field


def require_contacts_word(contacts: str) -> bool:
    """Return whether closed contacts act; raise an InputError unless the word is one of CONTACTS."""
    if not isinstance(contacts, str) or contacts not in CONTACTS:
        raise InputError(
            "contacts", contacts,
            f'is {shown(contacts)}; choose "closed", so that closed contacts act, or "none"',
            choices=CONTACTS
        )  # fmt: skip
    return contacts == "closed"


def inputs_at(model: DynamicsMethods, inputs: Inputs) -> np.ndarray | None:
    """Return inputs (nu,) of one state, or None."""
    found = resolve_inputs(model, inputs)
    return None if found is None else entries(found, (len(model.input_names),), "inputs")


def prescribed_accelerations(model: DynamicsMethods, prescribed: Mapping[str, float] | None) -> np.ndarray | None:
    """Return accelerations (nv,) with those of the named prescribed coordinates, or None."""
    if prescribed is None:
        return None
    out = np.zeros(model.nv)
    for name, a in mapping(prescribed, "prescribed", "a mapping of names of joints to accelerations").items():
        if name not in model.prescribed_joint_names:
            raise UnknownNameError("prescribed joint", name, model.prescribed_joint_names)
        out[model.joint(name).v_slice] = entries(a, (), f'the acceleration of "{name}"')
    return out


def state_forces(
    model: DynamicsMethods, q: np.ndarray, v: np.ndarray, tau: np.ndarray | None, t: float, inputs: Inputs,
    locked: np.ndarray | None, contacts: bool | ContactForces, pushes: Sequence[FrameWrench] = (), slow: float = 0.0,
) -> StateForces:  # fmt: skip
    """Return the accelerations of a state (q, v) and what acts at it; see :meth:`vitree.Model.forward_dynamics`.

    ``locked`` (nv,) are accelerations of prescribed coordinates [m/s^2 or rad/s^2]; ``contacts`` whether closed
    contacts act, or their forces; ``pushes`` act on frames besides. What slips no faster than ``slow`` [m/s or rad/s]
    sticks, where that is more than what the core has for states.
    """
    if model._loses:
        refuse_losses(model, "forward_dynamics")
    model._require_invertible_mass_matrix(q)
    u, t = inputs_at(model, inputs), _time(t)
    status, rows, wrenches = 0, NO_ROWS, NO_WRENCHES
    given = contacts if isinstance(contacts, ContactForces) else None
    if pushes or given is not None:
        wrenches = wrenches_of(model, q, given, pushes)
        tau = generalized(model, q, wrenches, given) + (0.0 if tau is None else tau)
        if not core.plain(tau, len(tau)):
            raise InputError("forces of contacts and pushes are too large for a double; give smaller ones")
    field = take_field(model, tau, u)
    if contacts is True and model.contact_list.count:
        a, multipliers, rows, found, status = core.accelerations_with_contacts(field, t, q, v, locked, slow)
        if not status:
            if model.flat.unilateral:
                pulls = (model._contact_names[k] for k in rows[:, 1].astype(int).tolist())
                found = found + rope_wrenches(model, q, pulls, rows[:, 2])
            wrenches = found if wrenches is NO_WRENCHES else found + wrenches
    else:
        a, multipliers = field.acceleration_at(t, q, v, locked)
    model._fields.append(field)
    if status or not core.plain(a, len(a)):
        if not np.isfinite(a).all() and (lean := lean_at(model, q)) is not None:
            found = state_forces(lean, q, v, tau, t, u, locked, contacts is True, slow=slow)
            more = found.wrenches if wrenches is NO_WRENCHES or found.wrenches is NO_WRENCHES else (
                found.wrenches + wrenches)  # fmt: skip
            return found._replace(multipliers=of_all(model, lean, found.multipliers),
                                  wrenches=wrenches if more is NO_WRENCHES else more)  # fmt: skip
        asked = {"q": q, "v": v, "tau": tau, "inputs": u}
        if (why := no_result(model, "forward_dynamics", asked)) and isinstance(why, InputError):
            raise why
        raise ConvergenceError(
            "no acceleration exists: "
            + ("no forces of the closed contacts obey the laws of friction, as where a body that slides jams; give "
               'contacts="none", or take a step' if np.isfinite(a).all()
               else "the constraints depend on each other at q, which is singular, or where they do not hold; "
               "vitree.independent_constraints(model) leaves out those that others imply everywhere"),
            time=t, residual=np.nan, iterations=0,
        )  # fmt: skip
    return StateForces(a, multipliers, rows, wrenches)


def _time(t: object) -> float:
    return t if type(t) is float and math.isfinite(t) else float(entries(t, (), "t"))


NO_ROWS = np.zeros((0, 15))
NO_WRENCHES = np.zeros((0, 6))


def _impossible(model: DynamicsMethods, worst: int) -> Exception:
    if worst < 0:
        return ConvergenceError("the forces of the closed contacts cannot be found; give contacts=\"none\"",
                                time=0.0, residual=np.nan, iterations=0)  # fmt: skip
    one, other = model._contact_names[worst]
    other = named_side(other)
    return InputError(
        f'a moves "{one}" into {other}, or lets it slip where it rolls; give an acceleration that closed contacts '
        'allow, or contacts="none"'
    )


# ---- what joints transmit ------------------------------------------------------------------------------------


class JointFrames:
    """The frames of the joints: bodies, and rotations and positions in core frames, of a model that is not reduced."""

    def __init__(self, model: DynamicsMethods):
        places = [_place(model.index, joint) for joint in model.flat.joints]
        body, turn, position = (np.array(x) for x in zip(*places, strict=True))
        self.body = np.ascontiguousarray(body, dtype=np.int32)
        self.turn, self.position = (np.ascontiguousarray(x, dtype=float) for x in (turn, position))
        self.names = tuple(joint.name for joint in model.flat.joints)


def _place(index: Index, joint: JointInfo) -> tuple[int, np.ndarray, np.ndarray]:
    """The body that a joint moves, and the rotation and position of the joint's frame in its core frame."""
    flat = index.flat
    body = int(np.flatnonzero(index.iv < joint.v_slice.stop)[-1])
    row = index.frames.get(joint.name)
    if row is not None and joint.name not in flat.link_names and flat.frame_body[row] == body:
        return body, flat.frame_E[row], flat.frame_p[row]
    # a link has the name
    turn = np.eye(3) if joint.axis is None else turn_z_to(np.array(joint.axis, dtype=float)).T
    return body, turn, np.zeros(3)


class Place:
    """Where wrenches are transmitted: one place of a mechanism, or of one cut at a frame.

    Parameters
    ----------
    cut : Cut
    body : int
        Of the cut model.
    E, p : (3, 3) array, (3,) array [m]
        Axes and point of the wrench in the body's core frame.
    """

    def __init__(self, cut: Cut, body: int, E: np.ndarray, p: np.ndarray):
        self.cut, self.body = cut, np.array([body], dtype=np.int32)
        self.turn, self.position = (np.ascontiguousarray(x[None], dtype=float) for x in (E, p))


def transmitted(
    model: DynamicsMethods, q: np.ndarray, v: np.ndarray, a: np.ndarray | None, multipliers: np.ndarray | None,
    contacts: bool | ContactForces, at: JointFrames | Place, *, tau: np.ndarray | None, t: float, inputs: Inputs,
    locked: np.ndarray | None, pushes: Sequence[FrameWrench] = (), slow: float = 0.0,
) -> np.ndarray:  # fmt: skip
    """Return the wrenches (n, 6) [N m, N] that parents put on bodies at places.

    Arguments are as of :meth:`vitree.Model.joint_reactions` and :func:`state_forces`.
    """
    if model._loses:
        refuse_losses(model, "joint_reactions")
    u = inputs_at(model, inputs)
    given = contacts if isinstance(contacts, ContactForces) else None
    rows, wrenches = NO_ROWS, NO_WRENCHES
    if a is None or (multipliers is None and model.constraints) or (contacts is True and model.contact_list.count):
        found = state_forces(model, q, v, tau, t, u, locked, contacts, pushes, slow)
        a, rows, wrenches = found.acceleration if a is None else a, found.rows, found.wrenches
        multipliers = found.multipliers if multipliers is None else multipliers
    elif given is not None or pushes:
        wrenches = wrenches_of(model, q, given, pushes)
    multipliers = NO_MULTIPLIERS if multipliers is None else multipliers
    if isinstance(at, Place) and at.cut.iq is not None:
        if given is None and len(rows):
            given = contact_forces(model, rows)
        pulls = None  # of ropes, which the cut model has not
        if given is not None and model.flat.unilateral:
            pulls = pulls_of(model, q, zip(given.a, given.b, strict=True), given.force[:, 0])
        model, (q, v, a) = at.cut.model, at.cut.states(q, v, a)
        wrenches = NO_WRENCHES if given is None and not pushes else wrenches_of(model, q, given, pushes)
        if pulls:
            wrenches = wrenches + wrenches_at(model, q, pulls)
    field = take_field(model, None, u)
    found = core.joint_wrenches(field, q, v, a, multipliers, wrenches if len(wrenches) else None, at.body, at.turn,
                                at.position)  # fmt: skip
    model._fields.append(field)
    result: np.ndarray = found
    return result


NO_MULTIPLIERS = np.zeros(0)


@quiet
def generalized(
    model: DynamicsMethods, q: np.ndarray, wrenches: np.ndarray, given: ContactForces | None
) -> np.ndarray:
    """Return the joint forces (nv,) of wrenches on bodies (nbody, 6), and of limits and dry friction."""
    out, J = np.zeros(model.nv), np.empty((1, 6 * model.nv))
    for body in np.flatnonzero(wrenches.any(axis=1)):
        core.batch_jacobian(model.core, q[None], int(body), np.zeros(3), J)
        out += wrenches[body] @ J.reshape(6, model.nv)
    if given is not None:
        for name, other, f, point in zip(given.a, given.b, given.force, given.point, strict=True):
            if np.isnan(point[0]) and other != ROPE:  # which are among the wrenches
                out += f[0] * _row_of_number(model, q, name, other)
    return out


def _row_of_number(model: DynamicsMethods, q: np.ndarray, name: str, other: str) -> np.ndarray:
    """The joint forces (nv,) of a unit force of a limit or dry friction."""
    if other in (SWING_LIMIT, TWIST_LIMIT, ANGLE_LIMIT):
        number = [k for k, pair in enumerate(model._contact_names) if pair == (name, other)]
        out: np.ndarray = rows_of_numbers(model, np.array(number[:1]), q[None])[1][0]
    else:
        out = np.eye(model.nv)[model.joint(name).v_slice.start]
    return out


@quiet
def wrenches_of(model: DynamicsMethods, q: np.ndarray, given: ContactForces | None,
                pushes: Sequence[FrameWrench] = ()) -> np.ndarray:  # fmt: skip
    """Return what contacts and pushes put on bodies, (nbody, 6): about the bodies' origins in world axes."""
    out, poses = np.zeros((model.nbody, 6)), model._pose_rows(q[None])[0]
    if given and model.flat.unilateral:
        out += rope_wrenches(model, q, zip(given.a, given.b, strict=True), given.force[:, 0])
    rows = zip(given.a, given.b, given.force, given.torque, given.point, strict=True) if given else ()
    for name, other, f, n, point in rows:
        if np.isnan(point[0]):
            continue
        for frame, sign in ((name, 1.0), (other, -1.0)):
            body = -1 if frame == GROUND else model.index.place(frame)[0]
            if body >= 0:
                out[body, :3] += sign * (cross(point - poses[body, :, 3], f) + n)
                out[body, 3:] += sign * f
    for frame, wrench in pushes:
        body, _, p = model.index.place(frame)
        if body >= 0:
            out[body, :3] += wrench[:3] + cross(poses[body, :, :3] @ p, wrench[3:])
            out[body, 3:] += wrench[3:]
    return out


def rope_wrenches(
    model: DynamicsMethods, q: np.ndarray, pairs: Iterable[tuple[str, str]], tension: np.ndarray
) -> np.ndarray:
    """Return what ropes put on bodies, as :func:`wrenches_of`; others of the ``pairs`` of names (n,) put nothing."""
    return wrenches_at(model, q, pulls_of(model, q, pairs, tension))


def pulls_of(
    model: DynamicsMethods, q: np.ndarray, pairs: Iterable[tuple[str, str]], tension: np.ndarray
) -> list[tuple[str, np.ndarray, np.ndarray]]:
    """Return the forces of the ropes among ``pairs`` of names, as :func:`rope_forces`."""
    poses = model._pose_rows(q[None])[0]
    return [pull for (name, other), size in zip(pairs, tension.tolist(), strict=True) if other == ROPE
            for pull in rope_forces(model, poses, name, size)]  # fmt: skip


def wrenches_at(
    model: DynamicsMethods, q: np.ndarray, pulls: Iterable[tuple[str, np.ndarray, np.ndarray]]
) -> np.ndarray:
    """Return forces at points of frames as :func:`wrenches_of`."""
    out, poses = np.zeros((model.nbody, 6)), model._pose_rows(q[None])[0]
    for frame, at, f in pulls:
        body = model.index.place(frame)[0]
        if body >= 0:
            out[body] += np.hstack([cross(at - poses[body, :, 3], f), f])
    return out


def rope_forces(
    model: DynamicsMethods, poses: np.ndarray, name: str, tension: float
) -> list[tuple[str, np.ndarray, np.ndarray]]:
    """Return the frames at the ends of the legs of a rope, their points [m] and what pulls there, in world axes.

    ``poses`` (nbody, 3, 4) are those of the bodies, ``name`` is as in names of contacts.
    """
    names = (one for one, other in model._contact_names if other == ROPE)
    ropes = dict(zip(names, (each for each in model.flat.unilateral if isinstance(each, Rope)), strict=True))
    number = next(k for k, pair in enumerate(model._contact_names) if pair == (name, ROPE))
    ends, bodies, arms, units, _ = core.rope_legs(model.contact_list, number, np.ascontiguousarray(poses[:, :3]))
    found = []
    for (a, b), (of_a, of_b), (arm_a, arm_b), u in zip(ends, bodies, arms, units, strict=True):
        for k, body, arm, sign in ((a, of_a, arm_a, tension), (b, of_b, arm_b, -tension)):
            origin = poses[body, :3, 3] if body >= 0 else 0.0
            found.append((ropes[name].frames[k], origin + arm, sign * u))
    return found


# ---- derivatives -----------------------------------------------------------------------------------------------


#: Derivatives that loads written in Python may give, by the class that has them by differences.
_OWN = {Potential: ("gradient", "hessian"), Force: ("by_q", "by_v")}
#: Compiled calls on one state, whose answer is None where the functions are needed.
_RNEA = core.Call("rnea_derivatives", RneaDerivatives)
_MASS = core.Call("inverse_mass_matrix")


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
        if not isinstance(x, Coupling) or loses(x):
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


class ForceMethods(MapMethods):
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
        The multipliers of constraints that others imply are zero.

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
            If the constraints depend on each other at q, but others do not imply them around it, or no forces of
            contacts satisfy the laws of friction.

        References
        ----------
        Johnson & Murphey 2009, eqs. 28, 29 and 36; Brogliato 2016, "Nonsmooth mechanics", section 5.5.
        """
        q, v, tau = np.asarray(q), np.asarray(v), None if tau is None else np.asarray(tau)
        if q.ndim > 1:
            more = {"t": t, "inputs": inputs, "prescribed": prescribed}
            kept = {key: x for key, x in more.items() if x is not None}
            return self._many_accelerations(q, v, tau, {**kept, "contacts": contacts})
        closed = require_contacts_word(contacts)
        locked = prescribed_accelerations(self, prescribed)
        found = state_forces(self, q, v, tau, t, inputs, locked, closed)
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
        _require_slopes(self)
        q, v = np.asarray(q), np.asarray(v)
        if q.ndim == 1:
            return self._acceleration_derivatives(q, v, tau, more)
        tau = np.zeros(v.shape) if tau is None else tau
        one = lambda q, v, tau: self._acceleration_derivatives(q, v, tau, more)  # noqa: E731
        return row_by_row(self, one, q=q, v=v, tau=tau)

    def _acceleration_derivatives(
        self, q: np.ndarray, v: np.ndarray, tau: ArrayLike | None, more: Mapping[str, Any]
    ) -> AbaDerivatives:
        given = resolve_inputs(self, more.get("inputs"))
        nu = len(self.input_names)
        u = np.zeros(nu) if given is None else entries(given, (nu,), "inputs")
        # M a = Q(q, v) + tau + Dh^T multipliers - c(q, v): Q's slopes less those of inverse dynamics at a
        a = self.forward_dynamics(q, v, tau, contacts="none", **more).acceleration
        inverse = _RNEA.answer(self._calls, self, q, v, a) or rnea_derivatives(self, q, v, a)
        _, by_q, by_v, _ = (x[0] for x in core.load_derivatives(self.core, self.load_list, q[None], v[None], u[None]))
        of_joints = core.joint_slopes(self.core, self.drive_list, q, v, u)
        by_q += np.diag(of_joints[0]) - inverse.by_q
        by_v += np.diag(of_joints[1]) - inverse.by_v
        if self.written is not None:
            of_written = self.written.tangent(float(more["t"]), q, v, u)
            by_q += of_written[0]
            by_v += of_written[1]
        of_mass = _MASS.answer(self._calls, self, q)
        response = _constrained(self, q, inverse_mass_matrix(self, q) if of_mass is None else of_mass)
        return AbaDerivatives(response @ by_q, response @ by_v, response)

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
        closed, a = require_contacts_word(contacts), self._checked(a, self.nv, "a")
        if self._loses:
            refuse_losses(self, "inverse_dynamics")
        self._require_invertible_mass_matrix(q)
        u, t = inputs_at(self, inputs), _time(t)
        field, status, worst = take_field(self, None, u), 0, -1
        if closed and self.contact_list.count:
            left, worst, status = core.acceleration_left(field, t, q, v, a)
        else:
            left = a - field.acceleration_at(t, q, v, np.ascontiguousarray(a))[0]
        self._fields.append(field)
        if not np.isfinite(left).all() and (lean := lean_at(self, q)) is not None:
            found: np.ndarray = lean.inverse_dynamics(q, v, a, t=t, inputs=u, contacts=contacts)
            return found
        if status:
            raise _impossible(self, worst)
        if self.constraints:
            _, Dh = self._constraint_rows(q[None])
            lack = np.abs(Dh[0] @ left)
            # what is at rest does so up to rounding errors of all that moves, and of the weight
            size = np.abs(a).max(initial=0.0) + np.abs(left).max(initial=0.0) + np.linalg.norm(self.gravity)
            scale = np.abs(Dh[0]) @ (np.abs(a) + np.abs(a - left)) + SATISFIED * size * np.abs(Dh[0]).max(axis=1)
            if (lack > SATISFIED * scale).any():
                k = int(np.argmax(lack - SATISFIED * scale))
                raise InputError(
                    "a", a,
                    f'violates the constraint "{self.constraints[k].name}": its second derivative would be '
                    f"{lack[k]:.3g}; give an acceleration that the constraints allow"
                )
        M_left, zero = np.empty((1, self.nv)), self._nothing[None]
        core.batch_rnea(self.core, np.zeros(3), q[None], zero, left[None], M_left)
        tau: np.ndarray = M_left[0]
        tau[np.asarray(self.flat.kinematic, dtype=bool)] = 0.0
        return tau

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
    ) -> ContactForces:
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
        locked = prescribed_accelerations(self, prescribed)
        found = state_forces(self, q, v, tau, t, inputs, locked, True)
        return contact_forces(self, found.rows)

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
        contacts: str | ContactForces = "closed",
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
        acting = contacts if isinstance(contacts, ContactForces) else require_contacts_word(contacts)
        locked = prescribed_accelerations(self, prescribed)
        rows = transmitted(self, q, v, a, multipliers, acting, frames,
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
    def _joint_frames(self) -> JointFrames:
        return JointFrames(self)

    def _q_and_v(self, q: ArrayLike, v: ArrayLike) -> tuple[np.ndarray, np.ndarray]:
        return self.validate_configuration(q), self._checked(v, self.nv, "v")
