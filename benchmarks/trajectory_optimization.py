"""Trajectory optimisation by vt.control.optimize_motion: the time to the optimum, and what an iteration takes.

    python benchmarks/trajectory_optimization.py [--smoke] [--peer PYTHON]

A pole on a cart swings up in two seconds. An acrobot, a double pendulum with one motor at its elbow, does in four. A
Panda takes its hand to a pose in one (the package example-robot-data). A Go2 trots two steps, over phases of contact.
"us a step" is the time over the iterations and over the steps of the motion. trep 1.0.3 takes 7.6 s for a swing-up of a
pole on a cart of 1000 steps (recorded on another machine). The least of several runs counts.

With ``--peer`` the interpreter of an environment that has crocoddyl, which needs another Pinocchio than the one here:
the same problems by both, costs without velocities. A UR5 takes its flange to a point, a quadrotor with four rotors
flies to one, and a pole on a cart is kept upright by one iteration of its last motion (a receding horizon of 50 steps).
The trot is the same up to cones of friction and heights of feet, which are costs there, and impacts in nodes of their
own.
"""

from __future__ import annotations

import argparse
import json
import os
import pathlib
import re
import subprocess
import tempfile
import time
from collections.abc import Callable
from functools import partial

import numpy as np
import peers

import vitree as vt
from vitree.control import ContactPhase, FrameCost, MotionSolution, QuadraticCost, Search, optimize_motion

ROUNDS = 5
#: Robots of both programs: [m] where the rotors of the quadrotor are.
ARMS = [[0.2, 0.0, 0.0], [0.0, 0.2, 0.0], [-0.2, 0.0, 0.0], [0.0, -0.2, 0.0]]
INERTIAL = '<inertial><mass value="{}"/><inertia ixx="{}" iyy="{}" izz="{}" ixy="0" ixz="0" iyz="0"/></inertial>'
QUADROTOR = f'<robot name="quadrotor"><link name="hull">{INERTIAL.format(1.5, 0.029, 0.029, 0.055)}</link>' + "".join(
    f'<link name="rotor{k}"/><joint name="mount{k}" type="fixed"><parent link="hull"/><child link="rotor{k}"/>'
    f'<origin xyz="{arm[0]} {arm[1]} {arm[2]}"/></joint>' for k, arm in enumerate(ARMS)) + "</robot>"  # fmt: skip
CART_POLE = (
    f'<robot name="cart-pole"><link name="rail"/><link name="cart">{INERTIAL.format(1.0, 0.1, 0.1, 0.1)}</link>'
    '<link name="pole"><inertial><origin xyz="0 0 0.5"/><mass value="0.3"/><inertia ixx="0.01" iyy="0.01" izz="0.001" '
    'ixy="0" ixz="0" iyz="0"/></inertial></link><joint name="slide" type="prismatic"><parent link="rail"/><child '
    'link="cart"/><axis xyz="0 1 0"/><limit lower="-9" upper="9" effort="99" velocity="99"/></joint><joint name='
    '"swing" type="revolute"><parent link="cart"/><child link="pole"/><axis xyz="1 0 0"/><limit lower="-9" upper="9" '
    'effort="99" velocity="99"/></joint></robot>'
)


def cart_pole(steps: int) -> MotionSolution:
    tree = vt.Tree("cart-pole")
    cart = tree.world.add(vt.ty("slide"), vt.body("cart", 1.0, (0.1, 0.1, 0.1)))
    cart.add(vt.rx("swing"), vt.body("pole", 0.3, (0.01, 0.01, 0.001), com=(0, 0, 0.5)))
    dt = 2.0 / steps
    cost = QuadraticCost([0.0, 0.0], Q=0.01 * dt * np.array([1, 1, 0.1, 0.1]), R=[0.01 * dt], Q_end=[10, 10, 1, 1])
    return optimize_motion(tree.compile(), [0.0, np.pi], duration=2.0, dt=dt, costs=cost, actuators=["slide"])


def acrobot(steps: int) -> MotionSolution:
    model, dt = vt.load_urdf(vt.find_robot("double_pendulum")), 4.0 / steps
    weights = dt * np.array([0.1, 0.1, 0.01, 0.01])
    cost = QuadraticCost([np.pi, 0.0], Q=weights, R=[1e-3 * dt], Q_end=[100, 100, 10, 10])
    return optimize_motion(model, duration=4.0, dt=dt, costs=cost, actuators=["hinge2"], limits=20.0)


def panda(steps: int) -> MotionSolution:
    model, dt = vt.load_urdf(vt.find_robot("panda"), mimic="independent"), 1.0 / steps
    start = np.array([0.0, -0.6, 0.0, -2.2, 0.0, 1.6, 0.8, 0.02, 0.02])
    hand = "panda_hand_tcp"
    pose = model.frame_pose(hand, start)
    reach = FrameCost(hand, pose[:3, 3] + [-0.1, 0.3, -0.2], pose[:3, :3], weight=20 * dt, weight_end=1e4,
                  turn_weight=5 * dt, turn_weight_end=1e3)  # fmt: skip
    rest = QuadraticCost(Q=dt * np.r_[np.full(7, 0.1), 1e4, 1e4, np.full(9, 0.1)],
                         R=dt * np.r_[np.full(7, 1e-3), 0.1, 0.1], Q_end=np.repeat([0.0, 100.0], 9))  # fmt: skip
    return optimize_motion(model, start, duration=1.0, dt=dt, costs=[rest, reach], control=-model.passive_force(start))


def trot_problem() -> dict:
    """Two steps of a Go2 on diagonal pairs of its feet, in plain numbers."""
    model, dt = vt.load_urdf(vt.find_robot("go2"), base="free"), 0.01
    feet = ["FL_foot", "FR_foot", "RL_foot", "RR_foot"]
    start = model.neutral()
    start[7:] = (0.0, 0.8539, -1.7078) * 4
    start[2] = -model.frame_pose(feet[0], start)[2, 3]
    way = [model.integrate(start, np.r_[0.002 * k, np.zeros(17)]) for k in range(101)]
    phases = [(10, feet), (30, feet[1:3]), (20, feet), (30, feet[::3]), (10, feet)]
    Q, Q_end = (np.r_[x * np.ones(6), y * np.ones(12), z * np.ones(18)] for x, y, z in ((10, 1, 0.01), (1000, 10, 1)))
    return {
        "urdf": vt.find_robot("go2").read_text(), "q0": start, "way": way, "phases": phases, "dt": dt, "Q": dt * Q,
        "R": dt * 1e-3, "Q_end": Q_end, "friction": 0.6, "clearance": 0.05, "most": 100,
    }  # fmt: skip


def search_of_trot(given: dict) -> Callable[[], MotionSolution]:
    """Return a function that plans the trot, each time without what it knew before."""
    model = vt.load_urdf(given["urdf"], base="free")
    cost = QuadraticCost(given["way"], Q=given["Q"], R=given["R"], Q_end=given["Q_end"])
    return lambda: optimize_motion(model, given["q0"], dt=given["dt"], costs=cost, actuators=model.v_names[6:],
                                   friction=given["friction"], phases=[ContactPhase(*x) for x in given["phases"]],
                                   clearance=given["clearance"], search="fddp", states=given["way"],
                                   max_iterations=given["most"], tolerance=1e-6)  # fmt: skip


def reach_problem(robot: str, start: dict[str, float], frame: str, way: list[float], rest: float) -> dict:
    """An arm takes a frame a way from where it is at a start (by names of joints) [rad], without joint friction.

    ``rest`` is the weight of how far joints are from there.
    """
    text = re.sub(r"<dynamics[^>]*/>", "", vt.find_robot(robot).read_text())
    model = vt.load_urdf(text, mimic="independent")
    q = np.array([start.get(name, 0.0) for name in model.q_names])
    nv = model.nv
    return {
        "urdf": text, "joints": list(model.q_names), "q0": q, "goal": q, "Q": np.full(nv, rest), "Q_end": np.zeros(nv),
        "R": np.full(nv, 1e-5), "goal_u": np.zeros(nv), "frame": frame, "weight": 0.01, "weight_end": 1e3,
        "point": model.frame_pose(frame, q)[:3, 3] + way, "dt": 0.01, "steps": 100, "guess": -model.passive_force(q),
        "most": 200, "thrusters": [], "free": False,
    }  # fmt: skip


def problems() -> dict[str, dict]:
    """The problems of both programs, in plain numbers; weights of positions, and coordinates as Pinocchio has them."""
    ur5 = dict(zip(vt.load_urdf(vt.find_robot("ur5")).q_names, (0.0, -1.0, 1.2, -1.0, -1.5, 0.0), strict=True))
    xarm = {"joint2": -0.5, "joint4": 0.9, "joint6": 1.4}
    talos = {f"arm_{side}_{k}_joint": sign * angle for side, sign in (("left", 1), ("right", -1)) for k, angle in
             ((1, 0.25), (2, 0.17), (3, -0.6), (5, 0.5), (7, 0.1))} | {
        f"arm_{side}_4_joint": -1.3 for side in ("left", "right")}  # fmt: skip
    quarter = 1.5 * 9.81 / 4
    fly = {
        "urdf": QUADROTOR, "q0": np.r_[np.zeros(6), 1.0], "goal": np.r_[1.0, 0.5, 0.5, 0, 0, 0, 1],
        "Q": 0.03 * np.r_[np.ones(3), 0.1 * np.ones(3)], "Q_end": np.r_[100 * np.ones(3), 10 * np.ones(3)],
        "R": 0.03 * np.full(4, 0.1), "goal_u": np.full(4, quarter), "dt": 0.03, "steps": 33,
        "guess": np.full(4, quarter), "most": 100, "thrusters": ARMS, "free": True,
    }  # fmt: skip
    upright = {
        "urdf": CART_POLE, "joints": ["slide", "swing"], "q0": np.array([0.0, 0.3]), "goal": np.zeros(2),
        "Q": 0.02 * np.ones(2), "Q_end": 10 * np.ones(2), "R": 0.02 * np.array([0.01, 1e4]), "goal_u": np.zeros(2),
        "dt": 0.02, "steps": 50, "guess": np.zeros(2), "most": 1, "thrusters": [], "free": False,
    }  # fmt: skip
    return {
        "UR5": reach_problem("ur5", ur5, "tool0", [0.2, 0.2, -0.1], 1e-4),
        "xArm": reach_problem("xarm7", xarm, "link_eef", [0.1, 0.3, 0.1], 1e-2),
        "Talos": reach_problem("talos", talos, "gripper_left_joint", [0.2, 0.1, 0.3], 1e-2),
        "quadrotor": fly,
        "cart-pole, one iteration": upright,
    }


def search_of(each: dict) -> Callable[[], MotionSolution]:
    """Return a function that solves one of the :func:`problems`."""
    if each["free"]:
        tree = vt.read_urdf(each["urdf"], base="free")
        for k in range(4):
            tree.load(vt.Wrench(f"rotor{k}", force=(0, 0, f"u{k}"), axes="local"))
        model, control, acts = tree.compile(), {"inputs": each["guess"]}, [f"u{k}" for k in range(4)]
    else:
        model, control, acts = vt.load_urdf(each["urdf"], mimic="independent"), each["guess"], None
    nv = model.nv
    cost = QuadraticCost(each["goal"], Q=np.r_[each["Q"], np.zeros(nv)], R=each["R"],
                         Q_end=np.r_[each["Q_end"], np.zeros(nv)], goal_u=each["goal_u"])  # fmt: skip
    costs = [cost]
    if "frame" in each:
        costs.append(FrameCost(each["frame"], each["point"], weight=each["weight"], weight_end=each["weight_end"]))
    search = Search(model, duration=each["steps"] * each["dt"], dt=each["dt"], costs=costs, actuators=acts)
    return lambda: search.solve(each["q0"], control=control, max_iterations=each["most"])


def beside_peer(python: str) -> None:
    """Print the least times of both programs, which solve in turns, in processor time of one thread."""
    given, trotting = problems(), trot_problem()
    with tempfile.TemporaryDirectory() as place:
        path = pathlib.Path(place, "problems.json")
        path.write_text(json.dumps({**given, "trot": trotting}, default=np.ndarray.tolist))
        script = pathlib.Path(__file__).with_name("crocoddyl_searches.py")
        environment = {k: v for k, v in os.environ.items() if k != "PYTHONPATH"} | {"OMP_NUM_THREADS": "1"}
        with subprocess.Popen([python, str(script), str(path)], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                              text=True, env=environment) as peer:  # fmt: skip
            assert peer.stdin is not None and peer.stdout is not None
            for name in (*given, "trot"):
                own = search_of(given[name]) if name in given else search_of_trot(trotting)
                least, theirs = np.inf, dict[str, list]()
                for _ in range(2 * ROUNDS):
                    peer.stdin.write(f"{name}\n")
                    peer.stdin.flush()
                    for solver, row in json.loads(peer.stdout.readline()).items():
                        theirs[solver] = min(theirs.get(solver, row), row)
                    began = time.process_time()
                    plan = own()
                    least = min(least, 1e3 * (time.process_time() - began))
                count = len(plan.costs) - 1
                print(f"{name}: vitree {least:.2f} ms, {count} iterations ({least / count:.2f} ms each), cost "
                      f"{plan.cost:.6g}")  # fmt: skip
                for solver, (took, iterations, value) in theirs.items():
                    print(f"    {solver} {took:.2f} ms, {iterations} iterations ({took / iterations:.2f} ms each), "
                          f"cost {value:.6g}; share {least / took:.2f}")  # fmt: skip


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--smoke", action="store_true", help="only see that it runs")
    parser.add_argument("--peer", metavar="PYTHON", help="an interpreter that has crocoddyl")
    given = parser.parse_args()
    smoke = given.smoke
    if given.peer:
        print(peers.machine())
        beside_peer(given.peer)
        return
    cases: list[tuple[str, Callable[[], MotionSolution], int]]
    cases = [("cart_pole", partial(cart_pole, 50), 50)]
    if not smoke:
        cases = [(case.__name__, partial(case, steps), steps) for case, steps in
                 ((cart_pole, 1000), (cart_pole, 100), (acrobot, 400), (panda, 100))]  # fmt: skip
        cases.append(("trot", search_of_trot(trot_problem()), 100))
    print(peers.machine())
    print(f"{'':12s}{'steps':>8s}{'seconds':>10s}{'iterations':>12s}{'us a step':>11s}{'cost':>12s}")
    for name, case, steps in cases:
        least = np.inf
        for _ in range(1 if smoke else ROUNDS):
            began = time.perf_counter()
            found = case()
            least = min(least, time.perf_counter() - began)
        assert found.success
        count = len(found.costs) - 1
        row = f"{least:10.3f}{count:12d}{1e6 * least / steps / count:11.2f}{found.cost:12.6f}"
        print(f"{name:12s}{steps:8d}{row}")


if __name__ == "__main__":
    main()
