"""The midpoint integrator on ball and free joints: order, and what the steps keep."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
import reference
from directions import ALL, INPUTS, H, pairing, slopes
from loaded_models import (
    SINGLE,
    conservative_loads,
    driving_loads,
    end_error,
    fitted,
    random_tree,
)
from random_models import random_flat, random_state

import vitree as vt
from vitree.urdf.robots import example_robots

# ---- steps ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("alpha", [0.3, 0.5, 0.7])
@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("kinetic", ["midpoint", "relative"])
def test_steps_are_the_oracles(kinetic, seed, alpha):
    """With joint forces, damping and a wrench on a body."""
    rng = np.random.default_rng(seed)
    flat = random_flat(rng, nbody=5, kinds=ALL, base="free" if seed % 2 else "fixed", damping=True)
    q, v = random_state(flat, rng, speed=0.5)
    model, tau, w = vt.Model(flat), rng.normal(size=len(v)), rng.normal(size=6)
    p, wrench = model.generalized_momentum(q, v), np.zeros((5, 6))
    wrench[3] = w
    end = vt.simulate(model, q, p0=p, duration=H, dt=H, method="midpoint", alpha=alpha, control=tau, tolerance=1e-13,
                      wrenches=[vt.ExternalWrench("link3", w[3:], torque=w[:3],
                                                  axes="local")], kinetic=kinetic)[-1]  # fmt: skip
    if kinetic == "relative":
        D1, D2 = reference.relative_slots(flat, q, reference.difference(flat, q, end.q), H, alpha, tau, wrench)
        assert np.abs(p + D1).max() < 1e-11 * np.abs(p).max()
        assert np.abs(end.p - D2).max() < 1e-11 * np.abs(p).max()
        return
    q2, p2 = reference.midpoint_step(flat, q, p, H, alpha, tau, wrench)
    assert np.abs(model.difference(q2, end.q)).max() < 1e-11
    assert np.abs(p2 - end.p).max() < 1e-11 * np.abs(p).max()


@pytest.mark.parametrize("forced", [False, True], ids=["free", "forced and damped"])
@pytest.mark.parametrize("base", ["fixed", "free"])
def test_order(base, forced):
    """Two, against DOP853."""
    flat, q, v = random_tree(3, nbody=6, kinds=(*SINGLE, "ball"), base=base, damping=forced)
    model, more = vt.Model(flat), {}
    if forced:
        model = vt.Model(replace(flat, loads=(*conservative_loads(flat), *driving_loads(flat))))
        more = {"control": vt.Control(inputs={**INPUTS, "drive": lambda t: np.sin(4 * t)}, torque=lambda t, q,
                                      v: np.sin(3 * t + np.arange(model.nv)) - 0.3 * v)}  # fmt: skip
    exact = vt.simulate(model, q, v, duration=0.2, dt=0.2, method="scipy-dop853", rtol=1e-12, atol=1e-12, **more)
    counts, errors = (40, 80, 160), []
    for n in counts:
        run = vt.simulate(model, q, v, duration=0.2, dt=0.2 / n, method="midpoint", **more)
        errors.append(end_error(model, exact[-1], run[-1]))
    assert np.abs(fitted([1 / n for n in counts], errors) - 2).max() < 0.1


def test_energy_stays_bounded():
    """Of a falling tree with balls on springs, over 2e4 steps. Faster trees come too near to what attracts them."""
    flat, q, v = random_tree(5, nbody=6, kinds=(*SINGLE, "ball"), speed=0.1)
    model = vt.Model(replace(flat, loads=conservative_loads(flat)))
    run = vt.simulate(model, q, v, duration=20.0, dt=0.001, method="midpoint", record_every=10)
    error = run.energy - run.energy[0]
    assert np.abs(error).max() < 5e-3 * run.kinetic.max()
    blocks = error[1:].reshape(20, -1).mean(axis=1)
    assert abs(np.polyfit(np.linspace(0, 1, 20), blocks, 1)[0]) < 0.25 * np.ptp(error)


@pytest.mark.parametrize("alpha", [0.5, 0.3])
@pytest.mark.parametrize("kinds", [("revolute", "ball"), ("ball", "free")])
def test_steps_are_symplectic(kinds, alpha):
    """A^T Omega(p2) A = Omega(p1)."""
    rng = np.random.default_rng(8)
    flat = random_flat(rng, nbody=3, kinds=kinds, base="free")
    q, v = random_state(flat, rng)
    model, n, e = vt.Model(flat), len(v), 1e-3
    p = model.generalized_momentum(q, v)

    def end(d):
        return vt.simulate(model, model.integrate(q, d[:n]), p0=p + d[n:], duration=H, dt=H, method="midpoint",
                           alpha=alpha, tolerance=1e-14, guess="aba", solver="recursive-newton")[-1]  # fmt: skip

    base = end(np.zeros(2 * n))

    def moved(d):
        to = end(d)
        return np.concatenate((model.difference(base.q, to.q), to.p - base.p))

    A = slopes(moved, 2 * n, e)
    kept = A.T @ pairing(flat, base.p) @ A
    assert np.abs(kept - pairing(flat, p)).max() < 1e-9 * np.abs(A).max() ** 2
    # which is not the canonical form
    assert np.abs(pairing(flat, p)[:n, :n]).max() > 1e-2


@pytest.mark.parametrize("tolerance", [1e-9, 1e-8])
def test_momentum_stays_with_free_joints_inside(tolerance):
    flat = random_flat(np.random.default_rng(5), nbody=7, base="free", gravity=(0, 0, 0), kinds=ALL)
    q, v = random_state(flat, np.random.default_rng(6), speed=0.5)
    run = vt.simulate(vt.Model(flat), q, v, duration=10.0, dt=0.005, method="midpoint", tolerance=tolerance)
    assert np.abs(run.momentum - run.momentum[0]).max() < 1e-11 * np.abs(run.momentum[0]).max()


@pytest.mark.skipif(not example_robots(), reason="example-robot-data is not installed")
def test_a_floating_humanoid_runs():
    """Talos tumbles and falls for a second; its energy stays, and so does its momentum beside gravity's impulse."""
    model = vt.load_urdf(vt.find_robot("talos"), base="free")
    model = vt.Model(replace(model.flat, damping=0 * model.flat.damping, friction=0 * model.flat.friction))
    v = np.random.default_rng(0).uniform(-1, 1, model.nv)
    run = vt.simulate(model, None, v, duration=1.0, dt=1e-3, method="midpoint")
    assert len(run) == 1001 and run.iterations_total < 2500
    assert np.abs(run.energy - run.energy[0]).max() < 1e-3 * run.kinetic[0]
    impulse = model.total_mass * model.gravity * run.t[:, None]
    assert np.abs(run.momentum[:, 3:] - run.momentum[0, 3:] - impulse).max() < 1e-9 * np.abs(run.momentum).max()


# ---- refusals ---------------------------------------------------------------------------------------------


def test_the_residual_of_the_tree_takes_joints_of_one_coordinate():
    model = vt.Model(random_tree(3, kinds=(*SINGLE, "ball"), base="free")[0])
    names = ", ".join(f'"{joint.name}"' for joint in model.flat.joints if joint.kind in ("ball", "free"))
    with pytest.raises(vt.InputError, match=rf"{names}.*model\.euler\(\)"):
        vt.simulate(model, duration=0.1, dt=0.01, method="midpoint", residual="tree")


def test_a_whole_turn_in_a_step_is_refused():
    tree = vt.Tree("top", gravity=(0, 0, 0))
    tree.world.add(vt.ball("b"), vt.body("m", 1.0, inertia=(0.1, 0.1, 0.1)))
    model = tree.compile()
    fast = vt.simulate(model, v0=[0, 0, 50.0], duration=1.0, dt=0.1, method="midpoint")
    assert np.abs(fast.v - fast.v[0]).max() < 1e-12
    with pytest.raises(vt.ConvergenceError, match="halve dt"):
        vt.simulate(model, v0=[0, 0, 70.0], duration=1.0, dt=0.1, method="midpoint", max_halvings=0)
