"""How the joints of a file connect its links: the root, loops, and joints that are turned round."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from xml.etree.ElementTree import Element as Node

from vitree.errors import UnknownNameError
from vitree.urdf.checks import listed
from vitree.urdf.joints import Joint
from vitree.urdf.xml import Source


@dataclass(frozen=True)
class Layout:
    """The tree of a file.

    Attributes
    ----------
    root : str
        Name of the root link.
    below : dict
        For each link its joints, in the order of the file, each with the link to which it leads.
    closing : dict
        The joints that close loops (a set in order).
    turned : dict
        The joints that lead from their child to their parent (a set in order).
    """

    root: str
    below: dict[str, list[tuple[str, str]]]
    closing: dict[str, None]
    turned: dict[str, None]

    def joints(self) -> set[str]:
        """Return the joints of the tree and those that close its loops."""
        return {name for some in self.below.values() for name, _ in some} | set(self.closing)


def find_layout(
    file: Source, links: Mapping[str, Node], joints: Mapping[str, Joint], loops: str, root: str | None
) -> Layout:
    """Return the tree of the links and joints that ``check_elements`` has checked.

    The tree keeps the first joint to a link, in the order of the file; every other joint to that link closes a loop.
    Raises a UrdfError if the links do not form one tree, and an UnknownNameError if there is no link ``root``.

    Parameters
    ----------
    loops : {"error", "constraints"}
    root : str or None
        The link that is to be the root.
    """
    if root is not None and not (isinstance(root, str) and root in links):
        raise UnknownNameError("link", root, links, argument="root")
    ends = {name: (joint.parent, joint.child) for name, joint in joints.items()}
    above: dict[str, tuple[str, str]] = {}
    closing: dict[str, None] = {}
    for name, (parent, child) in ends.items():
        if child not in above:
            above[child] = name, parent
        elif loops == "error":
            text = f'the link "{child}" is the child of two joints, "{above[child][0]}" and "{name}"'
            file.say("two-parents", text, joints[name])
        elif parent == child:
            text = f'the joint "{name}" joins the link "{child}" to itself'
            file.say("loop", text, joints[name], remedy="remove it")
        else:
            closing[name] = None
    roots = [link for link in links if link not in above]
    _check_cycles(file, links, joints, ends, above, closing, bool(roots))
    if len(roots) > 1 and root is None:
        text = f"there are {len(roots)} root links, {listed(roots)}; a robot has one"
        choice = f'root="{_largest(roots, above)}"'
        remedy = f"connect them by joints, or choose one, such as {choice}; the others are ignored"
        file.say("several-roots", text, links[roots[1]], remedy=remedy)
    file.stop()
    # from the chosen root to the root of the file: these joints are turned round
    turned: dict[str, None] = {}
    at = roots[0] if root is None else root
    while at in above:
        name, at = above[at]
        turned[name] = None
        if (kind := joints[name].type) in ("floating", "spherical"):
            file.say("root-floating", f'the joint "{name}" on the path to the root "{root}" is {kind}', joints[name])
    file.stop()
    below: dict[str, list[tuple[str, str]]] = {link: [] for link in links}
    for name, (parent, child) in ends.items():
        if name in turned:
            below[child].append((name, parent))
        elif name not in closing:
            below[parent].append((name, child))
    layout = Layout(root or roots[0], below, closing, turned)
    return _without_others(file, layout, links, ends) if len(roots) > 1 else layout


def _largest(roots: list[str], above: Mapping[str, tuple[str, str]]) -> str:
    """Return the root with the most links below it."""
    children: dict[str, list[str]] = {}
    for child, (_, parent) in above.items():
        children.setdefault(parent, []).append(child)
    sizes: dict[str, int] = {}
    for root in roots:
        stack, sizes[root] = [root], 0
        while stack:
            own = children.get(stack.pop(), [])
            stack += own
            sizes[root] += len(own)
    return max(roots, key=lambda root: sizes[root])


def _check_cycles(
    file: Source, links: Iterable[str], joints: Mapping[str, Joint], ends: Mapping[str, tuple[str, str]],
    above: Mapping[str, tuple[str, str]], closing: Iterable[str], rooted: bool,
) -> None:  # fmt: skip
    """Climb from every link towards a root; a climb that meets one of its own links is a cycle."""
    done: set[str] = set()
    for link in links:
        climbed: dict[str, None] = {}
        at = link
        while at in above and at not in done and at not in climbed:
            climbed[at] = None
            at = above[at][1]
        done.update(climbed)
        if at not in climbed:
            continue
        circle = [above[x][0] for x in list(climbed)[list(climbed).index(at) :]]
        others = [name for name in closing if ends[name][1] in climbed and ends[name][0] not in climbed]
        text = ("" if rooted else "there is no root link; ") + f"the joint(s) {listed(circle)} form a cycle"
        remedy = None
        if others:
            child = ends[others[0]][1]
            remedy = f'the tree keeps the first joint to a link: put "{others[0]}" before the other joint to "{child}"'
        file.say("cycle", text, joints[circle[0]], remedy=remedy)


def _without_others(
    file: Source, layout: Layout, links: Mapping[str, Node], ends: Mapping[str, tuple[str, str]]
) -> Layout:
    """Leave out the links that are not connected to the root."""
    kept, stack = {layout.root}, [layout.root]
    while stack:
        for _, link in layout.below[stack.pop()]:
            kept.add(link)
            stack.append(link)
    out = [link for link in links if link not in kept]
    file.say("left-out", f'links that are not connected to "{layout.root}" are ignored: {listed(out)}', links[out[0]])
    closing = {name: None for name in layout.closing if set(ends[name]) <= kept}
    return Layout(layout.root, {link: layout.below[link] for link in links if link in kept}, closing, layout.turned)
