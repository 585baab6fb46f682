"""Parameters that are fitted: their names, units, bounds, and the model that has given values of them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from vitree.arguments import Keywords, mapping, numbers_of, several
from vitree.errors import InputError, UnknownNameError
from vitree.mechanism.flat import PRISMATIC
from vitree.model.model import Model
from vitree.model.variants import OF_VELOCITIES, PARAMETERS

#: Entries of what has several, by kind.
ENTRIES: dict[str, dict[str, tuple[int, ...]]] = {
    "com": {"x": (0,), "y": (1,), "z": (2,)},
    "inertia": {"xx": (0, 0), "yy": (1, 1), "zz": (2, 2), "xy": (0, 1), "xz": (0, 2), "yz": (1, 2)},
    "gravity": {"x": (0,), "y": (1,), "z": (2,)},
    "gains": {"kp": (0,), "kd": (1,)},
}
#: Units of joints that turn and of joints that slide.
UNITS = {"damping": ("N m s/rad", "N s/m"), "friction": ("N m", "N"), "dry_friction": ("N m", "N"),
         "armature": ("kg m^2", "kg"), "kp": ("N m/rad", "N/m"), "kd": ("N m s/rad", "N s/m")}  # fmt: skip


@dataclass(frozen=True)
class Parameter:
    """A number of a model.

    Attributes
    ----------
    label, unit : str
    kind, owner : str
        The argument of :meth:`vitree.Model.with_parameters`, and the name in its mapping, "" for an array.
    index : tuple of int
        Where it is in the array.
    start, lower, upper, scale : float
        Its value in the model, its bounds, and a typical size; in the unit.
    """

    label: str
    unit: str
    kind: str
    owner: str
    index: tuple[int, ...]
    start: float
    lower: float
    upper: float
    scale: float


class Parameters:
    """What is fitted of a model.

    Raises an InputError or UnknownNameError if a kind, name or bound is wrong.

    Parameters
    ----------
    model : Model
    asked : mapping of kind to names
    bounds : mapping of kind to mapping of name to (lower, upper), optional
    time : float [s]
        A time in which the model moves; it makes sizes of what is zero.
    """

    def __init__(self, model: Model, asked: object, bounds: object, time: float):
        self.model = model
        self.native: Model = getattr(model, "native", model).full
        inertia = np.diag(self.native.crba(self.native.neutral()))
        self._inertia = np.where(inertia > 0, inertia, 1.0)
        self._time = time
        limits = self._bounds(bounds)
        unused = dict.fromkeys(limits)
        found: dict[str, Parameter] = {}
        for kind, names in mapping(asked, "parameters", 'a mapping such as {"mass": ["link"]}').items():
            if kind not in PARAMETERS:
                raise UnknownNameError("parameter", kind, PARAMETERS, argument="parameters")
            listed = (names,) if isinstance(names, str) else several(names, f'parameters["{kind}"]', "names")
            for name in listed:
                unused.pop((kind, name), None)
                for place in self._places(kind, name):
                    one = self._parameter(kind, *place)
                    low, high = limits.get((kind, name), (one.lower, one.upper))
                    found[one.label] = Parameter(**vars(one) | {"lower": max(low, one.lower), "upper": high})
        if unused:
            kind, name = next(iter(unused))
            raise InputError(f'bounds has {kind} of "{name}", which is not fitted; add it to parameters')
        if not found:
            raise InputError("parameters", asked, 'names nothing; give such as {"mass": ["link"]}')
        self.each = tuple(found.values())
        self.labels = tuple(found)
        for one in self.each:
            if not one.lower <= one.start <= one.upper or not one.lower < one.upper:
                raise InputError(
                    f"the {one.label} of the model is {one.start:g}; it must be within its bounds {one.lower:g} and "
                    f"{one.upper:g}: give others, or start from model.with_parameters(...)"
                )
        for name in ("start", "lower", "upper", "scale"):
            setattr(self, name, np.array([getattr(one, name) for one in self.each]))

    start: np.ndarray
    lower: np.ndarray
    upper: np.ndarray
    scale: np.ndarray

    def __len__(self) -> int:
        return len(self.each)

    def model_with(self, values: np.ndarray) -> Model:
        """Return the model with other values (p,), units as of the parameters.

        Raises a ModelError if it cannot have them.
        """
        given: dict[str, dict[str, np.ndarray]] = {}
        for one, value in zip(self.each, values.tolist(), strict=True):
            arrays = given.setdefault(one.kind, {})
            array = arrays.setdefault(one.owner, self._array(one.kind, one.owner))
            array[one.index] = value
            if one.kind == "inertia":
                array[one.index[::-1]] = value
        changed: Keywords = {kind: arrays.get("", arrays) for kind, arrays in given.items()}
        return self.model.with_parameters(**changed)

    def _array(self, kind: str, owner: str) -> np.ndarray:
        """The numbers that the model has."""
        flat = self.native.flat
        if kind in ("mass", "com", "inertia"):
            return np.array(getattr(flat, f"link_{kind}")[flat.link_names.index(owner)])
        if kind == "gains":
            drive = next(drive for drive in self.native.drives if drive.joint == owner)
            return np.array((drive.kp, drive.kd))
        return np.array(getattr(flat, kind))

    def _places(self, kind: str, name: object) -> list[tuple[str, str, tuple[int, ...], str]]:
        """Owner, what it is called, index and entry of each number that a name stands for."""
        model = self.native
        if kind in OF_VELOCITIES:
            if isinstance(name, str) and name in model.v_names:
                return [("", name, (model.v_names.index(name),), "")]
            if not isinstance(name, str) or name not in model.joint_names:
                raise UnknownNameError("joint", name, dict.fromkeys((*model.joint_names, *model.v_names)))
            at = model.joint(name).v_slice
            return [("", model.v_names[k], (k,), "") for k in range(at.start, at.stop)]
        if kind == "gravity":
            if not isinstance(name, str) or name not in ENTRIES[kind]:
                raise UnknownNameError("entry of gravity", name, ENTRIES[kind])
            return [("", name, ENTRIES[kind][name], "")]
        owners = model.link_names if kind != "gains" else tuple(drive.joint for drive in model.drives)
        what = "link" if kind != "gains" else "driven joint"
        entries = ENTRIES.get(kind, {})
        if isinstance(name, str) and name in owners:
            return [(name, name, index, entry) for entry, index in entries.items()] or [(name, name, (), "")]
        owner, _, entry = name.rpartition(".") if isinstance(name, str) else ("", "", "")
        if entry in entries and owner in owners:
            return [(owner, owner, entries[entry], entry)]
        raise UnknownNameError(what, name, owners)

    def _parameter(self, kind: str, owner: str, name: str, index: tuple[int, ...], entry: str) -> Parameter:
        array = np.asarray(self._array(kind, owner), dtype=float)
        value, flat = float(array[index]), self.native.flat
        positive = kind not in ("com", "gravity", "inertia") or (kind == "inertia" and index[0] == index[1])
        slides = False
        if kind in OF_VELOCITIES or kind == "gains":
            at = index[0] if kind in OF_VELOCITIES else self.native.joint(owner).v_slice.start
            body = int(np.searchsorted(self.native._iv, at, side="right")) - 1
            slides = int(flat.kind[body]) == PRISMATIC
            power = {"armature": 0, "damping": 1, "kd": 1}.get(entry or kind, 2)
            size = float(self._inertia[at]) / self._time**power
        elif kind == "gravity":
            size = 9.81
        elif kind == "com":
            size = 0.1
        else:  # of masses and inertias, those of the link and of all that moves
            size = 1e-3 * self.native.total_mass * (1.0 if kind == "mass" else 1e-2)
            size = max(size, float(np.abs(array).max()))
        unit = {"mass": "kg", "com": "m", "inertia": "kg m^2", "gravity": "m/s^2"}.get(kind)
        unit = unit or UNITS[entry or kind][slides]
        label = f"{kind} {name}.{entry}" if entry else f"{kind} {name}"
        scale = max(abs(value), size, 1e-12)
        return Parameter(label, unit, kind, owner, index, value, 0.0 if positive else -np.inf, np.inf, scale)

    def _bounds(self, bounds: object) -> dict[tuple[str, str], tuple[float, float]]:
        found = {}
        for kind, names in mapping(bounds, "bounds", 'a mapping such as {"mass": {"link": (1, 2)}}').items():
            for name, pair in mapping(names, f'bounds["{kind}"]', "a mapping of names to (lower, upper)").items():
                array = numbers_of(pair, f'bounds["{kind}"]["{name}"]')
                if array.shape != (2,) or not array[0] < array[1]:
                    raise InputError(f'bounds["{kind}"]["{name}"] must be (lower, upper), the lower below the upper')
                found[kind, name] = (float(array[0]), float(array[1]))
        return found


def shares(direction: np.ndarray, scale: np.ndarray) -> np.ndarray:
    """Return a direction (p,) of parameters in shares of their scales, the largest 1."""
    share = direction / scale
    found: np.ndarray = share / share[np.argmax(np.abs(share))]
    return found


def named_directions(
    labels: tuple[str, ...], directions: np.ndarray, scale: np.ndarray
) -> tuple[Mapping[str, float], ...]:
    """Return each direction (k, p) as shares by name, without those that do not matter."""
    found = []
    for direction in directions:
        share = shares(direction, scale)
        found.append({label: round(float(x), 6) for label, x in zip(labels, share, strict=True) if abs(x) > 1e-3})
    return tuple(found)
