"""Readers of robot files, given files with faults: a table of their answers.

    python benchmarks/readers.py [--smoke] [--write docs/urdf.md]
    python benchmarks/readers.py --checks [--write docs/urdf.md]
    python benchmarks/readers.py --times [--smoke] [--write docs/urdf.md]

The files are those of tests/urdf_faults, and hostile ones made here. The readers are vitree and every other one that is
installed (pip install urdf-parser-py yourdfpy pin mujoco drake dartpy pybullet). Each file is read in a process of its
own, with ten seconds and 3 GB. With --checks the script prints the table of vitree's own rules instead, which needs no
other reader. With --times it prints how long vitree, Pinocchio and MuJoCo take for the robots of example-robot-data and
for a chain of 3,000 links, in one process.
"""

from __future__ import annotations

import contextlib
import ctypes
import functools
import json
import os
import re
import resource
import runpy
import select
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence, Set
from importlib.metadata import PackageNotFoundError, version
from itertools import pairwise
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pages
import peers

from vitree.findings import Finding
from vitree.urdf import check_urdf
from vitree.urdf.robots import example_robots
from vitree.urdf.rules import RULES

ROOT = Path(__file__).parent.parent
FOLDER = ROOT / "tests" / "urdf_faults"
SECONDS, MEMORY = 10.0, 3 * 2**30
LATE = f"over {SECONDS:g} s"
SMOKE = {"accepted_plain", "mass_with_unit", "decimal_comma", "axis_zero", "cut_off", "unknown_in_a_link"}
#: What became of a file; see :func:`attempt`.
Found = dict[str, Any]
#: Marks of the table of checks in the page.
CHECKS = "<!-- checks -->\n", "<!-- end of checks -->"
#: The same of the table of times.
TIMES = "<!-- times -->\n", "<!-- end of times -->"
#: Rounds in which readers take turns, and loads of a file by a reader in each.
ROUNDS, LOADS = 10, 3


# ---- the readers: each is imported in its own process, and loads by its documented call and its defaults -------------


def read_vitree() -> tuple[Callable, Callable]:
    import urdf_parser_py.urdf  # noqa: F401 (vitree imports it with the first file)

    import vitree as vt

    def facts(model):
        flat = model.flat
        return {"mass": model.total_mass, "matrix": model.crba(model.neutral()),
                "numbers": [flat.mass, flat.com, flat.inertia, flat.frame_E, flat.frame_p],
                "said": "\n".join(str(finding) for finding in model.report if finding.severity != "note")}  # fmt: skip

    return vt.load_urdf, facts


def read_urdf_parser_py() -> tuple[Callable, Callable]:
    from urdf_parser_py.urdf import URDF

    def facts(robot):
        inertials = [link.inertial for link in robot.links if link.inertial]
        numbers = [inertial.inertia.to_matrix() for inertial in inertials if inertial.inertia]
        for item in (*inertials, *robot.joints):
            numbers += [item.origin.xyz, item.origin.rpy] if item.origin else []
        for joint in robot.joints:
            numbers += [joint.axis, *([joint.limit.lower, joint.limit.upper] if joint.limit else [])]
        return {"mass": sum(inertial.mass or 0.0 for inertial in inertials), "numbers": numbers}

    return URDF.from_xml_file, facts


def read_yourdfpy() -> tuple[Callable, Callable]:
    import yourdfpy

    def facts(urdf):
        inertials = [link.inertial for link in urdf.robot.links if link.inertial]
        joints = urdf.robot.joints
        numbers = [x for item in inertials for x in (item.origin, item.inertia)]
        numbers += [x for joint in joints for x in (joint.origin, joint.axis)]
        numbers += [x for joint in joints if joint.limit for x in (joint.limit.lower, joint.limit.upper)]
        return {"mass": sum(inertial.mass or 0.0 for inertial in inertials), "numbers": numbers}

    return lambda path: yourdfpy.URDF.load(path, load_meshes=False), facts


def read_pinocchio() -> tuple[Callable, Callable]:
    import pinocchio as pin

    def facts(model):
        bodies = list(model.inertias)[1:]
        matrix = np.triu(pin.crba(model, model.createData(), pin.neutral(model)))
        return {"mass": sum(body.mass for body in bodies), "matrix": matrix + np.triu(matrix, 1).T,
                "numbers": [x for body in bodies for x in (body.lever, body.inertia)]
                + [place.homogeneous for place in model.jointPlacements]
                + [model.lowerPositionLimit, model.upperPositionLimit]}  # fmt: skip

    return pin.buildModelFromUrdf, facts


def read_mujoco() -> tuple[Callable, Callable]:
    import mujoco

    def facts(model):
        data = mujoco.MjData(model)
        mujoco.mj_forward(model, data)
        columns = []
        for unit in np.eye(model.nv):
            column = np.zeros(model.nv)
            mujoco.mj_mulM(model, data, column, unit)
            columns.append(column)
        return {"mass": model.body_mass.sum(), "matrix": columns,
                "numbers": [model.body_pos, model.body_quat, model.body_inertia, model.jnt_axis, model.jnt_range]}

    return mujoco.MjModel.from_xml_path, facts


def read_drake() -> tuple[Callable, Callable]:
    from pydrake.multibody.parsing import Parser
    from pydrake.multibody.plant import MultibodyPlant
    from pydrake.multibody.tree import BodyIndex

    def load(path):
        plant = MultibodyPlant(0.0)
        Parser(plant).AddModels(path)
        plant.Finalize()
        return plant

    def facts(plant):
        context = plant.CreateDefaultContext()
        bodies = [plant.get_body(BodyIndex(k)) for k in range(plant.num_bodies())]
        base = 6 * len(plant.GetFloatingBaseBodies())
        return {"mass": plant.CalcTotalMass(context), "matrix": plant.CalcMassMatrix(context)[base:, base:],
                "numbers": [plant.EvalBodyPoseInWorld(context, body).GetAsMatrix4() for body in bodies]
                + [plant.GetPositionLowerLimits(), plant.GetPositionUpperLimits()]}  # fmt: skip

    return load, facts


def read_dart() -> tuple[Callable, Callable]:
    import dartpy

    def load(path):
        skeleton = dartpy.utils.DartLoader().parseSkeleton(path)
        if skeleton is None:
            raise ValueError("no skeleton")
        return skeleton

    def facts(skeleton):
        bodies = [skeleton.getBodyNode(k) for k in range(1, skeleton.getNumBodyNodes())]
        base = skeleton.getRootJoint().getNumDofs()
        return {"mass": sum(body.getMass() for body in bodies), "matrix": skeleton.getMassMatrix()[base:, base:],
                "numbers": [body.getWorldTransform().matrix() for body in bodies]
                + [skeleton.getPositionLowerLimits(), skeleton.getPositionUpperLimits()]}  # fmt: skip

    return load, facts


def read_pybullet() -> tuple[Callable, Callable]:
    import pybullet as bullet

    def load(path):
        bullet.connect(bullet.DIRECT)
        return bullet.loadURDF(path, useFixedBase=True, flags=bullet.URDF_USE_INERTIA_FROM_FILE)

    def facts(robot):
        parts = range(bullet.getNumJoints(robot))
        bodies = [bullet.getDynamicsInfo(robot, k) for k in parts]
        joints = [bullet.getJointInfo(robot, k) for k in parts]
        moving = sum(joint[2] != bullet.JOINT_FIXED for joint in joints)
        return {"mass": sum(body[0] for body in bodies),
                "matrix": bullet.calculateMassMatrix(robot, [0.0] * moving) if moving else [],
                "numbers": [x for body in bodies for x in body[2:5]] + [x for joint in joints for x in joint[13:16]]}

    return load, facts


class Reader(NamedTuple):
    """A reader: its name, the package to install, and what gives its load(path) and facts(what it loaded)."""

    name: str
    package: str
    start: Callable[[], tuple[Callable, Callable]]


READERS = {
    reader.name: reader
    for reader in (
        Reader("vitree", "vitree", read_vitree),
        Reader("urdf_parser_py", "urdf-parser-py", read_urdf_parser_py),
        Reader("yourdfpy", "yourdfpy", read_yourdfpy),
        Reader("Pinocchio", "pin", read_pinocchio),
        Reader("MuJoCo", "mujoco", read_mujoco),
        Reader("Drake", "drake", read_drake),
        Reader("DART", "dartpy", read_dart),
        Reader("PyBullet", "pybullet", read_pybullet),
    )
}


# ---- a file, in a process of its own ---------------------------------------------------------------------------------


def work() -> None:
    """Take a reader's name and [path, whether to look at what is loaded] from stdin; write what became of each file."""
    name, jobs = json.load(sys.stdin)
    load, facts = READERS[name].start()
    for path, look in jobs:
        print(json.dumps(attempt(load, facts if look else None, path)), flush=True)


def attempt(load: Callable, facts: Callable | None, path: str) -> Found:
    """Load a file in a fork of this process.

    Returns
    -------
    dict
        "kind": loads, error, crash or LATE; "seconds"; "peak" [bytes], of memory beyond this process's; "output",
        what was written while loading; "text" of the exception; and "mass", "matrix", "nan", "said" of what is loaded,
        where its facts could be asked for.
    """
    before = resident()
    answer, answering = os.pipe()
    with tempfile.TemporaryFile() as written:
        child = os.fork()
        if not child:
            os.dup2(written.fileno(), 1)
            os.dup2(written.fileno(), 2)
            with os.fdopen(answering, "w") as stream:
                for found in _load(load, facts, path):
                    print(json.dumps(found), file=stream, flush=True)
            os._exit(0)
        os.close(answering)
        with os.fdopen(answer) as stream:
            late = not select.select([stream], [], [], SECONDS)[0]
            if late:
                os.kill(child, signal.SIGKILL)
            lines = stream.read().splitlines()
        usage = os.wait4(child, 0)[2]
        written.seek(0)
        output = written.read(2**20)
    found = {"kind": LATE if late else "crash"}
    for line in lines:  # the second is missing where the facts, not the load, took the process down
        found |= json.loads(line)
    output = output[: found.pop("written", None)]
    return found | {"output": output.decode(errors="replace"), "peak": max(1024 * usage.ru_maxrss - before, 0)}


def resident(column: int = 1) -> int:
    """Bytes of this process: 0 all, 1 in memory."""
    return resource.getpagesize() * int(Path("/proc/self/statm").read_text().split()[column])


def _load(load: Callable, facts: Callable | None, path: str) -> Iterator[Found]:
    limit = resident(0) + MEMORY
    resource.setrlimit(resource.RLIMIT_AS, (limit, limit))
    found: Found = {"kind": "loads"}
    start = time.perf_counter()
    try:
        loaded = load(path)
    except BaseException as error:  # whatever it is: SystemExit is an answer, too
        found = {"kind": "error", "text": f"{type(error).__name__}: {error}"[:20_000]}
    found["seconds"] = time.perf_counter() - start
    sys.stdout.flush()
    sys.stderr.flush()
    ctypes.CDLL(None).fflush(None)
    yield found | {"written": os.fstat(1).st_size}
    if found["kind"] == "loads" and facts is not None:
        known = facts(loaded)
        matrix = np.asarray(known.get("matrix", []), dtype=float)
        numbers = [np.ravel(x).astype(float) for x in (matrix, *known["numbers"]) if x is not None]
        yield {"mass": float(known["mass"]), "matrix": matrix.tolist(), "said": known.get("said", ""),
               "nan": bool(np.isnan(np.concatenate(numbers)).any())}  # fmt: skip


def read(name: str, jobs: Sequence[tuple[str, bool]]) -> list[Found]:
    """Give files to a reader: paths, and whether to look at what is loaded; see :func:`attempt`."""
    path = os.pathsep.join([str(ROOT), os.environ.get("PYTHONPATH", "")])
    with tempfile.TemporaryDirectory() as folder:
        run = subprocess.run(
            [sys.executable, Path(__file__).absolute(), "--work"], input=json.dumps([name, jobs]),
            capture_output=True, text=True, cwd=folder, env=os.environ | {"PYTHONPATH": path},
        )  # fmt: skip
    found = [json.loads(line) for line in run.stdout.splitlines() if line.startswith("{")]
    if len(found) != len(jobs):
        raise RuntimeError(f"{name}: {run.stderr[-2000:]}")
    return found


# ---- what became of it -----------------------------------------------------------------------------------------------


class Fault(NamedTuple):
    """What vitree, with its defaults, says of a file: the gravest finding and where it is, to compare others with."""

    severity: str  # "" of a file without fault
    rule: str
    lines: range  # of the link or joint with the fault
    quoted: frozenset[str]  # names and texts at fault
    mass: bool  # whether the value of a mass is at fault


NO_FAULT = Fault("", "", range(0), frozenset(), False)


def fault_of(path: Path) -> Fault:
    """Return what is wrong with a file."""
    report = check_urdf(path)
    finding = next((f for severity in ("error", "warning") for f in report.of(severity)), None)
    if finding is None:
        return NO_FAULT
    text = finding.text.replace(RULES[finding.id].remedy, "")
    quoted = re.findall(r'"([^"]+)"', re.sub(r"\(did you mean .*?\)", "", text))
    line = finding.line or 0
    rows = path.read_text(errors="replace").splitlines()
    parts = [1, *(k for k, row in enumerate(rows, 1) if re.match(r"  <[lj]", row)), len(rows) + 2]
    lines = next((range(*part) for part in pairwise(parts) if part[0] <= line < part[1]), range(line, line + 1))
    mass = finding.id.startswith("mass-") or ("<mass>" in text and finding.id != "element-repeated")
    return Fault(finding.severity, finding.id, lines, frozenset(quoted), mass)


@functools.cache
def noise(name: str) -> frozenset[str]:
    """Return the lines that a reader writes of a file without fault, and so of any."""
    path = FOLDER / "accepted_plain.urdf"
    return frozenset(heard(read(name, [(str(path), True)])[0], path).splitlines())


def heard(found: Found, path: Path, noise: Set[str] = frozenset()) -> str:
    """Return what a reader says, but for its own source lines, the file's path, and noise."""
    text = "\n".join(found.get(key, "") for key in ("text", "output", "said"))
    text = re.sub(r"\x1b\[[\d;]*m|at line \d+ in \S+|\[[\w/]+\.cpp[:,]\d+\]", "", text)
    text = re.sub(r"(?=b3(?:Warning|Error):)", "\n", text).replace(str(path), path.name).replace(path.stem, "")
    return "\n".join(row for row in text.splitlines() if row.strip() and row.strip() not in noise)


def outcome(found: Found, fault: Fault, text: str) -> str:
    """Return what became of a file: loads, warns, error, crash, memory or LATE; and whether the text says where."""
    kind = found["kind"]
    if kind in ("error", "crash") and re.search(r"MemoryError|bad_alloc|[Cc]annot allocate", text):
        kind = "memory"
    if kind == "loads" and text:
        kind = "warns"
    if kind in ("warns", "error") and fault.severity:
        if {int(line) for line in re.findall(r"(?:\bline\D{0,9}|:)(\d+)", text, re.I)} & {*fault.lines}:
            return f"{kind}, line"
        if any(re.search(rf"(?<!\w){re.escape(word)}(?!\w)", text) for word in fault.quoted):
            return f"{kind}, name"
    return kind


def oddity(found: Found, fault: Fault, ours: Found) -> str:
    """Return what is odd about what is loaded: NaN, the mass where that is at fault, another mass matrix than ours."""
    if found.get("nan"):
        return "NaN"
    if fault.mass and fault.severity == "error" and "mass" in found:
        return f"{found['mass']:.3g} kg"
    theirs, right = (np.array(each.get("matrix") or np.empty((0, 0))) for each in (found, ours))
    if theirs.shape != right.shape or np.allclose(np.linalg.eigvalsh(theirs), np.linalg.eigvalsh(right), rtol=1e-6):
        return ""
    return "other M"


# ---- hostile files ---------------------------------------------------------------------------------------------------


def hostile(folder: Path, small: bool) -> dict[str, Path]:
    """Write files that are hard on a reader; return them by what they are."""
    plain = (FOLDER / "accepted_plain.urdf").read_text()
    scale = 100 if small else 1
    depth, links = 200_000 // scale, 3000 // scale
    laughs = "".join(f'<!ENTITY {b} "{f"&{a};" * 10}">' for a, b in pairwise("abcdefghij"))
    count = 50_000 // scale
    texts = {
        f"{depth:,} elements in one another": plain.replace("</robot>", "<a>" * depth + "</a>" * depth + "</robot>"),
        f"{20 / scale:g} MB, mostly of blanks": plain.replace("</robot>", " " * (20 * 2**20 // scale) + "</robot>"),
        "billion laughs": f'<!DOCTYPE robot [<!ENTITY a "lol">{laughs}]>'
        + plain.replace("</robot>", '<gazebo reference="&j;"/></robot>'),
        f"an entity of {count:,} letters, used {count:,} times": f'<!DOCTYPE robot [<!ENTITY a "{"x" * count}">]>'
        + plain.replace("</robot>", f'<gazebo reference="{"&a;" * count}"/></robot>'),
        f"a chain of {links:,} links": peers.chain_urdf(links).replace("><", ">\n<").replace("world_link", "base"),
    }
    paths = {what: folder / f"hostile{k}.urdf" for k, what in enumerate(texts)}
    for what, path in paths.items():
        path.write_text(texts[what])
    return paths


# ---- tables ----------------------------------------------------------------------------------------------------------


def row(*cells: object) -> str:
    return "| " + " | ".join(str(cell).replace("|", "\\|") for cell in cells) + " |\n"


def head(*cells: object) -> str:
    return row(*cells) + "|---" * len(cells) + "|\n"


def code(text: str) -> str:
    """Put the tags of a text into code, which Markdown would take for HTML."""
    return re.sub(r"<[^>]*>", r"`\g<0>`", text)


def expected() -> dict[str, tuple[dict, list[str]]]:
    """What tests/urdf_faults/expected.py says of its files: options, and findings."""
    return runpy.run_path(str(FOLDER / "expected.py"))["EXPECTED"]


def checks(smoke: bool = False) -> str:
    """The table of the rules, each with what vitree says of the first file of tests/urdf_faults that breaks it."""
    said: dict[str, Finding] = {}
    for stem, (options, _) in expected().items():
        for finding in check_urdf(FOLDER / f"{stem}.urdf", **options):
            said.setdefault(finding.id, finding)
    text = head("rule", "severity", "what is found", "for example")
    for key, rule in RULES.items():
        example = ""
        if key in said:
            place = ":".join(str(part) for part in (said[key].file, said[key].line) if part)
            example = f"`{place}: {said[key].text}`"
        text += row(f"`{key}`", rule.severity, code(rule.what), example)
    return text


def installed() -> dict[str, str]:
    """Readers that are here, and their versions."""
    found = {"vitree": ""}
    for name, reader in READERS.items():
        with contextlib.suppress(PackageNotFoundError):
            found.setdefault(name, version(reader.package))
    return found


class Results(NamedTuple):
    """What became of each file, by reader."""

    faults: dict[str, Fault]
    found: dict[str, dict[str, Found]]

    def word(self, name: str, stem: str) -> tuple[str, str]:
        """Return the outcome, and what is odd about what is loaded."""
        found, fault = self.found[name][stem], self.faults[stem]
        word = outcome(found, fault, heard(found, FOLDER / f"{stem}.urdf", noise(name)))
        return word, oddity(found, fault, self.found["vitree"][stem])


def corpus() -> list[Path]:
    """Return the files of tests/urdf_faults that are there for what a reader does by default, each content once."""
    paths: dict[bytes, Path] = {}
    for stem, (options, _) in expected().items():
        path = FOLDER / f"{stem}.urdf"
        if {*options} <= {"mimic", "loops"}:
            paths.setdefault(path.read_bytes(), path)
    return list(paths.values())


def run_corpus(names: Iterable[str], paths: Sequence[Path]) -> Results:
    """Give files of tests/urdf_faults to readers."""
    jobs = [(str(path), True) for path in paths]
    stems = [path.stem for path in paths]
    found = {name: dict(zip(stems, read(name, jobs), strict=True)) for name in names}
    return Results(dict(zip(stems, map(fault_of, paths), strict=True)), found)


def tables(smoke: bool) -> str:
    """The tables of what readers do, in Markdown."""
    versions = installed()
    results = run_corpus(versions, [path for path in corpus() if not smoke or path.stem in SMOKE])
    parts = {"Counts": summary(results, versions), "Hostile files": extremes(versions, smoke),
             "File by file": by_file(results)}  # fmt: skip
    return "\n".join(f"### {title}\n\n{part}" for title, part in parts.items())


#: Rows of the summary: severities of vitree, what is counted, and by which outcomes; without any, what is odd.
COUNTED = (
    ("error", "loads without a word", ("loads",)),
    ("error", "loads, but says something", ("warns", "warns, name", "warns, line")),
    ("error", "refuses, and names the line", ("error, line",)),
    ("error", "refuses, and names the element or the text", ("error, name",)),
    ("error", "refuses, and names neither", ("error", "memory")),
    ("error", "crashes or hangs", ("crash", LATE)),
    ("error", "in bold below: loads NaN, a mass that is none, another M", ()),
    ("warning", "loads without a word", ("loads",)),
    ("warning", "loads, but says something", ("warns", "warns, name", "warns, line")),
    ("warning", "refuses", ("error", "error, name", "error, line", "memory")),
    ("warning", "crashes or hangs", ("crash", LATE)),
    ("warning", "in bold below", ()),
    ("", "loads", ("loads", "warns")),
    ("", "refuses, crashes or hangs", ("error", "memory", "crash", LATE)),
)
WHAT = {"error": "with an error by vitree's rules", "warning": "with a warning", "": "without fault"}


def summary(results: Results, versions: Mapping[str, str]) -> str:
    text = head("", *(f"{name} {number}".strip() for name, number in versions.items()))
    last = None
    for severity, what, words in COUNTED:
        stems = [stem for stem, fault in results.faults.items() if fault.severity == severity]
        if severity != last:
            text += row(f"**{len(stems)} files {WHAT[severity]}**", *[""] * len(versions))
            last = severity
        cells = ([results.word(name, stem) for stem in stems] for name in versions)
        counts = (sum(word in words if words else bool(odd) for word, odd in column) for column in cells)
        text += row(what, *(count or "" for count in counts))
    return text


def by_file(results: Results) -> str:
    """Rows of the files by the first rule that they break; those that all readers treat alike are one row."""
    text = head("rule", "files", *results.found)
    order = {rule: k for k, rule in enumerate([*RULES, ""])}
    rows: dict[tuple[str, ...], list[str]] = {}
    for stem, fault in sorted(results.faults.items(), key=lambda item: order[item[1].rule]):
        cells = []
        for name in results.found:
            word, odd = results.word(name, stem)
            cells.append(f"{word} **{odd}**" if odd else word)
        if fault.severity or {cell.split()[0] for cell in cells} - {"loads", "warns"}:
            rows.setdefault((fault.rule, *cells), []).append(stem.removeprefix("accepted_").replace("_", " "))
    last = None
    for (rule, *cells), stems in rows.items():
        text += row("" if rule == last else f"`{rule}`" if rule else "no fault", ", ".join(stems), *cells)
        last = rule
    return text


def extremes(versions: Iterable[str], smoke: bool) -> str:
    """Outcomes on hostile files, the least seconds of three, and the memory where it is much."""
    text = head("", *versions)
    with tempfile.TemporaryDirectory() as folder:
        paths = hostile(Path(folder), smoke)
        columns = {name: read(name, [(str(path), False) for path in paths.values() for _ in range(3)])
                   for name in versions}  # fmt: skip
        for k, (what, path) in enumerate(paths.items()):
            cells = []
            for name, tries in columns.items():
                found = min(tries[3 * k : 3 * k + 3], key=lambda each: each.get("seconds", SECONDS))
                word = outcome(found, NO_FAULT, heard(found, path, noise(name)))
                seconds = f", {found['seconds']:.2g} s" if "seconds" in found else ""
                cells.append(word + seconds + (f", {found['peak'] >> 20} MB" if found["peak"] > 2**27 else ""))
            text += row(what, *cells)
    return text


# ---- times -----------------------------------------------------------------------------------------------------------


def times(smoke: bool) -> str:
    """The table of the times in which files without fault load."""
    readers = {"vitree": read_vitree()[0]}
    for name, start in (("Pinocchio", read_pinocchio), ("MuJoCo", read_mujoco)):
        with contextlib.suppress(ImportError):
            readers[name] = start()[0]
    robots = sorted({str(path) for path in example_robots().values()})[: 3 if smoke else None]
    seconds = {path: took for path in robots if (took := least(readers, path, 1 if smoke else ROUNDS))}
    text = head("milliseconds", *readers, *(f"vitree / {name}" for name in readers if name != "vitree"))
    for what, share in (("lower quartile", 0.25), ("median", 0.5), ("upper quartile", 0.75)):
        text += row(f"{len(seconds)} robots, {what}", *times_of([*seconds.values()], [*readers], share))
    with tempfile.TemporaryDirectory() as folder:
        what, path = [*hostile(Path(folder), smoke).items()][-1]
        chain = least({name: load for name, load in readers.items() if name != "MuJoCo"}, str(path), 1 if smoke else 3)
        text += row(what, *times_of([chain], [*readers], 0.5))
    return text


def times_of(seconds: Sequence[Mapping[str, float]], names: Sequence[str], share: float) -> list[str]:
    """Cells of a row: quantiles of the milliseconds of each reader, and of vitree's time over that of the others."""
    cells = []
    for name in names:
        found = [1e3 * each[name] for each in seconds if name in each]
        cells.append(f"{np.quantile(found, share):,.4g}" if found else "")
    for name in names[1:]:
        found = [each["vitree"] / each[name] for each in seconds if name in each]
        cells.append(f"{np.quantile(found, share):.3g}" if found else "")
    return cells


def least(readers: Mapping[str, Callable], path: str, rounds: int) -> dict[str, float]:
    """Return the least seconds in which each reader loads a file, in turns; of none that vitree refuses."""
    seconds: dict[str, float] = {}
    refused: set[str] = set()
    with silence():
        for _ in range(rounds):
            for name, load in readers.items():
                for _ in range(0 if name in refused else LOADS):
                    start = time.perf_counter()
                    try:
                        load(path)
                    except Exception:  # of any reader's own kind
                        refused.add(name)
                        break
                    seconds[name] = min(seconds.get(name, np.inf), time.perf_counter() - start)
    return {} if "vitree" in refused else {name: each for name, each in seconds.items() if name not in refused}


@contextlib.contextmanager
def silence() -> Iterator[None]:
    """Keep what compiled readers write to stderr from the terminal."""
    kept = os.dup(2)
    try:
        with open(os.devnull, "w") as nowhere:
            os.dup2(nowhere.fileno(), 2)
            yield
    finally:
        os.dup2(kept, 2)
        os.close(kept)


if __name__ == "__main__":
    if "--work" in sys.argv:
        work()
    elif "--checks" in sys.argv:
        sys.argv.remove("--checks")
        pages.run(__doc__, checks, CHECKS)
    elif "--times" in sys.argv:
        sys.argv.remove("--times")
        pages.run(__doc__, times, TIMES)
    else:
        pages.run(__doc__, tables)
