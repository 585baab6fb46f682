"""Arrays of a model that is changed: with other numbers, with drives on joints, or cut at a frame."""

from __future__ import annotations

import contextlib
import math
from collections.abc import Callable, Mapping
from dataclasses import replace
from fnmatch import fnmatchcase
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from vitree.arguments import entries, mapping, numbers_of, plain_scalar, real, shown
from vitree.errors import InputError, ModelError, UnknownNameError
from vitree.mechanism.constraints import followers_of
from vitree.mechanism.drives import Drive
from vitree.mechanism.flat import KIND_NQ, KIND_NV, REVOLUTE, Flat, JointInfo, Row, columns_of, with_numbers
from vitree.model.dynamics import DynamicsMethods
from vitree.model.facts import ModelFacts
from vitree.model.frictions import friction_by_frames, with_friction
from vitree.spatial.inertia import Part, body_mass, inertia_tensor, merge

#: Numbers of links, with the shape of one.
OF_LINKS: dict[str, tuple[int, ...]] = {"mass": (), "com": (3,), "inertia": (3, 3)}
#: Numbers of velocities.
OF_VELOCITIES = ("damping", "friction", "dry_friction", "armature")
#: Numbers of links, of joints, gravity and gains, which can be varied.
PARAMETERS = (*OF_LINKS, *OF_VELOCITIES, "gravity", "gains")
#: All that can be varied.
VARIED = (*PARAMETERS, "contact_friction")


def varied(model: ModelFacts, given: Mapping[str, object]) -> Flat:
    """Return the arrays of a model with other numbers; see :meth:`vitree.Model.with_parameters`.

    Raises an InputError if a number is not finite, or an array has a wrong shape, an UnknownNameError if a link, a
    joint or a drive is not known, and a ModelError if a mass or a coefficient is negative, or an inertia is impossible.
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
    if given.get("contact_friction") is not None:
        changed |= with_friction(flat, friction_by_frames(flat, given["contact_friction"], "contact_friction"))
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


# ---- drives of a whole robot, by patterns of names ---------------------------------------------------------


#: Gains (kp, kd) of drives, or fields of :class:`vitree.Drive`, by patterns of names.
Gains = Mapping[str, ArrayLike | Mapping[str, float]]
#: Fields of a drive that a pattern can have.
FIELDS = ("kp", "kd", "effort_limit", "velocity_limit", "gear")
#: Behind the base's name, the names of the joints of a base that is "euler".
MOVES = ("_tx", "_ty", "_tz", "_rz", "_ry", "_rx")


def target_of(joint: str) -> str:
    """Return the name of the input that is the target of a joint's drive."""
    return f"{joint} target"


def with_drives(model: ModelFacts, gains: Gains, effort_limits: bool, target_rates: bool) -> Flat:
    """Return the arrays of a model with drives on the joints that patterns name; see :meth:`vitree.Model.with_drives`.

    Raises
    ------
    InputError, ModelError, UnknownNameError
        If a pattern or its gains are wrong.
    """
    for name, value in (("effort_limits", effort_limits), ("target_rates", target_rates)):
        if not isinstance(plain_scalar(value), bool):
            raise InputError(name, value, "must be True or False")
    gains = mapping(gains, "gains", "a mapping of patterns of names of joints to gains (kp, kd)")
    driven = {drive.joint for drive in model.drives}
    following = _following(model)
    free = [joint for joint in model.joints if len(model.v_names[joint.v_slice]) == 1
            and joint.name not in following and joint.name not in model.prescribed_joint_names]  # fmt: skip
    base = _base_of(model)
    made: dict[str, Drive] = {}
    for pattern, value in gains.items():
        if not isinstance(pattern, str):
            raise InputError("gains", gains, f"has {shown(pattern)}; it maps patterns of names of joints")
        found = [joint for joint in free if joint.name == pattern
                 or (joint.name not in base and fnmatchcase(joint.name, pattern))]  # fmt: skip
        if not found:
            _none_found(model, pattern, [joint.name for joint in free])
        for joint in found:
            if joint.name in made:
                continue
            if joint.name in driven:
                raise ModelError(f'the joint "{joint.name}" has a drive already')
            given = _gains_of(pattern, value)
            effort = float(np.ravel(joint.effort)[0]) if effort_limits and joint.effort else math.inf
            if 0 < effort < math.inf and "effort_limit" not in given:
                gear = real(given.get("gear", 1.0))
                given["effort_limit"] = effort / gear if gear > 0 else effort
            if target_rates:
                given["target_rate"] = target_of(joint.name) + " rate"
            made[joint.name] = Drive(joint.name, target=target_of(joint.name), **given)
    if effort_limits and made and not any(drive.effort_limit < math.inf for drive in made.values()):
        raise InputError(
            "effort_limits", effort_limits,
            f'does nothing: none of these joints of "{model.name}" has an effort limit; give the joints effort= (in a '
            "robot file <limit effort>), or leave it out"
        )
    in_order = tuple(made[joint.name] for joint in free if joint.name in made)
    return replace(model.full.flat, loads=(*model.full.flat.loads, *in_order))


def _following(model: ModelFacts) -> dict[str, str]:
    """Return the joints that follow others with the names of these; a <mimic> that was not heeded is none."""
    follow = followers_of(model.full.constraints)
    return {joint.name: joint.mimic[0] for joint in model.joints if joint.mimic and joint.name in follow}


def _base_of(model: ModelFacts) -> tuple[str, ...]:
    """Return the names of the six joints at the world that a floating base of one-coordinate joints is made of."""
    first = model.joint_names[: len(MOVES)]
    name = first[0].removesuffix(MOVES[0]) if first else ""
    floats = first == tuple(name + move for move in MOVES) and model.joint(first[0]).parent == "world"
    return first if floats else ()


def _none_found(model: ModelFacts, pattern: str, names: list[str]) -> None:
    """Raise the error of a pattern that no joint has."""
    if pattern in model.joint_names:
        why = "it has several coordinates"
        if pattern in (following := _following(model)):
            why = f'it follows "{following[pattern]}"'
        if pattern in model.prescribed_joint_names:
            why = "it moves as prescribed"
        raise ModelError(f'a drive on "{pattern}" is not possible: {why}')
    if any(fnmatchcase(name, pattern) for name in _base_of(model)):
        raise ModelError(f'"{pattern}" fits joints of the floating base alone; give their names to drive them')
    raise UnknownNameError("driven joint", pattern, names)


def _gains_of(pattern: str, value: object) -> dict[str, Any]:
    if isinstance(value, Mapping):
        for name in value:
            if name not in FIELDS:
                raise UnknownNameError("field of a drive", name, FIELDS)
        if "kp" in value:
            return dict(value)
    else:
        with contextlib.suppress(InputError):
            kp, kd = entries(value, (2,), "gains")
            return {"kp": float(kp), "kd": float(kd)}
    raise InputError(
        f'the gains of "{pattern}" are {shown(value)}; they must be finite numbers (kp, kd), or a mapping with kp and, '
        f"if they matter, {', '.join(FIELDS[1:])}"
    )


# ---- the mechanism cut at a frame, where a sensor of forces stands ---------------------------------------------
#
# What is beyond the frame is a body of its own, held by a joint that does not move.


class Cut(NamedTuple):
    """A model in which the part beyond a frame is a body of its own, and where its coordinate is.

    Attributes
    ----------
    model : Model
        Without contacts: their forces are given by frames.
    body : int
        What is beyond the frame, with all that it carries.
    E, p : (3, 3) array, (3,) array [m]
        The frame in the body's core frame.
    iq, iv : int or None
        Where the coordinate of the joint that does not move is in q and v; None where the frame stands at a joint,
        which is the cut.
    """

    model: DynamicsMethods
    body: int
    E: np.ndarray
    p: np.ndarray
    iq: int | None
    iv: int | None

    def states(self, q: np.ndarray, *rates: np.ndarray) -> tuple[np.ndarray, ...]:
        """Return q and rates (nv,) of the cut model."""
        if self.iq is None or self.iv is None:
            return (q, *rates)
        at = self.iv
        return (np.insert(q, self.iq, 0.0), *(np.insert(x, at, 0.0) for x in rates))


def cut_at(model: DynamicsMethods, frame: str, make: Callable[[Flat], DynamicsMethods]) -> Cut:
    """Return the model, no reduced one, cut between what carries a frame and the frame with all beyond it.

    ``make`` returns the model of arrays. Raises an UnknownNameError if there is no such frame, and a ModelError if the
    model does not know its tree of frames.
    """
    row, flat = model._frame(frame), model.flat
    if not flat.above:
        raise ModelError(
            f'"{flat.name}" does not know which frames are beyond "{frame}", as a model made of arrays; make it from a '
            "Tree or a file"
        )
    at, body = flat.frame_at[row], int(flat.frame_body[row])
    if body >= 0 and flat.body_at[body] == at:
        return Cut(model, body, flat.frame_E[row], flat.frame_p[row], None, None)
    split = _split(flat, at, body, flat.frame_E[row], flat.frame_p[row], frame)
    return Cut(make(split), body + 1, np.eye(3), np.zeros(3), _start(flat.kind, KIND_NQ, body + 1),
               _start(flat.kind, KIND_NV, body + 1))  # fmt: skip


def _start(kind: np.ndarray, size: np.ndarray, body: int) -> int:
    return int(size[kind[:body]].sum())


def _split(flat: Flat, at: int, body: int, E: np.ndarray, p: np.ndarray, name: str) -> Flat:
    """The arrays with a new body behind ``body``, at (E, p) in its core frame, which has all that is beyond ``at``."""
    beyond = _beyond(flat, at)
    new, starts = body + 1, np.concatenate(([0], np.cumsum(KIND_NV[flat.kind])))

    def moved(k: int) -> int:
        return k if k <= body else k + 1

    def inward(R: np.ndarray, x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        return E.T @ R, E.T @ (x - p)

    rows: list[Row] = []
    for i in range(len(flat.kind) + 1):
        if i == new:
            still = [np.zeros(1)] * 6 + [np.ones(1, bool)]
            damping, friction, _, armature, dry, bounce, locked = still
            rows.append(Row(REVOLUTE, body, E, p, 0.0, damping, friction, np.ones(1), armature, dry, bounce, locked))
            continue
        k = i if i < new else i - 1
        v = slice(starts[k], starts[k + 1])
        up, at_R, at_p = int(flat.parent[k]), flat.E[k], flat.p[k]
        if up == body and beyond[flat.body_at[k]]:
            up, (at_R, at_p) = new, inward(at_R, at_p)
        else:
            up = moved(up)
        rows.append(Row(int(flat.kind[k]), up, at_R, at_p, flat.pitch[k], flat.damping[v], flat.friction[v],
                        flat.friction_velocity[v], flat.armature[v], flat.dry_friction[v], flat.limit_restitution[v],
                        flat.kinematic[v], flat.mass[k], flat.com[k], flat.inertia[k]))  # fmt: skip
    frame_body, frame_E, frame_p = flat.frame_body.copy(), flat.frame_E.copy(), flat.frame_p.copy()
    parts: tuple[list[Part], list[Part]] = ([], [])
    for k, of in enumerate(flat.frame_body.tolist()):
        out = of == body and bool(beyond[flat.frame_at[k]])
        frame_body[k] = new if out else moved(of)
        if out:
            frame_E[k], frame_p[k] = inward(frame_E[k], frame_p[k])
        if of == body and flat.frame_names[k] in flat.link_names:
            j = flat.link_names.index(flat.frame_names[k])
            part = Part(flat.link_mass[j], flat.link_com[j], flat.link_inertia[j], frame_E[k], frame_p[k])
            parts[out].append(part)
    for k, (mass, com, inertia) in zip((body, new), merge(parts), strict=True):
        if k >= 0:
            rows[k].mass, rows[k].com, rows[k].inertia = mass, com, inertia
    iq, iv = _start(flat.kind, KIND_NQ, new), _start(flat.kind, KIND_NV, new)
    return replace(
        flat, **columns_of(rows), frame_body=frame_body, frame_E=frame_E, frame_p=frame_p,
        joints=_with_joint(flat.joints, name, iq, iv), contacts=(), ground=None, rolling=(), limits="ignore",
        velocity_limits="ignore", unilateral=(),
        above=(), frame_at=(), body_at=(),
    )  # fmt: skip


def _beyond(flat: Flat, at: int) -> np.ndarray:
    """Which transforms are beyond one, or it."""
    found = np.zeros(len(flat.above), dtype=bool)
    for k, up in enumerate(flat.above):
        found[k] = k == at or (up >= 0 and found[up])
    return found


def _with_joint(joints: tuple[JointInfo, ...], name: str, iq: int, iv: int) -> tuple[JointInfo, ...]:
    """The joints with one more at a place of q and v."""

    def shifted(x: slice, n: int) -> slice:
        return slice(x.start + (x.start >= n), x.stop + (x.start >= n))

    others = [replace(j, q_slice=shifted(j.q_slice, iq), v_slice=shifted(j.v_slice, iv)) for j in joints]
    new = JointInfo(f"{name} (cut)", "revolute", "", name, slice(iq, iq + 1), slice(iv, iv + 1))
    k = sum(j.q_slice.start < iq for j in joints)
    return (*others[:k], new, *others[k:])
