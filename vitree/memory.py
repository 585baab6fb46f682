"""Memory that arguments ask for, estimated before it is taken."""

from __future__ import annotations

import contextlib
import os
from pathlib import Path

from vitree.errors import InputError

#: Estimates up to this are not compared with what is available [bytes].
SMALL = 2**26
#: Where Linux says what is available, and what a group of processes may take and has taken.
_MEMINFO, _GROUP = "/proc/meminfo", "/sys/fs/cgroup"


def available() -> int | None:
    """Return the memory that this process can take [bytes]; None where the system does not tell."""
    found = [limit for limit in (_of_machine(), _of_group(), _of_process()) if limit is not None]
    return min(found, default=None)


def require_memory(what: str, size: float, *remedies: str) -> None:
    """Raise an InputError if what arguments ask for takes more memory than is available.

    Parameters
    ----------
    what : str
        What takes the memory, in the plural, as the message begins with it.
    size : float
        The estimate [bytes].
    *remedies : str
        What to change, each in words.
    """
    if size <= SMALL:
        return
    most = available()
    if most is not None and size > most:
        change = ", or ".join(remedies)
        raise InputError(f"{what} take about {_told(size)}, and {_told(most)} of memory are available; {change}")


def _told(size: float) -> str:
    """A size in words."""
    return f"{size / 1e9:.3g} GB" if size >= 1e9 else f"{size / 1e6:.3g} MB"


def _of_machine() -> int | None:
    """Memory that the machine has left, or has at all where it does not tell more."""
    with contextlib.suppress(OSError, ValueError, IndexError):
        for line in Path(_MEMINFO).read_text().splitlines():
            if line.startswith("MemAvailable:"):
                return int(line.split()[1]) * 1024
    with contextlib.suppress(AttributeError, OSError, ValueError):
        return os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    return None


def _of_group() -> int | None:
    """What is left to the group of processes of a container."""
    for most, taken in (("memory.max", "memory.current"),
                        ("memory/memory.limit_in_bytes", "memory/memory.usage_in_bytes")):  # fmt: skip
        with contextlib.suppress(OSError, ValueError):  # "max": no limit
            limit, used = (int(Path(_GROUP, name).read_text()) for name in (most, taken))
            return max(limit - used + _cached(Path(_GROUP, most).parent), 0)
    return None


def _cached(group: Path) -> int:
    """Pages of files that a group gives back when memory is short."""
    with contextlib.suppress(OSError, ValueError, IndexError):
        for line in (group / "memory.stat").read_text().splitlines():
            if line.startswith(("inactive_file ", "total_inactive_file ")):
                return int(line.split()[1])
    return 0


def _of_process() -> int | None:
    """What is left below the limit of the process's address space."""
    try:
        import resource
    except ImportError:  # Windows
        return None
    with contextlib.suppress(OSError, ValueError, IndexError):
        limit = resource.getrlimit(resource.RLIMIT_AS)[0]
        if limit != resource.RLIM_INFINITY:
            pages = int(Path("/proc/self/statm").read_text().split()[0])
            return max(limit - pages * os.sysconf("SC_PAGE_SIZE"), 0)
    return None
