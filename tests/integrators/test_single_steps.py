"""`step(t, q, x)` of the compiled methods: the first step of a run, beside the integrator's own run."""

from __future__ import annotations

import numpy as np
import pytest
from loaded_models import constrained_tree, random_tree
from touching_models import crawler, thrown

import vitree as vt
from vitree.integrators.compiled import CompiledIntegrator

DT = 2e-3
METHODS = [name for name, kind in vt.METHODS.items() if issubclass(kind, CompiledIntegrator)]


def system(name):
    if name == "tree":
        flat, q, v = random_tree(3, base="free")
        return vt.Model(flat), q, v
    if name == "constrained":
        return constrained_tree(1)
    model = crawler(vt.Ground(friction=0.6), limits=True)
    return model, *thrown(model, 2)


def started(integrator, q, v):
    x = integrator.model.generalized_momentum(q, v) if integrator.uses_momentum else v
    integrator.start(0.3, q, x)
    return x


@pytest.mark.parametrize("name", ["tree", "constrained", "touching"])
@pytest.mark.parametrize("method", METHODS)
def test_a_step_is_the_first_one_of_a_run(method, name):
    model, q, v = system(name)
    try:
        integrator, other = (vt.METHODS[method](model, DT) for _ in range(2))
    except vt.ModelError:
        pytest.skip("the method does not support it")
    x = started(other, q, v)
    other.advance(1)
    # within another run
    far = model.integrate(q, 1e-3 * np.ones(model.nv))
    if name == "constrained":
        far = q
    started(integrator, far, v)
    integrator.advance(5)
    before = integrator.keep()
    found = integrator.step(0.3, q, x)
    for one, expected in zip(found, other.state(), strict=True):
        assert one.tobytes() == expected.tobytes()
    assert integrator.keep() == before
    assert integrator.t == pytest.approx(0.3 + 5 * DT)
    assert [each.tobytes() for each in integrator.step(0.3, q, x)] == [each.tobytes() for each in found]


def test_a_step_that_fails_changes_nothing():
    model, q, v = system("tree")
    integrator = vt.METHODS["linear-time"](model, DT)
    x = started(integrator, q, v)
    integrator.advance(3)
    before = integrator.keep()
    with pytest.raises(vt.ConvergenceError):
        integrator.step(0.0, q, 1e9 * x)
    with pytest.raises(vt.InputError, match="q"):
        integrator.step(0.0, q[1:], x)
    assert integrator.keep() == before
    integrator.advance(1)


def test_where_there_is_no_single_step():
    model, q, v = system("tree")
    integrator = vt.METHODS["linear-time"](model, DT, adapt="density", rate=3.0)
    x = started(integrator, q, v)
    with pytest.raises(vt.InputError, match="adaptive"):
        integrator.step(0.0, q, x)


@pytest.mark.parametrize("make", [vt.vehicles.helicopter, vt.vehicles.boat, vt.vehicles.car, vt.vehicles.snakeboard])
def test_vehicles_have_single_steps(make):
    vehicle = make()
    rng = np.random.default_rng(0)
    for name, kind in vehicle.methods.items():
        if not issubclass(kind, CompiledIntegrator):
            continue
        v = 0.3 * rng.normal(size=vehicle.nv)
        if isinstance(vehicle, vt.vehicles.NonholonomicVehicle):
            v = vehicle.velocity(vehicle.start, 0.3 * rng.normal(size=2))
        run = vt.simulate(vehicle, vehicle.start, v, duration=0.02, dt=0.01, method=name)
        x = run.p if kind.uses_momentum else run.v
        one, other = (kind(vehicle, 0.01) for _ in range(2))
        one.start(0.0, run.q[1], x[1])
        one.advance(1)
        assert [a.tobytes() for a in other.step(0.0, run.q[1], x[1])] == [b.tobytes() for b in one.state()]
