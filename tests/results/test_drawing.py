"""Drawings and films: bodies are where the model says, and files keep what a viewer needs."""

from __future__ import annotations

import json
from dataclasses import replace

import numpy as np
import pytest
from random_models import random_flat
from scipy.spatial.transform import Rotation

import vitree as vt
from vitree import vehicles
from vitree.errors import InputError
from vitree.model.contacts import unilateral_gaps
from vitree.results.drawing import WORLD, Drawing, drawing_of, poses
from vitree.results.film import Film
from vitree.results.filming import film_of


def matrix(pose):
    X = np.eye(4)
    X[:3, :3], X[:3, 3] = Rotation.from_quat(pose[3:]).as_matrix(), pose[:3]
    return X


def crane():
    tree = vt.Tree("crane")
    tree.world.add(vt.tx("trolley", kinematic=True), vt.frame("hook"))
    tree.world.add(vt.tx("x"), vt.tz("z"), vt.body("weight", mass=5.0))
    tree.constrain(vt.Distance("hook", "weight", 2.0))
    tree.load(vt.Spring("world", "weight", 10.0), vt.Damper("hook", "weight", 1.0), vt.Gravity(["weight"]))
    return tree.compile()


@pytest.mark.parametrize("seed", range(4))
def test_every_frame_and_mass_is_where_the_model_has_it(seed):
    model = vt.Model(random_flat(np.random.default_rng(seed), 8))
    drawing = drawing_of(model)
    assert len(set(drawing.bodies)) == len(drawing.bodies) == model.nbody
    q = model.random_configuration(np.random.default_rng(seed))
    placed = poses(model, q)
    expected = model.frame_poses(q)
    for mark in drawing.frames:
        X = matrix(mark.pose) if mark.body == WORLD else matrix(placed[mark.body]) @ matrix(mark.pose)
        np.testing.assert_allclose(X, expected[mark.name], atol=1e-12)
    moving = [m for m in drawing.masses if m.body != WORLD]
    centre = sum(m.mass * (matrix(placed[m.body]) @ [*m.com, 1.0])[:3] for m in moving) / sum(m.mass for m in moving)
    np.testing.assert_allclose(centre, model.center_of_mass(q), atol=1e-12)


def test_reduced_models_are_drawn_with_their_followers():
    tree = vt.Tree("two")
    for name in "ab":
        tree.world.add(vt.ry(name), vt.tz(-1.0), vt.body(f"link {name}", mass=1.0))
    tree.constrain(vt.gear("b", "a", -2.0))
    model = tree.compile()
    reduced = model.reduced()
    assert reduced.nq == 1 and len(drawing_of(reduced).bodies) == 2
    np.testing.assert_array_equal(poses(reduced, [0.3]), poses(model, reduced.expand(np.array([0.3]))))
    run = vt.simulate(reduced, [0.3], duration=0.1, dt=0.01)
    np.testing.assert_allclose(film_of(run).poses[0], poses(reduced, [0.3]), atol=1e-6)


@pytest.mark.parametrize("make", [vehicles.car, vehicles.snakeboard, vehicles.helicopter, vehicles.boat])
def test_vehicles_draw_themselves(make):
    vehicle = make()
    drawing = drawing_of(vehicle)
    assert drawing.shapes and drawing.masses[0].mass == vehicle.total_mass
    q = vehicle.neutral()
    for name, pose in zip(drawing.bodies, poses(vehicle, q), strict=True):
        np.testing.assert_allclose(matrix(pose), vehicle.frame_poses(q)[name], atol=1e-12)


def test_lines_join_the_frames_that_loads_and_constraints_name():
    model = crane()
    drawing = drawing_of(model)
    assert [line.kind for line in drawing.lines] == ["wire", "spring", "damper"]
    q = np.array([0.5, 1.0, -3.0])
    placed = poses(model, q)
    wire, spring, _ = drawing.lines
    ends = [(matrix(placed[k]) @ [*p, 1.0])[:3] for k, p in ((wire.a, wire.point_a), (wire.b, wire.point_b))]
    np.testing.assert_allclose(ends, [[0.5, 0, 0], [1.0, 0, -3.0]], atol=1e-12)
    assert spring.a == WORLD and spring.point_a == (0.0, 0.0, 0.0)


def swinging_rope(start=(0.2, -1.0)):
    """A weight on a rope of 1.5 m, through an eye on a trolley and tied in the world; both move."""
    tree = vt.Tree("rope")
    tree.world.add(vt.tx("trolley"), vt.body("cart", 5.0, (0.1, 0.1, 0.1)), vt.fixed("eye", (0, 0, 0.1)))
    tree.world.add(vt.tx("x"), vt.tz("z"), vt.body("weight", 2.0))
    tree.constrain(vt.Rope([("world", (-0.3, 0, 0.1)), "eye", ("weight", (0, 0.05, 0))], 1.5, label="rope"))
    tree.start = {"x": start[0], "z": start[1]}
    return tree.compile()


def test_ropes_run_through_their_points_and_are_slack_where_the_model_says():
    model = swinging_rope()
    drawing = drawing_of(model)
    (cord,) = drawing.cords
    assert cord.name == "rope" and cord.length == 1.5 and WORLD in cord.bodies
    assert Drawing.from_plain(json.loads(json.dumps(drawing.plain()))) == drawing
    rng = np.random.default_rng(0)
    for q in rng.uniform(-1.0, 1.0, (20, 3)):
        path, slack = cord.path(poses(model, q))
        cart, weight = (model.frame_pose(name, q) for name in ("eye", "weight"))
        np.testing.assert_allclose(path, [(-0.3, 0, 0.1), cart[:3, 3], (weight @ [0, 0.05, 0, 1])[:3]], atol=1e-15)
        (gap,) = unilateral_gaps(model, q)[1]
        assert slack == (gap > 1e-4 * 1.5)


@pytest.mark.parametrize("axis", [(0, 0.6, 0.8), None])
@pytest.mark.parametrize("way", [{"turn": 1}, {"turn": -1}, {"side": (0.3, 0, 0)}, {}])
def test_a_rope_is_drawn_around_pulleys_as_long_as_it_is(axis, way):
    """The path of points is an inscribed polygon of the rope: a little shorter than the model has it, and outside."""
    if axis is None and "turn" in way:
        pytest.skip("a sphere has no sense")
    tree = vt.Tree("drum")
    tree.world.add(vt.free("float"), vt.body("drum", 1.0, (0.1, 0.1, 0.1)))
    tree.world.add(vt.free("other"), vt.body("weight", 2.0, (0.1, 0.1, 0.1)))
    pulley = vt.Pulley("drum", 0.1, axis, (0.02, 0.01, 0.03), **way)
    tree.constrain(vt.Rope([("world", (0.4, 0.2, 0)), pulley, ("weight", (0, 0.05, 0))], 3.0))
    model = tree.compile()
    drawing = drawing_of(model)
    assert Drawing.from_plain(json.loads(json.dumps(drawing.plain()))) == drawing
    (cord,), (drum,) = drawing.cords, (s for s in drawing.shapes if s.link == "drum" and s.size[0] == 0.1)
    assert drum.kind == ("sphere" if axis is None else "cylinder")
    rng, wrapped = np.random.default_rng(0), 0
    for _ in range(200):
        q = model.random_configuration(rng)
        q[:3], q[7:10] = rng.normal(size=3) * 0.1, rng.normal(size=3) * 0.4
        path, _ = cord.path(poses(model, q))
        drawn, length = np.linalg.norm(np.diff(path, axis=0), axis=1).sum(), 3.0 - unilateral_gaps(model, q)[1][0]
        assert len(path) == cord.count and 0.998 * length < drawn < length + 1e-12
        X = model.frame_pose("drum", q)
        local = (path[1:-1] - X[:3, 3]) @ X[:3, :3]
        away = [pulley.off_axis(point) for point in local]
        if drawn < length - 1e-9:
            assert np.allclose(away, 0.1, atol=1e-12)
            wrapped += 1
    assert wrapped > 8


def test_what_is_drawn_of_links_without_shapes():
    box = vt.Geometry("bar", "box", (1.0, 0.1, 0.1), np.eye(3), np.zeros(3), rgba=(1.0, 0.0, 0.0, 1.0))
    lost = vt.Geometry("bar", "mesh", (1.0, 1.0, 1.0), np.eye(3), np.zeros(3), filename="bar.stl", found=False)

    def shapes(*geometry):
        tree = vt.Tree("x")
        bar = vt.body("bar", mass=2.0, inertia=(0.1, 0.2, 0.25), com=(0.5, 0, 0), geometry=geometry)
        tree.world.add(vt.ry("hinge"), bar)
        return drawing_of(tree.compile()).shapes

    assert [s.rgba for s in shapes(box)] == [box.rgba]
    drawn = shapes(replace(box, role="collision"), lost)
    assert [s.kind for s in drawn if s.found] == ["box"]  # what can be drawn stands in
    assert [s.filename for s in drawn if not s.found] == ["bar.stl"]  # viewers tell what is missing
    for made in (shapes(), shapes(lost)):
        assert sorted({s.link for s in made}) == ["bar", "joint", "stick"]
        solid = next(s for s in made if s.link == "bar" and s.found)
        x, y, z = solid.size  # a box of the same mass and moments, in whatever order of its axes
        moments = sorted(2.0 / 12 * np.array([y * y + z * z, x * x + z * z, x * x + y * y]))
        np.testing.assert_allclose(moments, [0.1, 0.2, 0.25], rtol=1e-9)


def test_files_keep_the_film(tmp_path):
    model = crane()
    run = vt.simulate(model, [0.0, 0.0, -2.0], duration=2.0, dt=0.001, method="midpoint",
                      control=vt.Control(prescribed={"trolley": lambda t: 0.1 * t}))  # fmt: skip
    film = film_of(run)
    assert len(film.t) == 600 and film.t[0] == 0.0 and film.t[-1] == run.t[-1]
    for k in (0, 300, 599):
        record = int(np.abs(run.t - film.t[k]).argmin())
        np.testing.assert_allclose(film.poses[k], poses(model, run.q[record]), atol=1e-6)
    loaded = vt.Trajectory.load(run.save(tmp_path / "run.npz"))
    assert loaded.system is None and film_of(loaded).drawing == film.drawing
    np.testing.assert_array_equal(film_of(loaded).poses, film.poses)
    again = vt.Trajectory.load(loaded.save(tmp_path / "again.npz"))
    np.testing.assert_array_equal(film_of(again).poses, film.poses)
    with pytest.raises(InputError, match="neither a model nor pictures"):
        film_of(replace(loaded, film=None))


def test_drawings_survive_json():
    for system in (crane(), vehicles.car(), vt.load_urdf(vt.find_robot("human"), base="free")):
        drawing = drawing_of(system)
        assert Drawing.from_plain(json.loads(json.dumps(drawing.plain()))) == drawing


def test_between_pictures_a_body_turns_the_shorter_way():
    drawing = drawing_of(vehicles.helicopter())
    turns = Rotation.from_euler("z", [[0.1], [0.3]]).as_quat()
    film = Film(drawing, [0.0, 1.0], np.array([[[0, 0, 0, *turns[0]]], [[2, 0, 0, *-turns[1]]]]))
    middle = film.at(0.5)[0]
    np.testing.assert_allclose(middle[:3], [1, 0, 0], atol=1e-6)
    assert Rotation.from_quat(middle[3:]).magnitude() == pytest.approx(0.2, abs=1e-6)
    np.testing.assert_allclose(film.at(-1.0), film.poses[0], atol=1e-7)
    np.testing.assert_allclose(film.at(7.0), film.poses[1], atol=1e-7)


def test_a_run_beyond_all_bounds_is_drawn_as_far_as_it_goes():
    car = vehicles.car()
    run = vt.simulate(car, duration=1.0, dt=0.1)
    q = run.q.copy()
    q[5:, 3] = 1e30
    q[8:] = np.nan
    assert len(film_of(replace(run, q=q)).t) == 5
    with pytest.raises(InputError, match="no record"):
        film_of(replace(run, q=q + np.nan))


def swing(**options):
    tree = vt.Tree("pendulum")
    tree.world.add(vt.ry("hinge"), vt.tz(-1.0), vt.body("bob", mass=1.0))
    return vt.simulate(tree.compile(), [1.0], **({"duration": 1.0, "dt": 0.01} | options))


def test_a_part_of_a_loaded_run_has_that_part_of_the_film(tmp_path):
    run = swing(t0=-3.0)
    loaded = vt.Trajectory.load(run.save(tmp_path / "run.npz"))
    for part in (slice(10, 31), slice(30, 9, -1), slice(7, 8), [40, 2, 9], run.t > -2.5):
        film, own = film_of(loaded[part]), run.t[part]
        assert film.t[0] == own.min() and film.t[-1] == own.max()
        for t in own:
            np.testing.assert_allclose(film.at(t), film_of(run).at(t), atol=1e-6)
    kept = vt.Trajectory.load(loaded[10:31].save(tmp_path / "part.npz"))
    assert film_of(kept).t[-1] == run.t[30]
    for empty in (loaded[:0], run[:0], vt.Trajectory.load(loaded[:0].save(tmp_path / "none.npz"))):
        with pytest.raises(InputError, match="no records"):
            film_of(empty)


def test_a_run_backwards_has_the_same_film():
    run = swing()
    for t in (0.0, 0.25, 1.0):
        np.testing.assert_array_equal(film_of(run[::-1]).at(t), film_of(run).at(t))


def test_films_of_many_bodies_stay_small(monkeypatch):
    monkeypatch.setattr("vitree.results.filming.MOST_POSES", 100)
    film = film_of(swing(duration=10.0))
    assert len(film.t) == 100 and film.t[-1] == 10.0  # one body
    monkeypatch.setattr("vitree.results.filming.MOST_POSES", 1)
    film = film_of(swing(duration=10.0))
    assert film.t.tolist() == [0.0, 10.0]  # at least the ends


def damaged(path, drawing=None, arrays=None, **header):
    with np.load(path) as file:
        content = dict(file)
    known = json.loads(str(content["header"]))
    content["header"] = json.dumps(known | header | {"drawing": known["drawing"] | (drawing or {})})
    np.savez(path, **(content | (arrays or {})))
    return path


SHAPE = {"body": 0, "kind": "box", "size": [1.0, 1.0, 1.0], "pose": [0, 0, 0, 0, 0, 0, 1], "link": "bob"}
ABOUT = {"units": {"q": ["rad"], "v": ["rad/s"], "p": ["?"]}, "gravity": [0, 0, -9.81], "total_mass": 1.0,
         "is_free_floating": False, "conservative": True}  # fmt: skip
LINE = {"name": "x", "kind": "wire", "a": 0, "b": -1, "point_a": [0, 0, 0], "point_b": [0, 0, 0]}
CORD = {"name": "rope", "length": 1.0, "bodies": [0, -1], "points": [[0, 0, 0], [1, 0, 0]]}
DRUM = [1, 0.1, [0, 0, 1], [0, 0, 0], 1]
WRAPPED = {"name": "rope", "length": 1.0, "bodies": [0, 0, -1], "points": [[0, 0, 0], [1, 0, 0], [2, 0, 0]]}


@pytest.mark.parametrize("what", [
    {"model_name": 5}, {"method": None}, {"settings": []}, {"settings": {"dt": "x"}}, {"q_names": "j"},
    {"v_names": [1]}, {"steps": float("inf")}, {"about": {"units": {}}}, {"about": ABOUT | {"gravity": [1]}},
    {"about": ABOUT | {"total_mass": "x"}}, {"about": ABOUT | {"units": {"q": [], "v": ["rad/s"], "p": ["?"]}}},
    {"drawing": {"extent": -1.0}},
    {"drawing": {"bodies": [{}]}}, {"drawing": {"extent": float("nan")}},
    {"drawing": {"shapes": [SHAPE | {"body": 1}]}}, {"drawing": {"shapes": [SHAPE | {"kind": "cone"}]}},
    {"drawing": {"shapes": [SHAPE | {"size": [1.0]}]}}, {"drawing": {"shapes": [SHAPE | {"pose": [0.0]}]}},
    {"drawing": {"lines": [LINE | {"kind": "rope"}]}}, {"drawing": {"lines": [LINE | {"a": -2}]}},
    {"drawing": {"cords": [CORD | {"bodies": [0]}]}}, {"drawing": {"cords": [CORD | {"bodies": [0, 7]}]}},
    {"drawing": {"cords": [CORD | {"pulleys": [[0, 0.1, [0, 0, 1], [0, 0, 0], 1]]}]}},
    {"drawing": {"cords": [WRAPPED | {"pulleys": [[1, -0.1, [0, 0, 1], [0, 0, 0], 1]]}]}},
    {"drawing": {"cords": [WRAPPED | {"pulleys": [[1, 0.1, [0, 0, 2], [0, 0, 0], 1]]}]}},
    {"drawing": {"cords": [CORD | {"points": [[0, 0, 0], [1, 2]]}]}}, {"drawing": {"cords": [CORD | {"length": "x"}]}},
    {"drawing": {"masses": [{"name": "bob", "body": 0, "com": [0, 0, 0], "mass": 0.0}]}},
    {"arrays": {"film: t": np.arange(101.0)[::-1]}}, {"arrays": {"film: t": np.full(101, np.nan)}},
    {"arrays": {"film: t": np.zeros(0), "film: poses": np.zeros((0, 1, 7))}},
    {"arrays": {"film: poses": np.full((101, 1, 7), np.nan)}}, {"arrays": {"header": np.array("[" * 99999)}},
], ids=str)  # fmt: skip
def test_files_that_say_what_no_run_says_are_refused(what, tmp_path):
    path = swing().save(tmp_path / "run.npz")
    assert vt.Trajectory.load(damaged(path)).model_name == "pendulum"
    if "drawing" in what:
        good = {"shapes": [SHAPE], "lines": [LINE], "cords": [CORD, WRAPPED | {"pulleys": [DRUM]}]}
        assert film_of(vt.Trajectory.load(damaged(path, drawing=good))).drawing.shapes[0].kind == "box"
    with pytest.raises(InputError, match=r"run\.npz"):
        vt.Trajectory.load(damaged(path, **what))


def test_damaged_files_are_refused_whatever_the_damage(tmp_path):
    path = swing(duration=0.05).save(tmp_path / "run.npz")
    whole, rng = path.read_bytes(), np.random.default_rng(0)
    for _ in range(600):
        data = bytearray(whole)
        for k in rng.integers(len(data), size=rng.integers(1, 20)):
            data[k] = rng.integers(256)
        path.write_bytes(data)
        try:
            vt.Trajectory.load(path)
        except InputError:
            continue
