"""A somersault: a human-like figure in the air tucks in and turns faster; its momentum is conserved to round-off.

    python 02_humanoid_falling.py [--save FILE] [--plot FILE] [--view]

The figure leaves the ground stretched, turning forward and a little to the side. Torques pull its joints to a tucked
pose, like critically damped springs. Inverse dynamics finds the torques, with none on the floating pelvis. Torques
inside the body cannot change its momentum. Gravity adds its impulse to the linear momentum, and changes the angular
momentum about every axis but the vertical.
"""

import numpy as np

import vitree as vt

TUCKED = {"lumbar_flexion": 0.6, "thoracic_flexion": 0.4, "left_hip_flexion": -2.0, "right_hip_flexion": -2.0,
          "left_knee_flexion": 2.3, "right_knee_flexion": 2.3, "left_elbow_flexion": -1.0, "right_elbow_flexion": -1.0,
          "left_shoulder_flexion": -0.9, "right_shoulder_flexion": -0.9}  # fmt: skip


def main() -> vt.Trajectory:
    model = vt.load_urdf(vt.find_robot("human"), base="free")
    q0, goal, v0 = model.neutral(), model.neutral(), model.zero_velocity()
    v0[:6] = 0.5, 0.0, 4.5, 0.0, 4.0, 0.4  # linear [m/s], angular [rad/s]
    for joint, angle in TUCKED.items():
        goal[model.joint(joint).q_slice] = angle

    def tuck(t, q, v):
        a = 64.0 * model.difference(q, goal) - 16.0 * v
        a[:6] = 0.0
        a[:6] = np.linalg.solve(model.crba(q)[:6, :6], -model.rnea(q, v, a)[:6])  # acceleration of the pelvis
        torque = model.rnea(q, v, a)
        torque[:6] = 0.0
        return torque

    run = vt.simulate(model, q0, v0, duration=0.9, dt=0.002, control=tuck)
    change = run.momentum - run.momentum[0]
    change[:, 3:] -= model.total_mass * run.t[:, None] * model.gravity
    print(f"trunk turns at {run.v[0, 4]:.2f} rad/s, tucked at {run.v[-1, 4]:.2f} rad/s")
    print(f"angular momentum upwards {run.momentum[0, 2]:.3f} kg m^2/s; off by {abs(change[:, 2]).max():.0e}")
    print(f"linear momentum off gravity's impulse by {abs(change[:, 3:]).max():.0e} kg m/s")
    return run


if __name__ == "__main__":
    import common

    common.run(main)
