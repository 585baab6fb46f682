"""Plan: a motion with its controls, the solution of an optimal control problem."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from vitree.arguments import numbers_of, several
from vitree.errors import InputError, UnknownNameError


@dataclass(frozen=True, eq=False)
class Plan:
    """A motion with its controls.

    ``plan[name]`` is one configuration coordinate, velocity or input over time.

    Attributes
    ----------
    t : (N + 1,) array [s]
    q : (N + 1, nq) array [m or rad]
        Configurations at the nodes.
    v : (N, nv) array [m/s or rad/s]
        The integrator's velocities of the intervals between nodes.
    u : (N, nu) array
        Inputs, constant over each interval, in units of the vehicle's.
    v_ends : (2, nv) array [m/s or rad/s]
        Velocities at the first and last node.
    q_names, v_names, input_names : tuple of str

    Raises
    ------
    InputError
        If an array has other than numbers, or another number of axes.
    """

    t: np.ndarray
    q: np.ndarray
    v: np.ndarray
    u: np.ndarray
    v_ends: np.ndarray
    q_names: tuple[str, ...]
    v_names: tuple[str, ...]
    input_names: tuple[str, ...]

    def __post_init__(self):
        for name, axes in (("t", 1), ("q", 2), ("v", 2), ("u", 2), ("v_ends", 2)):
            x = numbers_of(getattr(self, name), f"plan.{name}")
            if x.ndim != axes:
                raise InputError(f"plan.{name} has shape {x.shape}; it must have {axes} axes")
            object.__setattr__(self, name, x)
        for name in ("q_names", "v_names", "input_names"):
            names = several(getattr(self, name), f"plan.{name}", "a sequence of names")
            object.__setattr__(self, name, tuple(str(x) for x in names))

    @property
    def h(self) -> float:
        """The step [s]."""
        return float(self.t[1] - self.t[0])

    def __getitem__(self, name: str) -> np.ndarray:
        """Return one configuration coordinate, velocity or input over time, by name."""
        for names, values in ((self.q_names, self.q), (self.v_names, self.v), (self.input_names, self.u)):
            if isinstance(name, str) and name in names:
                return values[:, names.index(name)]
        raise UnknownNameError("coordinate, velocity or input", name, self.q_names + self.v_names + self.input_names)
