"""Maps of the whole body: center of mass, momentum about it, Coriolis matrix, and regressors of inertial parameters."""

from __future__ import annotations

import functools
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from vitree._core import maps
from vitree.model.broadcasting import in_coordinates, map_rows, of_full, of_maps
from vitree.model.dynamics import DynamicsMethods
from vitree.spatial.checks import frozen
from vitree.spatial.rotations import hat

#: Inertial parameters of a body.
PARAMETERS = 10
#: Entries of an inertia in their order: xx, xy, xz, yy, yz, zz.
_ROWS, _COLUMNS = np.triu_indices(3)


class CentroidalDerivatives(NamedTuple):
    """Derivatives of the momentum about the center of mass, and of its rate, (..., 6, nv); rows (angular, linear).

    Attributes
    ----------
    momentum_by_q : (..., 6, nv) array
        By displacements of the configuration, as ``integrate`` takes them [kg m^2/s or kg m/s, per m or rad].
    rate_by_q : (..., 6, nv) array
        The same of the rate [N m or N, per m or rad].
    rate_by_v : (..., 6, nv) array
        By the velocity [N m s, N s, or N s/m].
    rate_by_a : (..., 6, nv) array
        By the acceleration: the matrix of the momentum [kg m^2, kg m or kg].
    """

    momentum_by_q: np.ndarray
    rate_by_q: np.ndarray
    rate_by_v: np.ndarray
    rate_by_a: np.ndarray


class MapMethods(DynamicsMethods):
    """Maps from velocities to momenta, and from inertial parameters to forces, of the bare mechanism.

    Like :meth:`vitree.Model.rnea`, they are of the tree of joints: constraints, loads and contacts have no part in
    them, and prescribed coordinates are coordinates like others.
    """

    # ---- the center of mass ----------------------------------------------------------------------------

    @of_maps
    @in_coordinates("plain")
    def center_of_mass(self, q: ArrayLike) -> np.ndarray:
        """Return the center of mass of everything that moves, in the world, (..., 3) [m]."""
        return map_rows(self, "center_of_mass", (3,), q)

    @of_maps
    @in_coordinates("plain")
    def center_of_mass_velocity(self, q: ArrayLike, v: ArrayLike) -> np.ndarray:
        """Return the velocity of the center of mass in the world, (..., 3) [m/s]."""
        return map_rows(self, "center_of_mass_velocity", (3,), q, v)

    @of_maps
    @in_coordinates("plain")
    def center_of_mass_acceleration(self, q: ArrayLike, v: ArrayLike, a: ArrayLike | None = None) -> np.ndarray:
        """Return the acceleration of the center of mass in the world, (..., 3) [m/s^2].

        Without ``a`` it is that of coordinates which do not accelerate, dJ/dt v.
        """
        return map_rows(self, "center_of_mass_acceleration", (3,), q, v, a)

    @of_maps
    @in_coordinates("force")
    def center_of_mass_jacobian(self, q: ArrayLike) -> np.ndarray:
        """Return the Jacobian (..., 3, nv) of the velocity of the center of mass by v [m, per rad or m].

        Its derivative over time is the linear rows of :meth:`centroidal_momentum_matrix_rate`, over the mass.
        """
        return map_rows(self, "center_of_mass_jacobian", (3, self.nv), q)

    # ---- momentum about the center of mass -------------------------------------------------------------

    @of_maps
    @in_coordinates("plain")
    def centroidal_momentum(self, q: ArrayLike, v: ArrayLike) -> np.ndarray:
        """Return the momentum (..., 6): angular about the center of mass [kg m^2/s], linear [kg m/s]; world axes.

        Rotors (``armature``) have no part in it. :meth:`momentum` is about the world's origin.

        References
        ----------
        Orin, Goswami & Lee 2013, "Centroidal dynamics of a humanoid robot".
        """
        return map_rows(self, "centroidal_momentum", (6,), q, v)

    @of_maps
    @in_coordinates("plain")
    def centroidal_momentum_rate(self, q: ArrayLike, v: ArrayLike, a: ArrayLike | None = None) -> np.ndarray:
        """Return the derivative of :meth:`centroidal_momentum` over time, (..., 6) [N m, N]: A a + dA/dt v.

        It is the wrench about the center of mass, gravity included, of all that acts on the mechanism from outside.
        Without ``a`` it is dA/dt v.
        """
        return map_rows(self, "centroidal_momentum_rate", (6,), q, v, a)

    @of_maps
    @in_coordinates("force")
    def centroidal_momentum_matrix(self, q: ArrayLike) -> np.ndarray:
        """Return the matrix A (..., 6, nv) of the momentum A v about the center of mass [kg m^2, kg m or kg].

        Rows are (angular, linear), in world axes, as in :meth:`centroidal_momentum`.

        References
        ----------
        Orin, Goswami & Lee 2013, "Centroidal dynamics of a humanoid robot".
        """
        return map_rows(self, "centroidal_momentum_matrix", (6, self.nv), q)

    @of_maps
    @in_coordinates("force")
    def centroidal_momentum_matrix_rate(self, q: ArrayLike, v: ArrayLike) -> np.ndarray:
        """Return the derivative dA/dt (..., 6, nv) of :meth:`centroidal_momentum_matrix` along v.

        [kg m^2/s, kg m/s or kg/s].
        """
        return map_rows(self, "centroidal_momentum_matrix_rate", (6, self.nv), q, v)

    def centroidal_momentum_derivatives(
        self, q: ArrayLike, v: ArrayLike, a: ArrayLike | None = None
    ) -> CentroidalDerivatives:
        """Return the derivatives of the momentum about the center of mass and of its rate by q, v and a, (..., 6, nv).

        They are those of :meth:`centroidal_momentum` by q and of :meth:`centroidal_momentum_rate` by q, v and a, all in
        world axes. The derivative of the momentum by v is the fourth, :meth:`centroidal_momentum_matrix`. Without ``a``
        coordinates do not accelerate.

        Raises
        ------
        InputError
            If a state is none.

        References
        ----------
        Carpentier & Mansard 2018, "Analytical derivatives of rigid body dynamics algorithms", for the way; the
        equations are in ``_core/maps/centroidal.pxi``.
        """
        found = self._centroidal_derivatives(q, v, a)
        return CentroidalDerivatives(*(found if found.ndim == 3 else np.moveaxis(found, -3, 0)))

    @of_maps
    @in_coordinates("force")
    def _centroidal_derivatives(self, q: ArrayLike, v: ArrayLike, a: ArrayLike | None = None) -> np.ndarray:
        """The same as one array (..., 4, 6, nv)."""
        return map_rows(self, "_centroidal_derivatives", (4, 6, self.nv), q, v, a)

    @of_maps
    @in_coordinates("plain")
    def centroidal_inertia(self, q: ArrayLike) -> np.ndarray:
        """Return the inertia (..., 3, 3) [kg m^2] of the whole mechanism about its center of mass, in world axes.

        Its inverse times the angular part of :meth:`centroidal_momentum` is the average angular velocity.

        References
        ----------
        Orin, Goswami & Lee 2013, "Centroidal dynamics of a humanoid robot".
        """
        return map_rows(self, "centroidal_inertia", (3, 3), q)

    # ---- equations of motion ---------------------------------------------------------------------------

    @of_maps
    @in_coordinates("matrix")
    def coriolis_matrix(self, q: ArrayLike, v: ArrayLike) -> np.ndarray:
        """Return the matrix C (..., nv, nv) of the Coriolis and centrifugal forces C v [kg m/s, kg m^2/s or kg/s].

        ``C v`` is ``rnea(q, v, 0) - rnea(q, 0, 0)``, and dM/dt - 2 C is skew-symmetric, so that v^T (dM/dt - 2 C) v is
        zero and passivity can be shown with it. Where all joints have one coordinate, C is that of the Christoffel
        symbols. Of ball and free joints v is the velocity in body axes, and dM/dt the derivative of M along the motion.

        References
        ----------
        Echeandia & Wensing 2021, "Numerical methods to compute the Coriolis matrix and Christoffel symbols for
        rigid-body systems".
        """
        return map_rows(self, "coriolis_matrix", (self.nv, self.nv), q, v)

    # ---- regressors ------------------------------------------------------------------------------------

    @property
    @of_full
    def body_links(self) -> tuple[str | None, ...]:
        """The link of each moving body: the first one that moves with it; None for a body without links.

        Its frame is that of the body's :attr:`inertial_parameters`. Of robot files it is the child of the body's joint.
        """
        return tuple(None if k < 0 else self.flat.frame_names[k] for k in self._parameter_frames)

    @property
    @of_full
    def inertial_parameters(self) -> np.ndarray:
        """The inertial parameters of each moving body, (nbody, 10), with all links that are fixed to it.

        These are the mass m [kg], the first moment m c (three) [kg m], and the inertia about the frame's origin
        (xx, xy, xz, yy, yz, zz) [kg m^2], in the frame of the body's link (:attr:`body_links`). A body without links
        has them in its core frame (:meth:`body_poses`).

        References
        ----------
        Atkeson, An & Hollerbach 1986, "Estimation of inertial parameters of manipulator loads and links".
        """
        return frozen(self._parameters)

    @functools.cached_property
    def _parameter_frames(self) -> tuple[int, ...]:
        """Row of the frame of each body's parameters; -1: its core frame."""
        found = [-1] * self.nbody
        for name in reversed(self.flat.link_names):
            k = self._frames[name]
            if (body := int(self.flat.frame_body[k])) >= 0:
                found[body] = k
        return tuple(found)

    @functools.cached_property
    def _parameter_places(self) -> tuple[np.ndarray, np.ndarray]:
        """Rotation (nbody, 3, 3) and position (nbody, 3) [m] of these frames in the core frames."""
        at = np.array(self._parameter_frames, dtype=int)
        E, p = np.tile(np.eye(3), (self.nbody, 1, 1)), np.zeros((self.nbody, 3))
        E[at >= 0], p[at >= 0] = self.flat.frame_E[at[at >= 0]], self.flat.frame_p[at[at >= 0]]
        return E, p

    @functools.cached_property
    def _parameters(self) -> np.ndarray:
        E, p = self._parameter_places
        turn, mass = np.swapaxes(E, 1, 2), self.flat.mass
        c = (turn @ (self.flat.com - p)[..., None])[..., 0]
        I = turn @ self.flat.inertia @ E - mass[:, None, None] * hat(c) @ hat(c)  # noqa: E741
        return np.hstack((mass[:, None], mass[:, None] * c, I[:, _ROWS, _COLUMNS]))

    @of_maps
    @in_coordinates("force rows")
    def joint_torque_regressor(
        self, q: ArrayLike, v: ArrayLike | None = None, a: ArrayLike | None = None
    ) -> np.ndarray:
        """Return the regressor Y (..., nv, 10 nbody) of inverse dynamics [N or N m, per kg, kg m or kg m^2].

        Inverse dynamics is linear in the inertial parameters. With pi the :attr:`inertial_parameters` as one row,
        ``Y pi`` is ``rnea(q, v, a)`` less ``armature * a``: rotors are no part of the bodies. Without v and a it is the
        regressor of gravity alone.

        References
        ----------
        Atkeson, An & Hollerbach 1986, "Estimation of inertial parameters of manipulator loads and links".
        """
        return map_rows(self, "joint_torque_regressor", (self.nv, PARAMETERS * self.nbody), q, v, a)

    @of_maps
    @in_coordinates("plain")
    def body_regressor(
        self, name: str, q: ArrayLike, v: ArrayLike | None = None, a: ArrayLike | None = None
    ) -> np.ndarray:
        """Return the regressor (..., 6, 10) of the wrench that moves a rigid body which is fixed to a frame.

        Times the body's ten parameters in this frame, in the order of :attr:`inertial_parameters`, it is the wrench
        (torque about the frame's origin [N m], force [N]) in the frame's axes that the body needs against gravity and
        for its acceleration: what a force-torque sensor in this place reads of a load. Without v and a it is the
        weight.

        Parameters
        ----------
        name : str
            Of the frame.

        Raises
        ------
        UnknownNameError
            If there is no frame of that name.
        """
        self._frame(name)
        return map_rows(self, "body_regressor", (6, PARAMETERS), q, v, a, frame=name)

    @of_maps
    @in_coordinates("plain")
    def kinetic_energy_regressor(self, q: ArrayLike, v: ArrayLike) -> np.ndarray:
        """Return the regressor (..., 10 nbody) of the kinetic energy [J per kg, kg m or kg m^2].

        Times the :attr:`inertial_parameters` as one row it is :meth:`kinetic_energy`, but for the energy of the rotors,
        ``armature * v**2 / 2``.

        References
        ----------
        Gautier & Khalil 1988, "On the identification of the inertial parameters of robots".
        """
        return map_rows(self, "kinetic_energy_regressor", (PARAMETERS * self.nbody,), q, v)

    @of_maps
    @in_coordinates("plain")
    def potential_energy_regressor(self, q: ArrayLike) -> np.ndarray:
        """Return the regressor (..., 10 nbody) of gravity's potential energy [J per kg, kg m or kg m^2].

        Times the :attr:`inertial_parameters` as one row it is :meth:`potential_energy`, but for that of springs.

        References
        ----------
        Gautier & Khalil 1988, "On the identification of the inertial parameters of robots".
        """
        return map_rows(self, "potential_energy_regressor", (PARAMETERS * self.nbody,), q)

    # ---- what compiled code needs ----------------------------------------------------------------------

    @functools.cached_property
    def _map_tables(self) -> Any:
        """What compiled maps need of a model of all joints."""
        places = self.flat.frame_body, self.flat.frame_E, self.flat.frame_p
        return maps().MapTables(self.core, self._frames, places, self._parameter_places)

    @functools.cached_property
    def _maps(self) -> Any:
        """The same for calls of one state, if they are answered there."""
        return None if self._calls is None else self._map_tables
