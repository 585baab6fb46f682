"""Kobilarov et al. 2009, Fig. 7: the helicopter and the snakeboard, drawn from their models.

    python fig07_models.py [--quick] [--out FOLDER]

The paper draws both with their variables. Beside the drawing stand the matrix of the helicopter's controls (section
4.3.1) and the wheels' constraints (section 5.2.2). Result: vitree's compiled helicopter has the wrench of the printed
matrix, and the velocities of vitree's snakeboard satisfy the printed constraints, both to round-off, at random states.
"""

import sys
from pathlib import Path

import numpy as np

import vitree as vt

sys.path.append(str(Path(__file__).parents[1]))
import common

TOP, TAIL = 0.2, 0.6


def control_matrix(pitch: float, roll: float) -> np.ndarray:
    """F(gamma) as printed: wrench (torque, force) of the collective and of the yaw control."""
    sp, cp, sr, cr = np.sin(pitch), np.cos(pitch), np.sin(roll), np.cos(roll)
    return np.array([(TOP * sr, 0), (TOP * sp * cr, 0), (0, TAIL), (sp * cr, 0), (-sr, -1), (cp * cr, 0)])


def wheels(q, rates, l: float) -> np.ndarray:  # noqa: E741
    """The printed constraints of the snakeboard at (psi, phi, theta, x, y); zero where they hold."""
    _, phi, theta, _, _ = q
    dtheta, dx, dy = rates
    return np.array([-l * np.cos(phi) * dtheta - np.sin(theta + phi) * dx + np.cos(theta + phi) * dy,
                     l * np.cos(phi) * dtheta - np.sin(theta - phi) * dx + np.cos(theta - phi) * dy])  # fmt: skip


def main() -> None:
    arguments = common.arguments(__doc__)
    rng, draws = np.random.default_rng(7), 20 if arguments.quick else 1000
    helicopter = vt.vehicles.helicopter(rotor_height=TOP, tail_length=TAIL, gravity=(0, 0, 0))
    board = vt.vehicles.snakeboard()
    q, v = helicopter.neutral(), helicopter.zero_velocity()
    wrenches, slips = [], []
    for _ in range(draws):
        collective, yaw, pitch, roll = rng.uniform(-1, 1, 4)
        ours = helicopter.wrench(0.0, q, v, [collective, yaw, pitch, roll])
        wrenches.append(np.abs(ours - control_matrix(pitch, roll) @ (collective, yaw)).max())
        state = rng.uniform(-1.2, 1.2, 5)
        velocity = board.velocity(state, {"psi": rng.normal(), "phi": rng.normal()}, rng.normal(size=1))
        slips.append(np.abs(wheels(state, board.configuration_rate(state, velocity)[2:], board.half_length)).max())
    print(f"{draws} random states: the largest difference of the wrench from F(gamma) u: {max(wrenches):.1e} N;")
    print(f"the largest value of the printed constraints: {max(slips):.1e} m/s")

    figure, axes = common.figure(1, 2, size=(10.5, 4.6))
    draw_helicopter(axes[0])
    draw_board(axes[1], board)
    for axis in axes:
        axis.set(aspect="equal")
    common.save(figure, arguments.out, "fig07_models.png")
    common.claims(
        ("the helicopter's controls act through the printed matrix F(gamma)",
         f"the compiled wrench is F(gamma) u to {max(wrenches):.0e}", max(wrenches) < 1e-14),
        ("the board moves in the direction in which the wheels point",
         f"its velocities satisfy both printed constraints to {max(slips):.0e} m/s", max(slips) < 1e-13),
    )  # fmt: skip


def arrow(axes, start, end, text, beside=(0.02, 0.02)) -> None:
    axes.annotate("", end, start, arrowprops={"arrowstyle": "->", "color": "0.0"})
    axes.text(end[0] + beside[0], end[1] + beside[1], text)


def draw_helicopter(axes) -> None:
    """From the side: cabin, boom and rotors in grey, forces as arrows."""
    turn = np.linspace(0, 2 * np.pi)
    axes.fill(0.08 + 0.18 * np.cos(turn), 0.1 * np.sin(turn) - 0.02, color="0.85")
    axes.plot([-0.05, -TAIL], [0, 0], color="0.6", linewidth=4)
    axes.plot([0, 0], [0, TOP], color="0.6", linewidth=2)
    tilt = 0.25
    axis = np.array([np.sin(tilt), np.cos(tilt)])
    hub, blade = np.array([0, TOP]), 0.42 * np.array([axis[1], -axis[0]])
    axes.plot(*np.transpose([hub - blade, hub + blade]), color="0.3", linewidth=2)
    axes.plot(-TAIL + 0.09 * np.cos(turn), 0.09 * np.sin(turn), color="0.3")
    axes.plot(-TAIL, 0, "x", color="0.0")
    axes.plot(0, 0, "o", color="0.0", markersize=4)
    arrow(axes, hub, hub + 0.36 * axis, "$u_c$")
    arrow(axes, (0, 0), (0, -0.3), "$m g$")
    axes.plot([0, 0], [TOP, TOP + 0.42], ":", color="0.5")
    axes.text(0.025, TOP + 0.42, r"$\gamma_p$")
    axes.text(-TAIL - 0.04, 0.13, r"$u_\psi$ (into the page)", ha="left")
    axes.text(-0.05, TOP / 2, "$d_t$", ha="right", va="center")
    axes.text(-TAIL / 2, -0.09, "$d_r$", ha="center")
    axes.set(title="helicopter, from the side", xlabel="x [m]", ylabel="z [m]", xlim=(-0.78, 0.62), ylim=(-0.42, 0.75))


def draw_board(axes, board) -> None:
    """From above."""
    psi, phi, theta = 1.0, 0.5, 0.3
    l, poses = board.half_length, board.frame_poses([psi, phi, theta, 0.0, 0.0])  # noqa: E741
    for name, along, across, width, shade in (("body", l, 0, 4, "0.7"), ("front", 0.07, 0, 5, "0.0"),
                                              ("rear", 0.07, 0, 5, "0.0"), ("rotor", 0.12, 0, 2, "0.35")):  # fmt: skip
        ends = poses[name] @ np.array([[along, -along], [across, -across], [0, 0], [1, 1]])
        axes.plot(*ends[:2], color=shade, linewidth=width, solid_capstyle="butt")
    ahead = np.array([np.cos(theta), np.sin(theta)])
    axes.plot(*np.transpose([l * ahead, 1.7 * l * ahead]), ":", color="0.5")
    axes.plot([0, 0.12], [0, 0], ":", color="0.5")
    axes.plot(0, 0, "o", color="0.0", markersize=4)
    axes.text(*(1.5 * l * ahead + (-0.03, 0.035)), r"$\phi$")
    axes.text(*(-1.6 * l * ahead + (0.0, 0.03)), r"$-\phi$")
    axes.text(0.10, 0.006, r"$\theta$")
    axes.text(-0.005, 0.11, r"$\psi$")
    axes.text(-0.11, -0.075, "$l$")
    axes.text(0.01, -0.035, "(x, y)")
    axes.set(title="snakeboard, from above", xlabel="x [m]", ylabel="y [m]", xlim=(-0.38, 0.4), ylim=(-0.26, 0.3))


if __name__ == "__main__":
    main()
