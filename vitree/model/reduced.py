"""Followers without a coordinate of their own: a model whose gears and mimic joints are reduced exactly."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from vitree.arguments import entries, numbers_of, of_kind, shown, whole
from vitree.errors import InputError, ModelError
from vitree.mechanism.constraints import Coupling
from vitree.mechanism.flat import Flat
from vitree.model.derivatives import TwistDerivatives
from vitree.model.dynamics_derivatives import AbaDerivatives, RneaDerivatives
from vitree.model.euler import EulerModel
from vitree.model.finite import finite_result
from vitree.model.forces import ContactForces
from vitree.model.model import Accelerations, LagrangianDerivatives, Model
from vitree.model.stacks import as_rows, on_stacks
from vitree.wording import named

#: A follower has no larger factor: its square times an inertia is a double.
MOST_GAIN = 1e100
#: What is too large for a double is infinite, and refused where a result needs it.
_quiet = np.errstate(over="ignore", invalid="ignore")


class ReducedModel(Model, made_by="reduced"):
    """A model in the coordinates that its couplings leave; made by :meth:`vitree.Model.reduced`.

    With q' = G q + g the coordinates of all joints, everything follows by the chain rule: the mass matrix
    is G^T M G, inverse dynamics G^T rnea(G q + g, G v, G a), a joint force G^T tau. Its energies, momenta,
    variational steps and accelerations are those of ``full`` with the couplings as constraints.

    Attributes
    ----------
    full : Model
        The model with a coordinate for each joint, and the couplings as constraints.
    """

    def __init__(self, full: Model):
        self._full = of_kind(full, Model, "full", "a Model; model.reduced() makes one of it")
        if full.full is not full:
            raise ModelError(f"{full.name!r} is reduced already; give its model.full")
        self._couplings = np.array([isinstance(c, Coupling) for c in full.constraints], dtype=bool)
        follows = _followed(full)
        followers = np.array(sorted(follows), dtype=int)
        # entries of v, and of q, that stay
        self._own_v = np.setdiff1d(np.arange(full.nv), followers)
        iq = dict(zip(full._iv.tolist(), full._iq.tolist(), strict=True))
        self._own_q = np.setdiff1d(np.arange(full.nq), [iq[k] for k in follows])
        self._nq, self._nv = len(self._own_q), len(self._own_v)
        new_q, new_v = (np.full(n, -1) for n in (full.nq, full.nv))
        new_q[self._own_q], new_v[self._own_v] = np.arange(self._nq), np.arange(self._nv)
        # where each entry of the full q and v comes from, its factor and its offset
        lead_v, gain_v = new_v.copy(), np.ones(full.nv)
        lead_q, gain_q, offset_q = new_q.copy(), np.ones(full.nq), np.zeros(full.nq)
        self._followers: list[tuple[int, int, float]] = []
        for k, (leader, gain, offset) in follows.items():
            if not (abs(gain) < MOST_GAIN and abs(offset) < math.inf):
                raise ModelError(f'the joint "{full.v_names[k]}" follows with the factor {gain:g} and the offset '
                                 f"{offset:g}, which is too large for a double; give a gear of less")  # fmt: skip
            lead_v[k], gain_v[k] = new_v[leader], gain
            lead_q[iq[k]], gain_q[iq[k]], offset_q[iq[k]] = new_q[iq[leader]], gain, offset
            self._followers.append((k, int(new_v[leader]), gain))
        self._lead_v, self._gain_v = lead_v, gain_v
        self._lead_q, self._gain_q, self._offset_q = lead_q, gain_q, offset_q
        self._quaternions = new_q[full._quaternions]
        damping, friction = full.flat.damping[self._own_v], full.flat.friction[self._own_v]
        armature, dry = full.flat.armature[self._own_v], full.flat.dry_friction[self._own_v]
        for k, leader, gain in self._followers:
            damping[leader] += gain * gain * full.flat.damping[k]
            friction[leader] += abs(gain) * full.flat.friction[k]
            dry[leader] += abs(gain) * full.flat.dry_friction[k]
            armature[leader] += gain * gain * full.flat.armature[k]
        self.flat = replace(
            full.flat,
            joints=self._joints_of(full, follows),
            constraints=tuple(c for c in full.constraints if not isinstance(c, Coupling)),
            damping=damping,
            friction=friction,
            friction_velocity=full.flat.friction_velocity[self._own_v],
            armature=armature,
            dry_friction=dry,
            limit_restitution=full.flat.limit_restitution[self._own_v],
            kinematic=full.flat.kinematic[self._own_v],
        )
        self._gravity = full.gravity.copy()
        self._joints = {joint.name: joint for joint in self.flat.joints}
        self._frames = full._frames
        self.singular = full.singular

    def _joints_of(self, full: Model, follows):
        """The joints, with the leader's place in q and v for those that follow."""
        by_start = {joint.v_slice.start: joint for joint in full.joints}
        joints = []
        for joint in full.joints:
            q, v = joint.q_slice, joint.v_slice
            first_q, first_v = int(self._lead_q[q.start]), int(self._lead_v[v.start])
            mimic = joint.mimic
            if v.start in follows:
                leader, gain, offset = follows[v.start]
                if joint.v_slice.stop - v.start > 1 or leader not in by_start:
                    raise ModelError(
                        f'the coupling of "{joint.name}" is of a coordinate of a joint that has several; '
                        f"keep it as a constraint"
                    )
                mimic = (by_start[leader].name, gain, offset)
            joints.append(
                replace(
                    joint,
                    q_slice=slice(first_q, first_q + q.stop - q.start),
                    v_slice=slice(first_v, first_v + v.stop - v.start),
                    mimic=mimic,
                )
            )
        return tuple(joints)

    def _remade(self, flat: Flat) -> ReducedModel:
        return ReducedModel(Model(flat))

    def _with_numbers(self, flat: Flat) -> ReducedModel:
        return ReducedModel(self.full._with_numbers(flat))

    # ---- coordinates ------------------------------------------------------------------------------

    @property
    def full(self) -> Model:
        return self._full

    @_quiet
    def expand(self, q: ArrayLike) -> np.ndarray:
        q = self._wide(q, self.nq, "q")
        return np.ascontiguousarray(q[..., self._lead_q] * self._gain_q + self._offset_q)

    @_quiet
    def expand_velocity(self, v: ArrayLike) -> np.ndarray:
        return np.ascontiguousarray(self._wide(v, self.nv, "v")[..., self._lead_v] * self._gain_v)

    def contract(self, q: ArrayLike) -> np.ndarray:
        """Return the coordinates (..., nq) [m or rad] of those that do not follow, of a ``q`` of ``full``."""
        return np.ascontiguousarray(self._wide(q, self.full.nq, "q")[..., self._own_q])

    def contract_velocity(self, v: ArrayLike) -> np.ndarray:
        """Return the velocities (..., nv) [m/s or rad/s] of those that do not follow, of a ``v`` of ``full``."""
        return np.ascontiguousarray(self._wide(v, self.full.nv, "v")[..., self._own_v])

    def _wide(self, x: ArrayLike, size: int, name: str) -> np.ndarray:
        x = numbers_of(x, name, marks=True)
        if x.shape[-1:] != (size,):
            raise InputError(named(name, x) + f" has shape {x.shape}; {self.name!r} needs (..., {size})")
        return x

    @_quiet
    def contract_force(self, f: ArrayLike, axes: int = 1) -> np.ndarray:
        """Return G^T f, units as of f, along the last axes.

        Parameters
        ----------
        f : (..., nv of ``full``) array
            A force, a momentum or derivatives by coordinates of ``full``, units as they are.
        axes : int
            How many of the last axes go by the coordinates.
        """
        f, count = numbers_of(f, "f"), whole(axes)
        if count is None or not 0 <= count <= f.ndim or f.shape[f.ndim - count :] != (self.full.nv,) * count:
            raise InputError(
                f"f has shape {f.shape} and axes is {shown(axes)}; so many of its last axes must have {self.full.nv} "
                "entries"
            )
        return self._contracted(f, count)

    def _contracted(self, f: np.ndarray, axes: int = 1) -> np.ndarray:
        for axis in range(-axes, 0):
            f = np.moveaxis(f, axis, -1)
            out = np.array(f[..., self._own_v])
            for k, leader, gain in self._followers:
                out[..., leader] += gain * f[..., k]
            f = np.moveaxis(out, -1, axis)
        return np.ascontiguousarray(f)

    def _force_on_leaders(self, tau):
        out = np.zeros((*tau.shape[:-1], self.full.nv))
        out[..., self._own_v] = tau
        return out

    def _entry_names(self, which, parts):
        names = self.full._entry_names(which, parts)
        return tuple(names[k] for k in (self._own_q if which == "q_slice" else self._own_v))

    @property
    def kinematic_names(self) -> tuple[str, ...]:
        return self.full.kinematic_names

    @property
    def digest(self) -> str:
        return f"reduced {self.full.digest}"

    def __reduce__(self):
        return (ReducedModel, (self.full,))

    def random_configuration(self, rng: np.random.Generator | None = None) -> np.ndarray:
        return self.contract(self.full.random_configuration(rng))

    @on_stacks
    @finite_result
    def integrate(self, q: Any, dq: Any) -> np.ndarray:
        return self.contract(self.full.integrate(self.expand(q), self.expand_velocity(dq)))

    @on_stacks
    @finite_result
    def difference(self, q0: Any, q1: Any) -> np.ndarray:
        return self.contract_velocity(self.full.difference(self.expand(q0), self.expand(q1)))

    def configuration_rate(self, q: np.ndarray, v: np.ndarray) -> np.ndarray:
        return self.contract(self.full.configuration_rate(self.expand(q), self.expand_velocity(v)))

    # ---- kinematics and dynamics --------------------------------------------------------------------

    def _q(self, q):
        return self.expand(self.validate_configuration(q))

    def _v(self, v, name):
        return self.expand_velocity(self._checked(v, self.nv, name))

    def pose_rows(self, q: np.ndarray) -> np.ndarray:
        return self.full.pose_rows(self.expand(q))

    @on_stacks
    @finite_result
    def frame_jacobian(self, name: str, q: Any, axes: str = "world") -> np.ndarray:
        return self._contracted(self.full.frame_jacobian(name, self.expand(q), axes))

    @on_stacks
    @finite_result
    def frame_velocity(self, name: str, q: Any, v: Any, axes: str = "world") -> np.ndarray:
        return self.full.frame_velocity(name, self.expand(q), self.expand_velocity(v), axes)

    @on_stacks
    @finite_result
    def frame_acceleration(
        self, name: str, q: Any, v: Any, a: Any, axes: str = "world"
    ) -> np.ndarray:
        v, a = self.expand_velocity(v), self.expand_velocity(a)
        return self.full.frame_acceleration(name, self.expand(q), v, a, axes)

    @finite_result
    def pose_derivatives(self, name: str, q: ArrayLike) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        return self._by_coordinates(self.full.pose_derivatives(name, self._q(q)))

    @finite_result
    def position_derivatives(self, name: str, q: ArrayLike) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        return self._by_coordinates(self.full.position_derivatives(name, self._q(q)))

    def _by_coordinates(self, derivatives):
        return tuple(self._leading(x, k) for k, x in enumerate(derivatives))

    def _leading(self, x, axes):
        """G^T along the leading axes."""
        last = range(-axes, 0)
        return np.moveaxis(self._contracted(np.moveaxis(x, range(axes), last), axes), last, range(axes))

    @finite_result
    def twist_derivatives(self, name: str, q: ArrayLike, v: ArrayLike) -> TwistDerivatives:
        of_all = self.full.twist_derivatives(name, self._q(q), self._v(v, "v"))
        axes = {"twist": 0, "by_q": 1, "by_v": 1, "by_qq": 2, "by_vq": 2}
        return TwistDerivatives(**{key: self._leading(getattr(of_all, key), n) for key, n in axes.items()})

    @finite_result
    def lagrangian_derivatives(self, q: ArrayLike, v: ArrayLike) -> LagrangianDerivatives:
        value, *slopes = self.full.lagrangian_derivatives(self._q(q), self._v(v, "v"))
        return LagrangianDerivatives(value, *map(self._contracted, slopes, (1, 1, 2, 2, 2)))

    # the signature of Model.forward_dynamics, which this overrides
    @on_stacks
    def forward_dynamics(
        self,
        q: Any,
        v: Any,
        tau: Any = None,
        *,
        t: float = 0.0,
        inputs: ArrayLike | Mapping[str, float] | None = None,
        prescribed: Mapping[str, float] | None = None,
        contacts: str = "closed",
    ) -> Accelerations:
        q, v = self.expand(q), self.expand_velocity(v)
        tau = None if tau is None else self._force_on_leaders(tau)
        given: dict[str, Any] = {"t": t, "inputs": inputs, "prescribed": prescribed, "contacts": contacts}
        a, multipliers = self.full.forward_dynamics(q, v, tau, **given)
        return Accelerations(self.contract_velocity(a), multipliers[..., ~self._couplings])

    # the signature of Model.contact_forces, which this overrides
    def contact_forces(
        self,
        q: ArrayLike,
        v: ArrayLike,
        tau: ArrayLike | None = None,
        *,
        t: float = 0.0,
        inputs: ArrayLike | Mapping[str, float] | None = None,
        prescribed: Mapping[str, float] | None = None,
    ) -> ContactForces:
        tau = None if tau is None else self._force_on_leaders(self._checked(tau, self.nv, "tau"))
        return self.full.contact_forces(self._q(q), self._v(v, "v"), tau, t=t, inputs=inputs, prescribed=prescribed)

    @finite_result
    def inverse_dynamics(
        self,
        q: ArrayLike,
        v: ArrayLike,
        a: ArrayLike,
        *,
        t: float = 0.0,
        inputs: ArrayLike | Mapping[str, float] | None = None,
        contacts: str = "closed",
    ) -> np.ndarray:
        found = self.full.inverse_dynamics(
            self._q(q), self._v(v, "v"), self._v(a, "a"), t=t, inputs=inputs, contacts=contacts
        )
        return self.contract_force(found)

    def drive_forces(
        self, q: ArrayLike, v: ArrayLike, *, inputs: ArrayLike | Mapping[str, float] | None = None
    ) -> np.ndarray:
        return self.full.drive_forces(self._q(q), self._v(v, "v"), inputs=inputs)

    # the signature of Model.joint_reactions, which this overrides
    @finite_result
    def joint_reactions(
        self,
        q: ArrayLike,
        v: ArrayLike,
        a: ArrayLike | None = None,
        *,
        torque: ArrayLike | None = None,
        t: float = 0.0,
        inputs: ArrayLike | Mapping[str, float] | None = None,
        prescribed: Mapping[str, float] | None = None,
        multipliers: ArrayLike | None = None,
        contacts: str | ContactForces = "closed",
    ) -> dict[str, np.ndarray]:
        q, v = self._q(q), self._v(v, "v")
        a = None if a is None else self._v(a, "a")
        torque = None if torque is None else self._force_on_leaders(self._checked(torque, self.nv, "torque"))
        if multipliers is not None:  # couplings act in joints, and theirs do not matter
            given, multipliers = multipliers, np.zeros(len(self._couplings))
            multipliers[~self._couplings] = entries(given, (len(self.constraints),), "multipliers")
        return self.full.joint_reactions(
            q, v, a, torque=torque, t=t, inputs=inputs, prescribed=prescribed, multipliers=multipliers,
            contacts=contacts,
        )

    @on_stacks
    @finite_result
    def static_force(self, q: Any) -> np.ndarray:
        return self._contracted(self.full.static_force(self.expand(q)))

    @on_stacks
    @finite_result
    def rnea(self, q: Any, v: Any, a: Any) -> np.ndarray:
        return self._contracted(self.full.rnea(self.expand(q), self.expand_velocity(v), self.expand_velocity(a)))

    @on_stacks
    @finite_result
    def aba(self, q: Any, v: Any, tau: Any) -> np.ndarray:
        self._require_regular(q)
        return np.linalg.solve(self.crba(q), (tau - self.rnea(q, v, np.zeros(v.shape)))[..., None])[..., 0]

    @on_stacks
    @finite_result
    def crba(self, q: Any) -> np.ndarray:
        return self.mass_matrices(as_rows(q)).reshape(*q.shape[:-1], self.nv, self.nv)

    @on_stacks
    @finite_result
    def inverse_mass_matrix(self, q: Any) -> np.ndarray:
        self._require_regular(q)
        return np.linalg.inv(self.crba(q))

    @on_stacks
    @finite_result
    def rnea_derivatives(self, q: Any, v: Any, a: Any) -> RneaDerivatives:
        of_all = self.full.rnea_derivatives(self.expand(q), self.expand_velocity(v), self.expand_velocity(a))
        return RneaDerivatives(*(self._contracted(x, axes=2) for x in of_all))

    @on_stacks
    @finite_result
    def aba_derivatives(self, q: Any, v: Any, tau: Any) -> AbaDerivatives:
        forces, inverse = self.rnea_derivatives(q, v, self.aba(q, v, tau)), self.inverse_mass_matrix(q)
        return AbaDerivatives(-inverse @ forces.by_q, -inverse @ forces.by_v, inverse)

    # the signature of Model.forward_dynamics_derivatives, which this overrides
    @on_stacks
    @finite_result
    def forward_dynamics_derivatives(
        self,
        q: Any,
        v: Any,
        tau: Any = None,
        *,
        t: float = 0.0,
        inputs: ArrayLike | Mapping[str, float] | None = None,
        prescribed: Mapping[str, float] | None = None,
    ) -> AbaDerivatives:
        q, v = self.expand(q), self.expand_velocity(v)
        tau = None if tau is None else self._force_on_leaders(tau)
        of_all = self.full.forward_dynamics_derivatives(q, v, tau, t=t, inputs=inputs, prescribed=prescribed)
        by_q, by_v, by_torque = (x[..., self._own_v, :] for x in of_all)
        return AbaDerivatives(
            self._contracted(by_q), self._contracted(by_v), np.ascontiguousarray(by_torque[..., self._own_v])
        )

    # ---- many states at once ------------------------------------------------------------------------

    def constraint_rows(self, q: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        h, Dh = self.full.constraint_rows(self.expand(q))
        return h[:, ~self._couplings], self._contracted(Dh[:, ~self._couplings])

    def facing_cosines(self, q: np.ndarray) -> np.ndarray:
        return self.full.facing_cosines(self.expand(q))[:, ~self._couplings]

    def facing_rows(self, q: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        rest, slopes = self.full.facing_rows(self.expand(q))
        return rest, self._contracted(slopes)

    def energies(self, q: np.ndarray, v: np.ndarray) -> np.ndarray:
        return self.full.energies(self.expand(q), self.expand_velocity(v))

    def momenta(self, q: np.ndarray, v: np.ndarray) -> np.ndarray:
        return self._contracted(self.full.momenta(self.expand(q), self.expand_velocity(v)))

    def mass_matrices(self, q: np.ndarray) -> np.ndarray:
        return self._contracted(self.full.mass_matrices(self.expand(q)), axes=2)

    def velocities(self, q: np.ndarray, p: np.ndarray) -> np.ndarray:
        return np.linalg.solve(self.mass_matrices(q), p[..., None])[..., 0]

    def reduced(self) -> ReducedModel:
        return self

    def euler(self) -> ReducedEulerModel:
        return ReducedEulerModel(self)


class ReducedEulerModel(ReducedModel):
    """A reduced model with ball and free joints expanded; made by :meth:`vitree.Model.euler`."""

    def __init__(self, native: ReducedModel):
        self.native, self._expanded = native, EulerModel(native.full)
        super().__init__(self._expanded)

    def __reduce__(self):
        return (ReducedEulerModel, (self.native,))

    def from_native(self, q: ArrayLike, v: ArrayLike) -> tuple[np.ndarray, np.ndarray]:
        """Like :meth:`vitree.EulerModel.from_native`, in the coordinates that do not follow."""
        q, v = self._expanded.from_native(self.native.expand(q), self.native.expand_velocity(v))
        return self.contract(q), self.contract_velocity(v)

    def to_native(self, q: ArrayLike, v: ArrayLike) -> tuple[np.ndarray, np.ndarray]:
        """Like :meth:`vitree.EulerModel.to_native`, from the coordinates that do not follow."""
        q, v = self._expanded.to_native(self.expand(q), self.expand_velocity(v))
        return self.native.contract(q), self.native.contract_velocity(v)


def _followed(full: Model) -> dict[int, tuple[int, float, float]]:
    """Entry of v that follows -> (the entry of v that leads, factor, offset), through chains.

    Raises
    ------
    ModelError
        If a joint follows two others, or joints follow each other in a circle.
    """
    direct: dict[int, tuple[int, float, float]] = {}
    names = full.v_names
    for coupling in full.constraints:
        if not isinstance(coupling, Coupling):
            continue
        (a, factor_a), (b, factor_b) = coupling.factors.items()
        ia, ib = (full.joint(name).v_slice.start for name in (a, b))
        if factor_a == 0:
            raise ModelError(f'the {coupling.name} has the factor 0 for "{a}", so nothing says where it is')
        if ia in direct:
            raise ModelError(f'"{names[ia]}" follows two joints, "{names[direct[ia][0]]}" and "{b}"; take one out')
        if full.flat.kinematic[ia] and not full.flat.kinematic[ib]:
            raise ModelError(f'"{a}" is prescribed and cannot follow "{b}"; couple them the other way round')
        direct[ia] = (ib, -factor_b / factor_a, coupling.value / factor_a)
    resolved = {}
    for k in direct:
        leader, gain, offset = direct[k]
        passed = [k]
        while leader in direct:
            passed.append(leader)
            if leader == k or len(passed) > len(direct):
                raise ModelError("joints follow each other in a circle: " + ", ".join(f'"{names[x]}"' for x in passed))
            above, g, c = direct[leader]
            leader, gain, offset = above, gain * g, offset + gain * c
        resolved[k] = (leader, gain, offset)
    return resolved
