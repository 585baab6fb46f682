"""The flat arrays to which a tree is compiled: the contract between ``tree`` and ``model``."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields
from typing import Any

import numpy as np

from vitree.arguments import Keywords, of_kind, several, shown, told
from vitree.errors import ModelError, UnknownNameError
from vitree.findings import Report
from vitree.mechanism.constraints import followers_of
from vitree.mechanism.contacts import LIMITS, Contact, Ground, NoContact, RollingConstraint
from vitree.mechanism.unilateral import BallLimit, Rope
from vitree.spatial.checks import array, frozen

#: Joint kinds of the compiled core, in the order of the codes in ``_core/types.pxd``.
KINDS = ("revolute", "prismatic", "helical", "ball", "free")
REVOLUTE, PRISMATIC, HELICAL, BALL, FREE = range(5)

#: Entries of q and of v per joint kind.
KIND_NQ = np.array([1, 1, 1, 4, 7])
KIND_NV = np.array([1, 1, 1, 3, 6])
#: The joints of several coordinates: kind to names of the entries of q and of v.
SEVERAL = {
    "ball": ("qx qy qz qw", "wx wy wz"),
    "free": ("x y z qx qy qz qw", "vx vy vz wx wy wz"),
}
#: The default of the speed below which friction is linear in the velocity [m/s or rad/s].
FRICTION_VELOCITY = 0.01


@dataclass(frozen=True)
class JointInfo:
    """The description of a named joint (one or more consecutive moving bodies).

    Attributes
    ----------
    name, kind : str
        ``kind`` is the word of the modelling language: "revolute", "prismatic", "helical",
        "ball", "free", or a lower pair made of several ("planar", "universal", "cylindrical").
    parent, child : str
        Names of the links (or frames) that the joint connects.
    q_slice, v_slice : slice
        The places of its coordinates in q and v.
    axis : tuple of float or None
        Direction in the joint's frame, for one-coordinate joints.
    lower, upper : (nv of the joint,) tuples
        Position limits, -inf and inf where there are none [m or rad].
    velocity, effort : tuples
        Limits of speed [m/s or rad/s] and effort [N or N m], inf where there are none.
    mimic : (joint name, multiplier, offset) or None
        For a follower, as in the file; kept as data.
    """

    name: str
    kind: str
    parent: str
    child: str
    q_slice: slice
    v_slice: slice
    axis: tuple[float, ...] | None = None
    lower: tuple[float, ...] = ()
    upper: tuple[float, ...] = ()
    velocity: tuple[float, ...] = ()
    effort: tuple[float, ...] = ()
    mimic: tuple[str, float, float] | None = None


def smooth_sign(v: np.ndarray, speed: float | np.ndarray) -> np.ndarray:
    """Return v / sqrt(v^2 + speed^2), the direction of friction, smooth below a speed."""
    found: np.ndarray = v / np.sqrt(v**2 + speed**2)
    return found


def smooth_sign_slope(v: np.ndarray, speed: np.ndarray) -> np.ndarray:
    """Return the derivatives of :func:`smooth_sign` by v."""
    found: np.ndarray = speed**2 / (v**2 + speed**2) ** 1.5
    return found


def limits_of(
    joints: Iterable[JointInfo], constraints: Iterable[object]
) -> Iterator[tuple[JointInfo, int, int, float, float]]:
    """Yield joint, places in q and v, lower and upper limit [m or rad] of each coordinate that has one at least.

    The limits of a joint that follows another without a coordinate of its own are those that they put on the leader's
    coordinate. A limit of a follower that the leader's own limits imply is left out. Joints whose coordinates are
    quaternions have no limits.
    """
    named = {joint.name: joint for joint in joints}
    follow = followers_of(constraints)
    for joint in named.values():
        q, v = joint.q_slice, joint.v_slice
        if q.stop - q.start != v.stop - v.start or len(joint.lower) != q.stop - q.start:
            continue
        leader = named.get(joint.mimic[0]) if joint.mimic is not None else None
        shares = leader is not None and leader.v_slice.start == v.start
        for k, (low, high) in enumerate(zip(joint.lower, joint.upper, strict=True)):
            if leader is not None and (shares or joint.name in follow):
                low, high = _of_follower(joint, leader, shares, low, high)
            if low > -np.inf or high < np.inf:
                yield joint, q.start + k, v.start + k, low, high


def _of_follower(
    joint: JointInfo, leader: JointInfo, shares: bool, low: float, high: float
) -> tuple[float, float]:
    """Return the limits of a follower that are tighter than the leader's; of the leader's coordinate if shared."""
    _, gain, offset = joint.mimic or ("", 1.0, 0.0)
    if gain == 0.0:
        return (-np.inf, np.inf) if shares else (low, high)
    ends = [(x - offset) / gain for x in ((low, high) if gain > 0 else (high, low))]
    least, most = (*leader.lower, *leader.upper) if len(leader.lower) == 1 else (-np.inf, np.inf)
    slack = 1e-9 * max(1.0, *(abs(x) for x in (least, most) if np.isfinite(x)), 0.0)
    if ends[0] <= least + slack:
        ends[0] = -np.inf
    if ends[1] >= most - slack:
        ends[1] = np.inf
    if shares:
        return ends[0], ends[1]
    kept = [bool(np.isfinite(x)) for x in (ends if gain > 0 else ends[::-1])]
    return low if kept[0] else -np.inf, high if kept[1] else np.inf


@dataclass(frozen=True)
class Geometry:
    """A shape fixed to a frame, for viewers; the dynamics do not depend on it.

    Parameters
    ----------
    frame : str
        Name of the frame.
    kind : {"box", "cylinder", "sphere", "capsule", "mesh", "surface"}
    size : tuple of float
        Three edges [m] of a box; radius and length along z [m] of a cylinder or capsule; radius [m] of a sphere;
        scale of a mesh along its axes [-]; x, y, z [m] of all vertices of a surface of triangles.
    rotation : (3, 3) array
        Rotation of the shape in the frame.
    position : (3,) array
        Its origin in the frame [m].
    filename : str, optional
        Of a mesh.
    rgba : tuple of float, optional
        Colour, four shares from 0 to 1.
    role : {"visual", "collision"}
    found : bool
        False for a mesh whose file does not exist or may not be opened: do not open it.
    texture : str, optional
        File of an image for a mesh that has texture coordinates.
    faces : tuple of int
        The triangles of a surface, three vertices each.
    """

    frame: str
    kind: str
    size: tuple[float, ...]
    rotation: np.ndarray
    position: np.ndarray
    filename: str | None = None
    rgba: tuple[float, ...] | None = None
    role: str = "visual"
    found: bool = True
    texture: str | None = None
    faces: tuple[int, ...] = ()

    def __post_init__(self) -> None:
        _freeze(self)

    def __setstate__(self, state: dict[str, object]) -> None:
        vars(self).update(state)
        _freeze(self)


#: Parts of several kinds, also of a user's own.
Parts = tuple[Any, ...]


@dataclass(frozen=True)
class Flat:
    """A mechanism as flat arrays, topologically ordered (parents before children).

    Body i is the rigid cluster that moves with joint i. Its *core frame* sits at the joint, turned
    so that a one-coordinate joint's axis is local z (a helical joint's frame is on its axis). At
    q = 0 the core frame is at rotation ``E[i]``, position ``p[i]`` in the parent's core frame
    (world for parent -1). The joint then moves it: revolute Rz(q); prismatic z q; helical Rz(q) and
    z pitch q; ball R(quaternion); free position and quaternion, both as (x, y, z, w), where for
    free ``E`` is the identity and ``p`` zero unless the parent is a moving body.

    All lengths in m, masses in kg, inertias in kg m^2. The arrays are copies of those given, and read-only.
    """

    name: str
    gravity: np.ndarray  # (3,) [m/s^2], world
    kind: np.ndarray  # (nbody,) int32, codes of KINDS
    parent: np.ndarray  # (nbody,) int32
    E: np.ndarray  # (nbody, 3, 3) columns = axes of the core frame in the parent's, at q = 0
    p: np.ndarray  # (nbody, 3)
    pitch: np.ndarray  # (nbody,) [m/rad], zero unless helical
    mass: np.ndarray  # (nbody,)
    com: np.ndarray  # (nbody, 3) in the core frame (zero where mass is zero)
    inertia: np.ndarray  # (nbody, 3, 3) about the COM, axes of the core frame
    damping: np.ndarray  # (nv,) [N s/m or N m s/rad]
    kinematic: np.ndarray  # (nv,) bool: prescribed over time, not solved for
    # Coulomb friction, of joints of one coordinate: -friction v/sqrt(v^2 + friction_velocity^2)
    friction: np.ndarray = None  # type: ignore[assignment]  # (nv,) [N or N m], zero if not given
    friction_velocity: np.ndarray = None  # type: ignore[assignment]  # (nv,) [m/s or rad/s], FRICTION_VELOCITY if not
    # Dry friction of joints of one coordinate: they stand until more than that acts on them
    dry_friction: np.ndarray = None  # type: ignore[assignment]  # (nv,) [N or N m], zero if not given
    # Restitution of enforced limits of joints of one coordinate
    limit_restitution: np.ndarray = None  # type: ignore[assignment]  # (nv,) [-], from 0 to 1, zero if not given
    # Inertia of the rotors of joints of one coordinate, times the square of their gear ratio
    armature: np.ndarray = None  # type: ignore[assignment]  # (nv,) [kg or kg m^2], zero if not given
    # Named frames (links, joints and user frames): body index (-1: world) and place in its core frame
    frame_names: tuple[str, ...] = ()
    frame_body: np.ndarray = field(default_factory=lambda: np.zeros(0, np.int32))
    frame_E: np.ndarray = field(default_factory=lambda: np.zeros((0, 3, 3)))
    frame_p: np.ndarray = field(default_factory=lambda: np.zeros((0, 3)))
    # For people
    link_names: tuple[str, ...] = ()  # those frames that carry a body
    link_parent: tuple[str | None, ...] = ()  # name of the parent link, None for a root
    link_mass: tuple[float, ...] = ()  # as declared, before merging
    link_com: tuple[Any, ...] = ()  # (3,) each, in the link's frame
    link_inertia: tuple[np.ndarray, ...] = ()  # (3, 3) each, about the COM, axes of the link's frame
    # The tree of all transforms, where it is known: each transform's parent (-1: the world), and which ones frames and
    # bodies stand at; bodies move with the last transform of theirs
    above: tuple[int, ...] = ()
    frame_at: tuple[int, ...] = ()
    body_at: tuple[int, ...] = ()
    joints: tuple[JointInfo, ...] = ()
    geometry: tuple[Geometry, ...] = ()
    constraints: Parts = ()  # of mechanism.constraints
    loads: Parts = ()  # of mechanism.loads
    contacts: Parts = ()  # of mechanism.contacts: Contact and NoContact
    ground: Ground | None = None
    limits: str = LIMITS[0]  # how limits of joints are treated
    velocity_limits: str = LIMITS[0]  # and those of their velocities
    rolling: tuple[RollingConstraint, ...] = ()  # of mechanism.rolling
    unilateral: tuple[Rope | BallLimit, ...] = ()  # of mechanism.unilateral
    report: Report = field(default_factory=Report)  # findings and changes of a reader
    start: tuple[tuple[str, tuple[float, ...]], ...] = ()  # coordinates of joints where runs start; others are neutral
    # frames with contacts that are of a part which was attached to the world, and the number of the part
    parts: tuple[tuple[str, int], ...] = ()

    def __post_init__(self) -> None:
        for name, value in (("friction", 0.0), ("friction_velocity", FRICTION_VELOCITY), ("armature", 0.0),
                            ("dry_friction", 0.0), ("limit_restitution", 0.0)):  # fmt: skip
            if getattr(self, name) is None:
                object.__setattr__(self, name, np.full(_rows(self.damping, "damping"), value))
        vars(self).update(_sound_arrays(self))
        for name in _TUPLES:
            object.__setattr__(self, name, several(getattr(self, name), name, "a sequence"))
        of_kind(self.name, str, "name", "a text")
        of_kind(self.report, Report, "report", "a Report")
        for joint in self.joints:
            of_kind(joint, JointInfo, "joints", "a sequence of JointInfo")
            prescribed = self.kinematic[joint.v_slice]
            if len(prescribed) > 1 and prescribed.any():
                raise ModelError(f'"{joint.name}" cannot be prescribed: only joints of one coordinate can')
        for shape in self.geometry:
            of_kind(shape, Geometry, "geometry", "a sequence of Geometry")
        for contact in self.contacts:
            of_kind(contact, (Contact, NoContact), "contacts", "a sequence of Contact and NoContact")
        for each in self.rolling:
            of_kind(each, RollingConstraint, "rolling", "a sequence of RollingConstraint")
        for one in self.unilateral:
            of_kind(one, (Rope, BallLimit), "unilateral", "a sequence of Rope and BallLimit")
        of_kind(self.ground, (Ground, type(None)), "ground", "a Ground, such as vt.Ground(friction=0.8), or None")
        _require_start(self)
        for name in ("limits", "velocity_limits"):
            if getattr(self, name) not in LIMITS:
                words = ", ".join(f'"{word}"' for word in LIMITS)
                raise ModelError(f"{name} is {shown(getattr(self, name))}; choose from {words}")
        if not len(self.link_names) == len(self.link_parent) == len(self.link_mass) == len(self.link_com) == len(
                self.link_inertia):  # fmt: skip
            raise ModelError("link_names, link_parent, link_mass, link_com and link_inertia must have as many entries")
        _require_links(self, _OF_LINKS)
        for name in ("frame_names", "link_names", "link_parent"):
            nothing = type(None) if name == "link_parent" else str
            if not all(issubclass(kind, str | nothing) for kind in {*map(type, getattr(self, name))}):
                raise ModelError(f"{name} is {shown(getattr(self, name))}; names must be texts")
        if len(self.frame_names) != len(self.frame_body):
            raise ModelError(f"{len(self.frame_names)} frame_names are of {len(self.frame_body)} frames")
        _freeze(self)

    def __setstate__(self, state: dict[str, object]) -> None:
        vars(self).update(state)
        _freeze(self)


def with_numbers(flat: Flat, changed: Mapping[str, object]) -> Flat:
    """Return a mechanism with other arrays, links' numbers and loads, which are checked; all else stays as it is.

    Raises a ModelError if an array cannot be what it says.
    """
    made: Flat = object.__new__(Flat)
    vars(made).update(vars(flat))
    vars(made).update({name: several(value, name, "a sequence") if name in _TUPLES else value
                       for name, value in changed.items()})  # fmt: skip
    vars(made).update(_sound_arrays(made, changed))
    _require_links(made, changed)
    vars(made).update({name: frozen(getattr(made, name)) for name in changed})
    return made


def same(one: Flat, other: Flat, names: Iterable[str]) -> bool:
    """Return whether two mechanisms have the same bits in some arrays."""
    return all(
        getattr(one, name) is getattr(other, name) or getattr(one, name).tobytes() == getattr(other, name).tobytes()
        for name in names
    )


#: Fields of a Flat that are zero or more, and zero where nothing is given.
_ZERO_OR_MORE = ("armature", "dry_friction", "limit_restitution")
#: Fields of a Flat that are no arrays, but sequences.
_TUPLES = ("frame_names", "link_names", "link_parent", "link_mass", "link_com", "link_inertia", "joints", "geometry",
           "constraints", "loads", "contacts", "rolling", "unilateral")  # fmt: skip


def _sound_arrays(flat: Flat, changed: Collection[str] | None = None) -> dict[str, np.ndarray]:
    """Return the arrays of a mechanism with their types, or raise a ModelError: the core reads them as they say.

    Of those that are named, if names are given: the others are sound.
    """
    n, nv, frames = (_rows(getattr(flat, name), name) for name in ("kind", "damping", "frame_body"))
    shapes = {
        "gravity": (3,), "kind": n, "parent": n, "E": (*n, 3, 3), "p": (*n, 3), "pitch": n, "mass": n, "com": (*n, 3),
        "inertia": (*n, 3, 3), "damping": nv, "kinematic": nv, "friction": nv, "friction_velocity": nv,
        "armature": nv, "dry_friction": nv, "limit_restitution": nv,
        "frame_body": frames, "frame_E": (*frames, 3, 3), "frame_p": (*frames, 3),
    }  # fmt: skip
    found = {}
    for name, shape in shapes.items():
        given = getattr(flat, name)
        if changed is not None and name not in changed:
            found[name] = given
            continue
        kind = {"kinematic": "b", "kind": "iu", "parent": "iu", "frame_body": "iu"}.get(name, "")
        if kind and not (isinstance(given, np.ndarray) and (given.dtype.kind in kind or not given.size)):
            raise ModelError(f"{name} is {shown(given)}; it must be an array of {_WORDS[kind]}")
        x = given if kind == "b" else array(given, shape, name)
        if x.shape != shape:
            raise ModelError(f"{name} has shape {x.shape}; it must be {shape}")
        found[name] = x if not kind else np.clip(x, -2, _MOST).astype(bool if kind == "b" else np.int32)
    bodies = np.arange(len(found["kind"]))
    for name, low, high in (("kind", 0, len(KINDS)), ("parent", -1, bodies), ("frame_body", -1, len(bodies))):
        if not ((low <= found[name]) & (found[name] < high)).all():
            raise ModelError(f"{name} has numbers out of range: a body comes after its parent, and the world is -1")
    starts = np.repeat(found["kind"], KIND_NV[found["kind"]])
    for name, word in (
        ("friction", "have no friction; set it to zero"),
        ("armature", "have no armature; set it to zero"),
        ("dry_friction", "have no dry friction; set it to zero"),
        ("limit_restitution", "have no limits, nor a restitution of these; set it to zero"),
        ("kinematic", "cannot be prescribed"),
    ):
        if len(starts) == len(found[name]) and found[name][(starts == BALL) | (starts == FREE)].any():
            raise ModelError(f"ball and free joints {word}")
    for name in _ZERO_OR_MORE:
        if not (np.isfinite(found[name]) & (found[name] >= 0)).all():
            raise ModelError(f"{name} has negative numbers, or ones that are not finite; it must be zero or more")
    if (found["limit_restitution"] > 1).any():
        raise ModelError("limit_restitution has numbers above 1; it must be from 0 to 1")
    return found


def _require_links(flat: Flat, names: Collection[str]) -> None:
    """Raise a ModelError if numbers of links that are named have a wrong shape or are not finite."""
    for name, axes in _OF_LINKS.items() if flat.link_names else ():
        if name not in names:
            continue
        given = getattr(flat, name)
        x = array(given, (len(flat.link_names), *axes), name)
        if not all(type(part) in (float, tuple, np.ndarray) for part in given):
            object.__setattr__(flat, name, tuple(x if axes else x.tolist()))


def _require_start(flat: Flat) -> None:
    """Raise an error if the start names no joint, or has other than a finite number for each coordinate of one.

    Joints that follow others have their coordinates in a mechanism of which they are no longer a part.
    """
    if not flat.start:
        return
    joints = {joint.name: joint.q_slice.stop - joint.q_slice.start for joint in flat.joints}
    for name, values in flat.start:
        if name not in joints:
            raise UnknownNameError("joint of the start", name, joints)
        if len(values) != joints[name] or not np.isfinite(values).all():
            raise ModelError(f'the start of "{name}" is {shown(values)}; it must be {joints[name]} finite number(s)')


def _rows(value: object, name: str) -> tuple[int, ...]:
    """Return the first axis of the shape of an array."""
    try:
        return np.asarray(value).shape[:1]
    except Exception as error:  # whatever the value's own methods raise
        raise ModelError(f"{name} is {shown(value)}; it must be an array: {told(error)}") from None


#: Numbers of links, with the shape of one.
_OF_LINKS: dict[str, tuple[int, ...]] = {"link_mass": (), "link_com": (3,), "link_inertia": (3, 3)}
_WORDS = {"b": "truth values", "iu": "whole numbers"}
#: The largest whole number of the arrays.
_MOST = np.iinfo(np.int32).max


def _freeze(x: Flat | Geometry) -> None:
    """Make the arrays of a dataclass read-only copies; pickles do not remember that arrays are read-only."""
    values = vars(x)
    for name, value in values.items():
        values[name] = frozen(value)


def start_of(flat: Flat) -> np.ndarray:
    """Return the configuration (nq,) [m or rad] of the start: as given by joints, and neutral elsewhere."""
    sizes = KIND_NQ[flat.kind]
    ends = np.cumsum(sizes)
    q = np.zeros(int(ends[-1]) if len(ends) else 0)
    q[ends[sizes > 1] - 1] = 1.0  # the last entry of a quaternion
    places = {joint.name: joint.q_slice for joint in flat.joints} if flat.start else {}
    for name, values in flat.start:
        q[places[name]] = values
    return q


@dataclass(eq=False, repr=False)
class Row:
    """One body of a :class:`Flat`, before there are arrays: the fields of that name, and one entry a velocity of it."""

    kind: int
    parent: int
    E: np.ndarray
    p: np.ndarray
    pitch: float
    damping: Iterable[float]
    friction: Iterable[float]
    friction_velocity: Iterable[float]
    armature: Iterable[float]
    dry_friction: Iterable[float]
    limit_restitution: Iterable[float]
    kinematic: Iterable[bool]
    mass: float = 0.0
    com: np.ndarray = field(default_factory=lambda: np.zeros(3))
    inertia: np.ndarray = field(default_factory=lambda: np.zeros((3, 3)))


#: Fields of a Row that have an entry for each velocity.
_OF_VELOCITIES = ("damping", "friction", "friction_velocity", "armature", "dry_friction", "limit_restitution",
                  "kinematic")  # fmt: skip


def columns_of(rows: Sequence[Row]) -> Keywords:
    """Return the arrays of a :class:`Flat` that have a row for each body or each of its velocities."""
    columns = {f.name: [getattr(row, f.name) for row in rows] for f in fields(Row)}
    for name in _OF_VELOCITIES:
        columns[name] = [entry for entries in columns[name] for entry in entries]
    types = {"kind": np.int32, "parent": np.int32}
    return {name: np.array(column, types.get(name)) for name, column in columns.items()}
