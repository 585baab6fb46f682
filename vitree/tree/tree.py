"""Tree: a mechanism as a person builds it, of primitives; ``compile()`` makes a Model of it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Protocol

import numpy as np
from numpy.typing import ArrayLike

from vitree.arguments import as_numbers, explain_calls, of_kind, shown
from vitree.errors import InputError, ModelError, UnknownNameError
from vitree.findings import Report
from vitree.mechanism.constraints import Constraint
from vitree.mechanism.contacts import LIMITS, Contact, Ground, NoContact, RollingConstraint
from vitree.mechanism.drives import Drive
from vitree.mechanism.flat import Flat
from vitree.mechanism.loads import Load
from vitree.mechanism.unilateral import BallLimit, Rope
from vitree.model.model import Model
from vitree.model.system import System
from vitree.model.user_inputs import Written
from vitree.spatial.checks import vector
from vitree.tree.attach import attach
from vitree.tree.elements import Body, Coordinate, Element, Fixed
from vitree.tree.flatten import flatten
from vitree.tree.frames import Frame, describe
from vitree.tree.lock import lock
from vitree.tree.poses import At
from vitree.tree.rebuild import rebuild, require_same
from vitree.wording import text_of

#: Lines of a tree that are printed, and levels by which they are indented.
MOST_LINES, MOST_LEVELS = 200, 40
#: Kinds of names, and those of which each may not have one. A joint and a link may share a name, which is then that of
#: the link's frame.
_TAKEN = {"joint": ("joint", "frame"), "link": ("link", "frame"), "frame": ("joint", "link", "frame")}


def _line(depth: int, at: Frame) -> str:
    """Return the line of a frame."""
    indent = "  " * depth if depth <= MOST_LEVELS else "  " * MOST_LEVELS + f"(level {depth}) "
    return indent + describe(at)


#: What :meth:`Tree.constrain` adds.
Constrained = Constraint | Written | Rope | BallLimit


class HasTree(Protocol):
    """What has a tree, such as a model of MuJoCo."""

    @property
    def tree(self) -> Tree: ...


def _tree_of(other: object) -> Tree:
    """Return a tree, or that of what has one."""
    found = other if isinstance(other, Tree) else getattr(other, "tree", None)
    if isinstance(found, Tree):
        return found
    remedy = (
        "read the file by vt.read_urdf, vt.from_mujoco or vt.read_sexpr, or take vt.Tree.from_model(model)"
        if isinstance(other, Model) else "such as vt.read_urdf, vt.from_mujoco and vt.read_sexpr return"
    )  # fmt: skip
    raise InputError("other", other, f"is {shown(other)}; it must be a Tree: {remedy}")


class Tree:
    """A mechanism that can be edited: frames, joints and bodies with names.

    Parameters
    ----------
    name : str
    gravity : (3,) array [m/s^2]
        In world axes.

    Attributes
    ----------
    world : Frame
        The root of all frames.
    constraints, loads, contacts, rolling, unilateral : list
        Added by :meth:`constrain`, :meth:`load`, :meth:`contact` and :meth:`roll`; unilateral has the ropes and limits
        of ball joints among what :meth:`constrain` is given.
    ground : Ground or None
        Set by :meth:`contact`.
    limits : {"report", "enforce", "ignore"}
        Treatment of joint limits: a run that exceeds one says so; enforced; or no treatment.
    velocity_limits : {"report", "enforce", "ignore"}
        The same of limits of velocity of joints of one coordinate. Enforced, the velocity over each step,
        (q2 - q1)/dt, does not exceed the limit, by an impulse at the step's start, nor does the velocity at nodes to
        which such steps lead. At the node before the first of them it may exceed it by half a step's acceleration.
    report : Report
        Findings of the reader in the file of the tree.
    start : dict of str to numbers
        Coordinates [m or rad] of joints, by their names, where runs start by default (``model.start``): one number, or
        as many as the joint has in q. Other joints are neutral.

    Notes
    -----
    ``print(tree)`` shows frames, joints and bodies, a line each and indented as they hang together; of more than 200
    lines the first and the last 100.

    Raises
    ------
    ModelError
        If gravity is not three finite numbers.

    Examples
    --------
    >>> tree = Tree("double pendulum", gravity=(0, 0, -9.81))
    >>> elbow = tree.world.add(rx("shoulder"), tz(-1.0), body("upper", mass=1.0))
    >>> _ = elbow.add(rx("elbow"), tz(-1.0), body("lower", mass=1.0, inertia=(0.1, 0.1, 0.01)))
    >>> tree.compile().nv
    2
    """

    def __init__(self, name: str = "mechanism", gravity: ArrayLike = (0.0, 0.0, -9.81)):
        self.name = str(name)
        self.gravity = vector(gravity, "gravity")
        self.report = Report()
        self.constraints: list[Constraint | Written] = []
        self.loads: list[Load | Drive | Written] = []
        self.contacts: list[Contact | NoContact] = []
        self.rolling: list[RollingConstraint] = []
        self.unilateral: list[Rope | BallLimit] = []
        self.ground: Ground | None = None
        self.limits = self.velocity_limits = LIMITS[0]
        self.start: dict[str, ArrayLike] = {}
        self.parts = 0  # that were attached where nothing moves
        self._names: dict[str, set[str]] = {"joint": set(), "link": set(), "frame": set()}
        self.world = Frame(self, None, Fixed())

    @classmethod
    def from_model(cls, model: Model) -> Tree:
        """Return a tree that compiles to a model, such as one that was read, to be edited.

        It has the model's joints, links, frames, shapes, loads, drives, constraints and contacts, with the numbers of
        the model as it is, also where ``with_parameters`` changed them. Constant transforms without a name are merged,
        and poses differ by rounding errors. Of a model from ``reduced()`` it is the tree of all joints;
        ``tree.compile().reduced()`` is that model again.

        Parameters
        ----------
        model : Model

        Raises
        ------
        InputError
            If it is no Model.
        ModelError
            If the model was made of arrays that no tree gives.
        """
        flat = of_kind(of_kind(model, System, "model", "a vitree Model").full, Model, "model", "a vitree Model").flat
        tree = cls(flat.name, flat.gravity)
        rebuild(tree.world, flat)
        tree.report, tree.ground = flat.report, flat.ground
        tree.limits, tree.velocity_limits = flat.limits, flat.velocity_limits
        for name in ("constraints", "loads", "contacts", "rolling", "unilateral"):
            setattr(tree, name, [*getattr(flat, name)])
        tree.start = dict(flat.start)
        tree.parts = max((number for _, number in flat.parts), default=0)
        require_same(flat, tree.flatten())
        return tree

    def _claim(self, chain: list[Element]) -> None:
        """Check the names of new elements and keep them, all or none."""
        new = _names_in(chain)
        for k, (kind, name) in enumerate(new):
            if [other for other in _TAKEN[kind] if name in self._names[other]]:
                for other, claimed in new[:k]:
                    self._names[other].remove(claimed)
                text = f'there is already a joint, link or frame "{name}" in "{self.name}"; rename this {kind}'
                raise ModelError(text)
            self._names[kind].add(name)

    def _taken(self, chain: Iterable[Element]) -> tuple[str, str] | None:
        """Return the kind and name of the first of new elements whose name is taken; None if none is."""
        new = _names_in(chain)
        taken = ((kind, name) for kind, name in new if any(name in self._names[other] for other in _TAKEN[kind]))
        return next(taken, None)

    def constrain(self, *constraints: Constrained | Sequence[Constrained]) -> None:
        """Add ``*constraints`` of :mod:`vitree.mechanism.constraints`, or lists of them; also ropes and ball limits.

        Their names are looked up when the tree is compiled.
        """
        for constraint in constraints:
            for each in constraint if isinstance(constraint, Sequence) else [constraint]:
                if isinstance(each, Rope | BallLimit):
                    self.unilateral.append(each)
                else:
                    self.constraints.append(each)

    def load(self, *loads: Load | Drive | Written | Sequence[Load | Drive | Written]) -> None:
        """Add ``*loads`` of :mod:`vitree.mechanism.loads`, or lists of them: springs, dampers, wrenches, inputs.

        Their names are looked up when the tree is compiled.
        """
        for load in loads:
            self.loads += load if isinstance(load, Sequence) else [load]

    def contact(self, *contacts: Ground | Contact | NoContact | Sequence[Ground | Contact | NoContact]) -> None:
        """Add ``*contacts``, or lists of them: a :class:`Ground`, a :class:`Contact` or a :class:`NoContact` each.

        Names of frames are looked up when the tree is compiled.

        Raises
        ------
        ModelError
            If there is a ground already.
        InputError
            If something else is given.
        """
        for given in contacts:
            for each in given if isinstance(given, Sequence) else [given]:
                of_kind(each, (Ground, Contact, NoContact), "contact", "a Ground, a Contact or a NoContact")
                if not isinstance(each, Ground):
                    self.contacts.append(each)
                elif self.ground is not None:
                    raise ModelError("there is a ground already; give further half-spaces as its planes=")
                else:
                    self.ground = each

    def roll(self, *wheels: RollingConstraint | Sequence[RollingConstraint]) -> None:
        """Add ``*wheels`` that roll and do not slip, each a :class:`RollingConstraint`, or lists of them.

        Names of frames are looked up when the tree is compiled.

        Raises
        ------
        InputError
            If something else is given.
        """
        for given in wheels:
            for each in given if isinstance(given, Sequence) else [given]:
                self.rolling.append(of_kind(each, RollingConstraint, "wheel", "a RollingConstraint"))

    @explain_calls
    def attach(
        self, other: Tree | HasTree, at: At = "world", prefix: str = "", base: str | None = None
    ) -> Frame:
        """Join another tree to this one: its frames, joints and bodies, and all that belongs to them.

        Parameters
        ----------
        other : Tree
            Also what :func:`vitree.from_mujoco` returns. It stays as it is, and can be attached several times.
        at : Frame, str, element or array
            Where the world of ``other`` is: a frame of this tree or its name, such as the flange of an arm;
            ``vt.fixed(xyz=, rpy=)``; or a pose in the world, (3,) [m], (7,) with a quaternion (x, y, z, w), or (4, 4).
        prefix : str
            What stands before all names of ``other``: joints, links, frames, inputs and labels of constraints.
        base : {"free", "fixed"}, optional
            "free": all of ``other`` floats, on a new joint ``prefix + "root_joint"``. "fixed": its free joints at the
            world are welded. Without it the base is as in ``other``.

        Returns
        -------
        Frame
            The world of ``other`` in this tree, to which more can be added.

        Raises
        ------
        ModelError
            If a name is taken, gravity, limits or grounds of the two differ, what floats is attached to what moves, or
            ``other`` has a load or constraint written in Python without a method ``renamed``.
        InputError
            If ``at`` is no place, ``base`` not known, or the prefix no text.
        UnknownNameError
            If there is no frame ``at``.

        Notes
        -----
        Joints that float have their coordinates in the world: ``at`` is where they start (``start``). Loads,
        constraints, contacts, limits, drives, inputs, shapes, ``start`` and findings of ``other`` come with it.
        Contacts of the two trees touch each other; a :class:`NoContact` of one says nothing about the other. What is
        attached where nothing moves is a mechanism of its own: its shapes touch those of other parts also where they
        overlap at the neutral configuration. The ground of ``other`` becomes that of both, at its place.

        Examples
        --------
        >>> tree, pendulum = Tree("two"), Tree("one")
        >>> _ = pendulum.world.add(rx("hinge"), tz(-1.0), body("bob", mass=1.0))
        >>> _ = tree.attach(pendulum, prefix="left_")
        >>> _ = tree.attach(pendulum, at=(0.0, 0.5, 0.0), prefix="right_")
        >>> tree.compile().joint_names
        ('left_hinge', 'right_hinge')
        """
        return attach(self, _tree_of(other), at, prefix, base)

    def lock(self, joints: Mapping[str, ArrayLike]) -> None:
        """Lock joints at coordinates: they become constant transforms, and the model has fewer coordinates.

        Loads on a locked joint, its drive and its limits do nothing from then on and are removed. Its frame keeps its
        name.

        Parameters
        ----------
        joints : mapping of str to numbers
            Coordinates [m or rad] by the names of joints, as many as each has in q: one, a quaternion (x, y, z, w) of a
            ball joint, or (x, y, z, qx, qy, qz, qw) of a free one.

        Raises
        ------
        UnknownNameError
            If there is no joint of that name.
        InputError
            If the number of coordinates is another one, or they are not finite.
        ModelError
            If a constraint uses a joint, or another joint follows it. The tree is then as it was.

        Examples
        --------
        >>> tree = Tree("arm")
        >>> _ = tree.world.add(rx("shoulder"), tz(-1.0), body("upper", 1.0), rx("elbow"), tz(-1.0), body("lower", 1.0))
        >>> tree.lock({"elbow": 0.5})
        >>> tree.compile().joint_names
        ('shoulder',)
        """
        lock(self, joints)

    def frame(self, name: str) -> Frame:
        """Return the frame, link or joint frame of this ``name``.

        Raises
        ------
        UnknownNameError
            If there is no frame of that name.
        """
        for _, at in self.world.walk() if isinstance(name, str) else ():
            if at.name == name or any(b.name == name for b in at.bodies):
                return at
        for _, at in self.world.walk() if isinstance(name, str) else ():
            if at.element.name == name:
                return at
        names = sorted(set().union(*self._names.values()))
        raise UnknownNameError("frame", name, names)

    def flatten(self) -> Flat:
        """Return the flat arrays (:class:`vitree.mechanism.flat.Flat`) of this tree.

        Raises
        ------
        ModelError
            If nothing moves, or a joint or body cannot be modelled.
        """
        start = {name: tuple(np.atleast_1d(as_numbers(x)).tolist()) for name, x in self.start.items()}
        more = {"constraints": tuple(self.constraints), "loads": tuple(self.loads), "report": self.report}
        touching = {"contacts": tuple(self.contacts), "ground": self.ground, "rolling": tuple(self.rolling),
                    "limits": self.limits, "velocity_limits": self.velocity_limits,
                    "unilateral": tuple(self.unilateral), "start": tuple(start.items())}  # fmt: skip
        return flatten(self.name, self.gravity, self.world, **more, **touching)

    def compile(self) -> Model:
        """Return the :class:`vitree.Model` of this tree.

        Raises
        ------
        ModelError
            If nothing moves, or a joint moves no mass (its mass matrix would be singular).
        """
        model = Model(self.flatten())
        model.require_invertible_mass_matrix()
        return model

    def __str__(self) -> str:
        first = f"{self.name} (gravity {self.gravity[0]:g}, {self.gravity[1]:g}, {self.gravity[2]:g} m/s^2)"
        parts: list[tuple[int, Frame] | str] = [part for part in self.world.walk() if part[1] is not self.world]
        parts += [f"{'constraint' if k < len(self.constraints) else 'load'}: {text_of(getattr(x, 'name', x))}"
                  for k, x in enumerate([*self.constraints, *self.loads])]  # fmt: skip
        others = (self.ground, *self.contacts, *self.rolling, *self.unilateral)
        parts += [text_of(x.name) for x in others if x is not None]
        left_out = len(parts) - MOST_LINES
        if left_out > 0:
            half = MOST_LINES // 2
            links = f"{len(self._names['joint'])} joints, {len(self._names['link'])} links"
            parts[half:-half] = [f"... {left_out} lines more, of {len(parts)}; the tree has {links} ..."]
        return "\n".join([first, *(part if isinstance(part, str) else _line(*part) for part in parts)])

    def __repr__(self) -> str:
        return f"<vitree.Tree {self.name!r}: {len(self._names['joint'])} joints, {len(self._names['link'])} links>"


def _names_in(chain: Iterable[Element]) -> list[tuple[str, str]]:
    """Return kinds and names of elements, joints first; raise a ModelError if one is no name."""
    chain = list(chain)
    # a joint of several coordinates has a name of its own
    joints = [e.joint for e in chain if isinstance(e, Coordinate) and e.joint is not None]
    for name in joints:
        _require_name(name, "joint")
    new = [("joint", name) for name in dict.fromkeys(joints)]
    for element in chain:
        kind = "joint" if isinstance(element, Coordinate) else "link" if isinstance(element, Body) else "frame"
        if element.name is None and kind != "frame":
            raise ModelError(f"a {kind} needs a name")
        if element.name is None:
            continue
        _require_name(element.name, kind)
        new.append((kind, element.name))
    if len(new) > 1:
        new.sort(key=lambda each: list(_TAKEN).index(each[0]))
    return new


def _require_name(name: object, kind: str) -> None:
    if not isinstance(name, str) or not name:
        raise ModelError(f"the name {text_of(name, repr)} of a {kind} must be a text that is not empty")
