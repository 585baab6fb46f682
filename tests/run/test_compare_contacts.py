"""compare() with loops, contacts and chaos: references, errors of contacts, and valid times."""

from __future__ import annotations

import math

import numpy as np
import pytest
from touching_models import crate

import vitree as vt

G = 9.81


def dropped(height=0.3, restitution=0.5):
    tree = vt.Tree("ball")
    tree.world.add(vt.free("base"), vt.body("ball", 1.5, (0.01,) * 3))
    tree.contact(vt.Contact("ball", shapes=vt.Sphere(0.1)), vt.Ground(friction=0.6, restitution=restitution))
    model = tree.compile()
    q = model.neutral()
    q[2] = 0.1 + height
    return model, q


def height_of(t, height, restitution):
    """A ball that falls and rebounds, by Newton's law."""
    speed = math.sqrt(2 * G * height)
    start, up = speed / G, restitution * speed
    while True:
        if t <= start:
            return height - 0.5 * G * t * t if start == speed / G else None
        if t <= start + 2 * up / G:
            return up * (t - start) - 0.5 * G * (t - start) ** 2
        start, up = start + 2 * up / G, restitution * up
        if up < 1e-9:
            return 0.0


@pytest.mark.parametrize("restitution", [0.0, 0.3, 0.8])
def test_the_reference_of_a_ball_that_rebounds_is_the_closed_form(restitution):
    model, q = dropped(restitution=restitution)
    found = vt.compare(model, ["linear-time", "midpoint"], q, duration=0.6, dt=[0.01, 0.005])
    truth = [height_of(t, 0.3, restitution) if restitution or t < math.sqrt(0.6 / G) else 0.0
             for t in found.reference.t]  # fmt: skip
    off = np.abs(found.reference.q[:, 2] - 0.1 - truth).max()
    assert off <= 3 * found.reference_error and found.reference_error < 2e-4
    for row in found.table:
        own = np.abs(found.trajectories[row["label"], row["dt"]].q[:, 2] - 0.1 - truth[:: round(row["dt"] / 0.005)])
        assert row["error"] == pytest.approx(own.max(), abs=4 * found.reference_error)


def test_a_block_that_slides_and_sticks_has_every_number():
    tree = vt.Tree("block", gravity=(1.0, 0.0, -G))
    tree.world.add(vt.free("base"), vt.body("block", 2.0, (0.03, 0.04, 0.05)))
    corners = [(x, y, -0.1) for x in (-0.2, 0.2) for y in (-0.15, 0.15)]
    tree.contact(vt.Contact("block", points=corners), vt.Ground(friction=0.5))
    model = tree.compile()
    q, v = vt.place_on_ground(model, model.neutral()), model.zero_velocity()
    v[0] = 1.0
    found = vt.compare(model, ["linear-time", "semi-implicit-euler"], q, v, duration=0.5, dt=0.005,
                       engines=["mujoco:implicitfast"])  # fmt: skip
    rigid, euler, soft = found.table
    assert abs(found.reference.q[-1, 0] - 0.5 / (0.5 * G - 1.0)) <= 3 * found.reference_error < 1e-3
    for row in (rigid, euler):
        assert row["penetration"] < 1e-9 and row["slip"] < 1e-9 and row["cone_violation"] < 1e-9
        assert row["energy_gained"] < 1e-9 and row["first_touch"] == 0.0 and row["error"] < 0.01
    # MuJoCo sinks in and creeps, by amounts that its own state has
    run = found.trajectories["mujoco implicitfast", 0.005]
    assert soft["penetration"] == pytest.approx(-min(model.contact_gaps(q).gap.min() for q in run.q))
    assert soft["penetration"] > 1e-4
    creep = np.abs(run.v[run.t > 0.4, 0])
    assert soft["slip"] >= 0.9 * creep.min() > 1e-7 and soft["cone_violation"] < 1e-6
    weight = -run.contacts.total(len(run))[-1, 2] / 0.005
    assert weight == pytest.approx(-2.0 * G, rel=1e-3)
    assert "soft" in str(found) and all(word in str(found) for word in ("penetration", "slip", "cone", "first touch"))


def test_without_contacts_there_are_no_columns_of_contacts():
    model = vt.load_urdf(vt.find_robot("double_pendulum"))
    text = str(vt.compare(model, ["rk4"], [1.0, 0.5], duration=0.2, dt=0.01))
    assert not any(word in text for word in ("penetration", "slip", "cone", "gained", "touch", "valid"))


def test_rows_over_steps_in_contact_have_no_reference_and_say_why():
    model, q = dropped()
    found = vt.compare(model, ["linear-time"], q, duration=0.1, dt=0.01, control=np.zeros((10, model.nv)))
    assert found.reference is None and math.isnan(found.table[0]["error"])
    assert any("torque has a row for each step" in note for note in found.notes)


@pytest.mark.slow
def test_orders_in_contact_are_those_of_many_steps():
    """Of a rod whose tip lands and slides: 2 if the impact is located in time, else 1."""
    tree = vt.Tree("rod")
    tree.world.add(vt.tx("x"), vt.tz("z"), vt.ry("a"), vt.body("rod", 1.0, (0.1,) * 3))
    tree.contact(vt.Contact("rod", points=[(-0.5, 0, 0), (0.5, 0, 0)]), vt.Ground(friction=0.3))
    methods = [("linear-time", {"max_impacts": 20}), "linear-time", "rk4"]
    found = vt.compare(tree.compile(), methods, [0, 0.6, 0.5], duration=0.35, dt=[0.00875, 0.004375, 0.0021875])
    located, plain, other = found.orders.values()
    assert located == pytest.approx(2, abs=0.15)
    assert plain == pytest.approx(1, abs=0.3) and other == pytest.approx(plain, abs=0.01)
    assert all(0 < row["order_error"] < 0.15 and not row["order_status"] for row in found.table)
    assert any("over 16 runs about each time step" in note for note in found.notes)


def test_two_time_steps_in_contact_have_no_order_and_no_more_runs(monkeypatch):
    model, q = dropped()
    monkeypatch.setattr("vitree.run.compare._Table._errors_about", lambda *_: pytest.fail("there is no order to find"))
    found = vt.compare(model, ["linear-time"], q, duration=0.4, dt=[2e-3, 1e-3])
    assert {row["order_status"] for row in found.table} == {"one pair"}
    assert not any("16 runs" in note for note in found.notes)


def test_the_order_of_the_table_is_fitted_to_the_errors_at_the_end():
    """A crate that falls flat and slides, whose motion is known: a fit to errors against it."""
    model, q, v, exact = fallen_crate()
    found = vt.compare(model, ["semi-implicit-euler"], q, v, duration=0.3, dt=[0.01, 0.005, 0.0025])
    sizes, steps = [], []
    for n in (30, 60, 120):
        counts = range(n, n + 10)
        ends = [vt.simulate(model, q, v, duration=0.3, dt=0.3 / k, method="semi-implicit-euler").q[-1] for k in counts]
        sizes.append(np.sqrt(np.mean([np.sum((end[:3] - exact(0.3)) ** 2) for end in ends])))
        steps.append(np.exp(np.mean(np.log(counts))))
    slope = -np.polyfit(np.log(steps), np.log(sizes), 1)[0]
    row = found.table[0]
    assert row["order"] == pytest.approx(slope, abs=0.05 + 2 * row["order_error"]) and abs(slope - 1) < 0.1


def fallen_crate():
    """A crate that falls 5 cm, slides and sticks: its model, start, and place at a time (3,) [m]."""
    model, q = crate()
    q[2] += 0.05
    v = model.zero_velocity()
    v[0] = 1.0
    down = np.sqrt(0.1 / 9.81)
    left = 1.0 - 0.5 * 9.81 * down  # the impact of the fall rubs
    stop = down + left / (0.5 * 9.81)

    def exact(t):
        slid = min(t, stop) - down
        return np.array([down + left * slid - 0.25 * 9.81 * slid**2, 0.0, q[2] - 0.05])

    return model, q, v, exact


def test_every_number_of_a_crate_that_lands_and_slides_is_that_of_its_closed_form():
    model, q, v, exact = fallen_crate()
    found = vt.compare(model, ["linear-time", "semi-implicit-euler"], q, v, duration=0.8, dt=[0.005, 0.0025])
    assert np.abs(found.reference.q[-1, :3] - exact(0.8)).max() < 3 * found.reference_error
    for row in found.table:
        run = found.trajectories[row["label"], row["dt"]]
        late = run.t > 0.11  # landed, in any of these steps
        apart = np.linalg.norm(run.q[late, :3] - [exact(t) for t in run.t[late]], axis=1).max()
        assert row["error"] == pytest.approx(apart, rel=0.01)
        assert row["penetration"] < 1e-12 and row["slip"] < 1e-11 and row["cone_violation"] < 1e-11
        assert row["energy_gained"] < 1e-11 and row["impulse_error"] < 1e-11
        assert abs(row["first_touch"] - np.sqrt(0.1 / 9.81)) < row["dt"]


# ---- loops -------------------------------------------------------------------------------------------------


def four_bar():
    tree = vt.Tree("two links on a rail")
    pin = tree.world.add(vt.ry("crank"), vt.tz(-0.3), vt.body("pin", 1.0))
    pin.add(vt.ry("rod"), vt.tz(-0.8), vt.body("end", 1.0))
    tree.constrain(vt.PointConstraint("world", "end", axis=(1, 0, 0)))
    model = tree.compile()
    return model, vt.satisfy_constraints(model, [0.5, -0.2], hold=["crank"])


def test_loops_have_a_variational_reference_that_agrees_with_scipy():
    model, q = four_bar()
    found = vt.compare(model, ["linear-time", "midpoint"], q, duration=1.0, dt=[0.02, 0.01])
    assert found.reference.method == "linear-time" and found.reference.settings["order"] == 8
    other = vt.compare(model, ["rk8"], q, duration=1.0, dt=0.01, reference="scipy-dop853")
    apart = np.abs(found.reference.q - other.reference.q).max()
    assert apart <= 3 * (found.reference_error + other.reference_error) and found.reference_error < 1e-10
    assert np.abs(found.reference.constraint).max() < 1e-12
    assert found.orders == pytest.approx({"linear-time": 2, "midpoint": 2}, abs=0.1)


@pytest.mark.parametrize("damping", [5.0, 500.0])
def test_the_reference_of_a_stiff_loop_is_as_good_as_it_says(damping):
    """Steps of the reference are taken in halves where damping is stiff: two of them may be the same in the end."""
    tree = vt.Tree("loop")
    left = tree.world.add(vt.ry("l0", damping=damping), vt.tx(0.5), vt.body("l", 1.0, (0.02,) * 3), vt.tx(0.5))
    right = tree.world.add(vt.tx(1.2), vt.ry("r0", damping=damping), vt.tx(0.4), vt.body("r", 0.7, (0.02,) * 3))
    left.add(vt.spherical("l1"), vt.tx(0.3), vt.body("m", 0.4, (0.01,) * 3), vt.tx(0.3), vt.frame("one"))
    right.add(vt.tx(0.4), vt.frame("other"))
    tree.constrain(vt.point_constraint("one", "other"))
    model = tree.compile()
    q = vt.satisfy_constraints(model, model.integrate(model.neutral(), np.full(model.nv, 0.4)), hold=["l0"])
    found = vt.compare(model, ["linear-time"], q, duration=0.3, dt=[0.01, 0.0025])
    exact = vt.simulate(model, q, duration=0.3, dt=0.0025, method="scipy-radau", rtol=1e-11, atol=1e-12)
    apart = max(np.linalg.norm(model.difference(a, b)) for a, b in zip(found.reference.q, exact.q, strict=True))
    assert found.reference.method == "linear-time" and apart <= 2 * found.reference_error + 1e-10


def test_a_loop_that_passes_a_singular_pose_has_a_reference():
    """Three crossed pairs of links, where accelerations cannot be solved for near the pose that lies flat."""
    tree = vt.Tree("scissor")
    slider = tree.world.add(vt.tx("x"), vt.body("slider", 1.0))
    start = {"x": np.cos(1.0)}
    for side, at in (("a", tree.world), ("b", slider)):
        before = 0.0
        for k in range(3):
            at = at.add(vt.ry(f"{side}{k}"))
            at.add(vt.tx(0.5), vt.body(f"{side}_link{k}", 1.0))
            at = at.add(vt.tx(1.0))
            turned = 1.0 if (side == "a") == (k % 2 == 0) else np.pi - 1.0
            start[f"{side}{k}"], before = turned - before, turned
    for k in range(3):
        tree.constrain(vt.point_constraint(f"a_link{k}", f"b_link{k}", [(1, 0, 0), (0, 0, 1)]))
    model = tree.compile()
    q0 = np.array([start[name] for name in model.joint_names])
    found = vt.compare(model, ["linear-time", "midpoint"], q0, duration=1.5, dt=[0.01, 0.005])
    assert found.reference_error < 1e-9 and np.ptp(found.reference.energy) < 1e-8
    assert found.orders == pytest.approx({"linear-time": 2, "midpoint": 2}, abs=0.1)


def test_a_reference_that_fails_is_followed_by_the_next(monkeypatch):
    import importlib

    module = importlib.import_module("vitree.run.reference")
    plain, model_q = module.simulate, four_bar()

    def broken(model, given):
        if given.method == "linear-time" and given.options.get("order") == 8:
            raise vt.ConvergenceError("no", time=0.0, residual=0.0, iterations=0)
        return plain(model, given)

    monkeypatch.setattr(module, "simulate", broken)
    found = vt.compare(model_q[0], ["linear-time"], model_q[1], duration=0.2, dt=0.02)
    assert found.reference.method == "scipy-dop853" and found.table[0]["error"] < 1e-2


# ---- chaos -------------------------------------------------------------------------------------------------


def test_valid_times_and_errors_end_where_the_reference_does():
    model = vt.load_urdf(vt.find_robot("double_pendulum"))
    found = vt.compare(model, ["rk4", "gauss"], model.neutral() + 2.5, duration=40.0, dt=[0.02, 0.005], record_every=2)
    (note,) = [note for note in found.notes if "chaotic" in note]
    until = float(note.partition("until t = ")[2].partition(" s")[0])
    assert 10 < until < 40
    times = {}
    for row in found.table:
        series = found.series[row["label"], row["dt"]]
        known = np.isfinite(series.error)
        assert series.t[known].max() < until + 0.05 and row["error"] == series.error[known].max()
        assert not row["valid_to_end"] and row["valid_time"] == series.t[series.error > 0.1][0]
        times[row["label"], row["dt"]] = row["valid_time"]
    assert times["rk4", 0.02] < times["rk4", 0.005] < times["gauss", 0.005]
    assert "valid time" in str(found) and "not yet asymptotic" in str(found)


def test_a_run_that_diverges_failed():
    tree = vt.Tree("damped")
    tree.world.add(vt.rx("hinge", damping=1000.0), vt.tz(-1), vt.body("bob", mass=1))
    found = vt.compare(tree.compile(), ["explicit-euler", "linear-time"], [1.0], [1.0], duration=1.0, dt=[0.02, 0.01])
    assert [row["status"].startswith("failed at t = ") for row in found.table] == [True, True, False, False]
    assert all(math.isnan(row["error"]) for row in found.table[:2]) and "diverges" in str(found)
    # no method resolves the first milliseconds
    assert found.table[2]["order_status"] == "not yet asymptotic" and math.isnan(found.orders["linear-time"])
    assert np.abs(found.trajectories["explicit-euler", 0.02].v).max() < 1e9


def test_the_floor_of_a_tolerance_is_told():
    model = vt.load_urdf(vt.find_robot("double_pendulum"))
    found = vt.compare(model, ["gauss", "rk8"], model.neutral() + 1.0, duration=2.0, dt=[0.005, 0.0025])
    gauss = [row for row in found.table if row["label"] == "gauss"]
    assert all(row["order_status"] == "floor" and row["at_floor"] for row in gauss)
    assert all(0.1 * row["error"] < row["floor"] for row in gauss)
    tight = vt.compare(model, [("gauss", {"tolerance": 1e-13})], model.neutral() + 1.0, duration=2.0,
                       dt=[0.005, 0.0025])  # fmt: skip
    assert all(row["error"] < 0.01 * other["error"] for row, other in zip(tight.table, gauss, strict=True))
    longer = vt.compare(model, ["gauss"], model.neutral() + 1.0, duration=2.0, dt=[0.04, 0.02, 0.01, 0.005])
    assert longer.orders["gauss"] == pytest.approx(8, abs=0.8)
    assert [row["at_floor"] for row in longer.table][0::3] == [False, True]


def test_chaos_is_not_taken_for_a_floor():
    """All differences of a chaotic motion grow to the same size; what dt has caused came first."""
    tree = vt.Tree("chain")
    at = tree.world
    for k in range(5):
        at = at.add(vt.rx(f"j{k}"), vt.tz(-0.5), vt.body(f"b{k}", 1.0, (0.02, 0.02, 0.01)), vt.tz(-0.5))
    found = vt.compare(
        tree.compile(), ["linear-time", "rk4"], [0.4] * 5, duration=12.0, dt=[0.02, 0.01], record_every=2
    )
    assert all(row["error"] > 1.0 and row["valid_time"] < 5.0 for row in found.table)
    assert not any(row["at_floor"] for row in found.table) and "Floor" not in str(found)
    assert all(row["order_status"] == "not yet asymptotic" for row in found.table)


def test_of_a_robot_at_rest_energies_have_no_relative_error():
    model = vt.load_urdf(vt.find_robot("human"), base="free", ground=vt.Ground(friction=0.8))
    q = vt.place_on_ground(model, model.neutral())
    found = vt.compare(model, ["linear-time", "midpoint"], q, duration=0.01, dt=[0.002, 0.001])
    for row in found.table:
        assert math.isnan(row["energy_error_relative"]) and row["error"] < 1e-12 and row["order_status"] == "floor"
    assert "Floor: the tolerance of the solver" in str(found)
