"""The vertices of meshes in the plain forms of STL, OBJ and COLLADA, read at once; trimesh reads all other meshes."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable, Iterator
from itertools import chain
from xml.etree import ElementTree
from xml.etree.ElementTree import Element as Node

import numpy as np

#: Longer texts are left to trimesh [bytes], and so are meshes of more points.
MOST_TEXT, MOST_POINTS = 2**26, 10_000_000
_TRIANGLE = np.dtype([("normal", "<f4", 3), ("corners", "<f4", (3, 3)), ("attribute", "<u2")])
_STL_CORNER = re.compile(rb"\bvertex\s+(\S+)\s+(\S+)\s+(\S+)")
#: Three coordinates, and three numbers of a colour.
_OBJ_VERTEX = re.compile(rb"^v[ \t]+(\S+)[ \t]+(\S+)[ \t]+(\S+)(?:(?:[ \t]+\S+){3})?[ \t\r]*$", re.MULTILINE)
_OBJ_FACE = re.compile(rb"^f((?:[ \t]+[\d/]+){3,})[ \t\r]*$", re.MULTILINE)
_OBJ_LINES = re.compile(rb"^[ \t]*([vf])[ \t]", re.MULTILINE)


class _Unusual(Exception):
    """The file is not plain, or has a fault."""


def plain_vertices(ending: str, content: bytes) -> np.ndarray | None:
    """Return the points (n, 3) [m] of the triangles and polygons of a mesh, each at least once.

    Parameters
    ----------
    ending : str
        Of the file's name: ".stl", ".obj" or ".dae", in any case.
    content : bytes
        Without a <!DOCTYPE> (:func:`vitree.urdf.meshes.checked_content`).

    Returns
    -------
    (n, 3) array or None
        None if the ending is another one, if the file has something less usual (polygons with holes, controllers, lines
        that go on with a backslash, ...), or if it has a fault: trimesh reads such files, or says what is wrong.
    """
    read: dict[str, Callable[[bytes], np.ndarray]] = {".stl": _stl, ".obj": _obj, ".dae": _collada}
    if ending.lower() not in read:
        return None
    try:
        points = read[ending.lower()](content)
    except (_Unusual, ValueError, OverflowError, ElementTree.ParseError):
        return None
    return points if len(points) and np.isfinite(points).all() else None


def _stl(content: bytes) -> np.ndarray:
    count = int.from_bytes(content[80:84], "little")
    if len(content) == 84 + count * _TRIANGLE.itemsize:
        return np.frombuffer(content, _TRIANGLE, offset=84)["corners"].reshape(-1, 3).astype(float)
    text = _short(content).lower()
    corners = _STL_CORNER.findall(text)
    _usual(text.lstrip().startswith(b"solid") and len(corners) == text.count(b"vertex"))
    _usual(len(corners) == 3 * text.count(b"endfacet") == 3 * text.count(b"endloop"))
    return _numbers(chain.from_iterable(corners), 3)


def _obj(content: bytes) -> np.ndarray:
    text = _short(content)
    vertices, faces, lines = _OBJ_VERTEX.findall(text), _OBJ_FACE.findall(text), _OBJ_LINES.findall(text)
    _usual(b"\\" not in text and (len(vertices), len(faces)) == (lines.count(b"v"), lines.count(b"f")))
    points = _numbers(chain.from_iterable(vertices), 3)
    # of a corner 3/5/7 the first number is that of its vertex, counted from 1
    return _used(points, _indices(re.sub(rb"/[\d/]*", b"", b" ".join(faces))) - 1)


# ---- COLLADA ------------------------------------------------------------------------------------


def _collada(content: bytes) -> np.ndarray:
    root = ElementTree.fromstring(_short(content))
    name, _, tag = root.tag.rpartition("}")
    _usual(tag == "COLLADA")
    file = _Collada(root, f"{name}}}" if name else "")
    parts = [_product(points, pose[:3, :3].T) + pose[:3, 3] for points, pose in file.placed()]
    return file.metre * np.concatenate([np.zeros((0, 3)), *parts])


class _Collada:
    """The geometries of a COLLADA document, and where its scene has them."""

    def __init__(self, root: Node, space: str):
        self.root, self.space = root, space
        self.known: dict[str, Node] = {}
        for node in root.iter():
            if (name := node.get("id")) is not None:
                _usual(name not in self.known)
                self.known[name] = node
        unit = root.find(f"{space}asset/{space}unit")
        metre = 1.0 if unit is None else float(unit.get("meter", "1"))
        _usual(metre > 0)
        # trimesh takes what is nearly a metre for one
        self.metre = 1.0 if np.isclose(metre, 1.0) else metre
        self.read: dict[str, np.ndarray] = {}

    def placed(self) -> Iterator[tuple[np.ndarray, np.ndarray]]:
        """Yield the points (n, 3) of each geometry of the scene, and its pose (4, 4)."""
        scenes = self.root.findall(f"{self.space}scene/{self.space}instance_visual_scene")
        _usual(len(scenes) == 1)
        stack = [(node, np.eye(4)) for node in self._at(scenes[0].get("url"), "visual_scene")]
        count = 0
        while stack:
            node, above = stack.pop()
            if self._tag(node) != "node":
                _usual(self._tag(node) in ("extra", "asset", "evaluate_scene"))
                continue
            pose = above
            for item in node:
                pose = _product(pose, self._transform(item))
            for item in node:
                tag = self._tag(item)
                if tag == "node":
                    stack.append((item, pose))
                elif tag == "instance_geometry":
                    points = self._points(item.get("url"))
                    count += len(points)
                    _usual(count <= MOST_POINTS)
                    yield points, pose

    def _transform(self, item: Node) -> np.ndarray:
        """The transform (4, 4) of an element of a node; one for what is no transform."""
        tag, found = self._tag(item), np.eye(4)
        if tag == "matrix":
            found = self._values(item, 16).reshape(4, 4)
            _usual((found[3] == (0, 0, 0, 1)).all())
        elif tag == "translate":
            found[:3, 3] = self._values(item, 3)
        elif tag == "scale":
            found[[0, 1, 2], [0, 1, 2]] = self._values(item, 3)
        elif tag == "rotate":
            *axis, degrees = self._values(item, 4).tolist()
            size, half = math.hypot(*axis), 0.5 * math.radians(degrees)
            _usual(size > 0)
            x, y, z = unit = np.array(axis) / size
            cross, across = np.array([(0, -z, y), (z, 0, -x), (-y, x, 0)]), np.outer(unit, unit) - np.eye(3)
            found[:3, :3] += 2 * math.sin(half) * (math.cos(half) * cross + math.sin(half) * across)
        else:
            _usual(tag in ("node", "instance_geometry", "instance_camera", "instance_light", "extra", "asset"))
        return found

    def _points(self, url: str | None) -> np.ndarray:
        """The points (n, 3) of the triangles and polygons of a geometry."""
        if url is not None and url in self.read:
            return self.read[url]
        parts = [np.zeros((0, 3))]
        for mesh in self._at(url, "geometry"):
            _usual(self._tag(mesh) in ("mesh", "extra", "asset"))
            for item in mesh if self._tag(mesh) == "mesh" else ():
                tag = self._tag(item)
                if tag in ("triangles", "polylist"):
                    parts.append(self._corners(item))
                else:
                    _usual(tag in ("source", "vertices", "lines", "linestrips", "extra"))
        found = self.read[str(url)] = np.concatenate(parts)
        return found

    def _corners(self, item: Node) -> np.ndarray:
        """The points (n, 3) that a <triangles> or <polylist> uses."""
        inputs = self._inputs(item)
        wide = 1 + max((int(each.get("offset", "0")) for each in inputs), default=0)
        (vertices,) = (each for each in inputs if each.get("semantic") == "VERTEX")
        (place,) = (x for x in self._inputs(self._at(vertices.get("source"), "vertices"))
                    if x.get("semantic") == "POSITION")  # fmt: skip
        lists = item.findall(f"{self.space}p")
        if not lists:
            return np.zeros((0, 3))
        _usual(len(lists) == 1)
        indices = _indices((lists[0].text or "").encode())
        corners = len(indices) // wide
        if self._tag(item) == "triangles":
            _usual(corners % 3 == 0)
        else:
            counts = _indices((item.findtext(f"{self.space}vcount") or "").encode())
            _usual(counts.sum() == corners and (counts > 2).all())
        _usual(corners * wide == len(indices))
        return _used(self._positions(place.get("source")), indices[int(vertices.get("offset", "0")) :: wide])

    def _positions(self, url: str | None) -> np.ndarray:
        source = self._at(url, "source")
        (numbers,) = source.findall(f"{self.space}float_array")
        (accessor,) = source.findall(f"{self.space}technique_common/{self.space}accessor")
        _usual((accessor.get("stride"), accessor.get("offset", "0")) == ("3", "0"))
        return self._values(numbers, int(numbers.get("count", "-1"))).reshape(-1, 3)

    def _inputs(self, item: Node) -> list[Node]:
        return item.findall(f"{self.space}input")

    def _values(self, item: Node, count: int) -> np.ndarray:
        found = _numbers((item.text or "").split())
        _usual(len(found) == count)
        return found

    def _at(self, url: str | None, tag: str) -> Node:
        """The element of this document that a reference means."""
        _usual(url is not None and url.startswith("#"))
        found = self.known.get(str(url)[1:])
        if found is None or self._tag(found) != tag:
            raise _Unusual
        return found

    def _tag(self, item: Node) -> str:
        return item.tag.removeprefix(self.space)


# ---- numbers ------------------------------------------------------------------------------------


def _usual(condition: object) -> None:
    if not condition:
        raise _Unusual


def _short(content: bytes) -> bytes:
    _usual(len(content) <= MOST_TEXT)
    return content


def _numbers(words: Iterable[bytes | str], columns: int = 0) -> np.ndarray:
    found = np.fromiter(map(float, words), float)
    return found.reshape(-1, columns) if columns else found


def _product(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """A product of matrices, the same bit by bit on every processor."""
    found: np.ndarray = (a[:, :, None] * b).sum(axis=1)
    return found


def _indices(text: bytes) -> np.ndarray:
    return np.fromiter(map(int, text.split()), np.intp)


def _used(points: np.ndarray, indices: np.ndarray) -> np.ndarray:
    """Those points that indices mean."""
    _usual(not len(indices) or 0 <= indices.min() <= indices.max() < len(points))
    used = np.zeros(len(points), dtype=bool)
    used[indices] = True
    return points[used]
