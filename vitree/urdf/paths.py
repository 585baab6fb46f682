"""Where the meshes of a robot file are."""

from __future__ import annotations

import os
from pathlib import Path
from urllib.parse import unquote, urlsplit


def resolve(reference: str, robot: Path | None) -> str:
    """Return the path of a mesh, or the reference as it is where no file is found.

    Parameters
    ----------
    reference : str
        "package://name/rest", "file:///path", or a path, relative ones to the robot file.
    robot : Path or None
        The robot file; a package is a folder of its name above it, beside one above it, or in
        ROS_PACKAGE_PATH or AMENT_PREFIX_PATH.
    """
    scheme, _, rest = reference.partition("://")
    if not rest:
        places = [robot.parent / reference] if robot is not None else [Path(reference)]
    elif scheme == "file":
        places = [Path(unquote(urlsplit(reference).path))]
    elif scheme in ("package", "model"):
        package, _, inside = rest.partition("/")
        places = [folder / inside for folder in _packages(package, robot)]
    else:
        places = []
    return next((str(place) for place in places if place.is_file()), reference)


def _packages(name: str, robot: Path | None):
    above = list(robot.parents) if robot is not None else []
    yield from (folder for folder in above if folder.name == name)
    yield from (folder / name for folder in above)
    for variable, inside in (("ROS_PACKAGE_PATH", ""), ("AMENT_PREFIX_PATH", "share")):
        for entry in filter(None, os.environ.get(variable, "").split(os.pathsep)):
            yield Path(entry) / inside / name
            if Path(entry).name == name:
                yield Path(entry)
