"""The groups SO(3), SE(2) and SE(3), and the maps from their algebras that integrators step with.

SO(3) and SE(2) are subgroups of SE(3), and their maps are restrictions of those of SE(3). So each equation stands here
once, for w (angular) and v (linear) of se(3); a :class:`Group` takes its rows of them.

All functions take stacks (leading axes) and keep the precision of numpy.longdouble. All functions but ``log`` and
``random`` also take complex numbers, for derivatives by complex steps. ``se3`` has products, inverses and maps of large
stacks of doubles in compiled code.

References
----------
Kobilarov, Crane & Desbrun 2009, "Lie group integrators for animation and control of vehicles" (the maps; its eqs. 13
and 14 are of two different Cayley maps, and the Cayley map of SE(2) in appendix B has the diagonal of the rotation with
the wrong sign). Bou-Rabee & Marsden 2009 (trapezoidal Lie-Newmark). Celledoni & Owren 2003 (Cayley map, coordinates of
the second kind). Park, Bobrow & Ploen 1995 (tangents of exp).
"""

from __future__ import annotations

import decimal
from collections.abc import Iterable
from fractions import Fraction
from functools import cache
from math import factorial
from typing import NoReturn, Protocol

import numpy as np
from numpy.polynomial.polynomial import polyder, polyval
from numpy.typing import ArrayLike

from vitree import se3 as se3
from vitree.arguments import generator, several, shown, whole
from vitree.errors import InputError, UnknownNameError
from vitree.spatial.rotations import UNIT_TOLERANCE, hat

#: Entries must be smaller than this: products of six of them are numbers.
LARGEST = 1e50

#: A number, or numbers (...) of a stack.
Coefficient = np.ndarray | float
Coefficients = tuple[Coefficient, Coefficient, Coefficient]
#: Three blocks (..., 3, 3) of a matrix (..., 6, 6), of which one may be zero.
Blocks = tuple[np.ndarray, np.ndarray | int, np.ndarray]

__all__ = ["SE2", "SE3", "SO3", "Group", "Map", "matrix_from_pose", "pose_from_matrix"]


# ---- arrays -------------------------------------------------------------------------------------------


def _array(value: object, shape: tuple[int, ...], what: str) -> np.ndarray:
    """Return an array (..., *shape) of finite floating-point numbers, or raise an InputError that names it."""
    try:
        array = np.asarray(value)
        array = array.astype(np.result_type(array, float) if array.dtype.kind in "biufc" else float, copy=False)
        if isinstance(value, np.ma.MaskedArray):
            raise TypeError("it is masked")
    except Exception:  # whatever a value's own methods raise
        raise InputError(f"{what} is {shown(value)}; it must be an array of numbers") from None
    if array.shape[-len(shape) :] != shape:
        raise InputError(f"{what} has shape {array.shape}; it must be (..., {', '.join(map(str, shape))})")
    if not (np.abs(array) < LARGEST).all():
        raise InputError(f"{what} must be finite, with entries below {LARGEST:g} in size")
    return array


def _require_alike(x: np.ndarray, mu: np.ndarray) -> None:
    """Raise an InputError if two stacks of vectors do not go together."""
    one, other = np.shape(x)[:-1], np.shape(mu)[:-1]
    try:
        np.broadcast_shapes(one, other)
    except ValueError:
        raise InputError(f"x has the leading axes {one} and mu {other}; they must broadcast") from None


def _times(M: np.ndarray, u: np.ndarray) -> np.ndarray:
    found: np.ndarray = (M @ u[..., None])[..., 0]
    return found


def _cross(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    return _times(hat(a), b)


def _dot(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    found: np.ndarray = (a * b).sum(-1)
    return found


def _outer(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    found: np.ndarray = a[..., :, None] * b[..., None, :]
    return found


def _transpose(M: np.ndarray) -> np.ndarray:
    return np.swapaxes(M, -1, -2)


def _column(a: Coefficient) -> np.ndarray:
    """Numbers (...) as (..., 1), to multiply vectors with."""
    return np.asarray(a)[..., None]


def _expand(a: Coefficient) -> np.ndarray:
    """Numbers (...) as (..., 1, 1), to multiply matrices with."""
    return np.asarray(a)[..., None, None]


def _blocks(a: Coefficient, b: Coefficient, c: Coefficient, d: Coefficient) -> np.ndarray:
    """The matrix (..., 6, 6) of [[a, b], [c, d]]; blocks may be numbers."""
    parts = [np.asarray(m) for m in (a, b, c, d)]
    lead = np.broadcast_shapes(*(m.shape[:-2] for m in parts))
    M = np.empty((*lead, 6, 6), np.result_type(*parts))
    M[..., :3, :3], M[..., :3, 3:], M[..., 3:, :3], M[..., 3:, 3:] = parts
    return M


# ---- functions of a rotation vector ---------------------------------------------------------------------
#
# A matrix function M with M(R w) = R M(w) R^T is M(w) = a 1 + b hat(w) + c w w^T, where a, b, c are functions of
# s = |w|^2. Here x1 stands for (1/theta) dx/dtheta = 2 dx/ds, and x2 for the same derivative of x1.


def _isotropic(w: np.ndarray, a: Coefficient, b: Coefficient, c: Coefficient) -> np.ndarray:
    """M(w) = a 1 + b hat(w) + c w w^T."""
    found: np.ndarray = _expand(a) * np.eye(3) + _expand(b) * hat(w) + _expand(c) * _outer(w, w)
    return found


def _isotropic_along(w: np.ndarray, v: np.ndarray, abc: Coefficients, abc1: Coefficients) -> np.ndarray:
    """The derivative of M(w) along v."""
    a1, b1, c1 = (_dot(w, v) * x for x in abc1)
    _, b, c = abc
    found: np.ndarray = _isotropic(w, a1, b1, c1) + _expand(b) * hat(v) + _expand(c) * (_outer(w, v) + _outer(v, w))
    return found


def _slope(w: np.ndarray, m: np.ndarray, a: Coefficients, c: Coefficients) -> np.ndarray:
    """The derivative by w of M(w)^T m, for b = -1/2; a = (a, a1, a2), c = (c, c1, c2)."""
    wm = _dot(w, m)
    turned = _outer(_column(a[1]) * m + _column(c[1] * wm) * w, w) - hat(m) / 2
    return turned + _expand(c[0]) * (_outer(w, m) + _expand(wm) * np.eye(3))


def _slope_along(w: np.ndarray, v: np.ndarray, f: np.ndarray, a: Coefficients, c: Coefficients) -> np.ndarray:
    """The derivative by w of (the derivative of M(w)^T f along v), for b = -1/2."""
    (_, a1, a2), (c0, c1, c2) = map(_column, a), map(_column, c)
    wv, wf, vf = (_column(_dot(x, y)) for x, y in ((w, v), (w, f), (v, f)))
    found: np.ndarray = (
        _outer(a1 * f + c1 * wf * w, v)
        + _outer(c0 * v + c1 * wv * w, f)
        + _outer(a2 * wv * f + c1 * (wf * v + vf * w) + c2 * wv * wf * w, w)
        + (c0 * vf + c1 * wv * wf)[..., None] * np.eye(3)
    )
    return found


def _numbers(fractions: Iterable[Fraction]) -> np.ndarray:
    """Fractions, rounded to long doubles."""
    context = decimal.Context(prec=30)
    return np.array([np.longdouble(str(context.divide(f.numerator, f.denominator))) for f in fractions])


_PI = Fraction("3.14159265358979323846264338327950288419716939937510582097494459")
_TERMS = 20
_POLES = _numbers((2 * _PI * n) ** 2 for n in (1, 2))


@cache
def _exp_series(dtype: np.dtype[np.floating]) -> np.ndarray:
    """Coefficients (terms, 4), by powers of s, of beta, delta, beta1, delta1."""
    columns = [_numbers(Fraction((-1) ** n, factorial(2 * n + k)) for n in range(_TERMS + 1)) for k in (2, 3)]
    columns += [2 * polyder(column) for column in columns]
    return np.stack([column[:_TERMS] for column in columns], axis=-1).astype(dtype)


@cache
def _log_series(dtype: np.dtype[np.floating]) -> np.ndarray:
    """Coefficients (terms, 3), by powers of s, of gamma without its poles at 2 pi and 4 pi, and of its derivatives."""
    # g = (theta/2) cot(theta/2) = cos/sinc as series in s/4; gamma = (1 - g)/s
    cos, sinc = ([Fraction((-1) ** n, factorial(2 * n + k)) for n in range(_TERMS + 4)] for k in (0, 1))
    g: list[Fraction] = []
    for n in range(_TERMS + 3):
        g.append(cos[n] - sum(sinc[j] * g[n - j] for j in range(1, n + 1)))
    column = _numbers(-g[n] / 4**n - sum(2 / (2 * _PI * k) ** (2 * n) for k in (1, 2)) for n in range(1, _TERMS + 3))
    columns = [column, 2 * polyder(column), 4 * polyder(column, 2)]
    return np.stack([column[:_TERMS] for column in columns], axis=-1).astype(dtype)


def _exp_coefficients(s: np.ndarray) -> tuple[np.ndarray, ...]:
    """cos(theta), A, beta, delta, beta1, delta1 of s = theta^2: series below theta = 2, where closed forms cancel.

    A = sin(theta)/theta, beta = (1 - cos(theta))/s, delta = (1 - A)/s.
    """
    near = s.real < 4
    beta, delta, beta1, delta1 = polyval(np.where(near, s, 0), _exp_series(s.real.dtype))
    far = np.where(near, 4, s)
    theta = np.sqrt(far)
    A, B = np.sin(theta) / theta, 2 * np.sin(theta / 2) ** 2 / far
    D = (1 - A) / far
    B1, D1 = (A - 2 * B) / far, (B - 3 * D) / far
    return (
        np.where(near, 1 - s * beta, np.cos(theta)),
        np.where(near, 1 - s * delta, A),
        np.where(near, beta, B),
        np.where(near, delta, D),
        np.where(near, beta1, B1),
        np.where(near, delta1, D1),
    )


def _log_coefficients(s: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """gamma, gamma1, gamma2 of s = theta^2 < 4 pi^2, gamma = (1 - (theta/2) cot(theta/2))/s.

    gamma is the sum of 2/((2 pi n)^2 - s), whose first two terms are taken as they are and the others as a series:
    all terms are positive, so nothing cancels at any angle.
    """
    gamma, gamma1, gamma2 = polyval(s, _log_series(s.real.dtype))
    for pole in _POLES.astype(s.real.dtype):
        d = 1 / (pole - s)
        gamma, gamma1, gamma2 = gamma + 2 * d, gamma1 + 4 * d**2, gamma2 + 16 * d**3
    return gamma, gamma1, gamma2


# ---- quaternions ----------------------------------------------------------------------------------------


def _rotation_of_quaternion(turn: np.ndarray) -> np.ndarray:
    u, w = turn[..., :3], turn[..., 3]
    return _isotropic(u, w * w - _dot(u, u), 2 * w, 2)


def _quaternion_of_rotation(R: np.ndarray) -> np.ndarray:
    """Unit quaternion (x, y, z, w), w >= 0, from the largest of the columns of 4 q q^T."""
    trace = R[..., 0, 0] + R[..., 1, 1] + R[..., 2, 2]
    K = np.empty((*R.shape[:-2], 4, 4), R.dtype)
    K[..., :3, :3] = R + _transpose(R) + _expand(1 - trace) * np.eye(3)
    odd = R - _transpose(R)
    K[..., :3, 3] = K[..., 3, :3] = np.stack((odd[..., 2, 1], odd[..., 0, 2], odd[..., 1, 0]), axis=-1)
    K[..., 3, 3] = 1 + trace
    best = np.einsum("...ii->...i", K).argmax(-1)[..., None, None]
    q = np.take_along_axis(K, best, axis=-1)[..., 0]
    q = q / np.sqrt(_dot(q, q))[..., None]
    found: np.ndarray = np.where(q[..., 3:].real < 0, -q, q)
    return found


def matrix_from_pose(q: ArrayLike) -> np.ndarray:
    """Return the element of SE(3) that the configuration of a ``free`` joint stands for.

    Parameters
    ----------
    q : (..., 7) array
        Position [m] and quaternion (x, y, z, w), the latter normalised if within 1e-6 of unit length.

    Returns
    -------
    (..., 4, 4) array [m]

    Raises
    ------
    InputError
        If there are not seven finite numbers, or the quaternion is not of unit length.
    """
    q = _array(q, (7,), "the pose")
    turn = q[..., 3:]
    length = np.sqrt(_dot(turn, turn))[..., None]
    if np.abs(length - 1).max(initial=0) > UNIT_TOLERANCE:
        raise InputError(
            "the pose has a quaternion (x, y, z, w) that is not of unit length; divide it by its length. "
            "A pose is (position, quaternion)"
        )
    return SE3._matrix(_rotation_of_quaternion(turn / length), q[..., :3])


def pose_from_matrix(g: ArrayLike) -> np.ndarray:
    """Return position [m] and quaternion (x, y, z, w), w >= 0, (..., 7), of elements g (..., 4, 4) of SE(3).

    Raises
    ------
    InputError
        If a matrix is not of SE(3).
    """
    R, p = SE3._pose(g, "the matrix")
    return np.concatenate((p, _quaternion_of_rotation(R)), axis=-1)


# ---- maps -----------------------------------------------------------------------------------------------
#
# A family has the equations of one map of se(3): the rotation R(w), the position p = B(w) v, and the blocks of
#
#     dtau = [[J, 0], [D, K]],   dtau^-1 = [[J', 0], [L, K']],   d(dtau^-T (m, f))/d(w, v) = [[E, F], [G, 0]].


class _Family(Protocol):
    """The equations of one map."""

    reach: float

    def rotation(self, w: np.ndarray) -> np.ndarray: ...
    def rotation_log(self, R: np.ndarray) -> np.ndarray: ...
    def shift(self, w: np.ndarray) -> np.ndarray: ...
    def shift_inv(self, w: np.ndarray) -> np.ndarray: ...
    def tangent(self, w: np.ndarray, v: np.ndarray) -> Blocks: ...
    def tangent_inv(self, w: np.ndarray, v: np.ndarray) -> Blocks: ...
    def slope(self, w: np.ndarray, v: np.ndarray, m: np.ndarray, f: np.ndarray) -> Blocks: ...


class _Cayley:
    """(1 - X/2)^-1 (1 + X/2) of the matrices X."""

    reach = np.pi

    def rotation(self, w: np.ndarray) -> np.ndarray:
        k = 4 / (4 + _dot(w, w))
        return _isotropic(w, 2 * k - 1, k, k / 2)

    def rotation_log(self, R: np.ndarray) -> np.ndarray:
        q = _quaternion_of_rotation(R)
        if (q[..., 3] < UNIT_TOLERANCE).any():
            raise InputError("the Cayley maps reach rotations of less than pi [rad], not of pi; take the map exp")
        w: np.ndarray = 2 * q[..., :3] / q[..., 3:]
        return w

    def shift(self, w: np.ndarray) -> np.ndarray:
        k = 4 / (4 + _dot(w, w))
        return _isotropic(w, k, k / 2, k / 4)

    def shift_inv(self, w: np.ndarray) -> np.ndarray:
        return _isotropic(w, 1, -1 / 2, 0)

    def tangent(self, w: np.ndarray, v: np.ndarray) -> Blocks:
        k = 4 / (4 + _dot(w, w))
        J = _isotropic(w, k, k / 2, 0)
        return J, hat(v) @ J / 2, self.shift(w)

    def tangent_inv(self, w: np.ndarray, v: np.ndarray) -> Blocks:
        K = self.shift_inv(w)
        return _isotropic(w, 1, -1 / 2, 1 / 4), -K @ hat(v) / 2, K

    def slope(self, w: np.ndarray, v: np.ndarray, m: np.ndarray, f: np.ndarray) -> Blocks:
        F = -hat(f + _cross(w, f) / 2) / 2
        return _slope(w, m, (1, 0, 0), (1 / 4, 0, 0)) - hat(v) @ hat(f) / 4, F, -hat(f) / 2


class _DualCayley(_Cayley):
    """(1 - ad/2)^-1 (1 + ad/2) is Ad of it.

    The tangents of this and the next two are functions of ad: J is one of hat(w), and D the derivative of J along v.
    """

    def forward(self, s: np.ndarray) -> tuple[Coefficients, Coefficients]:
        """(a, b, c) and (a1, b1, c1) of J."""
        k = 4 / (4 + s)
        return (k, k / 2, 0), (-k * k / 2, -k * k / 4, 0)

    def backward(self, s: np.ndarray) -> tuple[Coefficients, Coefficients]:
        """(a, a1, a2) and (c, c1, c2) of J^-1, which has b = -1/2."""
        return (1, 0, 0), (1 / 4, 0, 0)

    def shift(self, w: np.ndarray) -> np.ndarray:
        return _isotropic(w, *self.forward(_dot(w, w))[0])

    def shift_inv(self, w: np.ndarray) -> np.ndarray:
        (a, _, _), (c, _, _) = self.backward(_dot(w, w))
        return _isotropic(w, a, -1 / 2, c)

    def tangent(self, w: np.ndarray, v: np.ndarray) -> Blocks:
        abc, abc1 = self.forward(_dot(w, w))
        J = _isotropic(w, *abc)
        return J, _isotropic_along(w, v, abc, abc1), J

    def tangent_inv(self, w: np.ndarray, v: np.ndarray) -> Blocks:
        (a, a1, _), (c, c1, _) = self.backward(_dot(w, w))
        J = _isotropic(w, a, -1 / 2, c)
        return J, _isotropic_along(w, v, (a, -1 / 2, c), (a1, 0, c1)), J

    def slope(self, w: np.ndarray, v: np.ndarray, m: np.ndarray, f: np.ndarray) -> Blocks:
        a, c = self.backward(_dot(w, w))
        F = _slope(w, f, a, c)
        return _slope(w, m, a, c) + _slope_along(w, v, f, a, c), F, F


class _Exp(_DualCayley):
    """The exponential."""

    def rotation(self, w: np.ndarray) -> np.ndarray:
        cos, A, beta, *_ = _exp_coefficients(_dot(w, w))
        return _isotropic(w, cos, A, beta)

    def rotation_log(self, R: np.ndarray) -> np.ndarray:
        q = _quaternion_of_rotation(R)
        n = np.sqrt(_dot(q[..., :3], q[..., :3]))
        w: np.ndarray = q[..., :3] * _column(np.where(n > 0, 2 * np.arctan2(n, q[..., 3]) / np.where(n > 0, n, 1), 2))
        return w

    def forward(self, s: np.ndarray) -> tuple[Coefficients, Coefficients]:
        _, A, beta, delta, beta1, delta1 = _exp_coefficients(s)
        return (A, beta, delta), (-2 * delta - s * delta1, beta1, delta1)

    def backward(self, s: np.ndarray) -> tuple[Coefficients, Coefficients]:
        if (s.real >= 4 * np.pi**2).any():
            theta = np.sqrt(s.real.max())
            raise InputError(
                f"the inverse tangent of exp needs a rotation of less than 2 pi [rad], not {theta:.6g}; "
                "take shorter steps"
            )
        gamma, gamma1, gamma2 = _log_coefficients(s)
        return (1 - s * gamma, -2 * gamma - s * gamma1, -4 * gamma1 - s * gamma2), (gamma, gamma1, gamma2)


class _Trapezoidal(_DualCayley):
    """The dual Cayley map, with 1 - ad/2 for its inverse tangent."""

    def forward(self, s: np.ndarray) -> tuple[Coefficients, Coefficients]:
        k = 4 / (4 + s)
        return (k, k / 2, k / 4), (-k * k / 2, -k * k / 4, -k * k / 8)

    def backward(self, s: np.ndarray) -> tuple[Coefficients, Coefficients]:
        return (1, 0, 0), (0, 0, 0)

    def shift(self, w: np.ndarray) -> np.ndarray:
        return _DUAL_CAYLEY.shift(w)

    def shift_inv(self, w: np.ndarray) -> np.ndarray:
        return _DUAL_CAYLEY.shift_inv(w)


class _SecondKind:
    """exp(w_x e_1) exp(w_y e_2) exp(w_z e_3), then the shift by v."""

    reach = np.pi / 2

    def turns(self, w: np.ndarray) -> list[np.ndarray]:
        """The three rotations."""
        cos, sin = np.cos(w), np.sin(w)
        return [_isotropic(np.eye(3)[k], cos[..., k], sin[..., k], 1 - cos[..., k]) for k in range(3)]

    def rotation(self, w: np.ndarray) -> np.ndarray:
        X, Y, Z = self.turns(w)
        R: np.ndarray = X @ Y @ Z
        return R

    def rotation_log(self, R: np.ndarray) -> np.ndarray:
        w = np.empty(R.shape[:-1], R.dtype)
        w[..., 0] = np.arctan2(-R[..., 1, 2], R[..., 2, 2])
        w[..., 1] = np.arctan2(R[..., 0, 2], np.hypot(R[..., 0, 0], R[..., 0, 1]))
        w[..., 2] = np.arctan2(-R[..., 0, 1], R[..., 0, 0])
        self.check(w)
        return w

    def check(self, w: np.ndarray) -> None:
        angle = np.abs(w[..., 1].real).max(initial=0)
        if angle > np.pi / 2 - UNIT_TOLERANCE:
            raise InputError(
                f"coordinates of the second kind need a second angle of less than pi/2 [rad], not {angle:.6g}; "
                "take the map exp"
            )

    def shift(self, w: np.ndarray) -> np.ndarray:
        return self.rotation(w)

    def shift_inv(self, w: np.ndarray) -> np.ndarray:
        return _transpose(self.rotation(w))

    def tangent(self, w: np.ndarray, v: np.ndarray) -> Blocks:
        X, Y, Z = self.turns(w)
        XY = X @ Y
        J = XY.copy()  # its second column is that of X; the first is to be e_1
        J[..., 0] = np.eye(3)[0]
        return J, 0, XY @ Z

    def tangent_inv(self, w: np.ndarray, v: np.ndarray) -> Blocks:
        self.check(w)
        X, Y, Z = self.turns(w)
        J = _transpose(X).copy()
        J[..., 2, :] /= _column(np.cos(w[..., 1]))
        J[..., 0, :] -= _column(np.sin(w[..., 1])) * J[..., 2, :]
        return J, 0, _transpose(X @ Y @ Z)

    def slope(self, w: np.ndarray, v: np.ndarray, m: np.ndarray, f: np.ndarray) -> Blocks:
        X = self.turns(w)[0]
        y = _times(_transpose(self.tangent_inv(w, v)[0]), m)
        E = np.zeros_like(_outer(w, m))
        # y = X n: X turns with the first angle, the last entry of n is (m_3 - m_1 sin)/cos of the second
        E[..., 1, 0], E[..., 2, 0] = -y[..., 2], y[..., 1]
        sin, cos = np.sin(w[..., 1]), np.cos(w[..., 1])
        E[..., 1] = X[..., 2] * _column((m[..., 2] * sin - m[..., 0]) / cos**2)
        J, _, R = self.tangent(w, v)
        return E, 0, -hat(_times(R, f)) @ J


_DUAL_CAYLEY = _DualCayley()
_FAMILIES: dict[str, _Family] = {
    "exp": _Exp(),
    "cayley": _Cayley(),
    "dual-cayley": _DUAL_CAYLEY,
    "second-kind": _SecondKind(),
    "trapezoidal": _Trapezoidal(),
}


class Map:
    """A map from an algebra to its group, with its right-trivialised tangent; made by :class:`Group`.

    Attributes
    ----------
    group : Group
    name : str
    reach : float
        Every element that turns by less than this [rad] has a ``log``.

    Notes
    -----
    Arguments of the methods, numbers without units but for angles [rad], are

    x : (..., dim) array
        Coordinates of the algebra.
    g : (..., size, size) array
        Elements of the group.
    mu : (..., dim) array
        Momenta or wrenches.

    All methods raise an InputError for a wrong shape, for numbers that are not finite, and where the map does not
    reach.
    """

    def __init__(self, group: Group, name: str, family: _Family):
        self.group, self.name, self._family = group, name, family
        # the plane has one angle, so the limit of a second angle does not matter
        self.reach: float = np.pi if group is SE2 else family.reach

    def tau(self, x: ArrayLike) -> np.ndarray:
        """Return the element (..., size, size) of the group."""
        w, v = self.group._twist(x)
        return self.group._matrix(self._family.rotation(w), _times(self._family.shift(w), v))

    def log(self, g: ArrayLike) -> np.ndarray:
        """Return x (..., dim) such that tau(x) = g; real numbers only."""
        R, p = self.group._pose(g, "the matrix")
        if np.iscomplexobj(R):
            raise InputError("log needs real matrices, not complex ones")
        w = self._family.rotation_log(R)
        return np.concatenate((w, _times(self._family.shift_inv(w), p)), axis=-1)[..., self.group._rows]

    def dtau(self, x: ArrayLike) -> np.ndarray:
        """Return the tangent (..., dim, dim): d/dt tau(x) = hat(dtau(x) dx/dt) tau(x)."""
        J, D, K = self._family.tangent(*self.group._twist(x))
        return self.group._restrict(_blocks(J, 0, D, K))

    def dtau_inv(self, x: ArrayLike) -> np.ndarray:
        """Return the inverse (..., dim, dim) of ``dtau(x)``."""
        J, L, K = self._family.tangent_inv(*self.group._twist(x))
        return self.group._restrict(_blocks(J, 0, L, K))

    def dtau_inv_transposed(self, x: ArrayLike, mu: ArrayLike) -> np.ndarray:
        """Return dtau_inv(x)^T mu, (..., dim)."""
        mu = _array(mu, (self.group.dim,), "mu")
        J = self.dtau_inv(x)
        _require_alike(J[..., 0], mu)
        return _times(_transpose(J), mu)

    def dtau_inv_slope(self, x: ArrayLike, mu: ArrayLike) -> np.ndarray:
        """Return the derivative (..., dim, dim) of dtau_inv(x)^T mu by x, mu held."""
        w, v = self.group._twist(x)
        m, f = self.group._twist(mu, "mu")
        _require_alike(w, m)
        E, F, G = self._family.slope(w, v, m, f)
        return self.group._restrict(_blocks(E, F, G, 0))

    def __repr__(self) -> str:
        return f"<vitree.lie.Map {self.name!r} of {self.group.name}>"


class _Maps(dict[str, Map]):
    def __missing__(self, name: str) -> NoReturn:
        raise UnknownNameError("map", name, self)


class Group:
    """SO(3), SE(2) or SE(3): matrices, and the coordinates x of their algebra.

    The groups are ``SO3``, ``SE2`` and ``SE3``, made by this module; there are no others.

    Attributes
    ----------
    name : str
    dim, size : int
        Dimension of the group, and rows of its matrices.
    maps : dict of str to Map

    Notes
    -----
    Arguments of the methods, numbers without units but for angles [rad], are

    x : (..., dim) array
        Coordinates of the algebra.
    X : (..., size, size) array
        Matrices of the algebra.
    g : (..., size, size) array
        Elements of the group.

    All methods raise an InputError for a wrong shape, for numbers that are not finite, and for matrices off the group
    or the algebra by more than 1e-6; within that, elements are made exact.
    """

    def __init__(self, name: str, rows: slice, axes: tuple[int, ...]):
        self.name = name
        self._rows = rows
        one, two = np.ix_(axes, axes)
        self._block = ..., one, two
        self.dim, self.size = rows.stop - rows.start, len(axes)
        self.maps: dict[str, Map] = _Maps()

    def identity(self) -> np.ndarray:
        """Return the identity (size, size)."""
        return np.eye(self.size)

    def hat(self, x: ArrayLike) -> np.ndarray:
        """Return the matrices (..., size, size) of x."""
        w, v = self._twist(x)
        return self._matrix(hat(w), v, 0)

    def vee(self, X: ArrayLike) -> np.ndarray:
        """Return x (..., dim) of matrices, the inverse of ``hat``."""
        X = _array(X, (self.size, self.size), "the matrix")
        full = self._embed(X, np.zeros((4, 4)))
        x = np.stack([full[..., i, j] for i, j in ((2, 1), (0, 2), (1, 0), (0, 3), (1, 3), (2, 3))], axis=-1)
        x = x[..., self._rows]
        defect = np.abs(self.hat(x) - X).max(initial=0)
        if defect > UNIT_TOLERANCE * max(1.0, np.abs(X).max(initial=0)):
            raise InputError(
                f"the matrix is not in the algebra of {self.name} (off by {defect:.3g}): "
                f"the angular part must be antisymmetric and the last row zero"
            )
        return x

    def Ad(self, g: ArrayLike) -> np.ndarray:
        """Return the adjoint (..., dim, dim): hat(Ad(g) x) = g hat(x) g^-1."""
        R, p = self._pose(g, "the matrix")
        return self._restrict(_blocks(R, 0, hat(p) @ R, R))

    def ad(self, x: ArrayLike) -> np.ndarray:
        """Return the matrices (..., dim, dim) of the bracket: hat(ad(x) y) = hat(x) hat(y) - hat(y) hat(x)."""
        w, v = map(hat, self._twist(x))
        return self._restrict(_blocks(w, 0, v, w))

    def inverse(self, g: ArrayLike) -> np.ndarray:
        """Return the inverse (..., size, size)."""
        R, p = self._pose(g, "the matrix")
        R = _transpose(R)
        return self._matrix(R, -_times(R, p))

    def check(self, g: ArrayLike, what: str = "the matrix") -> np.ndarray:
        """Return an element (..., size, size), made exact to round-off; ``what`` is its name in errors."""
        return self._matrix(*self._pose(g, what))

    def random(self, rng: np.random.Generator, shape: tuple[int, ...] = ()) -> np.ndarray:
        """Return elements (*shape, size, size) drawn by ``rng``.

        Rotations are uniform, positions normal with deviation 1; ``shape`` is that of the stack.
        """
        rng = generator(rng)
        sizes = [whole(n) for n in several(shape, "shape", "a tuple of whole numbers")]
        if any(n is None or n < 0 for n in sizes):
            raise InputError(f"shape is {shown(shape)}; it must be a tuple of whole numbers, none negative")
        here = np.zeros(6)
        here[self._rows] = 1
        turn = rng.standard_normal((*shape, 4)) * [*here[:3], 1]
        turn /= np.sqrt(_dot(turn, turn))[..., None]
        return self._matrix(_rotation_of_quaternion(turn), rng.standard_normal((*shape, 3)) * here[3:])

    # SE(3) and its part that is this group

    def _twist(self, x: ArrayLike, what: str = "x") -> tuple[np.ndarray, np.ndarray]:
        """(w, v) of coordinates."""
        x = _array(x, (self.dim,), what)
        full = np.zeros((*x.shape[:-1], 6), x.dtype)
        full[..., self._rows] = x
        return full[..., :3], full[..., 3:]

    def _restrict(self, M: np.ndarray) -> np.ndarray:
        return M[..., self._rows, self._rows]

    def _embed(self, g: np.ndarray, rest: np.ndarray) -> np.ndarray:
        full = np.empty((*g.shape[:-2], 4, 4), g.dtype)
        full[...] = rest
        full[self._block] = g
        return full

    def _matrix(self, R: np.ndarray, p: np.ndarray, last: float = 1) -> np.ndarray:
        full = np.zeros((*p.shape[:-1], 4, 4), np.result_type(R, p))
        full[..., :3, :3], full[..., :3, 3], full[..., 3, 3] = R, p, last
        return full[self._block]

    def _pose(self, g: ArrayLike, what: str) -> tuple[np.ndarray, np.ndarray]:
        """Rotation (..., 3, 3) and position (..., 3) of elements of the group."""
        full = self._embed(_array(g, (self.size, self.size), what), np.eye(4))
        R, p = full[..., :3, :3], full[..., :3, 3]
        error = np.abs(_transpose(R) @ R - np.eye(3)).max(initial=0)
        defect = max(error, np.abs(full[..., 3, :] - np.eye(4)[3]).max(initial=0))
        if defect > UNIT_TOLERANCE or (_dot(_cross(R[..., 0], R[..., 1]), R[..., 2]).real < 0).any():
            raise InputError(
                f"{what} is not in {self.name}: an element has a rotation R with R^T R = 1 and determinant 1"
                f"{'' if self is SO3 else ', and a last row of zeros and a 1'} (off by up to {defect:.3g})"
            )
        if error > 1e-14:
            for _ in range(2):  # Newton's iteration for the nearest rotation: errors are squared
                R = R @ (3 * np.eye(3) - _transpose(R) @ R) / 2
        return R, p


SO3 = Group("SO(3)", slice(0, 3), (0, 1, 2))
SE2 = Group("SE(2)", slice(2, 5), (0, 1, 3))
SE3 = Group("SE(3)", slice(0, 6), (0, 1, 2, 3))
for _group in (SO3, SE2, SE3):
    _group.maps.update({name: Map(_group, name, family) for name, family in _FAMILIES.items()})
