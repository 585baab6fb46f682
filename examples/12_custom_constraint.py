"""A constraint of your own: beads that slide in a bowl, z = (x^2 + y^2) / 2R; one equation holds each bead there.

    python 12_custom_constraint.py [--save FILE] [--plot FILE] [--view]

A Constraint returns its value, and its gradient if you write one. In this bowl every level circle takes the same time,
2 pi sqrt(R / g), whatever its width.
"""

import numpy as np

import vitree as vt

R, G, WIDTHS = 1.0, 9.81, (0.2, 0.5, 0.9)  # [m], [m/s^2], [m]


class Bowl(vt.Constraint):
    """A bead, whose x, y, z are entries k, k + 1, k + 2 of q, stays on the paraboloid."""

    def __init__(self, k):
        self.k = k

    def value(self, model, q):
        return q[self.k + 2] - (q[self.k] ** 2 + q[self.k + 1] ** 2) / (2 * R)

    def gradient(self, model, q):  # without this method differences replace it
        return np.concatenate((np.zeros(self.k), [-q[self.k] / R, -q[self.k + 1] / R, 1.0], np.zeros(6 - self.k)))


def main() -> vt.Trajectory:
    tree = vt.Tree("beads in a bowl", gravity=(0, 0, -G))
    for k in range(3):
        tree.world.add(vt.tx(f"x{k}"), vt.ty(f"y{k}"), vt.tz(f"z{k}"), vt.body(f"bead{k}", 0.1))
        tree.constrain(Bowl(3 * k))
    model = tree.compile()
    vt.check_derivatives(model.constraints[1], model)
    q0 = np.ravel([(r, 0.0, r * r / (2 * R)) for r in WIDTHS])
    v0 = np.ravel([(0.0, r * np.sqrt(G / R), 0.0) for r in WIDTHS])
    run = vt.simulate(model, q0, v0, duration=10.0, dt=0.002, method="midpoint")

    for r, angle in zip(WIDTHS, np.unwrap(np.arctan2(run.q[:, 1::3], run.q[:, 0::3]), axis=0)[-1], strict=True):
        print(f"circle of {r} m: {2 * np.pi * run.t[-1] / angle:.5f} s a turn")
    print(f"2 pi sqrt(R/g) is {2 * np.pi * np.sqrt(R / G):.5f} s; off the bowl by {abs(run.constraint).max():.0e} m")
    return run


if __name__ == "__main__":
    import common

    common.run(main)
