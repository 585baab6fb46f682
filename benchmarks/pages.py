"""Tables that benchmarks write into pages of the manual, between two marks."""

from __future__ import annotations

import argparse
import re
from collections.abc import Callable
from pathlib import Path

TABLES = "<!-- tables -->\n", "<!-- end of tables -->"


def run(description: str | None, tables: Callable[[bool], str], marks: tuple[str, str] = TABLES) -> None:
    """Make the tables, print them, and write them into a page if the command line names one."""
    begin, end = marks
    parser = argparse.ArgumentParser(description=description, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--smoke", action="store_true", help="only see that it runs")
    parser.add_argument("--write", type=Path, metavar="FILE", help="put the tables between the marks of a page")
    arguments = parser.parse_args()
    text = tables(arguments.smoke)
    print(text)
    if arguments.write:
        page = arguments.write.read_text()
        if begin not in page or end not in page:
            parser.error(f"{arguments.write} has no lines {begin.strip()} and {end}")
        arguments.write.write_text(re.sub(f"{begin}.*{end}", lambda _: f"{begin}{text}{end}", page, flags=re.DOTALL))
