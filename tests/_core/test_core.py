"""The compiled kernels against the slow oracle, and every width against one lane."""

from __future__ import annotations

import mpmath
import numpy as np
import pytest
import reference
from kernel_checks import check_builds, of_builds
from random_models import random_flat, random_state, with_rotors

from vitree._core import lanes, widths
from vitree.mechanism.flat import KINDS
from vitree.model.model import Model

BUILT = widths()


def models():
    """Random trees: each joint kind alone, all mixed, massless bodies, both bases; half of the mixed with armature."""
    for k, kind in enumerate(KINDS):
        yield random_flat(np.random.default_rng(100 + k), nbody=5, kinds=(kind,), base="fixed")
    for seed in range(8):
        rng = np.random.default_rng(seed)
        flat = random_flat(rng, nbody=9, base="free" if seed % 2 else "fixed", massless=seed % 4 > 1)
        yield with_rotors(flat, seed) if seed > 3 else flat


@pytest.fixture(params=list(models()), ids=lambda f: "-".join(map(str, f.kind)))
def flat(request):
    return request.param


@pytest.fixture
def state(flat):
    rng = np.random.default_rng(7)
    q, v = random_state(flat, rng)
    return q, v, rng.normal(size=len(v))


def close(a, b, tolerance=1e-12):
    a, b = np.asarray(a), np.asarray(b, float)
    assert np.abs(a - b).max() <= tolerance * max(1.0, np.abs(b).max())


def test_dynamics_match_the_oracle(flat, state):
    model, (q, v, a) = Model(flat), state
    close(model.rnea(q, v, a), reference.rnea(flat, q, v, a))
    close(model.crba(q), reference.crba(flat, q))
    close(model.generalized_momentum(q, v), reference.crba(flat, q) @ v)


def test_aba_inverts_rnea(flat, state):
    model, (q, v, a) = Model(flat), state
    condition = np.linalg.cond(model.crba(q))
    close(model.aba(q, v, model.rnea(q, v, a)), a, 1e-15 * condition + 1e-12)
    p = model.generalized_momentum(q, v)
    close(model.velocity_from_momentum(q, p), v, 1e-15 * condition + 1e-12)


def test_kinematics_match_the_oracle(flat, state):
    model, q = Model(flat), state[0]
    for name in flat.frame_names:
        T = reference.frame_pose(flat, name, q)
        close(model.frame_pose(name, q), T)
        close(model.frame_jacobian(name, q), reference.frame_jacobian(flat, name, q))
        close(model.frame_jacobian(name, q, axes="local"), reference.frame_jacobian_local(flat, name, q))


def test_energies_match_the_oracle(flat, state):
    model, (q, v, _) = Model(flat), state
    close(model.kinetic_energy(q, v), reference.kinetic_energy(flat, q, v))
    close(model.potential_energy(q), reference.potential_energy(flat, q))
    close(model.momentum(q, v), reference.momentum(flat, q, v))
    close(model.center_of_mass(q), reference.center_of_mass(flat, q))


def test_retraction_matches_the_oracle_and_inverts(flat, state):
    model, (q, v, _) = Model(flat), state
    step = 0.3 * v
    close(model.integrate(q, step), reference.integrate(flat, q, step))
    close(model.difference(q, model.integrate(q, step)), step)
    far = reference.integrate(flat, q, v)
    close(model.difference(q, far), reference.difference(flat, q, far))


def batches(flat, n=19):
    """Inputs of every batch kernel, of rows that differ much, and how many columns come out."""
    rng = np.random.default_rng(3)
    states = [random_state(flat, rng, speed=10.0 ** rng.uniform(-3, 1)) for _ in range(n)]
    q, v = (np.ascontiguousarray(x) for x in map(np.array, zip(*states, strict=True)))
    q[::5, np.isin(np.arange(q.shape[1]), Model(flat)._iq[flat.kind < 3])] *= 1e7  # far wound angles
    a = rng.normal(size=v.shape)
    nq, nv, nb, g = q.shape[1], v.shape[1], len(flat.kind), np.array(flat.gravity, float)
    yield "batch_integrate", (q, v), nq
    yield "batch_difference", (q, np.roll(q, 1, axis=0)), nv
    yield "batch_rnea", (g, q, v, a), nv
    yield "batch_aba", (g, q, v, a), nv
    yield "batch_crba", (q,), nv * nv
    yield "batch_energy", (q, v), 11
    yield "batch_poses", (q,), 12 * nb
    yield "batch_jacobian", (q, nb - 1, np.array([0.1, 0.2, -0.3])), 6 * nv


@pytest.mark.parametrize("width", [w for w in BUILT if w > 1])
def test_every_width_gives_the_same_bits(flat, width):
    core = Model(flat).core
    for name, inputs, columns in batches(flat):
        one, many = (np.full((19, columns), np.nan) for _ in range(2))
        getattr(lanes(1), name)(core, *inputs, one)
        getattr(lanes(width), name)(core, *inputs, many)
        assert np.isfinite(one).all(), name
        assert one.tobytes() == many.tobytes(), name


@pytest.mark.parametrize("width", BUILT)
def test_sine_and_cosine_are_good_to_an_ulp(width):
    rng = np.random.default_rng(0)
    x = np.concatenate([
        rng.uniform(-7, 7, 400), rng.uniform(-1, 1, 400) * 10.0 ** rng.uniform(-300, 300, 400),
        np.arange(-40, 40) * np.pi / 4, [0.0, -0.0, 1048575.9, 1048576.1, 1.7e308, 5e-324],
    ])  # fmt: skip
    out = np.empty((len(x), 2))
    lanes(width).batch_elementary(x[:, None], out)
    with mpmath.workdps(700):
        for k, exact in enumerate((mpmath.sin, mpmath.cos)):
            value = [exact(mpmath.mpf(t)) for t in x]
            error = [abs(float(mpmath.mpf(y) - z)) for y, z in zip(out[:, k], value, strict=True)]
            assert (np.array(error) <= np.spacing(np.abs([float(z) for z in value]))).all()
    lanes(width).batch_elementary(np.full((9, 1), np.inf), out[:9])
    assert np.isnan(out[:9]).all()


@pytest.mark.parametrize("width", BUILT)
def test_angles_of_directions_are_good_to_an_ulp_and_a_half(width):
    rng = np.random.default_rng(1)
    angle = np.concatenate([rng.uniform(-4, 4, 800), np.arange(-16, 17) * np.pi / 8, rng.uniform(-1, 1, 200) * 1e-9])
    size = 10.0 ** rng.uniform(-150, 150, len(angle))
    x = np.column_stack([size * np.sin(angle), size * np.cos(angle)])
    x = np.concatenate([x, np.exp(rng.uniform(-300, 300, (400, 2))) * rng.choice([-1, 1], (400, 2)), [
        [0.0, 1.0], [0.0, -1.0], [1.0, 0.0], [-1.0, 0.0], [1.0, 1.0], [-1.0, -1.0], [1e-300, -1.0], [5e-324, 5e-324],
    ]])  # fmt: skip
    out = np.empty((len(x), 1))
    lanes(width).batch_atan2(x, out)
    with mpmath.workdps(60):
        exact = [mpmath.atan2(mpmath.mpf(s), mpmath.mpf(c)) for s, c in x]
        error = [abs(float(mpmath.mpf(y) - z)) for y, z in zip(out[:, 0], exact, strict=True)]
        assert (np.array(error) <= 1.5 * np.spacing(np.abs([float(z) for z in exact]))).all()
    odd = np.array([[0.0, 0.0], [-0.0, 0.0], [0.0, -0.0], [np.nan, 1.0], [1.0, np.nan]])
    lanes(width).batch_atan2(odd, out[:5])
    assert (out[:3] == 0).all() and np.isnan(out[3:5]).all()


@of_builds
@pytest.mark.parametrize(("stepper", "options"), [
    ("euler", {}), ("runge-kutta", {}), ("linear-time", {}), ("linear-time", {"split": True}), ("midpoint", {}),
], ids=str)  # fmt: skip
def test_all_builds_of_one_lane_give_the_same_bits(stepper, options):
    check_builds(stepper, random_flat, **options)
