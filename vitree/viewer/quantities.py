"""What the page of a run plots beside the scene, at POINTS times."""

from __future__ import annotations

import contextlib
from typing import NamedTuple

import numpy as np
from scipy.spatial.transform import Rotation

from vitree.errors import VitreeError
from vitree.model.model import Model
from vitree.results.drawing import WORLD
from vitree.results.film import Film
from vitree.viewer.curves import MOST
from vitree.viewer.groups import limbs
from vitree.viewer.source import Run, energies_of

#: The energies of all runs; the others are of the first run.
ENERGY = "change of energy [J]"


class Quantity(NamedTuple):
    """Curves: their names, and their values (n, points)."""

    names: tuple[str, ...]
    columns: np.ndarray


def quantities_of(runs: list[Run]) -> tuple[np.ndarray, dict[str, Quantity]]:
    """Return times (points,) [s], and the curves of each quantity by its name with the unit.

    They are the energies of all runs, and of the first its centre of mass, the force of the ground, joint forces given
    to it and forces of its drives, as far as it has them.
    """
    t, energies = energies_of(runs)
    found = {ENERGY: Quantity(tuple(run.label for run in runs), np.array(energies))}
    run = runs[0]
    film, traj = run.film, run.trajectory
    if len(film.t) < 2 or len(traj.t) < 2:
        return t, found
    if any(mass.body != WORLD for mass in film.drawing.masses):
        found["centre of mass [m]"] = Quantity(("x", "y", "z"), _at(t, film.t, _centres(film)))
    if traj.contacts is not None:
        with contextlib.suppress(VitreeError):
            found["force of the ground [N]"] = Quantity(("x", "y", "z"), _at(t, traj.t, traj.contact_wrench()[:, 3:]))
    drive = traj.drive
    if drive is not None and drive.torque is not None and drive.torque.any():
        found |= _grouped("joint forces [N m, N]", run, list(traj.v_names), _at(t, *_rows(traj.t, drive.torque)))
    model = traj.system
    if isinstance(model, Model) and model.drives:
        forces = traj.monitors.get("drive_forces")
        with contextlib.suppress(VitreeError):
            if forces is None:
                forces = _forces(model, run)
            if forces is not None:
                names = [each.joint for each in model.drives]
                found |= _grouped("drive forces [N m, N]", run, names, _at(t, *_rows(traj.t, forces)))
    return t, found


def _centres(film: Film) -> np.ndarray:
    """Return the centre of mass (n, 3) [m] of all that moves in each picture of a film."""
    masses = [mass for mass in film.drawing.masses if mass.body != WORLD]
    found = np.zeros((len(film.poses), 3))
    for mass in masses:
        pose = np.asarray(film.poses[:, mass.body], dtype=float)
        found += mass.mass * (pose[:, :3] + Rotation.from_quat(pose[:, 3:]).apply(mass.com))
    found /= sum(mass.mass for mass in masses)
    return found


def _forces(model: Model, run: Run) -> np.ndarray | None:
    """Return the forces of drives (records, n) at the records; None if their targets are not known."""
    traj = run.trajectory
    inputs = None if traj.drive is None else traj.drive.inputs
    if model.input_names and inputs is None:
        return None
    rows = np.arange(len(traj.t)) if inputs is None else np.minimum(np.arange(len(traj.t)), len(inputs) - 1)
    return np.array([model.drive_forces(traj.q[k], traj.v[k], inputs=None if inputs is None else inputs[rows[k]])
                     for k in range(len(traj.t))])  # fmt: skip


def _rows(t: np.ndarray, rows: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the times of rows, which are of all records, or of the steps that led to them."""
    rows = np.asarray(rows, dtype=float)
    return (t, rows) if len(rows) == len(t) else (t[-len(rows) :], rows)


def _at(t: np.ndarray, at: np.ndarray, rows: np.ndarray) -> np.ndarray:
    """Return rows (n, k) of times (n,) at other times, as curves (k, points)."""
    order = np.argsort(at, kind="stable")
    return np.array([np.interp(t, at[order], column[order]) for column in np.asarray(rows, dtype=float).T])


def _grouped(title: str, run: Run, names: list[str], columns: np.ndarray) -> dict[str, Quantity]:
    """Return quantities of at most MOST curves: by limbs, where there are many."""
    if len(names) <= MOST:
        return {title: Quantity(tuple(names), columns)}
    system = run.trajectory.system
    of = {} if system is None else limbs(system)
    groups: dict[str, list[int]] = {}
    for k, name in enumerate(names):
        groups.setdefault(of.get(name) or of.get(name.rpartition(".")[0], ""), []).append(k)
    found = {}
    for group, members in groups.items():
        for first in range(0, len(members), MOST):
            few = members[first : first + MOST]
            label = f"{title}: {group}" if group else title
            label = label if first == 0 else f"{label} ({first // MOST + 1})"
            found[label] = Quantity(tuple(names[k] for k in few), columns[few])
    return found
