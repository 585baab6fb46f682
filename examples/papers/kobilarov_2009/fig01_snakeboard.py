"""Kobilarov et al. 2009, Fig. 1: a snakeboard whose rider twists the hip and turns the feet.

    python fig01_snakeboard.py [--quick] [--out FOLDER]

The paper shows pictures of an animation and says what makes the board move: the rider builds up speed without pushing
off, by a twist of the torso and a turn of the feet. When the wheels stop to turn, the board goes along a circle, and
the momentum about the circle's centre is conserved. The step is explicit. The paper gives no sizes; those here are of
vitree's snakeboard.

Result: rotor (the torso) and wheels (the feet) swing at one frequency, and the board gains speed with each swing. Then
the wheels rest, turned. From there on the board's middle stays on the circle that the wheels' angle asks for, and the
momentum stays, both to round-off, while the rotor still swings.
"""

import sys
from pathlib import Path

import numpy as np

import vitree as vt

sys.path.append(str(Path(__file__).parents[1]))
import common

#: Half an amplitude of rotor and wheels [rad], both at RATE [rad/s].
SIZES, RATE = np.array([1.5, 0.9]), np.pi


def drive(board, swings: int, dt: float):
    """Rotor and wheels swing; the run ends where the wheels are turned most and their rate is zero."""
    inertias = np.array([board.rotor_inertia, 2 * board.wheel_inertia])
    v0 = board.velocity(board.neutral(), SIZES * RATE)
    torques = lambda t, q, v: -inertias * SIZES * RATE**2 * np.sin(RATE * t)  # noqa: E731
    return vt.simulate(board, v0=v0, duration=2.0 * swings + 0.5, dt=dt, control=vt.Control(inputs=torques))


def coast(board, start, duration: float, dt: float):
    """Go on with wheels at rest, while the rotor swings on."""
    q, v = start.q[-1], start.v[-1]
    glide = np.linalg.lstsq(board.symmetries(q[:2]), v[2:] + board.connection(q[:2]) @ v[:2], rcond=None)[0]
    v = board.velocity(q, {"psi": v[0]}, glide)
    return vt.simulate(board, q, v, duration=duration, dt=dt,
                       control=vt.Control(inputs={"rotor": lambda t: -0.1 * np.sin(RATE * t)}))


def circle(path) -> tuple[np.ndarray, float, float]:
    """Centre, radius and largest distance from it of the circle nearest to points."""
    A = np.column_stack((2 * path, np.ones(len(path))))
    *centre, _ = np.linalg.lstsq(A, (path**2).sum(axis=1), rcond=None)[0]
    radii = np.linalg.norm(path - centre, axis=1)
    return np.array(centre), radii.mean(), np.ptp(radii)


def main() -> None:
    arguments = common.arguments(__doc__)
    swings, dt = (2, 0.01) if arguments.quick else (4, 0.01)
    board = vt.vehicles.snakeboard()
    first = drive(board, swings, dt)
    after = coast(board, first, 8.0, dt)
    speeds = [np.hypot(*first.v[np.searchsorted(first.t, 2.0 * k), 3:]) for k in range(swings + 1)]
    print(f"snakeboard, dt = {dt:g} s: speed of the board's middle after each swing")
    common.table(["swings", *range(swings + 1)], [["speed [m/s]", *(f"{speed:.3f}" for speed in speeds)]])
    momentum = board.symmetry_momentum(after.q, after.v)[:, 0]
    drift = np.abs(momentum / momentum[0] - 1).max()
    centre, radius, off = circle(after.q[:, 3:])
    asked = board.half_length / abs(np.tan(after.q[0, 1]))
    costs = {method: min(vt.simulate(board, after.q[0], after.v[0], duration=20.0, dt=dt, method=method).seconds
                         for _ in range(3)) / (20.0 / dt) for method in ("lie", "rk2")}  # fmt: skip
    print(f"\nwheels at rest for 8 s: circle of {radius:.6f} m (l / tan phi: {asked:.6f} m), off by {off:.0e} m;")
    print(f"momentum off by {drift:.0e}")

    figure, axes = common.figure(1, 2, size=(11, 4.4), width_ratios=[3, 2])
    axes[0].plot(*first.q[:, 3:].T, color="0.55", linewidth=1, label="the rider moves")
    axes[0].plot(*after.q[:, 3:].T, linewidth=1, color="0.0", linestyle="--", label="the wheels rest")
    for run, times in ((first, np.arange(0, first.t[-1] + 0.1, 1.0)), (after, (2.5, 5.0))):
        for t in times:
            draw(axes[0], board, run.at(t).q)
    axes[0].plot(*centre, "+", color="0.0")
    axes[0].set(aspect="equal", xlabel="x [m]", ylabel="y [m]")
    figure.legend(*axes[0].get_legend_handles_labels(), loc="outside upper left", ncols=2, fontsize="small")
    t = np.concatenate((first.t, first.t[-1] + after.t[1:]))
    v = np.concatenate((first.v, after.v[1:]))
    axes[1].plot(t, np.hypot(v[:, 3], v[:, 4]), **common.LINES[0])
    axes[1].axvline(first.t[-1], color="0.7", linewidth=0.8)
    axes[1].set(xlabel="time [s]", ylabel="speed [m/s]")
    common.save(figure, arguments.out, "fig01_snakeboard.png")
    common.claims(
        ("the rider builds up speed without pushing off",
         f"from {speeds[0]:.2g} m/s to {speeds[-1]:.2f} m/s in {swings} swings", min(np.diff(speeds)) > 0),
        ("with the wheels at rest the board goes along a circle, and the momentum about its centre is conserved",
         f"a circle to {off:.0e} m; momentum to {drift:.0e} of itself", off < 1e-9 and drift < 1e-11),
        ("the integrator is an explicit update, efficient and robust",
         f"a step takes {1e6 * costs['lie']:.2f} us, one of rk2 {1e6 * costs['rk2']:.2f} us",
         costs["lie"] < 1.5 * costs["rk2"]),
    )  # fmt: skip


def draw(axes, board, q) -> None:
    """The board, its wheels and its rotor, seen from above."""
    poses = board.frame_poses(q)
    l = board.half_length  # noqa: E741
    parts = ("body", l, 0, 2.5, "0.3"), ("front", 0, 0.45 * l, 2, "0.0"), ("rear", 0, 0.45 * l, 2, "0.0")
    for name, along, across, width, shade in (*parts, ("rotor", 0, 0.7 * l, 1, "0.6")):
        ends = poses[name] @ np.array([[along, -along], [across, -across], [0, 0], [1, 1]])
        axes.plot(*ends[:2], color=shade, linewidth=width, solid_capstyle="butt")


if __name__ == "__main__":
    main()
