"""Optima of all searches beside those of CasADi with IPOPT, which has the Lagrangian and nothing of ours."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pytest

import vitree as vt
from vitree.control import FrameCost, QuadraticCost, optimize_motion

ca = pytest.importorskip("casadi")
SEARCHES = ["ddp", "fddp", "projection", "transcription"]
G = 9.81
#: The Lagrangian in the middle of the coordinates, also where a robot floats.
RULE = {"method": "midpoint", "kinetic": "midpoint"}


@dataclass
class Case:
    """A model, its Lagrangian as a function of symbols, and a problem."""

    model: vt.Model
    lagrangian: object
    task: dict
    acts: list
    tip: object = None


def chain(names, lengths, masses):
    """Links that hang in the plane x = 0, with their centers of mass in their middles, and point inertias beside."""
    tree, at = vt.Tree("chain"), None
    for k, (name, length, mass) in enumerate(zip(names, lengths, masses, strict=True)):
        size = 0.1 * mass * length**2
        link = vt.rx(name), vt.body(f"link {k}", mass, (size, size, size), com=(0, 0, -length / 2))
        at = (tree.world if at is None else at).add(*link, vt.tz(-length), vt.frame(f"end {k}"))

    def ends(q):
        """The middles and ends of all links, (y, z)."""
        found, angle, end = [], 0.0, ca.DM([0, 0])
        for k, length in enumerate(lengths):
            angle = angle + q[k]
            way = ca.vertcat(ca.sin(angle), -ca.cos(angle)) * length
            found.append((end + way / 2, end + way))
            end = end + way
        return found

    def lagrangian(q, v):
        total, rate = 0.0, 0.0
        for k, (middle, _) in enumerate(ends(q)):
            rate = rate + v[k]
            speed = ca.jtimes(middle, q, v)
            size = 0.1 * masses[k] * lengths[k] ** 2
            total += 0.5 * masses[k] * ca.sumsqr(speed) + 0.5 * size * rate**2 - masses[k] * G * middle[1]
        return total

    return tree.compile(), lagrangian, lambda q: ends(q)[-1][1]


def cart():
    tree = vt.Tree("cart")
    rail = tree.world.add(vt.ty("slide"), vt.body("cart", 1.0))
    rail.add(vt.rx("swing"), vt.body("pole", 0.3, (0.01, 0.01, 0.001), com=(0, 0, 0.5)))

    def lagrangian(q, v):
        y, z = -0.5 * ca.sin(q[1]), 0.5 * ca.cos(q[1])
        speed = ca.vertcat(v[0] + ca.jacobian(y, q)[1] * v[1], ca.jacobian(z, q)[1] * v[1])
        return 0.5 * v[0] ** 2 + 0.15 * ca.sumsqr(speed) + 0.005 * v[1] ** 2 - 0.3 * G * z

    task = {"q0": [0.0, np.pi], "duration": 2.0, "dt": 0.05, "goal": [0.0, 0.0], "Q": np.r_[1, 1, 0.1, 0.1] * 5e-4,
            "R": [5e-4], "Q_end": [10, 10, 1, 1]}  # fmt: skip
    return Case(tree.compile(), lagrangian, task, ["slide"])


def pendulum():
    """A double pendulum is led from hanging to an angle."""
    model, lagrangian, _ = chain(["one", "two"], [1.0, 0.7], [1.0, 0.6])
    task = {"q0": [0.0, 0.0], "duration": 1.0, "dt": 0.05, "goal": [1.2, -0.6], "Q": [0.1, 0.1, 0.01, 0.01],
            "R": [2e-4, 4e-4], "Q_end": [50, 50, 5, 5]}  # fmt: skip
    return Case(model, lagrangian, task, ["one", "two"])


def arm():
    """Three links take their end to a point."""
    model, lagrangian, tip = chain(["a", "b", "c"], [0.5, 0.4, 0.3], [1.0, 0.6, 0.3])
    task = {"q0": [0.3, 0.4, 0.2], "duration": 0.8, "dt": 0.04, "goal": [0.3, 0.4, 0.2],
            "control": -model.passive_force([0.3, 0.4, 0.2]), "Q": np.repeat([0.02, 1.0], 3),
            "R": [2e-3, 1e-3, 3e-2], "Q_end": np.repeat([0.0, 2.0], 3),
            "frame": ("end 2", [0.0, 0.9, -0.5], 0.1, 200.0)}  # fmt: skip
    return Case(model, lagrangian, task, ["a", "b", "c"], tip)


#: Problems, and what bounds their motions and forces.
PROBLEMS = {
    "cart": (cart, {}), "cart between ends": (cart, {"bounds": {"slide": (-0.4, 0.4)}}),
    "cart, slow and weak": (cart, {"velocity_bounds": {"slide": (-1.5, 1.5)}, "limits": 18.0}),
    "pendulum": (pendulum, {}),
    "pendulum, slow": (pendulum, {"velocity_bounds": {"one": (-1.6, 1.6), "two": (-1.2, 1.2)}}),
    "pendulum, bounded": (pendulum, {"bounds": {"one": (-0.1, 1.21), "two": (-0.65, 0.05)}}),
    "arm": (arm, {}), "arm, bounded": (arm, {"bounds": {"b": (-3.0, 0.6)}, "velocity_bounds": {"a": (-2.0, 1.8)}}),
    "arm, weak": (arm, {"limits": [9.0, 4.0, 1.0]}),
}  # fmt: skip


def optimum(case, extra, guess):
    """The cost and the configurations of CasADi's optimum, of the discrete equations of the midpoint rule."""
    model, task, nv = case.model, case.task, case.model.nv
    h, steps = task["dt"], round(task["duration"] / task["dt"])
    acts = [model.v_names.index(name) for name in case.acts]
    qs, vs, q1, q2, p = (ca.SX.sym(name, nv) for name in ("q", "v", "q1", "q2", "p"))
    L = ca.Function("L", [qs, vs], [case.lagrangian(qs, vs)])
    Ld = h * L((q1 + q2) / 2, (q2 - q1) / h)
    ends = ca.Function("ends", [q1, q2], [-ca.gradient(Ld, q1), ca.gradient(Ld, q2)])
    mass = ca.hessian(L(qs, vs), vs)[0]
    velocity = ca.Function("velocity", [qs, p], [ca.solve(mass, p)])
    Q, P, U = ca.MX.sym("q", nv, steps + 1), ca.MX.sym("p", nv, steps + 1), ca.MX.sym("u", len(acts), steps)
    spread = ca.DM(np.eye(nv)[:, acts])
    equations, cost = [Q[:, 0] - ca.DM(task["q0"]), P[:, 0]], 0
    for k in range(steps):
        before, after = ends(Q[:, k], Q[:, k + 1])
        push = h / 2 * spread @ U[:, k]
        equations += [before - push - P[:, k], after + push - P[:, k + 1]]
        cost += ca.sumsqr(np.sqrt(task["R"]) * U[:, k])
    for k in range(steps + 1):
        x = ca.vertcat(Q[:, k] - ca.DM(task["goal"]), P[:, k])
        cost += ca.sumsqr(np.sqrt(task["Q_end" if k == steps else "Q"]) * x)
        if "frame" in task:
            _, point, weight, last = task["frame"]
            cost += (last if k == steps else weight) * ca.sumsqr(case.tip(Q[:, k]) - ca.DM(point[1:]))
    low, high = [0.0] * ca.vertcat(*equations).numel(), [0.0] * ca.vertcat(*equations).numel()
    for name, (least, greatest) in extra.get("velocity_bounds", {}).items():
        for k in range(1, steps + 1):
            equations.append(velocity(Q[:, k], P[:, k])[model.v_names.index(name)])
            low, high = [*low, least], [*high, greatest]
    lower = [np.full(x.shape, -np.inf) for x in (Q, P, U)]
    for name, (least, _) in extra.get("bounds", {}).items():
        lower[0][model.q_names.index(name)] = least
    upper = [-x for x in lower]
    for name, (_, greatest) in extra.get("bounds", {}).items():
        upper[0][model.q_names.index(name)] = greatest
    if "limits" in extra:
        most = np.broadcast_to(extra["limits"], (len(acts),))[:, None]
        lower[2][:], upper[2][:] = -most, most
    flat = lambda parts: np.concatenate([np.asarray(x).T.ravel() for x in parts])  # noqa: E731
    every = ca.vertcat(*(ca.vec(x) for x in (Q, P, U)))
    quiet = {"ipopt.print_level": 0, "print_time": 0, "ipopt.sb": "yes", "ipopt.tol": 1e-10}
    solver = ca.nlpsol("solver", "ipopt", {"x": every, "f": cost, "g": ca.vertcat(*equations)}, quiet)
    found = solver(x0=flat(guess), lbx=flat(lower), ubx=flat(upper), lbg=low, ubg=high)
    assert solver.stats()["success"]
    return float(found["f"]), np.array(found["x"]).ravel()[: nv * (steps + 1)].reshape(steps + 1, nv)


@pytest.mark.parametrize("search", SEARCHES)
@pytest.mark.parametrize("name", PROBLEMS)
def test_the_optimum_is_that_of_casadi_and_ipopt(name, search):
    make, extra = PROBLEMS[name]
    case = make()
    if search == "projection" and "limits" in extra:
        pytest.skip("projection has no limits of forces")
    task = {key: case.task[key] for key in ("q0", "duration", "dt", "control") if key in case.task}
    costs = [QuadraticCost(**{key: case.task[key] for key in ("goal", "Q", "R", "Q_end")})]
    if "frame" in case.task:
        frame, point, weight, last = case.task["frame"]
        costs.append(FrameCost(frame, point, weight=weight, weight_end=last))
    found = optimize_motion(case.model, **task, costs=costs, actuators=case.acts, **RULE, search=search,
                            tolerance=1e-8, **extra)  # fmt: skip
    assert found.success, found.message
    assert found.violation <= 1e-6
    # from a motion nearby, so that it is the same local optimum
    rng = np.random.default_rng(0)
    acts = [case.model.v_names.index(each) for each in case.acts]
    guess = [x.T * (1 + 0.05 * rng.normal(size=x.T.shape)) for x in (found.q, found.p, found.torque[:, acts])]
    cost, q = optimum(case, extra, guess)
    assert found.cost == pytest.approx(cost, rel=1e-6)
    assert np.abs(found.q - q).max() < 1e-3
    if extra and search == "ddp":
        free = optimize_motion(case.model, **task, costs=costs, actuators=case.acts, **RULE)
        assert free.cost < found.cost * (1 - 1e-4), "the bounds are not active"
