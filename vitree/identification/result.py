"""Identification: what a fit found, how sure it is, and what it cannot tell."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np

from vitree.model.model import Model


@dataclass(frozen=True, eq=False, repr=False)
class Identification:
    """Parameters of a model, found from recorded runs; made by :func:`vitree.identify`.

    Attributes
    ----------
    model : Model
        The model with the values that were found.
    values : dict of str to float [units as in ``units``]
        By names such as "mass link1", "com link1.x", "damping hinge", "gains hinge.kp".
    units : dict of str to str
    standard_errors : dict of str to float [units as in ``units``]
        Infinite for what the runs do not tell.
    intervals : dict of str to (float, float) [units as in ``units``]
        Confidence intervals of the share ``confidence``, by Student's t.
    covariance, correlation : (p, p) arrays [units as products of those of the values, and without units]
        In the order of ``values``, of what the runs tell.
    unidentifiable : tuple of dict of str to float
        Directions in which the parameters can change without a trace in the runs, each as shares of typical sizes.
    shifts : dict of str to float [units as in ``units``]
        How far each value moves if the step of the simulations is halved.
    noise : dict of "q" and "v" to (nv,) array [m or rad, m/s or rad/s]
        The noise's standard deviations by which the residuals were weighed: as given, or estimated.
    residual : dict of "q" and "v" to (nv,) array [m or rad, m/s or rad/s]
        Root mean squares of what is left.
    rms : float [-]
        Root mean square of the weighted residuals, by degrees of freedom; about 1 if the model explains the runs up to
        noise of the standard deviations given.
    freedom : int
        Numbers that were measured, less those that were fitted, the starts of the windows included.
    windows : int
    window : float [s]
        The longest.
    starts : tuple of (windows,), (windows, nq), (windows, nv) arrays [s, m or rad, m/s or rad/s]
        When windows start, and from which states.
    confidence : float [-]
    evaluations : int
        Sets of values that the fit asked for.
    rollouts, instances : int
        How many were simulated.
    seconds : float [s]
    warnings : tuple of str
    """

    model: Model
    values: dict[str, float]
    units: dict[str, str]
    standard_errors: dict[str, float]
    intervals: dict[str, tuple[float, float]]
    covariance: np.ndarray = field(repr=False)
    correlation: np.ndarray = field(repr=False)
    unidentifiable: tuple[Mapping[str, float], ...]
    shifts: dict[str, float]
    noise: dict[str, np.ndarray]
    residual: dict[str, np.ndarray]
    rms: float
    freedom: int
    windows: int
    window: float
    starts: tuple[np.ndarray, np.ndarray, np.ndarray]
    confidence: float
    evaluations: int
    rollouts: int
    instances: int
    seconds: float
    warnings: tuple[str, ...]

    def __repr__(self) -> str:
        told = f", {len(self.warnings)} warnings: .warnings" if self.warnings else ""
        return f"<vitree.Identification of {len(self.values)} parameters of {self.model.name!r}{told}>"

    def __str__(self) -> str:
        head = ("parameter", "value", "std. error", f"{100 * self.confidence:g} % interval", "unit")
        rows = [head]
        for name, value in self.values.items():
            low, high = self.intervals[name]
            rows.append((name, f"{value:.6g}", f"{self.standard_errors[name]:.2g}", f"{low:.6g} ... {high:.6g}",
                         self.units[name]))  # fmt: skip
        wide = [max(len(row[k]) for row in rows) for k in range(len(head))]
        lines = ["  ".join(cell.ljust(n) for cell, n in zip(row, wide, strict=True)).rstrip() for row in rows]
        lines.append(f"{self.windows} windows of up to {self.window:g} s, {self.freedom} degrees of freedom, "
                     f"weighted rms {self.rms:.4g}")  # fmt: skip
        lines += [f"warning: {text}" for text in self.warnings]
        return "\n".join(lines)
