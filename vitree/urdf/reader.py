"""Robot files: the text checked, parsed by urdf_parser_py, and made into a Tree."""

from __future__ import annotations

import os
import threading
from collections.abc import Mapping
from dataclasses import dataclass, replace
from numbers import Integral, Real
from pathlib import Path
from typing import IO, Any
from xml.etree import ElementTree

import numpy as np
from numpy.typing import ArrayLike

from vitree.errors import InputError, ModelError, UnknownNameError, UrdfError
from vitree.findings import Report
from vitree.mechanism.constraints import Coupling
from vitree.model.model import Model
from vitree.tree.tree import Tree
from vitree.urdf.build import Builder, moves
from vitree.urdf.checks import check_elements, check_mimics
from vitree.urdf.geometry import read_colours, read_shapes
from vitree.urdf.inertials import POLICIES, settle_inertial
from vitree.urdf.layout import find_layout
from vitree.urdf.paths import Packages, Places
from vitree.urdf.schema import JOINT, USED
from vitree.urdf.xacro import expand_xacro, is_xacro
from vitree.urdf.xml import MAX_BYTES, MAX_DEPTH, Source
from vitree.wording import Argument, keyword

CHOICES = {
    "base": ("fixed", "free", "euler"),
    "mimic": ("reduced", "constraints", "independent"),
    "loops": ("error", "constraints"),
    "inertia": POLICIES,
}
#: Attributes of a joint's elements that urdf_parser_py is given.
PARSED = {
    tag: {key for key, kind in part.attributes.items() if kind.numbers or key in ("link", "joint")}
    for tag, part in JOINT.children.items()
}

#: A path, a text, its bytes, or what has a ``read()``.
RobotFile = str | bytes | os.PathLike[str] | IO[Any]
TOO_LARGE = "its numbers are too large or too small to compute with"

_parser_lock = threading.Lock()


@dataclass(frozen=True, kw_only=True)
class Options:
    """How a file is read; see :func:`load_urdf`."""

    base: str
    gravity: Any
    name: str | None
    mimic: str
    loops: str
    root: str | None
    inertia: str
    density: float
    packages: Packages | None
    xacro: Mapping[str, object] | None
    max_bytes: int
    max_depth: int

    def __post_init__(self):
        for option, choices in CHOICES.items():
            if (value := getattr(self, option)) not in choices:
                raise InputError(
                    Argument(option, value) + " is not known; choose from " + ", ".join(f'"{x}"' for x in choices),
                    choices=choices,
                )
        if not (isinstance(self.density, Real) and 0 < self.density < np.inf):
            raise InputError(Argument("density", self.density) + " must be a finite number above zero")
        for option in ("max_bytes", "max_depth"):
            if not (isinstance(value := getattr(self, option), Integral) and value > 0):
                raise InputError(Argument(option, value) + " must be a whole number above zero")


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
    packages: Packages | None = None,
    xacro: Mapping[str, object] | None = None,
    max_bytes: int = MAX_BYTES,
    max_depth: int = MAX_DEPTH,
) -> Model:
    """Read a robot file and compile it.

    Parameters
    ----------
    source : path, str, bytes or file object
        Path of a URDF file; the text of one, if it starts with "<"; its bytes; or what has a
        ``read()`` that returns one of these. Text is taken as text whatever encoding it declares.
    base : {"fixed", "free", "euler"}
        How the root link hangs on the world: welded; by a free joint called "root_joint"; or by
        six one-coordinate joints, "root_joint_tx" ... "root_joint_rx".
    gravity : (3,) array [m/s^2]
    name : str, optional
        Instead of the name in the file.
    mimic : {"reduced", "constraints", "independent"}
        What a joint with <mimic> does, by which q = multiplier q_leader + offset. "reduced": it has no
        coordinate of its own, and its motion is part of its leader's (:class:`vitree.ReducedModel`).
        "constraints": it has one, held by a :class:`vitree.Coupling`. "independent": it moves on its own.
    loops : {"error", "constraints"}
        What a link that is the child of several joints is: an error; or the end of a loop. The tree
        then keeps the first of its joints in the file, and each further one becomes the
        :func:`vitree.joint_constraints` between its place in the parent and the child link.
    root : str, optional
        Name of the link that is to be the root. Joints on the way to it from the root of the file are
        turned round: they keep their names, and their coordinates mean the same. In a file of several
        roots this chooses the tree, and the others are left out.
    inertia : {"warn", "strict", "repair", "geometry"}
        What is done where no body has the inertia that the file says, or part of it is missing.
        "warn": what can be simulated is taken as it is, the rest is an error. "strict": all is an
        error. "repair": the nearest inertia of a body is taken, zero for what is missing and for a
        negative mass. "geometry": mass and inertia are those of the link's collision shapes (or
        visual ones, where these have no volume), also where a link has none; else as "repair".
    density : float [kg/m^3]
        Of shapes, for ``inertia="geometry"``, where the file says no mass.
    packages : mapping, or paths, optional
        Where packages are that the file refers to: name to folder, or folders that are packages or
        hold some; beside where they are looked for anyway (docs/files.md).
    xacro : mapping, optional
        Values of the arguments of a xacro file. A file whose name ends in .xacro, or for which they are
        given, is expanded first: it is a program, to be run only if it is trusted.
    max_bytes, max_depth : int
        Largest file, and deepest nesting of elements, that are read.

    Returns
    -------
    Model
        ``model.report`` says what was found in the file, and what was changed.

    Raises
    ------
    UrdfError
        If the file cannot be read or modelled; the text names file, line and element of the first
        fault, ``findings`` has all.
    InputError
        If an option is not known.
    UnknownNameError
        If there is no link ``root``.

    Notes
    -----
    A file in which a joint moves no mass loads for its kinematics; what needs its accelerations
    raises. Joint damping and friction are simulated. Limits are kept as data (``model.joints``), and
    efforts cut torque if asked for (``simulate(effort_limits=True)``). A joint that mimics one that is not
    in the file moves on its own. Coordinates follow the joints depth first, in the order of the file.

    A massless root link "world" is the world. With ``base="free"`` or "euler" the root joint takes the
    place of the fixed joint below it, if that is the only one; and none is added if that is floating.

    A joint that is turned round has its axis negated, and its frame is where it holds the link below
    it. The coordinates of a planar one are in the opposite order (theta, y, x).

    A joint that closes a loop has no coordinate, and its limits, damping and friction are left out; its
    name is that of a frame, its place in the parent link. Of its equations those are left out that the
    rest of the mechanism implies (:func:`vitree.independent_constraints`): of a plane loop all but two.
    A start comes from :func:`vitree.satisfy_constraints`.
    """
    return load(source, Options(
        base=base, gravity=gravity, name=name, mimic=mimic, loops=loops, root=root, inertia=inertia, density=density,
        packages=packages, xacro=xacro, max_bytes=max_bytes, max_depth=max_depth,
    ))[1]  # fmt: skip


def load(source, options: Options) -> tuple[Source, Model]:
    """Return a file as it was read, and its model; see :func:`load_urdf`."""
    file, tree, joints = _read(source, options)
    if not moves(tree):
        raise file.fail("nothing-moves", "nothing moves: it has no moving joint", file.root)
    try:
        with np.errstate(all="ignore"):
            flat = tree.flatten()
            finite = all(np.isfinite(x).all() for x in vars(flat).values() if isinstance(x, np.ndarray))
            model = Model(flat) if finite else None
    except ModelError as error:
        raise file.fail("model", str(error)) from None
    except np.linalg.LinAlgError:
        model = None
    if model is None:
        raise file.fail("model", TOO_LARGE)
    if model.singular is not None:
        _, joint, *_ = model.singular.split('"')
        file.say("massless", model.singular, joints.get(joint, file.root))
        model = Model(replace(flat, report=file.report()))
    if options.mimic == "reduced" and any(isinstance(c, Coupling) for c in model.constraints):
        model = model.reduced()
    return file, model


def read_urdf(source: RobotFile, base: str = "fixed", **options: Any) -> Tree:
    """Read a robot file as a Tree that can be edited; options as for :func:`load_urdf`.

    With ``mimic="reduced"`` joints that follow others do so by constraints of the tree, which
    :meth:`vitree.Model.reduced` solves for them.
    """
    return _read(source, options_of(base, options))[1]


def options_of(base: str, options: dict[str, Any]) -> Options:
    """Options with the defaults of :func:`load_urdf`."""
    defaults = load_urdf.__kwdefaults__ or {}
    unknown = set(options) - set(defaults)
    if unknown:
        raise UnknownNameError("option", sorted(unknown)[0], defaults)
    return Options(base=base, **(defaults | options))


def check_urdf(source: RobotFile, base: str = "fixed", **options: Any) -> Report:
    """Return all that is found in a robot file, without raising for its faults.

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
        return load(source, options_of(base, options))[1].report
    except UrdfError as error:
        if not error.findings:
            raise
        return error.findings


def _read(source, options: Options) -> tuple[Source, Tree, dict]:
    """Return the file, its tree, and its <joint>s by name."""
    name, data, encoding, path = _open(source, options.max_bytes)
    places = Places(path, options.packages)
    said: list[str] = []
    if options.xacro is not None or (path is not None and is_xacro(path)):
        if path is None:
            raise InputError(keyword("xacro") + " is for a file: give its path")
        text = expand_xacro(path, packages=options.packages, arguments=options.xacro, notes=said)
        data, encoding = _encoded(text)
    file = Source(name, data, encoding, max_bytes=options.max_bytes, max_depth=options.max_depth)
    for warning in said:
        file.say("xacro-warning", f"xacro: {warning}")
    links, joints = check_elements(file, options.name)
    colours = read_colours(file)
    shapes = {key: read_shapes(file, link, colours, places) for key, link in links.items()}
    inertials = {}
    if not file.errors:  # else their numbers may be none
        inertials = {
            key: settle_inertial(file, key, link, shapes[key], options.inertia, options.density)
            for key, link in links.items()
        }
    file.stop()
    layout = find_layout(file, links, joints, options.loops, options.root)
    there = layout.joints()
    check_mimics(
        file,
        {key: joint for key, joint in joints.items() if key in there},
        layout.closing,
        "warning" if options.mimic == "independent" else "error",
    )
    file.stop()
    robot = _parse(file, inertials, joints)
    tree = Tree(options.name or file.root.get("name") or "", options.gravity)
    builder = Builder(file, tree, links, joints, robot, layout)
    try:
        with np.errstate(all="ignore"):
            builder.build(options.base, shapes)
            if options.mimic != "independent":
                builder.couple()
            builder.close_loops()
    except np.linalg.LinAlgError:
        raise file.fail("model", TOO_LARGE) from None
    builder.note(options.mimic)
    tree.report = file.report()
    return file, tree, joints


# ---- the file -----------------------------------------------------------------------------------


def _open(source, max_bytes: int) -> tuple[str, bytes, str | None, Path | None]:
    """Return what to call a source, its bytes (no more than one too many), their encoding, and its path."""
    if hasattr(source, "read"):
        name = getattr(source, "name", None)
        name = name if isinstance(name, str) and name else "<file>"
        path = Path(name).absolute() if os.path.isfile(name) else None
        name = name if path is None else path.name
        try:
            data = source.read(max_bytes + 1)
        except (OSError, ValueError) as error:  # closed; text that is not in its encoding
            raise Source.failure(name, f"it cannot be read: {error}") from None
        return (name, *_encoded(data), path)
    if isinstance(source, bytes | bytearray) or (isinstance(source, str) and source.lstrip("\ufeff \t\r\n")[:1] == "<"):
        return ("<text>", *_encoded(source), None)
    if not isinstance(source, str | os.PathLike):
        raise InputError(
            f"a robot file is given by its path, its text, its bytes or a file object, not by {source!r}"
        )
    path = Path(os.path.expanduser(source))
    name = path.name or str(source)
    try:
        with open(path, "rb") as stream:
            return name, stream.read(max_bytes + 1), None, path.absolute()
    except FileNotFoundError:
        hint = "" if path.suffix else f'; for a robot by its name use load_urdf(find_robot("{name}"))'
        raise Source.failure(name, f"there is no such file ({path}); check the path{hint}") from None
    except IsADirectoryError:
        raise Source.failure(name, f"it is a directory ({path}); give the path of a URDF file in it") from None
    except (OSError, ValueError) as error:
        raise Source.failure(name, f"it cannot be read: {error}") from None


def _encoded(data) -> tuple[bytes, str | None]:
    """Return bytes, and the encoding of what was a text."""
    if isinstance(data, str):
        return data.encode("utf-8", "surrogatepass"), "utf-8-sig"
    if isinstance(data, bytes | bytearray):
        return bytes(data), None
    raise InputError(f"read() of a robot file must return a text or bytes, not {data!r}")


def _parse(file: Source, inertials, joints):
    """Let urdf_parser_py read what is kinematics and inertia; return its robot.

    Other content is kept from it, since it fails on much that is found in files; so is its habit
    of writing to stderr. Links and joints are given to it one by one: many at once take it long.
    """
    from urdf_parser_py import urdf
    from urdf_parser_py.xml_reflection import core

    robot = urdf.Robot(name=file.root.get("name") or "robot")
    complaints: list[str] = []
    with _parser_lock:
        usual, core.on_error = core.on_error, complaints.append
        try:
            for name, inertial in inertials.items():
                robot.add_link(urdf.Link.from_xml(_clean_link(name, inertial), core.Path("link")))
            for name, joint in joints.items():
                robot.add_joint(urdf.Joint.from_xml(_clean_joint(name, joint), core.Path("joint")))
        except Exception as error:
            complaints.append(str(error))
        finally:
            core.on_error = usual
    for complaint in complaints:
        file.say("parser", f"urdf_parser_py: {complaint}")
    file.stop()
    return robot


def _clean_link(name: str, inertial) -> ElementTree.Element:
    node = ElementTree.Element("link", name=name)
    if inertial is not None:
        copy = ElementTree.SubElement(node, "inertial")
        for tag, attributes in inertial.items():
            ElementTree.SubElement(copy, tag, attributes)
    return node


def _clean_joint(name: str, joint) -> ElementTree.Element:
    kind = joint.get("type")
    node = ElementTree.Element("joint", name=name, type=kind)
    for tag in USED[kind]:
        part = joint.find(tag)
        if part is None or (tag == "mimic" and not part.get("joint")):
            continue
        attributes = {key: value for key, value in part.items() if key in PARSED[tag]}
        if tag == "limit":  # the parser insists on these two
            attributes = {"velocity": "inf", "effort": "inf"} | attributes
        ElementTree.SubElement(node, tag, attributes)
    return node
