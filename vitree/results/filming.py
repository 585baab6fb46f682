"""Films of runs."""

from __future__ import annotations

import numpy as np

from vitree.errors import InputError
from vitree.results.drawing import drawing_of, poses
from vitree.results.film import Film
from vitree.results.recording import Recording

#: A film has RATE pictures a second, but at least FEWEST and at most MOST in all. Each picture is of a record.
RATE, FEWEST, MOST = 60, 600, 20_000
#: The most poses of bodies in all pictures of a film: 56 MB.
MOST_POSES = 2_000_000
#: Pictures with a body farther away are left out [m].
FARTHEST = 1e9


def film_of(run: Recording) -> Film:
    """Return the film of a ``run``: at most about 60 of its records a second.

    Raises
    ------
    InputError
        If the trajectory has neither a system nor a film.
    """
    if not len(run):
        raise InputError(f'the trajectory of "{run.model_name}" has no records to draw')
    if run.system is None:
        if run.film is None:
            raise InputError(
                f'the trajectory of "{run.model_name}" has neither a model nor pictures; give '
                f'its model, as in view(traj, model=...) or "vitree view run.npz --robot NAME"'
            )
        return run.film
    drawing = drawing_of(run.system)
    records = np.flatnonzero(np.isfinite(run.q).all(axis=1))
    if not len(records):
        raise InputError(f'the trajectory of "{run.model_name}" has no records to draw')
    records = records[np.argsort(run.t[records], kind="stable")]
    span = float(run.t[records[-1]] - run.t[records[0]])
    count = int(np.clip(RATE * span, FEWEST, MOST))
    count = min(count, max(MOST_POSES // max(len(drawing.bodies), 1), 2))
    if len(records) > count:
        records = records[np.unique(np.linspace(0, len(records) - 1, count).round().astype(int))]
    pictures = poses(run.system, run.q[records])
    near = (np.abs(pictures) < FARTHEST).all(axis=(1, 2))  # a failed run may end very far away
    if not near.any():
        raise InputError(f'the trajectory of "{run.model_name}" has no record within {FARTHEST:g} m to draw')
    return Film(drawing, run.t[records][near], pictures[near])
