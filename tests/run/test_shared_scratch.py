"""Steppers that share scratch memory: their steps are those of steppers that have their own."""

from __future__ import annotations

import gc
import threading

import numpy as np
import pytest
from loaded_models import constrained_tree, random_tree
from touching_models import crawler, human_figure, thrown, thrown_figure

import vitree as vt
from vitree._core import scalar
from vitree.arguments import Keywords
from vitree.errors import ConvergenceError, VitreeError
from vitree.integrators.compiled import SCRATCH
from vitree.run.lanes import SharingSimulation

EDGE, STEPS = 0.2, 12
METHODS = ("linear-time", "midpoint", "rk4", "semi-implicit-euler")


def boxes(mass, spacing=1.02 * EDGE, ground=0.0):
    """Nine boxes over the ground, which meet where they gather."""
    tree, q = vt.Tree("boxes"), []
    tree.contact(vt.Ground(ground, friction=0.5))
    for k, (i, j) in enumerate(np.ndindex(3, 3)):
        tree.world.add(vt.free(f"joint {k}"), vt.body(f"body {k}", mass, (0.0067 * mass,) * 3))
        tree.contact(vt.Contact(f"body {k}", shapes=vt.Box((EDGE,) * 3)))
        q += [spacing * i, spacing * j, 0.5 * EDGE + 1e-3 * (k % 3), 0, 0, 0, 1]
    model, q = tree.compile(), np.array(q)
    v = np.zeros(model.nv)
    for k in range(2):
        v[k::6] = -(q.reshape(-1, 7)[:, k] - q.reshape(-1, 7)[:, k].mean())
    return model, q, v


def group(name):
    """Models and states of instances that share memory."""
    if name == "one model":
        model, q, v = boxes(1.0)
        return [(model, q, share * v) for share in (1.0, 0.5, 1.0, 0.0)]
    if name == "other masses and grounds, from one start":
        return [boxes(mass, ground=ground) for mass, ground in ((1.0, 0.0), (3.0, -1e-3), (1.0, -2e-3))]
    if name == "other sizes":
        figure = human_figure()
        model = crawler(vt.Ground(friction=0.6), limits=True)
        return [(figure, *thrown_figure(figure, 1)), (model, *thrown(model, 2)), boxes(2.0),
                (figure, *thrown_figure(figure, 3))]  # fmt: skip
    if name == "constraints and loads":
        found = [constrained_tree(seed) for seed in (1, 2)]
        flat, q, v = random_tree(5, base="free")
        return [*found, (vt.Model(flat), q, v)]
    raise ValueError(name)


def made(of, method, scratch, dt=1e-3, **options):
    model, q, v = of
    before = SCRATCH.set(scratch)
    try:
        integrator = vt.METHODS[method](model, dt, **options)
    finally:
        SCRATCH.reset(before)
    integrator.start(0.0, q, model.generalized_momentum(q, v) if integrator.uses_momentum else v)
    return integrator


def look(integrator):
    """All that is read between steps."""
    stepper = integrator.stepper
    t, q, x = stepper.state()
    rows = scalar().step_contacts(stepper)[0] if integrator.model.has_contact else np.empty(0)
    return np.array([t, stepper.error, stepper.iterations, stepper.total_iterations]), q, x, np.array(rows)


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("name", ["one model", "other masses and grounds, from one start", "other sizes",
                                  "constraints and loads"])  # fmt: skip
def test_steps_are_those_of_steppers_with_their_own_memory(name, method):
    scratch = scalar().SharedScratch()
    of = group(name)
    if method in ("rk4", "semi-implicit-euler") and name == "constraints and loads":
        of = [one for one in of if not one[0].constraints] * 2
    alone, sharing = ([made(one, method, of_all) for one in of] for of_all in (None, scratch))
    turns = np.random.default_rng(0)
    for _ in range(STEPS):
        # one after the other, in any order, and some of them several steps in a row
        for k in turns.permutation(len(of)):
            for _ in range(int(turns.integers(1, 3))):
                for one in (alone[k], sharing[k]):
                    one.advance(1)
        for one, other in zip(alone, sharing, strict=True):
            assert [each.tobytes() for each in look(one)] == [each.tobytes() for each in look(other)]
    sizes = [sum(one.stepper.size for one in ones) for ones in (alone, sharing)]
    assert sizes[1] < sizes[0]
    assert scratch.size > 0


@pytest.mark.parametrize("order", [4, 8])
def test_stages_are_those_of_steppers_with_their_own_memory(order):
    of = [(vt.Model(flat), q, v) for flat, q, v in (random_tree(seed, base="free") for seed in range(3))]
    scratch = scalar().SharedScratch()
    alone, sharing = ([made(one, "gauss", each, order=order) for one in of] for each in (None, scratch))
    for _ in range(STEPS):
        for one, other in zip(alone, sharing, strict=True):
            one.advance(1)
            other.advance(1)
            assert [each.tobytes() for each in look(one)] == [each.tobytes() for each in look(other)]


def test_a_stepper_that_begins_does_not_disturb_the_others():
    """Their seats may grow, and steppers come and go, within runs of the others."""
    scratch = scalar().SharedScratch()
    of = boxes(1.0)
    alone, sharing = made(of, "linear-time", None), made(of, "linear-time", scratch)
    size = scratch.size
    for k in range(30):
        other = made(boxes(1.0 + k, spacing=EDGE * (1.01 + 0.5 * (k % 2))), "linear-time", scratch)
        other.advance(3)
        if k % 3 == 0:
            del other
            gc.collect()
        alone.advance(1)
        sharing.advance(1)
        assert [each.tobytes() for each in look(alone)] == [each.tobytes() for each in look(sharing)]
    assert scratch.size < 8 * size  # it does not grow with the number of steppers


def test_one_at_a_time_takes_steps():
    model, q, v = boxes(1.0)
    scratch = scalar().SharedScratch()
    given = Keywords(q0=q, v0=v, dt=2e-3, method="linear-time")
    one = SharingSimulation(scratch, model, **given)

    def asks(t, q, v):
        one.step()
        return np.zeros(model.nv)

    other = SharingSimulation(scratch, model, **given, control=vt.Control(torque=asks))
    before = one.q.copy()
    with pytest.raises(VitreeError, match="one caller at a time"):
        other.step()
    assert np.array_equal(one.q, before)
    one.step()
    assert one.t == 2e-3


def test_threads_that_meet_in_one_group_get_an_error_or_the_right_step():
    model, q, v = boxes(1.0)
    scratch = scalar().SharedScratch()
    ones = [made((model, q, share * v), "linear-time", scratch) for share in (1.0, 0.6)]
    alone = [made((model, q, share * v), "linear-time", None) for share in (1.0, 0.6)]

    def run(k):
        done = 0
        while done < 60:
            try:
                ones[k].advance(1)
            except VitreeError as error:
                assert "one caller at a time" in str(error)
            else:
                done += 1

    threads = [threading.Thread(target=run, args=(k,)) for k in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for one, other in zip(ones, alone, strict=True):
        other.advance(60)
        assert [each.tobytes() for each in look(one)] == [each.tobytes() for each in look(other)]


def test_groups_of_threads_share_no_memory():
    """More threads than groups have work, fewer, and instances that have failed or begin again."""
    model, q, _ = boxes(1.0, spacing=3.0 * EDGE)
    n, threads = 40, 3
    rng = np.random.default_rng(1)
    starts = np.tile(q, (n, 1))
    speeds = rng.normal(size=(n, model.nv))
    seen = set()

    def policy(t, Q, V):
        seen.add(threading.get_ident())
        return np.where(Q[:, 2:3] > 0.1, -1.0, 1.0) * np.ones((n, model.nv))

    runs = [
        vt.rollout(model, starts, speeds, duration=0.04, dt=2e-3, control=vt.Control(torque=policy), threads=count)
        for count in (1, threads)
    ]
    assert runs[0].q.tobytes() == runs[1].q.tobytes()
    for k in (0, 17, n - 1):
        alone = vt.Simulation(model, starts[k], speeds[k], dt=2e-3)
        for _ in range(20):
            alone.step(control=vt.Control(torque=policy(0.0, np.tile(alone.q, (n, 1)), None)[k]))
        assert alone.q.tobytes() == runs[0].q[k, -1].tobytes()


def test_what_a_step_says_that_fails_is_of_that_stepper():
    """Though others have stepped in the same memory since then."""
    texts = []
    for scratch in (None, scalar().SharedScratch()):
        figure = human_figure()
        falls = made((figure, *thrown_figure(figure, 3)), "semi-implicit-euler", scratch, dt=2e-3)
        other = made(boxes(1.0), "linear-time", scratch)
        with pytest.raises(ConvergenceError, match="not solved") as error:
            for _ in range(100):
                falls.advance(1)
        other.advance(1)
        stepper = falls.stepper
        texts.append((str(error.value), stepper.contact_fault, stepper.worst_contact, stepper.worst_residual))
    assert texts[0] == texts[1]


@pytest.mark.parametrize("method", METHODS)
def test_a_simulation_that_begins_again_at_zero_has_no_places_of_before(method):
    """Memory of zeros is not a configuration at which bodies have been placed."""
    tree = vt.Tree("finger")
    tree.contact(vt.Ground(-0.5, friction=0.4))
    upper = tree.world.add(vt.tz("slide"), vt.body("upper", 1.0, (0.01,) * 3))
    upper.add(vt.ry("knee"), vt.tz(-0.5), vt.body("lower", 0.5, (0.01,) * 3))
    tree.contact(vt.Contact("lower", points=[(0, 0, 0)]))
    model = tree.compile()
    sim = vt.Simulation(model, [0.1, 0.3], dt=1e-3, method=method)
    sim.step(40)
    sim.reset([0.0, 0.0], [-0.2, 0.3])
    fresh = vt.Simulation(model, [0.0, 0.0], [-0.2, 0.3], dt=1e-3, method=method)
    for _ in range(20):
        sim.step()
        fresh.step()
        assert sim.q.tobytes() == fresh.q.tobytes()
