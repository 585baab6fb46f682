"""Runs of reduced models: the full model is simulated, in the reduced model's coordinates."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

from vitree.model.reduced import ReducedModel
from vitree.run.trajectory import Trajectory


def simulate_reduced(model: ReducedModel, simulate: Callable, arguments: dict[str, Any]) -> Trajectory:
    """Run ``model.full`` by ``simulate`` with its ``arguments``, all in the model's coordinates; raise as that does."""
    full, given = model.full, {key: x for key, x in arguments.items() if x is not None}
    q0 = model.neutral() if "q0" not in given else model.validate_configuration(given["q0"], "q0")
    run = given.get("resume")
    if run is None:
        given["q0"] = model.expand(q0)
    elif isinstance(run, Trajectory) and run.settings.get("model_digest") == model.digest:
        given["resume"] = replace(run, settings={**run.settings, "model_digest": full.digest})
    if "q1" in given:
        given["q1"] = model.expand(model.validate_configuration(given["q1"], "q1"))
    if "v0" in given:
        given["v0"] = model.expand_velocity(model.validate_velocity(given["v0"], "v0"))
    if "p0" in given:
        p0 = model.validate_velocity(given["p0"], "p0")
        given["p0"] = full.momenta(given["q0"][None], model.expand_velocity(model.velocities(q0[None], p0[None])))[0]
    for key in ("torque", "inputs"):
        if callable(given.get(key)):
            given[key] = _asked_here(model, given[key], key == "torque")
    if "torque" in given and not callable(given["torque"]):
        given["torque"] = model._force_on_leaders(model.validate_velocity(given["torque"], "torque"))
    try:
        return _contracted(model, simulate(full, **given))
    except (Exception, KeyboardInterrupt) as stop:
        run = getattr(stop, "trajectory", None)
        if run is not None:
            stop.trajectory = _contracted(model, run)  # type: ignore[union-attr]
        raise


def _asked_here(model: ReducedModel, function: Callable, force: bool) -> Callable:
    """A callable of (t, q, v) in a reduced model's coordinates, as the full model asks it."""

    def asked(t, q, v):
        value = function(t, model.contract(q), model.contract_velocity(v))
        return model._force_on_leaders(model._checked(value, model.nv, "torque")) if force else value

    return asked


def _contracted(model: ReducedModel, run: Trajectory) -> Trajectory:
    keep = ~model._couplings
    return replace(
        run,
        system=model,
        q_names=model.q_names, v_names=model.v_names,
        settings={**run.settings, "model_digest": model.digest},
        q=model.contract(run.q), v=model.contract_velocity(run.v), p=model.contract_force(run.p),
        multipliers=run.multipliers[:, keep], constraint=run.constraint[:, keep],
        constraint_names=tuple(c.name for c in model.constraints),
    )  # fmt: skip
