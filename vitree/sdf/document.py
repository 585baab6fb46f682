"""SDF files and those they include, as scopes: models and worlds with the names of their parts."""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from xml.etree.ElementTree import Element as Node

from vitree.errors import SdfError
from vitree.sdf.from_urdf import model_of_urdf
from vitree.sdf.rules import RULES
from vitree.sdf.schema import IGNORED, MOTION, READ, SILENT, VERSIONS
from vitree.urdf.checks import has_xacro
from vitree.urdf.paths import Packages, Places, home_of
from vitree.urdf.xml import Source, shown
from vitree.wording import has_unseen, visible

#: What stands between the name of a model and the names of its parts.
BETWEEN = "::"
#: The frame of a model, within it.
MODEL_FRAME = "__model__"
WORLD = "world"
#: Files that are included, at most.
MOST_INCLUDES = 1000
#: Gazebo's variables with folders of models.
VARIABLES = ("GZ_SIM_RESOURCE_PATH", "IGN_GAZEBO_RESOURCE_PATH", "GAZEBO_MODEL_PATH", "SDF_PATH")
#: Models that come with Gazebo: a light, and the plane z = 0.
SUN, GROUND_PLANE = "sun", "ground_plane"
_PLANE = """<sdf version="1.10"><model name="ground_plane"><static>true</static><link name="link">
<collision name="c"><geometry><plane><normal>0 0 1</normal></plane></geometry></collision></link></model></sdf>"""


@dataclass(eq=False)
class Scope:
    """A model or a world, and what has a name in it.

    Attributes
    ----------
    node : Element
    prefix : str
        What stands before the names of its parts in the tree.
    parent : Scope or None
    places : Places
        Of its file.
    version : tuple of int
    static : bool
    pose : Element or None
        The <pose> that holds.
    placement : str or None
        The frame that the pose places; None for that of the model.
    links, joints, frames : dict of str to Element
    models : dict of str to Scope
    merged : list of Scope
        Models whose parts have names here.
    """

    node: Node
    name: str
    prefix: str
    parent: Scope | None
    places: Places
    version: tuple[int, ...]
    static: bool = False
    pose: Node | None = None
    placement: str | None = None
    links: dict[str, Node] = field(default_factory=dict)
    joints: dict[str, Node] = field(default_factory=dict)
    frames: dict[str, Node] = field(default_factory=dict)
    models: dict[str, Scope] = field(default_factory=dict)
    merged: list[Scope] = field(default_factory=list)

    @property
    def what(self) -> str:
        """What findings call it."""
        return f'{self.node.tag} "{self.prefix.removesuffix(BETWEEN) or self.name}"'

    @property
    def outermost(self) -> Scope:
        """The model that is in no other model."""
        here = self
        while here.parent is not None and here.parent.node.tag == "model":
            here = here.parent
        return here

    def names(self) -> list[str]:
        """Return all names of frames here."""
        own = [*self.links, *self.joints, *self.frames, *self.models]
        return own + [name for each in self.merged for name in each.names()]

    def owner(self, name: str) -> tuple[Scope, str] | None:
        """Return the scope that a name, such as "arm::hand", leads to, and the name there; None if there is none."""
        if name == MODEL_FRAME or name in self.links or name in self.joints or name in self.frames:
            return self, name
        if name in self.models:
            return self, name
        for each in self.merged:
            if (found := each.owner(name)) is not None and name != MODEL_FRAME:
                return found
        for model, scope in self.models.items():
            if name.startswith(model + BETWEEN) and (found := scope.owner(name[len(model + BETWEEN):])) is not None:
                return found
        return None

    def walk(self) -> Iterator[Scope]:
        """Yield this scope and all in it, in the order of the file."""
        yield self
        for each in (*self.merged, *self.models.values()):
            yield from each.walk()


def words(node: Node | None, tag: str | None = None) -> str | None:
    """Return the text of an element, or of its first child of a name, without spaces around it; None without one."""
    node = node if tag is None or node is None else node.find(tag)
    return None if node is None else (node.text or "").strip()


class Document:
    """Reads the root scope of a file, with all that it includes.

    Parameters
    ----------
    file : Source
    path : Path or None
    packages : packages, optional
        Folders of models, as of :class:`vitree.urdf.paths.Places`.
    max_bytes : int
    """

    def __init__(self, file: Source, path: Path | None, packages: Packages | None, max_bytes: int):
        self.file, self.packages = file, packages
        self.max_bytes = max_bytes
        self.included = 0
        self.root = self._root(path)

    def truth(self, node: Node | None, tag: str, usual: bool = False) -> bool:
        """Return a switch that a child sets."""
        text = words(node, tag)
        if text is None:
            return usual
        if text.lower() not in ("true", "false", "1", "0"):
            child = None if node is None else node.find(tag)
            self.file.say("number", f'<{tag}>{shown(text)}</{tag}> must be true or false', child, remedy="correct it")
        return text.lower() in ("true", "1")

    # ---- files --------------------------------------------------------------------------------------------

    def _root(self, path: Path | None) -> Scope:
        root = self.file.root
        version = self._check_root(self.file, root)
        self._known(root, "the file")
        content = [node for node in root if node.tag in READ["sdf"]]
        if len(content) != 1:
            found = ", ".join(f"<{node.tag}>" for node in content) or "none"
            raise self.file.fail("sdf-content", f"a file has one <model> or <world>, and there are: {found}", root)
        chain: tuple[str, ...] = () if path is None else (os.path.realpath(path),)
        scope: Scope | None = Scope(content[0], "", "", None, self._places(path), version)
        assert scope is not None
        if content[0].tag == "include":
            scope, chain = self._included(scope, content[0], chain)
        if scope is None:
            self.file.stop()
            raise self.file.fail("sdf-content", "the file includes no model", root)
        self._fill(scope, chain)
        return scope

    def _check_root(self, file: Source, root: Node) -> tuple[int, ...]:
        """Return the version of a file."""
        if root.tag not in ("sdf", "gazebo"):
            reader = {"robot": "load_urdf reads URDF", "mujoco": "load_mjcf reads MJCF"}.get(root.tag)
            text = f"the root element is <{shown(root.tag)}>, not <sdf>" + (f"; {reader}" if reader else "")
            raise self.file.fail("not-sdf", text, root)
        text = root.get("version", "")
        parts = text.split(".")
        version = tuple(int(part) for part in parts[:2]) if all(part.isdecimal() for part in parts[:2]) else ()
        if version not in VERSIONS:
            last = ".".join(map(str, VERSIONS[-1]))
            self.file.say("sdf-version", f'the version "{shown(text)}" is not known; it is read as {last}', root)
            return VERSIONS[-1]
        return version

    def _places(self, path: Path | None) -> Places:
        """The folders of a file: those of packages, of Gazebo's variables, and folders of models beside it."""
        return Places(path, self.packages, _folders_of_models(path))

    # ---- scopes -------------------------------------------------------------------------------------------

    def _fill(self, scope: Scope, chain: tuple[str, ...]) -> None:
        """Collect what has a name in a scope."""
        node = scope.node
        name = node.get("name", "")
        scope.name = scope.name or name
        if not scope.name:
            self.file.say("name-missing", f'a <{node.tag}> has no "name"', node)
        above = scope.parent is not None and scope.parent.static
        scope.static = scope.static or above or (node.tag == "model" and self.truth(node, "static"))
        if scope.pose is None and node.tag == "model":
            scope.pose, scope.placement = node.find("pose"), node.get("placement_frame") or None
        self._known(node, scope.what)
        for child in node:
            if child.tag in ("link", "joint", "frame"):
                self._named(scope, child, getattr(scope, f"{child.tag}s"))
                self._known(child, f'{child.tag} "{child.get("name", "")}"')
            elif child.tag == "model":
                self._nest(scope, Scope(child, "", "", scope, scope.places, scope.version), chain)
            elif child.tag == "include":
                self._include(scope, child, chain)

    def _nest(self, scope: Scope, inner: Scope, chain: tuple[str, ...], merge: bool = False) -> None:
        """Add a model to a scope."""
        inner.name = inner.name or inner.node.get("name", "")
        inner.prefix = scope.prefix if merge else f"{scope.prefix}{inner.name}{BETWEEN}"
        if merge:
            scope.merged.append(inner)
        elif inner.name in scope.names():
            self.file.say("name-duplicate", f'there are two parts "{inner.name}" in the {scope.what}', inner.node)
            return
        else:
            scope.models[inner.name] = inner
        self._fill(inner, chain)

    def _named(self, scope: Scope, node: Node, kept: dict[str, Node]) -> None:
        name = node.get("name", "")
        if has_unseen(name):
            text = f'the name "{shown(visible(name))}" of a {node.tag} has invisible characters, written here as \\x..'
            self.file.say("name-characters", text, node)
        if node.tag == "link" and name == WORLD:
            if all(child.tag == "pose" for child in node):
                self.file.say("link-world", f'an empty link of the {scope.what} is called "{WORLD}"', node)
                return
            self.file.say("name-reserved", f'a link of the {scope.what} is called "{WORLD}"', node)
        if not name:
            self.file.say("name-missing", f'a <{node.tag}> of the {scope.what} has no "name"', node)
        elif name in kept or (node.tag == "frame" and name in scope.names()):
            first = getattr(kept.get(name), "line", "?")
            text = f'there are two {node.tag}s "{name}" in the {scope.what}, the first on line {first}'
            self.file.say("name-duplicate", text, node)
        else:
            kept[name] = node

    def _known(self, node: Node, what: str) -> None:
        """Tell what is left out of an element, and what is not known in it."""
        tag = node.tag
        for child in node:
            if ":" in child.tag or child.tag in READ[tag] or child.tag in SILENT.get(tag, ()):
                continue
            named = f' "{shown(child.get("name", ""))}"' if child.get("name") else ""
            if child.tag in MOTION.get(tag, ()):
                self.file.say("sdf-motion", f"the <{child.tag}>{named} of {what} is left out", child)
            elif child.tag in IGNORED.get(tag, ()):
                self.file.say("sdf-ignored", f"the <{child.tag}>{named} of {what} is left out", child)
            else:
                self.file.say("unknown-element", f"<{child.tag}> in {what} is not known", child)
        for axis in ("axis", "axis2", "limit", "dynamics"):
            if axis in READ.get(tag, ()) and (part := node.find(axis)) is not None:
                self._known(part, f"the <{axis}> of {what}")

    # ---- includes -----------------------------------------------------------------------------------------

    def _include(self, scope: Scope, node: Node, chain: tuple[str, ...]) -> None:
        inner, chain = self._included(scope, node, chain)
        if inner is not None:
            inner.parent = scope
            self._nest(scope, inner, chain, merge=node.get("merge", "").lower() in ("true", "1"))

    def _included(self, scope: Scope, node: Node, chain: tuple[str, ...]) -> tuple[Scope | None, tuple[str, ...]]:
        """Return the model of an <include>, not filled yet, and the files that lead to it."""
        self._known(node, "an <include>")
        uri = words(node, "uri") or ""
        self.included += 1
        if self.included > MOST_INCLUDES:
            raise self.file.fail("include-cycle", f"there are more than {MOST_INCLUDES} files that are included", node)
        opened = self._open(scope, node, uri, chain)
        if opened is None:
            return None, chain
        model, places, version, chain = opened
        inner = Scope(model, words(node, "name") or "", "", None, places, version)
        if node.find("pose") is not None:
            inner.pose, inner.placement = node.find("pose"), words(node, "placement_frame") or None
        inner.static = self.truth(node, "static", self.truth(model, "static"))
        if node.find("static") is not None and (own := model.find("static")) is not None:
            model.remove(own)
        return inner, chain

    def _open(
        self, scope: Scope, node: Node, uri: str, chain: tuple[str, ...]
    ) -> tuple[Node, Places, tuple[int, ...], tuple[str, ...]] | None:
        """Return the model of an <include>, the places and version of its file, and the files that lead there."""
        if not uri:
            self.file.say("include-missing", "an <include> has no <uri>", node, remedy="add it")
            return None
        found, problem = _sdf_file(scope.places, uri)
        if found is None:
            last = uri.rstrip("/").rsplit("/", 1)[-1].lower().replace(" ", "_").replace("%20", "_")
            if last == SUN:
                self.file.say("sdf-ignored", f'the included "{shown(uri)}", a light, is left out', node)
                return None
            if last == GROUND_PLANE:
                source = Source("ground_plane", _PLANE.encode(), known=None, rules=RULES, error=SdfError)
                return _of_file(source.root[0], node), scope.places, VERSIONS[-1], chain
            text = f'the <uri> "{shown(uri)}" of an <include> is not found'
            why = problem.removeprefix("missing").removeprefix(": ")
            self.file.say("include-missing", f"{text}: {why}" if why else text, node)
            return None
        real = os.path.realpath(found)
        if real in chain:
            raise self.file.fail("include-cycle", f'the <uri> "{shown(uri)}" includes the file that includes it', node)
        path = Path(found)
        name = f"{path.parent.name}/{path.name}"
        try:
            with open(path, "rb") as stream:
                data = stream.read(self.max_bytes + 1)
        except OSError as error:
            self.file.say("include-missing", f'the file of "{shown(uri)}" cannot be read: {error.strerror}', node)
            return None
        source = Source(name, data, max_bytes=self.max_bytes, known=None, rules=RULES,
                        error=SdfError)  # fmt: skip
        for part in source.root.iter():
            part.file = name  # type: ignore[attr-defined]
        if source.root.tag == "robot":
            if has_xacro(source):
                raise self.file.fail("sdf-content", f'"{shown(uri)}", which is included, is a URDF file with xacro; '
                                     "expand it first", node)  # fmt: skip
            model = model_of_urdf(source)
            self.file.findings += source.findings
            return model, self._places(path.absolute()), VERSIONS[-1], (*chain, real)
        self.file.findings += source.findings
        version = self._check_root(source, source.root)
        models = source.root.findall("model")
        if not models and all(each.tag in IGNORED["sdf"] for each in source.root):
            self.file.say("sdf-ignored", f'the included "{shown(uri)}" has no model, and is left out', node)
            return None
        if len(models) != 1:
            text = f'the file of "{shown(uri)}", which is included, has {len(models)} models; it must have one'
            raise self.file.fail("sdf-content", text, source.root)
        return models[0], self._places(path.absolute()), version, (*chain, real)


def _of_file(model: Node, node: Node) -> Node:
    """A model as on the line of an element."""
    for each in model.iter():
        each.line = getattr(node, "line", None)  # type: ignore[attr-defined]
    return model


def _sdf_file(places: Places, uri: str) -> tuple[str | None, str]:
    """Return the SDF file of a <uri>, that of a folder by its model.config; None and the problem without one."""
    config = places.resolve(f"{uri.rstrip('/')}/model.config")
    problem = config.problem or ""
    named = "model.sdf"
    if config.problem is None:
        named = _named_in(config.path) or named
    for text in (uri, f"{uri.rstrip('/')}/{named}"):
        found = places.resolve(text)
        if found.problem is None:
            return found.path, ""
        problem = min(problem or found.problem, found.problem)
    return (None, problem) if "://" in uri else _sdf_file(places, f"model://{uri}")


def _named_in(config: str) -> str | None:
    """The file of the latest version that a model.config names."""
    try:
        with open(config, "rb") as stream:
            root = Source("model.config", stream.read(2**16), known=None, rules=RULES, error=SdfError).root
    except (OSError, SdfError):
        return None
    found = [(node.get("version", ""), words(node) or "") for node in root.findall("sdf")]
    best = max(found, key=lambda each: [int(part) for part in each[0].split(".") if part.isdecimal()], default=None)
    return best[1] if best is not None and best[1] else None


def _folders_of_models(path: Path | None) -> list[Path]:
    """The folders in which Gazebo looks for models, and those called "models" near a file."""
    entries = [entry for variable in VARIABLES for entry in os.environ.get(variable, "").split(os.pathsep)
               if os.path.isabs(entry)]  # fmt: skip
    folders = [Path(entry) for entry in entries]
    if path is not None:
        home = home_of(path.parent)
        near = [above for above in (path.parent, *path.parent.parents) if above.is_relative_to(home)]
        folders += [above / "models" for above in near if (above / "models").is_dir()]
    return folders
