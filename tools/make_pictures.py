"""Make the manual's pictures of the viewer: docs/pictures/*.png. Needs Playwright and Chromium."""

from __future__ import annotations

import io
import pathlib
import shutil

from PIL import Image
from playwright.sync_api import sync_playwright

import vitree as vt

FOLDER = pathlib.Path(__file__).parent.parent / "docs" / "pictures"
FLAGS = """--no-sandbox --disable-gpu --use-gl=angle --use-angle=swiftshader --enable-unsafe-swiftshader --disable-quic
    --no-first-run --disable-background-networking --disable-component-update --disable-sync""".split()


def swings():
    """The thrown figure, by two methods with steps that are too long for one of them."""
    model = vt.load_urdf(vt.find_robot("human"), base="free")
    v = model.zero_velocity()
    v[:6] = 0.0, 0.5, 4.0, 0.5, 4.0, 1.0
    methods = ("linear-time", "explicit-euler")
    return {method: vt.simulate(model, v0=v, duration=0.8, dt=0.004, method=method) for method in methods}


def crane():
    """A weight on a string and a spring."""
    tree = vt.Tree("crane")
    tree.world.add(vt.fixed("corner", xyz=(-1.5, 0.0, 0.0)))
    tree.world.add(vt.tx("trolley", kinematic=True), vt.frame("hook"))
    tree.world.add(vt.tx("x"), vt.tz("z"), vt.body("weight", mass=5.0))
    tree.constrain(vt.Distance("hook", "weight", 2.0))
    tree.load(vt.Spring("corner", "weight", 20.0, 2.0))
    return tree.compile()


def main() -> None:
    """Take the pictures."""
    FOLDER.mkdir(exist_ok=True)
    shown = {
        "runs": (swings(), {"spread": 0.8}),
        "crane": (crane(), {"q": [0.5, 0.9, -1.96]}),
    }
    with sync_playwright() as tool:
        browser = tool.chromium.launch(executable_path=shutil.which("chromium"), args=FLAGS)
        for name, (source, options) in shown.items():
            viewer = vt.view(source, browser=False, block=False, port=8700, **options)
            page = browser.new_page(viewport={"width": 1000, "height": 620})
            page.goto(viewer.url)
            page.wait_for_timeout(8000)
            page.add_style_tag(content=".mantine-Notifications-root { display: none; }")
            page.wait_for_timeout(500)
            picture = Image.open(io.BytesIO(page.screenshot())).convert("P", palette=Image.Palette.ADAPTIVE, colors=128)
            picture.save(FOLDER / f"{name}.png", optimize=True)
            page.close()
            viewer.stop()
        browser.close()


if __name__ == "__main__":
    main()
