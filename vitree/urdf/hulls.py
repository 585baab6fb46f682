"""Convex hulls of meshes, and convex parts: made once in a process, and kept on disk by the content of the mesh."""

from __future__ import annotations

import contextlib
import hashlib
import os
import sys
from functools import cache, lru_cache
from importlib import metadata
from pathlib import Path
from typing import NamedTuple

import numpy as np

from vitree.errors import InputError, ModelError, VitreeError
from vitree.geometry.hull import HULL_POINTS, Thinned, hull_points
from vitree.geometry.parts import PartsDeviation, convex_parts, parts_deviation
from vitree.urdf.meshes import check_mesh, read_mesh, read_points
from vitree.writing import replacing

#: Changes where hulls of the same mesh do: files of the cache are of one version.
VERSION = 2
#: The same of convex parts.
PARTS_VERSION = 1
#: Endings of meshes that are one file. Others may have their vertices elsewhere, and are read each time.
WHOLE = (".stl", ".obj", ".dae", ".ply", ".off")
#: Packages on which a hull depends, and on which parts depend as well.
MAKERS = ("numpy", "scipy", "trimesh", "pycollada")
CUTTERS = (*MAKERS, "coacd")
#: Largest file of parts that is read [bytes].
LARGEST = 2**26


class MeshParts(NamedTuple):
    """Convex parts of a mesh.

    Attributes
    ----------
    parts : tuple of Thinned
    deviation : PartsDeviation
    """

    parts: tuple[Thinned, ...]
    deviation: PartsDeviation

    def scaled(self, factor: np.ndarray) -> MeshParts:
        """Return the parts times a factor (3,) that is the same along all axes, up to signs."""
        size = abs(float(factor[0]))
        return MeshParts(tuple(Thinned(part.points * factor, part.lost * size) for part in self.parts),
                         PartsDeviation(self.deviation.outside * size, self.deviation.missing * size))  # fmt: skip


def mesh_hull(filename: str, scale: tuple[float, ...] = (1.0, 1.0, 1.0), most: int = HULL_POINTS) -> Thinned:
    """Return the convex hull of a mesh, thinned to few points.

    Raises a ModelError if the file cannot be read, or points are not finite with the scale, and a MissingExtraError if
    a package that reads it is not installed.

    Parameters
    ----------
    filename : str
    scale : (3,) tuple of float
        Not zero; negative ones mirror. Of a scale that is the same along all axes, up to signs, the hull is that of the
        mesh times the scale.
    most : int
        At least four.
    """
    factor, shape = _factored(scale)
    hull = _kept(filename, _written(filename), shape, most)
    with np.errstate(over="ignore"):
        found = Thinned(hull.points * factor, hull.lost * abs(float(factor[0])))
    if not np.isfinite(found.points).all():
        raise ModelError(f'the mesh file "{filename}" has points that are not finite with the scale {scale}')
    return found


def mesh_parts(
    filename: str, scale: tuple[float, ...] = (1.0, 1.0, 1.0), most: int = HULL_POINTS, error: float | None = None
) -> MeshParts:
    """Return convex parts of a mesh, each a hull of few points; raises as :func:`mesh_hull` and :func:`convex_parts`.

    Parameters
    ----------
    filename : str
    scale : (3,) tuple of float
        As of :func:`mesh_hull`.
    most : int
        Points of each, at most; at least four.
    error : float, optional [m]
        As of :func:`vitree.convex_parts`, of the mesh with its scale.
    """
    factor, shape = _factored(scale)
    if error is not None:
        error /= abs(float(factor[0]))
    return _kept_parts(filename, _written(filename), shape, most, error).scaled(factor)


def array_parts(points: np.ndarray, triangles: np.ndarray, most: int, error: float | None) -> MeshParts:
    """Return the same of a mesh in numbers, points (n, 3) [m] and triangles (m, 3)."""
    digest = hashlib.sha256(repr((points.shape, triangles.shape)).encode())
    for numbers in (points.astype("<f8"), triangles.astype("<i8")):
        digest.update(np.ascontiguousarray(numbers).tobytes())
    key, file = _parts_place(digest, "", (1.0, 1.0, 1.0), most, error)
    if file is not None and (known := _read_parts(file, key)) is not None:
        return known
    found = _parts_of(points, triangles, most, error)
    if file is not None:
        _write_parts(file, key, found)
    return found


def _factored(scale: tuple[float, ...]) -> tuple[np.ndarray, tuple[float, ...]]:
    """A scale as a factor (3,) that is the same along all axes, up to signs, and what is left."""
    factor = np.array(scale, dtype=float)
    shape = tuple(np.abs(factor).tolist())
    if shape[0] == shape[1] == shape[2]:
        return factor, (1.0, 1.0, 1.0)
    return np.sign(factor), shape


def _written(filename: str) -> tuple[int, int]:
    """When a file was written, and its size."""
    status = os.stat(filename)
    return status.st_mtime_ns, status.st_size


@lru_cache(maxsize=256)
def _kept(filename: str, written: tuple[int, int], shape: tuple[float, ...], most: int) -> Thinned:
    """The hull of a mesh with the scale ``shape``; robots have the same mesh at several places."""
    key, file = _place(filename, shape, most)
    if file is not None and (known := _read(file, key, most)) is not None:
        return known
    points = read_points(filename, "contact of a mesh")
    found = hull_points(points if shape == (1.0, 1.0, 1.0) else points * shape, most)
    if file is not None:
        _write(file, key, found)
    return found


@lru_cache(maxsize=256)
def _kept_parts(
    filename: str, written: tuple[int, int], shape: tuple[float, ...], most: int, error: float | None
) -> MeshParts:
    """The parts of a mesh with the scale ``shape``."""
    digest, ending = _content(filename), Path(filename).suffix.lower()
    key, file = (b"", None) if digest is None else _parts_place(digest, ending, shape, most, error)
    if file is not None and (known := _read_parts(file, key)) is not None:
        return known
    points, triangles, _ = read_mesh(filename, "contact of a mesh")
    found = _parts_of(points * shape, triangles, most, error)
    if file is not None:
        _write_parts(file, key, found)
    return found


def _parts_of(points: np.ndarray, triangles: np.ndarray, most: int, error: float | None) -> MeshParts:
    hulls = convex_parts(points, triangles, error, most)
    parts = tuple(Thinned(np.array(hull.vertices), hull.lost) for hull in hulls)
    return MeshParts(parts, parts_deviation(hulls, points, triangles))


# ---- the cache ----------------------------------------------------------------------------------


def cache_folder() -> Path | None:
    """Return the folder of what can be made again; None without one.

    It is that of the environment variable VITREE_CACHE, or none if that is "off". Without the variable it is "vitree"
    in the folder that the system has for such files: XDG_CACHE_HOME or ~/.cache, ~/Library/Caches (macOS), LOCALAPPDATA
    (Windows).
    """
    named = os.environ.get("VITREE_CACHE", "")
    if named == "off":
        return None
    variable, usual = {
        "win32": ("LOCALAPPDATA", "~/AppData/Local"),
        "darwin": ("", "~/Library/Caches"),
    }.get(sys.platform, ("XDG_CACHE_HOME", "~/.cache"))
    above = os.environ.get(variable, "") if variable else ""
    folder = named or os.path.join(above if os.path.isabs(above) else usual, "vitree")
    found = os.path.expanduser(folder)
    return Path(found) if named or os.path.isabs(found) else None  # a user without a home has none


def _content(filename: str) -> hashlib._Hash | None:
    """A digest of the content of a mesh; None where it is not known, or there is no cache."""
    if Path(filename).suffix.lower() not in WHOLE or cache_folder() is None:
        return None
    try:
        check_mesh(filename)
        with open(filename, "rb") as stream:
            return hashlib.file_digest(stream, "sha256")
    except (OSError, VitreeError):
        return None  # what is wrong comes again where the mesh is read


def _place(filename: str, shape: tuple[float, ...], most: int) -> tuple[bytes, Path | None]:
    """The key of a hull, by the content of the mesh, and its file in the cache; None where there is none."""
    digest, folder = _content(filename), cache_folder()
    if digest is None or folder is None:
        return b"", None
    digest.update(repr((Path(filename).suffix.lower(), shape, most, VERSION, _makers())).encode())
    return digest.digest(), folder / "hulls" / f"{digest.hexdigest()}.hull"


def _parts_place(
    digest: hashlib._Hash, ending: str, shape: tuple[float, ...], most: int, error: float | None
) -> tuple[bytes, Path | None]:
    """The same of parts, with the digest of the content."""
    folder = cache_folder()
    if folder is None:
        return b"", None
    digest.update(repr((ending, shape, most, "parts", error, PARTS_VERSION, VERSION, _makers(CUTTERS))).encode())
    return digest.digest(), folder / "hulls" / f"{digest.hexdigest()}.parts"


@cache
def _makers(names: tuple[str, ...] = MAKERS) -> tuple[str, ...]:
    """The versions of packages on which a hull depends."""
    versions = []
    for name in names:
        try:
            versions.append(metadata.version(name))
        except metadata.PackageNotFoundError:
            versions.append("")
    return tuple(versions)


def _read(file: Path, key: bytes, most: int) -> Thinned | None:
    """The hull in a file of the cache; None if there is none, or it is damaged or another one."""
    with contextlib.suppress(OSError, ValueError):
        with open(file, "rb") as stream:
            content = stream.read(40 + 24 * most + 1)
        if content[:32] == _check(key, content[32:]):
            numbers = np.frombuffer(content, "<f8", offset=32).astype(float)
            return Thinned(numbers[1:].reshape(-1, 3), float(numbers[0]))
    return None


def _write(file: Path, key: bytes, hull: Thinned) -> None:
    _keep(file, key, np.array([hull.lost, *hull.points.ravel()]))


def _read_parts(file: Path, key: bytes) -> MeshParts | None:
    """The parts in a file of the cache; None if there is none, or it is damaged or another one."""
    with contextlib.suppress(OSError, ValueError, IndexError):
        with open(file, "rb") as stream:
            content = stream.read(LARGEST + 1)
        if content[:32] == _check(key, content[32:]):
            numbers = np.frombuffer(content, "<f8", offset=32).astype(float)
            sizes = numbers[3 : 3 + int(numbers[2])].astype(int)
            lost, points = np.split(numbers[3 + len(sizes) :], [len(sizes)])
            each = np.split(points.reshape(-1, 3), np.cumsum(sizes)[:-1])
            parts = tuple(Thinned(x, float(less)) for x, less in zip(each, lost, strict=True))
            return MeshParts(parts, PartsDeviation(float(numbers[0]), float(numbers[1])))
    return None


def _write_parts(file: Path, key: bytes, found: MeshParts) -> None:
    sizes = [len(part.points) for part in found.parts]
    lost = [part.lost for part in found.parts]
    points = np.concatenate([part.points.ravel() for part in found.parts])
    _keep(file, key, np.array([*found.deviation, len(sizes), *sizes, *lost, *points]))


def _keep(file: Path, key: bytes, numbers: np.ndarray) -> None:
    content = numbers.astype("<f8").tobytes()
    # a cache that cannot be written to is no reason to stop
    with contextlib.suppress(OSError, ValueError, InputError):
        file.parent.mkdir(parents=True, exist_ok=True)
        with replacing(file) as stream:
            stream.write(_check(key, content) + content)


def _check(key: bytes, content: bytes) -> bytes:
    """What a file of the cache begins with: it is whole, and it is the one of its name."""
    return hashlib.sha256(key + content).digest()
