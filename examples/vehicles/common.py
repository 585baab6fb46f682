"""Shared by the scripts of optimal control: arguments, solving, and pictures that can be read in grey."""

from __future__ import annotations

import argparse
import textwrap
from pathlib import Path

import numpy as np
from matplotlib.figure import Figure

import vitree.control as vc


def arguments(description: str) -> argparse.Namespace:
    """Read --method and --out, and make the folder."""
    parser = argparse.ArgumentParser(description=description, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--method", choices=("scipy", "ipopt"), default="scipy", help="the solver")
    parser.add_argument("--out", type=Path, default=Path("."), metavar="FOLDER", help="where the picture goes")
    chosen = parser.parse_args()
    chosen.out.mkdir(parents=True, exist_ok=True)
    return chosen


def solved(problem: vc.ControlProblem, method: str) -> vc.Plan:
    """Return the plan of a problem; print how the solver ended, and stop the script if it failed."""
    found = vc.solve(problem, method)
    print(found.message)
    print(f"cost {found.cost:.6g}  duration {found.trajectory.t[-1]:.4g} s  iterations {found.iterations}  "
          f"violation {found.constraint_violation:.1e}  {found.seconds:.1f} s")  # fmt: skip
    if not found.success:
        raise SystemExit("not solved")
    return found.trajectory


def picture(plan: vc.Plan, title: str, plane: tuple[str, str] = ("x", "y")):
    """Return a figure, and its axes for the path in a plane; the inputs over time stand beside."""
    made = Figure(figsize=(9.0, 3.8), layout="constrained")
    path, inputs = made.subplots(1, 2, width_ratios=(3, 2))
    path.plot(plan[plane[0]], plan[plane[1]], color="0.0", marker=".", markersize=3)
    path.set(title=title, xlabel=f"{plane[0]} [m]", ylabel=f"{plane[1]} [m]", aspect="equal")
    styles = ("-", "--", ":", "-.")
    for k, name in enumerate(plan.input_names):
        largest = abs(plan[name]).max() or 1.0
        inputs.stairs(plan[name] / largest, plan.t, color="0.0", linestyle=styles[k % 4], baseline=None,
                      label=f"{name} / {largest:.3g}")  # fmt: skip
    inputs.set(title="inputs, over their largest", xlabel="time [s]", ylabel="share [-]")
    inputs.legend(fontsize="small", loc="upper center", bbox_to_anchor=(0.5, -0.15), ncols=2, frameon=False)
    return made, path


def footprint(x: float, y: float, theta: float, outline: np.ndarray) -> np.ndarray:
    """Return the corners (n, 2) [m] of a vehicle's ``outline`` (n, 2) [m] at a pose."""
    c, s = np.cos(theta), np.sin(theta)
    return np.asarray(outline) @ np.array([[c, s], [-s, c]]) + (x, y)


def rounded(ahead: float, radius: float, count: int = 12) -> np.ndarray:
    """Return the outline (n, 2) [m] of what is within ``radius`` of the line from the origin to ``ahead``."""
    turn = np.linspace(-np.pi / 2, np.pi / 2, count)
    front = np.column_stack((ahead + radius * np.cos(turn), radius * np.sin(turn)))
    return np.concatenate([front, -front + (ahead, 0.0)])


def drawn(axes, poses: np.ndarray, outline: np.ndarray) -> None:
    """Draw a vehicle in its width at poses (n, 3) of x, y [m] and heading [rad]; its start and goal are named."""
    for x, y, theta in poses[1:-1]:
        axes.fill(*footprint(x, y, theta, outline).T, facecolor="none", edgecolor="0.6", linewidth=0.7)
    for pose, name, style in ((poses[0], "start", "--"), (poses[-1], "goal", "-")):
        corners = footprint(*pose, outline)
        axes.fill(*corners.T, facecolor=(0, 0, 0, 0.12), edgecolor="0.0", linestyle=style, linewidth=1.6, zorder=3)
        axes.annotate(name, corners.mean(axis=0), ha="center", va="center", zorder=4,
                      bbox={"facecolor": "white", "edgecolor": "none", "alpha": 0.8, "pad": 1.5})  # fmt: skip


def claim(what: str, plan: vc.Plan, found: str, holds: bool) -> None:
    """Print a claim of Kobilarov et al. 2009, what was found, and whether it holds, as the scripts of papers do."""
    found = f"{found}, in {plan.t[-1]:.3g} s"
    rows = ("the paper claims", what), ("found", found), ("holds", "yes" if holds else "NO")
    print("\n" + "\n".join(textwrap.fill(f"{head}: {text}", 110, subsequent_indent=" ") for head, text in rows))


def save(made: Figure, out: Path, name: str) -> None:
    """Write a picture and print its path."""
    made.savefig(out / name, dpi=150)
    print(f"written: {out / name}")
