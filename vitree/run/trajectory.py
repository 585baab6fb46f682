"""Trajectories: what a run returns, its warnings, and its files for other programs."""

from __future__ import annotations

import contextlib
import os
import pickle
import threading
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike

from vitree.arguments import explain_calls, explain_calls_with, path_of
from vitree.errors import InputError
from vitree.mechanism.constraints import Distance
from vitree.mechanism.contacts import Contact
from vitree.mechanism.unilateral import Pulley, Rope
from vitree.model.candidates import Candidates
from vitree.model.changes import Change, changes_of
from vitree.model.collision_checks import idle_text, passes, sources_of_pair
from vitree.model.facts import Limited
from vitree.model.model import Model
from vitree.model.system import System
from vitree.results import export, mcap
from vitree.results.contacts import ContactLog
from vitree.results.recording import Recording
from vitree.results.series import drift_beyond_band
from vitree.spatial.rotations import turn_z_to

if TYPE_CHECKING:
    import pandas
    import xarray
    from matplotlib.figure import Figure

    from vitree.integrators.base import Torque
    from vitree.mechanism.pushes import ExternalWrench, Impulse
    from vitree.run.controller import Control, Controller
    from vitree.run.gradient import Gradient, Perturbation
    from vitree.run.linearization import Linearization


#: What writes the formats that are not those of save(), by the endings of the files.
_NOT_SAVED = {".csv": "to_csv(path)", ".nc": "to_netcdf(path)", ".mcap": "to_mcap(path)",
              ".json": "vitree.run.trajectory.convert(run, path)"}  # fmt: skip
#: Why arguments of simulate() are not those of resume().
_OF_THE_RUN = dict.fromkeys(
    ("dt", "method", "order", "solver", "tolerance", "guess", "q0", "v0", "p0", "t0"),
    "a resumed run keeps method, dt and options; to change them, start a run at q0=run.q[-1], p0=run.p[-1], "
    "t0=run.t[-1]",
)


# ---- warnings of a run: what was odd about it, in sentences. A Trajectory and its file keep them -----------


#: How far a joint may be beyond a limit without a word [m or rad], and how many joints are named.
BEYOND, NAMED = 1e-9, 6
#: What a warning of limits says in the end.
OF_LIMITS = (
    'To enforce limits, read or build the robot with limits="enforce"; limits="ignore" suppresses this warning.'
)
WINDS = "A rope winds by less than a full turn; tie it to the pulley where it winds up, as to a drum."
#: A step that moves a coordinate farther [m or rad], so many times as far as at the start, is one of no sound run.
LEAP, FASTER = 1e4, 1e4
#: The same of one at any start: seven times the distance of the sun.
NO_MOTION = 1e12
#: What else than a smaller step serves.
OR_IMPLICIT = ', or a method that solves for damping and drives: method="midpoint".'
#: What a warning of velocity limits says in the end.
OF_SPEEDS = (
    'Velocity limits are not enforced; velocity_limits="enforce" does, and the effort of a drive with '
    'velocity_limit= vanishes at that speed. limits="ignore" suppresses this warning.'
)
#: Largest share of the velocity that the last term of a Gauss step's polynomial may have.
UNRESOLVED = 0.1
#: [m/s] a residual of contacts that is not worth a warning
NEGLIGIBLE = 1e-9
#: How many nodes are looked at together for bodies that pass others.
CHUNK = 500
#: Share of the largest kinetic energy by which no sound run of a conservative system changes its energy.
EXPLODED = 0.5
#: Share of the largest kinetic energy up to which a drift of the energy beyond its band is not told.
DRIFT = 0.03
#: Share of it up to which a growth of the energy by compliant shapes is not told, and the overlap [m] of rigid ones.
SPRINGS, NO_OVERLAP = 0.01, 1e-6
#: What rounding moves bodies by that are at rest, at most [m].
PICOMETRE = 1e-12
#: Below this share of the largest multiplier and of the momentum over dt, and this many times the residual over dt, a
#: multiplier has no sign.
NO_FORCE, OF_RESIDUAL = 1e-9, 10.0
#: What a warning of a distance that pulls and pushes says in the end.
OF_RODS = (
    "A vt.Distance is a rigid rod, which also carries compression; a string would be slack there. If a rod is meant, "
    "nothing needs to be changed. There is no constraint that carries tension only."
)


def halving_warnings(
    count: int, between: tuple[float, float] | None, steps: int, remedy: Callable[[], str]
) -> list[str]:
    """Say how many steps of a run were taken in halves, and when [s] the first and the last of them began.

    ``remedy`` is asked for what else than a smaller step serves.
    """
    if between is None:
        return []
    when = f"at t = {between[0]:.9g} s" + (f", the last at t = {between[1]:.9g} s" if count > 1 else "")
    return [
        f"{count} of {steps} steps could not be solved at their full length and were taken in halves, the first "
        f"{when}. The energy of such a run may drift, and its errors are those of a variable step. Use " + remedy()
        + "a smaller dt."
    ]


def inexact_warnings(found: tuple[int, float, float, float] | None, steps: int) -> list[str]:
    """Say in how many steps contacts kept a residual, the largest [m/s], and when [s] the first and the last began."""
    if found is None or found[1] <= NEGLIGIBLE:
        return []
    count, most, first, last = found
    when = f"at t = {first:.9g} s" + (f", the last at t = {last:.9g} s" if count > 1 else "")
    return [
        f"in {count} of {steps} steps the impulses do not satisfy the laws of contact and friction to the tolerance; "
        f"the residual is at most {most:.2g} m/s. The first began {when}. Contacts that are jammed do this; use a "
        "smaller dt, less friction, or contacts with stiffness= and damping=."
    ]


def resolution_warnings(found: tuple[float, float] | None, dt: float, order: int) -> list[str]:
    """Say that steps of dt [s] of a Gauss method are too long: when [s] the worst began, and its share eta."""
    if found is None:
        return []
    when, eta = found
    # eta falls with the power s - 1 of the step, s = order/2 stages
    enough = dt * min((0.5 * UNRESOLVED / eta) ** (1.0 / max(order // 2 - 1, 1)), 0.5)
    return [
        f"dt is too large: in the step at t = {when:.9g} s the polynomial of the step does not resolve the velocities "
        f"(eta = {eta:.2g}; it should be at most {UNRESOLVED:g}). Use dt = {enough:.1g} or smaller. Discontinuous "
        "forces, such as friction that changes sign, have the same effect in single steps."
    ]


def energy_warnings(energies: np.ndarray, stiff: Callable[[], bool], weight: float = 0.0) -> list[str]:
    """Say that the energy of a conservative system changes too much; rows of energies (n, ...) at the records [J].

    ``stiff`` is asked whether springs are why, which the method could solve for. Of a weight [N] at rest at the height
    zero all of the energy is rounding.
    """
    kinetic, total = energies[:, 0], energies[:, 0] + energies[:, 1]
    sound = np.isfinite(total)
    if not sound.any():
        return []
    kinetic, total = kinetic[sound], total[sound]
    change, rounding = np.abs(total - total[0]).max(), 1e-9 * np.abs(energies[sound, 1]).max() + PICOMETRE * weight
    if change <= EXPLODED * kinetic.max() or change <= rounding:
        return []
    return [
        f"The energy changes by up to {change:.3g} J, more than half of the largest kinetic energy, "
        f"{kinetic.max():.3g} J, though nothing drives or damps the motion. The steps are too long for it: use a "
        "smaller dt" + (', or springs="averaged", which solves for the springs.' if stiff() else ".")
    ]


def conservation_warnings(energies: np.ndarray, stiff: Callable[[], bool], weight: float, symplectic: bool,
                          raises_order: bool) -> list[str]:  # fmt: skip
    """Say where the energy of a conservative system is not conserved, as the method would have it.

    The arguments are those of :func:`energy_warnings` and, of a ``symplectic`` method, of :func:`drift_warnings`.
    """
    return energy_warnings(energies, stiff, weight) or (
        drift_warnings(energies, None, weight, raises_order) if symplectic else []
    )


def growth_warnings(energies: np.ndarray, work: np.ndarray, strikes: bool, weight: float = 0.0) -> list[str]:
    """Say that the energy grows by more than the work of what acts.

    Parameters
    ----------
    energies : (n, ...) array [J]
        At the records: kinetic, then potential.
    work : (n,) array [J]
        What drives and torques have given up to each record, at most; all else takes energy.
    strikes : bool
        Whether contacts and limits may hold the motion at a record, so that its energy is less than that behind it.
    weight : float [N]
        Of all bodies: what is at rest at the height zero has no energy but rounding errors.
    """
    total = energies[:, 0] + energies[:, 1]
    sound = np.isfinite(total) & np.isfinite(work)
    if not sound.any():
        return []
    kinetic, total, work = energies[sound, 0], total[sound], work[sound]
    unexplained = total - work
    since_start = float((unexplained - unexplained[0]).max())
    # what damping took does not come back
    growth = since_start if strikes else float((unexplained - np.minimum.accumulate(unexplained)).max())
    size = max(float(kinetic.max()), float(np.abs(work).max()))
    rounding = 1e-9 * max(float(np.abs(energies[sound, 1]).max()), float(np.abs(work).max())) + PICOMETRE * weight
    if (since_start <= EXPLODED * size and growth <= 2 * EXPLODED * size) or growth <= rounding:
        return []
    return [
        f"The energy grows by {growth:.3g} J more than the work done on the system; the largest kinetic energy is "
        f"{kinetic.max():.3g} J. The steps are too long for the motion, its damping or its drives. Use a "
        "smaller dt" + OR_IMPLICIT
    ]


def overlap_warnings(energies: np.ndarray, work: np.ndarray, contacts: Callable[[], ContactLog | None]) -> list[str]:
    """Say that places of contact of compliant shapes come and go with the energy of their springs.

    Parameters
    ----------
    energies : (n, ...) array [J]
        At the records: kinetic, then potential.
    work : (n,) array [J]
        As for :func:`growth_warnings`.
    contacts : callable
        Returns their log, or None.
    """
    unexplained = energies[:, 0] + energies[:, 1] - work
    growth, largest = float((unexplained - unexplained[0]).max()), float(energies[:, 0].max())
    log = contacts() if growth > SPRINGS * largest else None
    if log is None or log.nodes is None or log.nodes.facets is None:
        return []
    overlap = -float(log.gap[log.nodes.facets.any(axis=1)].min(initial=0.0))
    if overlap <= NO_OVERLAP:
        return []
    return [
        f"The energy grows by {growth:.3g} J while compliant shapes overlap by up to {overlap:.2g} m; the largest "
        f"kinetic energy is {largest:.3g} J. Where shapes with edges overlap by more than about 2 % of their size, "
        "places of contact come and go with the energy of their springs. Use a larger stiffness= with a smaller dt, or "
        "spheres or points in the place of these shapes."
    ]


def drift_warnings(energies: np.ndarray, work: np.ndarray | None, weight: float = 0.0,
                   raises_order: bool = False) -> list[str]:  # fmt: skip
    """Say that the energy of a symplectic method leaves the band in which it oscillates, in a run of many oscillations.

    Parameters
    ----------
    energies : (n, ...) array [J]
        At the records: kinetic, then potential.
    work : (n,) array or None [J]
        What drives and torques have given up to each record, at most; None if the energy is conserved.
    weight : float [N]
        Of all bodies, as for :func:`growth_warnings`.
    raises_order : bool
        Whether the method has an option ``order`` above that of the run.
    """
    kinetic, total = energies[:, 0], energies[:, 0] + energies[:, 1] - (0.0 if work is None else work)
    sound = np.isfinite(total)
    kinetic, total = kinetic[sound], total[sound]
    least = DRIFT * max(kinetic.max(initial=0.0), 0.0 if work is None else np.abs(work[sound]).max(initial=0.0))
    least = max(least, 1e-9 * np.abs(energies[sound, 1]).max(initial=0.0) + PICOMETRE * weight)
    if not len(total) or np.ptp(total) <= least:
        return []
    drift = drift_beyond_band(kinetic, total, climbs_only=work is not None)
    if drift is None or abs(drift.size) <= max(least, drift.band):
        return []
    size, way = abs(drift.size), "climbs" if drift.size > 0 else "sinks"
    return [
        ("The energy " if work is None else "The energy less the work done on the system ")
        + f"{way} by {size:.3g} J, {100.0 * size / kinetic.max():.2g} % of the largest kinetic energy, beyond the band "
        f"of {drift.band:.2g} J in which it oscillates"
        + (", though nothing drives or damps the motion. " if work is None else ". ")
        + "The steps are too long for the fastest parts of the motion: use a smaller dt"
        + (", or order=4." if raises_order else ".")
    ]


def leap_warnings(dt: float, v: np.ndarray) -> list[str]:
    """Say that velocities (n, nv) at records have come to be absurd, whatever drives the motion."""
    with np.errstate(invalid="ignore", over="ignore"):
        speed = np.abs(v).max(axis=1, initial=0.0)
    speed = speed[np.isfinite(speed)]
    if not len(speed) or not speed.max() * dt > LEAP:
        return []
    if not (speed.max() > FASTER * speed[:2].max() or speed.max() * dt > NO_MOTION):
        return []
    return [
        f"A coordinate moves by {speed.max() * dt:.3g} m or rad in one step, and at the start by "
        f"{speed[:2].max() * dt:.3g}: the run has diverged, because its steps are too long. Use a smaller dt"
        + OR_IMPLICIT
    ]


def contact_warnings(model: System, t: np.ndarray, q: np.ndarray, nodes: bool) -> list[str]:
    """Say which contacts meet nothing, and what has passed others in one step, at records q (n, nq).

    ``nodes`` says whether the records have all nodes.
    """
    if not (isinstance(model, Model) and any(isinstance(each, Contact) for each in model.contacts)):
        return []
    idle, found = model._idle_contacts, model.contact_candidates
    told = [f"C{idle_text(idle)[1:]}."] if idle else []
    if nodes and len(found.pair) + len(found.facing):
        told += _passing_warnings(model, found, t, q)
    return told


def distance_warnings(run: Trajectory) -> list[str]:
    """Say which distances are in tension and in compression in one run, with records and a system."""
    constraints, t, multipliers = run.system.constraints if run.system else (), run.t, run.multipliers
    of = [k for k, each in enumerate(constraints) if isinstance(each, Distance)]
    if not of or not len(t) or multipliers.shape[1] != len(constraints):
        return []
    force, momentum, residual = (np.where(np.isfinite(x), x, 0.0) for x in (multipliers, run.p, run.residual))
    a_step = NO_FORCE * np.abs(momentum).max(initial=0.0) + OF_RESIDUAL * residual.max()
    least = max(NO_FORCE * np.abs(force).max(), a_step / run.dt if run.dt > 0 else 0.0)
    pushes, pulls = force > least, force < -least
    told = []
    for k in of:
        if pushes[:, k].any() and pulls[:, k].any():
            first = t[pushes[:, k].argmax()]
            told.append(f"The {constraints[k].name} is in tension and in compression: it pushes with up to "
                        f"{force[:, k].max():.3g} N, first in the record at t = {first:.6g} s. " + OF_RODS)  # fmt: skip
    return told


def _passing_warnings(model: Model, found: Candidates, t: np.ndarray, q: np.ndarray) -> list[str]:
    """Say which bodies have passed others between two nodes."""
    names = [contact.name for contact in model.contacts]
    for first in range(0, len(q) - 1, CHUNK):
        steps = passes(found, model._pose_rows(np.ascontiguousarray(q[first : first + CHUNK + 1])))
        if not len(steps):
            continue
        step, pair = steps[0].tolist()
        a, b = sources_of_pair(found, pair)
        length = t[first + step + 1] - t[first + step]
        return [f"The {names[a]} passes through the {names[b]} in one step of {length:.3g} s, at t = "
                f"{t[first + step]:.6g} s: contacts are detected at the ends of steps only. Use a smaller dt, so "
                "that a body moves by less than the thickness of the obstacle in a step."]  # fmt: skip
    return []


def beyond_limits(limited: Limited | None, x: np.ndarray) -> np.ndarray | None:
    """Return how far rows x (n, ...) of q or v are beyond limits, (n, k), in units of x; None if none is."""
    if limited is None:
        return None
    x = x[:, limited.place]
    beyond = np.maximum(x - limited.upper, limited.lower - x)
    return beyond if (beyond > BEYOND).any() else None


def winding_warnings(model: System, t: np.ndarray, q: np.ndarray) -> list[str]:
    """Say which ropes wound so far around a pulley between records that their path jumped, and when [s] first."""
    if not isinstance(model, Model) or not any(isinstance(each, Rope) for each in model.unilateral):
        return []
    told, full = [], model.full
    rows = model.expand(np.ascontiguousarray(q))
    for rope in (each for each in model.unilateral if isinstance(each, Rope)):
        for k, pulley in enumerate(rope.points):
            if not isinstance(pulley, Pulley) or pulley.axis is None or pulley.turn is pulley.side is None:
                continue
            angles = _polar_angles(full, rows, rope, k, pulley)
            if pulley.turn is not None:
                angles = (pulley.turn * (angles[1] - angles[0]) % (2 * np.pi))[None]
            jumped = np.abs(np.diff(angles, axis=1)).max(axis=0) > np.pi
            if jumped.any():
                what = "a full turn" if pulley.turn is not None else "the ray away from its side"
                told.append(
                    f"The {rope.name} passed {what} around the {pulley.name}, first at "
                            f"t = {t[1 + int(jumped.argmax())]:.6g} s: its path is another one from there on. " + WINDS
                )  # fmt: skip
    return told


def _polar_angles(model: Model, q: np.ndarray, rope: Rope, k: int, pulley: Pulley) -> np.ndarray:
    """Return the angles (2, n) of the points before and behind a pulley, about its axis, from the ray to its side."""
    def places(name: str) -> np.ndarray:
        return np.tile(np.eye(4), (len(q), 1, 1)) if name == "world" else model.frame_pose(name, q)

    X = places(pulley.frame)
    axis, middle = np.array(pulley.axis), np.array(pulley.position)
    side = turn_z_to(axis)[:, 0] if pulley.side is None else np.array(pulley.side) - middle
    found = []
    for other in (k - 1, k + 1):
        Y = places(rope.frames[other])
        world = Y[:, :3, :3] @ np.array(rope.offsets[other]) + Y[:, :3, 3]
        at = np.einsum("nji,nj->ni", X[:, :3, :3], world - X[:, :3, 3]) - middle
        found.append(np.arctan2(at @ np.cross(axis, side), at @ (side - (side @ axis) * axis)))
    return np.array(found)


def limit_warnings(model: System, t: np.ndarray, q: np.ndarray, v: Callable[[], np.ndarray] | None = None) -> list[str]:
    """Say which joints are beyond their limits at the records: by how much at most, and when [s] for the first time.

    ``v`` is asked for the velocities (n, nv), if there are limits of these.
    """
    if not isinstance(model, Model):
        return []
    told = _limit_warning("limit", model.limited_coordinates, t, q, OF_LIMITS)
    if v is not None and model.limited_velocities is not None:
        told += _limit_warning("velocity limit", model.limited_velocities, t, v(), OF_SPEEDS)
    return told


def _limit_warning(what: str, limited: Limited | None, t: np.ndarray, x: np.ndarray, remedy: str) -> list[str]:
    """Say which limits rows x (n, ...) exceed."""
    beyond = beyond_limits(limited, x)
    if beyond is None or limited is None:
        return []
    most, first = beyond.max(axis=0), (beyond > BEYOND).argmax(axis=0)
    share = most / np.maximum(limited.upper - limited.lower, BEYOND)  # of the range between the limits, if it ends
    worst = [k for k in np.lexsort((-most, -share)).tolist() if most[k] > BEYOND]
    parts = []
    for k in worst[:NAMED]:
        high = x[beyond[:, k].argmax(), limited.place[k]] > limited.upper[k]
        bound, unit = (limited.upper if high else limited.lower)[k], limited.units[k]
        when = f"first at t = {t[first[k]]:.6g} s" if first[k] else "from the start"
        parts.append(f'"{limited.names[k]}" exceeds {bound:.6g} {unit} by {most[k]:.3g} {unit}, {when}')
    count, more = len(worst), f"; and {len(worst) - NAMED} more" if len(worst) > NAMED else ""
    exceeds = f" exceeds its {what}" if count == 1 else f"s exceed their {what}s"
    return [f"{count} joint{exceeds}: {'; '.join(parts)}{more}. " + remedy]


# ---- trajectory: the records of a run, with names and units; saved to and loaded from one file -------------


class Trajectory(Recording):
    """The recorded states of one run.

    All arrays are read-only: ``traj.q.copy()`` is one's own.

    ``traj[5]`` is one :class:`vitree.results.recording.State`, ``traj[::10]`` (or an array of indices) a shorter
    trajectory, ``traj.at(0.5)`` the state at a time, ``traj.nearest(0.5)`` the record nearest to
    it. Counts and seconds stay those of the whole run.

    Attributes
    ----------
    model_name, method : str
    joint_names, q_names, v_names : tuple of str
    settings : dict
        Method, options and steps of the run, in types that JSON knows.
    t : (n,) [s]
    q : (n, nq), v : (n, nv), p : (n, nv)
        Configuration, velocity and momentum.
    kinetic, potential : (n,) [J]
    momentum : (n, 6)
        Angular about the world's origin [kg m^2/s], then linear [kg m/s]; world axes.
    iterations : (n,) int
        Corrections of the step that ended at the record; zero at the start.
    residual : (n,)
        Largest residual of that step's equations when it ended, in units of p.
    constraint : (n, m) [m or rad]
        Values h(q) of the constraints of ``constraint_names``; zero if they hold. A weld or joint that holds turned
        has about 2 here.
    multipliers : (n, m) [N or N m]
        The constraints act on the joints with the force Dh(q)^T multipliers. A variational method reports the force
        at the start of the step that ends at the record; NaN at the start of the run.
    iterations_total, iterations_max, steps : int
        Over all steps, recorded or not.
    seconds : float
        Time spent stepping [s].
    monitors : dict of str to (steps, ...) array
        The quantities of ``simulate(monitors=)``, a row for each step, recorded or not, and ``t``, the ends of the
        steps; units as in ``vitree.run.monitors.MONITORS``.
    contacts : ContactLog or None
        The contacts of the steps that led to the records, of a model that may touch.
    checkpoint : (bytes,) array
        The state from which ``simulate(resume=)`` goes on; empty if the last record is not the run's end.
    system : System or None
        The system that was simulated; not kept in files.
    film : Film or None
        Pictures for a viewer, of a run from a file.
    about : dict or None
        Facts about the system, of a run from a file; see :func:`vitree.results.units.about`.
    drive : Driven or None
        What drove the run, at its records: ``torque`` (n, nv) [N or N m], ``inputs`` (n, nu) and ``accelerations``
        (n, nv) of prescribed coordinates [m/s^2 or rad/s^2], each None without any; of the model with a coordinate for
        each joint. NaN at a record where a function raises an error.
    stages : (n - 1, nv, s) array or None [m/s or rad/s]
        Of ``simulate(dense=True)``: velocities of the stages of each step, of turns the rates of its chart; NaN of a
        step that was taken in parts.
    halves : (m, k) array or None
        Of steps that were taken in halves: rows of t, q, v and p (k = 1 + nq + 2 nv) of the states between their parts,
        in the order of time; units as of these.

    Raises
    ------
    InputError
        If an array has another shape than the names say.
    """

    #: What goes on from the end of a run; vitree.run.simulate, which imports this module, sets it.
    _resumed: ClassVar[Callable[..., Trajectory]]

    @property
    def dt(self) -> float:
        """The step [s]: the mean of steps that differ, the step at rest of steps that adapt; NaN if unknown."""
        return float(self.settings.get("dt", np.nan))

    @property
    def warnings(self) -> tuple[str, ...]:
        """What was odd about the run, in sentences: steps in halves, too much energy, limits passed, rods that push."""
        told = self.settings.get("warnings", ())
        own = vars(self)
        if "_of_records" not in own:  # they take longer than a short run
            own["_of_records"] = tuple(self._odd_records())
        return tuple(dict.fromkeys([*told, *own["_of_records"]]))

    def _odd_records(self) -> list[str]:
        system = self.system
        if system is None:
            return []
        steps = self.settings.get("record_every") == 1 and bool((np.diff(self.t) < 1.5 * self._longest_step).all())
        steps = steps and not any(change.of_model for change in self.changes)  # others may pass each other before
        return contact_warnings(system.full, self.t, self._q_of_all(), steps) + distance_warnings(self)

    @property
    def changes(self) -> tuple[Change, ...]:
        """What was changed within the run, and the runs that it goes on from, by a :class:`vitree.Simulation`."""
        return changes_of(self.settings)

    @property
    def _longest_step(self) -> float:
        return float(self.settings.get("dt_range", [self.dt])[-1])

    def _q_of_all(self) -> np.ndarray:
        system = self.system
        return system.expand(self.q) if isinstance(system, Model) and system.full is not system else self.q

    def __repr__(self) -> str:
        count = len(self.warnings)
        told = f", {count} warning{'s' * (count > 1)}: .warnings>" if count else ">"
        return super().__repr__().removesuffix(">") + told

    def __getstate__(self) -> dict[str, object]:
        """Return all attributes; for a system that cannot be pickled, the facts that a file keeps about it."""
        state = super().__getstate__()
        try:
            pickle.dumps(self.system)
        except Exception:  # a load may hold anything, such as a lambda
            from vitree.results.filming import film_of
            from vitree.results.units import about

            told = {"warnings": list(self.warnings)} if self.warnings else {}
            state |= {"system": None, "about": about(self), "settings": {**self.settings, **told}}
            with contextlib.suppress(InputError):
                state["film"] = film_of(self)
        return state

    @explain_calls
    def save(self, path: str | os.PathLike[str]) -> Path:
        """Write everything to the .npz file ``path``, at once or not at all, and return where it is.

        Raises
        ------
        InputError
            If the file cannot be written, or its ending is that of another format, such as .csv.
        """
        from vitree.results import files

        ending = path_of(path).suffix.lower()
        if ending in _NOT_SAVED:
            raise InputError("path", path, f"ends in {ending}, and save() writes .npz; use {_NOT_SAVED[ending]}")
        return files.write(self, path)

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Self:
        """Return the trajectory that :meth:`save` wrote to the file ``path``.

        Raises
        ------
        InputError
            If the file is missing, damaged, of another kind or of a later format.
        """
        from vitree.results import files

        return files.read(path, cls)

    @explain_calls_with(_OF_THE_RUN)
    def resume(
        self, duration: float, *, control: Control | Controller | Torque = None,
        wrenches: Iterable[ExternalWrench | Impulse] = (), record_every: int = 1,
        monitors: str | Iterable[str] = (), dense: bool = False, progress: Callable[[int, int], object] | None = None,
        model: System | None = None,
    ) -> Trajectory:  # fmt: skip
        """Go on from the end of this run, bit for bit as if it had not stopped.

        Method, step and options are those of this run. What drives it is given again, with rows from here on; impulses
        and wrenches of this run can be given again.

        Parameters
        ----------
        duration : float [s]
            Time to simulate from the end of this run on, a whole number of steps.
        control, wrenches, record_every, monitors, dense, progress :
            As of :func:`vitree.simulate`. Where this run had a control, one must be given; ``vt.Control()`` is none.
        model : System, optional
            The model, for a run read from a file, which does not keep it.

        Returns
        -------
        Trajectory
            From the end of this run on.

        Raises
        ------
        InputError
            If an argument is wrong, the model is another one, or the run cannot go on: runs by SciPy's methods, parts
            of runs, and runs whose steps differed have no checkpoint.
        ConvergenceError, CallableError
            As of :func:`vitree.simulate`.
        """
        given = locals()
        return self._resumed(given.pop("self"), given.pop("model"), given)

    def linearize(self, control: Control | ArrayLike | None = None) -> Linearization:
        """Return the derivatives of each step, of a run by linear-time or midpoint that records each step.

        At order 4, 6 and 8 the torque and the inputs must be constant over each step.

        Parameters
        ----------
        control : Control, optional
            That of the run, whose inputs and targets are numbers or rows as :func:`vitree.simulate` takes them. Drives
            with limits, and loads with inputs, need it.

        Returns
        -------
        Linearization
            With arrays (steps, ...).

        Raises
        ------
        InputError
            If the run is of another method, or its steps are not all recorded, or forces acted that are not
            linearized.
        ModelError
            If the model has a part that is not linearized; the text names it.
        """
        from vitree.run.linearization import linearize_run

        return linearize_run(self, control)

    def gradient(
        self, by_q: ArrayLike | None = None, by_p: ArrayLike | None = None, by_v: ArrayLike | None = None, *,
        parameters: Mapping[str, str | Iterable[str]] | None = None, control: Control | ArrayLike | None = None,
    ) -> Gradient:  # fmt: skip
        """Return the gradient of a number that depends on the records, by all that the run depends on.

        One sweep from the end to the start finds it, for the time of a few runs, however much it is derived by.

        Parameters
        ----------
        by_q, by_p, by_v : (records, nv) array, optional
            The derivatives of the number by displacements of the configurations, by the momenta and by the
            velocities of the records, in units of the number over theirs; zero if not given.
        parameters : mapping of kind to name or names, optional
            The numbers of the model to derive by: "mass", "com", "inertia" of links, "damping", "friction", "armature"
            of joints, "gains" of drives, as ``{"mass": ["link1"]}``; and "gravity", whose names are ().
        control : Control, optional
            That of the run, as for :meth:`linearize`. Drives with limits, and gradients by gains, need it.

        Returns
        -------
        Gradient

        Raises
        ------
        InputError, UnknownNameError
            If an argument is wrong, or the run is one that :meth:`linearize` refuses.
        ModelError
            If the model has a part that is not linearized; the text names it.
        """
        from vitree.run.gradient import gradient_of

        return gradient_of(self, by_q, by_p, by_v, parameters, control)

    def variation(
        self, d: ArrayLike | None = None, dp: ArrayLike | None = None, *, dtorque: ArrayLike | None = None,
        dinputs: ArrayLike | None = None, dprescribed: ArrayLike | None = None,
        control: Control | ArrayLike | None = None,
    ) -> Perturbation:  # fmt: skip
        """Return what a small change of the start, of torques and of inputs makes of all records, to first order.

        One pass from the start to the end finds it; for many changes at once take :meth:`linearize`.

        Parameters
        ----------
        d : (nv,) array, optional [m or rad]
            A displacement of the configuration at the start, as ``model.integrate`` takes it. What is not given stays.
        dp : (nv,) array, optional [kg m/s or kg m^2/s]
            A change of the momentum there.
        dtorque : (steps, nv) array, optional [N or N m]
            Torques added, constant over each step.
        dinputs : (steps, nu) array, optional, in units of the inputs
            Changes of the inputs ``model.input_names``.
        dprescribed : (steps, k) array, optional [m or rad]
            Changes of the coordinates ``model.prescribed_joint_names`` at the ends of the steps.
        control : Control, optional
            That of the run, as for :meth:`linearize`.

        Returns
        -------
        Perturbation
            Displacements d and changes dp of the momenta, both (records, nv).

        Raises
        ------
        InputError
            If an argument is wrong, or the run is one that :meth:`linearize` refuses.
        ModelError
            If the model has a part that is not linearized; the text names it.
        """
        from vitree.run.gradient import variation_of

        return variation_of(self, d, dp, dtorque, dinputs, dprescribed, control)

    # ---- for other programs, and pictures ---------------------------------------------------------

    def to_pandas(self, contacts: bool = False) -> pandas.DataFrame:
        """Return the records, or the contacts, as one table; see :func:`vitree.results.export.to_pandas`."""
        from vitree.results import export

        return export.to_pandas(self, contacts)

    def to_xarray(self) -> xarray.Dataset:
        """Return a dataset with named dimensions and units; see :func:`vitree.results.export.to_xarray`."""
        from vitree.results import export

        return export.to_xarray(self)

    def to_netcdf(self, path: str | os.PathLike[str]) -> Path:
        """Write a NetCDF file; see :func:`vitree.results.export.to_netcdf`."""
        from vitree.results import export

        return export.to_netcdf(self, path)

    def to_csv(self, path: str | os.PathLike[str], contacts: bool = False) -> Path:
        """Write the records, or the contacts, as text in columns; see :func:`vitree.results.export.to_csv`."""
        from vitree.results import export

        return export.to_csv(self, path, contacts)

    def to_mcap(self, path: str | os.PathLike[str]) -> Path:
        """Write an MCAP file for Foxglove; see :func:`vitree.results.mcap.to_mcap`."""
        from vitree.results import mcap

        return mcap.to_mcap(self, path)

    def plot(self, what: str = "energy", path: str | os.PathLike[str] | None = None, **options: object) -> Figure:
        """Draw one of ``vitree.plot.PLOTS``; return the matplotlib figure, saved to ``path``.

        Parameters
        ----------
        what : str
            A name of ``vitree.plot.PLOTS``: energy, energy_error, momentum, coordinates, phase, constraint, iterations,
            residual, contact_forces, gap, center_of_pressure.
        path : path, optional
            File to write (.png, .pdf, .svg ...); see :func:`vitree.plot.save`.
        **options
            Of the plot.

        Returns
        -------
        matplotlib Figure

        Raises
        ------
        MissingExtraError
            If matplotlib is not installed (extra "plot").
        UnknownNameError
            If there is no such plot.
        InputError
            If there is nothing to draw, or the file cannot be written.
        """
        from vitree.plot import figure_of, save

        figure = figure_of(what, self, **options)
        if path is not None:
            save(figure, path)
        return figure


class Later:
    """The source of a trajectory that ``make`` returns, which is called when a field is first asked for."""

    def __init__(self, make: Callable[[], Trajectory]):
        self._make, self._turn = make, threading.Lock()

    def __getattr__(self, name: str) -> Any:
        with self._turn:
            if "_made" not in vars(self):
                self._made = self._make()
        return getattr(self._made, name)


def sound_records(traj: Trajectory) -> int:
    """Return how many records come before the first that is not finite."""
    values = np.column_stack([traj.q, traj.v, traj.kinetic, traj.potential])
    bad = np.flatnonzero(~np.isfinite(values).all(axis=1))
    return int(bad[0]) if len(bad) else len(traj)


# ---- convert(): a run as a file of any format --------------------------------------------------------------


#: Ending of a file -> function that writes it.
_WRITERS = {
    ".npz": Trajectory.save, ".nc": export.to_netcdf, ".csv": export.to_csv, ".json": export.to_json,
    ".mcap": mcap.to_mcap,
}  # fmt: skip
#: Ending of a file -> parts of a run that the format does not hold.
LEFT_OUT = {
    ".npz": "",
    ".nc": "pictures and the checkpoint",
    ".csv": "settings, monitors, single contacts, pictures and the checkpoint",
    ".json": "pictures and the checkpoint",
    ".mcap": "the checkpoint",
}


def convert(traj: Trajectory, path: str | os.PathLike[str], contacts: bool = False) -> Path:
    """Write a trajectory to a file, at once or not at all, in the format of its ending: .npz, .nc, .csv, .json, .mcap.

    Parameters
    ----------
    traj : Trajectory
    path : path
    contacts : bool
        Write the contacts, one row each, in place of the records; .csv only.

    Returns
    -------
    Path

    Raises
    ------
    MissingExtraError
        If a package that the format needs is not installed.
    InputError
        If the ending is of no known format, or the file cannot be written, or there are no contacts.
    """
    ending = Path(path).suffix.lower()
    if ending not in _WRITERS:
        raise InputError(f'{path} has the ending "{ending}"; a run is written as one of {", ".join(_WRITERS)}')
    if contacts:
        if ending != ".csv":
            raise InputError(
                f"{path}: a table of contacts is written as .csv; contacts= is for that, and other formats have them "
                "beside the records"
            )  # fmt: skip
        return export.to_csv(traj, path, contacts=True)
    return _WRITERS[ending](traj, path)
