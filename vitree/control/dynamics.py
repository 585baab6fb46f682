"""The equations of one step of a vehicle's variational integrator, for the optimiser.

A step from node k to node k + 1 with the inputs u_k and the velocity y_k of the interval is

    p_k = before(h, q_k, y_k) - (h/2) force(t_k, q_k, y_k, u_k)           the momentum at its start
    q_{k+1} = advance(h, q_k, y_k, u_k)
    p_{k+1} = after(h, q_{k+1}, y_k) + (h/2) force(t_{k+1}, q_{k+1}, y_k, u_k)

and at both ends of the run p = momentum(q, v) (half kicks). All functions take arrays with leading axes, complex too.

These steps stand a third time here, beside the kernels of ``vitree._core`` and ``tests/reference.py``. The optimiser
needs them at many steps at once and at complex arguments (see ``vitree.control.program``): the kernels take neither.
The maps of the groups are those of ``vitree.lie``. ``test_the_vehicles_own_integrator_takes_the_same_way`` compares
them with the kernels.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import numpy as np
from numpy.typing import ArrayLike

from vitree import vehicles
from vitree.arguments import entries, mapping, numbers_of, real, several, shown
from vitree.control.program import Function
from vitree.errors import InputError, UnknownNameError
from vitree.lie import SE2, SE3, Group
from vitree.model.model import Model
from vitree.vehicles.checks import LARGEST, LEAST


class Dynamics:
    """The functions of a vehicle that the optimiser calls; base of the kinds below.

    Attributes
    ----------
    q_names, v_names, input_names : tuple of str
        Names of configurations, velocities and inputs, for bounds and costs.
    bounds : dict of str to (float, float)
        Least and greatest value by any of these names. A problem may replace them.
    trim : (nu,) array
        Inputs that hold the vehicle, in units of the force's. The guess starts from them, and the effort is measured
        from them.
    group : Group
        The group of the poses.
    looks_at : dict of str to str
        The variables ("q", "v", "u") that a function depends on, by its name. It gets no columns of the others. A
        function without an entry gets all.

    Notes
    -----
    Arguments of the methods are

    h, t : (...) array
        Step and time [s].
    q : (..., nq) array
        Configurations [m or rad].
    y, v : (..., nv) array
        Velocities of an interval, or at a node [m/s or rad/s].
    u : (..., nu) array
        Inputs, in units of the force's.

    References
    ----------
    Kobilarov, Crane & Desbrun 2009, section 6; Junge, Marsden & Ober-Bloebaum 2005 (DMOC).
    """

    q_names: tuple[str, ...]
    v_names: tuple[str, ...]
    input_names: tuple[str, ...]
    bounds: dict[str, tuple[float, float]]
    trim: np.ndarray
    group: Group
    looks_at: Mapping[str, str] = {}

    def pose(self, q: np.ndarray) -> np.ndarray:
        """Return the elements of the group (..., size, size), rotation and position [m]."""
        raise NotImplementedError

    def before(self, h: np.ndarray, q: np.ndarray, y: np.ndarray, u: np.ndarray) -> np.ndarray:
        """Return the momentum (..., nv) [kg m/s or kg m^2/s] at the start of an interval, forces left out."""
        raise NotImplementedError

    def after(self, h: np.ndarray, q: np.ndarray, y: np.ndarray, u: np.ndarray) -> np.ndarray:
        """Return the momentum (..., nv) [kg m/s or kg m^2/s] at the end of an interval, forces left out."""
        raise NotImplementedError

    def force(self, t: np.ndarray, q: np.ndarray, y: np.ndarray, u: np.ndarray) -> np.ndarray:
        """Return the generalised force (..., nv) [N or N m]."""
        raise NotImplementedError

    def advance(self, h: np.ndarray, q: np.ndarray, y: np.ndarray, u: np.ndarray) -> np.ndarray:
        """Return the next configuration (..., nq) [m or rad]."""
        raise NotImplementedError

    def momentum(self, q: np.ndarray, v: np.ndarray) -> np.ndarray:
        """Return the momentum (..., nv) [kg m/s or kg m^2/s] of a velocity."""
        raise NotImplementedError

    def reach(self, h: float) -> dict[str, float]:
        """Return the largest magnitudes of velocities [m/s or rad/s] that the equations of a step allow, by name."""
        return {}

    def check(self, q: np.ndarray, what: str) -> np.ndarray:
        """Return the configuration (nq,) [m or rad], made exact, or raise an InputError that names it ``what``."""
        return q

    def meet(self, q: np.ndarray, goal: np.ndarray) -> tuple[list[int], Function | None]:
        """Return the coordinates that take the values of a ``goal`` (nq,), and equations for others; NaN is free."""
        return [i for i in range(len(goal)) if np.isfinite(goal[i])], None

    def interpolate(self, first: np.ndarray, last: np.ndarray, s: np.ndarray) -> np.ndarray:
        """Return configurations (n, nq) [m or rad] from first (nq,) to last (nq,) at shares s (n,), for the guess."""
        return np.asarray(first + s[:, None] * (last - first))

    def velocities(self, q: np.ndarray, h: float) -> np.ndarray:
        """Return velocities (n, nv) [m/s or rad/s] that lead from each configuration (n + 1, nq) nearly to the next."""
        raise NotImplementedError


class RigidDynamics(Dynamics):
    """A rigid body on SE(3) or SE(2): C(h xi)^T I xi, stepped by a map of the group.

    On SE(3) configurations are (position, quaternion xyzw) and velocities (linear, angular) in body axes, as of a
    ``free`` joint; on SE(2) they are (theta, x, y) and (w, vx, vy). Twists ``xi`` and wrenches are (angular, linear).

    Parameters
    ----------
    group : Group
        ``vitree.lie.SE2`` or ``SE3``.
    inertia : (dim, dim) array [kg m^2, kg m, kg]
        Symmetric, positive definite; (angular, linear).
    force : callable
        ``force(t, g, xi, u)`` returns the wrench (..., dim) in body axes, (torque, force). t is (...), g the pose
        (..., size, size), xi (..., dim), u (..., nu). It must be analytic and take complex numbers.
    inputs : mapping of str to (float, float), or sequence of str
        Names of the inputs, and their bounds.
    trim : mapping of str to float
        Inputs that hold the vehicle; zero unless given.
    map : str
        Map of the group: "exp", "cayley", "dual-cayley".

    Raises
    ------
    InputError
        If the group is neither SE2 nor SE3, or the inertia not symmetric and positive definite.
    UnknownNameError
        If a map or an input of the trim is not known.
    """

    looks_at = {"before": "v", "after": "v", "advance": "qv"}  # noqa: RUF012

    def __init__(
        self,
        group: Group,
        inertia: ArrayLike,
        force: Callable[..., np.ndarray],
        inputs: Mapping[str, tuple[float, float]] | Sequence[str],
        *,
        trim: Mapping[str, float] | None = None,
        map: str = "exp",
    ):
        if group is not SE2 and group is not SE3:
            raise InputError(f"a rigid vehicle moves on SE2 or SE3 of vitree.lie, not on {group!r}")
        if not isinstance(map, str):
            raise UnknownNameError("map", shown(map), group.maps)
        self.group, self.map, self._force = group, group.maps[map], force
        self._half_turn = {"exp": _exp_turn}.get(map, _cayley_turn)
        n = group.dim
        self.inertia = numbers_of(inertia, "the inertia").copy()
        if self.inertia.shape != (n, n):
            raise InputError(f"the inertia has shape {self.inertia.shape}; on {group.name} it must be ({n}, {n})")
        if not np.abs(self.inertia).max() <= LARGEST:
            raise InputError(f"the inertia must be finite, with entries up to {LARGEST:g} in size")
        if not np.allclose(self.inertia, self.inertia.T) or not np.linalg.eigvalsh(self.inertia)[0] > 0:
            raise InputError("the inertia must be symmetric and positive definite")
        if group is SE3:
            self.q_names = ("x", "y", "z", "qx", "qy", "qz", "qw")
            self.v_names = ("vx", "vy", "vz", "wx", "wy", "wz")
            self._order = [3, 4, 5, 0, 1, 2]  # of velocities in twists, and back
        else:
            self.q_names, self.v_names, self._order = ("theta", "x", "y"), ("w", "vx", "vy"), [0, 1, 2]
        plain = isinstance(inputs, Mapping | str)
        self.input_names = tuple(inputs) if plain else several(inputs, "inputs", "names, or names and their bounds")
        if not all(isinstance(name, str) for name in self.input_names):
            raise InputError(f"the inputs are {shown(inputs)}; their names must be texts")
        self.bounds = dict(inputs) if isinstance(inputs, Mapping) else {}
        trim = mapping(trim, "trim", "a mapping of names of inputs to numbers")
        for name in trim:
            if name not in self.input_names:
                raise UnknownNameError("input", name, self.input_names)
        self.trim = np.array([entries(trim.get(name, 0.0), (), f"the trim of {name}") for name in self.input_names])

    def pose(self, q: np.ndarray) -> np.ndarray:
        if self.group is SE2:
            return _planar_pose(q)
        return np.asarray(SE3._matrix(_rotation(q[..., 3:]), q[..., :3]))

    def before(self, h: np.ndarray, q: np.ndarray, y: np.ndarray, u: np.ndarray) -> np.ndarray:
        xi = y[..., self._order]
        return np.asarray(self.map.dtau_inv_transposed(h[..., None] * xi, xi @ self.inertia)[..., self._order])

    def after(self, h: np.ndarray, q: np.ndarray, y: np.ndarray, u: np.ndarray) -> np.ndarray:
        return self.before(-h, q, y, u)

    def force(self, t: np.ndarray, q: np.ndarray, y: np.ndarray, u: np.ndarray) -> np.ndarray:
        return self._force(t, self.pose(q), y[..., self._order], u)[..., self._order]

    def reach(self, h: float) -> dict[str, float]:
        # Turns of more than half a circle cannot be told from smaller ones the other way.
        return {"w": 3.0 / h} if self.group is SE2 else dict.fromkeys(("wx", "wy", "wz"), 1.8 / h)

    def momentum(self, q: np.ndarray, v: np.ndarray) -> np.ndarray:
        return np.asarray((v[..., self._order] @ self.inertia)[..., self._order])

    def advance(self, h: np.ndarray, q: np.ndarray, y: np.ndarray, u: np.ndarray) -> np.ndarray:
        x = h[..., None] * y[..., self._order]
        shift = self.map.tau(x)[..., :-1, -1]
        if self.group is SE2:
            turn = x[..., 0] if self.map.name == "exp" else 2 * np.arctan(x[..., 0] / 2)
            moved = (self.pose(q)[..., :2, :2] @ shift[..., None])[..., 0]
            return np.concatenate(((q[..., 0] + turn)[..., None], q[..., 1:] + moved), axis=-1)
        moved = (_rotation(q[..., 3:]) @ shift[..., None])[..., 0]
        return np.concatenate((q[..., :3] + moved, _product(q[..., 3:], self._half_turn(x[..., :3]))), axis=-1)

    def check(self, q: np.ndarray, what: str) -> np.ndarray:
        if self.group is SE2:
            return q
        length = np.linalg.norm(q[3:])
        if np.isfinite(length) and abs(length - 1) > 1e-6:
            raise InputError(f"{what} has a quaternion (x, y, z, w) of length {length:.6g}; divide it by its length")
        if np.isnan(q[3:]).any() and not np.isnan(q[3:]).all():
            raise InputError(f"{what} has a quaternion with some entries NaN; give all four, or NaN for all four")
        return np.concatenate((q[:3], q[3:] / length))

    def meet(self, q: np.ndarray, goal: np.ndarray) -> tuple[list[int], Function | None]:
        if self.group is SE2 or np.isnan(goal[3:]).any():
            return super().meet(q, goal)
        # A unit quaternion is three conditions: the turn from here to the goal has no vector part.
        back = goal[3:] * [-1, -1, -1, 1]
        return [i for i in range(3) if np.isfinite(goal[i])], lambda q: _product(back, q[..., 3:])[..., :3]

    def interpolate(self, first: np.ndarray, last: np.ndarray, s: np.ndarray) -> np.ndarray:
        if self.group is SE2:
            return super().interpolate(first, last, s)
        exp = SE3.maps["exp"]
        turn = exp.log(exp.group.inverse(self._turned(first)) @ self._turned(last))[:3]
        quaternions = _product(first[3:], _exp_turn(s[:, None] * turn))
        return np.concatenate((first[:3] + s[:, None] * (last[:3] - first[:3]), quaternions), axis=1)

    def _turned(self, q: np.ndarray) -> np.ndarray:
        return self.pose(np.concatenate((np.zeros(3), q[3:])))

    def velocities(self, q: np.ndarray, h: float) -> np.ndarray:
        g = self.pose(q)
        return self.map.log(self.group.inverse(g[:-1]) @ g[1:])[..., self._order] / h


class CarDynamics(Dynamics):
    """The car of Kobilarov et al. 2009, section 5.2.1: it rolls without slip and is steered by its front wheels.

    Configurations are (psi, sigma, theta, x, y): angle of the rear wheels [rad], tangent of the steering angle, heading
    [rad], middle of the rear axle [m]. The velocity is the rate of psi [rad/s], the inputs are "torque" on the rear
    wheels [N m] and "steering", the rate of sigma [1/s].

    Parameters
    ----------
    mass : float [kg]
    inertia : float [kg m^2]
        About the vertical through the middle of the rear axle.
    wheel_inertia : float [kg m^2]
    wheelbase, wheel_radius : float [m]
    rolling_resistance : float [N m s/rad]
        The torque -rolling_resistance * rate on the wheels.
    max_steering : float [rad]
        Largest steering angle.

    Raises
    ------
    InputError
        If a number is out of its range.
    """

    q_names, v_names, group = ("psi", "sigma", "theta", "x", "y"), ("rate",), SE2
    input_names = ("torque", "steering")
    trim = np.zeros(2)

    def __init__(
        self,
        *,
        mass: float,
        inertia: float,
        wheel_inertia: float,
        wheelbase: float,
        wheel_radius: float,
        rolling_resistance: float = 0.0,
        max_steering: float = 0.65,
    ):
        given = dict(mass=mass, inertia=inertia, wheel_inertia=wheel_inertia, wheelbase=wheelbase,
                     wheel_radius=wheel_radius)  # fmt: skip
        for name, value in given.items():
            if not LEAST <= real(value) <= LARGEST:
                needed = f"a positive number, from {LEAST:g} to {LARGEST:g}"
                raise InputError(f"the car's {name} is {shown(value)}; it must be {needed}")
        if not (0 <= real(rolling_resistance) <= LARGEST and 0 < real(max_steering) < np.pi / 2):
            raise InputError(
                f"the car has rolling_resistance {shown(rolling_resistance)} and max_steering {shown(max_steering)}; "
                "they must be numbers, at least 0, and between 0 and pi/2"
            )
        mass, inertia, wheel_inertia, wheelbase, wheel_radius = map(real, given.values())
        rolling_resistance, max_steering = real(rolling_resistance), real(max_steering)
        self.wheelbase, self.wheel_radius, self.resistance = wheelbase, wheel_radius, rolling_resistance
        self._rolling = wheel_inertia + mass * wheel_radius**2
        self._turning = inertia * (wheel_radius / wheelbase) ** 2
        self.bounds = {"sigma": (-np.tan(max_steering), np.tan(max_steering))}

    def pose(self, q: np.ndarray) -> np.ndarray:
        return _planar_pose(q[..., 2:])

    def _momentum(self, sigma: np.ndarray, steered: np.ndarray, y: np.ndarray) -> np.ndarray:
        return np.asarray((self._rolling + self._turning * sigma * steered)[..., None] * y)

    def before(self, h: np.ndarray, q: np.ndarray, y: np.ndarray, u: np.ndarray) -> np.ndarray:
        # The mass matrix is that of the steering in the middle of the interval.
        return self._momentum(q[..., 1], q[..., 1] + h / 2 * u[..., 1], y)

    def after(self, h: np.ndarray, q: np.ndarray, y: np.ndarray, u: np.ndarray) -> np.ndarray:
        return self.before(-h, q, y, u)

    def force(self, t: np.ndarray, q: np.ndarray, y: np.ndarray, u: np.ndarray) -> np.ndarray:
        return np.asarray(u[..., :1] - self.resistance * y)

    def momentum(self, q: np.ndarray, v: np.ndarray) -> np.ndarray:
        return self._momentum(q[..., 1], q[..., 1], v)

    def advance(self, h: np.ndarray, q: np.ndarray, y: np.ndarray, u: np.ndarray) -> np.ndarray:
        # The car moves along the chord of its arc. The tiny number spares sin(x)/x a branch at x = 0.
        way = h * self.wheel_radius * y[..., 0]
        turn = way * (q[..., 1] + h / 2 * u[..., 1]) / self.wheelbase
        half = turn / 2 + 1e-100
        chord, course = way * np.sin(half) / half, q[..., 2] + turn / 2
        steps = (h * y[..., 0], h * u[..., 1], turn, chord * np.cos(course), chord * np.sin(course))
        return np.asarray(q + np.stack(np.broadcast_arrays(*steps), axis=-1))

    def velocities(self, q: np.ndarray, h: float) -> np.ndarray:
        middle = (q[1:, 2] + q[:-1, 2]) / 2
        forward = np.diff(q[:, 3]) * np.cos(middle) + np.diff(q[:, 4]) * np.sin(middle)
        return np.asarray(forward[:, None] / (h * self.wheel_radius))


#: Rigid vehicles whose forces are known here.
KNOWN = vehicles.RigidVehicle, vehicles.Helicopter


def dynamics_of(vehicle: object, map: str = "exp") -> Dynamics:
    """Return the equations of a vehicle, for the optimiser.

    Parameters
    ----------
    vehicle : vehicle of ``vitree.vehicles``
        A helicopter, a car, or a :class:`vitree.vehicles.RigidVehicle`. A ``force`` of the vehicle must take arrays
        with leading axes and complex numbers. A :class:`Dynamics` is returned as it is.
    map : str
        Map of the group, for vehicles in space.

    Raises
    ------
    InputError
        For a vehicle whose equations only compiled integrators have.
    """
    if isinstance(vehicle, Dynamics):
        return vehicle
    if isinstance(vehicle, vehicles.Car):
        names = ("mass", "inertia", "wheel_inertia", "wheelbase", "wheel_radius", "rolling_resistance", "max_steering")
        return CarDynamics(**{name: getattr(vehicle, name) for name in names})
    if isinstance(vehicle, Model):
        raise InputError("vehicle", vehicle, "is a Model; ControlProblem takes vehicles, and MotionProblem models")
    if not isinstance(vehicle, vehicles.RigidVehicle) or type(vehicle) not in KNOWN:
        raise InputError(
            f"the optimiser has no equations of {vehicle!r}; give a helicopter, a car, a RigidVehicle, or a Dynamics "
            "of vitree.control with the forces written in Python"
        )
    weight, drag, own = vehicle.mass * vehicle.gravity, vehicle.drag, vehicle.force
    inertia = np.zeros((6, 6))
    inertia[:3, :3], inertia[3:, 3:] = vehicle.rotational, vehicle.translational
    if isinstance(vehicle, vehicles.Helicopter):
        controls = _rotors(vehicle.parts["top"], vehicle.parts["tail"])
        trim = {"collective": float(np.linalg.norm(weight))}
    else:
        columns, trim = vehicle.columns, {}

        def controls(u: np.ndarray) -> np.ndarray:
            return np.asarray(u @ columns)


    def force(t: np.ndarray, g: np.ndarray, xi: np.ndarray, u: np.ndarray) -> np.ndarray:
        pull = (np.swapaxes(g[..., :3, :3], -1, -2) @ weight[:, None])[..., 0]
        wrench = controls(u) - xi @ drag + np.concatenate((np.zeros_like(pull), pull), axis=-1)
        return np.asarray(wrench if own is None else wrench + own(t, g, xi, u))

    return RigidDynamics(SE3, inertia, force, vehicle.input_names, trim=trim, map=map)


def _rotors(top: float, tail: float) -> Function:
    """Return the wrench of a tilting main rotor at the height ``top`` and of a tail rotor ``tail`` behind it."""

    def controls(u: np.ndarray) -> np.ndarray:
        lift, aside, pitch, roll = np.moveaxis(u, -1, 0)
        x, y, z = lift * np.sin(pitch) * np.cos(roll), -lift * np.sin(roll), lift * np.cos(pitch) * np.cos(roll)
        return np.stack((-top * y, top * x, tail * aside, x, y - aside, z), axis=-1)

    return controls


# ---- turns ----------------------------------------------------------------------------------------------


def _planar_pose(q: np.ndarray) -> np.ndarray:
    g = np.zeros((*q.shape[:-1], 3, 3), q.dtype)
    c, s = np.cos(q[..., 0]), np.sin(q[..., 0])
    g[..., 0, 0], g[..., 0, 1], g[..., 1, 0], g[..., 1, 1] = c, -s, s, c
    g[..., :2, 2], g[..., 2, 2] = q[..., 1:3], 1
    return g


def _rotation(turn: np.ndarray) -> np.ndarray:
    """Rotations (..., 3, 3) of quaternions (x, y, z, w) of unit length.

    Of another length the matrices of ``vitree.lie`` scale with its square; these do not.
    """
    x, y, z, w = np.moveaxis(turn, -1, 0)
    R = np.empty((*turn.shape[:-1], 3, 3), turn.dtype)
    R[..., 0, 0], R[..., 1, 1], R[..., 2, 2] = 1 - 2 * (y * y + z * z), 1 - 2 * (x * x + z * z), 1 - 2 * (x * x + y * y)
    R[..., 0, 1], R[..., 1, 0] = 2 * (x * y - z * w), 2 * (x * y + z * w)
    R[..., 0, 2], R[..., 2, 0] = 2 * (x * z + y * w), 2 * (x * z - y * w)
    R[..., 1, 2], R[..., 2, 1] = 2 * (y * z - x * w), 2 * (y * z + x * w)
    return R


def _product(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """Product of quaternions (x, y, z, w)."""
    ax, ay, az, aw = np.moveaxis(np.asarray(a), -1, 0)
    bx, by, bz, bw = np.moveaxis(np.asarray(b), -1, 0)
    return np.stack(
        (
            aw * bx + ax * bw + ay * bz - az * by,
            aw * by - ax * bz + ay * bw + az * bx,
            aw * bz + ax * by - ay * bx + az * bw,
            aw * bw - ax * bx - ay * by - az * bz,
        ),
        axis=-1,
    )


def _exp_turn(w: np.ndarray) -> np.ndarray:
    half = np.sqrt((w * w).sum(-1) + 1e-200)[..., None] / 2
    return np.concatenate((w * np.sin(half) / (2 * half), np.cos(half)), axis=-1)


def _cayley_turn(w: np.ndarray) -> np.ndarray:
    length = np.sqrt(1 + (w * w).sum(-1) / 4)[..., None]
    return np.asarray(np.concatenate((w / 2, np.ones_like(w[..., :1])), -1) / length)
