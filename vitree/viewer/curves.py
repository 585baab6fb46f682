"""Curves beside the scene: one plot, and the choice of what it shows."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from vitree.plot.parts import COLOURS
from vitree.wording import visible

if TYPE_CHECKING:
    from viser import GuiApi
    from viser.uplot import Series

#: Room for numbers of seven places, and above the highest of them [pixels]; the height of a plot.
ROOM, PADDING, HEIGHT = 68, (14, 18, 0, 0), 210
#: The least height of a plot, of the largest number in it: curves that stand still are drawn as such.
LEAST = 1e-3
CLEAR = "rgba(0, 0, 0, 0)"
#: The most curves of a plot.
MOST = 8


class Curves:
    """A plot of one of several quantities, which a list chooses from.

    Parameters
    ----------
    gui : viser.GuiApi
    quantities : mapping of str to sequence of str
        Names of the curves of each quantity, with its unit in its own name.
    colours : sequence of str
    changed : callable, optional
        Called when another quantity was chosen.
    marked : bool
        Whether a line marks the time that is shown.
    """

    def __init__(self, gui: GuiApi, quantities: Mapping[str, Sequence[str]], colours: Sequence[str] = COLOURS,
                 changed: Callable[[], None] | None = None, marked: bool = False):  # fmt: skip
        self._gui, self.quantities, self._colours = gui, dict(quantities), colours
        self.shown = next(iter(self.quantities))
        self._changed, self._marked = changed, marked
        self._lock, self._drawn = threading.Lock(), 0
        self._place = gui.add_folder(None)
        with self._place:
            self.choice: Any = None
            if len(self.quantities) > 1:
                self.choice = gui.add_dropdown("plot", [*self.quantities], initial_value=self.shown)
                self.choice.on_update(lambda _: self.choose(str(self.choice.value)))
            self.legend = gui.add_html("")
            self.plot = self._made()

    def choose(self, name: str) -> None:
        """Show another quantity."""
        if name == self.shown or name not in self.quantities:
            return
        with self._lock:
            self.shown = name
            self.plot.remove()
            with self._place:
                self.plot = self._made()
        if self.choice.value != name:
            self.choice.value = name
        if self._changed is not None:
            self._changed()

    def _made(self) -> Any:
        names = list(self.quantities[self.shown])
        lines: list[Series] = [{"label": visible(name), "stroke": self._colours[k % len(self._colours)], "width": 1.5}
                               for k, name in enumerate(names)]  # fmt: skip
        # the last one cannot be seen: it has the least and the greatest value that the axis is to have
        mark: tuple[Series, ...] = ({"label": "now", "stroke": "#888", "width": 1},) if self._marked else ()
        series: tuple[Series, ...] = ({"label": "t"}, *lines, *mark, {"label": "range", "stroke": CLEAR})
        self.legend.content = _legend(names, self._colours) if len(names) > 1 else ""
        first = np.array([0.0, 1.0])
        return self._gui.add_uplot((first, *[first] * (len(series) - 1)), series, height=HEIGHT,
                                   legend={"show": False}, scales={"x": {"time": False}}, padding=PADDING,
                                   axes=({}, {"size": ROOM}))  # fmt: skip

    def draw(self, t: np.ndarray, columns: np.ndarray, now: int | None = None) -> None:
        """Draw the curves (k, n) of the chosen quantity at times (n,), with a mark at one of them."""
        if len(t) < 2 or len(columns) != len(self.quantities[self.shown]):  # another was chosen meanwhile
            return
        columns = np.asarray(columns, dtype=float)
        low, high = bounds(columns)
        edges = np.full(len(t), low)
        edges[-1] = high
        marks = []
        if self._marked:
            marks = [np.full(len(t), low)]
            marks[0][now or 0] = high
        # uPlot forgets the axis of times that are the same as before
        self._drawn += 1
        t = np.array(t, dtype=float)
        t[-1] += 1e-6 * (t[-1] - t[0]) * (self._drawn % 2)
        with self._lock:
            if len(columns) == len(self.quantities[self.shown]):
                self.plot.data = (t, *columns, *marks, edges)


def bounds(columns: np.ndarray) -> tuple[float, float]:
    """Return the least and the greatest value of an axis: those of the curves, and a little more."""
    finite = columns[np.isfinite(columns)]
    if not len(finite):
        return 0.0, 1.0
    low, high = float(finite.min()), float(finite.max())
    least = LEAST * max(abs(low), abs(high), 1e-9)
    room = max(0.05 * (high - low), 0.5 * (least - (high - low)), 0.0)
    return low - room, high + room


def _legend(names: Sequence[str], colours: Sequence[str]) -> str:
    import html

    return '<div style="font-size: 0.75em; line-height: 1.3; padding: 0 1em">' + " ".join(
        f'<span style="white-space: nowrap"><span style="color: {colours[k % len(colours)]}">&#9632;</span> '
        f"{html.escape(visible(name))}</span>" for k, name in enumerate(names)) + "</div>"  # fmt: skip
