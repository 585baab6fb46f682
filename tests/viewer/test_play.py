"""Simulations that run in a page: in time, pulled by a mouse, steered, with errors that are told and do not last."""

from __future__ import annotations

import threading
import time

import numpy as np
import pytest
from chromium import launched, without_surroundings
from viewer_pages import SHARP, SHOTS, changed, drawn, give, opened, picture, wait_until

import vitree as vt
from vitree.errors import InputError, UnknownNameError
from vitree.model.keyframes import Keyframe, keyframe_at, read_keyframes, write_keyframes
from vitree.viewer.groups import Groups, limbs
from vitree.viewer.player import Player, outline
from vitree.viewer.pull import Pull, grabbed
from vitree.viewer.reload import ControllerFile

pytest.importorskip("viser")


def floating(gravity=(0.0, 0.0, 0.0)):
    tree = vt.Tree("stone", gravity=gravity)
    tree.world.add(vt.free("base"), vt.body("stone", 2.0, (0.02, 0.03, 0.04), com=(0.05, 0.0, 0.01)))
    return tree.compile()


def driven(ground=True):
    """A box on the ground, and an arm on it whose joint has a drive."""
    tree = vt.Tree("arm")
    box = tree.world.add(vt.free("base"), vt.body("box", 3.0, (0.05, 0.05, 0.05)))
    box.add(vt.tz(0.1), vt.ry("hinge", lower=-2.0, upper=2.0),
            vt.body("link", 0.4, (4e-3, 4e-3, 1e-4), com=(0, 0, 0.2)))  # fmt: skip
    tree.load(vt.Drive("hinge", 40.0, 2.0, target="hinge target"))
    if ground:
        corners = [(x, y, -0.1) for x in (-0.15, 0.15) for y in (-0.15, 0.15)]
        tree.contact(vt.Contact("box", points=corners), vt.Ground(friction=0.8))
    model = tree.compile()
    q = model.neutral()
    q[2] = 0.1
    return model, q


@pytest.fixture
def run():
    """Players that are stopped at the end."""
    made = []

    def begin(sim, **options):
        player = Player(sim, **options)
        made.append(player)
        player.begin()
        return player

    yield begin
    for player in made:
        player.stop()


def until(happened, seconds=5.0):
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        if happened():
            return
        time.sleep(0.005)
    raise AssertionError(f"it did not happen within {seconds} s")


# ---- time ------------------------------------------------------------------------------------------------------


def test_a_simulation_keeps_the_time_of_the_clock_whatever_its_speed(run):
    model, q = driven()
    player = run(vt.Simulation(model, q, dt=1e-3))
    until(lambda: player.picture.t > 0.05)
    for speed in (1.0, 3.0):
        player.speed = speed
        t0, begun = player.picture.t, time.perf_counter()
        time.sleep(0.5)
        passed = time.perf_counter() - begun
        # a picture is up to 1/60 s old, and a busy machine may leave time out, but never adds any
        assert player.picture.t - t0 <= speed * (passed + 0.15)
        assert player.picture.t - t0 >= 0.3 * speed * passed
    player.play(False)
    until(lambda: not player.picture.playing)
    before = player.picture.steps
    player.step()
    until(lambda: player.picture.steps == before + 1)
    time.sleep(0.1)
    assert player.picture.steps == before + 1


def test_a_reset_begins_anew_with_the_same_bits(run):
    model, q = driven()
    player = run(vt.Simulation(model, q, dt=1e-3), playing=False)
    player.set_input(0, 0.7)
    player.play(True)
    until(lambda: player.picture.t > 0.1)
    player.play(False)
    player.reset()
    until(lambda: player.picture.t == 0.0)
    for _ in range(3):
        player.step()
    until(lambda: player.picture.steps == 3)
    fresh = vt.Simulation(model, q, dt=1e-3)
    fresh.step(3)
    np.testing.assert_array_equal(player.picture.q, fresh.q)


def test_a_player_that_nobody_looks_at_leaves_the_simulation_to_its_owner():
    model, q = driven()
    sim = vt.Simulation(model, q, dt=1e-3, control=np.full(model.nv, 0.0))
    player = Player(sim)
    player.begin()
    player.pull = Pull("link", np.zeros(3), np.array([0.5, 0.0, 0.4]))
    until(lambda: player.picture.pull is not None)
    player.stop()
    assert not sim.torque.any()
    t = sim.t
    sim.step(5)
    assert sim.t == pytest.approx(t + 5e-3)


# ---- the mouse --------------------------------------------------------------------------------------------------


def test_a_pull_changes_the_momentum_by_its_force_and_its_moment_alone():
    """d(linear, angular)/dt = (f, x x f) for a body that nothing else acts on: power and place of J^T f are right."""
    model = floating()
    rng = np.random.default_rng(3)
    q = model.integrate(model.neutral(), rng.normal(size=6))
    h = 1e-5
    sim = vt.Simulation(model, q, dt=h)
    pull = Pull("stone", np.array([0.3, -0.2, 0.1]), np.array([1.0, 2.0, -0.5]))
    before = model.momentum(sim.q, sim.v)
    sim.torque[:] = pull.generalized_force(model, sim.q, h)
    sim.step()
    change = (model.momentum(sim.q, sim.v) - before) / h
    assert np.linalg.norm(pull.force) > 10
    np.testing.assert_allclose(change[3:], pull.force, rtol=1e-6)
    np.testing.assert_allclose(change[:3], np.cross(pull.point, pull.force), rtol=1e-3, atol=1e-3)


@pytest.mark.parametrize("strength", [0.01, 1.0, 100.0])
def test_a_pulled_point_comes_to_rest_below_the_target_at_every_strength_of_the_page(strength):
    model = floating(gravity=(0.0, 0.0, -9.81))
    target = np.array([0.4, 0.1, 0.2])
    sim = vt.Simulation(model, dt=1e-3)
    pull = Pull("stone", np.array([0.1, 0.0, 0.0]), target, strength)
    up, below = [], []
    for _ in range(10_000):
        sim.torque[:] = pull.generalized_force(model, sim.q, 1e-3)
        sim.step()
        up.append(pull.force[2])
        below.append(target[2] - pull.point[2])
    # the weight hangs at the point, below the target by m g / k, k about m (10 rad/s)^2; it may swing like a pendulum
    assert np.mean(up[-4000:]) == pytest.approx(2.0 * 9.81, rel=0.1)
    assert 0.03 / strength < np.mean(below[-4000:]) < 0.3 / strength


def test_a_pull_that_cannot_be_a_torque_acts_as_impulses(run):
    model, q = driven(ground=False)
    wanted = []
    for control in (None, lambda t, q, v: np.zeros(model.nv)):
        sim = vt.Simulation(model, q, dt=1e-3, control=control)
        player = Player(sim, playing=False)
        player.pull = Pull("link", np.array([0.0, 0.0, 0.3]), np.array([1.0, 0.0, 0.5]))
        for _ in range(50):
            player._one_step()
        wanted.append(sim.q.copy())
        assert player.takes_torque == (control is None)
    assert np.abs(wanted[0] - q).max() > 0.01
    np.testing.assert_allclose(wanted[0], wanted[1], atol=2e-3)


def test_the_point_that_is_grabbed_is_where_the_mouse_is():
    from vitree.results.drawing import drawing_of, poses

    model, q = driven()
    q = model.integrate(q, np.random.default_rng(1).normal(size=model.nv))
    point, body = np.array([0.1, 0.2, 0.3]), 1
    pull = grabbed(drawing_of(model), poses(model, q), body, point, point, 1.0)
    X = model.frame_pose(pull.frame, q)
    np.testing.assert_allclose(X[:3, :3] @ pull.local + X[:3, 3], point, atol=1e-12)
    assert grabbed(drawing_of(model), poses(model, q), -1, point, point, 1.0) is None


# ---- errors -----------------------------------------------------------------------------------------------------


def written(path, text):
    path.write_text(text)
    return path


def test_a_step_that_fails_is_told_and_a_reset_goes_on(run, tmp_path):
    model, q = driven()
    file = written(tmp_path / "c.py", "import numpy as np\ndef control(t, q, v):\n"
                                      "    return np.full(7, np.nan if 0.02 < t < 1 else 0.0)\n")  # fmt: skip
    player = run(vt.Simulation(model, q, dt=1e-3), controller=ControllerFile(file, model))
    until(lambda: player.picture.error)
    assert "torque" in player.picture.error and not player.picture.playing
    t = player.picture.t
    assert 0.015 < t < 0.03
    player.reset()
    until(lambda: player.picture.t == 0.0 and not player.picture.error)
    player.step()
    until(lambda: player.picture.steps == 1)


def test_a_state_that_is_not_finite_is_told(run):
    tree = vt.Tree("stiff")
    tree.world.add(vt.tz("slide"), vt.body("mass", 1.0, (1.0, 1.0, 1.0)))
    tree.load(vt.JointSpring("slide", 1e9))
    model = tree.compile()
    player = run(vt.Simulation(model, [0.1], dt=0.1, method="rk4"), speed=1000.0)
    until(lambda: player.picture.error)
    assert not player.picture.playing and np.isfinite(player.picture.poses).all()


def test_a_controller_is_read_again_when_it_changes_and_the_old_one_goes_on_while_it_is_wrong(tmp_path):
    model, _ = driven()
    path = written(tmp_path / "c.py", "seen = []\ndef start(model):\n    seen.append(model.nv)\n"
                                      "def control(t, q, v):\n    return 'one'\n")  # fmt: skip
    file = ControllerFile(path, model)
    state = 0.0, np.zeros(8), np.zeros(7)
    assert file(*state) is None  # not read yet
    assert file.refresh() and not file.refresh() and file(*state) == "one"
    assert file._module.seen == [7]

    written(path, "def control(t, q, v):\n    return (\n")
    assert not file.refresh() and "c.py, line" in file.error and file(*state) == "one"
    written(path, "control = 3  # no function\n")
    assert not file.refresh() and "no function control" in file.error and file(*state) == "one"
    written(path, "import sys\nsys.exit(1)\ndef control(t, q, v):\n    return 'never'\n")
    assert not file.refresh() and file.error and file(*state) == "one"

    written(path, "def control(t, q, v):\n    return 1 / t\n")
    assert file.refresh() and not file.error
    assert file(*state) is None and "line 2: ZeroDivisionError" in file.error
    assert file(*state) == "one"  # the one before acts again

    written(path, "period = 0.5\ndef control(t, q, v):\n    return t\n")
    assert file.refresh() and not file.error
    assert [file(t, *state[1:]) for t in (0.0, 0.2, 0.5, 0.7, 1.0)] == [0.0, None, 0.5, None, 1.0]
    path.unlink()
    assert not file.refresh() and file.error and file(2.0, *state[1:]) == 2.0
    with pytest.raises(InputError, match="is no file"):
        ControllerFile(tmp_path / "none.py", model)
    with pytest.raises(InputError, match="line 2: ZeroDivisionError"):
        only = ControllerFile(written(tmp_path / "d.py", "def control(t, q, v):\n    return 1 / t\n"), model)
        only.refresh()
        only(*state)


def test_a_controller_gives_targets_and_torques(run, tmp_path):
    model, q = driven()
    path = written(tmp_path / "c.py", "import vitree as vt\ndef control(t, q, v):\n"
                                      "    return vt.Control(targets={'hinge': 0.5})\n")  # fmt: skip
    player = run(vt.Simulation(model, q, dt=1e-3), controller=ControllerFile(path, model))
    until(lambda: player.picture.inputs[0] == 0.5)
    written(path, "import vitree as vt\ndef control(t, q, v):\n    return vt.Control(targets={'hing': 0.5})\n")
    until(lambda: "hing" in player.picture.error)
    assert player.picture.playing  # the one before goes on
    written(path, "import numpy as np\ndef control(t, q, v):\n    return np.zeros(7)\n")
    until(lambda: not player.picture.error)


# ---- keyframes --------------------------------------------------------------------------------------------------


def test_keyframes_come_back_from_their_file_to_the_bit(tmp_path):
    model, q = driven()
    rng = np.random.default_rng(0)
    q, v = model.integrate(q, rng.normal(size=model.nv)), rng.normal(size=model.nv)
    path = tmp_path / "poses.toml"
    frames = {'a "name"': Keyframe.of(model, 1.25, q, v, {"hinge": 0.1}), "b": Keyframe({"hinge": (0.3,)})}
    write_keyframes(path, model.name, frames)
    found = read_keyframes(path)
    assert found == frames
    for one, other in zip(found['a "name"'].state(model), (q, v), strict=True):
        np.testing.assert_array_equal(one, other)
    assert keyframe_at(f"{path}#b") == frames["b"] and keyframe_at("standing") is None
    with pytest.raises(UnknownNameError, match="keyframe"):
        keyframe_at(f"{path}#c")
    with pytest.raises(InputError, match="several keyframes"):
        keyframe_at(str(path))
    with pytest.raises(UnknownNameError):
        Keyframe({"nose": (1.0,)}).state(model)
    with pytest.raises(InputError, match="2 numbers"):
        Keyframe({"hinge": (1.0, 2.0)}).state(model)


@pytest.mark.parametrize("text, message", [
    ("", "no keyframes"), ("[keyframes.a]", "no table start"), ("[keyframes.a.start]\nx = 'b'", "must be a number"),
    ("[keyframes.a.start]\nx = nan", "finite"), ("[keyframes.a]\nstrat = 1", "strat"), ("[", "no TOML"),
    ("[keyframes.a]\nt = 'b'\n[keyframes.a.start]\nx = 1", "must be a number"),
])  # fmt: skip
def test_a_damaged_file_of_keyframes_is_told(text, message, tmp_path):
    with pytest.raises(vt.VitreeError, match=message) as error:
        read_keyframes(written(tmp_path / "k.toml", text))
    assert "k.toml" in str(error.value)


def test_a_world_starts_where_a_keyframe_is(tmp_path):
    path = tmp_path / "k.toml"
    write_keyframes(path, "arm6", {"bent": Keyframe({"elbow_joint": (0.4,)}, {"elbow_joint": (0.2,)})})
    world = vt.World()
    world.add("arm6", "left", start=f"{path}#bent")
    model = world.compile()
    q, v = world.start(model)
    assert q[model.joint("left/elbow_joint").q_slice] == 0.4 and v[model.joint("left/elbow_joint").v_slice] == 0.2
    scene = written(tmp_path / "s.toml", '[things.left]\nfile = "arm6"\nstart = "k.toml#bent"\n')
    np.testing.assert_array_equal(vt.read_scene(scene).compile().start, q)


# ---- groups of sliders, and the support polygon -----------------------------------------------------------------


def test_sliders_are_grouped_by_limbs():
    model = vt.load_urdf(vt.find_robot("human"), base="free")
    groups = limbs(model)
    assert list(groups) == [joint.name for joint in model.joints]
    members = {}
    for joint, group in groups.items():
        members.setdefault(group, []).append(joint)
    assert members["neck"] == ["neck_flexion", "neck_side", "neck_twist"]
    assert "root_joint" in members["trunk"] and len(members) == 6
    for joints in members.values():  # no limb has joints of both sides
        assert len({side for joint in joints for side in ("left", "right") if joint.startswith(side)}) <= 1
    assert set(limbs(vt.load_urdf(vt.find_robot("arm6"))).values()) == {"waist_joint … flange_joint"}


def test_a_search_shows_what_has_all_its_words():
    class Handle:
        visible = True

        def __enter__(self):
            return self

        def __exit__(self, *_):
            return None

        def on_update(self, _):
            pass

    class Gui:
        def add_text(self, *_, **__):
            return Handle()

        def add_folder(self, *_, **__):
            return Handle()

    groups, handles = Groups(Gui(), 10), {}
    for name, group in (("left_hip", "left leg"), ("left_knee", "left leg"), ("right_knee", "right leg")):
        with groups.folder(group):
            handles[name] = Handle()
        groups.add(name, group, handles[name])

    def shown():
        return [name for name, handle in handles.items() if handle.visible]

    groups.search("KNEE")
    assert shown() == ["left_knee", "right_knee"]
    groups.search("knee right")
    assert shown() == ["right_knee"]
    assert [folder.visible for folder in groups._folders.values()] == [False, True]
    groups.search("")
    assert shown() == [*handles]


def test_the_support_polygon_is_the_hull_across_gravity():
    up = np.array([0.0, 0.0, 1.0])
    square = np.array([(x, y, 0.1 * x) for x in (0.0, 1.0) for y in (0.0, 1.0)])
    inside = np.vstack([square, [[0.4, 0.5, 0.0]]])
    found = outline(inside, up)
    assert {tuple(p) for p in found} == {tuple(p) for p in square}
    x, y = found[:, 0], found[:, 1]
    assert abs(0.5 * (x @ np.roll(y, -1) - y @ np.roll(x, -1))) == pytest.approx(1.0)  # in order around it
    assert len(outline(square[:2], up)) == 2
    line = np.array([(t, 2 * t, 0.0) for t in (0.0, 0.3, 1.0, 0.7)])
    np.testing.assert_array_equal(sorted(map(tuple, outline(line, up))), [(0, 0, 0), (1, 2, 0)])


# ---- the page ---------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def browser():
    SHOTS.mkdir(parents=True, exist_ok=True)
    with without_surroundings(), launched() as chromium:
        yield chromium


@pytest.fixture
def page(browser):
    yield from opened(browser)


@pytest.mark.slow
def test_a_simulation_in_a_page_is_paused_steered_and_pulled(page, tmp_path):
    model, q = driven()
    path = written(tmp_path / "c.py", "def control(t, q, v):\n    return None\n")
    sim = vt.Simulation(model, q, dt=1e-3)
    viewer = sim.view(browser=False, block=False, port=8470, controller=path, keyframes=tmp_path / "k.toml")
    player = viewer.player
    try:
        assert viewer.url.startswith("http://localhost:")
        page.goto(viewer.url + SHARP)
        wait_until(lambda: drawn(picture(page)) > 300, "a picture")
        assert player.picture.t > 0 and not player.picture.error
        give(page, "hinge [rad]", "0.9", lambda: player.picture.inputs[0] == pytest.approx(0.9))
        wait_until(lambda: player.picture.q[-1] > 0.5, "the drive to move the joint")

        # the link, where the camera sees it: its middle is dragged to the left
        box = page.locator("canvas").first.bounding_box()
        at = place_of(page, model.frame_pose("link", player.picture.q)[:3, 3], box)
        page.mouse.move(*at)
        page.wait_for_timeout(300)
        page.mouse.down()
        page.mouse.move(at[0] - 20, at[1])
        page.mouse.move(at[0] - 60, at[1])
        wait_until(lambda: player.picture.pull is not None and np.linalg.norm(player.picture.pull[1]) > 1, "a force")
        wait_until(lambda: blue(picture(page)) > 20, "the arrow of the force")
        page.screenshot(path=SHOTS / "play, pulled.png")
        page.mouse.up()
        wait_until(lambda: player.pull is None, "the end of the pull")

        path.write_text("def control(t, q, v):\n    return 1 / 0\n")
        wait_until(lambda: page.get_by_text("ZeroDivisionError").count() > 0, "the error of the controller")
        assert player.picture.playing
        page.get_by_text("Pause", exact=True).click()
        wait_until(lambda: not player.picture.playing, "the pause")
        steps = player.picture.steps
        page.get_by_text("Step", exact=True).click()
        wait_until(lambda: player.picture.steps == steps + 1, "a step")
        page.get_by_text("Reset", exact=True).click()
        wait_until(lambda: player.picture.t == 0.0, "the start")
        page.get_by_text("Plots", exact=True).click()
        wait_until(lambda: page.locator(".uplot canvas").count() > 0, "a plot")
        page.get_by_text("Keyframes", exact=True).click()
        page.get_by_text("Save", exact=True).click()
        wait_until(lambda: (tmp_path / "k.toml").exists(), "the keyframe")
        np.testing.assert_array_equal(keyframe_at(str(tmp_path / "k.toml")).state(model)[0], q)
        before = picture(page)
        page.get_by_text("Play", exact=True).click()
        player.set_input(0, -1.0)
        wait_until(lambda: changed(before, picture(page)) > 50, "the picture to move")
        page.screenshot(path=SHOTS / "play.png")
    finally:
        viewer.stop()
    assert not [thread for thread in threading.enumerate() if thread.name in ("vitree simulation", "vitree page")]
    sim.step()  # the owner has it again


def place_of(page, point, box):
    """Where a point of the world is in the window [pixels]."""
    found = page.evaluate("""([x, y, z]) => {
        const { camera, nodeRefFromName, scene } = window.__viserMutable;
        const root = nodeRefFromName[""];
        camera.updateMatrixWorld();
        const at = camera.position.clone().set(x, y, z);
        if (root) at.applyMatrix4(root.matrixWorld);
        at.project(camera);
        return [at.x, at.y];
    }""", [float(c) for c in point])  # fmt: skip
    return box["x"] + 0.5 * (found[0] + 1) * box["width"], box["y"] + 0.5 * (1 - found[1]) * box["height"]


def blue(pixels):
    """Pixels in the colour of the pull."""
    red, _, blue = np.moveaxis(pixels, 2, 0)
    return int(((blue > 120) & (red < 110) & (blue > 1.3 * red)).sum())
