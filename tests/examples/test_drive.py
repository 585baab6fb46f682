"""Kobilarov et al. 2009, Fig. 9: the helicopter that is flown by keys, buttons and sliders."""

from __future__ import annotations

import importlib.util
import sys
import time
from types import SimpleNamespace

import numpy as np
import pytest
from chromium import launched
from places import PAPERS

FOLDER = PAPERS / "kobilarov_2009"


@pytest.fixture(scope="module")
def drive():
    """The script as a module; its folder's ``common`` is forgotten afterwards."""
    kept, path = sys.modules.pop("common", None), list(sys.path)
    spec = importlib.util.spec_from_file_location("fig09_drive", FOLDER / "fig09_drive.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    yield module
    sys.path[:] = path
    sys.modules.pop("common", None)
    if kept is not None:
        sys.modules["common"] = kept


def flown(drive, keys, seconds: float):
    """A flight with some keys pressed at once."""
    flight = drive.Flight()
    for key in keys:
        flight.press(key)
    flight.advance(round(seconds / drive.DT))
    return flight


def test_it_hovers_and_keys_move_it(drive):
    still = flown(drive, "", 2.0)
    np.testing.assert_allclose(still.q, [0, 0, 2, 0, 0, 0, 1], atol=1e-9)
    assert flown(drive, "II", 2.0).q[0] > 0.5 < -flown(drive, "KK", 2.0).q[0]
    assert flown(drive, "UU", 2.0).q[2] > 2.5 and flown(drive, "OO", 2.0).q[2] < 1.5
    left, right = flown(drive, "JJ", 2.0), flown(drive, "LL", 2.0)
    assert left.q[5] > 0.3 < -right.q[5]


def test_sticks_come_back_unless_they_are_held(drive):
    flight = flown(drive, "IIII", 0.0)
    assert flight.sticks["ahead"] == 1.0
    flight.hold("turn", 0.5)
    flight.advance(round(4.5 / drive.DT))
    assert flight.sticks["ahead"] == pytest.approx(np.exp(-3.0)) and flight.sticks["turn"] == 0.5
    flight.press("L")
    assert flight.sticks["turn"] == pytest.approx(0.15) and not flight.held["turn"]
    flight.reset()
    assert not any(flight.sticks.values()) and flight.t == 0


def test_it_does_not_go_below_the_ground(drive):
    flight = drive.Flight()
    flight.hold("up", -1.0)
    flight.advance(150)
    assert 0 <= flight.q[2] < 0.05


@pytest.fixture
def page(drive):
    pytest.importorskip("viser")
    page = drive.Page(drive.Flight(), port=8360)
    yield page
    page.stop()


def test_the_page_calls_the_flight(page):
    """What the page's events call, without a browser; the flight goes on in real time."""
    assert set(page.commands) == set(page.buttons) == set("IKJLUO")
    page.slid(SimpleNamespace(client=1, target=SimpleNamespace(value=0.8)), "ahead")
    page.slid(SimpleNamespace(client=None, target=SimpleNamespace(value=-1.0)), "ahead")  # this process, not a visitor
    for handle in (page.commands["U"]._impl.trigger_cb, page.buttons["U"]._impl.update_cb):
        handle[0](None)
    end = time.monotonic() + 20
    while time.monotonic() < end and not (page.flight.q[0] > 0.2 and page.flight.q[2] > 2.2):
        time.sleep(0.05)
    assert page.flight.q[0] > 0.2 and page.flight.q[2] > 2.2 and page.flight.sticks["ahead"] == 0.8
    assert page.thread.is_alive()


@pytest.mark.slow
def test_keys_and_buttons_of_a_browser_fly_it(page):
    with launched() as browser:
        tab = browser.new_page(viewport={"width": 900, "height": 700})
        tab.set_default_timeout(150_000)
        tab.goto(page.url)
        tab.get_by_text("turn left (J)").wait_for()
        end = time.monotonic() + 150
        # while the page is still being made, keys and clicks may be forgotten
        for stick, push in (("ahead", lambda: tab.keyboard.press("i")),
                            ("turn", lambda: tab.get_by_text("turn left (J)").click())):  # fmt: skip
            while time.monotonic() < end and not page.flight.sticks[stick] > 0.1:
                push()
                time.sleep(0.3)
            assert page.flight.sticks[stick] > 0.1
        while time.monotonic() < end and not page.flight.q[0] > 0.1:
            time.sleep(0.1)
        assert page.flight.q[0] > 0.1 and page.thread.is_alive()
