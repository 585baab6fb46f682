"""The puppet of trep's examples hangs on six tendons of limited length; those of arms and legs are pulled."""

import mujoco
import numpy as np

LIMBS = {"arm": (1.3, 0.4, 1.9, 1.0), "leg": (0.5, -3.0, 3.0, 1.5)}  # x and z at the torso, length, centre of mass [m]
STRINGS = {"torso": ((1.011, 0, 0.658), (1, 0, 14), 13.4, 0.0),  # eye, hook, length, pull [m]
           "leg": ((0, -0.322, -2.59), (0.5, -2.6, 14), 16.6, -0.4),
           "arm end": ((0.14, -0.173, -2.001), (1.44, -2, 14), 15.4, 0.25)}  # fmt: skip
BENT = {"leg 2": -1.57, "leg 3": 1.57, "arm 3": -1.57}  # rad
AXES = ((0, 0, 1), (0, 1, 0), (1, 0, 0))
types = mujoco.mjtJoint


def part(parent, name, at, mass, com, axes, first=0):
    """A body on hinges."""
    body = parent.add_body(name=name, pos=at, mass=mass, ipos=(0, 0, com), inertia=(1, 1, 1), explicitinertial=True)
    for k, axis in enumerate(axes, first):
        body.add_joint(name=f"{name.removesuffix(' end')} {k}", type=types.mjJNT_HINGE, axis=axis, damping=[0.1, 0, 0])
    return body


spec, ranges = mujoco.MjSpec(), {}
spec.option.timestep, spec.option.gravity = 0.01, (0, 0, -9.8)
spec.option.integrator = mujoco.mjtIntegrator.mjINT_IMPLICITFAST
spec.option.disableflags |= mujoco.mjtDisableBit.mjDSBL_CONTACT
torso = spec.worldbody.add_body(name="torso", mass=50, ipos=(0, 0, -1.5), inertia=[1e-9] * 3, explicitinertial=True)
for k in range(6):
    kind = types.mjJNT_SLIDE if k < 3 else types.mjJNT_HINGE
    torso.add_joint(name=f"torso {k}", type=kind, axis=AXES[2 - k if k < 3 else k - 3], damping=[0.1, 0, 0])
torso.add_body(name="head", pos=(0, 0, 1.4), mass=10, inertia=(1, 1, 1), explicitinertial=True)
for side, s in (("left", 1), ("right", -1)):
    bodies = {"torso": torso}
    for limb, (x, z, size, com) in LIMBS.items():
        bodies[limb] = part(torso, f"{side} {limb}", (s * x, 0, z), 5, -size / 2, AXES)
        bodies[f"{limb} end"] = part(bodies[limb], f"{side} {limb} end", (0, 0, -size), 4, -com, AXES[2:], 3)
    for name, (at, above, length, pull) in STRINGS.items():
        string, mirror = f"{side} {name}", np.array([s, 1, 1])
        bodies[name].add_site(name=f"{string} eye", pos=at * mirror)
        spec.worldbody.add_site(name=f"{string} hook", pos=above * mirror)
        tendon = spec.add_tendon(name=string, limited=True, range=(0, length), solref_limit=(0.02, 1))
        tendon.wrap_site(f"{string} eye")
        tendon.wrap_site(f"{string} hook")
        ranges[string] = length, s * pull
model = spec.compile()
data = mujoco.MjData(model)
lengths, pulls = np.transpose([ranges[model.tendon(k).name] for k in range(model.ntendon)])
for k in range(model.njnt):
    data.qpos[k] = BENT.get(model.joint(k).name.partition(" ")[2], 0.0)
for _ in range(50):  # Newton's method for the closed start
    mujoco.mj_forward(model, data)
    J = np.zeros((model.ntendon, model.nv))
    mujoco.mju_sparse2dense(J, data.ten_J, model.ten_J_rownnz, model.ten_J_rowadr, model.ten_J_colind)
    data.qpos -= np.linalg.lstsq(J, data.ten_length - lengths)[0]
off = 0.0
for _ in range(1000):
    model.tendon_range[:, 1] = lengths - pulls * (1 - np.cos(0.6 * np.pi * (data.time + 0.01)))
    mujoco.mj_step(model, data)
    mujoco.mj_fwdPosition(model, data)
    off = max(off, abs(data.ten_length - model.tendon_range[:, 1]).max())

print(f"strings off by {off:.0e} m at most")
