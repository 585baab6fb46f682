"""The three gaits of the snakeboard: the frequencies of rotor and wheels make it drive, turn or park.

    python snakeboard_gaits.py [figure.png]

Rotor and wheels swing at whole multiples of one frequency. At the ratio 1:1 the board gains momentum with each cycle
and drives. At 2:1 it turns on the spot. At 3:2 it moves sideways (Ostrowski 1996).
"""

import sys

import numpy as np

import vitree as vt

GAITS = {"drive": (1, 1), "turn": (2, 1), "park": (3, 2)}


def gait(rotor: int, wheels: int, cycles: int, dt: float = 0.01) -> vt.Trajectory:
    """Simulate cycles of 2 s, in each of which rotor and wheels swing the given numbers of times."""
    board = vt.vehicles.snakeboard()
    inertias, sizes = np.array([board.rotor_inertia, 2 * board.wheel_inertia]), np.array([1.5, 0.9])
    rates = np.pi * np.array([rotor, wheels])
    v0 = board.velocity(board.neutral(), sizes * rates)

    torques = lambda t, q, v: -inertias * sizes * rates**2 * np.sin(rates * t)  # noqa: E731
    return vt.simulate(board, v0=v0, duration=2.0 * cycles, dt=dt, control=vt.Control(inputs=torques))


def main(figure: str | None = None, cycles: int = 5) -> dict[str, vt.Trajectory]:
    runs = {name: gait(*times, cycles) for name, times in GAITS.items()}
    print(f"after {cycles} cycles:   ahead [m]   aside [m]   turned [rad]   momentum [kg m^2/s]")
    for name, run in runs.items():
        p = vt.vehicles.snakeboard().symmetry_momentum(run.q[-1:], run.v[-1:])[0, 0]
        theta, x, y = run.q[-1, 2:]
        print(f"{name:18s} {x:10.4f} {y:11.4f} {theta:14.4f} {p:21.4f}")
    if figure:
        import matplotlib.pyplot as plt

        _, panels = plt.subplots(1, len(runs), figsize=(12, 4), layout="constrained")
        for axes, (name, run) in zip(panels, runs.items(), strict=True):
            axes.plot(run.q[:, 3], run.q[:, 4])
            axes.set(title=name, xlabel="x [m]", ylabel="y [m]", aspect="equal")
        plt.savefig(figure)
    return runs


if __name__ == "__main__":
    main(*sys.argv[1:2])
