"""The elements of SDFormat: which are read, and which are left out."""

from __future__ import annotations

#: Versions of the format.
VERSIONS = tuple((1, minor) for minor in range(13))
#: Up to this version axes of joints are in the axes of the model.
AXES_OF_MODEL = (1, 4)
#: Up to this version the attribute ``frame`` of a <pose> is where ``relative_to`` is later.
NO_RELATIVE_TO = (1, 6)

#: Joints that have axes, and how many; of those without an axis none.
AXES = {"revolute": 1, "continuous": 1, "prismatic": 1, "screw": 1, "universal": 2, "revolute2": 2, "ball": 0,
        "fixed": 0}  # fmt: skip
#: Types of the format that have no counterpart.
UNSUPPORTED = ("gearbox",)

#: Children of elements that are read.
READ = {
    "sdf": {"model", "world", "include"},
    "world": {"name", "gravity", "model", "include", "frame", "joint"},
    "model": {"static", "self_collide", "include", "model", "frame", "pose", "link", "joint"},
    "include": {"uri", "name", "pose", "static", "placement_frame"},
    "link": {"gravity", "self_collide", "kinematic", "pose", "inertial", "collision", "visual", "velocity_decay"},
    "joint": {"parent", "child", "pose", "axis", "axis2", "thread_pitch", "screw_thread_pitch"},
    "frame": {"pose"},
    "axis": {"xyz", "limit", "dynamics", "mimic", "use_parent_model_frame"},
    "limit": {"lower", "upper", "effort", "velocity"},
    "dynamics": {"damping", "friction", "spring_stiffness", "spring_reference"},
}
READ["axis2"], READ["gazebo"] = READ["axis"], READ["sdf"]
#: Children that do not affect the motion, or say what is so here anyway, and are not worth a word.
SILENT = {
    "world": {"scene", "gui", "spherical_coordinates", "physics", "magnetic_field"},
    "model": {"allow_auto_disable", "enable_wind"},
    "include": {"enable_wind"},
    "link": {"enable_wind", "must_be_base_link"},
    "joint": {"physics"},
    "axis": {"initial_position"},
    "limit": {"stiffness", "dissipation"},
}
SILENT["axis2"] = SILENT["axis"]
#: Children that affect the motion, and are left out.
MOTION = {
    "world": {"actor", "population", "state", "wind", "atmosphere", "road", "plugin"},
    "model": {"plugin", "gripper"},
    "include": {"plugin"},
    "joint": {"gearbox_ratio", "gearbox_reference_body"},
}
#: Children that do not, and are left out.
IGNORED = {
    "sdf": {"light", "actor"},
    "world": {"light", "audio"},
    "link": {"sensor", "projector", "audio_source", "audio_sink", "battery", "light", "particle_emitter"},
    "joint": {"sensor"},
}
IGNORED["gazebo"] = IGNORED["sdf"]
#: The attribute of a link of a URDF file without an inertia: no name that a file can write.
NO_MASS = "{}massless"
#: Shapes of a <geometry>: those of robot files with their sizes, and others.
SIZES = {"box": {"size": 3}, "cylinder": {"radius": 1, "length": 1}, "sphere": {"radius": 1},
         "capsule": {"radius": 1, "length": 1}}  # fmt: skip
OTHER_SHAPES = ("mesh", "ellipsoid", "plane", "cone")
NO_SHAPES = ("heightmap", "image", "polyline")
