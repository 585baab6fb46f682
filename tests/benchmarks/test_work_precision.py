"""The benchmark of error against time: its peers simulate the same motion, and its tables say what was measured."""

from __future__ import annotations

import sys

import numpy as np
import pytest
from places import ROOT

pytest.importorskip("pinocchio")
mujoco = pytest.importorskip("mujoco")
sys.path.insert(0, str(ROOT / "benchmarks"))
import peers  # noqa: E402
import starts  # noqa: E402
import work_precision  # noqa: E402
from work_precision import Point, least_of, time_to  # noqa: E402


@pytest.fixture(scope="module", params=["chain10", "talos"])
def bench(request):
    motion = starts.smooth_motion(request.param)
    motion.duration = 0.2
    return work_precision.Bench(motion, 1)


def test_the_reference_is_that_of_rk8(bench):
    assert 0 < bench.floor < 1e-10


@pytest.mark.parametrize("way", ["pinocchio", "mujoco"])
def test_peers_converge_to_the_same_end(bench, way):
    """Their Runge-Kutta method has the order 4 on the motion of vitree, also with a free base."""
    run = bench.pinocchio_rk4 if way == "pinocchio" else lambda steps: bench.mujoco("mjINT_RK4", steps)
    errors = [bench.error(run(steps)[0]) for steps in (40, 80, 160)]
    assert errors[-1] < 1e-5
    assert np.log2(errors[0] / errors[-1]) / 2 == pytest.approx(4.0, abs=0.4)


def test_dop853_on_pinocchio_ends_there(bench):
    assert bench.error(bench.scipy(1e-12)[0]) < 1e-9


@pytest.mark.parametrize("name", ["pinocchio", "mujoco"])
def test_states_go_to_a_peer_and_back(bench, name):
    """The kinetic energy is that of the peer, and nothing is lost on the way."""
    import pinocchio as pin

    rng, model, motion = np.random.default_rng(1), bench.model, bench.motion
    q, v = model.integrate(model.neutral(), rng.normal(size=model.nv)), rng.normal(size=model.nv)
    if name == "pinocchio":
        way = bench.of_pin
        theirs = way.theirs(q, v)
        energy = pin.computeKineticEnergy(bench.pin_model, bench.pin_model.createData(), *theirs)
    else:
        robot = peers.mujoco_model(motion.text, motion.free)
        data, product = mujoco.MjData(robot), np.empty(robot.nv)
        way = peers.mujoco_coordinates(model, robot, motion.free)
        theirs = data.qpos[:], data.qvel[:] = way.theirs(q, v)
        mujoco.mj_forward(robot, data)
        mujoco.mj_mulM(robot, data, product, data.qvel)
        energy = 0.5 * data.qvel @ product
    assert energy == pytest.approx(model.kinetic_energy(q, v), rel=1e-9)
    back = way.ours(*theirs)
    np.testing.assert_allclose(back[0], q, rtol=0, atol=1e-14)
    np.testing.assert_allclose(back[1], v, rtol=0, atol=1e-14)


def test_a_peer_of_other_joints_is_refused(bench):
    with pytest.raises(ValueError, match="not those of vitree"):
        peers.Coordinates(bench.model, ["elbow"], bench.motion.free)


def test_time_to_an_error_is_a_power_law_between_runs():
    points = [Point(f"{n}", 16.0 / n**4, 1e-3 * n) for n in (2, 4, 8, 16)]
    assert time_to(points, 16.0 / 5**4, 0.0) == pytest.approx(5e-3)
    assert time_to(points, 10.0, 0.0) == 2e-3  # the coarsest is good enough
    assert time_to(points, 1e-9, 0.0) == np.inf
    assert time_to([*points, Point("20", 1e-5, 1e-3)], 10.0, 0.0) == 1e-3  # a quick run of a small error
    assert time_to(points, 16.0 / 12**4, 1e-3) == np.inf  # below the floor nothing is told apart


def test_rounds_keep_the_least_seconds():
    rounds = [{"a": [Point("1", 1.0, 3.0), Point("2", 0.5, 4.0)]}, {"a": [Point("1", 1.0, 2.0), Point("4", 0.1, 9.0)]}]
    found = least_of(rounds)["a"]
    assert [(p.setting, p.seconds) for p in found] == [("1", 2.0), ("2", 4.0), ("4", 9.0)]


def test_the_picture_has_a_panel_for_each_motion(bench, tmp_path):
    matplotlib = pytest.importorskip("matplotlib")
    matplotlib.use("agg")
    points = {label: [Point("1", 1.0, 1e-3), Point("2", 1e-3, 2e-3)] for label in work_precision.STYLES}
    path = tmp_path / "work.png"
    work_precision.plot(str(path), {"one": (bench.motion, points, 1e-12), "two": (bench.motion, points, 1e-12)})
    assert path.stat().st_size > 10_000
    known = {*work_precision.METHODS, "mujoco rk4", "pinocchio + rk4", "scipy dop853 + pinocchio"}
    assert set(work_precision.STYLES) <= known
