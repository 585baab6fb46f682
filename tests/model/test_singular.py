"""Mass matrices that are singular in some configurations are told by joint; others pass."""

from __future__ import annotations

from dataclasses import replace
from functools import partial

import numpy as np
import pytest
from loaded_models import random_tree
from random_models import random_state

import vitree as vt
from vitree.mechanism import regular
from vitree.mechanism.regular import LEAST_AT, always_regular, why_singular
from vitree.urdf.robots import example_robots, suggest_base

try:
    ROBOTS = example_robots()
except vt.VitreeError:
    ROBOTS = {}


def lump(name="end", mass=1.0):
    return vt.body(name, mass, (0.3, 0.2, 0.1))


def point(name="end"):
    return vt.body(name, 1.0)


#: Elements, a configuration where the mass matrix is singular, the joint to blame, and words of the reason.
SINGULAR = {
    "gimbal": ([vt.rz("yaw"), vt.ry("pitch"), vt.rz("turn"), lump()], (0.3, 0, -0.2), "yaw", "without moving any mass"),
    "gimbal turned over": ([vt.rz("yaw"), vt.ry("pitch"), vt.rz("turn"), lump()], (0, np.pi, 0), "yaw", "any mass"),
    "gimbal on an arm": (
        [vt.ry("arm"), lump("upper"), vt.tx(2.0), vt.rz("yaw"), vt.ry("pitch"), vt.rz("turn"), vt.tz(1.0), lump()],
        (0.4, 0.3, 0, 1.0), "yaw", "without moving any mass",
    ),
    "pendulum at its pole": ([vt.rz("a"), vt.ry("b"), vt.tz(1.0), point()], (0.7, 0.0), "a", "lies on its axis"),
    "folded onto the axis": (
        [vt.rz("a"), vt.tx(0.5), vt.rz("b"), vt.tx(0.5), point()], (0.1, np.pi), "a", "lies on its axis",
    ),
    "slides in a row": (
        [vt.tx("a"), vt.rz("b"), vt.tx("c"), lump()], (0.2, 0.0, 0.4), "a", "without moving any mass",
    ),
    "ball at the end of a rod": (
        [vt.rx("a"), vt.tz(1.0), vt.ry("b"), vt.tz(-1.0), vt.ball("c"), lump()], (0, 0, 0, 0, 0, 1), "a", "any mass",
    ),
}  # fmt: skip


def made(elements):
    tree = vt.Tree("made")
    tree.world.add(*elements)
    return tree.compile()


@pytest.mark.parametrize("case", SINGULAR)
def test_singular_configurations_are_told_by_joint(case):
    elements, q, joint, text = SINGULAR[case]
    model, q = made(elements), np.array(q, dtype=float)
    assert model.singular is None
    M = model.crba(q)
    scale = np.sqrt(np.diag(M)) + 1e-300
    assert np.linalg.eigvalsh(M / np.outer(scale, scale) if M.any(axis=0).all() else M)[0] < 1e-12
    ones = np.ones(model.nv)
    for ask in (
        lambda: model.forward_dynamics(q, ones), lambda: model.aba(q, ones, ones),
        lambda: model.velocity_from_momentum(q, ones), lambda: model.project_velocity(q, ones),
        *(partial(vt.simulate, model, q, ones, duration=0.1, dt=0.01, method=method) for method in vt.METHODS),
        lambda: vt.simulate(model, q, p0=ones, duration=0.1, dt=0.01),
    ):  # fmt: skip
        with pytest.raises(vt.ModelError, match=f'in this configuration the joint "{joint}" .*{text}.*start elsewhere'):
            ask()
    # what needs no acceleration works
    assert np.isfinite(model.rnea(q, ones, ones)).all() and np.isfinite(model._energies(q[None], ones[None])).all()


@pytest.mark.parametrize("case", SINGULAR)
def test_elsewhere_they_are_regular(case):
    model = made(SINGULAR[case][0])
    rng = np.random.default_rng(0)
    for _ in range(20):
        q = model.integrate(np.array(SINGULAR[case][1], dtype=float), rng.uniform(0.2, 0.5, model.nv))
        model.require_invertible_mass_matrix(q)
        tau = rng.normal(size=model.nv)
        a = model.aba(q, np.zeros(model.nv), tau)
        assert np.abs(model.rnea(q, np.zeros(model.nv), a) - tau).max() < 1e-6


def test_a_prescribed_joint_needs_no_inertia():
    elements = [vt.rz("yaw", kinematic=True), vt.ry("pitch"), vt.rz("turn"), lump()]
    made(elements).require_invertible_mass_matrix(np.zeros(3))


@pytest.mark.parametrize("inertia", [9e-6, 1e-9, 1e-13])
def test_light_links_pass(inertia):
    """A light finger on a heavy arm, and a light link between two joints on one line, are honest."""
    light = vt.body("light", 1e-3, (inertia, inertia, inertia))
    for elements in (
        [vt.ry("a"), lump("arm", 100.0), vt.tz(1.0), vt.ry("b"), light],
        [vt.ry("a"), light, vt.ry("b"), lump("arm")] if inertia > 1e-8 else [vt.ry("a"), lump(), vt.ry("b"), light],
    ):
        model = made(elements)
        for q in (np.zeros(2), np.array([1.0, -2.0])):
            model.require_invertible_mass_matrix(q)
            a = model.forward_dynamics(q, np.zeros(2), np.array([0.1, 0.2])).acceleration
            assert np.abs(model.rnea(q, np.zeros(2), a) - [0.1, 0.2]).max() < 1e-6


@pytest.mark.parametrize("count", [10, 1000])
@pytest.mark.parametrize("stretched", [True, False])
def test_long_chains_pass(count, stretched):
    """Their mass matrix has a wide range, their pivots have not."""
    elements = [part for k in range(count) for part in
                ((vt.rx, vt.ry)[k % 2](f"j{k}"), vt.body(f"b{k}", 1.0, (0.1, 0.1, 0.1)), vt.tz(-1.0))]  # fmt: skip
    model = made(elements)
    model.require_invertible_mass_matrix(np.zeros(count) if stretched else np.random.default_rng(0).normal(size=count))


@pytest.mark.parametrize("massless", [False, True])
@pytest.mark.parametrize("seed", range(8))
def test_random_mechanisms_pass(seed, massless):
    flat, q, _ = random_tree(seed, massless=massless)
    rng, model = np.random.default_rng(seed), vt.Model(flat)
    for _ in range(5):
        model.require_invertible_mass_matrix(q)
        q, _ = random_state(flat, rng)


def test_the_shares_fall_as_the_pivots_do():
    """Near its singular configuration a gimbal's first joint feels an inertia as the angle's square."""
    from vitree._core import scalar

    model, shares, pivots = made(SINGULAR["gimbal"][0]), [], []
    for angle in (1e-3, 2e-3):
        out = np.empty((1, 6))
        scalar().batch_pivots(model.core, np.array([[0.3, angle, -0.2]]), out)
        shares.append(out[0, 0])
        M = model.crba([0.3, angle, -0.2])
        pivots.append(M[0, 0] - M[0, 1:] @ np.linalg.solve(M[1:, 1:], M[1:, 0]))
    assert shares[1] / shares[0] == pytest.approx(4, rel=1e-4) == pivots[1] / pivots[0]


@pytest.mark.skipif(not ROBOTS, reason="needs example-robot-data")
def test_of_the_example_robots_only_icub_at_neutral_is_told():
    rng, told = np.random.default_rng(0), []
    for name, path in ROBOTS.items():
        try:
            model = vt.load_urdf(path, suggest_base(path))
        except vt.UrdfError:
            continue
        if model.singular is not None:
            continue
        for q in (model.neutral(), *(model.random_configuration(rng) for _ in range(20))):
            try:
                model.require_invertible_mass_matrix(q)
            except vt.ModelError as error:
                told.append((name, bool((q == model.neutral()).all())))
                assert '"neck_roll"' in str(error)
        says = [finding.text for finding in model.report if finding.id == "singular-neutral"]
        assert bool(says) == (name == "icub_description/icub")
    assert told == [("icub_description/icub", True)]


def test_robots_whose_joints_all_move_mass_are_not_asked_again():
    heavy = made([vt.rz("a"), lump("x"), vt.tx(1.0), vt.rz("b"), lump()])
    assert always_regular(heavy.flat)
    for case, (elements, *_) in SINGULAR.items():
        assert not always_regular(made(elements).flat), case
    for seed in range(12):
        flat, q, _ = random_tree(seed)
        if always_regular(flat):
            M = vt.Model(flat).crba(q)
            assert np.linalg.eigvalsh(M)[0] > LEAST_AT * 1e-3 * np.linalg.eigvalsh(M)[-1]


def hinges(count: int, rng: np.random.Generator):
    parts = [(vt.rx(f"j{k}"), vt.tz(1.0), lump(f"l{k}", rng.uniform(0.1, 2)), vt.rz(0.7)) for k in range(count)]
    return made([element for part in parts for element in part]).flat


def test_the_search_for_joints_without_inertia_is_left_out_only_where_it_finds_none(monkeypatch):
    """Also with bodies that take inertia from the joints above them, and in long chains."""
    flats = [made(elements).flat for elements, *_ in SINGULAR.values()]
    for seed in range(40):
        rng = np.random.default_rng(seed)
        for flat in (random_tree(seed)[0], hinges(6, rng)):
            inertia = flat.inertia.copy()
            inertia[rng.integers(len(inertia))] *= -1
            mass = flat.mass * rng.integers(0, 2, len(inertia))
            flats += [flat, replace(flat, inertia=inertia), replace(flat, mass=mass)]
    flats += [hinges(3, rng), hinges(300, rng)]
    with np.errstate(all="ignore"):
        short = [why_singular(flat) for flat in flats]
        left_out = sum(regular.share_alone(flat) > regular.LEAST for flat in flats)
    monkeypatch.setattr(regular, "share_alone", lambda flat: 0.0)
    with np.errstate(all="ignore"):
        assert short == [why_singular(flat) for flat in flats]
    assert 20 < left_out < len(flats) and {why is None for why in short} == {True, False}


def test_a_failed_step_at_a_singular_configuration_does_not_say_halve():
    """It came there on its way; a smaller step would not help."""
    from vitree.integrators.compiled import CompiledIntegrator

    model = made(SINGULAR["gimbal"][0])
    integrator = vt.METHODS["midpoint"](model, 0.01)
    assert isinstance(integrator, CompiledIntegrator)
    integrator.start(0.0, np.zeros(3), np.zeros(3))
    assert '"yaw"' in integrator._remedy() and "halve" not in integrator._remedy()
    integrator.start(0.0, np.array([0.0, 0.5, 0.0]), np.zeros(3))
    assert "halve" in integrator._remedy()


def test_singular_equations_without_constraints_say_so():
    from vitree.integrators.compiled import DEPENDENT

    integrator = vt.METHODS["midpoint"](made([vt.ry("a"), vt.tz(-1.0), lump()]), 0.01)
    integrator.start(0.0, np.zeros(1), np.zeros(1))
    text = str(integrator._failure(DEPENDENT))
    assert "the equations of the step are singular" in text and "constraints" not in text and "halve dt" in text
