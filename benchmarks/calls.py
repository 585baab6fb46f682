"""Microseconds of a call from Python on one state, beside Pinocchio and MuJoCo called from Python in the same run.

    python benchmarks/calls.py [--smoke]

The calls of a row take turns, and the least of many turns counts. The kernel is that of the same build, in a compiled
loop over many states; "above" is the call's time above it. The empty function that each call is made in is not taken
off. Pinocchio's aba and crba are timed in both of its conventions, and the quicker counts. Its poses are matrices, as
vitree's are: "bodies, left in data" is the call that leaves them where Python cannot read them as arrays. MuJoCo's rows
have the stages that a new state needs, and the state is written from Python. Its aba is the whole of mj_forward, its
Jacobian is of a body, and its kinematics leaves poses in its data. Frames are the last link on the longest path.

A torque callback's time is that of a step of a run with the callback, above the same run without, and above the
callback called from Python.

Calls that read the forces of a state are made of a human figure that stands on eight points, and are told as shares of
the time of its step by linear-time, drives holding its posture.
"""

from __future__ import annotations

import argparse
import time

import numpy as np
import peers

import vitree as vt
from vitree._core import scalar

STATES = 256
DT = 1e-3
COLUMNS = ("kernel", "vitree", "above", "pinocchio", "share", "mujoco", "share")
core = scalar()


def robots() -> dict[str, tuple[str, bool]]:
    """Name -> (URDF text, whether its base is free)."""
    small = {"pendulum": "double_pendulum", "arm6": "arm6"}
    texts = {name: peers.without_damping(vt.find_robot(robot).read_text()) for name, robot in small.items()}
    large = {name: given for name, given in peers.robots().items() if name != "chain10"}
    return {name: (text, False) for name, text in texts.items()} | large


def farthest(model: vt.Model) -> str:
    """The link with most bodies between it and the world."""
    flat, depth = model.flat, []
    for parent in flat.parent:
        depth.append(1 + (depth[parent] if parent >= 0 else 0))
    on = {name: int(flat.frame_body[model.frame_names.index(name)]) for name in flat.link_names}
    return max((name for name in on if on[name] >= 0), key=lambda name: depth[on[name]])


def in_turn(calls: dict, repeats: int, seconds: float) -> dict[str, float]:
    """Least microseconds of each call, the calls taking turns of so many seconds."""
    counts = {}
    for name, call in calls.items():
        start = time.perf_counter()
        call()
        call()
        counts[name] = max(1, int(seconds / max(1e-9, (time.perf_counter() - start) / 2)))
    least = dict.fromkeys(calls, np.inf)
    for _ in range(repeats):
        for name, call in calls.items():
            turns = range(counts[name])
            start = time.perf_counter()
            for _ in turns:
                call()
            least[name] = min(least[name], (time.perf_counter() - start) / counts[name])
    return {name: 1e6 * value for name, value in least.items()}


def own_calls(model: vt.Model) -> dict:
    """The calls by row."""
    rng = np.random.default_rng(0)
    q, r = (model.integrate(model.neutral(), x) for x in rng.uniform(-1, 1, (2, model.nv)))
    v, a = rng.uniform(-1, 1, (2, model.nv))
    frame, zero = farthest(model), np.zeros(model.nv)
    return {
        "rnea": lambda: model.rnea(q, v, a),
        "rnea, gravity alone": lambda: model.rnea(q, zero, zero),
        "rnea, bias": lambda: model.rnea(q, v, zero),
        "aba": lambda: model.aba(q, v, a),
        "forward_dynamics": lambda: model.forward_dynamics(q, v, a),
        "crba": lambda: model.crba(q),
        "rnea_derivatives": lambda: model.rnea_derivatives(q, v, a),
        "aba_derivatives": lambda: model.aba_derivatives(q, v, a),
        "inverse_mass_matrix": lambda: model.inverse_mass_matrix(q),
        "passive_force": lambda: model.passive_force(q),
        "body_poses": lambda: model.body_poses(q),
        "frame_poses": lambda: model.frame_poses(q),
        "frame_pose": lambda: model.frame_pose(frame, q),
        "frame_jacobian": lambda: model.frame_jacobian(frame, q),
        "frame_jacobian, local": lambda: model.frame_jacobian(frame, q, "local"),
        "kinetic_energy": lambda: model.kinetic_energy(q, v),
        "potential_energy": lambda: model.potential_energy(q),
        "center_of_mass": lambda: model.center_of_mass(q),
        "momentum": lambda: model.momentum(q, v),
        "integrate": lambda: model.integrate(q, v),
        "difference": lambda: model.difference(q, r),
    }


def kernels(model: vt.Model) -> dict:
    """The kernels of the rows, over many states; a row without one is missing."""
    rng = np.random.default_rng(0)
    q = np.array([model.integrate(model.neutral(), x) for x in rng.uniform(-1, 1, (STATES, model.nv))])
    v, a = rng.uniform(-1, 1, (2, STATES, model.nv))
    vector, matrix, poses, jacobians, energies, configurations = (
        np.empty((STATES, columns)) for columns in (model.nv, model.nv**2, 12 * model.nbody, 6 * model.nv, 11, model.nq)
    )
    c, g = model.core, model.gravity
    k = model.frame_names.index(farthest(model))
    body, point = int(model.flat.frame_body[k]), np.ascontiguousarray(model.flat.frame_p[k])
    slopes = np.empty((3, STATES, model.nv**2))
    energy = lambda: core.batch_energy(c, q, v, energies)  # noqa: E731
    poses_of = lambda: core.batch_poses(c, q, poses)  # noqa: E731
    jacobian = lambda: core.batch_jacobian(c, q, body, point, jacobians)  # noqa: E731
    aba = lambda: core.batch_aba(c, g, q, v, a, vector)  # noqa: E731
    rnea = lambda: core.batch_rnea(c, g, q, v, a, vector)  # noqa: E731
    return {
        "rnea": rnea, "rnea, gravity alone": rnea, "rnea, bias": rnea,
        "aba": aba,
        "forward_dynamics": aba,
        "crba": lambda: core.batch_crba(c, q, matrix),
        "rnea_derivatives": lambda: core.batch_rnea_derivatives(c, g, q, v, a, *slopes),
        "aba_derivatives": lambda: core.batch_aba_derivatives(c, g, q, v, a, *slopes),
        "inverse_mass_matrix": lambda: core.batch_inverse_mass_matrix(c, q, matrix),
        "body_poses": poses_of, "frame_poses": poses_of, "frame_pose": poses_of,
        "frame_jacobian": jacobian, "frame_jacobian, local": jacobian,
        "kinetic_energy": energy, "potential_energy": energy, "center_of_mass": energy, "momentum": energy,
        "integrate": lambda: core.batch_integrate(c, q, v, configurations),
        "difference": lambda: core.batch_difference(c, q, q[::-1].copy(), vector),
    }  # fmt: skip


def pinocchio_calls(text: str, free: bool, name: str) -> dict:
    """The same of Pinocchio; several of a row of which the quickest counts have a number behind the name."""
    import pinocchio as pin

    model = peers.pinocchio_model(text, free)
    data = model.createData()
    rng = np.random.default_rng(0)
    q, r = (pin.integrate(model, pin.neutral(model), x) for x in rng.uniform(-1, 1, (2, model.nv)))
    v, a = rng.uniform(-1, 1, (2, model.nv))
    frame = model.getFrameId(name)

    def bodies():
        pin.forwardKinematics(model, data, q)
        return np.array([x.homogeneous for x in data.oMi])

    def frames():
        pin.framesForwardKinematics(model, data, q)
        return {x.name: M.homogeneous for x, M in zip(model.frames, data.oMf, strict=True)}

    def one_frame():
        pin.forwardKinematics(model, data, q)
        return pin.updateFramePlacement(model, data, frame).homogeneous

    def momentum():
        return pin.computeCentroidalMomentum(model, data, q, v).vector

    local, world = pin.Convention.LOCAL, pin.Convention.WORLD
    return {
        "rnea": lambda: pin.rnea(model, data, q, v, a),
        "rnea, gravity alone": lambda: pin.computeGeneralizedGravity(model, data, q),
        "rnea, bias": lambda: pin.nonLinearEffects(model, data, q, v),
        "aba": lambda: pin.aba(model, data, q, v, a, local),
        "aba 2": lambda: pin.aba(model, data, q, v, a, world),
        "forward_dynamics": lambda: pin.aba(model, data, q, v, a, local),
        "forward_dynamics 2": lambda: pin.aba(model, data, q, v, a, world),
        "crba": lambda: pin.crba(model, data, q, local),
        "crba 2": lambda: pin.crba(model, data, q, world),
        "rnea_derivatives": lambda: pin.computeRNEADerivatives(model, data, q, v, a),
        "aba_derivatives": lambda: pin.computeABADerivatives(model, data, q, v, a),
        "inverse_mass_matrix": lambda: pin.computeMinverse(model, data, q),
        "passive_force": lambda: pin.computeGeneralizedGravity(model, data, q),
        "bodies, left in data": lambda: pin.forwardKinematics(model, data, q),
        "body_poses": bodies,
        "frame_poses": frames,
        "frame_pose": one_frame,
        "frame_jacobian": lambda: pin.computeFrameJacobian(model, data, q, frame, pin.LOCAL_WORLD_ALIGNED),
        "frame_jacobian, local": lambda: pin.computeFrameJacobian(model, data, q, frame, pin.LOCAL),
        "kinetic_energy": lambda: pin.computeKineticEnergy(model, data, q, v),
        "potential_energy": lambda: pin.computePotentialEnergy(model, data, q),
        "center_of_mass": lambda: pin.centerOfMass(model, data, q),
        "momentum": momentum,
        "integrate": lambda: pin.integrate(model, q, v),
        "difference": lambda: pin.difference(model, q, r),
    }


def mujoco_calls(text: str, free: bool, name: str) -> dict:
    """The same of MuJoCo, where it has them."""
    import mujoco

    model = peers.mujoco_model(text, free)
    data = mujoco.MjData(model)
    rng = np.random.default_rng(0)
    v, a = rng.uniform(-1, 1, (2, model.nv))
    mujoco.mj_forward(model, data)
    q, force = data.qpos.copy(), np.zeros(model.nv)
    turning, moving = np.zeros((3, model.nv)), np.zeros((3, model.nv))
    body = mujoco.mj_name2id(model, mujoco.mjtObj.mjOBJ_BODY, name)

    def kinematics():
        data.qpos = q
        mujoco.mj_kinematics(model, data)

    def rnea():
        data.qpos, data.qvel, data.qacc = q, v, a
        mujoco.mj_kinematics(model, data)
        mujoco.mj_comPos(model, data)
        mujoco.mj_comVel(model, data)
        mujoco.mj_rne(model, data, 1, force)

    def forward():
        data.qpos, data.qvel, data.qfrc_applied = q, v, a
        mujoco.mj_forward(model, data)

    def jacobian():
        data.qpos = q
        mujoco.mj_kinematics(model, data)
        mujoco.mj_comPos(model, data)
        mujoco.mj_jacBody(model, data, turning, moving, body)

    return {"rnea": rnea, "aba": forward, "forward_dynamics": forward, "bodies, left in data": kinematics,
            "frame_jacobian": jacobian}  # fmt: skip


def quickest(times: dict[str, float]) -> dict[str, float]:
    """The least of the times of each row."""
    rows: dict[str, float] = {}
    for name, value in times.items():
        name = name.removesuffix(" 2")
        rows[name] = min(rows.get(name, np.inf), value)
    return rows


def runs(model: vt.Model, steps: int, repeats: int) -> dict[str, float]:
    """Microseconds of a run of one step, and of a torque callback each step above the callback itself."""
    v = np.random.default_rng(0).uniform(-0.1, 0.1, model.nv)
    tau, q = np.zeros(model.nv), model.neutral()

    def torque(t, q, v):
        return tau

    def run(count, **more):
        return vt.simulate(model, q, v, duration=count * DT, dt=DT, record_every=count, **more)

    calls = {
        "one step": lambda: run(1),
        "free": lambda: run(steps),
        "driven": lambda: run(steps, control=torque),
        "callback": lambda: torque(0.0, q, v),
    }
    times = in_turn(calls, repeats, 5e-3)
    each = (times["driven"] - times["free"]) / steps - times["callback"]
    return {"simulate of one step": times["one step"], "torque callback, a step": each}


def readers(repeats: int, seconds: float, steps: int) -> dict[str, float]:
    """Microseconds of a step of a figure that stands, and of the calls that read forces of its state."""
    model = vt.load_urdf(vt.find_robot("human"), base="free", ground=vt.Ground())
    q = vt.place_on_ground(model, model.neutral())
    # velocities that leave the contacts closed
    v, zero = 1e-9 * np.random.default_rng(0).standard_normal(model.nv), np.zeros(model.nv)
    held = model.with_drives({"*": (2e3, 100.0)})
    sim = vt.Simulation(held, q, zero, dt=DT, method="linear-time",
                        control=vt.Control(targets=np.zeros(len(held.drives))))
    sim.step(20)
    imu, contact = vt.Imu("head"), vt.ContactSensor("left_foot")
    joint, frame = vt.ForceTorque("left_ankle_flexion"), vt.ForceTorque("left_foot")
    calls = {
        "step": lambda: sim.step(steps),
        "forward_dynamics": lambda: model.forward_dynamics(q, v),
        "inverse_dynamics": lambda: model.inverse_dynamics(q, v, zero),
        "contact_forces": lambda: model.contact_forces(q, v),
        "joint_reactions": lambda: model.joint_reactions(q, v),
        "Imu.sample": lambda: imu.sample(model, 0.0, q, v),
        "ForceTorque.sample": lambda: joint.sample(model, 0.0, q, v),
        "ForceTorque.sample, frame": lambda: frame.sample(model, 0.0, q, v),
        "ContactSensor.sample": lambda: contact.sample(model, 0.0, q, v),
    }
    times = in_turn(calls, repeats, seconds)
    times["step"] /= steps
    return times


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--smoke", action="store_true", help="only see that it runs")
    arguments = parser.parse_args()
    print(peers.machine())
    repeats, seconds, steps = (120, 1e-3, 1000) if not arguments.smoke else (1, 1e-5, 5)
    for robot, (text, free) in robots().items():
        model = vt.load_urdf(text, base="free" if free else "fixed")
        parts = {
            "kernel": kernels(model), "vitree": own_calls(model),
            "pinocchio": pinocchio_calls(text, free, farthest(model)),
            "mujoco": mujoco_calls(text, free, farthest(model)),
        }  # fmt: skip
        rows = dict.fromkeys([*parts["vitree"], "bodies, left in data"])
        times: dict[str, dict[str, float]] = {part: {} for part in parts}
        for row in rows:  # the calls of a row take turns
            calls = {(part, name): call for part, named in parts.items() for name, call in named.items()
                     if name.removesuffix(" 2") == row}  # fmt: skip
            for (part, name), value in in_turn(calls, repeats, seconds).items():
                times[part][name] = value / (STATES if part == "kernel" else 1)
        times = {part: quickest(named) for part, named in times.items()}
        print(f"\n{robot}: {model.nbody} bodies, {model.nv} degrees of freedom; us a call")
        print(f"{'':24s}" + "".join(f"{column:>11s}" for column in COLUMNS))
        for row in rows:
            own, kernel = times["vitree"].get(row), times["kernel"].get(row)
            cells = [kernel, own, own - kernel if own and kernel else None]
            for peer in ("pinocchio", "mujoco"):
                theirs = times[peer].get(row)
                cells += [theirs, own / theirs if own and theirs else None]
            print(f"{row:24s}" + "".join(f"{'-' if x is None else f'{x:.2f}':>11s}" for x in cells))
        for row, value in runs(model, steps, max(1, repeats // 8)).items():
            print(f"{row:24s}{'':11s}{value:11.2f}")
    times = readers(repeats, seconds, 10)
    print("\nhuman figure that stands on eight points; us a call, and steps in its time")
    for row, value in times.items():
        print(f"{row:28s}{value:11.2f}{value / times['step']:11.2f}")


if __name__ == "__main__":
    main()
