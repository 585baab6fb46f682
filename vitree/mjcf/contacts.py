"""Geoms: what touches, and what is drawn."""

from __future__ import annotations

import os
from functools import partial
from typing import TYPE_CHECKING, cast

import numpy as np

from vitree.geometry.meshes import Meshes, TriangleMesh, meshes_by
from vitree.geometry.shapes import Box, Capsule, ConvexPart, Cylinder, Ellipsoid, Hull, Place, Shape, Sphere
from vitree.geometry.terrain import HeightField
from vitree.mechanism.contacts import Contact, Friction, Ground, NoContact
from vitree.mechanism.flat import Geometry
from vitree.mjcf.names import Findings, Names, listed, matrix
from vitree.results.drawing import MOST_TRIANGLES, THIN, hull_of
from vitree.urdf.hulls import MeshParts, array_parts

if TYPE_CHECKING:
    from mujoco import MjModel

#: How far the axes of a height field may be from those of the world [-].
UPRIGHT = 1e-9


def solids_of(model: MjModel, k: int, meshes: Meshes, told: list[MeshParts]) -> list[Shape]:
    """Return a geom as solids in the frame of its body, several of a mesh by its convex parts; none of other kinds.

    Parameters
    ----------
    model : MjModel
    k : int
        Number of the geom.
    meshes : Meshes
        How a mesh is taken.
    told : list of MeshParts
        Takes the parts of meshes.
    """
    import mujoco

    kinds, size = mujoco.mjtGeom, model.geom_size[k].tolist()
    x, y, z = model.geom_pos[k].tolist()
    place: Place = {"position": (x, y, z), "rotation": matrix(model.geom_quat[k])}
    kind = int(model.geom_type[k])
    if kind == kinds.mjGEOM_SPHERE:
        return [Sphere(size[0], **place)]
    if kind == kinds.mjGEOM_CAPSULE:
        return [Capsule(size[0], 2 * size[1], **place)]
    if kind == kinds.mjGEOM_BOX:
        return [Box((2 * size[0], 2 * size[1], 2 * size[2]), **place)]
    if kind == kinds.mjGEOM_CYLINDER:
        return [Cylinder(size[0], 2 * size[1], **place)]
    if kind == kinds.mjGEOM_ELLIPSOID:
        return [Ellipsoid((size[0], size[1], size[2]), **place)]
    if kind == kinds.mjGEOM_MESH:
        points, triangles = mesh_arrays(model, int(model.geom_dataid[k]))
        if meshes.kind == "hull":
            return [Hull(points, meshes.points, **place)]
        if meshes.kind == "triangles":
            return [TriangleMesh(points, triangles, **place)]
        found = array_parts(points, triangles, meshes.points, meshes.error)
        told.append(found)
        # which are hulls that are made already, and are taken as they are
        return [ConvexPart(cast("np.ndarray", part), meshes.points, **place) for part in found.parts]
    return []


def mesh_arrays(model: MjModel, mesh: int) -> tuple[np.ndarray, np.ndarray]:
    """Return vertices (n, 3) [m] and triangles (m, 3) of a mesh, in the axes that MuJoCo gives it."""
    first, count = int(model.mesh_vertadr[mesh]), int(model.mesh_vertnum[mesh])
    points = np.asarray(model.mesh_vert[first : first + count], dtype=float)
    first, count = int(model.mesh_faceadr[mesh]), int(model.mesh_facenum[mesh])
    return points, np.asarray(model.mesh_face[first : first + count], dtype=int)


def drawn(model: MjModel, body: int, frame: str) -> tuple[list[Geometry], int]:
    """Return the shapes of a body for viewers, and how many have no counterpart there."""
    import mujoco

    kinds, shapes, lost = mujoco.mjtGeom, [], 0
    names = {kinds.mjGEOM_SPHERE: "sphere", kinds.mjGEOM_CAPSULE: "capsule", kinds.mjGEOM_BOX: "box",
             kinds.mjGEOM_CYLINDER: "cylinder"}  # fmt: skip
    for k in range(int(model.body_geomadr[body]), int(model.body_geomadr[body] + model.body_geomnum[body])):
        # groups above 2 are hidden in MuJoCo's viewer: they are there to touch
        role = "collision" if model.geom_group[k] > 2 else "visual"
        material = int(model.geom_matid[k])
        rgba = tuple(float(x) for x in (model.geom_rgba[k] if material < 0 else model.mat_rgba[material]))
        a, b, c = model.geom_size[k].tolist()
        kind = names.get(int(model.geom_type[k]))
        if kind is None:
            made = {
                kinds.mjGEOM_MESH: partial(_of_mesh, model, k, frame, rgba, role),
                kinds.mjGEOM_ELLIPSOID: partial(_of_ellipsoid, model, k, frame, rgba, role),
                kinds.mjGEOM_PLANE: partial(_of_plane, model, k, frame, rgba, role),
            }.get(int(model.geom_type[k]), lambda: None)()
            shapes += [] if made is None else [made]
            # planes without an end are the ground
            lost += made is None and int(model.geom_type[k]) != kinds.mjGEOM_PLANE
            continue
        size = {"sphere": (a,), "box": (2 * a, 2 * b, 2 * c)}.get(kind, (a, 2 * b))
        shapes.append(Geometry(frame, kind, size, matrix(model.geom_quat[k]), np.array(model.geom_pos[k]),
                               rgba=rgba, role=role))  # fmt: skip
    return shapes, lost


def _surface(model: MjModel, geom: int, frame: str, rgba: tuple[float, ...], role: str, points: np.ndarray,
             faces: np.ndarray) -> Geometry | None:  # fmt: skip
    """Return triangles (m, 3) of points (n, 3) [m] at the place of a geom; None if they are too many."""
    if not 0 < len(faces) <= MOST_TRIANGLES:
        return None
    size = tuple(map(float, points.ravel()))
    return Geometry(frame, "surface", size, matrix(model.geom_quat[geom]), np.array(model.geom_pos[geom]), rgba=rgba,
                    role=role, faces=tuple(map(int, faces.ravel())))  # fmt: skip


def _of_ellipsoid(model: MjModel, geom: int, frame: str, rgba: tuple[float, ...], role: str) -> Geometry | None:
    a, b, c = map(float, model.geom_size[geom])
    points, faces = hull_of(Ellipsoid((a, b, c)))
    return _surface(model, geom, frame, rgba, role, points, faces)


def _of_plane(model: MjModel, geom: int, frame: str, rgba: tuple[float, ...], role: str) -> Geometry | None:
    """Return a plane as a thin box below it; None of one without an end."""
    x, y, _ = map(float, model.geom_size[geom])
    if not (x and y):
        return None
    thickness = THIN * min(x, y)
    R = matrix(model.geom_quat[geom])
    at = np.array(model.geom_pos[geom]) - 0.5 * thickness * R[:, 2]
    return Geometry(frame, "box", (2 * x, 2 * y, thickness), R, at, rgba=rgba, role=role)


def _of_mesh(model: MjModel, geom: int, frame: str, rgba: tuple[float, ...], role: str) -> Geometry | None:
    """Return the mesh of a geom as its file, in the file's own axes, or as triangles if it has no file.

    MuJoCo moves the vertices x of a file to y = R^T (x - p), with the mesh's place (R, p), and the geom stands where
    they are then: in its body x is at R_geom R^T (x - p) + p_geom.
    """
    mesh = int(model.geom_dataid[geom])
    file = _path_at(model, int(model.mesh_pathadr[mesh]))
    if file is None or not os.path.isfile(file):
        return _surface(model, geom, frame, rgba, role, *mesh_arrays(model, mesh))
    R = matrix(model.geom_quat[geom]) @ matrix(model.mesh_quat[mesh]).T
    p = np.array(model.geom_pos[geom]) - R @ model.mesh_pos[mesh]
    texture, material = None, int(model.geom_matid[geom])
    if material >= 0 and (images := [k for k in np.ravel(model.mat_texid[material]).tolist() if k >= 0]):
        texture = _path_at(model, int(model.tex_pathadr[images[0]]))
        texture = texture if texture is not None and os.path.isfile(texture) else None
    size = tuple(map(float, model.mesh_scale[mesh]))
    return Geometry(frame, "mesh", size, R, p, filename=file, rgba=rgba, role=role, texture=texture)


def _path_at(model: MjModel, address: int) -> str | None:
    """Return the absolute path of a file of the model; None if it has none."""
    if address < 0:
        return None
    text = bytes(model.paths)
    path = text[address : text.index(b"\0", address)].decode("utf-8", "replace")
    return os.path.abspath(path) if path else None


class _Geoms:
    """The geoms that can touch, and which pairs MuJoCo lets touch."""

    def __init__(self, model: MjModel):
        import mujoco

        self.model = model
        self.fixed = model.body_weldid == 0
        data = mujoco.MjData(model)
        mujoco.mj_kinematics(model, data)
        self.xpos, self.xmat = data.geom_xpos, data.geom_xmat.reshape(-1, 3, 3)
        self.kinds = mujoco.mjtGeom
        #: those of <contact>, which touch whatever else is said, by their geoms
        self.explicit = {
            frozenset((int(a), int(b))): k
            for k, (a, b) in enumerate(zip(model.pair_geom1, model.pair_geom2, strict=True))
        }
        can = np.flatnonzero((model.geom_contype != 0) | (model.geom_conaffinity != 0)).tolist()
        can = sorted({*can}.union(*self.explicit))
        self.planes = [k for k in can if int(model.geom_type[k]) == self.kinds.mjGEOM_PLANE]
        self.solids = [k for k in can if int(model.geom_type[k]) != self.kinds.mjGEOM_PLANE]
        self.coefficients = np.array(model.geom_friction)
        if model.opt.enableflags & mujoco.mjtEnableBit.mjENBL_OVERRIDE:
            self.coefficients[:] = model.opt.o_friction[[0, 2, 3]]
        self.excluded = {tuple(sorted((int(x) >> 16, int(x) & 0xFFFF))) for x in model.exclude_signature}
        self.parents_touch = bool(model.opt.disableflags & mujoco.mjtDisableBit.mjDSBL_FILTERPARENT)

    def meet(self, a: int, b: int) -> bool:
        """Whether two geoms touch each other in MuJoCo."""
        model = self.model
        one, other = int(model.geom_bodyid[a]), int(model.geom_bodyid[b])
        welds = int(model.body_weldid[one]), int(model.body_weldid[other])
        if frozenset((a, b)) in self.explicit and welds[0] != welds[1]:
            return True
        if welds[0] == welds[1] or tuple(sorted((one, other))) in self.excluded:
            return False
        if not self.parents_touch and all(welds):
            above = [int(model.body_weldid[model.body_parentid[weld]]) for weld in welds]
            if above[0] == welds[1] or above[1] == welds[0]:
                return False
        bits = [(int(model.geom_contype[k]), int(model.geom_conaffinity[k])) for k in (a, b)]
        return bool((bits[0][0] & bits[1][1]) | (bits[1][0] & bits[0][1]))

    def friction(self, a: int, b: int) -> Friction:
        """The friction of a pair: its own, the larger, or that of the geom with priority; none without friction."""
        if (pair := self.explicit.get(frozenset((a, b)))) is not None:
            slide, other, *others = map(float, self.model.pair_friction[pair])
            return _of_dim(int(self.model.pair_dim[pair]), max(slide, other), others[0], max(others[1:]))
        rank = [int(self.model.geom_priority[k]) for k in (a, b)]
        return self.friction_of(*([a, b] if rank[0] == rank[1] else [a if rank[0] > rank[1] else b]))

    def friction_of(self, *geoms: int) -> Friction:
        """The larger friction of geoms, and as much of it as the larger ``condim`` has."""
        condim = max(int(self.model.geom_condim[k]) for k in geoms)
        return _of_dim(condim, *map(float, self.coefficients[list(geoms)].max(axis=0)))


def _of_dim(condim: int, slide: float, spin: float, roll: float) -> Friction:
    """As much of the coefficients of friction as a contact of so many dimensions has."""
    spin, roll = spin if condim > 3 else 0.0, roll if condim > 4 else 0.0
    if condim == 1 or not slide:
        return 0.0
    return (slide, spin, roll) if spin or roll else slide


def add_contacts(
    model: MjModel, names: Names, findings: Findings, ground: Ground | None, given: Meshes | dict[str, Meshes],
    alone: bool = True,
) -> list[Ground | Contact | NoContact]:  # fmt: skip
    """Return the ground, the contacts, and the pairs of bodies that do not touch.

    Raises an UnknownNameError if a pattern of ``given`` fits no body with a mesh that touches.

    Parameters
    ----------
    model : MjModel
    names : Names
    findings : Findings
    ground : Ground or None
        In place of the planes of the model.
    given : Meshes, or dict of patterns to Meshes
        How meshes are taken, by names of bodies.
    alone : bool
        Whether there is nothing else that they touch. If there is, geoms that touch nothing of the model have contacts,
        too.
    """
    geoms = _Geoms(model)
    body = model.geom_bodyid
    planes = [k for k in geoms.planes if geoms.fixed[body[k]]]
    if carried := [k for k in geoms.planes if not geoms.fixed[body[k]]]:
        findings.say("contact-shape", f"planes on bodies that move: {_geoms(names, carried)}")
    if not planes and ground is None and (field := _only_field(model, geoms)) is not None:
        planes = [field]
        geoms.solids.remove(field)
    solids: dict[int, list[Shape]] = {}
    lost = []
    parts: list[MeshParts] = []
    place = {k: names.body[body[k]] if body[k] else "world" for k in geoms.solids}
    meshes = meshes_by(given, dict.fromkeys(place[k] for k in geoms.solids
                       if int(model.geom_type[k]) == geoms.kinds.mjGEOM_MESH), "body with a mesh")  # fmt: skip
    for k in geoms.solids:
        found = solids_of(model, k, meshes.get(place[k], Meshes()), parts)
        if found:
            solids[k] = found
        else:
            lost.append(k)
    if lost:
        findings.say("contact-shape", f"height fields and other shapes that touch: {_geoms(names, lost)}")
    grounded = {k: [p for p in planes if geoms.meet(k, p)] if ground is None else [] for k in solids}
    moving = [k for k in solids if not geoms.fixed[body[k]]]
    meets = [k for k in moving if ground is not None or grounded[k]]
    pairs = [(a, b) for i, a in enumerate(solids) for b in list(solids)[:i] if geoms.meet(a, b)]
    touching = {k for pair in pairs for k in pair}
    taken = [k for k in solids if k in touching or k in meets or not alone]
    flies = [k for k in taken if k in moving and k not in meets]
    if flies and meets:  # in a Contact they would touch the ground
        findings.say("contact-pair", f"geoms that touch other bodies and not the ground: {_geoms(names, flies)}")
        taken = [k for k in taken if k not in flies]
        pairs = [pair for pair in pairs if not {*pair} & {*flies}]
    if not taken:
        return []
    made: list[Ground | Contact | NoContact] = []
    if meets:
        made.append(_ground(model, geoms, findings, names, planes, grounded, meets) if ground is None else ground)
    groups: dict[tuple[int, Friction], list[Shape]] = {}
    for k in taken:
        own = [geoms.friction(k, p) for p in grounded[k][:1]]
        friction = own[0] if own else geoms.friction_of(k)
        groups.setdefault((int(body[k]), friction), []).extend(solids[k])
    made += [Contact(names.body[b] if b else "world", shapes=tuple(shapes), friction=friction)
             for (b, friction), shapes in groups.items()]  # fmt: skip
    made += _apart(geoms, names, findings, taken, pairs)
    _tell(model, findings, taken, [x for k in taken for x in solids[k]], parts, bool(pairs))
    return made


def _apart(
    geoms: _Geoms, names: Names, findings: Findings, taken: list[int], pairs: list[tuple[int, int]]
) -> list[NoContact]:
    """Return the pairs of bodies of which no geoms touch each other, and tell those that differ from MuJoCo.

    Bodies that are fixed to each other are one, and two are in contact as a whole or not at all. Of the geoms
    ``taken``, the ``pairs`` touch each other in MuJoCo.
    """
    parent, weld = geoms.model.body_parentid, geoms.model.body_weldid
    whole = weld[geoms.model.geom_bodyid].tolist()

    def bodies(a: int, b: int) -> tuple[int, int]:
        return min(whole[a], whole[b]), max(whole[a], whole[b])

    def told(found: set[tuple[int, int]]) -> str:
        return listed(f"{names.body[a] if a else 'world'} - {names.body[b]}" for a, b in sorted(found))

    touching, meet = {bodies(*pair) for pair in pairs}, set(pairs) | {(b, a) for a, b in pairs}
    if some := {bodies(a, b) for i, a in enumerate(taken) for b in taken[:i] if (a, b) not in meet} & touching:
        findings.say("contact-pair", f"bodies of which some geoms touch each other; here all of them do: {told(some)}")
    if carried := {(a, b) for a, b in touching if a and a == weld[parent[b]]}:
        findings.say("contact-pair", f"bodies that touch what carries them; here they do not: {told(carried)}")
    there = sorted({whole[k] for k in taken})
    return [NoContact(names.body[a] if a else "world", names.body[b])
            for i, a in enumerate(there) for b in there[i + 1 :] if (a, b) not in touching]  # fmt: skip


def _geoms(names: Names, numbers: list[int]) -> str:
    return listed(names.of("geom", k) or f"geom {k}" for k in numbers)


def _ground(model: MjModel, geoms: _Geoms, findings: Findings, names: Names, planes: list[int],
            grounded: dict[int, list[int]], meets: list[int]) -> Ground:  # fmt: skip
    """Return the ground of the planes that something meets."""
    used = [p for p in planes if any(p in grounded[k] for k in meets)]
    if any(set(grounded[k]) != set(used) for k in meets):
        findings.say("contact-pair", "some geoms touch some of the planes only; here all geoms touch all planes")
    if (terrain := _terrain(model, geoms, used[0])) is not None:
        findings.say("contacts", f"the height field {_geoms(names, used)} is the ground: a smooth surface through its "
                     "heights, which goes on beyond its edges")  # fmt: skip
        return Ground(terrain=terrain, friction=geoms.friction_of(used[0]))
    spaces = []
    for p in used:
        normal = geoms.xmat[p][:, 2]
        spaces.append((tuple(normal.tolist()), float(normal @ geoms.xpos[p])))
    first = used[0]
    if len({float(geoms.coefficients[p, 0]) for p in used}) > 1 or len({geoms.friction_of(p) for p in used}) > 1:
        findings.say("contact-friction", "planes with different friction: contacts have that of the first")
    return Ground(spaces[0][1], spaces[0][0], friction=geoms.friction_of(first), planes=tuple(spaces[1:]))


def _only_field(model: MjModel, geoms: _Geoms) -> int | None:
    """The height field that can be the ground: the only one, which stands still and upright; None without one."""
    fields = [k for k in geoms.solids if int(model.geom_type[k]) == geoms.kinds.mjGEOM_HFIELD]
    alone = len(fields) == 1 and geoms.fixed[model.geom_bodyid[fields[0]]]
    return fields[0] if alone and _terrain(model, geoms, fields[0]) is not None else None


def _terrain(model: MjModel, geoms: _Geoms, geom: int) -> HeightField | None:
    """The heights of a height field whose axes are those of the world; None of another geom.

    Its rows are along y and its columns along x, from one edge to the other: x = r_x (2 j/(n - 1) - 1).
    """
    if int(model.geom_type[geom]) != geoms.kinds.mjGEOM_HFIELD or not np.allclose(
        geoms.xmat[geom], np.eye(3), rtol=0.0, atol=UPRIGHT
    ):
        return None
    of = int(model.geom_dataid[geom])
    ny, nx = int(model.hfield_nrow[of]), int(model.hfield_ncol[of])
    x, y, high, _ = map(float, model.hfield_size[of])
    first = int(model.hfield_adr[of])
    heights = high * np.asarray(model.hfield_data[first : first + ny * nx], dtype=float).reshape(ny, nx).T
    a, b, c = geoms.xpos[geom].tolist()
    return HeightField(heights, (2 * x / (nx - 1), 2 * y / (ny - 1)), (a - x, b - y, c))


def _tell(
    model: MjModel, findings: Findings, taken: list[int], solids: list[Shape], parts: list[MeshParts], each_other: bool
) -> None:
    """Note how contacts are read."""
    bodies = len({int(model.geom_bodyid[k]) for k in taken})
    text = f"bodies that touch: {bodies}, by {len(taken)} geoms"
    lost = max((x.lost for x in solids if isinstance(x, Hull)), default=0.0)
    if lost:
        text += f"; hulls of few points lose up to {lost:.2g} m"
    if parts:
        outside, missing = (max(each) for each in zip(*(found.deviation for found in parts), strict=True))
        text += (f"; convex parts of {len(parts)} meshes: {sum(len(found.parts) for found in parts)}, which are up to "
                 f"{outside:.2g} m outside of their mesh and lack up to {missing:.2g} m of it")  # fmt: skip
    findings.say("contacts", text)
    if each_other:
        findings.say("contact-friction", "bodies that touch each other have the larger friction of their contacts with "
                     "the ground, which may be more than their own")  # fmt: skip
    uneven = [k for k in range(model.npair) if model.pair_friction[k, 0] != model.pair_friction[k, 1]]
    if uneven:
        text = "pairs of <contact> whose friction differs by direction, which here is the larger: "
        findings.say("contact-friction", text + str(len(uneven)))
    findings.say("contact-soft", "softness of contacts: solref, solimp, margin and gap; contacts are rigid here")
    if np.any(getattr(model, "geom_surfacevel", 0.0)) or np.any(getattr(model, "geom_adhesion", 0.0)):
        findings.say("contact-shape", "adhesion and velocities of surfaces")
