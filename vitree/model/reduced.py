"""Followers without a coordinate of their own: a model whose gears and mimic joints are reduced exactly."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from vitree.arguments import entries, numbers_of, of_kind, shown, whole
from vitree.errors import InputError, ModelError
from vitree.mechanism.flat import Flat
from vitree.mechanism.followers import Followers
from vitree.model.derivatives import TwistDerivatives
from vitree.model.dynamics_derivatives import AbaDerivatives, RneaDerivatives
from vitree.model.euler import EulerModel
from vitree.model.finite import finite_result
from vitree.model.forces import ContactForces
from vitree.model.model import Accelerations, LagrangianDerivatives, Model
from vitree.model.stacks import as_rows, on_stacks
from vitree.wording import named


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
        self._followers = Followers.of(full.index)
        self._nq, self._nv = len(self._followers.own_q), len(self._followers.own_v)
        self._quaternions = self._followers.lead_q[full._quaternions]
        self.flat = self._followers.flat(full.flat)
        self._gravity = full.gravity.copy()
        self._joints = {joint.name: joint for joint in self.flat.joints}
        self._frames = full._frames
        self.singular = full.singular

    def _remade(self, flat: Flat) -> ReducedModel:
        return ReducedModel(Model(flat))

    def _with_numbers(self, flat: Flat) -> ReducedModel:
        return ReducedModel(self.full._with_numbers(flat))

    # ---- coordinates ------------------------------------------------------------------------------

    @property
    def full(self) -> Model:
        return self._full

    def expand(self, q: ArrayLike) -> np.ndarray:
        return self._followers.expand(self._wide(q, self.nq, "q"))

    def expand_velocity(self, v: ArrayLike) -> np.ndarray:
        return self._followers.expand_velocity(self._wide(v, self.nv, "v"))

    def contract(self, q: ArrayLike) -> np.ndarray:
        """Return the coordinates (..., nq) [m or rad] of those that do not follow, of a ``q`` of ``full``."""
        return self._followers.contract(self._wide(q, self.full.nq, "q"))

    def contract_velocity(self, v: ArrayLike) -> np.ndarray:
        """Return the velocities (..., nv) [m/s or rad/s] of those that do not follow, of a ``v`` of ``full``."""
        return self._followers.contract_velocity(self._wide(v, self.full.nv, "v"))

    def _wide(self, x: ArrayLike, size: int, name: str) -> np.ndarray:
        x = numbers_of(x, name, marks=True)
        if x.shape[-1:] != (size,):
            raise InputError(named(name, x) + f" has shape {x.shape}; {self.name!r} needs (..., {size})")
        return x

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
        return self._followers.contract_force(f, count)

    def _entry_names(self, which, parts):
        names, own = self.full._entry_names(which, parts), self._followers
        return tuple(names[k] for k in (own.own_q if which == "q_slice" else own.own_v))

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
        return self._followers.contract_force(self.full.frame_jacobian(name, self.expand(q), axes))

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
        return tuple(self._followers.contract_leading(x, k) for k, x in enumerate(derivatives))

    @finite_result
    def twist_derivatives(self, name: str, q: ArrayLike, v: ArrayLike) -> TwistDerivatives:
        of_all = self.full.twist_derivatives(name, self._q(q), self._v(v, "v"))
        axes = {"twist": 0, "by_q": 1, "by_v": 1, "by_qq": 2, "by_vq": 2}
        contract = self._followers.contract_leading
        return TwistDerivatives(**{key: contract(getattr(of_all, key), n) for key, n in axes.items()})

    @finite_result
    def lagrangian_derivatives(self, q: ArrayLike, v: ArrayLike) -> LagrangianDerivatives:
        value, *slopes = self.full.lagrangian_derivatives(self._q(q), self._v(v, "v"))
        return LagrangianDerivatives(value, *map(self._followers.contract_force, slopes, (1, 1, 2, 2, 2)))

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
        tau = None if tau is None else self._followers.embed_force(tau)
        given: dict[str, Any] = {"t": t, "inputs": inputs, "prescribed": prescribed, "contacts": contacts}
        a, multipliers = self.full.forward_dynamics(q, v, tau, **given)
        return Accelerations(self.contract_velocity(a), multipliers[..., self._followers.kept])

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
        tau = None if tau is None else self._followers.embed_force(self._checked(tau, self.nv, "tau"))
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
        torque = None if torque is None else self._followers.embed_force(self._checked(torque, self.nv, "torque"))
        if multipliers is not None:  # couplings act in joints, and theirs do not matter
            multipliers = self._followers.embed_rows(entries(multipliers, (len(self.constraints),), "multipliers"))
        return self.full.joint_reactions(
            q, v, a, torque=torque, t=t, inputs=inputs, prescribed=prescribed, multipliers=multipliers,
            contacts=contacts,
        )

    @on_stacks
    @finite_result
    def static_force(self, q: Any) -> np.ndarray:
        return self._followers.contract_force(self.full.static_force(self.expand(q)))

    @on_stacks
    @finite_result
    def rnea(self, q: Any, v: Any, a: Any) -> np.ndarray:
        found = self.full.rnea(self.expand(q), self.expand_velocity(v), self.expand_velocity(a))
        return self._followers.contract_force(found)

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
        return RneaDerivatives(*(self._followers.contract_force(x, axes=2) for x in of_all))

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
        tau = None if tau is None else self._followers.embed_force(tau)
        of_all = self.full.forward_dynamics_derivatives(q, v, tau, t=t, inputs=inputs, prescribed=prescribed)
        own = self._followers
        by_q, by_v, by_torque = (x[..., own.own_v, :] for x in of_all)
        return AbaDerivatives(own.contract_force(by_q), own.contract_force(by_v), own.contract_velocity(by_torque))

    # ---- many states at once ------------------------------------------------------------------------

    def constraint_rows(self, q: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        h, Dh = self.full.constraint_rows(self.expand(q))
        return h[:, self._followers.kept], self._followers.contract_force(Dh[:, self._followers.kept])

    def facing_cosines(self, q: np.ndarray) -> np.ndarray:
        return self.full.facing_cosines(self.expand(q))[:, self._followers.kept]

    def facing_rows(self, q: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        rest, slopes = self.full.facing_rows(self.expand(q))
        return rest, self._followers.contract_force(slopes)

    def energies(self, q: np.ndarray, v: np.ndarray) -> np.ndarray:
        return self.full.energies(self.expand(q), self.expand_velocity(v))

    def momenta(self, q: np.ndarray, v: np.ndarray) -> np.ndarray:
        return self._followers.contract_force(self.full.momenta(self.expand(q), self.expand_velocity(v)))

    def mass_matrices(self, q: np.ndarray) -> np.ndarray:
        return self._followers.contract_force(self.full.mass_matrices(self.expand(q)), axes=2)

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
