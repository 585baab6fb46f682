"""The problems of trajectory_optimization.py --peer by crocoddyl, in an interpreter of its own.

    python crocoddyl_searches.py problems.json

Each line of the standard input names a problem, which each solver then solves once; the answer is a line of JSON with
the milliseconds, the iterations and the cost of each. Costs are those of vitree: sums of w x^2 over the nodes.
Velocities, which it weighs as momenta, have no weight.
"""

from __future__ import annotations

import json
import pathlib
import sys
import time
from collections.abc import Callable

import crocoddyl
import numpy as np
import pinocchio as pin


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
                state, model.getFrameId(given["frame"]), np.asarray(given["point"]), actuation.nu
            )
            weight = given["weight_end" if last else "weight"]
            costs.addCost("frame", weighed(state, place, share * np.full(3, weight)), 1.0)
        action = crocoddyl.DifferentialActionModelFreeFwdDynamics(state, actuation, costs)
        kept.extend([costs, action])
        return crocoddyl.IntegratedActionModelEuler(action, 0.0 if last else given["dt"])

    nodes = [node(False) for _ in range(given["steps"])]
    kept += nodes
    return crocoddyl.ShootingProblem(start, nodes, node(True))


def trot(given: dict, kept: list):
    """The shooting problem of phases of contact, states and controls of a first guess, and the number of iterations.

    Feet are held by 3D contacts, and stopped by impulses in nodes of their own. Friction cones and the heights of
    swinging feet are costs, as in its own examples.
    """
    model = pin.buildModelFromXML(given["urdf"], pin.JointModelFreeFlyer())
    state = crocoddyl.StateMultibody(model)
    actuation, data = crocoddyl.ActuationModelFloatingBase(state), model.createData()
    nu, dt, q0 = actuation.nu, given["dt"], np.asarray(given["q0"])
    kept += [state, actuation]
    weights = np.asarray(given["Q"]) / dt, np.asarray(given["Q_end"])
    pin.framesForwardKinematics(model, data, q0)
    feet = {foot: model.getFrameId(foot) for phase in given["phases"] for foot in phase[1]}
    ground = data.oMf[next(iter(feet.values()))].translation[2]

    def costs_of(k: int, size: int):
        costs = crocoddyl.CostModelSum(state, size)
        goal = np.concatenate([given["way"][k], np.zeros(model.nv)])
        last = k == len(given["way"]) - 1
        costs.addCost("x", weighed(state, crocoddyl.ResidualModelState(state, goal, size), weights[last]), 1.0)
        return costs

    def node(k: int, held: list, lift: dict):
        costs, contacts = costs_of(k, nu), crocoddyl.ContactModelMultiple(state, nu)
        costs.addCost("u", weighed(state, crocoddyl.ResidualModelControl(state, nu), np.full(nu, given["R"] / dt)), 1.0)
        for foot in held:
            contact = crocoddyl.ContactModel3D(
                state, feet[foot], np.zeros(3), pin.LOCAL_WORLD_ALIGNED, nu, np.array([0.0, 50.0])
            )
            contacts.addContact(foot, contact)
            cone = crocoddyl.FrictionCone(np.eye(3), given["friction"], 4, False)
            barrier = crocoddyl.ActivationModelQuadraticBarrier(crocoddyl.ActivationBounds(cone.lb, cone.ub))
            residual = crocoddyl.ResidualModelContactFrictionCone(state, feet[foot], cone, nu, True)
            costs.addCost(f"cone {foot}", crocoddyl.CostModelResidual(state, barrier, residual), 10.0)
            kept.extend([contact, cone, barrier, residual])
        for foot, height in lift.items():
            place = crocoddyl.ResidualModelFrameTranslation(state, feet[foot], np.array([0, 0, ground + height]), nu)
            costs.addCost(f"lift {foot}", weighed(state, place, np.array([0.0, 0.0, 1e4])), 1.0)
        action = crocoddyl.DifferentialActionModelContactFwdDynamics(state, actuation, contacts, costs, 0.0, True)
        kept.extend([costs, contacts, action])
        return crocoddyl.IntegratedActionModelEuler(action, dt)

    nodes, states, before, k = [], [], [], 0
    for count, held in given["phases"]:
        landing = [foot for foot in held if k and foot not in before]
        if landing:
            impulses, costs = crocoddyl.ImpulseModelMultiple(state), costs_of(k, 0)
            for foot in held:
                impulses.addImpulse(foot, crocoddyl.ImpulseModel3D(state, feet[foot], pin.LOCAL_WORLD_ALIGNED))
            nodes.append(crocoddyl.ActionModelImpulseFwdDynamics(state, impulses, costs))
            states.append(given["way"][k])
            kept.extend([impulses, costs])
        for step in range(count):
            share = step / count
            lift = {foot: 4 * given["clearance"] * share * (1 - share) for foot in feet if foot not in held}
            nodes.append(node(k, held, lift))
            states.append(given["way"][k])
            k += 1
        before = held
    nodes.append(node(k, before, {}))
    states.append(given["way"][k])
    kept += nodes
    start = np.concatenate([q0, np.zeros(model.nv)])
    xs = [start, *(np.concatenate([q, np.zeros(model.nv)]) for q in states[1:])]
    return crocoddyl.ShootingProblem(start, nodes[:-1], nodes[-1]), xs


def solved(solver, first: Callable[[], tuple[list, list]], most: int) -> tuple[float, int, float]:
    """Milliseconds (of the processor) of a solution from a guess (states, controls), its iterations and its cost."""
    began = time.process_time()
    solver.solve(*first(), most, False)
    took = 1e3 * (time.process_time() - began)
    return took, min(int(solver.iter) + 1, most), float(solver.cost)


def search_of_trot(given: dict, kept: list) -> Callable[[], dict]:
    """Return a function that plans the trot."""
    problem, xs = trot(given, kept)
    us = problem.quasiStatic(xs[:-1])
    solver = crocoddyl.SolverFDDP(problem)
    solver.th_stop = 1e-6
    return lambda: {"FDDP": solved(solver, lambda: (xs, us), given["most"])}


def in_order(given: dict, model) -> dict:
    """Return a problem whose rows of joints stand in another order, in that of a model of joints of one coordinate."""
    at = [given["joints"].index(name) for name in model.names[1:]]
    rows = ("q0", "goal", "Q", "Q_end", "R", "goal_u", "guess")
    return {**given, **{key: np.asarray(given[key])[at].tolist() for key in rows}}


def search_of(given: dict, kept: list) -> Callable[[], dict]:
    """Return a function that solves a problem without contacts by DDP and by FDDP."""
    if given["free"]:
        model = pin.buildModelFromXML(given["urdf"], pin.JointModelFreeFlyer())
    else:
        model = pin.buildModelFromXML(given["urdf"])
        given = in_order(given, model)
    make = crocoddyl.ActuationModelFull
    if given["thrusters"]:
        rotors = [crocoddyl.Thruster(pin.SE3(np.eye(3), np.array(arm)), 0.0) for arm in given["thrusters"]]
        make = lambda state: crocoddyl.ActuationModelFloatingBaseThrusters(state, rotors)  # noqa: E731
    start = np.concatenate([given["q0"], np.zeros(model.nv)])
    problem = problem_of(given, model, start, make, kept)
    us = [np.asarray(given["guess"])] * given["steps"]
    solvers = {name: getattr(crocoddyl, f"Solver{name}")(problem) for name in ("DDP", "FDDP")}
    for solver in solvers.values():
        solver.th_stop = 1e-7

    def solve() -> dict:
        return {name: solved(x, lambda: (problem.rollout(us), us), given["most"]) for name, x in solvers.items()}

    return solve


def main() -> None:
    kept: list = []
    given = json.loads(pathlib.Path(sys.argv[1]).read_text())
    searches = {name: (search_of_trot if "phases" in each else search_of)(each, kept) for name, each in given.items()}
    for line in sys.stdin:
        print(json.dumps(searches[line.strip()]()), flush=True)


if __name__ == "__main__":
    main()
