"""Implicit Euler: its order, its damping, momentum, stiff systems, constraints and contacts."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from directions import ALL
from loaded_models import conservative_loads, constrained_tree, driving_loads, random_tree

import vitree as vt

METHOD = {"method": "implicit-euler", "tolerance": 1e-12}


@pytest.mark.parametrize("base", ["fixed", "free"])
@pytest.mark.parametrize("constrained", [False, True])
def test_order_one_under_all_loads(base, constrained):
    if constrained:
        model, q, v = constrained_tree(4, nbody=7, kinds=ALL, base=base)
        flat = model.flat
    else:
        flat, q, v = random_tree(3, nbody=7, kinds=ALL, base=base, damping=True)
    model = vt.Model(replace(flat, loads=(*conservative_loads(flat), *driving_loads(flat))))
    inputs = dict.fromkeys(model.input_names, 0.7)
    exact = vt.simulate(model, q, v, duration=0.1, dt=2.5e-4, method="rk8", control=vt.Control(inputs=inputs)).q[-1]
    errors = []
    for dt in (2e-3, 1e-3, 5e-4):
        run = vt.simulate(model, q, v, duration=0.1, dt=dt, control=vt.Control(inputs=inputs), **METHOD)
        errors.append(np.abs(model.difference(run.q[-1], exact)).max())
        assert np.abs(run.constraint).max(initial=0.0) < 1e-9
    assert abs(np.log2(errors[0] / errors[2]) / 2 - 1) < 0.1


@pytest.mark.parametrize("seed", range(3))
def test_momentum_is_conserved(seed):
    """Of a tree in free space with damping and springs between its bodies, in any frame, at long steps."""
    flat, q, v = random_tree(seed, nbody=7, kinds=ALL, base="free", damping=True)
    flat = replace(flat, gravity=np.zeros(3), damping=np.where(np.arange(len(v)) < 6, 0.0, flat.damping),
                   loads=(vt.Spring("link1", "link5", 40.0, 0.3),))  # fmt: skip
    model = vt.Model(flat)
    run = vt.simulate(model, q, v, duration=2.0, dt=0.02, **METHOD)
    assert np.abs(run.momentum - run.momentum[0]).max() < 1e-12 * np.abs(run.momentum[0]).max()


@pytest.mark.parametrize("stiffness", [1e2, 1e6, 1e12])
def test_vibrations_are_damped_as_the_amplification_factor_says(stiffness):
    """x_k + i v_k/w = (1 - i w h)^k/(1 + (w h)^2)^k, of m x'' = -k x, at any w h."""
    tree = vt.Tree("oscillator")
    tree.world.add(vt.tx("x"), vt.body("mass", 2.0))
    tree.load(vt.JointSpring("x", stiffness))
    model, dt = replace_gravity(tree), 0.01
    w = np.sqrt(stiffness / 2.0)
    run = vt.simulate(model, [0.3], duration=20 * dt, dt=dt, **METHOD)
    exact = 0.3 * (1.0 / (1.0 + 1j * w * dt)) ** np.arange(21)
    np.testing.assert_allclose(run.q[:, 0], exact.real, rtol=0, atol=1e-12)
    np.testing.assert_allclose(run.v[:, 0], w * exact.imag, rtol=0, atol=1e-11 * w)


def replace_gravity(tree):
    return vt.Model(replace(tree.compile().flat, gravity=np.zeros(3)))


def test_stiff_drives_and_springs_do_not_limit_the_step():
    """Joints on drives of 1e6 N m/rad, periods of about a millisecond, come to their targets by steps of 50 ms."""
    flat, q, _ = random_tree(2, nbody=5, kinds=("revolute",))
    drives = tuple(vt.Drive(joint.name, kp=1e6, kd=1e3, target=joint.name) for joint in vt.Model(flat).joints)
    model = vt.Model(replace(flat, loads=drives))
    targets = {joint.name: q[k] + 0.1 for k, joint in enumerate(model.joints)}
    run = vt.simulate(model, q, duration=0.5, dt=0.05, control=vt.Control(targets=targets), **METHOD)
    assert np.abs(run.q[-1] - q - 0.1).max() < 1e-3 and np.abs(run.v[-1]).max() < 1e-3


def test_the_balance_of_momentum():
    """Thrown with a load on a free joint: the weight acts where steps end."""
    tree = vt.Tree("thrown")
    body = tree.world.add(vt.free("base"), vt.body("body", 2.0, com=(0.1, 0.2, -0.1), inertia=(0.1, 0.2, 0.25)))
    body.add(vt.ry("arm"), vt.tx(0.5), vt.body("hand", 0.7))
    model = tree.compile()
    v = np.linspace(-1.0, 2.0, model.nv)
    run = vt.simulate(model, v0=v, duration=1.0, dt=0.01, monitors="momentum_balance", **METHOD)
    assert np.abs(run.monitors["momentum_balance"]).max() < 1e-12 * np.abs(run.momentum).max()


@pytest.mark.parametrize("rolling", [True, False])
def test_a_ball_rolls_down_a_slope(rolling):
    """By x = a t (t + h)/2, without a slope as far as it goes, to second order of the angle of a step."""
    errors = []
    for dt in (2e-3, 1e-3):
        tree = vt.Tree("ball", gravity=(2.943, 0, -9.81))
        tree.world.add(vt.free("base"), vt.body("ball", 2.0, (0.02,) * 3))
        if rolling:
            tree.roll(vt.RollingConstraint("ball", radius=0.1, axis=None, normal=True))
        else:
            tree.contact(vt.Ground(friction=5.0), vt.Contact("ball", shapes=vt.Sphere(0.1)))
        model = tree.compile()
        q = model.neutral()
        q[2] = 0.1
        run = vt.simulate(model, q, [0, 1, 0, -10, 0, 3], duration=1.0, dt=dt, **METHOD)
        a = 2.943 * 2.0 / (2.0 + 0.02 / 0.1**2)
        errors.append(run.q[-1, :3] - (0.5 * a * (1 + dt), 1.0, 0.1))
    assert np.abs(errors[0]).max() < 1e-4
    assert np.abs(errors[1]).max() < 0.3 * np.abs(errors[0]).max()


def test_options_that_need_a_self_adjoint_method_are_unknown():
    for more in ({"order": 4}, {"adapt": "density", "rate": 1.0}):
        with pytest.raises(vt.UnknownNameError, match="no option of the method implicit-euler"):
            vt.simulate(vt.Model(random_tree(0)[0]), duration=0.1, dt=0.01, method="implicit-euler", **more)
