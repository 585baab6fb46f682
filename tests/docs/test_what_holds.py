"""The page of claims: each test that it names exists, and each method has its place."""

from __future__ import annotations

import ast
import functools
import re

import pytest
from places import ROOT

import vitree as vt

PAGE = ROOT / "docs" / "what-holds.md"
NAMED = re.findall(r"`([\w/]+\.py)::(\w+)`", PAGE.read_text())
ROWS = [[cell.strip() for cell in line.strip("|").split("|")] for line in PAGE.read_text().splitlines()
        if line.startswith("| ") and not line.startswith("| claim")]  # fmt: skip


@functools.cache
def functions(path):
    return {node.name for node in ast.parse(path.read_text()).body if isinstance(node, ast.FunctionDef)}


@pytest.mark.parametrize(("file", "name"), NAMED, ids=lambda part: str(part))
def test_the_test_exists(file, name):
    """As a function that pytest collects."""
    path = ROOT / "tests" / file
    assert path.exists(), file
    assert path.name.startswith("test_") and name.startswith("test_")
    assert name in functions(path)


def test_every_row_has_a_claim_and_one_test():
    assert len(ROWS) > 60
    for row in ROWS:
        assert len(row) == 4 and row[0] and row[1], row
        assert re.fullmatch(r"`[\w/]+\.py::\w+`", row[3]), row


def test_every_method_has_its_place():
    text = PAGE.read_text()
    missing = [name for name in vt.METHODS if f"`{name}`" not in text]
    assert missing == []
    named = {name for name in re.findall(r"`([a-z]+(?:-[a-z0-9]+)+)`", text) if name.split("-")[-1] != "data"}
    solvers = {"recursive-newton", "modified-newton"}
    vehicles = {name for make in ("car", "helicopter") for name in getattr(vt.vehicles, make)().methods}
    assert named <= set(vt.METHODS) | solvers | vehicles


def test_the_manual_has_the_page():
    assert re.search(r"^what-holds$", (ROOT / "docs" / "index.md").read_text(), re.M)
