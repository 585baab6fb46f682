"""Methods in Python: compositions of their steps, derivatives by differences, and clear errors where they have none."""

from __future__ import annotations

import numpy as np
import pytest
from random_models import chain_flat, pendulum_flat, random_flat, random_state
from step_differences import central

import vitree as vt


class Wrapped(vt.Integrator):
    """Steps of linear-time, as a method in Python: its derivatives are known."""

    name = "wrapped"
    order = 2
    uses_momentum = True

    def step(self, t, q, p):
        u = self.inputs if self.inputs is None or self.inputs.ndim == 1 else self.inputs[self.steps]
        inner = vt.METHODS["linear-time"](self.model, self.dt, torque=self.torque, inputs=u, tolerance=1e-14)
        return inner.step(t, q, p)


class ImplicitMidpoint(vt.Integrator):
    """Rates in the middle of the step, by passes; the state is (q, v)."""

    name = "implicit-midpoint"
    order = 2
    self_adjoint = True

    def step(self, t, q, v):
        h, w = self.dt, v
        for _ in range(60):
            a = self.acceleration(t + h / 2, self.model.integrate(q, h / 2 * w), w)
            before, w = w, v + h / 2 * a
            if np.abs(w - before).max() <= 1e-15 * np.abs(w).max():
                break
        return self.model.integrate(q, h * w), v + h * a


class Plain(vt.Integrator):
    name = "plain"
    order = 1

    def step(self, t, q, v):
        return self.model.integrate(q, self.dt * v), v + self.dt * self.acceleration(t, q, v)


@pytest.fixture(autouse=True)
def registered(monkeypatch):
    for kind in (Wrapped, ImplicitMidpoint, Plain):
        monkeypatch.setitem(vt.METHODS, kind.name, kind)


def driven(seed=4, base="free"):
    flat = random_flat(np.random.default_rng(seed), nbody=4, kinds=("revolute", "ball", "helical"), base=base)
    model = vt.Model(flat).with_drives({"*": (20.0, 1.0)})
    q, v = random_state(model.flat, np.random.default_rng(seed + 1), 0.8)
    return model, q, v, np.random.default_rng(seed + 2).normal(size=model.nv)


def test_derivatives_are_those_of_the_same_steps_compiled():
    model, q, v, torque = driven()
    control = vt.Control(torque=torque, inputs=0.3 * np.ones(len(model.input_names)))
    exact = vt.linearize(model, q, v, dt=0.02, method="linear-time", control=control)
    found = vt.linearize(model, q, v, dt=0.02, method="wrapped", control=control)
    scale = np.abs(exact.A).max()
    for name in ("A", "by_torque", "by_inputs"):
        one, other = getattr(found, name), getattr(exact, name)
        np.testing.assert_allclose(one, other, rtol=0, atol=1e-8 * max(np.abs(other).max(), 1e-3 * scale), err_msg=name)
    assert found.by_inputs.shape[1] == len(model.input_names) > 0 and found.by_prescribed.shape == (2 * model.nv, 0)
    np.testing.assert_allclose(found.q_end, exact.q_end, atol=1e-12)
    with pytest.raises(vt.InputError, match="have no second ones"):
        found.curvature(np.ones(2 * model.nv))


def test_derivatives_of_a_run_are_those_of_its_steps():
    model, q, v, torque = driven()
    rows = np.random.default_rng(9).normal(size=(5, len(model.input_names)))
    control = vt.Control(torque=torque, inputs=rows)
    runs = {name: vt.simulate(model, q, v, duration=0.1, dt=0.02, method=name, control=control, **more)
            for name, more in (("linear-time", {"tolerance": 1e-13}), ("wrapped", {}))}  # fmt: skip
    exact, found = (run.linearize(control) for run in runs.values())
    assert found.A.shape == exact.A.shape == (5, 2 * model.nv, 2 * model.nv)
    np.testing.assert_allclose(found.A, exact.A, rtol=0, atol=1e-8 * np.abs(exact.A).max())
    scale = np.abs(exact.by_inputs).max()
    np.testing.assert_allclose(found[3].by_inputs, exact.by_inputs[3], rtol=0, atol=1e-8 * scale)


@pytest.mark.parametrize("options", [{}, {"order": 4}], ids=str)
def test_derivatives_of_a_method_whose_state_has_velocities(options):
    """Of (q, p), as those of all methods, against differences of its runs."""
    model, q, v, torque = driven()
    found = vt.linearize(model, q, v, dt=0.02, method="implicit-midpoint", control=torque, **options)
    nv, p = model.nv, model.generalized_momentum(q, v)

    def end(d):
        run = vt.simulate(model, model.integrate(q, d[:nv]), p0=p + d[nv : 2 * nv], duration=0.02, dt=0.02,
                          method="implicit-midpoint", control=torque + d[2 * nv :], **options)  # fmt: skip
        return run.q[-1], run.p[-1]

    expected = central(model, end, 2e-3, 3 * nv)
    for one, other in ((found.A, expected[:, : 2 * nv]), (found.by_torque, expected[:, 2 * nv :])):
        np.testing.assert_allclose(one, other, rtol=0, atol=1e-7 * np.abs(one).max())


@pytest.mark.parametrize(("order", "counts"), [(2, (20, 40)), (4, (10, 20)), (6, (8, 12))])
def test_a_self_adjoint_method_takes_an_order(order, counts):
    model, q, v, _ = driven()
    torque = lambda t, q, v: 3.0 * np.cos(5 * t) - 0.5 * v  # noqa: E731
    more = {"duration": 0.4, "control": torque}
    exact = vt.simulate(model, q, v, dt=0.4, method="scipy-dop853", rtol=1e-13, atol=1e-13, **more)
    errors = []
    for n in counts:
        run = vt.simulate(model, q, v, dt=0.4 / n, method="implicit-midpoint", order=order, **more)
        assert run.steps == n and run.dt == pytest.approx(0.4 / n)
        errors.append(np.linalg.norm(model.difference(exact.q[-1], run.q[-1])))
    assert np.log(errors[0] / errors[1]) / np.log(counts[1] / counts[0]) == pytest.approx(order, abs=0.3)


def test_compositions_are_resumed_compared_and_rolled_out():
    model = vt.Model(pendulum_flat(2))
    more = {"dt": 0.02, "method": "implicit-midpoint", "order": 4}
    whole_run = vt.simulate(model, [1.0, 0.5], duration=0.4, **more)
    half = vt.simulate(model, [1.0, 0.5], duration=0.2, **more)
    assert half.resume(0.2).q[-1].tobytes() == whole_run.q[-1].tobytes()
    many = vt.rollout(model, q0=np.array([[1.0, 0.5]]), duration=0.4, **more)
    assert many.q[0, -1].tobytes() == whole_run.q[-1].tobytes()
    methods = {"four": ("implicit-midpoint", {"order": 4}), "two": ("implicit-midpoint", {})}
    result = vt.compare(model, methods, [1.0, 0.5], duration=1.0, dt=[0.05, 0.025, 0.0125])
    assert result.orders["four"] == pytest.approx(4, abs=0.2) and result.orders["two"] == pytest.approx(2, abs=0.1)


def test_what_cannot_be_composed_is_told():
    model = vt.Model(pendulum_flat(1))
    for name in ("plain", "wrapped"):
        with pytest.raises(vt.InputError, match=r"is not for the method .* of order .* self_adjoint = True"):
            vt.simulate(model, duration=0.1, dt=0.01, method=name, order=4)
    assert vt.simulate(model, duration=0.1, dt=0.01, method="plain", order=1).steps == 10
    with pytest.raises(vt.InputError, match="must be one of 2, 4, 6, 8"):
        vt.simulate(model, duration=0.1, dt=0.01, method="implicit-midpoint", order=5)
    with pytest.raises(vt.UnknownNameError, match="no option of the method rk4"):
        vt.simulate(model, duration=0.1, dt=0.01, method="rk4", order=4)


def test_what_has_no_differences_is_told():
    tree = vt.Tree("loop")
    tree.world.add(vt.ry("a"), vt.tz(-1.0), vt.body("bob", 1.0))
    tree.world.add(vt.ry("b"), vt.tz(-1.0), vt.body("other", 1.0))
    tree.constrain(vt.Distance("bob", "other", 0.5))
    loop = tree.compile()
    with pytest.raises(vt.ModelError, match=r'"loop" has constraints: .* Take linear-time or midpoint'):
        vt.linearize(loop, dt=0.01, method="implicit-midpoint")
    model = vt.Model(chain_flat(2))
    run = vt.simulate(model, [0.5, 0.2], duration=0.1, dt=0.01, method="plain", control=[1.0, 0.0])
    with pytest.raises(vt.InputError, match="give the control= of the run"):
        run.linearize()
    assert run.linearize([1.0, 0.0]).A.shape == (10, 4, 4)
    with pytest.raises(vt.InputError, match=r"vitree.linearize and run.linearize, which take differences"):
        run.gradient(by_q=np.zeros((11, 2)))
    with pytest.raises(vt.InputError, match="records each of them"):
        vt.simulate(model, duration=0.1, dt=0.01, method="plain", record_every=2).linearize()
    pushed = vt.simulate(model, duration=0.1, dt=0.01, method="plain",
                         wrenches=[vt.ExternalWrench(model.link_names[0], (1, 0, 0))])  # fmt: skip
    with pytest.raises(vt.InputError, match="with wrenches is not linearized"):
        pushed.linearize(vt.Control())
    for torque in (lambda t, q, v: -v, vt.Controller(lambda t, q, v: -v, 0.02)):
        asked = vt.simulate(model, duration=0.1, dt=0.01, method="plain", control=torque)
        with pytest.raises(vt.InputError, match="a torque that is a function is not linearized"):
            asked.linearize(torque)
    with pytest.raises(vt.InputError, match="has no derivatives of its steps"):
        vt.linearize(model, dt=0.01, method="rk4")
