"""Threads of the libraries for linear algebra."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator


@contextlib.contextmanager
def one_blas_thread() -> Iterator[None]:
    """Let BLAS have one thread in a block or a function, if threadpoolctl is there.

    Where matrices are small, threads that wait for each other take several times the processor's time of one, and where
    other programs keep the cores busy, hundreds of times.
    """
    try:
        from threadpoolctl import threadpool_limits
    except ImportError:
        yield
        return
    with threadpool_limits(limits=1, user_api="blas"):
        yield
