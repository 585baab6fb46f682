"""The start of ``simulate``: robots that stand, with the drives that hold them, and others at rest."""

from __future__ import annotations

import contextlib
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import numpy as np

from vitree.cli.base import option
from vitree.cli.names import is_vehicle
from vitree.cli.options import Robot, Start, Steps, Things, find, numbers, places_itself
from vitree.cli.words import blaming
from vitree.cli.worlds import on_ground, world_of
from vitree.errors import InputError, ModelError
from vitree.mechanism.contacts import LIMITS
from vitree.model.model import Model
from vitree.model.system import System

if TYPE_CHECKING:
    from vitree.model.keyframes import Keyframe
    from vitree.worlds.world import Held

#: Gains of drives that hold a robot: kp over its weight times the height of its center of mass, and kd over kp [s].
STIFFNESS, DAMPING = 10.0, 0.1
#: Methods that know contacts, and solve for drives.
HOLDING = ("linear-time", "midpoint")
#: A mechanism whose accelerations at rest [m/s^2 or rad/s^2] are no larger stays where it is.
EQUILIBRIUM = 1e-9


@dataclass(kw_only=True)
class Stand(Start):
    """The state at the start, and the drives that hold it."""

    q0: Annotated[
        str,
        option(
            "--q0",
            text="Initial configuration: standing (the posture of the robot's SRDF file, on the ground), neutral (all "
            "zeros, quaternions 0,0,0,1; moved into enforced limits), feasible (the same, moved to where limits, loops "
            "and contacts hold together), random (within the joint limits, from --seed), nq numbers separated by "
            "commas, in m, rad and quaternions x,y,z,w, or a keyframe that vitree play saved, as FILE.toml#NAME, with "
            "its velocity and targets. auto: standing for legged robots, such as talos, unless --v0 is random; "
            "otherwise neutral.",
        ),
    ] = "auto"
    v0: Annotated[
        str,
        option(
            "--v0",
            text="Initial velocity: zero, random (normally distributed with standard deviation --speed, from --seed), "
            "or nv numbers separated by commas, in m/s and rad/s. auto: zero; random for vehicles, and for mechanisms "
            "that start in equilibrium, such as pendulum.",
        ),
    ] = "auto"
    drives: Annotated[
        str,
        option(
            "--drives",
            text="Gains kp,kd of PD drives on all joints with one coordinate, in N m/rad and N m s/rad (N/m and N "
            "s/m); the targets are the initial coordinates. none: no drives. auto: for a standing robot drives that "
            "can hold its weight; otherwise none.",
        ),
    ] = "auto"

    def prepare(
        self, robot: Robot, run: Steps, method: str | None
    ) -> tuple[System, np.ndarray, np.ndarray, dict[str, float] | None, str]:
        """Return the system, q (nq,), v (nv,), the targets of its drives by joints, and a line on them.

        Without drives of ours there are no targets, and the line is empty.
        """
        gains = self._gains()
        posture = self._posture(robot, run, method)
        if posture is not None:
            limits = "enforce" if robot.limits == LIMITS[0] else robot.limits
            robot = replace(robot, ground=True, limits=limits)
        system = run.system(robot)
        frame = self.keyframe()
        placed = robot.ground and not places_itself(robot.robot)
        q, v = (self if frame is None else replace(self, q0="auto"))._state(system, posture, placed)
        if gains is None and (posture is None or self.drives == "none"):
            return system, *self._at(frame, system, q, v), None, ""
        if not isinstance(system, Model):
            raise InputError(f'--drives: "{system.name}" is a vehicle, which has no joints to drive; leave it out')
        with blaming("--drives"):
            kp, kd = gains or _holding(system, q)
            driven = system.with_drives({"*": (kp, kd)})
        told = f"held by drives with kp = {kp:.4g} N m/rad, kd = {kd:.4g} N m s/rad"
        told = told if posture is None or frame is not None else f"starts standing, {told}"
        targets = _targets(driven, q, balanced=gains is None)
        if frame is not None:
            targets |= {joint: value for joint, (value,) in frame.targets.items() if joint in targets}
        return driven, *self._at(frame, driven, q, v), targets, told

    def _at(
        self, frame: Keyframe | None, system: System, q: np.ndarray, v: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray]:
        """Return q and v of a keyframe, if there is one, and its v unless another is asked for."""
        if frame is None or not isinstance(system, Model):
            return q, v
        with blaming("--q0"):
            q, own = frame.state(system)
        return q, own if self.v0 == "auto" else v

    def prepare_world(
        self, things: Things, run: Steps
    ) -> tuple[Model, np.ndarray, np.ndarray, Held, str]:
        """Return the model of a scene or of several things, q (nq,), v (nv,), what drives it, and a line on it."""
        from vitree.model.starts import near_start
        from vitree.run.bench import undamped

        gains = self._gains()
        world, placed = world_of(things, run.gravity)
        model = undamped(world.compile()) if not run.damping else world.compile()
        if gains is not None:
            with blaming("--drives"):
                model = model.with_drives({"*": gains})
        q, v = world.start(model)
        frame = self.keyframe()
        if self.q0 not in ("auto", "neutral", "standing"):
            q, v = (self.configuration(model), v) if frame is None else self._at(frame, model, q, v)
        else:
            q = near_start(model, q if placed else on_ground(world, model, q))
        if self.v0 not in ("auto", "zero"):
            v = replace(self, q0="neutral").of(model)[1]
        told = f"{len(world.things)} things: {', '.join(world.things)}"
        held = world.held(model, q)
        if frame is not None:
            held.targets.update({joint: x for joint, (x,) in frame.targets.items() if joint in held.targets})
        return model, q, v, held, told

    def _state(
        self, system: System, posture: Mapping[str, tuple[float, ...]] | None, ground: bool | None
    ) -> tuple[np.ndarray, np.ndarray]:
        start = replace(self, q0="neutral" if self.q0 in ("auto", "standing") else self.q0,
                        v0="zero" if self.v0 == "auto" else self.v0)  # fmt: skip
        q, v = start.of(system, ground)
        if posture is not None and isinstance(system, Model):
            return _standing(system, posture), v
        if self.v0 == "auto" and (not isinstance(system, Model) or _rests(system, q)):
            return replace(start, v0="random").of(system, ground)
        return q, v

    def _gains(self) -> tuple[float, float] | None:
        if self.drives in ("auto", "none"):
            return None
        found = numbers("--drives", self.drives)
        if len(found) != 2 or not all(0 <= gain < np.inf for gain in found):
            raise InputError(f'--drives "{self.drives}" must be kp,kd, two numbers of zero or more, or auto or none')
        return found[0], found[1]

    def _posture(self, robot: Robot, run: Steps, method: str | None) -> Mapping[str, tuple[float, ...]] | None:
        """Return the coordinates of joints where the robot stands; None if it is not to stand."""
        frame = self.keyframe()
        if frame is not None and not frame.targets:
            return None
        if frame is None and (self.q0 not in ("auto", "standing") or (self.q0 == "auto" and self.v0 == "random")):
            return None
        posture, why = _known_posture(robot, run, method)
        if posture is None and self.q0 == "standing":
            raise InputError(f"--q0 standing: {why}; give neutral, feasible, random or numbers")
        return posture


def _known_posture(robot: Robot, run: Steps, method: str | None) -> tuple[Mapping[str, tuple[float, ...]] | None, str]:
    """Return the posture in which a robot can stand in a run; None, and why, if it cannot."""
    from vitree.mjcf.files import is_mjcf
    from vitree.sdf.reader import is_sdf
    from vitree.urdf.robots import suggest_base
    from vitree.urdf.srdf import standing_posture

    name = robot.robot
    if robot.ground is False:
        return None, "a robot stands on a ground, and --no-ground is given"
    if is_vehicle(name) or name.endswith(".sexpr") or is_mjcf(path := find(name)) or is_sdf(path):
        return None, f"no standing posture of {name} is known"
    if (posture := standing_posture(Path(path))) is None:
        return None, f"no standing posture of {name} is known"
    base = suggest_base(path, robot.trust, robot.inertia) if robot.base == "auto" else robot.base
    if base != "free":
        return None, f"the base of {name} is {base}; a robot stands with --base free"
    if (method or HOLDING[0]) not in HOLDING or run.order != 2:
        return None, f"a robot stands on contacts and stiff drives, for {' and '.join(HOLDING)} of --order 2"
    gravity = numbers("--gravity", run.gravity)
    if len(gravity) != 3 or any(gravity[:2]) or not gravity[2] < 0:
        return None, "a robot stands under a gravity that points down"
    return posture, ""


def _standing(model: Model, posture: Mapping[str, tuple[float, ...]]) -> np.ndarray:
    """Return the configuration (nq,) of a posture on the ground."""
    from vitree.model.closures import satisfy_constraints
    from vitree.model.configurations import within_limits
    from vitree.model.placement import place_on_ground
    from vitree.model.starts import near_start

    q = model.neutral()
    for joint in model.joints[1:]:  # the first is the base
        place = joint.q_slice
        if len(values := posture.get(joint.name, ())) == place.stop - place.start:
            q[place] = values
    q = within_limits(model, q)
    return near_start(model, place_on_ground(model, satisfy_constraints(model, q) if model.constraints else q))


def _rests(model: Model, q: np.ndarray) -> bool:
    """Whether a mechanism that is at rest stays so, as far as its accelerations tell."""
    with contextlib.suppress(ModelError):
        still = np.zeros(model.nv)
        return not model.constraints and bool(np.abs(model.aba(q, still, still)).max(initial=0.0) < EQUILIBRIUM)
    return False


def _holding(model: Model, q: np.ndarray) -> tuple[float, float]:
    """Return gains kp and kd that hold a robot: about its lowest point it is a pendulum upside down."""
    kp = STIFFNESS * model.total_mass * float(np.linalg.norm(model.gravity)) * abs(float(model.center_of_mass(q)[2]))
    return kp, DAMPING * kp


def _targets(model: Model, q: np.ndarray, balanced: bool) -> dict[str, float]:
    """Return the targets of drives by their names: q, or with ``balanced`` those whose torques keep the robot there."""
    from vitree.model.static_equilibrium import NEARLY, static_equilibrium

    found = {drive.joint: float(q[model.joint(drive.joint).q_slice.start]) for drive in model.drives}
    if balanced:
        with contextlib.suppress(ModelError, InputError):
            found |= static_equilibrium(model, q, tolerance=NEARLY, effort_limits=False).targets
    return found
