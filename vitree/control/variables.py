"""The variables of a problem: where each stands, its bounds, and whether it is free."""

from __future__ import annotations

import numpy as np

from vitree.control.dynamics import Dynamics
from vitree.errors import InputError


class Variables:
    """All variables of a motion of N steps, node by node, so that Jacobians are banded.

    A node holds the configuration and, but for the last, the velocity and inputs of the interval that it begins. After
    the nodes stand the velocities at both ends, and the duration. The index arrays say where each variable stands.

    Parameters
    ----------
    vehicle : Dynamics
        Gives the names.
    steps : int
        Intervals N.

    Attributes
    ----------
    q : (N + 1, nq) int array
        Configurations, at the nodes.
    v, u : (N, nv) and (N, nu) int arrays
        Velocities and inputs, of the intervals.
    v_ends : (2, nv) int array
        Velocities at the start and at the goal.
    duration : int
    intervals : (N, 1 + nq + nv + nu) int array
        Of each interval: duration, configuration at its start, velocity, inputs.
    lower, upper : (n,) arrays
        Bounds, in units of the motion. They agree for a variable that is given.
    strict : (n,) bool array
        Whether a variable must stay within its bounds at all times, because there are no equations beyond them.
    """

    def __init__(self, vehicle: Dynamics, steps: int):
        self.vehicle, self.steps = vehicle, steps
        nq, nv, nu = (len(names) for names in (vehicle.q_names, vehicle.v_names, vehicle.input_names))
        width = nq + nv + nu
        nodes = np.arange(steps * width).reshape(steps, width)
        ends = np.arange(steps * width, steps * width + nq + 2 * nv + 1)
        last, starting, ending, duration = np.split(ends, np.cumsum([nq, nv, nv]))
        self.duration = int(duration[0])
        self.q = np.concatenate((nodes[:, :nq], last[None]))
        self.v, self.u = nodes[:, nq : nq + nv], nodes[:, nq + nv :]
        self.v_ends = np.stack((starting, ending))
        self.intervals = np.concatenate((np.full((steps, 1), self.duration), nodes), axis=1)
        self._cuts = np.cumsum([1, nq, nv])
        self.size = self.duration + 1
        self.lower, self.upper = np.full(self.size, -np.inf), np.full(self.size, np.inf)
        self.strict = np.zeros(self.size, dtype=bool)

    @property
    def free(self) -> np.ndarray:
        """Whether a variable is the optimiser's to choose, (n,) bool; the others are given."""
        return self.lower < self.upper

    @property
    def given(self) -> np.ndarray:
        """The values of the variables that are given, (n,) in units of the motion; zero of the others."""
        return np.where(self.lower == self.upper, self.lower, 0.0)

    @property
    def by_name(self) -> dict[str, np.ndarray]:
        """The index array (n,) of each coordinate, velocity and input over the nodes or intervals."""
        return {name: index[:, i] for index, names in self._kinds for i, name in enumerate(names)}

    @property
    def _kinds(self) -> tuple[tuple[np.ndarray, tuple[str, ...]], ...]:
        vehicle = self.vehicle
        return (self.q, vehicle.q_names), (self.v, vehicle.v_names), (self.u, vehicle.input_names)

    def bound(self, index, lower, upper) -> None:
        """Set the bounds of variables."""
        self.lower[index], self.upper[index] = lower, upper

    def give(self, index, values) -> None:
        """Set the values of variables, which are then no longer free."""
        self.bound(index, values, values)

    def restrict(self, index: np.ndarray, largest: float) -> None:
        """Keep variables within ``largest`` on both sides; where that is narrower than their bounds, strictly."""
        self.strict[index] = (self.lower[index] < -largest) | (self.upper[index] > largest)
        self.lower[index] = np.maximum(self.lower[index], -largest)
        self.upper[index] = np.minimum(self.upper[index], largest)

    def require_within(self, index: np.ndarray, q: np.ndarray, what: str) -> None:
        """Raise an InputError if a configuration (nq,) is outside the bounds of its variables."""
        for i, name, value in zip(index, self.vehicle.q_names, q, strict=True):
            if value < self.lower[i] or value > self.upper[i]:
                raise InputError(
                    f"{what} has {name} = {value:g}, outside its bounds {self.lower[i]:g} and {self.upper[i]:g}; "
                    "move it inside, or widen the bounds"
                )

    def sample(self, index: np.ndarray) -> np.ndarray:
        """Return some values within the bounds, in the shape of the index."""
        return np.clip(0.5, self.lower[index], self.upper[index])

    def split(self, z: np.ndarray) -> list[np.ndarray]:
        """Split the variables of an interval into duration, q, v and u, along the last axis."""
        return np.split(z, self._cuts, axis=-1)

    def name(self, i: int) -> str:
        """Return the name of a variable, for messages."""
        if i == self.duration:
            return "the duration"
        for index, names in self._kinds:
            for k, j in np.argwhere(index == i):
                return f"{names[j]} at step {k}"
        return f"{self.vehicle.v_names[int(np.argwhere(self.v_ends == i)[0, 1])]} at the goal"
