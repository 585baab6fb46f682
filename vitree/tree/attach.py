"""Trees joined to one: what :meth:`vitree.Tree.attach` does."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Any, Protocol

import numpy as np

from vitree.arguments import as_numbers, shown
from vitree.errors import InputError, ModelError
from vitree.findings import Report
from vitree.mechanism.contacts import Contact, Ground, NoContact
from vitree.mechanism.loads import input_names
from vitree.tree.elements import Coordinate, Element, Fixed
from vitree.tree.frames import Frame
from vitree.tree.names import FRAME, renamed
from vitree.tree.poses import At, coordinates_of, is_moved, moved_ground, pose_of, same_ground

#: What may become of the root of a tree that is attached.
BASES = ("free", "fixed")
#: The joint of a base that is made free.
ROOT_JOINT = "root_joint"
class Joined(Protocol):
    """What joining needs of a tree; :class:`vitree.Tree` says what each is."""

    name: str
    gravity: np.ndarray
    report: Report
    constraints: list[Any]
    loads: list[Any]
    contacts: list[Any]
    rolling: list[Any]
    unilateral: list[Any]
    ground: Ground | None
    limits: str
    velocity_limits: str
    start: dict[str, Any]
    world: Frame
    parts: int

    def frame(self, name: str) -> Frame: ...
    def _claim(self, chain: list[Element]) -> None: ...
    def _taken(self, chain: Iterable[Element]) -> tuple[str, str] | None: ...


def attach(host: Joined, other: Joined, at: At, prefix: str, base: str | None) -> Frame:
    """Join ``other`` to ``host``; arguments and errors are those of :meth:`vitree.Tree.attach`."""
    if not isinstance(prefix, str):
        raise InputError("prefix", prefix, f"is {shown(prefix)}; it must be a text, such as \"left_\"")
    if base is not None and base not in BASES:
        raise InputError("base", base, 'is not known; choose from "free", "fixed", or leave it out', choices=BASES)
    return _Joining(host, other, at, prefix, base).done()


class _Joining:
    """One tree on its way into another: all is checked before anything is changed."""

    def __init__(self, host: Joined, other: Joined, at: At, prefix: str, base: str | None):
        self.host, self.other, self.prefix = host, other, prefix
        self._require_alike()
        self.mount, offset, own = host.world, np.eye(4), None
        if isinstance(at, Frame):
            self.mount = at
            if at.tree is not host:
                raise ModelError(f'at= is a frame of "{at.tree.name}"; give a frame of "{host.name}"')
        elif isinstance(at, str):
            self.mount = host.world if at == "world" else host.frame(at)
        else:
            offset, own = pose_of(at), at.name if isinstance(at, Fixed) else None
        self.carrier = carrier_of(self.mount)
        #: the place in the world; of one that moves None
        self.place = None if self.carrier is not None else fixed_pose(self.mount) @ offset
        roots = other.world.children
        floating = [floats(root) for root in roots]
        if base == "free" and roots and not all(floating):
            if any(floating):
                raise ModelError(f'"{other.name}" has parts that float and others that do not; base="free" cannot tell '
                                 "which of them is the base; leave it out")  # fmt: skip
            self.freed: str | None = self._new(f"{prefix}{ROOT_JOINT}")
        else:
            self.freed = None
        self.weld = base == "fixed"
        if self.place is None and (self.freed or (any(floating) and not self.weld)):
            raise ModelError(f'"{other.name}" floats, and "{self.mount.name}" moves: give at= a pose in the world, or '
                             'base="fixed" to weld it there')  # fmt: skip
        self.uses_world = False
        self.has_world = other._taken([Fixed("world")]) is not None
        moved = is_moved(offset)
        #: constant transforms from the mount to the world of the other tree
        self.way: list[Element] = []
        if own is not None or moved:
            turned = not np.array_equal(offset[:3, :3], np.eye(3))
            self.way.append(Fixed(own, offset[:3, :3] if turned else None, tuple(offset[:3, 3].tolist())))
        self.world = self._world_name(own, moved)

    def _require_alike(self) -> None:
        host, other = self.host, self.other
        if not np.array_equal(host.gravity, other.gravity):
            g, h = ((", ".join(f"{x:g}" for x in tree.gravity)) for tree in (other, host))
            raise ModelError(f'the gravity of "{other.name}" is ({g}), that of "{host.name}" ({h}) m/s^2; give both '
                             "the same: gravity= of vt.Tree and of the readers")  # fmt: skip
        if host.velocity_limits != other.velocity_limits:
            one, two = (f'those of "{each.name}" "{each.velocity_limits}"' for each in (other, host))
            raise ModelError(f"the velocity_limits differ, {one}, {two}; give both the same: velocity_limits= of the "
                             "readers, tree.velocity_limits")  # fmt: skip
        if host.limits != other.limits and all(map(_limited, (host, other))):
            raise ModelError(f'the limits of "{other.name}" are "{other.limits}", those of "{host.name}" '
                             f'"{host.limits}"; give both the same: limits= of the readers, tree.limits')  # fmt: skip

    def _new(self, name: str) -> str:
        names = {self._rename(each, FRAME) for each in _names_of(self.other)}
        while name in names or self.host._taken([Fixed(name)]) is not None:
            name += "_"
        return name

    def _world_name(self, own: str | None, moved: bool) -> str:
        """What the world of the other tree is called here."""
        if self.freed is not None:
            return self.freed
        if own is not None:
            return own
        if not moved:
            if self.mount is self.host.world:
                if self.host._taken([Fixed("world")]) is None:
                    return "world"
            elif self.mount.name is not None:
                return self.mount.name
        return self._new(f"{self.prefix}world" if self.prefix else f"{self.other.name}_world")

    def _rename(self, name: str, of: str) -> str:
        if name == "world" and of == FRAME and not self.has_world:
            self.uses_world = True
            return self.world
        return self.prefix + name

    # ---- the parts, under their names ---------------------------------------------------------------

    def done(self) -> Frame:
        """Join the trees, and return the frame that is the world of the other tree."""
        host, other = self.host, self.other
        loads, constraints, contacts, rolling, unilateral = (
            [renamed(each, self._rename) for each in part]
            for part in (other.loads, other.constraints, other.contacts, other.rolling, other.unilateral)
        )
        frames = [(at, self._element(at), [renamed(body, self._rename) for body in at.bodies])
                  for _, at in other.world.walk() if at is not other.world]  # fmt: skip
        if self.freed is not None:
            self.way = [Coordinate(self.freed, kind="free")]
        known = any(isinstance(each, Coordinate) or getattr(each, "name", None) == self.world for each in self.way)
        if self.uses_world and not known and self.world not in ("world", self.mount.name):
            if self.way:
                self.way[-1] = replace(self.way[-1], name=self.world)
            else:
                self.way.append(Fixed(self.world))
        chain = [*self.way, *(part for _, element, bodies in frames for part in (element, *bodies))]
        self._require_inputs(loads)
        ground = self._ground()
        start = self._start()
        if (clash := host._taken(chain)) is not None:
            raise ModelError(f'"{other.name}" and "{host.name}" both have a {clash[0]} "{clash[1]}"; {self._remedy()}')
        limits = host.limits if host.limits == other.limits or not _limited(other) else other.limits
        host._claim(chain)

        part, still = self.mount.part, self.carrier is None
        if still:
            part = host.parts + 1
            host.parts += 1 + other.parts
        at = self.mount if self.freed is None else host.world
        for element in self.way:
            at = _child(at, element, part)
        placed, behind = {id(other.world): at}, False
        for old, element, bodies in frames:
            up = placed[id(old.parent)]
            if old.parent is other.world and self.freed is None:
                if isinstance(element, Coordinate) and element.kind == "free":
                    up, behind = host.world, True
                elif behind:  # what is behind a root that floats stays behind it
                    up, behind = self.mount, False
                    for each in self.way:
                        up = _child(up, replace(each, name=None), part)
                    placed[id(other.world)] = up
            placed[id(old)] = new = _child(up, element, part + old.part * still)
            new.bodies += bodies
        host.loads += loads
        host.constraints += constraints
        host.rolling += rolling
        host.unilateral += unilateral
        host.contacts = _apart(host, host.contacts, contacts, carrier_of(at))
        host.ground, host.limits = ground, limits
        host.start |= start
        host.report = host.report + [replace(each, part=self.prefix + each.part) for each in other.report]
        return at

    def _element(self, at: Frame) -> Element:
        """The element of a frame, under its name here; of a floating root that is welded a name alone."""
        made: Element = renamed(at.element, self._rename)
        if self.weld and at.parent is self.other.world and floats(at):
            taken = {body.name for _, each in self.other.world.walk() for body in each.bodies}
            return Fixed(None if at.element.name in taken else made.name)
        return made

    def _remedy(self) -> str:
        text = "another prefix=" if self.prefix else f'prefix=, such as prefix="{self.other.name}_"'
        return f'give {text}, which stands before all names of "{self.other.name}"'

    def _require_inputs(self, loads: Sequence[Any]) -> None:
        both = set(input_names(loads)) & set(input_names(self.host.loads))
        if both:
            raise ModelError(f'"{self.other.name}" and "{self.host.name}" both have an input "{sorted(both)[0]}"; '
                             f"{self._remedy()}")  # fmt: skip

    def _ground(self) -> Ground | None:
        """The ground of both."""
        ground = self.other.ground
        if ground is None:
            return self.host.ground
        if self.place is None:
            raise ModelError(f'"{self.other.name}" has a ground, and "{self.mount.name}" moves, which a ground cannot; '
                             "set the ground of one to None: tree.ground = None")  # fmt: skip
        moved = moved_ground(ground, self.place, self.other.name)
        if self.host.ground is not None and not same_ground(self.host.ground, moved):
            raise ModelError(f'"{self.other.name}" and "{self.host.name}" have different grounds, and there is one; '
                             "set one to None (tree.ground = None), or read both with the same ground=")  # fmt: skip
        return moved if self.host.ground is None else self.host.ground

    def _start(self) -> dict[str, Any]:
        """Where the joints of the other tree start, its floating roots in the world."""
        start = {self.prefix + joint: values for joint, values in self.other.start.items()}
        roots = [] if self.freed is not None else [each for each in self.other.world.children if floats(each)]
        for root in roots:
            name = str(root.element.name)
            if self.weld:
                start.pop(self.prefix + name, None)
                continue
            assert self.place is not None
            if is_moved(self.place):
                own = pose_of(self.other.start.get(name, np.zeros(3)))
                start[self.prefix + name] = coordinates_of(self.place @ own)
        if self.freed is not None and self.place is not None and is_moved(self.place):
            start[self.freed] = coordinates_of(self.place)
        return start


# ---- frames --------------------------------------------------------------------------------------------


def _child(at: Frame, element: Any, part: int) -> Frame:
    child = at._child(element)
    child.part = part
    return child


def carrier_of(at: Frame) -> Frame | None:
    """Return the frame of the joint that moves a frame last; None of one that stands still in the world."""
    here: Frame | None = at
    while here is not None and not isinstance(here.element, Coordinate):
        here = here.parent
    return here


def fixed_pose(at: Frame) -> np.ndarray:
    """The pose (4, 4) [m] of a frame that stands still."""
    X, here = np.eye(4), at
    while here.parent is not None:
        X, here = pose_of(here.element) @ X, here.parent
    return X


def floats(at: Frame) -> bool:
    return isinstance(at.element, Coordinate) and at.element.kind == "free"


def _names_of(tree: Joined) -> set[str]:
    """All names of frames, links and joints of a tree."""
    found: set[str] = set()
    for _, at in tree.world.walk():
        names = {at.element.name, getattr(at.element, "joint", None), *(body.name for body in at.bodies)}
        found |= {name for name in names if name is not None}
    return found


def frames_by_name(tree: Joined) -> dict[str, Frame]:
    """Return the frames of a tree by their names, those of links before those of joints and frames."""
    frames: dict[str, Frame] = {}
    links: dict[str, Frame] = {}
    for _, at in tree.world.walk():
        if at.element.name is not None:
            frames[at.element.name] = at
        if (joint := getattr(at.element, "joint", None)) is not None:
            frames[joint] = at
        links |= {body.name: at for body in at.bodies}
    return frames | links


def _limited(tree: Joined) -> bool:
    """Whether a joint of a tree has limits."""
    bounds = ((each.lower, each.upper) for each in (at.element for _, at in tree.world.walk())
              if isinstance(each, Coordinate))  # fmt: skip
    return any(bound not in (-np.inf, np.inf) if isinstance(bound, float) else np.isfinite(as_numbers(bound)).any()
               for pair in bounds for bound in pair)  # fmt: skip


# ---- contacts ------------------------------------------------------------------------------------------


def _apart(tree: Joined, before: list[Any], more: list[Any], here: Frame | None) -> list[Any]:
    """Contacts of both trees; pairs of bodies that do not touch are those of one tree alone.

    Both have a share of the body ``here``, or of the world.
    """
    if not any(isinstance(each, NoContact) for each in (*before, *more)):
        return [*before, *more]
    named = frames_by_name(tree)

    def carrier(name: str) -> int | None:
        if name == "world" and name not in named:
            return id(None)
        return id(carrier_of(named[name])) if name in named else None

    def spelled_out(contacts: list[Any]) -> list[Any]:
        """Pairs of bodies, one of which is shared, as pairs of the frames that have contacts."""
        frames = list(dict.fromkeys(each.frame for each in contacts if isinstance(each, Contact)))
        of = {frame: carrier(frame) for frame in frames}
        made: list[Any] = []
        for each in contacts:
            if not (isinstance(each, NoContact) and each.bodies and id(here) in (carrier(each.a), carrier(each.b))):
                made.append(each)
                continue
            one, two = ([frame for frame in frames if of[frame] == carrier(name)] for name in (each.a, each.b))
            made += [NoContact(a, b, bodies=False) for a in one for b in two if a != b]
        return made

    shared = any(isinstance(each, Contact) and carrier(each.frame) == id(here) for each in more)
    return [*(spelled_out(before) if shared else before), *spelled_out(more)]
