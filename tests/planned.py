"""Models whose constraints are solved for by plans that a test chooses."""

from __future__ import annotations

import functools

import vitree as vt
from vitree.mechanism.plans import COUPLING, LEAST_GEARS, Plan, plan_of
from vitree.model.lower import lower_constraints


def planned(model: vt.Model, plan) -> tuple[vt.Model, Plan | None]:
    """The model with a plan that ``plan(bodies, ties, whole)`` makes, and the plan island by island."""
    model, made = vt.Model(model.flat), []
    noted = lambda *args: made.append(plan(*args)) or made[-1]  # noqa: E731
    vars(model)["constraint_list"] = lower_constraints(model.index, model.constraints, noted)
    return model, made[0] if made else None


def _always(ties, bodies, order=None):
    return len(ties) >= LEAST_GEARS or any(tie.kind != COUPLING for tie in ties)


#: As if the dense matrix of an island cost more at any size, or never did; gears alone as they are.
by_fronts = functools.partial(plan_of, worth=_always)
densely = functools.partial(plan_of, worth=lambda ties, bodies, order=None: False)


def without_trains(*args) -> Plan:
    """A plan by which accelerations do not eliminate gears."""
    return plan_of(*args)._replace(trains=None)
