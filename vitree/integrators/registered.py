"""Integrators of other packages: they are found by their entry points when their names are asked for."""

from __future__ import annotations

from importlib.metadata import EntryPoint, entry_points

from vitree.errors import InputError
from vitree.integrators.base import Integrator

#: The group of entry points: name of a method = "package.module:Class".
GROUP = "vitree.integrators"


class Methods(dict[str, type[Integrator]]):
    """Integrators by name; a name that is not there is looked for among those of installed packages.

    Their packages are imported only then.
    """

    def __contains__(self, name: object) -> bool:
        return super().__contains__(name) or self._find(name)

    def __missing__(self, name: str) -> type[Integrator]:
        if self._find(name):
            return super().__getitem__(name)
        raise KeyError(name)

    def _find(self, name: object) -> bool:
        if not isinstance(name, str):
            return False
        for entry in entry_points(group=GROUP, name=name):
            self[name] = _loaded(entry)
            return True
        return False


def _loaded(entry: EntryPoint) -> type[Integrator]:
    """Return the class of an entry point; raise an InputError if it cannot be imported, or is no integrator."""
    package = entry.dist.name if entry.dist is not None else "a package"
    where = f'the integrator "{entry.name}" of {package} ({entry.value})'
    try:
        kind = entry.load()
    except Exception as error:  # whatever the package's own code raises
        raise InputError(f"{where} cannot be imported: {type(error).__name__}: {error}") from error
    if not (isinstance(kind, type) and issubclass(kind, Integrator)):
        raise InputError(f"{where} is no subclass of vitree.Integrator")
    return kind
