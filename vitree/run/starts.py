"""States that runs start from: neutral, or drawn by a seed."""

from __future__ import annotations

import contextlib
from typing import Any

import numpy as np

from vitree.arguments import real, whole
from vitree.errors import InputError, ModelError
from vitree.model.closure import satisfy_constraints
from vitree.model.model import Model
from vitree.model.placing import place_on_ground, within_limits


def start_of(system: Any, seed: int, q0: Any = "neutral", v0: Any = "random", speed: float = 1.0,
             on_ground: bool = False) -> tuple[np.ndarray, np.ndarray]:  # fmt: skip
    """Return q (nq,) and v (nv,), drawn from separate streams: the one does not depend on the other.

    A start without numbers is moved into limits that are enforced, to satisfy the constraints of the system, and
    ``on_ground`` onto its ground.

    Parameters
    ----------
    system : Model, or another System
    seed : int
        Zero or above. q is drawn by ``np.random.default_rng([seed, 0])``, v by ``[seed, 1]``.
    q0 : "neutral", "random" or (nq,) array [m or rad]
        Random: within the limits of the joints.
    v0 : "random", "zero" or (nv,) array [m/s or rad/s]
        Random: each entry normal with deviation ``speed``.
    speed : float
        Zero or above [m/s or rad/s].
    on_ground : bool

    Raises
    ------
    InputError
        If an argument is wrong.
    """
    q = configuration_of(system, seed, q0, on_ground)
    if not isinstance(v0, str):
        return q, v0
    if v0 == "zero":
        return q, system.zero_velocity()
    if v0 != "random":
        raise InputError("v0", v0, "must be random, zero or numbers")
    if not 0 <= real(speed) < np.inf:
        raise InputError("speed", speed, "must be a finite number, 0 or more")
    v = real(speed) * np.random.default_rng([seed, 1]).standard_normal(system.nv)
    if system.kinematic_names:
        v[np.asarray(system.flat.kinematic, dtype=bool)] = 0.0
    return q, v if system.degrees_of_freedom == system.nv else system.project_velocity(q, v)


def configuration_of(system: Any, seed: int, q0: Any = "neutral", on_ground: bool = False) -> np.ndarray:
    """Return q (nq,) [m or rad]; arguments and errors as of :func:`start_of`."""
    require_seed(seed)
    if not isinstance(q0, str):
        return system.validate_configuration(q0, "q0")
    if q0 == "random":
        if not hasattr(system, "random_configuration"):
            raise InputError("q0", q0, f': "{system.name}" has no limits to draw from; give neutral, or numbers')
        q = system.random_configuration(np.random.default_rng([seed, 0]))
    elif q0 == "neutral":
        q = system.neutral()
        q = within_limits(system, q) if isinstance(system, Model) else q
    else:
        raise InputError("q0", q0, "must be neutral, random or numbers")
    q = satisfy_constraints(system, q) if system.constraints else q
    if on_ground and isinstance(system, Model):
        with contextlib.suppress(ModelError):  # a base that does not move, as an arm's, stays where it is
            q = place_on_ground(system, q)
    return q


def require_seed(seed: Any) -> int:
    """Return a seed as an int.

    Raises
    ------
    InputError
        If it is no whole number, or below zero.
    """
    number = whole(seed)
    if number is None or number < 0:
        raise InputError("seed", seed, "must be a whole number, zero or above")
    return number
