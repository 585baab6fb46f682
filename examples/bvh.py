"""Motion capture files (BVH): a reader of positions and rotations, and the writer of a walk of our own."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
from scipy.spatial.transform import Rotation

CHANNELS = "Xposition Yposition Zposition Zrotation Xrotation Yrotation".split()


@dataclass
class Joint:
    """A joint of a skeleton: its name, parent, offset from it (3,) in the file's unit, channels."""

    name: str
    parent: int
    offset: np.ndarray
    channels: list[str] = field(default_factory=list)


@dataclass
class Motion:
    """A skeleton and its frames: joints, seconds between frames, channels (n, c)."""

    joints: list[Joint]
    dt: float
    rows: np.ndarray

    @property
    def duration(self) -> float:
        """Time from the first frame to the last [s]."""
        return (len(self.rows) - 1) * self.dt

    def poses(self, row: np.ndarray) -> dict[str, np.ndarray]:
        """Return the pose (4, 4) of each joint in a row of channels, in the file's axes and unit."""
        placed: list[np.ndarray] = []
        at = 0
        for joint in self.joints:
            X = np.eye(4)
            X[:3, 3] = joint.offset
            for channel in joint.channels:
                axis, kind = channel[0], channel[1:]
                if kind == "position":
                    X["XYZ".index(axis), 3] = row[at]
                else:
                    X[:3, :3] = X[:3, :3] @ Rotation.from_euler(axis.lower(), row[at], degrees=True).as_matrix()
                at += 1
            placed.append(X if joint.parent < 0 else placed[joint.parent] @ X)
        return {joint.name: X for joint, X in zip(self.joints, placed, strict=True)}


def read(path: str | Path) -> Motion:
    """Read a BVH file. Ends of limbs are joints named after their parent, with "_end"."""
    words = Path(path).read_text().split()
    joints, above, k = list[Joint](), list[int](), 1
    while words[k] != "MOTION":
        word = words[k]
        if word in ("ROOT", "JOINT", "End"):
            name = words[k + 1] if word != "End" else f"{joints[above[-1]].name}_end"
            joints.append(Joint(name, above[-1] if above else -1, np.zeros(3)))
            k += 2
        elif word == "{":
            above.append(len(joints) - 1)
            k += 1
        elif word == "}":
            above.pop()
            k += 1
        elif word == "OFFSET":
            joints[above[-1]].offset = np.array(words[k + 1 : k + 4], float)
            k += 4
        elif word == "CHANNELS":
            count = int(words[k + 1])
            joints[above[-1]].channels = words[k + 2 : k + 2 + count]
            k += 2 + count
        else:
            raise ValueError(f'{path}: the hierarchy has "{word}", which is not of BVH')
    # MOTION Frames: n Frame Time: dt
    count, dt = int(words[k + 2]), float(words[k + 5])
    rows = np.array(words[k + 6 :], float).reshape(count, sum(len(joint.channels) for joint in joints))
    return Motion(joints, dt, rows)


# ---- a walk in closed form: feet that stand still in stance, legs by the triangle of thigh and shin

#: Name, parent, offset [cm] (x left, y up, z forward).
SKELETON = [
    ("Hips", "", (0, 92, 0)), ("Chest", "Hips", (0, 25, 0)), ("Head", "Chest", (0, 30, 0)),
    *((f"{side}{part}", above if above in ("Hips", "Chest") else f"{side}{above}", (sign * x, y, z))
      for side, sign in (("Left", 1), ("Right", -1))
      for part, above, (x, y, z) in (
          ("UpLeg", "Hips", (9, -2, 0)), ("Leg", "UpLeg", (0, -42, 0)), ("Foot", "Leg", (0, -41, 0)),
          ("Arm", "Chest", (18, 20, 0)), ("ForeArm", "Arm", (0, -28, 0)), ("Hand", "ForeArm", (0, -25, 0)))),
]  # fmt: skip
PERIOD, STRIDE, DUTY, LIFT, ANKLE = 1.1, 90.0, 0.62, 9.0, 8.0  # [s, cm, -, cm, cm]


def foot_at(phase: float) -> tuple[float, float]:
    """Place ahead and height [cm] of an ankle in its cycle, against the start of it; it stands in the first part."""
    turns = np.floor(phase)
    s = (phase - turns - DUTY) / (1.0 - DUTY)
    if s <= 0.0:
        return STRIDE * turns, ANKLE
    return STRIDE * (turns + s - np.sin(2 * np.pi * s) / (2 * np.pi)), ANKLE + LIFT * np.sin(np.pi * s) ** 2


def write_walk(path: str | Path, seconds: float = 4.0, rate: float = 60.0) -> None:
    """Write a walk ahead: hips at constant speed, arms that swing against the legs."""
    thigh, shin = 42.0, 41.0
    lines, rows = ["HIERARCHY"], []
    _write_joint(lines, "Hips", 0)
    order = [line.split()[1] for line in lines if line.split()[0] in ("ROOT", "JOINT")]
    for t in np.arange(round(seconds * rate) + 1) / rate:
        phase = t / PERIOD
        height = 86.0 + 1.0 * np.cos(4 * np.pi * (phase - 0.5 * DUTY))
        ahead = STRIDE * (phase - 0.5 * DUTY)
        turns = {"Hips": (0.0, 0.0, 0.0)}
        for side, shift in (("Left", 0.0), ("Right", 0.5)):
            z, y = foot_at(phase - shift)
            z += STRIDE * shift
            down, fore = height - 2.0 - y, z - ahead
            length = min(np.hypot(down, fore), thigh + shin - 1e-3)
            knee = np.pi - np.arccos((thigh**2 + shin**2 - length**2) / (2 * thigh * shin))
            lean = np.arccos((thigh**2 + length**2 - shin**2) / (2 * thigh * length))
            hip = -np.arctan2(fore, down) - lean
            turns[f"{side}UpLeg"] = (0.0, np.degrees(hip), 0.0)
            turns[f"{side}Leg"] = (0.0, np.degrees(knee), 0.0)
            turns[f"{side}Foot"] = (0.0, -np.degrees(hip + knee), 0.0)
            swing = np.cos(2 * np.pi * (phase - shift))
            turns[f"{side}Arm"] = (0.0, 18.0 * swing, 0.0)
            turns[f"{side}ForeArm"] = (0.0, -35.0 + 8.0 * swing, 0.0)
        row = [0.0, height, ahead]
        for name in order:
            row += turns.get(name, (0.0, 0.0, 0.0))
        rows.append(row)
    lines += ["MOTION", f"Frames: {len(rows)}", f"Frame Time: {1.0 / rate:.9f}"]
    lines += [" ".join(f"{x:.6f}" for x in row) for row in rows]
    Path(path).write_text("\n".join(lines) + "\n")


def _write_joint(lines: list[str], name: str, depth: int) -> None:
    pad = "  " * depth
    _, above, offset = next(each for each in SKELETON if each[0] == name)
    channels = CHANNELS if not above else CHANNELS[3:]
    lines += [f"{pad}{'JOINT' if above else 'ROOT'} {name}", f"{pad}{{",
              f"{pad}  OFFSET {' '.join(map(str, offset if above else (0, 0, 0)))}",
              f"{pad}  CHANNELS {len(channels)} {' '.join(channels)}"]  # fmt: skip
    below = [each for each, parent, _ in SKELETON if parent == name]
    for each in below:
        _write_joint(lines, each, depth + 1)
    if not below:
        lines += [f"{pad}  End Site", f"{pad}  {{", f"{pad}    OFFSET 0 -5 5", f"{pad}  }}"]
    lines.append(f"{pad}}}")
