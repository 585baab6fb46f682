"""Contacts of a model: what may touch, the gaps between, and where contacts of a run pushed."""

from __future__ import annotations

import functools
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from vitree._core import scalar
from vitree._core.types import ContactList
from vitree.arguments import entries
from vitree.findings import Finding, Report
from vitree.mechanism.contacts import GROUND, Contact
from vitree.mechanism.spans import AT_ANGLE, AT_LENGTH, AT_SWING, AT_TWIST, MOST_FACETS
from vitree.mechanism.unilateral import ROPE
from vitree.model.broadcasting import finite_result, of_full
from vitree.model.candidates import (
    BALL_BOX,
    BALL_ROD,
    Candidates,
    ContactGaps,
    Gaps,
    Wheels,
    box_gaps,
    candidate_findings,
    candidates_of,
    facing_gaps,
    gaps_of,
    in_world,
    plane_gaps,
    rims,
    rod_gaps,
    terrain_gaps,
    wheels_of,
)
from vitree.model.collision_checks import idle_contacts, idle_text
from vitree.model.kinematics import KinematicsMethods
from vitree.model.lower import contact_names, friction_rows, lower_contacts, number_rows


class ContactForces(NamedTuple):
    """Forces of the closed contacts of a state, one row each; also of limits that are reached, wheels, dry friction.

    Attributes
    ----------
    a, b : tuples of str
        Names of frames; b is "ground" against the ground. Of coordinates a is the joint, and b "limit", "velocity
        limit" or "dry friction", of ball joints "swing limit" or "twist limit"; of ropes a is the name, and b "rope".
    force : (n, 3) array [N]
        On a, in world axes. Of limits and dry friction the first entry [N or N m], of ropes the tension.
    point : (n, 3) array [m]
        Where it acts, in the world; NaN for coordinates.
    normal : (n, 3) array
        Unit vectors in the world, from b to a; NaN for coordinates.
    slip : (n, 3) array [m/s]
        Velocity of a against b across the normal; of dry friction the first entry [m/s or rad/s].
    gap : (n,) array [m]
    torque : (n, 3) array [N m]
        Of torsional and rolling friction, on a, in world axes; zeros without.
    angular_slip : (n, 3) array [rad/s]
        Angular velocity of a relative to b about the axes of this friction.
    """

    a: tuple[str, ...]
    b: tuple[str, ...]
    force: np.ndarray
    point: np.ndarray
    normal: np.ndarray
    slip: np.ndarray
    gap: np.ndarray
    torque: np.ndarray
    angular_slip: np.ndarray

    def wrench(self, *names: str, about: ArrayLike = (0.0, 0.0, 0.0)) -> np.ndarray:
        """Return the wrench (torque, force) of contacts on frames, (6,) [N m, N], in world axes.

        Parameters
        ----------
        *names : str
            Frames; forces between them cancel. Without names all, and then only contacts with the ground count.
        about : (3,) array [m]
            Point in the world for the torque.
        """
        about = entries(about, (3,), "about")
        first = np.array([not names or x in names for x in self.a], dtype=float)
        second = np.array([bool(names) and x in names for x in self.b], dtype=float)
        if not names:
            first *= [x == GROUND for x in self.b]
        sign = np.where(np.isnan(self.point[:, 0]), 0.0, first - second)
        some = np.flatnonzero(sign)
        force, torque = sign[some, None] * self.force[some], sign[some] @ self.torque[some]
        return np.concatenate([np.cross(self.point[some] - about, force).sum(axis=0) + torque, force.sum(axis=0)])


class ContactMethods(KinematicsMethods):
    """What may touch the ground and each other, and how far it is."""

    @functools.cached_property
    @of_full
    def contact_candidates(self) -> Candidates:
        """What may touch, in arrays; bodies are those of ``full``."""
        found = self._structure.found.get("candidates")
        if found is None:
            found = candidates_of(self.index, self.flat, self._pose_rows(self.neutral()[None])[0])
        return self._structure.found.setdefault("candidates", found)

    @functools.cached_property
    @of_full
    def contact_list(self) -> ContactList:
        """What may touch, as steppers take it."""
        found = self._touching.get("list")
        if found is None:
            found = ContactList()
            if self.has_contact:
                known = self._touching.get("spans")
                found, spans = lower_contacts(self.flat, self.contact_candidates, self.wheels, known)
                self._touching.setdefault("spans", spans)
        result: ContactList = self._touching.setdefault("list", found)
        return result

    def _places_that_touch(self) -> dict[str, Any]:
        """What contacts have in common with those of another friction: their names, and the balls about them."""
        if self.has_contact:
            _ = self.contact_list, self._contact_names
        return {name: self._touching[name] for name in ("names", "spans") if name in self._touching}

    @functools.cached_property
    @of_full
    def wheels(self) -> Wheels:
        """What rolls, in arrays; bodies are those of ``full``."""
        return wheels_of(self.index, self.flat)

    @functools.cached_property
    @of_full
    def _contact_names(self) -> tuple[tuple[str, str], ...]:
        """The two that touch, in the order of the contacts."""
        if "names" not in self._touching:
            self._touching["names"] = tuple(contact_names(self.flat, self.contact_candidates))
        found: tuple[tuple[str, str], ...] = self._touching["names"]
        return found

    @finite_result
    def contact_gaps(self, q: ArrayLike) -> ContactGaps:
        """Return the gaps of all that may touch at q (nq,) [m or rad], one row each; negative in penetration.

        Left out are pairs of one body, of a body and the one that carries it, of a :class:`NoContact`, and pairs of
        one mechanism that overlap at the neutral configuration.

        Returns
        -------
        ContactGaps
            Names of frames a, b ("ground"), gap (n,) [m], normal (n, 3) from b to a, and the nearest points of a and b
            in the world (n, 3) [m].
        """
        poses = self._pose_rows(self.validate_configuration(q)[None])[0]
        return gaps_of(self.flat, self.contact_candidates, poses)

    @functools.cached_property
    @of_full
    def _idle_contacts(self) -> tuple[str, ...]:
        """Names of contacts that can meet nothing."""
        return idle_contacts(self.index, self.flat, self.contact_candidates)

    @functools.cached_property
    @of_full
    def _contact_findings(self) -> list[Finding]:
        if not any(isinstance(each, Contact) for each in self.contacts):
            return []
        idle = [Finding("contact-idle", "warning", idle_text(self._idle_contacts))] if self._idle_contacts else []
        return idle + candidate_findings(self.flat, self.contact_candidates)

    @property
    def report(self) -> Report:
        """Findings of the file that the model comes from, and contacts that do less than they seem to."""
        return self.flat.report + findings if (findings := self._contact_findings) else self.flat.report


# ---- where contacts of a run pushed: points and normals at the configurations where their impulses act --------------


core = scalar()
#: Columns of contacts as steppers have them, without those of convex shapes: record, number, impulse, slip, gap. Where
#: contacts have torsional or rolling friction more follow: the impulse of torques, the angular velocity they oppose.
WIDTH = core.CONTACT_COLUMNS
TURNED = core.TURNING_COLUMNS
#: Columns of places: point, normal, gap.
PLACES = 7
#: Poses of bodies that are worked out at once, at most.
MOST_POSES = 200_000


class Nodes(NamedTuple):
    """The configurations where steps begin, and which of them is that of each contact.

    Attributes
    ----------
    q : (m, nq) array [m or rad]
        Of the full model.
    at : (n,) int array
        Row of q of each contact; -1 where it is not known.
    before : (k, 2) int array
        Row of q, and number of a contact that pushed in the step that ended there.
    facets : (n, k) array or None
        Of each contact, what steppers tell of places of convex shapes: point, normal, gap, and the features; None where
        none may touch.
    """

    q: np.ndarray
    at: np.ndarray
    before: np.ndarray
    facets: np.ndarray | None = None

    def of(self, rows: np.ndarray) -> Nodes:
        """Return the nodes of some contacts, by their rows."""
        return self._replace(at=self.at[rows], facets=None if self.facets is None else self.facets[rows])


def split_rows(rows: np.ndarray) -> tuple[np.ndarray, np.ndarray | None]:
    """Return contacts as steppers have them without and with only the columns of the places of convex shapes.

    The latter are None without any.
    """
    turned = (rows.shape[1] - WIDTH) % core.FACET_COLUMNS == TURNED
    width = WIDTH + TURNED * turned
    return rows[:, :width], rows[:, width:] if rows.shape[1] > width else None


def torques_in(rows: np.ndarray) -> np.ndarray:
    """Return the impulses (n, 3) [N m s] of torques of contacts as steppers have them; zeros without any."""
    rows, _ = split_rows(rows)
    return rows[:, WIDTH : WIDTH + 3] if rows.shape[1] > WIDTH else np.zeros((len(rows), 3))


def places_of(model: ContactMethods, number: np.ndarray, nodes: Nodes) -> np.ndarray:
    """Return where contacts act on the first of the two, normals in the world and gaps, (n, 7) [m]; NaN for limits.

    ``number`` (n,) is as ``model.contact_list`` has it, of a model that is not reduced. Where a node is not known, it
    is NaN.

    An impulse on a point of a patch acts there, and its friction on the patch as a whole: with the mean gap of the
    points that pushed in the step before, or of the lowest where none did. One point has both effects: that of the
    contact, moved along the normal to the mean gap.
    """
    found: Candidates = model.contact_candidates
    out = np.full((len(number), 7), np.nan)
    facing = is_facet(found, number) & (nodes.at >= 0)
    if nodes.facets is not None:
        out[facing] = nodes.facets[facing, :PLACES]
    there = np.flatnonzero((nodes.at >= 0) & (number < count_of(found) + len(model.wheels)) & ~facing)
    if not len(there):
        return out
    gap, n, x, _ = gaps_at(model, number[there], nodes.at[there], nodes.q)
    out[there] = np.column_stack([x, n, gap])
    patch = patches_of(found)
    on = number[there] < len(patch)
    on[on] = patch[number[there[on]]] >= 0
    rows = there[on]
    if len(rows):
        keys, group = np.unique(np.column_stack([nodes.at[rows], patch[number[rows]]]), axis=0, return_inverse=True)
        mean = _centre_gaps(model, keys, patch, nodes)
        out[rows, :3] += (mean[group.ravel()] - out[rows, 6])[:, None] * out[rows, 3:6]
    return out


def _centre_gaps(model: ContactMethods, keys: np.ndarray, patch: np.ndarray, nodes: Nodes) -> np.ndarray:
    """Return the gaps (n,) [m] of the centres of patches; ``keys`` (n, 2) are nodes and patches.

    The means of the points that pushed in the step before, or of the lowest.
    """
    found = model.contact_candidates
    members = [np.flatnonzero(patch == p) for p in range(int(patch.max()) + 1)]
    sizes = np.array([len(members[p]) for p in keys[:, 1]])
    of, at = np.repeat(np.arange(len(keys)), sizes), np.repeat(keys[:, 0], sizes)
    number = np.concatenate([members[p] for p in keys[:, 1]])
    gap = gaps_at(model, number, at, nodes.q)[0]
    wide = int(max(number.max(), nodes.before[:, 1].max(initial=0))) + 1
    pushed = np.isin(at * wide + number, nodes.before[:, 0] * wide + nodes.before[:, 1])
    # compliant contacts that have left are open
    softness = np.where(np.isfinite(found.numbers[:, 2]), found.numbers[:, -1], np.inf)
    pushed &= ~(gap >= softness[number % len(found.body)])
    least = np.full(len(keys), np.inf)
    np.minimum.at(least, of, np.where(pushed, -np.inf, gap))
    some = pushed | (gap <= least[of] + core.LEVEL_GAP)
    mean: np.ndarray = np.bincount(of, np.where(some, gap, 0.0), len(keys)) / np.bincount(of, some, len(keys))
    return mean


def count_of(found: Candidates) -> int:
    """Return how many contacts there are without wheels that roll, limits and friction of joints."""
    return len(found.body) * found.grounds + len(found.pair) + MOST_FACETS * len(found.facing)


def is_facet(found: Candidates, number: np.ndarray) -> np.ndarray:
    """Return which contacts are places of pairs of convex shapes, (n,) bool."""
    before = len(found.body) * found.grounds + len(found.pair)
    result: np.ndarray = (number >= before) & (number < before + MOST_FACETS * len(found.facing))
    return result


def patches_of(found: Candidates) -> np.ndarray:
    """Return the patch of each point on each plane, (planes * points,); -1: none."""
    count = int(found.patch.max(initial=-1)) + 1
    rows = [np.where(found.patch >= 0, found.patch + k * count, -1) for k in range(len(found.planes))]
    return np.concatenate([*rows, np.empty(0, int)])


def gaps_at(model: ContactMethods, number: np.ndarray, row: np.ndarray, q: np.ndarray) -> Gaps:
    """Return gaps (n,) [m], normals and points of both (n, 3) of contacts at rows of configurations.

    ``number`` and ``row`` (n,) are which contact or wheel, at which row of q (m, nq) [m or rad], of a model that is not
    reduced. A pair of convex shapes has its gap at the first of its places, and infinite ones at the others.
    """
    found, nbody = model.contact_candidates, model.nbody
    used, row = np.unique(row, return_inverse=True)
    most = max(MOST_POSES // max(nbody, 1), 1)
    if len(used) > most:
        out = _no_gaps(len(row))
        for k in range(0, len(used), most):
            chosen = np.flatnonzero((row >= k) & (row < k + most))
            for to, part in zip(out, gaps_at(model, number[chosen], used[row[chosen]], q), strict=True):
                to[chosen] = part
        return out
    poses = np.concatenate([model._pose_rows(np.ascontiguousarray(q[used])).reshape(-1, 3, 4), np.eye(3, 4)[None]])
    points, planes = len(found.body), len(found.planes)
    surface = number // points if points else np.full(len(number), found.grounds)
    pair, facets = number - points * found.grounds, MOST_FACETS * len(found.facing)

    def bodies(of: np.ndarray, some: np.ndarray) -> np.ndarray:
        # rows of the poses; the world is the last
        return np.where(of < 0, len(poses) - 1, of + nbody * row[some])

    def balls(some: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        own = number[some] % points
        return in_world(bodies(found.body[own], some), found.point[own], poses), found.radius[own]

    def rods(which: np.ndarray, some: np.ndarray) -> np.ndarray:
        return in_world(bodies(found.rod_body[which], some), found.rod_ends[which], poses)

    def on_planes(some: np.ndarray) -> Gaps:
        return plane_gaps(*balls(some), found.planes[surface[some]])

    def on_terrain(some: np.ndarray) -> Gaps:
        assert found.terrain is not None
        return terrain_gaps(*balls(some), found.terrain)

    def on_rods(some: np.ndarray) -> Gaps:
        i, j = found.pair[pair[some]].T
        radii = found.rod_radius[i], found.rod_radius[j]
        return rod_gaps(rods(i, some), rods(j, some), *radii)

    def on_boxes(some: np.ndarray) -> Gaps:
        i, j = found.pair[pair[some]].T
        at = poses[bodies(found.box_body[j], some)]
        box = found.box_E[j], found.box_p[j], found.box_half[j]
        return box_gaps(rods(i, some)[:, 0], found.rod_radius[i], at, *box)

    def on_facets(some: np.ndarray) -> Gaps:
        which, place = np.divmod(pair[some] - len(found.pair), MOST_FACETS)
        first = np.flatnonzero(place == 0)
        gaps = np.inf, (0.0, 0.0, 1.0), (0.0, 0.0, 0.0), (0.0, 0.0, 0.0)
        out = tuple(np.tile(np.asarray(x, float), (len(some), 1)) for x in gaps)
        made = facing_gaps(found, which[first], poses[:-1].reshape(-1, nbody, 3, 4), row[some[first]])
        for to, x in zip(out, made, strict=True):
            to[first] = x.reshape(len(first), -1)
        return out[0][:, 0], out[1], out[2], out[3]

    def on_wheels(some: np.ndarray) -> Gaps:
        which = pair[some] - len(found.pair) - facets
        return rims(model.wheels, which, poses[bodies(model.wheels.body[which], some)])

    out = _no_gaps(len(number))
    kind = np.where(surface < planes, 0, 1)
    kind[pair >= 0] = 4
    kind[(pair >= len(found.pair)) & (pair < len(found.pair) + facets)] = 5
    of_two = (pair >= 0) & (pair < len(found.pair))
    kind[of_two] = np.where(found.pair_kind[pair[of_two]] == BALL_ROD, 2, 3)
    for k, gaps in enumerate((on_planes, on_terrain, on_rods, on_boxes, on_wheels, on_facets)):
        some = np.flatnonzero(kind == k)
        if len(some):
            for to, part in zip(out, gaps(some), strict=True):
                to[some] = part
    return out


def _no_gaps(n: int) -> Gaps:
    """Arrays to be filled."""
    return np.empty(n), np.empty((n, 3)), np.empty((n, 3)), np.empty((n, 3))


def origins_of(model: ContactMethods, frame: str, q: np.ndarray) -> np.ndarray:
    """Return the origin of a ``frame`` in the world (n, 3) [m] at rows q (n, nq) of the full model.

    Raises an UnknownNameError if there is no such frame.
    """
    body, _, p = model.index.place(frame)
    if body < 0:
        return np.tile(p, (len(q), 1))
    X = model._pose_rows(np.ascontiguousarray(q))[:, body]
    found: np.ndarray = X[:, :, :3] @ p + X[:, :, 3]
    return found


def least_gaps(model: ContactMethods, q: np.ndarray) -> np.ndarray:
    """Return the least gap (m,) [m] of all that may touch at rows q (m, nq) of the full model; NaN if nothing may."""
    found, m = model.contact_candidates, len(q)
    count, pairs = count_of(found), len(found.facing)
    if not count or not m:
        return np.full(m, np.nan)
    others = count - MOST_FACETS * pairs
    out, most = np.full(m, np.inf), max(MOST_POSES // (others + pairs), 1)
    for k in range(0, m, most):
        rows, least = q[k : k + most], out[k : k + most]
        if others:
            number, row = (x.ravel() for x in np.meshgrid(np.arange(others), np.arange(len(rows))))
            least[:] = gaps_at(model, number, row, rows)[0].reshape(len(rows), others).min(axis=1)
        if pairs:
            _with_facing(model, rows, least)
    return out


def _with_facing(model: ContactMethods, q: np.ndarray, least: np.ndarray) -> None:
    """Lower least gaps (m,) [m] at rows q (m, nq) to those of pairs of convex shapes that are less.

    No pair is nearer than the balls about its shapes; half-spaces have none, and are asked at each row.
    """
    found = model.contact_candidates
    i, j = found.facing.T
    body = [each.get("body", -1) for each in found.solids]
    middle = np.array([each.get("middle", (0.0, 0.0, 0.0)) for each in found.solids], float)
    reach = np.array([each["reach"] for each in found.solids], float)
    poses = model._pose_rows(np.ascontiguousarray(q)).reshape(len(q), model.nbody, 3, 4)
    at = np.concatenate([poses, np.broadcast_to(np.eye(3, 4), (len(q), 1, 3, 4))], axis=1)[:, body]
    x = (at[..., :3] @ middle[:, :, None])[..., 0] + at[..., 3]
    away = np.linalg.norm(x[:, i] - x[:, j], axis=2)
    bound = away - reach[i] - reach[j] - 1e-9 * away
    first = bound <= np.where(np.isfinite(bound), bound, np.inf).min(axis=1, keepdims=True)
    row, which = np.nonzero(first)
    np.minimum.at(least, row, facing_gaps(found, which, poses, row)[0])
    row, which = np.nonzero(~first & (bound < least[:, None]))
    np.minimum.at(least, row, facing_gaps(found, which, poses, row)[0])


def ends_of(model: ContactMethods) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return the bodies of the two of each contact, and an entry of v of a number, (n,) each; -1: none.

    Numbers are limits, ropes and dry friction, whose impulses act by rows of their own (:func:`rows_of_numbers`).

    The model is not a reduced one.
    """
    found: Candidates = model.contact_candidates
    one, other = found.pair.T
    box = found.pair_kind == BALL_BOX
    second = np.where(box, -1, 0)
    second[box], second[~box] = found.box_body[other[box]], found.rod_body[other[~box]]
    own, others = (np.repeat([found.solids[k].get("body", -1) for k in side], MOST_FACETS) for side in found.facing.T)
    second = np.concatenate([second, others])
    entries = [row["iv"] for row in number_rows(model.flat)]
    ground, none, wheels = found.grounds * len(found.body), [-1] * len(entries), model.wheels.body
    return (np.concatenate([np.tile(found.body, found.grounds), found.rod_body[one], own, wheels, none]).astype(int),
            np.concatenate([np.full(ground, -1), second, np.full(len(wheels), -1), none]).astype(int),
            np.concatenate([np.full(ground + len(second) + len(wheels), -1), entries]).astype(int))  # fmt: skip


def signed(model: ContactMethods, rows: np.ndarray) -> np.ndarray:
    """Return contacts (n, 9) as steppers have them, with the signs of the impulses of limits.

    Rows of dry friction are without what steppers keep there: the length of the step, and the coordinate.
    """
    limit = rows[:, 1].astype(int) - count_of(model.contact_candidates) - len(model.wheels)
    if (limit >= 0).any():
        signs = np.array([row.get("sign", 1.0) for row in number_rows(model.flat)])
        rows, limits = rows.copy(), limit >= 0
        rows[limit >= len(signs) - len(friction_rows(model.flat)), 7:] = 0.0
        rows[limits, 2] *= signs[limit[limits]]
    return rows


def rows_of_numbers(model: ContactMethods, number: np.ndarray, q: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return gaps (n,) and rows (n, nv) of contacts whose impulse is a number, at rows q (n, nq).

    A row by the impulse as records have it, which has the sign of its coordinate, is the impulse of the coordinates.
    """
    wanted = np.ascontiguousarray(number, dtype=np.intp)
    gaps, rows = core.single_rows(model.core, model.contact_list, wanted, np.ascontiguousarray(q, dtype=float))
    first = model.contact_list.count - len(made := number_rows(model.flat))
    signs = np.array([row.get("sign", 1.0) for row in made])
    return gaps, rows * signs[np.asarray(number, int) - first, None]


def unilateral_gaps(model: ContactMethods, q: np.ndarray) -> tuple[list[str], np.ndarray, np.ndarray]:
    """Return names, gaps (n,) [m or rad] and derivatives (n, nv) of these, of rigid ropes and limits of ball joints."""
    made = number_rows(model.flat) if model.flat.unilateral else []
    first = model.contact_list.count - len(made)
    which = [k for k, row in enumerate(made) if row["kind"] in (AT_LENGTH, AT_SWING, AT_TWIST, AT_ANGLE)
             and not np.isfinite(row.get("stiffness", np.inf))]  # fmt: skip
    if not which:
        return [], np.zeros(0), np.zeros((0, model.nv))
    names = [one if other == ROPE else f'{other} of "{one}"'
             for one, other in (model._contact_names[first + k] for k in which)]  # fmt: skip
    number = np.array([first + k for k in which], dtype=np.intp)
    gaps, rows = core.single_rows(model.core, model.contact_list, number, np.tile(q, (len(which), 1)))
    return names, gaps, rows


def contact_forces(model: ContactMethods, rows: np.ndarray) -> ContactForces:
    """Return the forces of closed contacts by names, from the rows of :class:`vitree.model.forces.StateForces`."""
    names, told = model._contact_names, signed(model, rows[:, :9])
    pairs = [names[k] for k in rows[:, 1].astype(int).tolist()]
    a, b = zip(*pairs, strict=True) if pairs else ((), ())
    return ContactForces(a, b, told[:, 2:5], rows[:, 9:12], rows[:, 12:15], told[:, 5:8], told[:, 8],
                         rows[:, 15:18], rows[:, 18:])


def late_pushes(
    model: ContactMethods, number: np.ndarray, h: np.ndarray, gaps: tuple[np.ndarray, np.ndarray], end: np.ndarray,
    q: np.ndarray, facets: np.ndarray | None = None,
) -> tuple[np.ndarray, np.ndarray]:  # fmt: skip
    """Return the impulses of springs of contacts that act where steps end, and the places of all there.

    Impulses (n, 3) [N s] are on the first of the two, in world axes; zero of contacts that do not yield. Places (n, 7)
    are as of :func:`places_of`. ``h`` (n,) [s] is the length of each step, ``gaps`` are those (n,) [m] where it starts
    and where it ends, and ``end`` (n,) is the row of q (m, nq) [m or rad] where it ends. ``facets`` are those of
    :class:`Nodes`. The model is not a reduced one.
    """
    impulses, places = np.zeros((len(number), 3)), np.zeros((len(number), 7))
    found = model.contact_candidates
    some = np.flatnonzero(number < count_of(found))
    arrays = (np.ascontiguousarray(x[some], dtype=float) for x in (h, *gaps))
    size = core.late_impulses(model.contact_list, np.ascontiguousarray(number[some], dtype=np.intp), *arrays)
    some, size = some[size != 0], size[size != 0]
    facing = is_facet(found, number[some])
    made = np.zeros((len(some), 7))
    gap, n, x, _ = gaps_at(model, number[some[~facing]], end[some[~facing]], q)
    made[~facing] = np.column_stack([x, n, gap])
    if facets is not None and facing.any():
        of = some[facing]
        out = np.zeros((len(of), 10))
        core.facet_gaps(model.core, model.contact_list, np.ascontiguousarray(number[of], dtype=np.intp),
                        np.ascontiguousarray(facets[of, PLACES:]), np.ascontiguousarray(q[end[of]]), out)  # fmt: skip
        made[facing] = np.column_stack([out[:, 4:7], out[:, 1:4], out[:, 0]])
    impulses[some], places[some] = size[:, None] * made[:, 3:6], made
    return impulses, places


def kicks_of(
    model: ContactMethods, number: np.ndarray, impulse: np.ndarray, places: np.ndarray, nodes: Nodes,
    torques: np.ndarray | None = None,
) -> np.ndarray:  # fmt: skip
    """Return what contacts give to the momenta of the coordinates at each node, (m, nv) [kg m/s or kg m^2/s].

    ``impulse`` (n, 3) [N s] is on the first of the two, in world axes; of a number it is the first entry. ``places``
    are as of :func:`places_of`, ``torques`` (n, 3) [N m s] as of :func:`torques_in`. The model is not a reduced one.
    """
    first, second, coordinate = ends_of(model)
    kicks = np.zeros((len(nodes.q), model.nv))
    limit = coordinate[number] >= 0
    if limit.any():
        _, rows = rows_of_numbers(model, number[limit], nodes.q[nodes.at[limit]])
        np.add.at(kicks, nodes.at[limit], impulse[limit, :1] * rows)
    x, n, gap = places[:, :3], places[:, 3:6], places[:, 6]
    for body, at, sign in ((first[number], x, 1.0), (second[number], x - gap[:, None] * n, -1.0)):
        for i in np.unique(body[(body >= 0) & ~limit]):
            some = np.flatnonzero((body == i) & ~limit)
            used, row = np.unique(nodes.at[some], return_inverse=True)
            q = np.ascontiguousarray(nodes.q[used])
            arm = at[some] - model._pose_rows(q)[row, i, :, 3]
            f = sign * impulse[some]
            wrench = np.zeros((len(used), 6))
            turn = np.cross(arm, f) if torques is None else np.cross(arm, f) + sign * torques[some]
            np.add.at(wrench, row, np.hstack([turn, f]))
            J = np.empty((len(used), 6 * model.nv))
            core.batch_jacobian(model.core, q, int(i), np.zeros(3), J)
            kicks[used] += np.einsum("nk,nkj->nj", wrench, J.reshape(len(used), 6, model.nv))
    return kicks
