"""Followers without a coordinate of their own: a model whose gears and mimic joints are reduced exactly."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from vitree.arguments import numbers_of, of_kind, shown, whole
from vitree.errors import InputError, ModelError
from vitree.mechanism.flat import Flat
from vitree.mechanism.followers import Followers
from vitree.model.euler import EulerModel
from vitree.model.model import Model


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
    def full(self) -> Model:
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

    def __reduce__(self):
        return (ReducedModel, (self.full,))


class ReducedEulerModel(ReducedModel, made_by="reduced euler"):
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
