"""Scenes by which simulators are judged: each runs, measures what is true, and is the same scene in MuJoCo."""

from __future__ import annotations

import csv
import functools
import io
import json

import numpy as np
import pytest

import vitree as vt
from vitree.scenes import base, flight, peer, running
from vitree.scenes.base import SCENES, SkippedError, Stage
from vitree.scenes.running import METHODS, own_run, scenes

#: Bounds of the quick scenes, by the beginnings of the names of their numbers.
CLAIMS = {
    "rolling": {"position error of the balls": 1e-8, "position error of the box": 1e-8, "penetration": 1e-12},
    "bouncing": {"energy error": 1e-12, "penetration": 0.1},
    "bouncing-ball": {"error of the heights": 2e-3},
    "cradle": {"velocity error": 1e-12, "momentum": 1e-12, "energy": 1e-12},
    "tippe-top": {"Jellett": 1e-8, "error of the axis": 1e-4, "energy gained": 1e-9, "penetration": 1e-9},
    "sliding-cube": {"position": 1e-9, "drift": 1e-9, "Signorini": 1e-9, "maximum dissipation": 1e-9, "dual": 1e-8,
                     "friction beyond": 1e-12, "penetration": 1e-10},
    "spinning-cube": {"Signorini": 1e-9, "maximum dissipation": 1e-6, "dual": 1e-8, "friction beyond": 1e-12,
                      "energy gained": 1e-9, "penetration": 1e-10},
    "mass-ratio": {"motion": 1e-10, "penetration": 1e-10, "error of the weight": 1e-6},
    "rocking-block": {"error of the ratio": 0.02, "penetration": 1e-10},
    "painleve-rod": {"error at the end": 1e-5, "penetration": 1e-10},
    "anymal-falls": {"energy": 2e-3, "angular": 1e-8, "error of the centre": 1e-9},
    "anymal-hit": {"linear momentum": 1e-12, "kinetic energy gained": 1e-12, "penetration": 1e-9},
    "anymal-stands": {"penetration": 1e-9, "feet move": 1e-3},
    "talos-stiff": {"penetration": 1e-9},
    "boxes-simple": {"position": 1e-9, "velocity": 1e-11, "angular": 1e-8, "energy": 1e-8},
    "boxes-complex": {"position": 1e-9, "velocity": 1e-11, "angular": 1e-7, "energy": 1e-6},
    "pendulum": {"energy": 1e-4},
    "floating-humanoid": {"linear": 1e-12, "angular": 1e-12, "centre": 1e-9},
    "g1-flight": {"angular": 1e-10, "joint error": 0.03},
    "tower": {"motion": 1e-12, "penetration": 1e-12}, "card-house": {"motion": 1e-9, "penetration": 1e-12},
    "arch": {"motion": 1e-12, "penetration": 1e-12},
    "dominoes": {"energy gained": 1e-6, "penetration": 1e-10, "speed": 2.0},
    "cube-on-cube": {"motion": 1e-12, "penetration": 1e-12},
    "balls-666": {"energy gained": 1e-12, "penetration": 1e-11},
    "boxes-444": {"energy gained": 1e-12, "penetration": 1e-11},
    "gripper": {"slip": 1e-11, "penetration": 1e-11}, "hand": {"slip": 1e-11, "penetration": 1e-11},
    **{f"{name}-soles": {"creep": 5e-3, "penetration": 1e-11} for name in ("talos", "romeo", "icub")},
    "incline": {"motion": 1e-12, "error of what slides": 1e-10, "penetration": 1e-12},
    "rolling-cone": {"angle after": 1e-10, "apex": 1e-11, "energy": 1e-7, "penetration": 1e-12},
    "coin": {"error of the tilt": 3e-5, "error of the rate": 1e-5, "energy": 1e-8, "centre": 1e-6,
             "penetration": 1e-12},
    "spinning-egg": {"Jellett": 1e-3, "energy gained": 1e-9, "error of the axis": 3e-5, "penetration": 1e-12},
    "celt": {"energy error": 3e-6, "penetration": 1e-12},
}  # fmt: skip

#: The same of midpoint, whose mean poses of free bodies are of second order: momentum is kept to that order.
OF_MIDPOINT = {
    ("anymal-falls", "angular"): 1e-4, ("anymal-falls", "error of the centre"): 1e-4,
    ("boxes-simple", "position"): 1e-6, ("boxes-simple", "angular"): 1e-5, ("boxes-simple", "energy"): 1e-6,
    ("boxes-complex", "position"): 1e-5, ("boxes-complex", "angular"): 1e-4, ("boxes-complex", "energy"): 1e-5,
    ("floating-humanoid", "centre"): 1e-6,
}  # fmt: skip


@functools.cache
def stage_of(name: str) -> Stage:
    try:
        return SCENES[name].prepare(True)
    except SkippedError as error:
        pytest.skip(str(error))


@functools.cache
def run_of(name: str, method: str):
    return own_run(stage_of(name), method)


def test_every_scene_has_claims():
    assert set(CLAIMS) == set(SCENES)


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("name", SCENES)
def test_scenes_keep_their_claims(name, method):
    stage = stage_of(name)
    motion, halved = run_of(name, method)
    found = stage.measure(motion)
    assert halved == 0 and all(key.endswith("]") and " [" in key for key in found)
    for begins, bound in CLAIMS[name].items():
        bound = OF_MIDPOINT.get((name, begins), bound) if method == "midpoint" else bound
        values = [value for key, value in found.items() if key.startswith(begins)]
        assert values, f"no number begins with {begins}"
        assert all(0 <= value <= bound for value in values), (begins, values)


def test_a_blow_keeps_the_angular_momentum():
    stage = stage_of("anymal-hit")
    found = stage.measure(run_of("anymal-hit", "linear-time")[0])
    assert found["angular momentum error [1]"] < 1e-9


@pytest.mark.parametrize("name", SCENES)
def test_measures_see_what_is_wrong(name):
    """A run that is spoiled by 1 mm or mrad in q and 1 mm/s or mrad/s in v breaks claims."""
    stage = stage_of(name)
    motion, _ = run_of(name, "linear-time")
    rng = np.random.default_rng(0)
    spoiled = base.Motion(
        t=motion.t, seconds=0.0, log=motion.log, impulse=motion.impulse,
        q=np.array([stage.model.integrate(q, 1e-3 * rng.standard_normal(stage.model.nv)) for q in motion.q]),
        v=motion.v + 1e-3 * rng.standard_normal(motion.v.shape),
    )  # fmt: skip
    found = stage.measure(spoiled)
    if name == "talos-stiff" or name in ("anymal-stands", "rocking-block", "bouncing-ball", "mass-ratio"):
        assert found != stage.measure(motion)
    broken = [begins for begins, bound in CLAIMS[name].items()
              if any(not 0 <= value <= bound for key, value in found.items() if key.startswith(begins))]  # fmt: skip
    assert broken


# ---- the same in MuJoCo -------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", SCENES)
def test_the_peer_has_the_same_scene(name):
    """Kinetic energy, centre of mass, momentum and gaps of MuJoCo's model at random states are ours."""
    mujoco = pytest.importorskip("mujoco")
    stage = stage_of(name)
    model, theirs, way = stage.model, peer.compiled(stage), peer.States(stage.model)
    data, rng = mujoco.MjData(theirs), np.random.default_rng(0)
    assert (theirs.nq, theirs.nv) == (model.nq, model.nv)
    for _ in range(3):
        q = model.integrate(stage.q, 0.1 * rng.standard_normal(model.nv))
        v = rng.standard_normal(model.nv)
        data.qpos[:], data.qvel[:] = q[way.order], way.velocity(q, v, 1.0)
        np.testing.assert_allclose(data.qpos[way.back], q, rtol=0, atol=0)
        np.testing.assert_allclose(way.velocity(q, data.qvel, -1.0), v, rtol=0, atol=1e-14)
        mujoco.mj_forward(theirs, data)
        product = np.zeros(theirs.nv)
        mujoco.mj_mulM(theirs, data, product, data.qvel)
        assert 0.5 * data.qvel @ product == pytest.approx(model.kinetic_energy(q, v), rel=1e-6)
        com = data.subtree_com[0]
        np.testing.assert_allclose(com, model.center_of_mass(q), rtol=0, atol=1e-6)
        mujoco.mj_subtreeVel(theirs, data)
        np.testing.assert_allclose(data.subtree_linvel[0] * model.total_mass, model.momentum(q, v)[3:], atol=1e-4)
    if model.has_contact:
        data.qpos[:] = stage.q[way.order]
        mujoco.mj_forward(theirs, data)
        ours = model.contact_gaps(stage.q).gap
        closed = np.sort(ours[ours < -1e-9])
        assert len(closed) <= data.ncon or data.ncon == 0
        if data.ncon:
            assert abs(data.contact.dist[: data.ncon].min() - ours.min()) < 1e-5


def test_the_peer_rebounds_as_its_spring_says():
    """The spring that stands for restitution gives back about that share of the speed."""
    pytest.importorskip("mujoco")
    stage = stage_of("bouncing-ball")
    motion = peer.run(stage)
    heights = motion.q[:, 2] - 0.1
    apex = np.flatnonzero((heights[1:-1] > heights[:-2]) & (heights[1:-1] >= heights[2:]))[0] + 1
    assert heights[apex] == pytest.approx(0.64, abs=0.08)


def test_the_peer_says_what_it_cannot_do():
    pytest.importorskip("mujoco")
    tree = vt.Tree("screw")
    tree.world.add(vt.pairs.helical("h", pitch=0.1), vt.body("a", 1.0, (0.1, 0.1, 0.1)))
    model = tree.compile()
    stage = Stage(model=model, q=model.neutral(), v=model.zero_velocity(), duration=0.1, dt=0.01, measure=lambda _: {})
    with pytest.raises(NotImplementedError, match="helical"):
        peer.run(stage)


# ---- the table ----------------------------------------------------------------------------------------------


def test_a_table_of_scenes():
    seen = []
    table = scenes(["cradle", "boxes-simple"], METHODS, quick=True, peers=False,
                   progress=lambda *now: seen.append(now))  # fmt: skip
    assert seen[-1] == (2, 2, "scenes") and table.programs == list(METHODS)
    assert [each["name"] for each in table.scenes] == ["cradle", "boxes-simple"]
    assert table.value("cradle", "velocity error", "midpoint") < 1e-12
    text = str(table)
    assert "boxes-simple" in text and "velocity error [m/s]" in text and text.count("linear-time") == 2
    content = json.loads(table.to_json())
    assert content["settings"]["quick"] is True and content["table"] == table.table
    rows = list(csv.DictReader(io.StringIO(table.to_csv())))
    assert len(rows) == len(table.table) and rows[0]["scene"] == "cradle"
    assert float(rows[0]["value"]) == table.table[0]["value"]
    with pytest.raises(vt.InputError, match='no "mass" of "cradle"'):
        table.value("cradle", "mass", "midpoint")


def test_what_is_missing_is_said(monkeypatch):
    def absent(name):
        raise vt.UnknownNameError("robot", name, ["human"])

    monkeypatch.setattr("vitree.scenes.robots.find_robot", absent)
    monkeypatch.setattr(running, "_installed", lambda: False)
    table = scenes(["g1-flight", "cradle"], quick=True)
    assert [each["name"] for each in table.scenes] == ["cradle"] and table.programs == ["linear-time"]
    assert any(note.startswith("g1-flight: skipped: the robot g1 is not installed") for note in table.notes)
    assert "mujoco is not installed; scenes run without it." in table.notes


def test_a_scene_that_is_not_solved_is_said(monkeypatch):
    def fails(*_, **__):
        raise vt.ConvergenceError("step 3 is not solved", time=0.0, residual=1.0, iterations=3)

    monkeypatch.setattr(running, "simulate", fails)
    table = scenes(["cradle"], quick=True, peers=False)
    assert table.table == [] and "cradle: linear-time is not solved: step 3 is not solved" in table.notes
    assert "cradle" in str(table)


@pytest.mark.parametrize(("given", "name"), [({"names": ["rollin"]}, "rolling"), ({"methods": ["rk4"]}, "midpoint")])
def test_names_that_are_not_there(given, name):
    with pytest.raises(vt.UnknownNameError, match=name):
        scenes(**given)


# ---- the measures -------------------------------------------------------------------------------------------


def test_measures_of_motions():
    tree = vt.Tree("two", gravity=(0, 0, -10))
    for k in range(2):
        tree.world.add(vt.free(f"f{k}"), vt.body(f"b{k}", 2.0, (0.1,) * 3))
    model = tree.compile()
    q = np.tile(model.neutral(), (2, 1))
    q[:, 2], q[1, 7] = 3.0, 4.0
    q[:, 10:14] = 0, 0, np.sqrt(0.5), np.sqrt(0.5)  # the second is turned by 90 degrees about z
    v = np.tile([1.0, 0, 0, 0, 0, 0, 0, 3.0, 0, 0, 0, 0], (2, 1))
    motion = base.Motion(t=np.array([0.0, 1.0]), q=q, v=v, seconds=0.0, impulse=np.zeros((2, 3)))
    np.testing.assert_allclose(base.free_velocity(motion, 0), [[1, 0, 0]] * 2)
    np.testing.assert_allclose(base.free_velocity(motion, 1), [[-3, 0, 0]] * 2, atol=1e-12)
    np.testing.assert_allclose(base.energy(model, motion), [[10, 60]] * 2)
    np.testing.assert_allclose(base.momentum(model, motion)[0, 3:], [-4, 0, 0], atol=1e-12)
    np.testing.assert_allclose(base.center(model, motion)[:, 0], [0, 2])
    assert base.share(np.array([2.0, 3.0, 1.5]), 4.0) == 0.25
    assert base.share(np.array([[0.0, 0], [3, 4]]), 10.0) == 0.5 and base.largest([]) == 0.0


def test_shapes_along_an_axis_are_turned_to_it():
    for axis, R in flight.ALONG.items():
        np.testing.assert_array_equal(R @ R.T, np.eye(3))
        assert np.linalg.det(R) > 0 and np.array_equal(R[:, 2], np.eye(3)["xyz".index(axis)])


@pytest.mark.parametrize("name", ["boxes-simple", "boxes-complex"])
def test_the_box_in_flight_has_the_inertia_of_its_edges(name):
    flat = stage_of(name).model.flat
    x, y, z = 0.1, 0.4, 0.9  # edges [m]
    moments = flat.mass[-1] / 12 * np.array([y**2 + z**2, z**2 + x**2, x**2 + y**2])
    assert flat.mass[-1] == 10.0
    np.testing.assert_allclose(np.ravel(flat.inertia[-1]), np.diag(moments).ravel(), rtol=1e-7)
