"""The car with simple dynamics of Kobilarov et al. 2009, section 5.2.1."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from vitree.arguments import Keywords, explain_calls
from vitree.errors import ModelError
from vitree.mechanism.flat import Geometry
from vitree.vehicles.checks import array, not_negative, positive
from vitree.vehicles.rolling import NonholonomicVehicle, placed


class Car(NonholonomicVehicle):
    """A car whose wheels roll without slip; made by :func:`car`."""

    # The equations of the car are in three places, which tests compare: here as constraints and Lagrangian, for the
    # methods of any vehicle; solved for the rate of psi in car_rate (_core/vehicles/rolling.pxi), for speed; and over
    # many intervals at once in CarDynamics (control/dynamics.py), for optimisation.

    shape_names = ("psi", "sigma")
    shape_units = {"psi": "rad", "sigma": "1"}  # noqa: RUF012
    input_names = ("torque", "steering")
    driven = {"sigma": "steering"}  # noqa: RUF012

    mass: float
    inertia: float
    wheel_inertia: float
    wheelbase: float
    wheel_radius: float
    rolling_resistance: float
    max_steering: float

    @property
    def shape_limits(self) -> dict[str, float]:  # type: ignore[override]
        """The tangent of the largest steering angle, for sigma."""
        return {"sigma": float(np.tan(self.max_steering))}

    @property
    def is_conservative(self) -> bool:
        """Whether the car rolls without resistance."""
        return self.rolling_resistance == 0

    @property
    def is_dissipative(self) -> bool:
        """Whether the rolling resistance dissipates energy."""
        return not self.is_conservative

    @property
    def compiled(self) -> Keywords:
        """Keyword arguments of the compiled stepper."""
        inertias, lengths = (self.mass, self.inertia, self.wheel_inertia), (self.wheelbase, self.wheel_radius)
        return {**super().compiled, "equations": ("car", (*inertias, *lengths, self.rolling_resistance))}

    def connection(self, r: np.ndarray) -> np.ndarray:
        rho = self.wheel_radius
        return np.array([[-rho * r[1] / self.wheelbase, 0.0], [-rho, 0.0], [0.0, 0.0]])

    def mass_matrix(self, r: np.ndarray) -> np.ndarray:
        return np.diag([self.wheel_inertia, 0.0, self.inertia, self.mass, self.mass])

    def lagrangian_slope(self, r: np.ndarray, u: np.ndarray, xi: np.ndarray) -> np.ndarray:
        return np.zeros(2)

    def shape_force(self, t: float, r: np.ndarray, g: np.ndarray, u: np.ndarray, xi: np.ndarray,
                    inputs: np.ndarray) -> np.ndarray:  # fmt: skip
        return np.array([inputs[0] - self.rolling_resistance * u[0], 0.0])

    def frame_poses(self, q: ArrayLike) -> dict[str, np.ndarray]:
        psi, sigma, theta, x, y = self.validate_configuration(q)
        body, steering = placed((x, y, 0.0), yaw=theta), np.arctan(sigma)
        poses = {"body": body}
        for name, (ahead, side) in WHEELS.items():
            # a steered wheel rolls a longer distance
            turn = (steering, psi / np.cos(steering)) if ahead else (0.0, psi)
            place = (ahead * self.wheelbase, 0.28 * side * self.wheelbase, self.wheel_radius)
            poses[name] = body @ placed(place, *turn)
        return poses


#: The axle (0: rear) and the side of each wheel.
WHEELS = {"rear_left": (0, 1), "rear_right": (0, -1), "front_left": (1, 1), "front_right": (1, -1)}


@explain_calls
def car(*, mass: float = 1200.0, inertia: float = 2000.0, wheel_inertia: float = 2.5, wheelbase: float = 2.6,
        wheel_radius: float = 0.3, rolling_resistance: float = 0.0, max_steering: float = 0.65,
        name: str = "car") -> Car:  # fmt: skip
    r"""Return a car that rolls without slip: torque on the rear wheels, and the rate of steering.

    q = (psi, sigma, theta, x, y): angle of the rear wheels [rad], tangent of the steering angle, heading [rad], and
    position [m] of the rear axle's middle, which is also the centre of mass. v = (their rates, omega, vx, vy), the
    twist in body axes, with omega = rho sigma psi'/l, vx = rho psi' and vy = 0: the car moves along the circle that
    the front wheels determine. With the torque f,

        (I + m rho^2 + K rho^2 sigma^2/l^2) psi'' + (K rho^2/l^2) sigma sigma' psi' = f - d psi'.

    The inputs are ``torque`` (f, on both rear wheels together [N m]) and ``steering`` (sigma' [1/s]). Steering has a
    rate, but neither inertia nor torque; a record has the rate of the step that ended there.

    Parameters
    ----------
    mass : float [kg]
        m.
    inertia : float [kg m^2]
        K, about the vertical axis through the rear axle's middle.
    wheel_inertia : float [kg m^2]
        I, of the rear wheels and all parts that turn with them.
    wheelbase : float [m]
        l, from axle to axle.
    wheel_radius : float [m]
        rho.
    rolling_resistance : float [N m s/rad]
        d, the torque against the rear wheels per rate of psi.
    max_steering : float [rad]
        Largest steering angle; a step fails if it would exceed this angle.
    name : str

    Raises
    ------
    ModelError
        If ``max_steering`` is not between 0 and pi/2, ``rolling_resistance`` is negative, or another number is not
        positive.

    References
    ----------
    Kobilarov, Crane & Desbrun 2009, section 5.2.1.

    Examples
    --------
    >>> import vitree as vt
    >>> from vitree import vehicles
    >>> control = vt.Control(inputs={"torque": 500.0, "steering": 0.1})
    >>> run = vt.simulate(vehicles.car(), duration=2.0, dt=0.05, control=control)
    >>> print(f"{run.v[-1, 3]:.3f} m/s")
    2.698 m/s
    """
    limit = array(max_steering, (), f'the largest steering angle of "{name}"')
    if not 0 < limit < np.pi / 2:
        raise ModelError(f'the largest steering angle of "{name}" is {limit:g}; it must be between 0 and pi/2 [rad]')
    lengths = {
        key: positive(value, f'the {key.replace("_", " ")} of "{name}"')
        for key, value in {
            "mass": mass, "inertia": inertia, "wheel_inertia": wheel_inertia, "wheelbase": wheelbase,
            "wheel_radius": wheel_radius,
        }.items()
    }  # fmt: skip
    resistance = not_negative(rolling_resistance, f'the rolling resistance of "{name}"')
    return Car(name, geometry=_shapes(lengths["wheelbase"], lengths["wheel_radius"]), **lengths,
               rolling_resistance=resistance, max_steering=float(limit))  # fmt: skip


def _shapes(wheelbase: float, radius: float) -> tuple[Geometry, ...]:
    """A chassis, a cabin, and four wheels."""
    one, axle = np.eye(3), np.array([[1.0, 0, 0], [0, 0, -1], [0, 1, 0]])
    red, grey, black = (0.75, 0.15, 0.12, 1.0), (0.6, 0.65, 0.7, 1.0), (0.1, 0.1, 0.1, 1.0)

    def box(
        size: tuple[float, float, float], ahead: float, up: float, rgba: tuple[float, float, float, float]
    ) -> Geometry:
        place = np.array([ahead * wheelbase, 0.0, up * wheelbase + 1.2 * radius])
        return Geometry("body", "box", tuple(wheelbase * x for x in size), one, place, rgba=rgba)

    return (
        box((1.5, 0.66, 0.2), 0.5, 0.0, red),
        box((0.75, 0.6, 0.2), 0.4, 0.2, grey),
        *(Geometry(name, "cylinder", (radius, 0.7 * radius), axle, np.zeros(3), rgba=black) for name in WHEELS),
    )
