"""Trees: mechanisms as people build them, of primitives; and their text as s-expressions."""

from vitree.tree.elements import Body, Coordinate, Element, Fixed
from vitree.tree.frames import Frame
from vitree.tree.tree import Tree

__all__ = ["Body", "Coordinate", "Element", "Fixed", "Frame", "Tree"]
