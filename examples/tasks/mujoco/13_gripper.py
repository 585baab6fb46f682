"""A gripper of two fingers on an arm, attached by a prefix: it closes, and opens again."""

from pathlib import Path

import mujoco
import numpy as np

HAND = """<mujoco><worldbody><body name="palm"><inertial pos="0 0 0" mass="0.4" diaginertia="1e-3 1e-3 1e-3"/>
  <body name="left" pos="0 0.04 0.08"><joint name="left_finger" type="slide" axis="0 1 0"/>
    <inertial pos="0 0 0" mass="0.05" diaginertia="1e-5 1e-5 1e-5"/></body>
  <body name="right" pos="0 -0.04 0.08"><joint name="right_finger" type="slide" axis="0 1 0"/>
    <inertial pos="0 0 0" mass="0.05" diaginertia="1e-5 1e-5 1e-5"/></body>
</body></worldbody>
<equality><joint joint1="right_finger" joint2="left_finger" polycoef="0 -1 0 0 0"/></equality></mujoco>"""
spec = mujoco.MjSpec.from_file(str(Path(__file__).parents[3] / "urdf" / "arm6.urdf"))
spec.option.timestep, spec.option.integrator = 2e-3, mujoco.mjtIntegrator.mjINT_IMPLICITFAST
spec.option.disableflags |= mujoco.mjtDisableBit.mjDSBL_CONTACT
spec.compiler.fusestatic = False
spec.attach(mujoco.MjSpec.from_string(HAND), prefix="hand_", frame=spec.body("flange").add_frame())
for joint in spec.joints:
    if joint.name != "hand_right_finger":
        kp, kd = (500, 50) if "finger" in joint.name else (8000, 800)
        servo = spec.add_actuator(name=joint.name, target=joint.name, trntype=mujoco.mjtTrn.mjTRN_JOINT)
        servo.gainprm[0], servo.biastype = kp, mujoco.mjtBias.mjBIAS_AFFINE
        servo.biasprm[1], servo.biasprm[2] = -kp, -kd
model = spec.compile()
data = mujoco.MjData(model)
places = {"closed": -0.03, "open": 0.01}  # m
for word, place in places.items():
    data.actuator("hand_left_finger").ctrl = place
    for _ in range(500):
        mujoco.mj_step(model, data)
    width = np.linalg.norm(data.body("hand_left").xpos - data.body("hand_right").xpos)
    print(f"{word}: {1e3 * width:.1f} mm between the fingers, which should be {1e3 * (0.08 + 2 * place):.1f} mm")
