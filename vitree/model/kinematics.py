"""Kinematics of frames and bodies, and their derivatives."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from vitree._core import scalar, wide
from vitree.arguments import shown
from vitree.errors import InputError
from vitree.mechanism.flat import BALL, FREE, HELICAL, KIND_NV, KINDS, PRISMATIC, Flat
from vitree.mechanism.index import pose_of
from vitree.mechanism.regular import joint_of
from vitree.model.broadcasting import (
    as_rows,
    finite_result,
    in_coordinates,
    map_rows,
    of_maps,
    of_states,
)
from vitree.model.facts import ModelFacts
from vitree.spatial.rotations import cross, hat

core = scalar()


# ---- how frames and bodies move: velocities and accelerations of a state, by the twists of the coordinates


def require_axes(axes: str) -> None:
    """Raise an InputError unless axes are those of the world, the frame's own, or the world's about its origin."""
    if not isinstance(axes, str) or axes not in ("world", "local", "spatial"):
        raise InputError("axes", axes, f'is {shown(axes)}; choose "world", "local" or "spatial"')


def bracket(V: np.ndarray, U: np.ndarray) -> np.ndarray:
    """Return the rates (..., 6) of twists U (..., 6) that are fixed to bodies of twists V (..., 6)."""
    w, u = V[..., :3], U[..., :3]
    return np.concatenate((cross(w, u), cross(V[..., 3:], u) + cross(w, U[..., 3:])), axis=-1)


class BodyMotion(NamedTuple):
    """Where bodies are and how they move: the pose of each, and twists in world axes about ``point``.

    ``rate`` is the derivative of ``twist``, seen in space. (nbody, 3, 4) [m], (nbody, 6) [rad/s, m/s], (nbody, 6)
    [rad/s^2, m/s^2], (3,) [m].
    """

    pose: np.ndarray
    twist: np.ndarray
    rate: np.ndarray
    point: np.ndarray


def twists_about(flat: Flat, pose: np.ndarray, point: np.ndarray) -> np.ndarray:
    """Return the twists (nv, 6) of unit velocities in world axes about a point (3,) [m], by the poses of the bodies."""
    kind, axis, arm = np.asarray(flat.kind), pose[:, :3, 2], pose[:, :3, 3] - point
    slides, pitch = (kind == PRISMATIC)[:, None], np.where(kind == HELICAL, flat.pitch, 0.0)[:, None]
    angular = np.where(slides, 0.0, axis)
    single = np.hstack((angular, cross(arm, angular) + np.where(slides, 1.0, pitch) * axis))
    several = (kind == BALL) | (kind == FREE)
    if not several.any():
        return single
    rows = []
    for i, code in enumerate(kind):
        if not several[i]:
            rows.append(single[i : i + 1])
            continue
        R = pose[i, :3, :3].T
        if code == FREE:
            rows.append(np.hstack((np.zeros((3, 3)), R)))
        rows.append(np.hstack((R, cross(arm[i], R))))
    return np.concatenate(rows)


def body_motion(model: KinematicsMethods, q: np.ndarray, v: np.ndarray, a: np.ndarray) -> BodyMotion:
    """Return how all bodies move."""
    flat, starts = model.flat, model.index.iv
    pose = model._pose_rows(q[None])[0]
    point = pose[:, :, 3].mean(axis=0)
    columns = twists_about(flat, pose, point)
    own, rate = (np.add.reduceat(columns * x[:, None], starts, axis=0) for x in (v, a))
    twist = _down(flat.parent, own)
    return BodyMotion(pose, twist, _down(flat.parent, rate + bracket(twist, own)), point)


def _down(parent: np.ndarray, x: np.ndarray) -> np.ndarray:
    """Sums of rows from the roots to each body."""
    x = x.copy()
    for i, k in enumerate(parent.tolist()):
        if k >= 0:
            x[i] += x[k]
    return x


def carried(parent: np.ndarray, body: int) -> np.ndarray:
    """Return which bodies (nbody,) a body carries, itself among them."""
    found = np.zeros(len(parent), dtype=bool)
    for i, k in enumerate(parent.tolist()):
        found[i] = i == body or (k >= 0 and found[k])
    return found


def subtree_momentum(
    model: KinematicsMethods, q: np.ndarray, v: np.ndarray, bodies: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Return the momentum (6,) of some bodies, (angular about the world's origin, linear), and mass times place (3,).

    World axes; [kg m^2/s, kg m/s] and [kg m]. ``bodies`` is a mask (nbody,).
    """
    flat, motion = model.flat, body_motion(model, q, v, np.zeros(model.nv))
    R, w = motion.pose[bodies, :, :3], motion.twist[bodies, :3]
    arm = np.einsum("nij,nj->ni", R, flat.com[bodies])
    c = motion.pose[bodies, :, 3] + arm
    u = motion.twist[bodies, 3:] + np.cross(w, c - motion.point)
    p = flat.mass[bodies, None] * u
    spin = np.einsum("nij,njk,nlk,nl->ni", R, flat.inertia[bodies], R, w)
    return np.concatenate([(np.cross(c, p) + spin).sum(axis=0), p.sum(axis=0)]), flat.mass[bodies] @ c


# ---- derivatives of named frames by the coordinates: pose, position and body velocity, in closed form ------
#
# With the frame's moving ancestors in order from the root, every second derivative below is that of the
# earlier coordinate first: a joint moves all that comes after it as one rigid body.


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


def _coordinates(model: KinematicsMethods, name: str) -> np.ndarray:
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


# ---- the methods -------------------------------------------------------------------------------------------------


def _with_last_rows(poses: np.ndarray) -> np.ndarray:
    """Return poses (..., 4, 4) of which the last rows (0, 0, 0, 1) were left out."""
    found = np.empty((*poses.shape[:-2], 4, 4))
    found[..., :3, :], found[..., 3, :3], found[..., 3, 3] = poses, 0.0, 1.0
    return found


class KinematicsMethods(ModelFacts):
    """Poses, velocities and accelerations of frames, and their derivatives."""

    @of_states
    def body_poses(self, q: ArrayLike) -> np.ndarray:
        """Return the pose X_WB in the world of each moving body's core frame, (..., nbody, 4, 4) [m]."""
        return _with_last_rows(self._pose_rows(as_rows(q))).reshape(*np.shape(q)[:-1], self.nbody, 4, 4)

    @in_coordinates("plain")
    def _pose_rows(self, q: np.ndarray) -> np.ndarray:
        """Return X_WB of each moving body's core frame at rows q (n, nq): (n, nbody, 3, 4) [m], last rows left out."""
        rows = np.empty((len(q), 12 * self.nbody))
        (wide() if len(q) > 1 else core).batch_poses(self.core, q, rows)
        return rows.reshape(len(q), self.nbody, 3, 4)

    @of_states
    def frame_poses(self, q: ArrayLike) -> dict[str, np.ndarray]:
        """Return the pose in the world, (..., 4, 4) [m], of every named frame."""
        bodies = self.body_poses(q)
        return {name: self._frame_pose(k, bodies) for name, k in self._frames.items()}

    @of_states
    def frame_pose(self, name: str, q: ArrayLike) -> np.ndarray:
        """Return the pose of the frame ``name`` in the world, (..., 4, 4) [m].

        Raises
        ------
        UnknownNameError
            If there is no frame of that name.
        """
        k = self._frame(name)
        body = max(int(self.flat.frame_body[k]), 0)
        rows = _with_last_rows(self._pose_rows(as_rows(q))[:, body : body + 1])
        return self._frame_pose(k, rows.reshape(*np.shape(q)[:-1], rows.shape[1], 4, 4), body)

    def _frame_pose(self, k: int, bodies: np.ndarray, first: int = 0) -> np.ndarray:
        """Return the pose of a frame in a row; ``bodies`` are the poses of bodies from the number ``first`` on."""
        return pose_of(self.flat, k, bodies, first)

    @of_maps
    @in_coordinates("force")
    def frame_jacobian(self, name: str, q: ArrayLike, axes: str = "world") -> np.ndarray:
        """Return the Jacobian (..., 6, nv) of a frame's velocity by v [rad and m, per rad or m].

        Parameters
        ----------
        name : str
        axes : {"world", "local", "spatial"}
            Rows are (angular, linear) velocity: of the frame's origin in world axes, of the frame's origin in the
            frame's own axes, or, for "spatial", of the point fixed to the frame that is at the world's origin, in
            world axes. These are Pinocchio's LOCAL_WORLD_ALIGNED, LOCAL and WORLD, which put linear rows first.

        Raises
        ------
        UnknownNameError
            If there is no frame of that name.
        InputError
            If axes is none of the three.
        """
        require_axes(axes)
        k = self._frame(name)
        if axes != "world" or np.ndim(q) == 1:
            return map_rows(self, "frame_jacobian", (6, self.nv), q, frame=name, axes=axes)
        # the same bits, in lanes
        return self._jacobian_rows(k, as_rows(q)).reshape(*np.shape(q)[:-1], 6, self.nv)

    def _jacobian_rows(self, k: int, q: np.ndarray) -> np.ndarray:
        """Return the Jacobians (n, 6, nv) of the frame in a row, in world axes, at rows q (n, nq)."""
        out, point = np.empty((len(q), 6, self.nv)), np.ascontiguousarray(self.flat.frame_p[k], dtype=float)
        wide().batch_jacobian(self.core, q, int(self.flat.frame_body[k]), point, out.reshape(len(q), 6 * self.nv))
        return out

    @of_maps
    @in_coordinates("force")
    def frame_jacobian_rate(self, name: str, q: ArrayLike, v: ArrayLike, axes: str = "world") -> np.ndarray:
        """Return the derivative of :meth:`frame_jacobian` over time, (..., 6, nv) [rad/s and m/s, per rad or m].

        ``frame_jacobian_rate(name, q, v, axes) @ v`` is the acceleration of the frame without that of the coordinates,
        ``frame_acceleration(name, q, v, axes=axes)``.

        Parameters
        ----------
        name : str
        axes : {"world", "local", "spatial"}
            As in :meth:`frame_jacobian`. In "world" axes the point moves with the frame, and in "local" axes the axes
            turn with it.

        Raises
        ------
        UnknownNameError
            If there is no frame of that name.
        InputError
            If axes is none of the three.
        """
        require_axes(axes)
        self._frame(name)
        return map_rows(self, "frame_jacobian_rate", (6, self.nv), q, v, frame=name, axes=axes)

    @of_maps
    @in_coordinates("plain")
    def frame_velocity(self, name: str, q: ArrayLike, v: ArrayLike, axes: str = "world") -> np.ndarray:
        """Return the velocity of a frame, (..., 6): angular [rad/s], and linear [m/s].

        This is ``frame_jacobian(name, q, axes) @ v``.

        Parameters
        ----------
        name : str
        axes : {"world", "local", "spatial"}
            Of the frame's origin in world axes or in the frame's own; or of the point fixed to the frame that is at
            the world's origin, in world axes.

        Raises
        ------
        UnknownNameError
            If there is no frame of that name.
        InputError
            If axes is none of the three.
        """
        require_axes(axes)
        self._frame(name)
        return map_rows(self, "frame_velocity", (6,), q, v, frame=name, axes=axes)

    @of_maps
    @in_coordinates("plain")
    def frame_acceleration(
        self, name: str, q: ArrayLike, v: ArrayLike, a: ArrayLike | None = None, axes: str = "world"
    ) -> np.ndarray:
        """Return the derivative of :meth:`frame_velocity` over time, (..., 6): J a + dJ/dt v [rad/s^2, m/s^2].

        Parameters
        ----------
        name : str
        a : (..., nv) array, optional
            Without it the result is dJ/dt v [rad/s^2 or m/s^2].
        axes : {"world", "local", "spatial"}
            "world": the angular acceleration, and the acceleration of the frame's origin as a point that moves in
            space (the classical one), in world axes. "local": the derivatives of the six components that
            ``frame_velocity`` has in the frame's own axes. These axes turn, so that the linear part is the classical
            acceleration in the frame's axes less w x u, with w the angular and u the linear velocity there. "spatial":
            the derivative of the spatial velocity, in world axes about the world's origin. An accelerometer reads the
            classical acceleration less gravity, in the frame's axes; :class:`vitree.Imu` is one. (Pinocchio's
            getFrameClassicalAcceleration in LOCAL_WORLD_ALIGNED, and getFrameAcceleration in LOCAL and WORLD, which
            put linear rows first.)

        Raises
        ------
        UnknownNameError
            If there is no frame of that name.
        InputError
            If axes is none of the three.

        References
        ----------
        Featherstone 2008, section 2.11.
        """
        require_axes(axes)
        self._frame(name)
        return map_rows(self, "frame_acceleration", (6,), q, v, a, frame=name, axes=axes)

    @finite_result
    @in_coordinates("plain", "slopes", "second slopes", checks="state")
    def pose_derivatives(self, name: str, q: ArrayLike) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Return the pose of the frame ``name`` in the world, and its first and second derivatives by q.

        (4, 4), (nv, 4, 4), (nv, nv, 4, 4) [m, and per m or rad].

        Raises
        ------
        UnknownNameError
            If there is no frame of that name.
        InputError
            If the frame moves with a ball or free joint; take ``model.euler()``.

        Notes
        -----
        With s_i the twist of coordinate i in world axes about the world's origin, dg/dq_i = hat(s_i) g and
        d2g/dq_i dq_j = hat(s_i) hat(s_j) g for i upstream of j or equal to it.

        References
        ----------
        Johnson & Murphey 2009, eqs. 2-4.
        """
        return self._pose_derivatives(name, q)

    def _pose_derivatives(self, name: str, q: ArrayLike) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        at = _coordinates(self, name)
        poses = self.body_poses(self.validate_configuration(q))
        g = pose_of(self.flat, self.index.frame(name), poses)
        s = _hats(twists_about(self.flat, poses, np.zeros(3))[at])
        first = s @ g
        second = s[:, None] @ first
        return g, _spread(first, at, self.nv), _spread(_mirrored(second), at, self.nv, 2)

    @finite_result
    @in_coordinates("plain", "slopes", "second slopes", checks="state")
    def position_derivatives(self, name: str, q: ArrayLike) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Return the position of the frame ``name`` in the world, and its first and second derivatives by q.

        (3,), (nv, 3), (nv, nv, 3) [m, and per m or rad].

        Raises
        ------
        UnknownNameError
            If there is no frame of that name.
        InputError
            If the frame moves with a ball or free joint; take ``model.euler()``.

        References
        ----------
        Johnson & Murphey 2009, eqs. 2-4.
        """
        g, dg, ddg = self._pose_derivatives(name, q)
        return g[:3, 3].copy(), dg[:, :3, 3].copy(), ddg[:, :, :3, 3].copy()

    @finite_result
    @in_coordinates("plain", "slopes", "slopes", "second slopes", "second slopes", checks="state")
    def twist_derivatives(self, name: str, q: ArrayLike, v: ArrayLike) -> TwistDerivatives:
        """Return the body velocity (angular, linear) of the frame ``name``, and its derivatives by q and v.

        Raises
        ------
        UnknownNameError
            If there is no frame of that name.
        InputError
            If the frame moves with a ball or free joint; take ``model.euler()``.

        Notes
        -----
        With J_i the columns of the body Jacobian, dJ_i/dq_j = -ad_{J_j} J_i for i upstream of j, otherwise zero.
        Differentiating V = sum J_i v_i once more, d2V/dq_j dq_k = -ad_{J_k} dV/dq_j for j upstream of k or equal to it.

        References
        ----------
        Johnson & Murphey 2009, eqs. 5-10.
        """
        at, n = _coordinates(self, name), self.nv
        v = self.validate_velocity(v)
        J = self.frame_jacobian(name, self.validate_configuration(q), axes="local").T
        ad = _ads(J[at])
        # by_vq[i, j] = -ad_j J_i, for i strictly before j
        by_vq = -np.einsum("jab,ib->ija", ad, J[at])
        by_vq[np.tril_indices(len(at))] = 0.0
        by_q = np.einsum("i,ija->ja", v[at], by_vq)
        by_qq = -np.einsum("kab,jb->jka", ad, by_q)
        return TwistDerivatives(
            twist=v @ J, by_q=_spread(by_q, at, n), by_v=J.copy(), by_qq=_spread(_mirrored(by_qq), at, n, 2),
            by_vq=_spread(by_vq, at, n, 2),
        )  # fmt: skip
