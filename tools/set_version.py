"""Write a version into all files that have it, and the date of a release.

    python tools/set_version.py 0.2.0 --date 2026-12-31     # a release: the changes get their date
    python tools/set_version.py 0.3.0.dev0                  # after it: the changes get a new section
"""

from __future__ import annotations

import argparse
import datetime
import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parent.parent
WAITS = "not released yet"


def replaced(pattern: str, new: str, text: str, path: str) -> str:
    """The text with its one line of the pattern replaced."""
    text, count = re.subn(pattern, new, text, flags=re.M)
    if count != 1:
        raise SystemExit(f"{path} has {count} lines that match {pattern}, not one")
    return text


def versioned(texts: dict[str, str], version: str, date: str | None) -> dict[str, str]:
    """The texts of the files, by their paths, with a version; with a date it is a release."""
    found = dict(texts)

    def edit(path: str, pattern: str, new: str) -> None:
        found[path] = replaced(pattern, new, found[path], path)

    edit("vitree/version.py", r'^__version__ = ".*"$', f'__version__ = "{version}"')
    edit("pyproject.toml", r'^version = ".*"$', f'version = "{version}"')
    edit("CITATION.cff", r"^version: .*\n(date-released: .*\n)?",
         f"version: {version}\n" + (f"date-released: {date}\n" if date else ""))  # fmt: skip
    final = version.partition(".dev")[0]
    if date:
        edit("CHANGELOG.md", rf"^## {re.escape(final)} \({WAITS}\)$", f"## {final} ({date})")
    elif f"## {final} (" not in found["CHANGELOG.md"]:
        edit("CHANGELOG.md", r"\A# Changes\n", f"# Changes\n\n## {final} ({WAITS})\n")
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("version", help="such as 0.2.0, or 0.3.0.dev0")
    parser.add_argument("--date", type=datetime.date.fromisoformat, help="of a release, YYYY-MM-DD")
    asked = parser.parse_args()
    if not re.fullmatch(r"\d+\.\d+\.\d+(\.dev\d+)?", asked.version):
        parser.error(f"{asked.version} is no version such as 0.2.0 or 0.3.0.dev0")
    if (asked.date is None) != (".dev" in asked.version):
        parser.error("a release has a --date, and a version with .dev has none")
    paths = "vitree/version.py", "pyproject.toml", "CITATION.cff", "CHANGELOG.md"
    before = {path: (ROOT / path).read_text() for path in paths}
    texts = versioned(before, asked.version, asked.date and str(asked.date))
    for path, text in texts.items():
        (ROOT / path).write_text(text)
    subprocess.run([sys.executable, ROOT / "docs" / "_ext" / "llms.py"], check=True)


if __name__ == "__main__":
    main()
