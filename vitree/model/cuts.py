"""A mechanism cut at a frame, where a sensor of forces stands.

What is beyond the frame is a body of its own, held by a joint that does not move.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from vitree.errors import ModelError
from vitree.mechanism.flat import KIND_NQ, KIND_NV, REVOLUTE, Flat, JointInfo, Row, columns_of
from vitree.mechanism.merging import Part, merge
from vitree.model.constraints import ConstraintMethods


class Cut(NamedTuple):
    """A model in which the part beyond a frame is a body of its own, and where its coordinate is.

    Attributes
    ----------
    model : Model
        Without contacts: their forces are given by frames.
    body : int
        What is beyond the frame, with all that it carries.
    E, p : (3, 3) array, (3,) array [m]
        The frame in the body's core frame.
    iq, iv : int or None
        Where the coordinate of the joint that does not move is in q and v; None where the frame stands at a joint,
        which is the cut.
    """

    model: ConstraintMethods
    body: int
    E: np.ndarray
    p: np.ndarray
    iq: int | None
    iv: int | None

    def states(self, q: np.ndarray, *rates: np.ndarray) -> tuple[np.ndarray, ...]:
        """Return q and rates (nv,) of the cut model."""
        if self.iq is None or self.iv is None:
            return (q, *rates)
        at = self.iv
        return (np.insert(q, self.iq, 0.0), *(np.insert(x, at, 0.0) for x in rates))


def cut_at(model: ConstraintMethods, frame: str, make: Callable[[Flat], ConstraintMethods]) -> Cut:
    """Return the model cut at a frame, between what carries the frame and the frame with all that is beyond it.

    Parameters
    ----------
    model : Model
        Not a reduced one.
    frame : str
    make : callable
        Returns the model of arrays.

    Raises
    ------
    UnknownNameError
        If there is no such frame.
    ModelError
        If the model does not know its tree of frames.
    """
    row, flat = model._frame(frame), model.flat
    if not flat.above:
        raise ModelError(
            f'"{flat.name}" does not know which frames are beyond "{frame}", as a model made of arrays; make it from a '
            "Tree or a file"
        )
    at, body = flat.frame_at[row], int(flat.frame_body[row])
    if body >= 0 and flat.body_at[body] == at:
        return Cut(model, body, flat.frame_E[row], flat.frame_p[row], None, None)
    split = _split(flat, at, body, flat.frame_E[row], flat.frame_p[row], frame)
    return Cut(make(split), body + 1, np.eye(3), np.zeros(3), _start(flat.kind, KIND_NQ, body + 1),
               _start(flat.kind, KIND_NV, body + 1))  # fmt: skip


def _start(kind: np.ndarray, size: np.ndarray, body: int) -> int:
    return int(size[kind[:body]].sum())


def _split(flat: Flat, at: int, body: int, E: np.ndarray, p: np.ndarray, name: str) -> Flat:
    """The arrays with a new body behind ``body``, at (E, p) in its core frame, which has all that is beyond ``at``."""
    beyond = _beyond(flat, at)
    new, starts = body + 1, np.concatenate(([0], np.cumsum(KIND_NV[flat.kind])))

    def moved(k: int) -> int:
        return k if k <= body else k + 1

    def inward(R: np.ndarray, x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        return E.T @ R, E.T @ (x - p)

    rows: list[Row] = []
    for i in range(len(flat.kind) + 1):
        if i == new:
            still = [np.zeros(1)] * 6 + [np.ones(1, bool)]
            damping, friction, _, armature, dry, bounce, locked = still
            rows.append(Row(REVOLUTE, body, E, p, 0.0, damping, friction, np.ones(1), armature, dry, bounce, locked))
            continue
        k = i if i < new else i - 1
        v = slice(starts[k], starts[k + 1])
        up, at_R, at_p = int(flat.parent[k]), flat.E[k], flat.p[k]
        if up == body and beyond[flat.body_at[k]]:
            up, (at_R, at_p) = new, inward(at_R, at_p)
        else:
            up = moved(up)
        rows.append(Row(int(flat.kind[k]), up, at_R, at_p, flat.pitch[k], flat.damping[v], flat.friction[v],
                        flat.friction_velocity[v], flat.armature[v], flat.dry_friction[v], flat.limit_restitution[v],
                        flat.kinematic[v], flat.mass[k], flat.com[k], flat.inertia[k]))  # fmt: skip
    frame_body, frame_E, frame_p = flat.frame_body.copy(), flat.frame_E.copy(), flat.frame_p.copy()
    parts: tuple[list[Part], list[Part]] = ([], [])
    for k, of in enumerate(flat.frame_body.tolist()):
        out = of == body and bool(beyond[flat.frame_at[k]])
        frame_body[k] = new if out else moved(of)
        if out:
            frame_E[k], frame_p[k] = inward(frame_E[k], frame_p[k])
        if of == body and flat.frame_names[k] in flat.link_names:
            j = flat.link_names.index(flat.frame_names[k])
            part = Part(flat.link_mass[j], flat.link_com[j], flat.link_inertia[j], frame_E[k], frame_p[k])
            parts[out].append(part)
    for k, (mass, com, inertia) in zip((body, new), merge(parts), strict=True):
        if k >= 0:
            rows[k].mass, rows[k].com, rows[k].inertia = mass, com, inertia
    iq, iv = _start(flat.kind, KIND_NQ, new), _start(flat.kind, KIND_NV, new)
    return replace(
        flat, **columns_of(rows), frame_body=frame_body, frame_E=frame_E, frame_p=frame_p,
        joints=_with_joint(flat.joints, name, iq, iv), contacts=(), ground=None, rolling=(), limits="ignore",
        above=(), frame_at=(), body_at=(),
    )  # fmt: skip


def _beyond(flat: Flat, at: int) -> np.ndarray:
    """Which transforms are beyond one, or it."""
    found = np.zeros(len(flat.above), dtype=bool)
    for k, up in enumerate(flat.above):
        found[k] = k == at or (up >= 0 and found[up])
    return found


def _with_joint(joints: tuple[JointInfo, ...], name: str, iq: int, iv: int) -> tuple[JointInfo, ...]:
    """The joints with one more at a place of q and v."""

    def shifted(x: slice, n: int) -> slice:
        return slice(x.start + (x.start >= n), x.stop + (x.start >= n))

    others = [replace(j, q_slice=shifted(j.q_slice, iq), v_slice=shifted(j.v_slice, iv)) for j in joints]
    new = JointInfo(f"{name} (cut)", "revolute", "", name, slice(iq, iq + 1), slice(iv, iv + 1))
    k = sum(j.q_slice.start < iq for j in joints)
    return (*others[:k], new, *others[k:])
