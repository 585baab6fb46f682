"""An arm under PD control with gravity compensation, whose motors have the effort limits of the file.

    python 04_manipulator_pd.py [--save FILE] [--plot FILE] [--view]

The controller is a function of (t, q, v) that is called once a step. `effort_limits=True` limits its torques to the
efforts in the URDF file. The run says for each joint in which share of the steps its torque was limited. After that
the error decays like a damped spring's.
"""

import numpy as np

import vitree as vt

GOAL = np.array([1.2, 0.6, 0.9, -0.8, 0.7, 2.0])  # [rad]
STIFFNESS = np.array([900.0, 900.0, 400.0, 60.0, 60.0, 8.0])  # [N m/rad]


def main() -> vt.Trajectory:
    model = vt.load_urdf(vt.find_robot("arm6"))
    rest = model.zero_velocity()
    damping = 2.0 * np.sqrt(STIFFNESS * np.diag(model.crba(GOAL)))  # about critical

    def controller(t, q, v):
        return STIFFNESS * (GOAL - q) - damping * v + model.rnea(q, rest, rest)

    limited = vt.Control(torque=controller, effort_limits=True)
    run = vt.simulate(model, model.neutral(), duration=6.0, dt=0.002, control=limited)
    for time in (0.0, 0.5, 1.0, 2.0, 4.0, 6.0):
        print(f"t = {time:3.1f} s: off the goal by {abs(run.at(time).q - GOAL).max():.1e} rad")
    for name, share in run.settings["effort_cut"].items():
        print(f"{name}: at its limit, {model.joint(name).effort[0]:g} N m, in {share:.1%} of the steps")
    return run


if __name__ == "__main__":
    import common

    common.run(main)
