"""Make the picture of the page on conventions: python tools/make_conventions.py writes docs/_static/conventions.svg."""

from __future__ import annotations

import pathlib
from html import escape

PATH = pathlib.Path(__file__).parent.parent / "docs" / "_static" / "conventions.svg"
SIZE = 760, 560
RED, GREEN, BLUE, DARK, GREY = "#c0392b", "#2e8b57", "#2460a7", "#222", "#777"


def text(x: float, y: float, words: str, color: str = DARK, size: int = 14, anchor: str = "start") -> str:
    """Write a line of text."""
    return f'<text x="{x}" y="{y}" fill="{color}" font-size="{size}" text-anchor="{anchor}">{escape(words)}</text>'


def line(x1: float, y1: float, x2: float, y2: float, color: str = DARK, width: float = 1.5, dash: str = "") -> str:
    """Draw a line."""
    dashed = f' stroke-dasharray="{dash}"' if dash else ""
    return f'<path d="M{x1:g} {y1:g}L{x2:g} {y2:g}" stroke="{color}" stroke-width="{width}" fill="none"{dashed}/>'


def arrow(x: float, y: float, dx: float, dy: float, color: str = DARK, width: float = 2.2) -> str:
    """Draw an arrow from (x, y) along (dx, dy)."""
    length = (dx * dx + dy * dy) ** 0.5
    u, v = dx / length, dy / length
    a, b = x + dx - 9 * u, y + dy - 9 * v
    head = f"M{x + dx:g} {y + dy:g}L{a - 4 * v:.1f} {b + 4 * u:.1f}L{a + 4 * v:.1f} {b - 4 * u:.1f}Z"
    return line(x, y, a, b, color, width) + f'<path d="{head}" fill="{color}"/>'


def axes(x: float, y: float, ways: list[tuple[float, float]], names: str) -> str:
    """Draw three axes and their names."""
    found = []
    for (dx, dy), color, name in zip(ways, (RED, GREEN, BLUE), names.split(), strict=True):
        found += [arrow(x, y, dx, dy, color), text(x + 1.18 * dx - 4, y + 1.18 * dy + 5, name, color, 13)]
    return "".join(found)


def turning(x: float, y: float, color: str) -> str:
    """Draw the arc of a torque or of an angular velocity about a vertical axis."""
    arc = f'<path d="M{x - 15} {y - 3}A16 7 0 1 0 {x + 14} {y - 4}" stroke="{color}" stroke-width="2.2" fill="none"/>'
    return arc + f'<path d="M{x + 9} {y - 9}L{x + 19} {y - 8}L{x + 13} {y}Z" fill="{color}"/>'


def scene() -> list[str]:
    """Draw frames, a velocity and a wrench."""
    body = "M318 96L448 66L476 150L346 182Z"
    return [
        text(20, 28, "Frames, velocities, wrenches", DARK, 16),
        axes(80, 240, [(62, 0), (38, -34), (0, -66)], "x y z"),
        text(40, 268, "world frame W", GREY),
        text(40, 286, "gravity (0, 0, -9.81) m/s²", GREY, 13),
        f'<path d="{body}" fill="#eef2f7" stroke="{GREY}"/>',
        axes(384, 132, [(56, -13), (32, -44), (-12, -60)], "x y z"),
        line(80, 240, 384, 132, GREY, 1.5, "5 4"),
        text(186, 176, "position", GREY),
        text(296, 206, "base frame B of a free joint", DARK),
        text(296, 226, "q = (x, y, z, qx, qy, qz, qw): position in W, rotation B to W", DARK, 13),
        text(296, 244, "v = (vx, vy, vz, wx, wy, wz): linear, angular, in the axes of B", DARK, 13),
        f'<circle cx="600" cy="120" r="4" fill="{DARK}"/>',
        line(462, 108, 600, 120, GREY, 6),
        arrow(600, 120, 66, -44, RED),
        text(670, 74, "force", RED),
        arrow(600, 120, 0, -62, BLUE),
        turning(600, 74, BLUE),
        text(566, 46, "torque", BLUE),
        text(560, 148, "frame F of a link", DARK),
        text(296, 264, "spatial vectors of F: (angular, linear), (torque, force),", DARK, 13),
        text(296, 282, "in world axes, about the origin of F", DARK, 13),
    ]


def times() -> list[str]:
    """Draw nodes, records and steps along the time."""
    y, first, gap = 430, 90, 190
    found = [
        line(20, 306, 740, 306, "#ddd", 1),
        text(20, 334, "Time: nodes, records and steps", DARK, 16),
        arrow(50, y, 690, 0, DARK, 1.5),
        text(722, y + 22, "t", DARK),
    ]
    for k in range(4):
        x = first + gap * k
        found += [
            line(x, y - 8, x, y + 8, DARK, 2),
            text(x, y + 26, f"t[{k}]", DARK, 14, "middle"),
            text(x, y + 46, f"q[{k}]  v[{k}]  p[{k}]", DARK, 14, "middle"),
        ]
        if k < 3:
            found += [
                arrow(x, y - 62, 0, 52, RED),
                text(x + 8, y - 50, f"impulses of step {k + 1}", RED, 13),
                text(x + gap / 2, y - 12, f"step {k + 1}", GREY, 14, "middle"),
                text(x + gap / 2, y + 78, f"inputs row {k}", BLUE, 13, "middle"),
                text(x + gap / 2, y + 96, f"monitors row {k}", BLUE, 13, "middle"),
                text(x + gap / 2, y + 114, f"iterations[{k + 1}]  multipliers[{k + 1}]", BLUE, 13, "middle"),
                line(x + 8, y + 60, x + gap - 8, y + 60, BLUE, 1.5),
            ]
    return found


def main() -> None:
    """Write the picture."""
    head = f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {SIZE[0]} {SIZE[1]}" font-family="sans-serif">'
    ground = f'<rect width="{SIZE[0]}" height="{SIZE[1]}" rx="6" fill="#fff"/>'
    PATH.write_text("\n".join([head, ground, *scene(), *times(), "</svg>"]) + "\n")
    print(PATH, PATH.stat().st_size, "bytes")


if __name__ == "__main__":
    main()
