"""A car parks between two others, with the least effort of its wheels and its steering."""

from __future__ import annotations

import numpy as np
from common import arguments, drawn, picture, rounded, save, solved

import vitree.control as vc
from vitree import vehicles

RADIUS = 0.22
chosen = arguments(__doc__)
car = vehicles.car(mass=10, inertia=1.5, wheel_inertia=0.05, wheelbase=0.8, wheel_radius=0.1)
parked = [vc.BoxObstacle((1.5, -0.25, -1), (2.7, 0.25, 1), "car ahead"),
          vc.BoxObstacle((-1.8, -0.25, -1), (-0.6, 0.25, 1), "car behind")]  # fmt: skip
problem = vc.ControlProblem(
    car,
    steps=80,
    duration=(4.0, 15.0),
    start=(0.0, 0.0, 0.0, 1.7, 0.9),
    goal=(np.nan, 0.0, 0.0, 0.0, 0.0),
    cost=[vc.EffortCost(), vc.TimeCost(0.05)],
    bounds={"torque": (-5, 5), "steering": (-2, 2)},
    obstacles=[*parked, vc.HalfSpaceObstacle((0, -0.3, 0), (0, 1, 0), "kerb")],
    radius=RADIUS,
    points=[(0.0, 0.0), (0.4, 0.0), (0.8, 0.0)],
)
plan = solved(problem, chosen.method)
figure, path = picture(plan, "parking")
for box in parked:
    (x0, y0, _), (x1, y1, _) = box.lower, box.upper
    path.fill([x0, x1, x1, x0], [y0, y0, y1, y1], color="0.8")
path.axhline(-0.3, color="0.5")
# the car is as wide as the discs that keep clear of the obstacles
drawn(path, plan.q[::8, [3, 4, 2]], rounded(0.8, RADIUS))
for box, name in zip(parked, ("ahead", "behind"), strict=True):
    path.annotate(name, (np.array(box.lower) + box.upper)[:2] / 2, ha="center", va="center", color="0.3")
save(figure, chosen.out, "parallel_parking_optimal.png")
