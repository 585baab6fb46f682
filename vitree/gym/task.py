"""The definition of a task: what :class:`Env` and :class:`VectorEnv` have in common."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from vitree.arguments import explain_calls, mapping, of_kind, real, several
from vitree.errors import InputError, UnknownNameError
from vitree.gym.randomization import Command, HeightScan, Randomization
from vitree.gym.state import FIELDS
from vitree.model.system import System

#: A term of a reward, with its weight or without.
Term = Callable[..., Any] | tuple[float, Callable[..., Any]]
#: Names of quantities, with their scales or without.
Quantities = Sequence[str] | Mapping[str, ArrayLike]


@explain_calls
@dataclass(frozen=True, kw_only=True, eq=False)
class Task:
    """What is to be learnt: a model, what an action does, observations, rewards, and when episodes end.

    Functions take either one argument, the :class:`vitree.gym.State` of all instances, or the arrays Q (n, nq),
    V (n, nv) and A (n, k) of their states and actions.

    Parameters
    ----------
    model : Model
    dt : float [s]
        The integrator's step.
    reward : callable (state) or (Q, V, A) -> (n,), or mapping
        Or terms by name: functions, or pairs (weight, function). The reward is their sum, and ``infos["rewards"]`` has
        the sum of each over the episode where one ends.
    frame_skip : int
        Steps of an action.
    duration : float, optional [s]
        Episodes are truncated after this time; never if not given.
    start : callable (rng, n) -> (Q, V), optional
        Starts (n, nq) and (n, nv) of n episodes, drawn from a NumPy generator; the pose at rest if not given.
    terminated : callable (state) or (Q, V) -> (n,) of bool, or mapping of name to callable, optional
        Whether episodes end; never if not given.
    observe : callable (state) or (Q, V) -> (n, k), names, or mapping of name to scale, optional
        Observations: a function, or names of quantities of :class:`vitree.gym.State` in a row, each multiplied by its
        scale. q and v if not given.
    action : {"torque", "targets", "inputs"}
        What an action is: joint forces, targets of drives, or inputs of the model, as actuators of MJCF files are.
    actuators : names, optional
        Coordinates of ``v_names`` that a torque acts on; all that belong to joints of one coordinate if not given.
        Joints whose drives get targets; the other drives hold the pose. Names of ``input_names``; the others are zero.
    limit : float or (k,) array, optional
        Bounds of actions, without unit where they are scaled. If not given, those of torques are the effort limits of
        the joints, and those of targets and inputs are 1.
    action_scale : float, (k,) array, or mapping of pattern to number, optional [N, N m, m or rad]
        Torques and inputs are ``action_scale`` times the action; 1 if not given. Targets are the pose plus
        ``action_scale`` times the action, cut to the limits of the joints; 0.5 if not given.
    pose : (nq,) array, or mapping of joint to number, optional [m or rad]
        The default pose, by names or patterns of joints; ``model.start`` if not given.
    choices : (c, k) array, optional
        Makes actions discrete: a row of numbers as an action has them for each choice. [-]
    command : Command, optional
        What is asked of the robot.
    randomization : Randomization, optional
        What is drawn anew for each episode.
    height_scan : HeightScan, optional
        Where the ground is scanned.
    contacts : names, optional
        Names or patterns of frames whose contacts are told; all that may touch if not given.
    method : str, optional
        A name of ``model.methods``.
    options : mapping
        Of the method.

    Raises
    ------
    InputError, UnknownNameError
        If an argument is wrong.
    """

    model: System
    dt: float
    reward: Callable[..., Any] | Mapping[str, Term]
    frame_skip: int = 1
    duration: float | None = None
    start: Callable[..., Any] | None = None
    terminated: Callable[..., Any] | Mapping[str, Callable[..., Any]] | None = None
    observe: Callable[..., Any] | Quantities | None = None
    action: str = "torque"
    actuators: Iterable[str] | None = None
    limit: ArrayLike | None = None
    action_scale: ArrayLike | Mapping[str, float] | None = None
    pose: ArrayLike | Mapping[str, float] | None = None
    choices: ArrayLike | None = None
    command: Command | None = None
    randomization: Randomization | None = None
    height_scan: HeightScan | None = None
    contacts: Iterable[str] | None = None
    method: str | None = None
    options: Mapping[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        of_kind(self.model, System, "model", "a vitree Model")
        for name, kind in (("command", Command), ("randomization", Randomization), ("height_scan", HeightScan)):
            if getattr(self, name) is not None:
                of_kind(getattr(self, name), kind, name, f"a vitree.gym.{kind.__name__}")
        terms_of(self)
        endings_of(self)
        quantities_of(self)
        object.__setattr__(self, "options", mapping(self.options, "options", "a mapping of names to values"))


def terms_of(task: Task) -> dict[str, tuple[float, Callable[..., Any]]]:
    """Return weights and functions of the reward by name; one is "reward"; raise an InputError if it has none."""
    if callable(task.reward):
        return {"reward": (1.0, task.reward)}
    given = mapping(task.reward, "reward", "a function, or a mapping of names to functions or (weight, function)")
    found: dict[str, tuple[float, Callable[..., Any]]] = {}
    for name, term in given.items():
        weight, function = (1.0, term) if callable(term) else _pair(name, term)
        found[str(name)] = weight, function
    if not found:
        raise InputError("reward", task.reward, "has no terms; give at least one")
    return found


def endings_of(task: Task) -> dict[str, Callable[..., Any]]:
    """Return what ends episodes by name; one function is "terminated"; raise an InputError if it is none."""
    if task.terminated is None:
        return {}
    if callable(task.terminated):
        return {"terminated": task.terminated}
    given = mapping(task.terminated, "terminated", "a function, or a mapping of names to functions")
    for name, function in given.items():
        if not callable(function):
            raise InputError(f'terminated["{name}"]', function, "must be a function")
    return {str(name): function for name, function in given.items()}


def quantities_of(task: Task) -> dict[str, np.ndarray] | None:
    """Return scales of the quantities that are observed, by their names; None where a function observes.

    Raises an InputError if there is none, and an UnknownNameError if one, or one of the noise, is not known.
    """
    if callable(task.observe):
        return None
    if task.observe is None:
        given: dict[Any, Any] = {"q": 1.0, "v": 1.0}
    elif isinstance(task.observe, Mapping):
        given = dict(task.observe)
    else:
        names = (task.observe,) if isinstance(task.observe, str) else task.observe
        given = dict.fromkeys(several(names, "observe", "a function, or names of quantities"), 1.0)
    for name in given:
        if name not in FIELDS:
            raise UnknownNameError("quantity", name, FIELDS, argument="observe")
    if not given:
        raise InputError("observe", task.observe, "names nothing; give at least one quantity")
    for name in task.randomization.noise if task.randomization else ():
        if name not in given:
            raise UnknownNameError("observed quantity", name, given, argument="noise")
    return {name: _scales(name, value) for name, value in given.items()}


def _pair(name: object, term: Any) -> tuple[float, Callable[..., Any]]:
    try:
        weight, function = term
        if not callable(function) or not np.isfinite(real(weight)):
            raise ValueError
    except (TypeError, ValueError):
        raise InputError(f'reward["{name}"]', term, "must be a function, or a pair (weight, function)") from None
    return float(weight), function


def _scales(name: str, value: object) -> np.ndarray:
    try:
        found = np.asarray(value, dtype=float)
    except (TypeError, ValueError):
        raise InputError(f'observe["{name}"]', value, "must be a number, or one for each entry") from None
    if found.ndim > 1 or not np.isfinite(found).all():
        raise InputError(f'observe["{name}"]', value, "must be a finite number, or one for each entry")
    return found
