"""Derivatives of a discrete Lagrangian by what bodies weigh: masses, centres of mass, inertias and gravity.

Along displacements d1 and d2 of the configurations at a step's nodes the discrete Lagrangian changes by
D1 Ld . d1 + D2 Ld . d2 = -p1 . d1 + p2 . d2. Here are the derivatives of that number.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from vitree.integrators.slopes import joint_maps
from vitree.integrators.variational import LinearTime, Midpoint
from vitree.lie import SE3, SO3, se3
from vitree.model.motion import bracket, columns_of, summed_down
from vitree.spatial.rotations import cross

exp_so3, exp_se3 = SO3.maps["exp"], SE3.maps["exp"]


class MassSlopes(NamedTuple):
    """By masses (nbody,), centres of mass (nbody, 3), inertias about them (nbody, 3, 3) and gravity (3,).

    Of bodies, in their core frames. Inertias are symmetric, and so are derivatives by them.
    """

    mass: np.ndarray
    com: np.ndarray
    inertia: np.ndarray
    gravity: np.ndarray

    def __add__(self, other: Any) -> MassSlopes:
        return MassSlopes(*map(np.add, self, other))


class _Bodies(NamedTuple):
    """Bodies at configurations: axes R (n, nbody, 3, 3), origins o (n, nbody, 3), and the joints' columns (n, nv, 6)."""

    R: np.ndarray
    o: np.ndarray
    columns: np.ndarray


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
    if isinstance(integrator, Midpoint):
        return _midpoint(integrator, q, q2, d1, d2)
    model: Any = integrator.model
    h, flat = integrator.dt, model.flat
    one, two = _place(model, q), _place(model, q2)
    m, c, g = flat.mass, flat.com, flat.gravity
    z1, z2 = (_twists(model, at, d) for at, d in ((one, d1), (two, d2)))
    # where the centres of mass go
    moves = [_at_com(at, c, z) for at, z in ((one, z1), (two, z2))]
    weight = 0.5 * h * (moves[0] + moves[1])
    by_com = 0.5 * h * m[:, None] * sum(_back(at, cross(g, z[..., :3])) for at, z in ((one, z1), (two, z2)))
    by_mass = weight @ g
    gravity = np.einsum("nbk,b->k", weight, m)
    turn = one.R.swapaxes(-1, -2) @ two.R
    w1, w2 = _back(one, z1[..., :3]), _back(two, z2[..., :3])
    if integrator.kinetic == "split":
        # Ld = m |p|^2/2h + x^T I x/2h, p the way of the centre of mass, x the rotation vector in the body's axes
        p = _com(two, c) - _com(one, c)
        x, dp = exp_so3.log(turn), moves[1] - moves[0]
        dx = _times(exp_so3.dtau_inv(-x), w2) - _times(exp_so3.dtau_inv(x), w1)
        by_mass += (p * dp).sum(axis=-1) / h
        pulled = _back(two, dp + cross(p, z2[..., :3])) - _back(one, dp + cross(p, z1[..., :3]))
        by_com += m[:, None] * pulled / h
        inertia = np.einsum("nbi,nbj->bij", x, dx) / h
    else:
        # Ld = h V^T G V/2, V the mean twist in the body's axes
        between = np.zeros((*turn.shape[:2], 4, 4))
        between[..., :3, :3], between[..., 3, 3] = turn, 1.0
        between[..., :3, 3] = _back(one, two.o - one.o)
        V = se3.log(between) / h
        own = [np.concatenate([w, _back(at, _at(at, z))], axis=-1) for w, at, z in ((w1, one, z1), (w2, two, z2))]
        dV = (_times(exp_se3.dtau_inv(-h * V), own[1]) - _times(exp_se3.dtau_inv(h * V), own[0])) / h
        more, pulled, inertia = _kinetic(V, dV, m, c)
        by_mass, by_com, inertia = by_mass + h * more, by_com + h * pulled, h * inertia
    return MassSlopes(by_mass.sum(axis=0), by_com.sum(axis=0), 0.5 * (inertia + inertia.swapaxes(1, 2)), gravity)


def _midpoint(integrator: Midpoint, q: np.ndarray, q2: np.ndarray, d1: np.ndarray, d2: np.ndarray) -> MassSlopes:
    """Ld = h L(q_m, y/h): the middle is displaced by eta = E1 d1 + E2 d2, and y by X1 d1 + X2 d2."""
    model: Any = integrator.model
    h, alpha, flat = integrator.dt, integrator.settings.get("alpha", 0.5), model.flat
    m, c, g = flat.mass, flat.com, flat.gravity
    y = model.difference(q, q2)
    rate = _times(joint_maps(model, -y), d2) - _times(joint_maps(model, y), d1)
    # E2 = alpha dexp_{-alpha y} dlog_{-y}, E1 = 1 - E2
    apart = _times(joint_maps(model, -y), d2 - d1)
    eta = d1 + alpha * _times(joint_maps(model, -alpha * y, "dtau"), apart)
    at = _place(model, model.integrate(q, alpha * y))
    z, parent = _twists(model, at, eta), flat.parent
    joints = [_of_joints(model, at, x / h) for x in (y, rate)]
    V = summed_down(parent, joints[0])
    # as the bodies see it
    dV = summed_down(parent, joints[1] + bracket(z, joints[0])) - bracket(z, V)
    local = [np.concatenate([_back(at, x[..., :3]), _back(at, _at(at, x))], axis=-1) for x in (V, dV)]
    by_mass, by_com, inertia = _kinetic(*local, m, c)
    move = h * _at_com(at, c, z)
    by_mass = h * by_mass + move @ g
    by_com = h * (by_com + m[:, None] * _back(at, cross(g, z[..., :3])))
    inertia = 0.5 * h * (inertia + inertia.swapaxes(1, 2))
    return MassSlopes(by_mass.sum(axis=0), by_com.sum(axis=0), inertia, np.einsum("nbk,b->k", move, m))


def _kinetic(V: np.ndarray, dV: np.ndarray, m: np.ndarray, c: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Derivatives of V^T G dV, G the inertia: u = v + w x c is the velocity of the centre of mass."""
    w, dw = V[..., :3], dV[..., :3]
    u, du = V[..., 3:] + cross(w, c), dV[..., 3:] + cross(dw, c)
    return (u * du).sum(axis=-1), m[:, None] * (cross(du, w) + cross(u, dw)), np.einsum("nbi,nbj->bij", w, dw)


def _place(model: Any, q: np.ndarray) -> _Bodies:
    rows = model.pose_rows(np.ascontiguousarray(q))
    columns = columns_of(model.flat, rows, np.zeros(3))
    return _Bodies(rows[..., :3], rows[..., 3], columns)


def _twists(model: Any, at: _Bodies, d: np.ndarray) -> np.ndarray:
    """Twists (n, nbody, 6) of bodies by displacements of the joints, world axes, about the world's origin."""
    return summed_down(model.flat.parent, _of_joints(model, at, d))


def _of_joints(model: Any, at: _Bodies, d: np.ndarray) -> np.ndarray:
    """What each joint adds to the twist of its body."""
    return np.add.reduceat(at.columns * d[..., None], model.index.iv, axis=1)


def _at(at: _Bodies, z: np.ndarray) -> np.ndarray:
    """Linear part of twists at the bodies' origins, world axes."""
    return z[..., 3:] + cross(z[..., :3], at.o)


def _com(at: _Bodies, c: np.ndarray) -> np.ndarray:
    return at.o + _times(at.R, c)


def _at_com(at: _Bodies, c: np.ndarray, z: np.ndarray) -> np.ndarray:
    return z[..., 3:] + cross(z[..., :3], _com(at, c))


def _back(at: _Bodies, x: np.ndarray) -> np.ndarray:
    """Vectors of the world in the axes of the bodies."""
    return _times(at.R.swapaxes(-1, -2), x)


def _times(A: np.ndarray, x: np.ndarray) -> np.ndarray:
    return (A @ x[..., None])[..., 0]
