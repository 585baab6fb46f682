"""Steps of models whose bodies touch: impulses, friction, impacts, limits."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from scipy.optimize import root
from touching_models import human_figure, thrown_figure

import vitree as vt
from vitree._core import scalar
from vitree._core.types import ContactList

DATA = Path(__file__).parents[1] / "data"
REFERENCE = json.loads((DATA / "contact.json").read_text())
METHODS = ("linear-time", "midpoint")
EULER = ("semi-implicit-euler", "explicit-euler")
EXPLICIT = (*EULER, "rk4", "rk8")
#: of second order between impacts
SECOND = (*METHODS, "rk4", "rk8")
EXACT = {"tolerance": 1e-12}


def exactly(method):
    """The options of a method that solves its equations; explicit ones have none."""
    return EXACT if method in METHODS else {}


def box(size=(0.4, 0.3, 0.2), mass=2.0, gravity=(0, 0, -9.81), corners=4, **surface):
    """A box on the ground, with contacts at its lower corners, or at some of them."""
    a, b, c = size
    tree = vt.Tree("box", gravity=gravity)
    inertia = mass / 12 * np.array((b * b + c * c, a * a + c * c, a * a + b * b))
    tree.world.add(vt.free("base"), vt.body("box", mass, tuple(inertia)))
    points = [(s * a / 2, r * b / 2, -c / 2) for s in (-1, 1) for r in (-1, 1)]
    tree.contact(vt.Contact("box", points=points[:corners]), vt.Ground(**surface))
    model = tree.compile()
    q = model.neutral()
    q[2] = c / 2
    return model, q


def ball(count=1, radius=0.1, mass=1.0, gravity=9.81, ground=True, **surface):
    """Balls that touch the ground and each other."""
    tree = vt.Tree("balls", gravity=(0, 0, -gravity))
    for k in range(count):
        tree.world.add(vt.free(f"base{k}"), vt.body(f"ball{k}", mass, (0.4 * mass * radius**2,) * 3))
        tree.contact(vt.Contact(f"ball{k}", shapes=vt.Sphere(radius), **({} if ground else surface)))
    if ground:
        tree.contact(vt.Ground(**surface))
    return tree.compile()


def rod(points=((0, 0, -0.5),), **surface):
    tree = vt.Tree("rod")
    tree.world.add(vt.tx("x"), vt.tz("z"), vt.ry("a"), vt.body("rod", 1.0, (1 / 12, 1 / 12, 1e-6)))
    tree.contact(vt.Contact("rod", points=points), vt.Ground(**surface))
    return tree.compile()


# ---- the complementarity problem --------------------------------------------------------------------------


def natural_residual(dim, G, b, mu, lam):
    """The definition, written anew: distances to the solution set of each contact [m/s]."""
    w, row, worst = G @ lam + b, 0, 0.0
    for size, friction in zip(dim, mu, strict=True):
        rho = G[row, row]
        worst = max(worst, abs(min(w[row], rho * lam[row])))
        if size == 3:
            at = slice(row + 1, row + 3)
            rt = 0.5 * (G[row + 1, row + 1] + G[row + 2, row + 2])
            z, radius = rt * lam[at] - w[at], rt * friction * max(lam[row], 0.0)
            length = np.hypot(*z)
            z = z if length <= radius else z * radius / length
            worst = max(worst, np.abs(rt * lam[at] - z).max())
        row += size
    return worst


@pytest.mark.parametrize("k", range(len(REFERENCE["ncp"]["instances"])))
def test_recorded_problems_are_solved(k):
    problem = REFERENCE["ncp"]["instances"][k]
    dim, mu, G, b = problem["dim"], problem["mu"], np.array(problem["G"]), np.array(problem["b"])
    goal = 1e-9 * np.abs(b).max()
    lead = np.zeros((len(dim), 2))
    lam, w, residual, *_ = scalar().solve_cones(dim, G, b, mu, lead, np.zeros(len(b)), goal)
    assert residual <= goal and natural_residual(dim, G, b, mu, lam) <= goal
    np.testing.assert_allclose(w, G @ lam + b, rtol=0, atol=1e-12)
    if problem["tag"] != "box 5 contacts sliding, spinning":  # its solutions are several
        np.testing.assert_allclose(w, problem["w"], rtol=0, atol=1e-8 * np.abs(b).max() + 10 * goal)
    rng = np.random.default_rng(k)
    for _ in range(20):
        start = rng.standard_normal(len(b)) * np.abs(lam).max()
        lam, _, residual, *_ = scalar().solve_cones(dim, G, b, mu, lead, start, goal)
        assert residual <= goal and natural_residual(dim, G, b, mu, lam) <= goal


def test_jams_are_solved_by_alternating_directions():
    """Problems of ten rough bodies in a pit, of which corrections, sweeps and the proximal point solved none."""
    with np.load(DATA / "jams.npz") as kept:
        for k in range(int(kept["count"])):
            dim, G, b, mu, lead, start = (kept[f"{name}_{k}"] for name in ("dim", "G", "b", "mu", "lead", "start"))
            goal = 1e-10 * np.abs(b).max()
            lam, w, residual, *_ = scalar().solve_cones(dim.tolist(), G, b, mu, lead, start, goal)
            assert residual <= goal and np.abs(np.diag(G) * lam).max() < 1e3 * np.abs(b).max()
            np.testing.assert_allclose(w, G @ lam + b, rtol=0, atol=1e-12)
            if not lead.any():
                assert natural_residual(dim.tolist(), G, b, mu, lam) <= 1.01 * goal


def test_random_problems_are_solved():
    """Any number of contacts, ranks, frictions."""
    rng = np.random.default_rng(0)
    for _ in range(200):
        count = int(rng.integers(1, 9))
        dim = rng.choice([1, 3], count).tolist()
        n = sum(dim)
        A = rng.standard_normal((n, int(rng.integers(3, n + 3))))
        # what leads apart exists: b in the range of A, as of bodies that can part
        G, b = A @ A.T, A @ rng.standard_normal(A.shape[1])
        mu = rng.choice([0.0, 0.3, 1.0], count)
        goal = 1e-10 * np.abs(b).max()
        lam, _, residual, *_ = scalar().solve_cones(dim, G, b, mu, np.zeros((count, 2)), np.zeros(n), goal)
        assert residual <= goal and natural_residual(dim, G, b, mu, lam) <= 1.01 * goal
    with pytest.raises(ValueError, match="rows of G"):
        scalar().solve_cones([3], np.eye(2), np.zeros(3), [1.0], [(0, 0)], np.zeros(3), 1e-9)


def pit(friction, seed, count=10):
    """Balls above a pit of five planes: the model and a configuration."""
    tree = vt.Tree("pit")
    for k in range(count):
        tree.world.add(vt.free(f"base{k}"), vt.body(f"ball{k}", 1.0, (4e-3, 4e-3, 4e-3)))
        tree.contact(vt.Contact(f"ball{k}", shapes=vt.Sphere(0.1)))
    walls = [((np.cos(a), np.sin(a), 1.0), 0.0) for a in (0.0, 1.6, 3.1, 4.7)]
    tree.contact(vt.Ground(friction=friction, planes=walls))
    model = tree.compile()
    q = model.neutral().reshape(count, 7)
    k = np.arange(count)
    q[:, :3] = np.c_[0.22 * (k % 3 - 1), 0.22 * (k // 3 % 3 - 1), 0.6 + 0.22 * (k // 9)]
    q[:, :3] += np.random.default_rng(seed).uniform(-0.01, 0.01, (count, 3))
    return model, q.ravel()


@pytest.mark.parametrize("method", ["linear-time", "midpoint", "semi-implicit-euler"])
@pytest.mark.parametrize(("friction", "seed"), [(0.5, 1), (1.0, 2), (3.0, 2)])
def test_jammed_balls_are_simulated_and_what_is_not_solved_is_told(friction, seed, method):
    """Loops of rough contacts: no error, gaps and energy to the residual that the run reports."""
    model, q = pit(friction, seed)
    run = vt.simulate(model, q, duration=1.0, dt=5e-3, method=method, monitors="gap")
    _, most, *when = run.settings.get("inexact_contacts", (0, 0.0))
    assert most < 0.01 and all(0 <= t < 1 for t in when)
    assert any("laws of contact and friction" in text for text in run.warnings) == (most > 1e-9)
    assert run.monitors["gap"].min() > -5e-3 * most - 1e-11
    # normals of balls that roll on each other turn within a step, by which impulses gain or lose energy in second order
    assert np.diff(run.energy).max() < 5e-4 * (run.energy[0] - run.energy[-1])


@pytest.mark.parametrize("seed", [3, 9, 10, 13, 14])
def test_jams_lose_friction_before_bodies_overlap(seed):
    """Where no impulses satisfy the laws a step is solved with less friction: gaps, energy and momenta hold."""
    rng = np.random.default_rng(seed)
    tree = vt.Tree("jam")
    for k in range(6):
        a, b = rng.uniform(0.06, 0.15, 2)
        shape = (vt.Cylinder(a, b), vt.Cone(a, 2 * b), vt.Box((a, b, a)))[k % 3]
        tree.world.add(vt.free(f"joint {k}"), vt.body(f"body {k}", 1.0, np.full(3, 4e-3)))
        tree.contact(vt.Contact(f"body {k}", shapes=shape))
    walls = [((np.cos(a), np.sin(a), 0.3), -0.2) for a in (0.0, 1.6, 3.1, 4.7)]
    tree.contact(vt.Ground(friction=3.0, planes=walls))
    model = tree.compile()
    q, d = model.neutral(), np.zeros((6, 6))
    q[2::7], d[:, 3:] = 0.25 + 0.3 * np.arange(6), rng.normal(size=(6, 3))
    run = vt.simulate(model, model.integrate(q, d.ravel()), duration=1.0, dt=1e-2,
                      method=("linear-time", "midpoint")[seed % 2], monitors=("gap", "momentum_balance"))  # fmt: skip
    assert run.settings["inexact_contacts"][1] > 0.1
    assert any("laws of contact and friction" in text for text in run.warnings)
    assert run.monitors["gap"].min() > -1e-10
    assert (run.energy - run.energy[0]).max() < 1e-9
    assert np.abs(run.monitors["momentum_balance"][:, 3:]).max() < 1e-8


def test_rows_of_slips_are_exact_derivatives():
    """Newton's method converges quadratically where patches and rolling spheres slide and spin within long steps."""
    model, q = box(friction=0.4)
    run = vt.simulate(model, q, [1.0, 0.3, 0, 0, 0, 8.0], duration=0.2, dt=0.02)
    assert run.iterations.max() <= 3
    tree, radii = vt.Tree("balls"), (0.3, 0.1)
    for k, radius in enumerate(radii):
        tree.world.add(vt.free(f"base{k}"), vt.body(f"ball{k}", 1.0, (0.4 * radius**2,) * 3))
        tree.contact(vt.Contact(f"ball{k}", shapes=vt.Sphere(radius)))
    tree.contact(vt.Ground(friction=0.4))
    model = tree.compile()
    q = model.neutral()
    q[2], q[7:10] = radii[0], (0.05, 0, radii[0] + np.sqrt(sum(radii) ** 2 - 0.05**2))
    run = vt.simulate(model, q, [0.5, 0, 0, 3, 5, 2, 0.3, 0, 0, 9, -7, 5], duration=0.1, dt=0.01)
    assert len(run.contacts) >= 18 and run.iterations.max() <= 3


def friction_of(log, mu):
    """Of each contact that slides: how far its friction is from the laws, of its own slip and half of the last one's.

    Both (k,), relative to mu N; NaN for the second where a contact did not slide in the step before.
    """
    errors, last, now, before, most = [], {}, {}, -1, np.abs(log.impulse).max()
    for k in range(len(log.record)):
        if log.record[k] != before:
            last, now, before = now if log.record[k] == before + 1 else {}, {}, log.record[k]
        n, speed = log.normal[k], np.linalg.norm(log.slip[k])
        size = log.impulse[k] @ n
        tangent, u = log.impulse[k] - size * n, log.slip[k] / speed if speed > 1e-7 else np.zeros(3)
        now[log.number[k]] = u
        assert np.linalg.norm(tangent) <= mu * size + 1e-8 * most
        if speed > 1e-3 and size > 1e-4 * most:
            way = last.get(log.number[k], np.zeros(3))
            way = way - way @ n * n
            half = np.linalg.norm(tangent / (mu * size) + 0.5 * (u + way)) if way.any() else np.nan
            errors.append((np.linalg.norm(tangent / (mu * size) + u), half))
    return np.array(errors).T


def test_friction_is_against_the_slip_of_the_step_where_no_impulses_are_found_otherwise():
    """Of balls that jam, each contact that slides has one of the two laws of friction, and some turn to the other."""
    turned = solved = 0
    for seed in range(9):
        model, q = pit(0.5, seed)
        run = vt.simulate(model, q, duration=1.0, dt=5e-3)
        if run.settings.get("inexact_contacts", (0, 0.0))[1] > 1e-6 or run.settings["halved"]:
            continue  # the laws are satisfied up to that residual, and of a step in parts in each part
        solved += 1
        own, half = friction_of(run.contacts, 0.5)
        assert np.nanmin([own, half], axis=0).max() < 1e-5
        assert np.sum(half < 1e-5) > 50
        # contacts that slid before, and turn
        turned += np.sum((own < 1e-5) & (half > 1e-4))
    assert turned > 0 and solved >= 3


def test_corrections_of_a_problem_are_bounded():
    core, (model, q) = scalar(), pit(3.0, 0)
    sim = vt.Simulation(model, q, dt=5e-3)
    core.record_problems(2_000_000)
    sim.step(200)
    hard = 0
    for *problem, _, law in core.record_problems(0):
        goal = 1e-10 * np.abs(problem[2]).max()
        *_, corrections, sweeps = core.solve_cones(*problem, goal, law)
        hard += corrections > 20
        assert corrections <= 180 and sweeps <= 230
    assert hard > 3


def test_bodies_whose_equations_hold_are_left_while_others_slide():
    """A pass solves the problems of those groups of bodies only that it changes."""
    core, model = scalar(), ball(3, friction=0.3)
    q = model.neutral().reshape(3, 7)
    q[:, 0], q[:, 2] = np.arange(3), 0.1
    v = np.zeros(18)
    v[12] = 1.0
    integrator = vt.METHODS["linear-time"](model, 1e-3)
    integrator.start(0.0, q.ravel(), model.generalized_momentum(q.ravel(), v))
    integrator.advance(5)
    core.record_problems(100_000)
    before = integrator.total_iterations
    integrator.advance(50)
    passes, problems = integrator.total_iterations - before, core.record_problems(0)
    assert 10 < len(problems) <= passes


@pytest.mark.parametrize("method", ["linear-time", "midpoint", "semi-implicit-euler"])
def test_trees_beside_each_other_move_as_if_alone(method):
    """Ports, their rows and P are stored by trees: legs with limits that slide and fall, several in one model."""
    speed = np.array([0.7, 0.2, 0, 0, 1.0, 0, 0.5, -2.0])

    def legs(count, first=0):
        tree = vt.Tree("legs")
        for k in range(first, first + count):
            hip = tree.world.add(vt.ty(2.0 * k), vt.free(f"base{k}"), vt.body(f"trunk{k}", 2.0, (0.02, 0.03, 0.02)))
            hinge = vt.ry(f"hip{k}", lower=-0.4, upper=0.5)
            thigh = hip.add(hinge, vt.tz(-0.15), vt.body(f"thigh{k}", 0.5, (2e-3, 2e-3, 1e-4)))
            knee = thigh.add(vt.tz(-0.15), vt.ry(f"knee{k}", lower=-0.3, upper=0.3), vt.tz(-0.1))
            knee.add(vt.body(f"shank{k}", 0.2 + 0.1 * k, (1e-3, 1e-3, 1e-4)))
            tree.contact(vt.Contact(f"trunk{k}", shapes=vt.Sphere(0.1)),
                         vt.Contact(f"shank{k}", points=[(0, 0.05, -0.1), (0, -0.05, -0.1)]))  # fmt: skip
        tree.contact(vt.Ground(friction=0.5))
        tree.limits = "enforce"
        model = tree.compile()
        q = model.neutral().reshape(count, 9)
        q[:, 2] = 0.5
        v = np.tile(speed, count)
        return vt.simulate(model, q.ravel(), v, duration=0.6, dt=2e-3, method=method, **exactly(method))

    together = legs(3)
    assert len(together.contacts) > 300
    for k in range(3):
        alone = legs(1, k)
        np.testing.assert_allclose(together.q.reshape(-1, 3, 9)[:, k], alone.q, atol=1e-8)


def test_a_hundred_balls_move_as_one():
    """More ports than of any one tree, kept from step to step."""
    count, v = 120, np.array([0.8, 0.3, 0, 0, 0, 5.0])
    runs = []
    for n in (1, count):
        model = ball(n, friction=0.3)
        q = model.neutral().reshape(n, 7)
        q[:, 0], q[:, 2] = 3.0 * np.arange(n), 0.1
        runs.append(vt.simulate(model, q.ravel(), np.tile(v, n), duration=0.05, dt=1e-3))
    one, many = runs[0].q, runs[1].q.reshape(-1, count, 7).copy()
    many[:, :, 0] -= 3.0 * np.arange(count)
    np.testing.assert_allclose(many, np.repeat(one[:, None], count, axis=1), atol=1e-10)
    assert runs[1].iterations.max() <= runs[0].iterations.max() + 1


def many_jointed(kinematic):
    """A tree with joints of every kind, balls on several of their bodies, and a limit."""
    tree, inertia = vt.Tree("many"), (0.01, 0.02, 0.025)
    tree.limits = "enforce"
    base = tree.world.add(vt.free("base"), vt.body("a", 1.0, inertia))
    arm = base.add(vt.tx(0.4), vt.ball("shoulder"), vt.tx(0.3), vt.body("b", 1.0, inertia))
    arm.add(vt.tx(0.3), vt.rz("yaw", lower=-0.1, upper=0.0), vt.body("c", 1.0, inertia))
    slide = base.add(vt.ty(0.4), vt.tz("slide"), vt.body("d", 1.0, inertia))
    slide.add(vt.ty(0.3), vt.screw("screw", axis=(0, 1, 0), pitch=0.2), vt.body("e", 1.0, inertia))
    base.add(vt.tx(-0.4), vt.ry("moved", kinematic=kinematic), vt.tx(-0.2), vt.body("f", 1.0, inertia))
    base.add(vt.ty(-0.5), vt.free("loose"), vt.body("g", 0.2, inertia))
    tree.contact(vt.Ground(friction=0.6), [vt.Contact(name, shapes=vt.Sphere(0.1)) for name in "abcefg"])
    return tree.compile()


@pytest.mark.parametrize("kinematic", [False, True])
def test_the_responses_of_all_wrenches_on_a_body_are_those_of_the_dense_operator(kinematic):
    core, model, rng, sizes = scalar(), many_jointed(kinematic), np.random.default_rng(0), []
    for _ in range(20):
        q = model.neutral()
        q[model.joint("base").q_slice][2] = 0.16
        q = model.integrate(q, 0.03 * rng.normal(size=model.nv))
        q[model.joint("yaw").q_slice], q[model.joint("moved").q_slice] = -1e-3, 0.0
        q = vt.place_on_ground(model, q)
        v = 0.5 * rng.normal(size=model.nv)
        v[2], v[model.joint("yaw").v_slice], v[model.joint("moved").v_slice] = -3.0, 1.0, 0.0
        found = []
        for solver in ("recursive-newton", "newton"):
            moved = vt.Control(prescribed={"moved": lambda t: 0.1 * np.sin(2 * t)}) if kinematic else None
            sim = vt.Simulation(model, q, v, dt=0.02, solver=solver, control=moved)
            core.record_problems(100_000)
            sim.step()
            found.append(core.record_problems(0))
        assert len(found[0]) > 0
        # the first pass with the contacts that a step begins with: later ones are at solutions of a tolerance
        np.testing.assert_allclose(found[0][0][1], found[1][0][1], rtol=0, atol=1e-12 * np.abs(found[1][0][1]).max())
        sizes.append(len(found[0][0][2]))
    assert max(sizes) >= 10


# ---- single steps -------------------------------------------------------------------------------------------


def figure_on_points(points, friction):
    flat = vt.load_urdf(vt.find_robot("human"), base="free").full.flat
    contacts = [vt.Contact(frame, points=at) for frame in ("left_foot", "right_foot")
                if (at := [x for name, x in points if name == frame])]  # fmt: skip
    return vt.Model(replace(flat, contacts=tuple(contacts), ground=vt.Ground(friction=friction) if points else None))


def kinetic_of_reference(case):
    # the recorded steps are of the papers' forms
    return {"kinetic": "screw" if case["method"] == "linear-time" else "midpoint"}


def test_a_point_that_carries_nothing_has_no_effect():
    """The free motion brings two points of a foot into the ground; one stops it, and the step is that of this one.

    The oracle of the one point: q2, p2 = F(q, p + J^T lam) with the gap zero, and lam against the slip on its bound.
    """
    case = REFERENCE["step"][1]
    frame, place = case["points"][6]
    h, mu, q, p = case["h"], case["mu"], np.array(case["q"]), np.array(case["p"])
    options = {"method": case["method"], "tolerance": 1e-13, "duration": h, "dt": h, **kinetic_of_reference(case)}
    model, free = figure_on_points(case["points"], mu), figure_on_points([], mu)
    run = vt.simulate(model, q, p0=p, **options)
    alone = vt.simulate(figure_on_points([(frame, place)], mu), q, p0=p, **options)
    assert run.contacts.number.tolist() == [6]
    np.testing.assert_allclose(run.q[1], alone.q[1], rtol=0, atol=1e-12)
    np.testing.assert_allclose(run.p[1], alone.p[1], rtol=0, atol=1e-10)

    def at(q):
        pose = model.frame_pose(frame, q)
        return pose[:3, :3] @ place + pose[:3, 3]

    def left(lam):
        # the point's Jacobian by the frame's: J_p = J_v - [r]x J_w
        jacobian = model.frame_jacobian(frame, q)
        arm = at(q) - model.frame_pose(frame, q)[:3, 3]
        rows = jacobian[3:] + np.cross(jacobian[:3].T, arm).T
        end = vt.simulate(free, q, p0=p + rows.T @ lam, **options).q[1]
        moved, slip = at(end), (at(end) - at(q))[:2]
        return np.array([*(lam[:2] + mu * lam[2] * slip / np.linalg.norm(slip)), moved[2] / h])

    found = root(left, run.contacts.impulse[0] * [1.0, 1.0, 1.1], tol=1e-13).x
    np.testing.assert_allclose(run.contacts.impulse[0], found, rtol=0, atol=1e-9)


def test_the_recorded_step():
    # in the second one an unloaded point counts as one of the patch
    case = REFERENCE["step"][0]
    model, chosen = figure_on_points(case["points"], case["mu"]), kinetic_of_reference(case)
    integrator = vt.METHODS[case["method"]](model, case["h"], tolerance=1e-13, **chosen)
    integrator.start(0.0, np.array(case["q"]), np.array(case["p"]))
    integrator.advance(1)
    q, p = integrator.state()
    np.testing.assert_allclose(q, case["q2"], rtol=0, atol=1e-12)
    np.testing.assert_allclose(p, case["p2"], rtol=0, atol=1e-10)
    gaps = model.contact_gaps(q).gap
    np.testing.assert_allclose(gaps, case["gap2"], rtol=0, atol=1e-12)
    v = model.velocity_from_momentum(np.array(case["q"]), np.array(case["p"]))
    chosen |= {"method": case["method"], "tolerance": 1e-13}
    run = vt.simulate(model, case["q"], v, duration=case["h"], dt=case["h"], **chosen)
    found = np.zeros((8, 3))
    found[run.contacts.number] = run.contacts.impulse
    wanted = np.zeros((8, 3))
    for k, (normal, *across) in case["lam"].items():
        wanted[int(k)] = *across, normal
    np.testing.assert_allclose(found, wanted, rtol=0, atol=1e-11)


# ---- sliding and sticking -----------------------------------------------------------------------------------


@pytest.mark.parametrize("method", SECOND)
@pytest.mark.parametrize("row", REFERENCE["slope"]["rows"], ids=lambda row: f"{row['rel']:g}")
def test_a_box_on_a_slope_slides_beyond_the_threshold_only(method, row):
    angle = np.arctan(0.5 * (1 + row["rel"]))
    model, q = box(gravity=tuple(9.81 * np.array((np.sin(angle), 0, -np.cos(angle)))), friction=0.5)
    run = vt.simulate(model, q, duration=1.0, dt=1e-3, method=method, **exactly(method))
    moved = run.q[-1, 0]
    assert abs(moved - row["slide"]) < (1e-11 if row["slide"] == 0 else 1e-9)
    assert abs(run.q[:, 2] - 0.1).max() < 1e-11


@pytest.mark.parametrize("method", SECOND)
def test_sliding_along_a_curve_is_of_second_order(method):
    exact = REFERENCE["curved_slide"]["xyvxvy"]
    errors = []
    for dt in REFERENCE["curved_slide"]["h"]:
        tree = vt.Tree("point")
        tree.world.add(vt.tx("x"), vt.ty("y"), vt.tz("z"), vt.body("point", 1.0))
        tree.load(vt.JointForce("x", 0.5))
        tree.contact(vt.Contact("point"), vt.Ground(friction=0.3))
        run = vt.simulate(tree.compile(), None, [-0.8, 1.5, 0.0], duration=0.4, dt=dt, method=method, **exactly(method))
        errors.append(np.abs(run.q[-1, :2] - exact[:2]).max())
    assert abs(np.log2(errors[0] / errors[-1]) / 3 - 2) < 0.1
    np.testing.assert_allclose(errors, REFERENCE["curved_slide"]["error_symmetric"], rtol=0.01)


@pytest.mark.parametrize("method", SECOND)
@pytest.mark.parametrize(("case", "friction"), [("frictionless", 0.0), ("stuck_mu_5", 5.0)])
def test_a_rod_on_its_tip(method, case, friction):
    exact, errors = REFERENCE["rod_on_tip"][case][0], []
    for dt in REFERENCE["rod_on_tip"]["h"]:
        start = [0.0, 0.5 * np.cos(0.3), 0.3]
        run = vt.simulate(rod(friction=friction), start, duration=0.5, dt=dt, method=method, **exactly(method))
        errors.append(abs(run.q[-1, 2] - exact))
    assert abs(np.log2(errors[0] / errors[-1]) / 3 - 2) < 0.1


@pytest.mark.parametrize("method", SECOND)
def test_a_sliding_ball_comes_to_roll(method):
    model, exact = ball(friction=0.2), REFERENCE["rolling"]
    q, v = model.neutral(), model.zero_velocity()
    q[2], v[0] = 0.1, 2.0
    run = vt.simulate(model, q, v, duration=1.0, dt=1e-3, method=method, **exactly(method))
    assert abs(run.q[-1, 0] - exact["x_at_1"]) < 1e-5
    assert abs(run.momentum[-1, 3] - exact["speed"]) < (1e-5 if method == "midpoint" else 1e-9)


@pytest.mark.parametrize("method", METHODS + EXPLICIT)
def test_a_box_at_rest_stays(method):
    model, q = box(friction=0.5)
    run = vt.simulate(model, q, duration=20.0, dt=2e-3, record_every=100, method=method)
    assert np.abs(run.q - q).max() < 1e-9


def test_momentum_changes_by_the_impulses():
    """Spatial momentum: that of the wrenches of the impulses where the step began, and of gravity."""
    model, q = box(friction=0.4, corners=1)
    q[2] += 0.05
    v = np.array([1.0, 0.5, 0.0, 2.0, 1.0, 3.0])
    dt, mass = 1e-3, 2.0
    run = vt.simulate(model, q, v, duration=0.4, dt=dt, **EXACT)
    assert len(run.contacts) > 50
    log = run.contacts
    for k in range(400):
        q1, q2 = run.q[k], run.q[k + 1]
        impulse = log.of(k + 1).impulse
        moments = np.cross(model.contact_gaps(q1).point_a[: len(impulse)], impulse).sum(axis=0)
        before, after = (
            model.momentum(q, model.velocity_from_momentum(q, p)) for q, p in ((q1, run.p[k]), (q2, run.p[k + 1]))
        )
        # gravity acts half at each node
        weight = mass * dt * np.array((0, 0, -9.81))
        levers = 0.5 * (np.cross(q1[:3], weight) + np.cross(q2[:3], weight))
        change = np.concatenate([moments + levers, impulse.sum(axis=0) + weight])
        np.testing.assert_allclose(after - before, change, rtol=0, atol=1e-12)


@pytest.mark.parametrize("method", METHODS + EXPLICIT)
@pytest.mark.parametrize("every", [1, 3])
def test_contacts_of_runs(method, every, tmp_path):
    """What is recorded: weight, names, velocities that do not close; with monitors, in files, in parts."""
    model, q = box(friction=0.5)
    more = {"duration": 0.3, "dt": 2e-3, "method": method, "record_every": every}
    run = vt.simulate(model, q, **more)
    watched = vt.simulate(model, q, monitors=("energy",), **more)
    assert run.q.tobytes() == watched.q.tobytes() and run.v.tobytes() == watched.v.tobytes()
    np.testing.assert_array_equal(run.contacts.rows, watched.contacts.rows)
    weight = run.contacts.total(len(run), "box")[1:] / 2e-3
    # the first node has the share of a step's weight that acts there
    share = 1.0 - vt.METHODS[method].at_end
    np.testing.assert_allclose(weight[1:], np.broadcast_to((0, 0, 2 * 9.81), weight[1:].shape), rtol=0, atol=1e-6)
    assert weight[0, 2] == pytest.approx(2 * 9.81 * (share if every == 1 else 1.0))
    assert set(run.contacts.names) == {("box", "ground")} and len(run.contacts.of(2)) == 4
    # explicit Euler moves by the velocity before its forces act: nothing pushes in its first step
    late = slice(2 if method == "explicit-euler" else 0, None)
    assert np.abs(run.v[late]).max() < 1e-9 and np.abs(run.energy[late] - run.energy[0]).max() < 1e-9
    again = vt.Trajectory.load(run.save(tmp_path / "run.npz"))
    np.testing.assert_array_equal(again.contacts.rows, run.contacts.rows)
    assert again.contacts.names == run.contacts.names
    part = run[10:20]
    np.testing.assert_array_equal(part.contacts.of(0).impulse, run.contacts.of(10).impulse)
    sliding = vt.simulate(model, q, [1.0, 0, 0, 0, 0, 0], **more)
    speed = np.diff(sliding.q[:, 0]) / (2e-3 * every)
    first = sliding.contacts.rows[sliding.contacts.record == 1]
    assert first[:, 5] == pytest.approx(speed[0], rel=0.02)
    friction = sliding.contacts.total(len(sliding))[3 : 90 // every, 0] / 2e-3
    np.testing.assert_allclose(friction, -0.5 * 2 * 9.81, rtol=1e-6)


# ---- impacts ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("case", REFERENCE["ball"]["runs"], ids=lambda case: f"e={case['e']}")
def test_a_bouncing_ball(case):
    model = ball(restitution=case["e"], friction=0.0)
    q = model.neutral()
    q[2] = 1.1
    run = vt.simulate(model, q, duration=case["t_gap_pz"][-1][0], dt=case["h"], **EXACT)
    for t, gap, pz in case["t_gap_pz"]:
        k = round(t / case["h"])
        assert abs(run.q[k, 2] - 0.1 - gap) < 1e-11 and abs(run.p[k, 2] - pz) < 1e-9


def test_a_thousand_bounces_keep_the_energy():
    model = ball(restitution=1.0, friction=0.0)
    q = model.neutral()
    q[2] = 1.1
    run = vt.simulate(model, q, duration=905.0, dt=0.01, record_every=500, **EXACT)
    energy = 0.5 * run.p[:, 2] ** 2 + 9.81 * (run.q[:, 2] - 0.1)
    assert np.abs(energy / 9.81 - 1).max() < 1e-10


def test_newtons_cradle():
    model = ball(5, gravity=0.0, ground=False, friction=0.0, restitution=1.0)
    q, v = model.neutral(), model.zero_velocity()
    q[::7] = -0.25, -0.05, 0.2, 0.4, 0.6
    v[0] = v[6] = 1.0
    run = vt.simulate(model, q, v, duration=0.6, dt=0.01, **EXACT)
    np.testing.assert_allclose(run.p[-1, ::6], REFERENCE["cradle"]["exact"], rtol=0, atol=1e-12)


@pytest.mark.parametrize("row", REFERENCE["oblique_impact"]["rows"], ids=lambda row: f"{row['e']}-{row['mu']}")
def test_oblique_impacts(row):
    model = ball(restitution=row["e"], friction=row["mu"])
    q = model.neutral()
    q[2] = 0.1
    run = vt.simulate(model, q, row["v"], duration=1e-7, dt=1e-7, **EXACT)
    np.testing.assert_allclose(run.v[-1], row["v_plus"], rtol=0, atol=1e-5)


def test_painleves_rod():
    """An impact without collision: the same impulse and motion at three steps."""
    start = [0.0, 0.5 * np.cos(0.55), 0.55]
    ends = []
    for dt in (1e-2, 1e-3, 1e-4):
        model = rod(points=[(0, 0, -0.5), (0, 0, 0.5)], friction=2.0)
        run = vt.simulate(model, start, [-3.0, 0.0, 0.0], duration=0.3, dt=dt, **EXACT)
        ends.append(run.q[-1])
    np.testing.assert_allclose(ends[2], REFERENCE["painleve"]["x_z_a"][2], rtol=0, atol=1e-7)
    assert np.abs(ends[0] - ends[1]).max() < 1e-3 and np.abs(ends[1] - ends[2]).max() < 1e-5


def test_impacts_never_give_energy():
    """Boxes and rods thrown at the ground, any friction and restitution: the blow of the first node takes energy."""
    rng = np.random.default_rng(3)
    for k in range(300):
        model, q = box(size=tuple(rng.uniform(0.05, 1.0, 3)), friction=float(rng.choice([0.0, 0.3, 1.0, 5.0])),
                       restitution=float(rng.uniform(0.1, 1.0)), gravity=(0, 0, 0))  # fmt: skip
        q = model.integrate(q, np.concatenate([np.zeros(3), rng.choice([0.0, 1.0]) * rng.standard_normal(3)]))
        q = vt.place_on_ground(model, q)
        v = rng.standard_normal(6)
        p = model.generalized_momentum(q, v)
        integrator = vt.METHODS["linear-time"](model, 1e-9)
        integrator.start(0.0, q, p)
        integrator.advance(1)
        q2, p2 = integrator.state()
        after = model.kinetic_energy(q2, model.velocity_from_momentum(q2, p2))
        assert after <= model.kinetic_energy(q, v) * (1 + 1e-6), k


# ---- limits of joints, grounds ------------------------------------------------------------------------------


@pytest.mark.parametrize("method", METHODS + EXPLICIT)
@pytest.mark.parametrize("damping", [0.0, 0.3])
def test_joints_stay_within_their_limits(method, damping):
    tree = vt.Tree("pendulum")
    tree.world.add(vt.ry("a", damping=damping), vt.tz(-1.0), vt.body("one", 1.0),
                   vt.ry("b", lower=-0.3, upper=0.3), vt.tz(-1.0), vt.body("two", 1.0))  # fmt: skip
    tree.limits = "enforce"
    run = vt.simulate(tree.compile(), [1.5, 0.0], duration=10.0, dt=2e-3, method=method, **exactly(method))
    assert np.abs(run.q[:, 1]).max() - 0.3 < 1e-11
    assert (np.abs(run.q[:, 1]) > 0.29).any()


def test_limits_beside_closed_loops_and_drives():
    tree = vt.Tree("four bars")
    left = tree.world.add(vt.ry("left", lower=-0.2, upper=0.4), vt.tz(1.0), vt.body("a", 1.0, (0.1, 0.1, 0.1)))
    left.add(vt.ry("top"), vt.tx(1.0), vt.body("b", 1.0, (0.1, 0.1, 0.1)), vt.frame("end"))
    tree.world.add(vt.tx(1.0), vt.ry("right"), vt.tz(1.0), vt.body("c", 1.0, (0.1, 0.1, 0.1)), vt.frame("tip"))
    tree.constrain(vt.PointConstraint("end", "tip", (1, 0, 0)), vt.PointConstraint("end", "tip", (0, 0, 1)))
    tree.load(vt.Drive("left", 50.0, 5.0, target=1.0))
    tree.limits = "enforce"
    for method in METHODS + EXPLICIT:
        run = vt.simulate(tree.compile(), duration=3.0, dt=2e-3, method=method)
        assert run.q[:, 0].max() - 0.4 < 1e-10 and run.q[-1, 0] > 0.4 - 1e-9
        assert np.abs(run.constraint).max() < 1e-10


def test_a_ball_rolls_down_a_surface():
    """On a sloped plane that is given as a height field the ball does as on the plane."""
    slope = 0.2
    ends = []
    for ground in (vt.Ground(terrain=vt.HeightField(lambda x, y: -slope * x, 0.5, (-2, -2, 0), (20, 20)), friction=0.8),
                   vt.Ground(normal=(slope, 0, 1.0), friction=0.8)):  # fmt: skip
        tree = vt.Tree("ball")
        tree.world.add(vt.free("base"), vt.body("ball", 1.0, (0.004,) * 3))
        tree.contact(vt.Contact("ball", shapes=vt.Sphere(0.1)), ground)
        model = tree.compile()
        q = vt.place_on_ground(model, model.neutral())
        run = vt.simulate(model, q, duration=1.0, dt=1e-3, **EXACT)
        assert np.abs([model.contact_gaps(q).gap[0] for q in run.q[::100]]).max() < 1e-10
        ends.append(run.q[-1, :3] - run.q[0, :3])
    np.testing.assert_allclose(ends[0], ends[1], rtol=0, atol=1e-9)
    # 5/7 g sin(angle)
    along = 0.5 * 5 / 7 * 9.81 * np.sin(np.arctan(slope))
    assert abs(np.linalg.norm(ends[0]) - along) < 1e-5


@pytest.mark.parametrize("method", METHODS)
def test_a_ball_slides_over_hills(method):
    """Without friction: no node below the surface, and an energy of second order, as of any smooth constraint."""
    field = vt.HeightField(lambda x, y: 0.1 * np.sin(4 * x) * np.cos(3 * y), 0.05, (-3, -3, 0), (120, 120))
    tree = vt.Tree("ball")
    tree.world.add(vt.free("base"), vt.body("ball", 1.0, (0.004,) * 3))
    tree.contact(vt.Contact("ball", shapes=vt.Sphere(0.1)), vt.Ground(terrain=field, friction=0.0))
    model = tree.compile()
    q = model.neutral()
    q[:2] = 0.1, 0.05
    q = vt.place_on_ground(model, q)
    drifts = []
    for dt in (4e-3, 2e-3):
        run = vt.simulate(model, q, duration=0.6, dt=dt, method=method, monitors="gap")
        assert np.abs(run.monitors["gap"]).max() < 1e-12
        drifts.append(np.abs(run.energy - run.energy[0]).max())
    assert drifts[0] < 1e-4 and drifts[0] > 3.5 * drifts[1]


def test_a_compliant_ground():
    model = ball(friction=0.5, stiffness=1e4, damping=50.0)
    q = model.neutral()
    q[2] = 0.12
    for dt in (1e-3, 1e-2, 0.05):
        run = vt.simulate(model, q, duration=5.0, dt=dt, **EXACT)
        assert abs(run.q[-1, 2] - 0.1 + 9.81 / 1e4) < 1e-6


# ---- runs -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("method", METHODS + EXPLICIT)
def test_a_run_is_resumed_bit_for_bit_in_mid_slide(method, tmp_path):
    model, q = box(friction=0.3, restitution=0.4)
    q[2] += 0.01
    v = np.array([1.5, 0.4, 0.0, 0.0, 0.3, 2.0])
    whole = vt.simulate(model, q, v, duration=0.5, dt=1e-3, method=method)
    for steps in (3, 60, 200):
        part = vt.simulate(model, q, v, duration=steps * 1e-3, dt=1e-3, method=method)
        part = vt.Trajectory.load(part.save(tmp_path / "run.npz"))
        rest = part.resume((500 - steps) * 1e-3, model=model)
        assert rest.q.tobytes() == whole.q[steps:].tobytes()
    sim = vt.Simulation(model, q, v, dt=1e-3, method=method)
    sim.step(100)
    kept = sim.save()
    sim.step(400)
    assert sim.q.tobytes() == whole.q[-1].tobytes()
    sim.restore(kept)
    sim.step(400)
    assert sim.q.tobytes() == whole.q[-1].tobytes()


@pytest.mark.parametrize("method", METHODS + EXPLICIT)
def test_nothing_of_a_step_depends_on_scratch(method):
    model, q = box(friction=0.3)
    ends = []
    for spoiled in (False, True):
        integrator = vt.METHODS[method](model, 2e-3)
        v = np.array([1.0, 0, 0, 0, 0, 1.0])
        integrator.start(0.0, q, model.generalized_momentum(q, v) if method in METHODS else v)
        for _ in range(50):
            integrator.advance(1)
            if spoiled:
                integrator.stepper.spoil()
        ends.append(integrator.state()[0])
    assert ends[0].tobytes() == ends[1].tobytes()


def test_without_a_contact_in_reach_bits_are_those_without_contacts():
    model, q = box(friction=0.3)
    bare = vt.Model(replace(model.flat, contacts=(), ground=None))
    q[2] = 50.0
    v = np.array([1.0, 0.2, 0.1, 3.0, 1.0, 0.5])
    for method in METHODS + EXPLICIT:
        one, other = (vt.simulate(m, q, v, duration=1.0, dt=5e-3, method=method) for m in (model, bare))
        assert one.q.tobytes() == other.q.tobytes() and one.p.tobytes() == other.p.tobytes()


def test_figures_thrown_on_the_floor_are_solved():
    model = human_figure()
    for seed in range(4):
        q, v = thrown_figure(model, seed)
        run = vt.simulate(model, q, v, duration=1.0, dt=2e-3, method=METHODS[seed % 2], record_every=10)
        ground = [g for q in run.q for g, b in zip(*model.contact_gaps(q)[2:0:-1], strict=True) if b == "ground"]
        assert min(ground) > -1e-9
        assert run.settings.get("halved", 0) <= 2


def test_fields_of_contacts_for_the_core_are_checked():
    with pytest.raises(KeyError):
        ContactList([{"kind": 0}])
    with pytest.raises(ValueError, match="surface"):
        ContactList([{"kind": 4, "dim": 3}])


def test_contacts_of_reduced_models():
    """A robot with a follower stands as its full model does."""
    tree = vt.Tree("geared")
    trunk = tree.world.add(vt.free("base"), vt.body("trunk", 2.0, (0.1, 0.2, 0.3)))
    for side, name in ((1, "a"), (-1, "b")):
        trunk.add(vt.tx(0.2 * side), vt.rx(name, damping=0.5), vt.tz(-0.5), vt.body(f"foot {name}", 1.0, (0.1,) * 3))
        tree.contact(vt.Contact(f"foot {name}", points=[(0, 0.1, 0), (0, -0.1, 0)]))
    tree.constrain(vt.gear("a", "b", 1.0))
    tree.contact(vt.Ground(friction=0.6))
    full = tree.compile()
    model = full.reduced()
    q = vt.place_on_ground(model, model.neutral())
    for method in METHODS + EXPLICIT:
        run = vt.simulate(model, q, duration=0.5, dt=2e-3, method=method)
        other = vt.simulate(full, model.expand(q), duration=0.5, dt=2e-3, method=method)
        assert min(model.contact_gaps(q).gap.min() for q in run.q) > -1e-9
        np.testing.assert_allclose([model.expand(q) for q in run.q], other.q, rtol=0, atol=1e-6)


def test_starts_in_penetration_and_beyond_limits_are_refused():
    model, q = box(friction=0.5)
    with pytest.raises(vt.InputError, match=r'"box" and the ground overlap by 0.1 m at the start; vt.place_on_ground'):
        vt.simulate(model, duration=0.1, dt=1e-3)
    with pytest.raises(vt.InputError, match=r"overlap by 0.1 m"):
        vt.Simulation(model, dt=1e-3)
    sim = vt.Simulation(model, q, dt=1e-3)
    with pytest.raises(vt.InputError, match="overlap"):
        sim.reset(model.neutral())
    balls = ball(2, ground=False)
    with pytest.raises(vt.InputError, match=r'"ball0" and "ball1" overlap by 0.2 m at the start; move them apart'):
        vt.simulate(balls, duration=0.1, dt=1e-3)
    tree = vt.Tree("joint")
    tree.world.add(vt.ry("a", lower=-0.2, upper=0.4), vt.tz(1.0), vt.body("a", 1.0))
    tree.limits = "enforce"
    with pytest.raises(vt.InputError, match=r'joint "a" is at 0.5 at the start, beyond its limits -0.2 to 0.4'):
        vt.simulate(tree.compile(), [0.5], duration=0.1, dt=1e-3)


@pytest.mark.parametrize("method", METHODS + EXPLICIT)
def test_a_step_that_is_not_solved_names_the_contact(method):
    """A plate that is moved through the ground."""
    tree = vt.Tree("press")
    tree.world.add(vt.tz("press", kinematic=True), vt.body("plate", 1.0, (0.1, 0.1, 0.1)))
    tree.contact(vt.Contact("plate", points=[(0, 0, 0)]), vt.Ground(friction=0.5))
    run = {"duration": 0.5, "dt": 1e-2, "method": method,
           "control": vt.Control(prescribed={"press": lambda t: 0.1 - t})}
    with pytest.raises(vt.ConvergenceError, match=r'contact of "plate" and the ground is not solved'):
        vt.simulate(tree.compile(), [0.1], **run)
