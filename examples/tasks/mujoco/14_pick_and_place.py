"""A suction cup on three slides takes a box, carries it, and lets go of it."""

import mujoco
import numpy as np

SERVOS = "".join(f'<position name="{x}" joint="{x}" kp="20000" kv="900"/>' for x in "xyz")
TEXT = f"""<mujoco><option timestep="0.002" integrator="implicitfast" cone="elliptic"/><worldbody>
  <geom type="plane" size="0 0 1" friction="0.6"/>
  <body name="bridge"><joint name="x" type="slide" axis="1 0 0"/>
    <inertial pos="0 0 0" mass="5" diaginertia="0.1 0.1 0.1"/>
    <body name="trolley"><joint name="y" type="slide" axis="0 1 0"/>
      <inertial pos="0 0 0" mass="2" diaginertia="0.1 0.1 0.1"/>
      <body name="cup"><joint name="z" type="slide" axis="0 0 1"/>
        <inertial pos="0 0 0" mass="0.5" diaginertia="0.01 0.01 0.01"/></body></body></body>
  <body name="box" pos="0 0 0.05"><freejoint/><geom type="box" size="0.05 0.05 0.05" mass="1" friction="0.6"/></body>
</worldbody><equality><weld name="suction" body1="cup" body2="box" active="false"/></equality>
<actuator>{SERVOS}</actuator></mujoco>"""
model = mujoco.MjModel.from_xml_string(TEXT)
data = mujoco.MjData(model)
data.joint("z").qpos = 0.4
taken = False
t = np.linspace(0, 1, 251)
s = t**3 * (10 - 15 * t + 6 * t**2)
for way, end in (((0, 0, 0.4), (0, 0, 0.11)), ((0, 0, 0.11), (0.5, 0.3, 0.4)), ((0.5, 0.3, 0.4), (0.5, 0.3, 0.11))):
    for target in np.outer(1 - s, way) + np.outer(s, end):
        data.ctrl = target
        mujoco.mj_step(model, data)
    if not taken:  # the weld holds the pose that is in eq_data
        place, turn = data.body("box").xpos - data.body("cup").xpos, data.body("box").xquat
        model.eq_data[0, 3:10] = [*place, *turn]
        data.eq_active[0] = taken = True
data.eq_active[0] = False
for _ in range(250):
    mujoco.mj_step(model, data)
off = np.abs(data.body("box").xpos - (0.5, 0.3, 0.05))
print(f"the box is {1e3 * off.max():.1f} mm off its place, at rest within {np.abs(data.qvel[3:]).max():.0e} m/s")
