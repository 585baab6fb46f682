"""The viewer's pages in headless Chromium: something is drawn, sliders move it, exported pages stay offline.

Screenshots are kept in build/screenshots.
"""

from __future__ import annotations

import contextlib

import numpy as np
import pytest
from chromium import launched, without_surroundings
from closed_chains import four_bar
from viewer_pages import SHARP, SHOTS, changed, drawn, give, opened, picture, settled, wait_until

import vitree as vt
from vitree import vehicles

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def browser():
    SHOTS.mkdir(parents=True, exist_ok=True)
    with launched() as chromium:
        yield chromium


@pytest.fixture(autouse=True)
def surroundings(request):
    """One page reflects what the pages of people reflect."""
    with contextlib.nullcontext() if "closed chain-robot" in request.node.name else without_surroundings():
        yield


@pytest.fixture
def page(browser):
    yield from opened(browser)


def talos():
    return vt.load_urdf(vt.find_robot("talos"), base="free")


SYSTEMS = {"talos": (talos, "torso_1_joint"), "closed chain": (four_bar, "crank"),
           "car": (vehicles.car, "theta")}  # fmt: skip


def run_of(name):
    """A run of a second or so that moves all of it."""
    system = SYSTEMS[name][0]()
    if name == "car":
        return vt.simulate(system, duration=4.0, dt=0.05, control=vt.Control(inputs={"torque": 900.0, "steering": 0.1}))
    if name == "closed chain":
        q = vt.satisfy_constraints(system, [0.5, 0.1, 0.3])
        return vt.simulate(system, q, duration=2.0, dt=0.01, method="midpoint")
    v = np.random.default_rng(0).normal(size=system.nv)
    return vt.simulate(system, None, v, duration=1.0, dt=0.005)


@pytest.mark.parametrize("name", ["talos", "car"])
def test_sliders_of_a_live_page_move_the_robot(name, page):
    make, joint = SYSTEMS[name]
    viewer = vt.view(make(), browser=False, block=False, port=8400)
    try:
        page.goto(viewer.url + SHARP)
        before = settled(page)
        page.screenshot(path=SHOTS / f"live {name}.png")
        dial = next(d for d in viewer._page.dials.dials if d.name == joint)
        give(page, dial.label, "0.8", lambda: viewer._page.dials.value(dial) == pytest.approx(0.8))
        wait_until(lambda: changed(before, picture(page)) > 50, "the robot to move")
        moved = settled(page)
        page.screenshot(path=SHOTS / f"live {name}, moved.png")
        page.get_by_text("Back to the start").click()
        wait_until(lambda: changed(moved, picture(page)) > 50, "the robot to come back")
        np.testing.assert_array_equal(viewer._page.dials.q, viewer._page.dials.start)
        own = viewer.url, f"blob:{viewer.url.rpartition('/')[0].rpartition('/')[0]}/", "data:"
        assert all(url.startswith(own) for url in page.asked), page.asked
    finally:
        viewer.stop()


def test_a_live_run_plays_stops_and_follows_its_slider(page):
    run = run_of("closed chain")
    viewer = vt.view({"one": run, "two": run}, browser=False, block=False, port=8410, spread=0.5)
    try:
        page.goto(viewer.url + SHARP)
        wait_until(lambda: drawn(picture(page)) > 300, "a picture")
        started = viewer._page.time
        wait_until(lambda: viewer._page.time != started, "the run to play")
        page.get_by_text("Pause").click()
        wait_until(lambda: not viewer._page.playing, "the run to stop")
        give(page, "time [s]", "0", lambda: viewer._page.time == 0.0)
        before = settled(page)
        give(page, "time [s]", "0.9", lambda: viewer._page.time == pytest.approx(0.9))
        wait_until(lambda: changed(before, picture(page)) > 50, "the robot to move")
        assert page.locator(".uplot canvas").count() > 0
        page.screenshot(path=SHOTS / "live run.png")
    finally:
        viewer.stop()


def arrows(pixels: np.ndarray) -> int:
    """Pixels in the colour of forces of contacts."""
    red, green, blue = np.moveaxis(pixels, 2, 0)
    return int(((red > 120) & (blue < 90) & (red > 1.2 * green)).sum())


def fallen():
    """A plate, out of which arrows look."""
    tree = vt.Tree("plate")
    tree.world.add(vt.free("base"), vt.body("plate", 2.0, (0.02, 0.02, 0.04)))
    corners = [(x, y, -0.01) for x in (-0.15, 0.15) for y in (-0.15, 0.15)]
    tree.contact(vt.Contact("plate", points=corners), vt.Ground(friction=0.5, normal=(0.1, 0, 1.0)))
    model = tree.compile()
    q = vt.place_on_ground(model, model.neutral())
    q[2] += 0.3
    return vt.simulate(model, q, duration=1.0, dt=2e-3)


def test_forces_of_contacts_on_a_live_page_are_hidden_and_shown(page):
    viewer = vt.view(fallen(), browser=False, block=False, port=8420)
    try:
        page.goto(viewer.url + SHARP)
        wait_until(lambda: drawn(picture(page)) > 300, "a picture")
        page.get_by_text("Pause").click()
        wait_until(lambda: not viewer._page.playing, "the run to stop")
        give(page, "time [s]", "0", lambda: viewer._page.time == 0.0)
        assert arrows(settled(page)) < 5
        give(page, "time [s]", "0.99", lambda: viewer._page.time == pytest.approx(0.99))
        wait_until(lambda: arrows(picture(page)) > 30, "an arrow")
        page.screenshot(path=SHOTS / "live contact.png")
        page.get_by_text("contact forces", exact=True).click()
        wait_until(lambda: arrows(picture(page)) < 5, "the arrow to go")
    finally:
        viewer.stop()


def ask_for(field, t: str):
    """Type a time; a field that holds it already would not tell the page, so that it is emptied first."""
    field.fill("")
    field.fill(t)
    field.press("Enter")


def turned_to(page, run, tmp_path, what, cases):
    """Export a run, open its page, and wait at times (texts) until what is to be seen there is."""
    path = vt.view(run, html=tmp_path / "page.html")
    page.context.set_offline(True)
    page.goto(path.as_uri() + SHARP)
    wait_until(lambda: drawn(picture(page)) > 300, "a picture")
    field = page.locator("input[inputmode=decimal]").first

    def seen(t, happened):
        """Ask for the time again with each picture: a page that still loads sets its own time once it plays."""
        ask_for(field, t)
        page.wait_for_timeout(1000)
        return happened()

    for t, happened in cases:
        wait_until(lambda t=t, happened=happened: seen(t, happened), f"the picture at {t} s")
        page.screenshot(path=SHOTS / f"exported {what} at {t}.png")


def test_forces_of_contacts_on_an_exported_page(page, tmp_path):
    turned_to(page, fallen(), tmp_path, "contact", [
        ("0.990", lambda: arrows(picture(page)) > 30), ("0.000", lambda: arrows(picture(page)) < 5)])  # fmt: skip
    assert all(url.startswith(("file:", "blob:", "data:")) for url in page.asked), page.asked


def brown(pixels) -> int:
    """Pixels of ropes that pull."""
    r, g, b = (pixels[..., k] for k in range(3))
    return int(((r < 150) & (r - g > 15) & (g - b > 15)).sum())


def caught():
    """A weight that falls 0.3 m until its rope catches it, and then hangs on it."""
    tree = vt.Tree("hoist", gravity=(0, 0, -9.81))
    tree.world.add(vt.tz("z"), vt.body("weight", 1.0, (0.01, 0.01, 0.01)))
    tree.constrain(vt.Rope([("world", (0.3, 0, 0)), ("world", (0, 0, 0.3)), "weight"], 1.3, label="rope"))
    return vt.simulate(tree.compile(), [-0.3], duration=0.5, dt=2e-3)


def test_a_rope_on_an_exported_page_darkens_when_it_pulls(page, tmp_path):
    turned_to(page, caught(), tmp_path, "rope", [
        ("0.490", lambda: brown(picture(page)) > 100), ("0.000", lambda: brown(picture(page)) < 20)])  # fmt: skip


def test_a_rope_on_a_live_page_darkens_when_it_pulls(page):
    sim = vt.Simulation(caught().system, [-0.3], dt=2e-3)
    viewer = sim.view(browser=False, block=False, port=8425, paused=True)
    try:
        page.goto(viewer.url + SHARP)
        wait_until(lambda: drawn(picture(page)) > 300, "a picture")
        assert brown(settled(page)) < 20
        page.get_by_text("Play", exact=True).click()
        wait_until(lambda: brown(picture(page)) > 100, "the rope to pull")
        page.screenshot(path=SHOTS / "live rope.png")
    finally:
        viewer.stop()


@pytest.mark.parametrize("name, kind", [("talos", "run"), ("closed chain", "robot"), ("car", "run")])
def test_an_exported_page_moves_and_asks_for_nothing(name, kind, page, tmp_path):
    source = run_of(name) if kind == "run" else SYSTEMS[name][0]()
    path = vt.view(source, html=tmp_path / "page.html")
    page.context.set_offline(True)
    page.goto(path.as_uri() + SHARP)
    wait_until(lambda: drawn(picture(page)) > 300, "a picture")
    field = page.locator("input[inputmode=decimal]").first
    seconds = float(page.locator("[role=slider]").first.get_attribute("aria-valuemax"))

    def at(t):
        ask_for(field, f"{t:.3f}")
        return settled(page)

    # of a robot: where its first angle, or for the free base the last, is turned most
    later = 0.8 * seconds if kind == "run" else seconds * (1 - 0.75 / len(page.evaluate("""
        JSON.parse(document.getElementById("vitree-data").textContent).begins""")))
    # a page that is still loading may miss either time
    wait_until(lambda: changed(at(0.0), at(later)) > 50, "another picture")
    page.screenshot(path=SHOTS / f"exported {name}, {kind}.png")
    now = page.locator("#vitree-time").text_content()
    assert f"{0.8 * seconds:.3f}" in now if kind == "run" else now.strip()
    assert all(url.startswith(("file:", "blob:", "data:")) for url in page.asked), page.asked
    if kind == "run":  # a click on the curve goes there
        box = page.locator("#vitree-panel svg").bounding_box()
        page.mouse.click(box["x"] + 0.25 * box["width"], box["y"] + 0.5 * box["height"])
        wait_until(lambda: abs(float(page.locator("#vitree-time").text_content().split()[2]) - 0.25 * seconds)
                   < 0.03 * seconds, "the time of the click")  # fmt: skip


def test_the_panel_of_an_exported_page_leaves_the_scene_free_on_small_windows(page, tmp_path):
    path = vt.view(run_of("closed chain"), html=tmp_path / "page.html")
    for size, unfolded in (((480, 800), True), ((700, 400), False), ((1000, 700), True)):
        page.set_viewport_size(dict(zip(("width", "height"), size, strict=True)))
        page.goto(path.as_uri() + SHARP)
        wait_until(lambda: page.locator("canvas").count() > 0, "the scene")
        assert page.evaluate("document.getElementById('vitree-panel').open") == unfolded
        panel, scene = (page.locator(which).first.bounding_box() for which in ("#vitree-panel", "#root"))
        if size[0] < size[1]:  # below it, and within the window
            assert panel["y"] >= scene["y"] + scene["height"] - 1 and panel["y"] + panel["height"] <= size[1] + 1


def test_the_panel_of_a_live_page_is_folded_on_a_phone_and_arrows_are_drawn_over_bodies(page):
    viewer = vt.view(fallen(), browser=False, block=False, port=8430)
    try:
        page.set_viewport_size({"width": 390, "height": 700})
        page.goto(viewer.url + SHARP)
        bar = page.get_by_text("vitree: plate", exact=True)
        pause = page.get_by_text("Pause", exact=True)
        wait_until(lambda: bar.count() > 0 and not pause.is_visible(), "the panel to fold")
        bar.click()
        wait_until(pause.is_visible, "the panel to open")
        wait_until(lambda: page.evaluate("""() => {
            const nodes = window.__viserMutable.nodeRefFromName, tests = [];
            for (const name in nodes) if (name.endsWith("/contact forces") && nodes[name])
                nodes[name].traverse((part) => part.material && tests.push(part.material.depthTest));
            return tests.length > 0 && tests.every((test) => test === false);
        }"""), "arrows that nothing hides")
    finally:
        viewer.stop()
