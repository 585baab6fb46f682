"""PyTorch: gradcheck of steps and runs of every joint kind, many instances, and wrong uses."""

from __future__ import annotations

import importlib
import sys

import numpy as np
import pytest
from bridged_models import EACH, METHODS, bridged_model, bridged_start

import vitree as vt
from vitree.mechanism.flat import KINDS

torch = pytest.importorskip("torch")
from torch.autograd import gradcheck  # noqa: E402

from vitree.bridges.torch import Steps  # noqa: E402


def tensors(*arrays):
    return [torch.tensor(x, dtype=torch.float64, requires_grad=True) for x in arrays]


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("kinds", [*EACH, KINDS], ids=[*KINDS, "all"])
def test_gradcheck(kinds, method):
    model = bridged_model(kinds)
    steps = Steps(model, dt=0.02, method=method, tolerance=1e-14)
    q, p, torque, inputs = tensors(*bridged_start(model, 2, 2))
    one = [x[0].detach().requires_grad_() for x in (q, p, torque[:, 0], inputs[:, 0])]
    assert gradcheck(steps.step, one, eps=1e-5, atol=1e-7)
    assert gradcheck(steps.run, (q, p, torque, inputs), eps=1e-5, atol=1e-7, fast_mode=True)
    assert gradcheck(steps.momentum, (q, p), eps=1e-5, atol=1e-7, fast_mode=True)
    assert gradcheck(steps.velocity, (q, p), eps=1e-5, atol=1e-7, fast_mode=True)
    assert gradcheck(steps.difference, (q, q.detach()[[1, 0]].requires_grad_()), eps=1e-5, atol=1e-7)
    assert gradcheck(steps.integrate, (q, p), eps=1e-5, atol=1e-7)


def test_a_run_is_its_steps_one_after_the_other():
    """States to the tolerance of the solve, and gradients of them; a run keeps what it knows of earlier steps."""
    model = bridged_model()
    steps = Steps(model, dt=0.01, tolerance=1e-14)
    given = bridged_start(model, 3, 4)
    q, p, torque, inputs = tensors(*given)
    Q, P = steps.run(q, p, torque, inputs)
    again = tensors(*given)
    nodes = [(steps.run(*again)[0][:, 0], again[1])]
    for k in range(4):
        nodes.append(steps.step(*nodes[-1], again[2][:, k], again[3][:, k]))
    for k, (a, b) in enumerate(nodes):
        np.testing.assert_allclose(a.detach(), Q[:, k].detach(), rtol=0, atol=1e-11)
        np.testing.assert_allclose(b.detach(), P[:, k].detach(), rtol=0, atol=1e-11)
    ((Q**3).sum() + (P**2).sum()).backward()
    sum((a**3).sum() + (b**2).sum() for a, b in nodes).backward()
    for one, other in zip((q, p, torque, inputs), again, strict=True):
        size = max(1.0, float(one.grad.abs().max()))
        np.testing.assert_allclose(one.grad, other.grad, rtol=0, atol=1e-9 * size)
        assert one.grad.abs().max() > 0


def test_leading_axes_broadcast():
    model = bridged_model()
    steps = Steps(model, dt=0.01)
    given = bridged_start(model, 6, 2)
    q, p, torque, inputs = tensors(given[0][0], given[1].reshape(2, 3, -1), given[2][:3], given[3][0])
    Q, P = steps.run(q, p, torque, inputs)
    assert Q.shape == (2, 3, 3, model.nq)
    assert P.shape == (2, 3, 3, model.nv)
    (Q**3).sum().backward()
    assert [x.grad.shape for x in (q, p, torque, inputs)] == [x.shape for x in (q, p, torque, inputs)]
    own = tensors(given[0][0], given[1][4], given[2][1], given[3][0])
    a, b = steps.run(*own)
    assert torch.equal(a, Q[1, 1])
    assert torch.equal(b, P[1, 1])


def test_what_is_left_out_is_zero():
    model = bridged_model()
    steps = Steps(model, dt=0.01)
    q, p, torque, inputs = tensors(*bridged_start(model, 2, 3))
    for one, other in zip(steps.run(q, p, steps=3), steps.run(q, p, 0 * torque, 0 * inputs), strict=True):
        assert torch.equal(one, other)
    for one, other in zip(steps.step(q, p), steps.run(q, p, steps=1), strict=True):
        assert torch.equal(one, other[:, -1])


def test_tensors_that_are_changed_later_change_no_gradient():
    model = bridged_model()
    steps = Steps(model, dt=0.01)
    q, p, torque, inputs = tensors(*bridged_start(model, 2, 3))
    Q, _ = steps.run(q, p, torque, inputs)
    (expected,) = torch.autograd.grad((2 * Q).sum(), torque)
    Q, _ = steps.run(q, p, torque, inputs)
    with torch.no_grad():
        Q *= 2
        inputs += 1
    (found,) = torch.autograd.grad((2 * Q).sum(), torque)
    assert torch.equal(found, expected)


def test_descent_finds_a_torque_to_a_goal():
    model = vt.load_urdf(vt.find_robot("double_pendulum"))
    steps = Steps(model, dt=0.02)
    q, p, goal = torch.tensor([[0.3, 0.1], [0.0, 0.0], [0.6, -0.2]], dtype=torch.float64)
    torque = torch.zeros(20, 2, dtype=torch.float64, requires_grad=True)
    search = torch.optim.LBFGS([torque], max_iter=100, line_search_fn="strong_wolfe", tolerance_grad=1e-14,
                               tolerance_change=1e-16)  # fmt: skip

    def loss():
        search.zero_grad()
        Q, P = steps.run(q, p, torque)
        value = ((Q[-1] - goal) ** 2).sum() + (P[-1] ** 2).sum()
        value.backward()
        return value

    search.step(loss)
    assert loss().item() < 1e-16
    held = vt.Simulation(model, q.numpy(), dt=0.02)
    for row in torque.detach().numpy():
        held.step(control=row)
    np.testing.assert_allclose(held.q, goal, rtol=0, atol=1e-7)
    np.testing.assert_allclose(held.p, 0.0, atol=1e-7)


def test_no_instance_at_all():
    model = bridged_model()
    steps = Steps(model, dt=0.01)
    q, p, torque, inputs = tensors(*(x[:0] for x in bridged_start(model, 1, 3)))
    Q, P = steps.run(q, p, torque, inputs)
    assert Q.shape == (0, 4, model.nq)
    (Q.sum() + P.sum() + steps.momentum(q, p).sum() + steps.velocity(q, p).sum()).backward()
    assert [x.grad.shape for x in (q, p, torque, inputs)] == [x.shape for x in (q, p, torque, inputs)]


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:The .grad attribute of a Tensor:UserWarning")  # PyTorch looks at it itself
def test_beside_what_torch_compiles():
    model = vt.load_urdf(vt.find_robot("double_pendulum"))
    run = torch.compiler.disable(Steps(model, dt=0.01).run)
    q, p = torch.tensor([[0.3, 0.1], [0.0, 0.0]], dtype=torch.float64)

    @torch.compile(backend="eager")
    def cost(torque):
        return (run(q, p, 2 * torque)[0] ** 2).sum()

    found, other = tensors(np.ones((3, 2)), np.ones((3, 2)))
    cost(found).backward()
    (run(q, p, 2 * other)[0] ** 2).sum().backward()
    assert torch.equal(found.grad, other.grad)


def test_wrong_uses_are_told():
    model = bridged_model()
    steps = Steps(model, dt=0.01)
    q, p, torque, inputs = tensors(*bridged_start(model, 2, 3))
    for name, given in (("q", (q.float(), p)), ("p", (q, p.float())), ("torque", (q, p, torque.float()))):
        with pytest.raises(vt.InputError, match=rf"{name} has dtype torch.float32; .* {name}.double\(\)"):
            steps.run(*given, steps=3)
    with pytest.raises(vt.InputError, match=r"q is .*tensor of doubles"):
        steps.step(q.detach().numpy(), p)
    with pytest.raises(vt.InputError, match=r"p\.cpu\(\)"):
        steps.step(q, p.to("meta"))
    with pytest.raises(vt.InputError, match=r"v has shape \(2, 1\)"):
        steps.momentum(q, p[:, :1])
    for name, k in (("q", 0), ("p", 1), ("torque", 2), ("inputs", 3)):
        given = [x.detach().clone() for x in (q, p, torque, inputs)]
        given[k][1, ..., 0] = float("nan")
        with pytest.raises(vt.InputError, match=f"^{name} has an entry nan in row 1"):
            steps.run(*given)
    with pytest.raises(vt.InputError, match="v has an entry nan"):
        steps.momentum(q, p * float("nan"))
    with pytest.raises(vt.InputError, match="give steps"):
        steps.run(q, p)
    with pytest.raises(vt.InputError, match="linear-time or midpoint"):
        Steps(model, dt=0.01, method="rk4")
    with pytest.raises(vt.ConvergenceError, match="t = 0"):
        Steps(model, dt=0.2, method="midpoint", max_iterations=3).step(q, 300 * p)
    assert repr(steps).startswith('<torch: <steps of "')


def test_without_torch_the_extra_is_named(monkeypatch):
    monkeypatch.setitem(sys.modules, "torch", None)
    monkeypatch.delitem(sys.modules, "vitree.bridges.torch")
    with pytest.raises(vt.errors.MissingExtraError, match=r"pip install 'vitree\[torch\]'"):
        importlib.import_module("vitree.bridges.torch")


def test_second_derivatives_are_refused():
    """Also where the gradient by the results is constant, of which zeros were returned."""
    model = bridged_model()
    steps = Steps(model, dt=0.02)
    q, p, torque, inputs = (torch.tensor(x, dtype=torch.float64)[0] for x in bridged_start(model, 1, 2))

    def of_step(power):
        return lambda p: (steps.step(q, p, torque[0], inputs[0])[1] ** power).sum()

    for f in (of_step(1), of_step(2), lambda p: steps.velocity(q, p).sum(), lambda p: steps.integrate(q, p).sum()):
        with pytest.raises(vt.InputError, match="curvature"):
            torch.autograd.functional.hessian(f, p)
    # to ask for the graph is allowed, and what does not depend on states twice is not touched
    x = p.clone().requires_grad_()
    (by_p,) = torch.autograd.grad(of_step(2)(x), x, create_graph=True)
    of_step(2)(x).backward()
    np.testing.assert_array_equal(by_p.detach(), x.grad)
