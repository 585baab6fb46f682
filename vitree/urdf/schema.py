"""The elements of URDF, their attributes, and how many numbers each attribute has."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import NamedTuple

ONE_COORDINATE = ("revolute", "continuous", "prismatic")
TYPES = (*ONE_COORDINATE, "fixed", "floating", "planar", "spherical")

#: Elements of other tools in the same file: they are skipped with all that is in them.
EXTENSIONS = ("gazebo", "transmission", "ros2_control", "plugin", "sensor", "contact")


class Attribute(NamedTuple):
    """How many numbers an attribute has (0: a text), and whether it must be there, and finite."""

    numbers: int = 0
    needed: bool = False
    finite: bool = True


class Tag(NamedTuple):
    """The attributes and elements of an element, and which of these there may be several of."""

    attributes: Mapping[str, Attribute] = MappingProxyType({})
    children: Mapping[str, Tag] = MappingProxyType({})
    many: tuple[str, ...] = ()


TEXT, NUMBER, VECTOR = Attribute(), Attribute(1), Attribute(3)
MOMENTS = ("ixx", "ixy", "ixz", "iyy", "iyz", "izz")


def _texts(*names: str) -> dict[str, Attribute]:
    return dict.fromkeys(names, TEXT)


ORIGIN = Tag({"xyz": VECTOR, "rpy": VECTOR, "quat_xyzw": Attribute(4)})
INERTIAL = Tag(
    children={
        "origin": ORIGIN,
        "mass": Tag({"value": NUMBER}),
        "inertia": Tag(dict.fromkeys(MOMENTS, NUMBER)),
    }
)
MATERIAL = Tag(_texts("name"), {"color": Tag(_texts("rgba")), "texture": Tag(_texts("filename"))})
#: Sizes of each shape: attributes and how many numbers each has.
SHAPES = {
    "box": {"size": 3},
    "cylinder": {"radius": 1, "length": 1},
    "sphere": {"radius": 1},
    "capsule": {"radius": 1, "length": 1},
    "mesh": {},
}
GEOMETRY = Tag(_texts("name"), {
    kind: Tag(_texts("filename", "scale") if kind == "mesh" else _texts(*sizes)) for kind, sizes in SHAPES.items()
})  # fmt: skip
SHAPE = Tag(
    _texts("name"),
    {"origin": ORIGIN, "geometry": GEOMETRY, "material": MATERIAL, "verbose": Tag(_texts("value"))},
)
LINK = Tag(
    _texts("name", "type"),
    {"inertial": INERTIAL, "visual": SHAPE, "collision": SHAPE},
    many=("visual", "collision"),
)
LIMIT = dict.fromkeys(("lower", "upper", "velocity", "effort"), Attribute(1, finite=False))
JOINT = Tag(
    _texts("name", "type"),
    {
        "origin": ORIGIN,
        "parent": Tag({"link": Attribute(0, needed=True)}),
        "child": Tag({"link": Attribute(0, needed=True)}),
        "axis": Tag({"xyz": Attribute(3, needed=True)}),
        "limit": Tag(LIMIT | _texts("acceleration", "deceleration", "jerk")),
        "dynamics": Tag({"damping": NUMBER, "friction": NUMBER}),
        "mimic": Tag({"joint": TEXT, "multiplier": NUMBER, "offset": NUMBER}),
        "calibration": Tag(_texts("rising", "falling", "reference_position")),
        "safety_controller": Tag(_texts("k_velocity", "k_position", "soft_lower_limit", "soft_upper_limit")),
    },
)
ROBOT = Tag(
    _texts("name", "version"),
    {"link": LINK, "joint": JOINT, "material": MATERIAL},
    many=("link", "joint", "material"),
)

#: The elements of a joint that each type uses.
USED = dict.fromkeys(ONE_COORDINATE, ("origin", "parent", "child", "axis", "limit", "dynamics", "mimic")) | {
    "fixed": ("origin", "parent", "child"),
    "floating": ("origin", "parent", "child"),
    "spherical": ("origin", "parent", "child"),
    "planar": ("origin", "parent", "child", "axis"),
}
