"""Convex parts of a mesh that is not convex, by CoACD, and how far they are from it."""

from __future__ import annotations

import importlib.util
import io
import math
import os
import subprocess
import sys
import zipfile
from collections.abc import Iterable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from vitree.arguments import explain_calls, of_kind, real, several, shown
from vitree.errors import InputError, MissingExtraError, ModelError
from vitree.geometry.hull import HULL_POINTS, facet_distances, hull_points
from vitree.geometry.numbers import array_of, points_of
from vitree.geometry.shapes import ConvexPart, Hull

#: The largest concavity of a part, if not said otherwise, and the least that can be asked for, as shares of the longest
#: edge of the box about the mesh. CoACD scales that edge to 2, and takes thresholds of 0.01 and more.
ERROR, LEAST_ERROR = 0.05, 0.005
#: CoACD's search: nodes, iterations and depth of the tree, samples of surfaces, cells along an edge of the surface that
#: covers an open one, and the most parts of a shell. A tenth of the time of its defaults, parts about as many.
SEARCH = {"mcts_nodes": 10, "mcts_iterations": 40, "mcts_max_depth": 2, "resolution": 1000, "preprocess_resolution": 30,
          "max_convex_hull": 32}  # fmt: skip
#: Points of a surface are so near to each other, as a share of its longest edge; unless they are more than these.
SPACING, MOST_SAMPLES = 0.02, 40_000
#: Share of the largest coordinate below which a distance is none.
NEGLIGIBLE = 1e-6
#: Most shells of a mesh that are taken one by one.
MOST_SHELLS = 50
#: Triangles that are looked at for the one nearest to a point.
NEIGHBOURS = 12
#: Products of points and triangles at once.
AT_ONCE = 2_000_000
#: What the other process runs. An error of the library ends the process that it is in.
_PROGRAM = """
import io, sys
import numpy as np
import coacd
coacd.set_log_level("off")
given = np.load(io.BytesIO(sys.stdin.buffer.read()))
options = {name: given[name].item() for name in given.files if name not in ("vertices", "faces")}
found = coacd.run_coacd(coacd.Mesh(given["vertices"], given["faces"]), **options)
told = io.BytesIO()
np.savez(told, *[vertices for vertices, _ in found])
sys.stdout.buffer.write(told.getvalue())
"""


class PartsDeviation(NamedTuple):
    """How far convex parts are from their mesh.

    Attributes
    ----------
    outside : float [m]
        The largest distance from the mesh to a point of the parts that is outside of it: what they fill.
    missing : float [m]
        The largest distance from the parts to a point of the mesh that is outside of all of them.
    """

    outside: float
    missing: float


@explain_calls
def convex_parts(
    vertices: ArrayLike, faces: ArrayLike, error: float | None = None, most: int = HULL_POINTS
) -> tuple[ConvexPart, ...]:
    """Return convex hulls whose union is nearly a mesh: a hollow body touches as it is, and not as its hull.

    Bodies in the mesh that are not joined are taken one by one. One whose own hull is within ``error`` is that hull.
    Others are cut by CoACD into at most 32 parts, always into the same; the package ``coacd`` (extra "parts") is needed
    for these alone.

    Parameters
    ----------
    vertices : (n, 3) array [m]
    faces : (m, 3) array of int
        Triangles by rows of the vertices, counterclockwise seen from outside. A surface that is not closed, or is not a
        manifold, is first covered by a closed one, which is up to 2 % of its size farther out.
    error : float, optional [m]
        The largest concavity of a part, about; by default 5 % of the longest edge of the box about the mesh, and at
        least 0.5 % of it. Smaller errors take more parts and more time.
    most : int
        Corners of each hull, as of :class:`Hull`.

    Returns
    -------
    tuple of ConvexPart
        Hulls, ``shapes`` of a :class:`Contact`. :func:`parts_deviation` says how far they are from the mesh.

    Raises
    ------
    ModelError
        If vertices or faces are none, or CoACD finds no parts.
    InputError
        If ``error`` is too small, or no length.
    MissingExtraError
        If coacd is needed and not installed.

    References
    ----------
    Wei, Liu, Ling and Su 2022, "Approximate convex decomposition for 3D meshes with collision-aware concavity and tree
    search".
    """
    x, triangles = mesh_of(vertices, faces)
    longest = _longest(x, triangles)
    allowed = ERROR * longest if error is None else real(error)
    if not LEAST_ERROR * longest * (1.0 - 1e-9) <= allowed < math.inf:
        raise InputError("error", error, f"must be a length of at least {LEAST_ERROR * longest:.3g} m, which is "
                         f"{100 * LEAST_ERROR:g} % of the longest edge of the box about the mesh")  # fmt: skip
    surface = _Surface(_outwards(x[triangles]))
    found = list[ConvexPart]()
    for own in _shells(x, triangles):
        hull = ConvexPart(x[np.unique(own)], most)
        if _outside(_Surface(_boundary(hull)[0]).samples, surface, allowed) == 0.0:
            found.append(hull)
            continue
        # slivers of the cuts have no volume, and some of them are lines
        found += [ConvexPart(points, most) for points in _decomposed(x, own, 2.0 * allowed / _longest(x, own))
                  if len(hull_points(points, 4).points) > 2]  # fmt: skip
    if not found:
        raise ModelError("CoACD finds no convex parts in the mesh; give its hull, vt.Hull(vertices)")
    return tuple(found)


def _longest(x: np.ndarray, triangles: np.ndarray) -> float:
    """The longest edge [m] of the box about triangles."""
    return float(np.ptp(x[triangles.ravel()], axis=0).max())


def _shells(x: np.ndarray, triangles: np.ndarray) -> list[np.ndarray]:
    """Triangles (m, 3) by shells, which are joined by edges of two triangles, such as bodies that overlap.

    Those that are turned inwards, cavities, are left out, and so are those without a volume that are not alone. More
    than ``MOST_SHELLS`` are one.
    """
    from scipy.sparse import coo_array
    from scipy.sparse.csgraph import connected_components

    same = np.unique(x, axis=0, return_inverse=True)[1].reshape(-1)[triangles]
    ends = np.sort(np.concatenate([same[:, [k, (k + 1) % 3]] for k in range(3)]), axis=1)
    edge, count = np.unique(ends, axis=0, return_inverse=True, return_counts=True)[1:]
    order = np.argsort(edge.reshape(-1), kind="stable")
    of = np.tile(np.arange(len(same)), 3)[order]
    first = np.cumsum(count) - count
    two = first[count == 2]
    joined = coo_array((np.ones(len(two)), (of[two], of[two + 1])), shape=(len(same), len(same)))
    number, shell = connected_components(joined, directed=False)
    shells = [triangles[shell == k] for k in range(number)] if 1 < number <= MOST_SHELLS else [triangles]
    volume = [_volume(x[own]) for own in shells]
    sign = 1.0 if sum(volume) >= 0 else -1.0
    least = NEGLIGIBLE * max(map(abs, volume))
    return [own for own, size in zip(shells, volume, strict=True) if sign * size > least] or [triangles]


def mesh_of(vertices: object, faces: object, what: str = "mesh") -> tuple[np.ndarray, np.ndarray]:
    """Return vertices (n, 3) [m] and triangles (m, 3); raise a ModelError that names ``what`` if they are none."""
    x = array_of(points_of(vertices, f"vertices of the {what}"))
    try:
        given = np.asarray(faces)
        triangles = given.astype(np.intp)
        sound = given.ndim == 2 and given.shape[1] == 3 and len(given) and bool((triangles == given).all())
    except (TypeError, ValueError):
        sound = False
    if not sound:
        raise ModelError(f"the faces of the {what} are {shown(faces)}; give an array (m, 3) of whole numbers, at least "
                         "one triangle")  # fmt: skip
    if triangles.min() < 0 or triangles.max() >= len(x):
        raise ModelError(f"the faces of the {what} name vertices from {triangles.min()} to {triangles.max()}; there "
                         f"are {len(x)}, from 0")  # fmt: skip
    return x, triangles


def _decomposed(x: np.ndarray, triangles: np.ndarray, threshold: float) -> list[np.ndarray]:
    """Points (n, 3) [m] of each part, by CoACD in a process of its own, which may fail."""
    if importlib.util.find_spec("coacd") is None:
        raise MissingExtraError("coacd", "parts", "a decomposition of a mesh into convex parts")
    given = io.BytesIO()
    arrays: dict[str, Any] = {"vertices": x, "faces": triangles.astype(np.int32), **SEARCH, "seed": 0}
    np.savez(given, threshold=min(threshold, 1.0), **arrays)
    # the packages of this process, and one thread: it is the quickest
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(p for p in sys.path if p), "OMP_NUM_THREADS": "1"}
    done = subprocess.run([sys.executable, "-P", "-c", _PROGRAM], input=given.getvalue(), capture_output=True,
                          env=environment, check=False)  # fmt: skip
    try:
        with np.load(io.BytesIO(done.stdout)) as parts:
            return [parts[name] for name in parts.files]
    except (ValueError, OSError, EOFError, zipfile.BadZipFile):
        why = done.stderr.decode(errors="replace").strip().splitlines()
        raise ModelError("CoACD cannot decompose the mesh" + (f": {why[-1]}" if why else "")
                         + "; repair the mesh, or give its hull, vt.Hull(vertices)") from None  # fmt: skip


# ---- deviation -------------------------------------------------------------------------------------------------


@explain_calls
def parts_deviation(parts: Iterable[Hull], vertices: ArrayLike, faces: ArrayLike) -> PartsDeviation:
    """Return how far convex parts are from a mesh.

    Both surfaces are sampled, at distances of 2 % of the longest edge of the box about each, or more if there would be
    too many points, and distances below a millionth of its coordinates are none. What is inside of the mesh is told by
    winding numbers, also where it is not quite closed.

    Parameters
    ----------
    parts : sequence of Hull
        Placed in the axes of the mesh.
    vertices : (n, 3) array [m]
    faces : (m, 3) array of int
        Triangles by rows of the vertices, counterclockwise seen from outside.

    Returns
    -------
    PartsDeviation

    Raises
    ------
    ModelError
        If vertices or faces are none.
    InputError
        If a part is no Hull, or there is none.

    References
    ----------
    Jacobson, Kavan and Sorkine-Hornung 2013, "Robust inside-outside segmentation using generalized winding numbers".
    """
    x, triangles = mesh_of(vertices, faces)
    parts = several(parts, "parts", "convex hulls")
    for part in parts:
        of_kind(part, Hull, "parts", "convex hulls, vt.Hull")
    if not parts:
        raise InputError("parts", parts, "must be at least one hull")
    mesh = _Surface(_outwards(x[triangles]))
    hulls = [_boundary(part) for part in parts]
    union = _Surface(np.concatenate([corners for corners, _ in hulls]))
    return PartsDeviation(_outside(union.samples, mesh, NEGLIGIBLE * float(np.abs(x).max())),
                          _missing(mesh.samples, hulls, union))  # fmt: skip


def _boundary(part: Hull) -> tuple[np.ndarray, np.ndarray]:
    """Triangles (n, 3, 3) [m] of the surface of a hull, and planes (k, 4) about it; a plate has two and a rim."""
    from scipy.spatial import ConvexHull, QhullError

    x = part.points
    try:
        hull = ConvexHull(x)
    except QhullError:  # a plate
        middle = x.mean(axis=0)
        axes = np.linalg.svd(x - middle)[2]
        around = ConvexHull((x - middle) @ axes[:2].T)
        fan = around.vertices
        corners = np.stack([np.broadcast_to(x[fan[0]], (len(fan) - 2, 3)), x[fan[1:-1]], x[fan[2:]]], axis=1)
        rim = around.equations[:, :2] @ axes[:2]
        normals = np.concatenate([axes[2:], -axes[2:], rim])
        return corners, np.column_stack([normals, -(x @ normals.T).max(axis=0)])
    return x[hull.simplices], hull.equations


def _volume(corners: np.ndarray) -> float:
    """The volume [m^3] that triangles (n, 3, 3) enclose, negative where they are turned inwards."""
    a, b, c = (corners[:, k] - corners[0, 0] for k in range(3))
    return float((a * np.cross(b, c)).sum()) / 6.0


def _outwards(corners: np.ndarray) -> np.ndarray:
    """Triangles (n, 3, 3) in the order in which they enclose a volume that is not negative."""
    return corners if _volume(corners) >= 0.0 else corners[:, ::-1]


class _Surface:
    """Triangles (n, 3, 3) [m] with points of them, and the distance to them."""

    def __init__(self, corners: np.ndarray):
        normals = np.cross(corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0])
        size = np.linalg.norm(normals, axis=1)
        flat = size > 0.0
        self.corners, self.normals = corners[flat], normals[flat] / size[flat, None]
        self.samples, self.of = _sampled(self.corners)

    def distances(self, x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Distances (n,) [m] of points (n, 3) from the nearest triangle, of those that have samples near them.

        And whether each is below all triangles that are as near.
        """
        from scipy.spatial import cKDTree

        count = min(NEIGHBOURS, len(self.samples))
        nearest = self.of[cKDTree(self.samples).query(x, count)[1].reshape(len(x), count)]
        height, away = np.empty((2, len(x), count))
        for k, of in enumerate(nearest.T):
            height[:, k] = ((x - self.corners[of, 0]) * self.normals[of]).sum(axis=1)
            away[:, k] = facet_distances(x, self.corners[of], self.normals[of], np.abs(height[:, k]))
        least = away.min(axis=1)
        return least, ((height < 0.0) | (away > (1.0 + 1e-6) * least[:, None])).all(axis=1)

    def winds(self, x: np.ndarray) -> np.ndarray:
        """Winding numbers (n,) of the triangles about points (n, 3), by solid angles (van Oosterom, Strackee 1983)."""
        found = np.zeros(len(x))
        each = max(1, AT_ONCE // len(self.corners))
        for k in range(0, len(x), each):
            a, b, c = (self.corners[None, :, i] - x[k : k + each, None] for i in range(3))
            la, lb, lc = (np.linalg.norm(side, axis=-1) for side in (a, b, c))
            triple = (a * np.cross(b, c)).sum(-1)
            below = la * lb * lc + (a * b).sum(-1) * lc + (b * c).sum(-1) * la + (c * a).sum(-1) * lb
            found[k : k + each] = np.arctan2(triple, below).sum(axis=1) / (2.0 * np.pi)
        return found


def _sampled(corners: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Points (k, 3) [m] of triangles (n, 3, 3), on a grid within each, and the triangles that they are of."""
    edges = np.linalg.norm(corners - np.roll(corners, 1, axis=1), axis=2).max(axis=1)
    spacing = SPACING * float(np.ptp(corners.reshape(-1, 3), axis=0).max())
    while True:
        parts = np.ceil(edges / spacing).astype(int)
        if ((parts + 1) * (parts + 2) // 2).sum() <= max(MOST_SAMPLES, 3 * len(corners)):
            break
        spacing *= 1.25
    points, of = [], []
    for count in np.unique(parts).tolist():
        rows = np.flatnonzero(parts == count)
        i, j = (x.ravel() for x in np.mgrid[0 : count + 1, 0 : count + 1])
        shares = np.column_stack([i, j, count - i - j])[i + j <= count] / count
        points.append(np.einsum("sk,nki->nsi", shares, corners[rows]).reshape(-1, 3))
        of.append(np.repeat(rows, len(shares)))
    return np.concatenate(points), np.concatenate(of)


def _outside(x: np.ndarray, mesh: _Surface, least: float) -> float:
    """The largest distance [m] from a mesh of points (n, 3) that are outside of it; zero if it is ``least`` or less."""
    away, below = mesh.distances(x)
    order = np.argsort(-away, kind="stable")
    order = order[(~below & (away > least))[order]]  # of surfaces in each other some are inside none the less
    few = 16
    while len(order):  # the farthest first: the first that is outside is the answer
        some, order = order[:few], order[few:]
        out = np.abs(mesh.winds(x[some])) < 0.5
        if out.any():
            return float(away[some[out.argmax()]])
        few = min(2 * few, 1024)
    return 0.0


def _missing(x: np.ndarray, hulls: list[tuple[np.ndarray, np.ndarray]], union: _Surface) -> float:
    """The largest distance [m] of points (n, 3) from the nearest of convex parts."""
    over = np.min([(x @ planes[:, :3].T + planes[:, 3]).max(axis=1) for _, planes in hulls], axis=0)
    size = float(np.abs(x).max())
    out = over > 1e-12 * size
    return float(union.distances(x[out])[0].max()) if out.any() else 0.0
