"""Error against time: vitree's methods beside Pinocchio, MuJoCo and SciPy on one smooth motion.

    python benchmarks/work_precision.py [--smoke] [--plot FILE]

A hanging chain of ten boxes (1 kg, 0.03 x 0.03 x 0.1 m) turning about x and y in alternation is let go with all
joints at 0.1 rad, for 5 s. The error is the norm of the difference of all q and v [rad, rad/s] at the end to DOP853 at
the tightest tolerance. The time is the least of several repeats, of stepping alone, on one core. Steps are halved until
the error reaches the reference's, or falls no more, or a run gets long. vitree and MuJoCo step in compiled loops.
Pinocchio's Runge-Kutta 4 is a loop in Python around pin.aba, with every array allocated before. SciPy's DOP853 calls
pin.aba.
The variational methods are there by solver at order 2, and as compositions of orders 4, 6 and 8 (5, 9 and 17 substeps
a step). "gauss" has steps of order 4 to 16; "1e-6" is its tolerance. "rk8" is the eighth-order Runge-Kutta method
that DOP853 is built on, twelve forward dynamics a step, with a fixed step and in compiled code; it keeps neither
momentum nor energy. The last table gives the time at which a method reaches an error, between its runs as a power
law: the best of vitree's, the best of its variational ones, the best of the peers, and the share of the peer's time
that the first two take. "scipy-dop853" is SciPy's method on vitree's dynamics, and counts as neither.
"""

from __future__ import annotations

import argparse
import time
from dataclasses import dataclass
from itertools import cycle, pairwise

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
    **{f"{method}, order {order}": (method, {"order": order}) for method in ("linear-time", "midpoint")
       for order in (4, 6, 8)},
    **{f"gauss, order {order}": ("gauss", {"order": order}) for order in (4, 8, 12, 16)},
    "gauss, order 8, 1e-6": ("gauss", {"order": 8, "tolerance": 1e-6}),
    "explicit-euler": ("explicit-euler", {}),
    "semi-implicit-euler": ("semi-implicit-euler", {}),
    "rk4": ("rk4", {}),
    "rk8": ("rk8", {}),
}  # fmt: skip
#: Steps of the coarsest run, and of methods of order 4 and up; how often they are halved at most, and where a way
#: only shows what its solver costs.
COARSEST, COARSEST_OF_HIGH, HALVINGS, HALVINGS_OF_SOLVERS = 125, 62, 11, 8
#: Seconds: after which a run is not halved again, nor repeated.
LONG, ENOUGH = 0.3, 0.6
TOLERANCES = [10.0**-k for k in range(2, 14)]


@dataclass
class Point:
    """The steps or tolerance, the error and the seconds of one run."""

    setting: str
    error: float
    seconds: float


def chain_urdf() -> str:
    """Return the hanging chain as URDF text."""
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
    """The start, the reference, and a timer for each method, which returns the last state and the seconds."""

    def __init__(self, text: str, repeats: int):
        self.text, self.repeats = text, repeats
        self.model = vt.load_urdf(text)
        self.pin_model = peers.pinocchio_model(text, False)
        self.pin_data = self.pin_model.createData()
        self.start = np.full(LINKS, ANGLE), np.zeros(LINKS)
        reference, check = (
            self.scipy(1e-13, largest_step=DURATION / least)[0] for least in (2000, 3000)
        )  # fmt: skip
        self.reference, self.floor = reference, np.linalg.norm(reference - check)

    def least(self, run):
        """Repeat ``run``, which returns the state at the end and seconds: the state and the least seconds."""
        best, spent = np.inf, 0.0
        for _ in range(self.repeats):
            end, seconds = run()
            best, spent = min(best, seconds), spent + seconds
            if spent > ENOUGH:
                break
        return end, best

    def point(self, setting, end, seconds) -> Point:
        return Point(setting, float(np.linalg.norm(end - self.reference)), seconds)

    def vitree(self, method, options, steps: int):
        """Time vitree's ``simulate``; None if a step fails."""

        def run():
            done = vt.simulate(self.model, *self.start, duration=DURATION, dt=DURATION / steps, method=method,
                               every=steps, **options)  # fmt: skip
            return np.concatenate([done.q[-1], done.v[-1]]), done.seconds

        try:
            return self.least(run)
        except vt.ConvergenceError:
            return None

    def vitree_scipy(self, tolerance: float):
        """Time vitree's dynamics by SciPy's DOP853."""

        def run():
            done = vt.simulate(self.model, *self.start, duration=DURATION, dt=DURATION, method="scipy-dop853",
                               rtol=tolerance, atol=tolerance)  # fmt: skip
            return np.concatenate([done.q[-1], done.v[-1]]), done.seconds

        return self.least(run)

    def pinocchio_rk4(self, steps: int):
        """Time Runge-Kutta 4 in Python around pin.aba, in the quicker of its conventions."""
        import pinocchio as pin

        model, data, tau, h = self.pin_model, self.pin_data, np.zeros(LINKS), DURATION / steps
        # the rate of the state, the sum of the stages, and the state that a stage is taken at
        x, stage, total, rate, scaled = np.empty((5, 2 * LINKS))
        q, v, turning, speeding = stage[:LINKS], stage[LINKS:], rate[:LINKS], rate[LINKS:]
        parts = ((0.5 * h, h / 6), (0.5 * h, h / 3), (h, h / 3), (0.0, h / 6))
        conventions = cycle((pin.Convention.LOCAL, pin.Convention.WORLD))

        def run():
            convention = next(conventions)
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
            return x.copy(), time.perf_counter() - began

        return self.least(run)

    def mujoco(self, integrator: str, steps: int):
        """Time MuJoCo's mj_step, looped in C; None if the state does not stay finite and small."""
        import mujoco

        model = peers.mujoco_model(self.text, False, DURATION / steps)
        model.opt.integrator = getattr(mujoco.mjtIntegrator, integrator)
        model.opt.disableflags |= mujoco.mjtDisableBit.mjDSBL_AUTORESET
        data = mujoco.MjData(model)

        def run():
            mujoco.mj_resetData(model, data)
            data.qpos[:], data.qvel[:] = self.start
            began = time.perf_counter()
            mujoco.mj_step(model, data, nstep=steps)
            return np.concatenate([data.qpos, data.qvel]), time.perf_counter() - began

        end, seconds = self.least(run)
        return (end, seconds) if np.isfinite(end).all() else None

    def scipy(self, tolerance: float, largest_step: float = np.inf):
        """Time SciPy's DOP853 on pin.aba."""
        import pinocchio as pin

        model, data, tau, rate = self.pin_model, self.pin_data, np.zeros(LINKS), np.empty(2 * LINKS)

        def field(_, x):
            rate[:LINKS] = x[LINKS:]
            rate[LINKS:] = pin.aba(model, data, x[:LINKS], x[LINKS:], tau)
            return rate.copy()

        def run():
            began = time.perf_counter()
            done = solve_ivp(field, (0.0, DURATION), np.concatenate(self.start), method="DOP853", rtol=tolerance,
                             atol=tolerance, t_eval=[DURATION], max_step=largest_step)  # fmt: skip
            return done.y[:, -1], time.perf_counter() - began

        return self.least(run)


def time_to(points: list[Point], error: float, floor: float) -> float:
    """Return the seconds in which a method reaches an error, by a power law between runs; infinite if it does not."""
    sound = [point for point in points if point.error > floor]
    best = min((point.seconds for point in sound[:1] if point.error <= error), default=np.inf)
    for a, b in pairwise(sound):
        if a.error > error >= b.error:
            share = np.log(a.error / error) / np.log(a.error / b.error)
            best = min(best, a.seconds * (b.seconds / a.seconds) ** share)
    return float(best)


def shows_a_solver(label) -> bool:
    """Return whether a method of vitree differs from another one in its solver or residual only."""
    return any(key in METHODS.get(label, (None, {}))[1] for key in ("solver", "residual"))


def measure(bench: Bench, smoke: bool) -> tuple[dict, dict]:
    """Return the points of vitree's methods, and of the others."""
    ours: dict[str, list[Point]] = {}
    others: dict[str, list[Point]] = {}

    def refine(group, label, run, coarsest=COARSEST, halvings=HALVINGS):
        """Halve the step while this pays."""
        points = group.setdefault(label, [])
        for steps in [coarsest * 2**k for k in range(1 if smoke else halvings + 1)]:
            result = run(steps)
            if result is None:
                continue
            points.append(bench.point(f"{steps}", *result))
            risen = len(points) > 2 and 1e-3 > points[-1].error > 0.5 * points[-3].error
            if points[-1].error < bench.floor or points[-1].seconds > LONG or risen:
                break

    for label, (method, options) in METHODS.items():
        high = max(vt.METHODS[method].order, options.get("order", 2)) >= 4
        refine(ours, label, lambda steps, m=method, o=options: bench.vitree(m, o, steps),
               COARSEST_OF_HIGH if high else COARSEST,
               HALVINGS_OF_SOLVERS if shows_a_solver(label) else HALVINGS)  # fmt: skip
    refine(others, "pinocchio + rk4", bench.pinocchio_rk4, COARSEST_OF_HIGH)
    refine(others, "mujoco euler", lambda steps: bench.mujoco("mjINT_EULER", steps))
    refine(others, "mujoco rk4", lambda steps: bench.mujoco("mjINT_RK4", steps), COARSEST_OF_HIGH)
    for tolerance in TOLERANCES[:2] if smoke else TOLERANCES:
        for label, run in (("scipy dop853 + pinocchio", bench.scipy), ("scipy-dop853", bench.vitree_scipy)):
            others.setdefault(label, []).append(bench.point(f"{tolerance:.0e}", *run(tolerance)))
    return ours, others


def plot(path: str, groups: dict[str, list[Point]], ours) -> None:
    """Error against time of all methods, with the default solver."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(8, 5.5), layout="constrained")
    axes = figure.subplots()
    markers = {own: cycle("os^vDdPX*+x<>1234") for own in (True, False)}
    for label, points in groups.items():
        if shows_a_solver(label):
            continue
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
