"""From the flat arrays of a mechanism to the links and joints of URDF."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from vitree.mechanism.flat import FREE, HELICAL, KIND_NV, PRISMATIC, Flat, JointInfo
from vitree.spatial.rotations import turn_z_to
from vitree.tree.elements import Coordinate
from vitree.tree.pairs import planar

#: Frames nearer than this count as one: in angle, and in lengths relative to the size of the mechanism.
NEAR = 4e-14
#: Endings of the names of coordinates, by the kind of a joint that has several.
PARTS = {"planar": ("x", "y", "theta"), "universal": ("x", "y"), "cylindrical": ("d", "theta")}


@dataclass(frozen=True)
class Pose:
    """A place on a moving body (-1: the world), in its core frame."""

    body: int
    R: np.ndarray
    p: np.ndarray

    def seen_from(self, other: Pose) -> tuple[np.ndarray, np.ndarray]:
        """Rotation and position in the frame of another place on the same body."""
        return other.R.T @ self.R, other.R.T @ (self.p - other.p)


@dataclass
class Joint:
    """A joint of URDF; without ``limits`` (lower, upper, velocity, effort) it is fixed, floating or planar."""

    name: str
    type: str
    parent: str
    child: str
    R: np.ndarray
    p: np.ndarray
    axis: np.ndarray | None = None
    limits: tuple[float, ...] = ()
    damping: float = 0.0
    friction: float = 0.0
    armature: float = 0.0
    mimic: tuple[str, float, float] | None = None


@dataclass
class Link:
    """A link of URDF: its place, its inertia, and the joint above it."""

    name: str
    pose: Pose
    mass: float = 0.0
    com: Sequence[float] = (0.0, 0.0, 0.0)
    inertia: np.ndarray = field(default_factory=lambda: np.zeros((3, 3)))
    joint: Joint | None = None
    children: list[Link] = field(default_factory=list)
    # least index of a body, and of a link, on this link or below it
    first_body: float = math.inf
    first_link: float = math.inf


def lay_out(flat: Flat, mimics: Mapping[str, tuple[str, float, float]]) -> list[Link]:
    """Return the links of a mechanism without ball joints, parents first, each with the joint above it.

    Parameters
    ----------
    flat : Flat
    mimics : dict
        (leader, multiplier, offset) of the joints that follow others.
    """
    layout = _Layout(flat, mimics)
    layout.hang_joints()
    layout.hang_links()
    layout.hang_frames()
    return layout.ordered()


def size_of(flat: Flat) -> float:
    """Return the largest coordinate of a joint or frame in the frame of its body [m]."""
    return float(max(np.abs(flat.p).max(), np.abs(flat.frame_p).max(initial=0.0)))


class _Layout:
    """Links and the joints between them."""

    def __init__(self, flat: Flat, mimics: Mapping[str, tuple[str, float, float]]):
        self.flat, self.mimics = flat, mimics
        self.frames = {
            name: Pose(int(body), R, p)
            for name, body, R, p in zip(flat.frame_names, flat.frame_body, flat.frame_E, flat.frame_p, strict=True)
        }
        self.near = NEAR * size_of(flat)
        self.links: dict[str, Link] = {}
        self.tops: dict[int, list[str]] = defaultdict(list)  # links not fixed to another of their body
        given = zip(flat.link_names, flat.link_mass, flat.link_com, flat.link_inertia, strict=True)
        for index, ((name, mass, com, inertia), above) in enumerate(zip(given, flat.link_parent, strict=True)):
            self.links[name] = Link(name, self.frames[name], mass, com, inertia, first_link=index)
            body = self.frames[name].body
            if above is None or self.frames[above].body != body:
                self.tops[body].append(name)
        self.names = {*flat.frame_names, *(joint.name for joint in flat.joints)}
        self.joint_names: set[str] = set()
        self.named = set(flat.link_names)  # frames that are those of links and joints
        self.at_joint: dict[int, Link] = {}  # the link of each body to which its joint leads
        self.root = self._root()

    def _root(self) -> Link:
        """Choose or make the root: the link of a single free joint, or one at the origin of the world."""
        flat = self.flat
        alone = (flat.parent == -1).sum() == 1 and not (flat.frame_body == -1).any()
        if flat.kind[0] == FREE and alone and np.array_equal(flat.E[0], np.eye(3)) and not flat.p[0].any():
            joint = flat.joints[0]
            self.named.add(joint.name)
            self.at_joint[0] = self._link_at_joint(0, joint.name, joint.child)
            return self.at_joint[0]
        origin = Pose(-1, np.eye(3), np.zeros(3))
        there = [self.links[name] for name in self.tops[-1] if self._same(self.frames[name], origin)]
        self.at_joint[-1] = there[0] if there else self._add(self._unique("world"), origin)
        return self.at_joint[-1]

    def _unique(self, name: str) -> str:
        while name in self.names:
            name += "_"
        self.names.add(name)
        return name

    def _same(self, a: Pose, b: Pose) -> bool:
        return a.body == b.body and np.abs(a.p - b.p).max() <= self.near and np.abs(a.R - b.R).max() <= NEAR

    def _add(self, name: str, pose: Pose) -> Link:
        """Add a link without mass."""
        self.named.add(name)
        self.links[name] = link = Link(name, pose)
        return link

    def _join(self, parent: Link, child: Link, at: Pose, name: str, type: str, **more: Any) -> None:
        """Put a link below another, at a place on the body of the other."""
        R, p = at.seen_from(parent.pose)
        child.joint = Joint(name, type, parent.name, child.name, R, p, **more)
        parent.children.append(child)
        self.joint_names.add(name)

    # ---- links that move

    def hang_joints(self) -> None:
        """Join bodies by the joints that move."""
        starts = np.concatenate(([0], np.cumsum(KIND_NV[self.flat.kind])))
        for joint in self.flat.joints:
            first, end = (int(i) for i in np.searchsorted(starts, (joint.v_slice.start, joint.v_slice.stop)))
            if first in self.at_joint:  # the free joint of the root
                continue
            if joint.kind == "planar" and self._is_planar(joint, first, end):
                self._hang_planar(joint, first, end)
                continue
            for k, body in enumerate(range(first, end)):
                name = joint.name if end == first + 1 else f"{joint.name}_{PARTS[joint.kind][k]}"
                self._hang(joint, k, body, name)

    def _parent(self, joint: JointInfo, body: int) -> Link:
        before = int(self.flat.parent[body])
        above = self.links.get(joint.parent)
        return above if above is not None and above.pose.body == before else self.at_joint[before]

    def _before(self, body: int, pose: Pose) -> Pose:
        """Return the place on the parent body that a place on a body has where the coordinate is zero."""
        E, p = self.flat.E[body], self.flat.p[body]
        return Pose(int(self.flat.parent[body]), E @ pose.R, p + E @ pose.p)

    def _hang(self, joint: JointInfo, k: int, body: int, name: str) -> None:
        """Join a body by coordinate k of a joint."""
        flat, kind = self.flat, self.flat.kind[body]
        self.at_joint[body] = link = self._link_at_joint(body, name, joint.child)
        parent, at = self._parent(joint, body), self._before(body, link.pose)
        link.first_body = body
        if kind == FREE:
            self._join(parent, link, at, name, "floating")
            return
        limits = tuple(values[k] for values in (joint.lower, joint.upper, joint.velocity, joint.effort))
        start, axis = joint.v_slice.start + k, link.pose.R[2]
        moved = link if kind != HELICAL else self._add(self._unique(f"{name}_turn"), link.pose)
        self._join(
            parent,
            moved,
            at,
            name,
            "prismatic" if kind == PRISMATIC else "revolute",
            axis=axis,
            limits=limits,
            damping=flat.damping[start],
            friction=flat.friction[start] or flat.dry_friction[start],
            armature=flat.armature[start],
            mimic=self.mimics.get(name),
        )
        if kind == HELICAL:
            slide, unlimited = self._unique(f"{name}_slide"), (-math.inf, math.inf, math.inf, math.inf)
            follow = (name, float(flat.pitch[body]), 0.0)
            self._join(moved, link, link.pose, slide, "prismatic", axis=axis, limits=unlimited, mimic=follow)

    def _link_at_joint(self, body: int, name: str, child: str) -> Link:
        """Choose or make the link of a body to which a joint leads: at the joint's frame, if possible."""
        tops = [self.links[link] for link in sorted(self.tops[body], key=lambda link: link != child)]
        frame = self.frames.get(name)
        if name in self.links or frame is None or frame.body != body:  # the joint has no frame
            fitting = [link for link in tops if self._fits(body, link.pose)]
            if fitting:
                return fitting[0]
            return self._add(self._unique(f"{name}_link"), Pose(body, np.eye(3), np.zeros(3)))
        if not self._fits(body, frame):
            return self._add(self._unique(f"{name}_axis"), Pose(body, frame.R, np.zeros(3)))
        self.named.add(name)
        same = [link for link in tops if self._same(link.pose, frame)]
        return same[0] if same else self._add(name, frame)

    def _fits(self, body: int, pose: Pose) -> bool:
        """Say whether the joint of a body can lead to a place on it: its axis must pass through the place."""
        kind = self.flat.kind[body]
        if kind == FREE:
            return self._same(pose, Pose(body, np.eye(3), np.zeros(3)))
        found: bool = kind == PRISMATIC or np.abs(pose.p[:2]).max() <= self.near
        return found

    # ---- a planar joint is one joint if the reader makes the same of type="planar"

    def _is_planar(self, joint: JointInfo, first: int, end: int) -> bool:
        flat, frame = self.flat, self.frames.get(joint.name)
        limits = (*joint.lower, *joint.upper, *joint.velocity, *joint.effort)
        resisted = any(x[joint.v_slice].any() for x in (flat.damping, flat.friction, flat.dry_friction,
                                                             flat.armature))  # fmt: skip
        if frame is None or frame.body != end - 1 or np.isfinite(limits).any() or resisted:
            return False
        turned = frame.R.T
        parts = [part for part in planar(joint.name, frame.R[2]) if isinstance(part, Coordinate)]
        for body, part in zip(range(first, end), parts, strict=True):
            angular, linear = np.array(part.twist, float).reshape(2, 3)
            F = turn_z_to(angular if angular.any() else linear)
            at = self.frames.get(part.name)
            if at is None or not self._same(at, Pose(body, F.T, np.zeros(3))):
                return False
            here = Pose(0, flat.E[body], flat.p[body])
            if body > first and not self._same(here, Pose(0, turned @ F, np.zeros(3))):
                return False
            turned = F.T
        inner = range(first, end - 1)
        return all((flat.parent == body).sum() == 1 and (flat.frame_body == body).sum() == 1 for body in inner)

    def _hang_planar(self, joint: JointInfo, first: int, end: int) -> None:
        last = end - 1
        self.named |= {f"{joint.name}_{suffix}" for suffix in PARTS["planar"]}
        self.at_joint[last] = link = self._link_at_joint(last, joint.name, joint.child)
        at = link.pose
        for body in reversed(range(first, end)):
            at = self._before(body, at)
        link.first_body = first
        self._join(self._parent(joint, first), link, at, joint.name, "planar", axis=link.pose.R[2])

    # ---- links that are fixed

    def hang_links(self) -> None:
        """Fix links to others of their body; such a joint takes its name from a frame there, or from the link."""
        unnamed, known = defaultdict(list), self.named | self.joint_names
        for name, pose in self.frames.items():
            if name not in known:
                unnamed[pose.body].append(name)
        for name, above in zip(self.flat.link_names, self.flat.link_parent, strict=True):
            link = self.links[name]
            if link.joint is not None or link is self.root:
                continue
            body = link.pose.body
            parent = self.at_joint[body] if name in self.tops[body] else self.links[str(above)]
            there = next((frame for frame in unnamed[body] if self._same(self.frames[frame], link.pose)), None)
            if there is not None:
                unnamed[body].remove(there)
                self.named.add(there)
            self._fix(link, parent, there or name)

    def hang_frames(self) -> None:
        """Add a link without mass for each frame that is not that of a link or joint."""
        for name, pose in self.frames.items():
            if name not in self.named:
                self._fix(self._add(name, pose), self.at_joint[pose.body], name)

    def _fix(self, link: Link, parent: Link, name: str) -> None:
        # a reader makes no new frame for the name of a link
        free = next((name for name in (name, parent.name) if name not in self.joint_names), None)
        self._join(parent, link, link.pose, free or self._unique(f"{name}_fixed"), "fixed")

    # ---- their order

    def ordered(self) -> list[Link]:
        """Return all links depth first; joints are in the order of their coordinates."""
        links = _depth_first(self.root)
        for link in reversed(links):
            for child in link.children:
                link.first_body = min(link.first_body, child.first_body)
                link.first_link = min(link.first_link, child.first_link)
        for link in links:
            moving = sorted((c for c in link.children if c.first_body < math.inf), key=lambda c: c.first_body)
            for child in sorted((c for c in link.children if c.first_body == math.inf), key=lambda c: c.first_link):
                later = (k for k, other in enumerate(moving) if other.first_link > child.first_link)
                moving.insert(next(later, len(moving)), child)
            link.children = moving
        return _depth_first(self.root)


def _depth_first(root: Link) -> list[Link]:
    links, stack = [], [root]
    while stack:
        link = stack.pop()
        links.append(link)
        stack += reversed(link.children)
    return links
