"""The page on robot files: its table of checks is what the reader says now; and the words for what readers do."""

from __future__ import annotations

import json
import os
import pathlib
import subprocess
import sys

import pytest
from places import ROOT

from vitree.urdf.rules import RULES

PAGE = (ROOT / "docs" / "urdf.md").read_text()
sys.path.insert(0, str(ROOT / "benchmarks"))
pytest.importorskip("resource")  # which limits the memory of a reader; Windows has none
import readers  # noqa: E402


def between(begin, end):
    return PAGE.split(begin)[1].split(end)[0]


def test_the_table_of_checks_is_of_now():
    """If not: python benchmarks/readers.py --checks --write docs/urdf.md"""
    table = between(*readers.CHECKS)
    assert table == readers.checks()
    assert [line.split("`")[1] for line in table.splitlines()[2:]] == list(RULES)


# ---- readers.py ----------------------------------------------------------------------------------------------------

FAULT = readers.Fault("error", "number", range(3, 10), frozenset({"1.5kg", "upper"}), True)


@pytest.mark.parametrize(
    ("kind", "text", "expected"),
    [
        ("loads", "", "loads"),
        ("loads", "careful", "warns"),
        ("loads", "careful, line 6", "warns, line"),
        ("error", "bad value", "error"),
        ("error", "bad value, line 60", "error"),
        ("error", "Element 'mass', line 6", "error, line"),
        ("error", "arm.urdf:6: bad value", "error, line"),
        ("error", "could not convert '1.5kg'", "error, name"),
        ("error", "link uppermost", "error"),
        ("error", "std::bad_alloc", "memory"),
        ("crash", "arm.urdf:6: bad value", "crash"),
        (readers.LATE, "", readers.LATE),
    ],
)
def test_words(kind, text, expected):
    assert readers.outcome({"kind": kind}, FAULT, text) == expected


def test_what_is_heard_is_of_the_file():
    """Neither the reader's own lines nor the name of the file, nor what it says of any file."""
    output = "\x1b[1;33mWarning [Node.cpp:6]\x1b[0m of /a/upper.urdf\n  at line 6 in /src/link.cpp\nusual\n"
    text = readers.heard({"output": output}, pathlib.Path("/a/upper.urdf"), {"usual"})
    assert text.split() == ["Warning", "of", ".urdf"]
    assert readers.outcome({"kind": "loads"}, FAULT, text) == "warns"


@pytest.mark.parametrize(
    ("found", "expected"),
    [
        ({}, ""),
        ({"mass": 1.5, "matrix": [[2.0]]}, "1.5 kg"),
        ({"mass": 1.5, "nan": True}, "NaN"),
        ({"matrix": [[2.0, 0.0], [0.0, 1.0]]}, ""),
        ({"matrix": [[2.0, 0.5], [0.5, 1.0]]}, "other M"),
    ],
)
def test_what_is_odd(found, expected):
    """The mass matrix of the same coordinates in another order is the same."""
    assert readers.oddity(found, FAULT, {"matrix": [[1.0, 0.0], [0.0, 2.0]]}) == expected


def test_a_load_cannot_take_the_others_along():
    """Crashes, endless loads and all of the memory are outcomes; what is written before the end counts."""
    code = """
import json, os, sys, time, readers
def write(path): os.system("echo low; echo loud >&2")
def grow(path): return bytearray(2 * readers.MEMORY)
def crash(path): write(path); os.abort()
def wait(path): time.sleep(60)
def leave(path): sys.exit(3)
def facts(loaded): print("not heard", flush=True); os.abort()
readers.SECONDS = 0.5
print(json.dumps([readers.attempt(load, facts, "") for load in (write, grow, crash, wait, leave)]))
"""
    paths = os.environ | {"PYTHONPATH": f"{ROOT}:{ROOT / 'benchmarks'}"}
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, env=paths, check=True)
    found = json.loads(done.stdout)
    assert [each["kind"] for each in found] == ["loads", "error", "crash", readers.LATE, "error"]
    assert found[0]["output"] == found[2]["output"] == "low\nloud\n"
    assert "mass" not in found[0] and "MemoryError" in found[1]["text"] and "SystemExit" in found[4]["text"]


def test_vitree_and_its_parser_on_a_few_files():
    names = ["vitree", "urdf_parser_py"]
    stems = ["accepted_plain", "mass_with_unit", "axis_zero", "limits_inverted", "unknown_in_a_link"]
    results = readers.run_corpus(names, [readers.FOLDER / f"{stem}.urdf" for stem in stems])
    words = {name: [results.word(name, stem) for stem in stems] for name in names}
    assert words["vitree"] == [(word, "") for word in ("loads", *["error, line"] * 2, *["warns, line"] * 2)]
    assert words["urdf_parser_py"] == [(word, "") for word in ("loads", "error, name", "loads", "loads", "warns, name")]
    table = readers.by_file(results)
    assert "| `axis-zero` | axis zero | error, line | loads |" in table and "plain" not in table
