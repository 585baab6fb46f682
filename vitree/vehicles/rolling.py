"""Vehicles with a shape and a pose, whose velocities a nonholonomic connection restricts (Kobilarov et al. 2009)."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cached_property
from typing import Any, TypeVar

import numpy as np
from numpy.typing import ArrayLike

from vitree.arguments import Keywords, entries
from vitree.errors import InputError, ModelError
from vitree.integrators.base import Integrator
from vitree.mechanism.flat import Geometry
from vitree.model.broadcasting import finite_result
from vitree.model.system import METHODS_OF
from vitree.spatial.checks import frozen
from vitree.vehicles.base import Vehicle

#: Step of the central differences, of fourth order. Their rounding must stay below the tolerance of a step.
STEP = 3e-4
#: The largest distance of a velocity from the allowed ones, relative to its norm.
SLIP = 1e-9

#: The methods that subclasses implement.
WRITTEN = ("connection", "symmetries", "lagrangian", "mass_matrix", "potential", "lagrangian_slope", "shape_force",
           "body_force")  # fmt: skip


X = TypeVar("X", float, np.ndarray)


def slope(f: Callable[[float], X], step: float = STEP) -> X:
    """Return the derivative of f at 0, by central differences of fourth order."""
    found: X = (8 * (f(step) - f(-step)) - (f(2 * step) - f(-2 * step))) / (12 * step)
    return found


class NonholonomicVehicle(Vehicle):
    r"""A vehicle with a shape r and a pose g in SE(2) or SE(3), whose velocities a connection restricts.

    With u the rates of the shape and xi = g^-1 dg/dt the twist in body axes, the constraints are

        xi = e(r) lam - A(r) u,

    where the columns of e span the directions in which the vehicle may move while its shape is at rest. Subclasses
    define ``shape_names`` and, as needed, ``connection``, ``symmetries``, a ``mass_matrix`` and ``potential`` or a
    ``lagrangian`` l(r, u, xi), ``shape_force`` and ``body_force``. In these methods twists and wrenches have the
    angular part first, as in the group's algebra: (omega, vx, vy) or (w, v).

    A state is q = (r, pose), v = (u, twist): in the plane the pose is (theta, x, y) and the twist (omega, vx, vy); in
    space they are those of a ``free`` joint, (position, quaternion x, y, z, w) and (linear, angular). The momentum p is
    the derivative of l by v; the entries of driven shape coordinates are their rates instead.

    Parameters
    ----------
    name : str
    geometry : sequence of Geometry
        Shapes for viewers; the dynamics do not depend on them.
    **parameters
        Numbers and arrays in the equations of the subclass, which become attributes with these names.

    Attributes
    ----------
    group : {"SE2", "SE3"}
    shape_names : tuple of str
        Names of the entries of r.
    driven : mapping of shape name to input name
        Shape coordinates whose rate is an input. They are not solved for and need no inertia.
    shape_units : mapping of shape name to str
        Units of shape coordinates, such as "rad", "m" or "1", for pictures and tables; "rad or m" without one.
    shape_limits : mapping of shape name to number
        Largest magnitude of a coordinate [rad]; a step fails if it would exceed this limit.
    input_names : tuple of str
        Names of the inputs over time.

    Raises
    ------
    ModelError
        If a parameter has the name of a method.

    Notes
    -----
    Arguments of all methods, those of subclasses included, are

    r : (s,) array
        Shape [m or rad].
    u : (s,) array
        Its rates [m/s or rad/s].
    xi : (dim,) array
        Twist, angular part first [rad/s, m/s].
    g : (n, n) array
        Pose as a matrix [m], n = 3 in the plane and 4 in space.
    t : float
        Time [s].
    inputs : (nu,) array
        Values of ``input_names``, units as those of the equations.
    w : (s + dim,) array
        (u, xi) [m/s or rad/s].

    Methods raise a ModelError if the subclass defines neither a mass matrix nor a Lagrangian.

    References
    ----------
    Kobilarov, Crane & Desbrun 2009, "Lie group integrators for animation and control of vehicles", sections 3.2 and 5.
    """

    group: str = "SE2"
    shape_units: Mapping[str, str] = {}

    def __init__(self, name: str = "vehicle", *, geometry: Iterable[Geometry] = (), **parameters: object):
        for key, value in parameters.items():
            taken = getattr(type(self), key, None)
            if callable(taken) or isinstance(taken, property | cached_property):
                raise ModelError(f'the parameter "{key}" of "{name}" has the name of a method; rename the parameter')
            setattr(self, key, value)
        written = {key: getattr(type(self), key) for key in WRITTEN}
        kind = repr((self.group, self.shape_names, dict(self.driven), dict(self.shape_limits)))
        super().__init__(name, self.input_names, geometry, {**parameters, **written, "kind": kind})

    # ---- methods of subclasses: their docstrings are part of digests, which runs hold -------------

    def connection(self, r: np.ndarray) -> np.ndarray:
        """Return A(r), (dim, s) [rad or m, per rad or m]: the twist is -A(r) u where the vehicle does not glide."""
        return np.zeros((self.pose.dim, len(self.shape_names)))

    def symmetries(self, r: np.ndarray) -> np.ndarray:
        """Return e(r), (dim, b) [rad, m]: a basis of the twists that the constraints allow while the shape rests."""
        return np.zeros((self.pose.dim, 0))

    def lagrangian(self, r: np.ndarray, u: np.ndarray, xi: np.ndarray) -> float:
        """Return l(r, u, xi) [J], kinetic less potential energy, the first a quadratic form of (u, xi)."""
        w = np.concatenate((u, xi))
        return float(w @ self.mass_matrix(r) @ w / 2 - self.potential(r))

    def mass_matrix(self, r: np.ndarray) -> np.ndarray:
        """Return the second derivative (s + dim, s + dim) [kg, kg m or kg m^2] of l by (u, xi).

        Unless given it is taken from the ``lagrangian``, exactly, l being quadratic in them.

        Raises
        ------
        ModelError
            If the subclass has neither.
        """
        if type(self).lagrangian is NonholonomicVehicle.lagrangian:
            raise ModelError(f"{type(self).__name__} has neither a mass_matrix nor a lagrangian: give one of them")
        s, n = len(self.shape_names), len(self.shape_names) + self.pose.dim
        kinetic: Callable[[np.ndarray], float] = lambda w: self.lagrangian(r, w[:s], w[s:]) + self.potential(r)  # noqa: E731
        one = np.eye(n)
        alone = np.array([kinetic(x) for x in one])
        return np.array([[kinetic(a + b) for a in one] for b in one]) - alone - alone[:, None]  # type: ignore[no-any-return]  # digests hold this code

    def potential(self, r: np.ndarray) -> float:
        """Return the potential energy [J] of a shape."""
        if type(self).lagrangian is NonholonomicVehicle.lagrangian:
            return 0.0
        return -float(self.lagrangian(r, np.zeros(len(r)), np.zeros(self.pose.dim)))

    def lagrangian_slope(self, r: np.ndarray, u: np.ndarray, xi: np.ndarray) -> np.ndarray:
        """Return the derivative of l by r, (s,) [N or N m], by central differences over 3e-4 rad or m unless given."""
        along: Callable[[np.ndarray], Callable[[float], float]] = lambda d: lambda x: self.lagrangian(r + x * d, u, xi)  # noqa: E731
        return np.array([slope(along(d)) for d in np.eye(len(r))])

    def shape_force(self, t: float, r: np.ndarray, g: np.ndarray, u: np.ndarray, xi: np.ndarray,
                    inputs: np.ndarray) -> np.ndarray:  # fmt: skip
        """Return the force on the shape, (s,) [N or N m]."""
        return np.zeros(len(r))

    def body_force(self, t: float, r: np.ndarray, g: np.ndarray, u: np.ndarray, xi: np.ndarray,
                   inputs: np.ndarray) -> np.ndarray:  # fmt: skip
        """Return the wrench on the body in body axes, torque first, (dim,) [N m, N]."""
        return np.zeros(self.pose.dim)

    # ---- derived properties -----------------------------------------------------------------------------

    @property
    def pose(self) -> Any:
        """The class of the poses: coordinates, and the group of ``vitree.lie``."""
        return self._space

    @property
    def gravity(self) -> np.ndarray:
        """Zero, (3,) [m/s^2], read-only: the potential does not depend on the pose."""
        return frozen(np.zeros(3))

    @property
    def total_mass(self) -> float:
        """The last entry of the mass matrix, the mass of the body [kg]."""
        return float(self.mass_matrix(self.neutral()[: len(self.shape_names)])[-1, -1])

    @property
    def methods(self) -> Mapping[str, type[Integrator]]:
        """The integrators, the default first."""
        return METHODS_OF["nonholonomic" if "equations" in self.compiled else "nonholonomic, in Python"]

    @property
    def compiled(self) -> Keywords:
        return {"limits": [self.shape_limits.get(name, np.inf) for name in self.shape_names]}

    def require_invertible_mass_matrix(self, q: np.ndarray | None = None) -> None:
        """Raise a ModelError if methods of the subclass are inconsistent, or a direction has no inertia."""
        s, n = len(self.shape_names), self.pose.dim
        if self.group not in ("SE2", "SE3"):
            raise ModelError(f'{self.name}: group is "{self.group}"; it must be "SE2" or "SE3"')
        for kind in ("driven", "shape_limits", "shape_units"):
            for name in getattr(self, kind):
                if name not in self.shape_names:
                    raise ModelError(
                        f'{self.name}: {kind} has "{name}", which is not in shape_names {self.shape_names}'
                    )
        for name in self.driven.values():
            if name not in self.input_names:
                raise ModelError(
                    f'{self.name}: driven has the input "{name}", which is not in input_names {self.input_names}'
                )
        r = self.neutral()[:s]
        for method, rows, columns in (("connection", n, s), ("symmetries", n, None), ("mass_matrix", s + n, s + n)):
            shape = np.shape(getattr(self, method)(r))
            if len(shape) != 2 or shape[0] != rows or columns not in (None, shape[1]):
                wanted = f"({rows}, {'b' if columns is None else columns})"
                raise ModelError(f"{self.name}: {method}(r) has shape {shape}; it must be {wanted}")
        M, free = self.mass_matrix(r), self.basis(r)[:, : self.free]
        if not np.allclose(M, M.T, rtol=1e-12, atol=1e-12 * np.abs(M).max()):
            raise ModelError(f"{self.name}: mass_matrix(r) is not symmetric")
        if self.free and not np.linalg.eigvalsh(free.T @ M @ free)[0] > 0:
            raise ModelError(
                f"{self.name}: the mass matrix is not positive definite on the velocities that the constraints allow; "
                f"give the shape inertia, or make it driven"
            )
        w = np.cos(np.arange(s + n))
        kinetic, rest = w @ M @ w / 2, self.potential(r)
        if abs(self.lagrangian(r, w[:s], w[s:]) - kinetic + rest) > 1e-9 * (kinetic + abs(rest)):
            raise ModelError(
                f"{self.name}: lagrangian(r, u, xi) is not w mass_matrix(r) w/2 - potential(r), with w = (u, xi)"
            )

    @cached_property
    def free(self) -> int:
        """Number of velocities that are solved for: rates that are not driven, and the entries of lam."""
        r = self.neutral()[: len(self.shape_names)]
        return len(self.shape_names) - len(self.driven) + int(self.symmetries(r).shape[1])

    @property
    def degrees_of_freedom(self) -> int:
        """Number of the velocities that the constraints allow, driven ones included."""
        return self.free + len(self.driven)

    def basis(self, r: np.ndarray) -> np.ndarray:
        """Return the matrix (s + dim, n) whose columns, without units, are the allowed (u, xi).

        The columns are in this order: rates that are solved for, lam, driven rates.
        """
        A, e, one = self.connection(r), self.symmetries(r), np.eye(len(r))
        driven = self.driven_at
        rates = [k for k in range(len(r)) if k not in driven]
        still = np.zeros((len(r), e.shape[1]))
        return np.block([[one[:, rates], still, one[:, driven]], [-A[:, rates], e, -A[:, driven]]])

    def reduced(self, r: np.ndarray, w: np.ndarray) -> np.ndarray:
        """Return the coordinates (n,) in ``basis`` [m/s or rad/s] of the allowed velocity nearest to w, by energy."""
        V, n = self.basis(r), self.free
        driven = w[self.driven_at]
        MV = self.mass_matrix(r) @ V[:, :n]
        free = np.linalg.solve(V[:, :n].T @ MV, MV.T @ (w - V[:, n:] @ driven)) if n else np.zeros(0)
        return np.concatenate((free, driven))

    # ---- states -----------------------------------------------------------------------------------

    @finite_result
    def velocity(
        self,
        q: ArrayLike,
        rates: Mapping[str, float] | Sequence[float] | np.ndarray = (),
        glide: Sequence[float] | np.ndarray = (),
    ) -> np.ndarray:
        """Return the velocity v (nv,) [m/s or rad/s] that the constraints allow: (u, e(r) lam - A(r) u).

        Parameters
        ----------
        q : (nq,) array [m or rad]
        rates : mapping of shape name to number, or (s,) array
            Rates u of the shape [m/s or rad/s]; zero if not given.
        glide : (b,) array
            Velocity lam along the symmetries, as factors of e(r) per second; zero if not given.

        Raises
        ------
        InputError
            If a name is not that of a shape coordinate.
        """
        r = self.validate_configuration(q)[: len(self.shape_names)]
        e, u = self.symmetries(r), np.zeros(len(r))
        if isinstance(rates, Mapping):
            for name, rate in rates.items():
                if name not in self.shape_names:
                    raise InputError(f'{self.name!r} has no shape coordinate "{name}"; they are {self.shape_names}')
                u[self.shape_names.index(name)] = entries(rate, (), f'the rate of "{name}"')
        elif not (isinstance(rates, tuple | list) and not rates):
            u[:] = self._checked(rates, len(r), "rates")
        still = isinstance(glide, tuple | list) and not glide
        lam = np.zeros(e.shape[1]) if still else self._checked(glide, e.shape[1], "glide")
        v = np.empty(self.nv)
        v[self.algebra] = np.concatenate((u, e @ lam - self.connection(r) @ u))
        return v

    @finite_result
    def project_velocity(self, q: ArrayLike, v: ArrayLike) -> np.ndarray:
        """Return the velocity (nv,) [m/s or rad/s] nearest to v, in kinetic energy, that the constraints allow.

        Driven rates are zero.
        """
        r, w = self.validate_configuration(q)[: len(self.shape_names)], self._checked(v, self.nv, "v")[self.algebra]
        w[self.driven_at] = 0.0
        v = np.empty(self.nv)
        v[self.algebra] = self.basis(r) @ self.reduced(r, w)
        return v

    def require_allowed(self, q: np.ndarray, v: np.ndarray, name: str = "v0") -> None:
        """Raise an InputError, with ``name`` in it, if a velocity breaks the constraints."""
        s, size = len(self.shape_names), max(1.0, float(np.abs(v).max()))
        w = v[self.algebra] / size
        slip = self.basis(q[:s]) @ self.reduced(q[:s], w) - w
        if not np.abs(slip).max() <= SLIP:
            allowed = v.copy()
            with np.errstate(over="ignore"):
                slip *= size
                allowed[self.algebra] += slip
            raise InputError(
                f"{name} breaks the constraints of {self.name!r}, by {np.abs(slip).max():.3g}; the nearest velocity "
                f"that they allow is {np.array2string(allowed, precision=6)}; velocity(q, rates, glide) makes one"
            )

    # ---- stacks of states -------------------------------------------------------------------------

    def _masses(self, q: np.ndarray) -> np.ndarray:
        return np.array([self.mass_matrix(r) for r in q[:, : len(self.shape_names)]]).reshape(-1, self.nv, self.nv)

    def _potentials(self, q: np.ndarray) -> np.ndarray:
        return np.array([self.potential(r) for r in q[:, : len(self.shape_names)]])

    def _momenta(self, q: np.ndarray, v: np.ndarray) -> np.ndarray:
        # dl/dv, and the driven rates
        p = super()._momenta(q, v)
        p[:, self.driven_at] = v[:, self.driven_at]
        return p

    def _velocities(self, q: np.ndarray, p: np.ndarray) -> np.ndarray:
        v, s, n = np.empty_like(p), len(self.shape_names), self.free
        for k, (r, at) in enumerate(zip(q[:, :s], p[:, self.algebra], strict=True)):
            V, M, rates = self.basis(r), self.mass_matrix(r), at[self.driven_at]
            free = np.linalg.solve(V[:, :n].T @ M @ V[:, :n], V[:, :n].T @ (at - M @ V[:, n:] @ rates))
            v[k, self.algebra] = V @ np.concatenate((free, rates))
        return v

    def symmetry_momentum(self, q: np.ndarray, v: np.ndarray) -> np.ndarray:
        """Return the momentum along the symmetries, e(r)^T dl/dxi, of rows of states q (n, nq), v (n, nv).

        (n, b) [kg m/s or kg m^2/s].
        """
        s = len(self.shape_names)
        mu = np.einsum("nij,nj->ni", self._masses(q), v[:, self.algebra])[:, s:]
        return np.array([self.symmetries(r).T @ m for r, m in zip(q[:, :s], mu, strict=True)])


def placed(position: ArrayLike, yaw: float = 0.0, pitch: float = 0.0) -> np.ndarray:
    """Return the pose (4, 4) at a position [m], rotated about z and then about the new y [rad]."""
    c, s, cp, sp = np.cos(yaw), np.sin(yaw), np.cos(pitch), np.sin(pitch)
    X = np.eye(4)
    X[:3, :3] = np.array([[c, -s, 0], [s, c, 0], [0, 0, 1]]) @ np.array([[cp, 0, sp], [0, 1, 0], [-sp, 0, cp]])
    X[:3, 3] = position
    return X
