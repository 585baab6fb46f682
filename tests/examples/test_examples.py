"""The numbered examples run in order of their numbers, and what they say of themselves holds."""

from __future__ import annotations

import importlib
import re
import runpy
import sys
from dataclasses import replace

import numpy as np
import pytest
from places import EXAMPLES
from scipy.integrate import solve_ivp
from scipy.optimize import fsolve

import vitree as vt

FOLDER = EXAMPLES
SCRIPTS = sorted(FOLDER.glob("[0-9]*.py"))


def energy_error(run) -> float:
    """Largest change of the energy, over the largest kinetic energy."""
    return np.abs(run.energy - run.energy[0]).max() / run.kinetic.max()


def quickstart(run, text):
    assert run.method == "linear-time" and run.steps == 10000
    assert energy_error(run) < 2e-3


def humanoid_falling(run, text):
    """What gravity leaves of the momentum stays to round-off, and the trunk speeds up."""
    change = run.momentum - run.momentum[0]
    impulse = 73.0 * run.t[:, None] * np.array([0, 0, -9.81])
    assert np.abs(change[:, 2]).max() < 1e-11 and np.abs(change[:, 3:] - impulse).max() < 1e-10
    assert run.v[-1, 4] > 2 * run.v[0, 4]


def humanoid_swinging(run, text):
    """The grips stay on the bar; at the bottom it bears more than the weight, and at the leaning start less."""
    pull = np.linalg.norm(run.multipliers[1:].reshape(-1, 2, 3).sum(axis=1), axis=1) / (73.0 * 9.81)
    assert np.abs(run.constraint).max() < 1e-12
    assert pull[0] < 0.6 and 1.5 < pull.max() < 3


def manipulator_pd(run, text):
    """It settles at the goal; efforts were cut, and only for a while."""
    goal = importlib.import_module("04_manipulator_pd").GOAL
    assert np.abs(run.q[-1] - goal).max() < 1e-9 and np.abs(run.v[-1]).max() < 1e-9
    shares = run.settings["effort_cut"]
    assert {"waist_joint", "shoulder_joint"} <= set(shares) and max(shares.values()) < 0.1


def comparing_integrators(result, text):
    """The variational methods' mean energy stays; that of rk4 falls on; semi-implicit Euler does not get through."""
    means = {}
    for (method, _), run in result.trajectories.items():
        change = run.energy - run.energy[0]
        means[method] = change[:1000].mean(), change[-1000:].mean(), np.ptp(change)
    for method in ("linear-time", "midpoint"):
        first, last, band = means[method]
        assert abs(last - first) < 0.1 * band
    first, last, _ = means["rk4"]
    assert last < 10 * first < 0
    assert [row["label"] for row in result.table if row["status"] != "ok"] == ["semi-implicit-euler"]


def hand_built_tree(run, text):
    """It turns at the rate that the moment of its weight asks for, and stays level."""
    assert run.q[-1, 0] / run.t[-1] == pytest.approx(0.981, rel=1e-5)
    assert np.abs(run.q[:, 1]).max() < 1e-4 and energy_error(run) < 1e-6


def closed_chain(run, text):
    assert np.abs(run.constraint).max() < 1e-11 and energy_error(run) < 1e-3
    drift = float(re.search(r"^rk4 +loop open by (\S+) m", text, re.M)[1])
    assert drift > 1e-5


def marionette(run, text):
    """Strings are as long as prescribed, taut all the time, and the hands do move."""
    assert np.abs(run.constraint).max() < 1e-11
    assert (run.multipliers[1:] < 0).all()
    k = run.q_names.index("left hand string")
    assert np.ptp(run.q[:, k]) == pytest.approx(0.1, rel=1e-3)
    # held up, the puppet's weight hangs on the strings
    mass = 0.6 + 2 * (0.05 + 0.08 + 0.1)
    assert -run.multipliers[1:].sum(axis=1).mean() == pytest.approx(9.81 * mass, rel=0.05)


def vehicle(run, text):
    """The circle is that of the geometry, and closes."""
    _, _, heading, x, y = run.q.T
    assert np.hypot(x, y - 10.4) == pytest.approx(10.4, abs=1e-11)
    assert heading[-1] == pytest.approx(2 * np.pi, abs=1e-12) and np.hypot(x[-1], y[-1]) < 1e-12
    assert float(re.search(r"^rk2 +widest at (\S+) m", text, re.M)[1]) > 20.85


def custom_integrator(result, text):
    orders = result.orders
    assert orders["explicit-midpoint"] == pytest.approx(2, abs=0.1) and orders["rk4"] == pytest.approx(4, abs=0.1)
    worst = {(row["label"], row["dt"]): row["angular_momentum_error"] for row in result.table}
    assert worst["midpoint", 0.01] < 1e-11 < 1e-5 < worst["explicit-midpoint", 0.01]


def custom_load(run, text):
    """Without drag the ball comes back, and its energy stays; with drag it does not."""
    assert run.q[8000:].max() == pytest.approx(1.0, abs=1e-4) and energy_error(run) < 1e-3
    assert float(re.search(r"Drag - .* up to (\S+) m", text)[1]) < 0.5


def custom_constraint(run, text):
    """All beads go round in the same time, that of the theory."""
    assert np.abs(run.constraint).max() < 1e-11
    turned = np.unwrap(np.arctan2(run.q[:, 1::3], run.q[:, 0::3]), axis=0)[-1]
    assert turned == pytest.approx(np.sqrt(9.81) * run.t[-1], rel=1e-5)


def posture_in_flight(run, text):
    """Servos move no angular momentum about the centre of mass; tucked it turns faster, stretched slower again."""
    centre = np.array([run.system.center_of_mass(q) for q in run.q])
    spin = run.momentum[:, :3] - np.cross(centre, run.momentum[:, 3:])
    assert np.abs(spin - spin[0]).max() < 1e-8 and run.settings["dt"] == 0.01
    begin, tucked, end = (run.at(t).v[4] for t in (0.1, 0.5, 0.8))
    assert tucked > 1.6 * begin and tucked > 1.6 * end
    assert run.at(0.5).q[run.system.joint("left_knee_joint").q_slice] == pytest.approx(2.2, abs=0.1)


def delayed_controller(run, text):
    """The loop of torques rings and then diverges, that of drives does not."""
    swings = np.array(re.findall(r"by (\S+) rad .* by (\S+) rad", text), float)
    assert swings.shape == (4, 2) and (swings[:2] < 2e-3).all()
    assert swings[2, 0] > 0.1 and swings[3, 0] > 1 and swings[:, 1].max() < 2e-3


def balancing(run, text):
    """The pole leans at first, stands, is struck at 3 s, and stands again."""
    lean = np.abs(run.q[:, 1])
    assert lean[0] == 0.3 and lean[run.t < 3][-1] < 0.01
    after = run.t > 3
    assert 0.05 < lean[after].max() < 0.5 and lean[-1] < 0.01
    assert run.steps == 6000 and len(run) == 301


def standing_humanoid(run, text):
    """It stands on its soles: they stay, nothing is in the ground, and the ground carries the weight."""
    robot = run.system
    found = np.array(re.findall(r"move (\S+) m .* carries (\S+) of .* gap (\S+) m", text), float)
    assert found.shape == (3, 3) and (found[:, 0] < 1e-9).all() and (abs(found[:, 1] - 1) < 2e-3).all()
    assert min(robot.contact_gaps(q).gap.min() for q in run.q) > -1e-9 and run.settings["dt"] == 5e-3
    assert run.q[0, 2] - 0.03 < run.q[-1, 2] < run.q[0, 2] - 0.019 and np.abs(run.v[-1]).max() < 0.05
    assert not run.warnings


def walking_quadruped(run, text):
    """The walks of all dt are as long; the trunk stays upright, and no foot is in the ground."""
    walked = np.array(re.findall(r"walks (\S+) m", text), float)
    assert walked.shape == (4,) and 2.5 < walked.min() and np.ptp(walked) < 0.01 * walked.min()
    assert run.settings["dt"] == 0.01
    assert all("velocity limit" in told for told in run.warnings)  # its drives have none
    assert np.abs(run.q[:, 3:5]).max() < 0.1 and (run.q[:, 2] > 0.25).all()
    assert min(run.system.contact_gaps(q).gap.min() for q in run.q) > -1e-9


def quadruped_on_hills(run, text):
    """Feet on ice slide further; a foot that stays leans less than friction allows, and all carry the weight."""
    found = np.array(re.findall(r"friction (\S+),.* slid +(\S+) cm.* by +(\S+) N, leans by (\S+)", text), float)
    ice, grip = found[:4], found[4:]
    assert found.shape == (8, 4) and (found[:, 3] <= found[:, 0] + 5e-4).all() and (found[:, 2] > 1).all()
    assert (ice[:, 1] > 10).all() and (grip[:, 1] < 10).all() and (ice[:, 1] > 5 * grip[:, 1]).all()
    force = run.contacts.total(len(run))[-1] / run.settings["dt"]
    assert force == pytest.approx([0, 0, run.system.total_mass * 9.81], abs=1e-3)
    assert np.abs(run.system.difference(run.q[-2], run.q[-1])).max() < 1e-9 and not run.warnings


def strides_of_the_paper(slope):
    """Fixed point and eigenvalue of the stride map of Garcia et al. 1998, eqs. 1 to 4, by SciPy."""

    def rate(t, y):
        angle, turn, between, opening = y
        fall = np.sin(angle - slope)
        return turn, fall, opening, fall + turn**2 * np.sin(between) - np.cos(angle - slope) * np.sin(between)

    def landing(t, y):
        return y[2] - 2 * y[0]

    landing.terminal, landing.direction = True, 1

    def stride(s):
        start = [s[0], s[1], 2 * s[0], (1 - np.cos(2 * s[0])) * s[1]]
        halfway = solve_ivp(rate, (0, 2.5), start, rtol=1e-12, atol=1e-13).y[:, -1]
        (end,) = solve_ivp(rate, (2.5, 9), halfway, rtol=1e-12, atol=1e-13, events=landing).y_events[0]
        return np.array([-end[0], np.cos(2 * end[0]) * end[1]])

    at = fsolve(lambda s: stride(s) - s, [0.2, -0.2], xtol=1e-12)
    J = np.transpose([stride(at + e) - stride(at - e) for e in 1e-5 * np.eye(2)]) / 2e-5
    return at[0], max(np.linalg.eigvals(J), key=np.imag)


def passive_walker(run, text):
    """The walk and its eigenvalue are those of the equations of the paper, and Newton's method ends."""
    angle, factor = strides_of_the_paper(importlib.import_module("19_passive_walker").SLOPE)
    found = np.array(re.findall(r"landing (\S+) rad.* by (\S+) rad", text), float)
    assert found[-1] == pytest.approx([angle, 0.0], abs=3e-6) and abs(found[-1, 1]) < 1e-10
    assert complex(re.search(r"eigenvalue (\S+);", text)[1]) == pytest.approx(factor, abs=1e-3)
    told = re.search(r"paper: (\S+) rad, (\S+)", text)
    assert float(told[1]) == pytest.approx(angle, abs=1e-7) and complex(told[2]) == pytest.approx(factor, abs=1e-4)
    assert run.t[-1] == pytest.approx(3.88, abs=0.02) and energy_error(run) < 1e-2


def pushing_a_box(run, text):
    """The box goes with the hand, flat on the floor; the push is the friction, and beside the middle turns the box."""
    words = r"goes (\S+) m ahead and +(\S+) m aside, turns by +(\S+) rad\n +push +(\S+) N; .* (\S+) N"
    (ahead, aside, turn, push, rub), beside = np.array(re.findall(words, text), float)
    assert rub == 15.696 and push == pytest.approx(rub, rel=1e-3) and abs(aside) < 1e-9 and abs(turn) < 1e-9
    assert ahead == pytest.approx(0.3 - 0.02, abs=0.02)  # as far as the hand, which was 0.02 m behind, and lags
    assert beside[2] < -0.2 and beside[1] < -0.01 and 0.9 * rub < beside[3] < rub
    gaps = np.array([run.system.contact_gaps(q).gap.min() for q in run.q[::10]])
    assert gaps.min() > -1e-9 and np.abs(run.q[:, 8] - 0.15).max() < 1e-9 and not run.warnings


def falling_figure(run, text):
    """It falls from its feet and lies still; nothing is in the floor, limits hold, impulses are the momentum's."""
    over = float(re.search(r"beyond limits by (\S+) rad", text)[1])
    missing, most = map(float, re.search(r"each step to (\S+) N s, of (\S+)", text).groups())
    assert over < 1e-11 and missing < 1e-12 * most and most > 100
    assert min(run.system.contact_gaps(q).gap.min() for q in run.q) > -1e-9
    assert run.q[0, 2] > 0.8 and run.q[-1, 2] < 0.2
    # it falls faster than its joints may turn, and its feet are boxes, which do not touch each other
    known = ("velocity limit", '"left_foot" (box) - "right_foot" (box)')
    assert all(any(word in told for word in known) for told in run.warnings)
    assert run.energy[-1] < 0.2 * run.energy[0] and np.diff(run.energy).max() < 0.1
    assert np.abs(run.system.difference(run.q[-2], run.q[-1])).max() < 0.05 * run.settings["dt"]


def swing_up(run, text):
    """The plan keeps the motor's force; the pole goes up from another start, and stays."""
    most = float(re.search(r"force is (\S+) N", text)[1])
    assert 5 < most <= 12 and "cannot fall" in text
    late = run.t > 4
    assert np.abs(run.q[0, 1] - np.pi) < 0.1 and np.abs(run.q[late, 1]).max() < 0.01 and np.abs(run.q[-1, 0]) < 0.02


def one_motor(run, text):
    """The elbow's motor alone, within its torque, brings both links up, and holds them there."""
    most, shoulder = map(float, re.search(r"torque is (\S+) N m, and (\S+) at", text).groups())
    assert 10 < most <= 20 and shoulder == 0 and "cannot fall" in text
    late, upright = run.t > 6, np.array([np.pi, 0])
    assert np.abs(run.q[0]).max() < 0.02 and np.abs(run.q[late] - upright).max() < 0.01
    # what the motor does is all that changes the energy, and it cannot hold the links anywhere else
    assert run.energy[-1] - run.energy[0] > 10


def receding_horizon(run, text):
    """It passes each gate, whatever pushes it, and stays at the last one; a plan takes less than its step."""
    off = [float(x) for x in re.search(r"gates \[(.*)\]", text)[1].split()]
    assert len(off) == 5 and max(off) < 0.25 and off[-1] < 0.01
    assert np.abs(run.v[-1]).max() < 0.1 and float(re.search(r"takes (\S+) ms", text)[1]) < 20


def pole_at_1_khz(run, text):
    """It stays upright though it is hit, within the motor's force, and the cart arrives at each place."""
    off = [float(x) for x in re.search(r"is \[(.*)\] m", text)[1].split()]
    assert len(off) == 3 and max(off) < 0.05 and len(run.t) == 7501
    lean = float(re.search(r"at most (\S+) rad", text)[1])
    assert 0.1 < lean < 0.8 and abs(run.q[-1, 1]) < 0.05
    assert float(re.search(r"takes (\S+) ms", text)[1]) < 5  # 0.3 on a machine that does nothing else


def identified_arm(run, text):
    """Estimates of base parameters are off by some of their standard errors, and by little."""
    rows = [[float(x) for x in line.split()[-3:]] for line in text.splitlines()[3:]]
    found, true, error = np.array(rows).T
    assert len(rows) == 8 and (np.abs(found - true) < 4 * error + 1e-4).all() and error.max() < 3e-3
    assert float(re.search(r"regressor is (\S+)", text)[1]) < 4


def arms_that_balance(run, text):
    """The trunk turns a tenth as far with the arms' help; what is left is how joints lag behind their targets."""
    rest, swing = (float(x) for x in re.findall(r"turns by (\S+),", text))
    assert rest > 10 and swing < 0.1 * rest


def soft_contact(run, text):
    """Rigid contact alone moves nothing; after softer ones it brings the box to its place."""
    ends = [float(x) for x in re.findall(r"ends at (\S+) m", text)]
    assert ends[0] == 0.4 and abs(ends[-1] - 0.6) < 2e-3


def reach(run, text):
    """The hand comes to its pose from a start that was not planned; the motors are strong enough."""
    gone = re.findall(r"is (\S+) m and +(\S+) degrees", text)
    (first, turned), (last, left) = (map(float, gone[k]) for k in (0, -1))
    assert first > 0.3 and turned > 40 and last < 0.005 and left < 0.5 and "cannot fall" in text
    assert 20 < float(re.search(r"at most (\S+) %", text)[1]) <= 100


def walker_step(run, text):
    """Contacts make of the planned torques the planned motion; the legs have swapped, and no foot slides or sinks."""
    assert "satisfied" in text
    assert float(re.search(r"is (\S+) off the plan", text)[1]) < 1e-7
    model, start, end = run.system, run.q[0], run.q[-1]
    np.testing.assert_allclose(end[[2, 5, 6, 3, 4]], start[[2, 3, 4, 5, 6]], atol=1e-7)
    np.testing.assert_allclose(end[:2], [start[0] + 0.35, start[1]], atol=1e-7)
    left, right = (model.frame_pose(f"{side} foot", run.q)[:, :3, 3] for side in ("left", "right"))
    assert np.abs(left).max() < 1e-8 and right[10:20, 2].min() > 0.025 and right[:, 2].min() > -1e-8


def marionette_follows(run, text):
    """The prescribed strings make the planned motion, and are taut; the hands go where they should."""
    assert float(re.search(r"it is (\S+) off the plan", text)[1]) < 1e-7
    for side, rate in (("left", 3), ("right", 4)):
        height = run.system.frame_pose(f"{side} hand", run.q)[:, 2, 3]
        assert np.abs(height - height[0] - 0.04 * (1 - np.cos(rate * run.t))).max() < 0.01
    assert -run.multipliers[1:].max() > 0.3


def one_foot(run, text):
    """The robot stays above its foot, which does not move; without the regulator it falls."""
    told = (r"(\S+) mm,", r"(\S+) mm without", r"(\S+) m\n")
    held, falls, foot = (float(re.search(pattern, text)[1]) for pattern in told)
    assert held < 5 and falls > 50 and foot < 1e-9
    assert np.abs(run.v[-1]).max() < 0.02


def ways_to_plan(run, text):
    """The four searches agree on the least cost, for both robots by both methods; the hand is where it is to be."""
    costs = np.array([float(cost) for cost in re.findall(r"cost (\S+)", text)]).reshape(4, 4)
    assert (np.ptp(costs, axis=1) < 1e-6 * costs.min(axis=1)).all()
    assert np.linalg.norm(run.system.frame_pose("panda_hand_tcp", run.q[-1])[:3, 3] - [0.3, 0.3, 0.3]) < 0.01


def marionette_strings(run, text):
    """Each search lets the hands follow; the cost falls to what both methods find; a simulation repeats the plan."""
    costs = np.array([float(x) for x in re.findall(r"cost ([0-9.]+)", text)])
    assert len(costs) == 4 and text.count("cannot fall") == 4
    np.testing.assert_allclose(costs[[0, 2]], costs[[1, 3]], rtol=1e-2)
    assert max(int(x) for x in re.findall(r"within ([0-9]+) mm", text)) < 40
    assert float(re.search(r"it is (\S+) off", text)[1]) < 1e-6
    left = run.system.frame_pose("left hand", run.q)[:, 2, 3]
    assert np.ptp(left) > 0.05
    assert np.abs(run.system.constraint_errors(run.q)).max() < 1e-10


def conserved_energy(run, text):
    """The discrete energy stays to round-off, that of the midpoint rule does not; over the top there is no step."""
    changes = [float(change) for change in re.findall(r"^(?:energy-momentum|midpoint) .* (\S+)$", text, re.M)]
    assert changes[0] < 1e-11 and changes[1] > 1e-4
    assert np.ptp(np.diff(run.t)) > 1e-3 and "no positive step length" in text


def climbing_stairs(run, text):
    """Both feet are on the third stair, flat, and nothing came below its gap."""
    stairs = importlib.import_module("stairs")
    for name in stairs.FEET:
        pose = run.system.frame_pose(name, run.q[-1])
        assert pose[2, 3] == pytest.approx(3 * stairs.RISE + stairs.SOLE, abs=1e-4) and pose[2, 2] > 1 - 1e-5
        assert pose[0, 3] == pytest.approx(stairs.FIRST + 2 * stairs.TREAD + 0.08, abs=5e-3)
    assert run.monitors["gap"].min() > -1e-10 and "inexact_contacts" not in run.settings
    assert int(re.search(r"(\d+) mm off", text)[1]) < 5


def carrying_a_plank(run, text):
    """The plank follows, stays level, and half of it hangs on each hand."""
    miss, tilt = (float(re.search(rf"(\S+) {unit}", text)[1]) for unit in ("mm", "degrees"))
    assert miss < 1 and tilt < 0.1
    carried = [float(x) for x in re.search(r"carry (\S+), (\S+) N", text).groups()]
    np.testing.assert_allclose(carried, 4.0 * 9.81, atol=0.051)  # printed to 0.1 N
    assert np.ptp(run.q[:, run.system.joint("plank").q_slice], axis=0)[:3].max() > 0.14
    assert np.abs(run.constraint).max() < 1e-12


def robot_and_things(run, text):
    """The box lies in the bin, the cup stays, and the box was taken and let go."""
    model = run.system
    box = run.q[-1, model.joint("box").q_slice]
    assert np.abs(box[:2] - (0.1, 0.9)).max() < 0.1 and box[2] == pytest.approx(0.07, abs=1e-6)
    assert np.ptp(run.q[:, model.joint("cup").q_slice], axis=0).max() < 1e-9
    assert [change.kind for change in run.changes] == ["attach", "detach"]
    assert -run.contacts.gap.min() < 1e-9 and run.q[:, model.joint("box").q_slice][:, 2].max() > 0.7


def retargeting(run, text):
    """Feet, pelvis and hands are where the skeleton's are, feet stand still, and it gets ahead."""
    feet, pelvis, hands = (float(re.search(rf"{name} (?:off by )?(\S+) mm", text)[1]) for name in (
        "feet", "pelvis", "hands"))  # fmt: skip
    slip, ahead = (float(re.search(rf"(\S+) {unit}", text)[1]) for unit in ("mm/s", r"m\n"))
    assert feet < 1 and pelvis < 5 and hands < 5 and slip < 30 and ahead > 2.2


def squatting(run, text):
    """It squats and comes up again, is pushed aside by little, and its feet stay."""
    deep, aside, off, feet = (float(x) for x in re.search(
        r"goes (\S+) m down and up, (\S+) mm aside.* ends (\S+) mm off; feet move (\S+) m", text).groups())  # fmt: skip
    assert deep > 0.1 and 1 < aside < 20 and off < 15 and feet < 1e-9


def trot(run, text):
    """The plan converges; feet are lifted, push, and walk where they are asked to."""
    assert "the cost cannot fall" in text and "pull with at most 0e+00 N s" in text
    told = re.search(r"phase, are (\S+) off .* it is (\S+) off, and walks (\S+) m", text, re.S)
    replay, near, ahead = map(float, told.groups())
    assert replay < 1e-10 and near < 0.05 and abs(ahead - 0.2) < 0.01
    feet = {foot: run.system.frame_pose(foot, run.q)[:, :3, 3] for foot in ("FL_foot", "FR_foot", "RL_foot", "RR_foot")}
    for foot, swing in (("FL_foot", slice(20, 30)), ("FR_foot", slice(70, 80))):
        assert feet[foot][swing, 2].min() > 0.03
    assert min(x[:, 2].min() for x in feet.values()) > -1e-6


def humanoid_step(run, text):
    """The pressure is in the soles; the foot lands ahead, and the other one stays."""
    assert "the cost cannot fall" in text
    told = re.search(r"up to (\S+) m ahead and (\S+) m aside in soles of (\S+) by (\S+) m.*steps (\S+) m", text, re.S)
    ahead, aside, length, width, step = map(float, told.groups())
    assert ahead < length + 1e-3 and aside < width + 1e-3 and abs(step - 0.2) < 0.02
    left, right = (run.system.frame_pose(f"{side}_sole", run.q)[:, :3, 3] for side in ("left", "right"))
    assert np.ptp(left, axis=0).max() < 0.01 and right[22, 2] > 0.02 and abs(right[-1, 2]) < 1e-3
    assert run.system.center_of_mass(run.q)[-1, 2] > 0.5


def keeping_balance(run, text):
    """Pushed from three sides or more it stays near the middle of its feet, which stay where they are."""
    told = re.search(r"(\S+) pushes in .* most (\S+) mm aside, (\S+) mm in the last.*; feet move (\S+) m", text)
    pushes, aside, last, feet = map(float, told.groups())
    assert pushes == 4 and 1 < aside < 10 and last < 10 and feet < 1e-9
    assert np.ptp(run.system.center_of_mass(run.q)[:, 2]) > 0.1


def rolling(run, text):
    """The car is as the vehicle is, to the order of the steps, and does not slip."""
    way, apart, slip = (float(re.search(rf"(\S+) {unit}", text)[1]) for unit in ("m\n", "mm", "m/s"))
    assert way > 30 and apart < 20 and slip < 1e-12
    assert set(run.contacts.touching) == {"axle", "fork"}
    resists = run.contacts.number == run.contacts.names.index(("spin", "dry friction"))
    np.testing.assert_allclose(run.contacts.force[resists][2:, 0], -20.0, rtol=1e-9)


def beyond_limits(run):
    """How far joints of a run are beyond their limits [rad]."""
    model = run.system
    # without a coordinate of its own a joint has that of its leader
    own = [joint for joint in model.joints if model.full is model or joint.mimic is None]
    hinges = [joint for joint in own if joint.kind != "free"]
    over = [np.maximum(run.q[:, j.q_slice] - j.upper, j.lower - run.q[:, j.q_slice]).max() for j in hinges]
    return max(over, default=-np.inf)


@pytest.fixture
def examples(monkeypatch):
    """The scripts can be imported, and what they register is forgotten."""
    monkeypatch.syspath_prepend(FOLDER)
    registered = dict(vt.METHODS)
    yield
    vt.METHODS.clear()
    vt.METHODS.update(registered)


@pytest.mark.parametrize("script", SCRIPTS, ids=lambda path: path.stem)
def test_example(script, examples, capsys):
    found = importlib.import_module(script.stem).main()
    printed = capsys.readouterr()
    assert printed.out and not printed.err
    globals()[script.stem[3:]](found, printed.out)
    if 16 <= int(script.stem[:2]) and isinstance(found, vt.Trajectory):
        assert beyond_limits(found) < 1e-9


@pytest.mark.parametrize("name", ["16_standing_humanoid", "17_walking_quadruped", "18_quadruped_on_hills", "38_trot",
                                  pytest.param("39_humanoid_step", marks=pytest.mark.slow)])  # fmt: skip
def test_robots_of_our_own_stand_in(name, examples, capsys, monkeypatch):
    """Without the package example-robot-data the same holds for the robots that take the place of its own."""
    ours = vt.find_robot
    monkeypatch.setattr(vt, "find_robot", lambda robot: ours(robot if robot in ("human", "arm6") else "not installed"))
    found = importlib.import_module(name).main()
    assert found.system.name in ("human", "quadruped")
    globals()[name[3:]](found, capsys.readouterr().out)


@pytest.mark.parametrize("script", SCRIPTS, ids=lambda path: path.stem)
def test_examples_are_short_and_say_how_to_call_them(script):
    text = script.read_text()
    assert len(text.splitlines()) < 50
    assert f"python {script.name} [--save FILE] [--plot FILE] [--view]" in text.split('"""')[1]


def test_numbers_are_in_order_and_the_list_is_complete():
    assert [int(path.name[:2]) for path in SCRIPTS] == list(range(1, len(SCRIPTS) + 1))
    listed = re.findall(r"`(\d\d_\w+\.py)`", (FOLDER / "README.md").read_text())
    assert listed == [path.name for path in SCRIPTS]


@pytest.mark.parametrize("name", ["01_quickstart.py", "05_comparing_integrators.py", "09_vehicle.py",
                                  "18_quadruped_on_hills.py", "20_pushing_a_box.py"])  # fmt: skip
def test_what_is_asked_for_is_written(name, examples, tmp_path, monkeypatch, capsys):
    pytest.importorskip("matplotlib")
    made = tmp_path / "run.npz", tmp_path / "run.png"
    monkeypatch.setattr(sys, "argv", [name, "--save", str(made[0]), "--plot", str(made[1])])
    monkeypatch.delitem(sys.modules, "common", raising=False)  # other folders have one, too
    runpy.run_path(str(FOLDER / name), run_name="__main__")
    del sys.modules["common"]
    printed = capsys.readouterr().out
    assert all(f"written: {path}" in printed for path in made)
    assert vt.Trajectory.load(made[0]).steps > 10 and made[1].stat().st_size > 1000


# ---- integrators in Python, as example 10 has one ------------------------------------------------------


@pytest.fixture
def midpoint(examples):
    kind = importlib.import_module("10_custom_integrator").ExplicitMidpoint
    vt.METHODS[kind.name] = kind
    return kind


def driven():
    """A trolley that moves as prescribed, a wind on a bob that is held at a distance by a constraint, a torque."""
    tree = vt.Tree("driven")
    tree.world.add(vt.tx("trolley", kinematic=True), vt.frame("hook"))
    bob = tree.world.add(vt.tx("x"), vt.tz("z"), vt.body("bob", 1.0))
    bob.add(vt.ry("turn", damping=0.2), vt.body("vane", 0.5, (1, 1, 1)))
    tree.constrain(vt.Distance("hook", "bob", 1.0))
    tree.load(vt.Wrench("bob", force=("wind", 0, 0)))
    control = vt.Control(
        prescribed={"trolley": lambda t: 0.3 * (1 - np.cos(2 * t))}, inputs={"wind": lambda t: np.sin(3 * t)},
        torque=lambda t, q, v: np.array([0, 0, 0, np.cos(t) - 0.3 * v[3]]),
    )  # fmt: skip
    return tree.compile(), [0.0, np.sin(0.4), -np.cos(0.4), 0.2], {"control": control}


def test_one_in_python_gets_all_loads_and_keeps_its_order(midpoint):
    model, q0, more = driven()
    result = vt.compare(model, [midpoint.name], q0, duration=1.0, dt=[0.02, 0.01, 0.005], **more)
    assert result.orders[midpoint.name] == pytest.approx(2, abs=0.1)


def test_one_in_python_records_and_reports_as_asked(midpoint):
    model, q0, more = driven()
    told = []
    more |= {"dt": 0.01, "method": midpoint.name, "duration": 0.5}
    every = vt.simulate(model, q0, **more, progress=lambda done, total: told.append((done, total)))
    fifth = vt.simulate(model, q0, **more, record_every=5)
    assert told[-1] == (50, 50) and every.steps == fifth.steps == 50
    for name in ("t", "q", "v", "multipliers"):  # under a callable torque, which is not asked again, they are NaN
        assert np.array_equal(getattr(every, name)[::5], getattr(fifth, name), equal_nan=name == "multipliers")
    assert np.allclose(every.q[:, 0], 0.3 * (1 - np.cos(2 * every.t)), atol=1e-15)
    assert np.allclose(every.v[:, 0], 0.6 * np.sin(2 * every.t), atol=1e-12)


def test_one_in_python_takes_rows_of_inputs_from_its_start(midpoint):
    model, q0, _ = driven()
    more = {"duration": 0.2, "dt": 0.01, "method": midpoint.name,
            "control": vt.Control(inputs={"wind": np.arange(20.0)})}
    runs = [vt.simulate(model, q0, **more, t0=t0) for t0 in (0.0, 3.0)]
    assert np.allclose(runs[0].q, runs[1].q, atol=1e-13) and np.ptp(runs[0].v[:, 1]) > 0.1


def test_one_in_python_is_resumed_with_the_same_bits(midpoint, tmp_path):
    """In memory and from a file; damaged checkpoints are refused, and those of methods with a history are none."""
    model, q0, more = driven()
    given = {"dt": 0.01, "method": midpoint.name, **more}
    whole, part = (vt.simulate(model, q0, duration=time, **given) for time in (0.5, 0.2))
    path = part.save(tmp_path / "part.npz")
    for run in (part, vt.Trajectory.load(path)):
        rest = run.resume(0.3, model=model, **more) if run.system is None else run.resume(0.3, **more)
        for name in ("t", "q", "v"):
            assert np.array_equal(getattr(rest, name)[-31:], getattr(whole, name)[20:])
    with pytest.raises(vt.InputError, match=r"checkpoint of the run is of another version of vitree, or damaged"):
        replace(part, checkpoint=part.checkpoint[:-1]).resume(0.3, **more)

    class Counting(midpoint):
        name = "counting"

        def start(self, t, q, x):
            super().start(t, q, x)
            self.count = 0

    vt.METHODS["counting"] = Counting
    with pytest.raises(vt.InputError, match=r"no checkpoint to resume from.*methods in Python with a history"):
        vt.simulate(model, q0, duration=0.2, **given | {"method": "counting"}).resume(0.3, **more)


def test_one_in_python_that_fails_says_so(examples):
    model = vt.load_urdf(vt.find_robot("double_pendulum"))

    class Failing(vt.Integrator):
        name, order = "failing", 1

        def step(self, t, q, v):
            q += 1.0  # its own copy
            return self.answer(t, q, v)

    vt.METHODS["failing"] = Failing
    Failing.answer = lambda self, t, q, v: (q, v) if t < 0.025 else (q * np.nan, v)
    with pytest.raises(vt.ConvergenceError, match=r"failing: step 4 at t = 0\.03 s.*infinite or NaN.*halve dt") as stop:
        vt.simulate(model, duration=0.1, dt=0.01, method="failing")
    assert np.array_equal(stop.value.trajectory.q, [[0, 0], [1, 1], [2, 2], [3, 3]])
    Failing.answer = lambda self, t, q, v: (q[:1], v)
    with pytest.raises(vt.InputError, match=r"q in the result of step.. of the method failing has shape \(1,\)"):
        vt.simulate(model, duration=0.1, dt=0.01, method="failing")
    for more, what in (({"monitors": "energy"}, "record every step"), ({"dt": [0.01, 0.02]}, "dt must be one number")):
        with pytest.raises(vt.InputError, match=what):
            vt.simulate(model, **{"duration": 0.03, "dt": 0.01, "method": "failing", **more})
    del Failing.step
    with pytest.raises(vt.CallableError, match=r"failing has no step\(t, q, x\)") as stop:
        vt.simulate(model, duration=0.1, dt=0.01, method="failing")
    assert isinstance(stop.value.__cause__, NotImplementedError)
