"""Files and texts of MJCF: which are some, and their compiled models."""

from __future__ import annotations

import os
import re
import stat
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from vitree.arguments import path_of, shown
from vitree.engines.mujoco import heard
from vitree.errors import InputError, MissingExtraError, ModelError
from vitree.mjcf.guard import check_files, read_text
from vitree.urdf.paths import Packages
from vitree.urdf.xml import one_line

if TYPE_CHECKING:
    from mujoco import MjModel

#: Bytes of a file that are looked at for its first element.
LOOKED_AT = 2**16
#: What may stand before the first element: a mark of the encoding, a declaration, comments, instructions, a doctype.
_FIRST = re.compile(r"\s*(?:<\?.*?\?>\s*|<!--.*?-->\s*|<!DOCTYPE[^>]*>\s*)*<([\w:.-]+)", re.DOTALL)


def first_element(text: str) -> str | None:
    """Return the name of the first element of an XML text; None if there is none."""
    found = _FIRST.match(text.lstrip("\ufeff"))
    return found[1] if found else None


def is_mjcf(path: str | os.PathLike[str]) -> bool:
    """Return whether a file is MJCF: its root element is <mujoco>."""
    return root_element(path) == "mujoco"


def root_element(path: str | os.PathLike[str]) -> str | None:
    """Return the name of the root element of an XML file; None of any other."""
    try:
        if not stat.S_ISREG(os.stat(path).st_mode):
            return None
        with open(path, "rb") as stream:
            data = stream.read(LOOKED_AT)
    except (OSError, ValueError):
        return None
    return first_element(data.decode("utf-8", "replace"))


def compiled(source: object, warnings: list[str], packages: Packages | None = None) -> tuple[MjModel, str, Path | None]:
    """Return the MjModel of a source, the name of its file for messages, and its path.

    Parameters
    ----------
    source : MjModel, MjSpec, path or text
    warnings : list of str
        Takes what MuJoCo's compiler warns of.
    packages : paths, optional
        Folders whose files a path or a text may open, beside those of the model.

    Raises
    ------
    MissingExtraError
        If MuJoCo is not installed.
    ModelError
        If there is no such file, it is no MJCF, it refers to files elsewhere, or MuJoCo does not compile it.
    InputError
        If the source is something else.
    """
    try:
        import mujoco
    except ImportError:
        raise MissingExtraError("mujoco", "mjcf", "reading MJCF") from None
    if isinstance(source, mujoco.MjModel):
        return source, "<MjModel>", None
    if isinstance(source, mujoco.MjSpec):
        return _made(source.compile, "<MjSpec>", warnings), "<MjSpec>", None
    if isinstance(source, str) and source.lstrip("\ufeff \t\r\n")[:1] == "<":
        _require_mjcf(first_element(source), "<text>")
        check_files(source, "<text>", Path.cwd() / "text.xml", packages)
        return _made(lambda: mujoco.MjModel.from_xml_string(source), "<text>", warnings), "<text>", None
    if not isinstance(source, str | os.PathLike):
        raise InputError(f"an MJCF model must be a path, a text, an MjModel or an MjSpec, not {shown(source)}")
    path = Path(os.path.expanduser(path_of(source, "source")))
    try:
        if path.is_dir():
            raise ModelError(f"{path} is a folder; give the path of an MJCF file in it")
        text = read_text(path)
    except FileNotFoundError:
        raise ModelError(f"there is no file {one_line(str(path))}; give the path of an MJCF file") from None
    except (OSError, ValueError) as error:
        told = getattr(error, "strerror", None) or error
        raise ModelError(f"{one_line(str(path))} cannot be read: {told}; give the path of an MJCF file, or a text that "
                         "begins with <") from None  # fmt: skip
    _require_mjcf(first_element(text), str(path))
    check_files(text, str(path), path.absolute(), packages)
    return _made(lambda: mujoco.MjModel.from_xml_path(str(path)), str(path), warnings), path.name, path


def _require_mjcf(root: str | None, name: str) -> None:
    if root == "robot":
        raise ModelError(f"{name} is URDF: its root element is <robot>; read it with load_urdf")
    if root != "mujoco":
        found = "it is no XML" if root is None else f"its root element is <{one_line(root)}>"
        raise ModelError(f"{name} is no MJCF: {found}, not <mujoco>")


def _made(make: Callable[[], MjModel], name: str, warnings: list[str]) -> MjModel:
    """Return the compiled model; errors and warnings of the compiler name the file."""
    try:
        with heard(warnings.append):
            return make()
    except Exception as error:  # ValueError, and FatalError of MuJoCo
        told = " ".join(str(error).split())
        raise ModelError(f"{name}: MuJoCo does not compile it: {told}") from None
