"""Does MuJoCo work here? Its version, and a first run."""

import platform
import time
from pathlib import Path

import mujoco
import numpy as np

model = mujoco.MjModel.from_xml_path(str(Path(__file__).parents[3] / "urdf" / "double_pendulum.urdf"))
model.opt.timestep = 1e-3
model.opt.enableflags |= mujoco.mjtEnableBit.mjENBL_ENERGY
data = mujoco.MjData(model)
data.qpos = 1.0, 0.5
energies, start = [], time.perf_counter()
for _ in range(1000):
    mujoco.mj_step(model, data)
    energies.append(data.energy.sum())
seconds = time.perf_counter() - start

print(f"MuJoCo {mujoco.__version__}, NumPy {np.__version__}, Python {platform.python_version()}")
print(f"1000 steps in {1e3 * seconds:.1f} ms, energy off by {np.ptp(energies):.0e} J")
