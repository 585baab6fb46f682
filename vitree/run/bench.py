"""bench(): microseconds a step of the methods, and a call of the kernels, on this machine."""

from __future__ import annotations

import functools
import json
import math
import os
import platform
import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import numpy as np
from numpy.typing import ArrayLike

from vitree._core import scalar
from vitree.arguments import JsonObject
from vitree.errors import ConvergenceError, InputError, UnknownNameError, VitreeError
from vitree.model.model import Model
from vitree.model.system import System, freedom_of
from vitree.results.plain import no_nan, plain, versions
from vitree.run.simulate import simulate
from vitree.urdf import write_urdf
from vitree.urdf.writer import DRAKE

#: A call that returns seconds and iterations.
Timing = Callable[[], tuple[float, float]]
#: By program, step or call, and name.
Timings = dict[tuple[str, str, str], Timing]
#: States of a loop over a kernel.
STATES = 256


@dataclass(frozen=True, eq=False, kw_only=True)
class Benchmark:
    """The timings of :func:`bench`; ``print`` the object, or read ``.table``.

    Attributes
    ----------
    table : list of dict
        One row per timing, plain types: ``program`` ("vitree", or a peer and from where it is called), ``of`` ("step"
        or "call"), ``name`` of the method or kernel, ``us`` [microseconds], and of vitree's steps ``iterations``, the
        mean a step; NaN where a number does not apply.
    notes : tuple of str
        One sentence for each program that was left out, with the reason.
    settings : dict
        Settings of the timing: model, dt [s], steps, repeats, machine and versions.
    """

    table: list[JsonObject]
    notes: tuple[str, ...]
    settings: JsonObject

    def __str__(self) -> str:
        s = self.settings
        lines = [f"{s['model']}: {s['freedom']}; least of {s['repeats']} runs", ""]
        for of, what in (("step", f"a step of {s['dt']:g} s, of {s['steps']}"), ("call", "a call of a kernel")):
            rows = [row for row in self.table if row["of"] == of]
            if not rows:
                continue
            width = max(len(row["name"]) for row in self.table)
            lines += [f"{'':{width}}  {'us':>9}  {what}"]
            for row in sorted(rows, key=lambda row: rows[0]["program"] != row["program"]):
                more = f"  {row['iterations']:.2f} iterations" if row["iterations"] > 0 else ""
                time = f"{row['us']:9.2f}" if row["us"] == row["us"] else "   failed"
                lines.append(f"{row['name']:{width}}  {time}  {row['program']}{more}")
            lines.append("")
        versions = ", ".join(f"{name} {version}" for name, version in s["versions"].items())
        return "\n".join([*lines, *self.notes, f"On {s['machine']}; {versions}."])

    def to_json(self) -> str:
        """Return everything as strict JSON text, with null for NaN."""
        content = {"settings": self.settings, "notes": list(self.notes), "table": self.table}
        return json.dumps(no_nan(plain(content)), indent=1, allow_nan=False)


def bench(
    system: System,
    methods: Iterable[str] | None = None,
    q0: ArrayLike | None = None,
    v0: ArrayLike | None = None,
    *,
    dt: float = 1e-3,
    steps: int = 200,
    repeats: int = 20,
    peers: bool = True,
    progress: Callable[[int, int, str], object] | None = None,
) -> Benchmark:
    """Time the steps of methods by the clock; of a mechanism also the calls of its kernels.

    Each is run several times, all in turn, and the least time counts. Steps are those of :func:`vitree.simulate`, in
    compiled code; kernels (rnea, aba, crba) are called in a compiled loop over many states. Raises an InputError or
    UnknownNameError if an argument is wrong.

    Parameters
    ----------
    system : Model or vehicle
    methods : names of ``system.methods``, optional
        All but SciPy's, which step in Python, if not given.
    q0 : (nq,) array, optional
        Configuration at the start; the neutral one if not given.
    v0 : (nv,) array, optional
        Velocity at the start; zero if not given.
    dt : float
        Time step [s].
    steps, repeats : int
        Steps of a run, and runs of each.
    peers : bool
        Whether to time Pinocchio's kernels, called from Python, and MuJoCo's steps, in C, too. They need a mechanism
        that a URDF file can say. With peers all programs are timed without damping and friction, and the peers
        without limits and contacts.
    progress : callable, optional
        Called as progress(done, total, what).

    Returns
    -------
    Benchmark
    """
    if methods is None:
        methods = [name for name in system.methods if not name.startswith("scipy-")]
    for name in (methods := list(methods)):
        if name not in system.methods:
            raise UnknownNameError("method", name, system.methods, argument="methods")
    for what, count in (("steps", steps), ("repeats", repeats)):
        if not (isinstance(count, int | np.integer) and not isinstance(count, bool) and count >= 1):
            raise InputError(what, count, "must be a whole number, 1 or more")
    if not (isinstance(dt, int | float) and 0 < dt < math.inf):
        raise InputError("dt", dt, "must be a positive number of seconds")
    q0 = None if q0 is None else system.validate_configuration(q0, "q0")
    v0 = None if v0 is None else system.validate_velocity(v0, "v0")
    beside: Timings = {}
    notes: list[str] = []
    if peers and isinstance(system, Model):
        beside, notes = _peers_of(system, v0, dt, steps)
        if beside:
            system = undamped(system)
    jobs = {("vitree", "step", name): _step_of(system, name, q0, v0, dt, steps) for name in methods}
    if isinstance(system, Model):
        jobs |= _kernels_of(system.full)
    jobs |= beside
    best: dict[tuple[str, str, str], tuple[float, float]] = dict.fromkeys(jobs, (math.inf, math.nan))
    for k in range(repeats):
        for n, (key, run) in enumerate(jobs.items()):
            if not math.isnan(best[key][0]):  # else it failed
                best[key] = min(best[key], run(), key=lambda found: (not math.isnan(found[0]), found[0]))
            if progress is not None:
                progress(k * len(jobs) + n + 1, repeats * len(jobs), "timing steps and kernels")
    table = [
        {"program": program, "of": of, "name": name, "us": 1e6 * seconds, "iterations": iterations}
        for (program, of, name), (seconds, iterations) in best.items()
    ]
    settings = {
        "model": system.name, "freedom": freedom_of(system), "dt": dt, "steps": steps, "repeats": repeats,
        "machine": machine(), "versions": versions() | _versions_of_peers({key[0] for key in jobs}),
    }  # fmt: skip
    return Benchmark(table=table, notes=tuple(notes), settings=settings)


def undamped(model: Model) -> Model:
    """Return a mechanism without joint damping and friction."""
    zero = np.zeros(model.full.nv)
    return model._remade(replace(model.full.flat, damping=zero, friction=zero, dry_friction=zero))


def machine() -> str:
    """Return the processor's name, and how many cores it has."""
    name = platform.processor() or platform.machine()
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
        name = next((line.split(":", 1)[1].strip() for line in lines if line.startswith("model name")), name)
    except OSError:
        pass
    return f"{name}, {os.cpu_count()} cores"


def _step_of(
    system: System, method: str, q0: ArrayLike | None, v0: ArrayLike | None, dt: float, steps: int
) -> Timing:
    """A function that returns the seconds of a step and its iterations, NaN if a step is not solved."""

    def run() -> tuple[float, float]:
        try:
            traj = simulate(system, q0, v0, duration=steps * dt, dt=dt, method=method, record_every=steps)
        except ConvergenceError:
            return math.nan, math.nan
        return traj.seconds / steps, traj.iterations_total / steps

    return run


def _timed(call: Callable[[], object], count: int) -> Timing:
    """A function that returns the seconds of one of the things that a call does."""

    def run() -> tuple[float, float]:
        start = time.perf_counter()
        call()
        return (time.perf_counter() - start) / count, math.nan

    return run


def _states(model: Model) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Configurations, velocities and accelerations, rows of STATES."""
    rng = np.random.default_rng(0)
    q = np.array([model.integrate(model.neutral(), x) for x in rng.uniform(-1, 1, (STATES, model.nv))])
    v, a = rng.uniform(-1, 1, (2, STATES, model.nv))
    return q, v, a


def _kernels_of(model: Model) -> Timings:
    q, v, a = _states(model)
    kernels, core, g = scalar(), model.core, model.gravity
    vector, matrix = np.empty((STATES, model.nv)), np.empty((STATES, model.nv**2))
    calls = {
        "rnea": lambda: kernels.batch_rnea(core, g, q, v, a, vector),
        "aba": lambda: kernels.batch_aba(core, g, q, v, a, vector),
        "crba": lambda: kernels.batch_crba(core, q, matrix),
    }
    return {("vitree", "call", name): _timed(call, STATES) for name, call in calls.items()}


# ---- peers ----------------------------------------------------------------------------------------


def _peers_of(model: Model, v0: np.ndarray | None, dt: float, steps: int) -> tuple[Timings, list[str]]:
    """Return the timings of the peers that are installed and read the mechanism, and notes on the others."""
    notes: list[str] = []
    try:
        if model.full is not model or model.constraints:
            raise InputError("it has joints that follow others, or constraints")
        root = ElementTree.fromstring(write_urdf(model).encode())
    except VitreeError as error:
        return {}, [f"Peers left out: {str(error).partition('. Remedy')[0]}."]
    for element in root:
        for part in ("visual", "collision", "dynamics"):
            for each in element.findall(part):
                element.remove(each)
    rotors = {
        next(part.iter("joint")).attrib["name"]: float(next(part.iter(f"{{{DRAKE}}}rotor_inertia")).attrib["value"])
        for part in root.findall("transmission")
    }
    free = any(joint.kind == "free" for joint in model.joints)
    inertia = float(np.trace(model.crba(model.neutral())))
    jobs: Timings = {}
    for name, make in (("pinocchio", _pinocchio), ("mujoco", _mujoco)):
        try:
            found, trace = make(root, free, rotors, v0, dt, steps)
        except ImportError:
            notes.append(f"{name} is not installed.")
        except Exception as error:  # whatever a peer does not like of the mechanism
            notes.append(f"{name} left out: {' '.join(str(error).split())}")
        else:
            # a peer that read something else is not timed
            if math.isclose(trace, inertia, rel_tol=1e-6):
                jobs |= found
            else:
                notes.append(f"{name} left out: it reads another mass matrix.")
    if jobs:
        notes.append("All without damping and friction, and peers without limits and contacts.")
    return jobs, notes


def _pinocchio(
    root: ElementTree.Element, free: bool, rotors: Mapping[str, float], v0: np.ndarray | None, dt: float, steps: int
) -> tuple[Timings, float]:
    """Return timings of Pinocchio's kernels; of aba and crba the quicker of two conventions."""
    import pinocchio as pin

    text = ElementTree.tostring(root, encoding="unicode")
    model = pin.buildModelFromXML(text, pin.JointModelFreeFlyer()) if free else pin.buildModelFromXML(text)
    for name, armature in rotors.items():
        model.armature[model.joints[model.getJointId(name)].idx_v] = armature
    data, rng = model.createData(), np.random.default_rng(0)
    q = pin.integrate(model, pin.neutral(model), rng.uniform(-1, 1, model.nv))
    v, a = rng.uniform(-1, 1, (2, model.nv))
    conventions = pin.Convention.LOCAL, pin.Convention.WORLD
    calls: dict[str, Any] = {
        "rnea": [lambda: pin.rnea(model, data, q, v, a)],
        "aba": [lambda c=c: pin.aba(model, data, q, v, a, c) for c in conventions],
        "crba": [lambda c=c: pin.crba(model, data, q, c) for c in conventions],
    }

    def loop(call: Callable[[], object]) -> None:
        for _ in range(STATES):
            call()

    def best(several: list[Callable[[], object]]) -> Timing:
        timed = [_timed(functools.partial(loop, call), STATES) for call in several]
        return lambda: min(run() for run in timed)

    jobs = {("pinocchio, from Python", "call", name): best(several) for name, several in calls.items()}
    return jobs, float(np.trace(pin.crba(model, data, pin.neutral(model))))


def _mujoco(
    root: ElementTree.Element, free: bool, rotors: Mapping[str, float], v0: np.ndarray | None, dt: float, steps: int
) -> tuple[Timings, float]:
    """Return timings of MuJoCo's steps by two integrators, without contacts and limits."""
    import mujoco

    options = ElementTree.Element("mujoco")
    ElementTree.SubElement(options, "compiler", fusestatic="true", balanceinertia="false", inertiafromgeom="false")
    whole = ElementTree.Element("robot", root.attrib)
    whole.extend([options, *root])
    spec = mujoco.MjSpec.from_string(ElementTree.tostring(whole, encoding="unicode"))
    for joint in spec.joints:
        joint.armature = rotors.get(joint.name, 0.0)
    if free:
        spec.worldbody.first_body().add_freejoint()
    jobs: Timings = {}
    for name, kind in (("Euler", mujoco.mjtIntegrator.mjINT_EULER), ("RK4", mujoco.mjtIntegrator.mjINT_RK4)):
        model = spec.compile()
        model.opt.integrator, model.opt.timestep = kind, dt
        off = mujoco.mjtDisableBit
        model.opt.disableflags |= off.mjDSBL_CONTACT | off.mjDSBL_CONSTRAINT | off.mjDSBL_EULERDAMP | off.mjDSBL_LIMIT
        data = mujoco.MjData(model)

        def run(model: mujoco.MjModel = model, data: mujoco.MjData = data) -> None:
            mujoco.mj_resetData(model, data)
            if v0 is not None:
                data.qvel[:] = v0
            mujoco.mj_step(model, data, nstep=steps)

        jobs["mujoco", "step", name] = _timed(run, steps)
    mujoco.mj_forward(model, data)
    columns = np.zeros((model.nv, model.nv))
    for column, unit in zip(columns, np.eye(model.nv), strict=True):
        mujoco.mj_mulM(model, data, column, unit)
    return jobs, float(np.trace(columns))


def _versions_of_peers(programs: set[str]) -> dict[str, str]:
    from importlib.metadata import version

    names = {"mujoco": "mujoco", "pinocchio, from Python": "pin"}
    return {package: version(package) for program, package in names.items() if program in programs}
