"""The packages stand in one order, that of CONTRIBUTING.md: none imports those below it in the list; no circles."""

import ast
import functools
import graphlib
import re

import pytest
from places import ROOT, TESTS, of_source

pytestmark = of_source

TEXT = (ROOT / "CONTRIBUTING.md").read_text().partition("## Layout")[2].partition("\n## ")[0]
#: Packages and modules of ``vitree``, in the order of the list.
ORDER = re.findall(r"^    vitree/(\w+)", TEXT, re.MULTILINE)
#: What stands above all.
TOP = ("__init__", "__main__", "moved")


def sources() -> dict[str, str]:
    """Module -> text of all of vitree, types of compiled modules included."""
    files = [path for path in (ROOT / "vitree").rglob("*.p*") if path.suffix in (".py", ".pyi", ".pyx", ".pxd", ".pxi")]
    files = [path for path in files if "own_robots" not in path.parts]
    texts: dict[str, str] = {}
    for path in files:
        name = ".".join(path.relative_to(ROOT).with_suffix("").parts)
        texts[name] = texts.get(name, "") + path.read_text()
    return texts


@functools.cache
def statements(text: str) -> tuple[list[str], list[tuple[str, list[str]]]] | None:
    """The modules that a text imports, and those that it imports names from; None of Cython."""
    try:
        nodes = list(ast.walk(ast.parse(text)))
    except SyntaxError:
        return None
    some = [node for node in nodes if isinstance(node, ast.ImportFrom)]
    assert all(node.level == 0 for node in some), "imports name the whole module"
    names = [alias.name for node in nodes if isinstance(node, ast.Import) for alias in node.names]
    return names, [(node.module, [alias.name for alias in node.names]) for node in some]


def imported(text: str, known: dict[str, str]) -> set[str]:
    """The modules of vitree that a text imports, at its top, inside functions and for types."""
    found = statements(text)
    if found is None:
        return {name for name in re.findall(r"^\s*(?:from|c?import) +(vitree[\w.]*)", text, re.MULTILINE)}
    names = list(found[0])
    for module, given in found[1]:
        inside = [f"{module}.{name}" for name in given]
        modules = {name for name in inside if name in known or f"{name}.__init__" in known}
        names += [*modules, *([module] if len(modules) < len(inside) else [])]
    return {name for name in names if name.partition(".")[0] == "vitree"}


def upward(known: dict[str, str]) -> list[str]:
    """Imports that go up."""
    place = {name: k for k, name in enumerate(ORDER)} | dict.fromkeys(TOP, len(ORDER))
    room = lambda module: module.removeprefix("vitree").strip(".").partition(".")[0] or "__init__"  # noqa: E731
    return [
        f"{module} imports {name}" for module, text in known.items() for name in imported(text, known)
        if place[room(name)] > place[room(module)]
    ]  # fmt: skip


def circle(known: dict[str, str]) -> list[str]:
    """A circle of imports, if there is one."""
    graph = {module: imported(text, known) for module, text in known.items()}
    graph = {name: {f"{x}.__init__" if f"{x}.__init__" in known else x for x in to} for name, to in graph.items()}
    graph["vitree.__init__"] = set()  # importing a module runs the package's first
    try:
        graphlib.TopologicalSorter(graph).prepare()
    except graphlib.CycleError as error:
        return error.args[1]
    return []


def test_the_list_has_every_package():
    there = {name.split(".")[1] for name in sources()} - set(TOP)
    assert sorted(ORDER) == sorted(there)


def test_the_manual_has_the_same_list():
    packages = [name for name in ORDER if (ROOT / "vitree" / name).is_dir() or name == "lie"]
    assert re.findall(r"^\| `(\w+)` \|", (ROOT / "docs" / "layout.md").read_text(), re.MULTILINE) == packages


def test_no_package_imports_upwards():
    assert not upward(sources())


def test_no_module_imports_itself_through_others():
    assert not circle(sources())


@pytest.mark.parametrize("text", [
    "import vitree.run.simulate", "from vitree.run import simulate", "from vitree import run", "import vitree",
    "def f():\n    from vitree.run.simulate import simulate",
    "if TYPE_CHECKING:\n    from vitree.run.simulate import simulate",
    "from vitree.tree.frames import Frame", "cdef int x\nfrom vitree.run.simulate import simulate",
])  # fmt: skip
def test_an_upward_import_is_seen(text):
    assert upward(sources() | {"vitree.model.planted": text})


@pytest.mark.parametrize("text", ["import vitree.model.model", "def f():\n    from vitree.model.model import Model"])
def test_a_circle_is_seen(text):
    known = sources()
    known["vitree.model.lower"] += f"\n{text}\n"
    assert not upward(known)
    assert {"vitree.model.lower", "vitree.model.model"} <= set(circle(known))


def test_tests_import_helpers_only():
    """No module of tests imports another; what they share is in modules of its own."""
    for path in TESTS.rglob("test_*.py"):
        assert not re.findall(r"^\s*(?:from|import) +test_\w+", path.read_text(), re.MULTILINE), path
