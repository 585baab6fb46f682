"""The inertia with which each link is simulated: that of the file, or one repaired by a policy."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from xml.etree.ElementTree import Element as Node

import numpy as np

from vitree.errors import ModelError
from vitree.mechanism.flat import Geometry
from vitree.urdf.inertia import inertia_faults, nearest_inertia, shapes_inertia
from vitree.urdf.rules import REPAIR, RULES
from vitree.urdf.schema import MOMENTS
from vitree.urdf.xml import Source

POLICIES = ("strict", "warn", "repair", "geometry")
#: Rows and columns of ixx, ixy, ... in the tensor.
ROWS, COLUMNS = (0, 0, 0, 1, 1, 2), (0, 1, 2, 1, 2, 2)


@dataclass
class Inertial:
    """The inertia of a link: mass [kg], tensor (3, 3) [kg m^2] about the COM, and the place of its axes; its faults.

    ``xyz`` (3,) [m] and ``rpy`` (3,) [rad] are in the link's frame. A fault is a rule, a text and a change.
    """

    mass: float = 0.0
    tensor: np.ndarray = field(default_factory=lambda: np.zeros((3, 3)))
    xyz: Sequence[float] = (0.0, 0.0, 0.0)
    rpy: Sequence[float] = (0.0, 0.0, 0.0)
    faults: list[tuple[str, str, str]] = field(default_factory=list)


def settle_inertial(
    file: Source, name: str, link: Node, shapes: Sequence[Geometry], policy: str, density: float
) -> Inertial | None:
    """Return the inertia with which a link is simulated; None where it has none.

    Parameters
    ----------
    file : Source
        Keeps the findings and the changes.
    name : str
    link : Element
        Its numbers have been checked.
    shapes : sequence of Geometry
    policy : {"strict", "warn", "repair", "geometry"}
    density : float [kg/m^3]
        Of the shapes, for "geometry".
    """
    node = link.find("inertial")
    found = Inertial() if node is None else _read(file, node, f'link "{name}"', policy in ("repair", "geometry"))
    taken = None
    if policy == "geometry" and (node is None or found.faults or not found.tensor.any()):
        place = link if node is None else node
        try:
            taken = _from_shapes(shapes, density, found.mass)
        except ModelError as error:
            remedy = REPAIR
            file.say("inertia-from-shapes", f'link "{name}": {error}', place, severity="error", remedy=remedy)
        if taken is not None:
            text = f'link "{name}": inertia from its shapes: mass {taken.mass:g} kg, moments {_moments(taken.tensor)}'
            file.say("inertia-from-shapes", text, place)
    for rule, text, change in found.faults:
        severity = RULES[rule].severity
        if policy == "strict":
            file.say(rule, text, node, severity="error", remedy="correct it")
        elif policy == "warn":
            file.say(rule, text + ("; used as given" if severity == "warning" else ""), node)
        elif taken is not None:
            file.say(rule, text, node, severity="repair", remedy="computed from the shapes")
        else:
            file.say(rule, text, node, severity="repair" if change else severity, remedy=change)
    if taken is not None:
        return taken
    return None if node is None else found


def _read(file: Source, node: Node, what: str, repair: bool) -> Inertial:
    """Read an <inertial>, or with ``repair`` the inertia that it is repaired to."""
    mass, inertia = node.find("mass"), node.find("inertia")
    found = Inertial()
    say = found.faults.append
    found.xyz, found.rpy = file.place(node)
    if mass is None or mass.get("value") is None:
        say(("mass-missing", f"the <inertial> of {what} has no <mass> with a value", "none -> 0 kg"))
    else:
        found.mass = file.values(mass, "value")[0]
        if found.mass < 0:
            say(("mass-negative", f"the mass of {what} is {found.mass:g} kg", f"{found.mass:g} -> 0 kg"))
            found.mass = 0.0 if repair else found.mass
    if inertia is None:
        say(("inertia-missing", f"the <inertial> of {what} has no <inertia>", "none -> a point mass"))
        return found
    xx, xy, xz, yy, yz, zz = (file.values(inertia, key)[0] for key in MOMENTS)
    found.tensor = np.array([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]])
    missing = [key for key in MOMENTS if inertia.get(key) is None]
    if missing:
        say(("inertia-partial", f"the <inertia> of {what} has no {', '.join(missing)}", "missing -> 0"))
    if not (xx or xy or xz or yy or yz or zz):
        return found
    if found.mass == 0 and not found.faults:
        say(("mass-zero", f"the mass of {what} is zero, its inertia is not", ""))
    faults: tuple[str, ...] = inertia_faults(found.mass, found.tensor)
    largest = max(map(abs, (xx, xy, xz, yy, yz, zz)))
    if min(xx, yy, zz) < -1e-9 * largest - 1e-12 * abs(found.mass):
        faults = ("moment-negative",)
    nearest = nearest_inertia(found.tensor) if faults and repair else found.tensor
    for rule in faults:
        fault = {
            "moment-negative": "has a negative moment on its diagonal",
            "inertia-negative": "has a negative principal moment",
            "inertia-triangle": "has a principal moment above the sum of the others",
        }[rule]
        old = _moments(found.tensor)
        change = f"{old} -> {_moments(nearest)}" if repair else ""
        say((rule, f"the inertia of {what} {fault} ({old} kg m^2), which is impossible", change))
    found.tensor = nearest
    return found


def _from_shapes(shapes: Sequence[Geometry], density: float, mass: float) -> Inertial | None:
    """The inertia of the collision shapes; of the visual ones where the former have no volume."""
    for role in ("collision", "visual"):
        solid = [shape for shape in shapes if shape.role == role]
        of_shapes = shapes_inertia(solid, density, mass if mass > 0 else None) if solid else None
        if of_shapes is not None:
            return Inertial(of_shapes[0], np.asarray(of_shapes[2]), of_shapes[1].tolist())
    return None


def _moments(tensor: np.ndarray) -> str:
    return " ".join(f"{x:.4g}" for x in np.linalg.eigvalsh(tensor))
