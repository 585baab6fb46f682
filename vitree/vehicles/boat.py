"""The boat of Kobilarov et al. 2009, section 4.3.2: thrusters, buoyancy, water and wind."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import ArrayLike

from vitree.errors import ModelError
from vitree.mechanism.flat import Geometry
from vitree.spatial.checks import array, not_negative, positive, symmetric
from vitree.vehicles.rigid import RigidVehicle

#: Inputs: forces of the thrusters along x [N].
INPUTS = ("right", "left")


class Boat(RigidVehicle):
    """A hull in water and wind; made by :func:`boat`."""

    _kind = "BoatBody"

    @property
    def draft(self) -> float:
        """How deep the hull floats at rest in still water [m]."""
        return self.mass * -self._gravity[2] / (self.parts["lift"] * float(self.parts["pillars"][:, 2].sum()))

    @property
    def conservative(self) -> bool:
        """The water takes energy."""
        return False

    def neutral(self) -> np.ndarray:
        """Return the configuration in which it floats upright at rest in still water, (7,) [m]."""
        q = super().neutral()
        q[2] = -self.draft - self.parts["bottom"]
        return q


def boat(*, length: float = 4.0, width: float = 1.6, height: float = 0.8, keel: float = 0.35, mass: float = 1200.0,
         inertia: ArrayLike | None = None, added_mass: ArrayLike = (0.05, 0.4, 0.8),
         added_inertia: ArrayLike = (0.2, 0.3, 0.2), density: float = 1000.0, gravity: float = 9.81,
         thrusters: ArrayLike = ((-2.0, -0.5, -0.3), (-2.0, 0.5, -0.3)), resistance: ArrayLike = (150.0, 900.0, 2500.0),
         pressure: float = 0.0, current: ArrayLike = (0.0, 0.0, 0.0), wave_amplitude: float = 0.0,
         wave_length: float = 10.0, wave_direction: float = 0.0, wave_phase: float = 0.0,
         wind: ArrayLike = (0.0, 0.0, 0.0), windage: float = 25.0, sail: ArrayLike = (0.0, 0.0, 0.3),
         drag: ArrayLike = 0.0, patches: Sequence[int] = (8, 4, 2), columns: Sequence[int] = (6, 4), name: str = "boat",
         force: Callable | None = None, force_slope: Callable | None = None) -> Boat:  # fmt: skip
    """Return a boat with the hull of a box: x ahead, y to the left, z up, origin in the centre of mass.

    The water's surface is at z = 0 of the world, or at

        z = a sin(k (x cos d + y sin d) - omega t + phase),    omega^2 = g k,    k = 2 pi / wave_length.

    The hull displaces water as columns along its z; each lifts with density g times its volume below the surface.
    Surface patches below the surface resist with -E (r' - R^T flow) each, by their share of the wetted area, flow
    being the current and the orbits of the wave (deep water, Airy), and are pressed on with -pressure n. A patch
    that the surface cuts counts by the share of it below. The wetted area is that of rest, a constant: at rest this is
    eq. 15, and a hull that leaves the water is let go by degrees. The wind acts at one point, in proportion to its
    velocity by the boat.

    Its inputs are ``right`` and ``left``, forces [N] of the thrusters along the body's x.

    Parameters
    ----------
    length, width, height : float [m]
        Edges of the hull; its centre is above or below the origin.
    keel : float [m]
        The hull's bottom is at z = -keel, its top at z = height - keel.
    mass : float [kg]
    inertia : (3,) or (3, 3) array [kg m^2], optional
        About the centre of mass; that of a solid box if not given.
    added_mass : (3,) array
        Mass of water that moves along with linear motion by x, y, z, as shares of ``mass``.
    added_inertia : (3,) array
        The same for rotation, as shares of ``inertia``'s diagonal.
    density : float [kg/m^3]
        Of the water.
    gravity : float [m/s^2]
    thrusters : two (3,) arrays [m]
        Places of the right and the left thruster.
    resistance : number, (3,) or (3, 3) array [N s/m]
        E of the whole wetted hull.
    pressure : float [N]
        Of water on the whole wetted area, along the inward normals, beyond what lifts the columns.
    current : (3,) array [m/s]
        Velocity of the water, world axes.
    wave_amplitude, wave_length : float [m]
    wave_direction, wave_phase : float [rad]
        Where the wave goes, by the world's x; and its phase at the origin at t = 0.
    wind : (3,) array [m/s]
        Velocity of the air, world axes.
    windage : float [N s/m]
        Force of the wind by its velocity relative to ``sail``.
    sail : (3,) array [m]
        Where the wind acts.
    drag : number, (6,) or (6, 6) array [N m s, N s, N s/m]
        More resistance, as of :class:`RigidVehicle`.
    patches : three int
        How many along length, width and height.
    columns : two int
        How many along length and width, at Gauss points: two are exact while the surface cuts neither deck nor bottom.
    name : str
    force, force_slope :
        As of :class:`RigidVehicle`.

    Raises
    ------
    ModelError
        If a number is out of its range, or the boat is too heavy to float.

    Notes
    -----
    Lift is vertical, and hydrostatic under the surface at each column. The potential energy of a run is that of weight
    and lift in still water.

    References
    ----------
    Kobilarov et al. 2009, section 4.3.2.
    """
    edges = np.array([positive(x, f'the {what} of "{name}"')
                      for x, what in ((length, "length"), (width, "width"), (height, "height"))])  # fmt: skip
    mass, density = positive(mass, f'the mass of "{name}"'), positive(density, f'the density of water of "{name}"')
    gravity = positive(gravity, f'the gravity on "{name}"')
    bottom = -float(array(keel, (), f'the keel of "{name}"'))
    draft = mass / (density * edges[0] * edges[1])
    if draft >= edges[2]:
        raise ModelError(f'"{name}" sinks: it is {mass:g} kg, and its hull displaces {density * edges.prod():g} kg')
    box = mass / 12 * (np.sum(edges**2) - edges**2)
    J = symmetric(box if inertia is None else inertia, 3, f'the inertia of "{name}"')
    more, turning = (
        np.array([not_negative(x, f'each {what} of "{name}"') for x in array(given, (3,), f'the {what} of "{name}"')])
        for given, what in ((added_mass, "added mass"), (added_inertia, "added inertia"))
    )
    places = array(thrusters, (2, 3), f'the places of the thrusters of "{name}"')
    faces = _patches(edges, bottom, _counts(patches, 3, f'the patches of "{name}"'))
    # how much of each patch is wet at rest
    wet = np.clip(0.5 + (draft + bottom - faces[:, 2]) / faces[:, 7], 0.0, 1.0)
    faces[:, 6] /= wet @ faces[:, 6]
    k = 2 * np.pi / positive(wave_length, f'the wave length of "{name}"')
    heading = float(array(wave_direction, (), f'the wave direction of "{name}"'))
    parts = {
        "pillars": _columns(edges, _counts(columns, 2, f'the columns of "{name}"')), "patches": faces,
        "bottom": bottom, "top": bottom + edges[2], "lift": density * gravity,
        "resistance": symmetric(resistance, 3, f'the resistance of "{name}"'),
        "pressure": float(array(pressure, (), f'the pressure on "{name}"')),
        "wave": not_negative(wave_amplitude, f'the wave amplitude of "{name}"'),
        "wave_vector": k * np.array([np.cos(heading), np.sin(heading)]), "omega": float(np.sqrt(gravity * k)),
        "phase": float(array(wave_phase, (), f'the wave phase of "{name}"')),
        "windage": not_negative(windage, f'the windage of "{name}"'),
    }  # fmt: skip
    for what, given in (("current", current), ("wind", wind), ("sail", sail)):
        parts[what] = array(given, (3,), f'the {what} of "{name}"')
    return Boat(
        J + np.diag(turning * np.diag(J)), mass * (1 + more), mass=mass, gravity=(0.0, 0.0, -gravity), drag=drag,
        controls={key: (0.0, c[2], -c[1], 1.0, 0.0, 0.0) for key, c in zip(INPUTS, places, strict=True)},
        force=force, force_slope=force_slope, name=name, geometry=_shapes(edges, bottom, places), _parts=parts,
    )  # fmt: skip


def _counts(value, size: int, what: str) -> tuple[int, ...]:
    if len(value) != size or not all(isinstance(n, int) and n >= 1 for n in value):
        raise ModelError(f"{what} are {value!r}; give {size} whole numbers, at least 1")
    return tuple(value)


def _columns(edges: np.ndarray, counts: tuple[int, ...]) -> np.ndarray:
    """Places x, y and cross sections of columns, (n, 3), at the Gauss points of the hull's floor."""
    (x, wx), (y, wy) = (np.polynomial.legendre.leggauss(n) for n in counts)
    X, Y = np.meshgrid(0.5 * edges[0] * x, 0.5 * edges[1] * y, indexing="ij")
    area = 0.25 * edges[0] * edges[1] * np.outer(wx, wy)
    return np.column_stack((X.ravel(), Y.ravel(), area.ravel()))


def _patches(edges: np.ndarray, bottom: float, counts: tuple[int, ...]) -> np.ndarray:
    """Place (3), outward normal (3), area and height of patches of the hull's bottom and sides, (n, 8)."""
    middles = [(np.arange(n) + 0.5) / n - 0.5 for n in counts]
    sizes = edges / counts
    rows = []
    for axis, side in ((2, -1), (0, -1), (0, 1), (1, -1), (1, 1)):
        a, b = (k for k in range(3) if k != axis)
        for s in middles[a]:
            for t in middles[b]:
                place, normal = np.zeros(3), np.zeros(3)
                place[[a, b, axis]] = s * edges[a], t * edges[b], 0.5 * side * edges[axis]
                place[2] += bottom + 0.5 * edges[2]
                normal[axis] = side
                # a patch of the bottom is let go within a tenth of the hull's height
                rows.append([*place, *normal, sizes[a] * sizes[b], sizes[2] if axis != 2 else 0.1 * edges[2]])
    return np.array(rows)


def _shapes(edges: np.ndarray, bottom: float, places: np.ndarray) -> tuple[Geometry, ...]:
    """Hull, cabin and thrusters."""
    along = np.array([[0.0, 0, 1], [0, 1, 0], [-1, 0, 0]])
    thruster = 0.05 * float(edges[1])
    cabin = edges * (0.3, 0.6, 0.7)

    def box(size, x: ArrayLike, z, rgba):
        return Geometry("body", "box", tuple(map(float, size)), np.eye(3), np.array([x, 0.0, z]), rgba=rgba)

    return (
        box(edges, 0.0, bottom + 0.5 * edges[2], (0.6, 0.15, 0.1, 1.0)),
        box(cabin, -0.1 * edges[0], bottom + edges[2] + 0.5 * cabin[2], (0.9, 0.9, 0.85, 1.0)),
        *(Geometry("body", "cylinder", (thruster, 4 * thruster), along, place, rgba=(0.2, 0.2, 0.2, 1.0))
          for place in places),
    )  # fmt: skip
