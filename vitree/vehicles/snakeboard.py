"""The snakeboard of Kobilarov et al. 2009, section 5.2.2."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from vitree.arguments import Keywords, explain_calls
from vitree.errors import ModelError
from vitree.mechanism.flat import Geometry
from vitree.vehicles.checks import array, positive
from vitree.vehicles.rolling import NonholonomicVehicle, placed


class Snakeboard(NonholonomicVehicle):
    """A board on two pairs of wheels that steer against each other, with a rotor; made by :func:`snakeboard`."""

    shape_names = ("psi", "phi")
    shape_units = {"psi": "rad", "phi": "rad"}  # noqa: RUF012
    input_names = ("rotor", "steering")

    mass: float
    half_length: float
    rotor_inertia: float
    wheel_inertia: float
    max_steering: float

    @property
    def shape_limits(self) -> dict[str, float]:  # type: ignore[override]
        """The largest steering angle."""
        return {"phi": self.max_steering}

    @property
    def is_conservative(self) -> bool:
        """True: the board rolls without resistance."""
        return True

    @property
    def compiled(self) -> Keywords:
        """Keyword arguments of the compiled stepper."""
        parameters = (self.mass, self.half_length, self.rotor_inertia, self.wheel_inertia)
        return {**super().compiled, "equations": ("snakeboard", parameters)}

    def connection(self, r: np.ndarray) -> np.ndarray:
        # multiples of e, such that the momentum along e depends on lam alone (Ostrowski 1996)
        share = self.rotor_inertia * np.tan(r[1]) / (2 * self.mass * self.half_length**2)
        return np.column_stack((share * self.symmetries(r)[:, 0], np.zeros(3)))

    def symmetries(self, r: np.ndarray) -> np.ndarray:
        return np.array([[np.sin(2 * r[1])], [-2 * self.half_length * np.cos(r[1]) ** 2], [0.0]])

    def mass_matrix(self, r: np.ndarray) -> np.ndarray:
        I, m = self.rotor_inertia, self.mass  # noqa: E741
        M = np.diag([I, 2 * self.wheel_inertia, m * self.half_length**2, m, m])
        M[0, 2] = M[2, 0] = I
        return M

    def lagrangian_slope(self, r: np.ndarray, u: np.ndarray, xi: np.ndarray) -> np.ndarray:
        return np.zeros(2)

    def shape_force(self, t: float, r: np.ndarray, g: np.ndarray, u: np.ndarray, xi: np.ndarray,
                    inputs: np.ndarray) -> np.ndarray:  # fmt: skip
        return inputs

    def frame_poses(self, q: ArrayLike) -> dict[str, np.ndarray]:
        psi, phi, theta, x, y = self.validate_configuration(q)
        l = self.half_length  # noqa: E741
        board = placed((x, y, 0.3 * l), yaw=theta)
        return {
            "body": board,
            "front": board @ placed((l, 0.0, -0.1 * l), yaw=phi),
            "rear": board @ placed((-l, 0.0, -0.1 * l), yaw=-phi),
            "rotor": board @ placed((0.0, 0.0, 0.3 * l), yaw=psi),
        }


@explain_calls
def snakeboard(*, mass: float = 6.0, half_length: float = 0.2, rotor_inertia: float = 0.016,
               wheel_inertia: float = 0.0013, max_steering: float = 1.4,
               name: str = "snakeboard") -> Snakeboard:  # fmt: skip
    r"""Return a snakeboard, which gains speed by swinging a rotor while the wheels are steered.

    q = (psi, phi, theta, x, y): angle of the rotor to the board, steering angle of the front wheels, the rear ones'
    being -phi [rad], heading [rad] and position [m] of the board's middle. v = (their rates, omega, vx, vy), the
    twist in body axes being a multiple of e = (sin 2 phi, -2 l cos^2 phi, 0). The Lagrangian is

        (I psi'^2 + 2 I psi' omega + 2 J phi'^2 + m l^2 omega^2 + m vx^2 + m vy^2)/2,

    and e . dl/dxi (``symmetry_momentum``) is constant while phi is constant.

    The inputs are the torques ``rotor`` on psi and ``steering`` on phi [N m].

    Parameters
    ----------
    mass : float [kg]
        m of the whole board, whose moment of inertia about the vertical axis is m l^2.
    half_length : float [m]
        l, from the middle to an axle.
    rotor_inertia : float [kg m^2]
        I, less than m l^2.
    wheel_inertia : float [kg m^2]
        J, of one pair of wheels about its pivot.
    max_steering : float [rad]
        Largest phi; a step fails if it would exceed this angle. At pi/2 the board could turn about any point.
    name : str

    Raises
    ------
    ModelError
        If ``max_steering`` is not between 0 and pi/2, ``rotor_inertia`` not less than m l^2, or a number not positive.

    References
    ----------
    Kobilarov, Crane & Desbrun 2009, section 5.2.2, whose sign of the steering angle this is; Ostrowski 1996.

    Examples
    --------
    >>> import numpy as np
    >>> import vitree as vt
    >>> from vitree import vehicles
    >>> board = vehicles.snakeboard()
    >>> v0 = board.velocity(board.neutral(), {"psi": 2.5, "phi": 1.6})
    >>> swing = {"rotor": lambda t: -0.126 * np.sin(np.pi * t), "steering": lambda t: -0.0128 * np.sin(np.pi * t)}
    >>> run = vt.simulate(board, v0=v0, duration=6.0, dt=0.01, control=vt.Control(inputs=swing))
    >>> print(f"{abs(run.v[-1, 3]):.2f} m/s")
    0.14 m/s
    """
    limit = array(max_steering, (), f'the largest steering angle of "{name}"')
    if not 0 < limit < np.pi / 2:
        raise ModelError(f'the largest steering angle of "{name}" is {limit:g}; it must be between 0 and pi/2 [rad]')
    given = {"mass": mass, "half_length": half_length, "rotor_inertia": rotor_inertia, "wheel_inertia": wheel_inertia}
    numbers = {key: positive(value, f'the {key.replace("_", " ")} of "{name}"') for key, value in given.items()}
    whole = numbers["mass"] * numbers["half_length"] ** 2
    if not numbers["rotor_inertia"] < whole:
        raise ModelError(
            f'the rotor inertia of "{name}" is {numbers["rotor_inertia"]:g}; it must be less than that of the whole '
            f"board, mass half_length^2 = {whole:.6g} kg m^2"
        )
    return Snakeboard(name, geometry=_shapes(numbers["half_length"]), **numbers, max_steering=float(limit))


def _shapes(l: float) -> tuple[Geometry, ...]:  # noqa: E741
    """A board, its two pairs of wheels, and the rotor."""
    boxes = {
        "body": ((2 * l, 0.2 * l, 0.08 * l), (0.15, 0.3, 0.6, 1.0)),
        "front": ((0.3 * l, 0.8 * l, 0.08 * l), (0.15, 0.15, 0.15, 1.0)),
        "rear": ((0.3 * l, 0.8 * l, 0.08 * l), (0.15, 0.15, 0.15, 1.0)),
        "rotor": ((0.2 * l, 1.6 * l, 0.1 * l), (0.9, 0.55, 0.1, 1.0)),
    }
    return tuple(Geometry(name, "box", size, np.eye(3), np.zeros(3), rgba=rgba) for name, (size, rgba) in boxes.items())
