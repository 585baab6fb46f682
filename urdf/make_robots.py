"""Write the robots of this folder: ``python urdf/make_robots.py``.

The human-like figure is that of de Leva (1996), "Adjustments to Zatsiorsky-Seluyanov's segment inertia
parameters", J. Biomechanics 29(9), 1223-1230, table 4: a man of 73.0 kg and 1.741 m. Segment lengths,
masses, centres of mass and radii of gyration are the paper's, and so is the height of the shoulders;
no segment is split. Ours: where hips and shoulders sit to the side, how far the heel is behind the
ankle, the height of the ankle (what the segments leave of the stature: 32 mm, where a man's ankle is
at about twice that), the joints' kinds, limits and efforts (round numbers near the usual ranges of
motion; what is usual for the whole trunk is shared by its two joints), the shapes, and those that touch:
boxes at the feet, and balls at head, thorax, pelvis, elbows, hands and knees.
"""

from __future__ import annotations

import math
import pathlib
from dataclasses import dataclass, field

HEADER = """<?xml version="1.0"?>
<!-- {about}
     Part of vitree, BSD-3-Clause. Written by make_robots.py. -->
"""


#: Colours (r, g, b, a) of shapes by the names of materials.
COLOURS = {
    "skin": (0.85, 0.68, 0.55, 1), "shirt": (0.35, 0.55, 0.75, 1), "trousers": (0.30, 0.33, 0.40, 1),
    "orange": (0.87, 0.56, 0.33, 1), "blue": (0.35, 0.55, 0.75, 1), "dark": (0.33, 0.35, 0.38, 1),
}  # fmt: skip


def number(x: float) -> str:
    """Return a short decimal, never with an exponent or a negative zero."""
    text = f"{x:.9f}".rstrip("0").rstrip(".")
    return "0" if text == "-0" else text


def triple(values) -> str:
    return " ".join(number(v) for v in values)


@dataclass
class Robot:
    """A URDF file in the making."""

    name: str
    about: str
    parts: list[str] = field(default_factory=list)

    def link(self, name: str, mass: float = 0.0, com=(0, 0, 0), moments=(0, 0, 0), shapes=(), touches=(),
             colour: str | None = None) -> None:  # fmt: skip
        """Add a link; a shape is (kind, sizes, centre, rpy), and those of ``touches`` are for contact."""
        painted = "" if colour is None else (
            f'      <material name="{colour}"><color rgba="{triple(COLOURS[colour])}"/></material>\n'
        )  # fmt: skip
        body = []
        if mass:
            ixx, iyy, izz = map(number, moments)
            body.append(
                f'    <inertial>\n      <origin xyz="{triple(com)}"/>\n      <mass value="{number(mass)}"/>\n'
                f'      <inertia ixx="{ixx}" ixy="0" ixz="0" iyy="{iyy}" iyz="0" izz="{izz}"/>\n    </inertial>\n'
            )
        for tag, (kind, sizes, centre, rpy) in (
            *(("visual", shape) for shape in shapes), *(("collision", shape) for shape in touches)
        ):  # fmt: skip
            attributes = {
                "box": f'size="{triple(sizes)}"',
                "cylinder": f'radius="{number(sizes[0])}" length="{number(sizes[-1])}"',
                "sphere": f'radius="{number(sizes[0])}"',
            }[kind]
            body.append(
                f'    <{tag}>\n      <origin xyz="{triple(centre)}" rpy="{triple(rpy)}"/>\n'
                f"      <geometry><{kind} {attributes}/></geometry>\n{painted * (tag == 'visual')}    </{tag}>\n"
            )
        text = f'  <link name="{name}">\n{"".join(body)}  </link>\n' if body else f'  <link name="{name}"/>\n'
        self.parts.append(text)

    def joint(self, name, parent, child, axis, xyz=(0, 0, 0), limits=None, effort=100.0, velocity=10.0) -> None:
        """Add a hinge; without limits it is continuous."""
        kind = "continuous" if limits is None else "revolute"
        limit = "" if limits is None else (
            f'    <limit lower="{number(limits[0])}" upper="{number(limits[1])}" effort="{number(effort)}" '
            f'velocity="{number(velocity)}"/>\n'
        )  # fmt: skip
        self.parts.append(
            f'  <joint name="{name}" type="{kind}">\n    <parent link="{parent}"/>\n    <child link="{child}"/>\n'
            f'    <origin xyz="{triple(xyz)}"/>\n    <axis xyz="{triple(axis)}"/>\n{limit}  </joint>\n'
        )

    def text(self) -> str:
        return HEADER.format(about=self.about) + f'<robot name="{self.name}">\n' + "".join(self.parts) + "</robot>\n"


def ball(radius: float, x: float, y: float, z: float) -> tuple:
    """A sphere for contact."""
    return "sphere", (radius,), (x, y, z), NONE


X, Y, Z = (1, 0, 0), (0, 1, 0), (0, 0, 1)
NONE = (0, 0, 0)


def rod(mass: float, length: float, radius: float):
    """Moments (x, y, z) of a solid cylinder along z about its centre."""
    across = mass * (3 * radius**2 + length**2) / 12
    return across, across, mass * radius**2 / 2


def pendulum(name: str, count: int) -> Robot:
    """Rods of 1 m and 1 kg that hang below each other and swing about y."""
    robot = Robot(name, f"{count} rod(s) of 1 m and 1 kg, radius 0.02 m, hinged about y at their upper ends.")
    robot.link("base", shapes=[("sphere", (0.04,), NONE, NONE)])
    above = "base"
    for i in range(count):
        link = f"rod{i + 1}"
        robot.joint(f"hinge{i + 1}", above, link, Y, (0, 0, -1.0 if i else 0))
        robot.link(
            link, 1.0, (0, 0, -0.5), rod(1.0, 1.0, 0.02), [("cylinder", (0.02, 1.0), (0, 0, -0.5), NONE)],
            [ball(0.02, 0, 0, -0.98)],
        )  # fmt: skip
        above = link
    return robot


def chain10() -> Robot:
    robot = Robot(
        "chain10",
        "The chain of the experiments of Lee, Liu, Park & Srinivasa (2016): ten links of 1 kg turning about x,\n"
        "     joints 1.5 m apart, centres of mass halfway, unit inertia. At zero it stands upright. The\n"
        "     visual shapes are ours.",
    )
    robot.link("base", shapes=[("box", (0.8, 0.8, 0.3), (0, 0, -0.15), NONE)], colour="dark")
    above = "base"
    for i in range(10):
        link = f"link{i + 1}"
        robot.joint(f"joint{i + 1}", above, link, X, (0, 0, 1.5 if i else 0))
        robot.link(
            link, 1.0, (0, 0, 0.75), (1, 1, 1),
            [("cylinder", (0.15, 1.5), (0, 0, 0.75), NONE), ball(0.2, 0, 0, 0)],
            [ball(0.05, 0, 0, 1.45)], ("blue", "orange")[i % 2],
        )  # fmt: skip
        above = link
    return robot


def arm6() -> Robot:
    """A six-axis arm with a spherical wrist; the numbers are ours."""
    robot = Robot("arm6", "A six-axis industrial arm, reach 1.25 m, spherical wrist; invented for vitree.")
    robot.link("base", shapes=[("cylinder", (0.14, 0.16), (0, 0, 0.08), NONE)], colour="dark")
    # name, axis, place in the parent, mass, length along z, radius, limits [deg], effort, speed
    table = (
        ("waist", Z, (0, 0, 0.16), 18.0, 0.24, 0.12, (-175, 175), 320, 2.6),
        ("shoulder", Y, (0, 0, 0.24), 22.0, 0.60, 0.08, (-100, 140), 320, 2.6),
        ("elbow", Y, (0, 0, 0.60), 9.0, 0.16, 0.07, (-220, 70), 180, 3.1),
        ("forearm", Z, (0, 0, 0.16), 7.0, 0.36, 0.06, (-190, 190), 40, 5.2),
        ("wrist", Y, (0, 0, 0.36), 2.5, 0.10, 0.05, (-120, 120), 40, 5.2),
        ("flange", Z, (0, 0, 0.10), 0.6, 0.03, 0.04, (-360, 360), 20, 7.0),
    )
    # elbow and wrist touch as balls, the flange as it is drawn
    balls = {"shoulder": [ball(0.08, 0, 0, 0.60)], "wrist": [ball(0.05, 0, 0, 0.05)]}
    above = "base"
    for name, axis, place, mass, length, radius, limits, effort, speed in table:
        robot.joint(f"{name}_joint", above, name, axis, place, [math.radians(a) for a in limits], effort, speed)
        middle = (0, 0, length / 2)
        shape = ("cylinder", (radius, length), middle, NONE)
        touches = [shape] if name == "flange" else balls.get(name, [])
        colour = "orange" if name in ("waist", "shoulder", "forearm") else "dark"
        robot.link(name, mass, middle, rod(mass, length, radius), [shape], touches, colour)
        above = name
    return robot


# ---- the human-like figure ----------------------------------------------------------------------------

MASS, STATURE = 73.0, 1.741  # [kg], [m]


@dataclass(frozen=True)
class Segment:
    """A row of table 4 (males): length [mm], mass [% of the body], centre of mass [% of the length from the
    upper end, for the foot from the heel], radii of gyration [% of the length] about the sagittal
    (front to back), transverse (side to side) and longitudinal axes; and the thickness drawn [m]."""

    length: float
    mass: float
    centre: float
    radii: tuple[float, float, float]
    thickness: float

    @property
    def kilograms(self) -> float:
        return MASS * self.mass / 100

    @property
    def metres(self) -> float:
        return self.length / 1000

    def moments(self) -> list[float]:
        return [self.kilograms * (r / 100 * self.metres) ** 2 for r in self.radii]


HEAD = Segment(242.9, 6.94, 50.02, (30.3, 31.5, 26.1), 0.09)  # vertex to cervicale
THORAX = Segment(242.1, 15.96, 50.66, (50.5, 32.0, 46.5), 0.14)  # cervicale to xiphion
ABDOMEN = Segment(215.5, 16.33, 45.02, (48.2, 38.3, 46.8), 0.13)  # xiphion to omphalion
PELVIS = Segment(145.7, 11.17, 61.15, (61.5, 55.1, 58.7), 0.14)  # omphalion to mid-hip
UPPER_ARM = Segment(281.7, 2.71, 57.72, (28.5, 26.9, 15.8), 0.045)
FOREARM = Segment(268.9, 1.62, 45.74, (27.6, 26.5, 12.1), 0.04)
HAND = Segment(86.2, 0.61, 79.00, (62.8, 51.3, 40.1), 0.03)  # wrist to third knuckle
THIGH = Segment(422.2, 14.16, 40.95, (32.9, 32.9, 14.9), 0.075)
SHANK = Segment(440.3, 4.33, 43.95, (25.1, 24.6, 10.2), 0.05)  # knee to ankle
FOOT = Segment(258.1, 1.37, 44.15, (25.7, 24.5, 12.4), 0.03)  # heel to toe tip

HAND_DRAWN = 0.1879  # wrist to the tip of the third finger [m], table 4
SHOULDER_BELOW_NECK = 0.6033 - 0.5155  # [m], table 4: trunk from the cervicale, and from between the shoulders
HIP_ASIDE, SHOULDER_ASIDE, HEEL_BEHIND = 0.085, 0.18, 0.06  # [m], ours
ANKLE_HEIGHT = STATURE - (HEAD.metres + THORAX.metres + ABDOMEN.metres + PELVIS.metres + THIGH.metres + SHANK.metres)


def segment(robot: Robot, name: str, part: Segment, up: bool = False, touches=()) -> None:
    """A link whose frame is at its joint: the segment goes down from there, or up."""
    clothes = {THORAX: "shirt", ABDOMEN: "shirt", PELVIS: "trousers", THIGH: "trousers", SHANK: "trousers"}
    share = 1 - part.centre / 100 if up else part.centre / 100
    sign = 1 if up else -1
    shape = ("cylinder", (part.thickness, part.metres), (0, 0, sign * part.metres / 2), NONE)
    robot.link(name, part.kilograms, (0, 0, sign * share * part.metres), part.moments(), [shape], touches,
               clothes.get(part, "skin"))  # fmt: skip


def turns(robot: Robot, name: str, parent: str, child: str, place, axes) -> None:
    """Hinges in a row with massless links between them; axes: (suffix, axis, limits [deg], effort)."""
    above = parent
    for k, (suffix, axis, limits, effort) in enumerate(axes):
        last = k == len(axes) - 1
        below = child if last else f"{name}_{k + 1}"
        if not last:
            robot.link(below)
        limits = [math.radians(a) for a in limits]
        robot.joint(f"{name}_{suffix}", above, below, axis, place if k == 0 else NONE, limits, effort)
        above = below


def human() -> Robot:
    robot = Robot(
        "human",
        "A human-like figure of 35 degrees of freedom besides its base; segments of de Leva (1996), male,\n"
        "     73.0 kg, 1.741 m; x forward, y left, z up; the root frame is midway between the hips; at zero it\n"
        "     stands, arms hanging.",
    )
    trunk = (("flexion", Y, (-15, 40), 200), ("side", X, (-18, 18), 150), ("twist", Z, (-22, 22), 100))
    segment(robot, "pelvis", PELVIS, True, [ball(PELVIS.thickness, 0, 0, PELVIS.metres / 2)])
    turns(robot, "lumbar", "pelvis", "abdomen", (0, 0, PELVIS.metres), trunk)
    segment(robot, "abdomen", ABDOMEN, up=True)
    turns(robot, "thoracic", "abdomen", "thorax", (0, 0, ABDOMEN.metres), trunk)
    segment(robot, "thorax", THORAX, True, [ball(THORAX.thickness, 0, 0, THORAX.metres / 2)])
    turns(
        robot, "neck", "thorax", "head", (0, 0, THORAX.metres),
        (("flexion", Y, (-60, 50), 30), ("side", X, (-45, 45), 30), ("twist", Z, (-80, 80), 20)),
    )  # fmt: skip
    segment(robot, "head", HEAD, True, [ball(0.1, 0, 0, HEAD.metres - 0.1)])
    for side, s in (("left", 1), ("right", -1)):

        def mirrored(limits, s=s):
            """Limits of a turn whose sense changes from side to side."""
            return limits if s > 0 else (-limits[1], -limits[0])

        shoulder = (0, s * SHOULDER_ASIDE, THORAX.metres - SHOULDER_BELOW_NECK)
        turns(
            robot, f"{side}_shoulder", "thorax", f"{side}_upper_arm", shoulder,
            (("flexion", Y, (-180, 60), 90), ("abduction", X, mirrored((-30, 180)), 90),
             ("rotation", Z, mirrored((-90, 90)), 60)),
        )  # fmt: skip
        segment(robot, f"{side}_upper_arm", UPPER_ARM, False, [ball(UPPER_ARM.thickness, 0, 0, -UPPER_ARM.metres)])
        turns(
            robot, f"{side}_elbow", f"{side}_upper_arm", f"{side}_forearm", (0, 0, -UPPER_ARM.metres),
            (("flexion", Y, (-150, 0), 80), ("pronation", Z, mirrored((-80, 80)), 15)),
        )  # fmt: skip
        segment(robot, f"{side}_forearm", FOREARM)
        turns(
            robot, f"{side}_wrist", f"{side}_forearm", f"{side}_hand", (0, 0, -FOREARM.metres),
            (("flexion", X, mirrored((-80, 70)), 15), ("deviation", Y, (-20, 30), 12)),
        )  # fmt: skip
        # the palm faces the thigh: the hand's sagittal axis (through the palm) is y, its transverse one x
        sagittal, transverse, longitudinal = HAND.moments()
        robot.link(
            f"{side}_hand", HAND.kilograms, (0, 0, -HAND.centre / 100 * HAND.metres),
            (transverse, sagittal, longitudinal),
            [("box", (0.08, HAND.thickness, HAND_DRAWN), (0, 0, -HAND_DRAWN / 2), NONE)],
            [ball(0.04, 0, 0, -HAND_DRAWN / 2)], "skin",
        )  # fmt: skip
        turns(
            robot, f"{side}_hip", "pelvis", f"{side}_thigh", (0, s * HIP_ASIDE, 0),
            (("flexion", Y, (-120, 30), 220), ("abduction", X, mirrored((-30, 45)), 160),
             ("rotation", Z, mirrored((-45, 45)), 80)),
        )  # fmt: skip
        segment(robot, f"{side}_thigh", THIGH, False, [ball(0.06, 0, 0, -THIGH.metres)])
        knee = (("flexion", Y, (0, 140), 220),)
        turns(robot, f"{side}_knee", f"{side}_thigh", f"{side}_shank", (0, 0, -THIGH.metres), knee)
        segment(robot, f"{side}_shank", SHANK)
        turns(
            robot, f"{side}_ankle", f"{side}_shank", f"{side}_foot", (0, 0, -SHANK.metres),
            (("flexion", Y, (-20, 50), 180), ("inversion", X, mirrored((-35, 15)), 50)),
        )  # fmt: skip
        # the foot lies along x: its longitudinal axis is x, its sagittal one z
        sagittal, transverse, longitudinal = FOOT.moments()
        foot = ("box", (FOOT.metres, 0.09, ANKLE_HEIGHT), (FOOT.metres / 2 - HEEL_BEHIND, 0, -ANKLE_HEIGHT / 2), NONE)
        robot.link(
            f"{side}_foot", FOOT.kilograms, (FOOT.centre / 100 * FOOT.metres - HEEL_BEHIND, 0, -ANKLE_HEIGHT / 2),
            (longitudinal, transverse, sagittal),
            [foot], [foot], "dark",
        )  # fmt: skip
    return robot


def robots() -> list[Robot]:
    """All robots of this folder."""
    return [pendulum("pendulum", 1), pendulum("double_pendulum", 2), chain10(), arm6(), human()]


if __name__ == "__main__":
    for made in robots():
        (pathlib.Path(__file__).parent / f"{made.name}.urdf").write_text(made.text())
