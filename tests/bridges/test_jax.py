"""JAX: check_grads of steps and runs of every joint kind, jit and vmap, and wrong uses."""

from __future__ import annotations

import importlib
import sys
from functools import partial

import numpy as np
import pytest
from bridged_models import EACH, METHODS, ball_on_the_ground, bridged_model, bridged_start

import vitree as vt
from vitree.mechanism.flat import KINDS

jax = pytest.importorskip("jax")
import jax.numpy as jnp  # noqa: E402
from jax.test_util import check_grads  # noqa: E402

from vitree.bridges import steps as engines  # noqa: E402
from vitree.bridges.jax import Steps  # noqa: E402


@pytest.fixture(autouse=True)
def doubles():
    jax.config.update("jax_enable_x64", True)
    jax.config.update("jax_disable_most_optimizations", True)  # what is compiled runs once
    yield
    jax.config.update("jax_enable_x64", False)
    jax.config.update("jax_disable_most_optimizations", False)


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("kinds", [*EACH, KINDS], ids=[*KINDS, "all"])
def test_check_grads(kinds, method):
    model = bridged_model(kinds)
    steps = Steps(model, dt=0.02, method=method, tolerance=1e-14)
    q, p, torque, inputs = bridged_start(model, 2, 2)
    close = {"order": 1, "modes": ["fwd", "rev"], "eps": 1e-5, "rtol": 1e-7, "atol": 1e-7}
    check_grads(steps.step, (q[0], p[0], torque[0, 0], inputs[0, 0]), **close)
    check_grads(jax.jit(steps.run), (q, p, torque, inputs), **close)
    check_grads(steps.momentum, (q, p), **close)
    check_grads(jax.jit(steps.velocity), (q, p), **close)
    check_grads(jax.jit(steps.difference), (q, q[[1, 0]]), **close)
    check_grads(steps.integrate, (q, p), **close)


def test_states_are_those_of_the_engine():
    model = bridged_model()
    steps = Steps(model, dt=0.01)
    given = bridged_start(model, 3, 4)
    expected = engines.Steps(model, 0.01, "linear-time", {}).forward(*given)
    for run in (steps.run, jax.jit(steps.run), jax.vmap(steps.run)):
        Q, P = run(*given)
        assert np.array_equal(Q, expected.q)
        assert np.array_equal(P, expected.p)
    q2, _ = steps.step(given[0], given[1], given[2][:, 0], given[3][:, 0])
    np.testing.assert_allclose(q2, expected.q[:, 1], rtol=0, atol=1e-12)
    np.testing.assert_allclose(steps.momentum(given[0], steps.velocity(*given[:2])), given[1], atol=1e-12)


def test_gradients_under_vmap_and_jit():
    """Each of many starts, all together, and one start of many: the same gradients."""
    model = bridged_model()
    steps = Steps(model, dt=0.01)
    q, p, torque, inputs = bridged_start(model, 3, 2)

    def cost(*given):
        Q, P = steps.run(*given)
        return (Q**3).sum() + (P**2).sum()

    gradients = jax.grad(cost, argnums=(0, 1, 2, 3))
    together = gradients(q, p, torque, inputs)
    for found in (jax.vmap(gradients)(q, p, torque, inputs), jax.jit(jax.vmap(gradients))(q, p, torque, inputs)):
        for one, other in zip(found, together, strict=True):
            np.testing.assert_allclose(one, other, rtol=0, atol=1e-12 * max(1.0, np.abs(other).max()))
            assert np.abs(other).max() > 0
    shared = jax.vmap(gradients, in_axes=(None, 0, 0, 0))(q[0], p, torque, inputs)
    summed = gradients(q[0], p, torque, inputs)
    np.testing.assert_allclose(shared[0].sum(axis=0), summed[0], rtol=1e-10, atol=1e-10)
    np.testing.assert_allclose(shared[2], summed[2], rtol=1e-10, atol=1e-10)


def test_leading_axes_broadcast_and_what_is_left_out_is_zero():
    model = bridged_model()
    steps = Steps(model, dt=0.01)
    q, p, torque, _ = bridged_start(model, 6, 2)
    Q, P = steps.run(q[0], p.reshape(2, 3, -1), torque[:3])
    assert Q.shape == (2, 3, 3, model.nq)
    own = steps.run(q[0], p[4], torque[1], np.zeros((2, len(model.input_names))))
    assert np.array_equal(own[0], Q[1, 1])
    assert np.array_equal(own[1], P[1, 1])
    assert np.array_equal(steps.run(q, p, steps=1)[0][:, 1], steps.step(q, p)[0])


def test_wrong_uses_are_told():
    model = bridged_model()
    steps = Steps(model, dt=0.01)
    q, p, torque, inputs = map(jnp.asarray, bridged_start(model, 2, 3))
    with pytest.raises(vt.InputError, match="q has shape"):
        steps.step(q[:, :2], p)
    with pytest.raises(vt.InputError, match="give steps"):
        jax.jit(steps.run)(q, p)
    for run in (steps.run, jax.jit(steps.run)):
        with pytest.raises(jax.errors.JaxRuntimeError, match="InputError: torque has an entry nan in row 1"):
            jax.block_until_ready(run(q, p, torque.at[1, 0, 0].set(jnp.nan), inputs))
        assert isinstance(steps.error, vt.InputError)
    with pytest.raises(jax.errors.JaxRuntimeError, match="v has an entry nan"):
        jax.block_until_ready(steps.momentum(q, p * jnp.nan))
    with pytest.raises(vt.InputError, match="linear-time or midpoint"):
        Steps(model, dt=0.01, method="rk4")
    short = Steps(model, dt=0.2, method="midpoint", max_iterations=3)
    with pytest.raises(jax.errors.JaxRuntimeError, match="ConvergenceError"):
        jax.block_until_ready(jax.jit(short.step)(q[0], 300 * p[0]))
    assert isinstance(short.error, vt.ConvergenceError)
    assert short.error.time == 0.0
    assert repr(steps).startswith('<jax: <steps of "')
    jax.config.update("jax_enable_x64", False)
    with pytest.raises(vt.InputError, match=r'jax.config.update\("jax_enable_x64", True\)'):
        steps.step(q, p)


@pytest.mark.parametrize("method", METHODS)
def test_second_derivatives(method):
    """Of each function, forward and in reverse over each other, against differences of first ones."""
    model = bridged_model()
    steps = Steps(model, dt=0.02, method=method, tolerance=1e-14)
    q, p, torque, inputs = bridged_start(model, 2, 2)
    close = {"order": 2, "modes": ["fwd", "rev"], "eps": 1e-4, "rtol": 1e-5, "atol": 1e-6}
    check_grads(jax.jit(steps.run), (q, p, torque, inputs), **close)
    check_grads(steps.momentum, (q, p), **close)
    check_grads(steps.velocity, (q, p), **close)
    check_grads(steps.difference, (q, q[[1, 0]]), **close)
    check_grads(steps.integrate, (q, p), **close)


def test_hessians():
    """Each mode over each, under jit and vmap, and of a loop of steps in JAX."""
    model = bridged_model()
    steps = Steps(model, dt=0.02, tolerance=1e-14)
    many = bridged_start(model, 2, 3)
    q, p, torque, inputs = (x[0] for x in many)

    def cost(torque, q, p, inputs):
        Q, P = steps.run(q, p, torque, inputs)
        return (Q**3).sum() + (P**2).sum()

    def looped(torque):
        def body(state, given):
            found = steps.step(*state, *given)
            return found, found

        Q, P = jax.lax.scan(body, (jnp.asarray(q), jnp.asarray(p)), (torque, inputs))[1]
        return (Q**3).sum() + (P**2).sum()

    at = torque, q, p, inputs
    hessian = jax.hessian(cost)(*at)
    size = np.abs(hessian).max()
    assert size > 1e-4
    modes = jax.jacfwd, jax.jacrev  # jax.hessian is the one over the other
    for found in (*(outer(inner(cost))(*at) for outer in modes for inner in modes if (outer, inner) != modes),
                  jax.vmap(jax.hessian(cost))(many[2], many[0], many[1], many[3])[0]):  # fmt: skip
        np.testing.assert_allclose(found, hessian, rtol=0, atol=1e-10 * size)
    np.testing.assert_allclose(jax.jacfwd(cost)(*at), jax.grad(cost)(*at), rtol=0, atol=1e-12)
    np.testing.assert_allclose(jax.jit(jax.grad(looped))(torque), jax.grad(cost)(*at), rtol=0, atol=1e-10)
    np.testing.assert_allclose(jax.jit(jax.hessian(looped))(torque), hessian, rtol=0, atol=1e-7 * size)


def test_transposes():
    """jax.linear_transpose of tangents and of cotangents, also within a second derivative."""
    model = bridged_model()
    steps, rng = Steps(model, dt=0.02, tolerance=1e-14), np.random.default_rng(1)
    q, p, torque, inputs = (x[0] for x in bridged_start(model, 1, 2))
    run = lambda torque: steps.run(q, p, torque, inputs)  # noqa: E731
    bars = tuple(rng.normal(size=x.shape) for x in run(torque))
    t, w = rng.normal(size=(2, *torque.shape))

    def pulled(torque, bars):
        return jax.vjp(run, torque)[1](bars)[0]

    def pushed(torque, t):
        return jax.jvp(run, (torque,), (t,))[1]

    for forward, x, y in (
        (lambda t: pushed(torque, t), t, bars),
        (lambda bars: pulled(torque, bars), bars, t),
        (lambda bars: jax.jvp(partial(pulled, bars=bars), (torque,), (w,))[1], bars, t),
        (lambda t: jax.jvp(partial(pushed, t=t), (torque,), (w,))[1], t, bars),
    ):
        (back,) = jax.linear_transpose(forward, x)(y)
        one, other = (
            sum(np.vdot(a, b) for a, b in zip(jax.tree.leaves(f), jax.tree.leaves(g), strict=True))
            for f, g in ((forward(x), y), (back, x))
        )
        assert one == pytest.approx(other, rel=1e-7)
        assert abs(one) > 1e-6


def test_third_derivatives_are_refused():
    model = vt.load_urdf(vt.find_robot("double_pendulum"))
    steps, q, p = Steps(model, dt=0.01), jnp.array([0.3, 0.2]), jnp.zeros(2)
    with pytest.raises(vt.InputError, match=r"third derivatives .* differentiate at most twice"):
        jax.grad(lambda q: jax.hessian(lambda q: steps.step(q, p)[0].sum())(q).sum())(q)


def test_second_derivatives_with_contacts_are_refused():
    model = ball_on_the_ground()
    steps = Steps(model, dt=0.01)
    q, p = vt.place_on_ground(model, model.neutral()), jnp.array([1.0, 0.4, 0, 0, 0, 0.01])
    reached = lambda p: (steps.step(q, p)[0] ** 2).sum()  # noqa: E731
    assert abs(jax.grad(reached)(p)).max() > 0
    with pytest.raises(vt.ModelError, match="no second derivatives: it has contacts"):
        jax.jit(jax.hessian(reached))(p)


def test_without_jax_the_extra_is_named(monkeypatch):
    monkeypatch.setitem(sys.modules, "jax", None)
    monkeypatch.delitem(sys.modules, "vitree.bridges.jax")
    with pytest.raises(vt.errors.MissingExtraError, match=r"pip install 'vitree\[jax\]'"):
        importlib.import_module("vitree.bridges.jax")
