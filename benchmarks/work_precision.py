"""Error against time: vitree's methods beside Pinocchio, MuJoCo and SciPy on one smooth motion.

    python benchmarks/work_precision.py [--smoke] [--plot FILE]

A hanging chain of ten boxes (1 kg, 0.03 x 0.03 x 0.1 m) turning about x and y in alternation is let go with all
joints at 0.1 rad, for 5 s. Error: norm of the difference of all q and v [rad, rad/s] at the end, against DOP853 at
the tightest tolerance. Time: the least of repeats, of stepping alone, one core. vitree and MuJoCo step in
compiled loops; Pinocchio's Runge-Kutta 4 is a loop in Python around pin.aba with every array allocated before, and
SciPy's DOP853 calls pin.aba. The last table gives the time at which a method reaches an error, between its runs
as a power law: the best of vitree's, the best of its variational ones, the best of the peers, and the share of the
peer's time that the first two take. "scipy-dop853" is SciPy's method on vitree's dynamics, and counts as neither.
"""

from __future__ import annotations

import argparse
import time
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
import peers
from scipy.integrate import solve_ivp

import vitree as vt

LINKS, DURATION, ANGLE = 10, 5.0, 0.1
#: Of vitree: label -> method and options.
METHODS = {
    "linear-time": ("linear-time", {}),
    "linear-time, recursive-newton": ("linear-time", {"solver": "recursive-newton"}),
    "linear-time, frozen": ("linear-time", {"solver": "frozen"}),
    "linear-time, riqn": ("linear-time", {"solver": "riqn"}),
    "linear-time, 1e-12": ("linear-time", {"tolerance": 1e-12}),
    "midpoint": ("midpoint", {}),
    "midpoint, recursive-newton": ("midpoint", {"solver": "recursive-newton"}),
    "midpoint, frozen": ("midpoint", {"solver": "frozen"}),
    "midpoint, tree": ("midpoint", {"residual": "tree"}),
    "midpoint, 1e-12": ("midpoint", {"tolerance": 1e-12}),
    "explicit-euler": ("explicit-euler", {}),
    "semi-implicit-euler": ("semi-implicit-euler", {}),
    "rk4": ("rk4", {}),
}
TOLERANCES = [10.0**-k for k in range(2, 14)]


@dataclass
class Point:
    """One run: its steps or tolerance, error, and seconds."""

    setting: str
    error: float
    seconds: float


def chain_urdf() -> str:
    """The hanging chain as URDF text."""
    x, y, z = 0.03, 0.03, 0.1
    ixx, iyy, izz = (y * y + z * z) / 12, (x * x + z * z) / 12, (x * x + y * y) / 12
    inertial = (
        f'<inertial><origin xyz="0 0 {-z / 2}"/><mass value="1"/>'
        f'<inertia ixx="{ixx}" ixy="0" ixz="0" iyy="{iyy}" iyz="0" izz="{izz}"/></inertial>'
    )
    parts = ['<robot name="hanging_chain"><link name="world_link"/>']
    for i in range(LINKS):
        above = f"link{i - 1}" if i else "world_link"
        # hinges with limits out of reach, so that all peers have a single angle as their coordinate
        parts.append(
            f'<link name="link{i}">{inertial}</link><joint name="joint{i}" type="revolute"><parent link="{above}"/>'
            f'<child link="link{i}"/><origin xyz="0 0 {-z if i else 0}"/><axis xyz="{"0 1 0" if i % 2 else "1 0 0"}"/>'
            '<limit lower="-1e3" upper="1e3" effort="1e9" velocity="1e9"/></joint>'
        )
    return "".join(parts) + "</robot>"


class Bench:
    """The start, the reference, and timers of all methods that return the state at the end and seconds."""

    def __init__(self, text: str, repeats: int):
        self.text, self.repeats = text, repeats
        self.model = vt.load_urdf(text)
        self.pin_model = peers.pinocchio_model(text, False)
        self.pin_data = self.pin_model.createData()
        self.start = np.full(LINKS, ANGLE), np.zeros(LINKS)
        reference, check = (
            self.scipy(1e-13, largest_step=DURATION / least, repeats=1)[0] for least in (2000, 3000)
        )  # fmt: skip
        self.reference, self.floor = reference, np.linalg.norm(reference - check)

    def point(self, setting, end, seconds) -> Point:
        return Point(setting, float(np.linalg.norm(end - self.reference)), seconds)

    def vitree(self, method, options, steps: int):
        """vitree's ``simulate``; None if a step fails."""
        seconds = np.inf
        for _ in range(self.repeats):
            try:
                run = vt.simulate(self.model, *self.start, duration=DURATION, dt=DURATION / steps, method=method,
                                  every=steps, **options)  # fmt: skip
            except vt.ConvergenceError:
                return None
            seconds = min(seconds, run.seconds)
        return np.concatenate([run.q[-1], run.v[-1]]), seconds

    def vitree_scipy(self, tolerance: float):
        """vitree's dynamics by SciPy's DOP853."""
        seconds = np.inf
        for _ in range(self.repeats):
            run = vt.simulate(self.model, *self.start, duration=DURATION, dt=DURATION, method="scipy-dop853",
                              rtol=tolerance, atol=tolerance)  # fmt: skip
            seconds = min(seconds, run.seconds)
        return np.concatenate([run.q[-1], run.v[-1]]), seconds

    def pinocchio_rk4(self, steps: int):
        """Runge-Kutta 4 in Python around pin.aba, in the quicker of its conventions."""
        import pinocchio as pin

        model, data, tau, h = self.pin_model, self.pin_data, np.zeros(LINKS), DURATION / steps
        # the rate of the state, the sum of the stages, and the state that a stage is taken at
        x, stage, total, rate, scaled = np.empty((5, 2 * LINKS))
        q, v, turning, speeding = stage[:LINKS], stage[LINKS:], rate[:LINKS], rate[LINKS:]
        parts = ((0.5 * h, h / 6), (0.5 * h, h / 3), (h, h / 3), (0.0, h / 6))
        seconds = np.inf
        for convention in (pin.Convention.LOCAL, pin.Convention.WORLD) * max(1, self.repeats // 2):
            x[:] = np.concatenate(self.start)
            began = time.perf_counter()
            for _ in range(steps):
                stage[:] = x
                total[:] = x
                for ahead, weight in parts:
                    turning[:] = v
                    speeding[:] = pin.aba(model, data, q, v, tau, convention)
                    np.multiply(rate, weight, out=scaled)
                    np.add(total, scaled, out=total)
                    np.multiply(rate, ahead, out=scaled)
                    np.add(x, scaled, out=stage)
                x[:] = total
            seconds = min(seconds, time.perf_counter() - began)
        return x.copy(), seconds

    def mujoco(self, integrator: str, steps: int):
        """MuJoCo's mj_step, looped in C; None if the state does not stay finite and small."""
        import mujoco

        model = peers.mujoco_model(self.text, False, DURATION / steps)
        model.opt.integrator = getattr(mujoco.mjtIntegrator, integrator)
        model.opt.disableflags |= mujoco.mjtDisableBit.mjDSBL_AUTORESET
        data, seconds = mujoco.MjData(model), np.inf
        for _ in range(self.repeats):
            mujoco.mj_resetData(model, data)
            data.qpos[:], data.qvel[:] = self.start
            began = time.perf_counter()
            mujoco.mj_step(model, data, nstep=steps)
            seconds = min(seconds, time.perf_counter() - began)
        end = np.concatenate([data.qpos, data.qvel])
        return (end, seconds) if np.isfinite(end).all() else None

    def scipy(self, tolerance: float, largest_step: float = np.inf, repeats: int | None = None):
        """SciPy's DOP853 on pin.aba."""
        import pinocchio as pin

        model, data, tau, rate = self.pin_model, self.pin_data, np.zeros(LINKS), np.empty(2 * LINKS)

        def field(_, x):
            rate[:LINKS] = x[LINKS:]
            rate[LINKS:] = pin.aba(model, data, x[:LINKS], x[LINKS:], tau)
            return rate.copy()

        seconds = np.inf
        for _ in range(repeats or self.repeats):
            began = time.perf_counter()
            done = solve_ivp(field, (0.0, DURATION), np.concatenate(self.start), method="DOP853", rtol=tolerance,
                             atol=tolerance, t_eval=[DURATION], max_step=largest_step)  # fmt: skip
            seconds = min(seconds, time.perf_counter() - began)
        return done.y[:, -1], seconds


def time_to(points: list[Point], error: float, floor: float) -> float:
    """Seconds at which a method reaches an error: between two runs as a power law; infinite if it does not."""
    sound = [point for point in points if point.error > floor]
    best = min((point.seconds for point in sound[:1] if point.error <= error), default=np.inf)
    for a, b in pairwise(sound):
        if a.error > error >= b.error:
            share = np.log(a.error / error) / np.log(a.error / b.error)
            best = min(best, a.seconds * (b.seconds / a.seconds) ** share)
    return float(best)


def measure(bench: Bench, smoke: bool) -> tuple[dict, dict]:
    """Points of vitree's methods, and of the others."""
    finest = 1 if smoke else 11
    ours: dict[str, list[Point]] = {}
    others: dict[str, list[Point]] = {}

    def add(group, label, setting, result):
        if result is not None:
            group.setdefault(label, []).append(bench.point(setting, *result))

    counts = [250 * 2**k for k in range(finest)]
    for label, (method, options) in METHODS.items():
        for steps in counts:
            add(ours, label, f"{steps}", bench.vitree(method, options, steps))
    for steps in counts[:8]:
        add(others, "pinocchio + rk4", f"{steps}", bench.pinocchio_rk4(steps))
    for label, integrator in (("mujoco euler", "mjINT_EULER"), ("mujoco rk4", "mjINT_RK4")):
        for steps in counts:
            add(others, label, f"{steps}", bench.mujoco(integrator, steps))
    for tolerance in TOLERANCES[:2] if smoke else TOLERANCES:
        add(others, "scipy dop853 + pinocchio", f"{tolerance:.0e}", bench.scipy(tolerance))
        add(others, "scipy-dop853", f"{tolerance:.0e}", bench.vitree_scipy(tolerance))
    return ours, others


def plot(path: str, groups: dict[str, list[Point]], ours) -> None:
    """Error against time of all methods."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(8, 5.5), layout="constrained")
    axes = figure.subplots()
    markers = {True: iter("os^vDdPX*+x<>1234"), False: iter("os^vDdPX")}
    for label, points in groups.items():
        own = label in ours
        style = {"color": "0.0" if own else "0.55", "linestyle": "-" if own else "--", "marker": next(markers[own])}
        axes.loglog([1e3 * p.seconds for p in points], [p.error for p in points], markersize=4, linewidth=1.0,
                    label=label, **style)  # fmt: skip
    axes.set(xlabel="time (ms)", ylabel="error at the end (rad, rad/s)", ylim=(None, 1e2),
             title=f"hanging chain of {LINKS}, {DURATION:g} s")  # fmt: skip
    axes.legend(fontsize="x-small")
    figure.savefig(path, dpi=150)
    print(f"written: {path}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--smoke", action="store_true", help="only see that it runs")
    parser.add_argument("--plot", metavar="FILE", help="also draw error against time")
    arguments = parser.parse_args()
    bench = Bench(chain_urdf(), 1 if arguments.smoke else 5)
    ours, others = measure(bench, arguments.smoke)
    print(f"hanging chain of {LINKS}, {DURATION:g} s; error at the end of q and v; that of the reference is about "
          f"{bench.floor:.0e}")  # fmt: skip
    print(f"{'method':32s}{'steps or tolerance':>20s}{'error':>11s}{'time [ms]':>11s}{'us/step':>9s}")
    for label, points in (ours | others).items():
        for point in points:
            each = f"{1e6 * point.seconds / int(point.setting):9.2f}" if point.setting.isdigit() else f"{'-':>9s}"
            print(f"{label:32s}{point.setting:>20s}{point.error:11.2e}{1e3 * point.seconds:11.3f}{each}")

    # what is as small as the reference's own error cannot be told apart from it
    floor = 3 * bench.floor
    variational = [label for label, (method, _) in METHODS.items() if vt.METHODS[method].symplectic]
    groups = {
        "best of vitree": ours,
        "best variational": {label: points for label, points in ours.items() if label in variational},
        "best peer": {label: points for label, points in others.items() if label != "scipy-dop853"},
    }
    print("\n" + f"{'error':8s}" + "".join(f"{name + ', ms':>42s}" for name in groups) + f"{'of the peer':>24s}")
    for decade in range(1, -12, -1):
        best = [
            min(((time_to(points, 10.0**decade, floor), label) for label, points in group.items()))
            for group in groups.values()
        ]
        cells = [f"{label}{1e3 * seconds:11.3f}" if np.isfinite(seconds) else "-" for seconds, label in best]
        peer = best[-1][0]
        shares = [f"{seconds / peer:.3f}" if np.isfinite(peer + seconds) else "-" for seconds, _ in best[:-1]]
        row = [*(f"{cell:>42s}" for cell in cells), *(f"{share:>12s}" for share in shares)]
        print(f"{10.0**decade:<8.0e}" + "".join(row))
    if arguments.plot:
        plot(arguments.plot, ours | others, ours)


if __name__ == "__main__":
    main()
