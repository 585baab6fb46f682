"""Followers: joints without a coordinate of their own, and the maps to the coordinates that lead them."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np

from vitree.errors import ModelError
from vitree.mechanism.constraints import Coupling, loses
from vitree.mechanism.flat import Flat
from vitree.mechanism.index import Index
from vitree.spatial.checks import frozen

#: A follower has no larger factor: its square times an inertia is a double.
MOST_GAIN = 1e100
#: What is too large for a double is infinite, and refused where a result needs it.
_quiet = np.errstate(over="ignore", invalid="ignore")


@dataclass(frozen=True, eq=False)
class Followers:
    """The coordinates of all joints as functions of those that lead; arguments of the maps are arrays, unchecked.

    With q' and v' the configuration and the velocity of all joints, and q and v those of the joints that follow none,

        q' = G q + g,    v' = G v,    a' = G a,

    so that by the virtual power f'^T v' = f^T v forces, momenta and derivatives by coordinates have f = G^T f', and a
    matrix of a quadratic form has G^T M' G. A row of G has one entry: 1 for a coordinate that follows none, else the
    factor of the follower, in the column of its leader, through chains of followers. g has the offsets. The way back
    leaves out the entries of followers.

    Attributes
    ----------
    own_q, own_v : (nq,), (nv,) arrays of int
        Entries of q' and v' that follow none.
    lead_q, gain_q, offset_q : (nq',) arrays
        Column and entry of each row of G, and g [m or rad], for configurations.
    lead_v, gain_v : (nv',) arrays
        Column and entry of each row of G, for velocities.
    pairs : tuple of (int, int, float)
        Entry of v' that follows, entry of v that leads it, factor.
    kept : (m',) array of bool
        Which constraints stay: not the couplings.
    """

    own_q: np.ndarray
    own_v: np.ndarray
    lead_q: np.ndarray
    gain_q: np.ndarray
    offset_q: np.ndarray
    lead_v: np.ndarray
    gain_v: np.ndarray
    pairs: tuple[tuple[int, int, float], ...]
    kept: np.ndarray

    def __post_init__(self) -> None:
        vars(self).update({name: frozen(x) for name, x in vars(self).items()})

    @classmethod
    def of(cls, index: Index) -> Followers:
        """Return those of a mechanism by its couplings, each solved for its first joint.

        Raises
        ------
        ModelError
            If a joint follows two others, joints follow each other in a circle, or a factor is too large.
        """
        follows = [(index.joint(name), *lead) for name, lead in _followed(index).items()]
        own_q = np.setdiff1d(np.arange(index.nq), [joint.q_slice.start for joint, *_ in follows])
        own_v = np.setdiff1d(np.arange(index.nv), [joint.v_slice.start for joint, *_ in follows])
        lead_q, lead_v = (np.full(n, -1) for n in (index.nq, index.nv))
        lead_q[own_q], lead_v[own_v] = np.arange(len(own_q)), np.arange(len(own_v))
        gain_q, offset_q, gain_v = np.ones(index.nq), np.zeros(index.nq), np.ones(index.nv)
        pairs = []
        for joint, name, gain, offset in follows:
            if not (abs(gain) < MOST_GAIN and abs(offset) < math.inf):
                raise ModelError(
                    f'the joint "{joint.name}" follows with the factor {gain:g} and the offset {offset:g}, which is '
                    f"too large for a double; give a gear of less"
                )
            q, v, leader = joint.q_slice.start, joint.v_slice.start, index.joint(name)
            lead_q[q], gain_q[q], offset_q[q] = lead_q[leader.q_slice.start], gain, offset
            lead_v[v], gain_v[v] = lead_v[leader.v_slice.start], gain
            pairs.append((v, int(lead_v[v]), gain))
        kept = np.array([not isinstance(c, Coupling) or loses(c) for c in index.flat.constraints], dtype=bool)
        return cls(own_q, own_v, lead_q, gain_q, offset_q, lead_v, gain_v, tuple(pairs), kept)

    def flat(self, flat: Flat) -> Flat:
        """Return the arrays of the mechanism in the coordinates that lead; a joint that follows has its leader's place.

        Bodies stay as they are. Leaders feel what resists their followers, and the rotors of these.
        """
        named = {joint.v_slice.start: joint.name for joint in flat.joints}
        leaders = {k: named[int(self.own_v[leader])] for k, leader, _ in self.pairs}
        joints = []
        for joint in flat.joints:
            q, v, mimic = joint.q_slice, joint.v_slice, joint.mimic
            if v.start in leaders:
                mimic = (leaders[v.start], float(self.gain_v[v.start]), float(self.offset_q[q.start]))
            at_q, at_v = int(self.lead_q[q.start]), int(self.lead_v[v.start])
            places = slice(at_q, at_q + q.stop - q.start), slice(at_v, at_v + v.stop - v.start)
            joints.append(replace(joint, q_slice=places[0], v_slice=places[1], mimic=mimic))
        squares, sizes = self.gain_v * self.gain_v, np.abs(self.gain_v)
        return replace(
            flat,
            joints=tuple(joints),
            constraints=tuple(c for c, kept in zip(flat.constraints, self.kept, strict=True) if kept),
            damping=self._felt(flat.damping, squares),
            armature=self._felt(flat.armature, squares),
            friction=self._felt(flat.friction, sizes),
            dry_friction=self._felt(flat.dry_friction, sizes),
            friction_velocity=flat.friction_velocity[self.own_v],
            limit_restitution=flat.limit_restitution[self.own_v],
            kinematic=flat.kinematic[self.own_v],
        )

    def _felt(self, numbers: np.ndarray, shares: np.ndarray) -> np.ndarray:
        """Numbers (nv,) of the joints that lead, with shares (nv',) of those of their followers (nv',)."""
        found: np.ndarray = numbers[self.own_v]
        for k, leader, _ in self.pairs:
            found[leader] += shares[k] * numbers[k]
        return found

    @_quiet
    def expand(self, q: np.ndarray) -> np.ndarray:
        """Return the configuration of all joints, G q + g, (..., nq') [m or rad]."""
        return np.ascontiguousarray(q[..., self.lead_q] * self.gain_q + self.offset_q)

    @_quiet
    def expand_velocity(self, v: np.ndarray) -> np.ndarray:
        """Return the velocity of all joints, G v, (..., nv') [m/s or rad/s]; or their acceleration or displacement."""
        return np.ascontiguousarray(v[..., self.lead_v] * self.gain_v)

    def contract(self, q: np.ndarray) -> np.ndarray:
        """Return the configuration (..., nq) [m or rad] of the joints that follow none."""
        return np.ascontiguousarray(q[..., self.own_q])

    def contract_velocity(self, v: np.ndarray) -> np.ndarray:
        """Return the velocity (..., nv) [m/s or rad/s] of the joints that follow none."""
        return np.ascontiguousarray(v[..., self.own_v])

    def embed_force(self, tau: np.ndarray) -> np.ndarray:
        """Return forces (..., nv') [N or N m] with tau = G^T of them: those of followers are zero."""
        found = np.zeros((*tau.shape[:-1], len(self.lead_v)))
        found[..., self.own_v] = tau
        return found

    def embed_rows(self, multipliers: np.ndarray) -> np.ndarray:
        """Return multipliers of all constraints (m',) [N or N m], for couplings zero."""
        found = np.zeros(len(self.kept))
        found[self.kept] = multipliers
        return found

    @_quiet
    def contract_force(self, f: np.ndarray, axes: int = 1) -> np.ndarray:
        """Return G^T f along so many of the last axes, units as of f."""
        for axis in range(-axes, 0):
            f = f.swapaxes(axis, -1)
            found = f[..., self.own_v]
            for k, leader, gain in self.pairs:
                found[..., leader] += gain * f[..., k]
            f = found.swapaxes(axis, -1)
        return np.ascontiguousarray(f)

    def contract_leading(self, f: np.ndarray, axes: int) -> np.ndarray:
        """Return G^T f along so many of the leading axes, units as of f."""
        last = range(-axes, 0)
        return np.moveaxis(self.contract_force(np.moveaxis(f, range(axes), last), axes), last, range(axes))


def _followed(index: Index) -> Mapping[str, tuple[str, float, float]]:
    """The joint that follows -> (the joint that leads, factor, offset), through chains.

    Raises a ModelError if a joint follows two others, or joints follow each other in a circle.
    """
    direct: dict[str, tuple[str, float, float]] = {}
    prescribed = {name: bool(index.flat.kinematic[joint.v_slice.start]) for name, joint in index.joints.items()}
    for coupling in index.flat.constraints:
        if not isinstance(coupling, Coupling) or loses(coupling):
            continue
        (a, factor_a), (b, factor_b) = coupling.factors.items()
        if factor_a == 0:
            raise ModelError(f'the {coupling.name} has the factor 0 for "{a}", so its position is undetermined')
        if a in direct:
            raise ModelError(f'"{a}" follows two joints, "{direct[a][0]}" and "{b}"; take one out')
        if prescribed[a] and not prescribed[b]:
            raise ModelError(f'"{a}" is prescribed and cannot follow "{b}"; couple them the other way round')
        direct[a] = (b, -factor_b / factor_a, coupling.value / factor_a)
    resolved = {}
    for name in direct:
        leader, gain, offset = direct[name]
        passed = [name]
        while leader in direct:
            passed.append(leader)
            if leader == name or len(passed) > len(direct):
                raise ModelError("joints follow each other in a circle: " + ", ".join(f'"{x}"' for x in passed))
            leader, factor, shift = direct[leader]
            gain, offset = gain * factor, offset + gain * shift
        resolved[name] = (leader, gain, offset)
    return resolved
