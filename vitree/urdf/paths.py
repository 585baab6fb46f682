"""The files to which a robot file refers: where they are, and which of them may be opened."""

from __future__ import annotations

import functools
import os
import re
import stat
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from typing import NamedTuple
from urllib.parse import unquote

from vitree.arguments import path_of, several
from vitree.errors import InputError

#: Folders by package name, or folders that hold packages.
Packages = Mapping[str, str | os.PathLike[str]] | Iterable[str | os.PathLike[str]] | str | os.PathLike[str]

#: A search for packages below a folder goes so many levels down, and into so many folders.
LEVELS, FOLDERS = 5, 2000
#: No path is longer [characters].
LONGEST = 4096


class Resolved(NamedTuple):
    """The file of a reference.

    Attributes
    ----------
    path : str
        The file; if there is a problem, the reference as it is.
    problem : str or None
        Begins with "missing" or "escapes".
    """

    path: str
    problem: str | None = None


def resolve(reference: str, robot: Path | None, packages: Packages | None = None) -> Resolved:
    """Return the file that a reference means; :class:`Places` is quicker for many references."""
    return Places(robot, packages).resolve(reference)


class Places:
    """The folders in which the files of a robot are looked for.

    Parameters
    ----------
    robot : path or None
        The robot file; None for one given as text.
    packages : mapping, or paths, optional
        Package name to its folder; or folders that are packages or hold packages. All are trusted: every file in
        them may be opened.
    workspaces : iterable of Path
        Folders in which packages are looked for last, before those of the environment.

    Raises
    ------
    InputError
        If ``packages`` names a folder that is not there.

    Notes
    -----
    A package is looked for in ``packages``, then in the folders above the robot file and beside these, then in folders
    of any name beside the robot's own package whose package.xml declares it, then in the folders of ROS_PACKAGE_PATH
    and AMENT_PREFIX_PATH. Only in the folders of these variables may it be a link to a folder elsewhere. A folder with
    a package.xml is a package. A folder without one counts only if it is
    near the robot file, or directly in a folder of ``packages`` or of the variables.

    A reference to a package may lead into that package, and a path into the robot's own or another package. Both may
    lead into the folders of ``packages`` too, and nowhere else; ".." and symbolic links are followed first. The
    robot's own package is the nearest folder above the robot file with a package.xml. Without one it is the parent of
    the robot's folder; if the parent is a user's home or above a home, it is the robot's folder alone.

    A folder is looked at once, however many references lead to it, so places are made anew for each load.
    """

    def __init__(
        self, robot: str | os.PathLike[str] | None, packages: Packages | None = None, workspaces: Iterable[Path] = ()
    ):
        self.named, self.given = _given(packages)
        # a linked robot file has two folders
        files = () if robot is None else dict.fromkeys((os.path.abspath(robot), os.path.realpath(robot)))
        # what is known of references, package names and folders: all but the last part of a path is looked at once
        self._resolved: dict[str, Resolved] = {}
        self._searched: dict[str, tuple[list[Path], Iterator[Path]]] = {}
        self._declared, self._real = functools.cache(_declared), functools.cache(self._real_folder)
        self._below = functools.cache(lambda folder, text: (folder / text, self._real(folder / text)))
        self._first = functools.cache(self._first_folder)
        self._of_package, self._of_robot = functools.cache(self._in_package_of), functools.cache(self._in_robot)
        self.near = [(Path(file).parent, home_of(Path(file).parent, self._declared)) for file in files]
        self.workspaces = [*workspaces, *(Path(entry) for entry in _listed("ROS_PACKAGE_PATH"))]
        self.workspaces += [Path(entry) / "share" for entry in _listed("AMENT_PREFIX_PATH")]
        self.trusted = [_real(folder) for folder in self.given]
        self._known = os.path.join(self.near[-1][0], "") if files else ""  # a folder without ".." and links
        self.homes = [self._real(home) for _, home in self.near]
        self._indices: dict[Path, dict[str, Path]] = {}

    def resolve(self, reference: str) -> Resolved:
        """Return the file that a reference means.

        Parameters
        ----------
        reference : str
            "package://name/rest", "model://name/rest", "file:///path", or a path. A relative path starts at the
            robot file; if the robot is a text, at the folders of ``packages``. A backslash counts as a slash. If no
            file has such a name, "%20" and the like are decoded.
        """
        if reference not in self._resolved:
            self._resolved[reference] = self._resolve(reference)
        return self._resolved[reference]

    def _resolve(self, reference: str) -> Resolved:
        before, _, name = reference.rpartition("/")
        if before and name not in ("", ".", "..") and "\\" not in name and _can_be_a_path(reference):
            first = self._first(before + "/")
            if first and _is_file(first[1] + name):
                return Resolved(first[0] + name)
        scheme, rest = _split(reference)
        if scheme not in ("", "file", "package", "model"):
            return Resolved(reference, f"missing: {scheme}:// is not opened; give a file, package:// or model://")
        look = self._in_package if scheme in ("package", "model") else self._path
        problems = []
        for text in dict.fromkeys((rest, unquote(rest))):
            found, problem = look(text) if _can_be_a_path(text) else (None, "missing: no file can have this name")
            if found is not None:
                return Resolved(found)
            problems.append(problem)
        return Resolved(reference, min(problems))  # "escapes" before "missing"

    def _first_folder(self, reference: str) -> tuple[str, str] | None:
        """Return the folder in which the files of a reference are looked for first, and the real one, with a slash.

        None if not all files there may be opened.
        """
        scheme, rest = _split(reference)
        if scheme in ("package", "model"):
            package, _, rest = rest.lstrip("/").partition("/")
            folder = next(self.packages(package), None) if package else None
        else:
            package, folder = "", next(iter([folder for folder, _ in self.near] or self.given), None)
        if folder is None or scheme not in ("", "file", "package", "model"):
            return None
        place, above = self._below(folder, rest.lstrip("/") if package else rest)
        allowed = self._of_package(package, folder, above) if package else self._of_robot(above)
        return (os.path.join(place, ""), os.path.join(above, "")) if allowed else None

    def _real_folder(self, folder: Path) -> Path:
        """The path of a folder without ".." and links."""
        return folder if self._known.startswith(os.path.join(folder, "")) else _real(folder)

    def packages(self, name: str) -> Iterator[Path]:
        """Yield the folders in which a package may be; the first that exists counts."""
        known, more = self._searched.setdefault(name, ([], self._search(name)))
        yield from known
        for folder in more:
            known.append(folder)
            yield folder

    def _search(self, name: str) -> Iterator[Path]:
        if name in self.named:
            yield self.named[name]
        elif name not in ("", ".", "..") and not set(name) & set("/\\\0"):
            for folder in () if self.named else self.given:
                yield from self._in_folder(folder, name, links=False)
            yield from self._above(name)
            for folder in self.workspaces:
                yield from self._in_folder(folder, name, links=True)

    def _path(self, text: str) -> tuple[str | None, str]:
        problem: str = "missing: the robot is a text, which has no folder; name one by packages="
        for folder in [folder for folder, _ in self.near] or self.given:
            place, above, name, is_file = self._at(folder, text)
            if not (self._of_robot(above) or above / name in (*self.homes, *self.trusted)):
                problem = "escapes the robot's package; name the folder it is in by packages="
            elif is_file:
                return place, ""
            else:
                problem = "missing"
        return None, problem

    def _in_package(self, text: str) -> tuple[str | None, str]:
        package, _, rest = text.lstrip("/").partition("/")  # package:///name/... is found in files, too
        problem = ""
        for folder in self.packages(package):
            place, above, name, is_file = self._at(folder, rest.lstrip("/"))
            if not (self._of_package(package, folder, above) or above / name in (self._real(folder), *self.trusted)):
                problem = f'escapes the package "{package}" ({folder})'
            elif is_file:
                return place, ""
            elif not problem.startswith("escapes"):
                problem = f'missing: the package "{package}" ({folder}) has no such file'
        return None, problem or f'missing: no package "{package}" is found; name its folder by packages='

    def _at(self, folder: Path, text: str) -> tuple[str, Path, str, bool]:
        """Return the place that a text means in a folder, its real folder and name, and whether a file is there."""
        name = text[text.rfind("/") + 1 :]
        if name not in ("", ".", ".."):
            place, above = self._below(folder, text[: len(text) - len(name)])
            try:
                mode = os.lstat(f"{above}/{name}").st_mode
            except OSError:
                mode = 0
            if not stat.S_ISLNK(mode):
                return os.path.join(place, name), above, name, stat.S_ISREG(mode)
        real = _real(folder / text)
        return str(folder / text), real.parent, real.name, os.path.isfile(real)

    def _in_package_of(self, name: str, folder: Path, real: Path) -> bool:
        """Say whether the files of a real folder belong to a package."""
        # the install folder of a build may hold links to the package's source folder
        roots = (self._real(folder), *self.trusted)
        return _inside(real, roots) or name in map(self._declared, (real, *real.parents))

    def _in_robot(self, real: Path) -> bool:
        """Say whether the files of a real folder belong to the robot, or package:// leads to them, too."""
        if _inside(real, (*self.homes, *self.trusted)):
            return True
        for above in (real, *real.parents):
            name = self._declared(above)
            if name and any(self._real(folder) == above for folder in self.packages(name)):
                return True
        return False

    def _above(self, name: str) -> Iterator[Path]:
        for folder, home in self.near:
            for above in (folder, *folder.parents):
                declared = self._declared(above)
                if declared == name or (above.name == name and (declared or above.is_relative_to(home))):
                    yield above
                if self._holds(above if self._declared(above / name) else home, above / name):
                    yield above / name
        for _, home in self.near:
            yield from self._beside(home, name)

    def _beside(self, home: Path, name: str) -> Iterator[Path]:
        """Yield folders beside a robot's own package that declare a name in a package.xml, and are called otherwise."""
        if not self._declared(home):
            return
        try:
            with os.scandir(home.parent) as entries:
                names = sorted(entry.name for entry in entries if entry.is_dir(follow_symlinks=False))
        except OSError:
            return
        yield from (home.parent / each for each in names[:FOLDERS] if self._declared(home.parent / each) == name)

    def _in_folder(self, folder: Path, name: str, links: bool) -> Iterator[Path]:
        if name in (folder.name, self._declared(folder)):
            yield folder
        if self._holds(folder, folder / name) or (links and self._declared(folder / name)):
            yield folder / name
        if folder not in self._indices:
            self._indices[folder] = _index(folder, links)
        if name in self._indices[folder]:
            yield self._indices[folder][name]

    def _holds(self, root: Path, folder: Path) -> bool:
        """Say whether a folder exists and, links followed, is in the root."""
        return os.path.isdir(folder) and _inside(self._real(folder), [self._real(root)])


def _split(reference: str) -> tuple[str, str]:
    """Scheme, or "", and the rest; a single letter is a drive."""
    text = reference.replace("\\", "/")
    scheme, colon, rest = text.partition(":")
    if not colon or not re.fullmatch(r"[A-Za-z][\w+.-]+", scheme) or not (rest[:2] == "//" or scheme.lower() == "file"):
        return "", text
    rest = rest.removeprefix("//")
    if scheme.lower() == "file" and rest.lower().startswith("localhost/"):
        rest = rest[len("localhost") :]
    return scheme.lower(), rest


def _given(packages: Packages | None) -> tuple[dict[str, Path], list[Path]]:
    """Folders by name, and all folders."""
    if isinstance(packages, str | os.PathLike):
        packages = [packages]
    if isinstance(packages, Mapping):
        named = {name: _folder(path) for name, path in packages.items()}
        return named, list(named.values())
    given = () if packages is None else several(packages, "packages", "a mapping {name: folder}, or a list of folders")
    return {}, [_folder(path) for path in given]


def _folder(path: str | os.PathLike[str]) -> Path:
    folder = os.path.abspath(os.path.expanduser(path_of(path, "packages")))
    if not os.path.isdir(folder):
        raise InputError("packages", path, "is not a folder")
    return Path(folder)


def _listed(variable: str) -> list[str]:
    """The folders of an environment variable; entries that are not absolute are ignored."""
    return [entry for entry in os.environ.get(variable, "").split(os.pathsep) if os.path.isabs(entry)]


def home_of(folder: Path, declared: Callable[[Path], str | None] | None = None) -> Path:
    """Return the folder in which the files of a robot in a folder must be; see :class:`Places`."""
    for above in (folder, *folder.parents):
        if (declared or _declared)(above):
            return above
    user = Path(os.path.expanduser("~"))
    shared = folder.parent in (Path(folder.anchor), Path("/home"), user, *user.parents)
    return folder if shared else folder.parent


def _declared(folder: Path) -> str | None:
    """The name of a ROS package, from the package.xml in its folder; None if the folder is no package."""
    path = os.path.join(folder, "package.xml")
    if not os.path.isfile(path):
        return folder.name if os.path.isfile(os.path.join(folder, "manifest.xml")) else None
    try:
        with open(path, "rb") as file:
            found = re.search(rb"<name>\s*([\w.-]+)\s*</name>", file.read(100_000))
    except OSError:
        found = None
    return found[1].decode() if found else folder.name


def _index(folder: Path, links: bool) -> dict[str, Path]:
    """The packages below a folder, by the names they declare and by those of their folders."""
    packages: dict[str, Path] = {}
    level, left = [folder], FOLDERS
    for _ in range(LEVELS + 1):
        below: list[Path] = []
        for place in level:
            declared = _declared(place)
            if declared:  # packages do not nest
                packages.setdefault(declared, place)
                packages.setdefault(place.name, place)
                continue
            try:
                with os.scandir(place) as entries:
                    names = sorted(entry.name for entry in entries if entry.is_dir(follow_symlinks=links))
            except OSError:
                continue
            names = [name for name in names if not name.startswith(".")][:left]
            left -= len(names)
            below += [place / name for name in names]
        level = below
    return packages


def _is_file(path: str) -> bool:
    """Say whether a file is there, and no link."""
    try:
        return stat.S_ISREG(os.lstat(path).st_mode)
    except OSError:
        return False


def _can_be_a_path(text: str) -> bool:
    try:
        return len(text) <= LONGEST and b"\0" not in os.fsencode(text)
    except UnicodeEncodeError:
        return False


def _real(place: Path) -> Path:
    """The path without ".." and links."""
    return Path(os.path.realpath(place))


def _inside(real: Path, roots: Iterable[Path]) -> bool:
    return any(real.is_relative_to(root) for root in roots)
