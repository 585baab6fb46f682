"""Two arms of one file beside each other, each of which goes to a posture of its own."""

from pathlib import Path

import mujoco
import numpy as np

GOALS = {"left": [0.4, 0.6, 0.5, 0, 0.4, 0], "right": [-0.4, 0.3, 0.9, 0, 0.2, 0]}  # rad

world = mujoco.MjSpec()
world.option.timestep, world.option.integrator = 2e-3, mujoco.mjtIntegrator.mjINT_IMPLICITFAST
world.option.disableflags |= mujoco.mjtDisableBit.mjDSBL_CONTACT
for name, y in (("left", 0.4), ("right", -0.4)):
    arm = mujoco.MjSpec.from_file(str(Path(__file__).parents[3] / "urdf" / "arm6.urdf"))
    world.attach(arm, prefix=f"{name}/", frame=world.worldbody.add_frame(pos=[0, y, 0]))
for joint in world.joints:
    servo = world.add_actuator(target=joint.name, trntype=mujoco.mjtTrn.mjTRN_JOINT)
    servo.gainprm[0], servo.biastype = 8000, mujoco.mjtBias.mjBIAS_AFFINE
    servo.biasprm[1], servo.biasprm[2] = -8000, -800
model = world.compile()
data = mujoco.MjData(model)
data.ctrl = goal = np.concatenate([*GOALS.values()])
for _ in range(1500):
    mujoco.mj_step(model, data)

off = np.abs(data.qpos - goal).max()
sag = np.abs(data.qfrc_bias / 8000).max()
print(f"{model.njnt} joints, off by {off:.4f} rad, of which {sag:.4f} are the sag of the drives")
