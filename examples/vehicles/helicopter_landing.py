"""A helicopter in forward flight lands on a mark, upright and at rest, with the least effort of its rotors.

Kobilarov, Crane & Desbrun 2009, Figure 12, right.
"""

from __future__ import annotations

import numpy as np
from common import arguments, claim, picture, save, solved

import vitree.control as vc
from vitree import vehicles

ROTORS = {"collective": (0, 25), "yaw": (-1, 1), "pitch": (-0.3, 0.3), "roll": (-0.3, 0.3)}  # N, N, rad, rad

chosen = arguments(__doc__)
level, turned = (0.0, 0.0, 0.0, 1.0), (0.0, 0.0, np.sin(0.6), np.cos(0.6))
problem = vc.ControlProblem(
    vehicles.helicopter(drag=(0.02, 0.02, 0.02, 0.1, 0.1, 0.2)),
    steps=50,
    duration=(3.0, 8.0),
    start=((-8.0, 3.0, 5.0, *level), (3.0, 0.0, 0.0, 0.0, 0.0, 0.0)),
    goal=(0.0, 0.0, 0.0, *turned),
    cost=[vc.EffortCost(), vc.TimeCost(0.01)],
    bounds=ROTORS | {"z": (0.0, 6.0), "vz": (-2.0, 2.0)},
    path_constraints=[
        vc.PathConstraint("tilt", lambda t, q, v, u: 1 - 2 * (q[..., 3] ** 2 + q[..., 4] ** 2), lower=np.cos(0.5))
    ],
)
plan = solved(problem, chosen.method)
figure, path = picture(plan, "landing", ("x", "z"))
path.axhline(0.0, color="0.6")
save(figure, chosen.out, "helicopter_landing.png")
off, speed = np.abs(plan.q[-1, :3]).max(), np.abs(plan.v_ends[1]).max()
claim("a helicopter lands automatically on the mark (Fig. 12, right)", plan,
      f"it is on the mark to {off:.0e} m, at {speed:.0e} m/s or rad/s", off < 1e-5 and speed < 1e-5)  # fmt: skip
