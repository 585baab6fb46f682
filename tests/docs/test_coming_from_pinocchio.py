"""The tables of the page "Coming from Pinocchio": both sides of each row run and agree, and name what is common."""

from __future__ import annotations

import itertools
import re
from functools import cache

import numpy as np
import pytest
from blocks import python_blocks
from places import ROOT, TESTS

pin = pytest.importorskip("pinocchio")
PAGE = ROOT / "docs" / "coming-from-pinocchio.md"
SECTION = re.search(r"^## Names\n(.*?)^## ", PAGE.read_text(), re.M | re.S)[1]
#: What stands left, how many repositories have it, and what stands right.
ROWS = [row for row in re.findall(r"^\| (.+?) \| ?(.*?) \| (.+?) \|$", SECTION, re.M) if row[0] != "Pinocchio"]
#: Names in public code, as `pin.rnea`, and the number of repositories of 30 that have them.
COUNTS = {name: int(count) for name, count in
          (line.split() for line in (TESTS / "docs" / "pinocchio_names.txt").read_text().splitlines())}  # fmt: skip
#: Arguments that stand in many rows.
EVERYWHERE = {"pin.LOCAL", "pin.WORLD", "pin.LOCAL_WORLD_ALIGNED"}
#: Names of Python, of its bindings, and older spellings of others.
LEFT_OUT = {"pin.__version__", "pin.robot_wrapper", "pin.se3ToXYZQUATtuple", "pin.framesKinematics", "theirs.copy",
            "data.copy", "pin.StdVec_StdString", "pin.PINOCCHIO_MAJOR_VERSION"}  # fmt: skip
#: Where vitree's entries stand among Pinocchio's: of spatial vectors, and of the parameters of a body.
ROTATES = [3, 4, 5, 0, 1, 2]
ENTRIES = [0, 1, 2, 3, 4, 5, 7, 6, 8, 9]
#: Modules that a program imports by themselves.
MODULES = {"pin.visualize", "pin.casadi"}


def spans(text: str) -> list[str]:
    return re.findall(r"`([^`]+)`", text)


def names_in(text: str) -> list[str]:
    """The names of Pinocchio in a cell, without those that stand everywhere."""
    found = re.findall(r"\b(?:pin|theirs|data)\.\w+", " ".join(spans(text)))
    return [name for name in dict.fromkeys(found) if name not in EVERYWHERE]


@cache
def names() -> dict:
    """What the block before the tables defines."""
    found: dict = {}
    (block,) = [block for block in python_blocks(PAGE) if "forces = pin.StdVec_Force()" in block]
    exec(compile(block, PAGE.name, "exec"), found)
    return found


def result(code: str):
    return eval(compile(code, PAGE.name, "eval"), dict(names()))


def is_code(span: str) -> bool:
    """Whether a span is an expression that is run: no keyword, option or statement, and nothing that opens a page."""
    prose = r"\w+=|vt\.view\(|sim\.|tau = |tree\.|type=|vt\.reference_configurations\("
    return span not in MODULES and not re.match(prose, span)


def numbers(x: object) -> np.ndarray | None:
    """A value of Pinocchio as vitree has it, or of vitree; None of a thing without numbers."""
    if isinstance(x, pin.SE3):
        return x.homogeneous
    if isinstance(x, pin.Motion | pin.Force):
        return x.vector[ROTATES]
    if isinstance(x, bool | int | float | np.ndarray):
        return np.asarray(x, dtype=float)
    if isinstance(x, list) and all(isinstance(each, str) for each in x):
        return np.array([hash(each) for each in x], dtype=float)
    return None


def turned(x: np.ndarray, code: str) -> np.ndarray:
    """Rows of six of Pinocchio with the angular ones first, and parameters in the order of vitree."""
    if x.ndim == 2 and x.shape[0] == 6:
        x = x[ROTATES]
    if re.search(r"action|J(log|exp)6", code):
        x = x[:, ROTATES]
    if re.search(r"(?<!Static)Regressor|DynamicParameters", code):
        columns = np.concatenate([10 * k + np.array(ENTRIES) for k in range(x.shape[-1] // 10)])
        x = x[..., columns]
    return x


def in_both(left: str, right: str) -> tuple[np.ndarray, np.ndarray] | None:
    """The numbers of both sides of a row, or None where one has none."""
    theirs, ours = ([result(code) for code in spans(side) if is_code(code)] for side in (left, right))
    if not ours or not theirs:
        return None
    if isinstance(theirs[-1], pin.Model):
        return np.array([theirs[-1].nv]), np.array([ours[0].nv])
    there, here = numbers(theirs[-1]), numbers(ours[0])
    return None if there is None or here is None else (turned(there, spans(left)[-1]), here)


@pytest.mark.parametrize(("left", "right"), [(left, right) for left, _, right in ROWS], ids=[r[0][:60] for r in ROWS])
def test_both_sides_of_a_row_agree(left, right):
    """Those of rows without numbers, such as classes, are run; a call on a state has numbers."""
    found = in_both(left, right)
    if found is None:
        assert "(theirs, data" not in left
        return
    there, here = found
    assert there.shape == here.shape
    assert np.abs(there - here).max() <= 1e-9 * max(1.0, np.abs(there).max())


@pytest.mark.parametrize(("left", "right"), [(left, right) for left, _, right in ROWS], ids=[r[0][:60] for r in ROWS])
def test_the_code_of_a_row_runs(left, right):
    """All that is code is; a row without code on the right says why."""
    ran = [result(code) for code in spans(right) if is_code(code)]
    assert ran or re.search(r"none|not needed|vt\.view", right)


def test_the_block_has_the_same_robot_in_both():
    given = names()
    assert [name for name in given["theirs"].names][1:] == list(given["model"].joint_names)
    assert given["X"].shape == (4, 4) and not np.allclose(given["X"], given["Y"])


def test_many_rows_are_compared():
    assert sum(in_both(left, right) is not None for left, _, right in ROWS) >= 85


@pytest.mark.parametrize("row", ROWS, ids=[row[0][:60] for row in ROWS])
def test_the_numbers_of_repositories_are_those_counted(row):
    left, counts, _ = row
    assert counts == ", ".join(str(COUNTS.get(name, 0)) for name in names_in(left))


def test_no_name_of_two_repositories_or_more_is_left_out():
    told = {name for left, *_ in ROWS for name in names_in(left)} | EVERYWHERE
    assert sorted(name for name, count in COUNTS.items() if count >= 2 and name not in told | LEFT_OUT) == []
    assert sum(count >= 2 for count in COUNTS.values()) > 100


def test_a_wrong_row_is_seen():
    """Neighbouring rows do not agree with each other."""
    rows = [in_both(left, right) for left, _, right in ROWS]
    pairs = [(a[0], b[1]) for a, b in itertools.pairwise(rows) if a is not None and b is not None]
    same = [np.allclose(a, b) for a, b in pairs if a.shape == b.shape and a.size > 1]
    assert sum(same) < len(same) / 2
