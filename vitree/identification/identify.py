"""identify(): masses, inertias, friction, damping and gains of a model from recorded runs."""

from __future__ import annotations

import inspect
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import ArrayLike

from vitree.arguments import Keywords, of_kind, plain_scalar, real, shown, whole
from vitree.errors import ConvergenceError, InputError
from vitree.identification.fit import Fit, Point
from vitree.identification.measured import Checked, Measurement, Windows, checked_runs
from vitree.identification.parameters import Parameters, named_directions
from vitree.identification.regression import regressions
from vitree.identification.result import Estimates, Identification, estimated
from vitree.identification.starts import Starts, first_velocities
from vitree.integrators.base import progress_of
from vitree.model.model import Model
from vitree.results.recording import Recording
from vitree.run.rollout import rollout
from vitree.threads import one_blas_thread

#: Starts that grow by more than this within a window make it too long.
GROWTH = 30.0
#: Rounds in which the noise is estimated anew, and the change at which they end.
ROUNDS, SETTLED = 8, 0.01
#: The tolerance while the noise is not settled.
ROUGH = 1e-3
#: Arguments of rollouts, which follow from the runs.
OF_ROLLOUTS = frozenset(inspect.signature(rollout).parameters) - {"options"}
#: A number is not told if more than this share of its slope is in directions that leave no trace.
HIDDEN = 1e-3
#: A warning tells if a search ends where slopes promise to lower the sum of squares by more than this share.
LEFT = 1e-2
#: So many directions that leave no trace have a warning each.
LISTED = 4
#: What errors of records may be independent between.
CLUSTERS = ("records", "windows", "runs")
#: Correlation of the residuals of neighbouring records above which they are not independent.
CORRELATED = 0.5
#: A direction is told by one cluster alone if the others have less than this share of what is known of it.
ALONE = 1e-6
#: Estimated noise is not below this share of the spread of the motion.
QUIETEST = 1e-9


@one_blas_thread()
def identify(
    model: Model,
    parameters: Mapping[str, str | Sequence[str]],
    runs: Measurement | Recording | Sequence[Measurement | Recording],
    *,
    window: float | None = None,
    dt: float | None = None,
    method: str | None = None,
    noise: ArrayLike | Sequence[ArrayLike] | None = None,
    bounds: Mapping[str, Mapping[str, ArrayLike]] | None = None,
    fit_starts: bool = True,
    confidence: float = 0.95,
    tolerance: float = 1e-8,
    evaluations: int = 100,
    threads: int | None = None,
    progress: Callable[[int, int], object] | None = None,
    **options: object,
) -> Identification:
    """Find parameters of a model from recorded runs, with confidence intervals.

    Least squares of what simulations leave of the measured configurations, and of the velocities where they are
    measured, each divided by its noise. Runs are cut into windows. The state where a window starts is fitted, too, so
    its noise makes no bias. Where joint forces were measured, the search starts from a regression of them, so the
    numbers of the model may be rough.

    Parameters
    ----------
    model : Model
        Its numbers are where the search starts, if no regression is better. Constraints hold; contacts that are closed
        where a window starts stay so there. Without wheels, ropes, limits that act and prescribed joints.
    parameters : mapping of kind to names
        What is fitted: ``{"mass": ["link1"], "damping": ["hinge1"]}``. The kinds are those of
        :meth:`Model.with_parameters`, and "inertial": mass, com and inertia of a link together, of which only those
        are tried that a body can have. Names are of links for inertial, mass, com and inertia, of joints for damping,
        friction, dry_friction and armature, of driven joints for gains; "x", "y" and "z" for gravity. ``"link1.x"`` is
        one entry of a com, ``"link1.xy"`` of an inertia, ``"hinge1.kp"`` or ``"hinge1.kd"`` one gain.
    runs : Measurement, Trajectory, or a sequence of them
        What was recorded. A Trajectory is one that nothing drove: put others into a :class:`Measurement` with torque,
        inputs or targets.
    window : float, optional [s]
        Length of the windows. By default the whole runs are halved until windows forgive their starts: until a start
        that is wrong by the noise makes an error of at most 30 times the noise.
    dt : float, optional [s]
        Step of the simulations. Times between records must be whole numbers of it. The shortest one by default.
    method : str, optional
        A name of ``model.methods``.
    noise : (float, float), or pair of (nv,) arrays, optional [m or rad, m/s or rad/s]
        Standard deviations of q and v; of q alone where no velocities are measured. Estimated for each coordinate, if
        not given.
    bounds : mapping of kind to mapping of name to (lower, upper), optional [units as of the parameters]
        Masses, principal entries of inertias, coefficients and gains are zero or more in any case.
    fit_starts : bool
        False: windows start from the measured states as they are, which must have velocities without noise.
    confidence : float [-]
        Share of the intervals. They hold for errors that are independent from record to record, as the noise of
        instruments is; :meth:`Identification.clustered` has others.
    tolerance : float [-]
        The search ends when a correction changes the sum of squares by a smaller share. Where joints stick, it ends
        when twelve trials together change it by less than 0.1 %.
    evaluations : int
        Most sets of values to try.
    threads : int, optional
        As of ``vitree.rollout``.
    progress : callable (done, total), optional
        Called with the number of evaluations.
    **options
        Of the method.

    Returns
    -------
    Identification

    Raises
    ------
    InputError, UnknownNameError
        If an argument is wrong; the text says which, and what is accepted.
    ModelError
        If a link whose whole inertia is fitted starts without a mass or an inertia.
    ConvergenceError
        If simulations fail, or the search does not end.

    References
    ----------
    Bock 1983, "Recent advances in parameter identification techniques for O.D.E.", multiple shooting; Rucker & Wensing
    2022, "Smooth parameterization of rigid-body inertia"; Gautier 1991, "Numerical calculation of the base inertial
    parameters of robots".
    """
    began = time.perf_counter()
    _require(model)
    for name, value, low, high in (("confidence", confidence, 0.0, 1.0), ("tolerance", tolerance, 0.0, 0.1),
                                   ("dt", dt, 0.0, np.inf), ("window", window, 0.0, np.inf)):  # fmt: skip
        if value is not None and not low < real(value) < high:
            raise InputError(name, value, f"must be a number above {low:g} and below {high:g}")
    if not isinstance(plain_scalar(fit_starts), bool):
        raise InputError("fit_starts", fit_starts, "must be True or False")
    if not (most := whole(evaluations) or 0) >= 1:
        raise InputError("evaluations", evaluations, "must be a whole number of sets of values, at least 1")
    for name in sorted(OF_ROLLOUTS.intersection(options)):
        raise InputError(
            name, options[name],
            "is not for identify(): starts, times and what drove the robot are those of the runs; give torque=, "
            "inputs= and targets= to vt.Measurement"
        )
    told = progress_of(progress)
    checked, step = checked_runs(model, runs, None if dt is None else real(dt))
    longest = max(float(run.t[-1] - run.t[0]) for run in checked)
    what = Parameters(model, parameters, bounds, min(longest, longest if window is None else real(window)))
    sigma, given = _noise(model, noise, checked)
    if not fit_starts and checked[0].v is None:
        raise InputError("fit_starts=False needs measured velocities v")
    more = dict(options) | {"method": method, "threads": threads}
    fit, first = _windowed(what, checked, step, None if window is None else real(window), sigma, fit_starts, more)
    best, settled = first, given
    if not given:
        sigma = {name: np.maximum(sigma[name], left) for name, left in _estimated(fit, first, sigma).items()}
    for left in reversed(range(1 if given else ROUNDS)):
        fit.sigma = sigma
        again = fit.at(best.z, best.q, best.v)  # residuals of these weights
        if again is None:
            raise fit.failure()
        best, ended = fit.search(again, tolerance if settled or not left else max(tolerance, ROUGH), most, told)
        if not ended:
            raise ConvergenceError(
                f"the search did not end within {evaluations} sets of values; give more evaluations=, a shorter "
                "window=, better values in the model, or fewer parameters",
                time=float(fit.windows.t[0]), residual=float(np.sqrt(best.cost)), iterations=fit.evaluations,
            )  # fmt: skip
        if settled:
            break
        before, sigma = sigma, _estimated(fit, best, sigma)
        settled = all(np.abs(np.log(sigma[name] / before[name])).max() < SETTLED for name in sigma)
    # the step: what a fit with half of it would find
    halved = fit.residuals(best.model, best.q[:, None], best.v[:, None], halves=2)[:, 0] - best.r
    seconds = time.perf_counter() - began

    def result(clusters: str) -> Identification:
        return _result(fit, first, best, halved, float(confidence), given, clusters, seconds, result)

    return result(CLUSTERS[0])


def _require(model: Model) -> None:
    """Raise the error of a model whose parameters cannot be found so."""
    of_kind(model, Model, "model", "a vitree Model")
    if model.prescribed_joint_names:
        raise InputError(f'"{model.name}" has prescribed joints; identify() supports none: make them free or fixed')
    if model.rolling or model.unilateral or "enforce" in (model.limits, model.velocity_limits):
        raise InputError(
            f'"{model.name}" has wheels, ropes or limits that act; identify() supports constraints and contacts alone: '
            'give limits="report", or a model without them'
        )
    if model.has_contact and model.full is not model:
        raise InputError(f'"{model.name}" is reduced and has contacts; identify() supports one of the two')


def _noise(model: Model, noise: object, runs: tuple[Checked, ...]) -> tuple[dict[str, np.ndarray], bool]:
    """Return standard deviations of q and v (nv,), and whether they were given."""
    names = ("q",) if runs[0].v is None else ("q", "v")
    if noise is not None:
        parts = tuple(noise) if isinstance(noise, Sequence) else (noise,)
        found = {}
        for name, part in zip(names, parts, strict=False):
            try:
                found[name] = np.broadcast_to(np.asarray(part, dtype=float), (model.nv,)).copy()
            except (TypeError, ValueError):
                found[name] = np.zeros(model.nv)
        if len(parts) != len(names) or any(not (np.isfinite(x) & (x > 0)).all() for x in found.values()):
            raise InputError(
                f"noise is {shown(noise)}; it must be positive standard deviations of {' and '.join(names)}, each a "
                f"number or ({model.nv},)"
            )
        return found, True
    # from fourth differences, in which a smooth motion is small: their variance is 70 times that of the noise
    differences: dict[str, list[np.ndarray]] = {name: [] for name in names}
    spread = {name: np.zeros(model.nv) for name in names}
    for run in runs:
        steps = np.array([model.difference(a, b) for a, b in zip(run.q, run.q[1:], strict=False)])
        differences["q"].append(np.diff(steps, 3, axis=0))
        spread["q"] = np.maximum(spread["q"], np.ptp(np.cumsum(steps, axis=0), axis=0))
        if run.v is not None:
            differences["v"].append(np.diff(run.v, 4, axis=0))
            spread["v"] = np.maximum(spread["v"], np.ptp(run.v, axis=0))
    sigma = {}
    for name in names:
        rows = np.concatenate(differences[name])
        size = np.median(np.abs(rows), axis=0) / (0.6745 * np.sqrt(70)) if len(rows) else np.ones(model.nv)
        sigma[name] = np.maximum(size, 1e-4 * np.maximum(spread[name], QUIETEST))
    return sigma, False


def _windowed(what: Parameters, runs: tuple[Checked, ...], dt: float, window: float | None,
              sigma: dict[str, np.ndarray], fit_starts: bool, more: Keywords) -> tuple[Fit, Point]:  # fmt: skip
    """Return the fit of windows, and the point where its search starts."""
    length = window
    candidates = [what.start, *regressions(what, runs)]
    while True:
        windows = Windows(runs, length, dt)
        starts = Starts(what.model, windows.q[:, 0])
        fit = Fit(what, windows, sigma, starts, fit_starts, more)
        if fit_starts and windows.least * fit.columns <= max(starts.counts) + 1:
            raise InputError(
                f"windows have as few as {windows.least} records, from which their starts cannot be fitted; give a "
                f"window={4 * dt:g} or longer"
            )  # fmt: skip
        if fit.freedom < 1:
            raise InputError(
                f"the runs have {fit.count} numbers, fewer than are fitted ({fit.count - fit.freedom}); give longer "
                "ones, or fewer parameters"
            )
        q, v = starts.at(windows.q[:, 0], first_velocities(what.model, windows))
        points = [fit.at(z, q, v) for z in candidates]
        best = min((point for point in points if point is not None), key=lambda point: point.cost, default=None)
        last = window is not None or windows.there.shape[1] < 24 or not fit_starts
        if last and best is None:
            raise fit.failure()
        if not last:
            growth = np.inf
            if best is not None:
                _, B = fit.with_slopes(best.model, q, v)
                Z = np.abs(starts.directions(q))
                growth = np.abs(B[:, :, : Z.shape[2]] * (sigma["q"] @ Z)[:, None]).max()
            if not growth <= GROWTH:  # NaN, too
                length = 0.5 * float((windows.seconds * windows.there).max())
                continue
        assert best is not None
        return fit, best if best is not points[0] else _roughly(fit, best)


def _roughly(fit: Fit, at: Point) -> Point:
    """Return a point whose parameters fit with starts as they are.

    Of values far from the true ones the best starts make up for all that they can, and are far from what was measured.
    """
    if not fit.fit_starts:
        return at
    rough = replace(fit, fit_starts=False)
    start = rough.at(at.z, at.q, at.v)
    assert start is not None
    found, _ = rough.search(start, ROUGH, 20)
    fit.rollouts, fit.instances = rough.rollouts, rough.instances
    return fit.at(found.z, at.q, at.v) or at


def _estimated(fit: Fit, best: Point, sigma: dict[str, np.ndarray]) -> dict[str, np.ndarray]:
    """Return standard deviations as the residuals have them, by degrees of freedom."""
    share = fit.count / fit.freedom
    found = {}
    for name, left in _root_mean_squares(fit, best, sigma).items():
        spread = np.ptp(fit.windows.q.reshape(-1, fit.windows.q.shape[2])) + 1.0
        found[name] = np.maximum(np.sqrt(share) * left, QUIETEST * spread)
    return found


def _root_mean_squares(fit: Fit, best: Point, sigma: dict[str, np.ndarray]) -> dict[str, np.ndarray]:
    """Return root mean squares of the residuals of each coordinate, (nv,), units as of q and v."""
    r, nv = fit.by_record(best.r), fit.parameters.model.nv
    each = fit.count / fit.columns
    return {name: np.sqrt((r[:, :, k * nv : (k + 1) * nv] ** 2).sum((0, 1)) / each) * sigma[name]
            for k, name in enumerate(sigma)}  # fmt: skip


def _clusters(fit: Fit, clusters: str) -> np.ndarray:
    """Return the cluster of each window, (n,); raise an InputError if there are fewer than three."""
    if type(clusters) is not str or clusters not in CLUSTERS:
        names = ", ".join(f'"{name}"' for name in CLUSTERS)
        raise InputError("clusters", clusters, f"is not known; choose from {names}", choices=CLUSTERS)
    of = fit.windows.run if clusters == "runs" else np.arange(len(fit.windows))
    count = int(of.max()) + 1
    if clusters != "records" and count < 3:
        more = 'more runs, or take "windows"' if clusters == "runs" else "longer runs, or with a shorter window="
        raise InputError("clusters", clusters, f"has {count} of these, from which no errors follow; identify {more}")
    return of


def _left_out(fit: Fit, best: Point, half: np.ndarray, clusters: str) -> tuple[np.ndarray, np.ndarray]:
    """Return how the values (p, n) move where each of n clusters of records is left out, times sqrt((n - 1)/n).

    Beside it are the directions (p, m) that one cluster alone tells. In coordinates u, z = half u, the normal matrix of
    all clusters is the unit matrix.
    """
    of = _clusters(fit, clusters)
    count = int(of.max()) + 1
    J, scores = fit.by_window(best, half)
    moves, alone = np.empty((half.shape[1], count)), [np.zeros((half.shape[1], 0))]
    for k in range(count):
        own = J[of == k].reshape(-1, half.shape[1])
        rest, W = np.linalg.eigh(np.eye(half.shape[1]) - own.T @ own)
        told = rest > ALONE
        moves[:, k] = W[:, told] @ (W[:, told].T @ scores[of == k].sum(0) / rest[told])
        alone.append(W[:, ~told])
    moves -= moves.mean(axis=1, keepdims=True)
    return np.sqrt((count - 1) / count) * half @ moves, half @ np.concatenate(alone, axis=1)


def _correlation(fit: Fit, best: Point) -> float:
    """Return the largest correlation, of any coordinate, of a residual with that of the next record."""
    r = fit.by_record(best.r)
    both = (r[:, 1:] * r[:, :-1]).sum((0, 1))
    found: float = (both / np.maximum((r**2).sum((0, 1)), 1e-300)).max()
    return found


def _result(fit: Fit, first: Point, best: Point, halved: np.ndarray, confidence: float, given: bool, clusters: str,
            seconds: float, again: Callable[[str], Identification]) -> Identification:  # fmt: skip
    """Return values with their intervals, directions that are not told, and warnings.

    ``halved``: how the residuals change with half of the step.
    """
    _clusters(fit, clusters)
    what, windows = fit.parameters, fit.windows
    labels, p = what.labels, len(what)
    J = fit.projected(best)
    _, size = fit.seen(J)
    _, singular, V = fit.spectrum(J)
    count = len(singular)
    variance = best.cost / fit.freedom
    half = V[:count].T / singular / size[:, None]  # J^+ = half U^T, and cov = s^2 half half^T
    hidden = V[count:] / size  # (k, p) changes of z that leave no trace
    by_z = what.derivatives(best.z)
    if clusters == "records":
        spread, freedom = np.sqrt(variance) * half, fit.freedom
    else:
        spread, alone = _left_out(fit, best, half, clusters)
        hidden = np.concatenate((hidden, (alone / np.linalg.norm(alone * size[:, None], axis=0)).T))
        freedom = spread.shape[1] - 1

    def estimates(names: Sequence[str], units: Sequence[str], values: np.ndarray, slopes: np.ndarray) -> Estimates:
        """Return numbers whose derivatives by z are slopes, with what the runs tell of them."""
        lost = np.abs(slopes @ hidden.T).max(axis=1, initial=0.0) > HIDDEN * np.linalg.norm(slopes / size, axis=1)
        return estimated(names, units, values, slopes @ spread, lost, confidence, freedom)

    units = [one.unit for one in what.each]
    values = what.values(best.z)
    found = estimates(labels, units, values, by_z)
    directions = named_directions(labels, (V[count:] / size) @ by_z.T, what.sizes)
    moves = -half @ (half.T @ fit.gradient(best, halved)) if np.isfinite(halved).all() else np.full(p, np.nan)
    shifts = by_z @ moves
    rms = float(np.sqrt(variance))
    deviation = np.array([*found.standard_errors.values()])
    lost = ~np.isfinite(deviation)
    warnings = []
    if len(directions) <= LISTED:
        for direction in directions:
            parts = ", ".join(f"{name} {share:+.3g}" for name, share in direction.items())
            warnings.append(f"the runs do not tell {parts} (shares of their sizes): a change along it leaves no trace")
    else:
        warnings.append(
            f"the runs do not tell {len(directions)} combinations of the parameters (unidentifiable); those that they "
            "tell are in base"
        )
    near = [name for k, name in enumerate(labels) if not lost[k]
            and min(best.z[k] - what.lower[k], what.upper[k] - best.z[k]) < deviation[k]]  # fmt: skip
    if near:
        warnings.append(f"within a standard error of a bound: {', '.join(near)}; the intervals of these are rough")
    moved = [name for k, name in enumerate(labels) if not abs(shifts[k]) < 0.5 * deviation[k] and not lost[k]]
    if moved:
        warnings.append(f"the step is too long for {', '.join(moved)}: the values depend on it (shifts); give a "
                        "shorter dt")  # fmt: skip
    if fit.left > LEFT:
        warnings.append(
            f"no step lowered the residuals by the {100 * fit.left:.2g} % that their slopes promise: they are not "
            "smooth, as those of joints that stick; the values may be beside the best ones"
        )
    if clusters == "records" and fit.freedom > 50 and (correlation := _correlation(fit, best)) > CORRELATED:
        warnings.append(
            f"residuals of neighbouring records are correlated ({correlation:.2f}), as errors of a model are, and the "
            'intervals are too narrow; take those of .clustered("windows"), or of .clustered("runs") for errors that '
            "differ from run to run"
        )
    if given and not 0.8 < rms < 1.25 and fit.freedom > 50:
        warnings.append(f"the weighted rms is {rms:.3g}, not 1: the noise is not as given, or the model is wrong")
    return Identification(
        model=best.model,
        values=found.values,
        units=found.units,
        standard_errors=found.standard_errors,
        intervals=found.intervals,
        covariance=found.covariance,
        correlation=found.correlation,
        unidentifiable=directions,
        base=_base(what, best, estimates),
        condition=float(singular[0] / singular[-1]) if count else np.inf,
        initial=dict(zip(labels, what.values(first.z).tolist(), strict=True)),
        shifts=dict(zip(labels, shifts.tolist(), strict=True)),
        noise={name: x.copy() for name, x in fit.sigma.items()},
        residual=_root_mean_squares(fit, best, fit.sigma),
        rms=rms,
        freedom=fit.freedom,
        windows=len(windows),
        window=float((windows.seconds * windows.there).max()),
        starts=(windows.t, best.q, best.v),
        confidence=confidence,
        clusters=clusters,
        evaluations=fit.evaluations,
        rollouts=fit.rollouts,
        instances=fit.instances,
        seconds=seconds,
        warnings=tuple(warnings),
        _again=again,
    )  # fmt: skip


def _base(what: Parameters, best: Point, estimates: Callable[..., Estimates]) -> Estimates:
    """Return the base parameters that the fit changes, with what the runs tell of them."""
    if what.base is None:
        return estimates((), (), np.zeros(0), np.zeros((0, len(what))))
    slopes = what.base_derivatives(best.z)
    kept = np.abs(slopes * what.scale).max(axis=1, initial=0.0) > 0
    names, units = ([x for x, keep in zip(of, kept, strict=True) if keep] for of in (what.base.names, what.base.units))
    return estimates(names, units, what.base_values(best.z)[kept], slopes[kept])
