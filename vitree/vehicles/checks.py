"""Checks of the numbers of a vehicle: their magnitudes are such that products of a few of them do not overflow."""

from __future__ import annotations

import numpy as np

from vitree.arguments import axes_of
from vitree.errors import ModelError
from vitree.spatial import checks

#: The smallest positive number, and the largest magnitude of a number.
LEAST, LARGEST = 1e-50, 1e50


def array(value: object, shape: tuple[int, ...], what: str) -> np.ndarray:
    """Return a read-only array of a given shape, or raise a ModelError that names it."""
    numbers = checks.array(value, shape, what)
    if (largest := np.abs(numbers).max(initial=0.0)) > LARGEST:
        raise ModelError(f"{what} is {largest:g} in size; it must be at most {LARGEST:g}")
    return numbers


def positive(value: object, what: str) -> float:
    """Return a number above zero, or raise a ModelError that names it."""
    number = float(array(value, (), what))
    if not number > 0:
        raise ModelError(f"{what} is {number:g}; it must be positive")
    if number < LEAST:
        raise ModelError(f"{what} is {number:g}; it must be at least {LEAST:g}")
    return number


def not_negative(value: object, what: str) -> float:
    """Return a number of at least zero, or raise a ModelError that names it."""
    number = array(value, (), what)
    if not number >= 0:
        raise ModelError(f"{what} is {number:g}; it must be zero or more")
    return float(number)


def symmetric(value: object, size: int, what: str, definite: bool = True) -> np.ndarray:
    """Return a symmetric positive definite matrix, or semidefinite if not ``definite``.

    Raises a ModelError if it is not symmetric, or has an eigenvalue that is not positive.

    Parameters
    ----------
    value : number, (size,) or (size, size) array
        A multiple of the identity, a diagonal, or all of it.
    """
    given = axes_of(value)
    if given == 0:
        A = array(value, (), what) * np.eye(size)
    elif given == 1:
        A = np.diag(array(value, (size,), what))
    else:
        A = array(value, (size, size), what)
    largest = np.abs(A).max()
    if np.abs(A - A.T).max() > 1e-9 * largest:
        i, j = np.unravel_index(np.abs(A - A.T).argmax(), A.shape)
        entries = f"entry [{i}, {j}] is {A[i, j]:g}, [{j}, {i}] is {A[j, i]:g}"
        raise ModelError(f"{what} is not symmetric: {entries}")
    A = 0.5 * A + 0.5 * A.T
    least = float(np.linalg.eigvalsh(A)[0])
    if least <= 0 if definite else least < -1e-12 * largest:
        accepted = "positive" if definite else "positive or zero"
        raise ModelError(f"{what} has the eigenvalue {least:g}; all must be {accepted}")
    A.setflags(write=False)
    return A
