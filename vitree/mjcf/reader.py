"""From MJCF, by MuJoCo's compiler, to a Tree and a Model, with the way between the states."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NamedTuple, TypedDict, Unpack

import numpy as np
from numpy.typing import ArrayLike

from vitree.engines.mujoco import States
from vitree.errors import InputError, ModelError, UnknownNameError, VitreeError
from vitree.findings import Finding, Report
from vitree.geometry.meshes import GivenMeshes, checked_meshes
from vitree.mechanism.contacts import LIMITS, Ground
from vitree.mjcf.actuators import Controls, MakeControls
from vitree.mjcf.build import Builder
from vitree.mjcf.files import compiled
from vitree.mjcf.names import left_out
from vitree.model.model import Model
from vitree.model.starts import near_start, start_beside
from vitree.tree.tree import Tree
from vitree.urdf.paths import Packages
from vitree.urdf.transmissions import checked_numbers, numbers_by

if TYPE_CHECKING:
    from mujoco import MjModel

#: The name of a model that has none.
UNNAMED = "MuJoCo Model"
FRICTION = ("smooth", "dry")


class Keyframe(NamedTuple):
    """A state that a model has by name.

    Attributes
    ----------
    q : (nq,) array [m or rad]
    v : (nv,) array [m/s or rad/s]
    inputs : (nu,) array
        Of the controls of the keyframe.
    """

    q: np.ndarray
    v: np.ndarray
    inputs: np.ndarray


@dataclass(frozen=True, eq=False)
class MujocoRobot:
    """A model of MuJoCo as a Tree, with the way between the states of both; made by :func:`from_mujoco`.

    Attributes
    ----------
    mujoco : MjModel
    tree : Tree
        It can be edited; ``model`` is made of it when it is first asked for.
    controls : Controls
        ``controls(ctrl)`` are the inputs (nu,) of the model for MuJoCo's controls.
    """

    mujoco: MjModel
    tree: Tree
    _controls: MakeControls = field(repr=False)

    @functools.cached_property
    def model(self) -> Model:
        """The model of the tree."""
        return Model(self.tree.flatten())

    @functools.cached_property
    def _states(self) -> States:
        return States(self.model)

    @functools.cached_property
    def controls(self) -> Controls:
        """The way from MuJoCo's controls to inputs."""
        return self._controls(self.model.input_names)

    @property
    def report(self) -> Report:
        """All findings, those that change the motion first."""
        return self.tree.report

    @property
    def left_out(self) -> Report:
        """What was not taken, one finding each."""
        return left_out(self.tree.report)

    def to_mujoco(self, q: ArrayLike, v: ArrayLike) -> tuple[np.ndarray, np.ndarray]:
        """Return MuJoCo's qpos (nq,) and qvel (nv,) of a state ``q`` (nq,), ``v`` (nv,) [m, rad, m/s, rad/s].

        Raises
        ------
        InputError
            If an array has a wrong shape, or entries that are not finite.
        """
        return self._states.to_mujoco(q, v)

    def from_mujoco(self, qpos: ArrayLike, qvel: ArrayLike) -> tuple[np.ndarray, np.ndarray]:
        """Return q (nq,) and v (nv,) of MuJoCo's ``qpos`` (nq,) and ``qvel`` (nv,) [m, rad, m/s, rad/s].

        Raises
        ------
        InputError
            If an array has a wrong shape, or entries that are not finite.
        """
        return self._states.from_mujoco(qpos, qvel)

    @property
    def start(self) -> np.ndarray:
        """The configuration (nq,) in which the model is drawn, ``qpos0`` [m or rad]; within limits that hold.

        Where a :func:`vitree.feasible_start` is within 1 cm and 1 degree of it, it is that. Where there is none, it is
        that of the first keyframe that leads to one, which the finding ``mjcf-start`` tells.
        """
        return near_start(self.model, self.model.start)

    @functools.cached_property
    def keyframes(self) -> dict[str, Keyframe]:
        """The keyframes by their names; those without one are "key0", "key1" ...

        Where a :func:`vitree.feasible_start` is within 1 cm and 1 degree of a keyframe, its q is that.
        """
        found: dict[str, Keyframe] = {}
        for k in range(self.mujoco.nkey):
            name, q, v = _keyframe(self.mujoco, self._states, k)
            near = near_start(self.model, q)
            if near is not q and self.model.constraints and v.any():
                v = self.model.project_velocity(near, v)
            found[name] = Keyframe(near, v, self.controls(self.mujoco.key_ctrl[k]))
        return found


def from_mujoco(
    source: object,
    *,
    gravity: ArrayLike | None = None,
    name: str | None = None,
    friction: str = "smooth",
    contacts: bool = True,
    ground: Ground | None = None,
    limits: str = "enforce",
    limit_restitution: float | Mapping[str, float] | None = None,
    meshes: GivenMeshes = "hull",
    packages: Packages | None = None,
) -> MujocoRobot:
    """Return a model of MuJoCo as a Tree and a Model, with the way between the states.

    MuJoCo compiles it: defaults, includes, units and frames are then as MuJoCo takes them.

    Parameters
    ----------
    source : MjModel, MjSpec, path or text
        MJCF, or what MuJoCo has made of it.
    gravity : (3,) array, optional [m/s^2]
        In place of that of the model.
    name : str, optional
        Name of the mechanism; by default that of the model, or of the file.
    friction : {"smooth", "dry"}
        How to treat ``frictionloss`` of joints, as the friction of :func:`vitree.load_urdf`.
    contacts : bool
        Whether geoms touch planes and each other.
    ground : Ground, optional
        In place of the planes of the model.
    limits : {"enforce", "report", "ignore"}
        Treatment of joint limits: enforced; a run that exceeds one says so in ``traj.warnings``; or no treatment.
    limit_restitution : float, or mapping of str to float, optional
        As of :func:`vitree.load_urdf`.
    meshes : {"hull", "parts", "triangles"}, Meshes, or mapping of str to these
        How meshes touch, as of :func:`vitree.load_urdf`, by names or patterns of names of bodies; "world" is the world.
        MuJoCo takes their convex hulls.
    packages : path or list of paths, optional
        Folders whose files the model may open, beside those of its own folder, the one above it, and its package. A
        text may open files near the working directory. What MuJoCo has made already is not looked at.

    Returns
    -------
    MujocoRobot

    Raises
    ------
    MissingExtraError
        If MuJoCo is not installed (extra "mjcf").
    ModelError
        If MuJoCo does not compile it, nothing moves, it cannot be modelled, or it names files of other folders.
    InputError
        If an option is not known.
    UnknownNameError
        If a pattern of ``limit_restitution`` fits no joint, or one of ``meshes`` no body with a mesh that touches.

    Notes
    -----
    Joints are in MuJoCo's order, and q is qpos but for the order of quaternions: (x, y, z, w) here. The linear velocity
    of a free joint is in body axes here, and in world axes there. Actuators with gains are drives, whose targets are
    inputs with the names of the actuators; actuators without gains are forces on joints, or on sites. Equalities are
    constraints, which hold exactly. ``report`` has what was not taken: a warning is about the motion.
    """
    return _read(source, gravity=gravity, name=name, friction=friction, contacts=contacts, ground=ground, limits=limits,
                 limit_restitution=limit_restitution, meshes=meshes, packages=packages)  # fmt: skip


def read_part(source: object, **options: Unpack[MjcfOptions]) -> MujocoRobot:
    """Return a model of MuJoCo as a part of a world; options and errors as of :func:`from_mujoco`.

    All geoms that can touch have contacts, also those that meet nothing of the model, and nothing has to move.
    """
    _require_known(options)
    return _read(source, alone=False, **options)


def _read(
    source: object, *, gravity: ArrayLike | None = None, name: str | None = None, friction: str = FRICTION[0],
    contacts: bool = True, ground: Ground | None = None, limits: str = "enforce",
    limit_restitution: float | Mapping[str, float] | None = None, meshes: GivenMeshes = "hull",
    packages: Packages | None = None, alone: bool = True,
) -> MujocoRobot:  # fmt: skip
    """The same as :func:`from_mujoco`, or of a part of a world."""
    for option, value, choices in (("friction", friction, FRICTION), ("limits", limits, LIMITS)):
        if value not in choices:
            words = ", ".join(f'"{word}"' for word in choices)
            raise InputError(option, value, f"must be one of {words}")
    given = checked_meshes(meshes)
    rebound_of = checked_numbers("limit_restitution", limit_restitution)
    warnings: list[str] = []
    model, file, path = compiled(source, warnings, packages)
    own = model.names.partition(b"\0")[0].decode("utf-8", "replace")
    usual = (path.stem if path is not None else "robot") if own in ("", UNNAMED) else own
    builder = Builder(model, name or usual, file, gravity, friction == "dry")
    for text in warnings:
        builder.findings.say("compiler", f"MuJoCo: {' '.join(text.split())}")
    rebound = numbers_by("limit_restitution", rebound_of, builder.limited, {}, "joint with limits")
    try:
        builder.build(limits, rebound, contacts, ground, given, alone)
        if alone:
            builder.tree.flatten()
    except ModelError as error:
        raise ModelError(f"{file}: {error}") from None
    if model.nkey:
        with suppress(VitreeError):  # what cannot run says so when it is to run
            if told := _start_at_keyframe(model, builder.tree):
                builder.findings.say("start", told)
                builder.tree.report = builder.findings.report()
    return MujocoRobot(model, builder.tree, builder.controls)


def _keyframe(model: MjModel, states: States, k: int) -> tuple[str, np.ndarray, np.ndarray]:
    """Return name, q (nq,) and v (nv,) of a keyframe [m, rad, m/s, rad/s]."""
    import mujoco

    name = mujoco.mj_id2name(model, mujoco.mjtObj.mjOBJ_KEY, k) or f"key{k}"
    return name, *states.from_mujoco(model.key_qpos[k], model.key_qvel[k])


def _start_at_keyframe(model: MjModel, tree: Tree) -> str:
    """Let a tree start at a keyframe if no feasible start is near ``qpos0``; return the text of a finding, or ""."""
    whole = Model(tree.flatten())
    drawn = start_beside(whole, whole.start)
    if drawn is not None and drawn.near:
        return ""
    states = States(whole)
    for k in range(model.nkey):
        name, q, _ = _keyframe(model, states, k)
        if (found := start_beside(whole, q)) is not None:
            tree.start = {joint.name: tuple(found.q[joint.q_slice].tolist()) for joint in whole.joints}
            far = f"the base by {found.base:.2g} m"
            if found.joint:
                far = f'"{found.joint}" by {found.displacement:.2g} m or rad'
            moved = "" if found.near else f", moved to where they do, {far} at most"
            return f'limits, equalities and contacts do not hold near qpos0; runs start at the keyframe "{name}"{moved}'
    return ""


#: Options of :func:`from_mujoco`.
_OPTIONS = tuple(inspect.signature(from_mujoco).parameters)[1:]


def _require_known(options: Mapping[str, object]) -> None:
    for name in options:
        if name not in _OPTIONS:
            raise UnknownNameError("option", name, _OPTIONS, argument=name)


class MjcfOptions(TypedDict, total=False):
    """Options of :func:`from_mujoco`, as other functions take them."""

    gravity: ArrayLike | None
    name: str | None
    friction: str
    contacts: bool
    ground: Ground | None
    limits: str
    limit_restitution: float | Mapping[str, float] | None
    meshes: GivenMeshes
    packages: Packages | None


def load_mjcf(source: object, **options: Unpack[MjcfOptions]) -> Model:
    """Return the Model of an MJCF file or text; :func:`from_mujoco` has the tree, keyframes and states as well.

    Parameters
    ----------
    source : path, text, MjModel or MjSpec
    **options
        As of :func:`from_mujoco`.

    Returns
    -------
    Model
        ``model.report`` has what was not taken.

    Raises
    ------
    MissingExtraError
        If MuJoCo is not installed (extra "mjcf").
    ModelError
        If MuJoCo does not compile it, nothing moves, or it cannot be modelled.
    InputError, UnknownNameError
        If an option is wrong, or not known.
    """
    _require_known(options)
    return from_mujoco(source, **options).model


def check_mjcf(source: object, **options: Unpack[MjcfOptions]) -> Report:
    """Return all findings in an MJCF model; what MuJoCo does not compile is a finding, too.

    Parameters
    ----------
    source, **options
        As of :func:`from_mujoco`.

    Returns
    -------
    Report

    Raises
    ------
    MissingExtraError
        If MuJoCo is not installed (extra "mjcf").
    InputError, UnknownNameError
        If an option is wrong, or not known.
    """
    _require_known(options)
    try:
        return from_mujoco(source, **options).report
    except ModelError as error:
        return Report([Finding("mjcf-model", "error", error.args[0])])
