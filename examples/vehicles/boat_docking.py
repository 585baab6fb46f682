"""A boat with two thrusters docks against wind and current, and comes to rest along the quay.

Kobilarov, Crane & Desbrun 2009, Figure 10, left. A flat boat on SE(2): the added mass differs by axis, drag is relative
to the current, and wind blows on the side.
"""

from __future__ import annotations

import numpy as np
from common import arguments, claim, picture, save, solved

import vitree.control as vc
from vitree.lie import SE2

LENGTH, BEAM = 1.2, 0.5
CURRENT, WIND = np.array([-0.25, 0.1]), np.array([0.3, -0.8])  # m/s and N, in the world
DRAG = np.array([1.5, 3.0, 20.0])  # N m s, N s/m, N s/m


def force(t, g, xi, u):
    """Return the wrench (torque, force ahead, force aside) of water, wind and the two thrusters."""
    R = np.swapaxes(g[..., :2, :2], -1, -2)
    water, wind = R @ CURRENT, R @ WIND
    slip = np.concatenate((xi[..., :1], xi[..., 1:] - water), axis=-1)
    right, left = u[..., 0], u[..., 1]
    thrust = np.stack((BEAM / 2 * (right - left) + 0.1 * wind[..., 1], right + left + wind[..., 0], wind[..., 1]), -1)
    return thrust - DRAG * slip


chosen = arguments(__doc__)
boat = vc.RigidDynamics(SE2, np.diag([1.2, 11.0, 18.0]), force, {"right": (-4.0, 6.0), "left": (-4.0, 6.0)})
problem = vc.ControlProblem(
    boat,
    steps=80,
    duration=(5.0, 40.0),
    start=(0.0, -6.0, 5.0),
    goal=(np.pi / 2, 0.0, 0.0),
    cost=[vc.EffortCost(), vc.TimeCost(0.1)],
    bounds={"vx": (-1.0, 1.5), "w": (-0.8, 0.8)},
    obstacles=[
        vc.HalfSpaceObstacle((BEAM / 2, 0, 0), (-1.0, 0, 0), "quay"),
        vc.CylinderObstacle((-2.5, 2.0), 0.8, "buoy"),
    ],
    radius=BEAM / 2,
    points=[(0.35, 0.0), (-0.35, 0.0)],
)
plan = solved(problem, chosen.method)
figure, path = picture(plan, "docking")
path.axvline(BEAM / 2, color="0.5")
turn = np.linspace(0, 2 * np.pi)
path.plot(-2.5 + 0.8 * np.cos(turn), 2.0 + 0.8 * np.sin(turn), color="0.5")
ahead = LENGTH / 2 * np.stack((np.cos(plan["theta"]), np.sin(plan["theta"])))
for k in range(0, len(plan.t), 8):
    path.plot(*(plan.q[k, 1:, None] + np.outer(ahead[:, k], (-1, 1))), color="0.3", linewidth=2)
save(figure, chosen.out, "boat_docking.png")
end, speed = np.abs(plan.q[-1] - (np.pi / 2, 0.0, 0.0)).max(), np.abs(plan.v_ends[1]).max()
claim("a boat that starts at rest in wind arrives at the designated place with zero velocity (Fig. 10, left)", plan,
      f"it arrives to {end:.0e} m or rad, at {speed:.0e} m/s or rad/s, past a buoy and against a current",
      end < 1e-5 and speed < 1e-5)  # fmt: skip
