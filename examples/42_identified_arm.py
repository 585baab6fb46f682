"""The inertias and the damping of an arm from one motion, which is designed to show what can be known of them.

    python 42_identified_arm.py [--save FILE] [--plot FILE] [--view]

The second link carries a payload that the model does not know. The motion excites the base parameters, the combinations
of masses and inertias on which forces depend. The arm follows it, and encoders read its angles with noise.
"""

import numpy as np

import vitree as vt

DURATION, DT, KP, KD, NOISE = 5.0, 0.01, 60.0, 6.0, 1e-3  # [s], [s], [N m/rad], [N m s/rad], [rad]


def main() -> vt.Trajectory:
    known = vt.load_urdf(vt.find_robot("double_pendulum"))
    arm = known.with_parameters(mass={"rod2": 1.6}, damping={"hinge1": 0.08, "hinge2": 0.05})
    base = vt.base_parameters(known)
    print(f"of {len(base.standard)} parameters the joints show {len(base)} combinations, as {base.names[1]}")
    limits = {"position": (-2.0, 2.0), "velocity": 6.0, "effort": (40.0, 15.0)}
    motion = vt.design_excitation(known, DURATION, DT, harmonics=4, criterion="condition", limits=limits)
    print(f"the condition number of the motion's regressor is {motion.condition:.1f}")
    sim, torque = vt.Simulation(arm, motion.q[0], dt=DT, record_every=1), []
    for q, v, feedforward in zip(motion.q[:-1], motion.v[:-1], motion.torque[:-1], strict=True):
        torque.append(feedforward + KP * (q - sim.q) + KD * (v - sim.v))
        sim.step(control=torque[-1])
    run = sim.trajectory
    seen = run.q + NOISE * np.random.default_rng(0).normal(size=run.q.shape)
    start = known.with_parameters(damping={"hinge1": 0.02, "hinge2": 0.02})
    found = vt.identify(start, {"inertial": ["rod1", "rod2"], "damping": ["hinge1", "hinge2"]},
                        vt.Measurement(run.t, seen, torque=np.array(torque)), window=0.5)  # fmt: skip
    truth = base.values(arm)
    print(f"{'base parameter':36}{'found':>8}{'true':>9}   standard error")
    for name, value in found.base.values.items():
        print(f"{name:36}{value:8.4f} {truth[name]:8.4f} {found.base.standard_errors[name]:8.4f}")
    return run


if __name__ == "__main__":
    import common

    common.run(main)
