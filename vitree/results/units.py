"""Units and names of the columns of runs."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Sequence

import numpy as np

from vitree.arguments import JsonObject
from vitree.results.plain import versions
from vitree.results.recording import Recording

#: Units of q and v by the kind of a joint with one coordinate; the coordinate of a helical joint is its angle.
_OF_KIND = {"revolute": ("rad", "rad/s"), "helical": ("rad", "rad/s"), "prismatic": ("m", "m/s")}
#: Units of q and v by the last part of a name, of free and ball joints and of vehicles.
_OF_PART = (
    dict.fromkeys("xyz", "m") | dict.fromkeys(("qx", "qy", "qz", "qw"), "1") | {"theta": "rad"},
    dict.fromkeys(("vx", "vy", "vz"), "m/s") | dict.fromkeys(("wx", "wy", "wz", "omega"), "rad/s"),
)
_OF_MOMENTUM = {"rad/s": "kg m^2/s", "1/s": "kg m^2/s", "m/s": "kg m/s"}
#: The columns of momentum, and their units.
PARTS = {f"{kind}.{axis}": unit for kind, unit in (("angular", "kg m^2/s"), ("linear", "kg m/s")) for axis in "xyz"}
#: The columns of the monitor "certificate", and their units.
CERTIFICATE = {"turn": "rad", "distance": "1"}
#: Units of the other columns, and of the monitors with the same names.
UNITS = {
    "kinetic": "J", "potential": "J", "energy": "J", "iterations": "1", "residual": "kg m/s or kg m^2/s",
    "constraint": "m or rad", "multiplier": "N or N m", "contraction": "1", "drive_forces": "N or N m",
    "gap": "m", "contact_work": "J",
}
#: The columns of three numbers of the table of contacts, and their units.
CONTACT = {"point": "m", "normal": "1", "impulse": "N s", "force": "N", "slip": "m/s"}  # fmt: skip
#: The same of torsional and rolling friction.
TURNING = {"angular_impulse": "N m s", "torque": "N m", "angular_slip": "rad/s"}


def units_of(traj: Recording) -> dict[str, tuple[str, ...]]:
    """Return the unit of each entry of q, v and p; "1" for a number without one.

    A trajectory without a system does not know which joints turn and which slide. Its units say "rad or m".

    Parameters
    ----------
    traj : Trajectory

    Returns
    -------
    dict
        "q": (nq,), "v": (nv,), "p": (nv,) tuples of str.
    """
    known = about(traj)
    return _units(traj) if known is None else known["units"]


def about(traj: Recording) -> JsonObject | None:
    """Return facts about the system that was simulated. They are the same before a run is saved and after it is loaded.

    Parameters
    ----------
    traj : Trajectory

    Returns
    -------
    dict or None
        ``units`` of the entries of q, v and p; ``gravity`` in world axes, a list of 3 float [m/s^2]; ``total_mass``
        [kg]; ``is_free_floating``, whether only gravity changes the momentum of the undriven system; ``conservative``,
        whether nothing changes its energy; ``is_dissipative``, whether damping and friction alone change it. None where
        the system is not known.
    """
    system = traj.system
    if system is None:
        return traj.about
    return {
        "units": _units(traj), "gravity": system.gravity.tolist(), "total_mass": float(system.total_mass),
        "is_free_floating": bool(system.is_free_floating), "conservative": bool(system.is_conservative),
        "is_dissipative": bool(system.is_dissipative),
    }  # fmt: skip


def _units(traj: Recording) -> dict[str, tuple[str, ...]]:
    """Return the units by the names, and by the kinds of the joints if the system is known."""
    kinds = {joint.name: joint.kind for joint in traj.system.joints} if traj.system is not None else {}
    shape = dict(getattr(traj.system, "shape_units", {}))

    def unit(name: str, rate: int) -> str:
        joint, _, part = name.rpartition(".")
        if name in shape:
            return f"{shape[name]}/s" if rate else shape[name]
        if kinds.get(name) in _OF_KIND:
            return _OF_KIND[kinds[name]][rate]
        # The name ends in a part of a joint, or it is a coordinate of a vehicle that is no joint.
        if part in _OF_PART[rate] and (joint in traj.joint_names if joint else name not in traj.joint_names):
            return _OF_PART[rate][part]
        return ("rad or m", "rad/s or m/s")[rate]

    v = tuple(unit(name, 1) for name in traj.v_names)
    p = tuple(_OF_MOMENTUM.get(rate, "kg m^2/s or kg m/s") for rate in v)
    return {"q": tuple(unit(name, 0) for name in traj.q_names), "v": v, "p": p}


def distinct(names: Iterable[str]) -> tuple[str, ...]:
    """Return the names, with a number behind each repeated one; constraints may share a name.

    Parameters
    ----------
    names : names

    Returns
    -------
    tuple of str
    """
    seen: Counter[str] = Counter()
    found = []
    for name in names:
        seen[name] += 1
        found.append(f"{name} ({seen[name]})" if seen[name] > 1 else name)
    return tuple(found)


def labels_of(runs: Sequence[Recording], names: Sequence[str] | None = None) -> list[str]:
    """Return a label for each run: its method and time step; what is the same is told apart by more.

    Parameters
    ----------
    runs : sequence of Trajectory
    names : sequence of str, optional
        Names of the runs, such as those of their files, that stand before labels which would be the same.

    Returns
    -------
    list of str
        All differ.
    """

    def with_step(run: Recording) -> str:
        dt = run.settings.get("dt")
        return f"{run.method}, dt = {dt:g} s" if isinstance(dt, float | int) else run.method

    labels = [with_step(run) for run in runs]
    if len({run.model_name for run in runs}) > 1:
        labels = [f"{run.model_name}, {label}" for run, label in zip(runs, labels, strict=True)]
    seen = Counter(labels)
    options = [run.settings.get("options") or {} for run in runs]
    told = [", ".join([label, *(f"{key} = {value}" for key, value in each.items())]) if seen[label] > 1 else label
            for label, each in zip(labels, options, strict=True)]  # fmt: skip
    if names is not None:
        seen = Counter(told)
        told = [f"{name}: {label}" if seen[label] > 1 else label for name, label in zip(names, told, strict=True)]
    return list(distinct(told))


def columns(traj: Recording) -> dict[str, tuple[np.ndarray, str]]:
    """Return the columns of the records, each with its unit.

    Parameters
    ----------
    traj : Trajectory

    Returns
    -------
    dict of str to ((n,) array, str)
        ``t``, ``q.NAME``, ``v.NAME``, ``p.NAME``, ``kinetic``, ``potential``, ``energy``, ``momentum.angular.x`` to
        ``momentum.linear.z``, ``iterations``, ``residual``, ``constraint.NAME`` and ``multiplier.NAME``. Of frames that
        may touch ``contact.NAME.force.x`` to ``.z``, the force in the step to the record, and ``contact.NAME.center.x``
        to ``.z``, its centre of pressure, NaN where none pushes.
    """
    units, found = units_of(traj), {"t": (traj.t, "s")}
    for of, names in (("q", traj.q_names), ("v", traj.v_names), ("p", traj.v_names)):
        found |= {f"{of}.{name}": (getattr(traj, of)[:, k], units[of][k]) for k, name in enumerate(names)}
    found |= {name: (getattr(traj, name), UNITS[name]) for name in ("kinetic", "potential", "energy")}
    found |= {f"momentum.{part}": (traj.momentum[:, k], unit) for k, (part, unit) in enumerate(PARTS.items())}
    found |= {name: (getattr(traj, name), UNITS[name]) for name in ("iterations", "residual")}
    for k, name in enumerate(distinct(traj.constraint_names)):
        found[f"constraint.{name}"] = traj.constraint[:, k], UNITS["constraint"]
        found[f"multiplier.{name}"] = traj.multipliers[:, k], UNITS["multiplier"]
    for name in () if traj.contacts is None else traj.contacts.touching:
        for what, rows, unit in (("force", traj.contact_wrench(name)[:, 3:], "N"),
                                 ("center", traj.center_of_pressure(name), "m")):  # fmt: skip
            found |= {f"contact.{name}.{what}.{axis}": (x, unit) for axis, x in zip("xyz", rows.T, strict=True)}
    return found


def contact_columns(traj: Recording) -> dict[str, tuple[np.ndarray, str]]:
    """Return the columns of the contacts, one row each, with their units; "" for texts.

    Parameters
    ----------
    traj : Trajectory

    Returns
    -------
    dict of str to ((n,) array, str)
        ``t``, when the impulse acts, ``record``, ``a`` and ``b``, the two that touch, ``point.x`` to ``.z``, where it
        acts on a, ``normal.x``, ``impulse.x``, ``force.x``, ``slip.x`` and so on, and ``gap``, where the step ended. Of
        limits of joints impulse and force are of the joint and have one number. Where contacts have torsional or
        rolling friction ``angular_impulse.x``, ``torque.x`` and ``angular_slip.x`` to ``.z`` as well.

    Raises
    ------
    InputError
        If nothing may touch.
    """
    log = traj._contact_log()
    found: dict[str, tuple[np.ndarray, str]] = {"t": (traj.t[log.record] - log.dt, "s"), "record": (log.record, "1")}
    for name, k in (("a", 0), ("b", 1)):
        found[name] = np.array([pair[k] for pair in log.names], dtype=str)[log.number], ""
    rows = {name: getattr(log, name) for name in CONTACT if name != "point"} | {"point": log.point_a}
    for name, unit in CONTACT.items():
        found |= {f"{name}.{axis}": (rows[name][:, k], unit) for k, axis in enumerate("xyz")}
    for name, unit in TURNING.items() if log.turns else ():
        found |= {f"{name}.{axis}": (getattr(log, name)[:, k], unit) for k, axis in enumerate("xyz")}
    return found | {"gap": (log.gap, "m")}


def made(traj: Recording) -> dict[str, str | int | float]:
    """Return how the run was made: numbers, and text (JSON where it has parts)."""
    names = ("model_name", "method", "steps", "seconds", "iterations_total", "iterations_max")
    texts = {"settings": json.dumps(traj.settings), "versions": json.dumps(versions())}
    return {name: getattr(traj, name) for name in names} | texts
