"""PyTorch: gradcheck of steps and runs of every joint kind, many instances, and wrong uses."""

from __future__ import annotations

import importlib
import sys

import numpy as np
import pytest
from bridged_models import EACH, METHODS, ball_on_the_ground, bridged_model, bridged_start

import vitree as vt
from vitree.mechanism.flat import KINDS

torch = pytest.importorskip("torch")
from torch.autograd import gradcheck, gradgradcheck  # noqa: E402

from vitree.bridges.steps import Steps as Engine  # noqa: E402
from vitree.bridges.torch import Steps  # noqa: E402

#: Forward mode of PyTorch 2.14 warns of a function of its own.
pytestmark = pytest.mark.filterwarnings("ignore:.torch.jit.script. is deprecated:FutureWarning")


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


@pytest.mark.parametrize("method", METHODS)
def test_second_derivatives(method):
    """Of each function, in reverse mode and in forward mode over it, against differences of the gradients."""
    model = bridged_model()
    steps = Steps(model, dt=0.02, method=method, tolerance=1e-14)
    q, p, torque, inputs = tensors(*bridged_start(model, 2, 2))
    other = q.detach()[[1, 0]].requires_grad_()
    for f, given in ((steps.run, (q, p, torque, inputs)), (steps.momentum, (q, p)), (steps.velocity, (q, p)),
                     (steps.difference, (q, other)), (steps.integrate, (q, p))):  # fmt: skip
        assert gradgradcheck(f, given, eps=1e-5, atol=1e-6, rtol=1e-5, fast_mode=True, check_fwd_over_rev=True)


def test_torch_func():
    """Transforms, one within another, give the numbers of torch.autograd."""
    model, func = bridged_model(), torch.func
    steps = Steps(model, dt=0.02, tolerance=1e-14)
    given = [x.detach() for x in tensors(*bridged_start(model, 3, 2))]
    q, p, torque, inputs = (x[0] for x in given)

    def cost(torque, q, p, inputs):
        Q, P = steps.run(q, p, torque, inputs)
        return (Q**3).sum() + (P**2).sum() + P.sum()

    def close(a, b, size=1e-12):
        np.testing.assert_allclose(a, b, rtol=0, atol=size * max(1e-3, float(b.abs().max())))
        assert b.abs().max() > 0

    at = torque, q, p, inputs
    x = torque.clone().requires_grad_()
    (expected,) = torch.autograd.grad(cost(x, q, p, inputs), x)
    gradient = func.grad(cost)
    close(gradient(*at), expected)
    close(func.vjp(lambda x: cost(x, q, p, inputs), torque)[1](torch.ones(()).double())[0], expected)
    close(func.jacfwd(cost)(*at), expected)
    _, along = func.jvp(lambda x: cost(x, q, p, inputs), (torque,), (torque,))
    close(along, (expected * torque).sum())
    # of each instance: all have axes of instances, or one is shared
    many = func.vmap(gradient)(given[2], given[0], given[1], given[3])
    close(many[0], expected)
    close(many[2], gradient(given[2][2], given[0][2], given[1][2], given[3][2]))
    shared = func.vmap(gradient, in_dims=(0, None, None, None))(given[2], q, p, inputs)
    close(shared[1], gradient(given[2][1], q, p, inputs))
    states = func.vmap(steps.run, in_dims=(1, None, 0, None))(given[0].movedim(0, 1), p, given[2], inputs)
    for one, other in zip(states, steps.run(given[0], p, given[2], inputs), strict=True):
        assert torch.equal(one, other)
    J = func.jacrev(steps.step, argnums=1)(q, p, torque[0], inputs[0])
    for one, other in zip(J, func.jacfwd(steps.step, argnums=1)(q, p, torque[0], inputs[0]), strict=True):
        close(one, other)
    # second derivatives: each mode over each
    hessian = torch.autograd.functional.hessian(lambda x: cost(x, q, p, inputs), torque)
    modes = func.jacfwd, func.jacrev
    for found in (outer(inner(cost))(*at) for outer in modes for inner in modes):
        close(found, hessian, 1e-10)
    close(func.vmap(func.hessian(cost))(given[2], given[0], given[1], given[3])[0], hessian, 1e-10)


def test_forward_mode():
    model = bridged_model()
    steps = Steps(model, dt=0.02, tolerance=1e-14)
    given = tensors(*bridged_start(model, 2, 2))
    assert gradcheck(steps.run, given, eps=1e-5, atol=1e-7, check_backward_ad=False, check_forward_ad=True)
    q, p = given[:2]
    for f, x in ((steps.momentum, p), (steps.velocity, p), (steps.difference, q.detach()[[1, 0]].requires_grad_()),
                 (steps.integrate, p)):  # fmt: skip
        assert gradcheck(f, (q, x), eps=1e-5, atol=1e-7, check_backward_ad=False, check_forward_ad=True)


def test_a_gradient_does_not_take_the_steps_again(monkeypatch):
    model, taken = bridged_model(), []
    steps = Steps(model, dt=0.02)
    forward = Engine.forward
    monkeypatch.setattr(Engine, "forward", lambda self, *x: taken.append(1) or forward(self, *x))
    q, p, torque, inputs = tensors(*bridged_start(model, 3, 2))
    (steps.run(q, p, torque, inputs)[0] ** 2).sum().backward()
    assert len(taken) == 1
    cost = torch.func.vmap(torch.func.grad(lambda q: (steps.run(q, p[0], torque[0], inputs[0])[0] ** 2).sum()))
    cost(q.detach())
    assert len(taken) == 2


def test_third_derivatives_are_refused():
    """To ask for the graph of second ones is allowed."""
    model = bridged_model()
    steps = Steps(model, dt=0.02)
    q, p, torque, inputs = (torch.tensor(x, dtype=torch.float64)[0] for x in bridged_start(model, 1, 2))

    def f(p):
        return (steps.step(q, p, torque[0], inputs[0])[1] ** 2).sum()

    for third in (torch.func.grad(lambda p: torch.func.hessian(f)(p).sum()),
                  lambda p: torch.autograd.functional.hessian(lambda p: torch.func.grad(f)(p).sum(), p)):  # fmt: skip
        with pytest.raises(vt.InputError, match=r"third derivatives .* differentiate at most twice"):
            third(p)
    x = p.clone().requires_grad_()
    (by_p,) = torch.autograd.grad(f(x), x, create_graph=True)
    f(x).backward()
    np.testing.assert_array_equal(by_p.detach(), x.grad)


def test_second_derivatives_with_contacts_are_refused():
    model = ball_on_the_ground()
    steps = Steps(model, dt=0.01)
    q = torch.tensor(vt.place_on_ground(model, model.neutral()))
    (p,) = tensors([1.0, 0.4, 0, 0, 0, 0.01])
    (by_p,) = torch.autograd.grad((steps.step(q, p)[0] ** 2).sum(), p, create_graph=True)
    assert by_p.abs().max() > 0
    with pytest.raises(vt.ModelError, match="no second derivatives: it has contacts"):
        by_p.sum().backward()
