"""What acts on a mechanism at a state: accelerations under everything, forces of closed contacts, joint reactions.

Whatever reads the forces of a state asks here. The equations are those of ``_core/contact/forces.pxi``.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from vitree._core import scalar
from vitree.arguments import entries, mapping, shown
from vitree.errors import ConvergenceError, InputError, UnknownNameError
from vitree.mechanism.flat import JointInfo
from vitree.mechanism.index import Index
from vitree.model.broadcasting import no_result
from vitree.model.constraints import ConstraintMethods
from vitree.model.contact_points import signed
from vitree.model.cuts import Cut
from vitree.model.inputs import Inputs, resolve_inputs
from vitree.spatial.rotations import cross, turn_z_to

core = scalar()
#: What is too large for a double is infinite, and refused where it is a result.
quiet = np.errstate(all="ignore")
#: The name of what is no frame.
GROUND = "ground"
#: How contacts take part in the accelerations of a state.
CONTACTS = ("closed", "none")
#: An acceleration satisfies constraints up to this share of itself.
SATISFIED = 1e-6


class ContactForces(NamedTuple):
    """Forces of the closed contacts of a state, one row each; also of limits that are reached, wheels, dry friction.

    Attributes
    ----------
    a, b : tuples of str
        Names of frames; b is "ground" against the ground. Of coordinates a is the joint, and b "limit" or
        "dry friction".
    force : (n, 3) array [N]
        On a, in world axes. Of limits and dry friction the first entry [N or N m].
    point : (n, 3) array [m]
        Where it acts, in the world; NaN for coordinates.
    normal : (n, 3) array
        Unit vectors in the world, from b to a; NaN for coordinates.
    slip : (n, 3) array [m/s]
        Velocity of a against b across the normal; of dry friction the first entry [m/s or rad/s].
    gap : (n,) array [m]
    """

    a: tuple[str, ...]
    b: tuple[str, ...]
    force: np.ndarray
    point: np.ndarray
    normal: np.ndarray
    slip: np.ndarray
    gap: np.ndarray

    def wrench(self, *names: str, about: ArrayLike = (0.0, 0.0, 0.0)) -> np.ndarray:
        """Return the wrench (torque, force) of contacts on frames, (6,) [N m, N], in world axes.

        Parameters
        ----------
        *names : str
            Frames; forces between them cancel. Without names all, and then only contacts with the ground count.
        about : (3,) array [m]
            Point in the world for the torque.
        """
        about = entries(about, (3,), "about")
        first = np.array([not names or x in names for x in self.a], dtype=float)
        second = np.array([bool(names) and x in names for x in self.b], dtype=float)
        if not names:
            first *= [x == GROUND for x in self.b]
        sign = np.where(np.isnan(self.point[:, 0]), 0.0, first - second)
        some = np.flatnonzero(sign)
        force = sign[some, None] * self.force[some]
        return np.concatenate([np.cross(self.point[some] - about, force).sum(axis=0), force.sum(axis=0)])


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


def take_field(model: ConstraintMethods, tau: np.ndarray | None, inputs: np.ndarray | None) -> Any:
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
            f'is {shown(contacts)}; choose "closed", so that what is closed pushes, or "none"',
            choices=CONTACTS
        )  # fmt: skip
    return contacts == "closed"


def inputs_at(model: ConstraintMethods, inputs: Inputs) -> np.ndarray | None:
    """Return inputs (nu,) of one state, or None."""
    found = resolve_inputs(model, inputs)
    return None if found is None else entries(found, (len(model.input_names),), "inputs")


def prescribed_accelerations(model: ConstraintMethods, prescribed: Mapping[str, float] | None) -> np.ndarray | None:
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
    model: ConstraintMethods, q: np.ndarray, v: np.ndarray, tau: np.ndarray | None, t: float, inputs: Inputs,
    locked: np.ndarray | None, contacts: bool | ContactForces, pushes: Sequence[FrameWrench] = (), slow: float = 0.0,
) -> StateForces:  # fmt: skip
    """Return the accelerations of a state (q, v) and what acts at it; see :meth:`vitree.Model.forward_dynamics`.

    Parameters
    ----------
    locked : (nv,) array or None [m/s^2 or rad/s^2]
        Accelerations of prescribed coordinates.
    contacts : bool or ContactForces
        Whether closed contacts act, or the forces of contacts.
    pushes : sequence of FrameWrench
        What acts on frames besides.
    slow : float [m/s or rad/s]
        What slips no faster sticks, where that is more than what the core has for states.
    """
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
            wrenches = found if wrenches is NO_WRENCHES else found + wrenches
    else:
        a, multipliers = field.acceleration_at(t, q, v, locked)
    model._fields.append(field)
    if status or not core.plain(a, len(a)):
        asked = {"q": q, "v": v, "tau": tau, "inputs": u}
        if (why := no_result(model, "forward_dynamics", asked)) and isinstance(why, InputError):
            raise why
        raise ConvergenceError(
            "no acceleration exists: "
            + ("no forces of the closed contacts obey the laws of friction, as where a body that slides jams; give "
               'contacts="none", or take a step' if np.isfinite(a).all()
               else "the constraints depend on each other at q"),
            time=t, residual=np.nan, iterations=0,
        )  # fmt: skip
    return StateForces(a, multipliers, rows, wrenches)


def _time(t: object) -> float:
    return t if type(t) is float and math.isfinite(t) else float(entries(t, (), "t"))


NO_ROWS = np.zeros((0, 15))
NO_WRENCHES = np.zeros((0, 6))


def contact_forces(model: ConstraintMethods, rows: np.ndarray) -> ContactForces:
    """Return the forces of closed contacts by their names, from rows as :class:`StateForces` has them."""
    names, told = model._contact_names, signed(model, rows[:, :9])
    pairs = [names[k] for k in rows[:, 1].astype(int).tolist()]
    a, b = zip(*pairs, strict=True) if pairs else ((), ())
    return ContactForces(a, b, told[:, 2:5], rows[:, 9:12], rows[:, 12:], told[:, 5:8], told[:, 8])


def inverse_dynamics(model: ConstraintMethods, q: np.ndarray, v: np.ndarray, a: np.ndarray, t: float, inputs: Inputs,
                     closed: bool) -> np.ndarray:  # fmt: skip
    """Return the joint forces (nv,) that give an acceleration; see :meth:`vitree.Model.inverse_dynamics`."""
    model._require_invertible_mass_matrix(q)
    u, t = inputs_at(model, inputs), _time(t)
    field, status, worst = take_field(model, None, u), 0, -1
    if closed and model.contact_list.count:
        left, worst, status = core.acceleration_left(field, t, q, v, a)
    else:
        left = a - field.acceleration_at(t, q, v, np.ascontiguousarray(a))[0]
    model._fields.append(field)
    if status:
        raise _impossible(model, worst)
    if model.constraints:
        _, Dh = model._constraint_rows(q[None])
        lack = np.abs(Dh[0] @ left)
        # what is at rest does so up to rounding errors of all that moves, and of the weight
        size = np.abs(a).max(initial=0.0) + np.abs(left).max(initial=0.0) + np.linalg.norm(model.gravity)
        scale = np.abs(Dh[0]) @ (np.abs(a) + np.abs(a - left)) + SATISFIED * size * np.abs(Dh[0]).max(axis=1)
        if (lack > SATISFIED * scale).any():
            k = int(np.argmax(lack - SATISFIED * scale))
            raise InputError(
                "a", a,
                f'violates the constraint "{model.constraints[k].name}": its second derivative would be '
                f"{lack[k]:.3g}; give an acceleration that the constraints allow"
            )
    M_left, zero = np.empty((1, model.nv)), model._nothing[None]
    core.batch_rnea(model.core, np.zeros(3), q[None], zero, left[None], M_left)
    tau = M_left[0]
    tau[np.asarray(model.flat.kinematic, dtype=bool)] = 0.0
    found: np.ndarray = tau
    return found


def _impossible(model: ConstraintMethods, worst: int) -> Exception:
    if worst < 0:
        return ConvergenceError("the forces of the closed contacts cannot be found; give contacts=\"none\"",
                                time=0.0, residual=np.nan, iterations=0)  # fmt: skip
    one, other = model._contact_names[worst]
    other = {"ground": "the ground", "limit": "its limit"}.get(other, f'"{other}"')
    return InputError(
        f'a moves "{one}" into {other}, or lets it slip where it rolls; give an acceleration that closed contacts '
        'allow, or contacts="none"'
    )


# ---- what joints transmit ------------------------------------------------------------------------------------


class JointFrames:
    """The frames of the joints: the body of each, and rotation and position in the body's core frame.

    Parameters
    ----------
    model : Model
        Not a reduced one.
    """

    def __init__(self, model: ConstraintMethods):
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
    model: ConstraintMethods, q: np.ndarray, v: np.ndarray, a: np.ndarray | None, multipliers: np.ndarray | None,
    contacts: bool | ContactForces, at: JointFrames | Place, *, tau: np.ndarray | None, t: float, inputs: Inputs,
    locked: np.ndarray | None, pushes: Sequence[FrameWrench] = (), slow: float = 0.0,
) -> np.ndarray:  # fmt: skip
    """Return the wrenches (n, 6) [N m, N] that parents put on bodies at places.

    Arguments are as of :meth:`vitree.Model.joint_reactions` and :func:`state_forces`.
    """
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
        model, (q, v, a) = at.cut.model, at.cut.states(q, v, a)
        wrenches = NO_WRENCHES if given is None and not pushes else wrenches_of(model, q, given, pushes)
    field = take_field(model, None, u)
    found = core.joint_wrenches(field, q, v, a, multipliers, wrenches if len(wrenches) else None, at.body, at.turn,
                                at.position)  # fmt: skip
    model._fields.append(field)
    result: np.ndarray = found
    return result


NO_MULTIPLIERS = np.zeros(0)


@quiet
def generalized(
    model: ConstraintMethods, q: np.ndarray, wrenches: np.ndarray, given: ContactForces | None
) -> np.ndarray:
    """Return the joint forces (nv,) of wrenches on bodies (nbody, 6), and of limits and dry friction."""
    out, J = np.zeros(model.nv), np.empty((1, 6 * model.nv))
    for body in np.flatnonzero(wrenches.any(axis=1)):
        core.batch_jacobian(model.core, q[None], int(body), np.zeros(3), J)
        out += wrenches[body] @ J.reshape(6, model.nv)
    if given is not None:
        for name, f, point in zip(given.a, given.force, given.point, strict=True):
            if np.isnan(point[0]):
                out[model.joint(name).v_slice.start] += f[0]
    return out


@quiet
def wrenches_of(model: ConstraintMethods, q: np.ndarray, given: ContactForces | None,
                pushes: Sequence[FrameWrench] = ()) -> np.ndarray:  # fmt: skip
    """Return what contacts and pushes put on bodies, (nbody, 6): about the bodies' origins in world axes."""
    out, poses = np.zeros((model.nbody, 6)), model._pose_rows(q[None])[0]
    for name, other, f, point in zip(given.a, given.b, given.force, given.point, strict=True) if given else ():
        if np.isnan(point[0]):
            continue
        for frame, sign in ((name, 1.0), (other, -1.0)):
            body = -1 if frame == GROUND else model.index.place(frame)[0]
            if body >= 0:
                out[body, :3] += sign * cross(point - poses[body, :, 3], f)
                out[body, 3:] += sign * f
    for frame, wrench in pushes:
        body, _, p = model.index.place(frame)
        if body >= 0:
            out[body, :3] += wrench[:3] + cross(poses[body, :, :3] @ p, wrench[3:])
            out[body, 3:] += wrench[3:]
    return out
