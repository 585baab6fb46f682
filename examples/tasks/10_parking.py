"""A car parks between two others, with the least effort of its wheels and its steering: python 10_parking.py"""

import numpy as np

import vitree.control as vc
from vitree import vehicles

car = vehicles.car(mass=10, inertia=1.5, wheel_inertia=0.05, wheelbase=0.8, wheel_radius=0.1)
problem = vc.ControlProblem(
    car,
    steps=60,
    duration=(4.0, 15.0),  # s; free, between two
    start=(0.0, 0.0, 0.0, 1.7, 0.9),  # wheels, steering, heading, x, y
    goal=(np.nan, 0.0, 0.0, 0.0, 0.0),
    cost=[vc.EffortCost(), vc.TimeCost(0.05)],
    bounds={"torque": (-5, 5), "steering": (-2, 2)},  # N m, tangent
    obstacles=[vc.BoxObstacle((1.5, -0.25, -1), (2.7, 0.25, 1)), vc.BoxObstacle((-1.8, -0.25, -1), (-0.6, 0.25, 1))],
    radius=0.22,  # m, of balls about three points
    points=[(0.0, 0.0), (0.4, 0.0), (0.8, 0.0)],
)
found = vc.solve(problem)
run = vc.replay(car, found.trajectory)
print(f"{found.message}; simulated, the car ends {abs(run.q[-1, 2:]).max():.0e} off its place after {run.t[-1]:.1f} s")
