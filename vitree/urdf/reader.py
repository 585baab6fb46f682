"""Reading robot files: check the text, let urdf_parser_py read the joints, make a Tree."""

from __future__ import annotations

import gc
import inspect
import os
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import IO, TypedDict, Unpack, cast

import numpy as np
from numpy.typing import ArrayLike

from vitree.arguments import Keywords, explain_calls, of_kind, path_of, real, shown, told, whole
from vitree.errors import InputError, ModelError, UnknownNameError, UrdfError
from vitree.findings import Report
from vitree.geometry.meshes import GivenMeshes, Meshes, checked_meshes
from vitree.mechanism.constraints import Coupling
from vitree.mechanism.contacts import LIMITS, Ground
from vitree.model.model import Model
from vitree.tree.tree import Tree
from vitree.urdf.build import Builder, bounds_of, moves
from vitree.urdf.checks import check_elements, check_mimics, has_xacro, listed, name_of, xacro_in
from vitree.urdf.collision import apart_of, contacts_of
from vitree.urdf.geometry import read_colours, read_shapes, read_textures
from vitree.urdf.inertials import POLICIES, settle_inertial
from vitree.urdf.joints import Joint
from vitree.urdf.layout import find_layout
from vitree.urdf.paths import Packages, Places
from vitree.urdf.schema import ONE_COORDINATE
from vitree.urdf.transmissions import NUMBERS, checked_numbers, numbers_by, rotors_of
from vitree.urdf.units import check_units
from vitree.urdf.wheels import note_wheels
from vitree.urdf.xacro import expand_xacro, is_xacro, macros_of
from vitree.urdf.xml import MAX_BYTES, MAX_DEPTH, Source
from vitree.wording import brief

CHOICES = {
    "base": ("fixed", "free", "euler"),
    "mimic": ("reduced", "constraints", "independent"),
    "loops": ("error", "constraints"),
    "inertia": POLICIES,
    "friction": ("smooth", "dry"),
    "limits": LIMITS,
    "velocity_limits": LIMITS,
}
#: A path, a text, its bytes, or an object with a ``read()``.
RobotFile = str | bytes | os.PathLike[str] | IO[bytes] | IO[str]
TOO_LARGE = "numbers in the file are too large or too small to compute with"


class UrdfOptions(TypedDict, total=False):
    """Options of :func:`load_urdf`, as other functions take them."""

    gravity: ArrayLike
    name: str | None
    mimic: str
    loops: str
    root: str | None
    inertia: str
    density: float
    friction: str
    armature: float | Mapping[str, float] | None
    ground: Ground | None
    limits: str
    limit_restitution: float | Mapping[str, float] | None
    velocity_limits: str
    meshes: GivenMeshes
    packages: Packages | None
    xacro: Mapping[str, object] | None
    trust: bool
    max_bytes: int


class Options(UrdfOptions):
    """All options of :func:`load_urdf`, checked."""

    base: str


def checked(options: Keywords) -> Options:
    """Return all options of :func:`load_urdf`; raise an InputError if one is wrong."""
    for option, choices in CHOICES.items():
        if not isinstance(value := options[option], str) or value not in choices:
            raise InputError(
                option, value,
                "is not known; choose from "
                + ", ".join(f'"{x}"' for x in choices),
                choices=choices
            )
    if not 0 < (density := real(options["density"])) < np.inf:
        raise InputError("density", options["density"], "must be a finite number above zero")
    found = {**options, "density": density} | {name: checked_numbers(name, options[name]) for name in NUMBERS}
    if found["limit_restitution"] is not None and found["limits"] != "enforce":
        text = "limit_restitution= is of limits that are enforced; give "
        raise InputError(f'{text}limits="enforce", too')
    found["meshes"] = checked_meshes(found["meshes"])
    of_kind(found["ground"], (Ground, type(None)), "ground", "a Ground, such as vt.Ground(friction=0.8), or None")
    if ((count := whole(found["max_bytes"])) or 0) < 1:
        raise InputError("max_bytes", found["max_bytes"], "must be a whole number above zero")
    found["max_bytes"] = count
    return cast("Options", found)


@explain_calls
def load_urdf(
    source: RobotFile,
    base: str = "fixed",
    *,
    gravity: ArrayLike = (0.0, 0.0, -9.81),
    name: str | None = None,
    mimic: str = "reduced",
    loops: str = "error",
    root: str | None = None,
    inertia: str = "warn",
    density: float = 1000.0,
    friction: str = "smooth",
    armature: float | Mapping[str, float] | None = None,
    ground: Ground | None = None,
    limits: str = LIMITS[0],
    limit_restitution: float | Mapping[str, float] | None = None,
    velocity_limits: str = LIMITS[0],
    meshes: GivenMeshes = "hull",
    packages: Packages | None = None,
    xacro: Mapping[str, object] | None = None,
    trust: bool = False,
    max_bytes: int = MAX_BYTES,
) -> Model:
    """Read a robot file and compile it.

    Parameters
    ----------
    source : path, str, bytes or file object
        Path of a URDF file; the text of one, if it starts with "<"; its bytes; or an object whose
        ``read()`` returns text or bytes. The encoding that a text declares does not matter.
    base : {"fixed", "free", "euler"}
        The connection of the root link to the world: a weld; a free joint called "root_joint"; or
        six one-coordinate joints, "root_joint_tx" ... "root_joint_rx".
    gravity : (3,) array [m/s^2]
    name : str, optional
        Instead of the name in the file.
    mimic : {"reduced", "constraints", "independent"}
        How to treat a joint with <mimic>, for which q = multiplier q_leader + offset. "reduced": the joint has no
        coordinate of its own, and its motion is part of its leader's (:class:`vitree.ReducedModel`).
        "constraints": it has a coordinate, which a :class:`vitree.Coupling` holds. "independent": it moves on its
        own.
    loops : {"error", "constraints"}
        How to treat a link that is the child of several joints. "error": it is an error. "constraints": it closes
        loops. The tree then keeps the first of these joints in the file; each of the others becomes
        :func:`vitree.joint_constraints` between its place in the parent and the child link.
    root : str, optional
        Name of the link that is to be the root. Joints between this link and the root of the file are
        turned round: they keep their names, and their coordinates mean the same. In a file with several
        roots ``root`` chooses one tree, and the others are left out.
    inertia : {"warn", "strict", "repair", "geometry"}
        How to treat a physically impossible inertia, or one with missing parts. "warn": an inertia that can be
        simulated is taken as it is; others are errors. "strict": all are errors. "repair": the nearest possible
        inertia is taken; missing numbers and negative masses become zero. "geometry": mass and inertia are those of
        the link's collision shapes (or of the visual ones, where the former have no volume). So it is for a link
        without inertia, or with one of zeros, too; a link without such shapes is repaired.
    density : float [kg/m^3]
        Density of the shapes, for ``inertia="geometry"``, where the file has no mass.
    friction : {"smooth", "dry"}
        How to treat the <dynamics friction=> of a joint. "smooth": as a force that is linear in slow velocities, for
        all methods. "dry": as dry friction, with which a joint stands exactly until more than that acts on it, for the
        methods "linear-time" and "midpoint" (:func:`vitree.tx` has both).
    armature : float, or mapping of str to float, optional
        Inertia of the rotors of the file's joints, times the square of their gear ratio [kg m^2, or kg of a prismatic
        joint]: a number for all joints of one coordinate, or numbers by names or patterns of names, such as
        ``{"*_knee_*": 0.1, "*": 0.01}``. The first pattern that fits a joint counts. Joints that are not given have
        that of the file: where a <transmission> of one joint says the rotor's inertia, reduction^2 times it.
    ground : Ground, optional
        The ground that the file's <collision> shapes touch, and with it each other: spheres, capsules, boxes,
        cylinders, and meshes as ``meshes`` says; but for pairs of links that the SRDF file beside the file disables
        (:func:`reference_configurations` says which that is). A mesh that cannot be read is then an error. Without a
        ground nothing touches.
    limits : {"report", "enforce", "ignore"}
        Treatment of joint limits: a run that exceeds one says so in ``traj.warnings``; enforced; or no treatment.
    limit_restitution : float, or mapping of str to float, optional
        With ``limits="enforce"`` the coefficient of restitution at joint limits, from 0, the default, to 1: a number
        for all joints, or numbers by names or patterns of names, as ``armature``.
    velocity_limits : {"report", "enforce", "ignore"}
        The same as ``limits``, of the limits of velocity; the file's limits of zero count as none
        (``tree.velocity_limits``).
    meshes : {"hull", "parts", "triangles"}, Meshes, or mapping of str to these
        How <collision> meshes touch: by their convex hulls; by convex parts, which takes seconds the first time; or, of
        links that are fixed to the world, as they are. :class:`Meshes` has options of these, and a mapping has them by
        names or patterns of names of links, as ``armature``; links that fit none have hulls. The note "contact-points"
        of the report says how far hulls and parts are from their meshes.
    packages : mapping, or paths, optional
        Packages to which the file refers: name to folder, or folders that are packages or hold packages. They come
        before the usual places (docs/files.md).
    xacro : mapping, optional
        Values of the arguments of a xacro file. A file whose name ends in .xacro, for which such values are
        given, or which has xacro in it, is expanded first, in a process of its own
        (:func:`vitree.urdf.xacro.expand_xacro`).
    trust : bool
        Let a xacro file run any Python expression and read any file. It can then do whatever you can. Also let elements
        be nested more than 100 deep.
    max_bytes : int
        Largest file that is read.

    Returns
    -------
    Model
        ``model.report`` has the findings in the file and the changes.

    Raises
    ------
    UrdfError
        If the file cannot be read or modelled; the text names file, line and element of the first
        fault, ``findings`` has all.
    InputError
        If an option is not known.
    UnknownNameError
        If there is no link ``root``, a pattern of ``armature`` or ``limit_restitution`` fits no joint, or one
        of ``meshes`` no link with a <collision> mesh.

    Notes
    -----
    A file in which a joint moves no mass loads for its kinematics; functions that need accelerations raise. Joint
    damping, friction and armature are simulated. All limits are data, too (``model.joints``). Limits of effort cut
    torques on request (``simulate(effort_limits=True)``). A joint that mimics a joint that is not in the file moves on
    its own. Coordinates are in the order of the joints, depth first and in the order of the file.

    A massless root link "world" is the world. With ``base="free"`` or "euler", if the only joint below that link is
    fixed, the root joint takes its place; if that joint is floating, it is the root joint.

    A joint that is turned round has a negated axis, and its frame is at the link that is now below it. The
    coordinates of a planar joint that is turned round are in the opposite order (theta, y, x).

    A joint that closes a loop has no coordinate, and its limits, damping and friction are left out. Its name is that of
    a frame, at its place in the parent link. Those of its equations that the rest of the mechanism implies are left
    out (:func:`vitree.independent_constraints`): in a plane loop two remain. :func:`vitree.satisfy_constraints` finds
    a configuration to start from.
    """
    return load(source, checked(Keywords(
        base=base, gravity=gravity, name=name, mimic=mimic, loops=loops, root=root, inertia=inertia, density=density,
        friction=friction, armature=armature, ground=ground, limits=limits, limit_restitution=limit_restitution,
        velocity_limits=velocity_limits, meshes=meshes, packages=packages, xacro=xacro, trust=trust,
        max_bytes=max_bytes,
    )))[1]  # fmt: skip


@contextmanager
def _no_collection() -> Iterator[None]:
    """Let Python look for no garbage: of the many objects that a large file makes nearly all stay."""
    enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if enabled:
            gc.enable()


@_no_collection()
def load(source: RobotFile, options: Options, measure: bool = False) -> tuple[Source, Model]:
    """Return the file and its model; see :func:`load_urdf`, and ``_read`` for ``measure``."""
    file, tree, joints = _read(source, options, measure)
    return file, compiled(file, tree, joints, options["mimic"] == "reduced")


def compiled(file: Source, tree: Tree, joints: Mapping[str, object], reduced: bool) -> Model:
    """Return the model of the tree of a file; ``joints`` have its lines, and ``reduced`` says whether followers go."""
    if not moves(tree):
        raise file.fail("nothing-moves", "the robot has no moving joint", file.root)
    try:
        with np.errstate(all="ignore"):
            flat = tree.flatten()
            model = Model(flat)
    except ModelError as error:
        raise file.fail("model", str(error)) from None
    except np.linalg.LinAlgError:
        raise file.fail("model", TOO_LARGE) from None
    at_neutral = None if model.singular is not None else model.singular_at(model.neutral())
    for rule, why in (("massless", model.singular), ("singular-neutral", at_neutral)):
        if why is not None:
            _, joint, *_ = why.split('"')
            file.say(rule, why, joints.get(joint, file.root))
            model = Model(replace(flat, report=file.report()))
    if reduced and any(isinstance(c, Coupling) for c in model.constraints):
        model = model.reduced()
    return model


def read_urdf(source: RobotFile, base: str = "fixed", **options: Unpack[UrdfOptions]) -> Tree:
    """Read a robot file as a Tree that can be edited; options as for :func:`load_urdf`.

    With ``mimic="reduced"`` the tree has constraints for joints that follow others; :meth:`vitree.Model.reduced` solves
    them.
    """
    return _read(source, options_of(base, options))[1]


def options_of(base: str, options: Mapping[str, object]) -> Options:
    """Return options, with the defaults of :func:`load_urdf`."""
    known = inspect.signature(load_urdf).parameters.values()
    defaults = {option.name: option.default for option in known if option.kind is option.KEYWORD_ONLY}
    unknown = set(options) - set(defaults)
    if unknown:
        raise UnknownNameError("option", sorted(unknown)[0], defaults)
    return checked({**defaults, **options, "base": base})


def check_urdf(source: RobotFile, base: str = "fixed", **options: Unpack[UrdfOptions]) -> Report:
    """Return all findings in a robot file; faults in the file raise no error.

    Beside those of :func:`load_urdf` are meshes that look as if they were in another unit, which are read for this.

    Parameters
    ----------
    source, base, **options
        As for :func:`load_urdf`, which it runs.

    Returns
    -------
    Report

    Raises
    ------
    UrdfError
        If there is no such file, or it cannot be opened.
    InputError, UnknownNameError
        As :func:`load_urdf`, for an option.
    """
    try:
        return load(source, options_of(base, options), measure=True)[1].report
    except UrdfError as error:
        if not error.findings:
            raise
        return error.findings


@_no_collection()
def _read(given: RobotFile, options: Options, measure: bool = False) -> tuple[Source, Tree, dict[str, Joint]]:
    """Return the file, its tree, and its joints by name; ``measure`` reads meshes to compare their sizes."""
    name, data, encoding, path = open_source(given, options["max_bytes"])
    places = Places(path, options["packages"])
    warnings: list[str] = []
    if options["xacro"] is not None or (path is not None and is_xacro(path)):
        if path is None:
            raise InputError("xacro= needs a file; give its path as the source")
        text = expand_xacro(
            path, packages=options["packages"], arguments=options["xacro"], notes=warnings, trust=options["trust"]
        )
        data, encoding = _encoded(text)
    deepest = sys.maxsize if options["trust"] else MAX_DEPTH
    source = partial(Source, name, max_bytes=options["max_bytes"], max_depth=deepest)
    file = source(data, encoding)
    if path is not None and options["xacro"] is None and not is_xacro(path) and has_xacro(file):
        file = source(*_encoded(_expanded(file, path, options, warnings)))
        file.say("xacro-expanded", "the file has xacro in it, which is expanded")
    for warning in warnings:
        file.say("xacro-warning", f"xacro: {warning}")
    if path is not None and "<link" not in file.text and (macros := macros_of(path)):
        text = f"there is no <link>: the file defines the xacro macros {listed(macros)}, and calls none"
        raise file.fail("no-links", text, file.root, remedy="read the file that includes it and calls them")
    links, joints = check_elements(file, options["name"])
    colours = read_colours(file)
    textures = read_textures(file)
    shapes = {key: read_shapes(file, link, colours, places, textures) for key, link in links.items()}
    inertials = {}
    if not file.errors:  # otherwise some of their texts may not be numbers
        inertials = {
            key: settle_inertial(file, key, link, shapes[key], options["inertia"], options["density"])
            for key, link in links.items()
        }
    file.stop()
    layout = find_layout(file, links, joints, options["loops"], options["root"])
    there = layout.joints()
    still = check_mimics(
        file,
        {key: joint for key, joint in joints.items() if key in there},
        layout.closing,
        "warning" if options["mimic"] == "independent" else "error",
    )
    file.stop()
    moving = [
        name for name, joint in joints.items()
        if name in there and joint.type in ONE_COORDINATE and name not in layout.closing and name not in still
    ]  # fmt: skip
    check_units(file, links, {key: joint for key, joint in joints.items() if key in there}, inertials, shapes, measure)
    note_wheels(file, {key: joint for key, joint in joints.items() if key in there}, shapes)
    rotors = rotors_of(file, joints, moving)
    file.stop()
    armature = numbers_by("armature", options["armature"], moving, rotors)
    limited = [name for name in moving if (bounds := bounds_of(joints[name])) and not np.isinf(bounds).all()]
    rebound = numbers_by("limit_restitution", options["limit_restitution"], limited, {}, "joint with limits")
    tree = Tree(options["name"] or file.root.get("name") or name_of(file), options["gravity"])
    dry = options["friction"] == "dry"
    builder = Builder(file, tree, links, joints, inertials, layout, armature, dry, rebound, still)
    try:
        with np.errstate(all="ignore"):
            builder.build(options["base"], shapes)
            if options["mimic"] != "independent":
                builder.couple()
            builder.close_loops()
    except np.linalg.LinAlgError:
        raise file.fail("model", TOO_LARGE) from None
    if options["ground"] is not None:
        placed = {link: own for link, own in shapes.items() if link in builder.places}
        contacts = contacts_of(file, links, placed, cast("Meshes | dict[str, Meshes]", options["meshes"]))
        file.stop()
        tree.contact(options["ground"], contacts, apart_of(file, contacts, path))
    tree.limits, tree.velocity_limits = options["limits"], options["velocity_limits"]
    builder.note(options["mimic"], rotors, options["limits"])
    tree.report = file.report()
    return file, tree, joints


def _expanded(file: Source, path: Path, options: Options, warnings: list[str]) -> str:
    """Return the text of a file that has xacro in it; what cannot be expanded is a finding in the file."""
    try:
        return expand_xacro(path, packages=options["packages"], notes=warnings, trust=options["trust"])
    except UrdfError as error:
        found = [node for _, node, severity in xacro_in(file) if severity == "error"]
        where = min(found, key=lambda node: getattr(node, "line", 0))
        reason = str(error).removeprefix(f"{path.name}: xacro: ").replace(os.path.join(path.parent, ""), "")
        raise file.fail("xacro", f"the xacro in it cannot be expanded: {reason}", where, remedy="") from None


# ---- the file -----------------------------------------------------------------------------------


def open_source(source: RobotFile, max_bytes: int) -> tuple[str, bytes, str | None, Path | None]:
    """Return name, bytes, encoding and path of a source; of a file that is too large only the bytes that show it."""
    if hasattr(source, "read"):
        name = getattr(source, "name", None)
        name = name if isinstance(name, str) and name else "<file>"
        path = Path(name).absolute() if os.path.isfile(name) else None
        name = name if path is None else path.name
        try:
            data = source.read(max_bytes + 1)
        except Exception as error:  # closed; text that is not in its encoding; whatever its own methods raise
            raise Source.failure(name, f"the file cannot be read: {told(error)}") from None
        return (name, *_encoded(data), path)
    if isinstance(source, bytes | bytearray) or (isinstance(source, str) and source.lstrip("\ufeff \t\r\n")[:1] == "<"):
        return ("<text>", *_encoded(source), None)
    if not isinstance(source, str | os.PathLike):
        raise InputError(f"a robot file must be a path, a text, bytes or a file object, not {shown(source)}")
    path = Path(os.path.expanduser(path_of(source, "source")))
    name = path.name or str(source)
    try:
        with open(path, "rb") as stream:
            return name, stream.read(max_bytes + 1), None, path.absolute()
    except FileNotFoundError:
        hint = "" if path.suffix else f'; for a robot by its name use load_urdf(find_robot("{brief(name)}"))'
        raise Source.failure(brief(name), f"there is no such file ({brief(path)}); check the path{hint}") from None
    except IsADirectoryError:
        raise Source.failure(name, f"this is a folder ({path}); give the path of a URDF file in it") from None
    except (OSError, ValueError) as error:
        why = getattr(error, "strerror", None) or error
        raise Source.failure(
            brief(name), f"the file cannot be read: {why}; give the path of a file, or a text that begins with <"
        ) from None


def _encoded(data: object) -> tuple[bytes, str | None]:
    """Return bytes and their encoding; None for the encoding of bytes."""
    if isinstance(data, str):
        return data.encode("utf-8", "surrogatepass"), "utf-8-sig"
    if isinstance(data, bytes | bytearray):
        return bytes(data), None
    raise InputError(f"read() of a robot file must return a text or bytes, not {data!r}")
