"""Robots and other bodies on what is below them: bases that are moved until the first gap is zero."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from vitree.arguments import explain_calls, of_kind
from vitree.errors import InputError, ModelError
from vitree.mechanism.flat import FREE, PRISMATIC
from vitree.mechanism.floating import roots_of
from vitree.mechanism.spans import MOST_FACETS
from vitree.model.broadcasting import guarded, in_coordinates
from vitree.model.candidates import named_side
from vitree.model.contacts import count_of, ends_of, gaps_at
from vitree.model.model import Model

#: Cosine between the direction of the move and a normal below which what has the normal is a wall.
WALL = 0.1
#: Newton steps of a move at most, and overlaps that count as none [m].
MOST, ZERO = 60, 1e-12
#: How far above what it stands on a base is lowered from: points on a triangle are otherwise below it by rounding [m].
ABOVE = 1e-9


@explain_calls
@guarded
def place_on_ground(model: Model, q: ArrayLike) -> np.ndarray:
    """Return a configuration whose bases are moved up or down until each stands on what is below it.

    What is below is the ground, bodies of the world such as boxes, stairs and triangle meshes, and other mechanisms. A
    base without an overlap is lowered until the first gap is zero; one that overlaps something is raised until nothing
    does, and lowered from there. Several mechanisms are moved one after the other, that with the lowest center of mass
    first, and each stands on those before it as well. Those that can meet nothing of this stay.

    Parameters
    ----------
    model : Model
        With a ground, or contacts of bodies with others. Roots that move have a free joint, or three sliding joints.
    q : (nq,) array [m or rad]

    Returns
    -------
    (nq,) array [m or rad]

    Raises
    ------
    ModelError
        If there is nothing to stand on in the model, or no base that can touch it moves freely.
    InputError
        If a body overlaps a wall, which is beside it and not below, or nothing is below a base.

    Notes
    -----
    The move is along the ground's normal, the first of several; on a height field along z; without a ground against
    gravity, or along z if there is none. The gap of two convex shapes is a convex function of the move, so that
    Newton's method from above ends at the first contact. Contacts whose normals are steeper than 84 degrees against the
    move are walls. A base is not raised over what it overlaps beside or above it, by less than a tenth of the rise that
    this takes. What is below a thin body, such as a triangle mesh, without an overlap stays below it: start above what
    is to be stood on.
    """
    of_kind(model, Model, "model", "a Model")
    return _placed(model, model.validate_configuration(q))


@in_coordinates("configuration")
def _placed(model: Model, q: np.ndarray) -> np.ndarray:
    """The same of a checked configuration."""
    if not len(_pairs(model)[0]):
        raise ModelError(
            f'"{model.name}" has no ground, and no other mechanism or body of the world that it touches; give it one, '
            "such as load_urdf(..., ground=vt.Ground())"
        )
    up, ways = up_of(model), ways_up(model)
    if not ways:
        along = "against gravity" if model.ground is None else "along the ground's normal"
        raise ModelError(
            f'the base of "{model.name}" is fixed, or does not move {along}; give it a vt.free joint (load_urdf: '
            'base="free"), or lower what is below it, such as the ground by its height, vt.Ground(height)'
        )
    heights = {root: _height(model, q, root, up) for root in ways}
    waiting = set(ways)
    for root in sorted(ways, key=heights.__getitem__):
        waiting.remove(root)
        q = _Column(model, root, waiting, up, ways[root]).placed(q)
    return q


def up_of(model: Model) -> np.ndarray:
    """Return the direction (3,) in which bases are raised: out of the ground, or against gravity."""
    up = -np.asarray(model.gravity, dtype=float)
    if model.ground is not None:
        up = np.array((0.0, 0.0, 1.0) if model.ground.terrain is not None else model.ground.normal)
    return up / size if (size := np.linalg.norm(up)) else np.array((0.0, 0.0, 1.0))


def ways_up(model: Model) -> dict[int, np.ndarray]:
    """Return the changes (nq,) of q that raise each root by 1 m, of those that move freely and may touch something.

    The model is not a reduced one.
    """
    up, (_, first, second) = up_of(model), _pairs(model)
    roots = np.unique(np.concatenate([first, second])).tolist()
    return {root: way for root in roots if root >= 0 and (way := way_of(model, root, up)) is not None}


def way_of(model: Model, root: int, up: np.ndarray) -> np.ndarray | None:
    """Return the change (nq,) of q that moves a tree by 1 m along a direction (3,) of the world; None if it cannot."""
    flat, way = model.flat, np.zeros(model.nq)
    kind, parent = flat.kind, flat.parent
    if kind[root] == FREE:
        way[model.index.iq[root] : model.index.iq[root] + 3] = up
        return way
    chain, axes, turn = [], [], np.eye(3)
    at = root
    while kind[at] == PRISMATIC:
        turn = turn @ flat.E[at]
        chain.append(at)
        axes.append(turn[:, 2])
        below = np.flatnonzero(parent == at)
        if len(below) != 1 or flat.mass[at]:
            break
        at = int(below[0])
    if not chain:
        return None
    shares, *_ = np.linalg.lstsq(np.array(axes).T, up, rcond=None)
    if np.abs(np.array(axes).T @ shares - up).max() > 1e-9:
        return None
    way[model.index.iq[chain]] = shares
    return way


def _pairs(model: Model) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Numbers of contacts of different trees that have gaps of their own, and the roots of both; -1: the world."""
    found = model.contact_candidates
    facets = MOST_FACETS * len(found.facing)
    number = np.arange(count_of(found))
    behind = number - (len(number) - facets)
    number = number[(behind < 0) | (behind % MOST_FACETS == 0)]  # the gap of convex shapes is at the first
    root = np.append(roots_of(model.flat.parent), -1)
    first, second = (root[bodies[number]] for bodies in ends_of(model)[:2])
    of_two = first != second
    return number[of_two], first[of_two], second[of_two]


def _height(model: Model, q: np.ndarray, root: int, up: np.ndarray) -> float:
    """How high the center of mass of a tree is [m]."""
    flat = model.flat
    own = np.flatnonzero(roots_of(flat.parent) == root)
    poses, mass = model._pose_rows(np.ascontiguousarray(q[None]))[0, own], flat.mass[own]
    x = np.einsum("nij,nj->ni", poses[:, :, :3], flat.com[own]) + poses[:, :, 3]
    return float(mass @ (x @ up) / mass.sum()) if mass.any() else float(x[0] @ up)


class _Column:
    """One tree, and what it may come to stand on: all that touches it and does not wait to be placed."""

    def __init__(self, model: Model, root: int, waiting: set[int], up: np.ndarray, way: np.ndarray):
        self.model, self.up, self.way = model, up, way
        number, first, second = _pairs(model)
        other = np.where(first == root, second, first)
        met = ((first == root) | (second == root)) & ~np.isin(other, list(waiting))
        self.number, self.sign = number[met], np.where(first == root, 1.0, -1.0)[met]

    def gaps(self, q: np.ndarray, which: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Gaps (n,) [m] of some of the contacts, and how fast they grow where the tree rises."""
        number = self.number[which]
        gap, n, *_ = gaps_at(self.model, number, np.zeros_like(number), q[None])
        return gap, self.sign[which] * (n @ self.up)

    def placed(self, q: np.ndarray) -> np.ndarray:
        if not len(self.number):
            return q
        q, wall = self.raised(q)
        q = q + ABOVE * self.way
        for _ in range(MOST):
            gap, rate = self.gaps(q, np.arange(len(wall)))
            below = (rate > WALL) & ~wall
            if not below.any():
                if not wall.any():
                    raise InputError(f"nothing is below {self.names(int(gap.argmin()))[0]}, which is to be put down; "
                                     "move its base over what it is to stand on, or give a ground")  # fmt: skip
                break
            step = (-gap[below] / rate[below]).max()
            q = q + step * self.way
            if abs(step) <= 1e-3 * ZERO:
                break
        gap, _ = self.gaps(q, np.arange(len(wall)))
        if gap.min() < -ZERO:
            k = int(gap.argmin())
            a, b = self.names(k)
            raise InputError(
                f"{a} is {-gap[k]:.3g} m inside {b}, which is a wall beside it, or above it: no move along "
                f"({', '.join(f'{x:g}' for x in self.up)}) brings it out; move the base aside"
            )
        return q

    def raised(self, q: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """The tree above what it overlaps, and which contacts are with walls there."""
        wall = np.zeros(len(self.number), dtype=bool)
        for _ in range(len(wall) + MOST):
            wall[:] = False
            gap, _ = self.gaps(q, np.arange(len(wall)))
            for k in np.argsort(gap)[: int((gap < -ZERO).sum())].tolist():
                rise = self.rise(q, k, -float(gap[k]))
                if rise is not None:
                    q = q + rise * self.way
                    break
                wall[k] = True
            else:
                break
        return q, wall

    def rise(self, q: np.ndarray, k: int, depth: float) -> float | None:
        """How far a contact is raised until its gap is zero [m]; None if that is more than depth/WALL."""
        from scipy.optimize import brentq

        def gap(s: float) -> float:
            return float(self.gaps(q + s * self.way, np.array([k]))[0][0])

        low, high = 0.0, depth
        while gap(high) < 0:
            low, high = high, 2.0 * high
            if low > depth / WALL:
                return None
        found = float(brentq(gap, low, high, xtol=1e-15))
        return found if found <= depth / WALL else None

    def names(self, k: int) -> tuple[str, str]:
        """The two of a contact, as an error names them; the tree's first."""
        a, b = self.model._contact_names[self.number[k]]
        return (named_side(a), named_side(b)) if self.sign[k] > 0 else (named_side(b), named_side(a))
