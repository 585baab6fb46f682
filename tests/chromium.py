"""Headless Chromium for the tests of pages (of Debian, the package ``chromium``).

They are skipped without it, but not where CI is set.
"""

from __future__ import annotations

import contextlib
import os
import shutil

import pytest

CHROMIUM = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
#: No accelerator, and nothing that asks for an address of its own.
FLAGS = """--no-sandbox --disable-gpu --use-gl=angle --use-angle=swiftshader --enable-unsafe-swiftshader --disable-quic
    --no-first-run --disable-background-networking --disable-component-update --disable-sync""".split()


@contextlib.contextmanager
def without_surroundings():
    """Pages of viser that are made meanwhile reflect no surroundings: to blur these takes a processor ten seconds."""
    server = pytest.importorskip("viser").ViserServer
    begin = server.__init__

    def plain(self, *of, **more):
        begin(self, *of, **more)
        self.scene.configure_environment_map(hdri=None)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(server, "__init__", plain)
        yield


@contextlib.contextmanager
def launched():
    """A browser of Playwright."""
    playwright = pytest.importorskip("playwright.sync_api")
    if CHROMIUM is None and not os.environ.get("CI"):
        pytest.skip("there is no Chromium")
    assert CHROMIUM, "there is no Chromium; install Debian's package chromium"
    with playwright.sync_playwright() as tool:
        browser = tool.chromium.launch(executable_path=CHROMIUM, args=FLAGS)
        yield browser
        browser.close()
