"""Cassie, a biped with closed legs and leaf springs, stands on its drives, from an SDF file: python 18_cassie.py"""

import numpy as np

import vitree as vt

FILE = vt.find_robot("talos").parents[2] / "cassie_description/robots/cassie.sdf"
tree = vt.read_sdf(FILE, ground=vt.Ground(friction=0.8), limits="ignore")
gains = {spring.joint: (spring.stiffness, 5.0) for spring in tree.loads} | {"*-op": (6000, 300)}
tree.loads = []  # the leaf springs of the file are drives, whose targets are their preload
model = tree.compile().with_drives(gains)

q = vt.reference_configurations(model, FILE)["standing"]
feet = {each.frame: each.shapes[0].rotation for each in tree.contacts if "foot" in getattr(each, "frame", "")}
for side in ("left", "right"):  # both feet flat, and the four-bar that turns each with them
    tilt = np.arcsin(model.frame_pose(f"{side}-foot", q)[2, :3] @ np.array(feet[f"{side}-foot"])[:, 2])
    for joint, turn in (("foot-op", tilt), ("tarsus-crank-joint", tilt), ("crank-rod-joint", -tilt)):
        q[model.joint(f"{side}-{joint}").q_slice] += turn
start = vt.feasible_start(model, vt.satisfy_constraints(model, q))
targets = vt.static_equilibrium(start.model, start.q, tolerance=5e-3).targets
run = vt.simulate(start.model, start.q, duration=5.0, dt=1e-3, control=vt.Control(targets=targets))

opened = np.abs(start.model.constraint_errors(run.q[-1])).max()
speed = np.linalg.norm(run.v[-1, :3])
print(f"the pelvis is at {run.q[-1, 2]:.3f} m and moves by {speed:.0e} m/s; loops are open by {opened:.0e} m")
