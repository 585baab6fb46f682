"""The figure that plots are drawn into. Needs matplotlib: import it inside functions."""

from __future__ import annotations

import io

import matplotlib.figure


class Figure(matplotlib.figure.Figure):
    """A matplotlib Figure, made without pyplot, that a notebook shows."""

    def _repr_png_(self) -> bytes:
        stream = io.BytesIO()
        self.savefig(stream, format="png")
        return stream.getvalue()
