"""Changes single places of the Python modules, and asks whether the tests of the module see it.

    python tools/mutants.py --count 50 --seed 1 [--of run/*] [--log mutants.jsonl] [--seconds 120]

Mutation testing. Places are drawn uniformly over the modules in vitree/ that match ``--of``: comparisons, arithmetic,
``and`` and ``or``, constants, ``not``, largest and smallest, returned values, calls and assignments without a result.
Each change is made in a copy of the tree, and the tests that tests/mapped.py names for the module run there, without
those marked slow. A line is printed for each: killed, timeout, or ALIVE, which is a missing test, dead code, or an
equivalent mutant. With ``--log``, mutants that the file has already are not run again.
"""

from __future__ import annotations

import argparse
import ast
import copy
import json
import os
import pathlib
import random
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from fnmatch import fnmatch

ROOT = pathlib.Path(__file__).parents[1]
SWAPPED = {
    ast.Lt: ast.LtE, ast.LtE: ast.Lt, ast.Gt: ast.GtE, ast.GtE: ast.Gt, ast.Eq: ast.NotEq, ast.NotEq: ast.Eq,
    ast.Is: ast.IsNot, ast.IsNot: ast.Is, ast.In: ast.NotIn, ast.NotIn: ast.In, ast.Add: ast.Sub, ast.Sub: ast.Add,
    ast.Mult: ast.Div, ast.Div: ast.Mult, ast.FloorDiv: ast.Mult, ast.And: ast.Or, ast.Or: ast.And,
}  # fmt: skip
OTHER = {"max": "min", "min": "max", "maximum": "minimum", "minimum": "maximum", "argmax": "argmin",
         "argmin": "argmax", "any": "all", "all": "any"}  # fmt: skip
#: What is no behaviour: texts, errors, imports.
SKIPPED = (ast.JoinedStr, ast.Raise, ast.Import, ast.ImportFrom)


def changed(node: ast.AST) -> ast.AST | None:
    """Return another node in place of one; None where nothing is to be changed."""
    new = copy.deepcopy(node)
    match new:
        case ast.Compare(ops=[op]) | ast.BinOp(op=op) | ast.BoolOp(op=op) if type(op) in SWAPPED:
            if isinstance(new, ast.BinOp) and isinstance(new.left, ast.JoinedStr):
                return None
            other = SWAPPED[type(op)]()
            if isinstance(new, ast.Compare):
                new.ops = [other]
            else:
                new.op = other
        case ast.Constant(value=bool(value)):
            new.value = not value
        case ast.Constant(value=int(value)):
            new.value = value + 1
        case ast.Constant(value=float(value)) if value:
            new.value = 2 * value
        case ast.UnaryOp(op=ast.Not()):
            return new.operand
        case ast.Name(id=name) if name in OTHER:
            new.id = OTHER[name]
        case ast.Attribute(attr=name) if name in OTHER:
            new.attr = OTHER[name]
        case ast.Return(value=ast.expr() as value) if not (isinstance(value, ast.Constant) and value.value is None):
            new.value = ast.Constant(None)
        case ast.AugAssign() | ast.Expr(value=ast.Call()):
            return ast.Pass()
        case _:
            return None
    return new


def places(node: ast.AST) -> Iterator[tuple[ast.AST, str, int | None, ast.AST]]:
    """Yield (parent, field, index or None, new node) of each place that can be changed, in the order of the text."""
    for field, value in ast.iter_fields(node):
        if field in ("annotation", "returns", "decorator_list", "type_params"):
            continue
        for index, child in enumerate(value) if isinstance(value, list) else [(None, value)]:
            if not isinstance(child, ast.AST) or isinstance(child, SKIPPED):
                continue
            if isinstance(child, ast.FunctionDef) and child.name in ("__repr__", "__str__"):
                continue
            if (new := changed(child)) is not None:
                yield node, field, index, new
            yield from places(child)


def mutant(text: str, k: int) -> tuple[int, str, str, str]:
    """Return the line of the k-th place of a module, what stands there, what then does, and the changed module."""
    tree = ast.parse(text)
    parent, field, index, new = list(places(tree))[k]
    old = getattr(parent, field) if index is None else getattr(parent, field)[index]
    if index is None:
        setattr(parent, field, new)
    else:
        getattr(parent, field)[index] = new
    return old.lineno, ast.unparse(old), ast.unparse(new), ast.unparse(ast.fix_missing_locations(tree))


def verdict(tree: pathlib.Path, module: str, files: list[str], seconds: float) -> str:
    """Return what the tests of a changed module in a copy of the tree say."""
    command = [sys.executable, "-m", "pytest", "-x", "-q", "-p", "no:cacheprovider", "-m", "not slow"]
    env = {**os.environ, "PYTHONPATH": str(tree), "PYTHONDONTWRITEBYTECODE": "1"}
    try:
        done = subprocess.run([*command, *(f"tests/{file}" for file in files)], cwd=tree, env=env, timeout=seconds,
                              capture_output=True)  # fmt: skip
    except subprocess.TimeoutExpired:
        return "timeout"
    return "killed" if done.returncode not in (0, 5) else "ALIVE"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--count", type=int, default=20)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--of", default="*", help="pattern of paths in vitree/")
    parser.add_argument("--log", type=pathlib.Path, help="file of JSON lines to which verdicts are added")
    parser.add_argument("--seconds", type=float, default=120.0, help="for the tests of one change")
    given = parser.parse_args()
    sys.path.insert(0, str(ROOT / "tests"))
    import mapped

    modules = [name for name in mapped.modules()
               if name.endswith(".py") and not name.startswith("_core/") and fnmatch(name, given.of)]  # fmt: skip
    all_places = [(name, k) for name in modules
                  for k in range(len(list(places(ast.parse((ROOT / "vitree" / name).read_text())))))]  # fmt: skip
    drawn = random.Random(given.seed).sample(all_places, min(given.count, len(all_places)))
    known = given.log.read_text().splitlines() if given.log and given.log.exists() else []
    seen = {tuple(json.loads(line)[key] for key in ("module", "line", "old", "new")) for line in known}
    with tempfile.TemporaryDirectory() as temporary:
        tree = pathlib.Path(temporary) / "tree"
        shutil.copytree(ROOT, tree, ignore=shutil.ignore_patterns(".git", ".venv*", "build"), symlinks=True)
        for module, k in drawn:
            path = tree / "vitree" / module
            text = path.read_text()
            line, old, new, other = mutant(text, k)
            if (module, line, old, new) in seen:
                continue
            path.write_text(other)
            files = [file for file in mapped.tests_of(module) if not file.startswith(("docs/", "test_layout"))]
            found = verdict(tree, module, files, given.seconds)
            path.write_text(text)
            print(f"{found:8} {module}:{line}: {old[:60]} -> {new[:60]}", flush=True)
            if given.log:
                told = {"module": module, "line": line, "old": old, "new": new, "verdict": found}
                with given.log.open("a") as log:
                    log.write(json.dumps(told) + "\n")


if __name__ == "__main__":
    main()
