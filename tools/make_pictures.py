"""Make the manual's pictures, docs/pictures/*.png: python tools/make_pictures.py [NAME ...]

Without names it makes all. Those of the viewer need Playwright and Chromium, the others Matplotlib.
"""

from __future__ import annotations

import contextlib
import io
import pathlib
import shutil
import sys

import numpy as np
from matplotlib.figure import Figure
from PIL import Image
from playwright.sync_api import sync_playwright

import vitree as vt
import vitree.control as vc
from vitree import plot, vehicles

FOLDER = pathlib.Path(__file__).parent.parent / "docs" / "pictures"
FLAGS = """--no-sandbox --disable-gpu --use-gl=angle --use-angle=swiftshader --enable-unsafe-swiftshader --disable-quic
    --no-first-run --disable-background-networking --disable-component-update --disable-sync""".split()
LARGEST = 150_000  # bytes of a picture


def write(name: str, picture: Image.Image) -> None:
    """Write a picture in 128 colours."""
    path = FOLDER / f"{name}.png"
    picture.convert("RGB").convert("P", palette=Image.Palette.ADAPTIVE, colors=128).save(path, optimize=True)
    assert path.stat().st_size < LARGEST, path
    print(path, path.stat().st_size, "bytes")


# ---- of the viewer ---------------------------------------------------------------------------------------------------


@contextlib.contextmanager
def pages():
    """What opens a page of the viewer and returns its picture."""
    with sync_playwright() as tool:
        browser = tool.chromium.launch(executable_path=shutil.which("chromium"), args=FLAGS)

        def shot(source, width=1000, height=620, **options) -> Image.Image:
            viewer = vt.view(source, browser=False, block=False, port=8700, **options)
            page = browser.new_page(viewport={"width": width, "height": height})
            page.goto(viewer.url)
            page.wait_for_timeout(20000)
            page.add_style_tag(content=".mantine-Notifications-root { display: none; }")
            page.wait_for_timeout(500)
            picture = Image.open(io.BytesIO(page.screenshot()))
            page.close()
            viewer.stop()
            return picture

        yield shot
        browser.close()


def runs(shot) -> Image.Image:
    """The thrown figure, by two methods with steps that are too long for one of them."""
    model = vt.load_urdf(vt.find_robot("human"), base="free")
    v = model.zero_velocity()
    v[:6] = 0.0, 0.5, 4.0, 0.5, 4.0, 1.0
    methods = ("linear-time", "explicit-euler")
    thrown = {method: vt.simulate(model, v0=v, duration=0.8, dt=0.004, method=method) for method in methods}
    return shot(thrown, width=1300, height=720, spread=0.8)


def crane(shot) -> Image.Image:
    """A weight on a string and a spring."""
    tree = vt.Tree("crane")
    tree.world.add(vt.fixed("corner", xyz=(-1.5, 0.0, 0.0)))
    tree.world.add(vt.tx("trolley", kinematic=True), vt.frame("hook"))
    tree.world.add(vt.tx("x"), vt.tz("z"), vt.body("weight", mass=5.0))
    tree.constrain(vt.Distance("hook", "weight", 2.0))
    tree.load(vt.Spring("corner", "weight", 20.0, 2.0))
    return shot(tree.compile(), q=[0.5, 0.9, -1.96])


def talos(shot) -> Image.Image:
    """The humanoid of the tutorial, with its sliders."""
    return shot(vt.load_urdf(vt.find_robot("talos"), base="free"))


def fleet(shot) -> Image.Image:
    """The four vehicles, two by two."""
    whole = Image.new("RGB", (1000, 620))
    for k, make in enumerate((vehicles.helicopter, vehicles.boat, vehicles.car, vehicles.snakeboard)):
        picture = shot(make(), width=1200, height=400).crop((350, 60, 850, 370))  # the panel is on the right
        whole.paste(picture, (500 * (k % 2), 310 * (k // 2)))
    return whole


# ---- of plots --------------------------------------------------------------------------------------------------------


def drawn(figure: Figure) -> Image.Image:
    """The picture of a figure."""
    file = io.BytesIO()
    figure.savefig(file, format="png", dpi=110)
    return Image.open(file)


def energy() -> Figure:
    """The tutorial's four methods over a minute."""
    model = vt.load_urdf(vt.find_robot("double_pendulum"))
    methods = ("linear-time", "midpoint", "semi-implicit-euler", "rk4")
    start = {"q0": model.neutral() + 1.0, "duration": 60.0, "dt": 0.02}
    figure = Figure(figsize=(7.5, 3.2), layout="constrained")
    plot.energy_error({method: vt.simulate(model, method=method, **start) for method in methods}, figure.subplots())
    return figure


def comparison() -> Figure:
    """What a comparison looks like."""
    model = vt.load_urdf(vt.find_robot("double_pendulum"))
    methods = ["linear-time", "midpoint", "semi-implicit-euler", "rk4"]
    found = vt.compare(model, methods, [1.0, 0.5], duration=2.0, dt=[0.04, 0.02, 0.01, 0.005])
    figure = plot.comparison(found)
    figure.set_size_inches(7.5, 8.0)
    return figure


def coordinates() -> Figure:
    """A run's angles over time, and one against its rate."""
    model = vt.load_urdf(vt.find_robot("double_pendulum"))
    run = vt.simulate(model, [1.0, 0.5], duration=5.0, dt=0.01)
    figure = Figure(figsize=(7.5, 3.0), layout="constrained")
    left, right = figure.subplots(1, 2)
    plot.coordinates(run, None, left)
    plot.phase(run, "hinge1", right)
    return figure


def control() -> Figure:
    """The controlled arm of the page: how far each joint is from its goal, and its torque over its limit."""
    model = vt.load_urdf(vt.find_robot("arm6"))
    goal = model.neutral() + np.array([0.5, -0.4, 0.8, 0.2, 0.3, -0.2])
    inertia = 1.0 / np.diag(np.linalg.inv(model.crba(goal)))
    omega, rest = 12.0, model.zero_velocity()

    def torque(t, q, v):
        return model.rnea(q, rest, rest) - omega**2 * inertia * model.difference(goal, q) - 2 * omega * inertia * v

    run = vt.simulate(model, duration=2.0, dt=2e-3, control=vt.Control(torque=torque, effort_limits=True))
    limits = np.array([joint.effort[0] for joint in model.joints])
    asked = np.array([torque(*state) for state in zip(run.t, run.q, run.v, strict=True)])
    figure = Figure(figsize=(7.5, 3.0), layout="constrained")
    left, right = figure.subplots(1, 2)
    for k, name in enumerate(model.v_names):
        style = {"label": name, "linestyle": ("-", "--", ":")[k % 3], "color": str(0.45 * (k // 3))}
        left.plot(run.t, run.q[:, k] - goal[k], **style)
        right.plot(run.t, np.clip(asked[:, k] / limits[k], -1, 1), **style)
    left.set(title="angle less goal [rad]", xlabel="time [s]", xlim=(0, 1))
    right.set(title="torque over effort limit", xlabel="time [s]", xlim=(0, 1))
    right.legend(fontsize="small")
    return figure


def mast() -> Figure:
    """The plan of the page on optimal control: the way round the mast from above, and the inputs."""
    heli = vehicles.helicopter(drag=(0.02, 0.02, 0.02, 0.1, 0.1, 0.2))
    bounds = {"collective": (0, 25), "yaw": (-1, 1), "pitch": (-0.3, 0.3), "roll": (-0.3, 0.3), "z": (0.5, 3)}
    problem = vc.ControlProblem(heli, steps=30, duration=(2.0, 6.0), cost=["effort", vc.TimeCost(0.01)], bounds=bounds,
                                start=([0, 0, 2, 0, 0, 0, 1], [1, 0, 0, 0, 0, 0]), goal=[4, 1, 1, *[np.nan] * 4],
                                obstacles=[vc.CylinderObstacle((2.0, 0.3), 0.5, "mast")], radius=0.4)  # fmt: skip
    plan = vc.solve(problem).trajectory
    figure = Figure(figsize=(7.5, 3.0), layout="constrained")
    path, inputs = figure.subplots(1, 2)
    turn = np.linspace(0, 2 * np.pi, 100)
    path.fill(2.0 + 0.5 * np.cos(turn), 0.3 + 0.5 * np.sin(turn), color="0.7")
    path.plot(2.0 + 0.9 * np.cos(turn), 0.3 + 0.9 * np.sin(turn), color="0.7", linestyle=":")
    path.plot(plan["x"], plan["y"], color="C0", marker=".")
    path.set(title="the way round the mast", xlabel="x [m]", ylabel="y [m]", aspect="equal")
    for k, name in enumerate(plan.input_names):
        largest = abs(plan[name]).max()
        inputs.stairs(plan[name] / largest, plan.t, baseline=None, color=f"C{k}", linestyle=("-", "--", ":", "-.")[k],
                      label=f"{name} / {largest:.2g}")  # fmt: skip
    inputs.set(title="inputs, over their largest", xlabel="time [s]")
    inputs.legend(fontsize="small")
    return figure


SHOTS = {made.__name__: made for made in (runs, crane, talos, fleet)}
PLOTS = {made.__name__: made for made in (energy, comparison, coordinates, control, mast)}


def main(*names: str) -> None:
    """Make the pictures of these names, or all."""
    FOLDER.mkdir(exist_ok=True)
    wanted = names or (*SHOTS, *PLOTS)
    for name in PLOTS.keys() & set(wanted):
        write(name, drawn(PLOTS[name]()))
    if SHOTS.keys() & set(wanted):
        with pages() as shot:
            for name in SHOTS.keys() & set(wanted):
                write(name, SHOTS[name](shot))


if __name__ == "__main__":
    main(*sys.argv[1:])
