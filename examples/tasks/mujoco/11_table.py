"""A scene of a table, a cup and a ball that comes to rest beside it, by names."""

import mujoco
import numpy as np

TEXT = """<mujoco><option timestep="0.002" cone="elliptic"/><default><geom friction="0.6 0 0.002" condim="6"/></default>
<worldbody>
  <geom type="plane" size="0 0 1"/>
  <geom name="table" type="box" size="0.4 0.3 0.02" pos="0 0 0.7"/>
  <body name="cup" pos="0 0 0.78"><freejoint/><geom type="cylinder" size="0.04 0.06" mass="0.3"/></body>
  <body name="ball" pos="0.25 0.1 0.85"><freejoint/><geom type="sphere" size="0.03" mass="0.05"/></body>
</worldbody></mujoco>"""
model = mujoco.MjModel.from_xml_string(TEXT)
data = mujoco.MjData(model)
deepest = 0.0
for _ in range(1000):
    mujoco.mj_step(model, data)
    deepest = min(deepest, data.contact.dist.min(initial=0.0))

cup, ball = data.body("cup").xpos, data.body("ball").xpos
moved = np.abs(cup - (0, 0, 0.78)).max()
print(f"the cup moved {moved:.0e} m, the ball rests at z = {ball[2]:.4f} m; {-deepest:.0e} m deep at most")
