"""See a robot: a picture, which MuJoCo renders off the screen (MUJOCO_GL=egl or osmesa without a display)."""

from pathlib import Path

import mujoco
from PIL import Image

spec = mujoco.MjSpec.from_file(str(Path(__file__).parents[3] / "urdf" / "human.urdf"))
spec.compiler.discardvisual = False
spec.compiler.boundmass = spec.compiler.boundinertia = 1e-9  # some links have no mass
model = spec.compile()
data = mujoco.MjData(model)
mujoco.mj_forward(model, data)
with mujoco.Renderer(model, 480, 640) as renderer:  # mujoco.viewer.launch(model) opens a window
    renderer.update_scene(data)
    Image.fromarray(renderer.render()).save("human.png")

print("written: human.png")
