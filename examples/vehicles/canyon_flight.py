"""A helicopter flies through a winding canyon, between its walls, below its rim and around a pillar of rock.

Kobilarov, Crane & Desbrun 2009, Figures 9 and 12, left. The walls are functions written here. They return signed
distances along y, scaled so that they never exceed the true distances.
"""

from __future__ import annotations

import numpy as np
from common import arguments, claim, picture, save, solved

import vitree.control as vc
from vitree import vehicles

HALF_WIDTH, SWING, RADIUS = 1.6, 2.5, 0.5


def middle(x):
    """Return the middle of the canyon, y of x [m]."""
    return SWING * np.sin(x / 4)


def left_wall(p):
    """Return the distance to the wall on the side of larger y."""
    return (middle(p[..., 0]) + HALF_WIDTH - p[..., 1]) / np.hypot(1, SWING / 4)


def right_wall(p):
    """Return the distance to the other wall."""
    return (p[..., 1] - middle(p[..., 0]) + HALF_WIDTH) / np.hypot(1, SWING / 4)


ROTORS = {"collective": (0, 25), "yaw": (-1, 1), "pitch": (-0.3, 0.3), "roll": (-0.3, 0.3)}  # N, N, rad, rad

chosen = arguments(__doc__)
level = (0.0, 0.0, 0.0, 1.0)
pillar = vc.CylinderObstacle((12.0, middle(12.0) - 1.1), 0.6, "pillar")
problem = vc.ControlProblem(
    vehicles.helicopter(drag=(0.02, 0.02, 0.02, 0.1, 0.1, 0.2)),
    steps=60,
    duration=8.0,
    start=((0.0, 0.0, 1.5, *level), (1.0, 0.0, 0.0, 0.0, 0.0, 0.0)),
    goal=((24.0, middle(24.0), 1.5, *[np.nan] * 4), [np.nan] * 6),
    bounds=ROTORS | {"z": (0.5, 2.5)},
    obstacles=[left_wall, right_wall, pillar],
    radius=RADIUS,
)
plan = solved(problem, chosen.method)
figure, path = picture(plan, "canyon")
x = np.linspace(-1, 25, 200)
for side in (-1, 1):
    path.plot(x, middle(x) + side * HALF_WIDTH, color="0.5")
turn = np.linspace(0, 2 * np.pi)
path.plot(pillar.centre[0] + pillar.radius * np.cos(turn), pillar.centre[1] + pillar.radius * np.sin(turn), color="0.5")
save(figure, chosen.out, "canyon_flight.png")
place = plan.q[:, :3]
room = min(left_wall(place).min(), right_wall(place).min(),
           (np.hypot(*(place[:, :2] - pillar.centre).T) - pillar.radius).min()) - RADIUS  # fmt: skip
claim("a helicopter flies through a complex canyon with the least control effort (Figs. 9 and 12, left)", plan,
      f"it comes to the other end; at the steps it is clear of walls and pillar by {room:.0e} m or more",
      room > -1e-5 and abs(place[-1, 0] - 24.0) < 1e-5)  # fmt: skip
