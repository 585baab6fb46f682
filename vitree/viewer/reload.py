"""Controllers in a file of Python that is read again whenever it changes."""

from __future__ import annotations

import os
import sys
import traceback
from pathlib import Path
from types import ModuleType

import numpy as np

from vitree.arguments import told
from vitree.errors import InputError
from vitree.model.system import System

#: The function that the file must have, and the one that it may have.
CONTROL, START = "control", "start"


class ControllerFile:
    """A file with a function ``control(t, q, v)``, which :meth:`refresh` reads again when it has changed.

    ``control`` returns joint forces (nv,), a :class:`vitree.Control` of numbers, or None, which leaves all as it is. A
    function ``start(model)`` is called when the file is read and at each reset. A number ``period`` [s] is the time
    between calls of ``control``; by default it is called in each step.

    Parameters
    ----------
    path : path
    system : System

    Attributes
    ----------
    error : str
        What is wrong with the file as it is now; empty if nothing is.
    count : int
        How often the file was read without an error.
    """

    def __init__(self, path: str | os.PathLike[str], system: System):
        self.path, self.system = Path(path), system
        self.error, self.count = "", 0
        self._module: ModuleType | None = None
        self._before: ModuleType | None = None
        self._seen: object = None
        self._due = -np.inf
        if not self.path.is_file():
            needed = "is no file; give a file of Python with a function control(t, q, v)"
            raise InputError("controller", str(path), needed)

    def refresh(self) -> bool:
        """Read the file again if it has changed; return whether another controller acts from now on."""
        try:
            state = os.stat(self.path)
        except OSError as error:  # as while an editor replaces it
            self.error = f"{self.path.name} cannot be read: {error.strerror}"
            self._seen = None
            return False
        seen = state.st_mtime_ns, state.st_size, state.st_ino
        if seen == self._seen:
            return False
        self._seen = seen
        try:
            module = self._loaded()
        except BaseException as error:  # whatever the file's own code raises, SystemExit included
            if isinstance(error, KeyboardInterrupt):
                raise
            self.error = self._where(error)
            return False
        self._before, self._module = self._module, module
        self.error, self._due = "", -np.inf
        self.count += 1
        return True

    def begin(self) -> None:
        """Call ``start`` of the file, if it has one, as at a reset."""
        self._due = -np.inf
        if self._module is not None and callable(start := getattr(self._module, START, None)):
            start(self.system)

    def __call__(self, t: float, q: np.ndarray, v: np.ndarray) -> object:
        """Return what ``control`` returns; None between its periods.

        An error of a file that was just read lets the one before go on; without one it is raised.
        """
        if self._module is None or t < self._due - 1e-9:
            return None
        self._due = t + float(getattr(self._module, "period", 0.0))
        try:
            return getattr(self._module, CONTROL)(t, q.copy(), v.copy())
        except Exception as error:
            self.fall_back(error)
            return None

    def fall_back(self, error: Exception) -> None:
        """Let the controller before act again because of an error; raise it if there is none."""
        self.error = self._where(error)
        if self._before is None:
            raise InputError(self.error) from error
        self._module, self._before = self._before, None

    def _loaded(self) -> ModuleType:
        name = f"vitree_controller_{self.path.stem}"
        module = ModuleType(name)
        module.__file__ = str(self.path)
        code = compile(self.path.read_text(encoding="utf-8"), str(self.path), "exec")
        folder = str(self.path.parent.absolute())
        sys.path.insert(0, folder)
        try:
            exec(code, module.__dict__)
        finally:
            if folder in sys.path:
                sys.path.remove(folder)
        if not callable(getattr(module, CONTROL, None)):
            raise InputError(f"{self.path.name} has no function control(t, q, v)")
        period = getattr(module, "period", 0.0)
        if type(period) not in (int, float) or not 0 <= period < np.inf:
            raise InputError(f"period of {self.path.name} is {period!r}; it must be a number of seconds")
        if callable(start := getattr(module, START, None)):
            start(self.system)
        return module

    def _where(self, error: BaseException) -> str:
        """Return what went wrong, and in which line of the file."""
        if isinstance(error, SyntaxError):
            return f"{self.path.name}, line {error.lineno}: {error.msg}"
        frames = traceback.extract_tb(error.__traceback__)
        lines = [frame.lineno for frame in frames if frame.filename == str(self.path)]
        where = f"{self.path.name}, line {lines[-1]}" if lines else self.path.name
        text = str(error.args[0]) if isinstance(error, InputError) and error.args else told(error)
        return text if text.startswith(self.path.name) else f"{where}: {text}"


