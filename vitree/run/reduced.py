"""Runs of reduced models: the full model is simulated, in the reduced model's coordinates."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Any

from vitree.arguments import Asked
from vitree.model.reduced import ReducedModel
from vitree.model.system import System
from vitree.run.arguments import RunArguments
from vitree.run.controller import Controller, function_of, of_another_function
from vitree.run.trajectory import Later, Trajectory


def run_reduced(
    model: ReducedModel, given: RunArguments, run: Callable[[System, RunArguments], Trajectory]
) -> Trajectory:
    """Simulate ``model.full`` by ``run``, all in the reduced model's coordinates; raise as that does."""
    try:
        return contracted(model, run(model.full, expanded(model, given)))
    except KeyboardInterrupt as stop:
        part = getattr(stop, "trajectory", None)
        if part is not None:
            stop.trajectory = Trajectory._of(Later(partial(contracted, model, part)))  # type: ignore[attr-defined]
        raise
    except Exception as stop:
        part = getattr(stop, "trajectory", None)
        if part is not None:
            stop.trajectory = contracted(model, part)  # type: ignore[attr-defined]
        raise


def expanded(model: ReducedModel, given: RunArguments) -> RunArguments:
    """Return the arguments in the coordinates of ``model.full``."""
    full, before, changed = model.full, given.resume, dict[str, Any]()
    q0 = model.neutral() if given.q0 is None else model.validate_configuration(given.q0, "q0")
    if before is None:
        changed["q0"] = model.expand(q0)
    elif isinstance(before, Trajectory) and before.settings.get("model_digest") == model.digest:
        changed["resume"] = replace(before, settings={**before.settings, "model_digest": full.digest})
    if given.q1 is not None:
        changed["q1"] = model.expand(model.validate_configuration(given.q1, "q1"))
    if given.v0 is not None:
        changed["v0"] = model.expand_velocity(model.validate_velocity(given.v0, "v0"))
    if given.p0 is not None:
        p0 = model.validate_velocity(given.p0, "p0")
        v0 = model.expand_velocity(model.velocities(q0[None], p0[None]))
        changed["p0"] = full.momenta(model.expand(q0)[None], v0)[0]
    if isinstance(given.torque, Controller):
        initial = given.torque.initial
        initial = None if initial is None else model._embed(model.validate_velocity(initial, "initial"))
        asked = _in_full(model, function_of(given.torque), force=True)
        changed["torque"] = of_another_function(given.torque, asked, initial)
    elif callable(given.torque):
        changed["torque"] = _in_full(model, given.torque, force=True)
    elif given.torque is not None:
        changed["torque"] = model._embed(model.validate_velocity(given.torque, "torque"))
    if isinstance(given.inputs, Controller):
        asked = _in_full(model, function_of(given.inputs), force=False)
        changed["inputs"] = of_another_function(given.inputs, asked, given.inputs.initial)
    elif callable(given.inputs):
        changed["inputs"] = _in_full(model, given.inputs, force=False)
    return given.but(**changed)


def _in_full(model: ReducedModel, function: Callable, force: bool) -> Callable:
    """A callable of (t, q, v) in a reduced model's coordinates, as one in those of the full model."""

    size = model.nv if force else len(model.input_names)
    asked = Asked(function, "torque" if force else "inputs", "(t, q, v)", (size,))

    def value_at(t, q, v):
        value = asked(t, model.contract(q), model.contract_velocity(v))
        return model._embed(value) if force else value

    return value_at


def contracted(model: ReducedModel, run: Trajectory) -> Trajectory:
    keep = model._followers.kept
    return replace(
        run,
        system=model,
        q_names=model.q_names, v_names=model.v_names,
        settings={**run.settings, "model_digest": model.digest},
        q=model.contract(run.q), v=model.contract_velocity(run.v), p=model.contract_force(run.p),
        multipliers=run.multipliers[:, keep], constraint=run.constraint[:, keep],
        constraint_names=tuple(c.name for c in model.constraints),
    )  # fmt: skip
