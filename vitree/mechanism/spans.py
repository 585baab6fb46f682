"""Spans: contacts one after the other that are as far away as the balls about what touches, or farther; in arrays."""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from vitree.arguments import Keywords

#: Kinds of contacts of ``_core/types.pxd``, and numbers of contacts of two convex shapes there.
ON_PLANE, SEGMENTS, ON_BOX, AT_LIMIT, ON_FIELD, ROLLS, RUBS = range(7)
AT_LENGTH, AT_SWING, AT_TWIST, AT_SPEED, AT_ANGLE = range(8, 13)
#: Those whose impulse is a number.
SINGLE = (AT_LIMIT, RUBS, AT_LENGTH, AT_SWING, AT_TWIST, AT_SPEED, AT_ANGLE)
MOST_FACETS = 8
#: The radius of a ball is larger by this share, for the rounding of where it is.
ROUNDING = 1e-12
#: A ball by its body and what it is about.
Key = tuple[int, str]


class Balls(NamedTuple):
    """Balls about shapes of bodies.

    Attributes
    ----------
    body : (n,) array of int32
        -1: the world.
    center : (n, 3) array [m]
        In the core frame of the body.
    radius : (n,) array [m]
    """

    body: np.ndarray
    center: np.ndarray
    radius: np.ndarray


class Spans(NamedTuple):
    """Spans of contacts.

    Attributes
    ----------
    rows : (k, 2) array of int32
        The first contact of each, and the one behind its last.
    center : (k, 3) array [m]
        Of the ball about its points on a plane or its shapes of the first body, in the core frame of the body.
    radius : (k,) array [m]
        The sum of the radii of its balls, and the largest softness of its contacts. -1: there is none, each contact is
        asked.
    ports : int
        Rows by which the solve sees the bodies if all contacts close: six of each body that is touched, one of each
        limit, rope and coordinate with dry friction.
    ball : (k, 2) array of int32
        The balls of each; the second is -1 on planes, and both are without a radius.
    balls : Balls
    """

    rows: np.ndarray
    center: np.ndarray
    radius: np.ndarray
    ports: int
    ball: np.ndarray
    balls: Balls


def spans_of(
    contacts: Sequence[Keywords], shapes: Sequence[Mapping[str, Any]] = (),
    facing: ArrayLike = (), at: int | None = None, softness: ArrayLike = 0.0,
) -> Spans:  # fmt: skip
    """Return the spans of contacts as the core takes them: points of one body on one plane, or the pairs of two bodies.

    A body has one ball for its pairs; of the world each span has its own. Pairs ``facing`` (n, 2) of convex ``shapes``
    have a span each, of MOST_FACETS contacts, behind the first ``at`` others; each shape has a ball. ``softness`` (n,)
    is that of the pairs [m].
    """
    spans = [list(own) for _, own in itertools.groupby(range(len(contacts)), key=lambda k: _place(contacts[k], k))]
    ends_of: dict[Key, list[tuple[np.ndarray, float]]] = {}
    keys = list[tuple[Key, ...]]()
    for k, own in enumerate(spans):
        first = contacts[own[0]]
        keys.append(())
        if first["kind"] == ON_PLANE and len(own) > 1:
            keys[k] = ((first.get("body_a", -1), f"plane {k}"),)
            ends_of[keys[k][0]] = [_end(contacts[c], "a") for c in own]
        elif first["kind"] in (SEGMENTS, ON_BOX):
            bodies = [first.get(f"body_{side}", -1) for side in "ab"]
            keys[k] = tuple((body, f"world {k}" if body < 0 else "pairs") for body in bodies)
            for key, side in zip(keys[k], "ab", strict=True):
                ends_of.setdefault(key, []).extend(end for c in own for end in _ends(contacts[c], side))
    made = {key: _ball(ends) for key, ends in ends_of.items()}
    keys = [key if all(np.isfinite(made[one][1]) for one in key) else () for key in keys]
    used = {one: n for n, one in enumerate(dict.fromkeys(one for key in keys for one in key))}
    body = [one[0] for one in used]
    rows = np.array([(own[0], own[-1] + 1) for own in spans], np.int32).reshape(-1, 2)
    touched = {each.get(side, -1) for each in contacts for side in ("body_a", "body_b")}
    center = np.array([made[key[0]][0] if key else np.zeros(3) for key in keys], float).reshape(-1, 3)
    soft = [max(float(contacts[c].get("softness", 0.0)) for c in own) for own in spans]
    radius = np.array([sum(made[one][1] for one in key) + more if key else -1.0
                       for key, more in zip(keys, soft, strict=True)], float)  # fmt: skip
    ball = np.array([([used[one] for one in key] + [-1, -1])[:2] for key in keys], np.int32).reshape(-1, 2)
    balls = Balls(np.array(body, np.int32), np.array([made[one][0] for one in used], float).reshape(-1, 3),
                  np.array([made[one][1] for one in used], float))  # fmt: skip
    pairs = np.asarray(facing, int).reshape(-1, 2)
    if len(pairs):
        touched |= {int(shapes[n].get("body", -1)) for n in np.unique(pairs)}
    single = sum(each["kind"] in SINGLE for each in contacts)
    found = Spans(rows, center, radius, 6 * len(touched - {-1}) + single, ball, balls)
    before = len(contacts) if at is None else at
    return _with_pairs(found, pairs, shapes, before, np.asarray(softness, float)) if len(pairs) else found


def _with_pairs(
    spans: Spans, pairs: np.ndarray, shapes: Sequence[Mapping[str, Any]], before: int, softness: np.ndarray
) -> Spans:
    """Spans of contacts, and those of pairs (n, 2) of convex shapes behind ``before`` of these."""
    made = {n: _ball([(np.asarray(shapes[n].get("middle", np.zeros(3)), float), float(shapes[n]["reach"]))])
            for n in np.unique(pairs).tolist()}  # fmt: skip
    radius, center = np.zeros(len(shapes)), np.zeros((len(shapes), 3))
    for n, one in made.items():
        center[n], radius[n] = one
    # the reach of a half-space is infinite, and pairs with it are asked each time
    asked = ~np.isfinite(radius[pairs]).all(axis=1)
    used = list(dict.fromkeys(pairs[~asked].ravel().tolist()))
    ball = np.full(len(shapes), -1)
    ball[used] = len(spans.balls.body) + np.arange(len(used))
    first, k = before + MOST_FACETS * np.arange(len(pairs)), int(np.searchsorted(spans.rows[:, 0], before))
    rows = np.column_stack([first, first + MOST_FACETS])
    return Spans(
        np.concatenate([spans.rows[:k], rows, spans.rows[k:] + MOST_FACETS * len(pairs)]).astype(np.int32),
        np.insert(spans.center, k, np.where(asked[:, None], 0.0, center[pairs[:, 0]]), axis=0),
        np.insert(spans.radius, k, np.where(asked, -1.0, radius[pairs].sum(axis=1) + softness)),
        spans.ports,
        np.insert(spans.ball, k, np.where(asked[:, None], -1, ball[pairs]), axis=0),
        Balls(np.append(spans.balls.body, [int(shapes[n].get("body", -1)) for n in used]).astype(np.int32),
              np.concatenate([spans.balls.center, center[used]]), np.append(spans.balls.radius, radius[used])),
    )  # fmt: skip


def _place(contact: Keywords, k: int) -> tuple[object, ...]:
    """What the contacts of a span have in common; only points on planes and pairs of bodies have anything."""
    if contact["kind"] in (SEGMENTS, ON_BOX):
        return ("pair", contact.get("body_a", -1), contact.get("body_b", -1))
    if contact["kind"] != ON_PLANE:
        return (k,)
    return (contact.get("body_a", -1), float(contact.get("offset", 0.0)),
            *(float(x) for x in contact.get("normal", (0.0, 0.0, 1.0))))  # fmt: skip


def _end(contact: Keywords, side: str) -> tuple[np.ndarray, float]:
    """A point of a body, and the radius about it."""
    return np.array(contact.get(f"point_{side}", (0.0,) * 3), float), contact.get(f"radius_{side}", 0.0)


def _ends(contact: Keywords, side: str) -> list[tuple[np.ndarray, float]]:
    """The balls whose hull is the shape of a body: both ends of a capsule, the corners of a box."""
    point, radius = _end(contact, side)
    if side == "b" and contact["kind"] == ON_BOX:
        axes = np.array(contact.get("axes_b", np.eye(3)), float).reshape(3, 3).T  # the core has its columns
        signs = itertools.product((-1.0, 1.0), repeat=3)
        with np.errstate(invalid="ignore"):
            return [(point + axes @ (np.array(each) * contact["half_b"]), 0.0) for each in signs]
    return [(point, radius), (np.array(contact.get(f"end_{side}", point), float), radius)]


def _ball(ends: list[tuple[np.ndarray, float]]) -> tuple[np.ndarray, float]:
    """The centre and the radius of a ball about balls."""
    x, r = np.array([end[0] for end in ends]), np.array([end[1] for end in ends])
    with np.errstate(over="ignore", invalid="ignore"):
        middle = 0.5 * (x.min(axis=0) + x.max(axis=0))
        away = (x - middle) ** 2
        reach = (1.0 + ROUNDING) * np.sqrt(away[:, 0] + away[:, 1] + away[:, 2])
    return middle, float(np.maximum((reach + r).max(), 0.0))
