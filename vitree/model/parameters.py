"""A model with other numbers: masses, inertias, friction, gravity and gains."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from vitree.arguments import entries, mapping, numbers_of
from vitree.errors import InputError, ModelError, UnknownNameError
from vitree.mechanism.drives import Drive
from vitree.mechanism.flat import Flat, with_numbers
from vitree.mechanism.merging import Part, merge
from vitree.model.facts import ModelFacts
from vitree.spatial.inertia import body_mass, inertia_tensor

#: Numbers of links, with the shape of one.
OF_LINKS: dict[str, tuple[int, ...]] = {"mass": (), "com": (3,), "inertia": (3, 3)}
#: Numbers of velocities.
OF_VELOCITIES = ("damping", "friction", "dry_friction", "armature")
#: All that can be varied.
PARAMETERS = (*OF_LINKS, *OF_VELOCITIES, "gravity", "gains")


def varied(model: ModelFacts, given: Mapping[str, object]) -> Flat:
    """Return the arrays of a model with other numbers; see :meth:`vitree.Model.with_parameters`.

    Raises
    ------
    InputError
        If a number is not finite, or an array has a wrong shape.
    UnknownNameError
        If a link, a joint or a drive is not known.
    ModelError
        If a mass or a coefficient is negative, or an inertia is impossible.
    """
    flat: Flat = model.full.flat
    changed: dict[str, Any] = _links(flat, {name: given[name] for name in OF_LINKS if given.get(name) is not None})
    for name in OF_VELOCITIES:
        if given.get(name) is not None:
            changed[name] = _velocities(model.full, name, given[name])
    if given.get("gravity") is not None:
        changed["gravity"] = entries(given["gravity"], (3,), "gravity").copy()
    if given.get("gains") is not None:
        changed["loads"] = _drives(model.full, given["gains"])
    return with_numbers(flat, changed)


def _links(flat: Flat, given: Mapping[str, object]) -> dict[str, Any]:
    """Return the arrays of links and of bodies that other masses, COM and inertias of links give."""
    if not given:
        return {}
    place = {name: k for k, name in enumerate(flat.link_names)}
    of_links = {name: list(getattr(flat, f"link_{name}")) for name in OF_LINKS}
    touched: set[int] = set()
    for what, value in given.items():
        for link, number in _by_name(value, what, place, OF_LINKS[what], "link").items():
            name = f'{what}["{link}"]'
            x = entries(number, OF_LINKS[what], name)
            made: Any = body_mass(x, link) if what == "mass" else inertia_tensor(x, link) if what == "inertia" else None
            made = tuple(x.tolist()) if made is None else made
            if not np.array_equal(made, of_links[what][place[link]]):  # bodies of which nothing changes keep their bits
                of_links[what][place[link]] = made
                touched.add(place[link])
    frames = {name: k for k, name in enumerate(flat.frame_names)}
    at = [frames[name] for name in flat.link_names]
    bodies = sorted({int(flat.frame_body[at[k]]) for k in touched} - {-1})
    groups = [
        [Part(of_links["mass"][k], of_links["com"][k], of_links["inertia"][k], flat.frame_E[row], flat.frame_p[row])
         for k, row in enumerate(at) if flat.frame_body[row] == body]
        for body in bodies
    ]  # fmt: skip
    mass, com, inertia = flat.mass.copy(), flat.com.copy(), flat.inertia.copy()
    for body, merged in zip(bodies, merge(groups), strict=True):
        mass[body], com[body], inertia[body] = merged
    return {"mass": mass, "com": com, "inertia": inertia,
            **{f"link_{name}": tuple(of_links[name]) for name in given}}  # fmt: skip


def _by_name(
    value: object, what: str, names: Mapping[str, object], shape: tuple[int, ...], kind: str
) -> dict[str, ArrayLike]:
    """Return numbers by name, of a mapping or of an array with a row for each name."""
    if isinstance(value, Mapping):
        for name in value:
            if not isinstance(name, str) or name not in names:
                raise UnknownNameError(kind, name, names)
        return dict(value)
    array = numbers_of(value, what)
    if array.shape != (len(names), *shape):
        raise InputError(
            what, value,
            f"has shape {array.shape}; it must be {(len(names), *shape)}, or a mapping of names of {kind}s"
        )
    return dict(zip(names, array, strict=True))


def _velocities(model: ModelFacts, what: str, value: object) -> np.ndarray:
    """Return a coefficient of each velocity, of an array or by names of joints."""
    if not isinstance(value, Mapping):
        found = entries(value, (model.nv,), what).copy()
    else:
        found = np.array(getattr(model.flat, what))
        for joint, number in _by_name(value, what, {j.name: j for j in model.joints}, (), "joint").items():
            at, name = model.joint(joint).v_slice, f'{what}["{joint}"]'
            numbers = numbers_of(number, name)
            found[at] = entries(numbers, () if numbers.ndim == 0 else (at.stop - at.start,), name)
    if (found < 0).any():
        k = int(np.argmin(found))
        raise ModelError(f'the {what} of "{model.v_names[k]}" is {found[k]:g}; it must be zero or more')
    return found


def _drives(model: ModelFacts, value: object) -> tuple[Any, ...]:
    """Return the loads, with other gains (kp, kd) of the drives of joints."""
    gains = mapping(value, "gains", "a mapping of names of driven joints to gains (kp, kd)")
    driven = [drive.joint for drive in model.drives]
    pairs: dict[str, tuple[float, float]] = {}
    for joint, pair in gains.items():
        if not isinstance(joint, str) or joint not in driven:
            raise UnknownNameError("driven joint", joint, driven)
        if driven.count(joint) > 1:
            raise ModelError(f'the joint "{joint}" has {driven.count(joint)} drives; give it one, to change its gains')
        kp, kd = entries(pair, (2,), f'gains["{joint}"]')
        pairs[joint] = float(kp), float(kd)

    def changed(load: Any) -> Any:
        if not isinstance(load, Drive) or load.joint not in pairs:
            return load
        kp, kd = pairs[load.joint]
        return replace(load, kp=kp, kd=kd)

    return tuple(map(changed, model.loads))
