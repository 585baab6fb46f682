"""Check that public docstrings say what their readers need; as a Sphinx extension, each fault is a warning.

What is checked, of every public function and class, and of the public methods and properties of the classes:

1. There is a docstring, and its first line is a sentence.
2. Each parameter is documented by its name, and no other is. That is: in the section Parameters (of classes also in
   Attributes); or in the text as "``x``", "x (n,)" or "x [m]"; or in the Notes of the class, or of one that it comes
   from, as an item "x : what it is", for all methods of these classes; or where the text says "see", "as for" or
   "as of" with a reference such as :func:`tx`, in the docstring referred to. The constructors of
   errors, and of classes whose docstrings say "made by", are not for others, and left out.
3. Attributes that are documented exist, and fields of dataclasses are documented.
4. An array has its shape, as in "(n, 3)"; a number that is not an int has its unit, as in "[m/s]", "[-]" being none,
   or is said to be without (``UNITLESS``).
5. The errors of vitree that a function raises, itself or in a function of vitree or method that it calls, are in the
   section Raises with the reason, or in a sentence "raise an XError ..."; a class may say it once for all, as in
   "methods raise an XError ...".
6. A docstring with an equation has a source, "author year", in itself, its class or its module; or its name is in
   ``OWN``.
"""

from __future__ import annotations

import ast
import builtins
import dataclasses
import functools
import importlib
import importlib.util
import inspect
import re
import sys
import textwrap
import warnings
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

from numpydoc.docscrape import NumpyDocString

from vitree import errors

#: Modules with public names, in so far as they exist and what they need is installed.
MODULES = (
    "vitree", "vitree.lie", "vitree.se3", "vitree.vehicles", "vitree.control", "vitree.plot",
    "vitree.results.drawing", "vitree.viewer", "vitree.gym",
    "vitree.bridges.torch", "vitree.bridges.jax", "vitree.bridges.casadi", "vitree.bridges.state_space",
)  # fmt: skip
#: What modules are called whose classes and functions are followed.
PACKAGE = "vitree"

#: Words of units in brackets.
UNITS = set("m rad s kg N J W bytes or and per".split())
#: What is said of numbers that have no unit, or that of something else.
UNITLESS = re.compile(
    r"\b(ratio|shares?|factors?|directions?|quaternion|rotation|cosine|without units?|in units of|units as)\b",
    re.IGNORECASE,
)
#: Those with equations that are definitions, or textbook physics, and need no source.
OWN = {"vitree.Attraction", "vitree.JointSpring", "vitree.gear", "vitree.screw_pair"}
#: Errors of what a function calls that its own arguments cannot cause.
EXCLUDED = {("vitree.weld", "ModelError")}

_UNIT = re.compile(r"\[([^\[\]]+)\]")
_SIZE = r"(?:\.\.\.|[\w*]+(?: [\w`]+)*(?: [+-] \d)?)"
_SHAPE = re.compile(rf"\((?:\.\.\.|{_SIZE},|{_SIZE}(?:, {_SIZE})+)\)")
_ARRAY = re.compile(r"\b(arrays?|ndarray|ArrayLike)\b")
_NUMBER = re.compile(r"\b(float|numbers?|arrays?|ndarray|ArrayLike)\b")
_INTEGER = re.compile(r"\b(int|bool|bytes)\b")
_COUNT = re.compile(r"\b(int|bool|callable|Callable|str)\b")
_ITEM = re.compile(r"^(\*{0,2}\w+(?:, \*{0,2}\w+)*) : (.+)$")
_REFERENCE = re.compile(r"\b(?:see|as\s+(?:for|of))\s+:(?:func|class|meth):`~?([\w.]+)`", re.IGNORECASE)
_SOURCE = re.compile(r"[A-Z][a-zé]+(?:,? (?:&|and) [A-Z]\w+| et al\.)?,? \(?(?:1[6-9]|20)\d\d")
_OPERATOR = re.compile(r"[\w)|'] ?[+*/^] ?[\w(|']| - ")


class Entry(NamedTuple):
    """What is said of a parameter, an attribute, a result or an error."""

    type: str
    text: str = ""


class Docstring:
    """A docstring in its parts."""

    def __init__(self, text: str):
        self.text = text
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            parts = NumpyDocString(text)
        self.sections: dict[str, dict[str, Entry]] = {}
        for section in ("Parameters", "Other Parameters", "Attributes", "Returns", "Yields", "Raises"):
            self.sections[section] = {}
            for name, kind, lines in parts[section]:
                names = [kind] if not name or "(" in name else name.split(",")
                if section == "Raises":
                    names = kind.split(",")
                for one in names:
                    self.sections[section][one.strip().lstrip("*")] = Entry(kind, " ".join(lines))
        #: Items of the Notes, by name.
        self.items = _items(parts["Notes"])
        #: All but the sections of items.
        self.prose = "\n".join([*parts["Summary"], *parts["Extended Summary"], *parts["Notes"]])

    @property
    def parameters(self) -> dict[str, Entry]:
        """What is in the sections of parameters."""
        return self.sections["Parameters"] | self.sections["Other Parameters"]


def _items(lines: list[str]) -> dict[str, Entry]:
    """Items "a, b : type" with what is indented below them, by name."""
    found: dict[str, Entry] = {}
    names: list[str] = []
    for line in lines:
        match = _ITEM.match(line)
        if match:
            names = [name.lstrip("*") for name in match[1].split(", ")]
            found |= dict.fromkeys(names, Entry(match[2]))
        elif names and line.startswith(" "):
            found |= {name: Entry(found[name].type, f"{found[name].text} {line.strip()}") for name in names}
        else:
            names = []
    return found


@dataclasses.dataclass(frozen=True)
class Public:
    """A public function, class, method or property."""

    name: str
    object: Any
    module: str
    owner: type | None = None

    @property
    def function(self) -> Callable | None:
        """What is called: of a class its constructor, of a property None."""
        if inspect.isclass(self.object):
            made = self.object.__init__
            return made if getattr(made, "__module__", "").startswith(PACKAGE) else None
        return None if _is_property(self.object) else self.object

    @property
    def docstring(self) -> str:
        """Its docstring, inherited if it has none."""
        if self.owner is not None and self.object.__doc__ is None:
            name = self.name.rsplit(".", 1)[1]
            for kind in self.owner.__mro__:
                if name in vars(kind) and getattr(vars(kind)[name], "__doc__", None):
                    return inspect.cleandoc(vars(kind)[name].__doc__)
        text = self.object.__doc__
        # a dataclass without one is given its signature
        if not text or (inspect.isclass(self.object) and text.startswith(f"{self.object.__name__}(")):
            return ""
        return inspect.cleandoc(text)

    @property
    def parameters(self) -> dict[str, str]:
        """Its parameters, and their annotations as they are written."""
        if self.function is None:
            return {}
        kept = inspect.signature(self.function).parameters.values()
        return {
            p.name: "" if p.annotation is p.empty else str(p.annotation)
            for p in kept
            if p.name not in ("self", "cls") and not p.name.startswith("_")
        }

    @property
    def returns(self) -> str:
        """The annotation of what it returns."""
        if inspect.isclass(self.object):
            return ""
        function = _function_of(self.object)
        return str(getattr(function, "__annotations__", {}).get("return", ""))


def _is_property(x: Any) -> bool:
    return isinstance(x, property | functools.cached_property)


def _function_of(x: Any) -> Any:
    if isinstance(x, property):
        return x.fget
    return x.func if isinstance(x, functools.cached_property) else x


def public() -> Iterator[Public]:
    """Yield all that is public, once."""
    seen: set[Any] = set()
    for module_name in MODULES:
        if importlib.util.find_spec(module_name) is None:
            continue
        try:
            module = importlib.import_module(module_name)
        except errors.MissingExtraError:
            continue
        for name in getattr(module, "__all__", None) or _names(module):
            x = getattr(module, name)
            if not (inspect.isclass(x) or inspect.isfunction(x) or hasattr(x, "__wrapped__")) or id(x) in seen:
                continue
            seen.add(id(x))
            yield Public(f"{module_name}.{name}", x, x.__module__)
            for member in members(x) if inspect.isclass(x) else ():
                if member.name not in seen:
                    seen.add(member.name)
                    yield member


def _names(module: Any) -> list[str]:
    """Functions and classes of a module that lists none in ``__all__``."""
    return [name for name, x in vars(module).items()
            if not name.startswith("_") and getattr(x, "__module__", None) == module.__name__]  # fmt: skip


def members(kind: type) -> Iterator[Public]:
    """Yield the public methods and properties of a class, its own and those it has from others of vitree."""
    for name in dir(kind):
        owner = next((k for k in kind.__mro__ if name in vars(k)), object)
        if name.startswith("_") or not owner.__module__.startswith(PACKAGE):
            continue
        x = vars(owner)[name]
        x = x.__func__ if isinstance(x, classmethod | staticmethod) else x
        if inspect.isfunction(x) or _is_property(x):
            yield Public(f"{owner.__module__}.{owner.__qualname__}.{name}", x, owner.__module__, kind)


# ---- rules ----------------------------------------------------------------------------------------------


def faults(one: Public) -> list[str]:
    """Return what its docstring lacks."""
    if not one.docstring:
        return ["no docstring"]
    try:
        doc = Docstring(one.docstring)
    except (ValueError, UserWarning) as error:
        return [f"the docstring cannot be read: {error}"]
    found = [] if _is_sentence(one.docstring) else ["the first line is not a sentence that ends with a full stop"]
    return [*found, *name_faults(one, doc), *number_faults(one, doc), *raise_faults(one, doc), *source_faults(one, doc)]


def name_faults(one: Public, doc: Docstring) -> list[str]:
    """Return the parameters and attributes that are not documented, or documented and not there."""
    known, fields, found = documented(one, doc), _fields(one.object), []
    if not _is_handed_out(one):
        found += [f"the parameter {name} is not documented" for name in one.parameters if name not in known]
        there = {*one.parameters, *fields}
        found += [f"the documented parameter {name} does not exist" for name in doc.parameters if name not in there]
    found += [f"the field {name} is not documented" for name in fields if not {name} & {*known, *one.parameters}]
    found += [f"{path} does not exist" for path in _REFERENCE.findall(doc.text) if _resolved(path, one) is None]
    if inspect.isclass(one.object):
        found += [f"the documented attribute {name} does not exist"
                  for name in doc.sections["Attributes"] if not _has(one.object, name)]  # fmt: skip
    return found


def number_faults(one: Public, doc: Docstring) -> list[str]:
    """Return what lacks a shape or a unit."""
    without = any("without units" in text for text in [one.docstring, *_class_texts(one)])
    entries = doc.parameters | (doc.sections["Attributes"] | doc.items if inspect.isclass(one.object) else {})
    returned = doc.sections["Returns"] | doc.sections["Yields"]
    annotations = one.parameters
    checked = [(name, entry, annotations.get(name, "")) for name, entry in entries.items()]
    checked += [("what it returns", entry, "") for entry in returned.values()]
    if not returned:
        checked.append(("what it returns", Entry("", one.docstring), one.returns))
    found = []
    for name, (kind, text), annotation in checked:
        said, whole = kind or annotation, f"{kind} {text}"
        if _REFERENCE.search(whole):
            continue
        if _ARRAY.search(said) and not _SHAPE.search(whole):
            found.append(f"{name}: no shape")
        numeric = _NUMBER.search(said) and not (_INTEGER if _ARRAY.search(said) else _COUNT).search(said)
        if numeric and not (without or _has_unit(whole) or UNITLESS.search(whole)):
            found.append(f"{name}: no unit")
    return found


def source_faults(one: Public, doc: Docstring) -> list[str]:
    """Return the equation that has no source."""
    prose = _UNIT.sub("", re.sub("``.*?``", "", doc.prose)).splitlines()
    equations = [line.strip() for line in prose if " = " in line and _OPERATOR.search(line)]
    sources = [one.docstring, *_class_texts(one), sys.modules[one.module].__doc__ or ""]
    if one.name in OWN or any(map(_SOURCE.search, sources)):
        return []
    return [f"no source of the equation in {line!r}" for line in equations[:1]]


def _is_handed_out(one: Public) -> bool:
    """Whether it is a class whose objects vitree makes, errors among them."""
    return inspect.isclass(one.object) and (issubclass(one.object, BaseException) or "made by" in one.docstring)


def _is_sentence(text: str) -> bool:
    first, second, *_ = [*text.split("\n"), ""]
    return bool(re.match("[A-Z]", first)) and first.endswith(".") and not second.strip()


def documented(one: Public, doc: Docstring) -> set[str]:
    """Return the names of the parameters and attributes that the docstring, or what it refers to, explains."""
    known: set[str] = set()
    targets = references(one, doc)
    for at in (one, *targets):
        names = {*one.parameters, *_fields(one.object)}
        known |= {x for x in names if re.search(rf"``\*{{0,2}}{x}``|(?<![\w.]){x} [:(\[]", at.docstring)}
        said = Docstring(at.docstring)
        known |= {*said.parameters, *(said.sections["Attributes"] if inspect.isclass(at.object) else ())}
    for text in _class_texts(one):
        known |= set(Docstring(inspect.cleandoc(text)).items)
    return known | ({"options"} if targets else set())


def references(one: Public, doc: Docstring, depth: int = 4) -> list[Public]:
    """Return what the docstring refers to for more, and what that refers to."""
    found: list[Public] = []
    for path in _REFERENCE.findall(doc.text) if depth else ():
        target = _resolved(path, one)
        if target is not None and target.object is not one.object:
            found += [target, *references(target, Docstring(target.docstring), depth - 1)]
    return found


def _resolved(path: str, one: Public) -> Public | None:
    """What a docstring means by a name: in its class, its module or the package."""
    for start in (one.owner, sys.modules[one.module], importlib.import_module("vitree")):
        owner: Any = None
        x: Any = start
        for part in path.removeprefix("vitree.").split("."):
            owner = x
            x = getattr(x, part, None)
            if x is None and hasattr(owner, "__path__") and importlib.util.find_spec(f"{owner.__name__}.{part}"):
                x = importlib.import_module(f"{owner.__name__}.{part}")
        if x is not None and not inspect.ismodule(x):
            kind = owner if inspect.isclass(owner) else None
            return Public(f"{x.__module__}.{x.__qualname__}", x, x.__module__, kind)
    return None


def _fields(kind: Any) -> list[str]:
    if not (inspect.isclass(kind) and dataclasses.is_dataclass(kind)):
        return []
    return [field.name for field in dataclasses.fields(kind) if not field.name.startswith("_")]


def _has(kind: type, name: str) -> bool:
    """Whether objects of a class have an attribute, as far as the source tells."""
    if hasattr(kind, name) or name in _fields(kind):
        return True
    sources = [_source(k) for k in kind.__mro__ if k.__module__.startswith(PACKAGE)]
    return any(re.search(rf"\bself\.{name}\b|^    {name}:", text, re.MULTILINE) for text in sources)


@functools.cache
def _source(x: Any) -> str:
    try:
        return textwrap.dedent(inspect.getsource(x))
    except (OSError, TypeError):
        return ""


def _class_texts(one: Public) -> list[str]:
    """Docstrings of the classes that a method or class comes from."""
    kind = one.object if inspect.isclass(one.object) else one.owner
    return [k.__doc__ for k in kind.__mro__ if k.__module__.startswith(PACKAGE) and k.__doc__] if kind else []


def _has_unit(text: str) -> bool:
    return any(inner == "-" or (set(words) <= UNITS and words)
               for inner in _UNIT.findall(text) for words in [re.findall("[A-Za-z]+", inner)])  # fmt: skip


def raise_faults(one: Public, doc: Docstring) -> list[str]:
    """Return the errors that are raised and not documented, or documented without a reason."""
    listed, found = set(doc.sections["Raises"]), []
    for name, (_, reason) in doc.sections["Raises"].items():
        if not hasattr(builtins, name) and not hasattr(errors, name) and not hasattr(sys.modules[one.module], name):
            found.append(f"{name} in Raises is no error")
        if not reason:
            found.append(f"{name} in Raises has no reason")
    functions = [_function_of(one.object)]
    if inspect.isclass(one.object) and not _is_handed_out(one):
        functions = [vars(one.object)[name] for name in ("__init__", "__post_init__") if name in vars(one.object)]
    prose = one.docstring
    for target in references(one, doc):
        prose += f" {target.docstring}"
        listed |= set(Docstring(target.docstring).sections["Raises"])
    told = re.findall(r"\braises?\b[^.]*", " ".join(prose.split()))
    told += re.findall(r"\bmethods raise\b[^.]*", " ".join(" ".join(_class_texts(one)).split()), re.IGNORECASE)
    listed |= set(re.findall(r"\w+", " ".join(told)))
    for error in sorted({e for f in functions for e in raised(f, one.owner)}, key=lambda e: e.__name__):
        names = {k.__name__ for k in error.__mro__ if issubclass(k, errors.VitreeError)}
        if not names & listed and (one.name, error.__name__) not in EXCLUDED:
            found.append(f"raises {error.__name__}, which is not documented")
    return found


def raised(function: Any, owner: type | None, deeper: bool = True) -> set[type]:
    """Return the errors of vitree that a function raises, and (if ``deeper``) those of the functions it calls."""
    function = inspect.unwrap(function)
    text, names = _source(function), getattr(function, "__globals__", {})

    def of(node: ast.AST) -> set[type]:
        found: set[type] = set()
        for child in ast.iter_child_nodes(node):
            if isinstance(child, ast.Try):
                caught = tuple(x for handler in child.handlers for x in _named(handler.type, names))
                body = set().union(*(of(part) for part in child.body))
                found |= {x for x in body if not issubclass(x, caught)}
                rest = [*child.handlers, *child.orelse, *child.finalbody]
                found |= set().union(*(of(part) for part in rest))
                continue
            found |= of(child)
        if isinstance(node, ast.Raise) and node.exc is not None:
            kinds = _named(getattr(node.exc, "func", node.exc), names)
            found |= {x for x in kinds if issubclass(x, errors.VitreeError)}
        if deeper and isinstance(node, ast.Call):
            called: Any = None
            if isinstance(node.func, ast.Name):
                called = names.get(node.func.id)
            elif isinstance(node.func, ast.Attribute) and getattr(node.func.value, "id", "") == "self" and owner:
                called = getattr(owner, node.func.attr, None)
            if inspect.isfunction(called) and called.__module__.startswith(PACKAGE):
                found |= raised(called, owner, deeper=False)
        return found

    return of(ast.parse(text)) if text else set()


def _named(node: ast.AST | None, names: dict[str, Any]) -> list[type]:
    """The classes that a name, or a tuple of names, stands for."""
    parts = node.elts if isinstance(node, ast.Tuple) else [node]
    found = [names.get(part.id, getattr(builtins, part.id, None)) for part in parts if isinstance(part, ast.Name)]
    return [x for x in found if inspect.isclass(x)]


def problems() -> list[str]:
    """Return the faults of all public docstrings, as "name: fault"."""
    return [f"{one.name}: {fault}" for one in public() for fault in faults(one)]


def setup(app: Any) -> dict[str, Any]:
    """Have Sphinx warn of each problem when a build begins."""
    from sphinx.util import logging

    def report(_: Any) -> None:
        for problem in problems():
            logging.getLogger(__name__).warning("docstring of %s", problem, type="docstrings")

    app.connect("builder-inited", report)
    return {"parallel_read_safe": True}
