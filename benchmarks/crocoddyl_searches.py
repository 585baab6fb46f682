"""The problems of trajectory_optimization.py --peer by crocoddyl, in an interpreter of its own; prints a line of JSON.

    python crocoddyl_searches.py problem.json

Costs are those of vitree: sums of w x^2 over the nodes. Velocities, which it weighs as momenta, have no weight.
"""

from __future__ import annotations

import json
import pathlib
import sys
import time

import crocoddyl
import numpy as np
import pinocchio as pin

ROUNDS = 5


def least_time(solver, problem, us: list, most: int) -> float:
    """Milliseconds of a solution from the motion under some controls."""
    times = []
    for _ in range(ROUNDS):
        began = time.perf_counter()
        solver.solve(problem.rollout(us), us, most, False)
        times.append(time.perf_counter() - began)
    return 1e3 * min(times)


def weighed(state, residual, weights):
    return crocoddyl.CostModelResidual(state, crocoddyl.ActivationModelWeightedQuad(2 * np.asarray(weights)), residual)


def problem_of(given: dict, model, start: np.ndarray, actuation, kept: list):
    """The shooting problem, of running and last costs: goal weights, control weights and a frame's position."""
    state = crocoddyl.StateMultibody(model)
    actuation = actuation(state)
    kept += [state, actuation]

    def node(last: bool):
        costs = crocoddyl.CostModelSum(state, actuation.nu)
        goal = np.concatenate([given["goal"], np.zeros(model.nv)])
        Q = np.concatenate([given["Q_end" if last else "Q"], np.zeros(model.nv)])
        share = 1.0 if last else 1.0 / given["dt"]  # theirs are multiplied by dt
        if Q.any():
            costs.addCost("x", weighed(state, crocoddyl.ResidualModelState(state, goal, actuation.nu), share * Q), 1.0)
        if not last:
            control = crocoddyl.ResidualModelControl(state, np.asarray(given["goal_u"]))
            costs.addCost("u", weighed(state, control, share * np.asarray(given["R"])), 1.0)
        if "frame" in given:
            place = crocoddyl.ResidualModelFrameTranslation(
                state, model.getFrameId(given["frame"]), np.asarray(given["point"]), actuation.nu)
            weight = given["weight_end" if last else "weight"]
            costs.addCost("frame", weighed(state, place, share * np.full(3, weight)), 1.0)
        action = crocoddyl.DifferentialActionModelFreeFwdDynamics(state, actuation, costs)
        kept.extend([costs, action])
        return crocoddyl.IntegratedActionModelEuler(action, 0.0 if last else given["dt"])

    nodes = [node(False) for _ in range(given["steps"])]
    kept += nodes
    return crocoddyl.ShootingProblem(start, nodes, node(True))


def main() -> None:
    found = {}
    for name, given in json.loads(pathlib.Path(sys.argv[1]).read_text()).items():
        kept: list = []
        root = pin.JointModelFreeFlyer() if given["free"] else None
        model = pin.buildModelFromXML(given["urdf"], root) if given["free"] else pin.buildModelFromXML(given["urdf"])
        if given["thrusters"]:
            rotors = [crocoddyl.Thruster(pin.SE3(np.eye(3), np.array(arm)), 0.0) for arm in given["thrusters"]]
            make = lambda state, rotors=rotors: crocoddyl.ActuationModelFloatingBaseThrusters(state, rotors)  # noqa: E731
        else:
            make = crocoddyl.ActuationModelFull
        start = np.concatenate([given["q0"], np.zeros(model.nv)])
        problem = problem_of(given, model, start, make, kept)
        us = [np.asarray(given["guess"])] * given["steps"]
        for solver in (crocoddyl.SolverDDP, crocoddyl.SolverFDDP):
            one = solver(problem)
            one.th_stop = 1e-7
            took = least_time(one, problem, us, given["most"])
            found[f"{name}, {solver.__name__[6:]}"] = took, int(one.iter) + 1, float(one.cost)
    print(json.dumps(found))


if __name__ == "__main__":
    main()
