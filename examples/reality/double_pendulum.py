"""A real double pendulum: parameters from four recorded runs, and how well they predict the others.

    python double_pendulum.py [--data FILE] [--train 0 2 4 6] [--plot FILE]

Eight runs of a double pendulum with a quasi-direct drive at each joint, and torques measured there. Records:
DFKI Underactuated Lab, github.com/dfki-ric-underactuated-lab/double_pendulum, design C.1, 2023-06-29, BSD-3-Clause;
`LAB` is what the laboratory published for this pendulum (Wiebe et al. 2024, "Open source dual-purpose acrobot and
pendubot platform"). Half of the runs identify inertias, damping and friction. The error of a prediction is that of the
joint angles over windows of a second of the other runs, which begin at the measured state and see the measured torques
alone. Run 7 is a swing-up. It is replayed as a whole, too: upright pendulums amplify any error, and the time until
a replay has left the record by 0.3 rad is what parameters can lengthen.
"""

import argparse
from pathlib import Path

import numpy as np
from scipy import signal

import vitree as vt

DT = 0.002
#: Lengths [m], masses [kg], distances of the COM from the joints [m], inertias about the joints [kg m^2], rotors at
#: the joints (gear ratio 6) [kg m^2], damping [N m s/rad] and dry friction [N m].
LAB = {"length": 0.2, "mass": (0.5235, 0.6256), "com": (0.2, 0.2557), "inertia": (0.03189, 0.05087),
       "armature": 36 * 6.29e-5, "damping": 0.001, "friction": (0.16, 0.12)}  # fmt: skip
#: Records above are smoothed where a window starts: the recorded velocity is noisy [Hz].
SMOOTHED = 12.0
LOST = 0.3


def laboratory() -> vt.Model:
    """The pendulum with the laboratory's parameters."""
    tree, at, joints = vt.Tree("double pendulum"), None, ("shoulder", "elbow")
    for k, name in enumerate(joints):
        mass, down = LAB["mass"][k], LAB["com"][k]
        about = LAB["inertia"][k] - mass * down**2
        turn = vt.ry(name, damping=LAB["damping"], friction=LAB["friction"][k], friction_velocity=0.05,
                     armature=LAB["armature"])  # fmt: skip
        body = vt.body(("upper", "lower")[k], mass, (about, about, about), com=(0, 0, -down))
        at = tree.world.add(turn, body) if at is None else at.add(vt.tz(-LAB["length"]), turn, body)
    return tree.compile()


def recorded(model: vt.Model, rows: np.ndarray) -> vt.Measurement:
    """A run with records each 2 ms; the recorded times jitter. Rows: t, q (2), v (2), torque (2), command (2)."""
    rows = rows.astype(float)
    torque = 0.5 * (rows[1:, 5:7] + rows[:-1, 5:7])
    return vt.Measurement(rows[:, 0], rows[:, 1:3], rows[:, 3:5], torque=torque).resampled(model, DT)


def smooth_velocity(run: vt.Measurement) -> np.ndarray:
    sections = signal.butter(3, SMOOTHED, fs=1 / DT, output="sos")
    return np.gradient(signal.sosfiltfilt(sections, run.q, axis=0), DT, axis=0)


def predicted(model: vt.Model, run: vt.Measurement, duration: float = 1.0, every: float = 0.25):
    """Predicted and recorded angles (windows, records, 2) of windows that begin each 0.25 s."""
    steps, v = round(duration / DT), smooth_velocity(run)
    starts = np.arange(0, len(run.t) - steps, round(every / DT))
    torque = np.stack([run.torque[k : k + steps] for k in starts])
    found = vt.rollout(model, run.q[starts], v[starts], duration=duration, dt=DT, control=torque)
    return found.q, np.stack([run.q[k : k + steps + 1] for k in starts])


def rms(errors: np.ndarray) -> float:
    return float(np.sqrt((errors**2).mean()))


def main() -> dict:
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--data", default=Path(__file__).with_name("double_pendulum.npz"), metavar="FILE")
    options.add_argument("--train", type=int, nargs="+", default=[0, 2, 4, 6], metavar="RUN")
    options.add_argument("--plot", metavar="FILE", help="draw predictions and the replay (needs Matplotlib)")
    asked = options.parse_args()

    lab = laboratory()
    with np.load(asked.data) as file:
        runs = [recorded(lab, file[f"run{k}"]) for k in range(8)]
    joints = ["shoulder", "elbow"]
    coarse = [run.resampled(lab, 5 * DT) for run in (runs[k] for k in asked.train)]
    found = vt.identify(
        lab, {"inertial": ["upper", "lower"], "damping": joints, "friction": joints, "armature": ["elbow"]},
        coarse, window=1.0,
    ).clustered("runs" if len(coarse) > 2 else "windows")  # fmt: skip
    before = vt.base_parameters(lab).values(lab)
    print(f"from runs {asked.train} in {found.seconds:.1f} s, {found.evaluations} sets of values")
    for name, value in found.base.values.items():
        error = found.base.standard_errors[name]
        print(f"  {name:45} {value:9.5f} +- {error:.5f} {found.base.units[name]:12} laboratory {before[name]:9.5f}")

    models, errors = {"laboratory": lab, "identified": found.model}, {}
    print("error over windows of 1 s [rad]:")
    for k in sorted({*range(8)} - {*asked.train}):
        for name, model in models.items():
            errors[name, k] = rms(np.subtract(*predicted(model, runs[k])))
        print(f"  run {k}: laboratory {errors['laboratory', k]:.3f}, identified {errors['identified', k]:.3f}")
    rest = [k for k in range(7) if k not in asked.train]
    both = [np.sqrt(np.mean([errors[name, k] ** 2 for k in rest])) for name in models]
    print(f"  runs {rest}: laboratory {both[0]:.3f}, identified {both[1]:.3f}, a share of {both[1] / both[0]:.2f}")

    swing, replays = runs[7], {}
    for name, model in models.items():
        replays[name] = vt.rollout(model, swing.q[:1], swing.v[:1], duration=(len(swing.t) - 1) * DT, dt=DT,
                                   control=swing.torque[None]).q[0]  # fmt: skip
        lost = np.flatnonzero(np.abs(replays[name] - swing.q).max(axis=1) > LOST)
        until = swing.t[lost[0]] if len(lost) else swing.t[-1]
        print(f"swing-up by the measured torques alone, {name}: within {LOST} rad for {until:.2f} s")
    if asked.plot:
        draw(asked.plot, runs, models, rest[0], replays)
    return {"found": found, "errors": errors, "share": both[1] / both[0]}


def draw(path: str, runs: list, models: dict, which: int, replays: dict) -> None:
    """Windows of a run that was not used, and the replay of the swing-up, beside the records."""
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    figure, axes = plt.subplots(2, 2, figsize=(10, 5.6), sharex="col", layout="constrained")
    colours = {"laboratory": "C1", "identified": "C0"}
    for joint, row in enumerate(axes):
        for name, model in models.items():
            guess, _ = predicted(model, runs[which], every=1.0)
            for k in range(4):
                t = k + DT * np.arange(guess.shape[1])
                row[0].plot(t, guess[k, :, joint], colours[name], label=None if k else name)
            row[1].plot(DT * np.arange(len(replays[name])), replays[name][:, joint], colours[name])
        seen = slice(0, round(4 / DT))
        row[0].plot(runs[which].t[seen], runs[which].q[seen, joint], "k", lw=0.8, label="recorded")
        row[1].plot(runs[7].t, runs[7].q[:, joint], "k", lw=0.8)
        row[1].set_ylim(runs[7].q[:, joint].min() - 1.5, runs[7].q[:, joint].max() + 1.5)
        row[0].set_ylabel(f"{('shoulder', 'elbow')[joint]} [rad]")
    axes[0, 0].set_title(f"run {which}, windows of 1 s")
    axes[0, 1].set_title("swing-up, replayed as a whole")
    axes[0, 0].legend(fontsize=8, loc="upper right")
    for axis in axes[1]:
        axis.set_xlabel("t [s]")
    figure.savefig(path, dpi=100)
    print("written:", path)


if __name__ == "__main__":
    main()
