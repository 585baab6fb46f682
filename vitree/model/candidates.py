"""What may touch or roll, as arrays, and the gaps of it."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np

from vitree._core import scalar
from vitree._core.types import ShapeList
from vitree.errors import ModelError
from vitree.findings import Finding
from vitree.geometry.distances import nearest_of_box, nearest_on_segments, rim_levers
from vitree.geometry.meshes import TriangleMesh
from vitree.geometry.numbers import array_of
from vitree.geometry.shapes import Box, Capsule, Cone, ConvexPart, Cylinder, Disk, Ellipsoid, Hull, Shape, Sphere
from vitree.geometry.solids import half_space, point_of, solid_of, solids_of
from vitree.geometry.terrain import HeightField, normals
from vitree.mechanism.constraints import Coupling
from vitree.mechanism.contacts import SURFACE, Contact, NoContact, against_ground, between
from vitree.mechanism.flat import FREE, KIND_NV, PRISMATIC, Flat
from vitree.mechanism.floating import roots_of
from vitree.mechanism.index import Index
from vitree.mechanism.unilateral import ANGLE_LIMIT, ROPE, SWING_LIMIT, TWIST_LIMIT, VELOCITY_LIMIT
from vitree.spatial.checks import frozen

#: Balls whose radius is below this share of the largest distance between points of their body count as points: a foot
#: on four small balls does not roll.
SMALL = 0.1
#: Balls are asked for their distance from a height field below so many radii.
NEAR_FIELD = 4.0
#: Hulls and points of bodies with so few joints between them overlap in ordinary motions of robots, and do not touch;
#: convex parts do, of bodies that are clear of each other at neutral.
BESIDE = 3
#: How many pairs a text names, and pairs with faces of meshes from which on they are told.
NAMED, MANY_PAIRS = 4, 2000
#: Kinds of pairs of a ball.
BALL_ROD, BALL_BOX = 0, 1

#: Gaps (n,) [m], normals, and the points of a and of b (n, 3) [m].
Gaps = tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]
#: Columns of :class:`Candidates`, by name.
Columns = dict[str, Any]
#: A point of a body: body, place, radius, whether it may roll, row of ``flat.contacts``.
_Point = tuple[int, np.ndarray, float, bool, int]
#: A rod: body, ends, radius, row.
_Rod = tuple[int, np.ndarray, float, int]
#: A convex shape: as the core takes it, row, itself; None for a point without a radius.
_Solid = tuple[Mapping[str, Any], int, Shape | None]
#: Shapes whose pairs with planes are pairs of convex shapes; the others meet planes by points.
EXACT_ON_PLANES = (Cylinder, Cone, Ellipsoid, Disk)
#: Whether convex shapes, by their numbers, have few joints between them.
_Beside = Callable[[Any, np.ndarray], np.ndarray]
#: A box: body, rotation, middle, half the edges, row.
_Box = tuple[int, np.ndarray, np.ndarray, np.ndarray, int]


@dataclass(frozen=True, eq=False)
class Candidates:
    """What may touch, in arrays; the order of rows is that of ``flat.contacts``, points before shapes.

    ``numbers`` are friction [-], restitution [-], stiffness [N/m] (inf: rigid), damping [N s/m], torsional and rolling
    friction [m], softness [m]. Bodies are rows of the core, -1 the world; places are in core frames [m]. ``source`` is
    a row of ``flat.contacts``.

    Attributes
    ----------
    body, source, patch : (n,) arrays of int32
        Of the points that may meet the ground, of moving bodies only, body after body. Points with one number in
        ``patch``, from zero, are of one body and slide and spin as one on a plane; -1: a ball that may roll.
    point : (n, 3) array
    radius : (n,) array
        Of a ball about the point; zero for a point.
    numbers : (n, 7) array
        Against the ground.
    group_body : (g,) array of int32
        The bodies that have points, in order.
    group_first : (g + 1,) array of int32
        Rows of the first points of each, and the number of all.
    group_center : (g, 3) array
    group_radius : (g,) array
        A ball in the core frame that holds all points of the body, with the balls about them.
    planes : (s, 4) array
        n . x = d of the ground's half-spaces: unit normal, d [m].
    terrain : HeightField or None
    rod_body, rod_source : (m,) arrays of int32
        Of spheres and capsules; those of the world included.
    rod_ends : (m, 2, 3) array
        Both the same of a sphere.
    rod_radius : (m,) array
    box_body, box_source : (k,) arrays of int32
    box_E : (k, 3, 3) array
        Rotations in the core frames.
    box_p, box_half : (k, 3) arrays
        Middles, and half the edges.
    pair_kind : (r,) array of int32
        Of pairs with a sphere. 0: another sphere or a capsule, 1: a box.
    pair : (r, 2) array of int32
        Rows of the two; of two rods the first is the lower row, and of a sphere and a box the sphere.
    pair_numbers : (r, 7) array
    solids : tuple of mappings
        Convex shapes as the core takes them; the half-spaces of the ground are the last.
    solid_source : (s,) array of int32
        -1: the ground.
    facing : (f, 2) array of int32
        Rows of the two solids of each further pair; the first moves.
    facing_numbers : (f, 7) array
    left_out : (k, 2) array of int32
        Rows of ``flat.contacts`` of which some shapes do not touch each other, since they overlap at neutral.
    """

    body: np.ndarray
    source: np.ndarray
    patch: np.ndarray
    point: np.ndarray
    radius: np.ndarray
    numbers: np.ndarray
    group_body: np.ndarray
    group_first: np.ndarray
    group_center: np.ndarray
    group_radius: np.ndarray
    planes: np.ndarray
    terrain: HeightField | None
    rod_body: np.ndarray
    rod_source: np.ndarray
    rod_ends: np.ndarray
    rod_radius: np.ndarray
    box_body: np.ndarray
    box_source: np.ndarray
    box_E: np.ndarray
    box_p: np.ndarray
    box_half: np.ndarray
    pair_kind: np.ndarray
    pair: np.ndarray
    pair_numbers: np.ndarray
    solids: tuple[Mapping[str, Any], ...]
    solid_source: np.ndarray
    facing: np.ndarray
    facing_numbers: np.ndarray
    left_out: np.ndarray

    def __post_init__(self) -> None:
        for name, value in vars(self).items():
            if isinstance(value, np.ndarray):
                object.__setattr__(self, name, frozen(value))

    @functools.cached_property
    def shapes(self) -> ShapeList:
        """The solids in memory of the core."""
        return ShapeList(self.solids)

    @property
    def grounds(self) -> int:
        """How many surfaces the ground has."""
        return len(self.planes) + (self.terrain is not None)

    @property
    def on_ground(self) -> np.ndarray:
        """Which of ``facing`` are of a convex shape and the ground, (f,) bool."""
        found: np.ndarray = self.solid_source[self.facing[:, 1]] < 0
        return found


class ContactGaps(NamedTuple):
    """Gaps of all that may touch, one row each.

    Attributes
    ----------
    a, b : tuples of str
        Names of frames; b is "ground" against the ground.
    gap : (n,) array [m]
        Negative in penetration.
    normal : (n, 3) array
        Unit vectors in the world, from b to a.
    point_a, point_b : (n, 3) arrays [m]
        Points of a and b in the world that are nearest to each other.
    """

    a: tuple[str, ...]
    b: tuple[str, ...]
    gap: np.ndarray
    normal: np.ndarray
    point_a: np.ndarray
    point_b: np.ndarray


#: What meets a joint or a rope, as errors name it.
OF_NUMBERS = {
    VELOCITY_LIMIT: "its limit of velocity", SWING_LIMIT: "its swing limit", TWIST_LIMIT: "its twist limit",
    ROPE: "its length", ANGLE_LIMIT: "its angle limit",
}  # fmt: skip


def named_side(name: str) -> str:
    """Return one of the two that touch, as an error names it."""
    return {"ground": "the ground", "limit": "its limit", **OF_NUMBERS}.get(name, f'"{name}"')


# ---- candidates ------------------------------------------------------------------------------------------------


def require_contacts(index: Index, flat: Flat) -> None:
    """Raise an UnknownNameError if a contact names no frame, a ModelError if nothing can meet the ground."""
    meets, bodies = False, set()
    for contact in flat.contacts:
        if isinstance(contact, Contact):
            bodies.add(index.place(contact.frame)[0])
            if index.place(contact.frame)[0] >= 0 and any(isinstance(shape, TriangleMesh) for shape in contact.shapes):
                raise ModelError(f"the {contact.name} has a triangle mesh, which stands still, and its frame moves; "
                                 "give convex parts of the mesh, vt.convex_parts(vertices, faces), or of a file "
                                 'meshes="parts"')  # fmt: skip
            meets |= index.place(contact.frame)[0] >= 0
            if flat.ground is not None and flat.ground.terrain is not None and any(
                    isinstance(shape, Disk) for shape in contact.shapes):  # fmt: skip
                raise ModelError(f"the {contact.name} has a disk, which touches planes only; on hills take a sphere")
        else:
            index.place(contact.a), index.place(contact.b)
    if flat.ground is None and len(bodies) == 1:
        name = next(contact.name for contact in flat.contacts if isinstance(contact, Contact))
        raise ModelError(
            f'the {name} of "{flat.name}" has no counterpart: there is no ground, and no other body has a contact; add '
            "vt.Ground(), or a vt.Contact of another body"
        )
    if flat.ground is None and bodies and not any(
            contact.shapes or contact.radius for contact in flat.contacts if isinstance(contact, Contact)):  # fmt: skip
        raise ModelError(
            f'all contacts of "{flat.name}" are points without a radius, which do not touch each other: two points '
            "have no normal. Add vt.Ground(), or give the contacts of one body a radius= or shapes="
        )
    if flat.ground is not None and not meets and not flat.rolling:
        raise ModelError(
            f'"{flat.name}" has a ground and nothing that can meet it: no moving body has collision shapes or points; '
            'add some, such as vt.Contact("foot", points=[(0.1, 0.05, 0), (0.1, -0.05, 0)])'
        )


def candidates_of(index: Index, flat: Flat, poses: np.ndarray) -> Candidates:
    """Return what may touch in a mechanism, by the poses (nbody, 3, 4) [m] of the core frames at neutral.

    Left out are pairs of one body, of a body and the one that carries it, those of a :class:`NoContact`, and those of
    one mechanism that overlap at the neutral configuration. The world is part of a mechanism whose base does not move
    freely; what was attached to the world is a mechanism of its own, with what it fixes there.
    """
    points, rods, boxes, solids = _placed(index, flat)
    columns = {**_ground_rows(points, flat), **_rod_rows(rods), **_box_rows(boxes)}
    kinds, pairs, overlap = _pairs(index, flat, columns, poses)
    facing, facing_overlap = _facing(index, flat, solids, poses)
    columns |= {"pair_kind": kinds, "pair": pairs, **facing}
    left_out = np.unique(np.concatenate([overlap, facing_overlap]), axis=0)
    return Candidates(**columns, **_numbers_of(flat, columns), left_out=left_out)


def resurfaced(found: Candidates, flat: Flat) -> Candidates:
    """Return what may touch with the surfaces of another mechanism, of which all else is the same."""
    made = replace(found, **_numbers_of(flat, vars(found)))
    vars(made)["shapes"] = found.shapes
    return made


def _numbers_of(flat: Flat, columns: Mapping[str, Any]) -> Columns:
    """Return the numbers of surfaces: of points on the ground, and of pairs of both kinds."""
    contacts, ground = flat.contacts, flat.ground
    rods, boxes, solids = (columns[f"{name}_source"].tolist() for name in ("rod", "box", "solid"))
    on = {} if ground is None else {row: against_ground(contacts[row], ground) for row in {*columns["source"].tolist()}}
    numbers = [on[row] for row in columns["source"].tolist()]
    pairs = [between(contacts[rods[i]], contacts[(rods, boxes)[kind][j]], ground)
             for kind, (i, j) in zip(columns["pair_kind"].tolist(), columns["pair"].tolist(), strict=True)]  # fmt: skip
    facing = [
        between(contacts[solids[i]], contacts[solids[j]], ground) if solids[j] >= 0 or ground is None
        else against_ground(contacts[solids[i]], ground) for i, j in columns["facing"].tolist()
    ]  # fmt: skip
    rows = {"numbers": numbers, "pair_numbers": pairs, "facing_numbers": facing}
    return {name: np.array(each, float).reshape(-1, SURFACE) for name, each in rows.items()}


def candidate_findings(flat: Flat, found: Candidates) -> list[Finding]:
    """Return notes of shapes that do not touch since they overlap at neutral, and of many pairs with meshes."""
    name = [each.frame if isinstance(each, Contact) else "" for each in flat.contacts]
    told = []
    if len(found.left_out):
        pairs = list(dict.fromkeys(f'"{name[a]}" - "{name[b]}"' for a, b in found.left_out.tolist()))
        more = f" and {len(pairs) - NAMED} more" if len(pairs) > NAMED else ""
        text = "shapes that overlap at the neutral configuration do not touch each other: "
        told.append(Finding("contact-pair", "note", text + ", ".join(pairs[:NAMED]) + more))
    meshes = [any(isinstance(shape, TriangleMesh) for shape in each.shapes) if isinstance(each, Contact) else False
              for each in flat.contacts]  # fmt: skip
    faces = np.array(meshes, bool)[found.solid_source] & (found.solid_source >= 0)
    if (count := int(faces[found.facing[:, 1]].sum())) > MANY_PAIRS:
        told.append(Finding("contact-mesh", "note", f"faces of triangle meshes: {faces.sum()}, which make {count} "
                            "pairs with shapes that move; memory and the time of a step grow with these"))  # fmt: skip
    return told


def facing_gaps(found: Candidates, which: np.ndarray, poses: np.ndarray, row: np.ndarray) -> Gaps:
    """Gaps (n,), normals, points of a and of b (n, 3) of pairs ``which`` (n,) of convex shapes.

    They are those at rows (n,) of poses (m, nbody, 3, 4) [m].
    """
    out = np.zeros((len(which), 10))
    for k in np.unique(row).tolist():
        some = np.flatnonzero(row == k)
        gaps = np.zeros((len(some), 11))
        scalar().shape_gaps(found.shapes, np.ascontiguousarray(found.facing[which[some]]), _columns(poses[k]), gaps)
        out[some] = gaps[:, :10]
    return out[:, 0], out[:, 1:4], out[:, 4:7], out[:, 7:10]


def _columns(poses: np.ndarray) -> np.ndarray:
    """Poses (nbody, 3, 4) [m] as the core takes them: three columns of R, and the origin, (nbody, 4, 3)."""
    return np.ascontiguousarray(poses.transpose(0, 2, 1))


def _facing(index: Index, flat: Flat, solids: list[_Solid], poses: np.ndarray) -> tuple[Columns, np.ndarray]:
    """The convex shapes, and the pairs of them that may touch and are not those of :func:`_pairs`.

    And rows (n, 2) of ``flat.contacts`` of pairs that are left out since they overlap.
    """
    shut, whole, ground = shut_pairs(index, flat), whole_pairs(index, flat), flat.ground
    beside = beside_pairs(index, flat)
    parted = parted_pairs(index, flat)
    made = [solid for solid, _, _ in solids]
    source, shapes = [row for _, row, _ in solids], [shape for _, _, shape in solids]
    planes = [] if ground is None else [half_space(plane[:3], plane[3]) for plane in ground.half_spaces]
    body = np.array([solid["body"] for solid in made], int)
    of = np.array(source, int)

    def near(one: np.ndarray | int, other: np.ndarray) -> np.ndarray:
        found: np.ndarray = beside[body[one], body[other]] & ~parted[of[one], of[other]]
        return found

    open_ = _open_pairs(body, of, shapes, shut, near)
    out = np.zeros((len(open_), 11))
    scalar().shape_gaps(ShapeList(made), open_, _columns(poses), out)
    one, other = open_.T
    overlap = _of_meshes((out[:, 0] <= 0) & whole[body[one], body[other]] & ~parted[of[one], of[other]], open_, shapes)
    overlap = _of_parts(overlap, open_, body, shapes, near)
    pairs = list[tuple[int, int]](map(tuple, open_[~overlap].tolist()))
    for i, solid in enumerate(made):
        if solid["body"] >= 0 and ground is not None and isinstance(shapes[i], EXACT_ON_PLANES):
            pairs += [(i, len(made) + k) for k in range(len(planes))]
    return {
        "solids": (*made, *planes), "solid_source": np.array(source + [-1] * len(planes), np.int32),
        "facing": np.array(pairs, np.int32).reshape(-1, 2),
    }, np.array(source, np.int32)[open_[overlap]].reshape(-1, 2)  # fmt: skip


def distance_pairs(index: Index, flat: Flat, poses: np.ndarray) -> tuple[list[Mapping[str, Any]], np.ndarray]:
    """Return all convex shapes of a mechanism as the core takes them, and the pairs (n, 2) of int32 that may come near.

    They are those of its contacts, of any two kinds, and the half-spaces of the ground. Left out are the pairs that
    :func:`candidates_of` leaves out: of one body, of a body and the one that carries it, those of a :class:`NoContact`,
    and those of one mechanism that overlap at neutral, by the poses (nbody, 3, 4) [m] of the core frames there; and two
    points.
    """
    solids, ground = _placed(index, flat)[3], flat.ground
    shut, whole = shut_pairs(index, flat), whole_pairs(index, flat)
    beside, parted = beside_pairs(index, flat), parted_pairs(index, flat)
    made = [solid for solid, _, _ in solids]
    body = np.array([solid["body"] for solid in made], int)
    source = np.array([row for _, row, _ in solids], int)
    cornered = np.array([shape is None or isinstance(shape, Hull) for _, _, shape in solids], bool)
    point = np.array([shape is None for _, _, shape in solids], bool)
    one, other = np.triu_indices(len(made), 1)
    open_ = ~shut[source[one], source[other]] & ~(point[one] & point[other]) & ((body[one] >= 0) | (body[other] >= 0))
    near = beside[body[one], body[other]] & ~parted[source[one], source[other]]
    open_ &= ~(near & cornered[one] & cornered[other])
    one, other = one[open_], other[open_]
    one, other = np.where(body[one] >= 0, one, other), np.where(body[one] >= 0, other, one)
    pairs = np.column_stack([one, other]).astype(np.int32)
    gaps = np.zeros((len(pairs), 11))
    if len(pairs):
        scalar().shape_gaps(ShapeList(made), pairs, _columns(poses), gaps)
    apart = (gaps[:, 0] > 0) | ~whole[body[one], body[other]] | parted[source[one], source[other]]
    planes = [] if ground is None else [half_space(plane[:3], plane[3]) for plane in ground.half_spaces]
    below = [(i, len(made) + k) for i in np.flatnonzero(body >= 0).tolist() for k in range(len(planes))]
    on_ground = np.array(below, np.int32).reshape(-1, 2)
    return [*made, *planes], np.ascontiguousarray(np.concatenate([pairs[apart], on_ground]))


def _of_meshes(overlap: np.ndarray, pairs: np.ndarray, shapes: list[Shape | None]) -> np.ndarray:
    """Which of pairs (n, 2) overlap, (n,) bool: with all faces of a triangle mesh if with one."""
    mesh = {id(shape): k for k, shape in enumerate(shapes) if isinstance(shape, TriangleMesh)}
    if not mesh or not overlap.any():
        return overlap
    of = np.array([mesh.get(id(shape), -1) for shape in shapes], int)
    facing = of[pairs[:, 1]]
    pair = pairs[:, 0].astype(int) * len(shapes) + facing
    found: np.ndarray = overlap | ((facing >= 0) & np.isin(pair, pair[overlap & (facing >= 0)]))
    return found


def _of_parts(
    overlap: np.ndarray, pairs: np.ndarray, body: np.ndarray, shapes: list[Shape | None], beside: _Beside
) -> np.ndarray:
    """The same of convex parts of near bodies: with all parts of the two if one overlaps one."""
    part = np.array([isinstance(shape, ConvexPart) for shape in shapes], bool)
    one, other = body[pairs].T
    near = part[pairs].all(axis=1) & beside(*pairs.T)
    both = np.minimum(one, other) * (body.max(initial=0) + 2) + np.maximum(one, other)
    found: np.ndarray = overlap | (near & np.isin(both, both[overlap & near]))
    return found


def _open_pairs(
    body: np.ndarray, source: np.ndarray, shapes: list[Shape | None], shut: np.ndarray, beside: _Beside
) -> np.ndarray:
    """Rows (n, 2) of int32 of convex shapes that may touch, the first of which moves.

    Left out are two points, and the pairs of :func:`_pairs`: a sphere and another one, a capsule or a box.
    """
    point = np.array([shape is None for shape in shapes], bool)
    ball, rod, box, hull, part = (np.array([isinstance(shape, kind) for shape in shapes], bool)
                                  for kind in (Sphere, Capsule, Box, Hull, ConvexPart))  # fmt: skip
    moving, every = np.flatnonzero(body >= 0), np.arange(len(body))
    found = [np.zeros((0, 2), np.int32)]
    for i in range(len(body)):
        j = (moving if body[i] < 0 else every)
        j = j[np.searchsorted(j, i, side="right") :]
        own = (ball[i] & (ball[j] | rod[j] | box[j])) | ((rod[i] | box[i]) & ball[j]) | (point[i] & point[j])
        cornered = (hull[i] | point[i]) & (hull[j] | point[j])
        near = cornered & ~(part[i] & part[j]) & beside(i, j)
        j = j[~(own | shut[source[i], source[j]] | near)]
        rows = np.column_stack([np.full(len(j), i), j])
        found.append((rows if body[i] >= 0 else rows[:, ::-1]).astype(np.int32))
    return np.ascontiguousarray(np.concatenate(found))


def _placed(index: Index, flat: Flat) -> tuple[list[_Point], list[_Rod], list[_Box], list[_Solid]]:
    """The points, rods, boxes and convex shapes of contacts in the core frames of their bodies."""
    points: list[_Point] = []
    rods: list[_Rod] = []
    boxes: list[_Box] = []
    solids: list[_Solid] = []
    hilly = flat.ground is not None and flat.ground.terrain is not None
    for row, contact in enumerate(flat.contacts):
        if not isinstance(contact, Contact):
            continue
        body, E, p = index.place(contact.frame)
        for own, radius, shaped in contact.parts():
            if isinstance(shaped, EXACT_ON_PLANES) and not hilly:
                continue
            x = own @ E.T + p
            capsule = shaped is not None and radius > 0 and len(x) == 2
            points += [(body, at, radius, capsule, row) for at in x]
            if radius:
                rods += [(body, x, radius, row)] if capsule else [(body, np.array([at, at]), radius, row) for at in x]
        for at in () if contact.points is None else array_of(contact.points):
            ball = Sphere(contact.radius, position=tuple(at.tolist())) if contact.radius else None
            solids.append((point_of(body, E @ at + p) if ball is None else solid_of(ball, body, E, p), row, ball))
        for shape in contact.shapes:
            solids += [(solid, row, shape) for solid in solids_of(shape, body, E, p)]
            if isinstance(shape, Box):
                half = 0.5 * np.array(shape.size)
                boxes.append((body, E @ np.array(shape.rotation), p + E @ np.array(shape.position), half, row))
    return points, rods, boxes, solids


def _ground_rows(points: list[_Point], flat: Flat) -> Columns:
    ground = flat.ground
    moving = [] if ground is None else sorted((x for x in points if x[0] >= 0), key=lambda x: x[0])
    body, radius = np.array([x[0] for x in moving], np.int32), np.array([x[2] for x in moving], float)
    point = np.array([x[1] for x in moving], float).reshape(-1, 3)
    patch = np.full(len(moving), -1, np.int32)
    bodies, first = np.unique(body, return_index=True)
    first = np.append(first, len(body))
    center, around = np.zeros((len(bodies), 3)), np.zeros(len(bodies))
    number = 0
    for k in range(len(bodies)):
        rows = np.arange(first[k], first[k + 1])
        center[k] = 0.5 * (point[rows].min(axis=0) + point[rows].max(axis=0))
        around[k] = (np.linalg.norm(point[rows] - center[k], axis=1) + radius[rows]).max()
        reach = np.linalg.norm(point[rows, None] - point[None, rows], axis=-1).max()
        still = [row for row in rows if not moving[row][3] and radius[row] <= SMALL * reach]
        if still:
            patch[still] = number
            number += 1
    return {
        "body": body, "source": np.array([x[4] for x in moving], np.int32), "patch": patch, "point": point,
        "radius": radius, "group_body": bodies.astype(np.int32), "group_first": first.astype(np.int32),
        "group_center": center, "group_radius": around,
        "planes": np.array(() if ground is None else ground.half_spaces, float).reshape(-1, 4),
        "terrain": None if ground is None else ground.terrain,
    }  # fmt: skip


def _rod_rows(rods: list[_Rod]) -> Columns:
    return {
        "rod_body": np.array([x[0] for x in rods], np.int32),
        "rod_ends": np.array([x[1] for x in rods], float).reshape(-1, 2, 3),
        "rod_radius": np.array([x[2] for x in rods], float), "rod_source": np.array([x[3] for x in rods], np.int32),
    }  # fmt: skip


def _box_rows(boxes: list[_Box]) -> Columns:
    return {
        "box_body": np.array([x[0] for x in boxes], np.int32),
        "box_E": np.array([x[1] for x in boxes], float).reshape(-1, 3, 3),
        "box_p": np.array([x[2] for x in boxes], float).reshape(-1, 3),
        "box_half": np.array([x[3] for x in boxes], float).reshape(-1, 3),
        "box_source": np.array([x[4] for x in boxes], np.int32),
    }


def _pairs(
    index: Index, flat: Flat, columns: Columns, poses: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Kinds (r,) and rows (r, 2) of pairs with a sphere that may touch.

    And rows (n, 2) of ``flat.contacts`` of those that are left out since they overlap.
    """
    rod_body, box_body = columns["rod_body"], columns["box_body"]
    rod_source, box_source = columns["rod_source"], columns["box_source"]
    shut, whole = shut_pairs(index, flat), whole_pairs(index, flat)
    one, other = np.triu_indices(len(rod_body), 1)
    long = (columns["rod_ends"][:, 0] != columns["rod_ends"][:, 1]).any(axis=1)
    open_ = ~shut[rod_source[one], rod_source[other]] & ~(long[one] & long[other])
    one, other = one[open_], other[open_]
    ball, box = (x.ravel() for x in np.meshgrid(np.flatnonzero(~long), np.arange(len(box_body)), indexing="ij"))
    open_ = ~shut[rod_source[ball], box_source[box]]
    ball, box = ball[open_], box[open_]
    parted = parted_pairs(index, flat)
    free = (_rod_gaps(columns, poses, one, other)[0] > 0) | ~whole[rod_body[one], rod_body[other]]
    clear = (_box_gaps(columns, poses, ball, box)[0] > 0) | ~whole[rod_body[ball], box_body[box]]
    free |= parted[rod_source[one], rod_source[other]]
    clear |= parted[rod_source[ball], box_source[box]]
    overlap = np.concatenate([np.column_stack([rod_source[one[~free]], rod_source[other[~free]]]),
                              np.column_stack([rod_source[ball[~clear]], box_source[box[~clear]]])])  # fmt: skip
    pairs = np.concatenate([np.column_stack([one[free], other[free]]), np.column_stack([ball[clear], box[clear]])])
    kinds = np.repeat([BALL_ROD, BALL_BOX], [free.sum(), clear.sum()])
    return kinds.astype(np.int32), pairs.astype(np.int32), overlap


def shut_pairs(index: Index, flat: Flat) -> np.ndarray:
    """Return which contacts do not touch each other, (n, n) bool, by rows of ``flat.contacts``."""
    shut = np.zeros((len(flat.kind) + 1,) * 2, dtype=bool)  # of bodies; the world is the last
    for a, b in _apart(index, flat):
        shut[a, b] = shut[b, a] = True
    np.fill_diagonal(shut, True)
    frames = [each.frame if isinstance(each, Contact) else "" for each in flat.contacts]
    body = np.array([index.place(frame)[0] if frame else -1 for frame in frames], int)
    found: np.ndarray = shut[body[:, None], body[None]]
    rows: dict[str, list[int]] = {}
    for row, frame in enumerate(frames):
        rows.setdefault(frame, []).append(row)
    for pair in flat.contacts:
        if isinstance(pair, NoContact) and not pair.bodies:
            one, other = rows.get(pair.a, []), rows.get(pair.b, [])
            found[np.ix_(one, other)] = found[np.ix_(other, one)] = True
    return found


def whole_pairs(index: Index, flat: Flat) -> np.ndarray:
    """Return which bodies are of one mechanism, (nbody + 1, nbody + 1) bool.

    The world is the last. It is of one mechanism with bodies whose base does not move freely. These are of one with
    each other if constraints join them. A base on a slide moves freely if that has no limits.
    """
    root = roots_of(flat.parent)
    first = np.cumsum([0, *KIND_NV[flat.kind]])[root]
    held = [joint.v_slice.start for joint in flat.joints if np.isfinite([*joint.lower, *joint.upper]).all()]
    floats = (flat.kind[root] == FREE) | ((flat.kind[root] == PRISMATIC) & ~np.isin(first, held))
    whole = np.zeros((len(root) + 1,) * 2, dtype=bool)
    tree = _joined(index, flat, root)
    whole[:-1, :-1] = (root[:, None] == root) | ((tree[:, None] == tree) & ~(floats[:, None] | floats))
    whole[-1, :-1] = whole[:-1, -1] = ~floats
    return whole


def _joined(index: Index, flat: Flat, root: np.ndarray) -> np.ndarray:
    """Return for each body a number of the trees that constraints join (nbody,), of the roots of its tree."""
    starts, tree = np.cumsum([0, *KIND_NV[flat.kind]]), root.copy()
    first = {joint.name: joint.v_slice.start for joint in flat.joints}
    for each in flat.constraints:
        if isinstance(each, Coupling):
            bodies = [int(np.searchsorted(starts, first[joint], side="right")) - 1 for joint in each.factors]
        else:
            bodies = [index.place(getattr(each, end))[0] for end in ("a", "b") if hasattr(each, end)]
        roots = {int(tree[body]) for body in bodies if body >= 0}
        tree[np.isin(tree, list(roots))] = min(roots, default=-1)
    return tree


def parted_pairs(index: Index, flat: Flat) -> np.ndarray:
    """Return which contacts are of different parts of the world that do not move together, (n, n) bool.

    By rows of ``flat.contacts``. They are of two mechanisms, though both may be fixed to the world.
    """
    parts = dict(flat.parts)
    frames = [each.frame if isinstance(each, Contact) else "" for each in flat.contacts]
    part = np.array([parts.get(frame, 0) for frame in frames], int)
    if not part.any():
        return np.zeros((len(part),) * 2, dtype=bool)
    still = np.array([bool(frame) and index.place(frame)[0] < 0 for frame in frames], bool)
    roots = roots_of(flat.parent)
    root = np.array([roots[index.place(frame)[0]] if frame else -1 for frame in frames], int)
    found: np.ndarray = (part[:, None] != part) & (still[:, None] | still | (root[:, None] != root))
    return found


def beside_pairs(index: Index, flat: Flat) -> np.ndarray:
    """Return which bodies have at most ``BESIDE`` joints between them, (nbody + 1, nbody + 1) bool.

    The world is the last. Bodies of mechanisms that are not joined are never beside each other, nor is the world beside
    what floats.
    """
    above = [{k} for k in range(len(flat.parent))]
    for k, parent in enumerate(flat.parent.tolist()):
        above[k] |= above[parent] if parent >= 0 else {-1}
    above.append({-1})
    near = np.array([[len(a ^ b) <= BESIDE for b in above] for a in above], dtype=bool)
    result: np.ndarray = near & whole_pairs(index, flat)
    return result


def _apart(index: Index, flat: Flat) -> Iterator[tuple[int, int]]:
    """Pairs of bodies that do not touch: those of joints, and those that the user names."""
    for i, above in enumerate(flat.parent.tolist()):
        while above >= 0 and not flat.mass[above]:  # joints of several coordinates have bodies without mass between
            yield i, above
            above = int(flat.parent[above])
        if above >= 0:
            yield i, above
    for pair in flat.contacts:
        if isinstance(pair, NoContact) and pair.bodies:
            yield index.place(pair.a)[0], index.place(pair.b)[0]


# ---- gaps ------------------------------------------------------------------------------------------------------


def in_world(body: np.ndarray, x: np.ndarray, poses: np.ndarray) -> np.ndarray:
    """Points (n, ..., 3) [m] of bodies in the world."""
    at = np.concatenate([poses, np.eye(3, 4)[None]])[body]
    turned: np.ndarray = np.einsum("nij,n...j->n...i", at[:, :, :3], x)
    found: np.ndarray = turned + at[:, :, 3].reshape(len(x), *(1,) * (x.ndim - 2), 3)
    return found


def _of(columns: Columns | Candidates, name: str) -> np.ndarray:
    found: np.ndarray = columns[name] if isinstance(columns, dict) else getattr(columns, name)
    return found


def _rod_gaps(columns: Columns | Candidates, poses: np.ndarray, i: np.ndarray, j: np.ndarray) -> Gaps:
    """Gaps (n,), normals, points of a and of b (n, 3) of rods i against rods j, one of which is a ball."""
    ends, radius = in_world(_of(columns, "rod_body"), _of(columns, "rod_ends"), poses), _of(columns, "rod_radius")
    return rod_gaps(ends[i], ends[j], radius[i], radius[j])


def rod_gaps(a: np.ndarray, b: np.ndarray, ra: np.ndarray, rb: np.ndarray) -> Gaps:
    """The same of rods (n, 2, 3) of radii (n,) against rods, one of which is a ball."""
    x, y = nearest_on_segments(b[:, 0], a[:, 0], a[:, 1]), nearest_on_segments(a[:, 0], b[:, 0], b[:, 1])
    away = np.linalg.norm(x - y, axis=1)
    n = np.where(away[:, None] > 0, (x - y) / np.where(away, away, 1.0)[:, None], (0.0, 0.0, 1.0))
    return away - ra - rb, n, x - ra[:, None] * n, y + rb[:, None] * n


def _box_gaps(columns: Columns | Candidates, poses: np.ndarray, i: np.ndarray, j: np.ndarray) -> Gaps:
    """The same of balls i against boxes j."""
    c = in_world(_of(columns, "rod_body")[i], _of(columns, "rod_ends")[i, 0], poses)
    bodies, *box = (_of(columns, name)[j] for name in ("box_body", "box_E", "box_p", "box_half"))
    return box_gaps(c, _of(columns, "rod_radius")[i], np.concatenate([poses, np.eye(3, 4)[None]])[bodies], *box)


def box_gaps(
    c: np.ndarray, radius: np.ndarray, at: np.ndarray, E: np.ndarray, p: np.ndarray, half: np.ndarray
) -> Gaps:
    """The same of balls about c (n, 3) against boxes (E, p, half) of bodies at poses (n, 3, 4)."""
    R = at[:, :, :3] @ E
    middle = np.einsum("nij,nj->ni", at[:, :, :3], p) + at[:, :, 3]
    away, n, y = nearest_of_box(np.einsum("nji,nj->ni", R, c - middle), half)
    n, y = (np.einsum("nij,nj->ni", R, x) for x in (n, y))
    return away - radius, n, c - radius[:, None] * n, y + middle


def plane_gaps(c: np.ndarray, radius: np.ndarray, plane: np.ndarray) -> Gaps:
    """The same of balls about c (n, 3) against planes (n, 4)."""
    n = plane[:, :3]
    gap = (c * n).sum(axis=1) - plane[:, 3] - radius
    x = c - radius[:, None] * n
    return gap, n, x, x - gap[:, None] * n


def terrain_gaps(c: np.ndarray, radius: np.ndarray, terrain: HeightField) -> Gaps:
    """The same of balls about c (n, 3) against a height field: by the nearest point, or far away by the point below."""
    z = terrain.heights_and_slopes(c[:, :2])
    n = normals(z[:, 1:])
    away = (c[:, 2] - z[:, 0]) * n[:, 2]
    near = np.flatnonzero((np.abs(away) <= NEAR_FIELD * radius) & (radius > 0))
    if len(near):
        p, normal, found = terrain._nearest(c[near])
        near = near[found]
        n[near], away[near] = normal[found], ((c[near] - p[found]) * normal[found]).sum(axis=1)
    gap = away - radius
    x = c - radius[:, None] * n
    return gap, n, x, x - gap[:, None] * n


def gaps_of(flat: Flat, found: Candidates, poses: np.ndarray) -> ContactGaps:
    """Return the gaps of candidates at poses (nbody, 3, 4) [m] of the core frames, those with the ground first."""
    name = [contact.frame if isinstance(contact, Contact) else "" for contact in flat.contacts]
    a: list[str] = []
    b: list[str] = []
    parts: list[Gaps] = []
    c = in_world(found.body, found.point, poses)
    parts += [plane_gaps(c, found.radius, np.broadcast_to(plane, (len(c), 4))) for plane in found.planes]
    if found.terrain is not None:
        parts.append(terrain_gaps(c, found.radius, found.terrain))
    for _ in parts:
        a += [name[k] for k in found.source]
        b += ["ground"] * len(c)
    _add_facing(found, name, np.flatnonzero(found.on_ground), poses, (a, b, parts))
    for kind, source, pair_gaps in ((BALL_ROD, found.rod_source, _rod_gaps), (BALL_BOX, found.box_source, _box_gaps)):
        one, other = found.pair[found.pair_kind == kind].T
        a += [name[k] for k in found.rod_source[one]]
        b += [name[k] for k in source[other]]
        parts.append(pair_gaps(found, poses, one, other))
    _add_facing(found, name, np.flatnonzero(~found.on_ground), poses, (a, b, parts))
    return ContactGaps(tuple(a), tuple(b), *(np.concatenate(x) for x in zip(*parts, strict=True)))


def gap_numbers(found: Candidates) -> np.ndarray:
    """Return the ``numbers`` (n, 7) of what :func:`gaps_of` has rows for."""
    below = found.on_ground
    return np.concatenate([np.tile(found.numbers, (found.grounds, 1)), found.facing_numbers[below], found.pair_numbers,
                           found.facing_numbers[~below]])  # fmt: skip


def _add_facing(
    found: Candidates, name: list[str], which: np.ndarray, poses: np.ndarray,
    to: tuple[list[str], list[str], list[Gaps]],
) -> None:  # fmt: skip
    """Add some pairs of convex shapes to names of a and of b, and to gaps."""
    one, other = found.solid_source[found.facing[which]].T.tolist()
    to[0].extend(name[k] for k in one)
    to[1].extend(name[k] if k >= 0 else "ground" for k in other)
    to[2].append(facing_gaps(found, which, poses[None], np.zeros(len(which), int)))


# ---- wheels that roll without slip -----------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Wheels:
    """What rolls, in arrays; rows as in ``flat.rolling``.

    Attributes
    ----------
    body : (n,) array of int32
        Rows of the core.
    center : (n, 3) array [m]
        In core frames.
    axis : (n, 3) array
        Axles in core frames; zero of a ball.
    radius : (n,) array [m]
    plane : (n, 4) array
        Unit normal, and n . x [m].
    holds : (n, 3) bool array
        Along the normal, along, across.
    """

    body: np.ndarray
    center: np.ndarray
    axis: np.ndarray
    radius: np.ndarray
    plane: np.ndarray
    holds: np.ndarray

    def __post_init__(self) -> None:
        for name, value in vars(self).items():
            object.__setattr__(self, name, frozen(value))

    def __len__(self) -> int:
        return len(self.body)


def wheels_of(index: Index, flat: Flat) -> Wheels:
    """Return what rolls in a mechanism.

    Raises an UnknownNameError if a frame is not known, and a ModelError if a frame does not move, or a wheel is to roll
    on a terrain.
    """
    count = len(flat.rolling)
    body, center, axis = np.zeros(count, np.int32), np.zeros((count, 3)), np.zeros((count, 3))
    plane = np.zeros((count, 4))
    for k, each in enumerate(flat.rolling):
        body[k], E, p = index.place(each.frame)
        if body[k] < 0:
            raise ModelError(f'the {each.name} does not move: "{each.frame}" is fixed to the world')
        center[k] = p + E @ np.array(each.center)
        if each.axis is not None:
            axis[k] = E @ np.array(each.axis)
        if each.plane is not None:
            plane[k] = *each.plane[0], each.plane[1]
        elif flat.ground is None:
            plane[k] = 0.0, 0.0, 1.0, 0.0
        elif flat.ground.terrain is not None:
            raise ModelError(f"the {each.name} is on a terrain; wheels that do not slip roll on planes: give plane=")
        else:
            plane[k] = flat.ground.half_spaces[0]
    radius = np.array([each.radius for each in flat.rolling], float)
    holds = np.array([each.holds for each in flat.rolling], bool).reshape(-1, 3)
    return Wheels(body, center, axis, radius, plane, holds)


def rims(
    found: Wheels, which: np.ndarray, poses: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Return gaps (n,) [m], normals, the nearest points and those of the planes (n, 3) of wheels at poses (n, 3, 4)."""
    R, n = poses[:, :, :3], found.plane[which, :3]
    c = np.einsum("nij,nj->ni", R, found.center[which]) + poses[:, :, 3]
    x = c + rim_levers(n, np.einsum("nij,nj->ni", R, found.axis[which]), found.radius[which])
    gap = (x * n).sum(axis=1) - found.plane[which, 3]
    return gap, n, x, x - gap[:, None] * n
