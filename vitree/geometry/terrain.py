"""Height fields: smooth surfaces z = H(x, y) through heights on a grid."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np

from vitree.arguments import Asked, all_finite, as_numbers, shown, whole
from vitree.errors import ModelError
from vitree.geometry.numbers import positive
from vitree.spatial.checks import frozen, triple

#: Most corrections of a nearest point, the least determinant of one by the second derivatives, and the correction
#: [spacings] that leaves an error of its square.
PASSES, CONVEX, STEP = 30, 0.01, 1e-8


@dataclass(frozen=True, eq=False)
class HeightField:
    """A ground z = H(x, y): the natural cubic spline through heights on a grid, twice differentiable.

    Beyond the grid it goes on with the slope of its edge. Planes are exact, sloped ones too. Between steep steps of the
    heights a spline swings over: give heights of a smooth ground, or finer ones.

    Parameters
    ----------
    heights : (nx, ny) array or callable [m]
        ``heights[i, j]`` is at x = origin_x + i spacing_x, y = origin_y + j spacing_y; at least two of each. A callable
        is asked ``heights(x, y)`` at each point [m].
    spacing : float or 2 floats [m]
        Distance of neighbours along x and y.
    origin : (3,) array [m]
        Place of ``heights[0, 0]`` in the world; its z is added to all heights.
    shape : 2 int, optional
        (nx, ny), where the heights are a callable.

    Raises
    ------
    ModelError
        If the heights are no grid of finite numbers, or a spacing is not positive.
    CallableError
        If the callable raises, or returns no finite number.

    Notes
    -----
    With u = (x - origin_x)/spacing_x, i = floor(u) within 0 and nx - 2, t = u - i, and the same along y, H is
    origin_z + the sum of w_k(t) w_l(s) coefficients[i + k, j + l] over k, l = 0 ... 3, w the weights of
    ``vitree.geometry.terrain.weights``.

    References
    ----------
    de Boor 1978, "A practical guide to splines".
    """

    heights: Any
    spacing: Any = 1.0
    origin: tuple[float, float, float] = (0.0, 0.0, 0.0)
    shape: Any = None

    def __post_init__(self) -> None:
        spacing = np.broadcast_to(_row(self.spacing, (1, 2), "spacing of the height field"), 2).tolist()
        object.__setattr__(self, "spacing", tuple(positive(x, "spacing of the height field") for x in spacing))
        object.__setattr__(self, "origin", tuple(triple(self.origin, "origin of the height field")))
        z = self._asked() if callable(self.heights) else _grid(self.heights)
        if self.shape is not None and _two(self.shape) != z.shape:
            raise ModelError(f"shape of the height field is {shown(self.shape)}; its heights have shape {z.shape}")
        object.__setattr__(self, "shape", z.shape)
        object.__setattr__(self, "heights", frozen(np.array(z)))
        object.__setattr__(self, "_coefficients", frozen(_coefficients(_coefficients(z).T).T.copy()))

    def _asked(self) -> np.ndarray:
        shape = None if self.shape is None else _two(self.shape)
        if shape is None or min(shape) < 2:
            raise ModelError(f"shape of the height field is {shown(self.shape)}; for heights that are a function give "
                             "the number of points along x and y, such as (50, 50)")  # fmt: skip
        ask = Asked(self.heights, "heights", "(x, y)", (), timed=False)
        x, y = (o + d * np.arange(n) for o, d, n in zip(self.origin, self.spacing, shape, strict=False))
        return np.array([[float(ask(a, b)) for b in y.tolist()] for a in x.tolist()])

    def __setstate__(self, state: dict[str, object]) -> None:
        vars(self).update({name: frozen(value) for name, value in state.items()})

    @property
    def coefficients(self) -> np.ndarray:
        """Coefficients (nx + 2, ny + 2) [m] of the uniform cubic B-splines; see Notes."""
        found: np.ndarray = vars(self)["_coefficients"]
        return found

    def _key(self) -> tuple[object, ...]:
        return self.heights.tobytes(), self.shape, self.spacing, self.origin

    def __eq__(self, other: object) -> bool:
        return isinstance(other, HeightField) and self._key() == other._key()

    def __hash__(self) -> int:
        return hash(self._key())

    def __repr__(self) -> str:
        return f"HeightField({self.shape[0]} x {self.shape[1]} heights, spacing={self.spacing}, origin={self.origin})"

    def height(self, x: float, y: float) -> float:
        """Return H(x, y) [m] at a place ``x``, ``y`` [m] of the world."""
        return self.height_and_slope(x, y)[0]

    def height_and_slope(self, x: float, y: float) -> tuple[float, float, float]:
        """Return H(x, y) [m] and its derivatives by x and y [-] at a place ``x``, ``y`` [m] of the world."""
        z, by_x, by_y = self.heights_and_slopes(np.array([[x, y]], dtype=float))[0].tolist()
        return z, by_x, by_y

    def heights_and_slopes(self, at: np.ndarray) -> np.ndarray:
        """Return H [m] and its derivatives by x and y [-], (n, 3), ``at`` places (n, 2) [m] of the world."""
        return self._derivatives(at, ((0, 0), (1, 0), (0, 1)))

    def _derivatives(self, at: np.ndarray, orders: Iterable[tuple[int, int]]) -> np.ndarray:
        """Return derivatives of H by x and y, of so many times, (n, k)."""
        u = (np.asarray(at, dtype=float) - self.origin[:2]) / self.spacing
        (i, *wx), (j, *wy) = (weights(u[:, k], self.shape[k]) for k in (0, 1))
        four = np.arange(4)
        C = self.coefficients[(i[:, None] + four)[:, :, None], (j[:, None] + four)[:, None]]
        rows = []
        for a, b in orders:
            row = np.einsum("kn,nkl,ln->n", wx[a], C, wy[b]) / (self.spacing[0] ** a * self.spacing[1] ** b)
            rows.append(row if a or b else row + self.origin[2])
        return np.column_stack(rows)

    def _nearest(self, c: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Return the points of the surface nearest to points c (n, 3), the normals there, and whether they were found.

        By Newton's method from the points below, as ``nearest_on_field`` of the core.
        """
        at = c[:, :2].copy()
        found = np.zeros(len(c), bool)
        for _ in range(PASSES):
            z, hx, hy, xx, xy, yy = self._derivatives(at, ((0, 0), (1, 0), (0, 1), (2, 0), (1, 1), (0, 2))).T
            g = z - c[:, 2]
            rx, ry = at[:, 0] - c[:, 0] + g * hx, at[:, 1] - c[:, 1] + g * hy
            first = np.array([1 + hx**2, hx * hy, 1 + hy**2])
            whole = first + g * np.array([xx, xy, yy])
            convex = (whole[0] > 0) & (whole[0] * whole[2] - whole[1] ** 2 > CONVEX)
            a, b, d = np.where(convex, whole, first)
            step = np.column_stack([b * ry - d * rx, b * rx - a * ry]) / (a * d - b * b)[:, None]
            at[~found] += step[~found]
            found |= (np.abs(step) <= np.array(self.spacing) * STEP).all(axis=1)
            if found.all():
                break
        z = self.heights_and_slopes(at)
        return np.column_stack([at, z[:, 0]]), normals(z[:, 1:]), found


def normals(slopes: np.ndarray) -> np.ndarray:
    """Return the unit normals (n, 3) of surfaces z = H(x, y), upwards, by their slopes (n, 2)."""
    n = np.column_stack([-slopes, np.ones(len(slopes))])
    found: np.ndarray = n / np.linalg.norm(n, axis=1)[:, None]
    return found


def weights(u: np.ndarray, count: int) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Return the first coefficient, the weights of four (4,), and their first and second derivatives by u; of n places
    (4, n).

    Parameters
    ----------
    u : () or (n,) array
        Place in units of the spacing, from 0 to count - 1 within the grid.
    count : int
        Heights along the axis.
    """
    inner = np.clip(u, 0.0, count - 1.0)
    i = np.minimum(inner.astype(int), count - 2)
    t = inner - i
    s = 1.0 - t
    w = np.array([s**3, 3 * t**3 - 6 * t**2 + 4, 3 * s**3 - 6 * s**2 + 4, t**3]) / 6
    d = np.array([-(s**2), 3 * t**2 - 4 * t, -(3 * s**2 - 4 * s), t**2]) / 2
    return i, w + (u - inner) * d, d, np.array([s, 3 * t - 2, 3 * s - 2, t]) * (u == inner)


def _coefficients(z: np.ndarray) -> np.ndarray:
    """Coefficients (n + 2, m) of the natural cubic splines through the columns of z (n, m)."""
    from scipy.linalg import solve_banded

    n = len(z)
    c = np.array(z, dtype=float)
    if n > 2:  # c[i-1] + 4 c[i] + c[i+1] = 6 z[i] between the ends, c = z at both
        bands = np.ones((3, n - 2))
        bands[1] = 4.0
        right = 6.0 * z[1:-1]
        right[0] -= z[0]
        right[-1] -= z[-1]
        c[1:-1] = solve_banded((1, 1), bands, right) if n > 3 else right / 4.0
    return np.concatenate([2 * c[:1] - c[1:2], c, 2 * c[-1:] - c[-2:-1]])


def _grid(heights: object) -> np.ndarray:
    try:
        z = as_numbers(heights)
    except TypeError as error:
        raise ModelError(f"the heights of the height field have {error}; give an array (nx, ny)") from None
    if z.ndim != 2 or min(z.shape) < 2:
        raise ModelError(f"the heights of the height field have shape {z.shape}; give an array (nx, ny), at least "
                         "(2, 2)")  # fmt: skip
    if not all_finite(z):
        raise ModelError("the heights of the height field must be finite; fill holes before")
    return z


def _row(value: object, sizes: tuple[int, ...], what: str) -> np.ndarray:
    try:
        x = np.atleast_1d(as_numbers(value))
    except TypeError as error:
        raise ModelError(f"the {what} has {error}") from None
    if x.ndim != 1 or len(x) not in sizes:
        raise ModelError(f"the {what} is {shown(value)}; it must be one or two numbers")
    return x


def _two(shape: Iterable[object]) -> tuple[int, int] | None:
    try:
        x, y = map(whole, shape)
    except (TypeError, ValueError):
        return None
    return None if x is None or y is None else (x, y)
