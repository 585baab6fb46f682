"""Section 2: Lagrange's equations of particles: M and C of two point masses on rods.

    python section2_lagrange.py

The particles are at r_1(q) and r_2(q), q the angles of the rods from straight down. M is the sum of mu J^T J (eq. 16),
C is M' q' minus half the derivative of q'^T M q' (eq. 17). The core has no particles; bodies without inertia stand for
them.
"""

import numpy as np
from beside import apart, report
from rotations import rate

import vitree as vt

MASSES, LENGTHS, GRAVITY = (1.0, 2.0), (0.8, 0.5), np.array([0.0, 0.0, -9.81])  # [kg], [m], [m/s^2]


def jacobians(q):
    """J_1 and J_2, the derivatives of r_1 and r_2 by q, (2, 3, 2) (eq. 15)."""
    a, b = q[0], q[0] + q[1]  # both angles turn what is below them
    first = LENGTHS[0] * np.array([-np.cos(a), 0 * a, np.sin(a)])
    second = LENGTHS[1] * np.array([-np.cos(b), 0 * b, np.sin(b)])
    return np.array([np.column_stack((first, 0 * first)), np.column_stack((first + second, second))])


def mass_matrix(q):
    """M = sum of mu J^T J (eq. 16)."""
    return sum(mu * J.T @ J for mu, J in zip(MASSES, jacobians(q), strict=True))


def slopes_of_mass(q):
    """dM/dq_j, first index j."""
    return np.array([rate(mass_matrix, q, e) for e in np.eye(len(q))])


def coriolis(q, dq):
    """C = M' q' - (dM/dq q')^T q' / 2 (eq. 17): column j of dM/dq q' is dM/dq_j q'."""
    columns = (slopes_of_mass(q) @ dq).T
    return rate(mass_matrix, q, dq) @ dq - columns.T @ dq / 2


def main() -> dict[str, float]:
    tree = vt.Tree("two particles", gravity=GRAVITY)
    first = tree.world.add(vt.ry("q1"), vt.tz(-LENGTHS[0]), vt.body("r1", MASSES[0]))
    first.add(vt.ry("q2"), vt.tz(-LENGTHS[1]), vt.body("r2", MASSES[1]))
    model = tree.compile()
    q, dq, ddq = np.array([0.7, -1.1]), np.array([2.0, -3.0]), np.array([0.5, 4.0])
    J, M, C = jacobians(q), mass_matrix(q), coriolis(q, dq)
    weight = sum(mu * J_i.T @ GRAVITY for mu, J_i in zip(MASSES, J, strict=True))  # Q = J^T f (eq. 3)

    print("column j of dM/dq q' is not column j of M', as the tutorial notes:")
    print((slopes_of_mass(q) @ dq).T.round(4), rate(mass_matrix, q, dq).round(4), sep="\n")
    return report({
        "J_1: frame_jacobian": apart(J[0], model.frame_jacobian("r1", q)[3:]),
        "J_2: frame_jacobian": apart(J[1], model.frame_jacobian("r2", q)[3:]),
        "M: crba": apart(M, model.crba(q)),
        "q'^T M q' / 2: kinetic energy": apart(dq @ M @ dq / 2, np.array(model.kinetic_energy(q, dq))),
        "M q'' + C - Q of gravity: rnea": apart(M @ ddq + C - weight, model.rnea(q, dq, ddq)),
    })  # fmt: skip


if __name__ == "__main__":
    main()
