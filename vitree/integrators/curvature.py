"""Second derivatives of steps: differences of the first ones, of all steps at once in the lanes of the processor.

A step is a function of z = (d, dp) at its start, of a torque, inputs and prescribed coordinates. It leads to (y, dp) at
its end. d and y are logarithms: the displaced start is q1 exp(d), and the end q2 exp(y).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple

import numpy as np

from vitree._core import scalar
from vitree.errors import ModelError
from vitree.integrators.composed_slopes import Part, Rows, part_slopes
from vitree.integrators.slopes import Slopes, groups_of, is_plain, kicks_of, second_derivatives
from vitree.integrators.variational import LinearTime, Midpoint
from vitree.lie import SE3, SO3
from vitree.model.model import Model

core = scalar()
#: What a step is derived by, in the order in which columns stand.
BLOCKS = ("state", "torque", "inputs", "prescribed")
#: Numbers of derivatives that are found at one time, about.
NUMBERS = 2**16
#: Share by which differences change what friction depends on, sqrt(v^2 + friction_velocity^2).
SHARE = 0.01


class Differences(NamedTuple):
    """A difference quotient: how far ends move at most [m or rad], (place, weight) of slopes, weight of those known."""

    apart: float
    sides: tuple[tuple[float, float], ...]
    here: float = 0.0


#: Ahead, from the slopes that are known, and central of order 6.
QUICK = Differences(1e-6, ((1.0, 1.0),), -1.0)
CENTRAL = (1.0, 3 / 4), (-1.0, -3 / 4), (2.0, -3 / 20), (-2.0, 3 / 20), (3.0, 1 / 60), (-3.0, -1 / 60)
CLOSE = Differences(1e-3, CENTRAL)
#: Central of order 2, of derivatives of actions.
ON_BOTH_SIDES = Differences(1e-4, ((1.0, 1 / 2), (-1.0, -1 / 2)))


def require_curvature(model: Model) -> None:
    """Raise a ModelError if differences of a model's slopes say nothing: they are differences themselves."""
    parts = ["contacts, limits, wheels or dry friction"] * bool(model.has_contact)
    parts += ["loads or constraints written in Python"] * (model.written is not None)
    if parts:
        raise ModelError(
            f'the steps of "{model.name}" have no second derivatives: it has {" and ".join(parts)}, whose first ones '
            "are differences; leave them out"
        )


def columns_of(model: Model, found: Slopes, by: Sequence[str]) -> np.ndarray:
    """Return the derivatives of (d2, p2) by blocks of :data:`BLOCKS`, (n, 2 nv, N)."""
    blocks: dict[str, Callable[[], np.ndarray]] = {
        "state": lambda: found.A, "torque": found.by_torque,
        "inputs": lambda: found.by_kicks(kicks_of(model, found)),
        "prescribed": lambda: found.prescribed[:, : 2 * model.nv],
    }  # fmt: skip
    return blocks[by[0]]() if len(by) == 1 else np.concatenate([blocks[name]() for name in by], axis=2)


def sizes_of(model: Model, by: Sequence[str]) -> list[int]:
    """Return how many columns blocks have."""
    sizes = {"state": 2 * model.nv, "torque": model.nv, "inputs": len(model.input_names),
             "prescribed": len(model.prescribed_joint_names)}  # fmt: skip
    return [sizes[name] for name in by]


def _first_of_state(model: Model, by: Sequence[str]) -> int:
    """Return where the columns by the state begin."""
    return sum(sizes_of(model, by[: list(by).index("state")]))


def bends(parts: Sequence[Part], rows: Rows, by: Sequence[str], J: np.ndarray,
          differences: Differences) -> Iterator[tuple[slice, np.ndarray]]:  # fmt: skip
    """Yield the derivatives of J, a few directions at a time: which, and (n, directions, 2 nv, N).

    Any two configurations are the ends of a step. To first order along a direction, the step from the ends that J
    says is the step from the state nearby, under the torque nearby. That is enough: what is of second order vanishes in
    central differences, and is as small as the rest of the error in others.

    Parameters
    ----------
    parts, rows :
        As of :func:`~vitree.integrators.composed_slopes.part_slopes`.
    by : sequence of str
        Blocks of :data:`BLOCKS`; they are the directions and the columns.
    J : (n, 2 nv, N) array
        As :func:`columns_of` returns it.
    differences : Differences
    """
    model, nv, n, stages = parts[0].model, parts[0].model.nv, len(rows.q), len(parts)
    count, turned = J.shape[2], brackets(model)
    state, inputs = _starts(model, by)
    h = np.tile([part.dt for part in parts], n // stages)[:, None]
    most = max(1, NUMBERS // max(n * 2 * nv * count, 1))

    def flat(x: np.ndarray) -> np.ndarray:
        """Return (n directions, ...) from (n, directions, ...), in which substeps of a step follow each other."""
        rest = x.shape[2:]
        if stages > 1:
            x = x.reshape(n // stages, stages, *x.shape[1:]).swapaxes(1, 2)
        return np.ascontiguousarray(x).reshape(math.prod(x.shape[: x.ndim - len(rest)]), *rest)

    def wide(x: np.ndarray) -> np.ndarray:
        """Return (n, directions, ...) from :func:`flat` rows."""
        rest, b = x.shape[1:], len(x) // n
        if stages > 1:
            x = x.reshape(n // stages, b, stages, *rest).swapaxes(1, 2)
        return x.reshape(n, b, *rest)

    for first in range(0, count, most):
        which = slice(first, min(first + most, count))
        d2, dp2 = J[:, :nv, which].swapaxes(1, 2), J[:, nv:, which].swapaxes(1, 2)
        d1, dp, du = state[None, which, :nv], state[None, which, nv:], inputs[None, which]
        size = sizes(model, rows.q, rows.q2, d1, d2, h, differences.apart)[:, :, None]
        found = None
        for place, weight in differences.sides:
            far = place * size
            moved = Rows(
                _moved(model, rows.q, far * d1), _moved(model, rows.q2, far * d2), rows.p[:, None] + far * dp,
                rows.p2[:, None] + far * dp2, rows.u[:, None] + far * du, np.tile(rows.t[:, None], (1, size.shape[1])),
            )  # fmt: skip
            there = wide(columns_of(model, part_slopes(parts, Rows(*map(flat, moved))), by))
            there *= weight
            found = there if found is None else np.add(found, there, out=found)
        assert found is not None
        if differences.here:
            found += differences.here * J[:, None]
        found /= size[:, :, :, None]
        if turned is not None:
            # displacements there are seen from the path: log(exp(d) exp(x)) = d + x + [d, x]/2
            found[:, :, :nv] += 0.5 * np.tensordot(d2, turned, (2, 0)) @ J[:, None, :nv]
            if "state" in by:
                at = _first_of_state(model, by)
                back = np.tensordot(d1, turned, (2, 0))
                found[:, :, :, at : at + nv] -= 0.5 * J[:, None, :, at : at + nv] @ back
        yield which, found


def _starts(model: Model, by: Sequence[str]) -> tuple[np.ndarray, np.ndarray]:
    """Return the change of the state (N, 2 nv), and of inputs (N, nu), along each direction."""
    counts = sizes_of(model, by)
    state, inputs = np.zeros((sum(counts), 2 * model.nv)), np.zeros((sum(counts), len(model.input_names)))
    for name, begin, size in zip(by, np.cumsum(counts) - counts, counts, strict=True):
        to = {"state": state, "inputs": inputs}.get(name)
        if to is not None:
            to[begin : begin + size] = np.eye(size)
    return state, inputs


def _moved(model: Model, q: np.ndarray, d: np.ndarray) -> np.ndarray:
    plain, q = model.nq == model.nv, q[:, None]
    return q + d if plain else model.integrate(np.broadcast_to(q, (*d.shape[:-1], model.nq)), d)


def sizes(model: Model, q: np.ndarray, q2: np.ndarray, d1: np.ndarray, d2: np.ndarray, h: np.ndarray | float,
          apart: float) -> np.ndarray:  # fmt: skip
    """Return how far differences go along directions, (n, b); one along those that move nothing.

    Parameters
    ----------
    q, q2 : (n, nq) arrays
        Ends of steps.
    d1, d2 : (n or 1, b, nv) arrays
        What the directions displace them by.
    h : (n, 1) array or float [s]
    apart : float [m or rad]
        How far ends move at most.
    """
    reach = np.maximum(np.abs(d1).max(axis=2, initial=0.0), np.abs(d2).max(axis=2, initial=0.0)) / apart
    rubs = np.flatnonzero(model.flat.friction)
    if len(rubs):
        least = np.broadcast_to(model.flat.friction_velocity, (model.nv,))[rubs]
        speed = np.hypot(model.difference(q, q2)[:, rubs] / h, least)
        changes = np.abs((d2 - d1)[:, :, rubs] / np.expand_dims(h, -1))
        reach = np.maximum(reach, (changes / (SHARE * speed)[:, None]).max(axis=2))
    found: np.ndarray = np.divide(1.0, reach, out=np.ones_like(reach), where=reach > 0)
    return found


def brackets(model: Model) -> np.ndarray | None:
    """Return the matrices (nv, nv, nv) of the brackets with unit displacements; None if they vanish."""
    if model.nq == model.nv:
        return None
    found = np.zeros((model.nv, model.nv, model.nv))
    for at, _ in groups_of(model):
        found[np.ix_(at, at, at)] = SO3.ad(np.eye(3)) if len(at) == 3 else SE3.ad(np.eye(6))
    return found


def curvature(parts: Sequence[Part], rows: Rows, by: Sequence[str], costates: np.ndarray) -> np.ndarray:
    """Return the second derivatives of costates . (y, p2) of steps, (..., n, N, N).

    They are symmetric but for errors of differences.

    Parameters
    ----------
    parts, rows :
        As of :func:`~vitree.integrators.composed_slopes.part_slopes`; n steps.
    by : sequence of str
        Blocks of :data:`BLOCKS`.
    costates : (..., n, 2 nv) array
    """
    model, stages = parts[0].model, len(parts)
    if stages == 1 and "state" in by and has_action(parts[0]):
        return _by_action(parts[0], rows, by, costates)
    # what acts in a substep moves the state of the next one
    own = by if stages == 1 else ("state", *(name for name in by if name != "state"))
    J = columns_of(model, part_slopes(parts, rows), own)
    ends = _carried_back(J, costates, stages) if stages > 1 else costates
    found = np.empty((*ends.shape[:-1], J.shape[2], J.shape[2]))
    for which, bent in bends(parts, rows, own, J, CLOSE):
        found[..., which, :] = np.einsum("...ni,njik->...njk", ends, bent)
    if stages == 1:
        return found
    at = _order(model, own, by)
    return _chained(found, J, stages)[..., at[:, None], at]


def _by_action(integrator: LinearTime | Midpoint, rows: Rows, by: Sequence[str], costates: np.ndarray) -> np.ndarray:
    """Return the result of :func:`curvature` for steps of an action."""
    J = columns_of(integrator.model, part_slopes([integrator], rows), by)
    state = _first_of_state(integrator.model, by)
    each = costates.reshape(-1, *costates.shape[-2:])
    found = [curvature_by_action(integrator, rows, J, row, CLOSE, state) for row in each]
    return np.reshape(found, (*costates.shape[:-1], J.shape[2], J.shape[2]))


def has_action(integrator: LinearTime | Midpoint) -> bool:
    """Return whether steps are those of an action on joints of one coordinate, but for forces linear in q and v."""
    model = integrator.model
    plain = model.nq == model.nv and is_plain(integrator)
    return plain and not model.drives and not np.any(model.flat.friction)


def curvature_by_action(integrator: LinearTime | Midpoint, rows: Rows, J: np.ndarray, costates: np.ndarray,
                        differences: Differences, state: int) -> np.ndarray:  # fmt: skip
    """Return the second derivatives (n, N, N) of costates . (y, p2) by states and torques, see :func:`has_action`.

    The action L(q1, q2) of a step has p1 = -D1 L and p2 = D2 L. A sum of its third derivatives with weights is the
    derivative of the second ones along the weights, which is a difference of two of these, whatever N is:

        sum of mu_k d_k D2 L(q1, q2) = d/ds D2 L((q1, q2) + s mu),  mu = ((A^T costate) of p1, costate of p2)

    Parameters
    ----------
    integrator : LinearTime or Midpoint
    rows : Rows
        The steps.
    J : (n, 2 nv, N) array
        As :func:`columns_of` returns it.
    costates : (n, 2 nv) array
        At the ends of steps.
    differences : Differences
    state : int
        Where the columns by the state begin.
    """
    nv = integrator.model.nv
    at_start, at_end = (costates[:, None] @ J[:, :, state + nv : state + 2 * nv])[:, 0], costates[:, nv:]
    most = np.maximum(np.abs(at_start).max(axis=1, initial=0.0), np.abs(at_end).max(axis=1, initial=0.0))
    size = np.divide(differences.apart, most, out=np.ones(len(most)), where=most > 0)[:, None]
    K = np.zeros((len(most), 4, nv, nv))
    for place, weight in differences.sides:
        far = place * size
        K += weight * second_derivatives(integrator, rows.q + far * at_start, rows.q2 + far * at_end, rows.u)
    K /= size[:, :, None, None]
    found = np.empty((len(most), J.shape[2], J.shape[2]))
    core.curved_by(K, J, state, found)
    return found


def _carried_back(J: np.ndarray, costates: np.ndarray, stages: int) -> np.ndarray:
    """Return the costates (..., n stages, 2 nv) at the ends of substeps, from those at the ends of steps."""
    found = np.empty((*costates.shape[:-1], stages, costates.shape[-1]))
    found[..., -1, :] = costates
    A = J[:, :, : J.shape[1]].reshape(-1, stages, J.shape[1], J.shape[1])
    for j in range(stages - 1, 0, -1):
        found[..., j - 1, :] = (found[..., j, None, :] @ A[:, j])[..., 0, :]
    return found.reshape(*costates.shape[:-2], len(J), costates.shape[-1])


def _chained(found: np.ndarray, J: np.ndarray, stages: int) -> np.ndarray:
    """Return the second derivatives (..., n, N, N) of whole steps from those of substeps, each by its own start."""
    count, n2 = J.shape[2], J.shape[1]
    each = found.reshape(*found.shape[:-3], len(J) // stages, stages, count, count)
    steps = J.reshape(len(J) // stages, stages, n2, count)
    # what a substep starts from, by what the step starts from: torques, inputs and ends stay
    X = np.broadcast_to(np.eye(count), (len(steps), count, count)).copy()
    total = each[..., 0, :, :].copy()
    for j in range(1, stages):
        X[:, :n2] = steps[:, j - 1] @ X
        total += X.swapaxes(1, 2) @ each[..., j, :, :] @ X
    return total


def _order(model: Model, own: Sequence[str], by: Sequence[str]) -> np.ndarray:
    """Return where the columns of ``by`` stand in those of ``own``."""
    counts = sizes_of(model, own)
    at = {name: np.arange(end - size, end) for name, end, size in zip(own, np.cumsum(counts), counts, strict=True)}
    return np.concatenate([at[name] for name in by])
