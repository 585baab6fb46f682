"""From flat arrays back to frames: the tree of a model that was read or changed."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from vitree.errors import ModelError
from vitree.mechanism.flat import BALL, FREE, KIND_NV, KINDS, PRISMATIC, Flat, JointInfo
from vitree.spatial.rotations import turn_z_to
from vitree.tree.elements import Body, Coordinate, Fixed
from vitree.tree.frames import Frame

#: Differences of arrays that are rounding errors, as shares of their largest numbers.
ROUNDING = 1e-12
#: Arrays that a rebuilt tree must give.
_SAME = ("kind", "parent", "kinematic", "E", "p", "pitch", "mass", "com", "inertia", "damping", "friction",
         "friction_velocity", "dry_friction", "limit_restitution", "armature")  # fmt: skip


class _Place(NamedTuple):
    """A frame of the new tree, with its pose in the core frame of its body."""

    frame: Frame
    R: np.ndarray
    p: np.ndarray


def rebuild(world: Frame, flat: Flat) -> None:
    """Add the joints, links and frames of flat arrays below the root of an empty tree.

    Constant transforms that carry no name are merged. Numbers are those of the arrays but for rounding errors of
    poses. Joints stand in the order of the arrays.

    Parameters
    ----------
    world : Frame
    flat : Flat
    """
    _Rebuilt(world, flat).add_all()


class _Rebuilt:
    def __init__(self, world: Frame, flat: Flat):
        self.flat, self.world = flat, _Place(world, np.eye(3), np.zeros(3))
        self.links = {name: k for k, name in enumerate(flat.link_names)}
        self.at = {name: k for k, name in enumerate(flat.frame_names)}
        self.shapes: dict[str, list[object]] = {}
        for shape in flat.geometry:
            self.shapes.setdefault(shape.frame, []).append(shape)
        self.parts = dict(flat.parts)
        #: whether the tree of all transforms is known
        self.known = bool(flat.body_at) and len(flat.frame_at) == len(flat.frame_names)
        #: frames by names, by numbers of transforms, and those of the joints of bodies
        self.named: dict[str, _Place] = {}
        self.numbered: dict[int, _Place] = {}
        self.joints: dict[int, _Place] = {}
        first = np.cumsum(KIND_NV[flat.kind]) - KIND_NV[flat.kind]
        #: the joint of each body, and which of its coordinates moves the body
        self.joint_of: list[tuple[JointInfo, int]] = []
        for body, v in enumerate(first.tolist()):
            joint = next((one for one in flat.joints if one.v_slice.start <= v < one.v_slice.stop), None)
            if joint is None:
                raise _different(flat, "joints")
            self.joint_of.append((joint, sum(k >= joint.v_slice.start for k in first[:body].tolist())))
        self.first = first
        self.names = [self._coordinate_name(body) for body in range(len(flat.kind))]

    def _coordinate_name(self, body: int) -> str:
        """The name of a body's coordinate: that of the joint, or of a frame where the body's joint stands."""
        joint, k = self.joint_of[body]
        if joint.v_slice.stop - joint.v_slice.start == KIND_NV[self.flat.kind[body]]:
            return joint.name
        for name, at in zip(self.flat.frame_names, self.flat.frame_at, strict=False):
            if self.known and at == self.flat.body_at[body] and name not in self.links and name != joint.name:
                return name
        return f"{joint.name}_{k}"

    def add_all(self) -> None:
        """Add all in the order in which the first tree had it, where that is known; parents come first."""
        flat, known = self.flat, self.known
        coordinates = {*self.names, *(joint.name for joint, _ in self.joint_of)} - {*self.links}
        order = [(flat.body_at[body] if known else body, 0, body, "") for body in range(len(flat.kind))]
        for name, k in self.at.items():
            if name not in coordinates:
                order.append((flat.frame_at[k] if known else int(flat.frame_body[k]), 1, int(flat.frame_body[k]), name))
        # links that others hang on come before these
        rank = {name: k for k, name in enumerate(flat.link_names)}
        for _, frames, body, name in sorted(order, key=lambda x: (*x[:2], rank.get(x[3], len(rank)))):
            if frames:
                self._add_frame(name, body)
            else:
                self._add_joint(body)

    def _joint_place(self, body: int) -> _Place:
        return self.world if body < 0 else self.joints[body]

    def _above(self, number: int, link: str | None, body: int) -> _Place:
        """The last frame above a transform that stands already; else that of a link, if it is of the body."""
        while self.known and number >= 0:
            number = self.flat.above[number]
            if number in self.numbered:
                return self.numbered[number]
        if self.known:
            return self.world
        here = self.named.get(link) if link is not None else None
        if here is not None and self.flat.frame_body[self.at[link or ""]] == body:
            return here
        return self._joint_place(body)

    def _fixed(self, above: _Place, R: np.ndarray, p: np.ndarray, name: str | None = None) -> Fixed:
        """The constant transform from a frame to a pose in the core frame of its body."""
        turn, moved = above.R.T @ R, above.R.T @ (p - above.p)
        return Fixed(name, None if np.array_equal(turn, np.eye(3)) else turn, tuple(moved.tolist()))

    def _add_frame(self, name: str, body: int) -> None:
        flat, k = self.flat, self.at[name]
        R, p = flat.frame_E[k], flat.frame_p[k]
        shapes = tuple(self.shapes.get(name, ()))
        if name in self.links:
            j = self.links[name]
            own = Body(name, flat.link_mass[j], tuple(flat.link_com[j]), flat.link_inertia[j], shapes)  # type: ignore[arg-type]
            parent = flat.link_parent[j]
        else:
            own = Body(name, inertia=np.zeros((3, 3)), geometry=shapes, scenery=True)  # type: ignore[arg-type]
            parent = None
        number = flat.frame_at[k] if self.known else -1
        above = self._above(number, parent, body)
        if name in self.links and number in self.numbered and not self.numbered[number].frame.bodies:
            made = self.numbered[number].frame.add(own)
        elif name in self.links or shapes:
            made = above.frame.add(self._fixed(above, R, p), own)
        else:
            made = above.frame.add(self._fixed(above, R, p, name))
        made.part = self.parts.get(name, made.part)
        self.named[name] = _Place(made, R, p)
        if self.known:
            self.numbered[number] = self.named[name]

    def _add_joint(self, first: int) -> None:
        """Add the coordinates of a joint, of which the body ``first`` is that of the first one."""
        flat = self.flat
        joint, k = self.joint_of[first]
        if k:
            return  # they are one chain
        bodies = [first]
        while bodies[-1] + 1 < len(flat.kind) and self.joint_of[bodies[-1] + 1][0] is joint:
            bodies.append(bodies[-1] + 1)
        poses = [self._joint_pose(body) for body in bodies]
        number = flat.body_at[first] if self.known else -1
        above, (R, p) = self._above(number, joint.parent, int(flat.parent[first])), poses[0]
        start = self._fixed(above, flat.E[first] @ R, flat.p[first] + flat.E[first] @ p)
        chain = [self._coordinate(*each, len(bodies) > 1) for each in zip(bodies, poses, strict=True)]
        made = above.frame.add(start, *chain)
        for body, pose in zip(reversed(bodies), reversed(poses), strict=True):
            self.joints[body] = _Place(made, *pose)
            if self.known:
                self.numbered[flat.body_at[body]] = self.joints[body]
            assert made.parent is not None
            made = made.parent

    def _joint_pose(self, body: int) -> tuple[np.ndarray, np.ndarray]:
        """The pose of a joint's own frame in the core frame, which has the axis along z.

        Where a link has the joint's name, it is a frame whose origin is on the axis.
        """
        flat, (joint, _) = self.flat, self.joint_of[body]
        for own in (self.names[body], joint.name):
            if own in self.at and own not in self.links and flat.frame_body[self.at[own]] == body:
                return flat.frame_E[self.at[own]], flat.frame_p[self.at[own]]
        return np.eye(3) if joint.axis is None else turn_z_to(joint.axis).T, np.zeros(3)

    def _coordinate(self, body: int, pose: tuple[np.ndarray, np.ndarray], several: bool) -> Coordinate:
        flat, (joint, _) = self.flat, self.joint_of[body]
        kind, (R, p) = int(flat.kind[body]), pose
        twist = axis = None
        if kind not in (BALL, FREE):
            along = R.T[:, 2] if joint.axis is None else np.asarray(joint.axis)
            axis = tuple(along.tolist())
            moving = along if kind == PRISMATIC else np.cross(-R.T @ p, along) + flat.pitch[body] * along
            twist = (*(np.zeros(3) if kind == PRISMATIC else along).tolist(), *moving.tolist())
        v = slice(self.first[body], self.first[body] + KIND_NV[kind])
        numbers = {field: getattr(flat, field)[v] for field in (
            "damping", "friction", "friction_velocity", "dry_friction", "limit_restitution", "armature")}  # fmt: skip
        own = slice(v.start - joint.v_slice.start, v.stop - joint.v_slice.start)
        limits = {what: getattr(joint, what)[own] for what in ("lower", "upper", "velocity", "effort")}
        return Coordinate(
            self.names[body], KINDS[kind] if twist is None else "screw", twist, axis, **numbers, **limits,
            joint=joint.name if several else None, joint_kind=joint.kind if several else None, mimic=joint.mimic,
            kinematic=bool(flat.kinematic[v].any()),
        )  # fmt: skip


def require_same(flat: Flat, made: Flat) -> None:
    """Raise a ModelError that names what differs between two mechanisms beyond rounding errors."""
    for name in ("link_names", "link_parent", "geometry"):
        if len(getattr(flat, name)) != len(getattr(made, name)):
            raise _different(flat, name)
    if {*flat.frame_names} != {*made.frame_names}:
        raise _different(flat, "frame_names")
    if [(x.name, x.q_slice, x.v_slice) for x in flat.joints] != [(x.name, x.q_slice, x.v_slice) for x in made.joints]:
        raise _different(flat, "joints")
    order = [made.frame_names.index(name) for name in flat.frame_names]
    pairs = [(name, getattr(flat, name), getattr(made, name)) for name in _SAME]
    pairs += [(name, getattr(flat, name), getattr(made, name)[order]) for name in ("frame_body", "frame_E", "frame_p")]
    for name, x, y in pairs:
        if x.shape != y.shape or np.abs(np.subtract(x, y, dtype=float)).max(initial=0.0) > ROUNDING * max(
                1.0, np.abs(x).max(initial=0.0)):  # fmt: skip
            raise _different(flat, name)


def _different(flat: Flat, name: str) -> ModelError:
    return ModelError(
        f'"{flat.name}" has no tree: the {name} of its arrays are not those of named joints, links and frames. Keep '
        "the tree that the model was compiled from"
    )
