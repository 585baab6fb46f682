"""The viewer without a browser: dials, what is shown, the nodes of the scene, and the page's text."""

from __future__ import annotations

import contextlib
import html
import http.client
import itertools
import json
import os
import re
import socket
import sys
import threading
import types
from dataclasses import replace

import numpy as np
import pytest
import viser
from random_models import random_flat
from scipy.spatial.transform import Rotation
from touching_models import GROUNDS, crawler, thrown

import vitree as vt
from vitree import vehicles
from vitree.errors import InputError
from vitree.results.drawing import MOST_HEIGHTS, Drawing, Surface, drawing_of, poses
from vitree.viewer import show, view, write_html
from vitree.viewer.dials import Dials
from vitree.viewer.page import page_of
from vitree.viewer.pushes import LENGTH, pushes_of
from vitree.viewer.source import energies_of, goes_far, travel_of, view_of_runs, what_to_show
from vitree.viewer.stage import DASHED, Cast, Stage, open_server, set_scene


@pytest.fixture(scope="module")
def server():
    server, _ = open_server("127.0.0.1", 8300, "test")
    yield server
    server.stop()


def four_bar():
    return vt.load_sexpr("""
      (mechanical-system (gravity 0 0 -9.81)
        (ry "crank" (tz -0.3 (name "pin") (mass 1)))
        (tx 0.8 (ry "rocker" (tz -0.9 (name "tip") (mass 2))))
        (distance "pin" "tip" 1.0))""")


def pendulum():
    tree = vt.Tree("pendulum")
    tree.world.add(vt.rx("hinge", lower=-1.0, upper=2.0), vt.tz(-1.0), vt.body("bob", mass=1.0))
    return tree


@pytest.mark.parametrize("seed", range(4))
def test_dials_reach_every_coordinate_and_read_what_they_set(seed):
    model = vt.Model(random_flat(np.random.default_rng(seed), 7))
    rng = np.random.default_rng(seed)
    dials = Dials(model, 2.0, model.random_configuration(rng))
    assert len(dials.dials) == model.nv  # three angles stand for each quaternion
    for dial in dials.dials:
        before = {d: dials.value(d) for d in dials.dials}
        value = rng.uniform(0.9 * dial.low, 0.9 * dial.high)
        assert dials.turn(dial, value)
        assert dials.value(dial) == pytest.approx(value, abs=1e-9)
        others = [d for d in dials.dials if d is not dial]
        np.testing.assert_allclose([dials.value(d) for d in others], [before[d] for d in others], atol=1e-9)
    dials.reset()
    np.testing.assert_array_equal(dials.q, dials.start)


def test_dials_have_the_joints_limits_and_a_start_outside_them_is_shown():
    model = pendulum().compile()
    assert [(d.label, d.low, d.high) for d in Dials(model, 1.0).dials] == [("hinge [rad]", -1.0, 2.0)]
    assert Dials(model, 1.0, [2.5]).dials[0].high == 2.5
    tree = vt.Tree("sliding")
    tree.world.add(vt.tx("way"), vt.body("block", mass=1.0))
    for extent, end in ((1.8161, 1.9), (3.288311, 3.3), (0.02, 0.1), (2.0, 2.0), (41.2, 42.0), (0.7, 0.7)):
        slide = Dials(tree.compile(), extent).dials[0]  # without limits: a number of two digits that is not smaller
        assert (slide.low, slide.high) == (-end, end)
    tree = vt.Tree("limited")
    rail = tree.world.add(vt.rx("hinge", lower=-0.2617994, upper=0.7853982), vt.tz(-1.0), vt.body("bob", mass=1.0))
    rail.add(vt.tx("finger", lower=0.0, upper=0.000812345), vt.body("tip", mass=1.0))
    hinge, finger = Dials(tree.compile(), 1.0).dials
    assert (hinge.low, hinge.high, finger.low, finger.high) == (-0.262, 0.786, 0.0, 0.0008124)
    car = vehicles.car()
    sigma = next(d for d in Dials(car, 1.0).dials if d.name == "sigma")
    assert 0 < np.tan(car.max_steering) - sigma.high < 1e-4
    assert [d.unit for d in Dials(car, 1.0).dials] == ["rad", "", "rad", "m", "m"]


def test_joints_that_constraints_bind_follow_the_dial():
    model = four_bar()
    dials = Dials(model, 1.0)
    crank = dials.dials[0]
    assert dials.turn(crank, 0.4)
    assert dials.q[0] == 0.4 and np.abs(model.constraint_errors(dials.q)).max() < 1e-10
    before = dials.q.copy()
    rocker = dials.dials[1]
    assert not dials.turn(rocker, -1.5)  # out of the crank's reach
    np.testing.assert_array_equal(dials.q, before)


def test_what_view_takes(tmp_path):
    tree = pendulum()
    model = tree.compile()
    run = vt.simulate(model, [1.0], duration=0.5, dt=0.01)
    path = run.save(tmp_path / "swing.npz")
    assert what_to_show(tree) == model and what_to_show(model) is model
    assert [r.label for r in what_to_show(run)] == ["linear-time"]
    assert [r.label for r in what_to_show(str(path))] == ["swing"]
    assert [r.label for r in what_to_show([run, path, run])] == ["linear-time", "swing", "linear-time linear-time"]
    assert [r.label for r in what_to_show({"a": run, "b": path})] == ["a", "b"]
    result = vt.compare(model, ["linear-time", "rk4"], [1.0], duration=0.2, dt=[0.01, 0.02], reference=False)
    labels = [r.label for r in what_to_show(result)]
    assert len(labels) == 4 and labels[0] == "linear-time, dt = 0.01 s"
    with pytest.raises(InputError, match="cannot show int"):
        what_to_show(3)
    with pytest.raises(InputError, match="no run"):
        what_to_show([])
    with pytest.raises(InputError, match="other coordinates"):
        what_to_show(run, four_bar())
    with pytest.raises(InputError, match="speed"):
        view(run, speed=0.0)


@pytest.mark.parametrize("first", [0, 1])
@pytest.mark.parametrize("dt", [0.1, 0.002])
def test_energy_of_a_run_that_failed_does_not_flatten_the_others(dt, first):
    model = pendulum().compile()
    runs = what_to_show({name: vt.simulate(model, [3.0], duration=20.0, dt=dt, method=name)
                         for name in ("linear-time", "explicit-euler")})  # fmt: skip
    of_calm = runs[0].trajectory
    _, curves = energies_of(runs[:: -1 if first else 1])
    calm, wild = curves[first], curves[1 - first]
    limit, error, share = np.abs(wild).max(), np.abs(calm).max(), 0.02 * of_calm.kinetic.max()
    # long steps: a hundred times the error of the calm run; short ones: a share of its kinetic energy
    assert limit == (100 * error if dt == 0.1 else share) == max(100 * error, share)
    assert error < limit and wild[-1] == limit  # it stays at the edge


def test_energy_that_is_infinite_stays_at_the_edge():
    calm = vt.simulate(pendulum().compile(), [3.0], duration=2.0, dt=0.1)
    for rows in (slice(0, None), slice(-2, None)):  # of a run that fails at once, and at its end
        kinetic = calm.kinetic.copy()
        kinetic[rows] = np.inf
        wild = replace(calm, kinetic=kinetic)
        _, (of_calm, found) = energies_of(what_to_show({"calm": calm, "wild": wild}))
        lost = ~(np.abs(found - of_calm) < 1e-12)
        assert np.isfinite(found).all() and (found[lost] == np.abs(found).max()).all()
        assert lost[-1] and lost[0] == (rows.start == 0)


def test_a_run_that_goes_far_is_followed(server):
    falls = vt.load_urdf(vt.find_robot("human"), base="free")
    run = what_to_show(vt.simulate(falls, duration=2.0, dt=0.01))[0]
    cast = Cast(server, [run], 0.0, None)
    assert cast.follow and goes_far(run)
    cast.show(2.0)
    travel = travel_of(run, 2.0)
    assert travel[2] == pytest.approx(-0.5 * 9.81 * 2.0**2, rel=1e-2)
    middle = travel_of(run, 2.0) + np.array(cast.stages[0].root.position)
    np.testing.assert_allclose(middle, 0.0, atol=1e-9)  # it stays, and the ground rises
    assert cast.ground.position[2] == pytest.approx(cast.view.ground - travel[2])
    cast.follow = False
    cast.show(2.0)
    assert tuple(cast.stages[0].root.position) == (0, 0, 0) and cast.ground.position[2] == cast.view.ground
    assert not goes_far(what_to_show(vt.simulate(pendulum().compile(), [1.0], duration=2.0, dt=0.01))[0])


def test_bodies_of_the_scene_are_where_the_poses_say(server):
    model = vt.load_urdf(vt.find_robot("panda"), base="fixed")
    stage = Stage(server.scene, "panda/1", drawing_of(model))
    assert stage.missing == [] and stage.path == "/panda_1"
    q = model.random_configuration(np.random.default_rng(0))
    placed = poses(model, q)
    stage.place(placed)
    for handle, pose in zip(stage.bodies, placed, strict=True):
        np.testing.assert_allclose(handle.position, pose[:3])
        np.testing.assert_allclose(handle.wxyz, pose[[6, 3, 4, 5]])
    assert not any(node.visible for node in stage.axes + stage.masses)
    stage.show(frames=True, masses=True)
    assert stage.axes and stage.masses and all(node.visible for node in stage.axes + stage.masses)


def test_springs_and_wires_end_at_their_points(server):
    tree = vt.Tree("weight")
    tree.world.add(vt.tx("x"), vt.tz("z"), vt.body("weight", mass=5.0))
    tree.constrain(vt.Distance("world", "weight", 2.0))
    tree.load(vt.Spring("world", "weight", 10.0))
    model = tree.compile()
    stage = Stage(server.scene, "weight", drawing_of(model))
    stage.place(poses(model, [0.0, -2.0]))
    points = np.array(stage.lines.points)
    np.testing.assert_allclose(points[0], [[0, 0, 0], [0, 0, -2]], atol=1e-6)
    np.testing.assert_allclose([points[1, 0], points[-1, 1]], [[0, 0, 0], [0, 0, -2]], atol=1e-6)
    np.testing.assert_allclose(points[2:, 0], points[1:-1, 1], atol=1e-6)  # the helix hangs together


def test_a_rope_hangs_together_while_it_pulls_and_is_dashed_and_lighter_while_it_is_slack(server):
    tree = vt.Tree("hoist")
    tree.world.add(vt.tx("x"), vt.tz("z"), vt.body("weight", mass=5.0))
    tree.constrain(vt.Rope([("world", (-0.5, 0, 0)), "world", "weight"], 1.5, label="a/b"))
    model = tree.compile()
    stage = Stage(server.scene, "hoist", drawing_of(model))
    ((taut, loose),) = stage.cords
    corner = [(-0.5, 0, 0), (0, 0, 0)]
    for q, slack in (([0.0, -1.0], False), ([0.3, -0.4], True), ([0.6, -0.8], False)):
        stage.place(poses(model, q))
        assert (taut.visible, loose.visible) == (not slack, slack)
        points, whole = np.array((loose if slack else taut).points), [*corner, (q[0], 0, q[1])]
        drawn = np.linalg.norm(points[:, 1] - points[:, 0], axis=1).sum()
        np.testing.assert_allclose([points[0, 0], points[-1, 1]], [whole[0], whole[-1]], atol=1e-6)
        if slack:
            assert np.linalg.norm(points[1:, 0] - points[:-1, 1], axis=1).min() > 0.01
            assert drawn == pytest.approx((0.5 + 0.5) * DASHED, rel=0.1)
        else:
            np.testing.assert_allclose(points, list(itertools.pairwise(whole)), atol=1e-6)
    assert loose.thickness < taut.thickness and np.sum(loose.colors) > np.sum(taut.colors)


def test_a_mesh_that_cannot_be_read_is_said_and_the_rest_is_drawn(tmp_path, server):
    bad = tmp_path / "bad.stl"
    bad.write_bytes(b"solid nothing")
    shapes = (vt.Geometry("bob", "mesh", (1.0, 1.0, 1.0), np.eye(3), np.zeros(3), filename=str(bad)),
              vt.Geometry("bob", "capsule", (0.1, 0.5), np.eye(3), np.zeros(3)))  # fmt: skip
    tree = vt.Tree("x")
    tree.world.add(vt.rx("hinge"), vt.body("bob", mass=1.0, geometry=shapes, com=(0, 0, -1.0)))
    stage = Stage(server.scene, "x", drawing_of(tree.compile()))
    assert len(stage.missing) == 1 and "bad.stl" in stage.missing[0]


def test_pages_are_whole_and_quiet(tmp_path, capfd):
    model = four_bar()
    run = vt.simulate(model, vt.satisfy_constraints(model, [0.5, 0.0]), duration=0.5, dt=0.01, method="midpoint")
    for source, options in ((model, {}), (run, {"speed": 0.5}), ({"<a>": run, "b": run}, {"spread": 1.0})):
        path = write_html(source, tmp_path / "page.html", **options)
        text = path.read_text()
        assert not re.search(r"<(script|link|img)[^>]*\b(src|href)=[\"']?(http|//)", text)
        data = json.loads(re.search(r'id="vitree-data">(.*?)</script>', text, re.S)[1])
        assert data["seconds"] > 0
        assert "&lt;a&gt;" in text or not isinstance(source, dict)
    assert [label for _, label in json.loads(re.search(
        r'id="vitree-data">(.*?)</script>', write_html(model, tmp_path / "m.html").read_text(), re.S)[1])["begins"]
    ] == ["crank", "rocker"]  # fmt: skip
    with pytest.raises(InputError, match="cannot write"):
        write_html(model, tmp_path / "no" / "page.html")
    out, err = capfd.readouterr()
    assert out == err == ""


def test_view_serves_and_stops(capfd):
    first = view(pendulum(), browser=False, block=False, port=8310)
    second = view(pendulum(), browser=False, block=False, port=8310)
    try:
        assert first.url != second.url  # a port in use gives way
        assert first.url in first._repr_html_() and "iframe" in first._repr_html_()
    finally:
        first.stop()
        second.stop()
    assert capfd.readouterr() == ("", "")


def test_a_live_page_answers_itself_only():
    """In 0.1.0 any page in the browser could read the robot and move its sliders."""
    from websockets.exceptions import InvalidStatus
    from websockets.sync.client import connect

    viewers = [view(pendulum(), browser=False, block=False, port=8320) for _ in range(2)]
    try:
        url = viewers[0].url
        bare, token = url.rstrip("/").rsplit("/", 1)
        own, rest = bare.partition("://")[2], viewers[1].url.rstrip("/").rsplit("/", 1)[1]
        assert len(token) > 20 and token != rest
        protocol = f"viser-v{viser.__version__}"

        def answer(path: str, **headers: str) -> int:
            connection = http.client.HTTPConnection("127.0.0.1", int(bare.rsplit(":", 1)[1]), timeout=30)
            with contextlib.closing(connection) as asked:
                asked.request("GET", path, headers=headers)
                return asked.getresponse().status

        def opens(path: str, origin: str | None) -> bool:
            try:
                with connect(f"ws://{own}{path}", origin=origin, subprotocols=[protocol]) as socket:
                    return bool(socket.recv(timeout=30))
            except InvalidStatus as refused:
                assert refused.response.status_code == 403
                return False

        assert answer(f"/{token}/") == answer(f"/{token}") == 200
        wrong = f"/{token}x/", f"/{token[:-1]}/", f"/{rest}/", f"//{token[1:]}", f"/x/{token}/"
        wrong += "/", "/index.html", "/%00/"
        assert {answer(path) for path in wrong} == {403}
        assert answer(f"/{token}/", Host=own, Origin="https://example.org") == 403
        assert answer(f"/{token}/../../secret") == answer(f"/{token}/none") == 404
        assert opens(f"/{token}", f"http://{own}") and opens(f"/{token}/", f"http://{own}") and opens(f"/{token}", None)
        for origin in ("https://example.org", "null", "http://localhost:1", f"http://{own}.example.org"):
            assert not opens(f"/{token}", origin), origin
        for path in ("", "/", f"/{rest}", f"/?{token}"):
            assert not opens(path, f"http://{own}"), path
    finally:
        for viewer in viewers:
            viewer.stop()


def test_a_viser_that_starts_otherwise_is_refused(monkeypatch):
    other = types.SimpleNamespace(ViserServer=lambda **_: None)
    monkeypatch.setattr("vitree.viewer.stage.require_viser", lambda: other)
    with pytest.raises(InputError, match="cannot be told to answer its own page only"):
        open_server("127.0.0.1", 8330, "test")


@pytest.mark.parametrize(("options", "word"), [
    ({"host": "192.0.2.1"}, "is no address"), ({"port": 0}, "port=0"), ({"q": [1.0, 2.0]}, "q has shape"),
])  # fmt: skip
def test_what_cannot_be_served_is_said_and_nothing_is_left_running(options, word):
    before = threading.active_count()
    with pytest.raises(InputError, match=word):
        view(pendulum(), browser=False, block=False, **options)
    assert threading.active_count() == before


def test_a_notebook_gets_a_page_of_a_run_that_stays():
    viewer = view(vt.simulate(pendulum().compile(), [1.0], duration=0.2, dt=0.01), browser=False, block=False)
    try:
        assert "__VISER_EMBED_DATA__" in viewer._repr_html_() and "srcdoc" in viewer._repr_html_()
    finally:
        viewer.stop()


def swing(**options):
    return vt.simulate(pendulum().compile(), [1.0], duration=0.2, dt=0.01, **options)


def test_names_from_files_are_text_in_the_live_page():
    run = replace(swing(), method="<script>alert(1)</script> ![x](/etc/hostname) [y](javascript:z) **_")
    view({"<b>": run}, browser=False, block=False, port=8320).stop()  # viser would read the picture
    told = show._facts(what_to_show({"<b>": run})[0])
    assert not set("<>![]()_`") & set(told.replace("**", "", 2))
    assert html.unescape(told).startswith(f"**<b>**: {run.method}, dt")


def test_the_page_is_titled_as_the_run(tmp_path):
    text = write_html(replace(swing(), model_name="a<b"), tmp_path / "page.html").read_text()
    assert re.findall("<title>(.*?)</title>", text) == ["a&lt;b"]


def test_a_robot_called_ground_stands_on_it(server):
    set_scene(server, view_of_runs(what_to_show(swing()), False))
    before = set(server.scene._handle_from_node_name)
    for name in ("ground", " ground"):
        stage = Stage(server.scene, name, drawing_of(pendulum().compile()))
        assert stage.path not in before


def test_pages_made_at_once_leave_the_output_alone(tmp_path):
    out, run, failed = sys.stdout, swing(), []

    def write(k):
        try:
            write_html(run, tmp_path / f"{k}.html")
        except BaseException as error:
            failed.append(error)

    threads = [threading.Thread(target=write, args=(k,)) for k in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sys.stdout is out and not failed and len(list(tmp_path.iterdir())) == 4


def test_the_last_port_in_use_is_said():
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 65535))
        taken.listen()
        with pytest.raises(InputError, match="65535"):
            view(swing(), browser=False, block=False, port=65535)
    with pytest.raises(InputError, match='port="x"'):
        view(swing(), browser=False, block=False, port="x")


@pytest.mark.parametrize("options", [{"speed": 0.0}, {"speed": np.nan}, {"speed": -1.0}, {"spread": np.nan},
                                     {"q": [1.0]}, {"model": 5}], ids=str)  # fmt: skip
def test_options_that_make_no_sense_of_a_run_are_refused(options, tmp_path):
    for show_it in (lambda: write_html(swing(), tmp_path / "page.html", **options),
                    lambda: view(swing(), browser=False, block=False, **options)):  # fmt: skip
        with pytest.raises(InputError, match=next(iter(options))):
            show_it()
    with pytest.raises(InputError, match="model="):
        what_to_show(pendulum(), pendulum())
    assert what_to_show(swing(), pendulum())[0].label == "linear-time"


def test_a_comparison_among_labelled_runs():
    result = vt.compare(pendulum().compile(), ["linear-time", "rk4"], [1.0], duration=0.1, dt=0.01, reference=False)
    assert [r.label for r in what_to_show({"a": result, "b": swing()})] == ["a, linear-time", "a, rk4", "b"]
    with pytest.raises(InputError, match="no run"):
        what_to_show({"a": []})
    with pytest.raises(InputError, match="two runs"):
        what_to_show({1: swing(), "1": swing()})


def test_energy_of_a_run_backwards_is_that_of_the_run():
    run = swing()
    for found, expected in zip(energies_of(what_to_show(run[::-1])), energies_of(what_to_show(run)), strict=True):
        np.testing.assert_array_equal(found, expected)


def with_mesh(folder):
    """A robot file with a mesh, in no package, which would be found."""
    trimesh = pytest.importorskip("trimesh")
    for part in ("urdf", "meshes"):
        (folder / part).mkdir(parents=True)
    (folder / "meshes" / "box.stl").write_bytes(trimesh.creation.box().export(file_type="stl"))
    file = folder / "urdf" / "arm.urdf"
    file.write_text("""<robot name="arm"><link name="base"/>
      <link name="tip"><inertial><mass value="1"/><inertia ixx="1" ixy="0" ixz="0" iyy="1" iyz="0" izz="1"/></inertial>
        <visual><geometry><mesh filename="../meshes/box.stl"/></geometry></visual></link>
      <joint name="j" type="continuous"><parent link="base"/><child link="tip"/></joint></robot>""")
    return file


def test_a_run_of_a_stranger_opens_no_other_files(tmp_path):
    """In 0.1.0 a run's file could name any file of the computer as a mesh, and the page had it."""
    file = with_mesh(tmp_path / "robots" / "arm")
    run = vt.simulate(vt.load_urdf(file), duration=0.1, dt=0.05)
    assert not what_to_show(run)[0].meshes  # made in this process
    for folder, opened in (("elsewhere/runs", False), ("robots/runs", True)):
        (tmp_path / folder).mkdir(parents=True)
        path = run.save(tmp_path / folder / "run.npz")
        for source in (path, vt.Trajectory.load(path), {"a": vt.Trajectory.load(path)[1:]}):
            (shown,) = what_to_show(source)
            ((name, found),) = shown.meshes.items()
            assert os.path.samefile(name, file.parent.parent / "meshes" / "box.stl")
            assert (found.problem is None) == opened, found
        missing = []
        page = page_of(what_to_show(path), missing=missing)
        assert len(missing) == (not opened) == page.count("meshes that could not be read: 1")
    path = tmp_path / "elsewhere" / "runs" / "run.npz"
    assert "may be a stranger's; if the mesh belongs to its robot, name its folder by packages=" in (
        what_to_show(path)[0].meshes[name].problem)  # fmt: skip
    for packages in ([tmp_path / "robots"], {"arm": tmp_path / "robots" / "arm"}):
        assert what_to_show(path, packages=packages)[0].meshes[name].problem is None
    viewer = view(path, browser=False, block=False, port=8340)
    viewer.stop()
    assert len(viewer.missing) == 1 and name in viewer.missing[0]
    viewer = view(path, browser=False, block=False, port=8340, packages=tmp_path / "robots")
    viewer.stop()
    assert viewer.missing == []
    again = vt.Trajectory.load(vt.Trajectory.load(path).save(tmp_path / "robots" / "again.npz"))
    assert again.film.drawing == vt.Trajectory.load(path).film.drawing


def test_meshes_of_installed_robots_are_opened_for_a_run_anywhere(tmp_path, monkeypatch):
    file = with_mesh(tmp_path / "cache" / "arm")
    (tmp_path / "my" / "runs").mkdir(parents=True)
    path = vt.simulate(vt.load_urdf(file), duration=0.1, dt=0.05).save(tmp_path / "my" / "runs" / "run.npz")
    assert [x.problem is None for x in what_to_show(path)[0].meshes.values()] == [False]
    monkeypatch.setenv("ROBOT_DESCRIPTIONS_CACHE", str(tmp_path / "cache"))
    assert [x.problem is None for x in what_to_show(path)[0].meshes.values()] == [True]
    (file.parent.parent / "meshes" / "box.stl").unlink()
    assert [x.problem for x in what_to_show(path)[0].meshes.values()] == ["missing"]


# ---- grounds and contacts ----------------------------------------------------------------------------


def fallen(ground="plane", duration=1.0, **more):
    model = crawler(GROUNDS[ground])
    return vt.simulate(model, *thrown(model, 1), duration=duration, dt=2e-3, **more)


@pytest.mark.parametrize("ground", GROUNDS)
def test_the_ground_is_drawn_where_it_is(server, ground):
    """At its height and tilt; heights as triangles through the surface; walls beside it."""
    run = what_to_show(fallen(ground, 0.1))[0]
    surface = GROUNDS[ground]
    nodes = Cast(server, [run], 0.0, False).ground.nodes
    drawn = run.film.drawing.ground
    assert drawn.planes == surface.half_spaces
    for node, plane in zip(nodes, surface.half_spaces, strict=False):
        up = Rotation.from_quat(np.array(node.wxyz)[[1, 2, 3, 0]]).apply((0, 0, 1.0))
        np.testing.assert_allclose(up, plane[:3], atol=1e-12)
        assert np.array(node.position) @ up == pytest.approx(plane[3], abs=1e-12)
    if surface.terrain is None:
        assert len(nodes) == len(surface.half_spaces) and nodes[0].infinite_grid
        return
    (mesh,) = nodes
    for x, y, z in mesh.vertices[::37].astype(float):
        assert z == pytest.approx(surface.terrain.height(x, y), abs=2e-6)
    assert mesh.vertices[:, :2].min() == -5 and mesh.vertices[:, :2].max() == pytest.approx(4.75)
    corners = mesh.vertices[mesh.faces].astype(float)
    turned = np.cross(corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0])
    assert (turned[:, 2] > 0).all() and 0.5 * turned[:, 2].sum() == pytest.approx(9.75**2)


def test_grounds_of_many_heights_are_thinned_and_kept_in_files(tmp_path):
    field = vt.HeightField(lambda x, y: 0.3 * np.sin(x) + 0.1 * y, (0.1, 0.4), (-3, -2, 0.5), (200, 9))
    model = crawler(vt.Ground(terrain=field))
    drawing = drawing_of(model)
    ground = drawing.ground
    assert (len(ground.heights), len(ground.heights[0])) == (MOST_HEIGHTS, 9)
    assert ground.origin[0] + 59 * ground.spacing[0] == pytest.approx(-3 + 19.9)
    for i, j in ((0, 0), (17, 3), (59, 8)):
        x, y = ground.origin[0] + i * ground.spacing[0], ground.origin[1] + j * ground.spacing[1]
        assert ground.heights[i][j] == pytest.approx(field.height(x, y), abs=1e-6)
    assert Drawing.from_plain(json.loads(json.dumps(drawing.plain()))) == drawing
    assert Drawing.from_plain(replace(drawing, ground=None).plain()).ground is None
    for wrong in (Surface(((0, 0, 0, 1.0),)), Surface(heights=((1.0, 2.0), (1.0,))), Surface(spacing=(0.0, 1.0)),
                  Surface(((0, 0, 1.0, np.nan),)), Surface(heights=((1.0, 2.0),))):  # fmt: skip
        with pytest.raises(InputError, match="drawing"):
            Drawing.from_plain(replace(drawing, ground=wrong).plain())
    path = fallen("hills", 0.05).save(tmp_path / "run.npz")
    assert what_to_show(path)[0].film.drawing.ground == what_to_show(fallen("hills", 0.05))[0].film.drawing.ground


def test_a_tilted_ground_goes_by_in_whole_sections(server):
    run = what_to_show(fallen("slope", 0.5))[0]
    cast = Cast(server, [run], 0.0, True)
    node, at = cast.ground.nodes[0], cast.ground.places[0]
    for t in (0.1, 0.5):
        cast.show(t)
        left = np.array(node.position) - at + travel_of(run, t)
        normal = np.array(GROUNDS["slope"].half_spaces[0][:3])
        assert left @ normal == pytest.approx(0.0, abs=1e-12)
        along = Rotation.from_quat(np.array(node.wxyz)[[1, 2, 3, 0]]).inv().apply(left) / (10 * cast.ground.cell)
        np.testing.assert_allclose(along, np.round(along), atol=1e-9)


@pytest.mark.parametrize("every", [1, 4])
def test_arrows_are_the_forces_of_contacts(every, tmp_path):
    traj = fallen(record_every=every)
    run = what_to_show(traj)[0]
    found, log = pushes_of(run), traj.contacts
    # impulses of all pictures are those of all records; points are centres of pressure
    counts = np.bincount(np.searchsorted(run.film.t, traj.t - 1e-12), minlength=len(found.t))
    total = (found.force * np.maximum(counts, 1)[:, None, None]).sum(axis=(0, 1))
    np.testing.assert_allclose(total, log.force.sum(axis=0), rtol=1e-9)
    assert found.unit == pytest.approx(traj.system.total_mass * 9.81)
    for t in np.linspace(0.0, 1.0, 41):
        arrows = found.arrows(t, 2.0)
        length = np.linalg.norm(arrows[:, 1] - arrows[:, 0], axis=1)
        assert (length > 0.01).all() and (length <= 2.0 * LENGTH * 2.0 + 1e-9).all()
    # a picture for each record
    alone = traj[300 // every : 420 // every]
    film = replace(run.film, t=alone.t, poses=np.array([run.film.at(t) for t in alone.t]))
    exact = pushes_of(replace(run, trajectory=alone, film=film))
    for k in range(1, len(alone), 7):
        one = alone.contacts.of(k)
        np.testing.assert_allclose(exact.force[k].sum(axis=0), one.force.sum(axis=0), rtol=1e-12, atol=1e-12)
        for a in {one.names[i][0] for i in one.number if one.names[i][1] == "ground"}:
            if sum(a in pair for pair in {one.names[i] for i in one.number}) == 1:
                center = alone.center_of_pressure(a)[k]
                assert np.abs(exact.point[k] - center).max(axis=1).min() < 1e-12
    # and the same of a file
    again = pushes_of(what_to_show(traj.save(tmp_path / "run.npz"))[0])
    np.testing.assert_array_equal(again.force, found.force)
    np.testing.assert_array_equal(again.arrows(0.7, 1.0), found.arrows(0.7, 1.0))


def test_without_gravity_arrows_have_the_scale_of_the_run():
    tree = vt.Tree("ball", gravity=(0, 0, 0))
    tree.world.add(vt.free("base"), vt.body("ball", 1.0, (0.004,) * 3))
    tree.contact(vt.Contact("ball", shapes=vt.Sphere(0.1)), vt.Ground())
    model = tree.compile()
    q = vt.place_on_ground(model, model.neutral())
    run = vt.simulate(model, q, duration=0.3, dt=1e-3, wrenches=[vt.ExternalWrench("ball", (0, 0, -7.0))])
    assert pushes_of(what_to_show(run)[0]).unit == pytest.approx(7.0, rel=1e-6)
    free = vt.simulate(model, q, [0, 0, 1.0, 0, 0, 0], duration=0.3, dt=1e-3)
    assert pushes_of(what_to_show(free)[0]) is None and pushes_of(what_to_show(swing())[0]) is None


def test_arrows_come_go_and_are_hidden(server):
    run = what_to_show(fallen())[0]
    cast = Cast(server, [run], 0.0, False)
    (stage,) = cast.stages
    cast.show(0.0)
    assert stage.forces is None or not stage.forces.visible  # in flight
    cast.show(0.9)
    np.testing.assert_allclose(stage.forces.points, cast.pushes[0].arrows(0.9, run.film.drawing.extent), rtol=1e-6)
    assert stage.forces.visible and len(stage.forces.points) >= 2
    stage.show(forces=False)
    cast.show(0.95)
    assert not stage.forces.visible
    stage.show(forces=True)
    cast.show(0.0)
    assert not stage.forces.visible
    cast.show(0.9)
    assert stage.forces.visible


def test_pages_of_contacts_stay_small(tmp_path):
    bare = replace(fallen("hills"), contacts=None)
    sizes = [len(page_of(what_to_show(run))) for run in (fallen("hills"), bare)]
    assert sizes[0] - sizes[1] < 60_000, sizes
    text = page_of(what_to_show(fallen()))
    assert "contact forces" in text and "N per metre" in text
    assert "arrows: contact forces" not in page_of(what_to_show(bare))
