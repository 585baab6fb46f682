"""The folder of a sweep: rows in files that are written once, so that a sweep that was killed goes on."""

from __future__ import annotations

import contextlib
import hashlib
import json
import math
import os
from collections.abc import Mapping
from types import TracebackType
from typing import IO, Any, Self

from vitree.arguments import path_of, shown
from vitree.errors import InputError
from vitree.results.plain import SCALARS, read_json
from vitree.writing import lock_at_once, write_text

#: The file that says what a folder is of, the file that the sweep at work locks, and the files of rows.
MANIFEST, LOCK, ROWS = "sweep.json", "lock", "rows-*.json"
#: The form of these files.
FORMAT = 1


class Folder:
    """The rows of one sweep in a folder, which is locked until it is closed.

    A file of rows has a name that is the digest of its content. So a file that is torn or altered is known by its name,
    and two processes that run the same cases write the same.

    Parameters
    ----------
    path : path
        It is made if it is not there.
    definition : mapping of str
        The parts of the sweep's definition, each as a digest or a text.
    count : int
        The number of cases.

    Attributes
    ----------
    rows : dict
        The rows that were there: case to row.
    damaged : int
        The number of files that could not be used; they are removed.
    pace : tuple of float and int
        Seconds that rows took, and how many rows.

    Raises
    ------
    InputError
        If the folder is that of another sweep, is no folder of a sweep, or is in use.
    """

    def __init__(self, path: str | os.PathLike, definition: Mapping[str, str], count: int):
        self.path, self.count = path_of(path, "folder"), count
        self.rows: dict[int, dict[str, Any]] = {}
        self.damaged, self.pace = 0, (0.0, 0)
        try:
            self.path.mkdir(parents=True, exist_ok=True)
            new = not any(self.path.iterdir())
            if not new and not (self.path / MANIFEST).is_file() and {x.name for x in self.path.iterdir()} != {LOCK}:
                raise self._wrong("has other files, and none of a sweep; give a folder that is empty or not there")
            self._stream: IO[bytes] = open(self.path / LOCK, "ab")  # held until close
        except OSError as error:
            raise self._wrong(f"cannot be used: {error.strerror or error}; give another folder") from None
        try:
            if not lock_at_once(self._stream.fileno()):
                raise self._wrong("is in use by another sweep; wait until that has ended, or give another folder")
            self._check({"format": str(FORMAT), **definition, "count": str(count)})
            self._read()
        except BaseException:
            self.close()
            raise

    def _wrong(self, text: str) -> InputError:
        return InputError("folder", self.path, f"{self.path} {text}")

    def _check(self, definition: dict[str, str]) -> None:
        """Compare the definition with that of the folder, or write it if there is none."""
        place = self.path / MANIFEST
        if not place.is_file():
            write_text(place, json.dumps(definition, indent=1, sort_keys=True) + "\n")
            return
        try:
            there = read_json(place.read_bytes())
            differing = sorted(key for key in there.keys() | definition.keys() if there.get(key) != definition.get(key))
        except (OSError, ValueError, AttributeError):
            raise self._wrong(f"has a file {MANIFEST} that cannot be read; give another folder") from None
        if differing:
            raise self._wrong(
                f"is that of another sweep, which differs in {', '.join(differing)}; give another folder, or the "
                "arguments of before"
            )

    def _read(self) -> None:
        """Take the rows of all files; what is damaged is removed."""
        seconds, timed = 0.0, 0
        for place in sorted(self.path.glob(ROWS)):
            try:
                body = place.read_bytes()
                if place.name != _name_of(body):
                    raise ValueError("its content is another than its name says")
                took, found = _rows_of(read_json(body), self.count)
            except (OSError, ValueError):
                self.damaged += 1
                with contextlib.suppress(OSError):
                    place.unlink()
                continue
            self.rows.update(found)
            seconds, timed = seconds + took, timed + len(found)
        self.pace = seconds, timed

    def write(self, rows: list[tuple[int, dict[str, Any]]], took: float) -> None:
        """Keep rows that took some seconds.

        Raises
        ------
        InputError
            If the file cannot be written.
        """
        body = json.dumps({"took": took, "rows": rows}, separators=(",", ":"))
        write_text(self.path / _name_of(body.encode()), body)

    def close(self) -> None:
        """Give the folder free."""
        self._stream.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None):
        self.close()


def remove_folder(path: str | os.PathLike) -> None:
    """Remove the files of a sweep from a folder, and the folder if nothing else is in it."""
    place = path_of(path)
    with contextlib.suppress(OSError):
        for file in [*place.glob(ROWS), place / MANIFEST, place / LOCK]:
            file.unlink(missing_ok=True)
        place.rmdir()


def _rows_of(content: Any, count: int) -> tuple[float, dict[int, dict[str, Any]]]:
    """Return the seconds and the rows of a file, by their cases.

    Raises
    ------
    ValueError
        If it is not as :meth:`Folder.write` writes it.
    """
    if not isinstance(content, dict) or content.keys() != {"took", "rows"}:
        raise ValueError("it is not of seconds and rows")
    took, rows = content["took"], content["rows"]
    if type(took) not in (int, float) or not 0 <= took < math.inf:
        raise ValueError(f"it took {shown(took)} s")
    if not isinstance(rows, list) or not all(isinstance(pair, list) and len(pair) == 2 for pair in rows):
        raise ValueError("its rows are not pairs of a case and a row")
    for k, row in rows:
        if type(k) is not int or not 0 <= k < count:
            raise ValueError("it has cases that are none")
        if not isinstance(row, dict) or not isinstance(row.get("status"), str) or not all(
                value is None or isinstance(value, SCALARS) for value in row.values()):  # fmt: skip
            raise ValueError("it has rows that are none")
    return took, dict(rows)


def _name_of(body: bytes) -> str:
    return ROWS.replace("*", hashlib.sha256(body).hexdigest()[:24])
