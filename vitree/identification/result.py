"""Identification: what a fit found, how sure it is, and what it cannot tell."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
from scipy import stats

from vitree.errors import InputError
from vitree.model.model import Model


@dataclass(frozen=True, eq=False, repr=False)
class Estimates:
    """Numbers with what recorded runs tell of them.

    Attributes
    ----------
    values : dict of str to float [units as in ``units``]
    units : dict of str to str
    standard_errors : dict of str to float [units as in ``units``]
        Infinite for what the runs do not tell.
    intervals : dict of str to (float, float) [units as in ``units``]
        Confidence intervals by Student's t.
    covariance, correlation : (n, n) arrays [units as products of those of the values, and without units]
    """

    values: dict[str, float]
    units: dict[str, str]
    standard_errors: dict[str, float]
    intervals: dict[str, tuple[float, float]]
    covariance: np.ndarray
    correlation: np.ndarray

    def __repr__(self) -> str:
        return f"<vitree estimates of {len(self.values)} numbers>"

    def rows(self) -> list[tuple[str, ...]]:
        """Return name, value, standard error, interval and unit of each number as texts."""
        return [(name, f"{value:.6g}", f"{self.standard_errors[name]:.2g}",
                 "{:.6g} ... {:.6g}".format(*self.intervals[name]), self.units[name])
                for name, value in self.values.items()]  # fmt: skip


def estimated(names: Sequence[str], units: Sequence[str], values: np.ndarray, root: np.ndarray, lost: np.ndarray,
              confidence: float, freedom: int) -> Estimates:  # fmt: skip
    """Return numbers (n,) whose covariance is root @ root.T, root (n, k), and that are lost (n,) or not."""
    covariance = root @ root.T
    variances = np.diag(covariance)
    deviation = np.where(lost, np.inf, np.sqrt(variances))
    safe = np.sqrt(np.where(variances > 0, variances, 1.0))
    quantile = float(stats.t.ppf(0.5 + 0.5 * confidence, freedom))
    each = list(zip(names, values.tolist(), deviation.tolist(), strict=True))
    return Estimates(
        values={name: value for name, value, _ in each},
        units=dict(zip(names, units, strict=True)),
        standard_errors={name: error for name, _, error in each},
        intervals={name: (value - quantile * error, value + quantile * error) for name, value, error in each},
        covariance=covariance,
        correlation=covariance / np.outer(safe, safe),
    )


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
    base : Estimates
        The base parameters of the model that the fit changes, by names such as "link1.m*cz - 0.2 link2.m", with the
        same fields: combinations that motions can determine at all (:func:`vitree.base_parameters`).
    condition : float [-]
        Condition number of the Jacobian of the residuals, its columns scaled to one length, without unidentifiable
        directions.
    initial : dict of str to float [units as in ``units``]
        Where the search began: by regression of the joint forces where they were measured, or as in the model.
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
    clusters : str
        What errors are independent between: "records", "windows" or "runs".
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
    base: Estimates
    condition: float
    initial: dict[str, float]
    shifts: dict[str, float]
    noise: dict[str, np.ndarray]
    residual: dict[str, np.ndarray]
    rms: float
    freedom: int
    windows: int
    window: float
    starts: tuple[np.ndarray, np.ndarray, np.ndarray]
    confidence: float
    clusters: str
    evaluations: int
    rollouts: int
    instances: int
    seconds: float
    warnings: tuple[str, ...]
    _again: Callable[[str], Identification] | None = field(default=None, repr=False)

    def __getstate__(self) -> dict[str, object]:
        return {**vars(self), "_again": None}

    def clustered(self, clusters: str) -> Identification:
        """Return the same values with standard errors and intervals for errors that are correlated.

        Errors of a model, such as friction that depends on the load, are correlated over a window, and those that
        differ from run to run, such as the zeros of encoders, over a run. Standard errors are those of the jackknife:
        from how the values move where one window, or one run, is left out.

        Parameters
        ----------
        clusters : {"records", "windows", "runs"}
            What errors are independent between. There must be at least three windows or runs.

        Raises
        ------
        InputError
            If there are too few, or if this result is a copy from another process or a file, without the runs.

        References
        ----------
        MacKinnon, Nielsen & Webb 2023, "Cluster-robust inference: a guide to empirical practice" (CV3).
        """
        if self._again is None:
            raise InputError("this result is a copy without its runs; call clustered() where identify() returned it")
        return self._again(clusters)

    def __repr__(self) -> str:
        told = f", {len(self.warnings)} warnings: .warnings" if self.warnings else ""
        return f"<vitree.Identification of {len(self.values)} parameters of {self.model.name!r}{told}>"

    def __str__(self) -> str:
        head = ("parameter", "value", "std. error", f"{100 * self.confidence:g} % interval", "unit")
        whole = Estimates(self.values, self.units, self.standard_errors, self.intervals, self.covariance,
                          self.correlation)  # fmt: skip
        rows = [head, *whole.rows()]
        if self.unidentifiable and self.base.values:
            rows += [("base parameter", *head[1:]), *self.base.rows()]
        wide = [max(len(row[k]) for row in rows) for k in range(len(head))]
        lines = ["  ".join(cell.ljust(n) for cell, n in zip(row, wide, strict=True)).rstrip() for row in rows]
        lines.append(f"{self.windows} windows of up to {self.window:g} s, {self.freedom} degrees of freedom, "
                     f"weighted rms {self.rms:.4g}")  # fmt: skip
        lines += [f"warning: {text}" for text in self.warnings]
        return "\n".join(lines)
