"""Models of MuJoCo in MJCF, by hand, and those of Gymnasium."""

from __future__ import annotations

import importlib.util
from pathlib import Path

import numpy as np

INERTIAL = '<inertial pos="0.1 -0.05 0.2" quat="0.9 0.1 -0.3 0.2" mass="1.3" diaginertia="0.03 0.04 0.05"/>'
OTHER = '<inertial pos="-0.02 0.03 -0.1" mass="0.7" fullinertia="0.02 0.03 0.025 0.002 -0.001 0.003"/>'


def mjcf(bodies: str, more: str = "", options: str = "") -> str:
    """The text of a model."""
    return f"<mujoco>{options}<worldbody>{bodies}</worldbody>{more}</mujoco>"


MODELS = {
    "hinge": mjcf(f'<body pos="1 2 3" quat="1 2 3 4"><joint axis="1 2 -1" pos="0.1 0.2 -0.3"/>{INERTIAL}</body>'),
    "slide": mjcf(f'<body euler="10 20 30"><joint type="slide" axis="0 1 1" pos="1 0 0" ref="0.4"/>{INERTIAL}</body>'),
    "ball": mjcf(f'<body pos="0 0 1"><joint type="ball" pos="0 0.2 0.1" damping="0.3"/>{INERTIAL}</body>'),
    "sprung ball": mjcf(f'<body pos="0 0 1"><joint type="ball" pos="0 0.2 0.1" stiffness="3"/>{INERTIAL}</body>'),
    "free": mjcf(f'<body pos="0 1 1" quat="1 1 0 0"><freejoint/>{INERTIAL}</body>'),
    "free, damped": mjcf(f'<body><joint type="free" damping="0.4"/>{INERTIAL}</body>'),
    "several in a body": mjcf(f"""<body pos="0.3 0 0" quat="1 0.2 0 0"><joint name="x" type="slide" axis="1 1 0"/>
        <joint name="turn" axis="0 1 1" pos="0.1 0.3 0" ref="20" damping="0.2"/>
        <joint name="z" type="slide" axis="0 0 1" pos="1 1 1"/>
        <joint name="spin" axis="1 0 0" pos="0 0 0.4" armature="0.1"/>{INERTIAL}</body>"""),
    "hinge, then ball": mjcf(f"""<body><joint axis="1 0 1" pos="0.2 0 0"/><joint type="ball" pos="0 0.1 0.2"/>
        <joint type="slide" axis="0 1 0"/>{INERTIAL}</body>"""),
    "nested": mjcf(f"""<body name="base" pos="0 0 1"><freejoint name="float"/>{INERTIAL}
        <body name="arm" pos="0.2 0 0.1" euler="0 30 0">
          <joint name="shoulder" axis="0 1 0" pos="0 0 0.1" stiffness="3" springref="15" damping="0.1"/>
          <joint name="roll" axis="1 0 0" armature="0.02"/>{OTHER}
          <body name="hand" pos="0 0 0.4"><joint name="wrist" type="ball" pos="0 0 -0.05"/>{INERTIAL}
            <body name="fixed" pos="0.1 0 0" euler="5 6 7">{OTHER}
              <body name="finger" pos="0 0.1 0"><joint name="grip" type="slide" axis="1 0 0" stiffness="20"/>
              {OTHER}</body></body></body></body>
        <body name="tail" pos="-0.3 0 0"><joint name="wag" axis="0 0 1" ref="30" springref="10" stiffness="1"/>
          {OTHER}</body></body>"""),
    "two mechanisms": mjcf(f"""<body><joint/>{OTHER}</body><body pos="0 0 2"><freejoint/>{INERTIAL}
        <body><joint axis="1 0 0"/>{OTHER}</body></body>"""),
    "radians and defaults": mjcf(
        f'<body childclass="stiff"><joint range="-1 1" ref="0.3"/>{INERTIAL}</body>',
        options='<compiler angle="radian"/><option gravity="1 -2 -3"/><default><default class="stiff">'
        '<joint axis="0 1 0" damping="0.7" armature="0.2" stiffness="4"/></default></default>',
    ),
    "without gravity": mjcf(
        f'<body><joint/>{INERTIAL}</body>', options='<option><flag gravity="disable" spring="disable"/></option>'
    ),
    "compensated": mjcf(f'<body gravcomp="0.8"><joint axis="0 1 0"/>{INERTIAL}'
                        f'<body gravcomp="1" pos="0 0 0.5"><joint axis="1 0 0"/>{OTHER}</body></body>'),
    "tied": mjcf(
        f"""<site name="hook" pos="0 0 2"/><body><joint axis="0 1 0"/>{INERTIAL}<site name="eye" pos="0.3 0 0.1"/>
        </body>""",
        '<tendon><spatial stiffness="30" damping="2" springlength="0.7"><site site="hook"/><site site="eye"/></spatial>'
        "</tendon>",
    ),
}

_ARM = f"""<body name="upper"><joint name="shoulder" axis="0 1 0" damping="0.2"/>{INERTIAL}
    <site name="nozzle" pos="0.1 0 0.2" euler="20 40 60"/>
    <body name="lower" pos="0 0 0.5"><joint name="elbow" axis="0 1 0" limited="false"/>{OTHER}
    <body name="tip" pos="0 0 0.3"><joint name="slider" type="slide" axis="0 0 1"/>{OTHER}</body></body></body>"""
#: Actuators on that arm, which vitree has exactly.
ACTUATORS = {
    "motor": '<motor joint="shoulder" gear="3" ctrlrange="-0.5 0.5" ctrllimited="true"/>',
    "motor, force": '<motor joint="shoulder" gear="-2" forcerange="-0.2 0.3" forcelimited="true"/>',
    "position": '<position joint="elbow" kp="20" kv="2"/><position joint="slider" kp="300" gear="2"/>',
    "position, limited": '<position joint="elbow" kp="20" kv="2" gear="-3" forcerange="-4 4"/>',
    "velocity": '<velocity joint="shoulder" kv="3" gear="2"/>',
    "servo of two": '<position joint="elbow" kp="20"/><velocity joint="elbow" kv="2"/><motor joint="elbow"/>',
    "general": '<general joint="elbow" gainprm="5" biastype="affine" biasprm="0.7 -8 -0.5" gear="1.5"/>',
    "offset": '<general joint="elbow" gainprm="5" biastype="affine" biasprm="0.7 0 0" gear="1.5"/>',
    "tendon": '<motor tendon="both" gear="2"/>',
    "site": '<motor site="nozzle" gear="1 0 2 0 0 0.5"/>',
    "site, one": '<motor site="nozzle" gear="0 0 2 0 0 0"/>',
    "capped": '<motor joint="slider" gear="2"/>',
    "heavy": '<motor joint="elbow" gear="4" armature="0.05" damping="0.03"/>',
}
_TENDON = """<tendon><fixed name="both"><joint joint="shoulder" coef="2"/><joint joint="elbow" coef="-1"/></fixed>
    </tendon>"""


def driven(name: str) -> str:
    """The arm with actuators."""
    arm = _ARM.replace('name="slider"', 'name="slider" actuatorfrcrange="-1 1.5"') if name == "capped" else _ARM
    return mjcf(arm, _TENDON + f"<actuator>{ACTUATORS[name]}</actuator>")


def of_gymnasium() -> dict[str, Path]:
    """The MJCF files that Gymnasium brings, by their names."""
    spec = importlib.util.find_spec("gymnasium")
    if spec is None or spec.origin is None:
        return {}
    return {path.stem: path for path in sorted((Path(spec.origin).parent / "envs/mujoco/assets").glob("*.xml"))}


class _Drawn:
    """A random model: bodies in a tree, up to two joints in each, geoms, sites, tendons and actuators."""

    def __init__(self, seed: int):
        self.rng, self.joints, self.sites, self.bodies = np.random.default_rng(seed), [], ["hook"], 0
        trees = "".join(self.body(0) for _ in range(self.rng.integers(1, 3)))
        self.text = mjcf(f'<site name="hook" pos="0 0 3"/>{trees}', self.tendons() + self.actuators(),
                         f'<option gravity="{self.numbers(3, 5.0)}"/>')  # fmt: skip

    def numbers(self, count: int, size: float = 1.0) -> str:
        return " ".join(f"{x:.4f}" for x in self.rng.normal(size=count) * size)

    def some(self, share: float, text: str) -> str:
        return text if self.rng.random() < share else ""

    def joint(self, name: str, last: bool) -> str:
        kind = self.rng.choice(["hinge", "slide", "ball"], p=[0.6, 0.3, 0.1] if last else [0.6, 0.4, 0.0])
        own = ""
        if kind != "ball":
            self.joints.append(name)
            own = f'axis="{self.numbers(3)}" ' + "".join(self.some(0.3, text) for text in (
                f'ref="{self.numbers(1, 30.0 if kind == "hinge" else 0.3)}" ', f'springref="{self.numbers(1, 0.3)}" ',
                'stiffness="7" ', 'armature="0.2" ', 'range="-1 1" limited="true" ', 'actuatorfrcrange="-3 3" ',
            ))  # fmt: skip
        damping = self.some(0.3, 'damping="0.4" ')
        return f'<joint name="{name}" type="{kind}" pos="{self.numbers(3, 0.2)}" {own}{damping}/>'

    def body(self, depth: int) -> str:
        self.bodies += 1
        name = f"b{self.bodies}"
        if depth == 0 and self.rng.random() < 0.4:
            parts = [f'<joint name="{name}" type="free"/>']
        else:
            count = self.rng.integers(1 - min(depth, 1), 3)
            parts = [self.joint(f"{name} {k}", k == count - 1) for k in range(count)]
        size = {"sphere": "0.1", "capsule": "0.05 0.2", "box": "0.1 0.2 0.15", "ellipsoid": "0.1 0.2 0.3"}
        kind = self.rng.choice(list(size))
        place = f'pos="{self.numbers(3, 0.2)}" euler="{self.numbers(3, 60.0)}"'
        parts.append(f'<geom type="{kind}" size="{size[kind]}" {place}/>')
        if self.rng.random() < 0.6:
            self.sites.append(f"{name} site")
            parts.append(f'<site name="{name} site" pos="{self.numbers(3, 0.2)}" euler="{self.numbers(3, 50.0)}"/>')
        parts += [self.body(depth + 1) for _ in range(self.rng.integers(0, 3) if depth < 4 else 0)]
        own = f'pos="{self.numbers(3, 0.5)}" quat="{self.numbers(4)}" ' + self.some(0.15, 'gravcomp="0.7"')
        return f'<body name="{name}" {own}>{"".join(parts)}</body>'

    def tendons(self) -> str:
        if len(self.joints) < 2 or len(self.sites) < 2:
            return ""
        (a, b), (c, d) = (self.rng.choice(names, 2, replace=False) for names in (self.joints, self.sites))
        return f"""<tendon><fixed name="both"><joint joint="{a}" coef="2"/><joint joint="{b}" coef="-1"/></fixed>
            <spatial stiffness="8" damping="1" springlength="0.4"><site site="{c}"/><site site="{d}"/></spatial>
            </tendon>"""

    def actuators(self) -> str:
        kinds = [text for name, text in ACTUATORS.items() if name not in ("tendon", "servo of two")]
        texts = [self.rng.choice(kinds) for _ in range(self.rng.integers(0, 5) if self.joints else 0)]
        for word in ("shoulder", "elbow", "slider", "nozzle"):
            texts = [text.replace(f'"{word}"', f'"{self.rng.choice(self.sites if word == "nozzle" else self.joints)}"')
                     for text in texts]  # fmt: skip
        if len(self.joints) > 1 and len(self.sites) > 1:
            texts.append(ACTUATORS["tendon"])
        return f"<actuator>{''.join(texts)}</actuator>"


def random_text(seed: int) -> str:
    """The text of a random model."""
    return _Drawn(seed).text
