"""Features of this CPU."""

cdef extern from "cpu.h":
    int vt_runs(int width)


def runs(int width):
    """Return whether this CPU supports the core built for that many lanes."""
    return bool(vt_runs(width))
