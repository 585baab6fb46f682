"""A car drives through a tunnel and around the rocks in it, with the least steering.

Kobilarov, Crane & Desbrun 2009, Figure 10, right.
"""

from __future__ import annotations

import numpy as np
from common import arguments, claim, picture, save, solved

import vitree.control as vc
from vitree import vehicles

SIDE, RADIUS = 1.5, 0.3
WALLS = [vc.HalfSpaceObstacle((0, SIDE, 0), (0, -1, 0), "left wall"),
         vc.HalfSpaceObstacle((0, -SIDE, 0), (0, 1, 0), "right wall")]  # fmt: skip
ROCKS = [vc.CylinderObstacle((4.0, 0.7), 0.6, "first"), vc.CylinderObstacle((8.0, -0.6), 0.7, "second"),
         vc.CylinderObstacle((12.0, 0.9), 0.7, "third")]  # fmt: skip

chosen = arguments(__doc__)
car = vehicles.car(mass=10, inertia=1.5, wheel_inertia=0.05, wheelbase=0.8, wheel_radius=0.1)
speed = 2.0 / 0.1
problem = vc.ControlProblem(
    car,
    steps=80,
    duration=8.0,
    start=((0.0, 0.0, 0.0, 0.0, 0.0), (speed,)),
    goal=((np.nan, 0.0, 0.0, 16.0, 0.0), (speed,)),
    cost=vc.EffortCost(weights={"torque": 0.01, "steering": 1.0}),
    bounds={"torque": (-5, 5), "steering": (-2, 2)},
    obstacles=[*ROCKS, *WALLS],
    radius=RADIUS,
    points=[(0.1, 0.0), (0.7, 0.0)],
)
plan = solved(problem, chosen.method)
figure, path = picture(plan, "tunnel")
turn = np.linspace(0, 2 * np.pi)
for rock in ROCKS:
    path.plot(rock.centre[0] + rock.radius * np.cos(turn), rock.centre[1] + rock.radius * np.sin(turn), color="0.5")
for side in (-SIDE, SIDE):
    path.axhline(side, color="0.5")
save(figure, chosen.out, "car_tunnel.png")
spots = np.concatenate([plan.q[:, 3:] + x * np.column_stack((np.cos(plan["theta"]), np.sin(plan["theta"])))
                        for x in (0.1, 0.7)])  # fmt: skip
room = min(np.linalg.norm(spots - rock.centre, axis=1).min() - rock.radius - RADIUS for rock in ROCKS)
room = min(room, SIDE - RADIUS - np.abs(spots[:, 1]).max())
claim("a car travels through a tunnel and avoids obstacles with the least amount of steering (Fig. 10, right)", plan,
      f"at the steps it is clear of walls and rocks by {room:.0e} m or more; it steers by at most "
      f"{np.abs(plan['steering']).max():.2f} 1/s", room > -1e-5)  # fmt: skip
