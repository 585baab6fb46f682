"""The simple helicopter of Kobilarov et al. 2009, section 4.3.1."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import ArrayLike

from vitree.arguments import explain_calls
from vitree.mechanism.flat import Geometry
from vitree.vehicles.base import GRAVITY
from vitree.vehicles.checks import array, positive
from vitree.vehicles.rigid import RigidVehicle

#: Inputs: thrust of the main rotor [N], force of the tail rotor [N], tilt of the main rotor [rad] (2).
INPUTS = ("collective", "yaw", "pitch", "roll")


class Helicopter(RigidVehicle):
    """A rigid body with a tilting main rotor and a tail rotor; made by :func:`helicopter`."""

    _kind = "HelicopterBody"


@explain_calls
def helicopter(*, mass: float = 1.2, inertia: ArrayLike = (0.05, 0.07, 0.06), rotor_height: float = 0.2,
               tail_length: float = 0.6, drag: ArrayLike = 0.0, gravity: ArrayLike = GRAVITY,
               force: Callable[..., ArrayLike] | None = None, force_slope: Callable[..., ArrayLike] | None = None,
               name: str = "helicopter") -> Helicopter:  # fmt: skip
    """Return a helicopter: x forward, y to the left, z up, origin in the centre of mass.

    The inputs are ``collective`` (thrust of the main rotor along its axis [N]), ``yaw`` (force of the tail rotor
    towards -y [N]), ``pitch`` and ``roll`` (tilt of the main rotor's axis forward and to the right [rad]). The axis is
    (sin(pitch) cos(roll), -sin(roll), cos(pitch) cos(roll)). The helicopter hovers with collective = mass g.

    Parameters
    ----------
    mass : float [kg]
    inertia : (3,) or (3, 3) array [kg m^2]
        About the centre of mass.
    rotor_height : float [m]
        Height of the main rotor's hub, at (0, 0, rotor_height).
    tail_length : float [m]
        Distance of the tail rotor, at (-tail_length, 0, 0).
    drag, gravity, force, force_slope :
        As of :class:`RigidVehicle`.
    name : str

    Raises
    ------
    ModelError
        If the mass or the inertia is not positive, the drag is negative, or a number is not finite.

    References
    ----------
    Kobilarov et al. 2009, section 4.3.1.
    """
    mass = positive(mass, f'the mass of "{name}"')
    top = float(array(rotor_height, (), f'the rotor height of "{name}"'))
    tail = float(array(tail_length, (), f'the tail length of "{name}"'))
    return Helicopter(inertia, mass, gravity=gravity, drag=drag, force=force, force_slope=force_slope, name=name,
                      geometry=_shapes(top, tail), _inputs=INPUTS, _parts={"top": top, "tail": tail})  # fmt: skip


def _shapes(top: float, tail: float) -> tuple[Geometry, ...]:
    """A cabin, a boom, and discs for the rotors."""
    across, along = np.array([[1.0, 0, 0], [0, 0, -1], [0, 1, 0]]), np.array([[0, 0, 1.0], [0, 1, 0], [-1, 0, 0]])
    size = max(abs(tail), 1e-3)

    def shape(
        kind: str, extent: tuple[float, ...], position: tuple[float, float, float], rotation: np.ndarray | None = None,
        rgba: tuple[float, float, float, float] = (0.2, 0.3, 0.5, 1.0),
    ) -> Geometry:  # fmt: skip
        turn = np.eye(3) if rotation is None else rotation
        return Geometry("body", kind, extent, turn, np.array(position), rgba=rgba)

    grey = (0.3, 0.3, 0.3, 0.5)
    return (
        shape("capsule", (0.22 * size, 0.35 * size), (0.1 * size, 0.0, 0.0), along),
        shape("cylinder", (0.04 * size, size), (-0.5 * tail, 0.0, 0.0), along),
        shape("cylinder", (0.03 * size, abs(top)), (0.0, 0.0, 0.5 * top), rgba=grey),
        shape("cylinder", (0.75 * size, 0.02 * size), (0.0, 0.0, top), rgba=grey),
        shape("cylinder", (0.18 * size, 0.02 * size), (-tail, 0.0, 0.0), across, grey),
    )
