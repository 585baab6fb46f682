"""The s-expression notation for tree-form mechanisms (Johnson & Murphey 2009, section V-B, Table II).

    (mechanical-system (name "pendulum") (gravity 0 0 -9.81)
      (ry "swing" (damping 0.1) (lower -2) (upper 2)
        (tz -1 (name "bob") (mass 1)))
      (joint-spring "swing" 5))

A frame is ``(transform arguments ... options ... frames ...)``; several transforms in a row are one below the
other, and options belong to the last of them. What there is, with its arguments, stands in the tables
``TRANSFORMS``, ``OPTIONS`` and ``COMPONENTS``: a word is a number, ``"word"`` a text, ``a|b`` either, ``(x y z)``
numbers in parentheses or in a row, ``(x ...)`` any number of them, ``'word`` the symbol itself, and ``?`` marks
what may be left out. A joint's name is a text, ``(D "name")``, which means the same, or ``(K "name")`` for one
that is prescribed. Symbols are not case-sensitive; ``;`` begins a comment.
"""

from __future__ import annotations

import inspect
import math
import os
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, fields, replace
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from vitree.errors import ModelError, VitreeError
from vitree.mechanism import constraints, loads
from vitree.mechanism.flat import FRICTION_VELOCITY
from vitree.model.model import Model
from vitree.model.written import Written
from vitree.spatial.rotations import proper_rotation as proper
from vitree.spatial.rotations import rotation_about as turned
from vitree.tree import pairs
from vitree.tree.elements import Coordinate, Element, Fixed, ball, body, free, rx, ry, rz, screw, tx, ty, tz
from vitree.tree.elements import fixed as constant
from vitree.tree.elements import frame as named
from vitree.tree.frames import Frame
from vitree.tree.tree import Tree

#: Levels that are still indented when written.
DEEPEST = 40
#: Numbers that were given of unit length keep all their digits.
EXACT = 4e-15
_TOKEN = re.compile(r'\s+|;[^\n]*|(?P<open>\()|(?P<close>\))|"(?P<text>[^"]*)"|(?P<word>[^\s()";]+)')
_SLOT = re.compile(r"(\([^)]*\)|[^\s?]+)(\??)")


def _twist(name: str, angular, linear, **limits) -> Coordinate:
    """A coordinate along a unit twist, to the last digit as it was written."""
    made, given = screw(name, twist=(angular, linear), **limits), (*angular, *linear)
    if np.allclose(made.twist, given, rtol=0, atol=EXACT):
        made = replace(made, twist=given, axis=tuple(angular if np.any(angular) else linear))
    return made


def _fixed(position, rotation=(1, 0, 0, 0, 1, 0, 0, 0, 1)) -> Fixed:
    """A constant transform, to the last digit as it was written."""
    given = np.reshape(rotation, (3, 3)).astype(float)
    exact = proper(given, "fixed")
    return constant(None, position, rotation=given if np.allclose(given, exact, rtol=0, atol=EXACT) else exact)


def _coupling(a: str, factor_a: float, b: str, factor_b: float, value: float = 0.0) -> constraints.Coupling:
    return constraints.Coupling({a: factor_a, b: factor_b}, value)


_ONE = 'number|"name"'
PRIMITIVES: dict[str, Callable] = {"tx": tx, "ty": ty, "tz": tz, "rx": rx, "ry": ry, "rz": rz}
#: Transforms: what makes them, and their arguments.
TRANSFORMS: dict[str, tuple[Callable, str]] = {
    **{name: (make, _ONE) for name, make in PRIMITIVES.items()},
    "fixed": (_fixed, "(x y z) (r11 r12 r13 r21 r22 r23 r31 r32 r33)?"),
    "screw": (screw, '"name" (ax ay az) (px py pz) pitch'),
    "twist": (_twist, '"name" (wx wy wz) (vx vy vz)'),
    "ball": (ball, '"name"'),
    "free": (free, '"name"'),
    "revolute": (pairs.revolute, '"name" (ax ay az)?'),
    "prismatic": (pairs.prismatic, '"name" (ax ay az)?'),
    "helical": (pairs.helical, '"name" (ax ay az)? pitch?'),
    "cylindrical": (pairs.cylindrical, '"name" (ax ay az)?'),
    "spherical": (pairs.spherical, '"name"'),
    "planar": (pairs.planar, '"name" (nx ny nz)?'),
    "universal": (pairs.universal, '"name"'),
}
#: Options of a joint: one number for all its coordinates, or one each; and what holds without.
LIMITS = {"damping": 0.0, "friction": 0.0, "friction-velocity": FRICTION_VELOCITY,
          "lower": -math.inf, "upper": math.inf, "velocity": math.inf, "effort": math.inf}  # fmt: skip
#: Options of a frame.
OPTIONS = {
    "name": '"name"',
    "mass": 'mass|"mass" (ixx|"ixx" iyy|"iyy" izz|"izz")?',
    "body": '"name" mass (cx cy cz) (ixx ixy ixz iyy iyz izz)',
}
#: Options of a joint alone.
JOINT_OPTIONS = {**dict.fromkeys(LIMITS, "(x ...)"), "mimic": '"joint" multiplier offset'}
#: What stands beside the frames: what makes it, and its arguments.
COMPONENTS: dict[str, tuple[Any, str]] = {
    "gravity": (None, "(x y z)"),
    "name": (None, '"name"'),
    "point-constraint": (constraints.PointConstraint, "\"a\" \"b\" (x y z) 'world|'local? offset? \"name\"?"),
    "distance": (constraints.Distance, '"a" "b" length|"joint"'),
    "coupling": (_coupling, '"joint" factor "joint" factor value?'),
    "gear": (constraints.gear, '"a" "b" ratio value?'),
    "screw-pair": (constraints.screw_pair, '"slide" "turn" pitch value?'),
    "axis-constraint": (constraints.AxisConstraint, '"a" "b" (x y z) (x y z) cosine?'),
    "cam": (constraints.Cam, "\"follower\" \"driver\" (positions ...) (profile ...) 'periodic?"),
    "weld": (constraints.weld, '"a" "b"'),
    "spring": (loads.Spring, '"a" "b" stiffness length?'),
    "damper": (loads.Damper, '"a" "b" coefficient'),
    "attraction": (loads.Attraction, "\"a\" \"b\" mass_a|'own? mass_b|'own? constant?"),
    "gravity-on": (loads.Gravity, '("link" ...) (x y z)?'),
    "wrench": (
        loads.Wrench,
        '"frame" (x|"input" y|"input" z|"input") (x|"input" y|"input" z|"input") \'world|\'local|\'spatial?',
    ),
    "joint-force": (loads.JointForce, '"joint" force|"input"'),
    "joint-spring": (loads.JointSpring, '"joint" stiffness rest?'),
    "nonlinear-spring": (loads.NonlinearSpring, '"joint" (positions ...) (forces ...)'),
}
#: The paper's Listing 1 has this.
_SPELLINGS = {"point-constaint": "point-constraint"}
#: Symbols that stand for something else.
_SYMBOLS = {"own": None, "periodic": True}


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
    def is_symbol(self) -> bool:
        return isinstance(self.value, str) and not self.is_text

    @property
    def is_list(self) -> bool:
        return isinstance(self.value, list)

    @property
    def head(self) -> str:
        """The symbol a list begins with, in lower case."""
        return self.value[0].value if self.is_list and self.value and self.value[0].is_symbol else ""


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

    # ---- arguments ------------------------------------------------------------------------------

    def arguments(self, at: _Node, head: str, form: str, nodes: list[_Node]) -> tuple[dict[int, Any], list[_Node]]:
        """What a form takes of the nodes, by the place in the form, and the nodes that are left."""
        values: dict[int, Any] = {}
        for k, slot in enumerate(_slots(form)):
            first = nodes[0] if nodes else None
            listed = slot.listed and first is not None and first.is_list and not first.head
            if slot.optional and not listed and (first is None or not _fits(slot.words[0], first)):
                continue
            if first is None:
                raise self.error(at, f"{slot.shown} is missing; write {_usage(head, form)}")
            if listed:
                parts, nodes = first.value, nodes[1:]
            else:
                count = len(slot.words)
                if slot.repeated:
                    count = next((n for n, x in enumerate(nodes) if not _fits(slot.words[0], x)), len(nodes)) or 1
                parts, nodes = nodes[:count], nodes[count:]
            words = slot.words * len(parts) if slot.repeated else slot.words
            found = tuple(self._value(word, x, head, form) for word, x in zip(words, parts, strict=False))
            if len(parts) != len(words) or not parts:
                wanted = "one or more" if slot.repeated else len(words)
                raise self.error(
                    first if listed else at,
                    f"{slot.shown} takes {wanted} values, not {len(parts)}; write {_usage(head, form)}",
                )
            values[k] = found if slot.listed else found[0]
        return values, nodes

    def _value(self, word: str, node: _Node, head: str, form: str) -> Any:
        value = node.value
        if not _fits(word, node) or (isinstance(value, float) and math.isinf(value) and head not in LIMITS):
            kinds = [_expected(choice) for choice in word.split("|")]
            raise self.error(node, f"expected {' or '.join(kinds)} for {head}; write {_usage(head, form)}")
        if node.is_text:
            return str(value)
        return _SYMBOLS.get(value, value) if node.is_symbol else value

    def _all(self, node: _Node, form: str) -> dict[int, Any]:
        """The arguments of a list that has nothing else."""
        values, rest = self.arguments(node, node.head, form, node.value[1:])
        if rest:
            raise self.error(rest[0], f"one too many for {node.head}; write {_usage(node.head, form)}")
        return values

    def _make(self, at: _Node, make: Callable, values: dict[int, Any], **more) -> Any:
        """Call a function with the arguments of a form, by the order of its parameters."""
        names = list(inspect.signature(make).parameters)
        try:
            return make(**{names[k]: value for k, value in values.items() if k < len(names)}, **more)
        except VitreeError as error:
            raise self.error(at, str(error)) from None

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
        head = _SPELLINGS.get(node.head, node.head)
        if head in TRANSFORMS:
            self._frames(tree.world, node)
        elif head not in COMPONENTS:
            raise self.error(
                node, f'"{head or "?"}" is not known here; choose from {", ".join([*COMPONENTS, *TRANSFORMS])}'
            )
        else:
            make, form = COMPONENTS[head]
            values = self._all(node, form)
            if make is None:
                setattr(tree, head, np.array(values[0]) if head == "gravity" else values[0])
                return
            made = self._make(node, make, values)
            (tree.load if isinstance(made, loads.Load) else tree.constrain)(made)

    def _frames(self, above: Frame, top: _Node) -> None:
        stack = [(above, top)]
        while stack:
            at, node = stack.pop()
            elements, last, rest = self._transforms(node)
            options: list[_Node] = []
            below: list[_Node] = []
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

    def _transforms(self, node: _Node) -> tuple[list[Element], list[Element], list[_Node]]:
        """The elements of a frame expression but for the last transform's, those, and what follows them."""
        before: list[Element] = []
        last: list[Element] = []
        rest = list(node.value)
        while rest and rest[0].is_symbol:
            kind = rest.pop(0)
            if kind.value not in TRANSFORMS:
                raise self.error(kind, f'"{kind.value}" is no transform; choose from {", ".join(TRANSFORMS)}')
            make, form = TRANSFORMS[kind.value]
            more = {}
            if rest and rest[0].head in ("d", "k"):
                inner = rest[0]
                rest[0] = replace(inner, value=_Text(self._all(inner, '"name"')[0]))
                more = {"kinematic": True} if inner.head == "k" else {}
            values, rest = self.arguments(kind, kind.value, form, rest)
            made = self._make(kind, make, values, **more)
            before, last = before + last, made if isinstance(made, list) else [made]
        return before, last, rest

    def _options(self, node: _Node, last: list, options: list[_Node]) -> tuple[list[Element], list[Element]]:
        """The last transform's elements with their options, and what these add below it."""
        moving = isinstance(last[0], Coordinate)
        known = {**OPTIONS, **JOINT_OPTIONS} if moving else OPTIONS
        name, mass, bodies = None, None, []
        for option in options:
            if option.head not in known:
                choices = ", ".join(_usage(head, form) for head, form in known.items())
                raise self.error(option, f'"{option.head or "?"}" is no option of this frame; choose from {choices}')
            values = self._all(option, known[option.head])
            if option.head == "name":
                name = values[0]
            elif option.head == "mass":
                mass = values
            elif option.head == "body":
                title, own, com, inertia = values.values()
                bodies.append(self._make(option, body, {0: title, 1: own, 2: inertia, 3: com}))
            elif option.head == "mimic":
                last = [replace(element, mimic=tuple(values.values())) for element in last]
            else:
                last = self._limited(option, last, values[0])
        if mass is not None:
            bodies.insert(0, self._make(node, body, {0: name or f"mass at {node.line}:{node.column}",
                                                     **{k + 1: value for k, value in mass.items()}}))  # fmt: skip
        elif name is not None and not moving and last[0].name is None:
            last = [replace(last[0], name=name)]
        elif name is not None and name not in (last[-1].name, last[-1].joint):
            bodies.append(named(name))
        return last, bodies

    def _limited(self, option: _Node, last: list, values: tuple[float, ...]) -> list:
        """The coordinates of a joint with a damping or limit: one number for all, or one each."""
        sizes = [_SIZES.get(element.kind, 1) for element in last]
        if len(values) not in (1, sum(sizes)):
            count = "1 number" if sum(sizes) == 1 else f"1 or {sum(sizes)} numbers"
            raise self.error(option, f"{option.head} takes {count} here, not {len(values)}")
        values = values * sum(sizes) if len(values) == 1 else values
        ends = np.cumsum(sizes)
        parts = [values[end - size : end] for end, size in zip(ends, sizes, strict=True)]
        return [replace(element, **{_field(option.head): part if len(part) > 1 else part[0]})
                for element, part in zip(last, parts, strict=True)]  # fmt: skip


def _field(limit: str) -> str:
    """The field of a coordinate that holds an option of LIMITS."""
    return limit.replace("-", "_")


#: Coordinates of the joints that have several.
_SIZES = {"ball": 3, "free": 6}


class _Slot(NamedTuple):
    """One argument of a form: a value, or a list of them."""

    shown: str
    words: tuple[str, ...]
    listed: bool
    repeated: bool
    optional: bool


@cache
def _slots(form: str) -> tuple[_Slot, ...]:
    slots = []
    for text, optional in _SLOT.findall(form):
        words = text.strip("()").split()
        listed, repeated = text.startswith("("), words[-1] == "..."
        slots.append(_Slot(text.replace("'", ""), tuple(words[: -1 if repeated else None]), listed, repeated,
                           bool(optional)))  # fmt: skip
    return tuple(slots)


def _usage(head: str, form: str) -> str:
    return f"({head} {form})".replace("'", "")


def _fits(word: str, node: _Node) -> bool:
    """Whether a node is what a word of a form stands for."""
    for choice in word.split("|"):
        if choice.startswith('"'):
            fits = node.is_text and bool(node.value)
        elif choice.startswith("'"):
            fits = node.is_symbol and node.value == choice[1:]
        else:
            fits = isinstance(node.value, float) and not math.isnan(node.value)
        if fits:
            return True
    return False


def _expected(choice: str) -> str:
    return 'a text in "..."' if choice.startswith('"') else choice[1:] if choice.startswith("'") else "a number"


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
    ModelError
        If it cannot be read; the text names file, line and column.

    Notes
    -----
    Names of frames, joints and links that constraints and loads use are looked up when the tree is compiled.
    """
    if isinstance(source, str) and source.lstrip().startswith(("(", ")", ";")):
        return _Reader(source, "<text>").tree()
    path = Path(source)
    try:
        return _Reader(path.read_text(encoding="utf-8"), path.name).tree()
    except (OSError, UnicodeDecodeError) as error:
        raise SexprError(f"cannot read {path}: {error}") from None


def load_sexpr(source: str | os.PathLike) -> Model:
    """Read a mechanism in s-expression notation and compile it; see :func:`read_sexpr`."""
    return read_sexpr(source).compile()


# ---- writing ------------------------------------------------------------------------------------------


def _written(value: Any) -> str:
    """A number, text, symbol or list as it is read."""
    if isinstance(value, str):
        if '"' in value:
            raise ModelError(f"the name {value!r} has no notation: it holds a quotation mark")
        return f'"{value}"'
    if value is None:
        return "own"
    if isinstance(value, tuple | list | np.ndarray):
        return "(" + " ".join(_written(x) for x in value) + ")"
    return repr(float(value)).removesuffix(".0")


def _same(a, b) -> bool:
    """Whether arrays are equal, to the signs of their zeros."""
    return np.array(a, dtype=float).tobytes() == np.array(b, dtype=float).tobytes()


def _constant(element: Fixed) -> str:
    """A constant transform: a primitive that is the same to the last digit, or all its numbers."""
    R, position = element.rotation, np.array(element.position, dtype=float)
    if R is None:
        for head, x in zip(("tx", "ty", "tz"), position, strict=True):
            if _same(PRIMITIVES[head](float(x)).position, position):
                return f"{head} {_written(x)}"
        return f"fixed {_written(position)}"
    R = np.asarray(R, dtype=float)
    if not position.any():
        for axis, head in enumerate(("rx", "ry", "rz")):
            angle = math.atan2(R[axis - 1, axis - 2], R[axis - 2, axis - 2])
            for x in (float(f"{angle:.15g}"), angle):
                if _same(turned(np.eye(3)[axis], x), R):
                    return f"{head} {_written(x)}"
    return f"fixed {_written(position)}" + ("" if _same(R, np.eye(3)) else f" {_written(R.ravel())}")


def _joint(at: Frame) -> tuple[str, Frame]:
    """A joint as text, and the last of its frames."""
    chain = [at]
    element = at.element
    while element.joint is not None and not at.bodies and len(at.children) == 1:
        child = at.children[0]
        if not isinstance(child.element, Coordinate) or child.element.joint != element.joint:
            break
        chain.append(at := child)
    elements = [frame.element for frame in chain]
    kinematic = {bool(e.kinematic) for e in elements}
    name = element.joint or element.name
    text = f"(K {_written(name)})" if kinematic == {True} else _written(name)
    if element.joint is not None:
        # the pair that is made of these coordinates, by the axis that its last one has
        kind, axis = element.joint_kind, [] if element.joint_kind == "universal" else [elements[-1].axis]
        made = TRANSFORMS[kind][0](name, *axis) if kind in TRANSFORMS else []
        if [e.name for e in made] != [e.name for e in elements] or len(kinematic) > 1 or not np.allclose(
            [e.twist for e in made], [e.twist for e in elements], rtol=0, atol=1e-12
        ):  # fmt: skip
            raise ModelError(f'the joint "{name}" ({kind}) has no notation as it is made here')
        text = " ".join([kind, text, *map(_written, axis)])
    elif element.twist is None:
        text = f"{element.kind} {text}"
    else:
        plain = [head for head, make in PRIMITIVES.items() if _same(make("x").twist, element.twist)]
        twist = f"twist {text} {_written(element.twist[:3])} {_written(element.twist[3:])}"
        text = f"{plain[0]} {text}" if plain else twist
    for what, default in LIMITS.items():
        values = np.concatenate([np.broadcast_to(getattr(e, _field(what)), _SIZES.get(e.kind, 1)) for e in elements])
        if (values != default).any():
            text += f" ({what} {' '.join(map(_written, values[:1] if (values == values[0]).all() else values))})"
    if element.mimic is not None:
        text += f" (mimic {' '.join(map(_written, element.mimic))})"
    return text, at


def _component(item: Any) -> str:
    """A constraint or load as text."""
    if isinstance(item, constraints.Coupling):
        parts = [x for pair in item.factors.items() for x in pair]
        return f"(coupling {' '.join(map(_written, [*parts, item.value]))})"
    heads = {make: head for head, (make, _) in COMPONENTS.items() if isinstance(make, type)}
    if type(item) not in heads:
        why = "it is written in Python" if isinstance(item, Written) else "it is of no known kind"
        raise ModelError(f"the {getattr(item, 'name', repr(item))} has no notation: {why}")
    head = heads[type(item)]
    words = [head]
    for field, slot in zip(fields(item), _slots(COMPONENTS[head][1]), strict=False):
        value = getattr(item, field.name)
        if isinstance(value, bool):
            words += [field.name] if value else []
        elif isinstance(value, str) and f"'{value}" in " ".join(slot.words).replace("|", " ").split():
            words.append(value)
        else:
            words.append(_written(value))
    return f"({' '.join(words)})"


def write_sexpr(tree: Tree) -> str:
    """Return the s-expression of a ``tree``; reading it gives the same flat arrays to the last digit.

    Shapes and notes are not kept. A joint made of several coordinates about other than a coordinate axis may differ
    in its last digits.

    Raises
    ------
    ModelError
        If something has no notation: a load or constraint written in Python, a name with a quotation mark.
    """
    lines = [f"(mechanical-system (name {_written(tree.name)}) (gravity {' '.join(map(_written, tree.gravity))})"]

    # frames still to be written, and None where the parenthesis of one that is done closes
    stack: list[tuple[Frame | None, int]] = [(child, 1) for child in reversed(tree.world.children)]
    while stack:
        at, depth = stack.pop()
        if at is None:
            lines[-1] += ")"
            continue
        if isinstance(at.element, Coordinate):
            text, at = _joint(at)
        else:
            text = _constant(at.element) + ("" if at.element.name is None else f" (name {_written(at.element.name)})")
        for own in at.bodies:
            inertia = np.zeros((3, 3)) if own.inertia is None else np.asarray(own.inertia)
            parts = own.name, own.mass, own.com, inertia[np.triu_indices(3)]
            text += f" (body {' '.join(map(_written, parts))})"
        lines.append(f"{'  ' * min(depth, DEEPEST)}({text}")
        stack += [(None, depth), *((child, depth + 1) for child in reversed(at.children))]
    lines += [f"  {_component(item)}" for item in (*tree.constraints, *tree.loads)]
    return "\n".join(lines) + ")\n"
