"""A humanoid in flight with a servo on each joint: errors, angular momentum and time, beside MuJoCo.

    python benchmarks/drives.py [--smoke]

The G1 (29 joints) turns freely for 0.8 s, seen by one who falls with it: without gravity, its centre of mass at rest.
Each joint has a servo of kp 100 N m/rad and kd 2 N m s/rad, and a target that is a sine of its own. There is no
armature, damping, friction or contact. MuJoCo has position actuators with the same gains, and the target of the middle
of each step, as vitree has.

"error" is the largest difference of a joint or of the base's orientation, at multiples of 0.02 s, from the same
engine's own run at 2e-5 s. "turned" is the largest change of the angular momentum about the centre of mass, as a share
of it: nothing outside turns the robot. "falls" is the same under gravity, thrown up at 3 m/s. The loops of Python that
step, each step with targets of its own, take turns.
"""

from __future__ import annotations

import argparse
import time
from dataclasses import replace

import numpy as np
import peers

import vitree as vt

KP, KD = 100.0, 2.0
DURATION, GRID = 0.8, 0.02
STEPS = (1e-2, 5e-3, 2e-3)
FINE = 2e-5
#: The step under gravity, and the velocity at which the robot goes up then.
FALLS_AT = 5e-3
UP = np.zeros(35)
UP[2] = 3.0
OWN = ("linear-time", "midpoint", "rk4", "semi-implicit-euler")
THEIRS = ("implicitfast", "implicit", "discrete", "euler", "rk4")


class Targets:
    """A sine for each joint."""

    def __init__(self, count: int):
        rng = np.random.default_rng(0)
        self.size, self.rate, self.phase = rng.uniform([[0.1], [3.0], [0.0]], [[0.4], [8.0], [6.0]], (3, count))

    def rows(self, dt: float) -> np.ndarray:
        """The targets in the middle of each step (steps, count)."""
        t = (np.arange(round(DURATION / dt)) + 0.5) * dt
        return self.size * np.sin(self.rate * t[:, None] + self.phase)


class Run:
    """What a run gives: places (rows, n), angular momentum (steps, 3), corrections a step."""

    def __init__(self, places: np.ndarray, momentum: np.ndarray, iterations: float = np.nan, note: str = ""):
        self.places, self.momentum, self.iterations, self.note = places, momentum, iterations, note

    def error(self, fine: Run) -> float:
        solved = 0 < len(self.places) == len(fine.places)
        return float(np.abs(self.places - fine.places).max()) if solved else np.nan

    def turned(self) -> float:
        size = np.linalg.norm(self.momentum - self.momentum[0], axis=1) / np.linalg.norm(self.momentum[0])
        return float(size.max())


class Vitree:
    """The robot with drives."""

    def __init__(self, text: str):
        model = vt.load_urdf(text, base="free")
        self.falling = model.with_drives({"*": (KP, KD)})
        self.model = vt.Model(replace(self.falling.flat, gravity=np.zeros(3)))
        self.names = [drive.joint for drive in self.model.drives]
        com = self.model.center_of_mass(self.model.neutral())
        self.v0 = start_velocity(self.model.nv, com)

    def run(self, targets: Targets, method: str, dt: float, falls: bool = False) -> Run:
        model, every = self.falling if falls else self.model, round(GRID / dt)
        v0 = self.v0 + UP * falls
        try:
            run = vt.simulate(model, None, v0, duration=DURATION, dt=dt, method=method,
                              control=vt.Control(inputs=targets.rows(dt)))
        except vt.VitreeError:
            return Run(np.empty((0, 0)), np.full((2, 3), np.nan))
        kept = slice(0, None, every)
        com = np.array([model.center_of_mass(q) for q in run.q[kept]])
        momentum = run.momentum[kept]
        about = momentum[:, :3] - np.cross(com, momentum[:, 3:])
        away = np.array([model.difference(run.q[0], q) for q in run.q[kept]])
        halved = run.settings.get("halved", 0)
        return Run(away[:, 3:], about, run.iterations_total / run.steps, f"{halved} halved" if halved else "")

    def loop(self, targets: Targets, method: str, dt: float):
        sim = vt.Simulation(self.model, None, self.v0, dt=dt, method=method)
        rows = targets.rows(dt)

        def loop():
            sim.reset()
            for row in rows:
                sim.step(control=vt.Control(inputs=row))

        return loop


class MuJoCo:
    """The same robot with position actuators."""

    def __init__(self, text: str, names: list[str]):
        import mujoco

        self.mujoco, self.model = mujoco, peers.mujoco_model(text, True, gains=(KP, KD))
        self.names = [self.model.joint(int(self.model.actuator_trnid[k, 0])).name for k in range(self.model.nu)]
        self.order = [names.index(name) for name in self.names]
        self.dof = [3, 4, 5, *(int(self.model.joint(name).dofadr[0]) for name in names)]
        data = mujoco.MjData(self.model)
        mujoco.mj_forward(self.model, data)
        self.v0 = start_velocity(self.model.nv, data.subtree_com[1] - data.qpos[:3])
        mujoco.set_mju_user_warning(lambda text: None)

    def started(self, integrator: str, dt: float, falls: bool = False):
        model, data = self.model, self.mujoco.MjData(self.model)
        model.opt.gravity[:] = 0.0, 0.0, -9.81 * falls
        model.opt.timestep = dt
        model.opt.integrator = getattr(self.mujoco.mjtIntegrator, f"mjINT_{integrator.upper()}")
        data.qvel[:] = self.v0 + UP * falls
        return model, data

    def run(self, targets: Targets, integrator: str, dt: float, falls: bool = False) -> Run:
        mujoco, every = self.mujoco, round(GRID / dt)
        model, data = self.started(integrator, dt, falls)
        places, momentum, start, away = [], [], data.qpos.copy(), np.zeros(model.nv)
        for k, row in enumerate([*targets.rows(dt)[:, self.order], None]):
            if k % every == 0:
                mujoco.mj_differentiatePos(model, away, 1.0, start, data.qpos)
                places.append(away[self.dof].copy())
                mujoco.mj_fwdPosition(model, data)
                mujoco.mj_fwdVelocity(model, data)
                mujoco.mj_subtreeVel(model, data)
                momentum.append(data.subtree_angmom[1].copy())
            if row is not None:
                data.ctrl[:] = row
                mujoco.mj_step(model, data)
            if not np.abs(data.qvel).max() < 1e6 or data.warning.number.any():
                return Run(np.empty((0, 0)), np.full((2, 3), np.nan))
        return Run(np.array(places), np.array(momentum))

    def loop(self, targets: Targets, integrator: str, dt: float):
        model, data = self.started(integrator, dt)
        rows, number = targets.rows(dt)[:, self.order], model.opt.integrator

        def loop():
            model.opt.timestep, model.opt.integrator, model.opt.gravity[:] = dt, number, 0.0
            self.mujoco.mj_resetData(model, data)
            data.qvel[:] = self.v0
            for row in rows:
                data.ctrl[:] = row
                self.mujoco.mj_step(model, data)

        return loop


def start_velocity(nv: int, com: np.ndarray) -> np.ndarray:
    """The base turns about the centre of mass, which is there as seen from the base."""
    v0, turn = np.zeros(nv), np.array([1.0, -2.0, 0.5])
    v0[:3], v0[3:6] = -np.cross(turn, com), turn
    return v0


def table(engines: dict, targets: Targets, steps: tuple[float, ...], fine_dt: float) -> None:
    """Print errors, what the momentum does, and corrections by engine, method and step."""
    print(f"\n{'':32s}" + "".join(f"{f'error {dt:g}':>14s}" for dt in steps)
          + "".join(f"{f'turned {dt:g}':>14s}" for dt in steps) + f"{f'falls {FALLS_AT:g}':>14s}"
          + "   corrections a step")  # fmt: skip
    for name, (engine, methods) in engines.items():
        for method in methods:
            fine = engine.run(targets, method, fine_dt)
            runs = [engine.run(targets, method, dt) for dt in steps]
            falls = engine.run(targets, method, FALLS_AT, falls=True)
            cells = [run.error(fine) for run in runs] + [run.turned() for run in (*runs, falls)]
            text = "".join(f"{cell:14.2e}" if np.isfinite(cell) else f"{'blew up':>14s}" for cell in cells)
            own = "  ".join(f"{run.iterations:.2f} {run.note}".rstrip() for run in runs if run.iterations > 0)
            print(f"{name + ' ' + method:32s}{text}   {own}")


def times(engines: dict, targets: Targets, dt: float, repeats: int) -> None:
    """Print microseconds of a step, the least of many turns."""
    loops = {(name, method): engine.loop(targets, method, dt) for name, (engine, methods) in engines.items()
             for method in methods if len(engine.run(targets, method, dt).places)}  # fmt: skip
    least = dict.fromkeys(loops, np.inf)
    for _ in range(repeats):
        for key, loop in loops.items():
            began = time.perf_counter()
            loop()
            least[key] = min(least[key], 1e6 * (time.perf_counter() - began) / round(DURATION / dt))
    beside = least["mujoco", "implicitfast"]
    print(f"\nus a step at dt = {dt:g} s, and over that of implicitfast")
    for (name, method), us in least.items():
        print(f"{name + ' ' + method:32s}{us:10.1f}{us / beside:10.2f}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--smoke", action="store_true", help="only see that it runs")
    smoke = parser.parse_args().smoke
    print(peers.machine())
    text = peers.without_damping(vt.find_robot("g1_29dof").read_text())
    own = Vitree(text)
    targets = Targets(len(own.names))
    engines = {"vitree": (own, OWN), "mujoco": (MuJoCo(text, own.names), THEIRS)}
    table(engines, targets, STEPS[:1] if smoke else STEPS, 2e-3 if smoke else FINE)
    for dt in STEPS[:1] if smoke else STEPS:
        times(engines, targets, dt, 1 if smoke else 60)


if __name__ == "__main__":
    main()
