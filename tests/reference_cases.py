"""Answers of others to compare with: stored vectors as ``Flat`` cases, and Pinocchio models.

The stored cases keep the body frames of the program that made them; a ``Flat`` turns each core
frame so that the joint's axis is local z. A case carries what is needed to go between the two.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from functools import cache

import numpy as np
import reference as ref
from places import DATA
from random_models import build_flat

from vitree.engines.pinocchio import pinocchio_model as pinocchio_model
from vitree.mechanism.flat import BALL, FREE, HELICAL, PRISMATIC, REVOLUTE, Flat


@dataclass(frozen=True)
class Case:
    """A model with stored vectors: ``data`` is the JSON object they are in.

    Attributes
    ----------
    flat : Flat
    body_pose : (nbody, 4, 4) pose of each core frame in the stored body frame.
    stored_body : (nbody,) index of the stored body, -1 for a universal joint's massless middle.
    order : (nv,) so that ``flat_v = stored_v[order]``.
    q : tuple of (nq,) configurations stored with the case.
    data : dict
    """

    flat: Flat
    body_pose: np.ndarray
    stored_body: np.ndarray
    order: np.ndarray
    q: tuple
    data: dict

    def v(self, name: str) -> np.ndarray:
        """A stored vector or row of joint quantities, in the order of the flat model."""
        return np.array(self.data[name])[self.order]

    def twists(self, name: str) -> np.ndarray:
        """Stored body twists (nbody, 6) in core frames, NaN for a middle body."""
        return self._rows(name, lambda C, V: ref.Ad(ref.inverse(C)) @ V, np.nan)

    def wrenches(self, name: str) -> np.ndarray:
        """Stored body wrenches (nbody, 6) in core frames, zero for a middle body."""
        return self._rows(name, lambda C, F: ref.Ad(C).T @ F, 0.0)

    def _rows(self, name, convert, missing):
        stored = np.array(self.data[name])
        return np.array(
            [
                convert(C, stored[k]) if k >= 0 else np.full(6, missing)
                for C, k in zip(self.body_pose, self.stored_body, strict=True)
            ]
        )


def pose_of(wxyz_p) -> np.ndarray:
    """Pose (4, 4) of seven numbers: quaternion (w, x, y, z), position."""
    a = np.asarray(wxyz_p, float)
    return ref.pose(ref.quaternion_matrix(a[[1, 2, 3, 0]]), a[4:])


def screw_frame(S):
    """(kind, pitch, C): C is the pose of a frame on the axis of the unit twist S, z along it."""
    w, v = np.asarray(S[:3], float), np.asarray(S[3:], float)
    turning = np.linalg.norm(w) > 0.5
    z = w if turning else v
    c = z[2]
    turn = ref.hat(np.cross((0, 0, 1), z))
    R = np.eye(3) + turn + turn @ turn / (1 + c) if c > -0.9 else _onto(z)
    if not turning:
        return PRISMATIC, 0.0, ref.pose(R, np.zeros(3))
    pitch = w @ v
    pitch = pitch if abs(pitch) > 1e-12 else 0.0
    return (HELICAL if pitch else REVOLUTE), pitch, ref.pose(R, np.cross(w, v))


def _onto(z):
    x = np.cross(z, (1.0, 0.0, 0.0))
    x /= np.linalg.norm(x)
    return np.column_stack([x, np.cross(z, x), z])


def _case(name, gravity, parent, joints, placement, G, rel_poses, scalars, data) -> Case:
    """Fold stored bodies into a Flat.

    ``joints``: per body "ball", "free", "universal" or a unit twist (6,); ``placement`` poses at
    q = 0; ``rel_poses[t][i]`` relative pose and ``scalars[t][i]`` joint numbers at time t.
    """
    kind, up, E, p, pitch, mass, com, inertia = [], [], [], [], [], [], [], []
    poses, stored, order, q = [], [], [], [[] for _ in rel_poses]
    last, start = {-1: -1}, 0  # flat body of a stored one

    def put(code, on, X, slide, Gc, C, k):
        m = Gc[3, 3]
        c = np.array([Gc[2, 4], Gc[0, 5], Gc[1, 3]]) / m if m else np.zeros(3)
        kind.append(code)
        up.append(on)
        E.append(X[:3, :3])
        p.append(X[:3, 3])
        pitch.append(slide)
        mass.append(m)
        com.append(c)
        inertia.append(Gc[:3, :3] + m * ref.hat(c) @ ref.hat(c))
        poses.append(C)
        stored.append(k)

    for k, joint in enumerate(joints):
        T0, Gk, on = placement[k], np.array(G[k]), last[parent[k]]
        above = poses[on] if on >= 0 else np.eye(4)
        if isinstance(joint, str) and joint == "universal":  # Rx(a) Ry(b): two revolutes
            _, _, Cx = screw_frame((1, 0, 0, 0, 0, 0))
            _, _, Cy = screw_frame((0, 1, 0, 0, 0, 0))
            put(REVOLUTE, on, ref.inverse(above) @ T0 @ Cx, 0.0, np.zeros((6, 6)), Cx, -1)
            G_core = ref.Ad(Cy).T @ Gk @ ref.Ad(Cy)
            put(REVOLUTE, len(kind) - 1, ref.inverse(Cx) @ Cy, 0.0, G_core, Cy, k)
            order += [start, start + 1]
            start += 2
            for t, row in enumerate(scalars):
                q[t] += list(row[k][:2])
        elif isinstance(joint, str):
            code = FREE if joint == "free" else BALL
            T = np.eye(4) if code == FREE and on < 0 else ref.inverse(above) @ T0
            put(code, on, T, 0.0, Gk, np.eye(4), k)
            order += [start + j for j in ((3, 4, 5, 0, 1, 2) if code == FREE else (0, 1, 2))]
            start += 6 if code == FREE else 3
            for t, rel in enumerate(rel_poses):
                J = ref.inverse(T) @ ref.inverse(above) @ rel[k]
                a = ref.quaternion_from_matrix(J[:3, :3])
                q[t] += [*J[:3, 3], *a] if code == FREE else list(a)
        else:
            code, slide, C = screw_frame(joint)
            G_core = ref.Ad(C).T @ Gk @ ref.Ad(C)
            put(code, on, ref.inverse(above) @ T0 @ C, slide, G_core, C, k)
            order.append(start)
            start += 1
            for t, row in enumerate(scalars):
                q[t].append(row[k][0])
        last[k] = len(kind) - 1
    order = np.array(order)
    damping = np.array(data["damping"])[order] if "damping" in data else np.zeros(start)
    flat = build_flat(name, gravity, kind, up, E, p, pitch, mass, com, inertia, damping)
    return Case(flat, np.array(poses), np.array(stored), order, tuple(np.array(x) for x in q), data)


@cache
def lie_vectors() -> list[dict]:
    """Stored values of the Lie maps."""
    return json.loads((DATA / "lie_and_drnea_vectors.json").read_text())["lie"]


@cache
def drnea_cases() -> list[Case]:
    """The stored discrete Newton-Euler cases; ``q`` holds three configurations h apart."""
    out = []
    stored = json.loads((DATA / "lie_and_drnea_vectors.json").read_text())["drnea"]
    for n, data in enumerate(stored):
        names = {2: "universal", 3: "ball", 6: "free"}
        joints = [names.get(t, S) for t, S in zip(data["jtype"], data["S"], strict=True)]
        out.append(
            _case(
                f"drnea {n}",
                data["gravity"],
                data["parent"],
                joints,
                [pose_of(x) for x in data["T0_quat_wxyz_p"]],
                data["G"],
                [[pose_of(x) for x in data[f"Trel_k{t}"]] for t in range(3)],
                [data[f"u_k{t}"] for t in range(3)],
                data,
            )
        )
    return out


@cache
def midpoint_cases() -> list[Case]:
    """The stored midpoint cases; ``q`` holds the configuration at the start of the step."""
    stored = json.loads((DATA / "midpoint_group_joints.json").read_text())["cases"]
    return [_pose_case(f"midpoint {n}", data) for n, data in enumerate(stored)]


@cache
def linearised_cases() -> list[Case]:
    """The stored derivatives of steps; ``q`` holds the configuration at the start."""
    stored = json.loads((DATA / "linearised_step.json").read_text())["cases"]
    return [_pose_case(f"{data['scheme']} {n}", data) for n, data in enumerate(stored)]


def _pose_case(name: str, data: dict) -> Case:
    """A case with a configuration stored as relative poses."""
    model = data["model"]
    joints = [a if j == "screw" else j for j, a in zip(model["joint"], model["axis"], strict=True)]
    placement = [pose_of(x) for x in model["placement_qwxyz_p"]]
    rel = [pose_of(x) for x in data["rel_pose_q1"]]
    scalars = []
    for joint, T0, T in zip(joints, placement, rel, strict=True):
        # a screw's coordinate, read off its relative pose
        x = ref.log_se3(ref.inverse(T0) @ T)
        screw = not isinstance(joint, str)
        scalars.append([float(np.array(joint) @ x) / (np.array(joint) @ joint)] if screw else x)
    if np.ndim(data["damping"]) == 0:
        data = data | {"damping": np.full(len(data["tau"]), data["damping"])}
    return _case(
        name, model["gravity"], model["parent"], joints, placement, model["inertia6"], [rel], [scalars], data
    )
