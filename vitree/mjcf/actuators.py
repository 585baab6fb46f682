"""Actuators: as drives, and as forces that are inputs; and the way from MuJoCo's ctrl to these inputs."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike

from vitree.arguments import entries
from vitree.mechanism.drives import Drive
from vitree.mechanism.loads import JointForce, Load, Wrench
from vitree.mjcf.names import Findings, Names, listed
from vitree.spatial.checks import frozen

if TYPE_CHECKING:
    from mujoco import MjModel


@dataclass(frozen=True, eq=False)
class Controls:
    """The way from MuJoCo's controls to the inputs of a model: u = matrix clip(gain clip(ctrl) + offset).

    Attributes
    ----------
    names : tuple of str
        Of the actuators, in MuJoCo's order.
    gain, offset : (n,) arrays
        Of each actuator's force; zero of one that is left out.
    ctrl_range, force_range : (n, 2) arrays
    matrix : (nu, n) array
        For each input of the model, in the order of ``model.input_names``.
    places : (n,) array of int
        Of the actuators' controls in ``ctrl``.
    size : int
        Of ``ctrl``.
    """

    names: tuple[str, ...]
    gain: np.ndarray
    offset: np.ndarray
    ctrl_range: np.ndarray
    force_range: np.ndarray
    matrix: np.ndarray
    places: np.ndarray
    size: int

    def __post_init__(self) -> None:
        for name, value in vars(self).items():
            object.__setattr__(self, name, frozen(value))

    def __call__(self, ctrl: ArrayLike) -> np.ndarray:
        """Return the inputs (nu,) of the model for MuJoCo's ``ctrl``, in the units of each actuator."""
        given = np.clip(entries(ctrl, (self.size,), "ctrl")[self.places], *self.ctrl_range.T)
        found: np.ndarray = self.matrix @ np.clip(self.gain * given + self.offset, *self.force_range.T)
        return found


class _Row:
    """An actuator that is taken: the force gain ctrl + offset - kp length - kv speed, and what it acts on."""

    def __init__(self, number: int, name: str, offset: float, kp: float, kv: float, limits: tuple[float, float]):
        self.number, self.name, self.offset, self.kp, self.kv, self.limits = number, name, offset, kp, kv, limits
        self.gain = 0.0


#: Actuators by the joints on which they act, each with its factor.
Rows = Mapping[int, list[tuple[_Row, float]]]


#: What makes the controls for the names of a model's inputs.
MakeControls = Callable[[tuple[str, ...]], Controls]


def add_actuators(
    model: MjModel, names: Names, findings: Findings
) -> tuple[list[Load | Drive], MakeControls, dict[str, float]]:
    """Return the loads of the actuators, a function from ``model.input_names`` to Controls, and efforts by joints.

    Parameters
    ----------
    model : MjModel
    names : Names
    findings : Findings
    """
    import mujoco

    count = len(names.actuator)
    gain, offset = np.zeros(count), np.zeros(count)
    ctrl = np.tile((-math.inf, math.inf), (count, 1))
    force = ctrl.copy()
    columns: dict[str, np.ndarray] = {}
    loads: list[Load | Drive] = []
    servos: dict[int, list[tuple[_Row, float]]] = defaultdict(list)
    motors: dict[int, list[tuple[_Row, float]]] = defaultdict(list)
    shared: set[int] = set()  # joints with a limit of what all actuators do to them, which sites push as well
    trn, off = mujoco.mjtTrn, mujoco.mjtDisableBit
    places = np.array(getattr(model, "actuator_ctrladr", np.arange(count)), int)

    def controls(known: tuple[str, ...]) -> Controls:
        table = np.array([columns.get(name, np.zeros(count)) for name in known]).reshape(len(known), count)
        at = places.clip(0, max(int(model.nu) - 1, 0))  # an actuator without a control has none to read
        return Controls(tuple(names.actuator), gain, offset, ctrl, force, table, at, int(model.nu))

    if model.opt.disableflags & off.mjDSBL_ACTUATION:
        if count:
            findings.say("actuator", f"actuators: the model disables them: {listed(names.actuator)}")
        return [], controls, {}

    def push(key: str, row: _Row, factor: float) -> str:
        columns.setdefault(key, np.zeros(count))[row.number] += factor
        return key

    for k, name in enumerate(names.actuator):
        row, why = _row_of(model, k, name)
        if row is None:
            findings.say("actuator", f'the actuator "{name}": {why}')
            continue
        kind, target, gear = int(model.actuator_trntype[k]), int(model.actuator_trnid[k, 0]), model.actuator_gear[k]
        springs = row.kp or row.kv
        rows: dict[int, float] = {}
        if kind in (trn.mjTRN_JOINT, trn.mjTRN_JOINTINPARENT):
            if int(model.jnt_type[target]) not in (mujoco.mjtJoint.mjJNT_HINGE, mujoco.mjtJoint.mjJNT_SLIDE):
                findings.say("actuator", f'the actuator "{name}": it acts on a joint of several coordinates')
                continue
            rows = {target: float(gear[0])}
        elif kind == trn.mjTRN_TENDON:
            rows = {joint: float(gear[0]) * factor for joint, factor in (fixed_tendon(model, target) or {}).items()}
            if not rows or (springs and len(rows) > 1):
                what = "a spatial tendon" if not rows else "a tendon of several joints, with gains"
                findings.say("actuator", f'the actuator "{name}": it acts on {what}')
                continue
        elif kind == trn.mjTRN_SITE and model.actuator_trnid[k, 1] < 0 and not springs:
            frame = names.site[target]
            parts = [("force", i) for i in range(3)] + [("torque", i) for i in range(3)]
            used = [(part, i, x) for (part, i), x in zip(parts, gear.tolist(), strict=True) if x]
            put: dict[str, list[float | str]] = {"force": [0.0] * 3, "torque": [0.0] * 3}
            for part, i, factor in used:
                key = name if len(used) == 1 else f"{name} {part} {'xyz'[i]}"
                put[part][i] = push(key, row, factor)
            if used:
                loads.append(Wrench(frame, tuple(put["torque"]), tuple(put["force"]), "local"))
                shared |= _limited_above(model, int(model.site_bodyid[target]))
        else:
            findings.say("actuator", f'the actuator "{name}": its transmission is not supported')
            continue
        rows = {joint: factor for joint, factor in rows.items() if factor}  # without a gear it does nothing
        gain[k], offset[k] = row.gain, row.offset
        if model.actuator_ctrllimited[k] and not model.opt.disableflags & off.mjDSBL_CLAMPCTRL:
            ctrl[k] = model.actuator_ctrlrange[k]
        if springs:
            for joint, factor in rows.items():
                servos[joint].append((row, factor))
            continue
        force[k] = row.limits
        for joint, factor in rows.items():
            motors[joint].append((row, factor))
            key = push(name if len(rows) == 1 else f"{name} {names.joint[joint]}", row, factor)
            loads.append(JointForce(names.joint[joint], key))
    _cap_motors(model, names, findings, motors, servos, force)
    _tell_of_tendons(model, names, findings)
    if shared:
        text = "limits of force of joints, which MuJoCo has for actuators on sites, too: "
        findings.say("actuator-limit", text + listed(names.joint[joint] for joint in sorted(shared)))
    efforts: dict[str, float] = {}
    for joint, motor in motors.items():
        most = sum(abs(factor) * _largest(gain[row.number], row, ctrl[row.number], force[row.number])
                   for row, factor in motor)  # fmt: skip
        if 0 < most < math.inf and joint not in servos:
            efforts[names.joint[joint]] = most
    for joint, drives in servos.items():
        loads.append(_drive(model, names, findings, joint, drives, push))
    return loads, controls, efforts


def _row_of(model: MjModel, k: int, name: str) -> tuple[_Row | None, str]:
    """Return the numbers of an actuator, or None and why it has none."""
    import mujoco

    gains, biases, dynamics = mujoco.mjtGain, mujoco.mjtBias, mujoco.mjtDyn
    if int(model.actuator_dyntype[k]) != dynamics.mjDYN_NONE:
        return None, "it has activation dynamics"
    if int(getattr(model, "actuator_ctrlnum", np.ones(k + 1))[k]) != 1:
        return None, "it has several controls"
    if getattr(model, "actuator_plugin", np.full(k + 1, -1))[k] >= 0:
        return None, "it is a plugin"
    disabled, group = int(getattr(model.opt, "disableactuator", 0)), int(model.actuator_group[k])
    if 0 <= group < 31 and disabled >> group & 1:
        return None, "the model disables its group"
    gain, bias = model.actuator_gainprm[k].tolist(), model.actuator_biasprm[k].tolist()
    kind = int(model.actuator_gaintype[k])
    if kind not in (gains.mjGAIN_FIXED, gains.mjGAIN_AFFINE) or (kind == gains.mjGAIN_AFFINE and any(gain[1:3])):
        return None, "its gain depends on its state, or is that of a muscle"
    if int(model.actuator_biastype[k]) == biases.mjBIAS_NONE:
        bias = [0.0, 0.0, 0.0]
    elif int(model.actuator_biastype[k]) != biases.mjBIAS_AFFINE:
        return None, "its force beside the control is not affine"
    if bias[1] > 0 or bias[2] > 0:
        return None, "its gains are negative: it drives away from its target"
    if np.any(getattr(model, "actuator_delay", np.zeros(k + 1))[k]):
        return None, "its control is delayed; a vt.Controller has a delay"
    limits = (-math.inf, math.inf)
    if model.actuator_forcelimited[k]:
        limits = tuple(model.actuator_forcerange[k].tolist())
    row = _Row(k, name, bias[0], -bias[1], -bias[2], limits)
    row.gain = gain[0]
    return row, ""


def fixed_tendon(model: MjModel, k: int) -> dict[int, float] | None:
    """Return the joints of a fixed tendon and their factors; None of a spatial one."""
    import mujoco

    at = slice(int(model.tendon_adr[k]), int(model.tendon_adr[k] + model.tendon_num[k]))
    if any(kind != mujoco.mjtWrap.mjWRAP_JOINT for kind in model.wrap_type[at].tolist()):
        return None
    found: dict[int, float] = {}
    for joint, factor in zip(model.wrap_objid[at].tolist(), model.wrap_prm[at].tolist(), strict=True):
        found[joint] = found.get(joint, 0.0) + factor
    return found


def _largest(gain: float, row: _Row, ctrl: np.ndarray, force: np.ndarray) -> float:
    """The largest force of an actuator without gains, before its gear."""
    of_ctrl = max(abs(gain * x + row.offset) for x in ctrl.tolist()) if gain else abs(row.offset)
    found: float = min(of_ctrl, max(abs(x) for x in force.tolist()))
    return found


def _cap_motors(
    model: MjModel, names: Names, findings: Findings, motors: Rows, servos: Rows, force: np.ndarray
) -> None:
    """Let limits of the force of all actuators of a joint be those of its only one."""
    for joint, rows in motors.items():
        if not model.jnt_actfrclimited[joint]:
            continue
        row, factor = rows[0]
        alone = len(rows) == 1 and joint not in servos and factor
        if not alone or sum(row.number == each.number for own in motors.values() for each, _ in own) > 1:
            name = names.joint[joint]
            findings.say("actuator-limit", f'the limit of the total force of several actuators on the joint "{name}"')
            continue
        low, high = sorted(x / factor for x in model.jnt_actfrcrange[joint].tolist())
        force[row.number] = max(force[row.number, 0], low), min(force[row.number, 1], high)


def _limited_above(model: MjModel, body: int) -> set[int]:
    """Return the joints between the world and a body that limit what all actuators do to them."""
    found: set[int] = set()
    while body:
        first, count = int(model.body_jntadr[body]), int(model.body_jntnum[body])
        found |= {joint for joint in range(first, first + count) if model.jnt_actfrclimited[joint]}
        body = int(model.body_parentid[body])
    return found


def _tell_of_tendons(model: MjModel, names: Names, findings: Findings) -> None:
    """Tell of what actuators have on tendons and not on joints: armature, damping, and a limit of their sum."""
    import mujoco

    on_tendons = np.flatnonzero(model.actuator_trntype == mujoco.mjtTrn.mjTRN_TENDON).tolist()
    for k in on_tendons:
        fields = {what: getattr(model, f"actuator_{what}", np.zeros(k + 1)) for what in ("armature", "damping")}
        if own := " and ".join(what for what, rows in fields.items() if np.any(rows[k])):
            findings.say("actuator", f'{own} of the actuator "{names.actuator[k]}", which acts on a tendon')
    limited = getattr(model, "tendon_actfrclimited", np.zeros(model.ntendon))
    for tendon in sorted({int(model.actuator_trnid[k, 0]) for k in on_tendons}):
        if limited[tendon]:
            name = names.of("tendon", tendon) or f"tendon{tendon}"
            findings.say("actuator-limit", f'the limit of the actuator force on the tendon "{name}"')


def _drive(model: MjModel, names: Names, findings: Findings, joint: int, rows: list[tuple[_Row, float]],
           push: Callable[[str, _Row, float], str]) -> Drive:  # fmt: skip
    """Return the drive of a joint that has actuators with gains: their sum, if there are several.

    With gains kp, kv and the gear g the force at the joint is g (gain ctrl + offset) - g^2 kp q - g^2 kv v.
    """
    name = names.joint[joint]
    kp = sum(factor * factor * row.kp for row, factor in rows)
    kd = sum(factor * factor * row.kv for row, factor in rows)
    low, high = -math.inf, math.inf
    if len(rows) == 1:
        row, factor = rows[0]
        low, high = sorted(x * factor for x in row.limits)
    elif any(math.isfinite(x) for row, _ in rows for x in row.limits):
        findings.say("actuator-limit", f'the limits of force of each of the actuators with gains on the joint "{name}"')
    if model.jnt_actfrclimited[joint]:
        low, high = max(low, model.jnt_actfrcrange[joint, 0]), min(high, model.jnt_actfrcrange[joint, 1])
    limit = max(-low, high)
    if limit <= 0 or (-low != high):
        findings.say("actuator-limit", f'the limits of force on the joint "{name}" differ by direction: {low:g} to '
                     f"{high:g}; a drive has one, {limit:g}")  # fmt: skip
    key = " + ".join(row.name for row, _ in rows)
    for row, factor in rows:
        push(key, row, factor / (kp or kd))
    most = float(limit) if limit > 0 else math.inf
    aims: tuple[float | str, float | str] = (key, 0.0) if kp else (0.0, key)
    return Drive(name, float(kp), float(kd), effort_limit=most, target=aims[0], target_rate=aims[1])
