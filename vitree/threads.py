"""Threads of the libraries for linear algebra."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Iterator
from typing import Any

_lock = threading.Lock()
#: The limits in force, and how many blocks they serve: those of several threads overlap.
_limits: Any = None
_blocks = 0


@contextlib.contextmanager
def one_blas_thread() -> Iterator[None]:
    """Let BLAS have one thread in a block or a function, if threadpoolctl is there.

    Where matrices are small, threads that wait for each other take several times the processor's time of one, and where
    other programs keep the cores busy, hundreds of times. The limit is that of the process, until the last block ends.
    """
    global _limits, _blocks
    try:
        from threadpoolctl import threadpool_limits
    except ImportError:
        yield
        return
    with _lock:
        if not _blocks:
            _limits = threadpool_limits(limits=1, user_api="blas")
        _blocks += 1
    try:
        yield
    finally:
        with _lock:
            _blocks -= 1
            if not _blocks:
                _limits.restore_original_limits()
                _limits = None
