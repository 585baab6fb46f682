"""Section 6: velocities and forces, converted between generalised and Cartesian coordinates in both directions.

    python section6_conversions.py

Velocities of all links give the rates q', by one pseudo-inverse or joint by joint. Forces at points, torques on links
and torques in joints give generalised forces Q. Many choices of forces give the same Q; the section takes one.
"""

import numpy as np
from beside import apart, survey, to_core
from links import count
from rotations import cross
from section5_articulated import kinematics


def joint_wise(links, x):
    """D, and R and J-hat with R J-hat = D J_omega: constant, of rotations, and of blocks 3 x n(k) (eqs. 63 and 64)."""
    m, turned = len(links), kinematics(links, x)[0]
    D, R, J_hat = np.eye(3 * m), np.zeros((3 * m, 3 * m)), np.zeros((3 * m, count(links)))
    for k, link in enumerate(links):
        own, parent = slice(3 * k, 3 * k + 3), slice(3 * link.parent, 3 * link.parent + 3)
        R[own, own] = np.eye(3) if link.parent < 0 else turned[link.parent]
        J_hat[own, link.x] = link.joint(x)[2]
        if link.parent >= 0:
            D[own, parent] = -np.eye(3)
    return D, R, J_hat


def rates_joint_by_joint(links, x, v, omega):
    """q' from the velocities of the links, a joint at a time: turning by eq. 66, sliding from what is left of v."""
    D, R, _ = joint_wise(links, x)
    J_v, dx = kinematics(links, x)[2], np.zeros(count(links))
    for k, (link, omega_hat) in enumerate(zip(links, (R.T @ D @ omega.ravel()).reshape(-1, 3), strict=True)):
        J_turn = link.joint(x)[2]
        dx[link.x] = np.linalg.pinv(J_turn) @ omega_hat
        slides = np.arange(count(links))[link.x][~J_turn.any(axis=0)]
        dx[slides] = np.linalg.pinv(J_v[k][:, slides]) @ (v[k] - J_v[k] @ dx)
    return dx


def compared(links, model, x, dx, _) -> dict[str, float]:
    """Return the differences of the ways, for random forces and torques."""
    rng, (q, B) = np.random.default_rng(0), to_core(links, x)
    _, com, J_v, J_omega = kinematics(links, x)
    D, R, J_hat = joint_wise(links, x)
    all_turns = J_omega.reshape(-1, len(x))
    J = np.vstack((J_v.reshape(-1, len(x)), all_turns))
    found = {
        "q' by the pseudo-inverse of J (eq. 61)": apart(np.linalg.pinv(J) @ J @ dx, dx),
        "q' joint by joint (eq. 66)": apart(rates_joint_by_joint(links, x, J_v @ dx, J_omega @ dx), dx),
        "J-hat = R^T D J_omega (eq. 65)": apart(R.T @ D @ all_turns, J_hat),
    }
    # a force at a point of each link, and a torque on it
    names = [model.frame_names[list(model.flat.frame_body).index(k)] for k in range(len(links))]
    points = np.array([model.frame_pose(name, q)[:3, 3] for name in names])
    f, tau = rng.standard_normal((2, len(links), 3))
    J_point = J_v - np.array([cross(r - c) @ J for r, c, J in zip(points, com, J_omega, strict=True)])
    Q = np.einsum("kin,ki->n", J_point, f) + np.einsum("kin,ki->n", J_omega, tau)
    core = sum(model.frame_jacobian(n, q).T @ np.append(t, push) for n, t, push in zip(names, tau, f, strict=True))
    found["Q of forces and torques (eq. 67): frame_jacobian"] = apart(Q, B.T @ core)
    moved = np.einsum("kin,ki->n", J_v, f) + np.einsum("kin,ki->n", J_omega, tau + np.cross(points - com, f))
    found["Q of the forces moved to the centres of mass (note after eq. 67)"] = apart(moved, Q)
    # torques in the joints, in the parents' frames
    tau_hat = rng.standard_normal(3 * len(links))
    found["Q of torques in the joints (eq. 69): of those on the links (eq. 68)"] = apart(
        J_hat.T @ tau_hat, all_turns.T @ (R.T @ D).T @ tau_hat
    )
    core = rng.standard_normal(model.nv)
    Q = B.T @ core
    found["Q of the f and tau that the pseudo-inverse makes of it (eq. 70)"] = apart(J.T @ np.linalg.pinv(J.T) @ Q, Q)
    tau_hat, turning = np.linalg.pinv(J_hat.T) @ Q, J_hat.any(axis=0)
    found["Q of the tau-hat that it makes, joint by joint (eq. 71)"] = apart((J_hat.T @ tau_hat)[turning], Q[turning])
    # the core has the torque of a ball joint in the link's own axes
    ends = np.cumsum([{"ball": 3, "free": 6}.get(link.kind, 1) for link in links])
    for link, part, end in zip(links, tau_hat.reshape(-1, 3), ends, strict=True):
        if link.kind in ("ball", "free"):
            found[f"tau-hat of a {link.kind} joint: the core's torque, turned"] = apart(
                part, link.joint(x)[0] @ core[end - 3 : end]
            )
    return found


def main() -> dict[str, float]:
    return survey(compared, seed=6)


if __name__ == "__main__":
    main()
