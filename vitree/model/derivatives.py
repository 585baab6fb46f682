"""Derivatives of named frames by the coordinates: pose, position and body velocity, in closed form.

With the frame's moving ancestors in order from the root, every second derivative below is that of the
earlier coordinate first: a joint moves all that comes after it as one rigid body.
"""

# The docstrings repeat parameters and errors, since the reference shows each function alone.

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from vitree.errors import InputError
from vitree.mechanism.flat import KIND_NV, KINDS
from vitree.mechanism.index import pose_of
from vitree.mechanism.regular import joint_of
from vitree.model.motion import columns_of
from vitree.spatial.rotations import hat

if TYPE_CHECKING:
    from vitree.model.mechanism import Mechanism


@dataclass(frozen=True)
class TwistDerivatives:
    """A frame's body velocity and its derivatives by q and v.

    Twists are (angular, linear) in the frame's own axes, the linear part that of its origin
    [rad/s, m/s]; a derivative is per unit of the coordinate or of its rate.

    Attributes
    ----------
    twist : (6,) array
    by_q, by_v : (nv, 6) arrays
    by_qq : (nv, nv, 6) array
        Symmetric in its first two indices.
    by_vq : (nv, nv, 6) array
        Index 0 is the one of v, index 1 that of q. Second derivatives by v are zero.
    """

    twist: np.ndarray
    by_q: np.ndarray
    by_v: np.ndarray
    by_qq: np.ndarray
    by_vq: np.ndarray


def pose_derivatives(model: Mechanism, name: str, q) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return the pose of a frame in the world and its derivatives by the coordinates.

    Parameters
    ----------
    model : Model
    name : str
        A frame whose moving ancestors all are one-coordinate joints.
    q : (nq,) array [m or rad]

    Returns
    -------
    g : (4, 4) array
        The pose [m].
    dg : (nv, 4, 4) array
        ``dg[i]`` is the derivative by coordinate i; zero if that does not move the frame.
    ddg : (nv, nv, 4, 4) array
        ``ddg[i, j]`` is the second derivative by coordinates i and j.

    Raises
    ------
    UnknownNameError
        If there is no frame of that name.
    InputError
        If the frame moves with a ball or free joint, or an argument is not a state.

    Notes
    -----
    With s_i the twist of coordinate i in world axes about the world's origin, dg/dq_i = hat(s_i) g and
    d2g/dq_i dq_j = hat(s_i) hat(s_j) g for i upstream of j or equal to it.

    References
    ----------
    Johnson & Murphey 2009, eqs. 2-4.
    """
    at = _coordinates(model, name)
    poses = model.body_poses(model.validate_configuration(q))
    g = pose_of(model.flat, model.index.frame(name), poses)
    s = _hats(columns_of(model.flat, poses, np.zeros(3))[at])
    first = s @ g
    second = s[:, None] @ first
    return g, _spread(first, at, model.nv), _spread(_mirrored(second), at, model.nv, 2)


def position_derivatives(model: Mechanism, name: str, q) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return the position of a frame's origin in the world and its derivatives by the coordinates.

    Parameters
    ----------
    model : Model
    name : str
        A frame whose moving ancestors all are one-coordinate joints.
    q : (nq,) array [m or rad]

    Returns
    -------
    p : (3,) array [m]
    dp : (nv, 3) array
    ddp : (nv, nv, 3) array

    Raises
    ------
    UnknownNameError
        If there is no frame of that name.
    InputError
        If the frame moves with a ball or free joint, or an argument is not a state.

    References
    ----------
    Johnson & Murphey 2009, eqs. 2-4: the last columns of the poses.
    """
    g, dg, ddg = pose_derivatives(model, name, q)
    return g[:3, 3].copy(), dg[:, :3, 3].copy(), ddg[:, :, :3, 3].copy()


def twist_derivatives(model: Mechanism, name: str, q, v) -> TwistDerivatives:
    """Return the body velocity of a frame and its first and second derivatives by q and v.

    Parameters
    ----------
    model : Model
    name : str
        A frame whose moving ancestors all are one-coordinate joints.
    q : (nq,) array [m or rad]
    v : (nv,) array [m/s or rad/s]

    Returns
    -------
    TwistDerivatives

    Raises
    ------
    UnknownNameError
        If there is no frame of that name.
    InputError
        If the frame moves with a ball or free joint, or an argument is not a state.

    Notes
    -----
    With J_i the columns of the body Jacobian, dJ_i/dq_j = -ad_{J_j} J_i for i upstream of j, otherwise
    zero. Differentiating V = sum J_i v_i once more, d2V/dq_j dq_k = -ad_{J_k} dV/dq_j for j upstream of k
    or equal to it.

    References
    ----------
    Johnson & Murphey 2009, eqs. 5-10.
    """
    at = _coordinates(model, name)
    v = model.validate_velocity(v)
    J = model.frame_jacobian(name, model.validate_configuration(q), axes="local").T
    ad = _ads(J[at])
    # by_vq[i, j] = -ad_j J_i, for i strictly before j
    by_vq = -np.einsum("jab,ib->ija", ad, J[at])
    by_vq[np.tril_indices(len(at))] = 0.0
    by_q = np.einsum("i,ija->ja", v[at], by_vq)
    by_qq = -np.einsum("kab,jb->jka", ad, by_q)
    n = model.nv
    return TwistDerivatives(
        twist=v @ J,
        by_q=_spread(by_q, at, n),
        by_v=J.copy(),
        by_qq=_spread(_mirrored(by_qq), at, n, 2),
        by_vq=_spread(by_vq, at, n, 2),
    )


def _coordinates(model: Mechanism, name: str) -> np.ndarray:
    """The coordinates of the bodies that carry a frame, from the root."""
    flat = model.flat
    body, path = int(flat.frame_body[model.index.frame(name)]), []
    while body >= 0:
        if KIND_NV[flat.kind[body]] > 1:
            raise InputError(
                f'the frame "{name}" moves with the {KINDS[flat.kind[body]]} joint "{joint_of(flat, body)}", which has '
                f"no coordinates to differentiate by; take model.euler(), which has only one-coordinate joints"
            )
        path.append(body)
        body = int(flat.parent[body])
    return model.index.iv[path[::-1]]


def _hats(s: np.ndarray) -> np.ndarray:
    """Twists (m, 6) as matrices (m, 4, 4) that act on poses."""
    out = np.zeros((len(s), 4, 4))
    out[:, :3, :3], out[:, :3, 3] = hat(s[:, :3]), s[:, 3:]
    return out


def _ads(s: np.ndarray) -> np.ndarray:
    """The matrices of the Lie bracket with twists (m, 6): (m, 6, 6)."""
    out = np.zeros((len(s), 6, 6))
    out[:, :3, :3] = out[:, 3:, 3:] = hat(s[:, :3])
    out[:, 3:, :3] = hat(s[:, 3:])
    return out


def _mirrored(x: np.ndarray) -> np.ndarray:
    """An (m, m, ...) array made symmetric from its entries [i, j] with i <= j."""
    upper = np.triu(np.ones(x.shape[:2], bool)).reshape(x.shape[:2] + (1,) * (x.ndim - 2))
    return np.where(upper, x, np.swapaxes(x, 0, 1))


def _spread(x: np.ndarray, at: np.ndarray, n: int, axes: int = 1) -> np.ndarray:
    """Put an array's leading one or two axes at the coordinates ``at`` of n, zeros elsewhere."""
    out = np.zeros((n,) * axes + x.shape[axes:])
    out[np.ix_(*(at,) * axes)] = x
    return out
