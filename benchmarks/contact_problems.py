"""Contact problems as they come up in runs, and how a solver does on them.

    python benchmarks/contact_problems.py [--smoke] [--seconds S] [--scene NAME] [--each N]

Balls in a pit, thrown figures, robots that walk and march and a slab on balls are run with vitree, and the
complementarity problems of their steps are recorded: G, b, friction, the guess. Then problems of each run are solved
again, from their guess and from zero, to 1e-10 of the largest velocity: share solved, corrections, microseconds.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "examples"))

import vitree as vt
from vitree._core import scalar

#: Numbers that are kept of a run, the smallest problem in rows, and the accuracy that is asked for.
ROOM, LEAST, GOAL = 12_000_000, 9, 1e-10
#: The march: armature [kg m^2], period [s], bend of a lifted leg [rad], sway of the hips [rad], and the height of its
#: sine below which a foot stays on the ground.
ARMATURE, STRIDE, LIFT, SWAY, AGROUND = 0.05, 0.5, 0.15, 0.02, 0.2


def pit(count: int, seed: int, friction: float, dt: float, steps: int):
    """Balls that fall into a pit of five planes."""
    rng = np.random.default_rng(seed)
    tree = vt.Tree("pit")
    for k in range(count):
        tree.world.add(vt.free(f"base{k}"), vt.body(f"ball{k}", 1.0, (4e-3, 4e-3, 4e-3)))
    walls = [((np.cos(a), np.sin(a), 1.0), 0.0) for a in np.linspace(0, 2 * np.pi, 4, endpoint=False)]
    ground = vt.Ground(friction=friction, planes=walls)
    tree.contact(ground, [vt.Contact(f"ball{k}", shapes=[vt.Sphere(0.1)]) for k in range(count)])
    model = tree.compile()
    q = model.neutral().reshape(count, 7)
    side = 3
    for k in range(count):
        q[k, :3] = 0.22 * (k % side - 1), 0.22 * (k // side % side - 1), 0.6 + 0.22 * (k // side**2)
        q[k, :3] += rng.uniform(-0.01, 0.01, 3)
    return model, q.ravel(), model.zero_velocity(), dt, steps, None


def thrown(seed: int, dt: float, steps: int):
    """A figure that is thrown on the floor."""
    import stand_ins

    rng = np.random.default_rng(seed)
    model = stand_ins.figure(vt.Ground(friction=0.7)).with_drives({"*": (10, 1)})
    dq = np.zeros(model.nv)
    dq[3:6] = rng.standard_normal(3)
    q = model.integrate(model.neutral(), dq)
    q = vt.place_on_ground(model, q)
    q[2] += 0.3
    v = model.zero_velocity()
    v[:3], v[3:6] = rng.standard_normal(3), 3 * rng.standard_normal(3)
    return model, q, v, dt, steps, None


def trotting(dt: float, steps: int):
    """A quadruped that walks."""
    import importlib

    import stand_ins

    walk = importlib.import_module("17_walking_quadruped")
    model = stand_ins.quadruped(vt.Ground(friction=0.8)).with_drives({"*": (500, 10)})
    q = model.neutral()
    q[7:] = walk.trot(0.0, q, None)
    control = vt.Control(targets=vt.Controller(walk.trot, period=0.02))
    return model, vt.place_on_ground(model, q), model.zero_velocity(), dt, steps, control


def marcher():
    """A G1 on four corners of each foot, where it starts, and the targets at a time t [s] of a march in place."""
    tree = vt.read_urdf(vt.find_robot("g1"), base="free", armature=ARMATURE)
    corners = [(-0.05, -0.025, -0.035), (-0.05, 0.025, -0.035), (0.12, -0.03, -0.035), (0.12, 0.03, -0.035)]
    feet = [vt.Contact(f"{side}_ankle_roll_link", points=corners) for side in ("left", "right")]
    tree.contact(vt.Ground(friction=1.0), feet)
    model = tree.compile().with_drives({"*": (1000, 40)})
    q = model.neutral()
    bent = {"hip_pitch": -0.312, "knee": 0.669, "ankle_pitch": -0.363}
    for side in ("left", "right"):
        for name, angle in bent.items():
            q[model.joint(f"{side}_{name}_joint").q_slice] = angle
    q = vt.place_on_ground(model, q)
    targets = {drive.joint: float(q[model.joint(drive.joint).q_slice][0]) for drive in model.drives}

    def march(t, q, v):
        found, begun = dict(targets), min(t / STRIDE, 1.0)
        wave = begun * np.sin(2 * np.pi * t / STRIDE)
        for side, sign in (("left", 1.0), ("right", -1.0)):
            lift = LIFT * max(sign * wave - AGROUND * begun, 0.0) / (1 - AGROUND)
            found[f"{side}_hip_pitch_joint"] -= lift
            found[f"{side}_knee_joint"] += 2 * lift
            found[f"{side}_ankle_pitch_joint"] -= lift
            found[f"{side}_hip_roll_joint"] += SWAY * wave
            found[f"{side}_ankle_roll_joint"] -= SWAY * wave
        return [found[drive.joint] for drive in model.drives]

    return model, q, march


def stepping(dt: float, steps: int):
    """A G1 that marches in place."""
    model, q, march = marcher()
    control = vt.Control(targets=vt.Controller(march, period=0.01 if dt <= 0.01 else dt))
    return model, q, model.zero_velocity(), dt, steps, control


def cart(friction: float, dt: float, steps: int):
    """A slab of 10 kg on four free balls, pushed to and fro."""
    tree = vt.Tree("cart")
    tree.world.add(vt.free("base"), vt.body("slab", 10.0, (1.0, 1.0, 2.0)))
    tree.contact(vt.Contact("slab", shapes=[vt.Box((2.0, 1.0, 0.1))]))
    for k in range(4):
        tree.world.add(vt.free(f"b{k}"), vt.body(f"ball{k}", 1.0, (4e-3, 4e-3, 4e-3)))
        tree.contact(vt.Contact(f"ball{k}", shapes=[vt.Sphere(0.1)]))
    tree.contact(vt.Ground(friction=friction))
    model = tree.compile()
    q = model.neutral().reshape(5, 7)
    q[0, 2] = 0.25
    for k in range(4):
        q[1 + k, :3] = (0.6 if k % 2 else -0.6), (0.3 if k // 2 else -0.3), 0.1
    tau = np.zeros(model.nv)

    def push(t, q, v):
        tau[0] = 40.0 * np.sign(np.sin(3 * t) + 0.3)
        tau[1] = 15.0 * np.sin(7 * t)
        return tau

    return model, q.ravel(), model.zero_velocity(), dt, steps, push


def scenes(quick: bool) -> Iterator[tuple[str, object]]:
    """Name and maker of each run."""
    N = 20 if quick else 1
    for seed in range(3):
        for friction in (0.1, 0.5, 1.0, 3.0):
            for dt in (0.001, 0.005):
                yield "pit10", lambda s=seed, m=friction, h=dt: pit(10, s, m, h, round(2.0 / h) // N)
        yield "pit50", lambda s=seed: pit(50, s, 0.6, 0.005, 300 // N)
        for dt in (0.001, 0.005):
            for more in range(4):
                yield "thrown", lambda s=4 * seed + more, h=dt: thrown(s, h, round(1.5 / h) // N)
    for dt in (0.001, 0.002, 0.005, 0.01):
        yield "trot", lambda h=dt: trotting(h, round(3.0 / h) // N)
        yield "march", lambda h=dt: stepping(h, round(3.0 / h) // N)
        for friction in (0.3, 0.9, 2.0):
            yield "cart", lambda m=friction, h=dt: cart(m, h, round(2.0 / h) // N)


def record(make, seconds: float) -> tuple[list[list], dict[str, float]]:
    """Run a scene with a limit of time; return its problems and how it went."""
    core = scalar()
    model, q, v, dt, steps, control = make()
    sim = vt.Simulation(model, q, v, dt=dt, control=control)
    core.record_problems(0)
    core.record_problems(ROOM, LEAST)
    begin, times, failed = time.perf_counter(), [], ""
    for _ in range(steps):
        at = time.thread_time()
        try:
            sim.step()
        except vt.ConvergenceError as error:
            failed = str(error)[:100]
            break
        times.append(time.thread_time() - at)
        if time.perf_counter() - begin > seconds:
            failed = f"out of time at step {len(times)} of {steps}"
            break
    problems = core.record_problems(0)
    times = np.array(times) * 1e6
    return problems, {"dt": dt, "steps": len(times), "median": np.median(times), "worst": times.max(), "failed": failed,
                  "told": (sim._integrator.inexact_contacts or (0,))[0]}  # fmt: skip


def solved(problems: list[list], cold: bool) -> str:
    """Solve problems to GOAL of their largest velocity, from their guess or from zero; how that went."""
    core, rows = scalar(), []
    for dim, G, b, mu, lead, lam, _, law in problems:
        goal = GOAL * np.abs(b).max()
        begin = time.thread_time()
        *_, residual, corrections, _ = core.solve_cones(dim, G, b, mu, lead, 0 * lam if cold else lam, goal, law)
        rows.append((residual <= goal, corrections, 1e6 * (time.thread_time() - begin)))
    ok, corrections, times = np.array(rows, dtype=float).T
    return (f"{100 * ok.mean():6.2f} % solved, corrections {np.median(corrections):2.0f} / "
            f"{np.percentile(corrections, 99):3.0f} / {corrections.max():3.0f}, us {np.median(times):3.0f} / "
            f"{np.percentile(times, 99):5.0f} / {times.max():6.0f}")  # fmt: skip


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--smoke", action="store_true", help="a twentieth of each run")
    parser.add_argument("--seconds", type=float, default=20.0, help="the longest time of a run")
    parser.add_argument("--scene", help="one scene")
    parser.add_argument("--each", type=int, default=400, help="problems that are kept of a run")
    given = parser.parse_args()
    rng, chosen = np.random.default_rng(0), dict[str, list]()
    for name, make in scenes(given.smoke):
        if given.scene and name != given.scene:
            continue
        problems, how = record(make, given.seconds)
        chosen.setdefault(name, []).extend(problems[k] for k in rng.permutation(len(problems))[: given.each])
        print(f"{name:8s} dt {how['dt']:g}: {how['steps']} steps, median {how['median']:.0f} us, worst "
              f"{how['worst']:.0f} us, {len(problems)} problems, {how['told']} steps with a residual {how['failed']}",
              flush=True)  # fmt: skip
    print("\nmedian / 99 % / largest")
    for name, problems in chosen.items():
        if problems:
            print(f"{name:8s} {len(problems):5d} warm {solved(problems, False)}")
            print(f"{name:8s} {len(problems):5d} cold {solved(problems, True)}", flush=True)


if __name__ == "__main__":
    main()
