"""Scenes of the manual in 3D: runs that the viewer writes as single pages when the manual is built as HTML.

The role ``scene`` is a link to the page of a scene of ``SCENES``, below the folder ``scenes`` of the manual. Where the
viewer (the extra "view") is not installed, there are neither pages nor links.
"""

from __future__ import annotations

import importlib.util
import logging
from pathlib import Path

import numpy as np
from docutils import nodes

import vitree as vt

#: The folder of the pages in the manual.
FOLDER = "scenes"


def fall() -> vt.Trajectory:
    """A humanoid figure falls, since its servos are too weak to hold it."""
    model = vt.load_urdf(vt.find_robot("human"), base="free", ground=vt.Ground(friction=0.8), limits="enforce")
    model = model.with_drives({"*": (20, 2)})
    v = model.zero_velocity()
    v[[0, 1, 4]] = 0.6, 0.3, 0.5
    q = vt.place_on_ground(model, model.neutral())
    return vt.simulate(model, q, v, duration=2.0, dt=1e-3, record_every=10)


def arm() -> vt.Trajectory:
    """Servos move a six-axis arm from one posture to another."""
    model = vt.load_urdf(vt.find_robot("arm6"))
    gains = {name: (k, 0.2 * k) for name, k in zip(model.joint_names, (900, 900, 400, 60, 60, 8), strict=True)}
    goal = np.array([1.2, -0.8, 1.0, 0.4, 0.6, -0.5])
    rest = model.zero_velocity()
    ahead = goal + model.rnea(goal, rest, rest) / [gain[0] for gain in gains.values()]
    return vt.simulate(model.with_drives(gains), duration=2.0, dt=2e-3, control=vt.Control(targets=ahead),
                       record_every=5)


def chain() -> vt.Trajectory:
    """A chain of ten links swings for ten seconds, with the error of its energy."""
    model = vt.load_urdf(vt.find_robot("chain10"))
    return vt.simulate(model, model.neutral() + 0.3, duration=10.0, dt=2e-3, record_every=10)


SCENES = {"fall": fall, "arm": arm, "chain": chain}


def scene(role, source, text, line, inliner, options=None, content=()):
    """Return what the scene shows, as a link to its page if there is a viewer."""
    made = SCENES.get(text)
    if made is None:
        fault = inliner.reporter.error(f"no scene {text}; choose from {', '.join(SCENES)}", line=line)
        return [inliner.problematic(source, source, fault)], [fault]
    if importlib.util.find_spec("viser") is None:
        return [nodes.Text(made.__doc__)], []
    address = "../" * inliner.document.settings.env.docname.count("/") + f"{FOLDER}/{text}.html"
    return [nodes.raw("", f'<a href="{address}">{made.__doc__}</a>', format="html")], []


def write(app, exception) -> None:
    """Write the pages."""
    if exception or app.builder.name != "html" or importlib.util.find_spec("viser") is None:
        return
    folder = Path(app.outdir) / FOLDER
    folder.mkdir(exist_ok=True)
    logging.getLogger("websockets").setLevel(logging.WARNING)
    for name, scene in SCENES.items():
        if not (folder / f"{name}.html").exists():
            vt.view(scene(), html=folder / f"{name}.html")


def setup(app):
    """Register both."""
    app.add_role("scene", scene)
    app.connect("build-finished", write)
