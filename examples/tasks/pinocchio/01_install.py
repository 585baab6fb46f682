"""Does Pinocchio work here? Its version, and a first run by a loop of our own."""

import platform
import time
from pathlib import Path

import numpy as np
import pinocchio as pin

model = pin.buildModelFromUrdf(str(Path(__file__).parents[3] / "urdf" / "double_pendulum.urdf"))
data, dt, rest = model.createData(), 1e-3, np.zeros(model.nv)
q, v = pin.integrate(model, pin.neutral(model), np.array([1.0, 0.5])), np.zeros(model.nv)
energies, start = [], time.perf_counter()
for _ in range(1000):
    energies.append(pin.computeMechanicalEnergy(model, data, q, v))
    v += dt * pin.aba(model, data, q, v, rest)
    q = pin.integrate(model, q, dt * v)
seconds = time.perf_counter() - start

print(f"Pinocchio {pin.__version__}, NumPy {np.__version__}, Python {platform.python_version()}")
print(f"1000 steps in {1e3 * seconds:.1f} ms, energy off by {np.ptp(energies):.0e} J")
