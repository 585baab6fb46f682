"""Many instances at once: microseconds per instance and step of ``vt.rollout``, beside ``mujoco.rollout``.

    python benchmarks/rollouts.py [--smoke] [--contact] [--large]

Both programs step the same robots from the same starts, in one thread, and record only the end where they can. Shares
are of MuJoCo's Euler step, and of its RK4 step for rk4. The two take turns, and the least of several turns counts.
Then two threads beside one. "in contact": G1s on four corners of each foot that land and stand, that have stood for a
second, and that march, also with dry friction of 0.1 N m in all joints ("rubbing"), under targets that a callable gives
once every 20 ms, beside MuJoCo's rollout of the same targets with implicitfast. "talos, drives" has a servo of kp 100
N m/rad and kd 2 N m s/rad on each joint, and in MuJoCo position actuators with the integrator
implicitfast. With --large: the memory and the time of many instances.
"""

from __future__ import annotations

import argparse
import resource
import time

import contact_problems
import mujoco
import numpy as np
import peers
from mujoco import rollout as peer_rollout

import vitree as vt
from vitree.engines.mujoco import States, mujoco_model

#: method, options, the peer's integrator that it is compared with
METHODS = (("linear-time", {}, "euler"), ("rk4", {}, "rk4"), ("semi-implicit-euler", {}, "euler"), ("rk8", {}, "rk4"),
           ("linear-time", {"order": 4}, "rk4"), ("midpoint", {}, "euler"))  # fmt: skip

#: How many times as many instances two threads share.
MANY = 8


#: Gains [N m/rad, N m s/rad] of the servos.
GAINS = (100.0, 2.0)
DRIVEN = (("linear-time", {}, "implicitfast"), ("midpoint", {}, "implicitfast"))


def least_seconds(calls: dict, repeats: int) -> dict:
    """Least seconds of each call; they take turns."""
    found = dict.fromkeys(calls, np.inf)
    for _ in range(repeats):
        for name, call in calls.items():
            found[name] = min(found[name], 1e-6 * peers.best_of(call, 1, 1))
    return found


def peer(text: str, free: bool, model: vt.Model, q: np.ndarray, v: np.ndarray, dt: float, steps: int,
         integrators=("euler", "rk4"), gains=None, threads: int = 1) -> dict:  # fmt: skip
    """Calls of ``mujoco.rollout``, which records all states, by integrator."""
    found = {}
    for name in integrators:
        theirs = peers.mujoco_model(text, free, dt, gains)
        theirs.opt.integrator = getattr(mujoco.mjtIntegrator, f"mjINT_{name.upper()}")
        joints = [mujoco.mj_id2name(theirs, mujoco.mjtObj.mjOBJ_JOINT, k) for k in range(theirs.njnt)]
        coordinates = peers.Coordinates(model, joints[int(free):], free, mujoco=True)
        states = np.array([np.concatenate([[0.0], *coordinates.theirs(a, b)]) for a, b in zip(q, v, strict=True)])
        data = [mujoco.MjData(theirs) for _ in range(threads)]
        found[name] = lambda m=theirs, d=data, s=states: peer_rollout.rollout(m, d, s, nstep=steps)
    return found


def table(smoke: bool) -> None:
    """Robots by methods, then threads."""
    n, steps, repeats = (64, 100, 12) if not smoke else (9, 5, 1)
    dt, robots = 1e-3, peers.robots()
    for robot in (*robots, "talos, drives", "pendulum2"):
        gains = GAINS if "drives" in robot else None
        text, free = robots["talos"] if gains else robots.get(robot, (peers.chain_urdf(2), False))
        model = vt.load_urdf(text, base="free" if free else "fixed")
        if gains:
            model = model.with_drives({"*": gains})
        methods = DRIVEN if gains else METHODS
        rng = np.random.default_rng(0)
        q = np.array([model.integrate(model.neutral(), 0.3 * rng.normal(size=model.nv)) for _ in range(n)])
        v = rng.uniform(-1, 1, (n, model.nv))

        def call(method, options, threads: int = 1, many: int = 1, model=model, q=q, v=v):
            return vt.rollout(model, np.tile(q, (many, 1)), np.tile(v, (many, 1)), duration=steps * dt, dt=dt,
                              method=method, record_every=None, threads=threads, **options)  # fmt: skip

        theirs = peer(text, free, model, q, v, dt, steps, dict.fromkeys(other for _, _, other in methods), gains)
        ours = {" ".join([method, *(f"{k} {x}" for k, x in options.items())]): (method, options, other)
                for method, options, other in methods}  # fmt: skip
        calls: dict = {f"mujoco {name}": run for name, run in theirs.items()}
        calls |= {label: lambda m=method, o=options: call(m, o) for label, (method, options, _) in ours.items()}
        least = least_seconds(calls, repeats)
        print(f"\n{robot}: {n} instances, {steps} steps of {dt:g} s; us per instance and step (share of the peer's)")
        for name in theirs:
            print(f"  {'mujoco ' + name:26s} {1e6 * least[f'mujoco {name}'] / n / steps:8.2f}")
        for label, (method, options, other) in ours.items():
            told = call(method, options)
            # threads share more than a few instances
            threads = least_seconds({k: lambda k=k, m=method, o=options: call(m, o, k, MANY) for k in (1, 2)},
                                    min(repeats, 3))  # fmt: skip
            share = f"({least[label] / least[f'mujoco {other}']:5.3f} of {other})"
            print(f"  {label:26s} {1e6 * least[label] / n / steps:8.2f} {share}; "
                  f"two threads {threads[1] / threads[2]:4.2f} times; {told.in_lanes.sum()} in lanes of {told.width}",
                  flush=True)  # fmt: skip


def in_contact(smoke: bool) -> None:
    """Robots that stand, and that march, by one callable for all."""
    dt, control, duration, repeats = 2e-3, 0.02, 0.8, 5
    sizes = (64, 1024)
    if smoke:
        duration, repeats, sizes = 0.04, 1, (9,)
    model, q0, march = contact_problems.marcher()
    steps, each = round(duration / dt), round(control / dt)
    kp = np.array([drive.kp for drive in model.drives])
    theirs = mujoco_model(model, dt, "implicitfast", 0.02)
    theirs.opt.cone = mujoco.mjtCone.mjCONE_PYRAMIDAL
    way, data = States(model), [mujoco.MjData(theirs)]
    settled = 0.01 if smoke else 1.0
    frictionless = model
    for name, moves, before, friction in (("land and stand", 0.0, 0.0, 0.0), ("stand", 0.0, settled, 0.0),
                                          ("march", 1.0, 0.0, 0.0), ("stand, rubbing", 0.0, settled, 0.1),
                                          ("march, rubbing", 1.0, 0.0, 0.1)):  # fmt: skip
        model = frictionless.with_parameters(dry_friction=np.where(np.arange(model.nv) < 6, 0.0, friction))
        theirs.dof_frictionloss[6:] = friction
        table = np.array([march(moves * k * control, q0, None) for k in range(steps // each + 1)])
        for n in sizes:
            rng = np.random.default_rng(0)
            q = np.array([vt.place_on_ground(model, model.integrate(q0, 0.005 * rng.normal(size=model.nv)))
                          for _ in range(n)])  # fmt: skip
            v = 0.02 * rng.normal(size=(n, model.nv))
            if before:
                come = vt.rollout(model, q, v, duration=before, dt=dt, control=vt.Control(targets=table[0]),
                                  record_every=None)  # fmt: skip
                q, v = come.q[:, -1], come.v[:, -1]
            states = np.array([np.concatenate([[0.0], *way.to_mujoco(a, b)]) for a, b in zip(q, v, strict=True)])
            signals = np.repeat(kp * table, each, axis=0)[None, :steps].repeat(n, axis=0)
            policy = vt.Controller(lambda t, q, v, n=n, at=table: np.tile(at[round(t / control)], (n, 1)), control)
            found: list = []

            def ours(model=model, q=q, v=v, policy=policy, found=found):
                found.append(vt.rollout(model, q, v, duration=duration, dt=dt, control=vt.Control(targets=policy),
                                        record_every=None, threads=1))  # fmt: skip

            least = least_seconds({
                "vitree": ours,
                "mujoco": lambda s=states, c=signals: peer_rollout.rollout(theirs, data, s, c, nstep=steps),
            }, repeats if n < 1000 else 2)  # fmt: skip
            up = found[-1].q[:, -1, 2] > 0.8 * q0[2]
            own, other = (1e6 * least[key] / n / steps for key in ("vitree", "mujoco"))
            print(f"{n} G1s that {name}, {steps} steps of {dt:g} s: {own:.1f} us a step of MuJoCo's {other:.1f} "
                  f"({own / other:.2f}); {up.sum()} upright", flush=True)  # fmt: skip


def large() -> None:
    """The memory of 10,000 robots, and the time of 1,000 double pendulums."""
    text, _ = peers.robots()["talos"]
    model = vt.load_urdf(text, base="free")
    rng = np.random.default_rng(0)
    q = np.tile(model.neutral(), (10_000, 1))
    v = 0.3 * rng.normal(size=(10_000, model.nv))
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    start = time.perf_counter()
    found = vt.rollout(model, q, v, duration=1.0, dt=1e-3, record_every=None)
    took, after = time.perf_counter() - start, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    print(f"\n10,000 x Talos, 1,000 steps, the end alone: {after / 1024:.0f} MB at most, "
          f"{(after - before) / 1024:.0f} MB more than before, {took:.1f} s; {found}")  # fmt: skip
    text = peers.chain_urdf(2)
    model = vt.load_urdf(text)
    q, v = rng.uniform(-1, 1, (1000, 2)), np.zeros((1000, 2))
    for method in ("linear-time", "rk4"):
        for every in (None, 1):
            start = time.perf_counter()
            found = vt.rollout(model, q, v, duration=5.0, dt=1e-3, method=method, record_every=every)
            took = time.perf_counter() - start
            print(f"1,000 double pendulums, 5 s at 1 ms, {method}, {'end' if every is None else 'all'}: "
                  f"{took:.2f} s with {found.threads} threads; {found}")  # fmt: skip
    theirs = least_seconds(peer(text, False, model, q, v, 1e-3, 5000, threads=2), 1)
    print(f"  mujoco.rollout, two threads: euler {theirs['euler']:.2f} s, rk4 {theirs['rk4']:.2f} s")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--smoke", action="store_true", help="only see that it runs")
    parser.add_argument("--contact", action="store_true", help="robots in contact alone")
    parser.add_argument("--large", action="store_true", help="thousands of instances as well")
    arguments = parser.parse_args()
    print(peers.machine())
    if not arguments.contact:
        table(arguments.smoke)
    in_contact(arguments.smoke)
    if arguments.large:
        large()


if __name__ == "__main__":
    main()
