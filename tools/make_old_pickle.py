"""Write tests/data/vitree-0.1.0.pickle and tests/data/saved-0.1.0.npz, by vitree 0.1.0.

    python tools/make_old_pickle.py

Needs an environment with that version. tests/run/test_old_files.py expects the contents of these files.
"""

from __future__ import annotations

import pathlib
import pickle

import numpy as np

import vitree as vt

DATA = pathlib.Path(__file__).parent.parent / "tests" / "data"


def arm() -> vt.Tree:
    """Return a free arm with a gear, a spring and a motor."""
    ball = vt.Geometry("trunk", "sphere", (0.1,), np.eye(3), np.zeros(3))
    tree = vt.Tree("arm")
    trunk = tree.world.add(vt.free("base"), vt.body("trunk", mass=2.0, inertia=(0.1, 0.1, 0.1), geometry=[ball]))
    upper = trunk.add(vt.rx("shoulder", damping=0.1, lower=-2, upper=2), vt.tz(-1.0), vt.body("upper", mass=1.0))
    hand = vt.fixed("hand", xyz=(0, 0, -0.5))
    upper.add(vt.ry("elbow", friction=0.1), hand, vt.body("lower", mass=0.5, inertia=(0.01,) * 3))
    trunk.add(vt.rx("wheel"), vt.body("disc", mass=0.3, inertia=(0.1, 0.1, 0.1)))
    tree.constrain(vt.gear("wheel", "shoulder", 2.0))
    tree.load(vt.Spring("trunk", "hand", 5.0, 0.2), vt.JointForce("elbow", "motor"))
    return tree


def main() -> None:
    assert vt.__version__ == "0.1.0"
    tree = arm()
    model, drone = tree.compile(), vt.vehicles.helicopter()
    run = vt.simulate(model, duration=0.02, dt=0.01, inputs=[0.1])
    saved = run.save(DATA / "saved-0.1.0.npz")
    content = {
        "tree": tree, "model": model, "euler": model.euler(), "reduced": model.reduced(), "run": run, "state": run[1],
        "comparison": vt.compare(drone, ["lie"], drone.neutral(), duration=0.02, dt=0.01, reference=False),
        "loaded": vt.Trajectory.load(saved), "boat": vt.vehicles.boat(), "report": vt.Report(),
    }  # fmt: skip
    (DATA / "vitree-0.1.0.pickle").write_bytes(pickle.dumps(content, protocol=4))


if __name__ == "__main__":
    main()
