"""Scenes of stacks: a tower, a house of cards, an arch of wedges, a line of dominoes."""

from __future__ import annotations

import math

import numpy as np

from vitree.geometry.shapes import Box, Hull, Shape, Sphere
from vitree.mechanism.contacts import Contact, Ground
from vitree.model.model import Model
from vitree.scenes.base import (
    G,
    Motion,
    Stage,
    ball_inertia,
    box_inertia,
    depth,
    energy,
    largest,
    scene,
)
from vitree.tree.elements import body, free
from vitree.tree.tree import Tree


class Pile:
    """Free bodies, one shape each, over a ground.

    Parameters
    ----------
    name : str
    friction : float
    """

    def __init__(self, name: str, friction: float):
        self.tree, self.places = Tree(name, gravity=(0, 0, -G)), list[float]()
        self.tree.contact(Ground(friction=friction))
        self.friction, self.count = friction, 0

    def put(self, shape: Shape, mass: float, size: tuple[float, ...], at: tuple[float, ...], turn: float = 0.0) -> None:
        """Put a body with the inertia of a box of a size [m] at a place [m], turned about y [rad]."""
        k = self.count
        self.tree.world.add(free(f"joint {k}"), body(f"body {k}", mass, box_inertia(mass, (size[0], size[1], size[2]))))
        self.tree.contact(Contact(f"body {k}", shapes=(shape,), friction=self.friction))
        self.places += [*at, 0.0, math.sin(turn / 2), 0.0, math.cos(turn / 2)]
        self.count += 1

    def put_box(self, size: tuple[float, float, float], mass: float, at: tuple[float, ...], turn: float = 0.0) -> None:
        """Put a box."""
        self.put(Box(size), mass, size, at, turn)

    def stage(self, duration: float, dt: float, every: int) -> Stage:
        """Return the scene in which nothing is to move."""
        model, q = self.tree.compile(), np.array(self.places)
        return Stage(model=model, q=q, v=model.zero_velocity(), duration=duration, dt=dt, every=every,
                     measure=lambda motion: _stays(model, q, motion))  # fmt: skip


def _stays(model: Model, q: np.ndarray, motion: Motion) -> dict[str, float]:
    return {"motion [m or 1]": largest(motion.q - q), "penetration [m]": depth(model, motion)}


@scene("tower", "stacks", "ten cubes of 0.2 m on each other; nothing moves")
def tower(quick: bool) -> Stage:
    pile = Pile("tower", 0.5)
    for k in range(10):
        pile.put_box((0.2, 0.2, 0.2), 1.0, (0.0, 0.0, 0.1 + 0.2 * k))
    return pile.stage(0.2 if quick else 600.0, 2e-3, 1 if quick else 100)


@scene("cube-on-cube", "ContactBench",
       "a cube on one of 1e4 its mass, and one of 1e4 on it; nothing moves")  # fmt: skip
def cube_on_cube(quick: bool) -> Stage:
    pile, size = Pile("cubes", 0.5), (0.2, 0.2, 0.2)
    for x, masses in enumerate(((1e4, 1.0), (1.0, 1e4))):
        for k, mass in enumerate(masses):
            pile.put_box(size, mass, (float(x), 0.0, 0.1 + 0.2 * k))
    return pile.stage(0.1 if quick else 60.0, 1e-3, 1 if quick else 100)


def falling(shape: Shape, moments: tuple[float, float, float], count: int, duration: float, dt: float) -> Stage:
    """A grid of count^3 bodies of 1 kg and 0.2 m, each up to 1 mm off its place, that falls on the ground."""
    tree, q, rng = Tree("grid", gravity=(0, 0, -G)), list[float](), np.random.default_rng(0)
    tree.contact(Ground(friction=0.5))
    for k, place in enumerate(np.ndindex(count, count, count)):
        tree.world.add(free(f"joint {k}"), body(f"body {k}", 1.0, moments))
        tree.contact(Contact(f"body {k}", shapes=(shape,), friction=0.5))
        middle = 0.21 * (np.array(place) - (*((count - 1) / 2,) * 2, 0)) + (0, 0, 0.25)
        q += [*(middle + 1e-3 * rng.uniform(-1, 1, 3)), 0, 0, 0, 1]
    model = tree.compile()

    def measure(motion: Motion) -> dict[str, float]:
        total = energy(model, motion).sum(axis=1)
        return {
            "energy gained, of that of the start [1]": max(0.0, float((total - total[0]).max() / total[0])),
            "penetration [m]": depth(model, motion),
        }

    return Stage(model=model, q=np.array(q), v=model.zero_velocity(), duration=duration, dt=dt, measure=measure)


@scene("balls-666", "SimBenchmark", "216 balls in a cube fall on the ground and scatter; energy never grows")
def balls_666(quick: bool) -> Stage:
    return falling(Sphere(0.1), ball_inertia(1.0, 0.1), 2 if quick else 6, 0.5 if quick else 1.5, 1e-2)


@scene("boxes-444", "SimBenchmark", "64 cubes in a cube fall on the ground and pile up; energy never grows")
def boxes_444(quick: bool) -> Stage:
    edges = (0.2, 0.2, 0.2)
    return falling(Box(edges), box_inertia(1.0, edges), 2 if quick else 4, 0.5 if quick else 1.5, 5e-3)


@scene("card-house", "stacks",
       "fifteen cards of 10 cm and 2 mm that lean on each other, in three storeys; nothing moves")  # fmt: skip
def card_house(quick: bool) -> Stage:
    length, wide, thick, lean, mass = 0.1, 0.06, 0.002, 0.35, 0.002
    high = length * math.cos(lean) + thick * math.sin(lean)
    across = length * math.sin(lean) + thick * math.cos(lean)
    pitch, z, pile = 2 * across + 1e-9, 0.0, Pile("card house", 0.6)
    for pairs in (3, 2, 1):
        for k in range(pairs):
            x = (k - (pairs - 1) / 2) * pitch
            for side in (-1, 1):
                pile.put_box((thick, wide, length), mass, (x + side * across / 2, 0, z + high / 2), -side * lean)
        z += high
        for k in range(pairs - 1):
            flat = (pitch - 1e-9, wide, thick)
            pile.put_box(flat, mass, ((k - (pairs - 2) / 2) * pitch, 0, z + thick / 2))
        z += thick
    return pile.stage(0.1 if quick else 60.0, 1e-3, 1 if quick else 100)


def wedges(friction: float, count: int = 15) -> Pile:
    """An arch of wedges about half a circle of 1 m, 0.25 m thick: Couplet and Heyman's, which needs 0.107."""
    pile, step, thick, wide = Pile("arch", friction), math.pi / count, 0.25, 0.3
    for k in range(count):
        x = np.array([(r * math.cos(a), y, r * math.sin(a)) for r in (1 - thick / 2, 1 + thick / 2)
                      for a in (k * step, (k + 1) * step) for y in (-wide / 2, wide / 2)])  # fmt: skip
        middle = x.mean(axis=0)
        pile.put(Hull(x - middle), 2000 * thick * step * wide, (thick, wide, step), tuple(middle.tolist()))
    return pile


@scene("arch", "masonry: Heyman 1966", "fifteen wedges in half a circle, friction 0.5; nothing moves")
def arch(quick: bool) -> Stage:
    return wedges(0.5).stage(0.1 if quick else 60.0, 2e-3, 1 if quick else 100)


@scene("dominoes", "dominoes", "a line of tiles of 48 x 24 x 7.5 mm falls over; energy never grows")
def dominoes(quick: bool) -> Stage:
    count, size, spacing, mass = 8 if quick else 40, (0.0075, 0.024, 0.048), 0.024, 0.01
    pile = Pile("dominoes", 0.2)
    for k in range(count):
        pile.put_box(size, mass, (k * spacing, 0.0, size[2] / 2))
    model, q = pile.tree.compile(), np.array(pile.places)
    v = model.zero_velocity()
    # the first one about its lower edge
    v[0], v[2], v[4] = 4.0 * size[2] / 2, -4.0 * size[0] / 2, 4.0

    def measure(motion: Motion) -> dict[str, float]:
        total, mgh = energy(model, motion).sum(axis=1), count * mass * G * size[2] / 2
        # when each tile is tilted by 0.2 rad
        tilts = 2 * np.arctan2(motion.q[:, 4::7], motion.q[:, 6::7])
        passed = np.diff(motion.t[(tilts > 0.2).argmax(axis=0)])[count // 2 :]
        return {
            "energy gained, of that of the start [1]": max(0.0, float((total - total[0]).max() / mgh)),
            "penetration [m]": depth(model, motion),
            "speed of the wave [m/s]": spacing / float(passed.mean()) if (passed > 0).all() else math.nan,
        }

    return Stage(model=model, q=q, v=v, duration=0.7 if quick else 2.0, dt=5e-4, measure=measure)
