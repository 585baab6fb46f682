"""Section 5: Jacobians of the links, mass matrix and Coriolis term of an articulated system.

    python section5_articulated.py

J_v and J_omega of each link follow from its parent's. The mass matrix is the sum of J^T M_c J over the links. The
Coriolis term needs J' and omega (eq. 59). The core has no such sums: its mass matrix comes from the composite rigid
body algorithm, its bias forces from a recursion.
"""

import numpy as np
from beside import apart, motion_to_core, survey
from links import count
from rotations import cross, rate


def kinematics(links, x):
    """R of each link in the world, position of its centre of mass, J_v and J_omega (eqs. 50, 51, 57)."""
    n, R, origin, found = count(links), [], [], []
    nothing = np.zeros((3, n), dtype=np.asarray(x).dtype)
    J_origin, J_omega = [], []
    for link in links:
        parent = link.parent
        R_p, o_p = (R[parent], origin[parent]) if parent >= 0 else (np.eye(3), np.zeros(3))
        Jo_p, Jw_p = (J_origin[parent], J_omega[parent]) if parent >= 0 else (nothing, nothing)
        R_k, d_k, J_turn, J_move = link.joint(x)
        J_own, J_shift = nothing.copy(), nothing.copy()
        J_own[:, link.x], J_shift[:, link.x] = R_p @ J_turn, R_p @ J_move
        R.append(R_p @ R_k)
        origin.append(o_p + R_p @ d_k)
        J_omega.append(Jw_p + J_own)
        J_origin.append(Jo_p - cross(R_p @ d_k) @ Jw_p + J_shift)
        arm = R[-1] @ link.com
        found.append((R[-1], origin[-1] + arm, J_origin[-1] - cross(arm) @ J_omega[-1], J_omega[-1]))
    return [np.array(part) for part in zip(*found, strict=True)]


def jacobians(links, x):
    """J_k = (J_v, J_omega) of every link, (links, 6, n) (eq. 58)."""
    _, _, J_v, J_omega = kinematics(links, x)
    return np.concatenate((J_v, J_omega), axis=1)


def cartesian_masses(links, x):
    """M_c of every link, mass and inertia in world axes, (links, 6, 6) (eq. 27)."""
    M = np.zeros((len(links), 6, 6), dtype=np.asarray(x).dtype)
    for k, (link, R) in enumerate(zip(links, kinematics(links, x)[0], strict=True)):
        M[k, :3, :3], M[k, 3:, 3:] = link.mass * np.eye(3), R @ link.inertia @ R.T
    return M


def mass_matrix(links, x):
    """M = sum of J^T M_c J (eq. 59)."""
    J = jacobians(links, x)
    return sum(J_k.T @ M_k @ J_k for J_k, M_k in zip(J, cartesian_masses(links, x), strict=True))


def coriolis(links, x, dx):
    """C = sum of J^T (M_c J' + [omega~] M_c J) q' (eq. 59)."""
    J, dJ = jacobians(links, x), rate(lambda at: jacobians(links, at), x, dx)
    total = np.zeros(len(dx))
    for J_k, dJ_k, M_k in zip(J, dJ, cartesian_masses(links, x), strict=True):
        omega = np.zeros((6, 6))
        omega[3:, 3:] = cross(J_k[3:] @ dx)
        total += J_k.T @ (M_k @ dJ_k + omega @ M_k @ J_k) @ dx
    return total


def gravity_force(links, x, g):
    """Q of gravity, its force at each centre of mass (eq. 48)."""
    return sum(link.mass * J.T @ g for link, J in zip(links, kinematics(links, x)[2], strict=True))


def compared(links, model, x, dx, ddx) -> dict[str, float]:
    """Return the differences of this and the core."""
    q, v, a, B = motion_to_core(links, x, dx, ddx)
    _, com, J_v, J_omega = kinematics(links, x)
    found, frames = {}, []
    for name, body in zip(model.frame_names, model.flat.frame_body, strict=True):
        if body < 0:
            continue
        point = model.frame_pose(name, q)[:3, 3] - com[body]
        ours = np.vstack((J_omega[body], J_v[body] - cross(point) @ J_omega[body]))
        frames.append(apart(ours, model.frame_jacobian(name, q) @ B))
    found["J of all named frames, the worst: frame_jacobian"] = max(frames)
    definition = np.stack([rate(lambda at: kinematics(links, at)[1], x, e) for e in np.eye(len(x))], axis=-1)
    found["J_v: derivatives of the centres of mass by q (eq. 57)"] = apart(J_v, definition)
    M, C = mass_matrix(links, x), coriolis(links, x, dx)
    found["M: crba"] = apart(M, B.T @ model.crba(q) @ B)
    found["M q'' + C - Q of gravity: rnea"] = apart(
        M @ ddx + C - gravity_force(links, x, model.gravity), B.T @ model.rnea(q, v, a)
    )
    found["q'^T M q' / 2: kinetic energy"] = apart(dx @ M @ dx / 2, np.array(model.kinetic_energy(q, v)))
    return found


def main() -> dict[str, float]:
    return survey(compared, seed=5)


if __name__ == "__main__":
    main()
