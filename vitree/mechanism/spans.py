"""Spans: contacts one after the other that are as far away as a ball about them, or farther; in arrays."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from vitree.arguments import Keywords

#: Kinds of contacts of ``_core/types.pxd``: a point on a plane; a limit, and dry friction, of a coordinate.
ON_PLANE, AT_LIMIT, RUBS = 0, 3, 7
#: The radius of a ball is larger by this share, for the rounding of where it is.
ROUNDING = 1e-12


class Spans(NamedTuple):
    """Spans of contacts.

    Attributes
    ----------
    rows : (k, 2) array of int32
        The first contact of each, and the one behind its last.
    center : (k, 3) array [m]
        Of the ball, in the core frame of the body.
    radius : (k,) array [m]
        -1: there is no ball, each contact is asked.
    ports : int
        Rows by which the solve sees the bodies if all contacts close: six of each body that is touched, one of each
        coordinate.
    """

    rows: np.ndarray
    center: np.ndarray
    radius: np.ndarray
    ports: int


def spans_of(contacts: Sequence[Keywords]) -> Spans:
    """Return the spans of contacts as the core takes them: points of one body on one plane are one."""
    rows, center, radius = [], [], []
    for _, span in itertools.groupby(range(len(contacts)), key=lambda k: _place(contacts[k], k)):
        own = list(span)
        rows.append((own[0], own[-1] + 1))
        x = np.array([contacts[k].get("point_a", (0.0,) * 3) for k in own], float)
        middle = 0.5 * (x.min(axis=0) + x.max(axis=0))
        with np.errstate(over="ignore"):
            away = (x - middle) ** 2
            reach = (1.0 + ROUNDING) * np.sqrt(away[:, 0] + away[:, 1] + away[:, 2])
        beyond = reach + [contacts[k].get("radius_a", 0.0) for k in own]
        center.append(middle if len(own) > 1 else np.zeros(3))
        radius.append(max(0.0, beyond.max()) if len(own) > 1 else -1.0)
    touched = {each.get(body, -1) for each in contacts for body in ("body_a", "body_b")}
    single = sum(each["kind"] in (AT_LIMIT, RUBS) for each in contacts)
    return Spans(np.array(rows, np.int32).reshape(-1, 2), np.array(center, float).reshape(-1, 3),
                 np.array(radius, float), 6 * len(touched - {-1}) + single)  # fmt: skip


def _place(contact: Keywords, k: int) -> tuple[float, ...]:
    """What the contacts of a span have in common; only points on planes have anything."""
    if contact["kind"] != ON_PLANE:
        return (k,)
    return (contact.get("body_a", -1), float(contact.get("offset", 0.0)),
            *(float(x) for x in contact.get("normal", (0.0, 0.0, 1.0))))  # fmt: skip
