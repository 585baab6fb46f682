"""Groups of sliders: by the limbs of a robot, with a search over their names."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import numpy as np

from vitree.mechanism.flat import KIND_NV
from vitree.model.model import Model
from vitree.model.system import System
from vitree.wording import visible

if TYPE_CHECKING:
    from viser import GuiApi

#: Fewer sliders than these are one group, without a search.
FEW = 8
#: A body at which two subtrees of at least LIMB coordinates begin is of the trunk.
LIMB = 2


def limbs(system: System) -> dict[str, str]:
    """Return the name of its group for each joint of a system; one name for all if nothing branches.

    The trunk is all bodies above a branching: one at which two or more subtrees with LIMB coordinates begin. Every
    other joint belongs to the subtree that begins below the trunk. A group has the beginning that most of its joints'
    names share, or else the names of its first and last joint.
    """
    if not isinstance(system, Model):
        return {}
    of_body = _joints_of_bodies(system)
    parent = np.asarray(system.full.flat.parent)
    n = len(parent)
    size = np.array([len(of_body[k]) for k in range(n)])
    for k in range(n - 1, -1, -1):
        if parent[k] >= 0:
            size[parent[k]] += size[k]
    heavy = [sum(1 for c in range(n) if parent[c] == k and size[c] >= LIMB) for k in range(n)]
    trunk = np.array([h >= 2 for h in heavy])
    for k in range(n - 1, -1, -1):
        if trunk[k] and parent[k] >= 0:
            trunk[parent[k]] = True
    top = np.arange(n)
    for k in range(n):
        if not trunk[k] and parent[k] >= 0 and not trunk[parent[k]]:
            top[k] = top[parent[k]]
    members: dict[int, list[str]] = {}
    for k in range(n):
        members.setdefault(-1 if trunk[k] else int(top[k]), []).extend(of_body[k])
    members = {k: joints for k, joints in members.items() if joints}
    words = {k: "trunk" if k < 0 else _shared(joints) for k, joints in members.items()}
    found: dict[str, str] = {}
    for k, joints in members.items():
        alone = words[k] and [*words.values()].count(words[k]) == 1
        label = words[k] if alone else " … ".join(dict.fromkeys((joints[0], joints[-1])))
        found |= dict.fromkeys(joints, label)
    return {joint.name: found[joint.name] for joint in system.joints if joint.name in found}


def _joints_of_bodies(model: Model) -> list[list[str]]:
    """Return the joints that move each body of the full model."""
    flat = model.full.flat
    of_body: list[list[str]] = [[] for _ in flat.parent]
    begins = np.cumsum([0, *(KIND_NV[kind] for kind in flat.kind)])
    for joint in flat.joints:
        of_body[int(np.searchsorted(begins, joint.v_slice.start, "right")) - 1].append(joint.name)
    return of_body


def _shared(joints: list[str]) -> str:
    """Return the longest beginning in whole words that more than half of the names share; empty if there is none."""
    beginnings: dict[str, int] = {}
    for name in joints:
        parts = re.findall(r"[^_/. -]+|[_/. -]+", name)
        for k in range(1, len(parts) + 1, 1):
            beginning = "".join(parts[:k]).rstrip("_/. -")
            beginnings[beginning] = beginnings.get(beginning, 0) + (k == len(parts) or k % 2 == 1)
    many = [text for text, count in beginnings.items() if text and 2 * count > len(joints)]
    return max(many, key=len, default="")


class Groups:
    """Folders of sliders, and a field that hides those whose names do not have its words in them.

    Sliders are made within :meth:`folder` of their group, and told to :meth:`add`.
    """

    def __init__(self, gui: GuiApi, count: int):
        self._gui = gui
        self.rows: list[tuple[str, Any, Any]] = []
        self._folders: dict[str, Any] = {}
        self.field: Any = None
        if count > FEW:
            self.field = gui.add_text("search", "", hint="shows the sliders whose names have these words in them")
            self.field.on_update(lambda _: self.search(str(self.field.value)))

    @contextmanager
    def folder(self, group: str) -> Iterator[None]:
        """What is made in this block is of a group."""
        if self.field is None or not group:
            yield
            return
        if group not in self._folders:
            self._folders[group] = self._gui.add_folder(visible(group))
        with self._folders[group]:
            yield

    def add(self, name: str, group: str, handle: Any) -> None:
        """Let the search find what was made."""
        self.rows.append((f"{group} {name}".lower(), self._folders.get(group), handle))

    def search(self, text: str) -> None:
        """Show what has all words of a text in its name or that of its group, and the folders with it."""
        words = text.lower().split()
        shown_in: dict[int, bool] = {}
        for name, folder, handle in self.rows:
            shown = all(word in name for word in words)
            if handle.visible != shown:
                handle.visible = shown
            if folder is not None:
                shown_in[id(folder)] = shown_in.get(id(folder), False) or shown
        for folder in self._folders.values():
            if folder.visible != shown_in.get(id(folder), True):
                folder.visible = shown_in.get(id(folder), True)
