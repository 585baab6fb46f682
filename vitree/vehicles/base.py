"""Vehicle: a system whose configuration is a Lie group, or a group and a shape."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from vitree.arguments import Keywords, of_kind, several
from vitree.errors import InputError, ModelError
from vitree.mechanism.flat import Geometry
from vitree.model.broadcasting import finite_result
from vitree.model.system import System, set_once
from vitree.vehicles.poses import Plane, Space

#: Standard gravity in world axes, z up [m/s^2].
GRAVITY = (0.0, 0.0, -9.81)


class Vehicle(System):
    """An immutable vehicle: safe to share between threads, picklable, hashable by content.

    A subclass passes its parts to this constructor, and implements :class:`vitree.model.system.System`, ``compiled``
    and ``configuration_rate``.

    Parameters
    ----------
    name : str
    input_names : sequence of str
    geometry : sequence of Geometry
        Shapes for viewers; the dynamics do not depend on them.
    parts : dict
        Everything on which the dynamics depend, by name: numbers, arrays, texts, callables.

    Raises
    ------
    ModelError
        If two inputs have the same name.
    """

    __setattr__ = set_once
    group: str = "SE3"
    shape_names: tuple[str, ...] = ()
    input_names: tuple[str, ...] = ()
    driven: Mapping[str, str] = {}
    shape_limits: Mapping[str, float] = {}

    def __init__(
        self, name: str, input_names: Iterable[str], geometry: Iterable[Geometry], parts: Mapping[str, object]
    ):
        self._name = str(name)
        self.input_names = tuple(map(str, input_names))
        self.geometry: tuple[Geometry, ...] = several(geometry, "geometry", "a sequence of Geometry")
        for shape in self.geometry:
            of_kind(shape, Geometry, "geometry", "a sequence of Geometry")
        if len(set(self.input_names)) < len(self.input_names):
            raise ModelError(f'two inputs of "{name}" have the same name: {", ".join(self.input_names)}')
        content = [(key, _content(value)) for key, value in sorted(parts.items())]
        text = f"{type(self).__module__}.{type(self).__qualname__} {self.input_names} {content}"
        self._digest = hashlib.sha256(text.encode()).hexdigest()

    @property
    def name(self) -> str:
        """The name of the vehicle."""
        return self._name

    @property
    def digest(self) -> str:
        """Hash of everything on which the dynamics depend, a hexadecimal string."""
        return self._digest

    @property
    def compiled(self) -> Keywords:
        """Keyword arguments of the compiled steppers that describe the vehicle."""
        return {}

    def require_allowed(self, q: np.ndarray, v: np.ndarray, name: str = "v0") -> None:
        """Raise an InputError, with ``name`` in it, if a velocity (nv,) [m/s or rad/s] breaks the constraints at q."""

    # ---- the state: a shape, and a pose in the group -----------------------------------------------

    @property
    def _space(self) -> Any:
        return Space if self.group == "SE3" else Plane

    @property
    def joint_names(self) -> tuple[str, ...]:
        """The names of the shape coordinates, and "body"."""
        return (*self.shape_names, "body")

    @property
    def _quaternions(self) -> np.ndarray:  # type: ignore[override]
        return np.array([self.nq - 4] if self.group == "SE3" else [], dtype=int)

    @property
    def nq(self) -> int:
        """The entries of the shape, and the 3 or 7 of the pose."""
        return len(self.shape_names) + int(self._space.nq)

    @property
    def nv(self) -> int:
        """The entries of the shape, and the 3 or 6 of the twist."""
        return len(self.shape_names) + int(self._space.dim)

    @property
    def q_names(self) -> tuple[str, ...]:
        """A name for each entry of q."""
        return (*self.shape_names, *self._space.q_names)

    @property
    def v_names(self) -> tuple[str, ...]:
        """A name for each entry of v."""
        return (*self.shape_names, *self._space.v_names)

    @cached_property
    def driven_at(self) -> list[int]:
        """Indices of the driven shape coordinates in r."""
        return [self.shape_names.index(name) for name in self.driven]

    @cached_property
    def algebra(self) -> np.ndarray:
        """Indices (nv,), without units, in v of the entries of (u, xi), whose angular part is first."""
        s = len(self.shape_names)
        return np.concatenate((np.arange(s), s + self._space.order))

    def neutral(self) -> np.ndarray:
        """Return the configuration of zeros, (nq,) [m or rad]."""
        return np.concatenate((np.zeros(len(self.shape_names)), self._space.neutral))

    def validate_configuration(self, q: ArrayLike, name: str = "q") -> np.ndarray:
        """Return a checked copy (nq,) [m or rad]; raise an InputError, with ``name`` in it, if it exceeds a limit."""
        q = self._checked(q, self.nq, name).copy()
        s = len(self.shape_names)
        for shape, limit in self.shape_limits.items():
            value = q[self.shape_names.index(shape)]
            if abs(value) > limit:
                raise InputError(f"{name} has {shape} = {value:.6g}, beyond its limit {limit:.6g} of {self.name!r}")
        q[s:] = self._space.validate(q[s:], name)
        return q

    @finite_result
    def integrate(self, q: ArrayLike, dq: ArrayLike) -> np.ndarray:
        """Return the configuration (nq,) [m or rad] after a displacement.

        In the plane the displacement is along the mean heading.
        """
        q, s = self._checked(q, self.nq, "q"), len(self.shape_names)
        step = self._checked(dq, self.nv, "dq")[self.algebra]
        return np.array([*(q[:s] + step[:s]).tolist(), *self._space.integrate(q[s:], step[s:])])

    @finite_result
    def difference(self, q0: ArrayLike, q1: ArrayLike) -> np.ndarray:
        """Return the displacement (nv,) [m or rad] with ``integrate(q0, difference(q0, q1)) == q1``."""
        s, dq = len(self.shape_names), np.empty(self.nv)
        q0, q1 = self._checked(q0, self.nq, "q0"), self._checked(q1, self.nq, "q1")
        dq[self.algebra] = [*(q1[:s] - q0[:s]).tolist(), *self._space.difference(q0[s:], q1[s:])]
        return dq

    @finite_result
    def frame_poses(self, q: ArrayLike) -> dict[str, np.ndarray]:
        """Return the pose in the world, (4, 4) [m], of each frame that has geometry."""
        R, x = self._space.place(self.validate_configuration(q)[None, len(self.shape_names) :])
        X = np.eye(4)
        X[:3, :3], X[:3, 3] = R[0], x[0]
        return {"body": X}

    def configuration_rate(self, q: np.ndarray, v: np.ndarray) -> np.ndarray:
        """Return dq/dt (nq,) [m/s or rad/s] for ordinary solvers; arguments are not checked."""
        s, w = len(self.shape_names), v[self.algebra]
        return np.concatenate((w[:s], self._space.rate(q[s:], w[s:])))

    # ---- stacks of states --------------------------------------------------------------------------

    def _masses(self, q: np.ndarray) -> np.ndarray:
        """The mass matrices (n, nv, nv) on (u, xi), whose angular part is first."""
        raise NotImplementedError

    def _potentials(self, q: np.ndarray) -> np.ndarray:
        """The potential energies (n,) [J]."""
        raise NotImplementedError

    def _energies(self, q: np.ndarray, v: np.ndarray) -> np.ndarray:
        # the position of the body is used for the centre of mass
        s, w = len(self.shape_names), v[:, self.algebra]
        momentum = np.einsum("nij,nj->ni", self._masses(q), w)
        R, x = self._space.place(q[:, s:])
        angular, linear = (np.einsum("nij,nj->ni", R, half) for half in self._space.wrench(momentum[:, s:]))
        kinetic = (w * momentum).sum(axis=1) / 2
        return np.column_stack((kinetic, self._potentials(q), angular + np.cross(x, linear), linear, x))

    def _momenta(self, q: np.ndarray, v: np.ndarray) -> np.ndarray:
        p = np.empty_like(v)
        p[:, self.algebra] = np.einsum("nij,nj->ni", self._masses(q), v[:, self.algebra])
        return p

    def __hash__(self) -> int:
        return hash(self._digest)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Vehicle) and self._digest == other._digest

    def __repr__(self) -> str:
        return f"<vitree.vehicles.{type(self).__name__} {self.name!r}: nq={self.nq}, nv={self.nv}>"


def _content(value: Any) -> str:
    """A text that is equal for equal values; of a function its code and the values in its closure."""
    code = getattr(value, "__code__", None)
    if code is not None:
        kept = [cell.cell_contents for cell in value.__closure__ or ()]
        words = value.__module__, value.__qualname__, code.co_code.hex(), code.co_names
        return repr((*words, [_content(x) for x in (*code.co_consts, *(value.__defaults__ or ()), *kept)]))
    if value is None or isinstance(value, str):
        return repr(value)
    if isinstance(value, Mapping):
        return repr([(str(key), _content(x)) for key, x in value.items()])
    try:
        return repr(np.asarray(value, dtype=float).tolist())
    except Exception:  # methods of the value can raise anything
        return type(value).__qualname__
