"""The variables of a MotionProblem: where each stands, its bounds, and whether it is free."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from vitree.control.phases import ContactInterval
from vitree.model.model import Model


class MotionVariables:
    """All variables, node by node: where each stands, its bounds, and whether it is free."""

    def __init__(self, model: Model, steps: int, acts: np.ndarray, stances: Sequence[ContactInterval],
                 moves: Sequence[np.ndarray], strings: int, pushed: bool):  # fmt: skip
        self.model, self.steps, self.acts, self.stances = model, steps, acts, stances
        #: nodes at which impulses may act: those where steps begin and, if it is pushed, the last one
        self.kicked = kicked = steps + pushed
        nq, nv, m = model.nq, model.nv, len(acts)
        self.size = 0
        self.q, self.p = np.zeros((steps + 1, nq), dtype=int), np.zeros((steps + 1, nv), dtype=int)
        self.u = np.zeros((steps, m), dtype=int)
        ends = [kicked if stance.last == steps else stance.last for stance in stances]
        spans = [(end - s.first, int(x.sum())) for s, end, x in zip(stances, ends, moves, strict=True)]
        self.impulses = [np.zeros(span, dtype=int) for span in spans]
        self.tensions = np.zeros((kicked, strings), dtype=int)
        self.multipliers = np.zeros((kicked, len(model.constraints)), dtype=int)
        for k in range(steps + 1):
            self.q[k], self.p[k] = self._more(nq), self._more(nv)
            for stance, impulse in zip(stances, self.impulses, strict=True):
                if 0 <= k - stance.first < len(impulse):
                    impulse[k - stance.first] = self._more(impulse.shape[1])
            if k < kicked:
                self.tensions[k], self.multipliers[k] = self._more(strings), self._more(len(model.constraints))
            if k < steps:
                self.u[k] = self._more(m)
        #: places that the search chooses, along the axes in which the point moves; of others none
        self.places = [self._more(int(x.sum()) if s.place is None else 0) for s, x in zip(stances, moves, strict=True)]
        self.dt = int(self._more(1)[0])
        self.lower, self.upper = np.full(self.size, -np.inf), np.full(self.size, np.inf)
        self.strict = np.zeros(self.size, dtype=bool)

    def _more(self, count: int) -> np.ndarray:
        self.size += count
        return np.arange(self.size - count, self.size)

    @property
    def free(self) -> np.ndarray:
        return self.lower < self.upper

    @property
    def given(self) -> np.ndarray:
        return np.where(self.free, 0.0, self.lower)

    def bound(self, index, lower, upper) -> None:
        self.lower[index], self.upper[index] = lower, upper

    def give(self, index, values) -> None:
        self.bound(index, values, values)

    def name(self, i: int) -> str:
        """Return the name of a variable, for messages."""
        if i == self.dt:
            return "dt"
        names = np.array(self.model.v_names)
        kinds = [(self.q, self.model.q_names, "{}"), (self.p, names, "the momentum of {}"),
                 (self.u, names[self.acts], "the force on {}"),
                 (self.tensions, range(self.tensions.shape[1]), "the tension of string {}"),
                 (self.multipliers, range(self.multipliers.shape[1]), "the multiplier of constraint {}")]  # fmt: skip
        for index, own, text in kinds:
            for k, j in np.argwhere(index == i):
                return f"{text.format(own[j])} at step {k}"
        for stance, impulse, place in zip(self.stances, self.impulses, self.places, strict=True):
            for k, _ in np.argwhere(impulse == i):
                return f'the impulse on "{stance.frame}" at step {k + stance.first}'
            if i in place:
                return f'the place of "{stance.frame}"'
        return f"variable {i}"
