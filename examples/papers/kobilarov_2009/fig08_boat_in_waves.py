"""Kobilarov et al. 2009, Fig. 8: a boat with two thrusters in waves and wind.

    python fig08_boat_in_waves.py [--quick] [--out FOLDER]

The paper couples its boat with a turbulent free surface, an animation by the FLIP method, and shows one picture of it.
It gives no numbers.

Here the water is a wave of Airy's theory in deep water, and wind blows: the water's velocity and the height of its
surface are functions of place and time. This is a model of less. The wave is regular and small for its length, the boat
does not change the water, and there is no turbulence, no spray and no breaking. The boat's forces are those of the
paper (eq. 15): weight, buoyancy of the part below the surface, and a resistance of each wetted patch against the water
that flows past it. Any flow can take the wave's place in ``force=``, a Python function of time and state.

Result: in long waves the boat rises with the water, in short ones it does not. Steered
ahead it drifts with the wind. The steps keep their second order in waves.
"""

import sys
from pathlib import Path

import numpy as np

import vitree as vt

sys.path.append(str(Path(__file__).parents[1]))
import common

GRAVITY = 9.81
WIND = (0.0, 4.0, 0.0)
WAVE = vt.vehicles.Wave(amplitude=0.2, length=12.0, direction=np.pi)


def surface(x, t):
    """Height of the water along the world's x [m]."""
    k = 2 * np.pi / WAVE.length
    return WAVE.amplitude * np.sin(k * np.cos(WAVE.direction) * x - np.sqrt(GRAVITY * k) * t)


def driven(boat, duration, dt, **options):
    """Both thrusters ahead, the right one a little more."""
    inputs = {"right": 130.0, "left": 120.0}
    return vt.simulate(boat, boat.neutral(), duration=duration, dt=dt, control=vt.Control(inputs=inputs), **options)


def steered(boat, duration, dt):
    """Thrusters ahead, and a helmsman who holds the heading by their difference."""

    def helm(t, q, v):
        x, y, z, w = q[3:]
        heading = np.arctan2(2 * (w * z + x * y), 1 - 2 * (y * y + z * z))
        turn = np.clip(-1500 * heading - 3000 * v[5], -300, 300)
        return np.array([120 + turn, 120 - turn])

    return vt.simulate(boat, boat.neutral(), duration=duration, dt=dt, control=vt.Control(inputs=helm))


def heave(length: float, duration: float) -> float:
    """Amplitude of the boat's height in a low wave of a length, as a share of the wave's."""
    boat = vt.vehicles.boat(wave=vt.vehicles.Wave(0.02, length))
    run = vt.simulate(boat, boat.neutral(), duration=duration, dt=0.02)
    late = run.q[run.t > duration / 2, 2]
    return (late.max() - late.min()) / 0.04


def pitch_of(q) -> np.ndarray:
    """Angle of the bow above the horizontal [rad]."""
    x, y, z, w = q[:, 3:].T
    return np.arcsin(np.clip(2 * (x * z - w * y), -1, 1))


def main() -> None:
    arguments = common.arguments(__doc__)
    duration = 10.0 if arguments.quick else 60.0
    lengths = (3.0, 60.0) if arguments.quick else (2.0, 3.0, 5.0, 8.0, 12.0, 20.0, 40.0, 100.0)
    boat, still = vt.vehicles.boat(wave=WAVE, wind=vt.vehicles.Wind(WIND)), vt.vehicles.boat()
    run, calm = steered(boat, duration, 0.02), steered(still, duration, 0.02)

    print("height of a boat that lies in low waves, over that of the water, by the wave's length")
    shares = [heave(length, 30.0 if arguments.quick else 120.0) for length in lengths]
    common.table(["wave [m]", *(f"{length:g}" for length in lengths)], [["boat / wave", *(f"{x:.3f}" for x in shares)]])

    steps, fine = (0.1, 0.05, 0.025), driven(boat, 10.0, 0.00625, record_every=16)
    off = [np.abs(driven(boat, 10.0, dt, record_every=round(0.1 / dt)).q[:, :3] - fine.q[:, :3]).max() for dt in steps]
    order = np.polyfit(np.log(steps), np.log(off), 1)[0]
    print(f"\ndriven for 10 s at {', '.join(f'{dt:g}' for dt in steps)} s, against 0.00625 s: positions off by")
    print(", ".join(f"{x:.1e} m" for x in off) + f"; order {order:.2f}")

    figure, axes = common.figure(2, 2, size=(11, 5), height_ratios=[2, 3])
    picture(axes, boat, run, calm)
    common.save(figure, arguments.out, "fig08_boat_in_waves.png")
    drift = run.q[-1, 1] - calm.q[-1, 1]
    us = 1e6 * run.seconds / run.steps
    common.claims(
        ("the integrator is coupled with a simulation of other physics, a turbulent free surface by the FLIP method",
         f"a regular wave of Airy's theory, and wind: in waves of {lengths[-1]:g} m the boat rises by "
         f"{shares[-1]:.2f} of the wave, in waves of {lengths[0]:g} m by {shares[0]:.2f}; the wind moves the boat by "
         f"{drift:+.1f} m in {duration:g} s", "with a simpler water: one way, regular, without turbulence"),
        ("fairly large time steps can be used, practical for the frame rates of animation",
         f"at 0.1 s positions are off by {1e3 * off[0]:.1f} mm in 10 s (order {order:.1f}); a step takes {us:.0f} us",
         off[0] < 0.1),
    )  # fmt: skip


def picture(axes, boat, run, calm) -> None:
    """The hull on the water at two times, height and pitch over time, and the path from above."""
    length, _, height = boat.geometry[0].size
    bottom = boat.parts["bottom"]
    hull = np.array([(-length / 2, 0, bottom, 1), (length / 2, 0, bottom, 1), (length / 2, 0, bottom + height, 1),
                     (-length / 2, 0, bottom + height, 1)]).T  # fmt: skip
    for axis, t in zip(axes[0], (4.0, 8.0), strict=True):
        q = run.at(t).q
        x = q[0] + np.linspace(-8, 8, 200)
        water = surface(x, t)
        axis.fill_between(x, water, -2.0, color="0.88")
        axis.plot(x, water, color="0.55")
        axis.fill(*(boat.pose(q) @ hull)[[0, 2]], facecolor="0.4", edgecolor="0.0")
        axis.set(title=f"t = {t:g} s", xlabel="x [m]", ylabel="z [m]", aspect="equal", ylim=(-1.2, 1.3))
    early = run.t <= 20.0
    axes[1, 0].plot(run.t[early], run.q[early, 2] - boat.neutral()[2], label="height [m]", **common.LINES[0])
    axes[1, 0].plot(run.t[early], pitch_of(run.q[early]), label="pitch [rad]", **common.LINES[2])
    axes[1, 0].set(xlabel="time [s]", ylim=(-0.45, 0.55))
    axes[1, 0].legend(fontsize="small", ncols=2, loc="upper center")
    axes[1, 1].plot(*run.q[:, :2].T, label="waves and wind", **common.LINES[0])
    axes[1, 1].plot(*calm.q[:, :2].T, label="still water", **common.LINES[2])
    axes[1, 1].set(xlabel="x [m]", ylabel="y [m]")
    axes[1, 1].legend(fontsize="small")


if __name__ == "__main__":
    main()
