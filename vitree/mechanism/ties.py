"""Ties: what plans ask of bodies and of constraints, without the numbers of a state."""

from __future__ import annotations

import functools
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

#: Kinds of constraints of ``_core/types.pxd``.
POINTS, DISTANCE, COUPLING, AXES, PROFILE, USER = range(6)


class Tie(NamedTuple):
    """What a constraint acts on, by the numbers of bodies and coordinates; -1: the world, or none."""

    kind: int
    body_a: int = -1
    body_b: int = -1
    local: bool = False
    iv_a: int = -1
    iv_b: int = -1
    factor_a: float = 0.0
    factor_b: float = 0.0

    @classmethod
    def of(cls, row: Mapping[str, Any]) -> Tie:
        """Return that of a constraint as the core takes it."""
        return cls(
            row["kind"], row.get("body_a", -1), row.get("body_b", -1), bool(row.get("local", 0)),
            row.get("a", (-1, -1))[1], row.get("b", (-1, -1))[1], row.get("factor_a", 0.0), row.get("factor_b", 0.0),
        )  # fmt: skip

    @property
    def ends(self) -> tuple[int, ...]:
        """The bodies that it pushes; the world too where its direction is one of the world.

        Turning both bodies together changes such a constraint.
        """
        if self.kind in (COUPLING, PROFILE):
            return ()
        return (self.body_a, self.body_b, -1) if self.kind == POINTS and not self.local else (self.body_a, self.body_b)


@dataclass(frozen=True)
class Bodies:
    """The bodies of a mechanism: a tuple with an entry each.

    Attributes
    ----------
    parent : tuple of int
        The body that carries it; -1: the world.
    starts, sizes : tuples of int
        The first coordinate of its joint in v, and how many it has.
    locked : tuple of bool
        Whether the joint moves as prescribed.
    """

    parent: tuple[int, ...]
    starts: tuple[int, ...]
    sizes: tuple[int, ...]
    locked: tuple[bool, ...]

    def roots(self) -> list[int]:
        """Return the first body of the tree that each body belongs to."""
        root: list[int] = []
        for i, up in enumerate(self.parent):
            root.append(root[up] if up >= 0 else i)
        return root

    def path(self, body: int) -> list[int]:
        """Return a body and those that carry it, up to the world, -1."""
        found = [body]
        while body >= 0:
            body = self.parent[body]
            found.append(body)
        return found

    @functools.cached_property
    def at(self) -> dict[int, int]:
        """Return the body of each coordinate."""
        return {start + k: i for i, (start, size) in enumerate(zip(self.starts, self.sizes, strict=True))
                for k in range(size)}  # fmt: skip

    def joints_of(self, tie: Tie) -> list[int]:
        """Return the bodies of the joints that a constraint acts on by their coordinates."""
        return [self.at[iv] for iv in (tie.iv_a, tie.iv_b) if iv in self.at]

    def moved_by(self, tie: Tie) -> list[int]:
        """Return the bodies that a constraint acts on."""
        return [i for i in (tie.body_a, tie.body_b) if i >= 0] + self.joints_of(tie)

    def coordinates(self, first: int, end: int) -> tuple[int, int]:
        """Return the first coordinate, and the one behind the last, of the bodies from ``first`` to ``end``."""
        if first == end:
            return 0, 0
        return min(self.starts[first:end]), max(self.starts[i] + self.sizes[i] for i in range(first, end))
