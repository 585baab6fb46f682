"""The page of the manual on the papers: a row for each figure and table of the five, and for each script."""

from __future__ import annotations

import importlib
import re

import pytest
from places import PAPERS, ROOT

PAGE = ROOT / "docs" / "papers.md"
TEXT = PAGE.read_text()
#: Heading -> how many figures the paper has, and what else stands in its table.
COUNTS = {
    "Lee, Liu, Park & Srinivasa 2016": (4, [f"Algorithm {k}" for k in range(1, 5)]),
    "Johnson & Murphey 2009": (13, ["Listing 1", "Table I", "Table II"]),
    "Johnson & Murphey 2008": (3, ["Table I"]),
    "Kobilarov, Crane & Desbrun 2009": (12, ["Table 1"]),
    "Liu & Jain 2012": (2, []),
}


def rows(heading: str) -> list[list[str]]:
    """Cells of the rows of a section's table, without its head."""
    section = TEXT.partition(f"\n## {heading}\n")[2].partition("\n## ")[0]
    lines = [line for line in section.splitlines() if line.startswith("|")][2:]
    return [[cell.strip() for cell in re.split(r"(?<!\\)\|", line)[1:-1]] for line in lines]


def test_the_five_papers():
    assert re.findall(r"^## (.*)$", TEXT, re.M) == list(COUNTS)


@pytest.mark.parametrize("heading", COUNTS)
def test_every_figure_and_table_has_a_row(heading):
    figures, others = COUNTS[heading]
    found = rows(heading)
    expected = [*(f"Fig. {k}" for k in range(1, figures + 1)), *others]
    assert sorted(cells[0] for cells in found) == sorted(expected)
    for cells in found:
        assert len(cells) == 5 and all((cells[0], cells[1], cells[2], cells[4])), cells


def test_every_script_named_is_there_and_every_script_is_named():
    named = re.findall(r"\[(\w+)\]\((\.\./examples/[\w/.]+)\)", TEXT)
    for name, link in named:
        path = (PAGE.parent / link).resolve()
        assert path.exists() and path.stem == name, link
    there = {path.relative_to(PAPERS).as_posix() for path in PAPERS.glob("*/fig*.py")}
    assert there == {link.partition("papers/")[2] for _, link in named if "/fig" in link}


@pytest.mark.parametrize("heading", COUNTS)
def test_every_row_names_the_script_or_the_test_that_shows_it(heading):
    for *_, shown in rows(heading):
        if shown == "no claim" or "](../examples/" in shown:
            continue
        file, name = re.fullmatch(r"test `([\w/]+\.py)(?:::(\w+))?`", shown).groups("")
        assert f"def {name}" in (ROOT / "tests" / file).read_text()


def test_the_readmes_name_every_script():
    for folder in {path.parent for path in PAPERS.glob("*/fig*.py")}:
        text = (folder / "README.md").read_text()
        assert re.findall(r"^\| `(fig\w+\.py)`", text, re.M) == sorted(path.name for path in folder.glob("fig*.py"))


def test_labels_of_ticks_may_not_collide(tmp_path, monkeypatch):
    """A picture of a script is refused if they do."""
    pytest.importorskip("matplotlib")
    monkeypatch.syspath_prepend(PAPERS)
    monkeypatch.delitem(importlib.import_module("sys").modules, "common", raising=False)
    common = importlib.import_module("common")
    try:
        figure, axes = common.figure(1, 1, size=(2, 2))
        axes.set(xlim=(0, 1), xticks=(0, 0.5, 1))
        common.save(figure, tmp_path, "good.png")
        axes.set_xticks([0.5, 0.51], ["first", "second"])
        with pytest.raises(ValueError, match='"first" and "second"'):
            common.save(figure, tmp_path, "bad.png")
        assert [path.name for path in tmp_path.iterdir()] == ["good.png"]
    finally:
        importlib.import_module("sys").modules.pop("common", None)


def test_claims_are_printed_in_one_form(capsys, monkeypatch):
    pytest.importorskip("matplotlib")
    monkeypatch.syspath_prepend(PAPERS)
    monkeypatch.delitem(importlib.import_module("sys").modules, "common", raising=False)
    common = importlib.import_module("common")
    importlib.import_module("sys").modules.pop("common", None)
    common.claims(("a", "b", True), ("c", "d", False), ("e", "f", "in part"))
    blocks = [("a", "b", "yes"), ("c", "d", "NO"), ("e", "f", "in part")]
    assert capsys.readouterr().out == "".join(
        f"\nthe paper claims: {claim}\nfound: {found}\nholds: {holds}\n" for claim, found, holds in blocks
    )
