"""XML text to elements that know their line; nothing outside the file is ever opened."""

from __future__ import annotations

import xml.etree.ElementTree as ElementTree
from xml.parsers import expat

import numpy as np

from vitree.errors import UrdfError


class Node(ElementTree.Element):
    """An element and the line it starts on."""

    line: int = 0


class Source:
    """A file being read: its name, for errors, and its elements.

    Parameters
    ----------
    name : str
        What errors call the file.
    data : bytes
    encoding : str, optional
        Overrules what the file says of itself.
    """

    def __init__(self, name: str, data: bytes, encoding: str | None = None):
        self.name = name
        self.root = self._parse(data, encoding)

    def error(self, text: str, node: ElementTree.Element | None = None) -> UrdfError:
        """Return an error that names the file, and the line of an element."""
        return self.failure(self.name, f"line {node.line}: {text}" if isinstance(node, Node) else text)

    @staticmethod
    def failure(name: str, text: str) -> UrdfError:
        """Return an error about a file that could not be opened, or not be modelled."""
        return UrdfError(f"{name}: {text}")

    def _parse(self, data: bytes, encoding: str | None) -> ElementTree.Element:
        parser = expat.ParserCreate(encoding)
        builder = ElementTree.TreeBuilder(element_factory=Node)

        def start(tag, attributes):
            builder.start(tag, attributes).line = parser.CurrentLineNumber

        def refuse(*_):
            raise self.error("it has a <!DOCTYPE>, which URDF does not use and vitree refuses; remove it")

        parser.StartElementHandler, parser.EndElementHandler = start, builder.end
        parser.StartDoctypeDeclHandler = refuse
        try:
            parser.Parse(data, True)
        except expat.ExpatError as error:
            raise self.error(f"it is not XML: {error}") from None
        except (LookupError, ValueError) as error:  # an encoding that Python does not know
            raise self.error(f"its encoding cannot be read: {error}; save it as UTF-8") from None
        return builder.close()

    def numbers(
        self, node: ElementTree.Element, attribute: str, count: int, what: str, finite: bool = True
    ) -> list[float]:
        """Return the numbers of an attribute.

        Raises
        ------
        UrdfError
            If it is absent, of another count, no number, NaN, or (where ``finite``) infinite.
        """
        text = node.get(attribute)
        if text is None:
            raise self.error(f'the <{node.tag}> of {what} has no "{attribute}"', node)
        try:
            values = [float(word) for word in text.split()]
            good = len(values) == count and "_" not in text and not np.isnan(values).any()
            if not good or (finite and not np.isfinite(values).all()):
                raise ValueError
        except ValueError:
            wanted = "a number" if count == 1 else f"{count} numbers"
            raise self.error(
                f'{attribute}="{text}" of the <{node.tag}> of {what} must be {wanted}'
                + (" that are finite" if finite and count > 1 else " that is finite" if finite else ""),
                node,
            ) from None
        return values
