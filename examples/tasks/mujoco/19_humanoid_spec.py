"""G1, a humanoid, stands on drives."""

from pathlib import Path

import mujoco
import numpy as np

robots = Path(mujoco.__file__).parents[1] / "cmeel.prefix/share/example-robot-data/robots"
path = robots / "g1_description/urdf/g1_29dof_rev_1_0.urdf"
spec = mujoco.MjSpec.from_file(str(path))
for mesh in spec.meshes:
    mesh.file = str(path.parents[1] / "meshes" / mesh.file.rsplit("/", 1)[-1])
spec.worldbody.add_geom(type=mujoco.mjtGeom.mjGEOM_PLANE, size=(0, 0, 1))
spec.bodies[1].add_freejoint(name="base")
for joint in spec.joints:
    if joint.name.endswith("_joint"):
        spec.add_actuator(name=joint.name, target=joint.name, trntype=mujoco.mjtTrn.mjTRN_JOINT).set_to_position(
            kp=800, kv=40)  # fmt: skip
spec.option.timestep, spec.option.integrator = 2e-3, mujoco.mjtIntegrator.mjINT_IMPLICITFAST
spec.option.cone = mujoco.mjtCone.mjCONE_ELLIPTIC
model = spec.compile()
data = mujoco.MjData(model)
mujoco.mj_forward(model, data)
lowest = min(data.geom_xpos[k, 2] - model.geom_size[k, 0] for k in range(model.ngeom)
             if model.geom_type[k] == mujoco.mjtGeom.mjGEOM_SPHERE)  # fmt: skip
data.qpos[2] -= lowest
deepest, start = 0.0, data.qpos[:3].copy()
for _ in range(1500):
    mujoco.mj_step(model, data)
    deepest = min(deepest, data.contact.dist.min(initial=0.0))
moved = np.linalg.norm(data.qpos[:3] - start)
print(f"the pelvis is at {data.qpos[2]:.3f} m, and has moved by {moved:.0e} m; {-deepest:.0e} m deep")
