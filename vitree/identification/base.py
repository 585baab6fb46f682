"""Base parameters: the combinations of standard parameters that motions and joint forces determine."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from vitree.arguments import explain_calls, whole
from vitree.errors import ConvergenceError, InputError
from vitree.identification.regressor import (
    OF_JOINT,
    OF_LINK,
    TorqueRegressor,
    free_directions,
    require_native,
    standard_names,
    standard_parameters,
    standard_units,
)
from vitree.model.closures import satisfy_constraints
from vitree.model.model import Model

#: A column is zero, or a combination of others, below this share of the largest column, or of its own size.
NOTHING, DEPENDENT = 1e-9, 1e-7
#: Coefficients are zero below this.
ROUNDED = 1e-7
#: Rows of the regressor of random states, as a multiple of its columns, and the step of differences of constraints.
ROWS, STEP = 3, 1e-6
#: Rates and accelerations of random states are drawn with these sizes [rad/s or m/s, rad/s^2 or m/s^2].
RATES, ACCELERATIONS = 3.0, 10.0


@dataclass(frozen=True, eq=False, repr=False)
class BaseParameters:
    """The base parameters of a model; made by :func:`vitree.base_parameters`.

    Attributes
    ----------
    names : tuple of str
        The combinations (b,), such as "upper.m*cz - 0.2 lower.m".
    units : tuple of str
    standard : tuple of str
        Names (p,) of the standard parameters: mass, first moments and inertia about the link's frame of each link,
        damping, friction and armature of each joint coordinate.
    matrix : (b, p) array [units as of base parameters, per those of standard parameters]
        Base parameters are ``matrix @ standard parameters``.
    columns : (b,) array of int
        Which columns of the regressor of the standard parameters are that of the base parameters.
    unidentifiable : tuple of str
        Standard parameters that no motion shows, and that are in no combination.
    condition : float [-]
        Condition number of the base regressor at random states, its columns scaled to one length.
    """

    names: tuple[str, ...]
    units: tuple[str, ...]
    standard: tuple[str, ...]
    matrix: np.ndarray = field(repr=False)
    columns: np.ndarray = field(repr=False)
    unidentifiable: tuple[str, ...]
    condition: float

    def __len__(self) -> int:
        return len(self.names)

    def __repr__(self) -> str:
        return f"<vitree.BaseParameters: {len(self)} of {len(self.standard)} standard parameters>"

    def __str__(self) -> str:
        wide = max(map(len, self.names), default=0)
        lines = [f"{name.ljust(wide)}  {unit}" for name, unit in zip(self.names, self.units, strict=True)]
        return "\n".join([*lines, f"not identifiable: {', '.join(self.unidentifiable) or 'none'}"])

    def values(self, model: Model) -> dict[str, float]:
        """Return the base parameters of a model by name [units as in ``units``].

        Parameters
        ----------
        model : Model
            With the links and joints of the model that these base parameters are of.

        Raises
        ------
        InputError
            If its links or joints have other names.
        """
        if standard_names(require_native(model)) != self.standard:
            raise InputError(f'"{model.name}" has other links or joints than the model of these base parameters')
        return dict(zip(self.names, (self.matrix @ standard_parameters(model)).tolist(), strict=True))


@explain_calls
def base_parameters(model: Model, seed: int = 0) -> BaseParameters:
    """Return the combinations of parameters of a model that its motions and joint forces determine.

    The regressor of the standard parameters is computed at random states, and columns that depend on earlier ones
    are added to them (Gautier 1991). Links are taken from the base to the tips, their first moments and inertias
    before their masses, so that what a link cannot show by itself counts to the link that carries it.

    Parameters
    ----------
    model : Model
        Contacts and loads other than joint damping and friction are left out. Constraints hold, with their forces
        eliminated.
    seed : int
        Of the random states.

    Returns
    -------
    BaseParameters

    Raises
    ------
    InputError
        If the model has Euler angles, or the seed is none.
    ConvergenceError
        If no states are found that satisfy the constraints.

    References
    ----------
    Gautier 1991, "Numerical calculation of the base inertial parameters of robots"; Mayeda, Yoshida & Osuka 1990,
    "Base parameters of manipulator dynamic models".
    """
    rng = generator_of(seed)
    regressor = TorqueRegressor(require_native(model))
    q, v, a = random_states(model, len(regressor.names), rng)
    return of_rows(model, rows_of(model, regressor, q, v, a))


def generator_of(seed: object) -> np.random.Generator:
    """Return the generator of a seed; raise an InputError if it is none."""
    if (number := whole(seed)) is None or number < 0:
        raise InputError("seed", seed, "must be a whole number, zero or more")
    return np.random.default_rng(number)


def random_states(model: Model, columns: int, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return q (n, nq), v and a (n, nv) of random states that the constraints allow, enough for some columns."""
    nv = model.nv
    if not model.constraints:
        n = 2 + ROWS * columns // max(nv, 1)
        q = np.array([model.random_configuration(rng) for _ in range(n)])
        return q, RATES * rng.normal(size=(n, nv)), ACCELERATIONS * rng.normal(size=(n, nv))
    first = satisfy_constraints(model, model.start)
    found = [first]
    n = 2 + ROWS * columns // max(free_directions(model, first[None]).shape[2], 1)
    for _ in range(10 * n):
        if len(found) == n:
            break
        try:
            found.append(satisfy_constraints(model, model.integrate(first, rng.normal(size=nv))))
        except ConvergenceError:
            continue
    if len(found) < min(n, 3):
        raise ConvergenceError(
            f'no states of "{model.name}" beside its start satisfy its constraints; give a start that can move',
            time=np.nan, residual=np.nan, iterations=10 * n,
        )  # fmt: skip
    q, Z = np.array(found), free_directions(model, np.array(found))
    v, a = (np.einsum("nvk,nk->nv", Z, size * rng.normal(size=Z.shape[::2])) for size in (RATES, ACCELERATIONS))
    sides = [model._constraint_rows(model.integrate(q, step * v))[1] for step in (STEP, -STEP)]
    bias = np.einsum("nmv,nv->nm", (sides[0] - sides[1]) / (2 * STEP), v)
    return q, v, a - np.einsum("nvm,nm->nv", np.linalg.pinv(model._constraint_rows(q)[1]), bias)


def rows_of(model: Model, regressor: TorqueRegressor, q: np.ndarray, v: np.ndarray, a: np.ndarray) -> np.ndarray:
    """Return the rows (n k, p) of the regressor in the directions that constraints leave."""
    Y = regressor(q, v, a)
    if model.constraints:
        Y = free_directions(model, q).swapaxes(1, 2) @ Y
    return Y.reshape(-1, Y.shape[2])


def of_rows(model: Model, rows: np.ndarray) -> BaseParameters:
    """Return the base parameters that rows (m, p) of a regressor determine."""
    names, units, p = standard_names(model), standard_units(model), rows.shape[1]
    sizes = np.linalg.norm(rows, axis=0)
    shown = sizes > NOTHING * sizes.max(initial=0.0)
    directions = rows / np.where(shown, sizes, 1.0)
    basis = np.empty((rows.shape[0], 0))
    kept: list[int] = []
    for k in [k for k in _order(names) if shown[k]]:
        left = directions[:, k]
        for _ in range(2):  # twice is enough
            left = left - basis @ (basis.T @ left)
        size = float(np.linalg.norm(left))
        if size > DEPENDENT:
            basis, kept = np.column_stack((basis, left / size)), [*kept, k]
    matrix = np.zeros((len(kept), p))
    if kept:
        share = np.linalg.lstsq(directions[:, kept], directions, rcond=None)[0]
        share = np.where(np.abs(share) > ROUNDED, share, 0.0)
        matrix[:] = share * np.where(shown, sizes, 0.0) / sizes[kept][:, None]
        matrix[:, kept] = np.eye(len(kept))
    singular = np.linalg.svd(directions[:, kept], compute_uv=False)
    return BaseParameters(
        names=tuple(_combination(row, k, names) for row, k in zip(matrix, kept, strict=True)),
        units=tuple(units[k] for k in kept),
        standard=names,
        matrix=matrix,
        columns=np.array(kept, dtype=int),
        unidentifiable=tuple(name for name, there in zip(names, shown, strict=True) if not there),
        condition=float(singular[0] / singular[-1]) if kept else np.nan,
    )


def _order(names: tuple[str, ...]) -> list[int]:
    """The columns in the order in which they are kept: a link's mass behind its first moments and inertia."""
    size, links = len(OF_LINK), sum(name.rpartition(".")[2] not in OF_JOINT for name in names)
    first = [k for at in range(0, links, size) for k in (*range(at + 1, at + size), at)]
    return [*first, *range(links, len(names))]


def _combination(row: np.ndarray, own: int, names: tuple[str, ...]) -> str:
    text = names[own]
    for k in np.flatnonzero(row):
        if k != own:
            size = f"{abs(row[k]):.4g}"
            text += (" + " if row[k] > 0 else " - ") + ("" if size == "1" else size + " ") + names[k]
    return text
