"""Pictures: they show what the numbers say, are told apart in grey, and carry the settings that made them."""

from __future__ import annotations

import dataclasses
import itertools
import json
import math
import pickle
import sys

import numpy as np
import pytest
from random_models import chain_flat
from recorded import make

from vitree import plot, vehicles
from vitree.errors import ConvergenceError, InputError, MissingExtraError, UnknownNameError
from vitree.mechanism.contacts import Contact, Ground
from vitree.mechanism.loads import Damper
from vitree.model.model import Model
from vitree.model.placement import place_on_ground
from vitree.plot import parts as plot_parts
from vitree.results.plain import versions
from vitree.results.series import momentum_departure
from vitree.results.units import labels_of
from vitree.run.compare import compare
from vitree.run.simulate import simulate
from vitree.run.trajectory import Trajectory
from vitree.tree.elements import body, fixed, free, ry
from vitree.tree.tree import Tree

Figure = pytest.importorskip("matplotlib.figure").Figure
to_rgb = pytest.importorskip("matplotlib.colors").to_rgb

METHODS = ["linear-time", "midpoint", "semi-implicit-euler", "rk4"]
Q0 = np.array([2.1, 0.4])
MODEL = Model(chain_flat(2))
#: What only a Comparison can show.
OF_COMPARISONS = ("error", "order", "work_precision", "comparison")
OF_CONTACTS = ("contact_forces", "gap", "center_of_pressure")
LOGARITHMIC = ("energy_error", "constraint", "residual", "error", "order", "work_precision")


@pytest.fixture(scope="module")
def found():
    return compare(MODEL, METHODS, Q0, duration=0.4, dt=[1e-2, 5e-3])


@pytest.fixture(scope="module")
def run():
    return simulate(MODEL, Q0, duration=0.4, dt=5e-3)


@pytest.fixture(scope="module")
def touching():
    """A box that slides on the ground."""
    model = sliding_box()
    q = place_on_ground(model, model.neutral())
    return {method: simulate(model, q, [1.0, 0.5, 0, 0, 0, 2.0], duration=0.4, dt=2e-3, method=method, monitors="gap")
            for method in METHODS[:2]}  # fmt: skip


def sliding_box(**surface):
    tree = Tree("box")
    tree.world.add(free("base"), body("box", 2.0, (0.03, 0.04, 0.05)))
    corners = [(x, y, -0.1) for x in (-0.2, 0.2) for y in (-0.15, 0.15)]
    tree.contact(Contact("box", points=corners), Ground(friction=0.5, **surface))
    return tree.compile()


def constrained(n=11, names=("rod", "gear")):
    return make(n=n, constraint_names=names, constraint=1e-9 * np.random.default_rng(1).random((n, len(names))))


def lines_of(axes) -> dict:
    """The lines with an entry in the legend, by their labels."""
    return {line.get_label(): line for line in axes.lines if not line.get_label().startswith("_")}


# ---- every plot -----------------------------------------------------------------------------------


@pytest.mark.parametrize("what", sorted(set(plot.PLOTS) - {"comparison"}))
def test_axes_in_axes_out(what, found, run, touching):
    draw = plot.PLOTS[what]
    source = found if what in OF_COMPARISONS else constrained() if what == "constraint" else run
    source = touching["midpoint"] if what in OF_CONTACTS else source
    axes = Figure().subplots()
    assert draw(source, axes=axes) is axes
    own = draw(source)
    assert own is not axes and isinstance(own.figure, Figure)
    for each in (axes, own):
        labels = [each.get_ylabel(), (each.get_xlabel() or each.figure.axes[-1].get_xlabel())]
        assert all(label.endswith("]") and "[" in label and "(" not in label for label in labels), labels  # units
        assert (each.get_yscale() == "log") == (what in LOGARITHMIC)
        assert each.get_legend() is not None
        for line in each.lines:
            x, y = (np.asarray(values, dtype=float) for values in line.get_data())
            assert np.isfinite(x).all() and np.isfinite(y).all(), line.get_label()
            assert what not in LOGARITHMIC or (y > 0).all(), line.get_label()


@pytest.mark.parametrize("what", sorted(set(plot.PLOTS) - {*OF_COMPARISONS, *OF_CONTACTS, "constraint"}))
def test_one_run_several_or_a_comparison(what, found, run):
    several = {label: found.trajectories[label, 5e-3] for label in METHODS}
    for source in (several, found):
        labels = lines_of(plot.PLOTS[what](source))
        assert any("rk4" in label for label in labels) or what == "residual"
        assert any("linear-time" in label for label in labels)
    assert len(lines_of(plot.PLOTS[what](run))) < 4
    with pytest.raises(InputError, match="leave it out"):
        plot.PLOTS[what](run, dt=0.1)
    with pytest.raises(InputError, match=r"0\.005"):
        plot.PLOTS[what](found, dt=1.0)
    for wrong in ({}, {"a": 1}, 3, make(n=0), {"a": make(n=0)}):
        with pytest.raises(InputError, match=r"give a Trajectory|no records"):
            plot.PLOTS[what](wrong)


@pytest.mark.parametrize("what", OF_COMPARISONS)
def test_what_needs_a_comparison_says_so(what, run):
    with pytest.raises(InputError, match=r"vitree\.compare"):
        plot.figure_of(what, run)


def test_figures_by_name(found, run):
    assert set(plot.PLOTS) < set(plot.__all__)
    for what in plot.PLOTS:
        if what not in ("constraint", *OF_CONTACTS):
            figure = plot.figure_of(what, found if what in OF_COMPARISONS else run)
            assert isinstance(figure, Figure) and figure.get_suptitle().startswith(MODEL.name)
    assert run.plot("phase", name="joint1").axes[0].get_xlabel().startswith("q, joint1")
    with pytest.raises(UnknownNameError, match='did you mean "energy"'):
        plot.figure_of("energie", run)


# ---- contacts -------------------------------------------------------------------------------------


def test_forces_of_contacts_are_normal_and_tangential(touching):
    run = touching["linear-time"]
    lines = lines_of(axes := plot.contact_forces(run))
    assert set(lines) == {"box, normal", "box, tangential"} and axes.get_ylabel() == "force of contacts [N]"
    x, y = lines["box, normal"].get_data()
    np.testing.assert_allclose(x, run.t[1:] - 2e-3)
    np.testing.assert_allclose(y, run.contact_wrench("box")[1:, 5], atol=1e-9)
    across = lines["box, tangential"].get_ydata()
    np.testing.assert_allclose(across, np.linalg.norm(run.contact_wrench("box")[1:, 3:5], axis=1), atol=1e-9)
    assert across[3] > 0.3 * y[3] and (across <= 0.5 * y + 1e-6).all()
    assert set(lines_of(plot.contact_forces(touching))) == {
        f"box, {part}, {method}" for part in ("normal", "tangential") for method in touching}  # fmt: skip
    again = pickle.loads(pickle.dumps(run))
    np.testing.assert_array_equal(lines_of(plot.contact_forces(again, "box"))["box, normal"].get_ydata(), y)
    assert plot.figure_of("contact_forces", run, names=["box"]).get_suptitle() == "box, linear-time, dt = 0.002 s"
    with pytest.raises(UnknownNameError, match='did you mean "box"'):
        plot.contact_forces(run, "boxes")


def test_blows_do_not_hide_forces():
    model = sliding_box()
    q = model.neutral()
    q[2] = 0.4
    run = simulate(model, q, duration=1.0, dt=1e-3)
    axes = plot.contact_forces(run)
    most = run.contact_wrench("box")[:, 5].max()
    assert axes.get_ylim()[1] < 50 < 1000 < most and axes.get_title() == f"impulsive forces up to {most:.2g} N"
    several = [f"joint{k}" for k in range(9)]
    tree = Tree("many")
    for k in range(9):
        tree.world.add(free(several[k]), body(f"part{k}", 1.0 + k, (0.1, 0.1, 0.1)))
        tree.contact(Contact(f"part{k}"))
    tree.contact(Ground())
    axes = plot.contact_forces(simulate(tree.compile(), duration=0.01, dt=1e-3))
    assert axes.get_title() == "7 of 9, those with the largest impulse"
    assert {label.split(",")[0] for label in lines_of(axes)} == {f"part{k}" for k in range(2, 9)}


def test_frames_are_chosen_by_what_they_carry():
    """A short strong impact does not push a support out of the picture; means over a window keep the impulse."""
    t = np.arange(200) * 0.01
    steady, impact = np.full(200, 50.0), np.zeros(200)
    impact[20] = 2000.0
    found = {"run": {"hand": (impact, impact), "foot": (steady, steady)}}
    assert plot_parts.pushed(found, None, 1) == (["foot"], 2)
    mean = plot_parts.moving_mean(t, impact, 0.1)
    assert mean.max() == pytest.approx(2000.0 / 11) and np.isclose(mean.sum(), impact.sum())
    np.testing.assert_allclose(plot_parts.moving_mean(t, steady, 0.1), steady)


def test_means_of_forces_are_drawn(touching):
    run = touching["linear-time"]
    lines = lines_of(axes := plot.contact_forces(run, mean=0.05))
    assert axes.get_title() == "means over 0.05 s"
    x, y = lines["box, normal"].get_data()
    np.testing.assert_allclose(y, plot_parts.moving_mean(x, run.contact_wrench("box")[1:, 5], 0.05), atol=1e-9)
    for wrong in (0.0, -1.0, np.nan, "a"):
        with pytest.raises(InputError, match="mean"):
            plot.contact_forces(run, mean=wrong)


def test_gaps_are_those_of_the_monitor(touching):
    (line,) = lines_of(axes := plot.gap(touching["midpoint"])).values()
    np.testing.assert_array_equal(line.get_ydata(), touching["midpoint"].monitors["gap"])
    assert axes.get_title() == f"deepest: {touching['midpoint'].monitors['gap'].min():.2g} m"
    assert set(lines_of(plot.gap(touching))) == set(touching)


def test_the_path_of_the_centre_of_pressure(touching):
    run = touching["linear-time"]
    (line,) = lines_of(axes := plot.center_of_pressure(run)).values()
    np.testing.assert_array_equal(np.transpose(line.get_data()), run.center_of_pressure()[1:, :2])
    assert axes.get_aspect() == 1.0 and any(len(mark.get_xdata()) == 1 for mark in axes.lines)
    assert set(lines_of(plot.center_of_pressure(touching, "box"))) == {f"box, {method}" for method in touching}
    flight = sliding_box()
    q = flight.neutral()
    q[2] = 9.0
    axes = plot.center_of_pressure(simulate(flight, q, duration=0.1, dt=0.01))
    assert not np.isfinite(axes.lines[0].get_xdata()).any()


@pytest.mark.parametrize("what", OF_CONTACTS)
def test_runs_without_contacts_say_so(what, run):
    with pytest.raises(InputError, match="contacts"):
        plot.PLOTS[what](run)
    with pytest.raises(InputError, match=r"leave it out"):
        plot.PLOTS[what](run, dt=0.1)


# ---- what they show -------------------------------------------------------------------------------


def test_energy_of_one_run_has_its_parts(run):
    upper = plot.energy(run)
    lines, base = lines_of(upper), run.potential.min()
    assert set(lines) == {"energy", "kinetic", "potential"} and f"{base:.6g} J" in upper.get_title()
    for name, line in lines.items():
        assert np.array_equal(line.get_ydata(), getattr(run, name) - base * (name != "kinetic"))
    low, high = upper.get_ylim()  # no axes that are empty but for their edges
    values = np.concatenate([line.get_ydata() for line in lines.values()])
    assert values.max() - values.min() > 0.8 * (high - low)


@pytest.mark.parametrize("several", [False, True])
def test_the_change_of_the_energy_has_axes_of_its_own(several, run, found):
    source = {"a": run, "b": found.trajectories["rk4", 5e-3]} if several else run
    upper, lower = plot.energy(source).figure.axes
    assert lower.get_ylabel() == "change of energy [J]" and lower.get_xlabel() == "time [s]" and not upper.get_xlabel()
    runs = list(source.values()) if several else [run]
    for line, one in zip(lower.lines, runs, strict=True):
        assert np.array_equal(line.get_ydata(), one.energy - one.energy[0])
    assert upper.get_shared_x_axes().joined(upper, lower)
    assert lower.get_ylim()[1] - lower.get_ylim()[0] < 1e-2 * (upper.get_ylim()[1] - upper.get_ylim()[0])
    one, two = Figure().subplots(2)
    assert plot.energy(source, [one, two]) is one and len(two.lines) == len(runs)
    alone = Figure().subplots()
    assert plot.energy(source, alone) is alone and alone.figure.axes == [alone]
    for wrong in ([one], [one, two, alone], [one, 3]):
        with pytest.raises(InputError, match="axes"):
            plot.energy(source, wrong)


def test_rounding_of_the_energy_is_drawn_small_and_no_number_has_an_offset():
    noise = 1e-15 * np.random.default_rng(3).standard_normal(11)
    constant = make(kinetic=np.full(11, 3.2) + noise, potential=np.zeros(11))
    for source in (constant, {"a": constant, "b": constant}):
        upper, lower = (figure := plot.energy(source).figure).axes
        figure.draw_without_rendering()
        assert np.ptp(upper.get_ylim()) >= 0.32 and [text.get_text() for text in lower.texts] == ["rounding"]
        assert np.abs(lower.lines[0].get_ydata()).max() < 0.5 * lower.get_ylim()[1] < 1e-12
        assert all("+" not in axes.yaxis.get_offset_text().get_text() for axes in (upper, lower))


def damped(**loads):
    tree = Tree("damped")
    rod = body("rod", 1.0, com=(0, 0, -0.5), inertia=(0.1, 0.1, 0.1))
    tree.world.add(fixed(None, (0.1, 0, 0)), ry("hinge", **loads), rod, fixed("tip", (0, 0, -1.0)))
    return tree


def test_energy_that_is_not_kept_is_no_error(run, tmp_path):
    tree = damped()
    tree.load(Damper("tip", "world", 0.1))
    lost = [simulate(model.compile(), [1.0], duration=0.2, dt=1e-2) for model in (damped(damping=0.3), tree)]
    driven = simulate(MODEL, Q0, duration=0.2, dt=5e-3, control=[1.0, 0.0])
    lost.append(Trajectory.load(lost[0].save(tmp_path / "lost.npz")))
    moving = [0.5, 0.2, 0.0, 0.0, 0.0, 0.1]
    rolling = vehicles.car(rolling_resistance=2.0)
    starts = {rolling: rolling.velocity(rolling.neutral(), {"psi": 3.0}), vehicles.boat(): moving}
    starts[vehicles.helicopter(drag=0.1)] = moving
    lost += [simulate(vehicle, v0=v0, duration=0.2, dt=1e-2) for vehicle, v0 in starts.items()]
    for one in lost:
        axes = plot.energy_error(one)
        assert axes.get_ylabel() == "dissipated energy [J]" and "damping" in axes.get_title()
        assert np.array_equal(axes.lines[0].get_ydata(), (one.energy[0] - one.energy)[1:])
    windy = simulate(vehicles.boat(wind=vehicles.Wind((0.0, 4.0, 0.0))), v0=moving, duration=0.2, dt=1e-2)
    for one in (driven, windy, Trajectory.load(driven.save(tmp_path / "driven.npz")), {"a": run, "b": lost[0]}):
        axes = plot.energy_error(one)
        assert axes.get_ylabel() == "change of energy [J]" and "no error" in axes.get_title()
    for one in (run, Trajectory.load(run.save(tmp_path / "run.npz")), make()):
        assert plot.energy_error(one).get_ylabel() == "energy error [J]"


def test_energy_error_leaves_out_zeros_and_draws_rounding_where_it_is_near():
    still = make(kinetic=np.ones(11), potential=np.zeros(11))
    assert not lines_of(plot.energy_error(still))
    noisy = make(kinetic=np.ones(11), potential=1e-16 * np.arange(11))
    (line,) = lines_of(axes := plot.energy_error(noisy)).values()
    assert [text.get_text() for text in axes.texts] == ["rounding"] and axes.get_ylim()[0] >= 1e-18
    assert np.allclose(line.get_ydata(), (noisy.energy - noisy.energy[0])[noisy.energy != noisy.energy[0]])
    coarse = make(kinetic=np.ones(11), potential=1e-6 * np.arange(11))
    assert not plot.energy_error(coarse).texts


def test_errors_of_long_runs_keep_their_largest_values():
    t, y = np.linspace(0, 1, 50_001), np.random.default_rng(2).standard_normal(50_001)
    y[777] = np.nan
    times, heights = plot_parts.envelope(t, y)
    assert len(times) == len(heights) == 400 and np.isfinite(heights).all() and times[-1] == 1
    assert heights.max() == np.nanmax(np.abs(y)) and (np.diff(times) > 0).all()
    for k in range(400):
        inside = (t <= times[k]) & (t > (times[k - 1] if k else -1))
        assert heights[k] == np.nanmax(np.abs(y[inside]))


def test_momentum_departs_by_what_is_not_of_gravity():
    t = np.linspace(0, 1, 11)
    momentum = np.ones((11, 6)) + np.outer(t, [0, 0, 0, 0, 0, 2.0 * -9.81])
    momentum[:, 0] += t  # gravity turns it about the origin
    run = make(momentum=momentum)
    angular, linear = momentum_departure(run, np.zeros(3), 2.0)
    assert np.allclose(angular, t) and np.allclose(linear, 2.0 * 9.81 * t)
    angular, linear = momentum_departure(run, [0, 0, -9.81], 2.0)
    assert angular.max() == 0 and linear.max() < 1e-13


def thrown():
    """A run of two bodies that tumble freely as they fall."""
    tree = Tree("thrown")
    tree.world.add(free("base"), body("trunk", 2.0, inertia=(0.1, 0.2, 0.3))).add(
        ry("hip"), body("leg", 1.0, com=(0, 0, -0.3), inertia=(0.1, 0.1, 0.1)))  # fmt: skip
    model = tree.compile()
    return simulate(model, v0=[0.2, 0, 3, 0.1, 4, 0.5, 2], duration=0.2, dt=2e-3)


def test_momentum_of_what_moves_freely_is_its_departure_also_from_a_file(tmp_path):
    run = thrown()
    loaded = Trajectory.load(run.save(tmp_path / "run.npz"))
    for source in (run, loaded, {"one": run, "two": loaded}):
        axes = plot.momentum(source)
        assert axes.get_yscale() == "log" and not axes.get_title()
        for line in (line for panel in axes.figure.axes for line in lines_of(panel).values()):
            assert line.get_ydata().max() < 1e-12 * np.abs(run.momentum).max()  # the impulse of gravity is 5.9 N s
    for one, two in zip(plot.momentum(run).lines, plot.momentum(loaded).lines, strict=True):
        assert np.array_equal(one.get_xydata(), two.get_xydata())


def test_momentum_of_all_else_is_momentum_itself(run, tmp_path):
    loaded = Trajectory.load(run.save(tmp_path / "run.npz"))
    angular, linear = (np.linalg.norm(part, axis=1) for part in np.hsplit(run.momentum, 2))
    for source, why in ((run, "ground"), (loaded, "ground"), ({"a": thrown(), "b": run}, "ground"), (make(), "known")):
        axes = plot.momentum(source)
        assert axes.get_yscale() == "linear" and why in axes.get_title()
    own, given = plot.momentum(loaded), plot.momentum(loaded, Figure().subplots())
    assert own.get_shared_x_axes().joined(*own.figure.axes)
    for upper, lower in (own.figure.axes, given.figure.axes):  # each has a scale of its own, with its own unit
        assert upper.get_ylabel().endswith("[kg m²/s]") and lower.get_ylabel().endswith("[kg m/s]")
        assert np.array_equal(upper.lines[0].get_ydata(), angular) and len(upper.lines) == 1
        assert np.array_equal(lower.lines[0].get_ydata(), linear) and len(lower.lines) == 1
    assert [text.get_text() for text in given.get_legend().get_texts()] == ["angular", "linear"]
    assert given.lines[0].get_color() != given.figure.axes[1].lines[0].get_color()


def test_constraints_of_one_run_have_their_names():
    one = constrained()
    assert set(lines_of(plot.constraint(one))) == {"rod", "gear"}
    many = constrained(names=tuple(f"rod{k}" for k in range(9)))
    for source in (many, {"a": many, "b": one}):
        lines = lines_of(plot.constraint(source))
        assert set(lines) == (set(source) if isinstance(source, dict) else {"linear-time"})
        assert next(iter(lines.values())).get_ydata().max() == many.constraint.max()
    with pytest.raises(InputError, match="no constraints"):
        plot.constraint(make())


def test_iterations_of_all_steps_if_they_were_monitored():
    recorded = make()
    assert np.array_equal(lines_of(plot.iterations(recorded))["linear-time"].get_ydata(), recorded.iterations[1:])
    steps = make(monitors={"t": np.arange(1.0, 101), "iterations": np.arange(100)})
    assert np.array_equal(lines_of(plot.iterations(steps))["linear-time"].get_xdata(), np.arange(1.0, 101))


def test_coordinates_by_name(run):
    lines = lines_of(plot.coordinates(run, ["joint1"]))
    assert list(lines) == ["joint1"] and np.array_equal(lines["joint1"].get_ydata(), run.q[:, 1])
    assert np.array_equal(lines_of(plot.coordinates(run, "joint0", of="p"))["joint0"].get_ydata(), run.p[:, 0])
    with pytest.raises(UnknownNameError, match="joint1"):
        plot.coordinates(run, "joint11")
    with pytest.raises(InputError, match="'x'"):
        plot.coordinates(run, of="x")
    wide = make(nq=30, q=np.outer(np.arange(11), np.arange(30.0)))
    axes = plot.coordinates(wide)
    assert list(lines_of(axes)) == [f"hip.{k}" for k in range(23, 30)] and "7 of 30" in axes.get_title()


def test_phase_portrait_by_name(run):
    line = plot.phase(run, "joint1", against="p").lines[0]
    assert np.array_equal(line.get_xdata(), run.q[:, 1]) and np.array_equal(line.get_ydata(), run.p[:, 1])
    with pytest.raises(UnknownNameError, match="velocity of its own"):
        plot.phase(run, "joint2")
    with pytest.raises(InputError, match="no joint with one coordinate"):
        plot.phase(make())


def test_lines_of_orders_have_the_fitted_slope(found):
    axes = plot.order(found)
    for (label, slope), index in zip(found.orders.items(), itertools.count()):
        x, y = np.log(axes.lines[4 * index].get_data())
        assert np.allclose(np.diff(y) / np.diff(x), slope)
        assert f"{label}: order {slope:.2f}" in lines_of(axes)
        points = np.concatenate([axes.lines[4 * index + k].get_ydata() for k in (1, 2)])
        assert sorted(points) == sorted(row["error"] for row in found.table if row["label"] == label)


def test_errors_that_the_reference_does_not_resolve_are_hollow(found):
    blind = dataclasses.replace(found, reference_error=max(row["error"] for row in found.table) / 3)
    for draw in (plot.order, plot.work_precision):
        for source, hollow in ((found, 0), (blind, 8)):
            white = [line for line in draw(source).lines if line.get_markerfacecolor() == "white"]
            assert sum(len(line.get_xdata()) for line in white) == hollow


def test_work_is_time_per_second_or_step(found):
    row = min((row for row in found.table if row["label"] == "rk4"), key=lambda row: row["dt"])
    for per, expected in (("second", 1e-6 * row["us_per_step"] / row["dt"]), ("step", row["us_per_step"])):
        axes = plot.work_precision({"one": found, "two": found}, per=per)
        assert len(lines_of(axes)) == 8 and "two, rk4" in lines_of(axes)
        assert any(np.isclose(line.get_xdata(), expected).any() for line in axes.lines if len(line.get_xdata()))
    with pytest.raises(InputError, match="'minute'"):
        plot.work_precision(found, per="minute")


def test_the_picture_of_a_comparison(found):
    assert [axes.get_ylabel() for axes in found.plot().axes] == [
        "energy error [J]", "error [rad, m]", "largest error [rad, m]"]  # fmt: skip
    one = compare(MODEL, ["rk4"], Q0, duration=0.1, dt=1e-2, reference=False)
    assert len(one.plot().axes) == 1


# ---- runs that fail ---------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def blown_up():
    """A comparison in which explicit Euler ends at energies near the largest numbers there are."""
    q0 = np.zeros(10)
    q0[0] = 2.6
    return compare(Model(chain_flat(10)), ["linear-time", "explicit-euler", "rk4"], q0, duration=4.0, dt=[0.1, 0.05])


def test_a_run_that_blows_up_does_not_empty_the_picture(blown_up):
    row = next(row for row in blown_up.table if row["label"] == "explicit-euler" and row["dt"] == 0.05)
    run = blown_up.trajectories["explicit-euler", 0.05]
    assert row["status"] != "ok" and run.energy.max() > 1e30
    scale = blown_up.trajectories["rk4", 0.05].kinetic.max()
    for what in set(plot.PLOTS) - {"constraint", "order", "work_precision", "comparison", "residual", *OF_CONTACTS}:
        axes = plot.PLOTS[what](blown_up, dt=0.05)
        assert np.abs(axes.get_ylim()).max() < 100 * scale, what
        low, high = axes.get_ylim()
        for label, line in lines_of(axes).items():
            y = line.get_ydata()
            assert ((low <= y) & (y <= high)).any(), (what, label)
        (end,) = (line for label, line in lines_of(axes).items() if label == f"failed at t = {row['failed_at']:g} s")
        assert end.get_marker() == "x" and 0 < len(end.get_xdata()) <= 1, what
    errors = lines_of(plot.energy_error(blown_up))["explicit-euler"]
    count = len(errors.get_xdata())
    change = run.energy[: count + 1] - blown_up.reference.energy[0]
    assert np.allclose(errors.get_ydata(), np.abs(change[1:]), atol=1e-6)
    labels = [text.get_text() for text in plot.comparison(blown_up).axes[2].get_legend().get_texts()]
    assert not any("explicit" in label for label in labels)  # it has no error to fit an order to


def test_absurd_values_do_not_empty_the_picture_either(found):
    """Of a run that ended before its numbers were too large."""
    key, t = ("rk4", 5e-3), found.trajectories["rk4", 5e-3].t
    growth = np.where(t > 0.3, 10.0 ** (80 * (t - 0.3)), 1.0)[:, None]
    run = found.trajectories[key]
    wild = dataclasses.replace(run, v=run.v * growth, kinetic=run.kinetic * growth[:, 0] ** 2)
    absurd = dataclasses.replace(found, trajectories={**found.trajectories, key: wild})
    assert 1e9 > np.abs(wild.v).max() > 1e6 and all(row["status"] == "ok" for row in absurd.table)
    levels = [[line.get_ydata()[0] for line in plot.energy_error(source).lines if line.get_label().startswith("_child")]
              for source in (found, absurd)]  # fmt: skip
    assert levels[0] == levels[1]
    lines = lines_of(axes := plot.energy(absurd))
    assert np.abs(axes.get_ylim()).max() < 100 * run.kinetic.max() and any("failed" in label for label in lines)
    assert len(plot_parts.errors_of(found, "rk4", "dt")[0]) == 2 > len(plot_parts.errors_of(absurd, "rk4", "dt")[0])
    # a fall that another method did not begin is none
    still = dataclasses.replace(run, v=0 * run.v, kinetic=1e-33 * run.kinetic)
    apart = dataclasses.replace(found, trajectories={**found.trajectories, key: still})
    assert not plot_parts.runs_of(apart, None).failed


def test_a_run_that_fails_alone_is_drawn_as_far_as_it_makes_sense(blown_up):
    with pytest.raises(ConvergenceError) as caught:
        simulate(Model(chain_flat(10)), [2.6, *np.zeros(9)], duration=9.0, dt=0.05, method="explicit-euler")
    run = caught.value.trajectory
    assert not np.abs(run.energy).max() < 1e30
    for what in ("energy", "energy_error", "momentum", "coordinates", "phase", "iterations"):
        axes = run.plot(what).axes[0]
        assert np.abs(axes.get_ylim()).max() < 1e6, what
        assert sum(label.startswith("failed at t = ") for label in lines_of(axes)) == 1, what
        marks = [line for line in axes.lines if line.get_marker() == "x"]
        assert len(marks) == sum(line.get_marker() in ("None", "") for line in axes.lines), what


def test_runs_that_are_sound_are_drawn_whole(found, run):
    """Also where they move much more at times than at others."""
    kinetic = np.ones(11)
    kinetic[7:] = 1e9
    for source in (found, run, make(kinetic=kinetic), make(kinetic=np.zeros(11))):
        runs = plot_parts.runs_of(source, None)
        assert not runs.failed and runs.sound == list(runs.by_label.values())
        assert all(each is run for each, (_, run) in zip(runs.sound, runs, strict=True))
    monitors = {"t": 0.05 * np.arange(1, 21), "iterations": np.arange(20)}
    failing = make(kinetic=np.where(np.arange(11) < 8, 1.0, np.nan), monitors=monitors)
    runs = plot_parts.runs_of({"one": failing}, None)
    assert runs.failed == {"one": failing.t[8]} and len(runs.first) == 8
    assert runs.first.monitors["t"][-1] == failing.t[7] and math.isfinite(runs.first.kinetic.max())


def test_nothing_but_infinities_is_nothing_to_draw():
    with pytest.raises(InputError, match="no records"):
        plot.energy(make(kinetic=np.full(11, np.inf)))


# ---- told apart -----------------------------------------------------------------------------------


def lightness(colour) -> float:
    """CIE L* of a colour, 0 to 100."""
    linear = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in to_rgb(colour)]
    return 116 * np.dot((0.2126, 0.7152, 0.0722), linear) ** (1 / 3) - 16


def test_markers_of_later_rounds_are_sparse_and_apart():
    """Lines of the same shape from the second round of colours on: none covers the markers of another."""
    count = len(plot_parts.COLOURS)
    assert [plot_parts.round_style(k) for k in range(count)] == [{}] * count
    last = len(plot_parts.MARKERS) + 1
    rounds = [[plot_parts.round_style(n * count + k) for k in range(count)] for n in range(1, last + 1)]
    for styles in rounds:
        starts, every = np.array([style["markevery"] for style in styles]).T
        assert len({style["marker"] for style in styles}) == 1
        assert (every == every[0]).all() and starts.min() > 0 and starts.max() < 2 * every[0]
        assert np.diff(np.sort(starts % every)).min() > 0.1 * every[0]
    markers = [styles[0]["marker"] for styles in rounds]
    assert len(set(markers[:-1])) == len(plot_parts.MARKERS) and markers[-1] == markers[0]


def test_lines_are_told_apart():
    styles = [plot.line_style(k) for k in range(49)]
    assert len({(style["color"], str(style["linestyle"])) for style in styles}) == 49
    for one, two in itertools.combinations(styles[: plot_parts.GREY], 2):
        apart = abs(lightness(one["color"]) - lightness(two["color"]))
        assert one["linestyle"] != two["linestyle"] or apart > 10


def test_more_runs_than_colours_are_told_apart_and_called_by_method_and_step():
    methods, steps = ("rk4", "midpoint", "gauss"), (0.1, 0.2, 0.4)
    runs = [make(method=method, settings={"dt": dt}) for method in methods for dt in steps]
    axes = plot.energy(runs)
    lines = lines_of(axes)
    assert list(lines)[:3] == ["rk4, dt = 0.1 s", "rk4, dt = 0.2 s", "rk4, dt = 0.4 s"] and len(lines) == 9
    looks = [(x.get_color(), x.get_linestyle(), str(x._unscaled_dash_pattern)) for x in lines.values()]
    assert len(set(looks)) == 9 and len({look[0] for look in looks[:7]}) == 7
    assert [x.get_marker() != "None" for x in lines.values()] == [False] * 7 + [True] * 2
    assert "rk4" not in plot.figure_of("energy", runs).get_suptitle()
    two = [make(settings={"dt": 0.1, "options": {"order": order}}) for order in (2, 4)]
    label = "linear-time, dt = 0.1 s, order = "
    assert labels_of(two) == [f"{label}2", f"{label}4"] and labels_of(two[:1] * 2) == [f"{label}2", f"{label}2 (2)"]
    same = labels_of([two[0], two[0], make(method="rk4")], ["a", "b", "c"])
    assert same == [f"a: {label}2", f"b: {label}2", "rk4, dt = 0.1 s"]
    assert labels_of([make(model_name="x"), make(model_name="y")])[0].startswith("x, ")


@pytest.mark.parametrize("what", sorted(set(plot.PLOTS) - {"comparison", *OF_CONTACTS, "constraint"}))
def test_axes_have_numbers_and_small_ticks(what, found, run):
    figure = plot.figure_of(what, found if what in OF_COMPARISONS else run)
    figure.draw_without_rendering()
    for axes in figure.axes:
        for axis, (low, high) in ((axes.xaxis, axes.get_xlim()), (axes.yaxis, axes.get_ylim())):
            log = axis.get_scale() == "log"
            named = [x for x in axis.get_majorticklocs() if low <= x <= high]
            assert len(named) >= (1 if log else 2) and (not log or high >= 10 * low)
            shared = axis is axes.xaxis and axes is not figure.axes[-1]  # the numbers are those of the axes below
            assert shared or len([x for x in axis.get_ticklabels(which="both") if x.get_text()]) >= 2
            assert len([x for x in axis.get_minorticklocs() if low <= x <= high]) >= 2
            boxes = [label.get_window_extent() for label in axis.get_ticklabels(which="both")
                     if label.get_text() and low <= label.get_position()[axis is axes.yaxis] <= high]  # fmt: skip
            assert not any(a.overlaps(b) for a, b in itertools.combinations(boxes, 2)), what


def test_an_error_that_is_zero_everywhere_says_so():
    still = make(residual=np.zeros(11))
    axes = plot.residual(still)
    assert [text.get_text() for text in axes.texts] == ["all zero"] and axes.get_xlim()[1] == still.t[-1]


def test_a_comparison_without_errors_shows_the_change_of_the_energy():
    model = sliding_box()
    q = place_on_ground(model, model.neutral())
    found = compare(model, METHODS[:2], q, [1.0, 0.5, 0, 0, 0, 2.0], duration=0.1, dt=2e-3, reference=False)
    (axes,) = plot.comparison(found).axes
    assert axes.get_ylabel() == "change of energy [J]" and "no error" in axes.get_title() and not axes.texts
    for label, line in lines_of(axes).items():
        run = found.trajectories[label, 2e-3]
        assert np.array_equal(line.get_ydata(), np.abs(run.energy - run.energy[0])[1:])
    unknown = plot.residual(make(residual=np.full(11, np.nan)))
    assert [text.get_text() for text in unknown.texts] == ["not known"]


LONG = "a robot whose name is longer than a picture is wide, since it says what it has: two arms and two legs"


@pytest.mark.parametrize("name", [LONG, LONG.replace(" ", "_")])
def test_long_names_and_many_runs_stay_in_the_picture(name, run):
    long = dataclasses.replace(run, model_name=name, q_names=(name, "b"), v_names=(name, "b"), joint_names=(name, "b"))
    many = {f"{name} {k}": long for k in range(12)}
    for figure in (
        plot.figure_of("energy", long), plot.figure_of("phase", long, name=name), plot.figure_of("momentum", many),
        plot.figure_of("energy_error", {k: long for k in map(str, range(40))}), plot.figure_of("coordinates", long),
    ):  # fmt: skip
        figure.draw_without_rendering()
        texts = [figure._suptitle, *figure.axes[0].get_legend().get_texts()]
        texts += [text for each in figure.axes for text in (each.title, each.xaxis.label, each.yaxis.label)]
        for text in texts:
            box = text.get_window_extent()
            assert box.x0 > -1 and box.y0 > -1, text
            assert box.x1 < figure.bbox.x1 + 1 and box.y1 < figure.bbox.y1 + 1, text
        legend = figure.axes[0].get_legend().get_window_extent()
        assert figure.axes[0].get_window_extent().width > 0.35 * figure.bbox.width  # the lines have their room
        assert not any(legend.overlaps(axes.get_window_extent()) for axes in figure.axes)


@pytest.mark.parametrize("what", ["energy", "momentum", "coordinates", "iterations", "residual", "energy_error"])
def test_a_single_record_is_a_point_and_no_step_says_so(what, run):
    one, two = (plot.figure_of(what, run[:count]).axes[0] for count in (1, 2))
    of_steps = what in ("iterations", "residual", "energy_error")
    assert [text.get_text() for text in one.texts] == ["no step"] * of_steps
    points = two if of_steps else one
    drawn = [line for line in lines_of(points).values() if len(line.get_xdata()) == 1]
    assert drawn and all(line.get_marker() == "o" for line in drawn)


# ---- files ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", ["png", "svg", "pdf"])
def test_files_carry_the_settings_that_made_them(kind, found, run, tmp_path):
    odd = make(model_name='a (b) \\ "é" <&>', settings={"path": "C:\\x)", "nan": float("nan")})
    figure = Figure(figsize=(4, 6))
    upper, lower = figure.subplots(2)
    plot.energy({"one": odd, "two": run}, upper)
    plot.error(found, lower)
    path = plot.save(figure, tmp_path / f"run.{kind}")
    notes = plot.settings_of(path)
    assert notes["plots"] == ["energy", "error"] and notes["versions"] == versions()
    one, two, three = notes["sources"]
    assert one == {"label": "one", "model": odd.model_name, "method": "linear-time",
                   "settings": {"path": "C:\\x)", "nan": None}}  # fmt: skip
    assert two["settings"] == run.settings and two["method"] == "linear-time"
    assert three["settings"] == json.loads(found.to_json())["settings"]
    assert path.stat().st_size > 5000


def test_a_comparison_saves_its_picture(found, tmp_path):
    found.plot(tmp_path / "run.png")
    (source,) = plot.settings_of(tmp_path / "run.png")["sources"]
    assert source == {"model": MODEL.name, "settings": json.loads(found.to_json())["settings"]}
    image = pytest.importorskip("PIL.Image")
    with image.open(tmp_path / "run.png") as picture:
        assert min(picture.size) > 600 and MODEL.name in picture.text["Title"]


def test_other_formats_and_figures_are_saved_without_settings(run, tmp_path):
    Figure().subplots().figure.savefig(tmp_path / "bare.png")
    plot.save(run.plot(), tmp_path / "run.jpg")
    (tmp_path / "text.svg").write_text("no picture")
    (tmp_path / "bare.svg").write_text("<svg/>")
    for path in tmp_path.iterdir():
        with pytest.raises(InputError, match=f"{path.name} has no settings"):
            plot.settings_of(path)
    with pytest.raises(InputError, match=r"cannot read .*absent"):
        plot.settings_of(tmp_path / "absent.png")
    assert plot.settings_of(plot.save(Figure(), tmp_path / "empty.pdf"))["plots"] == []


def test_a_picture_that_cannot_be_made_says_why(found, run, tmp_path, monkeypatch):
    for source in (found, run):
        with pytest.raises(InputError, match="png"):
            source.plot(path=tmp_path / "run.xyz")
        with pytest.raises(InputError, match="absent"):
            source.plot(path=tmp_path / "absent" / "run.png")
    figure = run.plot()
    path = plot.save(figure, tmp_path / "run.png")
    before = path.read_bytes()

    def full_disk(stream, **_):
        stream.write(b"half")
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(figure, "savefig", full_disk)
    with pytest.raises(InputError, match="No space left"):
        plot.save(figure, path)
    assert list(tmp_path.iterdir()) == [path] and path.read_bytes() == before
    monkeypatch.delitem(sys.modules, "vitree.plot.figure")
    monkeypatch.setitem(sys.modules, "matplotlib.figure", None)
    for draw in (found.plot, run.plot):
        with pytest.raises(MissingExtraError, match=r"vitree\[plot\]"):
            draw()


def test_a_notebook_shows_the_figure(run, found):
    for figure in (run.plot(), found.plot(), plot.energy(run).figure):
        assert figure._repr_png_().startswith(b"\x89PNG")
        assert pickle.loads(pickle.dumps(figure))._repr_png_() == figure._repr_png_()
    formatters = pytest.importorskip("IPython.core.formatters")
    data, _ = formatters.DisplayFormatter().format(run.plot())
    assert data["image/png"].startswith(b"\x89PNG")


def test_equal_pictures_are_equal_files(run, tmp_path):
    for kind in ("png", "pdf", "svg"):
        one, two = (plot.save(run.plot(), tmp_path / f"{name}.{kind}") for name in "ab")
        assert one.read_bytes() == two.read_bytes()


@pytest.mark.parametrize("name", ["_x", "$x$", r"$\foo$", "a$b", "_$_"])
def test_names_are_shown_as_they_are(name, tmp_path):
    traj = make(nq=1, nv=1, model_name=name, joint_names=(name,), q_names=(name,), v_names=(name,))
    figure = traj.plot("coordinates", tmp_path / "run.svg")
    (text,) = figure.axes[0].get_legend().get_texts()
    assert text.get_text().strip().replace(r"\$", "$") == name
    traj.plot("phase", tmp_path / "run.svg")
    plot.save(plot.energy({name: traj, "b": traj}).figure, tmp_path / "run.png")
