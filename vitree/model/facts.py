"""ModelFacts: what a mechanism is, its coordinates and configurations; the base of the methods of a model."""

from __future__ import annotations

import functools
from collections.abc import Mapping
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import ArrayLike

from vitree._core.types import ConstraintList, CoreModel, DriveList, LoadList
from vitree.arguments import generator, numbers_of
from vitree.errors import InputError, UnknownNameError
from vitree.mechanism.constraints import loses
from vitree.mechanism.contacts import Contact, Ground, NoContact, RollingConstraint
from vitree.mechanism.drives import Drive
from vitree.mechanism.flat import (
    BALL,
    FREE,
    HELICAL,
    KIND_NV,
    PRISMATIC,
    REVOLUTE,
    SEVERAL,
    Flat,
    Geometry,
    JointInfo,
    limits_of,
    start_of,
)
from vitree.mechanism.index import Index
from vitree.mechanism.loads import CONSERVATIVE, Damper, input_names
from vitree.mechanism.unilateral import BallLimit, Rope
from vitree.model.broadcasting import as_rows, doors, in_coordinates, in_one_call, in_row, of_full, of_states
from vitree.model.lower import Structure
from vitree.model.system import METHODS_OF, System
from vitree.model.user_inputs import Potential, WrittenParts
from vitree.spatial.checks import frozen
from vitree.spatial.rotations import quaternion_rate, rotate

#: A quaternion may be this far from unit length; it is then normalised, never silently kept.
QUATERNION_TOLERANCE = 1e-6
#: Within this of unit length it is taken as it is.
QUATERNION_EXACT = 4e-16
#: Kinds of the joints, one after another, by which a root moves freely in space.
_FREELY = ((FREE,), (PRISMATIC,) * 3 + (BALL,), (PRISMATIC,) * 3 + (REVOLUTE,) * 3)


class Limited(NamedTuple):
    """Coordinates that have limits.

    Attributes
    ----------
    names, units : tuples of str
    place : (k,) array of int
        In q, or in v, of the model with a coordinate for each joint (``full``).
    lower, upper : (k,) arrays [m or rad]
    """

    names: tuple[str, ...]
    units: tuple[str, ...]
    place: np.ndarray
    lower: np.ndarray
    upper: np.ndarray


class ModelFacts(System):
    """What a mechanism is: names, numbers and limits of its parts, and configurations of it.

    :class:`vitree.Model` has its methods.

    Attributes are set when the model is made.
    """

    flat: Flat
    index: Index
    core: CoreModel
    constraint_list: ConstraintList
    load_list: LoadList
    drive_list: DriveList
    written: WrittenParts | None
    singular: str | None
    _structure: Structure
    _facing: np.ndarray
    _cosines: ConstraintList
    _differences: ConstraintList
    _iq: np.ndarray
    _iv: np.ndarray
    _nq: int
    _nv: int
    _gravity: np.ndarray
    _joints: Mapping[str, JointInfo]
    _frames: Mapping[str, int]
    _touching: dict[str, Any]

    @property
    def full(self) -> Self:
        """The model with a coordinate for each joint: this one, unless :meth:`reduced` made it."""
        return self

    @property
    def name(self) -> str:
        """Name of the mechanism."""
        return self.flat.name

    @property
    def nq(self) -> int:
        """Number of entries of a configuration."""
        return self._nq

    @property
    def nv(self) -> int:
        """Number of degrees of freedom."""
        return self._nv

    @property
    def nbody(self) -> int:
        """Number of moving rigid bodies, after merging what is fixed together."""
        return len(self.flat.kind)

    @property
    def gravity(self) -> np.ndarray:
        """Gravity in world axes, (3,) [m/s^2].

        The array is read-only, since a model does not change: ``model.with_parameters(gravity=(0, 0, -1.62))`` is a
        model with another gravity.
        """
        return frozen(self._gravity)

    @property
    def total_mass(self) -> float:
        """Mass of everything that moves [kg]."""
        return float(np.sum(self.flat.mass))

    @property
    def joints(self) -> tuple[JointInfo, ...]:
        """The joints, in the order of their coordinates."""
        return self.flat.joints

    @property
    def joint_names(self) -> tuple[str, ...]:
        """Names of the joints, in the order of their coordinates."""
        return tuple(self._joints)

    @property
    def link_names(self) -> tuple[str, ...]:
        """Names of the links (frames that were given a body)."""
        return self.flat.link_names

    @property
    def frame_names(self) -> tuple[str, ...]:
        """Names of all frames: links, joints and frames that were named."""
        return self.flat.frame_names

    @property
    def geometry(self) -> tuple[Geometry, ...]:
        """Shapes fixed to frames, for viewers."""
        return self.flat.geometry

    @property
    def q_names(self) -> tuple[str, ...]:
        """A name for each entry of q."""
        return self._entry_names("q_slice", 0)

    @property
    def v_names(self) -> tuple[str, ...]:
        """A name for each entry of v."""
        return self._entry_names("v_slice", 1)

    def _entry_names(self, which: str, entry: int) -> tuple[str, ...]:
        """Joint names, with a suffix for each coordinate of a joint that has several."""
        names: list[str] = []
        for joint in self.flat.joints:
            place = getattr(joint, which)
            count = place.stop - place.start
            suffixes = SEVERAL[joint.kind][entry].split() if joint.kind in SEVERAL else map(str, range(count))
            names += [joint.name] if count == 1 else [f"{joint.name}.{suffix}" for suffix in suffixes]
        if self._followers is not None:
            names = [names[k] for k in (self._followers.own_v if entry else self._followers.own_q)]
        return tuple(names)

    def joint(self, name: str) -> JointInfo:
        """Return the facts of the joint ``name``.

        Raises
        ------
        UnknownNameError
            If there is no joint of that name.
        """
        try:
            return self._joints[name]
        except Exception:  # whatever the name's own methods raise
            raise UnknownNameError("joint", name, self._joints) from None

    def _frame(self, name: str) -> int:
        try:
            return self._frames[name]
        except Exception:  # whatever the name's own methods raise
            raise UnknownNameError("frame", name, self._frames) from None

    @functools.cached_property
    def input_names(self) -> tuple[str, ...]:
        """Names of the inputs that the loads take, in their order."""
        return input_names(self.flat.loads)

    @functools.cached_property
    @of_full
    def prescribed_joint_names(self) -> tuple[str, ...]:
        """Names of the joints that are prescribed over time, in the order of their coordinates."""
        return tuple(j.name for j in self.flat.joints if self.flat.kinematic[j.v_slice.start])

    @property
    def damping(self) -> np.ndarray:
        """Viscous damping of each velocity, (nv,) [N s/m or N m s/rad]."""
        return np.array(self.flat.damping, dtype=float)

    @property
    def friction(self) -> np.ndarray:
        """Coulomb friction f of each velocity, (nv,) [N or N m]: the force is -f v/sqrt(v^2 + e^2).

        e, ``model.flat.friction_velocity`` [m/s or rad/s], is the speed below which it is linear.
        """
        return np.array(self.flat.friction, dtype=float)

    @property
    def armature(self) -> np.ndarray:
        """Inertia of the rotor of each joint, times the square of its gear ratio, (nv,) [kg or kg m^2].

        It is on the diagonal of the mass matrix, in kinetic energies and in the momentum of each coordinate. The
        spatial momentum of :meth:`momentum` has no part of it, as in Pinocchio and MuJoCo.
        """
        return np.array(self.flat.armature, dtype=float)

    @property
    def dry_friction(self) -> np.ndarray:
        """Dry friction of each velocity, (nv,) [N or N m]: a joint stands until more than that acts on it."""
        return np.array(self.flat.dry_friction, dtype=float)

    @property
    def limit_restitution(self) -> np.ndarray:
        """Restitution of the enforced limits of each velocity, (nv,) [-]: the share of its speed after a rebound."""
        return np.array(self.flat.limit_restitution, dtype=float)

    @property
    def constraints(self) -> tuple[Any, ...]:
        """The holonomic constraints, in the order of their multipliers."""
        return self.flat.constraints

    @property
    def loads(self) -> tuple[Any, ...]:
        """The loads that act beside gravity, damping, friction and torque."""
        return self.flat.loads

    def _potentials(self) -> tuple[Any, ...]:
        """The loads that have a potential."""
        return tuple(x for x in self.flat.loads if isinstance(x, (*CONSERVATIVE, Potential)))

    @functools.cached_property
    def drives(self) -> tuple[Drive, ...]:
        """The drives among the loads, in the order of the joints."""
        order = {joint.name: k for k, joint in enumerate(self.joints)}
        return tuple(sorted((load for load in self.loads if isinstance(load, Drive)), key=lambda x: order[x.joint]))

    @property
    def contacts(self) -> tuple[Contact | NoContact, ...]:
        """What touches the ground and other bodies, and pairs that do not (:class:`Contact`, :class:`NoContact`)."""
        return self.flat.contacts

    @property
    def ground(self) -> Ground | None:
        """The ground, if there is one."""
        return self.flat.ground

    @property
    def rolling(self) -> tuple[RollingConstraint, ...]:
        """What rolls without slip (:class:`RollingConstraint`)."""
        return self.flat.rolling

    @property
    def unilateral(self) -> tuple[Rope | BallLimit, ...]:
        """Ropes and limits of ball joints (:class:`Rope`, :class:`BallLimit`)."""
        return self.flat.unilateral

    @functools.cached_property
    def _loses(self) -> bool:
        """Whether couplings lose power."""
        return any(map(loses, self.flat.constraints))

    @property
    def has_rolling_or_dry_friction(self) -> bool:
        """Whether wheels roll without slip, joints have dry friction, or couplings lose power."""
        return bool(self.flat.rolling) or bool(self.flat.dry_friction.any()) or self._loses

    @functools.cached_property
    def has_contact(self) -> bool:
        """Whether impulses act in steps: of contact, enforced limits, ropes, rolling wheels, dry friction of joints."""
        of_limits = "enforce" in (self.limits, self.velocity_limits) or bool(self.unilateral)
        of_contact = of_limits or any(isinstance(contact, Contact) for contact in self.contacts)
        return of_contact or self.has_rolling_or_dry_friction

    @functools.cached_property
    def _has_contact_springs(self) -> bool:
        """Whether contacts may have springs."""
        meets = (*self.flat.contacts, self.flat.ground, *self.flat.unilateral)
        return any(np.isfinite(getattr(each, "stiffness", None) or np.inf) for each in meets)

    @property
    def limits(self) -> str:
        """How limits of joints are treated: "report", "enforce" or "ignore"."""
        return self.flat.limits

    @property
    def velocity_limits(self) -> str:
        """How limits of velocity of joints are treated: "report", "enforce" or "ignore"."""
        return self.flat.velocity_limits

    @functools.cached_property
    @of_full
    def limited_coordinates(self) -> Limited | None:
        """Coordinates of ``full`` with limits that a run reports; None if there are none, or none is to be reported."""
        rows = [(at, low, high) for _, at, _, low, high in limits_of(self.joints, self.constraints)]
        if self.limits != "report" or not rows:
            return None
        place, lower, upper = (np.array(column) for column in zip(*rows, strict=True))
        slides = self.flat.kind[np.searchsorted(self._iq, place)] == PRISMATIC
        units = tuple(np.where(slides, "m", "rad").tolist())
        return Limited(tuple(self.q_names[k] for k in place), units, place, lower, upper)

    @functools.cached_property
    @of_full
    def limited_velocities(self) -> Limited | None:
        """Velocities of ``full`` with limits that a run reports, places in v; None if there are none, or none is to be.

        Limits of velocity are enforced by ``velocity_limits="enforce"`` alone, so that runs of models with
        ``limits="enforce"`` report them, too. A limit of zero in a robot file means that none was given, as the report
        of its reader says.
        """
        unset = any(finding.id == "limit-zero" for finding in self.flat.report)
        rows = [(joint.v_slice.start + k, limit) for joint in self.joints for k, limit in enumerate(joint.velocity)
                if limit < np.inf and not (unset and limit == 0.0)]  # fmt: skip
        if self.limits == "ignore" or self.velocity_limits != "report" or not rows:
            return None
        place, limit = np.array([row[0] for row in rows]), np.array([row[1] for row in rows])
        kinds = self.flat.kind.tolist()
        slides = np.concatenate([(kind in (PRISMATIC, FREE)) & (np.arange(KIND_NV[kind]) < 3) for kind in kinds])
        units = tuple("m/s" if slides[at] else "rad/s" for at in place.tolist())
        return Limited(tuple(self.v_names[k] for k in place), units, place, -limit, limit)

    @property
    def methods(self) -> Mapping[str, type[Any]]:
        """The integrators, the default first."""
        return METHODS_OF["mechanism"]

    @property
    def is_conservative(self) -> bool:
        """Whether its energy stays as it is while nothing drives it."""
        resisted = self.has_contact or self.damping.any() or self.friction.any()
        return not resisted and len(self._potentials()) == len(self.flat.loads)

    @property
    def is_dissipative(self) -> bool:
        """Whether damping, friction and dampers take its energy, and nothing else changes it, while undriven."""
        return self._is_passive and not (self.is_conservative or self.has_contact)

    @property
    def _is_passive(self) -> bool:
        """Whether nothing gives it energy while undriven; springs of contacts keep some that is not counted."""
        return all(isinstance(load, (*CONSERVATIVE, Damper)) for load in self.flat.loads)

    @property
    def is_free_floating(self) -> bool:
        """Whether nothing but gravity changes its spatial momentum while nothing drives it.

        Every root moves freely in space, by joints without damping, friction, armature, coupling or prescribed motion,
        and there are no loads, no constraints and no contacts.
        """
        return not self.has_contact and self._floats

    @property
    def _floats(self) -> bool:
        """Whether nothing but gravity and contacts changes its spatial momentum while nothing drives it."""
        roots, full = self._free_roots(), self.full
        if roots is None or self.loads or self.constraints:
            return False
        flat = full.flat
        held = (flat.damping != 0) | (flat.friction != 0) | (flat.armature != 0) | flat.kinematic
        for coupling in full.constraints:  # those that are reduced
            for name in coupling.factors:
                held[full.joint(name).v_slice] = True
        return not held[roots].any()

    @in_coordinates("plain")
    def _free_roots(self) -> np.ndarray | None:
        """Which velocities of ``full`` are of roots, (nv of ``full``,) bool; None if a root does not move freely."""
        flat, found = self.flat, np.zeros(self.nv, dtype=bool)
        kind, parent = np.asarray(flat.kind), np.asarray(flat.parent)
        for root in np.flatnonzero(parent < 0):
            chain = [int(root)]
            while tuple(kind[chain]) not in _FREELY:
                children = np.flatnonzero(parent == chain[-1])
                if flat.mass[chain[-1]] or len(children) != 1 or len(chain) == 6:
                    return None
                chain.append(int(children[0]))
            for i in chain:
                found[self._iv[i] : self._iv[i] + KIND_NV[kind[i]]] = True
        return found

    def expand(self, q: ArrayLike) -> np.ndarray:
        """Return the coordinates of all joints, (..., nq of ``full``) [m or rad], for q (..., nq)."""
        return numbers_of(q, "q") if self._followers is None else self._followers.expand(self._wide(q, self.nq, "q"))

    def expand_velocity(self, v: ArrayLike) -> np.ndarray:
        """Return the velocities of all joints, (..., nv of ``full``) [m/s or rad/s], for v (..., nv)."""
        if self._followers is None:
            return numbers_of(v, "v", marks=True)
        return self._followers.expand_velocity(self._wide(v, self.nv, "v"))

    def _embed(self, tau: np.ndarray) -> np.ndarray:
        """Joint forces of all joints, (..., nv of ``full``) [N or N m], for tau (..., nv)."""
        return tau if self._followers is None else self._followers.embed_force(tau)

    def _wide(self, x: ArrayLike, size: int, name: str) -> np.ndarray:
        x = numbers_of(x, name, marks=True)
        if x.shape[-1:] != (size,):
            raise InputError(name, x, f"has shape {x.shape}; {self.name!r} needs (..., {size})")
        return x

    @functools.cached_property
    def _nothing(self) -> np.ndarray:
        return np.zeros(self.nv)

    # ---- configurations ---------------------------------------------------------------------------

    def neutral(self) -> np.ndarray:
        """Return the configuration of all zeros and unit quaternions, (nq,) [m or rad]."""
        q = np.zeros(self.nq)
        q[self._quaternions + 3] = 1.0
        return q

    @property
    def start(self) -> np.ndarray:
        """The configuration (nq,) [m or rad] where runs start by default: that of its tree, else neutral."""
        return self._start()

    @in_coordinates("configuration")
    def _start(self) -> np.ndarray:
        """The start, a new array."""
        return start_of(self.flat)

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
        if type(self).validate_configuration is not ModelFacts.validate_configuration:
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
