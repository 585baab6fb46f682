"""G1, a humanoid, stands on drives; vitree reads MuJoCo's model of it, an MjSpec: python 19_humanoid_spec.py"""

import mujoco
import numpy as np

import vitree as vt

path = vt.find_robot("g1_29dof_rev_1_0")
spec = mujoco.MjSpec.from_file(str(path))
for mesh in spec.meshes:
    mesh.file = str(path.parents[1] / "meshes" / mesh.file.rsplit("/", 1)[-1])
spec.worldbody.add_geom(type=mujoco.mjtGeom.mjGEOM_PLANE, size=(0, 0, 1))
spec.bodies[1].add_freejoint(name="base")
robot = vt.from_mujoco(spec)

model = robot.model.with_drives({"*_joint": (800, 40)})
start = vt.feasible_start(model, vt.place_on_ground(model, model.start))
targets = vt.static_equilibrium(start.model, start.q, tolerance=5e-3).targets
run = vt.simulate(start.model, start.q, duration=3.0, dt=2e-3, control=vt.Control(targets=targets))
moved = np.linalg.norm(run.q[-1, :3] - run.q[0, :3])
sunk = max(-run.contacts.gap.min(), 0.0)
print(f"the pelvis is at {run.q[-1, 2]:.3f} m, and has moved by {moved:.0e} m; {sunk:.0e} m deep")
