"""Accelerations of random robots that touch the ground, beside short steps, and inverse dynamics beside them."""

from __future__ import annotations

import numpy as np
import pytest
from random_models import random_inertia

import vitree as vt

METHODS = ("linear-time", "midpoint", "rk4")
#: What moves slower than this sticks, and what slides is faster [m/s or rad/s].
SLIDES = 0.05


def limb(rng, at, name, limits):
    """A limb of one to three joints with dampers and limits; names of its bodies and of its joints, and those met."""
    bodies, joints, met = [], [], {}
    for k in range(int(rng.integers(1, 4))):
        joint, body = f"{name}{k}", f"body {name}{k}"
        lower, upper = (-1.2, 1.2) if limits else (-np.inf, np.inf)
        primitive = (vt.rx, vt.ry, vt.tz)[rng.integers(3)]
        at = at.add(vt.fixed(xyz=tuple(0.3 * rng.normal(size=3)), rpy=tuple(rng.uniform(-2, 2, 3))),
                    primitive(joint, lower=lower, upper=upper, damping=rng.uniform(0, 0.5),
                              dry_friction=rng.uniform(0.2, 1.0) * (rng.random() < 0.3)),
                    vt.body(body, m := rng.uniform(0.5, 2.0), random_inertia(rng, m) + 0.02 * np.eye(3),
                            com=tuple(0.1 * rng.normal(size=3))))  # fmt: skip
        bodies.append(body)
        joints.append(joint)
        if limits and rng.random() < 0.3:
            met[joint] = (lower, upper)[rng.integers(2)]
    return bodies, joints, met


def feet(rng, tree, model, q, bodies, normal):
    """Contacts of some bodies, of all kinds of shapes, that touch a plane at q."""
    across = np.linalg.qr(np.column_stack([normal, rng.normal(size=(3, 2))]))[0][:, 1:]
    flat = np.column_stack([across, np.cross(across[:, 0], across[:, 1])])  # z across the plane
    out = []
    for body in rng.permutation(bodies)[: int(rng.integers(1, 3))]:
        X = model.frame_pose(str(body), q)
        foot = X[:3, 3] + 0.2 * (across @ rng.normal(size=2))
        foot = foot - (foot @ normal) * normal
        local = lambda x, X=X: tuple(X[:3, :3].T @ (x - X[:3, 3]))  # noqa: E731
        turn = X[:3, :3].T @ flat
        kind = int(rng.integers(4))
        # two points of a body that stick are one row too many
        friction = float(rng.choice([0.0, 0.2, 0.5, 0.8])) if kind < 2 else float(rng.choice([0.0, 0.0, 0.0, 0.5]))
        if kind == 0:
            what = {"points": [local(foot)]}
        elif kind == 1:
            what = {"shapes": [vt.Sphere(0.1, position=local(foot + 0.1 * normal))]}
        elif kind == 2:
            lying = {"position": local(foot + 0.05 * normal), "rotation": turn[:, [1, 2, 0]]}
            what = {"shapes": [vt.Capsule(0.05, 0.2, **lying)]}
        else:
            what = {"points": [local(foot), local(foot + 0.3 * across[:, 0])]}
        out.append(vt.Contact(str(body), friction=friction, **what))
    return out


def frictions(model):
    return {each.frame: each.friction for each in model.contacts if isinstance(each, vt.Contact)}


def rows_of(model, q, closed):
    """Rows (3, nv) of velocities of closed contacts, normal first, or (1, nv); of limits and dry friction (1, nv)."""
    out, mu = [], frictions(model)
    for a, b, point, normal in zip(closed.a, closed.b, closed.point, closed.normal, strict=True):
        if b in ("limit", "dry friction"):
            row = np.zeros((1, model.nv))
            row[0, model.joint(a).v_slice] = 1.0
            out.append(row)
            continue
        J, origin = model.frame_jacobian(a, q), model.frame_pose(a, q)[:3, 3]
        rate = J[3:] + np.cross(J[:3], point - origin, axis=0)
        one = np.cross(normal, np.eye(3)[np.abs(normal).argmin()])
        one /= np.linalg.norm(one)
        out.append(np.array([normal, one, np.cross(normal, one)])[: 3 if mu[a] else 1] @ rate)
    return out


def independent(M, rows):
    """Whether what rows (m, nv) of velocities hold determines their forces."""
    return not len(rows) or np.linalg.cond(rows @ np.linalg.solve(M, rows.T)) < 1e6


def state(seed):
    """A random robot and a state of it on the ground: model, q, v, tau, inputs; None where its forces are ambiguous.

    Contacts are closed and neither open nor close; each sticks or slides. Rows of all that holds are independent (else
    friction is not determined), and what slides does not jam: with friction against the slip the normal forces answer
    as a positive definite matrix.
    """
    rng = np.random.default_rng(seed)
    limits, base = rng.random() < 0.5, rng.random() < 0.8
    tree = vt.Tree("robot")
    tree.limits = "enforce" if limits else "report"
    trunk = tree.world.add(vt.free("base") if base else vt.tz("base"),
                           vt.body("trunk", 3.0, random_inertia(rng, 3.0) + 0.05 * np.eye(3)))  # fmt: skip
    bodies, joints, met = ["trunk"], [], {}
    for name in "abc"[: int(rng.integers(1, 4))]:
        more = limb(rng, trunk, name, limits)
        bodies, joints, met = bodies + more[0], joints + more[1], met | more[2]
    normal = np.array([0.2 * rng.normal(), 0.2 * rng.normal(), 1.0])
    normal /= np.linalg.norm(normal)
    bare = tree.compile()
    q = bare.neutral()
    for joint in joints:
        q[bare.joint(joint).q_slice] = met.get(joint, rng.uniform(-0.9, 0.9))
    if base:
        q = bare.integrate(q, np.concatenate([rng.normal(size=6), np.zeros(bare.nv - 6)]))
    free = [joint for joint in joints if joint not in met]
    if len(free) >= 2 and rng.random() < 0.4:
        one, other = (float(q[bare.joint(joint).q_slice][0]) for joint in free[:2])
        tree.constrain(vt.gear(free[0], free[1], -1.3, one + 1.3 * other))
    elif len(bodies) > 3 and rng.random() < 0.5:
        one, other = (bare.frame_pose(body, q)[:3, 3] for body in (bodies[1], bodies[-1]))
        if np.linalg.norm(one - other) > 0.2:
            tree.constrain(vt.Distance(bodies[1], bodies[-1], float(np.linalg.norm(one - other))))
    tree.contact(vt.Ground(normal=tuple(normal)), feet(rng, tree, bare, q, bodies, normal))
    driven = {joint: (rng.uniform(5, 50), rng.uniform(0.1, 1.0)) for joint in joints if rng.random() < 0.6}
    model = tree.compile().with_drives(driven) if driven else tree.compile()
    inputs = {f"{joint} target": rng.uniform(-1, 1) for joint in driven}
    held, M = [model.constraint_jacobian(q)], model.crba(q)
    if not independent(M, held[0]):
        return None
    closed = model.contact_forces(q, np.zeros(model.nv), inputs=inputs)
    rows = rows_of(model, q, closed)
    sticks = rng.random()
    for row, b in zip(rows, closed.b, strict=True):
        some = row if rng.random() < sticks or b == "limit" else row[: b == "ground"]
        held.append(some)
    A = np.concatenate(held)
    if not independent(M, np.concatenate([held[0], *rows])):
        return None
    v = rng.normal(size=model.nv)
    if len(A):
        MA = np.linalg.solve(M, A.T)
        v = v - MA @ np.linalg.solve(A @ MA, A @ v)
    # normals that answer with friction against the slip, where constraints hold
    mu, some = frictions(model), [k for k, b in enumerate(closed.b) if b != "dry friction"]
    if some:
        N = np.array([rows[k][0] for k in some])
        F = N.copy()
        for i, k in enumerate(some):
            way = rows[k][1:] @ v
            if np.linalg.norm(way) > SLIDES:
                F[i] -= mu[closed.a[k]] * (way / np.linalg.norm(way)) @ rows[k][1:]
        W = np.linalg.inv(M)
        if len(held[0]):
            W = W - W @ held[0].T @ np.linalg.solve(held[0] @ W @ held[0].T, held[0] @ W)
        answer = N @ W @ F.T
        if np.linalg.eigvalsh(answer + answer.T).min() < 1e-3 * np.abs(answer).max():
            return None
    forces = model.contact_forces(q, v, inputs=inputs)
    slip = np.linalg.norm(forces.slip, axis=1)
    if ((slip > 1e-9) & (slip < SLIDES)).any():
        return None
    return model, q, v, rng.normal(size=model.nv), inputs


@pytest.fixture(scope="module")
def robots():
    """A hundred random robots: seed, model, q, v, tau, inputs."""
    found, seed = [], 0
    while len(found) < 100:
        one = state(seed)
        if one is not None:
            found.append((seed, *one))
        seed += 1
    return found


def test_there_is_all_that_acts(robots):
    kinds, sliding, held = set(), 0, 0
    for _, model, q, v, tau, inputs in robots:
        forces = model.contact_forces(q, v, tau, inputs=inputs)
        kinds |= {*forces.b}
        sliding += bool((np.linalg.norm(forces.slip, axis=1) > SLIDES).any())
        held += bool(model.constraints)
    assert kinds == {"ground", "limit", "dry friction"}
    assert 20 < sliding < 80 and held > 20
    assert sum(bool(model.drives) for _, model, *_ in robots) > 50


@pytest.mark.parametrize("method", METHODS)
def test_the_acceleration_is_that_of_short_steps(robots, method):
    """The change of velocity over dt, to order dt: half of dt has at most so much of the error, or rounding's."""
    bad, compared = [], 0
    for seed, model, q, v, tau, inputs in robots:
        if method == "rk4" and model.dry_friction.any():
            continue  # which is not for it
        a, off = model.forward_dynamics(q, v, tau, inputs=inputs).acceleration, []
        for h in (4e-5, 2e-5):
            more = {} if method == "rk4" else {"tolerance": 1e-13}
            run = vt.simulate(model, q, v, duration=2 * h, dt=h, control=vt.Control(torque=tau, inputs=inputs),
                              method=method, **more)
            off.append(np.abs(np.diff(run.v, axis=0) / h - a).max() / (1 + np.abs(a).max()))
        compared += 1
        if not off[1] < max(0.65 * off[0], 1e-6):
            bad.append((seed, off))
    assert not bad and compared > 20, bad


def test_inverse_dynamics_undoes_forward_dynamics(robots):
    for seed, model, q, v, tau, inputs in robots:
        a = model.forward_dynamics(q, v, tau, inputs=inputs).acceleration
        size = 1 + np.abs(a).max()
        # other joint forces may give the same acceleration, but none are needed where none act
        again = model.inverse_dynamics(q, v, a, inputs=inputs)
        found = model.forward_dynamics(q, v, again, inputs=inputs).acceleration
        np.testing.assert_allclose(found, a, atol=1e-10 * size, err_msg=str(seed))
        rest = model.inverse_dynamics(q, v, model.forward_dynamics(q, v, inputs=inputs).acceleration, inputs=inputs)
        np.testing.assert_allclose(rest, 0, atol=1e-10 * size * model.total_mass, err_msg=str(seed))
        free = model.forward_dynamics(q, v, tau, inputs=inputs, contacts="none").acceleration
        unheld = model.inverse_dynamics(q, v, free, inputs=inputs, contacts="none")
        if not model.constraints:
            np.testing.assert_allclose(unheld, tau, atol=1e-10 * size * model.total_mass, err_msg=str(seed))
