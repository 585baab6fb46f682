"""The integrator contract, for every method: order, invariants, starts, loads, failures."""

from __future__ import annotations

import numpy as np
import pytest
import reference
from random_models import chain_flat, pendulum_flat, random_flat, random_state

import vitree as vt
from vitree.mechanism.flat import FREE, KINDS

COMPILED = [name for name in vt.METHODS if not name.startswith("scipy")]
#: The variational schemes: method and options.
SCHEMES = {
    "screw": {"method": "linear-time", "kinetic": "screw"}, "com": {"method": "linear-time", "kinetic": "com"},
    "midpoint": {"method": "midpoint"}, "midpoint, norm of the energy": {"method": "midpoint", "norm": "energy"},
}  # fmt: skip
SOLVERS = [
    ("screw", "auto"), ("screw", "recursive-newton"), ("screw", "modified-newton"), ("screw", "riqn"), ("com", "auto"),
    ("com", "recursive-newton"), ("com", "newton"), ("com", "riqn"), ("midpoint", "auto"),
    ("midpoint", "recursive-newton"), ("midpoint", "modified-newton"), ("screw", "newton"), ("screw", "broyden"),
    ("midpoint", "newton"), ("midpoint", "broyden"), ("midpoint", "riqn"),
]  # fmt: skip


def tree(seed, base="fixed", kinds=("revolute", "prismatic", "helical", "ball"), nbody=6, **more):
    flat = random_flat(np.random.default_rng(seed), nbody=nbody, kinds=kinds, base=base, **more)
    model = vt.Model(flat)
    return model, *random_state(flat, np.random.default_rng(seed + 1), speed=0.7)


def reference_end(model, q, v, duration, **more):
    return vt.simulate(model, q, v, duration=duration, dt=duration, method="scipy-dop853",
                       rtol=1e-12, atol=1e-12, **more)  # fmt: skip


def fitted_order(model, q, v, method, steps, duration=0.4, **more):
    """Order of the error in q and v at the end, fitted over step sizes."""
    loads = {k: more[k] for k in more if k in ("control", "wrenches")}
    exact = reference_end(model, q, v, duration, **loads)
    errors = []
    for dt in steps:
        end = vt.simulate(model, q, v, duration=duration, dt=dt, method=method, **more)[-1]
        errors.append([np.linalg.norm(model.difference(exact.q[-1], end.q)), np.linalg.norm(end.v - exact.v[-1])])
    return np.polyfit(np.log(steps), np.log(errors), 1)[0]


@pytest.mark.parametrize("damped", [False, True], ids=["free", "damped"])
@pytest.mark.parametrize(("method", "options"), [
    *((name, {}) for name in COMPILED if vt.METHODS[name].order <= 4), ("linear-time", {"kinetic": "screw"}),
    ("linear-time", {"kinetic": "com"}), ("midpoint", {"norm": "energy"})], ids=str)  # fmt: skip
@pytest.mark.parametrize("base", ["fixed", "free"])
def test_order(method, options, base, damped):
    model, q, v = tree(11, base, kinds=("revolute", "prismatic", "helical", "ball"), damping=damped)
    order = vt.METHODS[method].order
    steps = np.array([0.4 / n for n in ((40, 80, 160) if order > 2 else (100, 200, 400))])
    assert np.abs(fitted_order(model, q, v, method, steps, **options) - order).max() < 0.1


@pytest.mark.parametrize("method", [name for name in COMPILED if vt.METHODS[name].order <= 4])
def test_order_under_loads(method):
    """A torque of time and state, and wrenches in world and local axes, keep the order."""
    model, q, v = tree(12, "free", damping=True)
    gain = np.linspace(0.5, 2.0, model.nv)

    def torque(t, q, v):
        return np.sin(3 * t + gain) - gain * v

    def wrenches(axes):
        return [vt.ExternalWrench(model.link_names[-1], (1.0, 2.0, -1.0), (0.3, -0.2, 0.5), axes=axes),
                vt.ExternalWrench(model.link_names[0], (0, 3, 0), (0, 0, 1), axes=axes)]  # fmt: skip

    order = vt.METHODS[method].order
    steps = np.array([0.4 / n for n in ((20, 40, 80) if order > 2 else (80, 160, 320))])
    for more in ({"control": torque}, {"wrenches": wrenches("world")}, {"wrenches": wrenches("local")}):
        assert np.abs(fitted_order(model, q, v, method, steps, **more) - order).max() < 0.15, more


@pytest.mark.parametrize("forced", [False, True])
@pytest.mark.parametrize("base", ["fixed", "free"])
def test_order_of_eight(base, forced):
    """Over steps whose errors lie well above round-off, against its own fine solution and DOP853's."""
    model = vt.Model(random_flat(np.random.default_rng(3), nbody=4, kinds=("revolute", "ball"), base=base))
    q, v = random_state(model.flat, np.random.default_rng(4), speed=1.0)
    more = {"control": lambda t, q, v: np.sin(3 * t + v)} if forced else {}
    ends = [vt.simulate(model, q, v, duration=1.0, dt=1.0 / n, method="rk8", **more)[-1] for n in (16, 24, 32, 480)]
    errors = [np.linalg.norm(model.difference(ends[-1].q, end.q)) for end in ends[:-1]]
    assert abs(np.polyfit(np.log([1 / 16, 1 / 24, 1 / 32]), np.log(errors), 1)[0] - 8) < 0.6
    exact = reference_end(model, q, v, 1.0, **more)
    assert np.linalg.norm(model.difference(exact.q[-1], ends[-1].q)) < 1e-10


def test_wrench_axes_reach_the_dynamics():
    """A wrench in world axes is J^T w of the frame's Jacobian; in local axes that of the local one."""
    model, q, v = tree(13, "free")
    w, name = np.array([0.3, -0.2, 0.5, 1.0, 2.0, -1.0]), model.frame_names[-1]
    for axes in ("world", "local"):
        method = vt.METHODS["rk4"](model, 1e-3, wrenches=[vt.ExternalWrench(name, w[3:], torque=w[:3], axes=axes)])
        expected = model.aba(q, v, model.frame_jacobian(name, q, axes=axes).T @ w)
        assert np.allclose(method.stepper.acceleration_at(0.0, q, v)[0], expected, rtol=1e-10, atol=1e-10)


@pytest.mark.parametrize(("scheme", "solver"), SOLVERS)
def test_a_step_is_the_oracles(scheme, solver):
    """One step of every solver, from every start, is the oracle's solution of the same equations."""
    kinds = KINDS
    for seed in (21, 22, 23):
        model, q, v = tree(seed, kinds=kinds, nbody=5, damping=True)
        p, h = model.generalized_momentum(q, v), 2e-3
        tau = np.random.default_rng(seed).normal(size=model.nv)
        form = {}
        if scheme == "midpoint":  # that of the paper; the other form has a test of its own
            q2, p2 = reference.midpoint_step(model.flat, q, p, h, tau=tau)
            form = {"kinetic": "midpoint"}
        else:
            q2, p2 = reference.linear_time_step(model.flat, q, p, h, tau=tau, kinetic=scheme)
        chosen = {**SCHEMES[scheme], **form, "solver": solver, "tolerance": 1e-13}
        end = vt.simulate(model, q, p0=p, duration=h, dt=h, control=tau, **chosen)[-1]
        assert np.abs(model.difference(q2, end.q)).max() < 1e-12
        assert np.abs(p2 - end.p).max() < 1e-11 * np.abs(p).max()


@pytest.mark.parametrize(("scheme", "solver"), SOLVERS)
def test_momentum_of_a_floating_tree(scheme, solver):
    """Without gravity all six components of spatial momentum stay, at a loose tolerance too."""
    flat = random_flat(np.random.default_rng(5), nbody=8, base="free", gravity=(0, 0, 0),
                       kinds=("revolute", "prismatic", "helical", "ball"))  # fmt: skip
    model = vt.Model(flat)
    q, v = random_state(flat, np.random.default_rng(6), speed=0.5)
    for tolerance in (1e-12, 1e-8):
        run = vt.simulate(model, q, v, duration=10.0, dt=0.005, solver=solver, **SCHEMES[scheme], tolerance=tolerance)
        scale = np.abs(run.momentum[0]).max()
        assert np.abs(run.momentum - run.momentum[0]).max() < 1e-11 * scale
        assert np.abs(run.energy - run.energy[0]).max() < 5e-3 * run.kinetic[0]
        assert np.linalg.norm(run.v[-1] - run.v[0]) > 0.1  # it tumbled


@pytest.mark.parametrize("scheme", SCHEMES)
def test_linear_momentum_follows_gravity(scheme):
    model, q, v = tree(31, "free")
    run = vt.simulate(model, q, v, duration=1.0, dt=0.01, **SCHEMES[scheme])
    impulse = model.total_mass * model.gravity * run.t[:, None]
    assert np.abs(run.momentum[:, 3:] - run.momentum[0, 3:] - impulse).max() < 1e-10 * model.total_mass


@pytest.mark.parametrize("scheme", SCHEMES)
@pytest.mark.parametrize("name", ["pendulum", "chain10"])
def test_energy_is_bounded_over_1e5_steps(scheme, name):
    if name == "pendulum":
        model, dt, band = vt.Model(pendulum_flat(1)), 0.01, 1e-3
        q = np.array([np.pi / 4])
    else:
        model, dt, band = vt.Model(chain_flat(10)), 1e-3, 2e-3
        q = np.array([1.0, 0.5] + [0.0] * 8)
    run = vt.simulate(model, q, duration=1e5 * dt, dt=dt, **SCHEMES[scheme], record_every=10)
    error = run.energy - run.energy[0]
    scale = run.kinetic.max()
    assert np.abs(error).max() < band * scale
    # no drift: the fitted change over the run is small beside the band itself
    blocks = error[: len(error) // 20 * 20].reshape(20, -1).mean(axis=1)
    slope = np.polyfit(np.linspace(0, 1, 20), blocks, 1)[0]
    assert abs(slope) < 0.25 * np.ptp(error)


@pytest.mark.parametrize("scheme", SCHEMES)
def test_reversible(scheme):
    """Out, momentum reversed, and back: the step is self-adjoint."""
    model, q, v = tree(41, kinds=("revolute", "prismatic", "ball", "free"))
    out = vt.simulate(model, q, v, duration=0.5, dt=0.005, **SCHEMES[scheme], tolerance=1e-13)[-1]
    back = vt.simulate(model, out.q, p0=-out.p, duration=0.5, dt=0.005, **SCHEMES[scheme], tolerance=1e-13)[-1]
    assert np.abs(model.difference(q, back.q)).max() < 1e-9
    assert np.abs(back.v + v).max() < 1e-8


@pytest.mark.parametrize("scheme", SCHEMES)
def test_symplectic(scheme):
    """The one-step map (q, p) preserves the canonical two-form: A^T J A = J."""
    model, q, v = tree(51, kinds=("revolute", "prismatic", "helical"), nbody=4)
    n, h = model.nv, 0.01
    p = model.generalized_momentum(q, v)

    def step(z):
        end = vt.simulate(model, z[:n], p0=z[n:], duration=h, dt=h, **SCHEMES[scheme], tolerance=1e-14, guess="aba")[-1]
        return np.concatenate((end.q, end.p))

    z, e = np.concatenate((q, p)), 2e-3
    columns = []
    for k in range(2 * n):
        d = np.zeros(2 * n)
        d[k] = e * max(1.0, abs(z[k]))
        f = [step(z + s * d) for s in (-3, -2, -1, 1, 2, 3)]
        columns.append((-f[0] + 9 * f[1] - 45 * f[2] + 45 * f[3] - 9 * f[4] + f[5]) / (60 * d[k]))
    A = np.array(columns).T
    J = np.block([[np.zeros((n, n)), np.eye(n)], [-np.eye(n), np.zeros((n, n))]])
    assert np.abs(A.T @ J @ A - J).max() < 1e-8 * np.abs(A).max() ** 2


@pytest.mark.parametrize("scheme", SCHEMES)
def test_two_configurations_are_a_start(scheme):
    """The first step from (q0, q1) leads to q1."""
    model, q, v = tree(61, "free", damping=True, kinds=("revolute", "ball"))
    q1 = model.integrate(q, 0.01 * v)
    for torque in (None, np.ones(model.nv), lambda t, q, v: np.sin(t + np.ones_like(v))):
        run = vt.simulate(model, q, q1=q1, duration=0.01, dt=0.01, **SCHEMES[scheme], control=torque, tolerance=1e-13)
        assert np.abs(model.difference(q1, run.q[-1])).max() < 1e-10


@pytest.mark.parametrize("scheme", SCHEMES)
def test_the_state_resumes(scheme):
    """Two runs in sequence from (q, p) are one run, to the solver's tolerance."""
    model, q, v = tree(71, kinds=("revolute", "prismatic", "ball", "free"))
    whole = vt.simulate(model, q, v, duration=0.4, dt=0.004, **SCHEMES[scheme], tolerance=1e-13)
    half = whole.nearest(0.2)
    rest = vt.simulate(model, half.q, p0=half.p, t0=0.2, duration=0.2, dt=0.004, **SCHEMES[scheme], tolerance=1e-13)
    assert np.abs(model.difference(rest.q[-1], whole.q[-1])).max() < 1e-11
    assert rest.t[-1] == pytest.approx(0.4, abs=1e-12)


@pytest.mark.parametrize("method", COMPILED)
def test_equal_inputs_give_equal_bits(method):
    model, q, v = tree(81, "free")
    runs = [vt.simulate(model, q, v, duration=0.1, dt=0.001, method=method) for _ in range(2)]
    assert runs[0].q.tobytes() == runs[1].q.tobytes()
    every = vt.simulate(model, q, v, duration=0.1, dt=0.001, method=method, record_every=20)
    assert every.q.tobytes() == runs[0].q[::20].tobytes()
    assert every.steps == 100 and every.iterations_total == runs[0].iterations.sum()


# ---- failures ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("method", list(vt.METHODS))
@pytest.mark.parametrize("dt", [0.0, -1e-3, np.nan, np.inf, "fast", None])
def test_bad_dt(method, dt):
    with pytest.raises(vt.InputError, match="dt"):
        vt.simulate(vt.Model(chain_flat(2)), duration=1.0, dt=dt, method=method)


@pytest.mark.parametrize(
    ("change", "error", "text"),
    [
        ({"method": "linear"}, vt.UnknownNameError, 'did you mean "linear-time"'),
        ({"solver": "newtn"}, vt.UnknownNameError, "solver"),
        ({"guess": "best"}, vt.UnknownNameError, "guess"),
        ({"rtol": 1e-3}, vt.UnknownNameError, "rtol"),
        ({"tolerance": 0.0}, vt.InputError, "tolerance"),
        ({"max_iterations": 0}, vt.InputError, "max_iterations"),
        ({"alpha": 1.5, "method": "midpoint"}, vt.InputError, "alpha"),
        ({"residual": "tre", "method": "midpoint"}, vt.UnknownNameError, "residual"),
        ({"duration": 0.0155}, vt.InputError, "whole number of steps"),
        ({"duration": -1.0}, vt.InputError, "duration"),
        ({"record_every": 0}, vt.InputError, "every"),
        ({"v0": np.zeros(3)}, vt.InputError, "shape"),
        ({"q0": np.array([np.nan, 0.0])}, vt.InputError, "q0"),
        ({"v0": np.zeros(2), "p0": np.zeros(2)}, vt.InputError, "one of"),
        ({"q1": np.zeros(2), "method": "rk4"}, vt.InputError, "q1"),
        ({"control": np.zeros(5)}, vt.InputError, "torque"),
        ({"wrenches": [vt.ExternalWrench("link9", np.zeros(3))]}, vt.UnknownNameError, "frame"),
        ({"wrenches": {"link1": np.zeros(6)}}, vt.InputError, "ExternalWrench"),
    ],
)
def test_bad_arguments(change, error, text):
    arguments = {"duration": 0.01, "dt": 0.001, **change}
    with pytest.raises(error, match=text):
        vt.simulate(vt.Model(chain_flat(2)), **arguments)


@pytest.mark.parametrize(("scheme", "solver"), SOLVERS)
def test_an_unsolved_step_raises_with_what_was_computed(scheme, solver):
    """A force that grows without bound ends in an error, the run so far in it; never in silence."""
    model = vt.Model(chain_flat(6))
    q = np.linspace(0.1, 1.0, 6)

    def torque(t, q, v):
        return np.full(6, 1.0 if t < 0.05 else 1e9)

    with pytest.raises(vt.ConvergenceError, match="halve dt") as failure:
        vt.simulate(model, q, duration=1.0, dt=0.01, solver=solver, **SCHEMES[scheme], control=torque)
    run = failure.value.trajectory
    assert 5 <= len(run) < 12
    assert np.isfinite(run.q).all() and np.isfinite(run.p).all()
    assert failure.value.time == pytest.approx(run.t[-1])
    before = vt.simulate(model, q, duration=0.05, dt=0.01, solver=solver, **SCHEMES[scheme], control=np.ones(6))
    assert np.allclose(before.q[:5], run.q[:5], atol=1e-9)


def test_a_step_of_half_a_turn_is_refused():
    """The average twist of a step is not defined from half a turn on."""
    model = vt.Model(chain_flat(1))
    with pytest.raises(vt.ConvergenceError, match="half a turn"):
        vt.simulate(model, v0=np.array([400.0]), duration=0.1, dt=0.01, max_halvings=0)
    run = vt.simulate(model, v0=np.array([400.0]), duration=0.1, dt=0.01)
    assert run.settings["halved"] == run.steps == 10


@pytest.mark.parametrize("method", ["explicit-euler", "rk4"])
def test_blow_up_is_an_error(method):
    model = vt.Model(chain_flat(8))
    with pytest.raises(vt.ConvergenceError, match="infinite or NaN") as failure:
        vt.simulate(model, np.full(8, 0.3), np.full(8, 40.0), duration=2000.0, dt=0.5, method=method)
    assert np.isfinite(failure.value.trajectory.q).all()


@pytest.mark.parametrize("method", list(vt.METHODS))
def test_errors_in_a_callable_come_through(method):
    model = vt.Model(chain_flat(2))

    def broken(t, q, v):
        raise ZeroDivisionError("mine")

    with pytest.raises(vt.CallableError, match=r"torque\(t, q, v\) at t = .* ZeroDivisionError: mine") as failure:
        vt.simulate(model, duration=0.01, dt=0.001, method=method, control=broken)
    assert isinstance(failure.value.__cause__, ZeroDivisionError) and len(failure.value.trajectory) == 1
    with pytest.raises(ValueError, match="shape"):
        vt.simulate(model, duration=0.01, dt=0.001, method=method, control=lambda t, q, v: np.zeros(3))


@pytest.mark.parametrize("t0", [0.0, 0.3])
@pytest.mark.parametrize("dt", [0.1, 0.003, 1 / 3])
def test_records_of_scipy_fall_to_the_step_that_ends_there(dt, t0):
    """Rounding of the end of a step must not put its record into the next, which may never be."""
    steps = vt.METHODS["scipy-dop853"](vt.Model(chain_flat(1)), dt)
    steps.t = t0
    for every in (1, 3):
        counts = [steps._reached(t0 + k * dt, every) for k in range(300)]
        assert counts == [k // every * every for k in range(300)]
        assert [steps._reached(t0 + (k - 1e-3) * dt, 1) for k in range(1, 300)] == list(range(299))


def test_progress_is_told_and_callables_see_the_state():
    model, told = vt.Model(chain_flat(2)), []
    seen = []

    def torque(t, q, v):
        seen.append((t, q.shape, v.shape))
        return np.zeros(2)

    vt.simulate(model, duration=0.5, dt=0.001, control=torque, progress=lambda done, total: told.append((done, total)))
    assert told[-1] == (500, 500) and [d for d, _ in told] == sorted({d for d, _ in told})
    assert len(seen) == 501  # once a step, and once for the first step's acceleration
    assert all(FREE and q == (2,) and v == (2,) for _, q, v in seen)


@pytest.mark.parametrize("returned", [None, 3.0, (1.0, 2.0, 3.0), (None, None), ("a", "b")], ids=str)
def test_a_step_of_python_that_returns_no_state_is_named(returned, monkeypatch):
    class Broken(vt.Integrator):
        name, order = "broken", 1

        def step(self, t, q, x):
            return returned

    monkeypatch.setitem(vt.METHODS, "broken", Broken)
    with pytest.raises(vt.InputError, match="broken"):
        vt.simulate(vt.Model(chain_flat(2)), duration=0.1, dt=0.1, method="broken")


def test_what_stopped_a_run_is_what_is_raised():
    class Stubborn(Exception):
        def __setattr__(self, name, value):
            raise RuntimeError("it takes no attributes")

    def torque(t, q, v):
        raise Stubborn("mine")

    with pytest.raises(vt.CallableError, match="Stubborn: mine"):
        vt.simulate(vt.Model(chain_flat(2)), duration=0.1, dt=0.1, control=torque)
