"""Section 3: a rigid body of many particles: its momentum, its inertia, and the equations of Newton and Euler.

    python section3_newton_euler.py

Sums over a cloud of particles stand for the rigid body. In the core the same body has a mass, a centre of mass and an
inertia, and moves on a free joint. The core's velocity and force are in the body's axes at the joint, away from the
centre of mass.
"""

import numpy as np
from beside import apart, as_quaternion, report
from rotations import cross, exponential

import vitree as vt

GRAVITY = np.array([0.0, 0.0, -9.81])  # [m/s^2]


def cloud(rng, count: int = 20):
    """Masses of particles and their places in the body's frame."""
    return rng.uniform(0.1, 1.0, count), rng.standard_normal((count, 3))


def momentum(mu, r, v, omega):
    """P and L of particles at r' = r from the centre of mass (eqs. 18 and 19), and their inertia (from eq. 19)."""
    velocities = v + np.cross(omega, r)
    inertia = sum(-m * cross(a) @ cross(a) for m, a in zip(mu, r, strict=True))
    return mu @ velocities, mu @ np.cross(r, velocities), inertia


def newton_euler(mass, inertia, omega, dv, domega):
    """Force and torque for an acceleration (eq. 24); the inertia in world axes."""
    return mass * dv, inertia @ domega + np.cross(omega, inertia @ omega)


def main() -> dict[str, float]:
    rng = np.random.default_rng(3)
    mu, places = cloud(rng)
    mass, com = mu.sum(), mu @ places / mu.sum()
    R, x = exponential(rng.standard_normal(3))[0], rng.standard_normal(3)  # of the centre of mass
    v, omega, dv, domega = rng.standard_normal((4, 3))
    P, L, inertia = momentum(mu, (places - com) @ R.T, v, omega)
    f, tau = newton_euler(mass, inertia, omega, dv, domega)

    tree = vt.Tree("cloud", gravity=GRAVITY)
    at_rest = momentum(mu, places - com, v, omega)[2]  # I_0
    tree.world.add(vt.free("base"), vt.body("cloud", mass, at_rest, com))
    model = tree.compile()
    arm = R @ -com  # from the centre of mass to the joint
    q = np.concatenate((x + arm, as_quaternion(R)))
    linear = v + np.cross(omega, arm)
    # the core's velocity is in the body's axes; so is its rate
    core_v = np.concatenate((R.T @ linear, R.T @ omega))
    acceleration = dv + np.cross(domega, arm) + np.cross(omega, np.cross(omega, arm))
    core_a = np.concatenate((R.T @ (acceleration - np.cross(omega, linear)), R.T @ domega))
    force = f - mass * GRAVITY  # less what gravity does
    core_force = np.concatenate((R.T @ force, R.T @ (tau - np.cross(arm, force))))
    angular, straight = np.split(model.momentum(q, core_v), 2)
    return report({
        "I_c of the particles: R I_0 R^T": apart(inertia, R @ at_rest @ R.T),
        "P = m v (eq. 18)": apart(P, mass * v),
        "L = I_c omega (eq. 21)": apart(L, inertia @ omega),
        "P: the core's momentum": apart(P, straight),
        "L about the centre of mass, and x P: the core's about the origin": apart(L + np.cross(x, P), angular),
        "f and tau (eq. 24): rnea": apart(core_force, model.rnea(q, core_v, core_a)),
    })  # fmt: skip


if __name__ == "__main__":
    main()
