"""Energy errors of adaptive steps: where they pay, where they do not, and rules that never work.

    python benchmarks/adaptive.py [--smoke] [--write docs/adaptive.md]

The midpoint integrator on a planet's orbit and on chains of uniform rods of 1 m and 1 kg that start at rest: 1e5
steps, with dt such that the mean step is the same for all rules. "fixed", "step density" and "Sundman" are options of
vitree. The other rules are written here in Python, for comparison. "naive" takes dt rate/sqrt(rate^2 + |v|^2) of the
state at the start of a step. "levels" takes the dt/2^k nearest to it. "symmetric" takes its mean over both ends, and
solves for it.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pages

import vitree as vt
from vitree.integrators.base import Records

STEPS = 100_000


def rods(n: int) -> vt.Model:
    """Return a chain of uniform rods, all turning about y."""
    tree = vt.Tree(f"{n} rods")
    at = tree.world
    for k in range(n):
        rod = vt.body(f"rod{k}", 1.0, inertia=(1 / 12, 1 / 12, 0.0), com=(0.0, 0.0, -0.5))
        at = at.add(vt.ry(f"joint{k}"), rod).add(vt.tz(-1.0))
    return tree.compile()


def orbit() -> vt.Model:
    """Return a planet of unit mass around a sun that attracts it by 1/r^2."""
    tree = vt.Tree("orbit", gravity=(0, 0, 0))
    tree.world.add(vt.tx("x"), vt.ty("y"), vt.body("planet", 1.0))
    tree.load(vt.Attraction("world", "planet", 1.0, 1.0, constant=1.0))
    return tree.compile()


@dataclass
class Case:
    """A mechanism, its start, and the numbers that its rules need."""

    name: str
    model: vt.Model
    q: np.ndarray
    v: np.ndarray
    #: mean step [s]
    mean: float
    #: of the step density [1/s]
    rate: float
    #: of the Sundman scheme [kg m^2]
    inertia: float
    steps: int

    def usual(self) -> vt.Trajectory:
        """Return the motion by equal steps."""
        return vt.simulate(self.model, self.q, self.v, duration=self.steps * self.mean, dt=self.mean, method="midpoint")


def cases(smoke: bool) -> list[Case]:
    """Return the mechanisms of the table."""
    steps, two, ten = 200 if smoke else STEPS, rods(2), rods(10)
    start, at_rest, bent = np.array([2.5, 1.0]), np.zeros(2), np.pi / 4 * np.eye(10)[0]
    return [
        Case("orbit of eccentricity 0.9, 1000 steps a turn", orbit(), np.array([1.9, 0.0]),
             np.array([0.0, np.sqrt(0.1 / 1.9)]), 2e-3 * np.pi, 1.0, 1.0, steps),
        Case("2 rods from (2.5, 1), 0.01 s", two, start, at_rest, 0.01, 3.0, 1.0, steps),
        Case("the same, 0.02 s", two, start, at_rest, 0.02, 3.0, 1.0, steps),
        Case("10 rods from pi/4, 0.003 s", ten, bent, np.zeros(10), 0.003, 3.0, 20.0, steps),
    ]  # fmt: skip


class Driver:
    """The midpoint integrator, one step at a time."""

    def __init__(self, case: Case, dt: float):
        model = self.model = case.model
        self.rate, self.integrator = case.rate, vt.METHODS["midpoint"](model, dt, max_halvings=0)
        self.state = case.q, model.generalized_momentum(case.q, case.v)
        self.row = Records(np.empty(1), np.empty((1, model.nq)), np.empty((1, model.nv)), np.zeros(1, np.intc),
                           np.zeros(1), np.empty((1, 0)), 0)  # fmt: skip
        self.integrator.start(0.0, *self.state)

    def step(self, h: float):
        """Take a step of h; return the state (q, p)."""
        self.row.rows = 0
        self.integrator.vary(np.array([h]), np.array([0.0, h]))
        self.integrator.run(self.row, 1, 1, None)
        return self.row.q[0].copy(), self.row.x[0].copy()

    def wanted(self, q, p, dt: float) -> float:
        """Return the step that suits a state."""
        v = self.model.velocity_from_momentum(q, p)
        return dt * self.rate / np.sqrt(self.rate**2 + v @ v)


def naive(driver: Driver, state, dt: float):
    return driver.step(driver.wanted(*state, dt))


def levels(driver: Driver, state, dt: float):
    return driver.step(dt * 2.0 ** round(np.log2(driver.wanted(*state, dt) / dt)))


def symmetric(driver: Driver, state, dt: float):
    """h = (wanted at the start + wanted at the end)/2, by the secant method."""
    first = driver.wanted(*state, dt)
    tried: list[tuple[float, float]] = []
    h = first
    for _ in range(12):
        driver.integrator.start(0.0, *state)
        end = driver.step(h)
        miss = 0.5 * (first + driver.wanted(*end, dt)) - h
        if abs(miss) < 1e-13:
            break
        tried.append((h, miss))
        (a, fa), (b, fb) = tried[-2:] if len(tried) > 1 else ((0.0, 0.0), (h, -1.0))
        h = h + miss if len(tried) == 1 or fa == fb else b - fb * (b - a) / (fb - fa)
    return end


def driven(rule):
    """Return the mean step, the energies, and the number of the step that failed (or 0) of a run by a rule."""

    def run(case: Case, dt: float):
        driver = Driver(case, dt)
        states, total, failed = [driver.state], 0.0, 0
        for k in range(case.steps):
            try:
                states.append(rule(driver, states[-1], dt))
            except vt.ConvergenceError:
                failed = k + 1
                break
            total += driver.integrator.stepper.h
        q, p = (np.array(x) for x in zip(*states, strict=True))
        energies = case.model._energies(q, case.model._constrained_velocities(q, p))
        return total / (len(q) - 1), energies[:, 0] + energies[:, 1], failed

    return run


def option(**more):
    """Return the same for a run by simulate()."""

    def run(case: Case, dt: float):
        chosen = {"method": "midpoint", "max_halvings": 0, **more}
        if more:
            chosen["rate"] = case.rate
        if more.get("adapt") == "sundman":
            chosen["inertia"] = case.inertia
        try:
            traj, failed = vt.simulate(case.model, case.q, case.v, duration=case.steps * case.mean, dt=dt, **chosen), 0
        except vt.ConvergenceError as failure:
            traj, failed = failure.trajectory, failure.trajectory.steps + 1
        return float(traj.t[-1] / (len(traj) - 1)), traj.energy, failed

    return run


def suited(case: Case, traj: vt.Trajectory) -> np.ndarray:
    """Return the steps that suit the speeds, over dt."""
    return case.rate / np.sqrt(case.rate**2 + (traj.v**2).sum(axis=1))


#: runs, and steps over dt along a motion
SCHEMES = {
    "fixed": (option(), lambda case, traj: np.ones_like(traj.t)),
    "naive": (driven(naive), suited),
    "levels": (driven(levels), lambda case, traj: 2.0 ** np.round(np.log2(suited(case, traj)))),
    "symmetric": (driven(symmetric), suited),
    "step density": (option(adapt="density"), suited),
    "Sundman": (option(adapt="sundman"),
                lambda case, traj: case.rate / np.sqrt(case.rate**2 + 2 * traj.kinetic / case.inertia)),
}  # fmt: skip


def cell(scheme: str, case: Case, usual: vt.Trajectory) -> str:
    """Return the band of the energy's error and the means of its first and last tenth, at dt for a mean step."""
    run, shape = SCHEMES[scheme]
    dt = case.mean * float(np.mean(1 / shape(case, usual)))
    found, energy, failed = run(case, dt)
    if failed:
        return f"fails at step {failed}"
    error, tenth = energy - energy[0], len(energy) // 10
    means = f"{error[:tenth].mean():.2g}, {error[-tenth:].mean():.2g}"
    return f"[{error.min():.2g}, {error.max():.2g}] {means} ({1e3 * dt:.3g}, {1e3 * found:.3g})"


def table(smoke: bool) -> str:
    """Return the table in Markdown."""
    every = [(case, case.usual()) for case in cases(smoke)]
    lines = [f"| | {' | '.join(case.name for case, _ in every)} |", "|---" * (len(every) + 1) + "|"]
    for scheme in SCHEMES:
        cells = [cell(scheme, *case) for case in every]
        lines.append(f"| {scheme} | {' | '.join(cells)} |")
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    pages.run(__doc__, table)
