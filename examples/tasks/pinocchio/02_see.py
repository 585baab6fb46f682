"""See a robot: a live page by viser, as long as the script runs."""

from pathlib import Path

import pinocchio as pin
from pinocchio.visualize import ViserVisualizer

path = str(Path(__file__).parents[3] / "urdf" / "human.urdf")
model, collisions, visuals = pin.buildModelsFromUrdf(path, root_joint=pin.JointModelFreeFlyer())
viewer = ViserVisualizer(model, collisions, visuals)
viewer.initViewer(open=False, loadModel=True)
viewer.display(pin.neutral(model))

print("served: a page at http://localhost:8080")
