"""Writes the tables, the numbers and the pictures that report.tex includes, into the folder ``generated``.

    python paper/report/make_figures.py [--smoke] [--out FOLDER]

Errors, orders, drifts and counts are computed here, in about a minute; they do not depend on the machine. Times, and
results of runs of hours or with other programs, are read from the tables of the manual and of ``benchmarks/README.md``,
whose scripts the report names: a table that has changed its form stops this script. ``--smoke`` computes with short
runs, so the numbers mean nothing, and writes no file unless a folder is given.

The report is then ``pdflatex report && bibtex report && pdflatex report && pdflatex report`` in this folder.
"""

from __future__ import annotations

import argparse
import dataclasses
import re
import sys
import tempfile
from collections.abc import Iterable
from pathlib import Path

import matplotlib
import numpy as np
from matplotlib.figure import Figure
from matplotlib.ticker import NullFormatter

import vitree as vt

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent.parent
sys.path[:0] = [str(ROOT / "tests"), str(ROOT / "benchmarks")]
from random_models import random_flat, random_state  # noqa: E402
from starts import smooth_motion  # noqa: E402

#: Shades, markers and lines that can be told apart in grey.
STYLES = [("#08306b", "o", "-"), ("#4292c6", "s", "-"), ("#d94801", "^", "--"), ("#fd8d3c", "v", "--"),
          ("0.45", "D", ":"), ("0.7", "x", ":")]  # fmt: skip
#: Sizes of text in pictures, those of captions.
SIZES = {"font.size": 8, "axes.titlesize": 8, "axes.labelsize": 8, "xtick.labelsize": 7, "ytick.labelsize": 7}
#: A direction in which frames move and accelerate, along no axis.
ALONG = np.array([0.6, -0.64, 0.48])
MIDDLE = "midpoint, original"


class Writer:
    """Writes files into a folder, and collects the numbers that the text cites."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.numbers = folder, {}
        folder.mkdir(parents=True, exist_ok=True)

    def number(self, name: str, text: str) -> None:
        """A number of the text: the macro of this name."""
        assert name.isalpha() and name not in self.numbers, name
        self.numbers[name] = text

    def table(self, name: str, columns: str, head: list[str], rows: Iterable[list[str]]) -> None:
        """A table, without its caption."""
        lines = [" & ".join(row) + r" \\" for row in rows]
        text = [rf"\begin{{tabular}}{{{columns}}}", r"\toprule", " & ".join(head) + r" \\", r"\midrule", *lines]
        (self.folder / f"{name}.tex").write_text("\n".join([*text, r"\bottomrule", r"\end{tabular}", ""]))

    def picture(self, name: str, figure: Figure) -> None:
        """A picture, the same bytes for the same numbers."""
        figure.savefig(self.folder / f"{name}.pdf", bbox_inches="tight", metadata={"CreationDate": None})

    def end(self) -> None:
        lines = [f"\\newcommand{{\\{name}}}{{{text}}}" for name, text in self.numbers.items()]
        (self.folder / "numbers.tex").write_text("\n".join([*lines, ""]))


def power(x: float, digits: int = 1) -> str:
    """A number as TeX in scientific notation, or plain where it is near one."""
    if x == 0 or 0.01 <= abs(x) < 1000:
        return f"${x:.{digits + 1}g}$"
    mantissa, _, exponent = f"{x:.{digits}e}".partition("e")
    return rf"${mantissa} \cdot 10^{{{int(exponent)}}}$"


def tex(text: str) -> str:
    """A cell of a Markdown table as TeX."""
    text = re.sub(r"(?<![\w.])-(?=[\d.])", "$-$", text.replace("%", r"\,\%").replace(" \\,", r"\,").replace("_", r"\_"))
    text = re.sub(r"(?<![\w.])([\d.]+)e([-+]?\d+)", lambda m: rf"${m[1]} \cdot 10^{{{int(m[2])}}}$", text)
    text = re.sub(r"`([^`]*)`", r"\\texttt{\1}", text.replace("°", r"$^\circ$"))
    return text.replace("$1 \\cdot ", "$")


def tables_of(path: str, heading: str) -> list[list[list[str]]]:
    """The tables below a heading of a Markdown file, as rows of cells."""
    text = (ROOT / path).read_text()
    found = re.search(rf"^#+ {re.escape(heading)}$(.*?)(?=^#+ |\Z)", text, re.M | re.S)
    if found is None:
        raise SystemExit(f"{path} has no heading {heading!r}")
    tables, last = [], False
    for line in found[1].splitlines():
        if line.startswith("|"):
            cells = [cell.strip() for cell in line.strip().strip("|").split("|")]
            if not last:
                tables.append([])
            if not all(set(cell) <= set("-: ") for cell in cells) or not any(cells):
                tables[-1].append(cells)
        last = line.startswith("|")
    return tables


def row_of(path: str, heading: str, start: str, table: int | None = None) -> list[str]:
    """The one row below a heading that begins with a text."""
    tables = tables_of(path, heading)
    rows = [row for k, each in enumerate(tables) if table in (None, k) for row in each if row[0].startswith(start)]
    if len(rows) != 1:
        raise SystemExit(f"{path}, {heading!r}: {len(rows)} rows begin with {start!r}, not one")
    return rows[0]


def axes(figure: Figure, place, xlabel: str, ylabel: str, logs: str = "xy"):
    made = figure.add_subplot(place)
    made.set_xlabel(xlabel)
    made.set_ylabel(ylabel)
    for axis in logs:
        getattr(made, f"set_{axis}scale")("log")
        getattr(made, f"{axis}axis").set_minor_formatter(NullFormatter())
    made.grid(True, color="0.92", linewidth=0.6)
    made.set_axisbelow(True)
    return made


def new_figure(width: float, height: float) -> Figure:
    return Figure(figsize=(width, height), layout="constrained")


def legend_above(figure: Figure, plot, columns: int) -> None:
    handles, labels = plot.get_legend_handles_labels()
    figure.legend(handles, labels, frameon=False, fontsize=7, ncols=columns, loc="outside upper center")


def draw(plot, x, y, style: tuple[str, str, str], label: str, size: float = 4.0) -> None:
    color, marker, line = style
    plot.plot(x, y, color=color, marker=marker, linestyle=line, markersize=size, linewidth=1.1, label=label)


def slope(x, y) -> float:
    """The power of a growth."""
    return float(np.polyfit(np.log(x), np.log(y), 1)[0])


# --- frames -----------------------------------------------------------------


#: Label -> method, options, and whether the theorem covers it.
FORMS = {
    "linear-time, com": ("linear-time", {"kinetic": "com"}, True),
    "the same, order 4": ("linear-time", {"kinetic": "com", "order": 4}, True),
    "midpoint, relative": ("midpoint", {"kinetic": "relative"}, True),
    "Gauss, order 4": ("gauss", {"order": 4}, True),
    "Gauss, order 8": ("gauss", {"order": 8}, True),
    "linear-time, screw": ("linear-time", {"kinetic": "screw"}, False),
    MIDDLE: ("midpoint", {"kinetic": "midpoint"}, False),
}


def floating_tree(seed: int, nbody: int = 6):
    """A tree with a free base and joints of every kind that all methods have, at rest as a whole; no gravity."""
    flat = random_flat(np.random.default_rng(seed), nbody=nbody, base="free", gravity=(0, 0, 0),
                       kinds=("revolute", "prismatic", "helical", "ball"))  # fmt: skip
    v = random_state(flat, np.random.default_rng(seed + 1), speed=1.0)[1]
    v[:3] = 0.0
    return vt.Model(flat), v


def exactly(method: str) -> dict:
    return {"tolerance": 1e-13} | ({} if method == "gauss" else {"norm": "energy"})


def frames(out: Writer, smoke: bool) -> None:
    """Check the theorem: joints in a train, and in a lift, against those on the platform."""
    trees, duration, dt = (2, 0.02, 2e-3) if smoke else (8, 0.5, 2e-3)
    speed, lift = 20.0, 9.81 * ALONG
    rows = []
    for label, (method, options, covered) in FORMS.items():
        apart, parabola = np.zeros(2), 0.0
        for seed in range(trees):
            model, v = floating_tree(seed)
            how = {"duration": duration, "dt": dt, "method": method, **options, **exactly(method)}
            rest = vt.simulate(model, model.neutral(), v, **how)
            moving = v.copy()
            moving[:3] += speed * ALONG
            falls = vt.Model(dataclasses.replace(model.flat, gravity=lift))
            runs = vt.simulate(model, model.neutral(), moving, **how), vt.simulate(falls, model.neutral(), v, **how)
            for k, run in enumerate(runs):
                there = [model.difference(a, b)[3:] for a, b in zip(rest.q, run.q, strict=True)]
                apart[k] = max(apart[k], np.abs(there).max())
            C = np.array([falls.center_of_mass(q) for q in runs[1].q])
            t, u = runs[1].t, falls.center_of_mass_velocity(falls.neutral(), v)
            parabola = max(parabola, np.abs(C - C[0] - np.outer(t, u) - 0.5 * np.outer(t**2, lift)).max())
        rows.append([label if covered else rf"\emph{{{label}}}", power(apart[0]), power(apart[1]), power(parabola)])
        if label == "linear-time, screw":
            out.number("frameScrewTrain", power(apart[0]))
    out.number("frameTrees", str(trees))
    out.table("frames", "lrrr", ["discretisation", "train", "lift", "c.\\,o.\\,m."], rows)


#: Corners of the block that touch the plate.
CORNERS = {0: [], 1: [(0.0, 0.0, -0.05)], 3: [(0.1, 0.0, -0.05), (-0.05, 0.08, -0.05), (-0.05, -0.09, -0.05)],
           4: [(s * 0.1, r * 0.08, -0.05) for s in (-1, 1) for r in (-1, 1)]}  # fmt: skip


def plate_and_block(contacts: int, spring: bool, gravity) -> vt.Model:
    """A block that slides and turns on a plate, both floating, drawn to it by a spring."""
    tree = vt.Tree("plate and block", gravity=tuple(gravity))
    tree.world.add(vt.free("a"), vt.body("plate", 3.0, (0.1, 0.12, 0.2)))
    tree.world.add(vt.free("b"), vt.body("block", 1.0, (0.005, 0.006, 0.007)))
    if spring:
        tree.load(vt.Spring("plate", "block", 80.0, 0.05))
    if contacts:
        feet = [vt.Sphere(0.01, position=corner) for corner in CORNERS[contacts]]
        tree.contact(vt.Contact("plate", shapes=vt.Box((2.0, 2.0, 0.1)), friction=0.4),
                     vt.Contact("block", shapes=feet, friction=0.4))  # fmt: skip
    return tree.compile()


def pairs(out: Writer, smoke: bool) -> None:
    """The theorem with a spring and contacts between two floating bodies."""
    com, relative = ("linear-time", {"kinetic": "com"}), ("midpoint", {"kinetic": "relative"})
    screw = "linear-time", {"kinetic": "screw"}
    cases = [
        ("linear-time, com", com, 1, True, True), ("linear-time, com", com, 3, True, True),
        ("linear-time, com", com, 4, True, False), ("midpoint, relative", relative, 3, False, True),
        ("midpoint, relative", relative, 0, True, False), ("linear-time, screw", screw, 3, True, False),
    ]  # fmt: skip
    rows = []
    for label, (method, options), contacts, spring, covered in cases:
        model = plate_and_block(contacts, spring, (0, 0, 0))
        q, v = model.neutral(), np.zeros(model.nv)
        q[9], v[3:6], v[6:9], v[11] = 0.11, (0.3, -0.2, 0.1), (0.5, 0.3, 0.0 if spring else -0.3), 2.0
        how = {"v0": v, "duration": 0.02 if smoke else 0.5, "dt": 2e-3, "method": method, **options, **exactly(method)}
        rest = vt.simulate(model, q, **how)
        moving = v + np.tile(np.append(20.0 * ALONG, np.zeros(3)), 2)
        lifted = plate_and_block(contacts, spring, 9.81 * ALONG)
        runs = vt.simulate(model, q, **how | {"v0": moving}), vt.simulate(lifted, q, **how)

        def seen(run, model=model):
            plate, block = (np.array([model.frame_pose(name, q) for q in run.q]) for name in ("plate", "block"))
            return np.concatenate([plate[:, :3, :3], block[:, :3, :3], (block - plate)[:, :3, 3:]], axis=2)

        apart = [np.abs(seen(run) - seen(rest)).max() for run in runs]
        what = ["spring"] * spring + [f"{contacts} point" + "s" * (contacts > 1)] * bool(contacts)
        rows.append([label if covered else rf"\emph{{{label}}}", ", ".join(what), *map(power, apart)])
    out.table("pairs", "llrr", ["discretisation", "between the bodies", "train", "lift"], rows)


def train(out: Writer, smoke: bool) -> None:
    """The error of the joints of Talos by the speed of the whole."""
    model = vt.load_urdf(vt.find_robot("talos"), base="free", gravity=(0, 0, 0))
    model = vt.Model(dataclasses.replace(model.flat, friction=None, damping=np.zeros(model.nv)))
    v = np.random.default_rng(4).uniform(-2, 2, model.nv)
    v[:3] = 0.0
    dt, duration = 2e-3, 0.02 if smoke else 1.0
    speeds = np.array([0.1, 100.0]) if smoke else np.geomspace(0.1, 100, 13)
    exact = vt.simulate(model, model.neutral(), v, duration=duration, dt=dt / 10, method="rk8").q[-1]
    ways = {
        "linear-time, screw": ("linear-time", {"kinetic": "screw", "norm": "energy"}),
        "linear-time, com": ("linear-time", {"kinetic": "com"}),
        MIDDLE: ("midpoint", {"kinetic": "midpoint", "norm": "energy"}),
        "midpoint, relative": ("midpoint", {"kinetic": "relative"}),
        "semi-implicit Euler": ("semi-implicit-euler", {}),
        "Gauss, order 4": ("gauss", {"order": 4}),
    }
    figure = new_figure(3.4, 2.9)
    plot = axes(figure, 111, "speed of the whole [m/s]", "error of the joints after 1 s [rad]")
    found = {}
    for (label, (method, options)), (color, marker, line) in zip(ways.items(), STYLES, strict=True):
        errors = []
        for speed in speeds:
            moving = v.copy()
            moving[:3] += speed * ALONG
            run = vt.simulate(model, model.neutral(), moving, duration=duration, dt=dt, method=method, **options)
            errors.append(np.abs(model.difference(run.q[-1], exact)[3:]).max())
        found[label] = np.array(errors)
        draw(plot, speeds, errors, (color, marker, line), label)
    legend_above(figure, plot, 2)
    out.picture("train", figure)
    still, screw, middle = found["linear-time, com"], found["linear-time, screw"], found[MIDDLE]
    out.number("trainCom", power(still[0]))
    out.number("trainComSpread", power(np.ptp(still) / still[0]))
    out.number("trainScrewSlow", power(screw[0]))
    out.number("trainScrewFast", power(screw[speeds <= 21.0][-1]))
    out.number("trainFast", f"{speeds[speeds <= 21.0][-1]:.0f}")
    if not smoke:
        grows = (speeds > 3) & (speeds < 20)
        out.number("trainScrewPower", f"{slope(speeds[grows], screw[grows]):.2f}")
        out.number("trainMiddlePower", f"{slope(speeds[grows], middle[grows]):.2f}")
    else:
        out.number("trainScrewPower", "--")
        out.number("trainMiddlePower", "--")


# --- long runs and order -----------------------------------------------------------------


def long_runs(out: Writer, smoke: bool) -> None:
    """Energy of a chain that swings, and momentum of a figure that floats, over 100,000 steps."""
    steps, dt = (200, 5e-3) if smoke else (100_000, 5e-3)
    chain = vt.load_urdf(vt.find_robot("chain10"))
    figure_ = vt.load_urdf(vt.find_robot("human"), base="free", gravity=(0, 0, 0))
    figure_ = vt.Model(dataclasses.replace(figure_.flat, friction=None, damping=np.zeros(figure_.nv)))
    v = 0.5 * np.random.default_rng(0).standard_normal(figure_.nv)
    ways = {
        "linear-time": ("linear-time", {}), "midpoint": ("midpoint", {}), "Gauss, order 4": ("gauss", {"order": 4}),
        "RK4": ("rk4", {}), "semi-implicit Euler": ("semi-implicit-euler", {}),
    }  # fmt: skip
    figure = new_figure(7.0, 2.5)
    left = axes(figure, 121, "time [s]", "energy error, relative")
    right = axes(figure, 122, "time [s]", "momentum error, relative")
    rows = []
    for (label, (method, options)), (color, _, line) in zip(ways.items(), STYLES, strict=False):
        each = max(steps // 400, 1)
        how = {"method": method, "record_every": each, **options}
        run = vt.simulate(chain, chain.neutral() + 0.3, duration=steps * dt, dt=dt, **how)
        energy = np.abs(run.energy - run.energy[0])[1:] / run.kinetic.max()
        free = vt.simulate(figure_, None, v, duration=steps * dt / 5, dt=dt / 5, **how)
        momentum = np.abs(free.momentum - free.momentum[0]).max(axis=1)[1:] / np.abs(free.momentum[0]).max()
        left.plot(run.t[1:], np.maximum.accumulate(energy), color=color, linestyle=line, linewidth=1.1, label=label)
        right.plot(free.t[1:], np.maximum.accumulate(momentum), color=color, linestyle=line, linewidth=1.1)
        tenth = max(len(energy) // 10, 1)
        signed = (run.energy[1:] - run.energy[0]) / run.kinetic.max()
        drift = signed[-tenth:].mean() - signed[:tenth].mean()
        rows.append([label, power(energy.max()), power(drift), power(momentum.max())])
    legend_above(figure, left, 5)
    out.picture("long", figure)
    out.table("long", "lrrr", ["method", "energy", "change of mean", "momentum"], rows)
    out.number("longVelocities", str(figure_.nv))
    out.number("longSteps", f"{steps:,}".replace(",", r"\,"))


def order(out: Writer, smoke: bool) -> None:
    """Error against the step, of Talos that tumbles."""
    motion = smooth_motion("talos")
    duration = 0.02 if smoke else motion.duration
    start = {"q0": motion.q, "v0": motion.v, "duration": duration}
    fine = {"dt": duration / (20 if smoke else 1000), "method": "gauss", "order": 16, "tolerance": 1e-14}
    exact = vt.simulate(motion.model, **start, **fine)
    ways = {
        "linear-time": ("linear-time", {"tolerance": 1e-12}, 2),
        "linear-time, order 4": ("linear-time", {"order": 4, "tolerance": 1e-12}, 4),
        "Gauss, order 4": ("gauss", {"order": 4, "tolerance": 1e-13}, 4),
        "Gauss, order 8": ("gauss", {"order": 8, "tolerance": 1e-13}, 8),
        "RK4": ("rk4", {}, 4),
        "RK8": ("rk8", {}, 8),
    }
    counts = [2, 4, 8] if smoke else [50, 71, 100, 141, 200, 283, 400, 800]
    shown = [0, 1, 2] if smoke else [2, 4, 6]
    figure = new_figure(3.4, 2.9)
    plot = axes(figure, 111, "step [s]", "error after 1 s")
    rows = []
    for (label, (method, options, expected)), (color, marker, line) in zip(ways.items(), STYLES, strict=True):
        errors = []
        for count in counts:
            run = vt.simulate(motion.model, **start, dt=duration / count, method=method, **options)
            apart = np.concatenate((motion.model.difference(run.q[-1], exact.q[-1]), run.v[-1] - exact.v[-1]))
            errors.append(np.linalg.norm(apart))
        steps, errors = duration / np.array(counts), np.array(errors)
        draw(plot, steps, errors, (color, marker, line), label)
        clear = errors > 5e-10  # several times what the reference resolves
        fitted = f"{slope(steps[clear], errors[clear]):.2f}" if clear.sum() > 1 else "--"
        rows.append([label, str(expected), fitted, *(power(e) for e in errors[shown])])
    legend_above(figure, plot, 2)
    out.picture("order", figure)
    head = ["method", "order", "measured", *(rf"$h = 1/{counts[k]}$" for k in shown)]
    out.table("order", "lrrrrr", head, rows)


# --- contact -----------------------------------------------------------------


def sliding_body():
    """A body that slides and turns on three points, pulled aside."""
    tree = vt.Tree("slider")
    tree.world.add(vt.free("base"), vt.body("slider", 1.0, (0.01, 0.012, 0.02)))
    points = [(0.2, 0.0, -0.05), (-0.1, 0.15, -0.05), (-0.1, -0.15, -0.05)]
    tree.load(vt.Wrench("slider", force=(0.5, 0.0, 0.0)))
    tree.contact(vt.Contact("slider", points=points), vt.Ground(friction=0.3))
    model = tree.compile()
    q = model.neutral()
    q[2] = 0.05
    return model, q, np.array([-0.8, 1.5, 0.0, 0.0, 0.0, 2.0])


def landing_rod(friction: float):
    """A rod that lands on its tip, and slides there; with friction its slip changes direction."""
    tree = vt.Tree("rod")
    tree.world.add(vt.tx("x"), vt.tz("z"), vt.ry("a"), vt.body("rod", 1.0, (1 / 12,) * 3))
    tree.contact(vt.Contact("rod", points=[(0, 0, -0.5)]), vt.Ground(friction=friction))
    return tree.compile(), np.array([0, 0.75, 0.4]), np.array([0.3, -0.5, 0.6])


def contact(out: Writer, smoke: bool) -> None:
    """Orders of sliding and of a landing."""
    figure = new_figure(7.0, 2.5)
    counts = [10, 20] if smoke else [25, 50, 100, 200, 400]
    fine = 80 if smoke else 6400
    plain, located = ("linear-time", {}), ("linear-time", {"max_impacts": 1})
    smooth, rough = landing_rod(0.0), landing_rod(0.3)
    slides = {"linear-time": (plain, sliding_body()), "midpoint": (("midpoint", {}), sliding_body()),
              "semi-implicit Euler": (("semi-implicit-euler", {}), sliding_body())}  # fmt: skip
    lands = {"located": (located, smooth), "not located": (plain, smooth), "located, slip reverses": (located, rough)}
    for place, title, duration, ways, best in (
        (121, "sliding and turning", 0.25, slides, plain), (122, "landing on a tip", 0.48, lands, located),
    ):  # fmt: skip
        plot = axes(figure, place, "step [s]", "error at the end")
        plot.set_title(title, fontsize=9)
        for (label, ((method, options), start)), style in zip(ways.items(), STYLES, strict=False):
            model, q, v = start
            tight = {} if method.startswith("semi") else {"tolerance": 1e-13}
            how = {"q0": q, "v0": v, "duration": duration}
            exact = vt.simulate(model, **how, dt=duration / fine, method=best[0], tolerance=1e-13, **best[1])
            ends = [vt.simulate(model, **how, dt=duration / n, method=method, **options, **tight).q[-1] for n in counts]
            errors = [np.abs(model.difference(end, exact.q[-1])).max() for end in ends]
            steps = duration / np.array(counts)
            fitted = f"{slope(steps, errors):.2f}"
            draw(plot, steps, errors, style, f"{label} ({fitted})")
            words = re.findall("[a-z]+", label.lower())
            out.number(title.split()[0] + "".join(word.capitalize() for word in words), fitted)
        plot.set_ylim(plot.get_ylim()[0] / 30)
        plot.legend(frameon=False, fontsize=7.5, loc="lower right")
    out.picture("contact", figure)


def thrown(out: Writer, smoke: bool) -> None:
    """Gaps of a figure that is thrown on the floor, and its steps."""
    model = vt.load_urdf(vt.find_robot("human"), base="free", ground=vt.Ground(friction=0.6))
    v = np.random.default_rng(2).uniform(-1, 1, model.nv)
    q = vt.place_on_ground(model, model.neutral())
    q[2] += 0.3
    run = vt.simulate(model, q, v, duration=0.3 if smoke else 1.5, dt=1e-3)
    out.number("throwPoints", str(model.contact_gaps(q).gap.size))
    log = run.contacts
    out.number("throwDepth", power(max(-log.gap.min(), 0.0)))
    out.number("throwContacts", f"{len(log.gap):,}".replace(",", r"\,"))
    out.number("throwSteps", f"{run.steps:,}".replace(",", r"\,"))


def scenes(out: Writer) -> None:
    """Errors of scenes with known answers, from docs/scenes.md."""
    chosen = [
        ("sliding-cube", "position error", "cube slides and stops, position"),
        ("incline", "motion of what rests", r"at $1 - 10^{-6}$ of the friction angle, motion"),
        ("rolling", "position error of the balls", "rolling balls, position"),
        ("mass-ratio", "motion", "1000 kg on 1 g, motion"),
        ("bouncing", "energy error", "49 elastic balls, energy"),
        ("cradle", "velocity error", "Newton's cradle, velocity"),
        ("bouncing-ball", "error of the heights", "restitution 0.8, heights of bounces"),
        ("rocking-block", "error of the ratio", "rocking block, Housner's ratio"),
        ("painleve-rod", "error at the end", "Painlevé's rod, end"),
        ("tower", "motion", "ten boxes, 600 s, motion"),
        ("arch", "motion", "arch of 15 wedges, 60 s, motion"),
        ("talos-soles", "creep", "Talos on its soles, 60 s, creep"),
        ("gripper", "slip", "gripper holds a mug, 60 s, slip"),
    ]
    rows = []
    for scene, quantity, label in chosen:
        row = row_of("docs/scenes.md", scene, quantity)
        unit = re.search(r"\[(.*?)\]", row[0])
        rows.append([label + (rf" [{unit[1]}]" if unit else ""), *(tex(x) for x in row[1:4])])
        deep = [r for r in tables_of("docs/scenes.md", scene)[0] if r[0].startswith("penetration")]
        rows[-1] += [tex(deep[0][1]), tex(deep[0][3])] if deep else ["", ""]
    out.table("scenes", "lrrr@{\\hskip 1.6em}rr",
              ["scene, error", "linear-time", "midpoint", "MuJoCo", "depth [m]", "MuJoCo"], rows)  # fmt: skip


def bounded(out: Writer) -> None:
    """Slowest steps, and problems without a solution, from benchmarks/README.md."""
    at, page = "Robots and bodies that move in contact", "benchmarks/README.md"
    (pits,) = (table for table in tables_of(page, at) if table[0][1] == "median")
    rows = [[tex(row[0]), *(tex(x) for x in (row[1], row[3], row[4], row[5], row[6]))] for row in pits[1:]]
    head = ["", r"median [$\mu$s]", r"slowest [$\mu$s]", "with residual", "errors", "depth [m]"]
    out.table("pits", "lrrrrr", head, rows)
    (problems,) = tables_of(page, "Contact problems")
    rows = [[tex(row[k]) for k in (0, 1, 2, 3, 5)] for row in problems[1:]]
    out.table("problems", "lrrrr", ["problems of", "number", "solved", "corrections", "solved from zero"], rows)
    drops = {row[0]: row[1:] for row in tables_of(page, "Random drops")[0][1:]}
    out.number("dropsRuns", drops["runs"][0].replace(",", r"\,"))
    out.number("dropsPits", drops["runs"][1].replace(",", r"\,"))
    out.number("dropsTold", tex(drops["told"][0]))
    out.number("dropsToldPits", tex(drops["told"][1]))
    out.number("dropsEnergy", drops["energy above its start"][0])
    out.number("dropsErrors", drops["errors"][0].split()[0])
    out.number("dropsDeep", drops["a gap below -1e-10 m at a node"][0].split()[0])


# --- reality, solver, times -----------------------------------------------------------------


def reality(out: Writer) -> None:
    """Tosses and the double pendulum, from docs/reality.md and docs/identification.md."""
    (engines,) = tables_of("docs/reality.md", "Errors")[:1]
    rows = [[tex(row[k]) for k in (0, 2, 3, 4, 5, 6, 7)] for row in engines[1:]]
    head = ["engine", "mean", "median", "centre", "angle", "right face", r"difference, 95\,\%"]
    out.table("reality", "lrrrrrr", head, rows)
    for row in engines[1:]:
        out.number(f"friction{row[0]}", re.search(r"friction ([\d.]+)", row[1])[1])
    out.number("realityTosses", re.search(r"same (\d+) tosses", (ROOT / "docs/reality.md").read_text())[1])
    table = tables_of("docs/reality.md", "Errors")[1]
    times = [float(x) for x in table[0][1:]]
    figure = new_figure(7.0, 2.5)
    plot = axes(figure, 121, "time [s]", "distance of corners [widths]", logs="")
    for row, style in zip(table[1:], STYLES, strict=True):
        draw(plot, times, [float(x) for x in row[1:]], style, row[0].replace(" for each toss", ""), 3.0)
    plot.set_ylim(0, 0.58)
    plot.legend(frameon=False, fontsize=6.5, loc="upper left")
    pairs = tables_of("docs/reality.md", "What rigid contact explains")[0]
    other = axes(figure, 122, "time [s]", "distance of pairs [widths]", logs="")
    for row, style in zip(pairs[1:], STYLES[::2], strict=False):
        draw(other, [float(x) for x in pairs[0][1:]], [float(x) for x in row[1:]], style, row[0], 3.0)
    other.legend(frameon=False, fontsize=7)
    other.set_ylim(0)
    out.picture("reality", figure)
    windows = tables_of("docs/reality.md", "What it does not explain")[0]
    rows = [[tex(row[0].replace(" after the first touch", "")), tex(row[1]), tex(row[2]), tex(row[3]), tex(row[4])]
            for row in windows[1:]]  # fmt: skip
    out.table("windows", "lrrrr", ["time", "friction", "95\\,\\%", "restitution", "95\\,\\%"], rows)
    pendulum = tables_of("docs/identification.md", "A real double pendulum")[0]
    out.table("pendulum", "llrrr", ["fitted to runs", "predicted runs", "laboratory", "identified", "ratio"],
              [row[:5] for row in pendulum[1:]])  # fmt: skip
    shares = [float(row[4]) for row in pendulum[1:]]
    out.number("pendulumLeast", f"{min(shares):.2f}")
    out.number("pendulumMost", f"{max(shares):.2f}")


def solver(out: Writer) -> None:
    """Iterations by solver, and growth with links, from docs/convergence.md and benchmarks/README.md."""
    rows, failed = [], re.compile(r"\*\*.*?\*\*")
    for heading, dt in (("dt = 0.001 s, 1000 steps", "1"), ("dt = 0.01 s, 1000 steps", "10")):
        for start in ("chain of 10, links", "chain of 100, links", "spherical of 50, links", "Talos"):
            row = row_of("docs/convergence.md", heading, start)
            cells = [" / ".join(failed.sub("--", each).partition(" (")[0] for each in cell.split(" / "))
                     for cell in (row[1], row[3], row[5])]  # fmt: skip
            rows.append([dt, start, *cells])
    out.table("solver", "rlrrr", ["$h$ [ms]", "start", "RIQN", "exact Newton", "default"], rows)
    page = "benchmarks/README.md"
    growth = tables_of(page, "The chain of Lee et al. 2016, dt = 1e-3, microseconds a step")[0]
    out.number("growthPower", growth[1][-1])
    out.number("growthDense", growth[4][-1])
    out.number("growthTen", growth[1][2])
    out.number("growthMost", growth[1][-2])
    assert [growth[k][0] for k in (1, 4)] == ["`linear-time` (auto)", "newton (dense)"]


def times(out: Writer) -> None:
    """Steps beside MuJoCo's, and times for an error, from benchmarks/README.md."""
    page = "benchmarks/README.md"
    table = tables_of(page, "Steps at dt = 1e-3, microseconds a step")[0]
    shares = lambda row: [re.search(r"\(([\d.]+)\)", cell)[1] for cell in row[1:]]  # noqa: E731
    base = next(row for row in table if row[0] == "MuJoCo Euler")
    rows = [[r"MuJoCo, Euler [$\mu$s]", *base[1:]]]
    named = {"`linear-time` (auto)": "linear-time", "`linear-time`, recursive-newton": "linear-time, exact Newton",
             "`linear-time`, riqn": "linear-time, RIQN", "`midpoint` (auto)": "midpoint", "`rk4`": "RK4"}  # fmt: skip
    for name, label in named.items():
        rows.append([label, *shares(next(row for row in table if row[0] == name))])
    rk4 = next(row for row in table if row[0] == "MuJoCo RK4")
    rows.append(["MuJoCo, RK4", *(f"{float(a) / float(b):.2f}" for a, b in zip(rk4[1:], base[1:], strict=True))])
    out.table("steps", "lrrr", ["step", "chain of 10", "chain of 30", "Talos"], rows)
    table = tables_of(page, "Error against time")[0]
    kept = [row for row in table[1:] if row[1] in ("1e-2", "1e-4", "1e-6", "1e-8")]
    rows = []
    for row in kept:
        way, peer = re.search(r"\((.*)\)", row[2])[1], re.search(r"\((.*)\)", row[5])[1]
        rows.append([tex(row[0]), tex(row[1]), "Gauss, " + tex(way), tex(row[6]), tex(row[7]), peer])
    head = ["motion", "error", "best variational", "/ RK8", "/ peer", "best peer"]
    out.table("precision", "llllll", head, rows)
    talos = next(row for row in table if row[:2] == ["Talos", "1e-8"])
    out.number("talosPeer", talos[7])
    out.number("talosRk", talos[6])
    table = next(t for t in tables_of(page, "Robots and bodies that move in contact") if t[0][1] == "1 ms")
    kept = ("a ", "10 balls", "50 balls", "quadrupeds that stand: 1", "piles of ten balls at rest: 1")
    rows = [[tex(row[0]), *(re.search(r"\(([\d.]+)\)", cell)[1] if cell else "" for cell in row[1:])]
            for row in table[1:] if row[0].startswith(kept) and not row[0].endswith("10")]  # fmt: skip
    out.table("moving", "lrrrr", ["", "1 ms", "2 ms", "5 ms", "10 ms"], rows)
    table = tables_of(page, "A humanoid in flight, driven")[0]
    for name, key in (("vitree `linear-time`", "Ours"), ("MuJoCo `implicitfast`", "Peer")):
        row = next(each for each in table if each[0] == name)
        out.number(f"flightError{key}", tex(row[1]))
        out.number(f"flightTurn{key}", tex(row[4]))
    table = tables_of(page, "Trajectory optimisation")[1]
    for key, start in (("Arm", "a UR5"), ("Rotor", "a quadrotor"), ("Pole", "a pole")):
        out.number(f"optimal{key}", next(row for row in table if row[0].startswith(start))[3])
    row = row_of(page, "Derivatives of steps along a run, dt = 5e-3, microseconds a step", "**talos**")
    out.number("linearizeTalos", re.search(r"\(([\d.]+)\)", row[3])[1])
    out.number("linearizePinocchio", re.search(r"\(([\d.]+)\)", row[6])[1])
    out.number("gradientTalos", re.search(r"\(([\d.]+)\)", row[5])[1])


def derivatives(out: Writer, smoke: bool) -> None:
    """How far steps of random trees are from symplectic, by their exact derivatives."""
    worst = {}
    for seed in range(2 if smoke else 8):
        model, v = floating_tree(seed)
        for method in ("linear-time", "midpoint"):
            run = vt.simulate(model, model.neutral(), v, duration=0.04, dt=0.02, method=method, tolerance=1e-14)
            found = run.linearize()
            off = np.abs(found.A.swapaxes(-1, -2) @ found.form(end=True) @ found.A - found.form()).max()
            size = np.abs(found.A).max() ** 2 * np.abs(found.form()).max()
            worst[method] = max(worst.get(method, 0.0), off / size)
    out.number("symplecticLinear", power(worst["linear-time"]))
    out.number("symplecticMidpoint", power(worst["midpoint"]))


def main(arguments: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--smoke", action="store_true", help="short runs, whose numbers mean nothing")
    parser.add_argument("--out", type=Path, help="the folder to write to")
    asked = parser.parse_args(arguments)
    with matplotlib.rc_context(SIZES), tempfile.TemporaryDirectory() as unused:
        folder = asked.out or (Path(unused) if asked.smoke else HERE / "generated")
        out = Writer(folder)
        for part in (frames, pairs, train, long_runs, order, contact, thrown, derivatives):
            part(out, asked.smoke)
        for part in (scenes, bounded, reality, solver, times):
            part(out)
        out.end()
        print(f"{len(list(folder.iterdir()))} files, {sum(p.stat().st_size for p in folder.iterdir()) / 1e3:.0f} kB")


if __name__ == "__main__":
    main()
