"""The boat: weight against buoyancy, water and wind (Kobilarov et al. 2009, eq. 15)."""

from __future__ import annotations

import numpy as np
import pytest
import reference_vehicles as ref

import vitree as vt
from vitree.vehicles import Water, Wave, Wind, boat

DT = 0.02
CALM = {"water": Water(resistance=1e-9), "wind": Wind(windage=0.0)}


def tilted(vessel, d=(0.0, 0.0, 0.05, 0.1, 0.05, 0.3)):
    """The boat lifted by 5 cm, heeled, pitched and turned; d is (linear, angular)."""
    return vessel.integrate(vessel.neutral(), d)


def rough(**more):
    """A boat in everything at once, with few columns and patches."""
    return boat(columns=(2, 2), patches=(3, 2, 2), water=Water(current=(0.4, -0.2, 0.1), pressure=150.0),
                wave=Wave(0.15, 12.0, direction=0.7, phase=0.3), wind=Wind((4.0, -2.0, 0.0)), **more)  # fmt: skip


@pytest.mark.parametrize(
    ("vessel", "bound"),
    [
        # along a column the surface is taken to be straight
        (rough(), 1e-3),
        # the surface cuts a column within a slice
        (boat(columns=(3, 2), patches=(2, 2, 2), water=Water(current=(0.4, -0.2, 0.1)), wind=Wind((4.0, 1.0, 0.0))),
         2e-4),
    ],
    ids=["waves", "still"],
)
def test_the_wrench_is_the_sum_over_slices_and_patches(vessel, bound):
    """Eq. 15, patch by patch, and the lift slice by slice; also capsized, out of the water and below it."""
    rng = np.random.default_rng(0)
    q0 = vessel.neutral()
    for d in ((0, 0, 0.1, 0.2, -0.1, 1.0), (2, 1, -0.1, 0.4, 0.3, 2.0), (0, 0, 0, 3.0, 0.2, 0), (0, 0, 1.5, 0, 0, 0),
              (0, 0, -3.0, 0, 0.1, 0)):  # fmt: skip
        q, v = vessel.integrate(q0, np.array(d, float)), rng.normal(size=6)
        g, xi = ref.pose(q), ref.inner(v)
        expected = ref.weight(vessel, g) + ref.boat_wrench(vessel.parts, 0.8, g, xi)
        assert np.abs(vessel.wrench(0.8, q, v) - expected).max() < bound * vessel.mass * 9.81


def test_thrusters_push_where_they_are():
    vessel = boat(thrusters=((-1.0, -0.4, -0.2), (-1.5, 0.6, -0.3)))
    there = vessel.wrench(0.0, vessel.neutral(), np.zeros(6), (3.0, 5.0))
    still = vessel.wrench(0.0, vessel.neutral(), np.zeros(6))
    # torque r x (f, 0, 0) = f (0, z, -y)
    assert np.abs(there - still - [0, -0.6 - 1.5, 1.2 - 3.0, 8, 0, 0]).max() < 1e-9


def test_it_floats_where_weight_is_buoyancy():
    vessel = boat()
    displaced = 1000.0 * 4.0 * 1.6 * vessel.draft
    assert abs(displaced - vessel.mass) < 1e-9
    assert np.abs(vessel.wrench(0.0, vessel.neutral(), np.zeros(6))).max() < 1e-9 * vessel.mass
    run = vt.simulate(vessel, duration=10.0, dt=DT)
    assert np.abs(run.q - run.q[0]).max() < 1e-12
    # the restoring torque of a small heel is that of the metacentre: GM = KB + B^2/(12 draft) - KG
    heel = 1e-3
    torque = vessel.wrench(0.0, vessel.integrate(vessel.neutral(), [0, 0, 0, heel, 0, 0]), np.zeros(6))[0]
    height = 0.5 * vessel.draft + 1.6**2 / (12 * vessel.draft) - 0.35
    assert abs(torque / (-vessel.mass * 9.81 * height * heel) - 1) < 1e-4


def test_the_lift_is_the_slope_of_the_potential():
    """So that it takes no energy: weight and lift are minus the potential's derivative by displacements."""
    vessel = boat(**CALM)
    for d in ((0, 0, 0.05, 0.1, 0.05, 0.3), (0, 0, 0.1, 0.5, 0.2, 0), (0, 0, 0.0, 2.8, 0, 0)):
        q = vessel.integrate(vessel.neutral(), d)
        e = 1e-5
        ahead, behind = (np.array([vessel.integrate(q, s * x) for x in np.eye(6)]) for s in (e, -e))
        slope = (vessel.core.potentials(ahead) - vessel.core.potentials(behind)) / (2 * e)
        wrench = vessel.wrench(0.0, q, np.zeros(6))
        assert np.abs(ref.inner(wrench) + slope).max() < 1e-5 * vessel.mass * 9.81


def test_without_resistance_energy_is_kept_to_second_order():
    vessel = boat(**CALM)
    bands = [np.ptp(vt.simulate(vessel, tilted(vessel), duration=20.0, dt=h).energy) for h in (0.02, 0.01)]
    assert abs(np.log2(bands[0] / bands[1]) - 2) < 0.1
    run = vt.simulate(vessel, tilted(vessel), duration=20.0, dt=0.01)
    assert bands[1] < 2e-3 * run.kinetic.max()


@pytest.mark.parametrize("name", ["exp", "cayley"])
def test_in_still_water_it_comes_to_rest(name):
    vessel = boat()
    run = vt.simulate(vessel, tilted(vessel), duration=60.0, dt=DT, map=name)
    assert np.diff(run.energy).max() < 1e-6 * (run.energy[0] - run.energy[-1])
    assert np.abs(run.v[-1]).max() < 1e-4
    # floating upright, wherever it points
    end = vessel.pose(run.q[-1])
    assert abs(end[2, 3] - vessel.neutral()[2]) < 1e-4 and np.abs(end[:3, 2] - [0, 0, 1]).max() < 1e-4


def test_it_drifts_with_the_current_and_the_wind():
    at_rest = vt.simulate(boat(water=Water(current=(0.5, 0.2, 0.0)), wind=Wind(windage=0.0)), duration=200.0, dt=0.05)
    # left alone it moves as the water does
    velocity = (at_rest.q[-1, :2] - at_rest.q[-100, :2]) / (at_rest.t[-1] - at_rest.t[-100])
    assert np.abs(velocity - [0.5, 0.2]).max() < 1e-3
    # in the wind: resistance is the push of the wind, 150 v = 25 (5 - v)
    blown = vt.simulate(boat(wind=Wind((5.0, 0.0, 0.0))), duration=100.0, dt=0.05)
    assert abs(blown.v[-1, 0] / (125 / 175) - 1) < 0.01 and np.abs(blown.q[:, 1]).max() < 1e-9


def test_waves_lift_it():
    """On a long, low wave it follows the surface."""
    a, length = 0.1, 60.0
    vessel = boat(wave=Wave(a, length), water=Water(resistance=(150.0, 900.0, 9000.0)))
    run = vt.simulate(vessel, duration=60.0, dt=DT)
    k = 2 * np.pi / length
    surface = a * np.sin(k * run.q[:, 0] - np.sqrt(9.81 * k) * run.t)
    late = run.t > 20
    heave = run.q[late, 2] - vessel.neutral()[2]
    assert np.abs(heave - surface[late]).max() < 0.25 * a < 0.5 * np.ptp(heave)


def test_thrust_drives_it_and_unequal_thrust_turns_it():
    vessel = boat()
    ahead = vt.simulate(vessel, duration=60.0, dt=DT, control=vt.Control(inputs={"right": 100.0, "left": 100.0}))
    # the resistance of hull and air is the thrust, and it does not turn
    assert abs(ahead.v[-1, 0] / (200 / 175) - 1) < 0.02 and np.abs(ahead.q[:, 1]).max() < 1e-9
    turn = vt.simulate(vessel, duration=60.0, dt=DT, control=vt.Control(inputs={"right": 150.0, "left": 50.0}))
    assert turn.v[-1, 5] > 0.05


def test_in_everything_at_once_all_methods_converge_to_one_motion():
    """Patches and columns come and go by degrees: the orders hold but for corners where they begin to."""
    vessel = boat(water=Water(current=(0.5, 0.2, 0.0)), wave=Wave(0.1), wind=Wind((3.0, 1.0, 0.0)))
    q = tilted(vessel)
    more = {"duration": 4.0, "control": vt.Control(inputs=[200.0, 150.0])}
    fine = vt.simulate(vessel, q, dt=0.0005, method="rk4", **more)
    for method in ("lie", "rk2", "implicit-rk2", "lie-newmark"):
        errors = [np.linalg.norm(vessel.difference(vt.simulate(vessel, q, dt=h, method=method, **more).q[-1],
                                                   fine.q[-1])) for h in (0.02, 0.01)]  # fmt: skip
        assert abs(np.log2(errors[0] / errors[1]) - 2) < 0.2 and errors[1] < 1e-3


def test_runs_in_waves_go_on_bit_for_bit():
    vessel = rough()
    whole, part = (vt.simulate(vessel, duration=T, dt=DT, control=vt.Control(inputs=[50.0, 70.0])) for T in (2.0, 1.2))
    rest = part.resume(0.8, control=vt.Control(inputs=[50.0, 70.0]))
    assert np.array_equal(rest.q[1:], whole.q[61:]) and np.array_equal(rest.p[1:], whole.p[61:])


@pytest.mark.parametrize(
    ("options", "what"),
    [
        ({"mass": 6000.0}, "sinks"), ({"mass": -1.0}, "mass .* positive"), ({"size": (0.0, 1.6, 0.8)}, "length"),
        ({"patches": (1, 1)}, "patches"), ({"columns": (1, 0)}, "columns"), ({"size": (4.0, 1.6)}, "size"),
        ({"added_mass": (-0.1, 0, 0)}, "added mass"), ({"thrusters": ((0, 0, 0),)}, "thrusters"),
        ({"inertia": (1, 1)}, "inertia"), ({"wind": (4.0, 0.0, 0.0)}, r"wind.*vehicles\.Wind"),
    ],
)  # fmt: skip
def test_boats_that_cannot_be_are_refused(options, what):
    with pytest.raises(vt.VitreeError, match=what):
        boat(**options)


@pytest.mark.parametrize(
    ("kind", "options", "what"),
    [
        (Water, {"resistance": (1.0, 1.0, -1.0)}, "resistance .* eigenvalue"), (Water, {"density": np.nan}, "density"),
        (Wave, {"length": 0.0}, "wave length"), (Wave, {"amplitude": -0.1}, "wave amplitude"),
        (Wind, {"velocity": (1, 2)}, "wind"), (Wind, {"windage": -1.0}, "windage"),
    ],
)  # fmt: skip
def test_water_waves_and_winds_that_cannot_be_are_refused(kind, options, what):
    with pytest.raises(vt.ModelError, match=what):
        kind(**options)


def test_a_boat_says_what_it_is():
    vessel = boat()
    assert vessel.input_names == ("right", "left") and not vessel.is_conservative
    assert vessel != boat(wave=Wave(0.1)) and vessel == boat() and len(vessel.geometry) == 4
