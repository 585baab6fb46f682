"""Shared by the scripts of papers: arguments, tables, claims, and pictures that can be read in grey."""

from __future__ import annotations

import argparse
import textwrap
from pathlib import Path

import numpy as np
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from matplotlib.ticker import FixedLocator, FuncFormatter, NullFormatter

#: Dashes and a shade by index; the method that a script is about comes first.
LINES = [
    {"color": "0.0", "linestyle": "-"},
    {"color": "0.55", "linestyle": "-"},
    {"color": "0.35", "linestyle": "--"},
    {"color": "0.35", "linestyle": ":"},
    {"color": "0.65", "linestyle": "-."},
]


def arguments(description: str) -> argparse.Namespace:
    """Read --quick and --out, and make the folder."""
    parser = argparse.ArgumentParser(description=description, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="a short run, to see that it works")
    parser.add_argument("--out", type=Path, default=Path("."), metavar="FOLDER", help="where the picture goes")
    chosen = parser.parse_args()
    chosen.out.mkdir(parents=True, exist_ok=True)
    return chosen


def figure(rows: int = 1, columns: int = 1, size=(7.0, 3.6), **options):
    """Return a figure that needs no display, and its axes."""
    made = Figure(figsize=size, layout="constrained")
    return made, made.subplots(rows, columns, **options)


def _few(low: float, high: float) -> list[float]:
    """At least two round numbers between powers of ten, if there are."""
    for parts in ((1,), (1, 2, 5), (1, 1.5, 2, 3, 4, 5, 7)):
        exponents = range(int(np.floor(low)), int(np.ceil(high)) + 1)
        ticks = [part * 10.0**k for k in exponents for part in parts if low <= np.log10(part * 10.0**k) <= high]
        if len(ticks) > 1:
            break
    return ticks


def legend_below(axes, columns: int = 2) -> None:
    """A legend under the axes, where it covers nothing."""
    axes.legend(fontsize="small", loc="upper center", bbox_to_anchor=(0.5, -0.17), ncols=columns)


def save(made: Figure, out: Path, name: str) -> None:
    """Write a picture and print its path; logarithmic axes have few labels, and no two labels of ticks may collide."""
    canvas = FigureCanvasAgg(made)
    for axes in made.axes:
        for axis in (axes.xaxis, axes.yaxis):
            if axis.get_scale() == "log":
                low, high = np.log10(axis.get_view_interval())
                if high - low < 1.5:
                    axis.set_major_locator(FixedLocator(_few(low, high)))
                    axis.set_major_formatter(FuncFormatter(lambda x, _: f"{x:g}"))
                axis.set_minor_formatter(NullFormatter())
    canvas.draw()
    boxes = []
    for axes in made.axes:
        for axis in (axes.xaxis, axes.yaxis):
            first, last = sorted(axis.get_view_interval())
            room = 1e-9 * (last - first)
            boxes += [(label.get_text(), label.get_window_extent()) for place, label in
                      zip(axis.get_ticklocs(), axis.get_ticklabels(), strict=False)
                      if first - room <= place <= last + room and label.get_visible() and label.get_text()]  # fmt: skip
    for k, (text, box) in enumerate(boxes):
        for other, there in boxes[:k]:
            if box.overlaps(there):
                raise ValueError(f'labels of ticks collide in {name}: "{other}" and "{text}"')
    made.savefig(out / name, dpi=150)
    print(f"\nwritten: {out / name}")


def table(headings, rows) -> None:
    """Print rows below headings, with the first column on the left; None is printed as a dash."""
    text = [[*map(str, headings)], *(["-" if cell is None else str(cell) for cell in row] for row in rows)]
    widths = [max(map(len, column)) for column in zip(*text, strict=True)]
    for line in text:
        print("  ".join([line[0].ljust(widths[0]), *map(str.rjust, line[1:], widths[1:])]))


def claims(*rows) -> None:
    """Print what the paper claims, what was found, and whether the claim holds.

    A row is (claim, found, holds). ``holds`` is True, False, or words where neither says it.
    """
    for claim, found, holds in rows:
        words = holds if isinstance(holds, str) else "yes" if holds else "NO"
        print()
        for head, text in (("the paper claims", claim), ("found", found), ("holds", words)):
            print(textwrap.fill(f"{head}: {text}", 110, subsequent_indent=" "))


def band(axes, t, y, bins: int = 600, **style) -> None:
    """Draw a quickly varying series as the band between its least and greatest value in each bin."""
    size = -(-len(t) // bins)
    full = len(t) // size * size
    low, high = (f(y[:full].reshape(-1, size), axis=1) for f in (np.min, np.max))
    middle = t[:full].reshape(-1, size).mean(axis=1)
    axes.fill_between(middle, low, high, facecolor=style["color"], edgecolor="none", alpha=0.5)
    axes.plot(middle, high, linewidth=1.0, label=style.pop("label", None), **style)
    axes.plot(middle, low, linewidth=1.0, **style)
