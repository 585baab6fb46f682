"""Does vitree work here? Its version, the lanes of the processor, and a first run: python 01_install.py"""

import platform

import numpy as np

import vitree as vt

model = vt.load_urdf(vt.find_robot("double_pendulum"))
run = vt.simulate(model, [1.0, 0.5], duration=1.0, dt=1e-3)
drift = abs(run.energy - run.energy[0]).max()

print(f"vitree {vt.__version__}, NumPy {np.__version__}, Python {platform.python_version()}")
print(f"{vt.cpu_width()} lanes of this processor are used")
print(f"{run.steps} steps in {1e3 * run.seconds:.1f} ms, energy off by {drift:.0e} J")
