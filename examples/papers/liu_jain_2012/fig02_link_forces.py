"""Liu & Jain 2012, Fig. 2: the force and the torque that a link receives from its parent and passes to its children.

    python fig02_link_forces.py [--quick] [--out FOLDER]

The figure shows link 2 of Fig. 1 with f_2, tau_2 from link 1, and -f_3, -tau_3, -f_4, -tau_4 to its children. Section 7
computes them in two passes, outward and inward.

Result: the passes, in NumPy (examples/teaching/section7_inverse_dynamics.py), give forces and torques whose components
along the joints are those of vitree's compiled ``rnea``. At rest the root carries the weight of all links.
"""

import sys
from pathlib import Path

import numpy as np

sys.path.append(str(Path(__file__).parents[1]))
sys.path.append(str(Path(__file__).parents[2] / "teaching"))
import beside
import common
from fig01_articulated_system import draw, notation
from links import links_of
from section7_inverse_dynamics import compared, inward, outward


def main() -> None:
    arguments = common.arguments(__doc__)
    model, rng = beside.systems()["figure 1"], np.random.default_rng(2)
    tree = links_of(model)
    worst = 0.0
    for _ in range(3 if arguments.quick else 100):
        x, dx, ddx = beside.random_state(tree, rng)
        worst = max(worst, *compared(tree, model, x, dx, ddx).values())
    still = np.zeros_like(dx)
    f, tau = inward(tree, outward(tree, x, still, still, model.gravity))
    weight = model.total_mass * 9.81
    names = {int(model.flat.frame_body[model.frame_names.index(f"link {k}")]): k for k in (1, 2, 3, 4)}
    print("at rest: force and torque that each link receives, in its own axes")
    common.table(
        ["link", "|f_k| [N]", "|tau_k| [N m]"],
        [
            [link, f"{np.linalg.norm(f[k]):.3f}", f"{np.linalg.norm(tau[k]):.3f}"]
            for k, link in sorted(names.items(), key=lambda pair: pair[1])
        ],
    )
    carried = np.linalg.norm(f[next(k for k, link in names.items() if link == 1)])

    figure, axes = common.figure(1, 1, size=(5.2, 5.6))
    posture = np.zeros(len(x))
    posture[[1, 6]] = 0.15, -0.4
    q, _ = beside.to_core(tree, posture)
    parent, *_ = notation(model)
    poses = model.body_poses(q)
    f, tau = inward(tree, outward(tree, posture, still, still, model.gravity))
    places = draw(axes, model, q, parent, dict.fromkeys(parent, ""))
    for k, link in names.items():
        force = (poses[k][:3, :3] @ f[k])[[0, 2]]
        joint = places[link][0]
        sign = {2: 1, 3: -1, 4: -1}.get(link)
        if sign:
            end = joint + sign * 0.012 * force
            axes.annotate("", end, joint, arrowprops={"arrowstyle": "->", "color": "0.0"})
            text, place = f"${'-' if sign < 0 else ''}f_{link}$", {2: (6, -2), 3: (7, -4), 4: (-26, -4)}[link]
            axes.annotate(text, end, place, textcoords="offset points")
    axes.set(title="link 2 at rest", ylim=(-0.2, None))
    axes.title.set_fontsize("medium")
    common.save(figure, arguments.out, "fig02_link_forces.png")
    common.claims(
        ("an outward and an inward pass give the force and the torque between links",
         f"their components along the joints are those of the compiled rnea to {worst:.0e}; at rest the root carries "
         f"{carried:.3f} N of {weight:.3f} N", worst < 1e-11 and abs(carried / weight - 1) < 1e-12),
        ("f_0 and tau_0 of the root link are zero (section 7.3)", "they are the load of the root's joint",
         "NO: only where the root is free and nothing drives it"),
    )  # fmt: skip


if __name__ == "__main__":
    main()
