"""The rules for robot files: the fault that each finds, its severity, and the remedy."""

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
_ALONE = "the joint moves independently; correct the file"
_SHAPE = "the shape is ignored; correct it"

RULES: dict[str, Rule] = {
    # the text
    "xml-size": Rule("error", "The file is larger than max_bytes.", "raise max_bytes if the file is trusted"),
    "xml-depth": Rule("error", "Elements are nested more than 100 deep.", "read it with trust=True if you trust it"),
    "xml-doctype": Rule("error", "There is a <!DOCTYPE>, which could define entities.", "remove it"),
    "xml-encoding": Rule("error", "The bytes are not text of the declared encoding.", "save the file as UTF-8"),
    "encoding-guessed": Rule(
        "warning", "No encoding is declared, and the bytes are not UTF-8.", "save the file as UTF-8, or declare it"
    ),
    "xml-syntax": Rule("error", "The text is not XML.", "correct it on that line or above"),
    "not-urdf": Rule("error", "The root element is not <robot>.", "give a URDF file"),
    "xacro-warning": Rule("warning", "xacro warned when it expanded the file.", ""),
    "xacro-expanded": Rule("note", "A file that is not named .xacro has xacro in it; it is expanded.", ""),
    "xacro": Rule(
        "error",
        "There is xacro in the text: xacro: elements, ${...} or $(...). A file that has some is expanded.",
        "give the path of its file, which is then expanded",
    ),
    # elements, names, numbers
    "robot-name": Rule(
        "warning", "The robot has no name; that of its file is taken.", 'give it one, as in <robot name="arm">'
    ),
    "no-links": Rule("error", "There is no link.", "add one"),
    "name-missing": Rule("error", "A link or joint has no name.", "give it one"),
    "name-characters": Rule(
        "warning", "A name contains control characters, or characters that reverse the text direction.", "rename it"
    ),
    "name-duplicate": Rule("error", "Two links or two joints have the same name.", "rename one"),
    "name-clash": Rule("error", "A joint has the name of a part that the reader creates.", "rename the joint"),
    "element-repeated": Rule("error", "An element that may occur only once is repeated.", "keep one"),
    "unknown-element": Rule("warning", "An unknown element is ignored.", "correct or remove it"),
    "unknown-attribute": Rule("warning", "An unknown attribute is ignored.", "correct or remove it"),
    "attribute-missing": Rule("error", "A required attribute is missing.", "add it"),
    "number": Rule("error", "A value is not a number.", "write plain numbers with a decimal point, in SI units"),
    "number-count": Rule("error", "There are too many or too few numbers.", "correct it"),
    "number-finite": Rule("error", "A number is NaN, or infinite where infinity has no meaning.", "correct it"),
    "number-range": Rule("error", "A number is too large to compute with.", "correct it"),
    "origin-quaternion": Rule(
        "error",
        "The quaternion of an origin is zero, or has an rpy beside it; one that is not of length one is normalised.",
        "write one of the two",
    ),
    # joints
    "joint-type": Rule("error", "The type of a joint is missing or unknown.", "correct it"),
    "world-missing": Rule(
        "warning", 'A joint has the parent "world", which is not in the file; it is the world.', "add it as a link"
    ),
    "joint-end": Rule("error", "A joint has no <parent> or no <child>.", "add it"),
    "link-unknown": Rule("error", "A joint names a link that is not in the file.", "correct the name"),
    "axis-zero": Rule("error", "The axis of a joint is zero.", "give it a direction such as 0 0 1"),
    "axis-length": Rule("warning", "The axis of a joint is not a unit vector; it is normalised.", "divide it by that"),
    "limit-missing": Rule(
        "warning",
        "A revolute or prismatic joint has no <limit>, or one without bounds; it is treated as unlimited.",
        'add one, or make it "continuous"',
    ),
    "limit-inverted": Rule("warning", "The lower limit is above the upper limit; both are ignored.", "swap them"),
    "limit-equal": Rule(
        "warning",
        "The lower and the upper limit are equal; both are kept as data, and the joint still moves.",
        "correct them",
    ),
    "limit-zero": Rule(
        "warning",
        "The effort or velocity limit is zero; it is kept as data, and the joint still moves.",
        "correct it",
    ),
    "limit-negative": Rule("warning", "The effort or velocity limit is negative; it is ignored.", "correct it"),
    "limit-ignored": Rule(
        "warning", "Limits, damping and friction of a joint of several coordinates are ignored.", "remove them"
    ),
    "damping-negative": Rule("error", "The damping of a joint is negative.", "make it zero or more"),
    "friction-negative": Rule("error", "The friction of a joint is negative.", "make it zero or more"),
    "rotor-number": Rule(
        "error",
        "The rotor inertia or gear ratio of a transmission is not a number, or has the wrong sign.",
        "correct it",
    ),
    "rotor-joint": Rule(
        "warning",
        "A rotor inertia does not belong to one joint with one coordinate; it is ignored.",
        "name one joint with one coordinate",
    ),
    # mimic
    "mimic-missing": Rule("error", "A <mimic> does not name the joint that it follows.", _MIMIC),
    "mimic-unknown": Rule("warning", "The joint that is followed is not in the tree.", _ALONE),
    "mimic-self": Rule("error", "A joint follows itself.", _MIMIC),
    "mimic-cycle": Rule("error", "Joints follow each other in a cycle.", _MIMIC),
    "mimic-leader": Rule("error", "The joint that is followed must have one coordinate.", _MIMIC),
    "mimic-still": Rule(
        "warning", "The joint that is followed is fixed, so the follower is held at its offset.", "make both fixed"
    ),
    "mimic-loop": Rule(
        "error",
        "A joint that closes a loop follows another joint, or is followed by one.",
        'put it in the file before the other joint to its child, or read the file with mimic="independent"',
    ),
    "mimic-follower": Rule(
        "warning", "A fixed, planar or floating joint has a <mimic>, which is ignored.", "remove the <mimic>"
    ),
    "mimic-zero": Rule(
        "warning", "The multiplier is zero, so the joint never moves.", "correct it, or make the joint fixed"
    ),
    # inertia; option inertia=
    "mass-missing": Rule("error", "An <inertial> has no mass.", REPAIR),
    "mass-negative": Rule("error", "The mass of a link is negative.", REPAIR),
    "mass-zero": Rule(
        "warning", "The mass of a link is zero, but its inertia is not; both are used as given.", "correct it"
    ),
    "inertia-missing": Rule("error", "An <inertial> has no <inertia>.", REPAIR),
    "inertia-partial": Rule("error", "An <inertia> lacks some of its six numbers.", REPAIR),
    "moment-negative": Rule("error", "One of ixx, iyy, izz is negative.", REPAIR),
    "inertia-negative": Rule(
        "warning", "A principal moment of inertia is negative, which is impossible; it is used as given.", REPAIR
    ),
    "inertia-triangle": Rule(
        "warning",
        "A principal moment of inertia exceeds the sum of the others, which is impossible; it is used as given.",
        REPAIR,
    ),
    "inertia-from-shapes": Rule(
        "repair", 'With inertia="geometry": mass and inertia of a link are computed from its shapes.', ""
    ),
    # units: numbers as of another one
    "unit-angle": Rule("warning", "Angles of an origin are beyond 2 pi, as if they were in degrees.", "write radians"),
    "unit-limit": Rule("warning", "Limits of a revolute joint are beyond 4 pi, as in degrees.", "write radians"),
    "unit-length": Rule("warning", "A shape is far longer than joints are apart, as in mm or cm.", "write metres"),
    "unit-com": Rule("warning", "A centre of mass is far outside of the robot, as in mm or cm.", "write metres"),
    "unit-inertia": Rule(
        "warning", "An inertia is far too large for its mass and shapes, as in kg mm^2.", "write kg m^2"
    ),
    # shapes: they never stop a load
    "shape-unknown": Rule("warning", "A <visual> or <collision> has no known geometry.", _SHAPE),
    "shape-size": Rule("warning", "A size of a shape is zero or negative.", _SHAPE),
    "mesh-escapes": Rule("warning", "A mesh is outside the folders of the robot; it is not opened.", ""),
    "contact-mesh": Rule(
        "error",
        "With ground=: the mesh of a <collision> is not found or cannot be read.",
        "correct it, or read the file with read_urdf() and define the contacts: tree.contact(vt.Ground(), "
        'vt.Contact("foot"))',
    ),
    # the tree
    "two-parents": Rule(
        "error",
        "A link is the child of several joints.",
        'loops="constraints" closes the loop by constraints in place of the second',
    ),
    "cycle": Rule("error", "Joints form a cycle: none of their links is connected to the root.", "remove one of them"),
    "several-roots": Rule(
        "error",
        "There are several root links.",
        "connect them by joints, or choose one by root=",
    ),
    "left-out": Rule("warning", "With root=: links that are not connected to the root are ignored.", ""),
    "root-floating": Rule(
        "error", "With root=: the path to the root contains a floating or spherical joint.",
        "choose a root on this side of it",
    ),
    "world-root": Rule(
        "warning",
        'A root link "world" gets a free joint, so everything on it moves.',
        'load the file with base="fixed"',
    ),
    "loop": Rule("error", "A loop cannot be closed by constraints.", "correct the joint"),
    "nothing-moves": Rule("error", "No joint moves.", 'load it with base="free"'),
    "massless": Rule("warning", "A joint moves no mass: the model has kinematics but no dynamics.", ""),
    "singular-neutral": Rule(
        "warning", "The mass matrix is singular in the neutral configuration: no run can start there.", ""
    ),
    "model": Rule("error", "The mechanism cannot be modelled.", "correct the file"),
    "parser": Rule("error", "urdf_parser_py refuses a file that the checks accept.", "report it"),
    # notes: things that the reader has done
    "world": Rule("note", 'A massless root link "world" is the world itself.', ""),
    "turned": Rule(
        "note", "With root=: joints on the path to the root are reversed; their coordinates keep their meaning.", ""
    ),
    "fixed-joints": Rule("note", "Links on fixed joints are merged with their parent links.", ""),
    "loop-joints": Rule("note", "Joints that close loops become constraints.", ""),
    "mimic-joints": Rule("note", "How joints with <mimic> are treated: coupled to their leaders, or independent.", ""),
    "rotors": Rule("note", "Rotor inertias of transmissions, times reduction^2, become the armature of joints.", ""),
    "contact-points": Rule("note", "With ground=: <collision> shapes make contact; how many, and what hulls lose.", ""),
    "wheel": Rule(
        "note",
        "A <collision> cylinder is about the axis of its continuous joint: a wheel.",
        "on a ground its rims roll, and slip by friction; vt.RollingConstraint is a wheel that never slips",
    ),
    "limit-half": Rule("note", "A <limit> has one of lower and upper; the other is 0, as URDF defines it.", ""),
    "limits": Rule("note", "How joint limits are treated, according to `limits=`.", ""),
    "mesh-missing": Rule("note", "A mesh is not found; its name is kept.", ""),
    "extension": Rule("note", "Elements of other tools are ignored.", ""),
    "more-findings": Rule("note", "There are more findings than are listed.", ""),
}
