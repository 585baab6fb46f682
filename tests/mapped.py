"""Which test files are of a module: those of its name, those that import it, and those of a table.

``python tests/mapped.py`` prints the test files of the modules that differ from the branch ``main``, or from a commit
that is given, or of the modules that are given: ``pytest $(python tests/mapped.py)``.
"""

from __future__ import annotations

import ast
import functools
import pathlib
import subprocess
import sys
from fnmatch import fnmatch

TESTS = pathlib.Path(__file__).parent
ROOT = TESTS.parent
TABLE = TESTS / "module_tests.txt"
#: Test files of what is no module: they are of the manual, the examples and the repository.
OF_ALL = ("docs/*", "examples/*", "test_layout.py", "test_mapped.py", "benchmarks/*")


@functools.cache
def modules() -> tuple[str, ...]:
    """The paths of all modules in vitree/, compiled ones included."""
    endings = {".py", ".pyx", ".pxi", ".pxd"}
    found = (path.relative_to(ROOT / "vitree") for path in (ROOT / "vitree").rglob("*") if path.suffix in endings)
    return tuple(sorted(path.as_posix() for path in found if "own_robots" not in path.parts))


@functools.cache
def test_files() -> tuple[str, ...]:
    """The paths of all test files in tests/."""
    return tuple(sorted(path.relative_to(TESTS).as_posix() for path in TESTS.rglob("test_*.py")))


@functools.cache
def table() -> tuple[tuple[str, tuple[str, ...]], ...]:
    """The lines of the table: a pattern of modules, and patterns of test files."""
    lines = (line.split() for line in TABLE.read_text().splitlines() if line.strip() and not line.startswith("#"))
    return tuple((pattern, tuple(named)) for pattern, *named in lines)


@functools.cache
def imports() -> dict[str, frozenset[str]]:
    """Test file -> modules that it imports by their own names."""
    known = {"vitree." + module.removesuffix(".py").replace("/", "."): module for module in modules()}
    found = {}
    for file in test_files():
        names: set[str] = set()
        for node in ast.walk(ast.parse((TESTS / file).read_text())):
            if isinstance(node, ast.Import):
                names |= {alias.name for alias in node.names}
            elif isinstance(node, ast.ImportFrom) and node.module:
                names |= {node.module, *(f"{node.module}.{alias.name}" for alias in node.names)}
        found[file] = frozenset(known[name] for name in names if name in known)
    return found


def tests_of(module: str) -> list[str]:
    """The test files of a module, such as "run/rollout.py"."""
    name = pathlib.PurePosixPath(module)
    stem = name.parent.name if name.stem == "__init__" else name.stem
    own = {f"test_{stem}.py", f"test_{stem}s.py", f"test_{stem}_command.py"}
    found = {file for file in test_files() if pathlib.PurePosixPath(file).name in own}
    found |= {file for file, known in imports().items() if module in known}
    for pattern, named in table():
        if fnmatch(module, pattern):
            found |= {file for file in test_files() if any(fnmatch(file, each) for each in named)}
    return sorted(found)


def _changed(since: str) -> list[str]:
    text = subprocess.run(["git", "diff", "--name-only", since, "--", "vitree", "tests"], cwd=ROOT, check=True,
                          capture_output=True, text=True).stdout  # fmt: skip
    return text.split()


def main(given: list[str]) -> None:
    """Print the test files of what changed."""
    files = bool(given) and all((ROOT / each).is_file() for each in given)
    paths = given if files else _changed(*given or ["main"])
    found: set[str] = set()
    for path in paths:
        if path.startswith("vitree/"):
            found |= set(tests_of(path.removeprefix("vitree/")))
        elif pathlib.PurePosixPath(path).name.startswith("test_") and (ROOT / path).is_file():
            found.add(path.removeprefix("tests/"))
    print("\n".join(f"tests/{file}" for file in sorted(found)))


if __name__ == "__main__":
    main(sys.argv[1:])
