"""Convex hulls of meshes: made once in a process, and kept on disk by the content of the mesh."""

from __future__ import annotations

import contextlib
import hashlib
import os
import sys
from functools import cache, lru_cache
from importlib import metadata
from pathlib import Path

import numpy as np

from vitree.errors import InputError, ModelError, VitreeError
from vitree.geometry.hull import HULL_POINTS, Thinned, hull_points
from vitree.urdf.meshes import check_mesh, read_points
from vitree.writing import replacing

#: Changes where hulls of the same mesh do: files of the cache are of one version.
VERSION = 2
#: Endings of meshes that are one file. Others may have their vertices elsewhere, and are read each time.
WHOLE = (".stl", ".obj", ".dae", ".ply", ".off")
#: Packages on which a hull depends.
MAKERS = ("numpy", "scipy", "trimesh", "pycollada")


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
    factor = np.array(scale, dtype=float)
    shape = tuple(np.abs(factor).tolist())
    if shape[0] == shape[1] == shape[2]:
        shape = (1.0, 1.0, 1.0)
    else:
        factor = np.sign(factor)
    status = os.stat(filename)
    hull = _kept(filename, (status.st_mtime_ns, status.st_size), shape, most)
    with np.errstate(over="ignore"):
        found = Thinned(hull.points * factor, hull.lost * abs(float(factor[0])))
    if not np.isfinite(found.points).all():
        raise ModelError(f'the mesh file "{filename}" has points that are not finite with the scale {scale}')
    return found


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


def _place(filename: str, shape: tuple[float, ...], most: int) -> tuple[bytes, Path | None]:
    """The key of a hull, by the content of the mesh, and its file in the cache; None where there is none."""
    ending, folder = Path(filename).suffix.lower(), cache_folder()
    if ending not in WHOLE or folder is None:
        return b"", None
    try:
        check_mesh(filename)
        with open(filename, "rb") as stream:
            digest = hashlib.file_digest(stream, "sha256")
    except (OSError, VitreeError):
        return b"", None  # what is wrong comes again where the mesh is read
    digest.update(repr((ending, shape, most, VERSION, _makers())).encode())
    return digest.digest(), folder / "hulls" / f"{digest.hexdigest()}.hull"


@cache
def _makers() -> tuple[str, ...]:
    """The versions of the packages on which a hull depends."""
    versions = []
    for name in MAKERS:
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
    content = np.array([hull.lost, *hull.points.ravel()], dtype="<f8").tobytes()
    # a cache that cannot be written to is no reason to stop
    with contextlib.suppress(OSError, ValueError, InputError):
        file.parent.mkdir(parents=True, exist_ok=True)
        with replacing(file) as stream:
            stream.write(_check(key, content) + content)


def _check(key: bytes, content: bytes) -> bytes:
    """What a file of the cache begins with: it is whole, and it is the one of its name."""
    return hashlib.sha256(key + content).digest()
