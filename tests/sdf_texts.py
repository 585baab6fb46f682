"""Models and worlds in SDFormat, as texts."""

from __future__ import annotations

INERTIA = "<inertia><ixx>0.02</ixx><iyy>0.03</iyy><izz>0.015</izz><ixy>0.001</ixy></inertia>"


def inertial(mass: float = 1.0, pose: str = "0.01 0 -0.2 0.1 0.2 0.3") -> str:
    return f"<inertial><pose>{pose}</pose><mass>{mass}</mass>{INERTIA}</inertial>"


def link(name: str, pose: str = "0 0 0 0 0 0", more: str = "", mass: float = 1.0, relative_to: str = "") -> str:
    to = f' relative_to="{relative_to}"' if relative_to else ""
    return f'<link name="{name}"><pose{to}>{pose}</pose>{inertial(mass)}{more}</link>'


def joint(name: str, parent: str, child: str, kind: str = "revolute", xyz: str = "0 1 0", more: str = "",
          axis: str = "") -> str:  # fmt: skip
    axes = f"<axis><xyz>{xyz}</xyz>{axis}</axis>" if kind not in ("fixed", "ball") else ""
    return (f'<joint name="{name}" type="{kind}"><parent>{parent}</parent><child>{child}</child>'
            f"{axes}{more}</joint>")  # fmt: skip


def model(*parts: str, name: str = "m", pose: str = "", more: str = "") -> str:
    place = f"<pose>{pose}</pose>" if pose else ""
    return f'<model name="{name}">{place}{more}' + "\n".join(parts) + "</model>"


def sdf(*parts: str, version: str = "1.9") -> str:
    return f'<sdf version="{version}">' + "\n".join(parts) + "</sdf>"


def world(*parts: str, more: str = "") -> str:
    return sdf(f'<world name="w">{more}' + "\n".join(parts) + "</world>")


def shape(geometry: str, surface: str = "", pose: str = "0 0 0 0 0 0", name: str = "c") -> str:
    return (f'<collision name="{name}"><pose>{pose}</pose><geometry>{geometry}</geometry>'
            f"{surface}</collision>")  # fmt: skip


BALL = shape("<sphere><radius>0.1</radius></sphere>")
FLOOR = model('<link name="l">' + shape("<plane><normal>0 0 1</normal><size>9 9</size></plane>") + "</link>",
              name="floor", more="<static>true</static>")  # fmt: skip
