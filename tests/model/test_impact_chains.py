"""Impacts that set off others within a step: chains, stacks, light balls on heavy ones, against sequential impacts."""

from __future__ import annotations

import numpy as np
import pytest

import vitree as vt

METHODS = ("linear-time", "midpoint", "semi-implicit-euler", "explicit-euler", "rk4")
G, RADIUS = 9.81, 0.05
#: Gaps between the balls of a chain, in parts of the way of a step.
GAPS = (0.0, 1e-9, 0.01, 0.3, 0.9, 1.5, 2.0)


def balls(masses, restitution, upright=False):
    """Balls on one line: apart from all else, or upright above the ground."""
    tree = vt.Tree("balls", gravity=(0, 0, -G if upright else 0))
    for k, mass in enumerate(masses):
        tree.world.add((vt.tz if upright else vt.tx)(f"slide{k}"), vt.body(f"ball{k}", mass))
        tree.contact(vt.Contact(f"ball{k}", shapes=vt.Sphere(RADIUS), restitution=restitution, friction=0.0))
    if upright:
        tree.contact(vt.Ground(restitution=restitution, friction=0.0))
    return tree.compile()


def sequential(masses, x, v, e, duration, gravity=0.0):
    """Places x (n,) of points on a line, and velocities, after sequential impacts; above a ground if they fall."""
    m, x, v = (np.array(values, float) for values in (masses, x, v))
    for _ in range(20000):
        first, hit = duration, None
        if gravity and (v[0] < -1e-10 or x[0] > 1e-12):
            first, hit = min((first, None), ((v[0] + np.sqrt(v[0] ** 2 + 2 * gravity * max(x[0], 0))) / gravity, -1),
                             key=lambda pair: pair[0])  # fmt: skip
        for k, (gap, speed) in enumerate(zip(np.maximum(np.diff(x), 0), -np.diff(v), strict=True)):
            if speed > 1e-10 and gap / speed < first:
                first, hit = gap / speed, k
        x, v, duration = x + v * first - gravity * first**2 / 2, v - gravity * first, duration - first
        if hit is None:
            return x, v
        if hit < 0:
            x[0], v[0] = 0.0, -e * v[0]
        else:
            impulse = (1 + e) * (v[hit] - v[hit + 1]) / (1 / m[hit] + 1 / m[hit + 1])
            v[hit : hit + 2] += impulse * np.array((-1 / m[hit], 1 / m[hit + 1]))
    raise AssertionError("impacts without end")


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("e", [1.0, 0.7, 0.3, 0.0])
@pytest.mark.parametrize("count", [3, 5])
def test_a_chain_is_struck_in_sequence(count, e, method):
    """Energies are those of sequential impacts, whatever the gaps and the steps; and velocities if e is 1."""
    for dt, gap in [(1e-3, gap) for gap in GAPS] + [(1e-2, 0.3), (1e-4, 0.3)]:
        model = balls([1.0] * count, e)
        gaps = np.array([10.3 * dt] + [gap * dt] * (count - 2))
        x, v = np.append(0.0, np.cumsum(gaps)), np.eye(count)[0]
        run = vt.simulate(model, x + 2 * RADIUS * np.arange(count), v, duration=90 * dt, dt=dt, method=method)
        if e == 0:
            np.testing.assert_allclose(run.v[-1], 1 / count, rtol=0, atol=1e-9)
        else:
            _, exact = sequential([1.0] * count, x, v, e, 90 * dt)
            assert (run.v[-1] ** 2).sum() == pytest.approx((exact**2).sum(), rel=2e-3), (gap, dt)
            # which of the slow ones behind have met by then is a matter of a step
            first = 0 if e == 1 else count - 1
            np.testing.assert_allclose(run.v[-1, first:], exact[first:], rtol=0, atol=2e-9 if e == 1 else 1e-3)


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("mass", [1e-2, 1e-6])
def test_a_light_ball_on_a_heavy_one_leaves_with_three_times_its_speed(mass, method):
    """Dropped by 1 m with gaps from zero to the way of two steps; off by what an impact at the end of a step is."""
    for dt in (4e-3, 1e-3):
        for gap in (0.0, 1e-12, 1e-9, 0.2 * dt, 8.0 * dt):
            run = vt.simulate(balls([1.0, mass], 1.0, upright=True), [1 + RADIUS, 1 + gap + 3 * RADIUS], duration=0.512,
                              dt=dt, method=method)  # fmt: skip
            _, v = sequential([1.0, mass], [1.0, 1.0 + gap], [0.0, 0.0], 1.0, 0.512, G)
            assert abs(run.v[-1, 1] - v[1]) < (12 if method == "explicit-euler" else 5) * G * dt
    assert v[1] > 12.4


@pytest.mark.parametrize("method", ["linear-time", "midpoint", "rk4"])
@pytest.mark.parametrize(("count", "e"), [*((n, e) for n in (2, 3) for e in (1.0, 0.8, 0.5, 0.3, 0.1)), (4, 1.0)])
def test_stacks_that_fall_keep_the_energy_of_sequential_impacts(count, e, method):
    """Balls of any mass fall with gaps up to the way of two steps: the energy is right to first order of dt.

    Elastic impacts keep it, but for rebounds that are slower than what a body gains by two steps of fall.
    """
    for seed in (0, 1, 2):
        rng = np.random.default_rng(seed)
        masses = 10 ** rng.uniform(-1, 1, count)
        for dt in (5e-4, 1.25e-4):
            x = 0.5 + np.cumsum(np.append(0.0, rng.uniform(0, 2, count - 1) * np.sqrt(G) * dt))
            run = vt.simulate(balls(masses, e, upright=True), x + RADIUS * (1 + 2 * np.arange(count)), duration=0.35,
                              dt=dt, method=method)  # fmt: skip
            try:
                ends = sequential(masses, x, np.zeros(count), e, 0.35, G)
            except AssertionError:
                continue
            found = run.q[-1] - RADIUS * (1 + 2 * np.arange(count)), run.v[-1]
            energy, exact = ((masses * (G * q + v * v / 2)).sum() for q, v in (found, ends))
            whole = G * (masses * x).sum()
            assert abs(energy - exact) < (1e-7 if e == 1 else 20 * dt) * whole, (seed, dt)


@pytest.mark.parametrize("method", ["linear-time", "rk4"])
def test_impacts_that_are_located_go_on_to_those_behind_them(method):
    """One is located in each step; what closes behind it in the rest of the step rebounds all the same."""
    for gap in (1e-9, 3e-4, 9e-4):
        x = np.array((0.0, 0.0103, 0.0103 + gap))
        for events in (1, 4):
            run = vt.simulate(balls([1.0] * 3, 1.0), x + 2 * RADIUS * np.arange(3), [1.0, 0.0, 0.0], duration=0.03,
                              dt=1e-3, method=method, max_impacts=events)  # fmt: skip
            np.testing.assert_allclose(run.v[-1], [0, 0, 1], rtol=0, atol=1e-9)


def test_a_wave_through_a_light_ball_between_heavy_ones():
    """Hundreds of impacts in a few steps keep the energy: a heavy ball falls on a light one above the ground."""
    masses, x = np.array((1e-3, 1.0)), np.array((1e-4, 2e-4))
    model = balls(masses, 1.0, upright=True)
    run = vt.simulate(model, x + RADIUS * np.array((1, 3)), [0.0, -1.0], duration=0.05, dt=1e-3)
    assert np.ptp(run.energy) < 1e-9 * run.energy[0]
    assert run.v[-1, 1] > 0.3


def test_the_momentum_of_steps_in_halves_is_in_balance():
    """Impulses of each half act where it begins."""
    tree = vt.Tree("capsule")
    tree.world.add(vt.free("base"), vt.body("capsule", 1.0, (0.004, 0.006, 0.008)))
    tree.contact(vt.Contact("capsule", shapes=vt.Capsule(0.05, 0.3)), vt.Ground(friction=2.0, restitution=0.4))
    model, halved = tree.compile(), 0
    for seed, dt in ((0, 1e-2), (4, 1e-2), (8, 5e-3)):
        rng = np.random.default_rng(seed)
        q = vt.place_on_ground(model, model.integrate(model.neutral(), np.r_[0, 0, 1, rng.normal(size=3)]))
        q[2] += rng.uniform(0.01, 0.5)
        run = vt.simulate(model, q, rng.normal(size=6) * (1, 1, 1, 60, 60, 60), duration=0.6, dt=dt, method="midpoint",
                          monitors="momentum_balance")  # fmt: skip
        halved += run.settings["halved"]
        assert np.abs(run.monitors["momentum_balance"]).max() < 1e-12 * np.abs(run.momentum).max()
    assert halved
