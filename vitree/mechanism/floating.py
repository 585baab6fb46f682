"""Trees that move as a whole: the directions along which sliding and free joints at the root carry all of it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from vitree.mechanism.flat import FREE, PRISMATIC, Flat

#: Kinds of constraints of ``_core/types.pxd`` that know of places, and one written in Python.
POINTS, DISTANCE, USER = 0, 1, 5
#: Of directions between which no joint tells apart.
LEAST = 1e-9


class FloatingTree(NamedTuple):
    """A tree of the mechanism, all bodies of which translate together.

    Attributes
    ----------
    root : int
        Its first body.
    directions : (3, 3) array
        The projector on the directions in which it translates, world axes.
    coordinates : (k,) array
        The velocities that translate it, of sliding joints; those along x, y, z of a free one, in the body's axes.
    columns : (3, k) array
        Of sliding joints: their rates ``columns.T @ u`` translate it by u, one of its directions.
    free : int
        The body that a free joint carries, all others on it; -1 without one.
    mass : float
        Of all its bodies [kg].
    tied : bool
        Constraints tie it to the world or to another tree.
    """

    root: int
    directions: np.ndarray
    coordinates: np.ndarray
    columns: np.ndarray
    free: int
    mass: float
    tied: bool


def floating_trees(flat: Flat, iv: np.ndarray, ends: Sequence[tuple[int, ...]] = ()) -> list[FloatingTree]:
    """Return the floating trees of a mechanism; those of bodies without mass are none.

    What holds a joint (damping, friction, a drive, a prescribed motion) changes nothing: a tree that a damper of 1e-9
    slows moves like one without. ``iv`` (nbody,) is the first velocity of each body, and ``ends`` what constraints act
    on: (kind, body_a, body_b, iv_a, iv_b).
    """
    kind, parent, found = np.asarray(flat.kind), np.asarray(flat.parent), []
    tree = roots_of(parent)
    for root in np.flatnonzero(parent < 0):
        axes, coordinates, at, E, free = [], [], int(root), np.eye(3), -1
        while kind[at] in (FREE, PRISMATIC):
            E = E @ flat.E[at]
            if kind[at] == FREE:
                free, axes, coordinates = at, [*np.eye(3)], [*range(iv[at], iv[at] + 3)]
                break
            axes.append(E[:, 2])
            coordinates.append(iv[at])
            children = np.flatnonzero(parent == at)
            if flat.mass[at] or len(children) != 1:
                break
            at = int(children[0])
        mass = float(np.asarray(flat.mass)[tree == root].sum())
        if not axes or not mass > 0:
            continue
        A = np.array(axes).T
        size, turned = np.linalg.eigh(A @ A.T)
        along = turned[:, size > LEAST]
        P = np.eye(3) if along.shape[1] == 3 else along @ along.T
        tied = any(_ties(tree, int(root), coordinates, end) for end in ends)
        found.append(FloatingTree(int(root), P, np.array(coordinates), np.linalg.pinv(A, LEAST).T, free, mass, tied))
    return found


def with_masses(trees: Sequence[FloatingTree], before: Flat, flat: Flat) -> tuple[FloatingTree, ...] | None:
    """Return the floating trees of a mechanism that differs in numbers alone from the one ``before``, of ``trees``.

    None where bodies with mass are no longer the same, which may change the directions.
    """
    if flat.mass is before.mass:
        return tuple(trees)
    if not np.array_equal(flat.mass > 0, before.mass > 0) or (flat.mass < 0).any() or (before.mass < 0).any():
        return None
    tree = roots_of(flat.parent)
    return tuple(each._replace(mass=float(flat.mass[tree == each.root].sum())) for each in trees)


def roots_of(parent: np.ndarray) -> np.ndarray:
    """Return the root (nbody,) of the tree that each body is of."""
    tree = np.arange(len(parent))
    for i, up in enumerate(parent.tolist()):
        if up >= 0:
            tree[i] = tree[up]
    return tree


def _ties(tree: np.ndarray, root: int, coordinates: Sequence[int], end: tuple[int, ...]) -> bool:
    """Whether a constraint changes where the tree of a root is translated."""
    kind, body_a, body_b, iv_a, iv_b = end
    if kind == USER or iv_a in coordinates or iv_b in coordinates:
        return True
    inside = [body >= 0 and tree[body] == root for body in (body_a, body_b)]
    return kind in (POINTS, DISTANCE) and inside[0] != inside[1]
