"""A G1 before three stairs of boxes, and a plan of its way up, for `31_climbing_stairs.py`."""

from dataclasses import replace
from itertools import pairwise

import numpy as np
from scipy.spatial.transform import Rotation

import vitree as vt

EVERY = 0.02  # [s], of the plan
FIRST, TREAD, RISE, STAIRS = 0.16, 0.24, 0.08, 3  # the first edge is at 0.16 m
SOLE, HEIGHT, ASIDE = 0.035, 0.69, 0.06  # of ankles, of the pelvis above the lower; of ankles from the middle
AHEAD = np.array((0.02, 0.0))  # of the centre of mass from an ankle
FEET = "left_ankle_roll_link", "right_ankle_roll_link"
LEGS = [f"{side}_{joint}_joint" for side in ("left", "right")
        for joint in ("hip_pitch", "hip_roll", "hip_yaw", "knee", "ankle_pitch", "ankle_roll")]  # fmt: skip


def on_stairs() -> vt.Model:
    """The robot on stiff drives, without friction in its joints, before boxes that overlap."""
    tree = vt.read_urdf(vt.find_robot("g1"), base="free", ground=vt.Ground(friction=0.8))
    boxes = [vt.Box((3.0, 2.0, RISE * (k + 1)), position=(FIRST + TREAD * k + 1.5, 0, RISE * (k + 1) / 2))
             for k in range(STAIRS)]  # fmt: skip
    tree.contact(vt.Contact("world", shapes=boxes, friction=0.8))
    whole = tree.compile()
    bare = np.zeros(whole.nv)
    return vt.Model(replace(whole.flat, damping=bare, friction=bare)).with_drives({"*": (2e4, 200)})


def stations() -> list[tuple[float, np.ndarray, np.ndarray, float]]:
    """How long it takes to get there [s]; x, y, z, pitch of both ankles; x, y of the centre; height of the pelvis."""
    feet, high = np.array([(0.0, side * ASIDE, SOLE, 0.0) for side in (1, -1)]), HEIGHT + SOLE
    found = [(0.3, feet, AHEAD, high)]
    for k in range(STAIRS):
        x, z = FIRST + TREAD * k + 0.08, RISE * (k + 1) + SOLE
        for swing in (0, 1):
            under = feet[1 - swing]
            center, high = under[:2] + AHEAD, under[2] + HEIGHT - (0, RISE)[swing]
            found.append((2.6, feet, center, high))
            heights = [high, high, high] if swing == 0 else [under[2] + HEIGHT - 0.05, *[under[2] + HEIGHT] * 2]
            ways = [(0.8, (feet[swing, 0], z + 0.06, 0.35)), (1.2, (x, z + 0.06, 0.0)), (0.8, (x, z, 0.0))]
            for (time, to), high in zip(ways, heights, strict=True):
                feet = feet.copy()
                feet[swing, [0, 2, 3]] = to
                found.append((time, feet, center, high))
    return [*found, (2.0, feet, feet[:, :2].mean(axis=0) + AHEAD, high)]


def placed(model: vt.Model, q: np.ndarray, feet: np.ndarray, center: np.ndarray, high: float) -> np.ndarray:
    """The configuration near q with feet, centre of mass and pelvis there, by Newton's method on pelvis and legs."""
    entries = [0, 1, 2, *(model.joint(name).v_slice.start for name in LEGS)]
    for _ in range(30):
        off, J = [], []
        for name, (*place, pitch) in zip(FEET, feet, strict=True):
            X = model.frame_pose(name, q)
            turned = Rotation.from_matrix(X[:3, :3]) * Rotation.from_rotvec([0, -pitch, 0])
            off += [*turned.as_rotvec(), *(X[:3, 3] - place)]
            J.append(model.frame_jacobian(name, q)[:, entries])
        com = model.center_of_mass(q)
        off = np.array([*off, *(com[:2] - center), q[2] - high])
        if np.abs(off).max() < 1e-9:
            return q
        moved = model.center_of_mass_jacobian(q)[:2, entries]
        d = np.zeros(model.nv)
        d[entries] = np.linalg.solve(np.vstack([*J, moved, np.eye(15)[2]]), -off)
        q = model.integrate(q, d * min(1, 0.2 / np.abs(d).max()))
    raise RuntimeError(f"no configuration has the feet at {feet}")


def plan(model: vt.Model) -> np.ndarray:
    """Configurations (n, nq), one each 0.02 s; between stations by polynomials that start and end at rest."""
    q = model.neutral()
    for name, angle in (("hip_pitch", -0.4), ("knee", 0.8), ("ankle_pitch", -0.4)):
        for side in ("left", "right"):
            q[model.joint(f"{side}_{name}_joint").q_slice] = angle
    way, rows = stations(), []
    for (_, *one), (time, *other) in pairwise([way[0], *way]):
        for s in np.linspace(0, 1, round(time / EVERY) + 1)[1:]:
            share = s**3 * (10 - 15 * s + 6 * s**2)
            q = placed(model, q, *(a + share * (b - a) for a, b in zip(one, other, strict=True)))
            rows.append(q)
    return np.array(rows)
