"""The boat of Kobilarov et al. 2009, section 4.3.2: thrusters, buoyancy, water and wind."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from vitree.arguments import Keywords, axes_of, explain_calls, of_kind, shown, whole
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
        z of the lower face, and the depth of the hull below the surface of still water at rest.
    """

    edges: np.ndarray
    bottom: float
    draft: float

    @property
    def top(self) -> float:
        """z of the upper face [m]."""
        return self.bottom + float(self.edges[2])

    def columns(self, counts: tuple[int, ...]) -> np.ndarray:
        """Return position x, y and cross section of columns, (n, 3) [m, m^2], at the Gauss points of the lower face."""
        length, width = self.edges[:2]
        (x, wx), (y, wy) = (np.polynomial.legendre.leggauss(n) for n in counts)
        X, Y = np.meshgrid(0.5 * length * x, 0.5 * width * y, indexing="ij")
        area = 0.25 * length * width * np.outer(wx, wy)
        return np.column_stack((X.ravel(), Y.ravel(), area.ravel()))

    def patches(self, counts: tuple[int, ...]) -> np.ndarray:
        """Return position (3), outward normal (3), fraction of the wetted area and height of patches, (n, 8) [m].

        The patches cover the lower face and the sides. The wetted area is that at rest in still water.
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
                    # the lower face counts as wet up to a tenth of the hull's height
                    height = sizes[2] if axis != 2 else 0.1 * self.edges[2]
                    rows.append([*place, *normal, sizes[a] * sizes[b], height])
        faces = np.array(rows)
        wet = np.clip(0.5 + (self.draft + self.bottom - faces[:, 2]) / faces[:, 7], 0.0, 1.0)
        faces[:, 6] /= wet @ faces[:, 6]
        return faces


def _set(of: object, **values: object) -> None:
    """Set fields of a frozen object to checked numbers."""
    for name, value in values.items():
        object.__setattr__(of, name, value)


@explain_calls
@dataclass(frozen=True, eq=False)
class Water:
    """The water around a boat.

    Parameters
    ----------
    density : float [kg/m^3]
    current : (3,) array [m/s]
        Its velocity, world axes.
    resistance : number, (3,) or (3, 3) array [N s/m]
        E of the whole wetted hull.
    pressure : float [N]
        On the whole wetted area, along the inward normals, in addition to the lift.

    Raises
    ------
    ModelError
        If a number is out of its range.
    """

    density: float = 1000.0
    current: ArrayLike = (0.0, 0.0, 0.0)
    resistance: ArrayLike = (150.0, 900.0, 2500.0)
    pressure: float = 0.0

    def __post_init__(self) -> None:
        _set(
            self, density=positive(self.density, "the density of water"),
            current=array(self.current, (3,), "the current"),
            resistance=symmetric(self.resistance, 3, "the resistance"),
            pressure=float(array(self.pressure, (), "the pressure")),
        )  # fmt: skip

    def _parts(self, gravity: float) -> Keywords:
        """Return the numbers of the compiled body; ``lift`` is the specific weight of water [N/m^3]."""
        return {
            "lift": self.density * gravity, "current": self.current, "resistance": self.resistance,
            "pressure": self.pressure,
        }  # fmt: skip


@explain_calls
@dataclass(frozen=True, eq=False)
class Wave:
    """A wave of deep water (Airy).

    Parameters
    ----------
    amplitude, length : float [m]
    direction : float [rad]
        Of propagation, from the world's x.
    phase : float [rad]
        At the origin at t = 0.

    Raises
    ------
    ModelError
        If the amplitude is negative, or the length not positive.
    """

    amplitude: float = 0.0
    length: float = 10.0
    direction: float = 0.0
    phase: float = 0.0

    def __post_init__(self) -> None:
        _set(
            self, amplitude=not_negative(self.amplitude, "the wave amplitude"),
            length=positive(self.length, "the wave length"),
            direction=float(array(self.direction, (), "the wave direction")),
            phase=float(array(self.phase, (), "the wave phase")),
        )  # fmt: skip

    def _parts(self, gravity: float) -> Keywords:
        """Return the numbers of the compiled body."""
        k = 2 * np.pi / self.length
        return {
            "wave": self.amplitude, "wave_vector": k * np.array([np.cos(self.direction), np.sin(self.direction)]),
            "omega": float(np.sqrt(gravity * k)), "phase": self.phase,
        }  # fmt: skip


@explain_calls
@dataclass(frozen=True, eq=False)
class Wind:
    """The air around a boat.

    Parameters
    ----------
    velocity : (3,) array [m/s]
        Of the air, world axes.
    windage : float [N s/m]
        Force per velocity of the air relative to ``sail``, also in still air.
    sail : (3,) array [m]
        Point at which the wind acts, in the boat's axes.

    Raises
    ------
    ModelError
        If a number is out of its range.
    """

    velocity: ArrayLike = (0.0, 0.0, 0.0)
    windage: float = 25.0
    sail: ArrayLike = (0.0, 0.0, 0.3)

    def __post_init__(self) -> None:
        _set(self, velocity=array(self.velocity, (3,), "the wind"), windage=not_negative(self.windage, "the windage"),
             sail=array(self.sail, (3,), "the sail"))  # fmt: skip

    def _parts(self) -> Keywords:
        """Return the numbers of the compiled body."""
        return {"wind": self.velocity, "windage": self.windage, "sail": self.sail}


class Boat(RigidVehicle):
    """A hull in water and wind; made by :func:`boat`."""

    _kind = "BoatBody"

    @property
    def draft(self) -> float:
        """Depth of the hull at rest in still water [m]."""
        return float(self.mass * -self._gravity[2] / (self.parts["lift"] * float(self.parts["pillars"][:, 2].sum())))

    @property
    def is_conservative(self) -> bool:
        """False: the water dissipates energy."""
        return False

    @property
    def is_dissipative(self) -> bool:
        """Whether only still water and still air change the energy, by dissipation."""
        moving = any(np.any(self.parts[name]) for name in ("current", "wind", "wave", "pressure"))
        return self.force is None and not moving

    def neutral(self) -> np.ndarray:
        """Return the configuration in which the boat floats upright at rest in still water, (7,) [m]."""
        q = super().neutral()
        q[2] = -self.draft - self.parts["bottom"]
        return q


@explain_calls
@np.errstate(over="ignore", invalid="ignore")  # infinite parts are refused
def boat(*, size: ArrayLike = (4.0, 1.6, 0.8), keel: float = 0.35, mass: float = 1200.0,
         inertia: ArrayLike | None = None, added_mass: ArrayLike = (0.05, 0.4, 0.8),
         added_inertia: ArrayLike = (0.2, 0.3, 0.2), thrusters: ArrayLike = ((-2.0, -0.5, -0.3), (-2.0, 0.5, -0.3)),
         water: Water | None = None, wave: Wave | None = None, wind: Wind | None = None, gravity: float = 9.81,
         drag: ArrayLike = 0.0, patches: Sequence[int] = (8, 4, 2), columns: Sequence[int] = (6, 4),
         force: Callable[..., ArrayLike] | None = None, force_slope: Callable[..., ArrayLike] | None = None,
         name: str = "boat") -> Boat:  # fmt: skip
    """Return a boat with a box as hull: x forward, y to the left, z up, origin in the centre of mass.

    The surface of the water is at z = 0 of the world, or at

        z = a sin(k (x cos d + y sin d) - omega t + phase),    omega^2 = g k,    k = 2 pi / length of the wave.

    Buoyancy is computed on columns along the hull's z: each has the lift of density g times its volume below the
    surface. The resistance of a patch of the hull below the surface is -E (r' - R^T flow) times its fraction of the
    wetted area, where the flow is the current plus the velocity of the water in the wave (deep water, Airy). The
    pressure on the patch is -pressure n times the same fraction. A patch that the surface intersects counts by its
    fraction below. The wetted area is constant, that of the boat at rest in still water. At rest this is eq. 15; the
    forces vanish as the hull leaves the water. The wind acts at one point, in proportion to the velocity of the air
    relative to the boat.

    The inputs are ``right`` and ``left``, forces [N] of the thrusters along the body's x.

    Parameters
    ----------
    size : (3,) array [m]
        Length, width and height of the hull, whose centre may be above or below the origin.
    keel : float [m]
        Depth of the hull's bottom, z = -keel; its top is at z = height - keel.
    mass : float [kg]
    inertia : (3,) or (3, 3) array [kg m^2], optional
        About the centre of mass; by default that of a solid box.
    added_mass : (3,) array
        Mass of the water that moves with the boat in translation along x, y, z, in units of ``mass``.
    added_inertia : (3,) array
        The same for rotation, in units of the diagonal of ``inertia``.
    thrusters : two (3,) arrays [m]
        Positions of the right and the left thruster.
    water : Water, optional
        Still water if not given.
    wave : Wave, optional
        None if not given.
    wind : Wind, optional
        Still air if not given, which also resists.
    gravity : float [m/s^2]
    drag : number, (6,) or (6, 6) array [N m s, N s, N s/m]
        Additional resistance, as of :class:`RigidVehicle`.
    patches : three int
        Numbers along length, width and height.
    columns : two int
        Numbers along length and width, at Gauss points. Two are exact while the surface meets neither deck nor bottom.
    force, force_slope :
        As of :class:`RigidVehicle`.
    name : str

    Raises
    ------
    InputError
        If the water, the wave or the wind is another object.
    ModelError
        If a number is out of its range, or the boat is too heavy to float.

    Notes
    -----
    Lift is vertical, and hydrostatic below the surface at each column. The potential energy of a run is that of the
    weight and of the lift in still water.

    References
    ----------
    Kobilarov et al. 2009, section 4.3.2.
    """
    whose = f'of "{name}"'
    gravity = positive(gravity, f'the gravity on "{name}"')
    mass = positive(mass, f"the mass {whose}")
    water = of_kind(Water() if water is None else water, Water, "water", "a vehicles.Water")
    wave = of_kind(Wave() if wave is None else wave, Wave, "wave", "a vehicles.Wave")
    wind = of_kind(Wind() if wind is None else wind, Wind, "wind", "a vehicles.Wind")
    hull = _hull(array(size, (3,), f"the size {whose}"), keel, mass, water, name)
    box = mass / 12 * (np.sum(hull.edges**2) - hull.edges**2)
    J = symmetric(box if inertia is None else inertia, 3, f"the inertia {whose}")
    moved, turned = _shares(added_mass, "added mass", whose), _shares(added_inertia, "added inertia", whose)
    places = array(thrusters, (2, 3), f"the places of the thrusters {whose}")
    parts = {
        "pillars": hull.columns(_counts(columns, 2, f"the columns {whose}")),
        "patches": hull.patches(_counts(patches, 3, f"the patches {whose}")),
        "bottom": hull.bottom, "top": hull.top, **water._parts(gravity), **wave._parts(gravity), **wind._parts(),
    }  # fmt: skip
    return Boat(
        J + np.diag(turned * np.diag(J)), mass * (1 + moved), mass=mass, gravity=(0.0, 0.0, -gravity), drag=drag,
        controls={key: (0.0, c[2], -c[1], 1.0, 0.0, 0.0) for key, c in zip(INPUTS, places, strict=True)},
        force=force, force_slope=force_slope, name=name, geometry=_shapes(hull, places), _parts=parts,
    )  # fmt: skip


def _hull(edges: np.ndarray, keel: float, mass: float, water: Water, name: str) -> Hull:
    """The hull of a floating boat; only the mass and the water were checked before."""
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


def _shares(given: ArrayLike, what: str, whose: str) -> np.ndarray:
    """Three nonnegative fractions."""
    return np.array([not_negative(x, f"each {what} {whose}") for x in array(given, (3,), f"the {what} {whose}")])


def _counts(value: Sequence[int] | np.ndarray, size: int, what: str) -> tuple[int, ...]:
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

    def box(size: np.ndarray, x: float, z: float, rgba: tuple[float, float, float, float]) -> Geometry:
        return Geometry("body", "box", tuple(map(float, size)), np.eye(3), np.array([x, 0.0, z]), rgba=rgba)

    return (
        box(edges, 0.0, hull.bottom + 0.5 * edges[2], (0.6, 0.15, 0.1, 1.0)),
        box(cabin, -0.1 * edges[0], hull.top + 0.5 * cabin[2], (0.9, 0.9, 0.85, 1.0)),
        *(Geometry("body", "cylinder", (thruster, 4 * thruster), along, place, rgba=(0.2, 0.2, 0.2, 1.0))
          for place in places),
    )  # fmt: skip
