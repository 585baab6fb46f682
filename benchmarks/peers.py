"""The peers of the benchmarks: the same robots in Pinocchio and MuJoCo, timed in the same run.

Every timer returns microseconds per call, the least of many repeats, or None with a reason printed.
"""

from __future__ import annotations

import hashlib
import platform
import shutil
import subprocess
import sysconfig
import time
import xml.etree.ElementTree as ElementTree
from importlib.metadata import version
from pathlib import Path

import numpy as np

HERE = Path(__file__).parent
STATES = 256


def best_of(call, count: int = 1, repeats: int = 40) -> float:
    """Least microseconds of ``call`` over repeats, divided by the number of things it does."""
    least = np.inf
    for _ in range(repeats):
        start = time.perf_counter()
        call()
        least = min(least, time.perf_counter() - start)
    return 1e6 * least / count


def machine() -> str:
    """The processor, and the build of the core that it takes."""
    from vitree._core import scalar

    try:
        rows = Path("/proc/cpuinfo").read_text().splitlines()
        flags = next((row for row in rows if row.startswith("flags")), "").split()
        name = next(row.split(":", 1)[1].strip() for row in rows if row.startswith("model name"))
    except (OSError, StopIteration):
        flags, name = [], platform.processor() or platform.machine()
    wide = next((flag for flag in ("avx512f", "avx2", "avx") if flag in flags), "")
    return f"{name} {wide}, {scalar().__name__.rpartition('.')[2]}, Python {platform.python_version()}"


# ---- robots -----------------------------------------------------------------------------------------


def chain_urdf(n: int, offset: float = 1.5, alternate_axes: bool = False) -> str:
    """The chain of Lee et al. 2016 as URDF text: n links of 1 kg, unit inertia, turning about x (and y)."""
    inertial = (
        f'<inertial><origin xyz="0 0 {offset / 2}"/><mass value="1"/>'
        '<inertia ixx="1" ixy="0" ixz="0" iyy="1" iyz="0" izz="1"/></inertial>'
    )
    parts = [f'<robot name="chain{n}"><link name="world_link"/>']
    for i in range(n):
        above = f"link{i - 1}" if i else "world_link"
        axis = "0 1 0" if alternate_axes and i % 2 else "1 0 0"
        parts.append(
            f'<link name="link{i}">{inertial}</link><joint name="joint{i}" type="continuous"><parent link="{above}"/>'
            f'<child link="link{i}"/><origin xyz="0 0 {offset if i else 0}"/><axis xyz="{axis}"/></joint>'
        )
    return "".join(parts) + "</robot>"


def without_damping(text: str) -> str:
    """A URDF text stripped to its mechanics, without joint damping or friction: what the peers also simulate."""
    root = ElementTree.fromstring(text)
    for tag in ("transmission", "gazebo", "material", "sensor"):
        for element in root.findall(tag):
            root.remove(element)
    for link in root.findall("link"):
        for tag in ("visual", "collision"):
            for element in link.findall(tag):
                link.remove(element)
    for joint in root.findall("joint"):
        for tag in ("dynamics", "mimic"):
            for element in joint.findall(tag):
                joint.remove(element)
    return ElementTree.tostring(root, encoding="unicode")


def robots() -> dict[str, tuple[str, bool]]:
    """Name -> (URDF text, whether its base is free) of the robots that are timed."""
    from vitree.urdf.robots import find_robot

    return {
        "chain10": (chain_urdf(10), False),
        "chain30": (chain_urdf(30, offset=0.3, alternate_axes=True), False),
        "talos": (without_damping(find_robot("talos").read_text()), True),
    }


class Coordinates:
    """From vitree's states of a robot of hinges, with or without a free base, to a peer's and back.

    Joints are found by their names. A free base has, in vitree and in Pinocchio, the quaternion (x, y, z, w) and its
    linear velocity in body axes; in MuJoCo the quaternion (w, x, y, z) and its linear velocity in world axes. Its
    angular velocity is in body axes in all three.
    """

    def __init__(self, model, theirs: list[str], free: bool, mujoco: bool = False):
        ours = [joint.name for joint in model.flat.joints if joint.kind == "revolute"]
        if sorted(ours) != sorted(theirs):
            raise ValueError(f"the joints of the peer, {theirs}, are not those of vitree, {ours}")
        self.base = 7 if free else 0
        self.turned = free and mujoco
        #: place among theirs of each of our joints, and the reverse
        self.to = np.array([ours.index(name) for name in theirs])
        self.back = np.argsort(self.to)

    def theirs(self, q: np.ndarray, v: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """The peer's q and v of vitree's."""
        base, speed = q[: self.base].copy(), v[: self.base - 1 if self.base else 0].copy()
        if self.turned:
            speed[:3] = rotated(base[3:], speed[:3])
            base[3:] = base[[6, 3, 4, 5]]
        return np.r_[base, q[self.base :][self.to]], np.r_[speed, v[len(speed) :][self.to]]

    def ours(self, q: np.ndarray, v: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Vitree's q and v of the peer's; the quaternion gets length one."""
        base, speed = q[: self.base].copy(), v[: self.base - 1 if self.base else 0].copy()
        if self.turned:
            base[3:] = base[[4, 5, 6, 3]]
        if self.base:
            base[3:] /= np.linalg.norm(base[3:])
        if self.turned:
            speed[:3] = rotated(base[3:] * (-1, -1, -1, 1), speed[:3])
        return np.r_[base, q[self.base :][self.back]], np.r_[speed, v[len(speed) :][self.back]]


def rotated(turn: np.ndarray, vector: np.ndarray) -> np.ndarray:
    """A vector turned by a quaternion (x, y, z, w)."""
    twice = 2 * np.cross(turn[:3], vector)
    return vector + turn[3] * twice + np.cross(turn[:3], twice)


# ---- Pinocchio --------------------------------------------------------------------------------------


def pinocchio_model(text: str, free: bool):
    """The robot in Pinocchio."""
    import pinocchio as pin

    return pin.buildModelFromXML(text, pin.JointModelFreeFlyer()) if free else pin.buildModelFromXML(text)


def pinocchio_coordinates(model, pin_model, free: bool) -> Coordinates:
    """From vitree's states to Pinocchio's, and back."""
    return Coordinates(model, list(pin_model.names)[2 if free else 1 :], free)


def pinocchio_field(model, free: bool):
    """A function (x, tau, convention, rate) that writes the rate of Pinocchio's x = (q, v); hinges, and a free base.

    The quaternion of the base is taken as four numbers.
    """
    import pinocchio as pin

    data, nq, aba = model.createData(), model.nq, pin.aba
    base = (7, 6) if free else (0, 0)

    def field(x, tau, convention, rate):
        if free:
            a, b, c, d = x[3:7].tolist()
            vx, vy, vz, p, q, r = x[nq : nq + 6].tolist()
            tx, ty, tz = 2 * (b * vz - c * vy), 2 * (c * vx - a * vz), 2 * (a * vy - b * vx)
            rate[:7] = (
                vx + d * tx + b * tz - c * ty, vy + d * ty + c * tx - a * tz, vz + d * tz + a * ty - b * tx,
                0.5 * (d * p + b * r - c * q), 0.5 * (d * q + c * p - a * r), 0.5 * (d * r + a * q - b * p),
                -0.5 * (a * p + b * q + c * r),
            )  # fmt: skip
        rate[base[0] : nq] = x[nq + base[1] :]
        rate[nq:] = aba(model, data, x[:nq], x[nq:], tau, convention)

    return field


def pinocchio_python(text: str, free: bool) -> dict[str, float]:
    """Microseconds of Pinocchio's kernels called from Python; aba and crba in its quicker convention."""
    import pinocchio as pin

    model = pinocchio_model(text, free)
    data = model.createData()
    rng = np.random.default_rng(0)
    q = pin.integrate(model, pin.neutral(model), rng.uniform(-1, 1, model.nv))
    v, a = rng.uniform(-1, 1, (2, model.nv))
    local, world = pin.Convention.LOCAL, pin.Convention.WORLD
    calls = {
        "rnea": [lambda: pin.rnea(model, data, q, v, a)],
        "aba": [lambda c=c: pin.aba(model, data, q, v, a, c) for c in (local, world)],
        "crba": [lambda c=c: pin.crba(model, data, q, c) for c in (local, world)],
        "kinematics": [lambda: pin.forwardKinematics(model, data, q)],
    }

    def loop(call):
        for _ in range(STATES):
            call()

    return {
        name: min(best_of(lambda call=call: loop(call), STATES) for call in conventions)
        for name, conventions in calls.items()
    }


def _joint_lines(text: str, free: bool) -> str:
    """The model as pinocchio_kernels.cpp reads it."""
    import pinocchio as pin

    model = pinocchio_model(text, free)
    data = model.createData()
    pin.forwardKinematics(model, data, pin.neutral(model), np.zeros(model.nv))
    lines = [str(model.njoints - 1)]
    for i in range(1, model.njoints):
        S = np.asarray(data.joints[i].S)
        S = S.reshape(6, -1)
        kind, axis = "free", np.zeros(3)
        if S.shape[1] == 1:
            axis = S[3:, 0]
            if not axis.any():
                raise ValueError(f"joint {model.names[i]} slides; the C++ timing knows hinges and free joints only")
            exact = [k for k in range(3) if axis[k] == 1.0]
            kind = ("rx", "ry", "rz")[exact[0]] if exact else "revolute"
        place, inertia = model.jointPlacements[i], model.inertias[i]
        numbers = (
            *axis, *place.rotation.ravel(), *place.translation,
            inertia.mass, *inertia.lever, *inertia.inertia.ravel(),
        )  # fmt: skip
        lines.append(f"{model.parents[i]} {kind} " + " ".join(repr(float(x)) for x in numbers))
    return "\n".join(lines)


def pinocchio_cpp(text: str, free: bool, flags: tuple[str, ...]) -> dict[str, float] | None:
    """Microseconds of the kernels called from C++, compiled here with the given flags (minutes, once);
    aba and crba in its quicker convention."""
    program = _compiled(flags)
    if program is None:
        return None
    done = subprocess.run([program], input=_joint_lines(text, free), capture_output=True, text=True, check=False)
    if done.returncode:
        print(f"pinocchio from C++: the program ended with status {done.returncode}")
        return None
    result: dict[str, float] = {}
    for name, value in (line.split() for line in done.stdout.splitlines()):
        result[name] = min(result.get(name, np.inf), float(value))
    return result


def _compiled(flags: tuple[str, ...]) -> str | None:
    """Path of the timing program, compiled against the headers that the ``pin`` wheel brings."""
    prefix = Path(sysconfig.get_paths()["purelib"]) / "cmeel.prefix"
    includes = [prefix / "include", prefix / "include" / "eigen3", Path("/usr/include/eigen3")]
    if not any((folder / "Eigen" / "Core").exists() for folder in includes):
        print("pinocchio from C++: left out, Eigen's headers are missing (pip install cmeel-eigen)")
        return None
    if shutil.which("g++") is None:
        print("pinocchio from C++: left out, there is no g++")
        return None
    source = HERE / "pinocchio_kernels.cpp"
    # a new Pinocchio is a new program
    key = hashlib.sha256(source.read_bytes() + repr((flags, version("pin"))).encode()).hexdigest()[:12]
    program = HERE / "build" / f"pinocchio_kernels_{key}"
    if not program.exists():
        program.parent.mkdir(exist_ok=True)
        command = [
            "g++", "-std=c++17", "-O3", "-DNDEBUG", *flags, *(f"-I{folder}" for folder in includes if folder.exists()),
            # as Pinocchio's own build has them
            "-DBOOST_MPL_LIMIT_LIST_SIZE=30", "-DBOOST_MPL_LIMIT_VECTOR_SIZE=30",
            "-DBOOST_MPL_CFG_NO_PREPROCESSED_HEADERS", "-DBOOST_FUSION_INVOKE_MAX_ARITY=12",
            str(source), "-o", str(program), f"-L{prefix / 'lib'}", f"-Wl,-rpath,{prefix / 'lib'}",
            "-lboost_serialization",
        ]  # fmt: skip
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        if done.returncode:
            lines = [line for line in done.stderr.splitlines() if "error" in line or "undefined" in line]
            print(f"pinocchio from C++: left out, it does not compile: {lines[:1]}")
            return None
    return str(program)


# ---- MuJoCo -----------------------------------------------------------------------------------------


def mujoco_model(text: str, free: bool, dt: float = 1e-3, gains: tuple[float, float] | None = None,
                 servos: dict[str, tuple[float, float]] | None = None, balls=(), ball: float = 0.0,
                 friction: float = 0.0):  # fmt: skip
    """The robot in MuJoCo: no limits or damping; the same mass and degrees of freedom.

    With gains (kp, kd): a position actuator on each joint of one coordinate; with ``servos`` on those that it names.
    With ``balls`` (body, place): these touch a plane, else nothing touches anything; links without mass get a little.
    """
    import mujoco

    root = ElementTree.fromstring(text)
    options = ElementTree.Element("mujoco")
    ElementTree.SubElement(
        options, "compiler", fusestatic="true", discardvisual="true", balanceinertia="false", inertiafromgeom="false",
        **({"boundmass": "1e-6", "boundinertia": "1e-7"} if balls else {}),
    )  # fmt: skip
    root.insert(0, options)
    spec = mujoco.MjSpec.from_string(ElementTree.tostring(root, encoding="unicode"))
    if free:
        spec.worldbody.first_body().add_freejoint()
    for joint in spec.joints:
        joint.armature = 0
    for body, place in balls:
        spec.body(body).add_geom(name=f"corner{len(spec.geoms)}", type=mujoco.mjtGeom.mjGEOM_SPHERE, pos=place, mass=0,
                                 size=[ball, 0, 0], friction=[friction, 0, 0], contype=1, conaffinity=0)  # fmt: skip
    if balls:
        spec.worldbody.add_geom(name="ground", type=mujoco.mjtGeom.mjGEOM_PLANE, size=[0, 0, 1], contype=0,
                                conaffinity=1, friction=[friction, 0, 0])  # fmt: skip
    if gains is not None or servos is not None:
        for joint in spec.joints:
            if joint.type in (mujoco.mjtJoint.mjJNT_HINGE, mujoco.mjtJoint.mjJNT_SLIDE):
                gains = servos[joint.name] if servos is not None else gains
                servo = spec.add_actuator(target=joint.name, trntype=mujoco.mjtTrn.mjTRN_JOINT)
                servo.gainprm[0], servo.biastype = gains[0], mujoco.mjtBias.mjBIAS_AFFINE
                servo.biasprm[1], servo.biasprm[2] = -gains[0], -gains[1]
    model = spec.compile()
    model.dof_damping[:] = 0
    model.dof_frictionloss[:] = 0
    model.opt.timestep = dt
    off = mujoco.mjtDisableBit
    model.opt.disableflags |= off.mjDSBL_EULERDAMP | off.mjDSBL_LIMIT
    if not balls:
        model.opt.disableflags |= off.mjDSBL_CONTACT | off.mjDSBL_CONSTRAINT
    return model


def mujoco_coordinates(model, mujoco_robot, free: bool) -> Coordinates:
    """From vitree's states to MuJoCo's, and back."""
    names = [mujoco_robot.joint(k).name for k in range(1 if free else 0, mujoco_robot.njnt)]
    return Coordinates(model, names, free, mujoco=True)


def mujoco_steps(text: str, free: bool, velocity: np.ndarray, dt: float = 1e-3, steps: int = 300) -> dict[str, float]:
    """Microseconds of a step by MuJoCo's Euler and RK4, looped in C, from the neutral configuration."""
    import mujoco

    model = mujoco_model(text, free, dt)
    data = mujoco.MjData(model)
    result = {}
    for name, kind in (("mujoco euler", "mjINT_EULER"), ("mujoco rk4", "mjINT_RK4")):
        model.opt.integrator = getattr(mujoco.mjtIntegrator, kind)

        def run():
            mujoco.mj_resetData(model, data)
            data.qvel[:] = velocity
            mujoco.mj_step(model, data, nstep=steps)

        result[name] = best_of(run, steps, repeats=15)
        if not np.isfinite(data.qpos).all():
            print(f"{name}: the state became infinite")
    return result


def mujoco_kernels(text: str, free: bool) -> dict[str, float]:
    """Microseconds of MuJoCo's inverse dynamics and of position stages, called from Python."""
    import mujoco

    model = mujoco_model(text, free)
    data = mujoco.MjData(model)
    rng = np.random.default_rng(0)
    data.qvel[:], data.qacc[:] = rng.uniform(-1, 1, (2, model.nv))
    mujoco.mj_forward(model, data)
    force = np.zeros(model.nv)

    def kinematics():
        for _ in range(STATES):
            mujoco.mj_kinematics(model, data)

    def rnea():
        for _ in range(STATES):
            mujoco.mj_rne(model, data, 1, force)

    def forward():
        for _ in range(STATES):
            mujoco.mj_forward(model, data)

    calls = {"kinematics": kinematics, "rnea": rnea, "forward": forward}
    return {name: best_of(call, STATES) for name, call in calls.items()}


def main() -> None:
    """Print the peers' own numbers, without vitree's."""
    velocity = np.random.default_rng(0)
    for robot, (text, free) in robots().items():
        print(f"\n{robot}, us per call or step")
        rows = {
            "pinocchio, Python": pinocchio_python(text, free),
            "pinocchio, C++ -O3": pinocchio_cpp(text, free, ()),
            "pinocchio, C++ -O3 -march=native": pinocchio_cpp(text, free, ("-march=native",)),
            "mujoco, Python": mujoco_kernels(text, free),
            "mujoco, steps": mujoco_steps(text, free, velocity.uniform(-1, 1, mujoco_model(text, free).nv)),
        }
        for label, row in rows.items():
            cells = "left out" if row is None else "".join(f"{name:>14s} {value:6.2f}" for name, value in row.items())
            print(f"  {label:34s}{cells}")


if __name__ == "__main__":
    main()
