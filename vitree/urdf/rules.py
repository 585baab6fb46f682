"""The rules for robot files: the fault that each finds, how grave the fault is, and the remedy."""

from __future__ import annotations

from typing import NamedTuple


class Rule(NamedTuple):
    """A rule, by the identifier of its findings.

    Attributes
    ----------
    severity : str
        One of :data:`vitree.findings.SEVERITIES`; options of the reader may change it.
    what : str
        The fault, in one sentence.
    remedy : str
        The action that removes the fault; it ends the text of each finding.
    """

    severity: str
    what: str
    remedy: str


REPAIR = 'correct it, or read the file with inertia="repair"'
_MIMIC = 'correct the file, or read it with mimic="independent"'
_ALONE = "it moves on its own; correct the file"
_SHAPE = "the shape is left out; correct it"

RULES: dict[str, Rule] = {
    # the text
    "xml-size": Rule("error", "The file is larger than max_bytes.", "raise max_bytes if the file is trusted"),
    "xml-depth": Rule("error", "Elements are nested deeper than max_depth.", "raise max_depth if the file is trusted"),
    "xml-doctype": Rule("error", "There is a <!DOCTYPE>, which could define entities.", "remove it"),
    "xml-encoding": Rule("error", "The bytes are not text of the declared encoding.", "save the file as UTF-8"),
    "encoding-guessed": Rule(
        "warning", "No encoding is declared, and the bytes are not UTF-8.", "save the file as UTF-8, or declare it"
    ),
    "xml-syntax": Rule("error", "The text is not XML.", "correct it on that line or above"),
    "not-urdf": Rule("error", "The root element is not <robot>.", "give a URDF file"),
    "xacro-warning": Rule("warning", "xacro warned when it expanded the file.", ""),
    "xacro": Rule(
        "error", "There is xacro in the file: xacro: elements, ${...} or $(...).", "run xacro on it, or name it .xacro"
    ),
    # elements, names, numbers
    "robot-name": Rule("error", "The robot has no name.", 'give it one, as in <robot name="arm">'),
    "no-links": Rule("error", "There is no link.", "add one"),
    "name-missing": Rule("error", "A link or joint has no name.", "give it one"),
    "name-characters": Rule(
        "warning", "A name has control characters, or ones that turn the direction of a line.", "rename it"
    ),
    "name-duplicate": Rule("error", "Two links, or two joints, have one name.", "rename one"),
    "name-clash": Rule("error", "A name is taken by a part that the reader makes.", "rename the joint"),
    "element-repeated": Rule("error", "An element is repeated that may be there once.", "leave one"),
    "unknown-element": Rule("warning", "An element is not known; it is ignored.", "correct or remove it"),
    "unknown-attribute": Rule("warning", "An attribute is not known; it is ignored.", "correct or remove it"),
    "attribute-missing": Rule("error", "An attribute that is needed is missing.", "add it"),
    "number": Rule("error", "A text is not a number.", "write plain numbers, with a point, in SI units"),
    "number-count": Rule("error", "There are too many or too few numbers.", "correct it"),
    "number-finite": Rule("error", "A number is NaN, or infinite where infinity has no meaning.", "correct it"),
    "number-range": Rule("error", "A number is too large to compute with.", "correct it"),
    "origin-quaternion": Rule("error", "An origin is given by a quaternion, which is not read.", "write it as rpy"),
    # joints
    "joint-type": Rule("error", "The type of a joint is missing or not known.", "correct it"),
    "joint-end": Rule("error", "A joint has no <parent> or no <child>.", "add it"),
    "link-unknown": Rule("error", "A joint names a link that is not in the file.", "correct the name"),
    "axis-zero": Rule("error", "The axis of a joint is zero.", "give it a direction such as 0 0 1"),
    "axis-length": Rule("warning", "The axis of a joint is not of length one; it is normalised.", "divide it by that"),
    "limit-missing": Rule(
        "warning",
        "A revolute or prismatic joint has no <limit>; it is taken as unlimited.",
        'add one, or make it "continuous"',
    ),
    "limit-inverted": Rule("warning", "The lower limit is above the upper one; both are left out.", "swap them"),
    "limit-equal": Rule(
        "warning", "The lower limit is the upper one; both are kept as data, and the joint still moves.", "correct them"
    ),
    "limit-zero": Rule(
        "warning",
        "The limit of effort or velocity is zero; it is kept as data, and the joint still moves.",
        "correct it",
    ),
    "limit-negative": Rule("warning", "The limit of effort or velocity is negative; it is left out.", "correct it"),
    "limit-ignored": Rule(
        "warning", "Limits, damping and friction of a planar or floating joint are left out.", "remove them"
    ),
    "damping-negative": Rule("error", "The damping of a joint is negative.", "make it zero or more"),
    "friction-negative": Rule("error", "The friction of a joint is negative.", "make it zero or more"),
    "rotor-number": Rule(
        "error", "The rotor inertia or gear ratio of a transmission is no number, or has a wrong sign.", "correct it"
    ),
    "rotor-joint": Rule(
        "warning",
        "A rotor inertia is not of one joint of one coordinate; it is left out.",
        "name one joint of one coordinate",
    ),
    # mimic
    "mimic-missing": Rule("error", "A <mimic> does not say which joint it follows.", _MIMIC),
    "mimic-unknown": Rule("warning", "The joint that is followed is not in the tree.", _ALONE),
    "mimic-self": Rule("error", "A joint follows itself.", _MIMIC),
    "mimic-cycle": Rule("error", "Joints follow each other in a circle.", _MIMIC),
    "mimic-leader": Rule("error", "The joint that is followed must have one coordinate.", _MIMIC),
    "mimic-loop": Rule(
        "error",
        "A joint that closes a loop follows or is followed.",
        'put it in the file before the other joint to its child, or read the file with mimic="independent"',
    ),
    "mimic-follower": Rule(
        "warning", "A fixed, planar or floating joint has a <mimic>, which is ignored.", "remove the <mimic>"
    ),
    "mimic-zero": Rule("warning", "The multiplier is zero: the joint never moves.", "correct it, or make it fixed"),
    # inertia; option inertia=
    "mass-missing": Rule("error", "An <inertial> has no mass.", REPAIR),
    "mass-negative": Rule("error", "The mass of a link is negative.", REPAIR),
    "mass-zero": Rule(
        "warning", "The mass of a link is zero, its inertia is not; both are taken as they are.", "correct it"
    ),
    "inertia-missing": Rule("error", "An <inertial> has no <inertia>.", REPAIR),
    "inertia-partial": Rule("error", "An <inertia> lacks some of its six numbers.", REPAIR),
    "moment-negative": Rule("error", "One of ixx, iyy, izz is negative.", REPAIR),
    "inertia-negative": Rule(
        "warning", "A principal moment is negative, which is impossible; taken as it is.", REPAIR
    ),
    "inertia-triangle": Rule(
        "warning", "A principal moment is above the sum of the others, which is impossible; taken as it is.", REPAIR
    ),
    "inertia-from-shapes": Rule(
        "repair", 'With inertia="geometry": a link takes mass and inertia from its shapes.', ""
    ),
    # shapes: they never stop a load
    "shape-unknown": Rule("warning", "A <visual> or <collision> has no known geometry.", _SHAPE),
    "shape-size": Rule("warning", "A size of a shape is zero or negative.", _SHAPE),
    "mesh-escapes": Rule("warning", "A mesh is outside the folders that belong to the robot; it is not opened.", ""),
    "contact-mesh": Rule(
        "error",
        "With ground=: the mesh of a <collision> is not found, or cannot be read.",
        "correct it, or read the file with read_urdf() and name what touches: tree.contact(vt.Ground(), "
        'vt.Contact("foot"))',
    ),
    # the tree
    "two-parents": Rule(
        "error",
        "A link is the child of several joints.",
        'loops="constraints" closes the loop by constraints in place of the second',
    ),
    "cycle": Rule(
        "error", "Joints form a cycle: none of their links is connected to the root.", "leave one of them out"
    ),
    "several-roots": Rule(
        "error",
        "There are several root links.",
        "join them by joints, or choose one by root=; the rest is left out",
    ),
    "left-out": Rule("warning", "With root=: links that are not connected to the root are left out.", ""),
    "root-floating": Rule(
        "error", "With root=: a floating joint is on the way to the root.", "choose a root on this side of it"
    ),
    "world-root": Rule(
        "warning",
        'A root link "world" is made to float, with everything on it.',
        'load the file with base="fixed"',
    ),
    "loop": Rule("error", "A loop cannot be closed by constraints.", "correct the joint"),
    "nothing-moves": Rule("error", "No joint moves.", 'load it with base="free"'),
    "massless": Rule("warning", "A joint moves no mass: the model has kinematics, but no accelerations.", ""),
    "singular-neutral": Rule(
        "warning", "The mass matrix is singular where all coordinates are zero: no run can start there.", ""
    ),
    "model": Rule("error", "The mechanism cannot be modelled.", "correct the file"),
    "parser": Rule("error", "urdf_parser_py refuses a file that the checks accept.", "report it"),
    # notes: things that the reader has done
    "world": Rule("note", 'A massless root link "world" is the world itself.', ""),
    "turned": Rule(
        "note", "With root=: joints on the way to the root are turned round; their coordinates mean the same.", ""
    ),
    "fixed-joints": Rule("note", "Links on fixed joints are merged with the links above them.", ""),
    "loop-joints": Rule("note", "Joints that close loops are constraints.", ""),
    "mimic-joints": Rule("note", "Joints with <mimic> follow, or move on their own: the note says which.", ""),
    "rotors": Rule("note", "Rotor inertias of transmissions, times reduction^2, are armature of joints.", ""),
    "contact-points": Rule("note", "With ground=: <collision> shapes touch the ground by points.", ""),
    "limits": Rule("note", "How limits of joints are treated, as `limits=` says.", ""),
    "mesh-missing": Rule("note", "A mesh is not found; its name is kept as it is.", ""),
    "extension": Rule("note", "Elements of other tools are ignored.", ""),
    "more-findings": Rule("note", "There are more findings than are listed.", ""),
}
