"""A humanoid takes over a walk from a motion capture file (BVH), by tasks.

    python 34_retargeting.py [--save FILE] [--plot FILE] [--view]

`bvh.py` writes the walk of a skeleton of 1.5 m, and reads it again as it would any file. The G1 (extra `robots`) has
shorter legs and arms (`retarget.py`). Its feet are where the skeleton's are, so that they stand still in stance;
pelvis, trunk and hands share what that leaves. Limits of position, velocity and acceleration hold. No forces act: the
motion is an integrator of its own, whose step is one call of `Tasks.velocity`.
"""

import numpy as np
import retarget

import vitree as vt


class Following(vt.Integrator):
    """Follows the targets of a retargeting."""

    name, order = "following", 1

    def step(self, t, q, v):
        self.of.aim(t + self.dt)
        v = self.of.tasks.velocity(q, self.dt, v)
        return self.model.integrate(q, v * self.dt), v


def main() -> vt.Trajectory:
    motion = retarget.walk()
    robot = vt.load_urdf(vt.find_robot("g1"), base="free")
    Following.of = of = retarget.Retargeting(robot, motion)
    vt.METHODS[Following.name] = Following
    run = vt.simulate(robot, of.start, duration=motion.duration, dt=motion.dt / 2, method="following")

    off = np.array([of.off(t, q) for t, q in zip(run.t, run.q, strict=True)])[120:]  # it starts at rest
    soles = np.stack([robot.frame_pose(f"{side}_ankle_roll_link", run.q[120:])[:, :3, 3] for side in retarget.SIDES], 1)
    low = soles[1:, :, 2] < soles[..., 2].min() + 2e-4
    slip = np.linalg.norm(np.diff(soles[..., :2], axis=0), axis=-1)[low].max() / run.t[1]
    print(f"feet off by {1e3 * off[:, :2].max():.2f} mm, pelvis {1e3 * off[:, 2].max():.1f} mm, hands "
          f"{1e3 * off[:, 3:].max():.0f} mm; feet slip {1e3 * slip:.1f} mm/s; {np.ptp(run.q[:, 0]):.2f} m")  # fmt: skip
    return run


if __name__ == "__main__":
    import common

    common.run(main)
