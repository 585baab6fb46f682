"""Which integrator? Four integrators on a chain of ten links, for long enough to see the difference.

    python 05_comparing_integrators.py [--save FILE] [--plot FILE] [--view]

Nothing drives or brakes the chain, and the steps are large. Over five hundred seconds the variational methods keep
the energy in a band. Runge-Kutta 4 is more accurate at first, but its energy goes on falling. Semi-implicit Euler
blows up, and its row says when.
"""

import vitree as vt

METHODS = ("linear-time", "midpoint", "rk4", "semi-implicit-euler")


def main() -> vt.Comparison:
    model = vt.load_urdf(vt.find_robot("chain10"))
    q0 = model.neutral()
    q0[0] = 2.6  # 0.54 rad from hanging
    result = vt.compare(model, METHODS, q0, duration=500.0, dt=0.05, reference=False)
    print(result)
    print("\nmean change of the energy since the start, in the first and the last 50 s [J]")
    for (method, _), run in result.trajectories.items():
        if method in ("linear-time", "midpoint", "rk4"):
            change = run.energy - run.energy[0]
            print(f"{method:12s} {change[:1000].mean():+.5f} {change[-1000:].mean():+.5f}")
    return result


if __name__ == "__main__":
    import common

    common.run(main)
