"""Comparison: the table and pictures of a comparison of methods."""

from __future__ import annotations

import os
from typing import Any

from vitree.results.comparison import Compared
from vitree.run.trajectory import Trajectory


class Comparison(Compared):
    """The result of :func:`compare`: ``print`` it, ``.plot()`` it, or read ``.table``.

    Attributes
    ----------
    model_name : str
    table : list of dict
        One row per method and time step, plain types, NaN where a number does not apply:

        - ``label``, ``method``, ``dt`` [s], ``steps``;
        - ``status``: "ok", or "failed at t = ..."; ``failed_at`` [s] and ``reason``, else None;
        - ``energy_error``: largest abs(E - E0) at a recorded time [J]. E0 is the energy at the start; if damping,
          friction, a torque or other loads change the energy, it is the reference's energy at that time;
        - ``energy_error_relative``: the same over the largest kinetic energy of the reference
          (without one: of the calmest run);
        - ``energy_drift``: least-squares slope of that difference over time [J/s];
        - ``momentum_error``: largest departure of the linear momentum from its start plus
          gravity's impulse [kg m/s]; NaN unless every root moves freely, and with loads or constraints;
        - ``angular_momentum_error``: likewise of the angular momentum about the world's origin
          (with gravity: its component along gravity, the one that is conserved) [kg m^2/s];
        - ``constraint_error``: largest abs(h) of the constraints [m or rad], NaN without any;
        - ``error``: largest norm of ``model.difference`` to the reference [rad and m];
        - ``order``: slope of log error over log dt, the same for all rows of a label;
        - ``iterations_mean``, ``iterations_max`` per step, NaN for methods that solve no equations; ``us_per_step``
          [microseconds].
    trajectories : dict
        (label, dt) to Trajectory; a failed run has the records before the failure.
    reference : Trajectory or None
        At the smallest time step.
    reference_error : float [m and rad]
        The reference's estimate of its own error, at least 5e-14: the largest difference to a run with two or four
        times the step, or ten times the tolerance. Smaller errors in the table are not resolved.
    series : dict
        (label, dt) to a :class:`Series`, the errors over time.
    notes : tuple of str
        Sentences that explain the numbers.
    settings : dict
        Settings of the comparison, in types that JSON knows.
    """

    trajectories: dict[tuple[str, float], Trajectory]
    reference: Trajectory | None

    def plot(self, path: str | os.PathLike | None = None) -> Any:
        """Draw energy and error over time; return the matplotlib figure, saved to ``path``.

        Raises
        ------
        MissingExtraError
            If matplotlib is not installed (extra "plot").
        """
        from vitree.plot import comparison, save

        figure = comparison(self)
        if path is not None:
            save(figure, path)
        return figure
