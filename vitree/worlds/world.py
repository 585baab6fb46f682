"""World: things of files, trees and shapes under their names, and the model of all."""

from __future__ import annotations

import glob
import os
from collections.abc import Iterable, Mapping
from copy import copy
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any, NamedTuple, cast

import numpy as np
from numpy.typing import ArrayLike

from vitree.arguments import as_numbers, explain_calls, of_kind, shown
from vitree.errors import InputError, ModelError, UnknownNameError
from vitree.findings import Finding, Report
from vitree.geometry.shapes import Shape
from vitree.mechanism.constraints import Coupling
from vitree.mechanism.contacts import LIMITS, Ground, NoContact
from vitree.mechanism.drives import Drive
from vitree.mjcf.files import is_mjcf
from vitree.mjcf.reader import MujocoRobot, read_part
from vitree.model.keyframes import keyframe_at
from vitree.model.model import Model
from vitree.model.variants import Gains
from vitree.run.controller import Control
from vitree.sdf.reader import is_sdf
from vitree.sdf.reader import read_part as read_part_of_sdf
from vitree.tree.attach import ROOT_JOINT, carrier_of, fixed_pose, floats
from vitree.tree.frames import Frame
from vitree.tree.poses import At, coordinates_of, pose_of
from vitree.tree.sexpr import read_sexpr
from vitree.tree.tree import Tree
from vitree.urdf.reader import read_urdf
from vitree.urdf.robots import find_robot, suggest_base
from vitree.worlds.shapes import OF_SHAPES, tree_of_shapes

#: What stands between the name of a thing and the names of its parts.
BETWEEN = "/"
#: Bases of files.
BASES = ("auto", "free", "fixed")


@dataclass(frozen=True, eq=False)
class Thing:
    """A thing of a world; made by :meth:`vitree.World.add`.

    Attributes
    ----------
    name : str
    prefix : str
        What stands before the names of its joints, links and frames; "" of a body of shapes, which has the name itself.
    frame : Frame
        Its own world, in the tree of all.
    tree : Tree
        As it was attached.
    robot : MujocoRobot or None
        What was read, of an MJCF file.
    """

    name: str
    prefix: str
    frame: Frame
    tree: Tree
    robot: MujocoRobot | None = None
    inputs: Mapping[str, float] = field(default_factory=dict)
    velocities: Mapping[str, tuple[float, ...]] = field(default_factory=dict)
    gains: Gains = field(default_factory=dict)
    reduced: bool = False

    @property
    def base(self) -> str | None:
        """The joint on which all of it floats; None of what is fixed, or floats in several parts."""
        own = self.frame.element.name
        if self.prefix and floats(self.frame) and str(own).startswith(self.prefix + ROOT_JOINT):
            return own
        names = [f"{self.prefix}{root.element.name}" for root in self.tree.world.children if floats(root)]
        joints = _joints_of(cast("Tree", self.frame.tree))
        return names[0] if len(names) == 1 and names[0] in joints else None

    @property
    def pose(self) -> np.ndarray:
        """Where it starts in the world, (4, 4) [m]: its base if it floats, else its own world.

        Raises
        ------
        InputError
            If it is attached to a frame that moves.
        """
        tree, base = cast("Tree", self.frame.tree), self.base
        if base is not None:
            return pose_of(tree.start.get(base, np.zeros(3)))
        if carrier_of(self.frame) is not None:
            raise InputError(f'"{self.name}" is where joints have it: compile the world, and ask '
                             f'model.frame_pose("{self.frame.name}", q)')  # fmt: skip
        return fixed_pose(self.frame)


class Held(NamedTuple):
    """Inputs by their names, and targets of drives [m or rad] by joints."""

    inputs: dict[str, float]
    targets: dict[str, float]


class World:
    """A world of things: robots of files, trees, and bodies of shapes, each under its name, on one ground.

    Parameters
    ----------
    name : str
    gravity : (3,) array [m/s^2]
        Of all things; files are read with it.
    ground : Ground, optional
        What all things touch. Without it the ground is that of the first MJCF file or tree that has one, if any.
    limits : {"enforce", "report", "ignore"}
        Treatment of the joint limits of all things, as of :func:`vitree.load_urdf`.
    velocity_limits : {"report", "enforce", "ignore"}
        The same of their limits of velocity.

    Attributes
    ----------
    tree : Tree
        Of all things so far. Loads, constraints and contacts between things are added to it.
    things : dict of str to Thing

    Notes
    -----
    The joint "elbow" of the thing "arm" is "arm/elbow": so are links, frames, inputs and labels. All shapes touch each
    other, but for pairs that a file leaves out of its own.

    Examples
    --------
    >>> world = World(ground=Ground())
    >>> _ = world.add("double_pendulum", "left", at=(0, -0.5, 2))
    >>> _ = world.add("double_pendulum", "right", at=(0, 0.5, 2))
    >>> _ = world.add(Sphere(0.1), "ball", at=(1, 0, 1), mass=0.5)
    >>> world.compile().joint_names
    ('left/hinge1', 'left/hinge2', 'right/hinge1', 'right/hinge2', 'ball')
    """

    def __init__(
        self, name: str = "world", *, gravity: ArrayLike = (0.0, 0.0, -9.81), ground: Ground | None = None,
        limits: str = "enforce", velocity_limits: str = "report",
    ):  # fmt: skip
        for option, word in (("limits", limits), ("velocity_limits", velocity_limits)):
            if not isinstance(word, str) or word not in LIMITS:
                raise InputError(option, word, f"is not known; choose from {', '.join(LIMITS)}", choices=LIMITS)
        self.tree = Tree(name, gravity)
        self.tree.limits, self.tree.velocity_limits = limits, velocity_limits
        self.tree.ground = of_kind(ground, (Ground, type(None)), "ground", "a Ground, such as vt.Ground(), or None")
        self.things: dict[str, Thing] = {}

    @property
    def name(self) -> str:
        """The name of the world."""
        return self.tree.name

    @explain_calls
    def add(
        self, thing: object, name: str | None = None, at: At = "world", *, base: str | None = None,
        start: str | Mapping[str, ArrayLike] | None = None, drives: Gains | None = None, **options: Any,
    ) -> Frame:  # fmt: skip
        """Add a thing.

        Parameters
        ----------
        thing : path, str, Tree, MujocoRobot, shape or sequence of shapes
            A file (URDF, xacro, MJCF, SDF or s-expression), the name of a robot (:func:`vitree.find_robot`), or what is
            made already. Shapes, such as ``vt.Box((1, 1, 0.1))``, make one body.
        name : str, optional
            Its parts have names that begin with ``name/``. By default that of the file, with a number if it is taken.
        at : Frame, str, element or array
            Where it is, as of :meth:`vitree.Tree.attach`: a frame, such as "arm/tool0", or a pose in the world.
        base : {"free", "fixed"}, optional
            Whether it floats, or is fixed to where it is. By default as in a tree or a file of MJCF or SDF; a URDF file
            floats if it is a single body or has legs, as on the command line; shapes float if they have a mass.
        start : str or mapping, optional
            Where it starts: the name of a keyframe of an MJCF file, coordinates [m or rad] of its joints by name, or a
            keyframe that a live page saved, as "FILE.toml#NAME".
        drives : mapping, optional
            Gains (kp, kd) of drives by patterns of the names of its joints, as of :meth:`vitree.Model.with_drives`.
            :meth:`control` holds them where they start.
        **options
            Of a file those of :func:`vitree.read_urdf`, :func:`vitree.from_mujoco` or :func:`vitree.load_sdf`; gravity,
            ground and limits are those of the world. Of shapes ``mass`` [kg] or ``density`` [kg/m^3], without which the
            body stands still; ``friction`` and ``restitution`` [-] as of :class:`vitree.Contact`; ``rgba``, the colour.

        Returns
        -------
        Frame
            The world of the thing, to which more can be added.

        Raises
        ------
        ModelError
            If a file cannot be read, the name is taken, or it cannot be attached.
        InputError, UnknownNameError
            If an argument is wrong, or a name is not known.
        """
        if base is not None and not (isinstance(base, str) and base in BASES):
            words = ", ".join(f'"{word}"' for word in BASES)
            raise InputError("base", base, f"is not known; choose from {words}", choices=BASES)
        base = None if base == "auto" else base
        shapes = _shapes_of(thing)
        name = self._name_of(thing, name, shapes)
        robot, reduced, prefix = None, False, name + BETWEEN
        if shapes is not None:
            _require_options(options, OF_SHAPES, f'option of the thing "{name}", which is made of shapes')
            tree, prefix = tree_of_shapes(shapes, name, self.tree.gravity, **options), ""
            if base == "free" and not tree.world.children[0].bodies[0].mass:
                raise InputError("base", base, f'of "{name}" needs a mass: give mass= or density=')
        elif isinstance(thing, Tree | MujocoRobot) or hasattr(thing, "tree"):
            _require_options(options, (), f'option of "{name}", which is read already')
            tree = of_kind(getattr(thing, "tree", thing), Tree, "thing", "a file, a Tree, or shapes")
            robot = thing if isinstance(thing, MujocoRobot) else None
        elif isinstance(thing, str | os.PathLike):
            tree, robot, base, reduced = self._read(thing, base, options)
        else:
            raise InputError("thing", thing, f"is {shown(thing)}; it must be a file, the name of a robot, a Tree, what "
                             "vt.from_mujoco returns, or shapes such as vt.Box((1, 1, 0.1))")  # fmt: skip
        tree = copy(tree)
        tree.limits, tree.velocity_limits = self.tree.limits, self.tree.velocity_limits
        tree.start, inputs, velocities = _start_of(tree, robot, start, name)
        if drives:
            _require_fitting(drives, tree, name)
        if self.tree.ground is not None and robot is not None and robot is not thing:
            tree.ground = None
        frame = self.tree.attach(tree, at, prefix, base)
        self.things[name] = Thing(name, prefix, frame, tree, robot, inputs, velocities, dict(drives or {}), reduced)
        return frame

    def _name_of(self, thing: object, name: str | None, shapes: tuple[Shape, ...] | None) -> str:
        if name is not None:
            if not isinstance(name, str) or not name or name.startswith(BETWEEN) or name.endswith(BETWEEN):
                needed = 'a text that neither begins nor ends with "/"'
                raise InputError("name", name, f"is {shown(name)}; it must be {needed}")
            if name in self.things:
                raise ModelError(f'there is already a thing "{name}" in "{self.name}"; give another name')
            return name
        if isinstance(thing, str | os.PathLike):
            own = Path(thing).name.partition(".")[0]
        else:
            made = getattr(thing, "tree", thing)
            own = type(shapes[0]).__name__.lower() if shapes else str(getattr(made, "name", ""))
        own, count = own.strip(BETWEEN) or "thing", 1
        name = own
        while name in self.things:
            name = f"{own}_{(count := count + 1)}"
        return name

    def _read(
        self, source: str | os.PathLike[str], base: str | None, options: dict[str, Any]
    ) -> tuple[Tree, MujocoRobot | None, str | None, bool]:
        """Return the tree of a file, what MuJoCo made of it, its base, and whether its mimic joints are followers."""
        for word in ("gravity", "ground", "limits", "velocity_limits"):
            if word in options:
                raise InputError(f"{word}= is that of the whole world: give it to vt.World")
        if str(source).endswith(".sexpr"):
            _require_options(options, (), "option of an s-expression")
            return read_sexpr(source), None, base, False
        path = find_robot(source)
        if is_mjcf(path):
            own: Ground | None = self.tree.ground
            robot = read_part(path, gravity=self.tree.gravity, ground=own, limits=self.tree.limits, **options)
            robot.tree.report = robot.tree.report + self._overruled(robot, own)
            return robot.tree, robot, base, False
        if is_sdf(path):
            tree = read_part_of_sdf(path, gravity=self.tree.gravity, ground=self.tree.ground, limits=self.tree.limits,
                                    **options)  # fmt: skip
            tree.ground = tree.ground if self.tree.ground is None else None
            return tree, None, base, any(isinstance(each, Coupling) for each in tree.constraints)
        if base is None:
            base = suggest_base(path, bool(options.get("trust", False)), str(options.get("inertia")))
        tree = read_urdf(path, base, gravity=self.tree.gravity, ground=self.tree.ground or Ground(),
                         limits=self.tree.limits, **options)  # fmt: skip
        tree.ground = None
        follows = any(isinstance(each, Coupling) for each in tree.constraints)
        return tree, None, None, follows and options.get("mimic", "reduced") == "reduced"

    def _overruled(self, robot: MujocoRobot, ground: Ground | None) -> Report:
        """What of an MJCF file is otherwise in this world."""
        model, told, limits = robot.mujoco, [], self.tree.limits
        gravity = np.zeros(3) if _disables_gravity(model) else np.array(model.opt.gravity)
        if not np.array_equal(gravity, self.tree.gravity):
            g = ", ".join(f"{x:g}" for x in gravity)
            told.append(("warning", f"gravity of the file, ({g}) m/s^2, which is that of the world here"))
        if robot.tree.limits != limits and model.jnt_limited.any():
            told.append(("warning", f'limits of joints, which the file disables, are as of the world here, "{limits}"'))
        if ground is not None and (model.geom_type == 0).any():
            told.append(("note", "planes of the file, in place of which is the ground of the world"))
        file = robot.tree.report[0].file if robot.tree.report else robot.tree.name
        return Report(Finding("world-overrules", severity, text, file) for severity, text in told)

    def __getitem__(self, name: str) -> Thing:
        """Return a thing by its name.

        Raises
        ------
        UnknownNameError
            If there is none.
        """
        if not isinstance(name, str) or name not in self.things:
            raise UnknownNameError("thing", name, self.things, argument="name")
        return self.things[name]

    def place(self, name: str, at: At) -> None:
        """Let a thing that floats start elsewhere.

        Parameters
        ----------
        name : str
        at : array, or fixed
            The pose of its base in the world, as of :meth:`add`.

        Raises
        ------
        UnknownNameError
            If there is no such thing.
        InputError
            If it does not float, or ``at`` is no pose.
        """
        base = self[name].base
        if base is None:
            raise InputError("name", name, "does not float; give at= where it is added, and start= of its joints")
        self.tree.start[base] = coordinates_of(pose_of(at))

    # ---- the model, and how it starts -------------------------------------------------------------------

    def apart(self, *pairs: tuple[str, str]) -> None:
        """Let ``*pairs`` of things, or of links of things such as ("arm/hand", "table"), not touch each other.

        Raises
        ------
        InputError
            If a pair is none.
        UnknownNameError
            If there is no such thing or frame.
        """
        for pair in pairs:
            if not (isinstance(pair, tuple | list) and len(pair) == 2):
                raise InputError(f"a pair of things that do not touch is {shown(pair)}; give two names")
            one, two = (self._frames_of(name) for name in pair)
            self.tree.contact([NoContact(a, b, bodies=False) for a in one for b in two if a != b])

    def _frames_of(self, name: str) -> list[str]:
        """Return the frames of the contacts of a thing, or a frame alone."""
        thing = self.things.get(name)
        if thing is None or not thing.prefix:
            self.tree.frame(name)
            return [name]
        frames = (getattr(each, "frame", "") for each in self.tree.contacts)
        return list(dict.fromkeys(frame for frame in frames if frame.startswith(thing.prefix)))

    def compile(self) -> Model:
        """Return the model of all things, with their drives; ``model.start`` is where they start.

        Raises
        ------
        ModelError
            If nothing moves, a joint moves no mass, or a drive is not possible.
        """
        model: Model = self.tree.compile()
        if any(thing.reduced for thing in self.things.values()):
            model = model.reduced()
        gains = {glob.escape(thing.prefix) + pattern: value for thing in self.things.values()
                 for pattern, value in thing.gains.items()}  # fmt: skip
        return model.with_drives(gains) if gains else model

    def start(self, model: Model) -> tuple[np.ndarray, np.ndarray]:
        """Return q (nq,) and v (nv,) [m or rad, m/s or rad/s] where the things of a ``model`` of this world start.

        Raises
        ------
        InputError
            If ``model`` is no Model.
        """
        v = of_kind(model, Model, "model", "a Model").zero_velocity()
        for thing in self.things.values():
            for joint, values in thing.velocities.items():
                v[model.joint(thing.prefix + joint).v_slice] = values
        return model.start, v

    def control(self, model: Model, q: ArrayLike | None = None) -> Control:
        """Return what holds the drives of a ``model`` of this world, and the inputs of keyframes.

        Parameters
        ----------
        model : Model
        q : (nq,) array, optional [m or rad]
            Where drives hold their joints; by default where they start.

        Raises
        ------
        InputError
            If q is no configuration.
        """
        held = self.held(model, q)
        return Control(inputs=held.inputs or None, targets=held.targets or None)

    def held(self, model: Model, q: ArrayLike | None = None) -> Held:
        """Return the same of a ``model`` of this world at ``q`` (nq,), by names of inputs and of joints.

        Raises
        ------
        InputError
            If ``model`` is no Model, or q is no configuration.
        """
        of_kind(model, Model, "model", "a Model")
        q = model.start if q is None else model.validate_configuration(q)
        own = {drive.joint for drive in self.tree.loads if isinstance(drive, Drive)}
        targets = {drive.joint: float(q[model.joint(drive.joint).q_slice.start]) for drive in model.drives
                   if drive.joint not in own}  # fmt: skip
        inputs = {thing.prefix + name: x for thing in self.things.values() for name, x in thing.inputs.items()}
        return Held(inputs, targets)

    def __repr__(self) -> str:
        return f"<vitree.World {self.name!r}: {', '.join(self.things) or 'empty'}>"


def _shapes_of(thing: object) -> tuple[Shape, ...] | None:
    """Return the shapes of which a thing is made; None of what is no shape."""
    if isinstance(thing, Shape):
        return (thing,)
    if isinstance(thing, list | tuple) and thing and all(isinstance(each, Shape) for each in thing):
        return tuple(thing)
    return None


def _require_options(options: Mapping[str, object], known: Iterable[str], what: str) -> None:
    for name in options:
        if name not in known:
            raise UnknownNameError(what, name, tuple(known), argument=name)


def _joints_of(tree: Tree) -> dict[str, None]:
    """Names of the joints of a tree, in order."""
    elements = (at.element for _, at in tree.world.walk())
    return {name: None for each in elements if (name := getattr(each, "joint", None) or (
        each.name if hasattr(each, "twist") else None)) is not None}  # fmt: skip


def _require_fitting(drives: Gains, tree: Tree, name: str) -> None:
    """Raise an UnknownNameError if a pattern of drives fits no joint."""
    joints = _joints_of(tree)
    for pattern in drives:
        if not any(fnmatchcase(joint, str(pattern)) for joint in joints):
            raise UnknownNameError(f'joint of "{name}" to drive', str(pattern), joints)


#: Coordinates of joints, and inputs, by name.
Values = dict[str, Any]


def _start_of(
    tree: Tree, robot: MujocoRobot | None, start: object, name: str
) -> tuple[Values, Values, dict[str, tuple[float, ...]]]:
    """Return coordinates of joints where a thing starts, inputs, and velocities of joints."""
    values: Values = dict(tree.start)
    moves = bool(_joints_of(tree))
    if robot is not None:  # its contacts may have no counterpart but in the world
        bare = copy(robot.tree)
        bare.contacts, bare.ground = [], None
        robot = MujocoRobot(robot.mujoco, bare, robot._controls)
    velocities: dict[str, tuple[float, ...]] = {}
    frame = keyframe_at(start) if isinstance(start, str) else None
    if frame is not None:
        start, velocities = frame.start, dict(frame.velocities)
    if isinstance(start, str):
        keys = robot.keyframes if robot is not None and moves else {}
        if start not in keys:
            raise UnknownNameError(f'keyframe of "{name}"', start, keys, argument="start")
        key = keys[start]
        inputs = dict(zip(robot.model.input_names, key.inputs.tolist(), strict=True)) if robot is not None else {}
        return _by_joints(robot, key.q), inputs, _rates_by_joints(robot, key.v)
    if robot is not None and moves:
        values |= _by_joints(robot, robot.start)
    if start is not None:
        joints = _joints_of(tree)
        if not isinstance(start, Mapping):
            needed = "the name of a keyframe, FILE.toml#NAME, or numbers by names of joints"
            raise InputError("start", start, f'of "{name}" must be {needed}')
        for joint, value in start.items():
            if joint not in joints:
                raise UnknownNameError(f'joint of "{name}"', joint, joints, argument="start")
            values[joint] = as_numbers(value)
    return values, {}, velocities


def _by_joints(robot: MujocoRobot | None, q: np.ndarray) -> Values:
    """Coordinates of the joints that are not neutral at a configuration."""
    model = robot.model if robot is not None else None
    if model is None:
        return {}
    neutral = model.neutral()
    return {joint.name: tuple(q[joint.q_slice].tolist()) for joint in model.joints
            if not np.array_equal(q[joint.q_slice], neutral[joint.q_slice])}  # fmt: skip


def _rates_by_joints(robot: MujocoRobot | None, v: np.ndarray) -> dict[str, tuple[float, ...]]:
    joints = robot.model.joints if robot is not None else ()
    return {joint.name: tuple(v[joint.v_slice].tolist()) for joint in joints if v[joint.v_slice].any()}


def _disables_gravity(model: Any) -> bool:
    import mujoco

    return bool(model.opt.disableflags & mujoco.mjtDisableBit.mjDSBL_GRAVITY)
