"""A human figure stands on a floor by position actuators."""

from pathlib import Path

import mujoco
import numpy as np

spec = mujoco.MjSpec.from_file(str(Path(__file__).parents[3] / "urdf" / "human.urdf"))
spec.compiler.boundmass = spec.compiler.boundinertia = 1e-9  # some links have no mass
spec.option.timestep, spec.option.integrator = 1e-3, mujoco.mjtIntegrator.mjINT_IMPLICITFAST
spec.option.cone = mujoco.mjtCone.mjCONE_ELLIPTIC
for geom in spec.geoms:
    geom.contype, geom.conaffinity, geom.friction[0] = 0, 1, 0.8  # they meet the floor alone
spec.worldbody.add_geom(type=mujoco.mjtGeom.mjGEOM_PLANE, size=[0, 0, 1], contype=1, conaffinity=0)
for joint in spec.joints:
    strong = any(part in joint.name for part in ("hip", "knee", "ankle", "lumbar"))
    kp, kd = (1500, 60) if strong else (200, 10)  # N m/rad, N m s/rad
    servo = spec.add_actuator(target=joint.name, trntype=mujoco.mjtTrn.mjTRN_JOINT)
    servo.gainprm[0], servo.biastype = kp, mujoco.mjtBias.mjBIAS_AFFINE
    servo.biasprm[1], servo.biasprm[2] = -kp, -kd
    joint.limited = False
spec.worldbody.first_body().add_freejoint()
model = spec.compile()
data = mujoco.MjData(model)

for side in ("left", "right"):
    for joint, angle in (("hip", -0.3), ("knee", 0.6), ("ankle", -0.3)):
        data.qpos[model.joint(f"{side}_{joint}_flexion").qposadr] = angle  # rad
mujoco.mj_forward(model, data)
data.qpos[2] -= data.body("left_foot").xpos[2] - 0.0323  # the sole is that far below the ankle
data.ctrl = data.qpos[7:]
places, deepest = [], 0.0
for _ in range(5000):
    mujoco.mj_step(model, data)
    places.append(data.body("left_foot").xpos.copy())
    deepest = min(deepest, data.contact.dist.min(initial=0.0))

moved = np.ptp(places[2500:], axis=0).max()
print(f"pelvis at {data.qpos[2]:.3f} m; in the last 2.5 s the foot moves {moved:.0e} m; "
      f"{-deepest:.0e} m deep in the floor")  # fmt: skip
