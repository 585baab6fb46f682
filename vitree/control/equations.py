"""The constraints of a problem, row by row: steps of the vehicle, obstacles, limits."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from vitree.arguments import numbers_of, real, several, shown
from vitree.control.dynamics import Dynamics
from vitree.control.terms import Function, Term
from vitree.errors import InputError


class Label(NamedTuple):
    """The name of a block of rows, a row of it for each step from ``first`` on."""

    rows: np.ndarray
    name: str
    first: int


class Equations:
    """Terms that share rows of ``variables``; each row is a constraint between a lower and an upper bound.

    Attributes
    ----------
    terms : list of Term
    labels : list of Label
    count : int
        Rows so far.
    """

    def __init__(self, variables: Any):
        self.variables = variables
        self.terms: list[Term] = []
        self.labels: list[Label] = []
        self.count = 0
        self._bounds: list[np.ndarray] = []

    @property
    def bounds(self) -> np.ndarray:
        """The lower and the upper bounds of the rows, (2, m)."""
        return np.concatenate(self._bounds, axis=1)

    def rows(self, name: str, shape: tuple[int, int], limits=(0.0, 0.0), first: int = 0) -> np.ndarray:
        """Return a new block of rows, of that shape; the limits are those of all of them, or of each."""
        rows = self.count + np.arange(shape[0] * shape[1]).reshape(shape)
        self.count += rows.size
        self.labels.append(Label(rows, name, first))
        self._bounds.append(np.broadcast_to(np.array(limits, dtype=float).reshape(2, -1), (2, rows.size)))
        return rows

    def add(self, name: str, function: Function, index: np.ndarray, limits, first: int = 0) -> None:
        """Add the constraint that a function of the variables at each row of an index is between two limits."""
        if not limits[0] <= limits[1]:
            raise InputError(f"{name} has the bounds {limits[0]} and {limits[1]}; give a lower and an upper bound")
        width = function(np.zeros(index.shape) + self.variables.sample(index)).shape[-1]
        self.terms.append(Term(name, function, index, self.rows(name, (len(index), width), limits, first)))


def add_dynamics(equations: Equations, vehicle: Dynamics) -> int:
    """Add the vehicle's steps (see ``vitree.control.dynamics``), and return how many terms hold the inputs.

    The balance of momentum at node k is p_k of the step that begins there less p_k of the step that ends there.
    """
    variables = equations.variables
    N, shares = variables.steps, np.arange(variables.steps + 1) / variables.steps
    nq, nv = len(vehicle.q_names), len(vehicle.v_names)
    balance, motion = equations.rows("dynamics", (N + 1, nv)), equations.rows("reconstruction", (N, nq))
    start, end = variables.q[:-1], variables.q[1:]

    def add_steps(name, q, rows, sign, share=None):
        """Add one of the vehicle's functions, of the variables that it depends on; ``share`` is the time of a force."""
        function, used = getattr(vehicle, name), vehicle.looks_at.get(name, "qvu")
        all_parts = {"q": q, "v": variables.v, "u": variables.u}
        parts = [index if key in used else index[:, :0] for key, index in all_parts.items()]
        cuts = np.cumsum([1, *(part.shape[1] for part in parts[:-1])])

        def value(z):
            T, *rest = np.split(z, cuts, axis=-1)
            h = T[..., 0] / N
            if share is None:
                return sign * function(h, *rest)
            return sign * h[..., None] * function(T[..., 0] * share, *rest)

        index = np.concatenate((variables.intervals[:, :1], *parts), axis=1)
        equations.terms.append(Term(f"the vehicle's {name}", value, index, rows))

    def add_end(name, q, v, rows, sign):
        """Add the momentum at one end of the motion."""

        def value(z):
            return sign * vehicle.momentum(z[..., :nq], z[..., nq:])

        equations.terms.append(Term(name, value, np.concatenate((q, v))[None], rows))

    add_steps("before", start, balance[:-1], 1)
    add_steps("force", start, balance[:-1], -1 / 2, shares[:-1])
    add_steps("after", end, balance[1:], -1)
    add_steps("force", end, balance[1:], -1 / 2, shares[1:])
    add_end("momentum at the start", variables.q[0], variables.v_ends[0], balance[:1], -1)
    add_end("momentum at the goal", variables.q[N], variables.v_ends[1], balance[-1:], 1)
    count = len(equations.terms)
    add_steps("advance", start, motion, -1)
    equations.terms.append(Term("reconstruction", lambda z: z, end.reshape(-1, 1), motion.reshape(-1, 1)))
    return count


def add_obstacles(equations: Equations, vehicle: Dynamics, obstacles, radius: float, points, ends) -> None:
    """Add the clearances between obstacles and balls of a radius about the vehicle's points, at the nodes.

    ``ends`` are the configurations at the start and at the goal. A given pose cannot change: it is checked at once, and
    gets no rows.
    """
    variables, size = equations.variables, vehicle.group.size - 1
    points = np.zeros((1, size)) if points is None else numbers_of(points, "points")
    if points.ndim != 2 or points.shape[1] != size or not np.isfinite(points).all():
        raise InputError(f"points has the shape {points.shape}; it must be (P, {size})")
    if not 0 <= real(radius) < np.inf:
        raise InputError(f"the radius is {shown(radius)}; it must be a length [m], zero or more")
    radius, obstacles = real(radius), several(obstacles, "obstacles", "a sequence of obstacles")
    if not all(map(callable, obstacles)):
        raise InputError(f"obstacles are {shown(obstacles)}; each must be a callable, such as a SphereObstacle")

    def clearance(distance: Callable[[np.ndarray], np.ndarray]) -> Function:
        def value(q):
            g = vehicle.pose(q)[..., None, :, :]
            at = (g[..., :-1, :-1] @ points[:, :, None])[..., 0] + g[..., :-1, -1]
            flat = np.zeros((*at.shape[:-1], 3 - size), at.dtype)
            return distance(np.concatenate((at, flat), axis=-1)) - radius

        return value

    given = [np.isfinite(vehicle.pose(q)).all() for q in ends]
    nodes = variables.q[1:-1] if given[1] else variables.q[1:]
    for k, obstacle in enumerate(obstacles):
        name = f'obstacle "{getattr(obstacle, "name", getattr(obstacle, "__name__", k))}"'
        function = clearance(obstacle)
        for q, what, known in zip(ends, ("start", "goal"), given, strict=True):
            nearest = function(q[None]).min() if known else 0.0
            if nearest < -1e-9:
                raise InputError(f"the {what} is inside {name}, {-nearest:.3g} m deep; move it out, or lower radius=")
        equations.add(name, function, nodes, (0.0, np.inf), 1)
