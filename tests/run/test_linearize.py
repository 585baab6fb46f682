"""Derivatives of steps: against differences over every joint kind, the symplectic form, and wrong uses."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
import reference as ref
from linearised_models import ALL, COMPOSED, IDS, METHODS, carried_model, loaded_model, plain_model, rubbing_model
from loaded_models import conservative_loads, constrained_tree, driving_loads, random_tree
from random_models import chain_flat, random_flat, random_state, with_rotors
from reference_cases import linearised_cases
from searches import ddp
from step_differences import central, one_step

import vitree as vt
from vitree import _core
from vitree.integrators import composed_slopes, slopes
from vitree.integrators.composition import SHARES
from vitree.mechanism.flat import KINDS
from vitree.run import linearization as linearized


def differences(model, q, v, dt, torque, inputs, method, options, size=1e-4):
    """Central differences of order 6 of a step, (2 nv, 2 nv), (2 nv, nv) and (2 nv, nu)."""
    nv, nu = model.nv, len(model.input_names)
    p = model.generalized_momentum(q, v)

    def end(d):
        run = vt.simulate(
            model, model.integrate(q, d[:nv]), p0=p + d[nv : 2 * nv], duration=dt, dt=dt, method=method,
            control=vt.Control(torque=torque + d[2 * nv : 3 * nv], inputs=inputs + d[3 * nv :] if nu else None),
            tolerance=1e-14, **options,
        )  # fmt: skip
        return run.q[-1], run.p[-1]

    found = central(model, end, size, 3 * nv + nu)
    return found[:, : 2 * nv], found[:, 2 * nv : 3 * nv], found[:, 3 * nv :]


#: All kinds with each method, without and with friction; one kind with each method, in turns without and with it.
STEPS = [
    pytest.param(make, kinds, *ALL[k], id=f"{make.__name__}-{kinds[0] if len(kinds) == 1 else 'all'}-{IDS[k]}")
    for n, kinds in enumerate([KINDS, *((kind,) for kind in KINDS)])
    for k in range(len(ALL))
    for friction, make in enumerate((plain_model, rubbing_model))
    if kinds == KINDS or (n + k + friction) % 2 == 0
]


@pytest.mark.parametrize(("make", "kinds", "method", "options"), STEPS)
def test_derivatives_of_a_step_against_differences(make, kinds, method, options):
    model = make(7, kinds)
    rng = np.random.default_rng(1)
    q, v = random_state(model.flat, rng, 1.0)
    torque, inputs = rng.normal(size=model.nv), rng.normal(size=len(model.input_names))
    found = vt.linearize(
        model, q, v, dt=0.03, method=method, control=vt.Control(torque=torque, inputs=inputs if inputs.size else None),
        tolerance=1e-14,
        **options,
    )  # fmt: skip
    expected = differences(model, q, v, 0.03, torque, inputs, method, options)
    for name, one, other in zip(("A", "by_torque", "by_inputs"), (found.A, found.by_torque, found.by_inputs), expected,
                                strict=True):  # fmt: skip
        np.testing.assert_allclose(one, other, rtol=0, atol=3e-9 * max(1.0, np.abs(expected[0]).max()), err_msg=name)



@pytest.mark.parametrize(("method", "options"), ALL, ids=IDS)
@pytest.mark.parametrize("base", ["fixed", "free"])
def test_derivatives_with_loads_against_differences(base, method, options):
    model, q, v = loaded_model(4, base)
    rng = np.random.default_rng(1)
    torque, inputs = rng.normal(size=model.nv), rng.normal(size=len(model.input_names))
    found = vt.linearize(model, q, v, dt=0.01, method=method, control=vt.Control(torque=torque, inputs=inputs),
                         tolerance=1e-14, **options)
    expected = differences(model, q, v, 0.01, torque, inputs, method, options)
    for one, other in zip((found.A, found.by_torque, found.by_inputs), expected, strict=True):
        np.testing.assert_allclose(one, other, rtol=0, atol=1e-8 * max(1.0, np.abs(expected[0]).max()))
    assert np.abs(found.by_inputs).min(axis=0).max() < np.abs(found.by_inputs).max(axis=0).min()


def stored_constraints(case):
    """Constraints of points of bodies along an axis, and frames for them."""
    flat, held, places, points = case.flat, [], [], []
    for k, one in enumerate(case.data["constraints"]):
        i = list(case.stored_body).index(one["body_a"])
        places.append(i)
        points.append((ref.inverse(case.body_pose[i]) @ [*one["point_a"], 1.0])[:3])
        offset = one["c0"] + np.dot(one["dir"], one["point_b"])
        held.append(vt.PointConstraint(f"held {k}", "world", tuple(one["dir"]), offset=offset))
    n = len(held)
    return {
        "constraints": tuple(held), "frame_names": (*flat.frame_names, *(f"held {k}" for k in range(n))),
        "frame_body": np.concatenate([flat.frame_body, np.array(places, dtype=flat.frame_body.dtype)]),
        "frame_E": np.concatenate([flat.frame_E, np.tile(np.eye(3), (n, 1, 1))]),
        "frame_p": np.concatenate([flat.frame_p, np.reshape(points, (n, 3))]),
    }  # fmt: skip


@pytest.mark.parametrize("case", linearised_cases(), ids=lambda case: case.flat.name)
def test_stored_derivatives(case):
    """Those of a program of its own: by state, torque and wrenches on bodies."""
    data, flat, nv = case.data, case.flat, len(case.order)
    names = ("nx", "ny", "nz", "fx", "fy", "fz")
    wrenches = case.wrenches("body_wrench")
    loads = tuple(
        vt.Wrench(f"link{i}", tuple(f"{i} {x}" for x in names[:3]), tuple(f"{i} {x}" for x in names[3:]), axes="local")
        for i in range(len(flat.kind))
    )
    model = vt.Model(replace(flat, loads=loads, **stored_constraints(case)))
    inputs = {f"{i} {x}": wrenches[i, k] for i in range(len(flat.kind)) for k, x in enumerate(names)}
    # the stored schemes are those of the papers
    options = {"kinetic": "screw" if data["scheme"] == "linear-time" else "midpoint"}
    found = vt.linearize(model, case.q[0], p0=case.v("p1"), dt=data["h"], method=data["scheme"],
                         control=vt.Control(inputs=inputs, torque=case.v("tau")), tolerance=1e-14,
                         **options)  # fmt: skip
    np.testing.assert_allclose(found.p_end, case.v("p2"), rtol=0, atol=1e-9)
    AB = np.array(data["AB"])
    rows = np.concatenate([case.order, nv + case.order])
    size = np.abs(AB).max()
    np.testing.assert_allclose(found.A, AB[np.ix_(rows, rows)], rtol=0, atol=1e-10 * size)
    np.testing.assert_allclose(found.by_torque, AB[np.ix_(rows, 2 * nv + case.order)], rtol=0, atol=1e-10 * size)
    for n, body in enumerate(data["wrench_bodies"]):
        i = list(case.stored_body).index(body)
        at = [model.input_names.index(f"{i} {x}") for x in names]
        own = found.by_inputs[:, at] @ ref.Ad(case.body_pose[i]).T
        stored = AB[rows, 3 * nv + 6 * n : 3 * nv + 6 * n + 6]
        np.testing.assert_allclose(own, stored, rtol=0, atol=1e-10 * size)
    np.testing.assert_allclose(-found.impulses.A, AB[2 * nv :][:, rows], rtol=0, atol=1e-10 * size)



@pytest.mark.parametrize(("method", "options"), ALL, ids=IDS)
@pytest.mark.parametrize("base", ["fixed", "free"])
def test_derivatives_with_constraints_against_differences(base, method, options):
    model, q, v = constrained_tree(3, nbody=8, base=base, speed=0.5, damping=True)
    rng = np.random.default_rng(0)
    torque = rng.normal(size=model.nv)
    found = vt.linearize(model, q, v, dt=0.01, method=method, control=torque, tolerance=1e-14, **options)
    apart = 1e-3 if "order" in options else 1e-4
    expected = central(model, one_step(model, q, v, 0.01, torque, None, method, options), apart, 3 * model.nv)
    both, size = np.hstack([found.A, found.by_torque]), np.abs(expected).max()
    np.testing.assert_allclose(both[: model.nv], expected[: model.nv], rtol=0, atol=1e-9 * size)
    if "order" in options:
        # rounding errors of momenta between substeps are those of steps of order 2
        size = max(size, np.abs(vt.linearize(model, q, v, dt=0.01, method=method, control=torque).A).max())
    np.testing.assert_allclose(both[model.nv :], expected[model.nv :], rtol=0, atol=1e-9 * size)
    # the end is on the constraints, wherever the start is
    rows = model.constraint_jacobian(found.q_end)
    np.testing.assert_allclose(rows @ found.A[: model.nv], 0.0, atol=1e-9 * np.abs(rows).max() * size)

    def multipliers(more):
        run = vt.simulate(model, q, v, duration=0.01, dt=0.01, method=method, control=torque + more, tolerance=1e-14,
                          **options)  # fmt: skip
        return run.multipliers[1]

    slopes = np.array([(multipliers(unit) - multipliers(-unit)) / 2e-2 for unit in 1e-2 * np.eye(model.nv)]).T
    scale = np.abs(slopes).max()
    over = 0.01 * SHARES[options.get("order", 2)][0]
    np.testing.assert_allclose(2 * found.impulses.by_torque / over, slopes, rtol=0, atol=1e-4 * scale)


@pytest.mark.parametrize("method", ["linear-time", "midpoint"])
@pytest.mark.parametrize("order", SHARES)
def test_the_map_with_constraints_is_symplectic_along_them(order, method):
    model, q, v = constrained_tree(6, nbody=8, base="free", speed=0.5)
    found = vt.linearize(model, q, v, dt=0.01, method=method, order=order, tolerance=1e-14)
    form, end = found.form(), found.form(end=True)
    off = found.A.T @ end @ found.A - form
    # displacements that keep the constraints, and any change of momentum that they leave alone
    rows = model.constraint_jacobian(found.q)
    along = np.linalg.svd(rows)[2][len(rows) :].T
    off = along.T @ off[: model.nv, : model.nv] @ along
    # with momenta that stay where the constraints let them: d1 along them, dp1 = 0
    size = np.abs(found.A).max() ** 2 * np.abs(form).max()
    np.testing.assert_allclose(off, 0.0, atol=1e-11 * size)


class Drag(vt.Force):
    """A force in Python that depends on time, configuration, velocity and inputs."""

    content = ("drag",)
    inputs = ("wind",)

    def force(self, model, t, q, v, u):
        wind = u[model.input_names.index("wind")] if u.size else 0.0
        return -(0.3 + 0.1 * np.cos(t)) * v * np.abs(v) + wind * np.sin(v) - 0.2 * np.sin(q[: model.nv])


def test_loads_that_depend_on_velocities_by_the_midpoint_method():
    flat, q, v = random_tree(4, nbody=6, base="free", damping=True)
    model = vt.Model(replace(flat, loads=(*conservative_loads(flat), *driving_loads(flat), Drag())))
    rng = np.random.default_rng(1)
    torque, inputs = rng.normal(size=model.nv), rng.normal(size=len(model.input_names))
    for options in ({}, {"alpha": 0.3}, {"order": 4}):
        found = vt.linearize(model, q, v, dt=0.01, method="midpoint", control=vt.Control(torque=torque, inputs=inputs),
                             tolerance=1e-14,
                             **options)  # fmt: skip
        end = one_step(model, q, v, 0.01, torque, inputs, "midpoint", options)
        expected = central(model, end, 1e-4, 3 * model.nv + len(inputs))
        both = np.hstack([found.A, found.by_torque, found.by_inputs])
        np.testing.assert_allclose(both, expected, rtol=0, atol=1e-8 * np.abs(expected).max())
    with pytest.raises(vt.ModelError, match=r"Damper, a load of class Drag.*midpoint"):
        vt.linearize(model, q, v, dt=0.01, control=vt.Control(inputs=inputs))



@pytest.mark.parametrize(("method", "options"), ALL, ids=IDS)
def test_prescribed_coordinates_against_differences(method, options):
    model = carried_model()
    q = model.integrate(model.neutral(), np.full(model.nv, 0.1))
    q = vt.satisfy_constraints(model, q, hold=["drive", "turn", "idle"])
    rng = np.random.default_rng(2)
    v, torque = model.project_velocity(q, rng.normal(size=model.nv)), rng.normal(size=model.nv)
    at = [model.joint(name).q_slice.start for name in model.prescribed_joint_names]
    goal = q[at] + [0.01, -0.02, 0.03]
    end = one_step(model, q, v, 0.01, torque, None, method, options, goal)
    expected = central(model, end, 1e-4, 3 * model.nv + 3)
    motion = {name: [q[i], to] for name, i, to in zip(model.prescribed_joint_names, at, goal, strict=True)}
    found = vt.linearize(model, q, p0=model.generalized_momentum(q, v), dt=0.01, method=method,
                         control=vt.Control(torque=torque, prescribed=motion), tolerance=1e-14, **options)  # fmt: skip
    both = np.hstack([found.A, found.by_torque, found.by_prescribed])
    free = np.ones(3 * model.nv + 3, bool)
    locked = [model.joint(name).v_slice.start for name in model.prescribed_joint_names]
    # no force acts on a prescribed coordinate
    free[model.nv + np.array(locked)] = free[2 * model.nv + np.array(locked)] = False
    np.testing.assert_allclose(both[:, free], expected[:, free], rtol=0, atol=1e-9 * np.abs(expected).max())
    assert np.array_equal(found.by_prescribed[locked], np.eye(3))


@pytest.mark.parametrize("method", ["linear-time", "midpoint"])
@pytest.mark.parametrize("order", SHARES)
@pytest.mark.parametrize("base", ["fixed", "free"])
def test_the_map_is_symplectic_where_nothing_dissipates(base, order, method):
    for seed in range(5):
        flat = with_rotors(random_flat(np.random.default_rng(seed), nbody=6, base=base), seed)
        model = vt.Model(flat)
        q, v = random_state(flat, np.random.default_rng(seed), 1.0)
        run = vt.simulate(model, q, v, duration=0.1, dt=0.02, method=method, order=order, tolerance=1e-14)
        found = run.linearize()
        off = found.A.swapaxes(-1, -2) @ found.form(end=True) @ found.A - found.form()
        size = np.abs(found.A).max() ** 2 * np.abs(found.form()).max()
        np.testing.assert_allclose(off, 0.0, atol=(1e-12 if order == 2 else 1e-11) * size)
        assert model.nq == model.nv or np.abs(found.form()[:, : model.nv, : model.nv]).max() > 0.1


@pytest.mark.parametrize(("method", "options"), [*COMPOSED, ("linear-time", {}), ("midpoint", {})])
@pytest.mark.parametrize("base", ["fixed", "free"])
def test_the_map_back_is_the_inverse(base, method, options):
    """Where nothing dissipates a step from the end with the opposite momentum leads to the start."""
    for seed in range(3):
        model = vt.Model(with_rotors(random_flat(np.random.default_rng(seed), nbody=6, base=base), seed))
        q, v = random_state(model.flat, np.random.default_rng(seed), 1.0)
        there = vt.linearize(model, q, v, dt=0.02, method=method, tolerance=1e-14, **options)
        back = vt.linearize(model, there.q_end, p0=-there.p_end, dt=0.02, method=method, tolerance=1e-14, **options)
        turn = np.diag(np.repeat([1.0, -1.0], model.nv))
        size = np.abs(there.A).max() * np.abs(back.A).max()
        np.testing.assert_allclose(turn @ back.A @ turn @ there.A, np.eye(2 * model.nv), rtol=0, atol=1e-11 * size)


@pytest.mark.parametrize("method", ["linear-time", "midpoint"])
def test_a_damped_map_is_not_symplectic(method):
    model = rubbing_model(0, ("revolute",))
    found = vt.linearize(model, np.full(model.nq, 0.3), np.full(model.nv, 0.5), dt=0.02, method=method)
    assert np.abs(found.A.T @ found.form(end=True) @ found.A - found.form()).max() > 1e-3


@pytest.mark.parametrize("method", ["linear-time", "midpoint"])
@pytest.mark.parametrize("order", SHARES)
def test_a_run_has_the_derivatives_of_its_steps(order, method, monkeypatch):
    # two chunks
    monkeypatch.setattr(linearized, "CHUNK", 20)
    monkeypatch.setattr(composed_slopes, "CHUNK", 7)
    model = rubbing_model(3, KINDS)
    rng = np.random.default_rng(0)
    q, v = random_state(model.flat, rng, 0.5)
    inputs = rng.normal(size=(9, len(model.input_names)))
    torque = rng.normal(size=model.nv)
    given = {"dt": 0.01, "method": method, "order": order}
    control = vt.Control(torque=torque, inputs=inputs)
    run = vt.simulate(model, q, v, duration=0.09, control=control, tolerance=1e-13, **given)
    # without inputs the constant forces of drives count as a torque
    found = run.linearize()
    told = run.linearize(control=vt.Control(inputs=inputs))
    assert found.A.shape == (9, 2 * model.nv, 2 * model.nv)
    assert found.by_inputs.shape == (9, 2 * model.nv, len(model.input_names))
    for k in (0, 4, 8):
        one = vt.linearize(model, run.q[k], p0=run.p[k], control=vt.Control(torque=torque, inputs=inputs[k]), **given)
        for name in ("A", "by_torque", "by_inputs"):
            scale = np.abs(getattr(found, name)).max()
            np.testing.assert_allclose(getattr(found, name)[k], getattr(one, name), rtol=0, atol=1e-8 * scale)
            np.testing.assert_allclose(getattr(told, name)[k], getattr(one, name), rtol=0, atol=1e-8 * scale)
        np.testing.assert_allclose(found.q_end[k], one.q_end, atol=1e-9)
    assert "9 steps" in repr(found)
    assert "a step" in repr(one)


@pytest.mark.parametrize(("method", "options"), METHODS[-2:] + COMPOSED[::2])
def test_runs_of_a_rollout(method, options):
    model = vt.Model(chain_flat(3))
    starts = np.random.default_rng(0).normal(size=(2, 2, 3))
    runs = vt.rollout(model, starts[0], starts[1], duration=0.1, dt=0.02, method=method, **options)
    one = vt.simulate(model, starts[0, 1], starts[1, 1], duration=0.1, dt=0.02, method=method, **options).linearize()
    np.testing.assert_allclose(runs[1].linearize().A, one.A, rtol=0, atol=1e-9)


@pytest.mark.parametrize("method", ["linear-time", "midpoint"])
def test_a_run_that_begins_at_rest(method):
    """The first step does not move; later ones turn and move at once."""
    tree = vt.Tree("body", gravity=(0, 0, 0))
    tree.world.add(vt.free("base"), vt.body("body", 2.0, (0.3, 0.2, 0.4), com=(0.1, 0.2, 0.3)))
    model = tree.compile()
    simulation = vt.Simulation(model, dt=0.05, method=method, record_every=1, tolerance=1e-14)
    torque = [3.0, -2.0, 4.0, 2.0, 5.0, -3.0]
    simulation.step()
    for _ in range(6):
        simulation.step(control=torque)
    found = simulation.trajectory.linearize()
    one = vt.linearize(model, found.q[6], p0=found.p[6], dt=0.05, method=method, control=torque)
    for name in ("A", "by_torque"):
        np.testing.assert_allclose(getattr(found, name)[6], getattr(one, name), rtol=0, atol=1e-9)
    assert np.array_equal(found.q[0], found.q[1])


@pytest.mark.parametrize("method", ["linear-time", "midpoint"])
def test_in_velocities(method):
    model = rubbing_model(8, KINDS)
    rng = np.random.default_rng(0)
    q, v = random_state(model.flat, rng, 0.7)
    found = vt.linearize(model, q, v, dt=0.02, method=method, tolerance=1e-14)

    def end(d):
        run = vt.simulate(model, model.integrate(q, d[: model.nv]), v + d[model.nv :], duration=0.02, dt=0.02,
                          method=method, tolerance=1e-14)  # fmt: skip
        return np.concatenate([model.difference(found.q_end, run.q[-1]), run.v[-1]])

    expected = [(8 * (end(1e-4 * e) - end(-1e-4 * e)) - (end(2e-4 * e) - end(-2e-4 * e))) / 12e-4
                for e in np.eye(2 * model.nv)]  # fmt: skip
    np.testing.assert_allclose(found.in_velocities().A, np.array(expected).T, rtol=0, atol=1e-7)
    run = vt.simulate(model, q, v, duration=0.1, dt=0.02, method=method, tolerance=1e-14)
    whole = run.linearize().in_velocities()
    np.testing.assert_allclose(whole.A[0], found.in_velocities().A, rtol=0, atol=1e-9)
    assert whole.by_inputs.shape == (5, 2 * model.nv, len(model.input_names))


@pytest.mark.parametrize("method", ["linear-time", "midpoint"])
def test_a_composed_run_tells_the_torque_that_was_held(method):
    model = rubbing_model(2, ("revolute", "ball"))
    q, v = random_state(model.flat, np.random.default_rng(0), 0.5)
    given = {"dt": 0.01, "method": method, "order": 4, "tolerance": 1e-13}

    def push(t, q, v):
        return np.sin(9 * t + np.arange(model.nv)) - 0.3 * v

    run = vt.simulate(model, q, v, duration=0.06, control=vt.Controller(push, period=0.01), **given)
    found = run.linearize()
    for k in range(6):
        one = vt.linearize(model, run.q[k], p0=run.p[k], control=push(run.t[k], run.q[k], run.v[k]), **given)
        np.testing.assert_allclose(found.A[k], one.A, rtol=0, atol=1e-9 * np.abs(one.A).max())
    # one that changes within steps is told
    with pytest.raises(vt.InputError, match=r"constant torque.*Controller"):
        vt.simulate(model, q, v, duration=0.06, control=push, **given).linearize()


def test_what_compositions_do_not_know_is_told():
    model, q = vt.Model(chain_flat(2)), np.array([0.3, 0.2])
    given = {"duration": 0.1, "dt": 0.01, "order": 4}
    for more in ({"wrenches": [vt.ExternalWrench("link1", (0, 20, 5), torque=(5.0, 1, 0), axes="local")]},
                 {"control": lambda t, q, v: [np.sin(50 * t), 0]}):  # fmt: skip
        with pytest.raises(vt.InputError, match="other forces acted"):
            vt.simulate(model, q, [2.0, -1.0], **given, **more).linearize()
    moved = carried_model()
    start = vt.satisfy_constraints(moved, moved.integrate(moved.neutral(), np.full(moved.nv, 0.1)))
    at = [start[moved.joint(name).q_slice.start] for name in moved.prescribed_joint_names]
    motion = {name: place + 0.1 * np.sin(5 * 0.01 * np.arange(11))
              for name, place in zip(moved.prescribed_joint_names, at, strict=True)}  # fmt: skip
    run = vt.simulate(moved, start, control=vt.Control(prescribed=motion), **given)
    assert run.linearize().by_prescribed.shape == (10, 2 * moved.nv, 3)
    bent = {name: lambda t, place=place: place + 0.001 * np.sin(200 * t)
            for name, place in zip(moved.prescribed_joint_names, at, strict=True)}  # fmt: skip
    with pytest.raises(vt.InputError, match=r"prescribed motions are arrays|cannot be taken again"):
        vt.simulate(moved, start, control=vt.Control(prescribed=bent), **given).linearize()
    with pytest.raises(vt.InputError, match="order=4 is not linearized here"):
        ddp(model, duration=0.1, dt=0.01, goal=q, Q=1.0, R=1.0, order=4)
    with pytest.raises(vt.InputError, match="no steps"):
        vt.Simulation(model, q, dt=0.01, order=4, record_every=1).trajectory.linearize()
    flat, q, v = random_tree(2, nbody=6)
    with pytest.raises(vt.ModelError, match="a load of class Damper;"):
        vt.linearize(vt.Model(replace(flat, loads=driving_loads(flat))), q, v, dt=0.01, order=4)


def test_drives_push_only_within_their_limits():
    tree = vt.Tree("rotor", gravity=(0, 0, 0))
    tree.world.add(vt.rx("hinge"), vt.body("rotor", 1.0, (0.5, 0.5, 0.5)))
    tree.load(vt.Drive("hinge", 50.0, 2.0, effort_limit=3.0, target="goal"))
    model = tree.compile()
    slack = vt.linearize(model, [0.1], dt=0.01, control=vt.Control(inputs={"goal": 0.12}))
    tight = vt.linearize(model, [0.1], dt=0.01, control=vt.Control(inputs={"goal": 2.0}))
    assert abs(slack.by_inputs[1, 0]) > 0.1
    assert not tight.by_inputs.any()
    np.testing.assert_allclose(tight.A, [[1, 0.01 / 0.5], [0, 1]], atol=1e-14)
    run = vt.simulate(model, [0.1], duration=0.1, dt=0.01, control=vt.Control(inputs={"goal": 2.0}))
    assert np.array_equal(run.linearize(control=vt.Control(targets=[2.0])).A,
                          run.linearize(control=vt.Control(inputs={"goal": 2.0})).A)
    with pytest.raises(vt.InputError, match="control="):
        run.linearize()
    for rows in (0, 1, 9, 11):
        with pytest.raises(vt.InputError, match=r"they must be \(1,\) all the time, or \(10, 1\)"):
            run.linearize(control=vt.Control(inputs=np.full((rows, 1), 2.0)))


@pytest.mark.parametrize("method", ["linear-time", "midpoint"])
def test_bits_do_not_depend_on_the_number_of_lanes(method, monkeypatch):
    model = rubbing_model(5, KINDS)
    q, v = random_state(model.flat, np.random.default_rng(0), 0.5)
    run = vt.simulate(model, q, v, duration=0.07, dt=0.01, method=method)
    found = []
    for width in _core.widths():
        monkeypatch.setattr(slopes, "wide", lambda width=width: _core.lanes(width))
        found.append(run.linearize())
    for other in found[1:]:
        assert np.array_equal(found[0].A, other.A)
        assert np.array_equal(found[0].by_torque, other.by_torque)


def test_wrong_uses_are_told():
    model = vt.Model(chain_flat(2))
    q, v = np.array([0.3, 0.2]), np.zeros(2)
    for wrong, text in (
        ({"method": "rk4"}, "linear-time or midpoint"), ({"method": "gauss"}, "linear-time or midpoint"),
        ({"order": 3}, "order"), ({"adapt": "density", "rate": 1.0}, "equal steps"), ({"method": 3}, "method"),
        ({"control": lambda t, q, v: v}, "torque"), ({"dt": -1.0}, "dt"), ({"q0": np.zeros(3)}, "q0"),
    ):  # fmt: skip
        with pytest.raises(vt.VitreeError, match=text):
            vt.linearize(model, **{"q0": q, "v0": v, "dt": 0.01, **wrong})
    with pytest.raises(vt.VitreeError, match="model"):
        vt.linearize("robot", q, dt=0.01)
    for method in ("rk4", "linear-time"):
        with pytest.raises(vt.InputError, match="is a Car"):
            vt.linearize(vt.vehicles.car(), dt=0.01, method=method)
    run = vt.simulate(model, q, v, duration=0.1, dt=0.01, record_every=2)
    with pytest.raises(vt.InputError, match="record_every=1"):
        run.linearize()
    with pytest.raises(vt.InputError, match="every=1"):
        vt.simulate(model, q, v, duration=0.1, dt=0.01)[2:].linearize()
    wrenches = [vt.ExternalWrench("link1", (0, 20, 5), torque=(5.0, 1, 0), axes="local")]
    pushed = vt.simulate(model, q, v, duration=0.1, dt=0.01, wrenches=wrenches)
    with pytest.raises(vt.InputError, match="other forces"):
        pushed.linearize()


def test_parts_that_are_not_linearized_are_named():
    flat, q, v = random_tree(2, nbody=6)
    with pytest.raises(vt.ModelError, match="a load of class Damper;"):
        vt.linearize(vt.Model(replace(flat, loads=driving_loads(flat))), q, v, dt=0.01)
    sprung = vt.Model(replace(flat, loads=conservative_loads(flat)))
    with pytest.raises(vt.InputError, match="averaged"):
        vt.linearize(sprung, q, v, dt=0.01, springs="averaged")
    model, q, v = constrained_tree(2, nbody=8)
    with pytest.raises(vt.InputError, match="alpha"):
        vt.linearize(model, q, v, dt=0.01, method="midpoint", alpha=0.0)
    twice = vt.Model(replace(model.flat, constraints=(*model.constraints, model.constraints[0])))
    with pytest.raises(vt.VitreeError, match=r"depend on each other|same"):
        vt.linearize(twice, q, v, dt=0.01)


@pytest.mark.parametrize("method", ["linear-time", "midpoint"])
def test_a_planar_pair_is_no_ball(method):
    """It has three velocities, and so has a ball."""
    tree = vt.Tree("puck")
    puck = tree.world.add(vt.planar("slide"), vt.body("puck", 1.0, (0.02, 0.03, 0.04), com=(0.1, 0.05, 0.0)))
    puck.add(vt.ball("neck"), vt.body("head", 0.5, (0.01, 0.02, 0.01), com=(0.0, 0.1, 0.2)))
    tree.load(vt.Spring("head", "world", 30.0, 0.2))
    model = tree.compile()
    rng = np.random.default_rng(0)
    q, v = model.integrate(model.neutral(), 0.3 * rng.normal(size=6)), rng.normal(size=6)
    found = vt.linearize(model, q, v, dt=0.02, method=method, tolerance=1e-14)
    expected = central(model, one_step(model, q, v, 0.02, np.zeros(6), None, method, {}), 1e-4, 18)
    both = np.hstack([found.A, found.by_torque])
    np.testing.assert_allclose(both, expected, rtol=0, atol=1e-9 * np.abs(expected).max())
    np.testing.assert_allclose(found.A.T @ found.form(end=True) @ found.A, found.form(), atol=1e-8)
