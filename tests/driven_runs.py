"""Runs of everything that drives a mechanism, by every kind of step."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from loaded_models import conservative_loads, constrained_tree, coordinate, driving_loads, random_tree, singles

import vitree as vt

DT = 0.005


class Stirring(vt.Force):
    """A force of time, velocities and inputs."""

    def force(self, model, t, q, v, u):
        return np.sin(3 * t + np.arange(model.nv)) - 0.4 * v


def torque(t, q, v):
    """A controller's."""
    return np.cos(2 * t) - 0.7 * v


OVER_TIME = {"push": lambda t: np.sin(5 * t), "turn": np.cos}


def start(name, kinds):
    """A model, a state (q, v), and what drives it."""
    more = {}
    if name == "constraints":
        model, q, v = constrained_tree(2, nbody=8, speed=0.5, kinds=kinds)
        return vt.Model(replace(model.flat, loads=conservative_loads(model.flat)[:4])), q, v, more
    flat, q, v = random_tree(5, nbody=5, kinds=kinds, damping=True)
    if name in ("loads", "inputs of t"):
        flat = replace(flat, loads=(*conservative_loads(flat), *driving_loads(flat)))
        more = {"control": vt.Control(inputs=OVER_TIME if name == "inputs of t" else {"push": 0.4})}
    elif name == "torque":
        more = {"control": torque}
    elif name == "written":
        flat = replace(flat, loads=(Stirring(),))
    elif name.startswith("prescribed"):
        model, moves = vt.Model(flat), {}
        kinematic = np.zeros(model.nv, bool)
        for one in singles(flat)[1:3]:
            kinematic[model.joint(one).v_slice] = True
            x = coordinate(flat, q, one)
            moves[one] = lambda t, x=x: x + 0.2 * np.sin(4 * (t - 0.3))
        flat, more = replace(flat, kinematic=kinematic), {"control": vt.Control(prescribed=moves)}
        v = np.where(kinematic, 0.0, v)
    return vt.Model(flat), q, v, more


CASES = ["plain", "constraints", "loads", "inputs of t", "torque", "written", "prescribed"]
CHOICES = [
    ("linear-time", {}), ("linear-time", {"order": 4}), ("linear-time", {"order": 4, "guess": "aba"}),
    ("linear-time", {"order": 6, "guess": "semi-implicit"}),
    ("linear-time", {"solver": "newton", "guess": "extrapolate-3"}), ("linear-time", {"solver": "broyden"}),
    ("linear-time", {"solver": "modified-newton", "guess": "extrapolate"}),
    ("linear-time", {"solver": "riqn", "guess": "euler"}),
    ("linear-time", {"solver": "recursive-newton", "max_halvings": 2}),
    ("linear-time", {"springs": "averaged"}), ("linear-time", {"springs": "averaged", "order": 4}),
    ("linear-time", {"springs": "averaged", "solver": "broyden"}),
    ("linear-time", {"springs": "averaged", "solver": "newton"}),
    ("midpoint", {}), ("midpoint", {"order": 4}), ("midpoint", {"order": 4, "guess": "aba"}),
    ("midpoint", {"solver": "modified-newton", "guess": "extrapolate-2"}), ("midpoint", {"solver": "broyden"}),
    ("midpoint", {"solver": "recursive-newton"}), ("midpoint", {"solver": "newton"}),
    ("midpoint", {"solver": "riqn", "guess": "current"}),
    ("midpoint", {"residual": "tree"}), ("midpoint", {"residual": "tree", "solver": "newton", "guess": "extrapolate"}),
    ("midpoint", {"residual": "tree", "solver": "modified-newton", "caching": False, "order": 4}),
    ("gauss", {}), ("gauss", {"order": 4}), ("gauss", {"order": 16}),
    ("explicit-euler", {}), ("semi-implicit-euler", {}), ("rk4", {}), ("rk8", {}),
]  # fmt: skip


#: Cases and choices that go together: gauss knows no constraints.
PAIRS = [(name, *choice) for name in CASES for choice in CHOICES if (name, choice[0]) != ("constraints", "gauss")]


def name_of(x):
    """Of a method or its options, in the names of tests."""
    return x if isinstance(x, str) else ",".join(map(str, x.values()))
