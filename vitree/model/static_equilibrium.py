"""Standing still: joint torques and contact forces that hold a posture, or why there are none."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from fnmatch import fnmatchcase

import numpy as np
from numpy.typing import ArrayLike

from vitree._core import scalar
from vitree.arguments import explain_calls, numbers_of, of_kind, plain_scalar, real, several
from vitree.errors import InputError, ModelError, UnknownNameError
from vitree.mechanism.constraints import followers_of
from vitree.mechanism.flat import FREE, KIND_NV, limits_of
from vitree.mechanism.floating import roots_of
from vitree.model.broadcasting import guarded, in_coordinates
from vitree.model.candidates import named_side
from vitree.model.closures import DependentConstraintsError, require_consistent, without_implied
from vitree.model.configurations import require_clear
from vitree.model.dynamics import refuse_losses, refuse_rolling, refuse_unilateral
from vitree.model.faces import gaps_of_faces
from vitree.model.forces import of_all
from vitree.model.model import Model
from vitree.model.placement import up_of, way_of
from vitree.model.socp import Problem
from vitree.model.user_inputs import resolve_inputs
from vitree.spatial.checks import frozen
from vitree.threads import one_blas_thread

core = scalar()

#: Gap up to which what touches counts [m].
TOUCHING = 1e-6
#: The solution minimises |torques|^2 + (ARM |forces|)^2 [N m, with ARM in m].
ARM = 0.1
#: The same of forces in loops and at limits, which is to choose where nothing else does.
OTHERS = 1e-3
#: Nothing in the world has more friction than this. Gaps up to NEARLY [m] may be those of soles that are not flat.
STICKY, NEARLY = 10.0, 5e-3


@dataclass(frozen=True, eq=False)
class StaticEquilibrium:
    """What holds a posture still, or what is missing.

    Attributes
    ----------
    possible : bool
    why : str
        Why it is not possible; empty if it is.
    fault : str
        The same in a word: "contact", "motor", "center of mass", "friction" or "effort"; empty if it is possible.
    torques : (nv,) array [N or N m]
        Of joints with motors; zero for others. Where it is not possible, those of the nearest stance that is: with as
        much friction, or effort, as that needs; or zero.
    a, b : tuples of str
        Names of frames of what touches; b is "ground" against the ground.
    points : (n, 3) array [m]
        Where it touches, in the world.
    normals : (n, 3) array [-]
        Unit vectors from b to a.
    forces : (n, 3) array [N]
        On a, in the world.
    friction : (n,) array [-]
        Coefficients there are.
    limit_forces : (nv,) array [N or N m]
        Of limits of joints that are enforced and met.
    multipliers : (m,) array [N or N m]
        Forces of the constraints.
    targets : dict of joint to float [m or rad]
        At which the drives of the model alone give the torques.
    residual : float [N or N m]
        The largest force on a coordinate that is not balanced.
    tolerance : float [m]
        What had a gap up to this touched.

    Raises
    ------
    InputError
        If an array is none, or forces are not (n, 3).
    """

    possible: bool
    why: str
    fault: str
    torques: np.ndarray
    a: tuple[str, ...]
    b: tuple[str, ...]
    points: np.ndarray
    normals: np.ndarray
    forces: np.ndarray
    friction: np.ndarray
    limit_forces: np.ndarray
    multipliers: np.ndarray
    targets: Mapping[str, float]
    residual: float
    tolerance: float = TOUCHING

    def __post_init__(self) -> None:
        for name, value in vars(self).items():
            object.__setattr__(self, name, frozen(value))
        for name in ("torques", "points", "normals", "forces", "friction", "limit_forces", "multipliers"):
            numbers_of(getattr(self, name), name)
        if np.ndim(self.forces) != 2:
            raise InputError(f"forces have shape {np.shape(self.forces)}; they must be (n, 3)")

    def __repr__(self) -> str:
        if not self.possible:
            return f"<StaticEquilibrium, not possible: {self.why}>"
        largest = np.abs(self.torques).max(initial=0.0)
        gaps = f" with gaps up to {self.tolerance:g} m" if self.tolerance > TOUCHING else ""
        return f"<StaticEquilibrium on {len(self.forces)} points{gaps}, largest torque {largest:.4g}>"


@explain_calls
@guarded
@one_blas_thread()
def static_equilibrium(
    model: Model,
    q: ArrayLike,
    *,
    motors: Iterable[str] | None = None,
    effort_limits: bool = True,
    friction_share: float = 1.0,
    tolerance: float | None = None,
    inputs: ArrayLike | Mapping[str, float] | None = None,
) -> StaticEquilibrium:
    """Return joint torques and contact forces that hold a posture still, or why there are none.

    Of the many that there may be they are those of the least sum of squares of torques [N m or N] and of forces [N]
    times 0.1 m. Friction is within its circular cone, not within a pyramid; torsional and rolling friction do not
    count.

    Parameters
    ----------
    model : Model
    q : (nq,) array [m or rad]
        On the ground or on other bodies, such as by :func:`place_on_ground`. All that touches there counts.
    motors : names or patterns of joints, optional
        Joints that have a motor, such as ``["left_*", "right_*"]``. By default all but bases: free joints at the
        world, and sliding joints at the world that can move as :func:`place_on_ground` moves, with what follows them
        up to the first mass. What is prescribed is held by what prescribes it.
    effort_limits : bool
        Whether torques are within the effort limits of the joints.
    friction_share : float [-]
        How much of the friction may be used; below 1 a margin is left.
    tolerance : float, optional [m]
        What has a gap up to this touches. By default 1e-6 m; and 5 mm where that leaves the centre of mass outside of
        the support, since soles of meshes are seldom flat. ``tolerance`` of the result is what was taken.
    inputs : (nu,) array or mapping of names to numbers, optional [units as the loads take them]
        Values of ``model.input_names``, zero if not given. Drives are left out: the torques are in their
        place, and ``targets`` of the result are theirs.

    Returns
    -------
    StaticEquilibrium

    Raises
    ------
    InputError
        If q is no configuration, bodies overlap there, or a number is out of its range.
    ModelError
        If what touches is compliant: its forces follow from its depth; or the mass matrix is singular; or wheels roll
        without slip.
    UnknownNameError
        If a pattern of motors fits no joint, or an input is not known.
    """
    of_kind(model, Model, "model", "a Model")
    if not isinstance(plain_scalar(effort_limits), bool):
        raise InputError("effort_limits", effort_limits, "must be True or False")
    share, near = real(friction_share), TOUCHING if tolerance is None else real(tolerance)
    if not 0 < share <= 1:
        raise InputError("friction_share", friction_share, "must be above 0 and at most 1")
    if not 0 <= near < np.inf:
        raise InputError("tolerance", tolerance, "must be zero or more [m]")
    at = model.validate_configuration(q)
    refuse_rolling(model, "static_equilibrium")
    refuse_unilateral(model, "static_equilibrium")
    refuse_losses(model, "static_equilibrium")
    if model.constraints:
        try:
            require_consistent(model, at, None)
        except DependentConstraintsError as error:
            lean = without_implied(model, error.q)
            if lean is None:
                raise
            found = static_equilibrium(lean, at, motors=motors, effort_limits=effort_limits, friction_share=share,
                                       tolerance=tolerance, inputs=inputs)  # fmt: skip
            return replace(found, multipliers=of_all(model, lean, found.multipliers))
    require_clear(model, model.expand(at), "at q", near)
    found = _Posture(model, at, motors, share, near, inputs).stance(bool(effort_limits))
    if tolerance is None and found.fault == "center of mass":
        wide = _Posture(model, at, motors, share, NEARLY, inputs).stance(bool(effort_limits))
        return wide if wide.possible else found
    return found


class _Posture:
    """A model at rest at q, and all that may hold it; forces are shares of ``size`` [N]."""

    def __init__(self, model: Model, q: np.ndarray, motors: Iterable[str] | None, share: float, near: float,
                 inputs: ArrayLike | Mapping[str, float] | None):  # fmt: skip
        self.model, self.q = model, q
        self.near = near
        fixed = np.asarray(model.flat.kinematic, dtype=bool)
        self.base = _bases(model) & ~fixed
        driven = ~self.base if motors is None else _of_motors(model, motors)
        self.driven, self.passive = driven & ~fixed, ~driven & ~fixed
        static = _at_rest(model, q, inputs)
        weight = float(np.linalg.norm(model.gravity)) * model.total_mass
        self.size = max(weight, np.abs(static).max(initial=0.0)) or 1.0
        self.static = static / self.size
        self._touch(share)
        Dh = model._constraint_rows(q[None])[1][0]
        self.limited, signs = self._limits()
        limits = np.zeros((model.nv, len(self.limited)))
        limits[self.limited, np.arange(len(self.limited))] = signs
        #: joint forces of the unknowns: forces (normal, two tangents) of each contact, multipliers, forces of limits
        self.S = np.concatenate([self.contacts, Dh.T, limits], axis=1)
        self.ends = np.cumsum([self.contacts.shape[1], len(Dh), len(self.limited)])
        self.effort = np.full(model.nv, np.inf)
        follow = followers_of(model.full.constraints)
        for joint in model.joints:
            if joint.effort and not (joint.mimic and joint.name in follow):
                self.effort[joint.v_slice] = joint.effort

    # ---- what there is ---------------------------------------------------------------------------------

    def _touch(self, share: float) -> None:
        """Find what touches, its axes (n, 3, 3), rows normal and tangents, and joint forces (nv, 3 n) along them."""
        model, q = self.model, self.q
        gaps, numbers = gaps_of_faces(model.flat, model.contact_candidates, model._pose_rows(q[None])[0], self.near)
        self.gaps = gaps
        rows = np.flatnonzero(gaps.gap <= self.near)
        for k in rows:
            if np.isfinite(numbers[k, 2]):
                raise ModelError(
                    f'the contact of "{gaps.a[k]}" and {named_side(gaps.b[k])} has stiffness={numbers[k, 2]:g}: its '
                    "force follows from its depth; take a stance on rigid contacts"
                )
        self.a, self.b = (tuple(names[k] for k in rows) for names in (gaps.a, gaps.b))
        self.points, self.normals = gaps.point_a[rows], gaps.normal[rows]
        self.friction = numbers[rows, 0]
        self.coefficient = share * self.friction
        self.axes = np.array([_axes(n) for n in self.normals]).reshape(-1, 3, 3)
        made: dict[str, tuple[np.ndarray, np.ndarray]] = {}
        columns = [np.zeros((model.nv, 0))]
        for a, b, x, y, axes in zip(self.a, self.b, self.points, gaps.point_b[rows], self.axes, strict=True):
            rate = self._rate(a, x, made) - self._rate(b, y, made)
            columns.append((axes @ rate).T)
        self.contacts = np.concatenate(columns, axis=1)

    def _rate(self, frame: str, point: np.ndarray, made: dict[str, tuple[np.ndarray, np.ndarray]]) -> np.ndarray:
        """Velocity (3, nv) of a point [m] of the world that moves with a frame."""
        if frame in ("ground", "world"):
            return np.zeros((3, self.model.nv))
        if frame not in made:
            made[frame] = self.model.frame_jacobian(frame, self.q), self.model.frame_pose(frame, self.q)[:3, 3]
        J, origin = made[frame]
        return J[3:] + np.cross(J[:3], point - origin, axis=0)

    def _limits(self) -> tuple[np.ndarray, np.ndarray]:
        """Entries of v of limits that are enforced and met, and the signs of their forces."""
        where, signs = [], []
        enforced = self.model.limits == "enforce"
        for _, at, place, low, high in limits_of(self.model.joints, self.model.constraints) if enforced else ():
            for gap, sign in ((self.q[at] - low, 1.0), (high - self.q[at], -1.0)):
                if gap <= self.near:
                    where.append(place)
                    signs.append(sign)
        return np.array(where, dtype=int), np.array(signs)

    # ---- is there a way --------------------------------------------------------------------------------

    def problem(
        self, friction: np.ndarray, efforts: float = np.inf, passive: np.ndarray | None = None,
        shifts: np.ndarray | None = None, far: float = 0.0,
    ) -> tuple[Problem, np.ndarray]:  # fmt: skip
        """Return the problem of the best stance, and which of the unknowns (n,) it has, shifts behind them.

        ``friction`` are coefficients; ``efforts`` is how many times the effort limits there are; ``passive`` are
        coordinates without motors; and ``shifts`` (nv, 2 k) joint forces of k weights that move along two directions,
        by at most ``far`` [m].
        """
        passive = self.passive if passive is None else passive
        S = self.S if shifts is None else np.concatenate([self.S, shifts], axis=1)
        count, n = len(self.friction), S.shape[1]
        kept = np.ones(n, dtype=bool)
        kept[: 3 * count] = np.repeat(friction > 0, 3)
        kept[: 3 * count : 3] = True
        driven, static = self.driven & ~passive, self.static
        weak = driven & (self.effort <= 0) if efforts < np.inf else np.zeros_like(driven)
        driven, passive = driven & ~weak, passive | weak
        weight = np.full(n, OTHERS)
        weight[: 3 * count] = ARM
        one = np.eye(n)
        G, h = [-one[: 3 * count : 3], -one[self.ends[1] : self.ends[2]]], [np.zeros(count + len(self.limited))]
        if efforts < np.inf:
            bound = np.flatnonzero(driven & np.isfinite(self.effort))
            most = efforts * self.effort[bound] / self.size
            G += [S[bound], -S[bound]]
            h += [most - static[bound], most + static[bound]]
        cones = np.flatnonzero(friction > 0)
        A = [np.stack([one[3 * cones + 1], one[3 * cones + 2]], axis=1)]
        c, e = [friction[cones, None] * one[3 * cones]], [np.zeros(len(cones))]
        if shifts is not None:
            first = np.arange(self.S.shape[1], n, 2)
            A.append(np.stack([one[first], one[first + 1]], axis=1))
            c.append(np.zeros((len(first), n)))
            e.append(np.full(len(first), far))
        return Problem(
            M=np.concatenate([S[driven], np.diag(weight)])[:, kept], d=np.append(-static[driven], np.zeros(n)),
            U=S[passive][:, kept], b=-static[passive], G=np.concatenate(G)[:, kept], h=np.concatenate(h),
            A=np.concatenate(A)[:, :, kept], c=np.concatenate(c)[:, kept], e=np.concatenate(e),
        ), kept  # fmt: skip

    def solve(
        self, friction: np.ndarray, efforts: float = np.inf, passive: np.ndarray | None = None
    ) -> np.ndarray | None:
        """Return the unknowns (n,) of the best stance of :meth:`problem`; None if there is none."""
        problem, kept = self.problem(friction, efforts, passive)
        found = problem.solve()
        return None if found is None else _spread(found, kept)

    def least(self, of: Callable[[float], tuple[Problem, np.ndarray]], start: float) -> tuple[float, np.ndarray] | None:
        """Return the least number above zero at which a problem has a solution, and that; None if there is none."""
        from scipy.optimize import brentq

        def excess(c: float) -> float:
            return min(of(c)[0].excess()[0], 1e3)

        high = start
        while excess(high) > 0:
            high *= 2
            if high > 1e6 * start:
                return None
        c = float(brentq(excess, 0.0, high, xtol=1e-12, rtol=1e-9)) if excess(0.0) > 0 else 0.0
        problem, kept = of(c)
        return c, _spread(problem.excess()[1], kept)

    def stance(self, effort_limits: bool) -> StaticEquilibrium:
        x = self.solve(self.coefficient, 1.0 if effort_limits else np.inf)
        if x is not None:
            return self._result(x, "", "")
        return self._result(*self._fault(effort_limits))

    def _fault(self, effort_limits: bool) -> tuple[np.ndarray, str, str]:
        """The nearest unknowns, and why there are none."""
        sticky = np.maximum(self.coefficient, STICKY)
        if effort_limits and self.solve(self.coefficient) is not None:
            return self._effort()
        if self.solve(sticky) is not None:
            return self._friction()
        nothing = np.zeros(self.S.shape[1])
        x = self.solve(sticky, passive=self.passive & self.base)
        if x is not None:
            left = (self.static + self.S @ x) * (self.passive & ~self.base)
            k = int(np.abs(left).argmax())
            return nothing, "motor", (
                f'"{self.model.v_names[k]}" has no motor and is not in balance: it needs '
                f"{self.size * abs(left[k]):.4g} {_unit(self.model, k)}"
            )  # fmt: skip
        if not len(self.friction):
            return nothing, "contact", self._apart()
        return self._outside(sticky, nothing)

    def _apart(self) -> str:
        gap = self.gaps.gap
        if not len(gap):
            return f'"{self.model.name}" has nothing that touches; give it contacts, such as load_urdf(..., ground=...)'
        k = int(gap.argmin())
        return (
            f'nothing touches: "{self.gaps.a[k]}" is nearest, {gap[k]:.3g} m from {named_side(self.gaps.b[k])}; '
            "vt.place_on_ground(model, q) sets a robot on what is below it"
        )

    def _effort(self) -> tuple[np.ndarray, str, str]:
        """More effort is needed: of which joint."""
        found = self.least(lambda c: self.problem(self.coefficient, c), 1.0)
        x = self.solve(self.coefficient) if found is None else found[1]
        assert x is not None
        torque = self.size * np.abs(self.static + self.S @ x) * self.driven
        with np.errstate(divide="ignore", invalid="ignore"):
            ratio = np.where(torque > 1e-9 * self.size, torque / self.effort, 0.0)
        k = int(ratio.argmax())
        unit = _unit(self.model, k)
        return x, "effort", (
            f'"{self.model.v_names[k]}" needs {_above(torque[k], self.effort[k])} {unit} and has '
            f"{self.effort[k]:.4g} {unit}; take another posture, or effort_limits=False"
        )  # fmt: skip

    def _friction(self) -> tuple[np.ndarray, str, str]:
        """More friction is needed: how much."""
        least = float(self.coefficient.min())
        found = self.least(lambda c: self.problem(np.maximum(self.coefficient, c)), max(least, 0.1))
        assert found is not None
        c, x = found
        used = np.linalg.norm(x[: 3 * len(self.friction)].reshape(-1, 3)[:, 1:], axis=1)
        k = int(np.where(self.coefficient < c, used, 0.0).argmax())
        share = "" if self.coefficient[k] == self.friction[k] else " that may be used"
        return x, "friction", (
            f'friction of {_above(c, self.coefficient[k])} is needed, and "{self.a[k]}" on {named_side(self.b[k])} has '
            f"{self.coefficient[k]:.4g}{share}"
        )

    def _outside(self, sticky: np.ndarray, nothing: np.ndarray) -> tuple[np.ndarray, str, str]:
        """The centre of mass is outside of the support: by how much."""
        roots, shifts = self._shifts()
        base = self.passive & self.base
        found = None
        if len(roots):
            found = self.least(lambda c: self.problem(sticky, passive=base, shifts=shifts, far=c), 1e-3)
        if found is None:
            return nothing, "contact", "no contact forces that push balance it: what touches cannot carry it"
        moved = np.linalg.norm(found[1][len(nothing) :].reshape(-1, 2), axis=1)
        k = int(moved.argmax())
        whose = f' of "{roots[k]}"' if len(roots) > 1 else ""
        nearly = int((self.gaps.gap < NEARLY).sum()) - len(self.friction)
        return found[1][: len(nothing)], "center of mass", (
            f"the centre of mass{whose} is {found[0]:.3g} m outside of the support, across gravity; move it over the "
            + f"points that touch: {len(self.friction)}"
            + (f"; {nearly} more are within {NEARLY:g} m, and touch with tolerance={NEARLY:g}" if nearly else "")
        )  # fmt: skip

    def _shifts(self) -> tuple[list[str], np.ndarray]:
        """Bases by their links, and joint forces (nv, 2 k) of their weights as they move across gravity, per m."""
        model = self.model
        flat, g = model.flat, model.gravity
        if not g.any():
            return [], np.zeros((model.nv, 0))
        _, one, other = _axes(g / np.linalg.norm(g))
        root = roots_of(flat.parent)
        frames = dict(zip(flat.frame_names, flat.frame_body.tolist(), strict=True))
        names: dict[int, str] = {}
        moments: dict[int, np.ndarray] = {}
        for link, mass in zip(flat.link_names, flat.link_mass, strict=True):
            body = frames[link]
            if body < 0 or not mass:
                continue
            tree = int(root[body])
            names.setdefault(tree, link)
            turn = model.frame_jacobian(link, self.q)[:3]
            rows = np.column_stack([turn.T @ np.cross(way, mass * g / self.size) for way in (one, other)])
            moments[tree] = moments.get(tree, 0.0) + rows
        kept = [tree for tree, rows in moments.items() if np.abs(rows[self.base]).max(initial=0.0) > 0]
        return [names[tree] for tree in kept], np.concatenate(
            [np.zeros((model.nv, 0)), *(moments[tree] for tree in kept)], axis=1
        )

    def _result(self, x: np.ndarray, fault: str, why: str) -> StaticEquilibrium:
        model, count = self.model, len(self.friction)
        acting = self.static + self.S @ x
        torques = np.where(self.driven, -acting, 0.0) + 0.0
        if fault in ("contact", "motor"):
            torques[:] = 0.0
        left = np.where(self.driven | self.passive, acting + torques, 0.0)
        limit_forces = np.zeros(model.nv)
        np.add.at(limit_forces, self.limited, self.S[self.limited, np.arange(self.ends[1], self.ends[2])] *
                  x[self.ends[1] :])  # fmt: skip
        torques = torques * self.size
        targets = {}
        for drive in model.drives:
            joint = model.joint(drive.joint)
            if isinstance(drive.target, str) and drive.kp > 0:
                targets[drive.joint] = float(self.q[joint.q_slice][0] + torques[joint.v_slice][0] / drive.kp)
        return StaticEquilibrium(
            possible=not fault, why=why, fault=fault, torques=torques, a=self.a, b=self.b, points=self.points,
            normals=self.normals, friction=self.friction,
            forces=self.size * np.einsum("ki,kij->kj", x[: 3 * count].reshape(-1, 3), self.axes),
            limit_forces=self.size * limit_forces, multipliers=self.size * x[self.ends[0] : self.ends[1]],
            targets=targets, residual=float(self.size * np.abs(left).max(initial=0.0)), tolerance=self.near,
        )  # fmt: skip


def _at_rest(model: Model, q: np.ndarray, inputs: ArrayLike | Mapping[str, float] | None) -> np.ndarray:
    """Joint forces (nv,) [N or N m] of gravity and loads at rest, without drives."""
    static = -model.rnea(q, model.zero_velocity(), model.zero_velocity())
    values = resolve_inputs(model, inputs)
    return static if len(model.loads) == len(model.drives) else static + _of_loads(model, q, values)


@in_coordinates("force")
def _of_loads(model: Model, q: np.ndarray, values: object) -> np.ndarray:
    """Joint forces (nv,) [N or N m] of loads at rest, without drives."""
    model.require_invertible_mass_matrix(q)
    still = model.zero_velocity()
    field = core.ModelStepper(model.core, 1.0, loads=model.load_list, user=model.written, nu=len(model.input_names),
                              inputs=values)  # fmt: skip
    found: np.ndarray = model.crba(q) @ (field.acceleration_at(0.0, q, still)[0] - model.aba(q, still, still))
    return found


@in_coordinates("velocity")
def _bases(model: Model) -> np.ndarray:
    """Which entries of v (nv,) are of bases that move freely."""
    found = np.zeros(model.nv, dtype=bool)
    flat, up = model.flat, up_of(model)
    for at in np.flatnonzero(flat.parent < 0).tolist():
        if way_of(model, at, up) is None:
            continue
        while True:
            found[model._iv[at] : model._iv[at] + KIND_NV[flat.kind[at]]] = True
            below = np.flatnonzero(flat.parent == at)
            if flat.kind[at] == FREE or flat.mass[at] or len(below) != 1:
                break
            at = int(below[0])
    return found


def _of_motors(model: Model, motors: Iterable[str]) -> np.ndarray:
    """Which entries of v (nv,) are of joints that names or patterns say."""
    found = np.zeros(model.nv, dtype=bool)
    for pattern in several(motors, "motors", "a sequence of names or patterns of joints"):
        name = pattern if isinstance(pattern, str) else ""
        fits = [joint for joint in model.joints if joint.name == name or fnmatchcase(joint.name, name)]
        if not fits:
            raise UnknownNameError("joint", pattern, model.joint_names)
        for joint in fits:
            found[joint.v_slice] = True
    return found


def _spread(x: np.ndarray, kept: np.ndarray) -> np.ndarray:
    out = np.zeros(len(kept))
    out[kept] = x
    return out


def _axes(n: np.ndarray) -> np.ndarray:
    """A unit vector and two across it, as rows."""
    aside = np.eye(3)[np.abs(n).argmin()]
    one = np.cross(n, aside)
    one = one / np.linalg.norm(one)
    return np.array([n, one, np.cross(n, one)])


def _above(needed: float, has: float) -> str:
    """A number that is more than another, with the digits that show it."""
    return next((text for digits in (4, 6, 9) if float(text := f"{needed:.{digits}g}") > has), f"{needed:.12g}")


def _unit(model: Model, k: int) -> str:
    """The unit of a force on the k-th velocity."""
    joint = next(joint for joint in model.joints if joint.v_slice.start <= k < joint.v_slice.stop)
    return "N" if joint.kind == "prismatic" or (joint.kind == "free" and k < joint.v_slice.start + 3) else "N m"
