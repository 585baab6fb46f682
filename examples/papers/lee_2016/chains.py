"""The chain of Lee et al. 2016 and its starts. Gravity is 9.81 m/s^2 along -z; angles in rad.

The paper draws the chain and gives no numbers. Masses, lengths and starts here are those of the authors' published
program (github.com/jslee02/wafr2016), which draws its starts by the C library's ``rand``, not seeded.
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


def rand(count: int, seed: int = 1) -> np.ndarray:
    """The first numbers of ``rand`` of the GNU C library, after ``srand(seed)``; from 0 to 2^31 - 1.

    31 words by a linear congruential generator, then each is the sum of those 31 and 3 places before it. The first 310
    sums are left out, and so are the lowest bits.
    """
    words = [seed]
    for _ in range(30):
        words.append(16807 * words[-1] % 0x7FFFFFFF)
    words += words[:3]
    while len(words) < 344 + count:
        words.append((words[-31] + words[-3]) % 2**32)
    return np.array(words[344:]) >> 1


def thrown(n: int, seed: int = 1):
    """The authors' start: every joint at an angle and a speed between -pi/2 and pi/2, drawn in turn; q0, v0.

    Seed 1 is that of a program that does not seed, as theirs.
    """
    return np.ascontiguousarray((rand(2 * n, seed) / 2**31 - 0.5).reshape(n, 2).T) * np.pi


def loosely_thrown(n: int, seed: int = 1):
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
