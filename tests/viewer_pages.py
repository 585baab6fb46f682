"""What the tests of pages do in a browser: they look at the picture, wait, and type numbers beside sliders."""

from __future__ import annotations

import io
import time

import numpy as np
import pytest
from places import ROOT

image = pytest.importorskip("PIL.Image")

SHOTS = ROOT / "build" / "screenshots"
PATIENCE = 150.0
#: On a slow machine viser would draw fewer pixels after some seconds, whose colours are mixed.
SHARP = "?fixedDpr=1"
#: A picture four times a second without smooth edges is enough; without an accelerator each takes a processor's time.
SLOWER = """
for (const kind of [HTMLCanvasElement, OffscreenCanvas]) {
    const get = kind.prototype.getContext;
    kind.prototype.getContext = function(name, options) {
        return get.call(this, name, name.startsWith("webgl") ? {...options, antialias: false} : options);
    };
}
const draw = window.requestAnimationFrame.bind(window);
window.requestAnimationFrame = (f) => setTimeout(() => draw(f), 250);
window.cancelAnimationFrame = clearTimeout;
"""


def opened(browser):
    """Yield a page whose requests and errors are noted; it must have had no errors."""
    context = browser.new_context(viewport={"width": 900, "height": 600})
    context.set_default_timeout(1000 * PATIENCE)
    page = context.new_page()
    page.add_init_script(SLOWER)
    page.asked, page.failed = [], []
    page.on("request", lambda request: page.asked.append(request.url))
    page.on("pageerror", lambda error: page.failed.append(str(error)))
    yield page
    assert page.failed == []
    context.close()


def picture(page) -> np.ndarray:
    """What the canvas shows, (height, width, 3), where no panel or message covers it."""
    shot = image.open(io.BytesIO(page.screenshot())).convert("RGB")
    pixels = np.array(shot.crop((0, 0, 560, 520)), dtype=int)
    pixels[:165, :330] = pixels[300:, :340] = 255
    return pixels


def drawn(pixels: np.ndarray) -> int:
    """Pixels that are neither the background nor the ground's lines, which are light and grey."""
    dark = pixels.min(axis=2) < 150
    coloured = np.ptp(pixels, axis=2) > 40
    return int((dark | coloured).sum())


def changed(before: np.ndarray, after: np.ndarray) -> int:
    return int((np.abs(before - after).max(axis=2) > 40).sum())


def wait_until(happened, what: str):
    end = time.monotonic() + PATIENCE
    while time.monotonic() < end:
        value = happened()
        if value:
            return value
        time.sleep(0.2)
    raise AssertionError(f"waited {PATIENCE:g} s for {what}")


def settled(page) -> np.ndarray:
    """The picture once something is drawn and has come to rest."""
    wait_until(lambda: drawn(picture(page)) > 300, "a picture")

    def still():
        shots = [picture(page)]
        for _ in range(3):
            page.wait_for_timeout(500)
            shots.append(picture(page))
        return shots if all(changed(shots[0], shot) < 5 for shot in shots) else None

    return wait_until(still, "the picture to rest")[-1]


def row_of(page, label: str):
    """The number field of the slider of that label."""
    seen = "input[not(@type='hidden')]"
    return page.get_by_text(label, exact=True).locator(f"xpath=ancestor::*[.//{seen}][1]//{seen}").first


def give(page, label: str, value: str, taken):
    """Type a number beside a slider until it is taken; while the page is still being made it may be forgotten."""

    def typed():
        field = row_of(page, label)
        field.fill(value)
        field.press("Enter")
        for _ in range(20):
            page.wait_for_timeout(100)
            if taken():
                return True
        return False

    wait_until(typed, f"the value of {label}")
