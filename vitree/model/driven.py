"""Drives of a whole robot: by patterns of names, and their targets as inputs."""

from __future__ import annotations

import contextlib
import math
from collections.abc import Mapping
from dataclasses import replace
from fnmatch import fnmatchcase
from typing import Any

import numpy as np

from vitree.arguments import entries, mapping, real, shown
from vitree.errors import InputError, ModelError, UnknownNameError
from vitree.mechanism.drives import Drive
from vitree.mechanism.flat import Flat
from vitree.wording import Argument, named

#: Fields of a drive that a pattern can have.
FIELDS = ("kp", "kd", "effort_limit", "velocity_limit", "gear")


def target_of(joint: str) -> str:
    """Return the name of the input that is the target of a joint's drive."""
    return f"{joint} target"


def with_drives(model: Any, gains: Mapping[str, Any], effort_limits: bool) -> Flat:
    """Return the arrays of a model with drives on the joints that patterns name; see :meth:`vitree.Model.with_drives`.

    Raises
    ------
    InputError, ModelError, UnknownNameError
        If a pattern or its gains are wrong.
    """
    gains = mapping(gains, "gains", "a mapping of patterns of names of joints to gains (kp, kd)")
    driven = {drive.joint for drive in model.drives}
    free = [joint for joint in model.joints if len(model.v_names[joint.v_slice]) == 1 and joint.mimic is None
            and joint.name not in model.kinematic_names]  # fmt: skip
    made: dict[str, Drive] = {}
    for pattern, value in gains.items():
        if not isinstance(pattern, str):
            raise InputError(named("gains", gains) + f" has {shown(pattern)}; it maps patterns of names of joints")
        found = [joint for joint in free if fnmatchcase(joint.name, pattern)]
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
            made[joint.name] = Drive(joint.name, target=target_of(joint.name), **given)
    in_order = tuple(made[joint.name] for joint in free if joint.name in made)
    return replace(model.full.flat, loads=(*model.full.flat.loads, *in_order))


def _none_found(model: Any, pattern: str, names: list[str]) -> None:
    """Raise the error of a pattern that no joint has."""
    if pattern in model.joint_names:
        kinds = {joint.name: joint for joint in model.joints}
        joint = kinds[pattern]
        why = f"it follows \"{joint.mimic[0]}\"" if joint.mimic else "it has several coordinates"
        if pattern in model.kinematic_names:
            why = "it moves as prescribed"
        raise ModelError(f'a drive on "{pattern}" is not possible: {why}')
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


def targets_as_inputs(model: Any, targets: Any) -> dict[str, Any]:
    """Return targets of drives as inputs by name.

    Parameters
    ----------
    model : System
    targets : mapping of joint to signal, or array (n,) or (steps, n)
        Of the drives whose targets are inputs, in the order of ``model.drives``.

    Raises
    ------
    InputError, UnknownNameError
        If there is no such drive, or an array has another length.
    """
    drives = {drive.joint: drive for drive in getattr(model, "drives", ()) if isinstance(drive.target, str)}
    if not drives:
        raise InputError(named("targets", targets) + f' are for drives, and "{model.name}" has none with an input')
    if isinstance(targets, Mapping):
        for name in targets:
            if name not in drives:
                raise UnknownNameError("drive", name, drives, about=Argument("targets", targets, style="name"))
        return {drives[name].target: value for name, value in targets.items()}
    shape: tuple[int, ...] = np.shape(targets) if not callable(targets) else ()
    if len(shape) not in (1, 2) or shape[-1] != len(drives):
        raise InputError(
            named("targets", targets) + f" has shape {shape}; it must be ({len(drives)},) or (steps, {len(drives)}) "
            f"for {len(drives)} drives, or a mapping of joints to signals"
        )
    rows = np.asarray(targets)
    return {drive.target: rows[..., k] for k, drive in enumerate(drives.values())}
