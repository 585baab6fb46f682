"""Methods of a model at states that compiled code answers, and their arguments: q, v, another q (r), a frame (f).

An acceleration or a joint force is another v.
"""

from __future__ import annotations

#: Those of one call on a state.
CALLS = {
    "validate_configuration": "q", "integrate": "qv", "difference": "qr", "body_poses": "q", "frame_poses": "q",
    "frame_pose": "fq", "rnea": "qvv", "aba": "qvv", "crba": "q",
    "generalized_momentum": "qv", "velocity_from_momentum": "qv", "kinetic_energy": "qv", "potential_energy": "q",
    "lagrangian": "qv", "momentum": "qv", "forward_dynamics": "qvv", "passive_force": "q",
    "rnea_derivatives": "qvv", "aba_derivatives": "qvv", "inverse_mass_matrix": "q",
}  # fmt: skip
#: Those of maps of the whole body.
MAPS = {
    "frame_jacobian": "fq", "frame_jacobian_rate": "fqv", "frame_velocity": "fqv", "frame_acceleration": "fqvv",
    "center_of_mass": "q", "center_of_mass_velocity": "qv", "center_of_mass_acceleration": "qvv",
    "center_of_mass_jacobian": "q",
    "centroidal_momentum": "qv", "centroidal_momentum_rate": "qvv", "centroidal_momentum_matrix": "q",
    "centroidal_momentum_matrix_rate": "qv", "centroidal_inertia": "q", "_centroidal_derivatives": "qvv",
    "coriolis_matrix": "qv", "joint_torque_regressor": "qvv", "body_regressor": "fqvv",
    "kinetic_energy_regressor": "qv", "potential_energy_regressor": "q",
}  # fmt: skip
#: All of them that take stacks of states.
STACKED = {name: letters for name, letters in (CALLS | MAPS).items() if name != "validate_configuration"}
