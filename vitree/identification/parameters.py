"""Parameters that are fitted: their names, units, bounds, and the model that has given values of them.

The search moves coordinates z (p,), which are the parameters themselves but for links whose whole inertia is fitted
("inertial"): these have log-Cholesky coordinates, in which every link is physically possible.
"""

from __future__ import annotations

import functools
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from vitree.arguments import Keywords, mapping, numbers_of, several
from vitree.errors import ConvergenceError, InputError, UnknownNameError
from vitree.identification.base import BaseParameters, base_parameters
from vitree.identification.regressor import OF_JOINT, sliding, standard_names, standard_parameters
from vitree.model.model import Model
from vitree.model.variants import OF_LINKS, OF_VELOCITIES, PARAMETERS
from vitree.spatial.pseudo_inertia import (
    inertial_parameters,
    log_cholesky,
    log_cholesky_derivatives,
    mass_com_inertia,
    mass_com_inertia_derivatives,
    of_log_cholesky,
)

#: Mass, COM and inertia of a link together, physically possible.
INERTIAL = "inertial"
KINDS = (*PARAMETERS, INERTIAL)
#: Those of which standard parameters are functions.
LINEAR = (*OF_LINKS, *OF_VELOCITIES, INERTIAL)
#: Least singular value of a direction in which base parameters, each of length one, change.
SHOWN = 1e-6
#: Corrections of a step, at most and until base parameters are met to this share, and the farthest, in scales.
CORRECTIONS, CORRECTED, FARTHEST = 10, 1e-9, 2.0

#: Entries of what has several, by kind.
ENTRIES: dict[str, dict[str, tuple[int, ...]]] = {
    "com": {"x": (0,), "y": (1,), "z": (2,)},
    "inertia": {"xx": (0, 0), "yy": (1, 1), "zz": (2, 2), "xy": (0, 1), "xz": (0, 2), "yz": (1, 2)},
    "gravity": {"x": (0,), "y": (1,), "z": (2,)},
    "gains": {"kp": (0,), "kd": (1,)},
}
#: Parameters of a link whose whole inertia is fitted, and where they are in the order of pseudo-inertias.
TEN, IN_ORDER = 10, [0, 1, 2, 3, 4, 7, 9, 5, 6, 8]
#: Units of joints that turn and of joints that slide.
UNITS = OF_JOINT | {"dry_friction": OF_JOINT["friction"], "kp": ("N m/rad", "N/m"), "kd": OF_JOINT["damping"]}


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

    Raises an InputError or UnknownNameError if a kind, name or bound is wrong, and a ModelError if a link cannot have
    the coordinates of possible inertias.

    Attributes
    ----------
    each : tuple of Parameter
    labels : tuple of str
    start, lower, upper, scale : (p,) arrays
        Of the coordinates z that the search moves.
    inertial : dict of str to int
        Where the ten coordinates of links begin whose whole inertia is fitted.

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
        self.inertial: dict[str, int] = {}
        unused = dict.fromkeys(limits)
        found: dict[str, Parameter] = {}
        for kind, names in mapping(asked, "parameters", 'a mapping such as {"mass": ["link"]}').items():
            if kind not in KINDS:
                raise UnknownNameError("parameter", kind, KINDS, argument="parameters")
            listed = (names,) if isinstance(names, str) else several(names, f'parameters["{kind}"]', "names")
            for name in listed:
                unused.pop((kind, name), None)
                if kind == INERTIAL:
                    self._whole(name, found, limits)
                    continue
                for place in self._places(kind, name):
                    one = self._parameter(kind, *place)
                    low, high = limits.get((kind, name), (one.lower, one.upper))
                    self._once(one, found)
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
        self.sizes, self.curved = self.scale.copy(), np.zeros(len(self.each), dtype=bool)
        for link, at in self.inertial.items():
            whole = slice(at, at + TEN)
            z = self.start[whole] = log_cholesky(self._inertial_parameters(link), link)
            self.lower[whole], self.upper[whole], self.curved[whole] = -np.inf, np.inf, True
            self.scale[whole] = [1.0] * 4 + [float(np.exp(z[1:4].max()))] * 6

    start: np.ndarray
    lower: np.ndarray
    upper: np.ndarray
    scale: np.ndarray
    sizes: np.ndarray  # (p,) typical sizes of the parameters, units as of them
    curved: np.ndarray  # (p,) bool, coordinates of which parameters are no linear functions

    def __len__(self) -> int:
        return len(self.each)

    def values(self, z: np.ndarray) -> np.ndarray:
        """Return the parameters (p,), units as of them, of coordinates z (p,)."""
        out = z.copy()
        for at in self.inertial.values():
            mass, com, inertia = mass_com_inertia(of_log_cholesky(z[at : at + TEN]))
            out[at : at + TEN] = [mass, *com, *(inertia[index] for index in ENTRIES["inertia"].values())]
        return out

    def derivatives(self, z: np.ndarray) -> np.ndarray:
        """Return the derivatives (p, p) of :meth:`values`."""
        out = np.eye(len(z))
        for at in self.inertial.values():
            part = slice(at, at + TEN)
            inner = log_cholesky_derivatives(z[part])
            out[part, part] = (mass_com_inertia_derivatives(of_log_cholesky(z[part])) @ inner)[IN_ORDER]
        return out

    @functools.cached_property
    def base(self) -> BaseParameters | None:
        """The base parameters of the model; None if it has no regressor, or a loop that cannot move."""
        if hasattr(self.model, "native"):
            return None
        try:
            return base_parameters(self.model)
        except ConvergenceError:
            return None

    @functools.cached_property
    def _standard(self) -> tuple[np.ndarray, list[int]]:
        """The standard parameters of the model, and which of them is each parameter of a joint, -1 of others."""
        at = {name: k for k, name in enumerate(standard_names(self.native))}
        part = {"dry_friction": "friction"}
        places = [at.get(f"{self.native.v_names[one.index[0]]}.{part.get(one.kind, one.kind)}", -1)
                  if one.kind in OF_VELOCITIES else -1 for one in self.each]  # fmt: skip
        return standard_parameters(self.native), places

    def standard(self, z: np.ndarray) -> np.ndarray:
        """Return the standard parameters (P,) of coordinates z (p,); parameters of other kinds are in none of them."""
        before, places = self._standard
        out = before.copy()
        changed: dict[str, dict[str, np.ndarray]] = {}
        for one, place, value, start in zip(self.each, places, z.tolist(), self.start.tolist(), strict=True):
            if place >= 0:
                out[place] += value - start
            elif one.kind in OF_LINKS and one.owner not in self.inertial:
                arrays = changed.setdefault(one.owner, {kind: self._array(kind, one.owner) for kind in OF_LINKS})
                arrays[one.kind][one.index] = value
                if one.kind == "inertia":
                    arrays[one.kind][one.index[::-1]] = value
        for link, arrays in changed.items():
            out[self._own(link)] = inertial_parameters(float(arrays["mass"]), arrays["com"], arrays["inertia"])
        for link, at in self.inertial.items():
            out[self._own(link)] = of_log_cholesky(z[at : at + TEN])
        return out

    def _own(self, link: str) -> slice:
        at = TEN * self.native.link_names.index(link)
        return slice(at, at + TEN)

    def standard_derivatives(self, z: np.ndarray) -> np.ndarray:
        """Return the derivatives (P, p) of :meth:`standard`."""
        before, places = self._standard
        out = np.zeros((len(before), len(z)))
        for link, at in self.inertial.items():
            out[self._own(link), at : at + TEN] = log_cholesky_derivatives(z[at : at + TEN])
        for k, one in enumerate(self.each):
            if places[k] >= 0:
                out[places[k], k] = 1.0
            elif one.kind in OF_LINKS and one.owner not in self.inertial:  # quadratic, and cubic in mass and COM
                step = 1e-4 * self.scale[k] * np.eye(len(z))[k]
                out[:, k] = (self.standard(z + step) - self.standard(z - step)) / (2 * step[k])
        return out

    def base_values(self, z: np.ndarray) -> np.ndarray:
        """Return the base parameters (b,) of coordinates z (p,)."""
        assert self.base is not None
        found: np.ndarray = self.base.matrix @ self.standard(z)
        return found

    def base_derivatives(self, z: np.ndarray) -> np.ndarray:
        """Return the derivatives (b, p) of :meth:`base_values`."""
        assert self.base is not None
        found: np.ndarray = self.base.matrix @ self.standard_derivatives(z)
        return found

    def moved(self, z: np.ndarray, move: np.ndarray) -> np.ndarray:
        """Return coordinates (p,) beside z + move at which base parameters are what their derivatives at z tell.

        Runs show base parameters, some of them with a hundred times the precision of others, and these are curved
        functions of coordinates of whole inertias: a long step along what is shown poorly would spoil the others.
        """
        start: np.ndarray = z + move
        if self.base is None or not self.inertial:
            return start
        slopes = self.base_derivatives(z)
        goal, size = self.base_values(z) + slopes @ move, np.linalg.norm(slopes * self.scale, axis=1)
        rows, found = size > 0, start
        for _ in range(CORRECTIONS):
            left = (goal - self.base_values(found))[rows] / size[rows]
            if np.abs(left).max(initial=0.0) < CORRECTED:
                return found
            weighted = (self.base_derivatives(found) * self.curved * self.scale)[rows] / size[rows, None]
            found = found + self.scale * (np.linalg.pinv(weighted, rcond=SHOWN) @ left)
            if not np.abs((found - start) / self.scale).max() < FARTHEST:
                break
        return start  # no body has such parameters

    def directions(self, z: np.ndarray) -> np.ndarray:
        """Return orthonormal changes of z in shares of scales, (d, p), that may show in a run.

        All others leave the base parameters as they are, and with them every motion.
        """
        kinds = {one.kind for one in self.each}
        if self.base is None or "gravity" in kinds:
            return np.eye(len(z))
        others = np.eye(len(z))[[one.kind not in LINEAR for one in self.each]]
        slopes = self.base_derivatives(z) * self.scale
        sizes = np.linalg.norm(slopes, axis=1)
        slopes = slopes[sizes > 0] / sizes[sizes > 0, None]
        _, singular, V = np.linalg.svd(np.concatenate((slopes, others)), full_matrices=False)
        return V[singular > SHOWN]

    def model_with(self, z: np.ndarray) -> Model:
        """Return the model with coordinates z (p,).

        Raises a ModelError if it cannot have them.
        """
        given: dict[str, dict[str, np.ndarray]] = {}
        for one, value in zip(self.each, self.values(z).tolist(), strict=True):
            arrays = given.setdefault(one.kind, {})
            array = arrays.setdefault(one.owner, self._array(one.kind, one.owner))
            array[one.index] = value
            if one.kind == "inertia":
                array[one.index[::-1]] = value
        changed: Keywords = {kind: arrays.get("", arrays) for kind, arrays in given.items()}
        return self.model.with_parameters(**changed)

    def _whole(self, name: object, found: dict[str, Parameter], limits: Mapping[tuple[str, str], object]) -> None:
        """Enter the ten parameters of a link whose whole inertia is fitted."""
        if not isinstance(name, str) or name not in self.native.link_names:
            raise UnknownNameError("link", name, self.native.link_names)
        if (INERTIAL, name) in limits:
            raise InputError(
                f'bounds has {INERTIAL} of "{name}", which needs none: every inertia that is tried is physically '
                "possible; to bound a mass or a COM, fit mass, com and inertia"
            )
        if name in self.inertial:
            return
        self.inertial[name] = len(found)
        for kind in OF_LINKS:
            for place in self._places(kind, name):
                one = self._parameter(kind, *place)
                self._once(one, found)
                found[one.label] = one

    def _once(self, one: Parameter, found: dict[str, Parameter]) -> None:
        """Raise an InputError if a parameter that has coordinates of another kind is asked for again."""
        if one.label in found and (one.owner in self.inertial and one.kind in OF_LINKS):
            raise InputError(
                f'parameters has {INERTIAL} of "{one.owner}" and its {one.kind}, which is a part of it; leave one out'
            )

    def _inertial_parameters(self, link: str) -> np.ndarray:
        mass, com, inertia = (self._array(kind, link) for kind in OF_LINKS)
        return inertial_parameters(float(mass), com, inertia)

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
        value = float(array[index])
        positive = kind not in ("com", "gravity", "inertia") or (kind == "inertia" and index[0] == index[1])
        slides = False
        if kind in OF_VELOCITIES or kind == "gains":
            at = index[0] if kind in OF_VELOCITIES else self.native.joint(owner).v_slice.start
            slides = bool(sliding(self.native)[at])
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
