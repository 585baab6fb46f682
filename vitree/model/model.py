"""Model: a mechanism compiled to flat arrays, and the same in other coordinates: Euler angles, without followers."""

from __future__ import annotations

import functools
import hashlib
from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from numbers import Real
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from vitree._core import scalar
from vitree._core.types import CoreModel
from vitree.arguments import all_finite, explain_calls, numbers_of, of_kind, plain_scalar, shown, whole
from vitree.errors import InputError, ModelError
from vitree.mechanism.contacts import Friction
from vitree.mechanism.euler import expand, from_euler, to_euler
from vitree.mechanism.flat import Flat, same
from vitree.mechanism.floating import FloatingTree, floating_trees, with_masses
from vitree.mechanism.followers import Followers
from vitree.mechanism.index import Index
from vitree.mechanism.regular import LEAST_ALONE, LEAST_AT, OF_MASS, why_singular
from vitree.model.broadcasting import finite_result
from vitree.model.candidates import require_contacts, wheels_of
from vitree.model.forces import ForceMethods
from vitree.model.lower import lower_drives, lower_loads, of_links, structure_of, unilateral_rows, with_surfaces
from vitree.model.system import set_once
from vitree.model.user_inputs import Mapped, Written, WrittenParts, written_parts
from vitree.model.variants import Cut, Gains, cut_at, varied, with_drives
from vitree.spatial.checks import frozen

#: The kernels for one state at a time.
core = scalar()
#: What methods ask of the model. Compiled code asks its own, and leaves the models alone that have it otherwise.
BYPASSED = ("validate_configuration", "_checked", "require_invertible_mass_matrix", "singular_at", "_regular", "nq",
            "nv", "nbody", "zero_velocity", "_pose_rows", "body_poses", "_frame", "_frame_pose", "crba", "_energies",
            "_energies_at", "_momenta", "_velocities", "_potentials", "_field", "_field_at_rest")  # fmt: skip
#: Fields of a Flat that are the same of all models that differ in numbers alone. Not what may be written in Python.
STILL = ("frame_names", "contacts", "rolling", "unilateral", "ground")
#: Fields of a Flat that are no arrays, and that the dynamics depend on.
_DYNAMIC = ("frame_names", "constraints", "loads", "contacts", "ground", "limits", "velocity_limits", "rolling",
            "unilateral")  # fmt: skip


def _content(x: Any) -> Any:
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


class Model(ForceMethods):
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

    _floating: tuple[FloatingTree, ...]

    def __setattr__(self, name: str, value: object) -> None:
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
        rubs_alike = like is not None and flat.contacts is like.flat.contacts and flat.ground is like.flat.ground
        if like is None:
            self._structure = structure_of(self.index, flat.constraints)
        elif rubs_alike:
            self._structure = like._structure
        else:
            self._structure = with_surfaces(like._structure, like.contact_candidates, flat)
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
        if like is None or not same(like.flat, flat, ("dry_friction",)):
            self._touching = {}
        else:
            self._touching = like._touching if rubs_alike else like._places_that_touch()
        if like is None:
            require_contacts(self.index, flat)
            unilateral_rows(flat)
        if flat.rolling:
            self.wheels = wheels_of(self.index, flat) if like is None else like.wheels
        kind = type(self)
        if all(getattr(kind, name) is getattr(Model, name) for name in BYPASSED):
            places, shares = (flat.frame_body, flat.frame_E, flat.frame_p), (LEAST_AT, LEAST_ALONE)
            open_ones = self._has_contact_springs or self.written is not None or self._loses
            self._calls = core.Calls(self.core, self._frames, places, shares, self.load_list, open_ones)

    #: Names of constraints that others imply, and a run has left out; see ``closures.without_implied``
    _implied: tuple[str, ...] = ()

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
        return ReducedModel(self) if self._followers is None else self

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
        return ReducedEulerModel(self) if isinstance(self, ReducedModel) else EulerModel(self)

    @explain_calls
    def with_drives(
        self, gains: Gains, *, effort_limits: bool = False, target_rates: bool = False
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
        contact_friction: Friction | Mapping[str, Friction] | None = None,
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
        contact_friction : float, (sliding, torsional, rolling), or mapping
            Coefficients [-, m, m] of all contacts and of the ground, or by patterns of frames that may touch and
            "ground", as :meth:`vitree.Simulation.set_friction` takes them.

        Returns
        -------
        Model
            Of the same kind.

        Raises
        ------
        UnknownNameError
            If there is no such link, joint, drive or frame that may touch.
        InputError
            If a number is not finite, or an array has a wrong shape.
        ModelError
            If a mass or a coefficient is negative, or an inertia is impossible.
        """
        given = dict(mass=mass, com=com, inertia=inertia, damping=damping, friction=friction,
                     dry_friction=dry_friction, armature=armature, gravity=gravity, gains=gains,
                     contact_friction=contact_friction)  # fmt: skip
        return self._varied(given)

    def _varied(self, given: Mapping[str, object]) -> Model:
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

    # ---- content ---------------------------------------------------------------------------------

    @property
    def digest(self) -> str:
        """Hash of everything the dynamics depend on, a hexadecimal string."""
        if "_hash" not in vars(self):
            h = hashlib.sha256()
            for field in fields(Flat):
                value = getattr(self.flat, field.name)
                if isinstance(value, np.ndarray):
                    h.update(np.ascontiguousarray(value).tobytes())
                elif field.name in _DYNAMIC or (field.name == "parts" and value):
                    h.update(self._text_of(field.name, value))
            vars(self)["_hash"] = h.hexdigest()
        found: str = vars(self)["_hash"]
        return found

    def _text_of(self, name: str, value: object) -> bytes:
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

    def __reduce__(self) -> tuple[object, ...]:
        return (type(self), (self.flat,))

    def __repr__(self) -> str:
        return (
            f"<vitree.Model {self.name!r}: {self.nbody} moving bodies, nq={self.nq}, nv={self.nv}, "
            f"{self.total_mass:.6g} kg>"
        )

    # ---- what others of vitree find out once -----------------------------------------------------

    def _cut(self, frame: str) -> Cut:
        """The mechanism cut at a frame."""
        found = self._cuts.get(frame)
        return found if found is not None else self._cuts.setdefault(frame, cut_at(self, frame, Model))

    @functools.cached_property
    def _cuts(self) -> dict[str, Cut]:
        return {}

    @functools.cached_property
    def _resolved(self) -> dict[Any, Any]:
        """What sensors found by names, by what they asked for."""
        return {}

    @functools.cached_property
    def _largest_number(self) -> float:
        """The largest |number| of the arrays; NaN if there is one."""
        numbers = [x for x in vars(self.flat).values() if isinstance(x, np.ndarray) and x.dtype == float]
        return float(np.max([np.abs(x).max(initial=0.0) for x in numbers]))


# ---- ball and free joints as primitives of one coordinate -------------------------------------------------------


#: Quaternions shorter than this, or longer than the inverse, have no direction in floating point.
SHORTEST = 1e-70


class EulerModel(Model):
    """A model with ball and free joints expanded into primitives; made by :meth:`vitree.Model.euler`.

    Attributes
    ----------
    native : Model
        The model as it was.
    """

    def __init__(self, native: Model):
        self.native = of_kind(native, Model, "native", "a Model; model.euler() makes one of it")
        super().__init__(expand(native.flat))

    def _written_of(self, loads: tuple[object, ...], constraints: tuple[object, ...]) -> WrittenParts | None:
        # what is written in Python speaks of the native coordinates
        return Mapped(self, loads, constraints) if written_parts(self.native, loads, constraints) else None

    def with_drives(
        self, gains: Gains, *, effort_limits: bool = False, target_rates: bool = False
    ) -> EulerModel:
        return EulerModel(self.native.with_drives(gains, effort_limits=effort_limits, target_rates=target_rates))

    def _varied(self, given: Mapping[str, object]) -> EulerModel:
        return EulerModel(self.native._varied(given))

    def __reduce__(self) -> tuple[object, ...]:
        return (EulerModel, (self.native,))

    @finite_result
    def from_native(self, q: ArrayLike, v: ArrayLike) -> tuple[np.ndarray, np.ndarray]:
        """Return the coordinates and velocities (..., nv) [m or rad, m/s or rad/s] of native q (..., nq), v (..., nv).

        Raises
        ------
        InputError
            If v turns a ball or free joint by yaw where its pitch is +-90 degrees, or a quaternion is zero.
        """
        q, v = _rows(self.native, q, v)
        for at in self.native._quaternions:
            length = np.linalg.norm(q[..., at : at + 4], axis=-1)
            if not ((length > SHORTEST) & (length < 1 / SHORTEST)).all():
                raise InputError(
                    "q", q,
                    f"[..., {at}:{at + 4}] is no quaternion (x, y, z, w): its length is {length.min():g}; it must be "
                    "1: normalise it"
                )
        return to_euler(self.native.flat, q, v)

    @finite_result
    def to_native(self, q: ArrayLike, v: ArrayLike) -> tuple[np.ndarray, np.ndarray]:
        """Return the native configuration and velocity of this model's q (..., nv) [m or rad], v (..., nv)."""
        return from_euler(self.native.flat, *_rows(self, q, v))


def _rows(model: Model, q: ArrayLike, v: ArrayLike) -> tuple[np.ndarray, np.ndarray]:
    """States of a model, one or stacks of them."""
    rows: list[np.ndarray] = []
    for value, size, name in ((q, model.nq, "q"), (v, model.nv, "v")):
        x = numbers_of(value, name)
        if x.shape[-1:] != (size,) or (rows and rows[0].shape[:-1] != x.shape[:-1]):
            raise InputError(f"{name} has shape {x.shape}; it must be (..., {size}), with as many rows of q and v")
        if not all_finite(x):
            raise InputError(f"{name} has NaN or infinity; all entries must be finite")
        rows.append(x)
    return rows[0], rows[1]


# ---- gears and mimic joints reduced: followers without a coordinate of their own --------------------------------


class ReducedModel(Model):
    """A model in the coordinates that its couplings leave; made by :meth:`vitree.Model.reduced`.

    With q' = G q + g the coordinates of all joints, everything follows by the chain rule: the mass matrix
    is G^T M G, inverse dynamics G^T rnea(G q + g, G v, G a), a joint force G^T tau. Its energies, momenta,
    variational steps and accelerations are those of ``full`` with the couplings as constraints.

    Attributes
    ----------
    full : Model
        The model with a coordinate for each joint, and the couplings as constraints.
    """

    _followers: Followers

    def __init__(self, full: Model):
        self._full = of_kind(full, Model, "full", "a Model; model.reduced() makes one of it")
        if full.full is not full:
            raise ModelError(f"{full.name!r} is reduced already; give its model.full")
        self._followers = Followers.of(full.index)
        self._nq, self._nv = len(self._followers.own_q), len(self._followers.own_v)
        self._quaternions = self._followers.lead_q[full._quaternions]
        self.flat = self._followers.flat(full.flat)
        self._gravity = full.gravity.copy()
        self._joints = {joint.name: joint for joint in self.flat.joints}
        self._frames = full._frames
        self.singular = full.singular

    def _remade(self, flat: Flat) -> ReducedModel:
        return ReducedModel(Model(flat))

    def _with_numbers(self, flat: Flat) -> ReducedModel:
        return ReducedModel(self.full._with_numbers(flat))

    # ---- coordinates ------------------------------------------------------------------------------

    @property
    def full(self) -> Model:  # type: ignore[override]  # the model of all joints is of another kind
        return self._full

    def contract(self, q: ArrayLike) -> np.ndarray:
        """Return the coordinates (..., nq) [m or rad] of those that do not follow, of a ``q`` of ``full``."""
        return self._followers.contract(self._wide(q, self.full.nq, "q"))

    def contract_velocity(self, v: ArrayLike) -> np.ndarray:
        """Return the velocities (..., nv) [m/s or rad/s] of those that do not follow, of a ``v`` of ``full``."""
        return self._followers.contract_velocity(self._wide(v, self.full.nv, "v"))

    def contract_force(self, f: ArrayLike, axes: int = 1) -> np.ndarray:
        """Return G^T f, units as of f, along the last axes.

        Parameters
        ----------
        f : (..., nv of ``full``) array
            A force, a momentum or derivatives by coordinates of ``full``, units as they are.
        axes : int
            How many of the last axes go by the coordinates.
        """
        f, count = numbers_of(f, "f"), whole(axes)
        if count is None or not 0 <= count <= f.ndim or f.shape[f.ndim - count :] != (self.full.nv,) * count:
            raise InputError(
                f"f has shape {f.shape} and axes is {shown(axes)}; so many of its last axes must have {self.full.nv} "
                "entries"
            )
        return self._followers.contract_force(f, count)

    @property
    def digest(self) -> str:
        return f"reduced {self.full.digest}"

    def __reduce__(self) -> tuple[object, ...]:
        return (ReducedModel, (self.full,))


class ReducedEulerModel(ReducedModel):
    """A reduced model with ball and free joints expanded; made by :meth:`vitree.Model.euler`."""

    def __init__(self, native: ReducedModel):
        self.native, self._expanded = native, EulerModel(native.full)
        super().__init__(self._expanded)

    def __reduce__(self) -> tuple[object, ...]:
        return (ReducedEulerModel, (self.native,))

    def from_native(self, q: ArrayLike, v: ArrayLike) -> tuple[np.ndarray, np.ndarray]:
        """Like :meth:`vitree.EulerModel.from_native`, in the coordinates that do not follow."""
        q, v = self._expanded.from_native(self.native.expand(q), self.native.expand_velocity(v))
        return self.contract(q), self.contract_velocity(v)

    def to_native(self, q: ArrayLike, v: ArrayLike) -> tuple[np.ndarray, np.ndarray]:
        """Like :meth:`vitree.EulerModel.to_native`, from the coordinates that do not follow."""
        q, v = self._expanded.to_native(self.expand(q), self.expand_velocity(v))
        return self.native.contract(q), self.native.contract_velocity(v)
