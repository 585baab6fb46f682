"""llms.txt and CITATION.cff are current."""

from __future__ import annotations

import importlib.util
import re

import pytest
from places import ROOT

import vitree as vt

_spec = importlib.util.spec_from_file_location("llms", ROOT / "docs" / "_ext" / "llms.py")
llms = importlib.util.module_from_spec(_spec)
_spec.loader.exec_module(llms)


def test_the_stored_file_is_current():
    """After a change of pages or the version: python docs/_ext/llms.py"""
    assert (ROOT / "docs" / "llms.txt").read_text() == llms.index()


def test_it_has_the_form_of_llmstxt_org():
    """A title with the version, a quoted summary, and lists of links under headings."""
    lines = llms.index(".html").splitlines()
    assert lines[0] == f"# vitree {vt.__version__}" and lines[2].startswith("> vitree simulates")
    listed = [line for line in lines[6:] if line and not line.startswith("## ")]
    assert all(re.fullmatch(r"- \[[^]]+\]\([\w/-]+\.html\)(: \S.*)?", line) for line in listed)
    assert len(listed) > 60


def test_every_page_is_listed_once():
    pages = list(llms.below("index"))
    every = {path.relative_to(llms.DOCS).with_suffix("").as_posix() for path in (*llms.DOCS.rglob("*.md"),
             *llms.DOCS.rglob("*.rst")) if "_ext" not in path.parts}  # fmt: skip
    assert sorted(pages) == sorted(every)


def test_the_full_text_has_what_pages_include():
    text = llms.full()
    assert "## 0.1.0" in text and "{include}" not in text
    for page in ("tutorial", "theory/gauss", "api/models"):
        assert llms.source(page).read_text() in text


def test_both_are_beside_the_pages(tmp_path):
    class Builder:
        format = "html"

    class App:
        builder, outdir = Builder, tmp_path

    llms.write(App, None)
    assert (tmp_path / "llms.txt").read_text() == llms.index(".html")
    assert (tmp_path / "llms-full.txt").read_text() == llms.full()


def test_the_citation_has_the_version_and_the_date_of_the_release():
    text = (ROOT / "CITATION.cff").read_text()
    assert re.search(r"^version: (\S+)$", text, re.M)[1] == vt.__version__
    assert re.search(r"^license: (\S+)$", text, re.M)[1] == "BSD-3-Clause"
    date = re.search(r"^date-released: (\S+)$", text, re.M)
    changes = (ROOT / "CHANGELOG.md").read_text()
    heading = re.search(rf"^## {re.escape(vt.__version__)} \((\d{{4}}-\d\d-\d\d)\)", changes, re.M)
    # a version that is not released yet has no date
    assert (date and date[1]) == (heading and heading[1])
    assert date or ".dev" in vt.__version__


def test_the_citation_has_what_the_format_asks_for():
    yaml = pytest.importorskip("yaml")
    content = yaml.safe_load((ROOT / "CITATION.cff").read_text())
    assert content["cff-version"] == "1.2.0" and content["type"] == "software"
    assert content["message"] and content["title"]
    assert content["authors"] == [{"name": "The vitree developers"}]
    assert all(each["authors"] and each["title"] and each["type"] for each in content["references"])
