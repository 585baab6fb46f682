"""Loads of your own: an elastic ground, which has a potential, and the drag of the air, which has none.

    python 11_custom_load.py [--save FILE] [--plot FILE] [--view]

A Potential returns its energy, a Force its force. Differences replace derivatives that are not written;
`check_derivatives` compares written ones with differences. Without drag the ball must return to its first height.
"""

import numpy as np

import vitree as vt


class Ground(vt.Potential):
    """V = k d^3 / 3 at the depth d below z = 0, with k = 1e4 N/m^2; the force begins smoothly."""

    def energy(self, model, q):
        return 1e4 * max(-q[0], 0.0) ** 3 / 3

    def gradient(self, model, q):
        return np.array([-1e4 * max(-q[0], 0.0) ** 2])


class Drag(vt.Force):
    """A force against the velocity, proportional to its square."""

    def force(self, model, t, q, v, u):
        return -0.05 * v * abs(v)


def main() -> vt.Trajectory:
    for loads in ([Ground(), Drag()], [Ground()]):
        tree = vt.Tree("bouncing ball")
        tree.world.add(vt.tz("height"), vt.body("ball", 1.0))
        tree.load(loads)
        model = tree.compile()
        for load in model.loads:
            vt.check_derivatives(load, model, q=[-0.02])
        run = vt.simulate(model, [1.0], duration=10.0, dt=0.001)
        print(*(load.name for load in loads), f"- from 1 m, in the last 2 s up to {run.q[8000:].max():.5f} m, "
              f"energy {run.energy[0]:.3f} J, then {run.energy[-1]:.3f} J")  # fmt: skip
    return run


if __name__ == "__main__":
    import common

    common.run(main)
