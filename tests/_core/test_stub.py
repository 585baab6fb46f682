"""The stubs of the compiled core name what its modules have, with the same arguments."""

from __future__ import annotations

import ast
import inspect
from pathlib import Path

import pytest

import vitree._core
from vitree._core import _vehicles, lanes, scalar, widths

STUBS = {"__init__.pyi": vitree._core, "_vehicles.pyi": _vehicles}
#: What the classes of the stubs describe.
OF = {"Field": scalar().ModelStepper, "Stepper": scalar().ModelStepper, "OneLane": scalar(),
      "BlockStepper": getattr(lanes(widths()[-1]), "ModelStepper", None), "Wide": lanes(widths()[-1]),
      "VehicleStepper": _vehicles.VehicleStepper, "RigidBody": _vehicles.RigidBody}  # fmt: skip
#: What has no arguments of its own to compare.
MADE = ("__init__", "__getattr__", "ModelStepper")


def _arguments(node):
    """Names of the arguments, and how many have a default; None where any number is taken."""
    if node.args.vararg is not None or node.args.kwarg is not None:
        return None
    return [each.arg for each in node.args.args], len(node.args.defaults)


def _told():
    for file, module in STUBS.items():
        for node in ast.parse(Path(vitree._core.__file__).with_name(file).read_text(encoding="utf-8")).body:
            inside = node.body if isinstance(node, ast.ClassDef) else [node]
            of = OF[node.name] if isinstance(node, ast.ClassDef) else module
            for part in inside:
                if isinstance(part, ast.FunctionDef) and part.name not in MADE:
                    yield pytest.param(of, part.name, _arguments(part), id=f"{getattr(node, 'name', file)}.{part.name}")
                elif isinstance(part, ast.AnnAssign):
                    yield pytest.param(of, part.target.id, None, id=f"{getattr(node, 'name', file)}.{part.target.id}")


@pytest.mark.parametrize(("of", "name", "arguments"), list(_told()))
def test_what_a_stub_says_is_there(of, name, arguments):
    if of is OF["BlockStepper"] and widths() == [1]:
        pytest.skip("no module of several lanes was built")
    found = getattr(of, name)
    if arguments is None:
        return
    taken = [x for x in inspect.signature(found).parameters.values() if x.name != "self"]
    names, defaults = arguments
    assert [x.name for x in taken] == [each for each in names if each != "self"]
    assert sum(x.default is not x.empty for x in taken) == defaults
