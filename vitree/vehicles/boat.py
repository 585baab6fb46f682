"""The boat of Kobilarov et al. 2009, section 4.3.2: thrusters, buoyancy, water and wind."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from vitree.arguments import axes_of, shown, whole
from vitree.errors import ModelError
from vitree.mechanism.flat import Geometry
from vitree.vehicles.checks import array, not_negative, positive, symmetric
from vitree.vehicles.rigid import RigidVehicle

#: Inputs: forces of the thrusters along x [N].
INPUTS = ("right", "left")


@dataclass(frozen=True)
class Hull:
    """A box in the body's axes, whose origin is the centre of mass; it is cut into columns and patches.

    Attributes
    ----------
    edges : (3,) array [m]
        Length, width and height.
    bottom, draft : float [m]
        The lower face is at z = bottom, and so much of the hull is below the surface of still water at rest.
    """

    edges: np.ndarray
    bottom: float
    draft: float

    @property
    def top(self) -> float:
        """The upper face is at this z [m]."""
        return self.bottom + self.edges[2]

    def columns(self, counts: tuple[int, ...]) -> np.ndarray:
        """Return place x, y and cross section of columns, (n, 3) [m, m^2], at the Gauss points of the lower face."""
        length, width = self.edges[:2]
        (x, wx), (y, wy) = (np.polynomial.legendre.leggauss(n) for n in counts)
        X, Y = np.meshgrid(0.5 * length * x, 0.5 * width * y, indexing="ij")
        area = 0.25 * length * width * np.outer(wx, wy)
        return np.column_stack((X.ravel(), Y.ravel(), area.ravel()))

    def patches(self, counts: tuple[int, ...]) -> np.ndarray:
        """Return place (3), outward normal (3), share of the wetted area and height of patches, (n, 8) [m].

        They cover the lower face and the sides. The wetted area is that at rest in still water.
        """
        middles = [(np.arange(n) + 0.5) / n - 0.5 for n in counts]
        sizes = self.edges / counts
        rows = []
        for axis, side in ((2, -1), (0, -1), (0, 1), (1, -1), (1, 1)):
            a, b = (k for k in range(3) if k != axis)
            for s in middles[a]:
                for t in middles[b]:
                    place, normal = np.zeros(3), np.zeros(3)
                    place[[a, b, axis]] = s * self.edges[a], t * self.edges[b], 0.5 * side * self.edges[axis]
                    place[2] += self.bottom + 0.5 * self.edges[2]
                    normal[axis] = side
                    # the lower face stops to count as wet within a tenth of the hull's height
                    height = sizes[2] if axis != 2 else 0.1 * self.edges[2]
                    rows.append([*place, *normal, sizes[a] * sizes[b], height])
        faces = np.array(rows)
        wet = np.clip(0.5 + (self.draft + self.bottom - faces[:, 2]) / faces[:, 7], 0.0, 1.0)
        faces[:, 6] /= wet @ faces[:, 6]
        return faces


@dataclass(frozen=True)
class Water:
    """Its density [kg/m^3], its current (3,) [m/s], its resistance (3, 3) [N s/m] and its pressure [N] on the hull."""

    density: float
    current: np.ndarray
    resistance: np.ndarray
    pressure: float

    def parts(self, gravity: float) -> dict[str, Any]:
        """Return the numbers of the compiled body; ``lift`` is the weight of a cubic metre of water [N/m^3]."""
        return {
            "lift": self.density * gravity, "current": self.current, "resistance": self.resistance,
            "pressure": self.pressure,
        }  # fmt: skip


@dataclass(frozen=True)
class Wave:
    """A wave of deep water: amplitude and length [m], direction and phase [rad]."""

    amplitude: float
    length: float
    direction: float
    phase: float

    def parts(self, gravity: float) -> dict[str, Any]:
        """Return the numbers of the compiled body."""
        k = 2 * np.pi / self.length
        return {
            "wave": self.amplitude, "wave_vector": k * np.array([np.cos(self.direction), np.sin(self.direction)]),
            "omega": float(np.sqrt(gravity * k)), "phase": self.phase,
        }  # fmt: skip


@dataclass(frozen=True)
class Wind:
    """The air's velocity (3,) [m/s], its force by the velocity relative to the boat [N s/m], and where it acts [m]."""

    velocity: np.ndarray
    windage: float
    sail: np.ndarray

    def parts(self) -> dict[str, Any]:
        """Return the numbers of the compiled body."""
        return {"wind": self.velocity, "windage": self.windage, "sail": self.sail}


class Boat(RigidVehicle):
    """A hull in water and wind; made by :func:`boat`."""

    _kind = "BoatBody"

    @property
    def draft(self) -> float:
        """How deep the hull floats at rest in still water [m]."""
        return self.mass * -self._gravity[2] / (self.parts["lift"] * float(self.parts["pillars"][:, 2].sum()))

    @property
    def is_conservative(self) -> bool:
        """False: the water takes energy."""
        return False

    @property
    def is_dissipative(self) -> bool:
        """Whether still water and still air take energy, and nothing else changes it."""
        moving = any(np.any(self.parts[name]) for name in ("current", "wind", "wave", "pressure"))
        return self.force is None and not moving

    def neutral(self) -> np.ndarray:
        """Return the configuration in which the boat floats upright at rest in still water, (7,) [m]."""
        q = super().neutral()
        q[2] = -self.draft - self.parts["bottom"]
        return q


@np.errstate(over="ignore", invalid="ignore")  # infinite parts are refused
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

    The hull displaces water as columns along its z. Each column lifts with density g times its volume below the
    surface. Each patch of the hull below the surface resists with -E (r' - R^T flow) times its share of the wetted
    area; the flow is the current plus the velocity of the water in the wave (deep water, Airy). The pressure pushes
    each patch with -pressure n times the same share. A patch that the surface cuts counts by the share of it below.
    The wetted area is a constant, that of the boat at rest in still water. At rest this is eq. 15; these forces fade
    as the hull leaves the water. The wind acts at one point, in proportion to the air's velocity relative to the boat.

    The inputs are ``right`` and ``left``, forces [N] of the thrusters along the body's x.

    Parameters
    ----------
    length, width, height : float [m]
        Edges of the hull. The middle of the hull may be above or below the origin.
    keel : float [m]
        The hull's bottom is at z = -keel, its top at z = height - keel.
    mass : float [kg]
    inertia : (3,) or (3, 3) array [kg m^2], optional
        About the centre of mass; by default that of a solid box.
    added_mass : (3,) array
        Mass of the water that moves along with the boat, for linear motion by x, y, z, as shares of ``mass``.
    added_inertia : (3,) array
        The same for rotation, as shares of the diagonal of ``inertia``.
    density : float [kg/m^3]
        Of the water.
    gravity : float [m/s^2]
    thrusters : two (3,) arrays [m]
        Places of the right and the left thruster.
    resistance : number, (3,) or (3, 3) array [N s/m]
        E of the whole wetted hull.
    pressure : float [N]
        Of the water on the whole wetted area, along the inward normals, in addition to the lift of the columns.
    current : (3,) array [m/s]
        Velocity of the water, world axes.
    wave_amplitude, wave_length : float [m]
    wave_direction, wave_phase : float [rad]
        Direction in which the wave travels, from the world's x; and its phase at the origin at t = 0.
    wind : (3,) array [m/s]
        Velocity of the air, world axes.
    windage : float [N s/m]
        Force of the wind per velocity of the air relative to ``sail``.
    sail : (3,) array [m]
        Where the wind acts.
    drag : number, (6,) or (6, 6) array [N m s, N s, N s/m]
        More resistance, as of :class:`RigidVehicle`.
    patches : three int
        How many along length, width and height.
    columns : two int
        How many along length and width, at Gauss points. Two are exact while the surface cuts neither deck nor bottom.
    name : str
    force, force_slope :
        As of :class:`RigidVehicle`.

    Raises
    ------
    ModelError
        If a number is out of its range, or the boat is too heavy to float.

    Notes
    -----
    Lift is vertical, and hydrostatic under the surface at each column. The potential energy of a run is that of the
    weight and of the lift in still water.

    References
    ----------
    Kobilarov et al. 2009, section 4.3.2.
    """
    whose = f'of "{name}"'
    gravity = positive(gravity, f'the gravity on "{name}"')
    mass = positive(mass, f"the mass {whose}")
    water = Water(
        positive(density, f"the density of water {whose}"), array(current, (3,), f"the current {whose}"),
        symmetric(resistance, 3, f"the resistance {whose}"),
        float(array(pressure, (), f'the pressure on "{name}"')),
    )  # fmt: skip
    hull = _hull((length, width, height), keel, mass, water, name)
    wave = Wave(
        not_negative(wave_amplitude, f"the wave amplitude {whose}"), positive(wave_length, f"the wave length {whose}"),
        float(array(wave_direction, (), f"the wave direction {whose}")),
        float(array(wave_phase, (), f"the wave phase {whose}")),
    )  # fmt: skip
    air = Wind(array(wind, (3,), f"the wind {whose}"), not_negative(windage, f"the windage {whose}"),
               array(sail, (3,), f"the sail {whose}"))  # fmt: skip
    box = mass / 12 * (np.sum(hull.edges**2) - hull.edges**2)
    J = symmetric(box if inertia is None else inertia, 3, f"the inertia {whose}")
    moved, turned = _shares(added_mass, "added mass", whose), _shares(added_inertia, "added inertia", whose)
    places = array(thrusters, (2, 3), f"the places of the thrusters {whose}")
    parts = {
        "pillars": hull.columns(_counts(columns, 2, f"the columns {whose}")),
        "patches": hull.patches(_counts(patches, 3, f"the patches {whose}")),
        "bottom": hull.bottom, "top": hull.top, **water.parts(gravity), **wave.parts(gravity), **air.parts(),
    }  # fmt: skip
    return Boat(
        J + np.diag(turned * np.diag(J)), mass * (1 + moved), mass=mass, gravity=(0.0, 0.0, -gravity), drag=drag,
        controls={key: (0.0, c[2], -c[1], 1.0, 0.0, 0.0) for key, c in zip(INPUTS, places, strict=True)},
        force=force, force_slope=force_slope, name=name, geometry=_shapes(hull, places), _parts=parts,
    )  # fmt: skip


def _hull(edges: tuple, keel: float, mass: float, water: Water, name: str) -> Hull:
    """The hull of a boat that floats; all but the mass and the water is still to be checked."""
    sizes = np.array([positive(x, f'the {what} of "{name}"')
                      for x, what in zip(edges, ("length", "width", "height"), strict=True)])  # fmt: skip
    bottom = -float(array(keel, (), f'the keel of "{name}"'))
    with np.errstate(over="ignore"):
        draft = mass / (water.density * sizes[0] * sizes[1])
    if not 0 < draft < np.inf:
        raise ModelError(f'the draft of "{name}" is {draft:g} m: its sizes, mass or the density are too large or small')
    if draft >= sizes[2]:
        most = water.density * sizes.prod()
        raise ModelError(f'"{name}" sinks: it is {mass:g} kg, and its hull displaces {most:g} kg')
    return Hull(sizes, bottom, draft)


def _shares(given, what: str, whose: str) -> np.ndarray:
    """Three shares, none of them negative."""
    return np.array([not_negative(x, f"each {what} {whose}") for x in array(given, (3,), f"the {what} {whose}")])


def _counts(value, size: int, what: str) -> tuple[int, ...]:
    counts = [whole(n) for n in value] if isinstance(value, Sequence | np.ndarray) and axes_of(value) else []
    if len(counts) != size or not all(n is not None and n >= 1 for n in counts):
        raise ModelError(f"{what} are {shown(value)}; give {size} whole numbers, at least 1")
    return tuple(n for n in counts if n is not None)


def _shapes(hull: Hull, places: np.ndarray) -> tuple[Geometry, ...]:
    """Hull, cabin and thrusters."""
    edges = hull.edges
    along = np.array([[0.0, 0, 1], [0, 1, 0], [-1, 0, 0]])
    thruster = 0.05 * float(edges[1])
    cabin = edges * (0.3, 0.6, 0.7)

    def box(size, x: ArrayLike, z, rgba):
        return Geometry("body", "box", tuple(map(float, size)), np.eye(3), np.array([x, 0.0, z]), rgba=rgba)

    return (
        box(edges, 0.0, hull.bottom + 0.5 * edges[2], (0.6, 0.15, 0.1, 1.0)),
        box(cabin, -0.1 * edges[0], hull.top + 0.5 * cabin[2], (0.9, 0.9, 0.85, 1.0)),
        *(Geometry("body", "cylinder", (thruster, 4 * thruster), along, place, rgba=(0.2, 0.2, 0.2, 1.0))
          for place in places),
    )  # fmt: skip
