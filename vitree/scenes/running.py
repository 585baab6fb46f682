"""Scenes run by vitree and beside it by MuJoCo: one table."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Callable, Iterable
from dataclasses import dataclass

import numpy as np

from vitree.arguments import JsonObject, Keywords
from vitree.errors import ConvergenceError, InputError, UnknownNameError
from vitree.mechanism.pushes import ExternalWrench
from vitree.results.plain import no_nan, plain, versions
from vitree.run.bench import machine
from vitree.run.controller import Control
from vitree.run.simulate import simulate
from vitree.scenes import balls, blocks, flight, grasps, peer, robots, soles, solids, stacks  # noqa: F401 (they enter their scenes)
from vitree.scenes.base import SCENES, Motion, Scene, SkippedError, Stage

#: Methods that solve for contacts.
METHODS = ("linear-time", "midpoint")
PEER = "mujoco"
#: Columns of the table.
COLUMNS = ("scene", "metric", "unit", "program", "value")


@dataclass(frozen=True, eq=False, kw_only=True)
class SceneTable:
    """The results of :func:`scenes`; ``print`` the object, or read ``.table``.

    Attributes
    ----------
    table : list of dict
        One row per number: scene, metric, unit, program ("linear-time", "midpoint", "mujoco"), value. Of each run also
        "time of a step" [us], and of vitree's "steps in halves".
    scenes : list of dict
        name, source, about, dt [s] and duration [s] of each scene that ran.
    notes : tuple of str
        What was skipped, failed or differs from the literature, and why.
    settings : dict
        quick, machine and versions.
    """

    table: list[JsonObject]
    scenes: list[JsonObject]
    notes: tuple[str, ...]
    settings: JsonObject

    @property
    def programs(self) -> list[str]:
        """The programs, in order."""
        return list(dict.fromkeys(row["program"] for row in self.table))

    def value(self, scene: str, metric: str, program: str) -> float:
        """Return a number of the table; ``metric`` is the beginning of its name.

        Raises an InputError if there is no such number.
        """
        for row in self.table:
            if (row["scene"], row["program"]) == (scene, program) and row["metric"].startswith(metric):
                found: float = row["value"]
                return found
        raise InputError(f'the table has no "{metric}" of "{scene}" by {program}')

    def __str__(self) -> str:
        programs = self.programs
        wide = max((len(f"  {row['metric']} [{row['unit']}]") for row in self.table), default=0)
        lines = []
        for each in self.scenes:
            head = f"{each['name']} ({each['source']}; dt = {each['dt']:g} s, {each['duration']:g} s)"
            lines += ["", f"{head}: {each['about']}", f"{'':{wide}}" + "".join(f"{name:>14}" for name in programs)]
            rows = [row for row in self.table if row["scene"] == each["name"]]
            for metric in dict.fromkeys((row["metric"], row["unit"]) for row in rows):
                cells = {row["program"]: row["value"] for row in rows if (row["metric"], row["unit"]) == metric}
                found = "".join(f"{cells[name]:14.3g}" if name in cells else f"{'-':>14}" for name in programs)
                lines.append(f"{f'  {metric[0]} [{metric[1]}]':{wide}}{found}")
        known = ", ".join(f"{name} {version}" for name, version in self.settings["versions"].items())
        return "\n".join([*lines[1:], "", *self.notes, f"On {self.settings['machine']}; {known}."])

    def to_json(self) -> str:
        """Return everything as strict JSON text, with null for NaN."""
        content = {"settings": self.settings, "scenes": self.scenes, "notes": list(self.notes), "table": self.table}
        return json.dumps(no_nan(plain(content)), indent=1, allow_nan=False)

    def to_csv(self) -> str:
        """Return the table as CSV text, a line per number."""
        text = io.StringIO()
        writer = csv.DictWriter(text, COLUMNS, lineterminator="\n")
        writer.writeheader()
        writer.writerows(self.table)
        return text.getvalue()


def scenes(
    names: Iterable[str] | None = None,
    methods: Iterable[str] | None = None,
    *,
    quick: bool = False,
    peers: bool = True,
    progress: Callable[[int, int, str], object] | None = None,
) -> SceneTable:
    """Run scenes by which people judge simulators, and measure each against what is exact.

    Raises an UnknownNameError if there is no such scene or method.

    Parameters
    ----------
    names : names of scenes, optional
        All if not given.
    methods : "linear-time", "midpoint" or both, optional
        The first if not given.
    quick : bool
        Whether to shorten the scenes to what shows that they run.
    peers : bool
        Whether to run them in MuJoCo, too, if it is installed.
    progress : callable, optional
        Called as progress(done, total, what).

    Returns
    -------
    SceneTable
    """
    chosen = list(SCENES) if names is None else list(names)
    ways = list(METHODS[:1] if methods is None else methods)
    for kind, given, there in (("scene", chosen, list(SCENES)), ("method", ways, list(METHODS))):
        for name in given:
            if name not in there:
                raise UnknownNameError(kind, name, there, argument=f"{kind}s")
    notes: list[str] = []
    if peers and not _installed():
        peers = False
        notes.append("mujoco is not installed; scenes run without it.")
    table: list[JsonObject] = []
    done: list[JsonObject] = []
    for k, name in enumerate(chosen):
        if progress is not None:
            progress(k, len(chosen), name)
        shown = _run(SCENES[name], ways, quick, peers, table, notes)
        if shown is not None:
            done.append(shown)
    if progress is not None:
        progress(len(chosen), len(chosen), "scenes")
    known = versions()
    if peers:
        from importlib.metadata import version

        known |= {PEER: version(PEER)}
    return SceneTable(table=table, scenes=done, notes=tuple(notes),
                      settings={"quick": quick, "machine": machine(), "versions": known})  # fmt: skip


def _installed() -> bool:
    try:
        import mujoco  # noqa: F401
    except ImportError:
        return False
    return True


def _run(scene: Scene, methods: Iterable[str], quick: bool, peers: bool, table: list[JsonObject],
         notes: list[str]) -> dict[str, object] | None:  # fmt: skip
    """Run a scene by all programs, and enter its numbers; None if it cannot run here."""
    try:
        stage = scene.prepare(quick)
    except SkippedError as error:
        notes.append(f"{scene.name}: skipped: {error}.")
        return None
    if stage.limited:
        notes.append(f"{scene.name}: {stage.limited}.")

    def enter(program: str, found: dict[str, float], motion: Motion) -> None:
        found = found | {"time of a step [us]": 1e6 * motion.seconds / stage.steps}
        for name, value in found.items():
            metric, _, unit = name.removesuffix("]").rpartition(" [")
            table.append({"scene": scene.name, "metric": metric, "unit": unit, "program": program, "value": value})

    for method in methods:
        try:
            motion, halved = own_run(stage, method)
        except ConvergenceError as error:
            notes.append(f"{scene.name}: {method} is not solved: {error}")
        else:
            enter(method, stage.measure(motion) | {"steps in halves [1]": float(halved)}, motion)
    if peers:
        try:
            motion = peer.run(stage)
        except (NotImplementedError, ArithmeticError) as error:
            notes.append(f"{scene.name}: {PEER} left out: {error}.")
        else:
            enter(PEER, stage.measure(motion), motion)
    return {"name": scene.name, "source": scene.source, "about": scene.about, "dt": stage.dt,
            "duration": stage.duration}  # fmt: skip


def own_run(stage: Stage, method: str) -> tuple[Motion, int]:
    """Return vitree's run of a stage, and how many steps it took in halves.

    Raises a ConvergenceError if a step is not solved.
    """
    asked = stage.torque
    torque = None if asked is None else lambda t, q, v: asked(t)
    options: Keywords = dict(stage.options)
    run = simulate(
        stage.model, stage.q, stage.v, duration=stage.duration, dt=stage.dt, method=method, record_every=stage.every,
        wrenches=[ExternalWrench(link, (x, y, z), (a, b, c)) for link, (a, b, c, x, y, z) in stage.wrenches.items()],
        control=Control(torque=torque, targets=stage.targets), **options,
    )  # fmt: skip
    log = run.contacts
    impulse = np.zeros((len(run), 3)) if log is None else log.total(len(run))
    motion = Motion(t=run.t, q=run.q, v=run.v, seconds=run.seconds, impulse=impulse, log=log)
    return motion, int(run.settings.get("halved", 0))
