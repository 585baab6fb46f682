"""Robots and bodies that move in contact: the time of a step beside MuJoCo.

    python benchmarks/moving.py [--smoke] [--scene NAME ...] [--piles] [--throws N] [--pits [STEPS]]

A G1 marches on four corners of each foot, and a Go2 trots on four spheres; a Laikago stands on its collision shapes.
The human figure is thrown on the floor, and balls fall into a pit. One and four quadrupeds of one model stand, and
balls rest in piles of ten. MuJoCo has the same mechanism, armature, shapes, friction, limits and servos; its integrator
is ``implicitfast``, and its other options are the defaults. The targets of the servos are a table, a row each 20 ms,
and are set while no clock runs.

Both programs repeat each run from its start, in turns. The least time of each part of the run, of 20 ms or of one step,
counts, and the table has the mean over the parts in microseconds a step, and its share of MuJoCo's time. "slowest" are
the slowest steps of all runs. Before robots are timed, runs of both programs are checked: they stay upright, and feet
of those that walk lift and land.

``--throws N``: N throws at 1 and 5 ms, vitree alone, by the time of the thread. ``--pits STEPS``: runs of so many steps
of balls in a pit, likewise; the penetration is the deepest of every tenth step. ``--piles``: 100 piles, as well.
"""

from __future__ import annotations

import argparse
import importlib
import time
from collections.abc import Callable, Iterator
from typing import NamedTuple

import contact_problems
import numpy as np
import peers

import vitree as vt
from vitree.engines.mujoco import States, mujoco_model

#: Time between rows of targets [s], of walks [s], and of standing [s]; the part of them that is not timed [s].
CONTROL, WALK, STAND, SETTLE = 0.02, 4.0, 1.0, 0.5
#: MuJoCo's default ``solref`` [s].
TIMECONST = 0.02
#: The trot: kp [N m/rad], kd [N m s/rad], armature [kg m^2].
TROT = 300, 10, 0.02
#: What walks mean: feet lift at least by the first, and land below the second [m].
LIFTED, LANDED = 0.005, 0.002
DTS = (1e-3, 2e-3, 5e-3, 1e-2)
#: Time after which a run is not repeated [s].
LONGEST = 15.0


class Scene(NamedTuple):
    """A model that starts somewhere, and the targets of its drives."""

    model: vt.Model
    q: np.ndarray
    v: np.ndarray
    dt: float
    #: targets (parts, drives)
    rows: np.ndarray
    #: steps of a part, and parts before the first that counts
    each: int = 1
    settle: int = 0
    #: points of each foot that is to lift and land, or of none
    points: tuple[int, int] = (0, 0)
    #: whether it is to stay upright
    upright: bool = False


class Side:
    """A program that runs a scene."""

    name: str

    def __init__(self, scene: Scene):
        self.scene = scene

    def begin(self) -> None:
        """Go to the start."""

    def command(self, row: np.ndarray) -> None:
        """Let targets act."""

    def advance(self) -> None:
        """Take the steps of a part."""

    def configuration(self) -> np.ndarray:
        """The state's q, as vitree has it."""

    def run(self, look: Callable[[np.ndarray], object] | None = None, clock=time.perf_counter) -> Iterator[float]:
        """Seconds of each part; ``look`` is called with each configuration."""
        self.begin()
        for row in self.scene.rows:
            self.command(row)
            start = clock()
            self.advance()
            yield clock() - start
            if look is not None:
                look(self.configuration())


class Vitree(Side):
    name = "vitree"

    def begin(self) -> None:
        scene = self.scene
        inputs = scene.rows[0] if scene.rows.size else None
        self.integrator = vt.METHODS["linear-time"](scene.model, scene.dt, inputs=inputs)
        self.integrator.start(0.0, scene.q, scene.v)

    def command(self, row: np.ndarray) -> None:
        if row.size:
            self.integrator.command(None, row)

    def advance(self) -> None:
        self.integrator.advance(self.scene.each)

    def configuration(self) -> np.ndarray:
        return self.integrator.state()[0]


class MuJoCo(Side):
    name = "mujoco"

    def __init__(self, scene: Scene):
        import mujoco

        super().__init__(scene)
        mujoco.set_mju_user_warning(lambda text: None)
        self.mujoco, self.way = mujoco, States(scene.model)
        self.model = mujoco_model(scene.model, scene.dt, "implicitfast", TIMECONST)
        self.model.opt.cone = mujoco.mjtCone.mjCONE_PYRAMIDAL
        if scene.model.limits == "enforce":
            self._limit()
        self.data = mujoco.MjData(self.model)
        self.kp = np.array([drive.kp for drive in scene.model.drives])

    def _limit(self) -> None:
        at = {int(self.model.jnt_qposadr[k]): k for k in range(self.model.njnt)}
        for joint in self.scene.model.joints:
            if len(joint.lower) == 1 and np.isfinite((*joint.lower, *joint.upper)).all():
                k = at[joint.q_slice.start]
                self.model.jnt_limited[k], self.model.jnt_range[k] = 1, (*joint.lower, *joint.upper)

    def begin(self) -> None:
        self.mujoco.mj_resetData(self.model, self.data)
        self.data.qpos[:], self.data.qvel[:] = self.way.to_mujoco(self.scene.q, self.scene.v)

    def command(self, row: np.ndarray) -> None:
        self.data.ctrl[:] = self.kp * row

    def advance(self) -> None:
        self.mujoco.mj_step(self.model, self.data, nstep=self.scene.each)

    def configuration(self) -> np.ndarray:
        return self.way.from_mujoco(self.data.qpos, self.data.qvel)[0]


# ---- scenes -----------------------------------------------------------------------------------------


def driven(model: vt.Model, q: np.ndarray, dt: float, rows: np.ndarray, **more) -> Scene:
    """A robot that follows rows of targets, one each CONTROL."""
    each = round(CONTROL / dt)
    return Scene(model, q, model.zero_velocity(), dt, rows, each, round(SETTLE / CONTROL), upright=True, **more)


def march(dt: float) -> Scene:
    model, q, targets = contact_problems.marcher()
    rows = np.array([targets(k * CONTROL, q, None) for k in range(round(WALK / CONTROL))])
    return driven(model, q, dt, rows, points=(2, 4))


def trot(dt: float) -> Scene:
    import stand_ins

    walk = importlib.import_module("17_walking_quadruped")
    kp, kd, armature = TROT
    model = stand_ins.quadruped(vt.Ground(friction=0.8))
    model = model.with_parameters(armature=np.r_[np.zeros(6), np.full(model.nv - 6, armature)])
    model, q = model.with_drives({"*": (kp, kd)}), model.neutral()
    rows = np.array([walk.trot(k * CONTROL, q, None) for k in range(round(WALK / CONTROL))])
    q[7:] = rows[0]
    return driven(model, vt.place_on_ground(model, q), dt, rows, points=(4, 1))


def standing(model: vt.Model, q: np.ndarray, dt: float) -> Scene:
    """A robot whose drives hold the start."""
    targets = np.array([q[model.joint(drive.joint).q_slice][0] for drive in model.drives])
    return driven(model, q, dt, np.tile(targets, (round(STAND / CONTROL), 1)))


def laikago(dt: float) -> Scene:
    """A Laikago on its collision shapes, all of which may touch the ground and each other."""
    ground = vt.Ground(friction=0.8)
    model = vt.load_urdf(vt.find_robot("laikago"), base="free", armature=0.01, ground=ground)
    model = model.with_drives({"*": (300, 10)})
    q = model.neutral()
    for joint in model.joints:
        q[joint.q_slice] = {"thigh_joint": 0.67, "calf_joint": -1.3}.get(joint.name[3:], q[joint.q_slice])
    return standing(model, vt.place_on_ground(model, q), dt)


def herd(dt: float, count: int) -> Scene:
    """Quadrupeds of the Go2's size beside each other, on the spheres of their feet, in one model."""
    import stand_ins as own

    tree, leg = vt.Tree("herd"), importlib.import_module("17_walking_quadruped").leg(0.0, -0.28)
    for k in range(count):
        trunk = tree.world.add(vt.ty(2.0 * k), vt.free(f"base {k}"), vt.body(f"trunk {k}", 7.0, (0.025, 0.1, 0.11)))
        for name, x, y in (("FL", 1, 1), ("FR", 1, -1), ("RL", -1, 1), ("RR", -1, -1)):
            hip = trunk.add(vt.tx(x * own.REACH), vt.ty(y * own.WIDTH), vt.rx(f"{name} hip {k}", armature=0.01),
                            vt.body(f"{name} shoulder {k}", 0.7, (5e-4, 9e-4, 6e-4)))  # fmt: skip
            thigh = hip.add(vt.ty(y * own.OFFSET), vt.ry(f"{name} thigh {k}", armature=0.01), vt.tz(-0.03),
                            vt.body(f"{name} upper leg {k}", 1.2, (6e-3, 6e-3, 1e-3)))  # fmt: skip
            calf = thigh.add(vt.tz(0.03 - own.LEG), vt.ry(f"{name} calf {k}", armature=0.01), vt.tz(-0.1),
                             vt.body(f"{name} lower leg {k}", 0.2, (1.5e-3, 1.5e-3, 4e-5)))  # fmt: skip
            calf.add(vt.tz(0.1 - own.LEG), vt.frame(f"{name} foot {k}"))
            tree.contact(vt.Contact(f"{name} foot {k}", shapes=[vt.Sphere(own.BALL)]))
    tree.contact(vt.Ground(friction=0.8))
    model = tree.compile().with_drives({"*": (300, 10)})
    q = model.neutral().reshape(count, 19)
    q[:, 7:], q[:, 2] = leg * 4, 0.28 + own.BALL
    return standing(model, q.ravel(), dt)


def piles(dt: float, count: int, duration: float) -> Scene:
    """Piles beside each other, each of three balls on seven."""
    radius, tree, q = 0.1, vt.Tree("piles"), []
    corners = [(np.cos(a), np.sin(a)) for a in np.linspace(0, 2 * np.pi, 6, endpoint=False)]
    lower = [(0.0, 0.0), *corners]
    upper = [(np.cos(a) / np.sqrt(3), np.sin(a) / np.sqrt(3)) for a in np.pi / 6 + np.array([0, 2, 4]) * np.pi / 3]
    places = [(x, y, 0.5) for x, y in lower] + [(x, y, 0.5 + np.sqrt(2 / 3)) for x, y in upper]
    for k in range(count):
        for j, place in enumerate(places):
            tree.world.add(vt.free(f"base {k} {j}"), vt.body(f"ball {k} {j}", 1.0, (4e-3, 4e-3, 4e-3)))
            tree.contact(vt.Contact(f"ball {k} {j}", shapes=[vt.Sphere(radius)]))
            q += [*(2 * radius * np.array(place) + (k % 10, k // 10, 0.0)), 0.0, 0.0, 0.0, 1.0]
    tree.contact(vt.Ground(friction=1.0))
    model, steps = tree.compile(), round(duration / dt)
    return Scene(model, np.array(q), model.zero_velocity(), dt, np.empty((steps, 0)), settle=steps // 2)


def alone(problem) -> Scene:
    """A scene of ``contact_problems`` without control, timed step by step; its drives hold zero."""
    model, q, v, dt, steps, _ = problem
    return Scene(model, q, v, dt, np.zeros((steps, len(model.drives))))


def thrown(dt: float, seeds: range, duration: float = 1.5) -> list[Scene]:
    return [alone(contact_problems.thrown(seed, dt, round(duration / dt))) for seed in seeds]


def pit(dt: float, count: int, friction: float, steps: int, seed: int = 0) -> Scene:
    return alone(contact_problems.pit(count, seed, friction, dt, steps))


class Row(NamedTuple):
    """A row of the table: scenes at each of its steps dt."""

    name: str
    title: str
    make: Callable[[float], list[Scene]]
    dts: tuple[float, ...] = DTS
    #: how many of the first row of this name there are
    count: int = 1


def table(smoke: bool, many: bool) -> Iterator[Row]:
    """The rows of the table."""
    less, two = (0.1, (5e-3,)) if smoke else (1.0, (1e-3, 5e-3))
    dts = (5e-3, 1e-2) if smoke else DTS
    yield Row("march", "a G1 that marches", lambda dt: [march(dt)], dts)
    yield Row("trot", "a Go2 that trots", lambda dt: [trot(dt)], dts)
    yield Row("laikago", "a Laikago that stands on its shapes", lambda dt: [laikago(dt)], dts)
    seeds = range(1 if smoke else 4)
    yield Row("thrown", "a figure that is thrown", lambda dt: thrown(dt, seeds, 1.5 * less), two)
    for mu in (0.1, 1.0, 3.0):
        yield Row("pit10", f"10 balls in a pit, friction {mu:g}",
                  lambda dt, mu=mu: [pit(dt, 10, mu, round(2.0 * less / dt))], two)  # fmt: skip
    yield Row("pit50", "50 balls in a pit, friction 0.6", lambda dt: [pit(dt, 50, 0.6, round(1.0 * less / dt))], two)
    for count in (1, 4):
        yield Row("herd", f"quadrupeds that stand: {count}", lambda dt, n=count: [herd(dt, n)], dts, count)
    for count in (1, 10, 100) if many else (1, 10):
        yield Row("piles", f"piles of ten balls at rest: {count}",
                  lambda dt, n=count: [piles(dt, n, 0.1 * less)], two, count)  # fmt: skip


# ---- checks -----------------------------------------------------------------------------------------


def lowest(scene: Scene, q: np.ndarray) -> np.ndarray:
    """The least gap of each foot."""
    feet, points = scene.points
    return scene.model.contact_gaps(q).gap[: feet * points].reshape(feet, points).min(axis=1)


def check(side: Side) -> None:
    """Raise an AssertionError if a robot does not stay upright, or if feet that are to lift and land do not."""
    scene, seen = side.scene, list[np.ndarray]()
    for _ in side.run(seen.append):
        pass
    x, y = seen[-1][3:5]
    what = f"{side.name}, {scene.model.name}, dt {scene.dt:g}"
    assert 1 - 2 * (x * x + y * y) > 0.97 and abs(seen[-1][2] - scene.q[2]) < 0.03, f"{what}: falls"
    if scene.points[0]:
        gaps = np.array([lowest(scene, q) for q in seen[scene.settle :]])
        lifts = gaps.argmax(axis=0)
        assert (gaps.max(axis=0) > LIFTED).all() and (gaps.min(axis=0) < LANDED).all(), f"{what}: feet do not walk"
        assert (gaps[lifts].min(axis=1) < LANDED).all(), f"{what}: no foot is on the ground where another lifts"


# ---- times ------------------------------------------------------------------------------------------


def measured(scene: Scene, repeats: int) -> np.ndarray:
    """The least microseconds a step of each part (programs, parts) over repeats in turns, fewer if they take long."""
    sides = Vitree(scene), MuJoCo(scene)
    if scene.upright:
        for side in sides:
            check(side)
    least, begun = np.full((len(sides), len(scene.rows)), np.inf), time.perf_counter()
    for _ in range(repeats):
        for one, side in zip(least, sides, strict=True):
            np.minimum(one, np.fromiter(side.run(), float), out=one)
        if time.perf_counter() - begun > LONGEST:
            break
    return 1e6 * least[:, scene.settle :] / scene.each


class Cell(NamedTuple):
    """A row at one dt: the means of both programs, and what is printed of them and of the slowest steps."""

    text: str = ""
    slowest: str = ""
    means: tuple[float, float] | None = None


def cell(row: Row, dt: float, repeats: int) -> Cell:
    """Time a row at one dt."""
    if dt not in row.dts:
        return Cell()
    try:
        scenes = row.make(dt)
        found = [measured(scene, repeats) for scene in scenes]
    except vt.VitreeError as error:
        return Cell(str(error)[:80])
    own, theirs = (np.concatenate(part) for part in zip(*found, strict=True))
    us = float(own.mean()), float(theirs.mean())
    slowest = f"{own.max():.0f} of {theirs.max():.0f}" if scenes[0].each == 1 else ""
    return Cell(f"{us[0]:.1f} of {us[1]:.1f} ({us[0] / us[1]:.2f})", slowest, us)


def times(chosen: list[str], smoke: bool, many: bool) -> None:
    singles: dict[str, list[Cell]] = {}
    print("| |" + "".join(f" {1e3 * dt:g} ms |" for dt in DTS) + "\n|---|" + "---|" * len(DTS))
    for row in table(smoke, many):
        if chosen and row.name not in chosen:
            continue
        found = [cell(row, dt, 1 if smoke else 5) for dt in DTS]
        printed(row.title, [each.text for each in found])
        printed("slowest", [each.slowest for each in found])
        if row.count == 1:
            singles[row.name] = found
        else:
            printed("over the time of one", [over(*pair) for pair in zip(found, singles[row.name], strict=True)])


def over(many: Cell, one: Cell) -> str:
    """Times of both programs over those of another row."""
    if many.means is None or one.means is None:
        return ""
    own, theirs = (a / b for a, b in zip(many.means, one.means, strict=True))
    return f"{own:.1f}, MuJoCo {theirs:.1f}"


def printed(title: str, texts: list[str]) -> None:
    """Print a row, if there is something in it."""
    if any(texts):
        print(f"| {title} | " + " | ".join(texts) + " |", flush=True)


class Course(NamedTuple):
    """How a run of vitree went: us of each step, steps with a residual, the error, the penetration [m] if looked at."""

    times: np.ndarray
    told: int
    error: str
    depth: float


def course(scene: Scene, every: int = 0) -> Course:
    """Run a scene by vitree; look at the penetration of each ``every``-th step."""
    side, taken, error, low = Vitree(scene), list[float](), "", 0.0 if every else np.nan
    parts = side.run(clock=time.thread_time)
    try:
        for took in parts:
            taken.append(took)
            if every and len(taken) % every == 0:
                low = min(low, scene.model.contact_gaps(side.configuration()).gap.min())
    except vt.ConvergenceError as raised:
        error = str(raised)
    told = (side.integrator.inexact_contacts or (0,))[0]
    return Course(1e6 * np.array(taken), told, error, abs(low))


def summed(title: str, courses: list[Course]) -> None:
    """Print a row of runs, and their errors."""
    median = np.median(np.concatenate([each.times for each in courses]))
    slow = np.array([each.times.max(initial=0.0) for each in courses])
    errors = [each.error for each in courses if each.error]
    steps, told = sum(len(each.times) for each in courses), sum(each.told for each in courses)
    depth = max(each.depth for each in courses)
    print(f"| {title} | {len(courses)} | {steps} | {median:.1f} | {np.median(slow):.0f} | {slow.max():.0f} | {told} | "
          f"{len(errors)} | {depth:.1e} |", flush=True)  # fmt: skip
    for error in errors:
        print(f"error: {error[:160]}", flush=True)


def head() -> None:
    print("| | runs | steps | median | median of the slowest | slowest | with a residual | errors | depth [m] |\n"
          "|---|---|---|---|---|---|---|---|---|")  # fmt: skip


def throws(count: int) -> None:
    head()
    for dt in (1e-3, 5e-3):
        found = [course(scene) for seed in range(count) for scene in thrown(dt, range(seed, seed + 1))]
        summed(f"thrown, {1e3 * dt:g} ms", found)


def pits(steps: int) -> None:
    head()
    for count in (10, 50):
        for friction in (0.1, 0.5, 1.0, 3.0):
            for dt in (1e-3, 5e-3):
                found = [course(pit(dt, count, friction, steps, seed), every=10) for seed in range(3)]
                summed(f"{count} balls, friction {friction:g}, {1e3 * dt:g} ms", found)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--smoke", action="store_true", help="few and short runs, to see that it works")
    parser.add_argument("--scene", nargs="+", default=[], metavar="NAME",
                        choices=("march", "trot", "laikago", "thrown", "pit10", "pit50", "herd", "piles"))  # fmt: skip
    parser.add_argument("--piles", action="store_true", help="100 piles of balls, as well")
    parser.add_argument("--throws", type=int, metavar="N", help="N throws, vitree alone")
    parser.add_argument("--pits", type=int, nargs="?", const=10000, metavar="STEPS", help="runs in a pit, vitree alone")
    given = parser.parse_args()
    print(f"{peers.machine()}\n")
    if given.throws is not None:
        throws(given.throws)
    if given.pits is not None:
        pits(given.pits)
    if given.throws is None and given.pits is None:
        times(given.scene, given.smoke, given.piles)


if __name__ == "__main__":
    main()
