"""A four-bar linkage: a tree cut at a pin, which an equality constraint closes."""

import mujoco
import numpy as np

model = mujoco.MjModel.from_xml_string("""
<mujoco><option timestep="2e-3" integrator="implicitfast"><flag energy="enable"/></option><worldbody>
  <body><joint name="crank" axis="0 1 0"/><inertial pos="0 0 -0.3" mass="1" diaginertia="1e-9 1e-9 1e-9"/>
    <body pos="0 0 -0.3"><joint name="bend" axis="0 1 0"/>
      <inertial pos="0 0 -1" mass="1" diaginertia="1e-9 1e-9 1e-9"/><site name="tip" pos="0 0 -1"/></body></body>
  <body pos="0.8 0 0"><joint name="rocker" axis="0 1 0"/>
    <inertial pos="0 0 -0.9" mass="2" diaginertia="1e-9 1e-9 1e-9"/><site name="end" pos="0 0 -0.9"/></body>
</worldbody><equality><connect site1="tip" site2="end" solref="0.004 1"/></equality></mujoco>""")
data, gap, jacobian = mujoco.MjData(model), np.ones(3), np.zeros((2, 3, 3))
data.qpos = 0.5, -1.0, 0.2  # rad


def loop():
    """Gap of the loop, and its Jacobian."""
    mujoco.mj_forward(model, data)
    for k, name in enumerate(("tip", "end")):
        mujoco.mj_jacSite(model, data, jacobian[k], None, model.site(name).id)
    return data.site("tip").xpos - data.site("end").xpos, jacobian[0] - jacobian[1]


while abs(gap).max() > 1e-14:  # Newton's method, which holds the crank
    gap, J = loop()
    data.qpos[1:] -= np.linalg.lstsq(J[:, 1:], gap)[0]
v, M = np.array([6.0, 0.0, 0.0]), np.zeros((3, 3))  # rad/s
mujoco.mj_fullM(model, data, M)
W = np.linalg.solve(M, J[[0, 2]].T)
data.qvel = v - W @ np.linalg.solve(J[[0, 2]] @ W, J[[0, 2]] @ v)  # the nearest that the loop allows
gaps, energies, kinetic = [], [], []
for _ in range(10000):
    mujoco.mj_step(model, data)
    gaps.append(np.linalg.norm(data.site("tip").xpos - data.site("end").xpos))
    energies.append(data.energy.sum())
    kinetic.append(data.energy[1])

drift = np.ptp(energies) / max(kinetic)
print(f"loop open by {max(gaps):.0e} m at most, energy off by {drift:.0e} of the kinetic energy")
