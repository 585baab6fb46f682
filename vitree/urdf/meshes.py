"""Files of meshes, which may be a stranger's: measured before they are read, and held to the folders of their robot."""

from __future__ import annotations

import contextlib
import mmap
import os
import re
import stat
import zipfile
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from vitree.errors import InputError, MissingExtraError, ModelError
from vitree.urdf.paths import home_of

if TYPE_CHECKING:
    from collections.abc import Iterator

    from trimesh import Scene, Trimesh
    from trimesh.resolvers import FilePathResolver

#: Largest file, and largest content of an archive [bytes]; most files in an archive; most triangles of a scene.
MOST_BYTES, MOST_FILES, MOST_TRIANGLES = 2**28, 1000, 20_000_000
#: Endings of archives; only .zip and formats that are zip archives inside are read.
_PACKED = (".zip", ".gz", ".tgz", ".bz2", ".xz", ".tar", ".zae", ".3mf", ".7z")
_XML = (".dae", ".xaml", ".x3d", ".xml", ".model", ".rels", ".3dxml", ".3drep")
#: Encodings in which a <!DOCTYPE> is found by its bytes.
_ENCODINGS = re.compile(rb"utf-?(8|16)(-?[lb]e)?|us-ascii|ascii|iso-8859-\d+|latin-?1|windows-125\d", re.IGNORECASE)
_DECLARED = re.compile(rb"""^[^>]{0,100}encoding\s*=\s*["']([^"']*)""")
_DOCTYPES = tuple("<!DOCTYPE".encode(encoding) for encoding in ("ascii", "utf-16-le", "utf-16-be"))


def load_scene(filename: str) -> Scene:
    """Return the trimesh.Scene of a file.

    Raises an InputError if the file, what it unpacks to, or its scene is too large, if it has a <!DOCTYPE>, or vertices
    are not finite, and an ImportError or ValueError and others as trimesh raises them.
    """
    import trimesh

    scene = _scene(filename)
    for part in scene.geometry.values():
        if isinstance(part, trimesh.Trimesh):
            part.process()
    return scene


def _scene(filename: str) -> Scene:
    """The scene of a file, with the vertices as they are in it."""
    import trimesh

    check_mesh(filename)
    # processing drops triangles with vertices that are not finite, and says nothing
    with np.errstate(all="ignore"):
        scene: Scene = trimesh.load_scene(filename, resolver=_resolver(filename), process=False)
    for part in scene.geometry.values():
        vertices = np.asarray(getattr(part, "vertices", ()), dtype=float)
        if bad := int((~np.isfinite(vertices)).any(axis=-1).sum()):
            raise InputError(f"{bad} of its {len(vertices)} vertices are not finite; export the mesh again")
    drawn = (scene.geometry[scene.graph[node][1]] for node in scene.graph.nodes_geometry)
    triangles = sum(len(getattr(part, "faces", ())) for part in drawn)
    if triangles > MOST_TRIANGLES:
        raise InputError(f"its scene has {triangles} triangles; the most is {MOST_TRIANGLES}")
    return scene


def read_mesh(filename: str, use: str) -> tuple[np.ndarray, np.ndarray, bool]:
    """Return the points (n, 3) [m] and triangles (m, 3) of a file, and whether they enclose a volume.

    Raises a ModelError if the file cannot be read, or has no triangles or no finite points, and a MissingExtraError if
    a package that reads it is not installed.

    Parameters
    ----------
    filename : str
    use : str
        What it is read for, as the error of a missing package says it.
    """
    with _reading(filename, use):
        mesh = load_scene(filename).to_mesh()
        # files often repeat vertices, for normals and textures
        mesh.merge_vertices(merge_tex=True, merge_norm=True)
        points, triangles = _points(mesh, filename), np.array(mesh.faces)
        closed = bool(mesh.is_watertight and mesh.is_winding_consistent)
    return points, triangles, closed


def read_points(filename: str, use: str) -> np.ndarray:
    """Return the points (n, 3) [m] of a file's triangles, some of them several times; raises as :func:`read_mesh`."""
    with _reading(filename, use):
        mesh = _scene(filename).to_mesh()
        points = _points(mesh, filename)
        used = np.zeros(len(points), dtype=bool)
        used[mesh.faces] = True
    return points[used]


def _points(mesh: Trimesh, filename: str) -> np.ndarray:
    from trimesh.units import unit_conversion

    points = np.array(mesh.vertices, dtype=float)
    if mesh.units not in (None, "meters"):
        points *= unit_conversion(mesh.units, "meters")
    if not len(mesh.faces) or not np.isfinite(points).all():
        raise ModelError(f'the mesh file "{filename}" has no triangles, or has points that are not finite')
    return points


@contextlib.contextmanager
def _reading(filename: str, use: str) -> Iterator[None]:
    """Errors of trimesh as those of the file."""
    try:
        import trimesh  # noqa: F401
    except ImportError:
        raise MissingExtraError("trimesh", "meshes", use) from None
    try:
        yield
    except ModelError:
        raise
    except ImportError as error:  # trimesh needs other packages for some formats
        if Path(filename).suffix.lower() == ".dae":
            raise MissingExtraError("pycollada", "meshes", f'the mesh "{filename}"') from None
        raise ModelError(f'the mesh file "{filename}" cannot be read: {error}') from error
    except Exception as error:
        raise ModelError(f'the mesh file "{filename}" cannot be read: {error}') from error


def check_mesh(filename: str) -> None:
    """Raise an InputError if a path is not a file, or the file is too large to be read, packed or unpacked."""
    found = os.stat(filename)
    if not stat.S_ISREG(found.st_mode):
        raise InputError("it is no regular file")
    _check_size(found.st_size, "it has")
    ending = Path(filename).suffix.lower()
    if zipfile.is_zipfile(filename):
        with zipfile.ZipFile(filename) as archive:
            parts = archive.infolist()
            if len(parts) > MOST_FILES:
                raise InputError(f"it is an archive of {len(parts)} files; the most is {MOST_FILES}")
            _check_size(sum(part.file_size for part in parts), "it unpacks to")
            for part in parts:
                inner = Path(part.filename).suffix.lower()
                if inner in _PACKED:
                    raise InputError(f'it is an archive with the archive "{part.filename}" in it; unpack that')
                if inner in _XML:
                    _check_xml(archive.read(part), inner)
    elif ending in _PACKED:
        raise InputError(f"archives that end in {ending} are not read, or it is no archive; unpack it")
    elif found.st_size:
        with open(filename, "rb") as stream, mmap.mmap(stream.fileno(), 0, access=mmap.ACCESS_READ) as content:
            _check_xml(content, ending)


def _check_size(size: int, what: str) -> None:
    if size > MOST_BYTES:
        raise InputError(f"{what} {size / 2**20:.0f} MB; the most is {MOST_BYTES >> 20} MB: simplify the mesh")


def _check_xml(content: bytes | mmap.mmap, ending: str) -> None:
    """Raise an InputError for XML that defines entities: a few hundred bytes can stand for gigabytes."""
    start = content[:300].lstrip(b"\xef\xbb\xbf\xff\xfe\0 \t\r\n")
    if not start.startswith(b"<") and ending not in _XML:
        return
    declared = _DECLARED.match(start.replace(b"\0", b""))
    if declared and not _ENCODINGS.fullmatch(declared[1]):
        raise InputError(f"it is XML in the encoding {declared[1]!r}; save it in UTF-8")
    if any(content.find(doctype) >= 0 for doctype in _DOCTYPES):
        raise InputError("it has a <!DOCTYPE>, which may define entities without end; delete it")


def _resolver(filename: str) -> FilePathResolver:
    """Return what gives trimesh the files that a mesh names, such as textures: those of the robot's folders."""
    from trimesh.resolvers import FilePathResolver

    class Near(FilePathResolver):
        """Files in the package of a mesh."""

        home = os.path.realpath(home_of(Path(filename).absolute().parent))

        def get(self, name: str) -> bytes:
            # names may be those of the author's computer: then the file beside the mesh is meant
            for each in (name.strip(), name.strip().lstrip("/"), os.path.basename(name.strip())):
                real = os.path.realpath(os.path.join(self.parent, each))
                if Path(real).is_relative_to(self.home) and os.path.isfile(real):
                    _check_size(os.path.getsize(real), f'"{name}" has')
                    return Path(real).read_bytes()
            raise FileNotFoundError(f'"{name}" is not in the package of the mesh ({self.home})')

        def namespaced(self, namespace: str) -> Near:
            return Near(os.path.join(self.parent, namespace))

    return Near(filename)
