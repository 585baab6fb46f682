"""Liu & Jain 2012, Fig. 1: an articulated system of four links, and the notation for it.

    python fig01_articulated_system.py [--quick] [--out FOLDER]

The figure shows a universal joint at the root, a ball joint, and two hinges. The text gives the notation by examples:
p(4) = 2, p(1, 4) = {1, 2, 4}, n(2) = 3, n(3) = 1, and n = 7 in all.

Result: the tree of the teaching scripts (examples/teaching) is this system. The numbers are read from it. Masses and
lengths are not in the tutorial.
"""

import sys
from pathlib import Path

import numpy as np

sys.path.append(str(Path(__file__).parents[1]))
sys.path.append(str(Path(__file__).parents[2] / "teaching"))
import beside
import common

#: Joints by link: the tutorial counts from 1, and a universal joint is two of vitree's hinges.
OF_LINK = {1: ("q1",), 2: ("q2",), 3: ("q3",), 4: ("q4",)}


def notation(model):
    """Parent link, coordinates and the chain from the root of each link, as the tutorial has them."""
    flat = model.flat
    link_of = {}
    for name in model.frame_names:
        if name.startswith("link "):
            link_of[int(flat.frame_body[model.frame_names.index(name)])] = int(name.split()[1])
    parent, own, chain = {}, {}, {}
    for body, link in sorted(link_of.items(), key=lambda pair: pair[1]):
        count, at = _size(flat, body), int(flat.parent[body])
        while at >= 0 and at not in link_of:  # bodies without mass between links
            count, at = count + _size(flat, at), int(flat.parent[at])
        parent[link], own[link] = link_of.get(at, 0), count
        chain[link] = [*chain.get(parent[link], []), link]
    return parent, own, chain


def _size(flat, body: int) -> int:
    """Coordinates of a joint: three of a ball, one of a hinge."""
    from vitree.mechanism.flat import KINDS

    return {"ball": 3, "free": 6}.get(KINDS[flat.kind[body]], 1)


def main() -> None:
    arguments = common.arguments(__doc__)
    model = beside.systems()["figure 1"]
    parent, own, chain = notation(model)
    print("links of the figure: parent p(k), coordinates n(k), chain p(1, k)")
    common.table(
        ["link", "p(k)", "n(k)", "p(1, k)"],
        [[k, parent[k], own[k], "{" + ", ".join(map(str, chain[k])) + "}"] for k in sorted(parent)],
    )

    q = model.neutral()
    if not arguments.quick:
        q = model.integrate(q, np.array([0.0, 0.15, 0.0, -0.1, 0.0, 0.0, -0.4]))
    figure, axes = common.figure(1, 1, size=(5.2, 5.6))
    draw(axes, model, q, parent)
    common.save(figure, arguments.out, "fig01_articulated_system.png")
    total = sum(own.values())
    common.claims(
        ("p(4) = 2, p(1, 4) = {1, 2, 4}, n(2) = 3, n(3) = 1, n = 7",
         f"p(4) = {parent[4]}, p(1, 4) = {set(chain[4])}, n(2) = {own[2]}, n(3) = {own[3]}, n = {total}",
         (parent[4], chain[4], own[2], own[3], total, model.nv) == (2, [1, 2, 4], 3, 1, 7, 7)),
    )  # fmt: skip


WORDS = {1: "universal joint, $q_1$", 2: "ball joint, $q_2$", 3: "hinge, $q_3$", 4: "hinge, $q_4$"}


def draw(axes, model, q, parent, words=WORDS) -> dict[int, tuple]:
    """Links as lines from joint through the centre of mass, in the plane x-z; joint and centre of each link."""
    poses, flat = model.frame_poses(q), model.flat
    found = {}
    for link in sorted(parent):
        name = f"link {link}"
        body = int(flat.frame_body[model.frame_names.index(name)])
        R, p = poses[name][:3, :3], poses[name][:3, 3]
        # the centre of mass is that of the body, whatever the frame's axes are
        pose = model.body_poses(q)[body]
        found[link] = p[[0, 2]], (pose[:3, :3] @ flat.com[body] + pose[:3, 3])[[0, 2]], R
    thick = {"color": "0.7", "linewidth": 7, "solid_capstyle": "round", "zorder": 1}
    for link, (joint, middle, _) in found.items():
        for end in (2 * middle - joint, *(found[k][0] for k in parent if parent[k] == link)):
            axes.plot(*np.transpose([joint, end]), **thick)
    for link, (joint, middle, _) in found.items():
        axes.plot(*joint, "o", color="0.0", markerfacecolor="1.0", markersize=9, zorder=2)
        axes.plot(*middle, "+", color="0.0", zorder=2)
        axes.annotate(words[link], joint, (10, -4), textcoords="offset points")
        place, side = ((12, -10), "left") if link == 2 else ((-12, 4), "right")
        axes.annotate(f"k = {link}", middle, place, textcoords="offset points", ha=side, color="0.3")
    axes.set(aspect="equal", xlabel="x [m]", ylabel="z [m]", xlim=(-0.55, 0.95))
    return found


if __name__ == "__main__":
    main()
