"""Mechanisms for tests, as flat arrays: random trees of every joint kind, and a few known ones."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from vitree.mechanism.flat import BALL, FREE, KIND_NQ, KIND_NV, KINDS, PRISMATIC, Flat, JointInfo

GRAVITY = (0.3, -0.2, -9.81)  # oblique, so that no axis is privileged


def random_rotation(rng: np.random.Generator) -> np.ndarray:
    """Rotation (3, 3), uniform over SO(3)."""
    Q, R = np.linalg.qr(rng.normal(size=(3, 3)))
    Q = Q * np.sign(np.diag(R))
    return Q * np.linalg.det(Q)


def random_inertia(rng: np.random.Generator, mass: float) -> np.ndarray:
    """Inertia (3, 3) [kg m^2] about the centre of mass, of a random cloud of points."""
    points = rng.normal(size=(6, 3)) * rng.uniform(0.1, 0.5, size=3)
    points -= points.mean(axis=0)
    second = mass / len(points) * points.T @ points
    return np.trace(second) * np.eye(3) - second


def build_flat(name, gravity, kind, parent, E, p, pitch, mass, com, inertia, damping, frames=()):
    """A ``Flat`` with names filled in; ``frames`` is a list of (body, rotation, position).

    Links are "link0"..., joints "joint0"..., extra frames "frame0"....
    """
    kind, parent = np.asarray(kind, np.int32), np.asarray(parent, np.int32)
    n = len(kind)
    links = tuple(f"link{i}" for i in range(n))
    parents = tuple(links[k] if k >= 0 else None for k in parent)
    nq, nv = KIND_NQ[kind], KIND_NV[kind]
    q_start, v_start = np.cumsum(nq) - nq, np.cumsum(nv) - nv
    joints = tuple(
        JointInfo(
            name=f"joint{i}",
            kind=KINDS[kind[i]],
            parent=parents[i] or "world",
            child=links[i],
            q_slice=slice(int(q_start[i]), int(q_start[i] + nq[i])),
            v_slice=slice(int(v_start[i]), int(v_start[i] + nv[i])),
            axis=(0.0, 0.0, 1.0) if nv[i] == 1 else None,
            lower=(-np.inf,) * int(nv[i]),
            upper=(np.inf,) * int(nv[i]),
            velocity=(np.inf,) * int(nv[i]),
            effort=(np.inf,) * int(nv[i]),
        )
        for i in range(n)
    )
    return Flat(
        name=name,
        gravity=np.array(gravity, float),
        kind=kind,
        parent=parent,
        E=np.array(E, float).reshape(n, 3, 3),
        p=np.array(p, float).reshape(n, 3),
        pitch=np.array(pitch, float),
        mass=np.array(mass, float),
        com=np.array(com, float).reshape(n, 3),
        inertia=np.array(inertia, float).reshape(n, 3, 3),
        damping=np.array(damping, float),
        kinematic=np.zeros(int(nv.sum()), bool),
        frame_names=links + tuple(f"frame{k}" for k in range(len(frames))),
        frame_body=np.array([*range(n), *(f[0] for f in frames)], np.int32),
        frame_E=np.array([*([np.eye(3)] * n), *(f[1] for f in frames)]),
        frame_p=np.array([*([np.zeros(3)] * n), *(f[2] for f in frames)]),
        link_names=links,
        link_parent=parents,
        link_mass=tuple(float(m) for m in mass),
        link_com=tuple(tuple(c) for c in np.array(com, float).reshape(n, 3)),
        link_inertia=tuple(np.array(inertia, float).reshape(n, 3, 3)),
        joints=joints,
    )


def random_flat(
    rng: np.random.Generator,
    nbody: int = 8,
    kinds: tuple[str, ...] = KINDS,
    base: str = "fixed",
    branching: float = 0.4,
    massless: bool = False,
    damping: bool = False,
    gravity=GRAVITY,
) -> Flat:
    """A random tree with a regular mass matrix.

    Parameters
    ----------
    nbody : int
        Bodies, the floating one of ``base="free"`` and massless ones included.
    kinds : tuple of str
        Joint kinds to draw from ("free" may be inside the tree as well).
    base : {"fixed", "free"}
        "free": body 0 floats and everything hangs on it; "fixed": any number of roots.
    branching : float
        Chance that a body hangs on a random earlier one (or the world), not on the last one.
    massless : bool
        Some revolute bodies without mass, carrying one revolute body on a crossing axis
        (a universal joint). The first is certain if ``nbody`` leaves room.
    damping : bool
        Random viscous damping on every coordinate, otherwise none.
    """
    kind: list[int] = []
    parent: list[int] = []
    without_mass: set[int] = set()
    if base == "free":
        kind.append(FREE)
        parent.append(-1)
    while len(kind) < nbody:
        i = len(kind)
        last = i - 1
        lowest = 0 if base == "free" else -1
        on = int(rng.integers(lowest, i)) if rng.uniform() < branching else last
        wanted = massless and (not without_mass or rng.uniform() < 0.3)
        if wanted and i + 1 < nbody:
            kind += [0, 0]
            parent += [on, i]
            without_mass.add(i)
        else:
            kind.append(KINDS.index(kinds[int(rng.integers(len(kinds)))]))
            parent.append(on if on not in without_mass else last)
    E = np.array([random_rotation(rng) for _ in kind])
    p = rng.normal(size=(nbody, 3)) * 0.5
    mass = rng.uniform(0.5, 2.0, size=nbody)
    com = rng.normal(size=(nbody, 3)) * 0.3
    inertia = np.array([random_inertia(rng, m) for m in mass])
    for i in range(nbody):
        if kind[i] == FREE and parent[i] == -1:
            E[i], p[i] = np.eye(3), 0.0
        if i in without_mass:
            mass[i], com[i], inertia[i] = 0.0, 0.0, 0.0
            p[i + 1] = 0.0  # axes cross
    pitch = np.where(np.array(kind) == KINDS.index("helical"), rng.uniform(-0.3, 0.3, nbody), 0.0)
    nv = int(KIND_NV[kind].sum())
    frames = [
        (b, random_rotation(rng), rng.normal(size=3))
        for b in (-1, nbody - 1, int(rng.integers(nbody)))
    ]
    return build_flat(
        "random tree",
        gravity,
        kind,
        parent,
        E,
        p,
        pitch,
        mass,
        com,
        inertia,
        rng.uniform(0.1, 1.0, nv) if damping else np.zeros(nv),
        frames,
    )


def with_rotors(flat: Flat, seed: int = 0, decades: float = 2.0) -> Flat:
    """The tree with armature on most joints of one coordinate, over so many decades around the bodies' inertias."""
    rng = np.random.default_rng(seed)
    nv = KIND_NV[flat.kind]
    size = 10.0 ** rng.uniform(-0.5 * decades, 0.5 * decades, nv.sum())
    there = np.repeat(nv == 1, nv) & (rng.uniform(size=nv.sum()) < 0.8)
    return replace(flat, armature=np.where(there, size, 0.0))


def random_state(flat: Flat, rng: np.random.Generator, speed: float = 1.0):
    """A configuration (nq,) all round the circle, and a velocity (nv,) of the given spread."""
    q = []
    for kind in flat.kind:
        quaternion = rng.normal(size=4)
        quaternion /= np.linalg.norm(quaternion)
        if kind == BALL:
            q.append(quaternion)
        elif kind == FREE:
            q.append(np.concatenate([rng.normal(size=3), quaternion]))
        elif kind == PRISMATIC:
            q.append(rng.normal(size=1))
        else:
            q.append(rng.uniform(-np.pi, np.pi, size=1))
    return np.concatenate(q), speed * rng.normal(size=int(KIND_NV[flat.kind].sum()))


_ABOUT_X = np.array([[0.0, 0.0, 1.0], [1.0, 0.0, 0.0], [0.0, 1.0, 0.0]])  # local z is world x


def chain_flat(n: int = 10, *, damping: float = 0.0, gravity=(0.0, 0.0, -9.81)) -> Flat:
    """The chain of Lee et al. 2016: n links of 1.5 m and 1 kg, all turning about x.

    Each centre of mass is halfway, each inertia about it the identity; q = 0 stands upright.
    """
    return build_flat(
        f"chain{n}",
        gravity,
        [0] * n,
        range(-1, n - 1),
        [_ABOUT_X] + [np.eye(3)] * (n - 1),
        [(0.0, 0.0, 0.0)] + [(0.0, 1.5, 0.0)] * (n - 1),
        [0.0] * n,
        [1.0] * n,
        [(0.0, 0.75, 0.0)] * n,
        [np.eye(3)] * n,
        [damping] * n,
        [(n - 1, _ABOUT_X.T, (0.0, 1.5, 0.0))],
    )


def pendulum_flat(
    n: int = 1,
    *,
    length: float = 1.0,
    mass: float = 1.0,
    inertia: float = 0.0,
    damping: float = 0.0,
    gravity=(0.0, 0.0, -9.81),
) -> Flat:
    """n point masses on massless rods in the plane across x; q = 0 hangs at rest.

    ``inertia`` [kg m^2] is added about the axis of turning at each point mass.
    """
    return build_flat(
        "pendulum",
        gravity,
        [0] * n,
        range(-1, n - 1),
        [_ABOUT_X] + [np.eye(3)] * (n - 1),
        [(0.0, 0.0, 0.0)] + [(0.0, -length, 0.0)] * (n - 1),
        [0.0] * n,
        [mass] * n,
        [(0.0, -length, 0.0)] * n,
        [inertia * np.eye(3)] * n,
        [damping] * n,
        [(n - 1, _ABOUT_X.T, (0.0, -length, 0.0))],
    )
