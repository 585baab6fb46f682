"""Model: a mechanism compiled to flat arrays; kinematics and dynamics of states."""

from __future__ import annotations

import functools
import hashlib
from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from numbers import Real
from typing import Any, ClassVar, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from vitree._core import scalar, wide
from vitree._core.types import ConstraintList, ContactList, CoreModel, DriveList, LoadList
from vitree.arguments import all_finite, axes_of, entries, generator, numbers_of, of_kind, plain_scalar
from vitree.errors import InputError, ModelError, UnknownNameError
from vitree.findings import Finding, Report
from vitree.mechanism.contacts import Contact, Ground
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
    same,
)
from vitree.mechanism.floating import FloatingTree, floating_trees, with_masses
from vitree.mechanism.index import Index, pose_of, product_of
from vitree.mechanism.loads import CONSERVATIVE, Damper, input_names
from vitree.mechanism.regular import LEAST_ALONE, LEAST_AT, OF_MASS, always_regular, why_singular, why_singular_at
from vitree.mechanism.rolling import RollingConstraint
from vitree.model import dense, dynamics, kinematics
from vitree.model.broadcasting import (
    as_rows,
    doors,
    finite_result,
    in_coordinates,
    in_one_call,
    in_row,
    no_result,
    of_full,
    of_states,
    on_stacks,
    plain_number,
    row_by_row,
    stacked,
)
from vitree.model.collision_checks import Unmet, unmet_of
from vitree.model.contacts import Candidates, ContactGaps, candidates_of, gaps_of, require_contacts
from vitree.model.inputs import resolve_inputs, with_drives
from vitree.model.kinematics import Cut, cut_at
from vitree.model.lower import (
    Structure,
    contact_names,
    lower_contacts,
    lower_drives,
    lower_loads,
    of_links,
    structure_of,
)
from vitree.model.parameters import varied
from vitree.model.rolling import Wheels, wheels_of, without_slip
from vitree.model.system import METHODS_OF, System, set_once
from vitree.model.user_loads import Potential, Written, WrittenParts, written_parts
from vitree.spatial.checks import frozen
from vitree.spatial.rotations import quaternion_rate, rotate

#: The kernels for one state at a time.
core = scalar()
#: A quaternion may be this far from unit length; it is then normalised, never silently kept.
QUATERNION_TOLERANCE = 1e-6
#: Within this of unit length it is taken as it is.
QUATERNION_EXACT = 4e-16
#: Directions face the same way above this cosine; where all rows of a joint or weld hold, it is 1, 0 or -1.
FACES = 0.1
#: What methods ask of the model. Compiled code asks its own, and leaves the models alone that have it otherwise.
BYPASSED = ("validate_configuration", "_checked", "require_invertible_mass_matrix", "singular_at", "_regular", "nq",
            "nv", "nbody", "zero_velocity", "_pose_rows", "body_poses", "_frame", "_frame_pose", "crba", "_energies",
            "_energies_at", "_momenta", "_velocities", "_potentials", "_field", "_field_at_rest")  # fmt: skip
#: Fields of a Flat that are the same of all models that differ in numbers alone. Not what may be written in Python.
STILL = ("frame_names", "contacts", "rolling", "ground")
#: Kinds of the joints, one after another, by which a root moves freely in space.
_FREELY = ((FREE,), (PRISMATIC,) * 3 + (BALL,), (PRISMATIC,) * 3 + (REVOLUTE,) * 3)


class Accelerations(NamedTuple):
    """Accelerations (..., nv) [m/s^2 or rad/s^2] and multipliers (..., m) [N or N m] of the constraints."""

    acceleration: np.ndarray
    multipliers: np.ndarray


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


class LagrangianDerivatives(NamedTuple):
    """A Lagrangian [J] and its derivatives: by_q, by_v (nv,); by_qq, by_vq (first index v), by_vv (nv, nv)."""

    value: float
    by_q: np.ndarray
    by_v: np.ndarray
    by_qq: np.ndarray
    by_vq: np.ndarray
    by_vv: np.ndarray


def _content(x):
    """The content of a load or constraint, in types whose repr does not depend on how a number was given.

    Digests are made of it. Vehicles have a ``_content`` of their own.
    """
    if isinstance(x, Written):
        return x.content
    x = plain_scalar(x)
    if is_dataclass(x):
        return type(x).__name__, *(_content(getattr(x, field.name)) for field in fields(x))
    if isinstance(x, Mapping):
        return [(key, _content(value)) for key, value in x.items()]
    if isinstance(x, np.ndarray) and x.dtype == float:
        return x.tolist()
    if isinstance(x, list | tuple | np.ndarray):
        return [_content(value) for value in x]
    return float(x) if isinstance(x, Real) and not isinstance(x, bool) else x


#: Fields of a Flat that are no arrays, and that the dynamics depend on.
_DYNAMIC = ("frame_names", "constraints", "loads", "contacts", "ground", "limits", "rolling")


class Model(System):
    """A mechanism that never changes: safe to share between threads, picklable, hashable by content.

    Parameters
    ----------
    flat : Flat
        The arrays a ``Tree`` compiles to.

    Raises
    ------
    ModelError
        If the arrays are those of a reduced model, or a load or constraint does not fit the mechanism.

    Notes
    -----
    Arguments of the methods have their entries joint after joint, and are, if they do not say otherwise:

    q, q0, q1 : (nq,) array
        Configurations. Joints of one coordinate have one entry [m or rad], ``ball`` a quaternion (x, y, z, w),
        ``free`` position and quaternion.
    v : (nv,) array
        Velocity [m/s or rad/s]: of ``ball`` the angular one in body axes, of ``free`` (linear, angular) in body axes.
    a : (nv,) array
        Acceleration, the rate of v [m/s^2 or rad/s^2].
    dq : (nv,) array
        Displacement, v times a time [m or rad].
    p : (nv,) array
        Momentum [kg m/s or kg m^2/s].
    tau : (nv,) array
        Joint forces [N or N m].

    Methods whose results have leading axes (...) take many states at once: q (..., nq) and v, a, dq, p, tau (..., nv).
    The leading axes broadcast, as NumPy has it. Each row of a result has the bits of the call on its state alone.
    An error names the row. Kernels run on as many rows at a time as the processor has lanes. A method without such a
    kernel says so, and runs row by row.

    Methods raise an InputError for an argument of a wrong shape, or with an entry that is not finite, or so large that
    a result is too large for a double, or where frames coincide and a load needs their direction; and those that
    need accelerations a ModelError where the mass matrix is singular. Those that take rows of states check
    the shapes alone.

    References
    ----------
    Featherstone 2008, "Rigid body dynamics algorithms"; Johnson & Murphey 2009.
    """

    index: Index
    load_list: LoadList
    drive_list: DriveList
    singular: str | None
    _structure: Structure
    _floating: tuple[FloatingTree, ...]
    _touching: dict[str, Any]
    #: subclasses that a method of this class makes, by its name
    _kinds: ClassVar[dict[str, type[Any]]] = {}

    def __init_subclass__(cls, made_by: str | None = None, **more: Any):
        super().__init_subclass__(**more)
        if made_by is not None:
            Model._kinds[made_by] = cls

    def __setattr__(self, name: str, value: Any) -> None:
        set_once(self, name, frozen(value))

    def __init__(self, flat: Flat):
        self._make(of_kind(flat, Flat, "flat", "the arrays that Tree.flatten() makes, or use Tree.compile()"), None)

    def _make(self, flat: Flat, like: Model | None) -> None:
        """Make the model of its arrays; ``like``: one of the same arrays, but for numbers that can be varied.

        All that does not follow from such numbers is taken of it.
        """
        self.flat = flat
        self.index = Index(flat) if like is None else like.index.of_numbers(flat)
        self._iq, self._iv = self.index.iq, self.index.iv
        self._nq, self._nv = self.index.nq, self.index.nv
        if len(flat.damping) != self._nv:
            raise ModelError(
                f'the arrays of "{flat.name}" have {len(flat.damping)} velocities and its joints {self._nv}; of a '
                f"reduced model take model.full.flat"
            )
        self._structure = structure_of(self.index, flat.constraints) if like is None else like._structure
        self.constraint_list = self._structure.constraint_list
        with np.errstate(all="ignore"):  # what is too large for a double is told where a result needs it
            trees = None if like is None else with_masses(like._floating, like.flat, flat)
            self._floating = (
                tuple(floating_trees(flat, self._iv, self.constraint_list.ends())) if trees is None else trees
            )
            self.core = CoreModel(flat, self._iq, self._iv, self._nq, self._nv, self._floating)
            self.singular = like.singular if like is not None and same(like.flat, flat, OF_MASS) else why_singular(flat)
        self._gravity = np.ascontiguousarray(flat.gravity, dtype=float)
        self._quaternions = self.index.quaternions
        self._joints, self._frames = self.index.joints, self.index.frames
        self._facing, self._cosines, self._differences = self._structure.facing
        if like is not None and flat.loads is like.flat.loads and not of_links(flat.loads):
            self.load_list, self.drive_list, self.input_names = like.load_list, like.drive_list, like.input_names
        else:
            self.load_list, self.drive_list = lower_loads(self.index, flat.loads), lower_drives(self.index, flat.loads)
        self.written = self._written_of(flat.loads, flat.constraints)
        # all that may touch as the core takes it, once it was asked for; dry friction is part of it
        self._touching = like._touching if like is not None and same(like.flat, flat, ("dry_friction",)) else {}
        if like is None:
            require_contacts(self.index, flat)
        if flat.rolling:
            self.wheels = wheels_of(self.index, flat) if like is None else like.wheels
        kind = type(self)
        if all(getattr(kind, name) is getattr(Model, name) for name in BYPASSED):
            places, shares = (flat.frame_body, flat.frame_E, flat.frame_p), (LEAST_AT, LEAST_ALONE)
            self._calls = core.Calls(self.core, self._frames, places, shares, self.load_list,
                                     self._has_contact_springs or self.written is not None)  # fmt: skip

    def _written_of(self, loads: tuple, constraints: tuple) -> WrittenParts | None:
        """Those loads and constraints that are written in Python."""
        return written_parts(self, loads, constraints)

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
    def _require_invertible_mass_matrix(self, q: np.ndarray) -> None:
        """Raise the error of ``require_invertible_mass_matrix`` for the first of a stack q (..., nq) that has one."""
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

    @functools.cached_property
    def _largest_number(self) -> float:
        """The largest |number| of the arrays; NaN if there is one."""
        numbers = [x for x in vars(self.flat).values() if isinstance(x, np.ndarray) and x.dtype == float]
        return float(np.max([np.abs(x).max(initial=0.0) for x in numbers]))

    @functools.cached_property
    def _regular(self) -> bool:
        return always_regular(self.flat)

    def singular_at(self, q: np.ndarray) -> str | None:
        """Return why the mass matrix is singular at q (nq,) [m or rad], in words; None if it is regular."""
        full = self.full
        if full._regular:
            return None
        out = np.empty((1, 2 * full.nv))
        core.batch_pivots(full.core, self.expand(self._checked(q, self.nq, "q"))[None], out)
        return why_singular_at(full.flat, out.reshape(2, -1))

    # ---- what it is -----------------------------------------------------------------------------

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
    def constraints(self) -> tuple:
        """The holonomic constraints, in the order of their multipliers."""
        return self.flat.constraints

    @property
    def loads(self) -> tuple:
        """The loads that act beside gravity, damping, friction and torque."""
        return self.flat.loads

    @property
    def contacts(self) -> tuple:
        """What touches the ground and other bodies, and pairs that do not (:class:`Contact`, :class:`NoContact`)."""
        return self.flat.contacts

    @property
    def ground(self) -> Ground | None:
        """The ground, if there is one."""
        return self.flat.ground

    @property
    def limits(self) -> str:
        """How limits of joints are treated: "report", "enforce" or "ignore"."""
        return self.flat.limits

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

        No limit of speed is enforced, so that runs of models with ``limits="enforce"`` report them, too. A limit of
        zero in a robot file means that none was given, as the report of its reader says.
        """
        unset = any(finding.id == "limit-zero" for finding in self.flat.report)
        rows = [(joint.v_slice.start + k, limit) for joint in self.joints for k, limit in enumerate(joint.velocity)
                if limit < np.inf and not (unset and limit == 0.0)]  # fmt: skip
        if self.limits == "ignore" or not rows:
            return None
        place, limit = np.array([row[0] for row in rows]), np.array([row[1] for row in rows])
        kinds = self.flat.kind.tolist()
        slides = np.concatenate([(kind in (PRISMATIC, FREE)) & (np.arange(KIND_NV[kind]) < 3) for kind in kinds])
        units = tuple("m/s" if slides[at] else "rad/s" for at in place.tolist())
        return Limited(tuple(self.v_names[k] for k in place), units, place, -limit, limit)

    @property
    def rolling(self) -> tuple[RollingConstraint, ...]:
        """What rolls without slip (:class:`RollingConstraint`)."""
        return self.flat.rolling

    @property
    def dry_friction(self) -> np.ndarray:
        """Dry friction of each velocity, (nv,) [N or N m]: a joint stands until more than that acts on it."""
        return np.array(self.flat.dry_friction, dtype=float)

    @property
    def limit_restitution(self) -> np.ndarray:
        """Restitution of the enforced limits of each velocity, (nv,) [-]: the share of its speed after a rebound."""
        return np.array(self.flat.limit_restitution, dtype=float)

    @property
    def has_rolling_or_dry_friction(self) -> bool:
        """Whether wheels roll without slip, or joints have dry friction."""
        return bool(self.flat.rolling) or bool(self.flat.dry_friction.any())

    @functools.cached_property
    def has_contact(self) -> bool:
        """Whether impulses act in steps: of contact, enforced limits, wheels that roll, or dry friction of joints."""
        of_contact = self.limits == "enforce" or any(isinstance(contact, Contact) for contact in self.contacts)
        return of_contact or self.has_rolling_or_dry_friction

    @functools.cached_property
    @of_full
    def wheels(self) -> Wheels:
        """What rolls, in arrays; bodies are those of ``full``."""
        return wheels_of(self.index, self.flat)

    @functools.cached_property
    @of_full
    def contact_candidates(self) -> Candidates:
        """What may touch, in arrays; bodies are those of ``full``."""
        found = self._structure.found.get("candidates")
        if found is None:
            found = candidates_of(self.index, self.flat, self._pose_rows(self.neutral()[None])[0])
        return self._structure.found.setdefault("candidates", found)

    @functools.cached_property
    @of_full
    def contact_list(self) -> ContactList:
        """What may touch, as steppers take it."""
        found = self._touching.get("list")
        if found is None:
            found = ContactList()
            if self.has_contact:
                found = lower_contacts(self.flat, self.contact_candidates, self.wheels)
        return self._touching.setdefault("list", found)

    @finite_result
    def contact_gaps(self, q: ArrayLike) -> ContactGaps:
        """Return the gaps of all that may touch at q (nq,) [m or rad], one row each; negative in penetration.

        Left out are pairs of one body, of a body and the one that carries it, of a :class:`NoContact`, and pairs of
        one mechanism that overlap at the neutral configuration.

        Returns
        -------
        ContactGaps
            Names of frames a, b ("ground"), gap (n,) [m], normal (n, 3) from b to a, and the nearest points of a and b
            in the world (n, 3) [m].
        """
        poses = self._pose_rows(self.validate_configuration(q)[None])[0]
        return gaps_of(self.flat, self.contact_candidates, poses)

    @property
    def drives(self) -> tuple[Drive, ...]:
        """The drives among the loads, in the order of the joints."""
        order = {joint.name: k for k, joint in enumerate(self.joints)}
        return tuple(sorted((load for load in self.loads if isinstance(load, Drive)), key=lambda x: order[x.joint]))

    def with_drives(
        self, gains: Mapping[str, Any], *, effort_limits: bool = False, target_rates: bool = False
    ) -> Model:
        """Return this model with drives on joints of one coordinate.

        Parameters
        ----------
        gains : mapping of pattern to (kp, kd) [N m/rad and N m s/rad, or N/m and N s/m]
            Patterns of names, such as ``"*_knee_*"``; of several that fit the first counts. Joints of several
            coordinates, prescribed ones, followers, and the six joints of a base that is "euler" are left out by
            patterns; the last are driven by their names. Instead of (kp, kd) a mapping with kp, kd, effort_limit,
            velocity_limit, gear; see :class:`vitree.Drive`.
        effort_limits : bool
            Whether drives keep the effort limits of their joints, which are those at the joint.
        target_rates : bool
            Whether the rates of the targets are inputs as well, named ``"<joint> target rate"`` [m/s or rad/s].

        Returns
        -------
        Model
            Its inputs have the target of each drive [m or rad], named ``"<joint> target"``: give them as ``targets=``.

        Raises
        ------
        UnknownNameError
            If a pattern fits no joint.
        InputError, ModelError
            If gains are wrong, or a joint has a drive already.
        """
        return self._remade(with_drives(self, gains, effort_limits, target_rates))

    def with_parameters(
        self,
        *,
        mass: ArrayLike | Mapping[str, float] | None = None,
        com: ArrayLike | Mapping[str, ArrayLike] | None = None,
        inertia: ArrayLike | Mapping[str, ArrayLike] | None = None,
        damping: ArrayLike | Mapping[str, ArrayLike] | None = None,
        friction: ArrayLike | Mapping[str, ArrayLike] | None = None,
        dry_friction: ArrayLike | Mapping[str, ArrayLike] | None = None,
        armature: ArrayLike | Mapping[str, ArrayLike] | None = None,
        gravity: ArrayLike | None = None,
        gains: Mapping[str, ArrayLike] | None = None,
    ) -> Model:
        """Return this model with other numbers; what is not given stays.

        Parameters
        ----------
        mass : mapping of link to float, or (links,) array [kg]
            In the order of ``link_names``. COM and inertia of a link stay as they are where its mass changes.
        com : mapping of link to (3,) array, or (links, 3) array [m]
            In the frame of the link.
        inertia : mapping of link to (3, 3) array, or (links, 3, 3) array [kg m^2]
            About the COM, in the axes of the link.
        damping : mapping of joint to float or array, or (nv,) array [N s/m or N m s/rad]
            A joint of several coordinates takes one number for all, or one for each. Arrays of a reduced model are of
            ``full``, as are the names.
        friction, dry_friction : mapping of joint to float, or (nv,) array [N or N m]
        armature : mapping of joint to float, or (nv,) array [kg or kg m^2]
        gravity : (3,) array [m/s^2]
        gains : mapping of joint to (kp, kd) [N m/rad and N m s/rad, or N/m and N s/m]
            Of drives that there are.

        Returns
        -------
        Model
            Of the same kind.

        Raises
        ------
        UnknownNameError
            If there is no such link, joint or drive.
        InputError
            If a number is not finite, or an array has a wrong shape.
        ModelError
            If a mass or a coefficient is negative, or an inertia is impossible.
        """
        given = dict(mass=mass, com=com, inertia=inertia, damping=damping, friction=friction,
                     dry_friction=dry_friction, armature=armature, gravity=gravity, gains=gains)  # fmt: skip
        return self._varied(given)

    def _varied(self, given: Mapping[str, Any]) -> Model:
        """The model with other numbers, of the same kind."""
        return self._with_numbers(varied(self, given))

    def _with_numbers(self, flat: Flat) -> Model:
        """The model of the same arrays but for numbers that can be varied, of the same kind."""
        made: Model = Model.__new__(Model)
        made._make(flat, self)
        return made

    def _remade(self, flat: Flat) -> Model:
        """The model of other arrays, of the same kind."""
        return Model(flat)

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
        lossy = all(isinstance(load, (*CONSERVATIVE, Damper)) for load in self.flat.loads)
        return lossy and not (self.is_conservative or self.has_contact)

    @property
    def is_free_floating(self) -> bool:
        """Whether nothing but gravity changes its spatial momentum while nothing drives it.

        Every root moves freely in space, by joints without damping, friction, armature, coupling or prescribed motion,
        and there are no loads, no constraints and no contacts.
        """
        roots, full = self._free_roots(), self.full
        if roots is None or self.loads or self.constraints or self.has_contact:
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

    def _potentials(self) -> tuple:
        """The loads that have a potential."""
        return tuple(x for x in self.flat.loads if isinstance(x, (*CONSERVATIVE, Potential)))

    @property
    def report(self) -> Report:
        """Findings of the file that the model comes from, and contacts that do less than they seem to."""
        return self.flat.report + findings if (findings := self._contact_findings) else self.flat.report

    @functools.cached_property
    @of_full
    def _contact_findings(self) -> list[Finding]:
        return self.unsupported_contacts.findings() if any(isinstance(each, Contact) for each in self.contacts) else []

    @functools.cached_property
    @of_full
    def unsupported_contacts(self) -> Unmet:
        """Shapes in reach of each other that cannot touch, and contacts that can meet nothing; bodies of ``full``."""
        poses = self._pose_rows(self.neutral()[None])[0]
        return unmet_of(self.index, self.flat, self.contact_candidates, poses)

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

    @property
    def digest(self) -> str:
        """Hash of everything the dynamics depend on, a hexadecimal string."""
        if "_hash" not in vars(self):
            h = hashlib.sha256()
            for field in fields(Flat):
                value = getattr(self.flat, field.name)
                if isinstance(value, np.ndarray):
                    h.update(np.ascontiguousarray(value).tobytes())
                elif field.name in _DYNAMIC:
                    h.update(self._text_of(field.name, value))
            vars(self)["_hash"] = h.hexdigest()
        return vars(self)["_hash"]

    def _text_of(self, name: str, value: Any) -> bytes:
        """The content of a field of the arrays, which models share where it does not vary."""
        kept = self._structure.texts
        if name in kept:
            return kept[name]
        text = repr((name, _content(value))).encode()
        if name in STILL:
            kept[name] = text
        return text

    def __hash__(self) -> int:
        return hash(self.digest)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Model) and self.digest == other.digest

    def __reduce__(self):
        return (type(self), (self.flat,))

    def __repr__(self) -> str:
        return (
            f"<vitree.Model {self.name!r}: {self.nbody} moving bodies, nq={self.nq}, nv={self.nv}, "
            f"{self.total_mass:.6g} kg>"
        )

    # ---- states ---------------------------------------------------------------------------------

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
        if type(self).validate_configuration is not Model.validate_configuration:
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
    def integrate(self, q: Any, dq: Any) -> np.ndarray:
        """Return the configuration (..., nq) [m or rad] that a displacement in body axes leads to.

        On ball and free joints that is by the exponential map.
        """
        out = np.empty(q.shape)
        doors(q).batch_integrate(self.core, as_rows(q), as_rows(dq), as_rows(out))
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

    @of_states
    @in_coordinates("velocity")
    def difference(self, q0: Any, q1: Any) -> np.ndarray:
        """Return the displacement (..., nv) [m or rad] with ``integrate(q0, difference(q0, q1)) == q1``.

        Rotations are taken by the shorter way.
        """
        out = np.empty((*q0.shape[:-1], self.nv))
        doors(q0).batch_difference(self.core, as_rows(q0), as_rows(q1), as_rows(out))
        return out

    # ---- kinematics -----------------------------------------------------------------------------

    @of_states
    def body_poses(self, q: Any) -> np.ndarray:
        """Return the pose X_WB in the world of each moving body's core frame, (..., nbody, 4, 4) [m]."""
        rows = self._pose_rows(as_rows(q))
        out = np.zeros((len(rows), self.nbody, 4, 4))
        out[:, :, :3] = rows
        out[:, :, 3, 3] = 1.0
        return out.reshape(*q.shape[:-1], self.nbody, 4, 4)

    @in_coordinates("plain")
    def _pose_rows(self, q: np.ndarray) -> np.ndarray:
        """Return X_WB of each moving body's core frame at rows q (n, nq): (n, nbody, 3, 4) [m], last rows left out."""
        rows = np.empty((len(q), 12 * self.nbody))
        (wide() if len(q) > 1 else core).batch_poses(self.core, q, rows)
        return rows.reshape(len(q), self.nbody, 3, 4)

    @of_states
    def frame_poses(self, q: Any) -> dict[str, np.ndarray]:
        """Return the pose in the world, (..., 4, 4) [m], of every named frame."""
        bodies = self.body_poses(q)
        return {name: self._frame_pose(k, bodies) for name, k in self._frames.items()}

    @of_states
    def frame_pose(self, name: str, q: Any) -> np.ndarray:
        """Return the pose of the frame ``name`` in the world, (..., 4, 4) [m].

        Raises
        ------
        UnknownNameError
            If there is no frame of that name.
        """
        k = self._frame(name)
        return self._frame_pose(k, self.body_poses(q))

    def _frame_pose(self, k: int, bodies: np.ndarray) -> np.ndarray:
        return pose_of(self.flat, k, bodies)

    @of_states
    @in_coordinates("force")
    def frame_jacobian(self, name: str, q: Any, axes: str = "world") -> np.ndarray:
        """Return the Jacobian (..., 6, nv) of a frame's velocity by v [rad and m, per rad or m].

        Parameters
        ----------
        name : str
        axes : {"world", "local"}
            Rows are (angular, linear) velocity of the frame's origin, in world axes or in the
            frame's own (Pinocchio's LOCAL_WORLD_ALIGNED and LOCAL, which put linear rows first).

        Raises
        ------
        UnknownNameError
            If there is no frame of that name.
        InputError
            If axes is neither of the two.
        """
        kinematics.require_axes(axes)
        k = self._frame(name)
        rows, body = as_rows(q), int(self.flat.frame_body[k])
        out = np.zeros((len(rows), 6, self.nv))
        point = np.ascontiguousarray(self.flat.frame_p[k], dtype=float)
        doors(q).batch_jacobian(self.core, rows, body, point, out.reshape(len(rows), 6 * self.nv))
        if axes == "local" and body >= 0:
            turn = product_of(self._pose_rows(rows)[:, body, :, :3], self.flat.frame_E[k]).swapaxes(1, 2)
            out[:, :3], out[:, 3:] = product_of(turn, out[:, :3]), product_of(turn, out[:, 3:])
            out += 0.0  # no zeros with a sign
        return out.reshape(*q.shape[:-1], 6, self.nv)

    @finite_result
    @in_coordinates("plain", checks="states")
    def frame_velocity(self, name: str, q: Any, v: Any, axes: str = "world") -> np.ndarray:
        """Return the velocity of a frame, (..., 6): angular [rad/s], and that of its origin [m/s].

        This is ``frame_jacobian(name, q, axes) @ v``.

        Parameters
        ----------
        name : str
        axes : {"world", "local"}
            World axes, or the frame's own.

        Raises
        ------
        UnknownNameError
            If there is no frame of that name.
        InputError
            If axes is neither of the two.
        """
        if axes_of(q) < 2 and axes_of(v) < 2:
            return self.frame_jacobian(name, q, axes) @ self._checked(v, self.nv, "v")
        given = stacked(self, {"q": q, "v": v})
        return (self.frame_jacobian(name, given["q"], axes) @ given["v"][..., None])[..., 0]

    @on_stacks
    @finite_result
    @in_coordinates("plain")
    def frame_acceleration(
        self, name: str, q: Any, v: Any, a: Any, axes: str = "world"
    ) -> np.ndarray:
        """Return the derivative of :meth:`frame_velocity` over time, (..., 6): J a + dJ/dt v [rad/s^2, m/s^2].

        Many states are taken row by row.

        Parameters
        ----------
        name : str
        axes : {"world", "local"}
            "world": the angular acceleration, and the acceleration of the frame's origin as a point that moves in
            space (the classical one), in world axes. "local": the derivatives of the six components that
            ``frame_velocity`` has in the frame's own axes. These axes turn, so that the linear part is the classical
            acceleration in the frame's axes less w x u, with w the angular and u the linear velocity there. An
            accelerometer reads the classical acceleration less gravity, in the frame's axes; :class:`vitree.Imu`
            is one. (Pinocchio's getFrameClassicalAcceleration in LOCAL_WORLD_ALIGNED, and getFrameAcceleration in
            LOCAL, which put linear rows first.)

        Raises
        ------
        UnknownNameError
            If there is no frame of that name.
        InputError
            If axes is neither of the two.

        References
        ----------
        Featherstone 2008, section 2.11.
        """
        kinematics.require_axes(axes)
        if q.ndim > 1:
            return row_by_row(self, functools.partial(self.frame_acceleration, name, axes=axes), q=q, v=v, a=a)
        return kinematics.frame_acceleration(self, name, q, v, a, axes)

    @of_states
    def center_of_mass(self, q: Any) -> np.ndarray:
        """Return the centre of mass of everything that moves, in the world, (..., 3) [m]."""
        return np.ascontiguousarray(self._energies_at(q, None)[..., 8:])

    # the docstrings of the three repeat each other, since the reference shows each method alone

    @finite_result
    @in_coordinates("plain", "slopes", "second slopes", checks="state")
    def pose_derivatives(self, name: str, q: ArrayLike) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Return the pose of the frame ``name`` in the world, and its first and second derivatives by q.

        (4, 4), (nv, 4, 4), (nv, nv, 4, 4) [m, and per m or rad].

        Raises
        ------
        UnknownNameError
            If there is no frame of that name.
        InputError
            If the frame moves with a ball or free joint; take ``model.euler()``.

        References
        ----------
        Johnson & Murphey 2009, eqs. 2-4.
        """
        return kinematics.pose_derivatives(self, name, q)

    @finite_result
    @in_coordinates("plain", "slopes", "second slopes", checks="state")
    def position_derivatives(self, name: str, q: ArrayLike) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Return the position of the frame ``name`` in the world, and its first and second derivatives by q.

        (3,), (nv, 3), (nv, nv, 3) [m, and per m or rad].

        Raises
        ------
        UnknownNameError
            If there is no frame of that name.
        InputError
            If the frame moves with a ball or free joint; take ``model.euler()``.

        References
        ----------
        Johnson & Murphey 2009, eqs. 2-4.
        """
        return kinematics.position_derivatives(self, name, q)

    @finite_result
    @in_coordinates("plain", "slopes", "slopes", "second slopes", "second slopes", checks="state")
    def twist_derivatives(self, name: str, q: ArrayLike, v: ArrayLike) -> kinematics.TwistDerivatives:
        """Return the body velocity (angular, linear) of the frame ``name``, and its derivatives by q and v.

        Raises
        ------
        UnknownNameError
            If there is no frame of that name.
        InputError
            If the frame moves with a ball or free joint; take ``model.euler()``.

        References
        ----------
        Johnson & Murphey 2009, eqs. 5-10.
        """
        return kinematics.twist_derivatives(self, name, q, v)

    # ---- dynamics -------------------------------------------------------------------------------

    @of_states
    @in_coordinates("plain")
    def lagrangian(self, q: Any, v: Any) -> Any:
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

    @functools.partial(in_one_call, made=Accelerations)
    @on_stacks
    @in_coordinates("velocity", "rows")
    def forward_dynamics(
        self,
        q: Any,
        v: Any,
        tau: Any = None,
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
        if q.ndim > 1:
            more = {"t": t, "inputs": inputs, "prescribed": prescribed}
            kept = {key: x for key, x in more.items() if x is not None}
            return self._many_accelerations(q, v, tau, {**kept, "contacts": contacts})
        closed = dynamics.require_contacts_word(contacts)
        locked = dynamics.prescribed_accelerations(self, prescribed)
        found = dynamics.state_forces(self, q, v, tau, t, inputs, locked, closed)
        return Accelerations(found.acceleration, found.multipliers)

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
    ) -> dynamics.ContactForces:
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
        locked = dynamics.prescribed_accelerations(self, prescribed)
        found = dynamics.state_forces(self, q, v, tau, t, inputs, locked, True)
        return dynamics.contact_forces(self, found.rows)

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
        closed = dynamics.require_contacts_word(contacts)
        return dynamics.inverse_dynamics(self, q, v, self._checked(a, self.nv, "a"), t, inputs, closed)

    def _q_and_v(self, q: ArrayLike, v: ArrayLike) -> tuple[np.ndarray, np.ndarray]:
        return self.validate_configuration(q), self._checked(v, self.nv, "v")

    def _many_accelerations(self, q: np.ndarray, v: np.ndarray, tau: np.ndarray | None, more: dict) -> Accelerations:
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
        return self._field(None, resolve_inputs(self, inputs)).drive_forces_at(0.0, q, v)

    @functools.cached_property
    def _joint_frames(self) -> dynamics.JointFrames:
        return dynamics.JointFrames(self)

    def _cut(self, frame: str) -> Cut:
        """The mechanism cut at a frame."""
        found = self._cuts.get(frame)
        return found if found is not None else self._cuts.setdefault(frame, cut_at(self, frame, Model))

    @functools.cached_property
    def _cuts(self) -> dict[str, Cut]:
        return {}

    @functools.cached_property
    def _fields(self) -> list:
        """Steppers that have the accelerations of states, and that nobody uses."""
        return []

    @functools.cached_property
    def _resolved(self) -> dict:
        """What sensors found by names, by what they asked for."""
        return {}

    @functools.cached_property
    def _has_contact_springs(self) -> bool:
        """Whether contacts may have springs."""
        meets = (*self.flat.contacts, self.flat.ground)
        return any(np.isfinite(getattr(each, "stiffness", None) or np.inf) for each in meets)

    @functools.cached_property
    @of_full
    def _contact_names(self) -> tuple[tuple[str, str], ...]:
        """The two that touch, in the order of the contacts."""
        if "names" not in self._touching:
            self._touching["names"] = tuple(contact_names(self.flat, self.contact_candidates))
        return self._touching["names"]

    @functools.cached_property
    def _nothing(self) -> np.ndarray:
        return np.zeros(self.nv)

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
        contacts: str | dynamics.ContactForces = "closed",
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
        acting = contacts if isinstance(contacts, dynamics.ContactForces) else dynamics.require_contacts_word(contacts)
        locked = dynamics.prescribed_accelerations(self, prescribed)
        rows = dynamics.transmitted(self, q, v, a, multipliers, acting, frames,
                                  tau=torque, t=t, inputs=inputs, locked=locked)  # fmt: skip
        if not core.plain(rows.reshape(-1), rows.size):
            given = {"q": q, "v": v, "a": a, "torque": torque, "multipliers": multipliers}
            raise no_result(self, "joint_reactions", given)
        return dict(zip(frames.names, rows, strict=True))

    @of_states
    @in_coordinates("force")
    def passive_force(self, q: Any) -> np.ndarray:
        """Return the joint forces (..., nv) [N or N m] of gravity and of those loads that have a potential: its -dV/dq.

        Many states are taken row by row.
        """
        if q.ndim > 1:
            return row_by_row(self, self.passive_force, q=q)
        field = self._field_at_rest()
        return np.dot(self.crba(q), field.acceleration_at(0.0, q, self.zero_velocity())[0])

    def _field(self, tau=None, inputs=None):
        """What has the accelerations under everything."""
        touching = {"contacts": self.contact_list} if self.contact_list.count else {}
        return core.ModelStepper(self.core, 1.0, tau, loads=self.load_list, constraints=self.constraint_list,
                                 drives=self.drive_list, user=self.written, nu=len(self.input_names),
                                 inputs=inputs, **touching)  # fmt: skip

    def _field_at_rest(self):
        """What has the accelerations under gravity and those loads that have a potential."""
        kept = self._potentials()
        return core.ModelStepper(self.core, 1.0, loads=lower_loads(self.index, kept), user=self._written_of(kept, ()))

    @of_states
    @in_coordinates("force")
    def rnea(self, q: Any, v: Any, a: Any) -> np.ndarray:
        """Return the joint forces (..., nv) [N or N m] for an acceleration: tau = M(q) a + c(q, v) + g(q).

        M has the armature of the joints. Joint damping, friction and loads are left out, as :meth:`aba` leaves them
        out.

        References
        ----------
        Luh, Walker & Paul 1980; Featherstone 2008, ch. 5.
        """
        out = np.empty(v.shape)
        doors(q).batch_rnea(self.core, self._gravity, as_rows(q), as_rows(v), as_rows(a), as_rows(out))
        return out

    @of_states
    @in_coordinates("velocity", by=dense.aba)
    def aba(self, q: Any, v: Any, tau: Any) -> np.ndarray:
        """Return the acceleration (..., nv) [m/s^2 or rad/s^2] under joint forces, the inverse of :meth:`rnea`.

        References
        ----------
        Featherstone 2008, ch. 7.
        """
        self._require_invertible_mass_matrix(q)
        return self._bare_accelerations(q, v, tau)

    def _bare_accelerations(self, q: np.ndarray, v: np.ndarray, tau: np.ndarray) -> np.ndarray:
        out = np.empty(v.shape)
        doors(q).batch_aba(self.core, self._gravity, as_rows(q), as_rows(v), as_rows(tau), as_rows(out))
        return out

    @of_states
    @in_coordinates("matrix")
    def crba(self, q: Any) -> np.ndarray:
        """Return the mass matrix, (..., nv, nv), symmetric [kg, kg m or kg m^2], with the armature on its diagonal.

        References
        ----------
        Featherstone 2008, ch. 6.
        """
        rows = as_rows(q)
        out = np.empty((*q.shape[:-1], self.nv, self.nv))
        doors(q).batch_crba(self.core, rows, out.reshape(len(rows), self.nv**2))
        return out

    @of_states
    @in_coordinates("matrix", by=dense.inverse_mass_matrix)
    def inverse_mass_matrix(self, q: Any) -> np.ndarray:
        """Return the inverse of the mass matrix, (..., nv, nv), symmetric [1/kg, 1/(kg m) or 1/(kg m^2)].

        Of a model with prescribed coordinates it is the inverse for the others, with zeros for those. The time grows
        with nv^2.

        References
        ----------
        Featherstone 2008, ch. 7; Carpentier 2018, "Analytical inverse of the joint space inertia matrix".
        """
        self._require_invertible_mass_matrix(q)
        return dynamics.inverse_mass_matrix(self, q)

    @functools.partial(of_states, made=dynamics.RneaDerivatives)
    @in_coordinates("matrix", "matrix", "matrix")
    def rnea_derivatives(self, q: Any, v: Any, a: Any) -> dynamics.RneaDerivatives:
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
        return dynamics.rnea_derivatives(self, q, v, a)

    @functools.partial(of_states, made=dynamics.AbaDerivatives)
    @in_coordinates("velocity by q", "velocity by q", "velocity by force", by=dense.aba_derivatives)
    def aba_derivatives(self, q: Any, v: Any, tau: Any) -> dynamics.AbaDerivatives:
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
        return dynamics.aba_derivatives(self, q, v, tau)

    @on_stacks
    @finite_result
    @in_coordinates("velocity by q", "velocity by q", "velocity by force")
    def forward_dynamics_derivatives(
        self,
        q: Any,
        v: Any,
        tau: Any = None,
        *,
        t: float = 0.0,
        inputs: ArrayLike | Mapping[str, float] | None = None,
        prescribed: Mapping[str, float] | None = None,
    ) -> dynamics.AbaDerivatives:
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
        return dynamics.forward_dynamics_derivatives(self, q, v, tau, more)

    @of_states
    def velocity_from_momentum(self, q: Any, p: Any) -> np.ndarray:
        """Return the velocity v = M(q)^-1 p, (..., nv) [m/s or rad/s]."""
        self._require_invertible_mass_matrix(q)
        return self._velocities(as_rows(q), as_rows(p)).reshape(p.shape)

    @of_states
    def kinetic_energy(self, q: Any, v: Any) -> Any:
        """Return the kinetic energy [J], that of the rotors (``armature``) with it; an array (...) of many states."""
        return plain_number(self._energies_at(q, v)[..., 0])

    @of_states
    def potential_energy(self, q: Any) -> Any:
        """Return the potential energy [J]: gravity's, zero with all mass at the world's origin, and that of springs.

        Springs are those of loads, and those of contacts with a ``stiffness`` k where they are pressed: k gap^2/2. It
        is an array (...) of many states.
        """
        return plain_number(self._energies_at(q, None)[..., 1])

    @of_states
    def momentum(self, q: Any, v: Any) -> np.ndarray:
        """Return the momentum (..., 6): angular about the world's origin [kg m^2/s], linear [kg m/s]; world axes.

        That of the bodies: rotors (``armature``) have no part in it.
        """
        return np.ascontiguousarray(self._energies_at(q, v)[..., 2:8])

    def _energies_at(self, q: np.ndarray, v: np.ndarray | None) -> np.ndarray:
        lead = q.shape[:-1]
        v = np.broadcast_to(self.zero_velocity(), (*lead, self.nv)) if v is None else v
        return self._energies(as_rows(q), as_rows(v)).reshape(*lead, 11)

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
        return self._constrained_velocities(q[None], self._momenta(q[None], v[None]), v[None])[0]

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

    # ---- many states at once, in lanes -----------------------------------------------------------

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

    @in_coordinates("velocity", by=dense.velocities)
    def _velocities(self, q: np.ndarray, p: np.ndarray) -> np.ndarray:
        out, zero = np.empty((len(q), self.nv)), np.zeros((len(q), self.nv))
        wide().batch_aba(self.core, np.zeros(3), q, zero, p, out)
        return out

    @property
    def full(self) -> Model:
        """The model with a coordinate for each joint: this one, unless :meth:`reduced` made it."""
        return self

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

    def reduced(self) -> Any:
        """Return the same mechanism without coordinates for joints that follow others.

        Each :class:`vitree.Coupling` between two joints (:func:`vitree.gear`, a URDF's mimic) is solved for the
        first of them, which then has no coordinate. Other constraints stay.

        Returns
        -------
        ReducedModel
            With ``full``, this model; ``expand(q)`` gives the coordinates of all joints.

        Raises
        ------
        ModelError
            If a joint follows two others, or joints follow each other in a circle.
        """
        return self._kinds["reduced"](self) if self._followers is None else self

    def euler(self) -> Any:
        """Return the same robot with ball and free joints expanded into one-coordinate primitives.

        Returns
        -------
        EulerModel
            Ball joints as rz ry rx, free joints as tx ty tz rz ry rx, as Johnson & Murphey (2009)
            have it; ``from_native(q, v)`` and ``to_native(q, v)`` carry states both ways. Limits of speed and effort
            of these joints are in body axes, and left out; ``report`` names the joints that had some.

        Raises
        ------
        ModelError
            If a ball or free joint is damped in a way that Euler angles do not have.
        """
        return self._kinds["euler" if self._followers is None else "reduced euler"](self)
