"""A cart on four wheels of rubber drives a circle by the speeds of its wheels."""

import mujoco
import numpy as np

PLACES = (("fl", 0.2, 0.2), ("fr", 0.2, -0.2), ("rl", -0.2, 0.2), ("rr", -0.2, -0.2))
WHEELS = "".join(
    f'<body pos="{x} {y} 0"><joint name="{name}" axis="0 1 0"/>'
    '<inertial pos="0 0 0" mass="0.5" diaginertia="2e-3 3e-3 2e-3"/><geom type="sphere" size="0.1"/></body>'
    for name, x, y in PLACES
)
SERVOS = "".join(f'<velocity joint="{name}" kv="2"/>' for name, _, _ in PLACES)
TEXT = f"""<mujoco><option timestep="0.002" integrator="implicitfast" cone="elliptic"/>
<default><geom friction="0.7 0 0" condim="3"/></default><worldbody><geom type="plane" size="0 0 1"/>
<body pos="0 0 0.1"><freejoint/><inertial pos="0 0 0" mass="10" diaginertia="0.2 0.3 0.4"/>{WHEELS}</body>
</worldbody><actuator>{SERVOS}</actuator></mujoco>"""
model = mujoco.MjModel.from_xml_string(TEXT)
data = mujoco.MjData(model)
data.ctrl = [6.0, 8.0, 6.0, 8.0]  # rad/s
turns, deepest = [], 0.0
for _ in range(2500):
    mujoco.mj_step(model, data)
    turns.append(2 * np.arctan2(data.qpos[6], data.qpos[3]))
    deepest = min(deepest, data.contact.dist.min(initial=0.0))
turn = np.unwrap(turns, period=2 * np.pi)[-1]
away = np.hypot(*data.qpos[:2])
print(f"it turned by {np.degrees(turn):.0f} degrees and is {away:.3f} m away; {-deepest:.0e} m deep")
