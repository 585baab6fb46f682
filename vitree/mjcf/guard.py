"""What an MJCF file of a stranger may read and how much it may ask for, found out before MuJoCo compiles it."""

from __future__ import annotations

import html
import math
import os
import re
import stat
from collections.abc import Iterator
from pathlib import Path

from vitree.errors import ModelError
from vitree.urdf.paths import Packages, Places

#: Largest file of XML [bytes], most files of XML, and deepest nesting of elements.
MOST_BYTES, MOST_FILES, MOST_DEPTH = 16 * 2**20, 1000, 100
#: Most elements after replication, and most numbers of a texture or height field that is generated.
MOST_ELEMENTS, MOST_NUMBERS = 1_000_000, 2**28
#: Attributes of the compiler that name folders of assets, and elements that name a file of XML.
_FOLDERS, _XML = ("meshdir", "texturedir", "assetdir"), ("include", "model")
_HIDDEN = re.compile(r"<!--.*?(?:-->|\Z)|<!\[CDATA\[.*?(?:\]\]>|\Z)|<\?.*?(?:\?>|\Z)", re.DOTALL)
_TAG = re.compile(r"""<(/?)([^\s<>/"'=!?]+)((?:[^<>"']|"[^"]*"|'[^']*')*)>""")
_ATTRIBUTE = re.compile(r"""([^\s"'=<>/]+)\s*=\s*("[^"]*"|'[^']*')""")


def check_files(text: str, file: str, main: Path, packages: Packages | None) -> None:
    """Raise a ModelError if a model would open files elsewhere, or is larger than any robot.

    Parameters
    ----------
    text : str
        MJCF.
    file : str
        Its name for messages.
    main : path
        Where the text is, or where it would be.
    packages : paths, optional
        Folders whose files may be opened, too.

    Notes
    -----
    MuJoCo opens what ``<include>``, assets and ``<model>`` name, wherever it is. The files must be in the folder of the
    model, the one above it or its package, as those of URDF are (:class:`vitree.urdf.paths.Places`); links are followed
    first. A name may stand below each folder of assets, so it is looked up in all of them.
    """
    _Scan(Places(main, packages), file).text(text, main.parent, file)


def read_text(path: str | os.PathLike[str]) -> str:
    """Return the text of a file of XML.

    Raises a ModelError if it is no regular file, or larger than any robot, and an OSError if it cannot be read.
    """
    found = os.stat(path)
    if not stat.S_ISREG(found.st_mode):
        raise ModelError(f"{path} is no regular file; give the path of an MJCF file")
    if found.st_size > MOST_BYTES:
        raise ModelError(f"{path} has {found.st_size / 2**20:.0f} MB; the most is {MOST_BYTES >> 20} MB")
    return Path(path).read_bytes().decode("utf-8", "replace")


class _Scan:
    """All files of XML of one model, and what they come to."""

    def __init__(self, places: Places, file: str):
        self.places, self.file = places, file
        self.seen: set[str] = set()
        self.folders: dict[str, None] = {"": None}
        self.named: list[tuple[str, Path]] = []
        self.elements = 0.0

    def text(self, text: str, folder: Path, file: str) -> None:
        """Look through the text of the main file and through all that it includes."""
        waiting = [(text, folder, file, 1.0)]
        while waiting:
            one, folder, file, times = waiting.pop()
            for tag, attributes, count in self._tags(one, file, times):
                for name in _FOLDERS:
                    if name in attributes:
                        self.folders[attributes[name]] = None
                for name, value in attributes.items():
                    # file, fileright ... of cubes, and lists of files
                    if not name.startswith("file") or not value.strip():
                        continue
                    self.named.append((value.strip(), folder))
                    if tag in _XML:
                        more = self._of_xml(value, folder)
                        waiting += [(read_text(path), path.parent, str(path), count) for path in more]
        for value, folder in self.named:
            for below in self.folders:
                self._require_near(os.path.join(folder, below, value), value)

    def _of_xml(self, value: str, folder: Path) -> Iterator[Path]:
        """Yield the files of XML that a name may mean, each once."""
        for start in dict.fromkeys((folder, self.places.near[0][0])):
            path = self._require_near(os.path.join(start, value.strip()), value.strip())
            if path is None or path in self.seen:
                continue
            self.seen.add(path)
            if len(self.seen) > MOST_FILES:
                raise ModelError(f"{self.file}: more than {MOST_FILES} files are included")
            yield Path(path)

    def _require_near(self, place: str, value: str) -> str | None:
        """Return the real file at a place, None if there is nothing; raise a ModelError if it must not be opened."""
        if len(place) > 4096 or "\0" in place:
            return None
        try:
            real = os.path.realpath(place)
            mode = os.stat(real).st_mode
        except OSError:
            return None
        if stat.S_ISDIR(mode):
            return None
        problem = self.places.resolve(place).problem or ""
        if problem.startswith("escapes"):
            raise ModelError(
                f'{self.file}: the file "{value}" ({real}) is outside of the folders of the model; name the '
                "folder it is in by packages= if you trust the model"
            )
        if not stat.S_ISREG(mode):
            raise ModelError(f'{self.file}: "{value}" ({real}) is no regular file')
        return real

    def _tags(self, text: str, file: str, times: float) -> Iterator[tuple[str, dict[str, str], float]]:
        """Yield the elements, their attributes, and how often replication makes each of them."""
        above = [times]
        for closing, tag, rest in _TAG.findall(_HIDDEN.sub(" ", text)):
            if closing:
                if len(above) > 1:
                    above.pop()
                continue
            attributes = {name: html.unescape(value[1:-1]) for name, value in _ATTRIBUTE.findall(rest)}
            self._count(tag, attributes, above[-1], file)
            yield tag, attributes, above[-1]
            if rest.rstrip().endswith("/"):
                continue
            above.append(above[-1] * (_product(attributes, "count") if tag == "replicate" else 1.0))
            if len(above) > MOST_DEPTH + 1:
                raise ModelError(f"{file}: elements are nested deeper than {MOST_DEPTH}")

    def _count(self, tag: str, attributes: dict[str, str], times: float, file: str) -> None:
        own = _product(attributes, "count") if tag in ("composite", "flexcomp") else 1.0
        self.elements += times * own
        if self.elements > MOST_ELEMENTS:
            raise ModelError(
                f"{file}: <replicate> and the like make more than {MOST_ELEMENTS} elements; make fewer copies"
            )
        numbers = 3.0 * _product(attributes, "width", "height") if tag == "texture" else (
            _product(attributes, "nrow", "ncol") if tag == "hfield" else 0.0)  # fmt: skip
        if times * numbers > MOST_NUMBERS:
            raise ModelError(f"{file}: a <{tag}> of {numbers:.3g} numbers; the most is {MOST_NUMBERS}")


def _product(attributes: dict[str, str], *names: str) -> float:
    """The product of the numbers in some attributes; 1 where there are none."""
    found = 1.0
    for part in " ".join(attributes.get(name, "") for name in names).split():
        try:
            value = abs(float(part))
        except ValueError:
            continue  # MuJoCo tells it
        found *= value if math.isfinite(value) else math.inf
    return found
