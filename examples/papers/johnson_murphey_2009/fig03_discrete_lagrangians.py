"""Johnson & Murphey 2009, Fig. 3: discrete Lagrangians by four quadratures, and the orders of their trajectories.

    python fig03_discrete_lagrangians.py [--quick] [--out FOLDER]

The figure shows areas that approximate the action: rectangles from the left and from the right, the midpoint rule, and
trapezoids. The text says: the order of the approximation is directly related to the order of the trajectory.

Result: the rectangles make integrators of first order, the midpoint and the trapezoid of second order. The sums of
their discrete Lagrangians along the exact motion have the same orders.
"""

import sys
from itertools import pairwise
from pathlib import Path

import mechanisms
import numpy as np

import vitree as vt

sys.path.append(str(Path(__file__).parents[1]))
import common

#: Rule -> share alpha of the step at which L is taken, and how many such parts a step has.
RULES = {"left": (0.0,), "right": (1.0,), "midpoint": (0.5,), "trapezoid": (0.0, 1.0)}


def discrete(model, q, nxt, h: float, rule: str) -> float:
    """L_d of a step, the mean of L at the rule's points times h."""
    v = (nxt - q) / h
    return h * np.mean([model.lagrangian(q + alpha * (nxt - q), v) for alpha in RULES[rule]])


def slopes(model, q, nxt, h: float, rule: str) -> tuple[np.ndarray, np.ndarray]:
    """D1 L_d and D2 L_d, from the exact slopes of L by q and v."""
    v, D1, D2 = (nxt - q) / h, 0.0, 0.0
    for alpha in RULES[rule]:
        at = q + alpha * (nxt - q)
        M, rest = model.crba(at), _by_q(model, at, v)
        D1 = D1 + (h * (1 - alpha) * rest - M @ v) / len(RULES[rule])
        D2 = D2 + (h * alpha * rest + M @ v) / len(RULES[rule])
    return D1, D2


def _by_q(model, q, v) -> np.ndarray:
    """dL/dq, by the central difference of fourth order."""
    e = 1e-3
    out = np.zeros(len(q))
    for k, d in enumerate(e * np.eye(len(q))):
        out[k] = (8 * (model.lagrangian(q + d, v) - model.lagrangian(q - d, v))
                  - model.lagrangian(q + 2 * d, v) + model.lagrangian(q - 2 * d, v)) / (12 * e)  # fmt: skip
    return out


def integrate(model, q, v, h: float, steps: int, rule: str) -> np.ndarray:
    """Solve p_k + D1 L_d(q_k, q_{k+1}) = 0, p_{k+1} = D2 L_d, by Newton's method with the matrix M / h."""
    p, path = model.crba(q) @ v, [q]
    nxt = q + h * v
    for _ in range(steps):
        for _ in range(100):
            f = p + slopes(model, q, nxt, h, rule)[0]
            change = np.linalg.solve(model.crba(q) / h, f)
            nxt = nxt + change
            if np.abs(change).max() < 1e-14:
                break
        p = slopes(model, q, nxt, h, rule)[1]
        q, nxt = nxt, 2 * nxt - q
        path.append(q)
    return np.array(path)


def main() -> None:
    arguments = common.arguments(__doc__)
    model, q0 = mechanisms.link_pendulum(2)
    v0, duration = np.zeros(2), 1.0
    counts = (25, 50) if arguments.quick else (25, 50, 100, 200)
    t = np.linspace(0.0, duration, counts[-1] + 1)
    exact = vt.simulate(model, q0, v0, duration=duration, dt=t[1], method="scipy-dop853", rtol=1e-12, atol=1e-13).q
    fine = vt.simulate(model, q0, v0, duration=duration, dt=duration / 4000, method="rk4")
    action = np.trapezoid([model.lagrangian(q, v) for q, v in zip(fine.q, fine.v, strict=True)], fine.t)
    rows, orders, errors = [], {}, {}
    for rule in RULES:
        off, sums = [], []
        for n in counts:
            h, every = duration / n, counts[-1] // n
            path = integrate(model, q0, v0, h, n, rule)
            off.append(np.abs(path - exact[::every]).max())
            there = exact[::every]
            sums.append(abs(sum(discrete(model, a, b, h, rule) for a, b in pairwise(there))
                            - action))  # fmt: skip
        errors[rule] = off
        orders[rule] = [-np.polyfit(np.log(counts), np.log(x), 1)[0] for x in (off, sums)]
        rows.append([rule, *(f"{x:.1e}" for x in off), *(f"{x:.2f}" for x in orders[rule])])
    h = duration / counts[0]
    peer = 0.0
    for rule in ("midpoint", "trapezoid"):  # which are methods
        run = vt.simulate(model, q0, v0, duration=duration, dt=h, method=rule, tolerance=1e-13)
        peer = max(peer, np.abs(integrate(model, q0, v0, h, counts[0], rule) - run.q).max())
    print(f"double pendulum, {duration:g} s: largest error of the angles [rad] by the number of steps; orders of the")
    print("trajectory, and of the action sum along the exact one")
    common.table(["rule", *counts, "order", "of the sum"], rows)
    print(f"midpoint and trapezoid have the steps of the methods of these names to {peer:.0e} rad")

    figure, axes = common.figure(1, 5, size=(15, 3.4), width_ratios=[1, 1, 1, 1, 1.5])
    picture(axes[:4], model, fine)
    for style, mark, (rule, off) in zip(common.LINES, "o^sv", errors.items(), strict=False):
        axes[4].loglog(duration / np.array(counts), off, marker=mark, markersize=4, label=rule, **style)
    axes[4].set(xlabel="time step [s]", ylabel="error [rad]")
    axes[4].legend(fontsize="small")
    common.save(figure, arguments.out, "fig03_discrete_lagrangians.png")
    common.claims(
        ("the order of accuracy of the approximation is directly related to that of the trajectory",
         "; ".join(f"{rule}: action {both[1]:.2f}, trajectory {both[0]:.2f}" for rule, both in orders.items()),
         all(abs(both[0] - both[1]) < 0.25 for both in orders.values())),
    )  # fmt: skip


def picture(panels, model, fine) -> None:
    """The Lagrangian along the exact motion, and what each rule takes of it in eight steps."""
    L = np.array([model.lagrangian(q, v) for q, v in zip(fine.q, fine.v, strict=True)])
    nodes = np.linspace(0, fine.t[-1], 9)
    for panel, rule in zip(panels, RULES, strict=True):
        for a, b in pairwise(nodes):
            ends = [np.interp(a + alpha * (b - a), fine.t, L) for alpha in (RULES[rule] * 2)[:2]]
            panel.fill_between([a, b], ends, facecolor="0.85", edgecolor="0.5", linewidth=0.8)
        panel.plot(fine.t, L, **common.LINES[0])
        panel.set(title=rule, xlabel="time [s]", ylabel="L [J]" if rule == "left" else None)


if __name__ == "__main__":
    main()
