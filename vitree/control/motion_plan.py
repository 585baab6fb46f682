"""MotionPlan: a motion of a robot with its forces, the solution of a MotionProblem."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from vitree.model.model import Model
from vitree.run.controller import Controller


class PhaseInterval(NamedTuple):
    """A phase of a plan: from the node ``first`` to the node ``last`` the points of the frames ``held`` stand still."""

    first: int
    last: int
    held: tuple[str, ...]


@dataclass(frozen=True, eq=False)
class MotionPlan:
    """A motion of a robot with its forces.

    Attributes
    ----------
    model : Model
    dt : float [s]
    t : (N + 1,) array [s]
    q : (N + 1, nq) array [m or rad]
        Configurations at the nodes.
    p : (N + 1, nv) array [kg m/s or kg m^2/s]
        Momenta there, those of the steps that end there: impulses of the node come after them.
    torque : (N, nv) array [N or N m]
        Acts over each step.
    impulses : dict of str to (N + 1, 3) array [N s]
        Of each frame that is held: what the ground gives it at each node, in world axes. Zero while it is free. The
        last one is what it takes to come to the velocity of the goal.
    tensions : dict of str to (N + 1,) array [N s]
        Of each string: the impulse at each node with which it pulls.
    lengths : dict of str to (N + 1,) array [m]
        Of each string, at the nodes.
    multipliers : (N + 1, m) array [N s or N m s]
        Of the model's constraints: they act on the joints with the impulse Dh(q)^T multipliers at each node.
    phases : tuple of PhaseInterval
    """

    model: Model
    dt: float
    t: np.ndarray
    q: np.ndarray
    p: np.ndarray
    torque: np.ndarray
    impulses: Mapping[str, np.ndarray]
    tensions: Mapping[str, np.ndarray]
    lengths: Mapping[str, np.ndarray]
    multipliers: np.ndarray
    phases: tuple[PhaseInterval, ...]

    def __repr__(self) -> str:
        return f'<vitree.control.MotionPlan of "{self.model.name}", {len(self.torque)} steps of {self.dt:g} s>'

    def controller(self) -> Controller:
        """Return a controller that repeats the forces of the plan, a row for each step, and none behind them."""
        rows = np.vstack([self.torque, np.zeros(self.model.nv)])

        def force(t: float, q: np.ndarray, v: np.ndarray) -> np.ndarray:
            k = int(np.floor(t / self.dt * (1 + 1e-12) + 1e-9))
            return rows[min(max(k, 0), len(rows) - 1)]

        return Controller(force, self.dt)

    @property
    def v(self) -> np.ndarray:
        """The velocities (N + 1, nv) [m/s or rad/s] of the momenta."""
        return self.model.velocity_from_momentum(self.q, self.p)
