"""Errors of contacts: of logs made by hand, and of runs whose solution is known in closed form."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest

import vitree as vt
from vitree.results.contact_errors import (
    SINCE,
    cone_violation,
    contact_errors,
    contact_impulse,
    energy_gained,
    first_touch,
    frictions,
    impulse_error,
    slip_of_sticking,
    slips_of,
)
from vitree.results.contacts import ContactLog
from vitree.results.series import beyond_a_record

G, MU, V0 = 9.81, 0.4, 1.0
PAIR = ("block", "ground")


def block(**ground):
    tree = vt.Tree("block")
    tree.world.add(vt.free("base"), vt.body("block", 2.0, (0.03, 0.04, 0.05)))
    corners = [(x, y, -0.1) for x in (-0.2, 0.2) for y in (-0.15, 0.15)]
    tree.contact(vt.Contact("block", points=corners), vt.Ground(**{"friction": MU, **ground}))
    return tree.compile()


def slide(duration=0.5, dt=0.005, **options):
    model = block()
    q, v = vt.place_on_ground(model, model.neutral()), model.zero_velocity()
    v[0] = V0
    return model, vt.simulate(model, q, v, duration=duration, dt=dt, **options)


def log_of(push, across, slip, record=None, names=(PAIR,), number=None):
    """Contacts with the normal z, friction and slip along x."""
    n = len(push)
    rows = np.zeros((n, 9))
    rows[:, 0] = np.arange(n) if record is None else record
    rows[:, 1] = 0 if number is None else number
    rows[:, 2], rows[:, 4], rows[:, 5] = across, push, slip
    places = np.tile([0.0, 0, 0, 0, 0, 1, 0], (n, 1))
    return ContactLog(rows, names, places, 0.01)


def test_frictions_are_those_of_the_two_that_touch():
    assert frictions(block()) == {PAIR: MU}
    tree = vt.Tree("two")
    for name, mu in (("a", 0.3), ("b", 0.9)):
        tree.world.add(vt.free(f"{name} joint"), vt.body(name, 1.0, (0.1,) * 3))
        tree.contact(vt.Contact(name, shapes=vt.Sphere(0.1), friction=mu))
    tree.contact(vt.Ground(friction=0.5))
    found = frictions(tree.compile())
    assert found == {("a", "ground"): 0.3, ("b", "ground"): 0.9, ("a", "b"): 0.9}


@pytest.mark.parametrize("excess", [0.0, 0.01, 0.5])
def test_the_violation_of_the_cone_is_a_share_of_the_largest_force(excess):
    push = np.array([1.0, 4.0, 2.0])
    across = np.array([0.1, -MU * 4.0, MU * 2.0 + excess])
    assert cone_violation(log_of(push, across, 0 * push), {PAIR: MU}) == pytest.approx(excess / 4.0, abs=1e-15)


def test_the_cone_of_steps_in_halves_does_not_count():
    log = log_of(np.array([1.0, 4.0]), [MU * 1.0 + 0.3, MU * 4.0], [0, 0], record=[3, 5])
    assert cone_violation(log, {PAIR: MU}) == pytest.approx(0.3 / 4.0, abs=1e-15)
    assert cone_violation(log, {PAIR: MU}, [3]) == pytest.approx(0.0, abs=1e-15)


def test_the_cone_of_a_robot_that_falls_in_steps_of_which_some_are_halved_is_kept():
    """Legs fold on themselves: the normals of their contacts turn within the steps that are taken in halves."""
    model = vt.load_urdf(vt.find_robot("g1"), base="free", ground=vt.Ground(friction=0.8))
    q = vt.place_on_ground(model, model.neutral())
    found = vt.compare(model, ["linear-time"], q, duration=0.6, dt=0.004, reference=False)
    assert len(found.trajectories["linear-time", 0.004].halves) > 0
    assert found.table[0]["cone_violation"] < 1e-9


def test_without_a_contact_that_pushes_nothing_is_violated():
    assert math.isnan(cone_violation(log_of(np.zeros(0), [], []), {PAIR: MU}))
    assert math.isnan(cone_violation(log_of(np.ones(2), [9.0, 9.0], [0, 0]), {}))


def test_the_largest_slip_of_a_pair_counts_at_each_record():
    log = log_of(np.ones(4), np.zeros(4), [0.1, -0.3, 0.2, 0.0], record=[1, 1, 3, 3])
    assert slips_of(log, 5)[PAIR] == pytest.approx([math.nan, 0.3, math.nan, 0.2, math.nan], nan_ok=True)


def test_slip_counts_where_the_reference_has_stuck_for_a_while():
    _, run = slide(duration=1.0)
    n = len(run)
    stops = V0 / (MU * G)
    exact = slips_of(run.contacts, n)[PAIR]
    assert exact[run.t > stops + 0.01].max() < 1e-9 < exact[1]
    assert slip_of_sticking(run, run) < 1e-9
    creep = 1e-3 * (run.t > 0)
    late = replace(run, contacts=log_of(np.ones(n), np.zeros(n), creep))
    assert slip_of_sticking(late, run) == pytest.approx(1e-3)
    # what stops later, but within that while, does not slip
    slow = np.where(run.t < stops + 0.5 * SINCE, 0.1, 0.0)
    assert slip_of_sticking(replace(run, contacts=log_of(np.ones(n), np.zeros(n), slow)), run) < 1e-9
    slow = np.where(run.t < stops + 2.0 * SINCE, 0.1, 0.0)
    assert slip_of_sticking(replace(run, contacts=log_of(np.ones(n), np.zeros(n), slow)), run) == 0.1
    # nothing sticks while it slides
    assert math.isnan(slip_of_sticking(run[: int(0.9 * stops / 0.005)], run[: int(0.9 * stops / 0.005)]))


def test_energy_gained_is_a_rise_above_what_was_before():
    _, run = slide()
    made = replace(run, kinetic=np.zeros(len(run)), potential=np.linspace(5, 1, len(run)))
    assert energy_gained(made) == 0.0
    jump = made.potential.copy()
    jump[40:60] += 0.7
    assert energy_gained(replace(made, potential=jump)) == pytest.approx(0.7, abs=0.05)
    assert energy_gained(run) < 1e-12


def test_the_first_touch_is_the_first_closed_gap():
    t = np.arange(5) * 0.1
    assert first_touch(t, np.array([0.3, 0.1, 1e-7, 0.2, 0.0])) == 0.2
    assert math.isnan(first_touch(t, np.full(5, 0.1))) and math.isnan(first_touch(t, np.full(5, math.nan)))


def test_the_impulse_of_the_ground_is_weight_and_friction_times_time():
    model, run = slide()
    stops = V0 / (MU * G)
    found = contact_impulse(model, run)
    assert found[:, 2] == pytest.approx(2.0 * G * run.t, abs=1e-9)
    assert found[:, 0] == pytest.approx(-2.0 * np.minimum(MU * G * run.t, V0), abs=2.0 * MU * G * 0.005)
    assert stops < run.t[-1] and impulse_error(model, run, run, math.inf) == 0.0
    more = run.momentum.copy()
    more[50:, 5] += 0.5
    size = np.linalg.norm(found, axis=1).max()
    assert impulse_error(model, replace(run, momentum=more), run, math.inf) == pytest.approx(0.5 / size, rel=0.3)
    assert impulse_error(model, replace(run, momentum=more), run, run.t[48]) == 0.0


def test_jumps_may_be_off_by_a_record_and_no_more():
    exact = np.where(np.arange(20) < 10, 3.0, 1.0)
    for shift, most in ((0, 0.0), (1, 0.0), (-1, 0.0), (2, 2.0), (-3, 2.0)):
        assert np.abs(beyond_a_record(np.roll(exact, shift)[3:17], exact[3:17])).max() == most
    assert beyond_a_record(exact + 0.1, exact)[15] == pytest.approx(0.1)


def test_errors_of_a_drop_with_known_answers():
    model = block()
    q = vt.place_on_ground(model, model.neutral())
    q[2] += 0.1
    run = vt.simulate(model, q, duration=0.5, dt=0.004)
    found = contact_errors(model, run, run, math.inf, passive=True, floats=True)
    falls = math.sqrt(2 * 0.1 / G)
    assert falls <= found["first_touch"] < falls + 2 * 0.004
    assert found["penetration"] < 1e-12 and found["impulse_error"] == 0.0 and found["energy_gained"] < 1e-12
    sunk = run.q.copy()
    sunk[60:, 2] -= 0.003
    assert contact_errors(model, replace(run, q=sunk), None, math.inf, passive=False, floats=True) == {
        "penetration": pytest.approx(0.003, abs=1e-9), "first_touch": found["first_touch"],
        "cone_violation": found["cone_violation"]}  # fmt: skip
