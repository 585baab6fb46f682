"""The scenes of `vitree bench scenes`, as tables of the manual.

    python benchmarks/scenes.py [--smoke] [--write docs/scenes.md]
"""

from __future__ import annotations

import pages

from vitree.scenes import scenes

METHODS = "linear-time", "midpoint"


def tables(smoke: bool) -> str:
    """A table for each scene: a row for each number but times, a column for each program."""
    found = scenes(None, METHODS, quick=smoke)
    lines = []
    for scene in found.scenes:
        rows = [row for row in found.table if row["scene"] == scene["name"] and row["metric"] != "time of a step"]
        programs = [name for name in found.programs if any(row["program"] == name for row in rows)]
        lines += [
            f"### {scene['name']}", "", f"{scene['source'][0].upper()}{scene['source'][1:]}. "
            f"{scene['about'][0].upper()}{scene['about'][1:]}. dt = {scene['dt']:g} s, "
            f"{scene['duration']:g} s.", "",
            f"| | {' | '.join(programs)} |", "|---" * (1 + len(programs)) + "|",
        ]  # fmt: skip
        for metric in dict.fromkeys((row["metric"], row["unit"]) for row in rows):
            cells = {row["program"]: row["value"] for row in rows if (row["metric"], row["unit"]) == metric}
            shown = (f"{cells[name]:.2g}" if name in cells else "" for name in programs)
            name = metric[0] if metric[1] == "1" else f"{metric[0]} [{metric[1]}]"
            lines.append(f"| {name} | {' | '.join(shown)} |")
        lines.append("")
    if found.notes:
        lines += [*(f"* {note}" for note in found.notes), ""]
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    pages.run(__doc__, tables)
