"""Gradients by a sweep back over a run: against forward products of the steps' derivatives, and against differences."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from loaded_models import conservative_loads, constrained_tree, driving_loads, random_tree, singles
from random_models import random_flat, random_state, with_rotors
from step_differences import slope

import vitree as vt
from vitree import _core
from vitree.integrators import mass_slopes, slopes
from vitree.mechanism.flat import KINDS
from vitree.run import gradient as variation

METHODS = [("linear-time", {}), ("linear-time", {"kinetic": "screw"}), ("midpoint", {}), ("midpoint", {"alpha": 0.3})]
METHODS += [(name, {"order": order}) for name in ("linear-time", "midpoint") for order in (4, 6, 8)]
IDS = ["linear-time", "screw", "midpoint", "alpha", *(f"{name}-{more['order']}" for name, more in METHODS[4:])]
STEPS, DT = 12, 0.01


def driven(seed, kinds=KINDS, constrained=False):
    """A tree with damping, friction, armature, drives; a state, torque (steps, nv) and inputs (steps, nu)."""
    rng = np.random.default_rng(seed)
    if constrained:
        model, q, v = constrained_tree(seed, nbody=8, speed=0.3, damping=True)
        return model, q, v, rng.normal(size=(STEPS, model.nv)), np.zeros((STEPS, 0))
    flat = with_rotors(random_flat(rng, nbody=5, kinds=kinds, damping=True), seed)
    single = np.repeat(np.isin(flat.kind, (0, 1, 2)), np.array([1, 1, 1, 3, 6])[flat.kind])
    drives = tuple(vt.Drive(name, 20.0, 1.5, target=f"{name} goal", target_rate=f"{name} rate")
                   for name in singles(flat)[::2])  # fmt: skip
    model = vt.Model(replace(flat, friction=np.where(single, 0.3, 0.0), loads=drives))
    q, v = random_state(flat, rng, 0.5)
    inputs = rng.normal(size=(STEPS, len(model.input_names)))
    return model, q, v, rng.normal(size=(STEPS, model.nv)), inputs


def followed(model, q, p, torque, inputs, method, options, **more):
    return vt.simulate(model, q, p0=p, duration=STEPS * DT, dt=DT, method=method,
                       control=vt.Control(torque=rows_of(torque), inputs=inputs if inputs.size else None),
                       tolerance=1e-14, **options, **more)  # fmt: skip


def rows_of(torque):
    """A torque by step, as a function of time."""
    return lambda t, q, v: torque[min(int(t / DT), STEPS - 1)]


class Number:
    """A smooth function of the records of a run, and its derivatives by them."""

    def __init__(self, model, seed=0):
        rng = np.random.default_rng(seed)
        self.model = model
        self.goal = model.integrate(model.neutral(), 0.1 * rng.normal(size=model.nv))
        self.a, self.b = rng.normal(size=(2, STEPS + 1, model.nv))

    def __call__(self, run):
        return float((self.a * run.p).sum() + (self.b * np.array([self.place(q) for q in run.q])).sum())

    def place(self, q):
        places = np.sin(self.model.body_poses(q)[:, :3, 3]).ravel()
        return np.resize(places, self.model.nv)

    def by_q(self, run):
        out = np.empty((STEPS + 1, self.model.nv))
        for k, q in enumerate(run.q):
            for j, unit in enumerate(np.eye(self.model.nv)):
                out[k, j] = self.b[k] @ slope(lambda x, q=q, u=unit: self.place(self.model.integrate(q, x * u)), 1e-3)
        return out


@pytest.mark.parametrize(("method", "options"), METHODS, ids=IDS)
@pytest.mark.parametrize("constrained", [False, True])
def test_the_sweep_against_forward_products(constrained, method, options):
    model, q, v, torque, inputs = driven(3, constrained=constrained)
    nv = model.nv
    run = followed(model, q, model.generalized_momentum(q, v), torque, inputs, method, options)
    rng = np.random.default_rng(5)
    by_q, by_p = rng.normal(size=(2, STEPS + 1, nv))
    found = run.gradient(by_q, by_p, control=vt.Control(inputs=inputs if inputs.size else None))
    steps = run.linearize(control=vt.Control(inputs=inputs if inputs.size else None))
    g = np.hstack([by_q, by_p])
    start, total = np.eye(2 * nv), g[0].copy()
    moved, kicked = np.zeros((2 * nv, 0)), np.zeros((2 * nv, 0))
    forward = [np.zeros(0), np.zeros(0)]
    for k in range(STEPS):
        start = steps.A[k] @ start
        total += g[k + 1] @ start
        moved = np.hstack([steps.A[k] @ moved, steps.by_torque[k]])
        kicked = np.hstack([steps.A[k] @ kicked, steps.by_inputs[k]])
        forward = [np.append(x, np.zeros(y.shape[1] - len(x))) + g[k + 1] @ y
                   for x, y in zip(forward, (moved, kicked), strict=True)]  # fmt: skip
    for one, other in ((np.concatenate([found.by_q0, found.by_p0]), total), (found.by_torque.ravel(), forward[0]),
                       (found.by_inputs.ravel(), forward[1])):  # fmt: skip
        np.testing.assert_allclose(one, other, rtol=0, atol=1e-10 * max(1.0, np.abs(other).max(initial=0.0)))
    np.testing.assert_allclose(found.costates[-1], g[-1])


@pytest.mark.parametrize(("method", "options"), METHODS, ids=IDS)
@pytest.mark.parametrize("constrained", [False, True])
def test_a_variation_against_products_of_the_maps_and_the_gradient(constrained, method, options, monkeypatch):
    monkeypatch.setattr(variation, "CHUNK", 5)
    model, q, v, torque, inputs = driven(6, constrained=constrained)
    nv, nu = model.nv, inputs.shape[1]
    run = followed(model, q, model.generalized_momentum(q, v), torque, inputs, method, options)
    given = {"control": vt.Control(inputs=inputs)} if nu else {}
    steps = run.linearize(**given)
    rng = np.random.default_rng(8)
    d, dp = rng.normal(size=(2, nv))
    changes = {"dtorque": rng.normal(size=(STEPS, nv)), "dinputs": rng.normal(size=(STEPS, nu))}
    found = run.variation(d, dp, **changes, **given)
    motion = np.concatenate([d, dp])
    for k in range(STEPS):
        motion = steps.A[k] @ motion + steps.by_torque[k] @ changes["dtorque"][k]
        motion += steps.by_inputs[k] @ changes["dinputs"][k]
        size = 1e-10 * max(1.0, np.abs(motion).max())
        np.testing.assert_allclose(np.concatenate([found.d[k + 1], found.dp[k + 1]]), motion, rtol=0, atol=size)
    # the gradient is the transposed of it
    by_q, by_p = rng.normal(size=(2, STEPS + 1, nv))
    back = run.gradient(by_q, by_p, **given)
    one = (by_q * found.d).sum() + (by_p * found.dp).sum()
    other = back.by_q0 @ d + back.by_p0 @ dp + (back.by_torque * changes["dtorque"]).sum()
    other += (back.by_inputs * changes["dinputs"]).sum()
    assert abs(one - other) <= 1e-10 * (np.abs(by_q * found.d).sum() + np.abs(by_p * found.dp).sum())


@pytest.mark.parametrize("method", ["linear-time", "midpoint"])
def test_a_variation_of_a_long_run_with_a_prescribed_joint_against_differences(method):
    tree = vt.Tree("moved")
    hand = tree.world.add(vt.rz("arm", kinematic=True), vt.tx(0.3), vt.body("upper", 1.0, (0.1, 0.2, 0.1)))
    hand.add(vt.ry("elbow"), vt.tx(0.3), vt.body("lower", 0.7, (0.1, 0.1, 0.2)))
    model, dt, n = tree.compile(), 0.01, 300
    way = 0.2 * np.sin(0.02 * np.arange(n + 1))
    change = 1e-5 * np.sin(0.05 * np.arange(n + 1))
    d, dp = np.array([0.0, 2e-5]), np.array([0.0, -1e-5])

    def at(sign):
        q0, p0 = np.array([0.0, 0.4]) + sign * d, np.array([0.0, 0.1]) + sign * dp
        return vt.simulate(model, q0, p0=p0, dt=dt, method=method, duration=n * dt,
                           control=vt.Control(prescribed={"arm": way + sign * change}), tolerance=1e-14)  # fmt: skip

    run, ends = at(0.0), (at(1.0), at(-1.0))
    found = run.variation(d, dp, dprescribed=change[1:, None])
    moved = 0.5 * (ends[0].q - ends[1].q)
    assert np.abs(moved).max() > 1e-5
    np.testing.assert_allclose(found.d, moved, rtol=0, atol=1e-6 * np.abs(moved).max())
    np.testing.assert_allclose(found.dp[:, 1], 0.5 * (ends[0].p - ends[1].p)[:, 1], rtol=0, atol=1e-9)


@pytest.mark.parametrize("method", ["linear-time", "midpoint"])
@pytest.mark.parametrize("order", [2, 4, 6])
def test_prescribed_joints_in_products_variations_and_gradients(order, method):
    tree = vt.Tree("moved")
    hand = tree.world.add(vt.rz("arm", kinematic=True), vt.tx(0.3), vt.body("upper", 1.0, (0.1, 0.2, 0.1)))
    hand.add(vt.ball("elbow"), vt.tx(0.3), vt.body("lower", 0.7, (0.1, 0.1, 0.2), com=(0.0, 0.1, 0.2)))
    model = tree.compile()
    rng = np.random.default_rng(0)
    way = {"arm": 0.5 * np.sin(0.3 * np.arange(STEPS + 1))}
    q0 = model.integrate(model.neutral(), [0.0, 0.3, -0.2, 0.5])
    run = vt.simulate(model, q0, p0=[0.0, 0.1, 0.2, -0.1], duration=STEPS * DT, dt=DT, method=method, order=order,
                      control=vt.Control(prescribed=way), tolerance=1e-13)  # fmt: skip
    steps, (d, dp) = run.linearize(), rng.normal(size=(2, model.nv))
    changes = {"dtorque": rng.normal(size=(STEPS, model.nv)), "dprescribed": rng.normal(size=(STEPS, 1))}
    found, motion = run.variation(d, dp, **changes), np.concatenate([d, dp])
    for k in range(STEPS):
        motion = steps.A[k] @ motion + steps.by_torque[k] @ changes["dtorque"][k]
        motion += steps.by_prescribed[k] @ changes["dprescribed"][k]
        size = 1e-10 * np.abs(motion).max()
        np.testing.assert_allclose(np.concatenate([found.d[k + 1], found.dp[k + 1]]), motion, rtol=0, atol=size)
    by_q, by_p = rng.normal(size=(2, STEPS + 1, model.nv))
    back = run.gradient(by_q, by_p)
    one = (by_q * found.d).sum() + (by_p * found.dp).sum()
    other = back.by_q0 @ d + back.by_p0 @ dp + (back.by_torque * changes["dtorque"]).sum()
    other += (back.by_prescribed * changes["dprescribed"]).sum()
    assert abs(one - other) <= 1e-10 * (np.abs(by_q * found.d).sum() + np.abs(by_p * found.dp).sum())


def test_wrong_changes_are_told():
    model = vt.load_urdf(vt.find_robot("double_pendulum"))
    run = vt.simulate(model, [0.1, 0.2], duration=0.05, dt=0.01)
    with pytest.raises(vt.InputError, match=r"dtorque.*\(5, 2\)"):
        run.variation(dtorque=np.zeros((4, 2)))
    with pytest.raises(vt.InputError, match=r"d\[1\] is nan"):
        run.variation([0.0, np.nan])
    found = run.variation()
    assert not found.d.any() and not found.dp.any()


@pytest.mark.parametrize(("method", "options"), METHODS, ids=IDS)
def test_gradients_against_differences_of_runs(method, options):
    model, q, v, torque, inputs = driven(4)
    number, p = Number(model), model.generalized_momentum(q, v)
    run = followed(model, q, p, torque, inputs, method, options)
    links = list(model.link_names)
    names = [joint.name for joint in model.joints]
    asked = {"mass": links, "com": links, "inertia": links[:2], "damping": names, "friction": singles(model.flat),
             "armature": singles(model.flat), "gravity": (),
             "gains": [drive.joint for drive in model.drives]}  # fmt: skip
    found = run.gradient(number.by_q(run), number.a, parameters=asked, control=vt.Control(inputs=inputs))

    scale = max(np.abs(found.by_p0).max(), 1.0)
    for kind, of in found.by_parameters.items():
        for name, value in (of.items() if isinstance(of, dict) else [("", of)]):
            now = start_of(model, kind, name)
            for index in np.ndindex(now.shape):
                unit = np.zeros(now.shape)
                unit[index] = 1.0
                unit = 0.5 * (unit + unit.T) if kind == "inertia" else unit

                def at(more, kind=kind, name=name, now=now, unit=unit):
                    given = now + more * unit
                    given = float(given) if given.ndim == 0 else given
                    other = model.with_parameters(**{kind: {name: given} if name else given})
                    return number(followed(other, q, p, torque, inputs, method, options))

                expected = slope(at, 4e-4 * (np.abs(now).max() if kind == "inertia" else max(0.1, abs(now[index]))))
                got = np.asarray(value)[index]
                assert got == pytest.approx(expected, rel=2e-9, abs=2e-9 * scale), (kind, name, index)


def start_of(model, kind, name):
    """The number of a model that a gradient is by."""
    flat = model.flat
    if kind == "gravity":
        return np.array(flat.gravity)
    if kind == "gains":
        drive = next(drive for drive in model.drives if drive.joint == name)
        return np.array([drive.kp, drive.kd])
    if kind in ("mass", "com", "inertia"):
        return np.array(getattr(flat, f"link_{kind}")[flat.link_names.index(name)], dtype=float)
    found = np.array(getattr(flat, kind)[model.joint(name).v_slice])
    return found[0] if found.size == 1 else found


def test_links_that_are_fixed_together_have_gradients_of_their_own():
    tree = vt.Tree("two parts")
    arm = tree.world.add(vt.rx("hinge"), vt.body("arm", 1.0, (0.1, 0.2, 0.15), com=(0.1, 0.2, -0.3)))
    arm.add(vt.tx(0.3), vt.ry(0.4), vt.tz(-0.5), vt.body("tool", 0.4, (0.02, 0.03, 0.01), com=(0.05, 0.0, 0.1)))
    arm.add(vt.tz(-1.0), vt.ry("elbow"), vt.body("hand", 0.5, (0.01, 0.01, 0.02), com=(0.0, 0.1, -0.2)))
    model = tree.compile()
    run = vt.simulate(model, [0.4, 0.3], p0=[0.1, 0.2], duration=0.2, dt=0.01, tolerance=1e-14)
    weights = np.random.default_rng(0).normal(size=(2, 21, 2))
    links = ["arm", "tool", "hand"]
    found = run.gradient(*weights, parameters={"mass": links, "com": links, "inertia": links}).by_parameters

    def number(**given):
        run = vt.simulate(model.with_parameters(**given), [0.4, 0.3], p0=[0.1, 0.2], duration=0.2, dt=0.01,
                          tolerance=1e-14)  # fmt: skip
        return float((weights[0] * run.q).sum() + (weights[1] * run.p).sum())

    for kind in ("mass", "com", "inertia"):
        for link in links:
            now = start_of(model, kind, link)
            way = np.random.default_rng(1).normal(size=now.shape)
            way = 0.5 * (way + way.T) if kind == "inertia" else way
            expected = slope(lambda x, k=kind, link=link, to=way, now=now: number(**{k: {link: now + x * to}}), 3e-4)
            assert (found[kind][link] * way).sum() == pytest.approx(expected, rel=1e-9, abs=1e-9)


@pytest.mark.parametrize("method", ["linear-time", "midpoint"])
def test_velocities(method):
    model, q, v, torque, inputs = driven(6)
    rng = np.random.default_rng(1)
    weights = rng.normal(size=(STEPS + 1, model.nv))
    drive = {"control": vt.Control(torque=rows_of(torque), inputs=inputs), "tolerance": 1e-14}

    def run(d, dv):
        return vt.simulate(model, model.integrate(q, d), v + dv, duration=STEPS * DT, dt=DT, method=method, **drive)

    none = np.zeros(model.nv)
    by_q0, by_v0 = run(none, none).gradient(by_v=weights, control=vt.Control(inputs=inputs)).in_velocities()
    for k, unit in enumerate(np.eye(model.nv)):
        for found, way in ((by_q0, (unit, none)), (by_v0, (none, unit))):
            expected = (weights * slope(lambda x, way=way: run(x * way[0], x * way[1]).v, 1e-3)).sum()
            assert found[k] == pytest.approx(expected, rel=1e-9, abs=1e-9 * np.abs(by_q0).max())


def test_chunks_do_not_change_the_gradient(monkeypatch):
    from vitree.run import gradient

    model, q, v, torque, inputs = driven(1)
    run = followed(model, q, model.generalized_momentum(q, v), torque, inputs, "midpoint", {})
    weights = np.random.default_rng(0).normal(size=(2, STEPS + 1, model.nv))
    asked = {"mass": list(model.link_names), "damping": singles(model.flat)}
    whole = run.gradient(*weights, parameters=asked, control=vt.Control(inputs=inputs))
    monkeypatch.setattr(gradient, "CHUNK", 5)
    parts = run.gradient(*weights, parameters=asked, control=vt.Control(inputs=inputs))
    assert np.array_equal(whole.costates, parts.costates)
    assert np.array_equal(whole.by_torque, parts.by_torque)
    for kind in asked:
        for name, value in whole.by_parameters[kind].items():
            np.testing.assert_allclose(parts.by_parameters[kind][name], value, rtol=1e-12)
    assert "12 steps" in repr(parts)
    assert "mass, damping" in repr(parts)


def test_wrong_uses_are_told():
    model, q, v, torque, inputs = driven(1)
    run = followed(model, q, model.generalized_momentum(q, v), torque, inputs, "linear-time", {})
    good = np.zeros((STEPS + 1, model.nv))
    for given, error, text in (
        ({"by_q": good[1:]}, vt.InputError, "by_q"), ({"by_p": good * np.nan}, vt.InputError, "by_p"),
        ({"parameters": {"weight": ["link1"]}}, vt.UnknownNameError, "weight"),
        ({"parameters": {"mass": ["link99"]}}, vt.UnknownNameError, "link99"),
        ({"parameters": {"damping": ["nothing"]}}, vt.UnknownNameError, "nothing"),
        ({"parameters": {"gains": [model.drives[0].joint]}}, vt.InputError, "targets"),
        ({"parameters": 3}, vt.InputError, "parameters"),
    ):  # fmt: skip
        with pytest.raises(error, match=text):
            run.gradient(**{"by_q": good, **given})
    closed, q, v, torque, inputs = driven(2, constrained=True)
    held = followed(closed, q, closed.generalized_momentum(q, v), torque, inputs, "linear-time", {})
    with pytest.raises(vt.InputError, match="by_p"):
        held.gradient(by_v=np.zeros((STEPS + 1, closed.nv)))


def test_a_run_with_dampers_and_springs():
    flat, q, v = random_tree(4, nbody=6, base="free", damping=True)
    model = vt.Model(replace(flat, loads=(*conservative_loads(flat), *driving_loads(flat))))
    inputs = np.random.default_rng(0).normal(size=(STEPS, len(model.input_names)))
    number, p = Number(model), model.generalized_momentum(q, v)
    run = followed(model, q, p, np.zeros((STEPS, model.nv)), inputs, "midpoint", {})
    found = run.gradient(number.by_q(run), number.a, control=vt.Control(inputs=inputs), parameters={"mass": ["link2"]})

    def at(k, n, size):
        other = inputs.copy()
        other[k, n] += size
        return number(followed(model, q, p, np.zeros((STEPS, model.nv)), other, "midpoint", {}))

    for k, n in ((0, 0), (5, 1), (11, 2)):
        expected = slope(lambda x, k=k, n=n: at(k, n, x), 1e-2)
        assert found.by_inputs[k, n] == pytest.approx(expected, rel=1e-9, abs=1e-9)


@pytest.mark.parametrize("method", ["linear-time", "midpoint"])
def test_bits_do_not_depend_on_the_number_of_lanes(method, monkeypatch):
    model, q, v, torque, inputs = driven(5)
    run = followed(model, q, model.generalized_momentum(q, v), torque, inputs, method, {})
    closed, q, v, torque, _ = driven(2, constrained=True)
    held = followed(closed, q, closed.generalized_momentum(q, v), torque, np.zeros((STEPS, 0)), method, {})
    links = list(model.link_names)
    asked = {"mass": links, "com": links, "inertia": links, "gravity": ()}
    found = []
    for width in _core.widths():
        for module in (slopes, mass_slopes):
            monkeypatch.setattr(module, "wide", lambda width=width: _core.lanes(width))
        ones = np.ones((STEPS + 1, model.nv))
        found.append((run.gradient(ones, ones, parameters=asked, control=vt.Control(inputs=inputs)), held.linearize()))
    for gradient, steps in found[1:]:
        assert np.array_equal(gradient.costates, found[0][0].costates)
        for kind in ("mass", "com", "inertia"):
            for link in links:
                assert np.array_equal(gradient.by_parameters[kind][link], found[0][0].by_parameters[kind][link])
        assert np.array_equal(gradient.by_parameters["gravity"], found[0][0].by_parameters["gravity"])
        assert np.array_equal(steps.A, found[0][1].A)
