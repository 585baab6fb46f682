"""A double pendulum by steps that conserve energy, momentum and the symplectic form: their lengths are solved for.

    python 40_conserved_energy.py [--save FILE] [--plot FILE] [--view]

The method is in energy_momentum.py (Kane, Marsden & Ortiz 1999). Its discrete energy stays to round-off, where that of
the midpoint rule oscillates. A pendulum that goes over the top meets states from which no positive step length
conserves the energy, and the run stops there. This is why the method is an example.
"""

import energy_momentum as em
import numpy as np

import vitree as vt


def pendulum(links: int) -> vt.Model:
    """Point masses of 1 kg on rods of 1 m."""
    tree = vt.Tree("pendulum")
    frame = tree.world
    for k in range(links):
        frame = frame.add(vt.ry(f"joint{k}"), vt.tz(-1.0), vt.body(f"bob{k}", 1.0))
    return tree.compile()


def main() -> vt.Trajectory:
    vt.METHODS[em.EnergyMomentum.name] = em.EnergyMomentum  # simulate finds it there
    model = pendulum(2)
    runs = {name: vt.simulate(model, [0.6, 0.4], duration=20.0, dt=0.02, method=name)
            for name in (em.EnergyMomentum.name, "midpoint")}  # fmt: skip
    print("method            steps  from [s]    to [s]  change of the discrete energy [J]")
    for name, run in runs.items():
        h = np.diff(run.t)
        energy = [em.discrete_energy(model, *step) for step in zip(run.q, run.q[1:], h, strict=False)]
        print(f"{name:16} {run.steps:6}  {h.min():.6f}  {h.max():.6f}  {np.ptp(energy):.1e}")
    try:
        vt.simulate(pendulum(1), [0.0], [8.0], duration=20.0, dt=0.02, method=em.EnergyMomentum.name)
    except vt.ConvergenceError as error:
        print(error)
    return runs[em.EnergyMomentum.name]


if __name__ == "__main__":
    import common

    common.run(main)
