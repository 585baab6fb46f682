"""What touches, in MuJoCo: a geom for each shape, and an explicit pair for each two that touch in vitree."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike

from vitree.geometry.meshes import TriangleMesh
from vitree.geometry.shapes import Box, Capsule, Cone, Cylinder, Ellipsoid, Hull, Shape, Sphere
from vitree.geometry.solids import circle_across
from vitree.mechanism.contacts import GROUND, Contact, against_ground
from vitree.model.contacts import PLACES, WIDTH
from vitree.model.model import Model
from vitree.results.contacts import ContactLog

if TYPE_CHECKING:
    from mujoco import MjData, MjModel, MjsBody, MjSpec

#: Radius of points [m].
POINT = 1e-6
#: Points on the rim of the mesh that stands for a cone.
RIM = 64
#: Steps of the half period of a spring that stands for restitution.
REBOUND = 10


def quaternion(R: np.ndarray) -> np.ndarray:
    """Return a rotation matrix (3, 3) as (w, x, y, z)."""
    import mujoco

    out = np.empty(4)
    mujoco.mju_mat2Quat(out, np.asarray(R, dtype=float).ravel())
    return out


def spring(restitution: float, dt: float, timeconst: float | None) -> list[float]:
    """Return the ``solref`` of a contact: as stiff as dt allows, or a spring that gives back a share of the speed."""
    if not restitution:
        return [timeconst or 2 * dt, 1.0]
    rate = math.pi / (REBOUND * dt)
    log = math.log(restitution)
    ratio = -log / math.hypot(math.pi, log)
    return [-(rate**2), -2 * ratio * rate]


def add_contacts(spec: MjSpec, bodies: list[MjsBody], model: Model, dt: float, timeconst: float | None) -> None:
    """Add planes, geoms and the pairs of them that touch, with the friction and the restitution of each pair.

    Geoms collide in no other pairs, so that those that vitree leaves out are left out. Each is as vitree has it but
    for a cone, which is the hull of its apex and a rim of ``RIM`` points.

    Raises
    ------
    NotImplementedError
        If MuJoCo has nothing like a shape or a ground.
    """
    flat = model.flat
    contacts = [each for each in flat.contacts if isinstance(each, Contact)]
    if not contacts:
        return
    if flat.ground is not None and flat.ground.terrain is not None:
        raise NotImplementedError("height fields")
    made = _Geoms(spec, bodies, model)
    for contact in contacts:
        made.add(contact)
    found, ground = model.contact_candidates, flat.ground
    for x, y, z, height in ground.half_spaces if ground is not None else ():
        name = _add_plane(spec, np.array((x, y, z)), height)
        for geom, contact in made.moving:
            assert ground is not None
            _add_pair(spec, (geom, name), against_ground(contact, ground), dt, timeconst)
    for k, (i, j) in enumerate(found.pair.tolist()):
        other = (made.boxes if found.pair_kind[k] else made.rods)[j]
        _add_pair(spec, (made.rods[i], other), found.pair_numbers[k], dt, timeconst)
    for k in np.flatnonzero(~found.on_ground).tolist():
        i, j = found.facing[k].tolist()
        _add_pair(spec, (made.solids[i], made.solids[j]), found.facing_numbers[k], dt, timeconst)


class _Geoms:
    """The geoms of contacts, by their names.

    Attributes
    ----------
    rods, boxes, solids : lists of str
        As rows of :class:`vitree.model.candidates.Candidates` have them.
    moving : list of (str, Contact)
        Those that may meet the ground, and what they are of.
    """

    def __init__(self, spec: MjSpec, bodies: list[MjsBody], model: Model):
        self.spec, self.bodies, self.index = spec, bodies, model.index
        self.rods, self.boxes, self.solids = list[str](), list[str](), list[str]()
        self.moving = list[tuple[str, Contact]]()

    def add(self, contact: Contact) -> None:
        """Add the geoms of a contact."""
        for points, radius, shape in contact.parts():
            if shape is not None:
                name = self._add_shape(contact, shape)
                self.solids.append(name)
                self.boxes += [name] * isinstance(shape, Box)
                self.rods += [name] * isinstance(shape, Sphere | Capsule)
                continue
            for at in points:
                name = self._add_geom(contact, "SPHERE", [radius or POINT], np.eye(3), at)
                self.solids.append(name)
                self.rods += [name] * (radius > 0)

    def _add_shape(self, contact: Contact, shape: Shape) -> str:
        kind, size, mesh = _as_geom(shape)
        if mesh is None:
            return self._add_geom(contact, kind, size, np.asarray(shape.rotation), shape.position)
        made = self.spec.add_mesh(name=f"mesh{len(self.solids)}", uservert=mesh.ravel())
        return self._add_geom(contact, kind, size, np.asarray(shape.rotation), shape.position, made.name)

    def _add_geom(
        self, contact: Contact, kind: str, size: list[float], R: np.ndarray, at: ArrayLike, mesh: str = ""
    ) -> str:
        import mujoco

        moves, E, p = self.index.place(contact.frame)
        body = self.bodies[moves] if moves >= 0 else self.spec.worldbody
        name = f"{len(self.spec.geoms)} {contact.frame}"
        geom = body.add_geom(
            name=name, type=getattr(mujoco.mjtGeom, f"mjGEOM_{kind}"), size=[*size, 0.0, 0.0, 0.0][:3],
            pos=p + E @ np.asarray(at), quat=quaternion(E @ R), contype=0, conaffinity=0,
        )  # fmt: skip
        if mesh:
            geom.meshname = mesh
        self.moving += [(name, contact)] * (moves >= 0)
        return name


def _as_geom(shape: Shape) -> tuple[str, list[float], np.ndarray | None]:
    """The kind of a geom, its sizes [m], and the vertices (n, 3) [m] of a mesh."""
    if isinstance(shape, Sphere):
        return "SPHERE", [shape.radius], None
    if isinstance(shape, Capsule | Cylinder):
        return type(shape).__name__.upper(), [shape.radius, 0.5 * shape.length], None
    if isinstance(shape, Box):
        return "BOX", [0.5 * x for x in shape.size], None
    if isinstance(shape, Ellipsoid):
        return "ELLIPSOID", [*shape.semi_axes], None
    if isinstance(shape, Hull):
        return "MESH", [], np.asarray(shape.vertices, dtype=float)
    if isinstance(shape, Cone):
        axis, half = np.array((0.0, 0.0, 1.0)), 0.5 * shape.length
        rim = shape.radius * circle_across(axis, RIM) - half * axis
        return "MESH", [], np.concatenate([rim, half * axis[None]])
    if isinstance(shape, TriangleMesh):
        raise NotImplementedError("contacts of triangle meshes, of which MuJoCo takes the convex hulls")
    raise NotImplementedError(f"contacts of {type(shape).__name__.lower()}s")


def _add_plane(spec: MjSpec, normal: np.ndarray, height: float) -> str:
    import mujoco

    x = np.cross(normal, np.eye(3)[np.abs(normal).argmin()])
    x /= np.linalg.norm(x)
    name = f"{len(spec.geoms)} {GROUND}"
    spec.worldbody.add_geom(
        name=name, type=mujoco.mjtGeom.mjGEOM_PLANE, size=[0.0, 0.0, 1.0], pos=height * normal,
        quat=quaternion(np.column_stack([x, np.cross(normal, x), normal])), contype=0, conaffinity=0,
    )  # fmt: skip
    return name


def _add_pair(
    spec: MjSpec, geoms: tuple[str, str], numbers: Sequence[float], dt: float, timeconst: float | None
) -> None:
    """Let two geoms touch, by the numbers of a pair, without those of its compliance."""
    friction, restitution, _, _, spin, roll, _ = map(float, numbers)
    spec.add_pair(
        geomname1=geoms[0], geomname2=geoms[1], condim=6 if roll else 4 if spin else 3 if friction else 1,
        solref=spring(restitution, dt, timeconst), friction=[friction, friction, spin, roll, roll],
    )  # fmt: skip


class TouchLog:
    """What touches in the steps of a run of MuJoCo that lead to records.

    Parameters
    ----------
    model : Model
    """

    def __init__(self, model: Model):
        full = model.full
        assert isinstance(full, Model)
        self.known = set(full._contact_names)
        self.numbers: dict[tuple[str, str], int] = {}
        self.rows: list[np.ndarray] = []
        self.places: list[np.ndarray] = []

    def take(self, theirs: MjModel, data: MjData, record: int) -> None:
        """Keep the contacts of the step that led to a record: forces of this step, slip at its end."""
        import mujoco

        speeds, force = np.zeros(data.nefc), np.zeros(6)
        if data.ncon:
            mujoco.mj_mulJacVec(theirs, data, speeds, data.qvel)
        for k in range(data.ncon):
            contact = data.contact[k]
            if contact.efc_address < 0:  # it does not push
                continue
            mujoco.mj_contactForce(theirs, data, k, force)
            axes = contact.frame.reshape(3, 3)  # the normal, from the first geom to the second, and across it
            one, other = (theirs.geom(int(geom)).name.partition(" ")[2] for geom in contact.geom)
            sign = 1.0 if (other, one) in self.known or one == GROUND else -1.0
            pair = (other, one) if sign > 0 else (one, other)
            number = self.numbers.setdefault(pair, len(self.numbers))
            across = speeds[contact.efc_address + 1 :][: min(contact.dim - 1, 2)]
            impulse = sign * theirs.opt.timestep * force[:3] @ axes
            slip = sign * across @ axes[1 : 1 + len(across)]
            self.rows.append(np.concatenate([[record, number], impulse, slip, [contact.dist]]))
            self.places.append(np.concatenate([contact.pos, sign * axes[0], [contact.dist]]))

    def log(self, dt: float) -> ContactLog:
        """Return what was kept."""
        rows, places = np.reshape(self.rows, (-1, WIDTH)), np.reshape(self.places, (-1, PLACES))
        return ContactLog(rows, tuple(self.numbers), places, dt)
