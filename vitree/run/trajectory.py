"""Trajectory: the records of a run, with names and units; saved to and loaded from one file."""

from __future__ import annotations

import contextlib
import os
import pickle
import threading
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from vitree.errors import InputError
from vitree.results.recording import Recording
from vitree.run.oddities import contact_warnings, distance_warnings

if TYPE_CHECKING:
    import pandas
    import xarray

    from vitree.run.gradient import Gradient
    from vitree.run.linearized import Linearization
    from vitree.run.variation import Perturbation


class Trajectory(Recording):
    """The recorded states of one run.

    All arrays are read-only: ``traj.q.copy()`` is one's own.

    ``traj[5]`` is one :class:`State`, ``traj[::10]`` (or an array of indices) a shorter
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

    @property
    def dt(self) -> float:
        """The step [s]: the mean of steps that differ, the step at rest of steps that adapt; NaN if nobody knows."""
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
        steps = self.settings.get("every") == 1 and bool((np.diff(self.t) < 1.5 * self._longest_step).all())
        return contact_warnings(system.full, self.t, self._q_of_all(), steps) + distance_warnings(self)

    @property
    def _longest_step(self) -> float:
        return float(self.settings.get("dt_range", [self.dt])[-1])

    def _q_of_all(self) -> np.ndarray:
        system: Any = self.system
        return self.q if system is None or system.full is system else system.expand(self.q)

    def __repr__(self) -> str:
        count = len(self.warnings)
        told = f", {count} warning{'s' * (count > 1)}: .warnings>" if count else ">"
        return super().__repr__().removesuffix(">") + told

    def __getstate__(self) -> dict[str, Any]:
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

    def save(self, path: str | os.PathLike) -> Path:
        """Write everything to the .npz file ``path``, at once or not at all, and return where it is.

        Raises
        ------
        InputError
            If the file cannot be written.
        """
        from vitree.results import files

        return files.write(self, path)

    @classmethod
    def load(cls, path: str | os.PathLike) -> Self:
        """Return the trajectory that :meth:`save` wrote to the file ``path``.

        Raises
        ------
        InputError
            If the file is missing, damaged, of another kind or of a later format.
        """
        from vitree.results import files

        return files.read(path, cls)

    def linearize(self, inputs: Any = None, targets: Any = None) -> Linearization:
        """Return the derivatives of each step, of a run by linear-time or midpoint that records each step.

        At order 4, 6 and 8 the torque and the inputs must be constant over each step.

        Parameters
        ----------
        inputs, targets :
            Those of the run, numbers or rows as :func:`vitree.simulate` takes them. Drives with limits need them.

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
        from vitree.run.linearized import linearize_run

        return linearize_run(self, inputs, targets)

    def gradient(
        self, by_q: Any = None, by_p: Any = None, by_v: Any = None, *, parameters: Any = None, inputs: Any = None,
        targets: Any = None,
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
        inputs, targets :
            Those of the run, numbers or rows as :func:`vitree.simulate` takes them. Drives with limits need them, and
            gradients by gains.

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

        return gradient_of(self, by_q, by_p, by_v, parameters, inputs, targets)

    def variation(
        self, d: Any = None, dp: Any = None, *, dtorque: Any = None, dinputs: Any = None, dprescribed: Any = None,
        inputs: Any = None, targets: Any = None,
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
            Changes of the coordinates ``model.kinematic_names`` at the ends of the steps.
        inputs, targets :
            Those of the run, as for :meth:`linearize`.

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
        from vitree.run.variation import variation_of

        return variation_of(self, d, dp, dtorque, dinputs, dprescribed, inputs, targets)

    # ---- for other programs, and pictures ---------------------------------------------------------

    def to_pandas(self, contacts: bool = False) -> pandas.DataFrame:
        """Return the records, or the contacts, as one table; see :func:`vitree.results.export.to_pandas`."""
        from vitree.results import export

        return export.to_pandas(self, contacts)

    def to_xarray(self) -> xarray.Dataset:
        """Return a dataset with named dimensions and units; see :func:`vitree.results.export.to_xarray`."""
        from vitree.results import export

        return export.to_xarray(self)

    def to_netcdf(self, path: str | os.PathLike) -> Path:
        """Write a NetCDF file; see :func:`vitree.results.export.to_netcdf`."""
        from vitree.results import export

        return export.to_netcdf(self, path)

    def to_csv(self, path: str | os.PathLike, contacts: bool = False) -> Path:
        """Write the records, or the contacts, as text in columns; see :func:`vitree.results.export.to_csv`."""
        from vitree.results import export

        return export.to_csv(self, path, contacts)

    def to_mcap(self, path: str | os.PathLike) -> Path:
        """Write an MCAP file for Foxglove; see :func:`vitree.results.mcap.to_mcap`."""
        from vitree.results import mcap

        return mcap.to_mcap(self, path)

    def plot(self, what: str = "energy", path: str | os.PathLike | None = None, **options: Any) -> Any:
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
