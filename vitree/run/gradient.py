"""Derivatives carried along runs: gradients of costs, and perturbations of starts."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from vitree.arguments import entries, mapping, several
from vitree.errors import InputError, UnknownNameError
from vitree.integrators.composed_slopes import Part, Rows
from vitree.integrators.mass_slopes import MassSlopes, mass_slopes
from vitree.integrators.slopes import Slopes, kicks_of
from vitree.mechanism.flat import Flat
from vitree.model.model import Model
from vitree.model.variants import OF_LINKS, OF_VELOCITIES
from vitree.results.recording import Recording
from vitree.run.linearization import CHUNK, StepsOf, momenta_by_states

# ---- what a small change of a run's start, torques and inputs makes of all its states: one pass from start to end


class Perturbation(NamedTuple):
    """Changes of the records of a run, to first order.

    d (records, nv) [m or rad] are displacements of the configurations, as ``model.integrate`` takes them. dp (records,
    nv) [kg m/s or kg m^2/s] are changes of the momenta.
    """

    d: np.ndarray
    dp: np.ndarray


def variation_of(run: Recording, d: object, dp: object, dtorque: object, dinputs: object, dprescribed: object,
                 control: object) -> Perturbation:  # fmt: skip
    """Return what a change makes of a run; see :meth:`vitree.Trajectory.variation`."""
    steps = StepsOf(run, control)
    n, nv, nu, k = len(steps), steps.model.nv, steps.ends.u.shape[1], len(steps.model.prescribed_joint_names)

    def given(value: object, shape: tuple[int, ...], name: str) -> np.ndarray:
        return np.zeros(shape) if value is None else np.asarray(entries(value, shape, name))

    motions = np.empty((steps.first[-1] + 1, 2 * nv))
    motions[0, :nv], motions[0, nv:] = given(d, (nv,), "d"), given(dp, (nv,), "dp")
    changes = (given(dtorque, (n, nv), "dtorque"), given(dinputs, (n, nu), "dinputs"),
               given(dprescribed, (n, k), "dprescribed"))  # fmt: skip
    for begin, end in steps.chunks(CHUNK):
        steps.push(begin, end, *changes, motions)
    records = motions[steps.first]
    return Perturbation(records[:, :nv], records[:, nv:])


# ---- gradients of a function of a run, by one sweep from its end to its start ------------------------------


#: Parameters of which there are gradients.
PARAMETERS = (*OF_LINKS, "damping", "friction", "armature", "gravity", "gains")


#: Derivatives by parameters: of gravity an array, of others name to number or array.
ByParameters = dict[str, np.ndarray | Mapping[str, float | np.ndarray]]


@dataclass(frozen=True, eq=False)
class Gradient:
    """Derivatives of a number that depends on the states of a run.

    Attributes
    ----------
    model : Model
    q0, p0 : (nq,) [m or rad] and (nv,) [kg m/s or kg m^2/s] arrays
        The state at the start.
    by_q0 : (nv,) array, in units of the number over m or rad
        By a displacement of the configuration at the start, as ``model.integrate`` takes it; the momentum stays.
    by_p0 : (nv,) array, in units of the number over those of p
        By the momentum at the start.
    by_torque : (steps, nv) array, in units of the number over N or N m
        By a torque that acts over one step.
    by_inputs : (steps, nu) array, in units of the number over those of the inputs
        By the inputs ``model.input_names`` of each step: those of loads, and targets of drives.
    by_prescribed : (steps, k) array, in units of the number over m or rad
        By the coordinates ``model.prescribed_joint_names`` at the end of each step.
    by_parameters : dict
        By the parameters that were asked for, kind to name to number or array, as ``with_parameters`` takes them. The
        state at the start stays as a momentum. That by an inertia is symmetric: the number changes by the sum of its
        products with the entries of a change.
    costates : (steps + 1, 2 nv) array, in units as by_q0 and by_p0
        By (d, p) of each record; later records change with it.
    """

    model: Model
    q0: np.ndarray
    p0: np.ndarray
    by_q0: np.ndarray
    by_p0: np.ndarray
    by_torque: np.ndarray
    by_inputs: np.ndarray
    by_prescribed: np.ndarray
    by_parameters: ByParameters
    costates: np.ndarray

    def __repr__(self) -> str:
        asked = f", by {', '.join(self.by_parameters)}" if self.by_parameters else ""
        return f'<vitree.Gradient over {len(self.by_torque)} steps of "{self.model.name}"{asked}>'

    def in_velocities(self) -> tuple[np.ndarray, np.ndarray]:
        """Return the derivatives by the configuration at the start, where the velocity stays, and by the velocity.

        Both are (nv,) arrays, in units as the others. The velocity is that of the momentum, p = M(q) v.
        """
        nv = self.model.nv
        found = np.concatenate([self.by_q0, self.by_p0]) @ momenta_by_states(self.model, self.q0, self.p0)
        return found[:nv], found[nv:]


def gradient_of(
    run: Recording, by_q: object, by_p: object, by_v: object, parameters: object, control: object
) -> Gradient:
    """Return the gradient of a function of a run; see :meth:`vitree.Trajectory.gradient`."""
    steps = StepsOf(run, control)
    model = steps.model
    n, nv, first_of = len(steps), model.nv, steps.first
    count = int(first_of[-1])
    given = np.zeros((n + 1, 2 * nv))
    for name, value, at in (("by_q", by_q, slice(0, nv)), ("by_p", by_p, slice(nv, 2 * nv))):
        if value is not None:
            given[:, at] += entries(value, (n + 1, nv), name)
    if by_v is not None:
        given += _by_velocities(model, run, entries(by_v, (n + 1, nv), "by_v"))
    asked = Asked(model, parameters, control is not None)
    # the number does not depend on the states between substeps
    g = np.zeros((count + 1, 2 * nv))
    g[first_of] = given
    costates = np.empty_like(g)
    costates[-1] = g[-1]
    torque, by_inputs = np.zeros((count, nv)), np.zeros((count, steps.rows.u.shape[1]))
    prescribed = np.zeros((count, len(model.prescribed_joint_names)))
    for begin, end in reversed(steps.chunks(CHUNK)):
        found = steps.sweep(begin, end, g, costates)
        first, last = first_of[[begin, end]]
        parts = steps.parts(begin)
        stages = len(parts)
        # what moves node 1 by an impulse, and what moves p2
        mu, late = costates[first:last, nv:] - g[first:last, nv:], costates[first + 1 : last + 1, nv:]
        F = found.F
        if found.diagonal:
            one, two = np.diagonal(F, axis1=-2, axis2=-1).swapaxes(0, -2)
            torque[first:last] = mu * one + late * two
        else:
            torque[first:last] = (mu[:, None] @ F[:, 0] + late[:, None] @ F[:, 1])[:, 0]
        if by_inputs.size:
            kicks = kicks_of(model, found)
            by_inputs[first:last] = (mu[:, None] @ kicks[0] + late[:, None] @ kicks[1])[:, 0]
        if isinstance(found, Slopes) and prescribed.size:
            after = costates[first + 1 : last + 1, None]
            prescribed[first:last] = (after @ found.prescribed[:, : 2 * nv])[:, 0]
        for j, part in enumerate(parts):
            each = slice(j, None, stages)
            rows = steps.rows.of(slice(first + j, last, stages))
            asked.add(part, rows, found.drives[each], mu[each], late[each], torque[first + j : last : stages])
    start = steps.ends.q[0].copy(), steps.ends.p[0].copy(), costates[0, :nv].copy(), costates[0, nv:].copy()
    # what acts over a step acts in all its substeps
    if count > n:
        torque, by_inputs, prescribed = (np.add.reduceat(x, first_of[:-1]) for x in (torque, by_inputs, prescribed))
    found_by = torque, by_inputs, prescribed, asked.result()
    return Gradient(model, *start, *found_by, np.ascontiguousarray(costates[first_of]))


def _by_velocities(model: Model, run: Recording, by_v: np.ndarray) -> np.ndarray:
    """Return what derivatives by velocities are by displacements and momenta, p = M(q) v."""
    if model.constraints or model.prescribed_joint_names or model.has_contact:
        raise InputError(
            "by_v", by_v,
            "is for robots without constraints, contacts and prescribed coordinates: velocities there are not M^-1 p "
            "alone; give by_p"
        )
    nv = model.nv
    slopes = momenta_by_states(model, run.q, run.p)[:, nv:]
    by_p = np.linalg.solve(slopes[:, :, nv:], by_v[:, :, None])[:, :, 0]
    return np.concatenate([-(by_p[:, None] @ slopes[:, :, :nv])[:, 0], by_p], axis=1)


class Asked:
    """The parameters that were asked for, and the sums over steps of what the run's function changes by them."""

    def __init__(self, model: Model, parameters: object, driven: bool):
        self.model = model
        self.masses: MassSlopes | None = None
        self.names: dict[str, list[str]] = {}
        given = {} if parameters is None else mapping(parameters, "parameters", 'a mapping such as {"mass": ["link"]}')
        for kind, names in given.items():
            if kind not in PARAMETERS:
                raise UnknownNameError("parameter", kind, PARAMETERS, argument="parameters")
            if kind == "gravity":
                self.names[kind] = []
                continue
            listed = [names] if isinstance(names, str) else several(names, f'parameters["{kind}"]', "names")
            known = {"gains": [drive.joint for drive in model.drives]}.get(kind)
            known = list(model.link_names if kind in OF_LINKS else model.joint_names) if known is None else known
            for name in listed:
                if name not in known:
                    raise UnknownNameError("link" if kind in OF_LINKS else "joint", name, known)
                if kind in OF_LINKS and 0 <= self._body(name) and not model.flat.mass[self._body(name)] > 0:
                    raise InputError(f'what moves with the link "{name}" has no mass; leave out its {kind}')
            self.names[kind] = list(listed)
        if "gains" in self.names and not driven and any(isinstance(d.target, str) for d in model.drives):
            raise InputError("gradients with respect to gains depend on the targets: give the control= of the run")
        self.of_joints = {kind: np.zeros(model.nv) for kind in OF_VELOCITIES if kind in self.names}
        self.gains = {joint: np.zeros(2) for joint in self.names.get("gains", ())}

    def add(self, integrator: Part, rows: Rows, drives: np.ndarray, mu: np.ndarray, late: np.ndarray,
            torque: np.ndarray) -> None:  # fmt: skip
        """Add the part of some steps or substeps of an integrator; ``drives`` are those of their slopes.

        ``mu``, ``late`` and ``torque`` are the derivatives by an impulse at node 1, by p2 and by a force over the step.
        """
        if not self.names:
            return
        model, flat = self.model, self.model.flat
        q, q2, h = rows.q, rows.q2, integrator.dt
        y = model.difference(q, q2)
        rate = y / h
        if "damping" in self.of_joints:
            self.of_joints["damping"] -= (torque * rate).sum(axis=0)
        if "friction" in self.of_joints:
            smooth = rate / np.sqrt(rate**2 + flat.friction_velocity**2)
            self.of_joints["friction"] -= (torque * smooth).sum(axis=0)
        if "armature" in self.of_joints:
            self.of_joints["armature"] += ((late - mu) * rate).sum(axis=0)
        for drive in model.drives:
            if drive.joint not in self.gains:
                continue
            joint = model.joint(drive.joint)
            at, share = joint.v_slice.start, integrator.settings.get("alpha", 0.5)
            target, target_rate = (
                rows.u[:, model.input_names.index(x)] if isinstance(x, str) else x
                for x in (drive.target, drive.target_rate)
            )
            weight = torque[:, at] * drives[:, 2, at]
            off = target - (q[:, joint.q_slice.start] + share * y[:, at])
            self.gains[drive.joint] += [weight @ off, weight @ (target_rate - rate[:, at])]
        if any(kind in self.names for kind in (*OF_LINKS, "gravity")):
            more = mass_slopes(integrator, q, q2, mu, late)
            self.masses = more if self.masses is None else MassSlopes(*map(np.add, self.masses, more))

    def result(self) -> ByParameters:
        """Return the gradients by kind and name."""
        found: ByParameters = {}
        for kind, names in self.names.items():
            if kind == "gravity":
                found[kind] = self.masses.gravity if self.masses is not None else np.zeros(3)
            elif kind == "gains":
                found[kind] = dict(self.gains)
            elif kind in OF_LINKS:
                found[kind] = {name: self._of_link(name)[kind] for name in names}
            else:
                rows = {name: self.of_joints[kind][self.model.joint(name).v_slice] for name in names}
                found[kind] = {name: float(x[0]) if x.size == 1 else x.copy() for name, x in rows.items()}
        return found

    def _body(self, link: str) -> int:
        flat = self.model.flat
        return int(flat.frame_body[flat.frame_names.index(link)])

    def _of_link(self, name: str) -> dict[str, float | np.ndarray]:
        """Return the gradients by mass, COM and inertia of a link, a part of a body."""
        flat = self.model.flat
        row = flat.frame_names.index(name)
        link, body = flat.link_names.index(name), self._body(name)
        if self.masses is None or body < 0:
            return {"mass": 0.0, "com": np.zeros(3), "inertia": np.zeros((3, 3))}
        by_mass, by_first, by_second = linear_in_mass(self.masses, flat, body)
        E = np.asarray(flat.frame_E[row])
        m, c = float(flat.link_mass[link]), E @ flat.link_com[link] + flat.frame_p[row]
        # m, m c and E I E^T + m (c.c 1 - c c^T) add up over the links of a body
        trace = np.trace(by_second)
        return {
            "mass": float(by_mass + by_first @ c + trace * (c @ c) - c @ by_second @ c),
            "com": m * E.T @ (by_first + 2 * trace * c - 2 * by_second @ c),
            "inertia": E.T @ by_second @ E,
        }


def linear_in_mass(found: MassSlopes, flat: Flat, body: int) -> tuple[float, np.ndarray, np.ndarray]:
    """Return the derivatives by a body's mass, first moment m c and inertia about its origin, of those by (m, c, I)."""
    m, c = float(flat.mass[body]), np.asarray(flat.com[body])
    G, by_com = found.inertia[body], found.com[body]
    trace = np.trace(G)
    by_first = by_com / m - 2 * (trace * c - G @ c)
    return float(found.mass[body] - by_com @ c / m + trace * (c @ c) - c @ G @ c), by_first, G
