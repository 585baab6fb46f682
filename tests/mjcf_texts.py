"""Models of MuJoCo in MJCF, by hand, and those of Gymnasium."""

from __future__ import annotations

import importlib.util
from pathlib import Path

INERTIAL = '<inertial pos="0.1 -0.05 0.2" quat="0.9 0.1 -0.3 0.2" mass="1.3" diaginertia="0.03 0.04 0.05"/>'
OTHER = '<inertial pos="-0.02 0.03 -0.1" mass="0.7" fullinertia="0.02 0.03 0.025 0.002 -0.001 0.003"/>'


def mjcf(bodies: str, more: str = "", options: str = "") -> str:
    """The text of a model."""
    return f"<mujoco>{options}<worldbody>{bodies}</worldbody>{more}</mujoco>"


MODELS = {
    "hinge": mjcf(f'<body pos="1 2 3" quat="1 2 3 4"><joint axis="1 2 -1" pos="0.1 0.2 -0.3"/>{INERTIAL}</body>'),
    "slide": mjcf(f'<body euler="10 20 30"><joint type="slide" axis="0 1 1" pos="1 0 0" ref="0.4"/>{INERTIAL}</body>'),
    "ball": mjcf(f'<body pos="0 0 1"><joint type="ball" pos="0 0.2 0.1" damping="0.3"/>{INERTIAL}</body>'),
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
