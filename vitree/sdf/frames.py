"""Where the frames of a scope are, and to which links they are attached."""

from __future__ import annotations

import math
from xml.etree.ElementTree import Element as Node

import numpy as np

from vitree.errors import SdfError
from vitree.sdf.document import MODEL_FRAME, WORLD, Scope, words
from vitree.sdf.schema import NO_RELATIVE_TO
from vitree.spatial.rotations import hat, rotation_rpy
from vitree.urdf.checks import AXIS_TOLERANCE, listed, suggestion
from vitree.urdf.xml import Source, shown


def inverse(X: np.ndarray) -> np.ndarray:
    """Return the inverse of a pose (4, 4)."""
    found = np.eye(4)
    found[:3, :3] = X[:3, :3].T
    found[:3, 3] = -X[:3, :3].T @ X[:3, 3]
    return found


class Frames:
    """Poses of frames, in the configuration of the file, and the links that carry them.

    Parameters
    ----------
    file : Source
    """

    def __init__(self, file: Source):
        self.file = file
        self._local: dict[tuple[Scope, str], np.ndarray] = {}
        self._world: dict[Scope, np.ndarray] = {}
        self._active: dict[tuple[Scope, str], None] = {}

    # ---- poses --------------------------------------------------------------------------------------------

    def pose(self, scope: Scope, name: str) -> np.ndarray:
        """Return the pose (4, 4) [m] of a frame of a scope, in the world."""
        if scope not in self._world:
            own = np.eye(4) if scope.node.tag == WORLD else self._model_in_parent(scope)
            above = np.eye(4) if scope.parent is None else self.pose(scope.parent, MODEL_FRAME)
            self._world[scope] = above @ own
        found: np.ndarray = self._world[scope] @ self.local(scope, name)
        return found

    def local(self, scope: Scope, name: str, node: Node | None = None, why: str = "") -> np.ndarray:
        """Return the same in the frame of the scope; ``node`` names it, ``why`` says how."""
        if name == MODEL_FRAME or (name == WORLD and scope.node.tag == WORLD):
            return np.eye(4)
        key = (scope, name)
        if key in self._local:
            return self._local[key]
        if key in self._active:
            raise self._cycle(scope, key, node)
        self._active[key] = None
        try:
            found = self._find(scope, name, node, why)
        finally:
            del self._active[key]
        self._local[key] = found
        return found

    def _find(self, scope: Scope, name: str, node: Node | None, why: str) -> np.ndarray:
        owner, own = self.owner(scope, name, node, why)
        if owner is not scope:
            X: np.ndarray = self._way(scope, owner) @ self.local(owner, own)
            return X
        if own in scope.models:
            return self._model_in_parent(scope.models[own])
        if own in scope.links:
            link = scope.links[own]
            return self.placed(scope, link, f'link "{own}"', MODEL_FRAME)
        if own in scope.frames:
            frame = scope.frames[own]
            return self.placed(scope, frame, f'frame "{own}"', frame.get("attached_to") or MODEL_FRAME)
        return self.joint(scope, own)

    def joint(self, scope: Scope, name: str) -> np.ndarray:
        """Return the pose (4, 4) of a joint in its scope; a link may have the same name."""
        joint = scope.joints[name]
        usual = words(joint, "child") or MODEL_FRAME
        return self.placed(scope, joint, f'joint "{name}"', usual if scope.owner(usual) else MODEL_FRAME)

    def _way(self, scope: Scope, inner: Scope) -> np.ndarray:
        """The pose of a scope within one around it."""
        X = np.eye(4)
        while inner is not scope:
            assert inner.parent is not None
            X, inner = self._model_in_parent(inner) @ X, inner.parent
        return X

    def _model_in_parent(self, scope: Scope) -> np.ndarray:
        """The pose of a model in the scope around it."""
        above = scope.parent
        if scope.pose is None:
            X = np.eye(4)
        elif above is None:
            X = self.read(scope.pose, f"the {scope.what}")
        else:
            X = self._from(above, scope.pose, f"the {scope.what}", MODEL_FRAME)
        if scope.placement is None:
            return X
        placed: np.ndarray = X @ inverse(
            self.local(scope, scope.placement, scope.node, f"placement_frame of the {scope.what}"))  # fmt: skip
        return placed

    def placed(self, scope: Scope, node: Node, what: str, usual: str) -> np.ndarray:
        """Return the pose (4, 4) of an element in its scope; its <pose> is relative to ``usual`` by default."""
        pose = node.find("pose")
        return self.local(scope, usual, node, f"the {what}") if pose is None else self._from(scope, pose, what, usual)

    def _from(self, scope: Scope, pose: Node, what: str, usual: str) -> np.ndarray:
        named = pose.get("relative_to") or ""
        if not named and pose.get("frame") and scope.version <= NO_RELATIVE_TO:
            text = f'frame="{shown(pose.get("frame", ""))}" of the <pose> of {what} is left out, as Gazebo does'
            self.file.say("sdf-ignored", text, pose)
        above = self.local(scope, named or usual, pose, f"relative_to of the <pose> of {what}")
        found: np.ndarray = above @ self.read(pose, what)
        return found

    def read(self, pose: Node, what: str) -> np.ndarray:
        """Return the numbers of a <pose> as a matrix (4, 4) [m]; the identity if they have a fault."""
        text, X = words(pose) or "", np.eye(4)
        kind = pose.get("rotation_format", "euler_rpy")
        if kind not in ("euler_rpy", "quat_xyzw"):
            self.file.say("pose-format", f'rotation_format="{shown(kind)}" of the <pose> of {what} is not known', pose)
            return X
        if not text:
            return X
        count = 7 if kind == "quat_xyzw" else 6
        numbers = self.file.floats(pose, text, count, f'the <pose> "{shown(text)}" of {what}')
        if numbers is None:
            return X
        X[:3, 3] = numbers[:3]
        if kind == "quat_xyzw":
            length = math.hypot(*numbers[3:])
            if length < AXIS_TOLERANCE:
                self.file.say("pose-format", f"the quaternion of the <pose> of {what} is zero", pose)
                return X
            x, y, z, w = (part / length for part in numbers[3:])
            u = np.array([x, y, z])
            X[:3, :3] = np.eye(3) + 2 * hat(u) @ (w * np.eye(3) + hat(u))
            return X
        degrees = pose.get("degrees", "").lower() in ("true", "1")
        X[:3, :3] = rotation_rpy(*(math.radians(x) if degrees else x for x in numbers[3:]))
        return X

    # ---- names --------------------------------------------------------------------------------------------

    def owner(self, scope: Scope, name: str, node: Node | None, why: str) -> tuple[Scope, str]:
        """Return the scope that has a name, and the name there; raise an SdfError if there is none."""
        found = scope.owner(name)
        if found is None:
            there = suggestion(name, scope.names()) or (f"; there are {listed(scope.names())}" if scope.names() else "")
            text = f'"{shown(name)}", {why}, is not in the {scope.what}'
            raise self.file.fail("frame-unknown", text + there, node)
        return found

    def link(self, scope: Scope, name: str, node: Node, why: str) -> str:
        """Return the full name of the link that carries a frame; "world" of the world."""
        seen: dict[tuple[Scope, str], None] = {}
        while True:
            if name == WORLD and not (name in scope.links or name in scope.models or name in scope.frames):
                return WORLD
            if (scope, name) in seen:
                raise self._cycle(scope, (scope, name), node)
            seen[scope, name] = None
            if name == MODEL_FRAME:
                if scope.node.tag == WORLD:
                    return WORLD
                name = self._canonical(scope, node)
                continue
            scope, name = self.owner(scope, name, node, why)
            if name in scope.links:
                return scope.prefix + name
            if name in scope.models:
                scope, name = scope.models[name], MODEL_FRAME
            elif name in scope.frames:
                name = scope.frames[name].get("attached_to") or MODEL_FRAME
            elif name != MODEL_FRAME:
                name = words(scope.joints[name], "child") or MODEL_FRAME

    def _canonical(self, scope: Scope, node: Node) -> str:
        """The link that carries the frame of a model."""
        if named := scope.node.get("canonical_link"):
            return named
        if scope.links:
            return next(iter(scope.links))
        for each in scope.merged:
            return self._canonical(each, node)
        for name in scope.models:
            return name
        raise self.file.fail("no-links", f"the {scope.what} has no link, to which its frame could be attached", node)

    def _cycle(self, scope: Scope, key: tuple[Scope, str], node: Node | None) -> SdfError:
        names = [name for of, name in self._active if of is scope] or [key[1]]
        text = f"the frames {listed(names)} of the {scope.what} depend on each other"
        error = self.file.fail("frame-cycle", text, node)
        assert isinstance(error, SdfError)
        return error
