"""The one way by which vitree writes files: at once or not at all, and only regular files are replaced."""

from __future__ import annotations

import contextlib
import itertools
import os
import re
import shutil
import stat
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import IO
from zlib import crc32

from vitree._core import _link
from vitree.errors import InputError

try:
    import fcntl
except ImportError:  # Windows
    fcntl = None  # type: ignore[assignment]

#: Names of temporaries, by number, that are looked at for those of killed processes.
SWEPT = 8
#: Flags of ``os.open`` for bytes, which only Windows has.
_BINARY = getattr(os, "O_BINARY", 0)
#: The flag of files without names, which only Linux has.
_UNNAMED = getattr(os, "O_TMPFILE", None)


@contextlib.contextmanager
def replacing(path: str | os.PathLike[str]) -> Iterator[IO[bytes]]:
    """Open a binary stream whose content becomes that of the file ``path``, if the block succeeds.

    A regular file is replaced whole and keeps its mode; its owner and group, too, where the system lets us. A new file
    has the mode of the umask. A symbolic link stays, and its target is written. What is not a regular file (/dev/null,
    /dev/stdout, a pipe) gets the content when the block succeeds. Raises an InputError if the file cannot be written.

    Yields
    ------
    stream : binary file
        It can be read and sought.

    Notes
    -----
    The content waits in a file without a name where the system knows such (Linux): a process that is killed leaves
    nothing of it. Elsewhere the content waits in a temporary file beside the target, which is locked. The next write of
    the same target removes temporaries that no process has locked.
    """
    try:
        target = Path(os.path.realpath(path))
        descriptor, before = _descriptor(path), _status(target)
        if before is not None and stat.S_ISDIR(before.st_mode):
            raise IsADirectoryError(0, "it is a directory")
        if descriptor is not None or (before is not None and not stat.S_ISREG(before.st_mode)):
            with _pouring(path, descriptor) as stream:
                yield stream
            return
        if before is not None and not os.access(target, os.W_OK):
            raise PermissionError(0, "the file is read-only")
        _sweep(target)
        with _unnamed(target, before) or _named(target, before) as stream:
            yield stream
    except OSError as error:
        raise InputError(f"cannot write {path}: {error.strerror or error}; choose another place") from None


def write_text(path: str | os.PathLike[str], text: str) -> None:
    """Write a text in UTF-8 to the file ``path``, as :func:`replacing` writes; raise an InputError if it cannot."""
    with replacing(path) as stream:
        stream.write(text.encode())


# ---- what is not a regular file -------------------------------------------------------------------------


def _descriptor(path: str | os.PathLike[str]) -> int | None:
    """Return the number of the open file of this process that a path means, such as 1 for /dev/stdout."""
    place = os.path.abspath(path)
    for _ in range(8):
        if found := re.fullmatch(r"(?:/dev|/proc/(?:self|thread-self|\d+))/fd/(\d+)", place):
            own = not place.startswith("/proc/") or place.split("/")[2] in ("self", "thread-self", str(os.getpid()))
            return int(found[1]) if own else None
        if not os.path.islink(place):
            return None
        place = os.path.normpath(os.path.join(os.path.dirname(place), os.readlink(place)))
    return None


def _status(target: Path) -> os.stat_result | None:
    try:
        return os.stat(target)
    except FileNotFoundError:
        return None


@contextlib.contextmanager
def _pouring(path: str | os.PathLike[str], descriptor: int | None) -> Iterator[IO[bytes]]:
    """Collect the content, and write it once it is whole."""
    with tempfile.TemporaryFile() as stream:
        yield stream
        stream.seek(0)
        if descriptor is None:
            to = os.open(path, os.O_WRONLY | _BINARY)
        else:  # an open file goes on where it is
            if sys.stdout is not None:
                sys.stdout.flush()
            to = os.dup(descriptor)
        with os.fdopen(to, "wb") as out:
            shutil.copyfileobj(stream, out)


# ---- regular files -----------------------------------------------------------------------------------------


def _name(target: Path, k: int) -> Path:
    """Return the k-th name of a temporary of a target, short enough for any file system."""
    return target.with_name(f".{target.name[:40]}.{crc32(os.fsencode(target.name)):08x}-{k}.vitree.tmp")


def _unnamed(target: Path, before: os.stat_result | None) -> contextlib.AbstractContextManager[IO[bytes]] | None:
    """Return a stream to a file without a name that takes the target's name in the end; None where there are none."""
    if _UNNAMED is None:
        return None
    try:
        fd = os.open(target.parent, _UNNAMED | os.O_RDWR, 0o666)
    except OSError:  # what is wrong with the folder comes again where the file has a name
        return None
    stream = os.fdopen(fd, "w+b")
    if not os.path.exists(f"/proc/self/fd/{fd}"):
        stream.close()
        return None

    @contextlib.contextmanager
    def opened() -> Iterator[IO[bytes]]:
        with stream:
            _lock(fd)
            yield stream
            _finish(stream, before)
            if not _take_place(fd, target):
                with _named(target, before) as other:  # a file system that gives such a file no name
                    stream.seek(0)
                    shutil.copyfileobj(stream, other)

    return opened()


def _take_place(fd: int, target: Path) -> bool:
    """Give a file without a name that of the target; return whether the file system can."""
    folder = os.open(target.parent, os.O_RDONLY)
    try:
        for k in range(SWEPT):
            with contextlib.suppress(FileExistsError):
                _link.replace(fd, folder, os.fsencode(_name(target, k).name), os.fsencode(target.name))
                return True
    except OSError:
        pass
    finally:
        os.close(folder)
    return False


@contextlib.contextmanager
def _named(target: Path, before: os.stat_result | None) -> Iterator[IO[bytes]]:
    """Open a temporary beside the target that takes its place in the end."""
    for k in itertools.count():
        place = _name(target, k)
        try:
            fd = os.open(place, os.O_CREAT | os.O_EXCL | os.O_RDWR | _BINARY, 0o666)
        except FileExistsError:
            continue
        _lock(fd)
        if os.fstat(fd).st_nlink:
            break
        os.close(fd)  # another process took it for one of the dead before it was locked
    try:
        with os.fdopen(fd, "w+b") as stream:
            yield stream
            _finish(stream, before)
            if fcntl is not None:  # still locked
                os.replace(place, target)
        if fcntl is None:  # Windows replaces closed files only
            os.replace(place, target)
    except BaseException:
        place.unlink(missing_ok=True)
        raise


def _lock(fd: int) -> None:
    if fcntl is not None:
        with contextlib.suppress(OSError):  # a file system without locks
            fcntl.flock(fd, fcntl.LOCK_EX)


def lock_at_once(fd: int) -> bool:
    """Lock an open file until it is closed; return False if another process or stream has it locked.

    Where the system or the file system has no locks, the answer is True.
    """
    if fcntl is None:
        return True
    try:
        fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    except OSError:
        return True
    return True


def _finish(stream: IO[bytes], before: os.stat_result | None) -> None:
    """Give the stream's file all content, and the owner and mode of the file before."""
    stream.flush()
    if before is None or not hasattr(os, "fchmod"):
        return
    fd, now = stream.fileno(), os.fstat(stream.fileno())
    if (now.st_uid, now.st_gid) != (before.st_uid, before.st_gid):
        with contextlib.suppress(OSError):
            os.fchown(fd, before.st_uid, before.st_gid)
    os.fchmod(fd, stat.S_IMODE(before.st_mode))


def _sweep(target: Path) -> None:
    """Remove the temporaries of a target that killed processes left."""
    for k in range(SWEPT):
        place = _name(target, k)
        if not os.path.lexists(place):
            continue
        with contextlib.suppress(OSError):  # locked, or removed by another process
            if fcntl is None:
                place.unlink()  # Windows refuses where a process has it open
                continue
            fd = os.open(place, os.O_RDONLY | os.O_NOFOLLOW)
            try:
                fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
                if os.path.samestat(os.fstat(fd), os.lstat(place)):
                    place.unlink()
            finally:
                os.close(fd)
