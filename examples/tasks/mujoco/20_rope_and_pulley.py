"""A counterweight holds a swinging load by a tendon over two sites, which catches it."""

import mujoco
import numpy as np

spec, types = mujoco.MjSpec(), mujoco.mjtJoint
spec.option.timestep = 2e-3
spec.option.integrator = mujoco.mjtIntegrator.mjINT_IMPLICITFAST
for name, mass, axes in (("counterweight", 10.0, {"lift": (0, 0, 1)}), ("load", 6.0, {"x": (1, 0, 0), "z": (0, 0, 1)})):
    body = spec.worldbody.add_body(name=name, mass=mass, inertia=(1e-3, 1e-3, 1e-3), explicitinertial=True)
    for joint, axis in axes.items():
        limits = {"limited": True, "range": (-1.9, -0.1)} if joint == "lift" else {}
        body.add_joint(name=joint, type=types.mjJNT_SLIDE, axis=axis, **limits)
    body.add_site(name=name)
spec.worldbody.add_site(name="first pulley")
spec.worldbody.add_site(name="second pulley", pos=(1, 0, 0))
rope = spec.add_tendon(name="rope", limited=True, range=(0, 3.5), solref_limit=(4e-3, 1))
for site in ("counterweight", "first pulley", "second pulley", "load"):
    rope.wrap_site(site)
model = spec.compile()
data = mujoco.MjData(model)
data.qpos[:] = -1.9, 1.3, 0.2

length, tension = [], []
for _ in range(2500):
    mujoco.mj_step(model, data)
    rows = (data.efc_type == mujoco.mjtConstraint.mjCNSTR_LIMIT_TENDON).nonzero()[0]
    tension += data.efc_force[rows].tolist()
    mujoco.mj_kinematics(model, data)
    mujoco.mj_tendon(model, data)
    length.append(data.ten_length[0])
slack, tension = 3.5 - np.array(length), np.array(tension)
off, pull = max(-slack.min(), 0.0), tension[tension > 0].mean()
print(f"the rope is {off:.0e} m too long at most, slack by up to {slack.max():.2f} m; taut it pulls with {pull:.1f} N")
