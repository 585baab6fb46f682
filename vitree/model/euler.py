"""EulerModel: a model whose ball and free joints are primitives of one coordinate."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from vitree.arguments import all_finite, numbers_of, of_kind
from vitree.errors import InputError
from vitree.mechanism.euler import expand, from_euler, to_euler
from vitree.model.finite import finite_result
from vitree.model.model import Model
from vitree.model.written import Mapped, written_parts

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

    def _written_of(self, loads, constraints):
        # what is written in Python speaks of the native coordinates
        return Mapped(self, loads, constraints) if written_parts(self.native, loads, constraints) else None

    def with_drives(
        self, gains: Mapping[str, Any], *, effort_limits: bool = False, target_rates: bool = False
    ) -> EulerModel:
        return EulerModel(self.native.with_drives(gains, effort_limits=effort_limits, target_rates=target_rates))

    def _varied(self, given: Mapping[str, Any]) -> EulerModel:
        return EulerModel(self.native._varied(given))

    def __reduce__(self):
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
