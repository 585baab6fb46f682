"""Kobilarov et al. 2009, Fig. 2: at each pose the two transformed momenta differ by the impulse of the force (eq. 4).

    python fig02_momentum_balance.py [--quick] [--out FOLDER]

The paper draws it: the momenta mu_{k-1} and mu_k of the steps before and after a pose g_k belong to different places.
The maps dtau^-1 take both to g_k, and there their difference is the impulse h f_k.

Result: for a body that tumbles under a steady wrench the equation holds to round-off with every map and its tangent,
computed here from the poses of compiled runs. Without the maps the difference is off by more than the impulse.
"""

import sys
from pathlib import Path

import numpy as np

import vitree as vt
from vitree.lie import SE3, matrix_from_pose

sys.path.append(str(Path(__file__).parents[1]))
import common

WRENCH = np.array([0.3, -0.2, 0.1, 0.5, 0.0, -0.4])  # N m, N
MAPS = "exp", "cayley", "dual-cayley"


def balance(run, inertia, name: str) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Both transformed momenta at the inner poses, and the plain difference of the momenta, (n, 6) each."""
    tau, h = SE3.maps[name], run.t[1] - run.t[0]
    g = np.array([matrix_from_pose(q) for q in run.q])
    x = tau.log(np.linalg.inv(g[:-1]) @ g[1:])
    mu = x @ inertia / h
    after = np.array([tau.dtau_inv_transposed(a, m) for a, m in zip(x[1:], mu[1:], strict=True)])
    before = np.array([tau.dtau_inv_transposed(-a, m) for a, m in zip(x[:-1], mu[:-1], strict=True)])
    return before, after, mu[1:] - mu[:-1]


def main() -> None:
    arguments = common.arguments(__doc__)
    h, steps = 0.1, 40 if arguments.quick else 400
    J, M = np.diag([1.0, 2.0, 3.0]), np.diag([4.0, 5.0, 7.0])
    body = vt.vehicles.RigidVehicle(J, M, mass=1.0, gravity=(0, 0, 0), controls={"push": WRENCH})
    inertia = np.block([[J, np.zeros((3, 3))], [np.zeros((3, 3)), M]])
    v0 = [0.5, 0.2, -0.3, 1.0, -0.7, 0.4]
    rows, found, shown = [], {}, None
    for name in MAPS:
        run = vt.simulate(body, v0=v0, duration=steps * h, dt=h, control=vt.Control(inputs={"push": 1.0}), map=name,
                          alpha=1.0,
                          tolerance=1e-14)  # fmt: skip
        before, after, plain = balance(run, inertia, name)
        size = np.abs(h * WRENCH).max()
        found[name] = np.abs(after - before - h * WRENCH).max() / size, np.abs(plain - h * WRENCH).max() / size
        rows.append([name, *(f"{x:.1e}" for x in found[name])])
        shown = (run.t[1:-1], before, after, plain) if shown is None else shown
    print(f"{steps} steps of {h:g} s: largest error of the balance, as a share of the impulse h f")
    common.table(["map", "with dtau^-1", "without"], rows)

    figure, axes = common.figure(1, 2, size=(10, 3.8))
    t, before, after, plain = shown
    k = 3
    axes[0].plot(t, (after - before)[:, k], label="with the maps", **common.LINES[0])
    axes[0].plot(t, plain[:, k], label="without", **common.LINES[2])
    axes[0].axhline(h * WRENCH[k], color="0.6", linewidth=4, zorder=0, label="h f")
    axes[0].set(xlabel="time [s]", ylabel="change of the momentum, x [N s]", xlim=(0, 4))
    axes[1].semilogy(t, np.abs(after - before - h * WRENCH).max(axis=1).clip(1e-17), **common.LINES[0])
    axes[1].set(xlabel="time [s]", ylabel="error of the balance [N s, N m s]")
    figure.legend(*axes[0].get_legend_handles_labels(), loc="outside upper center", ncols=3, fontsize="small")
    common.save(figure, arguments.out, "fig02_momentum_balance.png")
    common.claims(
        ("transformed to the same pose, the difference of the momenta equals the impulse h f of the external force",
         f"it does, to {max(x[0] for x in found.values()):.0e} of the impulse with all three maps; untransformed it is "
         f"off by {found['exp'][1]:.1f} times the impulse", max(x[0] for x in found.values()) < 1e-9),
    )  # fmt: skip


if __name__ == "__main__":
    main()
