"""Humanoids that stand on their feet, beside MuJoCo; and what a step costs with more links and more contacts.

    python benchmarks/contact.py [--smoke] [--stand SECONDS] [--growth] [--pairs]

Talos half sitting, the G1 on bent knees and the human figure stand on the four corners of each foot, held by servos of
kp 1500, kd 60 (legs and trunk) and 200, 10 (the others) about the start. MuJoCo has the same robot, servos as position
actuators, small balls at the corners, a plane, and the same friction; its integrator is ``implicitfast``.

Without options: microseconds a step. After a second of standing the loops of the compiled cores take turns.
``--stand 60``: a table of how still they stand, dropped by 2 cm. "moved" is the largest displacement of a corner after
2 s, "lowest" the least gap of all steps, "weight" the error of the ground's force after 2 s over the weight: of its
mean, and of the worst record, one each 50 ms. MuJoCo runs a second time with armature in all joints, which the robots
do not have, as many of its models do.
``--growth``: microseconds a step against the number of links at eight contacts, and against that of contacts: points of
one plate, one foot each on a chain of 64 links, bodies of their own. The exponents are of least squares.
``--pairs``: microseconds to find all contacts of a G1 with the convex hulls of all its meshes, where all pairs of links
may touch: with nothing near, and with the hands on each other and the upper arms on the trunk. It is the work of a step
at one node: the bodies are placed, and facets of near hulls are chosen anew. Of MuJoCo it is ``mj_kinematics`` and
``mj_collision`` of the same pairs. The postures move by up to 1 mm and 1 mrad from one to the next.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable
from dataclasses import replace

import numpy as np
import peers

import vitree as vt
from vitree._core import scalar
from vitree.engines.mujoco import States, mujoco_model
from vitree.scenes.robots import robot

FRICTION, BALL, SETTLE, LOOK = 0.7, 1e-3, 1.0, 0.05
DROP, STILL, ARMATURE = 0.02, 2.0, 0.01
core = scalar()
POSTURE = {
    **{f"leg_{side}_{k}_joint": x for side in ("left", "right")
       for k, x in zip(range(1, 7), (0.0, 0.0, -0.411354, 0.859395, -0.448041, -0.001708), strict=True)},
    **{f"arm_{side}_{k}_joint": x for side, s in (("left", 1), ("right", -1))
       for k, x in zip(range(1, 8), (0.25847 * s, 0.173046 * s, -0.0002 * s, -0.525366, 0.0, 0.0, 0.1), strict=True)},
    **{f"{side}_{name}_joint": x for side in ("left", "right")
       for name, x in (("hip_pitch", -0.312), ("knee", 0.669), ("ankle_pitch", -0.363))},
}  # fmt: skip
STRONG = ("leg", "hip", "knee", "ankle", "torso", "waist", "lumbar")
#: Robot -> frames of its feet, corners in them, the links that they are fixed to.
FEET = {
    "talos": (("left_sole_link", "right_sole_link"), [(x, y, 0.0) for x in (-0.1, 0.1) for y in (-0.06, 0.06)],
              ("leg_left_6_link", "leg_right_6_link")),
    "g1": (("left_ankle_roll_link", "right_ankle_roll_link"),
           [(-0.05, -0.025, -0.035), (-0.05, 0.025, -0.035), (0.12, -0.03, -0.035), (0.12, 0.03, -0.035)],
           ("left_ankle_roll_link", "right_ankle_roll_link")),
    "human": (("left_foot", "right_foot"), [(x, y, -0.0323) for x in (-0.06, 0.1981) for y in (-0.045, 0.045)],
              ("left_foot", "right_foot")),
}  # fmt: skip


def gains(name: str) -> tuple[float, float]:
    return (1500.0, 60.0) if any(word in name for word in STRONG) else (200.0, 10.0)


def summary(corners: np.ndarray, low: float, weight: np.ndarray) -> tuple[float, ...]:
    """How far corners (records, corners, 3) go, the least gap, errors of the weight: of the mean, and the largest."""
    moved = np.abs(corners - corners[0]).max()
    return float(moved), float(low), float(abs(weight.mean() - 1)), float(np.abs(weight - 1).max())


class Vitree:
    """The robot with drives on a ground."""

    def __init__(self, name: str, text: str):
        frames, corners, _ = FEET[name]
        flat = vt.load_urdf(text, base="free").full.flat
        contacts = tuple(vt.Contact(frame, points=corners) for frame in frames)
        ground = vt.Ground(friction=FRICTION)
        model = vt.Model(replace(flat, contacts=contacts, ground=ground, friction=0 * flat.friction))
        q = model.neutral()
        for joint in model.joints:
            if joint.name in POSTURE:
                q[joint.q_slice] = POSTURE[joint.name]
        self.q = vt.place_on_ground(model, q)
        joints = [joint for joint in model.joints if joint.kind != "free"]
        loads = tuple(vt.Drive(j.name, *gains(j.name), target=float(self.q[j.q_slice][0])) for j in joints)
        self.model = vt.Model(replace(model.flat, loads=loads))
        self.targets = {j.name: float(self.q[j.q_slice][0]) for j in joints}

    def stand(self, method: str, dt: float, duration: float) -> tuple[float, ...]:
        q = self.q.copy()
        q[2] += DROP
        more = {"record_every": round(LOOK / dt), "monitors": "gap"}
        run = vt.simulate(self.model, q, duration=duration, dt=dt, method=method, **more)
        late = run.t >= STILL - 1e-9
        corners = np.array([self.model.contact_gaps(q).point_a for q in run.q[late]])
        weight = run.contacts.total(len(run))[late, 2] / (dt * 9.81 * self.model.total_mass)
        return summary(corners, run.monitors["gap"].min(), weight)

    def loop(self, method: str, dt: float, steps: int):
        integrator = vt.METHODS[method](self.model, dt)
        integrator.start(0.0, self.q, self.model.zero_velocity())
        integrator.advance(round(SETTLE / dt))
        return lambda: integrator.advance(steps)


class MuJoCo:
    """The same robot on small balls."""

    def __init__(self, name: str, text: str, own: Vitree):
        import mujoco

        frames, corners, links = FEET[name]
        self.mujoco, self.own = mujoco, own
        # robots that fall apart are in the table, and in no file
        mujoco.set_mju_user_warning(lambda text: None)
        balls = []
        for frame, link in zip(frames, links, strict=True):
            sole, foot = (own.model.frame_pose(x, own.model.neutral()) for x in (frame, link))
            R, p, Rl, pl = sole[:3, :3], sole[:3, 3], foot[:3, :3], foot[:3, 3]
            up = np.array((0, 0, BALL))
            balls += [(link, Rl.T @ (p + R @ (np.array(c) + up) - pl)) for c in corners]
        self.model = peers.mujoco_model(text, True, servos={j: gains(j) for j in own.targets}, balls=balls, ball=BALL,
                                        friction=FRICTION)  # fmt: skip
        self.chosen = [k for k in range(self.model.ngeom) if self.model.geom(k).name.startswith("corner")]

    def started(self, integrator: str, dt: float):
        model, data, own = self.model, self.mujoco.MjData(self.model), self.own
        model.opt.timestep = dt
        model.opt.integrator = getattr(self.mujoco.mjtIntegrator, f"mjINT_{integrator.upper()}")
        data.qpos[:3] = own.q[:3]
        for name, at in own.targets.items():
            data.qpos[model.joint(name).qposadr[0]] = at
        for k in range(model.nu):
            data.ctrl[k] = own.targets[model.joint(int(model.actuator_trnid[k, 0])).name]
        return model, data

    def corners(self, data) -> np.ndarray:
        return data.geom_xpos[self.chosen]

    def stand(self, integrator: str, dt: float, duration: float, armature: float = 0.0) -> tuple[float, ...]:
        model, data = self.started(integrator, dt)
        model.dof_armature[6:] = armature
        data.qpos[2] += DROP
        late, low, forces = [], np.inf, []
        for k in range(round(duration / dt)):
            self.mujoco.mj_step(model, data)
            low = min(low, self.corners(data)[:, 2].min() - BALL)
            if (k + 1) % round(LOOK / dt) == 0 and (k + 1) * dt >= STILL - 1e-9:
                late.append(self.corners(data))
                forces.append(data.qfrc_constraint[2])
        weight = np.array(forces) / (9.81 * self.own.model.total_mass)
        return summary(np.array(late), low, weight)

    def loop(self, integrator: str, dt: float, steps: int):
        model, data = self.started(integrator, dt)
        self.mujoco.mj_step(model, data, nstep=round(SETTLE / dt))
        return lambda: self.mujoco.mj_step(model, data, nstep=steps)


def figures() -> list[tuple[str, Vitree, MuJoCo]]:
    """The robots that are installed."""
    found = []
    for name in FEET:
        try:
            path = vt.find_robot(name)
        except vt.UnknownNameError as error:
            print(f"without {name}: {error}")
            continue
        text = peers.without_damping(path.read_text())
        own = Vitree(name, text)
        found.append((name, own, MuJoCo(name, text, own)))
    return found


def times(smoke: bool) -> None:
    steps, rounds = (50, 2) if smoke else (500, 12)
    for name, own, theirs in figures():
        for dt in (1e-3, 2e-3, 5e-3):
            ways = [(own, "linear-time"), (own, "midpoint"), (theirs, "implicitfast"), (theirs, "euler")]
            loops = [side.loop(way, dt, steps) for side, way in ways]
            least = [np.inf] * len(loops)
            for _ in range(rounds):
                for k, loop in enumerate(loops):
                    least[k] = min(least[k], peers.best_of(loop, steps, repeats=1))
            for (side, way), us in zip(ways, least, strict=True):
                engine = "vitree" if side is own else "mujoco"
                print(f"{name:6} dt {1e3 * dt:g} ms {engine} {way:13} {us:7.1f} us ({us / least[2]:.2f})", flush=True)


def stillness(duration: float) -> None:
    print(f"{duration:g} s\n\n| | dt [ms] | moved [m] | lowest [m] | weight, mean | worst |\n|---|---|---|---|---|---|")
    for name, own, theirs in figures():
        for dt in (1e-3, 2e-3, 5e-3):
            for way in ("linear-time", "midpoint", 0.0, ARMATURE):
                if isinstance(way, str):
                    who, found = way, own.stand(way, dt, duration)
                else:
                    who, found = f"MuJoCo, armature {way:g}", theirs.stand("implicitfast", dt, duration, way)
                print(f"| {name}, {who} | {1e3 * dt:g} | " + " | ".join(f"{x:.1e}" for x in found) + " |", flush=True)


# ---- growth -----------------------------------------------------------------------------------------


def ring(count: int, radius: float = 0.3) -> list[tuple[float, float, float]]:
    """Points on a circle of the plate's lower side."""
    angles = 2 * np.pi * np.arange(count) / count
    return [(radius * float(np.cos(a)), radius * float(np.sin(a)), -0.05) for a in angles]


def plate(points: int, links: int = 0, push: float = 0.0) -> tuple[vt.Model, np.ndarray]:
    """A plate of 20 kg on points, perhaps pushed; from it hangs a chain, which meets no ground."""
    tree = vt.Tree("plate")
    at = tree.world.add(vt.free("base"), vt.body("plate", 20.0, (0.6, 0.6, 1.2)))
    for k in range(links):
        joint = (vt.ry if k % 2 else vt.rx)(f"j{k}", damping=0.01)
        at = at.add(joint, vt.tz(-0.05), vt.body(f"l{k}", 0.05, (1e-4, 1e-4, 1e-4)), vt.tz(-0.05))
    tree.contact(vt.Ground(friction=0.5), vt.Contact("plate", points=ring(points)))
    if push:
        tree.load(vt.Wrench("plate", (0, 0, 5.0), (push, 0, 0)))
    model = tree.compile()
    q = model.neutral()
    for joint in model.joints[1:]:
        q[joint.q_slice] = 0.3 if joint.name in ("j0", "j1") else 0.0
    return model, vt.place_on_ground(model, q)


def caterpillar(feet: int, links: int = 64) -> tuple[vt.Model, np.ndarray]:
    """Links in a row with drives in their joints; some have a foot, which is a ball."""
    tree = vt.Tree("caterpillar")
    at = tree.world.add(vt.free("base"), vt.body("l0", 1.0, (2e-3, 2e-3, 2e-3)))
    for k in range(1, links):
        at = at.add(vt.tx(0.05), (vt.ry if k % 2 else vt.rz)(f"j{k}"), vt.tx(0.05), vt.body(f"l{k}", 1.0, (2e-3,) * 3))
        tree.load(vt.Drive(f"j{k}", 500.0, 20.0))
    tree.contact(vt.Ground(friction=0.5), vt.NoContact("l0", "l1"))
    for k in range(0, links, links // feet):
        tree.contact(vt.Contact(f"l{k}", points=[(0.0, 0.02 * (-1) ** (k // (links // feet)), -0.03)]))
    model = tree.compile()
    return model, vt.place_on_ground(model, model.neutral())


def marbles(count: int, speed: float = 0.0) -> tuple[vt.Model, np.ndarray]:
    """Balls on the ground that do not touch each other."""
    tree = vt.Tree("marbles")
    for k in range(count):
        tree.world.add(vt.free(f"f{k}"), vt.body(f"b{k}", 1.0, (4e-3,) * 3))
        tree.contact(vt.Contact(f"b{k}", points=[(0, 0, -0.1)]))
    tree.contact(vt.Ground(friction=0.5))
    model = tree.compile()
    q = model.neutral()
    q[::7], q[2::7] = np.arange(count), 0.1
    return model, q


def step_time(model: vt.Model, q: np.ndarray, method: str, smoke: bool, settle: float = 0.3) -> float:
    """Microseconds of a step of 1 ms once the contacts are there: the least of repeats."""
    integrator = vt.METHODS[method](model, 1e-3)
    integrator.start(0.0, q, model.zero_velocity())
    integrator.advance(5 if smoke else round(settle / 1e-3))
    steps, least, spent = 2 if smoke else 20, np.inf, 0.0
    for _ in range(1 if smoke else 25):
        start = time.thread_time()  # of this thread: other programs take none of it
        integrator.advance(steps)
        took = time.thread_time() - start
        least, spent = min(least, took), spent + took
        if spent > 1.0:
            break
    return 1e6 * least / steps


def growth(smoke: bool) -> None:
    sizes = (4, 8) if smoke else (4, 8, 16, 32, 64)
    links = (4, 8) if smoke else (8, 16, 32, 64, 128)
    rows = [
        ("links, eight points of a plate", links, lambda n: plate(8, n)),
        ("points of a plate at rest", sizes, plate),
        ("points of a plate that is pushed", sizes, lambda n: plate(n, push=250.0)),
        ("feet of a chain of 64 links", sizes, caterpillar),
        ("bodies with one point each", sizes, marbles),
    ]
    for method in ("linear-time", "midpoint"):
        for title, counts, make in rows:
            took = [step_time(*make(n), method, smoke) for n in counts]
            powers = [np.polyfit(np.log(counts[k:]), np.log(took[k:]), 1)[0] for k in (0, len(counts) - 3) if k >= 0]
            cells = " ".join(f"{n}: {us:.1f}" for n, us in zip(counts, took, strict=True))
            print(f"{method:12} {title:34} {cells} us, power {powers[0]:.2f}, of the last three {powers[-1]:.2f}",
                  flush=True)  # fmt: skip


def robot_of_hulls() -> tuple[vt.Model, np.ndarray, np.ndarray]:
    """The G1 with all its hulls, with its arms beside it, and with its hands and arms 1 mm in what they meet."""
    model = robot("g1", base="free", ground=vt.Ground(friction=0.8))
    beside = model.neutral()
    beside[2] = 1.5

    def posture(fold: float, press: float) -> np.ndarray:
        q = beside.copy()
        for joint in model.joints:
            side = 1.0 if joint.name.startswith("left") else -1.0
            for part, angle in (("shoulder_pitch", -0.6 * fold), ("shoulder_yaw", -1.2 * side * fold),
                                ("elbow", -0.3 * fold), ("shoulder_roll", -side * press)):  # fmt: skip
                if part in joint.name:
                    q[joint.q_slice] = angle
        return q

    def lowest(q: np.ndarray, *links: str) -> float:
        gaps = model.contact_gaps(q)
        some = [all(any(link in end for link in links) for end in ends) for ends in zip(gaps.a, gaps.b, strict=True)]
        return float(gaps.gap[np.array(some)].min())

    press = bisected(lambda x: lowest(posture(0.0, x), "torso", "shoulder_roll") + 1e-3, 0.0, 0.5)
    fold = bisected(lambda x: lowest(posture(x, press), "wrist", "hand") + 1e-3, 0.2, 0.6)
    return model, beside, posture(fold, press)


def bisected(value: Callable[[float], float], low: float, high: float) -> float:
    """Where a function that falls is zero."""
    for _ in range(30):
        middle = 0.5 * (low + high)
        low, high = (middle, high) if value(middle) > 0.0 else (low, middle)
    return low


def pairs(smoke: bool) -> None:
    model, *postures = robot_of_hulls()
    print(f"{model.contact_list.pairs} pairs of hulls, microseconds")
    for title, q in zip(("nothing is near", "hands and arms touch"), postures, strict=True):
        print(f"{title:22} {found_about(model, q, smoke)}", flush=True)


def found_about(model: vt.Model, q: np.ndarray, smoke: bool) -> str:
    """What it takes to find the contacts at configurations about one."""
    import mujoco

    count, rng = 10 if smoke else 200, np.random.default_rng(0)
    way, theirs = States(model), mujoco_model(model, 2e-3)
    data, stepper = mujoco.MjData(theirs), vt.METHODS["linear-time"](model, 2e-3).stepper
    rows = np.array([model.integrate(q, rng.uniform(-1e-3, 1e-3, model.nv)) for _ in range(count)])
    places, found = [way.to_mujoco(row, model.zero_velocity())[0] for row in rows], np.zeros(count, int)

    def collide() -> None:
        for k, place in enumerate(places):
            data.qpos[:] = place
            mujoco.mj_kinematics(theirs, data)
            mujoco.mj_collision(theirs, data)
            found[k] = data.ncon

    closed, least = core.contacts_within(stepper, rows), [np.inf, np.inf]
    for _ in range(2 if smoke else 40):
        least[0] = min(least[0], peers.best_of(lambda: core.contacts_within(stepper, rows), count, repeats=1))
        least[1] = min(least[1], peers.best_of(collide, count, repeats=1))
    return (f"vitree {least[0]:6.1f} us, {closed.mean():.1f} contacts; MuJoCo {least[1]:6.1f} us, {found.mean():.1f} "
            f"contacts ({least[0] / least[1]:.2f})")  # fmt: skip


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--smoke", action="store_true", help="short runs, to see that it works")
    parser.add_argument("--stand", type=float, metavar="SECONDS", help="how still they stand, over so long")
    parser.add_argument("--growth", action="store_true", help="the time of a step against links and contacts")
    parser.add_argument("--pairs", action="store_true", help="the time to find the contacts of a robot of hulls")
    chosen = parser.parse_args()
    print(f"{peers.machine()}\n")
    if chosen.stand is not None:
        stillness(chosen.stand)
    if chosen.growth:
        growth(chosen.smoke)
    if chosen.pairs:
        pairs(chosen.smoke)
    if chosen.stand is None and not (chosen.growth or chosen.pairs):
        times(chosen.smoke)


if __name__ == "__main__":
    main()
