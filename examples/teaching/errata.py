"""Errors in the tutorial's text, each with a number that would be zero without the error.

    python errata.py

The manual has the corrections (docs/theory/errata.md). All other equations in the sections' scripts hold to round-off.
"""

import numpy as np
from beside import apart, random_state, systems
from links import links_of
from rotations import exponential, quaternion
from section5_articulated import kinematics
from section6_conversions import joint_wise
from section7_inverse_dynamics import inward, outward

import vitree as vt


def one_pseudo_inverse_for_another(links, x, dx):
    """Eq. 66, first line, as an equation of matrices."""
    D, R, J_hat = joint_wise(links, x)
    J_omega = kinematics(links, x)[3].reshape(-1, len(x))
    return apart(np.linalg.pinv(J_hat) @ R.T @ D, np.linalg.pinv(J_omega))


def translation_from_all_of_v(links, x, dx):
    """Section 6.1, last paragraph: the root's translation rates as v_1, J_v1 the identity."""
    return apart(kinematics(links, x)[2][0] @ dx, dx[:3])


def force_on_a_slider():
    """Eq. 84's acceleration in eq. 72: the force along a slot in a turntable, minus the core's force."""
    tree = vt.Tree("turntable", gravity=(0, 0, 0))
    tree.world.add(vt.rz("turn"), vt.tx("slide"), vt.body("slider", 1.0))
    q, v, a = np.array([0.3, 0.5]), np.array([2.0, 0.7]), np.array([0.1, -0.4])
    omega, domega, along = np.array([0, 0, v[0]]), np.array([0, 0, a[0]]), np.eye(3)[0]
    dv = np.cross(domega, q[1] * along) + np.cross(omega, v[1] * along) + a[1] * along  # eq. 84
    return abs(dv[0] - tree.compile().rnea(q, v, a)[1])


def force_on_the_root(links, x):
    """Section 7.3, base case: f_0 of the root link at rest, which should be zero."""
    f, _ = inward(links, outward(links, x, 0 * x, 0 * x, np.array([0.0, 0.0, -1.0])))
    return np.linalg.norm(f[0]) / sum(link.mass for link in links)


def main() -> dict[str, float]:
    rng, robots = np.random.default_rng(8), systems()
    figure1, human = (links_of(robots[name]) for name in ("figure 1", "humanoid"))
    x, dx, _ = random_state(figure1, rng)
    y, dy, _ = random_state(human, rng)
    q = rng.standard_normal(4)
    found = {
        "J_omega^+ and J-hat^+ R^T D (eq. 66), apart as matrices": one_pseudo_inverse_for_another(figure1, x, dx),
        "rates of the root's translation and v_1 (section 6.1)": translation_from_all_of_v(human, y, dy),
        "force along a slot by eq. 84 [N]": force_on_a_slider(),
        "f_0 of a figure at rest, over its weight (section 7.3)": force_on_the_root(figure1, x),
        "coordinates of a quaternion beyond its rank (section 6.1)": 4.0 - np.linalg.matrix_rank(quaternion(q)[1]),
        "rank that eq. 54 loses at an angle of 2 pi": 3.0 - np.linalg.matrix_rank(
            exponential(2 * np.pi * np.array([0.6, 0.0, 0.8]))[1], tol=1e-9
        ),
    }  # fmt: skip
    for what, number in found.items():
        print(f"{what:62s} {number:8.3f}")
    return found


if __name__ == "__main__":
    main()
