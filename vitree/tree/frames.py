"""Frames: the places of a tree, with their bodies."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Protocol

import numpy as np

from vitree.arguments import of_kind
from vitree.errors import ModelError
from vitree.tree.elements import Body, Coordinate, Element, Fixed


class Owner(Protocol):
    """What frames need of their tree."""

    name: str
    world: Frame

    def _claim(self, chain: list[Element]) -> None: ...


class Frame:
    """A place in a tree; made by :meth:`add`, never by hand."""

    def __init__(self, tree: Owner, parent: Frame | None, element: Coordinate | Fixed):
        if parent is not None:
            of_kind(parent, Frame, "parent", "a Frame")
        self.tree, self.parent = tree, parent
        self.element = element
        self.part: int = 0 if parent is None else parent.part  # of the world, see vitree.tree.attach
        self.children: list[Frame] = []
        self.bodies: list[Body] = []

    @property
    def name(self) -> str | None:
        """The name of the frame, if it has one."""
        return self.bodies[0].name if self.bodies else self.element.name

    def add(self, *elements: Element | list[Element]) -> Frame:
        """Chain elements below this frame and return the last frame.

        Parameters
        ----------
        *elements
            Made by ``tx`` ... ``rz``, ``screw``, ``ball``, ``free``, ``fixed``, ``frame``, ``body``, or a
            lower pair (a list of elements).

        Raises
        ------
        ModelError
            If an argument is no element, or a name is taken. The tree is then as it was.
        """
        chain: list[Element] = []
        for element in elements:
            chain += element if isinstance(element, list | tuple) else [element]
        for element in chain:
            if not isinstance(element, Element):
                raise ModelError(
                    f"add() takes elements such as rx('name'), tz(0.3), body('name', mass=1.0), not {element!r}"
                )
        self.tree._claim(chain)
        at = self
        for element in chain:
            if isinstance(element, Body):
                if (
                    at is self.tree.world
                    or at.bodies
                    or (at.element.name is not None and isinstance(at.element, Fixed))
                ):
                    at = at._child(Fixed())
                at.bodies.append(element)
            elif isinstance(element, Coordinate | Fixed):
                at = at._child(element)
        return at

    def _child(self, element: Coordinate | Fixed) -> Frame:
        child = Frame(self.tree, self, element)
        self.children.append(child)
        return child

    def walk(self) -> Iterator[tuple[int, Frame]]:
        """Yield (depth, frame) of this frame and all below, parents first, in order of adding."""
        stack = [(0, self)]
        while stack:
            depth, at = stack.pop()
            yield depth, at
            stack += [(depth + 1, child) for child in reversed(at.children)]

    def __repr__(self) -> str:
        return f"<vitree.Frame {self.name!r} of {self.tree.name!r}>"


def describe(at: Frame) -> str:
    """Return one line about a frame: its transform and its bodies."""
    element = at.element
    if isinstance(element, Coordinate):
        if element.twist is None or element.axis is None:
            text = f"{element.kind} {element.name!r}"
        else:
            w, v = np.array(element.twist[:3]), np.array(element.twist[3:])
            along = ", ".join(f"{x:g}" for x in element.axis)
            pitch = w @ v
            kind = "prismatic" if not np.any(w) else "helical" if abs(pitch) > 1e-12 else "revolute"
            text = f"{kind} {element.name!r} ({along})" + (", prescribed" if element.kinematic else "")
    else:
        moved = ", ".join(f"{x + 0.0:g}" for x in element.position)
        turned = "" if element.rotation is None or np.array_equal(element.rotation, np.eye(3)) else ", turned"
        text = f"fixed ({moved}{turned})" + (f" {element.name!r}" if element.name else "")
    return text + "".join(f"  [{b.name}: {b.mass:g} kg]" for b in at.bodies)
