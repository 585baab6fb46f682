"""Write the tables of options into docs/command-line.md: python tools/make_command_line.py

Each goes between <!-- options NAME --> and <!-- end -->, NAME being a command or a group of options.
"""

from __future__ import annotations

import inspect
import re
from dataclasses import MISSING, fields, is_dataclass
from pathlib import Path
from typing import Any, get_type_hints

from vitree.cli import COMMANDS
from vitree.cli import options as cli_options
from vitree.cli.bench import Scenes
from vitree.cli.standing import Stand

PAGE = Path(__file__).parent.parent / "docs" / "command-line.md"
GROUPS = {group.__name__.lower(): group for group in (cli_options.Reading, cli_options.World, cli_options.Steps,
                                                      cli_options.Run, cli_options.Start, Stand,
                                                      Scenes)}  # fmt: skip


def _row(name: str, hint: Any, default: Any) -> str:
    """Return a row of a table: names, meaning, default."""
    (info,) = hint.__metadata__
    # Typer keeps the first name of an option in the place of a default.
    names = [x for x in (info.default, *(getattr(info, "param_decls", None) or ())) if isinstance(x, str)]
    shown = ", ".join(f"`{x}`" for x in names) or f"`{info.metavar or name.upper()}`"
    meant = "" if default in (None, "", MISSING, inspect.Parameter.empty) else str(default)
    if isinstance(default, bool):  # the name that stands for the default, of a pair
        meant = names[0].partition("/")[0] if default else ""
    return f"| {shown} | {info.help} | {f'`{meant}`' if meant else ''} |"


def table_of(name: str) -> str:
    """Return the table of the options of a command or group, without those of other groups."""
    if name in GROUPS:
        group, hints = GROUPS[name], get_type_hints(GROUPS[name], include_extras=True)
        own = [field for field in fields(group) if field.name in group.__annotations__]
        rows = [_row(field.name, hints[field.name], field.default) for field in own]
    else:
        command = next(command for command in COMMANDS if command.__name__ == name)
        hints, rows = get_type_hints(command, include_extras=True), []
        for parameter in inspect.signature(command).parameters.values():
            hint = hints[parameter.name]
            if not is_dataclass(hint):
                rows.append(_row(parameter.name, hint, parameter.default))
            elif hint.__annotations__.keys() & {"robot", "robots"}:  # a group with an argument of its own
                robot = next(field for field in fields(hint) if field.name in ("robot", "robots"))
                rows.insert(0, _row("robot", get_type_hints(hint, include_extras=True)[robot.name], robot.default))
    return "\n".join(["| option | meaning | default |", "|---|---|---|", *rows])


def written(page: str) -> str:
    """Return the page with new tables."""

    def table(found: re.Match) -> str:
        return f"<!-- options {found[1]} -->\n{table_of(found[1])}\n<!-- end -->"

    return re.sub(r"<!-- options (\w+) -->\n.*?<!-- end -->", table, page, flags=re.S)


if __name__ == "__main__":
    PAGE.write_text(written(PAGE.read_text()))
