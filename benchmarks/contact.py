"""Humanoids that stand on their feet: microseconds a step, and how still the feet are, beside MuJoCo.

    python benchmarks/contact.py [--smoke]

Talos half sitting and the human figure stand on the four corners of each foot, held by servos of kp 1500, kd 60 (legs
and trunk) and 200, 10 (the others) about the start. MuJoCo has the same robot, servos as position actuators, small
balls at the corners, a plane, and the same friction. After a second of standing the loops of the compiled cores take
turns. "moved" is the largest displacement of a corner between 1 s and the end, "lowest" the least gap, "weight" the
mean force of the ground over that of the weight, less one.
"""

from __future__ import annotations

import argparse
from dataclasses import replace

import numpy as np
import peers

import vitree as vt

FRICTION, BALL, SETTLE = 0.7, 1e-3, 1.0
HALF_SITTING = {
    **{f"leg_{side}_{k}_joint": x for side in ("left", "right")
       for k, x in zip(range(1, 7), (0.0, 0.0, -0.411354, 0.859395, -0.448041, -0.001708), strict=True)},
    **{f"arm_{side}_{k}_joint": x for side, s in (("left", 1), ("right", -1))
       for k, x in zip(range(1, 8), (0.25847 * s, 0.173046 * s, -0.0002 * s, -0.525366, 0.0, 0.0, 0.1), strict=True)},
}  # fmt: skip
STRONG = ("leg", "hip", "knee", "ankle", "torso", "lumbar")
#: Robot -> frames of its feet, corners in them, the links that they are fixed to.
FEET = {
    "talos": (("left_sole_link", "right_sole_link"), [(x, y, 0.0) for x in (-0.1, 0.1) for y in (-0.06, 0.06)],
              ("leg_left_6_link", "leg_right_6_link")),
    "human": (("left_foot", "right_foot"), [(x, y, -0.0323) for x in (-0.06, 0.1981) for y in (-0.045, 0.045)],
              ("left_foot", "right_foot")),
}  # fmt: skip


def gains(name: str) -> tuple[float, float]:
    return (1500.0, 60.0) if any(word in name for word in STRONG) else (200.0, 10.0)


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
            if joint.name in HALF_SITTING:
                q[joint.q_slice] = HALF_SITTING[joint.name]
        self.q = vt.place_on_ground(model, q)
        joints = [joint for joint in model.joints if joint.kind != "free"]
        loads = tuple(vt.Drive(j.name, *gains(j.name), target=float(self.q[j.q_slice][0])) for j in joints)
        self.model = vt.Model(replace(model.flat, loads=loads))
        self.targets = {j.name: float(self.q[j.q_slice][0]) for j in joints}

    def places(self, q: np.ndarray) -> np.ndarray:
        return self.model.contact_gaps(q).point_a

    def stand(self, method: str, dt: float, duration: float) -> tuple[float, float, float]:
        run = vt.simulate(self.model, self.q, duration=duration, dt=dt, method=method, every=round(0.05 / dt))
        late = [self.places(q) for q, t in zip(run.q, run.t, strict=True) if t >= SETTLE]
        force = run.contacts.total(len(run))[len(run) // 2 :, 2].mean() / dt
        gap = min(self.model.contact_gaps(q).gap.min() for q in run.q)
        weight = force / (9.81 * self.model.total_mass) - 1
        return max(float(np.abs(x - late[0]).max()) for x in late), gap, weight

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
        balls = []
        for frame, link in zip(frames, links, strict=True):
            sole, foot = (own.model.frame_pose(x, own.model.neutral()) for x in (frame, link))
            R, p, Rl, pl = sole[:3, :3], sole[:3, 3], foot[:3, :3], foot[:3, 3]
            up = np.array((0, 0, BALL))
            balls += [(link, Rl.T @ (p + R @ (np.array(c) + up) - pl)) for c in corners]
        self.model = peers.mujoco_model(text, True, servos={j: gains(j) for j in own.targets}, balls=balls, ball=BALL,
                                        friction=FRICTION)  # fmt: skip

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
        chosen = [k for k in range(self.model.ngeom) if self.model.geom(k).name.startswith("corner")]
        return data.geom_xpos[chosen]

    def stand(self, integrator: str, dt: float, duration: float) -> tuple[float, float, float]:
        model, data = self.started(integrator, dt)
        first, moved, low, forces = None, 0.0, np.inf, []
        for k in range(round(duration / dt)):
            self.mujoco.mj_step(model, data)
            if k % round(0.05 / dt) == 0:
                x = self.corners(data)
                low = min(low, x[:, 2].min() - BALL)
                if k * dt >= SETTLE:
                    first = x.copy() if first is None else first
                    moved = max(moved, float(np.abs(x - first).max()))
                    forces.append(data.qfrc_constraint[2])
        return moved, low, float(np.mean(forces) / (9.81 * self.own.model.total_mass) - 1)

    def loop(self, integrator: str, dt: float, steps: int):
        model, data = self.started(integrator, dt)
        self.mujoco.mj_step(model, data, nstep=round(SETTLE / dt))
        return lambda: self.mujoco.mj_step(model, data, nstep=steps)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--smoke", action="store_true", help="short runs, to see that it works")
    smoke = parser.parse_args().smoke
    duration, steps, rounds = (1.2, 50, 2) if smoke else (10.0, 500, 12)
    print(f"{peers.machine()}\n")
    for name in FEET:
        text = peers.without_damping(vt.find_robot(name).read_text())
        own = Vitree(name, text)
        theirs = MuJoCo(name, text, own)
        for dt in (1e-3, 2e-3, 5e-3):
            ways = [(own, "linear-time"), (own, "midpoint"), (theirs, "implicitfast"), (theirs, "euler")]
            loops = [side.loop(way, dt, steps) for side, way in ways]
            least = [np.inf] * len(loops)
            for _ in range(rounds):
                for k, loop in enumerate(loops):
                    least[k] = min(least[k], peers.best_of(loop, steps, repeats=1))
            for (side, way), us in zip(ways, least, strict=True):
                moved, low, weight = side.stand(way, dt, duration)
                engine = "vitree" if side is own else "mujoco"
                print(f"{name:6} dt {1e3 * dt:g} ms {engine} {way:13} {us:7.1f} us "
                      f"({us / least[2]:.2f})  moved {moved:8.1e} m  lowest {low:8.1e} m  "
                      f"weight {weight:8.1e}")  # fmt: skip


if __name__ == "__main__":
    main()
