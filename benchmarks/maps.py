"""Microseconds of maps of the whole body, called from Python on one state and on many, beside Pinocchio.

    python benchmarks/maps.py [--smoke]

The calls of a row take turns, and the least of many turns counts. Pinocchio's time is that of its functions called
from Python which a user needs for the same result on a new state; what they leave in their data is not copied. The last
column is the time of a state of 256 in one call of ours. Frames are the last link on the longest path.
"""

from __future__ import annotations

import argparse

import numpy as np
import peers
from calls import farthest, in_turn

import vitree as vt

STATES = 256
#: Robots by their names among those of example-robot-data, and whether their bases are free.
ROBOTS = {"ur5": False, "g1_29dof": True, "talos": True}


def own_calls(model: vt.Model, rows: int | None = None) -> dict:
    """The calls by row, on one state or on so many."""
    rng = np.random.default_rng(0)
    lead = () if rows is None else (rows,)
    x, v, a = rng.uniform(-1, 1, (3, *lead, model.nv))
    q, frame = model.integrate(np.broadcast_to(model.neutral(), (*lead, model.nq)), x), farthest(model)
    return {
        "center_of_mass": lambda: model.center_of_mass(q),
        "center_of_mass_velocity": lambda: model.center_of_mass_velocity(q, v),
        "center_of_mass_acceleration": lambda: model.center_of_mass_acceleration(q, v, a),
        "center_of_mass_jacobian": lambda: model.center_of_mass_jacobian(q),
        "centroidal_momentum": lambda: model.centroidal_momentum(q, v),
        "centroidal_momentum_rate": lambda: model.centroidal_momentum_rate(q, v, a),
        "centroidal_momentum_matrix": lambda: model.centroidal_momentum_matrix(q),
        "centroidal_momentum_matrix_rate": lambda: model.centroidal_momentum_matrix_rate(q, v),
        "centroidal_momentum_derivatives": lambda: model.centroidal_momentum_derivatives(q, v, a),
        "centroidal_inertia": lambda: model.centroidal_inertia(q),
        "coriolis_matrix": lambda: model.coriolis_matrix(q, v),
        "joint_torque_regressor": lambda: model.joint_torque_regressor(q, v, a),
        "body_regressor": lambda: model.body_regressor(frame, q, v, a),
        "kinetic_energy_regressor": lambda: model.kinetic_energy_regressor(q, v),
        "potential_energy_regressor": lambda: model.potential_energy_regressor(q),
        "frame_jacobian": lambda: model.frame_jacobian(frame, q),
        "frame_jacobian, local": lambda: model.frame_jacobian(frame, q, "local"),
        "frame_jacobian, spatial": lambda: model.frame_jacobian(frame, q, "spatial"),
        "frame_jacobian_rate": lambda: model.frame_jacobian_rate(frame, q, v),
        "frame_velocity": lambda: model.frame_velocity(frame, q, v),
        "frame_acceleration": lambda: model.frame_acceleration(frame, q, v, a),
    }


def pinocchio_calls(text: str, free: bool, name: str) -> dict:
    """The same of Pinocchio."""
    import pinocchio as pin

    model = peers.pinocchio_model(text, free)
    data, frame = model.createData(), model.getFrameId(name)
    x, v, a = np.random.default_rng(0).uniform(-1, 1, (3, model.nv))
    q, aligned = pin.integrate(model, pin.neutral(model), x), pin.LOCAL_WORLD_ALIGNED

    def jacobian_rate():
        pin.computeJointJacobiansTimeVariation(model, data, q, v)
        return pin.getFrameJacobianTimeVariation(model, data, frame, aligned)

    def body_regressor():
        pin.forwardKinematics(model, data, q, v, a)
        return pin.frameBodyRegressor(model, data, frame)

    def velocity():
        pin.forwardKinematics(model, data, q, v)
        return pin.getFrameVelocity(model, data, frame, aligned)

    def acceleration():
        pin.forwardKinematics(model, data, q, v, a)
        return pin.getFrameClassicalAcceleration(model, data, frame, aligned)

    return {
        "center_of_mass": lambda: pin.centerOfMass(model, data, q),
        "center_of_mass_velocity": lambda: pin.centerOfMass(model, data, q, v),
        "center_of_mass_acceleration": lambda: pin.centerOfMass(model, data, q, v, a),
        "center_of_mass_jacobian": lambda: pin.jacobianCenterOfMass(model, data, q),
        "centroidal_momentum": lambda: pin.computeCentroidalMomentum(model, data, q, v),
        "centroidal_momentum_rate": lambda: pin.computeCentroidalMomentumTimeVariation(model, data, q, v, a),
        "centroidal_momentum_matrix": lambda: pin.computeCentroidalMap(model, data, q),
        "centroidal_momentum_matrix_rate": lambda: pin.computeCentroidalMapTimeVariation(model, data, q, v),
        "centroidal_momentum_derivatives": lambda: pin.computeCentroidalDynamicsDerivatives(model, data, q, v, a),
        "centroidal_inertia": lambda: (pin.ccrba(model, data, q, v), data.Ig.inertia),
        "coriolis_matrix": lambda: pin.computeCoriolisMatrix(model, data, q, v),
        "joint_torque_regressor": lambda: pin.computeJointTorqueRegressor(model, data, q, v, a),
        "body_regressor": body_regressor,
        "kinetic_energy_regressor": lambda: pin.computeKineticEnergyRegressor(model, data, q, v),
        "potential_energy_regressor": lambda: pin.computePotentialEnergyRegressor(model, data, q),
        "frame_jacobian": lambda: pin.computeFrameJacobian(model, data, q, frame, aligned),
        "frame_jacobian, local": lambda: pin.computeFrameJacobian(model, data, q, frame, pin.LOCAL),
        "frame_jacobian, spatial": lambda: pin.computeFrameJacobian(model, data, q, frame, pin.WORLD),
        "frame_jacobian_rate": jacobian_rate,
        "frame_velocity": velocity,
        "frame_acceleration": acceleration,
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--smoke", action="store_true", help="only see that it runs")
    arguments = parser.parse_args()
    print(peers.machine())
    repeats, seconds = (1, 1e-5) if arguments.smoke else (120, 1e-3)
    for robot, free in ROBOTS.items():
        text = peers.without_damping(vt.find_robot(robot).read_text())
        model = vt.load_urdf(text, base="free" if free else "fixed")
        own, many = own_calls(model), own_calls(model, STATES)
        theirs = pinocchio_calls(text, free, farthest(model))
        print(f"\n{robot}: {model.nbody} bodies, {model.nv} degrees of freedom; us a call")
        print(f"{'':34s}{'vitree':>9s}{'pinocchio':>11s}{'share':>8s}{'of many':>9s}")
        for row in own:
            times = in_turn({"own": own[row], "theirs": theirs[row], "many": many[row]}, repeats, seconds)
            one, other, state = times["own"], times["theirs"], times["many"] / STATES
            print(f"{row:34s}{one:9.2f}{other:11.2f}{one / other:8.2f}{state:9.2f}")


if __name__ == "__main__":
    main()
