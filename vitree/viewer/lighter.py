"""Meshes as pages show them: fewer triangles and smaller images where a robot's files have more than a page needs."""

from __future__ import annotations

import io
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from trimesh import Trimesh

#: Triangles of all meshes of a page; meshes of fewer than SMALL stay as they are.
TRIANGLES, SMALL = 160_000, 400
#: Pixels of the longer side of an image on a mesh, and its quality as JPEG.
PIXELS, QUALITY = 1024, 85


def shares(counts: Iterable[int]) -> float:
    """Return the share of triangles that meshes of more than SMALL keep, so that all have TRIANGLES at most."""
    counts = list(counts)
    small = sum(count for count in counts if count <= SMALL)
    large = sum(count for count in counts if count > SMALL)
    return min(max(TRIANGLES - small, 0.2 * TRIANGLES) / large, 1.0) if large else 1.0


def lighter(mesh: Trimesh, share: float) -> Trimesh:
    """Return a mesh with a share of its triangles, by the least quadric errors; itself if it has few, or all stay.

    Colours of faces, and coordinates of textures, are those of the nearest point of the mesh as it was.
    """
    target = int(share * len(mesh.faces))
    if share >= 1 or len(mesh.faces) <= SMALL or target < 4:
        return mesh
    import trimesh

    try:
        import fast_simplification
    except ImportError:
        return mesh
    if not _plain(mesh):
        parts = mesh.visual
        return _with_visual(mesh, fast_simplification, target, parts)
    points, faces = _simplified(fast_simplification, mesh, target)
    return trimesh.Trimesh(points, faces, process=False)


def _plain(mesh: Trimesh) -> bool:
    """Whether a mesh has no colours of its own."""
    return not getattr(mesh.visual, "defined", False)


def _simplified(library: Any, mesh: Trimesh, target: int) -> tuple[np.ndarray, np.ndarray]:
    # vertices that files repeat at edges would be torn apart
    points, inverse = np.unique(np.round(np.asarray(mesh.vertices, dtype=np.float64), 7), axis=0, return_inverse=True)
    faces = inverse.reshape(-1)[np.asarray(mesh.faces)]
    faces = faces[(faces[:, 0] != faces[:, 1]) & (faces[:, 1] != faces[:, 2]) & (faces[:, 2] != faces[:, 0])]
    found: tuple[np.ndarray, np.ndarray] = library.simplify(
        points.astype(np.float32), faces.astype(np.int32), target_count=min(target, max(len(faces) - 1, 1))
    )
    return found


def _with_visual(mesh: Trimesh, library: Any, target: int, visual: Any) -> Trimesh:
    """Return a coloured mesh with fewer triangles, and the colours of the nearest vertices."""
    import trimesh
    from scipy.spatial import cKDTree

    points, faces = _simplified(library, mesh, target)
    if visual.kind == "texture" and getattr(visual, "uv", None) is not None:
        near = cKDTree(mesh.vertices).query(points)[1]
        made = trimesh.visual.TextureVisuals(uv=np.asarray(visual.uv)[near], material=visual.material)
        return trimesh.Trimesh(points, faces, visual=made, process=False)
    if visual.kind == "texture":  # without coordinates it is of one colour
        colour = np.asarray(visual.material.main_color)
        return trimesh.Trimesh(points, faces, face_colors=np.tile(colour, (len(faces), 1)), process=False)
    colours = np.asarray(visual.face_colors)
    middles = cKDTree(np.asarray(mesh.triangles_center)).query(points[faces].mean(axis=1))[1]
    return trimesh.Trimesh(points, faces, face_colors=colours[middles], process=False)


def with_texture(mesh: Trimesh, image: Any) -> Trimesh | None:
    """Return a mesh with an image on it; None if it has no texture coordinates."""
    import trimesh

    uv = getattr(mesh.visual, "uv", None)
    if uv is None or len(uv) != len(mesh.vertices):
        return None
    material = trimesh.visual.material.SimpleMaterial(image=smaller(image))
    return trimesh.Trimesh(mesh.vertices, mesh.faces, process=False,
                           visual=trimesh.visual.TextureVisuals(uv=uv, material=material))  # fmt: skip


def shrink_images(mesh: Trimesh) -> Trimesh:
    """Make the images of a mesh as small as a page needs them, in place; return it."""
    material = getattr(mesh.visual, "material", None)
    for name in ("image", "baseColorTexture"):
        image = getattr(material, name, None)
        if image is not None and max(image.size) > 64:
            setattr(material, name, smaller(image))
    for name in ("normalTexture", "metallicRoughnessTexture", "occlusionTexture"):  # which a page can do without
        if getattr(material, name, None) is not None:
            setattr(material, name, None)
    return mesh


def smaller(image: Any) -> Any:
    """Return an image of PIXELS at most, as JPEG if it is opaque."""
    from PIL import Image

    if max(image.size) > PIXELS:
        image = image.copy()
        image.thumbnail((PIXELS, PIXELS))
    if image.mode in ("RGBA", "LA", "PA") and np.asarray(image.convert("RGBA"))[..., 3].min() < 255:
        return image
    held = io.BytesIO()
    image.convert("RGB").save(held, "JPEG", quality=QUALITY)
    found = Image.open(io.BytesIO(held.getvalue()))
    found.load()
    return found
