"""Whether the mass matrix of a mechanism is regular."""

from __future__ import annotations

import numpy as np

from vitree.mechanism.flat import BALL, FREE, HELICAL, KIND_NV, PRISMATIC, Flat
from vitree.spatial.rotations import hat, rotation_rpy

#: Least inertia that a joint feels, relative to the inertia that it carries.
LEAST = 1e-12
#: The same in one configuration, relative to the terms whose difference it is: below it, accelerations have lost nine
#: of their sixteen digits. And these terms, relative to those for all axes, where rounding is all that is left.
LEAST_AT, LEAST_ALONE = 1e-9, 1e-14
#: Fields of a Flat that decide it and can be varied.
OF_MASS = ("mass", "com", "inertia", "armature")
#: The reach of what slides [m].
FAR = 1e100
#: What makes a mass matrix regular, of joints of one coordinate and of links of a robot file.
ROTORS = 'armature=1e-3 gives joints the inertia of rotors'
SHAPES = 'inertia="geometry" the links of a file that of their shapes'


def why_singular(flat: Flat) -> str | None:
    """Return why the mass matrix is singular in every configuration; None if it is regular.

    Prescribed coordinates are not solved for and need no inertia.

    The mass matrix is regular where the inertia that each joint feels, a pivot of its factorisation, is regular. These
    inertias are analytic in q, so one configuration in general position decides.

    References
    ----------
    Featherstone 2008, ch. 7 (articulated-body inertia).
    """
    if _all_possible(flat) and share_alone(flat) > LEAST:
        return None
    rng = np.random.default_rng(0)
    kinds, parents = flat.kind.tolist(), flat.parent.tolist()
    starts = np.cumsum([0, *KIND_NV[flat.kind]]).tolist()
    subspaces = {key: _subspace(*key) for key in {*zip(kinds, flat.pitch.tolist(), strict=True)}}
    places = [_place(*key, rng) for key in zip(kinds[::-1], flat.pitch[::-1].tolist(), strict=True)][::-1]
    X = _child_from_parent(flat, np.array([R for R, _ in places]), np.array([p for _, p in places]))
    felt = _spatial_inertia(flat.mass, flat.com, flat.inertia)
    carried = felt.copy()
    for i in reversed(range(len(kinds))):
        S, squares = subspaces[kinds[i], float(flat.pitch[i])]
        # sizes of a rotation and of a translation, in roots of kinetic energy
        turning, moving = carried[i, :3, :3].trace(), carried[i, 5, 5]
        locked, rotor = flat.kinematic[starts[i]], float(flat.armature[starts[i]])
        if not locked and not (turning > 0 or moving > 0 or rotor > 0):
            return (
                f'the joint "{joint_of(flat, i)}" moves no mass, which makes the mass matrix singular; '
                f"{_remedies(len(squares[0]))}; or give a body below the joint a mass, or make the joint fixed"
            )
        scale = np.sqrt(squares[0] * turning + squares[1] * moving + rotor)
        U = felt[i] @ S
        D = S.T @ U + rotor * np.eye(S.shape[1])
        if not locked and _least(D, scale) <= LEAST:
            alone = _least(S.T @ carried[i] @ S, scale) <= LEAST
            root = kinds[i] == FREE and parents[i] < 0 and not (flat.mass[i] or flat.inertia[i].any())
            return _of_root(joint_of(flat, i)) if root else _reason(joint_of(flat, i), alone, len(scale))
        k = parents[i]
        if k >= 0:
            left = felt[i] if locked else felt[i] - U @ (U.T * (1.0 / D) if len(D) == 1 else np.linalg.solve(D, U.T))
            left = X[i].T @ left @ X[i]
            # made symmetric: without this, rounding grows threefold from body to body
            felt[k] += 0.5 * (left + left.T)
            carried[k] += X[i].T @ carried[i] @ X[i]
    return None


@np.errstate(all="ignore")
def share_alone(flat: Flat) -> float:
    """Return a bound of the inertia that each joint feels, in every configuration, relative to what it moves.

    A joint feels at least the inertia of its own body and rotor, and moves at most these and the mass below it at its
    full reach. The bound is zero where this does not decide, as with a massless body between two hinges, or a slide
    below a hinge.
    """
    starts = np.cumsum([0, *KIND_NV[flat.kind]]).tolist()
    least = np.inf
    mass, spin, reach = flat.mass.tolist(), flat.inertia.trace(axis1=1, axis2=2).tolist(), _lengths(flat.com)
    away, kinds, parents = _lengths(flat.p), flat.kind.tolist(), flat.parent.tolist()
    for i in reversed(range(len(mass))):
        kind, parent = kinds[i], parents[i]
        rotor = float(flat.armature[starts[i]])
        share = _share(flat, i, kind, spin[i] + 2 * mass[i] * reach[i] ** 2, mass[i], rotor)
        if not share > LEAST:
            return 0.0
        least = min(least, share)
        if parent >= 0:
            mass[parent] += mass[i]
            spin[parent] += spin[i]
            reach[parent] = max(reach[parent], FAR if kind in (PRISMATIC, HELICAL, FREE) else reach[i] + away[i])
    return least


def always_regular(flat: Flat) -> bool:
    """Return whether the mass matrix is regular in every configuration because each joint moves a body that has mass.

    False where this does not decide; see :func:`share_alone`.
    """
    return share_alone(flat) > LEAST_AT


def _share(flat: Flat, i: int, kind: int, turning: float, moving: float, rotor: float) -> float:
    """Smallest eigenvalue of the inertia of a joint's own body and rotor, relative to what moves with it at most."""
    mass, com, inertia = flat.mass[i], flat.com[i], flat.inertia[i]
    if kind in (BALL, FREE):
        scales = np.sqrt([turning] * 3 + [moving] * 3 if kind == FREE else [turning] * 3)
        own_all = _spatial_inertia(mass, com, inertia)[: len(scales), : len(scales)]
        return _least(own_all, scales)
    pitch = 1.0 if kind == PRISMATIC else float(flat.pitch[i])
    own, scale = pitch * pitch * float(mass), pitch * pitch * moving
    if kind != PRISMATIC:
        x, y, _ = com.tolist()
        own, scale = own + float(inertia[2, 2] + mass * (x * x + y * y)), scale + turning
    own, scale = own + rotor, scale + rotor
    return own / scale if scale > 0 else 0.0


def _all_possible(flat: Flat) -> bool:
    """Say whether no body has a negative mass or principal moment: then none takes inertia from a joint above."""
    return bool((flat.mass >= 0).all() and (np.linalg.eigvalsh(flat.inertia) >= 0).all())


def _lengths(vectors: np.ndarray) -> list[float]:
    lengths: list[float] = np.sqrt((vectors * vectors).sum(axis=1)).tolist()
    return lengths


def why_singular_at(flat: Flat, pivots: np.ndarray) -> str | None:
    """Return why the mass matrix is singular in one configuration; None if it is regular.

    Parameters
    ----------
    flat : Flat
    pivots : (2, nv) array
        Shares of the configuration, as ``pivots`` of ``_core/mechanism/rigid_body.pxi`` gives them.
    """
    felt, moved = pivots > np.array([[LEAST_AT], [LEAST_ALONE]])  # False of NaN
    if felt.all() and moved.all():
        return None
    # the last: those before it stand on it
    k = int(np.flatnonzero(~(felt & moved))[-1])
    joint = next(j for j in flat.joints if j.v_slice.start <= k < j.v_slice.stop)
    size = joint.v_slice.stop - joint.v_slice.start
    return f"in this configuration {_reason(joint.name, not moved[k], size)}, or start elsewhere"


def joint_of(flat: Flat, body: int) -> str:
    """Return the name of the joint of a body."""
    start = int(KIND_NV[flat.kind[:body]].sum())
    return next((j.name for j in flat.joints if j.v_slice.start <= start < j.v_slice.stop), f"body {body}")


def _least(D: np.ndarray, scale: np.ndarray) -> float:
    """Smallest eigenvalue of the inertia that a joint feels, relative to the inertia that it carries."""
    if not (scale > 0).all():
        return 0.0
    if len(scale) == 1:
        return float(D[0, 0] / scale[0] ** 2)
    return float(np.linalg.eigvalsh(D / np.outer(scale, scale))[0])


def _remedies(size: int) -> str:
    """What to give to a joint of so many coordinates; those of several have no rotors."""
    return f"{ROTORS}, {SHAPES}" if size == 1 else 'inertia="geometry" gives the links of a file that of their shapes'


def _reason(name: str, alone: bool, size: int) -> str:
    if alone:
        return (
            f'the joint "{name}" feels no inertia, which makes the mass matrix singular: all mass that it moves lies '
            f"on its axis; {_remedies(size)}; or give a body below it an inertia or a mass off the axis, or make it "
            "fixed"
        )
    return (
        f'the joint "{name}" can move with the joints below it without moving any mass, so the mass matrix is '
        f"singular (as with two collinear hinges); {ROTORS}, {SHAPES}; or give the bodies between them mass, or make "
        "one joint fixed"
    )


def _of_root(name: str) -> str:
    return (
        f'the root has no mass, and the free joint "{name}" can move with the joints below it without moving any, so '
        f"the mass matrix is singular; {ROTORS}, {SHAPES}; or give the root a mass, or weld it to the world "
        '(base="fixed")'
    )


def _spatial_inertia(mass: np.ndarray, com: np.ndarray, inertia: np.ndarray) -> np.ndarray:
    """Inertias (..., 6, 6) about the core frames' origins, for twists (angular, linear)."""
    m = mass[..., None, None]
    c = hat(com)
    out = np.zeros((*mass.shape, 6, 6))
    out[..., :3, :3], out[..., :3, 3:], out[..., 3:, :3] = inertia - m * c @ c, m * c, -m * c
    out[..., 3:, 3:] = m * np.eye(3)
    return out


def _subspace(kind: int, pitch: float) -> tuple[np.ndarray, tuple[np.ndarray, np.ndarray]]:
    """Motion subspace (6, nv) of a joint, and the squares of its angular and linear parts, (nv,) each."""
    S = np.eye(6)[:, : 6 if kind == FREE else 3]
    if kind not in (BALL, FREE):
        S = np.zeros((6, 1))
        S[2], S[5] = (0.0, 1.0) if kind == PRISMATIC else (1.0, pitch if kind == HELICAL else 0.0)
    return S, ((S[:3] ** 2).sum(axis=0), (S[3:] ** 2).sum(axis=0))


def _place(kind: int, pitch: float, rng: np.random.Generator) -> tuple[np.ndarray, list[float]]:
    """One of the rotations and positions of a joint."""
    if kind in (BALL, FREE):
        Q, _ = np.linalg.qr(rng.normal(size=(3, 3)))
        return Q * np.linalg.det(Q), [0.0, 0.0, 0.0]
    angle = rng.uniform(0.3, 2.8)
    if kind == PRISMATIC:
        return np.eye(3), [0.0, 0.0, angle]
    return rotation_rpy(0.0, 0.0, angle), [0.0, 0.0, pitch * angle]


def _child_from_parent(flat: Flat, R: np.ndarray, p: np.ndarray) -> np.ndarray:
    """Matrices (nbody, 6, 6) that take a twist of the parent to the child's frame."""
    turned = (flat.E @ R).swapaxes(1, 2)
    X = np.zeros((len(R), 6, 6))
    X[:, :3, :3] = X[:, 3:, 3:] = turned
    X[:, 3:, :3] = -turned @ hat(flat.p + (flat.E @ p[..., None])[..., 0])
    return X
