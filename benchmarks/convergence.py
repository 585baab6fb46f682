"""Convergence of the solvers of the linear-time integrator: iterations a step, and failures.

    python benchmarks/convergence.py [--smoke] [--write docs/convergence.md]

Starts are at random speeds, without damping. Either all joints (and the base) turn at up to 1, 3 or 10 rad/s about each
of their axes, or, on chains, all links do, and the joints turn at the differences. The chains are those of Lee et al.
2016, at angles like theirs. The spherical ones have the same links on ball joints, the first one floating. Floating
mechanisms have no gravity. A run has 1000 steps. When recursive-newton fails, the step is tried again from the state
before it: with shorter dt, to find the longest that is solved, and with other guesses.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pages
import starts
from starts import chains

import vitree as vt

#: All but the default start from the dynamics' prediction; tolerances are the default's.
SOLVERS = {
    "riqn": {"solver": "riqn", "guess": "aba"},
    "modified-newton": {"solver": "modified-newton", "guess": "aba"},
    "recursive-newton": {"solver": "recursive-newton", "guess": "aba"},
    "auto": {"max_halvings": 0},
    "auto, with halves": {},
}
SPEEDS = (1.0, 3.0, 10.0)
STEPS = 1000
#: A part of a failure's message, and its word in the table.
REASONS = {"half a turn": "turn", "stayed above": "residual", "infinite": "not finite", "continues from": "branch"}
#: Speed of the tip of the fast straight chain [m/s].
FAST = 133.0


@dataclass
class Start:
    """A model, a configuration, and a way to draw velocities of a given size."""

    name: str
    model: vt.Model
    q: np.ndarray
    links: bool = False

    def v(self, speed: float) -> np.ndarray:
        """Return velocities of joints or of links, drawn evenly between -speed and speed."""
        model, rng = self.model, np.random.default_rng(1)
        if not self.links:
            return rng.uniform(-speed, speed, model.nv)
        v = np.zeros(model.nv)
        if model.joint(model.joint_names[0]).kind != "free":
            return np.diff(rng.uniform(-speed, speed, model.nv), prepend=0.0)
        last = np.zeros(3)
        for joint, link in zip(model.joint_names, model.link_names, strict=True):
            turning = rng.uniform(-speed, speed, 3)
            v[model.joint(joint).v_slice][-3:] = model.frame_pose(link, self.q)[:3, :3].T @ (turning - last)
            last = turning
        return v


def begin(smoke: bool) -> list[Start]:
    """Return the mechanisms and their starts."""
    found = []
    for n in (10,) if smoke else (10, 50, 100, 200):
        model, (q, _) = chains.chain(n), chains.thrown(n)
        found += [Start(f"chain of {n}, {what}", model, q, what == "links") for what in ("joints", "links")]
    talos, panda = starts.talos(), starts.panda()
    found += [Start("Talos", talos, talos.neutral()), Start("Panda", panda, panda.neutral())]
    for n in (20,) if smoke else (20, 50, 100):
        model = starts.spherical_chain(n)
        angles = np.random.default_rng(0).uniform(-np.pi / 2, np.pi / 2, model.nv)
        q = model.integrate(model.neutral(), angles)
        found += [Start(f"spherical of {n}, {what}", model, q, what == "links") for what in ("joints", "links")]
    return found


def measure(model, q, v, dt: float, steps: int, options: dict) -> tuple[str, vt.ConvergenceError | None]:
    """Return a cell of the table, and the failure if there was one."""
    try:
        run = vt.simulate(model, q, v, duration=steps * dt, dt=dt, record_every=steps, **options)
    except vt.ConvergenceError as failure:
        reason = next(word for text, word in REASONS.items() if text in str(failure))
        return f"**{failure.trajectory.steps + 1} {reason}**", failure
    halved = f", {run.settings['halved']} halved" if run.settings["halved"] else ""
    return f"{run.iterations_total / steps:.2f} ({run.iterations_max}{halved})", None


@dataclass
class Limit:
    """The facts about a step that failed."""

    #: the longest step that can be solved, as a share of dt
    share: float
    #: turn of the fastest body in it [rad]
    turn: float
    #: The distance to the solution of the longest step is a power of the difference of the steps; this is the exponent.
    #: It is 1/2 if two solutions meet at the longest step, and none exists beyond.
    power: float
    #: guesses other than the dynamics' from which the whole step is solved
    guesses: list[str]


def limit(model, q, v, dt: float, failure) -> Limit:
    """Return the facts about a step that recursive-newton failed to solve."""
    done, newton = failure.trajectory.steps, SOLVERS["recursive-newton"]
    if done:
        run = vt.simulate(model, q, v, duration=done * dt, dt=dt, record_every=done, **newton)
        q, p = run.q[-1], run.p[-1]
    else:
        p = model.generalized_momentum(q, v)

    def step(share: float, guess: str = "aba"):
        options = newton | {"guess": guess, "max_iterations": 60}
        try:
            return vt.simulate(model, q, p0=p, duration=share * dt, dt=share * dt, **options).q[-1]
        except vt.ConvergenceError:
            return None

    solved, failed = 1e-3, 1.0
    while failed - solved > 1e-9:
        middle = 0.5 * (solved + failed)
        solved, failed = (middle, failed) if step(middle) is not None else (solved, middle)
    last = step(solved)
    before = np.array([1e-6, 1e-5, 1e-4])
    near = [step(solved - x) for x in before]
    away = [np.nan if q2 is None else np.abs(model.difference(q2, last)).max() for q2 in near]
    turns = [model.frame_pose(link, q)[:3, :3].T @ model.frame_pose(link, last)[:3, :3] for link in model.link_names]
    turn = max(float(np.arccos(np.clip((np.trace(R) - 1) / 2, -1, 1))) for R in turns)
    guesses = [guess for guess in ("euler", "current") if step(1.0, guess) is not None]
    return Limit(solved, turn, float(np.polyfit(np.log(before), np.log(away), 1)[0]), guesses)


def straight_chain() -> tuple[vt.Model, np.ndarray, np.ndarray]:
    """Return 50 upright links, with random speeds of joints that make the tip move at 133 m/s."""
    model, v = chains.chain(50), np.random.default_rng(2).uniform(-1, 1, 50)
    return model, np.zeros(50), v * FAST / abs(chains.LENGTH * np.cumsum(v).sum())


def tables(smoke: bool) -> str:
    """Return all tables in Markdown."""
    lines, failures = [], []
    steps, rule = 30 if smoke else STEPS, "|---" * (1 + len(SOLVERS)) + "|"
    for dt in (1e-3, 1e-2):
        lines += [f"### dt = {dt:g} s, {steps} steps", "", f"| start | {' | '.join(SOLVERS)} |", rule]
        for start in begin(smoke):
            cells = {name: [] for name in SOLVERS}
            for speed in SPEEDS:
                v = start.v(speed)
                for name, options in SOLVERS.items():
                    text, failure = measure(start.model, start.q, v, dt, steps, options)
                    cells[name].append(text)
                    if failure is not None and name == "recursive-newton":
                        failures.append((start, speed, dt, failure))
            lines.append(f"| {start.name} | {' | '.join(' / '.join(row) for row in cells.values())} |")
        lines.append("")

    lines += ["### The fast straight chain of 50 links, 1 s", "", f"| dt | {' | '.join(SOLVERS)} |", rule]
    model, q, v = straight_chain()
    for dt in (1e-2, 5e-3) if smoke else (1e-2, 5e-3, 2e-3, 1e-3):
        row = [measure(model, q, v, dt, round(0.1 / dt if smoke else 1 / dt), way)[0] for way in SOLVERS.values()]
        lines.append(f"| {dt:g} | {' | '.join(row)} |")

    lines += ["", "### Where recursive-newton fails", ""]
    lines += ["| start | speed | dt | step | solved up to, of dt | turn in it [rad] | power | solved from |",
              "|---" * 8 + "|"]  # fmt: skip
    for start, speed, dt, failure in failures:
        found = limit(start.model, start.q, start.v(speed), dt, failure)
        lines.append(f"| {start.name} | {speed:g} | {dt:g} | {failure.trajectory.steps + 1} | {found.share:.3f} "
                     f"| {found.turn:.2f} | {found.power:.2f} | {', '.join(found.guesses) or '-'} |")  # fmt: skip
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    pages.run(__doc__, tables)
