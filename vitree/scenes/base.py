"""What a scene is: a model that starts somewhere, and numbers that say how well it was simulated."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from vitree.arguments import Keywords
from vitree.errors import VitreeError
from vitree.model.model import Model
from vitree.results.contacts import ContactLog
from vitree.spatial.rotations import rotate

#: Gravity [m/s^2].
G = 9.81
#: Rows of a run whose gaps are looked at, at most.
LOOKED_AT = 400


class SkippedError(VitreeError):
    """A scene cannot run here; the text says why."""


@dataclass(frozen=True, eq=False, kw_only=True)
class Motion:
    """A run of a scene by any program, in the coordinates of its model.

    Attributes
    ----------
    t : (n,) array [s]
    q : (n, nq) array
    v : (n, nv) array
    seconds : float
        Time of the steps by the clock [s].
    impulse : (n, 3) array [N s]
        Sum of the impulses of the ground in the step that led to each record.
    log : ContactLog or None
        The contacts, where the program tells them.
    """

    t: np.ndarray
    q: np.ndarray
    v: np.ndarray
    seconds: float
    impulse: np.ndarray
    log: ContactLog | None = None


@dataclass(frozen=True, eq=False, kw_only=True)
class Stage:
    """A scene made ready.

    Attributes
    ----------
    model : Model
    q, v : arrays
        The start.
    duration, dt : float [s]
    measure : callable
        Of a Motion: numbers by names that end in "[unit]"; zero is perfect unless the name says otherwise.
    every : int
        Each how many steps there is a record.
    wrenches : mapping of link to (6,)
        Constant (torque, force) in world axes at the link's origin [N m, N].
    targets : (steps, n) array, optional
        Of the drives.
    torque : callable of t, optional
        Joint forces (nv,) [N or N m], asked in the middle of each step.
    options : mapping
        Of vitree's method, such as order.
    limited : str
        How the scene differs from that of the literature, if it does.
    peer : mapping
        Options of MuJoCo: integrator, timeconst [s] of contacts.
    """

    model: Model
    q: np.ndarray
    v: np.ndarray
    duration: float
    dt: float
    measure: Callable[[Motion], dict[str, float]]
    every: int = 1
    wrenches: Mapping[str, Sequence[float]] = field(default_factory=dict)
    targets: np.ndarray | None = None
    torque: Callable[[float], np.ndarray] | None = None
    options: Keywords = field(default_factory=dict)
    limited: str = ""
    peer: Keywords = field(default_factory=dict)

    @property
    def steps(self) -> int:
        """Steps of a run."""
        return round(self.duration / self.dt)


Prepare = Callable[[bool], Stage]


@dataclass(frozen=True, kw_only=True)
class Scene:
    """A scene by name, with its place in the literature.

    Attributes
    ----------
    name : str
    source : str
        Author, year or collection.
    about : str
        One line: what happens, and what is right.
    prepare : callable
        Of quick (bool): the Stage. Raises SkippedError.
    """

    name: str
    source: str
    about: str
    prepare: Prepare


#: Scenes by name, in the order in which they are shown.
SCENES: dict[str, Scene] = {}


def scene(name: str, source: str, about: str) -> Callable[[Prepare], Prepare]:
    """Enter a function of quick, which returns a Stage, among the scenes."""

    def enter(prepare: Prepare) -> Prepare:
        SCENES[name] = Scene(name=name, source=source, about=about, prepare=prepare)
        return prepare

    return enter


# ---- what measures share --------------------------------------------------------------------------


def largest(x: np.ndarray) -> float:
    """Return the largest absolute number of an array."""
    return float(np.abs(x).max(initial=0.0))


def share(x: np.ndarray, of: float | np.floating) -> float:
    """Return the largest distance of x from its first entry, or first row, over a size."""
    away = x - x[0]
    return float((np.linalg.norm(away, axis=1) if away.ndim > 1 else np.abs(away)).max() / of)


def energy(model: Model, motion: Motion) -> np.ndarray:
    """Return kinetic and potential energy (n, 2) [J]."""
    return model._energies(motion.q, motion.v)[:, :2]


def momentum(model: Model, motion: Motion) -> np.ndarray:
    """Return angular momentum about the world's origin and linear momentum, (n, 6)."""
    return model._energies(motion.q, motion.v)[:, 2:8]


def center(model: Model, motion: Motion) -> np.ndarray:
    """Return the centre of mass (n, 3) [m]."""
    return model._energies(motion.q, motion.v)[:, 8:]


def free_velocity(motion: Motion, body: int) -> np.ndarray:
    """Return the velocity (n, 3) [m/s] in world axes of a body, in a model whose joints are all free."""
    return np.array([rotate(q[7 * body + 3 : 7 * body + 7], v[6 * body : 6 * body + 3])
                     for q, v in zip(motion.q, motion.v, strict=True)])  # fmt: skip


def depth(model: Model, motion: Motion) -> float:
    """Return the deepest penetration [m] of the records that are looked at."""
    chosen = motion.q[:: max(1, len(motion.q) // LOOKED_AT)]
    gaps = [model.contact_gaps(q).gap.min(initial=0.0) for q in chosen]
    found: float = max(0.0, -min(gaps))
    return found


def frames(model: Model, motion: Motion, name: str) -> np.ndarray:
    """Return the positions (n, 3) [m] of a frame."""
    return np.array([model.frame_pose(name, q)[:3, 3] for q in motion.q])


def ball_inertia(mass: float, radius: float) -> tuple[float, float, float]:
    """Return the moments [kg m^2] of a solid ball."""
    return (0.4 * mass * radius**2,) * 3


def box_inertia(mass: float, size: tuple[float, float, float]) -> tuple[float, float, float]:
    """Return the moments [kg m^2] of a solid box of edges ``size`` [m]."""
    a, b, c = (x * x for x in size)
    return mass / 12 * (b + c), mass / 12 * (a + c), mass / 12 * (a + b)
