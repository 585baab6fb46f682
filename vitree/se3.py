"""SE(3) on stacks of doubles, in compiled code; ``vitree.lie`` has the groups with all their maps.

Elements are matrices (..., 4, 4), or their upper three rows (..., 3, 4), which take less memory: [R p], rotation and
position. Twists are x = (w, v), (..., 6): rotation vector [rad], then the linear part. Leading axes broadcast.
``out=`` is an array for the result; it may be an argument itself.

Shapes are checked and numbers are not: NaN gives NaN, and what is no rotation gives no element.
``vitree.lie.SE3.check`` checks elements. The last row of a 4 x 4 matrix is not read. Every element of a result has the
same bits, whatever stack it is in, and on every processor. ``vitree/se3.pxd`` has the same functions for Cython.

References
----------
Park, Bobrow & Ploen 1995; Murray, Li & Sastry 1994, ch. 2.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from vitree._core import wide
from vitree.arguments import numbers_of, shown, unlike_leads
from vitree.errors import InputError

#: Numbers of the actions, as ``_core/se3_doors.pxi`` has them.
PRODUCT, INVERSE, EXP, LOG, AD, ACT = range(6)
Kind = tuple[int, ...]
#: Kinds of arrays: their last axes.
POSE, TWIST, POINT, ADJOINT = (4, 4), (6,), (3,), (6, 6)


def product(X: ArrayLike, Y: ArrayLike, out: np.ndarray | None = None) -> np.ndarray:
    """Return the products X Y of elements.

    Parameters
    ----------
    X, Y : (..., 4, 4) or (..., 3, 4) arrays [m]
    out : (..., 4, 4) or (..., 3, 4) array [m], optional
        For the result.

    Returns
    -------
    (..., 4, 4) array [m]
        With three rows if X or Y has three; with those of ``out`` if it is given.

    Raises
    ------
    InputError
        If a shape is wrong, or the leading axes do not broadcast.
    """
    found = wide().se3_action(PRODUCT, X, Y, out)
    return _carefully(PRODUCT, {"X": (X, POSE), "Y": (Y, POSE)}, POSE, out) if found is None else found


def inverse(X: ArrayLike, out: np.ndarray | None = None) -> np.ndarray:
    """Return the inverses of elements: R^T, and -R^T p.

    Parameters
    ----------
    X : (..., 4, 4) or (..., 3, 4) array [m]
    out : (..., 4, 4) or (..., 3, 4) array [m], optional
        For the result.

    Returns
    -------
    (..., 4, 4) or (..., 3, 4) array [m]
        Of the shape of X, or ``out``.

    Raises
    ------
    InputError
        If a shape is wrong.
    """
    found = wide().se3_action(INVERSE, X, None, out)
    return _carefully(INVERSE, {"X": (X, POSE)}, POSE, out) if found is None else found


def exp(x: ArrayLike, out: np.ndarray | None = None) -> np.ndarray:
    """Return the exponentials of twists.

    Parameters
    ----------
    x : (..., 6) array [rad, m]
        (w, v): rotation vector, linear part.
    out : (..., 4, 4) or (..., 3, 4) array [m], optional
        For the result.

    Returns
    -------
    (..., 4, 4) array, or ``out`` [m]

    Raises
    ------
    InputError
        If a shape is wrong.
    """
    found = wide().se3_action(EXP, x, None, out)
    return _carefully(EXP, {"x": (x, TWIST)}, POSE, out) if found is None else found


def log(X: ArrayLike, out: np.ndarray | None = None) -> np.ndarray:
    """Return the twists (..., 6) whose exponentials are the elements; rotations by the shorter way.

    Parameters
    ----------
    X : (..., 4, 4) or (..., 3, 4) array [m]
    out : (..., 6) array [rad, m], optional
        For the result.

    Returns
    -------
    (..., 6) array [rad, m]
        (w, v): rotation vector of length pi at most, linear part.

    Raises
    ------
    InputError
        If a shape is wrong.
    """
    found = wide().se3_action(LOG, X, None, out)
    return _carefully(LOG, {"X": (X, POSE)}, TWIST, out) if found is None else found


def Ad(X: ArrayLike, out: np.ndarray | None = None) -> np.ndarray:
    """Return the adjoints [[R, 0], [p^ R, R]], which carry twists (w, v): hat(Ad x) = X hat(x) X^-1.

    Parameters
    ----------
    X : (..., 4, 4) or (..., 3, 4) array [m]
    out : (..., 6, 6) array [m], optional
        For the result.

    Returns
    -------
    (..., 6, 6) array [m]

    Raises
    ------
    InputError
        If a shape is wrong.
    """
    found = wide().se3_action(AD, X, None, out)
    return _carefully(AD, {"X": (X, POSE)}, ADJOINT, out) if found is None else found


def act(X: ArrayLike, points: ArrayLike, out: np.ndarray | None = None) -> np.ndarray:
    """Return the points R a + p that elements carry points a to.

    Parameters
    ----------
    X : (..., 4, 4) or (..., 3, 4) array [m]
    points : (..., 3) array [m]
    out : (..., 3) array [m], optional
        For the result.

    Returns
    -------
    (..., 3) array [m]

    Raises
    ------
    InputError
        If a shape is wrong, or the leading axes do not broadcast.
    """
    found = wide().se3_action(ACT, X, points, out)
    return _carefully(ACT, {"X": (X, POSE), "points": (points, POINT)}, POINT, out) if found is None else found


def _carefully(which: int, given: dict[str, tuple[ArrayLike, Kind]], tail: Kind, out: np.ndarray | None) -> np.ndarray:
    """The result for arrays of all kinds, or an error that says what is wrong."""
    arrays, leads, rows = [], {}, 4
    for name, (value, kind) in given.items():
        x = numbers_of(value, name)
        rows = min(rows, _rows_of(x.shape, kind, name, value))
        arrays.append(x)
        leads[name] = x.shape[: -len(kind)]
    try:
        lead = np.broadcast_shapes(*leads.values())
    except ValueError:
        raise unlike_leads(leads, next(iter(given.values()))[0]) from None
    if out is not None:
        if type(out) is not np.ndarray or out.dtype != float or not out.flags.writeable:
            raise InputError("out", out, f"is {shown(out)}; it must be an array of doubles to write to")
        rows = _rows_of(out.shape, tail, "out", out)
        if out.shape[: -len(tail)] != lead:
            raise InputError("out", out, f"has shape {out.shape}; its leading axes must be {lead}")
    for k, (kind, axes) in enumerate(zip((kind for _, kind in given.values()), leads.values(), strict=True)):
        if axes != lead:
            arrays[k] = np.ascontiguousarray(np.broadcast_to(arrays[k], (*lead, *arrays[k].shape[-len(kind) :])))
    made = np.empty((*lead, *((rows, 4) if tail == POSE else tail)))
    wide().se3_action(which, arrays[0], arrays[1] if len(arrays) > 1 else None, made)
    if out is None:
        return made
    out[...] = made
    return out


def _rows_of(shape: tuple[int, ...], kind: Kind, name: str, value: object) -> int:
    """Number of rows of a pose, 3 or 4, and 4 for other kinds; an InputError for other shapes."""
    found = shape[-len(kind) :]
    if found == kind or (kind == POSE and found == (3, 4)):
        return found[0] if kind == POSE else 4
    needed = "(..., 4, 4) or (..., 3, 4)" if kind == POSE else f"(..., {', '.join(map(str, kind))})"
    raise InputError(name, value, f"has shape {shape}; it must be an array of numbers of shape {needed}")
