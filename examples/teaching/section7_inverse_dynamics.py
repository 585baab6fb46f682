"""Section 7: inverse dynamics in two passes, all in the links' own frames.

    python section7_inverse_dynamics.py

The outward pass computes velocity and acceleration of each link from its parent's. The inward pass computes force and
torque in each joint from the children's, by the equations of Newton and Euler. The tutorial has joints that turn (eqs.
76 to 80) or slide (eqs. 82 to 84). The joint of this script is general: d_k and R_k both move. The core does the same
with spatial vectors about the joints.
"""

import numpy as np
from beside import apart, motion_to_core, survey
from rotations import rate


def outward(links, x, dx, ddx, gravity):
    """Pass 1: R_k, d_k, and omega, omega', v' of each link, all in its own frame (eqs. 76 to 80, 85)."""
    found = []
    for link in links:
        R, d, J_turn, J_move = link.joint(x)
        dJ_turn = rate(lambda at, link=link: link.joint(at)[2], x, dx)
        own, own_rate = dx[link.x], ddx[link.x]
        omega_hat, domega_hat = J_turn @ own, J_turn @ own_rate + dJ_turn @ own
        dd, ddd = J_move @ own, J_move @ own_rate
        if link.parent >= 0:
            _, _, omega_p, domega_p, dv_p = found[link.parent]
            arm = d - links[link.parent].com
        else:
            omega_p, domega_p, dv_p, arm = np.zeros(3), np.zeros(3), -gravity, d  # the world (eq. 85)
        omega = R.T @ (omega_p + omega_hat)
        domega = R.T @ (domega_p + domega_hat + np.cross(omega_p, omega_hat))
        # of the joint, in the parent's frame; the terms with d' and d'' are those that eq. 84 should have
        dv_joint = (dv_p + np.cross(domega_p, arm) + np.cross(omega_p, np.cross(omega_p, arm))
                    + 2 * np.cross(omega_p, dd) + ddd)  # fmt: skip
        dv = R.T @ dv_joint + np.cross(omega, np.cross(omega, link.com)) + np.cross(domega, link.com)
        found.append((R, d, omega, domega, dv))
    return found


def inward(links, moving):
    """Pass 2: force and torque on each link in its joint, in the link's frame (eqs. 72 and 73)."""
    f, tau = np.zeros((2, len(links), 3))
    for k in reversed(range(len(links))):
        link, (R, d, omega, domega, dv) = links[k], moving[k]
        f[k] += link.mass * dv
        tau[k] += link.inertia @ domega + np.cross(omega, link.inertia @ omega) + np.cross(link.com, link.mass * dv)
        if link.parent >= 0:
            f[link.parent] += R @ f[k]
            tau[link.parent] += R @ tau[k] + np.cross(d, R @ f[k])
    return f, tau


def inverse_dynamics(links, x, dx, ddx, gravity):
    """Return Q for a motion: the components along each joint of its force and torque (eq. 69)."""
    moving = outward(links, x, dx, ddx, gravity)
    Q = []
    for link, (R, *_), f, tau in zip(links, moving, *inward(links, moving), strict=True):
        _, _, J_turn, J_move = link.joint(x)
        Q += [*(J_turn.T @ R @ tau + J_move.T @ R @ f)]
    return np.array(Q)


def compared(links, model, x, dx, ddx) -> dict[str, float]:
    """Return the differences of this and the core."""
    q, v, a, B = motion_to_core(links, x, dx, ddx)
    return {"Q: rnea": apart(inverse_dynamics(links, x, dx, ddx, model.gravity), B.T @ model.rnea(q, v, a))}


def main() -> dict[str, float]:
    return survey(compared, seed=7)


if __name__ == "__main__":
    main()
