"""Vehicle: a system whose configuration is a Lie group, or a group and a shape."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from vitree.arguments import of_kind, several
from vitree.errors import ModelError
from vitree.mechanism.flat import Geometry
from vitree.model.system import System, set_once

#: Standard gravity in world axes, z up [m/s^2].
GRAVITY = (0.0, 0.0, -9.81)


class Vehicle(System):
    """A vehicle that never changes: safe to share between threads, picklable, hashable by content.

    A kind of vehicle passes its parts to this constructor. It implements :class:`vitree.model.system.System`, and
    besides ``compiled`` and ``configuration_rate``.

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
    joint_names = ("body",)
    input_names: tuple[str, ...] = ()
    driven: Mapping[str, str] = {}
    driven_at: Sequence[int] = ()

    def __init__(self, name: str, input_names: Iterable[str], geometry: Iterable[Geometry], parts: dict[str, Any]):
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
    def compiled(self) -> dict[str, Any]:
        """Keyword arguments of the compiled steppers that describe the vehicle."""
        return {}

    def require_allowed(self, q: np.ndarray, v: np.ndarray, name: str = "v0") -> None:
        """Raise an InputError, with ``name`` in it, if a velocity (nv,) [m/s or rad/s] breaks the constraints at q."""

    def configuration_rate(self, q: np.ndarray, v: np.ndarray) -> np.ndarray:
        """Return dq/dt (nq,) [m/s or rad/s] for ordinary solvers; arguments are not checked."""
        raise NotImplementedError

    def __hash__(self) -> int:
        return hash(self._digest)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Vehicle) and self._digest == other._digest

    def __repr__(self) -> str:
        return f"<vitree.vehicles.{type(self).__name__} {self.name!r}: nq={self.nq}, nv={self.nv}>"


#: Modules that have moved, and their names in digests: these must stay, since runs hold them.
_KNOWN_AS = {"vitree.vehicles.rolling": "vitree.vehicles.nonholonomic"}


def _content(value: Any) -> str:
    """A text of a value, the same for equal values; of a function its code and the values in its closure."""
    code = getattr(value, "__code__", None)
    if code is not None:
        kept = [cell.cell_contents for cell in value.__closure__ or ()]
        module = _KNOWN_AS.get(value.__module__, value.__module__)
        words = module, value.__qualname__, code.co_code.hex(), code.co_names
        return repr((*words, [_content(x) for x in (*code.co_consts, *(value.__defaults__ or ()), *kept)]))
    if value is None or isinstance(value, str):
        return repr(value)
    if isinstance(value, Mapping):
        return repr([(str(key), _content(x)) for key, x in value.items()])
    try:
        return repr(np.asarray(value, dtype=float).tolist())
    except Exception:  # whatever the value's own methods raise
        return type(value).__qualname__
