"""Derivatives of a discrete Lagrangian by what bodies weigh: masses, centres of mass, inertias and gravity.

Along displacements d1 and d2 of the configurations at a step's nodes the discrete Lagrangian changes by
D1 Ld . d1 + D2 Ld . d2 = -p1 . d1 + p2 . d2. Here are the derivatives of that number.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from vitree._core import wide
from vitree.integrators.slopes import joint_times
from vitree.integrators.variational import KINETIC, LinearTime, Midpoint
from vitree.model.model import Model

#: Numbers of a body from the core: mass, centre of mass, inertia (xx, yy, zz, xy, xz, yz).
WEIGHED = 10


class MassSlopes(NamedTuple):
    """By masses (nbody,), centres of mass (nbody, 3), inertias about them (nbody, 3, 3) and gravity (3,).

    Of bodies, in their core frames. Inertias are symmetric, and so are derivatives by them.
    """

    mass: np.ndarray
    com: np.ndarray
    inertia: np.ndarray
    gravity: np.ndarray


def mass_slopes(integrator: LinearTime | Midpoint, q: np.ndarray, q2: np.ndarray, d1: np.ndarray,
                d2: np.ndarray) -> MassSlopes:  # fmt: skip
    """Return the derivatives of the sum over steps of D1 Ld . d1 + D2 Ld . d2.

    Parameters
    ----------
    integrator : LinearTime or Midpoint
    q, q2 : (n, nq) array
        Configurations at the nodes of n steps.
    d1, d2 : (n, nv) array
        Displacements of the joints there.
    """
    model: Model = integrator.model
    n, h = len(q), integrator.dt
    out = np.empty((n, WEIGHED * model.nbody + 3))
    d1, d2 = np.ascontiguousarray(d1), np.ascontiguousarray(d2)
    if isinstance(integrator, LinearTime):
        wide().batch_linear_time_masses(model.core, (h, KINETIC[integrator.kinetic]), q, q2, d1, d2, out)
    else:
        # the middle is displaced by E1 d1 + E2 d2, E2 = alpha dexp_{-alpha y} dlog_{-y} and E1 = 1 - E2, and y by
        # dlog_{-y} d2 - dlog_y d1
        alpha, y = integrator.settings.get("alpha", 0.5), model.difference(q, q2)
        change = joint_times(model, -y, d2) - joint_times(model, y, d1)
        eta = d1 + alpha * joint_times(model, -alpha * y, joint_times(model, -y, d2 - d1), "dtau")
        wide().batch_midpoint_masses(model.core, (h, alpha, integrator.relative), q, y, eta, change, out, d1, d2)
    total = out.sum(axis=0)
    of_bodies = total[:-3].reshape(-1, WEIGHED)
    inertia = of_bodies[:, [4, 7, 8, 7, 5, 9, 8, 9, 6]].reshape(-1, 3, 3)
    return MassSlopes(of_bodies[:, 0].copy(), of_bodies[:, 1:4].copy(), inertia, total[-3:].copy())
