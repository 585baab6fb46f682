"""Runs that follow one another: an idle integrator serves the next run, and a trajectory works out its fields late.

Neither may show: the bits are those of an integrator of one's own, and of fields that are worked out at once.
"""

import copy
import gc
import pickle
import threading
import weakref
from dataclasses import replace

import numpy as np
import pytest
from random_models import chain_flat

import vitree as vt
from vitree._core import scalar
from vitree.integrators import METHODS, idle
from vitree.integrators.compiled import CompiledIntegrator
from vitree.results.recording import NAMES_OF_FIELDS

OWN = [name for name, kind in METHODS.items() if issubclass(kind, CompiledIntegrator)]


def chain(n=3, **changed):
    return vt.Model(replace(chain_flat(n), **changed))


def floating(mass=1.0):
    tree = vt.Tree("floating")
    base = tree.world.add(vt.free("base"), vt.body("trunk", mass, inertia=(0.3, 0.2, 0.1)))
    base.add(vt.ry("arm", damping=0.2), vt.tz(-0.4), vt.body("hand", 0.7, inertia=(0.02, 0.03, 0.01)))
    base.add(vt.ball("hip"), vt.tz(-0.5), vt.body("foot", 0.4, inertia=(0.02, 0.01, 0.01)))
    return tree.compile()


def hooked(name):
    """A tree of two links, and a hook beside them."""
    tree = vt.Tree(name)
    a = tree.world.add(vt.ry("a"), vt.tz(-0.5), vt.body("A", 1.0, (1e-2,) * 3))
    a.add(vt.ry("b"), vt.tz(-0.5), vt.body("B", 1.0, (1e-2,) * 3))
    tree.world.add(vt.fixed("hook", xyz=(0.4, 0, -0.6)))
    return tree


def loop():
    tree = hooked("loop")
    tree.constrain(vt.Distance("hook", "B", length=0.8))
    return tree.compile()


def sprung():
    tree = hooked("sprung")
    tree.load(vt.Spring("hook", "B", stiffness=30.0, length=0.2))
    tree.load(vt.Damper("hook", "B", 0.5))
    return tree.compile()


MODELS = {"chain": chain, "floating": floating, "loop": loop, "sprung": sprung}


def start(model, seed=0):
    rng = np.random.default_rng(seed)
    q = model.integrate(model.neutral(), 0.2 * rng.standard_normal(model.nv))
    if model.constraints:
        q = vt.satisfy_constraints(model, q)
    v = rng.standard_normal(model.nv)
    return q, model.project_velocity(q, v) if model.constraints else v


#: A checkpoint has bytes that nothing reads, such as those of a node's matrix that its joint does not need.
UNUSED = ("checkpoint",)


def kept(model):
    return vars(model).get("_idle") or {}


def alone(model):
    """The same model without idle integrators."""
    return pickle.loads(pickle.dumps(model))


def content(run):
    found = {name: getattr(run, name) for name in NAMES_OF_FIELDS if name not in ("seconds", "system")}
    found |= {f"drive: {name}": x for name, x in found.pop("drive").arrays().items()}
    return {name: x.tobytes() if isinstance(x, np.ndarray) else repr(x) for name, x in found.items()}


def same(one, other, leave_out=()):
    one, other = ({name: x for name, x in content(run).items() if name not in leave_out} for run in (one, other))
    assert one.keys() == other.keys()
    for name in one:
        assert one[name] == other[name], name


def spoiled(model):
    """Spoil all memory of the idle integrators that a run may not rely on; return how many there are."""
    for integrator in kept(model).values():
        integrator.stepper.spoil()
    return len(kept(model))


DRIVES = {
    "nothing": lambda m: {},
    "array": lambda m: {"control": np.linspace(-1, 1, m.nv)},
    "callable": lambda m: {"control": lambda t, q, v: np.sin(t + np.arange(m.nv)) - 0.1 * v},
    "limits": lambda m: {"control": vt.Control(torque=np.linspace(-1, 1, m.nv), effort_limits=False)},
}


@pytest.mark.parametrize("drive", DRIVES)
@pytest.mark.parametrize("method", OWN)
@pytest.mark.parametrize("name", MODELS)
def test_a_run_by_an_integrator_that_served_has_the_bits_of_one_by_its_own(name, method, drive):
    if (name, method) == ("loop", "gauss"):
        pytest.skip("gauss knows no constraints")
    model = MODELS[name]()
    more = DRIVES[drive](model)
    for steps, every, dt in ((1, 1, 1e-3), (3, 1, 1e-3), (40, 7, 1e-3), (2, 1, 5e-3)):
        for seed in range(3):
            q, v = start(model, seed)
            call = {"dt": dt, "duration": steps * dt, "record_every": every, "method": method, **more}
            own = vt.simulate(alone(model), q, v, **call)
            same(vt.simulate(model, q, v, **call), own)
            spoiled(model)
            same(vt.simulate(model, q, v, **call), own, UNUSED)
    assert kept(model)


WITHOUT_A_PLACE = {
    "wrenches": lambda m: {"wrenches": [vt.ExternalWrench(m.link_names[-1], (1.0, 0.0, 0.3), torque=(0.1, 0.2, 0.0))]},
    "option": lambda m: {"tolerance": np.float64(1e-10)},
}


@pytest.mark.parametrize("more", WITHOUT_A_PLACE)
@pytest.mark.parametrize("method", ["linear-time", "midpoint"])
@pytest.mark.parametrize("name", MODELS)
def test_a_run_by_an_integrator_of_its_own_leaves_what_one_that_asks_it_leaves(name, method, more, monkeypatch):
    """Fields follow from the records and the model, also where the integrator goes back to no place."""
    model = MODELS[name]()
    q, v = start(model)
    call = {"dt": 1e-3, "duration": 0.02, "record_every": 3, "method": method, **WITHOUT_A_PLACE[more](model)}
    run = vt.simulate(model, q, v, **call)
    assert not kept(model)
    monkeypatch.setattr(idle, "_reusable", lambda *args: False)
    asked, own = [], CompiledIntegrator.velocities
    monkeypatch.setattr(CompiledIntegrator, "velocities", lambda self, *args: asked.append(self) or own(self, *args))
    same(run, vt.simulate(model, q, v, **call))
    assert asked


def test_integrators_are_told_apart_by_all_that_they_were_made_with():
    model = floating()
    q, v = start(model)
    calls = [
        {"dt": 1e-3}, {"dt": 2e-3}, {"dt": 1e-3, "tolerance": 1e-12}, {"dt": 1e-3, "tolerance": 1e-6},
        {"dt": 1e-3, "solver": "modified-newton"}, {"dt": 1e-3, "kinetic": "screw"}, {"dt": 1e-3, "order": 4},
        {"dt": 1e-3, "order": 4.0}, {"dt": 1e-3, "method": "midpoint"},
        {"dt": 1e-3, "method": "midpoint", "alpha": 0.4}, {"dt": 1e-3, "method": "midpoint", "alpha": 0.5},
        {"dt": 1e-3, "control": np.ones(model.nv)}, {"dt": 1e-3, "control": -np.ones(model.nv)},
        {"dt": 1e-3, "control": lambda t, q, v: v}, {"dt": 1e-3, "control": [0.5] * model.nv}, {"dt": 1e-3, "p0": True},
        {"dt": 1e-3, "wrenches": [vt.ExternalWrench("hand", (0, 0, 1), torque=(0, 0, 1))]},
        {"dt": 1e-3, "monitors": "energy"},
        {"dt": 1e-3, "adapt": "density", "rate": 2.0}, {"dt": np.full(8, 1e-3)}, {"dt": 1e-3, "order": np.int64(4)},
    ]  # fmt: skip
    for _ in range(3):
        for call in calls:
            given = dict(call)
            state = {"p0": model.generalized_momentum(q, v)} if given.pop("p0", None) else {"v0": v}
            duration = {} if isinstance(call["dt"], np.ndarray) else {"duration": 8 * call["dt"]}
            one, other = (vt.simulate(m, q, **state, **duration, **given) for m in (model, alone(model)))
            same(one, other)
            if "monitors" in call:
                for key, rows in one.monitors.items():
                    np.testing.assert_array_equal(rows, other.monitors[key])
    assert 1 <= len(kept(model)) <= idle.MOST


OPTIONS = [
    *({"method": "midpoint", "residual": residual, "caching": caching, "solver": solver}
      for residual in ("tree", "recursive") for caching in (True, False) for solver in ("auto", "newton")),
    *({"method": method, "solver": solver, "guess": guess} for method in ("linear-time", "midpoint")
      for solver, guess in (("broyden", "extrapolate"), ("riqn", "current"), ("modified-newton", "extrapolate-3"))),
    {"norm": "energy"}, {"kinetic": "com"}, {"order": 6}, {"order": 4, "max_halvings": 2}, {"max_halvings": 0},
]  # fmt: skip


@pytest.mark.parametrize("options", OPTIONS, ids=lambda x: "-".join(map(str, x.values())))
def test_so_has_a_run_by_one_with_options(options):
    model = chain(4)
    for dt, steps in ((2e-3, 1), (2e-3, 12), (0.05, 6)):
        for seed in range(2):
            q, v = start(model, seed)
            call = {"dt": dt, "duration": steps * dt, **options}
            own = vt.simulate(alone(model), q, 4 * v, **call)
            same(vt.simulate(model, q, 4 * v, **call), own)
            spoiled(model)
            same(vt.simulate(model, q, 4 * v, **call), own, UNUSED)
    assert kept(model)


@pytest.mark.parametrize("method", ["linear-time", "midpoint", "rk4"])
def test_so_has_a_run_with_inputs_of_every_kind(method):
    tree = vt.Tree("driven")
    a = tree.world.add(vt.ry("a"), vt.tz(-0.5), vt.body("A", 1.0, (1e-2,) * 3))
    a.add(vt.ry("b"), vt.tz(-0.5), vt.body("B", 1.0, (1e-2,) * 3))
    tree.load(vt.JointForce("a", "push"))
    tree.load(vt.JointForce("b", "pull"))
    model = tree.compile()
    inputs = [
        None, np.array([1.0, -2.0]), [3.0, 4.0], np.arange(12.0).reshape(6, 2), lambda t, q, v: np.array([t, -t]),
        {"push": 2.0}, {"pull": np.linspace(0, 1, 6)}, {"push": lambda t: 5 * t}, np.array([0.0, 0.5]),
        np.ones((9, 2)), np.array([1, 2]), np.arange(12.0).reshape(6, 2)[:, ::-1],
    ]  # fmt: skip
    for _ in range(2):
        for each in inputs:
            for torque in (None, lambda t, q, v: -v):
                call = {"dt": 2e-3, "duration": 0.012, "method": method,
                        "control": vt.Control(inputs=each, torque=torque)}
                q, v = start(model)
                same(vt.simulate(model, q, v, **call), vt.simulate(alone(model), q, v, **call))
    call = {"dt": 2e-3, "duration": 0.02, "method": method}
    for wrong in (np.ones((6, 2)), np.ones(3), np.ones((10, 3)), np.full(2, np.nan), lambda t, q, v: np.ones(3)):
        told = []
        for m in (model, alone(model)):
            with pytest.raises(vt.VitreeError) as error:
                vt.simulate(m, control=vt.Control(inputs=wrong), **call)
            told.append(str(error.value))
        assert told[0] == told[1]


def test_models_that_are_equal_in_name_only_share_nothing():
    light, heavy = floating(), floating(mass=9.0)
    assert light.name == heavy.name and light.q_names == heavy.q_names
    q, v = start(light)
    for _ in range(2):
        for model in (light, heavy):
            one, other = (vt.simulate(each, q, v, dt=1e-3, duration=5e-3) for each in (model, alone(model)))
            same(one, other)
    assert not {*map(id, kept(light).values())} & {*map(id, kept(heavy).values())}


def test_equal_models_share_nothing_either():
    one = floating()
    twin = copy.deepcopy(one)
    q, v = start(one)
    vt.simulate(one, q, v, dt=1e-3, duration=1e-3)
    assert one == twin and kept(one) and not kept(twin)


@pytest.mark.parametrize("method", ["linear-time", "midpoint", "rk4"])
def test_a_run_after_one_that_failed_has_the_same_bits(method):
    model = floating()
    q, v = start(model)
    call = {"dt": 1e-3, "duration": 6e-3, "method": method}
    before = vt.simulate(model, q, v, **call)
    with pytest.raises(vt.ConvergenceError) as failed:
        vt.simulate(model, q, 1e12 * v, **call | {"dt": 1.0, "duration": 60.0})
    assert failed.value.trajectory is None or len(failed.value.trajectory) >= 1
    for wrong in ({"control": np.ones(model.nv + 1)}, {"control": vt.Control(inputs=np.ones(3))},
                  {"monitors": "nothing"}, {"record_every": 0}):
        with pytest.raises(vt.VitreeError):
            vt.simulate(model, q, v, **call | wrong)
    same(before, vt.simulate(model, q, v, **call))
    spoiled(model)
    same(before, vt.simulate(model, q, v, **call), UNUSED)


@pytest.mark.parametrize("method", ["linear-time", "midpoint", "semi-implicit-euler"])
@pytest.mark.parametrize("error", [ValueError, KeyboardInterrupt])
def test_a_run_after_a_torque_that_raised_has_the_same_bits(method, error):
    model = floating()
    q, v = start(model)
    fails = [True]

    def torque(t, q, v):
        if t > 4e-3 and fails[0]:
            raise error("no")
        return -0.5 * v

    call = {"dt": 1e-3, "duration": 9e-3, "method": method, "control": torque}
    vt.simulate(model, q, v, **call | {"duration": 2e-3})
    with pytest.raises((vt.CallableError, KeyboardInterrupt)) as raised:
        vt.simulate(model, q, v, **call)
    stopped = raised.value.trajectory
    fails[0] = False
    whole = vt.simulate(model, q, v, **call)
    same(whole, vt.simulate(alone(model), q, v, **call))
    np.testing.assert_array_equal(stopped.q, whole.q[: len(stopped)])
    np.testing.assert_array_equal(stopped.p, whole.p[: len(stopped)])


@pytest.mark.parametrize("method", OWN)
def test_a_run_goes_on_after_others_as_if_none_had_been_between(method):
    model = floating()
    q, v = start(model)
    call = {"dt": 1e-3, "method": method}
    whole = vt.simulate(model, q, v, duration=8e-3, **call)
    first = vt.simulate(model, q, v, duration=5e-3, **call)
    vt.simulate(model, model.neutral(), -v, duration=3e-3, **call)
    rest = first.resume(3e-3)
    vt.simulate(model, model.neutral(), -v, duration=3e-3, **call)
    np.testing.assert_array_equal(rest.q, whole.q[5:])
    np.testing.assert_array_equal(rest.p, whole.p[5:])


def test_a_trajectory_does_not_change_when_later_runs_do():
    model = floating()
    q, v = start(model)
    one = vt.simulate(model, q, v, dt=1e-3, duration=3e-3)
    expected = content(vt.simulate(alone(model), q, v, dt=1e-3, duration=3e-3))
    for seed in range(4):
        vt.simulate(model, *start(model, 5 + seed), dt=1e-3, duration=3e-3)
    assert content(one) == expected  # read only now


def test_threads_that_run_one_model_at_once_have_the_bits_of_one():
    model = floating()
    starts = [start(model, k) for k in range(8)]
    call = {"dt": 1e-3, "duration": 0.02}
    expected = [content(vt.simulate(alone(model), *each, **call)) for each in starts]
    found = [[] for _ in starts]

    def work(k):
        for _ in range(20):
            found[k].append(content(vt.simulate(model, *starts[k], **call)))

    threads = [threading.Thread(target=work, args=(k,)) for k in range(len(starts))]
    [thread.start() for thread in threads]
    [thread.join() for thread in threads]
    for runs, wanted in zip(found, expected, strict=True):
        assert len(runs) == 20
        assert all(run == wanted for run in runs)


def test_a_run_within_a_torque_of_a_run_has_an_integrator_of_its_own():
    model = floating()
    q, v = start(model)
    inner = []

    def torque(t, q, v):
        inner.append(vt.simulate(model, q, v, dt=1e-3, duration=2e-3, control=lambda t, q, v: -v).q[-1])
        return -v

    call = {"dt": 1e-3, "duration": 3e-3}
    nested = vt.simulate(model, q, v, control=torque, **call)
    same(nested, vt.simulate(alone(model), q, v, control=lambda t, q, v: -v, **call))
    assert len(inner) >= 3


@pytest.mark.parametrize("name", MODELS)
def test_models_and_torques_are_let_go_of_after_a_run(name):
    model = MODELS[name]()

    class Torque:
        def __call__(self, t, q, v):
            return -v

    torque = Torque()
    vt.simulate(model, *start(model), dt=1e-3, duration=2e-3, control=torque)
    assert kept(model)
    seen, driven = weakref.ref(model), weakref.ref(torque)
    gc.disable()  # nothing waits for the collector of circles
    try:
        del torque
        assert driven() is None
        del model
        assert seen() is None
    finally:
        gc.enable()


def test_a_large_stepper_is_not_kept():
    model = floating()
    q, v = start(model)
    vt.simulate(model, q, v, dt=1e-3, duration=1e-3, solver="broyden", max_iterations=200_000)
    assert not kept(model)


def test_only_so_many_are_kept():
    model = chain()
    q, v = start(model)
    for k in range(3 * idle.MOST):
        vt.simulate(model, q, v, dt=1e-3 * (k + 1), duration=1e-3 * (k + 1))
    assert len(kept(model)) == idle.MOST


@pytest.mark.parametrize("kind", [METHODS[name] for name in OWN])
def test_a_stepper_that_was_released_is_as_it_was_made(kind):
    model = floating()
    q, v = start(model)
    integrator = kind(model, 1e-3)
    made = integrator.stepper.history()
    assert not any(made)  # what a release writes
    x = model.generalized_momentum(q, v) if integrator.uses_momentum else v
    integrator.start(0.5, q, x)
    used = integrator.stepper.history()
    integrator.rest()
    assert integrator.stepper.history() == made != used


@pytest.mark.parametrize("order", [NAMES_OF_FIELDS, NAMES_OF_FIELDS[::-1]])
@pytest.mark.parametrize("name", ["chain", "floating", "sprung"])
def test_fields_do_not_depend_on_when_they_are_read(name, order):
    model = MODELS[name]()
    call = {"dt": 1e-3, "duration": 9e-3, "record_every": 3}
    late, early = (vt.simulate(model, *start(model), **call) for _ in range(2))
    early._complete()
    for field in order:
        x = getattr(late, field)
        assert getattr(late, field) is x
        if isinstance(x, np.ndarray):
            assert not x.flags.writeable, field
    same(late, early)
    assert late.settings is not early.settings and late.warnings == early.warnings
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        late.nothing  # noqa: B018


@pytest.mark.parametrize("passed", [lambda x: pickle.loads(pickle.dumps(x)), copy.copy, copy.deepcopy, lambda x: x[:]])
def test_a_trajectory_that_nobody_read_can_be_passed_on(passed, tmp_path):
    model = floating()
    late, early = (vt.simulate(model, *start(model), dt=1e-3, duration=9e-3) for _ in range(2))
    same(passed(late), early)
    np.testing.assert_array_equal(vt.Trajectory.load(early.save(tmp_path / "run.npz")).p, passed(late).p)


@pytest.mark.parametrize("method", ["linear-time", "rk4"])
def test_quaternions_are_normalised_where_a_configuration_says_so(method):
    model, rng = floating(), np.random.default_rng(5)
    v, changed = rng.standard_normal(model.nv), 0
    for size in (0.0, 1e-16, 2e-16, 3e-16, 4e-16, 5e-16, 7e-16, 1e-15, 1e-12, 9e-7):
        for _ in range(40):
            q = model.random_configuration(rng)
            for place in (slice(3, 7), slice(8, 12)):
                q[place] *= 1.0 + size * rng.choice((-1, 1))
            checked = model.validate_configuration(q)
            changed += (checked != q).any()
            run = vt.simulate(model, q, v, dt=1e-3, duration=1e-3, method=method)
            np.testing.assert_array_equal(run.q[0], checked)
    assert 40 < changed < 360
    for wrong in (1 + 2e-6, 0.5, 0.0, np.nan, 1e200):
        q = model.neutral()
        q[3:7] *= wrong
        q[np.isnan(q)] = 3.0
        with pytest.raises(vt.InputError, match="quaternion"):
            vt.simulate(model, q, v, dt=1e-3, duration=1e-3, method=method)


def test_a_short_start_and_end_have_the_bits_of_the_doors():
    for seed in range(5):
        model = floating(mass=1.0 + seed)
        q, v = start(model, seed)
        for steps in (1, 2, 3, 4, 5, 9):
            run = vt.simulate(model, q, v, dt=1e-3, duration=steps * 1e-3)
            np.testing.assert_array_equal(run.p[0], model.generalized_momentum(q, v))
            np.testing.assert_array_equal(run.v, model._velocities(run.q, run.p))
            np.testing.assert_array_equal(run.kinetic, model._energies(run.q, run.v)[:, 0])


@pytest.mark.parametrize("method", OWN)
def test_an_energy_beyond_a_double_is_found_though_nobody_reads_it(method):
    tree = vt.Tree("slider")
    tree.world.add(vt.tx("x"), vt.body("block", 1.0, inertia=(1, 1, 1)))
    tree.load(vt.JointSpring("x", 1e150))
    model = tree.compile()
    call = {"dt": 1e-200, "duration": 1e-200, "method": method}
    for _ in range(2):
        with pytest.raises(vt.ConvergenceError, match="its energy or velocity is infinite"):
            vt.simulate(model, [1e80], [0.0], **call)
        vt.simulate(model, [1e-9], [0.0], **call)
    assert kept(model)


@pytest.mark.parametrize("scale", [1e-280, 1e30, 1e60])
def test_models_of_extreme_numbers_run_as_before(scale):
    flat = chain_flat(3)
    model = vt.Model(replace(flat, mass=scale * flat.mass, inertia=scale * flat.inertia))
    for method in OWN:
        call = {"dt": 1e-3, "duration": 2e-3, "method": method}
        for _ in range(2):
            one, other = (vt.simulate(m, None, np.full(3, 1e-3), **call) for m in (model, alone(model)))
            same(one, other)
            assert np.isfinite(one.energy).all()


# ---- a torque's answers --------------------------------------------------------------------------------

ANSWERS = {
    "floats": lambda x: x, "list": lambda x: x.tolist(), "tuple": lambda x: tuple(x.tolist()),
    "float32": lambda x: x.astype(np.float32), "ints": lambda x: x.astype(int), "column": lambda x: np.c_[x, x][:, 0],
    "reversed": lambda x: x[::-1].copy()[::-1], "big-endian": lambda x: x.astype(">f8"),
    "unaligned": lambda x: np.frombuffer(b"\0" + x.tobytes(), np.uint8)[1:].view(float),
    "subclass": lambda x: x.view(type("Own", (np.ndarray,), {})), "broadcast": lambda x: np.broadcast_to(x, x.shape),
}  # fmt: skip


def _read_only(x):
    x.flags.writeable = False
    return x


ANSWERS["read-only"] = _read_only


@pytest.mark.parametrize("method", ["linear-time", "semi-implicit-euler"])
@pytest.mark.parametrize("answer", ANSWERS)
def test_answers_of_every_kind_are_taken(answer, method):
    model = floating()
    q, v = start(model)
    tau = np.arange(model.nv) - 3.0
    call = {"dt": 1e-3, "duration": 5e-3, "method": method}
    run = vt.simulate(model, q, v, control=lambda t, q, v: ANSWERS[answer](tau.copy()), **call)
    np.testing.assert_array_equal(run.q, vt.simulate(model, q, v, control=lambda t, q, v: tau, **call).q)


WRONG = {
    "nan": lambda n: np.full(n, np.nan), "infinite": lambda n: np.full(n, -np.inf), "short": lambda n: np.ones(n - 1),
    "rows": lambda n: np.ones((1, n)), "dates": lambda n: np.zeros(n, "datetime64[s]"), "None": lambda n: None,
    "objects": lambda n: np.array([object()] * n), "complex": lambda n: np.ones(n, complex), "text": lambda n: "no",
}  # fmt: skip


@pytest.mark.parametrize("answer", WRONG)
def test_wrong_answers_are_told_as_those_of_every_function(answer):
    model = floating()
    q, v = start(model)
    with pytest.raises(vt.CallableError) as told:
        vt.simulate(model, q, v, dt=1e-3, duration=5e-3, control=lambda t, q, v: WRONG[answer](model.nv))
    from vitree.arguments import Asked

    asked = Asked(lambda t: WRONG[answer](model.nv), "torque", "(t, q, v)", (model.nv,))
    with pytest.raises(vt.CallableError) as plainly:
        asked(0.0)
    assert str(plainly.value) in str(told.value)


def test_what_a_torque_is_given_is_its_own():
    model = floating()
    q, v = start(model)
    seen = []

    def torque(t, q, v):
        seen.append((q, v, q.copy(), v.copy()))
        return np.zeros(model.nv)

    def spoils(t, q, v):
        q[:], v[:] = np.nan, np.inf
        return np.zeros(model.nv)

    call = {"dt": 1e-3, "duration": 5e-3}
    one, other = (vt.simulate(model, q, v, control=each, **call) for each in (torque, spoils))
    np.testing.assert_array_equal(one.q, other.q)
    for q, v, q_then, v_then in seen:
        assert q.flags.owndata and q.flags.writeable and type(q) is np.ndarray
        np.testing.assert_array_equal(q, q_then)
        np.testing.assert_array_equal(v, v_then)


def test_the_largest_number_of_arrays():
    largest_of = scalar().largest_of
    assert largest_of() == 0.0
    assert largest_of(np.zeros((0, 3)), np.array([[1.0, -4.0]]), np.array([2.0])) == 4.0
    for bad in (np.array([1.0, np.nan, 9.0]), np.array([np.nan])):
        assert np.isnan(largest_of(np.ones(2), bad)) and np.isnan(largest_of(bad, np.full(3, np.inf)))
    assert largest_of(np.array([1.0, -np.inf])) == np.inf
    for wrong in (np.ones(3, np.float32), np.ones((4, 4))[:, 1]):
        with pytest.raises(ValueError):
            largest_of(wrong)
