"""Points that bodies can reach and cannot touch, contacts with nothing to touch, and bodies that pass others."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from vitree.findings import Finding
from vitree.geometry.meshes import TriangleMesh
from vitree.geometry.shapes import RIM_POINTS, Box, Capsule, Cone, ConvexPart, Cylinder, Disk, Ellipsoid, Hull, Sphere
from vitree.geometry.solids import HALF_SPACE, circle_across, planes_about, points_within, solids_of
from vitree.mechanism.contacts import Contact, NoContact
from vitree.mechanism.flat import FREE, KIND_NV, PRISMATIC, Flat, limits_of
from vitree.mechanism.index import Index
from vitree.model.candidates import Candidates, beside_pairs, shut_pairs, whole_pairs
from vitree.spatial.checks import frozen

#: How many pairs a text names.
NAMED = 4
#: Share of its size by which a shape is taken smaller where it is asked whether two overlap.
SHRUNK = 1e-3
#: Directions that are tried to separate two shapes, and the weight of sums of shares in the search for nearest points.
TRIES, HEAVY = 20, 1e3
#: Words for kinds of shapes.
_WORDS = {Box: "box", Cylinder: "cylinder", Hull: "hull", ConvexPart: "convex part", Sphere: "sphere",
          Capsule: "capsule", Disk: "disk", Cone: "cone", Ellipsoid: "ellipsoid"}  # fmt: skip


class Part(NamedTuple):
    """One convex solid of a contact: the hull of points, with a ball about each.

    Attributes
    ----------
    body : int
        Row of the core, -1 the world.
    source : int
        Row of ``flat.contacts``.
    word : str
        "box", "cylinder", ..., "point".
    points : (n, 3) array [m]
        In the core frame.
    radius : float [m]
    """

    body: int
    source: int
    word: str
    points: np.ndarray
    radius: float

    @property
    def center(self) -> np.ndarray:
        """Middle of the points (3,) [m]."""
        found: np.ndarray = 0.5 * (self.points.min(axis=0) + self.points.max(axis=0))
        return found

    @property
    def reach(self) -> float:
        """Radius of a ball about the middle that holds it [m]."""
        return float(np.linalg.norm(self.points - self.center, axis=1).max()) + self.radius


@dataclass(frozen=True, eq=False)
class Unmet:
    """What cannot touch.

    Attributes
    ----------
    parts : tuple of Part
    pairs : (n, 2) array of int
        Rows of parts in reach of each other that cannot touch.
    idle : tuple of str
        Contacts that can meet nothing.
    names : tuple of str
        Frames of the contacts.
    loose : (n,) array of bool
        Of the pairs: whether the two are of mechanisms that are not joined.
    beside : (n,) array of bool
        Of the pairs: whether few joints are between the two, see :func:`beside_pairs`.
    """

    parts: tuple[Part, ...]
    pairs: np.ndarray
    idle: tuple[str, ...]
    names: tuple[str, ...]
    loose: np.ndarray
    beside: np.ndarray

    def __post_init__(self) -> None:
        object.__setattr__(self, "pairs", frozen(self.pairs))
        object.__setattr__(self, "loose", frozen(self.loose))
        object.__setattr__(self, "beside", frozen(self.beside))

    def findings(self) -> list[Finding]:
        """Return what is told of a model."""
        found = []
        for rows, severity in ((self.pairs[self.loose], "warning"), (self.pairs[~self.loose], "note")):
            if len(rows):
                text = "shapes that can meet, but whose contact is not supported: " + self.told(rows) + REMEDY
                found.append(Finding("contact-pair", severity, text))
        if self.idle:
            found.append(Finding("contact-idle", "warning", f"contacts without a counterpart: {', '.join(self.idle)}; "
                                 "add a ground, vt.Ground(), or shapes that they touch"))  # fmt: skip
        return found

    def told(self, rows: Iterable[Sequence[int]]) -> str:
        """Return pairs of parts as a text."""
        pairs: dict[str, None] = {}
        for i, j in rows:
            a, b = self.parts[i], self.parts[j]
            pairs[f'"{self.names[a.source]}" ({a.word}) - "{self.names[b.source]}" ({b.word})'] = None
        named, more = list(pairs)[:NAMED], len(pairs) - NAMED
        return ", ".join(named) + (f" and {more} more" if more > 0 else "")


#: What is to be done about pairs that cannot touch.
REMEDY = "; points without a radius touch the ground only: give them a radius, or a shape, or leave the pair out by " \
         "vt.NoContact"  # fmt: skip


def parts_of(index: Index, flat: Flat) -> list[Part]:
    """Return the solids of the contacts; each point of a contact is one."""
    found = []
    for row, contact in enumerate(flat.contacts):
        if not isinstance(contact, Contact):
            continue
        body, E, p = index.place(contact.frame)
        for own, radius, shape in contact.parts():
            x = own @ E.T + p
            if shape is None:
                found += [Part(body, row, "sphere" if radius else "point", at[None], radius) for at in x]
            elif isinstance(shape, Disk):  # its points are its middle, and it is no ball
                rim = shape.radius * circle_across(E @ shape.axle, RIM_POINTS)
                found.append(Part(body, row, "disk", x + rim, 0.0))
            elif isinstance(shape, TriangleMesh):
                found += [Part(body, row, "triangle mesh", solid["x"], 0.0) for solid in solids_of(shape, body, E, p)]
            else:
                found.append(Part(body, row, _WORDS[type(shape)], x, radius))
    return found


def unmet_of(index: Index, flat: Flat, candidates: Candidates, poses: np.ndarray) -> Unmet:
    """Return what of a mechanism cannot touch though it can come near, and contacts with nothing to meet.

    These are points without a radius, and shapes of other bodies. Left out are the pairs that :func:`candidates_of`
    leaves out, two of points, and pairs that the lengths of the mechanism keep apart. ``poses`` (nbody, 3, 4) [m] are
    those of the core frames at the neutral configuration.
    """
    parts = parts_of(index, flat)
    shut, whole = shut_pairs(index, flat), whole_pairs(flat)
    range_ = _Range(flat)
    row = np.array([part.source for part in parts], int)
    point = np.array([part.word == "point" for part in parts], bool)
    one, other = np.flatnonzero(point), np.flatnonzero(~point)
    open_ = np.argwhere(~shut[row[one][:, None], row[other]])
    pairs, loose = [], []
    for i, j in sorted(sorted(pair) for pair in np.column_stack([one[open_[:, 0]], other[open_[:, 1]]]).tolist()):
        a, b = parts[i], parts[j]
        if not range_.meet(a, b):
            continue
        of_one = bool(whole[a.body, b.body])
        if of_one and near((a, b), poses[None])[0, 0, 1] and overlaps(a, b, poses[None])[0]:
            continue
        pairs.append((i, j))
        loose.append(not of_one)
    names = tuple(each.frame if isinstance(each, Contact) else "" for each in flat.contacts)
    few = beside_pairs(flat)
    beside = [few[parts[i].body, parts[j].body] for i, j in pairs]
    return Unmet(tuple(parts), np.array(pairs, int).reshape(-1, 2), _idle(flat, candidates, parts, pairs), names,
                 np.array(loose, bool), np.array(beside, bool))  # fmt: skip


def _idle(flat: Flat, found: Candidates, parts: list[Part], pairs: list[tuple[int, int]]) -> tuple[str, ...]:
    """Names of contacts that meet nothing; those of pairs that cannot touch are told with these."""
    met = {*found.source.tolist()} if found.grounds else set()
    for row, kind in zip(found.pair.tolist(), found.pair_kind.tolist(), strict=True):
        met |= {int(found.rod_source[row[0]]), int((found.box_source if kind else found.rod_source)[row[1]])}
    met |= {*found.solid_source[found.facing].ravel().tolist()}
    met |= {parts[k].source for pair in pairs for k in pair}
    left_out = {name for each in flat.contacts if isinstance(each, NoContact) for name in (each.a, each.b)}
    met |= {part.source for part in parts if part.body < 0 and left_out & {"world", flat.contacts[part.source].frame}}
    return tuple(each.name for k, each in enumerate(flat.contacts) if isinstance(each, Contact) and k not in met)


class _Range:
    """How far parts can come, by the lengths of the mechanism."""

    def __init__(self, flat: Flat):
        self.flat = flat
        self.slide = np.where(np.isin(flat.kind, (PRISMATIC, FREE)), np.inf, 0.0)
        bounds = {iv: max(abs(low), abs(high)) for _, _, iv, low, high in limits_of(flat.joints, flat.constraints)}
        for body, iv in enumerate(_first_velocities(flat)):
            if flat.kind[body] == PRISMATIC:
                self.slide[body] = bounds.get(iv, np.inf) if flat.limits == "enforce" else np.inf

    def _above(self, body: int) -> list[int]:
        found = [body]
        while found[-1] >= 0:
            found.append(int(self.flat.parent[found[-1]]))
        return found

    def _ball(self, part: Part, above: int) -> tuple[np.ndarray, float]:
        """A ball in the frame of a body above that holds all places of a part: middle (3,) and radius [m]."""
        at, radius, body = part.center, part.reach, part.body
        while body != above:  # about the joint's origin it may turn to anywhere
            radius += float(np.linalg.norm(at)) + float(self.slide[body])
            at, body = self.flat.p[body], int(self.flat.parent[body])
        return at, radius

    def meet(self, a: Part, b: Part) -> bool:
        """Return whether two parts may come to each other."""
        common = next(body for body in self._above(a.body) if body in self._above(b.body))
        (x, r), (y, s) = self._ball(a, common), self._ball(b, common)
        return bool(np.linalg.norm(x - y) <= r + s)


def _first_velocities(flat: Flat) -> list[int]:
    sizes = KIND_NV[flat.kind]
    first: list[int] = (np.cumsum(sizes) - sizes).tolist()
    return first


def near(parts: Sequence[Part], poses: np.ndarray) -> np.ndarray:
    """Return whether balls about parts overlap, (n, parts, parts) bool, at poses (n, nbody, 3, 4) [m]."""
    x = np.stack([_world(part.body, part.center, poses) for part in parts], axis=1)
    reach = np.array([part.reach for part in parts])
    apart = x[:, :, None] - x[:, None]
    found: np.ndarray = np.einsum("nijk,nijk->nij", apart, apart) <= (reach[:, None] + reach) ** 2
    return found


def overlaps(a: Part, b: Part, poses: np.ndarray) -> np.ndarray:
    """Return whether two parts overlap, (n,) bool, at poses (n, nbody, 3, 4) [m] of the core frames.

    Notes
    -----
    The point of the Minkowski difference that is nearest to the origin is approached by supports; a support beyond a
    plane through the origin separates the two. What ``TRIES`` supports do not separate is decided by the nearest
    points, from least squares with weights that are not negative.

    References
    ----------
    Gilbert 1966, "An iterative procedure for computing the minimum of a quadratic form on a convex set".
    """
    (x, r), (y, s) = (_smaller(part, poses) for part in (a, b))
    v = x.mean(axis=1) - y.mean(axis=1)
    met = np.zeros(len(poses), dtype=bool)
    open_ = np.arange(len(poses))
    for _ in range(TRIES):
        size = np.linalg.norm(v[open_], axis=1)
        inside = size <= SHRUNK * (a.reach + b.reach)
        met[open_[inside]] = True
        open_, size = open_[~inside], size[~inside]
        if not len(open_):
            return met
        d = v[open_] / size[:, None]
        w = _support(x[open_], -d) - r * d - (_support(y[open_], d) + s * d)
        kept = np.einsum("ni,ni->n", w, d) <= 0.0
        open_, w = open_[kept], w[kept]
        step = v[open_] - w
        share = np.einsum("ni,ni->n", v[open_], step) / np.maximum(np.einsum("ni,ni->n", step, step), 1e-300)
        v[open_] -= np.clip(share, 0.0, 1.0)[:, None] * step
    for k in open_.tolist():
        met[k] = _distance(x[k], y[k]) <= r + s + 1e-6 * (a.reach + b.reach)
    return met


def _distance(x: np.ndarray, y: np.ndarray) -> float:
    """The distance of the hulls of points (n, 3) and (m, 3) [m]."""
    from scipy.optimize import nnls

    middle = x.mean(axis=0)
    size = max(float(np.abs(x - middle).max()), float(np.abs(y - middle).max()), 1e-300)
    columns = np.concatenate([x - middle, middle - y]).T / size
    sums = np.zeros((2, len(x) + len(y)))
    sums[0, : len(x)] = sums[1, len(x) :] = HEAVY
    shares, _ = nnls(np.concatenate([columns, sums]), np.array([0.0, 0.0, 0.0, HEAVY, HEAVY]))
    return size * float(np.linalg.norm(columns @ shares))


def _smaller(part: Part, poses: np.ndarray) -> tuple[np.ndarray, float]:
    """Points (n, k, 3) [m] in the world of a part that is slightly smaller, and the radius about them [m]."""
    middle = part.points.mean(axis=0)
    x = middle + (1.0 - SHRUNK) * (part.points - middle)
    count = len(poses)
    if part.body < 0:
        return np.broadcast_to(x, (count, *x.shape)), (1.0 - SHRUNK) * part.radius
    at = poses[:, part.body]
    return np.einsum("nij,kj->nki", at[:, :, :3], x) + at[:, None, :, 3], (1.0 - SHRUNK) * part.radius


def _support(x: np.ndarray, d: np.ndarray) -> np.ndarray:
    """The points (n, 3) of sets (n, k, 3) that are farthest along directions (n, 3)."""
    far = np.einsum("nki,ni->nk", x, d).argmax(axis=1)
    found: np.ndarray = x[np.arange(len(x)), far]
    return found


# ---- bodies that pass others in one step ---------------------------------------------------------------------------


def passes(found: Candidates, poses: np.ndarray) -> np.ndarray:
    """Return steps in which a part passes through another, rows of (step, pair), first by step.

    Parameters
    ----------
    found : Candidates
    poses : (n, nbody, 3, 4) array [m]
        Of the core frames at the nodes of n - 1 steps.

    Returns
    -------
    (k, 2) array of int
        Pairs are rows of ``found.pair``, and behind these of ``found.facing``.

    Notes
    -----
    A sphere, the middle and the ends of a capsule, and the middles of other shapes move straight between two nodes,
    seen from the other part. They pass it if they go through it while both nodes are free of it.
    """
    if len(poses) < 2:
        return np.zeros((0, 2), int)
    told = _rods_that_pass(found, poses) + _solids_that_pass(found, poses)
    return np.array(sorted(set(told)), int).reshape(-1, 2)


def sources_of_pair(found: Candidates, pair: int) -> tuple[int, int]:
    """Return rows of ``flat.contacts`` of the two of a pair of :func:`passes`."""
    if pair >= len(found.pair):
        one, other = found.solid_source[found.facing[pair - len(found.pair)]].tolist()
    else:
        i, j = found.pair[pair]
        one, other = found.rod_source[i], (found.box_source if found.pair_kind[pair] else found.rod_source)[j]
    return int(one), int(other)


def _rods_that_pass(found: Candidates, poses: np.ndarray) -> list[tuple[int, int]]:
    """Steps and pairs of spheres and capsules that pass each other, or boxes."""
    rows = np.flatnonzero(found.pair_end == 0)
    told: list[tuple[int, int]] = []
    middles = [_middles(found.rod_body, found.rod_ends.mean(axis=1), poses),
               _middles(found.box_body, found.box_p, poses)]  # fmt: skip
    moves = [np.linalg.norm(np.diff(x, axis=0), axis=2) for x in middles]
    for k in rows.tolist():
        (i, j), box = found.pair[k].tolist(), bool(found.pair_kind[k])
        radius = float(found.rod_radius[i])
        thick = 2.0 * radius + (2.0 * float(found.box_half[j].min()) if box else 2.0 * float(found.rod_radius[j]))
        fast = np.flatnonzero(moves[0][:, i] + moves[1 if box else 0][:, j] > thick)
        if not len(fast):
            continue
        ends = np.stack([found.rod_ends[i, 0], found.rod_ends[i].mean(axis=0), found.rod_ends[i, 1]])
        for at in ends if (ends[0] != ends[2]).any() else ends[:1]:
            x = [_world(found.rod_body[i], at, poses[fast + one]) for one in (0, 1)]
            if box:
                hit = _through_box(found, j, x, [poses[fast + one] for one in (0, 1)])
            else:
                hit = _through_ball(found, j, x, [poses[fast + one] for one in (0, 1)], radius)
            told += [(int(step), k) for step in fast[hit]]
    return told


def _solids_that_pass(found: Candidates, poses: np.ndarray) -> list[tuple[int, int]]:
    """Steps and pairs of convex shapes whose middles pass through the other; nothing passes half-spaces."""
    told: list[tuple[int, int]] = []
    used = [k for k in np.unique(found.facing).tolist() if found.solids[k]["kind"] != HALF_SPACE]
    if not used:
        return told
    body = {k: int(found.solids[k]["body"]) for k in used}
    points = {k: points_within(found.solids[k]) for k in used}
    middle = {k: x.mean(axis=0) for k, x in points.items()}
    move = {k: np.linalg.norm(np.diff(_world(body[k], middle[k], poses), axis=0), axis=1) for k in used}
    far = {k: float(x.max()) for k, x in move.items()}
    planes = {k: planes_about(x) for k, x in points.items()}
    # twice the radius of a ball about the middle that is within
    thick = {k: 2.0 * float((x[:, 3] - x[:, :3] @ middle[k]).min()) for k, x in planes.items()}
    for row, (i, j) in enumerate(found.facing.tolist(), start=len(found.pair)):
        if j not in body or far[i] + far[j] <= thick[i] + thick[j]:
            continue
        fast = np.flatnonzero(move[i] + move[j] > thick[i] + thick[j])
        for one, other in ((i, j), (j, i)):
            ends = [poses[fast], poses[fast + 1]]
            ways = [_seen(body[other], _world(body[one], middle[one], at), at) for at in ends]
            told += [(int(step), row) for step in fast[_through_planes(planes[other], *ways)]]
    return told


def _middles(body: np.ndarray, x: np.ndarray, poses: np.ndarray) -> np.ndarray:
    return np.stack([_world(one, at, poses) for one, at in zip(body, x, strict=True)], axis=1) if len(body) else (
        np.zeros((len(poses), 0, 3)))  # fmt: skip


def _world(body: int, x: np.ndarray, poses: np.ndarray) -> np.ndarray:
    """A point (3,) [m] of a body in the world, (n, 3)."""
    if body < 0:
        return np.broadcast_to(x, (len(poses), 3))
    found: np.ndarray = poses[:, body, :, :3] @ x + poses[:, body, :, 3]
    return found


def _seen(body: int, x: np.ndarray, poses: np.ndarray) -> np.ndarray:
    """Points (n, 3) [m] of the world in the core frame of a body."""
    if body < 0:
        return x
    seen: np.ndarray = np.einsum("nji,nj->ni", poses[:, body, :, :3], x - poses[:, body, :, 3])
    return seen


def _through_planes(planes: np.ndarray, a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """Whether straight ways from a to b (n, 3), both outside, lead through what is below all planes (m, 4)."""
    start, way = planes[:, 3] - a @ planes[:, :3].T, (b - a) @ planes[:, :3].T
    with np.errstate(divide="ignore", invalid="ignore"):
        share = start / way
    still = np.where(start >= 0.0, -np.inf, np.inf)  # along a plane: below it or never
    first = np.where(way < 0.0, share, np.where(way > 0.0, -np.inf, still)).max(axis=1)
    last = np.where(way > 0.0, share, np.inf).min(axis=1)
    result: np.ndarray = (first < last) & (first > 0.0) & (last < 1.0)
    return result


def _through_box(found: Candidates, j: int, x: list[np.ndarray], poses: list[np.ndarray]) -> np.ndarray:
    """Whether straight ways of balls (n,) from outside to outside of a box lead through it."""
    E, half = found.box_E[j], found.box_half[j]
    normals = np.concatenate([E.T, -E.T])
    planes = np.column_stack([normals, np.tile(half, 2) + normals @ found.box_p[j]])
    return _through_planes(planes, *(_seen(int(found.box_body[j]), *each) for each in zip(x, poses, strict=True)))


def _through_ball(found: Candidates, j: int, x: list[np.ndarray], poses: list[np.ndarray], radius: float) -> np.ndarray:
    """Whether straight ways of balls (n,) lead by the middle of another round part to its other side."""
    middle = found.rod_ends[j].mean(axis=0)
    a, b = (at - _world(found.rod_body[j], middle, pose) for at, pose in zip(x, poses, strict=True))
    way, reach = b - a, radius + float(found.rod_radius[j])
    share = -np.einsum("ni,ni->n", a, way) / np.maximum(np.einsum("ni,ni->n", way, way), 1e-300)
    nearest = np.linalg.norm(a + share[:, None] * way, axis=1)
    result: np.ndarray = (share > 0.0) & (share < 1.0) & (nearest < 0.5 * reach)
    return result
