"""Reading SDF files: check the text, resolve frames and includes, make a Tree."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import TYPE_CHECKING, TypedDict, Unpack, cast

import numpy as np
from numpy.typing import ArrayLike

from vitree.errors import InputError, SdfError, UnknownNameError, UrdfError
from vitree.geometry.meshes import GivenMeshes, Meshes
from vitree.mechanism.contacts import Ground
from vitree.mjcf.files import root_element
from vitree.model.model import Model
from vitree.sdf.build import Builder, coordinates, has_limits
from vitree.sdf.contacts import contacts_of
from vitree.sdf.document import WORLD, Document, Scope, words
from vitree.sdf.frames import Frames
from vitree.sdf.joints import Joint, read_joint
from vitree.sdf.links import Link, read_link
from vitree.sdf.rules import RULES
from vitree.tree.attach import ROOT_JOINT
from vitree.tree.tree import Tree
from vitree.urdf.checks import listed
from vitree.urdf.layout import Layout, find_layout
from vitree.urdf.paths import Packages
from vitree.urdf.reader import TOO_LARGE, RobotFile, compiled, open_source, options_of
from vitree.urdf.transmissions import numbers_by
from vitree.urdf.xml import Node, Source, shown

if TYPE_CHECKING:
    from vitree.findings import Report

BASES = ("auto", "free", "fixed")
#: Gravity of a world that gives none, as the format has it [m/s^2].
GRAVITY = (0.0, 0.0, -9.8)
#: Options of :func:`load_sdf` that are not those of :func:`load_urdf`, or have other defaults.
_OWN = {"gravity": None, "contacts": True, "limits": "enforce"}
_AS_URDF = ("name", "ground", "limit_restitution", "velocity_limits", "friction", "inertia", "density", "armature",
            "meshes", "packages", "max_bytes")  # fmt: skip


class SdfOptions(TypedDict, total=False):
    """Options of :func:`load_sdf`, as other functions take them."""

    gravity: ArrayLike | None
    name: str | None
    contacts: bool
    ground: Ground | None
    limits: str
    limit_restitution: float | Mapping[str, float] | None
    velocity_limits: str
    friction: str
    inertia: str
    density: float
    armature: float | Mapping[str, float] | None
    meshes: GivenMeshes
    packages: Packages | None
    max_bytes: int


class _Options(SdfOptions):
    """The same, checked."""

    base: str


def is_sdf(path: str | os.PathLike[str]) -> bool:
    """Return whether a file is SDF: its root element is <sdf>, or <gazebo> of the first versions."""
    return root_element(path) in ("sdf", "gazebo")


def load_sdf(source: RobotFile, base: str = "auto", **options: Unpack[SdfOptions]) -> Model:
    """Read a model or a world in SDFormat, the format of Gazebo, and compile it.

    Parameters
    ----------
    source : path, str, bytes or file object
        Path of an SDF file; the text of one, if it starts with "<"; its bytes; or an object whose ``read()`` returns
        text or bytes.
    base : {"auto", "free", "fixed"}
        How links that no joint carries stand in the world. "auto": as in the file, where they float unless their model
        is static. "free": so do links that a fixed joint connects to the world. "fixed": none floats.
    **options
        ``gravity`` (3,) [m/s^2] in place of that of the world in the file, whose default is (0, 0, -9.8). ``contacts``:
        whether <collision> shapes touch planes and each other (True). ``ground``: a :class:`Ground` in place of the
        planes of the file. ``limits``: {"enforce", "report", "ignore"}, as of :func:`from_mujoco`. ``name``,
        ``limit_restitution``, ``velocity_limits``, ``friction``, ``inertia``, ``density``, ``armature``, ``meshes``,
        ``packages``, ``max_bytes``: as of :func:`load_urdf`.

    Returns
    -------
    Model
        ``model.report`` has the findings in the file, and what was not taken; ``model.start`` is where the file has its
        models.

    Raises
    ------
    SdfError
        If the file cannot be read or modelled; the text names file, line and element of the first fault, ``findings``
        has all.
    InputError, UnknownNameError
        If an option is wrong or not known, a pattern of ``armature`` or ``limit_restitution`` fits no joint, or one of
        ``meshes`` no link with a mesh that touches.

    Notes
    -----
    Versions 1.0 to 1.12 are read. The joint "elbow" of a model "arm" in a world or in another model is "arm::elbow";
    links and frames have such names, too. Joints with two axes have the coordinates "elbow_1" and "elbow_2". The tree
    keeps the first joint to each link, in the order of the file; the others become constraints.

    References
    ----------
    http://sdformat.org/spec
    """
    given = _checked(base, options)
    file, tree, joints = _read(source, given, alone=True)
    return compiled(file, tree, joints, True)


def read_sdf(source: RobotFile, base: str = "auto", **options: Unpack[SdfOptions]) -> Tree:
    """Read an SDF file as a Tree that can be edited; arguments and errors as of :func:`load_sdf`.

    The tree has constraints for joints that follow others; :meth:`vitree.Model.reduced` solves them.
    """
    return _read(source, _checked(base, options), alone=True)[1]


def read_part(source: RobotFile, base: str = "auto", **options: Unpack[SdfOptions]) -> Tree:
    """The same as a part of a world: shapes have contacts also where they meet nothing of the file."""
    return _read(source, _checked(base, options), alone=False)[1]


def check_sdf(source: RobotFile, base: str = "auto", **options: Unpack[SdfOptions]) -> Report:
    """Return all findings in an SDF file; faults in the file raise no error.

    Parameters
    ----------
    source, base, **options
        As for :func:`load_sdf`, which it runs.

    Returns
    -------
    Report

    Raises
    ------
    SdfError
        If there is no such file, or it cannot be opened.
    InputError, UnknownNameError
        As :func:`load_sdf`, for an option.
    """
    try:
        return load_sdf(source, base, **options).report
    except SdfError as error:
        if not error.findings:
            raise
        return error.findings


def _checked(base: str, options: Mapping[str, object]) -> _Options:
    """Return all options; raise an InputError if one is wrong."""
    known = (*_OWN, *_AS_URDF)
    for option in options:
        if option not in known:
            raise UnknownNameError("option", option, known, argument=option)
    if not isinstance(base, str) or base not in BASES:
        words_ = ", ".join(f'"{word}"' for word in BASES)
        raise InputError("base", base, f"is not known; choose from {words_}", choices=BASES)
    given = {**_OWN, **options}
    if not isinstance(given["contacts"], bool):
        raise InputError("contacts", given["contacts"], "must be True or False")
    own = options_of("fixed", {key: value for key, value in given.items() if key in (*_AS_URDF, "limits")})
    found = {key: value for key, value in own.items() if key in (*_AS_URDF, "limits")}
    return cast("_Options", {**given, **found, "base": base})


def _read(source: RobotFile, options: _Options, alone: bool) -> tuple[Source, Tree, dict[str, Joint]]:
    """Return the file, its tree, and its joints by name."""
    try:
        name, data, encoding, path = open_source(source, options["max_bytes"])
    except UrdfError as error:
        raise SdfError(str(error.args[0]), error.findings) from None
    file = Source(name, data, encoding, max_bytes=options["max_bytes"], known=None,
                  rules=RULES, error=SdfError)  # fmt: skip
    document = Document(file, path, options["packages"], options["max_bytes"])
    file.stop()
    frames, root = Frames(file), document.root
    links = _links(document, frames, options)
    joints = _joints(document, frames, links, options["base"])
    named = {scope.prefix + name: (frames.link(scope, name, node, "a frame"), frames.pose(scope, name), node)
             for scope in root.walk() for name, node in scope.frames.items()}  # fmt: skip
    file.stop()
    if not links:
        raise file.fail("no-links", "there is no <link> in the file", root.node)
    layout = _layout(file, links, joints)
    own = [joint for name, joint in joints.items() if joint.axes and name not in layout.closing]
    moving = [each for joint in own for each in coordinates(joint)]
    limited = [each for joint in own for each, axis in zip(coordinates(joint), joint.axes, strict=True)
               if has_limits(axis) and joint.type != "continuous"]  # fmt: skip
    armature = numbers_by("armature", options["armature"], moving, {})
    rebound = numbers_by("limit_restitution", options["limit_restitution"], limited, {}, "joint with limits")
    tree = Tree(options["name"] or root.name or "world", _gravity(file, root, options["gravity"], alone))
    tree.limits, tree.velocity_limits = options["limits"], options["velocity_limits"]
    builder = Builder(file, tree, links, joints, layout, armature, rebound, options["friction"] == "dry")
    try:
        with np.errstate(all="ignore"):
            builder.build()
            builder.name_frames(named)
            builder.start()
            builder.load()
            builder.couple()
            builder.close_loops()
    except np.linalg.LinAlgError:
        raise file.fail("model", TOO_LARGE) from None
    if options["contacts"]:
        meshes = cast("Meshes | dict[str, Meshes]", options["meshes"])
        tree.contact(contacts_of(file, links, joints, meshes, options["ground"], alone))
    file.stop()
    if limited:
        file.say("limits", {
            "report": "joint limits are not enforced; a run warns if a joint exceeds one",
            "enforce": "joint limits are enforced", "ignore": "joint limits are kept as data",
        }[tree.limits])  # fmt: skip
    tree.report = file.report()
    return file, tree, joints


def _gravity(file: Source, root: Scope, given: ArrayLike | None, alone: bool) -> ArrayLike:
    """The gravity that was given, or that of the world of a file."""
    text, found = words(root.node, "gravity") if root.node.tag == WORLD else None, None
    if text is not None:
        found = file.floats(root.node.find("gravity"), text, 3, f'the <gravity> "{shown(text)}" of the {root.what}')
    if given is None:
        return GRAVITY if found is None else found
    if found is not None and not alone and not np.array_equal(found, given):
        file.say("world-overrules", f"the gravity of the file, ({text}) m/s^2, is that of the world here", root.node)
    return given


def _links(document: Document, frames: Frames, options: _Options) -> dict[str, Link]:
    found: dict[str, Link] = {}
    for scope in document.root.walk():
        for name, node in scope.links.items():
            link = read_link(document, frames, scope, name, node, options["inertia"], options["density"])
            if link.name in found:
                document.file.say("name-duplicate", f'there are two links "{link.name}"', node)
            found[link.name] = link
    return found


def _joints(document: Document, frames: Frames, links: dict[str, Link], base: str) -> dict[str, Joint]:
    """Joints by name: those that weld links of static models, those of the file, and those on which links float."""
    file = document.file
    found: dict[str, Joint] = {}
    read: list[Joint] = []
    for scope in document.root.walk():
        for name, node in scope.joints.items():
            joint = read_joint(document, frames, scope, name, node)
            if joint is not None:
                read.append(joint)
    file.stop()
    static = [name for name, link in links.items() if link.static]
    taken = {*links, *(joint.name for joint in read)}

    def root(link: str, kind: str) -> None:
        prefix = links[link].model.prefix
        name = f"{prefix}{ROOT_JOINT}"
        if name in found or name in taken:
            name = f"{link}_{ROOT_JOINT}"
        while name in found or name in taken:
            name += "_"
        node = links[link].node
        found[name] = Joint(name, kind, WORLD, link, links[link].pose, line=getattr(node, "line", None),
                            file=getattr(node, "file", file.name))  # fmt: skip

    for link in static:
        root(link, "weld")
    if static:
        models = dict.fromkeys(links[link].model.name for link in static)
        file.say("sdf-static", f"models that are fixed to the world: {listed(models)}")
    above: dict[str, str] = {}
    for joint in read:
        if joint.child in static and (joint.parent in static or joint.parent == WORLD):
            file.say("joint-ignored", f'the joint "{joint.name}" between links that are static is left out', joint)
            continue
        if joint.name in found:
            file.say("name-duplicate", f'there are two joints "{joint.name}"', joint)
        if base == "free" and joint.type == "fixed" and joint.parent == WORLD:
            joint.type = "floating"
        if joint.child not in above:
            top = joint.parent
            while top in above:
                top = above[top]
            if top == joint.child and joint.child not in static:  # the last joint of a cycle, which then closes a loop
                root(joint.child, "weld" if base == "fixed" else "floating")
            above[joint.child] = WORLD if top == joint.child else joint.parent
        found[joint.name] = joint
    carried = {joint.child for joint in found.values()}
    for link in links:
        if link not in carried:
            root(link, "weld" if base == "fixed" else "floating")
    return found


def _layout(file: Source, links: Mapping[str, Link], joints: Mapping[str, Joint]) -> Layout:
    world = Node("link", {"name": WORLD})
    nodes = {WORLD: world, **{name: link.node for name, link in links.items()}}
    return find_layout(file, nodes, cast("Mapping[str, object]", joints), "constraints", None)  # type: ignore[arg-type]
