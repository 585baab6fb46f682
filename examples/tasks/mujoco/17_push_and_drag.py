"""A finger pushes a box over the floor, takes hold of it, and drags it back."""

import mujoco
import numpy as np

TEXT = """<mujoco><option timestep="0.002" integrator="implicitfast" cone="elliptic"/><worldbody>
  <geom name="floor" type="plane" size="0 0 1" friction="0.5 0 0"/>
  <body name="tip" pos="0 0 0.05"><joint name="lift" type="slide" axis="0 0 1"/>
    <joint name="reach" type="slide" axis="1 0 0"/>
    <geom name="tip" type="sphere" size="0.02" mass="1" friction="0.3 0 0"/></body>
  <body name="box" pos="0.1 0 0.05"><freejoint/>
    <geom name="box" type="box" size="0.05 0.05 0.05" mass="2" friction="0.5 0 0"/></body>
</worldbody><equality><weld name="hold" body1="tip" body2="box" active="false"/></equality>
<actuator><position joint="reach" kp="5000" kv="300"/><position joint="lift" kp="2000" kv="100"/></actuator></mujoco>"""
model = mujoco.MjModel.from_xml_string(TEXT)
data = mujoco.MjData(model)


def force(one: str, other: str) -> float:
    """The sum along x of the forces of contacts of two geoms."""
    total, wrench, pair = 0.0, np.zeros(6), {model.geom(one).id, model.geom(other).id}
    for k, contact in enumerate(data.contact):
        if {contact.geom1, contact.geom2} == pair:
            mujoco.mj_contactForce(model, data, k, wrench)
            total += (contact.frame.reshape(3, 3).T @ wrench[:3])[0]
    return abs(total)


for place in np.linspace(0, 0.25, 500):
    data.ctrl = place, 0
    mujoco.mj_step(model, data)
pushed, push = data.body("box").xpos[0], force("tip", "box")
model.eq_data[0, 3:10] = [*(data.body("box").xpos - data.body("tip").xpos), *data.body("box").xquat]
data.eq_active[0] = True
drags = []
for place in np.linspace(0.25, -0.1, 700):
    data.ctrl = place, 0
    mujoco.mj_step(model, data)
    drags.append(force("box", "floor"))
dragged, drag = data.body("box").xpos[0], np.mean(drags[-200:])
print(f"pushed to x = {pushed:.4f} m with {push:.2f} N, dragged to x = {dragged:.4f} m with {drag:.2f} N")
