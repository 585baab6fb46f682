"""What a small change of a run's start, torques and inputs makes of all its states: one pass from start to end."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from vitree.arguments import entries
from vitree.run.linearized import CHUNK, StepsOf


class Perturbation(NamedTuple):
    """Changes of the records of a run, to first order.

    d (records, nv) [m or rad] are displacements of the configurations, as ``model.integrate`` takes them. dp (records,
    nv) [kg m/s or kg m^2/s] are changes of the momenta.
    """

    d: np.ndarray
    dp: np.ndarray


def variation_of(run: Any, d: Any, dp: Any, dtorque: Any, dinputs: Any, dprescribed: Any, inputs: Any,
                 targets: Any) -> Perturbation:  # fmt: skip
    """Return what a change makes of a run; see :meth:`vitree.Trajectory.variation`."""
    steps = StepsOf(run, inputs, targets)
    n, nv, nu, k = len(steps), steps.model.nv, steps.ends.u.shape[1], len(steps.model.kinematic_names)

    def given(value: Any, shape: tuple[int, ...], name: str) -> np.ndarray:
        return np.zeros(shape) if value is None else np.asarray(entries(value, shape, name))

    motions = np.empty((steps.first[-1] + 1, 2 * nv))
    motions[0, :nv], motions[0, nv:] = given(d, (nv,), "d"), given(dp, (nv,), "dp")
    changes = (given(dtorque, (n, nv), "dtorque"), given(dinputs, (n, nu), "dinputs"),
               given(dprescribed, (n, k), "dprescribed"))  # fmt: skip
    for begin, end in steps.chunks(CHUNK):
        steps.push(begin, end, *changes, motions)
    records = motions[steps.first]
    return Perturbation(records[:, :nv], records[:, nv:])
