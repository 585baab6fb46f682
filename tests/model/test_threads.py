"""Threads that share a model have the bits of one thread; those that share a run get an error that says so."""

from __future__ import annotations

import os
import pickle
import subprocess
import sys
import sysconfig
import threading
from dataclasses import replace

import numpy as np
import pytest
from loaded_models import constrained_tree, driving_loads, random_tree
from random_models import chain_flat
from state_methods import CALLS, STACKED

import vitree as vt
from vitree._core import scalar
from vitree.errors import CallableError, VitreeError
from vitree.mechanism.flat import KINDS
from vitree.model.dynamics import AbaDerivatives, RneaDerivatives
from vitree.model.forces import Accelerations
from vitree.results.recording import NAMES_OF_FIELDS

core = scalar()
FREE = bool(sysconfig.get_config_var("Py_GIL_DISABLED"))
#: Methods of a model and their arguments: q, v, another q (r), a frame (f).
METHODS = {name: letters for name, letters in CALLS.items() if name in STACKED} | {
    "frame_jacobian": "fq", "joint_reactions": "qv", "lagrangian_derivatives": "qv", "drive_forces": "qv",
}


def floating(n=9, seed=1):
    return random_tree(seed, kinds=KINDS, nbody=n, base="free")[0]


def loaded():
    flat = random_tree(7)[0]
    return replace(flat, loads=driving_loads(flat))


#: Those of more than 64 bodies let the interpreter's lock go.
FLATS = {
    "chain": lambda: chain_flat(3), "floating": floating, "large": lambda: chain_flat(65),
    "large, floating": lambda: floating(70, 8), "constrained": lambda: constrained_tree(1)[0].flat,
    "loaded": loaded,
}  # fmt: skip


@pytest.fixture(autouse=True)
def threads_change_often():
    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-5)
    yield
    sys.setswitchinterval(before)


def at_once(*works):
    """Call functions, each in a thread of its own, and raise the first error of one."""
    start, errors = threading.Barrier(len(works)), []

    def called(work):
        try:
            start.wait(60)
            work()
        except BaseException as error:
            errors.append(error)

    threads = [threading.Thread(target=called, args=(work,), daemon=True) for work in works]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(120)
    assert not any(thread.is_alive() for thread in threads)
    if errors:
        raise errors[0]


def in_bits(result):
    if isinstance(result, dict):
        return [(key, in_bits(value)) for key, value in result.items()]
    if isinstance(result, tuple):
        return [in_bits(part) for part in result]
    return np.asarray(result).tobytes()


def calls_of(model, seed):
    """A state of one's own for each method."""
    rng = np.random.default_rng(seed)
    for name, letters in METHODS.items():
        frame = model.frame_names[int(rng.integers(len(model.frame_names)))]
        values = {"q": model.random_configuration(rng), "r": model.random_configuration(rng), "f": frame,
                  "v": rng.normal(size=model.nv)}  # fmt: skip
        for i in model._quaternions:
            values["q"][i : i + 4] *= 1.0 + 1e-9
        yield name, [values[letter] for letter in letters]


def outcome(model, name, given):
    try:
        return in_bits(getattr(model, name)(*given))
    except VitreeError as error:
        return type(error), str(error)


# ---- one model ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("apart", [False, True], ids=["one room", "rooms apart"])
@pytest.mark.parametrize("kind", FLATS)
def test_threads_with_states_of_their_own(kind, apart):
    """With rooms apart each call has memory of its own, as without the interpreter's lock."""
    model, count, wrong = vt.Model(FLATS[kind]()), 6, []
    calls = [list(calls_of(model, seed)) for seed in range(count)]
    alone = [[outcome(model, *call) for call in own] for own in calls]

    def work(seed):
        order = np.random.default_rng(seed)
        for _ in range(3):
            for k in order.permutation(len(METHODS)):
                if outcome(model, *calls[seed][k]) != alone[seed][k]:
                    wrong.append(calls[seed][k][0])

    before = core.keep_rooms_apart(apart)
    try:
        assert before == FREE
        at_once(*[lambda seed=seed: work(seed) for seed in range(count)])
    finally:
        core.keep_rooms_apart(before)
    assert not wrong


@pytest.mark.parametrize("kind", ["floating", "constrained", "loaded"])
def test_the_first_calls_of_a_model_come_at_once(kind):
    """What a model finds out when it is first asked, such as a stepper for its accelerations, is made once or twice."""
    made = FLATS[kind]
    calls = list(calls_of(vt.Model(made()), 3))
    alone = [outcome(vt.Model(made()), *call) for call in calls]
    digest = vt.Model(made()).digest
    for turn in range(6):
        model, wrong = vt.Model(made()), []

        def work(model=model, wrong=wrong, turn=turn):
            for k in np.roll(np.arange(len(calls)), -3 * turn):
                if outcome(model, *calls[k]) != alone[k]:
                    wrong.append(calls[k][0])
            if model.digest != digest:
                wrong.append("digest")

        at_once(*[work] * 6)
        assert not wrong


def test_compiled_code_answers_with_rooms_apart():
    """Memory of one's own, too, has nothing in it that a result depends on."""
    model = vt.Model(floating())
    calls = list(calls_of(model, 5))
    alone = [outcome(model, *call) for call in calls]
    before = core.keep_rooms_apart(True)
    try:
        for (name, given), wanted in zip(calls, alone, strict=True):
            core.spoil_calls()
            assert outcome(model, name, given) == wanted
            if name in ("joint_reactions", "lagrangian_derivatives", "drive_forces", "frame_jacobian"):
                continue
            made = {"forward_dynamics": Accelerations, "rnea_derivatives": RneaDerivatives,
                    "aba_derivatives": AbaDerivatives}.get(name)  # fmt: skip
            assert core.Call(name, made).answer(model._calls, model, *given) is not None
    finally:
        core.keep_rooms_apart(before)


# ---- runs of one model ----------------------------------------------------------------------------------


def test_runs_of_one_model_by_different_methods():
    model, rng = vt.Model(floating(5, 4)), np.random.default_rng(6)
    plans = [("linear-time", 1e-3), ("midpoint", 2e-3), ("gauss", 4e-3), ("rk4", 1e-3), ("linear-time", 2e-3),
             ("semi-implicit-euler", 1e-3)]  # fmt: skip
    starts = [(model.random_configuration(rng), 0.3 * rng.normal(size=model.nv)) for _ in plans]

    def run(k):
        (method, dt), (q, v) = plans[k], starts[k]
        return in_bits((lambda traj: (traj.q, traj.v))(vt.simulate(model, q, v, dt=dt, duration=0.02, method=method)))

    def many(k):
        (method, dt), (q, v) = plans[k], starts[k]
        return in_bits(vt.rollout(model, np.tile(q, (3, 1)), v, dt=dt, duration=0.02, method=method, threads=2).q)

    alone = [(run(k), many(k)) for k in range(len(plans))]
    wrong = []

    def work(k):
        for _ in range(3):
            if (run(k), many(k)) != alone[k]:
                wrong.append(plans[k])

    at_once(*[lambda k=k: work(k) for k in range(len(plans))])
    assert not wrong


def test_fields_of_one_trajectory():
    """They are worked out when they are first asked for, and a pickle asks for all."""
    model = vt.Model(floating(4, 3))
    wanted = vt.simulate(model, dt=1e-3, duration=5e-3)
    numbers = [name for name in NAMES_OF_FIELDS if isinstance(getattr(wanted, name), np.ndarray)]
    assert {"q", "v", "kinetic"} & set(numbers)
    for _ in range(10):
        traj = vt.simulate(model, dt=1e-3, duration=5e-3)

        def read(traj=traj):
            assert [getattr(traj, name).tobytes() for name in numbers] == [getattr(wanted, name).tobytes()
                                                                           for name in numbers]  # fmt: skip

        at_once(read, lambda traj=traj: pickle.dumps(traj), read, lambda traj=traj: pickle.dumps(traj))


# ---- one run --------------------------------------------------------------------------------------------

#: What a second caller may not do meanwhile.
OTHERS = {
    "step": lambda sim: sim.step(), "steps": lambda sim: sim.step(3), "save": lambda sim: sim.save(),
    "reset": lambda sim: sim.reset(), "record": lambda sim: sim.record(),
    "push": lambda sim: sim.push("link1", (0.0, 0.0, 1.0)),
}  # fmt: skip


@pytest.mark.parametrize("every", [0, 1])
@pytest.mark.parametrize("method", ["linear-time", "midpoint", "gauss", "rk4", "scipy-rk45"])
def test_another_thread_in_the_middle_of_a_step(method, every):
    model = vt.Model(floating(4, 2))
    rng = np.random.default_rng(2)
    q, v = model.random_configuration(rng), 0.2 * rng.normal(size=model.nv)
    asked, tried, told = threading.Event(), threading.Event(), {}
    waits = []

    def torque(t, q, v):
        if waits:
            asked.set()
            tried.wait(60)
        return -0.1 * v

    sim = vt.Simulation(model, q, v, dt=1e-3, method=method, control=torque, record_every=every)
    sim.step(2)
    saved = sim.save()
    waits.append(True)

    def stepping():
        sim.step(4)

    def meddling():
        asked.wait(60)
        try:
            for what, call in {**OTHERS, "restore": lambda sim: sim.restore(saved)}.items():
                try:
                    call(sim)
                except VitreeError as error:
                    told[what] = str(error)
        finally:
            tried.set()

    at_once(stepping, meddling)
    assert set(told) == {*OTHERS, "restore"}
    for text in told.values():
        assert "already being stepped" in text and "Simulation" in text and "threading.Lock" in text
    twin = vt.Simulation(model, q, v, dt=1e-3, method=method, control=lambda t, q, v: -0.1 * v, record_every=every)
    twin.step(2)
    twin.step(4)
    assert sim.steps == 6 and np.array_equal(sim.q, twin.q) and np.array_equal(sim.v, twin.v)
    sim.step()
    twin.step()
    assert np.array_equal(sim.q, twin.q)


def test_the_velocity_in_the_middle_of_a_step():
    """A method that steps the momentum works the velocity out in the memory of its steps."""
    model = vt.load_urdf(vt.find_robot("double_pendulum"))
    asked, tried, texts = threading.Event(), threading.Event(), []

    def torque(t, q, v):
        asked.set()
        tried.wait(60)
        return -v

    sim = vt.Simulation(model, [1.0, 0.5], dt=1e-3, control=torque)

    def looking():
        asked.wait(60)
        try:
            sim.v  # noqa: B018
        except VitreeError as error:
            texts.append(str(error))
        finally:
            tried.set()

    at_once(sim.step, looking)
    assert len(texts) == 1 and "already being stepped" in texts[0]
    twin = vt.Simulation(model, [1.0, 0.5], dt=1e-3, control=lambda t, q, v: -v)
    twin.step()
    assert np.array_equal(sim.v, twin.v)


@pytest.mark.parametrize("method", ["linear-time", "rk4"])
def test_two_threads_that_step_in_haste(method):
    """Each call advances by all its steps, or by none and says so."""
    model = vt.Model(chain_flat(20))
    sim = vt.Simulation(model, np.full(20, 0.1), dt=1e-4, method=method)
    taken, refused = [], []

    def work():
        for _ in range(40):
            try:
                sim.step(5)
                taken.append(5)
            except VitreeError as error:
                assert "already being stepped" in str(error)
                refused.append(1)

    at_once(work, work, work)
    assert taken and len(taken) + len(refused) == 120
    assert sim.steps == sum(taken)
    twin = vt.Simulation(model, np.full(20, 0.1), dt=1e-4, method=method)
    twin.step(sum(taken))
    assert np.array_equal(sim.q, twin.q) and np.array_equal(sim.v, twin.v)


def test_a_function_of_a_step_that_calls_its_own_run():
    model = vt.load_urdf(vt.find_robot("double_pendulum"))
    held = []

    def torque(t, q, v):
        held[0].step()
        return -v

    held.append(vt.Simulation(model, [1.0, 0.5], dt=1e-3, control=torque))
    with pytest.raises(CallableError, match="already being stepped"):
        held[0].step()
    assert held[0].steps == 0 and np.array_equal(held[0].q, [1.0, 0.5])


# ---- without the interpreter's lock ----------------------------------------------------------------------

IMPORTED = """
import sys
import vitree as vt
from vitree import _core
[_core.lanes(width) for width in _core.widths()]
tree = vt.Tree("one")
tree.world.add(vt.rx("a"), vt.tz(-1.0), vt.body("one", 1.0))
model = tree.compile()
model.aba([0.1], [0.2], [0.3])
vt.rollout(model, [[0.1], [0.2]], dt=1e-2, duration=0.1)
vt.vehicles
print(sys._is_gil_enabled())
"""


@pytest.mark.skipif(not FREE, reason="this interpreter is made with its lock; a free-threaded one is python3.14t")
def test_the_lock_stays_off():
    env = {name: value for name, value in os.environ.items() if name != "PYTHON_GIL"}
    done = subprocess.run([sys.executable, "-c", IMPORTED], capture_output=True, text=True, env=env)
    assert done.stdout.split() == ["False"], done.stderr
