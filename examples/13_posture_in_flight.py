"""A humanoid in flight changes its posture by servos: it turns faster while tucked; its angular momentum stays.

    python 13_posture_in_flight.py [--save FILE] [--plot FILE] [--view]

The robot is the G1 of the package example-robot-data. A drive on each joint pulls it to its target, within the effort
limits of the file; joints stop at their limits. A step solves for the drives: dt = 0.01 s is as long as the policies of
such robots wait between two answers. The same servos as a torque function need dt = 2e-4 s, and are wrong above it.
"""

import numpy as np

import vitree as vt

TUCKED = {"hip_pitch": -2.0, "knee": 2.2, "ankle_pitch": -0.5, "shoulder_pitch": -0.9, "elbow": 0.3}
STRETCHED = dict.fromkeys(TUCKED, 0.0) | {"elbow": 1.3}
GAINS = {"*_hip_*": (150, 3), "*_knee_*": (150, 3), "waist_*": (150, 3), "*": (40, 1)}  # kp, kd of each pattern


def main() -> vt.Trajectory:
    model = vt.load_urdf(vt.find_robot("g1_29dof"), base="free", limits="enforce")
    model = model.with_drives(GAINS, effort_limits=True)
    v0 = model.zero_velocity()
    v0[:6] = 0.5, 0.0, 4.0, 0.0, 4.0, 0.3  # linear [m/s], angular [rad/s]

    sim = vt.Simulation(model, None, v0, dt=0.01, record_every=1)
    for steps, posture in ((10, STRETCHED), (40, TUCKED), (30, STRETCHED)):
        goal = {f"{side}_{name}_joint": angle for name, angle in posture.items() for side in ("left", "right")}
        sim.step(steps, control=vt.Control(targets=goal))
    run = sim.trajectory

    centre = np.array([model.center_of_mass(q) for q in run.q])
    spin = run.momentum[:, :3] - np.cross(centre, run.momentum[:, 3:])  # about the centre of mass
    knee = model.joint("left_knee_joint").q_slice
    for state in map(run.at, (0.1, 0.5, 0.8)):
        print(f"t = {state.t:.1f} s: pelvis turns at {state.v[4]:4.2f} rad/s, knee is at {state.q[knee][0]:5.2f} rad")
    print(f"angular momentum {np.linalg.norm(spin[0]):.3f} kg m^2/s, off by {abs(spin - spin[0]).max():.0e}")
    return run


if __name__ == "__main__":
    import common

    common.run(main)
