"""Johnson & Murphey 2009, Figs. 6, 9 and 10, and Listing 1: the closed chain and the scissor lift, drawn.

    python fig06_mechanisms.py [--quick] [--out FOLDER]

The papers' claims about them: the closed chain has many closed kinematic chains, and the listing that defines it is the
input of the program. The scissor lift has many bodies and closed chains, but only one degree of freedom.

Result: vitree reads the listing (closed_chain.sexpr, in today's spelling). The number of degrees of freedom is counted
from the rank of the constraints: three for the chain, one for the lift.
"""

import sys
from pathlib import Path

import mechanisms
import numpy as np

sys.path.append(str(Path(__file__).parents[1]))
import common

#: The lines of the closed chain, from frame to frame.
CHAIN = [("world", "H"), ("H", "O2"), ("K0", "M"), ("M", "O"), ("A0", "C"), ("C", "E"), ("E", "G2")]
PLACES = {"world": (0.0, 0.0), "K0": (-1.5, 0.0), "A0": (1.5, 0.0)}


def freedom(model, q) -> int:
    """Degrees of freedom: velocities that the constraints allow at a configuration."""
    return model.nv - np.linalg.matrix_rank(model.constraint_jacobian(q), tol=1e-8)


def main() -> None:
    arguments = common.arguments(__doc__)
    chain, q_chain = mechanisms.closed_chain()
    counts = (2, 5) if arguments.quick else (1, 2, 3, 5, 8)
    rows = [["closed chain", chain.nv, len(chain.constraints), freedom(chain, q_chain)]]
    for segments in counts:
        lift, q = mechanisms.scissor(segments)
        rows.append([f"scissor lift, {segments} segments", lift.nv, len(lift.constraints), freedom(lift, q)])
    print("coordinates, constraints and degrees of freedom")
    common.table(["mechanism", "coordinates", "constraints", "freedom"], rows)

    figure, axes = common.figure(1, 2, size=(10, 4.8))
    places = PLACES | {name: pose[[0, 2], 3] for name, pose in chain.frame_poses(q_chain).items()}
    for a, b in CHAIN:
        axes[0].plot(*np.transpose([places[a], places[b]]), color="0.0", linewidth=2)
    for name in "JHKMACE":
        at = {"J": "world", "K": "K0", "A": "A0"}.get(name, name)
        axes[0].plot(*places[at], "o", color="0.0", markerfacecolor="1.0")
        axes[0].annotate(name, places[at], (6, 4), textcoords="offset points")
    for name in ("I", "G", "L", "N", "B", "D", "F"):
        axes[0].plot(*places[name], "s", color="0.5", markersize=5)
        axes[0].annotate(name, places[name], (6, -10), textcoords="offset points", color="0.4")
    axes[0].set(title="closed chain (joints: circles, masses: squares)", aspect="equal", xlabel="x [m]", ylabel="z [m]")
    axes[0].title.set_fontsize("medium")
    axes[0].margins(0.15)

    segments = 3
    lift, q = mechanisms.scissor(segments, 0.6)
    links = {name: lift.frame_poses(q)[name] for name in lift.frame_names if "_link" in name}
    for pose in links.values():
        ends = pose @ np.array([[-0.5, 0.5], [0, 0], [0, 0], [1, 1]])
        axes[1].plot(ends[0], ends[2], color="0.0", linewidth=1.5)
        axes[1].plot(pose[0, 3], pose[2, 3], "s", color="0.5", markersize=5)
    slider = lift.frame_poses(q)["slider"][[0, 2], 3]
    axes[1].plot(0, 0, "o", color="0.0", markerfacecolor="1.0", markersize=8)
    axes[1].plot(*slider, "s", color="0.0", markersize=9)
    axes[1].axhline(0, color="0.7", linewidth=0.8, zorder=0)
    axes[1].annotate("$m_S$", slider, (8, 6), textcoords="offset points")
    axes[1].annotate("$m_L$", links["a_link0"][[0, 2], 3], (12, -4), textcoords="offset points")
    angle = np.linspace(0, 0.6, 20)
    axes[1].plot(0.25 * np.cos(angle), -0.25 * np.sin(angle), color="0.4", linewidth=1)
    axes[1].text(0.29, -0.13, r"$\theta$")
    axes[1].set(title=f"scissor lift, {segments} segments", aspect="equal", xlabel="x [m]", ylabel="z [m]")
    axes[1].title.set_fontsize("medium")
    axes[1].margins(0.15)
    common.save(figure, arguments.out, "fig06_mechanisms.png")
    common.claims(
        ("the device has many closed chains; the listing that defines it is the program's input",
         f"vitree reads it: {chain.nv} coordinates, {len(chain.constraints)} constraints, {rows[0][-1]} degrees of "
         "freedom", "yes, spelled point-constraint: the listing leaves out a letter"),
        ("the scissor lift has many bodies and closed chains, but only one degree of freedom",
         ", ".join(f"{row[1]} coordinates and {row[2]} constraints leave {row[3]}" for row in rows[1:]),
         all(row[-1] == 1 for row in rows[1:])),
    )  # fmt: skip


if __name__ == "__main__":
    main()
