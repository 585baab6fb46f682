"""Load a robot, let it fall, look at its energy.

    python 01_quickstart.py [--save FILE] [--plot FILE] [--view]

An industrial arm with its motors off swings for ten seconds. Nothing drives or brakes it, so its energy must stay
constant. Joints turn freely here, beyond the limits of the file. The script prints the largest error of the energy
beside the largest kinetic energy. "arm6" comes with vitree; the path of any URDF file works the same way.
"""

import vitree as vt


def main() -> vt.Trajectory:
    model = vt.load_urdf(vt.find_robot("arm6"), limits="ignore")
    q0 = model.neutral()
    q0[model.joint("shoulder_joint").q_slice] = 0.5  # [rad]
    q0[model.joint("wrist_joint").q_slice] = 1.0
    run = vt.simulate(model, q0, duration=10.0, dt=0.001)

    print(model)
    print(f"{run.steps} steps by {run.method} in {run.seconds:.3f} s")
    print(f"kinetic energy up to {run.kinetic.max():.1f} J")
    print(f"energy off by at most {abs(run.energy - run.energy[0]).max():.4f} J")
    return run


if __name__ == "__main__":
    import common

    common.run(main)
