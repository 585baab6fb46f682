"""Names: those of a compiled model, made unique as a Tree needs them, and findings by their rules."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike

from vitree.findings import Finding, Report

if TYPE_CHECKING:
    from mujoco import MjModel

#: Rules of findings, and how grave they are. A warning: the motion differs from that of MuJoCo.
RULES = {
    "name": "note",
    "compiler": "note",
    "contacts": "note",
    "actuators": "note",
    "limits": "note",
    "friction": "note",
    "loops": "note",
    "start": "warning",
}
#: Rules of what is left out.
LEFT_OUT = {
    "joint-armature": "warning",
    "joint-friction": "warning",
    "joint-limit": "warning",
    "joint-spring": "warning",
    "joint-damping": "warning",
    "actuator": "warning",
    "actuator-limit": "warning",
    "tendon": "warning",
    "equality": "warning",
    "contact-shape": "warning",
    "contact-pair": "warning",
    "fluid": "warning",
    "body": "warning",
    "plugin": "warning",
    "contact-soft": "note",
    "contact-friction": "note",
    "option": "note",
    "drawing": "note",
    "sensor": "note",
}


class Findings:
    """Findings on the way from a compiled model to a tree.

    Parameters
    ----------
    file : str
        Name of the file.
    """

    def __init__(self, file: str):
        self.file = file
        self.found: list[Finding] = []

    def say(self, rule: str, text: str) -> None:
        """Keep a finding."""
        self.found.append(Finding(f"mjcf-{rule}", (LEFT_OUT | RULES)[rule], text, self.file))

    def report(self) -> Report:
        """Return all findings, warnings first."""
        return Report(sorted(self.found, key=lambda each: each.severity != "warning"))


def left_out(report: Report) -> Report:
    """Return the findings about what is left out."""
    return Report(each for each in report if each.id.removeprefix("mjcf-") in LEFT_OUT)


class Names:
    """Names of the parts of a compiled model.

    Joints, links and frames of a Tree have different names, but a joint and a link may share one. MuJoCo's parts need
    no names, and those of different kinds may share one.

    Parameters
    ----------
    model : MjModel
    findings : Findings
    """

    def __init__(self, model: MjModel, findings: Findings):
        self.model = model
        self.taken: set[str] = {"world"}
        self.body = self._all("body", model.nbody, set())
        self.joint = self._all("joint", model.njnt, set())
        self.taken |= {*self.body, *self.joint}
        self.site = self._all("site", model.nsite, self.taken)
        self.taken |= set(self.site)
        self.actuator = self._all("actuator", len(model.actuator_trntype), set())
        changed = [f"{old} is {new}" for old, new in self._changed]
        if changed:
            findings.say("name", "names that other parts have already: " + ", ".join(changed))

    _changed: list[tuple[str, str]]

    def of(self, kind: str, k: int) -> str:
        """Return the name of the k-th part of a kind; "" if it has none."""
        import mujoco

        return mujoco.mj_id2name(self.model, getattr(mujoco.mjtObj, f"mjOBJ_{kind.upper()}"), k) or ""

    def _all(self, kind: str, count: int, taken: set[str]) -> list[str]:
        if not hasattr(self, "_changed"):
            self._changed = []
        used = set(taken)
        names: list[str] = []
        for k in range(count):
            given = self.of(kind, k)
            name = given or f"{kind}{k}"
            while name in used:
                name = f"{name}_{kind}" if name == given else f"{name}_"
            if given and name != given:
                self._changed.append((f'the {kind} "{given}"', f'"{name}"'))
            used.add(name)
            names.append(name)
        return names

    def new(self, name: str) -> str:
        """Return a name for a frame that nobody has, and keep it."""
        while name in self.taken:
            name = f"{name}_"
        self.taken.add(name)
        return name


def matrix(quaternion: ArrayLike) -> np.ndarray:
    """Return the rotation (3, 3) of a quaternion (w, x, y, z)."""
    import mujoco

    out = np.empty(9)
    mujoco.mju_quat2Mat(out, np.asarray(quaternion, dtype=float))
    return out.reshape(3, 3)


def listed(names: Iterable[str], most: int = 8) -> str:
    """Return names in quotes, the first of many."""
    names = [f'"{name}"' for name in dict.fromkeys(names)]
    return ", ".join(names[:most]) + (f" and {len(names) - most} more" if len(names) > most else "")
