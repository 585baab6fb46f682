"""Drives of a whole robot, by patterns of names."""

from __future__ import annotations

import contextlib
import math
from collections.abc import Mapping
from dataclasses import replace
from fnmatch import fnmatchcase
from typing import Any

import numpy as np

from vitree.arguments import entries, mapping, plain_scalar, real, shown
from vitree.errors import InputError, ModelError, UnknownNameError
from vitree.mechanism.constraints import followers_of
from vitree.mechanism.drives import Drive
from vitree.mechanism.flat import Flat

#: Fields of a drive that a pattern can have.
FIELDS = ("kp", "kd", "effort_limit", "velocity_limit", "gear")
#: Behind the base's name, the names of the joints of a base that is "euler".
MOVES = ("_tx", "_ty", "_tz", "_rz", "_ry", "_rx")


def target_of(joint: str) -> str:
    """Return the name of the input that is the target of a joint's drive."""
    return f"{joint} target"


def with_drives(model: Any, gains: Mapping[str, Any], effort_limits: bool, target_rates: bool) -> Flat:
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
            and joint.name not in following and joint.name not in model.kinematic_names]  # fmt: skip
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


def _following(model: Any) -> dict[str, str]:
    """Return the joints that follow others with the names of these; a <mimic> that was not heeded is none."""
    follow = followers_of(model.full.constraints)
    return {joint.name: joint.mimic[0] for joint in model.joints if joint.mimic and joint.name in follow}


def _base_of(model: Any) -> tuple[str, ...]:
    """Return the names of the six joints at the world that a floating base of one-coordinate joints is made of."""
    first = model.joint_names[: len(MOVES)]
    name = first[0].removesuffix(MOVES[0]) if first else ""
    floats = first == tuple(name + move for move in MOVES) and model.joint(first[0]).parent == "world"
    return first if floats else ()


def _none_found(model: Any, pattern: str, names: list[str]) -> None:
    """Raise the error of a pattern that no joint has."""
    if pattern in model.joint_names:
        why = "it has several coordinates"
        if pattern in (following := _following(model)):
            why = f'it follows "{following[pattern]}"'
        if pattern in model.kinematic_names:
            why = "it moves as prescribed"
        raise ModelError(f'a drive on "{pattern}" is not possible: {why}')
    if any(fnmatchcase(name, pattern) for name in _base_of(model)):
        raise ModelError(f'"{pattern}" fits joints of the floating base alone; give their names to drive them')
    raise UnknownNameError("driven joint", pattern, names)


def _gains_of(pattern: str, value: Any) -> dict[str, Any]:
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
