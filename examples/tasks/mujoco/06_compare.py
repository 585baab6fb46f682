"""Compare integrators by their errors against a tight reference, in a table and a picture."""

from pathlib import Path

import mujoco
import numpy as np
from matplotlib import pyplot as plt

model = mujoco.MjModel.from_xml_path(str(Path(__file__).parents[3] / "urdf" / "arm6.urdf"))
model.opt.disableflags |= mujoco.mjtDisableBit.mjDSBL_LIMIT | mujoco.mjtDisableBit.mjDSBL_CONTACT
model.opt.enableflags |= mujoco.mjtEnableBit.mjENBL_ENERGY


def run(integrator, dt):
    """Configurations every 4 ms of a second, and energies of each step."""
    model.opt.integrator, model.opt.timestep = getattr(mujoco.mjtIntegrator, f"mjINT_{integrator}"), dt
    data = mujoco.MjData(model)
    data.qpos = 0.0, 0.5, 1.0, 0.5, 1.0, 0.0  # rad
    places, energies = [], []
    for _ in range(round(1.0 / dt)):
        mujoco.mj_step(model, data)
        places.append(data.qpos.copy())
        energies.append(data.energy.sum())
    return np.array(places)[round(4e-3 / dt) - 1 :: round(4e-3 / dt)], np.array(energies)


reference, _ = run("RK4", 1e-4)
orders, dts = {}, [4e-3, 2e-3, 1e-3]
for integrator in ("EULER", "IMPLICITFAST", "RK4"):
    errors = []
    for dt in dts:
        places, energies = run(integrator, dt)
        errors.append(np.linalg.norm(places - reference, axis=1).max())
        print(f"{integrator:12s} dt {dt:.0e} s  energy error {np.ptp(energies):.1e} J  error {errors[-1]:.1e} rad")
    plt.loglog(dts, errors, marker="o", label=integrator)
    orders[integrator] = np.polyfit(np.log(dts), np.log(errors), 1)[0]
plt.legend()
plt.xlabel("dt [s]")
plt.ylabel("error [rad]")
plt.savefig("compare.png")
print("orders: " + ", ".join(f"{name} {order:.2f}" for name, order in orders.items()))
