"""Releases: a version is set by its lines alone, and the tests that packages run are there."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys

import pytest
from places import ROOT, of_source

import vitree as vt

pytestmark = of_source
sys.path.insert(0, str(ROOT / "tools"))
PATHS = "vitree/version.py", "pyproject.toml", "CITATION.cff", "CHANGELOG.md"


def lines_that_differ(before: dict[str, str], after: dict[str, str]) -> list[str]:
    return [line for path in PATHS for line in after[path].splitlines() if line not in before[path].splitlines()]


def test_a_release_and_what_follows():
    from set_version import versioned

    texts = {path: (ROOT / path).read_text() for path in PATHS}
    final = vt.__version__.partition(".dev")[0]
    # what is released already has a date
    heading = re.compile(rf"^## {final} \(.*\)$", re.M)
    texts["CHANGELOG.md"] = heading.sub(f"## {final} (not released yet)", texts["CHANGELOG.md"])
    release = versioned(texts, final, "2030-01-31")
    told = [f'__version__ = "{final}"', f'version = "{final}"', f"version: {final}", "date-released: 2030-01-31",
            f"## {final} (2030-01-31)"]  # fmt: skip
    assert set(lines_that_differ(texts, release)) <= set(told) and "(not released yet)" not in release["CHANGELOG.md"]
    assert all(any(line in text.splitlines() for text in release.values()) for line in told)

    after = versioned(release, "9.9.0.dev0", None)
    assert set(lines_that_differ(release, after)) == {
        '__version__ = "9.9.0.dev0"', 'version = "9.9.0.dev0"', "version: 9.9.0.dev0", "## 9.9.0 (not released yet)",
    }  # fmt: skip
    assert "date-released" not in after["CITATION.cff"] and f"## {final} (2030-01-31)" in after["CHANGELOG.md"]


def test_a_checkout_that_is_not_built_gets_a_version(tmp_path):
    """All files that have it, also the list of the manual's pages."""
    for path in (*PATHS, "tools/set_version.py", "benchmarks/README.md"):
        (tmp_path / path).parent.mkdir(exist_ok=True)
        shutil.copy(ROOT / path, tmp_path / path)
    shutil.copytree(ROOT / "docs", tmp_path / "docs", ignore=shutil.ignore_patterns("_static", "pictures"),
                    dirs_exist_ok=True)  # fmt: skip
    subprocess.run([sys.executable, tmp_path / "tools/set_version.py", "9.9.0.dev0"], check=True, cwd=tmp_path)
    (first, *pages), (_, *known) = ((top / "docs/llms.txt").read_text().splitlines() for top in (tmp_path, ROOT))
    assert first == "# vitree 9.9.0.dev0" and pages == known


def test_a_file_without_its_line_is_named():
    from set_version import versioned

    texts = {path: "nothing\n" for path in PATHS}
    with pytest.raises(SystemExit, match=re.escape("vitree/version.py has 0 lines")):
        versioned(texts, "1.0.0", "2030-01-31")


def test_the_tests_of_the_wheels_are_there():
    """Those that `[tool.cibuildwheel]` and tools/test_aarch64.sh run."""
    content = (ROOT / "pyproject.toml").read_text(), (ROOT / "tools" / "test_aarch64.sh").read_text()
    named = [set(re.findall(r"tests/[\w/]+\.py", text)) for text in content]
    assert all(len(each) > 5 for each in named)
    assert [path for path in set.union(*named) if not (ROOT / path).exists()] == []
