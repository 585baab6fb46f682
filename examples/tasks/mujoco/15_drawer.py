"""A hand pulls a drawer by its handle until it meets its stop, and lets go."""

import mujoco
import numpy as np

TEXT = """<mujoco><option timestep="0.002" integrator="implicitfast"/><worldbody>
  <body name="drawer"><joint name="slide" type="slide" axis="1 0 0" range="0 0.3" limited="true" frictionloss="4"/>
    <inertial pos="0 0 0" mass="3" diaginertia="0.1 0.1 0.1"/><site name="handle" pos="0.2 0 0"/></body>
  <body name="palm" pos="0.2 0 0"><joint name="reach" type="slide" axis="1 0 0"/>
    <inertial pos="0 0 0" mass="1" diaginertia="0.01 0.01 0.01"/><site name="grip"/></body>
</worldbody><equality><connect name="grip" site1="handle" site2="grip"/></equality>
<actuator><position joint="reach" kp="2000" kv="200"/></actuator></mujoco>"""
model = mujoco.MjModel.from_xml_string(TEXT)
data = mujoco.MjData(model)
for place in np.linspace(0, 0.35, 400):
    data.ctrl = place
    mujoco.mj_step(model, data)
stop, pull = data.joint("slide").qpos[0], 2000 * (0.35 - data.joint("reach").qpos[0])
data.eq_active[0] = False
data.ctrl = 0.0
for _ in range(400):
    mujoco.mj_step(model, data)
left = data.joint("slide").qpos[0]
print(f"open by {stop:.6f} m under a pull of {pull:.0f} N, and {left:.6f} m when the hand has let go")
