"""A fan: how an entry of many instances spreads over time. Axes in, axes out."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

import numpy as np

from vitree.arguments import several, shown
from vitree.errors import InputError, UnknownNameError
from vitree.plot import parts

if TYPE_CHECKING:
    from matplotlib.axes import Axes

#: Bands between quantiles of the instances, the widest first, and how opaque each is.
BANDS = ((0.05, 0.95, 0.2), (0.25, 0.75, 0.3))


def fan(
    source: Any, names: str | Iterable[str] | None = None, axes: Axes | None = None, *, of: str = "q"
) -> Axes:
    """Draw how entries of the configuration, velocity or momentum of a rollout spread over time.

    The line is the median of the instances, the bands have the middle half and nine tenths of them. Instances that
    failed count as long as they ran.

    Parameters
    ----------
    source : Rollout
    names : names of ``q_names`` (``v_names`` for v and p), or one, optional
        The first seven if not given.
    axes : matplotlib Axes, optional
        The axes to draw into; those of a new figure if not given.
    of : {"q", "v", "p"}
        What is drawn; it must have been recorded.

    Returns
    -------
    matplotlib Axes

    Raises
    ------
    MissingExtraError
        If matplotlib is not installed.
    InputError
        If it was not recorded, or there is no instance.
    UnknownNameError
        If a coordinate is not known.
    """
    if not (hasattr(source, "system") and hasattr(source, "data")):
        raise InputError("source", source, f"is {shown(source)}; a fan is of a Rollout")
    system, data = source.system, source.data
    if not isinstance(of, str) or of not in ("q", "v", "p") or of not in data:
        raise InputError(f'the rollout has no record of "{of}"; it has {", ".join(data)}, and a fan draws q, v or p')
    if not len(source):
        raise InputError("the rollout has no instance to draw")
    every = system.q_names if of == "q" else system.v_names
    given = every[: parts.SHOWN] if names is None else (names,) if isinstance(names, str) else names
    chosen = several(given, "names", "names of coordinates")
    for name in chosen:
        if name not in every:
            raise UnknownNameError("coordinate", name, every)
    axes = parts.begin(axes)
    for index, name in enumerate(chosen):
        rows = data[of][:, :, every.index(name)]
        there = np.isfinite(rows).any(axis=0)
        t, rows = source.t[there], rows[:, there]
        (line,) = axes.plot(t, np.nanmedian(rows, axis=0), label=parts.literal(name), **parts.line_style(index))
        for low, high, alpha in BANDS:
            edges = np.nanquantile(rows, (low, high), axis=0)
            axes.fill_between(t, *edges, color=line.get_color(), alpha=alpha, linewidth=0)
    unit = parts.unit_label(source[0], of, chosen)
    axes.set(xlabel=parts.TIME, ylabel=f"{of} of {len(source)} instances [{unit}]")
    parts.ticks(axes)
    axes.grid(True, alpha=0.3)
    parts.legend_of(axes)
    return axes
