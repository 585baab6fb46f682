"""A human figure stands on a floor by the drives of its joints, and its feet do not creep: python 03_stand.py"""

import numpy as np

import vitree as vt

STRONG, WEAK = (1500, 60), (200, 10)  # N m/rad, N m s/rad
gains = {"*_hip_*": STRONG, "*_knee_*": STRONG, "*_ankle_*": STRONG, "lumbar_*": STRONG, "*": WEAK}

model = vt.load_urdf(vt.find_robot("human"), base="free", ground=vt.Ground(friction=0.8)).with_drives(gains)
q0 = model.neutral()
for side in ("left", "right"):
    for joint, angle in (("hip", -0.3), ("knee", 0.6), ("ankle", -0.3)):
        q0[model.joint(f"{side}_{joint}_flexion").q_slice] = angle  # rad
q0 = vt.place_on_ground(model, q0)
run = vt.simulate(model, q0, duration=5.0, dt=1e-3, record_every=10, control=vt.Control(targets=q0[7:]))

moved = np.ptp(model.frame_pose("left_foot", run.q[run.t > 2.5])[:, :3, 3], axis=0).max()
print(f"pelvis at {run.q[-1, 2]:.3f} m; in the last 2.5 s the foot moves {moved:.0e} m; "
      f"{max(-run.contacts.gap.min(), 0.0):.0e} m deep in the floor")  # fmt: skip
