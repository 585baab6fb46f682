"""Robots by name: files of this project, and those of the package example-robot-data."""

from __future__ import annotations

import difflib
import os
import sys
import xml.etree.ElementTree as ElementTree
from importlib import metadata, resources
from pathlib import Path

from vitree.errors import MissingExtraError, UnknownNameError, UrdfError

PACKAGE = "example-robot-data"

#: Short names beside the files' own stems: the file that example_robot_data.load(name) opens
#: (github.com/Gepetto/example-robot-data, robots_loader.py), as folder/stem. So "talos" is the
#: reduced robot (32 joints, hands closed); "talos_full" has the joints of the hands, too.
#: "ur3" is the UR3 (that loader opens the UR5); names without a loader there are ours.
ALIASES = {
    "alexander": "alexander_description/alexander_v1.lowerBodyOnly",
    "anymal": "anymal_b_simple_description/anymal",
    "anymal_b": "anymal_b_simple_description/anymal",
    "anymal_c": "anymal_c_simple_description/anymal",
    "asr_twodof": "asr_twodof_description/TwoDofs",
    "borinot": "borinot_description/borinot_flying_arm_2",
    "g1": "g1_description/g1_29dof_rev_1_0",
    "g1_29dof": "g1_description/g1_29dof_rev_1_0",
    "g1_29dof_with_hand": "g1_description/g1_29dof_with_hand_rev_1_0",
    "hector": "hector_description/quadrotor_base",
    "hextilt": "hextilt_description/hextilt_flying_arm_5",
    "hyq": "hyq_description/hyq_no_sensors",
    "iris": "iris_description/iris_simple",
    "solo8": "solo_description/solo",
    "talos": "talos_data/talos_reduced",
    "talos_arm": "talos_data/talos_left_arm",
    "talos_box": "talos_data/talos_reduced_box",
    "talos_full": "talos_data/talos_full_v2",
    "talos_full_box": "talos_data/talos_full_v2_box",
    "ur10": "ur_description/ur10_robot",
    "ur10_limited": "ur_description/ur10_joint_limited_robot",
    "ur3": "ur_description/ur3_robot",
    "ur3_limited": "ur_description/ur3_joint_limited_robot",
    "ur5": "ur_description/ur5_robot",
    "ur5_limited": "ur_description/ur5_joint_limited_robot",
}

#: Robots that the rule of :func:`suggest_base` would take for the other kind.
BASES = {
    "allegro_left_hand": "fixed",
    "allegro_right_hand": "fixed",
    "baxter": "fixed",
    "borinot_flying_arm_2": "free",
    "hextilt_flying_arm_5": "free",
    "iris": "free",
    "tiago_dual": "fixed",
}


def own_robots() -> dict[str, Path]:
    """Return the robots that ship with vitree, name to file."""
    try:
        folder = Path(str(resources.files("vitree.own_robots")))
    except ModuleNotFoundError:  # run from a source tree
        folder = Path(__file__).parent.parent / "urdf"
    return {path.stem: path for path in sorted(folder.glob("*.urdf"))}


def example_robots() -> dict[str, Path]:
    """Return the robots of the package example-robot-data, "folder/stem" to file; {} without it."""
    folder = _example_folder()
    if folder is None:
        return {}
    files = sorted(folder.glob("*/*/*.urdf"))
    return {f"{path.parent.parent.name}/{path.stem}": path for path in files}


def _example_folder() -> Path | None:
    inside = Path("share", PACKAGE, "robots")
    places = [Path(sys.prefix) / inside]  # conda
    places += [Path(entry) / "cmeel.prefix" / inside for entry in sys.path if entry]  # wheels
    try:
        place = metadata.distribution(PACKAGE).locate_file("cmeel.prefix")
        places.insert(0, Path(str(place)) / inside)
    except metadata.PackageNotFoundError:
        pass
    return next((place for place in places if place.is_dir()), None)


def list_robots() -> dict[str, Path]:
    """Return every robot that :func:`find_robot` knows, name to file; our own come first.

    A name is a file's stem or a short name; where several files share a stem, or a short name
    hides one, "folder/stem" names it.
    """
    robots = own_robots()
    examples = example_robots()
    names = {alias: examples[full] for alias, full in ALIASES.items() if full in examples}
    stems = [path.stem for path in examples.values()]
    for full, path in examples.items():
        taken = path.stem in robots or names.get(path.stem, path) != path
        names[full if taken or stems.count(path.stem) > 1 else path.stem] = path
    return robots | {name: names[name] for name in sorted(names) if name not in robots}


def find_robot(name: str | os.PathLike) -> Path:
    """Return the URDF file of a robot.

    Parameters
    ----------
    name : str or path
        A path to a file; or the name of one of our own robots; or a name from the package
        example-robot-data: a file's stem, "folder/stem", or a short name such as "talos". Case
        does not matter in names, nor do - and _.

    Raises
    ------
    UnknownNameError
        If there is no such robot.
    MissingExtraError
        If it is not ours and the package example-robot-data is not installed.
    UrdfError
        If the name is plainly a path, and no file is there.
    """
    path = Path(name).expanduser()
    if path.is_file():
        return path
    robots = list_robots()
    known = {_key(full): file for full, file in example_robots().items()}
    known |= {_key(short): file for short, file in robots.items()}
    if _key(name) in known:
        return known[_key(name)]
    if path.is_dir():
        raise UrdfError(f"{path} is a directory; give the path of a URDF file in it")
    if path.suffix.lower() in (".urdf", ".xml", ".xacro") or path.is_absolute():
        raise UrdfError(f"there is no file {path}; give the path of a URDF file or a robot's name")
    if _example_folder() is None and not difflib.get_close_matches(_key(name), known, n=1):
        raise MissingExtraError(PACKAGE, "robots", f'a robot named "{name}"')
    raise UnknownNameError("robot", name, robots)


def _key(name: str | os.PathLike) -> str:
    return str(name).casefold().replace("-", "_").replace(" ", "_")


def suggest_base(path: str | os.PathLike) -> str:
    """Say whether a robot is one that moves about ("free") or is bolted down ("fixed").

    Free is a robot with two or more limbs of two or more joints each on its root link (legs),
    and one without any joint; fixed is every other, and one whose root link is called "world".
    A few are known by name (``BASES``).
    """
    path = Path(path)
    if path.stem in BASES:
        return BASES[path.stem]
    try:
        root = ElementTree.parse(path).getroot()
    except (OSError, ElementTree.ParseError, ValueError, LookupError):
        return "fixed"  # the reader will say what is wrong with the file
    below: dict[str | None, list[tuple[str | None, bool]]] = {}
    children = set()
    for joint in root.findall("joint"):
        parent, child = joint.find("parent"), joint.find("child")
        if parent is not None and child is not None and child.get("link") not in children:
            moving = joint.get("type") != "fixed"
            below.setdefault(parent.get("link"), []).append((child.get("link"), moving))
            children.add(child.get("link"))
    roots = [link.get("name") for link in root.findall("link") if link.get("name") not in children]
    if roots == ["world"]:
        return "fixed"

    def limbs(link: str | None, depth: int = 0) -> list[int]:  # joints of each limb on a link
        sizes: list[int] = []
        for child, moving in below.get(link, []) if depth <= len(children) else []:
            found = limbs(child, depth + 1)
            sizes += [1 + sum(found)] if moving else found
        return sizes

    sizes = [size for link in roots for size in limbs(link)]
    return "free" if not sizes or sum(size >= 2 for size in sizes) >= 2 else "fixed"
