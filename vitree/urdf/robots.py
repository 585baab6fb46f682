"""Robots by name: those of vitree, of example-robot-data, and of robot_descriptions, which fetches them."""

from __future__ import annotations

import contextlib
import difflib
import io
import os
import sys
import textwrap
import threading
import xml.etree.ElementTree as ElementTree
from importlib import import_module, metadata, resources
from pathlib import Path
from types import ModuleType

from vitree.arguments import path_of, shown
from vitree.errors import InputError, MissingExtraError, UnknownNameError, UrdfError, VitreeError
from vitree.urdf.checks import has_xacro
from vitree.urdf.paths import Places
from vitree.urdf.xacro import expand, expand_xacro, is_xacro
from vitree.urdf.xml import Source
from vitree.wording import brief
from vitree.writing import write_text

PACKAGE = "example-robot-data"
DESCRIPTIONS = "robot_descriptions"

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
        folder = Path(__file__).parents[2] / "urdf"
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


def installed_folders() -> list[Path]:
    """Return the folders of robots that are installed, or that robot_descriptions has fetched."""
    cache = os.environ.get("ROBOT_DESCRIPTIONS_CACHE", "~/.cache/robot_descriptions")
    folders = (_example_folder(), Path(os.path.expanduser(cache)))
    return [folder for folder in folders if folder is not None and folder.is_dir()]


def list_robots() -> dict[str, Path]:
    """Return every robot whose file is on this computer, name to file; those of vitree come first.

    A name is the stem of a file or a short name. Where several files share a stem, or a short name hides a stem,
    "folder/stem" is the name.
    """
    robots = own_robots()
    examples = example_robots()
    names = {alias: examples[full] for alias, full in ALIASES.items() if full in examples}
    stems = [path.stem for path in examples.values()]
    for full, path in examples.items():
        taken = path.stem in robots or names.get(path.stem, path) != path
        names[full if taken or stems.count(path.stem) > 1 else path.stem] = path
    return robots | {name: names[name] for name in sorted(names) if name not in robots}


def list_descriptions() -> list[str]:
    """Return the names of the URDF robots of the package robot_descriptions; [] without it.

    Nothing is fetched.
    """
    try:
        table = import_module(DESCRIPTIONS).DESCRIPTIONS
    except ImportError:
        return []
    return sorted(name for name, description in table.items() if description.has_urdf)


def find_robot(name: str | os.PathLike[str]) -> Path:
    """Return the robot file of a robot.

    Parameters
    ----------
    name : str or path
        A path to a file, URDF or xacro; or the name of one of our own robots; or a name from the
        package example-robot-data: a file's stem, "folder/stem", or a short name such as "talos";
        or a name from the package robot_descriptions, such as "cassie_description", in short
        "cassie" where that is no other robot. Case does not matter in names, nor do - and _.

    Raises
    ------
    InputError
        If the name is neither a text nor a path.
    UnknownNameError
        If there is no such robot.
    MissingExtraError
        If it is not ours and the package that may have it is not installed.
    UrdfError
        If the name is plainly a path, and no file is there; or if the robot cannot be fetched.

    Notes
    -----
    The first use of a robot of robot_descriptions clones its git repository into that package's
    cache, ROBOT_DESCRIPTIONS_CACHE or ~/.cache/robot_descriptions. A robot that is there as xacro is
    expanded (:func:`vitree.urdf.xacro.expand_xacro`) with the arguments the package has for it, into
    a file beside the xacro file. It is trusted as the package is, whose modules name the commit to clone.
    """
    if not isinstance(name, str | os.PathLike):
        raise InputError(f"a robot must be a name or a path, not {shown(name)}")
    path = Path(os.path.expanduser(name if isinstance(name, str) else path_of(name, "name")))
    if os.path.isfile(path):
        return path
    robots = list_robots()
    known = {_key(full): file for full, file in example_robots().items()}
    known |= {_key(short): file for short, file in robots.items()}
    if _key(name) in known:
        return known[_key(name)]
    described = list_descriptions()
    for full in (_key(name), f"{_key(name)}_description"):
        if full in described and _key(name) not in ALIASES:
            return _fetch(full)
    if os.path.isdir(path):
        raise UrdfError(f"{brief(path)} is a folder; give the path of a URDF file in it")
    if path.suffix.lower() in (".urdf", ".xml", ".xacro") or path.is_absolute():
        raise UrdfError(f"there is no file {brief(path)}; give the path of a robot file, or a robot's name")
    if not described and _key(name).endswith("_description"):
        raise MissingExtraError(DESCRIPTIONS, "descriptions", f'a robot named "{brief(name)}"')
    known |= dict.fromkeys(map(_key, described), path)
    if _example_folder() is None and not difflib.get_close_matches(_key(name), known, n=1):
        raise MissingExtraError(PACKAGE, "robots", f'a robot named "{brief(name)}"')
    raise UnknownNameError("robot", name, [*robots, *described])


_fetching = threading.Lock()


def _fetch(name: str) -> Path:
    """The file of a robot of robot_descriptions, whose modules fetch when they are imported."""
    said = io.StringIO()
    asks = os.environ.get("GIT_TERMINAL_PROMPT")
    with _fetching, contextlib.redirect_stdout(said), contextlib.redirect_stderr(said):
        os.environ["GIT_TERMINAL_PROMPT"] = "0"  # a repository that is gone must not ask for a password
        try:
            module = import_module(f"{DESCRIPTIONS}.{name}")
        except Exception as error:
            reason = textwrap.shorten(str(error), 300) or type(error).__name__
            raise UrdfError(
                f'the robot "{name}" cannot be fetched: {reason}; with git and a network '
                f'"python -m {DESCRIPTIONS} pull {name}" fetches it into the folder '
                "ROBOT_DESCRIPTIONS_CACHE (~/.cache/robot_descriptions)"
            ) from error
        finally:
            os.environ.pop("GIT_TERMINAL_PROMPT") if asks is None else os.environ.update(GIT_TERMINAL_PROMPT=asks)
    file = getattr(module, "URDF_PATH", None) or getattr(module, "XACRO_PATH", None)
    if file is None or not os.path.isfile(file):
        raise UrdfError(f'the robot "{name}" of {DESCRIPTIONS} has no URDF file ({file})')
    return Path(file) if hasattr(module, "URDF_PATH") else _expanded(name, module)


def _expanded(name: str, module: ModuleType) -> Path:
    """The URDF file of a robot that robot_descriptions has as xacro."""
    path = Path(module.XACRO_PATH)
    places = Places(path, getattr(module, "XACRO_PACKAGE_PATHS", None))
    text, _, _ = expand(path, places, getattr(module, "XACRO_ARGS", {}), trust=True)
    file = path.with_name(f"{name}.vitree.urdf")  # its meshes are found from there
    try:
        write_text(file, text)
    except InputError as error:
        raise UrdfError(f'the robot "{name}" is a xacro file that cannot be expanded: {error}') from None
    return file


def _key(name: str | os.PathLike[str]) -> str:
    return str(name).casefold().replace("-", "_").replace(" ", "_")


def suggest_base(path: str | os.PathLike[str], trust: bool = False, inertia: str = "warn") -> str:
    """Return "free" for a robot that moves about, and "fixed" for one that is bolted down; trust as for xacro.

    A robot is free if its root link has two or more limbs of two or more joints each (legs), or no joint at all. Every
    other robot is fixed, and so is one whose root link is called "world", or has no mass: it cannot float. With the
    ``inertia`` "geometry" shapes have a mass. ``BASES`` has the exceptions by name.
    """
    path = Path(path)
    if path.stem in BASES:
        return BASES[path.stem]
    try:
        file = Source(path.name, expand_xacro(path, trust=trust).encode() if is_xacro(path) else path.read_bytes())
        if has_xacro(file) and not is_xacro(path):
            file = Source(path.name, expand_xacro(path, trust=trust).encode())
        root = file.root
    except (OSError, ValueError, VitreeError):
        return "fixed"  # the reader will report the fault of the file
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
    massive = {link.get("name") for link in root.findall("link") if _has_mass(link, inertia == "geometry")}
    # root to leaves: the moving joints of each limb, counted where it leaves the root's body
    limbs: list[int] = []
    rooted: set[str | None] = set()
    stack: list[tuple[str | None, int | None]] = [(name, None) for name in roots]
    while stack:
        name, limb = stack.pop()
        if limb is None:
            rooted.add(name)
        for end, moving in below.get(name, []):
            here = limb
            if moving and limb is None:
                here = len(limbs)
                limbs.append(0)
            if here is not None:
                limbs[here] += moving
            stack.append((end, here))
    legged = sum(size >= 2 for size in limbs) >= 2
    return "free" if not limbs or (legged and rooted & massive) else "fixed"


def _has_mass(link: ElementTree.Element, shapes: bool) -> bool:
    """Whether a link has a mass, also by its shapes if they have one; what is no number counts: readers report it."""
    if shapes and any(link.find(tag) is not None for tag in ("collision", "visual")):
        return True
    mass = link.find("inertial/mass")
    if mass is None:
        return False
    try:
        return float(str(mass.get("value"))) != 0
    except ValueError:
        return True
