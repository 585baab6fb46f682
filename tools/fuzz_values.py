"""Values for tools/fuzz_calls.py: valid arguments by the names of parameters, arguments of every other kind."""

from __future__ import annotations

import array
import dataclasses
import decimal
import inspect
import random
from fractions import Fraction
from functools import cache
from pathlib import Path

import numpy as np

import vitree as vt
from vitree import control, lie, vehicles
from vitree.integrators.base import Records
from vitree.model.system import System
from vitree.sensors import Sensor


class Mine(Exception):
    """The exception that the callables and objects here raise."""


class Foreign:
    """An array of another library."""

    def __init__(self, x):
        self.x = x

    def __array__(self, dtype=None, copy=None):
        return np.asarray(self.x, dtype)


class Raises:
    """An object all of whose methods raise."""

    def _raise(self, *given):
        raise Mine("mine")

    __array__ = __float__ = __index__ = __int__ = __len__ = __getitem__ = __fspath__ = __call__ = _raise


class Case:
    """One call: its random numbers, the folder for its files, and what was drawn for it so far."""

    def __init__(self, target: str, number: int, folder: Path):
        self.target, self.folder = target, folder
        self.rng = random.Random(f"{target}:{number}")
        self.numpy = np.random.default_rng(self.rng.getrandbits(64))
        self.owner, self.drawn = None, {}
        self.rows = self.rng.choice((0, 1, 1, 2, 3))

    def pick(self, *choices):
        return self.rng.choice(choices)

    def normal(self, *shape):
        return self.pick(1.0, 1.0, 0.0, 1e-3, 30.0) * self.numpy.standard_normal(shape)

    @property
    def system(self):
        """The system that the call is about."""
        for value in (self.owner, *self.drawn.values()):
            if isinstance(value, vt.Model | vehicles.Vehicle):
                return value
            if type(value).__module__.startswith("vitree") and isinstance(
                    found := getattr(value, "model", getattr(value, "system", None)), vt.Model | vehicles.Vehicle):
                return found
        self.drawn["(system)"] = self.pick(*systems().values())
        return self.drawn["(system)"]


# ---- systems, and what is made of them ---------------------------------------------------------------


class Own(vt.Force):
    """A force in Python."""

    def force(self, model, t, q, v, u):
        return -0.1 * v


class Hill(vt.Potential):
    """A potential in Python."""

    def energy(self, model, q):
        return float(np.cos(q).sum())


class Line(vt.Constraint):
    """A constraint in Python."""

    def value(self, model, q):
        return float(q[0] - q[1])


class Sleigh(vehicles.NonholonomicVehicle):
    """A vehicle in Python."""

    shape_names, input_names = ("s",), ("pull",)

    def symmetries(self, r):
        return np.array([[1.0, 0], [0, 1], [0, 0]])

    def mass_matrix(self, r):
        return np.diag([1.0, 2.0, 3.0, 3.0])

    def shape_force(self, t, r, g, u, xi, inputs):
        return inputs - 0.2 * u


def joints():
    """A tree with joints of every kind."""
    tree = vt.Tree("joints")
    a = tree.world.add(vt.rx("rx", damping=0.1, effort=2.0, lower=-1, upper=2), vt.tz(-0.5), vt.body("a", 1.0, (1, 1,
        1)))
    a.add(vt.tz("tz", friction=0.1), vt.body("b", 1.0, (0.3, 0.4, 0.5)), vt.ball("ball"), vt.tx(0.3),
          vt.body("c", 0.5, (0.1, 0.1, 0.1)))  # fmt: skip
    a.add(vt.ty(0.4), vt.helical("screw", (0, 1, 0), 0.2), vt.body("d", 1.0, (0.2, 0.3, 0.4)), *vt.universal("cross"),
          vt.body("e", 1.0, (0.2, 0.3, 0.4)))  # fmt: skip
    tree.world.add(vt.tx(1.0), vt.free("free"), vt.body("f", 2.0, (0.5, 0.6, 0.7)), vt.frame("tip"),
        *vt.planar("plane"),
                   vt.body("g", 1.0, (0.2, 0.2, 0.3)))  # fmt: skip
    tree.load(vt.Spring("world", "f", 5.0, 0.2), vt.Damper("a", "d", 0.3), vt.Attraction("a", "f", constant=0.1),
              vt.Wrench("f", ("turn", 0, 0), (0, "push", 1), axes="local"), vt.JointForce("rx", "drive"),
              vt.JointSpring("tz", 4.0), vt.NonlinearSpring("rx", (-1.0, 0.0, 1.0), (1.0, 0.0, -1.0)),
              vt.Gravity(("a", "b"), (0, 1, 0)))  # fmt: skip
    return tree


def chain(n=2, *more, **limits):
    """A tree of links in a row, in the plane."""
    tree = vt.Tree("chain")
    at = tree.world
    for k in range(n):
        at = at.add(vt.rx(f"j{k}", **limits), vt.tz(-1.0), vt.body(f"b{k}", 1.0, (0.1, 0.1, 0.1)))
    tree.constrain(*(x for x in more if not isinstance(x, vt.Potential | vt.Force)))
    tree.load(*(x for x in more if isinstance(x, vt.Potential | vt.Force)))
    return tree


def moved():
    """A tree with a prescribed coordinate and a string of that length."""
    tree = vt.Tree("moved")
    cart = tree.world.add(vt.tx("cart", kinematic=True), vt.body("cart", 1.0))
    cart.add(vt.ry("swing"), vt.tz(-1.0), vt.body("bob", 1.0))
    return tree


def held():
    """A tree with a constraint of every kind, some that depend on each other."""
    tree = chain(4, vt.Distance("world", "b2", 2.5), vt.gear("j0", "j3", -0.5),
                 vt.PointConstraint("b3", "world", (0, 1, 0), offset=0.1), vt.AxisConstraint("b0", "b1", (0, 1, 0), (0,
                     0, 1)),
                 vt.Cam("j1", "j2", (-2.0, 0.0, 2.0), (-0.1, 0.0, 0.1)))  # fmt: skip
    return tree


TREES = {"joints": joints, "chain": chain, "held": held, "moved": moved, "empty": lambda: vt.Tree("empty"),
         "loop": lambda: chain(3, vt.Distance("world", "b2", 2.5)),
         "weld": lambda: chain(3, vt.weld("b2", "world")), "own": lambda: chain(2, Own(), Hill()),
         "own line": lambda: chain(2, Line()), "geared": lambda: chain(3, vt.gear("j0", "j2", 2.0))}  # fmt: skip


@cache
def systems():
    """Systems of every kind, by name."""
    found = {name: make().compile() for name, make in TREES.items() if name != "empty"}
    found["reduced"] = found["geared"].reduced()
    found["euler"] = found["joints"].euler()
    found["reduced euler"] = found["geared"].reduced().euler()
    found["robot"] = vt.load_urdf(vt.find_robot("arm6"))
    found |= {"car": vehicles.car(), "snakeboard": vehicles.snakeboard(), "helicopter": vehicles.helicopter(),
              "boat": vehicles.boat(), "sleigh": Sleigh("sleigh"),
              "rigid": vehicles.RigidVehicle((1.0, 2.0, 3.0), (1.0, 1.0, 1.0), mass=1.0)}  # fmt: skip
    return found


@cache
def runs():
    """Trajectories of some of them."""
    found = []
    for name in ("chain", "joints", "loop", "car", "helicopter", "reduced"):
        system = systems()[name]
        q0 = vt.satisfy_constraints(system, [0.3, 0.4, 0.5]) if name == "loop" else None
        v0 = 0.1 * np.ones(system.nv) if name in ("chain", "joints") else None
        found.append(vt.simulate(system, q0, v0, duration=0.05, dt=0.01, monitors="energy" if name == "chain" else ()))
    return (*found, found[0][::2], found[0][:0])


@cache
def comparisons():
    """Comparisons of methods."""
    chain = systems()["chain"]
    one = vt.compare(chain, ["rk4", "linear-time"], [0.1, 0.2], duration=0.04, dt=[0.01, 0.02])
    return one, vt.compare(systems()["car"], ["lie"], np.zeros(5), duration=0.02, dt=0.01, reference=False)


@cache
def sweeps():
    """Tables of many runs."""
    rows = [{"x": 1, "word": "a"}, {"x": 2, "word": "b"}]
    return (
        vt.sweep("pendulum", {"dt": [0.01, 0.02], "seed": [0, 1]}, duration=0.02, backend="threads", workers=1),
        vt.sweep(lambda x, word: {"y": x / 3, "of": word}, rows, backend="threads", workers=1),
    )


@cache
def problems():
    """Problems of optimal control, and a plan."""
    car = control.CarDynamics(mass=10, inertia=1.5, wheel_inertia=0.05, wheelbase=0.8, wheel_radius=0.1)
    tilt = control.PathConstraint("tilt", lambda t, q, v, u: q[..., 0], lower=-9.0)
    one = control.ControlProblem(car, steps=3, duration=(1.0, 4.0), start=(np.zeros(5), [1.0]),
                                 goal=([np.nan, 0, 0, 1.0, 0.1], [np.nan]), path_constraints=[tilt],
                                 obstacles=[control.CylinderObstacle((0.5, 2.0), 0.3)])  # fmt: skip
    raft = control.RigidDynamics(lie.SE2, np.eye(3), lambda t, g, xi, u: u, ("turn", "push", "side"))
    return one, control.ControlProblem(raft, steps=2, duration=1.0, start=np.zeros(3), goal=[0.1, 0.2, 0.0])


def integrator(case: Case):
    """An integrator of a system, begun at a state or not."""
    system = case.pick(*systems().values()).full
    name = case.pick(*system.methods)
    made = system.methods[name](system, 0.01)
    if case.rng.random() < 0.7:
        q, x = system.neutral(), system.zero_velocity()
        with np.errstate(all="ignore"):
            made.plan(q, 5, lambda: 0.01 * np.arange(6))
        made.start(0.0, q, x)
    return made


def owners(kind: type, case: Case):
    """An object of a class, for its methods."""
    if issubclass(kind, vt.Integrator):
        return integrator(case)
    if kind is vt.Tree:
        return case.pick(*TREES.values())()
    if kind is vt.Frame:
        return case.pick(*(at for _, at in case.pick(*TREES.values())().world.walk()))
    if kind is vt.Comparison:
        return case.pick(*comparisons())
    if kind is vt.Sweep:
        return case.pick(*sweeps())
    if kind is vt.Trajectory:
        return case.pick(*runs())
    if kind is lie.Group:
        return case.pick(lie.SO3, lie.SE2, lie.SE3)
    if kind is lie.Map:
        return case.pick(*case.pick(lie.SO3, lie.SE2, lie.SE3).maps.values())
    if kind is control.ControlProblem:
        return case.pick(*problems())
    if issubclass(kind, control.Dynamics):
        return case.pick(*(p.vehicle for p in problems()))
    if kind is control.Plan:
        return plan(case)
    if kind is vt.Report:
        return systems()["robot"].report
    if issubclass(kind, Sensor):
        case.drawn["(run)"] = case.pick(*(run for run in runs() if isinstance(run.system, vt.Model)))
        more = {"rate": case.pick(None, 3.0, 250.0), "noise": case.pick(0.0, 0.1), "delay": case.pick(0.0, 0.01)}
        place = {vt.Imu: (frame_name,), vt.ForceTorque: (joint_name,), vt.ContactSensor: (frame_name,)}.get(kind, ())
        return kind(*(draw(case) for draw in place), **more)
    if issubclass(kind, vt.CallableError):
        return kind("x", time=case.pick(None, 0.5))
    if issubclass(kind, Exception):
        return vt.ConvergenceError("x", time=0.0, residual=1.0, iterations=2)
    found = [x for x in systems().values() if isinstance(x, kind)]
    for tree in (joints(), held()):
        found += [x for x in (*tree.loads, *tree.constraints) if isinstance(x, kind)]
    found += [x for x in (Own(), Hill(), Line()) if isinstance(x, kind)]
    found += [x for x in (*systems()["robot"].joints, *systems()["robot"].geometry) if isinstance(x, kind)]
    return case.pick(*found) if found else _made(kind, case)


def _made(kind: type, case: Case):
    """An object made of valid arguments, such as an obstacle."""
    given = {}
    for each in inspect.signature(kind).parameters.values():
        if each.default is each.empty and each.kind is not each.VAR_KEYWORD:
            given[each.name] = valid(case, each)
    if kind is control.CylinderObstacle:
        given["centre"] = given["centre"][:2]
    return kind(**given, **(VEHICLE if issubclass(kind, control.CarDynamics) else {}))


def plan(case: Case):
    """A plan of optimal control."""
    problem = case.pick(*problems())
    return problem.trajectory(problem.x0)


# ---- valid arguments -----------------------------------------------------------------------------------

URDF = """<robot name="r"><link name="a"><inertial><mass value="1"/><inertia ixx="1" iyy="1" izz="1" ixy="0" ixz="0"
iyz="0"/></inertial></link><link name="b"><inertial><mass value="1"/><inertia ixx="1" iyy="1" izz="1" ixy="0" ixz="0"
iyz="0"/></inertial></link><joint name="j" type="{}"><parent link="a"/><child link="b"/><axis xyz="0 0 1"/>
<limit lower="-1" upper="1" effort="1" velocity="1"/></joint></robot>"""
SEXPR = '(mechanism "m" (rx "j" (tz -1 (body "b" 1))))'


def configuration(case: Case):
    """A configuration of the system, not always one that its constraints allow."""
    system = case.system
    if case.rng.random() < 0.3:
        return system.neutral()
    return system.integrate(system.neutral(), np.clip(case.normal(system.nv), -3, 3))


def torque(case: Case):
    """Joint forces: numbers, or a callable."""
    n = case.system.nv
    return case.pick(None, case.normal(n), lambda t, q, v: -0.1 * v, lambda t, q, v: np.full(n, np.sin(t)))


def inputs(case: Case):
    """Inputs of loads."""
    names = case.system.input_names
    n = len(names)
    return case.pick(None, np.zeros(n), case.normal(n), np.zeros((25, n)), lambda t, q, v: np.zeros(n),
                     {name: case.pick(1.0, lambda t: 0.1 * t) for name in names[:1]})  # fmt: skip


def prescribed(case: Case):
    """The motion of prescribed coordinates."""
    names = case.system.prescribed_joint_names
    return {name: case.pick(lambda t: 0.1 * t, lambda t: (0.1 * t, 0.1, 0.0), np.zeros(30)) for name in names} or None


def control_of(case: Case):
    """What drives a run: joint torques, or a Control; of one step its numbers alone."""
    n, names = case.system.nv, case.system.input_names
    if case.target.endswith((".step", "vt.linearize", ".linearize", ".gradient", ".variation")):
        return case.pick(None, case.normal(n), vt.Control(torque=case.normal(n), inputs=np.zeros(len(names))))
    if case.target == "vt.rollout":
        return case.pick(None, case.normal(n), case.normal(3, n), lambda t, q, v: -0.1 * v)
    moved = prescribed(case)
    given = vt.Control(torque=torque(case), inputs=inputs(case), prescribed=moved)
    return case.pick(given, given if moved else torque(case), given if moved else case.normal(25, n))


def wrenches(case: Case):
    """Wrenches on a frame, over the run or a part of it, and impulses."""
    frame = frame_name(case)
    whole = vt.ExternalWrench(frame, case.normal(3), case.normal(3), axes=case.pick("world", "local", "spatial"))
    return case.pick((), [whole], [vt.ExternalWrench(frame, case.normal(3), start=0.002, end=0.008)],
                     [whole, vt.Impulse(frame, case.normal(3), at=0.005)])  # fmt: skip


def frame_name(case: Case):
    """The name of a frame or joint."""
    names = getattr(case.system, "frame_names", ()) or ("body",)
    return case.pick(*names, "world")


def joint_name(case: Case):
    """The name of a joint."""
    return case.pick(*case.system.joint_names)


def text_of_robot(case: Case):
    """A robot file: its text, its place, or its bytes."""
    kind = case.pick("revolute", "continuous", "prismatic", "planar", "floating", "fixed")
    path = case.folder / "robot.urdf"
    path.write_text(URDF.format(kind))
    return case.pick(str(path), path, URDF.format(kind).encode(), "double_pendulum", vt.find_robot("pendulum"))


def sexpr(case: Case):
    """A file of a mechanism, or its text."""
    path = case.folder / "tree.sexpr"
    path.write_text(vt.write_sexpr(chain()))
    return case.pick(path, str(path), vt.write_sexpr(joints()), SEXPR)


def path(case: Case):
    """A place to write to or read from."""
    run = case.folder / "run.npz"
    if not run.exists():
        runs()[0].save(run)
    if case.target.endswith(".load"):
        return case.pick(run, str(run))
    ends = {"to_csv": "csv", "to_netcdf": "nc", "to_mcap": "mcap", "write_urdf": "urdf"}
    end = ends.get(case.target.split(".")[-1], "npz" if "save" in case.target and "plot" not in case.target else "png")
    return case.pick(case.folder / f"out.{end}", str(case.folder / f"out.{end}"))


def records(case: Case):
    """Records for an integrator to fill."""
    system, n = case.system, case.pick(1, 3, 12)
    m = len(system.constraints)
    return Records(np.zeros(n), np.zeros((n, system.nq)), np.zeros((n, system.nv)), np.zeros(n, np.intc), np.zeros(n),
                   np.zeros((n, m)))  # fmt: skip


def methods(case: Case):
    """Methods to compare."""
    names = list(case.system.methods)
    return case.pick([case.pick(*names)], {"mine": {"method": case.pick(*names)}}, [names[0], (names[-1], {})])


def options(case: Case):
    """Some options of the method that was drawn."""
    system = case.system
    name = case.drawn.get("method")
    kind = system.methods.get(name) if isinstance(name, str) else None
    names = list((kind or next(iter(system.methods.values()))).options)
    values = {
        "solver": ("auto", "recursive-newton", "newton", "modified-newton", "broyden", "riqn"), "order": (2, 4, 6, 8),
        "guess": ("auto", "current", "euler", "semi-implicit", "aba", "extrapolate", "extrapolate-3"),
        "max_halvings": (0, 1, 3), "tolerance": (1e-9, 1e-12), "max_iterations": (1, 5, 30), "rate": (1.0, 10.0),
        "adapt": ("density", "sundman"), "density": (1.0, 10.0), "alpha": (0.0, 0.5, 1.0), "inertia": (1.0,),
        "residual": ("recursive", "tree"), "caching": (True, False), "energy": (1.0, 100.0), "rtol": (1e-6,),
        "atol": (1e-8,), "max_step": (0.01,), "map": ("exp", "cayley", "dual-cayley"), "tangent": ("exp", "cayley"),
    }  # fmt: skip
    return {k: case.pick(*values.get(k, (1.0,))) for k in case.rng.sample(names, min(len(names), case.pick(0, 0, 1,
        2)))}


LIMITS = {"damping": 0.1, "friction": 0.2, "friction_velocity": 0.1, "armature": 0.3, "lower": -1.0, "upper": 1.0,
          "limit_restitution": 0.5, "velocity": 2.0, "effort": 3.0, "kinematic": True, "mimic": None}  # fmt: skip
VEHICLE = {"mass": 10.0, "inertia": 1.5, "wheel_inertia": 0.05, "wheelbase": 0.8, "wheel_radius": 0.1,
           "rolling_resistance": 0.0, "max_steering": 0.65}  # fmt: skip


def more(case: Case):
    """Keywords beyond those that a signature lists."""
    name = case.target
    if name.split(".")[-1] in ("simulate", "Integrator", "replay"):
        return options(case)
    if name == "vt.sweep":
        return {"duration": 0.02} if isinstance(case.drawn.get("what"), str | list | System) else {}
    if name.startswith(("vt.", "pairs.")):
        known = {"base": "fixed", "mimic": "reduced", "loops": "error"} if "urdf" in name else LIMITS
        return {k: known[k] for k in case.rng.sample(list(known), case.pick(0, 0, 1, 2))}
    if "Car" in name:
        return dict(VEHICLE)
    return {"dt": 0.01} if name.startswith("plot.") and case.rng.random() < 0.2 else {}


def vector(n, scale=1.0):
    """Draws an array of n numbers."""
    return lambda case: scale * case.normal(n)


def one_of(*choices):
    """Draws one of the choices."""
    return lambda case: case.pick(*choices)


def speed(case: Case):
    """A velocity, momentum or force of the system."""
    return case.normal(case.system.nv)


NAMES = {
    "q": configuration, "q0": configuration, "q1": configuration, "v": speed, "v0": speed, "p": speed,
    "p0": one_of(None),
    "dq": speed, "tau": speed, "a": speed, "x": speed, "f": speed, "torque": torque, "inputs": inputs,
    "prescribed": prescribed, "t": one_of(0.0, 0.01, 1.0), "t0": one_of(0.0, -1.0, 3.5), "dt": one_of(0.01, 0.001),
    "duration": one_of(0.01, 0.05), "method": lambda case: case.pick(None, *case.system.methods), "methods": methods,
    "record_every": one_of(1, 2), "effort_limits": one_of(False, True), "control": control_of, "wrenches": wrenches,
    "progress": one_of(None, lambda *x: None),
    "monitors": one_of((), "energy", ("energy", "certificate"), ("momentum",)), "resume": one_of(None),
    "reference": one_of(None, False, "rk8"), "reference_tolerance": one_of(1e-8), "repeats": one_of(1),
    "model": lambda case: case.system, "vehicle": lambda case: case.system, "system": lambda case: case.system,
    "native": lambda case: case.pick(systems()["joints"], systems()["held"]), "full": lambda case: systems()["geared"],
    "flat": lambda case: case.pick(joints, chain, held, moved)().flatten(), "rng": lambda case: case.numpy,
    "hold": lambda case: case.pick((), (joint_name(case),)), "tolerance": one_of(1e-8), "max_iterations": one_of(3, 30),
    "axes": one_of("world", "local", "spatial"), "name": lambda case: case.pick("name", frame_name(case),
    joint_name(case)),
    "rates": lambda case: None, "source": text_of_robot, "path": path,
    "tree": lambda case: case.pick(*TREES.values())(),
    "b": frame_name, "joint": joint_name, "frame": frame_name, "links": lambda case: (frame_name(case),),
    "follower": joint_name, "driver": joint_name, "slide": joint_name, "turn": joint_name,
    "length": one_of(1.0, "j0"), "stiffness": one_of(1.0, 10.0), "coefficient": one_of(0.5), "constant": one_of(1.0),
    "mass_a": one_of(None, 1.0), "mass_b": one_of(None, 1.0), "axis": vector(3), "axis_a": vector(3),
    "axis_b": vector(3),
    "factors": lambda case: {joint_name(case): 1.0, "j1": -2.0}, "value": one_of("name", 0.3), "ratio": one_of(2.0,
    -1.0),
    "pitch": one_of(0.1), "positions": lambda case: np.linspace(-1, 1, 5), "profile": lambda case: case.pick(
        np.linspace(-0.1, 0.1, 5), lambda x: 0.1 * x), "force": lambda case: case.pick(0.5, "drive", np.linspace(1, -1,
            5)),
    "acceleration": vector(3), "gravity": vector(3, 3.0), "normal": one_of((0.0, 0.6, 0.8), [1, 0, 0]),
    "point": vector(3), "xyz": vector(3),
    "rpy": vector(3), "rotation": one_of(None, np.eye(3)), "com": vector(3), "mass": one_of(1.0, 2.0),
    "inertia": one_of(None, (1.0, 1.0, 1.0), np.eye(3)), "geometry": one_of(()), "twist": one_of(None),
    "directions": one_of(3, 2, [(1, 0, 0)]), "kind": one_of("revolute", "prismatic", "fixed", "ball", "planar"),
    "elements": lambda case: case.pick((vt.rx("new"), vt.body("new", 1.0)), (vt.universal("new"),), (vt.tx(0.1),)),
    "loads": lambda case: (vt.Spring("world", frame_name(case), 1.0),),
    "constraints": lambda case: case.pick((vt.weld("b0", "b1"),), tuple(held().constraints)),
    "what": one_of("energy", "coordinates", "momentum", "phase", "residual", "x"), "axes_": one_of(None),
    "written": lambda case: case.pick(Own(), Hill(), Line()), "u": lambda case: None,
    "base": one_of("fixed", "free"), "mimic": one_of("reduced", "independent"), "loops": one_of("error", "ignore"),
    "root": one_of(None), "density": one_of(1000.0), "packages": one_of(None), "xacro": one_of(None),
    "max_bytes": one_of(2**20), "velocity_limits": one_of("report", "enforce", "hold"), "trust": one_of(False),
    "lossy": one_of(False, True),
    "periodic": one_of(False), "cosine": one_of(0.0, 0.5), "facing": one_of(None, (1, 0, 0)), "offset": one_of(0.0,
    0.1),
    "trajectory": lambda case: case.drawn.get("(run)") or case.pick(*runs()), "seed": one_of(0, 5),
    "multipliers": lambda case: case.normal(len(case.system.constraints)),
    "records": records, "spans": lambda case: np.full(5, 0.01), "ends": lambda case: 0.01 * np.arange(6),
    "checkpoint": lambda case: case.pick(*runs()).checkpoint.tobytes(), "index": one_of(0, -1, slice(0, 2), [0]),
    "size": one_of((0.1, 0.2, 0.3)), "position": vector(3), "text": one_of("text"), "id": one_of("x"),
    "severity": one_of("error", "warning"), "severities": one_of("warning"), "choices": one_of(None, ["a"]),
    "method_": one_of("scipy"), "map": one_of("exp", "cayley"), "problem": lambda case: case.pick(*problems()),
    "plan": plan, "centre": one_of((0.1, 0.2, 0.3)), "radius": one_of(0.5), "lower": one_of((-1, -1, -1)),
    "upper": one_of((1, 1, 1)),
    "function": one_of(lambda t, q, v, u: q[..., 0]), "rate": one_of(lambda t, q, v, u: q[..., 0]),
    "weight": one_of(1.0),
    "group": one_of(lie.SE3, lie.SE2), "figure": lambda case: figure(), "per": one_of("second", "step"),
    "h": one_of(0.01),
    "of": one_of("q", "v"), "against": one_of("v", "p"), "names": one_of(None, "j0"), "parts": one_of({}),
    "input_names": one_of(("x",)), "controls": one_of(None, {"push": (0, 0, 0, 1, 0, 0)}), "force_slope": one_of(None),
    "rotational": one_of((1.0, 2.0, 3.0)), "translational": one_of((1.0, 1.0, 1.0)), "drag": one_of(0.1, np.ones(6)),
}  # fmt: skip


def _of_shape(case: Case, scale=1.0):
    """A vector of the shape and the body of a vehicle that rolls."""
    return scale * case.normal(case.owner.nv)


def _checkpoint(case: Case):
    """The state of the integrator, if it has begun."""
    return case.owner.checkpoint() if hasattr(case.owner, "stepper") and hasattr(case.owner, "_steps") else b""


def _wrench(t, g, xi, u):
    """A force on a vehicle in space."""
    return -0.1 * xi


SENSORS = ("Imu", "ForceTorque", "ContactSensor", "Encoder")
#: Arguments that mean something else than their names do elsewhere, by target and name.
def phases(case: Case):
    """Phases of contact that hold any frames, or none of them."""
    held = lambda: [frame_name(case) for _ in range(case.pick(0, 1, 2))]  # noqa: E731
    both = [held() for _ in range(case.pick(1, 2))]
    return case.pick(None, [control.ContactPhase(2, x, case.pick((), x)) for x in both])


SPECIAL = {
    **{f"control.{name}.{argument}": x for name in ("optimize_motion", "Search") for argument, x in {
        "costs": lambda case: control.QuadraticCost(R=1.0), "phases": phases, "duration": one_of(None, 0.002, 0.02),
        "method": one_of("linear-time", "midpoint"), "search": one_of("ddp", "fddp"), "dt": one_of(0.01, 0.001),
    }.items()},
    **{f"vt.{kind}.{name}": one_of(0.0, 0.1) for kind in SENSORS for name in ("delay", "bias", "noise")},
    **{f"{kind}.read.model": one_of(None) for kind in SENSORS},
    "vt.Imu.bias": one_of(0.1, (0.1, 0.2), np.ones(6)), "vt.Encoder.resolution": one_of(None, 0.01),
    "vt.Encoder.joints": lambda case: case.pick(None, [joint_name(case)]), "vt.ForceTorque.frame": one_of(None, "b0"),
    "ReducedModel.contract.q": lambda case: case.normal(case.owner.full.nq),
    "ReducedModel.contract_velocity.v": lambda case: case.normal(case.owner.full.nv),
    "ReducedModel.contract_force.f": lambda case: case.normal(case.owner.full.nv),
    "ReducedModel.contract_force.axes": one_of(1), "EulerModel.from_native.q": lambda case: case.owner.native.neutral(),
    "EulerModel.from_native.v": lambda case: case.normal(case.owner.native.nv),
    "vt.find_robot.name": one_of("pendulum", "arm6"), "vt.load_urdf.inertia": one_of("warn", "strict", "repair"),
    "vt.fix_urdf.inertia": one_of("repair", "geometry"), "control.CarDynamics.inertia": one_of(1.5),
    "control.CylinderObstacle.centre": one_of((0.1, 0.2)), "control.RigidDynamics.group": one_of(lie.SE3),
    "control.RigidDynamics.inertia": one_of(np.eye(6)), "control.RigidDynamics.force": one_of(_wrench),
    "control.RigidDynamics.inputs": one_of(("a", "b"), {"a": (-1, 1)}), "control.RigidDynamics.trim": one_of(None),
    "Plan.__getitem__.name": lambda case: case.pick(*case.owner.q_names, *case.owner.v_names, *case.owner.input_names),
    "control.dynamics_of.vehicle": lambda case: systems()[case.pick("car", "helicopter", "rigid")],
    "control.replay.vehicle": lambda case: systems()["car"], "plot.line_style.index": one_of(0, 3, 50),
    "control.replay.plan": lambda case: problems()[0].trajectory(problems()[0].x0),
    "lie.matrix_from_pose.q": lambda case: np.array([*case.normal(3), 0.0, 0.6, 0.0, 0.8]),
    "lie.pose_from_matrix.g": lambda case: lie.SE3.random(case.numpy, case.pick((), (2,))),
    **{f"plot.{name}.source": lambda case: case.pick(*comparisons()) for name in (
        "error", "order", "work_precision", "comparison")}, "plot.phase.name": one_of(None, "j0"),
    **{f"{kind}.{name}.{of}": _of_shape for kind in ("Car", "Snakeboard", "NonholonomicVehicle") for name in (
        "reduced", "require_allowed") for of in ("w", "v")},
    **{f"{kind}.velocity.rates": one_of((), {}) for kind in ("Car", "Snakeboard", "NonholonomicVehicle")},
    **{f"{kind}.__call__.p": lambda case: case.normal(*case.pick((3,), (2, 3))) for kind in (
        "Sphere", "Box", "Cylinder", "HalfSpace")},
    **{f"vehicles.{kind}.{name}": one_of(None, _wrench) for kind in ("RigidVehicle", "boat", "helicopter") for name in (
        "force",)}, "Integrator.run.steps": one_of(1, 3, 5),
    "Integrator.resume.checkpoint": _checkpoint,
    "vt.sweep.what": lambda case: case.pick("pendulum", case.system, [case.system, "arm6"], lambda dt, rng: {"y": dt}),
    "vt.sweep.over": lambda case: case.pick({"dt": [0.01, 0.005]}, {"dt": (0.01,), "seed": range(2)}, [{"dt": 0.01}]),
    "vt.sweep.backend": one_of("threads"), "vt.sweep.workers": one_of(1, 2), "vt.sweep.timings": one_of(False, True),
    "vt.sweep.folder": lambda case: case.folder / f"rows-{case.rng.getrandbits(32)}",
    "vt.Sweep.names": one_of(("x", "status", "reason", "y")), "vt.Sweep.axes": one_of(None, {"x": [1]}),
    "vt.Sweep.table": one_of([{"x": 1, "status": "ok", "reason": None, "y": 0.5}]),
    "vt.Sweep.units": one_of({"y": "m"}), "vt.Sweep.settings": one_of({}), "vt.Sweep.notes": one_of(()),
    "Sweep.column.name": one_of("status", "reason"),
    "Sweep.save.path": lambda case: case.folder / case.pick("table.csv", "table.nc", "table.json"),
    **{f"{kind}.velocities.q": lambda case: 0.1 * case.normal(4, len(case.owner.q_names)) for kind in (
        "CarDynamics", "RigidDynamics", "Dynamics")},
}  # fmt: skip


def figure():
    """An empty picture."""
    from matplotlib.figure import Figure

    return Figure()


def _of_group(case: Case, name: str):
    """An argument of a method of a group or of its maps."""
    group = getattr(case.owner, "group", case.owner)
    lead = case.pick((), (), (2,), (2, 3), (0,))
    n = group.dim
    if name in ("g",):
        return group.random(case.numpy, lead)
    if name == "X":
        return group.hat(case.normal(*lead, n))
    return {"x": case.normal(*lead, n), "mu": case.normal(*lead, n), "shape": lead, "rng": case.numpy}.get(name, "what")


def valid(case: Case, parameter: inspect.Parameter):
    """Return a value that is meant for a parameter, as far as its name tells."""
    name, last = parameter.name, case.target.split(".")[-1]
    owner = case.owner
    if f"{case.target}.{name}" in SPECIAL:
        return SPECIAL[f"{case.target}.{name}"](case)
    if isinstance(owner, lie.Group | lie.Map):
        return _of_group(case, name)
    if isinstance(owner, control.ControlProblem):
        count = owner.constraint_bounds.shape[1]
        return {"x": owner.x0 + 0.1 * case.normal(len(owner.x0)), "multipliers": case.normal(count)}.get(name, 1.0)
    if isinstance(owner, control.Dynamics):
        sizes = {"q": owner.q_names, "first": owner.q_names, "last": owner.q_names, "goal": owner.q_names,
                 "u": owner.input_names}  # fmt: skip
        n = len(sizes.get(name, owner.v_names))
        known = {"h": np.array(0.1), "t": np.array(0.0), "s": np.linspace(0, 1, 4), "what": "q"}
        return known.get(name, case.normal(n))
    if isinstance(owner, vehicles.Vehicle) and name in ("r", "g", "xi", "u", "inputs"):
        poses = getattr(owner, "pose", None)
        sizes = {"r": len(getattr(owner, "shape_names", ())), "u": len(getattr(owner, "shape_names", ())), "xi": 6,
                 "inputs": len(owner.input_names)}  # fmt: skip
        if hasattr(poses, "dim"):
            sizes["xi"] = poses.dim
        return np.eye(4 if sizes["xi"] == 6 else 3) if name == "g" else case.normal(sizes[name])
    if case.target == "vt.Trajectory":
        return getattr(case.drawn.setdefault("(run)", case.pick(*runs())), name)
    if case.target == "vt.Comparison":
        return getattr(case.drawn.setdefault("(comparison)", case.pick(*comparisons())), name)
    if case.target in ("control.Plan", "control.TranscriptionSolution") and name != "method":
        return getattr(case.drawn.setdefault("(plan)", plan(case)), name, 1.0)
    if case.target == "control.ControlProblem":
        problem = case.drawn.setdefault("(problem)", problems()[0])
        return {"vehicle": problem.vehicle, "steps": 3, "duration": (1.0, 2.0), "dt": None,
                "start": (np.zeros(5), [1.0]), "goal": [np.nan, 0, 0, 1.0, 0.1],
                "cost": case.pick("effort", "time", control.TimeCost(2.0)),
                "bounds": case.pick(None, {"torque": (-1, 1)}), "guess": None,
                "obstacles": case.pick((), [control.SphereObstacle((0, 2, 0), 0.1)]), "radius": 0.0, "points": None,
                "path_constraints": ()}.get(name)  # fmt: skip
    if case.target.startswith("plot.") and name in ("source", "axes"):
        return case.pick(*runs(), *comparisons()) if name == "source" else None
    if last in ("load_sexpr", "read_sexpr"):
        return sexpr(case)
    if last == "solve" and name == "method":
        return "scipy"
    if last in ("run", "plan", "vary") and name == "steps":
        return case.pick(1, 3, 5)
    if last == "independent_constraints" or last in ("satisfy_constraints", "minimize_potential_energy"):
        if name == "model":
            return case.pick(*(x for x in systems().values() if isinstance(x, vt.Model)))
    if name == "a" and isinstance(parameter.annotation, str) and "str" in parameter.annotation:
        return frame_name(case)
    if name == "x" and case.target.startswith("lie."):
        return case.normal(3)
    if name in NAMES:
        return NAMES[name](case)
    if parameter.default is not parameter.empty and case.rng.random() < 0.9:
        return parameter.default
    return VEHICLE.get(name, 1.0)


# ---- everything else -------------------------------------------------------------------------------------


def strided(x):
    """The same numbers, not side by side."""
    wide = np.zeros((*x.shape, 2), x.dtype)
    wide[..., 0] = x
    return wide[..., 0]


def read_only(x):
    """The same numbers, which cannot be written."""
    x = x.copy()
    x.setflags(write=False)
    return x


def unaligned(x):
    """The same numbers, at an odd address."""
    raw = np.zeros(x.nbytes + 1, np.uint8)
    found = raw[1:].view(x.dtype).reshape(x.shape) if x.size else x.copy()
    found[...] = x
    return found


def with_entry(entry):
    """An array with one entry that is another one."""

    def changed(x, case):
        if x.size:
            x.flat[case.rng.randrange(x.size)] = entry
        return x

    return changed


#: Arrays of every kind, made of one of numbers.
ARRAYS = {
    **{f"with {e}": with_entry(e) for e in (np.nan, np.inf, -np.inf, 1e308, -1e308, 1e200, 1e100, 1e17, -0.0, 1e-320,
    7.0)},
    **{str(t): (lambda x, case, t=t: x.astype(t)) for t in (
        "f4", "f2", "g", ">f8", "i8", "i1", "u8", "?", "c16", "O", "S9", "U9", "M8[s]", "m8[s]")},
    "fields": lambda x, case: np.zeros(x.shape, [("a", float), ("b", "i4")]),
    "masked": lambda x, case: np.ma.array(x, mask=np.zeros(x.shape, bool)),
    "matrix": lambda x, case: np.asmatrix(x) if x.ndim <= 2 else x, "strided": lambda x, case: strided(x),
    "read-only": lambda x, case: read_only(x), "Fortran": lambda x, case: np.asfortranarray(x),
    "reversed": lambda x, case: x[::-1] if x.ndim else x, "unaligned": lambda x, case: unaligned(x),
    "list": lambda x, case: x.tolist(), "tuple": lambda x, case: tuple(x.tolist()) if x.ndim else x.tolist(),
    "memoryview": lambda x, case: memoryview(np.ascontiguousarray(x)), "foreign": lambda x, case: Foreign(x),
    "array.array": lambda x, case: array.array("d", x.ravel()), "generator": lambda x, case: (y for y in x.ravel()),
    "fractions": lambda x, case: [Fraction(1, 3) for _ in x.ravel()], "iterator": lambda x,
    case: iter(x.ravel().tolist()),
    "scalars": lambda x, case: [np.float32(y) for y in x.ravel()], "bytes": lambda x, case: x.tobytes(),
    "short": lambda x, case: x[:-1] if x.ndim else x[None], "none": lambda x, case: np.zeros(0),
    "long": lambda x, case: np.append(x, 1.0), "row": lambda x, case: x[None], "column": lambda x, case: x[..., None],
    "turned": lambda x, case: x.T, "twice": lambda x, case: np.concatenate((x, x)) if x.ndim else x,
    "no axes": lambda x, case: np.array(x.flat[0]) if x.size else np.array(0.0), "number": lambda x, case: 0.5,
    "zeros": lambda x, case: np.zeros_like(x), "huge": lambda x, case: np.full_like(x, 1e154),
    "no rows": lambda x, case: np.zeros((0, *x.shape)), "no columns": lambda x, case: np.zeros((*x.shape, 0)),
    "ragged": lambda x, case: [x.tolist(), 1.0], "wide": lambda x, case: np.broadcast_to(x, (7, *x.shape)),
    "many axes": lambda x, case: x.reshape((1,) * 20 + x.shape),
}  # fmt: skip


def numbers_with_memory():
    """A callable that answers differently each time, until solvers that choose their steps would not end."""
    calls = []

    def answer(*given):
        calls.append(given)
        return np.full(np.size(given[-1]), float(min(len(calls), 20)))

    return answer


def changing(*given):
    """A callable that changes its arguments."""
    for x in given:
        if isinstance(x, np.ndarray) and x.flags.writeable:
            x[...] = np.nan
    return given[-1]


def raising(*given):
    """A callable that raises."""
    raise Mine("mine")


def yielding(*given):
    """A callable that returns a generator."""
    yield 1.0


#: Callables, most of them wrong.
CALLABLES = {
    "raising": lambda: raising, "changing": lambda: changing, "yielding": lambda: yielding,
    "memory": numbers_with_memory,
    **{f"answers {answer!r:.20}": (lambda answer=answer: lambda *given: answer) for answer in (
        None, "text", np.nan, 0.0, np.zeros(0), np.full(2, np.nan), np.zeros((2, 2)), [1.0, "a"], 1e308, 1j, [[]],
        np.ma.zeros(2), True, {}, np.zeros(6))},
    "its last": lambda: lambda *given: given[-1], "its last, squared": lambda: lambda *given: given[-1] ** 2,
    "no arguments": lambda: lambda: 0.0, "raises stop": lambda: lambda *given: next(iter(())), "class": lambda: int,
    "built in": lambda: len, "broken": lambda: Raises(), "warns": lambda: lambda *given: np.log(-np.ones(2)),
    "returns broken": lambda: lambda *given: Raises(),
}  # fmt: skip


def recursive():
    """A list that holds itself."""
    found: list = []
    found.append(found)
    return found


#: Things that nothing is meant to be.
JUNK = {
    **{repr(x)[:30]: (lambda case, x=x: x) for x in (
        None, True, False, 0, 1, -1, 3, 2**31, 2**63, 2**64, -(2**70), 10**400, 0.0, -0.0, 0.5, -1.5, 1e308, 1e-320,
            1e17,
        float("nan"), float("inf"), float("-inf"), 1j, "", "x", "nan", "1", "world", "q", "\x1b[31m\u202e\n", "\x00",
        "\ud800", "a" * 5000, "{a}", "%s", b"", b"x", Fraction(1, 3), Fraction(10**400, 3), decimal.Decimal("0.1"),
        decimal.Decimal("nan"), decimal.Decimal("snan"), np.float32(0.1), np.longdouble("0.1"), np.float16(0.1),
        np.int8(3), np.uint64(2**63),
        np.bool_(True), np.datetime64("2020"), np.str_("x"), np.longdouble("1e4000"), Ellipsis, NotImplemented, int,
        np.ndarray, range(3), slice(1, 2), frozenset(), ())},
    "object": lambda case: object(), "broken": lambda case: Raises(), "list": lambda case: [],
    "[[]]": lambda case: [[]],
    "[None]": lambda case: [None], "['a', 'b']": lambda case: ["a", "b"], "dict": lambda case: {},
    "{'a': 1}": lambda case: {"a": 1}, "{1: None}": lambda case: {1: None}, "set": lambda case: {0.1, 0.2},
    "{'j0': nan}": lambda case: {"j0": np.nan, "b0": [1.0]}, "recursive": lambda case: recursive(),
    "generator": lambda case: (x for x in (1.0, "a")), "folder": lambda case: case.folder, "module": lambda case: np,
    "no folder": lambda case: case.folder / "none" / "x.png", "system": lambda case: case.pick(*systems().values()),
    "run": lambda case: case.pick(*runs()), "comparison": lambda case: case.pick(*comparisons()),
    "tree": lambda case: chain(), "frame": lambda case: chain().world, "element": lambda case: vt.rx("y"),
    "constraints": lambda case: vt.weld("b0", "b1"), "load": lambda case: vt.Spring("b0", "b1", 1.0),
    "bad load": lambda case: vt.Spring("b0", None, "x"), "group": lambda case: lie.SE2,
    "Foreign": lambda case: Foreign("x"),
    "array": lambda case: case.normal(case.pick(0, 1, 2, 3, 6)), "matrix": lambda case: case.normal(3, 3),
    "texts": lambda case: np.array(["a", "b"]), "objects": lambda case: np.array([None, "a"], object),
    "problem": lambda case: case.pick(*problems()), "mixed": lambda case: [1.0, "a", None, np.zeros(2)],
    "error": lambda case: vt.InputError("x"), "nested": lambda case: [[1.0, 2.0], [3.0, [4.0]]],
    "names": lambda case: {"j0": raising, "cart": raising, "push": raising, "pull": "x"},
}  # fmt: skip


def changed(case: Case, value):
    """Return another value in the place of a valid one, and a word on it."""
    chance = case.rng.random()
    if (callable(value) and not isinstance(value, type) and chance < 0.8) or chance < 0.08:
        word = case.pick(*CALLABLES)
        return CALLABLES[word](), f"callable {word}"
    if isinstance(value, float | int | np.ndarray | list | tuple) and not isinstance(value, bool) and chance < 0.75:
        try:
            x = np.array(value, dtype=float)
            # NumPy's own product of matrices of complex numbers writes beyond its memory
            word = case.pick(*(x for x in ARRAYS if x != "matrix" or not isinstance(case.owner, control.Dynamics)))
            with np.errstate(all="ignore"):
                return ARRAYS[word](x, case), word
        except Exception:  # not numbers, or no array of that kind
            pass
    if isinstance(value, dict) and value and chance < 0.7:
        key = case.pick(*value)
        found, word = changed(case, value[key])
        return {**value, key: found}, f"{key}: {word}"
    if dataclasses.is_dataclass(value) and not isinstance(value, type | vt.Comparison) and chance < 0.8:
        name = case.pick(*(f.name for f in dataclasses.fields(value)))
        found, word = changed(case, getattr(value, name))
        try:
            return dataclasses.replace(value, **{name: found}), f".{name}: {word}"
        except Exception:  # the calls of the class itself are the place to judge that
            pass
    if isinstance(value, bytes) and value and chance < 0.8:
        raw = bytearray(value)
        for _ in range(case.pick(1, 3, 20)):
            raw[case.rng.randrange(len(raw))] = case.rng.randrange(256)
        return bytes(raw[: case.pick(len(raw), len(raw) // 2)]), "bytes changed"
    word = case.pick(*JUNK)
    return JUNK[word](case), word


# ---- pictures of arguments, to compare and to print -----------------------------------------------------------


def image(value, depth=0):
    """Return what must be the same after a call."""
    if depth > 4:
        return None
    if isinstance(value, np.ndarray):
        kind = value.dtype.hasobject
        return type(value), value.dtype.str, value.shape, value.strides, None if kind else value.tobytes()
    if isinstance(value, list | tuple):
        return type(value), tuple(image(x, depth + 1) for x in value)
    if isinstance(value, dict):
        return dict, tuple((id(k) if isinstance(k, Raises) else k, image(x, depth + 1)) for k, x in value.items())
    if isinstance(value, set | frozenset):
        return type(value), len(value)
    if isinstance(value, memoryview | array.array):
        return type(value), value.tobytes()
    if isinstance(value, Foreign):
        return Foreign, image(value.x, depth + 1)
    if isinstance(value, Records):
        return None  # written to, as it is meant
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        # by their fields, not by their attributes: those of a run are asked for when they are first read
        fields = dataclasses.fields(value)
        return type(value), tuple(image(getattr(value, each.name, None), depth + 1) for each in fields)
    return id(value)


def shown(value, depth=0):
    """Return a value in Python as far as it can be written."""
    if isinstance(value, np.ndarray) and type(value) is np.ndarray and value.size <= 64 and value.dtype.kind in "fiu?":
        return f"np.array({value.tolist()!r}, {value.dtype.str!r}).reshape{value.shape}"
    if isinstance(value, list | tuple) and depth < 3:
        ends = "[]" if isinstance(value, list) else "()"
        return ends[0] + "".join(f"{shown(x, depth + 1)}, " for x in value[:12]) + ends[1]
    if isinstance(value, dict) and depth < 3:
        return "{" + ", ".join(f"{shown(k)}: {shown(x, depth + 1)}" for k, x in value.items()) + "}"
    try:
        text = repr(value)
    except Exception:
        text = f"<{type(value).__name__}>"
    return text if len(text) <= 200 else f"<{type(value).__name__} {text[:60]!r} ...>"
