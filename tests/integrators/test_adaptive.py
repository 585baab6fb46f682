"""Steps that adapt themselves: the reversible step density, and time in the discrete action (Sundman)."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from directions import slopes
from loaded_models import SINGLE, conservative_loads, every_constraint, random_tree
from random_models import pendulum_flat, random_flat, random_state

import vitree as vt

VARIATIONAL = ["linear-time", "midpoint"]
DENSITY = {"adapt": "density", "rate": 3.0}
RODS = vt.Model(pendulum_flat(2))
RODS_AT = np.array([2.5, 1.0])


def tree(seed, base="free", kinds=("revolute", "prismatic", "ball"), nbody=5, speed=0.7, **more):
    flat = random_flat(np.random.default_rng(seed), nbody=nbody, kinds=kinds, base=base, **more)
    return vt.Model(flat), *random_state(flat, np.random.default_rng(seed + 1), speed=speed)


def loaded_tree(seed, speed=0.7):
    """One-coordinate joints, with conservative loads of every kind."""
    flat, q, v = random_tree(seed, nbody=6, kinds=SINGLE, speed=speed)
    return vt.Model(replace(flat, loads=conservative_loads(flat))), q, v


def sundman(energy=None, inertia=2.0, **more):
    return {"method": "midpoint", "adapt": "sundman", "rate": 3.0, "inertia": inertia, "energy": energy, **more}


# ---- the step density ----------------------------------------------------------------------------------


@pytest.mark.parametrize("driven", [False, True])
@pytest.mark.parametrize("method", VARIATIONAL)
def test_density_is_reversible(method, driven):
    """100 steps out, momentum and nothing else reversed, and back, under a torque too."""
    model, q, v = tree(41, "fixed")
    options = {**DENSITY, "dt": 0.02, "method": method, "tolerance": 1e-14, "solver": "recursive-newton"}
    if driven:
        options["control"] = np.linspace(-1, 2, model.nv)
    out = vt.simulate(model, q, v, duration=1.3, **options)
    assert out.steps >= 100 and np.diff(out.t).max() > 1.5 * np.diff(out.t).min()
    end, duration = out[-1], out.t[-1] - 1e-6
    back = vt.simulate(model, end.q, p0=-end.p, duration=duration, density=out.settings["density"], **options)
    assert back.steps == out.steps
    assert np.abs(np.diff(back.t)[::-1] - np.diff(out.t)).max() < 1e-12
    assert np.abs(model.difference(q, back.q[-1])).max() < 1e-11
    assert np.abs(back.p[-1] + out.p[0]).max() < 1e-11 * np.abs(out.p).max()


def errors_at_end(model, q, v, duration, steps, **options):
    """Errors in q and v at the time where each run ends, and their mean steps."""
    found = []
    loads = {name: options[name] for name in ("control", "wrenches") if name in options}
    for dt in steps:
        run = vt.simulate(model, q, v, duration=duration, dt=dt, **options)
        exact = vt.simulate(model, q, v, duration=run.t[-1], dt=run.t[-1], method="scipy-dop853", rtol=1e-12,
                            atol=1e-12, **loads)[-1]  # fmt: skip
        error = np.linalg.norm(model.difference(exact.q, run.q[-1])), np.linalg.norm(run.v[-1] - exact.v)
        found.append((*error, run.t[-1] / run.steps))
    return np.array(found)


@pytest.mark.parametrize("order", [2, 4])
@pytest.mark.parametrize("method", VARIATIONAL)
def test_density_keeps_the_order_under_forces(method, order):
    model, q, v = tree(12, damping=True)
    wrench = [vt.ExternalWrench(model.link_names[-1], (1.0, 2.0, -1.0), (0.3, -0.2, 0.5))]
    found = errors_at_end(model, q, v, 0.5, np.array([0.04, 0.02, 0.01]) if order > 2 else np.array([8e-3, 4e-3, 2e-3]),
                          method=method, control=lambda t, q, v: np.sin(3 * t) - v, wrenches=wrench, order=order,
                          **DENSITY)  # fmt: skip
    fitted = np.polyfit(np.log(found[:, 2]), np.log(found[:, :2]), 1)[0]
    assert np.abs(fitted - order).max() < (0.15 if order == 2 else 0.5)


def test_density_follows_the_speed():
    """Steps are nearly dt rate/sqrt(rate^2 + |v|^2), dt at rest."""
    run = vt.simulate(RODS, RODS_AT, duration=10.0, dt=0.02, method="midpoint", **DENSITY)
    h = np.diff(run.t)
    wanted = 0.02 * 3 / np.sqrt(9 + 0.25 * ((run.v[1:] + run.v[:-1]) ** 2).sum(axis=1))
    assert h[0] == pytest.approx(0.02, rel=1e-2)
    assert h.max() > 3 * h.min()
    assert np.abs(h / wanted - 1).max() < 0.1


@pytest.mark.parametrize("method", VARIATIONAL)
def test_density_keeps_the_momentum_of_a_floating_tree(method):
    kinds = ("revolute", "prismatic", "helical", "ball")
    model, q, v = tree(5, kinds=kinds, nbody=8, gravity=(0, 0, 0), speed=1.0)
    run = vt.simulate(model, q, v, duration=10.0, dt=0.01, method=method, **DENSITY)
    assert np.diff(run.t).max() > 1.3 * np.diff(run.t).min()
    assert np.abs(run.momentum - run.momentum[0]).max() < 1e-11 * np.abs(run.momentum[0]).max()
    assert np.abs(run.energy - run.energy[0]).max() < 5e-3 * run.kinetic[0]


@pytest.mark.parametrize("method", VARIATIONAL)
def test_density_energy_does_not_drift(method):
    """Over 2.7e4 steps of a double pendulum that swings, of lengths that differ by two."""
    run = vt.simulate(RODS, [0.9, -0.5], duration=200.0, dt=0.01, method=method, **DENSITY)
    assert run.steps > 2e4 and np.diff(run.t).max() > 2 * np.diff(run.t).min()
    error = (run.energy - run.energy[0]) / run.kinetic.max()
    assert np.abs(error).max() < 2e-4
    tenth = len(error) // 10
    assert abs(error[-tenth:].mean() - error[:tenth].mean()) < 1e-6


def test_density_with_constraints():
    """A four-bar linkage keeps closed, its energy in a band."""
    tree = vt.Tree("four-bar")
    crank = tree.world.add(vt.ry("crank"), vt.tz(-0.3), vt.body("pin", 1.0))
    crank.add(vt.ry("bend"), vt.tz(-1.0), vt.body("tip", 1.0))
    tree.world.add(vt.tx(0.8), vt.ry("rocker"), vt.tz(-0.9), vt.body("end", 2.0))
    tree.constrain(vt.point_constraint("tip", "end", [(1, 0, 0), (0, 0, 1)]))
    model = tree.compile()
    q = vt.satisfy_constraints(model, [0.5, -1.0, 0.2], hold=["crank"])
    v = model.project_velocity(q, [8.0, 0.0, 0.0])
    for options in ({"method": "linear-time", **DENSITY}, {"method": "midpoint", **DENSITY}, sundman(inertia=1.0)):
        run = vt.simulate(model, q, v, duration=20.0, dt=0.01, **options)
        assert np.diff(run.t).max() > 1.3 * np.diff(run.t).min()
        assert np.abs(run.constraint).max() < 1e-11
        assert np.abs(run.energy - run.energy[0]).max() < 0.02 * run.kinetic.max()


# ---- time in the discrete action -----------------------------------------------------------------------


def action(model, q1, q2, dt, energy, inertia=2.0, rate=3.0):
    """h (L + E0) at the middle, and h."""
    middle = 0.5 * (q1 + q2)
    V = model.potential_energy(middle)
    h = dt * rate / np.sqrt(rate**2 + 2 * (energy - V) / inertia)
    return h * (model.kinetic_energy(middle, (q2 - q1) / h) - V + energy), h


@pytest.mark.parametrize("seed", range(4))
def test_sundman_is_the_discrete_action(seed):
    """Momenta at both ends are its derivatives, far from the energy that it is made for as well."""
    model, q, v = loaded_tree(seed)
    dt, zero, rng = 0.03, np.zeros(model.nv), np.random.default_rng(seed)
    energy = model.kinetic_energy(q, v) + model.potential_energy(q) + rng.uniform(5, 10)
    y = dt * (v + 0.3 * rng.normal(size=model.nv))
    options = sundman(energy, tolerance=1e-14, solver="recursive-newton")
    step = vt.METHODS["midpoint"](model, dt, **{k: x for k, x in options.items() if k != "method"}).stepper
    D1 = -step.probe(0.0, q, zero, y, np.zeros(0))[0]
    exact = slopes(lambda e: np.array([action(model, q + e, q + y, dt, energy)[0]]), model.nv)[0]
    assert np.abs(D1 - exact).max() < 2e-11 * np.abs(exact).max()
    run = vt.simulate(model, q, p0=-D1, duration=1e-9, dt=dt, **options)
    exact = slopes(lambda e: np.array([action(model, q, q + y + e, dt, energy)[0]]), model.nv)[0]
    assert run.steps == 1 and np.abs(run.q[-1] - q - y).max() < 1e-12
    assert np.abs(run.p[-1] - exact).max() < 2e-11 * np.abs(exact).max()
    assert run.t[-1] == pytest.approx(action(model, q, q + y, dt, energy)[1], rel=1e-12)


@pytest.mark.parametrize("solver", ["recursive-newton", "newton"])
@pytest.mark.parametrize("loaded", [False, True])
@pytest.mark.parametrize("seed", range(3))
def test_sundman_directions(seed, loaded, solver):
    """The correction is that of the dense matrix of differences."""
    model, q, v = loaded_tree(seed)
    if not loaded:
        model = vt.Model(replace(model.flat, loads=()))
    if seed == 2:
        constraints = every_constraint(model.flat, q, np.random.default_rng(seed))
        model = vt.Model(replace(model.flat, constraints=(constraints[2], constraints[4])))
    dt, rng = 0.03, np.random.default_rng(seed)
    options = {k: x for k, x in sundman(model.potential_energy(q) + 20.0, solver=solver).items() if k != "method"}
    step = vt.METHODS["midpoint"](model, dt, **options).stepper
    n, m = model.nv, len(model.constraints)
    p, y, lam = model.generalized_momentum(q, v), dt * (v + rng.normal(size=n)), rng.normal(size=m)
    r, h, d, dlam = step.probe(0.0, q, p, y, lam)
    K = np.zeros((n + m, n + m))
    K[:, :n] = slopes(lambda e: np.concatenate(step.probe(0.0, q, p, y + e, lam)[:2]), n)
    K[:n, n:] = model.constraint_jacobian(q).T
    exact = np.linalg.solve(K, -np.concatenate((r, h)))
    assert np.abs(np.concatenate((d, dlam)) - exact).max() < 1e-8 * np.abs(exact).max()


@pytest.mark.parametrize("model", [vt.Model(pendulum_flat(1)), RODS, loaded_tree(3)[0]], ids=["rod", "rods", "tree"])
def test_sundman_is_symplectic(model):
    """For one energy, the map (q, p) preserves the canonical two-form: A^T J A = J."""
    n, rng = model.nv, np.random.default_rng(1)
    q, v = rng.normal(size=n), rng.normal(size=n)
    p = model.generalized_momentum(q, v)
    options = sundman(model.kinetic_energy(q, v) + model.potential_energy(q) + 0.5, tolerance=1e-14, guess="aba",
                      solver="recursive-newton")  # fmt: skip

    def step(e):
        end = vt.simulate(model, q + e[:n], p0=p + e[n:], duration=1e-9, dt=0.03, **options)[-1]
        return np.concatenate((end.q, end.p))

    A = slopes(step, 2 * n)
    J = np.block([[np.zeros((n, n)), np.eye(n)], [-np.eye(n), np.zeros((n, n))]])
    assert np.abs(A.T @ J @ A - J).max() < 1e-8


@pytest.mark.parametrize("order", [2, 4])
def test_sundman_keeps_the_order(order):
    model, q, v = loaded_tree(4)
    steps = np.array([0.03, 0.015, 0.0075]) if order > 2 else np.array([8e-3, 4e-3, 2e-3])
    found = errors_at_end(model, q, v, 0.4, steps, **sundman(order=order))
    fitted = np.polyfit(np.log(found[:, 2]), np.log(found[:, :2]), 1)[0]
    assert np.abs(fitted - order).max() < (0.15 if order == 2 else 0.5)


def test_sundman_is_reversible():
    out = vt.simulate(RODS, RODS_AT, duration=1.5, dt=0.03, **sundman(tolerance=1e-14, solver="recursive-newton"))
    options = sundman(out.energy[0], tolerance=1e-14, solver="recursive-newton")
    back = vt.simulate(RODS, out.q[-1], p0=-out.p[-1], duration=out.t[-1] - 1e-6, dt=0.03, **options)
    assert back.steps == out.steps
    assert np.abs(back.q[-1] - RODS_AT).max() < 1e-10


def test_sundman_energy_is_bounded():
    """Over 2e4 steps of the chaotic double pendulum, with no drift where naive steps drift."""
    run = vt.simulate(RODS, RODS_AT, duration=150.0, dt=0.018, **sundman(inertia=1.0))
    error = run.energy - run.energy[0]
    assert run.steps > 2e4 and np.diff(run.t).max() > 2 * np.diff(run.t).min()
    assert -0.25 < error.min() and error.max() < 0.03
    assert abs(error[-2000:].mean() - error[:2000].mean()) < 0.02


def test_sundman_keeps_the_momentum():
    """Along and about the axes of joints that nothing pulls: a tree on three slides and a turn, without gravity."""
    tree = vt.Tree("drifting", gravity=(0, 0, 0))
    hull = vt.body("hull", 2.0, inertia=(0.3, 0.4, 0.5))
    base = tree.world.add(vt.tx("x"), vt.ty("y"), vt.tz("z"), vt.rz("turn"), hull)
    base.add(vt.tx(0.4), vt.ry("arm"), vt.tz(-0.6), vt.body("hand", 1.0))
    base.add(vt.tx(-0.4), vt.rx("leg"), vt.tz(-0.8), vt.body("foot", 0.7))
    tree.loads = [vt.Spring("hand", "foot", 40.0, 0.3)]
    model = tree.compile()
    run = vt.simulate(model, [0, 0, 0, 0.3, 1.0, -0.5], [0.3, -0.2, 0.4, 1.0, 3.0, -2.0], duration=20.0, dt=0.01,
                      **sundman(inertia=0.2, tolerance=1e-13))  # fmt: skip
    assert np.diff(run.t).max() > 1.2 * np.diff(run.t).min()
    assert np.abs(run.momentum[:, 2:] - run.momentum[0, 2:]).max() < 1e-11 * np.abs(run.momentum).max()


# ---- runs ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("options", [{"method": "linear-time", **DENSITY}, sundman(inertia=1.0)])
def test_runs_record_monitor_and_resume(options):
    """Each n-th step is recorded, the last record is at the end or beyond, and runs resume bit for bit."""
    every = vt.simulate(RODS, RODS_AT, duration=3.0, dt=0.03, **options)
    told = []
    seventh = vt.simulate(RODS, RODS_AT, duration=3.0, dt=0.03, record_every=7, monitors="energy",
                          progress=lambda *x: told.append(x), **options)  # fmt: skip
    assert every.t[-1] >= 3.0 > every.t[-2] and len(every) == every.steps + 1
    assert seventh.steps % 7 == 0 and len(seventh) == seventh.steps // 7 + 1 and seventh.t[-1] >= 3.0
    count = len(every) // 7
    assert seventh.q[:count].tobytes() == every.q[: 7 * count : 7].tobytes()
    assert len(seventh.monitors["energy"]) == seventh.steps and told[-1] == (seventh.steps, seventh.steps)
    assert np.array_equal(seventh.monitors["energy"][6::7], seventh.energy[1:])
    first = vt.simulate(RODS, RODS_AT, duration=1.0, dt=0.03, **options)
    rest = first.resume(3.0 - first.t[-1])
    assert rest.q[-1].tobytes() == every.q[-1].tobytes() and rest.t[-1] == every.t[-1]


def test_a_step_that_fails_is_halved():
    """And goes on from there: half the pace of the discrete action, or half the step that the density has."""
    options = sundman(inertia=1.0, max_iterations=1, solver="recursive-newton")
    run = vt.simulate(RODS, RODS_AT, duration=30.0, dt=0.06, max_halvings=4, **options)
    assert run.settings["halved"] > 100
    assert np.abs(run.energy - run.energy[0]).max() < 0.2
    assert np.diff(run.t).min() > 5e-3
    with pytest.raises(vt.ConvergenceError):
        vt.simulate(RODS, RODS_AT, duration=30.0, dt=0.06, **options)
    rod = vt.Model(pendulum_flat(1, gravity=(0, 0, 0)))
    run = vt.simulate(rod, v0=[400.0], duration=0.1, dt=0.01, adapt="density", rate=4e3)
    assert run.settings["halved"] == run.steps == 11
    assert run.q[-1] == pytest.approx(400.0 * run.t[-1])


def test_a_density_that_vanishes_is_an_error():
    model = vt.Model(pendulum_flat(1))
    with pytest.raises(vt.ConvergenceError, match="no valid adaptive step length was found"):
        vt.simulate(model, [3.0], [40.0], duration=10.0, dt=2.0, method="midpoint", adapt="density", rate=1.0,
                    control=np.array([-2000.0]))  # fmt: skip


def test_errors_in_a_callable_come_through():
    def broken(t, q, v):
        raise ZeroDivisionError("mine")

    with pytest.raises(vt.CallableError, match="ZeroDivisionError: mine"):
        vt.simulate(RODS, RODS_AT, duration=1.0, dt=0.01, control=broken, **DENSITY)


DAMPED = vt.Model(pendulum_flat(2, damping=1.0))
PUSHED = vt.Model(replace(RODS.flat, loads=(vt.JointForce("joint0", "push"),)))


@pytest.mark.parametrize(
    ("change", "error", "text"),
    [
        ({"adapt": "densty"}, vt.UnknownNameError, "density"),
        ({"rate": None}, vt.InputError, "takes rate="),
        ({"rate": -1.0}, vt.InputError, "rate=-1.0"),
        ({"adapt": None}, vt.InputError, "rate= requires adapt="),
        ({"inertia": 1.0}, vt.InputError, "inertia= does not go"),
        ({"method": "linear-time", "adapt": "sundman"}, vt.InputError, "method midpoint"),
        ({"method": "rk4"}, vt.UnknownNameError, "option of the method rk4"),
        ({"adapt": "sundman"}, vt.InputError, "takes inertia="),
        ({"adapt": "sundman", "inertia": 0.0}, vt.InputError, "positive"),
        ({"adapt": "sundman", "inertia": 1.0, "energy": np.nan}, vt.InputError, "finite"),
        ({"adapt": "sundman", "inertia": 1.0, "residual": "tree"}, vt.InputError, "residual"),
        ({"adapt": "sundman", "inertia": 1.0, "control": np.zeros(2)}, vt.InputError, "torque"),
        ({"adapt": "sundman", "inertia": 1.0, "wrenches": [vt.ExternalWrench("link0", np.ones(3))]},
         vt.InputError, "wrenches"),
        ({"adapt": "sundman", "inertia": 1.0, "model": PUSHED}, vt.InputError, "JointForce"),
        ({"adapt": "sundman", "inertia": 1.0, "model": DAMPED}, vt.InputError, "damping"),
        ({"adapt": "sundman", "inertia": 1.0, "model": tree(1)[0]}, vt.InputError, "ball or free"),
        ({"alpha": 0.4}, vt.InputError, "alpha"),
        ({"dt": [0.01, 0.02]}, vt.InputError, "dt must be one number"),
        ({"dt": 0.0}, vt.InputError, "dt"),
        ({"duration": None}, vt.InputError, "duration"),
        ({"q1": RODS_AT}, vt.InputError, "q1"),
        ({"model": PUSHED, "control": vt.Control(inputs=np.zeros((100, 1)))}, vt.InputError, "row per step"),
        ({"model": vt.Model(replace(RODS.flat, kinematic=np.array([True, False])))}, vt.InputError, "prescribed"),
    ],
)
def test_bad_options(change, error, text):
    options = {"model": RODS, "duration": 0.1, "dt": 0.01, "method": "midpoint", **DENSITY, **change}
    with pytest.raises(error, match=text):
        vt.simulate(**{name: value for name, value in options.items() if value is not None or name == "duration"})


def test_compare_takes_equal_steps():
    with pytest.raises(vt.InputError, match="adapt"):
        vt.compare(RODS, [("midpoint", DENSITY)], RODS_AT, duration=0.1, dt=0.01)


def test_a_resumed_run_may_record_at_another_pace():
    """Its records are at whole numbers of steps from where it goes on."""
    first = vt.simulate(RODS, RODS_AT, duration=0.1, dt=0.01)
    for monitors in ((), ("energy",)):
        rest = first.resume(0.05, record_every=4, monitors=monitors)
        assert rest.t == pytest.approx([0.1, 0.14])
