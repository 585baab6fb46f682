"""From nodes to a tree."""

from __future__ import annotations

import inspect
import math
import os
from dataclasses import replace
from typing import Any

import numpy as np

from vitree.arguments import Keywords, path_of
from vitree.errors import VitreeError
from vitree.mechanism import loads
from vitree.mechanism.contacts import Contact, Ground, NoContact, RollingConstraint
from vitree.mechanism.drives import Drive
from vitree.model.model import Model
from vitree.tree.elements import Coordinate, Element, Fixed, body
from vitree.tree.elements import frame as named
from vitree.tree.frames import Frame
from vitree.tree.sexpr.syntax import Node, SexprError, Source, Text, expected, fits
from vitree.tree.sexpr.vocabulary import (
    COMPONENTS,
    INNER,
    JOINT_OPTIONS,
    OPTIONS,
    SIZES,
    SPELLINGS,
    SYMBOLS,
    TRANSFORMS,
    UNBOUNDED,
    Make,
    field_of,
    slots,
    usage,
)
from vitree.tree.tree import Tree
from vitree.wording import brief

#: The arguments of an expression by their places in its form.
Values = dict[int, Any]


class Reader(Source):
    """Makes a tree of the expressions of a text."""

    # ---- arguments ------------------------------------------------------------------------------

    def arguments(self, at: Node, head: str, form: str, nodes: list[Node]) -> tuple[Values, list[Node]]:
        """The values that a form takes from the nodes, by their places in the form, and the nodes that are left."""
        values: Values = {}
        for k, slot in enumerate(slots(form)):
            first = nodes[0] if nodes else None
            listed = slot.listed and first is not None and first.is_list and not first.head
            if slot.optional and not listed and (first is None or not fits(slot.words[0], first)):
                continue
            if first is None:
                raise self.error(at, f"{slot.shown} is missing; write {usage(head, form)}")
            if listed:
                parts, nodes = first.value, nodes[1:]
            else:
                count = len(slot.words)
                if slot.repeated:
                    count = next((n for n, x in enumerate(nodes) if not fits(slot.words[0], x)), len(nodes)) or 1
                parts, nodes = nodes[:count], nodes[count:]
            words = slot.words * len(parts) if slot.repeated else slot.words
            found = tuple(self._value(word, x, head, form) for word, x in zip(words, parts, strict=False))
            if len(parts) != len(words) or not parts:
                wanted = "one or more" if slot.repeated else len(words)
                raise self.error(
                    first if listed else at,
                    f"{slot.shown} takes {wanted} values, not {len(parts)}; write {usage(head, form)}",
                )
            values[k] = found if slot.listed else found[0]
        return values, nodes

    def _value(self, word: str, node: Node, head: str, form: str) -> object:
        value = node.value
        if not fits(word, node) or (isinstance(value, float) and math.isinf(value) and head not in UNBOUNDED):
            kinds = [expected(choice) for choice in word.split("|")]
            raise self.error(node, f"expected {' or '.join(kinds)} for {head}; write {usage(head, form)}")
        if node.is_text:
            return str(value)
        return SYMBOLS.get(value, value) if node.is_symbol else value

    def _all(self, node: Node, form: str) -> Values:
        """The arguments of a list that holds nothing but arguments."""
        values, rest = self.arguments(node, node.head, form, node.value[1:])
        if rest:
            raise self.error(rest[0], f"{node.head} takes no more arguments; write {usage(node.head, form)}")
        return values

    def _make(self, at: Node, make: Make, values: Values, **more: object) -> Any:
        """Call a function with the values of a form; these are in the order of its parameters."""
        names = list(inspect.signature(make).parameters)
        try:
            return make(**{names[k]: value for k, value in values.items() if k < len(names)}, **more)
        except VitreeError as error:
            raise self.error(at, str(error)) from None

    # ---- the system -----------------------------------------------------------------------------

    def tree(self) -> Tree:
        system = self.parse()
        if system.head not in ("system", "mechanical-system"):
            raise self.error(system, "the system must begin with (mechanical-system or (system")
        tree = Tree("mechanism")
        for node in system.value[1:]:
            self._component(tree, node)
        return tree

    def _component(self, tree: Tree, node: Node) -> None:
        if not node.is_list:
            raise self.error(node, "expected an expression in ( )")
        head = SPELLINGS.get(node.head, node.head)
        if head in TRANSFORMS:
            self._frames(tree.world, node)
        elif head not in COMPONENTS:
            choices = ", ".join([*COMPONENTS, *TRANSFORMS])
            raise self.error(node, f'"{head or "?"}" is not known beside the frames; choose from {choices}')
        else:
            make, form = COMPONENTS[head]
            more = {}
            if head in INNER:
                values, rest = self.arguments(node, head, form, node.value[1:])
                more = {"made": [self._inner(head, part) for part in rest]}
            else:
                values = self._all(node, form)
            if head == "start":
                tree.start[values[0]] = values[1]
                return
            if make is None:
                setattr(tree, head.replace("-", "_"), np.array(values[0]) if head == "gravity" else values[0])
                return
            made = self._make(node, make, values, **more)
            if isinstance(made, RollingConstraint):
                tree.roll(made)
            elif isinstance(made, Ground | Contact | NoContact):
                try:
                    tree.contact(made)
                except VitreeError as error:
                    raise self.error(node, str(error)) from None
            else:
                (tree.load if isinstance(made, loads.Load | Drive) else tree.constrain)(made)

    def _inner(self, head: str, node: Node) -> Any:
        """A part of a component: a solid of a contact, a terrain of a ground."""
        known = INNER[head]
        if not node.is_list or node.head not in known:
            choices = ", ".join(usage(word, form) for word, (_, form) in known.items())
            raise self.error(node, f"{head} takes no such argument; what follows must be in ( ): {choices}")
        make, form = known[node.head]
        return self._make(node, make, self._all(node, form))

    def _frames(self, above: Frame, top: Node) -> None:
        stack = [(above, top)]
        while stack:
            at, node = stack.pop()
            elements, last, rest = self._transforms(node)
            options: list[Node] = []
            below: list[Node] = []
            for part in rest:
                if not part.is_list:
                    raise self.error(part, "expected an option or a frame in ( )")
                (below if part.head in TRANSFORMS else options).append(part)
            last, added = self._options(node, last, options)
            try:
                at = at.add(*elements, *last, *added)
            except VitreeError as error:
                raise self.error(node, str(error)) from None
            stack += [(at, child) for child in reversed(below)]

    def _transforms(self, node: Node) -> tuple[list[Element], list[Coordinate | Fixed], list[Node]]:
        """The elements of all transforms before the last, those of the last, and the nodes that follow them."""
        before: list[Element] = []
        last: list[Coordinate | Fixed] = []
        rest = list(node.value)
        while rest and rest[0].is_symbol:
            kind = rest.pop(0)
            if kind.value not in TRANSFORMS:
                raise self.error(kind, f'there is no transform "{kind.value}"; choose from {", ".join(TRANSFORMS)}')
            make, form = TRANSFORMS[kind.value]
            more = {}
            if rest and rest[0].head in ("d", "k"):
                inner = rest[0]
                rest[0] = replace(inner, value=Text(self._all(inner, '"name"')[0]))
                more = {"kinematic": True} if inner.head == "k" else {}
            values, rest = self.arguments(kind, kind.value, form, rest)
            made = self._make(kind, make, values, **more)
            before, last = [*before, *last], made if isinstance(made, list) else [made]
        return before, last, rest

    def _options(
        self, node: Node, last: list[Coordinate | Fixed], options: list[Node]
    ) -> tuple[list[Coordinate | Fixed], list[Element]]:
        """The elements of the last transform with their options, and the elements that options add below it."""
        moving = [element for element in last if isinstance(element, Coordinate)]
        known = {**OPTIONS, **JOINT_OPTIONS} if moving else OPTIONS
        name, mass, bodies = None, None, []
        for option in options:
            if option.head not in known:
                choices = ", ".join(usage(head, form) for head, form in known.items())
                raise self.error(option, f'this frame has no option "{option.head or "?"}"; choose from {choices}')
            values = self._all(option, known[option.head])
            if option.head == "name":
                name = values[0]
            elif option.head == "mass":
                mass = {k: _unquoted(value) for k, value in values.items()}
            elif option.head == "body":
                title, own, com, inertia = values.values()
                bodies.append(self._make(option, body, {0: title, 1: own, 2: inertia, 3: com}))
            elif option.head == "mimic":
                leader, multiplier, offset = values.values()
                moving = [replace(element, mimic=(leader, multiplier, offset)) for element in moving]
            else:
                moving = self._limited(option, moving, values[0])
        if mass is not None:
            bodies.insert(0, self._make(node, body, {0: name or f"mass at {node.line}:{node.column}",
                                                     **{k + 1: value for k, value in mass.items()}}))  # fmt: skip
        elif name is not None and not moving:
            last = [replace(last[0], name=name)]
        elif name is not None and name not in (moving[-1].name, moving[-1].joint):
            bodies.append(named(name))
        return [*moving] or last, bodies

    def _limited(self, option: Node, last: list[Coordinate], values: tuple[float, ...]) -> list[Coordinate]:
        """The coordinates of a joint with a damping or limit: one number for all, or one each."""
        sizes = [SIZES.get(element.kind, 1) for element in last]
        if len(values) not in (1, sum(sizes)):
            count = "1 number" if sum(sizes) == 1 else f"1 or {sum(sizes)} numbers"
            raise self.error(option, f"{option.head} takes {count} here, not {len(values)}")
        values = values * sum(sizes) if len(values) == 1 else values
        ends = np.cumsum(sizes)
        parts = [values[end - size : end] for end, size in zip(ends, sizes, strict=True)]
        given: list[Keywords] = [{field_of(option.head): part if len(part) > 1 else part[0]} for part in parts]
        return [replace(element, **one) for element, one in zip(last, given, strict=True)]


def _unquoted(value: Any) -> object:
    """A mass or moments of inertia, whose numbers may stand in quotation marks."""
    if isinstance(value, tuple):
        return tuple(map(_unquoted, value))
    try:
        return float(value)
    except ValueError:
        return value


def read_sexpr(source: str | os.PathLike[str]) -> Tree:
    """Read a mechanism in s-expression notation into a :class:`Tree`.

    Parameters
    ----------
    source : path or str
        Path of a file; or the text itself, if it begins with a parenthesis or ";".

    Raises
    ------
    ModelError
        If it cannot be read; the text names file, line and column.
    InputError
        If the source is neither a path nor a text.

    Notes
    -----
    Names of frames, joints and links that constraints and loads use are looked up when the tree is compiled.
    """
    if isinstance(source, str) and source.lstrip().startswith(("(", ")", ";")):
        return Reader(source, "<text>").tree()
    path = path_of(source, "source")
    try:
        return Reader(path.read_text(encoding="utf-8"), path.name).tree()
    except (OSError, UnicodeDecodeError) as error:
        why = getattr(error, "strerror", None) or error
        remedy = "give the path of a file, or a text that begins with ("
        raise SexprError(f"cannot read {brief(path)}: {why}; {remedy}") from None


def load_sexpr(source: str | os.PathLike[str]) -> Model:
    """Read a mechanism in s-expression notation and compile it; see :func:`read_sexpr`."""
    return read_sexpr(source).compile()
