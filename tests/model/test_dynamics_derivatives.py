"""Derivatives of rnea, aba and forward_dynamics: against Pinocchio, differences, and each other."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from closed_chains import finger
from loaded_models import PLACES, STENCIL, conservative_loads, driving_loads, random_tree
from random_models import random_flat, random_state, with_rotors
from reference_cases import pinocchio_model

import vitree as vt
from vitree._core import lanes, widths
from vitree.mechanism.flat import FREE, KINDS
from vitree.model import broadcasting as stacks

#: Step of the differences of sixth order: errors of some 1e-11.
STEP = 2e-3


def depth_first(flat):
    """Whether bodies outboard of each have the numbers behind it, as Pinocchio has them."""
    for i in range(len(flat.kind)):
        on = i - 1
        while on >= 0 and on != flat.parent[i]:
            on = flat.parent[on]
        if on != flat.parent[i]:
            return False
    return True


def tree(seed, rotors=False, **more):
    rng = np.random.default_rng(seed)
    flat = random_flat(rng, **{"nbody": 8, **more})
    return with_rotors(flat, seed) if rotors else flat


def state(model, seed=0):
    """q, v, and a or tau."""
    rng = np.random.default_rng(seed)
    return model.random_configuration(rng), *rng.standard_normal((2, model.nv))


def slope(f, n):
    """The derivative (m, n) of f at n zeros."""
    ends = [[w * f(s * STEP * e) for s, w in zip(PLACES, STENCIL, strict=True)] for e in np.eye(n)]
    return np.sum(ends, axis=1).T.reshape(-1, n) / STEP


def by_differences(model, f, q, v, w):
    n = model.nv
    return (slope(lambda d: f(model.integrate(q, d), v, w), n), slope(lambda d: f(q, v + d, w), n),
            slope(lambda d: f(q, v, w + d), n))  # fmt: skip


def close(found, expected, tolerance=1e-8):
    for x, y in zip(found, expected, strict=True):
        assert x.shape == y.shape
        assert np.abs(x - y).max(initial=0.0) <= tolerance * max(1.0, np.abs(y).max(initial=0.0))


# ---- the bare mechanism ---------------------------------------------------------------------------------

ORDERED = [seed for seed in range(300) if depth_first(tree(seed))][:12]


def test_trees_for_pinocchio_branch_and_have_every_kind():
    flats = [tree(seed) for seed in ORDERED]
    assert len(flats) == 12
    assert {int(kind) for flat in flats for kind in flat.kind} == set(range(len(KINDS)))
    assert any((flat.parent[1:] != np.arange(7)).any() for flat in flats)
    assert any((flat.kind[flat.parent >= 0] == FREE).any() for flat in flats)


@pytest.mark.parametrize("seed", ORDERED)
def test_derivatives_are_those_of_pinocchio(seed):
    pin = pytest.importorskip("pinocchio")
    flat = tree(seed, rotors=seed % 2)
    model, theirs = vt.Model(flat), pinocchio_model(flat)
    data = theirs.createData()
    q, v, a = state(model, seed)
    by_q, by_v, M = pin.computeRNEADerivatives(theirs, data, q, v, a)
    M = np.triu(M) + np.triu(M, 1).T
    close(model.rnea_derivatives(q, v, a), (by_q, by_v, M), 1e-12)
    tau = model.rnea(q, v, a)
    by_q, by_v, inverse = pin.computeABADerivatives(theirs, data, q, v, tau)
    inverse = np.triu(inverse) + np.triu(inverse, 1).T
    close(model.aba_derivatives(q, v, tau), (by_q, by_v, inverse), 1e-10)


TREES = {
    "all kinds": {}, "floating": {"base": "free"}, "massless": {"massless": True, "nbody": 7},
    "chain": {"branching": 0.0, "kinds": ("revolute",), "nbody": 9}, "branches": {"branching": 1.0, "nbody": 9},
    "sliding": {"kinds": ("prismatic", "helical", "free"), "nbody": 6}, "balls": {"kinds": ("ball",), "nbody": 5},
    "one": {"nbody": 1},
}  # fmt: skip


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("label", TREES)
def test_derivatives_are_those_of_differences(label, seed):
    model = vt.Model(tree(seed, rotors=seed == 1, **TREES[label]))
    q, v, a = state(model, seed)
    inverse = model.rnea_derivatives(q, v, a)
    close(inverse, by_differences(model, model.rnea, q, v, a))
    tau = model.rnea(q, v, a)
    forward = model.aba_derivatives(q, v, tau)
    close(forward, by_differences(model, model.aba, q, v, tau))
    # and with each other
    close([inverse.by_a @ x for x in forward], (-inverse.by_q, -inverse.by_v, np.eye(model.nv)), 1e-11)
    M = model.crba(q)
    assert np.abs(inverse.by_a - M).max() <= 1e-14 * np.abs(M).max()
    assert np.array_equal(inverse.by_a, inverse.by_a.T) and np.array_equal(forward.by_torque, forward.by_torque.T)
    assert np.array_equal(forward.by_torque, model.inverse_mass_matrix(q))


def test_armature_on_an_end_without_mass():
    made = vt.Tree("rotor at the end")
    made.world.add(vt.rx("a"), vt.tz(-1.0), vt.body("one", 1.0, (0.1, 0.1, 0.1)), vt.ry("b", armature=0.2))
    model = made.compile()
    assert model.nv == 2
    q, v, a = np.array([0.3, -1.0]), np.array([1.0, 2.0]), np.array([0.5, -0.7])
    close(model.rnea_derivatives(q, v, a), by_differences(model, model.rnea, q, v, a))
    close(model.aba_derivatives(q, v, a), by_differences(model, model.aba, q, v, a))


@pytest.mark.parametrize("seed", range(4))
def test_prescribed_coordinates_do_not_accelerate(seed):
    flat = tree(seed, rotors=True)
    single = np.concatenate([np.full(joint.v_slice.stop - joint.v_slice.start, joint.kind not in ("ball", "free"))
                             for joint in flat.joints])  # fmt: skip
    locked = single & (np.random.default_rng(seed).uniform(size=len(single)) < 0.5)
    assert locked.any() and not locked.all()
    model = vt.Model(replace(flat, kinematic=locked))
    q, v, tau = state(model, seed)
    found = model.aba_derivatives(q, v, tau)
    close(found, by_differences(model, model.aba, q, v, tau))
    assert not any(x[locked].any() for x in found) and found.by_q[:, locked].any()
    free = np.ix_(~locked, ~locked)
    close([model.inverse_mass_matrix(q)[free]], [np.linalg.inv(model.crba(q)[free])], 1e-11)
    assert not model.inverse_mass_matrix(q)[:, locked].any()


def test_where_the_base_is_does_not_matter():
    model = vt.Model(tree(2, base="free"))
    q, v, a = state(model)
    far = q.copy()
    far[:3] += 1e6
    for found, expected in ((model.rnea_derivatives(far, v, a), model.rnea_derivatives(q, v, a)),
                            (model.aba_derivatives(far, v, a), model.aba_derivatives(q, v, a))):  # fmt: skip
        assert all(np.array_equal(x, y) for x, y in zip(found, expected, strict=True))


def test_derivatives_of_a_sliding_base_that_is_far_and_fast_keep_their_digits():
    """Velocities are those relative to the parent's points: a uniform motion of all leaves no trace."""
    made = vt.Tree("train")
    on = made.world.add(vt.tx("train"), vt.body("car", 3.0))
    on.add(vt.ry("a"), vt.tz(-0.3), vt.body("one", 1.0, (0.1, 0.1, 0.1)), vt.rx("b"), vt.tz(-0.2), vt.body("two", 0.5))
    model = made.compile()
    v, a = np.array([0.0, 1.2, -0.7]), np.array([0.3, 0.5, 0.2])
    here = model.rnea_derivatives([0.0, 0.4, 0.8], v, a)
    there = model.rnea_derivatives([1e7, 0.4, 0.8], v + np.array([1e7, 0.0, 0.0]), a)
    close(there, here, 1e-14)


def test_a_pendulum_by_hand():
    made = vt.Tree("pendulum")
    made.world.add(vt.ry("a"), vt.tz(-2.0), vt.body("bob", 1.5))
    model = made.compile()
    by_q, by_v, by_a = model.rnea_derivatives([0.4], [3.0], [5.0])
    # tau = m l^2 a + m g l sin q
    assert np.allclose(by_q, 1.5 * 9.81 * 2.0 * np.cos(0.4)) and np.allclose(by_a, 6.0) and np.allclose(by_v, 0.0)


# ---- stacks ---------------------------------------------------------------------------------------------

CALLS = ("rnea_derivatives", "aba_derivatives")


@pytest.mark.parametrize("width", widths())
def test_rows_have_the_bits_of_single_calls_at_every_width(width, monkeypatch):
    monkeypatch.setattr(stacks, "wide", lambda: lanes(width))
    for flat in (tree(1, rotors=True), tree(2, base="free", nbody=9), tree(5, massless=True)):
        model = vt.Model(flat)
        states = [random_state(flat, np.random.default_rng(k)) for k in range(11)]
        q, v = (np.array(x) for x in zip(*states, strict=True))
        tau = np.random.default_rng(3).standard_normal(v.shape)
        for name in CALLS:
            alone = [getattr(model, name)(*x) for x in zip(q, v, tau, strict=True)]
            for n in (1, 2, 3, 8, 11):
                found = getattr(model, name)(q[:n], v[:n], tau[:n])
                for k, part in enumerate(found):
                    assert part.tobytes() == np.array([x[k] for x in alone[:n]]).tobytes()
        found = model.inverse_mass_matrix(q)
        assert found.tobytes() == np.array([model.inverse_mass_matrix(x) for x in q]).tobytes()


def test_leading_axes_broadcast():
    model = vt.Model(tree(3))
    q, v, a = state(model)
    found = model.aba_derivatives(np.array([[q], [q]]), v, np.zeros((3, model.nv)))
    assert found.by_q.shape == found.by_v.shape == found.by_torque.shape == (2, 3, model.nv, model.nv)
    assert model.rnea_derivatives(np.empty((0, model.nq)), v, a).by_a.shape == (0, model.nv, model.nv)
    assert model.inverse_mass_matrix(np.array([[q, q]])).shape == (1, 2, model.nv, model.nv)


# ---- everything the model has ------------------------------------------------------------------------------


class Bowl(vt.Potential):
    def energy(self, model, q):
        return 2.0 * float(q[0]) ** 4

    def gradient(self, model, q):
        return np.eye(model.nv)[0] * 8.0 * q[0] ** 3

    def hessian(self, model, q):
        return np.diag(np.eye(model.nv)[0]) * 24.0 * q[0] ** 2


class Wind(vt.Force):
    def force(self, model, t, q, v, u):
        return -0.3 * (1 + t) * v * np.abs(v) + 0.1 * q[0]

    def by_q(self, model, t, q, v, u):
        out = np.zeros((model.nv, model.nv))
        out[:, 0] = 0.1
        return out

    def by_v(self, model, t, q, v, u):
        return np.diag(-0.6 * (1 + t) * np.abs(v))


class Lazy(vt.Force):
    def force(self, model, t, q, v, u):
        return -v


def loaded(seed, loads, kinds=KINDS, **more):
    flat, _, _ = random_tree(seed, kinds=kinds, damping=True, **more)
    friction = np.zeros(len(flat.damping))
    for joint in flat.joints:
        if joint.v_slice.stop - joint.v_slice.start == 1:
            friction[joint.v_slice] = 0.3
    speeds = np.full(len(friction), 0.5)  # differences must resolve where friction changes its sign
    return vt.Model(replace(flat, friction=friction, friction_velocity=speeds, loads=loads(flat)))


LOADS = {
    "none": lambda flat: (), "potentials": conservative_loads, "driving": driving_loads,
    "both": lambda flat: (*conservative_loads(flat), *driving_loads(flat)),
}  # fmt: skip


def accelerations(model, **more):
    return lambda q, v, tau: model.forward_dynamics(q, v, tau, **more).acceleration


@pytest.mark.parametrize("base", ["fixed", "free"])
@pytest.mark.parametrize("label", LOADS)
def test_derivatives_with_loads_are_those_of_differences(label, base):
    model = loaded(4, LOADS[label], base=base)
    q, v, tau = state(model, 1)
    more = {"inputs": np.linspace(0.5, 1.5, len(model.input_names)), "t": 0.3}
    found = model.forward_dynamics_derivatives(q, v, tau, **more)
    close(found, by_differences(model, accelerations(model, **more), q, v, tau), 1e-7)


@pytest.mark.parametrize("load", range(len(conservative_loads(random_tree(4)[0])) + 4))
def test_each_load_alone(load):
    flat, q, v = random_tree(11, kinds=KINDS, base="free")
    loads = LOADS["both"](flat)
    model = vt.Model(replace(flat, loads=(loads[load],)))
    inputs = np.linspace(0.5, 1.5, len(model.input_names))
    f = accelerations(model, inputs=inputs)
    tau = np.zeros(model.nv)
    close(model.forward_dynamics_derivatives(q, v, inputs=inputs), by_differences(model, f, q, v, tau), 1e-8)


def robot(*loads, kinematic=False, limit=np.inf, speed=np.inf):
    made = vt.Tree("arm")
    made.world.add(vt.tx("rail", kinematic=kinematic), vt.body("cart", 2.0), vt.ry("a", damping=0.2), vt.tz(-0.5),
                   vt.body("one", 1.0, (0.1, 0.2, 0.3)), vt.rx("b", friction=0.1), vt.tz(-0.4),
                   vt.body("two", 0.7, (0.1, 0.1, 0.1)))  # fmt: skip
    made.load(*loads)
    return made.compile()


@pytest.mark.parametrize(("limit", "speed", "stiff"), [(1e3, 1e3, True), (0.5, 4.0, False), (0.5, np.inf, False)])
def test_drives_within_and_at_their_limits(limit, speed, stiff):
    model = robot(vt.Drive("a", 40.0, 3.0, target="goal", effort_limit=limit, velocity_limit=speed))
    q, v, tau = np.array([0.1, 0.3, -0.8]), np.array([0.4, 1.1, -0.6]), np.array([0.5, 0.2, 0.1])
    found = model.forward_dynamics_derivatives(q, v, tau, inputs={"goal": 1.5})
    close(found, by_differences(model, accelerations(model, inputs={"goal": 1.5}), q, v, tau))
    free = robot().forward_dynamics_derivatives(q, v, tau)
    assert (np.abs(found.by_q - free.by_q).max() > 1.0) == stiff


def test_forces_written_in_python_with_their_derivatives():
    model = robot(Bowl(), Wind())
    q, v, tau = np.array([0.7, 0.3, -0.8]), np.array([0.4, 1.1, -0.6]), np.array([0.5, 0.2, 0.1])
    found = model.forward_dynamics_derivatives(q, v, tau, t=0.4)
    close(found, by_differences(model, accelerations(model, t=0.4), q, v, tau))


def test_prescribed_accelerations():
    model = robot(kinematic=True)
    q, v, tau = np.array([0.7, 0.3, -0.8]), np.array([0.4, 1.1, -0.6]), np.array([0.5, 0.2, 0.1])
    more = {"prescribed": {"rail": 4.0}}
    found = model.forward_dynamics_derivatives(q, v, tau, **more)
    close(found, by_differences(model, accelerations(model, **more), q, v, tau))
    resting = model.forward_dynamics_derivatives(q, v, tau)
    assert not found.by_q[0].any() and np.abs(found.by_q - resting.by_q).max() > 0.1


@pytest.mark.parametrize("reduce", [False, True])
def test_couplings_and_reduced_models(reduce):
    model = finger().reduced() if reduce else finger()
    q, v, tau = state(model, 5)
    more = {"inputs": np.ones(len(model.input_names))}
    close(model.forward_dynamics_derivatives(q, v, tau, **more),
          by_differences(model, accelerations(model, **more), q, v, tau), 1e-7)  # fmt: skip
    close(model.rnea_derivatives(q, v, tau), by_differences(model, model.rnea, q, v, tau))
    close(model.aba_derivatives(q, v, tau), by_differences(model, model.aba, q, v, tau), 1e-7)
    close([model.inverse_mass_matrix(q)], [np.linalg.inv(model.crba(q))], 1e-9)


def test_rows_of_everything():
    model = loaded(4, LOADS["both"])
    q = np.array([state(model, k)[0] for k in range(3)])
    found = model.forward_dynamics_derivatives(q, np.zeros(model.nv))
    alone = [model.forward_dynamics_derivatives(x, np.zeros(model.nv)) for x in q]
    for k, part in enumerate(found):
        assert part.tobytes() == np.array([x[k] for x in alone]).tobytes()


# ---- what is refused ------------------------------------------------------------------------------------------


def test_what_has_no_exact_derivatives_is_named():
    made = vt.Tree("held")
    made.world.add(vt.tx("x"), vt.body("a", 1.0))
    made.world.add(vt.ty("y"), vt.body("b", 1.0))
    made.constrain(vt.Distance("a", "b", 1.0))
    held = made.compile()
    with pytest.raises(vt.ModelError, match=r"no exact derivatives of the distance.*central differences"):
        held.forward_dynamics_derivatives([1.0, 0.0], [0.0, 0.0])
    held.aba_derivatives([1.0, 0.0], [0.0, 0.0], [0.0, 0.0])  # of the bare mechanism
    with pytest.raises(vt.ModelError, match="derivatives of Lazy: its class does not give by_q and by_v"):
        robot(Lazy()).forward_dynamics_derivatives(np.zeros(3), np.zeros(3))
    with pytest.raises(vt.ModelError, match=r"in Euler angles; take those of the model before euler\(\)"):
        robot(Bowl()).euler().forward_dynamics_derivatives(np.zeros(3), np.zeros(3))


@pytest.mark.parametrize("wrong", [np.zeros((7, 1)), lambda t, q, v: [1.0], np.zeros(2), ["a"]])
def test_inputs_must_be_numbers_of_one_state(wrong):
    model = robot(vt.Drive("a", 40.0, 3.0, target="goal"))
    with pytest.raises(vt.InputError, match="inputs"):
        model.forward_dynamics_derivatives(np.zeros(3), np.zeros(3), inputs=wrong)


@pytest.mark.parametrize("name", CALLS)
def test_bad_input_is_named(name):
    model = robot()
    call, zero = getattr(model, name), np.zeros(3)
    last = "a" if name == "rnea_derivatives" else "tau"
    with pytest.raises(vt.InputError, match=r"^q has shape \(2,\)"):
        call(np.zeros(2), zero, zero)
    with pytest.raises(vt.InputError, match=rf"^{last}\[1\] is nan"):
        call(zero, zero, [0.0, np.nan, 0.0])
    with pytest.raises(vt.InputError, match="must broadcast"):
        call(np.zeros((2, 3)), np.zeros((3, 3)), zero)
    with pytest.raises(vt.InputError, match=r"^v\[1\] is 1e\+200: .* is then too large for a double"):
        call(zero, [0.0, 1e200, 0.0], zero)
    assert np.isfinite(call(zero, zero, zero)[0]).all()


def test_singular_mass_matrices_are_refused():
    made = vt.Tree("points on an axis")
    made.world.add(vt.rx("a"), vt.body("one", 1.0))
    model = vt.Model(made.flatten())
    for call in (lambda: model.aba_derivatives([0.0], [0.0], [0.0]), lambda: model.inverse_mass_matrix([0.0]),
                 lambda: model.forward_dynamics_derivatives([0.0], [0.0])):  # fmt: skip
        with pytest.raises(vt.ModelError, match='"a"'):
            call()
    assert np.isfinite(model.rnea_derivatives([0.0], [0.0], [0.0]).by_q).all()
