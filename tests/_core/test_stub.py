"""The stubs of the compiled core name what its modules have, with the same arguments."""

import ast
import inspect
from pathlib import Path

import pytest

import vitree._core
from vitree._core import _maps, _tasks, _vehicles, lanes, scalar, widths

WIDEST = lanes(widths()[-1])
#: What the classes and the functions of the stubs describe.
OF = {"Field": scalar().ModelStepper, "Stepper": scalar().ModelStepper, "OneLane": scalar(), "Wide": WIDEST,
      "BlockStepper": WIDEST.ModelStepper, "VehicleStepper": _vehicles.VehicleStepper,
      "RigidBody": _vehicles.RigidBody, "__init__.pyi": vitree._core, "_vehicles.pyi": _vehicles,
      "TaskRows": _tasks.TaskRows, "FrameMotion": _tasks.FrameMotion,
      "_tasks.pyi": _tasks, "MapTables": _maps.MapTables, "MapCall": _maps.MapCall, "_maps.pyi": _maps}  # fmt: skip


def _of(name):
    """What the stubs say of a class, or on the first level of a file."""
    for file in ("__init__.pyi", "_vehicles.pyi", "_tasks.pyi", "_maps.pyi"):
        parts = ast.parse(Path(vitree._core.__file__).with_name(file).read_text(encoding="utf-8")).body
        classes = {part.name: part.body for part in parts if isinstance(part, ast.ClassDef)}
        if name in (file, *classes):
            return classes.get(name, parts)


@pytest.mark.parametrize("name", OF)
def test_what_a_stub_says_is_there(name):
    if name == "BlockStepper" and widths() == [1]:
        pytest.skip("no module of several lanes was built")
    for part in _of(name):
        if isinstance(part, ast.AnnAssign):
            assert hasattr(OF[name], part.target.id), part.target.id
        if not isinstance(part, ast.FunctionDef) or part.name in ("__init__", "__getattr__", "ModelStepper"):
            continue
        taken, said = inspect.signature(getattr(OF[name], part.name)).parameters.values(), part.args
        if said.vararg is None:
            names = [x.arg for x in said.args][name == "OneLane" :]  # a module has no self
            assert [x.name for x in taken] == names, part.name
            assert sum(x.default is not x.empty for x in taken) == len(said.defaults), part.name
