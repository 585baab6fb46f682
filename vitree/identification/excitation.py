"""Motions in which the base parameters of a model show best, within the limits of its joints."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import ArrayLike
from scipy import linalg, optimize

from vitree.arguments import Keywords, explain_calls, mapping, numbers_of, real, whole
from vitree.errors import ConvergenceError, InputError, UnknownNameError
from vitree.identification.base import BaseParameters, generator_of, of_rows, random_states, rows_of
from vitree.identification.regressor import TorqueRegressor, require_native
from vitree.mechanism.flat import smooth_sign, smooth_sign_slope
from vitree.model.model import Model

CRITERIA = ("log-det", "condition")
LIMITS = ("position", "velocity", "effort")
#: States for each period of the fastest harmonic, at which motions are judged in the search.
SAMPLES = 8
#: A largest value over time is this norm of the values.
NORM = 30
#: Friction is smooth below this share of the velocity limit, where motions are compared.
SMOOTH = 0.02
#: Share of the limits at which the search starts.
START = 0.3
#: Smallest share of a motion that is tried.
LEAST = 1e-3
#: Most rows of a motion, and harmonics of a joint.
MOST_ROWS, MOST_HARMONICS = 1_000_000, 100
#: Most iterations of the search.
ITERATIONS = 100


@dataclass(frozen=True, eq=False, repr=False)
class Excitation:
    """A motion for identification; made by :func:`vitree.design_excitation`.

    Attributes
    ----------
    t : (n,) array [s]
        From zero to the duration, in which the motion has come back to its start.
    q, v, a : (n, nv) arrays [rad or m, and per s and s^2]
        They start and end at rest.
    torque : (n, nv) array [N m or N]
        Joint forces of the model in this motion.
    condition : float [-]
        Condition number of the base regressor, its columns scaled to one length.
    log_det : float
        Logarithm of the determinant of the information matrix, the squares of the base regressor with forces in shares
        of the effort limits; its differences between motions count.
    base : BaseParameters
    use : dict of str to (nv,) array [-]
        Largest shares of "position", "velocity" and "effort" that the motion uses; nothing of what has no limit.
    """

    t: np.ndarray
    q: np.ndarray = field(repr=False)
    v: np.ndarray = field(repr=False)
    a: np.ndarray = field(repr=False)
    torque: np.ndarray = field(repr=False)
    condition: float
    log_det: float
    base: BaseParameters
    use: dict[str, np.ndarray]

    def __repr__(self) -> str:
        count = len(self.base)
        return f"<vitree.Excitation of {self.t[-1]:g} s for {count} base parameters: condition {self.condition:.3g}>"


@explain_calls
def design_excitation(
    model: Model,
    duration: float,
    dt: float = 0.01,
    *,
    harmonics: int = 5,
    limits: Mapping[str, ArrayLike] | None = None,
    criterion: str = "log-det",
    seed: int = 0,
) -> Excitation:
    """Return a periodic motion in which the base parameters of a model show best, within limits.

    Each joint follows a finite Fourier series whose period is the duration, and that starts and ends at rest (Swevers
    et al. 1997). SciPy's SLSQP finds its coefficients with exact derivatives. The motion is a local optimum.

    Parameters
    ----------
    model : Model
        With joints of one coordinate, and without constraints. Its parameters may be rough. Collisions are not
        considered: choose limits of position that avoid them.
    duration, dt : float [s]
        Period, and the interval of the rows of the result.
    harmonics : int
        Of each joint; 2 to 100.
    limits : mapping, optional
        "position": (2, nv) array, or (lower, upper) for all joints [rad or m]; "velocity" and "effort": (nv,) array or
        a number for all [rad/s or m/s, N m or N]. Those of the joints by default. Turning joints without limits of
        position have -pi to pi; limits of velocity are necessary; without effort limits, forces are free.
    criterion : {"log-det", "condition"}
        Whether the determinant of the information matrix becomes largest, which is the smallest volume of a confidence
        ellipsoid, or the condition number of the base regressor smallest.
    seed : int
        Of the motion where the search starts.

    Returns
    -------
    Excitation

    Raises
    ------
    InputError, UnknownNameError
        If an argument is wrong, or a limit is missing.
    ConvergenceError
        If the effort limits do not allow any motion.

    References
    ----------
    Swevers, Ganseman, Tukel, De Schutter & Van Brussel 1997, "Optimal robot excitation and identification".
    """
    require_native(model)
    if model.constraints or model.full is not model or model.nv != model.nq or not model.nv:
        raise InputError(
            f'"{model.name}" has constraints, followers or joints of several coordinates; design_excitation() supports '
            "joints of one coordinate alone"
        )
    for name, value in (("duration", duration), ("dt", dt)):
        if not 0 < real(value) < np.inf:
            raise InputError(name, value, "must be a positive number of seconds")
    if (count := whole(harmonics) or 0) < 2:
        raise InputError("harmonics", harmonics, "must be a whole number, at least 2")
    if not isinstance(criterion, str) or criterion not in CRITERIA:
        raise UnknownNameError("criterion", criterion, CRITERIA, argument="criterion")
    rng = generator_of(seed)
    period, step = real(duration), real(dt)
    if not step <= period / 2 or period / step > MOST_ROWS:
        raise InputError(
            "dt", dt, f"must be at most half of the duration, {period:g} s, and at least its {MOST_ROWS:,}th part"
        )
    if count > MOST_HARMONICS:
        raise InputError("harmonics", harmonics, f"must be at most {MOST_HARMONICS}")
    rows = round(period / step)
    found = _Design(model, period, count, _limits(model, limits), criterion, rng)
    return found.result(found.search(), rows)


def _limits(model: Model, given: object) -> dict[str, np.ndarray]:
    """Return lower and upper positions (2, nv), and largest velocities and efforts (nv,)."""
    lower, upper, velocity, effort = (
        np.array([np.ravel(getattr(joint, name))[0] for joint in model.joints], dtype=float)
        for name in ("lower", "upper", "velocity", "effort")
    )
    unlimited = (np.where(x > 0, x, np.inf) for x in (velocity, effort))  # files have zeros there
    found = dict(zip(LIMITS, (np.array([lower, upper]), *unlimited), strict=True))
    for name, value in mapping(given, "limits", 'a mapping such as {"velocity": 2.0}').items():
        if name not in LIMITS:
            raise UnknownNameError("limit", name, LIMITS, argument="limits")
        array, size = numbers_of(value, f'limits["{name}"]'), found[name].shape
        if name == "position" and array.shape == (2,):
            array = array[:, None]
        try:
            found[name] = np.broadcast_to(array, size).astype(float)
        except ValueError:
            raise InputError(
                f'limits["{name}"] has shape {array.shape}; it must be {size}, or the same for all'
            ) from None
        if np.isnan(found[name]).any() or (name != "position" and not (found[name] > 0).all()):
            raise InputError(f'limits["{name}"] must be positive numbers')
    turns = np.array([joint.kind != "prismatic" for joint in model.joints])
    free = ~np.isfinite(found["position"]).all(axis=0)
    found["position"][:, free & turns] = [[-np.pi], [np.pi]]
    for name, missing in (("position", free & ~turns), ("velocity", ~np.isfinite(found["velocity"]))):
        if missing.any():
            raise InputError(
                f'the joint "{model.joint_names[int(np.argmax(missing))]}" has no limit of {name}; give '
                f'limits={{"{name}": ...}}'
            )
    if not (found["position"][0] < found["position"][1]).all():
        raise InputError('limits["position"] must have each lower limit below the upper one')
    return found


class _Design:
    """The search for the coefficients (nv, 2 harmonics - 1) of a motion: the middle, then those of the series."""

    def __init__(self, model: Model, period: float, harmonics: int, limits: dict[str, np.ndarray], criterion: str,
                 rng: np.random.Generator):  # fmt: skip
        self.model, self.period, self.harmonics = model, period, harmonics
        self.limits, self.criterion = limits, criterion
        self.regressor = TorqueRegressor(model)
        self.regressor.speed = np.maximum(self.regressor.speed, SMOOTH * limits["velocity"])
        states = random_states(model, len(self.regressor.names), rng)
        self.base = of_rows(model, rows_of(model, self.regressor, *states))
        finite = np.isfinite(limits["effort"])
        self.weight = np.where(finite, 1.0 / np.where(finite, limits["effort"], 1.0), 1.0)
        self.rng = rng
        # series with v = 0 and a = 0 at the start
        order = np.arange(1, harmonics + 1)
        self.series = linalg.null_space(
            np.array([np.append(np.ones(harmonics), np.zeros(harmonics)), np.append(np.zeros(harmonics), order)])
        )
        self.times = (np.arange(SAMPLES * harmonics) + 0.5) * period / (SAMPLES * harmonics)
        self.maps = self.maps_at(self.times)

    def maps_at(self, t: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Return how coefficients of a joint give its q, v and a at times t (n,): three (n, 2 harmonics - 1)."""
        w = 2 * np.pi / self.period * np.arange(1, self.harmonics + 1)
        sine, cosine = np.sin(np.outer(t, w)), np.cos(np.outer(t, w))
        waves = (np.hstack((sine / w, -cosine / w)), np.hstack((cosine, sine)), np.hstack((-w * sine, w * cosine)))
        first = np.append(np.ones((len(t), 1)), waves[0] @ self.series, axis=1)
        nothing = np.zeros((len(t), 1))
        v, a = (np.append(nothing, wave @ self.series, axis=1) for wave in waves[1:])
        return first, v, a

    def states(self, x: np.ndarray, maps: tuple[np.ndarray, ...]) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Return q, v and a (n, nv) of coefficients x."""
        rows = x.reshape(self.model.nv, -1).T
        q, v, a = (of @ rows for of in maps)
        return q, v, a

    def back(self, by: tuple[np.ndarray, ...]) -> np.ndarray:
        """Return derivatives by coefficients from those by q, v and a (n, nv)."""
        found: np.ndarray = np.add.reduce([part.T @ of for part, of in zip(by, self.maps, strict=True)]).ravel()
        return found

    # ---- what is optimised ----------------------------------------------------------------------------

    def rows(self, q: np.ndarray, v: np.ndarray, a: np.ndarray) -> np.ndarray:
        """Return the base regressor (n, nv, b), forces in shares of the effort limits."""
        found: np.ndarray = self.regressor(q, v, a)[:, :, self.base.columns] * self.weight[:, None]
        return found

    def measure(self, W: np.ndarray) -> tuple[float, float]:
        """Return the condition number, and the logarithm of the determinant of the information matrix."""
        W = W.reshape(-1, W.shape[2])
        size = np.linalg.norm(W, axis=0)
        singular = np.linalg.svd(W / size, compute_uv=False)
        return float(singular[0] / singular[-1]), float(2 * (np.log(singular).sum() + np.log(size).sum()))

    def objective(self, x: np.ndarray) -> tuple[float, np.ndarray]:
        """Return what is to be small, and its derivatives."""
        states = self.states(x, self.maps)
        W = self.rows(*states)
        flat = W.reshape(-1, W.shape[2])
        size = np.linalg.norm(flat, axis=0)
        C = flat / size
        U, singular, V = np.linalg.svd(C, full_matrices=False)
        if self.criterion == "log-det":
            value = -2 * (np.log(singular).sum() + np.log(size).sum()) / len(size)
            G = -2 * ((U / singular) @ V) / size / len(size)
        else:
            value = np.log(singular[0] / singular[-1])
            G = np.outer(U[:, 0], V[0]) / singular[0] - np.outer(U[:, -1], V[-1]) / singular[-1]
            G = (G - C * (C * G).sum(axis=0)) / size
        weights = np.zeros((*W.shape[:2], len(self.regressor.names)))
        weights[:, :, self.base.columns] = G.reshape(W.shape) * self.weight[:, None]
        return float(value), self.back(self.regressor.gradient(*states, weights))

    # ---- limits ---------------------------------------------------------------------------------------

    def shares(self, x: np.ndarray, maps: tuple[np.ndarray, ...]) -> dict[str, np.ndarray]:
        """Return the shares (n, nv) of the limits that a motion uses."""
        q, v, a = self.states(x, maps)
        low, high = self.limits["position"]
        found = {"position": (2 * q - low - high) / (high - low), "velocity": v / self.limits["velocity"]}
        if np.isfinite(self.limits["effort"]).any():
            found["effort"] = self.forces(q, v, a) / self.limits["effort"]
        return found

    def room(self, x: np.ndarray) -> np.ndarray:
        """Return what is left of each limit, negative where it is passed."""
        return np.concatenate([1.0 - _largest(share)[0] for share in self.shares(x, self.maps).values()])

    def room_slopes(self, x: np.ndarray) -> np.ndarray:
        """Return the derivatives of :meth:`room`."""
        nv, (q, v, a) = self.model.nv, self.states(x, self.maps)
        low, high = self.limits["position"]
        nothing, out = np.zeros_like(q), []
        for name, share in self.shares(x, self.maps).items():
            slope = -_largest(share)[1]
            for k in range(nv):
                one = np.zeros_like(q)
                if name != "effort":
                    one[:, k] = slope[:, k] * (2.0 / (high - low) if name == "position" else 1 / self.limits[name])[k]
                    out.append(self.back((one, nothing, nothing) if name == "position" else (nothing, one, nothing)))
                else:
                    one[:, k] = slope[:, k] / self.limits["effort"][k]
                    out.append(self.back(self.forces_back(q, v, a, one)))
        return np.array(out)

    def forces(self, q: np.ndarray, v: np.ndarray, a: np.ndarray) -> np.ndarray:
        """Return the joint forces (n, nv) of the model."""
        model = self.model
        rubbing = (model.friction + model.dry_friction) * smooth_sign(v, self.regressor.speed)
        found: np.ndarray = model.rnea(q, v, a) + model.damping * v + rubbing
        return found

    def forces_back(self, q: np.ndarray, v: np.ndarray, a: np.ndarray, by: np.ndarray) -> tuple[np.ndarray, ...]:
        """Return derivatives by q, v and a from those by the joint forces (n, nv) of the model."""
        slopes = self.model.rnea_derivatives(q, v, a)
        by_q, by_v, by_a = (np.einsum("nf,nfk->nk", by, m) for m in (slopes.by_q, slopes.by_v, slopes.by_a))
        model = self.model
        rub = (model.friction + model.dry_friction) * smooth_sign_slope(v, self.regressor.speed)
        return by_q, by_v + by * (model.damping + rub), by_a

    def scaled(self, x: np.ndarray, share: float) -> np.ndarray:
        """Return coefficients of the same motion about its middle, smaller by a share."""
        rows = x.reshape(self.model.nv, -1).copy()
        rows[:, 1:] *= share
        return rows.ravel()

    def within(self, x: np.ndarray, maps: tuple[np.ndarray, ...], most: float) -> np.ndarray:
        """Return coefficients of the largest motion of the same form that uses a share of the limits at most."""

        def used(share: float) -> float:
            return max(float(np.abs(part).max()) for part in self.shares(self.scaled(x, share), maps).values()) - most

        share = 1.0
        while used(share) > 0:  # the largest: used() has several zeros where joints hold their weight
            share *= 0.99
            if share < LEAST:
                raise ConvergenceError(
                    "no motion is within the limits: they do not let the robot stand in the middle of the motion; give "
                    "other limits of position, or more effort",
                    time=np.nan, residual=used(share), iterations=0,
                )  # fmt: skip
        return self.scaled(x, share)

    # ---- the search -----------------------------------------------------------------------------------

    def search(self) -> np.ndarray:
        """Return the best coefficients."""
        nv, count = self.model.nv, 2 * self.harmonics - 1
        x = self.rng.normal(size=(nv, count))
        x[:, 0] = self.limits["position"].mean(axis=0)
        start = self.within(x.ravel(), self.maps, START)
        units = np.ones((nv, count)) * self.limits["velocity"][:, None]
        units[:, 0] = np.diff(self.limits["position"], axis=0)[0]
        units = units.ravel()

        def scaled_objective(y: np.ndarray) -> tuple[float, np.ndarray]:
            value, slope = self.objective(y * units)
            return value, slope * units

        rules: Keywords = {"type": "ineq", "fun": lambda y: self.room(y * units),
                           "jac": lambda y: self.room_slopes(y * units) * units}  # fmt: skip
        found = optimize.minimize(scaled_objective, start / units, jac=True, method="SLSQP", constraints=[rules],
                                  options={"maxiter": ITERATIONS, "ftol": 1e-4})  # fmt: skip
        return found.x * units if np.isfinite(found.x).all() else start

    def result(self, x: np.ndarray, rows: int) -> Excitation:
        """Return the motion of coefficients x in a number of intervals."""
        t = np.linspace(0.0, self.period, rows + 1)
        maps = self.maps_at(t)
        x = self.within(x, maps, 1.0)
        q, v, a = self.states(x, maps)
        condition, log_det = self.measure(self.rows(*self.states(x, self.maps)))
        use = {name: np.abs(share).max(axis=0) for name, share in self.shares(x, maps).items()}
        return Excitation(t, q, v, a, self.forces(q, v, a), condition, log_det, self.base, use)


def _largest(share: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return nearly the largest size (nv,) of shares (n, nv) over time, never less, and its derivatives (n, nv)."""
    top = np.maximum(np.abs(share).max(axis=0), 1e-12)
    each = np.abs(share) / top
    norm = (each**NORM).sum(axis=0) ** (1 / NORM)
    return top * norm, np.sign(share) * (each / norm) ** (NORM - 1)
