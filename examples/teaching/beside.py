"""The comparison of the scripts with the core: states for both, robots, and differences."""

import numpy as np
from links import count, links_of
from rotations import ROTATIONS, rate, vee

import vitree as vt


def to_core(links, x):
    """Return the core's configuration q, and the B of its velocity v = B x'.

    One-coordinate joints are the same in both. The core has a quaternion for a rotation, whose velocity is the angular
    one in the link's own axes; for a free joint the linear one, in these axes too, comes before it.
    """
    q, blocks = [], []
    for link in links:
        if link.kind in ("ball", "free"):
            R, _, J_turn, J_move = link.joint(x)
            free = link.kind == "free"
            q += [*(x[link.x][:3] if free else ()), *as_quaternion(link.turned.T @ R)]
            blocks.append(R.T @ J_turn if not free else np.vstack((R.T @ J_move, R.T @ J_turn)))
        else:
            q.append(x[link.x.start])
            blocks.append(np.eye(1))
    B = np.zeros((sum(len(block) for block in blocks), count(links)), dtype=np.asarray(x).dtype)
    row = 0
    for link, block in zip(links, blocks, strict=True):
        B[row : row + len(block), link.x] = block
        row += len(block)
    return np.array(q), B


def motion_to_core(links, x, dx, ddx):
    """Return the core's q, v, a of a motion, and B: v = B x', a = B x'' + B' x'."""
    q, B = to_core(links, x)
    return q, B @ dx, B @ ddx + rate(lambda at: to_core(links, at)[1], x, dx) @ dx, B


def as_quaternion(R):
    """Return the unit quaternion (x, y, z, w) of a rotation, from the largest column of 4 q q^T."""
    a, t = 2 * vee(R), np.trace(R)
    Q = np.block([[R + R.T + (1 - t) * np.eye(3), a[:, None]], [a[None], np.array([[1 + t]])]])
    column = Q[:, np.argmax(np.diag(Q).real)]
    return column / np.sqrt(column @ column)


def random_state(links, rng, speed: float = 1.0):
    """Return random coordinates x, rates x' and second rates x''. Quaternions and their rates keep the length 1."""
    n = count(links)
    x, dx, ddx = rng.uniform(-1, 1, n), speed * rng.standard_normal(n), rng.standard_normal(n)
    for link in links:
        if link.kind in ("ball", "free") and link.rotation == "quaternion":
            four = slice(link.x.stop - 4, link.x.stop)
            x[four] /= np.linalg.norm(x[four])
            dx[four] -= (dx[four] @ x[four]) * x[four]
    return x, dx, ddx


def systems() -> dict[str, vt.Model]:
    """Return a chain, the tree of the tutorial's figure 1, and a floating humanoid."""
    tree = vt.Tree("figure 1", gravity=(0.0, 0.0, -9.81))
    first = tree.world.add(vt.universal("q1"), vt.body("link 1", 2.0, (0.2, 0.1, 0.3), (0, 0, 0.3)))
    second = first.add(vt.tz(0.6), vt.ball("q2"), vt.body("link 2", 1.5, (0.1, 0.2, 0.15), (0.1, 0, 0.2)))
    second.add(vt.fixed(xyz=(0.2, 0, 0.5)), vt.rx("q3"), vt.body("link 3", 1.0, (0.1, 0.1, 0.05), (0, 0, 0.2)))
    second.add(vt.fixed(xyz=(-0.2, 0, 0.5)), vt.ry("q4"), vt.body("link 4", 1.0, (0.1, 0.1, 0.05), (0, 0.1, 0.2)))
    return {"chain of ten": vt.load_urdf(vt.find_robot("chain10")), "figure 1": tree.compile(),
            "humanoid": vt.load_urdf(vt.find_robot("human"), base="free")}  # fmt: skip


def apart(a, b) -> float:
    """Return the largest difference of two arrays, over the largest entry of the second."""
    return float(np.abs(a - b).max() / np.abs(b).max())


def report(found: dict[str, float], title: str = "") -> dict[str, float]:
    """Print each difference on a line, and return them all."""
    if title:
        print(f"\n{title}")
    for what, difference in found.items():
        print(f"{what:75s} {difference:8.1e}")
    return found


def survey(compared, seed: int) -> dict[str, float]:
    """Report compared(links, model, x, x', x'') at random states of each system, by each kind of rotation."""
    rng, found = np.random.default_rng(seed), dict[str, float]()
    for name, model in systems().items():
        turning = {"ball", "free"} & {link.kind for link in links_of(model)}
        for rotation in ROTATIONS if turning else ("none",):
            links, title = links_of(model, rotation), f"{name}, ball joints: {rotation}"
            each = report(compared(links, model, *random_state(links, rng)), title)
            found |= {f"{title}: {what}": difference for what, difference in each.items()}
    return found
