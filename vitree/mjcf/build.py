"""From a compiled model of MuJoCo to a Tree."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike

from vitree.errors import ModelError, VitreeError
from vitree.geometry.meshes import Meshes
from vitree.mechanism.constraints import Constraint
from vitree.mechanism.contacts import Ground
from vitree.mechanism.flat import Geometry
from vitree.mechanism.loads import BallSpring, Gravity, JointSpring
from vitree.mechanism.unilateral import BallLimit
from vitree.mjcf.actuators import MakeControls, add_actuators
from vitree.mjcf.contacts import add_contacts, drawn
from vitree.mjcf.equalities import equality_constraints, tendon_loads
from vitree.mjcf.names import Findings, Names, listed, matrix
from vitree.model.closures import ROUNDED, independent_constraints
from vitree.model.model import Model
from vitree.spatial.rotations import rotation_about
from vitree.tree.elements import Body, Element, Fixed, Limits, ball, free, screw
from vitree.tree.frames import Frame
from vitree.tree.pairs import prismatic
from vitree.tree.tree import Tree

if TYPE_CHECKING:
    from mujoco import MjModel


class Builder:
    """Adds the parts of a compiled model to a tree.

    Parameters
    ----------
    model : MjModel
    name, file : str
        Of the mechanism, and of the file in findings.
    gravity : (3,) array or None [m/s^2]
        In place of that of the model.
    dry : bool
        Whether friction of joints is dry.
    """

    def __init__(self, model: MjModel, name: str, file: str, gravity: ArrayLike | None, dry: bool):
        self.model, self.dry = model, dry
        self.findings = Findings(file)
        self.names = Names(model, self.findings)
        if gravity is None:
            gravity = np.zeros(3) if self.off("GRAVITY") else np.array(model.opt.gravity)
        self.tree = Tree(name, gravity)
        self.places: dict[int, Frame] = {0: self.tree.world}
        self.controls: MakeControls

    def off(self, bit: str) -> bool:
        """Whether the model disables what a bit stands for."""
        import mujoco

        return bool(self.model.opt.disableflags & getattr(mujoco.mjtDisableBit, f"mjDSBL_{bit}"))

    @property
    def limited(self) -> list[str]:
        """Names of the joints of one coordinate that have limits."""
        model = self.model
        return [name for k, name in enumerate(self.names.joint) if model.jnt_limited[k] and self._one(k)]

    def build(self, limits: str, rebound: Mapping[str, float], contacts: bool, ground: Ground | None,
              meshes: Meshes | dict[str, Meshes], alone: bool = True) -> None:  # fmt: skip
        """Add all parts; arguments as of :func:`vitree.load_mjcf`, ``alone`` as of ``add_contacts``."""
        model, tree, names = self.model, self.tree, self.names
        tree.limits = "ignore" if self.off("LIMIT") or self.off("CONSTRAINT") else limits
        loads, self.controls, efforts = add_actuators(model, names, self.findings)
        shapes, undrawn = drawn(model, 0, "world")
        if shapes:
            tree.world.add(Body("world", inertia=np.zeros((3, 3)), geometry=tuple(shapes), scenery=True))
        for body in range(1, model.nbody):
            parent = self.places[int(model.body_parentid[body])]
            shapes, lost = drawn(model, body, names.body[body])
            undrawn += lost
            self.places[body] = parent.add(*self._elements(body, rebound, efforts), self._body(body, shapes))
        for site in range(model.nsite):
            place = tuple(model.site_pos[site].tolist())
            self.places[int(model.site_bodyid[site])].add(
                Fixed(names.site[site], matrix(model.site_quat[site]), place)
            )
        tree.load(self._springs(), self._lifted(), loads, tendon_loads(model, names, self.findings, tree))
        tree.start = self._start()
        self._constrain()
        if contacts and not (self.off("CONTACT") or self.off("CONSTRAINT")):
            tree.contact(add_contacts(model, names, self.findings, ground, meshes, alone))
        self._tell(undrawn, limits)
        tree.report = self.findings.report()

    # ---- bodies and joints ----------------------------------------------------------------------------

    def _one(self, joint: int) -> bool:
        """Whether a joint has one coordinate."""
        return int(self.model.jnt_type[joint]) > 1

    def _body(self, body: int, shapes: list[Geometry]) -> Body:
        """Return a body; MuJoCo has checked its inertia."""
        model = self.model
        R = matrix(model.body_iquat[body])
        tensor = R * model.body_inertia[body] @ R.T
        com = tuple(model.body_ipos[body].tolist())
        tensor = 0.5 * (tensor + tensor.T)
        return Body(self.names.body[body], float(model.body_mass[body]), com, tensor, tuple(shapes))

    def _elements(self, body: int, rebound: Mapping[str, float], efforts: Mapping[str, float]) -> list[Element]:
        """Return what leads from the parent to a body: its place, and its joints in their order."""
        import mujoco

        model, kinds = self.model, mujoco.mjtJoint
        first, count = int(model.body_jntadr[body]), int(model.body_jntnum[body])
        joints = list(range(first, first + count))
        if joints and int(model.jnt_type[first]) == kinds.mjJNT_FREE:  # its coordinates are the place in the world
            return [free(self.names.joint[first], **self._numbers(first, {}, {}))]
        place = Fixed(None, matrix(model.body_quat[body]), tuple(model.body_pos[body].tolist()))
        elements: list[Element] = [place]
        for joint in joints:
            name, kind = self.names.joint[joint], int(model.jnt_type[joint])
            at, axis = np.array(model.jnt_pos[joint]), np.array(model.jnt_axis[joint])
            numbers = self._numbers(joint, rebound, efforts)
            start = float(model.qpos0[model.jnt_qposadr[joint]])
            if kind == kinds.mjJNT_BALL:
                elements += [Fixed(None, None, tuple(at.tolist())), ball(name, **numbers),
                             Fixed(None, None, tuple((-at).tolist()))]  # fmt: skip
            elif kind == kinds.mjJNT_SLIDE:
                elements += [Fixed(None, None, tuple((-start * axis).tolist()))] if start else []
                elements.append(prismatic(name, axis, **numbers))
            else:
                if start:  # q is qpos: the body stands as it is drawn where the joint has its reference
                    R = rotation_about(axis, -start)
                    elements.append(Fixed(None, R, tuple((at - R @ at).tolist())))
                elements.append(screw(name, axis, at, **numbers))
        return elements

    def _numbers(self, joint: int, rebound: Mapping[str, float], efforts: Mapping[str, float]) -> Limits:
        """Return damping, friction, armature and limits of a joint."""
        model, name = self.model, self.names.joint[joint]
        first = int(model.jnt_dofadr[joint])
        nv = {0: 6, 1: 3}.get(int(model.jnt_type[joint]), 1)
        dof = slice(first, first + nv)
        damping = np.zeros(nv) if self.off("DAMPER") else np.array(model.dof_damping[dof])
        friction = np.zeros(nv) if self.off("FRICTIONLOSS") or self.off("CONSTRAINT") else model.dof_frictionloss[dof]
        armature = np.array(model.dof_armature[dof])
        for field, rule, text in (
            ("dof_dampingpoly", "joint-damping", "damping that is not linear"),
            ("jnt_stiffnesspoly", "joint-spring", "a spring that is not linear"),
        ):
            rows = getattr(model, field, None)
            if rows is not None and rows[dof if field.startswith("dof") else joint].any():
                self.findings.say(rule, f'{text}, of the joint "{name}"')
        rows = getattr(model, "jnt_springyield", None)
        if rows is not None and getattr(model, "nplastic", False) and np.any(rows[joint]):
            self.findings.say("joint-spring", f'yielding of the spring of the joint "{name}"')
        if nv > 1:
            for what, values in (("armature", armature), ("friction", friction)):
                if values.any():
                    self.findings.say(f"joint-{what}", f'{what} of the joint "{name}", which has several coordinates')
            if model.jnt_limited[joint]:
                most = float(model.jnt_range[joint][1])
                if self.tree.limits == "enforce" and 0 < most <= math.pi:
                    self.tree.constrain(BallLimit(name, angle=most))
                else:
                    self.findings.say("joint-limit", f'the limit of the ball joint "{name}", of {most:g} rad; '
                                      'limits="enforce" has it')  # fmt: skip
            return {"damping": tuple(damping.tolist())} if damping.any() else {}
        for k in range(len(self.names.actuator)):
            own = (int(model.actuator_trntype[k]) in (0, 1)) and int(model.actuator_trnid[k, 0]) == joint
            square = float(model.actuator_gear[k, 0]) ** 2 if own else 0.0
            armature += square * float(getattr(model, "actuator_armature", np.zeros(k + 1))[k])
            more = np.ravel(getattr(model, "actuator_damping", np.zeros(k + 1))[k])
            damping += 0.0 if self.off("DAMPER") else square * float(more[0])
            poly = getattr(model, "actuator_dampingpoly", np.zeros(k + 1))[k]
            if square and np.any(poly):
                text = f'damping that is not linear, of the actuator "{self.names.actuator[k]}"'
                self.findings.say("joint-damping", text)
        numbers: Limits = {}
        if damping[0]:
            numbers["damping"] = float(damping[0])
        if armature[0]:
            numbers["armature"] = float(armature[0])
        if friction[0]:
            numbers["dry_friction" if self.dry else "friction"] = float(friction[0])
        if model.jnt_limited[joint]:
            numbers["lower"], numbers["upper"] = model.jnt_range[joint].tolist()
            numbers["limit_restitution"] = rebound.get(name, 0.0)
        effort = efforts.get(name, math.inf)
        if model.jnt_actfrclimited[joint]:
            if getattr(model, "jnt_actgravcomp", np.zeros(joint + 1))[joint] and model.body_gravcomp.any():
                self.findings.say("actuator-limit", f'the limit of force on the joint "{name}": MuJoCo counts the '
                                  "compensation of gravity in it (actuatorgravcomp), vitree does not")  # fmt: skip
            effort = min(effort, float(np.abs(model.jnt_actfrcrange[joint]).max()))
        if 0 < effort < math.inf:
            numbers["effort"] = effort
        return numbers

    def _start(self) -> dict[str, ArrayLike]:
        """Return the coordinates of joints in ``qpos0``, within limits that hold, but for those that are neutral."""
        model, found = self.model, dict[str, ArrayLike]()
        for joint, name in enumerate(self.names.joint):
            first, kind = int(model.jnt_qposadr[joint]), int(model.jnt_type[joint])
            q = np.array(model.qpos0[first : first + (7, 4, 1, 1)[kind]], dtype=float)
            if kind < 2:  # free, ball
                q[-4:] = np.roll(q[-4:], -1)  # (w, x, y, z) there
            elif model.jnt_limited[joint] and self.tree.limits == "enforce":
                q = np.clip(q, *model.jnt_range[joint])
            if q[:-1].any() or q[-1] != (1.0 if kind < 2 else 0.0):
                found[name] = tuple(q.tolist())
        return found

    # ---- loads and constraints ----------------------------------------------------------------------------

    def _springs(self) -> list[JointSpring | BallSpring]:
        """Return the springs of joints of one coordinate and of ball joints."""
        model, found = self.model, list[JointSpring | BallSpring]()
        for joint, name in enumerate(self.names.joint):
            stiffness = 0.0 if self.off("SPRING") else float(model.jnt_stiffness[joint])
            if stiffness and self._one(joint):
                rest = float(model.qpos_spring[model.jnt_qposadr[joint]])
                found.append(JointSpring(name, stiffness, rest))
            elif stiffness and int(model.jnt_type[joint]) == 1:
                first = int(model.jnt_qposadr[joint])
                rest_at = np.roll(model.qpos_spring[first : first + 4], -1)  # (w, x, y, z) there
                found.append(BallSpring(name, stiffness, tuple(rest_at.tolist())))
            elif stiffness:
                self.findings.say("joint-spring", f'the spring of the joint "{name}", which has several coordinates')
        return found

    def _lifted(self) -> list[Gravity]:
        """Return what compensates gravity, by the share of each body that has one."""
        shares: dict[float, list[str]] = {}
        for body in range(1, self.model.nbody):
            if share := float(self.model.body_gravcomp[body]):
                shares.setdefault(share, []).append(self.names.body[body])
        gravity = self.tree.gravity
        return [Gravity(tuple(links), tuple((-share * gravity).tolist())) for share, links in shares.items()
                if gravity.any()]  # fmt: skip

    def _constrain(self) -> None:
        """Add constraints, without those that the mechanism implies."""
        tree = self.tree
        rows = equality_constraints(self.model, self.names, self.findings, self.places)
        if not rows:
            return
        tree.constrain(rows)
        try:
            kept = independent_constraints(Model(tree.flatten()))
        except ModelError as error:
            raise ModelError(f"{self.findings.file}: its equalities cannot be constraints: {error}") from None
        around: Sequence[Constraint] = kept
        tree.constraints = kept
        with suppress(VitreeError):  # the start may not satisfy them
            model = Model(tree.flatten())
            around = independent_constraints(model, model.start, ROUNDED)
        if len(around) < len(rows):
            where = ", some of them around the start only, where a run must start" if len(around) < len(kept) else ""
            self.findings.say("loops", f"{len(rows) - len(around)} of {len(rows)} equations of equalities are "
                              f"redundant and omitted{where}")  # fmt: skip
        tree.constraints = list(around)

    # ---- what is left out -----------------------------------------------------------------------------------

    def _tell(self, undrawn: int, limits: str) -> None:
        """Note what else is left out."""
        model, say = self.model, self.findings.say
        if model.opt.density or model.opt.viscosity:
            say("fluid", f"forces of the fluid around it: density {model.opt.density:g}, viscosity "
                f"{model.opt.viscosity:g}")  # fmt: skip
        if mocap := [self.names.body[b] for b in range(model.nbody) if model.body_mocapid[b] >= 0]:
            say("body", f"mocap bodies, which do not move: {listed(mocap)}")
        for count, rule, what in (("nflex", "body", "flexible bodies"), ("nplugin", "plugin", "plugins")):
            if number := int(getattr(model, count, 0)):
                say(rule, f"{what}: {number}")
        if self.limited:
            say("limits", {
                "report": "joint limits are not enforced; a run warns if a joint exceeds one",
                "enforce": "joint limits are enforced, exactly; MuJoCo's are soft",
                "ignore": "joint limits are kept as data",
            }[self.tree.limits])  # fmt: skip
        rubbing = [name for k, name in enumerate(self.names.joint)
                   if self._one(k) and model.dof_frictionloss[model.jnt_dofadr[k]]]  # fmt: skip
        if rubbing and not (self.dry or self.off("FRICTIONLOSS") or self.off("CONSTRAINT")):
            text = "joint friction is regularised, so loaded joints creep; friction=\"dry\" makes it exact: "
            say("friction", text + listed(rubbing))
        if len(self.names.actuator):
            say("actuators", "controls of actuators are inputs; Controls makes these of MuJoCo's ctrl")
        more = {"cameras": model.ncam, "lights": model.nlight, "skins": model.nskin,
                "geoms that are not drawn (height fields, large meshes and others)": undrawn}  # fmt: skip
        if lost := [f"{what}: {count}" for what, count in more.items() if count]:
            say("drawing", ", ".join(lost))
        if model.nsensor:
            say("sensor", f"sensors: {model.nsensor}; vt.Imu, vt.ForceTorque and vt.Encoder are")
        say("option", f"MuJoCo's integrator, solver, cone and time step of {model.opt.timestep:g} s")
