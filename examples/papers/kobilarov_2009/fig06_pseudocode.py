"""Kobilarov et al. 2009, Fig. 6, eqs. 9 to 14 and appendix A: the holonomic integrator, written out in NumPy.

    python fig06_pseudocode.py [--quick] [--out FOLDER]

The pseudocode: choose tau = exp or cay, compute B_tau and C_tau, solve eq. 10 for the next velocity, update the pose by
eq. 9. The script is that pseudocode, for a free body. It runs all pairs of a pose update (B) and a momentum equation
(C) that the text offers, printed ones and corrected ones.

Result: every pair is of second order, as the paper says of C_TLN. Only the matched pairs keep the momentum: exp with
its whole tangent, the matrix Cayley map with C_cay, and C_TLN with B_cay as printed, which is the adjoint (dual) Cayley
map. Printed B_cay with printed C_cay are of two different maps, and C_exp is cut off after its second power; with these
the momentum drifts. The compiled code has the matched pairs, and takes the same steps to round-off.
"""

import sys
from pathlib import Path

import numpy as np
from scipy.optimize import root

import vitree as vt
from vitree.lie import SE3

sys.path.append(str(Path(__file__).parents[1]))
import common

J, M = np.diag([1.0, 2.0, 3.0]), np.diag([4.0, 5.0, 7.0])
INERTIA = np.block([[J, np.zeros((3, 3))], [np.zeros((3, 3)), M]])
START = np.array([1.0, -0.7, 0.4, 0.5, 0.2, -0.3])  # angular, linear


def C_exp(x):
    """Eq. 14: 1 - ad/2 + ad^2/12, cut off there."""
    ad = SE3.ad(x)
    return np.eye(6) - ad / 2 + ad @ ad / 12


def C_cay(x):
    """Eq. 14."""
    w, v = SE3.ad(x)[:3, :3], SE3.ad(x)[3:, :3]
    ww = np.outer(x[:3], x[:3])
    return np.block([[np.eye(3) - w / 2 + ww / 4, np.zeros((3, 3))],
                     [-(np.eye(3) - w / 2) @ v / 2, np.eye(3) - w / 2]])  # fmt: skip


def C_tln(x):
    """The text after eq. 14: 1 - ad/2."""
    return np.eye(6) - SE3.ad(x) / 2


#: Pair -> pose update, momentum equation, the compiled map of the same pair, and where the pair stands.
PAIRS = {
    "exp, C_exp": (SE3.maps["exp"].tau, C_exp, None, "as printed"),
    "exp, whole C_exp": (SE3.maps["exp"].tau, SE3.maps["exp"].dtau_inv, "exp", "corrected"),
    "exp, C_TLN": (SE3.maps["exp"].tau, C_tln, None, "as printed"),
    "cay (13), C_cay": (SE3.maps["dual-cayley"].tau, C_cay, None, "as printed"),
    "cay of matrices, C_cay": (SE3.maps["cayley"].tau, C_cay, "cayley", "corrected"),
    "cay (13), C_TLN": (SE3.maps["dual-cayley"].tau, C_tln, "trapezoidal", "as printed"),
}


def integrate(tau, C, h: float, steps: int) -> tuple[np.ndarray, np.ndarray]:
    """Fig. 6: poses and velocities; the first velocity is that of half an impulse after the start."""
    xi = solve(C, h, INERTIA @ START, START)
    g, poses, velocities = np.eye(4), [np.eye(4)], []
    for _ in range(steps):
        velocities.append(xi)
        g = g @ tau(h * xi)  # eq. 9
        poses.append(g)
        xi = solve(C, h, C(-h * xi).T @ INERTIA @ xi, xi)  # eq. 10
    return np.array(poses), np.array(velocities)


def solve(C, h, momentum, guess):
    """The xi with C(h xi)^T I xi = momentum."""
    return root(lambda xi: C(h * xi).T @ INERTIA @ xi - momentum, guess, method="hybr", options={"xtol": 1e-14}).x


def drift(C, poses, velocities, h) -> float:
    """Largest change of the spatial momentum, as a share of it."""
    p = np.array([np.linalg.solve(SE3.Ad(g).T, C(h * xi).T @ INERTIA @ xi)
                  for g, xi in zip(poses[:-1], velocities, strict=True)])  # fmt: skip
    return np.abs(p - p[0]).max() / np.abs(p[0]).max()


def main() -> None:
    arguments = common.arguments(__doc__)
    duration, steps = (2.0, (40, 80)) if arguments.quick else (5.0, (50, 100, 200, 400))
    body = vt.vehicles.RigidVehicle(J, M, mass=1.0, gravity=(0, 0, 0))
    v0 = np.concatenate((START[3:], START[:3]))
    truth = body.pose(vt.simulate(body, v0=v0, duration=duration, dt=duration, method="scipy-dop853", rtol=1e-12,
                                  atol=1e-13).q[-1])  # fmt: skip
    figure, axes = common.figure(1, 2, size=(11, 4.2))
    rows, found = [], {}
    for k, (label, (tau, C, compiled, where)) in enumerate(PAIRS.items()):
        errors, drifts, apart = [], [], None
        for n in steps:
            h = duration / n
            poses, velocities = integrate(tau, C, h, n)
            errors.append(np.abs(poses[-1] - truth).max())
            drifts.append(drift(C, poses, velocities, h))
            if n == steps[0] and compiled:
                run = vt.simulate(body, v0=v0, duration=duration, dt=h, map=compiled, tolerance=1e-14)
                apart = np.abs(body.pose(run.q[-1]) - poses[-1]).max()
        order = np.polyfit(np.log(steps), -np.log(errors), 1)[0]
        found[label] = order, drifts[0], apart
        cells = f"{errors[0]:.1e} {order:.2f} {drifts[0]:.0e}".split()
        rows.append([label, where, *cells, None if apart is None else f"{apart:.0e}"])
        style = {"color": ("0.0", "0.6")[k % 2], "linestyle": ("-", "--", ":")[k // 2], "marker": "os^dvx"[k]}
        axes[0].loglog(duration / np.array(steps), errors, label=label, **style)
        axes[1].loglog(duration / np.array(steps), drifts, **style)
    print(f"free body, {duration:g} s: error of the pose and drift of the momentum at {duration / steps[0]:g} s, the")
    print("order, and the distance from the compiled code's pose")
    common.table(["pair", "text", "error", "order", "drift", "compiled"], rows)
    axes[0].set(xlabel="h [s]", ylabel="error of the pose")
    axes[1].set(xlabel="h [s]", ylabel="drift of the momentum")
    figure.legend(*axes[0].get_legend_handles_labels(), loc="outside upper center", ncols=3, fontsize="small")
    common.save(figure, arguments.out, "fig06_pseudocode.png")
    orders = [order for order, *_ in found.values()]
    matched = [label for label, (_, off, _) in found.items() if off < 1e-10]
    agrees = max(apart for *_, apart in found.values() if apart is not None)
    common.claims(
        ("C_TLN takes the place of C_exp or C_cay without losing the second order",
         f"all {len(PAIRS)} pairs have orders {min(orders):.2f} to {max(orders):.2f}", min(orders) > 1.85),
        ("the schemes preserve the momentum",
         f"to round-off only {', '.join(matched)}; exp with C_TLN drifts by {found['exp, C_TLN'][1]:.0e}, and B_cay of "
         f"eq. 13 with C_cay of eq. 14 by {found['cay (13), C_cay'][1]:.0e}",
         "of matched pairs, yes; of eqs. 13 and 14 as printed, NO (errata of eqs. 13 and 14)"),
        ("the pseudocode is the integrator", f"the compiled code takes the same steps to {agrees:.0e}", agrees < 1e-9),
    )  # fmt: skip


if __name__ == "__main__":
    main()
