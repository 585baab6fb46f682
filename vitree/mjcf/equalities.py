"""Equality constraints and tendons: as constraints, springs and dampers."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from vitree.mechanism.constraints import Constraint, Coupling, gear, point_constraint, weld
from vitree.mechanism.loads import Damper, Load, Spring
from vitree.mechanism.unilateral import Pulley, Rope
from vitree.mjcf.actuators import fixed_tendon
from vitree.mjcf.names import Findings, Names, matrix
from vitree.tree.elements import Fixed
from vitree.tree.frames import Frame
from vitree.tree.tree import Tree

if TYPE_CHECKING:
    from mujoco import MjModel


def equality_constraints(
    model: MjModel, names: Names, findings: Findings, places: dict[int, Frame]
) -> list[Constraint]:
    """Return the constraints of the equalities that are active; frames that they need are added to ``places``.

    Parameters
    ----------
    model : MjModel
    names : Names
    findings : Findings
    places : dict of int to Frame
        Of the bodies.
    """
    import mujoco

    kinds = mujoco.mjtEq
    found: list[Constraint] = []
    off = model.opt.disableflags & (mujoco.mjtDisableBit.mjDSBL_EQUALITY | mujoco.mjtDisableBit.mjDSBL_CONSTRAINT)
    for k in range(model.neq):
        name = names.of("equality", k) or f"equality{k}"
        kind, data = int(model.eq_type[k]), model.eq_data[k]
        one, other = int(model.eq_obj1id[k]), int(model.eq_obj2id[k])
        if off or not model.eq_active0[k]:
            findings.say("equality", f'the equality "{name}": it is not active')
        elif kind in (kinds.mjEQ_CONNECT, kinds.mjEQ_WELD) and _of_mocap(model, k):
            findings.say("equality", f'the equality "{name}": it is of a mocap body, which a program moves')
        elif kind in (kinds.mjEQ_CONNECT, kinds.mjEQ_WELD):
            if int(model.eq_objtype[k]) == mujoco.mjtObj.mjOBJ_SITE:
                a, b = names.site[one], names.site[other]
            else:
                # of a weld the first frame has the place and turn of the second body in the first
                joined = kind == kinds.mjEQ_WELD
                anchors = (data[3:6], data[0:3]) if joined else (data[0:3], data[3:6])
                turns = (matrix(data[6:10]) if joined else np.eye(3), np.eye(3))
                a, b = (
                    _frame(names, places[body], f"{name} {word}", at, turn)
                    for body, word, at, turn in zip((one, other), "ab", anchors, turns, strict=True)
                )
            found += point_constraint(a, b) if kind == kinds.mjEQ_CONNECT else weld(a, b)
        elif kind in (kinds.mjEQ_JOINT, kinds.mjEQ_TENDON):
            coupling, why = _coupling(model, names, kind == kinds.mjEQ_JOINT, one, other, data)
            if coupling is None:
                findings.say("equality", f'the equality "{name}": {why}')
            else:
                found.append(coupling)
        else:
            findings.say("equality", f'the equality "{name}": its kind is not supported')
    return found


def _of_mocap(model: MjModel, k: int) -> bool:
    """Say whether an equality of two bodies or sites holds one at a mocap body."""
    import mujoco

    ends = [int(model.eq_obj1id[k]), int(model.eq_obj2id[k])]
    if int(model.eq_objtype[k]) == mujoco.mjtObj.mjOBJ_SITE:
        ends = [int(model.site_bodyid[site]) for site in ends]
    return any(model.body_mocapid[body] >= 0 for body in ends)


def _frame(names: Names, at: Frame, name: str, position: ArrayLike, rotation: np.ndarray) -> str:
    name = names.new(name)
    at.add(Fixed(name, rotation, tuple(np.asarray(position).tolist())))
    return name


def _coupling(
    model: MjModel, names: Names, of_joints: bool, one: int, other: int, data: np.ndarray
) -> tuple[Coupling | None, str]:
    """Return the coupling y - y0 = a + b (x - x0) of joints or tendons, or None and the reason."""
    if any(data[2:5]):
        return None, "its polynomial is not linear; a vt.Cam follows a profile"
    sides: list[dict[int, float]] = []
    rest = 0.0
    for side, factor in ((one, 1.0), (other, -float(data[1]))):
        if side < 0 or not factor:
            continue
        joints = {side: 1.0} if of_joints else fixed_tendon(model, side)
        if joints is None:
            return None, "it is of a spatial tendon"
        sides.append({joint: factor * x for joint, x in joints.items()})
        start = model.qpos0[model.jnt_qposadr[side]] if of_joints else model.tendon_length0[side]
        rest += factor * float(start)
    factors: dict[str, float] = {}
    for moved in sides:
        for joint, factor in moved.items():
            factors[names.joint[joint]] = factors.get(names.joint[joint], 0.0) + factor
    value = rest + float(data[0])
    if len(factors) != 2:
        return None, f"it is of {len(factors)} joints; a coupling is of two"
    (first, a), (second, b) = factors.items()
    return (gear(first, second, -b, value), "") if a == 1.0 else (Coupling(factors, value), "")


def tendon_loads(model: MjModel, names: Names, findings: Findings, tree: Tree) -> list[Load]:
    """Return springs and dampers of tendons that are straight between two sites.

    Tendons that have an upper limit of their length are ropes of the tree, if it enforces limits.
    """
    import mujoco

    loads: list[Load] = []
    bits = mujoco.mjtDisableBit
    for k in range(model.ntendon):
        name = names.of("tendon", k) or f"tendon{k}"
        at = slice(int(model.tendon_adr[k]), int(model.tendon_adr[k] + model.tendon_num[k]))
        straight = model.wrap_type[at].tolist() == [mujoco.mjtWrap.mjWRAP_SITE] * 2
        stiffness = 0.0 if model.opt.disableflags & bits.mjDSBL_SPRING else float(model.tendon_stiffness[k])
        damping = 0.0 if model.opt.disableflags & bits.mjDSBL_DAMPER else float(model.tendon_damping[k])
        low, high = model.tendon_lengthspring[k].tolist()
        if straight and low == high:
            sites = model.wrap_objid[at].tolist()
            if len({int(model.body_weldid[model.site_bodyid[site]]) for site in sites}) == 1:
                stiffness = damping = 0.0  # it does not change its length
            a, b = (names.site[site] for site in sites)
            loads += [Spring(a, b, stiffness, low)] if stiffness else []
            loads += [Damper(a, b, damping)] if damping else []
            stiffness = damping = 0.0
        limited = bool(model.tendon_limited[k])
        why = ""
        if limited and tree.limits == "enforce":
            rope = _rope(model, names, name, k)
            if isinstance(rope, Rope):
                tree.constrain(rope)
                limited = False
            else:
                why = f" ({rope})" if rope else ""
        others = {"stiffness": stiffness, "damping": damping, f"limits{why}": limited,
                  "friction": model.tendon_frictionloss[k], "armature": _of(model, "tendon_armature", k),
                  "polynomials of stiffness or damping": _of(model, "tendon_stiffnesspoly", k)
                  + _of(model, "tendon_dampingpoly", k)}  # fmt: skip
        lost = [what for what, has in others.items() if has]
        if lost:
            findings.say("tendon", f'the tendon "{name}": {", ".join(lost)}')
    return loads


def _rope(model: MjModel, names: Names, name: str, k: int) -> Rope | str:
    """Return a tendon that may not be longer than its upper limit, and as short as it likes; or why it is none.

    It runs through sites, and around spheres and cylinders between them.
    """
    import mujoco

    low, high = model.tendon_range[k].tolist()
    kinds = mujoco.mjtWrap
    a_site, a_ball, a_cylinder = (int(kind) for kind in (kinds.mjWRAP_SITE, kinds.mjWRAP_SPHERE, kinds.mjWRAP_CYLINDER))
    bodies: set[int] = set()
    points: list[Any] = []
    first = int(model.tendon_adr[k])
    parts = range(first, first + int(model.tendon_num[k]))
    found = {*model.wrap_type[parts.start : parts.stop].tolist()}
    if low > 0 or high <= 0 or int(kinds.mjWRAP_JOINT) in found:
        return ""
    if not found <= {a_site, a_ball, a_cylinder}:
        return "of a tendon with branches"
    for at in parts:
        part = int(model.wrap_objid[at])
        body = int((model.site_bodyid if model.wrap_type[at] == a_site else model.geom_bodyid)[part])
        bodies.add(int(model.body_weldid[body]))
        if model.wrap_type[at] == a_site:
            points.append((names.site[part], (0.0, 0.0, 0.0)))
            continue
        side, ball = int(model.wrap_prm[at]), model.wrap_type[at] == a_ball
        if side >= 0 and model.site_bodyid[side] != body:
            return "its side site moves"
        pulley = Pulley(names.body[body], float(model.geom_size[part, 0]),
                        None if ball else matrix(model.geom_quat[part])[:, 2], model.geom_pos[part])  # fmt: skip
        beside = [int(model.wrap_objid[other]) for other in (at - 1, at + 1)]
        if side >= 0 and pulley.off_axis(model.site_pos[side]) < pulley.radius:
            return "it runs inside of a geom"
        if any(model.site_bodyid[each] == body and pulley.off_axis(model.site_pos[each]) < pulley.radius
               for each in beside):  # fmt: skip
            continue  # from a point inside it is straight
        points.append(pulley if side < 0 else replace(pulley, side=model.site_pos[side]))
    return Rope(tuple(points), high, label=name) if len(bodies) > 1 else ""


def _of(model: MjModel, field: str, k: int) -> float:
    """The largest size of a row of a field that older versions of MuJoCo are without."""
    rows = getattr(model, field, None)
    return 0.0 if rows is None else float(np.abs(rows[k]).max(initial=0.0))
