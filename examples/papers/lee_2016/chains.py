"""The chain of Lee et al. 2016 and its starts. Gravity is 9.81 m/s^2 along -z; angles in rad.

The paper draws the chain and gives no numbers. Masses and lengths here are those of the authors' experiment; the
starts are drawn evenly as theirs are, by draws of our own.
"""

from __future__ import annotations

import numpy as np

import vitree as vt

LENGTH = 1.5
#: The step of all experiments [s].
DT = 1e-3


def chain(n: int, gravity: float = 9.81) -> vt.Model:
    """n links of 1 kg and unit inertia about their middle, 1.5 m long, all turning about x; upright at zero."""
    tree = vt.Tree(f"chain of {n}", gravity=(0, 0, -gravity))
    at = tree.world
    for i in range(n):
        link = vt.body(f"link{i}", 1.0, inertia=(1, 1, 1), com=(0, 0, LENGTH / 2))
        at = at.add(vt.rx(f"joint{i}"), link).add(vt.tz(LENGTH))
    return tree.compile()


def thrown(n: int, seed: int = 0):
    """The authors' start: every joint at an angle and a speed between -pi/2 and pi/2, drawn evenly; q0, v0."""
    return np.random.default_rng(seed).uniform(-np.pi / 2, np.pi / 2, (2, n))


def loosely_thrown(n: int, seed: int = 0):
    """The same angles, and the links instead of the joints turning at such speeds; q0, v0.

    Speeds of joints add up along the chain: from ``thrown``, links of chains of 200 soon turn too fast for the
    step. From here chains of any length can be stepped.
    """
    q, rates = thrown(n, seed)
    return q, np.diff(rates, prepend=0.0)


def swinging(n: int):
    """At rest, the first two joints bent by 1.0 and 0.5; q0, v0."""
    q, v = np.zeros((2, n))
    q[:2] = (1.0, 0.5)[:n]
    return q, v


#: Directions by which a step's equations are solved; the first is the default.
DIRECTIONS = "auto", "recursive-newton", "newton", "modified-newton", "broyden", "riqn"
#: Label -> method and options: everything that solves the variational integrators' equations.
SOLVERS = {
    label if solver == "auto" else f"{label}, {solver}": (method, {**options, "solver": solver})
    for label, method, options in (
        ("linear-time", "linear-time", {}),
        ("midpoint", "midpoint", {}),
        ("midpoint, tree", "midpoint", {"residual": "tree"}),
    )
    for solver in DIRECTIONS
}
#: The authors' guess (IG3, the dynamics') and about their tolerance, as a share of the momentum.
AS_PUBLISHED = {"guess": "semi-implicit", "tolerance": 1e-12}
#: The pairs of Fig. 3, direction and residual, solved as the authors do.
PAIRS = {
    f"{name} + {residual}": (method, {**options, **AS_PUBLISHED, "solver": solver})
    for residual, method, options in (("DRNEA", "linear-time", {}), ("SVI", "midpoint", {"residual": "tree"}))
    for name, solver in (("RIQN", "riqn"), ("Broyden", "broyden"), ("Newton", "newton"))
}
