"""Meshes: how readers take those of files, and surfaces of triangles that stand still, by convex faces."""

from __future__ import annotations

import fnmatch
import functools
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

import numpy as np

from vitree.arguments import explain_calls, real, shown, whole
from vitree.errors import InputError, ModelError, UnknownNameError
from vitree.geometry.hull import FLAT, HULL_POINTS
from vitree.geometry.numbers import array_of
from vitree.geometry.parts import mesh_of
from vitree.geometry.shapes import Shape

#: What a mesh of a file may be.
KINDS = ("hull", "parts", "triangles")


@explain_calls
@dataclass(frozen=True)
class Meshes:
    """How a reader takes the meshes of a file that touch.

    Parameters
    ----------
    kind : {"hull", "parts", "triangles"}
        "hull": the convex hull of the vertices. "parts": convex parts of a mesh that is not convex
        (:func:`convex_parts`), which needs the extra "parts". "triangles": the surface as it is
        (:class:`TriangleMesh`), of what is fixed to the world.
    points : int
        Corners of a hull, or of each part, at most; at least 4.
    error : float, optional [m]
        Of parts, as of :func:`convex_parts`.

    Raises
    ------
    InputError
        If the kind is not known, or a number is out of its range.
    """

    kind: str = "hull"
    points: int = HULL_POINTS
    error: float | None = None

    def __post_init__(self) -> None:
        if not isinstance(self.kind, str) or self.kind not in KINDS:
            raise InputError("kind", self.kind, "is not known; choose from " + ", ".join(f'"{x}"' for x in KINDS),
                             choices=KINDS)  # fmt: skip
        if ((count := whole(self.points)) or 0) < 4:
            raise InputError("points", self.points, "must be a whole number of 4 or more")
        object.__setattr__(self, "points", count)
        if self.error is not None:
            if not 0 < (error := real(self.error)) < np.inf:
                raise InputError("error", self.error, "must be a finite number above zero")
            if self.kind != "parts":
                raise InputError(f'error= is of convex parts; give kind="parts", not "{self.kind}"')
            object.__setattr__(self, "error", error)


#: Meshes as people give them: a kind, all of it, or either by names or patterns.
GivenMeshes = str | Meshes | Mapping[str, str | Meshes]


def checked_meshes(given: object) -> Meshes | dict[str, Meshes]:
    """Return the option ``meshes`` of a reader: a :class:`Meshes`, or some by patterns of names.

    Raises an InputError if it is neither, or a pattern no text.
    """
    if not isinstance(given, Mapping):
        return _meshes(given, "meshes")
    for pattern in given:
        if not isinstance(pattern, str):
            raise InputError(f"a key of meshes is {shown(pattern)}; it must be a pattern of names, a text")
    return {pattern: _meshes(value, f'meshes["{pattern}"]') for pattern, value in given.items()}


def _meshes(given: object, what: str) -> Meshes:
    if isinstance(given, Meshes):
        return given
    if isinstance(given, str) and given in KINDS:
        return Meshes(given)
    words = ", ".join(f'"{x}"' for x in KINDS)
    raise InputError(what, given, f"is not known; choose from {words}, or give vt.Meshes(...)", choices=KINDS)


def meshes_by(given: Meshes | Mapping[str, Meshes], names: Iterable[str], kind: str) -> dict[str, Meshes]:
    """Return how the meshes of each name are taken; of names that fit no pattern by their hulls.

    Raises an UnknownNameError if a pattern fits no name.

    Parameters
    ----------
    given : Meshes, or mapping of patterns to Meshes
        Of :func:`checked_meshes`. The first pattern that fits a name counts.
    names : iterable of str
    kind : str
        What errors call them, such as "link with a collision mesh".
    """
    names = list(names)
    if isinstance(given, Meshes):
        return dict.fromkeys(names, given)
    found = dict.fromkeys(names, Meshes())
    for pattern, value in reversed(list(given.items())):
        fitting = [name for name in names if fnmatch.fnmatchcase(name, pattern)]
        if not fitting:
            raise UnknownNameError(kind + (" that fits" if set(pattern) & set("*?[") else ""), pattern, names,
                                   argument="meshes")  # fmt: skip
        found |= dict.fromkeys(fitting, value)
    return found


@explain_calls
@dataclass(frozen=True)
class TriangleMesh(Shape):
    """A surface of triangles that stands still: a terrain, stairs, a bowl, a building.

    It touches from both sides, and has no thickness. Triangles in one plane are joined to convex faces where they can
    be, and each face is in contact by itself. What moves cannot have it: give the convex parts of a body that is hollow
    (:func:`convex_parts`).

    Parameters
    ----------
    vertices : (n, 3) array [m]
        In the axes of the shape.
    faces : (m, 3) array of int
        Triangles by rows of the vertices.
    position : (3,) array [m]
        Origin of the vertices, in the frame.
    rotation : (3, 3) array
        Its rotation in the frame.

    Raises
    ------
    ModelError
        If vertices or faces are none, no triangle has an area, or the pose is invalid.
    """

    vertices: tuple[tuple[float, ...], ...] | np.ndarray
    faces: tuple[tuple[int, ...], ...] | np.ndarray

    def __post_init__(self) -> None:
        super().__post_init__()
        x, triangles = mesh_of(self.vertices, self.faces, "triangle mesh")
        object.__setattr__(self, "vertices", tuple(map(tuple, x.tolist())))
        object.__setattr__(self, "faces", tuple(map(tuple, triangles.tolist())))
        if not self.convex_faces:
            raise ModelError("no triangle of the triangle mesh has an area")

    def _own_points(self) -> np.ndarray:
        found: np.ndarray = array_of(self.vertices)[np.unique(np.array(self.faces))]
        return found

    @functools.cached_property
    def convex_faces(self) -> tuple[np.ndarray, ...]:
        """Corners (k, 3) [m] of each convex face in the axes of the shape, counterclockwise as its triangles are."""
        return joined_faces(array_of(self.vertices), np.array(self.faces))


# ---- triangles of one plane, joined ---------------------------------------------------------------------------------


def joined_faces(x: np.ndarray, triangles: np.ndarray) -> tuple[np.ndarray, ...]:
    """Return convex polygons (k, 3) [m] whose union is that of triangles (m, 3) of vertices x (n, 3) [m].

    Two polygons in one plane, to rounding, are joined over a common edge if what they make is convex, those over the
    longest edges first. Triangles without an area are left out, and so are corners on straight lines.

    Notes
    -----
    The rule is that of Hertel and Mehlhorn 1983, "Fast triangulation of simple polygons".
    """
    x, places = np.unique(x, axis=0, return_inverse=True)
    triangles = places.reshape(-1)[triangles]
    size = float(np.ptp(x, axis=0).max())
    normals = np.cross(x[triangles[:, 1]] - x[triangles[:, 0]], x[triangles[:, 2]] - x[triangles[:, 0]])
    area = np.linalg.norm(normals, axis=1)
    longest = np.linalg.norm(x[triangles] - x[np.roll(triangles, 1, axis=1)], axis=2).max(axis=1)
    kept = area > FLAT * longest**2
    triangles, normals = triangles[kept], normals[kept] / area[kept, None]
    joined = _Joined(x, triangles, normals, FLAT * size)
    edges = _inner_edges(x, triangles)
    while len(edges) > len(edges := [edge for edge in edges if not joined.join(*edge)]):
        pass
    return tuple(x[joined.corners(loop, n)] for loop, n in zip(joined.loops, normals, strict=True) if loop)


def _inner_edges(x: np.ndarray, triangles: np.ndarray) -> list[tuple[int, int]]:
    """Edges (i, j) that one triangle has in this direction and one in the other, the longest first."""
    ends = np.concatenate([triangles[:, [k, (k + 1) % 3]] for k in range(3)])
    counts: dict[tuple[int, int], int] = {}
    for i, j in ends.tolist():
        counts[i, j] = counts.get((i, j), 0) + 1
    inner = [(i, j) for (i, j), count in counts.items() if i < j and count == counts.get((j, i), 0) == 1]
    size = float(np.ptp(x, axis=0).max())
    # lengths that differ by rounding are one
    lengths = np.linalg.norm(x[[i for i, _ in inner]] - x[[j for _, j in inner]], axis=1) / (FLAT * size)
    return [edge for _, edge in sorted(zip((-lengths.round()).tolist(), inner, strict=True))]


class _Joined:
    """Polygons by their corners, counterclockwise; those that are taken into others are empty."""

    def __init__(self, x: np.ndarray, triangles: np.ndarray, normals: np.ndarray, thin: float):
        self.x, self.normals, self.thin = x, normals, thin
        self.loops: list[list[int]] = triangles.tolist()
        self.of = {edge: row for row, loop in enumerate(self.loops) for edge in _edges(loop)}

    def join(self, i: int, j: int) -> bool:
        """Join the two polygons at an edge, if they are in one plane, and convex together; return whether
        they are, or were."""
        if (i, j) not in self.of:  # within a polygon
            return True
        one, other = self.of[i, j], self.of[j, i]
        n = self.normals[one]
        if one == other or float(n @ self.normals[other]) <= 0.0:
            return False
        a, b = self.loops[one], self.loops[other]
        if np.abs((self.x[a + b] - self.x[i]) @ n).max() > self.thin:
            return False
        # a from the end of the common chain to its start, and b from there to the end
        a, b = _from(a, j), _from(b, i)
        while a[1] == b[-2] and len(a) > 2 and len(b) > 2:  # the chain goes on behind j
            a, b = a[1:], b[:-1]
        while a[-2] == b[1] and len(a) > 2 and len(b) > 2:  # and before i
            a, b = a[:-1], b[1:]
        loop = a + b[1:-1]
        if len(loop) < 3 or len({*loop}) < len(loop):
            return False
        if min(self._height(loop, 0, n), self._height(loop, len(a) - 1, n)) < -self.thin:
            return False
        if len(loop) > HULL_POINTS and len(self.corners(loop, n)) > HULL_POINTS:
            return False
        for old in (self.loops[one], self.loops[other]):
            for edge in _edges(old):
                self.of.pop(edge, None)
        self.loops[one], self.loops[other] = loop, []
        self.of |= dict.fromkeys(_edges(loop), one)
        return True

    def _height(self, loop: list[int], k: int, n: np.ndarray) -> float:
        """The distance [m] of corner k from the line through those beside it; negative at a reflex corner."""
        before, at, after = (self.x[loop[(k + step) % len(loop)]] for step in (-1, 0, 1))
        return float(np.cross(at - before, after - at) @ n) / float(np.linalg.norm(after - before))

    def corners(self, loop: list[int], n: np.ndarray) -> list[int]:
        """The corners of a polygon, without those on straight lines."""
        loop = [*loop]
        k = 0
        while k < len(loop) and len(loop) > 3:
            if self._height(loop, k, n) <= self.thin:
                del loop[k]
                k = max(k - 1, 0)
            else:
                k += 1
        return loop


def _edges(loop: list[int]) -> list[tuple[int, int]]:
    return list(zip(loop, loop[1:] + loop[:1], strict=True))


def _from(loop: list[int], start: int) -> list[int]:
    k = loop.index(start)
    return loop[k:] + loop[:k]
