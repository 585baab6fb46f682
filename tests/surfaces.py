"""Meshes of our own: vertices (n, 3) and triangles (m, 3), counterclockwise seen from outside."""

from __future__ import annotations

import itertools

import numpy as np


def revolved(profile, count):
    """The solid about z of a profile (n, 2) of r and z, which begins and ends on the axis and has it on its left."""
    points, rings, faces = [], [], []
    angles = 2 * np.pi / count * np.arange(count)
    for r, z in profile:
        ring = [(0.0, 0.0, z)] if r == 0 else [(r * np.cos(a), r * np.sin(a), z) for a in angles]
        rings.append(np.arange(len(points), len(points) + len(ring)))
        points += ring
    for one, other in itertools.pairwise(rings):
        for k in range(count):
            a, b = one[k % len(one)], one[(k + 1) % len(one)]
            c, d = other[k % len(other)], other[(k + 1) % len(other)]
            faces += [(a, b, c)] * (len(one) > 1)
            faces += [(b, d, c)] * (len(one) > 1 and len(other) > 1) + [(a, d, c)] * (len(one) == 1)
    return np.array(points), np.array(faces)


#: A mug without a handle: 8 cm wide, 10 cm high, walls of 1 cm.
MUG = revolved([(0, 0), (0.04, 0), (0.04, 0.1), (0.03, 0.1), (0.03, 0.01), (0, 0.01)], 12)


def tray(outer=(0.3, 0.3, 0.1), wall=0.02):
    """An open box with a floor and four walls, its floor's underside about the origin."""
    x, y, z = outer
    levels = [(0.5 * x, 0.5 * y, 0.0), (0.5 * x, 0.5 * y, z), (0.5 * x - wall, 0.5 * y - wall, z),
              (0.5 * x - wall, 0.5 * y - wall, wall)]  # fmt: skip
    corners = [(-1, -1), (1, -1), (1, 1), (-1, 1)]
    points = np.array([(a * u, b * v, w) for u, v, w in levels for a, b in corners])
    faces = [(0, 2, 1), (0, 3, 2), (12, 13, 14), (12, 14, 15)]
    for low in (0, 4, 8):
        for k in range(4):
            a, b = low + k, low + (k + 1) % 4
            faces += [(a, b, b + 4), (a, b + 4, a + 4)]
    return points, np.array(faces)


def stairs(count=4, rise=0.1, run=0.3, width=1.0):
    """Treads and risers that go up along x, open below."""
    points, faces = [], []
    for k in range(count):
        for a, b in (((k * run, k * rise), (k * run, (k + 1) * rise)), ((k * run, (k + 1) * rise),
                                                                      ((k + 1) * run, (k + 1) * rise))):  # fmt: skip
            first = len(points)
            points += [(x, y, z) for x, z in (a, b) for y in (-0.5 * width, 0.5 * width)]
            faces += [(first, first + 2, first + 3), (first, first + 3, first + 1)]
    return np.array(points), np.array(faces)


def hills(height, count, size):
    """A square of size x size about the origin, ``count`` cells along each side, under heights z = height(x, y)."""
    at = np.linspace(-0.5 * size, 0.5 * size, count + 1)
    x, y = np.meshgrid(at, at, indexing="ij")
    first = (np.arange(count)[:, None] * (count + 1) + np.arange(count)).reshape(-1, 1)
    faces = np.concatenate([first + np.array(each) for each in ((0, count + 1, count + 2), (0, count + 2, 1))])
    return np.stack([x, y, height(x, y)], axis=-1).reshape(-1, 3), faces


def volume(points, faces):
    a, b, c = (points[faces[:, k]] for k in range(3))
    return float((a * np.cross(b, c)).sum()) / 6
