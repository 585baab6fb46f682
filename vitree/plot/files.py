"""Pictures in files, with the settings that made them."""

from __future__ import annotations

import io
import json
import os
import re
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any
from weakref import WeakKeyDictionary
from xml.etree import ElementTree

from vitree.arguments import JsonObject, of_kind, path_of
from vitree.errors import InputError, MissingExtraError
from vitree.results.plain import no_nan, plain, read_json, versions
from vitree.wording import visible
from vitree.writing import replacing

if TYPE_CHECKING:
    from matplotlib.figure import Figure, FigureBase

#: The plots and sources of each figure.
_drawn: WeakKeyDictionary[FigureBase, dict[str, list[Any]]] = WeakKeyDictionary()
#: The formats that hold settings: the keys of the title, of the settings, and of a date that is left out so that equal
#: pictures are equal files.
_KEYS = {"png": ("Title", "Description", None), "svg": ("Title", "Description", "Date"),
         "pdf": ("Title", "Subject", "CreationDate")}  # fmt: skip


def note(figure: FigureBase, what: str, source: Any) -> None:
    """Note on a figure that it has a plot of a trajectory or comparison, or of a mapping of them."""
    notes = _drawn.setdefault(figure, {"plots": [], "sources": []})
    sources = source if isinstance(source, Mapping) else {None: source}
    for label, part in sources.items():
        facts = {"label": label, "model": part.model_name, "method": getattr(part, "method", None)}
        facts = {key: value for key, value in facts.items() if value is not None}
        facts["settings"] = no_nan(plain(part.settings))
        if facts not in notes["sources"]:
            notes["sources"].append(facts)
    if what not in notes["plots"]:
        notes["plots"].append(what)


def check_format(path: str | os.PathLike[str]) -> str:
    """Return the format that the ending of a file names; "png" without an ending.

    Parameters
    ----------
    path : path

    Returns
    -------
    str

    Raises
    ------
    MissingExtraError
        If matplotlib is not installed.
    InputError
        If matplotlib cannot write that format.
    """
    try:
        from matplotlib.backend_bases import FigureCanvasBase
    except ImportError:
        raise MissingExtraError("matplotlib", "plot", "plotting") from None
    kind = path_of(path).suffix.lower().lstrip(".") or "png"
    known = FigureCanvasBase.get_supported_filetypes()
    if kind not in known:
        raise InputError(f"{path} has the ending .{kind}; choose from {', '.join(sorted(known))}")
    return kind


def save(figure: Figure, path: str | os.PathLike[str]) -> Path:
    """Write a figure to a file, at once or not at all, with the settings of the runs that it shows.

    PNG, SVG and PDF files hold the settings and the versions of the programs as JSON; :func:`settings_of` reads them.
    Files of other formats hold neither.

    Parameters
    ----------
    figure : matplotlib Figure
    path : path
        Its ending names the format: .png, .pdf, .svg ...; PNG without an ending.

    Returns
    -------
    Path

    Raises
    ------
    MissingExtraError
        If matplotlib is not installed.
    InputError
        If the file cannot be written, or its ending names no known format.
    """
    path, kind = path_of(path), check_format(path)
    from matplotlib.figure import Figure

    of_kind(figure, Figure, "figure", "a figure of matplotlib")
    notes = _drawn.get(figure, {"plots": [], "sources": []})
    metadata: dict[str, str | None] | None = None
    if kind in _KEYS:
        title, settings, date = _KEYS[kind]
        models = ", ".join(dict.fromkeys(source["model"] for source in notes["sources"]))
        metadata = {title: f"vitree: {', '.join(notes['plots'])} of {visible(models)}"}
        metadata[settings] = json.dumps({**notes, "versions": versions()}, allow_nan=False)
        if date is not None:
            metadata[date] = None
    from matplotlib import rc_context

    # The names of parts of an SVG file are hashes; their salt is random unless it is set.
    with replacing(path) as stream, rc_context({"svg.hashsalt": "vitree"}):
        figure.savefig(stream, format=kind, dpi=150, metadata=metadata)
    return path


def svg_of(figure: Figure) -> str:
    """Return a figure as an SVG element for a page."""
    from matplotlib import rc_context

    stream = io.StringIO()
    with rc_context({"svg.hashsalt": "vitree"}):
        figure.savefig(stream, format="svg", metadata={"Date": None})
    text = stream.getvalue()
    return text[text.index("<svg") :]


def settings_of(path: str | os.PathLike[str]) -> JsonObject:
    """Return the settings that :func:`save` wrote into a PNG, SVG or PDF file.

    Parameters
    ----------
    path : path

    Returns
    -------
    dict
        ``plots``: their names; ``sources``: model, method, label and settings of each run or comparison;
        ``versions``.

    Raises
    ------
    InputError
        If the file cannot be read, or has no such settings.
    """
    path = path_of(path)
    try:
        data = path.read_bytes()
        if data.startswith(b"\x89PNG"):
            from PIL import Image

            with Image.open(path) as picture:
                text = picture.text["Description"]  # type: ignore[attr-defined]
        elif data.startswith(b"%PDF"):
            # A PDF string stands in parentheses; a backslash escapes parentheses and itself.
            (found,) = re.findall(rb"/Subject \(((?:[^\\()]|\\.)*)\)", data)
            text = re.sub(rb"\\(.)", rb"\1", found).decode()
        else:
            (found,) = ElementTree.fromstring(data).iter("{http://purl.org/dc/elements/1.1/}description")
            text = found.text
        notes = read_json(text)
        return {key: notes[key] for key in ("plots", "sources", "versions")}
    except OSError as error:
        raise InputError(f"cannot read {path}: {error.strerror or error}") from None
    except (ValueError, KeyError, TypeError, ElementTree.ParseError, ImportError):
        raise InputError(f"{path} has no settings; give a PNG, SVG or PDF file written by vitree.plot.save") from None
