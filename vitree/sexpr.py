"""The s-expression notation for tree-form mechanisms (Johnson & Murphey 2009, section V-B, Table II).

    (mechanical-system (name "pendulum") (gravity 0 0 -9.81)
      (ry "swing" (damping 0.1)
        (tz -1 (name "bob") (mass 1))))

A frame is ``(transform parameter ... options ... frames ...)``: transforms are tx ty tz rx ry rz with a
number (constant) or a text (coordinate), several in a row being one below the other; ``ball`` and
``free`` with a text; ``screw`` with a text, an axis, a point and a pitch. Options belong to the last of
them: ``(name "n")``, ``(mass m)``, ``(mass m ixx iyy izz)``,
``(body "n" m (cx cy cz) (ixx ixy ixz iyy iyz izz))``, and for a coordinate ``(damping c ...)``. Beside
frames a system has ``(gravity x y z)``, ``(name "n")``, ``(point-constraint "a" "b" (x y z))`` with an
optional ``local``, ``(distance "a" "b" length)`` and ``(coupling "joint" factor "joint" factor value)``.
Symbols are not case-sensitive; ``;`` begins a comment.
"""

from __future__ import annotations

import math
import os
import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from vitree.constraints import Coupling, Distance, PointConstraint
from vitree.errors import ModelError, VitreeError
from vitree.tree import Body, Coordinate, Element, Fixed, Frame, Tree, ball, body, free, rx, ry, rz, screw, tx, ty, tz
from vitree.tree import frame as named

_PRIMITIVES = {"tx": tx, "ty": ty, "tz": tz, "rx": rx, "ry": ry, "rz": rz}
#: Levels that are still indented when written.
DEEPEST = 40
_TRANSFORMS = {*_PRIMITIVES, "ball", "free", "screw"}
_TOKEN = re.compile(r'\s+|;[^\n]*|(?P<open>\()|(?P<close>\))|"(?P<text>[^"]*)"|(?P<word>[^\s()";]+)')


class SexprError(ModelError):
    """An s-expression cannot be read; the text names file, line and column."""


@dataclass(frozen=True)
class _Node:
    """A number, text, symbol or list, and where it stands."""

    value: Any
    line: int
    column: int

    @property
    def is_text(self) -> bool:
        return isinstance(self.value, _Text)

    @property
    def is_list(self) -> bool:
        return isinstance(self.value, list)

    @property
    def head(self) -> str:
        """The symbol a list begins with, in lower case."""
        first = self.value[0] if self.is_list and self.value else None
        return first.value if first is not None and isinstance(first.value, str) and not first.is_text else ""


class _Text(str):
    """A quoted text, as opposed to a symbol."""


class _Reader:
    def __init__(self, text: str, source: str):
        self.text, self.source = text, source

    def error(self, node: _Node, text: str) -> SexprError:
        return SexprError(f"{self.source}:{node.line}:{node.column}: {text}")

    def _tokens(self) -> Iterator[tuple[str, Any, _Node]]:
        at, line, start = 0, 1, 0
        while at < len(self.text):
            match = _TOKEN.match(self.text, at)
            place = _Node(None, line, at - start + 1)
            if match is None:
                raise self.error(place, 'a " without its closing "')
            at = match.end()
            breaks = match[0].count("\n")
            if breaks:
                line, start = line + breaks, match.start() + match[0].rindex("\n") + 1
            if match.lastgroup is not None:
                yield match.lastgroup, match[match.lastgroup], place

    def parse(self) -> _Node:
        """Return the one expression of the text."""
        stack: list[_Node] = []
        whole: _Node | None = None
        for kind, value, place in self._tokens():
            if whole is not None:
                raise self.error(place, "something after the end of the system; one too many ( or ) before?")
            if kind == "open":
                stack.append(replace(place, value=[]))
                continue
            if kind == "close":
                if not stack:
                    raise self.error(place, "a ) without its (")
                node = stack.pop()
            else:
                node = replace(place, value=_Text(value) if kind == "text" else _atom(value))
            if stack:
                stack[-1].value.append(node)
            else:
                whole = node
        if stack:
            raise self.error(stack[-1], "a ( without its )")
        if whole is None:
            raise self.error(_Node(None, 1, 1), "the text is empty; expected (mechanical-system ...)")
        return whole

    # ---- values ---------------------------------------------------------------------------------

    def number(self, node: _Node, what: str) -> float:
        value = node.value
        if node.is_text:  # Table II writes masses as texts
            value = _atom(str(value))
        if isinstance(value, float) and math.isfinite(value):
            return value
        raise self.error(node, f"expected a number for {what}")

    def text_of(self, node: _Node, what: str) -> str:
        if node.is_text and node.value:
            return str(node.value)
        raise self.error(node, f'expected a text in "..." for {what}')

    def numbers(self, nodes: list[_Node], count: int, at: _Node, what: str) -> list[float]:
        """Numbers in a list of their own or in a row."""
        if len(nodes) == 1 and nodes[0].is_list:
            nodes = nodes[0].value
        if len(nodes) != count:
            raise self.error(at, f"{what} takes {count} numbers, not {len(nodes)}")
        return [self.number(node, what) for node in nodes]

    # ---- the system -----------------------------------------------------------------------------

    def tree(self) -> Tree:
        system = self.parse()
        if system.head not in ("system", "mechanical-system"):
            raise self.error(system, "expected (mechanical-system ...) or (system ...)")
        tree = Tree("mechanism")
        for node in system.value[1:]:
            self._component(tree, node)
        return tree

    def _component(self, tree: Tree, node: _Node) -> None:
        if not node.is_list:
            raise self.error(node, "expected an expression in ( )")
        arguments = node.value[1:]
        if node.head == "gravity":
            tree.gravity = np.array(self.numbers(arguments, 3, node, "gravity"))
        elif node.head == "name" and len(arguments) == 1:
            tree.name = self.text_of(arguments[0], "name")
        elif node.head in ("point-constraint", "point-constaint"):  # as the paper's Listing 1 spells it
            local = bool(arguments) and arguments[-1].value == "local"
            if len(arguments) - local < 3:
                raise self.error(node, 'a point-constraint takes two frames and a direction: "a" "b" (1 0 0)')
            a, b = (self.text_of(x, "a frame") for x in arguments[:2])
            axis = self.numbers(arguments[2 : len(arguments) - local], 3, node, "a direction")
            tree.constrain(PointConstraint(a, b, tuple(axis), "local" if local else "world"))
        elif node.head == "distance" and len(arguments) == 3:
            a, b = (self.text_of(x, "a frame") for x in arguments[:2])
            tree.constrain(Distance(a, b, self.number(arguments[2], "a distance")))
        elif node.head == "coupling" and len(arguments) in (4, 5):
            names = [self.text_of(x, "a joint") for x in arguments[0:4:2]]
            factors = [self.number(x, "a factor") for x in arguments[1:4:2]]
            value = self.number(arguments[4], "a value") if len(arguments) == 5 else 0.0
            tree.constrain(Coupling(dict(zip(names, factors, strict=True)), value))
        elif node.head in _TRANSFORMS:
            self._frames(tree.world, node)
        else:
            raise self.error(
                node,
                f'"{node.head or "?"}" is not known here; choose from gravity, name, point-constraint, distance, '
                f"coupling, {', '.join(sorted(_TRANSFORMS))}",
            )

    def _frames(self, above: Frame, top: _Node) -> None:
        stack = [(above, top)]
        while stack:
            at, node = stack.pop()
            elements, rest = self._transforms(node)
            options, below = [], []
            for part in rest:
                if not part.is_list:
                    raise self.error(part, "expected an option or a frame in ( )")
                (below if part.head in _TRANSFORMS else options).append(part)
            elements += self._options(node, elements, options)
            try:
                at = at.add(*elements)
            except VitreeError as error:
                raise self.error(node, str(error)) from None
            stack += [(at, child) for child in reversed(below)]

    def _transforms(self, node: _Node) -> tuple[list[Element], list[_Node]]:
        """The elements of a frame expression, and what follows them."""
        elements: list[Element] = []
        rest = list(node.value)
        while rest and isinstance(rest[0].value, str) and not rest[0].is_text:
            kind = rest.pop(0)
            if kind.value == "screw":
                elements.append(self._screw(kind, rest[:4]))
                rest = rest[4:]
                continue
            if not rest:
                raise self.error(kind, f"{kind.value} has no parameter: a number, or a coordinate's name in quotes")
            value = rest.pop(0)
            try:
                if kind.value in ("ball", "free"):
                    name = self.text_of(value, "a joint's name")
                    elements.append(ball(name) if kind.value == "ball" else free(name))
                elif kind.value not in _PRIMITIVES:
                    known = ", ".join(sorted(_TRANSFORMS))
                    raise self.error(kind, f'"{kind.value}" is no transform; choose from {known}')
                elif value.head == "d":
                    raise self.error(value, "kinematic coordinates, (D ...), are not supported")
                else:
                    number = str(value.value) if value.is_text else self.number(value, kind.value)
                    elements.append(_PRIMITIVES[kind.value](number))
            except SexprError:
                raise
            except VitreeError as error:
                raise self.error(value, str(error)) from None
        return elements, rest

    def _screw(self, at: _Node, arguments: list[_Node]) -> Coordinate:
        if len(arguments) < 4:
            raise self.error(at, 'a screw takes a name, axis, point and pitch: "s" (0 0 1) (0 0 0) 0.1')
        name, pitch = self.text_of(arguments[0], "a coordinate"), self.number(arguments[3], "a pitch")
        axis, point = (self.numbers([x], 3, x, "a vector") for x in arguments[1:3])
        try:
            return screw(name, axis, point, pitch)
        except VitreeError as error:
            raise self.error(at, str(error)) from None

    def _options(self, node: _Node, elements: list[Element], options: list[_Node]) -> list[Element]:
        """What the options of a frame add below its transforms; damping goes into the last coordinate."""
        name, mass = None, None
        added: list[Element] = []
        for option in options:
            arguments = option.value[1:]
            if option.head == "name" and len(arguments) == 1:
                name = self.text_of(arguments[0], "name")
            elif option.head == "mass" and len(arguments) in (1, 4):
                mass = [self.number(x, "mass") for x in arguments]
            elif option.head == "body" and len(arguments) == 4:
                title, own = self.text_of(arguments[0], "a body"), self.number(arguments[1], "a mass")
                com = self.numbers([arguments[2]], 3, option, "a centre of mass")
                inertia = self.numbers([arguments[3]], 6, option, "an inertia")
                added.append(_body(self, option, title, own, inertia, com))
            elif option.head == "damping" and arguments and isinstance(elements[-1], Coordinate):
                values = [self.number(x, "damping") for x in arguments]
                elements[-1] = replace(elements[-1], damping=values if len(values) > 1 else values[0])
            else:
                raise self.error(
                    option, f'"{option.head or "?"}" is no option of this frame; choose from (name "n"), (mass m), '
                    '(mass m ixx iyy izz), (body "n" m (com) (inertia)), and for a coordinate (damping c)',
                )  # fmt: skip
        if mass is not None:
            title = name or f"mass at {node.line}:{node.column}"
            added.insert(0, _body(self, node, title, mass[0], mass[1:] or None, (0, 0, 0)))
        elif name is not None and not (isinstance(elements[-1], Coordinate) and elements[-1].name == name):
            added.insert(0, named(name))
        return added


def _body(reader: _Reader, node: _Node, *arguments) -> Body:
    try:
        return body(*arguments)
    except VitreeError as error:
        raise reader.error(node, str(error)) from None


def _atom(word: str) -> float | str:
    """A number, or a symbol in lower case."""
    try:
        return float(word)
    except ValueError:
        return word.lower()


def read_sexpr(source: str | os.PathLike) -> Tree:
    """Read a mechanism in s-expression notation into a :class:`Tree`.

    Parameters
    ----------
    source : path or str
        Path of a file; or the text itself, if it begins with a parenthesis or ";".

    Raises
    ------
    SexprError
        The text names file, line and column.
    """
    if isinstance(source, str) and source.lstrip().startswith(("(", ")", ";")):
        return _Reader(source, "<text>").tree()
    path = Path(source)
    try:
        return _Reader(path.read_text(encoding="utf-8"), path.name).tree()
    except (OSError, UnicodeDecodeError) as error:
        raise SexprError(f"cannot read {path}: {error}") from None


def load_sexpr(source: str | os.PathLike):
    """Read a mechanism in s-expression notation and compile it; see :func:`read_sexpr`."""
    return read_sexpr(source).compile()


# ---- writing ------------------------------------------------------------------------------------------


def _number(x: float) -> str:
    return repr(float(x)).removesuffix(".0")


def _numbers(values) -> str:
    return " ".join(_number(x) for x in values)


def _transform(element: Any) -> str:
    """The transforms of an element, as text; empty for one that does not move."""
    if isinstance(element, Coordinate):
        if element.twist is None:
            text = f'{element.kind} "{element.name}"'
        else:
            w, v = np.array(element.twist[:3]), np.array(element.twist[3:])
            unit = [k for k in range(3) if (w if np.any(w) else v)[k] == 1.0]
            plain = unit and not (np.any(w) and np.any(v))
            if plain:
                text = f'{"r" if np.any(w) else "t"}{"xyz"[unit[0]]} "{element.name}"'
            elif np.any(w):
                text = f'screw "{element.name}" ({_numbers(w)}) ({_numbers(np.cross(w, v))}) {_number(w @ v)}'
            else:
                raise ModelError(f'"{element.name}" slides along no coordinate axis; turn the frame before it')
        damping = np.atleast_1d(element.damping)
        return text + (f" (damping {_numbers(damping)})" if np.any(damping) else "")
    parts = [f"t{axis} {_number(x)}" for axis, x in zip("xyz", element.position, strict=True) if x]
    if element.rotation is not None:
        R = np.asarray(element.rotation)
        pitch = math.atan2(-R[2, 0], math.hypot(R[0, 0], R[1, 0]))
        if abs(R[2, 0]) < 1 - 1e-12:
            angles = math.atan2(R[1, 0], R[0, 0]), pitch, math.atan2(R[2, 1], R[2, 2])
        else:
            angles = math.atan2(-R[0, 1], R[1, 1]), pitch, 0.0
        parts += [f"r{axis} {_number(x)}" for axis, x in zip("zyx", angles, strict=True) if x]
    return " ".join(parts)


def write_sexpr(tree: Tree) -> str:
    """Return the s-expression of a tree; reading it gives the same mechanism.

    Joint limits and shapes have no notation and are left out.

    Raises
    ------
    ModelError
        If an element has no notation.
    """
    lines = [f'(mechanical-system (name "{tree.name}") (gravity {_numbers(tree.gravity)})']

    # frames still to be written, and None where the parenthesis of one that is done closes
    stack: list[tuple[Frame | None, int]] = [(child, 1) for child in reversed(tree.world.children)]
    while stack:
        at, depth = stack.pop()
        if at is None:
            lines[-1] += ")"
            continue
        options = ""
        if isinstance(at.element, Fixed) and at.element.name is not None:
            options += f' (name "{at.element.name}")'
        for own in at.bodies:
            inertia = np.zeros((3, 3)) if own.inertia is None else np.asarray(own.inertia)
            options += f' (body "{own.name}" {_number(own.mass)} ({_numbers(own.com)}) '
            options += f"({_numbers(inertia[np.triu_indices(3)])}))"
        lines.append(f"{'  ' * min(depth, DEEPEST)}({_transform(at.element) or 'tx 0'}{options}")
        stack += [(None, depth), *((child, depth + 1) for child in reversed(at.children))]
    for c in tree.constraints:
        if isinstance(c, PointConstraint) and c.offset == 0:
            local = " local" if c.axes == "local" else ""
            lines.append(f'  (point-constraint "{c.a}" "{c.b}" ({_numbers(c.axis)}){local})')
        elif isinstance(c, Distance):
            lines.append(f'  (distance "{c.a}" "{c.b}" {_number(c.length)})')
        elif isinstance(c, Coupling):
            pairs = " ".join(f'"{joint}" {_number(factor)}' for joint, factor in c.factors.items())
            lines.append(f"  (coupling {pairs} {_number(c.value)})")
        else:
            raise ModelError(f"the {getattr(c, 'name', c)} has no notation")
    return "\n".join(lines) + ")\n"
