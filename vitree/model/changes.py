"""Changes of a model within a run: frames welded and freed, other gains, friction and ground."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, replace
from typing import Any, NamedTuple

import numpy as np

from vitree.arguments import JsonObject, of_kind, real, several, shown, whole
from vitree.errors import InputError, UnknownNameError
from vitree.geometry.terrain import HeightField
from vitree.mechanism.constraints import AxisConstraint, PointConstraint
from vitree.mechanism.contacts import Ground, NoContact
from vitree.mechanism.flat import KIND_NV
from vitree.mechanism.floating import roots_of
from vitree.mechanism.spans import MOST_FACETS
from vitree.mechanism.unilateral import OF_JOINTS
from vitree.model.closures import INDEPENDENT
from vitree.model.dynamics import rows_of
from vitree.model.frictions import by_pattern, with_friction
from vitree.model.model import EulerModel, Model, ReducedEulerModel

#: Kinds of changes of a model; those of a state alone are of the kind "state".
OF_MODELS = ("attach", "detach", "gains", "friction", "ground")


@dataclass(frozen=True, eq=False)
class Change:
    """What was changed within a run, as :class:`vitree.Simulation` notes it; ``Trajectory.changes`` has all.

    Attributes
    ----------
    t : float [s]
    step : int
        Steps of the run before it.
    kind : str
        "attach", "detach", "gains", "friction", "ground" or "state".
    values : dict
        What is so from there on, in types that JSON knows. Of "attach": ``name``, ``body``, ``to``; the ``position``
        [m] and ``rotation`` of the body in the frame; ``rows``, the directions that are held; ``impulse`` [N s] and
        ``angular`` [N m s] on the body at its origin, world axes; ``energy`` [J], what is lost. Of "detach": ``name``
        and ``constraints``. Of "gains": (kp, kd) by joints. Of "friction": numbers by frames and "ground". Of "ground":
        its fields. Of "state": ``body``, or the names of what was set.
    """

    t: float
    step: int
    kind: str
    values: JsonObject

    @property
    def of_model(self) -> bool:
        """Whether the model is another one from there on."""
        return self.kind in OF_MODELS

    def __repr__(self) -> str:
        values = self.values if isinstance(self.values, Mapping) else {}
        named = values.get("name") or values.get("body") or ", ".join(map(str, values))
        return f"<vitree.Change {self.kind} {named!r} at t = {self.t:.9g} s>"

    @classmethod
    def _read(cls, told: object) -> Change:
        """Return the change that settings of a run tell of; raise an InputError if they are damaged."""
        if not (isinstance(told, Mapping) and {"t", "step", "kind", "values"} <= told.keys()
                and told["kind"] in (*OF_MODELS, "state") and isinstance(told["values"], Mapping)
                and math.isfinite(real(told["t"])) and whole(told["step"]) is not None):  # fmt: skip
            raise InputError(f"the changes in the settings of the run are damaged: one is {shown(told)}")
        return cls(real(told["t"]), int(told["step"]), str(told["kind"]), dict(told["values"]))


def changes_of(settings: Mapping[str, Any]) -> tuple[Change, ...]:
    """Return the changes that the settings of a run tell of."""
    told = of_kind(settings, Mapping, "settings", "a mapping").get("changes", ())
    return tuple(map(Change._read, several(told, "changes", "a list of changes")))


def require_one_model(settings: Mapping[str, Any], t: np.ndarray) -> None:
    """Raise an InputError if a model changed within the records at times t (n,) [s], or behind them."""
    times = [change.t for change in changes_of(settings) if change.of_model]
    late = [time for time in times if len(t) and time >= t[0]]
    if late:
        raise InputError(
            f"the model of the run was changed at t = {late[-1]:.9g} s, and this is for records of one model: take "
            f"those behind it, run[run.t > {late[-1]:.9g}], or run parts between changes with simulations of their own"
        )


def after_changes(model: Model, changes: Iterable[Change]) -> Model:
    """Return what a model has become by changes, in the order of time."""
    for change in changes:
        if change.of_model:
            model = changed(model, change.kind, change.values)
    return model


def changed(model: Model, kind: str, values: Mapping[str, Any]) -> Model:
    """Return a model after a change of a kind; see :class:`Change` for the values. It has the same coordinates."""
    if kind == "gains":
        return model.with_parameters(gains=values)
    flat = model.full.flat
    if kind == "attach":
        weld = weld_of(values)
        apart = NoContact(values["body"], values["to"])
        contacts = (*flat.contacts, apart) if flat.contacts else ()
        return with_fields(model, constraints=(*flat.constraints, *weld), contacts=contacts)
    if kind == "detach":
        gone = set(values["constraints"])
        kept = tuple(each for each in flat.constraints if each.name not in gone)
        pair = values.get("apart")
        left = list(flat.contacts)
        if pair and NoContact(*pair) in left:
            del left[len(left) - 1 - left[::-1].index(NoContact(*pair))]
        return with_fields(model, constraints=kept, contacts=tuple(left))
    if kind == "friction":
        return with_fields(model, **with_friction(flat, values))
    return with_fields(model, ground=ground_of(values))


def with_fields(model: Model, **fields: Any) -> Model:
    """A model of the same kind with other fields of its arrays, which have no coordinates."""
    if isinstance(model, EulerModel | ReducedEulerModel):
        return with_fields(model.native, **fields).euler()  # type: ignore[no-any-return]
    return model._remade(replace(model.full.flat, **fields))


# ---- welds -----------------------------------------------------------------------------------------------------

#: The rows of a weld: along the axes of the frame that holds, and about them.
ROWS = ("x", "y", "z", "rx", "ry", "rz")


def weld_of(values: Mapping[str, Any]) -> list[PointConstraint | AxisConstraint]:
    """Return the constraints that hold a body where it is in a frame: those of :data:`ROWS` that ``rows`` names.

    With p and R the position and rotation of the body b in the frame a: u . R_a^T (x_a - x_b) = -u . p for the axes u,
    and R_a u . R_b (R^T w) = 0 for the pairs u, w of axes.
    """
    name, a, b = values["name"], values["to"], values["body"]
    p, R = np.array(values["position"], dtype=float), np.array(values["rotation"], dtype=float)
    made: list[PointConstraint | AxisConstraint] = []
    for k, word in enumerate(ROWS):
        if word not in values["rows"]:
            continue
        label = f"{name} {word}"
        if k < 3:
            u = np.eye(3)[k]
            made.append(PointConstraint(a, b, triple(u), "local", float(-u @ p), label))
        else:  # about the axis k, which the pair of the two others holds
            u, w = np.eye(3)[(k + 1) % 3], np.eye(3)[(k + 2) % 3]
            made.append(AxisConstraint(a, b, triple(u), triple(R.T @ w), label=label))
    return made


def triple(x: np.ndarray) -> tuple[float, float, float]:
    """Return three numbers as a tuple, without negative zeros."""
    a, b, c = (float(each) + 0.0 for each in x)
    return a, b, c


class Weld(NamedTuple):
    """The values of a change "attach", the model with it, and the jump of momentum and velocity that it makes."""

    values: JsonObject
    model: Model
    momentum: np.ndarray
    velocity: np.ndarray


def welded(model: Model, body: str, to: str, name: str, q: np.ndarray, v: np.ndarray) -> Weld:
    """Weld a body to a frame where it is at q (nq,) and v (nv,) of ``model.full``, by an inelastic impulse.

    Directions that the constraints of the model hold already are left out. The velocity behind it is
    v + M^-1 D^T nu, the nearest to v, in kinetic energy, that all constraints and wheels that roll allow.

    Raises
    ------
    InputError
        If both frames are fixed to the same body, or all directions are held already.
    """
    full = model.full
    places = [(np.eye(4) if frame == "world" and frame not in full._frames else full.frame_pose(frame, q))
              for frame in (to, body)]  # fmt: skip
    carriers = [full.index.place(frame)[0] for frame in (to, body)]
    if carriers[1] < 0:
        raise InputError("body", body, "is fixed to the world; give a body that moves")
    if carriers[0] == carriers[1]:
        raise InputError("body", body, f'and "{to}" are fixed to each other already')
    X = np.linalg.inv(places[0]) @ places[1]
    values: JsonObject = {
        "name": name, "body": body, "to": to, "position": X[:3, 3].tolist(), "rotation": X[:3, :3].tolist(),
        "rows": list(ROWS),
    }  # fmt: skip
    free = ~np.asarray(full.flat.kinematic, dtype=bool)
    every = changed(model, "attach", values)
    Dh = every.full._constraint_rows(q[None])[1][0][:, free]
    before = len(full.constraints)
    values["rows"] = [word for word, keep in zip(ROWS, _new_rows(Dh, before), strict=True) if keep]
    if not values["rows"]:
        raise InputError("body", body, f'cannot move against "{to}": the constraints hold it already')
    made = every if len(values["rows"]) == len(ROWS) else changed(model, "attach", values)
    jump = inelastic(made.full, q, v)
    # the wrench F on the body that does it: (J_body - J_to)^T F, both at the origin of the body
    J = full.frame_jacobian(body, q, "world")
    if carriers[0] >= 0:
        holder = full.frame_jacobian(to, q, "world")
        arm = places[1][:3, 3] - places[0][:3, 3]
        J = J - holder - np.vstack([np.zeros_like(holder[:3]), np.cross(holder[:3], arm, axisa=0, axisc=0)])
    weld = slice(before, before + len(values["rows"]))
    own = jump.rows[weld].T @ jump.impulses[weld]
    F = np.linalg.lstsq(J[:, free].T, own[free], rcond=1e-12)[0]
    values |= {"angular": F[:3].tolist(), "impulse": F[3:].tolist(),
               "energy": 0.5 * float(jump.velocity @ full.generalized_momentum(q, jump.velocity))}  # fmt: skip
    return Weld(values, made, jump.momentum, jump.velocity)


def _new_rows(Dh: np.ndarray, before: int) -> list[bool]:
    """Return which of the rows behind the first ones do not follow from those before them."""
    size = np.linalg.norm(Dh, axis=1)
    unit = Dh / np.where(size > 0, size, 1.0)[:, None]
    _, s, basis = np.linalg.svd(unit[:before], full_matrices=False)
    held = list(basis[s > INDEPENDENT])
    keep = []
    for row, length in zip(unit[before:], size[before:], strict=True):
        rest = row.copy()
        for _ in range(2):
            for each in held:
                rest -= (each @ rest) * each
        left = float(np.linalg.norm(rest))
        keep.append(bool(length > 0 and left > 1e-8))
        if keep[-1]:
            held.append(rest / left)
    return keep


class Jump(NamedTuple):
    """What impulses nu along rows D do: jumps D^T nu of the momentum and M^-1 D^T nu of the velocity."""

    momentum: np.ndarray
    velocity: np.ndarray
    rows: np.ndarray
    impulses: np.ndarray


def inelastic(model: Model, q: np.ndarray, v: np.ndarray) -> Jump:
    """Return what the impulses do after which all constraints of a model hold: D (v + M^-1 D^T nu) = 0.

    Prescribed coordinates keep their rates, and wheels do not slip. Units are kg m/s or kg m^2/s, and m/s or rad/s.
    """
    rows = model._constraint_rows(q[None])[1][0]
    if model.rolling:
        rows = np.vstack([rows, rows_of(model, q)[2]])
    free = ~np.asarray(model.flat.kinematic, dtype=bool)
    M = model._mass_matrices(q[None])[0]
    D = rows[:, free]
    Y = np.linalg.solve(M[np.ix_(free, free)], D.T)
    nu, rest = np.zeros(len(rows)), rows @ v
    inverse = np.linalg.pinv(D @ Y, rcond=1e-13, hermitian=True)
    for _ in range(2):  # the second time for what rounding left
        more = -inverse @ rest
        nu, rest = nu + more, rest + D @ (Y @ more)
    dv = np.zeros(model.nv)
    dv[free] = Y @ nu
    dp = M @ dv
    dp[free] = D.T @ nu
    return Jump(dp, dv, rows, nu)


def held_by(model: Model, name: object) -> JsonObject:
    """Return the values of a change "detach": the constraints of a name, or labelled so.

    Raises an UnknownNameError if there are none; the choices are the names of what is attached.
    """
    groups = attached(model)
    if not isinstance(name, str) or name not in groups:
        raise UnknownNameError("weld or constraint", name, groups, argument="name")
    return {"name": name, "constraints": groups[name]}


def attached(model: Model) -> dict[str, list[str]]:
    """Return the names of constraints by their labels without the direction behind it, or by their names."""
    found: dict[str, list[str]] = {}
    for name in (each.name for each in model.full.constraints):
        label, _, word = name.rpartition(" ")
        of_weld = bool(label) and (word in ROWS or set(word) <= set("xyz-")) and not label.endswith('"')
        found.setdefault(label if of_weld else name, []).append(name)
    return found


def moved_by(model: Model, names: Iterable[str], q: np.ndarray) -> np.ndarray:
    """Return which coordinates (nv,) of ``model.full`` are of the trees that constraints of these names join at q."""
    full, names = model.full, set(names)
    rows = full._constraint_rows(q[None])[1][0][[each.name in names for each in full.constraints]]
    return whole_trees(full, (rows != 0).any(axis=0))


def whole_trees(model: Model, some: np.ndarray) -> np.ndarray:
    """Return which coordinates (nv,) are of the trees that have some of the coordinates."""
    tree = np.repeat(roots_of(model.flat.parent), KIND_NV[model.flat.kind])
    return np.isin(tree, tree[some])


# ---- gains, friction, ground -----------------------------------------------------------------------------------


def gains_of(model: Model, gains: object) -> JsonObject:
    """Return gains by joints that have drives, of gains by patterns of their names.

    Raises
    ------
    InputError, UnknownNameError
        If gains are none, or a pattern fits no driven joint.
    """
    driven = [drive.joint for drive in model.drives]
    given = of_kind(gains, Mapping, "gains", "a mapping of patterns of driven joints to (kp, kd)")
    return by_pattern(given, driven, "driven joint", "gains",
                      lambda value, _: [float(x) for x in np.ravel(np.asarray(value, dtype=float))])  # fmt: skip


def ground_values(ground: object) -> JsonObject:
    """Return the fields of a ground, in types that JSON knows.

    Raises
    ------
    InputError
        If it is no Ground.
    """
    kind = "a Ground, such as vt.Ground(0.1)"
    made = asdict(replace(of_kind(ground, Ground, "ground", kind), terrain=None))
    field = ground.terrain if isinstance(ground, Ground) else None
    if field is not None:
        made["terrain"] = {"heights": field.heights.tolist(), "spacing": list(field.spacing),
                           "origin": list(field.origin)}  # fmt: skip
    return made


def ground_of(values: Mapping[str, Any]) -> Ground:
    """Return the ground of fields in types that JSON knows."""
    field, friction = values.get("terrain"), values["friction"]
    given = {**values, "terrain": None if field is None else HeightField(**field),
             "friction": tuple(friction) if isinstance(friction, list) else friction}  # fmt: skip
    return Ground(**given)


# ---- contacts that go on where a model changes within a run ------------------------------------------------------


def contacts_kept(old: Model, new: Model, fresh: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return what the contacts and the pairs of convex shapes of a model are in another one, or -1.

    The two have the same coordinates and frames. Contacts are the same if they are of the same two, and as many before
    them are. Those that ``fresh`` coordinates (nv,) move have no counterpart.

    Returns
    -------
    plain : (m,) array of int32
        Of those that are no pairs of convex shapes.
    pairs : (k,) array of int32
    """
    none = np.zeros(0, np.int32)
    if not (old.has_contact and new.has_contact):
        return none, none
    flat = old.flat
    body = np.repeat(np.arange(len(flat.kind)), KIND_NV[flat.kind])
    tree = roots_of(flat.parent)
    begun = set(tree[body[fresh]].tolist())

    def begins(name: str, of_joint: bool) -> bool:
        at = int(body[old.joint(name).v_slice.start]) if of_joint else old.index.place(name)[0]
        return at >= 0 and int(tree[at]) in begun

    found: list[np.ndarray] = []
    theirs, ours = (_in_parts(model) for model in (old, new))
    for some, others in zip(theirs, ours, strict=True):
        place = {name: k for k, name in enumerate(_counted(others))}
        to = [place.get(name, -1) for name in _counted(some)]
        for k, (a, b) in enumerate(some if begun else ()):
            of_joint = b in OF_JOINTS
            if begins(a, of_joint) or (not of_joint and b != "ground" and begins(b, False)):
                to[k] = -1
        found.append(np.array(to, dtype=np.int32))
    return found[0], found[1]


def _in_parts(model: Model) -> tuple[list[tuple[str, str]], list[tuple[str, str]]]:
    """The names of the contacts of a model that are no pairs of convex shapes, and of these."""
    names, made = model._contact_names, model.contact_candidates
    first, pairs = len(made.body) * made.grounds + len(made.pair), len(made.facing)
    last = first + MOST_FACETS * pairs
    return [*names[:first], *names[last:]], list(names[first:last:MOST_FACETS])


def _counted(names: list[tuple[str, str]]) -> list[tuple[tuple[str, str], int]]:
    """Names, each with how many of the same are before it."""
    seen: dict[tuple[str, str], int] = {}
    found = []
    for name in names:
        found.append((name, seen.get(name, 0)))
        seen[name] = seen.get(name, 0) + 1
    return found
