"""The links of a model, in the tutorial's form (section 5.1).

A link k has a parent p(k), a joint that moves it in the parent's frame by coordinates q_k, and a mass, a centre of mass
and an inertia in its own frame. One-coordinate joints turn about or move along their local z. A ball or free joint
turns by one of the three representations of ``rotations.py``.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from rotations import ROTATIONS, about

import vitree as vt
from vitree.mechanism.flat import KINDS


@dataclass(frozen=True)
class Link:
    """Link k: parent (-1: the world), the joint's rotation and place in it at rest, coordinates, and the body."""

    parent: int
    kind: str
    turned: np.ndarray  # (3, 3)
    place: np.ndarray  # (3,) [m]
    pitch: float  # [m/rad]
    rotation: str
    x: slice  # of its coordinates q_k among all
    mass: float  # [kg]
    com: np.ndarray  # c_k, (3,) [m]
    inertia: np.ndarray  # (3, 3) about the centre of mass, in the link's axes [kg m^2]

    def joint(self, q):
        """R_k and d_k, of the link in its parent's frame; the J of omega-hat_k = J q_k' and of d_k' = J q_k'."""
        q, z, zero = q[self.x], self.turned[:, 2:], np.zeros((3, 1))
        if self.kind == "revolute":
            return self.turned @ about(2, q[0]), self.place, z, zero
        if self.kind == "prismatic":
            return self.turned, self.place + q[0] * z[:, 0], zero, z
        if self.kind == "helical":
            return self.turned @ about(2, q[0]), self.place + self.pitch * q[0] * z[:, 0], z, self.pitch * z
        moves = 3 if self.kind == "free" else 0
        R, J = ROTATIONS[self.rotation][1](q[moves:])
        shifts, none = self.turned[:, :moves], np.zeros((3, J.shape[1]))
        return (self.turned @ R, self.place + shifts @ q[:moves],
                np.hstack((0 * shifts, self.turned @ J)), np.hstack((shifts, none)))  # fmt: skip


def links_of(model: vt.Model, rotation: str = "exponential") -> list[Link]:
    """The links of a model, parents before children."""
    flat, links, n = model.flat, [], 0
    turns = ROTATIONS[rotation][0] if rotation in ROTATIONS else 0
    for k, code in enumerate(flat.kind):
        size = {"ball": turns, "free": 3 + turns}.get(KINDS[code], 1)
        links.append(Link(int(flat.parent[k]), KINDS[code], flat.E[k], flat.p[k], float(flat.pitch[k]), rotation,
                          slice(n, n + size), float(flat.mass[k]), flat.com[k], flat.inertia[k]))  # fmt: skip
        n += size
    return links


def count(links) -> int:
    """Number of coordinates."""
    return links[-1].x.stop
