"""Section 4: one rigid body by Lagrange's equations, its rotation written in three ways.

    python section4_rigid_body.py

J_v and J_omega are taken from their definitions, the derivatives of x(q) and R(q) by each coordinate (eqs. 28 and 29),
and compared with the closed forms of section 5. M and C of eq. 48 are those of the core's free joint, carried over by
the B of v = B q'. In between stands the identity on which C rests: d j_j / dq_k - d j_k / dq_j = j_k x j_j (eq. 42).
"""

import numpy as np
from beside import apart, motion_to_core, random_state, report
from links import count, links_of
from rotations import ROTATIONS, cross, rate, vee

import vitree as vt

MASS, INERTIA = 2.0, (0.3, 0.5, 0.4)  # [kg], [kg m^2]


def by_definition(link, x):
    """J_v = dx/dq (eq. 28), and J_omega of the columns j_j with [j_j] = dR/dq_j R^T (eq. 29)."""
    R, each = link.joint(x)[0], np.eye(len(x))
    J_v = np.column_stack([rate(lambda at: link.joint(at)[1], x, e) for e in each])
    J_omega = np.column_stack([vee(rate(lambda at: link.joint(at)[0], x, e) @ R.T) for e in each])
    return J_v, J_omega


def jacobian(link, x):
    """J in closed form, (6, n) (eqs. 31, 52 and 54)."""
    _, _, J_omega, J_v = link.joint(x)
    return np.vstack((J_v, J_omega))


def cartesian_mass(link, x):
    """M_c = blockdiag(m, I_c) (eq. 27)."""
    R, nothing = link.joint(x)[0], np.zeros((3, 3))
    return np.block([[link.mass * np.eye(3), nothing], [nothing, R @ link.inertia @ R.T]])


def compared(rotation: str, rng) -> dict[str, float]:
    """Return the differences of this and the core, at a random state."""
    tree = vt.Tree("body", gravity=(0, 0, 0))
    tree.world.add(vt.free("base"), vt.body("body", MASS, INERTIA))
    model = tree.compile()
    (link,) = links = links_of(model, rotation)
    x, dx, _ = random_state(links, rng)
    n, J, M_c = count(links), jacobian(link, x), cartesian_mass(link, x)
    dJ = rate(lambda at: jacobian(link, at), x, dx)
    omega = np.zeros((6, 6))
    omega[3:, 3:] = cross(J[3:] @ dx)  # [omega~] (eq. 44)
    M, C = J.T @ M_c @ J, (J.T @ M_c @ dJ + J.T @ omega @ M_c @ J) @ dx

    slopes = np.array([rate(lambda at: jacobian(link, at)[3:], x, e) for e in np.eye(n)])  # d J_omega / dq_k
    z = slopes.transpose(2, 0, 1) - slopes.transpose(0, 2, 1)  # z_jk, first index j
    bracket = np.cross(J[3:].T[None], J[3:].T[:, None])  # j_k x j_j
    q, v, a, B = motion_to_core(links, x, dx, 0 * dx)
    return {
        "J_v and J_omega by definition: in closed form": apart(np.vstack(by_definition(link, x)), J),
        "d j_j / dq_k - d j_k / dq_j: j_k x j_j (eq. 42)": apart(z, bracket),
        "M = J^T M_c J: crba": apart(M, B.T @ model.crba(q) @ B),
        "C (eq. 48): rnea": apart(C, B.T @ model.rnea(q, v, a)),
    }


def main() -> dict[str, float]:
    rng = np.random.default_rng(4)
    found = {rotation: report(compared(rotation, rng), rotation) for rotation in ROTATIONS}
    return {f"{r}: {what}": difference for r in found for what, difference in found[r].items()}


if __name__ == "__main__":
    main()
