"""The draft of the report: its sources, its figure, its length, and the numbers that it cites."""

from __future__ import annotations

import re

import pytest
from places import ROOT

FOLDER = ROOT / "paper"
TEXT = (FOLDER / "paper.md").read_text()
BODY = TEXT.split("---\n", 2)[2]


def test_sources_are_those_that_are_cited():
    listed = re.findall(r"^@\w+\{(\w+),", (FOLDER / "paper.bib").read_text(), re.M)
    assert len(set(listed)) == len(listed) and set(re.findall(r"@(\w+)", BODY)) == set(listed)


def test_it_has_the_sections_and_the_length_of_the_journal():
    heads = ["Summary", "Statement of need", "State of the field", "Software design", "Research impact statement",
             "AI usage disclosure", "Acknowledgements", "References"]  # fmt: skip
    assert re.findall(r"^# (.*)$", BODY, re.M) == heads
    assert 750 < len(BODY.split()) < 1750 and "This is a draft" in BODY


def test_the_figure_is_there():
    (figure,) = re.findall(r"^!\[.*\]\((.*)\)$", BODY, re.M)
    assert (FOLDER / figure).exists()


@pytest.mark.parametrize(("cited", "row", "column"), [
    (r"order 16 takes (\S+) ms", "| Talos | 1e-8 |", 2),
    (r"order 8 takes (\S+) ms", "| Talos | 1e-8 |", 4),
    (r"Python, takes (\S+) ms", "| Talos | 1e-8 |", 5),
    (r"costs (\S+) µs on Talos", "| `linear-time` (auto) | 1.88", 3),
    (r"MuJoCo costs (\S+) µs", "| MuJoCo Euler |", 3),
    (r"power (\S+) of the number", "| `linear-time` (auto) | 0.78", 9),
])
def test_times_are_those_of_the_tables(cited, row, column):
    """To the digits that the paper has."""
    (line,) = (line for line in (ROOT / "benchmarks" / "README.md").read_text().splitlines() if line.startswith(row))
    measured = float(re.match(r"[\d.]+", line.strip("| ").split(" | ")[column])[0])
    said = re.search(cited, " ".join(BODY.split()))[1].rstrip(".")
    digits = len(said.partition(".")[2])
    assert float(said) == pytest.approx(measured, abs=0.51 * 10.0**-digits)
