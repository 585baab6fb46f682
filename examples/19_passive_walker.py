"""Two legs walk down a slope without a motor: the walk repeats itself, and draws near walks to it.

    python 19_passive_walker.py [--save FILE] [--plot FILE] [--view]

The walker of Garcia, Chatterjee, Ruina & Coleman 1998 (J. Biomech. Eng. 120, 281): a foot lands without a rebound and
sticks; the swinging one touches nothing until it lands. A stride is a map from before a landing to before the next.
Newton's method finds its fixed point. Eigenvalues of its derivative say what a stride leaves of an error.
"""

import numpy as np
import stand_ins
from scipy.optimize import brentq

import vitree as vt

DT, FOOT, SLOPE = 0.01, 1e-5, 0.009  # step over sqrt(l/g); mass of a foot over the hip's; [rad]
BOTH, ONE = (stand_ins.passive_walker(SLOPE, FOOT, feet) for feet in ("ab", "a"))


def stride(state):
    """Angle of leg a and rates of both, before leg b lands; the same a stride later, and the run between."""
    a, swap = state[0], [0, 1, 3, 2]  # legs swap their names as one lands
    land = vt.simulate(BOTH, [np.sin(a), np.cos(a), a, -a], state[1:] @ stand_ins.pivot(a), duration=DT, dt=DT)
    sim = vt.Simulation(ONE, land.q[-1, swap], p0=land.p[-1, swap], dt=DT, record_every=1)
    while sim.t < 3.5 or BOTH.contact_gaps(sim.q).gap[1] > 0.0:
        before = {"q0": sim.q.copy(), "p0": sim.p.copy()}
        sim.step()
    h = brentq(lambda h: BOTH.contact_gaps(vt.simulate(ONE, **before, duration=h, dt=h).q[-1]).gap[1], 1e-9, DT)
    end = vt.simulate(ONE, **before, duration=h, dt=h)
    along = stand_ins.pivot(end.q[-1, 2])
    rates = np.linalg.solve(along @ ONE.crba(end.q[-1]) @ along.T, along @ end.p[-1])
    return np.array([end.q[-1, 2], *rates]), sim.trajectory


def main() -> vt.Trajectory:
    state, small = np.array([0.2, 0.217, 0.217]), 1e-5
    for _ in range(4):
        ahead, run = stride(state)
        J = np.transpose([stride(state + e)[0] - stride(state - e)[0] for e in small * np.eye(3)]) / (2 * small)
        print(f"angle at the landing {state[0]:.7f} rad, changed by the stride by {ahead[0] - state[0]:.0e} rad")
        state += np.linalg.solve(np.eye(3) - J, ahead - state)
    print(f"eigenvalue {max(np.linalg.eigvals(J), key=np.imag):.4f}; of the paper: 0.2003109 rad, -0.1901+0.5576j")
    return run


if __name__ == "__main__":
    import common

    common.run(main)
