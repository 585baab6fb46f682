"""The rules for SDF files: those of robot files, and those of their own."""

from __future__ import annotations

from vitree.urdf.rules import RULES as URDF_RULES
from vitree.urdf.rules import Rule

RULES: dict[str, Rule] = URDF_RULES | {
    # the file
    "xml-depth": Rule("error", "Elements are nested more than 100 deep.", ""),
    "xml-comment": Rule("warning", 'There is a "--" in a comment.', "write one dash"),
    "name-reserved": Rule("error", 'A link is called "world", which is the world itself.', "rename it"),
    "link-world": Rule("warning", 'An empty link is called "world", and is taken as the world itself.', "remove it"),
    "not-sdf": Rule("error", "The root element is not <sdf>.", "give an SDF file"),
    "sdf-version": Rule("warning", "The version is missing, or is not one of 1.0 to 1.12.", "state the version"),
    "sdf-content": Rule("error", "The file has no model or world, or several.", "keep one, or put models in a world"),
    "include-missing": Rule(
        "error", "The file of an <include> is not found.", "name the folder of the model, or one above, by packages="
    ),
    "include-cycle": Rule("error", "A file includes itself.", "remove the <include>"),
    "nothing-moves": Rule(
        "error", "No joint moves, as of static models.", "add it to a world of things that move: vt.World().add(file)"
    ),
    # frames
    "frame-unknown": Rule("error", "A pose, joint or axis names a frame that is not in its model.", "correct the name"),
    "frame-cycle": Rule("error", "The poses of frames depend on each other in a cycle.", "correct one of them"),
    "pose-format": Rule(
        "error", "The rotation_format of a pose is not known, or its quaternion has no length.",
        "write euler_rpy or quat_xyzw",
    ),
    # joints
    "sdf-joint": Rule("warning", "A joint of a type without counterpart is left out; its child floats.", ""),
    "sdf-loop": Rule(
        "error", "A joint of this type cannot close a loop.", "put it before the other joint to its child"
    ),
    "sdf-mimic": Rule("warning", "A <mimic> that cannot be followed is left out.", "correct it"),
    "joint-ignored": Rule("note", "Joints between links of a static model are left out.", ""),
    # links
    "inertial-default": Rule(
        "warning", "A link has no inertia; it has that of the format, 1 kg and 1 kg m^2.",
        'write its inertia, or read the file with inertia="geometry"',
    ),
    # left out
    "sdf-motion": Rule("warning", "An element that affects the motion is left out.", ""),
    "sdf-shape": Rule("warning", "A shape that touches has no counterpart and is left out.", ""),
    "sdf-drawing": Rule("note", "A shape without counterpart is not drawn.", ""),
    "sdf-ignored": Rule("note", "An element that does not affect the motion is left out.", ""),
    "sdf-contacts": Rule("note", "How <collision> shapes and surfaces are read.", ""),
    "world-overrules": Rule("warning", "What the file says of its world is as of the world that it is added to.", ""),
    "sdf-static": Rule("note", "Links of static models are fixed to the world.", ""),
}  # fmt: skip
