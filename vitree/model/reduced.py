"""Models in other coordinates: Euler angles, and without followers."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from numpy.typing import ArrayLike

from vitree.arguments import all_finite, numbers_of, of_kind, shown, whole
from vitree.errors import InputError, ModelError
from vitree.mechanism.euler import expand, from_euler, to_euler
from vitree.mechanism.flat import Flat
from vitree.mechanism.followers import Followers
from vitree.model.broadcasting import finite_result
from vitree.model.inputs import Gains
from vitree.model.model import Model
from vitree.model.user_loads import Mapped, WrittenParts, written_parts

# ---- eulerModel: a model whose ball and free joints are primitives of one coordinate -----------------------


#: Quaternions shorter than this, or longer than the inverse, have no direction in floating point.
SHORTEST = 1e-70


class EulerModel(Model, made_by="euler"):
    """A model with ball and free joints expanded into primitives; made by :meth:`vitree.Model.euler`.

    Attributes
    ----------
    native : Model
        The model as it was.
    """

    def __init__(self, native: Model):
        self.native = of_kind(native, Model, "native", "a Model; model.euler() makes one of it")
        super().__init__(expand(native.flat))

    def _written_of(self, loads: tuple[object, ...], constraints: tuple[object, ...]) -> WrittenParts | None:
        # what is written in Python speaks of the native coordinates
        return Mapped(self, loads, constraints) if written_parts(self.native, loads, constraints) else None

    def with_drives(
        self, gains: Gains, *, effort_limits: bool = False, target_rates: bool = False
    ) -> EulerModel:
        return EulerModel(self.native.with_drives(gains, effort_limits=effort_limits, target_rates=target_rates))

    def _varied(self, given: Mapping[str, object]) -> EulerModel:
        return EulerModel(self.native._varied(given))

    def __reduce__(self) -> tuple[object, ...]:
        return (EulerModel, (self.native,))

    @finite_result
    def from_native(self, q: ArrayLike, v: ArrayLike) -> tuple[np.ndarray, np.ndarray]:
        """Return the coordinates and velocities (..., nv) [m or rad, m/s or rad/s] of native q (..., nq), v (..., nv).

        Raises
        ------
        InputError
            If v turns a ball or free joint by yaw where its pitch is +-90 degrees, or a quaternion is zero.
        """
        q, v = _rows(self.native, q, v)
        for at in self.native._quaternions:
            length = np.linalg.norm(q[..., at : at + 4], axis=-1)
            if not ((length > SHORTEST) & (length < 1 / SHORTEST)).all():
                raise InputError(
                    "q", q,
                    f"[..., {at}:{at + 4}] is no quaternion (x, y, z, w): its length is {length.min():g}; it must be "
                    "1: normalise it"
                )
        return to_euler(self.native.flat, q, v)

    @finite_result
    def to_native(self, q: ArrayLike, v: ArrayLike) -> tuple[np.ndarray, np.ndarray]:
        """Return the native configuration and velocity of this model's q (..., nv) [m or rad], v (..., nv)."""
        return from_euler(self.native.flat, *_rows(self, q, v))


def _rows(model: Model, q: ArrayLike, v: ArrayLike) -> tuple[np.ndarray, np.ndarray]:
    """States of a model, one or stacks of them."""
    rows: list[np.ndarray] = []
    for value, size, name in ((q, model.nq, "q"), (v, model.nv, "v")):
        x = numbers_of(value, name)
        if x.shape[-1:] != (size,) or (rows and rows[0].shape[:-1] != x.shape[:-1]):
            raise InputError(f"{name} has shape {x.shape}; it must be (..., {size}), with as many rows of q and v")
        if not all_finite(x):
            raise InputError(f"{name} has NaN or infinity; all entries must be finite")
        rows.append(x)
    return rows[0], rows[1]


# ---- followers without a coordinate of their own: a model whose gears and mimic joints are reduced exactly


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

    _followers: Followers

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
    def full(self) -> Model:  # type: ignore[override]  # the model of all joints is of another kind
        return self._full

    def contract(self, q: ArrayLike) -> np.ndarray:
        """Return the coordinates (..., nq) [m or rad] of those that do not follow, of a ``q`` of ``full``."""
        return self._followers.contract(self._wide(q, self.full.nq, "q"))

    def contract_velocity(self, v: ArrayLike) -> np.ndarray:
        """Return the velocities (..., nv) [m/s or rad/s] of those that do not follow, of a ``v`` of ``full``."""
        return self._followers.contract_velocity(self._wide(v, self.full.nv, "v"))

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

    @property
    def digest(self) -> str:
        return f"reduced {self.full.digest}"

    def __reduce__(self) -> tuple[object, ...]:
        return (ReducedModel, (self.full,))


class ReducedEulerModel(ReducedModel, made_by="reduced euler"):
    """A reduced model with ball and free joints expanded; made by :meth:`vitree.Model.euler`."""

    def __init__(self, native: ReducedModel):
        self.native, self._expanded = native, EulerModel(native.full)
        super().__init__(self._expanded)

    def __reduce__(self) -> tuple[object, ...]:
        return (ReducedEulerModel, (self.native,))

    def from_native(self, q: ArrayLike, v: ArrayLike) -> tuple[np.ndarray, np.ndarray]:
        """Like :meth:`vitree.EulerModel.from_native`, in the coordinates that do not follow."""
        q, v = self._expanded.from_native(self.native.expand(q), self.native.expand_velocity(v))
        return self.contract(q), self.contract_velocity(v)

    def to_native(self, q: ArrayLike, v: ArrayLike) -> tuple[np.ndarray, np.ndarray]:
        """Like :meth:`vitree.EulerModel.to_native`, from the coordinates that do not follow."""
        q, v = self._expanded.to_native(self.expand(q), self.expand_velocity(v))
        return self.native.contract(q), self.native.contract_velocity(v)
