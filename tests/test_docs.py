"""The manual: its Python runs as it stands, what it names exists, and it leaves no element out."""

from __future__ import annotations

import pathlib
import re

import pytest
from test_readme import python_blocks, run_block

import vitree as vt
from vitree.sexpr import COMPONENTS, JOINT_OPTIONS, OPTIONS, TRANSFORMS

FOLDER = pathlib.Path(__file__).parent.parent / "docs"
PAGES = sorted(FOLDER.glob("*.md"))
BLOCKS = [
    pytest.param(page, block, id=f"{page.stem}-{k}") for page in PAGES for k, block in enumerate(python_blocks(page))
]


@pytest.mark.parametrize(("page", "block"), BLOCKS)
def test_python_blocks_run(page, block, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    run_block(page, block)
    assert capsys.readouterr().err == ""


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_what_is_named_exists(page):
    text = page.read_text()
    owners = {"vt": vt, "model": vt.Model, "tree": vt.Tree, "traj": vt.Trajectory}
    fields = {*vt.Trajectory.__dataclass_fields__, *vars(vt.Tree("x"))}
    for owner, name in re.findall(r"\b(vt|model|tree|traj)\.(\w+)", text):
        assert hasattr(owners[owner], name) or name in fields, f"{owner}.{name}"
    for link in re.findall(r"\]\((?!http)([^)#]+)", text):
        assert (page.parent / link).exists(), link


def test_the_page_on_modelling_leaves_nothing_out():
    text = (FOLDER / "modelling.md").read_text()
    for head in (*TRANSFORMS, *OPTIONS, *JOINT_OPTIONS, *COMPONENTS):
        assert f"`{head}`" in text, head
    builders = "body fixed frame ball free screw pairs cylindrical helical planar prismatic revolute spherical"
    kinds = "universal Constraint Force Potential Cam Coupling Distance AxisConstraint PointConstraint point_constraint"
    kinds += " gear weld screw_pair Attraction Damper Gravity JointForce JointSpring NonlinearSpring Spring Wrench"
    kinds += " joint_constraints independent_constraints"
    for name in f"{builders} {kinds}".split():
        assert hasattr(vt, name) and re.search(rf"\b{name}\b", text), name
