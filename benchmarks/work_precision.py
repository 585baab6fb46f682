"""Error against time: vitree's methods beside Pinocchio, MuJoCo and SciPy on smooth motions.

    python benchmarks/work_precision.py [--case chain10|chain30|talos|kinova|centauro|all] [--gauss] [--smoke]
                                        [--plot FILE]

Hanging chains of 10 and 30 boxes (1 kg, 0.03 x 0.03 x 0.1 m) turn about x and y in alternation. They are let go with
all joints at 0.1 rad, for 5 s. Talos has a free base, and no friction and damping. It tumbles and falls for 1 s: all
velocities begin as 1.5 times standard normal numbers of seed 0. Kinova, on its base, for 0.5 s, and Centauro, as Talos,
start in the same way; they are not among "all" but of --gauss. The error is the norm of the difference of all q and v
[rad, rad/s; m, m/s] at the end to the reference. The reference is gauss of order 16, tolerance 1e-14, with small steps.
Its difference to rk8 with small steps is printed. Errors below three times this floor cannot be told apart from it.

The time is the least of several repeats in three rounds, of stepping alone, on one core. Steps are halved, from order 4
on shortened by the square root of two, until the error reaches the floor, or falls no more, or a run gets long. vitree
and MuJoCo step in compiled loops. Pinocchio's Runge-Kutta 4 is a loop in Python around pin.aba, with every array
allocated before. SciPy's DOP853 calls pin.aba. A free base has there the rates of its quaternion as four numbers.

The variational methods are there at order 2, and as compositions of orders 4, 6 and 8 (5, 9 and 17 substeps a step);
on chain10 also by solver. "gauss" has steps of order 4 to 16; "1e-6" and "1e-13" are
tolerances. "rk8" is the eighth-order
Runge-Kutta method that DOP853 is built on, twelve forward dynamics a step, with a fixed step and in compiled code; it
keeps neither momentum nor energy. The last tables give the time at which a method reaches an error, between its runs as
a power law: the best of vitree's, the best of its variational ones, gauss of order 8 and the best of the peers; then
shares of the best peer's time, and of rk8's. "scipy-dop853" is SciPy's method on vitree's dynamics, and counts as
neither. --gauss measures gauss and rk8 alone, in turns: shares of rk8's time by order and tolerance, with the lanes of
VITREE_WIDTH.
"""

from __future__ import annotations

import argparse
import time
from dataclasses import dataclass
from itertools import cycle, pairwise

import numpy as np
import peers
from scipy.integrate import solve_ivp
from starts import Motion, smooth_motion

import vitree as vt
from vitree import _core

CASES = "chain10", "chain30", "talos"
#: More, of --gauss.
ALL_CASES = (*CASES, "kinova", "centauro")
#: Of vitree: label -> method and options.
METHODS = {
    "linear-time": ("linear-time", {}),
    "linear-time, 1e-12": ("linear-time", {"tolerance": 1e-12}),
    "midpoint": ("midpoint", {}),
    "midpoint, 1e-12": ("midpoint", {"tolerance": 1e-12}),
    **{f"{method}, order {order}": (method, {"order": order}) for method in ("linear-time", "midpoint")
       for order in (4, 6, 8)},
    **{f"gauss, order {order}": ("gauss", {"order": order}) for order in (4, 6, 8, 12, 16)},
    "gauss, order 8, 1e-6": ("gauss", {"order": 8, "tolerance": 1e-6}),
    "gauss, order 8, 1e-13": ("gauss", {"order": 8, "tolerance": 1e-13}),
    "explicit-euler": ("explicit-euler", {}),
    "semi-implicit-euler": ("semi-implicit-euler", {}),
    "rk4": ("rk4", {}),
    "rk8": ("rk8", {}),
}  # fmt: skip
#: The same that differ in their solver or residual only; on chain10.
SOLVERS = {
    "linear-time, recursive-newton": ("linear-time", {"solver": "recursive-newton"}),
    "linear-time, modified-newton": ("linear-time", {"solver": "modified-newton"}),
    "linear-time, riqn": ("linear-time", {"solver": "riqn"}),
    "midpoint, recursive-newton": ("midpoint", {"solver": "recursive-newton"}),
    "midpoint, modified-newton": ("midpoint", {"solver": "modified-newton"}),
    "midpoint, tree": ("midpoint", {"residual": "tree"}),
}
EVERY = METHODS | SOLVERS
GAUSS_8, RK8, DOP853_OURS = "gauss, order 8", "rk8", "scipy-dop853"
#: Label -> colour, marker and line of the picture, as shades of one colour for one family.
STYLES = {
    **{f"gauss, order {order}": (colour, marker, "-") for order, colour, marker in
       ((4, "#9ecae1", "o"), (8, "#4292c6", "s"), (12, "#08519c", "^"), (16, "#08204a", "D"))},
    **{f"linear-time{order}": (colour, marker, "-") for order, colour, marker in
       (("", "#a1d99b", "o"), (", order 4", "#41ab5d", "s"), (", order 8", "#00501e", "D"))},
    "rk4": ("#fdae6b", "v", "-"),
    "rk8": ("#d94801", "v", "-"),
    "mujoco rk4": ("0.65", "x", "--"),
    "pinocchio + rk4": ("0.45", "+", "--"),
    "scipy dop853 + pinocchio": ("0.1", "*", "--"),
}  # fmt: skip
#: Steps a second of the coarsest run, and of the coarsest of order 4 and up, by whether the base is free.
COARSEST, COARSEST_OF_HIGH = {False: 25, True: 40}, {False: 6, True: 8}
#: How often steps are shortened at most.
REFINEMENTS = 22
#: Seconds: after which a run is not refined again, nor repeated in its round.
LONG, ENOUGH = 0.15, 0.1
ROUNDS, REPEATS = 3, 15
TOLERANCES = [10.0**-k for k in range(2, 14)]
#: Steps of the reference by gauss, and of rk8 that it is checked against.
REFERENCE, CHECK = 2000, 8000


@dataclass
class Point:
    """The steps or tolerance, the error and the seconds of one run."""

    setting: str
    error: float
    seconds: float


class Bench:
    """The motion, the reference, and a timer for each method, which returns the last q and v and the seconds."""

    def __init__(self, motion: Motion, repeats: int):
        import pinocchio as pin

        self.motion, self.model, self.repeats = motion, motion.model, repeats
        self.start, self.duration = (motion.q, motion.v), motion.duration
        self.pin_model = peers.pinocchio_model(motion.text, motion.free)
        self.field = peers.pinocchio_field(self.pin_model, motion.free)
        self.of_pin = peers.pinocchio_coordinates(self.model, self.pin_model, motion.free)
        self.tau = np.zeros(self.model.nv)
        self.conventions = cycle((pin.Convention.LOCAL, pin.Convention.WORLD))
        self.reference = self.run("gauss", {"order": 16, "tolerance": 1e-14}, REFERENCE)[0]
        self.floor = self.error(self.run("rk8", {}, CHECK)[0])

    def error(self, end) -> float:
        """The norm of the difference of an end (q, v) to the reference."""
        q, v = self.reference
        return float(np.linalg.norm(np.concatenate([self.model.difference(q, end[0]), end[1] - v])))

    def least(self, run):
        """Repeat ``run``, which returns the state at the end and seconds: the state and the least seconds."""
        best, spent = np.inf, 0.0
        for _ in range(self.repeats):
            end, seconds = run()
            best, spent = min(best, seconds), spent + seconds
            if spent > ENOUGH:
                break
        return end, best

    def run(self, method, options, steps: int):
        """The end of vitree's ``simulate``, and its seconds."""
        done = vt.simulate(self.model, *self.start, duration=self.duration, dt=self.duration / steps, method=method,
                           record_every=steps, **options)  # fmt: skip
        return (done.q[-1], done.v[-1]), done.seconds

    def vitree(self, method, options, steps: int):
        """Time vitree's ``simulate``; None if a step fails."""
        try:
            return self.least(lambda: self.run(method, options, steps))
        except vt.VitreeError:
            return None

    def vitree_scipy(self, tolerance: float):
        """Time vitree's dynamics by SciPy's DOP853."""
        return self.least(lambda: self.run("scipy-dop853", {"rtol": tolerance, "atol": tolerance}, 1))

    def pinocchio_rk4(self, steps: int):
        """Time Runge-Kutta 4 in Python around pin.aba, in the quicker of its conventions; None if it blows up."""
        field, tau, h, nq = self.field, self.tau, self.duration / steps, self.model.nq
        # the rate of the state, the sum of the stages, and the state that a stage is taken at
        x, stage, total, rate, scaled = np.empty((5, nq + self.model.nv))
        parts = ((0.5 * h, h / 6), (0.5 * h, h / 3), (h, h / 3), (0.0, h / 6))

        def run():
            convention = next(self.conventions)
            x[:] = np.concatenate(self.of_pin.theirs(*self.start))
            began = time.perf_counter()
            for _ in range(steps):
                stage[:] = x
                total[:] = x
                for ahead, weight in parts:
                    field(stage, tau, convention, rate)
                    np.multiply(rate, weight, out=scaled)
                    np.add(total, scaled, out=total)
                    np.multiply(rate, ahead, out=scaled)
                    np.add(x, scaled, out=stage)
                x[:] = total
            return x.copy(), time.perf_counter() - began

        with np.errstate(all="ignore"):
            end, seconds = self.least(run)
        return (self.of_pin.ours(end[:nq], end[nq:]), seconds) if np.isfinite(end).all() else None

    def mujoco(self, integrator: str, steps: int):
        """Time MuJoCo's mj_step, looped in C; None if the state does not stay finite and small."""
        import mujoco

        model = peers.mujoco_model(self.motion.text, self.motion.free, self.duration / steps)
        coordinates = peers.mujoco_coordinates(self.model, model, self.motion.free)
        model.opt.integrator = getattr(mujoco.mjtIntegrator, integrator)
        mujoco.set_mju_user_warning(lambda text: None)  # of runs that blow up
        model.opt.disableflags |= mujoco.mjtDisableBit.mjDSBL_AUTORESET
        data, start = mujoco.MjData(model), coordinates.theirs(*self.start)

        def run():
            mujoco.mj_resetData(model, data)
            data.qpos[:], data.qvel[:] = start
            began = time.perf_counter()
            mujoco.mj_step(model, data, nstep=steps)
            return (data.qpos.copy(), data.qvel.copy()), time.perf_counter() - began

        end, seconds = self.least(run)
        return (coordinates.ours(*end), seconds) if np.isfinite(np.concatenate(end)).all() else None

    def scipy(self, tolerance: float):
        """Time SciPy's DOP853 on pin.aba."""
        import pinocchio as pin

        field, tau, nq, world = self.field, self.tau, self.model.nq, pin.Convention.WORLD
        start = np.concatenate(self.of_pin.theirs(*self.start))

        def rates(_, x):
            rate = np.empty(len(x))
            field(x, tau, world, rate)
            return rate

        def run():
            began = time.perf_counter()
            done = solve_ivp(rates, (0.0, self.duration), start, method="DOP853", rtol=tolerance, atol=tolerance,
                             t_eval=[self.duration])  # fmt: skip
            return done.y[:, -1], time.perf_counter() - began

        end, seconds = self.least(run)
        return self.of_pin.ours(end[:nq], end[nq:]), seconds


def time_to(points: list[Point], error: float, floor: float) -> float:
    """Return the least seconds in which a method reaches an error, by a power law between runs; infinite without one.

    A quicker run of a smaller error reaches it as well.
    """
    sound = [point for point in points if point.error > floor]
    best = min((point.seconds for point in sound if point.error <= error), default=np.inf)
    for a, b in pairwise(sound):
        if a.error > error >= b.error:
            share = np.log(a.error / error) / np.log(a.error / b.error)
            best = min(best, a.seconds * (b.seconds / a.seconds) ** share)
    return float(best)


def least_of(rounds: list[dict[str, list[Point]]]) -> dict[str, list[Point]]:
    """The points of several rounds as one, with the least seconds."""
    found: dict[str, dict[str, Point]] = {}
    for label, points in ((label, points) for one in rounds for label, points in one.items()):
        known = found.setdefault(label, {})
        for point in points:
            other = known.setdefault(point.setting, point)
            other.seconds = min(other.seconds, point.seconds)
    return {label: list(points.values()) for label, points in found.items()}


def measure(bench: Bench, methods: dict, scipy_on_ours: bool, smoke: bool) -> tuple[dict, dict]:
    """Return the points of vitree's methods, and of the others."""
    ours: dict[str, list[Point]] = {}
    others: dict[str, list[Point]] = {}
    free, duration = bench.motion.free, bench.duration

    def refine(group, label, run, high=True):
        """Shorten the step while this pays."""
        points = group.setdefault(label, [])
        coarsest, ratio = duration * (COARSEST_OF_HIGH if high else COARSEST)[free], 2 ** (0.5 if high else 1.0)
        for k in range(REFINEMENTS + 1):
            steps = round(coarsest * ratio**k)
            result = run(steps)
            if result is not None:
                points.append(Point(f"{steps}", bench.error(result[0]), result[1]))
                back = -4 if high else -3
                risen = len(points) >= -back and 1e-3 > points[-1].error > 0.5 * points[back].error
                if smoke or points[-1].error < bench.floor or points[-1].seconds > LONG or risen:
                    break

    for label, (method, options) in methods.items():
        high = max(vt.METHODS[method].order, options.get("order", 2)) >= 4
        refine(ours, label, lambda steps, m=method, o=options: bench.vitree(m, o, steps), high)
    refine(others, "pinocchio + rk4", bench.pinocchio_rk4)
    refine(others, "mujoco euler", lambda steps: bench.mujoco("mjINT_EULER", steps), False)
    refine(others, "mujoco rk4", lambda steps: bench.mujoco("mjINT_RK4", steps))
    of_scipy = {"scipy dop853 + pinocchio": bench.scipy} | ({DOP853_OURS: bench.vitree_scipy} if scipy_on_ours else {})
    for label, run in of_scipy.items():
        for tolerance in TOLERANCES[:1] if smoke else TOLERANCES:
            end, seconds = run(tolerance)
            others.setdefault(label, []).append(Point(f"{tolerance:.0e}", bench.error(end), seconds))
            if seconds > 3 * LONG:
                break
    return ours, others


def plot(path: str, found: dict[str, tuple[Motion, dict[str, list[Point]], float]]) -> None:
    """Error against time, a panel for each motion: of several two in a row, with the legend behind the last."""
    from matplotlib.figure import Figure

    rows = (len(found) + 2) // 2 if len(found) > 1 else 1
    figure = Figure(figsize=(7.4, 3.9 * rows) if rows > 1 else (4.4, 5.0), layout="constrained")
    panels = figure.subplots(rows, min(len(found), 2), squeeze=False).ravel()
    for axes, (motion, groups, floor) in zip(panels, found.values(), strict=False):
        for label, (colour, marker, line) in STYLES.items():
            points = [p for p in groups[label] if floor < p.error < 1e3]
            axes.loglog([1e3 * p.seconds for p in points], [p.error for p in points], color=colour, marker=marker,
                        linestyle=line, markersize=4, linewidth=1.2, label=label)  # fmt: skip
        axes.set(xlabel="time [ms]", title=motion.title, ylim=(floor, 3e1))
        axes.grid(color="0.92")
    for axes in panels[:: min(len(found), 2)]:
        axes.set_ylabel("error of q and v at the end [rad, m, rad/s, m/s]")
    lines = panels[0].get_legend_handles_labels()
    if len(found) > 1:
        for axes in panels[len(found) :]:
            axes.axis("off")
        panels[len(found)].legend(*lines, loc="center", frameon=False)
    else:
        figure.legend(*lines, loc="outside lower center", ncols=2, frameon=False, fontsize="small")
    figure.savefig(path, dpi=150)
    print(f"written: {path}")


def report(bench: Bench, ours: dict[str, list[Point]], others: dict[str, list[Point]]) -> None:
    """Print each run; then times to errors, and shares."""
    print(f"\n{bench.motion.title}; error at the end of q and v; that of the reference is about {bench.floor:.0e}")
    print(f"{'method':32s}{'steps or tolerance':>20s}{'error':>11s}{'time [ms]':>11s}{'us/step':>9s}")
    for label, points in (ours | others).items():
        for point in points:
            each = f"{1e6 * point.seconds / int(point.setting):9.2f}" if point.setting.isdigit() else f"{'-':>9s}"
            print(f"{label:32s}{point.setting:>20s}{point.error:11.2e}{1e3 * point.seconds:11.3f}{each}")

    # what is as small as the reference's own error cannot be told apart from it
    floor = 3 * bench.floor
    groups = {
        "best of vitree": ours,
        "best variational": {a: b for a, b in ours.items() if vt.METHODS[EVERY[a][0]].symplectic},
        "best peer": {a: b for a, b in others.items() if a != DOP853_OURS},
        GAUSS_8: {GAUSS_8: ours[GAUSS_8]},
        RK8: {RK8: ours[RK8]},
    }
    errors = [10.0**decade for decade in range(1, -12, -1) if 10.0**decade > floor]
    best = {
        error: [min((time_to(points, error, floor), label) for label, points in group.items())
                for group in groups.values()]
        for error in errors
    }  # fmt: skip
    print(f"\n{bench.motion.title}: ms to an error\n{'':8s}" + "".join(f"{name:>36s}" for name in groups))
    for error in errors:
        cells = [f"{label}{1e3 * seconds:10.3f}" if np.isfinite(seconds) else "-" for seconds, label in best[error]]
        print(f"{error:<8.0e}" + "".join(f"{cell:>36s}" for cell in cells))
    print(f"\n{bench.motion.title}: shares of time\n{'':8s}{'of the best peer:':>20s}{'vitree':>13s}"
          f"{'variational':>13s}{'of rk8:':>13s}{'variational':>13s}{'gauss 8':>13s}")  # fmt: skip

    def share(a: float, b: float) -> str:
        return f"{a / b:13.3f}" if np.isfinite(a) and np.isfinite(b) else f"{'-':>13s}"

    for error in errors:
        vitree, variational, peer, gauss, rk8 = (seconds for seconds, _ in best[error])
        print(f"{error:<8.0e}{'':20s}{share(vitree, peer)}{share(variational, peer)}{'':13s}"
              f"{share(variational, rk8)}{share(gauss, rk8)}", flush=True)  # fmt: skip


#: Orders and tolerances of gauss that are compared with rk8; None: the default.
GAUSS = [(order, None) for order in (4, 6, 8, 12, 16)] + [(order, tol) for order in (6, 8) for tol in (1e-6, 1e-8)]
COARSE = [10.0**-k for k in range(1, 10)]


def gauss_shares(bench: Bench, smoke: bool) -> None:
    """Print the shares of rk8's time that gauss takes to an error, by order and tolerance."""
    motion, floor = bench.motion, 3 * bench.floor
    methods: dict[str, tuple[str, dict]] = {RK8: (RK8, {})}
    for order, tolerance in GAUSS:
        given = {} if tolerance is None else {"tolerance": tolerance}
        methods[", ".join([f"{order}", *(f"{x:.0e}" for x in given.values())])] = "gauss", {"order": order, **given}
    points: dict[str, dict[int, Point]] = {label: {} for label in methods}
    bench.repeats = 1
    for label, (method, options) in methods.items():
        for k in range(1 if smoke else REFINEMENTS + 1):
            steps = round(max(motion.duration, 1.0) * COARSEST_OF_HIGH[motion.free] * 2 ** (k / 2))
            done = bench.vitree(method, options, steps)
            if done is not None:
                points[label][steps] = Point(f"{steps}", bench.error(done[0]), done[1])
                if points[label][steps].error < max(floor, COARSE[-1]) or done[1] > 2 * LONG:
                    break
    for turn in range(REPEATS):
        for label, (method, options) in methods.items():
            for steps, point in points[label].items():
                if point.seconds > 0.2 * ENOUGH and turn >= ROUNDS:
                    continue
                point.seconds = min(point.seconds, bench.run(method, options, steps)[1])
    reached = {label: [time_to([*each.values()], error, floor) for error in COARSE] for label, each in points.items()}
    print(f"\n{motion.title}, {_core.width()} lanes: shares of the time of rk8, by order and tolerance of gauss\n"
          f"{'error':8s}{'rk8, ms':>9s}" + "".join(f"{label:>10s}" for label in methods if label != RK8))  # fmt: skip
    for k, error in enumerate(COARSE):
        rk8 = reached[RK8][k]
        if error > floor and np.isfinite(rk8):
            cells = (f"{each[k] / rk8:10.2f}" if np.isfinite(each[k]) else f"{'-':>10s}"
                     for label, each in reached.items() if label != RK8)  # fmt: skip
            print(f"{error:<8.0e}{1e3 * rk8:9.3f}" + "".join(cells), flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--case", choices=(*ALL_CASES, "all"), default="all", help="the motion")
    parser.add_argument("--gauss", action="store_true", help="gauss beside rk8 alone, by order and tolerance")
    parser.add_argument("--smoke", action="store_true", help="only see that it runs: the coarsest runs")
    parser.add_argument("--plot", metavar="FILE", help="also draw error against time, a panel for each motion")
    arguments = parser.parse_args()
    print(peers.machine())
    if arguments.gauss:
        for case in ALL_CASES if arguments.case == "all" else (arguments.case,):
            gauss_shares(Bench(smooth_motion(case), 1), arguments.smoke)
        return
    found = {}
    for case in CASES if arguments.case == "all" else (arguments.case,):
        bench = Bench(smooth_motion(case), 1 if arguments.smoke else REPEATS)
        # what only shows a solver, or counts as neither vitree's nor a peer's, is timed in the first round
        rounds = [measure(bench, METHODS | (SOLVERS if case == "chain10" else {}), True, arguments.smoke)]
        rounds += [measure(bench, METHODS, False, False) for _ in range(0 if arguments.smoke else ROUNDS - 1)]
        ours, others = (least_of([one[k] for one in rounds]) for k in range(2))
        report(bench, ours, others)
        found[case] = bench.motion, ours | others, bench.floor
    if arguments.plot:
        plot(arguments.plot, found)


if __name__ == "__main__":
    main()
